"""The command log of a venue in one SQLite file: what was answered is there, and nobody can change it unseen.

Each row holds one entry and the hash of it and of everything before it. The first entry is the genesis; then come
commands, each written before it is applied, and so before it is answered. A restored snapshot is an entry as well.
Because the core is a fold over its commands, reading them again gives the same state, down to its hash; dumps of the
state that are kept on the way only make that quicker. Mere time is not written: what it brings follows from the rest.

After a crash at any instant every answered command is there. One that was under way may be there too, without its
client having heard: the client asks (by client id, or with the same bytes again, see `Session.resolve`).
A rollback journal is used, not a write-ahead log, so that the one file holds all that was committed and damage to it
shows: SQLite drops the torn end of a write-ahead log silently.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from ...errors import InputError, JournalDamaged, VenueError
from ..engine.commands import Advance, Command, Control, Submit
from ..engine.core import Core
from ..model.genesis import Genesis

VERSION = "toolkit venue journal 1"
DUMP_COMMANDS = 20_000
DUMP_TIME = 6 * 3_600_000
"""A dump of the state is kept after so many commands, or so many ms of the venue's time."""
SLICE = 60_000
"""Long advances go in slices of this many ms, so that events never pile up. The state does not depend on it."""

Sync = Literal["full", "os"]
"""What "written" means: "full" waits until the disk has it, so that a power cut loses nothing; "os" until the operating
system has it, so that a crash or kill of this process loses nothing. It is many times faster."""

_TABLES = """
CREATE TABLE entries (n INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), n INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE dumps (n INTEGER PRIMARY KEY, time INTEGER NOT NULL, body BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
"""
_encoder = msgspec.msgpack.Encoder()
_commands = msgspec.msgpack.Decoder(Submit | Advance | Control)
_geneses = msgspec.msgpack.Decoder(Genesis)


def _chain(before: bytes, kind: str, body: bytes) -> bytes:
    return hashlib.sha256(before + kind.encode() + b":" + body).digest()


class Journal:
    """An open journal. `append` returns when the entry is written. Used under the venue's lock.

    Attributes: `path`; `genesis`; `count`, the number of entries after the genesis; `sync`, see Sync.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, genesis: Genesis, count: int, chain: bytes, sync: Sync
    ) -> None:
        self.path = path
        self.genesis = genesis
        self.count = count
        self.sync = sync
        self.closed = False
        self._chain = chain
        self._db = connection
        weakref.finalize(self, connection.close)
        self._dumped, self._dumped_time = _last_dump(connection, genesis)

    @classmethod
    def create(
        cls, path: str | Path, genesis: Genesis, first: Sequence[Command] = (), *, sync: Sync = "full"
    ) -> Journal:
        """Begin a journal in a new file; the file has that name once genesis and `first` commands are whole.

        Raises VenueError when there is something already, or it can't be written.
        """
        path = Path(path)
        if path.exists():
            raise VenueError(f"{path} exists; open it, or choose another file")
        fresh = path.with_name(path.name + ".new")
        try:
            _make(fresh, _beginning(genesis, first))
            fresh.replace(path)
        except (OSError, sqlite3.Error) as error:
            raise VenueError(f"{path} can't be written as a journal: {error}") from error
        return cls.open(path, sync=sync)

    @classmethod
    def open(cls, path: str | Path, *, sync: Sync = "full") -> Journal:
        """Open a journal after checking every entry of it.

        Raises JournalDamaged, which says what is wrong and how many entries are whole, and VenueError when there is no
        file, or another venue uses it.
        """
        path = Path(path)
        if not path.is_file():
            raise VenueError(f"there is no journal {path}")
        if not path.stat().st_size:
            raise _damaged(path, "it is empty", -1)
        if sync not in get_args(Sync):
            raise InputError(
                f"sync {sync!r} is not known; use full or os", field="sync", value=sync, nearest=get_args(Sync)
            )
        connection = None
        try:
            connection = _connect(path, sync)
            genesis, count, chain = _examine(path, connection)
            return cls(path, connection, genesis, count, chain, sync)
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise _unreadable(path, error) from error
        except BaseException:
            if connection is not None:
                connection.close()
            raise

    def append(self, command: Command) -> None:
        """Write a command, and return when it is there. Raises VenueError when that fails; it must not be applied."""
        self._write("command", _encoder.encode(command))

    def restored(self, state: bytes) -> None:
        """Write that the venue's state was replaced by this dump (a revert or a load)."""
        self._write("state", state)

    def _write(self, kind: str, body: bytes) -> None:
        chain = _chain(self._chain, kind, body)
        number = self.count + 1
        try:
            with _transaction(self._db):
                self._db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (number, kind, body, chain))
                self._db.execute("UPDATE head SET n = ?, chain = ?", (number, chain))
        except sqlite3.Error as error:
            raise VenueError(f"the journal {self.path} can't be written: {error}; nothing was done") from error
        self.count, self._chain = number, chain

    def keep_dump(self, core: Core, *, now: bool = False) -> None:
        """Keep a dump of the state when it is time for one, or `now`, so that the next start is quick."""
        due = self.count - self._dumped >= DUMP_COMMANDS or core.state.time - self._dumped_time >= DUMP_TIME
        if not (due or now):
            return
        body, time = core.dump(), core.state.time
        row = (self.count, time, body, hashlib.sha256(body).digest())
        with contextlib.suppress(sqlite3.Error), _transaction(self._db):
            self._db.execute("DELETE FROM dumps")
            self._db.execute("INSERT INTO dumps VALUES (?, ?, ?, ?)", row)
        self._dumped, self._dumped_time = self.count, time

    def replay(self) -> Core:
        """Return the core that the entries make."""
        start, core = self._latest_dump()
        rows = self._db.execute("SELECT kind, body FROM entries WHERE n > ? ORDER BY n", (start,))
        for kind, body in rows:
            if kind == "state":
                core = Core.load(body)
            else:
                apply(core, _commands.decode(body))
        return core

    def _latest_dump(self) -> tuple[int, Core]:
        for number, body, digest in self._db.execute("SELECT n, body, hash FROM dumps ORDER BY n DESC"):
            if number <= self.count and hashlib.sha256(body).digest() == digest:
                with contextlib.suppress(VenueError):
                    return number, Core.load(body)
        return 0, Core(self.genesis)

    def close(self, core: Core | None = None) -> None:
        """Close the file, with a dump of the core's state for the next start; closing again does nothing."""
        if core is not None and not self.closed:
            self.keep_dump(core, now=True)
        self.closed = True
        self._db.close()

    def __repr__(self) -> str:
        return f"<Journal {self.path.name}: {self.count} entries>"


