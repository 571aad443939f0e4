"""How much an order could take from the book, exactly: what a fill-or-kill order has to know before it begins.

Level totals are not enough. Orders of the taker's own account do not count, and a maker's fills may shrink the position
that its reduce-only orders further back may reduce, which cuts those (`lifecycle.trim`).
"""

from __future__ import annotations

from . import risk
from .core import Core
from .state import HEDGE, ISOLATED, Account, Order


class _Cover:
    """One maker's position as it would shrink, with the reduce-only orders that it still covers."""

    __slots__ = ("leg", "orders")

    def __init__(self, account: Account, code: int, side: int) -> None:
        position = account.positions[code]
        self.leg = (position.short if side > 0 else position.long).size
        self.orders = {
            order.id: order.leaves
            for order in account.orders.values()
            if order.product == code and order.side == side and order.priority and order.reducing
        }

    def fill(self, order: Order, most: int) -> int:
        """Fill up to `most` steps of an order of this account; return how many."""
        quantity = min(most, self.orders[order.id] if order.reducing else order.leaves)
        if order.reducing:
            self.orders[order.id] -= quantity
        self.leg -= min(quantity, self.leg)
        excess = sum(self.orders.values()) - self.leg
        for order_id in sorted(self.orders, reverse=True):
            if excess <= 0:
                break
            cut = min(excess, self.orders[order_id])
            self.orders[order_id] -= cut
            excess -= cut
        return quantity


def takeable(core: Core, order: Order, limit: int) -> tuple[int, list[Order]]:
    """Return how many steps, at most its leaves, an order could fill at `limit` ticks or better.

    Also the orders on the way that must not fill as they are: they would open isolated positions without margin.
    """
    wanted, found = order.leaves, 0
    unbearable: list[Order] = []
    ladder = core.books[order.product].side(-order.side)
    accounts, covers = core.state.accounts, dict[str, _Cover]()
    for level in ladder.within(limit):
        for maker in level.orders.values():
            address = maker.address
            if address == order.address:
                continue
            account = accounts[address]
            position = account.positions[order.product]
            reducing = position.buy_reducing if maker.side > 0 else position.sell_reducing
            most = wanted - found
            if position.mode == ISOLATED and not maker.reducing:
                quantity = min(maker.leaves, most)
                if not risk.bearable(core, account, position, maker.side, quantity, level.price):
                    unbearable.append(maker)
                    most = min(most, risk.reducible(account, position, maker.side))
            if not reducing or account.position_mode == HEDGE:
                found += min(maker.leaves, most)
            else:
                if address not in covers:
                    covers[address] = _Cover(account, order.product, maker.side)
                found += covers[address].fill(maker, most)
            if found >= wanted:
                return found, unbearable
    return found, unbearable
