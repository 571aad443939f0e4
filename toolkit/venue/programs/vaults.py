"""Vaults: money of many, traded by one; shares at net asset value.

A vault's cash and positions are an account of its own; its owner's agents trade it with `vaultAddress`. A share is
worth net asset value / shares, where net asset value is the account's equity, the cash set aside for withdrawals, and
the sub-vaults. At withdrawal the leader gets 10 % of a depositor's gain over average cost. The LP vault takes over
liquidations; it has no leader and locks deposits for 4 days. Source: venue-facts, "Trading rules".
"""

from __future__ import annotations

import hashlib
from typing import Any

from ...protocol.hexbytes import to_checksummed
from ..engine.core import NO_VAULT, ActionContext, Core, Refused, handles, process
from ..engine.events import UserNotice
from ..model.config import DAY, USDC
from ..model.genesis import Genesis
from ..model.ledger_state import ROUND
from ..model.program_state import Holding, Vault, VaultEvent
from ..model.state import VenueAccount
from ..risk import account_margin, ledger
from ..risk.deposits import check_covered, check_currency, micro
from ..risk.ledger import (
    RESERVES,
    VAULT_DEPOSIT,
    VAULT_FEE,
    VAULT_LEADER_SHARE,
    VAULT_REBALANCE,
    VAULT_WITHDRAW,
    text,
)
from .vault_queries import event_row
from .vault_value import LARGEST, SHARE, price, value, worth

CREATION_MINIMUM = 100 * USDC
CREATION_FEE = 100 * USDC
MOST_VAULTS = 5
"""Open vaults of one owner, sub-vaults not counted."""
MOST_SUB_VAULTS = 10
"""Open sub-vaults of one vault [L]."""
LEADER_SHARE = 10
"""Per cent of a depositor's gain."""
LP_LOCK = 4 * DAY
MOST_LOST = 10_000
"""A deposit loses at most one part in this many to whole millionths of a share, or less than a micro-USDC [L]."""
SAMPLE_EVERY = 3_600_000
"""Milliseconds between two points of a vault's history [L]."""

NOT_OWNER, CLOSED, TOO_LITTLE, TOO_MANY, NO_VALUE, NO_SHARES, LOCKED, NO_CASH = range(6002, 6010)
NOT_FLAT, NOT_FAMILY, IS_PART, NO_OWNER, WRONG_CONTEXT, IS_VAULT, COARSE = range(6010, 6017)
"""txCodes of this module."""

OF_DEPOSITORS = frozenset({"vaultDeposit", "vaultWithdraw", "vaultCreate"})
"""Vault actions that act for the signer's own account, whatever vaultAddress says."""


def attach(core: Core) -> None:
    """Put vault contexts in force."""
    core.enter = enter


def begin(core: Core, genesis: Genesis) -> None:
    """Open the account of the reserves, and the LP vault over the capital that the ledger gave it."""
    core.account(RESERVES).kind = "venue"
    state, capital = core.state, core.state.config.lp_capital
    state.lp_vault = ledger.LP_VAULT
    vault = Vault(
        ledger.LP_VAULT,
        "",
        "LP vault",
        "Takes over liquidations.",
        state.time,
        is_lp=True,
        shares=capital,
        paid_in=capital,
    )
    if capital:
        vault.holders[ledger.INSURANCE] = Holding(capital, capital, state.time)
    state.vaults[vault.address] = vault
    core.wake("vaults", state.time + SAMPLE_EVERY)


def enter(core: Core, context: ActionContext, action: str) -> None:
    """Let a request with a vaultAddress act for the vault. Raises Refused: no vault, closed, or another's."""
    vault = find(core, context.vault or "")
    if action in OF_DEPOSITORS:
        return
    if vault.closed:
        raise Refused(CLOSED, f"vault {to_checksummed(vault.address)} was closed at {vault.closed}")
    if vault.owner != context.owner.address:
        owner = to_checksummed(vault.owner) if vault.owner else "the venue"
        raise Refused(
            NOT_OWNER,
            f"vault {to_checksummed(vault.address)} belongs to {owner}; only its owner's agents act for it",
        )
    context.account = core.state.accounts[vault.address]


