"""Which tests run which lines of the rooms: one traced run of their tests, with a context of coverage.py for each."""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from .mutants import Mutant
from .rooms import ROOMS, ROOT

SLOW_SECONDS = 20.0
"""A test that takes more processor time, traced, is not used."""
OPTIONS = (
    *(
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:nbval",
        "-o",
        "addopts=",
        "-m",
        "not slow and not browser and not long",
        "--timeout=60",
    ),
    # pytest warns of plugins that were imported before it could rewrite their assertions.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


@dataclass(slots=True)
class Covering:
    """Processor `seconds` of each test that passes, by its id; ids of the tests that run a line, by path and line."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def tests_of(self, room: str, mutant: Mutant) -> list[list[str]]:
        """Return the ids of the room's tests that may notice a mutant: first those of the file named as the source,
        then the others, quick files first, and of a file the quick tests.

        Those that run its statement; and all of the room where it also runs while a module is imported. What a fixture
        runs counts for every test of its file.
        """
        found, own = self._running(mutant), set(ROOMS[room].test_files())
        if self.imported(mutant):
            found |= own
        files: dict[str, list[str]] = {}
        for test in self.seconds:
            path = test.partition("::")[0]
            if path in own and (test in found or path in found):
                files.setdefault(path, []).append(test)
        for tests in files.values():
            tests.sort(key=self.seconds.__getitem__)
        named = f"test_{Path(mutant.path).stem}.py"
        quick = sorted(files, key=lambda path: sum(map(self.seconds.__getitem__, files[path])))
        stages = [path for path in quick if path.endswith(named)], [path for path in quick if not path.endswith(named)]
        return [[test for path in stage for test in files[path]] for stage in stages if stage]

    def imported(self, mutant: Mutant) -> bool:
        """Return whether the statement of a mutant runs while modules are imported."""
        return not mutant.called or "" in self._running(mutant)

    def _running(self, mutant: Mutant) -> set[str]:
        span = range(mutant.lines[0], mutant.lines[1] + 1)
        return {one for line in span for one in self.lines.get((mutant.path, line), ())}


class _Recorder:
    """Switches the context with each test and notes how long those that pass take."""

    def __init__(self, coverage: Any) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.skipped: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if sys.gettrace() is None:  # a test traced something itself, which ended this trace
            self.coverage.stop()
            self.coverage.start()
        began = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - began
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid.partition("::")[0])
        result = yield
        self.coverage.switch_context(item.nodeid)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            (self.skipped if report.skipped else self.failed).add(report.nodeid)


def trace(rooms: Sequence[str], jobs: int) -> Covering:
    """Run the tests of rooms once, traced, in `jobs` processes; return what covers what."""
    files = list(dict.fromkeys(path for room in rooms for path in ROOMS[room].test_files()))
    sources = [path for room in rooms for path in ROOMS[room].files()]
    found = Covering()
    with tempfile.TemporaryDirectory() as folder:
        children = {}
        for job in range(jobs):
            kept = Path(folder) / str(job)
            child = os.fork()
            if not child:
                _trace(files[job::jobs], sources, kept)
            children[child] = kept
        for child, kept in children.items():
            if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                raise RuntimeError("the traced run of the tests ended early")
            seconds, lines, left_out = pickle.loads(kept.read_bytes())
            found.seconds |= seconds
            found.left_out += left_out
            for place, tests in lines.items():
                found.lines.setdefault(place, set()).update(tests)
    return found


def _trace(files: list[str], sources: list[Path], kept: Path) -> None:
    """Run tests in this forked process, write what they cover, and end the process."""
    code = 1
    try:
        from coverage import Coverage

        quiet()
        coverage = Coverage(data_file=None, config_file=False, include=[str(path) for path in sources])
        recorder = _Recorder(coverage)
        coverage.start()
        pytest.main([*OPTIONS, *files], plugins=[recorder])
        coverage.stop()
        left_out = {test for test, took in recorder.seconds.items() if took > SLOW_SECONDS} | recorder.failed
        seconds = {test: took for test, took in recorder.seconds.items() if test not in left_out | recorder.skipped}
        data, lines = coverage.get_data(), {}
        for path in sources:
            for line, contexts in data.contexts_by_lineno(str(path)).items():
                lines[path.relative_to(ROOT).as_posix(), line] = set(contexts)
        kept.write_bytes(pickle.dumps((seconds, lines, sorted(left_out))))
        code = 0
    finally:
        os._exit(code)


def quiet() -> None:
    """Send what this process prints nowhere, and work at the top of the source tree."""
    sink = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(sink, stream)
    os.chdir(ROOT)
