"""Interactive reports: one HTML file that needs no network, of a run, of several, or of an optimisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...extras import need
from .report import Reported

if TYPE_CHECKING:
    import plotly.graph_objects as graph

CONFIG = {"displaylogo": False, "responsive": True, "showSendToCloud": False, "plotlyServerURL": ""}
"""Plotly's settings: no logo, no host."""
HEAT_MAPS = 6
"""Heat-maps of an optimisation: the first pairs of its parameters."""

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1d2530; background: #fff; margin: 0 auto; max-width: 1200px;
  padding: 1.2rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p { margin: .3rem 0; color: #66707c; } p.gain { color: #0072B2; } p.loss { color: #D55E00; }
.number { font-size: 1.4rem; font-weight: 600; }
.tables { display: flex; flex-wrap: wrap; gap: 2rem; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .87rem;
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .12rem .6rem; border-bottom: 1px solid #e4e8ec; }
th { font-weight: 400; color: #66707c; text-align: left; } thead th { text-align: right; }
.js-plotly-plot { overflow: hidden; }
@media (prefers-color-scheme: dark) { html { background: #fff; filter: invert(.92) hue-rotate(180deg); } }
"""


class Page:
    """An interactive report. In a notebook it is shown in the cell; `save(path)` writes it as one file."""

    def __init__(self, title: str, parts: Sequence[str]) -> None:
        self.title = title
        self._parts = tuple(parts)

    @property
    def html(self) -> str:
        """The whole page as text, with everything it needs in it."""
        from plotly.offline import get_plotlyjs

        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(self.title)}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
            f"<script>{get_plotlyjs()}</script></head><body>{''.join(self._parts)}</body></html>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the page to a file and return its path; folders are made."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        # A frame of its own: the page's styles and scripts stay apart from the notebook's.
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" '
            'style="width: 100%; height: 900px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page {self.title!r}>"


def page_of(run: Reported, against: Mapping[str, Reported] | None = None) -> Page:
    """Return the page of a run; with `against` (name → run) these are compared with it.

    Raises MissingPackage without Plotly.
    """
    return Page(_title(run), [_head(run), *_run_parts(run), *_compared(run, against or {})])


def page_of_points(
    table: pd.DataFrame, names: Sequence[str], value: str, summary: pd.Series[Any], best: Reported | None
) -> Page:
    """Return the page of an optimisation: its summary, heat-maps, parallel coordinates, and its best run."""
    charts = _charts()
    known = table[table[value].notna()]
    varied = [name for name in names if known[name].nunique() > 1]
    parts = [f"<h1>{escape(str(summary.name))}</h1>", _tables({"The best and its luck": summary})]
    if len(known) and varied:
        figures = [charts.parallel_panel(known, varied, value)]
        figures += [charts.heat_panel(known, x, y, value) for x, y in islice(combinations(varied, 2), HEAT_MAPS)]
        parts += [_figure(figure, f"points-{number}") for number, figure in enumerate(figures)]
    if best is not None:
        parts += ["<h2>The best run</h2>", _head(best), *_run_parts(best)]
    return Page(str(summary.name), parts)


def _charts() -> Any:
    need("plotly")
    from . import charts

    return charts


def _run_parts(run: Reported) -> list[str]:
    if not len(run.equity):
        return ["<p>The run has no data.</p>"]
    charts = _charts()
    figures = {
        "time": charts.time_panels(run),
        "months": charts.months_panel(run),
        "costs": charts.costs_panel(run),
        "trips": charts.trips_panel(run),
    }
    measures, luck = run.metrics(), run.luck()
    tables = _tables({"Measures": measures, "How likely it is luck": luck, "Profit by origin, USDC": run.attribution})
    events = run.events.tail(200)
    listed = f"<h2>Events</h2>{_table(events.set_index('time'))}" if len(events) else ""
    settings = pd.Series({name: str(value) for name, value in run.settings.items()}, dtype="object")
    return [
        *(_figure(figure, f"run-{name}") for name, figure in figures.items()),
        tables,
        listed,
        f"<details><summary>Settings</summary>{_table(settings)}</details>",
    ]


def _compared(run: Reported, against: Mapping[str, Reported]) -> list[str]:
    if not against:
        return []
    runs = {run.name: run, **against}
    table = pd.DataFrame({name: other.metrics() for name, other in runs.items()})
    return ["<h2>Compared</h2>", _figure(_charts().comparison_panel(runs), "compared"), _table(table)]


def _title(run: Reported) -> str:
    values = ", ".join(f"{key} = {value}" for key, value in run.params.items())
    return f"{run.name} ({values})" if values else run.name


def _head(run: Reported) -> str:
    index = run.equity.index
    if not len(index):
        return f"<h1>{escape(_title(run))}</h1>"
    profit = float(run.equity["equity"].iloc[-1] - run.equity["equity"].iloc[0])
    span = f"{index[0]:%d %b %Y %H:%M} – {index[-1]:%d %b %Y %H:%M} UTC"
    symbols = ", ".join(map(str, run.positions.columns))
    return (
        f"<h1>{escape(_title(run))}</h1><p>{escape(symbols)} · {span}</p>"
        f'<p class="number {"gain" if profit >= 0 else "loss"}">{profit:+,.2f} USDC</p>'
    )


def _figure(figure: graph.Figure, name: str) -> str:
    figure.update_layout(template="plotly_white", margin={"l": 60, "r": 60, "t": 90, "b": 30}, font={"size": 12})
    html: str = figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG, div_id=name)
    return html


def _tables(tables: Mapping[str, Any]) -> str:
    shown = (f"<section><h2>{escape(name)}</h2>{_table(table)}</section>" for name, table in tables.items())
    return f'<div class="tables">{"".join(shown)}</div>'


def _table(values: pd.Series[Any] | pd.DataFrame) -> str:
    frame = values.to_frame("") if isinstance(values, pd.Series) else values
    html: str = frame.map(_shown).to_html(border=0, header=isinstance(values, pd.DataFrame))
    return html


def _shown(value: Any) -> str:
    if value is pd.NaT or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, pd.Timedelta):
        return str(value.round("s")).removeprefix("0 days ")
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= 100 else f"{value:,.4g}"
    return str(value)
