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

from ...environments import chain_of
from ...errors import ToolkitError
from ...protocol.orders.order_actions import AnyAction, OrderAction, recall
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

    Parameters
    ----------
    id : str
        Id, made of environment, signer and nonce.
    environment : str
        Label of the environment.
    account : str
        Address of the master.
    signer : str
        Address of the key that signs.
    action : str
        Type of the action.
    nonce : int
        Nonce of the request.
    expiry_after : int or None
        Unix ms after which the venue refuses it, None for never.
    vault_address : str or None
        Vault to act for, None for the account.
    client_ids : tuple of int
        Client ids (clOrdIds) of its orders.
    payload : mapping, optional
        The action as it is signed.
    payload_hash : str
        SHA-256 of its canonical JSON, in hex.
    created : int
        When it was made, Unix ms.
    updated : int
        When it changed last, Unix ms.
    state : IntentState, optional
        State (default: PREPARED).
    attempts : int, optional
        How often it was sent (default: 0).
    body : bytes, optional
        The signed bytes (default: None, it is not signed).
    code : int, optional
        The venue's code, or None (default: None).
    message : str, optional
        The venue's message, or what else is known of the outcome (default: "").
    data : mapping, optional
        `data` of the venue's response (default: None).
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
    def asked(self) -> AnyAction:
        """The action of the request."""
        return recall({"type": self.action, **self.payload})

    @property
    def builder(self) -> str | None:
        """Address of the builder whose order it is, None for other requests."""
        asked = self.asked
        return asked.builder if isinstance(asked, OrderAction) else None

    @property
    def digest(self) -> str | None:
        """Hash of the signed data (0x and hex), which no other request has. None where it is not signed yet."""
        chain = chain_of(self.environment)
        if self.body is None or chain is None:
            return None
        from ...protocol import envelope, signing

        try:
            return "0x" + signing.content_digest(envelope.parse(self.body), chain).hex()
        except ToolkitError:  # an entry of another version, whose action is not known here
            return None

    @property
    def settled(self) -> bool:
        """True when the outcome is known and final."""
        return self.state not in OPEN


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome of a request, from evidence that names it: the only way into a final state, accepted or refused.

    It is made where evidence is checked, in `outcome` and `reconciliation`: a transaction with the request's signer and
    nonce, or order rows that echo owner and client id. A refusal is also proved if the venue was queried and did not
    have the request, or if nothing left this machine.

    Parameters
    ----------
    accepted : bool
        Whether the request was accepted. Under a code other than 0 one of several orders may be.
    code : int or None
        Code of the response, 0 if all was accepted. None if nothing left this machine.
    message : str
        The venue's message, or what proves the outcome.
    data : mapping, optional
        In the shape of a response's `data` (default: None).
    """

    accepted: bool
    code: int | None
    message: str
    data: Mapping[str, Any] | None = None

    def state(self, before: IntentState) -> IntentState:
        """Return the final state that it leads to.

        Parameters
        ----------
        before : IntentState
            State of the intent so far.
        """
        if self.accepted:
            return IntentState.ACCEPTED
        return IntentState.FAILED if before is IntentState.SUBMITTED else IntentState.REJECTED


class Changes(TypedDict, total=False):
    """The fields that may change in an open intent.

    Parameters
    ----------
    expected : IntentState or None
        State that it must have before.
    proof : Proof or None
        Proof that settles the intent.
    state : IntentState
        Its new state.
    attempts : int
        How often it was sent.
    body : bytes
        The signed bytes.
    code : int or None
        The venue's code.
    message : str
        The venue's message.
    data : mapping or None
        `data` of the venue's response.
    """

    expected: IntentState | None
    proof: Proof | None
    state: OpenState
    attempts: int
    body: bytes
    code: int | None
    message: str
    data: Mapping[str, Any] | None


def intent_id(environment: str, signer: str, nonce: int) -> str:
    """Return the id of an intent. A signer uses a nonce once, so the three are unique.

    Parameters
    ----------
    environment : str
        Label of the environment.
    signer : str
        Address of the key that signs.
    nonce : int
        Nonce of the request.
    """
    return f"{environment}-{signer[2:10].lower()}-{nonce}"


MOST_ORDERS = 1_000
"""Orders that a request may place. A lost answer about more would take longer to settle than the orders live."""
_MADE = 1 << 50
"""Client ids that are made for a request: 30 random bits and 20 bits of signer and nonce follow this bit. Below are the
ids that users choose. Above are the ids of keys of the MCP server and of runs. All are below 2^53, which every JSON
reader keeps exactly."""
_RANDOM_BITS, _TAG_BITS = 30, 20


def first_client_id(signer: str, nonce: int, random_float: float) -> int:
    """Return the client id of a request's first order. Those of the others follow it.

    Nobody else makes the same id: other requests have other random bits, or at least another signer or nonce.

    Parameters
    ----------
    signer : str
        Address of the key that signs.
    nonce : int
        Nonce of the request.
    random_float : float
        Random number, 0 <= x < 1.
    """
    return _tagged(signer, nonce, _MADE >> _TAG_BITS | int(random_float * (1 << _RANDOM_BITS)))


def _tagged(signer: str, nonce: int, high: int) -> int:
    digest = hashlib.sha256(f"{signer.lower()} {nonce} {high}".encode()).digest()
    # Without a carry into the random bits for the last order.
    return (high << _TAG_BITS) + int.from_bytes(digest[:8]) % ((1 << _TAG_BITS) - MOST_ORDERS)


def has_fresh_ids(intent: Intent) -> bool:
    """Return whether the client ids were made for exactly this request, so that they never named anything else.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    """
    ids = intent.client_ids
    if not ids or ids[0] >> _TAG_BITS >> _RANDOM_BITS != 1:
        return False
    first = _tagged(intent.signer, intent.nonce, ids[0] >> _TAG_BITS)
    return ids == tuple(range(first, first + len(ids)))


def has_marked_ids(intent: Intent) -> bool:
    """Return whether each client id stands for one decision: of a run with a name, or a key of the MCP server.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    """
    return bool(intent.client_ids) and all(2 * _MADE <= number < 8 * _MADE for number in intent.client_ids)


def has_unique_ids(intent: Intent) -> bool:
    """Return whether no other request can have the client ids.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    """
    return has_fresh_ids(intent) or has_marked_ids(intent)


def payload_hash(payload: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of the payload's canonical JSON.

    Parameters
    ----------
    payload : mapping
        The action in wire names.
    """
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Ledger(Protocol):
    """Storage of intents. All methods may be called from any thread."""

    def record(self, intent: Intent) -> None:
        """Add a new intent.

        Parameters
        ----------
        intent : Intent
            Intent of the request.

        Raises
        ------
        ToolkitError
            For an id that exists.
        """

    def update(self, id: str, now: int, **changes: Unpack[Changes]) -> Intent:
        """Change an intent, or settle it by a proof, and return it. Check and change are atomic.

        Parameters
        ----------
        id : str
            Id of the intent.
        now : int
            The present in Unix ms.
        **changes : Changes
            The changes. With `expected` any transition from another state is not allowed.

        Raises
        ------
        ToolkitError
            For what is not allowed.
        """

    def get(self, id: str) -> Intent:
        """Return an intent.

        Parameters
        ----------
        id : str
            Id of the intent.

        Raises
        ------
        ToolkitError
            For an unknown id.
        """

    def all(self, states: Iterable[IntentState] | None = None, newest: int | None = None) -> list[Intent]:
        """Return intents, oldest first.

        Parameters
        ----------
        states : iterable of IntentState, optional
            Only those in these states (default: all).
        newest : int, optional
            Only the newest so many (default: all).
        """

    def note(self, name: str, before: str | None, after: str | None) -> bool:
        """Set a text that is kept with the intents. Check and change are atomic.

        Parameters
        ----------
        name : str
            Name of the text.
        before : str or None
            Text of before, None for none.
        after : str or None
            New text, None for none.

        Returns
        -------
        bool
            False, and nothing is changed, when it is not `before` any more.
        """

    def notes(self) -> dict[str, str]:
        """Return all texts by name, in the order of their first setting."""

    def close(self) -> None:
        """Close files."""


def changed(intent: Intent, now: int, changes: Changes) -> Intent:
    """Return the intent after some changes, or settled by a proof.

    Parameters
    ----------
    intent : Intent
        Intent of before.
    now : int
        The present in Unix ms.
    changes : Changes
        Fields to change, or a proof that settles it.

    Raises
    ------
    ToolkitError
        For a step back, a second signature, and an end without a proof.
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
    """Intents in memory: all open ones, and the last settled ones.

    Parameters
    ----------
    keep : int, optional
        Number of settled ones that are kept (default: 100,000).
    """

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
    """Return intents as a DataFrame with the columns of FRAME, oldest first.

    Parameters
    ----------
    intents : iterable of Intent
        Intents, oldest first.
    index : str, optional
        Column that becomes the index (default: "intent").
    """
    from ..reads.frames import indexed, typed

    rows = [
        {name: getattr(one, name, None) for name in FRAME}
        | {"intent": one.id, "client_ids": list(one.client_ids), "state": str(one.state)}
        for one in intents
    ]
    return indexed(typed(rows, FRAME), index)
