"""Indicators computed over whole arrays by any library, and handed to a strategy one value a bar.

A strategy receives only the values up to now, and what the function gives for a shorter history is compared, so that a
function that looks ahead is refused rather than believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .market_data import Bar, BarHistory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


COLUMNS = ("open", "high", "low", "close", "volume", "time")
NAN = float("nan")


class Indicator:
    """The values of an indicator up to now: `x.value` or `x[-1]` is the last one, NaN before the first bar."""

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
        """Return a copy of all values so far."""
        import numpy as np

        return np.array(self._values)

    def cross(self, other: Indicator) -> int:
        """Return +1 when it has just crossed above `other`, −1 below, else 0."""
        now, before = self[-1] - other[-1], self[-2] - other[-2]
        return int(now > 0 >= before) - int(now < 0 <= before)


class Precomputed:
    """A function over bars of one symbol, with the indicators that show its outputs.

    `inputs` are names of columns (passed as float64 arrays), "bars" (a DataFrame of all), or other values, passed as
    they are.
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
        """Return one list of values, one a bar, for each output. Raises InputError for another number of either."""
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
                f"{name} returned {' × '.join(map(str, rows.shape))} values; {len(history)} bars and "
                f"{len(self.indicators)} outputs need {len(self.indicators)} × {len(history)}; see outputs="
            )
            raise InputError(text, field="function", value=str(rows.shape))
        lists: list[list[float]] = rows.tolist()
        return lists

    def _input(self, history: BarHistory, name: Any) -> Any:
        if name == "bars":
            return history.frame()
        return getattr(history, name).copy() if isinstance(name, str) and name in COLUMNS else name

    def feeds(self, bars: Sequence[Bar]) -> list[tuple[Callable[[float], None], Iterator[float]]]:
        """Return (push, values to come) of each output, computed at once over all `bars` of the symbol.

        Raises InputError when the values over the first two thirds alone are others: the function looks ahead.
        """
        import numpy as np

        ahead, known = (self.values(BarHistory(self.symbol, part)) for part in (bars, bars[: len(bars) * 2 // 3]))
        for values, first in zip(ahead, known, strict=True):
            if not np.allclose(values[: len(first)], first, rtol=1e-6, atol=1e-9, equal_nan=True):
                name = getattr(self.function, "__name__", "the function")
                text = (
                    f"{name} looks ahead: over the first {len(first)} bars it gives other values than over all "
                    f"{len(values)}; a strategy could not have known them"
                )
                raise InputError(text, field="function", rule="no look-ahead")
        return [(indicator.push, iter(values)) for indicator, values in zip(self.indicators, ahead, strict=True)]

    def update(self, history: BarHistory) -> None:
        """Compute over the bars so far and add the last value, as live runs do."""
        for indicator, values in zip(self.indicators, self.values(history), strict=True):
            indicator.push(values[-1])
