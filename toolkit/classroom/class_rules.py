"""What a class keeps besides its venue's journal, and what it refuses besides what every venue does.

It keeps in one file how its time passes, news, returns, links and the token. The file is written before a command of
the teacher is answered. A command of several steps is noted before its first one, and is done again by a class that was
killed in between. It refuses what is closed, frozen or over, and notes who uses which seat.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import InputError
from ..protocol.orders.items import OrderItem
from ..protocol.orders.names import ActionType
from ..protocol.orders.order_actions import placed_items
from ..stored.seals import FileKind, before_header, sealed
from ..venue.api.gateway import Answer, Hooks, Incoming, http_error
from ..venue.engine.commands import DISABLED, WireError
from ..venue.engine.core import Core
from ..venue.programs.permissions import acts_for
from ..venue.served.boundary import new_token
from ..venue.served.private_files import write_private
from .roster import Roster, Student

FORMAT = 1
"""Number of the format of the file."""
_KIND = FileKind("state of a class", FORMAT, "restore it from a copy, or delete it: ranks and news then begin again")
SCHEMA = "c6213223c6a25203"
"""Hash of what is in it. tests/test_persisted_formats.py says what to do on a change."""


class Beginning(NamedTuple):
    """Where a student's return begins: with nothing at first, and with what was there at a reset.

    Attributes
    ----------
    time : int
        Time of the beginning, Unix ms (default: 0).
    equity : int
        Equity at the beginning, in micro-USDC (default: 0).
    """

    time: int = 0
    equity: int = 0
    brought: int = 0
    """Money received other than by trading."""


class Record(msgspec.Struct):
    """What a class keeps.

    Attributes
    ----------
    token : str
        Token of the teacher.
    speed : float or None
        How many times as fast as real time it passes, 0 while it is held (default: as the venue was started).
    news : list of dict of str to object
        News, oldest first: `time` of the venue in Unix ms, and `text`.
    joined_ms : dict of str to int
        Name → time of the first joining, Unix ms.
    begun : dict of int to Beginning
        Number of the student → where the return begins.
    frozen : dict of str to str
        Name → why this student may only close.
    codes : dict of int to list of str
        Number of the student → the codes of links that replaced the first one.
    """

    token: str = msgspec.field(default_factory=new_token)
    speed: float | None = None
    held_speed: float = 1.0
    """How fast time passed before it was held."""
    news: list[dict[str, Any]] = []
    joined_ms: dict[str, int] = {}
    seen_ms: dict[str, int] = {}
    """Name → time of the last signed action, Unix ms."""
    machines: dict[str, dict[str, int]] = {}
    """Name → machine → when it last used the seat, Unix ms."""
    begun: dict[int, Beginning] = {}
    saved: list[dict[int, Beginning]] = []
    """Where returns began at each save point."""
    frozen: dict[str, str] = {}
    codes: dict[int, list[str]] = {}
    ends_ms: int | None = None
    """When the class ends, in the venue's time."""
    unfinished: tuple[str, str] | None = None
    """Command that was begun, and its argument."""


