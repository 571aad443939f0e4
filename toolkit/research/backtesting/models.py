"""Models of what bars do not contain: the path inside a bar, liquidity, slippage, latency.

Each is a small value with one or two methods. Any object with the same methods can take its place. Prices are in ticks,
quantities in steps and times in ms. Randomness comes from the run's seed only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, Protocol

from ...errors import InputError
from ...venue.simulation.replay import ReplayBar
from ..data.bars import ExtremeOrder, Path, whole

__all__ = [
    "BarLiquidity",
    "ExtremeOrder",
    "FixedLatency",
    "ImpactSlippage",
    "Latency",
    "Liquidity",
    "Path",
    "RandomLatency",
    "RatioSlippage",
    "Slippage",
]


def _not_negative(name: str, value: float) -> None:
    if not value >= 0:
        raise InputError(f"{name} is {value}, but must not be negative", field=name, rule="not negative", value=value)


class Liquidity(Protocol):
    """How much can be traded, and when a resting order is filled."""

    def half_spread(self, price: int) -> int:
        """Return the distance of the best quotes from `price`, all in ticks."""

    def offered(self, bar: ReplayBar) -> int | None:
        """Return how many steps the market trades with the strategy in one `bar`, None = any number."""

    def reach(self, side: int, limit: int) -> int:
        """Return the price at which a resting order at `limit` is filled. A `side` of +1 buys, −1 sells."""


class Slippage(Protocol):
    """How much worse than the quote a taking order is filled."""

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return ticks ≥ 0 against the taker, for an order of `steps` at `price` in a `bar`."""


class Latency(Protocol):
    """How long orders and cancels take to arrive."""

    def delay(self, random: Random) -> int:
        """Return ms ≥ 0, drawn from `random`."""


@dataclass(frozen=True)
class BarLiquidity:
    """Quotes around the current price, and fills of resting orders when the price reaches them.

    Attributes:
        spread: full spread as a ratio of the price (0.0002 is 2 basis points).
        share: part of a bar's volume that the strategy can trade, None: any quantity.
        touch: a resting order is filled when the price touches it. Otherwise the price must pass it by a tick, as
            for the last order in the queue.
    """

    spread: float = 0.0
    share: float | None = None
    touch: bool = False

    def __post_init__(self) -> None:
        _not_negative("spread", self.spread)
        _not_negative("share", self.share or 0.0)

    def half_spread(self, price: int) -> int:
        """Return half the spread at `price`, rounded up to whole ticks."""
        return math.ceil(price * self.spread / 2)

    def offered(self, bar: ReplayBar) -> int | None:
        """Return the volume of `bar` times `share`."""
        return None if self.share is None else whole(bar.volume * self.share)

    def reach(self, side: int, limit: int) -> int:
        """Return `limit` itself (touch), or the tick beyond it: above for a `side` of −1, below for +1."""
        return limit if self.touch else limit - side


@dataclass(frozen=True)
class RatioSlippage:
    """Slippage as a `ratio` of the price, rounded up to whole ticks: 0.0005 is 5 basis points, at any quantity."""

    ratio: float = 0.0

    def __post_init__(self) -> None:
        _not_negative("slippage", self.ratio)

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return `price` × ratio, rounded up. `steps` and `bar` change nothing."""
        return math.ceil(price * self.ratio)


@dataclass(frozen=True)
class ImpactSlippage:
    """Square-root impact: price × `coefficient` × sqrt(quantity / volume of the bar), 0 without a volume."""

    coefficient: float = 0.1

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return the impact in ticks of `steps` at `price` (ticks) in a `bar`, rounded up."""
        if not bar.volume:
            return 0
        return math.ceil(price * self.coefficient * math.sqrt(steps / bar.volume))


@dataclass(frozen=True)
class FixedLatency:
    """Every order and cancel takes `ms`."""

    ms: int = 0

    def __post_init__(self) -> None:
        _not_negative("latency", self.ms)

    def delay(self, random: Random) -> int:
        """Return ms. Nothing is drawn from `random`."""
        return self.ms


@dataclass(frozen=True)
class RandomLatency:
    """Uniform between `low` and `high` ms, from the run's seed."""

    low: int = 20
    high: int = 200

    def __post_init__(self) -> None:
        _not_negative("latency", self.low)
        if self.high < self.low:
            raise InputError(f"latency from {self.low} to {self.high} ms is reversed", field="latency", value=self.high)

    def delay(self, random: Random) -> int:
        """Return the next delay in ms, drawn from `random`."""
        return random.randint(self.low, self.high)


class BarModels(NamedTuple):
    """The models of a run on bars."""

    path: Path = ExtremeOrder()
    liquidity: Liquidity = BarLiquidity()
    slippage: Slippage = RatioSlippage()
    latency: Latency = FixedLatency()
