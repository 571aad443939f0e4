"""The interface of the core: commands, outcomes, refusals, the context of an action, and what makes a request fresh.

Nonces and expiry: docs/published.md, "Exchange API".
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from enum import IntEnum, unique
from typing import Any

import msgspec

from toolkit import errors

from ..model.accounts import VenueAccount
from ..model.state import NonceWindow, State


class Submit(msgspec.Struct, frozen=True, tag="submit", forbid_unknown_fields=True):
    """A signed action whose signer has been recovered.

    Attributes
    ----------
    time : int
        Time of the command, Unix ms.
    action : dict of str to object
        The action as JSON, with its type and fields.
    signer : str
        Address that the signature recovers, in lower case.
    nonce : int
        Nonce of the envelope, in ms.
    expiry_after : int or None
        Last time at which it may be executed, Unix ms. `None` or 0 means without end.
    vault : str or None
        Vault that the request acts for. `None` is the signer's account.
    """

    time: int
    action: dict[str, Any]
    signer: str
    nonce: int
    expiry_after: int | None = None
    vault: str | None = None
    digest: bytes = b""
    """Hash of the signed data. The transaction hash is made from it."""


class Advance(msgspec.Struct, frozen=True, tag="advance", forbid_unknown_fields=True):
    """Let time pass: everything that is due up to and including `time` happens, in order.

    Attributes
    ----------
    time : int
        Time that the venue then has, Unix ms.
    """

    time: int


class Control(msgspec.Struct, frozen=True, tag="control", forbid_unknown_fields=True):
    """An intervention that the wire does not have, for tests, teaching and market replay: CONTROLS[name](core, **args).

    Attributes
    ----------
    time : int
        Time of the command, Unix ms.
    name : str
        Name of the control's rule.
    args : dict of str to object
        Arguments of the rule by name.
    """

    time: int
    name: str
    args: dict[str, Any] = {}


Command = Submit | Advance | Control


class Outcome(msgspec.Struct, frozen=True):
    """The answer to a command, in the shape of ExchangeResponse.

    Attributes
    ----------
    code : int
        Code of the answer. 0 is success (default: 0).
    message : str
        Reason in words. "success" with code 0 (default: "success").
    data : dict of str to object or None
        Data of the answer. An executed or refused action has its txHash, txCode and txMsg there.
    status : int
        HTTP status of the answer (default: 200).
    """

    code: int = 0
    message: str = "success"
    data: dict[str, Any] | None = None
    status: int = 200


class Refused(Exception):
    """A business rule refuses the action.

    The transaction is recorded as refused.

    Parameters
    ----------
    code : int
        Member of TxCode, which becomes the answer's txCode.
    reason : str
        One sentence with the numbers, which becomes the answer's txMsg.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = int(code)  # answers show it, and callers expect a plain number there
        self.reason = reason


