"""Referrals: who invited whom, rebates out of trading fees, and their daily payment.

Every account has a code. An account is bound to one inviter, once. The inviter gets 10–35 % of each trading fee, by the
volume of its network. The inviter's inviter gets 5 %. Rebates wait in the venue's account REFERRALS and are paid at the
turn of each UTC day [L].
"""

from __future__ import annotations

import hashlib
from typing import Any

from ...protocol.hexbytes import to_checksummed
from ..engine.commands import ActionContext, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import handles, process
from ..model.accounts import VenueAccount
from ..model.constants import DAY, RATE, USDC
from ..model.genesis import Genesis
from ..model.state import Payout, Referral, ReferredDay
from ..risk import fees, ledger
from ..risk.ledger import REFERRALS

TIERS = ((0, 10), (1_000_000, 15), (5_000_000, 20), (25_000_000, 25), (100_000_000, 30), (500_000_000, 35))
"""(30-day network volume in USDC, per cent of the invitees' fees) [L]. The span of 10–35 % is published."""
SECOND_TIER = 5
"""Per cent of the fees of accounts that the inviter's invitees invited."""


def begin(core: Core, genesis: Genesis) -> None:
    """Open the account that holds rebates, and pay at the turn of each day.

    Parameters
    ----------
    core : Core
        New state machine.
    genesis : Genesis
        How the venue begins.
    """
    core.account(REFERRALS).kind = "venue"
    core.wake("referrals", (core.state.time // DAY + 1) * DAY)


def referral(core: Core, address: str) -> Referral:
    """Return the referral record of an account, creating it with its code.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Account in lower case.
    """
    book = core.state.referrals
    found = book.accounts.get(address)
    if found is None:
        found = book.accounts[address] = Referral(code_of(address))
        book.codes[found.code] = address
    return found


def code_of(address: str) -> str:
    """Return the referral code of an address: ten characters, the same on every local venue.

    Parameters
    ----------
    address : str
        Address of the account. Its letters may have any case.
    """
    return hashlib.sha256(f"referral:{address.lower()}".encode()).hexdigest()[:10].upper()


def bind(core: Core, account: VenueAccount, code: str) -> None:
    """Bind an account to the inviter of a code.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that was invited.
    code : str
        Referral code of the inviter.

    Raises
    ------
    Refused
        If the code is unknown or the account's own, the account is bound, or it would invite itself through others.
    """
    accounts = core.state.accounts
    # A code follows from the address, so it is valid before its owner has asked for it.
    unlisted = (each for each in accounts if accounts[each].kind == "user" and code_of(each) == code)
    inviter = core.state.referrals.codes.get(code) or next(unlisted, None)
    mine = referral(core, account.address)
    if mine.inviter:
        reason = f"the account is bound to {to_checksummed(mine.inviter)} since {mine.bound}"
        raise Refused(TxCode.ALREADY_REFERRED, reason)
    if inviter is None:
        raise Refused(TxCode.UNKNOWN_REFERRAL_CODE, f'there is no referral code "{code}"')
    if inviter == account.address:
        raise Refused(TxCode.OWN_REFERRAL_CODE, "an account can't invite itself")
    above: str = inviter
    while above:
        if above == account.address:
            reason = f"{to_checksummed(inviter)} was itself invited by this account's network"
            raise Refused(TxCode.REFERRAL_CYCLE, reason)
        above = referral(core, above).inviter
    mine.inviter, mine.bound = inviter, core.state.time
    above_it = referral(core, inviter)
    above_it.invited.append(account.address)
    above_it.rate_day = -1  # its network's volume has grown by what the account traded before


@handles("bindReferral")
def bind_referral(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Bind the agent's account to an inviter.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account of the agent that signed.
    action : dict of str to object
        The `referralCode`.

    Raises
    ------
    Refused
        If the account can't be bound.
    """
    bind(core, context.account, str(action["referralCode"]))


def share(core: Core, payer: VenueAccount, fee: int, value: int) -> None:
    """Set the inviter's and the second tier's part of a trading fee aside.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    payer : VenueAccount
        Account that paid the fee.
    fee : int
        Fee in micro-USDC, above 0.
    value : int
        Traded notional in micro-USDC.
    """
    mine = core.state.referrals.accounts.get(payer.address)
    if mine is None or not mine.inviter:
        return
    inviter = referral(core, mine.inviter)
    number = core.state.time // DAY
    day = mine.days.get(number)
    if day is None:
        day = mine.days[number] = ReferredDay()
    # Rounded down: rebates must not exceed the fee that was paid.
    reward = fee * rate(core, inviter) // RATE
    second = fee * SECOND_TIER // 100 if inviter.inviter else 0
    day.volume += value
    day.fees += fee
    day.reward += reward
    day.second_reward += second
    accounts = core.state.accounts
    given, kind = reward + second, ledger.REFERRAL_REBATE
    ledger.move(core, accounts[ledger.FEES], accounts[REFERRALS], given, kind, 0, payer.address)
    if reward:
        inviter.due[payer.address] = inviter.due.get(payer.address, 0) + reward
    if second:
        upper = referral(core, inviter.inviter)
        upper.due[payer.address] = upper.due.get(payer.address, 0) + second


fees.REBATES.append(share)


def rate(core: Core, inviter: Referral) -> int:
    """Return an inviter's rebate rate today, in parts of RATE.

    It follows from the 30-day volume of its network before today.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    inviter : Referral
        Referral record of the inviter.
    """
    today = core.state.time // DAY
    if inviter.rate_day != today:
        inviter.rate_day, inviter.rate = today, present_rate(core, inviter)
    return inviter.rate


@process("referrals")
def pay_out(core: Core, time: int) -> int:
    """Pay what is due to every inviter, once per day.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Beginning of the day, Unix ms.
    """
    book, accounts = core.state.referrals, core.state.accounts
    for address, mine in book.accounts.items():
        for source, amount in mine.due.items():
            ledger.move(core, accounts[REFERRALS], accounts[address], amount, ledger.REFERRAL_REBATE, 0, source)
            tier = 1 if book.accounts[source].inviter == address else 2
            book.by_account.setdefault(address, []).append(len(book.payouts))
            book.payouts.append(Payout(len(book.payouts) + 1, time, address, source, tier, amount, core.tx_hash()))
        mine.due = {}
    return (time // DAY + 1) * DAY


def present_rate(core: Core, mine: Referral) -> int:
    """Return the rate that the 30-day volume of a network stands for now, in parts of RATE.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    mine : Referral
        Referral record of the inviter.
    """
    accounts = core.state.accounts
    volume = sum(fees.volume(core, accounts[each]) for each in mine.invited)
    return max(per_cent for floor, per_cent in TIERS if volume >= floor * USDC) * RATE // 100
