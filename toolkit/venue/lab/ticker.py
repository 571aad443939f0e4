"""The thread that keeps a venue current while its clock runs automatically."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

TICK_MS = 200
LOCK_SECONDS = 0.1
STEP_SECONDS = 0.05
"""How long a step of catching up or of an advance holds the venue's lock, in about."""
PAUSE_SECONDS = 0.001
"""Pause between two steps. Without it, the thread that releases the lock usually acquires it again."""
FIRST_STEP_MS = 900_000


class Alarm(Protocol):
    """A program that acts at a moment of the venue's time, if that time moves by `advance` only."""

    def due_ms(self) -> int | None:
        """Return the next moment in Unix ms, None without one."""

    def ring(self) -> None:
        """Act at that moment. The lock is not held. Raises nothing except interrupts."""


class Alarms(list[Alarm]):
    """The alarms of a venue, in the order of their setting."""

    def between(self, now_ms: int, target_ms: int) -> int:
        """Return the moment of the next alarm, Unix ms.

        Parameters
        ----------
        now_ms : int
            Present time, Unix ms. Earlier alarms do not count.
        target_ms : int
            Latest moment to return, Unix ms.
        """
        return min([target_ms, *(due for one in self if (due := one.due_ms()) is not None and due > now_ms)])

    def ring(self, now_ms: int) -> bool:
        """Ring every alarm that is due, and return whether there was one.

        Parameters
        ----------
        now_ms : int
            Present time, Unix ms.
        """
        ringing = [one for one in self if (due := one.due_ms()) is not None and due <= now_ms]
        for one in ringing:
            one.ring()
        return bool(ringing)


class Steps:
    """The lengths of an advance's steps: as long as can be simulated in STEP_SECONDS.

    `span_ms` is the length of the next step, in ms of the venue's time.
    """

    def __init__(self) -> None:
        self.span_ms = FIRST_STEP_MS
        self._began = time.monotonic()

    def pause(self) -> None:
        """End a step: let others have the lock, and choose the length of the next step."""
        spent = time.monotonic() - self._began
        if spent < STEP_SECONDS / 2:
            self.span_ms *= 2
        elif spent > STEP_SECONDS * 2:
            self.span_ms = max(60_000, self.span_ms // 2)
        time.sleep(PAUSE_SECONDS)
        self._began = time.monotonic()


class Ticker:
    """The thread that calls one function once per tick until it is done, then another.

    Parameters
    ----------
    try_catch_up : callable
        Does one step and returns whether it was the last. It waits at most the given seconds for the venue's lock.
    afterwards : callable
        Called after the last step of a tick.
    """

    def __init__(self, try_catch_up: Callable[[float], bool], afterwards: Callable[[], None]) -> None:
        self._try_catch_up = try_catch_up
        self._afterwards = afterwards
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="toolkit-venue-ticker", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(TICK_MS / 1000):
            # short waits for the lock, because the caller of `stop` may hold it
            while not self._try_catch_up(LOCK_SECONDS) and not self._stopped.wait(PAUSE_SECONDS):
                pass
            self._afterwards()

    def stop(self) -> None:
        """Stop the thread, waiting a few seconds at most."""
        self._stopped.set()
        # A reader of the feed may close the venue from the ticker's own thread, which can't wait for itself.
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5)
