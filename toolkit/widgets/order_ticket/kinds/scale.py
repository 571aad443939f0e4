"""Scale: several limit orders at evenly spaced prices, in one request."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import traitlets

from ....numerals import plain_decimal
from ....orders import Order, scale
from ....products import Product
from ..draft import Draft, Problem, TicketMarket
from ..fields import Amount, Field, Row, TicketFields
from ..validation import missing
from .several import Several


class ScaleFields(traitlets.HasTraits):
    """The field that only a scale has."""

    last_price = Amount("").tag(sync=True)
    """Last limit price of a scale; between its orders prices are rounded to the nearest tick."""


@dataclass(frozen=True, slots=True)
class ScaleOrders:
    """The orders of a scale, from the first to the last price."""

    legs: tuple[Order, ...]

    @property
    def entry(self) -> Order:
        """The first order."""
        return self.legs[0]

    @property
    def total(self) -> Decimal:
        """Quantity of all orders."""
        return sum((Decimal(one.quantity) for one in self.legs), Decimal(0))

    def describe(self) -> str:
        """Return the ladder in words, e.g. "BUY 0.05 BTCUSDC in 5 orders from 60000.0 to 59000.0"."""
        first, last = self.legs[0], self.legs[-1]
        words = f"{first.side} {self.total} {first.symbol} in {len(self.legs)} orders"
        words += f" from {first.price} to {last.price}"
        return words if first.tif == "GTC" else f"{words} {first.tif}"


class Scale(Several):
    """`count` limit orders from `price` to `last_price`."""

    name, label, most = "SCALE", "Scale", 20

    def rows(self, draft: Draft, fields: TicketFields) -> list[Row]:
        """Return both ends, the number of orders, and what a limit order has."""
        last = Field("last_price", "Last price", "last price")
        return [
            (fields.price.but(label="First price (USDC)"),), (last, self.count_field()), (fields.quantity,),
            (fields.tif, fields.reduce_only),
        ]  # fmt: skip

    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> ScaleOrders | Problem:
        """Return the orders of the ladder."""
        last = draft.own["last_price"]
        if not last:
            return missing("last_price", "a last price is needed")
        if plain_decimal(last) is None:
            return Problem("last_price", "decimal text", f"last price {last!r} is not a plain decimal text")
        orders = scale(
            product, draft.side, quantity, first=draft.price, last=last, count=count, rounding="nearest",
            tif=entry.tif, reduce_only=entry.reduce_only,
        )  # fmt: skip
        return ScaleOrders(tuple(orders))

    def worst_price(self, draft: Draft, product: Product, market: TicketMarket) -> Decimal | None:
        """Return the end of the ladder that is worse for the trader."""
        ends = [one for one in map(plain_decimal, (draft.price, draft.own["last_price"])) if one is not None]
        return (max(ends) if draft.sign > 0 else min(ends)) if ends else None

    def request(self, order: Any) -> list[Order]:
        """Return all orders: they are one request."""
        return list(order.legs)

    def price_words(self, draft: Draft) -> str:
        """Return both ends in words."""
        return f"{super().price_words(draft)} to {draft.own['last_price'] or '…'}"
