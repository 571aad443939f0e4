"""The file from which a run with a name continues after a crash: its orders, its fills, and its lease."""

from __future__ import annotations

import random
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...client.account.account_book import RANDOM_BITS, first_id_of, run_of
from ...client.io.nonce_sources import data_directory
from ...client.limits.run_status import IN_PROCESS, RunFiles, folder_name, number_of
from ...client.reads.reading import whole
from ...connecting import venue_in_process
from ...errors import ActionRejected, InputError, ToolkitError
from ...orders import Bracket, Order
from ...stored.databases import hold
from ...stored.lines import LineFile
from ...stored.seals import FileKind
from ..account_data import OrderHandle
from ..client_orders import order_of
from ..context import Kept

if TYPE_CHECKING:
    from ...plain_session import Session

FORMAT = 2
"""Number of the format of a run's journal."""
SCHEMA = "7428644e40e6c01a"
"""Hash of the fields of a line. tests/test_persisted_formats.py says what to do on a change."""
_KIND = FileKind("journal of a run", FORMAT, "move it away, cancel the run's orders by hand, and start a new run")
Sample = tuple[float, float, dict[str, int], dict[str, float]]
"""Equity and balance of the wallet (USDC), positions (steps) and prices (USDC) by symbol."""
_folders: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
"""Folders of the venues in this process. Nothing of them outlives it."""


class OwnFill(msgspec.Struct, frozen=True):
    """A fill, before the strategy receives it.

    Attributes
    ----------
    id : str
        The venue's id of the fill.
    time : int
        Time of the fill, Unix ms.
    symbol : str
        Product symbol.
    side : str
        BUY or SELL, in hedge mode also BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE.
    steps : int
        Filled quantity, steps.
    order : int
        The venue's id of its order, 0 for a forced fill, and in lines of before it was kept (default: 0).
    price : float
        Price, USDC (default: 0).
    fee : float
        Fee, USDC (default: 0).
    """

    id: str
    time: int
    symbol: str
    side: str
    steps: int
    order: int = 0
    price: float = 0.0
    fee: float = 0.0

    @property
    def signed(self) -> int:
        """Steps, negative for a sale."""
        return self.steps if self.side.startswith("BUY") else -self.steps


class Line(msgspec.Struct, omit_defaults=True):
    """One line of a journal: a time and what happened.

    Attributes
    ----------
    time : int
        Unix ms.
    params : dict of str to str or None
        Parameters of the strategy at the first start.
    equity : float
        Equity at the first start, USDC (default: 0).
    trials : int
        Number of the project's trials at the first start (default: 0).
    before : tuple of str
        Ids of the ledger entries of the first start's millisecond that came before it (default: none).
    orders : tuple of Order
        Orders that are about to be sent, a bracket with its exits (default: none).
    ended : dict of int to float
        Filled quantity (base units) of orders that have ended, by client id (default: none).
    fill : OwnFill or None
        Fill that the strategy is about to receive.
    taken : str
        Id of a fill that the strategy has handled (default: "").
    kept : Kept or None
        Part of the context that is kept.
    sample : Sample or None
        A point of the equity curve.
    """

    time: int
    params: dict[str, str] | None = None
    equity: float = 0.0
    trials: int = 0
    before: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()
    ended: dict[int, float] = {}
    fill: OwnFill | None = None
    taken: str = ""
    kept: Kept | None = None
    sample: Sample | None = None


