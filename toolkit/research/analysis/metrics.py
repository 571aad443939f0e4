"""Performance measures of a run: pure functions, each with its formula.

`equity` is a Series of USDC over an increasing UTC DatetimeIndex. `fills` and `funding` are the frames of `Results`.
Each measure also takes a `Curve`, the arrays of a run, from which sweeps measure without making a frame.
Ratios are plain numbers (0.1 is 10 %). A measure without the data it needs (no trades, no time, no variation) is NaN
rather than 0 or infinity. A year has 365 days, because the venue never closes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..market_data import span_ms

__all__ = [
    "ROUND_TRIPS", "YEAR", "annual_return", "calmar", "drawdown", "fee_share", "hit_rate", "longest_drawdown",
    "max_drawdown", "profit_factor", "round_trips", "sampled_returns", "sampling_period", "sharpe", "sortino",
    "summary", "time_in_market", "time_weighted", "total_return", "turnover", "volatility",
]  # fmt: skip

Times = NDArray[np.int64]
"""Unix ms, increasing."""
Values = NDArray[np.float64]
Period = str | pd.Timedelta | None

YEAR = pd.Timedelta(days=365)
DAY_MS = 86_400_000
YEAR_MS = 365 * DAY_MS
NAN = float("nan")
# ndarray.sum calls this too, after three times as much work as most of a sweep's short arrays need.
add = np.add.reduce
ULP = 4e-16
"""Bound of the relative rounding error of one float addition."""
NOTHING: Values = np.zeros(0)
NUMBERLESS: NDArray[np.int64] = np.zeros(0, dtype="int64")


class Sampled(NamedTuple):
    """Returns at equal distances.

    Attributes
    ----------
    times : array of int64, shape (n,)
        End of each period, Unix ms.
    returns : array of float64, shape (n,)
        Return of each period, a ratio.
    per_year : float
        Periods per year of 365 days.
    spread : float
        Sample standard deviation of the returns.
    """

    times: Times
    returns: Values
    per_year: float
    spread: float


@dataclass(eq=False)
class Curve:
    """The arrays of a run, enough for every measure. Values that several measures need are computed once.

    Parameters
    ----------
    times : array of int64, shape (n,)
        Time of each point, Unix ms, increasing.
    equity : array of float64, shape (n,)
        Equity at each point, USDC.
    gross : array of float64, shape (n,), optional
        Sum of position notionals at each point, USDC, 0 or above (default: none).
    symbols : array of int64, optional
        Number of the symbol of each fill, in order (default: none).
    signed : array of float64, shape (n,), optional
        Quantity of each fill, base units, negative for sales (default: none).
    prices : array of float64, shape (n,), optional
        Price of each fill, USDC (default: none).
    fees : array of float64, shape (n,), optional
        Fee of each fill, USDC, above 0 if paid (default: none).
    funding : float, optional
        Sum of funding payments, USDC, above 0 if received (default: 0).
    """

    times: Times
    equity: Values
    gross: Values = field(default_factory=NOTHING.copy)
    symbols: NDArray[np.int64] = field(default_factory=NUMBERLESS.copy)
    signed: Values = field(default_factory=NOTHING.copy)
    prices: Values = field(default_factory=NOTHING.copy)
    fees: Values = field(default_factory=NOTHING.copy)
    funding: float = 0.0
    _sampled: dict[int, Sampled] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def spacing_ms(self) -> int:
        """The usual distance of two points, ms: the median gap, 0 with fewer than two."""
        if len(self.times) < 2:
            return 0
        gaps = self.times[1:] - self.times[:-1]
        # Most data is even, and to see that is much quicker than to find a median.
        even = np.count_nonzero(gaps == gaps[0]) == len(gaps)
        return int(gaps[0]) if even else int(np.median(gaps))

    @property
    def sampling_ms(self) -> int:
        """The spacing at which risk is measured, ms. See `sampling_period`."""
        spacing = self.spacing_ms
        if self.elapsed_ms >= 30 * DAY_MS:
            return max(spacing, DAY_MS)
        return max(spacing, 3_600_000) if self.elapsed_ms >= 2 * DAY_MS else spacing

    @property
    def elapsed_ms(self) -> int:
        """The time from the first point to the last, ms."""
        return int(self.times[-1] - self.times[0]) if len(self.times) else 0

    @cached_property
    def highs(self) -> Values:
        """The highest equity so far at every point."""
        return np.fmax.accumulate(self.equity)

    @cached_property
    def depths(self) -> Values:
        """The drawdown at every point."""
        return _over(self.equity, self.highs) - 1

    @cached_property
    def lasting(self) -> Values:
        """How long each point lasts, ms: until the next one. The last lasts no time."""
        gaps = np.zeros(len(self.times))
        gaps[:-1] = self.times[1:] - self.times[:-1]
        return gaps

    def leverage(self) -> Values:
        """Return gross notional over equity at every point, 0 without equity."""
        found = _over(self.gross, self.equity)
        return found if _positive(found + 1) else np.nan_to_num(found, posinf=0.0, neginf=0.0)

    def sampled(self, period: Period = None) -> Sampled:
        """Return the returns of the equity, sampled at equal distances: the last value known at each edge.

        Parameters
        ----------
        period : str or Timedelta, optional
            Spacing of the returns, such as "1D" (default: `sampling_ms`).
        """
        return self.sampled_every(self.sampling_ms if period is None else span_ms(period, "period"))

    def sampled_every(self, step_ms: int) -> Sampled:
        """Return `sampled` for a period in ms.

        Parameters
        ----------
        step_ms : int
            Spacing of the returns, ms. 0 gives no returns.
        """
        if step_ms not in self._sampled:
            times, returns = self._returns(step_ms)
            per_year = YEAR_MS / step_ms if step_ms > 0 else NAN
            self._sampled[step_ms] = Sampled(times, returns, per_year, deviation(returns))
        return self._sampled[step_ms]

    def _returns(self, step_ms: int) -> tuple[Times, Values]:
        times, equity = self.times, self.equity
        if len(equity) < 2 or step_ms <= 0:
            return times[:0], equity[:0]
        edges = np.arange(times[0], times[-1] + 1, step_ms, dtype="int64")
        values = equity if np.array_equal(edges, times) else equity[np.searchsorted(times, edges, side="right") - 1]
        returns = _over(values[1:], values[:-1]) - 1
        if _positive(values):
            return edges[1:], returns
        known = ~np.isnan(returns)
        return edges[1:][known], returns[known]

    def periods_ms(self, most: int) -> int:
        """Return a multiple of the usual spacing, ms, that cuts the time into at most about so many periods.

        Parameters
        ----------
        most : int
            Number of periods.
        """
        return self.spacing_ms * max(1, math.ceil(self.elapsed_ms / self.spacing_ms / most)) if self.spacing_ms else 0


Equity = pd.Series | Curve


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
    values = _curve(equity).equity
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
        Ratio, −1 if nothing is left, NaN if no time passes.

    Examples
    --------
    >>> round(metrics.annual_return(run.growth), 4)
    2.051
    """
    curve = _curve(equity)
    total = total_return(curve)
    if math.isnan(total) or curve.elapsed_ms <= 0:
        return NAN
    if total <= -1:
        return -1.0
    # Logarithms, because the power of a short run with a large return would overflow.
    exponent = YEAR_MS / curve.elapsed_ms * math.log1p(total)
    return math.expm1(exponent) if exponent < 700 else math.inf  # expm1 overflows beyond 709


