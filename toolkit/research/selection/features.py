"""Features against forward returns: information coefficients, quantiles, turnover and the cost at which an edge ends.

Each feature is compared with the return of the next bars by product, over time. Observations whose returns overlap are
not independent. Intervals therefore count the covariance of neighbours, by Newey and West, Econometrica 55, 1987, over
three horizons. They are wider by what the estimate of that covariance adds, by Kiefer and Vogelsang, Econometric Theory
21, 2005. Products of one time move together, so that their observations of it count as one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError
from ...extras import need
from ...numerals import Span
from ..analysis.measures.numbers import Values
from ..data.bars import Bars, read_bars
from ..market_data import span_ms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Study", "study"]

FEWEST = 30
"""Observations below which a feature has no coefficient."""


@dataclass(frozen=True)
class Study:
    """How features and forward returns belong together.

    Parameters
    ----------
    table : DataFrame
        One row a feature and horizon, see `study`.
    quantiles : DataFrame
        Mean forward return (bp) of each quantile, one row a feature and horizon, from the lowest values to the highest.
    """

    table: pd.DataFrame
    quantiles: pd.DataFrame

    def plot(self) -> Figure:
        """Draw rank IC by horizon with its interval, the returns of the quantiles, turnover and break-even cost.

        Returns
        -------
        matplotlib Figure
            The picture, a row a feature.

        Raises
        ------
        MissingPackage
            Without matplotlib.

        Examples
        --------
        >>> momentum = bars["close"].pct_change(5).rename("momentum")
        >>> len(research.features.study(momentum, bars, horizons=("1h", "4h")).plot().axes)
        4
        """
        need("matplotlib")
        from matplotlib import pyplot

        names = list(dict.fromkeys(self.table.index.get_level_values("feature")))
        page, grid = pyplot.subplots(len(names), 4, figsize=(15, 3 * len(names)), squeeze=False, layout="constrained")
        pyplot.close(page)
        for (left, middle, *others), name in zip(grid, names, strict=True):
            rows, means = self.table.loc[name], self.quantiles.loc[name]
            spans = rows["rank_ic"] - rows["rank_ic_low"], rows["rank_ic_high"] - rows["rank_ic"]
            left.errorbar(range(len(rows)), rows["rank_ic"], yerr=spans, fmt="o-", capsize=4)
            left.set_xticks(range(len(rows)), list(rows.index))
            left.set_title(f"{name}: rank IC and its interval", loc="left")
            means.T.plot.bar(ax=middle, rot=0, xlabel="group")
            middle.set_title("return by group, bp", loc="left")
            for panel, column, title in zip(
                others, ("turnover", "break_even_bp"), ("turnover", "break-even, bp"), strict=True
            ):
                panel.bar(list(rows.index), rows[column])
                panel.set_title(title, loc="left")
            for panel in (left, middle, *others):
                panel.axhline(0, color="grey", linewidth=0.8)
            for panel in (left, *others):
                panel.set_xlabel("horizon")
        return page


def study(
    features: pd.DataFrame | pd.Series | Mapping[str, pd.DataFrame | pd.Series],
    data: object,
    horizons: Sequence[Span] = ("1h", "4h", "1d"),
    *,
    quantiles: int = 5,
    confidence: float = 0.9,
) -> Study:
    """Compare features with the returns that follow.

    A value under the start of a bar belongs to that bar, as in frames of candles, and is known at its close. There the
    forward return begins.

    Parameters
    ----------
    features : DataFrame, Series or mapping
        A column for each feature, over UTC times. For several products a mapping symbol → such a frame.
    data : History, DataFrame or mapping
        Bars, as `backtest` takes them.
    horizons : sequence of str or Timedelta, optional
        Lengths of the forward returns, multiples of the bars' (default: "1h", "4h", "1d").
    quantiles : int, optional
        Number of groups of equal size, by the feature (default: 5).
    confidence : float, optional
        Share of the intervals, from 0 to 1 (default: 0.9).

    Returns
    -------
    Study
        Its `table` has a row for each feature and horizon, `quantiles` the mean returns of the groups:

        - ic, ic_low, ic_high: float64, correlation with the forward return, and its interval
        - rank_ic, rank_ic_low, rank_ic_high: float64, that of the ranks
        - spread_bp: float64, return of the highest group less that of the lowest, bp
        - turnover: float64, part of the highest and lowest groups that is exchanged within a horizon, a ratio
        - break_even_bp: float64, cost of a trade at which the spread is gone, bp
        - observations: int64, values that have a forward return

    Raises
    ------
    InputError
        For features of a symbol that the data lacks, without times, or of fewer than 30 observations.

    Examples
    --------
    >>> momentum = bars["close"].pct_change(5).rename("momentum")
    >>> found = research.features.study(momentum, bars, horizons=("1h", "4h"))
    >>> found.table[["rank_ic", "observations"]].round(3).values.tolist()
    [[-0.009, 194.0], [-0.073, 191.0]]
    """
    series, rows, groups = read_bars(data), dict[tuple[str, str], Any](), dict[tuple[str, str], Any]()
    given = features if isinstance(features, Mapping) else {next(iter(series)): features}
    if unknown := [symbol for symbol in given if symbol not in series]:
        raise InputError(f"there are features of {unknown[0]}, but no bars", field="features", value=unknown[0])
    tables = {symbol: part.to_frame() if isinstance(part, pd.Series) else part for symbol, part in given.items()}
    for name in dict.fromkeys(str(name) for part in tables.values() for name in part):
        for horizon in horizons:
            pairs, steps = [], 1
            for symbol, part in tables.items():
                bars = series[symbol]
                steps = max(round(span_ms(horizon, "horizons") / bars.interval), 1)
                pairs.append(_pairs(part[name], bars, steps))
            x, y, times = (np.concatenate(each) for each in zip(*pairs, strict=True))
            if len(x) < FEWEST:
                text = f"{name} has {len(x)} values with a return over {horizon}, but needs {FEWEST}"
                raise InputError(text, field="features", rule="observations", value=len(x))
            ends = np.cumsum([len(each) for each, _, _ in pairs])
            key = name, str(horizon)
            rows[key], groups[key] = _measured(x, y, times, ends, steps, quantiles, confidence)
    index = pd.MultiIndex.from_tuples(list(rows), names=["feature", "horizon"])
    return Study(pd.DataFrame(list(rows.values()), index=index), pd.DataFrame(list(groups.values()), index=index))


def _pairs(values: pd.Series, bars: Bars, steps: int) -> tuple[Values, Values, NDArray[np.int64]]:
    """Return the values of a feature that are known at a close, the returns after it, and the times (Unix ms)."""
    if not isinstance(values.index, pd.DatetimeIndex):
        raise InputError("features have no times. Use a DatetimeIndex", field="features", rule="times")
    times = pd.DatetimeIndex(pd.to_datetime(values.index, utc=True)).as_unit("ms").asi8
    # A feature of a bar is stamped with its start, as bars are, and known at its close.
    at = np.searchsorted(bars.opened, times)
    exact = (at + steps < len(bars)) & (bars.opened[np.minimum(at, len(bars) - 1)] == times)
    at, x = at[exact], values.to_numpy(dtype="float64")[exact]
    y = bars.close[at + steps] / bars.close[at] - 1
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known], bars.opened[at[known]]


def _measured(
    x: Values,
    y: Values,
    times: NDArray[np.int64],
    ends: NDArray[np.int64],
    steps: int,
    quantiles: int,
    confidence: float,
) -> tuple[dict[str, float], dict[int, float]]:
    found: dict[str, float] = {}
    for name, pair in (("ic", (x, y)), ("rank_ic", (_ranks(x), _ranks(y)))):
        value, error = _correlation(*pair, times, steps)
        wide = NormalDist().inv_cdf((1 + confidence) / 2) * error
        found |= {name: value, f"{name}_low": value - wide, f"{name}_high": value + wide}
    group = np.minimum((_ranks(x) - 1) * quantiles // len(x), quantiles - 1)
    means = {number + 1: float(y[group == number].mean() * 10_000) for number in range(quantiles)}
    held = (group == quantiles - 1).astype(int) - (group == 0).astype(int)
    # Each product on its own: the end of one is not traded for the beginning of the next.
    traded = sum(int(np.abs(part[steps:] - part[:-steps]).sum()) for part in np.split(held, ends[:-1]))
    turned = traded / max(int(np.abs(held).sum()), 1)
    spread = means[quantiles] - means[1]
    found |= {"spread_bp": spread, "turnover": turned, "break_even_bp": spread / (2 * turned) if turned else math.nan}
    return {**found, "observations": len(x)}, means


def _ranks(values: Values) -> Values:
    return np.asarray(pd.Series(values).rank(), dtype="float64")


def _correlation(x: Values, y: Values, times: NDArray[np.int64], steps: int) -> tuple[float, float]:
    """Return a correlation and its standard error, with the covariance of neighbours that share a return."""
    if not (x.std() > 0 and y.std() > 0):
        return math.nan, math.nan
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    value = float((a * b).mean())
    # The influence of each observation, together for all products of one time.
    around = np.bincount(np.unique(times, return_inverse=True)[1], a * b - value * (a * a + b * b) / 2)
    count = len(around)
    lags = min(max(3 * steps, round(count ** (1 / 3))), count - 1)
    variance = float(around @ around) + 2 * sum(
        (1 - lag / (lags + 1)) * float(around[lag:] @ around[:-lag]) for lag in range(1, lags + 1)
    )
    part = lags / count
    wider = 1 + (2.1859 * part + 0.3142 * part**2 - 0.3427 * part**3) / 1.6449
    return value, math.sqrt(max(variance, 0.0)) / len(x) * wider
