"""What an order would do: value, fees, margin, the position afterwards and its liquidation price."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ... import margin
from ...products import Product
from ..base_panel.number_format import in_units, money, percent, signed, trimmed
from .buying_power import margin_needed
from .draft import ZERO, Draft, Holdings, TicketInputs, walk


def preview_order(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> dict[str, Any]:
    """Return the expected effect of an order, amounts as Decimal. `OrderTicket.preview` lists the names."""
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    sign = draft.sign
    levels = market.opposite(sign)
    taken, value = walk(levels, quantity, worst, sign)
    rests = draft.effective_tif in ("GTC", "POST_ONLY") and not draft.market
    # Without a book an order is shown as if it fills at its worst price; so is a TWAP, whose parts trade in time.
    filled = quantity if rests or not levels or (draft.kind.tif and not draft.market) else taken
    notional = value + (filled - taken) * worst
    fee = value * holdings.taker + (filled - taken) * worst * (holdings.maker if rests else holdings.taker)
    after = _position_after(draft, holdings, filled, notional)
    mark = market.mark or worst
    preview: dict[str, Any] = {
        "notional": notional,
        "price": notional / filled if filled else worst,
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
        preview["liquidation_price"] = _liquidation_price(product, holdings, after, fee, mark, preview["margin"])
    return preview


def _position_after(draft: Draft, holdings: Holdings, quantity: Decimal, value: Decimal) -> dict[str, Any]:
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
    found = {"size": after, "entry": entry_after, "realized": realized, "before": size}
    return {**found, "effect": _effect(size, after)}


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


def _liquidation_price(
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
    return _liquidation_price(product, holdings, now, ZERO, mark, ZERO)


def preview_view(preview: Mapping[str, Any], product: Product, mark: Decimal | None) -> list[list[str]]:
    """Return the preview as rows of name, value and note."""
    if not preview:
        return []
    tick = product.tick_size
    rows = [["Value", f"{money(preview['notional'])} USDC", ""]]
    if "slices" in preview:
        slices, quantity, interval_ms = preview["slices"]
        each = f"{trimmed(quantity)} {product.base_currency}, one every {timedelta(milliseconds=interval_ms)}"
        rows.append(["Orders", str(slices), f"of about {each}"])
    if preview["worst_price"] is not None:
        worst = f"at worst {in_units(preview['worst_price'], tick)}"
        rows.append(["Price (est.)", in_units(preview["price"], tick), worst])
    if preview["fills_now"]:
        rows.append(["Fills immediately", f"{trimmed(preview['fills_now'])} {product.base_currency}", ""])
    tier = f"taker {percent(preview['taker'], 3)}, maker {percent(preview['maker'], 3)}"
    rows.append(["Fee (est.)", f"{money(preview['fee'])} USDC", tier])
    available = f"of {money(preview['available'])} available, {trimmed(preview['leverage'])}x"
    rows.append(["Margin", f"{money(preview['margin'])} USDC", available])
    rows.append(["Position", preview["effect"], ""])
    if preview["realized_pnl"]:
        rows.append(["Realised PnL (est.)", f"{signed(preview['realized_pnl'])} USDC", ""])
    for name, (trigger, pnl) in preview.get("exits", {}).items():
        about = f"at {in_units(trigger, tick)}, after fees"
        if preview["margin"]:
            about += f", {percent(pnl / preview['margin'], 1)} of the margin"
        rows.append([f"At {name.replace('_', ' ')} (est.)", f"{signed(pnl)} USDC", about])
    price, before = preview["liquidation_price"], preview["liquidation_before"]
    shown = "none" if price is None else in_units(price, tick)
    if before is not None:
        shown = f"{in_units(before, tick)} → {shown}"
    distance = f"{percent(abs(price - mark) / mark, 1)} from mark" if price is not None and mark else ""
    rows.append(["Liquidation (est.)", shown, distance])
    if preview["funding"] is not None:
        about = f"for the position after the order, at {percent(preview['funding_rate'], 4)} of its value"
        rows.append(["Next funding (est.)", f"{signed(preview['funding'], 4)} USDC", about])
    return rows
