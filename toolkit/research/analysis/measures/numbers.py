"""Statistics of arrays: deviation, ratio, and means by time."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Times = NDArray[np.int64]
"""Unix ms, increasing."""
Values = NDArray[np.float64]
NAN = float("nan")
# ndarray.sum calls this too, after three times as much work as most of a sweep's short arrays need.
add = np.add.reduce
NOTHING: Values = np.zeros(0)
NUMBERLESS: NDArray[np.int64] = np.zeros(0, dtype="int64")


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


def floats(series: pd.Series[float]) -> Values:
    """Return values as an array.

    Parameters
    ----------
    series : Series of float
        Values of any unit.
    """
    return np.asarray(series, dtype="float64")


def time_mean(values: Values, lasting: Values) -> float:
    """Return the mean of values by how long each lasts, the plain mean without time.

    Parameters
    ----------
    values : array of float64, shape (n,)
        Values of any unit.
    lasting : array of float64, shape (n,)
        How long each lasts, ms.
    """
    if not len(values):
        return NAN
    elapsed = add(lasting)
    # Not np.dot: starting the threads of its library takes longer than the sum.
    return float(np.einsum("i,i->", values, lasting) / elapsed if elapsed > 0 else values.mean())


def divided(values: Values, base: Values) -> Values:
    """Return values / base, NaN where the base is not above 0.

    Parameters
    ----------
    values : array of float64
        Values of any unit.
    base : array of float64
        What they are divided by.
    """
    if all_positive(base):
        return values / base
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(base > 0, values / base, np.nan)


def all_positive(values: Values) -> bool:
    """Return whether all are positive numbers, as in most runs, so that special cases can be skipped.

    Parameters
    ----------
    values : array of float64
        Values of any unit.
    """
    return len(values) > 0 and bool(np.minimum.reduce(values) > 0 and np.maximum.reduce(values) < math.inf)
