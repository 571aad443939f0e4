"""Actions of a vault's leader: create and close vaults, move their cash, hand them over."""

from __future__ import annotations

import hashlib
from typing import Any

from ...numerals import micro_text
from ...protocol.hexbytes import to_checksummed
from ..engine import arguments
from ..engine.commands import ActionContext, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import handles
from ..model.constants import USDC
from ..model.history import ROUND
from ..model.state import Vault
from ..risk import ledger
from ..risk.ledger import RESERVES, VAULT_FEE, VAULT_REBALANCE, check_covered, check_currency, micro
from .vaults import check_not_vault, check_open, find, pay_in, pay_out, record_event, value

CREATION_MINIMUM = 100 * USDC
CREATION_FEE = 100 * USDC
MOST_VAULTS = 5
"""Open vaults that one owner has created. Sub-vaults and vaults that it was handed are not counted."""
MOST_SUB_VAULTS = 10
"""Open sub-vaults of one vault [L]."""


def led_vault(core: Core, context: ActionContext) -> Vault:
    """Return the vault that a leader's action is for.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Context of the request, which has entered its vault.

    Raises
    ------
    Refused
        If there is none, it is closed, or it is the LP vault.
    """
    vault = core.state.vaults.get(context.account.address)
    if vault is None:
        reason = f"{to_checksummed(context.account.address)} is no vault. Name the vault to act for in vaultAddress"
        raise Refused(TxCode.WRONG_VAULT_CONTEXT, reason)
    check_open(vault)
    if vault.is_lp:
        raise Refused(TxCode.NOT_VAULT_OWNER, "the LP vault belongs to the venue and has no leader")
    return vault


