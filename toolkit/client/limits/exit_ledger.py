"""A ledger that stands in no exit's way: on a disk that is full or can't be written, what only leaves goes on without.

Requests that may open are refused there, because a crash would leave them without a trace. A cancel or an order that
only reduces can do no such harm. It is kept in memory while the session lives, and a warning says so.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar, Unpack

from ...errors import ToolkitError, warn
from ...protocol.orders.order_actions import only_leaves
from ..orders.intents import Changes, Intent, IntentState, Ledger, MemoryLedger, changed

LOCKED_SECONDS = 30.0
"""How long exits leave a ledger alone that another program has locked: each try would wait for the lock."""
T = TypeVar("T")
_FAILURES = (ToolkitError, OSError, sqlite3.Error)
"""What a ledger raises that can't be used."""


class ExitLedger(Ledger):
    """The ledger of a session.

    Parameters
    ----------
    kept : Ledger
        Where intents are kept, while that works.
    clock : callable, optional
        Returns seconds that only go forward (default: those of this machine).
    """

    def __init__(self, kept: Ledger, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept = kept
        self._clock = clock
        self._locked: ToolkitError | None = None
        self._locked_until = 0.0
        self._unkept = MemoryLedger()
        self._leaving: dict[str, Intent] = {}
        """Open intents that only leave, as they were last, for when the ledger can't be read either."""
        self._lock = threading.RLock()

    def record(self, intent: Intent) -> None:
        leaves = only_leaves(intent.asked)
        try:
            self._use(lambda: self._kept.record(intent), again=not leaves)
        except _FAILURES as error:
            if not leaves or self._has(intent.id):
                raise
            self._unkept.record(intent)
            self._tell(intent, error)
        if leaves:
            with self._lock:
                self._leaving[intent.id] = intent

    def _use(self, call: Callable[[], T], *, again: bool = False) -> T:
        """Use the ledger, unless it is locked. `again`: also then, because the request can't go on without it."""
        if self._locked is not None and not again and self._clock() < self._locked_until:
            raise self._locked
        try:
            found = call()
        except ToolkitError as error:
            if getattr(error.__cause__, "sqlite_errorname", "") in ("SQLITE_BUSY", "SQLITE_LOCKED"):
                self._locked, self._locked_until = error, self._clock() + LOCKED_SECONDS
            raise
        self._locked = None
        return found

    def _has(self, id: str) -> bool:
        try:
            self._use(lambda: self._kept.get(id))
        except _FAILURES:
            return False
        return True

    def _tell(self, intent: Intent, error: Exception) -> None:
        warn(
            f"{intent.action} only cancels or reduces, so it is sent without the ledger of intents: {error}. After a "
            "crash nothing would show its outcome"
        )

    def update(self, id: str, now: int, **changes: Unpack[Changes]) -> Intent:
        with self._lock:
            before = self._leaving.get(id)
            if before is None:
                return self._kept.update(id, now, **changes)
            after = self._update(before, now, changes)
            if after.settled:
                del self._leaving[id]
            else:
                self._leaving[id] = after
            return after

    def _update(self, before: Intent, now: int, changes: Changes) -> Intent:
        if self._is_unkept(before.id):
            return self._unkept.update(before.id, now, **changes)
        try:
            return self._use(lambda: self._kept.update(before.id, now, **changes))
        except _FAILURES as error:
            with suppress(*_FAILURES):
                before = self._use(lambda: self._kept.get(before.id))  # another process may have changed it
            try:
                changed(before, now, changes)
            except ToolkitError:
                raise error from None  # the change itself is not allowed
            self._unkept.record(before)
            self._tell(before, error)
            return self._unkept.update(before.id, now, **changes)

    def _is_unkept(self, id: str) -> bool:
        try:
            self._unkept.get(id)
        except ToolkitError:
            return False
        return True

    def get(self, id: str) -> Intent:
        return self._unkept.get(id) if self._is_unkept(id) else self._use(lambda: self._kept.get(id))

    def all(self, states: Iterable[IntentState] | None = None, newest: int | None = None) -> list[Intent]:
        wanted = None if states is None else tuple(states)
        unkept = {intent.id: intent for intent in self._unkept.all()}
        kept = self._use(lambda: self._kept.all(wanted, newest))
        if not unkept:
            return kept
        found = [intent for intent in kept if intent.id not in unkept]
        found += [intent for intent in unkept.values() if wanted is None or intent.state in wanted]
        return sorted(found, key=lambda intent: intent.created)[-(newest or 0) :]

    def note(self, name: str, before: str | None, after: str | None) -> bool:
        return self._use(lambda: self._kept.note(name, before, after))

    def notes(self) -> dict[str, str]:
        return self._use(self._kept.notes)

    def close(self) -> None:
        self._kept.close()

    def __repr__(self) -> str:
        return repr(self._kept)
