"""The runs with a name on this machine, from any program: a table, and a handle of one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...client.limits.run_status import Ask, RunFiles, RunStatus, all_files, files_of, now_ms
from ...errors import ToolkitError
from ...limits import Limits
from ..analysis.results import Results
from ..strategy import Strategy
from .launch import runner_of

if TYPE_CHECKING:
    from ...plain_session import Session

COLUMNS = ("environment", "account", "strategy", "state", "symbols", "positions", "pnl", "equity", "started", "event",
           "event_time", "agent_until", "told", "pid")  # fmt: skip


def runs() -> pd.DataFrame:
    """Return the runs with a name on this machine, those that have ended too.

    Returns
    -------
    DataFrame
        Index: name. One row for each run.

        - environment, account, strategy, state, symbols, positions, event: text. States are RUNNING, PAUSED, ENDING,
          ENDED and DIED: the program is gone, and the run's orders may be open
        - pnl: float64, USDC, change of the account's equity since the run's first start, without transfers
        - equity: float64, USDC
        - started, event_time: datetime64[ms, UTC], the venue's time
        - agent_until: datetime64[ms, UTC], NaT where it is not known
        - told: datetime64[ms, UTC], when the run wrote this
        - pid: int64

    Examples
    --------
    >>> toolkit.runs().index.name
    'name'
    """
    found = [status for files in all_files() if (status := files.read()) is not None]
    return _table(found)


def _table(found: list[RunStatus]) -> pd.DataFrame:
    rows = [{name: getattr(status, name) for name in ("name", *COLUMNS)} for status in found]
    table = pd.DataFrame(rows, columns=["name", *COLUMNS]).set_index("name")
    table["symbols"] = table["symbols"].map(" ".join)
    table["positions"] = table["positions"].map(lambda held: ", ".join(f"{size} {name}" for name, size in held.items()))
    for name in ("started", "event_time", "agent_until", "told"):
        known = pd.to_numeric(table[name]).astype("int64")
        table[name] = pd.to_datetime(known.where(known > 0), unit="ms", utc=True).astype("datetime64[ms, UTC]")
    return table.astype({"pnl": "float64", "equity": "float64", "pid": "int64"})


def run_results(name: str) -> Results:
    """Return the Results of a run with a name, from this machine's files.

    Those of a run that is running are as of now. Those of one that has died are of its last end.

    Parameters
    ----------
    name : str
        Name of the run, or "ENVIRONMENT/ACCOUNT/NAME" where several have it.

    Returns
    -------
    Results
        Frames, measures and report of the run.

    Raises
    ------
    InputError
        If there is no such run.
    ToolkitError
        If it has none yet.

    Examples
    --------
    >>> toolkit.run_results("carry")
    Traceback (most recent call last):
    ...
    toolkit.errors.InputError: there is no run 'carry' on this machine. There are: none. `toolkit run strategy.py` ...
    """
    return Attached(name).results()


def attach(name: str) -> Attached:
    """Return a handle of a run with a name, which may run in another program.

    Parameters
    ----------
    name : str
        Name of the run, or "ENVIRONMENT/ACCOUNT/NAME" where several have it.

    Returns
    -------
    Attached
        `status()`, `results()`, `log()` and `stop()` of the run.

    Raises
    ------
    InputError
        If there is no such run.

    Examples
    --------
    >>> research.attach("carry")
    Traceback (most recent call last):
    ...
    toolkit.errors.InputError: there is no run 'carry' on this machine. There are: none. `toolkit run strategy.py` ...
    """
    return Attached(name)


class _Nothing(Strategy):
    """Does nothing: it ends a run whose program is gone."""


@dataclass(repr=False)
class Attached:
    """A run with a name, by its files.

    Parameters
    ----------
    name : str
        Name of the run, or "ENVIRONMENT/ACCOUNT/NAME" where several have it.
    """

    name: str

    def __post_init__(self) -> None:
        self._files: RunFiles = files_of(self.name)
        self.name = self._files.name

    def __repr__(self) -> str:
        status = self._status()
        return f"<run {self.name!r} on {status.environment}: {status.state}{f', {status.why}' if status.why else ''}>"

    @property
    def log_file(self) -> Path:
        """File of its log, as JSON lines."""
        return self._files.log

    def _status(self) -> RunStatus:
        if (status := self._files.read()) is None:
            raise ToolkitError(f"the status of run {self.name!r} can't be read: {self._files.status}")
        return status

    def status(self) -> pd.Series[Any]:
        """Return its state, as a row of `toolkit.runs()` with all fields."""
        status = self._status()
        row = _table([status]).iloc[0]
        further = {
            "why": status.why,
            "left_open": "; ".join(status.left_open),
            "host": status.host,
            "base_url": status.base_url,
        }
        found: pd.Series[Any] = pd.concat([row, pd.Series({**further, "log": self.log_file})])
        return found.rename(self.name)

    def results(self, *, wait: float = 30.0) -> Results:
        """Return its Results: as of now if it is running, else those of its last end.

        Parameters
        ----------
        wait : float, optional
            How long to wait for a run that is running, seconds (default: 30.0).

        Raises
        ------
        ToolkitError
            If it has none yet, or does not answer.
        """
        folder, began = self._files.results, now_ms()
        if self._status().state in ("RUNNING", "PAUSED"):
            before = _written(folder)
            self._files.ask(Ask("results"))
            while _written(folder) == before and self._files.is_running():
                if now_ms() - began > wait * 1000:
                    raise ToolkitError(f"run {self.name!r} did not answer within {wait:g} s")
                time.sleep(0.1)
        if not _written(folder):
            raise ToolkitError(f"run {self.name!r} has no Results yet: it has not ended since its first start")
        return Results.load(folder)

    def stop(self, *, flatten: bool = False, wait: float = 60.0, session: Session | None = None) -> list[str]:
        """End it: its orders are cancelled. Return what was left open, in words.

        Parameters
        ----------
        flatten : bool, optional
            True closes its positions too (default: False).
        wait : float, optional
            Longest wait for its end, seconds (default: 60.0).
        session : Session, optional
            Session of its account with an agent key, which ends it where its program is gone (default: none).

        Raises
        ------
        ToolkitError
            If it does not end in time, in which case it still may. If its program is gone, without a session.
        """
        if not self._files.is_running():
            return [] if self._status().state == "ENDED" and not flatten else self._finish(flatten, session)
        began = now_ms()
        self._files.ask(Ask("stop", flatten))
        while self._files.is_running():
            if now_ms() - began > wait * 1000:
                text = f"run {self.name!r} has not ended within {wait:g} s. It was asked to, and still may"
                raise ToolkitError(f"{text}. session.stop_all() cancels without it")
            time.sleep(0.1)
        return list(self._status().left_open)

    def _finish(self, flatten: bool, session: Session | None) -> list[str]:
        """End a run whose program is gone, by its journal."""
        status = self._status()
        if session is None:
            gone = "has ended" if status.state == "ENDED" else "is not running, as its program is gone"
            text = f"run {self.name!r} {gone}. Give session=…, of account {status.account}"
            raise ToolkitError(f"{text} on {status.environment}, to end it, or use `toolkit runs stop {self.name}`")
        unlimited = Limits(max_orders_per_minute=None, max_stale=None)
        runner = runner_of(_Nothing(), session, status.symbols, unlimited, None, name=self.name)
        runner.request_end("`stop`, as its program was gone")
        runner.run(None, close_at_end=flatten)
        return list(runner.still_open)


def _written(folder: Path) -> int:
    try:
        return (folder / "meta.json").stat().st_mtime_ns
    except OSError:
        return 0
