"""Streaming indicators: each takes one value at a time, so it can't look ahead.

`update(x)` takes the next value and returns the current one (NaN until the window is full), which is also `value`. It
skips a NaN, such as another indicator's value before its window is full, so indicators can be chained. It takes O(1)
time (Highest and Lowest: amortised), except for StdDev: O(window).

Libraries compared: TA-Lib 0.8.2 (C, wheels for all platforms, O(1) streams at 0.17 µs per update) opens a stream only
on a full window and raises on NaN. Its streams can't be pickled for the workers of a sweep. After a NaN, talipp 2.7
(0.6 to 2.7 µs) never recovers. Both streaming-indicators 0.1.8 (SMA: 6.6 µs) and hexital 4.1 (6.4 µs) are slower, and
pandas-ta computes whole arrays. These classes need no dependency and take 0.13 to 0.6 µs (StdDev of 20: 4.6 µs).
"""

from __future__ import annotations

import math
from collections import deque
from numbers import Integral

from ..errors import InputError

NAN = float("nan")


def _at_least(least: int, window: object, name: str) -> int:
    """Return a window, or raise InputError: a shorter one would average nothing."""
    if isinstance(window, bool) or not isinstance(window, Integral) or int(window) < least:
        text = f"the window of {name} is {window!r}, but must be a whole number of at least {least}"
        raise InputError(text, field="window", rule=f"at least {least}", value=str(window))
    return int(window)


class SMA:
    """Simple moving average of the last `window` values: Σ x / n.

    The running sum is replaced by an exact one every `window` values, so rounding errors don't accumulate.

    Parameters
    ----------
    window : int
        Number of values, 1 or more.
    """

    __slots__ = ("_oldest", "_sum", "_values", "value", "window")

    def __init__(self, window: int) -> None:
        self.window = _at_least(1, window, type(self).__name__)
        self.value = NAN
        self._values = [NAN] * window
        self._sum = NAN
        self._oldest = 0

    def update(self, x: float) -> float:
        """Take the next value and return the average.

        Parameters
        ----------
        x : float
            Next value. NaN is skipped.
        """
        if x != x:
            return self.value
        values, oldest = self._values, self._oldest
        total = self._sum + (x - values[oldest])
        values[oldest] = x
        oldest += 1
        if oldest == self.window:
            oldest, total = 0, math.fsum(values)
        self._oldest, self._sum = oldest, total
        self.value = value = total / self.window
        return value


class EMA:
    """Exponential moving average, starting at the first value: e ← e + α·(x − e) with α = 2 / (window + 1).

    Parameters
    ----------
    window : int
        Number of values that sets the weight α, 1 or more.
    """

    __slots__ = ("_alpha", "_count", "_mean", "value", "window")

    def __init__(self, window: int) -> None:
        self.window = _at_least(1, window, type(self).__name__)
        self.value = NAN
        self._alpha = 2 / (window + 1)
        self._mean = NAN
        self._count = 0

    def update(self, x: float) -> float:
        """Take the next value and return the average.

        Parameters
        ----------
        x : float
            Next value. NaN is skipped.
        """
        if x != x:
            return self.value
        self._count += 1
        self._mean = x if self._count == 1 else self._mean + self._alpha * (x - self._mean)
        self.value = self._mean if self._count >= self.window else NAN
        return self.value


class StdDev:
    """Sample standard deviation of the last values: sqrt(Σ (x − mean)² / (n − 1)).

    Parameters
    ----------
    window : int
        Number of values, 2 or more.
    """

    __slots__ = ("_values", "value", "window")

    def __init__(self, window: int) -> None:
        self.window = _at_least(2, window, type(self).__name__)
        self.value = NAN
        self._values: deque[float] = deque(maxlen=window)

    def update(self, x: float) -> float:
        """Take the next value and return the deviation, by two exact passes over the window.

        Parameters
        ----------
        x : float
            Next value. NaN is skipped.
        """
        if x != x:
            return self.value
        values = self._values
        values.append(x)
        if len(values) == self.window:
            mean = math.fsum(values) / self.window
            self.value = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (self.window - 1))
        return self.value


