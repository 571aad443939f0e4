"""The funding settlements of a backtest: when they are due, and the premium that gives each its rate."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError
from ...funding import funding_rate
from ...suggestions import check_known
from ...venue.engine.core import Core
from ...venue.model.constants import RATE
from ...venue.risk.funding_settlement import FINE
from ..data.bars import Bars


class FundingSettlement(NamedTuple):
    """One settlement.

    Attributes
    ----------
    time : int
        Unix ms.
    code : int
        Product code.
    premium : int
        Mean premium that gives the rate, in units of 1 / FINE.
    """

    time: int
    code: int
    premium: int


def funding_schedule(core: Core, bars: Mapping[str, Bars], funding: object) -> list[FundingSettlement]:
    """Return every settlement within the bars, the latest first, so that `pop` takes the next one.

    Parameters
    ----------
    core : Core
        Core that lists the products of the run.
    bars : mapping of str to Bars
        Bars by symbol, in the order of the products.
    funding : str, float, Series, DataFrame, mapping or None
        As in `backtest`.

    Raises
    ------
    InputError
        For a rate that is not a number or beyond the venue's cap.
    """
    if isinstance(funding, Mapping):
        check_known(funding, bars, "funding", "symbol of the data")
    schedule = []
    # Products are listed in the order of the symbols, see `listings`.
    for code, (symbol, series) in zip(core.products, bars.items(), strict=True):
        times, rates = settlement_rates(symbol, series, funding, core.products[code].funding_interval * 1000)
        for time, rate in zip(times.tolist(), rates, strict=True):
            rate_e8 = round(rate * RATE)
            if abs(rate_e8) > core.state.config.funding_cap:
                message = f"{symbol}: funding rate {rate_e8 / RATE} is beyond the cap"
                raise InputError(message, field="funding", value=rate_e8)
            schedule.append(FundingSettlement(time, code, _premium_for(core, code, rate_e8)))
    # The order is by time, then by product, so that settlements of one instant have the same order in each run.
    return sorted(schedule, reverse=True)


def settlement_rates(
    symbol: str, series: Bars, funding: object, interval_ms: int
) -> tuple[NDArray[np.int64], list[float]]:
    """Return the times (Unix ms) and rates of the settlements within a series.

    Parameters
    ----------
    symbol : str
        Product symbol, such as "BTCUSDC".
    series : Bars
        Bars of the symbol.
    funding : str, float, Series, DataFrame, mapping or None
        As in `backtest`.
    interval_ms : int
        Time between two settlements of the product, ms.

    Raises
    ------
    InputError
        For a rate that is not a number, and for a frame without its columns.
    """
    first, last = int(series.opened[0]), int(series.closed[-1])
    given = funding.get(symbol) if isinstance(funding, Mapping) else funding
    if given is None:
        return np.zeros(0, dtype="int64"), []
    if isinstance(given, pd.DataFrame):  # as `load` returns them
        if missing := [name for name in ("time", "rate") if name not in given]:
            lacks = ", ".join(missing)
            text = f"{symbol}: a frame of funding rates needs the columns time and rate, but it has no {lacks}"
            raise InputError(text, field="funding", rule="columns")
        # A table of one symbol may name it as its exchange does. It is taken whole if it has no row of this name.
        rows = given[given["symbol"] == symbol] if "symbol" in given and symbol in set(given["symbol"]) else given
        given = rows.set_index("time")["rate"]
    if isinstance(given, pd.Series):
        times = pd.DatetimeIndex(pd.to_datetime(given.index, utc=True)).as_unit("ms").asi8
        rates = [_rate(symbol, rate) for rate in given]
        inside = (times >= first) & (times < last)
        return times[inside], [rate for rate, chosen in zip(rates, inside, strict=True) if chosen]
    # Settlements are at multiples of the interval since 1970 (UTC), as on the venue, not counted from the first bar.
    times = np.arange(-(-first // interval_ms) * interval_ms, last, interval_ms, dtype="int64")
    return times, [constant_rate(symbol, given, interval_ms / 3_600_000)] * len(times)


def predicted_rates(core: Core, bars: Mapping[str, Bars], funding: object) -> dict[int, float]:
    """Return the rate of every settlement by product code, if it is known beforehand.

    Parameters
    ----------
    core : Core
        Core that lists the products of the run.
    bars : mapping of str to Bars
        Bars by symbol, in the order of the products.
    funding : str, float, Series, DataFrame, mapping or None
        As in `backtest`.
    """
    found = {}
    for code, symbol in zip(core.products, bars, strict=True):
        given = funding.get(symbol) if isinstance(funding, Mapping) else funding
        if given is not None and not isinstance(given, pd.Series | pd.DataFrame):
            found[code] = constant_rate(symbol, given, core.products[code].funding_interval / 3600)
    return found


def constant_rate(symbol: str, given: object, interval_hours: float) -> float:
    """Return the rate of every interval, a ratio.

    Parameters
    ----------
    symbol : str
        Product symbol, for the error.
    given : str or float
        The rate, or "interest" for that of the venue's formula at a premium of 0.
    interval_hours : float
        Time between two settlements, hours.
    """
    return _interest(interval_hours) if isinstance(given, str) and given == "interest" else _rate(symbol, given)


@lru_cache(maxsize=16)
def _interest(interval_hours: float) -> float:
    """Return the rate of the venue's formula at a premium of 0."""
    return float(funding_rate(0, interval_hours))


def _rate(symbol: str, given: Any) -> float:
    try:
        rate = float(given)
        if rate - rate == 0:  # neither infinite nor NaN
            return rate
    except (ValueError, TypeError):
        pass
    text = (
        f'{symbol}: funding {given!r} is not a rate. Give "interest", a number, a Series of numbers, a frame with time'
        " and rate, or None"
    )
    raise InputError(text, field="funding", value=str(given))


def _premium_for(core: Core, code: int, rate_e8: int) -> int:
    """Return the mean premium for which the venue's funding formula gives a rate: its inverse.

    The formula is premium + clamp(interest − premium), scaled from 8 hours to the product's interval.
    """
    config, scale = core.state.config, FINE // RATE
    rate = rate_e8 * 8 * 3600 * scale // core.products[code].funding_interval
    above_interest = rate - config.interest * scale
    clamp = config.funding_clamp * scale
    # Every premium within the clamp gives the interest rate. 0 is one of them.
    if not above_interest:
        return 0
    return rate + (clamp if above_interest > 0 else -clamp)
