"""Widgets during feed failures (freeze, break, recovery), and with a running clock."""

from __future__ import annotations

import threading

import pytest

import toolkit
from toolkit.errors import LimitReached
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets import OrderTicket


def test_a_frozen_feed_locks_the_ticket_and_the_thaw_frees_it(
    session: Session, venue: LocalVenue, signed: list[bytes]
) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    ticket.submit()
    venue.host.feed.faults.add("freeze")
    venue.advance("20s")
    ticket.refresh()
    assert ticket.lock
    with pytest.raises(LimitReached, match="locked"):
        ticket.confirm()
    assert signed == []
    venue.host.feed.faults.clear()
    venue.advance("10s")
    ticket.refresh()
    assert ticket.lock == ""
    ticket.submit()
    assert ticket.confirm()


def test_a_broken_feed_is_shown_in_every_panel_until_it_is_repaired(session: Session, venue: LocalVenue) -> None:
    dashboard = session.dashboard("BTCUSDC")
    venue.host.feed.faults.cut()
    dashboard.refresh()
    assert all("cut" in panel.lock or "reconnecting" in panel.lock for panel in dashboard.panels)
    venue.advance("1m")
    dashboard.refresh()
    assert not any(panel.lock for panel in dashboard.panels)


def test_an_order_is_followed_through_a_break_of_the_feed(session: Session, venue: LocalVenue) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    ticket.submit()
    receipt = ticket.confirm()
    assert ticket.status == "RESTING"
    venue.host.feed.faults.cut()
    session.cancel(receipt)
    assert ticket.status == "RESTING"
    ended = threading.Event()  # what the cut has hidden is read by a thread of the feed's own
    ticket.observe(lambda _: ticket.status == "CANCELED" and ended.set(), ["view"])
    venue.advance("1m")
    assert ticket.status == "CANCELED" or ended.wait(60), ticket.status


def test_on_a_running_clock_the_ticket_follows_its_order_by_itself() -> None:
    with toolkit.connect() as session:
        ticket = session.ticket("BTCUSDC", order_type="MARKET", quantity="0.02")
        ready, filled = threading.Event(), threading.Event()

        def look(_: object) -> None:
            if not ticket.lock and ticket.view.get("valid"):
                ready.set()
            if ticket.status == "FILLED":
                filled.set()

        ticket.observe(look, ["view", "lock"])
        look(None)
        assert ready.wait(60), (ticket.lock, ticket.problems)
        ticket.submit()
        ticket.confirm()
        assert filled.wait(60), ticket.status
        assert isinstance(ticket, OrderTicket)
        ticket.close()


def test_the_ticket_locks_only_for_what_it_needs_and_says_which(
    session: Session, venue: LocalVenue, signed: list[bytes]
) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    venue.host.feed.faults.add("freeze", channel="orderHist", count=None)
    venue.host.feed.faults.cut()
    ticket.refresh()
    venue.advance("2s")
    ticket.refresh()
    assert ticket.lock == ""
    ticket.submit()
    assert ticket.confirm()
    assert len(signed) == 1
    venue.host.feed.faults.add("freeze", channel="ticker", count=None)
    venue.advance("20s")
    ticket.refresh()
    assert ticket.lock.startswith("ticker ")
    with pytest.raises(LimitReached, match="locked: ticker"):
        ticket.submit()
