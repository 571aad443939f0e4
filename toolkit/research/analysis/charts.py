"""The panels of the interactive report, as traces of Plotly: price and trades, equity, drawdown, trips, costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as graph
from plotly.subplots import make_subplots

from .metrics import YEAR, sampled_returns, sampling_period
from .report import Reported, thin_line

GAIN, LOSS, THIRD, FOURTH, FAINT = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#66707c"
"""Okabe and Ito's colours, distinct for colour-blind readers and in grey."""
MOST_POINTS = 6_000
"""A line is thinned to about this many points, extremes kept; more trades than this are drawn by WebGL."""


def line(values: pd.Series[Any], name: str, colour: str, **options: Any) -> Any:
    """Return a line over time."""
    shown = thin_line(values, MOST_POINTS)
    style = {"color": colour, "width": options.pop("width", 1.4), "dash": options.pop("dash", "solid")}
    return graph.Scatter(x=shown.index, y=shown.to_numpy(), name=name, mode="lines", line=style, **options)


def time_panels(run: Reported, benchmark: bool = True) -> Any:
    """Return price with trades, equity, drawdown, exposure and rolling measures above each other, one time axis."""
    titles = ("Price and trades", "Equity, USDC", "Drawdown", "Exposure, USDC", "Rolling Sharpe and volatility")
    figure = make_subplots(
        rows=5,
        shared_xaxes=True,
        vertical_spacing=0.035,
        row_heights=[0.34, 0.24, 0.12, 0.14, 0.16],
        subplot_titles=titles,
        specs=[[{}], [{}], [{}], [{}], [{"secondary_y": True}]],
    )
    for number, symbol in enumerate(map(str, run.marks.columns)):
        for trace in _price(run, symbol, visible=True if number == 0 else "legendonly"):
            figure.add_trace(trace, row=1, col=1)
    figure.add_trace(line(run.equity["equity"], "equity", GAIN, width=1.8), row=2, col=1)
    if benchmark and len(run.marks):
        figure.add_trace(line(buy_and_hold(run), "buy and hold", FAINT, dash="dot"), row=2, col=1)
    fall = line(run.drawdown, "drawdown", LOSS, fill="tozeroy", showlegend=False)
    figure.add_trace(fall, row=3, col=1)
    exposure = run.exposure
    figure.add_trace(line(exposure["net"], "net exposure", THIRD), row=4, col=1)
    figure.add_trace(line(exposure["gross"], "gross exposure", FAINT, dash="dot"), row=4, col=1)
    rolled = rolling(run)
    figure.add_trace(line(rolled["sharpe"], "rolling Sharpe", FOURTH), row=5, col=1)
    spread = line(rolled["volatility"], "rolling volatility", FAINT, dash="dot")
    figure.add_trace(spread, row=5, col=1, secondary_y=True)
    figure.update_yaxes(tickformat=".1%", row=3, col=1)
    figure.update_yaxes(tickformat=".0%", showgrid=False, row=5, col=1, secondary_y=True)
    figure.update_xaxes(rangeslider_visible=False)
    figure.update_layout(
        height=1_000, hovermode="x unified", legend={"orientation": "h", "yanchor": "bottom", "y": 1.04}
    )
    return figure


def _price(run: Reported, symbol: str, visible: Any) -> list[Any]:
    shown = {"visible": visible, "legendgroup": symbol}
    traces = [line(run.marks[symbol], symbol, FAINT, **shown)]
    triggers = with_triggers(run, symbol)
    for name, stop, colour in (("stop prices", True, FOURTH), ("take-profit prices", False, THIRD)):
        levels = _levels(run, triggers[triggers["stop"] == stop])
        if len(levels):
            kind = graph.Scattergl if len(levels) > MOST_POINTS else graph.Scatter
            style = {"color": colour, "width": 1, "dash": "dot"}
            label = f"{symbol} {name}"
            traces.append(
                kind(x=levels.index, y=levels, name=label, mode="lines", line=style, hoverinfo="skip", **shown)
            )
    fills = run.fills[run.fills["symbol"] == symbol]
    after = (fills["quantity"] * np.where(fills["side"] == "BUY", 1, -1)).cumsum()
    before = after - fills["quantity"] * np.where(fills["side"] == "BUY", 1, -1)
    flips = before * after < -1e-12
    closing = (after.abs() < before.abs() - 1e-12) | flips
    forced = fills["type"].isin(["LIQUIDATION", "ADL"])
    stops = fills["order_id"].isin(triggers.loc[triggers["stop"], "order_id"]) & ~forced
    targets = fills["order_id"].isin(triggers.loc[~triggers["stop"], "order_id"]) & ~forced
    plain = ~(forced | stops | targets)
    kinds = [
        ("entries", ~closing & plain, "triangle", GAIN),
        ("exits", closing & ~flips & plain, "triangle", LOSS),
        ("changes of side", flips & plain, "triangle", THIRD),
        ("stops", stops, "x", FOURTH),
        ("take-profits", targets, "diamond", THIRD),
        ("liquidations", forced, "star", "#000000"),
    ]
    for name, chosen, mark, colour in kinds:
        part = fills[chosen]
        if not len(part):
            continue
        symbols = [f"{mark}-{'up' if s == 'BUY' else 'down'}" if mark == "triangle" else mark for s in part["side"]]
        text = [
            f"{row.side} {row.quantity:g} at {row.price:,.8g}<br>fee {row.fee:,.4g}, realised {row.realized_pnl:,.2f}"
            for row in part.itertuples()
        ]
        traces.append(
            (graph.Scattergl if len(part) > MOST_POINTS else graph.Scatter)(
                x=part["time"],
                y=part["price"],
                mode="markers",
                name=f"{symbol} {name}",
                text=text,
                hoverinfo="text+x",
                marker={"symbol": symbols, "size": 9, "color": colour, "line": {"width": 1, "color": "white"}},
                **shown,
            )
        )
    return traces


