"""Limit and market orders."""

from __future__ import annotations

from .kind import OrderKind


class Limit(OrderKind):
    """An order with a limit price."""

    name, label = "LIMIT", "Limit"


class Market(OrderKind):
    """An order without a price, bounded by its slippage."""

    name, label, price = "MARKET", "Market", "none"
