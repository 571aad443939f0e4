"""Index prices of the simulated market: a path forward in ticks of 3 s, and a past to look back on.

Both are integer arithmetic on a seed, so they are the same everywhere. The past is made by chunks of a day on demand:
daily end points walk backwards from the price at genesis, and a bridge of minutes joins each pair. Nothing of
it is stored, and any day costs the same, however far back it lies.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..model.rng import GOLDEN, IRWIN_HALL_DEVIATION, SIGMA, Rng, mix
from ..model.simulation_state import IndexPath

FINE = 1 << 16
"""Sub-ticks in a tick: the index moves by less than a tick at a time."""
MINUTE_MS = 60_000
CHUNK = 1440
"""Minutes in one chunk of the past."""
PAST_CHUNKS = 1200
"""How many days of past there are."""
_PPM = 1_000_000
_TICKS_A_DAY_ROOT = 170  # square root of 28,800 ticks of 3 s
_CHUNK_ROOT = 38  # square root of 1,440 minutes
_MOST_FINE = 1 << 50  # products of prices and 16-bit numbers stay within 64 bits


class PathSettings(NamedTuple):
    """How one product's index behaves. Prices in ticks, quantities in steps."""

    code: int
    start: int
    """Index price at genesis, in ticks."""
    daily_ppm: int
    """Standard deviation of a day's return, in millionths."""
    minute_steps: int
    """Typical traded quantity of a minute, in steps."""
    unit: int
    """Micro-USDC of one tick times one step."""


class MinuteBar(NamedTuple):
    """One minute of the past: start in ms, prices in ticks, volume in steps, turnover in micro-USDC."""

    start: int
    open: int
    high: int
    low: int
    close: int
    volume: int
    turnover: int
    trades: int


_DAILY_PPM = {"BTCUSDC": 24_000, "ETHUSDC": 32_000, "SOLUSDC": 42_000}
_MINUTE_MICRO = 14_000_000_000
"""Typical value traded in a minute, micro-USDC: about what the simulated participants trade."""


