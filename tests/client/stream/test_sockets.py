"""Live objects over WebSockets on loopback: bad networks, many reconnects, full connections, slow readers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.client.proxy import Proxy
from tests.venue.traders import Trader
from toolkit.client.stream.kinds import LiveBook
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.client.stream.stream import Stream
from toolkit.client.stream.updates import Settings
from toolkit.errors import StaleData
from toolkit.venue.api import records
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.server import Served

QUICK = Settings(
    heartbeat_ms=200,
    answer_ms=500,
    backoff_ms=10,
    backoff_max_ms=100,
    settle_ms=0,
    silence_ms={"orderBook": 600, "trades": 600},
)
"""Time-outs of the tests' streams; the limits below follow from them."""
LIMIT = 10.0
"""Seconds within which a client is right again, on a busy machine."""


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(market=False, accounts=3) as made:
        yield made


@pytest.fixture
def served(venue: LocalVenue) -> Iterator[Served]:
    with venue.serve() as made:
        yield made


@pytest.fixture
def alice(venue: LocalVenue) -> Trader:
    return Trader(venue, 0)


@pytest.fixture
def proxy(served: Served) -> Iterator[Proxy]:
    with Proxy(served.environment.feed_url) as made:
        yield made


def stream_to(url: str, settings: Settings = QUICK, account: str | None = None) -> Stream:
    session = SimpleNamespace(_local=None, environment=SimpleNamespace(feed_url=url), account=account)
    return Stream(session, settings=settings, rng=random.Random(1))


def truth(venue: LocalVenue, depth: int = 20) -> list[list[tuple[str, str]]]:
    with venue.host.lock:
        product = venue.host.core.products[1]
        return [
            [
                (records.price(product, price), records.quantity(product, total))
                for price, total in venue.host.core.books[1].depth(side, depth)
            ]
            for side in (1, -1)
        ]


def levels(book: LiveBook) -> list[list[tuple[str, str]]]:
    return [[(str(price), str(quantity)) for price, quantity in side] for side in (book.bids(), book.asks())]


def is_right(book: LiveBook, venue: LocalVenue) -> bool:
    return book.state == "live" and levels(book) == truth(venue)


def await_true(condition: Callable[[], object], limit: float = LIMIT) -> None:
    """Poll the condition until it is true; fail after `limit` seconds."""
    end = time.monotonic() + limit
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, f"not true within {limit} s"
        pause.wait(0.005)


def threads() -> set[str]:
    return {one.name for one in threading.enumerate() if one.name.startswith("toolkit-feed")}


def test_live_objects_over_a_websocket_are_those_of_the_venue(venue: LocalVenue, served: Served, alice: Trader) -> None:
    with stream_to(served.environment.feed_url, account=alice.address) as stream:
        book, orders = stream.order_book("BTCUSDC"), stream.orders()
        assert len(book.frame()) == 0
        for tick in range(10):
            alice.place("BUY", f"6200{tick}", "0.001")
        book.wait(lambda live: live.best_bid == 62009)
        orders.wait(lambda live: len(live) == 10)
        assert levels(book) == truth(venue)
        stream.health.assert_healthy()
    assert not threads()


def trouble_drop(proxy: Proxy, alice: Trader) -> None:
    proxy.drop = 1
    alice.place("BUY", "62000", "0.001")


def trouble_gap(proxy: Proxy, alice: Trader) -> None:
    trouble_drop(proxy, alice)
    await_true(lambda: proxy.drop == 0)
    alice.place("BUY", "62001", "0.001")


def trouble_duplicate(proxy: Proxy, alice: Trader) -> None:
    proxy.duplicate = 3
    alice.place("BUY", "62002", "0.001")


def trouble_delay(proxy: Proxy, alice: Trader) -> None:
    proxy.delay = 0.75
    alice.place("BUY", "62003", "0.001")


def trouble_cut(proxy: Proxy, alice: Trader) -> None:
    proxy.cut()
    alice.place("BUY", "62004", "0.001")


def trouble_freeze(proxy: Proxy, alice: Trader) -> None:
    proxy.freeze()
    alice.place("BUY", "62005", "0.001")


@pytest.mark.parametrize(
    ("trouble", "expected_state"),
    [
        (trouble_gap, "resyncing"),
        (trouble_duplicate, ""),
        (trouble_delay, "reconnecting"),
        (trouble_cut, "reconnecting"),
        (trouble_freeze, "reconnecting"),
    ],
)
def test_after_trouble_the_client_reports_it_and_is_right_again(
    venue: LocalVenue, proxy: Proxy, alice: Trader, trouble: Callable[[Proxy, Trader], None], expected_state: str
) -> None:
    alice.place("SELL", "63000", "0.001")
    # Where nothing is to be noticed, no time-out of a stream in a hurry may be.
    with stream_to(proxy.url, QUICK if expected_state else Settings()) as stream:
        book = stream.order_book("BTCUSDC").wait(lambda live: live.state == "live")
        assert is_right(book, venue)
        states: list[str] = []
        book.on_state(lambda live: states.append(live.state))
        trouble(proxy, alice)
        if expected_state:
            await_true(lambda: expected_state in states)
        else:
            await_true(lambda: book.duplicates)
        proxy.delay = 0.0
        proxy.thaw()
        await_true(lambda: is_right(book, venue))
        book.assert_healthy()
        assert bool(states) == bool(expected_state), "a duplicate never makes it stale"


def test_while_it_is_not_right_it_has_a_reason(proxy: Proxy, alice: Trader) -> None:
    with stream_to(proxy.url) as stream:
        book = stream.order_book("BTCUSDC").wait(lambda live: live.state == "live")
        proxy.refusing = True
        proxy.cut()
        book.wait(lambda live: "go away" in live.reason)
        assert book.stale
        with pytest.raises(StaleData, match=r"is reconnecting: the venue closed the connection: go away \(code 1013\)"):
            book.assert_healthy()
        proxy.refusing = False
        book.wait(lambda live: live.state == "live")


