"""Measures of plain arrays, which `metrics` gives of frames and sweeps take without making any.

Times are int64 Unix ms, increasing; equity is float64 USDC at these times. The formulas stand in `metrics`. Sums are
`np.add.reduce`, which `ndarray.sum` calls after three times as much work as most of a sweep's short arrays need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.float64]

DAY_MS = 86_400_000
YEAR_MS = 365 * DAY_MS
NAN = float("nan")
FEW = 64
"""Up to so many fills one at a time are quicker than arrays."""
add = np.add.reduce
ULP = 4e-16
"""Bound of the relative rounding error of one float addition."""


class Trip(NamedTuple):
    """One position from flat to flat; times as in the fills, amounts in USDC."""

    symbol: str
    side: str
    opened: Any
    closed: Any
    quantity: float
    entry_price: float
    exit_price: float
    gross: float
    fees: float
    net: float


class Curve(NamedTuple):
    """What a run was, as arrays: enough for every measure.

    `times`, `equity`, `gross` (gross notional, USDC ≥ 0) have one value a point; `symbols` (numbers of the symbols),
    `signed` (quantities), `prices` and `fees` one a fill, in order; `funding` is Σ payments (> 0 was received).
    """

    times: Times
    equity: Values
    gross: Values
    symbols: NDArray[np.int64]
    signed: Values
    prices: Values
    fees: Values
    funding: float


def measure(curve: Curve, period_ms: int | None = None, risk_free: float = 0.0) -> dict[str, Any]:
    """Return every measure of `metrics.summary`, by name."""
    times, equity = curve.times, curve.equity
    known = len(equity) > 0
    net = trip_profits(curve)
    fees = float(add(curve.fees))
    profit = float(equity[-1] - equity[0]) if known else 0.0
    leverage = leverages(curve.gross, equity)
    step = sampling_ms(times) if period_ms is None else period_ms
    returns = sampled(times, equity, step)[1]
    spread = deviation(returns)
    highs = peaks(equity)
    depth = drawdown(equity, highs)
    deepest = float(np.fmin.reduce(depth)) if known else NAN
    growth = annual_return(times, equity)
    lasting = held_ms(times)
    mean_equity = time_weighted(equity, lasting)
    return {
        "start": pd.Timestamp(int(times[0]), unit="ms", tz="UTC") if known else pd.NaT,
        "end": pd.Timestamp(int(times[-1]), unit="ms", tz="UTC") if known else pd.NaT,
        "equity_start": float(equity[0]) if known else NAN,
        "equity_end": float(equity[-1]) if known else NAN,
        "profit": profit,
        "total_return": total_return(equity),
        "annual_return": growth,
        "volatility": spread * math.sqrt(per_year(step)),
        "sharpe": sharpe(returns, per_year(step), risk_free, spread),
        "sortino": sortino(returns, per_year(step), risk_free),
        "calmar": growth / -deepest if deepest < 0 else NAN,
        "max_drawdown": deepest,
        "longest_drawdown": pd.Timedelta(longest_drawdown(times, equity, highs), unit="ms"),
        "fills": len(curve.signed),
        "round_trips": len(net),
        "hit_rate": int(np.count_nonzero(net > 0)) / len(net) if len(net) else NAN,
        "profit_factor": profit_factor(net),
        "mean_trip": float(add(net)) / len(net) if len(net) else NAN,
        "turnover": float(add(np.abs(curve.signed * curve.prices))) / mean_equity if mean_equity > 0 else NAN,
        "time_in_market": time_weighted(np.sign(curve.gross), lasting),
        "leverage_mean": time_weighted(leverage, lasting),
        "leverage_max": float(np.maximum.reduce(leverage)) if known else NAN,
        "fees": fees,
        "fee_share": fee_share(profit, fees),
        "funding": curve.funding,
    }


def total_return(equity: Values) -> float:
    """Return E_end / E_start − 1."""
    return float(equity[-1] / equity[0] - 1) if len(equity) and equity[0] > 0 else NAN


def annual_return(times: Times, equity: Values) -> float:
    """Return the compound yearly growth; −1 when nothing is left."""
    total = total_return(equity)
    elapsed = int(times[-1] - times[0]) if len(times) else 0
    if math.isnan(total) or elapsed <= 0:
        return NAN
    if total <= -1:
        return -1.0
    exponent = YEAR_MS / elapsed * math.log1p(total)
    return math.expm1(exponent) if exponent < 700 else math.inf  # expm1 overflows beyond 709


def sampling_ms(times: Times) -> int:
    """Return the spacing at which risk is measured, ms; see `metrics.sampling_period`."""
    spacing = _spacing(times) if len(times) > 1 else DAY_MS
    elapsed = int(times[-1] - times[0]) if len(times) else 0
    if elapsed >= 30 * DAY_MS:
        return max(spacing, DAY_MS)
    return max(spacing, 3_600_000) if elapsed >= 2 * DAY_MS else spacing


def _spacing(times: Times) -> int:
    """Return the median gap of at least two times."""
    gaps = times[1:] - times[:-1]
    # As of most data, and much quicker to see than a median is to find.
    even = np.count_nonzero(gaps == gaps[0]) == len(gaps)
    return int(gaps[0]) if even else int(np.median(gaps))


def evenly(times: Times, most: int) -> int:
    """Return a multiple of the usual spacing, ms, that cuts the times into at most about `most` periods."""
    spacing = _spacing(times) if len(times) > 1 else 0
    return spacing * max(1, math.ceil((times[-1] - times[0]) / spacing / most)) if spacing else 0


def sampled(times: Times, equity: Values, step_ms: int) -> tuple[Times, Values]:
    """Return (times, returns) of the equity sampled every `step_ms`: the last value known at each edge."""
    if len(equity) < 2 or step_ms <= 0:
        return times[:0], equity[:0]
    edges = np.arange(times[0], times[-1] + 1, step_ms, dtype="int64")
    values = equity if np.array_equal(edges, times) else equity[np.searchsorted(times, edges, side="right") - 1]
    before = values[:-1]
    if _positive(values):
        return edges[1:], values[1:] / before - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        returns = np.where(before > 0, values[1:] / before - 1, np.nan)
    known = ~np.isnan(returns)
    return edges[1:][known], returns[known]


def per_year(step_ms: int) -> float:
    """Return the periods a year; NaN without a length."""
    return YEAR_MS / step_ms if step_ms > 0 else NAN


def deviation(returns: Values) -> float:
    """Return the sample standard deviation, with n − 1; NaN of less than two returns."""
    if len(returns) < 2:
        return NAN
    around = returns - add(returns) / len(returns)
    return math.sqrt(float(np.einsum("i,i->", around, around)) / (len(returns) - 1))


def sharpe(returns: Values, periods: float, risk_free: float = 0.0, spread: float | None = None) -> float:
    """Return the yearly Sharpe ratio of returns, `periods` of them a year; NaN without variation.

    `spread` is their deviation, where it is known.
    """
    spread = deviation(returns) if spread is None else spread
    mean = float(add(returns)) / len(returns) if len(returns) else 0.0
    if not spread > 1e-12 * abs(mean):
        return NAN  # all variation is rounding
    return (mean - risk_free / periods) / spread * math.sqrt(periods)


def sortino(returns: Values, periods: float, risk_free: float = 0.0) -> float:
    """Return the yearly Sortino ratio: only losses count as risk."""
    excess = returns - risk_free / periods
    if len(excess) < 2:
        return NAN
    losses = np.minimum(excess, 0.0)
    downside = math.sqrt(float(add(losses * losses)) / len(excess))
    return float(add(excess)) / len(excess) / downside * math.sqrt(periods) if downside > 0 else NAN


def peaks(equity: Values) -> Values:
    """Return the highest equity so far at every point."""
    found: Values = np.fmax.accumulate(equity) if len(equity) else equity
    return found


def drawdown(equity: Values, highs: Values) -> Values:
    """Return E_t / max(E_s, s ≤ t) − 1 at every point; `highs` are its peaks."""
    if _positive(highs):
        return equity / highs - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Values = np.where(highs > 0, equity / highs - 1, np.nan)
    return found


def longest_drawdown(times: Times, equity: Values, highs: Values) -> int:
    """Return the longest time from a high until it is reached again (or the end), ms; 0 without a fall."""
    if not len(equity):
        return 0
    ends = np.flatnonzero(equity >= highs)
    fallen = len(ends) > 0 and ends[-1] != len(equity) - 1
    if fallen:
        ends = np.append(ends, len(equity) - 1)
    falls = ends[1:] - ends[:-1] > 1  # neighbouring highs have no fall between them
    if fallen:
        falls[-1] = True  # after the last high every point is below it
    spans = (times[ends[1:]] - times[ends[:-1]])[falls]
    return int(spans.max()) if len(spans) else 0


def leverages(gross: Values, equity: Values) -> Values:
    """Return gross notional over equity at every point; 0 without equity."""
    if _positive(equity) and _positive(gross + 1):
        return gross / equity
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(equity > 0, gross / equity, 0.0)
    found[~np.isfinite(found)] = 0.0
    return found


def _positive(values: Values) -> bool:
    """Return whether all are positive numbers, as of most runs, which saves the care for what is not."""
    return len(values) > 0 and bool(np.minimum.reduce(values) > 0 and np.maximum.reduce(values) < math.inf)


def held_ms(times: Times) -> Values:
    """Return how long each point lasts, ms: until the next one; the last lasts no time."""
    gaps = np.zeros(len(times))
    gaps[:-1] = times[1:] - times[:-1]
    return gaps


def time_weighted(values: Values, lasting: Values) -> float:
    """Return the mean of values by how long each lasts; the plain mean without time."""
    if not len(values):
        return NAN
    elapsed = add(lasting)
    # Not np.dot: starting the threads of its library takes longer than the sum.
    return float(np.einsum("i,i->", values, lasting) / elapsed if elapsed > 0 else values.mean())


def profit_factor(net: Values) -> float:
    """Return Σ net of winners / |Σ net of losers|; NaN without losers."""
    lost = -float(add(net[net < 0]))
    return float(add(net[net > 0])) / lost if lost > 0 else NAN


def fee_share(net_profit: float, fees: float) -> float:
    """Return fees / (net profit + fees); NaN without a profit before fees."""
    before = net_profit + fees
    return fees / before if before > 0 else NAN


def trip_profits(curve: Curve) -> Values:
    """Return the net of each position from flat to flat: as `round_trips`, of many fills over whole arrays."""
    if len(curve.signed) <= FEW:
        columns = (values.tolist() for values in (curve.symbols, curve.signed, curve.prices, curve.fees))
        fills = ((0, symbol, signed, price, fee) for symbol, signed, price, fee in zip(*columns, strict=True))
        return np.array([trip.net for trip in round_trips(fills)])
    found = []
    for symbol in np.unique(curve.symbols):
        chosen = curve.symbols == symbol
        signed, prices, fees = curve.signed[chosen], curve.prices[chosen], curve.fees[chosen]
        after = np.cumsum(signed)
        after[np.abs(after) < 1e-12 + 2 * ULP * np.cumsum(np.abs(signed))] = 0.0  # what rounding leaves of nothing
        before = np.concatenate([[0.0], after[:-1]])
        ends = (before * after <= 0) & (before != 0)
        # Each fill belongs to the open position; one that flips it is split between that and the next.
        opened = np.where(ends, after, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(ends, np.abs(opened / signed), 0.0)
        trip = np.cumsum(ends) - ends
        own = (opened - signed) * prices - fees * (1 - share)
        rest = -opened * prices - fees * share
        count = int(ends.sum())
        net = np.bincount(trip, own, count + 1) + np.bincount(trip + 1, rest, count + 2)[: count + 1]
        found.append(net[:count])
    return np.concatenate(found) if found else np.zeros(0)


class _OpenTrip:
    """A position that is not flat yet; `tolerance` is what rounding may leave of a closed one."""

    __slots__ = ("entry_value", "exit_value", "fees", "opened", "out", "position", "quantity", "tolerance")

    def __init__(self, opened: Any, tolerance: float) -> None:
        self.opened = opened
        self.tolerance = tolerance
        self.position = self.quantity = self.entry_value = self.exit_value = self.out = self.fees = 0.0

    def finish(self, symbol: str, long: bool, closed: Any) -> Trip:
        gross = (self.exit_value - self.entry_value) * (1.0 if long else -1.0)
        entry, leave = self.entry_value / self.quantity, self.exit_value / self.out
        side = "LONG" if long else "SHORT"
        net = gross - self.fees
        return Trip(symbol, side, self.opened, closed, self.quantity, entry, leave, gross, self.fees, net)


def round_trips(fills: Iterable[tuple[Any, str, float, float, float]]) -> list[Trip]:
    """Return the positions from flat to flat, in the order in which they ended; a flip ends one and begins another."""
    done: list[Trip] = []
    trips: dict[str, _OpenTrip] = {}
    for time, symbol, signed, price, fee in fills:
        size = abs(signed)
        left, per_unit, tolerance = signed, fee / size if size else 0.0, 1e-12 + ULP * size
        trip = trips.get(symbol)
        if trip is not None and trip.position * signed < 0:
            long = trip.position > 0
            closing = min(size, abs(trip.position))
            direction = 1.0 if long else -1.0
            trip.exit_value += closing * price
            trip.out += closing
            trip.fees += closing * per_unit
            trip.position -= direction * closing
            left = signed + direction * closing
            tolerance = trip.tolerance = trip.tolerance + ULP * size
            if abs(trip.position) < tolerance:
                done.append(trips.pop(symbol).finish(symbol, long, time))
                trip = None
            if abs(left) < tolerance:
                continue
        if not left:
            continue
        if trip is None:
            trip = trips[symbol] = _OpenTrip(time, tolerance)
        trip.position += left
        trip.tolerance += ULP * abs(trip.position)
        trip.quantity += abs(left)
        trip.entry_value += abs(left) * price
        trip.fees += abs(left) * per_unit
    return done