def with_triggers(run: Reported, symbol: str) -> pd.DataFrame:
    """Return the orders of a symbol that had a trigger, with `stop`: a sale below the price, or a purchase above it."""
    orders = run.orders[(run.orders["symbol"] == symbol) & run.orders["trigger_price"].notna()]
    marks = run.marks[symbol]
    placed = np.maximum(marks.index.searchsorted(pd.DatetimeIndex(orders["time"]), side="right") - 1, 0)
    below = orders["trigger_price"].to_numpy() < marks.to_numpy()[placed] if len(marks) else np.zeros(0, dtype=bool)
    return orders.assign(stop=below == (orders["side"] == "SELL").to_numpy())


def _levels(run: Reported, orders: pd.DataFrame) -> pd.Series[float]:
    """Return the trigger prices while they waited: two points an order, then a gap."""
    waiting = ~orders["status"].isin(["FILLED", "CANCELED", "REJECTED"])
    ends = orders["updated"].mask(waiting, run.marks.index[-1] if len(run.marks) else None)
    times = np.column_stack([orders["time"], ends, ends]).ravel()
    prices = orders["trigger_price"].to_numpy()
    values = np.column_stack([prices, prices, np.full(len(prices), np.nan)]).ravel()
    return pd.Series(values, index=times, dtype="float64")


def buy_and_hold(run: Reported) -> pd.Series[float]:
    """Return what the starting equity would be worth, held in equal parts of every symbol, without costs (USDC)."""
    held: pd.Series[float] = (run.marks / run.marks.iloc[0]).mean(axis=1) * float(run.equity["equity"].iloc[0])
    return held.rename("buy and hold")


