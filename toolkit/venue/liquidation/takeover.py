"""Closes the rest of a liquidated position after the book: the LP vault takes it over, or it is deleveraged.

The LP vault takes a leg at mark, for a fee, up to its leverage limit. The rest is closed against the opposite positions
with the highest scores (auto-deleveraging). It is closed at the bankruptcy price to the extent that their gains pay for
it. INSURANCE pays the rest. The vault closes the legs that it took in slices, reduce-only at mark or better: its orders
rest at the mark of the moment. When the mark passes an order, the order follows before anyone can trade with it.
"""

from __future__ import annotations

from decimal import Decimal

from ... import margin
from ...exposure import shared
from ...products import MICRO
from ..engine.changes import InsuranceOverdrawn
from ..engine.core import Core
from ..engine.registry import post_command, process
from ..model.accounts import Position, VenueAccount
from ..model.constants import ADL, ISOLATED, LIQUIDATION, RATE, REDUCE_ONLY
from ..risk import account_margin, audit, ledger
from ..risk.audit import COUNTERPARTY, VAULT
from ..risk.order_margin import spare
from ..risk.prices import band_ticks
from ..trading import lifecycle, matching, placing
from .margin_groups import MarginGroup, OpenLeg, group_of, open_legs, record_step


def close_with_vault(core: Core, group: MarginGroup, target: OpenLeg, quantity_steps: int) -> int:
    """Let the LP vault take a leg over at mark for its fee.

    Return the steps left.

    It pays the group's deficit.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    group : MarginGroup
        Group that is liquidated.
    target : OpenLeg
        Leg that is closed.
    quantity_steps : int
        Steps to close, at most those of the leg.
    """
    config, account = core.state.config, group.account
    position, side, leg = target
    code = position.product
    vault, table = core.state.accounts[ledger.LP_VAULT], core.risk_index.tables[code]
    mark_ticks = core.state.markets[code].mark
    equity = group.equity_of(core, target)
    # Rounded against the vault, so that the deficits of all steps cover the debt.
    deficit_a_step = max(0, -(equity // leg.size))
    room = _vault_room(core, vault, code, side, mark_ticks * table.unit, deficit_a_step)
    taken_steps = min(quantity_steps, room)
    if taken_steps <= 0:
        return quantity_steps
    # the payer's fee is rounded up and the vault's down, and neither exceeds the equity that the leg still has
    fee = table.maintenance(leg.size * mark_ticks * table.unit) * taken_steps * config.takeover_fee
    divisor, most = leg.size * RATE, max(0, equity) * taken_steps // leg.size
    charged, received = min(-(-fee // divisor), most), min(fee // divisor, most)
    paid = min(deficit_a_step * taken_steps, max(0, -equity))
    # The deficit is paid before the trade at mark, so that the group does not end below zero.
    if paid:
        grant(core, vault, account, position, paid)
    if charged:
        # The fee of an isolated position comes from its own margin, through the balance that pays it.
        if position.mode == ISOLATED:
            ledger.assign(core, account, position, -charged)
        ledger.transfer(core, account, vault, charged, received, ledger.LIQUIDATION_FEE, code)
    buyer, seller = (vault, account) if side > 0 else (account, vault)
    matching.trade_off_book(core, core.products[code], buyer, seller, taken_steps, mark_ticks, LIQUIDATION, account)
    record_step(core, group, target, taken_steps, VAULT, mark_ticks, vault.address, equity, paid)
    if config.lp_slice:
        core.wake("unwind", core.state.time + config.lp_pause)
    return quantity_steps - taken_steps


def _vault_room(core: Core, vault: VenueAccount, code: int, side: int, step_micro: int, deficit_a_step: int) -> int:
    """Return how many steps of a leg the LP vault may take over, at a price within the band of the oracle.

    Its notional stays within a multiple of its equity.

    A step is worth `step_micro` at mark and costs the vault `deficit_a_step`, which lowers its equity.
    """
    multiple, market = core.state.config.lp_leverage, core.state.markets[code]
    equity = account_margin.cross_margin(core, vault).equity
    width, unit = band_ticks(core, market), core.risk_index.tables[code].unit
    # With the deficit a step costs more than the mark. Beyond the band, those who gained pay first.
    beyond = width >= 0 and side * (step_micro - market.oracle * unit) + deficit_a_step > width * unit
    if equity <= 0 or beyond:
        return 0
    others = own_steps = 0
    for other, position in vault.positions.items():
        if other == code:
            own_steps = side * (position.long.size - position.short.size)
        else:
            others += account_margin.held(position, account_margin.mark_step(core, other))
    # lp_leverage is in hundredths, so values are scaled by 100
    cost = step_micro * 100 + deficit_a_step * multiple
    # Each step raises the notional and lowers the equity that limits it. Both are in `cost`, so the limit also holds
    # after the takeover.
    room = (equity * multiple - others * 100 - own_steps * step_micro * 100) // cost
    return min(room, equity // deficit_a_step) if deficit_a_step else room


def deleverage(core: Core, group: MarginGroup, target: OpenLeg, quantity_steps: int) -> None:
    """Close a leg against the opposite positions with the highest scores, at its bankruptcy price.

    The counterparties pay the group's deficit from their gains since the group was last healthy (`_gain`). Each pays in
    proportion to what it closes, up to its gain and never from capital. INSURANCE pays the rest.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    group : MarginGroup
        Group that is liquidated.
    target : OpenLeg
        Leg that is closed.
    quantity_steps : int
        Steps to close, at most those of the leg.
    """
    account, (position, side, _) = group.account, target
    code, unit = position.product, core.risk_index.tables[position.product].unit
    product, mark_ticks = core.products[code], core.state.markets[code].mark
    chosen = [
        (core.state.accounts[step.account], int(step.quantity))
        # All counterparties are chosen before the first trade, because each trade changes the scores.
        for step in margin.adl_order(_counterparties(core, account, code, side), quantity_steps)
    ]
    lack, covered, prices = -group.equity_of(core, target), 0, list[int]()
    if lack > 0:
        # A trade can't have a price outside of 1 and the highest price, however much a counterparty has gained.
        room_ticks = product.max_price - mark_ticks if side > 0 else mark_ticks - 1
        most = [min(_gain(core, group, other, code, -side, n) // (n * unit), room_ticks) for other, n in chosen]
        paid = shared([steps for _, steps in chosen], most, -(-lack // unit))
        # The gains may not suffice, and they are paid in whole ticks. INSURANCE pays the difference.
        covered = max(0, lack - unit * sum(ticks * steps for ticks, (_, steps) in zip(paid, chosen, strict=True)))
        cover(core, account, position, covered)
        prices = [mark_ticks + side * ticks for ticks in paid]
    for at, (other, steps) in enumerate(chosen):
        equity = group.figures(core).equity
        price_ticks = prices[at] if prices else group.bankruptcy_price(core, target)
        price_ticks = max(1, min(price_ticks, product.max_price))
        buyer, seller = (other, account) if side > 0 else (account, other)
        matching.trade_off_book(core, product, buyer, seller, steps, price_ticks, ADL, account)
        record_step(core, group, target, steps, COUNTERPARTY, price_ticks, other.address, equity, 0 if at else covered)


def _counterparties(core: Core, account: VenueAccount, code: int, side: int) -> list[dict[str, object]]:
    """Return the positions against a leg of `side` with their scores, the oldest first."""
    product = core.products[code]
    mark = product.tick_size * core.state.markets[code].mark
    found: list[dict[str, object]] = []
    holders = []
    for other in core.risk_index.holders.get(code, {}).values():
        leg = other.positions[code].short if side > 0 else other.positions[code].long
        # Simulated participants count as counterparties: they hold most of the open interest.
        if other is not account and leg.size:
            holders.append((leg.opened_by, leg, other))
    # one trade opens at most one leg of a side, so age decides alone
    for _, leg, other in sorted(holders, key=lambda each: each[0]):
        equity = group_of(other, other.positions[code]).figures(core).equity
        size = product.step_size * leg.size
        entry = Decimal(leg.value) / MICRO / size
        bankruptcy = max(Decimal(0), mark + side * Decimal(equity) / MICRO / size)
        # entry values are rounded down and may be zero, but a score needs a positive entry price
        score = margin.adl_score(-side, size, max(entry, product.tick_size), mark, bankruptcy)
        found.append({"account": other.address, "size": leg.size, "score": score})
    return found


def _gain(core: Core, group: MarginGroup, other: VenueAccount, code: int, side: int, steps: int) -> int:
    """Return the most that closing so many steps of a counterparty may cost it at mark.

    That is their gain since the liquidated group was last healthy, at most the gain of all its positions together and
    its equity. A position that was traded since then may not have had that gain: only the part that is a profit counts.
    """
    entry, position = core.state.liquidations[group.key], other.positions[code]
    leg = OpenLeg(position, side, position.long if side > 0 else position.short)
    own = leg.gained_since(core, entry.marks)
    # Trades of participants are booked later at one price, so the time of their last trade is not known.
    if position.traded >= entry.started or other.kind == "market":
        own = min(own, side * (leg.value_micro(core) - leg.leg.value))
    own = own * steps // leg.leg.size
    together = sum(each.gained_since(core, entry.marks) for each in open_legs(other.positions.values()))
    return max(0, min(own, together, group_of(other, position).figures(core).equity))


def pay_isolated(core: Core, group: MarginGroup) -> None:
    """Pay the deficit of an isolated position from the free part of the account's balance, before others do.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    group : MarginGroup
        Group that is liquidated. Nothing happens for cross positions.
    """
    if group.product:
        # Only `spare`: paying must not push the cross positions into liquidation.
        lack = min(-group.figures(core).equity, spare(core, group.account))
        ledger.assign(core, group.account, group.account.positions[group.product], max(0, lack))


def settle_debt(core: Core, account: VenueAccount) -> None:
    """Pay the debt of an account without cross positions from the equity of its isolated ones, then cover the rest.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that is flat on cross margin, with a negative balance.
    """
    for position in account.positions.values():
        if position.mode == ISOLATED:
            equity = max(0, account_margin.isolated_margin(core, position).equity)
            ledger.assign(core, account, position, -min(equity, -account.balance))
    if account.balance < 0:
        cover(core, account, None, -account.balance)


def cover(core: Core, account: VenueAccount, position: Position | None, amount_micro: int) -> None:
    """Let INSURANCE pay the deficit of a margin group.

    Its balance may fall below 0, which is an event.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that owes.
    position : Position or None
        Isolated position that owes, `None` for the cross balance.
    amount_micro : int
        Deficit in micro-USDC. 0 pays nothing.
    """
    insurance = core.state.accounts[ledger.INSURANCE]
    grant(core, insurance, account, position, amount_micro)
    if amount_micro and insurance.balance < 0:
        product = position.product if position is not None else 0
        trades = audit.trades_behind(core, account.address, product)
        core.emit(InsuranceOverdrawn(account.address, product, amount_micro, insurance.balance, trades))


def grant(core: Core, payer: VenueAccount, account: VenueAccount, position: Position | None, amount_micro: int) -> None:
    """Move money to an account for a loss of a position.

    Isolated margin receives it.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    payer : VenueAccount
        LP vault or INSURANCE.
    account : VenueAccount
        Account that receives it.
    position : Position or None
        Isolated position that receives it, `None` for the cross balance.
    amount_micro : int
        Amount in micro-USDC.
    """
    product = position.product if position is not None else 0
    ledger.move(core, payer, account, amount_micro, ledger.BANKRUPTCY, product)
    if position is not None and position.mode == ISOLATED:
        ledger.assign(core, account, position, amount_micro)


@process("unwind")
def unwind(core: Core, time: int) -> int | None:
    """Replace the vault's orders by the next slices.

    It sleeps once the vault is flat.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the slice, Unix ms.
    """
    config, vault = core.state.config, core.state.accounts[ledger.LP_VAULT]
    for order in list(vault.orders.values()):
        lifecycle.cancel(core, vault, order, "its minute is over")
    # Sorted, because orders are numbered, and positions are in the order in which they were taken.
    for code, position in sorted(vault.positions.items()):
        market, product = core.state.markets[code], core.products[code]
        size_steps = position.long.size or position.short.size
        if not size_steps or market.paused:
            continue
        # At least one step, and never more than the vault holds or an order may have.
        slice_steps = min(-(-config.lp_slice // account_margin.mark_step(core, code)), size_steps, product.max_steps)
        side = -1 if position.long.size else 1
        placing.submit(core, vault, product, side, slice_steps, market.mark, reduce=REDUCE_ONLY)
    if vault.orders:
        interval = config.price_interval
        # Orders move with the mark from the next tick on. Until then they rest at the present one.
        core.wake("quotes", (time // interval + 1) * interval)
    held = any(position.long.size or position.short.size for position in vault.positions.values())
    return time + config.lp_pause if held else None


@process("quotes")
def quote(core: Core, time: int) -> int | None:
    """Move the vault's orders with the new prices.

    It sleeps while there are none.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the prices, Unix ms.
    """
    follow_mark(core)
    return time + core.state.config.price_interval if core.state.accounts[ledger.LP_VAULT].orders else None


@post_command("unwind")
def follow_mark(core: Core) -> bool:
    """Move the vault's orders that the mark has passed to the mark.

    Return whether there were any.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    """
    vault, moved = core.state.accounts[ledger.LP_VAULT], False
    for order in list(vault.orders.values()):
        market, position = core.state.markets[order.product], vault.positions[order.product]
        # A buy below the mark, or a sell above it, gives nothing away.
        if (order.price - market.mark) * order.side <= 0 or market.paused:
            continue
        lifecycle.remove_from_book(core, position, order)
        order.price = market.mark
        lifecycle.record(core, vault, order, "it follows the mark")
        # Through the matching, because at its new price the order may cross the book.
        matching.process_order(core, vault, position, order, order.price)
        moved = True
    return moved
