"""Take-profit and stop-loss as price, percent or PnL: the trigger prices they mean, and the result to expect."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ...numerals import plain_decimal
from ...products import Product
from .draft import Draft, Problem, meant

EXITS = {"take_profit": 1, "stop_loss": -1}
"""Field → +1 if it lies in the direction of the position's profit."""


def with_exit_prices(
    draft: Draft, product: Product, reference: Decimal | None, quantity: Decimal | None
) -> tuple[Draft, list[Problem]]:
    """Return the draft with trigger prices, rounded to the nearest tick, in place of percent or PnL.

    Percent is the distance from `reference`, PnL an amount in USDC for `quantity`; a stop-loss is given above 0 too.
    """
    if draft.exit_as == "price":
        return draft, []
    problems: list[Problem] = []
    prices: dict[str, Any] = {}
    for name, way in EXITS.items():
        text = getattr(draft, name)
        if not text:
            continue
        prices[name] = ""
        number = plain_decimal(text)
        what = f"{name.replace('_', ' ')} {text!r}"
        if number is None or number <= 0:
            problems.append(Problem(name, "decimal text", f"{what} is not a number above 0", meant(name, text)))
        elif not reference or (draft.exit_as == "pnl" and not quantity):
            problems.append(Problem(name, "price", f"{what} needs the order's price and quantity first", missing=True))
        else:
            width = reference * number / 100 if draft.exit_as == "percent" else number / (quantity or Decimal(1))
            price = product.round_price(reference + draft.sign * way * width, "nearest")
            if price <= 0:
                problems.append(Problem(name, "price above 0", f"{what} lies beyond a price of 0"))
            else:
                prices[name] = format(price, "f")
    return dataclasses.replace(draft, **prices), problems


def exit_results(draft: Draft, preview: Mapping[str, Any], taker: Decimal) -> dict[str, tuple[Decimal, Decimal]]:
    """Return (trigger price, PnL expected there after the fees of both fills) for each exit of the draft."""
    found = {}
    for name in EXITS:
        trigger = plain_decimal(getattr(draft, name))
        if trigger is not None:
            moved = draft.sign * (trigger - preview["price"]) * preview["fills"]
            found[name] = (trigger, moved - preview["fee"] - taker * trigger * preview["fills"])
    return found
