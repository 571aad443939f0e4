"""Which accounts are checked for liquidation, when, and how one is liquidated (docs/assumptions.md, "Liquidation").

An account is checked after its balance or one of its positions changed, and after a mark left the band within which
its positions are certainly healthy. An unhealthy group loses its opening orders. Then its positions are closed, the
largest first: in the book, bounded by the bankruptcy price. The LP vault takes the rest at mark, up to its limit. Any
remainder is deleveraged (`takeover`). It ends when the margin ratio is below 95 % or nothing is left.
`History.liquidations` keeps each step.
"""

from __future__ import annotations

from ..engine import changes as ev
from ..engine.core import Core
from ..engine.registry import post_command, process
from ..model.accounts import Position, VenueAccount
from ..model.constants import HEDGE, ISOLATED, LIQUIDATING, LIQUIDATION, NORMAL, OWN, RATE
from ..model.state import Liquidation
from ..risk import account_margin, equity_curve
from ..risk.audit import BOOK, NETTED
from ..risk.ledger import LP_VAULT
from ..trading import lifecycle, matching, placing
from .margin_groups import MarginGroup, OpenLeg, group_of, record_step
from .takeover import close_with_vault, deleverage, pay_isolated, settle_debt


@process("liquidation")
def resume_paused(core: Core, time: int) -> int | None:
    """Mark the accounts whose pause is over, so that the check after this instant closes their next slice.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant at which a pause ends, Unix ms.
    """
    later = None
    for entry in core.state.liquidations.values():
        if entry.next <= time:
            core.risk_index.touched[entry.address] = core.state.accounts[entry.address]
        elif later is None or entry.next < later:
            later = entry.next
    return later


@post_command("liquidation")
def check_accounts(core: Core) -> bool:
    """Check every account whose balance, position or mark changed.

    Return whether something was closed.

    All are judged, and those to be liquidated lose their opening orders, before the first position is closed. The worst
    margin ratio goes first. Where it is equal, the oldest position goes first, so an address never decides.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    """
    index, accounts, closed, before = core.risk_index, core.state.accounts, False, dict[int, int]()
    # closing positions touches counterparties and may move marks: repeat until nothing changed
    while index.touched or index.moved:
        # Taken before the checks, so that what they touch is checked in the next round.
        touched, index.touched = index.touched, {}
        # Marks of the first round win: they are those at which all were last judged.
        before = {**index.moved, **before}
        outside = _outside_band(core) if index.moved else set[str]()
        if not (touched or outside):
            continue
        checked, due = [], list[MarginGroup]()
        # Sorted, because the indexes are sets. Their order must not decide the order of events.
        for address in sorted(outside.union(touched)):
            account = accounts[address]
            for code in account.positions:
                # A band holds for the positions it was computed from. The account has changed, so it has none until it
                # is judged again.
                index.bands[code].pop(address, None)
            # The LP vault takes positions over from others, and no one could take over from it. Its limit is
            # `lp_leverage`.
            if account.kind in OWN or address == LP_VAULT:
                continue
            # an open liquidation may have to end or continue although its account is healthy again
            if core.state.liquidations or not account_margin.healthy(core, account):
                checked.append(account)
                due += [group for group in _groups(core, account) if judge_group(core, group, before)]
        if checked:
            for group in sorted(due, key=lambda each: each.urgency(core)):
                closed = close_group(core, group) or closed
            # Debts are settled after all groups were closed, because a later fill may still pay one.
            for account in sorted(checked, key=lambda each: each.balance):  # the largest debt first
                if account.balance < 0 and not MarginGroup(account, 0).open_legs():
                    settle_debt(core, account)
        # Bands are set at the end, for accounts that are healthy after all that happened.
        for address in outside:
            _set_bands(core, accounts[address])
    return closed


