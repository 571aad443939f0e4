"""The runs with a name on this machine, from any program: a table, and a handle of one."""

from __future__ import annotations

import time
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from msgspec import structs

from ...client.limits.run_status import Ask, RunFiles, RunStatus, all_files, files_in, files_of, now_ms
from ...errors import ToolkitError
from ...limits import Limits
from ..analysis.results import Results
from ..strategy import Strategy
from .launch import runner_of
from .run_journal import RunName

if TYPE_CHECKING:
    from ...plain_session import Session

COLUMNS = ("environment", "account", "strategy", "state", "symbols", "positions", "pnl", "equity", "started", "event",
           "event_time", "agent_until", "told", "pid")  # fmt: skip
BY_HAND = "by hand"
"""Name of the row of what no run has earned, which no run can have."""


def runs() -> pd.DataFrame:
    """Return the runs with a name on this machine, those that have ended too.

    Where several trade on an account, or you do, a row "by hand" has what is left of the account's profit. With the
    runs that started since its `started` it adds up to the change of the equity, without transfers.

    Returns
    -------
    DataFrame
        Index: name. One row for each run, and "by hand" for accounts that others trade on, too.

        - environment, account, strategy, state, symbols, positions, event: text. States are STARTING, RUNNING, PAUSED,
          ENDING, ENDED and DIED: the program is gone, and the run's orders may be open
        - pnl: float64, USDC, what the run earned since its first start: its fills, positions at mark and funding
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
    accounts = dict.fromkeys((status.environment, status.account) for status in found)
    rests = [_by_hand([each for each in found if (each.environment, each.account) == one]) for one in accounts]
    return _table(found + [rest for rest in rests if rest is not None])


def _by_hand(known: list[RunStatus]) -> RunStatus | None:
    """Return the part of an account's profit that no run has made, None where only one run has traded."""
    last = max(known, key=lambda one: one.told)
    # The account as of now, from as early as a run tells it. What has ended knows nothing of the time after.
    alive = [one for one in known if one.state in ("STARTING", "RUNNING", "PAUSED", "ENDING")] or [last]
    base = min(alive, key=lambda one: one.started)
    within = [one for one in known if one.started >= base.started]
    if (len(within) == 1 and not base.shared) or base.account_pnl is None or any(one.pnl is None for one in within):
        return None
    told: dict[str, Any] = {"name": BY_HAND, "strategy": "", "symbols": (), "positions": {}, "event": "", "state": ""}
    pnl = base.account_pnl - sum(one.pnl or 0.0 for one in within)
    return structs.replace(base, **told, pnl=pnl, event_time=0, agent_until=0, pid=0)


def _table(found: list[RunStatus]) -> pd.DataFrame:
    rows = [{name: getattr(status, name) for name in ("name", *COLUMNS)} for status in found]
    table = pd.DataFrame(rows, columns=["name", *COLUMNS]).set_index("name")
    table["symbols"] = table["symbols"].map(" ".join)
    table["positions"] = table["positions"].map(lambda held: ", ".join(f"{size} {name}" for name, size in held.items()))
    for name in ("started", "event_time", "agent_until", "told"):
        known = pd.to_numeric(table[name]).astype("int64")
        table[name] = pd.to_datetime(known.where(known > 0), unit="ms", utc=True).astype("datetime64[ms, UTC]")
    return table.astype({"pnl": "float64", "equity": "float64", "pid": "int64"})


def runs_of(session: Session) -> list[RunFiles]:
    """Return the files of the runs with a name on a session's account.

    Parameters
    ----------
    session : Session
        Session of the account.
    """
    return files_in(RunName(session, "any").journal.parent)


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
    among : list of RunFiles, optional
        Runs that may be meant (default: all of this machine).
    """

    name: str
    among: InitVar[list[RunFiles] | None] = None

    def __post_init__(self, among: list[RunFiles] | None) -> None:
        self.files: RunFiles = files_of(self.name, among)
        self.name = self.files.name

    def __repr__(self) -> str:
        status = self._status()
        return f"<run {self.name!r} on {status.environment}: {status.state}{f', {status.why}' if status.why else ''}>"

    @property
    def log_file(self) -> Path:
        """File of its log, as JSON lines."""
        return self.files.log

    def _status(self) -> RunStatus:
        if (status := self.files.read()) is None:
            raise ToolkitError(f"the status of run {self.name!r} can't be read: {self.files.status}")
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
        folder, began = self.files.results, now_ms()
        if self._status().state in ("RUNNING", "PAUSED"):
            before = _written(folder)
            self.files.ask(Ask("results"))
            while _written(folder) == before and self.files.is_running():
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
        if not self.files.is_running():
            return [] if self._status().state == "ENDED" and not flatten else self._finish(flatten, session)
        began = now_ms()
        self.files.ask(Ask("stop", flatten))
        while self.files.is_running():
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
