"""The simulated past: candles, trades and funding rates before genesis, from the same parameters as the future.

It is not stored. Segments of 30 days are computed as arrays on demand, from the newest one back, because each begins
where the one before it ends. The price at genesis is that of the venue.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.constants import MINUTE_MS
from ..model.history import Candle, PublicTrade
from ..model.market import ProductFlow
from .noise import EXP_BITS, LOG_BITS, SIGMA, bits, exponential, mix, waits, words
from .order_flow import PARTS, FlowSource, minute_returns, premium, volatility

if TYPE_CHECKING:
    from .noise import Integers, Words

DAYS = 1_200
"""Days of the past."""
SEGMENT = 30 * 1_440
"""Minutes in one segment."""
_SEGMENTS = DAYS * 1_440 // SEGMENT
_HOUR_MS = 3_600_000
_REVERSION = 8
"""Each segment begins nearer to the price at genesis by this part of the distance, so that the past stays in reach."""
_FURTHEST = 2 << LOG_BITS
_MOST_BITS = 31
"""Prices of more bits, in ticks, have no simulated past."""
_HALF_SPREAD_PPM = 60
_RUN = 3
"""Trades in a row that are on one side."""
_IMPACT_PPM = (30_000, 60_000)
"""Part that the impact of trades adds to returns: the fixed part, and the part at volatility 1."""
_WICK_PPM = 250_000
"""How far highs and lows reach beyond open and close at volatility 1, in parts of a minute's return."""


class Past(NamedTuple):
    """The parameters of the past of one product.

    Prices are in ticks, quantities in steps.

    Attributes
    ----------
    source : FlowSource
        Parameters of its flow.
    """

    source: FlowSource
    genesis: int
    """In ms. The past ends at the start of its minute."""
    start: int
    """Price at genesis."""
    unit: int
    """Micro-USDC of one tick times one step."""

    @property
    def edge(self) -> int:
        """The Unix minute in which the venue begins."""
        return self.genesis // MINUTE_MS

    @property
    def earliest(self) -> int:
        """When the past begins, in ms."""
        return (self.edge - DAYS * 1_440) * MINUTE_MS


class _Bars(NamedTuple):
    """Bars as int64 arrays, oldest first, fields as those of Candle."""

    start: Any
    open: Any
    high: Any
    low: Any
    close: Any
    volume: Any
    turnover: Any
    count: Any


