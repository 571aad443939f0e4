"""Whatever is handed to a trading call reaches the wire whole, or is refused before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import toolkit
from tests.client.fake import MASTER, META, FakeVenue, session
from toolkit import orders
from toolkit.client.orders.receipts import ItemResult
from toolkit.errors import InputError
from toolkit.products import ProductTable

CALLS: dict[str, Callable[[toolkit.Session, Any], Any]] = {
    "place": lambda s, given: s.place(given),
    "prepare": lambda s, given: s.intents.send(s.intents.prepare(given)),
    "replace": lambda s, given: s.replace(5, given),
    "place_order": lambda s, given: s.exchange.place_order(given),
    "place_bracket_order": lambda s, given: s.exchange.place_bracket_order(given),
    "place_builder_order": lambda s, given: s.exchange.place_builder_order(given, MASTER, "0.0001"),
    "place_builder_bracket_order": lambda s, given: s.exchange.place_builder_bracket_order(given, MASTER, "0.0001"),
    "builder.place": lambda s, given: toolkit.Builder(s).place(given, "0.0001"),
}
ENTRY = st.builds(
    lambda side, quantity, price, **options: orders.order("BTCUSDC", side, quantity, price, **options),
    st.sampled_from(["BUY", "SELL"]),
    st.sampled_from(["0.001", 0.02, 1, Decimal("0.02"), np.int64(1), np.float32(0.5)]),
    st.sampled_from([None, "60000", 59_000.5, np.int32(60_000)]),
    reduce_only=st.sampled_from([None, True]),
    cl_ord_id=st.sampled_from([None, 7, "7", np.int64(7)]),
)
LEG = st.sampled_from([None, 500, 70_000])
SINGLE = st.builds(
    lambda entry, tp, sl: orders.bracket(entry, take_profit=tp, stop_loss=sl) if tp or sl else entry, ENTRY, LEG, LEG
)
LADDER = st.builds(
    lambda side, count, **options: orders.scale(
        "BTCUSDC", side, "0.06", first=60_000, last=59_000, count=count, rounding="down", **options
    ),
    st.sampled_from(["BUY", "SELL"]),
    st.integers(2, 4),
    tif=st.sampled_from(["GTC", "POST_ONLY"]),
)
HANDED = SINGLE | LADDER | st.lists(SINGLE | LADDER, max_size=3)


def wanted(given: Any) -> list[dict[str, Any]]:
    """Return what must stand on the wire, without names of fields that differ from action to action."""
    each = given if isinstance(given, list) else [given]
    product = ProductTable.from_meta(META)["BTCUSDC"]
    each = [one for item in each for one in (item.orders(product) if isinstance(item, orders.Ladder) else [item])]
    return [
        {
            "qty": leg.quantity, "px": leg.price or "0", "side": leg.side, "tif": leg.tif, "reduce": leg.reduce_only,
            "trigger": leg.trigger_price, "id": leg.cl_ord_id,
        }
        for one in each
        for leg in one.legs
    ]  # fmt: skip


def sent(body: bytes, want: list[dict[str, Any]]) -> list[dict[str, Any]]:
    action = json.loads(body)["action"]
    items = action.get("orders") or [action.get("order") or action]
    found = [
        {
            "qty": item["ordQty"], "px": item["ordPx"], "side": item["ordSide"], "tif": item["timeInForce"],
            "reduce": item.get("reduceOnly") or item.get("reduceOnlyOption"), "trigger": item.get("triggerPx"),
            "id": item.get("clOrdId"),
        }
        for item in items
    ]  # fmt: skip
    for item, other in zip(found, want, strict=False):
        if other["id"] is None:
            item["id"] = None  # one that the client made
    return found


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=20)
@given(handed=HANDED)
def test_what_is_handed_over_reaches_the_wire_whole_or_raises(name: str, handed: Any) -> None:
    fake = FakeVenue()
    with session(fake) as s:
        try:
            CALLS[name](s, handed)
        except (InputError, TypeError) as refused:
            event(f"refused: {type(refused).__name__}")
            assert fake.bodies == []
        else:
            event("sent")
            assert sent(fake.bodies[0], wanted(handed)) == wanted(handed)


def test_an_order_is_replaced_under_one_name() -> None:
    fake = FakeVenue()
    with session(fake) as s:
        ladder = s.place([orders.buy("BTCUSDC", "0.01", price=price) for price in ("60000", "59000")])
        with pytest.raises(InputError, match="has 2 orders"):
            s.replace(ladder, orders.buy("BTCUSDC", "0.01", price="58000"))
        unnamed = ItemResult(cl_ord_id=9, order_id=None, code=0, message="")
        with pytest.raises(InputError, match="named by its client id"):
            s.replace(unnamed, orders.buy("BTCUSDC", "0.01", price="58000", cl_ord_id=10))
    assert len(fake.bodies) == 1


def test_a_leg_of_another_product_or_a_second_bracket_is_refused() -> None:
    entry = orders.buy("BTCUSDC", "0.01", price="60000")
    with pytest.raises(InputError, match="symbol BTCUSDC, not ETHUSDC"):
        orders.bracket(entry, take_profit=orders.take_profit("ETHUSDC", "SELL", "66000"))
    with pytest.raises(InputError, match="is a bracket already"):
        orders.bracket(orders.bracket(entry, take_profit="66000"), stop_loss="57000")
    with pytest.raises(InputError, match="opens a position alone"):
        orders.stop("BTCUSDC", "SELL", "55000", tp="66000")
