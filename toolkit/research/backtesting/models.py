"""What a backtest assumes where bars don't tell: the path inside a bar, liquidity, slippage, latency.

Each is a small value with one method or two; any object with the same methods can take its place. Prices in ticks,
quantities in steps, times in ms. Chance comes from the run's seed only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Protocol

from ...errors import InputError
from ...venue.simulation.replay import ReplayBar


def _not_negative(name: str, value: float) -> None:
    if not value >= 0:
        raise InputError(f"{name} is {value}; it must not be negative", field=name, rule="not negative", value=value)


class Path(Protocol):
    """In which order a bar's prices came."""

    def points(self, bar: ReplayBar) -> tuple[tuple[int, int], ...]:
        """Return (offset in ms from the bar's start, price) in order; the first is (0, open), the last the close."""


class Liquidity(Protocol):
    """How much can be traded, and when a resting order is filled."""

    def half_spread(self, price: int) -> int:
        """Return how many ticks the best quote lies away from the price."""

    def offered(self, bar: ReplayBar) -> int | None:
        """Return how many steps the market trades with us in a bar in all; None = any number."""

    def reach(self, side: int, limit: int) -> int:
        """Return the price at which a resting order (side +1 buys) at `limit` is filled."""


class Slippage(Protocol):
    """How much worse than the quote an order that takes is filled."""

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return ticks ≥ 0 against the taker, for an order of `steps` at `price`."""


class Latency(Protocol):
    """How long orders and cancels are under way."""

    def delay(self, random: Random) -> int:
        """Return ms ≥ 0."""


@dataclass(frozen=True)
class ExtremeOrder:
    """Open, one extreme, the other, close, at 0, 1/3, 2/3 and the end of the bar.

    `first`: "near" takes the extreme on the far side of the close first (a rising bar dips, then climbs), "far" the
    other one, "low" and "high" always that one.
    """

    first: str = "near"

    def __post_init__(self) -> None:
        if self.first not in (known := ("near", "far", "low", "high")):
            raise InputError(f"first is {self.first!r}; it is one of {', '.join(known)}", field="first", nearest=known)

    def points(self, bar: ReplayBar) -> tuple[tuple[int, int], ...]:
        """Return the four points."""
        rising = bar.close >= bar.open
        low_first = {"near": rising, "far": not rising, "low": True, "high": False}[self.first]
        one, two = (bar.low, bar.high) if low_first else (bar.high, bar.low)
        third = bar.interval // 3
        return (0, bar.open), (third, one), (2 * third, two), (bar.interval - 1, bar.close)


@dataclass(frozen=True)
class BarLiquidity:
    """Quotes around the price of the moment, and fills of resting orders when the price comes to them.

    Attributes:
        spread: full spread as a ratio of the price (0.0002 is 2 basis points); at least it is 0 ticks.
        share: part of a bar's volume that one can trade; None: as much as one likes.
        touch: a resting order is filled when the price touches it; otherwise the price must go through it by a tick,
            as it would have to for the last one in the queue.
    """

    spread: float = 0.0
    share: float | None = None
    touch: bool = False

    def __post_init__(self) -> None:
        _not_negative("spread", self.spread)
        _not_negative("share", self.share or 0.0)

    def half_spread(self, price: int) -> int:
        """Return half the spread, rounded up to whole ticks."""
        exact = price * self.spread / 2
        return int(exact) + (exact > int(exact))

    def offered(self, bar: ReplayBar) -> int | None:
        """Return the bar's volume times `share`."""
        return None if self.share is None else int(bar.volume * self.share)

    def reach(self, side: int, limit: int) -> int:
        """Return the limit itself (touch), or the tick beyond it."""
        return limit if self.touch else limit - side


@dataclass(frozen=True)
class RatioSlippage:
    """Slippage as a ratio of the price, rounded up to whole ticks: 0.0005 is 5 basis points, whatever the size."""

    ratio: float = 0.0

    def __post_init__(self) -> None:
        _not_negative("slippage", self.ratio)

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return price × ratio."""
        exact = price * self.ratio
        return int(exact) + (exact > int(exact))


@dataclass(frozen=True)
class ImpactSlippage:
    """Square-root impact: price × coefficient × sqrt(quantity / volume of the bar); 0 without a volume."""

    coefficient: float = 0.1

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return the impact in ticks, rounded up."""
        if not bar.volume:
            return 0
        exact = price * self.coefficient * math.sqrt(steps / bar.volume)
        return int(exact) + (exact > int(exact))


@dataclass(frozen=True)
class FixedLatency:
    """Every order and cancel takes `ms`."""

    ms: int = 0

    def __post_init__(self) -> None:
        _not_negative("latency", self.ms)

    def delay(self, random: Random) -> int:
        """Return ms."""
        return self.ms


@dataclass(frozen=True)
class RandomLatency:
    """Between `low` and `high` ms, evenly, from the run's seed."""

    low: int = 20
    high: int = 200

    def __post_init__(self) -> None:
        _not_negative("latency", self.low)
        if self.high < self.low:
            raise InputError(
                f"latency from {self.low} to {self.high} ms runs backwards", field="latency", value=self.high
            )

    def delay(self, random: Random) -> int:
        """Return the next delay."""
        return random.randint(self.low, self.high)
