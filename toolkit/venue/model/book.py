"""The order book of one product: price levels in order, orders first in first out. Prices in ticks, sizes in steps.

Levels are found by price in a dictionary, orders by id within a level. The sorted prices are one list with the best
price last, so that levels near the best are added and dropped at its end.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Protocol

from .accounts import VenueOrder


class Level:
    """The orders at one price, first come first."""

    __slots__ = ("orders", "price", "total")

    def __init__(self, price: int) -> None:
        self.price = price
        self.orders: OrderedDict[int, VenueOrder] = OrderedDict()
        self.total = 0
        """Sum of the orders' leaves."""


class BookSide:
    """One side of a book. `best` is its best price, 0 when it is empty."""

    __slots__ = ("_keys", "best", "levels", "sign")

    def __init__(self, sign: int) -> None:
        self.sign = sign
        """+1 for bids, −1 for asks: price × sign grows towards the best."""
        self.levels: dict[int, Level] = {}
        self.best = 0
        # measured against `sortedcontainers.SortedList`: 0.95 µs instead of 1.7 µs at the best price, where nearly all
        # orders come and go; 3.2 µs instead of 1.8 µs in the middle of 38,000 levels
        self._keys: list[int] = []
        """price × sign of every level, ascending."""

    def add(self, order: VenueOrder) -> Level:
        """Put an order behind the others of its price."""
        price = order.price
        level = self.levels.get(price)
        if level is None:
            level = self.levels[price] = Level(price)
            keys = self._keys
            insort(keys, price * self.sign)
            self.best = keys[-1] * self.sign
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
        """Remove an empty level."""
        price, keys = level.price, self._keys
        del self.levels[price]
        if price == self.best:
            keys.pop()
            self.best = keys[-1] * self.sign if keys else 0
        else:
            del keys[bisect_left(keys, price * self.sign)]

    def __iter__(self) -> Iterator[Level]:
        """Iterate over the levels, best first."""
        levels, sign = self.levels, self.sign
        for key in reversed(self._keys):
            yield levels[key * sign]

    def __len__(self) -> int:
        return len(self.levels)

    def within(self, limit_ticks: int) -> Iterator[Level]:
        """Iterate over the levels at `limit_ticks` or better, best first."""
        sign = self.sign
        for level in self:
            if level.price * sign < limit_ticks * sign:
                return
            yield level


class Book:
    """Both sides of one product's book."""

    __slots__ = ("asks", "bids", "product")

    def __init__(self, product: int) -> None:
        self.product = product
        self.bids = BookSide(1)
        self.asks = BookSide(-1)

    def side(self, side: int) -> BookSide:
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


class LazyBooks(Protocol):
    """What stands in for books whose orders are only made when somebody looks: the simulated market."""

    def unfold(self, code: int) -> Book | None: ...
    def top(self, code: int) -> tuple[int, int]: ...
    def levels(self, code: int, side: int, value_micro: int) -> Iterable[tuple[int, int]]: ...
    def fold(self) -> None: ...
    def settle(self) -> None: ...


class Books(dict[int, Book]):
    """The books by product code. One that `lazy` keeps folded is missing, and made when it is first read.

    An unfolded book is that of one instant: `Core` folds it before time goes on and before the state is dumped, so that
    reading leaves no trace in the state.
    """

    lazy: LazyBooks | None = None

    def __missing__(self, code: int) -> Book:
        book = self.lazy.unfold(code) if self.lazy is not None else None
        if book is None:
            raise KeyError(code)
        return book

    def top(self, code: int) -> tuple[int, int]:
        """Return the best bid and ask of a product in ticks, 0 where there is none; nothing is unfolded."""
        if self.lazy is not None and code not in self:
            return self.lazy.top(code)
        book = self[code]
        return book.bids.best, book.asks.best

    def levels(self, code: int, side: int, value_micro: int) -> Iterable[tuple[int, int]]:
        """Return the levels of a side as (price, total), best first: all of them, or as many as hold a value."""
        if self.lazy is not None and code not in self:
            return self.lazy.levels(code, side, value_micro)
        return ((level.price, level.total) for level in self[code].side(side))

    def fold(self) -> None:
        """Fold what was unfolded."""
        if self and self.lazy is not None:
            self.lazy.fold()

    def settle(self) -> None:
        """Fold everything, and bring what is computed on demand to the present: the form in which states are equal."""
        if self.lazy is not None:
            self.lazy.settle()
