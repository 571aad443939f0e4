"""The feed's connections: subscribing, limits, slow readers, idleness, scripted faults, reverts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.venue.traders import Trader
from toolkit.errors import InputError
from toolkit.protocol.reads import feed as wire
from toolkit.venue.feed.hub import FeedConnection, Hub
from toolkit.venue.feed.sources import BookSource
from toolkit.venue.local import LocalVenue

BOOK = {"type": "orderBook", "symbol": "BTCUSDC", "depth": 5}


class Clock:
    """Milliseconds of the wire, set by the test."""

    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now


class Reader:
    """A client of the feed, with messages as objects."""

    def __init__(self, hub: Hub, peer: str = "10.0.0.1", **options: Any) -> None:
        self.connection: FeedConnection = hub.open(peer, **options)

    def send(self, method: str, **subscription: Any) -> None:
        message = {"method": method, **({"subscription": subscription} if subscription else {})}
        self.connection.send(json.dumps(message))

    def take(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.connection.drain()]

    def subscribe(self, **subscription: Any) -> list[dict[str, Any]]:
        self.send("subscribe", **subscription)
        return self.take()


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=False, accounts=2) as made:
        yield made


@pytest.fixture
def alice(venue: LocalVenue) -> Trader:
    return Trader(venue, 0)


def test_after_unsubscribing_nothing_comes(venue: LocalVenue, alice: Trader) -> None:
    reader = Reader(venue.host.feed)
    reader.subscribe(**BOOK)
    alice.place("BUY", "62000", "0.5")
    reader.send("unsubscribe", **BOOK)
    assert reader.take() == [{"method": "unsubscribe", "success": True, "subject": "orderBook.BTCUSDC.5"}]
    alice.place("BUY", "62001", "0.5")
    assert reader.take() == []


def test_each_complete_block_is_told_once_whether_it_has_transactions_or_not(venue: LocalVenue) -> None:
    reader = Reader(venue.host.feed)
    assert len(reader.subscribe(type="block")) == 1, "no block is complete yet"

    def blocks_after(span: str) -> list[tuple[int, int]]:
        venue.advance(span)
        return [(one["data"]["blockHeight"], one["data"]["txCount"]) for one in reader.take()]

    assert blocks_after("1s") == [(1, 0)]
    alice = Trader(venue, 0)
    alice.place("BUY", "62000", "0.5")
    assert blocks_after("1s") == [(2, 2)], "her agent's approval and the order"
    assert blocks_after("500ms") == []
    assert blocks_after("500ms") == [(3, 0)]


@pytest.mark.parametrize(
    ("text", "method", "words"),
    [
        ("{", "", "one JSON object"),
        ('{"method":"subscribe"}', "subscribe", "subscription must be an object"),
        ('{"method":"subscribe","subscription":{"type":"ticker","symbol":"NOPE"}}', "subscribe", "Listed are BTCUSDC"),
        ('{"method":"unsubscribe","subscription":{"type":"block"}}', "unsubscribe", "block is not subscribed"),
        (
            '{"method":"subscribe","subscription":{"type":"candle","symbol":"BTCUSDC"}}',
            "subscribe",
            "interval is missing",
        ),
    ],
)
def test_a_wrong_message_is_answered_and_closes_nothing(venue: LocalVenue, text: str, method: str, words: str) -> None:
    reader = Reader(venue.host.feed)
    reader.connection.send(text)
    (answer,) = reader.take()
    assert (answer["method"], answer["success"], answer["code"]) == (method, False, 40003)
    assert words in answer["message"]
    assert not reader.connection.closed


@given(st.text() | st.binary() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_message_of_a_client_can_harm_the_feed(shared_venue: LocalVenue, text: str | bytes) -> None:
    connection = shared_venue.host.feed.open()
    connection.send(text)
    (answer,) = connection.drain()
    assert json.loads(answer)["success"] is False
    connection.close()


def test_a_subject_that_fails_disconnects_its_readers_but_not_the_command(
    venue: LocalVenue, alice: Trader, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reader, other = Reader(venue.host.feed), Reader(venue.host.feed)
    reader.subscribe(**BOOK)
    other.subscribe(type="tx")
    monkeypatch.setattr(BookSource, "collect", lambda self, batch: 1 // 0)
    assert alice.place("BUY", "62000", "0.5")
    assert reader.connection.closed
    assert "orderBook.BTCUSDC.5 could not be published: ZeroDivisionError" in reader.connection.reason
    assert reader.connection.close_code == 1011
    assert "the feed could not publish orderBook.BTCUSDC.5" in caplog.text
    assert len(other.take()) == 1


def test_an_address_has_ten_connections(venue: LocalVenue) -> None:
    readers = [Reader(venue.host.feed) for _ in range(10)]
    assert not any(reader.connection.closed for reader in readers)
    refused = Reader(venue.host.feed)
    assert refused.connection.closed
    assert refused.connection.close_code == 1008
    (answer,) = refused.take()
    assert (answer["success"], answer["code"]) == (False, 40220)
    assert answer["message"] == "10.0.0.1 has 10 connections already. An address may have 10"
    assert not Reader(venue.host.feed, "10.0.0.2").connection.closed
    refused.connection.close()
    readers[0].connection.close()
    assert not Reader(venue.host.feed).connection.closed


def test_a_connection_has_fifty_subscriptions(venue: LocalVenue) -> None:
    reader = Reader(venue.host.feed)
    for depth in range(1, 51):
        assert reader.subscribe(**{**BOOK, "depth": depth})[0]["success"]
    (answer,) = reader.subscribe(**{**BOOK, "depth": 51})
    assert (answer["code"], answer["subject"]) == (40220, "orderBook.BTCUSDC.51")
    assert "50 subscriptions" in answer["message"]
    assert reader.subscribe(**{**BOOK, "depth": 50})[0]["success"], "subscribing again is a fresh snapshot"
    reader.send("unsubscribe", **{**BOOK, "depth": 1})
    reader.take()
    assert reader.subscribe(**{**BOOK, "depth": 51})[0]["success"]


def test_more_than_fifty_messages_a_second_are_not_taken(venue: LocalVenue) -> None:
    clock = Clock()
    reader = Reader(venue.host.feed, clock=clock)
    for _ in range(50):
        reader.send("ping")
        clock.now += 10
    reader.send("subscribe", **BOOK)
    *pongs, refusal = reader.take()
    assert len(pongs) == 50
    assert (refusal["method"], refusal["code"], refusal["subject"]) == ("subscribe", 40220, "orderBook.BTCUSDC.5")
    assert refusal["retryAfterMs"] == 500
    clock.now += 500
    assert reader.subscribe(**BOOK)[0]["success"]


def test_an_idle_connection_is_closed_and_a_ping_keeps_it(venue: LocalVenue) -> None:
    clock = Clock()
    reader = Reader(venue.host.feed, clock=clock)
    clock.now += 59_999
    assert not reader.connection.check_idle()
    reader.send("ping")
    clock.now += 59_999
    assert not reader.connection.check_idle()
    clock.now += 1
    assert reader.connection.check_idle()
    assert reader.connection.reason == "idle: nothing came for 60 s. Send a ping"


def test_a_slow_reader_of_a_book_gets_one_snapshot_instead_of_many_increments(venue: LocalVenue, alice: Trader) -> None:
    slow, quick = Reader(venue.host.feed, queue=8), Reader(venue.host.feed)
    slow.subscribe(**BOOK)
    quick.subscribe(**BOOK)
    for tick in range(12):
        alice.place("BUY", f"6200{tick % 10}", "0.01")
    assert slow.connection.conflated == 1
    snapshot, *increments = [one["data"] for one in slow.take()]
    assert snapshot["type"] == "snapshot"
    sequences = [snapshot["sequence"], *(one["sequence"] for one in increments)]
    assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
    assert sequences[-1] == quick.take()[-1]["data"]["sequence"]


def test_a_slow_reader_of_trades_is_disconnected_and_delays_no_other(venue: LocalVenue, alice: Trader) -> None:
    bob = Trader(venue, 1)
    woken: list[bool] = []
    slow, quick = Reader(venue.host.feed, queue=8), Reader(venue.host.feed)
    slow.connection.on_wake = lambda: woken.append(slow.connection.closed)
    for reader in (slow, quick):
        reader.subscribe(type="trades", symbol="BTCUSDC")
    for _ in range(10):
        alice.place("SELL", "62000", "0.001")
        bob.place("BUY", "62000", "0.001")
    assert slow.connection.closed
    assert slow.connection.reason == "too slow: 8 messages wait to be read"
    assert slow.connection.close_code == 1013
    assert woken[-1], "the server is woken to close the socket"
    assert len(slow.take()) == 8
    assert len(quick.take()) == 10
    assert not quick.connection.closed


def test_time_runs_by_itself_while_there_are_connections(venue: LocalVenue, monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[int] = []
    monkeypatch.setattr(venue.host, "start_running", lambda: running.append(1))
    monkeypatch.setattr(venue.host, "stop_running", lambda: running.append(-1))
    reader = Reader(venue.host.feed)
    assert running == [1]
    reader.connection.close()
    reader.connection.close()
    assert running == [1, -1]


def after(venue: LocalVenue, alice: Trader, arm: Callable[[Hub], object]) -> tuple[Reader, list[int]]:
    """Arm a fault, change the book three times, and return the sequences that arrived."""
    reader = Reader(venue.host.feed)
    reader.subscribe(**BOOK)
    arm(venue.host.feed)
    for price in ("62000", "62001", "62002"):
        alice.place("BUY", price, "0.1")
    return reader, [one["data"]["sequence"] for one in reader.take()]


@pytest.mark.parametrize(
    ("kind", "sequences"), [("drop", [2, 4]), ("duplicate", [2, 3, 3, 4]), ("skip", [2, 4, 5]), ("cut", [2])]
)
def test_scripted_faults_apply_to_the_message_they_match(
    venue: LocalVenue, alice: Trader, kind: Any, sequences: list[int]
) -> None:
    reader, arrived = after(venue, alice, lambda hub: hub.faults.add(kind, channel="orderBook", after=1))
    assert arrived == sequences
    assert reader.connection.closed == (kind == "cut")


def test_a_freeze_holds_everything_back_until_it_thaws(venue: LocalVenue, alice: Trader) -> None:
    reader, arrived = after(venue, alice, lambda hub: hub.faults.add("freeze"))
    reader.send("ping")
    assert arrived == []
    assert reader.take() == []
    venue.host.feed.faults.clear()
    *data, pong = reader.take()
    assert [one["data"]["sequence"] for one in data] == [2, 3, 4]
    assert pong == {"channel": "pong"}
    assert not venue.host.feed.faults.active


def test_faults_are_for_the_channel_and_peer_they_name(venue: LocalVenue, alice: Trader) -> None:
    _, arrived = after(venue, alice, lambda hub: hub.faults.add("drop", channel="trades", count=None))
    assert arrived == [2, 3, 4]
    venue.host.feed.faults.clear()
    _, arrived = after(venue, alice, lambda hub: hub.faults.add("drop", peer="10.9.9.9", count=None))
    assert len(arrived) == 3
    with pytest.raises(InputError, match="none of drop, duplicate, skip, freeze, cut"):
        venue.host.feed.faults.add("melt")


def test_connections_can_be_cut_at_once(venue: LocalVenue) -> None:
    one, other = Reader(venue.host.feed, "10.0.0.1"), Reader(venue.host.feed, "10.0.0.2")
    assert venue.host.feed.faults.cut(peer="10.0.0.1") == 1
    assert (one.connection.closed, other.connection.closed) == (True, False)
    venue.host.feed.close()
    assert other.connection.reason == "the venue is shutting down"


def test_a_revert_gives_every_subscription_a_fresh_snapshot_with_a_larger_sequence(
    venue: LocalVenue, alice: Trader
) -> None:
    reader = Reader(venue.host.feed)
    alice.place("BUY", "62000", "0.5")
    for subscription in (BOOK, {"type": "aopState", "userAddress": alice.address}):
        reader.subscribe(**subscription)
    kept = venue.snapshot()
    alice.place("BUY", "62001", "0.5")
    last = {one["channel"]: one["data"]["sequence"] for one in reader.take()}
    venue.revert(kept)
    fresh = {one["channel"]: one["data"] for one in reader.take()}
    assert set(fresh) == {"orderBook", "aopState"}
    for channel, data in fresh.items():
        assert data["type"] == "snapshot"
        assert data["sequence"] == last[channel] + 1
    assert fresh["orderBook"]["book"]["bids"] == [["62000.0", "0.500"]]
    assert len(fresh["aopState"]["aop"]["orders"]) == 1
    alice.place("BUY", "62002", "0.5")
    assert reader.take()[0]["data"]["sequence"] == last["orderBook"] + 2


def test_the_feed_changes_nothing_in_the_venue(venue: LocalVenue, alice: Trader) -> None:
    silent = LocalVenue(clock="manual", market=False, accounts=2)
    other = Trader(silent, 0)
    reader = Reader(venue.host.feed)
    for channel in wire.CHANNELS.values():
        known = {"symbol": "BTCUSDC", "depth": 5, "interval": "60", "userAddress": alice.address}
        assert reader.subscribe(type=channel.type, **{one.name: known[one.name] for one in channel.fields})[0][
            "success"
        ]
    for trader in (alice, other):
        trader.place("BUY", "62000", "0.5")
        trader.venue.advance("5m")
    assert venue.control.state_hash() == silent.control.state_hash()
