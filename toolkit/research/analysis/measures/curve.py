"""The arrays of a run, from which every measure is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...market_data import span_ms
from .numbers import NAN, NOTHING, NUMBERLESS, Times, Values, all_positive, deviation, divided, floats

Period = str | pd.Timedelta | None
DAY_MS = 86_400_000
YEAR_MS = 365 * DAY_MS
SHORTEST_MS, FEWEST = 7 * DAY_MS, 10
"""Least time and least number of sampled returns of which yearly numbers are made."""


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
    start : mapping of int to float, optional
        Signed position before the first fill by number in `symbols`, base units (default: none).
    """

    times: Times
    equity: Values
    gross: Values = field(default_factory=NOTHING.copy)
    symbols: NDArray[np.int64] = field(default_factory=NUMBERLESS.copy)
    signed: Values = field(default_factory=NOTHING.copy)
    prices: Values = field(default_factory=NOTHING.copy)
    fees: Values = field(default_factory=NOTHING.copy)
    funding: float = 0.0
    start: Mapping[int, float] = field(default_factory=dict)
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
        usual = DAY_MS if self.elapsed_ms >= 30 * DAY_MS else 3_600_000 if self.elapsed_ms >= 2 * DAY_MS else 60_000
        return max(self.spacing_ms, usual) if self.spacing_ms else 0

    @cached_property
    def annualised(self) -> bool:
        """Whether the data suffices for yearly numbers: it spans `SHORTEST_MS` and `FEWEST` sampled returns."""
        return self.elapsed_ms >= SHORTEST_MS and len(self.sampled().returns) >= FEWEST

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
        return divided(self.equity, self.highs) - 1

    @cached_property
    def lasting(self) -> Values:
        """How long each point lasts, ms: until the next one. The last lasts no time."""
        gaps = np.zeros(len(self.times))
        gaps[:-1] = self.times[1:] - self.times[:-1]
        return gaps

    def leverage(self) -> Values:
        """Return gross notional over equity at every point, 0 without equity."""
        found = divided(self.gross, self.equity)
        return found if all_positive(found + 1) else np.nan_to_num(found, posinf=0.0, neginf=0.0)

    def sampled(self, period: Period = None) -> Sampled:
        """Return the returns of the equity, sampled at equal distances: the last value known at each edge.

        The last point is an edge as well, so the last period may be shorter than the others.

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
        if edges[-1] < times[-1]:
            # The last point is an edge too: a loss after the last whole period is a loss.
            edges = np.append(edges, times[-1])
        values = equity if np.array_equal(edges, times) else equity[np.searchsorted(times, edges, side="right") - 1]
        returns = divided(values[1:], values[:-1]) - 1
        if all_positive(values):
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


def as_curve(equity: Equity) -> Curve:
    """Return the arrays of equity.

    Parameters
    ----------
    equity : Series or Curve
        Equity in USDC over an increasing UTC index, or the arrays of a run.
    """
    if isinstance(equity, Curve):
        return equity
    return Curve(pd.DatetimeIndex(equity.index).as_unit("ms").asi8, floats(equity))
