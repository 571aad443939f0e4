"""The order-intent ledger: what this client set out to do, written down before it is signed.

    PREPARED ──→ SENT ──→ ACCEPTED
        │          ├────→ REJECTED
        │          └────→ UNKNOWN ──→ ACCEPTED or REJECTED   (session.resolve())
        └──────────────→ REJECTED                            (it certainly never left this machine)

PREPARED is written before signing, SENT (with the signed bytes) before the first byte leaves. So whatever stops the
program, and wherever, an intent that may have reached the venue stands in the ledger as SENT or UNKNOWN. An intent has
one nonce and one signature for ever; sending it again means sending the identical bytes.

`MemoryLedger` lives as long as the session; `SqliteLedger` also survives a kernel restart.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import InputError, ToolkitError

if TYPE_CHECKING:
    import pandas as pd


class IntentState(StrEnum):
    """Where an intent stands; see the head of this module."""

    PREPARED = "PREPARED"
    SENT = "SENT"
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    UNKNOWN = "UNKNOWN"


OPEN = frozenset({IntentState.PREPARED, IntentState.SENT, IntentState.UNKNOWN})
"""States that still wait for an answer."""

_NEXT = {
    IntentState.PREPARED: {IntentState.PREPARED, IntentState.SENT, IntentState.REJECTED},
    IntentState.SENT: {IntentState.SENT, IntentState.ACCEPTED, IntentState.REJECTED, IntentState.UNKNOWN},
    IntentState.UNKNOWN: {IntentState.UNKNOWN, IntentState.ACCEPTED, IntentState.REJECTED},
    IntentState.ACCEPTED: frozenset[IntentState](),
    IntentState.REJECTED: frozenset[IntentState](),
}


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing to be done at the venue.

    `payload` is the action as it is signed, `payload_hash` the SHA-256 of its canonical JSON, `body` the signed bytes
    (None before signing), `client_ids` the clOrdIds of its orders. `created` and `updated` are Unix ms. `code`,
    `message` and `data` are the venue's answer, or what else is known about the end.
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
    def settled(self) -> bool:
        """True when the outcome is known and final."""
        return self.state not in OPEN


def intent_id(environment: str, signer: str, nonce: int) -> str:
    """Return the name of an intent: a nonce is used once by a signer, so the three are unique."""
    return f"{environment}-{signer[2:10].lower()}-{nonce}"


def payload_hash(payload: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of the payload's canonical JSON."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Ledger(Protocol):
    """Where intents are kept. All methods may be called from any thread."""

    def record(self, intent: Intent) -> None:
        """Write a new intent down. Raises ToolkitError for an id that exists."""

    def update(self, id: str, now: int, *, expected: IntentState | None = None, **changes: Any) -> Intent:
        """Change an intent and return it as it is now. Raises ToolkitError for a step that is not allowed.

        With `expected` it is also not allowed when the intent stands elsewhere by now; asked and done in one step.
        """

    def get(self, id: str) -> Intent:
        """Return an intent. Raises ToolkitError for an id that is not there."""

    def all(self, states: Iterable[IntentState] | None = None) -> list[Intent]:
        """Return the intents in these states (default: all), oldest first."""

    def close(self) -> None:
        """Let go of files."""


def changed(intent: Intent, now: int, changes: Mapping[str, Any], expected: IntentState | None = None) -> Intent:
    """Return the intent after `changes`, if the step is allowed: forward only, and never a second signature."""
    state = IntentState(changes.get("state", intent.state))
    if expected is not None and intent.state is not expected:
        raise ToolkitError(f"intent {intent.id} is {intent.state}, no longer {expected}; it was not made {state}")
    if (state is not intent.state and state not in _NEXT[intent.state]) or intent.settled:
        raise ToolkitError(f"intent {intent.id} is {intent.state}; it can't become {state}")
    body = changes.get("body", intent.body)
    if intent.body is not None and body != intent.body:
        raise ToolkitError(f"intent {intent.id} is signed already; an intent never gets a second signature")
    if state in (IntentState.SENT, IntentState.UNKNOWN) and body is None:
        raise ToolkitError(f"intent {intent.id} is not signed; it can't be {state}")
    return replace(intent, **{**changes, "state": state, "updated": now})


class MemoryLedger:
    """Intents in memory, for as long as the session lives: all open ones, and the last `keep` settled ones."""

    def __init__(self, keep: int = 100_000) -> None:
        self._intents: dict[str, Intent] = {}
        self._keep = keep
        self._lock = threading.RLock()

    def record(self, intent: Intent) -> None:
        """See Ledger."""
        with self._lock:
            if intent.id in self._intents:
                raise ToolkitError(f"intent {intent.id} exists already")
            self._intents[intent.id] = intent
            if len(self._intents) > self._keep + self._keep // 8:
                self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Drop the oldest settled intents; those that wait for an answer stay, whatever their number."""
        settled = [name for name, intent in self._intents.items() if intent.settled]
        for name in settled[: max(0, len(self._intents) - self._keep)]:
            del self._intents[name]

    def update(self, id: str, now: int, *, expected: IntentState | None = None, **changes: Any) -> Intent:
        """See Ledger."""
        with self._lock:
            after = changed(self.get(id), now, changes, expected)
            self._intents[id] = after
            return after

    def get(self, id: str) -> Intent:
        """See Ledger."""
        try:
            return self._intents[id]
        except KeyError:
            raise ToolkitError(f"no intent {id!r} in this ledger") from None

    def all(self, states: Iterable[IntentState] | None = None) -> list[Intent]:
        """See Ledger."""
        wanted = frozenset(IntentState if states is None else states)
        with self._lock:
            return [intent for intent in self._intents.values() if intent.state in wanted]

    def close(self) -> None:
        """See Ledger."""

    def __repr__(self) -> str:
        return f"<MemoryLedger: {len(self._intents)} intents>"


