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
    """Colours of a figure.

    Parameters
    ----------
    paper : str, optional
        Colour behind everything (default: "#ffffff").
    ink : str, optional
        Colour of titles and texts (default: "#1d2530").
    faint : str, optional
        Colour of labels and less important lines (default: "#66707c").
    grid : str, optional
        Colour of the grid (default: "#e4e8ec").
    up : str, optional
        Colour of rise, gain and bid (default: "#0072B2").
    down : str, optional
        Colour of fall, loss and ask (default: "#D55E00").
    lines : tuple of str, optional
        Colours of series, in order (default: those of Okabe and Ito).
    """

    paper: str = "#ffffff"
    ink: str = "#1d2530"
    faint: str = "#66707c"
    grid: str = "#e4e8ec"
    up: str = "#0072B2"
    down: str = "#D55E00"
    lines: tuple[str, ...] = ("#0072B2", "#E69F00", "#CC79A7", "#009E73", "#D55E00", "#56B4E9")

    def with_colours(self, **colours: Any) -> Theme:
        """Return the theme with other colours.

        Parameters
        ----------
        **colours : str
            Colours by the names of the fields.

        Returns
        -------
        Theme
            The new theme.

        Examples
        --------
        >>> plots.LIGHT.with_colours(up="navy", down="orange").up
        'navy'
        """
        return replace(self, **colours)

    def swapped(self) -> Theme:
        """Return the theme with the colours of rise and fall exchanged.

        Returns
        -------
        Theme
            The new theme.

        Examples
        --------
        >>> plots.LIGHT.swapped().up == plots.LIGHT.down
        True
        """
        return replace(self, up=self.down, down=self.up)

    def colour(self, role: str | int) -> str:
        """Return the colour of a role.

        Parameters
        ----------
        role : str or int
            Name of a colour of the theme, or the number of a series.

        Returns
        -------
        str
            The colour, such as "#009E73".

        Examples
        --------
        >>> plots.LIGHT.colour("up"), plots.LIGHT.colour(0)
        ('#0072B2', '#0072B2')
        """
        found: str = self.lines[role % len(self.lines)] if isinstance(role, int) else getattr(self, role)
        return found


