"""Performance measures of a run: pure functions of frames, each with its formula.

`equity` is a Series of USDC over an increasing UTC DatetimeIndex; `fills` and `funding` are the frames of `Results`.
Ratios are plain numbers (0.1 is 10 %). A measure without the data it needs (no trades, no time, no variation) is NaN
rather than 0 or infinity. A year has 365 days, because the venue never closes.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

YEAR = pd.Timedelta(days=365)

NAN = float("nan")

ULP = 4e-16
"""Bound of the relative rounding error of one float addition."""


def total_return(equity: pd.Series[float]) -> float:
    """Return E_end / E_start − 1."""
    if len(equity) == 0 or equity.iloc[0] <= 0:
        return NAN
    return float(equity.iloc[-1] / equity.iloc[0] - 1)


def annual_return(equity: pd.Series[float]) -> float:
    """Return the compound yearly growth (E_end / E_start) ^ (year / elapsed) − 1; −1 when nothing is left."""
    total = total_return(equity)
    elapsed = _elapsed(equity)
    if math.isnan(total) or elapsed <= pd.Timedelta(0):
        return NAN
    if total <= -1:
        return -1.0
    exponent = (YEAR / elapsed) * math.log1p(total)
    return math.expm1(exponent) if exponent < 700 else math.inf  # expm1 overflows beyond 709


def sampling_period(equity: pd.Series[float]) -> pd.Timedelta:
    """Return the spacing at which risk is measured.

    A day for runs of 30 days or more, an hour for 2 days or more, else that of the data; never finer than the data.
    """
    elapsed = _elapsed(equity)
    spacing = pd.Timedelta(equity.index.to_series().diff().median()) if len(equity) > 1 else pd.Timedelta(days=1)
    if elapsed >= pd.Timedelta(days=30):
        return max(spacing, pd.Timedelta(days=1))
    if elapsed >= pd.Timedelta(days=2):
        return max(spacing, pd.Timedelta(hours=1))
    return spacing


def sampled_returns(equity: pd.Series[float], period: str | pd.Timedelta | None = None) -> pd.Series[float]:
    """Return r_k = E_k / E_(k−1) − 1 with E sampled every `period` (the last value known at each edge).

    The first sample is the start itself. `period` defaults to `sampling_period(equity)`.
    """
    if len(equity) < 2:
        return pd.Series([], dtype="float64", index=equity.index[:0])
    step = _span(period) if period is not None else sampling_period(equity)
    edges = pd.date_range(equity.index[0], equity.index[-1], freq=step)
    values = equity.to_numpy(dtype="float64")[equity.index.searchsorted(edges, side="right") - 1]
    before = values[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        returns = np.where(before > 0, values[1:] / before - 1, np.nan)
    return pd.Series(returns, index=edges[1:]).dropna()


def volatility(equity: pd.Series[float], period: str | pd.Timedelta | None = None) -> float:
    """Return yearly volatility: std(r, ddof=1) · sqrt(periods a year)."""
    returns = sampled_returns(equity, period)
    return float(returns.std(ddof=1) * math.sqrt(_per_year(equity, period))) if len(returns) > 1 else NAN


def sharpe(equity: pd.Series[float], period: str | pd.Timedelta | None = None, risk_free: float = 0.0) -> float:
    """Return mean(r − f) / std(r, ddof=1) · sqrt(periods a year), with f = `risk_free` a year / periods a year."""
    returns = sampled_returns(equity, period)
    per_year = _per_year(equity, period)
    deviation = returns.std(ddof=1) if len(returns) > 1 else 0.0
    if not deviation > 1e-12 * abs(returns.mean()):
        return NAN  # all variation is rounding
    return float((returns.mean() - risk_free / per_year) / deviation * math.sqrt(per_year))


def sortino(equity: pd.Series[float], period: str | pd.Timedelta | None = None, risk_free: float = 0.0) -> float:
    """Return mean(r − f) / sqrt(mean(min(r − f, 0)²)) · sqrt(periods a year): only losses count as risk."""
    per_year = _per_year(equity, period)
    excess = sampled_returns(equity, period).to_numpy() - risk_free / per_year
    if len(excess) < 2:
        return NAN
    downside = math.sqrt(float(np.mean(np.minimum(excess, 0.0) ** 2)))
    return float(excess.mean() / downside * math.sqrt(per_year)) if downside > 0 else NAN


def drawdown(equity: pd.Series[float]) -> pd.Series[float]:
    """Return E_t / max(E_s, s ≤ t) − 1 for every t: 0 at a high, −0.2 at 20 % below the last one."""
    highest = equity.cummax()
    return (equity / highest.where(highest > 0) - 1).rename("drawdown")


def max_drawdown(equity: pd.Series[float]) -> float:
    """Return the deepest drawdown, a number ≤ 0, on every point of the equity curve."""
    return float(drawdown(equity).min()) if len(equity) else NAN


def longest_drawdown(equity: pd.Series[float]) -> pd.Timedelta:
    """Return the longest time from a high until it is reached again (or the end); 0 without a fall."""
    if len(equity) == 0:
        return pd.Timedelta(0)
    index, at_high = equity.index, (equity >= equity.cummax()).to_numpy()
    highs = np.flatnonzero(at_high).tolist()
    falls = [(a, b) for a, b in itertools.pairwise(highs) if b > a + 1]
    falls += [(highs[-1], len(equity) - 1)] if len(highs) and not at_high[-1] else []
    return pd.Timedelta(max((index[b] - index[a] for a, b in falls), default=pd.Timedelta(0)))


def calmar(equity: pd.Series[float]) -> float:
    """Return annual return / |max drawdown|."""
    deepest = max_drawdown(equity)
    return annual_return(equity) / -deepest if deepest < 0 else NAN


def turnover(fills: pd.DataFrame, equity: pd.Series[float]) -> float:
    """Return Σ |fill value| / time-weighted mean equity: how often the capital was traded."""
    mean = time_weighted(equity)
    return float(fills["value"].sum() / mean) if mean > 0 else NAN


def time_in_market(notional: pd.Series[float]) -> float:
    """Return the share of time in which |notional| > 0; a point counts until the next one."""
    return time_weighted((notional.abs() > 0).astype("float64"))


def time_weighted(values: pd.Series[float]) -> float:
    """Return Σ x_k·(t_(k+1) − t_k) / (t_end − t_start); the plain mean where no time passes."""
    if len(values) == 0:
        return NAN
    gaps = np.diff(pd.DatetimeIndex(values.index).asi8).astype("float64")
    if gaps.sum() <= 0:
        return float(values.mean())
    return float(np.dot(values.to_numpy(dtype="float64")[:-1], gaps) / gaps.sum())


ROUND_TRIPS = {
    "symbol": "str",
    "side": "str",
    "opened": "datetime64[ms, UTC]",
    "closed": "datetime64[ms, UTC]",
    "quantity": "float64",
    "entry_price": "float64",
    "exit_price": "float64",
    "gross": "float64",
    "fees": "float64",
    "net": "float64",
}
"""Columns of `round_trips` and their dtypes."""


def round_trips(fills: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each position from flat to flat of each symbol; a flip ends one and begins another.

    Columns: symbol, side (LONG or SHORT), opened, closed (UTC), quantity (total opened), entry_price, exit_price
    (averages), gross (before fees), fees, net = gross − fees; USDC. A flip's fee is split by quantity. A
    position open at the end is left out, and so is funding, which belongs to time rather than to trades.
    """
    done: list[dict[str, Any]] = []
    open_trips: dict[str, dict[str, Any]] = {}
    columns = (fills[name].tolist() for name in ("time", "symbol", "side", "price", "quantity", "fee"))
    for time, symbol, side, price, quantity, fee in zip(*columns, strict=True):
        _apply_fill(open_trips, done, time, symbol, quantity if side == "BUY" else -quantity, price, fee)
    frame = pd.DataFrame(done, columns=list(ROUND_TRIPS))
    return frame.astype(ROUND_TRIPS)


