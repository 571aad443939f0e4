"""Market data as strategies receive it: bars, trades, books, the bars so far, and indicators over whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import InputError
from ..numerals import Span, milliseconds

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

NAN = float("nan")


class Bar(msgspec.Struct, frozen=True, gc=False):
    """One complete bar.

    Attributes
    ----------
    symbol : str
        Product symbol, such as "BTCUSDC".
    time : int
        Time from which it covers trades, Unix ms.
    closed : int
        Time before which it covers trades, Unix ms.
    open : float
        First price, USDC.
    high : float
        Highest price, USDC.
    low : float
        Lowest price, USDC.
    close : float
        Last price, USDC.
    volume : float
        Traded quantity, base units.
    """

    symbol: str
    time: int
    closed: int
    open: float
    high: float
    low: float
    close: float
    volume: float


class Trade(msgspec.Struct, frozen=True, gc=False):
    """One public trade.

    Attributes
    ----------
    symbol : str
        Product symbol, such as "BTCUSDC".
    time : int
        Time of the trade, Unix ms.
    side : str
        Side of the taker, BUY or SELL.
    price : float
        Price, USDC.
    quantity : float
        Quantity, base units.
    """

    symbol: str
    time: int
    side: str
    price: float
    quantity: float


class BookSnapshot(msgspec.Struct, frozen=True):
    """The top of a book. A level is (price in USDC, quantity in base units).

    Attributes
    ----------
    symbol : str
        Product symbol, such as "BTCUSDC".
    time : int
        Time of the snapshot, Unix ms.
    bids : tuple of (float, float)
        Levels of buyers, highest price first, empty if there are none.
    asks : tuple of (float, float)
        Levels of sellers, lowest price first, empty if there are none.
    """

    symbol: str
    time: int
    bids: tuple[tuple[float, float], ...]
    asks: tuple[tuple[float, float], ...]

    @property
    def mid(self) -> float:
        """Middle of best bid and best ask, NaN when a side is empty."""
        return (self.bids[0][0] + self.asks[0][0]) / 2 if self.bids and self.asks else NAN


class BarHistory:
    """The bars of one symbol up to now, as read-only arrays.

    The arrays are float64: open, high, low, close, volume, and time (int64, Unix ms). They and the buffers behind them
    hold past bars only, so no view can reach a later bar. Slicing the history itself is not supported. Write
    `history.close[-5:]`.

    Parameters
    ----------
    symbol : str
        Product symbol of the bars.
    bars : iterable of Bar, optional
        Bars to begin with, oldest first (default: none).
    """

    __slots__ = ("_length", "_pending", "_rows", "_times", "append", "symbol")

    COLUMNS = ("open", "high", "low", "close", "volume")

    def __init__(self, symbol: str, bars: Iterable[Bar] = ()) -> None:
        import numpy as np

        self.symbol = symbol
        # A run appends every bar but rarely reads the arrays, so bars wait in a list until someone reads.
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
        """Update the arrays."""
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
        """Return a copy of the bars as a DataFrame.

        Returns
        -------
        DataFrame
            Index `time` (UTC), float64 columns open, high, low, close (USDC) and volume (base units).
        """
        import pandas as pd

        index = time_index(self.time)  # reading `time` also brings the rows up to date
        return pd.DataFrame(self._rows[: self._length].copy(), columns=list(self.COLUMNS), index=index)


class LongerBars:
    """The complete longer bars within a history, updated when they are read.

    They begin at multiples of the interval since 1970 (UTC). One is complete when its last bar has closed, or when a
    later bar has begun. The first one is left out if its beginning is not in the data.

    Parameters
    ----------
    base : BarHistory
        History of the bars that they are made of.
    interval : int
        Length of the longer bars, ms, a multiple of the history's.
    """

    def __init__(self, base: BarHistory, interval: int) -> None:
        self.history = BarHistory(base.symbol)
        self._base = base
        self._interval = interval
        self._read = 0

    def update(self, now: int) -> BarHistory:
        """Return the history with every bar that is complete by now.

        Parameters
        ----------
        now : int
            Current time, Unix ms.
        """
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


def time_index(times_ms: NDArray[np.int64] | Sequence[int]) -> pd.DatetimeIndex:
    """Return times as a UTC index with the name "time".

    Parameters
    ----------
    times_ms : array or sequence of int
        Unix ms.
    """
    import pandas as pd

    return pd.DatetimeIndex(pd.to_datetime(times_ms, unit="ms", utc=True).as_unit("ms"), name="time")


def span_ms(span: Span, name: str = "interval") -> int:
    """Return a span in ms.

    Parameters
    ----------
    span : str or timedelta
        Length of time, such as "1h" or a Timedelta.
    name : str, optional
        Name of the argument, for the error (default: "interval").

    Returns
    -------
    int
        Milliseconds, at least 1.

    Raises
    ------
    InputError
        If it is no span, or is below 1 ms.
    """
    found = milliseconds(span, name)
    if not found:
        raise InputError(f"{name} is {span!r}, but must be 1 ms or more", field=name, rule="positive", value=str(span))
    return found


class Indicator:
    """The values of an indicator up to now: `x.value` or `x[-1]` is the last, NaN before the first bar.

    Parameters
    ----------
    symbol : str
        Product whose bars it is computed of.
    """

    __slots__ = ("_values", "push", "symbol")

    def __init__(self, symbol: str) -> None:
        self.symbol = symbol
        self._values: list[float] = []
        self.push = self._values.append
        """push(value) adds the value of a complete bar."""

    @property
    def value(self) -> float:
        """The value at the last complete bar."""
        return self._values[-1] if self._values else NAN

    def __getitem__(self, at: int) -> float:
        try:
            return self._values[at]
        except IndexError:
            return NAN

    def __len__(self) -> int:
        return len(self._values)

    def __float__(self) -> float:
        return self.value

    def array(self) -> NDArray[np.float64]:
        """Return a copy of all values so far.

        Returns
        -------
        array of float64, shape (n,)
            One value a bar, oldest first.
        """
        import numpy as np

        return np.array(self._values)

    def cross(self, other: Indicator) -> int:
        """Return whether it has just crossed another indicator.

        Parameters
        ----------
        other : Indicator
            Indicator of the other line.

        Returns
        -------
        int
            +1 when it has just crossed above, −1 below, else 0.
        """
        now, before = self[-1] - other[-1], self[-2] - other[-2]
        return int(now > 0 >= before) - int(now < 0 <= before)


class Precomputed:
    """A function over the bars of one symbol, with the indicators that show its outputs.

    A strategy receives only the values up to now. The function's values for a shorter history are compared with them,
    and a function that looks ahead is refused.

    Parameters
    ----------
    function : callable
        Function that returns one value a bar for each output.
    inputs : sequence of object
        Names of columns (passed as float64 arrays), "bars" (a DataFrame of all), or values that are passed unchanged.
        Without any, the closes.
    options : dict of str to object
        Keyword arguments of the function.
    symbol : str
        Product whose bars are read.
    outputs : int
        Number of arrays that the function returns.
    """

    def __init__(
        self, function: Callable[..., Any], inputs: Sequence[Any], options: dict[str, Any], symbol: str, outputs: int
    ) -> None:
        self.function = function
        self.inputs = tuple(inputs) or ("close",)
        self.options = options
        self.symbol = symbol
        self.indicators = tuple(Indicator(symbol) for _ in range(outputs))

    def values(self, history: BarHistory) -> list[list[float]]:
        """Return one list of values, one a bar, for each output.

        Parameters
        ----------
        history : BarHistory
            Bars so far.

        Returns
        -------
        list of list of float
            One list for each output.

        Raises
        ------
        InputError
            If the function returns another number of outputs or values.
        """
        import numpy as np

        given = [self._input(history, name) for name in self.inputs]
        found = self.function(*given, **self.options)
        if hasattr(found, "to_numpy"):
            found = found.to_numpy().T
        several = isinstance(found, tuple | list) and len(found) and hasattr(found[0], "__len__")
        rows = np.asarray([np.asarray(row) for row in found] if several else found, dtype="float64")
        rows = rows.reshape(1, -1) if rows.ndim == 1 else rows
        name = getattr(self.function, "__name__", "the function")
        if rows.shape != (len(self.indicators), len(history)):
            text = (
                f"{name} returned {' × '.join(map(str, rows.shape))} values, but {len(history)} bars and "
                f"{len(self.indicators)} outputs need {len(self.indicators)} × {len(history)}. See outputs="
            )
            raise InputError(text, field="function", value=str(rows.shape))
        lists: list[list[float]] = rows.tolist()
        return lists

    def _input(self, history: BarHistory, name: object) -> Any:
        if name == "bars":
            return history.frame()
        return (
            getattr(history, name).copy() if isinstance(name, str) and name in (*BarHistory.COLUMNS, "time") else name
        )

    def feeds(self, bars: Sequence[Bar]) -> list[tuple[Callable[[float], None], Iterator[float]]]:
        """Return (push, values to come) of each output, computed together over all bars.

        Parameters
        ----------
        bars : sequence of Bar
            All bars of the symbol, oldest first.

        Raises
        ------
        InputError
            If the values over fewer bars are others: the function looks ahead.
        """
        import numpy as np

        ahead = self.values(BarHistory(self.symbol, bars))
        # Of two neighbouring lengths at most one ends with a longer bar, whatever its length: a function that gives the
        # close of an hour to all its minutes shows at the other one.
        cuts = sorted({max(len(bars) * part // 15 + more, 1) for part in (10, 12) for more in (0, 1)} - {len(bars)})
        shorter = [self.values(BarHistory(self.symbol, bars[:cut])) for cut in cuts]
        for values, first in [pair for known in shorter for pair in zip(ahead, known, strict=True)]:
            if not np.allclose(values[: len(first)], first, rtol=1e-6, atol=1e-9, equal_nan=True):
                name = getattr(self.function, "__name__", "the function")
                text = (
                    f"{name} looks ahead: over the first {len(first)} bars it gives other values than over all "
                    f"{len(values)}. A strategy could not have known them"
                )
                raise InputError(text, field="function", rule="no look-ahead")
        return [(indicator.push, iter(values)) for indicator, values in zip(self.indicators, ahead, strict=True)]

    def update(self, history: BarHistory) -> None:
        """Compute over the bars so far and add the last value, as live runs do.

        Parameters
        ----------
        history : BarHistory
            Bars so far.
        """
        for indicator, values in zip(self.indicators, self.values(history), strict=True):
            indicator.push(values[-1])
