"""The funding settlements of a backtest: when they are due, and the premium that gives each its rate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError, warn
from ...funding import funding_rate
from ...numerals import time_text
from ...suggestions import check_known
from ...venue.engine.core import Core
from ...venue.model.constants import RATE
from ...venue.risk.funding_settlement import FINE
from ..data.bars import Bars
from ..data.tables.shapes import NAMES, flat, plain_name, time_column, times_ms

HOUR_MS = 3_600_000
LATE_MS = 60_000
"""A rate stamped less than this after a full hour is that of the settlement at the hour. Exchanges stamp theirs some
ms late, and a position that is opened between the two must not pay."""


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


Gap = tuple[int, int, int]
"""Start and end of a time without rates, Unix ms, and the number of its settlements."""


def funding_schedule(
    core: Core, bars: Mapping[str, Bars], funding: object, lacking: dict[str, list[Gap]] | None = None
) -> list[FundingSettlement]:
    """Return every settlement within the bars, the latest first, so that `pop` takes the next one.

    Parameters
    ----------
    core : Core
        Core that lists the products of the run.
    bars : mapping of str to Bars
        Bars by symbol, in the order of the products.
    funding : str, float, Series, DataFrame, mapping or None
        As in `backtest`.
    lacking : dict of str to list of Gap, optional
        Takes the settlements without a rate, by symbol (default: they are only a warning).

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
        interval_ms = core.products[code].funding_interval * 1000
        times, rates = settlement_rates(symbol, series, funding, interval_ms, lacking)
        for time, rate in zip(times.tolist(), rates, strict=True):
            schedule.append(FundingSettlement(time, code, premium_for(core, code, symbol, rate)))
    # The order is by time, then by product, so that settlements of one instant have the same order in each run.
    return sorted(schedule, reverse=True)


