"""The report of a run: what it shows, as panes and tables, on a static page and on an interactive one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...extras import need
from ...pictures.panes import DARK, LIGHT, HorizontalLine, Line, Marks, Pane, Theme, minus
from ...pictures.static import draw, finish, styled
from ...sides import BUYS
from .metrics import YEAR, drawdowns, sampled_returns, sampling_period
from .report_text import MEASURES, duration, first_screen, percent, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...pictures.interactive import Page

THEME, DARK_THEME = LIGHT, DARK
ROLES: tuple[str | int, ...] = ("up", "down", 3, 2, 1, 5, "faint")
"""Roles of several lines in one pane."""
MONTH = pd.Timedelta(days=28)
"""A shorter run has no table of months."""
Run = Any
"""The Results of a run, which import this module."""
EVENTS = 30
"""Most events that a page lists."""
HEAT_MAPS = 6
"""Heat-maps of an optimisation: the first pairs of its parameters."""


def panes_of(run: Run, *, benchmark: bool = True) -> list[Pane]:
    """Return price with trades, equity, drawdown, exposure and rolling measures of a run that has data.

    Parameters
    ----------
    run : Results
        Results of the run.
    benchmark : bool, optional
        Whether to add what buying and holding would have made, which may dwarf the equity (default: True).

    Returns
    -------
    list of Pane
        Panes from the top down.
    """
    known = run.equity["equity"]
    start = float(known.iloc[0])
    equity: list[Line | Marks | HorizontalLine] = [Line(known, "equity", "up", area=start, below="down")]
    if benchmark and len(run.marks):
        equity.append(Line(run.held(), "buy and hold", "faint", 1.2, True))
    equity.append(HorizontalLine(start, dashed=True))
    if len(bad := run.events[run.events["kind"] == "LIQUIDATION"]):
        where = np.clip(known.index.searchsorted(bad["time"], side="right") - 1, 0, None)
        values = pd.Series(known.to_numpy()[where], pd.DatetimeIndex(bad["time"]))
        equity.append(Marks(values, "liquidation", "down", "cross"))
    price = [part for number, symbol in enumerate(map(str, run.marks)) for part in _price(run, symbol, number > 0)]
    fall = Line(run.drawdown, role="down", width=0.9, area=0.0, opacity=0.3)
    lowest = min(float(run.drawdown.min()) * 1.08, -1e-4)
    return [
        Pane("Price and trades", price, share=0.34),
        Pane("Equity, USDC", equity, share=0.24),
        Pane("Drawdown", (fall,), share=0.12, limits=(lowest, 0), percent=True),
        Pane("Position notional, USDC", _exposure(run), share=0.14),
        *_rolled(run),
    ]


def _rolled(run: Run) -> list[Pane]:
    """Return the pane of rolling measures, none of a run that is too short for yearly numbers."""
    if not run.metrics()["annualised"]:
        return []
    rolled = rolling(run)
    lines = (
        Line(rolled["sharpe"], "rolling Sharpe", 2),
        Line(rolled["volatility"], "rolling volatility", "faint", dashed=True, right=True),
    )
    return [Pane("Rolling Sharpe and volatility", lines, share=0.16)]


def _exposure(run: Run) -> list[Line | HorizontalLine]:
    """Return a line for each symbol, or of the sums where there are many."""
    exposure, symbols = run.exposure, list(run.positions.columns)
    names = symbols if len(symbols) <= 4 else ["gross", "net"]
    filled: dict[str, Any] = {"area": 0.0, "opacity": 0.3} if len(names) == 1 else {}
    lines = [
        Line(exposure[name], f"{name} notional", role, 0.9, steps=True, **filled)
        for name, role in zip(names, ROLES, strict=False)
    ]
    return [*lines, HorizontalLine(0)]


def _price(run: Run, symbol: str, hidden: bool) -> list[Line | Marks]:
    """Return the price of a symbol, its stops and take-profits while they waited, and its fills by what they did."""
    parts: list[Line | Marks] = [Line(run.marks[symbol], symbol, "faint", 1.4, group=symbol, hidden=hidden)]
    triggers = with_triggers(run, symbol)
    for name, stop, role in (("stop prices", True, 2), ("take-profit prices", False, 3)):
        levels = _levels(run, triggers[triggers["stop"] == stop])
        if len(levels):
            parts.append(Line(levels, f"{symbol} {name}", role, 1, True, group=symbol, hidden=hidden))
    fills = run.fills[run.fills["symbol"] == symbol]
    signed = fills["quantity"] * np.where(fills["side"].isin(BUYS), 1, -1)
    after = signed.cumsum()
    before = after - signed
    flips = before * after < -1e-12
    closing = (after.abs() < before.abs() - 1e-12) | flips
    forced = fills["type"].isin(["LIQUIDATION", "ADL"])
    stops = fills["order_id"].isin(triggers.loc[triggers["stop"], "order_id"]) & ~forced
    targets = fills["order_id"].isin(triggers.loc[~triggers["stop"], "order_id"]) & ~forced
    plain = ~(forced | stops | targets)
    kinds: tuple[tuple[str, Any, str, str | int], ...] = (
        ("entries", ~closing & plain, "", "up"),
        ("exits", closing & ~flips & plain, "", "down"),
        ("changes of side", flips & plain, "", 3),
        ("stops", stops, "cross", 2),
        ("take-profits", targets, "diamond", 3),
        ("liquidations", forced, "star", "ink"),
    )
    for name, chosen, shape, shade in kinds:
        part = fills[chosen]
        text = [
            f"{row.side} {row.quantity:g} at {row.price:,.8g}<br>fee {row.fee:,.4g}, realised {row.realized_pnl:,.2f}"
            for row in part.itertuples()
        ]
        if len(part):
            shapes = shape or ["up" if side in BUYS else "down" for side in part["side"]]
            prices = part.set_index("time")["price"]
            label = f"{symbol} {name}"
            parts.append(Marks(prices, label, shade, shapes, text=text, group=symbol, hidden=hidden))
    return parts


def with_triggers(run: Run, symbol: str) -> pd.DataFrame:
    """Return the orders of a symbol that had a trigger.

    Parameters
    ----------
    run : Results
        Results of the run.
    symbol : str
        Product symbol, such as "BTCUSDC".

    Returns
    -------
    DataFrame
        Columns of `ORDERS`, and stop: bool, a sale below the price or a purchase above it.
    """
    orders = run.orders[(run.orders["symbol"] == symbol) & run.orders["trigger_price"].notna()]
    marks = run.marks[symbol]
    placed = np.maximum(marks.index.searchsorted(pd.DatetimeIndex(orders["time"]), side="right") - 1, 0)
    below = orders["trigger_price"].to_numpy() < marks.to_numpy()[placed] if len(marks) else np.zeros(0, dtype=bool)
    made: pd.DataFrame = orders.assign(stop=below == (~orders["side"].isin(BUYS)).to_numpy())
    return made


def _levels(run: Run, orders: pd.DataFrame) -> pd.Series[float]:
    """Return the trigger prices while they waited: two points an order, then a gap."""
    waiting = ~orders["status"].isin(["FILLED", "CANCELED", "REJECTED"])
    ends = orders["updated"].mask(waiting, run.marks.index[-1] if len(run.marks) else None)
    times = np.column_stack([orders["time"], ends, ends]).ravel()
    prices = orders["trigger_price"].to_numpy()
    values = np.column_stack([prices, prices, np.full(len(prices), np.nan)]).ravel()
    return pd.Series(values, index=times, dtype="float64")


def rolling(run: Run, periods: int = 30) -> pd.DataFrame:
    """Return yearly Sharpe ratio and volatility of the last sampled returns.

    Parameters
    ----------
    run : Results
        Results of the run.
    periods : int, optional
        Number of returns that are looked back on. A short run takes a third of its returns (default: 30).

    Returns
    -------
    DataFrame
        float64 columns sharpe and volatility (ratios per year), NaN at first.
    """
    curve = run.growth
    returns, step = sampled_returns(curve), sampling_period(curve)
    window = returns.rolling(min(periods, max(len(returns) // 3, 2)))
    spread, scale = window.std(), math.sqrt(YEAR / step) if step else float("nan")
    ratio = (window.mean() / spread.where(spread > 0)) * scale
    return pd.DataFrame({"sharpe": ratio, "volatility": spread * scale})


def monthly(run: Run) -> pd.DataFrame:
    """Return the return of each month. The value at the instant at which a month begins belongs to the one before.

    Parameters
    ----------
    run : Results
        Results of the run.

    Returns
    -------
    DataFrame
        One row a year, one column a month (Jan to Dec) and `year`: ratios, NaN without data.
    """
    curve = run.growth
    # A bar is stamped with its close, so that the last one of a month is at the first instant of the next.
    times = pd.DatetimeIndex(curve.index).tz_convert("UTC").tz_localize(None) - pd.Timedelta(1, "ms")
    ends = curve.iloc[1:].groupby(times[1:].to_period("M")).last()
    starts = ends.shift(fill_value=float(curve.iloc[0]))
    change = ends / starts - 1
    years = pd.PeriodIndex(ends.index).year
    table = pd.DataFrame({"year": years, "month": pd.PeriodIndex(ends.index).month, "change": change.to_numpy()})
    wide = table.pivot_table(index="year", columns="month", values="change").reindex(columns=range(1, 13))
    wide.columns = pd.Index([f"{pd.Timestamp(2000, month, 1):%b}" for month in range(1, 13)], name="month")
    wide["year"] = (change + 1).groupby(years).prod() - 1
    return wide


def with_funding(run: Run) -> pd.DataFrame:
    """Return the round trips with what the report shows of them.

    Parameters
    ----------
    run : Results
        Results of the run.

    Returns
    -------
    DataFrame
        Columns of `round_trips`, and:

        - funding: float64, payments of the symbol while it was open, USDC, above 0 if received
        - value: float64, net with funding, USDC
        - hours: float64, how long it was held
        - text: str, label of its point
    """
    trips, paid = run.round_trips, run.funding
    found = np.zeros(len(trips))
    for symbol, part in paid.groupby("symbol"):
        sums, times = np.append(0.0, part["payment"].cumsum()), pd.DatetimeIndex(part["time"])
        opened, closed = (times.searchsorted(pd.DatetimeIndex(trips[at]), side="right") for at in ("opened", "closed"))
        found += np.where(trips["symbol"] == symbol, sums[closed] - sums[opened], 0.0)
    trips = trips.assign(funding=found)
    text = [f"{t.side} {t.symbol}<br>net {t.net:,.2f}, funding {t.funding:,.2f}" for t in trips.itertuples()]
    hours = (trips["closed"] - trips["opened"]).dt.total_seconds() / 3600
    made: pd.DataFrame = trips.assign(value=trips["net"] + trips["funding"], hours=hours, text=text)
    return made


def page_of(run: Run, against: Mapping[str, Run]) -> Page:
    """Return the interactive page of a run.

    Parameters
    ----------
    run : Results
        Results of the run.
    against : mapping of str to Results
        Runs that are compared with it, by name.

    Returns
    -------
    Page
        The page, which a notebook shows.

    Raises
    ------
    MissingPackage
        Without Plotly.
    """
    page: Page = _drawing().Page(_title(run), [*_run_parts(run), *_compared(run, against)])
    return page


def page_of_points(
    table: pd.DataFrame, names: Sequence[str], value: str, summary: pd.Series[Any], best: Run | None
) -> Page:
    """Return the page of an optimisation: its summary, heat-maps, parallel coordinates, and its best run.

    Parameters
    ----------
    table : DataFrame
        One row a point, with a column for each parameter and measure.
    names : sequence of str
        Columns of the parameters.
    value : str
        Column of the measure that was optimised.
    summary : Series
        The best and its luck, by name. The name of the series is the title.
    best : Results or None
        Results of the best point, None if there are none.
    """
    drawing = _drawing()
    known = table[table[value].notna()]
    varied = [name for name in names if known[name].nunique() > 1]
    parts = [f"<h1>{escape(str(summary.name))}</h1>", drawing.tables_html({"The best and its luck": readable(summary)})]
    if len(known) and varied:
        figures = [drawing.parallel(known, varied, value)]
        for x, y in islice(combinations(varied, 2), HEAT_MAPS):
            figures.append(drawing.heat(best_cells(known, x, y, value), f"{value} by {x} and {y}", shows=value))
        parts += [drawing.figure_html(figure, f"points-{number}") for number, figure in enumerate(figures)]
    if best is not None:
        parts += ["<h2>The best run</h2>", *_run_parts(best)]
    page: Page = drawing.Page(str(summary.name), parts)
    return page


def best_cells(table: pd.DataFrame, x: str, y: str, value: str) -> pd.DataFrame:
    """Return a column over two parameters: the best value of those that share a cell.

    Parameters
    ----------
    table : DataFrame
        One row a point, with a column for each parameter and measure.
    x : str
        Column of the parameter across.
    y : str
        Column of the parameter downwards.
    value : str
        Column of the measure.
    """
    return table.pivot_table(index=y, columns=x, values=value, aggfunc="max")


def _drawing() -> Any:
    need("plotly")
    from ...pictures import interactive

    return interactive


def _run_parts(run: Run) -> list[str]:
    index, title = run.equity.index, f"<h1>{escape(_title(run))}</h1>"
    drawing = _drawing()
    if not len(index):
        return [title, "<p>The run has no data.</p>"]
    symbols = ", ".join(map(str, run.positions.columns))
    trips = with_funding(run)
    winners = [("winners", trips["value"] > 0, THEME.up), ("losers", trips["value"] <= 0, THEME.down)]
    origin = run.attribution[["price", "fees", "funding", "other"]].drop(index="TOTAL")
    figures = {
        "time": drawing.draw_all(panes_of(run), THEME, height=1_000),
        "months": drawing.heat(
            monthly(run).dropna(axis=1, how="all"), "Monthly returns", shows="return", diverging=THEME
        ),
        "costs": drawing.groups(origin, "Profit by origin, USDC", THEME),
        "trips": drawing.spread(trips, ("Round trips, USDC", "Net over hours held"), winners),
    }
    if index[-1] - index[0] < MONTH:
        del figures["months"]
    tables = {
        "Measures": readable(run.metrics()),
        "How likely it is luck": readable(run.luck()),
        "Beside buying and holding": readable(run.risk()),
        "Worst drawdowns": _falls(run),
        **({"Execution": readable(run.execution())} if "queue" in run.settings else {}),
        "Profit by origin, USDC": run.attribution.rename_axis(None),
    }
    if len(run.unproven):
        tables["Not proven"] = run.unproven.tail(EVENTS).set_index("symbol").rename_axis(None)
    events, count = run.events.tail(EVENTS).set_index("kind").rename_axis(None), len(run.events)
    title_of_events = f"Events, the last {EVENTS} of {count:,}" if count > EVENTS else "Events"
    settings = pd.Series({name: str(value) for name, value in run.settings.items()}, dtype="object")
    return [
        f"{title}<p>{escape(symbols)} · {_span(index)}</p>",
        first_screen(run),
        *(drawing.figure_html(figure, f"run-{name}") for name, figure in figures.items()),
        drawing.tables_html(tables),
        f"<h2>{title_of_events}</h2>{drawing.table_html(events)}" if count else "",
        f"<details><summary>Settings</summary>{drawing.table_html(settings)}</details>",
    ]


def _falls(run: Run) -> pd.DataFrame:
    """Return the worst drawdowns as people read them."""
    table = drawdowns(run.growth)
    table.index = table.index + 1
    return table.assign(depth=table["depth"].map(percent), length=table["length"].map(duration))


def _compared(run: Run, against: Mapping[str, Run]) -> list[str]:
    """Return equity (as growth of 1) and drawdown of several runs above each other, and their measures."""
    if not against:
        return []
    drawing, growth, falls = _drawing(), list[Line](), list[Line]()
    runs = {run.name: run, **against}
    for number, (name, other) in enumerate(runs.items()):
        equity, role = other.equity["equity"], ROLES[number % len(ROLES)]
        growth.append(Line(equity / equity.iloc[0], name, role, 1.4, group=name))
        falls.append(Line(other.drawdown, "", role, 1.4, group=name))
    panes = (Pane("Growth of 1", growth), Pane("Drawdown", falls, percent=True))
    table = pd.DataFrame({name: readable(other.metrics()) for name, other in runs.items()})
    figure = drawing.draw_all(panes, THEME, height=520)
    return ["<h2>Compared</h2>", drawing.figure_html(figure, "compared"), drawing.table_html(table)]


def _title(run: Run) -> str:
    values = _values(run)
    return f"{run.name} ({values})" if values else run.name


def _values(run: Run) -> str:
    return ", ".join(f"{key} = {value}" for key, value in run.params.items())


def _span(index: pd.Index[Any]) -> str:
    return f"{index[0]:%d %b %Y %H:%M} – {index[-1]:%d %b %Y %H:%M} UTC" if len(index) else "no data"


def draw_page(run: Run, *, dark: bool = False) -> Figure:
    """Return the static page, a matplotlib Figure of 11 × 8.5 inches.

    Parameters
    ----------
    run : Results
        Results of the run.
    dark : bool, optional
        True for dark colours (default: False).

    Raises
    ------
    MissingPackage
        Without matplotlib.
    """
    need("matplotlib")
    from matplotlib import pyplot

    theme = DARK_THEME if dark else THEME
    with styled(theme):
        page = pyplot.figure(figsize=(11, 8.5), dpi=100, facecolor=theme.paper)
        pyplot.close(page)  # else a notebook shows it twice: as an open figure and as the cell's value
        grid = page.add_gridspec(
            3, 2, height_ratios=(3.1, 1.35, 1.75), width_ratios=(2.75, 1), left=0.075, right=0.965, top=0.86,
            bottom=0.065, hspace=0.27, wspace=0.16,
        )  # fmt: skip
        top = page.add_subplot(grid[0, 0])
        panels = [top, *(page.add_subplot(grid[row, 0], sharex=top) for row in (1, 2))]
        page.text(0.075, 0.952, run.name, fontsize=17, fontweight="bold", color=theme.ink, va="center")
        symbols = ", ".join(map(str, run.positions.columns[:6]))
        words = "   ·   ".join(filter(None, (symbols, _values(run), _span(run.equity.index))))
        page.text(0.075, 0.918, words, fontsize=9.5, color=theme.faint, va="center")
        for axes, pane in zip(panels, panes_of(run, benchmark=False)[1:4] if len(run.equity) else (), strict=False):
            draw(axes, pane, theme)
            axes.tick_params(labelbottom=axes is panels[-1])
        _draw_table(page.add_subplot(grid[0:2, 1]), run, theme)
        _draw_attribution(page.add_subplot(grid[2, 1]), run, theme)
    return page


def _draw_attribution(axes: Axes, run: Run, theme: Theme) -> None:
    finish(axes, "Profit by origin, USDC", "", theme)
    table = run.attribution
    other = ["other"] if table.at["TOTAL", "other"] else []
    labels = ["price", "funding", "fees", *other, "net"]
    values = table.loc[["TOTAL"], labels].to_numpy(dtype="float64")[0].tolist()
    shades = [theme.up if value >= 0 else theme.down for value in values]
    places = np.arange(len(labels))[::-1]
    axes.barh(places, values, color=shades, height=0.55, alpha=0.9)
    axes.axvline(0, color=theme.faint, linewidth=0.8)
    axes.set_yticks(places, labels, color=theme.ink, fontsize=9)
    reach = max((abs(value) for value in values), default=0.0) or 1.0
    low, high = min(0.0, *values), max(0.0, *values)
    axes.set_xlim(low - 0.8 * reach * (low < 0), high + 0.8 * reach * (high > 0 or low == 0))
    for place, value in zip(places, values, strict=True):
        side = "left" if value >= 0 else "right"
        pad = 0.03 * reach * (1 if value >= 0 else -1)
        axes.text(value + pad, place, minus(f"{value:+,.2f}"), va="center", ha=side, fontsize=8.5, color=theme.ink)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)


TABLE = (
    "", "total_return", "annual_return", "volatility", "sharpe", "sortino", "max_drawdown", "longest_drawdown",
    "", "fills", "round_trips", "hit_rate", "profit_factor", "mean_trip",
    "", "turnover", "time_in_market", "leverage_max", "fee_share",
)  # fmt: skip
"""Measures of the static page. "" is a rule between them."""


def _draw_table(axes: Axes, run: Run, theme: Theme) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    values = run.metrics()
    profit, written = values["profit"], readable(values)
    shade = theme.up if profit >= 0 else theme.down
    axes.text(0.06, 0.985, minus(f"{profit:+,.2f} USDC"), fontsize=15, fontweight="bold", color=shade, va="top")
    rows = len(TABLE)
    for number, name in enumerate(TABLE):
        height = 0.915 - number * 0.915 / rows
        if not name:
            axes.plot([0.06, 1], [height, height], color=theme.grid, linewidth=1)
            continue
        label = MEASURES[name][0]
        axes.text(0.06, height, label, fontsize=9.5, color=theme.faint, va="center")
        axes.text(
            1,
            height,
            written[label].removesuffix(" to annualise"),
            fontsize=9.5,
            color=theme.ink,
            va="center",
            ha="right",
        )
