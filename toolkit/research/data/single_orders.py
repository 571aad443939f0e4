"""Books in other forms, as levels: best prices alone, and single orders (level 3) with which was filled before which.

An order's place in time is that of the event that brought it to its price, or raised its quantity there. A FILL says
that an order was traded; the CANCEL or MODIFY that takes the traded quantity away follows. A CANCEL of quantity 0, or
of all that is left, removes an order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .event_array import BOOK_KINDS, ORDER_KINDS, EventArray, Kind, empty, whole_units_of

Integers = NDArray[np.int64]


class OrderFills(NamedTuple):
    """Fills of recorded orders in the order of the exchange; rows are those of the events with levels."""

    rows: Integers
    sides: Integers
    ticks: Integers
    steps: Integers
    priority_rows: Integers
    """The row with which the order took its place in the queue."""
    sources: Integers
    """Of every row of the events with levels: the row of the given events that it comes from."""


def has_single_orders(events: EventArray) -> bool:
    """Return whether the book is one of single orders, without totals of levels."""
    kinds = events.array["kind"]
    return bool((kinds == Kind.ADD).any()) and not np.isin(kinds, (Kind.DEPTH, Kind.SNAPSHOT)).any()


def as_levels(events: EventArray) -> EventArray:
    """Return events whose book is one of levels: as they are, else with those that best prices or orders make."""
    if has_single_orders(events):
        return with_levels(events)[0]
    return events if np.isin(events.array["kind"], BOOK_KINDS).any() else _quotes_as_levels(events)


def _quotes_as_levels(events: EventArray) -> EventArray:
    """Return best prices as snapshots of a book of one level."""
    quotes = np.flatnonzero(events.array["kind"] == Kind.QUOTE)
    clears = empty(len(quotes))
    for name in ("exchange_ns", "local_ns", "side", "id"):
        clears[name] = events.array[name][quotes]
    clears["kind"] = Kind.CLEAR
    rest = events.array.copy()
    rest["kind"][quotes] = Kind.SNAPSHOT
    places = np.concatenate([quotes, np.arange(len(rest))])
    joined = np.concatenate([clears, rest])[np.argsort(places, kind="stable")]
    return EventArray(joined, symbol=events.symbol, tick_size=events.tick_size, step_size=events.step_size)


def with_levels(events: EventArray) -> tuple[EventArray, OrderFills]:
    """Return events with the totals of levels in place of the single orders, and the orders' fills.

    Fills are trades where the events have no others.
    """
    book = _OrdersByLevel(events)
    array = events.array
    for row in np.argsort(array["exchange_ns"], kind="stable").tolist():
        book.take(row)
    made = book.rows(not (array["kind"] == Kind.TRADE).any())
    sources, priorities = np.array(book.sources, dtype=np.int64), np.array(book.priorities, dtype=np.int64)
    others = np.flatnonzero(~np.isin(array["kind"], ORDER_KINDS))
    # rows keep their place; those of one event stay in the order in which they were made
    order = np.argsort(np.concatenate([others, sources]), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    mine = place[len(others) :]
    filled = np.flatnonzero(np.array(book.filled, dtype=np.int64) > 0)
    fills = OrderFills(
        mine[filled],
        np.array(book.sides, dtype=np.int64)[filled],
        np.array(book.ticks, dtype=np.int64)[filled],
        np.array(book.filled, dtype=np.int64)[filled],
        mine[priorities[filled]],
        np.concatenate([others, sources])[order],
    )
    joined = np.concatenate([array[others], made])[order]
    return EventArray(joined, symbol=events.symbol, tick_size=events.tick_size, step_size=events.step_size), fills


class _OrdersByLevel:
    """The orders while their events are read; one item in each list for each row that is made."""

    def __init__(self, events: EventArray) -> None:
        self.events = events
        array = events.array
        self._ticks = whole_units_of(array["price"], float(events.tick_size)).tolist()
        self._steps = whole_units_of(array["quantity"], float(events.step_size)).tolist()
        self._kinds, self._sides, self._ids = (array[name].tolist() for name in ("kind", "side", "id"))
        self._orders: dict[int, tuple[int, int, int, int]] = {}
        """Id → side, ticks, steps, number of the row of its place in time."""
        self._totals: dict[tuple[int, int], int] = {}
        self.sources: list[int] = []
        self.sides: list[int] = []
        self.ticks: list[int] = []
        self.totals: list[int] = []
        self.filled: list[int] = []
        self.priorities: list[int] = []

    def take(self, row: int) -> None:
        """Apply one event."""
        kind, identity, steps = self._kinds[row], self._ids[row], self._steps[row]
        if kind in BOOK_KINDS:  # only CLEAR
            side, limit = self._sides[row], self._ticks[row]
            for key, (of, ticks, _, _) in list(self._orders.items()):
                if of * side >= 0 and (not limit or (ticks - limit) * of >= 0):
                    self._totals.pop((of, ticks), None)
                    del self._orders[key]
            return
        if kind not in ORDER_KINDS:
            return
        known = self._orders.get(identity)
        if kind == Kind.FILL:
            if known is not None:
                self._append(row, known, 0, steps)
        elif kind == Kind.CANCEL:
            if known is not None:
                left = known[2] - steps if steps else 0
                self._change(row, identity, known, max(left, 0))
        elif known is not None and kind == Kind.MODIFY and known[1] == self._ticks[row] and steps <= known[2]:
            self._change(row, identity, known, steps)
        else:
            if known is not None:
                self._change(row, identity, known, 0)
            if steps > 0:
                side = self._sides[row] or (known[0] if known is not None else 0)
                placed = self._orders[identity] = (side, self._ticks[row], steps, len(self.sources))
                self._append(row, placed, steps, 0)

    def _change(self, row: int, identity: int, known: tuple[int, int, int, int], steps: int) -> None:
        side, ticks, before, place = known
        if steps:
            self._orders[identity] = side, ticks, steps, place
        else:
            del self._orders[identity]
        self._append(row, known, steps - before, 0)

    def _append(self, row: int, order: tuple[int, int, int, int], change: int, filled: int) -> None:
        side, ticks, _, place = order
        total = self._totals[side, ticks] = self._totals.get((side, ticks), 0) + change
        for values, value in zip(
            (self.sources, self.sides, self.ticks, self.totals, self.filled, self.priorities),
            (row, side, ticks, total, filled, place),
            strict=True,
        ):
            values.append(value)

    def rows(self, trades: bool) -> NDArray[Any]:
        """Return the changes of levels as events, each a message; fills as trades if asked to."""
        made = empty(len(self.sources))
        sources, filled = np.array(self.sources, dtype=np.int64), np.array(self.filled, dtype=np.int64) > 0
        for name in ("exchange_ns", "local_ns"):
            made[name] = self.events.array[name][sources]
        made["kind"], made["side"], made["id"] = Kind.DEPTH, self.sides, np.arange(1, len(made) + 1)
        made["price"] = np.array(self.ticks) * float(self.events.tick_size)
        made["quantity"] = np.array(self.totals) * float(self.events.step_size)
        if trades:
            made["kind"][filled] = Kind.TRADE
            made["side"][filled] *= -1
            made["quantity"][filled] = np.array(self.filled)[filled] * float(self.events.step_size)
        return made
