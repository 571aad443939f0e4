"""The SQLite file of a journal: creating it, checking every entry, and recovering a damaged one.

A row holds one entry and the hash over it and all entries before it, so that no change goes unnoticed. A dump is kept
in slices, which are written between entries. Its hash is part of the chain where the last of them was written. Only the
latest dump itself is there. The file uses a rollback journal, not a write-ahead log. So one file holds everything that
was committed, and damage to it shows. SQLite would drop the torn end of a write-ahead log silently.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ...errors import StoredFileError, ToolkitError, VenueError
from ...stored import databases
from ...stored.databases import transaction
from ...stored.seals import FileKind, checksum, header_in
from ..engine import dump_format
from ..engine.commands import Advance, Command, Control, Submit
from ..model.genesis import Genesis

FORMAT = 2
"""Number of the format. It changes with the venue's rules, because a journal is replayed by them."""
KIND = FileKind("venue journal", FORMAT, "`toolkit venue --recover` or recover=True keeps what is whole")
START = b"venue journal %d" % FORMAT
"""Begins the hash chain."""
SCHEMA = "9b58352b7edeca98"
"""Hash of the fields of commands and genesis. tests/test_persisted_formats.py says what to do on a change."""

Sync = Literal["full", "os"]
"""Entries are written to the disk with "full", which survives a power failure. With "os" they are written to the
operating system only. This survives a crash or kill of this process and is many times faster."""

PROGRESS = 100_000
"""Steps of SQLite's machine between two chances for a signal's handler to run, some milliseconds."""
_TABLES = """
CREATE TABLE entries (n INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), n INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE dumps (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, time INTEGER NOT NULL, hash BLOB NOT NULL,
    applied INTEGER) STRICT;
CREATE TABLE slices (id INTEGER PRIMARY KEY, dump INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
CREATE TABLE chunks (hash BLOB PRIMARY KEY, body BLOB NOT NULL) STRICT;
"""
"""Chunks are old records of the history, which dumps name by their hash."""
BEHIND = 20_000
"""So many entries before the latest dump are checked at the start. More are checked afterwards."""

encode = msgspec.msgpack.Encoder().encode
decode_command = msgspec.msgpack.Decoder(Submit | Advance | Control).decode
_decode_genesis = msgspec.msgpack.Decoder(Genesis).decode


class Entry(NamedTuple):
    """One row of the journal.

    Attributes
    ----------
    number : int
        Number of the entry. The genesis has 0.
    kind : str
        "genesis", "command" or "state".
    body : bytes
        Encoded content.
    chain : bytes
        Hash up to and including this entry.
    """

    number: int
    kind: str
    body: bytes
    chain: bytes


class Digest(NamedTuple):
    """That a dump was complete after an entry.

    Attributes
    ----------
    number : int
        Number of the entry.
    time : int
        Time of the venue when the dump began, Unix ms.
    hash : bytes
        Hash of the dump.
    """

    number: int
    time: int
    hash: bytes


class Broken(Exception):
    """An entry is missing, altered or unreadable. The text says which and how."""


def dump_hash(applied: int, parts: Iterable[bytes]) -> bytes:
    """Return the hash of a dump in slices.

    Parameters
    ----------
    applied : int
        Number of entries after the genesis that the dump contains.
    parts : iterable of bytes
        Slices of the dump, in order.
    """
    return checksum((dump_start(applied), *parts))


def dump_start(applied: int) -> bytes:
    """Return the first bytes of the input to a dump's hash.

    Parameters
    ----------
    applied : int
        Number of entries after the genesis that the dump contains.
    """
    return b"%d:%d:" % (dump_format.FORMAT, applied)


def chain_hash(before: bytes, kind: str, body: bytes) -> bytes:
    """Return the hash of an entry and of all entries before it.

    Parameters
    ----------
    before : bytes
        Hash of all entries before.
    kind : str
        "genesis", "command" or "state".
    body : bytes
        Encoded content.
    """
    return checksum((before, kind.encode(), b":", body))


def chained(first: int, chain: bytes, kind: str, bodies: Iterable[bytes]) -> list[Entry]:
    """Return entries that continue a chain, numbered from `first`.

    Parameters
    ----------
    first : int
        Number of the first entry.
    chain : bytes
        Hash of all entries before.
    kind : str
        "genesis", "command" or "state".
    bodies : iterable of bytes
        Encoded contents, in order.
    """
    entries: list[Entry] = []
    for number, body in enumerate(bodies, first):
        chain = chain_hash(chain, kind, body)
        entries.append(Entry(number, kind, body, chain))
    return entries


def first_entries(genesis: Genesis, commands: Sequence[Command]) -> list[Entry]:
    """Return the entries of a new journal.

    Parameters
    ----------
    genesis : Genesis
        How the venue begins.
    commands : sequence of Command
        Commands that follow the genesis.
    """
    [first] = chained(0, START, "genesis", [encode(genesis)])
    return [first, *chained(1, first.chain, "command", map(encode, commands))]


