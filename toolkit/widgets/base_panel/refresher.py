"""Refreshes panels at the display's rate. One thread serves all open panels, however often their data changes.

A panel is refreshed when its data changes, at most every INTERVAL seconds. It is also refreshed every HEARTBEAT
seconds, so that stale data is noticed. The thread ends with the last panel.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from typing import Any

INTERVAL = 0.08
"""Shortest time between two refreshes of one panel in seconds (about 12 a second)."""
HEARTBEAT = 1.0
"""Longest time between two refreshes in seconds. A panel must show that its data has become stale."""
STOP_SECONDS = 5.0
BUSY_SECONDS = 3.0
"""After this time without a reaction the kernel counts as busy: presses would wait for the running cell."""


class KernelLoop:
    """Measures whether the kernel handles messages: its event loop runs a callback, or is busy with a cell."""

    _loop: asyncio.AbstractEventLoop | None = None
    _asked: float | None = None

    def attach(self) -> None:
        """Watch the loop of the Jupyter kernel on this thread. In a script there is none, and nothing is ever busy."""
        ipython = sys.modules.get("IPython")
        if ipython is None or getattr(ipython.get_ipython(), "kernel", None) is None:
            return
        with contextlib.suppress(RuntimeError):
            self._loop, self._asked = asyncio.get_running_loop(), None

    def busy_seconds(self) -> float:
        """Return for how many seconds the loop has not reacted, 0 while it does. Never blocks."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return 0.0
        now = time.monotonic()
        asked = self._asked
        if asked is None:
            # Set first: the callback may run before the next line.
            self._asked = now
            loop.call_soon_threadsafe(self._answer)
            return 0.0
        return now - asked if now - asked >= BUSY_SECONDS else 0.0

    def _answer(self) -> None:
        self._asked = None


KERNEL_LOOP = KernelLoop()
"""The loop of the kernel that shows the panels."""


class Refresher:
    """Refreshes its panels on one background thread."""

    def __init__(self, interval: float = INTERVAL, heartbeat: float = HEARTBEAT) -> None:
        self._interval = interval
        self._heartbeat = heartbeat
        self._condition = threading.Condition()
        self._due: dict[Any, float] = {}
        """Panel → monotonic time of its next refresh; a heartbeat away unless one was requested."""
        self._last: dict[Any, float] = {}
        self._thread: threading.Thread | None = None

    def add(self, panel: Any) -> None:
        """Start to refresh a panel. Adding it again does nothing."""
        with self._condition:
            if panel in self._due:
                return
            self._due[panel] = time.monotonic()
            self._last[panel] = 0.0
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="toolkit-widgets", daemon=True)
                self._thread.start()
            self._condition.notify()

    def request(self, panel: Any) -> None:
        """Request a refresh soon. Cheap; may be called from any thread and at any rate."""
        with self._condition:
            due = self._due.get(panel)
            if due is None:
                return
            soon = self._last[panel] + self._interval
            if soon < due:
                self._due[panel] = soon
                self._condition.notify()

    def remove(self, panel: Any) -> None:
        """Stop refreshing a panel; after the last one the thread ends, within a bounded time."""
        with self._condition:
            self._due.pop(panel, None)
            self._last.pop(panel, None)
            thread = None
            if not self._due:
                thread, self._thread = self._thread, None
            self._condition.notify()
        # A panel may be stopped while it is refreshed, on the thread itself, which can't wait for itself.
        if thread is not None and thread is not threading.current_thread():
            thread.join(STOP_SECONDS)

    @property
    def running(self) -> bool:
        """True while the thread runs."""
        return self._thread is not None

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            with self._condition:
                # Ended, or already replaced by the thread of a panel that was added meanwhile.
                if self._thread is not me:
                    return
                now = time.monotonic()
                ready = [panel for panel, due in self._due.items() if due <= now]
                for panel in ready:
                    self._last[panel] = now
                    self._due[panel] = now + self._heartbeat
                if not ready:
                    self._condition.wait(max(0.0, min(self._due.values()) - now))
            # Without the lock: a refresh takes long, and it may stop panels.
            for panel in ready:
                panel.refresh()


REFRESHER = Refresher()
"""The refresher of this process's panels."""