def path_settings(code: int, symbol: str, start: int, unit: int) -> PathSettings:
    """Return the shape of a product that begins at `start` ticks: its volatility by symbol (else 4 % a day)."""
    return PathSettings(code, start, _DAILY_PPM.get(symbol, 40_000), max(1, _MINUTE_MICRO // (start * unit)), unit)


def begin_path(settings: PathSettings, seed: int) -> IndexPath:
    """Return the path of a product at genesis."""
    return IndexPath(settings.code, settings.daily_ppm, settings.start * FINE, mix(seed, settings.code, 0x1D))


def advance_path(path: IndexPath) -> int:
    """Move by one tick of 3 s and return the index price in whole ticks (at least 1)."""
    rng = Rng(path.random)
    shock = rng.normal()
    path.volatility += (_PPM - path.volatility) // 256 + (abs(shock) - 797_885) * path.volatility // (24 * SIGMA)
    path.volatility = min(max(path.volatility, 350_000), 3_500_000)
    move = path.fine * path.daily_ppm // _PPM * shock // SIGMA // _TICKS_A_DAY_ROOT
    path.fine += move * path.volatility // _PPM
    if path.calm:
        path.calm -= 1
    elif rng.chance(120):
        path.fine += path.fine * path.daily_ppm // _PPM * rng.normal() // SIGMA // 6
        path.calm = 400
    path.random = rng.state
    path.fine = max(path.fine, FINE)
    return path.fine // FINE


@lru_cache(maxsize=64)
def _ends(seed: int, shape: PathSettings) -> tuple[int, ...]:
    rng = Rng(mix(seed, shape.code, 0xDA7))
    anchor = shape.start * FINE
    ends = [anchor]
    for _ in range(PAST_CHUNKS):
        price = ends[-1]
        step = price * shape.daily_ppm // _PPM * rng.normal() // SIGMA
        ends.append(max(price + step + (anchor - price) // 220, anchor // 20, FINE))
    return tuple(ends)


@lru_cache(maxsize=512)
def past_chunk(seed: int, shape: PathSettings, genesis: int, chunk: int) -> tuple[MinuteBar, ...]:
    """Return the 1,440 minute bars of day `chunk` before genesis (0 is the last one), oldest first.

    `genesis` is in ms; the past ends at the start of its minute, where the price is `shape.start`.
    """
    if not 0 <= chunk < PAST_CHUNKS:
        return ()
    ends = _ends(seed, shape)
    first, last = ends[chunk + 1], ends[chunk]
    sigma = first * shape.daily_ppm // _PPM // _CHUNK_ROOT
    words = _words(mix(seed, shape.code, 0xC4, chunk), 3 * CHUNK)
    walk, volatility, level = [], _PPM, 0
    for shock in _normals(words[: 2 * CHUNK]):
        volatility += (_PPM - volatility) // 64 + (abs(shock) - 797_885) * volatility // (12 * SIGMA)
        volatility = min(max(volatility, 400_000), 3_000_000)
        level += sigma * shock // SIGMA * volatility // _PPM
        walk.append(level)
    origin = genesis // MINUTE_MS * MINUTE_MS - (chunk + 1) * CHUNK * MINUTE_MS
    drift = last - first - level
    closes = [max(first + moved + drift * (i + 1) // CHUNK, FINE) for i, moved in enumerate(walk)]
    return _bars(shape, origin, first, closes, sigma, words[2 * CHUNK :])


def _words(seed: int, count: int) -> Any:
    """Return the next `count` results of `Rng(seed).bits()` as an array of uint64: its state is only a counter."""
    import numpy as np

    word = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(seed)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _normals(words: Any) -> list[int]:
    """Return what `Rng.normal` makes of pairs of words."""
    import numpy as np

    total = sum((words >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.int64) for shift in (0, 16, 32, 48))
    normals: list[int] = ((total[0::2] + total[1::2] - 262140) * SIGMA // IRWIN_HALL_DEVIATION).tolist()
    return normals


def _bars(
    shape: PathSettings, origin: int, first: int, closes: list[int], sigma: int, words: Any
) -> tuple[MinuteBar, ...]:
    """Return the minutes between one close and the next; ranges and volumes are drawn from the words.

    Prices of more than 2**34 ticks have no simulated past.
    """
    import numpy as np

    if max(first, *closes) >= _MOST_FINE:
        return ()
    after = np.array(closes, dtype=np.int64)
    before = np.concatenate(([first], after[:-1]))
    spice = words.astype(np.int64)
    up, down = (spice & 0xFFFF) * sigma >> 17, (spice >> 16 & 0xFFFF) * sigma >> 17
    opened, closed = np.maximum(before // FINE, 1), np.maximum(after // FINE, 1)
    high = np.maximum((np.maximum(before, after) + up) // FINE, 1)
    low = np.maximum((np.minimum(before, after) - down) // FINE, 1)
    moved = np.minimum(np.abs(after - before) * 0x8000 // max(sigma, 1), 0x40000)
    heat = 0x6000 + (spice >> 32 & 0xFFFF) + moved
    volume = np.maximum(shape.minute_steps * heat >> 16, 1)
    trades = 4 + (heat >> 13) + (spice >> 48 & 7)
    columns = (each.tolist() for each in (opened, high, low, closed, volume, trades))
    return tuple(
        MinuteBar(origin + i * MINUTE_MS, o, h, lo, c, v, v * (o + h + lo + c) * shape.unit // 4, n)
        for i, (o, h, lo, c, v, n) in enumerate(zip(*columns, strict=True))
    )


def past(seed: int, shape: PathSettings, genesis: int, start: int, end: int) -> list[MinuteBar]:
    """Return the minute bars that begin in [start, end), both in ms, before genesis; oldest first."""
    edge = genesis // MINUTE_MS * MINUTE_MS
    end = min(end, edge)
    if start >= end:
        return []
    span = CHUNK * MINUTE_MS
    newest, oldest = (edge - end) // span, (edge - start - 1) // span
    bars: list[MinuteBar] = []
    for chunk in range(min(oldest, PAST_CHUNKS - 1), newest - 1, -1):
        bars.extend(bar for bar in past_chunk(seed, shape, genesis, chunk) if start <= bar.start < end)
    return bars
