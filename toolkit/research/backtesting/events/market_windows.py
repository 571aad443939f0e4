"""A recorded market in windows of time, each beginning with what the one before left.

A window has its events up to the first of the next one, by the clock of the exchange and by the
strategy's. Those that were still on their way, belong to the next window.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....venue.simulation.queues import QueueModel
from ...data.event_array import EventArray, Kind, empty
from ...data.event_files import EventFiles, Summary
from ...data.order_books import BookCursor, as_levels, has_levels
from .recorded_market import FAR, HistoricalMarket, Resting

Rows = NDArray[Any]


class MarketWindows:
    """The windows of one market.

    Parameters
    ----------
    files : EventFiles
        Files of the events, in the order of their times.
    grid : dict of str to object
        Tick and step size of the product, by field name.
    feed_ns : int or None
        Delay of the feed, ns, None for the recorded one.
    queue : QueueModel or None
        Model of the queue ahead of an order, None for the recorded orders themselves.

    Attributes
    ----------
    market : HistoricalMarket
        The market of the present window.
    end_ns : int
        Time before which the present window ends, Unix ns.
    first_ns : int
        Time of the first event of all, Unix ns.
    last_ns : int
        Time of the last event of all, Unix ns.
    """

    def __init__(self, files: EventFiles, grid: dict[str, Any], feed_ns: int | None, queue: QueueModel | None) -> None:
        self._grid = grid
        self._feed_ns = feed_ns
        self._queue = queue
        self._files = files
        self._parts = iter(files)
        summary = files.summary
        self.first_ns, self.last_ns = (pick(self._clocks(summary, at)) for at, pick in ((0, min), (1, max)))
        starts = [min(self._clocks(part, 0)) for part in files.summaries]
        # No later file may have events before the window of this one begins.
        self._starts = np.minimum.accumulate(starts[::-1])[::-1].tolist()
        self._rows = empty()
        self._number = -1
        self.end_ns = 0
        self.market = self._next(empty(), empty())

    def _clocks(self, summary: Summary, at: int) -> tuple[int, int]:
        """Return the first (0) or last (1) time of events at the exchange, and at the strategy."""
        time, local = summary.exchange_ns[at], summary.local_ns[at] + self._files.summary.behind
        return time, local if self._feed_ns is None else time + self._feed_ns

    def _next(self, left: Rows, received: Rows) -> HistoricalMarket:
        """Read the next window. `left` and `received` begin its window, by the exchange's clock and the strategy's."""
        self._number += 1
        start = self._starts[self._number]
        self.end_ns = self._starts[self._number + 1] if self._number + 1 < len(self._starts) else FAR
        part: EventArray = next(self._parts)
        # The kinds of all files decide: a quiet file without any change of a level is one of levels all the same.
        if not has_levels(self._files.summary.kinds):
            part = as_levels(part)
        array, behind = part.array.copy(), self._files.summary.behind
        array["local_ns"] = (
            array["local_ns"] + behind if self._feed_ns is None else array["exchange_ns"] + self._feed_ns
        )
        rows = np.concatenate([self._rows, array])  # in the order of receipt, as all windows are
        self._rows = rows[(rows["exchange_ns"] >= self.end_ns) | (rows["local_ns"] >= self.end_ns)]

        def window(clock: str, before: Rows) -> EventArray:
            within = (rows[clock] >= start) & (rows[clock] < self.end_ns)
            return EventArray(np.concatenate([before, rows[within]]), **self._grid)

        market = HistoricalMarket(window("exchange_ns", left), window("local_ns", received))
        return market.for_run(self._queue)

    def advance(self, resting: Iterable[Resting]) -> HistoricalMarket:
        """Continue with the next window, in which the orders of this market keep their places.

        Parameters
        ----------
        resting : iterable of Resting
            Orders at rest in this market.
        """
        market, time = self.market, self.end_ns - 1
        # Up to the last instant of the window: what the exchange processed at its end belongs to the next one.
        rank = market.rank_at(time)
        market.cursor.move(market.messages_until(rank))
        market.feed_cursor.move(len(market.feed))
        left = _levels(market.cursor, time, self._grid)
        last = market.last_rows(time)
        self.market = self._next(np.concatenate([left, last]), _levels(market.feed_cursor, time, self._grid))
        for entry in resting:
            self.market.rejoin(entry, time)
        return self.market


def _levels(cursor: BookCursor, time_ns: int, grid: dict[str, Any]) -> Rows:
    """Return a book as one message of its levels."""
    rows = []
    for side, levels, best in zip((1, -1), (cursor.bids, cursor.asks), cursor.best, strict=True):
        # Levels within the other side are void, see `BookUpdates`.
        rows += [(side, at, total) for at, total in levels.items() if total and best and (best - at) * side >= 0]
    made = empty(len(rows))
    made["exchange_ns"] = made["local_ns"] = time_ns
    made["kind"] = Kind.SNAPSHOT
    if rows:
        made["side"], ticks, steps = np.array(rows, dtype=np.int64).T
        made["price"], made["quantity"] = ticks * float(grid["tick_size"]), steps * float(grid["step_size"])
    return made
