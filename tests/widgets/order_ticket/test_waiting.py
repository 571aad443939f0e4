"""Orders of a ticket that wait in this program: what they say, when they act, and what ends them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.support.network import Network, lose, nothing
from tests.widgets.conftest import passes
from tests.widgets.page import press
from toolkit.errors import InputError, LimitReached
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets import OrderTicket
from toolkit.widgets.order_ticket.ticket import DEPTH

BTC = "BTCUSDC"


def waiting(session: Session, **fields: Any) -> OrderTicket:
    ticket = session.ticket(BTC, **{"quantity": "0.01", **fields})
    assert ticket.problems == ()
    ticket.submit()
    ticket.confirm()
    return ticket


def until(session: Session, holds: Callable[[], bool]) -> None:
    """Let time pass until something holds, two hours at most."""
    for _ in range(120):
        passes(session, "1m")
        if holds():
            return
    pytest.fail("it did not come to pass")


def level(session: Session, ratio: str) -> str:
    last = session.stream.ticker(BTC).value["last"]
    return f"{session.product(BTC).round_price(last * Decimal(ratio), 'nearest'):f}"


def test_a_stop_entry_waits_here_and_is_sent_at_its_trigger(session: Session) -> None:
    passes(session, "1m")
    before = len(session.intents())
    trigger = level(session, "1.0005")
    ticket = session.ticket(BTC, order_type="STOP_ENTRY", quantity="0.01", trigger_price=trigger)
    ticket.submit()
    review = ticket.view["review"]
    assert f"at market, once the last price has risen to {trigger}" in review["question"]
    assert review["unchecked"][0][:2] == [
        "Waits",
        "only in this program, while its session is open. The venue has no such order",
    ]
    reviewed = ticket.review
    assert reviewed is not None
    assert ticket.confirm().status == "WAITING"
    assert len(session.intents()) == before
    assert session.orders(BTC, open=True).empty
    assert ticket.view["following"]["words"] == "waits here for its price"
    until(session, lambda: ticket.status == "FILLED")
    ticket.refresh()
    fill = session.fills(BTC, exact=True).iloc[0]
    assert (ticket.status, len(session.intents())) == ("FILLED", before + 1)
    assert fill["price"] >= Decimal(trigger) * Decimal("0.9995")
    assert ticket.view["following"]["words"].startswith("filled: 0.01 at ")
    assert ticket.view["following"]["cancels"] is False
    assert ticket.receipt is not None
    assert not session.intents().index[-1].endswith(str(reviewed.nonce)), "it is signed when it is sent"


def test_what_waits_ends_by_its_button_by_stop_all_and_with_the_session() -> None:
    with toolkit.connect(clock="manual") as session:
        far = {"order_type": "IF_TOUCHED", "trigger_price": level(session, "0.5")}
        ticket = waiting(session, **far)
        with pytest.raises(LimitReached, match=r"waits in this program. Cancel it first"):
            ticket.submit()
        ticket.clear()
        assert session.ticket(BTC).status == "WAITING", "another ticket of the product shows it"
        press(ticket, "cancel")
        assert (ticket.status, ticket.view["following"]["cancels"]) == ("CANCELED", False)
        again = waiting(session, **far)
        ended = session.stop_all()
        assert ended["kind"].tolist() == ["run"]
        assert ended["outcome"].tolist() == ["ENDED"]
        assert again.status == "CANCELED"
        last = waiting(session, **far)
    assert last.following is not None
    assert last.following.words().endswith("cancelled by the closing of the session")


def test_one_cancels_the_other_with_an_order_of_the_venue(session: Session) -> None:
    passes(session, "1m")
    resting = session.buy(BTC, "0.01", level(session, "0.5"))
    breaks = {"order_type": "STOP_ENTRY", "trigger_price": level(session, "1.0005")}
    ticket = waiting(session, cancels=str(resting.order_id), **breaks)
    until(session, lambda: ticket.status == "FILLED")
    assert session.orders(BTC, open=True).empty, "what waited was sent, and has cancelled the other"
    near = session.buy(BTC, "0.01", level(session, "0.9999"))
    other = waiting(session, cancels=str(near.order_id), **(breaks | {"trigger_price": level(session, "1.5")}))
    until(session, lambda: session.orders(BTC, open=True).empty)
    assert other.status == "CANCELED"
    assert other.following is not None
    assert other.following.words().endswith(f"order {near.order_id} was filled")


@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
def test_a_trailing_stop_is_a_stop_of_the_venue_that_is_moved_here(session: Session, mode: str) -> None:
    assert session.venue is not None
    session.venue.control.set_position_mode(session.account, mode)
    session.buy(BTC, "0.02")
    passes(session, "1m")
    ticket = session.ticket(BTC, order_type="TRAILING", side="SELL", distance="0.01")
    reviewed = ticket.submit()
    ticket.confirm()
    assert session.intents().index[-1].endswith(str(reviewed.nonce)), "the first stop is the one that was shown"
    stop = session.orders(BTC, open=True)["trigger_price"].iloc[0]
    assert ticket.status == "WAITING"
    stops, candles = [stop], session.stream.candles(BTC, "1m")

    def has_moved() -> bool:
        stops.extend(session.orders(BTC, open=True)["trigger_price"].tolist())
        return bool(stops[-1] > stop)

    until(session, has_moved)
    assert stops == sorted(stops)
    highs = candles.frame(exact=True)["high"].tail(120)
    assert stops[-1] in [math.floor(high * Decimal("9.9")) / 10 for high in highs]
    ticket.cancel()
    assert session.orders(BTC, open=True).empty


def test_the_stop_stays_at_the_venue_when_the_session_closes() -> None:
    with toolkit.connect(clock="manual") as outer:
        with toolkit.connect(venue=outer.venue) as session:
            session.buy(BTC, "0.02")
            ticket = waiting(session, order_type="TRAILING", side="SELL", distance="300", distance_as="amount")
            assert "is moved here" in ticket.view["following"]["words"]
            account = session.account
        assert outer.account == account
        assert outer.orders(BTC, open=True)["reduce_only"].tolist() == ["SL_FROM_POSITION"]


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"order_type": "STOP_ENTRY"}, "trigger_price", "a trigger price is needed"),
        ({"order_type": "STOP_ENTRY", "trigger_price": "x"}, "trigger_price", "is not a number above 0"),
        ({"order_type": "STOP_ENTRY", "trigger_price": "100"}, "trigger_price", "is at the trigger 100, or has passed"),
        ({"order_type": "IF_TOUCHED", "side": "SELL", "trigger_price": "100"}, "trigger_price", "has passed it"),
        ({"order_type": "IF_TOUCHED", "trigger_price": "100", "cancels": "x"}, "cancels", "is not the id of an order"),
        ({"order_type": "TRAILING", "distance": "0.01"}, "order_type", "there is no short position"),
        ({"order_type": "TRAILING", "distance": "2"}, "distance", "must be between 0 and 1"),
        ({"order_type": "TRAILING"}, "distance", "a distance and a last price are needed"),
    ],
    ids=lambda value: None,
)
def test_what_can_not_wait_is_a_problem_in_words(session: Session, fields: Any, field: str, words: str) -> None:
    ticket = session.ticket(BTC, **{"quantity": "0.01", **fields})
    found = [one.message for one in ticket.problems if one.field == field]
    assert any(words in one for one in found), ticket.problems


@pytest.mark.parametrize(
    ("fields", "call"),
    [
        ({"order_type": "ICEBERG"}, "ctx.iceberg"),
        ({"order_type": "SCHEDULED"}, "ctx.scheduled"),
        ({"order_type": "TRAILING", "distance": "2", "distance_as": "atr"}, "ctx.trailing_stop"),
    ],
)
def test_what_only_a_run_can_serve_is_refused_with_its_call(session: Session, fields: Any, call: str) -> None:
    with pytest.raises(InputError, match=rf"a ticket has no .* A strategy has it, in a run: {call}"):
        session.ticket(BTC, **fields)


def test_an_order_that_is_refused_when_it_is_sent_says_why(session: Session) -> None:
    """The margin is used up while it waits."""
    passes(session, "1m")
    ticket = waiting(session, order_type="STOP_ENTRY", trigger_price=level(session, "1.0005"), quantity="2")
    session.buy(BTC, "2")
    until(session, lambda: ticket.status != "WAITING")
    ticket.refresh()
    assert (ticket.status, session.positions(BTC)["size"].tolist()) == ("REJECTED", [2.0])
    assert "margin" in ticket.view["following"]["words"]


@pytest.mark.parametrize("arrives", [True, False])
def test_an_order_without_an_answer_is_unknown_until_feed_or_venue_say_what_became_of_it(
    arrives: bool,
) -> None:
    with LocalVenue(clock="manual") as venue:
        network = Network(venue)
        with toolkit.connect(venue=venue, transport=network) as session:
            passes(session, "1m")
            ticket = waiting(session, order_type="STOP_ENTRY", trigger_price=level(session, "1.0005"))
            setattr(network, "after" if arrives else "before", lose)
            until(session, lambda: ticket.status != "WAITING")
            assert ticket.status == ("FILLED" if arrives else "UNKNOWN")
            network.before = network.after = nothing
            passes(session, "5m")
            assert ticket.ask_venue() == ("FILLED" if arrives else "REJECTED")
            assert session.fills(BTC).empty is not arrives
            assert ticket.view["following"]["cancels"] is False


def test_on_a_clock_that_runs_a_trade_of_another_account_sends_it() -> None:
    with (
        LocalVenue(clock="real", market=None) as venue,
        toolkit.connect(venue=venue) as session,
        toolkit.connect(venue=venue, account=1) as other,
    ):
        venue.control.set_oracle(BTC, "60000")
        venue.control.add_liquidity(BTC, "SELL", "60010", "0.02")
        other.buy(BTC, "0.01")
        stream = session.stream
        feeds = stream.ticker(BTC), stream.order_book(BTC, DEPTH), stream.account(), stream.positions()
        for live in (*feeds, stream.orders(), stream.leverages(), stream.order_history()):
            live.frame(timeout=5)  # a panel is locked until each of them has come
        ticket = waiting(session, order_type="STOP_ENTRY", trigger_price="60020")
        venue.control.add_liquidity(BTC, "SELL", "60020", "5")
        other.buy(BTC, "0.05", "60020")
        following: Any = ticket.following
        assert following.wait(10)
        assert ticket.status == "FILLED"
