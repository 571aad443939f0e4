"""How fast the live feed is: a client's book applies increments, and a venue publishes to many readers.

The peer of the first row keeps the same levels in two dictionaries and looks for the best by `min` and `max`.
"""

from __future__ import annotations

import random
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from ..client.stream.local_book import LocalBook
from ..client.stream.protocol import FeedProtocol
from ..protocol.reads import feed as wire
from . import Measurement, rival_seconds, seconds

DEPTH = 50
INCREMENTS = 10_000
READERS = 50

Change = tuple[list[list[str]], list[list[str]]]


def rows() -> list[Measurement]:
    """Measure; increments have two changed levels within a window of 50 a side."""
    first, changes = _activity()
    ours, naive = rival_seconds(lambda: _keep(first, changes), lambda: _keep_naively(first, changes), repeat=5)
    messages = _messages(first, changes)
    whole = seconds(lambda: _receive(messages))
    return [
        Measurement(
            "live book: apply one increment and keep the top",
            INCREMENTS / ours,
            "increments/s",
            target=50_000,
            peer="two dictionaries, min and max",
            ratio=naive / ours,
        ),
        Measurement("live book: message text to the top of the book", INCREMENTS / whole, "messages/s"),
        Measurement(f"venue: a book increment published to {READERS} readers", 1 / _published(), "commands/s"),
    ]


def _activity() -> tuple[Change, list[Change]]:
    """Return a first window, and increments as a venue makes them: levels change, vanish and come back."""
    dice = random.Random(3)
    tick = Decimal("0.1")

    def price(side: int) -> str:
        return str(Decimal(60_000) + side * tick * dice.randint(1, DEPTH))

    def quantity() -> str:
        return "0" if dice.random() < 0.3 else f"{dice.randint(1, 999) / 1000:.3f}"

    bids, asks = ([[str(60_000 + side * tick * n), "1.000"] for n in range(1, DEPTH + 1)] for side in (-1, 1))
    changes = [([[price(-1), quantity()]], [[price(1), quantity()]]) for _ in range(INCREMENTS)]
    return (bids, asks), changes


def _keep(first: Change, changes: list[Change]) -> None:
    book = LocalBook()
    book.snapshot(*first)
    for bids, asks in changes:
        book.apply(bids, asks)
        book.bids.best()
        book.asks.best()


def _keep_naively(first: Change, changes: list[Change]) -> None:
    sides = [{Decimal(price): quantity for price, quantity in side} for side in first]
    for change in changes:
        for side, levels in zip(sides, change, strict=True):
            for price, quantity in levels:
                if quantity == "0":
                    side.pop(Decimal(price), None)
                else:
                    side[Decimal(price)] = quantity
        max(sides[0], default=None)
        min(sides[1], default=None)


def _messages(first: Change, changes: list[Change]) -> list[str]:
    def message(kind: str, sequence: int, change: Change) -> str:
        book = {"bids": change[0], "asks": change[1]}
        data = {"symbol": "BTCUSDC", "depth": DEPTH, "timestamp": sequence, "book": book}
        return wire.data_message("orderBook", kind, sequence, data)

    return [message("snapshot", 1, first), *(message("incremental", n, one) for n, one in enumerate(changes, 2))]


def _receive(messages: list[str]) -> None:
    protocol = FeedProtocol(rng=random.Random(1))
    topic = protocol.subscribe(wire.CHANNELS["orderBook"], {"symbol": "BTCUSDC", "depth": DEPTH}, 0)
    protocol.connecting()
    protocol.opened(0)
    for text in messages:
        protocol.received(text, 0)
    protocol.events()
    assert topic.sequence == len(messages)


def _published() -> float:
    """Return the seconds to publish one book change to 50 readers, without the order that made it."""
    from ..venue.engine.events import BookChange
    from ..venue.local import LocalVenue

    venue: Any = LocalVenue(clock="manual", accounts=1)
    hub = venue.host.feed
    hub.connections = READERS
    readers = [hub.open("bench") for _ in range(READERS)]
    message = wire.subscribe(wire.CHANNELS["orderBook"], {"symbol": "BTCUSDC", "depth": 20})
    for reader in readers:
        reader.send(message)
        reader.drain()
    book = venue.host.core.books[1]
    levels = book.depth(1, 20)
    event = BookChange(1, 1, levels[0][0], levels[0][1], 0)
    totals = iter(range(1, 1_000_000))
    venue.host.core.books[1] = SimpleNamespace(
        depth=lambda side, count: [(levels[0][0], next(totals)), *levels[1:]] if side > 0 else book.depth(side, count)
    )

    def publish() -> None:
        for _ in range(100):
            hub.publish([event])
        for reader in readers:
            assert len(reader.drain()) == 100

    taken = seconds(publish) / 100
    venue.close()
    return taken
