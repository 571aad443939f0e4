"""What an order would do: value, fees, margin, the position afterwards and its liquidation price."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ... import margin
from ...products import Product
from ..base_panel.number_format import WIDE, grouped, trimmed
from .buying_power import margin_needed
from .draft import ZERO, Draft, Holdings, TicketInputs, walk


def preview_order(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> dict[str, Any]:
    """Return the expected effect of an order, amounts as Decimal. `OrderTicket.preview` lists the names."""
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    sign = draft.sign
    levels = market.opposite(sign)
    taken, value = walk(levels, quantity, worst, sign)
    rests = draft.tif in ("", "GTC", "POST_ONLY") and not draft.market
    price = value / taken if taken else worst
    # Without a book the order is shown as if it fills at its worst price.
    filled = quantity if rests or not levels else taken
    notional = value + (filled - taken) * worst
    fee = value * holdings.taker + (filled - taken) * worst * (holdings.maker if rests else holdings.taker)
    after = position_after(draft, holdings, filled, notional)
    mark = market.mark or worst
    preview: dict[str, Any] = {
        "notional": notional,
        "price": notional / filled if filled else price,
        "worst_price": worst if draft.market else None,
        "fills_now": taken,
        "fills": filled,
        "fee": fee,
        "margin": ZERO if draft.reduce_only else max(ZERO, margin_needed(inputs, filled, worst)),
        "available": holdings.available,
        "leverage": holdings.leverage,
        "realized_pnl": after["realized"],
        "size_before": holdings.size,
        "size_after": after["size"],
        "entry_after": after["entry"],
        "effect": after["effect"],
        "maker": holdings.maker,
        "taker": holdings.taker,
        "funding_rate": market.funding_rate,
        "funding": None if market.funding_rate is None else -after["size"] * mark * market.funding_rate,
        "liquidation_before": current_liquidation(product, holdings, mark),
        "liquidation_price": None,
    }
    if holdings.known:
        preview["liquidation_price"] = liquidation_price(product, holdings, after, fee, mark, preview["margin"])
    return preview


def position_after(draft: Draft, holdings: Holdings, quantity: Decimal, value: Decimal) -> dict[str, Any]:
    """Return the leg or net position after the whole fill: size, entry price, realised PnL, effect in words."""
    sign = draft.sign
    if holdings.hedge:
        on_long = (sign > 0) != draft.reduce_only
        size, entry_value = (holdings.long, holdings.long_value) if on_long else (-holdings.short, holdings.short_value)
    else:
        size = holdings.size
        entry_value = holdings.long_value if size > 0 else holdings.short_value
    entry = entry_value / abs(size) if size else ZERO
    price = value / quantity if quantity else ZERO
    closing = min(abs(size), quantity) if size * sign < 0 else ZERO
    realized = closing * (price - entry) * (1 if size > 0 else -1)
    after = size + sign * quantity
    if not after:
        entry_after = None
    elif closing and abs(size) > quantity:
        entry_after = entry
    elif closing:
        entry_after = price
    else:
        entry_after = (entry_value + value) / abs(after)
    return {
        "size": after,
        "entry": entry_after,
        "realized": realized,
        "effect": _effect(size, after),
        "before": size,
    }


def _effect(before: Decimal, after: Decimal) -> str:
    name = "long" if after > 0 else "short"
    if not before:
        return f"opens a {name} of {trimmed(abs(after))}" if after else "leaves no position"
    old = "long" if before > 0 else "short"
    if not after:
        return f"closes the {old} of {trimmed(abs(before))}"
    if before * after < 0:
        return f"turns the {old} of {trimmed(abs(before))} into a {name} of {trimmed(abs(after))}"
    word = "adds to" if abs(after) > abs(before) else "reduces"
    return f"{word} the {old}: {trimmed(abs(before))} → {trimmed(abs(after))}"


def liquidation_price(
    product: Product, holdings: Holdings, after: Mapping[str, Any], fee: Decimal, mark: Decimal, added: Decimal
) -> Decimal | None:
    """Return the estimated liquidation price after the whole fill, None when there is none."""
    size, entry = after["size"], after["entry"]
    if not product.tiers:
        return None
    if holdings.hedge:
        long, short = (abs(size), holdings.short) if size > 0 else (holdings.long, abs(size))
        long_value = abs(size) * entry if size > 0 else holdings.long_value
        short_value = holdings.short_value if size > 0 else abs(size) * (entry or ZERO)
    else:
        long, short = max(size, ZERO), max(-size, ZERO)
        long_value, short_value = long * (entry or ZERO), short * (entry or ZERO)
    if not (long or short):
        return None
    if holdings.isolated:
        # Reducing releases the assigned margin in proportion; opening adds what the order takes, less its fee.
        share = ZERO if abs(size) >= abs(after["before"]) else holdings.assigned * abs(size) / abs(after["before"])
        collateral = share or holdings.assigned + max(added - fee, ZERO)
    else:
        collateral = holdings.cross_equity - holdings.pnl(mark) - holdings.others_maintenance - fee + after["realized"]
    entries = (long_value / long if long else ZERO, short_value / short if short else ZERO)
    price = margin.liquidation_price_hedged(long, entries[0], short, entries[1], collateral, product.tiers)
    return None if price is None or price <= 0 else price


def current_liquidation(product: Product, holdings: Holdings, mark: Decimal) -> Decimal | None:
    """Return the estimated liquidation price of the position as it is, None when there is none."""
    size = holdings.long or -holdings.short
    if not size or not holdings.known:
        return None
    value = holdings.long_value if size > 0 else holdings.short_value
    now = {"size": size, "entry": value / abs(size), "realized": ZERO, "before": size}
    return liquidation_price(product, holdings, now, ZERO, mark, ZERO)


def shown_price(price: Decimal | None, product: Product) -> str:
    """Return an estimated price with the decimals of the product's tick."""
    return grouped(None if price is None else price.quantize(product.tick_size, context=WIDE))
