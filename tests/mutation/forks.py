"""Forked processes, each of which runs tests with one mistake: a fresh one imports all, a prepared one has done so."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import pytest

from .covering import OPTIONS, quiet
from .mutants import Mutant
from .planting import Functions, functions, plant

ENDED, UNPLANTED, IMPORT = "(ended or hung)", "(not planted)", "(import)"
"""What noticed a mistake where no test did: the process did not end well; it is not planted yet; an import failed."""
_POLL_SECONDS = 0.01
Stages = Sequence[Sequence[str]]
"""Ids of tests: the first ones to run, the next ones…"""


class Children:
    """Forked processes, each with a key; what the work of one returned is read when it ends."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.running: dict[int, tuple[Any, float, int]] = {}

    def start(self, key: Any, seconds: float, work: Callable[[], str]) -> None:
        """Run work in a forked process, which is ended after `seconds`; it keeps its files in a folder of its own."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.setsid()  # so that everything a test has started ends with it
                quiet()
                tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(dir=self._folder)
                os.write(write, (work() or "\0").encode())
            finally:
                os._exit(0)
        os.close(write)
        os.set_blocking(read, False)
        self.running[child] = key, time.monotonic() + seconds, read

    def ended(self) -> Iterator[tuple[Any, str]]:
        """Yield the key of each process that has ended and what its work returned, `ENDED` where it came to no end."""
        for child, (key, end, read) in list(self.running.items()):
            done = os.waitpid(child, os.WNOHANG)[0]
            if not done and time.monotonic() < end:
                continue
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            if not done:
                os.waitpid(child, 0)
            told = b""
            with contextlib.suppress(BlockingIOError):
                told = os.read(read, 1 << 16)
            os.close(read)
            del self.running[child]
            yield key, told.decode().strip("\0") if told else ENDED


class Prepared:
    """A process that has collected the tests in files, and forks one for each mistake; it ends with the context."""

    def __init__(self, files: Sequence[str], folder: str) -> None:
        self.running = 0
        self._connection, other = multiprocessing.Pipe()
        self._child = os.fork()
        if not self._child:
            try:
                self._connection.close()
                quiet()
                pytest.main([*OPTIONS, *files], plugins=[_Server(other, folder)])
            finally:
                os._exit(0)
        other.close()

    def __enter__(self) -> Prepared:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._connection.send(None)
        os.waitpid(self._child, 0)

    def start(self, key: Any, seconds: float, mutant: Mutant | None, stages: Stages) -> None:
        """Have tests run in a forked process, with a mistake or with none."""
        self._connection.send((key, seconds, mutant, stages))
        self.running += 1

    def ended(self) -> Iterator[tuple[Any, str]]:
        """Yield the key of each process that has ended, and the test that failed."""
        while self._connection.poll():
            self.running -= 1
            yield self._connection.recv()


class _Server:
    """Runs the tests that are asked for, each time in a forked process, in place of those that were collected."""

    def __init__(self, connection: Connection, folder: str) -> None:
        self._connection = connection
        self._children = Children(folder)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed("not all tests could be collected")
        items, known = {item.nodeid: item for item in session.items}, functions()
        gc.freeze()  # so that a collection in a forked process does not copy what all share
        while True:
            if self._connection.poll(_POLL_SECONDS):
                if (asked := self._connection.recv()) is None:
                    return True
                key, seconds, mutant, stages = asked
                chosen = [items[test] for stage in stages for test in stage]
                self._children.start(key, seconds, partial(_run_prepared, session, mutant, chosen, known))
            for answer in self._children.ended():
                self._connection.send(answer)


def _run_prepared(session: pytest.Session, mutant: Mutant | None, chosen: list[pytest.Item], known: Functions) -> str:
    os.environ["TOOLKIT_STATE"] = tempfile.mkdtemp()  # conftest.py made one for all of them
    if mutant is not None and not plant(mutant, known):
        return UNPLANTED
    return _first_failure(session, chosen)


def _first_failure(session: pytest.Session, items: Sequence[pytest.Item]) -> str:
    """Run tests; return the id of the first that fails, "" if none does."""
    for item, following in zip(items, [*items[1:], None], strict=False):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return item.nodeid
    return ""


class _Chosen:
    """Runs the chosen tests of those that were collected."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.tests = set(tests)
        self.failed = IMPORT

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            self.failed = _first_failure(session, [item for item in session.items if item.nodeid in self.tests])
        return True


def run_fresh(stages: Stages) -> str:
    """Collect and run tests in this process; return the id of the first that fails, "" if none does."""
    for stage in stages:
        chosen = _Chosen(stage)
        pytest.main([*OPTIONS, *dict.fromkeys(test.partition("::")[0] for test in stage)], plugins=[chosen])
        if chosen.failed:
            return chosen.failed
    return ""
