"""The interface of the core: commands, outcomes, refusals, the context of an action, and what makes a request fresh.

Nonces and expiry: docs/published.md, "Exchange API".
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..model.accounts import VenueAccount
from ..model.state import NonceWindow, State
from .codes import EXPIRED, NONCE


class Submit(msgspec.Struct, frozen=True, tag="submit", forbid_unknown_fields=True):
    """A signed action whose signer has been recovered; `nonce`, `expiry_after` and `vault` are those of the envelope.

    Times are in ms.
    """

    time: int
    action: dict[str, Any]
    signer: str
    nonce: int
    expiry_after: int | None = None
    vault: str | None = None
    digest: bytes = b""
    """Hash of the signed data; the transaction hash is made from it."""


class Advance(msgspec.Struct, frozen=True, tag="advance", forbid_unknown_fields=True):
    """Let time pass: everything that is due up to and including `time` (ms) happens, in order."""

    time: int


class Control(msgspec.Struct, frozen=True, tag="control", forbid_unknown_fields=True):
    """An intervention that the wire does not have (tests, teaching, market replay): CONTROLS[name](core, **args)."""

    time: int
    name: str
    args: dict[str, Any] = {}


Command = Submit | Advance | Control


class Outcome(msgspec.Struct, frozen=True):
    """The answer to a command, in the shape of ExchangeResponse. `status` is the HTTP status."""

    code: int = 0
    message: str = "success"
    data: dict[str, Any] | None = None
    status: int = 200


class Refused(Exception):
    """A business rule refuses the action. `code` is a member of TxCode, `reason` a sentence with the numbers."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = int(code)  # answers show it, and callers expect a plain number there
        self.reason = reason


class WireError(Exception):
    """The request is not executed at all. `code` is a published one, `message` a sentence."""

    def __init__(self, code: int, message: str, *, status: int = 200, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data


@dataclass(slots=True, eq=False)
class ActionContext:
    """Who acts, for whom, in which transaction."""

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
    """The account whose wallet or agent signed; it differs from `account` only in a vault context."""

    def __post_init__(self) -> None:
        self.owner = self.account


KEPT_NONCES = 1_000
"""Largest used nonces kept per signer."""

UNSIGNED_NONCES = frozenset({"faucetClaim"})
"""Actions whose nonce is not part of the signed data. Anyone can repeat such a request under other nonces, so its nonce
only counts as used once the action has succeeded; otherwise repeats could use up the signer's nonces."""


def check_nonce(state: State, submit: Submit) -> None:
    """Raise WireError for a nonce that is used or too old, and for a request that has expired."""
    window = state.nonces.get(submit.signer)
    if window is not None and window.used and submit.nonce <= window.used[-1]:
        _check_older_nonce(window.used, submit)
    now, expiry = state.time, submit.expiry_after
    if expiry and now > expiry:
        raise WireError(
            EXPIRED,
            f"request expired: expiryAfter {expiry} was {now - expiry} ms ago (venue time {now}); "
            "set it later, or compare your clock with the venue's",
        )


def _check_older_nonce(used: list[int], submit: Submit) -> None:
    nonce, signer = submit.nonce, submit.signer
    at = bisect_left(used, nonce)
    if used[at] == nonce:
        raise WireError(NONCE, f"nonce {nonce} was used before by {signer}; take one that never was")
    # Below a full window nothing is known: the nonce may be one that was used and forgotten.
    if at == 0 and len(used) >= KEPT_NONCES:
        raise WireError(
            NONCE,
            f"nonce {nonce} is below {used[0]}, the smallest of the {KEPT_NONCES} largest nonces that {signer} used; "
            "take the present time in milliseconds",
        )


def use_nonce(state: State, submit: Submit) -> None:
    """Remember a nonce as used, and forget the smallest one of a full window."""
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
