"""What a backtest knows of one symbol now: its price, its bars so far, and between which prices nothing can happen."""

from __future__ import annotations

import math
from typing import Any

from ...products import Product
from ...venue.engine.core import Core
from ...venue.simulation.replay import ReplayBar
from ..strategy import Bar, BarHistory
from .models import Liquidity

NEVER = 1 << 62
"""A price or time beyond all others."""


class SymbolState:
    """What the desk knows of one symbol now. Prices in ticks."""

    __slots__ = (
        "ceiling",
        "code",
        "floor",
        "fresh",
        "history",
        "left",
        "market",
        "opened",
        "price",
        "priced",
        "product",
        "shape",
        "step",
        "symbol",
        "texts",
        "tick",
        "underway",
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
        self.price = 0
        """Last known price; 0 before the first."""
        self.wake_low, self.wake_high = -1, NEVER
        """Nothing can happen while the price stays strictly between these."""
        self.floor, self.ceiling = -1.0, math.inf
        """The same as prices in USDC, with half a tick to spare."""
        self.fresh: Bar | None = None
        """The bar whose close `price` does not show yet."""
        self.tick, self.step = float(product.tick_size), float(product.step_size)
        self.texts: dict[int, str] = {}
        """Quantities as text, by steps."""
        self.left: int | None = None
        """Steps that the market still trades in this bar; None = any number."""
        self.shape = ReplayBar(0, 0, 0, 0, 0, 0, 0)
        self.opened = False
        """Whether the present bar has had its first price."""
        self.priced = -1
        """When `price` was looked at last on a bar's way, Unix ms."""
        self.waiting: list[tuple[int, int, int, tuple[str, Any]]] = []
        """Arrivals that wait for a price that is not older than they are: (arrival, number, sent, (what, payload))."""
        self.underway = 0
        """Signed steps of market orders that have not arrived."""

    def text(self, steps: int) -> str:
        """Return a quantity as the text that an order carries."""
        found = self.texts.get(steps)
        if found is None:
            found = self.texts[steps] = self.product.quantity_text(steps)
        return found

    def ticks(self, price: float) -> int:
        """Return a price of the data in ticks, to the nearest."""
        return round(price / self.tick)

    def begin(self, bar: Bar, liquidity: Liquidity) -> None:
        """Enter a new bar."""
        steps = int(bar.volume / self.step)
        prices = self.ticks(bar.open), self.ticks(bar.high), self.ticks(bar.low), self.ticks(bar.close)
        self.shape = shape = ReplayBar(bar.time, bar.closed - bar.time, *prices, steps)
        self.left = liquidity.offered(shape)
        self.opened = False
