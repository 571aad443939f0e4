"""Order books made of events: the best prices after each message, and the levels at any of them.

Books in other forms, best prices alone and single orders (level 3), become levels. Single orders also show which
was filled before which. An order's place in time is that of the event that moved it to its price, or raised its
quantity there. A FILL says that an order was traded. The CANCEL or MODIFY that takes the traded quantity away follows.
A CANCEL of quantity 0, or of all that is left, removes an order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .event_array import BOOK_KINDS, ORDER_KINDS, EventArray, Kind, from_columns, whole_units_of, with_clears

Integers = NDArray[np.int64]
Levels = tuple[tuple[int, int], ...]
WALK, REACH = 64, 2_000
"""Ticks that are looked at one by one, for the next best price and for levels, before the whole side is searched."""


class BookUpdates:
    """The book messages of events in one order of processing, prices in ticks and quantities in steps.

    A message is a run of rows with the same times and id. A book that a message leaves crossed keeps the side that the
    message set last: older levels of the other side within it are void until they are set again.

    Parameters
    ----------
    events : EventArray
        Events whose book is one of levels.
    times : array of int64, shape (rows,)
        Clock of each row, Unix ns, by which messages are put in order. Equal ones stay in the order of the rows.

    Attributes
    ----------
    times : array of int64
        Time of each message by the chosen clock, Unix ns, increasing.
    rows : array of int64
        First row of each message in the events' array.
    bids : array of int64
        Best bid after each message, ticks, 0 for none.
    asks : array of int64
        Best ask after each message, ticks, 0 for none.
    crossed : array of bool
        Whether the message left best bid at or above best ask.
    """

    def __init__(self, events: EventArray, times: Integers) -> None:
        array = events.array
        rows = np.flatnonzero(np.isin(array["kind"], BOOK_KINDS))
        book, clock = array[rows], times[rows]
        new = np.ones(len(rows), dtype=bool)
        if len(rows):
            # Rows of one message have the same times and id. Two messages of one instant differ in the id.
            new[1:] = clock[1:] != clock[:-1]
            for name in ("exchange_ns", "local_ns", "id"):
                new[1:] |= book[name][1:] != book[name][:-1]
        first = np.flatnonzero(new)
        order = np.argsort(clock[first], kind="stable")
        place = np.empty(len(first), dtype=np.int64)
        place[order] = np.arange(len(first))
        message = place[np.cumsum(new) - 1]
        # Within a message each CLEAR comes first, then bids, then asks, independent of the order of its rows.
        part = np.where(book["kind"] == Kind.CLEAR, 0, np.where(book["side"] > 0, 1, 2))
        self.times: Integers = clock[first][order]
        self.rows: Integers = rows[first][order]
        key = message * 3 + part
        sorting = np.argsort(key, kind="stable")
        bounds = np.searchsorted(key[sorting], np.arange(len(first) * 3 + 1)).tolist()
        self._clears, self._bids, self._asks = bounds[:-1:3], bounds[1::3], bounds[2::3]
        self._ends = [*self._clears[1:], len(rows)]
        tick, step = float(events.tick_size), float(events.step_size)
        self._levels: list[Integers] = [
            book["side"][sorting].astype(np.int64),
            whole_units_of(book["price"][sorting], tick),
            whole_units_of(book["quantity"][sorting], step),
        ]
        self.sides, self.ticks, self.steps = (values.tolist() for values in self._levels)
        self._messages: Integers = message[sorting]
        self._voided: list[tuple[int, int, int]] = []
        self.bids, self.asks, self.crossed = self._best_prices()

    def __len__(self) -> int:
        return len(self.times)

    def by_clock(self, times: Integers) -> BookUpdates:
        """Return the same messages in the order of another clock.

        Parameters
        ----------
        times : array of int64, shape (rows,)
            Clock of each row of the events' array, Unix ns.
        """
        # The levels are shared. Only their order by message differs, so runs with other clocks don't copy them.
        made = copy(self)
        order = np.lexsort((self.rows, times[self.rows]))
        made.rows = self.rows[order]
        made.times = times[made.rows]
        if not np.array_equal(made.rows, self.rows):
            for name in ("_clears", "_bids", "_asks", "_ends"):
                bounds = getattr(self, name)
                setattr(made, name, [bounds[number] for number in order.tolist()])
            # Another order of messages can void other levels, so the replay begins again.
            made._voided = []
            made._messages = np.argsort(order)[self._messages]
            made.bids, made.asks, made.crossed = made._best_prices()
        return made

    def changes(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Return every change of a level in order: number of its message, side, price in ticks and new total in steps.

        A level that a snapshot leaves out changes to 0.

        Returns
        -------
        tuple of four arrays of int64
            One item a change.
        """
        # A CLEAR is no level. Its effect is in `_voided`, as changes to 0.
        kept = np.ones(len(self.ticks), dtype=bool)
        starts, ends = np.array(self._clears, dtype=np.int64), np.array(self._bids, dtype=np.int64)
        for row in np.flatnonzero(starts < ends).tolist():
            kept[starts[row] : ends[row]] = False
        columns = [values[kept] for values in self._levels]
        messages = self._messages[kept]
        if not self._voided:
            return messages, columns[0], columns[1], columns[2]
        extra = np.array(self._voided, dtype=np.int64)
        zeros = np.zeros(len(extra), dtype=np.int64)
        every = [np.concatenate(pair) for pair in zip([messages, *columns], [*extra.T, zeros], strict=True)]
        order = np.argsort(every[0], kind="stable")
        return every[0][order], every[1][order], every[2][order], every[3][order]

    def apply(self, number: int, bids: dict[int, int], asks: dict[int, int]) -> None:
        """Apply one message to the levels of a book. A void level may stay with total 0.

        Parameters
        ----------
        number : int
            Number of the message.
        bids : dict of int to int
            Total in steps by price in ticks, changed in place.
        asks : dict of int to int
            Total in steps by price in ticks, changed in place.
        """
        clears, first_bid, first_ask, end = (
            self._clears[number], self._bids[number], self._asks[number], self._ends[number]
        )  # fmt: skip
        for row in range(clears, first_bid):
            self._clear(row, bids, asks)
        if first_bid < first_ask:
            bids.update(zip(self.ticks[first_bid:first_ask], self.steps[first_bid:first_ask], strict=True))
        if first_ask < end:
            asks.update(zip(self.ticks[first_ask:end], self.steps[first_ask:end], strict=True))

    def _clear(self, row: int, bids: dict[int, int], asks: dict[int, int]) -> None:
        limit, side = self.ticks[row], self.sides[row]
        for levels, sign in ((bids, 1), (asks, -1)):
            if side * sign >= 0:
                for price in [price for price in levels if not limit or (price - limit) * sign >= 0]:
                    del levels[price]

    def _best_prices(self) -> tuple[Integers, Integers, NDArray[np.bool_]]:
        """Replay all messages once. Return best bids, best asks and where the book came out crossed."""
        bids: dict[int, int] = {}
        asks: dict[int, int] = {}
        best_bids, best_asks = [0] * len(self), [0] * len(self)
        crossed = np.zeros(len(self), dtype=bool)
        bid = ask = 0
        tops, bottoms = self._extremes()
        apply = self.apply
        for number, (top, bottom, clears, first) in enumerate(
            zip(tops, bottoms, self._clears, self._bids, strict=True)
        ):
            if clears < first:
                # A CLEAR voids levels that its message does not name. Comparing the book before and after finds them.
                before = [
                    (side, price) for side, levels in ((1, bids), (-1, asks)) for price in levels if levels[price]
                ]
                apply(number, bids, asks)
                left = {1: bids, -1: asks}
                self._voided += [(number, side, price) for side, price in before if price not in left[side]]
                bid, ask = _best(bids, max), _best(asks, min)
            else:
                apply(number, bids, asks)
                # Most messages leave the best price or improve it. A search is needed only where the best level was
                # removed.
                if top > bid:
                    bid = top
                if not bids.get(bid):
                    bid = _next(bids, bid, -1, max)
                if bottom and (bottom < ask or not ask):
                    ask = bottom
                if not asks.get(ask):
                    ask = _next(asks, ask, 1, min)
            if bid >= ask and bid and ask:
                crossed[number] = True
                # The side that the message set is the newer one. Older levels of the other side within it were traded
                # or withdrawn.
                if bottom and bottom <= bid:
                    bid = _drop(bids, lambda price, ask=ask: price >= ask, max)  # type: ignore[misc]
                else:
                    ask = _drop(asks, lambda price, bid=bid: price <= bid, min)  # type: ignore[misc]
            best_bids[number], best_asks[number] = bid, ask
        return np.array(best_bids, dtype=np.int64), np.array(best_asks, dtype=np.int64), crossed

    def _extremes(self) -> tuple[list[int], list[int]]:
        """Return the highest bid and the lowest ask that each message sets, 0 for none."""
        _, ticks, steps = self._levels
        far = np.int64(1) << 62
        # reduceat needs an item behind the last one. It also returns an item for empty ranges, which is reset below.
        padded_high = np.append(np.where(steps > 0, ticks, 0), 0)
        padded_low = np.append(np.where(steps > 0, ticks, far), far)
        firsts, middles, ends = (np.array(part, dtype=np.int64) for part in (self._bids, self._asks, self._ends))
        if not len(self):
            return [], []
        high = np.maximum.reduceat(padded_high, np.column_stack([firsts, middles]).ravel())[::2]
        low = np.minimum.reduceat(padded_low, np.column_stack([middles, ends]).ravel())[::2]
        high[firsts == middles] = 0
        low[(middles == ends) | (low == far)] = 0
        return high.tolist(), low.tolist()


