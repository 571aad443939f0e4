"""The command log of a venue in one SQLite file: what was answered is there, and nobody can change it unseen.

Each row holds one entry and the hash of it and of everything before it. The first entry is the genesis; then come
commands, each written and synced to disk before it is applied, and so before it is answered. A restored snapshot is an
entry as well. Because the core is a fold over its commands, reading them again gives the same state, down to its
hash; dumps of the state that are kept on the way only make that quicker.

After a crash at any instant every answered command is there. One that was under way may be there too, without its
client having heard: the client asks (by client id, or with the same bytes again, see `Session.resolve`).
A rollback journal is used, not a write-ahead log, so that the one file holds all that was committed and damage to it shows.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..errors import JournalDamaged, VenueError
from .core import Advance, Command, Control, Core, Submit
from .genesis import Genesis

VERSION = "toolkit venue journal 1"
SNAPSHOT_EVERY = 20_000
"""Commands between two dumps of the state."""

_TABLES = """
CREATE TABLE entries (n INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), n INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE dumps (n INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
"""
_encoder = msgspec.msgpack.Encoder()
_commands = msgspec.msgpack.Decoder(Submit | Advance | Control)
_geneses = msgspec.msgpack.Decoder(Genesis)


def _chain(before: bytes, kind: str, body: bytes) -> bytes:
    return hashlib.sha256(before + kind.encode() + b":" + body).digest()


class Journal:
    """An open journal. `append` returns when the entry is on disk. Used under the venue's lock.

    Attributes: `path`; `genesis`; `count`, the number of entries after the genesis.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, genesis: Genesis, count: int, chain: bytes) -> None:
        self.path = path
        self.genesis = genesis
        self.count = count
        self._chain = chain
        self._db = connection
        self._dumped = count

    @classmethod
    def create(cls, path: str | Path, genesis: Genesis) -> Journal:
        """Begin a journal in a new file. Raises VenueError when there is something already, or it can't be written."""
        path = Path(path)
        if path.exists() and path.stat().st_size:
            raise VenueError(f"{path} exists; open it, or choose another file")
        body = _encoder.encode(genesis)
        chain = _chain(VERSION.encode(), "genesis", body)
        try:
            connection = _connect(path)
            connection.executescript(_TABLES)
            with _transaction(connection):
                connection.execute("INSERT INTO entries VALUES (0, 'genesis', ?, ?)", (body, chain))
                connection.execute("INSERT INTO head VALUES (1, 0, ?)", (chain,))
        except sqlite3.Error as error:
            raise VenueError(f"{path} can't be written as a journal: {error}") from error
        return cls(path, connection, genesis, 0, chain)

    @classmethod
    def open(cls, path: str | Path) -> Journal:
        """Open a journal after checking every entry of it.

        Raises JournalDamaged, which says what is wrong and how many entries are whole, and VenueError when there is no
        file.
        """
        path = Path(path)
        if not path.exists():
            raise VenueError(f"there is no journal {path}")
        connection = None
        try:
            connection = _connect(path)
            genesis, count, chain = _examine(path, connection)
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise _damaged(path, f"SQLite says: {error}", len(_whole(path)) - 1) from error
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        return cls(path, connection, genesis, count, chain)

    def append(self, command: Command) -> None:
        """Write a command, and return when it is on disk. Raises VenueError when that fails; it must not be applied."""
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

    def keep_dump(self, core: Core) -> None:
        """Keep a dump of the state when it is time for one, so that the next start is quick."""
        if self.count - self._dumped < SNAPSHOT_EVERY:
            return
        body = core.dump()
        with contextlib.suppress(sqlite3.Error), _transaction(self._db):
            self._db.execute("DELETE FROM dumps")
            self._db.execute("INSERT INTO dumps VALUES (?, ?, ?)", (self.count, body, hashlib.sha256(body).digest()))
        self._dumped = self.count

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

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        self._db.close()

    def __repr__(self) -> str:
        return f"<Journal {self.path.name}: {self.count} entries>"


