"""The words of a report: measures by the names and in the units that people read, and its first screen."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...pictures.panes import LIGHT, minus
from .measures.curve import FEWEST, SHORTEST_MS


def percent(value: float) -> str:
    """Return a ratio as percent. A small one keeps two digits.

    Parameters
    ----------
    value : float
        Ratio (0.01 is 1 %). NaN is shown as a dash.
    """
    if math.isnan(value):
        return "–"
    shown = f"{value:,.2%}" if abs(value) < 100 else f"{value:.1e}"
    return minus(f"{value * 100:.2g}%" if 1e-6 <= abs(value) < 5e-5 else shown)


def number(value: float) -> str:
    """Return a number with two decimals.

    Parameters
    ----------
    value : float
        Number of any unit. NaN is shown as a dash.
    """
    return "–" if math.isnan(value) else minus(f"{value:,.2f}")


def usdc(value: float) -> str:
    """Return an amount of USDC. One below a cent keeps its digits.

    Parameters
    ----------
    value : float
        USDC. NaN is shown as a dash.
    """
    decimals = 2 if abs(value) >= 0.01 or abs(value) < 1e-6 else 6
    return "–" if math.isnan(value) else minus(f"{value:,.{decimals}f} USDC")


def duration(value: Any) -> str:
    """Return a length of time in minutes, hours, days or years.

    Parameters
    ----------
    value : Timedelta
        Length of time. NaT is shown as a dash.
    """
    if pd.isna(value):
        return "–"
    days = value / pd.Timedelta(days=1)
    if days >= 1_000:
        return f"{days / 365:,.1f} years"
    if days >= 1:
        return f"{days:,.1f} days"
    if days * 1_440 < 1:
        return f"{days * 86_400:,.3g} seconds"
    return f"{days * 24:,.1f} hours" if days * 24 >= 1 else f"{days * 1_440:,.1f} minutes"


def _basis(value: float) -> str:
    return f"{number(value)} bp"


def _times(value: float) -> str:
    return f"{number(value)} ×"


_NAMES = {
    "equity_start": "equity at the start", "equity_end": "equity at the end", "sharpe": "Sharpe", "sortino": "Sortino",
    "calmar": "Calmar", "leverage_mean": "mean leverage", "leverage_max": "max leverage", "fee_share": "fees of gross",
    "sharpe_low": "Sharpe, low end", "sharpe_high": "Sharpe, high end", "return_low": "return, low end",
    "return_high": "return, high end", "observations": "returns measured", "period": "each over",
    "probabilistic_sharpe": "chance of a true Sharpe above 0", "expected_max_sharpe": "best Sharpe without skill",
    "found_nothing": "market orders that found nothing", "cut": "orders filled in part only",
    "rejected": "orders rejected", "unprotected": "time without a stop", "shortfall": "implementation shortfall",
    "deflated_sharpe": "the same, as the best of the trials", "min_track_record": "time needed for 95 %",
    "track_record": "time there was", "pbo": "probability of overfitting", "period_sharpe": "Sharpe of one period",
    "spread_captured_bp": "spread captured", "adverse_selection_bp": "adverse selection, 10 s",
    **{f"markout_{seconds}s_bp": f"markout after {seconds} s" for seconds in (1, 10, 60)},
    "idea": "of the idea", "unproven": "bars or rates not proven",
}  # fmt: skip
_WRITTEN = {
    usdc: "inventory_mean inventory_max best_trip worst_trip equity_start equity_end profit mean_trip fees funding "
    "shortfall",
    percent: "fill_ratio maker_share benchmark_return alpha value_at_risk expected_shortfall expectancy kelly "
    "total_return annual_return volatility max_drawdown hit_rate time_in_market unprotected fee_share return_low "
    "return_high probabilistic_sharpe deflated_sharpe pbo",
    number: "beta correlation information_ratio sqn sharpe sortino calmar profit_factor "
    "sharpe_low sharpe_high skew kurtosis expected_max_sharpe",
    "{:.4f}".format: "period_sharpe",
    duration: "mean_duration longest_trip longest_drawdown period min_track_record track_record",
    "{:,}".format: "fills round_trips observations trials points failed unproven rejected cut found_nothing",
    _basis: "spread_captured_bp markout_1s_bp markout_10s_bp markout_60s_bp adverse_selection_bp",
    _times: "turnover leverage_mean leverage_max",
}
MEASURES: dict[str, tuple[str, Callable[[Any], str]]] = {
    name: (_NAMES.get(name, name.replace("_", " ")), write)
    for write, names in _WRITTEN.items()
    for name in names.split()
}
"""Measure → its name in a report, and what writes its value."""


def readable(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return measures by name as people read them. Values that are not measures stay unchanged.

    Parameters
    ----------
    values : Series
        Measures by name, as `metrics.summary` or `Results.luck` returns them.
    """
    values = values.drop("annualised", errors="ignore")
    known = {name: MEASURES.get(str(name), (str(name), lambda value: value)) for name in values.index}
    found = {known[name][0]: known[name][1](value) for name, value in values.items()}
    if too_short(values):
        found |= {known[name][0]: TOO_SHORT for name in YEARLY if name in known}
    return pd.Series(found, dtype="object", name=values.name)