class WireError(Exception):
    """The request is not executed at all.

    Parameters
    ----------
    code : int
        Code of the answer, one of the published ones.
    message : str
        Reason in one sentence.
    status : int, optional
        HTTP status of the answer (default: 200).
    data : dict of str to object or None, optional
        Data of the answer (default: none).
    """

    def __init__(self, code: int, message: str, *, status: int = 200, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data


@dataclass(slots=True, eq=False)
class ActionContext:
    """The actor of an action, the account it is for, and the transaction.

    Attributes
    ----------
    signer : str
        Address that signed.
    nonce : int
        Nonce of the request, in ms (default: 0).
    time : int
        Time of execution, Unix ms (default: 0).
    tx_hash : str
        Hash of the transaction.
    vault : str or None
        Vault that the request acts for. `None` is the signer's account.
    """

    account: VenueAccount
    """The account that is acted for (the vault's account in a vault context)."""
    signer: str = ""
    nonce: int = 0
    time: int = 0
    tx_hash: str = ""
    vault: str | None = None
    builder: str | None = None
    """Builder's master address while a builder action is executed."""
    builder_rate: int = 0
    """Builder fee of that action's orders, parts of RATE."""
    owner: VenueAccount = field(init=False)
    """The account whose wallet or agent signed, it differs from `account` only in a vault context."""

    def __post_init__(self) -> None:
        self.owner = self.account


KEPT_NONCES = 1_000
"""Largest used nonces kept per signer."""

CLAIM = "faucetClaim"
"""The action that opens an account for whoever signs it."""
UNSIGNED_NONCES = frozenset({CLAIM})
"""Actions whose nonce is not part of the signed data. Anyone can repeat such a request under other nonces, so its nonce
only counts as used once the action has succeeded. Otherwise repeats could use up the signer's nonces."""


def check_nonce(state: State, submit: Submit) -> None:
    """Check that a request is fresh: its nonce was not used, is not too old, and its expiry has not passed.

    Parameters
    ----------
    state : State
        State of the venue. Its window of the signer's nonces is read or changed.
    submit : Submit
        Signed action with its nonce and expiry.

    Raises
    ------
    WireError
        If the nonce is used or too old, or the request has expired.
    """
    window = state.nonces.get(submit.signer)
    # A nonce above the largest used one is new. Nearly all are, so the window is only searched for the others.
    if window is not None and window.used and submit.nonce <= window.used[-1]:
        _check_older_nonce(window.used, submit)
    now, expiry = state.time, submit.expiry_after
    # An expiry of 0 means none, as on the wire.
    if expiry and now > expiry:
        late = f"request expired: expiryAfter {expiry} was {now - expiry} ms ago (venue time {now})"
        raise WireError(EXPIRED, f"{late}. Set it later, or compare your clock with the venue's")


def _check_older_nonce(used: list[int], submit: Submit) -> None:
    nonce, signer = submit.nonce, submit.signer
    at = bisect_left(used, nonce)
    if used[at] == nonce:
        raise WireError(NONCE, f"nonce {nonce} was used before by {signer}. Use a nonce that was never used")
    # Below a full window nothing is known: the nonce may be one that was used and forgotten.
    if at == 0 and len(used) >= KEPT_NONCES:
        low = f"{used[0]}, the smallest of the {KEPT_NONCES} largest nonces that {signer} used"
        raise WireError(NONCE, f"nonce {nonce} is below {low}. Use the present time in milliseconds")


def use_nonce(state: State, submit: Submit) -> None:
    """Remember a nonce as used, and forget the smallest one of a full window.

    Parameters
    ----------
    state : State
        State of the venue. Its window of the signer's nonces is read or changed.
    submit : Submit
        Signed action with its nonce and expiry.
    """
    window = state.nonces.get(submit.signer)
    if window is None:
        window = state.nonces[submit.signer] = NonceWindow()
    used, nonce = window.used, submit.nonce
    if not used or nonce > used[-1]:
        used.append(nonce)
    else:
        insort(used, nonce)
    if len(used) > KEPT_NONCES:
        del used[0]


# `code` of an answer: its error class on the client's side has the number (docs/published.md, "Error codes").
MALFORMED = errors.BadRequest.code
LOCATION = errors.LocationNotSupported.code
UNSUPPORTED = errors.UnsupportedAction.code
SIGNATURE = errors.SignatureRejected.code
NONCE = errors.InvalidNonce.code
EXPIRED = errors.RequestExpired.code
RATE_LIMITED = errors.RateLimited.code
REFUSED = errors.ActionRejected.code
DISABLED = errors.ActionDisabled.code
BANNED = errors.AddressBanned.code


@unique
class TxCode(IntEnum):
    """txCode of a refused action, or of one refused order of a batch.

    0 is success, and txMsg has the reason in words.

    The interface names no numbers, so these are the local venue's own. A number never changes its meaning. 1xxx are of
    orders, 2xxx of risk, 50xx of agents, 51xx of deposits. 52xx are of builders, 53xx of referrals, 6xxx of vaults,
    7xxx of interventions.
    """

    meaning: str

    def __new__(cls, number: int, meaning: str) -> TxCode:
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        return member

    UNKNOWN_PRODUCT = 1001, "symbolCode names no product"
    PRE_TRADE_RULE = 1002, "the order breaks one or more rules of `checks`; txMsg names each"
    CLIENT_ID_IN_USE = 1003, "clOrdId belongs to an open order, or to another order of the same bracket"
    WRONG_SIDE = 1004, "the ordSide does not exist in the account's position mode"
    NO_POSITION = 1005, "there is no position to reduce, or less of it than a FOK order reduces"
    COVERED = 1006, "other reduce-only orders already cover the whole position"
    UNKNOWN_ORDER = 1007, "no open order of the account has these ids"
    NOT_REPLACEABLE = 1008, "a replacement changes a field, or to a value, that an open order can't have"
    BAD_BRACKET = 1009, "the orders don't form a bracket"
    INSUFFICIENT_MARGIN = 1010, "equity does not cover the initial margin that the order needs"
    POSITION_LIMIT = 1011, "position and orders would exceed maxPositionNtnl"
    PAUSED = 1012, "trading in the product is paused"
    MIN_VALUE = 1013, "the order is worth less than minOrderValue and does not close the whole position"
    OPEN_INTEREST = 1014, "the product's open interest would exceed its limit"

    LEVERAGE_TIER = 2001, "the notional reaches a tier that does not allow the position's leverage"
    POSITION_IN_LIQUIDATION = 2002, "the position is being liquidated and only accepts orders that reduce it"
    BAD_PRICE = 2010, "a price set by hand is not a price of the product, or above the highest one"
    LEVERAGE_TOO_HIGH = 2101, "leverage is above the limit of the product or of the notional's tier"
    MARGIN_SHORTFALL = 2102, "the change would leave an initial margin uncovered"
    NOT_ISOLATED = 2103, "margin can only be assigned to an open isolated position"
    ONLY_ISOLATED = 2104, "the product only allows isolated margin"
    SETTINGS_IN_LIQUIDATION = 2105, "margin settings can't change during a liquidation"
    POSITION_MODE_IN_USE = 2106, "the position mode can't change while there are positions or orders"
    UNKNOWN_POSITION_MODE = 2107, "the position mode is neither ONE_WAY nor HEDGE"

    AGENT_IS_ACCOUNT = 5001, "an account can't be its own agent"
    AGENT_TAKEN = 5002, "the wallet is an active agent of another account"
    UNKNOWN_AGENT = 5003, "no active agent has this name"
    BAD_VALIDITY = 5004, "validitySeconds is out of its range"
    AGENT_OF_BUILDER = 5005, "the wallet is an authorised agent of a builder"

    FAUCET_CLAIMED = 5101, "the faucet was claimed too recently"
    WITHDRAWAL_TOO_SMALL = 5102, "the amount is below the smallest withdrawal"
    INSUFFICIENT_BALANCE = 5103, "the amount is above what the account can take out"
    UNKNOWN_CURRENCY = 5104, "currencyCode names no currency"
    AMOUNT_TOO_PRECISE = 5105, "the amount has more than six decimals"
    DEPOSIT_LIMIT = 5106, "the amount is above what the venue can still take in"
    TRANSFER_TO_SELF = 5107, "an account can't send to itself"
    UNKNOWN_RECIPIENT = 5108, "the address has no account that takes transfers"

    BUILDER_REGISTERED = 5201, "the account is already a builder"
    UNKNOWN_BUILDER = 5202, "the address is not a registered builder"
    FEE_RATE_ABOVE_CAP = 5203, "maxFeeRate is above the environment's cap"
    FEE_RATE_TOO_PRECISE = 5204, "a fee rate has more than eight decimals"
    AGENT_OF_TRADER = 5205, "the wallet is the trader's own agent"
    AGENT_OF_OTHER_TRADER = 5206, "another trader has authorised the wallet"
    AGENT_IS_MASTER = 5207, "the wallet is the master of the trader or the builder"
    NO_BUILDER_GRANT = 5208, "there is no active authorisation of a builder's agent"
    WRONG_BUILDER = 5209, "the agent is authorised for another builder"
    FEE_RATE_ABOVE_GRANT = 5210, "builderFeeRate is above the authorisation's maxFeeRate"
    BUILDER_IS_TRADER = 5211, "an account can't be its own builder"

    UNKNOWN_REFERRAL_CODE = 5301, "no account has this referral code"
    ALREADY_REFERRED = 5302, "the account has an inviter"
    OWN_REFERRAL_CODE = 5303, "an account can't invite itself"
    REFERRAL_CYCLE = 5304, "the inviter was itself invited by the account's network"

    UNKNOWN_VAULT = 6001, "the address is not a vault"
    NOT_VAULT_OWNER = 6002, "only the vault's owner may do this"
    VAULT_CLOSED = 6003, "the vault is closed"
    VAULT_AMOUNT_TOO_SMALL = 6004, "the amount buys no share, or is below what a vault begins with"
    TOO_MANY_VAULTS = 6005, "the owner, or the parent vault, has as many vaults as it may have"
    VAULT_WORTHLESS = 6006, "the vault has lost so much that shares can't be priced"
    SHARES_NOT_HELD = 6007, "the depositor holds fewer shares"
    SHARES_LOCKED = 6008, "the deposit is still locked"
    INSUFFICIENT_VAULT_CASH = 6009, "the vault has too little free cash"
    VAULT_NOT_FLAT = 6010, "the vault still has positions or open orders"
    UNRELATED_VAULTS = 6011, "the two vaults are not a vault and its sub-vaults"
    IS_SUB_VAULT = 6012, "a sub-vault can't do or be this"
    UNKNOWN_VAULT_OWNER = 6013, "the new owner has no account"
    WRONG_VAULT_CONTEXT = 6014, "vaultAddress does not fit the action"
    ACCOUNT_IS_VAULT = 6015, "a vault can't join or lead vaults"
    SHARE_TOO_COARSE = 6016, "rounding to millionths of a share would lose too much of the deposit"
    VAULT_BOOK_AWAY = 6017, "the book values the vault too far from mark"
    LEADER_STAKE = 6018, "the leader holds too small a part of the vault"

    BAD_ARGUMENT = 7001, "an argument of an intervention is wrong"
    UNKNOWN_TARGET = 7002, "an intervention names an account or an action that does not exist"
