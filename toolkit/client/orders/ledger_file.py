"""The ledger of intents as a SQLite file, which survives a restart of the kernel and may be shared by processes.

Outside a venue in this process a session keeps an `AccountLedger`: such a file, in the user's data folder.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, Unpack

import msgspec

from ...environments import Environment
from ...errors import InputError, StoredFileError, ToolkitError, warn
from ...guards import check_process
from ...protocol.orders.order_actions import only_leaves
from ...secrecy import is_like_key
from ...stored import databases
from ...stored.databases import transaction
from ...stored.seals import FileKind, checksum
from ..io.nonce_sources import data_directory, place_of
from .intents import FINAL, Changes, Intent, IntentState, Ledger, MemoryLedger, changed

Row = TypeVar("Row")

FORMAT = 1
KEPT_MS = 90 * 86_400_000
"""Intents with a final state are dropped when they are this much older than the newest one, as the file is opened."""
_ELSEWHERE = 'or give connect(intents=…) another file (":memory:" keeps none)'
LOCKED_SECONDS = 10
"""How long a request waits while another program has the file locked."""
_KIND = FileKind("ledger of intents", FORMAT, f"nothing was sent. move it away to begin a new one, {_ELSEWHERE}")
SCHEMA = "91164a077917b868"
"""Hash of the fields of an intent. tests/test_persisted_formats.py says what to do on a change."""
_SCHEMA = """
CREATE TABLE intents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, environment TEXT NOT NULL, account TEXT NOT NULL, signer TEXT NOT NULL,
    action TEXT NOT NULL, nonce INTEGER NOT NULL, expiry_after INTEGER, vault_address TEXT,
    client_ids TEXT NOT NULL, payload TEXT NOT NULL, payload_hash TEXT NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL,
    body BLOB, code INTEGER, message TEXT NOT NULL, data TEXT, checksum TEXT
);
CREATE INDEX intents_state ON intents (state);
CREATE TABLE notes (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, text TEXT NOT NULL, checksum TEXT
);
"""
_COLUMNS = tuple(Intent.__dataclass_fields__)
_STORED = ",".join((*_COLUMNS, "checksum"))
_CHANGED = ",".join(f"{name}=?" for name in (*_COLUMNS, "checksum"))
_JSON = frozenset({"client_ids", "payload", "data"})
_UNREADABLE = (ValueError, TypeError, AttributeError, RecursionError)
"""Errors that reading a damaged entry may raise."""


class SqliteLedger(Ledger):
    """Intents in a SQLite file that survives crashes and restarts, and may be shared by processes.

    Every change is its own durable transaction (write-ahead log, full synchronisation). The file holds signed requests,
    never keys. It is created readable by its owner only. It is closed when the ledger is garbage-collected. Each entry
    has a checksum: a damaged one is left out of `all` with a warning, and `get` raises StoredFileError.

    Parameters
    ----------
    path : str or PathLike
        Path of the file, which is made if it is missing.

    Raises
    ------
    InputError
        For a file that can't be used.
    StoredFileError
        For a damaged one and another version's.
    """

    path: Path
    _database: sqlite3.Connection
    _identity: tuple[int, int] | None
    _process: int

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.RLock()
        self._reported: set[str] = set()
        if is_like_key(os.fspath(path)):
            del path  # a traceback that shows local variables must not show the key
            what = (
                "intents names a file, and what was given looks like a private key. It is not repeated, and there is "
            )
            raise InputError(f"{what}no such file. Keys go into a wallet", field="intents", rule="no key")
        self._open(Path(path))

    def _open(self, path: Path) -> None:
        try:
            database, self._identity = _connect(path), _identity(path)
        except (OSError, sqlite3.Error, UnicodeError) as error:  # the last in what SQLite says of a damaged file
            if databases.is_damage(error):
                raise _KIND.damaged(path, error) from error
            what = f"{path} can't be used as a ledger of intents: {error}"
            text = f"{what}. Nothing was sent. Make it writable, {_ELSEWHERE}"
            raise InputError(text, field="intents", rule="a SQLite file", value=os.fspath(path)) from error
        # By the newest entry, not by this machine's clock: one that is set wrong must not drop everything.
        with suppress(sqlite3.Error):  # a read-only file is kept as it is
            slots = ",".join("?" * len(FINAL))
            age = f"updated < (SELECT max(updated) FROM intents) - {KEPT_MS}"
            database.execute(f"DELETE FROM intents WHERE state IN ({slots}) AND {age}", list(map(str, FINAL)))
        self.path, self._database, self._process = path, database, os.getpid()
        # A finalizer, unlike `__del__`, also runs when the interpreter ends, while modules are still there.
        weakref.finalize(self, database.close)

    def _check_present(self) -> None:
        """Raise ToolkitError when the file was deleted or replaced, or opened before a fork: it would be damaged."""
        check_process(self._process, f"the ledger of intents {self.path.name}")
        with self._translated_errors():
            try:
                # A deleted file can still be written to on most systems, and what is written is lost.
                present = _identity(self.path) == self._identity
            except OSError:
                present = False
        if not present:
            message = (
                f"the ledger of intents {self.path} was deleted or replaced while it was in use, so nothing was sent. "
                "Put it back, or connect again to begin a new one"
            )
            raise ToolkitError(message)

    def record(self, intent: Intent) -> None:
        """See Ledger.

        Parameters
        ----------
        intent : Intent
            New intent, in state PREPARED.

        Raises
        ------
        ToolkitError
            Also when the file was deleted meanwhile.
        """
        self._check_present()
        cells = _cells(intent)
        with self._lock, self._translated_errors(), self._hurry(only_leaves(intent.asked)):
            try:
                slots = ",".join("?" * len(cells))
                # The unique id makes sure that two processes never record the same signer and nonce.
                self._database.execute(f"INSERT INTO intents ({_STORED}) VALUES ({slots})", cells)
            except sqlite3.IntegrityError:
                raise ToolkitError(f"intent {intent.id} exists already") from None

    def update(self, id: str, now: int, **changes: Unpack[Changes]) -> Intent:
        check_process(self._process, f"the ledger of intents {self.path.name}")
        with self._lock, self._translated_errors():
            if self._database.in_transaction:  # an interrupt left it open
                self._database.execute("ROLLBACK")
            with transaction(self._database):
                # Read and written in one transaction, so that no other process settles it in between.
                after = changed(self.get(id), now, changes)
                self._database.execute(f"UPDATE intents SET {_CHANGED} WHERE id=?", (*_cells(after), id))
            return after

    @contextmanager
    def _hurry(self, leaves: bool) -> Iterator[None]:
        """Wait for another program's lock for a second at most: an exit goes on without the ledger."""
        if leaves:
            self._database.execute("PRAGMA busy_timeout=1000")
        try:
            yield
        finally:
            if leaves:
                self._database.execute(f"PRAGMA busy_timeout={1000 * LOCKED_SECONDS}")

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raise ToolkitError for errors of SQLite: a full disk, a closed or locked file."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:
            why = str(error).rstrip(".")
            what = f"the ledger of intents {self.path.name} can't be used: {why}. Requests that may have been sent "
            what += "are SENT or UNKNOWN there, and resolve() of a session with this ledger settles them"
            raise ToolkitError(what) from error

    def get(self, id: str) -> Intent:
        with self._lock, self._translated_errors():
            row = self._database.execute(f"SELECT {_STORED} FROM intents WHERE id=?", (id,)).fetchone()
        if row is None:
            raise ToolkitError(f"no intent {id!r} in this ledger")
        try:
            # One damaged entry must not hide the others, but whoever asks for it must not get nothing.
            return _intent(row)
        except _UNREADABLE as error:
            raise self._damaged(id, error) from error

    def _damaged(self, id: object, error: Exception) -> StoredFileError:
        advice = "look up its outcome at the venue, and restore the file from a copy or delete the row"
        return _KIND.error(self.path, f"the entry {str(id)!r} is damaged and can't be believed: {error}", advice)

    def all(self, states: Iterable[IntentState] | None = None, newest: int | None = None) -> list[Intent]:
        final = [str(state) for state in IntentState if states is not None and state not in states]
        slots = ",".join("?" * len(final))
        # A state that can't be read is in none of the wanted ones, and must show.
        query = f"SELECT {_STORED} FROM intents WHERE state NOT IN ({slots}) ORDER BY number DESC LIMIT ?"
        with self._lock, self._translated_errors():
            rows = self._database.execute(query, (*final, -1 if newest is None else newest)).fetchall()
        return list(self._readable(reversed(rows), _intent))

    def _readable(self, rows: Iterable[tuple[Any, ...]], read: Callable[[tuple[Any, ...]], Row]) -> Iterator[Row]:
        """Return what is whole, and warn of each damaged row once."""
        for row in rows:
            try:
                yield read(row)
            except _UNREADABLE as error:
                if str(row[0]) not in self._reported:
                    self._reported.add(str(row[0]))
                    warn(str(self._damaged(row[0], error)))

    def note(self, name: str, before: str | None, after: str | None) -> bool:
        self._check_present()
        with self._lock, self._translated_errors(), self._hurry(True):
            # One statement each: what it finds and what it changes are one transaction.
            if before is None:
                given = "INSERT INTO notes (name, text, checksum) SELECT :name, :after, :sum WHERE :after IS NOT NULL"
                given += " ON CONFLICT DO NOTHING"
            elif after is None:
                given = "DELETE FROM notes WHERE name=:name AND text=:before"
            else:
                given = "UPDATE notes SET text=:after, checksum=:sum WHERE name=:name AND text=:before"
            values = {"name": name, "before": before, "after": after, "sum": _checksum([name, after])}
            return self._database.execute(given, values).rowcount == 1

    def notes(self) -> dict[str, str]:
        with self._lock, self._translated_errors():
            rows = self._database.execute("SELECT name, text, checksum FROM notes ORDER BY number").fetchall()
        return dict(self._readable(rows, lambda row: (row[0], _whole(row)[1])))

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def __repr__(self) -> str:
        return f"<SqliteLedger {self.path.name}>"


