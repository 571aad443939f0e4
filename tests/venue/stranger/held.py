"""What must hold after each step (risk rules 10 to 12), looked at in the reference's state and in what Info answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from .clock import Clock
from .money import INSURANCE, LP

Equities = dict[str, int]
BRINGS = ("withdraw", "faucetClaim")


def own_equities(venue: Clock, names: list[str]) -> Equities:
    """Return equity by the reference, of accounts and of those of the venue's own that cover losses."""
    return {name: venue.accounts[name].worth for name in (*names, LP, INSURANCE)}


def shown_equities(ask: Callable[..., Any], names: list[str], own: Mapping[str, str]) -> Equities:
    """Return the same as the Info API shows it."""
    found = {}
    for name in (*names, LP, INSURANCE):
        (row,) = ask("/info/account/wallet", userAddr=own.get(name, name), includeZero="true")
        found[name] = int(Fraction(row["equity"]) * 10**6)
    return found


def broken(before: Equities, after: Equities) -> list[str]:
    """Return which of the rules an order has broken at unchanged marks."""
    found = [f"10: {name} has {after[name]}" for name, had in before.items()
             if name not in (LP, INSURANCE) and after[name] < 0 <= had]  # fmt: skip
    rise = sum(after.values()) - sum(before.values())
    return found + ([f"11: all together have {rise} more"] if rise > 0 else [])


def crossed(venue: Clock, books: Mapping[str, Mapping[str, Mapping[str, str]]]) -> list[str]:
    """Return the books that are crossed where they are shown, or that no order could meet as they are (12)."""
    found = []
    for product in venue.products.values():
        shown = books[product.symbol]
        bid, ask = (max(map(Fraction, shown["bids"]), default=None), min(map(Fraction, shown["asks"]), default=None))
        if bid is not None and ask is not None and bid >= ask:
            found.append(f"12: {product.symbol} is crossed")
        for side, best in ((1, bid), (-1, ask)):
            if venue.best(product, side) * product.tick != (best or 0):
                found.append(f"12: the next order meets another price of {product.symbol}")
    return found