_SCHEMA = """
CREATE TABLE IF NOT EXISTS intents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, environment TEXT NOT NULL, account TEXT NOT NULL, signer TEXT NOT NULL,
    action TEXT NOT NULL, nonce INTEGER NOT NULL, expiry_after INTEGER, vault_address TEXT,
    client_ids TEXT NOT NULL, payload TEXT NOT NULL, payload_hash TEXT NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL,
    body BLOB, code INTEGER, message TEXT NOT NULL, data TEXT
);
CREATE INDEX IF NOT EXISTS intents_state ON intents (state);
"""
_COLUMNS = tuple(Intent.__dataclass_fields__)
_JSON = frozenset({"client_ids", "payload", "data"})


class SqliteLedger:
    """Intents in a SQLite file that survives crashes and restarts, and may be shared by processes.

    Every step is its own durable transaction (write-ahead log, full synchronisation). The file holds signed requests,
    never keys; it is made readable by its owner only. A ledger that nobody holds any more closes its file by itself.
    Raises InputError for a file that can't be used.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        try:
            self._base = _opened(path)
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{os.fspath(path)} can't be used as a ledger of intents: {error}",
                field="intents",
                rule="a SQLite file",
                value=os.fspath(path),
            ) from error
        weakref.finalize(self, self._base.close)

    def record(self, intent: Intent) -> None:
        """See Ledger."""
        marks = ",".join("?" * len(_COLUMNS))
        with self._lock, self._usable():
            try:
                self._base.execute(f"INSERT INTO intents ({','.join(_COLUMNS)}) VALUES ({marks})", _row(intent))
            except sqlite3.IntegrityError:
                raise ToolkitError(f"intent {intent.id} exists already") from None

    def update(self, id: str, now: int, *, expected: IntentState | None = None, **changes: Any) -> Intent:
        """See Ledger."""
        with self._lock, self._usable():
            self._undo_leftover()
            try:
                self._base.execute("BEGIN IMMEDIATE")
                after = changed(self.get(id), now, changes, expected)
                names = [*changes, "updated"]
                values = [_cell(name, getattr(after, name)) for name in names]
                sets = ",".join(f"{name}=?" for name in names)
                self._base.execute(f"UPDATE intents SET {sets} WHERE id=?", (*values, id))
                self._base.execute("COMMIT")
            except BaseException:
                self._undo_leftover()
                raise
            return after

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Tell what SQLite can't do (a full disk, a closed or locked file) in the toolkit's words."""
        try:
            yield
        except sqlite3.Error as error:
            raise ToolkitError(
                f"the ledger of intents {self.path.name} can't be used: {error}; what may have been sent stands there "
                "as SENT or UNKNOWN, and resolve() of a session with this ledger settles it"
            ) from error

    def _undo_leftover(self) -> None:
        """End a transaction that an interrupt or error left open; nobody else has one while the lock is held."""
        if self._base.in_transaction:
            self._base.execute("ROLLBACK")

    def get(self, id: str) -> Intent:
        """See Ledger."""
        with self._lock, self._usable():
            row = self._base.execute(f"SELECT {','.join(_COLUMNS)} FROM intents WHERE id=?", (id,)).fetchone()
        if row is None:
            raise ToolkitError(f"no intent {id!r} in this ledger")
        return _intent(row)

    def all(self, states: Iterable[IntentState] | None = None) -> list[Intent]:
        """See Ledger."""
        wanted = [str(state) for state in (IntentState if states is None else states)]
        marks = ",".join("?" * len(wanted))
        query = f"SELECT {','.join(_COLUMNS)} FROM intents WHERE state IN ({marks}) ORDER BY number"
        with self._lock, self._usable():
            return [_intent(row) for row in self._base.execute(query, wanted)]

    def close(self) -> None:
        """See Ledger."""
        with self._lock:
            self._base.close()

    def __repr__(self) -> str:
        return f"<SqliteLedger {self.path.name}>"


