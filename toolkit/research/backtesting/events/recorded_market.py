"""The recorded market of one symbol: the exchange's book and trades at every instant, by price and by time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....venue.simulation.queues import QueueEntry, QueueModel, reached_steps
from ...data.event_array import EventArray, Kind, whole_units_of
from ...data.order_books import BookCursor, BookUpdates, Levels, OrderFills

FAR = 1 << 62
Integers = NDArray[np.int64]


class Resting:
    """An order in the recorded book: its place in the queue, and how far the recording was looked through for it.

    Parameters
    ----------
    code : int
        Product code.
    side : int
        +1 buys, −1 sells.
    price : int
        Limit price, ticks.
    leaves : int
        Quantity still open, steps.
    priority : int
        The core's number of its place at its price, which changes when the order loses the place.
    """

    __slots__ = (
        "code", "depth", "depth_end", "depth_first", "entry", "found", "joined", "leaves", "looked_ns", "message",
        "price", "priority", "seen", "side", "trade",
    )  # fmt: skip

    def __init__(self, code: int, side: int, price: int, leaves: int, priority: int) -> None:
        self.code = code
        self.side = side
        self.priority = priority
        self.price = price
        self.leaves = leaves
        self.entry = QueueEntry(0.0)
        self.depth = self.depth_first = self.depth_end = self.message = self.trade = self.joined = self.seen = 0
        self.looked_ns = -1
        """The time up to which a fill was looked for."""
        self.found: tuple[int, int] | None = None
        """The fill that was found and not yet booked: (rank, steps)."""


class HistoricalMarket:
    """One symbol's events by the exchange's clock and by the strategy's, prices in ticks and quantities in steps.

    Every message of the book and every trade has a rank: its place in the order in which the exchange processed them.

    Parameters
    ----------
    events : EventArray
        Events on the grid of the product.
    received : array of int64 or EventArray
        When each event reaches the strategy, Unix ns, or the events that do so by their local times.
    fills : OrderFills, optional
        Fills of recorded single orders (default: none, the queue is modelled).

    Attributes
    ----------
    updates : BookUpdates
        The book by the exchange's clock.
    feed : BookUpdates
        The book as the strategy receives it.
    times : list of int
        Time of every rank, Unix ns.
    first_ns : int
        Time of the first event, on either clock, Unix ns.
    last_ns : int
        Time of the last event, on either clock, Unix ns.
    """

    queue: QueueModel | None
    """None: exact, by the recorded orders themselves."""
    cursor: BookCursor
    feed_cursor: BookCursor

    def __init__(self, events: EventArray, received: Integers | EventArray, fills: OrderFills | None = None) -> None:
        array = events.array
        self.events = events
        self.updates = BookUpdates(events, array["exchange_ns"])
        if isinstance(received, EventArray):
            # A window has other events on each clock: those on their way at its beginning or end are in only one of
            # them.
            seen, received = received.array, received.array["local_ns"]
            self.feed = BookUpdates(EventArray(seen, **events.grid), received)
        else:
            seen, self.feed = array, self.updates.by_clock(received)
        self._feed_times: list[int] = self.feed.times.tolist()
        trades = np.flatnonzero(array["kind"] == Kind.TRADE)
        prices, steps = self._units(array, trades)
        message_ranks, trade_ranks, times = _ranks(
            self.updates.times, self.updates.rows, array["exchange_ns"][trades], trades
        )
        self.times: list[int] = times.tolist()
        self._ranks_of_messages = message_ranks
        self._message_ranks: list[int] = message_ranks.tolist()
        order = np.argsort(trade_ranks, kind="stable")
        self.trade_ranks: list[int] = trade_ranks[order].tolist()
        self.trade_prices: list[int] = prices[order].tolist()
        # Only takers of the opposite side can fill an order, so each side has its own list to search.
        self._takers = {}
        for taker in (1, -1):
            # a trade of unknown side may have met orders of either
            chosen = order[np.isin(array["side"][trades][order], (taker, 0))]
            self._takers[taker] = trade_ranks[chosen].tolist(), prices[chosen].tolist(), steps[chosen].tolist()
        if fills is not None:
            ranks = np.zeros(len(array), dtype=np.int64)
            ranks[self.updates.rows], ranks[trades] = message_ranks, trade_ranks
            self._index_fills(fills, ranks)
        # Computed once for all runs: the next change of a price is then found without a replay of the book.
        self._index_levels()
        self._marks = [self._prices_of(kind) for kind in (Kind.MARK, Kind.INDEX)]
        trades = np.flatnonzero(seen["kind"] == Kind.TRADE)
        trades = trades[np.argsort(received[trades], kind="stable")]
        self.feed_trades = received[trades], *self._units(seen, trades), seen["side"][trades]
        self.first_ns = int(min(received.min(initial=FAR), array["exchange_ns"].min(initial=FAR)))
        self.last_ns = int(max(received.max(initial=0), array["exchange_ns"].max(initial=0)))

    def _units(self, array: NDArray[Any], rows: Integers) -> tuple[Integers, Integers]:
        """Return prices in ticks and quantities in steps."""
        tick, step = float(self.events.tick_size), float(self.events.step_size)
        return whole_units_of(array["price"][rows], tick), whole_units_of(array["quantity"][rows], step)

    def for_run(self, queue: QueueModel | None) -> HistoricalMarket:
        """Return the market at its beginning, for one run. Runs share its computed arrays.

        Parameters
        ----------
        queue : QueueModel or None
            Model of the queue ahead of an order, None for the recorded orders themselves.
        """
        # A shallow copy: runs share the computed arrays, which never change. Only their cursors differ.
        made = copy(self)
        made.queue = queue
        made.cursor, made.feed_cursor = BookCursor(self.updates), BookCursor(self.feed)
        return made

    def _prices_of(self, kind: Kind) -> tuple[list[int], list[int]]:
        """Return the times and prices in ticks of one kind of event, by the exchange's clock."""
        rows = self.events.of(kind)
        rows = rows[np.argsort(rows["exchange_ns"], kind="stable")]
        ticks = whole_units_of(rows["price"], float(self.events.tick_size))
        return rows["exchange_ns"].tolist(), ticks.tolist()

    def _index_levels(self) -> None:
        """Sort every change of a level by side, price and rank, so that the changes of one price are a run."""
        messages, sides, prices, totals = self.updates.changes()
        # One integer for price and side, so that a single sort groups the changes of each level.
        keys = prices * 2 + (sides > 0)
        order = np.argsort(keys, kind="stable")
        distinct, firsts = np.unique(keys[order], return_index=True)
        self._keys: list[int] = distinct.tolist()
        self._firsts = np.append(firsts, len(keys)).tolist()
        self._level_ranks: list[int] = self._ranks_of_messages[messages[order]].tolist()
        self._level_totals: list[int] = totals[order].tolist()

    def _index_fills(self, fills: OrderFills, ranks: Integers) -> None:
        """Keep the fills of recorded orders by side and price: their ranks, places in time, and steps, in order."""
        self._fills: dict[tuple[int, int], tuple[list[int], list[int], list[int]]] = {}
        at, places = ranks[fills.rows], ranks[fills.priority_rows]
        columns = (at, fills.sides, fills.ticks, places, fills.steps)
        for rank, side, ticks, place, steps in sorted(zip(*(column.tolist() for column in columns), strict=True)):
            kept = self._fills.setdefault((side, ticks), ([], [], []))
            for values, value in zip(kept, (rank, place, steps), strict=True):
                values.append(value)

    def rank_at(self, time_ns: int) -> int:
        """Return the rank up to which the exchange has processed everything at a time, which is included.

        Parameters
        ----------
        time_ns : int
            Unix ns.
        """
        return bisect_right(self.times, time_ns) - 1

    def messages_until(self, rank: int) -> int:
        """Return how many messages of the book have been processed up to a rank.

        Parameters
        ----------
        rank : int
            Rank of an event: its place in the order in which the exchange processed them.
        """
        return bisect_right(self._message_ranks, rank)

    def best_at(self, rank: int) -> tuple[int, int]:
        """Return best bid and best ask in ticks, 0 for none.

        Parameters
        ----------
        rank : int
            Rank of an event: its place in the order in which the exchange processed them.
        """
        number = self.messages_until(rank) - 1
        return (int(self.updates.bids[number]), int(self.updates.asks[number])) if number >= 0 else (0, 0)

    @property
    def first_priced(self) -> int:
        """Rank of the first message after which both sides of the book are known, else of the last one."""
        known = np.flatnonzero((self.updates.bids > 0) & (self.updates.asks > 0))
        return self._message_ranks[int(known[0]) if len(known) else -1] if self._message_ranks else -1

    def marks_at(self, rank: int) -> tuple[int, int]:
        """Return mark and index price in ticks: as recorded, else the mid, and 0 for the index.

        Parameters
        ----------
        rank : int
            Rank of an event: its place in the order in which the exchange processed them.
        """
        time, found = self.times[rank] if rank >= 0 else 0, []
        for times, prices in self._marks:
            number = bisect_right(times, time)
            found.append(prices[number - 1] if number else 0)
        bid, ask = self.best_at(rank)
        return found[0] or ((bid + ask) // 2 if bid and ask else bid or ask), found[1]

    def next_trade(self, after_ns: int) -> int:
        """Return the time of the first trade after a time, Unix ns.

        Parameters
        ----------
        after_ns : int
            Unix ns. A trade at this time is not the next one.
        """
        number = bisect_right(self.trade_ranks, self.rank_at(after_ns))
        return self.times[self.trade_ranks[number]] if number < len(self.trade_ranks) else FAR

    def trades_at(self, time_ns: int) -> list[int]:
        """Return the prices in ticks of the trades at one instant.

        Parameters
        ----------
        time_ns : int
            Unix ns.
        """
        first = bisect_left(self.trade_ranks, bisect_left(self.times, time_ns))
        return self.trade_prices[first : bisect_right(self.trade_ranks, self.rank_at(time_ns))]

    def last_rows(self, time_ns: int) -> NDArray[Any]:
        """Return the last trade, mark and index price as events of a time.

        Parameters
        ----------
        time_ns : int
            Unix ns.
        """
        found = []
        for kind in (Kind.TRADE, Kind.MARK, Kind.INDEX):
            rows = self.events.of(kind)
            found.append(rows[np.argsort(rows["exchange_ns"], kind="stable")][-1:])
        joined = np.concatenate(found)
        # The next window begins with these prices, or triggers and marks would see none until the first new one.
        joined["exchange_ns"] = joined["local_ns"] = time_ns
        return joined

    def last_trade(self, rank: int) -> int:
        """Return the price in ticks of the last trade up to a rank, 0 for none.

        Parameters
        ----------
        rank : int
            Rank of an event: its place in the order in which the exchange processed them.
        """
        number = bisect_right(self.trade_ranks, rank)
        return self.trade_prices[number - 1] if number else 0

    def levels_at(self, rank: int, side: int, depth: int) -> Levels:
        """Return the best levels of a side at a rank, as (ticks, steps).

        Parameters
        ----------
        rank : int
            Rank of an event. It must not run back from call to call.
        side : int
            +1 bids, −1 asks.
        depth : int
            Most levels.
        """
        self.cursor.move(self.messages_until(rank))
        return self.cursor.levels(side, depth)

    def next_received(self, time_ns: int) -> int:
        """Return when the next message of the book after a time reaches the strategy, Unix ns, FAR when none does.

        Parameters
        ----------
        time_ns : int
            Unix ns.
        """
        at = bisect_right(self._feed_times, time_ns)
        return self._feed_times[at] if at < len(self._feed_times) else FAR

    def receive(self, time_ns: int) -> BookCursor:
        """Return the book as it has reached the strategy by a time of its clock.

        Parameters
        ----------
        time_ns : int
            Unix ns. It must not run back from call to call.
        """
        cursor, times = self.feed_cursor, self._feed_times
        if cursor.applied < len(times) and times[cursor.applied] <= time_ns:
            cursor.move(bisect_right(times, time_ns, cursor.applied))
        return cursor

    def _run(self, side: int, price: int, rank: int) -> tuple[int, int, int]:
        """Return where a level's changes after a rank begin, and where all its changes begin and end."""
        key = price * 2 + (side > 0)
        at = bisect_left(self._keys, key)
        if at == len(self._keys) or self._keys[at] != key:
            return 0, 0, 0
        first, end = self._firsts[at], self._firsts[at + 1]
        return bisect_right(self._level_ranks, rank, first, end), first, end

    def join(self, resting: Resting, rank: int) -> None:
        """Put an order behind everything that is at its price.

        Parameters
        ----------
        resting : Resting
            Order at rest, with how far the recording was looked through for it.
        rank : int
            Rank after which the order has come.
        """
        place, first, end = self._run(resting.side, resting.price, rank)
        resting.depth, resting.depth_first, resting.depth_end = place, first, end
        # The total that the level had last is the queue ahead of the order.
        resting.entry = QueueEntry(self._level_totals[place - 1] if place > first else 0)
        resting.trade = bisect_right(self._takers[-resting.side][0], rank)
        resting.message = self.messages_until(rank)
        resting.joined = resting.seen = rank

    def rejoin(self, resting: Resting, time_ns: int) -> None:
        """Put an order of the window before, which knows its place in the queue, where this one begins.

        Parameters
        ----------
        resting : Resting
            Order at rest, with how far the recording was looked through for it.
        time_ns : int
            Last instant of the window before, Unix ns.
        """
        rank = self.rank_at(time_ns)
        resting.depth, resting.depth_first, resting.depth_end = self._run(resting.side, resting.price, rank)
        resting.trade = bisect_right(self._takers[-resting.side][0], rank)
        # Ranks of the window before mean nothing here, so the search begins again.
        resting.message, resting.looked_ns = self.messages_until(rank), -1

    def _next_exact(self, resting: Resting, until: int, partial: bool) -> tuple[int, int] | None:
        """Search like `next_fill`, where the recorded orders are known.

        If a recorded order behind ours was traded, ours would have been filled first.
        """
        # Tuples compare by rank first, so `min` keeps the earliest of the three ways to be filled.
        found = self._first_touch(resting, until), resting.leaves
        side, price = resting.side, resting.price
        trade_ranks, trade_prices, _ = self._takers[-side]
        for at in range(resting.trade, bisect_right(trade_ranks, until)):
            if (price - trade_prices[at]) * side > 0:
                found = min(found, (trade_ranks[at], resting.leaves))
                break
        ranks, places, steps = self._fills.get((side, price), ([], [], []))
        for at in range(bisect_right(ranks, resting.seen), bisect_right(ranks, until)):
            if places[at] > resting.joined:
                found = min(found, (ranks[at], min(steps[at], resting.leaves) if partial else resting.leaves))
                break
        resting.seen = min(found[0], until)
        resting.trade = bisect_right(trade_ranks, resting.seen)
        resting.message = self.messages_until(resting.seen)
        return found if found[0] <= until else None

    def next_fill(self, resting: Resting, until: int, partial: bool) -> tuple[int, int] | None:
        """Search up to a rank for the event that fills an order. Return (rank, steps), or None without one.

        An order is filled when a trade goes through its price or the other side's best price reaches it. It is also
        filled when trades at its price have used up the queue ahead of it.

        Parameters
        ----------
        resting : Resting
            Order at rest, with how far the recording was looked through for it.
        until : int
            Rank up to which to look.
        partial : bool
            Whether only the part that the trades have reached is filled.
        """
        if self.queue is None:
            return self._next_exact(resting, until, partial)
        side, price = resting.side, resting.price
        trade_ranks, trade_prices, trade_steps = self._takers[-side]
        level_ranks, level_totals = self._level_ranks, self._level_totals
        trade, trade_end = resting.trade, len(trade_ranks)
        depth, depth_end, entry, queue = resting.depth, resting.depth_end, resting.entry, self.queue
        touch = self._first_touch(resting, until)
        found = None
        while True:
            trade_rank = trade_ranks[trade] if trade < trade_end else FAR
            depth_rank = level_ranks[depth] if depth < depth_end else FAR
            rank = trade_rank if trade_rank < depth_rank else depth_rank
            # Before the level's own change: a message that reaches the price fills the whole order, independent of the
            # queue.
            if touch <= rank and touch <= until:
                found = touch, resting.leaves
                break
            if rank > until:
                break
            # Ranks are unique between messages and trades, so this is a change of the level and not a trade.
            if rank == depth_rank:
                after = level_totals[depth]
                queue.on_level(entry, level_totals[depth - 1] if depth > resting.depth_first else 0, after)
                depth += 1
                continue
            beyond = (price - trade_prices[trade]) * side
            steps = trade_steps[trade]
            trade += 1
            if beyond > 0:
                found = rank, resting.leaves
                break
            if beyond == 0:
                reached = reached_steps(queue, entry, steps)
                if reached:
                    found = rank, min(reached, resting.leaves) if partial else resting.leaves
                    break
        # The search continues from here next time, so that no event is looked at twice for the same order.
        resting.trade, resting.depth = trade, depth
        if found is not None:  # what comes after a fill in part is looked at again
            resting.message = self.messages_until(found[0])
        return found

    def _first_touch(self, resting: Resting, until: int) -> int:
        """Return the rank of the first message up to `until` whose best price of the other side reaches an order."""
        last = self.messages_until(until)
        first, resting.message = resting.message, max(last, resting.message)
        if last <= first:
            return FAR
        best = (self.updates.asks if resting.side > 0 else self.updates.bids)[first:last]
        if resting.side > 0:
            reached = (best <= resting.price) & (best > 0)
        else:
            reached = best >= resting.price
        at = int(reached.argmax())
        return self._message_ranks[first + at] if reached[at] else FAR


def _ranks(
    message_times: Integers, message_rows: Integers, trade_times: Integers, trade_rows: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return the ranks of messages and trades, and the time of every rank. At one time the rows decide."""
    times = np.concatenate([message_times, trade_times])
    order = np.lexsort((np.concatenate([message_rows, trade_rows]), times))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    count = len(message_times)
    return ranks[:count], ranks[count:], times[order]
