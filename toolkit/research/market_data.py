"""Market data as strategies receive it: bars, trades, books, and the bars so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


class Bar(msgspec.Struct, frozen=True, gc=False):
    """One complete bar. Times in Unix ms: it covers [time, closed); prices in USDC, volume in base units."""

    symbol: str
    time: int
    closed: int
    open: float
    high: float
    low: float
    close: float
    volume: float


class Trade(msgspec.Struct, frozen=True, gc=False):
    """One public trade: `side` is the taker's, BUY or SELL; time in Unix ms."""

    symbol: str
    time: int
    side: str
    price: float
    quantity: float


class BookSnapshot(msgspec.Struct, frozen=True):
    """The top of a book at `time` (Unix ms): (price in USDC, quantity in base units), best level first."""

    symbol: str
    time: int
    bids: tuple[tuple[float, float], ...]
    asks: tuple[tuple[float, float], ...]

    @property
    def mid(self) -> float:
        """Middle of best bid and best ask; NaN when a side is empty."""
        return (self.bids[0][0] + self.asks[0][0]) / 2 if self.bids and self.asks else float("nan")


class BarHistory:
    """The bars of one symbol up to now, as read-only float64 arrays: open, high, low, close, volume, and time (ms).

    The arrays and the buffers behind them hold past bars only, so no view can reach a later bar. Slicing the history
    itself is not supported; write `history.close[-5:]`.
    """

    __slots__ = ("_length", "_pending", "_rows", "_times", "append", "symbol")

    COLUMNS = ("open", "high", "low", "close", "volume")

    def __init__(self, symbol: str, bars: Iterable[Bar] = ()) -> None:
        import numpy as np

        self.symbol = symbol
        # A run appends every bar but rarely reads the arrays, so bars wait in a list until somebody reads.
        self._pending = list(bars)
        self.append = self._pending.append
        """append(bar) adds a complete bar."""
        self._length = 0
        self._rows = np.zeros((0, 5))
        self._times = np.zeros(0, dtype="int64")

    @property
    def length(self) -> int:
        """Number of bars so far."""
        return self._length + len(self._pending)

    def _update(self) -> None:
        """Bring the arrays up to date."""
        import numpy as np

        if not (pending := self._pending):
            return
        start = self._length
        self._length = end = start + len(pending)
        while end > (size := len(self._times)):
            more = size or 1024
            self._rows = np.concatenate([self._rows, np.full((more, 5), np.nan)])
            self._times = np.concatenate([self._times, np.zeros(more, dtype="int64")])
        self._rows[start:end] = [(bar.open, bar.high, bar.low, bar.close, bar.volume) for bar in pending]
        self._times[start:end] = [bar.time for bar in pending]
        pending.clear()

    def __len__(self) -> int:
        return self.length

    @property
    def time(self) -> NDArray[np.int64]:
        """Opening time of each bar, Unix ms."""
        self._update()
        view = self._times[: self._length]
        view.flags.writeable = False
        return view

    def _column(self, column: int) -> NDArray[np.float64]:
        self._update()
        view = self._rows[: self._length, column]
        view.flags.writeable = False
        return view

    @property
    def open(self) -> NDArray[np.float64]:
        """Open prices."""
        return self._column(0)

    @property
    def high(self) -> NDArray[np.float64]:
        """Highest prices."""
        return self._column(1)

    @property
    def low(self) -> NDArray[np.float64]:
        """Lowest prices."""
        return self._column(2)

    @property
    def close(self) -> NDArray[np.float64]:
        """Close prices."""
        return self._column(3)

    @property
    def volume(self) -> NDArray[np.float64]:
        """Volumes in base units."""
        return self._column(4)

    def frame(self) -> pd.DataFrame:
        """Return a copy of the bars as a DataFrame of float64 columns on a UTC index."""
        import pandas as pd

        index = time_index(self.time)  # reading `time` also brings the rows up to date
        return pd.DataFrame(self._rows[: self._length].copy(), columns=list(self.COLUMNS), index=index)


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


def time_index(times_ms: Any) -> pd.DatetimeIndex:
    """Return times in Unix ms as a UTC index with the name "time"."""
    import pandas as pd

    return pd.DatetimeIndex(pd.to_datetime(times_ms, unit="ms", utc=True).as_unit("ms"), name="time")


def span_ms(span: str | pd.Timedelta) -> int:
    """Return a duration in ms: "1m" (minutes), "4h", "1D" or a Timedelta. Raises InputError unless positive."""
    import pandas as pd

    text = f"1{span}" if isinstance(span, str) and span[:1].isalpha() else span
    if isinstance(text, str) and text.endswith("m"):
        text += "in"
    found = int(pd.Timedelta(text) / pd.Timedelta(1, unit="ms"))
    if found <= 0:
        raise InputError(f"{span!r} is not a duration", field="interval", rule="positive", value=str(span))
    return found
