"""The one-page report of a run: equity, drawdown, exposure, attribution and measures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from ...extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Reported(Protocol):
    """What the page shows of a run; `Results` has all of it."""

    @property
    def name(self) -> str: ...
    @property
    def params(self) -> Mapping[str, Any]: ...
    @property
    def equity(self) -> pd.DataFrame: ...
    @property
    def positions(self) -> pd.DataFrame: ...
    @property
    def marks(self) -> pd.DataFrame: ...
    @property
    def fills(self) -> pd.DataFrame: ...
    @property
    def orders(self) -> pd.DataFrame: ...
    @property
    def funding(self) -> pd.DataFrame: ...
    @property
    def round_trips(self) -> pd.DataFrame: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def events(self) -> pd.DataFrame: ...
    @property
    def drawdown(self) -> pd.Series[float]: ...
    @property
    def exposure(self) -> pd.DataFrame: ...
    @property
    def attribution(self) -> pd.DataFrame: ...
    def metrics(self) -> pd.Series[Any]: ...
    def luck(self) -> pd.Series[Any]: ...


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of the page; the marks are Okabe and Ito's, distinct for colour-blind readers and in grey."""

    paper: str
    ink: str
    faint: str
    grid: str
    gain: str = "#0072B2"
    loss: str = "#D55E00"
    third: str = "#009E73"
    fourth: str = "#CC79A7"


LIGHT = Palette("#ffffff", "#1d2530", "#66707c", "#e4e8ec")
DARK = Palette("#14181f", "#e8ecf1", "#9aa5b1", "#2b323c", gain="#56B4E9", loss="#E69F00")

MOST_POINTS = 4000
"""A line is thinned to about this many points before it is drawn."""


def draw(results: Reported, *, dark: bool = False) -> Figure:
    """Return the page as a matplotlib Figure of 11 × 8.5 inches."""
    need("matplotlib")
    from matplotlib import pyplot

    colours = DARK if dark else LIGHT
    page = pyplot.figure(figsize=(11, 8.5), dpi=100, facecolor=colours.paper)
    pyplot.close(page)  # else a notebook shows it twice: as an open figure and as the cell's value
    grid = page.add_gridspec(
        3, 2, height_ratios=(3.1, 1.35, 1.75), width_ratios=(2.75, 1), left=0.075, right=0.965, top=0.86, bottom=0.065,
        hspace=0.27, wspace=0.16,
    )  # fmt: skip
    top = page.add_subplot(grid[0, 0])
    under = page.add_subplot(grid[1, 0], sharex=top)
    low = page.add_subplot(grid[2, 0], sharex=top)
    _title(page, results, colours)
    _equity(top, results, colours)
    _drawdown(under, results, colours)
    _exposure(low, results, colours)
    for axes in (top, under):
        axes.tick_params(labelbottom=False)
    _table(page.add_subplot(grid[0:2, 1]), results, colours)
    _attribution(page.add_subplot(grid[2, 1]), results, colours)
    return page


def _title(page: Figure, results: Reported, colours: Palette) -> None:
    page.text(0.075, 0.952, results.name, fontsize=17, fontweight="bold", color=colours.ink, va="center")
    values = ", ".join(f"{key} = {value}" for key, value in results.params.items())
    index = results.equity.index
    span = f"{index[0]:%d %b %Y %H:%M} – {index[-1]:%d %b %Y %H:%M} UTC" if len(index) else "no data"
    symbols = ", ".join(map(str, results.positions.columns[:6]))
    text = "   ·   ".join(part for part in (symbols, values, span) if part)
    page.text(0.075, 0.918, text, fontsize=9.5, color=colours.faint, va="center")


