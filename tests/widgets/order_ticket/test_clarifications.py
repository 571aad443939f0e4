"""What the rules of money let a trader do, the ticket lets pass and the venue does, with the rules' own numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import toolkit
from toolkit.session import Session
from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Any:
    """A venue whose index has come to 60,000; accounts have 10,000 USDC at 20x."""
    with LocalVenue(clock="manual") as venue:
        move(venue, "60000")
        yield venue


def move(venue: LocalVenue, price: str) -> None:
    """Let the index jump; participants requote around it, and the mark follows."""
    venue.control.set_oracle("BTCUSDC", price)
    venue.advance("3s")


def trade(session: Session, **fields: Any) -> Decimal:
    """Send what the ticket lets pass; return the position after it."""
    ticket = session.ticket("BTCUSDC", **fields)
    assert ticket.problems == ()
    ticket.submit()
    ticket.confirm()
    found = session.positions("BTCUSDC", exact=True)
    return Decimal(found["size"].sum()) if len(found) else Decimal(0)


@pytest.mark.parametrize("mode", ["CROSS", "ISOLATED"])
def test_an_exit_at_a_loss_passes_though_a_resting_order_would_then_lack_margin(venue: LocalVenue, mode: str) -> None:
    with toolkit.connect(venue=venue) as session:
        session.exchange.set_margin_mode("BTCUSDC", mode)
        assert trade(session, side="BUY", price="60100", quantity="3.2", tif="IOC") == Decimal("3.2")
        session.sell("BTCUSDC", "3.2", price="61000")
        move(venue, "59500")
        assert trade(session, side="SELL", order_type="MARKET", quantity="3.2") == 0
        assert session.orders(open=True).empty, "3.2 at 61,000 would need 9,760 of what is left"


def test_an_isolated_position_that_has_lost_can_grow(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue) as session:
        session.exchange.set_margin_mode("BTCUSDC", "ISOLATED")
        trade(session, side="BUY", price="61000", quantity="1")
        move(venue, "59990")
        assert trade(session, side="BUY", price="61000", quantity="0.5") == Decimal("1.5")