def _opened(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """Return a connection to the file with its tables; nothing stays open when that fails."""
    if str(path) != ":memory:":
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    base = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False, timeout=10)
    try:
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=FULL")
        base.executescript(_SCHEMA)
    except BaseException:
        base.close()
        raise
    return base


def _row(intent: Intent) -> list[Any]:
    return [_cell(name, getattr(intent, name)) for name in _COLUMNS]


def _cell(name: str, value: Any) -> Any:
    if name in _JSON:
        return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value) if name == "state" else value


def _intent(row: tuple[Any, ...]) -> Intent:
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in _JSON:
        values[name] = None if values[name] is None else json.loads(values[name])
    values["client_ids"] = tuple(values["client_ids"])
    values["state"] = IntentState(values["state"])
    return Intent(**values)


def open_ledger(where: Ledger | str | os.PathLike[str] | None) -> Ledger:
    """Return a ledger: None is memory, a path is a SQLite file, a ledger is itself."""
    if where is None:
        return MemoryLedger()
    if isinstance(where, str | os.PathLike):
        return SqliteLedger(where)
    return where


FRAME = {
    "created": "datetime64[ms, UTC]",
    "updated": "datetime64[ms, UTC]",
    "action": "string",
    "state": "string",
    "code": "Int64",
    "message": "string",
    "client_ids": "object",
    "nonce": "int64",
    "expiry_after": "datetime64[ms, UTC]",
    "attempts": "int64",
    "account": "string",
    "signer": "string",
    "environment": "string",
    "payload_hash": "string",
}
"""Columns and dtypes of `session.intents()`; the index `intent` holds the ids."""


def frame(intents: Iterable[Intent]) -> pd.DataFrame:
    """Return intents as a DataFrame with the columns of FRAME, oldest first."""
    import pandas as pd

    rows = list(intents)
    index = pd.Index([row.id for row in rows], name="intent", dtype="string")
    columns: dict[str, Any] = {}
    for name, dtype in FRAME.items():
        values = [getattr(row, name) for row in rows]
        if dtype.startswith("datetime64"):
            stamps = pd.array([pd.NaT if value is None else value for value in values], dtype="datetime64[ms]")
            columns[name] = pd.Series(stamps, index=index).dt.tz_localize("UTC")
        elif name == "client_ids":
            columns[name] = pd.Series([list(ids) for ids in values], index=index, dtype="object")
        else:
            texts = [str(value) for value in values] if name == "state" else values
            kind: Any = dtype
            columns[name] = pd.Series(texts, index=index, dtype=kind)
    return pd.DataFrame(columns, index=index)
