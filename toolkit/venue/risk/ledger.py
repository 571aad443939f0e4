"""The venue's books in double entry, its own accounts, and the business types of entries.

Every movement of cash is one `Transfer`: its business type, what the payer's balance lost, what the receiver's gained,
both balances after it, and the transaction.

Cash only moves between accounts here, or enters and leaves by `deposit` and `withdraw`. So at any time

    sum of balances + sum of isolated margins = deposits − withdrawals,

where the balances include the venue's own accounts: FEES, ROUNDING (what is left when the payer is rounded up and
the receiver down), CLEARING (pays and takes realised PnL, so that its balance is the entry value of all shorts less
that of all longs; funding passes through it), INSURANCE (covers losses that no other account can pay), RESERVES and
REFERRALS. The LP vault and simulated participants are accounts like others. An account's entries are its side of the
transfers (`entries`); their sum is its balance.
"""

from __future__ import annotations

from ..engine.core import Core
from ..engine.events import AccountChanged
from ..model.accounts import Position, VenueAccount
from ..model.constants import OWN
from ..model.genesis import Genesis
from ..model.history import LedgerEntry, Transfer

FEES = "0x00000000000000000000000000000000000000fe"
ROUNDING = "0x00000000000000000000000000000000000000ad"
CLEARING = "0x00000000000000000000000000000000000000c1"
INSURANCE = "0x00000000000000000000000000000000000000a5"
LP_VAULT = "0x000000000000000000000000000000000000001f"
RESERVES = "0x00000000000000000000000000000000000000fa"
"""Holds what vaults set aside for withdrawals."""
REFERRALS = "0x00000000000000000000000000000000000000ef"
"""Holds rebates until they are paid."""
VENUE_ACCOUNTS = {FEES: "fees", ROUNDING: "rounding", CLEARING: "clearing", INSURANCE: "insurance"}
"""Accounts that the ledger itself opens; `programs` opens RESERVES and REFERRALS."""
ACCOUNT_NAMES = {**VENUE_ACCOUNTS, LP_VAULT: "LP vault", RESERVES: "vault reserves", REFERRALS: "referrals"}

DEPOSIT = "DEPOSIT"
WITHDRAW = "WITHDRAW"
FAUCET = "FAUCET"
TRADING_FEE = "TRADING_FEE"
BUILDER_FEE = "BUILDER_FEE"
REFERRAL_REBATE = "REFERRAL_REBATE"
REALIZED_PNL = "REALIZED_PNL"
FUNDING = "FUNDING"
ISOLATED_MARGIN = "ISOLATED_MARGIN"
"""Between the balance and a position's assigned margin; the sum of these is minus the sum of all assigned margins."""
LIQUIDATION_FEE = "LIQUIDATION_FEE"
BANKRUPTCY = "BANKRUPTCY"
"""What the LP vault or the insurance account pays for an account that owes more than it has."""
VAULT_DEPOSIT = "VAULT_DEPOSIT"
VAULT_WITHDRAW = "VAULT_WITHDRAW"
VAULT_FEE = "VAULT_FEE"
VAULT_LEADER_SHARE = "VAULT_LEADER_SHARE"
VAULT_REBALANCE = "VAULT_REBALANCE"
"""Between a vault, its sub-vaults and RESERVES."""
CAPITAL_FLOWS = frozenset({DEPOSIT, FAUCET, WITHDRAW, VAULT_DEPOSIT, VAULT_WITHDRAW, VAULT_REBALANCE})
"""Business types of money that its owner moves in or out: neither a profit nor a loss."""


def begin(core: Core, genesis: Genesis) -> None:
    """Open the venue's own accounts and give the LP vault its capital."""
    for address in VENUE_ACCOUNTS:
        core.account(address).kind = "venue"
    vault = core.account(LP_VAULT)
    vault.kind = "vault"
    if core.state.config.lp_capital:
        deposit(core, vault, core.state.config.lp_capital)