class BookCursor:
    """The levels of a book, moved forward message by message.

    Parameters
    ----------
    updates : BookUpdates
        Messages of the book.

    Attributes
    ----------
    bids : dict of int to int
        Total in steps by price in ticks. Levels with total 0 are void.
    asks : dict of int to int
        Total in steps by price in ticks. Levels with total 0 are void.
    applied : int
        Number of messages that are applied.
    """

    def __init__(self, updates: BookUpdates) -> None:
        self.updates = updates
        self.bids: dict[int, int] = {}
        self.asks: dict[int, int] = {}
        self.applied = 0

    def move(self, applied: int) -> None:
        """Apply the messages up to a number. It never moves back.

        Parameters
        ----------
        applied : int
            Number of messages that shall be applied.
        """
        apply = self.updates.apply
        for number in range(self.applied, applied):
            apply(number, self.bids, self.asks)
        self.applied = max(self.applied, applied)

    @property
    def best(self) -> tuple[int, int]:
        """Best bid and best ask in ticks, 0 for none."""
        if not self.applied:
            return 0, 0
        return int(self.updates.bids[self.applied - 1]), int(self.updates.asks[self.applied - 1])

    def levels(self, side: int, depth: int) -> Levels:
        """Return the best levels of a side.

        Parameters
        ----------
        side : int
            +1 bids, −1 asks.
        depth : int
            Most levels.

        Returns
        -------
        tuple of (int, int)
            (price in ticks, total in steps) of each level, best first.
        """
        price, levels = (self.best[0], self.bids) if side > 0 else (self.best[1], self.asks)
        if not price:
            return ()
        found: list[tuple[int, int]] = []
        # Levels near the best are dense, so that counting ticks is quicker than sorting the whole side.
        for _ in range(REACH):
            if total := levels.get(price):
                found.append((price, total))
                if len(found) >= depth:
                    return tuple(found)
            price -= side
        rest = [(at, total) for at, total in levels.items() if total and (price - at) * side >= 0]
        return tuple((found + sorted(rest, key=lambda level: -side * level[0]))[:depth])


