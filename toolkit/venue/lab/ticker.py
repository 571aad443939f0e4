"""The thread that keeps a venue current while its clock runs by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable

TICK_SECONDS = 0.2
LOCK_SECONDS = 0.1


class Ticker:
    """Calls `try_catch_up(seconds)` until it succeeds, then `afterwards()`, once per tick.

    `try_catch_up` waits at most that many seconds for the venue's lock and returns whether it got it.
    """

    def __init__(self, try_catch_up: Callable[[float], bool], afterwards: Callable[[], None]) -> None:
        self._try_catch_up = try_catch_up
        self._afterwards = afterwards
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="toolkit-venue-ticker", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(TICK_SECONDS):
            # short waits for the lock, because the caller of `stop` may hold it
            while not self._try_catch_up(LOCK_SECONDS) and not self._stopped.is_set():
                pass
            self._afterwards()

    def stop(self) -> None:
        """Stop the thread, waiting a few seconds at most."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5)
