"""The books: every change of every balance, with its business type, amount, balance after it and transaction.

Cash only moves between accounts here, or enters and leaves by `deposit` and `withdraw`. So at any time

    sum of balances + sum of isolated margins = deposits − withdrawals,

where the balances include the venue's own accounts: FEES, ROUNDING (what is left when the payer is rounded up and
the receiver down), CLEARING (pays and takes realised PnL; its balance is the entry value of all shorts less that of
all longs, so it is 0 when nobody holds a position) and INSURANCE (pays what nobody else could). The LP vault is an
account like others. Simulated participants and the venue's own accounts keep totals by business type instead of
entries (see `sums`): entries for every fee and profit's other side would cost a tenth of the matching speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .events import AccountChanged
from .state import Account, LedgerEntry, Position

if TYPE_CHECKING:
    from .core import Core
    from .genesis import Genesis

FEES = "0x00000000000000000000000000000000000000fe"
ROUNDING = "0x00000000000000000000000000000000000000ad"
CLEARING = "0x00000000000000000000000000000000000000c1"
INSURANCE = "0x00000000000000000000000000000000000000a5"
LP_VAULT = "0x000000000000000000000000000000000000001f"
VENUE_ACCOUNTS = {FEES: "fees", ROUNDING: "rounding", CLEARING: "clearing", INSURANCE: "insurance"}

TOTALS_ONLY = frozenset({"market", "venue"})
"""Kinds of accounts that keep totals by business type instead of ledger entries."""

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
ROUND = "ROUNDING"


def begin(core: Core, genesis: Genesis) -> None:
    """Open the venue's own accounts and give the LP vault its capital."""
    for address in VENUE_ACCOUNTS:
        core.account(address).kind = "venue"
    vault = core.account(LP_VAULT)
    vault.kind = "vault"
    if core.state.config.lp_capital:
        deposit(core, vault, core.state.config.lp_capital)


def attach(core: Core) -> None:
    """Rebuild the indexes that the money rules keep beside the state."""
    core.desk.rebuild(core)


def post(core: Core, account: Account, amount: int, kind: str, product: int = 0, reference: str = "") -> None:
    """Change a balance by an amount of micro-USDC and keep the entry. Use `move` where the other side is an account."""
    if not amount:
        return
    state = core.state
    account.balance = balance = account.balance + amount
    account.updated = time = state.time
    if account.kind in TOTALS_ONLY:
        account.totals[kind] = account.totals.get(kind, 0) + amount
        return
    address = account.address
    core.desk.touched[address] = account
    log = state.history.ledger
    records = log.records
    index = log.by_account.get(address)
    if index is None:
        index = log.by_account[address] = []
    index.append(len(records))
    tx_hash = core.step_hash or core.tx_hash()
    records.append(
        LedgerEntry(len(records) + 1, time, core.height, tx_hash, address, kind, amount, balance, product, reference)
    )
    if core.heard:
        core.events.append(AccountChanged(address))


def move(
    core: Core,
    source: Account,
    target: Account,
    amount: int,
    kind: str,
    product: int = 0,
    reference: str = "",
) -> None:
    """Move an amount from one balance to another; a negative amount goes the other way."""
    post(core, source, -amount, kind, product, reference)
    post(core, target, amount, kind, product, reference)


def split(
    core: Core,
    payer: Account,
    receiver: str,
    paid: int,
    received: int,
    kind: str,
    product: int = 0,
    reference: str = "",
) -> None:
    """Book a payment that was rounded up for the payer and down for the receiver; ROUNDING keeps what lies between."""
    accounts = core.state.accounts
    post(core, payer, -paid, kind, product, reference)
    target = accounts[receiver]
    if target.kind == "venue":
        _keep(target, received, kind)
    else:
        post(core, target, received, kind, product, reference)
    if paid != received:
        _keep(accounts[ROUNDING], paid - received, ROUND)


def realize(core: Core, account: Account, pnl: int, product: int, reference: str = "") -> None:
    """Book realised PnL: the clearing account pays a profit and takes a loss."""
    if pnl:
        _keep(core.state.accounts[CLEARING], -pnl, REALIZED_PNL)
        post(core, account, pnl, REALIZED_PNL, product, reference)


def _keep(account: Account, amount: int, kind: str) -> None:
    """Change a balance of the venue's own, which has totals instead of entries."""
    account.balance += amount
    totals = account.totals
    totals[kind] = totals.get(kind, 0) + amount


def sums(core: Core, account: Account) -> list[LedgerEntry]:
    """Return one entry a business type for an account that keeps totals instead of entries; they add up to its balance.

    They stand at the present time and belong to no single transaction.
    """
    found: list[LedgerEntry] = []
    balance, time, height = 0, core.state.time, core.height
    for kind, amount in sorted(account.totals.items()):
        balance += amount
        found.append(LedgerEntry(len(found) + 1, time, height, "", account.address, kind, amount, balance))
    return found


def assign(core: Core, account: Account, position: Position, amount: int) -> None:
    """Move an amount from the balance to the position's isolated margin; a negative amount takes it back."""
    if amount:
        position.assigned += amount
        post(core, account, -amount, ISOLATED_MARGIN, position.product)


def deposit(core: Core, account: Account, amount: int, kind: str = DEPOSIT, reference: str = "") -> None:
    """Bring money in from outside."""
    core.state.deposits += amount
    post(core, account, amount, kind, 0, reference)


def withdraw(core: Core, account: Account, amount: int, reference: str = "") -> None:
    """Let money leave; the caller has checked that it may."""
    core.state.withdrawals += amount
    post(core, account, -amount, WITHDRAW, 0, reference)


def text(amount: int) -> str:
    """Return micro-USDC as decimal text without trailing zeros: 1_500_000 → "1.5"."""
    sign = "-" if amount < 0 else ""
    units, part = divmod(abs(amount), 1_000_000)
    return f"{sign}{units}.{part:06d}".rstrip("0").rstrip(".")
