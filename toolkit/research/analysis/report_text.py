"""The words of a report: measures by the names and in the units that people read, and its first screen."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import Any, Protocol

import pandas as pd


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
    return f"{days * 24:,.1f} hours" if days * 24 >= 1 or not days else f"{days * 1_440:,.1f} minutes"


def minus(text: str) -> str:
    """Return a number's text with a typographic minus sign.

    Parameters
    ----------
    text : str
        Formatted number, with a hyphen if it is negative.
    """
    return text.replace("-", "\u2212")


def _times(value: float) -> str:
    return f"{number(value)} ×"


_NAMES = {
    "equity_start": "equity at the start", "equity_end": "equity at the end", "sharpe": "Sharpe", "sortino": "Sortino",
    "calmar": "Calmar", "leverage_mean": "mean leverage", "leverage_max": "max leverage", "fee_share": "fees of gross",
    "sharpe_low": "Sharpe, low end", "sharpe_high": "Sharpe, high end", "return_low": "return, low end",
    "return_high": "return, high end", "observations": "returns measured", "period": "each over",
    "probabilistic_sharpe": "chance of a true Sharpe above 0", "expected_max_sharpe": "best Sharpe without skill",
    "deflated_sharpe": "the same, as the best of the trials", "min_track_record": "time needed for 95 %",
    "track_record": "time there was", "pbo": "probability of overfitting",
}  # fmt: skip
_WRITTEN = {
    usdc: "equity_start equity_end profit mean_trip fees funding",
    percent: "total_return annual_return volatility max_drawdown hit_rate time_in_market fee_share return_low "
    "return_high probabilistic_sharpe deflated_sharpe pbo",
    number: "sharpe sortino calmar profit_factor sharpe_low sharpe_high skew kurtosis expected_max_sharpe",
    duration: "longest_drawdown period min_track_record track_record",
    "{:,}".format: "fills round_trips observations trials points failed",
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
    known = {name: MEASURES.get(str(name), (str(name), lambda value: value)) for name in values.index}
    found = {known[name][0]: known[name][1](value) for name, value in values.items()}
    return pd.Series(found, dtype="object", name=values.name)


class Screened(Protocol):
    """What the first screen shows of a run. `Results` is one."""

    def metrics(self) -> pd.Series[Any]:
        """Return the measures."""

    def luck(self) -> pd.Series[Any]:
        """Return how far to trust them."""

    def audited_in_short(self) -> str:
        """Return the findings about the run in a line."""


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
    interval = f"{number(luck['sharpe_low'])} to {number(luck['sharpe_high'])}"
    findings = "nothing found" if audited.endswith("nothing found") else "look here" if audited else "not run"
    cards = (
        ("Return", shown["total return"], f"{usdc(measured['profit'])} in {duration(luck['track_record'])}"),
        ("Sharpe ratio, yearly", shown["Sharpe"], f"90 % interval: {interval}"),
        ("Largest drawdown", shown["max drawdown"], f"the longest took {shown['longest drawdown']}"),
        (
            "Costs",
            f"{percent(costs / gross)} of gross" if gross > 0 else "no gross profit",
            f"{usdc(costs)}: fees {shown['fees']}, funding received {shown['funding']}",
        ),
        (
            "Not luck",
            percent(luck["deflated_sharpe"]),
            f"chance of a true Sharpe ratio above 0, as the best of {luck['trials']:,} trials{needed}",
        ),
        ("Audit", findings, audited.removeprefix("audit: ") or "Not audited: call run.audit() before the report."),
    )
    parts = "".join(
        f"<section><h2>{escape(title)}</h2><strong>{escape(value)}</strong><p>{escape(text)}</p></section>"
        for title, value, text in cards
    )
    return f'<p class="verdict">{escape(_verdict(luck))}</p><div class="cards">{parts}</div>'


def _verdict(luck: pd.Series[Any]) -> str:
    if math.isnan(luck["sharpe_low"]) or math.isnan(luck["deflated_sharpe"]):
        return "Too few returns to distinguish this result from luck."
    if luck["sharpe_high"] < 0:
        return "A loss that luck alone hardly explains: the whole interval of the Sharpe ratio is below 0."
    if luck["sharpe_low"] <= 0:
        return "This may be luck: the interval of the Sharpe ratio contains 0."
    if luck["deflated_sharpe"] < 0.95:
        return f"This may be luck: the best of {luck['trials']:,} trials can look as good without skill."
    return "Luck alone hardly explains this result, if the audit finds nothing."
