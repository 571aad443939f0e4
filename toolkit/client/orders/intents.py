"""The ledger of intents: what this client was about to do, recorded before it is signed.

    PREPARED ──→ SENT ──→ SUBMITTED ──→ ACCEPTED or FAILED      (the venue executes after it has answered)
        │          ├────→ ACCEPTED or REJECTED                  (the venue answers after it has executed)
        │          └────→ UNKNOWN ──→ any of these              (session.resolve())
        └──────────────→ REJECTED                               (it never left this machine)

PREPARED is recorded before signing, SENT (with the signed bytes) before the first byte leaves. So wherever the program
stops, an intent that may have reached the venue is SENT, SUBMITTED or UNKNOWN in the ledger. An intent has one nonce
and one signature; sending it again means sending the identical bytes.

`MemoryLedger` lives as long as the session; `SqliteLedger` survives a restart of the kernel. Outside a venue in this
process a session keeps an `AccountLedger`: such a file, in the user's data folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from ...environments import MAINNET, TESTNET, Environment
from ...errors import InputError, ToolkitError
from ..io.nonce_sources import data_directory

if TYPE_CHECKING:
    import pandas as pd


class IntentState(StrEnum):
    """State of an intent; see the module."""

    PREPARED = "PREPARED"
    SENT = "SENT"
    SUBMITTED = "SUBMITTED"
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


FINAL = frozenset({IntentState.ACCEPTED, IntentState.REJECTED, IntentState.FAILED})
OPEN = frozenset(IntentState) - FINAL
"""States without a final outcome."""
ARRIVED = frozenset({IntentState.SUBMITTED, IntentState.UNKNOWN})
"""Open states of a request that the venue has, or may have."""

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
    def settled(self) -> bool:
        """True when the outcome is known and final."""
        return self.state not in OPEN


def intent_id(environment: str, signer: str, nonce: int) -> str:
    """Return the id of an intent. A signer uses a nonce once, so the three are unique."""
    return f"{environment}-{signer[2:10].lower()}-{nonce}"


def payload_hash(payload: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of the payload's canonical JSON."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Ledger(Protocol):
    """Storage of intents. All methods may be called from any thread."""

    def record(self, intent: Intent) -> None:
        """Add a new intent. Raises ToolkitError for an id that exists."""

    def update(self, id: str, now: int, *, expected: IntentState | None = None, **changes: Any) -> Intent:
        """Change an intent and return it. Raises ToolkitError for a transition that is not allowed.

        With `expected` any transition from another state is not allowed; check and change are atomic.
        """

    def get(self, id: str) -> Intent:
        """Return an intent. Raises ToolkitError for an unknown id."""

    def all(self, states: Iterable[IntentState] | None = None) -> list[Intent]:
        """Return the intents in these states (default: all), oldest first."""

    def note(self, name: str, before: str | None, after: str | None) -> bool:
        """Set a text that is kept with the intents, from `before` to `after` (None: there is none).

        Returns False, and changes nothing, when it is not `before` any more; check and change are atomic.
        """

    def notes(self) -> dict[str, str]:
        """Return all texts by name, in the order of their first setting."""

    def close(self) -> None:
        """Close files."""


def changed(intent: Intent, now: int, changes: Mapping[str, Any], expected: IntentState | None = None) -> Intent:
    """Return the intent after `changes`. Raises ToolkitError for a step back, and for a second signature."""
    state = IntentState(changes.get("state", intent.state))
    if expected is not None and intent.state is not expected:
        raise ToolkitError(f"intent {intent.id} is {intent.state}, no longer {expected}; it was not made {state}")
    if intent.settled or state not in _NEXT[intent.state]:
        raise ToolkitError(f"intent {intent.id} is {intent.state}; it can't become {state}")
    body = changes.get("body", intent.body)
    if intent.body is not None and body != intent.body:
        raise ToolkitError(f"intent {intent.id} is signed already; an intent never gets a second signature")
    if (state is IntentState.SENT or state in ARRIVED) and body is None:
        raise ToolkitError(f"intent {intent.id} is not signed; it can't be {state}")
    return replace(intent, **{**changes, "state": state, "updated": now})


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
        """Remove the oldest settled intents; open ones stay, whatever their number."""
        settled = [name for name, intent in self._intents.items() if intent.settled]
        for name in settled[: len(self._intents) - self._keep]:
            del self._intents[name]

    def update(self, id: str, now: int, *, expected: IntentState | None = None, **changes: Any) -> Intent:
        with self._lock:
            after = changed(self.get(id), now, changes, expected)
            self._intents[id] = after
            return after

    def get(self, id: str) -> Intent:
        try:
            return self._intents[id]
        except KeyError:
            raise ToolkitError(f"no intent {id!r} in this ledger") from None

    def all(self, states: Iterable[IntentState] | None = None) -> list[Intent]:
        wanted = frozenset(IntentState if states is None else states)
        with self._lock:
            return [intent for intent in self._intents.values() if intent.state in wanted]

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


FORMAT = 1
"""Number of the file's format, kept as SQLite's user_version (0 in files from before it was written)."""
SCHEMA = "4bafb1a3ab894015"
"""Hash of the fields of an intent; tests/test_persisted_formats.py says what to do on a change."""
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
CREATE TABLE IF NOT EXISTS notes (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, text TEXT NOT NULL);
"""
_COLUMNS = tuple(Intent.__dataclass_fields__)
_JSON = frozenset({"client_ids", "payload", "data"})
_UNREADABLE = (ValueError, TypeError, AttributeError, RecursionError)
"""What reading a damaged entry may raise."""


