"""The venue's books in double entry, its own accounts, and the business types of entries.

Every movement of cash is one `Transfer`: its business type, what the payer's balance lost, what the receiver's gained,
both balances after it, and the transaction.

Cash only moves between accounts here, or enters and leaves by `deposit` and `withdraw`. So at any time

    sum of balances + sum of isolated margins = deposits − withdrawals,

where the balances include the venue's own accounts: FEES, ROUNDING, CLEARING, INSURANCE, RESERVES and REFERRALS.
ROUNDING keeps the difference between the payer's and the receiver's rounding. CLEARING pays and receives realised PnL,
so its balance is the entry value of all shorts less that of all longs. Funding passes through it. INSURANCE covers
losses that no other account can pay. The LP vault and simulated participants are accounts like others. An account's
entries are its side of the transfers (`entries`). Their sum is its balance.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from ...checks import check_withdrawal
from ...numerals import micro_text, time_text
from ...protocol.hexbytes import to_checksummed
from ...returns import CAPITAL_FLOWS as CAPITAL_FLOWS
from ..engine import arguments
from ..engine.changes import AccountChanged
from ..engine.commands import ActionContext, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import controls, handles
from ..model.accounts import Position, VenueAccount
from ..model.constants import OWN, USDC
from ..model.genesis import Genesis
from ..model.history import LedgerEntry, Transfer
from . import account_margin

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
"""Accounts that the ledger itself opens. `programs` opens RESERVES and REFERRALS."""

USDC_CODE = 1
"""Currency code of USDC, the only one."""
LARGEST = 1_000_000_000_000 * USDC
"""Limit of all deposits together, in micro-USDC, so that every sum of money fits into 64 bits."""

DEPOSIT = "DEPOSIT"
WITHDRAW = "WITHDRAW"
FAUCET = "FAUCET"
TRADING_FEE = "TRADING_FEE"
BUILDER_FEE = "BUILDER_FEE"
REFERRAL_REBATE = "REFERRAL_REBATE"
REALIZED_PNL = "REALIZED_PNL"
FUNDING = "FUNDING"
ISOLATED_MARGIN = "ISOLATED_MARGIN"
"""Between the balance and a position's assigned margin. The sum of these is minus the sum of all assigned margins."""
LIQUIDATION_FEE = "LIQUIDATION_FEE"
BANKRUPTCY = "BANKRUPTCY"
"""Payment of the LP vault or the insurance account for an account that owes more than it has."""
TRANSFER = "TRANSFER"
"""Between two accounts, by usdSend."""
VAULT_DEPOSIT = "VAULT_DEPOSIT"
VAULT_WITHDRAW = "VAULT_WITHDRAW"
VAULT_FEE = "VAULT_FEE"
VAULT_LEADER_SHARE = "VAULT_LEADER_SHARE"
VAULT_REBALANCE = "VAULT_REBALANCE"
"""Between a vault, its sub-vaults and RESERVES."""
Party = VenueAccount | None
"""A side of a transfer. None stands for a side without a balance (outside, isolated margin)."""


def begin(core: Core, genesis: Genesis) -> None:
    """Open the venue's own accounts and give the LP vault its capital.

    Parameters
    ----------
    core : Core
        New state machine.
    genesis : Genesis
        How the venue begins. Its `config` has the capital of the LP vault.
    """
    for address in VENUE_ACCOUNTS:
        core.account(address).kind = "venue"
    vault = core.account(LP_VAULT)
    vault.kind = "vault"
    if core.state.config.lp_capital:
        deposit(core, vault, core.state.config.lp_capital)


def attach(core: Core) -> None:
    """Rebuild the indexes of the money rules, which are not part of the state.

    Parameters
    ----------
    core : Core
        State machine whose indexes are built from its state.
    """
    core.risk_index.rebuild(core.products, core.state.accounts.values())


def open_house(core: Core, address: str, capital: int) -> VenueAccount:
    """Return an account of the simulated or recorded market, which pays no fees.

    A new account gets its capital.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    address : str
        Address in lower case.
    capital : int
        First deposit in micro-USDC.
    """
    account = core.account(address)
    if account.kind != "market":
        account.kind = "market"
        deposit(core, account, capital)
    return account


