"""The state of one symbol in a backtest: its price, its bars, and the price range in which nothing can happen."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...products import Product
from ...venue.engine.core import Core
from ...venue.simulation.replay import ReplayBar
from ..data.bars import Path, Points
from ..market_data import Bar, BarHistory
from .models import Liquidity

NEVER = 1 << 62
"""Greater than any price or time."""


class Arrival(NamedTuple):
    """An order or cancel in flight. Times in Unix ms; `number` orders arrivals of one time, and is unique."""

    time: int
    number: int
    sent: int
    state: SymbolState
    kind: str
    payload: Any


class SymbolState:
    """The current state of one symbol. Prices in ticks and quantities in steps, unless a name says otherwise."""

    __slots__ = (
        "add_bar",
        "bar",
        "begun",
        "ceiling_price",
        "code",
        "floor_price",
        "history",
        "in_flight_steps",
        "market",
        "price",
        "priced_ms",
        "product",
        "started",
        "step",
        "step_ratio",
        "symbol",
        "texts",
        "tick",
        "tick_ratio",
        "unapplied",
        "volume_left",
        "waiting",
        "wake_high",
        "wake_low",
    )

    def __init__(self, core: Core, product: Product, symbol: str) -> None:
        self.symbol = symbol
        self.code = product.code
        self.product = product
        self.market = core.state.markets[product.code]
        self.history = BarHistory(symbol)
        self.add_bar = self.history.append
        self.price = 0
        """Last known price; 0 before the first."""
        self.wake_low, self.wake_high = -1, NEVER
        """Nothing can happen while the price stays strictly between these."""
        self.floor_price, self.ceiling_price = -1.0, math.inf
        """The same bounds in USDC, narrowed by half a tick because prices of the data are rounded to ticks."""
        self.unapplied: Bar | None = None
        """A quiet bar whose close `price` does not show yet."""
        self.tick, self.step = float(product.tick_size), float(product.step_size)
        self.tick_ratio, self.step_ratio = product.tick_size.as_integer_ratio(), product.step_size.as_integer_ratio()
        """The same as whole numbers: ticks × first / second is the float nearest to the price."""
        self.texts: dict[int, str] = {}
        """Quantities as text, by steps."""
        self.volume_left: int | None = None
        """Steps that the market still trades in this bar; None = any number."""
        self.bar = ReplayBar(0, 0, 0, 0, 0, 0, 0)
        """The current bar in ticks and steps."""
        self.begun: dict[int, tuple[ReplayBar, Points]] = {}
        """The bars that have begun, in ticks and steps, with the points of their paths, by time."""
        self.started = False
        """Whether the current bar has had its first price."""
        self.priced_ms = -1
        """Time of the last price on the path of a bar."""
        self.waiting: list[Arrival] = []
        """Arrivals that wait for a price from after they were sent."""
        self.in_flight_steps = 0
        """Signed steps of market orders that have not arrived."""

    def quantity_text(self, steps: int) -> str:
        """Return a quantity as the text of an order."""
        text = self.texts.get(steps)
        if text is None:
            text = self.texts[steps] = self.product.quantity_text(steps)
        return text

    def to_ticks(self, price: float) -> int:
        """Return a price of the data in ticks, rounded to the nearest."""
        return round(price / self.tick)

    def begin_bar(self, bar: Bar, liquidity: Liquidity, path: Path) -> Points:
        """Make `bar` the current one, and return the points of its path."""
        begun = self.begun.get(bar.time)
        if begun is None:
            open_, high, low, close = map(self.to_ticks, (bar.open, bar.high, bar.low, bar.close))
            volume = int(bar.volume / self.step)
            counted = ReplayBar(bar.time, bar.closed - bar.time, open_, high, low, close, volume)
            begun = self.begun[bar.time] = counted, path.points(counted)
        self.bar, points = begun
        self.volume_left = liquidity.offered(self.bar)
        self.started = False
        return points

    def take_volume(self, steps: int) -> None:
        """Subtract traded steps from the bar's volume."""
        if self.volume_left is not None:
            self.volume_left -= steps
