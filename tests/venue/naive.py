"""A venue's order rules in the most naive way: one list of orders, scanned from the start for everything.

No money, no levels, no indexes. It is what the engine is held against; when they differ, one of them is wrong.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

GTC, IOC, FOK, POST_ONLY = "GTC", "IOC", "FOK", "POST_ONLY"


@dataclass
class Plain:
    """One order of the model. side +1/−1, price in ticks (None: market), sizes in steps."""

    id: int
    account: str
    side: int
    closing: bool
    price: int | None
    quantity: int
    tif: str
    reduce: bool
    leaves: int = 0
    filled: int = 0
    place: int = 0
    """Place in time while it rests, 0 = does not rest."""
    status: str = "NEW"

    @property
    def reducing(self) -> bool:
        return self.reduce or self.closing


@dataclass
class Naive:
    """The model: `hedged` accounts hold both legs, the others one."""

    hedged: frozenset[str]
    last: int
    orders: list[Plain] = field(default_factory=list)
    trades: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(maker id, taker id, price, quantity)"""
    legs: dict[str, dict[int, int]] = field(default_factory=dict)
    """account → {+1: long, −1: short}"""
    time: int = 0

    def leg(self, account: str, side: int) -> int:
        return self.legs.setdefault(account, {1: 0, -1: 0})[side]

    def resting(self, side: int) -> list[Plain]:
        """Orders of a side in the book, best first, then first come."""
        found = [order for order in self.orders if order.place and order.side == side]
        return sorted(found, key=lambda order: (-side * (order.price or 0), order.place))

    def place(self, order: Plain) -> bool:
        """Place an order; False when it is refused."""
        if not self.fits(order, order.quantity) or self.would_match(order):
            order.status = "REJECTED"
            self.orders.append(order)
            return False
        self.orders.append(order)
        self.enter(order)
        return True

    def fits(self, order: Plain, wanted: int, besides: Plain | None = None) -> bool:
        """Set leaves of an order as far as its account lets it; False when it does not."""
        order.leaves = wanted
        if order.closing and order.account not in self.hedged:
            return False
        if not order.reducing:
            return True
        if order.account in self.hedged and not order.closing:
            return False
        free = self.leg(order.account, -order.side)
        if free and (order.tif == POST_ONLY or (order.tif == GTC and not self.takeable(order, order.price))):
            free -= sum(
                other.leaves
                for other in self.resting(order.side)
                if other.account == order.account and other.reducing and other is not besides
            )
        if free <= 0 or (order.tif == FOK and wanted > free):
            return False
        order.leaves = min(wanted, free)
        return True

    def would_match(self, order: Plain) -> bool:
        return order.tif == POST_ONLY and bool(self.takeable(order, order.price))

    def takeable(self, order: Plain, limit: int | None) -> list[Plain]:
        """What an order could trade with up to a limit, in turn (orders of its own account among it)."""
        return [
            other
            for other in self.resting(-order.side)
            if limit is None or (other.price or 0) * order.side <= limit * order.side
        ]

    def enter(self, order: Plain) -> None:
        limit = order.price
        if limit is None:
            limit = self.last * 103 // 100 if order.side > 0 else -(-self.last * 97 // 100)
        if order.tif == FOK:
            trial = copy.deepcopy(self)
            taking = next(other for other in trial.orders if other is not order and other.id == order.id)
            trial.match(taking, limit)
            if taking.leaves:
                self.end(order)
                return
        self.match(order, limit)
        if order.leaves and order.price is not None and order.tif in (GTC, POST_ONLY):
            self.time += 1
            order.place = self.time
            self.trim(order.account)
        else:
            self.end(order)

    def match(self, order: Plain, limit: int) -> None:
        while order.leaves:
            found = self.takeable(order, limit)
            if not found:
                break
            maker = found[0]
            if maker.account == order.account:
                self.end(maker)
                continue
            self.trade(maker, order, min(maker.leaves, order.leaves))

    def trade(self, maker: Plain, taker: Plain, quantity: int) -> None:
        price = maker.price or 0
        self.last = price
        self.trades.append((maker.id, taker.id, price, quantity))
        for order in (maker, taker):
            order.leaves -= quantity
            order.filled += quantity
            order.status = "PARTIALLY_FILLED"
        if not maker.leaves:
            self.end(maker)
        for order in (maker, taker):
            self.leg(order.account, 1)
            legs = self.legs[order.account]
            closes = min(quantity, legs[-order.side])
            if order.account in self.hedged:
                closes = quantity if order.closing else 0
            legs[-order.side] -= closes
            legs[order.side] += quantity - closes
            self.trim(order.account)

    def trim(self, account: str) -> None:
        """Cut what rests and may only reduce down to the position, last placed first."""
        for side in (1, -1):
            mine = [order for order in self.resting(side) if order.account == account and order.reducing]
            excess = sum(order.leaves for order in mine) - self.leg(account, -side)
            for order in sorted(mine, key=lambda order: -order.id):
                cut = min(max(excess, 0), order.leaves)
                order.leaves -= cut
                excess -= cut
                if not order.leaves:
                    self.end(order)

    def end(self, order: Plain) -> None:
        order.place = order.leaves = 0
        order.status = "FILLED" if order.filled == order.quantity else "CANCELED"

    def cancel(self, order: Plain) -> None:
        self.end(order)

    def replace(self, order: Plain, price: int, quantity: int, tif: str) -> bool:
        """Replace an open order; it keeps its place only at the same price with no more quantity."""
        trial = Plain(order.id, order.account, order.side, order.closing, price, quantity, tif, order.reduce)
        if quantity <= order.filled or self.would_match(trial):
            return False
        left = quantity - order.filled
        if price == order.price and left <= order.leaves:
            order.quantity, order.leaves, order.tif = quantity, left, tif
            return True
        if not self.fits(trial, left, besides=order):
            return False
        order.place = 0
        order.price, order.quantity, order.leaves, order.tif = price, quantity, trial.leaves, tif
        self.enter(order)
        return True
