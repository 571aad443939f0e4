"""What happened is said, with its time and amount, in every panel, and ends a review that did not know of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pandas as pd
import pytest

import toolkit
from toolkit.client.io.flow import wall_ms
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets import Account, Blotter, OrderBook, OrderTicket
from toolkit.widgets.base_panel import watch


@pytest.fixture(autouse=True)
def listed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LISTING_SECONDS", 0.0)


@pytest.fixture
def thin() -> Iterator[Session]:
    """A session at a venue whose prices the test sets."""
    with LocalVenue(clock="manual", market=None) as made, toolkit.connect(venue=made) as session:
        made.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        made.control.add_liquidity("BTCUSDC", "BUY", "62400", "5")
        yield session


def happened(panel: Account | Blotter) -> list[str]:
    panel._beaten = 0.0
    panel.refresh()
    line: list[str] = panel.beat["news"][-1]
    return line


@pytest.mark.parametrize(("side", "oracle", "verb"), [("BUY", "57000", "sell"), ("SELL", "68000", "buy")])
def test_a_liquidation_is_said_with_its_amount_in_every_panel_and_named_in_the_fills(
    thin: Session, side: str, oracle: str, verb: str
) -> None:
    thin.exchange.set_leverage("BTCUSDC", leverage="40")
    thin.place(toolkit.Order("BTCUSDC", side, "3", tif="IOC"))
    blotter, account = Blotter(thin), Account(thin)
    venue = thin.venue
    venue.control.set_oracle("BTCUSDC", oracle)
    venue.advance("2m")
    for panel in (blotter, account):
        _, kind, text = happened(panel)
        assert kind == "liquidation"
        assert text.startswith(f"liquidation: {verb} 3 BTCUSDC at ")
        assert text.endswith("−600.00 USDC")
    row = blotter.view["fills"][0]
    assert (row["kind"], row["pnl"]) == ("liquidation", "−600.00")


@pytest.mark.parametrize("kind", ["filled", "cancelled"])
def test_a_review_to_amend_an_order_that_is_gone_ends(thin: Session, kind: str) -> None:
    order = thin.buy("BTCUSDC", "0.01", price="62000")
    other = thin.buy("BTCUSDC", "0.01", price="61000")
    blotter = Blotter(thin)
    blotter.amend(order.order_id, price="61500")
    if kind == "cancelled":
        thin.cancel(order)
    else:
        thin.venue.control.add_liquidity("BTCUSDC", "SELL", "62000", "5")
        thin.venue.advance("1s")
    _, said, text = happened(blotter)
    assert (said, blotter.phase) == (kind, "edit")
    assert blotter.problem == f"the review was ended, nothing was signed: {text}"
    blotter.amend(other.order_id, price="60500")
    blotter.refresh()
    assert blotter.phase == "review"


def test_a_pause_ends_the_review_and_makes_the_ticket_unwilling_until_it_is_over(thin: Session) -> None:
    ticket = thin.ticket("BTCUSDC", price="62000", quantity="0.01")
    ticket.submit()
    thin.venue.control.pause("BTCUSDC")
    assert happened(ticket)[1:] == ["paused", "trading in BTCUSDC is paused"]
    assert ticket.phase == "edit"
    assert "nothing was signed" in ticket.problem
    assert not ticket.valid
    assert "BTCUSDC is paused, not listed" in ticket.problems[0].message
    with pytest.raises(toolkit.errors.CheckFailed, match="is paused"):
        thin.buy("BTCUSDC", "0.01", price="62000")
    thin.venue.control.resume("BTCUSDC")
    assert happened(ticket)[1:] == ["resumed", "trading in BTCUSDC is resumed"]
    assert ticket.valid
    assert thin.buy("BTCUSDC", "0.01", price="62000").state == "ACCEPTED"


def test_funding_and_a_cancellation_are_said_with_the_venues_time(thin: Session) -> None:
    thin.buy("BTCUSDC", "0.5")
    account = Account(thin)
    thin.venue.advance("4h")
    when, kind, text = happened(account)
    assert (when, kind) == ("04:00:00", "funding")
    assert text.startswith("funding BTCUSDC: ")
    assert text.endswith(" USDC")
    thin.cancel(thin.buy("BTCUSDC", "0.01", price="60000"))
    _, kind, text = happened(account)
    assert (kind, text.split(": ")[0].split(" ", 2)[2]) == ("cancelled", "cancelled")
    assert account.beat["at"] <= wall_ms()


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_a_cancellation_that_this_session_did_not_ask_for_is_said_to_come_from_elsewhere(
    thin: Session, every: bool, own: bool
) -> None:
    account, order = Account(thin), thin.buy("BTCUSDC", "0.01", price="60000")
    thin.cancel(thin.buy("BTCUSDC", "0.01", price="59000"))  # another order, and another product
    thin.cancel_all("ETHUSDC")
    with toolkit.connect(venue=thin.venue) as other:
        by = thin if own else other
        by.cancel_all("BTCUSDC") if every else by.cancel(order.order_id, symbol="BTCUSDC")
    thin.venue.advance("1s")
    whence = "" if own else " elsewhere or by the venue"
    assert happened(account)[2] == f"order {order.order_id} cancelled{whence}: buy 0.01 BTCUSDC at 60,000.0"


def test_every_panel_shows_the_news_also_one_that_is_opened_after_the_first_was_stopped(thin: Session) -> None:
    first, book = Account(thin), OrderBook(thin, "BTCUSDC")
    with toolkit.connect(venue=thin.venue, account=1) as other:
        stranger = Account(other)
        first.stop()
        later = Account(thin)
        thin.cancel(thin.buy("BTCUSDC", "0.01", price="60000"))
        assert happened(later) == happened(book)
        assert "cancelled" in happened(book)[2]
        stranger.refresh()
        assert stranger.beat["news"] == []


def test_an_agent_is_named_with_the_end_of_its_approval_and_locks_what_signs_once_that_is_over(
    thin: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert thin.wallet is not None
    agent, now = str(thin.wallet.agent), pd.Timestamp(thin.clock.now_ms(), unit="ms", tz="UTC")
    name, lost = f"agent {agent[:6]}…{agent[-4:]}", f"lost its approval at {now:%Y-%m-%d %H:%M:%S} UTC"

    def seen(ticket: OrderTicket) -> tuple[str, str]:
        ticket._beaten = 0.0
        ticket.refresh()
        return ticket.beat["agent"], ticket.lock.partition(". ")[0]

    first = thin.ticket("BTCUSDC")
    assert seen(first) == (name, "")
    thin.exchange.approve_agent("0x" + "0" * 40)
    assert seen(first) == (f"{name} may not sign", f"{name} {lost}")
    thin.exchange.approve_agent(validity_seconds=86_400)
    assert seen(first) == (name, ""), "the venue does not say when it ends"
    first.stop()
    active = thin.info.agents(status="ACTIVE", exact=True)
    later = now + pd.Timedelta("24h")
    for end, words in ((later, f"{name} until {later:%Y-%m-%d %H:%M}"), (now, f"{name} may not sign")):
        monkeypatch.setattr(thin.info, "agents", lambda end=end, **_: active.assign(expires_at=end), raising=False)
        ticket = thin.ticket("BTCUSDC")
        assert seen(ticket) == (words, f"{name} {lost}" if end == now else "")
        ticket.stop()


def test_a_session_of_a_served_venue_follows_its_time_while_a_panel_is_open() -> None:
    with (
        LocalVenue(clock="manual", market=None) as venue,
        venue.serve() as served,
        toolkit.connect(served.environment) as session,
    ):
        venue.host.feed.faults.add("freeze", channel="blockHeight", count=None)
        moved, panel = threading.Event(), Account(session)
        assert panel.problem == "", "no block has come, so nothing is known of the time"
        venue.host.feed.faults.clear()
        began = panel.beat["now"]
        panel.observe(lambda change: change["new"]["now"] >= began + 3_600_000 and moved.set(), "beat")
        venue.advance("1h")
        assert moved.wait(60), panel.beat
