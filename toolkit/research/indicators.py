"""Incremental indicators: each takes one value at a time, so it can't look ahead, and costs the same for any window.

`update(x)` takes the next value and returns the present one (NaN until the window is full), which is also `value`.
A NaN, such as another indicator gives until it is full, is passed over, so that indicators can be chained.
"""

from __future__ import annotations

import math
from collections import deque

NAN = float("nan")


class SMA:
    """Simple moving average of the last `window` values: Σ x / n.

    The sum is made anew (exactly) every `window` values, so that rounding errors don't pile up.
    """

    __slots__ = ("_left", "_sum", "_values", "value", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.value = NAN
        self._values: deque[float] = deque([NAN] * window, window)
        self._sum = NAN
        self._left = window

    def update(self, x: float) -> float:
        """Take the next value and return the average."""
        if x != x:
            return self.value
        values = self._values
        self._sum += x - values[0]
        values.append(x)
        self._left -= 1
        if not self._left:
            self._left = self.window
            self._sum = math.fsum(values)
        self.value = value = self._sum / self.window
        return value


class EMA:
    """Exponential moving average: e ← e + α·(x − e), α = 2 / (window + 1), begun at the first value."""

    __slots__ = ("_alpha", "_count", "_mean", "value", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.value = NAN
        self._alpha = 2 / (window + 1)
        self._mean = NAN
        self._count = 0

    def update(self, x: float) -> float:
        """Take the next value and return the average."""
        if x != x:
            return self.value
        self._count += 1
        self._mean = x if self._count == 1 else self._mean + self._alpha * (x - self._mean)
        self.value = self._mean if self._count >= self.window else NAN
        return self.value


class StdDev:
    """Sample standard deviation of the last `window` values: sqrt(Σ (x − mean)² / (n − 1))."""

    __slots__ = ("_values", "value", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.value = NAN
        self._values: deque[float] = deque(maxlen=window)

    def update(self, x: float) -> float:
        """Take the next value and return the deviation (two passes over the window: exact rather than fast)."""
        if x != x:
            return self.value
        values = self._values
        values.append(x)
        if len(values) == self.window and self.window > 1:
            mean = math.fsum(values) / self.window
            self.value = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (self.window - 1))
        return self.value


class Highest:
    """Largest of the last `window` values."""

    __slots__ = ("_best", "_count", "_sign", "value", "window")

    def __init__(self, window: int, *, _sign: int = 1) -> None:
        self.window = window
        self.value = NAN
        self._sign = _sign
        self._count = 0
        self._best: deque[tuple[int, float]] = deque()

    def update(self, x: float) -> float:
        """Take the next value and return the largest."""
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
    """Smallest of the last `window` values."""

    def __init__(self, window: int) -> None:
        super().__init__(window, _sign=-1)


class ATR:
    """Average true range (Wilder): mean of the first `window` ranges, then a ← a + (r − a) / window.

    Range r = max(high, close before) − min(low, close before).
    """

    __slots__ = ("_close", "_count", "_mean", "value", "window")

    def __init__(self, window: int = 14) -> None:
        self.window = window
        self.value = NAN
        self._close = NAN
        self._mean = 0.0
        self._count = 0

    def update(self, high: float, low: float, close: float) -> float:
        """Take the next bar and return the range."""
        before = close if math.isnan(self._close) else self._close
        reach = max(high, before) - min(low, before)
        self._close = close
        self._count += 1
        self._mean += (reach - self._mean) / min(self._count, self.window)
        self.value = self._mean if self._count >= self.window else NAN
        return self.value


class RSI:
    """Relative strength index (Wilder): 100 − 100 / (1 + mean gain / mean loss); 100 without losses."""

    __slots__ = ("_before", "_count", "_down", "_up", "value", "window")

    def __init__(self, window: int = 14) -> None:
        self.window = window
        self.value = NAN
        self._before = NAN
        self._up = 0.0
        self._down = 0.0
        self._count = 0

    def update(self, x: float) -> float:
        """Take the next value and return the index."""
        if x != x:
            return self.value
        if not math.isnan(self._before):
            change = x - self._before
            self._count += 1
            weight = min(self._count, self.window)
            self._up += (max(change, 0.0) - self._up) / weight
            self._down += (max(-change, 0.0) - self._down) / weight
            if self._count >= self.window:
                self.value = 100.0 if self._down == 0 else 100 - 100 / (1 + self._up / self._down)
        self._before = x
        return self.value


class Cross:
    """Tells when one line crosses another: +1 when a rises above b, −1 when it falls below, 0 otherwise.

    Lines that touch have not crossed; the side is remembered until they part.
    """

    __slots__ = ("_side", "value")

    def __init__(self) -> None:
        self.value = 0
        self._side = 0

    def update(self, a: float, b: float) -> int:
        """Take the next pair and return the crossing. NaN pairs are passed over."""
        side = 1 if a > b else -1 if a < b else 0
        crossed = side if side and self._side and side != self._side else 0
        if side:
            self._side = side
        self.value = crossed
        return crossed