def transfer(
    core: Core, payer: Party, receiver: Party, paid: int, received: int, kind: str, code: int = 0, reference: str = ""
) -> None:
    """Move cash, in micro-USDC, and record it.

    Negative amounts reverse the direction. Nothing is recorded for an amount of 0.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    payer : Party
        Account that pays. `None` for money from outside, or from an isolated margin.
    receiver : Party
        Account that receives. `None` for money that leaves, or becomes an isolated margin.
    paid : int
        Exact amount rounded up, in micro-USDC.
    received : int
        Exact amount rounded down, in micro-USDC. ROUNDING keeps the difference.
    kind : str
        Business type of the entries, such as TRADING_FEE.
    code : int, optional
        Code of the product that it belongs to, 0 = none (default: 0).
    reference : str, optional
        The order id, vault or destination that it belongs to (default: "").
    """
    if received < 0:
        # −received ≥ −paid: after the swap it is still the payer whose amount is rounded up
        payer, receiver, paid, received = receiver, payer, -received, -paid
    if not paid or payer is receiver:
        return
    # This function runs for every fill, several times. Lookups are local, and dictionaries are tried before they are
    # filled.
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
    changed: tuple[Party, ...] = payer, receiver
    if paid != received:
        rounding = state.accounts[ROUNDING]
        rounding.balance = rounding_balance = rounding.balance + paid - received
        # A receiver whose share was rounded down to nothing has no entry, since its balance did not change.
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
    log.records.append(
        Transfer(
            at + 1,
            time,
            core.height,
            core.step_hash or core.tx_hash(),
            kind,
            source,
            paid,
            payer_balance,
            target,
            received,
            receiver_balance,
            code,
            reference,
            rounding_balance,
        )
    )


def move(
    core: Core, source: VenueAccount, target: VenueAccount, amount: int, kind: str, code: int = 0, reference: str = ""
) -> None:
    """Move an amount from one balance to another.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    source : VenueAccount
        Account that pays.
    target : VenueAccount
        Account that receives.
    amount : int
        Amount in micro-USDC. A negative one reverses the direction.
    kind : str
        Business type of the entries, such as TRADING_FEE.
    code : int, optional
        Code of the product that it belongs to, 0 = none (default: 0).
    reference : str, optional
        The order id, vault or destination that it belongs to (default: "").
    """
    transfer(core, source, target, amount, amount, kind, code, reference)


def realize(core: Core, account: VenueAccount, pnl: int, product: int, reference: str = "") -> None:
    """Book realised PnL: the clearing account pays a profit and takes a loss.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    account : VenueAccount
        Account whose balance is changed.
    pnl : int
        Realised profit in micro-USDC, negative for a loss.
    product : int
        Code of the product that it belongs to.
    reference : str, optional
        The order id, vault or destination that it belongs to (default: "").
    """
    transfer(core, core.state.accounts[CLEARING], account, pnl, pnl, REALIZED_PNL, product, reference)


def entries(core: Core, address: str) -> list[LedgerEntry]:
    """Return every change of one account's balance, oldest first.

    Their sum is the balance.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    address : str
        Account in lower case.
    """
    return [record.entry(address) for record in core.state.history.ledger.of(address)]


def assign(core: Core, account: VenueAccount, position: Position, amount: int) -> None:
    """Move an amount from the balance to the position's isolated margin.

    A negative amount takes it back.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    account : VenueAccount
        Account whose balance is changed.
    position : Position
        Position in isolated mode.
    amount : int
        Margin in micro-USDC. A negative amount takes it back.
    """
    if amount:
        position.assigned += amount
        transfer(core, account, None, amount, amount, ISOLATED_MARGIN, position.product)


def deposit(core: Core, account: VenueAccount, amount: int, kind: str = DEPOSIT) -> None:
    """Credit money from outside.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    account : VenueAccount
        Account whose balance is changed.
    amount : int
        Money in micro-USDC, above 0.
    kind : str, optional
        Business type of the entry (default: "DEPOSIT").
    """
    core.state.deposits += amount
    transfer(core, None, account, amount, amount, kind)


def withdraw(core: Core, account: VenueAccount, amount: int, reference: str = "") -> None:
    """Debit money that leaves the venue.

    The caller has checked that it may.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    account : VenueAccount
        Account whose balance is changed.
    amount : int
        Money in micro-USDC, which the caller has checked to be free.
    reference : str, optional
        Destination of the withdrawal (default: "").
    """
    core.state.withdrawals += amount
    transfer(core, account, None, amount, amount, WITHDRAW, 0, reference)


def micro(amount: str, name: str = "amount") -> int:
    """Return a decimal text of USDC as micro-USDC.

    Parameters
    ----------
    amount : str
        Amount in USDC, as on the wire.
    name : str, optional
        Name of the field, for the refusal (default: "amount").

    Raises
    ------
    Refused
        If it has more than 6 decimals.
    """
    exact = Fraction(amount) * USDC
    if exact.denominator != 1:
        raise Refused(TxCode.AMOUNT_TOO_PRECISE, f"{name} {amount} is finer than 0.000001 USDC")
    return exact.numerator