def test_through_a_storm_of_faults_it_ends_up_right(venue: LocalVenue, proxy: Proxy, alice: Trader) -> None:
    dice = random.Random(5)
    fates = ["pass"] * 12 + ["drop", "drop", "duplicate", "cut"]
    with stream_to(proxy.url, account=alice.address) as stream:
        book, trades, orders = stream.order_book("BTCUSDC"), stream.trades("BTCUSDC"), stream.orders()
        bob = Trader(venue, 1)
        book.wait(lambda live: live.state == "live")
        proxy.lottery = lambda: dice.choice(fates)
        placed = []
        for _ in range(120):
            price = str(62500 + dice.randrange(-5, 6))
            trader = dice.choice((alice, bob))
            placed.append((trader, trader.place(dice.choice(("BUY", "SELL")), price, "0.001")))
            if dice.random() < 0.3:
                owner, order = dice.choice(placed)
                owner.cancel(order)
            with contextlib.suppress(StaleData):
                book.wait(timeout=0.01)
        proxy.lottery = None
        for trader, side in ((alice, "BUY"), (bob, "SELL")):  # every channel speaks again, which shows what was lost
            trader.place(side, "62500", "0.05")
        await_true(lambda: is_right(book, venue))
        await_true(lambda: len(orders) == len(venue.host.core.state.accounts[alice.address].orders))
        done = venue.host.core.state.history.trades[1]
        await_true(lambda: trades.last is not None and trades.last.tx_hash == done[-1].tx_hash)
        assert stream.health.reconnects
        assert book.resyncs
        await_true(lambda: all(not live.stale for live in stream.health.live))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def started_threads() -> int:
    """Return the number of threads without those of asyncio's pool, which grows to its bound as it is used."""
    return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_reconnecting_leaks_no_thread_or_socket(venue: LocalVenue, served: Served, alice: Trader, times: int) -> None:
    with stream_to(served.environment.feed_url, account=alice.address) as stream:
        book, fills = stream.order_book("BTCUSDC"), stream.fills()
        book.wait(lambda live: live.state == "live")
        fills.wait(lambda live: live.is_live)
        await_true(lambda: len(venue.host.feed.open_connections) == 1)
        before = (started_threads(), descriptors())
        for turn in range(1, times + 1):
            venue.host.feed.faults.cut()
            await_true(lambda turn=turn: stream.health.reconnects >= turn)
            await_true(lambda: book.is_live and fills.is_live)
        alice.place("BUY", "62000", "0.001")
        await_true(lambda: is_right(book, venue))
        await_true(lambda: len(venue.host.feed.open_connections) == 1)
        gc.collect()
        await_true(lambda: (started_threads(), descriptors()) <= before)
    assert not threads()
    await_true(lambda: not venue.host.feed.open_connections)


def test_a_venue_in_this_process_with_a_running_clock_needs_no_socket() -> None:
    with LocalVenue(accounts=1) as venue:
        alice = Trader(venue, 0)
        session = SimpleNamespace(_local=venue, environment=None, account=alice.address)
        with Stream(session, settings=QUICK) as stream:
            book, ticker, orders = stream.order_book("BTCUSDC"), stream.ticker("BTCUSDC"), stream.orders()
            book.wait()
            alice.place("BUY", "60000", "0.001")
            orders.wait(lambda live: len(live) == 1)
            venue.host.feed.faults.cut()
            await_true(lambda: stream.health.reconnects >= 1 and book.state == ticker.state == "live")
            venue.advance("10s")
            await_true(lambda: is_right(book, venue))
        assert not threads()
        assert not venue.host.feed.open_connections


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])
def test_any_exception_of_a_callback_on_the_feeds_thread_is_kept_and_the_feed_continues(error: BaseException) -> None:
    with LocalVenue(accounts=1) as venue:
        session = SimpleNamespace(_local=venue, environment=None, account=None)
        with Stream(session, settings=QUICK) as stream:
            book = stream.order_book("BTCUSDC").wait()
            sequences: list[int] = []

            def failing(update: Any) -> None:
                sequences.append(update.sequence)
                if len(sequences) == 1:
                    raise error

            book.on_update(failing)
            await_true(lambda: (venue.advance("1s"), len(sequences) >= 3)[1])
            assert book.errors == [error]
            assert book.state == "live"
        assert not threads()


def test_an_unforeseen_error_costs_a_connection_and_not_the_feed(
    served: Served, venue: LocalVenue, alice: Trader, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stream_to(served.environment.feed_url) as stream:
        book = stream.order_book("BTCUSDC").wait()
        received, failures = FeedProtocol.received, [RuntimeError("unforeseen")]

        def failing(protocol: FeedProtocol, text: Any, now: int) -> None:
            if failures:
                raise failures.pop()
            received(protocol, text, now)

        monkeypatch.setattr(FeedProtocol, "received", failing)
        alice.place("BUY", "60000", "0.001")
        await_true(lambda: stream.health.reconnects >= 1 and is_right(book, venue))
        alice.place("BUY", "60001", "0.001")
        await_true(lambda: is_right(book, venue))


def test_a_program_that_never_closes_the_stream_still_ends(served: Served) -> None:
    code = (
        "from types import SimpleNamespace as N; from toolkit.client.stream.stream import Stream;"
        f"s = Stream(N(_local=None, environment=N(feed_url={served.environment.feed_url!r}), account=None));"
        "s.tickers().wait(); print(s.health.state)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("open\n", "", 0)