def _equity(axes: Axes, results: Reported, colours: Palette) -> None:
    _plain(axes, colours, "Equity, USDC")
    line = thin_line(results.equity["equity"])
    if not len(line):
        return
    start = float(line.iloc[0])
    axes.axhline(start, color=colours.faint, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.plot(line.index, line, color=colours.gain, linewidth=1.5)
    axes.fill_between(line.index, line, start, where=line >= start, color=colours.gain, alpha=0.12, linewidth=0)
    axes.fill_between(line.index, line, start, where=line < start, color=colours.loss, alpha=0.12, linewidth=0)
    places = 0 if line.max() - line.min() >= 10 else 2
    axes.yaxis.set_major_formatter(lambda value, _: _minus(f"{value:,.{places}f}"))
    bad = results.events[results.events["kind"] == "LIQUIDATION"]
    if len(bad):
        known = results.equity["equity"]
        where = np.clip(known.index.searchsorted(bad["time"], side="right") - 1, 0, None)
        axes.scatter(
            bad["time"], known.iloc[where], marker="X", s=55, color=colours.loss, zorder=5, label="liquidation"
        )
        axes.legend(frameon=False, labelcolor=colours.ink, fontsize=8.5, loc="best")


def _drawdown(axes: Axes, results: Reported, colours: Palette) -> None:
    _plain(axes, colours, "Drawdown")
    line = thin_line(results.drawdown)
    axes.fill_between(line.index, line, 0, color=colours.loss, alpha=0.3, linewidth=0)
    axes.plot(line.index, line, color=colours.loss, linewidth=0.9)
    deepest = float(line.min()) if len(line) else 0.0
    places = 0 if deepest < -0.05 else 1 if deepest < -0.005 else 2
    axes.yaxis.set_major_formatter(lambda value, _: _minus(f"{value + 0.0:.{places}%}"))
    axes.set_ylim(min(deepest * 1.08, -1e-4), 0)


def _exposure(axes: Axes, results: Reported, colours: Palette) -> None:
    _plain(axes, colours, "Position notional, USDC")
    exposure = results.exposure
    symbols = list(results.positions.columns)
    axes.axhline(0, color=colours.faint, linewidth=0.8)
    marks = (colours.gain, colours.loss, colours.third, colours.fourth)
    names = symbols if len(symbols) <= len(marks) else ["gross", "net"]
    for name, colour in zip(names, marks, strict=False):
        line = thin_line(exposure[name])
        if len(names) == 1:
            axes.fill_between(line.index, line, 0, step="post", color=colour, alpha=0.3, linewidth=0)
        axes.step(line.index, line, where="post", color=colour, linewidth=0.9, label=name)
    axes.yaxis.set_major_formatter(lambda value, _: _short(value))
    if len(names) > 1:
        axes.legend(frameon=False, labelcolor=colours.ink, fontsize=8, ncols=len(names), loc="upper left")
    _date_axis(axes, colours)


def _attribution(axes: Axes, results: Reported, colours: Palette) -> None:
    _plain(axes, colours, "Where the profit came from, USDC")
    table = results.attribution
    other = ["other"] if table.at["TOTAL", "other"] else []
    labels = ["price", "funding", "fees", *other, "net"]
    values = table.loc[["TOTAL"], labels].to_numpy(dtype="float64")[0].tolist()
    shades = [colours.gain if value >= 0 else colours.loss for value in values]
    places = np.arange(len(labels))[::-1]
    axes.barh(places, values, color=shades, height=0.55, alpha=0.9)
    axes.axvline(0, color=colours.faint, linewidth=0.8)
    axes.set_yticks(places, labels, color=colours.ink, fontsize=9)
    reach = max((abs(value) for value in values), default=0.0) or 1.0
    low, high = min(0.0, *values), max(0.0, *values)
    axes.set_xlim(low - 0.8 * reach * (low < 0), high + 0.8 * reach * (high > 0 or low == 0))
    for place, value in zip(places, values, strict=True):
        side = "left" if value >= 0 else "right"
        pad = 0.03 * reach * (1 if value >= 0 else -1)
        axes.text(value + pad, place, _minus(f"{value:+,.2f}"), va="center", ha=side, fontsize=8.5, color=colours.ink)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)


