"""SQLite files with a header: opened, changed in whole transactions, and what an error of SQLite says of the file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from .seals import FileKind, is_whole, sealed

_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NO_ACCESS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_FULL)


def connect(path: Path, *settings: str, timeout: float) -> sqlite3.Connection:
    """Open a database.

    Parameters
    ----------
    path : Path
        Path of the file.
    *settings : str
        Pragmas, such as "synchronous = full".
    timeout : float
        Seconds to wait for a lock of another process.

    Raises
    ------
    sqlite3.Error
        If it can't be opened. The file is closed again then.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=timeout)
    try:
        for setting in settings:
            connection.execute(f"PRAGMA {setting}")
    except UnicodeDecodeError as error:  # SQLite's message quotes the damaged bytes
        connection.close()
        raise sqlite3.DatabaseError("the description of the tables is not readable") from error
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what the block writes, or nothing of it when it raises. Within a transaction, leave that to it.

    The write lock is taken first, so that no other process changes what the block reads.

    Parameters
    ----------
    connection : Connection
        The open database.
    """
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def stamp(connection: sqlite3.Connection, kind: FileKind) -> None:
    """Write the header: twice, in case one is damaged.

    Parameters
    ----------
    connection : Connection
        The open database.
    kind : FileKind
        Kind of the file.
    """
    connection.execute("CREATE TABLE header (line BLOB NOT NULL) STRICT")
    connection.executemany("INSERT INTO header VALUES (?)", 2 * [(sealed(kind.header()),)])


def stamp_of(connection: sqlite3.Connection) -> bytes:
    """Return the header for `FileKind.check`, b"" without one.

    Parameters
    ----------
    connection : Connection
        The open database.

    Raises
    ------
    sqlite3.Error
        For a file that can't be read.
    """
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'header'").fetchall():
        return b""
    lines = [line for (line,) in connection.execute("SELECT line FROM header").fetchall() if isinstance(line, bytes)]
    return next(filter(is_whole, lines), b"".join(lines[:1]))


def is_in_use(error: Exception) -> bool:
    """Return whether an error says that another process has the file.

    Parameters
    ----------
    error : Exception
        Error of an attempt to open or lock the file.
    """
    return _class_of(error) in _IN_USE


def is_damage(error: Exception) -> bool:
    """Return whether an error of SQLite speaks of the content of the file, not of the access to it.

    Parameters
    ----------
    error : Exception
        Error of SQLite.
    """
    return not isinstance(error, OSError) and _class_of(error) not in (*_IN_USE, *_NO_ACCESS)


def _class_of(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF  # the low byte of an extended error code is its class


def hold(path: Path, wait: float = 0.2) -> sqlite3.Connection | None:
    """Take a lock that ends with this process and return what holds it until it is closed, None if another has it.

    The file of this name stays empty: SQLite locks it on every system.

    Parameters
    ----------
    path : Path
        Path of the file.
    wait : float, optional
        How long another one may still hold it, seconds (default: 0.2).

    Raises
    ------
    OSError
        Where it can't be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()  # the error of a folder that takes no files names it
    with contextlib.suppress(sqlite3.Error):
        held = connect(path, timeout=wait)
        try:
            held.execute("BEGIN EXCLUSIVE")
            return held
        except sqlite3.Error:
            held.close()
    return None
