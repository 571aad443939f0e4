"""What the ticket passes, the venue takes; what the ticket refuses, the venue refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import toolkit
from toolkit.errors import ExchangeError, InputError
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets import OrderTicket
from toolkit.widgets.order_ticket.draft import Choice

STRICTER = {("quantity", "position")}
"""Where the ticket refuses what the venue would quietly cut: reduce-only beyond the position."""


@dataclass
class Situation:
    """A venue to go back to, a session on it, and its ticket, which follows what the venue goes back to."""

    venue: LocalVenue
    session: Session
    snapshot: int
    ticket: OrderTicket


SETTINGS: list[dict[str, Any]] = [
    {},
    {"held": "0.5"},
    {"held": "-0.5"},
    {"held": "0.5", "resting": True},
    {"held": "0.5", "isolated": True},
    {"held": "2.5", "exits": True},
    {"held": "-2.5", "exits": True, "isolated": True},
    {"hedge": True, "held": "0.5"},
]


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda one: " ".join(map(str, one)) or "flat")
def situation(request: pytest.FixtureRequest) -> Iterator[Situation]:
    """Accounts that hold nothing, a long, a short, with orders, isolated, with exits, hedged."""
    given = request.param
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as session:
        if given.get("hedge"):
            venue.control.set_position_mode(address=session.account, mode="HEDGE")
        if given.get("isolated"):
            session.exchange.set_margin_mode("BTCUSDC", "ISOLATED")
        held = given.get("held", "")
        if held:
            (session.sell if held.startswith("-") else session.buy)("BTCUSDC", held.removeprefix("-"))
        if given.get("resting"):
            session.sell("BTCUSDC", "0.3", price="70000", reduce_only=True)
            session.buy("BTCUSDC", "0.2", price="55000", cl_ord_id=7)
        if given.get("exits"):  # plain orders that lose their cover to a larger one, last placed first
            exit_ = session.buy if held.startswith("-") else session.sell
            for quantity, price in (("1.2", "62600"), ("1.3", "69000")):
                exit_("BTCUSDC", quantity, price=price if exit_ == session.sell else str(125_000 - int(price)))
        ticket = session.ticket("BTCUSDC")
        ticket.unobserve_all()  # its fields are judged, and nothing is drawn
        yield Situation(venue, session, venue.snapshot(), ticket)


def around(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


ODD_PRICES = around("62000.05", "5000", "1000000", "0", "1e4", "6200", "70000", "63500")
USUAL_PRICES = st.decimals("55000", "68000", places=1).map(str)
PRICES = st.integers(0, 4).flatmap(lambda draw: USUAL_PRICES if draw else ODD_PRICES)
ODD_QUANTITIES = around("0.0015", "3.4", "150", "0", "abc", "5", "3.3")
USUAL_QUANTITIES = around("0.001", "0.3", "0.5", "1") | st.decimals("0.001", "3", places=3).map(str)
QUANTITIES = st.integers(0, 4).flatmap(lambda draw: USUAL_QUANTITIES if draw else ODD_QUANTITIES)
TRIGGERS = around(*[""] * 9, "55000", "61000", "66000", "66000.05", "0")
DRAFTS = st.fixed_dictionaries(
    {
        "side": around("BUY", "SELL"),
        "order_type": around("LIMIT", "LIMIT", "MARKET"),
        "price": PRICES,
        "quantity": QUANTITIES,
        "tif": around("", "", "", "GTC", "IOC", "FOK", "POST_ONLY"),
        "reduce_only": around(False, False, False, True),
        "take_profit": TRIGGERS,
        "stop_loss": TRIGGERS,
        "trigger_by": around("MARK_PRICE", "LAST_PRICE", "INDEX_PRICE"),
        "slippage": around("", "", "", "0.01", "0.05", "0.051", "0.004", "x"),
        "client_id": around("", "", "", "", "7", "8"),
    }
)


@settings(max_examples=50)
@given(fields=DRAFTS)
def test_ticket_and_venue_agree(situation: Situation, fields: dict[str, Any]) -> None:
    agree(situation, fields)


@pytest.mark.slow
@settings(max_examples=120)
@given(fields=DRAFTS)
def test_ticket_and_venue_agree_on_more_drafts(situation: Situation, fields: dict[str, Any]) -> None:
    agree(situation, fields)


def agree(situation: Situation, fields: dict[str, Any]) -> None:
    venue, session, ticket = situation.venue, situation.session, situation.ticket
    venue.revert(situation.snapshot)
    ticket.take(Choice("", fields))
    problems, order = ticket.problems, ticket.order
    if order is None or any((one.field, one.rule) in STRICTER for one in problems):
        event("no order to compare")
        return
    product = session.product("BTCUSDC")
    payload: dict[str, Any] = {"type": order.action, "orders": order.to_items(product)}
    refused = ""
    try:
        session.exchange.send(payload)
    except (ExchangeError, InputError) as error:
        refused = str(error)
    event("refused" if refused else "taken")
    assert bool(refused) == bool(problems), (refused, [one.message for one in problems])
