"""What breaks a rule is refused before it is signed, whichever call it came from; the venue agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolkit
from tests.client.fake import META
from toolkit import orders
from toolkit.errors import ActionRejected, CheckFailed, MalformedRequest
from toolkit.orders import BUILDER_TYPES, bracket, buy, order, sell
from toolkit.products import ProductTable
from toolkit.session import Session
from toolkit.venue import development
from toolkit.venue.engine.commands import TxCode
from toolkit.venue.local import LocalVenue

BTC = ProductTable.from_meta(META)["BTCUSDC"]
OFF_TICK = buy("BTCUSDC", "0.01", "60000.05")


@pytest.fixture
def builder(venue: LocalVenue, alice: Session) -> Iterator[Session]:
    wallet = toolkit.Wallet(agent=development.account(30).key, master=development.account(1).key)
    with toolkit.connect(venue=venue, wallet=wallet, approve=False) as made:
        toolkit.Builder(made).register("Acme")
        alice.permissions.allow_builder(str(made.account), str(wallet.agent), "0.0005")
        yield made


def item(given: orders.Order, reduce_field: str = "reduceOnlyOption") -> dict[str, Any]:
    return given.to_item(BTC, reduce_field=reduce_field)


DOORS: dict[str, Callable[[Session], Any]] = {
    "buy": lambda s: s.buy("BTCUSDC", "0.01", price="60000.05"),
    "place": lambda s: s.place([buy("BTCUSDC", "0.01", "60000"), OFF_TICK]),
    "prepare": lambda s: s.intents.prepare(OFF_TICK),
    "prepare an action": lambda s: s.intents.prepare({"type": "placeOrder", "orders": [item(OFF_TICK)]}),
    "replace": lambda s: s.replace(5, OFF_TICK),
    "place_order": lambda s: s.exchange.place_order(OFF_TICK),
    "place_order, items": lambda s: s.exchange.place_order([item(OFF_TICK)]),
    "replace_order": lambda s: s.exchange.replace_order(
        "BTCUSDC", "60000.05", "0.01", "LIMIT", "BUY", "GTC", ord_id=5
    ),
    "place_bracket_order": lambda s: s.exchange.place_bracket_order(bracket(OFF_TICK, stop_loss="50000")),
    "place_builder_order": lambda s: s.exchange.place_builder_order(OFF_TICK, s.account, "0"),
    "place_builder_bracket_order": lambda s: s.exchange.place_builder_bracket_order(
        bracket(OFF_TICK, stop_loss="50000"), s.account, "0"
    ),
    "builder.place": lambda s: toolkit.Builder(s).place(OFF_TICK, "0"),
    "send": lambda s: s.exchange.send({"type": "placeOrder", "orders": [item(OFF_TICK)]}),
    "for a vault": lambda s: s.exchange.place_order(OFF_TICK, vault_address="0x" + "ab" * 20),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_an_order_off_tick_is_refused_at_every_door_before_it_is_recorded(alice: Session, door: str) -> None:
    before = len(alice.intents())
    with pytest.raises(CheckFailed, match=r"60000\.05 is not a multiple of tickSize 0\.1. The nearest is 60000\.0 or"):
        DOORS[door](alice)
    assert len(alice.intents()) == before


def hold(session: Session, other: Session, quantity: int) -> None:
    """Give a session a position in XRPUSDC of any size, negative for a short."""
    way, back = ("buy", "sell") if quantity > 0 else ("sell", "buy")
    for open_, close, amount in ((way, back, abs(quantity) + 20), (back, way, 20)):
        getattr(other, close)("XRPUSDC", amount, price="0.62")
        getattr(session, open_)("XRPUSDC", amount, price="0.62")


KINDS: dict[str, dict[str, Any]] = {
    "LIMIT": {"price": "60000"},
    "MARKET": {},
    "STOP_LIMIT": {"price": "60000", "trigger_price": "60010", "side": "SELL"},
    "STOP_MARKET": {"trigger_price": "65000"},
    "TAKE_PROFIT_LIMIT": {"price": "60000", "trigger_price": "60010", "side": "BUY"},
    "TAKE_PROFIT_MARKET": {"trigger_price": "65000", "side": "SELL", "trigger_by": "MARK_PRICE"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_builder_places_every_kind_of_order(venue: LocalVenue, alice: Session, builder: Session, kind: str) -> None:
    with toolkit.connect(venue=venue, account=2) as other:
        other.sell("BTCUSDC", "0.05", price="62500")
    given = {"side": "BUY", **KINDS[kind]}
    made = order("BTCUSDC", quantity="0.01", type=kind.lower(), **given)
    assert isinstance(made, orders.Order)
    assert made.check(BTC).to_item(BTC)["ordType"] == kind
    assert toolkit.Builder(builder).place(made, "0.0001").state == "ACCEPTED"
    shown = alice.orders(exact=True).iloc[-1]
    assert (shown["type"], shown["side"], shown["quantity"]) == (kind, given["side"], Decimal("0.01"))
    assert shown["price"] == Decimal(given.get("price", 0))
    assert shown["trigger_price"] == Decimal(given.get("trigger_price", 0))
    if kind in BUILDER_TYPES:
        assert shown["status"] == "ORDER_STATUS_UNTRIGGERED"
        assert made.describe().startswith(f"{kind} {given['side']}")
        with pytest.raises((CheckFailed, MalformedRequest), match="is for builder orders"):
            alice.place(made)
    with pytest.raises(CheckFailed, match="stepSize"):
        toolkit.Builder(builder).place(order("BTCUSDC", quantity="0.0105", type=kind, **given), "0.0001")


def test_a_builders_bracket_may_have_conditional_exits(alice: Session, builder: Session) -> None:
    entry = buy("BTCUSDC", "0.01", "60000")
    exit_options: dict[str, Any] = {"reduce_only": "SL_FROM_POSITION", "type": "STOP_MARKET"}
    stop = sell("BTCUSDC", 0, trigger_price="55000", **exit_options)
    assert toolkit.Builder(builder).place(bracket(entry, stop_loss=stop), "0").state == "ACCEPTED"
    late = sell("BTCUSDC", 0, trigger_price="61000", **exit_options)
    with pytest.raises(CheckFailed, match="trigger price 61000 is already reached"):
        toolkit.Builder(builder).place(bracket(entry, stop_loss=late), "0")


@settings(max_examples=20)
@given(
    side=st.sampled_from(["BUY", "SELL"]),
    steps=st.integers(1, 40),
    ticks=st.none() | st.integers(6_000, 6_500),
    held=st.integers(-30, 30),
)
def test_client_and_venue_agree_on_every_small_order(side: str, steps: int, ticks: int | None, held: int) -> None:
    """The venue never refuses for a pre-trade rule what the client let pass, nor would it take the others."""
    with LocalVenue(clock="manual", market=False, accounts=2) as venue, toolkit.connect(venue=venue) as s:
        if held:
            with toolkit.connect(venue=venue, account=1) as other:
                hold(s, other, held)
        price = None if ticks is None else f"0.{ticks}"
        given = order("XRPUSDC", side, str(steps), price)
        assert isinstance(given, orders.Order)
        product = s.product("XRPUSDC")
        refused = []
        try:
            s.place(given)
        except CheckFailed as error:
            refused = [failure.rule for failure in error.failures]
            answer = venue.control.act(str(s.account), {"type": "placeOrder", "orders": [given.to_item(product)]})
            code = answer["results"][0]["txCode"]
        except ActionRejected as error:
            code = (error.data or {})["txCode"]
        else:
            code = 0
        assert (code == TxCode.PRE_TRADE_RULE) == bool(refused)
