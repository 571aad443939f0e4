"""The file from which a run with a name continues after a crash: its orders, its fills, and its lease."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...client.io.nonce_sources import data_directory
from ...client.reads.reading import whole
from ...connecting import venue_in_process
from ...errors import ActionRejected, InputError, ToolkitError
from ...orders import Bracket, Order
from ...stored.databases import hold
from ...stored.lines import LineFile
from ...stored.seals import FileKind
from ..account_data import OrderHandle
from ..context import Kept

if TYPE_CHECKING:
    from ...session import Session

FORMAT = 1
"""Number of the format of a run's journal."""
SCHEMA = "ccbe7494d133c531"
"""Hash of the fields of a line. tests/test_persisted_formats.py says what to do on a change."""
_KIND = FileKind("journal of a run", FORMAT, "move it away, cancel the run's orders by hand, and start a new run")
_COUNTED = 30
"""Bits of a client id that count orders. The 22 above stand for the run. Ids made of a nonce stay below bit 52."""
_EPOCH_S = 1_700_000_000
_folders: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
"""Folders of the venues in this process. Nothing of them outlives it."""


class OwnFill(msgspec.Struct, frozen=True):
    """A fill, before the strategy receives it. `time` is in Unix ms."""

    id: str
    time: int
    symbol: str
    side: str
    steps: int


class Line(msgspec.Struct, omit_defaults=True):
    """One line of a journal: a time (Unix ms) and what happened.

    `params`, `equity` (USDC) and `trials` are those of the first start. `orders` are about to be sent (a bracket with
    its exits), `ended` maps client ids to filled quantities, `taken` is the id of a fill that the strategy has handled.
    """

    time: int
    params: dict[str, str] | None = None
    equity: float = 0.0
    trials: int = 0
    orders: tuple[Order, ...] = ()
    ended: dict[int, float] = {}
    fill: OwnFill | None = None
    taken: str = ""
    kept: Kept | None = None


class RunName:
    """A run on its account: its `identity` in words, the files that it keeps, and the client ids that are its own.

    The time of `lease`, a file, is when the run last renewed it. Raises InputError for a name that can't name a file.
    """

    def __init__(self, session: Session, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", name):
            text = f"run {name!r} is not a name. Use up to 40 letters, digits, '-', '_' and '.', such as 'grid-btc'"
            raise InputError(text, field="run", rule="a name", value=name)
        label, account, venue = session.environment.label, str(session.account).lower(), venue_in_process(session)
        self.identity = f"{label} {account} {name}"
        if venue is not None and venue not in _folders:
            _folders[venue] = tempfile.mkdtemp(prefix="toolkit-run-")
            weakref.finalize(venue, shutil.rmtree, _folders[venue], ignore_errors=True)
        folder = data_directory() / "runs" if venue is None else Path(_folders[venue])
        path = folder / re.sub(r"[^A-Za-z0-9.-]", "-", f"{label}-{account}") / name
        self.journal, self.lock, self.lease = (path.with_name(f"{name}.{end}") for end in ("jsonl", "lock", "lease"))
        self._session = session
        run = int.from_bytes(hashlib.sha256(self.identity.encode()).digest()[:4]) >> 10
        self.first_id = (1 << 52) + (run << _COUNTED)

    def owns(self, client_id: Any) -> bool:
        """Return whether a client id is one of this run's."""
        return bool(client_id == client_id) and int(client_id or 0) >> _COUNTED == self.first_id >> _COUNTED

    def cancel(self, symbol: str | None = None, *, exits: bool = True) -> int:
        """Cancel its open orders, of a symbol or of all, and return how many. Without `exits` those that may open."""
        table, cancelled = self._session.orders(symbol, open=True, progress=False), 0
        own = table[table["client_order_id"].map(self.owns).astype(bool)]
        if not exits:
            own = own[(own["reduce_only"] == "NONE") & ~own["side"].str.endswith("_CLOSE_HEDGE")]
        for name, rows in own.groupby("symbol", observed=True):
            with suppress(ActionRejected):  # some may have ended meanwhile
                self._session.cancel(rows["order_id"].tolist(), symbol=str(name))
            cancelled += len(rows)
        whole(table)  # those that are known are cancelled before it says that there may be others
        return cancelled


class RunJournal:
    """The journal of a run and what it says: `begun` (first start), `handles` by client id, `fills` by id, `kept`.

    `run` is its RunName. Raises InputError for a name that can't name a file, ToolkitError while the run is running
    elsewhere.
    """

    def __init__(self, session: Session, name: str) -> None:
        self.run = run = RunName(session, name)
        self._lock = hold(run.lock)
        if self._lock is None:
            text = f"run {name!r} of account {session.account} is running already"
            raise ToolkitError(f"{text}. Stop it there, or choose another name")
        self.begun: Line | None = None
        self.handles: dict[int, OrderHandle] = {}
        self.fills: dict[str, OwnFill] = {}
        self.kept = Kept()
        self.sent_ms: list[int] = []
        self._open_fill = ""
        self._last = run.first_id
        self._file = LineFile(run.journal, _KIND, run.identity)
        for line in self._file.lines:
            self._fold(msgspec.convert(line, Line, strict=False))
        self.renew()
        self.fills.pop(self._open_fill, None)  # the strategy received it, but did nothing before the crash

    def _fold(self, line: Line) -> None:
        if line.params is not None:
            self.begun = self.begun or line
        if line.orders:
            handle = self.handles[line.orders[0].cl_ord_id or 0] = OrderHandle(order_of(line.orders))
            handle.state, self._last = "UNKNOWN", line.orders[-1].cl_ord_id or 0
            self.sent_ms.append(line.time)
        for number, filled in line.ended.items():
            handle = self.handles[number]
            handle.state, handle.filled = "FILLED" if filled else "CANCELED", filled
        if line.taken or line.orders:
            self._open_fill = ""
        if line.fill is not None:
            self.fills[line.fill.id], self._open_fill = line.fill, line.fill.id
        self.kept = line.kept or self.kept

    def append(self, time: int, **fields: Any) -> None:
        """Write a line. Raises OSError."""
        self._file.append(msgspec.to_builtins(Line(time, **fields), str_keys=True))

    def record(self, order: Order | Bracket, now: int) -> Order | Bracket:
        """Give an order and its exits client ids of the run, and write them down before they are sent."""
        numbered = []
        for leg in order.legs:
            # Not below the seconds of the time, so that no id comes twice where the file was lost.
            self._last = max(self._last + 1, self.run.first_id + now // 1000 - _EPOCH_S)
            numbered.append(replace(leg, cl_ord_id=self._last))
        self.append(now, orders=tuple(numbered))
        return order_of(numbered)

    def keep(self, time: int, kept: Kept) -> None:
        """Write what the context keeps, where it has changed."""
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


def order_of(legs: Sequence[Order]) -> Order | Bracket:
    """Return the order, or the bracket, that has these legs."""
    exits = {leg.reduce_only: leg for leg in legs[1:]}
    return Bracket(legs[0], exits.get("TP_FROM_POSITION"), exits.get("SL_FROM_POSITION")) if exits else legs[0]
