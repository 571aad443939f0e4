"""The client's side of the feed without I/O, against a scripted peer."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.client.rows import whole
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.client.stream.updates import Settings, Topic
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.feed import RECORDS

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


@pytest.mark.parametrize(
    "message",
    [
        {"channel": ["orderBook"], "data": {}},
        {"channel": {"a": 1}, "data": {}},
    ],
)
def test_messages_of_unknown_shape_end_the_connection_without_an_exception(message: dict[str, Any]) -> None:
    peer, _ = live_book()
    peer.client.received(json.dumps(message), peer.now)
    assert peer.client.must_close == "the venue sent a malformed message"


def trade(at: int) -> dict[str, Any]:
    return whole(RECORDS["trades"], filledPx=str(at), transactionTime=at)
