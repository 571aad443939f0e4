"""Which accounts are checked for liquidation, and when.

An account is checked after its balance or one of its positions changed, and after a mark left the band within which
its positions are certainly healthy. How an unhealthy one is liquidated is in `closing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.registry import post_command, process
from ..model.accounts import VenueAccount
from ..model.constants import ISOLATED, LIQUIDATING, OWN, RATE
from ..risk import account_margin
from ..risk.ledger import LP_VAULT
from .closing import close_group, judge_group
from .losses import settle_debt
from .margin_groups import MarginGroup, group_of

if TYPE_CHECKING:
    from ..engine.core import Core


_NONE: frozenset[str] = frozenset()


@process("liquidation")
def resume_paused(core: Core, time: int) -> int | None:
    """Mark the accounts whose pause is over, so that the check after this instant closes their next slice."""
    later = None
    for entry in core.state.liquidations.values():
        if entry.next <= time:
            core.risk_index.touched[entry.address] = core.state.accounts[entry.address]
        elif later is None or entry.next < later:
            later = entry.next
    return later


@post_command("liquidation")
def check_accounts(core: Core) -> bool:
    """Check every account whose balance, position or mark changed; True when something was closed.

    All are judged, and those to be liquidated lose their opening orders, before the first position is closed. The worst
    margin ratio goes first, of equal ones the oldest position: whose turn it is never depends on an address.
    """
    index, accounts, closed = core.risk_index, core.state.accounts, False
    # closing positions touches counterparties and may move marks: repeat until nothing changed
    while index.touched or index.moved:
        touched, index.touched = index.touched, {}
        outside = _outside_band(core) if index.moved else _NONE
        if not (touched or outside):
            continue
        checked, due = [], list[MarginGroup]()
        for address in sorted(outside.union(touched)) if outside else sorted(touched):
            account = accounts[address]
            for code in account.positions:
                index.bands[code].pop(address, None)
            if account.kind in OWN or address == LP_VAULT:
                continue
            # an open liquidation may have to end or go on although its account is healthy again
            if core.state.liquidations or not account_margin.healthy(core, account):
                checked.append(account)
                due += [group for group in _groups(core, account) if judge_group(core, group)]
        if checked:
            for group in sorted(due, key=lambda each: each.urgency(core)):
                closed = close_group(core, group) or closed
            for account in sorted(checked, key=lambda each: each.balance):  # the largest debt first
                if account.balance < 0 and not MarginGroup(account, 0).open_legs():
                    settle_debt(core, account)
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
            if band is None or not band[0] <= mark_ticks <= band[1]:
                found.add(address)
    index.moved = set()
    return found


def _groups(core: Core, account: VenueAccount) -> list[MarginGroup]:
    """Return the margin groups of an account that are open or being liquidated."""
    isolated, cross = list[MarginGroup](), MarginGroup(account, 0)
    has_cross = cross.key in core.state.liquidations
    for position in account.positions.values():
        if position.long.size or position.short.size:
            if position.mode == ISOLATED:
                isolated.append(group_of(account, position))
            else:
                has_cross = True
    return [*isolated, cross] if has_cross else isolated


def _set_bands(core: Core, account: VenueAccount) -> None:
    """Store between which marks an account is certainly healthy, so that it is not checked while they hold.

    The distance between equity and maintenance margin is divided evenly among the group's products. A mark that moves
    by one tick costs at most the legs' value of a tick and its steepest maintenance rate.
    """
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
        table, mark_ticks = index.table(code), core.state.markets[code].mark
        # one micro-USDC a leg stays in reserve: maintenance margins are rounded up and equity must stay above them
        width_ticks = (slack - 2) * RATE // (size_steps * table.unit * (RATE + table.steepest))
        if width_ticks > 0:
            index.bands[code][account.address] = (mark_ticks - width_ticks, mark_ticks + width_ticks)