def _outside_band(core: Core) -> set[str]:
    """Return the holders of products whose mark moved who have no band, or whose band the mark has left."""
    index, found = core.risk_index, set()
    for code in index.moved:
        mark_ticks, bands = core.state.markets[code].mark, index.bands[code]
        for address in index.clients[code]:
            band = bands.get(address)
            # Most holders end here: one comparison in place of a sum over all their positions.
            if band is None or not band[0] <= mark_ticks <= band[1]:
                found.add(address)
    index.moved = {}
    return found


def _groups(core: Core, account: VenueAccount) -> list[MarginGroup]:
    """Return the margin groups of an account that are open or being liquidated, the isolated positions first."""
    groups = {
        group.key: group
        for position in account.positions.values()
        for group in (group_of(account, position),)
        if position.long.size or position.short.size or group.key in core.state.liquidations
    }
    # Isolated groups first: what their closing returns to the balance may save the cross group.
    return sorted(groups.values(), key=lambda group: not group.product)


def _set_bands(core: Core, account: VenueAccount) -> None:
    """Store between which marks an account is certainly healthy, so that it is not checked while they hold.

    The distance between equity and maintenance margin is divided evenly among the group's products. A mark that moves
    by one tick costs at most the legs' value of a tick and its steepest maintenance rate.
    """
    # An account in liquidation is judged at every change of a mark.
    if account.status == LIQUIDATING:
        return
    index = core.risk_index
    open_positions = [
        (code, position, position.long.size + position.short.size)
        for code, position in account.positions.items()
        if position.long.size or position.short.size
    ]
    cross_count = sum(position.mode != ISOLATED for _, position, _ in open_positions)
    cross_slack = 0
    if cross_count:
        figures = account_margin.cross_margin(core, account)
        cross_slack = (figures.equity - figures.maintenance) // cross_count
    for code, position, size_steps in open_positions:
        slack = cross_slack
        if position.mode == ISOLATED:
            figures = account_margin.isolated_margin(core, position)
            slack = figures.equity - figures.maintenance
        table, mark_ticks = index.tables[code], core.state.markets[code].mark
        # one micro-USDC a leg stays in reserve: maintenance margins are rounded up and equity must stay above them
        width_ticks = (slack - 2) * RATE // (size_steps * table.unit * (RATE + table.steepest))
        if width_ticks > 0:
            index.bands[code][account.address] = (mark_ticks - width_ticks, mark_ticks + width_ticks)


def judge_group(core: Core, group: MarginGroup, before: dict[int, int]) -> bool:
    """Begin or end the liquidation of a margin group, without a trade.

    Return whether a part of it is to be closed now.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    group : MarginGroup
        Margin group that is judged or closed.
    before : dict of int to int
        Marks in ticks at which all were judged last, of the products whose marks have moved.
    """
    entry = core.state.liquidations.get(group.key)
    figures = group.figures(core)
    if entry is None:
        if figures.unhealthy:
            _begin(core, group, before)
        return figures.unhealthy
    if _recovered(core, figures):
        _end(core, group)
        return False
    # A group without equity does not wait for its next slice: each tick could make a debt.
    return figures.equity <= 0 or core.state.time >= entry.next  # otherwise it is between two slices


def _recovered(core: Core, figures: account_margin.Figures) -> bool:
    ratio = figures.ratio
    return ratio is not None and ratio < core.state.config.liquidation_stop


def _begin(core: Core, group: MarginGroup, before: dict[int, int]) -> None:
    state, account = core.state, group.account
    # The marks of the last healthy check. Who has gained since then pays for a debt first (`takeover.deleverage`).
    marks = {code: before.get(code, market.mark) for code, market in state.markets.items()}
    state.liquidations[group.key] = Liquidation(account.address, group.product, state.time, state.time, marks)
    account.status = LIQUIDATING
    account.updated = state.time
    core.emit(ev.AccountChanged(account.address))
    # The sample shows the equity at which it began, between two samples of a minute.
    equity_curve.sample_account(core, account)
    for order in list(account.orders.values()):
        # the cross group loses opening orders in isolated products too: their margin comes from the cross balance
        in_group = not group.product or order.product == group.product
        # cancelling a main order also cancels its bracket, so an order of this list may be gone
        if in_group and order.id in account.orders and order.priority and not (order.reduce or order.closing):
            # Orders that only close what is held stay: they may end the liquidation at a better price.
            if order.leaves > account_margin.reducible(account, account.positions[order.product], order.side):
                lifecycle.cancel(core, account, order, "the position is being liquidated")


