"""What a run with a name keeps in a file, so that it continues after a crash: its orders, its fills, and its lease."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...client.io.nonce_sources import data_directory
from ...connecting import venue_in_process
from ...errors import InputError, ToolkitError
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
"""Hash of the fields of a line; tests/test_persisted_formats.py says what to do on a change."""
_KIND = FileKind("journal of a run", FORMAT, "move it away, cancel the run's orders by hand, and begin the run anew")
_COUNTED = 30
"""Bits of a client id that count orders. The 22 above stand for the run. Ids made of a nonce stay below bit 52."""
_EPOCH_S = 1_700_000_000
_folders: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
"""Folders of the venues in this process; nothing of them outlives it."""


class OwnFill(msgspec.Struct, frozen=True):
    """A fill, before the strategy receives it; `time` in Unix ms."""

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


class RunJournal:
    """The journal of a run and what it says: `begun` (first start), `handles` by client id, `fills` by id, `kept`.

    Raises InputError for a name that can't name a file, ToolkitError while the run is running elsewhere.
    """

    def __init__(self, session: Session, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", name):
            text = f"run {name!r} is no name; use up to 40 letters, digits, '-', '_' and '.', such as 'grid-btc'"
            raise InputError(text, field="run", rule="a name", value=name)
        label, account, venue = session.environment.label, str(session.account).lower(), venue_in_process(session)
        identity = f"{label} {account} {name}"
        if venue is not None and venue not in _folders:
            _folders[venue] = tempfile.mkdtemp(prefix="toolkit-run-")
            weakref.finalize(venue, shutil.rmtree, _folders[venue], ignore_errors=True)
        folder = data_directory() / "runs" if venue is None else Path(_folders[venue])
        path = folder / re.sub(r"[^A-Za-z0-9.-]", "-", f"{label}-{account}") / name
        self._lease = hold(path.with_name(f"{name}.lock"))
        if self._lease is None:
            text = f"run {name!r} of account {account} is running already; stop it there, or choose another name"
            raise ToolkitError(text)
        self.begun: Line | None = None
        self.handles: dict[int, OrderHandle] = {}
        self.fills: dict[str, OwnFill] = {}
        self.kept = Kept()
        self.sent_ms: list[int] = []
        self._open_fill = ""
        run = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:4]) >> 10
        self._last = self._first = (1 << 52) + (run << _COUNTED)
        self._file = LineFile(path.with_name(f"{name}.jsonl"), _KIND, identity)
        for line in self._file.lines:
            self._fold(msgspec.convert(line, Line, strict=False))
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

    def owns(self, client_id: Any) -> bool:
        """Return whether a client id is one of this run's."""
        return bool(client_id == client_id) and int(client_id or 0) >> _COUNTED == self._first >> _COUNTED

    def record(self, order: Order | Bracket, now: int) -> Order | Bracket:
        """Give an order and its exits client ids of the run, and write them down before they are sent."""
        numbered = []
        for leg in order.legs:
            # Not below the seconds of the time, so that no id comes twice where the file was lost.
            self._last = max(self._last + 1, self._first + now // 1000 - _EPOCH_S)
            numbered.append(replace(leg, cl_ord_id=self._last))
        self.append(now, orders=tuple(numbered))
        return order_of(numbered)

    def keep(self, time: int, kept: Kept) -> None:
        """Write what the context keeps, where it has changed."""
        if kept != self.kept:
            self.append(time, kept=kept)
            self.kept = kept

    def close(self) -> None:
        """Give the lease back."""
        self._file.close()
        if self._lease is not None:
            self._lease.close()


def order_of(legs: Sequence[Order]) -> Order | Bracket:
    """Return the order, or the bracket, that has these legs."""
    exits = {leg.reduce_only: leg for leg in legs[1:]}
    return Bracket(legs[0], exits.get("TP_FROM_POSITION"), exits.get("SL_FROM_POSITION")) if exits else legs[0]