def open_or_create(
    path: str | Path,
    genesis: Genesis,
    first: Sequence[Command] = (),
    *,
    sync: Sync = "full",
    recovering: bool = False,
) -> Journal:
    """Return the journal of a file, begun with `genesis` and `first` commands if there is none.

    `recovering` makes a damaged one usable with what is whole of it. Raises as `Journal.open`, `create` and `recover`.
    """
    if not Path(path).exists():
        return Journal.create(path, genesis, first, sync=sync)
    try:
        return Journal.open(path, sync=sync)
    except JournalDamaged:
        if not recovering:
            raise
        recover(path)
        return Journal.open(path, sync=sync)


def apply(core: Core, command: Command) -> None:
    """Apply a command that was applied before; one that failed half-way then fails in the same way again."""
    while core.state.time < command.time:
        core.apply(Advance(min(command.time, core.state.time + SLICE)))
        core.events.clear()
    with contextlib.suppress(Exception):
        core.apply(command)
    core.events.clear()


def recover(path: str | Path) -> int:
    """Make a damaged journal usable: what is whole from its beginning stays; return how many entries that are.

    A copy of the damaged file is kept beside it, with `.damaged` (and a number, if need be) added to its name. Raises
    JournalDamaged when not even the genesis is whole, VenueError when there is no file or another venue uses it;
    nothing is changed then.
    """
    path = Path(path)
    if not path.is_file():
        raise VenueError(f"there is no journal {path}")
    whole = _whole(path)
    if not whole:
        raise _damaged(path, "its first entry is not readable", -1)
    fresh = path.with_name(path.name + ".new")
    try:
        _make(fresh, whole)
        shutil.copyfile(path, _free_name(path))
        path.with_name(path.name + "-journal").unlink(missing_ok=True)
        fresh.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise VenueError(f"{path} can't be recovered: {error}") from error
    return len(whole) - 1


def _free_name(path: Path) -> Path:
    number = 0
    while True:
        aside = path.with_name(f"{path.name}.damaged{number or ''}")
        if not aside.exists():
            return aside
        number += 1


def _beginning(genesis: Genesis, first: Sequence[Command]) -> list[tuple[int, str, bytes, bytes]]:
    rows: list[tuple[int, str, bytes, bytes]] = []
    chain = VERSION.encode()
    for number, item in enumerate((genesis, *first)):
        kind, body = "command" if number else "genesis", _encoder.encode(item)
        chain = _chain(chain, kind, body)
        rows.append((number, kind, body, chain))
    return rows