def attach(core: Core) -> None:
    """Rebuild the indexes of the money rules, which are not part of the state."""
    core.risk_index.rebuild(core.products, core.state.accounts.values())


def open_house(core: Core, address: str, capital: int) -> VenueAccount:
    """Return an account of the simulated or recorded market, which pays no fees; a new one gets its capital."""
    account = core.account(address)
    if account.kind != "market":
        account.kind = "market"
        deposit(core, account, capital)
    return account


def transfer(
    core: Core,
    payer: VenueAccount | None,
    receiver: VenueAccount | None,
    paid: int,
    received: int,
    kind: str,
    product: int = 0,
    reference: str = "",
) -> None:
    """Move cash, in micro-USDC, and record it; None stands for what is not a balance (outside, isolated margin).

    `paid` is the exact amount rounded up and `received` the same rounded down: ROUNDING keeps the difference.
    Negative amounts reverse the direction.
    """
    if received < 0:
        # −received ≥ −paid: after the swap it is still the payer whose amount is rounded up
        payer, receiver, paid, received = receiver, payer, -received, -paid
    if not paid or payer is receiver:
        return
    state = core.state
    time, log = state.time, state.history.ledger
    index, at = log.by_account, len(log.records)
    source = target = ""
    payer_balance = receiver_balance = rounding_balance = 0
    if payer is not None:
        source = payer.address
        payer.balance = payer_balance = payer.balance - paid
    if receiver is not None:
        target = receiver.address
        receiver.balance = receiver_balance = receiver.balance + received
    changed: tuple[VenueAccount | None, ...] = payer, receiver
    if paid != received:
        rounding = state.accounts[ROUNDING]
        rounding.balance = rounding_balance = rounding.balance + paid - received
        changed = (payer, receiver, rounding) if received else (payer, rounding)
    for account in changed:
        if account is None:
            continue
        account.updated, address = time, account.address
        try:
            index[address].append(at)
        except KeyError:
            index[address] = [at]
        if account.kind not in OWN:
            core.risk_index.touched[address] = account
            if core.recording:
                core.events.append(AccountChanged(address))
    step = at + 1, time, core.height, core.step_hash or core.tx_hash()
    gave, got = (source, paid, payer_balance), (target, received, receiver_balance)
    log.records.append(Transfer(*step, kind, *gave, *got, product, reference, rounding_balance))


def move(
    core: Core,
    source: VenueAccount,
    target: VenueAccount,
    amount: int,
    kind: str,
    product: int = 0,
    reference: str = "",
) -> None:
    """Move an amount from one balance to another; a negative amount reverses the direction."""
    transfer(core, source, target, amount, amount, kind, product, reference)


def realize(core: Core, account: VenueAccount, pnl: int, product: int, reference: str = "") -> None:
    """Book realised PnL: the clearing account pays a profit and takes a loss."""
    transfer(core, core.state.accounts[CLEARING], account, pnl, pnl, REALIZED_PNL, product, reference)


def entries(core: Core, address: str) -> list[LedgerEntry]:
    """Return every change of one account's balance, oldest first; their sum is the balance."""
    return [record.entry(address) for record in core.state.history.ledger.of(address)]


def assign(core: Core, account: VenueAccount, position: Position, amount: int) -> None:
    """Move an amount from the balance to the position's isolated margin; a negative amount takes it back."""
    if amount:
        position.assigned += amount
        transfer(core, account, None, amount, amount, ISOLATED_MARGIN, position.product)


def deposit(core: Core, account: VenueAccount, amount: int, kind: str = DEPOSIT, reference: str = "") -> None:
    """Credit money from outside."""
    core.state.deposits += amount
    transfer(core, None, account, amount, amount, kind, 0, reference)


def withdraw(core: Core, account: VenueAccount, amount: int, reference: str = "") -> None:
    """Debit money that leaves the venue; the caller has checked that it may."""
    core.state.withdrawals += amount
    transfer(core, account, None, amount, amount, WITHDRAW, 0, reference)
