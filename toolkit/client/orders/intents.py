"""The ledger of intents: what this client was about to do, recorded before it is signed.

    PREPARED ──→ SENT ──→ SUBMITTED ──→ ACCEPTED or FAILED      (the venue executes after it has answered)
        │          ├────→ ACCEPTED or REJECTED                  (the venue answers after it has executed)
        │          └────→ UNKNOWN ──→ any of these              (session.resolve())
        └──────────────→ REJECTED                               (it never left this machine)

PREPARED is recorded before signing, SENT (with the signed bytes) before the first byte leaves. If the program stops
at any point, an intent that may have reached the venue is therefore SENT, SUBMITTED or UNKNOWN in the ledger. An
intent has one nonce and one signature. A repeat sends the identical bytes. Only a `Proof` makes an intent final.

`MemoryLedger` lives as long as the session. The ledgers of `ledger_file` survive a restart of the kernel.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack

from ...errors import ToolkitError
from ...protocol.reads.rows import TIME

if TYPE_CHECKING:
    import pandas as pd


class IntentState(StrEnum):
    """State of an intent. See the module."""

    PREPARED = "PREPARED"
    SENT = "SENT"
    SUBMITTED = "SUBMITTED"
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


SAFE_RESEND_MS = 60_000
"""How long a request without an expiry is sent again by default: a later execution would be unexpected."""
FINAL = frozenset({IntentState.ACCEPTED, IntentState.REJECTED, IntentState.FAILED})
OPEN = frozenset(IntentState) - FINAL
"""States without a final outcome."""
ARRIVED = frozenset({IntentState.SUBMITTED, IntentState.UNKNOWN})
"""Open states of a request that the venue has, or may have."""

OpenState = Literal[IntentState.PREPARED, IntentState.SENT, IntentState.SUBMITTED, IntentState.UNKNOWN]

_NEXT = {
    IntentState.PREPARED: {IntentState.PREPARED, IntentState.SENT, IntentState.REJECTED},
    IntentState.SENT: {IntentState.SENT, *ARRIVED, *FINAL},
    IntentState.SUBMITTED: {*ARRIVED, *FINAL},
    IntentState.UNKNOWN: {*ARRIVED, *FINAL},
}


@dataclass(frozen=True, slots=True)
class Intent:
    """One request to the venue, from the decision to its outcome.

    `payload` is the action as it is signed, `payload_hash` the SHA-256 of its canonical JSON, `body` the signed bytes
    (None before signing), `client_ids` the clOrdIds of its orders. `created`, `updated` and `expiry_after` are Unix ms.
    `code`, `message` and `data` are the venue's response, or what else is known of the outcome.
    """

    id: str
    environment: str
    account: str
    signer: str
    action: str
    nonce: int
    expiry_after: int | None
    vault_address: str | None
    client_ids: tuple[int, ...]
    payload: Mapping[str, Any] = field(repr=False)
    payload_hash: str
    created: int
    updated: int
    state: IntentState = IntentState.PREPARED
    attempts: int = 0
    body: bytes | None = field(default=None, repr=False)
    code: int | None = None
    message: str = ""
    data: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def resend_until(self) -> int:
        """Until when `resolve` sends the bytes again where the venue doesn't have them (Unix ms): they expire then."""
        return self.expiry_after or self.created + SAFE_RESEND_MS

    @property
    def settled(self) -> bool:
        """True when the outcome is known and final."""
        return self.state not in OPEN


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome of a request, from evidence that names it: the only way into a final state, accepted or refused.

    It is made where evidence is checked, in `outcome` and `reconciliation`: a transaction with the request's signer and
    nonce, or order rows that echo owner and client id. A refusal is also proved if the venue was queried and did not
    have the request, or if nothing left this machine (`code` None). `code` is that of a response, 0 if all was
    accepted. Under another code one of several orders may be accepted. `data` has the shape of a response's `data`.
    """

    accepted: bool
    code: int | None
    message: str
    data: Mapping[str, Any] | None = None

    def state(self, before: IntentState) -> IntentState:
        """Return the final state that it leads to."""
        if self.accepted:
            return IntentState.ACCEPTED
        return IntentState.FAILED if before is IntentState.SUBMITTED else IntentState.REJECTED


class Changes(TypedDict, total=False):
    """The fields that may change in an open intent. `proof` settles it, `expected` is the state it must have before."""

    expected: IntentState | None
    proof: Proof | None
    state: OpenState
    attempts: int
    body: bytes
    code: int | None
    message: str
    data: Mapping[str, Any] | None


def intent_id(environment: str, signer: str, nonce: int) -> str:
    """Return the id of an intent. A signer uses a nonce once, so the three are unique."""
    return f"{environment}-{signer[2:10].lower()}-{nonce}"


IDS_PER_NONCE = 1_000


def has_fresh_ids(intent: Intent) -> bool:
    """Return whether the client ids were made of the nonce, so that they never named anything else."""
    return bool(intent.client_ids) and all(number // IDS_PER_NONCE == intent.nonce for number in intent.client_ids)


def payload_hash(payload: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of the payload's canonical JSON."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Ledger(Protocol):
    """Storage of intents. All methods may be called from any thread."""

    def record(self, intent: Intent) -> None:
        """Add a new intent. Raises ToolkitError for an id that exists."""

    def update(self, id: str, now: int, **changes: Unpack[Changes]) -> Intent:
        """Change an intent, or settle it by a proof, and return it. Raises ToolkitError for what is not allowed.

        With `expected` any transition from another state is not allowed. Check and change are atomic.
        """

    def get(self, id: str) -> Intent:
        """Return an intent. Raises ToolkitError for an unknown id."""

    def all(self, states: Iterable[IntentState] | None = None, newest: int | None = None) -> list[Intent]:
        """Return the intents in these states (default: all), oldest first, of many, only the `newest` so many."""

    def note(self, name: str, before: str | None, after: str | None) -> bool:
        """Set a text that is kept with the intents, from `before` to `after` (None: there is none).

        Returns False, and changes nothing, when it is not `before` any more. Check and change are atomic.
        """

    def notes(self) -> dict[str, str]:
        """Return all texts by name, in the order of their first setting."""

    def close(self) -> None:
        """Close files."""


def changed(intent: Intent, now: int, changes: Changes) -> Intent:
    """Return the intent after `changes`, or settled by a proof.

    Raises ToolkitError for a step back, a second signature, and an end without a proof.
    """
    found: dict[str, Any] = dict(changes)
    expected, proof = found.pop("expected", None), found.pop("proof", None)
    if proof is not None:
        found = {"state": proof.state(intent.state), "code": proof.code, "message": proof.message, "data": proof.data}
    state = IntentState(found.get("state", intent.state))
    if expected is not None and intent.state is not expected:
        raise ToolkitError(f"intent {intent.id} is {intent.state}, no longer {expected}. It was not made {state}")
    if intent.settled or state not in _NEXT[intent.state]:
        raise ToolkitError(f"intent {intent.id} is {intent.state}. It can't become {state}")
    if state in FINAL and not isinstance(proof, Proof):
        raise ToolkitError(f"intent {intent.id} is {intent.state}. Without a proof it can't become {state}")
    body = found.get("body", intent.body)
    if intent.body is not None and body != intent.body:
        raise ToolkitError(f"intent {intent.id} is signed already. An intent never gets a second signature")
    if (state is IntentState.SENT or state in ARRIVED) and body is None:
        raise ToolkitError(f"intent {intent.id} is not signed. It can't be {state}")
    return replace(intent, **{**found, "state": state, "updated": now})


class MemoryLedger(Ledger):
    """Intents in memory: all open ones, and the last `keep` settled ones."""

    def __init__(self, keep: int = 100_000) -> None:
        self._intents: dict[str, Intent] = {}
        self._notes: dict[str, str] = {}
        self._keep = keep
        self._lock = threading.RLock()

    def record(self, intent: Intent) -> None:
        with self._lock:
            if intent.id in self._intents:
                raise ToolkitError(f"intent {intent.id} exists already")
            self._intents[intent.id] = intent
            # With an eighth of slack, as each removal walks through the whole ledger.
            if len(self._intents) > self._keep + self._keep // 8:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Remove the oldest settled intents. All open ones stay."""
        settled = [name for name, intent in self._intents.items() if intent.settled]
        for name in settled[: len(self._intents) - self._keep]:
            del self._intents[name]

    def update(self, id: str, now: int, **changes: Unpack[Changes]) -> Intent:
        with self._lock:
            after = changed(self.get(id), now, changes)
            self._intents[id] = after
            return after

    def get(self, id: str) -> Intent:
        try:
            return self._intents[id]
        except KeyError:
            raise ToolkitError(f"no intent {id!r} in this ledger") from None

    def all(self, states: Iterable[IntentState] | None = None, newest: int | None = None) -> list[Intent]:
        wanted = frozenset(IntentState if states is None else states)
        with self._lock:
            return [intent for intent in self._intents.values() if intent.state in wanted][-(newest or 0) :]

    def note(self, name: str, before: str | None, after: str | None) -> bool:
        with self._lock:
            if self._notes.get(name) != before:
                return False
            if after is None:
                self._notes.pop(name, None)
            else:
                self._notes[name] = after
            return True

    def notes(self) -> dict[str, str]:
        with self._lock:
            return dict(self._notes)

    def close(self) -> None:
        """There is no file to close."""

    def __repr__(self) -> str:
        return f"<MemoryLedger: {len(self._intents)} intents>"


FRAME = {
    "intent": "string",
    **dict.fromkeys(("created", "updated"), TIME),
    **dict.fromkeys(("action", "state"), "string"),
    "code": "Int64",
    "message": "string",
    "client_ids": "object",
    "nonce": "int64",
    "expiry_after": TIME,
    "attempts": "int64",
    **dict.fromkeys(("account", "signer", "environment", "payload_hash"), "string"),
}
"""Columns and dtypes of `session.intents()`. `intent` has the ids."""


def frame(intents: Iterable[Intent], index: str | None = "intent") -> pd.DataFrame:
    """Return intents as a DataFrame with the columns of FRAME, oldest first."""
    from ..reads.frames import indexed, typed

    rows = [
        {name: getattr(one, name, None) for name in FRAME}
        | {"intent": one.id, "client_ids": list(one.client_ids), "state": str(one.state)}
        for one in intents
    ]
    return indexed(typed(rows, FRAME), index)