class Highest:
    """Largest of the last values. The deque keeps only those that can still become it.

    Parameters
    ----------
    window : int
        Number of values, 1 or more.
    """

    __slots__ = ("_best", "_count", "_sign", "value", "window")

    def __init__(self, window: int, *, _sign: int = 1) -> None:
        self.window = _at_least(1, window, type(self).__name__)
        self.value = NAN
        self._sign = _sign
        self._count = 0
        self._best: deque[tuple[int, float]] = deque()

    def update(self, x: float) -> float:
        """Take the next value and return the largest.

        Parameters
        ----------
        x : float
            Next value. NaN is skipped.
        """
        if x != x:
            return self.value
        best, sign = self._best, self._sign
        while best and best[-1][1] * sign <= x * sign:
            best.pop()
        best.append((self._count, x))
        if best[0][0] <= self._count - self.window:
            best.popleft()
        self._count += 1
        self.value = best[0][1] if self._count >= self.window else NAN
        return self.value


class Lowest(Highest):
    """Smallest of the last values.

    Parameters
    ----------
    window : int
        Number of values, 1 or more.
    """

    def __init__(self, window: int) -> None:
        super().__init__(window, _sign=-1)


class ATR:
    """Average true range (Wilder): the mean of the first ranges, then a ← a + (r − a) / window.

    Range r = max(high, previous close) − min(low, previous close).

    Parameters
    ----------
    window : int, optional
        Number of bars that are averaged, 1 or more (default: 14).
    """

    __slots__ = ("_close", "_count", "_mean", "value", "window")

    def __init__(self, window: int = 14) -> None:
        self.window = _at_least(1, window, type(self).__name__)
        self.value = NAN
        self._close = NAN
        self._mean = 0.0
        self._count = 0

    def update(self, high: float, low: float, close: float) -> float:
        """Take the next bar and return the range. A bar with a NaN is skipped.

        Parameters
        ----------
        high : float
            Highest price of the bar, USDC.
        low : float
            Lowest price of the bar, USDC.
        close : float
            Last price of the bar, USDC.
        """
        if high + low + close != high + low + close:
            return self.value
        previous = close if math.isnan(self._close) else self._close
        true_range = max(high, previous) - min(low, previous)
        self._close = close
        self._count += 1
        self._mean += (true_range - self._mean) / min(self._count, self.window)
        self.value = self._mean if self._count >= self.window else NAN
        return self.value


class RSI:
    """Relative strength index (Wilder): 100 − 100 / (1 + mean gain / mean loss), 100 without losses.

    Parameters
    ----------
    window : int, optional
        Number of changes that are averaged, 1 or more (default: 14).
    """

    __slots__ = ("_count", "_down", "_previous", "_up", "value", "window")

    def __init__(self, window: int = 14) -> None:
        self.window = _at_least(1, window, type(self).__name__)
        self.value = NAN
        self._previous = NAN
        self._up = 0.0
        self._down = 0.0
        self._count = 0

    def update(self, x: float) -> float:
        """Take the next value and return the index, from 0 to 100.

        Parameters
        ----------
        x : float
            Next value. NaN is skipped.
        """
        if x != x:
            return self.value
        if not math.isnan(self._previous):
            change = x - self._previous
            self._count += 1
            weight = min(self._count, self.window)
            self._up += (max(change, 0.0) - self._up) / weight
            self._down += (max(-change, 0.0) - self._down) / weight
            if self._count >= self.window:
                self.value = 100.0 if self._down == 0 else 100 - 100 / (1 + self._up / self._down)
        self._previous = x
        return self.value