def sampling_period(equity: Equity) -> pd.Timedelta:
    """Return the spacing at which risk is measured.

    It is a day for runs of 30 days or more, an hour for 2 days or more, else that of the data. It is never finer than
    the data.

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
    return pd.Timedelta(_curve(equity).sampling_ms, unit="ms")


def sampled_returns(equity: Equity, period: Period = None) -> pd.Series[float]:
    """Return r_k = E_k / E_(k−1) − 1 of equity sampled at equal distances: the last value known at each edge.

    The first sample is the start itself.

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
    found = _curve(equity).sampled(period)
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
        Ratio per year, NaN with fewer than two returns.

    Examples
    --------
    >>> round(metrics.volatility(run.growth), 3)
    0.287
    """
    found = _curve(equity).sampled(period)
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
    found = _curve(equity).sampled(period)
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
    found = _curve(equity).sampled(period)
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
    return pd.Series(_curve(equity).depths, index=equity.index, name="drawdown")


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
    depths = _curve(equity).depths
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
    curve = _curve(equity)
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
    curve = _curve(equity)
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
    curve = _curve(values)
    return _mean(curve.equity, curve.lasting)


ROUND_TRIPS = {
    **dict.fromkeys(("symbol", "side"), "str"),
    **dict.fromkeys(("opened", "closed"), "datetime64[ms, UTC]"),
    **dict.fromkeys(("quantity", "entry_price", "exit_price", "gross", "fees", "net"), "float64"),
}
"""Columns of `round_trips` and their dtypes."""


def round_trips(fills: pd.DataFrame) -> pd.DataFrame:
    """Return each position from flat to flat of each symbol. A flip ends one and begins another.

    A flip's fee is split by quantity. A position open at the end is left out, and so is funding, which belongs to time
    rather than to trades.

    Parameters
    ----------
    fills : DataFrame
        Frame of `Results.fills`.

    Returns
    -------
    DataFrame
        One row a round trip, in the order in which they ended:

        - symbol: str
        - side: str, LONG or SHORT
        - opened, closed: datetime64[ms, UTC]
        - quantity: float64, total opened, base units
        - entry_price, exit_price: float64, averages, USDC
        - gross: float64, profit before fees, USDC
        - fees: float64, USDC
        - net: float64, gross − fees, USDC

    Examples
    --------
    >>> metrics.round_trips(run.fills)["side"].value_counts().to_dict()
    {'LONG': 6, 'SHORT': 6}
    """
    found = [np.zeros((9, 0))]
    for trips in _trips(_fill_arrays(fills)):
        closing = trips.before * trips.signed < 0
        sizes = np.abs(trips.signed - trips.opened)  # what an ending fill opens counts for the next trip
        opens, closes, carried = np.where(closing, 0.0, sizes), np.where(closing, sizes, 0.0), np.abs(trips.opened)
        quantity, entry = (trips.total(opens * price, carried * price) for price in (1.0, trips.prices))
        closed, leave = (trips.total(closes * price) for price in (1.0, trips.prices))
        fees = trips.total(*(trips.fees * part / trips.signed for part in (trips.signed - trips.opened, trips.opened)))
        long = np.sign(trips.before[trips.lasts])
        gross = (leave - entry) * long
        begins = trips.firsts - np.append(False, trips.opened[trips.lasts[:-1]] != 0)
        amounts = quantity, entry / quantity, leave / closed, gross, fees, gross - fees
        found.append(np.stack([trips.rows[begins], trips.rows[trips.lasts], long, *amounts]))
    table = np.concatenate(found, axis=1)
    opened, ended, long, *columns = table[:, np.argsort(table[1], kind="stable")]  # in the order in which they ended
    first, last = opened.astype("int64"), ended.astype("int64")
    made = {
        "symbol": fills["symbol"].to_numpy()[last],
        "side": np.where(long > 0, "LONG", "SHORT"),
        "opened": fills["time"].array[first],
        "closed": fills["time"].array[last],
        **dict(zip(list(ROUND_TRIPS)[4:], columns, strict=True)),
    }
    return pd.DataFrame(made).astype(ROUND_TRIPS)


def hit_rate(trips: pd.DataFrame | Values) -> float:
    """Return the share of round trips with a profit after fees.

    Parameters
    ----------
    trips : DataFrame or array of float64
        Frame of `round_trips`, or the net profit of each trip, USDC.

    Returns
    -------
    float
        Ratio from 0 to 1, NaN without trips.

    Examples
    --------
    >>> round(metrics.hit_rate(run.round_trips), 3)
    0.583
    """
    net = _net(trips)
    return int(np.count_nonzero(net > 0)) / len(net) if len(net) else NAN


def profit_factor(trips: pd.DataFrame | Values) -> float:
    """Return Σ net of winners / Σ abs(net of losers).

    Parameters
    ----------
    trips : DataFrame or array of float64
        Frame of `round_trips`, or the net profit of each trip, USDC.

    Returns
    -------
    float
        Ratio, NaN without losers.

    Examples
    --------
    >>> round(metrics.profit_factor(run.round_trips), 3)
    1.983
    """
    net = _net(trips)
    lost = -float(add(net[net < 0]))
    return float(add(net[net > 0])) / lost if lost > 0 else NAN


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
        Measures by name. Amounts are USDC, ratios plain numbers, times UTC.

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
    known = len(equity) > 0
    net = trip_profits(curve)
    fees = float(add(curve.fees))
    profit = float(equity[-1] - equity[0]) if known else 0.0
    leverage = curve.leverage()
    return {
        "start": pd.Timestamp(int(times[0]), unit="ms", tz="UTC") if known else pd.NaT,
        "end": pd.Timestamp(int(times[-1]), unit="ms", tz="UTC") if known else pd.NaT,
        "equity_start": float(equity[0]) if known else NAN,
        "equity_end": float(equity[-1]) if known else NAN,
        "profit": profit,
        "total_return": total_return(curve),
        "annual_return": annual_return(curve),
        "volatility": volatility(curve, period),
        "sharpe": sharpe(curve, period, risk_free),
        "sortino": sortino(curve, period, risk_free),
        "calmar": calmar(curve),
        "max_drawdown": max_drawdown(curve),
        "longest_drawdown": longest_drawdown(curve),
        "fills": len(curve.signed),
        "round_trips": len(net),
        "hit_rate": hit_rate(net),
        "profit_factor": profit_factor(net),
        "mean_trip": float(add(net)) / len(net) if len(net) else NAN,
        "turnover": turnover(curve, curve),
        "time_in_market": _mean(np.sign(curve.gross), curve.lasting),
        "leverage_mean": _mean(leverage, curve.lasting),
        "leverage_max": float(np.maximum.reduce(leverage)) if known else NAN,
        "fees": fees,
        "fee_share": fee_share(profit, fees),
        "funding": curve.funding,
    }


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
    sampled = Curve(times, np.ones(len(times))).sampled()
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
    few = len(returns) < 2
    for column in range(equity.shape[1]) if few else np.flatnonzero(np.minimum.reduce(equity) <= 0):
        curve = Curve(times, equity[:, column])
        for name, measured in zip(COLUMN_MEASURES, (total_return, volatility, sharpe, max_drawdown), strict=True):
            found[name][column] = measured(curve)
    return found


def curve_of(equity: pd.Series[float], fills: pd.DataFrame, funding: pd.DataFrame, notional: pd.Series[float]) -> Curve:
    """Return the frames of a run as arrays.

    Parameters
    ----------
    equity : Series
        Equity in USDC over an increasing UTC index.
    fills : DataFrame
        Frame of `Results.fills`.
    funding : DataFrame
        Frame of `Results.funding`.
    notional : Series of float
        Sum of position notionals, USDC, 0 or above, on the index of `equity`.
    """
    curve, paid = _curve(equity), float(funding["payment"].sum())
    return replace(_fill_arrays(fills), times=curve.times, equity=curve.equity, gross=_values(notional), funding=paid)


def trip_profits(curve: Curve) -> Values:
    """Return the net of each position from flat to flat, symbol by symbol. See `round_trips`.

    Parameters
    ----------
    curve : Curve
        The arrays of the run.
    """
    found = [trips.nets for trips in _trips(curve)]
    return np.concatenate(found) if found else NOTHING


def deviation(returns: Values) -> float:
    """Return the sample standard deviation, with n − 1. NaN of fewer than two returns.

    Parameters
    ----------
    returns : array of float64, shape (n,)
        Returns of each period, ratios.
    """
    if len(returns) < 2:
        return NAN
    around = returns - add(returns) / len(returns)
    return math.sqrt(float(np.einsum("i,i->", around, around)) / (len(returns) - 1))


def ratio(returns: Values, spread: float, risk_free: float = 0.0) -> float:
    """Return the Sharpe ratio of one period, NaN without variation.

    Parameters
    ----------
    returns : array of float64, shape (n,)
        Returns of each period, ratios.
    spread : float
        Standard deviation of the returns.
    risk_free : float, optional
        Rate of a riskless investment of one period, a ratio (default: 0).
    """
    mean = float(add(returns)) / len(returns) if len(returns) else 0.0
    if not spread > 1e-12 * abs(mean):
        return NAN  # all variation is rounding
    return (mean - risk_free) / spread


class _Trips(NamedTuple):
    """The fills of one symbol, divided into trips: each ends with the fill that closes the position or flips it.

    `rows` are the fills' numbers, `before` the position before each, `opened` the quantity that a fill opens after it
    has closed the position, which belongs to the next trip. `firsts` and `lasts` are the ends of the trips.
    """

    rows: NDArray[np.int64]
    signed: Values
    prices: Values
    fees: Values
    before: Values
    opened: Values
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]

    def total(self, amounts: Values, carried: Values | None = None) -> Values:
        """Return the sum of each trip.

        Parameters
        ----------
        amounts : array of float64, shape (n,)
            Amount of each fill, in any unit.
        carried : array of float64, shape (n,), optional
            Parts of ending fills that belong to the next trip, one a fill (default: none).
        """
        found: Values = np.add.reduceat(amounts[: self.lasts[-1] + 1], self.firsts)
        if carried is not None:
            found[1:] += carried[self.lasts[:-1]]
        return found

    @property
    def nets(self) -> Values:
        """Gain of each trip after fees: the amount received less the amount paid, for longs and shorts alike."""
        paid = self.prices + self.fees / self.signed
        return self.total((self.opened - self.signed) * paid, -self.opened * paid)


def _trips(fills: Curve) -> Iterator[_Trips]:
    """Yield the fills of each symbol that has a finished trip."""
    for symbol in np.unique(fills.symbols):
        rows = np.flatnonzero((fills.symbols == symbol) & (fills.signed != 0))
        signed = fills.signed[rows]
        after = np.cumsum(signed)
        after[np.abs(after) < 1e-12 + 2 * ULP * np.cumsum(np.abs(signed))] = 0.0  # what rounding leaves of nothing
        before = np.concatenate([[0.0], after[:-1]])
        ends = (before * after <= 0) & (before != 0)
        lasts = np.flatnonzero(ends)
        if len(lasts):
            firsts = np.concatenate([[0], lasts[:-1] + 1])
            opened = np.where(ends, after, 0.0)
            yield _Trips(rows, signed, fills.prices[rows], fills.fees[rows], before, opened, firsts, lasts)


def _fill_arrays(fills: pd.DataFrame) -> Curve:
    """Return fills as the arrays of a curve without points."""
    signed = fills["quantity"].where(fills["side"] == "BUY", -fills["quantity"])
    symbols = pd.factorize(fills["symbol"])[0].astype("int64")
    traded = symbols, _values(signed), _values(fills["price"]), _values(fills["fee"])
    return Curve(NUMBERLESS, NOTHING, NOTHING, *traded)


def _net(trips: pd.DataFrame | Values) -> Values:
    return trips if isinstance(trips, np.ndarray) else _values(trips["net"])


def _curve(equity: Equity) -> Curve:
    if isinstance(equity, Curve):
        return equity
    return Curve(pd.DatetimeIndex(equity.index).as_unit("ms").asi8, _values(equity))


def _values(series: pd.Series[float]) -> Values:
    return np.asarray(series, dtype="float64")


def _mean(values: Values, lasting: Values) -> float:
    """Return the mean of values by how long each lasts, the plain mean without time."""
    if not len(values):
        return NAN
    elapsed = add(lasting)
    # Not np.dot: starting the threads of its library takes longer than the sum.
    return float(np.einsum("i,i->", values, lasting) / elapsed if elapsed > 0 else values.mean())


def _over(values: Values, base: Values) -> Values:
    """Return values / base, NaN where the base is not above 0."""
    if _positive(base):
        return values / base
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(base > 0, values / base, np.nan)


def _positive(values: Values) -> bool:
    """Return whether all are positive numbers, as in most runs, so that special cases can be skipped."""
    return len(values) > 0 and bool(np.minimum.reduce(values) > 0 and np.maximum.reduce(values) < math.inf)
