"""Deposits and withdrawals: the faucet, withdrawals, and the control that funds an account."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from ...checks import check_withdrawal
from ...numerals import micro_text, time_text
from ..engine import arguments
from ..engine.codes import TxCode
from ..engine.commands import ActionContext, Refused
from ..engine.core import Core
from ..engine.registry import controls, handles
from ..model.accounts import VenueAccount
from . import account_margin, ledger

MICRO = 1_000_000
USDC = 1
"""Currency code of USDC, the only one."""
LARGEST = 1_000_000_000_000 * MICRO
"""Limit of all deposits together, so that every sum of money fits into 64 bits."""


def micro(amount: str, name: str = "amount") -> int:
    """Return a decimal text of USDC as micro-USDC. Raises Refused for more than 6 decimals."""
    exact = Fraction(amount) * MICRO
    if exact.denominator != 1:
        raise Refused(TxCode.AMOUNT_TOO_PRECISE, f"{name} {amount} is finer than 0.000001 USDC")
    return exact.numerator


def check_currency(action: dict[str, Any]) -> None:
    """Refuse every currency but USDC."""
    if action["currencyCode"] != USDC:
        reason = f"currencyCode {action['currencyCode']} is not known; 1 is USDC, the only currency"
        raise Refused(TxCode.UNKNOWN_CURRENCY, reason)


def check_covered(core: Core, account: VenueAccount, amount: int) -> None:
    """Refuse an amount that the account can't withdraw."""
    free = account_margin.withdrawable(core, account)
    if amount > free:
        raise Refused(
            TxCode.INSUFFICIENT_BALANCE,
            f"{micro_text(amount)} USDC is more than the {micro_text(free)} USDC that can be taken out; margin in use "
            "and unrealised profit can't",
        )


@handles("faucetClaim")
def claim_faucet(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Credit test funds, once per account and 24 hours; a new signer gets an account."""
    account, config, now = context.account, core.state.config, core.state.time
    if account.faucet_time and now < account.faucet_time + config.faucet_pause:
        again = account.faucet_time + config.faucet_pause
        reason = f"last claimed at {time_text(account.faucet_time)}; it can be claimed again at {time_text(again)}"
        raise Refused(TxCode.FAUCET_CLAIMED, reason)
    account.faucet_time = now
    ledger.deposit(core, account, config.faucet_amount, ledger.FAUCET)
    return {}


@handles("withdraw")
def withdraw(core: Core, context: ActionContext, action: dict[str, Any]) -> dict[str, Any]:
    """Withdraw free money to an address; the ledger keeps the address and the withdrawSequence."""
    amount = micro(action["amount"])
    smallest = Decimal(core.state.config.withdrawal_minimum) / MICRO
    for failure in check_withdrawal(Decimal(action["amount"]), smallest):
        raise Refused(TxCode.WITHDRAWAL_TOO_SMALL, failure.message)
    check_covered(core, context.account, amount)
    sequence = action.get("withdrawSequence")
    reference = str(action["destination"]).lower() + (f" #{sequence}" if sequence is not None else "")
    ledger.withdraw(core, context.account, amount, reference)
    return {}


@controls("fund")
def fund(core: Core, address: str, amount: str) -> dict[str, Any]:
    """Deposit `amount` USDC in an account, which is opened when it is new."""
    address, amount_micro = arguments.address(address), micro(arguments.positive(amount, "amount"))
    room = LARGEST - core.state.deposits
    if amount_micro > room:
        reason = f"amount {amount} is more than the {micro_text(max(0, room))} USDC that can still come in"
        raise Refused(TxCode.DEPOSIT_LIMIT, reason)
    account = core.account(address)
    ledger.deposit(core, account, amount_micro)
    return {"address": account.address, "balance": micro_text(account.balance)}
