"""The client's side of the feed without I/O, against a scripted peer."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.client.rows import whole
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.client.stream.updates import Settings, Topic
from toolkit.errors import MalformedRequest
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.feed import AOP_RECORDS, RECORDS

BOOK = {"symbol": "BTCUSDC", "depth": 5}
USER = "0x" + "ab" * 20


class Peer:
    """The other end of a connection: collects what the client sends, sends what the test says, and has its own time."""

    def __init__(self, **settings: Any) -> None:
        self.client = FeedProtocol(Settings(**settings), random.Random(1))
        self.now = 1_000

    def subscribe(self, kind: str, **fields: Any) -> Topic:
        return self.client.subscribe(wire.CHANNELS[kind], fields, self.now)

    def open(self) -> list[str]:
        self.client.connecting()
        self.client.opened(self.now)
        return self.sent()

    def sent(self) -> list[str]:
        """Return what the client sends now, as "method subject"."""
        texts = []
        for text in self.client.data_to_send(self.now):
            message = wire.parse(text)
            texts.append(f"{message.method} {message.subject}".strip())
        return texts

    def send(self, kind: str, form: str, sequence: int, **data: Any) -> None:
        self.client.received(wire.data_message(wire.CHANNELS[kind], form, sequence, data), self.now)

    def book(self, form: str, sequence: int, bids: list[Any], asks: list[Any], **more: Any) -> None:
        self.send("orderBook", form, sequence, **BOOK, book={"bids": bids, "asks": asks}, **more)

    def wait(self, milliseconds: int) -> list[str]:
        self.now += milliseconds
        self.client.tick(self.now)
        return self.sent()

    def events(self) -> list[str]:
        return [f"{event.kind} {event.state}" for event in self.client.events()]


def live_book(**settings: Any) -> tuple[Peer, Topic]:
    peer = Peer(**settings)
    topic = peer.subscribe("orderBook", **BOOK)
    assert peer.open() == ["subscribe orderBook.BTCUSDC.5"]
    peer.client.received(wire.acknowledgement("subscribe", "orderBook.BTCUSDC.5"), peer.now)
    assert topic.state == "subscribing"
    peer.book("snapshot", 7, [["10", "1"]], [["11", "1"]])
    assert topic.state == "live"
    return peer, topic


def bids(topic: Topic) -> list[tuple[str, str]]:
    return topic.data.book.bids.top()  # type: ignore[attr-defined,no-any-return]


def test_the_first_subscription_connects_and_the_last_one_closes() -> None:
    peer = Peer(linger_ms=100)
    assert peer.client.deadline() is None
    first = peer.subscribe("orderBook", **BOOK)
    second = peer.subscribe("orderBook", **BOOK)
    assert first is second
    assert peer.client.connect_at_ms == peer.now
    assert peer.open() == ["subscribe orderBook.BTCUSDC.5"]
    peer.client.unsubscribe(first, peer.now)
    assert peer.sent() == []
    peer.client.unsubscribe(first, peer.now)
    assert peer.sent() == ["unsubscribe orderBook.BTCUSDC.5"]
    assert first.state == "closed"
    peer.wait(100)
    assert peer.client.must_close == "no subscriptions"
    peer.client.lost(peer.now, "closed")
    assert (peer.client.phase, peer.client.connect_at_ms) == ("idle", None)


def test_snapshot_and_increments_are_applied_in_order() -> None:
    peer, topic = live_book()
    peer.book("incremental", 8, [["10", "0"], ["9", "2"]], [])
    peer.book("incremental", 9, [["9.5", "3"]], [["11", "0"], ["12", "1"]])
    assert bids(topic) == [("9.5", "3"), ("9", "2")]
    assert (topic.sequence, topic.gaps, topic.duplicates) == (9, 0, 0)
    assert peer.events() == ["state subscribing", "snapshot live", "incremental live", "incremental live"]


@pytest.mark.parametrize("binary", [False, True])
def test_messages_come_as_text_or_as_bytes(binary: bool) -> None:
    peer, topic = live_book()
    data = {**BOOK, "book": {"bids": [["9", "5"]], "asks": []}}
    text = wire.data_message(wire.CHANNELS["orderBook"], "incremental", topic.sequence + 1, data)
    peer.client.received(text.encode() if binary else text, peer.now)
    assert (topic.state, peer.client.must_close) == ("live", "")


def test_duplicates_change_nothing() -> None:
    peer, topic = live_book()
    peer.book("incremental", 8, [["9", "2"]], [])
    peer.book("incremental", 8, [["9", "2"]], [])
    peer.book("snapshot", 7, [["10", "1"]], [["11", "1"]])
    assert bids(topic) == [("10", "1"), ("9", "2")]
    assert (topic.state, topic.duplicates) == ("live", 2)


def test_a_gap_is_counted_reported_and_repaired_by_a_fresh_snapshot() -> None:
    peer, topic = live_book()
    peer.book("incremental", 9, [["9", "2"]], [])
    assert (topic.state, topic.gaps, topic.reason) == ("resyncing", 1, "sequence 9 came after 7")
    assert peer.sent() == ["unsubscribe orderBook.BTCUSDC.5", "subscribe orderBook.BTCUSDC.5"]
    peer.book("snapshot", 7, [["1", "1"]], [["11", "1"]])
    assert topic.state == "resyncing", "a snapshot from before the gap does not close it"
    peer.book("incremental", 10, [["9", "3"]], [])
    peer.book("snapshot", 10, [["9", "3"]], [["11", "1"]])
    assert (topic.state, bids(topic)) == ("live", [("9", "3")])
    peer.book("incremental", 11, [["9", "4"]], [])
    assert bids(topic) == [("9", "4")]


def test_repeated_gaps_are_repaired_after_growing_pauses() -> None:
    peer, topic = live_book(backoff_ms=1000)
    peer.book("incremental", 9, [], [])
    assert len(peer.sent()) == 2
    peer.book("snapshot", 9, [], [])
    peer.book("incremental", 19, [], [])
    assert (topic.state, peer.sent()) == ("resyncing", [])
    due = peer.client.deadline()
    assert due is not None
    assert peer.now + 500 <= due <= peer.now + 1000
    assert len(peer.wait(due - peer.now)) == 2


def test_a_venue_that_only_promises_growing_sequences_has_no_gaps() -> None:
    peer, topic = live_book(consecutive=False)
    peer.book("incremental", 90, [["9", "1"]], [])
    assert (topic.state, topic.gaps, topic.sequence) == ("live", 0, 90)


def test_an_unrequested_snapshot_replaces_the_state() -> None:
    peer, topic = live_book()
    peer.book("snapshot", 8, [["5", "1"]], [])
    assert (bids(topic), topic.sequence) == ([("5", "1")], 8)


def test_silence_is_stale_and_requests_a_fresh_snapshot() -> None:
    peer, topic = live_book(silence_ms={"orderBook": 500})
    assert peer.wait(499) == []
    assert len(peer.wait(1)) == 2
    assert (topic.state, topic.reason) == ("resyncing", "nothing came for 500 ms")
    peer.book("snapshot", 7, [["10", "1"]], [["11", "1"]])
    assert topic.state == "live"


def test_a_quiet_account_is_requested_again_without_being_stale() -> None:
    peer = Peer(silence_ms={"userFilled": 500}, answer_ms=1000, rate=None)
    topic = peer.subscribe("userFilled", userAddress=USER)
    peer.open()
    fill = whole(RECORDS["userFilled"], execId="1", transactionTime=5)
    peer.send("userFilled", "snapshot", 3, userAddr=USER, userFills=[fill])
    assert len(peer.wait(500)) == 2
    assert topic.state == "live-unsequenced"
    peer.send("userFilled", "snapshot", 3, userAddr=USER, userFills=[fill])
    assert topic.duplicates == 0
    assert topic.data.records() == [fill]
    peer.wait(500)
    peer.wait(1000)
    assert topic.state == "resyncing", "no answer: now it is stale"


def test_missing_snapshots_lead_to_a_new_connection() -> None:
    peer = Peer(answer_ms=100, rate=None, backoff_ms=10)
    peer.subscribe("ticker", symbol="BTCUSDC")
    peer.open()
    for _ in range(20):
        due = peer.client.deadline()
        assert due is not None
        peer.wait(due - peer.now)
        if peer.client.must_close:
            break
    assert "no snapshot of ticker.BTCUSDC" in peer.client.must_close


def test_after_a_lost_connection_everything_is_subscribed_again() -> None:
    peer, book = live_book()
    fills = peer.subscribe("userFilled", userAddress=USER)
    peer.sent()
    peer.client.lost(peer.now, "connection reset")
    assert (book.state, fills.state, book.reason) == ("reconnecting", "reconnecting", "connection reset")
    due = peer.client.connect_at_ms
    assert due is not None
    assert peer.now + 125 <= due <= peer.now + 250
    assert peer.open() == ["subscribe orderBook.BTCUSDC.5", f"subscribe userFilled.{USER}"]
    peer.book("snapshot", 2, [["3", "1"]], [])
    assert (book.state, book.sequence) == ("live", 2), "a new connection may count from anywhere"


@pytest.mark.parametrize("number", [0.0, 0.5, 0.999])
def test_back_off_doubles_up_to_its_bound_and_is_reset_by_a_connection_that_lasted(number: float) -> None:
    peer = Peer(backoff_ms=100, backoff_max_ms=1000, settle_ms=50)
    peer.client._random.random = lambda: number  # type: ignore[method-assign]
    peer.subscribe("ticker", symbol="BTCUSDC")

    def pause(*, opened: bool = False, lasted_ms: int = 0) -> int:
        peer.client.connecting()
        if opened:
            peer.client.opened(peer.now)
            peer.now += lasted_ms
        peer.client.lost(peer.now, "lost")
        assert peer.client.connect_at_ms is not None
        return peer.client.connect_at_ms - peer.now

    jitter = 0.5 + number / 2
    for longest_ms in (100, 200, 400, 800, 1000, 1000):
        assert pause() == int(longest_ms * jitter)
    assert pause(opened=True, lasted_ms=49) == int(1000 * jitter), "a venue that drops each connection is not flooded"
    assert pause(opened=True, lasted_ms=50) == int(100 * jitter)
    assert pause() == int(200 * jitter)


def test_a_ping_that_is_not_answered_ends_the_connection() -> None:
    peer, _ = live_book(heartbeat_ms=1000, answer_ms=200)
    assert peer.wait(1000) == ["ping"]
    peer.client.received(wire.PONG, peer.now)
    assert peer.wait(1000) == ["ping"]
    peer.wait(199)
    assert not peer.client.must_close
    peer.wait(1)
    assert peer.client.must_close == "nothing came for 200 ms after a ping"


def test_a_watch_that_is_answered_asks_again_after_its_span() -> None:
    """The shell sleeps until the answer is overdue, so the answer must wake it."""
    peer, _ = live_book(heartbeat_ms=15_000, answer_ms=10_000)
    peer.client.watch_ms = 500
    for _ in range(5):
        assert peer.wait(500) == ["ping"]
        assert peer.client.deadline() == peer.now + 10_000
        peer.client.needs_shell = False
        peer.client.received(wire.PONG, peer.now)
        assert peer.client.needs_shell
        assert peer.client.deadline() == peer.now + 500


def test_later_pings_do_not_postpone_the_deadline_of_the_first() -> None:
    peer, _ = live_book(heartbeat_ms=100, answer_ms=250)
    for _ in range(3):
        assert peer.wait(100) == ["ping"]
    peer.wait(50)
    assert peer.client.must_close == "nothing came for 250 ms after a ping"


def test_no_more_messages_than_the_rate_allows() -> None:
    peer = Peer(rate=10)
    for place in range(25):
        peer.subscribe("orderBook", symbol="BTCUSDC", depth=place + 1)
    assert len(peer.open()) == 10
    assert peer.wait(999) == []
    assert peer.client.deadline() == peer.now + 1
    assert len(peer.wait(1)) == 10
    assert len(peer.wait(1000)) == 5


def test_a_refused_subscription_has_a_reason_and_is_not_retried() -> None:
    peer = Peer()
    topic = peer.subscribe("ticker", symbol="NOPE")
    other = peer.subscribe("ticker", symbol="BTCUSDC")
    peer.open()
    peer.client.received(wire.refusal("subscribe", 40003, "no such symbol"), peer.now)
    assert topic.state == "refused"
    assert str(topic.error) == "ticker.NOPE: no such symbol"
    assert topic.error is not None
    assert topic.error.code == 40003
    assert other.state == "subscribing"
    peer.client.lost(peer.now, "reset")
    assert peer.open() == ["subscribe ticker.BTCUSDC"]


def test_a_refusal_with_retry_after_is_retried_then() -> None:
    peer = Peer()
    topic = peer.subscribe("ticker", symbol="BTCUSDC")
    peer.open()
    peer.client.received(wire.refusal("subscribe", 40220, "slowly", "ticker.BTCUSDC", 300), peer.now)
    assert topic.state == "resyncing"
    assert peer.wait(299) == []
    assert peer.wait(1)[-1] == "subscribe ticker.BTCUSDC"


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00", "1", b"\xff\xfe", "[" * 100_000])
def test_a_malformed_message_ends_the_connection(text: str | bytes) -> None:
    peer, _ = live_book()
    peer.client.received(text, peer.now)
    assert peer.client.must_close == "the venue sent a malformed message"


@pytest.mark.parametrize(
    "data",
    [
        {"type": "incremental", "book": {"bids": [], "asks": []}},
        {"type": "incremental", "sequence": 8},
        {"type": "incremental", "sequence": 8, "book": {"bids": [["9"]], "asks": []}},
        {"type": "incremental", "sequence": 8, "book": {"bids": [["x", "1"]], "asks": []}},
        {"type": "incremental", "sequence": 8, "book": {"bids": [["11", "1"]], "asks": []}},
        {"type": "incremental", "sequence": 8, "book": None},
        {"type": "incremental", "sequence": 8, "book": {"bids": [["9", "abc"]], "asks": []}},
        {"type": "snapshot", "sequence": 8, "book": {"bids": [["9", "-1"]], "asks": []}},
    ],
)
def test_a_damaged_message_leads_to_a_fresh_snapshot(data: dict[str, Any]) -> None:
    peer, topic = live_book()
    peer.client.received(json.dumps({"channel": "orderBook", "data": {**BOOK, **data}}), peer.now)
    assert topic.state == "resyncing"
    peer.book("snapshot", 8, [["10", "1"]], [])
    assert topic.state == "live"


@pytest.mark.parametrize(
    ("kind", "fields", "data"),
    [
        ("trades", {"symbol": "BTCUSDC"}, {"trades": [7]}),
        ("trades", {"symbol": "BTCUSDC"}, {"trades": [{}, None]}),
        ("allTickers", {}, {"tickers": ["x"]}),
        ("candle", {"symbol": "BTCUSDC", "interval": "60"}, {"recent": [[1]], "symbolName": "BTCUSDC"}),
        ("userFilled", {"userAddress": "0x" + "1" * 40}, {"userFills": [True]}),
    ],
)
def test_items_that_are_not_records_lead_to_a_fresh_snapshot(
    kind: str, fields: dict[str, Any], data: dict[str, Any]
) -> None:
    peer = Peer()
    topic = peer.subscribe(kind, **fields)
    peer.open()
    peer.client.received(
        json.dumps({"channel": kind, "data": {"type": "snapshot", "sequence": 8, **fields, **data}}), peer.now
    )
    assert topic.state == "resyncing"
    assert not [event for event in peer.client.events() if event.kind != "state"]


@pytest.mark.parametrize("missing", [[], None])
@pytest.mark.parametrize("again", ["incremental", "snapshot"])
@pytest.mark.parametrize(
    ("kind", "fields", "record"),
    [
        ("ticker", {"symbol": "BTCUSDC"}, {"ticker": {"s": "BTCUSDC", "p": "1", "mp": "2"}}),
        ("blockHeight", {}, {"blockHeight": 7, "timestamp": 1_767_225_600_000}),
    ],
)
def test_a_newest_value_is_not_live_while_a_message_came_without_it(
    kind: str, fields: dict[str, Any], record: dict[str, Any], again: str, missing: Any
) -> None:
    peer = Peer()
    topic = peer.subscribe(kind, **fields)
    peer.open()

    def receive(how: str, sequence: int, held: dict[str, Any]) -> None:
        data = {"type": how, "sequence": sequence, **fields, **held}
        peer.client.received(json.dumps({"channel": kind, "data": data}), peer.now)

    receive("snapshot", 8, record)
    assert topic.is_live
    assert not topic.damaged
    receive(again, 9, dict.fromkeys(record, missing) if kind == "ticker" else {})
    assert topic.damaged or not topic.is_live
    assert topic.data.dropped == 1
    receive("snapshot", 10, record)
    assert topic.is_live
    assert not topic.damaged


@pytest.mark.parametrize(
    "message",
    [
        {"channel": ["orderBook"], "data": {}},
        {"channel": {"a": 1}, "data": {}},
        {"method": "subscribe", "success": False, "subject": "orderBook.BTCUSDC.20", "retryAfterMs": "x"},
    ],
)
def test_messages_of_unknown_shape_end_the_connection_without_an_exception(message: dict[str, Any]) -> None:
    peer, topic = live_book()
    if "subject" in message:
        message = {**message, "subject": topic.subject}
    peer.client.received(json.dumps(message), peer.now)
    assert peer.client.must_close == "the venue sent a malformed message"


def test_messages_are_matched_to_their_subscription() -> None:
    peer = Peer()
    five = peer.subscribe("orderBook", symbol="BTCUSDC", depth=5)
    twenty = peer.subscribe("orderBook", symbol="BTCUSDC", depth=20)
    minute = peer.subscribe("candle", symbol="BTCUSDC", interval="60")
    hour = peer.subscribe("candle", symbol="BTCUSDC", interval="3600")
    account = peer.subscribe("aopState", userAddress=USER.upper().replace("X", "x"))
    peer.open()
    peer.send("orderBook", "snapshot", 1, symbol="BTCUSDC", depth=20, book={"bids": [["1", "1"]], "asks": []})
    peer.send("orderBook", "snapshot", 1, symbol="BTCUSDC", depth=50, book={"bids": [["2", "1"]], "asks": []})
    peer.send("candle", "snapshot", 1, **whole(RECORDS["candle"], symbolName="BTCUSDC", intrvl=3600, timestamp=3600))
    peer.send("aopState", "snapshot", 1, aop={"accounts": [whole(AOP_RECORDS["accounts"], userAddr=USER)]})
    assert [topic.state for topic in (five, twenty, minute, hour, account)] == [
        *("subscribing", "live", "subscribing", "live-unsequenced", "live")
    ]


def test_wrong_fields_are_refused_before_anything_is_sent() -> None:
    peer = Peer()
    with pytest.raises(MalformedRequest) as caught:
        peer.subscribe("orderBook", symbol="BTCUSDC", depth=0)
    assert caught.value.field == "depth"
    assert peer.client.phase == "idle"


def trade(at: int) -> dict[str, Any]:
    return whole(RECORDS["trades"], filledPx=str(at), transactionTime=at)


def times(topic: Topic) -> list[int]:
    return [item["transactionTime"] for item in topic.data.records()]


def test_trades_are_joined_after_a_break_and_a_hole_is_counted() -> None:
    peer = Peer()
    topic = peer.subscribe("trades", symbol="BTCUSDC")
    peer.open()
    peer.send("trades", "snapshot", 1, symbol="BTCUSDC", trades=[trade(1), trade(2)])
    peer.send("trades", "incremental", 2, symbol="BTCUSDC", trades=[trade(3)])
    peer.client.lost(peer.now, "reset")
    peer.open()
    peer.client.events()
    peer.send("trades", "snapshot", 9, symbol="BTCUSDC", trades=[trade(2), trade(3), trade(4)])
    assert times(topic) == [1, 2, 3, 4]
    assert [event.items for event in peer.client.events()] == [[trade(4)]]
    peer.client.lost(peer.now, "reset")
    peer.open()
    peer.send("trades", "snapshot", 90, symbol="BTCUSDC", trades=[trade(8), trade(9)])
    assert times(topic) == [1, 2, 3, 4, 8, 9]
    assert topic.data.holes == 1  # type: ignore[attr-defined]


def test_a_snapshot_of_a_reverted_venue_removes_what_it_contradicts() -> None:
    peer = Peer()
    topic = peer.subscribe("trades", symbol="BTCUSDC")
    peer.open()
    peer.send("trades", "snapshot", 1, symbol="BTCUSDC", trades=[trade(1), trade(2), trade(3), trade(4)])
    peer.send("trades", "snapshot", 2, symbol="BTCUSDC", trades=[trade(2), trade(3)])
    assert times(topic) == [1, 2, 3]
    peer.send("trades", "snapshot", 3, symbol="BTCUSDC", trades=[])
    assert times(topic) == []


def test_an_account_is_kept_by_parts_and_closed_items_are_removed() -> None:
    peer = Peer()
    topic = peer.subscribe("aopState", userAddress=USER)
    peer.open()
    order = whole(AOP_RECORDS["orders"], ordId="5", ordStatus="NEW")
    position = whole(AOP_RECORDS["positions"], userAddr=USER, shortSize="0")
    peer.send("aopState", "snapshot", 1, userAddr=USER, aop={"orders": [order], "positions": [position]})
    parts = topic.data.parts  # type: ignore[attr-defined]
    assert (len(parts["orders"]), len(parts["positions"])) == (1, 1)
    peer.send(
        "aopState",
        "incremental",
        2,
        userAddr=USER,
        aop={"orders": [{**order, "ordStatus": "FILLED"}], "positions": [{**position, "longSize": "0.000"}]},
    )
    assert (len(parts["orders"]), len(parts["positions"])) == (0, 0)
