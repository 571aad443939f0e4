"""What the front end of the ticket draws, as plain texts; pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ...products import Product
from ..base_panel.number_format import MISSING, grouped, money, percent, signed, trimmed
from .draft import Draft, Problem, TicketMarket
from .fields import TicketFields, rows_view
from .kinds.kind import OrderKind
from .kinds.registry import KINDS
from .preview import shown_price


def form_view(kind: OrderKind, draft: Draft, product: Product) -> dict[str, Any]:
    """Return what the form shows: the kinds of orders, the fields of the chosen one, and those of its exits."""
    fields = TicketFields(product, draft.quantity_as, draft.default_tif)
    rows = kind.rows(draft, fields)
    # By which price a trigger counts is one setting: a kind that shows it has no second one among the exits.
    shown = {one.name for row in rows for one in row if one is not None}
    exits = fields.exits(*([] if "trigger_by" in shown else [fields.trigger_by]))
    return {
        "kinds": [[one.name, one.label] for one in KINDS.values()],
        "rows": rows_view(rows),
        # An exit that was typed for another kind stays in sight: it is a problem that can be cleared.
        "more": rows_view(exits if kind.exits or draft.take_profit or draft.stop_loss else ()),
        "picksPrice": kind.price != "none",
    }


def market_view(market: TicketMarket) -> dict[str, str]:
    """Return the current prices."""
    prices = {"bid": market.bid, "ask": market.ask, "mark": market.mark, "last": market.last}
    return {name: MISSING if price is None else grouped(price) for name, price in prices.items()}


def problem_view(problem: Problem) -> dict[str, Any]:
    """Return a problem with the labels of its buttons."""
    message = problem.message
    # The buttons show the values that pass, so the message need not repeat them.
    for ending in ("; nearest ", "; at most "):
        message = message.rpartition(ending)[0] or message if problem.choices else message
    return {
        "field": problem.field,
        "rule": problem.rule,
        "message": message,
        "missing": problem.missing,
        "choices": [choice.label for choice in problem.choices],
    }


def preview_view(preview: Mapping[str, Any], product: Product, mark: Decimal | None) -> list[list[str]]:
    """Return the preview as rows of name, value and note."""
    if not preview:
        return []
    rows = [["Value", f"{money(preview['notional'])} USDC", ""]]
    if "slices" in preview:
        slices, quantity, interval_ms = preview["slices"]
        each = f"{trimmed(quantity)} {product.base_currency}, one every {timedelta(milliseconds=interval_ms)}"
        rows.append(["Orders", str(slices), f"of about {each}"])
    if preview["worst_price"] is not None:
        worst = f"at worst {shown_price(preview['worst_price'], product)}"
        rows.append(["Price (est.)", shown_price(preview["price"], product), worst])
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
        words = f"{signed(pnl)} USDC"
        about = f"at {shown_price(trigger, product)}, after fees"
        if preview["margin"]:
            about += f", {percent(pnl / preview['margin'], 1)} of the margin"
        rows.append([f"At {name.replace('_', ' ')} (est.)", words, about])
    price, before = preview["liquidation_price"], preview["liquidation_before"]
    shown = "none" if price is None else shown_price(price, product)
    if before is not None:
        shown = f"{shown_price(before, product)} → {shown}"
    distance = f"{percent(abs(price - mark) / mark, 1)} from mark" if price is not None and mark else ""
    rows.append(["Liquidation (est.)", shown, distance])
    if preview["funding"] is not None:
        about = f"for the position after the order, at {percent(preview['funding_rate'], 4)} of its value"
        rows.append(["Next funding (est.)", f"{signed(preview['funding'], 4)} USDC", about])
    return rows
