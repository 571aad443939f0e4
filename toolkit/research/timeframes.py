"""Bars of longer intervals, made of complete bars of the run's own interval."""

from __future__ import annotations

from .market_data import Bar, BarHistory


class LongerBars:
    """The complete bars of `interval` ms within a history, brought up to date when they are read.

    They begin at multiples of the interval since 1970 (UTC). One is complete when its last bar has closed, or when a
    later bar has begun; a first one whose beginning is not in the data is left out.
    """

    def __init__(self, base: BarHistory, interval: int) -> None:
        self.history = BarHistory(base.symbol)
        self._base = base
        self._interval = interval
        self._read = 0

    def update(self, now: int) -> BarHistory:
        """Return the history with every bar that is complete at `now`, Unix ms."""
        times = self._base.time
        while self._read < len(times):
            start = int(times[self._read]) // self._interval * self._interval
            end = int(times.searchsorted(start + self._interval))
            if now < start + self._interval and end == len(times):
                break
            rows = slice(self._read, end)
            # Data that begins in the middle of an interval does not show the whole of it.
            if self._read or int(times[0]) == start:
                opens, closes = self._base.open[rows], self._base.close[rows]
                high, low = float(self._base.high[rows].max()), float(self._base.low[rows].min())
                volume, closed = float(self._base.volume[rows].sum()), start + self._interval
                values = float(opens[0]), high, low, float(closes[-1]), volume
                self.history.append(Bar(self._base.symbol, start, closed, *values))
            self._read = end
        return self.history