def apply(core: Core, command: Command) -> None:
    """Apply a command that was applied before; one that failed half-way then fails in the same way again."""
    with contextlib.suppress(Exception):
        core.apply(command)
    core.events.clear()


def recover(path: str | Path) -> int:
    """Make a damaged journal usable: what is whole from its beginning stays; return how many entries that are.

    The damaged file is kept beside it, with `.damaged` (and a number, if need be) added to its name. Raises JournalDamaged
    when not even the genesis is whole; nothing is changed then.
    """
    path = Path(path)
    whole = _whole(path)
    if not whole:
        raise _damaged(path, "its first entry is not readable", -1)
    fresh = path.with_name(path.name + ".recovering")
    fresh.unlink(missing_ok=True)
    connection = _connect(fresh)
    try:
        connection.executescript(_TABLES)
        with _transaction(connection):
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", whole)
            connection.execute("INSERT INTO head VALUES (1, ?, ?)", (whole[-1][0], whole[-1][3]))
    finally:
        connection.close()
    aside = _free_name(path)
    path.replace(aside)
    path.with_name(path.name + "-journal").unlink(missing_ok=True)
    fresh.replace(path)
    return len(whole) - 1


def _free_name(path: Path) -> Path:
    number = 0
    while True:
        aside = path.with_name(f"{path.name}.damaged{number or ''}")
        if not aside.exists():
            return aside
        number += 1


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=2)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = FULL")
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
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise _damaged(path, f"SQLite says: {verdict}", len(_whole(path)) - 1)
    last = _walk(connection.execute("SELECT n, kind, body, chain FROM entries ORDER BY n"))
    whole, chain, genesis, fault = last
    if fault:
        raise _damaged(path, fault, whole)
    head = connection.execute("SELECT n, chain FROM head").fetchone()
    if head is None or genesis is None:
        raise _damaged(path, "it has no head" if head is None else "it has no genesis", whole)
    if head != (whole, chain):
        raise _damaged(path, f"it should end at entry {head[0]} and ends at {whole}: its end is missing", whole)
    return genesis, whole, chain


def _walk(rows: Iterator[tuple[Any, ...]]) -> tuple[int, bytes, Genesis | None, str]:
    """Go through the entries; return the last whole one's number and hash, the genesis, and what is wrong after it."""
    whole, chain, genesis = -1, VERSION.encode(), None
    for number, kind, body, told in rows:
        expected = _chain(chain, kind, body)
        if number != whole + 1:
            return whole, chain, genesis, f"entry {whole + 1} is missing"
        if told != expected:
            return whole, chain, genesis, f"entry {number} was altered, or one before it"
        try:
            if number == 0:
                genesis = _geneses.decode(body)
            elif kind == "command":
                _commands.decode(body)
        except msgspec.DecodeError as error:
            return whole, chain, genesis, f"entry {number} is not readable by this version: {error}"
        whole, chain = number, expected
    return whole, chain, genesis, ""


def _whole(path: Path) -> list[tuple[int, str, bytes, bytes]]:
    """Return the rows from the beginning that are whole, reading as far as SQLite can."""
    rows: list[tuple[int, str, bytes, bytes]] = []
    chain = VERSION.encode()
    try:
        connection = _connect(path)
    except sqlite3.Error:
        return rows
    try:
        for number, kind, body, told in connection.execute("SELECT n, kind, body, chain FROM entries ORDER BY n"):
            if number != len(rows) or not isinstance(body, bytes) or not isinstance(kind, str):
                break
            if _chain(chain, kind, body) != told:
                break
            rows.append((number, kind, body, told))
            chain = told
    except sqlite3.Error:
        pass
    finally:
        connection.close()
    return rows


def _damaged(path: Path, what: str, whole: int) -> JournalDamaged:
    kept = max(whole, 0)
    can = (
        f"{kept} entries from its beginning are whole; recover them with recover() or `toolkit venue --recover`"
        if whole >= 0
        else "nothing of it can be recovered"
    )
    return JournalDamaged(f"the journal {path} is damaged: {what}. {can}", whole=kept)