YEARLY = (
    "annual_return",
    "volatility",
    "sharpe",
    "sortino",
    "calmar",
    "sharpe_low",
    "sharpe_high",
    "expected_max_sharpe",
)
TOO_SHORT = "too short to annualise"


def too_short(values: pd.Series[Any]) -> bool:
    """Return whether measures have no yearly numbers because their data is too short. See `metrics`.

    Parameters
    ----------
    values : Series
        Measures by name, as `metrics.summary` or `Results.luck` returns them.
    """
    spans = (values["end"] - values["start"]) if "end" in values else values.get("track_record", pd.NaT)
    few = values.get("observations", FEWEST) < FEWEST
    return not pd.isna(spans) and (spans < pd.Timedelta(SHORTEST_MS, "ms") or few) and pd.isna(values["sharpe"])


class Screened(Protocol):
    """What the first screen shows of a run. `Results` is one."""

    def metrics(self) -> pd.Series[Any]:
        """Return the measures."""

    def luck(self) -> pd.Series[Any]:
        """Return how far to trust them."""

    def audited_in_short(self) -> str:
        """Return the findings about the run in a line."""

    def unproven_in_short(self) -> str:
        """Return what nothing proves of the data in words."""


def first_screen(run: Screened) -> str:
    """Return what came out of a run and how far to trust it: a sentence and six cards, as HTML.

    Parameters
    ----------
    run : Results
        Results of the run.
    """
    measured, luck, audited = run.metrics(), run.luck(), run.audited_in_short()
    shown = {**readable(measured), **readable(luck)}
    costs = measured["fees"] - measured["funding"]
    gross = measured["profit"] + costs
    needed = "" if pd.isna(luck["min_track_record"]) else f", and 95 % needs {shown['time needed for 95 %']}"
    interval = f"90 % interval: {number(luck['sharpe_low'])} to {number(luck['sharpe_high'])}. "
    interval = "" if too_short(measured) else interval
    sampled = f"{measured['observations']:,} returns, each over {duration(measured['period'])}"
    findings = "nothing found" if audited.startswith("audit: nothing found") else "look here" if audited else "not run"
    cards = (
        ("Return", shown["total return"], f"{usdc(measured['profit'])} in {duration(luck['track_record'])}"),
        (
            "Sharpe ratio, yearly",
            shown["Sharpe"],
            f"{interval}{sampled}",
        ),
        ("Largest drawdown", shown["max drawdown"], f"the longest took {shown['longest drawdown']}"),
        (
            "Costs",
            f"{percent(costs / gross)} of gross" if gross > 0 else "no gross profit",
            f"{usdc(costs)}: fees {shown['fees']}, funding received {shown['funding']}",
        ),
        (
            "Not luck",
            percent(luck["deflated_sharpe"]),
            f"chance of a true Sharpe ratio above 0, as the best of {_tried(luck)}{needed}",
        ),
        ("Audit", findings, audited.removeprefix("audit: ") or "Not audited: call run.audit() before the report."),
        *((("Data", "not all proven", doubts),) if (doubts := run.unproven_in_short()) else ()),
    )
    parts = "".join(
        f"<section><h2>{escape(title)}</h2><strong>{escape(value)}</strong><p>{escape(text)}</p></section>"
        for title, value, text in cards
    )
    return f'<p class="verdict">{escape(_verdict(luck))}</p><div class="cards">{parts}</div>'


