"""Models of what bars do not contain: the path inside a bar, liquidity, slippage, latency.

Each is a small value with one or two methods. Any object with the same methods can take its place. Prices are in ticks,
quantities in steps and times in ms. Randomness comes from the run's seed only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, Protocol

from ...checks import SLIPPAGE_UNIT, default_slippage
from ...errors import InputError
from ...products import Product
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
        """Return the distance of the best quotes from the price, ticks.

        Parameters
        ----------
        price : int
            Price, ticks.
        """

    def offered(self, bar: ReplayBar) -> int | None:
        """Return how many steps the market trades with the strategy in one bar, None = any number.

        Parameters
        ----------
        bar : ReplayBar
            The current bar, prices in ticks and volume in steps.
        """

    def reach(self, side: int, limit: int) -> int:
        """Return the price at which a resting order is filled, ticks.

        Parameters
        ----------
        side : int
            +1 buys, −1 sells.
        limit : int
            Limit price of the order, ticks.
        """


class Slippage(Protocol):
    """How much worse than the quote a taking order is filled."""

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return how many ticks against the taker an order is filled, 0 or above.

        Parameters
        ----------
        price : int
            Price, ticks.
        steps : int
            Quantity of the order, steps.
        bar : ReplayBar
            The current bar, prices in ticks and volume in steps.
        """


class Latency(Protocol):
    """How long orders and cancels take to arrive."""

    def delay(self, random: Random) -> int:
        """Return the time to arrive, ms, 0 or above.

        Parameters
        ----------
        random : Random
            Random numbers of the run, from its seed.
        """


@dataclass(frozen=True)
class BarLiquidity:
    """Quotes around the current price, and fills of resting orders when the price reaches them.

    Parameters
    ----------
    spread : float, optional
        Full spread as a ratio of the price (0.0002 is 2 basis points) (default: 0).
    share : float, optional
        Part of a bar's volume that the strategy can trade, a ratio (default: none, any quantity).
    touch : bool, optional
        Whether a resting order is filled when the price touches it. Otherwise the price must pass it by a tick, as for
        the last order in the queue (default: False).
    """

    spread: float = 0.0
    share: float | None = None
    touch: bool = False

    def __post_init__(self) -> None:
        _not_negative("spread", self.spread)
        _not_negative("share", self.share or 0.0)

    def half_spread(self, price: int) -> int:
        """Return half the spread, rounded up to whole ticks.

        Parameters
        ----------
        price : int
            Price, ticks.
        """
        return math.ceil(price * self.spread / 2)

    def offered(self, bar: ReplayBar) -> int | None:
        """Return the volume of the bar times `share`.

        Parameters
        ----------
        bar : ReplayBar
            The current bar, prices in ticks and volume in steps.
        """
        return None if self.share is None else whole(bar.volume * self.share)

    def reach(self, side: int, limit: int) -> int:
        """Return the limit itself (touch), or the tick beyond it: above for sales, below for purchases.

        Parameters
        ----------
        side : int
            +1 buys, −1 sells.
        limit : int
            Limit price of the order, ticks.
        """
        return limit if self.touch else limit - side


@dataclass(frozen=True)
class RatioSlippage:
    """Slippage as a ratio of the price, rounded up to whole ticks, at any quantity.

    Parameters
    ----------
    ratio : float, optional
        Part of the price (0.0005 is 5 basis points) (default: 0).
    """

    ratio: float = 0.0

    def __post_init__(self) -> None:
        _not_negative("slippage", self.ratio)

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return price × ratio, rounded up.

        Parameters
        ----------
        price : int
            Price, ticks.
        steps : int
            Quantity of the order, steps. It changes nothing.
        bar : ReplayBar
            The current bar. It changes nothing.
        """
        return math.ceil(price * self.ratio)


@dataclass(frozen=True)
class ImpactSlippage:
    """Square-root impact: price × coefficient × sqrt(quantity / volume of the bar), 0 without a volume.

    Parameters
    ----------
    coefficient : float, optional
        Part of the price by which an order as large as the bar's volume moves it (default: 0.1).
    """

    coefficient: float = 0.1

    def ticks(self, price: int, steps: int, bar: ReplayBar) -> int:
        """Return the impact in ticks, rounded up.

        Parameters
        ----------
        price : int
            Price, ticks.
        steps : int
            Quantity of the order, steps.
        bar : ReplayBar
            The current bar, prices in ticks and volume in steps.
        """
        if not bar.volume:
            return 0
        return math.ceil(price * self.coefficient * math.sqrt(steps / bar.volume))


@dataclass(frozen=True)
class FixedLatency:
    """Every order and cancel takes the same time.

    Parameters
    ----------
    ms : int, optional
        Time to arrive, ms (default: 0).
    """

    ms: int = 0

    def __post_init__(self) -> None:
        _not_negative("latency", self.ms)

    def delay(self, random: Random) -> int:
        """Return the time to arrive, ms.

        Parameters
        ----------
        random : Random
            Random numbers of the run. None is drawn.
        """
        return self.ms


@dataclass(frozen=True)
class RandomLatency:
    """Uniform between two times, from the run's seed.

    Parameters
    ----------
    low : int, optional
        Shortest time to arrive, ms (default: 20).
    high : int, optional
        Longest time to arrive, ms (default: 200).
    """

    low: int = 20
    high: int = 200

    def __post_init__(self) -> None:
        _not_negative("latency", self.low)
        if self.high < self.low:
            raise InputError(f"latency from {self.low} to {self.high} ms is reversed", field="latency", value=self.high)

    def delay(self, random: Random) -> int:
        """Return the next time to arrive, ms.

        Parameters
        ----------
        random : Random
            Random numbers of the run, from its seed.
        """
        return random.randint(self.low, self.high)


def check_bound(product: Product, models: BarModels) -> None:
    """Refuse a constant cost that is above the bound of market orders, because none would ever be filled.

    Parameters
    ----------
    product : Product
        Product that is traded.
    models : BarModels
        Models of the run.

    Raises
    ------
    InputError
        If it is.
    """
    bound = default_slippage(product) / SLIPPAGE_UNIT
    half = models.liquidity.spread / 2 if isinstance(models.liquidity, BarLiquidity) else 0.0
    if isinstance(models.slippage, RatioSlippage) and models.slippage.ratio + half > bound * (1 + 1e-12):
        text = f"slippage {models.slippage.ratio:g} and half a spread of {half:g} are above the bound of a market order"
        text = f"{text} in {product.symbol}, {bound:g} of the last price, so none would be filled"
        advice = f"Give a slippage of at most {max(bound - half, 0):g}"
        raise InputError(f"{text}. {advice}", field="slippage", rule="within the bound", value=models.slippage.ratio)


class BarModels(NamedTuple):
    """The models of a run on bars.

    Parameters
    ----------
    path : Path, optional
        Order of the prices inside a bar (default: `ExtremeOrder()`).
    liquidity : Liquidity, optional
        Quotes and fills of resting orders (default: `BarLiquidity()`).
    slippage : Slippage, optional
        How much worse than the quote a taking order is filled (default: `RatioSlippage()`).
    latency : Latency, optional
        How long orders and cancels take to arrive (default: `FixedLatency()`).
    """

    path: Path = ExtremeOrder()
    liquidity: Liquidity = BarLiquidity()
    slippage: Slippage = RatioSlippage()
    latency: Latency = FixedLatency()
