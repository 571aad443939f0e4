"""The file in which the trials of a project are counted, so that a kernel that is restarted still knows them."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path

from ...client.io.nonce_sources import data_directory
from ...errors import StoredFileError, warn
from ...stored import databases
from ...stored.seals import FileKind

VARIABLE = "TOOLKIT_TRIALS"
"""Names another file. The value "off" counts in this process only."""
FORMAT = 1
"""Number of the format."""
SCHEMA = "39e1fd1d3b09ce1b"
"""Hash of the table. tests/test_persisted_formats.py says what to do on a change."""
_KIND = FileKind("trials", FORMAT, "move it away, or call toolkit.research.trials.clear()")
_TABLE = "CREATE TABLE trials (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, sharpe REAL) STRICT"


def project_file() -> Path | None:
    """Return the file of the project of the working directory, None where counting on disk is off.

    The project is the nearest directory upwards with `.git` or `pyproject.toml`, else the working directory itself.
    """
    if given := os.environ.get(VARIABLE):
        return None if given.lower() == "off" else Path(given)
    here = Path.cwd().resolve()
    marked = (one for one in (here, *here.parents) if (one / ".git").exists() or (one / "pyproject.toml").exists())
    project = next(marked, here)
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:12]
    return data_directory() / "trials" / f"{project.name or 'root'}-{digest}.sqlite"


def open_trials(path: Path | None) -> sqlite3.Connection:
    """Open a file of trials, or make it. Several processes may have it open.

    If it can't be used, trials are counted `in_memory`.

    Parameters
    ----------
    path : Path or None
        File to open. None counts in this process only.
    """
    if path is None:
        return in_memory(None)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _opened(path)
    except (sqlite3.Error, OSError, StoredFileError) as error:
        return in_memory(path, error)


def in_memory(path: Path | None, error: Exception | None = None) -> sqlite3.Connection:
    """Return a table of this process, with a DataWarning if an error of the file is the reason.

    Parameters
    ----------
    path : Path or None
        File that can't be used, None if counting on disk is off.
    error : Exception, optional
        Why it can't be used (default: none, no warning).
    """
    if error is not None:
        told = error if isinstance(error, StoredFileError) else _KIND.error(path, f"it can't be used: {error}")
        warn(f"{told}. Trials are counted in this process only")
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    memory.execute(_TABLE)
    return memory


def _opened(path: Path) -> sqlite3.Connection:
    connection = databases.connect(path, "synchronous = NORMAL", timeout=10)
    try:
        with databases.transaction(connection):
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
                databases.stamp(connection, _KIND)
                connection.execute(_TABLE)
        _KIND.check(path, databases.stamp_of(connection))
        found = connection.execute("PRAGMA quick_check").fetchall()
        if found != [("ok",)]:
            raise _KIND.damaged(path, found[0][0])
    except BaseException:
        connection.close()
        raise
    return connection
