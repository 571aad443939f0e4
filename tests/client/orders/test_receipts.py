"""A receipt is a live handle of its order; any order is found by either id, in any form of an id."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import toolkit
from toolkit import errors, orders
from toolkit.client.orders.receipts import AsyncReceipt, Receipt
from toolkit.venue.local import LocalVenue


def test_a_receipt_follows_its_order(alice: toolkit.Session, bob: toolkit.Session) -> None:
    r = alice.buy("BTCUSDC", "0.02", price="60000")
    assert (r.status, r.filled, r.remaining, r.average_price, r.fee) == ("NEW", 0, Decimal("0.02"), None, 0)
    bob.sell("BTCUSDC", "0.005", price="60000")
    assert (r.status, r.filled, r.remaining) == ("PARTIALLY_FILLED", Decimal("0.005"), Decimal("0.015"))
    bob.sell("BTCUSDC", "0.015", price="60000")
    assert r.wait("filled", timeout=5) is r
    assert (r.status, r.filled, r.remaining, r.average_price) == ("FILLED", Decimal("0.02"), 0, 60000)
    assert r.fee == Decimal("0.02") * 60000 * alice.product("BTCUSDC").maker_fee_rate
    assert r.reason == ""
    assert list(r.events()["status"]) == ["NEW", "PARTIALLY_FILLED", "FILLED"]
    assert r.events()["fill_price"].dtype == float
    assert r.events(exact=True)["fill_price"].iloc[-1] == Decimal(60000)
    assert "filled 0.02 at 60000" in repr(r)


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_a_receipt_never_stands_for_another_order_that_got_its_id(
    venue: LocalVenue, alice: toolkit.Session, side: Literal["BUY", "SELL"]
) -> None:
    """A venue that was started again, or set back, gives out its order ids again."""
    before = venue.snapshot()
    earlier, later = ("30000", "29000") if side == "BUY" else ("90000", "91000")
    old = alice.place(orders.order("BTCUSDC", side, "0.01", earlier))
    assert old.status == "NEW"
    venue.revert(before)
    new = alice.place(orders.order("BTCUSDC", side, "0.02", later))
    assert new.order_id == old.order_id
    old.refresh()
    assert Decimal(old.rows[0]["price"]) == Decimal(earlier), "what was last known of its own order"
    new.cancel()
    assert new.status == "CANCELED"


@pytest.mark.parametrize("tif", ["IOC", "FOK"])
def test_what_did_not_fill_at_once_says_so(alice: toolkit.Session, bob: toolkit.Session, tif: Any) -> None:
    bob.sell("BTCUSDC", "0.004", price="60000")
    unfilled = alice.buy("BTCUSDC", "0.01", price="59000", tif=tif)
    assert f"{tif} not filled: " in repr(unfilled)
    assert (unfilled.status, unfilled.filled, unfilled.remaining) == ("CANCELED", 0, 0)
    assert unfilled.reason
    part = alice.buy("BTCUSDC", "0.01", price="60000", tif=tif)
    assert (f"{tif} not filled" if tif == "FOK" else "filled 0.004 of 0.01 at 60000") in repr(part)
    with pytest.raises(errors.WaitFailed, match="not filled"):
        part.wait("filled")
    assert part.wait("ended").status == "CANCELED"


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_an_order_by_value_is_rounded_down_to_a_step_and_says_so(alice: toolkit.Session, side: str) -> None:
    call = getattr(alice, side)
    r = call("BTCUSDC", value="1000", price="30000", tif="POST_ONLY") if side == "buy" else call("BTCUSDC", value=1000)
    step, at = alice.product("BTCUSDC").step_size, Decimal(r.note.split(" at ")[1].split(" is ")[0])
    quantity = Decimal(r.items[0]["ordQty"])
    assert quantity * at <= 1000 < (quantity + step) * at
    assert quantity % step == 0
    assert f"value 1000: quantity {quantity} BTC at {at} is " in repr(r)
    assert "rounded down to a step" in r.note
    for wrong, words in (
        ({}, "not both"),
        ({"quantity": 1, "value": 1}, "not both"),
        ({"value": 5}, "less than one step"),
    ):
        with pytest.raises(errors.InputError, match=words):
            call("BTCUSDC", **wrong)


def test_statuses_are_read_as_people_write_them(alice: toolkit.Session) -> None:
    waiting = alice.buy("BTCUSDC", "0.01", price="50000", sl="45000")
    assert waiting.orders[1].wait("untriggered", timeout="1s")
    opened = alice.orders(status="open")
    assert opened["status"].tolist() == alice.orders(open=True)["status"].tolist()
    assert len(alice.orders(status="untriggered")) == len(opened) - 1 == 1
    waiting.cancel()
    assert len(alice.orders(status="Cancelled")) == 2
    assert waiting.wait("cancelled")


def test_a_receipt_cancels_and_replaces_its_order(alice: toolkit.Session) -> None:
    r = alice.buy("BTCUSDC", "0.01", price="50000")
    replaced = r.replace(orders.buy("BTCUSDC", "0.02", price="51000"))
    assert (replaced.order_id, replaced.remaining) == (r.order_id, Decimal("0.02"))
    assert r.cancel()
    assert (r.status, replaced.status, r.reason) == ("CANCELED", "CANCELED", "cancelled by its owner")
    with pytest.raises(errors.ActionRejected, match="no open order"):
        r.cancel()


def test_of_several_orders_one_must_be_named(alice: toolkit.Session) -> None:
    r = alice.place([orders.buy("BTCUSDC", "0.01", price=price) for price in ("50000", "49000")])
    for read in (lambda: r.status, lambda: r.filled, lambda: r.events(), lambda: r.replace(orders.buy("BTCUSDC", 1))):
        with pytest.raises(errors.InputError, match=r"has 2 orders. Name one of them, e.g. receipt.orders\[0\]"):
            read()
    assert [each.status for each in r.orders] == ["NEW", "NEW"]
    r.orders[1].cancel()
    assert [each.status for each in r.orders] == ["NEW", "CANCELED"]
    with pytest.raises(errors.InputError, match="setLeverage placed no order"):
        _ = alice.exchange.set_leverage("BTCUSDC", 5).filled


def test_an_order_that_was_only_submitted_is_followed() -> None:
    with (
        LocalVenue(clock="manual", market=False, settle_delay="1s") as venue,
        toolkit.connect(venue=venue),
        toolkit.connect(venue=venue, approve=False, settle_timeout=0) as alice,
    ):
        venue.advance(until=venue.host.settled_ms())
        good, bad = (alice.buy("BTCUSDC", size, price="50000") for size in ("0.01", "10"))
        assert (good.status, bad.status, good.order_id) == ("SUBMITTED", "SUBMITTED", None)
        assert alice.order(good.cl_ord_id).status == "SUBMITTED"
        venue.advance("1s")
        assert (good.status, bad.status) == ("NEW", "FAILED")
        assert "margin" in bad.reason
        assert good.order_id == alice.order(good.cl_ord_id).order_id
        late = alice.sell("BTCUSDC", "0.01", price="70000")
        assert late.wait("open", timeout=5).order_id


def test_the_awaited_twin(alice: toolkit.Session, bob: toolkit.Session) -> None:
    async def trade() -> None:
        r = await alice.aio.buy("BTCUSDC", "0.01", price="60000")
        assert isinstance(r, AsyncReceipt)
        assert issubclass(AsyncReceipt, toolkit.Receipt)
        await bob.aio.sell("BTCUSDC", "0.004", price="60000")
        await r.refresh()
        assert (r.status, r.filled) == ("PARTIALLY_FILLED", Decimal("0.004"))
        with pytest.raises(errors.WaitTimeout):
            await r.wait("filled", timeout=0.05)
        assert (await r.events())["fill_price"].tolist() == [0.0, 60_000.0]
        assert (await r.events(exact=True))["fill_price"].tolist() == [0, Decimal(60_000)]
        same = await alice.aio.order(r.order_id)
        replaced = await same.replace(orders.buy("BTCUSDC", "0.02", price="50000"))
        assert await replaced.cancel()
        assert (await r.wait("ended")).status == "CANCELED"

    asyncio.run(trade())


def test_a_receipt_without_its_session_is_still_readable(alice: toolkit.Session) -> None:
    r = alice.buy("BTCUSDC", "0.01", price="50000")
    assert r.status == "NEW"
    copy: Receipt = pickle.loads(pickle.dumps(r))
    assert (copy, copy.status, copy.order_id) == (r, "NEW", r.order_id)
    with pytest.raises(errors.ToolkitError, match="belongs to no session"):
        copy.cancel()


def rows_of(alice: toolkit.Session, number: int) -> dict[str, Any]:
    table = alice.orders(open=True)
    return {
        "series": table[table["order_id"] == number].iloc[0],
        "tuple": next(row for row in table.itertuples() if row.order_id == number),
        "mapping": {"ordId": str(number), "symbol": 1},
    }


FORMS: dict[str, Callable[[toolkit.Session, Receipt], Any]] = {
    "int": lambda alice, r: r.order_id,
    "text": lambda alice, r: str(r.order_id),
    "numpy": lambda alice, r: np.int64(r.order_id or 0),
    "pandas": lambda alice, r: alice.orders(open=True)["order_id"].iloc[-1],
    "float of a column with gaps": lambda alice, r: pd.Series([r.order_id, None])[0],
    "handle": lambda alice, r: r,
    "result": lambda alice, r: r.results[0],
    **{name: (lambda alice, r, name=name: rows_of(alice, r.order_id)[name]) for name in ("series", "tuple", "mapping")},
}


@pytest.mark.parametrize("form", FORMS)
def test_ids_are_taken_in_every_form(alice: toolkit.Session, form: str) -> None:
    r = alice.buy("BTCUSDC", "0.01", price="50000")
    assert alice.order(FORMS[form](alice, r)).order_id == r.order_id
    assert alice.replace(FORMS[form](alice, r), orders.buy("BTCUSDC", np.float64(0.02), price=np.int64(51000)))
    assert alice.info.order_events(order_id=FORMS[form](alice, r))["order_id"].nunique() == 1
    assert alice.info.order_states(order_id=FORMS[form](alice, r))["order_id"].tolist() == [r.order_id]
    assert alice.cancel(FORMS[form](alice, r))
    assert r.status == "CANCELED"


@pytest.mark.parametrize("client_id", [77, "77", np.int64(77), 77.0])
def test_client_ids_too(alice: toolkit.Session, client_id: Any) -> None:
    r = alice.buy("BTCUSDC", "0.01", price="50000", cl_ord_id=client_id)
    assert r.cl_ord_id == 77
    assert alice.order(client_id, by="cl_ord_id").order_id == alice.order(client_id).order_id == r.order_id
    assert alice.replace(orders.buy("BTCUSDC", "0.02", price="50000"), cl_ord_id=client_id)
    assert alice.replace(None, orders.buy("BTCUSDC", "0.03", price="50000"), cl_ord_id=client_id).remaining == Decimal(
        "0.03"
    )
    assert alice.cancel(cl_ord_id=client_id)


@pytest.mark.parametrize("wrong", ["", "x", "-1", 0, -5, True, None, 1.5, [], pd.NA, float("nan"), 2**63])
def test_what_is_no_id_is_refused(alice: toolkit.Session, wrong: Any) -> None:
    new = orders.buy("BTCUSDC", "0.02", price="50000")
    for call in (lambda: alice.order(wrong), lambda: alice.replace(wrong, new), lambda: alice.cancel(wrong)):
        with pytest.raises(errors.InputError):
            call()


def test_a_whole_table_of_orders_can_be_cancelled(alice: toolkit.Session) -> None:
    alice.place([orders.buy("BTCUSDC", "0.01", price=price) for price in ("50000", "49000", "48000")])
    table = alice.orders(open=True)
    alice.cancel(table.iloc[:2])
    alice.cancel(table["order_id"].iloc[2:])
    assert len(alice.orders(open=True)) == 0