@handles("vaultCreate")
def create(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Create a vault with a first deposit of at least 100 USDC, for a fee of 100 USDC.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    action : dict of str to object
        Name, description, amount in USDC and currencyCode.

    Returns
    -------
    dict
        `vault`, the address of the new vault.

    Raises
    ------
    Refused
        If the amount is too small or not free, or the owner has too many vaults.
    """
    check_currency(action)
    owner, amount = context.owner, micro(action["amount"])
    if context.vault is not None:
        reason = "a vault is created by an account, not by a vault. Leave vaultAddress out"
        raise Refused(TxCode.WRONG_VAULT_CONTEXT, reason)
    check_not_vault(context)
    if amount < CREATION_MINIMUM:
        reason = f"amount {action['amount']} is below the {micro_text(CREATION_MINIMUM)} USDC a vault begins with"
        raise Refused(TxCode.VAULT_AMOUNT_TOO_SMALL, reason)
    name = arguments.name(action["name"], "name")
    _check_vault_count(core, owner.address)
    # Deposit and fee together, before either is moved.
    check_covered(core, owner, amount + CREATION_FEE)
    vault = _new(core, owner.address, name, str(action["description"]))
    ledger.move(core, owner, core.state.accounts[ledger.FEES], CREATION_FEE, VAULT_FEE, 0, vault.address)
    pay_in(core, owner, vault, amount, amount)
    record_event(core, context, vault, "CREATE", amount, amount)
    return {"vault": to_checksummed(vault.address)}


def _check_vault_count(core: Core, owner: str) -> None:
    own = [each for each in core.state.vaults.values() if each.owner == owner and not each.closed and not each.parent]
    mine = [each for each in own if not each.received]
    if len(mine) >= MOST_VAULTS:
        reason = f"{to_checksummed(owner)} has opened {len(mine)} vaults. An account may have {MOST_VAULTS}"
        raise Refused(TxCode.TOO_MANY_VAULTS, reason)


def _new(core: Core, owner: str, name: str, description: str, parent: str = "") -> Vault:
    state = core.state
    seed = f"vault:{state.seed}:{owner}:{len(state.vaults)}"
    address = "0x" + hashlib.sha256(seed.encode()).hexdigest()[:40]
    core.account(address).kind = "vault"
    vault = state.vaults[address] = Vault(address, owner, name, description, state.time, parent)
    return vault


@handles("vaultCreateSubVault")
def create_sub_vault(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Create an empty part of a vault that is traded apart.

    Money comes by vaultRebalance.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    action : dict of str to object
        The action, whose fields are not needed.

    Raises
    ------
    Refused
        If the vault has a parent, or too many sub-vaults.
    """
    vault = led_vault(core, context)
    if vault.parent:
        raise Refused(TxCode.IS_SUB_VAULT, "a sub-vault can't have sub-vaults")
    if len(vault.children) >= MOST_SUB_VAULTS:
        reason = f"the vault has {len(vault.children)} sub-vaults. It may have {MOST_SUB_VAULTS}"
        raise Refused(TxCode.TOO_MANY_VAULTS, reason)
    child = _new(core, vault.owner, f"{vault.name} / {len(vault.children) + 1}", vault.description, vault.address)
    vault.children.append(child.address)
    record_event(core, context, vault, "CREATE_SUB_VAULT", 0, 0)
    return {"vault": to_checksummed(child.address)}


@handles("vaultPreWithdraw")
def pre_withdraw(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Set free cash aside for withdrawals, where positions can't use it up.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    action : dict of str to object
        Amount in USDC and currencyCode.

    Raises
    ------
    Refused
        If the amount is not free.
    """
    check_currency(action)
    vault, amount = led_vault(core, context), micro(action["amount"])
    check_covered(core, context.account, amount)
    ledger.move(core, context.account, core.state.accounts[RESERVES], amount, VAULT_REBALANCE, 0, vault.address)
    vault.reserve += amount
    record_event(core, context, vault, "PRE_WITHDRAW", amount, 0)


@handles("vaultRebalance")
def rebalance(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Move cash between a vault and its sub-vaults.

    A move from a vault to itself returns cash that was set aside.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    action : dict of str to object
        From, to, amount in USDC and currencyCode.

    Raises
    ------
    Refused
        If the vaults do not belong together, one is closed, or the amount is not there.
    """
    check_currency(action)
    source, target = find(core, str(action["from"])), find(core, str(action["to"]))
    top = source.parent or source.address
    if (target.parent or target.address) != top:
        raise Refused(TxCode.UNRELATED_VAULTS, "from and to must be a vault and its sub-vaults")
    if source.owner != context.owner.address:
        raise Refused(TxCode.NOT_VAULT_OWNER, f"vault {to_checksummed(source.address)} belongs to another account")
    if source.closed or target.closed:
        raise Refused(TxCode.VAULT_CLOSED, "one of the two vaults was closed")
    accounts, amount = core.state.accounts, micro(action["amount"])
    if source is target:
        if amount > source.reserve:
            reason = f"amount {action['amount']} is more than the {micro_text(source.reserve)} USDC set aside"
            raise Refused(TxCode.INSUFFICIENT_VAULT_CASH, reason)
        source.reserve -= amount
        ledger.move(core, accounts[RESERVES], accounts[source.address], amount, VAULT_REBALANCE, 0, source.address)
    else:
        check_covered(core, accounts[source.address], amount)
        payer, receiver = accounts[source.address], accounts[target.address]
        ledger.move(core, payer, receiver, amount, VAULT_REBALANCE, 0, target.address)
        _record_move(source, target, amount)
    record_event(core, context, core.state.vaults[top], "REBALANCE", amount, 0)


def _record_move(source: Vault, target: Vault, amount: int) -> None:
    """Keep a transfer within the family out of a sub-vault's profit, the parent's value includes both sides anyway."""
    if source.parent:
        source.paid_in -= amount
    if target.parent:
        target.paid_in += amount


@handles("vaultUpdateOwner")
def update_owner(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Hand a vault and its sub-vaults to another account.

    The shares stay where they are. No action lets the new owner refuse, so the vault doesn't count towards its limit.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    action : dict of str to object
        The `owner`, an account of this venue.

    Raises
    ------
    Refused
        If the new owner has no account, or the vault has a parent.
    """
    vault, owner = led_vault(core, context), str(action["owner"]).lower()
    account = core.state.accounts.get(owner)
    if account is None or account.kind != "user":
        raise Refused(TxCode.UNKNOWN_VAULT_OWNER, f"{to_checksummed(owner)} has no account here")
    if vault.parent:
        raise Refused(TxCode.IS_SUB_VAULT, "a sub-vault has the owner of its parent")
    vault.owner, vault.received = owner, True
    for child in vault.children:
        core.state.vaults[child].owner = owner
    record_event(core, context, vault, "UPDATE_OWNER", 0, 0)


@handles("vaultClose")
def close(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Pay out all holders and end a vault without positions and orders.

    A sub-vault's money goes to its parent.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    action : dict of str to object
        The action, whose fields are not needed.

    Raises
    ------
    Refused
        If the vault or a sub-vault has positions or orders.
    """
    vault = led_vault(core, context)
    family = [vault, *(core.state.vaults[child] for child in vault.children)]
    # All are checked before the first one is closed, because a refusal must change nothing.
    for each in family:
        _check_flat(core, each)
    parent = core.state.vaults.get(vault.parent)
    target, shares, fee = parent or vault, vault.shares, 0
    gathered = sum(_wind_up(core, each, target) for each in family if each is not target)
    if parent is not None:
        parent.children.remove(vault.address)
        amount = gathered
    else:
        vault.children = []
        amount, fee = _pay_all_out(core, vault)
    record_event(core, context, vault, "CLOSE", amount, shares, fee)


def _check_flat(core: Core, vault: Vault) -> None:
    account = core.state.accounts[vault.address]
    held = [core.products[code].symbol for code, each in account.positions.items() if each.long.size or each.short.size]
    if held or account.orders:
        what = [f"a position in {symbol}" for symbol in held] + ["open orders"] * bool(account.orders)
        raise Refused(TxCode.VAULT_NOT_FLAT, f"vault {to_checksummed(vault.address)} still has {', '.join(what)}")


def _wind_up(core: Core, source: Vault, target: Vault) -> int:
    """Close a sub-vault into `target`. Return its cash and its reserve."""
    accounts = core.state.accounts
    given = source.reserve + accounts[source.address].balance
    target.reserve, source.reserve = target.reserve + source.reserve, 0
    balance = accounts[source.address].balance
    ledger.move(core, accounts[source.address], accounts[target.address], balance, VAULT_REBALANCE, 0, target.address)
    _record_move(source, target, given)
    source.closed = core.state.time
    return given


def _pay_all_out(core: Core, vault: Vault) -> tuple[int, int]:
    """Redeem all shares. Return their total value and the leader's share of the gains."""
    accounts, paid, fees = core.state.accounts, 0, 0
    total, shares = value(core, vault), vault.shares
    for address, holding in list(vault.holders.items()):
        # Each by its part of the first total. A value taken again after each payment would move with the roundings.
        amount = max(0, total) * holding.shares // shares
        _, fee = pay_out(core, vault, accounts[address], holding.shares, amount)
        paid, fees = paid + amount, fees + fee
    left = vault.reserve
    vault.reserve = 0
    ledger.move(core, accounts[RESERVES], accounts[vault.address], left, VAULT_REBALANCE, 0, vault.address)
    # What rounding left belongs to no holder.
    rest = accounts[vault.address].balance
    ledger.move(core, accounts[vault.address], accounts[ledger.ROUNDING], rest, ROUND, 0, vault.address)
    vault.closed = core.state.time
    return paid, fees