def _apply_fill(
    trips: dict[str, dict[str, Any]],
    done: list[dict[str, Any]],
    time: Any,
    symbol: str,
    signed: float,
    price: float,
    fee: float,
) -> None:
    left, per_unit, tolerance = signed, fee / abs(signed) if signed else 0.0, 1e-12 + ULP * abs(signed)
    trip = trips.get(symbol)
    if trip is not None and trip["position"] * signed < 0:
        closing = min(abs(signed), abs(trip["position"]))
        direction = math.copysign(1.0, trip["position"])
        trip["exit_value"] += closing * price
        trip["out"] += closing
        trip["fees"] += closing * per_unit
        trip["position"] -= direction * closing
        left = signed + direction * closing
        tolerance = trip["tolerance"] = trip["tolerance"] + ULP * abs(signed)
        if abs(trip["position"]) < tolerance:
            done.append(_finished(trips.pop(symbol), time))
            trip = None
        if abs(left) < tolerance:
            return
    if not left:
        return
    if trip is None:
        trip = trips[symbol] = {
            "symbol": symbol,
            "direction": math.copysign(1.0, left),
            "opened": time,
            "position": 0.0,
            "quantity": 0.0,
            "entry_value": 0.0,
            "exit_value": 0.0,
            "out": 0.0,
            "fees": 0.0,
            "tolerance": tolerance,  # what rounding may leave of a closed position
        }
    trip["position"] += left
    trip["tolerance"] += ULP * abs(trip["position"])
    trip["quantity"] += abs(left)
    trip["entry_value"] += abs(left) * price
    trip["fees"] += abs(left) * per_unit


