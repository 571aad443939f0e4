"""Vaults: pooled money that one account trades. Shares are bought and redeemed at net asset value.

A vault's cash and positions are its own account. Its owner's agents trade it with `vaultAddress`. A share is
worth net asset value / shares, where net asset value is the account's equity, the cash set aside for withdrawals, and
the sub-vaults. Marks are up to 3 s old. So the positions are also valued at what the book would pay for them. Deposits
use the higher of the two values and withdrawals the lower one. At withdrawal the leader gets 10 % of a depositor's gain
over average cost. The LP vault takes over liquidations. It has no leader and locks deposits for 4 days. Source:
docs/published.md, "Trading rules".
"""

from __future__ import annotations

from typing import Any

from ...checks import slippage_bound
from ...numerals import micro_text, time_text
from ...protocol.hexbytes import to_checksummed
from ..engine.changes import UserNotice
from ..engine.commands import ActionContext, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import handles, process
from ..model.accounts import VenueAccount
from ..model.constants import DAY, USDC
from ..model.genesis import Genesis
from ..model.state import Holding, Vault, VaultEvent
from ..risk import account_margin, ledger
from ..risk.ledger import (
    RESERVES,
    VAULT_DEPOSIT,
    VAULT_LEADER_SHARE,
    VAULT_REBALANCE,
    VAULT_WITHDRAW,
    check_covered,
    check_currency,
    micro,
)
from ..risk.order_margin import check_stake

LEADER_SHARE = 10
"""Per cent of a depositor's gain."""
LP_LOCK = 4 * DAY
MOST_LOST = 10_000
"""A deposit loses at most one part in this many to whole millionths of a share, or less than a micro-USDC [L]."""
MOST_ABOVE_MARK = 100
"""A deposit is refused where the book values the vault more than one part in this many above mark [L]."""
MOST_BELOW_MARK = 20
"""A withdrawal is refused where the book values its shares more than one part in this many below mark [L]."""
SAMPLE_EVERY = 3_600_000
"""Milliseconds between two points of a vault's history [L]."""

OF_DEPOSITORS = frozenset({"vaultDeposit", "vaultWithdraw", "vaultCreate"})
"""Vault actions that act for the signer's own account, independently of vaultAddress."""


def attach(core: Core) -> None:
    """Put vault contexts in force.

    Parameters
    ----------
    core : Core
        State machine whose `enter_vault` is set.
    """
    core.enter_vault = enter


def begin(core: Core, genesis: Genesis) -> None:
    """Open the account of the reserves, and the LP vault over the capital that the ledger gave it.

    Parameters
    ----------
    core : Core
        New state machine.
    genesis : Genesis
        How the venue begins.
    """
    core.account(RESERVES).kind = "venue"
    state, capital = core.state, core.state.config.lp_capital
    state.lp_vault = ledger.LP_VAULT
    about = "LP vault", "Takes over liquidations.", state.time
    vault = Vault(ledger.LP_VAULT, "", *about, is_lp=True, shares=capital, paid_in=capital)
    if capital:
        vault.holders[ledger.INSURANCE] = Holding(capital, capital, state.time)
    state.vaults[vault.address] = vault
    core.wake("vaults", state.time + SAMPLE_EVERY)


def enter(core: Core, context: ActionContext, action: str) -> None:
    """Let a request with a vaultAddress act for the vault.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Context of the request. Its account becomes that of the vault.
    action : str
        Type of the action. Deposits and withdrawals act for the signer's own account.

    Raises
    ------
    Refused
        If there is no such vault, it is closed, or it belongs to another account.
    """
    vault = find(core, context.vault or "")
    if action in OF_DEPOSITORS:
        return
    check_open(vault)
    if vault.owner != context.owner.address:
        owner = to_checksummed(vault.owner) if vault.owner else "the venue"
        reason = f"vault {to_checksummed(vault.address)} belongs to {owner}. Only its owner's agents act for it"
        raise Refused(TxCode.NOT_VAULT_OWNER, reason)
    context.account = core.state.accounts[vault.address]


def check_open(vault: Vault) -> None:
    """Refuse a vault that was closed.

    Parameters
    ----------
    vault : Vault
        The vault.

    Raises
    ------
    Refused
        If it was closed.
    """
    if vault.closed:
        raise Refused(TxCode.VAULT_CLOSED, f"vault {to_checksummed(vault.address)} was closed at {vault.closed}")


