"""The runs of strategies that are running, in this process and in others, for whoever has to end them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...environments import Environment
from .run_status import Ask, RunFiles, running_files

END_SECONDS = 30.0
"""How long whoever ends runs waits for them, all together."""
LOOK_S = 0.05
"""Time between two looks at whether a run of another process has ended."""


class Placed(Protocol):
    """A session, as far as it says where and for whom it trades."""

    def _whereabouts(self) -> tuple[object, str]:
        """Return its venue, the one in this process or its environment, and its account, "" while that is unknown."""


class Endable(Protocol):
    """A run of a strategy that can be told to end."""

    @property
    def name(self) -> str:
        """Name of its strategy, of one in another process that of the run."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """Products that it trades."""

    @property
    def still_open(self) -> list[str]:
        """Positions and orders that were left open at the end, in words."""

    def request_end(self, why: str = "") -> None:
        """Let it end, without waiting for it. From now on nothing that its strategy places is sent.

        Parameters
        ----------
        why : str, optional
            What ended it, in words.
        """

    def wait(self, timeout: float) -> bool:
        """Return whether it ends within `timeout` seconds, or is the caller, which can't wait for its own end.

        Parameters
        ----------
        timeout : float
            Longest wait, seconds.
        """


class Run(Endable, Protocol):
    """A run of a strategy on a session of this process.

    Attributes
    ----------
    session : Session
        Session that it trades on.
    files : RunFiles or None
        Files by which other processes know it.
    """

    session: Any  # a Placed, which Protocols can't hold as a narrower attribute
    files: RunFiles | None

    @property
    def ending(self) -> bool:
        """Whether it has come to its end, and cancels and closes."""


@dataclass
class Elsewhere:
    """A run of another process. See `Endable`.

    Parameters
    ----------
    files : RunFiles
        Its files.
    """

    files: RunFiles

    def __post_init__(self) -> None:
        status = self.files.read()
        self.process = self.files.process
        self.name = self.process if status is None else status.name
        self.symbols: tuple[str, ...] = () if status is None else status.symbols

    @property
    def still_open(self) -> list[str]:
        """What it left open at its end, in words."""
        status = self.files.read()
        return [] if status is None else list(status.left_open)

    def request_end(self, why: str = "") -> None:
        """Let it end. From now on nothing that its strategy places is sent.

        Parameters
        ----------
        why : str, optional
            What ended it, in words, which it is not told.
        """
        self.files.ask(Ask("stop"))

    def wait(self, timeout: float) -> bool:
        """Return whether it ends within `timeout` seconds.

        Parameters
        ----------
        timeout : float
            Longest wait, seconds.
        """
        until = time.monotonic() + timeout
        while running := self.files.is_running():
            if time.monotonic() >= until:
                break
            time.sleep(LOOK_S)
        return not running


class Runs:
    """Runs that are running in this process."""

    def __init__(self) -> None:
        self._running: list[Run] = []
        self._lock = threading.RLock()  # a signal may come while its thread holds it

    def add(self, run: Run) -> None:
        """Note a run, before its first order can be sent.

        Parameters
        ----------
        run : Run
            The run.
        """
        with self._lock:
            self._running += [] if run in self._running else [run]

    def discard(self, run: Run) -> None:
        """Forget a run that has ended.

        Parameters
        ----------
        run : Run
            The run.
        """
        with self._lock:
            self._running = [one for one in self._running if one is not run]

    def all(self) -> list[Run]:
        """Return those that are running."""
        return list(self._running)

    def of(self, session: Placed) -> list[Run]:
        """Return those on a session.

        Parameters
        ----------
        session : Session
            Session.
        """
        return [run for run in self.all() if run.session is session]

    def on(self, session: Placed) -> list[Run]:
        """Return those on the account of a session, those of other sessions too.

        Parameters
        ----------
        session : Session
            Session of the account.
        """
        place = session._whereabouts()
        return [
            run for run in self.all() if run.session is session or (place[1] and run.session._whereabouts() == place)
        ]

    def elsewhere(self, session: Placed) -> list[Elsewhere]:
        """Return those on the account of a session that run in other processes of this machine.

        Parameters
        ----------
        session : Session
            Session of the account.
        """
        venue, account = session._whereabouts()
        if not isinstance(venue, Environment) or not account:
            return []  # no other process reaches a venue in this one
        own = {run.files.lock for run in self.all() if run.files is not None}
        return [Elsewhere(files) for files in running_files(venue.label, account) if files.lock not in own]


def end(runs: Sequence[Run], why: str, seconds: float = END_SECONDS) -> list[Run]:
    """End runs together, and return those that have not ended in time, which is printed.

    Parameters
    ----------
    runs : sequence of Run
        Runs that are running.
    why : str
        What ended them, in words.
    seconds : float, optional
        Longest wait for all of them (default: 30.0).
    """
    for run in runs:
        run.request_end(why)
    until = time.monotonic() + seconds
    left = [run for run in runs if not run.wait(max(0.0, until - time.monotonic()))]
    for run in left:
        text = f"did not end within {seconds:g} s of {why}, and may have left orders open"
        print(f"{run.name} in {', '.join(run.symbols)} {text}", flush=True)
    return left


RUNS = Runs()
"""Those of this process."""