def feed_times(events: EventArray) -> Integers:
    """Return each event's local time on the exchange's clock, Unix ns.

    A recorder's clock that runs behind the exchange's would make events known before they happened. It is put forward
    so that the fastest one takes no time.

    Parameters
    ----------
    events : EventArray
        Events of one product.
    """
    array = events.array
    # The smallest measured delay can't be negative, so a negative one is an error of the recorder's clock.
    behind = int((array["exchange_ns"] - array["local_ns"]).max(initial=0))
    return array["local_ns"] + max(behind, 0)


def _best(levels: dict[int, int], choose: Callable[[Iterable[int]], int]) -> int:
    there = [price for price, total in levels.items() if total]
    return choose(there) if there else 0


def _next(levels: dict[int, int], price: int, step: int, choose: Callable[[Iterable[int]], int]) -> int:
    """Return the best level with a quantity, at or beyond `price`, 0 for none. Most often it is near."""
    near = next(filter(levels.get, islice(count(price, step), WALK)), None)
    return _best(levels, choose) if near is None else near


def _drop(levels: dict[int, int], void: Callable[[int], bool], choose: Callable[..., int]) -> int:
    """Remove the levels that are void. Return the best one left, 0 for none."""
    for price in [price for price in levels if void(price)]:
        del levels[price]
    return _best(levels, choose)