class RunName:
    """A run on its account, with its files and the client ids that are its own.

    It raises InputError for a name that can't name a file.

    Parameters
    ----------
    session : Session
        Session of the run's account.
    name : str
        Name of the run: up to 40 letters, digits, "-", "_" and ".".

    Attributes
    ----------
    identity : str
        The environment, the account and the name in words.
    journal : Path
        File of what happened.
    lock : Path
        File that is locked while the run is running.
    lease : Path
        File whose time is when the run last renewed its lease.
    files : RunFiles
        Files by which other programs see it.
    first_id : int
        First client id of the run.
    """

    def __init__(self, session: Session, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", name):
            text = f"run {name!r} is not a name. Use up to 40 letters, digits, '-', '_' and '.', such as 'grid-btc'"
            raise InputError(text, field="run", rule="a name", value=name)
        label, account, venue = session.environment.label, str(session.account).lower(), venue_in_process(session)
        self.identity = f"{label} {account} {name}"
        # A local venue ends with its process, and so must what its runs keep. Its folder is deleted with it.
        if venue is not None and venue not in _folders:
            _folders[venue] = _folder_in_process()
            weakref.finalize(venue, shutil.rmtree, _folders[venue], ignore_errors=True)
        folder = data_directory() / "runs" if venue is None else Path(_folders[venue])
        path = folder / folder_name(label, account) / name
        self.journal, self.lock, self.lease = (path.with_name(f"{name}.{end}") for end in ("jsonl", "lock", "lease"))
        self.files = RunFiles(self.journal)
        self._session = session
        # A fill shows by its client id alone which run it is of, and the journal whether this copy of the run sent it.
        self._number = number_of(self.identity)
        self.first_id = first_id_of(self._number)

    def owns(self, client_id: int | float | None) -> bool:
        """Return whether a client id is one of this run's.

        Parameters
        ----------
        client_id : int or float
            Client id, NaN for none.
        """
        return run_of(client_id) == self._number

    def cancel(
        self, symbol: str | None = None, *, exits: bool = True, owns: Callable[[Any], bool] | None = None
    ) -> int:
        """Cancel its open orders, and return how many there were.

        Parameters
        ----------
        symbol : str, optional
            Product whose orders are cancelled (default: all).
        exits : bool, optional
            False leaves orders that only reduce a position (default: True).
        owns : callable, optional
            Function of a client id that says which orders are meant (default: all that have the run's name).
        """
        table, cancelled = self._session.orders(symbol, open=True, progress=False), 0
        own = table[table["client_order_id"].map(owns or self.owns).astype(bool)]
        if not exits:
            # Exits protect positions. Without them a run that died would leave its positions unguarded.
            own = own[(own["reduce_only"] == "NONE") & ~own["side"].str.endswith("_CLOSE_HEDGE")]
        for name, rows in own.groupby("symbol", observed=True):
            with suppress(ActionRejected):  # some may have ended meanwhile
                self._session.cancel(rows["order_id"].tolist(), symbol=str(name))
            cancelled += len(rows)
        whole(table)  # those that are known are cancelled before it says that there may be others
        return cancelled


class RunJournal:
    """The journal of a run and what it says.

    It raises InputError for a name that can't name a file, and ToolkitError while the run is running elsewhere.

    Parameters
    ----------
    session : Session
        Session of the run's account.
    name : str
        Name of the run: up to 40 letters, digits, "-", "_" and ".".

    Attributes
    ----------
    run : RunName
        The run on its account.
    begun : Line or None
        Line of the first start, None before it.
    handles : dict of int to OrderHandle
        Orders of the run by client id.
    fills : dict of str to OwnFill
        Fills by id.
    kept : Kept
        Part of the context that is kept.
    sent_ms : list of int
        When orders were sent, Unix ms.
    samples : list of tuple
        (Unix ms, *Sample) of its earlier starts.
    last_ms : int
        Time of the last line of earlier starts, Unix ms, 0 at the first.
    sent : set of int
        Client ids of all orders that this copy of the run has sent, or was about to send.
    """

    def __init__(self, session: Session, name: str) -> None:
        self.run = run = RunName(session, name)
        # The operating system releases the lock with the process, so a crash never blocks the next start.
        self._lock = hold(run.lock)
        if self._lock is None:
            text = f"run {name!r} of account {session.account} is running already"
            raise ToolkitError(f"{text}. Stop it there, or choose another name")
        run.files.take_asked()  # that was asked of an earlier start
        run.files.start_again()
        self.begun: Line | None = None
        self.handles: dict[int, OrderHandle] = {}
        self.fills: dict[str, OwnFill] = {}
        self.kept = Kept()
        self.sent_ms: list[int] = []
        self.samples: list[tuple[int, float, float, dict[str, int], dict[str, float]]] = []
        self._open_fill = ""
        self.sent: set[int] = set()
        self._file = LineFile(run.journal, _KIND, run.identity)
        self.last_ms = 0
        for raw in self._file.lines:
            self._fold(line := msgspec.convert(raw, Line, strict=False))
            self.last_ms = line.time
        # Immediately: a watcher must not cancel the orders of a run that is only starting.
        self.renew()
        self.fills.pop(self._open_fill, None)  # the strategy received it, but did nothing before the crash

    def _fold(self, line: Line) -> None:
        if line.params is not None:
            self.begun = self.begun or line
        if line.orders:
            handle = self.handles[line.orders[0].cl_ord_id or 0] = OrderHandle(order_of(line.orders))
            # The line was written before the request. Whether it was sent is not known.
            handle.state = "UNKNOWN"
            self.sent.update(leg.cl_ord_id or 0 for leg in line.orders)
            self.sent_ms.append(line.time)
        for number, filled in line.ended.items():
            handle = self.handles[number]
            handle.state, handle.filled = "FILLED" if filled else "CANCELED", filled
        # An order after a fill shows that the strategy had received the fill, even if the crash came before its second
        # line.
        if line.taken or line.orders:
            self._open_fill = ""
        if line.fill is not None:
            self.fills[line.fill.id], self._open_fill = line.fill, line.fill.id
        self.kept = line.kept or self.kept
        if line.sample is not None:
            self.samples.append((line.time, *line.sample))

    def append(self, time: int, **fields: Any) -> None:
        """Write a line.

        Parameters
        ----------
        time : int
            Unix ms.
        **fields : object
            Fields of the line, see `Line`.

        Raises
        ------
        OSError
            If the file can't be written.
        """
        self._file.append(msgspec.to_builtins(Line(time, **fields), str_keys=True))

    def record(
        self, order: Order | Bracket, now: int, random_float: Callable[[], float] = random.random
    ) -> Order | Bracket:
        """Give an order and its exits client ids of the run, and write them down before they are sent.

        Parameters
        ----------
        order : Order or Bracket
            Order or bracket.
        now : int
            Current time, Unix ms.
        random_float : callable, optional
            Function that returns 0 <= x < 1 (default: `random.random`).

        Returns
        -------
        Order or Bracket
            The same with client ids.
        """
        numbered = [replace(leg, cl_ord_id=self._new_id(random_float)) for leg in order.legs]
        self.append(now, orders=tuple(numbered))
        return order_of(numbered)

    def _new_id(self, random_float: Callable[[], float]) -> int:
        while (number := self.run.first_id + int(random_float() * (1 << RANDOM_BITS))) in self.sent:
            pass
        self.sent.add(number)
        return number

    def owns(self, client_id: int | float | None) -> bool:
        """Return whether this copy of the run sent the order with a client id.

        Parameters
        ----------
        client_id : int or float
            Client id, NaN for none.
        """
        return bool(client_id == client_id) and int(client_id or 0) in self.sent

    def is_of_another_copy(self, client_id: int | float | None) -> bool:
        """Return whether an order has the run's name, and this copy did not send it.

        Parameters
        ----------
        client_id : int or float
            Client id, NaN for none.
        """
        return self.run.owns(client_id) and not self.owns(client_id)

    def keep(self, time: int, kept: Kept) -> None:
        """Write what the context keeps, if it has changed.

        Parameters
        ----------
        time : int
            Unix ms.
        kept : Kept
            Part of the context that is kept.
        """
        if kept != self.kept:
            self.append(time, kept=kept)
            self.kept = kept

    def renew(self) -> None:
        """Renew the lease: the run is alive, and the venue answers it."""
        self.run.lease.touch()

    def close(self) -> None:
        """Give the lease back."""
        self._file.close()
        if self._lock is not None:
            self._lock.close()


def _folder_in_process() -> str:
    """Make the folder of the runs at a venue in this process, where `toolkit runs` sees them while they run."""
    folder = data_directory() / "runs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tempfile.mkdtemp(prefix=IN_PROCESS, dir=folder)
    except OSError:  # a home that can't be written
        return tempfile.mkdtemp(prefix="toolkit-run-")
