"""Formulas of liquidity from prices and volumes: spreads that are not observed, and the impact of volume."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .series import as_floats


def roll(prices: ArrayLike) -> float:
    """Return the effective spread that the reversal of trade prices shows: 2 sqrt(−cov(Δp_t, Δp_(t−1))) (Roll, 1984).

    Parameters
    ----------
    prices : array of float
        Prices of trades in turn, USDC.

    Returns
    -------
    float
        Full spread, USDC. NaN where the changes do not reverse.

    Examples
    --------
    >>> round(formulas.roll([100, 101, 100, 101, 100, 101]), 3)
    2.309
    """
    changes = np.diff(as_floats(prices))
    reversal = float(np.cov(changes[1:], changes[:-1])[0, 1])
    return 2 * math.sqrt(-reversal) if reversal < 0 else math.nan


def corwin_schultz(high: ArrayLike, low: ArrayLike) -> float:
    """Return the mean relative spread that highs and lows of two periods show (Corwin and Schultz, 2012).

    A negative estimate of two periods counts as 0.

    Parameters
    ----------
    high : array of float
        Highest prices of the periods, above 0.
    low : array of float
        Lowest prices of the periods, above 0.

    Returns
    -------
    float
        Full spread, a ratio of the price. NaN with less than two periods.

    Examples
    --------
    >>> round(formulas.corwin_schultz([101, 101, 101], [99, 99, 99]), 4)
    0.02
    """
    highs, lows = as_floats(high), as_floats(low)
    if len(highs) < 2:
        return math.nan
    squares = np.log(highs / lows) ** 2
    beta = squares[1:] + squares[:-1]
    gamma = np.log(np.maximum(highs[1:], highs[:-1]) / np.minimum(lows[1:], lows[:-1])) ** 2
    scale = 3 - 2 * math.sqrt(2)
    alpha = (np.sqrt(2 * beta) - np.sqrt(beta)) / scale - np.sqrt(gamma / scale)
    return float(np.mean(np.maximum(2 * np.expm1(alpha) / (1 + np.exp(alpha)), 0.0)))


def kyle(changes: ArrayLike, signed_volume: ArrayLike) -> float:
    """Return Kyle's lambda: the slope of price changes over signed volume, by least squares (Kyle, 1985).

    Parameters
    ----------
    changes : array of float
        Price changes, USDC.
    signed_volume : array of float
        Volume of the same periods, bought less sold by takers, base units.

    Returns
    -------
    float
        USDC for each base unit. NaN where the volume does not vary.

    Examples
    --------
    >>> round(formulas.kyle([1.0, -2.0, 3.0], [10, -20, 30]), 6)
    0.1
    """
    moved, volume = as_floats(changes), as_floats(signed_volume)
    apart = volume - volume.mean()
    spread = float(apart @ apart)
    return float(apart @ moved) / spread if spread else math.nan


def amihud(returns: ArrayLike, value: ArrayLike) -> float:
    """Return Amihud's illiquidity: the mean size of a return over traded value (Amihud, 2002), often times 1,000,000.

    Parameters
    ----------
    returns : array of float
        Returns, ratios.
    value : array of float
        Traded value of the same periods, USDC. Periods without any are left out.

    Returns
    -------
    float
        Ratio for each USDC. NaN if nothing was traded.

    Examples
    --------
    >>> round(formulas.amihud([0.01, -0.02], [1_000_000, 1_000_000]) * 1e6, 3)
    0.015
    """
    moved, traded = np.abs(as_floats(returns)), as_floats(value)
    known = traded > 0
    return float(np.mean(moved[known] / traded[known])) if known.any() else math.nan
