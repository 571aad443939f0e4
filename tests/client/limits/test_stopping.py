"""Stop everything: parent orders, runs and orders end, positions close, and the report says what is left or unknown."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

import toolkit
from tests.client.limits.world import BTC, ETH
from tests.support.network import Network, cut, lose, nothing
from toolkit import Limits, orders
from toolkit.client.limits.stopping import COLUMNS, WORKING
from toolkit.errors import InputError, LimitReached, OutcomeUnknown
from toolkit.research import live
from toolkit.research.strategy import Strategy
from toolkit.session import Session
from toolkit.venue.local import LocalVenue


@pytest.fixture
def network(venue: LocalVenue) -> Network:
    return Network(venue)


@pytest.fixture
def s(venue: LocalVenue, network: Network) -> Iterator[Session]:
    with toolkit.connect(venue=venue, transport=network) as made:
        yield made


def table(found: pd.DataFrame) -> list[tuple[str, str, str, float, str]]:
    """Return the report without ids and messages."""
    return [(row.kind, row.symbol, row.side, row.quantity, row.outcome) for row in found.itertuples()]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_after_the_twap_of_the_readme_nothing_trades_any_more(
    venue: LocalVenue, s: Session, side: Any, mode: str, asynchronous: bool
) -> None:
    venue.control.set_position_mode(str(s.account), mode)
    s.place(orders.order(BTC, side, "0.01", price="60000" if side == "BUY" else "65000"))
    s.place(orders.order(ETH, side, "0.5"))
    parent = s.twap(BTC, side, "0.1", "30m")
    venue.advance("5m")
    found = asyncio.run(s.aio.stop_all(flatten=True)) if asynchronous else s.stop_all(flatten=True)
    leg, filled = "LONG" if side == "BUY" else "SHORT", float(parent.filled)
    assert {name: str(kind) for name, kind in found.dtypes.items()} == COLUMNS
    assert table(found) == [
        ("parent order", BTC, side, pytest.approx(0.1 - filled), "ENDED"),
        ("order", BTC, side, 0.01, "CANCELED"),
        ("position", BTC, leg, pytest.approx(filled), "CLOSED"),
        ("position", ETH, leg, 0.5, "CLOSED"),
    ]
    ended = venue.host.core.state.last_order
    venue.advance("1h")
    assert venue.host.core.state.last_order == ended
    assert s.positions().empty
    assert s.orders(open=True).empty
    assert parent.status == "CANCELED"
    assert s.limits.stopped == ""
    assert s.buy(BTC, "0.001")  # the session trades on


def test_without_flatten_positions_are_left_and_listed(s: Session) -> None:
    s.buy(BTC, "0.02")
    found = s.stop_all()
    assert table(found) == [("position", BTC, "LONG", 0.02, "LEFT")]
    assert found["message"].tolist() == ["not flattened"]


def test_nothing_to_stop_is_an_empty_table(s: Session) -> None:
    found = s.stop_all(flatten=True)
    assert found.empty
    assert list(found) == list(COLUMNS)


def test_what_the_book_does_not_take_is_left(venue: LocalVenue, s: Session) -> None:
    s.buy(BTC, "0.02")
    venue.control.remove_liquidity(BTC)
    venue.control.add_liquidity(BTC, "BUY", "62400", "0.015")
    assert table(s.stop_all(flatten=True)) == [
        ("position", BTC, "LONG", pytest.approx(0.015), "CLOSED"),
        ("position", BTC, "LONG", pytest.approx(0.005), "LEFT"),
    ]


@pytest.mark.parametrize("begun", [True, False])
def test_live_runs_end_and_are_named(s: Session, begun: bool) -> None:
    began, checked = threading.Event(), threading.Event()

    class Quoter(Strategy):
        def on_start(self, ctx: Any) -> None:
            ctx.buy(BTC, "0.01", "60000")
            began.set()
            checked.wait(30)

    run = live(Quoter(), s, [BTC], limits=Limits(), background=True)
    assert not begun or began.wait(30)
    checked.set()
    found = s.limits.stop("lost the feed")
    assert table(found)[0][::4] == ("run", "ENDED")
    assert found["id"].iloc[0] == "Quoter"
    if begun:  # else it may not have come so far
        assert run.results().events["kind"].iloc[0] == "KILL"  # type: ignore[union-attr]
    assert s.orders(open=True).empty
    with pytest.raises(LimitReached, match="a run of Quoter is refused, because trading was stopped: lost the feed"):
        live(Quoter(), s, [BTC], limits=Limits(), duration="1m")


def test_a_strategy_can_pull_the_switch_of_its_own_session(s: Session) -> None:
    class Careful(Strategy):
        def on_start(self, ctx: Any) -> None:
            s.limits.stop("a strategy said so")
            ctx.buy(BTC, "0.01")

    run = live(Careful(), s, [BTC], limits=Limits(), duration="10m")
    assert run.events["kind"].iloc[0] == "KILL"  # type: ignore[union-attr]
    assert s.positions().empty


REFUSED: dict[str, Callable[[Session], Any]] = {
    "buy": lambda s: s.buy(BTC, "0.001"),
    "sell": lambda s: s.sell(BTC, "0.001"),
    "exchange": lambda s: s.exchange.place_order([orders.buy(BTC, "0.001")]),
    "prepare": lambda s: s.intents.prepare(orders.buy(BTC, "0.001")),
    "twap": lambda s: s.twap(BTC, "BUY", "0.1", "30m"),
    "replace": lambda s: s.replace(1, orders.buy(BTC, "0.002", "60000")),
    "resume": lambda s: s.parent_orders.get(s.parent_orders().index[0]).resume(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_switch_refuses_what_opens_with_its_reason_until_resume(s: Session, name: str) -> None:
    s.twap(BTC, "BUY", "0.1", "30m")
    s.buy(BTC, "0.01")
    found = s.limits.stop("lost the feed")
    assert [row[0] for row in table(found)] == ["parent order", "position"]
    before = len(s.intents())
    with pytest.raises(LimitReached, match=r"stopped: lost the feed\. .* session.limits.resume\(\)") as caught:
        REFUSED[name](s)
    assert caught.value.limit == "stop"
    assert len(s.intents()) == before
    assert "stopped: lost the feed" in repr(s.limits)
    s.close_position(BTC)
    s.limits.resume()
    assert "stopped" not in repr(s.limits)
    assert s.buy(BTC, "0.001")


def test_the_switch_holds_in_every_session_of_the_ledger_and_after_a_restart(venue: LocalVenue, tmp_path: Path) -> None:
    given: dict[str, Any] = {"venue": venue, "intents": tmp_path / "ledger"}
    with toolkit.connect(**given) as one, toolkit.connect(**given) as other:
        one.limits.stop("enough")
        with pytest.raises(LimitReached, match="enough"):
            other.buy(BTC, "0.01")
    with toolkit.connect(**given) as later, toolkit.connect(account=1, **given) as stranger:
        assert later.limits.stopped == "enough"
        assert stranger.buy(BTC, "0.01")
        asyncio.run(later.aio.limits.resume())
        assert later.buy(BTC, "0.01")


@pytest.mark.parametrize("stored", [False, True])
def test_resuming_what_is_not_stopped_changes_nothing(venue: LocalVenue, tmp_path: Path, stored: bool) -> None:
    with toolkit.connect(venue=venue, intents=tmp_path / "ledger" if stored else None) as s:
        for _ in range(2):
            s.limits.resume()
        s.limits.stop("once")
        s.limits.stop("once")
        assert s.limits.stopped == "once"
        s.limits.resume()
        assert s.buy(BTC, "0.01")


def test_a_switch_that_is_pulled_during_stop_all_stays_on(venue: LocalVenue, s: Session, network: Network) -> None:
    """By another session of the same ledger: its report needs no network."""
    s.buy(BTC, "0.01")

    def pull(request: httpx.Request) -> None:
        network.before = nothing
        assert s.limits.stopped == WORKING
        s.limits.stop("by hand")

    network.before = pull
    s.stop_all(flatten=True)
    assert s.limits.stopped == "by hand"


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_a_stop_without_a_reason_is_refused(s: Session, reason: Any) -> None:
    with pytest.raises(InputError, match=r"reason is .*\. Say why"):
        s.limits.stop(reason)
    assert s.limits.stopped == ""


def test_an_order_of_unknown_outcome_is_settled_and_cancelled(s: Session, network: Network) -> None:
    network.after = lose
    with pytest.raises(OutcomeUnknown):
        s.buy(BTC, "0.01", price="60000")
    network.after = nothing
    assert table(s.stop_all(flatten=True)) == [("order", BTC, "BUY", 0.01, "CANCELED")]
    assert s.intents()["state"].tolist()[-2:] == ["ACCEPTED", "ACCEPTED"]


def test_without_a_network_everything_is_unknown_the_switch_holds(s: Session, network: Network) -> None:
    s.buy(BTC, "0.01")
    s.twap(BTC, "BUY", "0.1", "30m")
    network.before = lose
    with pytest.raises(OutcomeUnknown):
        s.buy(BTC, "0.01", price="60000")
    network.before = cut
    found = s.limits.stop("the network is gone")
    assert [(row[0], row[-1]) for row in table(found)] == [
        ("parent order", "ENDED"),
        ("order", "UNKNOWN"),
        ("position", "UNKNOWN"),
        ("request", "UNKNOWN"),
    ]
    network.before = nothing
    with pytest.raises(LimitReached, match="the network is gone"):
        s.buy(BTC, "0.01")
    s.resolve(resend=False)
    found = s.stop_all(flatten=True)
    assert [(row[0], row[-1]) for row in table(found)] == [("position", "CLOSED"), ("request", "UNKNOWN")]
    assert s.limits.stopped == "the network is gone"


def test_an_interrupted_stop_leaves_the_switch_on_and_the_next_one_lifts_it(s: Session, network: Network) -> None:
    s.buy(BTC, "0.01")

    def interrupt(request: httpx.Request) -> None:
        raise KeyboardInterrupt

    network.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        s.stop_all(flatten=True)
    network.before = nothing
    assert s.limits.stopped == WORKING
    with pytest.raises(LimitReached, match="stop_all is working, or was interrupted"):
        s.buy(BTC, "0.01")
    assert table(s.stop_all(flatten=True)) == [("position", BTC, "LONG", 0.01, "CLOSED")]
    assert s.limits.stopped == ""


def test_the_venue_that_executes_later_is_waited_for() -> None:
    with LocalVenue(clock="manual", market=False, settle_delay="1s") as venue:
        venue.control.add_liquidity(BTC, "SELL", "62600", "5")
        venue.control.add_liquidity(BTC, "BUY", "62400", "5")
        with toolkit.connect(venue=venue) as s:
            s.buy(BTC, "0.01")
            s.buy(BTC, "0.01", price="60000")
            assert [row[-1] for row in table(s.stop_all(flatten=True))] == ["CANCELED", "CLOSED"]
            venue.advance("1h")
            assert s.positions().empty
            assert s.orders(open=True).empty