def find(core: Core, address: str) -> Vault:
    """Return the vault of an address. Raises Refused when there is none."""
    vault = core.state.vaults.get(address.lower())
    if vault is None:
        raise Refused(NO_VAULT, f"there is no vault {address}")
    return vault


# deposits and withdrawals


@handles("vaultDeposit")
def deposit(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Buy shares at net asset value."""
    check_currency(action)
    vault = _open_top(core, str(action["vault"]))
    _check_context(context, vault)
    _check_person(context)
    amount = micro(action["amount"])
    check_covered(core, context.owner, amount)
    shares = _shares_for(core, vault, amount)
    _pay_in(core, context.owner, vault, amount, shares)
    _keep(core, context, vault, "DEPOSIT", amount, shares)
    return {"vault": to_checksummed(vault.address), "share": text(shares)}


def _shares_for(core: Core, vault: Vault, amount: int) -> int:
    """Return the shares that an amount buys. Raises Refused where they would be none, too coarse, or too many."""
    worth_now = value(core, vault)
    if vault.shares and worth_now <= 0:
        raise Refused(NO_VALUE, "the vault has no value left; nobody can join it")
    shares = amount * vault.shares // worth_now if vault.shares else amount
    if not shares:
        raise Refused(TOO_LITTLE, f"{text(amount)} USDC is less than 0.000001 of a share")
    lost = amount + -shares * worth_now // vault.shares if vault.shares else 0
    if lost * MOST_LOST > amount:
        raise Refused(
            COARSE,
            f"a millionth of a share is worth {text(worth_now // vault.shares)} USDC: of {text(amount)} USDC the "
            f"other depositors would get {text(lost)}; the depositors of the vault can leave and join it anew",
        )
    if vault.shares + shares > LARGEST:
        raise Refused(
            NO_VALUE,
            f"the vault has lost so much that {text(amount)} USDC would buy {text(shares)} shares; it has "
            f"{text(vault.shares)}, and may have {text(LARGEST)}",
        )
    return shares


def _pay_in(core: Core, account: VenueAccount, vault: Vault, amount: int, shares: int) -> None:
    now = core.state.time
    ledger.move(core, account, core.state.accounts[vault.address], amount, VAULT_DEPOSIT, 0, vault.address)
    holding = vault.holders.get(account.address)
    if holding is None:
        holding = vault.holders[account.address] = Holding(since=now)
    holding.shares += shares
    holding.cost += amount
    if vault.is_lp:
        holding.locked_until = now + LP_LOCK
    vault.shares += shares
    vault.paid_in += amount


@handles("vaultWithdraw")
def withdraw(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Give back shares for their value, less the leader's part of the gain."""
    check_currency(action)
    vault = _open_top(core, str(action["vault"]))
    _check_context(context, vault)
    shares = micro(action["share"], "share")
    holding = vault.holders.get(context.owner.address)
    held = holding.shares if holding else 0
    if holding is None or shares > held:
        raise Refused(NO_SHARES, f"share {action['share']} is more than the {text(held)} held")
    if core.state.time < holding.locked_until:
        raise Refused(LOCKED, f"deposits are locked until {holding.locked_until}; it is {core.state.time}")
    amount = worth(core, vault, shares)
    free = vault.reserve + account_margin.withdrawable(core, core.state.accounts[vault.address])
    if amount > free:
        remedy = "its leader can close positions, or bring cash with vaultRebalance and vaultPreWithdraw"
        if vault.is_lp:
            remedy = "the rest is margin of what it took over, or what that has gained"
        raise Refused(
            NO_CASH, f"the shares are worth {text(amount)} USDC, and {text(free)} of the vault is free; {remedy}"
        )
    paid, fee = _pay_out(core, vault, context.owner, shares, amount)
    _keep(core, context, vault, "WITHDRAW", amount, shares, fee)
    return {"vault": to_checksummed(vault.address), "amount": text(paid)}


def _pay_out(core: Core, vault: Vault, account: VenueAccount, shares: int, amount: int) -> tuple[int, int]:
    """End shares worth `amount`; return what the depositor and what the leader got."""
    accounts, holding = core.state.accounts, vault.holders[account.address]
    cost = holding.cost * shares // holding.shares
    gain = amount - cost
    leader = vault.owner if vault.owner and vault.owner != account.address else ""
    fee = gain * LEADER_SHARE // 100 if leader and gain > 0 else 0
    from_reserve = min(vault.reserve, amount)
    vault.reserve -= from_reserve
    ledger.move(core, accounts[RESERVES], accounts[vault.address], from_reserve, VAULT_REBALANCE, 0, vault.address)
    ledger.move(core, accounts[vault.address], account, amount - fee, VAULT_WITHDRAW, 0, vault.address)
    if fee:
        ledger.move(core, accounts[vault.address], accounts[leader], fee, VAULT_LEADER_SHARE, 0, vault.address)
    holding.shares -= shares
    holding.cost -= cost
    if not holding.shares:
        del vault.holders[account.address]
    vault.shares -= shares
    vault.paid_in -= amount
    return amount - fee, fee


def _open_top(core: Core, address: str) -> Vault:
    vault = find(core, address)
    if vault.closed:
        raise Refused(CLOSED, f"vault {to_checksummed(vault.address)} was closed at {vault.closed}")
    if vault.parent:
        raise Refused(
            IS_PART, f"{to_checksummed(vault.address)} is a sub-vault of {to_checksummed(vault.parent)}; use that one"
        )
    return vault


def _check_context(context: ActionContext, vault: Vault) -> None:
    if context.vault is not None and context.vault.lower() != vault.address:
        raise Refused(WRONG_CONTEXT, "vaultAddress names another vault than the action; leave it out")


def _check_person(context: ActionContext) -> None:
    if context.owner.kind == "vault":
        raise Refused(IS_VAULT, f"{to_checksummed(context.owner.address)} is a vault; vaults don't join or lead vaults")


def _led(core: Core, context: ActionContext) -> Vault:
    """Return the vault that a leader's action is for. Raises Refused: none, closed, or the LP vault."""
    vault = core.state.vaults.get(context.account.address)
    if vault is None:
        raise Refused(
            WRONG_CONTEXT,
            f"{to_checksummed(context.account.address)} is no vault; vaultAddress names the one to act for",
        )
    if vault.closed:
        raise Refused(CLOSED, f"vault {to_checksummed(vault.address)} was closed at {vault.closed}")
    if vault.is_lp:
        raise Refused(NOT_OWNER, "the LP vault belongs to the venue; nobody leads it")
    return vault


# a leader's actions


@handles("vaultCreate")
def create(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Create a vault with a first deposit of at least 100 USDC, for a fee of 100 USDC."""
    check_currency(action)
    owner, amount = context.owner, micro(action["amount"])
    if context.vault is not None:
        raise Refused(WRONG_CONTEXT, "a vault is created by an account, not by a vault; leave vaultAddress out")
    _check_person(context)
    if amount < CREATION_MINIMUM:
        raise Refused(
            TOO_LITTLE, f"amount {action['amount']} is below the {text(CREATION_MINIMUM)} USDC a vault begins with"
        )
    _check_number(core, owner.address)
    check_covered(core, owner, amount + CREATION_FEE)
    vault = _new(core, owner.address, str(action["name"]), str(action["description"]))
    ledger.move(core, owner, core.state.accounts[ledger.FEES], CREATION_FEE, VAULT_FEE, 0, vault.address)
    _pay_in(core, owner, vault, amount, amount)
    _keep(core, context, vault, "CREATE", amount, amount)
    return {"vault": to_checksummed(vault.address)}


def _check_number(core: Core, owner: str) -> None:
    mine = [each for each in core.state.vaults.values() if each.owner == owner and not each.closed and not each.parent]
    if len(mine) >= MOST_VAULTS:
        raise Refused(TOO_MANY, f"{to_checksummed(owner)} has {len(mine)} vaults; an account may have {MOST_VAULTS}")


def _new(core: Core, owner: str, name: str, description: str, parent: str = "") -> Vault:
    state = core.state
    seed = f"vault:{state.seed}:{owner}:{len(state.vaults)}"
    address = "0x" + hashlib.sha256(seed.encode()).hexdigest()[:40]
    core.account(address).kind = "vault"
    vault = state.vaults[address] = Vault(address, owner, name, description, state.time, parent)
    return vault


@handles("vaultCreateSubVault")
def create_sub_vault(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Create an empty part of a vault that is traded apart; money comes by vaultRebalance."""
    vault = _led(core, context)
    if vault.parent:
        raise Refused(IS_PART, "a sub-vault has no sub-vaults of its own")
    if len(vault.children) >= MOST_SUB_VAULTS:
        raise Refused(TOO_MANY, f"the vault has {len(vault.children)} sub-vaults; it may have {MOST_SUB_VAULTS}")
    child = _new(core, vault.owner, f"{vault.name} / {len(vault.children) + 1}", vault.description, vault.address)
    vault.children.append(child.address)
    _keep(core, context, vault, "CREATE_SUB_VAULT", 0, 0)
    return {"vault": to_checksummed(child.address)}


@handles("vaultPreWithdraw")
def pre_withdraw(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Set free cash aside for withdrawals, where positions can't use it up."""
    check_currency(action)
    vault, amount = _led(core, context), micro(action["amount"])
    check_covered(core, context.account, amount)
    ledger.move(core, context.account, core.state.accounts[RESERVES], amount, VAULT_REBALANCE, 0, vault.address)
    vault.reserve += amount
    _keep(core, context, vault, "PRE_WITHDRAW", amount, 0)
    return {}


@handles("vaultRebalance")
def rebalance(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Move cash between a vault and its sub-vaults; from a vault to itself brings back what was set aside."""
    check_currency(action)
    source, target = find(core, str(action["from"])), find(core, str(action["to"]))
    top = source.parent or source.address
    if (target.parent or target.address) != top:
        raise Refused(NOT_FAMILY, "from and to must be a vault and its sub-vaults")
    if source.owner != context.owner.address:
        raise Refused(NOT_OWNER, f"vault {to_checksummed(source.address)} belongs to another account")
    if source.closed or target.closed:
        raise Refused(CLOSED, "one of the two vaults was closed")
    accounts, amount = core.state.accounts, micro(action["amount"])
    if source is target:
        if amount > source.reserve:
            raise Refused(NO_CASH, f"amount {action['amount']} is more than the {text(source.reserve)} USDC set aside")
        source.reserve -= amount
        ledger.move(core, accounts[RESERVES], accounts[source.address], amount, VAULT_REBALANCE, 0, source.address)
    else:
        check_covered(core, accounts[source.address], amount)
        ledger.move(
            core, accounts[source.address], accounts[target.address], amount, VAULT_REBALANCE, 0, target.address
        )
        _note_move(source, target, amount)
    _keep(core, context, core.state.vaults[top], "REBALANCE", amount, 0)
    return {}


def _note_move(source: Vault, target: Vault, amount: int) -> None:
    """Let cash that a sub-vault gets or gives be no profit of its own; its parent's value holds it either way."""
    if source.parent:
        source.paid_in -= amount
    if target.parent:
        target.paid_in += amount


@handles("vaultUpdateOwner")
def update_owner(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Hand a vault and its sub-vaults to another account; the shares stay where they are."""
    vault, owner = _led(core, context), str(action["owner"]).lower()
    account = core.state.accounts.get(owner)
    if account is None or account.kind != "user":
        raise Refused(NO_OWNER, f"{to_checksummed(owner)} has no account here")
    if vault.parent:
        raise Refused(IS_PART, "a sub-vault has the owner of its parent")
    _check_number(core, owner)
    vault.owner = owner
    for child in vault.children:
        core.state.vaults[child].owner = owner
    _keep(core, context, vault, "UPDATE_OWNER", 0, 0)
    return {}


@handles("vaultClose")
def close(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Pay everybody out and end a vault without positions and orders; a sub-vault's money goes to its parent."""
    vault = _led(core, context)
    family = [vault, *(core.state.vaults[child] for child in vault.children)]
    for each in family:
        _check_flat(core, each)
    parent = core.state.vaults.get(vault.parent)
    target, shares, fee = parent or vault, vault.shares, 0
    gathered = sum(_gather(core, each, target) for each in family if each is not target)
    if parent is not None:
        parent.children.remove(vault.address)
        amount = gathered
    else:
        vault.children = []
        amount, fee = _pay_everybody(core, vault)
    _keep(core, context, vault, "CLOSE", amount, shares, fee)
    return {}


def _check_flat(core: Core, vault: Vault) -> None:
    account = core.state.accounts[vault.address]
    held = [core.products[code].symbol for code, each in account.positions.items() if each.long.size or each.short.size]
    if held or account.orders:
        what = ", ".join(
            [*(f"a position in {symbol}" for symbol in held), *(["open orders"] if account.orders else [])]
        )
        raise Refused(NOT_FLAT, f"vault {to_checksummed(vault.address)} still has {what}")


def _gather(core: Core, source: Vault, target: Vault) -> int:
    """End a sub-vault and return what it gave, cash and what it had set aside."""
    accounts = core.state.accounts
    given = source.reserve + accounts[source.address].balance
    target.reserve, source.reserve = target.reserve + source.reserve, 0
    balance = accounts[source.address].balance
    ledger.move(core, accounts[source.address], accounts[target.address], balance, VAULT_REBALANCE, 0, target.address)
    _note_move(source, target, given)
    source.closed = core.state.time
    return given


def _pay_everybody(core: Core, vault: Vault) -> tuple[int, int]:
    """Pay out all shares; return what they were worth together, and the leader's part of it."""
    accounts, paid, fees = core.state.accounts, 0, 0
    total, shares = value(core, vault), vault.shares
    for address, holding in list(vault.holders.items()):
        amount = max(0, total) * holding.shares // shares
        _, fee = _pay_out(core, vault, accounts[address], holding.shares, amount)
        paid, fees = paid + amount, fees + fee
    left = vault.reserve
    vault.reserve = 0
    ledger.move(core, accounts[RESERVES], accounts[vault.address], left, VAULT_REBALANCE, 0, vault.address)
    rest = accounts[vault.address].balance
    ledger.move(core, accounts[vault.address], accounts[ledger.ROUNDING], rest, ROUND, 0, vault.address)
    vault.closed = core.state.time
    return paid, fees


def _keep(core: Core, context: ActionContext, vault: Vault, kind: str, amount: int, shares: int, fee: int = 0) -> None:
    """Keep an event of a vault, and tell the account that made it."""
    ended = shares if not vault.shares else 0
    event = VaultEvent(
        len(vault.events) + 1,
        core.state.time,
        core.height,
        context.tx_hash,
        kind,
        context.owner.address,
        amount,
        shares,
        min(LARGEST, amount * SHARE // ended) if ended else price(core, vault),
        fee,
    )
    vault.events.append(event)
    if kind in ("DEPOSIT", "WITHDRAW"):
        notice = "vaultDeposit" if kind == "DEPOSIT" else "vaultWithdraw"
        core.emit(UserNotice(context.owner.address, notice, event_row(vault, event)))


@process("vaults")
def sample(core: Core, time: int) -> int:
    """Keep each open vault's value, share price and profit, once an hour."""
    for vault in core.state.vaults.values():
        if not vault.closed:
            now = value(core, vault)
            vault.samples.append((time, now, price(core, vault), now - vault.paid_in))
    return time + SAMPLE_EVERY