def rolling(run: Reported, periods: int = 30) -> pd.DataFrame:
    """Return yearly Sharpe ratio and volatility of the last `periods` sampled returns: float64, NaN at first."""
    curve = run.equity["equity"]
    returns, step = sampled_returns(curve), sampling_period(curve)
    window = returns.rolling(min(periods, max(len(returns) // 3, 2)))
    spread, scale = window.std(), math.sqrt(YEAR / step) if step else float("nan")
    ratio = (window.mean() / spread.where(spread > 0)) * scale
    return pd.DataFrame({"sharpe": ratio, "volatility": spread * scale})


def monthly(run: Reported) -> pd.DataFrame:
    """Return the return of each month, one row a year, one column a month (1 to 12) and `year`; NaN without data."""
    curve = run.equity["equity"]
    naive = curve.set_axis(pd.DatetimeIndex(curve.index).tz_convert("UTC").tz_localize(None))
    ends = naive.groupby(naive.index.to_period("M")).last()  # type: ignore[attr-defined]
    starts = ends.shift(fill_value=float(curve.iloc[0]))
    change = ends / starts - 1
    years = pd.PeriodIndex(ends.index).year
    table = pd.DataFrame({"year": years, "month": pd.PeriodIndex(ends.index).month, "change": change.to_numpy()})
    wide = table.pivot_table(index="year", columns="month", values="change").reindex(columns=range(1, 13))
    wide["year"] = (change + 1).groupby(years).prod() - 1
    return wide


def months_panel(run: Reported) -> Any:
    """Return the table of monthly returns, coloured."""
    table = monthly(run)
    names = [pd.Timestamp(2000, month, 1).strftime("%b") for month in range(1, 13)]
    values = table.to_numpy(dtype="float64")
    largest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    heat = graph.Heatmap(
        z=values,
        x=[*names, "year"],
        y=[str(year) for year in table.index],
        zmid=0,
        zmin=-largest,
        zmax=largest,
        colorscale=[[0, LOSS], [0.5, "#f4f4f4"], [1, GAIN]],
        showscale=False,
        hoverongaps=False,
        text=[["" if value != value else f"{value:+.2%}" for value in row] for row in values],
        texttemplate="%{text}",
    )
    figure = graph.Figure(heat)
    figure.update_layout(title="Monthly returns", height=120 + 40 * len(table))
    figure.update_yaxes(type="category", autorange="reversed")
    return figure


def with_funding(run: Reported) -> pd.DataFrame:
    """Return the round trips with `funding`: the payments of their symbol while each was open (USDC, > 0 received)."""
    trips, paid = run.round_trips, run.funding
    found = []
    for trip in trips.itertuples():
        during = (paid["symbol"] == trip.symbol) & (paid["time"] > trip.opened) & (paid["time"] <= trip.closed)
        found.append(float(paid.loc[during, "payment"].sum()))
    return trips.assign(funding=np.array(found, dtype="float64"), total=trips["net"] + np.array(found, dtype="float64"))


def trips_panel(run: Reported) -> Any:
    """Return the distribution of round trips by net profit with funding, and each over its length."""
    trips = with_funding(run)
    figure = make_subplots(cols=2, subplot_titles=("Round trips, USDC", "Net over hours held"))
    for name, chosen, colour in (("winners", trips["total"] > 0, GAIN), ("losers", trips["total"] <= 0, LOSS)):
        part = trips[chosen]
        figure.add_trace(graph.Histogram(x=part["total"], name=name, marker_color=colour, nbinsx=40), row=1, col=1)
        hours = (part["closed"] - part["opened"]).dt.total_seconds() / 3600
        text = [f"{t.side} {t.symbol}<br>net {t.net:,.2f}, funding {t.funding:,.2f}" for t in part.itertuples()]
        points = graph.Scatter(
            x=hours,
            y=part["total"],
            mode="markers",
            marker={"color": colour, "size": 6},
            text=text,
            hoverinfo="text",
            showlegend=False,
        )
        figure.add_trace(points, row=1, col=2)
    figure.update_layout(height=340, barmode="overlay")
    return figure


def costs_panel(run: Reported) -> Any:
    """Return where the profit came from: price, fees, funding, other, by symbol."""
    table = run.attribution.drop(index="TOTAL")
    figure = graph.Figure()
    for part, colour in (("price", GAIN), ("fees", LOSS), ("funding", THIRD), ("other", FOURTH)):
        figure.add_trace(graph.Bar(x=list(table.index), y=table[part], name=part, marker_color=colour))
    figure.update_layout(title="Profit by origin, USDC", barmode="group", height=320)
    return figure


def comparison_panel(runs: Mapping[str, Reported]) -> Any:
    """Return equity (as growth of 1) and drawdown of several runs above each other."""
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.06, subplot_titles=("Growth of 1", "Drawdown"))
    colours = [GAIN, LOSS, THIRD, FOURTH, "#E69F00", "#56B4E9", FAINT]
    for number, (name, run) in enumerate(runs.items()):
        equity, colour = run.equity["equity"], colours[number % len(colours)]
        figure.add_trace(line(equity / equity.iloc[0], name, colour, legendgroup=name), row=1, col=1)
        fall = line(run.drawdown, name, colour, legendgroup=name, showlegend=False)
        figure.add_trace(fall, row=2, col=1)
    figure.update_yaxes(tickformat=".1%", row=2, col=1)
    figure.update_layout(height=520, hovermode="x unified")
    return figure


def heat_panel(table: pd.DataFrame, x: str, y: str, value: str) -> Any:
    """Return a heat-map of a column over two parameters: the best value of those that share a cell."""
    wide = table.pivot_table(index=y, columns=x, values=value, aggfunc="max")
    heat = graph.Heatmap(
        z=wide.to_numpy(dtype="float64"),
        x=[str(item) for item in wide.columns],
        y=[str(item) for item in wide.index],
        colorscale="Cividis",
        colorbar={"title": value},
        hovertemplate=f"{x} %{{x}}<br>{y} %{{y}}<br>{value} %{{z:.4g}}<extra></extra>",
    )
    figure = graph.Figure(heat)
    figure.update_layout(title=f"{value} by {x} and {y}", height=420)
    figure.update_xaxes(title=x, type="category")
    figure.update_yaxes(title=y, type="category")
    return figure


def parallel_panel(table: pd.DataFrame, names: list[str], value: str) -> Any:
    """Return parallel coordinates of the parameters and a column, coloured by it; text has its place in a list."""
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