def card(run: Any, note: str = "", luck: pd.Series[Any] | None = None) -> str:
    """Return a run as one card of a notebook: a picture of its equity, return, drawdown, costs, luck and audit.

    Parameters
    ----------
    run : Results
        Results of the run.
    note : str, optional
        What else there is to say of it (default: nothing).
    luck : Series, optional
        Values of `Results.luck` (default: those of the run).
    """
    values = run.growth.to_numpy()
    if len(values) < 2:
        return f"<code>{escape(repr(run))}</code>"
    measured, luck = run.metrics(), run.luck() if luck is None else luck
    shown = readable(measured)
    costs = measured["fees"] - measured["funding"]
    sharpe = shown["Sharpe"] if too_short(measured) else f"{shown['Sharpe']} per year"
    rows = (
        ("Return", shown["total return"]),
        ("Largest drawdown", shown["max drawdown"]),
        ("Sharpe ratio", f"{sharpe}: {measured['observations']:,} returns, each over {duration(measured['period'])}"),
        ("Costs", f"{usdc(costs)}: fees {shown['fees']}, funding received {shown['funding']}"),
        ("Not luck", f"{percent(luck['deflated_sharpe'])}, as the best of {_tried(luck)}"),
        *((("Not proven", doubts),) if (doubts := run.unproven_in_short()) else ()),
        ("Audit", run.audited_in_short().removeprefix("audit: ") or "not audited: call .audit()"),
    )
    left = 'style="text-align:left;vertical-align:top"'
    table = "".join(f"<tr><th {left}>{name}</th><td {left}>{escape(text)}</td></tr>" for name, text in rows)
    span = f"{run.equity.index[0]:%Y-%m-%d %H:%M} to {run.equity.index[-1]:%Y-%m-%d %H:%M} UTC"
    title = f"<b>{escape(run.name)}</b> {escape(', '.join(filter(None, (note, span))))}"
    return f'<div style="max-width:44em">{title}{_spark(values)}<table>{table}</table></div>'


def _spark(values: NDArray[np.float64]) -> str:
    """Return a line of equity as SVG, with its start as a dashed line."""
    kept = values[np.linspace(0, len(values) - 1, min(len(values), 300)).astype(int)]
    low, high = float(np.nanmin(kept)), float(np.nanmax(kept))
    heights = 58 - 56 * (kept - low) / ((high - low) or 1.0)
    points = " ".join(f"{600 * at / (len(kept) - 1):.1f},{y:.1f}" for at, y in enumerate(heights) if y == y)
    shade, start = LIGHT.up if kept[-1] >= kept[0] else LIGHT.down, f"{heights[0]:.1f}"
    return (
        '<svg viewBox="0 0 600 60" width="100%" height="60" preserveAspectRatio="none" role="img" '
        f'aria-label="equity from {low:,.0f} to {high:,.0f} USDC"><line x1="0" x2="600" y1="{start}" y2="{start}" '
        f'stroke="#888" stroke-dasharray="4"/><polyline points="{points}" fill="none" stroke="{shade}" '
        'stroke-width="1.5" vector-effect="non-scaling-stroke"/></svg>'
    )


def _tried(luck: pd.Series[Any]) -> str:
    """Return how many trials there were, and of what."""
    name = str(luck.get("idea", "")).rpartition(" ")[0]
    one = "trial" if luck["trials"] == 1 else "trials"
    return f"{luck['trials']:,} {one} of {name} (this code, this data)" if name else f"{luck['trials']:,} {one}"


def _verdict(luck: pd.Series[Any]) -> str:
    if math.isnan(luck["sharpe_low"]) and too_short(luck):
        return "Too short to annualise, and to distinguish this result from luck: 7 days with 10 returns are needed."
    if math.isnan(luck["sharpe_low"]) or math.isnan(luck["deflated_sharpe"]):
        return "Too few returns to distinguish this result from luck."
    if luck["sharpe_high"] < 0:
        return "A loss that luck alone hardly explains: the whole interval of the Sharpe ratio is below 0."
    if luck["sharpe_low"] <= 0:
        return "This may be luck: the interval of the Sharpe ratio contains 0."
    if luck["deflated_sharpe"] < 0.95:
        return f"This may be luck: the best of {_tried(luck)} can look as good without skill."
    return "Luck alone hardly explains this result, if the audit finds nothing."
