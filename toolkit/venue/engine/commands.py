"""The interface of the core: commands, outcomes, refusals, and the context of an action."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..model.accounts import VenueAccount


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
    owner: VenueAccount = field(init=False)
    """The account whose wallet or agent signed; it differs from `account` only in a vault context."""

    def __post_init__(self) -> None:
        self.owner = self.account