def _finished(trip: dict[str, Any], time: Any) -> dict[str, Any]:
    gross = trip["direction"] * (trip["exit_value"] - trip["entry_value"])
    return {
        "symbol": trip["symbol"],
        "side": "LONG" if trip["direction"] > 0 else "SHORT",
        "opened": trip["opened"],
        "closed": time,
        "quantity": trip["quantity"],
        "entry_price": trip["entry_value"] / trip["quantity"],
        "exit_price": trip["exit_value"] / trip["out"],
        "gross": gross,
        "fees": trip["fees"],
        "net": gross - trip["fees"],
    }


def hit_rate(trips: pd.DataFrame) -> float:
    """Return the share of round trips with net > 0."""
    return float((trips["net"] > 0).mean()) if len(trips) else NAN


def profit_factor(trips: pd.DataFrame) -> float:
    """Return Σ net of winners / |Σ net of losers|; NaN without losers."""
    lost = -float(trips.loc[trips["net"] < 0, "net"].sum())
    return float(trips.loc[trips["net"] > 0, "net"].sum()) / lost if lost > 0 else NAN


def fee_share(net_profit: float, fees: float) -> float:
    """Return fees / (net profit + fees), the share of fees in the profit before fees; NaN without such a profit."""
    before = net_profit + fees
    return fees / before if before > 0 else NAN


def summary(
    equity: pd.Series[float],
    fills: pd.DataFrame,
    funding: pd.DataFrame,
    notional: pd.Series[float],
    *,
    period: str | pd.Timedelta | None = None,
    risk_free: float = 0.0,
) -> pd.Series[Any]:
    """Return every measure of this module as one Series.

    `notional` is the gross position notional (USDC ≥ 0) on the index of `equity`. Amounts are USDC; `funding` is
    positive when received, negative when paid; `leverage_mean` and `leverage_max` are gross notional / equity.
    """
    trips = round_trips(fills)
    fees = float(fills["fee"].sum())
    profit = float(equity.iloc[-1] - equity.iloc[0]) if len(equity) else 0.0
    leverage = (notional / equity.where(equity > 0)).replace([np.inf, -np.inf], np.nan).fillna(0.0)
    values: dict[str, Any] = {
        "start": equity.index[0] if len(equity) else pd.NaT,
        "end": equity.index[-1] if len(equity) else pd.NaT,
        "equity_start": float(equity.iloc[0]) if len(equity) else NAN,
        "equity_end": float(equity.iloc[-1]) if len(equity) else NAN,
        "profit": profit,
        "total_return": total_return(equity),
        "annual_return": annual_return(equity),
        "volatility": volatility(equity, period),
        "sharpe": sharpe(equity, period, risk_free),
        "sortino": sortino(equity, period, risk_free),
        "calmar": calmar(equity),
        "max_drawdown": max_drawdown(equity),
        "longest_drawdown": longest_drawdown(equity),
        "fills": len(fills),
        "round_trips": len(trips),
        "hit_rate": hit_rate(trips),
        "profit_factor": profit_factor(trips),
        "mean_trip": float(trips["net"].mean()) if len(trips) else NAN,
        "turnover": turnover(fills, equity),
        "time_in_market": time_in_market(notional),
        "leverage_mean": time_weighted(leverage),
        "leverage_max": float(leverage.max()) if len(leverage) else NAN,
        "fees": fees,
        "fee_share": fee_share(profit, fees),
        "funding": float(funding["payment"].sum()),
    }
    return pd.Series(values, dtype="object", name="metrics")


def _elapsed(equity: pd.Series[float]) -> pd.Timedelta:
    return pd.Timedelta(equity.index[-1] - equity.index[0]) if len(equity) else pd.Timedelta(0)


def _per_year(equity: pd.Series[float], period: str | pd.Timedelta | None) -> float:
    step = _span(period) if period is not None else sampling_period(equity)
    return float(YEAR / step) if step > pd.Timedelta(0) else NAN


def _span(period: str | pd.Timedelta) -> pd.Timedelta:
    return pd.Timedelta(f"1{period}" if isinstance(period, str) and period[:1].isalpha() else period)