TABLE = (
    ("", None),
    ("total return", lambda m: _percent(m["total_return"])),
    ("annual return", lambda m: _percent(m["annual_return"])),
    ("volatility", lambda m: _percent(m["volatility"])),
    ("Sharpe", lambda m: _number(m["sharpe"])),
    ("Sortino", lambda m: _number(m["sortino"])),
    ("max drawdown", lambda m: _percent(m["max_drawdown"])),
    ("longest drawdown", lambda m: _duration(m["longest_drawdown"])),
    ("", None),
    ("fills", lambda m: f"{m['fills']:,}"),
    ("round trips", lambda m: f"{m['round_trips']:,}"),
    ("hit rate", lambda m: _percent(m["hit_rate"])),
    ("profit factor", lambda m: _number(m["profit_factor"])),
    ("mean trip", lambda m: _number(m["mean_trip"])),
    ("", None),
    ("turnover", lambda m: f"{_number(m['turnover'])} ×"),
    ("time in market", lambda m: _percent(m["time_in_market"])),
    ("max leverage", lambda m: f"{_number(m['leverage_max'])} ×"),
    ("fees of profit", lambda m: _percent(m["fee_share"])),
)


def _table(axes: Axes, results: Reported, colours: Palette) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    values = results.metrics()
    profit = values["profit"]
    shade = colours.gain if profit >= 0 else colours.loss
    axes.text(0.06, 0.985, _minus(f"{profit:+,.2f} USDC"), fontsize=15, fontweight="bold", color=shade, va="top")
    rows = len(TABLE)
    for number, (label, show) in enumerate(TABLE):
        height = 0.915 - number * 0.915 / rows
        if show is None:
            axes.plot([0.06, 1], [height, height], color=colours.grid, linewidth=1)
            continue
        axes.text(0.06, height, label, fontsize=9.5, color=colours.faint, va="center")
        axes.text(1, height, show(values), fontsize=9.5, color=colours.ink, va="center", ha="right")


def _plain(axes: Axes, colours: Palette, title: str) -> None:
    axes.set_facecolor(colours.paper)
    axes.set_title(title, loc="left", fontsize=10, color=colours.ink, pad=6)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(colours.grid)
    axes.tick_params(colors=colours.faint, labelsize=8.5, length=0)
    axes.grid(axis="y", color=colours.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.margins(x=0.005)


def _date_axis(axes: Axes, colours: Palette) -> None:
    from matplotlib import dates

    locator = dates.AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.xaxis.get_offset_text().set(color=colours.faint, fontsize=8.5)


def thin_line(line: pd.Series[Any], most: int = MOST_POINTS) -> pd.Series[Any]:
    """Return a line of at most about `most` points that looks the same: each bin keeps its extremes."""
    if len(line) <= most:
        return line
    values = line.to_numpy(dtype="float64")
    width = math.ceil(len(values) / (most // 2))
    starts = np.arange(0, len(values), width)
    keep = {0, len(values) - 1}
    for start in starts.tolist():
        part = values[start : start + width]
        keep |= {start + int(part.argmin()), start + int(part.argmax())}
    return line.iloc[sorted(keep)]


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else _minus(f"{value:,.2%}" if abs(value) < 100 else f"{value:.1e}")


def _number(value: float) -> str:
    return "–" if math.isnan(value) else _minus(f"{value:,.2f}")


def _duration(value: pd.Timedelta) -> str:
    days = value / pd.Timedelta(days=1)
    return f"{days:,.1f} days" if days >= 1 else f"{days * 24:,.1f} hours"


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return _minus(f"{value / size:,.4g}{letter}")
    return _minus(f"{value:,.4g}")


def _minus(text: str) -> str:
    """Return a number's text with a typographic minus sign."""
    return text.replace("-", "\u2212")
