"""The interactive page: panes and tables drawn by Plotly, as HTML that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as graph
from plotly.subplots import make_subplots

from .panes import HorizontalLine, Line, Marks, Pane, Theme, minus, thin_line, thin_rows

CONFIG = {"displaylogo": False, "responsive": True, "showSendToCloud": False, "plotlyServerURL": ""}
"""Plotly's settings: no logo, no host."""
MOST_POINTS = 2_400
"""A line is thinned to about this many points, extremes kept."""
MOST_MARKS = 800
"""So many marks of a kind are drawn at most, extremes kept. Their name says how many there are."""
SHAPES = {"up": "triangle-up", "down": "triangle-down", "cross": "x", "diamond": "diamond", "star": "star"}

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2530; --faint: #5c6672; --line: #e4e8ec; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 1200px; padding: 1.2rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p { margin: .3rem 0; color: var(--faint); } .verdict { font-size: 1.1rem; font-weight: 600; color: var(--ink); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: .8rem; }
.cards section { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .8rem; break-inside: avoid; }
.cards h2 { font-size: .85rem; font-weight: 400; color: var(--faint); margin: 0; } .cards p { font-size: .85rem; }
.cards strong { font-size: 1.4rem; }
.tables { display: flex; flex-wrap: wrap; gap: 2rem; } .tables section { max-width: 100%; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .87rem;
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .12rem .6rem; border-bottom: 1px solid var(--line); }
th { font-weight: 400; color: var(--faint); text-align: left; } thead th { text-align: right; }
.words td:last-child, .words thead th:last-child { text-align: left; }
.js-plotly-plot { overflow: hidden; break-inside: avoid; }
.missing { display: none; } .without-plotly .missing { display: block; }
@media (max-width: 600px) { body { padding: .7rem; } .cards { grid-template-columns: 1fr 1fr; }
  .cards strong { font-size: 1.15rem; } }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #14181f; --ink: #e8ecf1; --faint: #9aa5b1; --line: #2b323c; }
  .js-plotly-plot { filter: invert(.92) hue-rotate(180deg); } }
