"""What a run with a name tells other programs of itself, and what they ask of it: small files beside its journal.

NAME.status.json    written by the run: its state, positions and profit    NAME.ask.json    read and removed by the run
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from ...errors import InputError
from ...stored.databases import hold
from ...stored.writing import write_file
from ..account.account_book import RUN_BITS
from ..io.nonce_sources import data_directory

State = Literal["STARTING", "RUNNING", "PAUSED", "ENDING", "ENDED", "DIED"]
"""STARTING is a run that is started again, and still reads what it left.

DIED is a run whose program is gone without ending it: its orders may still be open."""
IN_PROCESS = "in-process-"
"""Beginning of the names of folders of venues in a process, which end with it."""
UNNAMED = ".process-"
"""Beginning of the names of files of runs without a name, which no name has."""


class RunStatus(msgspec.Struct, kw_only=True):
    """State of a run when it last wrote it.

    Attributes
    ----------
    name : str
        Name of the run.
    strategy : str
        Name of its strategy.
    environment : str
        Label of its environment.
    base_url : str
        Address of its venue.
    account : str
        Its account.
    symbols : tuple of str
        Products it trades.
    state : str
        See `State`.
    why : str
        Why it is paused, or how it ended.
    started : int
        Its first start, the venue's Unix ms.
    told : int
        When it wrote this, Unix ms of this machine.
    positions : dict of str to str
        Its own positions, base units as decimal text, without those of 0.
    equity : float
        Equity of the account, USDC.
    pnl : float
        What it has earned since its first start: its fills, its positions at mark and its funding, USDC.
    account_pnl : float
        Change of the account's equity since its first start, without transfers, USDC.
    shared : bool
        Whether other orders have traded, or held a position, in its products since then.
    event : str
        What happened last, in words.
    event_time : int
        When that was, the venue's Unix ms, 0 for never.
    agent_until : int
        When the approval of its agent ends, Unix ms, 0 where that is not known.
    pid : int
        Number of its process.
    host : str
        Name of its machine.
    exit_code : int
        What `toolkit run` returns for its end (default: 0).
    left_open : tuple of str
        What was left open at its end, in words (default: nothing).
    """

    name: str
    strategy: str
    environment: str
    base_url: str
    account: str
    symbols: tuple[str, ...]
    state: State
    why: str
    started: int
    told: int
    positions: dict[str, str]
    equity: float | None
    pnl: float | None
    account_pnl: float | None
    shared: bool
    event: str
    event_time: int
    agent_until: int
    pid: int = msgspec.field(default_factory=os.getpid)
    host: str = msgspec.field(default_factory=socket.gethostname)
    exit_code: int = 0
    left_open: tuple[str, ...] = ()


class Ask(msgspec.Struct):
    """What another program asks of a run.

    Attributes
    ----------
    what : str
        "stop" ends it, "results" lets it write its Results as they are now.
    flatten : bool
        Whether it closes its positions too.
    """

    what: Literal["stop", "results"]
    flatten: bool = False


class RunFiles:
    """The files of a run by which programs talk about it.

    Parameters
    ----------
    journal : Path
        Path of its journal.

    Attributes
    ----------
    name : str
        Name of the run.
    status, asked, log, lock, results : Path
        Its status, what is asked of it, its log, its lock, and the folder of its last Results.
    """

    def __init__(self, journal: Path) -> None:
        self.name = journal.name.removesuffix(".jsonl")
        ends = ("status.json", "ask.json", "log", "lock", "results")
        self.status, self.asked, self.log, self.lock, self.results = (
            journal.with_name(f"{self.name}.{end}") for end in ends
        )

    def write(self, status: RunStatus) -> None:
        """Tell other programs how the run is. A full disk keeps no run from going on.

        Parameters
        ----------
        status : RunStatus
            State of the run.
        """
        _replace(self.status, msgspec.json.encode(status))

    def read(self) -> RunStatus | None:
        """Return what the run last wrote, as DIED if its program is gone, None if it wrote nothing that can be read."""
        try:
            status = msgspec.json.decode(self.status.read_bytes(), type=RunStatus)
        except (OSError, msgspec.MsgspecError):
            return None
        if status.state != "ENDED" and not self.is_running():
            status.state, status.why = "DIED", "its program is gone. Its orders may be open"
        return status

    def start_again(self) -> None:
        """Tell other programs that this one starts the run again, and not what an earlier one told."""
        with suppress(OSError, msgspec.MsgspecError):
            status = msgspec.json.decode(self.status.read_bytes(), type=RunStatus)
            status.state, status.why, status.pid = "STARTING", "", os.getpid()
            self.write(status)

    def is_running(self) -> bool:
        """Return whether a program holds the run's lock."""
        if not self.lock.exists():
            return False
        if (held := hold(self.lock, wait=0.0)) is not None:
            held.close()
        return held is None

    @classmethod
    def unnamed(cls, folder: Path, number: int) -> RunFiles:
        """Return the files of a run without a name in this process: a lock, and requests of others.

        Parameters
        ----------
        folder : Path
            Folder of its account.
        number : int
            Number that no other run of this process has.
        """
        return cls(folder / f"{UNNAMED}{os.getpid()}-{number}.jsonl")

    @property
    def process(self) -> str:
        """The run's process, in words."""
        if self.name.startswith(UNNAMED):
            return f"process {self.name.removeprefix(UNNAMED).partition('-')[0]}"
        status = self.read()
        return "another process" if status is None else f"process {status.pid} on {status.host}"

    def is_told_to_end(self) -> bool:
        """Return whether a request to stop waits for the run."""
        try:
            return msgspec.json.decode(self.asked.read_bytes(), type=Ask).what == "stop"
        except (OSError, msgspec.MsgspecError):
            return False

    def ask(self, ask: Ask) -> None:
        """Ask something of the run, which does it at its next poll. From now on it places nothing where it shall stop.

        Parameters
        ----------
        ask : Ask
            What is asked.

        Raises
        ------
        OSError
            If it can't be written.
        """
        if ask.what == "stop" or not self.is_told_to_end():
            write_file(self.asked, msgspec.json.encode(ask), private=True)

    def take_asked(self) -> Ask | None:
        """Return what is asked of the run, once."""
        try:
            raw = self.asked.read_bytes()
            self.asked.unlink()
            return msgspec.json.decode(raw, type=Ask)
        except (OSError, msgspec.MsgspecError):
            return None