class ClassFile:
    """The record of a class, and its file if it has one.

    Parameters
    ----------
    path : Path or None
        The file. `None` keeps the record in memory only.

    Raises
    ------
    StoredFileError
        If the file is damaged.
    InputError
        If it can't be read.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.record = Record()
        self._kept, self._lock = b"", threading.Lock()
        if path is None or not path.exists():
            return
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} can't be read: {error.strerror}", field="class", value=str(path)) from None
        _KIND.check(path, raw)
        try:
            self.record = msgspec.json.decode(before_header(raw), type=Record)
        except msgspec.MsgspecError as error:
            raise _KIND.damaged(path, error) from None

    def keep(self) -> None:
        """Write the file if there is something new. It is then there whole."""
        with self._lock:  # a join and a command may come together, and the older state must not be written last
            raw = msgspec.json.encode(self.record)
            if self.path is not None and raw != self._kept:
                write_private(self.path, sealed(raw + _KIND.header()).decode())
                self._kept = raw

    def save_point(self, number: int) -> Path:
        """Return the file of a save point.

        Parameters
        ----------
        number : int
            Number of the save point, from 1.
        """
        assert self.path is not None
        return self.path.with_name(f"{self.path.name}.save-{number}")


TRADING = (
    ActionType.PLACE, ActionType.REPLACE, ActionType.BRACKET, ActionType.BUILDER, ActionType.BUILDER_BRACKET,
)  # fmt: skip
"""Actions that are switched off while trading is frozen. Orders can still be cancelled."""
JOIN_PATH, SEAT_PATH = "/join/", "/seat/"
MACHINES_MS, MOST_MACHINES = 3_600_000, 50
"""Machines that used one seat within this time, at most so many, are shown together."""


class ClassRules(Hooks):
    """Refuses what is closed in a class, and remembers when, and from where, each student last signed something.

    Parameters
    ----------
    roster : Roster
        The students, whose signers are known.
    record : Record
        Who is frozen, and when the class ends.
    closed : mapping of str to str
        Type of action → program that is closed.
    core : callable
        Returns the state machine of the venue, which knows for whom a signer acts.
    """

    def __init__(self, roster: Roster, record: Record, closed: Mapping[str, str], core: Callable[[], Core]) -> None:
        self._roster, self._record, self._closed, self._core = roster, record, closed, core
        self.answer_join: Callable[[Student, Incoming], Answer] | None = None

    def on_request(self, incoming: Incoming) -> Answer | None:
        """Answer a join link.

        Parameters
        ----------
        incoming : Incoming
            Request that came in.
        """
        if not incoming.path.startswith(JOIN_PATH):
            return None
        student = self._roster.by_code.get(incoming.path.removeprefix(JOIN_PATH))
        if student is not None:
            return self.answer_join(student, incoming) if self.answer_join else None
        text = "this class gave out no such link: a character is missing, added or changed, it is another class's, or "
        return http_error(404, f"{text}the teacher replaced it. Copy the whole line again, or ask the teacher for it")

    def on_authenticated(self, incoming: Incoming, now: int) -> None:
        """Note the signer of an action.

        Parameters
        ----------
        incoming : Incoming
            Request with its signer.
        now : int
            Time of the venue, Unix ms.

        Raises
        ------
        WireError
            With code 40280, for an action of a closed program, a key of a replaced link, and an opening order of a
            student who is frozen, or after the end.
        """
        if incoming.action in self._closed:
            program = self._closed[incoming.action]
            remedy = f"The teacher opens it with `toolkit class --open {program}`"
            raise WireError(DISABLED, f"{incoming.action} is closed in this class. {remedy}")
        signer = incoming.signer.lower()
        if signer in self._roster.revoked:
            raise WireError(DISABLED, "this key is of a link that the teacher has replaced. Join with the new link")
        # Also through an agent that the student approved: a freeze must hold for every key of a seat.
        accounts = (signer, *acts_for(self._core(), incoming.action, signer))
        student = next((found for each in accounts if (found := self._roster.by_address.get(each))), None)
        if student is None:
            return
        why = self._record.frozen.get(student.name, "")
        why = f"the teacher has frozen your trading: {why}" if why else ""
        if self._record.ends_ms is not None and now >= self._record.ends_ms:
            why = "the class has ended"
        if why and incoming.action in TRADING and not _only_reduces(incoming.body):
            raise WireError(DISABLED, f"{why}. Orders that only close, and cancellations, are still taken")
        self.note(student.name, f"at {incoming.peer}")

    def machines_of(self, name: str) -> int:
        """Return how many machines used a seat lately, by their addresses or by what they say of themselves.

        Parameters
        ----------
        name : str
            Name of the student.
        """
        kinds = [each.partition(" ")[0] for each in self._record.machines.get(name, ())]
        return max(map(kinds.count, kinds), default=0)

    def note(self, name: str, machine: str, *, signed: bool = True) -> None:
        """Note that a machine used a seat now.

        Parameters
        ----------
        name : str
            Name of the student.
        machine : str
            "at" with the address of the machine, or "is" with what it says of itself.
        signed : bool, optional
            Whether it signed something (default: `True`).
        """
        now_ms = time.time_ns() // 1_000_000
        if signed:
            self._record.seen_ms[name] = now_ms
        seen = {**self._record.machines.get(name, {}), machine: now_ms}
        latest = sorted(seen, key=seen.__getitem__)[-MOST_MACHINES:]
        self._record.machines[name] = {each: seen[each] for each in latest if seen[each] > now_ms - MACHINES_MS}


def _only_reduces(body: bytes) -> bool:
    """Return whether the orders of a signed request can only make a position smaller."""
    try:
        action: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])["action"]
        return all(OrderItem.recall(item).reduces for item in placed_items(action))
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return False