class AccountLedger(SqliteLedger):
    """The SqliteLedger of an account. Opened when it is first used.

    Parameters
    ----------
    path : callable
        Function that returns the path of the file.
    """

    def __init__(self, path: Callable[[], Path]) -> None:
        self._lock = threading.RLock()
        self._reported = set()
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name not in SqliteLedger.__annotations__:
            raise AttributeError(name)
        with self._lock:
            # A session that only reads needs no file.
            if "_database" not in vars(self):
                self._begin(self._path())
        return vars(self)[name]

    def _begin(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{path.parent} can't hold a ledger of intents: {error}. Nothing was sent. Set TOOLKIT_STATE "
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
    """Return the ledger of an account in an environment, in the user's data folder.

    Parameters
    ----------
    environment : Environment
        Environment of the session.
    who : callable
        Function that returns the address of the account.
    """

    def path() -> Path:
        return data_directory() / "ledgers" / f"{place_of(environment)}-{who().lower()}.sqlite"

    return AccountLedger(path)


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return what distinguishes a file from another of the same name, None for one in memory."""
    if str(path) == ":memory:":
        return None
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection to the file, with its tables. Closes it again when that fails."""
    if str(path) != ":memory:":
        # SQLite would create the file readable by every user that the umask allows.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    database = databases.connect(path, timeout=LOCKED_SECONDS)
    try:
        _use_write_ahead_log(database)
        database.execute("PRAGMA synchronous=FULL")
        # A damaged text must be read as such, row by row, and not fail for the whole table.
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        _begin(database)
        _KIND.check(path, databases.stamp_of(database))
        [[found], *_] = database.execute("PRAGMA integrity_check(1)").fetchall()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
    except BaseException:
        database.close()
        raise
    return database


def _begin(database: sqlite3.Connection) -> None:
    """Make tables and header in a new file."""
    if database.execute("SELECT 1 FROM sqlite_master").fetchall():
        return
    with transaction(database):
        if databases.stamp_of(database):  # another process was faster
            return
        for statement in _SCHEMA.split(";"):
            database.execute(statement)
        databases.stamp(database, _KIND)


def _checksum(cells: Sequence[Any]) -> str:
    """Return the checksum of a row: of the type, length and text of each of its cells, as MessagePack has them."""
    return checksum((msgspec.msgpack.encode(cells),)).hex()


def _whole(row: Sequence[Any]) -> Sequence[Any]:
    """Return a row without its checksum, which is the last cell. Raises ValueError if that is another's."""
    if row[-1] != _checksum(row[:-1]):
        raise ValueError("its checksum is another" if row[-1] else "it was damaged before it had a checksum")
    return row[:-1]


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


def _cells(intent: Intent) -> list[Any]:
    """Return the row of an intent, with its checksum."""
    cells = [_to_cell(name, getattr(intent, name)) for name in _COLUMNS]
    return [*cells, _checksum(cells)]


def _to_cell(name: str, value: object) -> Any:
    if value is None or not (name in _JSON or isinstance(value, str)):
        return value
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False) if name in _JSON else str(value)
    # Half a surrogate pair, as of an address with a byte that is no text, can't be written. In JSON the escape is the
    # same text. A note that failed would leave what never left this machine as sent.
    return text.encode("utf-8", "backslashreplace").decode()


def _intent(row: tuple[Any, ...]) -> Intent:
    values = dict(zip(_COLUMNS, _whole(row), strict=True))
    for name in _JSON:
        values[name] = None if values[name] is None else json.loads(values[name])
    values["client_ids"] = tuple(values["client_ids"])
    values["state"] = IntentState(values["state"])
    return Intent(**values)


def open_ledger(where: Ledger | str | os.PathLike[str] | None) -> Ledger:
    """Return a ledger for the `intents` argument of `connect`.

    Parameters
    ----------
    where : Ledger, str, PathLike or None
        A ledger, the path of a SQLite file, or None for memory.
    """
    if where is None:
        return MemoryLedger()
    if isinstance(where, str | os.PathLike):
        return SqliteLedger(where)
    return where