def _end(core: Core, group: MarginGroup) -> None:
    state, account = core.state, group.account
    del state.liquidations[group.key]
    if not any(entry.address == account.address for entry in state.liquidations.values()):
        account.status = NORMAL
    equity_curve.sample_account(core, account)
    account.updated = state.time
    core.emit(ev.AccountChanged(account.address))


def close_group(core: Core, group: MarginGroup) -> bool:
    """Close legs of a group that `judge_group` found.

    Return whether something was closed.

    It continues until the group has recovered, is flat, must pause after a slice, or only paused products are left.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    group : MarginGroup
        Margin group that is judged or closed.
    """
    entry = core.state.liquidations[group.key]
    config, markets, account, closed = core.state.config, core.state.markets, group.account, False
    # The account pays for its isolated position first, to the extent that the cross positions do not need the money.
    pay_isolated(core, group)
    while True:
        figures = group.figures(core)
        legs = group.open_legs()
        if not legs or _recovered(core, figures):
            _end(core, group)
            return closed
        # A paused product has no trades, so its legs wait. `resume` makes the group be judged again.
        legs = [each for each in legs if not markets[each.position.product].paused]
        if not legs:
            return closed
        closed = True
        # of equal values the lower product code goes first, never the order of a dictionary
        target = max(legs, key=lambda each: (each.value_micro(core), -each.position.product))
        position, _, leg = target
        size = leg.size
        # Netting a hedge costs no spread and frees margin, so it comes before any trade.
        if account.position_mode == HEDGE and position.long.size and position.short.size:
            _net(core, group, position)
        # Without equity there is no time for slices. A small position would not move the market.
        elif figures.equity <= 0 or target.value_micro(core) <= config.liquidation_whole:
            _close(core, group, target, size)
        else:
            # rounded up, so that a slice of a small leg is not empty
            _close(core, group, target, -(-size * config.liquidation_slice // RATE))
            entry.next = core.state.time + config.liquidation_pause
        assert leg.size < size, "a step of a liquidation that closes nothing would never end"
        # After a slice the group pauses, so that the book can refill. It does not pause below zero.
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
    """Trade a leg in the book, at its bankruptcy price or better. Return the steps left."""
    code, side = target.position.product, target.side
    # No fill in the book may cost more than the group has. What is not filled within the bound goes to the vault.
    bound_ticks = group.bankruptcy_price(core, target)
    best_ticks, product = core.books[code].side(side).best, core.products[code]
    if not best_ticks or (best_ticks - bound_ticks) * side < 0 or not 0 < bound_ticks <= product.max_price:
        return quantity_steps
    equity = group.figures(core).equity
    order = placing.close_out(core, group.account, product, -side, quantity_steps, bound_ticks, LIQUIDATION)
    if order.filled:
        # The order may have met several makers. The record has the average.
        average_ticks = order.value // (order.filled * core.risk_index.tables[code].unit)
        record_step(core, group, target, order.filled, BOOK, average_ticks, "", equity)
    return quantity_steps - order.filled


def _net(core: Core, group: MarginGroup, position: Position) -> None:
    """Close the long and the short of a hedge against each other at mark, it costs nothing and frees margin."""
    account, product = group.account, core.products[position.product]
    quantity_steps = min(position.long.size, position.short.size)
    mark_ticks = core.state.markets[position.product].mark
    equity = group.figures(core).equity
    matching.trade_off_book(core, product, account, account, quantity_steps, mark_ticks, LIQUIDATION, account)
    target = OpenLeg(position, 1, position.long)
    record_step(core, group, target, quantity_steps, NETTED, mark_ticks, account.address, equity)
