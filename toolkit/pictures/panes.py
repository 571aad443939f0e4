"""Panes: a description of what a picture shows over time, without a library that draws it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a figure: `paper`, `ink`, `faint` and `grid` of the frame, `up` and `down`, `lines` for series.

    `up` and `down` are rise and fall, gain and loss, bid and ask.
    """

    paper: str = "#ffffff"
    ink: str = "#1d2530"
    faint: str = "#66707c"
    grid: str = "#e4e8ec"
    up: str = "#009E73"
    down: str = "#D55E00"
    lines: tuple[str, ...] = ("#0072B2", "#E69F00", "#CC79A7", "#009E73", "#D55E00", "#56B4E9")

    def with_colours(self, **colours: Any) -> Theme:
        """Return the theme with other `**colours`, by the names of its fields."""
        return replace(self, **colours)

    def swapped(self) -> Theme:
        """Return the theme with the colours of rise and fall exchanged."""
        return replace(self, up=self.down, down=self.up)

    def colour(self, role: str | int) -> str:
        """Return the colour of a `role`: the name of a colour of the theme, or the number of a series."""
        found: str = self.lines[role % len(self.lines)] if isinstance(role, int) else getattr(self, role)
        return found


LIGHT = Theme()
DARK = Theme(
    paper="#14181f",
    ink="#e8ecf1",
    faint="#9aa5b1",
    grid="#2b323c",
    up="#2ec4a0",
    down="#ff8a4c",
    lines=("#56B4E9", "#E69F00", "#e59bc6", "#2ec4a0", "#ff8a4c", "#F0E442"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line over time. `area` is what the space between it and the line is filled to: a number or another line."""

    values: pd.Series[Any]
    name: str = ""
    role: str | int = 0
    width: float = 1.5
    dashed: bool = False
    steps: bool = False
    area: float | pd.Series[Any] | None = None
    below: str | int | None = None
    """Role of the area where the line is below `area`, if it has another one."""
    opacity: float = 0.12
    right: bool = False
    """On a second axis of values."""
    group: str = ""
    """Series of one group are shown and hidden together."""
    hidden: bool = False
    """Not shown at first, where the reader can change that."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Points over time: their values, by index, with shapes ("up", "down", "cross", "diamond", "star", "ring")."""

    values: pd.Series[Any]
    name: str
    role: str | int
    shapes: str | Sequence[str] = "up"
    sizes: Any = 60
    """Areas in points², one for all or one each."""
    text: Sequence[str] = ()
    """The text shown when the reader points at one."""
    group: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns over time, from 0, in the colours of gain and loss. `width` is in days."""

    values: pd.Series[Any]
    width: float
    rising: Any = None
    """Which have the colour of gain. By default those that are not below 0."""
    opacity: float = 0.85


@dataclass(frozen=True, slots=True)
class CandleSeries:
    """Candles over time, of a frame with open, high, low and close: rising ones hollow, falling ones filled."""

    frame: pd.DataFrame


@dataclass(frozen=True, slots=True)
class HorizontalLine:
    """A horizontal line across the pane."""

    value: float
    name: str = ""
    role: str = "faint"
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Pane:
    """One picture over time.

    Attributes: `parts` in the order in which they are drawn, `unit` of the values, `share` of the height, `note`, a
    text with its role, above the right end, `limits` of the values, `lanes`, names of values, `percent`: ratios,
    `plain`: numbers without powers of ten, even small ones.
    """

    title: str
    parts: Sequence[Line | Marks | Columns | CandleSeries | HorizontalLine] = field(default=())
    unit: str = ""
    share: float = 1.0
    note: tuple[str, str] | None = None
    limits: tuple[float | None, float | None] = (None, None)
    lanes: Mapping[str, float] = field(default_factory=dict)
    percent: bool = False
    plain: bool = False


def spacing_days(index: pd.Index[Any]) -> float:
    """Return the usual distance between two times, in days. An hour where there are fewer than two."""
    return float(np.median(np.diff(index.as_unit("ms").asi8))) / 86_400_000 if len(index) > 1 else 1 / 24  # type: ignore[attr-defined]


def thin_line(line: pd.Series[Any], most: int = 4_000) -> pd.Series[Any]:
    """Return a line of at most about `most` points that looks the same: each bin keeps its extremes."""
    return line if len(line) <= most else line.iloc[thin_rows(line.to_numpy(dtype="float64"), most)]


def thin_rows(values: NDArray[np.float64], most: int) -> list[int]:
    """Return the rows of at most about `most` values, in order: each bin keeps its extremes."""
    if len(values) <= most:
        return list(range(len(values)))
    width = math.ceil(len(values) / (most // 2))
    keep = {0, len(values) - 1}
    for start in range(0, len(values), width):
        part = values[start : start + width]
        keep |= {start + int(part.argmin()), start + int(part.argmax())}
    return sorted(keep)
