"""The command log of a venue: commands are written before they are applied, and replayed after a restart.

The first entry is the genesis. Then come the commands, each written before it is applied and so before it is answered.
A restored snapshot is an entry as well. Because the core is a fold over its commands, replaying them gives the same
state, down to its hash. Dumps of the state that are kept on the way only make that quicker. The passing of time is not
written: its effects follow from the entries.

After a crash at any instant every answered command is there. A command that was not answered yet may be there too. Its
client finds out by client id, or by sending the same bytes again (see `Session.resolve`).
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, get_args

import msgspec

from ...errors import InputError, StoredFileError, VenueError, warn
from ...stored.databases import transaction
from ...stored.seals import checksum
from ..engine import dump_format
from ..engine.commands import Advance, Command
from ..engine.core import Core
from ..model.genesis import Genesis
from ..model.history import CHUNK, Records
from . import journal_file
from .journal_file import Entry, Sync

DUMP_COMMANDS = 10_000
DUMP_MS = 6 * 3_600_000
"""A dump of the state is begun after this many commands or this many ms of the venue's time."""
PASSED_MS = 3_600_000
"""The same while time only passes. A start computes what came after the last dump before it can answer."""
STEP_COMMANDS = 8
"""Commands of a group for which a further slice of a dump is written."""
CLOSE_SECONDS = 0.1
"""How long closing may take to keep a dump. Without it, the next start replays what came after the last one."""
STEP, REST_SECONDS = 500, 0.01
"""Entries that are checked in a step after the start, and the pause after each."""
SLICE_MS = 60_000
"""Long advances are applied in slices, so that events don't pile up in memory. The state does not depend on it."""


