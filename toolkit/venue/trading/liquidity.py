"""What an order would meet in the book: how far it may reach, and how much it could fill.

A fill-or-kill order must know that exactly before it trades.
Level totals are not enough. Orders of the taker's own account do not count, and a maker's fills may shrink the position
that its reduce-only orders further back may reduce, which cuts those (`lifecycle.shrink_reduce_only`).
"""

from __future__ import annotations

from dataclasses import replace

from ...checks import slippage_bound
from ..engine.core import Core
from ..model.accounts import VenueAccount, VenueOrder
from ..model.constants import HEDGE, ISOLATED, LAST_PRICE, MARK_PRICE
from ..model.state import MarketState
from ..risk import fees, order_margin
from ..risk.account_margin import mark_step
from .positions import grow_leg, reduce_leg


def reference_price(market: MarketState, by: int) -> int:
    """Return the price in ticks that triggers by LAST_PRICE, MARK_PRICE or INDEX_PRICE are compared with."""
    return market.last if by == LAST_PRICE else market.mark if by == MARK_PRICE else market.oracle


def slippage_limit(core: Core, order: VenueOrder, price_ticks: int) -> int:
    """Return the worst price, in ticks, that a market order triggered at a price may trade at.

    It counts from that price or the last trade, whichever is further in the direction of the order: after a gap one of
    them may be far from where anybody trades.
    """
    last_ticks = core.state.markets[order.product].last or price_ticks
    reference_ticks = max(price_ticks, last_ticks) if order.side > 0 else min(price_ticks, last_ticks)
    return slippage_bound(core.products[order.product], order.side, reference_ticks, order.slippage)


def prospects(core: Core, order: VenueOrder) -> tuple[int, int, int, int]:
    """Return what must change before a triggered exit is worth another try.

    That is trades, mark and index of its market, and the steps that are offered within its bound.
    """
    market = core.state.markets[order.product]
    limit_ticks = slippage_limit(core, order, reference_price(market, order.trigger_by))
    offered = sum(level.total for level in core.books[order.product].side(-order.side).within(limit_ticks))
    return market.trades, market.mark, market.oracle, offered


class _Maker:
    """A maker's account as its fills would change it: its position, and what they would bring to its balance."""

    __slots__ = ("account", "brought", "orders", "position")

    def __init__(self, account: VenueAccount, order: VenueOrder) -> None:
        self.account = account
        held, side = account.positions[order.product], order.side
        self.position = replace(held, long=replace(held.long), short=replace(held.short))
        self.brought = 0
        self.orders: dict[int, int] = {}
        """The reduce-only orders that the leg still covers: id → steps. In hedge mode nothing else shrinks the leg."""
        if account.position_mode != HEDGE and (held.buy_reducing if side > 0 else held.sell_reducing):
            self.orders = {
                other.id: other.leaves
                for other in account.orders.values()
                if other.product == order.product and other.side == side and other.priority and other.reducing
            }

    def closable(self, order: VenueOrder) -> int:
        """Return how many steps of an order would close."""
        leg = self.position.short if order.side > 0 else self.position.long
        return leg.size if order.reducing or self.account.position_mode != HEDGE else 0

    def has_margin_for(self, core: Core, order: VenueOrder, quantity_steps: int) -> bool:
        """Return whether it has the margin for so many steps of an order, after all its fills before."""
        if self.position.mode != ISOLATED or order.reducing:
            return True
        opened = quantity_steps - self.closable(order)
        value = opened * order.price * core.products[order.product].unit
        return order_margin.has_margin_for(core, self.account, self.position, order.side, opened, value, self.brought)

    def fill(self, core: Core, order: VenueOrder, most_steps: int) -> int:
        """Fill up to `most_steps` of an order; return how many."""
        filled = min(most_steps, self.orders[order.id] if order.reducing and self.orders else order.leaves)
        self._settle(core, order, filled, min(filled, self.closable(order)))
        if self.orders:
            if order.reducing:
                self.orders[order.id] -= filled
            self._shrink_reduce_only(order.side)
        return filled

    def _settle(self, core: Core, order: VenueOrder, filled: int, closed: int) -> None:
        """Do to the position what `settlement.settle` will do to the account's own."""
        position, side, opened, pnl = self.position, order.side, filled - closed, 0
        against, into = (position.short, position.long) if side > 0 else (position.long, position.short)
        product, entry_before = core.products[order.product], against.value
        price = order.price * product.unit
        if closed:
            pnl = reduce_leg(against, closed, closed * price, side < 0)
        if opened:
            grow_leg(into, opened, opened * price, 0, 0)
        if position.mode != ISOLATED:
            return
        paid = fees.of_maker(core, self.account, product, order, opened * price, closed * price)
        self.brought += pnl - sum(paid)
        if closed:
            margin = order_margin.released(
                position, entry_before - against.value, pnl - paid[1], mark_step(core, order.product), opened
            )
            position.assigned -= margin
            self.brought += margin
        if opened:
            margin = order_margin.margin_of_opened(
                core, self.account, position, side, opened, opened * price, self.brought
            )
            position.assigned += margin
            self.brought -= margin

    def _shrink_reduce_only(self, side: int) -> None:
        leg = self.position.short if side > 0 else self.position.long
        excess = sum(self.orders.values()) - leg.size
        for order_id in sorted(self.orders, reverse=True):
            if excess <= 0:
                break
            cut = min(excess, self.orders[order_id])
            self.orders[order_id] -= cut
            excess -= cut


def fillable(core: Core, order: VenueOrder, limit_ticks: int) -> tuple[int, list[tuple[VenueOrder, int]]]:
    """Return how many steps, at most its leaves, an order could fill at `limit_ticks` or better.

    Also the orders on the way that must not fill as they are, because they would open isolated positions without
    margin, with the steps by which each is too large.
    """
    wanted, found = order.leaves, 0
    without_margin: list[tuple[VenueOrder, int]] = []
    ladder = core.books[order.product].side(-order.side)
    accounts, makers = core.state.accounts, dict[str, _Maker]()
    for level in ladder.within(limit_ticks):
        for resting in level.orders.values():
            address = resting.address
            if address == order.address:
                continue
            maker = makers.get(address)
            if maker is None:
                maker = makers[address] = _Maker(accounts[address], resting)
            most = wanted - found
            if not maker.has_margin_for(core, resting, min(resting.leaves, most)):
                closable = maker.closable(resting)
                without_margin.append((resting, resting.leaves - closable))
                most = min(most, closable)
            found += maker.fill(core, resting, most)
            if found >= wanted:
                return found, without_margin
    return found, without_margin
