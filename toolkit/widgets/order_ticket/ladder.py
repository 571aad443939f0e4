"""Several limit orders over a range of prices, which are checked, signed and sent as one request."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from ...errors import InputError
from ...numerals import plain_decimal
from ...orders import Order, scale
from ...products import Product
from .draft import Draft, Problem

MAX_ORDERS = 20


@dataclass(frozen=True, slots=True)
class ScaleOrders:
    """The orders of a scale, from the first to the last price."""

    orders: tuple[Order, ...]

    @property
    def entry(self) -> Order:
        """The first order."""
        return self.orders[0]

    @property
    def legs(self) -> tuple[Order, ...]:
        """All orders."""
        return self.orders

    def describe(self) -> str:
        """Return the ladder in words, e.g. "BUY 0.05 BTCUSDC in 5 orders from 60000.0 to 59000.0"."""
        first, last = self.orders[0], self.orders[-1]
        total = sum((Decimal(one.quantity) for one in self.orders), Decimal(0))
        words = f"{first.side} {total} {first.symbol} in {len(self.orders)} orders from {first.price} to {last.price}"
        return words if first.tif == "GTC" else f"{words} {first.tif}"


def make_ladder(draft: Draft, product: Product, quantity: str, entry: Order) -> ScaleOrders | Problem:
    """Return the orders like `entry` from `price` to `last_price`, or the problem; prices are rounded to ticks."""
    if not draft.last_price:
        return Problem("last_price", "required", "a last price is needed", missing=True)
    if plain_decimal(draft.last_price) is None:
        return Problem("last_price", "decimal text", f"last price {draft.last_price!r} is not a plain decimal text")
    count = int(draft.count) if draft.count.isdecimal() and draft.count.isascii() and len(draft.count) < 5 else 0
    if not 2 <= count <= MAX_ORDERS:
        return Problem("count", "orders", f"the number of orders {draft.count!r} must be 2 to {MAX_ORDERS}")
    try:
        orders = scale(
            product, draft.side, quantity, first=draft.price, last=draft.last_price, count=count, rounding="nearest",
            tif=entry.tif, reduce_only=entry.reduce_only,
        )  # fmt: skip
    except InputError as error:
        return Problem("quantity", error.rule or "ladder", str(error))
    return ScaleOrders(tuple(orders))
