"""Performance measures of a run: pure functions of frames, each with its formula.

`equity` is a Series of USDC over an increasing UTC DatetimeIndex; `fills` and `funding` are the frames of `Results`.
Ratios are plain numbers (0.1 is 10 %). A measure without the data it needs (no trades, no time, no variation) is NaN
rather than 0 or infinity. A year has 365 days, because the venue never closes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from . import curves
from .curves import NAN, fee_share
from .curves import Times as _Times
from .curves import Values as _Values

__all__ = [
    "ROUND_TRIPS", "YEAR", "annual_return", "calmar", "drawdown", "fee_share", "hit_rate", "longest_drawdown",
    "max_drawdown", "profit_factor", "round_trips", "sampled_returns", "sampling_period", "sharpe", "sortino",
    "summary", "time_in_market", "time_weighted", "total_return", "turnover", "volatility",
]  # fmt: skip

YEAR = pd.Timedelta(days=365)


def total_return(equity: pd.Series[float]) -> float:
    """Return E_end / E_start − 1."""
    return curves.total_return(_values(equity))


def annual_return(equity: pd.Series[float]) -> float:
    """Return the compound yearly growth (E_end / E_start) ^ (year / elapsed) − 1; −1 when nothing is left."""
    return curves.annual_return(*_arrays(equity))


def sampling_period(equity: pd.Series[float]) -> pd.Timedelta:
    """Return the spacing at which risk is measured.

    A day for runs of 30 days or more, an hour for 2 days or more, else that of the data; never finer than the data.
    """
    return pd.Timedelta(curves.sampling_ms(_arrays(equity)[0]), unit="ms")


def sampled_returns(equity: pd.Series[float], period: str | pd.Timedelta | None = None) -> pd.Series[float]:
    """Return r_k = E_k / E_(k−1) − 1 with E sampled every `period` (the last value known at each edge).

    The first sample is the start itself. `period` defaults to `sampling_period(equity)`.
    """
    times, returns = curves.sampled(*_arrays(equity), _step(equity, period))
    return pd.Series(returns, index=pd.to_datetime(times, unit="ms", utc=True))


def volatility(equity: pd.Series[float], period: str | pd.Timedelta | None = None) -> float:
    """Return yearly volatility: std(r, ddof=1) · sqrt(periods a year)."""
    returns, periods = _returns(equity, period)
    return float(curves.deviation(returns) * np.sqrt(periods))


def sharpe(equity: pd.Series[float], period: str | pd.Timedelta | None = None, risk_free: float = 0.0) -> float:
    """Return mean(r − f) / std(r, ddof=1) · sqrt(periods a year), with f = `risk_free` a year / periods a year."""
    return curves.sharpe(*_returns(equity, period), risk_free)


def sortino(equity: pd.Series[float], period: str | pd.Timedelta | None = None, risk_free: float = 0.0) -> float:
    """Return mean(r − f) / sqrt(mean(min(r − f, 0)²)) · sqrt(periods a year): only losses count as risk."""
    return curves.sortino(*_returns(equity, period), risk_free)


def drawdown(equity: pd.Series[float]) -> pd.Series[float]:
    """Return E_t / max(E_s, s ≤ t) − 1 for every t: 0 at a high, −0.2 at 20 % below the last one."""
    values = _values(equity)
    return pd.Series(curves.drawdown(values, curves.peaks(values)), index=equity.index, name="drawdown")


def max_drawdown(equity: pd.Series[float]) -> float:
    """Return the deepest drawdown, a number ≤ 0, on every point of the equity curve."""
    return float(drawdown(equity).min()) if len(equity) else NAN


def longest_drawdown(equity: pd.Series[float]) -> pd.Timedelta:
    """Return the longest time from a high until it is reached again (or the end); 0 without a fall."""
    times, values = _arrays(equity)
    return pd.Timedelta(curves.longest_drawdown(times, values, curves.peaks(values)), unit="ms")


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
    times, numbers = _arrays(values)
    return curves.time_weighted(numbers, curves.held_ms(times))


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
    frame = pd.DataFrame(curves.round_trips(_fill_rows(fills)), columns=list(ROUND_TRIPS))
    return frame.astype(ROUND_TRIPS)


def hit_rate(trips: pd.DataFrame) -> float:
    """Return the share of round trips with net > 0."""
    return float((trips["net"] > 0).mean()) if len(trips) else NAN


def profit_factor(trips: pd.DataFrame) -> float:
    """Return Σ net of winners / |Σ net of losers|; NaN without losers."""
    return curves.profit_factor(trips["net"].to_numpy(dtype="float64"))


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
    found = curves.measure(curve_of(equity, fills, funding, notional), span_ms(period), risk_free)
    return pd.Series(found, dtype="object", name="metrics")


def curve_of(
    equity: pd.Series[float], fills: pd.DataFrame, funding: pd.DataFrame, notional: pd.Series[float]
) -> curves.Curve:
    """Return the frames of a run as arrays."""
    times, values = _arrays(equity)
    signed = fills["quantity"].where(fills["side"] == "BUY", -fills["quantity"])
    symbols = pd.factorize(fills["symbol"])[0].astype("int64")
    price, fee, paid = _values(fills["price"]), _values(fills["fee"]), float(funding["payment"].sum())
    return curves.Curve(times, values, _values(notional), symbols, _values(signed), price, fee, paid)


def _fill_rows(fills: pd.DataFrame) -> list[tuple[Any, str, float, float, float]]:
    times, symbols, sides, prices, sizes, fees = (
        fills[name].tolist() for name in ("time", "symbol", "side", "price", "quantity", "fee")
    )
    signed = [size if side == "BUY" else -size for side, size in zip(sides, sizes, strict=True)]
    return list(zip(times, symbols, signed, prices, fees, strict=True))


def _values(series: pd.Series[float]) -> _Values:
    return np.asarray(series, dtype="float64")


def _arrays(series: pd.Series[float]) -> tuple[_Times, _Values]:
    return pd.DatetimeIndex(series.index).as_unit("ms").asi8, _values(series)


def _step(equity: pd.Series[float], period: str | pd.Timedelta | None) -> int:
    step = span_ms(period)
    return curves.sampling_ms(_arrays(equity)[0]) if step is None else step


def _returns(equity: pd.Series[float], period: str | pd.Timedelta | None) -> tuple[_Values, float]:
    step = _step(equity, period)
    return curves.sampled(*_arrays(equity), step)[1], curves.per_year(step)


def span_ms(period: str | pd.Timedelta | None) -> int | None:
    """Return a length of time in ms: "D" and "1D" are a day; None stays None."""
    if period is None:
        return None
    text = f"1{period}" if isinstance(period, str) and period[:1].isalpha() else period
    return int(pd.Timedelta(text) / pd.Timedelta(1, unit="ms"))