class Cross:
    """Crossing of two lines: +1 when a rises above b, −1 when it falls below, 0 otherwise.

    Lines that only touch have not crossed: the last side is kept while they are equal.
    """

    __slots__ = ("_side", "value")

    def __init__(self) -> None:
        self.value = 0
        self._side = 0

    def update(self, a: float, b: float) -> int:
        """Take the next pair and return the crossing. NaN pairs are skipped.

        Parameters
        ----------
        a : float
            Value of the line that rises above or falls below.
        b : float
            Value of the other line.

        Returns
        -------
        int
            +1 if a has crossed above b, −1 below, else 0.
        """
        side = 1 if a > b else -1 if a < b else 0
        crossed = 0
        if side and side != self._side:
            crossed = side if self._side else 0
            self._side = side
        self.value = crossed
        return crossed


class Bollinger:
    """Bollinger bands: the mean of the last values, and `width` population standard deviations (n) above and below it.

    Parameters
    ----------
    window : int, optional
        Number of values, 2 or more (default: 20).
    width : float, optional
        Number of standard deviations (default: 2).

    Attributes
    ----------
    value : float
        The mean.
    upper : float
        The upper band.
    lower : float
        The lower band.
    """

    __slots__ = ("_deviation", "_mean", "_scale", "lower", "upper", "value")

    def __init__(self, window: int = 20, width: float = 2.0) -> None:
        self._deviation, self._mean = StdDev(window), SMA(window)
        self._scale = width * math.sqrt((window - 1) / window)
        self.value = self.upper = self.lower = NAN

    def update(self, x: float) -> float:
        """Take the next value and return the mean.

        Parameters
        ----------
        x : float
            Next value. NaN is skipped.
        """
        self.value, apart = self._mean.update(x), self._scale * self._deviation.update(x)
        self.upper, self.lower = self.value + apart, self.value - apart
        return self.value


class MACD:
    """Moving average convergence divergence: EMA(fast) − EMA(slow), and its own EMA as signal. See `EMA` for the seed.

    Parameters
    ----------
    fast : int, optional
        Window of the fast average (default: 12).
    slow : int, optional
        Window of the slow average (default: 26).
    signal : int, optional
        Window of the signal (default: 9).

    Attributes
    ----------
    value : float
        Difference of the averages.
    signal : float
        EMA of `value`.
    histogram : float
        `value` − `signal`.
    """

    __slots__ = ("_fast", "_signal", "_slow", "histogram", "signal", "value")

    def __init__(self, fast: int = 12, slow: int = 26, signal: int = 9) -> None:
        self._fast, self._slow, self._signal = EMA(fast), EMA(slow), EMA(signal)
        self.value = self.signal = self.histogram = NAN

    def update(self, x: float) -> float:
        """Take the next value and return the difference of the averages.

        Parameters
        ----------
        x : float
            Next value. NaN is skipped.
        """
        if x == x:
            self.value = self._fast.update(x) - self._slow.update(x)
            self.signal = self._signal.update(self.value)
            self.histogram = self.value - self.signal
        return self.value


class Stochastic:
    """Stochastic oscillator (Lane): %K = 100 · (close − lowest) / (highest − lowest), smoothed, and its mean %D.

    Parameters
    ----------
    window : int, optional
        Bars of highest and lowest (default: 14).
    smooth : int, optional
        Values of %K that are averaged. 1 is the fast oscillator (default: 3).
    mean : int, optional
        Values of %K in %D (default: 3).

    Attributes
    ----------
    value : float
        %K, from 0 to 100. A window without a range skips its bar.
    signal : float
        %D.
    """

    __slots__ = ("_high", "_low", "_mean", "_smooth", "signal", "value")

    def __init__(self, window: int = 14, smooth: int = 3, mean: int = 3) -> None:
        self._high, self._low, self._smooth, self._mean = Highest(window), Lowest(window), SMA(smooth), SMA(mean)
        self.value = self.signal = NAN

    def update(self, high: float, low: float, close: float) -> float:
        """Take the next bar and return %K. A bar with a NaN is skipped.

        Parameters
        ----------
        high : float
            Highest price of the bar, USDC.
        low : float
            Lowest price of the bar, USDC.
        close : float
            Last price of the bar, USDC.
        """
        if high + low + close == high + low + close:
            lowest, highest = self._low.update(low), self._high.update(high)
            if highest > lowest:
                self.value = self._smooth.update(100 * (close - lowest) / (highest - lowest))
                self.signal = self._mean.update(self.value)
        return self.value


