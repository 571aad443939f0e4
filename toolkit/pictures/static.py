"""The static page: panes drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import need
from .panes import CandleSeries, Columns, HorizontalLine, Line, Marks, Pane, Theme, spacing_days, thin_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

DPI = 110
"""Dots per inch of a figure, where `plt.rcParams["figure.dpi"]` says nothing else."""
DASHES = (0, (4, 3))
MANY = 400
"""From this many candles on, bodies are drawn without outlines."""
HEADROOM = 0.04
SHAPES = {"up": "^", "down": "v", "cross": "X", "diamond": "D", "star": "*", "ring": "o"}


@contextmanager
def styled(theme: Theme) -> Iterator[None]:
    """Draw with the fonts and colours of a theme inside a `with` block. The user's own settings come back after it.

    Parameters
    ----------
    theme : Theme
        Colours of the figure.
    """
    need("matplotlib")
    import matplotlib as mpl

    colours: dict[Any, str] = {
        **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), theme.paper),
        **dict.fromkeys(("axes.labelcolor", "xtick.color", "ytick.color"), theme.faint),
        "axes.edgecolor": theme.grid,
        "text.color": theme.ink,
    }
    with mpl.rc_context({"font.size": 9.5, **colours}):
        yield


def figure_of(theme: Theme, *, height: float) -> Figure:
    """Return an empty figure. In a notebook it shows at the end of its cell.

    Parameters
    ----------
    theme : Theme
        Colours of the figure.
    height : float
        Height, inches.
    """
    from matplotlib import pyplot, rcParams, rcParamsDefault
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    chosen = rcParams["figure.dpi"]
    dpi = DPI if chosen == rcParamsDefault["figure.dpi"] else chosen
    figure = pyplot.figure(figsize=(9.2, height), dpi=dpi, facecolor=theme.paper, layout="constrained")
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(w_pad=0.14, h_pad=0.12)
    return figure


def draw_all(panes: Sequence[Pane], theme: Theme, *, height: float, ax: Axes | None = None) -> list[Axes]:
    """Draw panes above each other on a new figure with one time axis. Return their Axes.

    Parameters
    ----------
    panes : sequence of Pane
        Panes from the top down.
    theme : Theme
        Colours of the figure.
    height : float
        Height of the figure, inches.
    ax : matplotlib Axes, optional
        Axes on which the only pane is drawn (default: a new figure).
    """
    with styled(theme):
        shown = [ax] if ax is not None else []
        if ax is None:
            how: dict[str, Any] = {"squeeze": False, "gridspec_kw": {"hspace": 0.06}}
            ratios = [pane.share for pane in panes]
            grid = figure_of(theme, height=height).subplots(len(panes), sharex=True, height_ratios=ratios, **how)
            shown = list(grid[:, 0])
        for pane, axes in zip(panes, shown, strict=True):
            draw(axes, pane, theme)
            axes.tick_params(labelbottom=axes is shown[-1])
        shown[-1].set_xlabel("time (UTC)")
        return shown


def draw(ax: Axes, pane: Pane, theme: Theme) -> None:
    """Draw one pane.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    pane : Pane
        What to draw.
    theme : Theme
        Colours of the figure.
    """
    for part in pane.parts:
        DRAWN[type(part)](ax, part, theme)
    finish(ax, pane.title, pane.unit, theme)
    if pane.lanes:
        ax.set_yticks(list(pane.lanes.values()), list(pane.lanes))
    elif pane.percent:
        ax.yaxis.set_major_formatter(_percent)
    elif pane.plain or max(map(abs, ax.get_ylim())) >= 1_000:
        plain_numbers(ax.yaxis)
    low, high = pane.limits
    if low is not None or high is not None:
        ax.set_ylim(low, high)
    if pane.note is not None:
        text, role = pane.note
        ax.annotate(
            text, (1, 1), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points", ha="right",
            color=theme.colour(role), fontsize=10, fontweight="bold",
        )  # fmt: skip
    named = [part.name for part in pane.parts if isinstance(part, Line | Marks) and part.name]
    if named and len(pane.parts) > 1:  # above the pane, where no line is
        corner = (0.022 + 0.0105 * len(pane.title), 0.97) if pane.note else (1.0, 0.97)
        ax.legend(
            frameon=False, labelcolor=theme.ink, fontsize=8.5, ncols=6, bbox_to_anchor=corner,
            loc="lower left" if pane.note else "lower right", handletextpad=0.5, columnspacing=1.4, markerscale=0.7,
        )  # fmt: skip


def _draw_line(ax: Axes, line: Line, theme: Theme) -> None:
    values = thin_line(line.values)
    colour, numbers = theme.colour(line.role), values.to_numpy(dtype="float64")
    how = "steps-post" if line.steps else "default"
    style: Any = DASHES if line.dashed else "-"
    ax.plot(values.index, numbers, color=colour, linewidth=line.width, linestyle=style, drawstyle=how, label=line.name)
    if line.area is None or not len(values):
        return
    base: Any = line.area if isinstance(line.area, int | float) else line.area.reindex(values.index).to_numpy()
    sides: list[tuple[str, Any]] = [(colour, None)]
    if line.below is not None:
        sides = [(colour, numbers >= base), (theme.colour(line.below), numbers < base)]
    for fill, where in sides:
        ax.fill_between(
            values.index, numbers, base, where=where, step="post" if line.steps else None, color=fill,
            alpha=line.opacity, linewidth=0,
        )  # fmt: skip


def _draw_marks(ax: Axes, marks: Marks, theme: Theme) -> None:
    shapes = np.full(len(marks.values), marks.shapes) if isinstance(marks.shapes, str) else np.array(marks.shapes)
    sizes = np.broadcast_to(marks.sizes, len(marks.values))
    colour = theme.colour(marks.role)
    for number, shape in enumerate(dict.fromkeys(shapes.tolist())):
        chosen = shapes == shape
        ax.scatter(
            marks.values.index[chosen], marks.values[chosen], s=sizes[chosen], marker=SHAPES[shape],
            color="none" if shape == "ring" else colour, edgecolors=colour if shape == "ring" else "none",
            linewidths=1.3 if shape == "ring" else 0, alpha=0.8, zorder=5, label="" if number else marks.name,
        )  # fmt: skip


def _draw_columns(ax: Axes, columns: Columns, theme: Theme) -> None:
    values = columns.values
    rising = values >= 0 if columns.rising is None else columns.rising
    fill = [theme.up if up else theme.down for up in rising]
    ax.bar(values.index, values.to_numpy(), width=columns.width, color=fill, alpha=columns.opacity, linewidth=0)


def _draw_candles(ax: Axes, candles: CandleSeries, theme: Theme) -> None:
    """Draw wicks as lines and bodies as boxes."""
    from matplotlib import dates
    from matplotlib.collections import LineCollection, PolyCollection

    frame = candles.frame
    opened, high, low, close = (frame[name].astype("float64").to_numpy() for name in ("open", "high", "low", "close"))
    step = spacing_days(frame.index)
    middle, half = np.asarray(dates.date2num(frame.index.to_pydatetime())) + step / 2, step * 0.35  # type: ignore[attr-defined, no-untyped-call]
    ax.xaxis_date()
    bottom, top = np.minimum(opened, close), np.maximum(opened, close)
    hollow, rising = len(frame) < MANY, close >= opened
    for mask, colour in ((rising, theme.up), (~rising, theme.down)):
        x, b, t = middle[mask], bottom[mask], top[mask]
        wicks = [np.column_stack([x, low[mask], x, b]), np.column_stack([x, t, x, high[mask]])]
        lines = list(np.concatenate(wicks).reshape(-1, 2, 2))
        ax.add_collection(LineCollection(lines, colors=colour, linewidths=0.9, zorder=2))
        boxes = list(np.column_stack([x - half, b, x - half, t, x + half, t, x + half, b]).reshape(-1, 4, 2))
        inside = theme.paper if hollow and colour == theme.up else colour
        ax.add_collection(
            PolyCollection(boxes, facecolors=inside, edgecolors=colour, linewidths=0.9 if hollow else 0.3, zorder=3)
        )
    ax.autoscale_view()
    if len(frame):
        room = (high.max() - low.min() or 1) * HEADROOM
        ax.set_ylim(low.min() - room, high.max() + room)
        ax.axhline(float(close[-1]), color=theme.faint, linewidth=0.7, linestyle=(0, (3, 3)), zorder=1)


def _draw_level(ax: Axes, level: HorizontalLine, theme: Theme) -> None:
    colour = theme.colour(level.role)
    ax.axhline(level.value, color=colour, linewidth=0.9, linestyle=DASHES if level.dashed else "-")
    if level.name:
        ax.annotate(
            level.name, (0, level.value), xycoords=("axes fraction", "data"), xytext=(4, 3),
            textcoords="offset points", color=colour, fontsize=8.5,
        )  # fmt: skip


DRAWN: dict[type, Any] = {
    Line: _draw_line,
    Marks: _draw_marks,
    Columns: _draw_columns,
    CandleSeries: _draw_candles,
    HorizontalLine: _draw_level,
}


def finish(ax: Axes, title: str, label: str, theme: Theme) -> None:
    """Give an Axes its title, label, grid and time format.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to finish.
    title : str
        Title above it.
    label : str
        Label of its values.
    theme : Theme
        Colours of the figure.
    """
    from matplotlib.dates import AutoDateLocator

    from .dates import DatesOfData

    ax.set_facecolor(theme.paper)
    ax.set_title(title, loc="left", fontsize=11.5, fontweight="bold", color=theme.ink, pad=8)
    ax.set_ylabel(label, color=theme.faint)
    ax.grid(True, color=theme.grid, linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(theme.grid)
    ax.tick_params(length=0, colors=theme.faint)
    ax.margins(x=0.015)
    locator = ax.xaxis.get_major_locator()
    if isinstance(locator, AutoDateLocator):
        ax.xaxis.set_major_formatter(DatesOfData(locator))  # type: ignore[no-untyped-call]
        ax.xaxis.get_offset_text().set(color=theme.faint)


def plain_numbers(axis: Axis) -> None:
    """Show the numbers of an axis grouped by thousands, never in powers of ten.

    Parameters
    ----------
    axis : matplotlib Axis
        Axis of the numbers.
    """
    axis.set_major_formatter(_plain)


def _plain(value: float, _: object = None) -> str:
    return f"{value:,.10g}".replace("-", "−")


def _percent(value: float, _: object = None) -> str:
    return f"{value * 100:,.6g} %".replace("-", "−")