class Journal:
    """An open journal, used under the venue's lock.

    `append` returns when the entry is written.

    Parameters
    ----------
    path : Path
        File of the journal.
    connection : sqlite3.Connection
        Connection to the file, which it closes.
    genesis : Genesis
        How the venue begins.
    last : Entry
        Last entry of the file.
    sync : {"full", "os"}
        When writes are on the disk, see `journal_file.Sync`.

    Attributes
    ----------
    count : int
        Number of entries after the genesis.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, genesis: Genesis, last: Entry, sync: Sync) -> None:
        self.path = path
        self.genesis = genesis
        self.count = last.number
        self.sync = sync
        self.closed = False
        self.behind = 0
        """Entries before this one are still to be checked."""
        self._damage: StoredFileError | None = None
        self._chain = last.chain
        self._db = connection
        weakref.finalize(self, connection.close)  # releases the file's lock even if `close` is never called
        self._dumping: Iterator[None] | None = None
        """Writes a slice of a dump at each step."""
        # Only the newest dump counts. What older ones left is deleted while the next one is written.
        row = connection.execute("SELECT id, n, time FROM dumps ORDER BY id DESC").fetchone()
        self._dump_id: int
        self._dump_number: int
        self._dump_time: int
        self._dump_id, self._dump_number, self._dump_time = row or (0, 0, genesis.time)

    @classmethod
    def create(
        cls, path: str | Path, genesis: Genesis, first: Sequence[Command] = (), *, sync: Sync = "full"
    ) -> Journal:
        """Create a journal in a new file.

        The file gets its name once genesis and first commands are written.

        Parameters
        ----------
        path : str or Path
            File of the journal.
        genesis : Genesis
            How the venue begins.
        first : sequence of Command, optional
            Commands that follow the genesis (default: none).
        sync : {"full", "os"}, optional
            When writes are on the disk, see `journal_file.Sync` (default: "full").

        Raises
        ------
        VenueError
            If the path exists or can't be written.
        """
        path = Path(path)
        if path.exists():
            raise VenueError(f"{path} exists. Open it, or choose another file")
        try:
            # Written under another name and renamed, so that no crash leaves a file that is half a journal.
            journal_file.write_file(path, journal_file.first_entries(genesis, first))
        except (OSError, sqlite3.Error) as error:
            raise VenueError(f"{path} can't be written as a journal: {error}") from error
        return cls.open(path, sync=sync)

    @classmethod
    def open(cls, path: str | Path, *, sync: Sync = "full") -> Journal:
        """Open a journal after checking every entry.

        A file that others could read is made private.

        Parameters
        ----------
        path : str or Path
            File of the journal.
        sync : {"full", "os"}, optional
            When writes are on the disk, see `journal_file.Sync` (default: "full").

        Raises
        ------
        StoredFileError
            If it is damaged. The error says what is wrong and how many entries are intact.
        VenueError
            If there is no file, another venue uses it, or it can't be written.
        InputError
            If `sync` is unknown.
        """
        path = Path(path)
        if not path.is_file():
            raise VenueError(f"there is no journal {path}")
        if not path.stat().st_size:
            raise journal_file.damaged(path, "it is empty", -1)
        if sync not in get_args(Sync):
            text = f"sync {sync!r} is not known. Use full or os"
            raise InputError(text, field="sync", value=sync, nearest=get_args(Sync))
        connection = None
        try:
            connection = journal_file.connect(path, sync)
            # Only entries after the last dump are checked before the start. The others are checked later, while the
            # venue runs.
            start = journal_file.first_to_check(connection)
            genesis, last = journal_file.examine(path, connection, start)
            with transaction(connection):  # a file, folder or disk that takes no writes is found out now
                connection.execute("UPDATE head SET n = n")
            with contextlib.suppress(OSError):  # it holds every signed request; where that can't be set, it stays
                path.chmod(0o600)
            opened = cls(path, connection, genesis, last, sync)
            opened.behind = start
            return opened
        # Also for KeyboardInterrupt: an open connection would keep the lock of the file.
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, sqlite3.Error):
                raise journal_file.unreadable(path, error) from error
            raise

    def append(self, commands: Sequence[Command]) -> None:
        """Write commands in one transaction.

        While a dump is kept, slices of it are written as well: a group's commands are as many as single ones.

        Parameters
        ----------
        commands : sequence of Command
            Commands in order. They are applied after this.

        Raises
        ------
        VenueError
            If that fails. No command must be applied then.
        """
        self._write("command", map(journal_file.encode, commands))
        # A dump must keep pace with the commands, whether they come alone or in groups.
        for _ in range(1 + len(commands) // STEP_COMMANDS):
            self._step()

    def append_state(self, dump: bytes) -> None:
        """Write that the venue's state was replaced by this dump (a revert or a load).

        Parameters
        ----------
        dump : bytes
            Dump of the new state.
        """
        self._write("state", [dump])

    def _write(self, kind: str, bodies: Iterable[bytes]) -> None:
        # Damage that was found while running: what is appended to a broken chain could not be replayed.
        if self._damage is not None:
            raise VenueError(f"nothing was done: {self._damage}")
        rows = journal_file.chained(self.count + 1, self._chain, kind, bodies)
        if not rows:
            return
        count, chain = rows[-1].number, rows[-1].chain
        try:
            # Entries and head change together. After a crash the head names the last entry that counts.
            with transaction(self._db):
                self._db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
                self._db.execute("UPDATE head SET n = ?, chain = ?", (count, chain))
        except sqlite3.Error as error:
            raise VenueError(f"the journal {self.path} can't be written: {error}. Nothing was done") from error
        # Only after the transaction, so that a failed write leaves the chain as the file has it.
        self.count, self._chain = count, chain

    def keep_dump(self, core: Core, span_ms: int = DUMP_MS) -> None:
        """Begin to keep a dump of the state when one is due, so that the next start is quick.

        It is written a slice at a time, with the commands that follow.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        span_ms : int, optional
            Time of the venue after which one is due, in ms (default: 6 hours).
        """
        time = core.state.time
        # Two measures: a quiet venue has few commands but much time to compute again, a busy one the reverse.
        due = self.count - self._dump_number >= DUMP_COMMANDS or time - self._dump_time >= span_ms
        # Old records leave the memory before the dump begins. It then only names them.
        if due and self._dumping is None and not self._spill(core):
            self._begin_dump(core)

    def pass_time(self, core: Core) -> None:
        """Keep dumps while time passes without commands, so that a start never computes more than one of them spans.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        if not self.closed:
            self.keep_dump(core, PASSED_MS)
            self._step()

    def _spill(self, core: Core) -> bool:
        """Write a full chunk of old records, and drop it from memory. Return False when there was none."""
        for holder, name in core.state.history.lists():
            keyed = isinstance(holder, dict)
            records = holder[name] if keyed else getattr(holder, name)
            recent = records.parts[1] if isinstance(records, Records) else records
            if len(recent) < 2 * CHUNK:  # a chunk stays, because the newest records are those that are read
                continue
            if not isinstance(records, Records):
                records = Records([], recent, dump_format.reader(list[type(recent[0])], self.fetch))  # type: ignore[misc]
                holder.__setitem__(name, records) if keyed else setattr(holder, name, records)
            body = journal_file.encode(recent[:CHUNK])
            # A chunk is named by its checksum, so that a second one with the same content, after a revert, is the same
            # row.
            digest = checksum((body,))
            try:
                self._db.execute("INSERT OR IGNORE INTO chunks VALUES (?, ?)", (digest, body))
            except sqlite3.Error:  # it stays in memory
                return False
            records.keep(digest)
            return True
        return False

    def fetch(self, digest: bytes) -> bytes:
        """Return a chunk of old records.

        Parameters
        ----------
        digest : bytes
            Checksum of the chunk, which is its name.

        Raises
        ------
        VenueError
            If it was altered.
        """
        # A closed venue can still be read, for example for its report.
        reader = sqlite3.connect(self.path) if self.closed else self._db
        try:
            [found] = reader.execute("SELECT body FROM chunks WHERE hash = ?", (digest,)).fetchone() or [b""]
            if checksum((found,)) == digest:
                return bytes(found)
        except (sqlite3.Error, TypeError):  # damage to a table's name, or to a value's type
            pass
        finally:
            if self.closed:
                reader.close()
        raise VenueError(f"old records kept in {self.path} were altered. Only queries that need them are refused")

    def check_behind(self, lock: AbstractContextManager[Any], rest: float = 0.0) -> None:
        """Check the entries before `behind` in steps, each under the lock.

        Damage ends all further writing.

        Parameters
        ----------
        lock : AbstractContextManager of object
            Lock of the venue.
        rest : float, optional
            Pause after each step, in seconds (default: 0.0).
        """
        at = 0
        while at < self.behind:
            # Each step takes the lock for a few ms, so that commands pass between the steps.
            with lock:
                if self.closed:
                    return
                end = min(at + STEP, self.behind) + 1
                try:
                    for entry in journal_file.intact(self._db, at, end):
                        at = entry.number
                    if at != end - 1:
                        raise journal_file.Broken(f"entry {at + 1} is missing")
                except (journal_file.Broken, sqlite3.Error) as fault:
                    self._damage = journal_file.damaged(self.path, str(fault), at)
                    warn(f"{self._damage} No command is taken any more.", RuntimeWarning)
                    return
            sleep(rest)
        self.behind = 0

    def _begin_dump(self, core: Core) -> None:
        self._dump_number, self._dump_time = self.count, core.state.time
        self._dumping = self._dump(self.count, core.state.time, core.slices(whole=False))

    def _dump(self, applied: int, time: int, slices: Iterator[bytes]) -> Iterator[None]:
        """Write a dump of the state after `applied` entries, a slice at each step. The last step makes it count."""
        execute, number = self._db.execute, self._dump_id + 1
        digest = hashlib.sha256(journal_file.dump_start(applied))
        oldest = "SELECT min(id) FROM slices WHERE dump <> ?"
        # One slice at each step: deleting all together would hold up a command.
        while execute(f"DELETE FROM slices WHERE id = ({oldest})", (self._dump_id,)).rowcount:
            yield  # what earlier dumps left
        for part in slices:
            digest.update(part)
            execute("INSERT INTO slices (dump, body) VALUES (?, ?)", (number, part))
            yield
        # The hash of all slices enters the chain of the entries. An altered dump is then found, and not used.
        hashed = digest.digest()
        chain = journal_file.chain_hash(self._chain, "dump", hashed)
        with transaction(self._db):
            execute("INSERT INTO dumps VALUES (?, ?, ?, ?, ?)", (number, self.count, time, hashed, applied))
            execute("UPDATE head SET chain = ?", (chain,))
        self._chain, self._dump_id = chain, number

    def _step(self) -> bool:
        """Write a slice of the dump that is being kept. Return False when there is none, or no more of it."""
        if self._dumping is not None:
            # A dump is only for speed. If it can't be written, the entries are still there.
            with contextlib.suppress(sqlite3.Error, StopIteration):  # a replay works without dumps
                next(self._dumping)
                return True
            self._dumping = None
        return False

    def replay(self) -> Core:
        """Return the core after applying all entries, starting from the latest dump."""
        start, core = self._latest_dump()
        for kind, body in self._db.execute("SELECT kind, body FROM entries WHERE n > ? ORDER BY n", (start,)):
            # A revert or load: what the entries before it made is gone.
            if kind == "state":
                core = Core.load(body, self.path)
            else:
                apply(core, journal_file.decode_command(body))
        return core

    def _latest_dump(self) -> tuple[int, Core]:
        found = self._db.execute("SELECT id, applied, hash FROM dumps ORDER BY id DESC").fetchone()
        if found is not None and found[1] is not None:
            number, applied, digest = found
            parts: list[bytes] = []
            with contextlib.suppress(sqlite3.Error, TypeError):  # damage to a table's name, or to a value's type
                rows = self._db.execute("SELECT body FROM slices WHERE dump = ? ORDER BY id", (number,))
                parts = [bytes(memoryview(body)) for (body,) in rows]
            if journal_file.dump_hash(applied, parts) == digest:
                with contextlib.suppress(StoredFileError):  # with fields of another version: replay from the genesis
                    return applied, Core.load(b"".join(parts), self.path, self.fetch)
            what = f"the dump kept in {self.path} after entry {applied} was altered, or is of another version"
            warn(f"{what}. It is not used. The state is computed from the entries", RuntimeWarning)
        # Without a dump every entry is applied, so all must be checked first.
        self.check_behind(contextlib.nullcontext())
        if self._damage is not None:
            raise self._damage
        return 0, Core(self.genesis)

    def close(self, core: Core | None = None) -> None:
        """Close the file.

        Closing again does nothing.

        Parameters
        ----------
        core : Core or None, optional
            State machine whose state is dumped for the next start, if that takes no more than 0.1 s (default: no dump).
        """
        if core is not None and not self.closed:
            end = monotonic() + CLOSE_SECONDS
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("BEGIN IMMEDIATE")  # one transaction is much quicker than many
                self._begin_dump(core)
                while self._step() and monotonic() < end:
                    pass
                # Committed only if it is whole. Otherwise closing the connection rolls it back.
                if self._dumping is None:
                    self._db.execute("COMMIT")
        self.closed = True
        self._db.close()

    def __repr__(self) -> str:
        return f"<Journal {self.path.name}: {self.count} entries>"


