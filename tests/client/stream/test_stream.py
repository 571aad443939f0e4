"""Live objects on a venue in this process with a manual clock: no sockets, no threads, everything in order."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

import toolkit
from tests.client.stream import LIVE_NAMES
from tests.venue.traders import Trader
from toolkit.client.stream.live import Live
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.client.stream.shell import DirectShell
from toolkit.client.stream.stream import Stream
from toolkit.errors import FeedError, InputError, MalformedRequest, SessionClosed, StaleData
from toolkit.venue.feed.hub import FeedConnection
from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=False, accounts=3) as made:
        yield made


@pytest.fixture
def alice(venue: LocalVenue) -> Trader:
    return Trader(venue, 0)


@pytest.fixture
def bob(venue: LocalVenue) -> Trader:
    return Trader(venue, 1)


@pytest.fixture
def stream(venue: LocalVenue, alice: Trader) -> Iterator[Stream]:
    with Stream(SimpleNamespace(_local=venue, environment=None, account=alice.address)) as made:
        yield made


def all_of(stream: Stream) -> dict[str, Live]:
    methods = {name: getattr(stream, name) for name in LIVE_NAMES}
    takes_symbol = {name for name, method in methods.items() if "symbol" in inspect.signature(method).parameters}
    return {name: method("BTCUSDC") if name in takes_symbol else method() for name, method in methods.items()}


def test_one_connection_and_one_subscription_are_shared(venue: LocalVenue, stream: Stream) -> None:
    first, second = stream.order_book("BTCUSDC"), stream.order_book("BTCUSDC")
    stream.account(), stream.orders(), stream.positions()
    (connection,) = venue.host.feed.open_connections
    assert len(connection.subjects) == 2
    first.close()
    assert (first.state, second.state, len(connection.subjects)) == ("closed", "live", 2)
    second.close()
    assert len(connection.subjects) == 1


def test_the_updates_of_a_command_have_arrived_when_it_returns(
    stream: Stream, alice: Trader, bob: Trader, venue: LocalVenue
) -> None:
    book, trades, orders = stream.order_book("BTCUSDC"), stream.trades("BTCUSDC"), stream.orders()
    received: list[str] = []
    for live in (book, trades, orders):
        live.on_update(lambda update: received.append(type(update.live).__name__))
    number = alice.place("SELL", "62500", "0.002")
    assert received == ["LiveBook", "LiveAccount"]
    assert book.asks() == [(Decimal("62500.0"), Decimal("0.002"))]
    assert orders[number].remaining == Decimal("0.002")
    bob.place("BUY", "62500", "0.002")
    assert trades.last is not None
    assert (trades.last.side, trades.last.price) == ("BUY", Decimal("62500.0"))
    assert number not in orders
    assert [one.name for one in threading.enumerate() if "toolkit" in one.name] == []


def test_every_live_object_has_a_frame_with_stable_columns(
    stream: Stream, alice: Trader, bob: Trader, venue: LocalVenue
) -> None:
    venue.advance("1s")  # the first block
    before = {name: live.frame() for name, live in all_of(stream).items()}
    for side, other in (("SELL", "BUY"), ("BUY", "SELL"), ("SELL", "BUY")):
        alice.place(side, "62500", "0.001")
        bob.place(other, "62500", "0.001")
        venue.advance("1m")
    venue.advance("5h")
    alice.place("BUY", "62400", "0.001")
    for name, live in all_of(stream).items():
        frame = live.frame()
        assert list(frame.columns[: len(before[name].columns)]) == list(before[name].columns), name
        for column in before[name].columns:
            assert frame[column].dtype == before[name][column].dtype, (name, column)
        assert live.is_live
        assert frame.attrs["state"] == live.state
        assert frame.attrs["stale"] is False
        assert len(frame), name


def test_a_command_does_not_wait_for_ever_for_a_callback_that_waits_for_it(
    stream: Stream, venue: LocalVenue, alice: Trader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkit.client.stream.shell.READ_SECONDS", 0.01)
    book, over, waiting = stream.order_book("BTCUSDC", 5), threading.Event(), threading.Event()

    @book.on_update
    def wait(_: object) -> None:
        waiting.set()
        assert over.wait(10)

    other = threading.Thread(target=lambda: alice.place("BUY", "62000", "0.001"))
    other.start()
    assert waiting.wait(10)
    venue.advance("1m")
    over.set()
    other.join(10)
    assert book.state == "live"
    book.assert_healthy()


def test_callbacks_may_act_on_the_venue_and_everything_stays_in_order(
    stream: Stream, alice: Trader, bob: Trader
) -> None:
    book, received = stream.order_book("BTCUSDC"), []

    @book.on_update
    def answer(update: Any) -> None:
        received.append((update.live.sequence, update.live.best_bid))
        if len(received) < 4:
            alice.place("BUY", str(62500 + len(received)), "0.001")

    bob.place("BUY", "62500", "0.001")
    assert [bid for _, bid in received] == [62500, 62501, 62502, 62503]
    assert [sequence for sequence, _ in received] == [2, 3, 4, 5]
    book.off(answer)
    bob.place("BUY", "62510", "0.001")
    assert len(received) == 4


def test_a_gap_is_repaired_before_the_command_returns_and_is_counted(
    stream: Stream, alice: Trader, venue: LocalVenue
) -> None:
    book = stream.order_book("BTCUSDC")
    states: list[str] = []
    book.on_state(lambda live: states.append(live.state))
    for kind in ("drop", "skip"):
        venue.host.feed.faults.add(kind, channel="orderBook")
        alice.place("BUY", "62500", "0.001")
        alice.place("BUY", "62499", "0.001")
    assert book.gaps == 2
    assert states.count("resyncing") == 2 or book.state == "resyncing"
    venue.advance("1s")
    assert len(book.bids()) == 2
    assert book.bids()[0][1] == Decimal("0.002")
    book.assert_healthy()


def test_a_cut_is_reported_and_repaired_after_the_back_off_in_venue_time(
    stream: Stream, alice: Trader, venue: LocalVenue
) -> None:
    book = stream.order_book("BTCUSDC")
    states: list[str] = []
    book.on_state(lambda live: states.append(live.state))
    venue.host.feed.faults.cut("maintenance")
    assert book.state == "reconnecting"
    assert "maintenance" in book.reason
    assert "maintenance" in repr(book)
    alice.place("BUY", "62500", "0.001")
    assert book.bids() == []
    with pytest.raises(StaleData, match="reconnecting"):
        book.assert_healthy()
    assert book.frame().attrs["stale"] is True
    venue.advance("1s")
    assert book.state == "live"
    assert book.best_bid == 62500
    assert states == ["reconnecting", "subscribing", "live"]
    assert stream.health.reconnects == 1


def test_a_revert_removes_what_it_undoes(stream: Stream, alice: Trader, bob: Trader, venue: LocalVenue) -> None:
    book, trades, wallet = stream.order_book("BTCUSDC"), stream.trades("BTCUSDC"), stream.account()
    alice.place("SELL", "62500", "0.001")
    bob.place("BUY", "62500", "0.001")
    venue.advance("1h")
    kept, rows, equity = venue.snapshot(), trades.rows(), wallet.value.equity
    alice.place("SELL", "62500", "0.001")
    bob.place("BUY", "62500", "0.001")
    venue.advance("1h")
    venue.revert(kept)
    assert trades.rows() == rows
    assert wallet.value.equity == equity
    alice.place("BUY", "62400", "0.001")
    assert book.best_bid == 62400
    stream.health.assert_healthy()


def test_wrong_arguments_are_refused_immediately(stream: Stream, venue: LocalVenue) -> None:
    with pytest.raises(MalformedRequest, match="depth 0 is not valid"):
        stream.order_book("BTCUSDC", depth=0)
    with pytest.raises(MalformedRequest, match="interval '61s' is not one of 1m, 3m"):
        stream.candles("BTCUSDC", "61s")
    with pytest.raises(InputError, match="interval 'fast' is not a span"):
        stream.candles("BTCUSDC", "fast")
    with pytest.raises(InputError, match="whose account"):
        Stream(SimpleNamespace(_local=venue, environment=None, account=None)).fills()
    assert stream.health.live == []


def test_closing_a_stream_closes_everything_and_it_can_be_used_again(venue: LocalVenue, stream: Stream) -> None:
    book = stream.order_book("BTCUSDC")
    with stream.trades("BTCUSDC") as trades:
        assert trades.state == "live"
    assert trades.state == "closed"
    stream.close()
    stream.close()
    assert (book.state, stream.health.state) == ("closed", "idle")
    assert not venue.host.feed.open_connections
    assert not venue.host.feed.after
    assert stream.order_book("BTCUSDC").state == "live"


def test_two_threads_that_open_the_first_live_objects_share_a_connection(venue: LocalVenue, stream: Stream) -> None:
    begin = threading.Barrier(2)

    def opened(_: int) -> Live:
        begin.wait(10)
        return stream.ticker("BTCUSDC")

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(opened, range(2)))
    assert len(venue.host.feed.open_connections) == 1
    stream.close()
    assert [one.state for one in made] == ["closed", "closed"]


@pytest.mark.parametrize("used", [True, False])
def test_a_closed_session_has_no_feed(venue: LocalVenue, used: bool) -> None:
    with toolkit.connect(venue=venue) as session:
        if used:
            session.stream.ticker("BTCUSDC")
    with pytest.raises(SessionClosed, match=r"session\.stream: this session is closed"):
        session.stream.ticker("BTCUSDC")
    assert not venue.host.feed.open_connections


def test_an_interrupted_cell_leaves_no_message_half_applied(
    stream: Stream, alice: Trader, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = stream.order_book("BTCUSDC")
    took = FeedProtocol.received

    def interrupted(*_: Any) -> None:
        monkeypatch.setattr(FeedProtocol, "received", took)
        raise KeyboardInterrupt

    monkeypatch.setattr(FeedProtocol, "received", interrupted)
    with pytest.raises(KeyboardInterrupt):
        alice.place("BUY", "62500", "0.001")
    assert book.best_bid == 62500, "the next look asks for a fresh snapshot"
    book.assert_healthy()


def test_a_read_waits_for_what_another_thread_is_just_reading(
    stream: Stream, alice: Trader, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = stream.order_book("BTCUSDC", 5)
    asked, drained, released = threading.Event(), threading.Event(), threading.Event()
    drain, is_reader = FeedConnection.drain, DirectShell.is_reader_thread
    seen: list[int] = []

    def drain_slowly(connection: FeedConnection) -> list[str]:
        texts = drain(connection)
        drained.set()
        assert released.wait(10)
        return texts

    def is_reader_once_drained(shell: DirectShell) -> bool:
        if threading.current_thread() is reader and not asked.is_set():
            asked.set()
            assert drained.wait(10)
        return is_reader(shell)

    reader = threading.Thread(target=lambda: seen.append(len(book.rows())))
    writer = threading.Thread(target=lambda: alice.place("BUY", "62000", "0.001"))
    monkeypatch.setattr(FeedConnection, "drain", drain_slowly)
    monkeypatch.setattr(DirectShell, "is_reader_thread", is_reader_once_drained)
    reader.start()
    assert asked.wait(10)
    writer.start()
    assert drained.wait(10)
    reader.join(0.1)
    waited = reader.is_alive()
    released.set()
    reader.join(10)
    writer.join(10)
    assert waited
    assert seen == [1]


def test_time_does_not_pass_while_another_thread_is_just_reading(
    stream: Stream, venue: LocalVenue, alice: Trader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would see the end of a connection as late as the time then is, and reconnect after that."""
    book = stream.order_book("BTCUSDC", 5)
    drained, released = threading.Event(), threading.Event()
    drain = FeedConnection.drain

    def drain_slowly(connection: FeedConnection) -> list[str]:
        texts = drain(connection)
        drained.set()
        assert released.wait(10)
        return texts

    monkeypatch.setattr(FeedConnection, "drain", drain_slowly)
    reader = threading.Thread(target=book.rows)
    reader.start()
    assert drained.wait(10)

    def cut() -> None:
        venue.host.feed.faults.cut()
        alice.place("BUY", "62000", "0.001")  # after which the cut has been noticed
        venue.advance("1m")

    passing = threading.Thread(target=cut)
    passing.start()
    passing.join(0.1)  # the command finds the reader
    assert passing.is_alive()
    released.set()
    for thread in (reader, passing):
        thread.join(10)
    assert book.state == "live"


def test_exceptions_of_callbacks_are_kept_shown_and_raised_by_the_health_check(stream: Stream, alice: Trader) -> None:
    book = stream.order_book("BTCUSDC")
    received = []
    book.on_update(lambda update: 1 / 0)
    book.on_update(received.append)
    alice.place("BUY", "62500", "0.001")
    assert len(received) == 1, "the others are still called"
    assert [type(error) for error in book.errors] == [ZeroDivisionError]
    assert "errors 1, last ZeroDivisionError" in repr(book)
    with pytest.raises(FeedError, match="1 callbacks failed, the first with ZeroDivisionError") as caught:
        stream.health.assert_healthy()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_freeze_is_detected_by_its_silence(stream: Stream, alice: Trader, venue: LocalVenue) -> None:
    ticker = stream.ticker("BTCUSDC")
    venue.host.feed.faults.add("freeze")
    venue.advance("10s")
    assert ticker.state == "live"
    venue.advance("10s")
    assert ticker.stale
    with pytest.raises(StaleData):
        ticker.assert_healthy()
    for _ in range(60):
        venue.advance("1s")
    assert ticker.state != "live"
    venue.host.feed.faults.clear()
    for _ in range(60):
        venue.advance("1s")
    ticker.assert_healthy()
