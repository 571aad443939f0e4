"""Formulas of prices and returns: ratios of gains and losses, autocorrelation, and the size of a bet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


def as_floats(values: ArrayLike) -> NDArray[np.float64]:
    """Return values as an array of floats.

    Parameters
    ----------
    values : array of float
        Values of any unit.
    """
    return np.asarray(values, dtype="float64")


def omega(returns: ArrayLike, threshold: float = 0.0) -> float:
    """Return the omega ratio: Σ max(r − threshold, 0) / Σ max(threshold − r, 0) (Keating and Shadwick, 2002).

    Parameters
    ----------
    returns : array of float
        Returns, ratios.
    threshold : float, optional
        Return that parts gains from losses, a ratio (default: 0).

    Returns
    -------
    float
        The ratio, NaN without a loss.

    Examples
    --------
    >>> formulas.omega([0.02, -0.01])
    2.0
    """
    beyond = as_floats(returns) - threshold
    lost = -float(beyond[beyond < 0].sum())
    return float(beyond[beyond > 0].sum()) / lost if lost else math.nan


def ulcer_index(equity: ArrayLike) -> float:
    """Return the ulcer index: the root mean square of the drawdowns, a ratio (Martin, 1987).

    Parameters
    ----------
    equity : array of float
        Equity or prices, above 0.

    Returns
    -------
    float
        A ratio, 0 without a drawdown.

    Examples
    --------
    >>> round(formulas.ulcer_index([100, 110, 99, 110]), 4)
    0.05
    """
    values = as_floats(equity)
    return float(np.sqrt(np.mean((values / np.maximum.accumulate(values) - 1) ** 2)))


def sharpe_scale(autocorrelations: Sequence[float], periods: int) -> float:
    """Return the factor from a Sharpe ratio of one period to that of several: q / sqrt(q + 2 Σ (q − k) ρ_k) (Lo, 2002).

    Parameters
    ----------
    autocorrelations : sequence of float
        Autocorrelations of the returns at the lags 1, 2 and so on. Those that are left out are 0.
    periods : int
        Number of periods q.

    Returns
    -------
    float
        The factor, sqrt(q) without autocorrelation. NaN if no variance is left.

    Examples
    --------
    >>> round(formulas.sharpe_scale([0.9**lag for lag in range(1, 12)], 12), 2)
    1.21
    """
    weights = [(periods - lag) * rho for lag, rho in enumerate(autocorrelations[: periods - 1], start=1)]
    variance = periods + 2 * math.fsum(weights)
    return periods / math.sqrt(variance) if variance > 0 else math.nan


def lo_sharpe(returns: ArrayLike, periods: int) -> float:
    """Return the Sharpe ratio of several periods, corrected for the autocorrelation of the returns (Lo, 2002).

    Parameters
    ----------
    returns : array of float
        Returns of one period in excess of the riskless rate, ratios.
    periods : int
        Number of periods, such as 365 for a year of daily returns.

    Returns
    -------
    float
        The ratio, NaN without variance.

    Examples
    --------
    >>> round(formulas.lo_sharpe([0.01, -0.005, 0.012, -0.004, 0.011, -0.006], 4), 3)
    1.645
    """
    values = as_floats(returns)
    apart = values - values.mean()
    total = float(apart @ apart)
    if not total:
        return math.nan
    lags = range(1, min(periods, len(values)))
    scale = sharpe_scale([float(apart[lag:] @ apart[:-lag]) / total for lag in lags], periods)
    return scale * float(values.mean() / values.std(ddof=1))


class VarianceRatio(NamedTuple):
    """A variance ratio and its test statistics, which are standard normal for a random walk.

    Attributes
    ----------
    ratio : float
        Variance of the changes over several periods, over that of one period times their number. 1 for a random walk.
    z : float
        Statistic under equal variances.
    z_robust : float
        Statistic that changing variances do not disturb.
    """

    ratio: float
    z: float
    z_robust: float


def variance_ratio(prices: ArrayLike, periods: int) -> VarianceRatio:
    """Return the variance ratio of log prices, with unbiased variances of overlapping changes (Lo and MacKinlay, 1988).

    Parameters
    ----------
    prices : array of float
        Prices, above 0, evenly spaced in time.
    periods : int
        Number of periods, 2 or more.

    Returns
    -------
    VarianceRatio
        The ratio and its statistics.

    Examples
    --------
    >>> round(formulas.variance_ratio([100, 101, 100, 101, 100, 101, 100, 101, 100], 2).ratio, 3)
    0.0
    """
    logs, q = np.log(as_floats(prices)), periods
    count = len(logs) - 1
    apart = np.diff(logs) - (logs[-1] - logs[0]) / count
    squares = apart**2
    total = float(squares.sum())
    summed = logs[q:] - logs[:-q] - q * (logs[-1] - logs[0]) / count
    ratio = float(summed @ summed) / (q * (count - q + 1) * (1 - q / count)) / (total / (count - 1))
    deltas = [(2 * (q - lag) / q) ** 2 * float(squares[lag:] @ squares[:-lag]) for lag in range(1, q)]
    z = (ratio - 1) / math.sqrt(2 * (2 * q - 1) * (q - 1) / (3 * q * count))
    return VarianceRatio(ratio, z, (ratio - 1) / math.sqrt(sum(deltas) / total**2))


def hurst(prices: ArrayLike, longest: int = 20) -> float:
    """Return the Hurst exponent: the slope of log deviation of the changes over log lag, by least squares.

    Parameters
    ----------
    prices : array of float
        Prices, above 0, evenly spaced in time.
    longest : int, optional
        Longest lag (default: 20).

    Returns
    -------
    float
        0.5 for a random walk, above it for trends, below it for reversals.

    Examples
    --------
    >>> round(formulas.hurst([100 * 1.01**at for at in range(50)]), 2)
    1.0
    """
    logs = np.log(as_floats(prices))
    lags = np.arange(1, longest + 1)
    sizes = [math.sqrt(float(np.mean((logs[lag:] - logs[:-lag]) ** 2))) for lag in lags.tolist()]
    return float(np.polyfit(np.log(lags), np.log(sizes), 1)[0])


def kelly(mean: float, deviation: float, riskless: float = 0.0) -> float:
    """Return the part of equity in an asset that grows fastest: (mean − riskless) / deviation² (Thorp, 2006).

    Parameters
    ----------
    mean : float
        Expected return of a period, a ratio.
    deviation : float
        Standard deviation of the returns of a period, a ratio.
    riskless : float, optional
        Riskless return of a period, a ratio (default: 0).

    Returns
    -------
    float
        Multiple of equity, negative for a short.

    Examples
    --------
    >>> round(formulas.kelly(0.11, 0.15, 0.06), 2)
    2.22
    """
    return (mean - riskless) / deviation**2
