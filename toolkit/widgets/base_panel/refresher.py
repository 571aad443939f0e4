"""Refreshing at the display's rate: one thread for all open panels, however often their data changes.

A panel that was touched is refreshed at most every INTERVAL seconds, and every HEARTBEAT seconds in any case, so that
silence is noticed too. The thread ends with the last panel.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

INTERVAL = 0.08
"""Seconds between two refreshes of one panel (about 12 a second)."""
HEARTBEAT = 1.0
"""Seconds after which a panel looks at the age of its data, even if nothing came."""
STOP_SECONDS = 5.0


class Paced(Protocol):
    """What can be refreshed."""

    def refresh(self) -> None:
        """Bring what is shown up to date; never raises."""


class Pace:
    """Touched panels are refreshed soon, but not too often."""

    def __init__(self, interval: float = INTERVAL, heartbeat: float = HEARTBEAT) -> None:
        self._interval = interval
        self._heartbeat = heartbeat
        self._condition = threading.Condition()
        self._due: dict[Paced, float] = {}
        """Panel → time of its next refresh; a heartbeat away unless it was touched."""
        self._last: dict[Paced, float] = {}
        self._thread: threading.Thread | None = None

    def join(self, panel: Paced) -> None:
        """Refresh this panel from now on. Joining again does nothing."""
        with self._condition:
            if panel in self._due:
                return
            self._due[panel] = time.monotonic()
            self._last[panel] = 0.0
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="toolkit-widgets", daemon=True)
                self._thread.start()
            self._condition.notify()

    def touch(self, panel: Paced) -> None:
        """Say that something changed. Cheap; may be called from any thread as often as one likes."""
        with self._condition:
            due = self._due.get(panel)
            if due is None:
                return
            soon = self._last[panel] + self._interval
            if soon < due:
                self._due[panel] = soon
                self._condition.notify()

    def leave(self, panel: Paced) -> None:
        """Refresh it no more; the thread ends when nobody is left, within a bounded time."""
        with self._condition:
            self._due.pop(panel, None)
            self._last.pop(panel, None)
            thread = None
            if not self._due:
                thread, self._thread = self._thread, None
            self._condition.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(STOP_SECONDS)

    @property
    def running(self) -> bool:
        """True while the thread lives."""
        return self._thread is not None

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            with self._condition:
                if self._thread is not me:
                    return
                now = time.monotonic()
                ready = [panel for panel, due in self._due.items() if due <= now]
                for panel in ready:
                    self._last[panel] = now
                    self._due[panel] = now + self._heartbeat
                if not ready:
                    self._condition.wait(max(0.0, min(self._due.values()) - now))
            for panel in ready:
                panel.refresh()


PACE = Pace()
"""The pace of this process's panels."""