def find(core: Core, address: str) -> Vault:
    """Return the vault of an address.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Address of the vault. Its letters may have any case.

    Raises
    ------
    Refused
        If there is none.
    """
    vault = core.state.vaults.get(address.lower())
    if vault is None:
        raise Refused(TxCode.UNKNOWN_VAULT, f"there is no vault {address}")
    return vault


@handles("vaultDeposit")
def deposit(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Buy shares at net asset value, or at what the book would pay if that is more.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    action : dict of str to object
        Vault, amount in USDC and currencyCode.

    Returns
    -------
    dict
        `vault`, and `share`, the shares that were bought.

    Raises
    ------
    Refused
        If the vault takes no deposit, or the amount is too small or not free.
    """
    check_currency(action)
    vault = _open_top(core, context, str(action["vault"]))
    check_not_vault(context)
    amount = micro(action["amount"])
    check_covered(core, context.owner, amount)
    shares = _shares_for(core, vault, amount)
    pay_in(core, context.owner, vault, amount, shares)
    record_event(core, context, vault, "DEPOSIT", amount, shares)
    return {"vault": to_checksummed(vault.address), "share": micro_text(shares)}


def _shares_for(core: Core, vault: Vault, amount: int) -> int:
    """Return the shares that an amount buys. Raises Refused where they would be none, too coarse, or too many."""
    at_mark = value(core, vault)
    # The higher value buys fewer shares. A depositor who knows that the mark is late can then gain nothing from it.
    worth_now = max(at_mark, value(core, vault, in_book=True))
    if vault.shares and worth_now <= 0:
        raise Refused(TxCode.VAULT_WORTHLESS, "the vault has no value left and takes no deposits")
    if vault.shares and (worth_now - at_mark) * MOST_ABOVE_MARK > at_mark:
        reason = f"the book values the vault at {micro_text(worth_now)} USDC and the mark at {micro_text(at_mark)}"
        most = f"A deposit may cost up to 1 % above mark, {micro_text(at_mark + at_mark // MOST_ABOVE_MARK)}"
        raise Refused(TxCode.VAULT_BOOK_AWAY, f"{reason}. The other depositors would get the difference. {most}")
    shares = amount * vault.shares // worth_now if vault.shares else amount
    if not shares:
        raise Refused(TxCode.VAULT_AMOUNT_TOO_SMALL, f"{micro_text(amount)} USDC is less than 0.000001 of a share")
    # What rounding to whole millionths takes from the depositor goes to the others.
    lost = amount + -shares * worth_now // vault.shares if vault.shares else 0
    if lost * MOST_LOST > amount:
        unit, loss = micro_text(worth_now // vault.shares), f"{micro_text(lost)} of {micro_text(amount)} USDC"
        reason = f"a millionth of a share is worth {unit} USDC, so the other depositors would get {loss}"
        raise Refused(TxCode.SHARE_TOO_COARSE, f"{reason}. The depositors can leave the vault and join again")
    if vault.shares + shares > LARGEST:
        reason = f"the vault has lost so much that {micro_text(amount)} USDC would buy {micro_text(shares)} shares"
        has = f"It has {micro_text(vault.shares)}, and may have {micro_text(LARGEST)}"
        raise Refused(TxCode.VAULT_WORTHLESS, f"{reason}. {has}")
    return shares


def pay_in(core: Core, account: VenueAccount, vault: Vault, amount: int, shares: int) -> None:
    """Take a deposit into a vault: move the cash and give the shares it buys.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that pays.
    vault : Vault
        The vault.
    amount : int
        Amount in micro-USDC.
    shares : int
        Shares in millionths.
    """
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
    """Give back shares for their value, less the leader's part of the gain.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    action : dict of str to object
        Vault, share and currencyCode.

    Returns
    -------
    dict
        `vault`, and `amount`, the USDC that were paid.

    Raises
    ------
    Refused
        If the shares are not held or locked, the vault has too little cash, or its leader would keep too few shares.
    """
    check_currency(action)
    vault = _open_top(core, context, str(action["vault"]))
    shares = micro(action["share"], "share")
    holding = vault.holders.get(context.owner.address)
    held = holding.shares if holding else 0
    if holding is None or shares > held:
        raise Refused(TxCode.SHARES_NOT_HELD, f"share {action['share']} is more than the {micro_text(held)} held")
    if core.state.time < holding.locked_until:
        reason = f"deposits are locked until {time_text(holding.locked_until)}. It is {time_text(core.state.time)}"
        raise Refused(TxCode.SHARES_LOCKED, reason)
    amount = worth(core, vault, shares)
    at_mark = max(0, value(core, vault)) * shares // vault.shares
    if (at_mark - amount) * MOST_BELOW_MARK > at_mark:
        reason = f"the book would pay {micro_text(amount)} USDC for the shares, the mark {micro_text(at_mark)}"
        most = "The other depositors would get the difference, which may be at most 5 % of the value at mark"
        raise Refused(TxCode.VAULT_BOOK_AWAY, f"{reason}. {most}")
    free = vault.reserve + account_margin.withdrawable(core, core.state.accounts[vault.address])
    if amount > free:
        remedy = "Its leader can close positions, or free cash with vaultRebalance and vaultPreWithdraw"
        if vault.is_lp:
            remedy = "The rest is margin of what it took over, or what that has gained"
        reason = f"the shares are worth {micro_text(amount)} USDC, and {micro_text(free)} of the vault is free"
        raise Refused(TxCode.INSUFFICIENT_VAULT_CASH, f"{reason}. {remedy}")
    family = [core.state.accounts[each] for each in (vault.address, *vault.children)]
    trading = any(each.orders or any(p.long.size or p.short.size for p in each.positions.values()) for each in family)
    if context.owner.address == vault.owner and shares < vault.shares and trading:
        check_stake(core, vault, shares)
    paid, fee = pay_out(core, vault, context.owner, shares, amount)
    record_event(core, context, vault, "WITHDRAW", amount, shares, fee)
    return {"vault": to_checksummed(vault.address), "amount": micro_text(paid)}


def pay_out(core: Core, vault: Vault, account: VenueAccount, shares: int, amount: int) -> tuple[int, int]:
    """End shares.

    Return what the depositor and what the leader got, in micro-USDC.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    vault : Vault
        The vault.
    account : VenueAccount
        Depositor.
    shares : int
        Shares to end, in millionths.
    amount : int
        Their value in micro-USDC.
    """
    accounts, holding = core.state.accounts, vault.holders[account.address]
    # Average cost: shares of different deposits are not told apart.
    cost = holding.cost * shares // holding.shares
    gain = amount - cost
    leader = vault.owner if vault.owner and vault.owner != account.address else ""
    fee = gain * LEADER_SHARE // 100 if leader and gain > 0 else 0
    # The reserve is used first, because it was set aside for this and is no margin.
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


def _open_top(core: Core, context: ActionContext, address: str) -> Vault:
    vault = find(core, address)
    check_open(vault)
    if vault.parent:
        reason = f"{to_checksummed(vault.address)} is a sub-vault of {to_checksummed(vault.parent)}. Use that one"
        raise Refused(TxCode.IS_SUB_VAULT, reason)
    if context.vault is not None and context.vault.lower() != vault.address:
        raise Refused(TxCode.WRONG_VAULT_CONTEXT, "vaultAddress names another vault than the action. Leave it out")
    return vault


def check_not_vault(context: ActionContext) -> None:
    """Refuse an action that only a person's account may do, in the name of a vault.

    Parameters
    ----------
    context : ActionContext
        Account, owner and transaction of the request.

    Raises
    ------
    Refused
        If the account is that of a vault.
    """
    if context.owner.kind == "vault":
        reason = f"{to_checksummed(context.owner.address)} is a vault. Vaults don't join or lead vaults"
        raise Refused(TxCode.ACCOUNT_IS_VAULT, reason)


def record_event(
    core: Core, context: ActionContext, vault: Vault, kind: str, amount: int, shares: int, fee: int = 0
) -> None:
    """Add an event to a vault's history and send it to the account that caused it.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, owner and transaction of the request.
    vault : Vault
        The vault.
    kind : str
        Kind of the event, as on the wire.
    amount : int
        Amount in micro-USDC.
    shares : int
        Shares in millionths.
    fee : int, optional
        Leader's part of the gain, in micro-USDC (default: 0).
    """
    ended = shares if not vault.shares else 0
    share_price = min(LARGEST, amount * SHARE // ended) if ended else price(core, vault)
    step = len(vault.events) + 1, core.state.time, core.height, context.tx_hash
    event = VaultEvent(*step, kind, context.owner.address, amount, shares, share_price, fee)
    vault.events.append(event)
    if kind in ("DEPOSIT", "WITHDRAW"):
        notice = "vaultDeposit" if kind == "DEPOSIT" else "vaultWithdraw"
        core.emit(UserNotice(context.owner.address, notice, event_row(vault, event)))


def event_row(vault: Vault, event: VaultEvent) -> dict[str, Any]:
    """Return a VaultEvent record.

    Parameters
    ----------
    vault : Vault
        The vault.
    event : VaultEvent
        Event of the vault.
    """
    return {
        "id": event.id,
        "blockTime": event.time,
        "type": event.kind,
        "userAddress": to_checksummed(event.address),
        "amount": micro_text(event.amount),
        "shares": micro_text(event.shares),
        "price": micro_text(event.price),
        "leaderFee": micro_text(event.fee),
        "txHash": event.tx_hash,
        "vaultAddress": to_checksummed(vault.address),
    }


@process("vaults")
def sample(core: Core, time: int) -> int:
    """Keep each open vault's value, share price and profit, once per hour.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the sample, Unix ms.
    """
    for vault in core.state.vaults.values():
        if not vault.closed:
            now = value(core, vault)
            vault.samples.append((time, now, price(core, vault), now - vault.paid_in))
    return time + SAMPLE_EVERY


SHARE = 1_000_000
"""Shares are counted in millionths."""
LARGEST = 10**18
"""Most shares of a vault (in millionths), and the highest price of one that is shown (in micro-USDC), so that both
fit into 64 bits: a million million."""


def value(core: Core, vault: Vault, *, in_book: bool = False) -> int:
    """Return the net asset value in micro-USDC, with the sub-vaults.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    vault : Vault
        The vault.
    in_book : bool, optional
        True values positions at what the book would pay, False at mark (default: `False`).
    """
    account = core.state.accounts[vault.address]
    own = account_margin.wallet(core, account).equity + vault.reserve + (_closing_gain(core, account) if in_book else 0)
    return own + sum(value(core, core.state.vaults[child], in_book=in_book) for child in vault.children)


def _closing_gain(core: Core, account: VenueAccount) -> int:
    """Return what the book would pay for an account's positions, less their value at mark.

    Steps that the book can't take count at its last price, at mark where it is empty. No price is worse than the bound
    of a market order with the largest slippage from mark, so that an order far away does not set the value.
    """
    gain = 0
    for code, position in account.positions.items():
        own = [order for order in account.orders.values() if order.product == code and order.priority]
        product = core.products[code]
        for side, left in ((1, position.long.size), (-1, position.short.size)):
            price_ticks = mark_ticks = core.state.markets[code].mark
            worst_ticks, paid = slippage_bound(product, -side, mark_ticks, product.max_slippage), 0
            for level_ticks, total in core.books.levels(code, side, LARGEST) if left else ():
                there = total - sum(order.leaves for order in own if (order.side, order.price) == (side, level_ticks))
                if there:  # a level of its own orders alone is no price of the book's
                    price_ticks, taken = side * max(side * level_ticks, side * worst_ticks), min(left, there)
                    paid, left = paid + taken * price_ticks, left - taken
                if not left:
                    break
            held = position.long.size if side > 0 else position.short.size
            gain += side * (paid + left * price_ticks - held * mark_ticks) * product.unit
    return gain


def price(core: Core, vault: Vault) -> int:
    """Return the value of one share in micro-USDC.

    It is 1 USDC while there are none, and the last price of a closed vault. The highest one is LARGEST.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    vault : Vault
        The vault.
    """
    if vault.closed and vault.events:
        return vault.events[-1].price
    return min(LARGEST, max(0, value(core, vault)) * SHARE // vault.shares) if vault.shares else USDC


def worth(core: Core, vault: Vault, shares: int) -> int:
    """Return the value of shares at redemption in micro-USDC, before the leader's part.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    vault : Vault
        The vault.
    shares : int
        Shares in millionths.
    """
    # The lower value, for the same reason: the holders who stay must not pay for a late mark.
    now = min(value(core, vault), value(core, vault, in_book=True))
    return max(0, now) * shares // vault.shares if vault.shares else 0