def _make(path: Path, rows: list[tuple[int, str, bytes, bytes]]) -> None:
    """Write a new database with these entries, and close it."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + "-journal").unlink(missing_ok=True)
    connection = _connect(path, "full")
    try:
        connection.executescript(_TABLES)
        with _transaction(connection):
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
            connection.execute("INSERT INTO head VALUES (1, ?, ?)", (rows[-1][0], rows[-1][3]))
    finally:
        connection.close()


def _connect(path: Path, sync: Sync) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.5)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute(f"PRAGMA synchronous = {'FULL' if sync == 'full' else 'OFF'}")
    except UnicodeDecodeError as error:  # SQLite's message quotes the damage
        connection.close()
        raise sqlite3.DatabaseError("the description of the tables is not readable") from error
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _examine(path: Path, connection: sqlite3.Connection) -> tuple[Genesis, int, bytes]:
    """Return genesis, number of entries and last hash, after reading everything. Raises JournalDamaged."""
    with _transaction(connection):  # takes the file for good
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)
    whole, chain, genesis, fault = _walk(connection.execute("SELECT n, kind, body, chain FROM entries ORDER BY n"))
    if fault:
        raise _damaged(path, fault, whole)
    head = connection.execute("SELECT n, chain FROM head").fetchone()
    if head is None or genesis is None:
        raise _damaged(path, "it has no head" if head is None else "it has no genesis", whole)
    if head != (whole, chain):
        raise _damaged(path, f"it should end at entry {head[0]} and ends at {whole}: its end is missing", whole)
    return genesis, whole, chain


def _last_dump(connection: sqlite3.Connection, genesis: Genesis) -> tuple[int, int]:
    row = connection.execute("SELECT n, time FROM dumps ORDER BY n DESC").fetchone()
    return (int(row[0]), int(row[1])) if row else (0, genesis.time)


def _walk(rows: Iterator[tuple[Any, ...]]) -> tuple[int, bytes, Genesis | None, str]:
    """Go through the entries; return the last whole one's number and hash, the genesis, and what is wrong after it."""
    whole, chain, genesis = -1, VERSION.encode(), None
    for number, kind, body, told in rows:
        fault = _fault(number, whole + 1, kind, body, told, chain)
        if fault:
            return whole, chain, genesis, fault
        if number == 0:
            genesis = _geneses.decode(body)
        whole, chain = number, told
    return whole, chain, genesis, ""


def _fault(number: int, expected: int, kind: str, body: bytes, told: bytes, chain: bytes) -> str:
    """Say what is wrong with an entry, "" for nothing."""
    if number != expected:
        return f"entry {expected} is missing"
    if not isinstance(body, bytes) or not isinstance(kind, str) or told != _chain(chain, kind, body):
        return f"entry {number} was altered, or one before it"
    try:
        if number == 0:
            _geneses.decode(body)
        elif kind == "command":
            _commands.decode(body)
    except msgspec.DecodeError as error:
        return f"entry {number} is not readable by this version: {error}"
    return ""


def _whole(path: Path) -> list[tuple[int, str, bytes, bytes]]:
    """Return the rows from the beginning that are whole, reading as far as SQLite can. Raises VenueError if in use."""
    rows: list[tuple[int, str, bytes, bytes]] = []
    chain = VERSION.encode()
    connection = None
    try:
        connection = _connect(path, "full")
        for number, kind, body, told in connection.execute("SELECT n, kind, body, chain FROM entries ORDER BY n"):
            if _fault(number, len(rows), kind, body, told, chain):
                break
            rows.append((number, kind, body, told))
            chain = told
    except sqlite3.Error as error:
        if _in_use(error):
            raise _busy(path) from error
    finally:
        if connection is not None:
            connection.close()
    return rows


def _in_use(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _busy(path: Path) -> VenueError:
    return VenueError(f"another venue uses the journal {path}; stop that one, or choose another file")


def _unreadable(path: Path, error: sqlite3.Error) -> VenueError:
    if _in_use(error):
        return _busy(path)
    if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
    ):
        return VenueError(f"the journal {path} can't be opened for writing: {error}")
    return _damaged(path, f"SQLite says: {error}", len(_whole(path)) - 1)


def _damaged(path: Path, what: str, whole: int) -> JournalDamaged:
    kept = max(whole, 0)
    can = (
        f"{kept} entries from its beginning are whole; recover them with `toolkit venue --recover` or recover=True"
        if whole >= 0
        else "nothing of it can be recovered"
    )
    return JournalDamaged(f"the journal {path} is damaged: {what}. {can}", whole=kept)