def settlement_rates(
    symbol: str, series: Bars, funding: object, interval_ms: int, lacking: dict[str, list[Gap]] | None = None
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
    lacking : dict of str to list of Gap, optional
        Takes the settlements without a rate, by symbol (default: they are only a warning).

    Raises
    ------
    InputError
        For a rate that is not a number, and for a frame without its columns.
    """
    lacking = {} if lacking is None else lacking
    first, last = int(series.opened[0]), int(series.closed[-1])
    given = funding.get(symbol) if isinstance(funding, Mapping) else funding
    if given is None:
        return np.zeros(0, dtype="int64"), []
    if isinstance(given, pd.DataFrame | pd.Series):
        times, rates = _settled(symbol, *_rates_by_time(symbol, given))
        if gaps := missing_rates(times, first, last, interval_ms):
            lacking |= {symbol: gaps}
            count, longest = sum(each[2] for each in gaps), max(gaps, key=lambda each: each[2])
            text = f"{count} funding settlements have no rate, most of them after {time_text(longest[0])}"
            if longest[:2] == (first, last):
                text = f"none of {len(times)} funding rates is within the data"
            warn(f"{symbol}: {text}. No funding is charged there")
        inside = (times >= first) & (times < last)
        return times[inside], [rate for rate, chosen in zip(rates, inside, strict=True) if chosen]
    # Settlements are at multiples of the interval since 1970 (UTC), as on the venue, not counted from the first bar.
    times = np.arange(-(-first // interval_ms) * interval_ms, last, interval_ms, dtype="int64")
    return times, [constant_rate(symbol, given, interval_ms / 3_600_000)] * len(times)


def _rates_by_time(symbol: str, given: pd.DataFrame | pd.Series) -> tuple[NDArray[np.int64], list[float]]:
    """Return times (Unix ms) and rates of a table of `data.load` or of the venue. Refuses those of another symbol."""
    if isinstance(given, pd.DataFrame):
        table = flat(given)
        rate = next((name for name in table.columns if plain_name(name) in NAMES["rate"].split()), None)
        if missing := [name for name, at in (("time", time_column(table)), ("rate", rate)) if at is None]:
            lacks = ", ".join(missing)
            text = f"{symbol}: a frame of funding rates needs the columns time and rate, but it has no {lacks}"
            raise InputError(f'{text} ("funding_rate" is a rate too)', field="funding", rule="columns")
        if "symbol" in table:
            known = list(dict.fromkeys(map(str, table["symbol"])))
            # A table of one symbol may name it as its exchange does: BTCUSDT for BTCUSDC.
            own = [name for name in known if name == symbol] or [
                name for name in known if len(known) == 1 and (symbol == "ASSET" or _base(name) == _base(symbol))
            ]
            if not own and known:
                text = f"the funding rates are those of {', '.join(known[:5])}, but the data is {symbol}"
                raise InputError(f"{text}. Give its own, or a Series", field="funding", rule="symbol", value=known[0])
            table = table[table["symbol"].isin(own)]
        attrs = given.attrs
        given = pd.Series(table[rate].to_numpy(), index=pd.Index(table[time_column(table)]))
        given.attrs = dict(attrs)
    times = times_ms(f"{symbol}: funding", given.index, given.attrs, "funding")
    return times, [_rate(symbol, rate) for rate in given]


def _base(symbol: str) -> str:
    """Return the asset of a symbol such as BTCUSDT, BTC-PERP or BTC/USDT:USDT."""
    return re.split(r"[-_/:]", symbol.upper())[0].removesuffix("PERP").removesuffix("USDC").removesuffix("USDT")


def _settled(symbol: str, times: NDArray[np.int64], given: list[float]) -> tuple[NDArray[np.int64], list[float]]:
    """Return the settlement of each rate (Unix ms, increasing) and the rate. Warns of equal repeats, and drops them."""
    late = times % HOUR_MS
    times = np.where(late < LATE_MS, times - late, times)
    order = np.argsort(times, kind="stable")
    times, rates = times[order], [given[at] for at in order]
    again = np.flatnonzero(times[1:] == times[:-1])
    if other := [int(at) for at in again if rates[at] != rates[at + 1]]:
        when, two = pd.Timestamp(int(times[other[0]]), unit="ms", tz="UTC"), rates[other[0] : other[0] + 2]
        text = f"{symbol}: the settlement of {when:%Y-%m-%d %H:%M} has two rates, {two[0]:g} and {two[1]:g}. Drop one"
        raise InputError(text, field="funding", rule="one rate a settlement", value=str(when))
    if len(again):
        warn(
            f"{symbol}: {len(again)} funding rates occur twice, as of downloads that overlap. Each counts once",
        )
    kept = np.append(times[1:] != times[:-1], True) if len(times) else np.zeros(0, dtype=bool)
    return times[kept], [rate for rate, one in zip(rates, kept, strict=True) if one]


def missing_rates(times: NDArray[np.int64], first: int, last: int, interval_ms: int) -> list[Gap]:
    """Return the spans within a time whose settlements have no rate: start, end (Unix ms) and number of settlements.

    Rates without a rhythm of their own, such as two that are given by hand, are all that there are.

    Parameters
    ----------
    times : array of int64, shape (n,)
        Settlements that have a rate, Unix ms, increasing.
    first : int
        Beginning of the time, Unix ms.
    last : int
        Time before which it ends, Unix ms.
    interval_ms : int
        Time between two settlements of the product, ms, which only a time without any rate is compared with.
    """
    near = times[(times >= first) & (times < last)]
    if not len(near):
        return [(first, last, (last - first) // interval_ms)] if len(times) and last - first >= interval_ms else []
    spans, counts = np.unique(np.diff(times), return_counts=True)
    if not len(counts) or counts.max() < max(2, len(times) // 2):
        return []
    usual = int(spans[counts.argmax()])
    edges = [first - 1, *near.tolist(), last]
    lacking = [(max(begin, first), end, -(-(end - begin) // usual) - 1) for begin, end in pairwise(edges)]
    return [each for each in lacking if each[2] > 0]


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


def premium_for(core: Core, code: int, symbol: str, rate: float) -> int:
    """Return the mean premium for which the venue's funding formula gives a rate: its inverse.

    The formula is premium + clamp(interest − premium), scaled from 8 hours to the product's interval.

    Parameters
    ----------
    core : Core
        Core that lists the product.
    code : int
        Code of the product.
    symbol : str
        Its symbol, for the error.
    rate : float
        Rate of a settlement, a ratio.

    Raises
    ------
    InputError
        For a rate beyond the venue's cap.
    """
    rate_e8 = round(rate * RATE)
    if abs(rate_e8) > core.state.config.funding_cap:
        message = f"{symbol}: funding rate {rate_e8 / RATE} is beyond the cap"
        raise InputError(message, field="funding", value=rate_e8)
    config, scale = core.state.config, FINE // RATE
    whole = rate_e8 * 8 * 3600 * scale // core.products[code].funding_interval
    above_interest = whole - config.interest * scale
    clamp = config.funding_clamp * scale
    # Every premium within the clamp gives the interest rate. 0 is one of them.
    if not above_interest:
        return 0
    return whole + (clamp if above_interest > 0 else -clamp)
