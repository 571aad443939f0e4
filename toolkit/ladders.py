"""A ladder of orders: prices and quantities in whole ticks and steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .errors import InputError
from .products import Amount, Direction, Product, exact
from .protocol.reads.product_rows import ProductRule


@dataclass(frozen=True, slots=True, repr=False)
class Ladder:
    """A ladder of a product given by its symbol: its orders are made when it is placed, with the product's steps.

    Parameters
    ----------
    symbol : str or int
        Symbol or code of the product.
    side : str
        BUY or SELL.
    quantity : str, int, float or Decimal
        Quantity of all orders together, base units.
    first : str, int, float or Decimal
        Price of the first order, USDC.
    last : str, int, float or Decimal
        Price of the last order, USDC.
    count : int
        Number of orders, 2 or more.
    weights : tuple of str, int, float or Decimal or None
        Share of each order in the quantity, relative to the others, None for equal ones.
    rounding : Direction or None
        How prices between ticks are rounded: "down", "up" or "nearest", None refuses them.
    order : callable
        Function that makes an order of its quantity and its price.
    """

    symbol: str | int
    side: str
    quantity: Amount
    first: Amount
    last: Amount
    count: int
    weights: tuple[Amount, ...] | None
    rounding: Direction | None
    order: Callable[[str, str], Any]

    def orders(self, product: Product) -> list[Any]:
        """Return its orders, from the first price to the last.

        Parameters
        ----------
        product : Product
            Product whose tick and step they have.

        Raises
        ------
        InputError
            Names the field that is wrong.
        """
        if self.count < 2:
            what = f"a ladder needs at least 2 orders, not {self.count}"
            raise InputError(what, field="count", rule="minimum", value=self.count)
        prices = [self._price(product, index) for index in range(self.count)]
        shares = self._shares(product)
        return [self.order(format(size, "f"), format(price, "f")) for price, size in zip(prices, shares, strict=True)]

    def _price(self, product: Product, index: int) -> Decimal:
        low, high = exact(self.first, "first"), exact(self.last, "last")
        price = low + (high - low) * index / (self.count - 1)
        if self.rounding is not None:
            return product.round_price(price, self.rounding)
        if price % product.tick_size:
            nearest = tuple(str(product.round_price(price, way)) for way in ("down", "up"))
            what = f"price {price:.12g} of order {index + 1} is not a multiple of tickSize {product.tick_size}"
            advice = 'Give rounding="down", "up" or "nearest", or prices that divide evenly'
            raise InputError(
                f"{what}. {advice}", field="rounding", rule=ProductRule.TICK_SIZE, value=str(price), nearest=nearest
            )
        return price.quantize(product.tick_size)  # exact: only the number of decimals changes

    def _shares(self, product: Product) -> list[Decimal]:
        """Split whole steps by weight, the steps left over go, one each, to those with the largest remainders."""
        total = exact(self.quantity, "quantity") / product.step_size
        weights = (1,) * self.count if self.weights is None else self.weights
        parts = [exact(weight, "weights") for weight in weights]
        if total != int(total) or len(parts) != self.count or min(parts) <= 0 or total < self.count:
            nearest = tuple(str(product.round_quantity(self.quantity, way)) for way in ("down", "up"))
            what = f"quantity {self.quantity} can't be shared by {len(parts)} weights above 0 over {self.count} orders"
            what += f" in whole steps of {product.step_size}"
            raise InputError(
                what, field="quantity", rule=ProductRule.STEP_SIZE, value=str(self.quantity), nearest=nearest
            )
        exact_shares = [total * part / sum(parts) for part in parts]
        steps = [int(share) for share in exact_shares]
        # Largest remainder method; of equal remainders the earlier order comes first.
        by_remainder = sorted(range(self.count), key=lambda index: (steps[index] - exact_shares[index], index))
        for index in by_remainder[: int(total) - sum(steps)]:
            steps[index] += 1
        return [product.step_size * step for step in steps]

    def __repr__(self) -> str:
        words = f"{self.side} {self.quantity} {self.symbol} in {self.count} orders from {self.first} to {self.last}"
        return f"<Ladder {words}>"
