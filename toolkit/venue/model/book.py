"""The order book of one product: price levels in order, orders first in first out. Prices in ticks, sizes in steps.

Adding, removing and taking from the front cost the same however many orders rest: levels are found by price in a
dictionary, orders by id within a level, and the sorted prices are kept in short chunks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Iterator

from .accounts import VenueOrder

CHUNK = 256
"""Longest list of prices kept in one piece is twice this."""


class Level:
    """The orders at one price, first come first."""

    __slots__ = ("orders", "price", "total")

    def __init__(self, price: int) -> None:
        self.price = price
        self.orders: OrderedDict[int, VenueOrder] = OrderedDict()
        self.total = 0
        """Sum of the orders' leaves."""


class Ladder:
    """One side of a book. `best` is its best price, 0 when it is empty."""

    __slots__ = ("_chunks", "_lows", "best", "levels", "sign")

    def __init__(self, sign: int) -> None:
        self.sign = sign
        """+1 for bids, −1 for asks: price × sign grows towards the best."""
        self.levels: dict[int, Level] = {}
        self.best = 0
        self._chunks: list[list[int]] = []
        self._lows: list[int] = []

    def add(self, order: VenueOrder) -> Level:
        """Put an order behind the others of its price."""
        price = order.price
        level = self.levels.get(price)
        if level is None:
            level = self.levels[price] = Level(price)
            self._insert(price * self.sign)
        level.orders[order.id] = order
        level.total += order.leaves
        return level

    def remove(self, order: VenueOrder) -> Level:
        """Take an order out, with what it has left."""
        level = self.levels[order.price]
        del level.orders[order.id]
        level.total -= order.leaves
        if not level.orders:
            self.drop(level)
        return level

    def drop(self, level: Level) -> None:
        """Forget an empty level."""
        del self.levels[level.price]
        key = level.price * self.sign
        lows, chunks = self._lows, self._chunks
        if key == chunks[-1][-1]:
            at = len(chunks) - 1
            chunk = chunks[at]
            chunk.pop()
        else:
            at = bisect_right(lows, key) - 1
            chunk = chunks[at]
            del chunk[bisect_left(chunk, key)]
        if not chunk:
            del chunks[at], lows[at]
        elif key == lows[at]:
            lows[at] = chunk[0]
        self.best = chunks[-1][-1] * self.sign if chunks else 0

    def _insert(self, key: int) -> None:
        lows, chunks = self._lows, self._chunks
        if not chunks:
            chunks.append([key])
            lows.append(key)
        else:
            at = bisect_right(lows, key) - 1
            if at < 0:
                at = 0
                lows[0] = key
            chunk = chunks[at]
            insort(chunk, key)
            if len(chunk) > 2 * CHUNK:
                chunks[at : at + 1] = [chunk[:CHUNK], chunk[CHUNK:]]
                lows.insert(at + 1, chunk[CHUNK])
        self.best = chunks[-1][-1] * self.sign

    def __iter__(self) -> Iterator[Level]:
        """Go through the levels, best first."""
        levels, sign = self.levels, self.sign
        for chunk in reversed(self._chunks):
            for key in reversed(chunk):
                yield levels[key * sign]

    def __len__(self) -> int:
        return len(self.levels)

    def within(self, limit: int) -> Iterator[Level]:
        """Go through the levels at `limit` or better, best first."""
        sign = self.sign
        for level in self:
            if level.price * sign < limit * sign:
                return
            yield level


class Book:
    """Both sides of one product's book."""

    __slots__ = ("asks", "bids", "product")

    def __init__(self, product: int) -> None:
        self.product = product
        self.bids = Ladder(1)
        self.asks = Ladder(-1)

    def side(self, side: int) -> Ladder:
        """Return the ladder where orders of this side rest."""
        return self.bids if side > 0 else self.asks

    def depth(self, side: int, levels: int) -> list[tuple[int, int]]:
        """Return the best `levels` levels of a side as (price, total), best first."""
        found: list[tuple[int, int]] = []
        for level in self.side(side):
            if len(found) >= levels:
                break
            found.append((level.price, level.total))
        return found

    @property
    def mid2(self) -> int:
        """Twice the mid price in ticks, 0 when a side is empty."""
        bid, ask = self.bids.best, self.asks.best
        return bid + ask if bid and ask else 0