def write_file(path: Path, entries: Sequence[Entry], digests: Sequence[Digest] = ()) -> None:
    """Write a database with some entries, which takes the place of one at this path.

    Parameters
    ----------
    path : Path
        File of the journal.
    entries : sequence of Entry
        All entries, from the genesis on.
    digests : sequence of Digest, optional
        Dumps that were kept between the entries (default: none).

    Raises
    ------
    OSError
        If the file can't be written.
    sqlite3.Error
        If SQLite can't write it.
    """
    fresh = path.with_name(path.name + ".new")
    # Remains of an earlier attempt that was interrupted.
    for old in (fresh, _rollback_journal(fresh)):  # SQLite would apply the second to the new file
        old.unlink(missing_ok=True)
    with contextlib.closing(connect(fresh, "full")) as connection, transaction(connection):
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        databases.stamp(connection, KIND)
        connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", entries)
        connection.executemany("INSERT INTO dumps (n, time, hash) VALUES (?, ?, ?)", digests)
        last = entries[-1]
        chain = _with_digests(last.chain, [each for each in digests if each.number == last.number])
        connection.execute("INSERT INTO head VALUES (1, ?, ?)", (last.number, chain))
    for old in (_rollback_journal(fresh), _rollback_journal(path)):
        old.unlink(missing_ok=True)
    # Renaming is atomic: at any instant the path is the old file or the whole new one.
    fresh.replace(path)


def connect(path: Path, sync: Sync) -> sqlite3.Connection:
    """Open a database.

    Parameters
    ----------
    path : Path
        File of the journal.
    sync : Sync
        When writes are on the disk.

    Raises
    ------
    sqlite3.Error
        If it can't be read.
    """
    synchronous = f"synchronous = {'FULL' if sync == 'full' else 'OFF'}"
    return databases.connect(path, "locking_mode = EXCLUSIVE", "journal_mode = TRUNCATE", synchronous, timeout=0.5)


def first_to_check(connection: sqlite3.Connection) -> int:
    """Return the entry of the latest dump, if very many lie before it, else 0.

    Parameters
    ----------
    connection : sqlite3.Connection
        Open connection to the file.
    """
    found = connection.execute("SELECT applied FROM dumps ORDER BY id DESC").fetchone()
    return found[0] if found is not None and isinstance(found[0], int) and found[0] > BEHIND else 0


def examine(path: Path, connection: sqlite3.Connection, start: int = 0) -> tuple[Genesis, Entry]:
    """Return the genesis and the last entry, after reading every entry from one on.

    The chain of the entry returned includes the dumps that were kept after it.

    Parameters
    ----------
    path : Path
        File of the journal.
    connection : sqlite3.Connection
        Open connection to the file.
    start : int, optional
        First entry to check (default: 0, all).

    Raises
    ------
    StoredFileError
        If an entry is missing or altered.
    sqlite3.Error
        If SQLite can't read the file.
    """
    # Calling a Python function on the way lets a signal's handler run: this takes seconds for a large file.
    connection.set_progress_handler(_nothing, PROGRESS)
    try:
        # A whole check reads every page. It is left out where most entries are only checked later.
        with transaction(connection):  # in exclusive locking mode this keeps every other process out until it is closed
            query = "PRAGMA quick_check(1)" if not start else "SELECT 'ok' FROM head"
            verdict = connection.execute(query).fetchone()[0]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:  # by the handler; SQLite drops what it raised
            raise KeyboardInterrupt from None
        raise
    finally:
        connection.set_progress_handler(None, 0)
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)
    KIND.check(path, databases.stamp_of(connection))
    last = Entry(-1, "", b"", b"")
    try:
        first = last = next(intact(connection), last)
        for entry in intact(connection, start):
            last = entry
    except Broken as fault:
        raise damaged(path, str(fault), last.number) from None
    head = connection.execute("SELECT n, chain FROM head").fetchone()
    if head is None or first.number:
        raise damaged(path, "it has no head" if head is None else "it has no genesis", last.number)
    number, chain = head
    # SQLite can lose rows at the end without noticing. The head says how many there must be.
    if number != last.number:
        what = f"it should end at entry {number} and ends at {last.number}: its end is missing"
        raise damaged(path, what, last.number)
    if chain != _with_digests(last.chain, [each for each in _digests(connection) if each.number == number]):
        raise damaged(path, "the record of a dump after its last entry was altered", last.number)
    return _decode_genesis(first.body), last._replace(chain=chain)


def _nothing() -> None:
    """Let SQLite continue."""


def recover(path: str | Path) -> int:
    """Make a damaged journal usable by keeping the intact entries from its beginning.

    Return how many commands remain.

    The damaged file is copied first, with `.damaged` (and a number if needed) added to its name.

    Parameters
    ----------
    path : str or Path
        File of the journal.

    Raises
    ------
    StoredFileError
        If not even the genesis is intact. Nothing is changed then.
    VenueError
        If there is no file or another venue uses it. Nothing is changed then.
    """
    path = Path(path)
    if not path.is_file():
        raise VenueError(f"there is no journal {path}")
    entries, digests = _intact_entries(path)
    if not entries:
        raise damaged(path, "its first entry is not readable, or another version wrote it", -1)
    copies = (path.with_name(f"{path.name}.damaged{number or ''}") for number in itertools.count())
    try:
        shutil.copyfile(path, next(copy for copy in copies if not copy.exists()))
        write_file(path, entries, digests)
    except (OSError, sqlite3.Error) as error:
        raise VenueError(f"{path} can't be recovered: {error}") from error
    return len(entries) - 1