def open_or_create(
    path: str | Path, genesis: Genesis, first: Sequence[Command] = (), *, sync: Sync = "full", recovering: bool = False
) -> Journal:
    """Return the journal of a file, created if there is none.

    Parameters
    ----------
    path : str or Path
        File of the journal.
    genesis : Genesis
        How the venue begins.
    first : sequence of Command, optional
        Commands that follow the genesis (default: none).
    sync : {"full", "os"}, optional
        When writes are on the disk, see `journal_file.Sync` (default: "full").
    recovering : bool, optional
        True continues a damaged file from its intact entries (default: `False`).

    Raises
    ------
    StoredFileError
        If the file is damaged and `recovering` is False.
    VenueError
        If it can't be opened or written.
    """
    if not Path(path).exists():
        return Journal.create(path, genesis, first, sync=sync)
    try:
        return Journal.open(path, sync=sync)
    except StoredFileError:
        if not recovering:
            raise
        journal_file.recover(path)
        return Journal.open(path, sync=sync)


def apply(core: Core, command: Command) -> None:
    """Apply a command of the journal, after the time that passed before it.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    command : Command
        Command of the journal.
    """
    while core.state.time < command.time:
        core.apply(Advance(min(command.time, core.state.time + SLICE_MS)))
        # No one reads the events of a replay.
        core.events.clear()
    with contextlib.suppress(Exception):  # a command that raised when it was first applied raises again
        core.apply(command)
    core.events.clear()


def plain(args: dict[str, Any]) -> dict[str, Any]:
    """Return a control's arguments as they are read back from a journal, so that a replay applies the same values.

    Raises InputError for values that can't be stored.

    Parameters
    ----------
    args : dict of str to object
        Arguments by name.

    Raises
    ------
    InputError
        If a value can't be stored.
    """
    try:
        stored = msgspec.msgpack.encode(msgspec.to_builtins(args, str_keys=True))
        return dict(msgspec.msgpack.decode(stored))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"a control takes numbers, texts, lists and dictionaries: {error}", value=args) from error
