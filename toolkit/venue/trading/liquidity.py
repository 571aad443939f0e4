"""How much an order could take from the book, exactly: what a fill-or-kill order has to know before it begins.

Level totals are not enough. Orders of the taker's own account do not count, and a maker's fills may shrink the position
that its reduce-only orders further back may reduce, which cuts those (`lifecycle.trim`).
"""

from __future__ import annotations

from ..engine.core import Core
from ..model.accounts import VenueAccount, VenueOrder
from ..model.constants import HEDGE, ISOLATED
from ..risk import account_margin


class _Maker:
    """One maker's account as its fills would change it: what it could close, what it would open."""

    __slots__ = ("account", "left", "opened", "orders", "position", "value")

    def __init__(self, account: VenueAccount, order: VenueOrder) -> None:
        self.account = account
        self.position = position = account.positions[order.product]
        side = order.side
        self.left = (position.short if side > 0 else position.long).size
        """What is left of the leg that its orders close."""
        self.opened = self.value = 0
        """Steps that its orders would have opened, and what they cost."""
        self.orders: dict[int, int] = {}
        """The reduce-only orders that the leg still covers: id → leaves. In hedge mode nothing else shrinks the leg."""
        if account.position_mode != HEDGE and (position.buy_reducing if side > 0 else position.sell_reducing):
            self.orders = {
                other.id: other.leaves
                for other in account.orders.values()
                if other.product == order.product and other.side == side and other.priority and other.reducing
            }

    def reducible(self, order: VenueOrder) -> int:
        """Return how many steps of an order would close."""
        return self.left if order.reducing or self.account.position_mode != HEDGE else 0

    def bears(self, core: Core, order: VenueOrder, quantity: int) -> bool:
        """Tell whether it has the margin for so many steps of an order, after all that it has filled before."""
        if self.position.mode != ISOLATED or order.reducing:
            return True
        more = quantity - self.reducible(order)
        if more <= 0:
            return True
        value = self.value + more * order.price * core.products[order.product].unit
        return account_margin.has_margin_for(core, self.account, self.position, order.side, self.opened + more, value)

    def fill(self, order: VenueOrder, most: int, unit: int) -> int:
        """Fill up to `most` steps of an order; return how many."""
        there = self.orders[order.id] if order.reducing and self.orders else order.leaves
        quantity = min(most, there)
        closed = min(quantity, self.reducible(order))
        self.left -= closed
        self.opened += quantity - closed
        self.value += (quantity - closed) * order.price * unit
        if self.orders:
            if order.reducing:
                self.orders[order.id] -= quantity
            self._trim()
        return quantity

    def _trim(self) -> None:
        excess = sum(self.orders.values()) - self.left
        for order_id in sorted(self.orders, reverse=True):
            if excess <= 0:
                break
            cut = min(excess, self.orders[order_id])
            self.orders[order_id] -= cut
            excess -= cut


def takeable(core: Core, order: VenueOrder, limit: int) -> tuple[int, list[tuple[VenueOrder, int]]]:
    """Return how many steps, at most its leaves, an order could fill at `limit` ticks or better.

    Also the orders on the way that must not fill as they are, because they would open isolated positions without
    margin, and by how many steps they are too large.
    """
    wanted, found = order.leaves, 0
    unbearable: list[tuple[VenueOrder, int]] = []
    unit = core.products[order.product].unit
    ladder = core.books[order.product].side(-order.side)
    accounts, makers = core.state.accounts, dict[str, _Maker]()
    for level in ladder.within(limit):
        for resting in level.orders.values():
            address = resting.address
            if address == order.address:
                continue
            maker = makers.get(address)
            if maker is None:
                maker = makers[address] = _Maker(accounts[address], resting)
            most = wanted - found
            if not maker.bears(core, resting, min(resting.leaves, most)):
                closing = maker.reducible(resting)
                unbearable.append((resting, resting.leaves - closing))
                most = min(most, closing)
            found += maker.fill(resting, most, unit)
            if found >= wanted:
                return found, unbearable
    return found, unbearable