def candles(past: Past, start: int, end: int, interval_ms: int = MINUTE_MS) -> Iterator[Candle]:
    """Yield the bars of some minutes before genesis, oldest first, one for each interval.

    A bar whose interval continues beyond the window, or beyond a segment, is in parts: of one start, in order.

    Parameters
    ----------
    past : Past
        Parameters of the product's past.
    start : int
        First time, Unix ms.
    end : int
        Time after the last one, Unix ms.
    interval_ms : int, optional
        Length of a bar in ms (default: one minute).
    """
    start, end = max(start, past.earliest), min(end, past.edge * MINUTE_MS)
    if start >= end or past.start.bit_length() > _MOST_BITS:
        return
    whole_hours = interval_ms % _HOUR_MS == 0 and start % _HOUR_MS == 0
    whole_hours = whole_hours and (end % _HOUR_MS == 0 or end == past.edge * MINUTE_MS)
    first, last = (past.edge - start // MINUTE_MS - 1) // SEGMENT, (past.edge - -(-end // MINUTE_MS)) // SEGMENT
    for number in range(first, last - 1, -1):
        bars = _hours(past, number) if whole_hours else _minutes(past, number)
        begin, stop = bars.start.searchsorted(start), bars.start.searchsorted(end)
        bars = _Bars(*(column[begin:stop] for column in bars))
        if interval_ms > (_HOUR_MS if whole_hours else MINUTE_MS):
            bars = _joined(bars, interval_ms)
        yield from map(Candle, *(column.tolist() for column in bars))


def _joined(bars: _Bars, interval_ms: int) -> _Bars:
    """Return longer bars made of shorter ones."""
    import numpy as np

    start = bars.start // interval_ms * interval_ms
    if not len(start):
        return bars
    first = np.nonzero(np.concatenate(([True], start[1:] != start[:-1])))[0]
    last = np.concatenate((first[1:], [len(start)])) - 1
    sums = (np.add.reduceat(column, first) for column in (bars.volume, bars.turnover, bars.count))
    high, low = np.maximum.reduceat(bars.high, first), np.minimum.reduceat(bars.low, first)
    return _Bars(start[first], bars.open[first], high, low, bars.close[last], *sums)


@lru_cache(maxsize=8 * _SEGMENTS)
def _hours(past: Past, number: int) -> _Bars:
    return _joined(_minutes(past, number), _HOUR_MS)


@lru_cache(maxsize=8 * _SEGMENTS)
def _end(past: Past, number: int) -> int:
    """Return the log price at the end of a segment, in parts of 2**LOG_BITS, relative to the price at genesis."""
    if not number:
        return 0
    newer = _end(past, number - 1)
    log = newer - int(_steps(past, number - 1)[1].sum())
    # A random walk of years would leave every range. Each segment returns a part of the way.
    return log - log // _REVERSION


@lru_cache(maxsize=_SEGMENTS)
def _steps(past: Past, number: int) -> tuple[Any, Any]:
    """Return the volatilities of a segment's minutes, and their returns as logs, impact of trades included, as int32.

    Kept, because the end of a segment needs those of all newer ones.
    """
    first = past.edge - (number + 1) * SEGMENT
    heat = volatility(past.source, first, SEGMENT)
    moved = minute_returns(past.source, heat, first)
    moved += moved * (_IMPACT_PPM[0] + _IMPACT_PPM[1] * heat // SIGMA) // SIGMA
    return heat.astype("int32"), (moved * (1 << LOG_BITS) // PARTS).astype("int32")


@lru_cache(maxsize=12)
def _minutes(past: Past, number: int) -> _Bars:
    """Return the minutes of a segment. Number 0 is the last one before genesis."""
    import numpy as np

    first = past.edge - (number + 1) * SEGMENT
    heat, steps = (column.astype(np.int64) for column in _steps(past, number))
    end, begin = _end(past, number), _end(past, number + 1)
    path = steps.cumsum()
    # The sum of the returns does not meet the start of the segment exactly. The difference is spread evenly over its
    # minutes.
    rest = end - begin - int(path[-1])
    path += begin + rest * np.arange(1, SEGMENT + 1) // SEGMENT
    # More bits than a tick has, as far as 64-bit products allow, so that low-priced products have smooth paths.
    fine = max(0, min(8, _MOST_BITS - past.start.bit_length()))
    prices = np.concatenate(([begin], path)).clip(-_FURTHEST, _FURTHEST)
    prices = np.maximum((past.start << fine) * exponential(prices) >> EXP_BITS, 1 << fine)
    before, after = prices[:-1], prices[1:]
    word = words(mix(past.source.seed, past.source.code, 0x81), np.arange(first, first + SEGMENT))
    width = after * past.source.minute_parts // PARTS * heat // SIGMA
    moved = np.minimum(abs(after - before) * SIGMA // np.maximum(width, 1), 5 * SIGMA)
    count, value = _trades(past.source.flow, heat, moved, word)
    reach = width * np.minimum(heat * _WICK_PPM // SIGMA, SIGMA) // SIGMA
    high = np.maximum(before, after) + (bits(word, 32, 8) * bits(word, 40, 8) * reach >> 16)
    low = np.maximum(np.minimum(before, after) - (bits(word, 48, 8) * bits(word, 56, 8) * reach >> 16), 1 << fine)
    opened, closed, high, low = before >> fine, after >> fine, high >> fine, low >> fine
    volume = np.maximum(value // (closed * past.unit), 1)
    # No trades exist yet, so the average price is that of the four known ones.
    turnover = volume * (opened + high + low + closed) * past.unit // 4
    start = np.arange(first, first + SEGMENT, dtype=np.int64) * MINUTE_MS
    return _Bars(start, opened, high, low, closed, volume, turnover, count)


def _trades(flow: ProductFlow, heat: Integers, moved: Integers, word: Words) -> tuple[Any, Any]:
    """Return the number of trades of each minute and their value in micro-USDC, about as the venue's own minutes.

    `moved` is the size of the return in millionths of what is usual at that heat.
    """
    import numpy as np

    drawn = waits()  # exponential, of mean 1,000
    clusters = flow.orders_a_minute_ppm // 1000 * (heat * 7 // 1000 + 3_000) // 10_000 + 1_000  # thousandths, as below
    count = (2 * clusters + heat * 8 // 10_000) * (970 + moved * 70 // SIGMA) // 1000
    count = count * (4_000 + 3 * (drawn[bits(word, 0, 10)] + drawn[bits(word, 10, 10)])) // 10_000_000
    count = np.maximum(count, 1)
    each = flow.order_value_usdc * 1_950 * (SIGMA * 4 // 10 + heat * 6 // 10) // SIGMA  # a thousandth of a USDC
    return count, count * each * (500 + drawn[bits(word, 20, 10)] // 2)


def trades(past: Past, count: int) -> list[PublicTrade]:
    """Return the last trades before genesis, oldest first.

    Those of a minute add up to its candle.

    Parameters
    ----------
    past : Past
        Parameters of the product's past.
    count : int
        Number of trades to return, fewer if the past has fewer.
    """
    end = past.edge * MINUTE_MS
    found: list[PublicTrade] = []
    for bar in reversed(list(candles(past, end - 2 * count * MINUTE_MS, end))):
        if len(found) >= count:
            break
        found += reversed(_trades_of(past, bar, -len(found)))
    return found[:count][::-1]


def _trades_of(past: Past, bar: Candle, last_id: int) -> list[PublicTrade]:
    """Return the trades of a minute: the last one at its close, the others on the way to it, half a spread away."""
    import numpy as np

    number = min(bar.count, bar.volume)
    word = words(mix(past.source.seed, past.source.code, 0x82, bar.start), np.arange(number))
    times = np.sort(bar.start + (bits(word, 0, 20) * MINUTE_MS >> 20)).tolist()
    run_sides = bits(word[::_RUN], 63, 1) * 2 - 1
    sides = np.repeat(run_sides, _RUN)[:number]
    way = bar.open + (bar.close - bar.open) * np.arange(1, number + 1) // number
    prices = (way + sides * (way * _HALF_SPREAD_PPM // SIGMA)).clip(bar.low, bar.high)
    prices[-1] = bar.close
    weights = waits()[bits(word, 20, 10)]
    sizes = 1 + weights * (bar.volume - number) // int(weights.sum())
    sizes[-1] += bar.volume - int(sizes.sum())
    columns = zip(times, sides.tolist(), prices.tolist(), sizes.tolist(), strict=True)
    return [
        PublicTrade(last_id - number + at, time, past.source.code, side, price, steps, "")
        for at, (time, side, price, steps) in enumerate(columns)
    ]


def settlements(past: Past, interval_ms: int, start: int, end: int) -> range:
    """Return the times of the settlements of a span before genesis, oldest first.

    Parameters
    ----------
    past : Past
        Parameters of the product's past.
    interval_ms : int
        Funding interval in ms.
    start : int
        First time, Unix ms.
    end : int
        Last time, Unix ms. It is included.
    """
    first = -(-max(start, past.earliest + interval_ms) // interval_ms) * interval_ms
    last = min(end, past.edge * MINUTE_MS - 1)
    return range(first, max(first, last + 1), interval_ms)


def premium_before(past: Past, interval_ms: int, time: int) -> int:
    """Return the mean premium of the interval that ended at a time, in millionths, as its samples would have seen it.

    A quote only counts where it is beyond the index, so half a spread of the premium is lost.

    Parameters
    ----------
    past : Past
        Parameters of the product's past.
    interval_ms : int
        Funding interval in ms.
    time : int
        End of the interval, Unix ms.
    """
    apart = max(interval_ms // MINUTE_MS // 24, 1)
    first = (time - interval_ms) // MINUTE_MS
    found = premium(past.source, first, interval_ms // MINUTE_MS // apart, apart)
    beyond = (abs(found) - _HALF_SPREAD_PPM).clip(0) * (2 * (found > 0) - 1)
    return int(beyond.sum()) // len(beyond)


def price_before(past: Past, time: int) -> int:
    """Return the index price at the start of an hour before genesis, in ticks.

    Parameters
    ----------
    past : Past
        Parameters of the product's past.
    time : int
        Time within the hour, Unix ms.
    """
    if past.start.bit_length() > _MOST_BITS:
        return past.start
    bars = _hours(past, (past.edge - time // MINUTE_MS - 1) // SEGMENT)
    return int(bars.open[bars.start.searchsorted(time // _HOUR_MS * _HOUR_MS)])
