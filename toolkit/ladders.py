"""Prices and quantities of a ladder of orders, in whole ticks and steps."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from .errors import InputError
from .products import Amount, Direction, Product, exact


def steps(
    product: Product,
    quantity: Amount,
    first: Amount,
    last: Amount,
    count: int,
    weights: Sequence[Amount] | None,
    rounding: Direction | None,
) -> list[tuple[Decimal, Decimal]]:
    """Return price and quantity of each order; see `orders.scale`. Raises InputError, which names the field."""
    if count < 2:
        raise InputError(f"a ladder needs at least 2 orders, not {count}", field="count", rule="minimum", value=count)
    prices = [_price(product, first, last, index, count, rounding) for index in range(count)]
    return list(zip(prices, _shares(product, quantity, weights, count), strict=True))


def _price(
    product: Product, first: Amount, last: Amount, index: int, count: int, rounding: Direction | None
) -> Decimal:
    low, high = exact(first, "first"), exact(last, "last")
    price = low + (high - low) * index / (count - 1)
    if rounding is not None:
        return product.round_price(price, rounding)
    if price % product.tick_size:
        below, above = product.round_price(price, "down"), product.round_price(price, "up")
        raise InputError(
            f"price {price:.12g} of order {index + 1} is not a multiple of tickSize {product.tick_size}; "
            'give rounding="down", "up" or "nearest", or prices that divide evenly',
            field="rounding",
            rule="tickSize",
            value=str(price),
            nearest=(str(below), str(above)),
        )
    return price.quantize(product.tick_size)  # exact: only the number of decimals changes


def _shares(product: Product, quantity: Amount, weights: Sequence[Amount] | None, count: int) -> list[Decimal]:
    """Split whole steps by weight; the steps left over go, one each, to the orders with the largest remainders."""
    total = exact(quantity, "quantity") / product.step_size
    parts = [exact(weight, "weights") for weight in weights] if weights is not None else [Decimal(1)] * count
    if total != int(total) or len(parts) != count or min(parts) <= 0 or total < count:
        raise InputError(
            f"quantity {quantity} can't be shared by {len(parts)} weights above 0 over {count} orders "
            f"in whole steps of {product.step_size}",
            field="quantity",
            rule="stepSize",
            value=str(quantity),
            nearest=(str(product.round_quantity(quantity, "down")), str(product.round_quantity(quantity, "up"))),
        )
    exact_shares = [total * part / sum(parts) for part in parts]
    steps = [int(share) for share in exact_shares]
    # Largest remainder method; of equal remainders the earlier order comes first.
    by_remainder = sorted(range(count), key=lambda index: (steps[index] - exact_shares[index], index))
    for index in by_remainder[: int(total) - sum(steps)]:
        steps[index] += 1
    return [product.step_size * step for step in steps]