def check_currency(action: dict[str, Any]) -> None:
    """Refuse every currency but USDC.

    Parameters
    ----------
    action : dict of str to object
        Action with a currencyCode.

    Raises
    ------
    Refused
        If it is not 1.
    """
    if action["currencyCode"] != USDC_CODE:
        reason = f"currencyCode {action['currencyCode']} is not known. 1 is USDC, the only currency"
        raise Refused(TxCode.UNKNOWN_CURRENCY, reason)


def check_covered(core: Core, account: VenueAccount, amount: int) -> None:
    """Refuse an amount that the account can't withdraw.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    account : VenueAccount
        Account that pays.
    amount : int
        Amount in micro-USDC.

    Raises
    ------
    Refused
        If it is more than the account can withdraw. The reason says how much is free.
    """
    free = account_margin.withdrawable(core, account)
    if amount > free:
        reason = f"{micro_text(amount)} USDC is more than the {micro_text(free)} USDC that can be taken out"
        raise Refused(TxCode.INSUFFICIENT_BALANCE, f"{reason}. Margin in use and unrealised profit can't")


@handles("faucetClaim")
def claim_faucet(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Credit test funds, once per account and 24 hours.

    A new signer gets an account.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    context : ActionContext
        Account that claims.
    action : dict of str to object
        The action, which has no fields.

    Raises
    ------
    Refused
        If the account has claimed too recently. The reason says when it can claim again.
    """
    account, config, now = context.account, core.state.config, core.state.time
    if account.faucet_time and now < account.faucet_time + config.faucet_pause:
        again = account.faucet_time + config.faucet_pause
        reason = f"last claimed at {time_text(account.faucet_time)}. It can be claimed again at {time_text(again)}"
        raise Refused(TxCode.FAUCET_CLAIMED, reason)
    account.faucet_time = now
    deposit(core, account, config.faucet_amount, FAUCET)


@handles("withdraw")
def withdraw_free(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Withdraw free money to an address.

    The ledger keeps the address and the withdrawSequence.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    context : ActionContext
        Account that withdraws.
    action : dict of str to object
        Amount in USDC, destination, currencyCode and maybe a withdrawSequence.

    Raises
    ------
    Refused
        If the amount is too small, too precise, or not free.
    """
    amount = micro(action["amount"])
    smallest = Decimal(core.state.config.withdrawal_minimum) / USDC
    for failure in check_withdrawal(Decimal(action["amount"]), smallest):
        raise Refused(TxCode.WITHDRAWAL_TOO_SMALL, failure.message)
    check_covered(core, context.account, amount)
    sequence = action.get("withdrawSequence")
    reference = str(action["destination"]).lower() + (f" #{sequence}" if sequence is not None else "")
    withdraw(core, context.account, amount, reference)


@handles("usdSend")
def send_usd(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Send free money to another account.

    An address without an account is refused, because a mistyped one would lose the money. A vault is refused as well:
    its shares would gain without a deposit.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    context : ActionContext
        Account that sends.
    action : dict of str to object
        To and amount in USDC.

    Raises
    ------
    Refused
        If the amount is too precise or not free, or the address has no account that takes transfers.
    """
    amount, to = micro(action["amount"]), str(action["to"]).lower()
    shown = to_checksummed(to)
    if to == context.account.address:
        raise Refused(TxCode.TRANSFER_TO_SELF, f"{shown} is the sending account itself")
    receiver = core.state.accounts.get(to)
    if receiver is None or receiver.kind != "user":
        what = "has no account here" if receiver is None else f"is a {receiver.kind}, which takes no transfers"
        raise Refused(TxCode.UNKNOWN_RECIPIENT, f"{shown} {what}. Send to the account of a wallet")
    check_covered(core, context.account, amount)
    move(core, context.account, receiver, amount, TRANSFER)


@controls("fund")
def fund(core: Core, address: str, amount: str) -> dict[str, Any]:
    """Deposit USDC in an account, which is opened when it is new.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose balances are changed.
    address : str
        Address of the account. Its letters may have any case.
    amount : str
        Decimal text of USDC, above 0, at most 6 decimals.

    Returns
    -------
    dict
        `address` and the new `balance` in USDC.

    Raises
    ------
    Refused
        If the venue would hold more than its limit of all deposits.
    """
    address, amount_micro = arguments.address(address), micro(arguments.positive(amount, "amount"))
    # The limit is of all deposits ever, not of the present balances: sums in the records must fit into 64 bits too.
    room = LARGEST - core.state.deposits
    if amount_micro > room:
        reason = f"amount {amount} is more than the {micro_text(max(0, room))} USDC that can still come in"
        raise Refused(TxCode.DEPOSIT_LIMIT, reason)
    account = core.account(address)
    deposit(core, account, amount_micro)
    return {"address": account.address, "balance": micro_text(account.balance)}
