"""External inputs of the simulated market: volatility, news and taker orders, drawn from the seed alone.

Nothing here depends on what the venue's users do, so two runs of one seed differ only by what they did. Volatility is a
product of components that last from minutes to days. Each value is drawn by its place, so the past before genesis and
the days after it follow from the same parameters. News and orders come in blocks, at any millisecond.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.constants import MINUTE_MS
from ..model.market import Market, ProductFlow, Scales
from .noise import EXP_BITS, SIGMA, bits, exponential, key_of, log_of_ppm, mix, normals, waits, words

if TYPE_CHECKING:
    from .noise import Integers

BLOCK_MINUTES = 60
BLOCK_MS = BLOCK_MINUTES * MINUTE_MS
_DAY_MINUTES = 1_440
NOISE, INFORMED, MOMENTUM, HEDGER, FORCED = range(1, 6)
"""Kinds of taker orders, by who sends them."""
PARTS = 1_000_000_000
"""Changes of a price are in parts of 1e-9."""

_OWN_MINUTES = 10
"""Components of volatility that last shorter belong to one product. All products share the others."""
_SHARED = 0
NEWS_A_MINUTE = (8, 4)
"""Small news in a minute: of all products, and of one."""
_CLUSTERS_A_MINUTE = 48
"""Most clusters of orders in a minute."""
_FOLLOWERS = 6
"""Most orders that follow the first one of a cluster. Each comes with a probability of a half."""
_FOLLOWER_MS = 1_100
_PARENTS = ((12, 350_000), (60, 350_000))
"""Large orders that are worked in parts: (length in orders, probability that an order is a part of it)."""
QUEUE_MS = 800
"""The best queues change once per interval of this length, at any millisecond of it."""
_QUEUE_SIGMA = 700_000
"""Standard deviation of the logarithm of a best queue: of what is new each time, and of what lasts seven times."""
_LEAD_MS = 2_100
"""Mean time by which the best queues know of news and orders."""
_LEAN = (650_000, 350_000)
"""How far the logarithm of a queue then leans: for news of usual size, and for an order."""
_MOST_LEAN = 1_200_000
_SEASON = (0, -17, -27, -22, -24, -30, -30, -24, -12, -14, -10, -9, -2, 8, 24, 25, 18, 10, 12, 16, 20, 8, 6, -4)
"""Logarithm of the volatility of each hour of the day (UTC), in hundredths."""
_MINUTES_ROOT_PPM = 37_947_332
"""Square root of the minutes of a day, in millionths."""


class FlowSource(NamedTuple):
    """The parameters of the flow of one product.

    The fields from `clustering` on are those of its `Market`.

    Attributes
    ----------
    seed : int
        Seed of the market, mixed from the venue's and its own.
    code : int
        Code of the product.
    flow : ProductFlow
        How the product moves and trades.
    clustering : tuple of tuple of (int, int)
        Components of volatility: (minutes, variance of the log in millionths).
    jump_minutes : int
        Mean time between shared jumps, in minutes.
    jump_ppm : int
        Usual size of a jump, in millionths.
    informed_ppm : int
        Part of the larger news that informed takers know first, in millionths.
    momentum_ppm : int
        Part of the orders that follow the trend, in millionths.
    hedging_ppm : int
        Part of the orders that lower the makers' inventory, in millionths.
    forced_ppm : int
        Part of the orders that may be forced, in millionths.
    premium_ppm : int
        Standard deviation of the premium, in millionths.
    """

    seed: int
    code: int
    flow: ProductFlow
    clustering: tuple[tuple[int, int], ...]
    jump_minutes: int
    jump_ppm: int
    informed_ppm: int
    momentum_ppm: int
    hedging_ppm: int
    forced_ppm: int
    premium_ppm: int

    @property
    def minute_parts(self) -> int:
        """Standard deviation of a minute's return at volatility 1, in PARTS."""
        return self.flow.daily_volatility_ppm * 1000 * SIGMA // _MINUTES_ROOT_PPM

    @property
    def usual_news(self) -> int:
        """Mean size of small news at volatility 1, in PARTS."""
        sizes = (share * isqrt(each * SIGMA * SIGMA) for share, each in zip(self.shares, NEWS_A_MINUTE, strict=True))
        return max(1, sum(sizes) * 8 // (10 * SIGMA * sum(NEWS_A_MINUTE)))

    @property
    def shares(self) -> tuple[int, int]:
        """The common and the own part of it, in PARTS: their squares sum to its square."""
        common = self.flow.common_ppm
        own = isqrt(SIGMA * SIGMA - common * common)
        return self.minute_parts * common // SIGMA, self.minute_parts * own // SIGMA


def source_of(market: Market, seed: int | str, code: int, symbol: str) -> FlowSource:
    """Return the source of a product's flow.

    Parameters
    ----------
    market : Market
        Numbers of the simulated market.
    seed : int or str
        Seed of the venue, a text if it is secret.
    code : int
        Code of the product.
    symbol : str
        Symbol of the product.
    """
    own = mix(key_of(seed), market.seed), code, market.flow(symbol)
    return FlowSource(*own, *(getattr(market, name) for name in FlowSource._fields[len(own) :]))


def volatility(source: FlowSource, first: int, count: int) -> Any:
    """Return the volatility of some minutes, in millionths of the usual, as int64.

    Parameters
    ----------
    source : FlowSource
        Parameters of the product's flow.
    first : int
        Unix minute of the first value.
    count : int
        Number of minutes.
    """
    import numpy as np

    if not source.clustering:
        return np.full(count, SIGMA)
    hours = np.arange(first, first + count) % _DAY_MINUTES // 60
    logs = np.array(_SEASON)[hours] * (SIGMA // 100)
    for component, (length, variance) in enumerate(source.clustering):
        owner = source.code if length < _OWN_MINUTES else _SHARED
        # Each kind of draw has a different number in the seed, so that no two share a word.
        seed = mix(source.seed, owner, 0x0A, component)
        # Shifted by the seed, so that components of one length do not change at the same minute.
        begin = first + seed % length
        drawn = normals(words(seed, np.arange(begin // length, (begin + count - 1) // length + 1)))
        values = drawn * isqrt(variance * SIGMA) // SIGMA - variance  # the product's mean square is 1
        logs += np.repeat(values, length)[begin % length :][:count]
    return exponential(log_of_ppm(logs)) * SIGMA >> EXP_BITS


@lru_cache(maxsize=64)
def _day(source: FlowSource, day: int) -> tuple[Any, Any]:
    """Return the volatility and the premium of a day's minutes, which its blocks need."""
    first = day * _DAY_MINUTES
    return volatility(source, first, _DAY_MINUTES), premium(source, first, _DAY_MINUTES)


def _of_block(source: FlowSource, first: int) -> tuple[Any, Any]:
    """Return the volatility and the premium of a block's minutes."""
    day, minute = divmod(first, _DAY_MINUTES)
    heat, premiums = _day(source, day)
    return heat[minute : minute + BLOCK_MINUTES], premiums[minute : minute + BLOCK_MINUTES]


def minute_returns(source: FlowSource, volatilities: Integers, first: int) -> Any:
    """Return the returns of minutes in PARTS, jumps included.

    Parameters
    ----------
    source : FlowSource
        Parameters of the product's flow.
    volatilities : array of int64
        Volatility of each minute, in millionths of the usual.
    first : int
        Unix minute of the first value.
    """
    import numpy as np

    count = len(volatilities)
    moved = np.zeros(count, dtype=np.int64)
    for owner, share in zip((_SHARED, source.code), source.shares, strict=True):
        moved += normals(_minute_words(source.seed, owner, 0x1B, first, count)) * share // SIGMA
        at, size = jumps(source, owner, first, count)
        # Jumps do not scale with volatility, and the last line multiplies by it: they are divided by it first.
        moved[at] += size * share // max(source.minute_parts, 1) * SIGMA // volatilities[at]
    return moved * volatilities // SIGMA


def jumps(source: FlowSource, owner: int, first: int, count: int, scale: int = SIGMA) -> tuple[Any, Any]:
    """Return which of some minutes have a jump, and the jumps in PARTS.

    Parameters
    ----------
    source : FlowSource
        Parameters of the product's flow.
    owner : int
        Code of the product. 0 has the jumps of all products.
    first : int
        Unix minute of the first value.
    count : int
        Number of minutes.
    scale : int, optional
        How often jumps come, in millionths of the usual (default: `SIGMA`, as often).
    """
    import numpy as np

    word = _minute_words(source.seed, owner, 0x1C, first, count)
    chance = (1 << 20) * scale // (source.jump_minutes * SIGMA)
    at = np.nonzero(bits(word, 0, 20) < chance)[0]
    word = word[at]
    usual = source.jump_ppm * 1000 * source.flow.daily_volatility_ppm // 24_000
    # between a half and twice the usual size, up or down
    size = usual * (512 + bits(word, 20, 10) + (bits(word, 30, 10) * bits(word, 40, 10) >> 11)) >> 10
    return at, size * (2 * bits(word, 63, 1) - 1)


def premium(source: FlowSource, first: int, count: int, apart: int = 1) -> Any:
    """Return the premium of the perpetual over its index, in millionths.

    It has three components that change over hours, half a day and days, with a straight line between their values.

    Parameters
    ----------
    source : FlowSource
        Parameters of the product's flow.
    first : int
        Unix minute of the first value.
    count : int
        Number of values.
    apart : int, optional
        Minutes between two values (default: 1).
    """
    import numpy as np

    minutes = first + apart * np.arange(count, dtype=np.int64)
    # Drawn by place, like all else, so any stretch of it can be computed alone.
    found = np.zeros(count, dtype=np.int64)
    for component, length in enumerate((180, 720, 2_880)):
        seed = mix(source.seed, source.code, 0x2E, component)
        places = minutes // length
        base = int(places[0])
        knots = normals(words(seed, np.arange(base, int(places[-1]) + 2)))
        part = minutes - places * length
        before, after = knots[places - base], knots[places - base + 1]
        found += (before + (after - before) * part // length) * source.premium_ppm // SIGMA
    return found * 707 // 1000  # three components, of which a straight line keeps two thirds of the variance


def _minute_words(seed: int, owner: int, what: int, first: int, count: int, each: int = 1) -> Any:
    import numpy as np

    return words(mix(seed, owner, what), np.arange(first * each, (first + count) * each))


Order = tuple[int, int, int]
"""A taker order: its kind, the side it takes if it has no other reason (+1 or −1), and its value in micro-USDC."""


class FlowBlock(NamedTuple):
    """The events of one product in BLOCK_MINUTES minutes, by time.

    Attributes
    ----------
    news_times : list of int
        When news comes, Unix ms.
    order_times : list of int
        When taker orders come, Unix ms.
    orders : list of Order
        The taker orders, one for each time.
    ask_queues : memoryview of int
        Sizes of the best ask's queue from each time on, in parts of 1024 of the usual.
    """

    news_times: list[int]
    news: list[int]
    """Changes of the index in PARTS."""
    order_times: list[int]
    orders: list[Order]
    premiums: list[int]
    """Premium of each minute, millionths."""
    queue_times: memoryview[int]
    """When the best queues change, the first time before the block."""
    bid_queues: memoryview[int]
    """Their sizes from then on, in parts of 1024 of the usual."""
    ask_queues: memoryview[int]


@lru_cache(maxsize=64)
def block(source: FlowSource, scales: Scales, number: int) -> FlowBlock:
    """Return the events of a block.

    Parameters
    ----------
    source : FlowSource
        Parameters of the product's flow.
    scales : Scales
        Factors of the regime.
    number : int
        Number of the block. 0 begins with 1970.
    """
    import numpy as np

    first = number * BLOCK_MINUTES
    end = (first + BLOCK_MINUTES) * MINUTE_MS
    _, premiums = _of_block(source, first)
    news_times, news = _news(source, scales, first)
    own, before = (_clusters(source, scales, begin) for begin in (first, first - BLOCK_MINUTES))
    # Clusters that began in the block before may have orders in this one.
    within, late = own[0] < end, before[0] >= end - BLOCK_MS
    parts = [[column[within] for column in own], [column[late] for column in before]]
    parts.append(_informed(source, news_times, news, end))
    times, *columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    # Stable, because the order of equal times must be the same on every platform.
    order, news_order = np.argsort(times, kind="stable"), np.argsort(news_times, kind="stable")
    queues = _queues(source, scales, first, times, columns[1])
    return FlowBlock(
        news_times[news_order].tolist(),
        news[news_order].tolist(),
        times[order].tolist(),
        list(zip(*(column[order].tolist() for column in columns), strict=True)),
        (premiums * scales.premium // SIGMA).tolist(),
        *(column.data for column in queues),
    )


@lru_cache(maxsize=64)
def _news(source: FlowSource, scales: Scales, first: int) -> tuple[Any, Any]:
    """Return times and sizes of the news of a block: small ones at random instants of each minute, and its jumps."""
    import numpy as np

    times, amounts = [], []
    minutes = np.arange(first, first + BLOCK_MINUTES) * MINUTE_MS
    scaled = _of_block(source, first)[0] * scales.volatility // SIGMA
    for owner, share, each in zip((_SHARED, source.code), source.shares, NEWS_A_MINUTE, strict=True):
        word = _minute_words(source.seed, owner, 0x3F, first, BLOCK_MINUTES, each)
        at = _minute_words(source.seed, owner, 0x40, first, BLOCK_MINUTES, each)
        times.append(np.repeat(minutes, each) + (bits(at, 0, 30) * MINUTE_MS >> 30))
        amounts.append(normals(word) * share // isqrt(each * SIGMA * SIGMA) * np.repeat(scaled, each) // SIGMA)
        there, size = jumps(source, owner, first, BLOCK_MINUTES, scales.jumps)
        size = size * share // max(source.minute_parts, 1)
        times.append(minutes[there] + (bits(at[there], 30, 30) * MINUTE_MS >> 30))
        amounts.append(size * scales.volatility // SIGMA)
    return np.concatenate(times), np.concatenate(amounts)


def _queues(
    source: FlowSource, scales: Scales, first: int, order_times: Integers, sides: Integers
) -> tuple[Any, Any, Any]:
    """Return when the best queues of a block change, and the sizes of both.

    They are log-normal, and lean: some cancellations and new quotes anticipate the next news and orders. The side that
    is about to be traded or cancelled is therefore usually the smaller one.
    """
    import numpy as np

    count = BLOCK_MS // QUEUE_MS + 1
    place = first * MINUTE_MS // QUEUE_MS - 1 + np.arange(count)
    word = words(mix(source.seed, source.code, 0x91), place)
    times = place * QUEUE_MS + (bits(word, 0, 20) * QUEUE_MS >> 20)
    following, (usual, order) = first + BLOCK_MINUTES, _LEAN
    later_times, _, later_sides, _ = _clusters(source, scales, following)  # the first of them, which queues know of
    events = [(order_times, sides * order), (later_times[:64], later_sides[:64] * order)]
    for begin in (first, following):
        when, moved = _news(source, scales, begin)
        events.append((when, (moved * usual // source.usual_news).clip(-2 * usual, 2 * usual)))
    at, weights = (np.concatenate(each) for each in zip(*events, strict=True))
    lead = waits()[bits(words(mix(source.seed, source.code, 0x92), at), 0, 10)] * _LEAD_MS // 1000
    steps = np.zeros(count + 1, dtype=np.int64)
    for when, weight in ((at - lead, weights), (at, -weights)):
        slot = (when // QUEUE_MS - place[0]).clip(0, count - 1)
        np.add.at(steps, slot + (when > times[slot]), weight)
    lean = np.clip(steps.cumsum()[:-1], -_MOST_LEAN, _MOST_LEAN)
    sizes = []
    for number, side in enumerate((1, -1)):
        seed = mix(source.seed, source.code, 0x93 + number)
        fast, slow = normals(words(seed, place)), normals(words(seed + 1, np.arange(place[0] // 7, place[-1] // 7 + 1)))
        logs = (fast + np.repeat(slow, 7)[place[0] % 7 :][:count]) * _QUEUE_SIGMA // SIGMA + side * lean - 500_000
        sizes.append(exponential(log_of_ppm(logs)) >> EXP_BITS - 10)
    return times, sizes[0], sizes[1]


@lru_cache(maxsize=64)
def _clusters(source: FlowSource, scales: Scales, first: int) -> tuple[Any, Any, Any, Any]:
    """Return the taker orders of the clusters that begin in a block, some of them after its end."""
    import numpy as np

    count = BLOCK_MINUTES * _CLUSTERS_A_MINUTE
    word = _minute_words(source.seed, source.code, 0x51, first, BLOCK_MINUTES, _CLUSTERS_A_MINUTE)
    heat, _ = _of_block(source, first)
    rate = source.flow.orders_a_minute_ppm * scales.flow // SIGMA * (heat * 7 + SIGMA * 3) // SIGMA // 10
    chance = np.repeat((rate << 20) // (_CLUSTERS_A_MINUTE * SIGMA), _CLUSTERS_A_MINUTE)
    chance[::_CLUSTERS_A_MINUTE] = 1 << 20  # no minute of a usual market is without an order
    chosen = np.nonzero(bits(word, 0, 20) < chance)[0]
    word = word[chosen]
    start = first * MINUTE_MS + chosen // _CLUSTERS_A_MINUTE * MINUTE_MS + (bits(word, 20, 30) * MINUTE_MS >> 30)
    follow = words(mix(source.seed, source.code, 0x52), (first * _CLUSTERS_A_MINUTE + chosen) * 2)
    gaps = words(mix(source.seed, source.code, 0x53), (first * _CLUSTERS_A_MINUTE + chosen) * 2)
    times, kept, time = [start], np.ones(len(chosen), dtype=bool), start
    for number in range(_FOLLOWERS):
        # One bit each: a follower comes with a probability of a half, and only after the one before it.
        kept = kept & (bits(follow, number, 1) == 1)
        time = time + waits()[bits(gaps, number * 10, 10)] * _FOLLOWER_MS // 1000 + 1
        times.append(time[kept])
    time = np.concatenate(times)
    time = np.sort(time[time < (first + 2 * BLOCK_MINUTES) * MINUTE_MS])
    kind, side, value = _takers(source, first * count, len(time))
    hot = heat[np.minimum(time // MINUTE_MS - first, BLOCK_MINUTES - 1)]
    return time, kind, side, value * (SIGMA * 4 // 10 + hot * 6 // 10) // SIGMA


def _takers(source: FlowSource, place: int, count: int) -> tuple[Any, Any, Any]:
    """Return kinds, sides and values of taker orders. Each side is often that of a large order worked in parts."""
    import numpy as np

    at = np.arange(count)
    word = words(mix(source.seed, source.code, 0x61), place + at)
    side = bits(word, 0, 1)
    for number, (length, chance) in enumerate(_PARENTS):
        parent = words(mix(source.seed, source.code, 0x62, number), place + at // length)
        part = bits(word, 1 + 20 * number, 20) < (chance << 20) // SIGMA
        side = np.where(part, bits(parent, 0, 1), side)
    kind = np.full(count, NOISE)
    draw, bound = bits(word, 41, 20) * SIGMA >> 20, 0
    for other, share in ((MOMENTUM, source.momentum_ppm), (HEDGER, source.hedging_ppm), (FORCED, source.forced_ppm)):
        kind = np.where((draw >= bound) & (draw < bound + share), other, kind)
        bound += share
    size = words(mix(source.seed, source.code, 0x63), place + at)
    logs = log_of_ppm(normals(size) * 11 // 10)  # log-normal: a tenth of the orders is five times the median or more
    value = (source.flow.order_value_usdc * SIGMA >> 6) * (exponential(logs) >> 6) >> (EXP_BITS - 12)
    return kind, 2 * side - 1, np.maximum(value, SIGMA)


def _informed(source: FlowSource, times: Integers, news: Integers, end: int) -> list[Any]:
    """Return the orders of traders that see some of the news before the makers do."""
    import numpy as np

    word = words(mix(source.seed, source.code, 0x71), times)
    heard = (bits(word, 0, 20) * SIGMA >> 20) < source.informed_ppm
    heard &= abs(news) > source.usual_news // 2  # others are worth less than a spread
    times = times + 8 + (bits(word, 20, 20) * bits(word, 42, 20) * 350 >> 40)
    heard &= times < end
    value = source.flow.order_value_usdc * SIGMA * (1 + bits(word, 40, 2))
    side = np.where(news >= 0, 1, -1)
    return [times[heard], np.full(int(heard.sum()), INFORMED), side[heard], value[heard]]
