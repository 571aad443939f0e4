"""The liquidation of one margin group, step by step (docs/assumptions.md, "Liquidation").

An unhealthy group loses its opening orders; then its positions are closed, the largest first: in the book, bounded by
the bankruptcy price; what the book can't take goes to the LP vault at mark, up to its limit; what remains is
deleveraged. It ends when the margin ratio is below 95 % or nothing is left. `History.liquidations` keeps each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine import events as ev
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import HEDGE, LIQUIDATING, LIQUIDATION, NORMAL, RATE
from ..model.state import Liquidation
from ..risk import account_margin, equity_curve
from ..risk.audit import BOOK, NETTED
from ..trading import lifecycle, matching, orders
from .margin_groups import MarginGroup, OpenLeg, record_step
from .takeover import close_with_vault, deleverage

if TYPE_CHECKING:
    from ..engine.core import Core


def judge_group(core: Core, group: MarginGroup) -> bool:
    """Begin or end the liquidation of a margin group, without a trade; True when a part of it is to be closed now."""
    entry = core.state.liquidations.get(group.key)
    figures = group.figures(core)
    if entry is None:
        if figures.unhealthy:
            _begin(core, group)
        return figures.unhealthy
    if _recovered(core, figures):
        _end(core, group)
        return False
    return figures.equity <= 0 or core.state.time >= entry.next  # otherwise it is between two slices


def _recovered(core: Core, figures: account_margin.Figures) -> bool:
    ratio = figures.ratio
    return ratio is not None and ratio < core.state.config.liquidation_stop


def _begin(core: Core, group: MarginGroup) -> None:
    state, account = core.state, group.account
    state.liquidations[group.key] = Liquidation(account.address, group.product, state.time, state.time)
    account.status = LIQUIDATING
    account.updated = state.time
    core.emit(ev.AccountChanged(account.address))
    equity_curve.sample_account(core, account)
    for order in list(account.orders.values()):
        # the cross group loses opening orders in isolated products too: their margin comes from the cross balance
        in_group = not group.product or order.product == group.product
        # cancelling a main order also cancels its bracket, so an order of this list may be gone
        if in_group and order.id in account.orders and order.priority and not (order.reduce or order.closing):
            if _opens(account, account.positions[order.product], order):
                lifecycle.cancel(core, account, order, "the position is being liquidated")


def _opens(account: VenueAccount, position: Position, order: VenueOrder) -> bool:
    """Return whether an order could increase its position or open one."""
    if account.position_mode == HEDGE:
        return True
    against = position.short.size if order.side > 0 else position.long.size
    return order.leaves > against


def _end(core: Core, group: MarginGroup) -> None:
    state, account = core.state, group.account
    del state.liquidations[group.key]
    if not any(entry.address == account.address for entry in state.liquidations.values()):
        account.status = NORMAL
    equity_curve.sample_account(core, account)
    account.updated = state.time
    core.emit(ev.AccountChanged(account.address))


def close_group(core: Core, group: MarginGroup) -> bool:
    """Close legs of a group that `judge_group` found; True when something was closed.

    It goes on until the group has recovered, is flat, must pause after a slice, or only paused products are left.
    """
    entry = core.state.liquidations[group.key]
    config, markets, account, closed = core.state.config, core.state.markets, group.account, False
    while True:
        figures = group.figures(core)
        legs = group.open_legs()
        if not legs or _recovered(core, figures):
            _end(core, group)
            return closed
        legs = [each for each in legs if not markets[each.position.product].paused]
        if not legs:
            return closed
        closed = True
        # of equal values the lower product code goes first, then the long: never the order of a dictionary
        target = max(legs, key=lambda each: (each.value_micro(core), -each.position.product, each.side))
        position, _, leg = target
        size = leg.size
        if account.position_mode == HEDGE and position.long.size and position.short.size:
            _net(core, group, position)
        elif figures.equity <= 0 or target.value_micro(core) <= config.liquidation_whole:
            _close(core, group, target, size)
        else:
            # rounded up, so that a slice of a small leg is not empty
            _close(core, group, target, -(-size * config.liquidation_slice // RATE))
            entry.next = core.state.time + config.liquidation_pause
        assert leg.size < size, "a step of a liquidation that closes nothing would never end"
        if entry.next > core.state.time and group.open_legs():
            figures = group.figures(core)
            if figures.equity > 0 and not _recovered(core, figures):
                core.wake("liquidation", entry.next)
                return closed


def _close(core: Core, group: MarginGroup, target: OpenLeg, quantity_steps: int) -> None:
    """Close a part of a leg: in the book, then with the LP vault, then by auto-deleveraging."""
    left_steps = _close_in_book(core, group, target, quantity_steps)
    if left_steps:
        left_steps = close_with_vault(core, group, target, left_steps)
    if left_steps:
        deleverage(core, group, target, left_steps)


def _close_in_book(core: Core, group: MarginGroup, target: OpenLeg, quantity_steps: int) -> int:
    """Trade a leg in the book, at its bankruptcy price or better; return the steps left."""
    code, side = target.position.product, target.side
    bound_ticks = group.bankruptcy_price(core, target)
    best_ticks, product = core.books[code].side(side).best, core.products[code]
    if not best_ticks or (best_ticks - bound_ticks) * side < 0 or not 0 < bound_ticks <= product.max_price:
        return quantity_steps
    equity = group.figures(core).equity
    order = orders.close_out(core, group.account, product, -side, quantity_steps, bound_ticks, LIQUIDATION)
    if order.filled:
        average_ticks = order.value // (order.filled * core.risk_index.table(code).unit)
        record_step(core, group, target, order.filled, BOOK, average_ticks, "", equity)
    return quantity_steps - order.filled


def _net(core: Core, group: MarginGroup, position: Position) -> None:
    """Close the long and the short of a hedge against each other at mark; it costs nothing and frees margin."""
    account, product = group.account, core.products[position.product]
    quantity_steps = min(position.long.size, position.short.size)
    mark_ticks = core.state.markets[position.product].mark
    equity = group.figures(core).equity
    matching.trade_off_book(core, product, account, account, quantity_steps, mark_ticks, LIQUIDATION, account)
    target = OpenLeg(position, 1, position.long)
    record_step(core, group, target, quantity_steps, NETTED, mark_ticks, account.address, equity)
