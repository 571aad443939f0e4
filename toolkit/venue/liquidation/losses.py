"""Who covers the loss of an account that owes more than it has: the LP vault first, INSURANCE for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.accounts import Position, VenueAccount
from ..model.constants import ISOLATED
from ..risk import account_margin, ledger

if TYPE_CHECKING:
    from ..engine.core import Core


def settle_debt(core: Core, account: VenueAccount) -> None:
    """Pay the debt of an account without cross positions from the equity of its isolated ones, then cover the rest."""
    for position in account.positions.values():
        if position.mode == ISOLATED and account.balance < 0:
            equity = max(0, account_margin.isolated_margin(core, position).equity)
            ledger.assign(core, account, position, -min(equity, -account.balance))
    if account.balance < 0:
        cover(core, account, None, -account.balance)


def cover(core: Core, account: VenueAccount, position: Position | None, amount_micro: int) -> None:
    """Pay what a margin group lacks: the LP vault from its balance, INSURANCE the rest, if need be below 0."""
    vault = core.state.accounts[ledger.LP_VAULT]
    from_vault = min(amount_micro, max(0, vault.balance)) if vault is not account else 0
    grant(core, vault, account, position, from_vault)
    grant(core, core.state.accounts[ledger.INSURANCE], account, position, amount_micro - from_vault)


def grant(core: Core, payer: VenueAccount, account: VenueAccount, position: Position | None, amount_micro: int) -> None:
    """Move money to an account for a loss of `position` (None = its cross balance); isolated margin receives it."""
    product = position.product if position is not None else 0
    ledger.move(core, payer, account, amount_micro, ledger.BANKRUPTCY, product)
    if position is not None and position.mode == ISOLATED:
        ledger.assign(core, account, position, amount_micro)
