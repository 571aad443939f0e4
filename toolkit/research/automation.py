"""Orders that a run looks after between bars: trailing stops, and orders of which one cancels the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .account_data import OrderHandle
from .market_data import Bar

if TYPE_CHECKING:
    from ..orders import Order
    from ..products import Product


class Trader(Protocol):
    """The part of a context that these orders need."""

    def position(self, symbol: str) -> float: ...
    def underway(self, symbol: str) -> float: ...
    def price(self, symbol: str) -> float: ...
    def product(self, symbol: str) -> Product: ...
    def place(self, order: Order) -> OrderHandle: ...
    def cancel(self, placed: OrderHandle) -> None: ...


class TrailingStop:
    """A stop that follows the best price of its position at a distance, and never moves back.

    At each close it is placed again when the bar's extreme has moved it; within a bar it stays. It ends with its
    position, or by `cancel`.

    Attributes: `symbol`, `ratio` (distance from the best price), `stop` (the trigger price, NaN before the first),
    `handle` (the present order, None before), `done`.
    """

    def __init__(self, ctx: Trader, symbol: str, ratio: float) -> None:
        self.symbol = symbol
        self.ratio = ratio
        self.stop = float("nan")
        self.handle: OrderHandle | None = None
        self.done = False
        self._ctx = ctx
        self._long = True

    def update(self, bar: Bar | None = None) -> None:
        """Follow the bar that has closed; without one: place the first stop at the present price."""
        from ..orders import Order

        ctx = self._ctx
        size = ctx.position(self.symbol)
        expected = size + ctx.underway(self.symbol)
        if not expected or (self.handle is not None and (self.handle.state == "FILLED" or size * self._sign < 0)):
            if self.handle is not None:
                self.cancel()
            return
        if self.handle is not None and self.handle.state == "REJECTED":  # a jump has passed it, for example
            self.handle, self.stop = None, float("nan")
        if self.handle is None:
            self._long = expected > 0
        best = ctx.price(self.symbol) if bar is None else (bar.high if self._long else bar.low)
        wanted = best * (1 - self._sign * self.ratio)
        product = ctx.product(self.symbol)
        price = product.round_price(f"{wanted:.12f}", "down" if self._long else "up")
        # NaN compares false: the first stop is always placed.
        if (float(price) - self.stop) * self._sign <= 0:
            return
        if self.handle is not None:
            ctx.cancel(self.handle)
        self.stop = float(price)
        exit_order = Order(
            self.symbol,
            "SELL" if self._long else "BUY",
            "0",
            tif="IOC",
            reduce_only="SL_FROM_POSITION",
            trigger_price=format(price, "f"),
        )
        self.handle = ctx.place(exit_order)

    @property
    def _sign(self) -> int:
        return 1 if self._long else -1

    def cancel(self) -> None:
        """End it, and cancel its order."""
        self.done = True
        if self.handle is not None:
            self._ctx.cancel(self.handle)


def cancel_others(ctx: Trader, groups: list[tuple[OrderHandle, ...]]) -> None:
    """Cancel the rest of each group of which one order was filled, if only in part; keep the groups still waiting."""
    waiting = []
    for group in groups:
        if not any(placed.filled for placed in group):
            if not all(placed.done for placed in group):
                waiting.append(group)
            continue
        for placed in group:
            if not placed.filled and not placed.done:
                ctx.cancel(placed)
    groups[:] = waiting