class OrderFills(NamedTuple):
    """Fills of recorded orders in the order of the exchange.

    Attributes
    ----------
    rows : Integers
        Row of each fill in the events with levels.
    sides : Integers
        Side of the order: +1 buys, −1 sells.
    ticks : Integers
        Price of the order, ticks.
    steps : Integers
        Filled quantity, steps.
    priority_rows : Integers
        Row with which the order took its place in the queue.
    sources : Integers
        Row of the given events that each row of the events with levels comes from.
    """

    rows: Integers
    sides: Integers
    ticks: Integers
    steps: Integers
    priority_rows: Integers
    """The row with which the order took its place in the queue."""
    sources: Integers
    """For every row of the events with levels, the row of the given events that it comes from."""


def has_single_orders(events: EventArray) -> bool:
    """Return whether the book is one of single orders, without totals of levels.

    Parameters
    ----------
    events : EventArray
        Events of one product.
    """
    kinds = events.array["kind"]
    return bool((kinds == Kind.ADD).any()) and not np.isin(kinds, (Kind.DEPTH, Kind.SNAPSHOT)).any()


def has_levels(kinds: Iterable[int]) -> bool:
    """Return whether events of these kinds are changes of levels.

    Parameters
    ----------
    kinds : iterable of int
        Numbers of kinds that occur.
    """
    return not set(BOOK_KINDS).isdisjoint(kinds)


def as_levels(events: EventArray) -> EventArray:
    """Return events whose book is one of levels: as they are, else with those that best prices or orders make.

    Parameters
    ----------
    events : EventArray
        Events of one product.
    """
    if has_single_orders(events):
        return with_levels(events)[0]
    return events if has_levels(np.unique(events.array["kind"]).tolist()) else _quotes_as_levels(events)


def _quotes_as_levels(events: EventArray) -> EventArray:
    """Return best prices as snapshots of a book of one level."""
    quotes = np.flatnonzero(events.array["kind"] == Kind.QUOTE)
    rest = events.array.copy()
    rest["kind"][quotes] = Kind.SNAPSHOT
    joined = with_clears(rest, quotes, side=rest["side"][quotes])
    return EventArray(joined, symbol=events.symbol, **events.grid)


