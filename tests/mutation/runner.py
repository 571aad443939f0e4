"""Runs mutants in forked processes, several at a time, and counts which are noticed."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import math
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any

import pytest

from .covering import OPTIONS, Covering, quiet
from .mutants import Mutant, mutants
from .rooms import ROOMS, ROOT

FLOOR = 0.9
"""Part of a room's mutants that its tests must notice."""
HANGS_SECONDS = 20.0
"""A mutant that takes this much more than twice its tests' time hangs, which is noticed as well."""
_HEAVY = (
    "numpy",
    "pandas",
    "hypothesis",
    "httpx",
    "msgspec",
    "coincurve",
    "eth_account",
    "google.protobuf",
    "websockets",
)


@dataclass(slots=True)
class Score:
    """What came of the mutants of one room; `left` were not run, because the time was over."""

    room: str
    killed: int = 0
    survivors: list[Mutant] = field(default_factory=list)
    left: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """Number of mutants that were run."""
        return self.killed + len(self.survivors)

    @property
    def rate(self) -> float:
        """Part that was noticed; 1 without mutants."""
        return self.killed / self.total if self.total else 1.0

    @property
    def may_reach_the_floor(self) -> bool:
        """False where a sample has so many survivors that the whole is below the floor with 95 % certainty."""
        lost = len(self.survivors)
        at_least = sum(
            math.comb(self.total, count) * (1 - FLOOR) ** count * FLOOR ** (self.total - count) for count in range(lost)
        )
        return at_least <= 0.95


def mutants_of(room: str) -> list[Mutant]:
    """Return every mutant of a room."""
    found: list[Mutant] = []
    for path in ROOMS[room].files():
        found += mutants(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    return found


def sample(room: str, count: int, seed: int) -> list[Mutant]:
    """Return a seeded sample of a room's mutants."""
    every = mutants_of(room)
    return random.Random(f"{seed} {room}").sample(every, min(count, len(every)))


def run(room: str, chosen: Sequence[Mutant], jobs: int, covering: Covering, seconds: float = math.inf) -> Score:
    """Run mutants, `jobs` at a time, for at most `seconds`; return the score."""
    for name in _HEAVY:  # forked processes share what was imported before
        importlib.import_module(name)
    score, began = Score(room), time.monotonic()
    waiting, running = list(chosen), {}
    while waiting or running:
        while waiting and len(running) < jobs and time.monotonic() - began < seconds:
            mutant = waiting.pop(0)
            if tests := covering.tests_of(room, mutant):
                usual = sum(covering.seconds[test] for stage in tests for test in stage)
                running[_fork(mutant, tests)] = (mutant, time.monotonic() + 2 * usual + HANGS_SECONDS)
            else:
                score.survivors.append(mutant)
        if not running:
            break
        for child, killed in _ended(running):
            mutant, _ = running.pop(child)
            if killed:
                score.killed += 1
            else:
                score.survivors.append(mutant)
        time.sleep(0.02)
    if score.killed and not score.survivors:
        _check_baseline(room, chosen[0], covering)
    score.left, score.seconds = len(waiting), time.monotonic() - began
    return score


def _check_baseline(room: str, mutant: Mutant, covering: Covering) -> None:
    """Raise RuntimeError when a room's tests fail without a mistake, which would notice everything."""
    child = _fork(replace(mutant, text=mutant.was), covering.tests_of(room, mutant))
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise RuntimeError(f"the tests of {room} fail without a planted mistake")


def _fork(mutant: Mutant, tests: list[list[str]]) -> int:
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        os.setsid()  # so that everything a test has started ends with it
        code = _test(mutant, tests)
    finally:
        os._exit(code)


class _Chosen:
    """Keeps the chosen tests of those that were collected."""

    def __init__(self, tests: list[str]) -> None:
        self.tests = set(tests)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.tests]


def _test(mutant: Mutant, tests: list[list[str]]) -> int:
    quiet()
    sys.meta_path.insert(0, Planted(mutant))
    for stage in tests:
        files = dict.fromkeys(test.partition("::")[0] for test in stage)
        code = int(pytest.main(["-x", *OPTIONS, *files], plugins=[_Chosen(stage)]))
        if code and code != pytest.ExitCode.NO_TESTS_COLLECTED:
            return code
    return 0


def _ended(running: dict[int, Any]) -> Iterator[tuple[int, bool]]:
    """Yield the processes that have ended, and whether a test failed; end those that hang."""
    for child, (_, end) in list(running.items()):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            yield child, os.waitstatus_to_exitcode(status) != 0
        elif time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            yield child, True


class Planted(importlib.abc.MetaPathFinder):
    """Finds one module with a mistake in it, in place of the file's own text."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = mutant.path.removesuffix(".py").replace("/", ".")
        self.mutant = mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the module with the mistake, None for any other."""
        if name != self.name:
            return None
        location = str(ROOT / self.mutant.path)
        return importlib.util.spec_from_file_location(name, location, loader=_Loader(name, location, self.mutant))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        source = (ROOT / self._mutant.path).read_text(encoding="utf-8")
        return compile(self._mutant.apply(source), self.path, "exec", dont_inherit=True)
