"""What goes into the core and what comes out: commands, outcomes, refusals, and the context of an action."""

from __future__ import annotations

from typing import Any

import msgspec

from ..model.accounts import VenueAccount


class Submit(msgspec.Struct, frozen=True, tag="submit"):
    """A signed action whose signer has been recovered. `nonce`, `expiry_after` and `vault` are as in the envelope."""

    time: int
    action: dict[str, Any]
    signer: str
    nonce: int
    expiry_after: int | None = None
    vault: str | None = None
    digest: bytes = b""
    """What was signed; makes the transaction hash."""


class Advance(msgspec.Struct, frozen=True, tag="advance"):
    """Let time pass: everything due up to and including `time` happens, in order."""

    time: int


class Control(msgspec.Struct, frozen=True, tag="control"):
    """An intervention from outside the wire (tests, teaching, market replay): CONTROLS[name](core, **args)."""

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
    """A business rule says no: `code` becomes txCode, `reason` is in words with the numbers that matter."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = int(code)  # answers show it, and callers expect a plain number there
        self.reason = reason


class WireError(Exception):
    """The request is not executed at all: `code` of the specification's table, `message` in words."""

    def __init__(self, code: int, message: str, *, status: int = 200, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data


class ActionContext:
    """Who acts, for whom, in which transaction."""

    __slots__ = ("account", "builder", "nonce", "owner", "signer", "time", "tx_hash", "vault")

    def __init__(
        self,
        account: VenueAccount,
        signer: str = "",
        nonce: int = 0,
        time: int = 0,
        tx_hash: str = "",
        vault: str | None = None,
        builder: str | None = None,
    ) -> None:
        self.account = account
        """The account that is acted for (the vault's account in a vault context)."""
        self.owner = account
        """The account whose wallet or agent signed; another one than `account` only in a vault context."""
        self.signer = signer
        self.nonce = nonce
        self.time = time
        self.tx_hash = tx_hash
        self.vault = vault
        self.builder = builder
        """Builder's master address while a builder action is executed."""