def with_levels(events: EventArray) -> tuple[EventArray, OrderFills]:
    """Return events with the totals of levels in place of the single orders, and the orders' fills.

    Fills are trades if the events have no others.

    Parameters
    ----------
    events : EventArray
        Events with a book of single orders.

    Returns
    -------
    tuple of (EventArray, OrderFills)
        The events with levels, and the fills of recorded orders.
    """
    book = _OrdersByLevel(events)
    array = events.array
    # Single orders are only consistent in the order of the exchange. Received out of order, an unknown one could be
    # changed.
    for row in np.argsort(array["exchange_ns"], kind="stable").tolist():
        book.take(row)
    made = np.array(book.made, dtype=np.int64).reshape(-1, 6).T
    sources, sides, ticks, _, filled, priorities = made
    others = np.flatnonzero(~np.isin(array["kind"], ORDER_KINDS))
    # rows keep their place; those of one event stay in the order in which they were made
    origins = np.concatenate([others, sources])
    order = np.argsort(origins, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    mine, fills = place[len(others) :], np.flatnonzero(filled > 0)
    found = OrderFills(mine[fills], sides[fills], ticks[fills], filled[fills], mine[priorities[fills]], origins[order])
    rows = _level_rows(events, made, with_trades=not (array["kind"] == Kind.TRADE).any())
    joined = np.concatenate([array[others], rows])[order]
    return EventArray(joined, symbol=events.symbol, **events.grid), found


def _level_rows(events: EventArray, made: Integers, *, with_trades: bool) -> NDArray[Any]:
    """Return the changes of levels as events, each a message. Fills as trades if asked to."""
    sources, sides, ticks, totals, filled, _ = made
    tick, step = float(events.tick_size), float(events.step_size)
    times = {name: events.array[name][sources] for name in ("exchange_ns", "local_ns")}
    levels = {"side": sides, "price": ticks * tick, "quantity": totals * step, "id": np.arange(1, len(sources) + 1)}
    rows = from_columns({**times, **levels, "kind": Kind.DEPTH}, len(sources))
    if with_trades:
        traded = filled > 0
        rows["kind"][traded] = Kind.TRADE
        # A trade has the side of its taker, which is opposite to that of the order at rest.
        rows["side"][traded] *= -1
        rows["quantity"][traded] = filled[traded] * step
    return rows


class _OrdersByLevel:
    """The orders while their events are read."""

    def __init__(self, events: EventArray) -> None:
        array = events.array
        self._ticks = whole_units_of(array["price"], float(events.tick_size)).tolist()
        self._steps = whole_units_of(array["quantity"], float(events.step_size)).tolist()
        self._kinds, self._sides, self._ids = (array[name].tolist() for name in ("kind", "side", "id"))
        self._orders: dict[int, tuple[int, int, int, int]] = {}
        """Id → side, ticks, steps, number of the row of its place in time."""
        self._totals: dict[tuple[int, int], int] = {}
        self.made: list[tuple[int, int, int, int, int, int]] = []
        """Rows of levels: number of the event, side, ticks, total, what was filled, number of the row of its place."""

    def take(self, row: int) -> None:
        """Apply one event.

        Parameters
        ----------
        row : int
            Number of its row in the events' array.
        """
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
                # A CANCEL without a quantity removes the whole order.
                left = known[2] - steps if steps else 0
                self._change(row, identity, known, max(left, 0))
        # A smaller quantity at the same price keeps the place in the queue. Any other change goes to its end.
        elif known is not None and kind == Kind.MODIFY and known[1] == self._ticks[row] and steps <= known[2]:
            self._change(row, identity, known, steps)
        else:
            if known is not None:
                self._change(row, identity, known, 0)
            side = self._sides[row] or (known[0] if known is not None else 0)
            if steps > 0 and side:  # an order that was never added may change, and its side isn't always repeated
                placed = self._orders[identity] = (side, self._ticks[row], steps, len(self.made))
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
        self.made.append((row, side, ticks, total, filled, place))