"""
FIT = """
const plots = () => [...document.querySelectorAll('.js-plotly-plot')];
const fit = (width) => plots().forEach((plot) => Plotly.relayout(plot, { width, autosize: !width }));
addEventListener('beforeprint', () => fit(680));
addEventListener('afterprint', () => fit(null));
"""
"""Figures keep the width of the screen when a page is printed. This gives them that of the paper."""


class Page:
    """An interactive report. In a notebook it is shown in the cell. `save(path)` writes it as one file.

    Parameters
    ----------
    title : str
        Title of the page.
    parts : sequence of str
        HTML of the page, part by part.
    """

    def __init__(self, title: str, parts: Sequence[str]) -> None:
        self.title = title
        self._parts = tuple(parts)

    @property
    def html(self) -> str:
        """The whole page as text, with everything it needs in it (about 5 MB)."""
        from plotly.offline import get_plotlyjs

        return self._html(f"<script>{get_plotlyjs()}</script>")

    def _html(self, plotly: str) -> str:
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(self.title)}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
            f"{plotly}<script>{FIT}</script></head><body>{''.join(self._parts)}</body></html>"
        )

    def save(self, path: str | Path, *, alone: bool = False) -> Path:
        """Write the page to a file. Folders are made.

        Plotly's script, 5 MB, is written once into the folder, as `plotly-VERSION.min.js`: the page needs it next to
        itself for its figures.

        Parameters
        ----------
        path : str or Path
            File to write.
        alone : bool, optional
            True puts the script into the page instead, for a file that you send to another person (default: False).

        Returns
        -------
        Path
            The file.
        """
        from plotly.offline import get_plotlyjs, get_plotlyjs_version

        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if alone:
            target.write_text(self.html, encoding="utf-8")
            return target
        script = target.parent / f"plotly-{get_plotlyjs_version()}.min.js"
        code = get_plotlyjs().encode()
        if not script.exists() or script.stat().st_size != len(code):
            script.write_bytes(code)
        missing = "document.documentElement.classList.add('without-plotly')"
        note = f'<p class="missing">The figures need {script.name}, which is not next to this page.</p>'
        made = self._html(f'<script src="{script.name}" onerror="{missing}"></script>')
        target.write_text(made.replace("<body>", f"<body>{note}", 1), encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        # In a frame, so that the page's styles and scripts stay apart from the notebook's.
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" '
            'style="width: 100%; height: 900px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page {self.title!r}>"


def draw_all(panes: Sequence[Pane], theme: Theme, *, height: int) -> graph.Figure:
    """Return panes above each other with one time axis.

    Parameters
    ----------
    panes : sequence of Pane
        Panes from the top down.
    theme : Theme
        Colours of the figure.
    height : int
        Height of the figure, pixels.
    """
    seconds = [any(isinstance(part, Line) and part.right for part in pane.parts) for pane in panes]
    titles = [f"{pane.title}, {pane.unit}" if pane.unit else pane.title for pane in panes]
    how = {"shared_xaxes": True, "vertical_spacing": 0.035 if len(panes) > 2 else 0.06, "subplot_titles": titles}
    specs, heights = [[{"secondary_y": second}] for second in seconds], [pane.share for pane in panes]
    figure = make_subplots(rows=len(panes), row_heights=heights, specs=specs, **how)
    for row, (pane, second) in enumerate(zip(panes, seconds, strict=True), start=1):
        for part in pane.parts:
            if isinstance(part, Line | Marks):
                right = isinstance(part, Line) and part.right
                trace = _line(part, theme) if isinstance(part, Line) else _marks(part, theme)
                figure.add_trace(trace, row=row, col=1, secondary_y=right if second else None)
            elif isinstance(part, HorizontalLine):
                style = {"color": theme.colour(part.role), "width": 1, "dash": "dash" if part.dashed else "solid"}
                figure.add_hline(part.value, row=row, col=1, line=style)
        if pane.percent:
            figure.update_yaxes(tickformat=".1%", row=row, col=1, secondary_y=False if second else None)
        if second:
            figure.update_yaxes(tickformat=".0%", showgrid=False, row=row, col=1, secondary_y=True)
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.04}
    figure.update_layout(height=height, hovermode="x unified", legend=legend)
    return figure


def _line(line: Line, theme: Theme) -> Any:
    # A gap (NaN) is part of the line; its extremes can't be chosen, so that WebGL draws all of its points.
    gaps = bool(line.values.isna().any()) and len(line.values) > MOST_POINTS
    shown = line.values if gaps else thin_line(line.values, MOST_POINTS)
    return (graph.Scattergl if gaps else graph.Scatter)(
        x=shown.index,
        y=shown.to_numpy(),
        name=line.name,
        mode="lines",
        line={"color": theme.colour(line.role), "width": line.width, "dash": "dot" if line.dashed else "solid"},
        line_shape="hv" if line.steps else "linear",
        fill="tozeroy" if line.area == 0.0 and line.opacity > 0.2 else None,
        **_shown(line),
    )


def _marks(marks: Marks, theme: Theme) -> Any:
    shapes = [marks.shapes] * len(marks.values) if isinstance(marks.shapes, str) else marks.shapes
    rows = thin_rows(marks.values.to_numpy(dtype="float64"), MOST_MARKS)
    shown, thinned = marks.values.iloc[rows], len(rows) < len(marks.values)
    look = {"symbol": [SHAPES[shapes[row]] for row in rows], "size": 9, "color": theme.colour(marks.role)}
    return graph.Scatter(
        x=shown.index,
        y=shown.to_numpy(),
        mode="markers",
        name=f"{marks.name} ({len(rows):,} of {len(marks.values):,})" if thinned else marks.name,
        text=[marks.text[row] for row in rows] if len(marks.text) else None,
        hoverinfo="text+x" if len(marks.text) else None,
        marker={**look, "line": {"width": 1, "color": "white"}},
        **_shown(marks),
    )


def _shown(part: Line | Marks) -> dict[str, Any]:
    visible = "legendonly" if part.hidden else True
    return {"showlegend": bool(part.name), "legendgroup": part.group or None, "visible": visible}


def heat(table: pd.DataFrame, title: str, *, shows: str, diverging: Theme | None = None) -> graph.Figure:
    """Return a heat-map of a table's cells.

    Parameters
    ----------
    table : DataFrame
        Frame of the values.
    title : str
        Title above the figure.
    shows : str
        Name of the values that the colours show.
    diverging : Theme, optional
        Theme that colours gain and loss around 0, with the ratios as texts (default: one scale of colours).
    """
    values, x, y = table.to_numpy(dtype="float64"), table.columns.name, table.index.name
    if diverging is None:
        options: dict[str, Any] = {"colorscale": "Cividis", "colorbar": {"title": shows}}
        height, titles, direction = 420, (x, y), None
    else:
        largest = float(pd.Series(values.ravel()).abs().max())
        largest = largest if largest == largest else 1.0
        scale = [[0, diverging.down], [0.5, "#f4f4f4"], [1, diverging.up]]
        options = {"colorscale": scale, "zmid": 0, "zmin": -largest, "zmax": largest, "showscale": False}
        options["text"] = [["" if value != value else f"{value:+.2%}" for value in row] for row in values]
        options["texttemplate"] = "%{text}"
        height, titles, direction = 120 + 40 * len(table), (None, None), "reversed"
    cells = {"z": values, "x": [str(item) for item in table.columns], "y": [str(item) for item in table.index]}
    template = f"{x} %{{x}}<br>{y} %{{y}}<br>{shows} %{{z:.4g}}<extra></extra>"
    figure = graph.Figure(graph.Heatmap(**cells, hoverongaps=False, hovertemplate=template, **options))
    figure.update_layout(title=title, height=height)
    figure.update_xaxes(title=titles[0], type="category")
    figure.update_yaxes(title=titles[1], type="category", autorange=direction)
    return figure


def parallel(table: pd.DataFrame, names: Sequence[str], value: str) -> graph.Figure:
    """Return parallel coordinates of the parameters and a column, coloured by it. Text has its place in a list.

    Parameters
    ----------
    table : DataFrame
        Frame of the values.
    names : sequence of str
        Columns of the parameters.
    value : str
        Column that colours the lines.
    """
    axes = []
    for name in [*names, value]:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            axes.append({"label": name, "values": column.to_numpy(dtype="float64")})
        else:
            codes, texts = pd.factorize(column.astype("str"), sort=True)
            axes.append({"label": name, "values": codes, "tickvals": list(range(len(texts))), "ticktext": list(texts)})
    shade = {"color": table[value].to_numpy(dtype="float64"), "colorscale": "Cividis", "showscale": True}
    figure = graph.Figure(graph.Parcoords(line=shade, dimensions=axes))
    figure.update_layout(title="Every point: drag along an axis to choose", height=440, margin={"t": 110})
    return figure


def groups(table: pd.DataFrame, title: str, theme: Theme) -> graph.Figure:
    """Return a bar for each column of a table, in a group for each row, in the colours of gain and loss.

    Parameters
    ----------
    table : DataFrame
        Frame of the values.
    title : str
        Title above the figure.
    theme : Theme
        Colours of the figure.
    """
    figure = graph.Figure()
    for part in table.columns:
        shades = [theme.up if value >= 0 else theme.down for value in table[part]]
        look = {"marker_color": shades, "text": str(part), "textposition": "outside", "cliponaxis": False}
        figure.add_trace(graph.Bar(x=list(table.index), y=table[part], name=str(part), **look))
    figure.update_layout(title=title, barmode="group", height=320, showlegend=False)
    return figure


def spread(table: pd.DataFrame, titles: tuple[str, str], parts: Sequence[tuple[str, Any, str]]) -> graph.Figure:
    """Return how values are distributed, and over time held (at most MOST_MARKS), by part.

    Parameters
    ----------
    table : DataFrame
        Columns value, hours and text.
    titles : tuple of (str, str)
        Titles of the two figures.
    parts : sequence of (str, object, str)
        Name, chosen rows and colour of each part.
    """
    figure = make_subplots(rows=2, subplot_titles=titles, vertical_spacing=0.16)
    for name, rows, colour in parts:
        part = table[rows].sort_values("hours", kind="stable")
        values = part["value"].to_numpy(dtype="float32")
        part = part.iloc[thin_rows(values, MOST_MARKS)]
        figure.add_trace(graph.Histogram(x=values, name=name, marker_color=colour, nbinsx=40), row=1, col=1)
        look = {"mode": "markers", "marker": {"color": colour, "size": 6}, "hoverinfo": "text", "showlegend": False}
        points = graph.Scatter(x=part["hours"], y=part["value"], text=part["text"], **look)
        figure.add_trace(points, row=2, col=1)
    figure.update_layout(height=600, barmode="overlay")
    return figure


def figure_html(figure: graph.Figure, name: str) -> str:
    """Return a figure as a part of a page.

    Parameters
    ----------
    figure : Figure
        Figure of Plotly.
    name : str
        Id of the part, unique on its page.
    """
    clear = {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
    figure.update_layout(
        template="plotly_white", **clear, margin={"l": 60, "r": 60, "t": 90, "b": 30}, font={"size": 12}
    )
    html: str = figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG, div_id=name)
    return html


def tables_html(tables: Mapping[str, Any]) -> str:
    """Return tables side by side, each under its name.

    Parameters
    ----------
    tables : mapping of str to object
        Series or frames by name.
    """
    shown = (f"<section><h2>{escape(name)}</h2>{table_html(table)}</section>" for name, table in tables.items())
    return f'<div class="tables">{"".join(shown)}</div>'


def table_html(values: pd.Series[Any] | pd.DataFrame) -> str:
    """Return a table, with numbers and times as a reader wants them.

    Parameters
    ----------
    values : Series or DataFrame
        Values of the table.
    """
    frame = values.to_frame("") if isinstance(values, pd.Series) else values
    shown = frame.apply(_shown_column) if len(frame) else frame
    html: str = shown.to_html(border=0, header=isinstance(values, pd.DataFrame))
    # Sentences begin at one edge. Numbers and short words end at one.
    return html.replace("<table", '<table class="words"', 1) if "text" in frame else html


def _shown_column(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as text. The numbers of one column have the same decimals."""
    if column.dtype.kind != "f":
        return column.map(shown_value)
    places = 4 if 0 < column.abs().max() < 1 else 2
    return column.map(lambda value: shown_value(value) if value != value else minus(f"{value:,.{places}f}"))


def shown_value(value: object) -> str:
    """Return a value as a cell of a table shows it.

    Parameters
    ----------
    value : object
        Number, time, length of time or text.
    """
    if value is pd.NaT or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, pd.Timedelta):
        return str(value.round("s")).removeprefix("0 days ")
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= 100 else f"{value:,.4g}"
    return str(value)