LIGHT = Theme()
DARK = Theme(
    paper="#14181f",
    ink="#e8ecf1",
    faint="#9aa5b1",
    grid="#2b323c",
    up="#56B4E9",
    down="#E69F00",
    lines=("#56B4E9", "#E69F00", "#e59bc6", "#2ec4a0", "#ff8a4c", "#F0E442"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line over time.

    Parameters
    ----------
    values : Series
        Values by time.
    name : str, optional
        Name in the legend, "" for none (default: "").
    role : str or int, optional
        Colour: name or number of a series, see `Theme.colour` (default: 0).
    width : float, optional
        Width of the line, points (default: 1.5).
    dashed : bool, optional
        Whether it is dashed (default: False).
    steps : bool, optional
        Whether a value lasts until the next one (default: False).
    area : float or Series, optional
        Number or other line to which the space is filled (default: not filled).
    below : str or int, optional
        Role of the area where the line is below `area` (default: the same).
    opacity : float, optional
        Opacity of the area, from 0 to 1 (default: 0.12).
    right : bool, optional
        Whether it is on a second axis of values (default: False).
    group : str, optional
        Series of one group are shown and hidden together (default: "").
    hidden : bool, optional
        Whether it is not shown at first, if the reader can change that (default: False).
    """

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
    """Points over time.

    Parameters
    ----------
    values : Series
        Values by time.
    name : str
        Name in the legend.
    role : str or int
        Colour, see `Theme.colour`.
    shapes : str or sequence of str, optional
        "up", "down", "cross", "diamond", "star" or "ring", one for all or one each (default: "up").
    sizes : float or array, optional
        Areas in points², one for all or one each (default: 60).
    text : sequence of str, optional
        Text of each, shown when the reader points at it (default: none).
    group : str, optional
        Series of one group are shown and hidden together (default: "").
    hidden : bool, optional
        Whether they are not shown at first, if the reader can change that (default: False).
    """

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
    """Columns over time, from 0, in the colours of gain and loss.

    Parameters
    ----------
    values : Series
        Values by time.
    width : float
        Width of a column, days.
    rising : array of bool, optional
        Which have the colour of gain (default: those that are not below 0).
    opacity : float, optional
        Opacity, from 0 to 1 (default: 0.85).
    """

    values: pd.Series[Any]
    width: float
    rising: Any = None
    """Which have the colour of gain. By default those that are not below 0."""
    opacity: float = 0.85


@dataclass(frozen=True, slots=True)
class CandleSeries:
    """Candles over time: rising ones hollow, falling ones filled.

    Parameters
    ----------
    frame : DataFrame
        Frame with open, high, low and close by time.
    """

    frame: pd.DataFrame


@dataclass(frozen=True, slots=True)
class HorizontalLine:
    """A horizontal line across the pane.

    Parameters
    ----------
    value : float
        Height of the line, in the unit of the pane.
    name : str, optional
        Text at its left end, "" for none (default: "").
    role : str, optional
        Colour, see `Theme.colour` (default: "faint").
    dashed : bool, optional
        Whether it is dashed (default: False).
    """

    value: float
    name: str = ""
    role: str = "faint"
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Pane:
    """One picture over time.

    Parameters
    ----------
    title : str
        Title above the pane, "" for none.
    parts : sequence of Line, Marks, Columns, CandleSeries or HorizontalLine, optional
        Parts that are drawn, in this order (default: none).
    unit : str, optional
        Unit of the values (default: "").
    share : float, optional
        Part of the figure's height, relative to the other panes (default: 1).
    note : tuple of (str, str), optional
        Text above the right end, with its role (default: none).
    limits : tuple of (float or None, float or None), optional
        Lowest and highest value that are shown, None for those of the data (default: both are those of the data).
    lanes : mapping of str to float, optional
        Heights of named values, which take the place of numbers (default: none).
    percent : bool, optional
        Whether the values are ratios that are shown as percent (default: False).
    plain : bool, optional
        Whether numbers are shown without powers of ten, even small ones (default: False).
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
    """Return the usual distance between two times, in days. An hour if there are fewer than two.

    Parameters
    ----------
    index : Index
        Times.
    """
    return float(np.median(np.diff(index.as_unit("ms").asi8))) / 86_400_000 if len(index) > 1 else 1 / 24  # type: ignore[attr-defined]


def thin_line(line: pd.Series[Any], most: int = 4_000) -> pd.Series[Any]:
    """Return a line of fewer points that looks the same: each bin keeps its extremes.

    Parameters
    ----------
    line : Series
        Values by time.
    most : int, optional
        Number of points that is not much exceeded (default: 4,000).
    """
    return line if len(line) <= most else line.iloc[thin_rows(line.to_numpy(dtype="float64"), most)]


def thin_rows(values: NDArray[np.float64], most: int) -> list[int]:
    """Return the rows that make a line look the same, in order: each bin keeps its extremes.

    Parameters
    ----------
    values : array of float64
        Values of the line.
    most : int
        Number of rows that is not much exceeded.
    """
    if len(values) <= most:
        return list(range(len(values)))
    width = math.ceil(len(values) / (most // 2))
    keep = {0, len(values) - 1}
    for start in range(0, len(values), width):
        part = values[start : start + width]
        keep |= {start + int(part.argmin()), start + int(part.argmax())}
    return sorted(keep)


def minus(text: str) -> str:
    """Return a number's text with a typographic minus sign.

    Parameters
    ----------
    text : str
        Formatted number, with a hyphen if it is negative.
    """
    return text.replace("-", "\u2212")