def _rollback_journal(path: Path) -> Path:
    return path.with_name(path.name + "-journal")


def intact(connection: sqlite3.Connection, start: int = 0, end: int = -1) -> Iterator[Entry]:
    """Yield the entries from the beginning while they are intact.

    With a `start`, that entry's own hash is believed.

    Parameters
    ----------
    connection : sqlite3.Connection
        Open connection to the file.
    start : int, optional
        First entry. If it is not 0, its own hash is believed (default: 0).
    end : int, optional
        Entry after the last one (default: -1, to the end).

    Raises
    ------
    Broken
        At the first entry that is not intact.
    """
    expected, chain = start, START
    kept: dict[int, list[Digest]] = {}
    for digest in _digests(connection):
        kept.setdefault(digest.number, []).append(digest)
    # an open cursor would keep the file locked after its connection is closed
    query = "SELECT n, kind, body, chain FROM entries WHERE n >= ? ORDER BY n LIMIT ?"
    with contextlib.closing(connection.execute(query, (start, end - start))) as rows:
        for row in rows:
            entry = Entry(*row)
            if entry.number != start or not start:
                _check(entry, expected, chain)
            yield entry
            expected, chain = entry.number + 1, _with_digests(entry.chain, kept.get(entry.number, ()))


def _digests(connection: sqlite3.Connection) -> list[Digest]:
    with contextlib.closing(connection.execute("SELECT n, time, hash FROM dumps ORDER BY rowid")) as rows:
        # a flipped bit can also change the type of a value; without it, the chain does not fit
        return [Digest(*row) for row in rows if isinstance(row[0], int) and isinstance(row[2], bytes)]


def _with_digests(chain: bytes, digests: Sequence[Digest]) -> bytes:
    """Return the chain after the dumps that were kept behind an entry."""
    for digest in digests:
        chain = chain_hash(chain, "dump", digest.hash)
    return chain


def _check(entry: Entry, expected: int, chain: bytes) -> None:
    number, kind, body, stored = entry
    # a flipped bit can also change the type of a value, so types are checked before the hash
    typed = isinstance(body, bytes) and isinstance(kind, str)
    if number != expected:
        raise Broken(f"entry {expected} is missing")
    if not typed or stored != chain_hash(chain, kind, body):
        raise Broken(f"entry {number} was altered, or one before it")
    try:
        if number == 0:
            _decode_genesis(body)
        elif kind == "command":
            decode_command(body)
    except msgspec.DecodeError as error:
        raise Broken(f"entry {number} is not readable by this version: {error}") from None


def _intact_entries(path: Path) -> tuple[list[Entry], list[Digest]]:
    """Return the intact entries from the beginning that SQLite can read, with the dumps between them.

    Raises VenueError if another venue uses the file.
    """
    entries, digests = list[Entry](), list[Digest]()
    connection = None
    try:
        connection = connect(path, "full")
        if header := header_in(databases.stamp_of(connection)):
            KIND.check_version(path, header)
        digests = _digests(connection)
        for entry in intact(connection):
            entries.append(entry)  # one by one, so that those before a damaged one are kept
    except Broken:
        pass
    except sqlite3.Error as error:
        # A file in use is not damaged, and must not be recovered.
        if databases.is_in_use(error):
            raise _busy(path) from error
    finally:
        if connection is not None:
            connection.close()
    # those after the last entry are left out: whether they are intact, only the head knows
    return entries, [each for each in digests if each.number < entries[-1].number] if entries else []


def _busy(path: Path) -> VenueError:
    return VenueError(f"another venue uses the journal {path}. Stop that one, or choose another file")


def unreadable(path: Path, error: sqlite3.Error) -> ToolkitError:
    """Return the error to raise for a file that SQLite could not open or read.

    Parameters
    ----------
    path : Path
        File of the journal.
    error : sqlite3.Error
        What SQLite raised.
    """
    if databases.is_in_use(error):
        return _busy(path)
    if not databases.is_damage(error):
        return VenueError(f"the journal {path} can't be opened for writing: {error}")
    return damaged(path, f"SQLite says: {error}", len(_intact_entries(path)[0]) - 1)


def damaged(path: Path, what: str, last: int) -> StoredFileError:
    """Return the error for a damaged journal.

    Parameters
    ----------
    path : Path
        File of the journal.
    what : str
        What is wrong, in words.
    last : int
        Number of its last intact entry, −1 for none.
    """
    whole = f"{last} entries from its beginning are intact. Recover them with `toolkit venue --recover` or recover=True"
    return KIND.error(path, f"it is damaged: {what}", whole if last >= 0 else "nothing of it can be recovered")
