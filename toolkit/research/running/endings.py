"""How a program ends its runs: SIGTERM and SIGHUP are as Ctrl-C, and background runs end with the program.

Each end cancels the run's open orders first. A signal while a run is ending changes nothing of that: systemd, Docker,
closed terminals and JupyterHub's culler end programs by such signals, and some send a second one soon.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ...client.limits.running import RUNS, Run, end

MOST_SIGNALS = 4
"""Signals after which a run that is ending is left as it is, in case its end hangs."""
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # Windows has SIGBREAK, the others SIGHUP


class Told(KeyboardInterrupt):
    """A signal told the program to end.

    Parameters
    ----------
    number : int
        Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class _Signals:
    """Handles the signals of a process while runs are running in it."""

    def __init__(self) -> None:
        self._previous: dict[int, Any] = {}
        """Handlers that were there before the first run."""
        self._front: Run | None = None
        """The run that the main thread is in."""
        self._told = 0

    def listen(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread can set handlers
        for number in (int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name)):
            known = signal.getsignal(number)
            # nohup and its like ignore a signal on purpose. None is a handler that was not set by Python.
            if number not in self._previous and known not in (signal.SIG_IGN, None):
                self._previous[number] = signal.signal(number, self._on_signal)

    def leave(self) -> None:
        if RUNS.all() or threading.current_thread() is not threading.main_thread():
            return
        for number, handler in self._previous.items():
            if signal.getsignal(number) == self._on_signal:  # else somebody has set another meanwhile
                signal.signal(number, handler)
        self._previous.clear()

    @contextmanager
    def front(self, run: Run) -> Iterator[None]:
        """Let signals end a run that the main thread is in.

        Parameters
        ----------
        run : Run
            The run.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before, self._front, self._told = self._front, run, 0
        try:
            yield
        finally:
            self._front = before

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        front = self._front
        if front is None:
            self.pass_on(number, frame)
            return
        self._told += 1
        if (self._told == 1 and not front.ending) or self._told >= MOST_SIGNALS:
            raise Told(number)
        left = MOST_SIGNALS - self._told
        print(f"{front.name} is ending, and cancels its orders first. {left} more signals would leave them", flush=True)

    def pass_on(self, number: int, frame: FrameType | None = None) -> None:
        """Do what a signal would have done without runs. One that ends the program ends its background runs first.

        Parameters
        ----------
        number : int
            Number of the signal.
        frame : frame or None, optional
            Where it came (default: nowhere).
        """
        handler = self._previous.get(number, signal.SIG_DFL)
        if number != signal.SIGINT:  # the program itself decides what Ctrl-C interrupts
            end(RUNS.all(), signal.Signals(number).name)
        if callable(handler):
            handler(number, frame)
        elif handler == signal.SIG_DFL:
            _leave(number)


def _leave(number: int) -> None:
    """End the program as a signal does that nobody handles."""
    # In a kernel SystemExit ends a cell only.
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    raise SystemExit(128 + number)


_signals = _Signals()


def begin(run: Run) -> None:
    """Note that a run is running, before its first order can be sent.

    Parameters
    ----------
    run : Run
        The run.
    """
    RUNS.add(run)
    _signals.listen()
    # Anew for each run: what is registered last is called first, while the run's ledger and connections are open.
    atexit.unregister(_at_exit)
    atexit.register(_at_exit)


def over(run: Run) -> None:
    """Note that a run has ended.

    Parameters
    ----------
    run : Run
        The run.
    """
    RUNS.discard(run)
    _signals.leave()


front = _signals.front
pass_on = _signals.pass_on


def _at_exit() -> None:
    if runs := RUNS.all():
        print(f"the program is over: ending {', '.join(run.name for run in runs)}", flush=True)
        end(runs, "the end of the program")
