"""Leverage, margin mode and isolated margin: setLeverage, setMarginMode, assignPosMargin.

A refused action changes nothing, and its message has the numbers.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...checks import check_leverage
from ...numerals import micro_text
from ...products import MICRO
from ..engine import arguments
from ..engine import changes as ev
from ..engine.commands import ActionContext, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import controls, handles
from ..model.accounts import Position, VenueAccount
from ..model.constants import CROSS, HEDGE, ISOLATED, ONE_WAY
from ..risk import account_margin, ledger
from ..risk.account_margin import leverage_text
from ..risk.ledger import micro
from .lifecycle import position_of


@handles("setLeverage")
def set_leverage(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Set the leverage of a product, within its limit and that of the tier of its position and orders.

    Lower leverage needs more margin: equity must cover it. An isolated position takes the difference from the balance.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account and transaction of the request.
    action : dict of str to object
        symbolCode, and leverage as decimal text.

    Raises
    ------
    Refused
        If the leverage is too high, or equity does not cover the margin.
    """
    account, product = context.account, core.product(int(action["symbolCode"]))
    leverage = int(Decimal(action["leverage"]) * 100)
    position = position_of(core, account, product)
    _refuse_under_liquidation(core, account, position)
    reach = Decimal(_reach(core, account, position)) / MICRO
    for failure in check_leverage(product, Decimal(action["leverage"]), reach):
        raise Refused(TxCode.LEVERAGE_TOO_HIGH, failure.message)
    # The new leverage is set before the check, so that the one formula of margin judges it. A refusal sets it back.
    before, position.leverage = position.leverage, leverage
    need = 0
    if position.mode == ISOLATED:
        figures = account_margin.isolated_margin(core, position)
        need = max(0, figures.initial - figures.equity)
    free = account_margin.available(core, account)
    if leverage < before and free < need:
        position.leverage = before
        raise _short(need - free, f"leverage {leverage_text(leverage)} on {product.symbol}")
    # Higher leverage frees nothing from an isolated position: its owner takes the margin out with assignPosMargin.
    if leverage < before:
        ledger.assign(core, account, position, need)
    _changed(core, account, position)


@handles("setMarginMode")
def set_margin_mode(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Set a product's position to cross or isolated margin, also while it is open.

    To isolated, it takes its initial margin and its unrealised loss from the balance. To cross, it returns all its
    margin. The balance that remains on cross must cover the initial margin there.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account and transaction of the request.
    action : dict of str to object
        symbolCode, and marginMode CROSS or ISOLATED.

    Raises
    ------
    Refused
        If the product only allows isolated margin, or equity does not cover the margin.
    """
    account, product = context.account, core.product(int(action["symbolCode"]))
    mode = ISOLATED if action["marginMode"] == "ISOLATED" else CROSS
    position = position_of(core, account, product)
    if mode == position.mode:
        return
    if product.only_isolated:
        raise Refused(TxCode.ONLY_ISOLATED, f"{product.symbol} takes isolated margin only")
    _refuse_under_liquidation(core, account, position)
    figures = account_margin.isolated_margin(core, position)
    amount = figures.initial + max(0, -figures.equity) if mode == ISOLATED else -position.assigned
    # look at the account as it would be; the ledger moves the amount only when that is allowed
    before, position.mode = position.assigned, mode
    account.balance, position.assigned = account.balance - amount, before + amount
    free = account_margin.available(core, account)
    account.balance, position.assigned = account.balance + amount, before
    if free < 0:
        position.mode = ISOLATED if mode == CROSS else CROSS
        raise _short(-free, f"{action['marginMode']} margin for {product.symbol}")
    ledger.assign(core, account, position, amount)
    _changed(core, account, position)


@handles("assignPosMargin")
def assign_margin(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Add margin to an isolated position, or remove what it does not need.

    It comes from the withdrawable balance.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account and transaction of the request.
    action : dict of str to object
        symbolCode, and assignedPosMargin in USDC. A negative amount removes margin.

    Raises
    ------
    Refused
        If the position is not isolated or not open, or the amount is not free.
    """
    account, product = context.account, core.product(int(action["symbolCode"]))
    amount = micro(action["assignedPosMargin"], "assignedPosMargin")
    position = position_of(core, account, product)
    if position.mode != ISOLATED or not (position.long.size or position.short.size):
        what = "on cross margin" if position.mode != ISOLATED else "not open"
        reason = f"the {product.symbol} position is {what}. Margin is assigned to open isolated positions"
        raise Refused(TxCode.NOT_ISOLATED, reason)
    _refuse_under_liquidation(core, account, position)
    figures = account_margin.isolated_margin(core, position)
    # what its initial margin and its loss do not need can be taken from it
    removable = max(0, min(figures.equity, position.assigned) - figures.initial)
    free = account_margin.withdrawable(core, account) if amount > 0 else removable
    if abs(amount) > free:
        way = "added to" if amount > 0 else "taken from"
        reason = f"at most {micro_text(free)} USDC can be {way} the {product.symbol} position"
        raise Refused(TxCode.MARGIN_SHORTFALL, f"{reason}, not {micro_text(abs(amount))}")
    ledger.assign(core, account, position, amount)
    _changed(core, account, position)


@controls("set_position_mode")
def set_position_mode(core: Core, address: str, mode: str) -> dict[str, str]:
    """Set the position mode of a whole account.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Address of the account, which is opened when it is new.
    mode : {"ONE_WAY", "HEDGE"}
        The new mode.

    Returns
    -------
    dict of str to str
        `address` and `mode`.

    Raises
    ------
    Refused
        If the account has positions or orders, or the mode is unknown.
    """
    modes = {"ONE_WAY": ONE_WAY, "HEDGE": HEDGE}
    if mode not in modes:
        raise Refused(TxCode.UNKNOWN_POSITION_MODE, f"position mode {mode!r} is not known. There are ONE_WAY and HEDGE")
    account = core.account(arguments.address(address))
    held = [p.product for p in account.positions.values() if p.long.size or p.short.size]
    if held or account.orders:
        what = f"{len(held)} open positions and {len(account.orders)} open orders"
        raise Refused(TxCode.POSITION_MODE_IN_USE, f"the position mode can't change while there are {what}")
    account.position_mode = modes[mode]
    account.updated = core.state.time
    core.emit(ev.AccountChanged(account.address))
    return {"address": account.address, "mode": mode}


def _reach(core: Core, account: VenueAccount, position: Position) -> int:
    """Return the notional, micro-USDC, that a position and its orders could reach in one direction."""
    step_micro = account_margin.mark_step(core, position.product)
    if account.position_mode != HEDGE:
        return account_margin.exposure(position, step_micro, False)
    long, short = position.long.size * step_micro, position.short.size * step_micro
    return max(long + position.buy_value, short + position.sell_value)


def _refuse_under_liquidation(core: Core, account: VenueAccount, position: Position) -> None:
    for product in (0, position.product):
        if f"{account.address}:{product}" in core.state.liquidations:
            reason = "margin settings can't be changed while positions are being liquidated"
            raise Refused(TxCode.SETTINGS_IN_LIQUIDATION, reason)


def _short(amount: int, what: str) -> Refused:
    reason = f"{what} would leave the account {micro_text(amount)} USDC short of its initial margin"
    return Refused(TxCode.MARGIN_SHORTFALL, reason)


def _changed(core: Core, account: VenueAccount, position: Position) -> None:
    position.updated = core.state.time
    core.risk_index.touched[account.address] = account
    core.emit(ev.AccountChanged(account.address))