class ADX:
    """Average directional index (Wilder): the mean of 100 · abs(+DI − −DI) / (+DI + −DI).

    Directional movements and true ranges are averaged as in `ATR`: the mean of the first ones, then a ← a + (x − a) /
    window.

    Parameters
    ----------
    window : int, optional
        Number of bars that are averaged, 1 or more (default: 14).

    Attributes
    ----------
    value : float
        The index, from 0 to 100.
    plus : float
        +DI, from 0 to 100.
    minus : float
        −DI, from 0 to 100.
    """

    __slots__ = ("_count", "_dx", "_last", "_means", "minus", "plus", "value", "window")

    def __init__(self, window: int = 14) -> None:
        self.window = _at_least(1, window, type(self).__name__)
        self.value = self.plus = self.minus = NAN
        self._last = (NAN, NAN, NAN)
        self._means = (0.0, 0.0, 0.0)
        self._dx = 0.0
        self._count = 0

    def update(self, high: float, low: float, close: float) -> float:
        """Take the next bar and return the index. A bar with a NaN is skipped.

        Parameters
        ----------
        high : float
            Highest price of the bar, USDC.
        low : float
            Lowest price of the bar, USDC.
        close : float
            Last price of the bar, USDC.
        """
        if high + low + close != high + low + close:
            return self.value
        (before_high, before_low, before), self._last = self._last, (high, low, close)
        if before != before:
            return self.value
        up, down = high - before_high, before_low - low
        moved = (
            up if up > max(down, 0) else 0.0,
            down if down > max(up, 0) else 0.0,
            max(high, before) - min(low, before),
        )
        self._count += 1
        weight = min(self._count, self.window)
        plus, minus, span = self._means = tuple(a + (x - a) / weight for a, x in zip(self._means, moved, strict=True))  # type: ignore[assignment]
        if self._count >= self.window and span:
            self.plus, self.minus = 100 * plus / span, 100 * minus / span
            index = 100 * abs(plus - minus) / (plus + minus) if plus + minus else 0.0
            filled = self._count - self.window + 1
            self._dx += (index - self._dx) / min(filled, self.window)
            self.value = self._dx if filled >= self.window else NAN
        return self.value


class VWAP:
    """Volume-weighted average price: Σ price · volume / Σ volume, since the beginning of each span of time.

    Parameters
    ----------
    span_ms : int, optional
        Length of a span, ms. Spans begin at multiples of it since 1970 (UTC). 0 is a single one (default: a day).
    """

    __slots__ = ("_span", "_value", "_volume", "span_ms", "value")

    def __init__(self, span_ms: int = 86_400_000) -> None:
        self.span_ms = span_ms
        self.value = NAN
        self._value = self._volume = 0.0
        self._span = 0

    def update(self, price: float, volume: float, time: int = 0) -> float:
        """Take the next trade or bar and return the average. One with a NaN is skipped.

        Parameters
        ----------
        price : float
            Price of the trade, of a bar mostly (high + low + close) / 3, USDC.
        volume : float
            Traded quantity, base units.
        time : int, optional
            Unix ms (default: 0, which begins no span).
        """
        if price + volume == price + volume:
            span = time // self.span_ms if self.span_ms else 0
            if span != self._span:
                self._span, self._value, self._volume = span, 0.0, 0.0
            self._value += price * volume
            self._volume += volume
            self.value = self._value / self._volume if self._volume else self.value
        return self.value
