"""Ctrl-C waits until a command is whole: in the middle of one it would leave half of it in the state for good."""

from __future__ import annotations

import signal
import sys
from threading import get_ident, main_thread
from types import FrameType, TracebackType
from typing import Any

_INTERRUPT = int(signal.SIGINT)
_inner = sys.modules.get("_signal", signal)
"""CPython's functions under those of `signal`, which spend microseconds on making enums; else the latter."""
_handler, _handle = _inner.getsignal, _inner.signal


class defer_sigint:
    """A block that an interrupt (a stopped cell, Ctrl-C) does not cut short: KeyboardInterrupt comes at its end.

    Only the main thread is ever interrupted, so in others it does nothing; nor does it where no Python function
    handles interrupts.
    """

    __slots__ = ("_before", "_held")

    def __init__(self) -> None:
        self._before: Any = None
        self._held = False

    def __enter__(self) -> None:
        if get_ident() != main_thread().ident:
            return
        before = _handler(_INTERRUPT)
        if callable(before):
            self._before = before
            try:
                _handle(_INTERRUPT, self._hold)
            except ValueError:  # another interpreter than the main one
                self._before = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        before = self._before
        if before is not None:
            _handle(_INTERRUPT, before)
            if self._held:
                before(_INTERRUPT, None)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._held = True