class SqliteLedger(Ledger):
    """Intents in a SQLite file that survives crashes and restarts, and may be shared by processes.

    Every change is its own durable transaction (write-ahead log, full synchronisation). The file holds signed
    requests, never keys; it is created readable by its owner only. It is closed when the ledger is garbage-collected.
    An entry that can't be read is left out of `all` with a warning. Raises InputError for a file that can't be used.
    """

    path: Path
    _database: sqlite3.Connection
    _identity: tuple[int, int] | None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.RLock()
        self._reported: set[str] = set()
        self._open(Path(path))

    def _open(self, path: Path) -> None:
        try:
            database, self._identity = _connect(path), _identity(path)
        except (OSError, sqlite3.Error) as error:
            damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
            advice = "move it away to begin a new one" if damaged else "make it writable"
            message = (
                f"{os.fspath(path)} can't be used as a ledger of intents: {error}; nothing was sent. {advice}, or "
                'give connect(intents=…) another file (":memory:" keeps none)'
            )
            raise InputError(message, field="intents", rule="a SQLite file", value=os.fspath(path)) from error
        self.path, self._database = path, database
        weakref.finalize(self, database.close)

    def _check_present(self) -> None:
        """Raise ToolkitError when the file was deleted or replaced: what is written to it would be lost."""
        with self._translated_errors():
            try:
                present = _identity(self.path) == self._identity
            except OSError:
                present = False
        if not present:
            message = (
                f"the ledger of intents {self.path} was deleted or replaced while it was in use, so nothing was sent; "
                "put it back, or connect again to begin a new one"
            )
            raise ToolkitError(message)

    def record(self, intent: Intent) -> None:
        """See Ledger. Raises ToolkitError when the file was deleted meanwhile."""
        self._check_present()
        slots = ",".join("?" * len(_COLUMNS))
        values = [_to_cell(name, getattr(intent, name)) for name in _COLUMNS]
        with self._lock, self._translated_errors():
            try:
                self._database.execute(f"INSERT INTO intents ({','.join(_COLUMNS)}) VALUES ({slots})", values)
            except sqlite3.IntegrityError:
                raise ToolkitError(f"intent {intent.id} exists already") from None

    def update(self, id: str, now: int, *, expected: IntentState | None = None, **changes: Any) -> Intent:
        with self._lock, self._translated_errors():
            self._roll_back()
            try:
                # IMMEDIATE takes the write lock before reading, so that no other process changes the intent in between.
                self._database.execute("BEGIN IMMEDIATE")
                after = changed(self.get(id), now, changes, expected)
                names = [*changes, "updated"]
                values = [_to_cell(name, getattr(after, name)) for name in names]
                sets = ",".join(f"{name}=?" for name in names)
                self._database.execute(f"UPDATE intents SET {sets} WHERE id=?", (*values, id))
                self._database.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            return after

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raise ToolkitError for errors of SQLite: a full disk, a closed or locked file."""
        try:
            yield
        except sqlite3.Error as error:
            what = f"the ledger of intents {self.path.name} can't be used: {error}; what may have been sent is there "
            what += "as SENT or UNKNOWN, and resolve() of a session with this ledger settles it"
            raise ToolkitError(what) from error

    def _roll_back(self) -> None:
        """Roll back a transaction that an error, or KeyboardInterrupt, left open. The caller holds the lock."""
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def get(self, id: str) -> Intent:
        with self._lock, self._translated_errors():
            row = self._database.execute(f"SELECT {','.join(_COLUMNS)} FROM intents WHERE id=?", (id,)).fetchone()
        if row is None:
            raise ToolkitError(f"no intent {id!r} in this ledger")
        try:
            return _intent(row)
        except _UNREADABLE as error:
            raise ToolkitError(f"the entry {id!r} of {self.path.name} can't be read: {error}") from error

    def all(self, states: Iterable[IntentState] | None = None) -> list[Intent]:
        final = [str(state) for state in IntentState if states is not None and state not in states]
        slots = ",".join("?" * len(final))
        # A state that can't be read is in none of the wanted ones, and must show.
        query = f"SELECT {','.join(_COLUMNS)} FROM intents WHERE state NOT IN ({slots}) ORDER BY number"
        with self._lock, self._translated_errors():
            rows = self._database.execute(query, final).fetchall()
        return [intent for row in rows if (intent := self._readable(row)) is not None]

    def _readable(self, row: tuple[Any, ...]) -> Intent | None:
        try:
            return _intent(row)
        except _UNREADABLE as error:
            if str(row[0]) not in self._reported:
                self._reported.add(str(row[0]))
                warnings.warn(
                    f"the entry {row[0]!r} of the ledger {self.path.name} can't be read and is left out: {error}",
                    stacklevel=4,
                )
            return None

    def note(self, name: str, before: str | None, after: str | None) -> bool:
        self._check_present()
        with self._lock, self._translated_errors():
            # One statement each: what it finds and what it changes are one transaction.
            if before is None:
                given = "INSERT INTO notes (name, text) SELECT :name, :after WHERE :after IS NOT NULL"
                given += " ON CONFLICT DO NOTHING"
            elif after is None:
                given = "DELETE FROM notes WHERE name=:name AND text=:before"
            else:
                given = "UPDATE notes SET text=:after WHERE name=:name AND text=:before"
            return self._database.execute(given, {"name": name, "before": before, "after": after}).rowcount == 1

    def notes(self) -> dict[str, str]:
        with self._lock, self._translated_errors():
            return dict(self._database.execute("SELECT name, text FROM notes ORDER BY number").fetchall())

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def __repr__(self) -> str:
        return f"<SqliteLedger {self.path.name}>"


class AccountLedger(SqliteLedger):
    """The SqliteLedger of an account, in a file that `path` names; opened when it is first used."""

    def __init__(self, path: Callable[[], Path]) -> None:
        self._lock = threading.RLock()
        self._reported = set()
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name not in SqliteLedger.__annotations__:
            raise AttributeError(name)
        with self._lock:
            if "_database" not in vars(self):
                self._begin(self._path())
        return vars(self)[name]

    def _begin(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{path.parent} can't hold a ledger of intents: {error}; nothing was sent. Set TOOLKIT_STATE "
                'to a folder that can be written, or give connect(intents=…) a file (":memory:" keeps none)',
                field="intents", rule="a folder", value=str(path),
            ) from error  # fmt: skip
        self._open(path)
        with suppress(OSError):
            path.chmod(0o600)

    def close(self) -> None:
        if "_database" in vars(self):
            super().close()

    def __repr__(self) -> str:
        return super().__repr__() if "_database" in vars(self) else "<AccountLedger, not open yet>"


def account_ledger(environment: Environment, who: Callable[[], str]) -> AccountLedger:
    """Return the ledger of an account (`who`, an address) in an environment, in the user's data folder."""

    def path() -> Path:
        # Venues that are served elsewhere than at the preset's address have files of their own.
        preset = environment.base_url in (MAINNET.base_url, TESTNET.base_url)
        place = environment.name if preset else f"{environment.name}-{urlsplit(environment.base_url).netloc}"
        return data_directory() / "ledgers" / f"{re.sub(r'[^A-Za-z0-9.-]', '-', place)}-{who().lower()}.sqlite"

    return AccountLedger(path)


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return what distinguishes a file from another of the same name; None for one in memory."""
    if str(path) == ":memory:":
        return None
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _connect(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """Return a connection to the file, with its tables. Closes it again when that fails."""
    if str(path) != ":memory:":
        # SQLite would create the file readable by every user that the umask allows.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    database = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False, timeout=10)
    try:
        _use_write_ahead_log(database)
        database.execute("PRAGMA synchronous=FULL")
        [version] = database.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            raise sqlite3.OperationalError(f"a later version of the toolkit wrote it (format {version})")
        database.executescript(_SCHEMA)
        if version != FORMAT:
            database.execute(f"PRAGMA user_version = {FORMAT}")
    except BaseException:
        database.close()
        raise
    return database


def _use_write_ahead_log(database: sqlite3.Connection) -> None:
    for attempt in range(100):
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite does not wait here while another process switches the same new file.
            if "locked" not in str(error) or attempt == 99:
                raise
            time.sleep(0.02)


def _to_cell(name: str, value: Any) -> Any:
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
    """Return a ledger for the `intents` argument of `connect`: None is memory, a path is a SQLite file."""
    if where is None:
        return MemoryLedger()
    if isinstance(where, str | os.PathLike):
        return SqliteLedger(where)
    return where


FRAME = {
    "intent": "string",
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
"""Columns and dtypes of `session.intents()`; `intent` has the ids."""


def frame(intents: Iterable[Intent], index: str | None = "intent") -> pd.DataFrame:
    """Return intents as a DataFrame with the columns of FRAME, oldest first."""
    from ..reads.frames import indexed, typed

    rows = [
        {**{name: getattr(one, name, None) for name in FRAME}, "intent": one.id, "client_ids": list(one.client_ids)}
        for one in intents
    ]
    return indexed(typed(rows, FRAME), index)
