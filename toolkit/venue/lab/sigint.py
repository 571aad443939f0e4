"""Defers SIGINT until a command has been applied. An interrupt half-way would leave the state inconsistent."""

from __future__ import annotations

import signal
import sys
from threading import get_ident, main_thread
from types import FrameType, TracebackType
from typing import Any

_INTERRUPT = int(signal.SIGINT)
_inner = sys.modules.get("_signal", signal)
"""CPython's own functions where they exist: those of `signal` spend microseconds on converting to enums."""
_get_handler, _set_handler = _inner.getsignal, _inner.signal


class defer_sigint:
    """A context manager that delays an interrupt (a stopped cell, Ctrl-C): KeyboardInterrupt is raised at its end.

    It does nothing outside the main thread, which is the only one Python interrupts, nor where SIGINT is not handled by
    a Python function.
    """

    __slots__ = ("_before", "_held")

    def __init__(self) -> None:
        self._before: Any = None
        self._held = False

    def __enter__(self) -> None:
        if get_ident() != main_thread().ident:
            return
        before = _get_handler(_INTERRUPT)
        # SIG_IGN and SIG_DFL are no functions. A program that ignores interrupts has none to delay.
        if callable(before):
            self._before = before
            try:
                _set_handler(_INTERRUPT, self._hold)
            except ValueError:  # a sub-interpreter can't set handlers
                self._before = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        before = self._before
        if before is not None:
            _set_handler(_INTERRUPT, before)
            if self._held:
                before(_INTERRUPT, None)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._held = True