def _replace(path: Path, raw: bytes) -> None:
    # Not synced: it is written every second, and of no use after a crash of the machine.
    part = path.with_suffix(".part")
    try:
        part.write_bytes(raw)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)


def folder_name(environment: str, account: str) -> str:
    """Return the name of the folder of an account's runs.

    Parameters
    ----------
    environment : str
        Label of the environment.
    account : str
        The account.
    """
    return re.sub(r"[^A-Za-z0-9.-]", "-", f"{environment}-{account.lower()}")


def running_files(environment: str, account: str) -> list[RunFiles]:
    """Return the files of the runs of an account that are running now in any process of this machine.

    Parameters
    ----------
    environment : str
        Label of the environment.
    account : str
        The account.
    """
    locks = sorted((data_directory() / "runs" / folder_name(environment, account)).glob("*.lock"))
    every = [RunFiles(lock.with_suffix(".jsonl")) for lock in locks]
    return [files for files in every if files.is_running()]


def files_in(folder: Path) -> list[RunFiles]:
    """Return the files of the runs with a name that have written their status, by path.

    Parameters
    ----------
    folder : Path
        Folder of an account, or above.
    """
    paths = sorted(folder.rglob("*.status.json"))
    return [RunFiles(path.with_name(path.name.replace(".status.json", ".jsonl"))) for path in paths]


def all_files(*, ended: bool = False) -> Iterator[RunFiles]:
    """Yield the files of every run with a name that this machine knows, by path.

    Parameters
    ----------
    ended : bool, optional
        True yields those on venues that ended with their process, too (default: False).
    """
    for files in files_in(data_directory() / "runs"):
        # What ran on a venue in a process is gone with it.
        if ended or not files.status.parts[-3].startswith(IN_PROCESS) or files.is_running():
            yield files


def files_of(name: str, among: Iterable[RunFiles] | None = None) -> RunFiles:
    """Return the files of the run of a name.

    Parameters
    ----------
    name : str
        Name of the run, or "ENVIRONMENT/ACCOUNT/NAME" where several have it. Each of the two may be left out.
    among : iterable of RunFiles, optional
        Runs that may be meant (default: all of this machine).

    Raises
    ------
    InputError
        If there is none of this name, or several.
    """
    *place, last = name.split("/")
    among = all_files() if among is None else among
    known = [(files, status) for files in among if (status := files.read()) is not None]
    found = [files for files, status in known if files.name == last
             and {each.lower() for each in place} <= {status.environment.lower(), status.account.lower()}]  # fmt: skip
    if len(found) == 1:
        return found[0]
    names = [f"{status.environment}/{status.account}/{files.name}" for files, status in known]
    text = f"{len(found)} runs have the name {name!r}" if found else f"there is no run {name!r} on this machine"
    options = ", ".join(sorted(names)) or "none. `toolkit run strategy.py` starts one"
    raise InputError(f"{text}. There are: {options}", field="name", rule="a run", value=name)


def number_of(identity: str) -> int:
    """Return the number by which client ids show the run that they are of.

    Parameters
    ----------
    identity : str
        Environment, account in lower case, and name of the run, with spaces between them.
    """
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:4]) >> 32 - RUN_BITS


def names_of_runs(environment: str, account: str) -> dict[int, str]:
    """Return the names of the runs on an account that this machine knows, by the numbers that their client ids show.

    Parameters
    ----------
    environment : str
        Label of the environment.
    account : str
        The account.
    """
    names = {files.name for files in all_files(ended=True)}
    return {number_of(f"{environment} {account.lower()} {name}"): name for name in names}


def now_ms() -> int:
    """Return this machine's time, Unix ms."""
    return time.time_ns() // 1_000_000
