"""Performance measures of a run: pure functions, each with its formula.

`equity` is a Series of USDC over an increasing UTC DatetimeIndex. `fills` and `funding` are the frames of `Results`.
Each measure also takes a `Curve`, the arrays of a run, from which sweeps measure without making a frame.
Ratios are plain numbers (0.1 is 10 %). A measure without the data it needs (no trades, no time, no variation) is NaN
rather than 0 or infinity. A year has 365 days, because the venue never closes.

Yearly numbers (annual return, volatility, Sharpe, Sortino and Calmar ratio) need at least 7 days of data and 10 sampled
returns. Below that they are NaN, because half an hour says nothing about a year. With an explicit `period` volatility,
Sharpe and Sortino ratio are computed in any case.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..market_data import span_ms
from .measures.curve import YEAR_MS, Curve, Equity, Period, Sampled, as_curve
from .measures.numbers import NAN, NOTHING, Times, Values, add, deviation, floats, ratio, time_mean
from .measures.trips import (
    ROUND_TRIPS,
    fill_arrays,
    hit_rate,
    markout,
    profit_factor,
    round_trips,
    trip_measures,
    trip_profits,
)  # fmt: skip

__all__ = [
    "ROUND_TRIPS", "YEAR", "annual_return", "beside", "calmar", "drawdown", "drawdowns", "fee_share", "hit_rate",
    "longest_drawdown", "markout", "max_drawdown", "profit_factor", "round_trips", "sampled_returns", "sampling_period",
    "sharpe", "sortino", "summary", "tails", "time_in_market", "time_weighted", "total_return", "trip_measures",
    "turnover", "volatility",
]  # fmt: skip

YEAR = pd.Timedelta(days=365)


def total_return(equity: Equity) -> float:
    """Return E_end / E_start − 1.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.

    Returns
    -------
    float
        Ratio (0.1 is 10 %), NaN without equity at the start.

    Examples
    --------
    >>> round(metrics.total_return(run.growth), 4)
    0.0258
    """
    values = as_curve(equity).equity
    return float(values[-1] / values[0] - 1) if len(values) and values[0] > 0 else NAN


def annual_return(equity: Equity) -> float:
    """Return the compound yearly growth: (E_end / E_start) ^ (year / elapsed) − 1.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.

    Returns
    -------
    float
        Ratio, −1 if nothing is left, NaN if the data is too short.

    Examples
    --------
    >>> round(metrics.annual_return(run.growth), 4)
    2.051
    """
    curve = as_curve(equity)
    total = total_return(curve)
    if math.isnan(total) or not curve.annualised:
        return NAN
    if total <= -1:
        return -1.0
    # Logarithms, because the power of a short run with a large return would overflow.
    exponent = YEAR_MS / curve.elapsed_ms * math.log1p(total)
    return math.expm1(exponent) if exponent < 700 else math.inf  # expm1 overflows beyond 709


def sampling_period(equity: Equity) -> pd.Timedelta:
    """Return the spacing at which risk is measured.

    It is a day for runs of 30 days or more, an hour for 2 days or more, else a minute. It is never finer than the data.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.

    Returns
    -------
    Timedelta
        Spacing of the returns.

    Examples
    --------
    >>> metrics.sampling_period(run.growth)
    Timedelta('0 days 01:00:00')
    """
    return pd.Timedelta(as_curve(equity).sampling_ms, unit="ms")


def sampled_returns(equity: Equity, period: Period = None) -> pd.Series[float]:
    """Return r_k = E_k / E_(k−1) − 1 of equity sampled at equal distances: the last value known at each edge.

    The first sample is the start and the last one the end, so the last period may be shorter than the others.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.
    period : str or Timedelta, optional
        Spacing of the returns, such as "1D" (default: that of `sampling_period`).

    Returns
    -------
    Series of float
        Return of each period, a ratio, under the end of the period (UTC).

    Examples
    --------
    >>> metrics.sampled_returns(run.growth, "1D").round(4).tolist()[:3]
    [-0.0067, 0.0185, 0.0049]
    """
    found = as_curve(equity).sampled(period)
    return pd.Series(found.returns, index=pd.to_datetime(found.times, unit="ms", utc=True))


def volatility(equity: Equity, period: Period = None) -> float:
    """Return yearly volatility: std(r, ddof=1) · sqrt(periods per year).

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.
    period : str or Timedelta, optional
        Spacing of the returns, such as "1D" (default: that of `sampling_period`).

    Returns
    -------
    float
        Ratio per year, NaN if the data is too short.

    Examples
    --------
    >>> round(metrics.volatility(run.growth), 3)
    0.287
    """
    found = _to_annualise(equity, period)
    return found.spread * math.sqrt(found.per_year)


def sharpe(equity: Equity, period: Period = None, risk_free: float = 0.0) -> float:
    """Return the yearly Sharpe ratio: mean(r − f) / std(r, ddof=1) · sqrt(periods per year).

    f is `risk_free` / periods per year.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.
    period : str or Timedelta, optional
        Spacing of the returns, such as "1D" (default: that of `sampling_period`).
    risk_free : float, optional
        Yearly rate of a riskless investment, a ratio (0.04 is 4 %) (default: 0).

    Returns
    -------
    float
        Yearly ratio, NaN without variation.

    Examples
    --------
    >>> round(metrics.sharpe(run.growth), 2)
    4.03
    """
    found = _to_annualise(equity, period)
    return ratio(found.returns, found.spread, risk_free / found.per_year) * math.sqrt(found.per_year)


def sortino(equity: Equity, period: Period = None, risk_free: float = 0.0) -> float:
    """Return the yearly Sortino ratio, for which only losses count as risk.

    It is mean(r − f) / sqrt(mean(min(r − f, 0)²)) · sqrt(periods per year).

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.
    period : str or Timedelta, optional
        Spacing of the returns, such as "1D" (default: that of `sampling_period`).
    risk_free : float, optional
        Yearly rate of a riskless investment, a ratio (0.04 is 4 %) (default: 0).

    Returns
    -------
    float
        Yearly ratio, NaN without losses.

    Examples
    --------
    >>> round(metrics.sortino(run.growth), 2)
    5.93
    """
    found = _to_annualise(equity, period)
    excess = found.returns - risk_free / found.per_year
    if len(excess) < 2:
        return NAN
    losses = np.minimum(excess, 0.0)
    downside = math.sqrt(float(add(losses * losses)) / len(excess))
    return float(add(excess)) / len(excess) / downside * math.sqrt(found.per_year) if downside > 0 else NAN


def drawdown(equity: pd.Series[float]) -> pd.Series[float]:
    """Return E_t / max(E_s, s ≤ t) − 1 for every t: 0 at a high, −0.2 at 20 % below the last one.

    Parameters
    ----------
    equity : Series
        Equity in USDC over an increasing UTC index.

    Returns
    -------
    Series of float
        Ratio of 0 or below, on the same index.

    Examples
    --------
    >>> metrics.drawdown(run.growth).round(4).tolist()[-3:]
    [-0.0187, -0.0204, -0.0096]
    """
    return pd.Series(as_curve(equity).depths, index=equity.index, name="drawdown")


def max_drawdown(equity: Equity) -> float:
    """Return the deepest drawdown of all points.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.

    Returns
    -------
    float
        Ratio of 0 or below (−0.2 is 20 % below the last high).

    Examples
    --------
    >>> round(metrics.max_drawdown(run.growth), 4)
    -0.0204
    """
    depths = as_curve(equity).depths
    return float(np.fmin.reduce(depths)) if len(depths) else NAN


def longest_drawdown(equity: Equity) -> pd.Timedelta:
    """Return the longest time from a high until it is reached again, or until the end.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.

    Returns
    -------
    Timedelta
        Length of time, 0 without a fall.

    Examples
    --------
    >>> metrics.longest_drawdown(run.growth)
    Timedelta('2 days 04:00:00')
    """
    curve = as_curve(equity)
    ends = np.flatnonzero(curve.equity >= curve.highs)
    fallen = len(ends) > 0 and ends[-1] != len(curve.equity) - 1
    if fallen:
        ends = np.append(ends, len(curve.equity) - 1)
    falls = ends[1:] - ends[:-1] > 1  # neighbouring highs have no fall between them
    if fallen:
        falls[-1] = True  # after the last high every point is below it
    spans = (curve.times[ends[1:]] - curve.times[ends[:-1]])[falls]
    return pd.Timedelta(int(spans.max()) if len(spans) else 0, unit="ms")


def calmar(equity: Equity) -> float:
    """Return annual return / abs(max drawdown).

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.

    Returns
    -------
    float
        Ratio, NaN without a drawdown.

    Examples
    --------
    >>> round(metrics.calmar(run.growth), 2)
    100.68
    """
    curve = as_curve(equity)
    deepest = max_drawdown(curve)
    return annual_return(curve) / -deepest if deepest < 0 else NAN


def turnover(fills: pd.DataFrame | Curve, equity: Equity) -> float:
    """Return Σ abs(value of fills) / time-weighted mean equity: how often the capital was traded.

    Parameters
    ----------
    fills : DataFrame or Curve
        Frame of `Results.fills`, or the arrays of a run.
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.

    Returns
    -------
    float
        Number of times, NaN without equity.

    Examples
    --------
    >>> round(metrics.turnover(run.fills, run.equity["equity"]), 2)
    15.69
    """
    traded = add(np.abs(fills.signed * fills.prices)) if isinstance(fills, Curve) else fills["value"].sum()
    mean = time_weighted(equity)
    return float(traded / mean) if mean > 0 else NAN


def time_in_market(notional: pd.Series[float]) -> float:
    """Return the share of time in which there is a position. A point counts until the next one.

    Parameters
    ----------
    notional : Series of float
        Notional of the positions in USDC over an increasing UTC index.

    Returns
    -------
    float
        Ratio from 0 to 1.

    Examples
    --------
    >>> metrics.time_in_market(run.exposure["gross"])
    0.895
    """
    return time_weighted((notional.abs() > 0).astype("float64"))


def time_weighted(values: Equity) -> float:
    """Return the mean of values by how long each lasts, the plain mean if no time passes.

    It is Σ x_k·(t_(k+1) − t_k) / (t_end − t_start).

    Parameters
    ----------
    values : Series or Curve
        Values over an increasing UTC index, or the arrays of a run, whose equity is taken.

    Returns
    -------
    float
        Mean, in the unit of the values.

    Examples
    --------
    >>> round(metrics.time_weighted(run.exposure["gross"]), 2)
    5589.85
    """
    curve = as_curve(values)
    return time_mean(curve.equity, curve.lasting)


def fee_share(net_profit: float, fees: float) -> float:
    """Return the part of the profit that fees took: fees / (net profit + fees).

    Parameters
    ----------
    net_profit : float
        Profit after fees, USDC.
    fees : float
        Fees, USDC.

    Returns
    -------
    float
        Ratio, NaN without a profit before fees.

    Examples
    --------
    >>> metrics.fee_share(net_profit=300.0, fees=100.0)
    0.25
    """
    before = net_profit + fees
    return fees / before if before > 0 else NAN


def summary(
    equity: pd.Series[float],
    fills: pd.DataFrame,
    funding: pd.DataFrame,
    notional: pd.Series[float],
    *,
    period: Period = None,
    risk_free: float = 0.0,
) -> pd.Series[Any]:
    """Return every measure of this module. The frames are those of `Results`.

    Parameters
    ----------
    equity : Series
        Equity in USDC over an increasing UTC index.
    fills : DataFrame
        Frame of `Results.fills`.
    funding : DataFrame
        Frame of `Results.funding`. Its payments are positive when received, negative when paid.
    notional : Series of float
        Sum of position notionals, USDC, 0 or above, on the index of `equity`. `leverage_mean` and `leverage_max` are
        notional / equity.
    period : str or Timedelta, optional
        Spacing of the returns, such as "1D" (default: that of `sampling_period`).
    risk_free : float, optional
        Yearly rate of a riskless investment, a ratio (0.04 is 4 %) (default: 0).

    Returns
    -------
    Series
        Measures by name. Amounts are USDC, ratios plain numbers, times UTC. `period` is the spacing of the returns,
        `observations` their number, `period_sharpe` the Sharpe ratio of one period. `annualised` is False where the
        data is too short for yearly numbers.

    Examples
    --------
    >>> metrics.summary(run.growth, run.fills, run.funding, run.exposure["gross"])["round_trips"]
    12
    """
    found = measure(curve_of(equity, fills, funding, notional), period, risk_free)
    return pd.Series(found, dtype="object", name="metrics")


def measure(curve: Curve, period: Period = None, risk_free: float = 0.0) -> dict[str, Any]:
    """Return what `summary` does, of the arrays of a run, as a plain mapping.

    Parameters
    ----------
    curve : Curve
        The arrays of the run.
    period : str or Timedelta, optional
        Spacing of the returns, such as "1D" (default: that of `sampling_period`).
    risk_free : float, optional
        Yearly rate of a riskless investment, a ratio (0.04 is 4 %) (default: 0).
    """
    times, equity = curve.times, curve.equity
    step = curve.sampling_ms if period is None else span_ms(period, "period")
    known, sampled = len(equity) > 0, curve.sampled_every(step)
    net = trip_profits(curve)
    fees = float(add(curve.fees))
    profit = float(equity[-1] - equity[0]) if known else 0.0
    leverage = curve.leverage()
    return {
        "start": pd.Timestamp(int(times[0]), unit="ms", tz="UTC") if known else pd.NaT,
        "end": pd.Timestamp(int(times[-1]), unit="ms", tz="UTC") if known else pd.NaT,
        "equity_start": float(equity[0]) if known else NAN,
        "equity_end": float(equity[-1]) if known else NAN,
        "period": pd.Timedelta(step, unit="ms"),
        "observations": len(sampled.returns),
        "annualised": period is not None or curve.annualised,
        "profit": profit,
        "total_return": total_return(curve),
        "annual_return": annual_return(curve),
        "volatility": volatility(curve, period),
        "sharpe": sharpe(curve, period, risk_free),
        "sortino": sortino(curve, period, risk_free),
        "calmar": calmar(curve),
        "period_sharpe": ratio(sampled.returns, sampled.spread, risk_free / sampled.per_year),
        "max_drawdown": max_drawdown(curve),
        "longest_drawdown": longest_drawdown(curve),
        "fills": len(curve.signed),
        "round_trips": len(net),
        "hit_rate": hit_rate(net),
        "profit_factor": profit_factor(net),
        "mean_trip": float(add(net)) / len(net) if len(net) else NAN,
        "turnover": turnover(curve, curve),
        "time_in_market": time_mean(np.sign(curve.gross), curve.lasting),
        "leverage_mean": time_mean(leverage, curve.lasting),
        "leverage_max": float(np.maximum.reduce(leverage)) if known else NAN,
        "fees": fees,
        "fee_share": fee_share(profit, fees),
        "funding": curve.funding,
    }


def beside(equity: Equity, benchmark: pd.Series[float], period: Period = None) -> dict[str, float]:
    """Return the measures of a run next to a benchmark.

    beta = cov(r, b) / var(b). alpha = (mean(r) − beta · mean(b)) · periods per year. information_ratio =
    mean(r − b) / std(r − b) · sqrt(periods per year).

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.
    benchmark : Series
        Value of the benchmark over an increasing UTC index, in any unit.
    period : str or Timedelta, optional
        Spacing of the returns, such as "1D" (default: that of `sampling_period`).

    Returns
    -------
    dict of str to float
        benchmark_return (a ratio), alpha (a ratio per year), beta, correlation, information_ratio (per year). Yearly
        numbers are NaN if the data is too short.

    Examples
    --------
    >>> round(metrics.beside(run.growth, run.marks["BTCUSDC"])["beta"], 2)
    -0.14
    """
    curve = as_curve(equity)
    times = pd.to_datetime(curve.times, unit="ms", utc=True)
    other = Curve(curve.times, floats(benchmark.reindex(times, method="ffill").bfill()))
    step = curve.sampling_ms if period is None else span_ms(period, "period")
    own, theirs = curve.sampled_every(step), other.sampled_every(step)
    yearly = own.per_year if period is not None or curve.annualised else NAN
    found = dict.fromkeys(("alpha", "beta", "correlation", "information_ratio"), NAN)
    # A benchmark that stands still has no beta, and a ruined account fewer returns.
    if len(own.returns) == len(theirs.returns) > 1 and theirs.spread > 0 and own.spread > 0:
        beta = float(np.cov(own.returns, theirs.returns)[0, 1]) / theirs.spread**2
        apart = own.returns - theirs.returns
        found = {
            "alpha": float(own.returns.mean() - beta * theirs.returns.mean()) * yearly,
            "beta": beta,
            "correlation": beta * theirs.spread / own.spread,
            "information_ratio": ratio(apart, deviation(apart)) * math.sqrt(yearly),
        }
    return {"benchmark_return": total_return(other), **found}


def tails(equity: Equity, share: float = 0.05, period: Period = None) -> dict[str, float]:
    """Return value at risk and expected shortfall: the quantile of the sampled returns, and the mean of those below it.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.
    share : float, optional
        Part of the returns that is worse, a ratio (default: 0.05).
    period : str or Timedelta, optional
        Spacing of the returns, such as "1D" (default: that of `sampling_period`).

    Returns
    -------
    dict of str to float
        value_at_risk, expected_shortfall: returns of one period, ratios below 0 for a loss. NaN without returns.

    Examples
    --------
    >>> {name: round(value, 4) for name, value in metrics.tails(run.growth).items()}
    {'value_at_risk': -0.0042, 'expected_shortfall': -0.0069}
    """
    returns = np.sort(as_curve(equity).sampled(period).returns)
    if not len(returns):
        return {"value_at_risk": NAN, "expected_shortfall": NAN}
    worst = returns[: int((len(returns) - 1) * share) + 1]
    return {"value_at_risk": float(np.quantile(returns, share)), "expected_shortfall": float(worst.mean())}


def drawdowns(equity: pd.Series[float], most: int = 5) -> pd.DataFrame:
    """Return the deepest falls from a high until it is reached again.

    Parameters
    ----------
    equity : Series
        Equity in USDC over an increasing UTC index.
    most : int, optional
        Number of falls (default: 5).

    Returns
    -------
    DataFrame
        Deepest first:

        - depth: float64, ratio below 0
        - start, bottom: datetime64, the high and the deepest point (UTC)
        - end: datetime64, when the high was reached again, NaT if it was not
        - length: timedelta64, from the start to the end, or to the last point

    Examples
    --------
    >>> metrics.drawdowns(run.growth, 2)["depth"].round(4).tolist()
    [-0.0204, -0.0199]
    """
    depths = drawdown(equity)
    index, fallen = depths.index, np.flatnonzero(depths.to_numpy() < 0)
    rows = []
    for part in np.split(fallen, np.flatnonzero(np.diff(fallen) > 1) + 1) if len(fallen) else ():
        start, after = index[max(int(part[0]) - 1, 0)], int(part[-1]) + 1
        end = index[after] if after < len(index) else pd.NaT
        fall = depths.iloc[part]
        rows.append((float(fall.min()), start, fall.idxmin(), end, index[min(after, len(index) - 1)] - start))
    table = pd.DataFrame(rows, columns=["depth", "start", "bottom", "end", "length"])
    return table.sort_values("depth", kind="stable", ignore_index=True).head(most)


COLUMN_MEASURES = ("total_return", "volatility", "sharpe", "max_drawdown")
"""Measures that `measure_columns` knows."""


# Second form: measures of an equity curve
def measure_columns(times: Times, equity: Values) -> dict[str, Values]:
    """Return the `COLUMN_MEASURES` of many runs over the same times.

    Parameters
    ----------
    times : array of int64, shape (n,)
        Time of each point, Unix ms, increasing.
    equity : array of float64, shape (n, runs)
        Equity at each point, USDC, one column a run.

    Returns
    -------
    dict of str to array
        One value a run under the name of each measure.
    """
    even = Curve(times, np.ones(len(times)))
    sampled = even.sampled()
    rows = np.searchsorted(times, np.append(times[0], sampled.times), side="right") - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        values = equity[rows]
        returns = values[1:] / values[:-1] - 1
        mean = add(returns) / len(returns)
        returns -= mean
        spread = np.sqrt(np.einsum("ij,ij->j", returns, returns) / (len(returns) - 1))
        found = {
            "total_return": equity[-1] / equity[0] - 1,
            "volatility": spread * math.sqrt(sampled.per_year),
            "sharpe": np.where(spread > 1e-12 * np.abs(mean), mean / spread, np.nan) * math.sqrt(sampled.per_year),
            "max_drawdown": np.minimum.reduce(equity / np.maximum.accumulate(equity)) - 1,
        }
    # Where nothing is left, or there are few points, the plain form decides.
    few = not even.annualised
    for column in range(equity.shape[1]) if few else np.flatnonzero(np.minimum.reduce(equity) <= 0):
        curve = Curve(times, equity[:, column])
        for name, measured in zip(COLUMN_MEASURES, (total_return, volatility, sharpe, max_drawdown), strict=True):
            found[name][column] = measured(curve)
    return found


def curve_of(
    equity: pd.Series[float], fills: pd.DataFrame | Curve, funding: pd.DataFrame, notional: pd.Series[float]
) -> Curve:
    """Return the frames of a run as arrays.

    Parameters
    ----------
    equity : Series
        Equity in USDC over an increasing UTC index.
    fills : DataFrame or Curve
        Frame of `Results.fills`, or the same as arrays, see `fill_arrays`.
    funding : DataFrame
        Frame of `Results.funding`.
    notional : Series of float
        Sum of position notionals, USDC, 0 or above, on the index of `equity`.
    """
    curve, paid = as_curve(equity), float(funding["payment"].sum())
    made = fills if isinstance(fills, Curve) else fill_arrays(fills)
    return replace(made, times=curve.times, equity=curve.equity, gross=floats(notional), funding=paid)


def _to_annualise(equity: Equity, period: Period) -> Sampled:
    """Return the sampled returns, none if no period is given and the data is too short for yearly numbers."""
    curve = as_curve(equity)
    found = curve.sampled(period)
    return found if period is not None or curve.annualised else found._replace(returns=NOTHING, spread=NAN)
