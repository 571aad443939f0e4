"""Runs mutants in forked processes, several at a time, and counts which are noticed."""

from __future__ import annotations

import importlib
import math
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from .covering import Covering
from .forks import ENDED, IMPORT, UNPLANTED, Children, Prepared, Stages, run_fresh
from .mutants import Mutant, mutants
from .planting import Planted
from .rooms import ROOMS, ROOT

FLOOR = 0.9
"""Part of a room's mutants that its tests must notice."""
CERTAIN, FEWEST = 0.995, 10
"""How certain it must be that a room is below the floor before its sample fails, and from how many mutants on.

A sample is drawn anew with each commit, so it must not fail by chance: of 40 mutants 11 have to survive. A room at
92 % fails in 0.02 % of such samples, and in at most 0.16 % of those that the time has cut to any number; two rooms a
run make that 0.32 %. A room at 70 % fails in 69 %, so it is found within a few of its turns.
"""
HANGS_SECONDS = 30.0
"""A mutant that takes this much more than three times its tests' time hangs, which is noticed as well."""
_HEAVY = (
    "numpy",
    "pandas",
    "hypothesis",
    "httpx",
    "msgspec",
    "btclib_libsecp256k1",
    "eth_account",
    "google.protobuf",
    "websockets",
)


@dataclass(slots=True)
class Score:
    """What came of the mutants of one room; `left` were not run, because the time was over."""

    room: str
    killed: int = 0
    survivors: list[Any] = field(default_factory=list)
    left: int = 0
    seconds: float = 0.0
    dropped: list[str] = field(default_factory=list)
    """Tests that failed without a mistake as well."""

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
        """False where a sample has so many survivors that the whole is below the floor with `CERTAIN` certainty."""
        lost = len(self.survivors)
        fewer = sum(
            math.comb(self.total, count) * (1 - FLOOR) ** count * FLOOR ** (self.total - count) for count in range(lost)
        )
        return self.total < FEWEST or fewer <= CERTAIN


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
    """Run mutants, `jobs` at a time, and begin none after `seconds`; return the score."""
    for name in _HEAVY:  # forked processes share what was imported before
        importlib.import_module(name)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Prepared(ROOMS[room].test_files(), folder) as prepared,
    ):
        return _Run(room, covering, prepared, Children(folder)).all(chosen, jobs, seconds)


class _Run:
    """The run of one room.

    A test has noticed a mistake if it fails with it and passes without it. One that fails without it as well is
    dropped, and its mutants are run again.
    """

    def __init__(self, room: str, covering: Covering, prepared: Prepared, fresh: Children) -> None:
        self.score = Score(room)
        self.covering = covering
        self.prepared = prepared
        self.fresh = fresh
        self.waiting: list[Mutant] = []
        self.trusted = {ENDED}
        self.doubtful: dict[str, list[Mutant]] = {}
        """Mutants that a test noticed that has not run without a mistake yet."""

    def all(self, chosen: Sequence[Mutant], jobs: int, seconds: float) -> Score:
        """Return the score of mutants, of those that begin within `seconds`."""
        began, self.waiting = time.monotonic(), list(chosen)
        while True:
            while self.waiting and self._running < jobs and time.monotonic() - began < seconds:
                self._start(self.waiting.pop(0))
            if not self._running:
                break
            for key, by in [*self.fresh.ended(), *self.prepared.ended()]:
                if isinstance(key, str):
                    self._tried(key, by)
                else:
                    self._ended(key, by)
            time.sleep(0.01)
        self.score.left, self.score.seconds = len(self.waiting), time.monotonic() - began
        return self.score

    @property
    def _running(self) -> int:
        return len(self.fresh.running) + self.prepared.running

    def _start(self, mutant: Mutant, *, fresh: bool = False) -> None:
        stages = self.covering.tests_of(self.score.room, mutant)
        seconds = 3 * sum(self.covering.seconds[test] for stage in stages for test in stage) + HANGS_SECONDS
        if not stages:
            self.score.survivors.append(mutant)
        elif fresh or self.covering.imported(mutant):
            self.fresh.start(mutant, seconds, partial(_run_planted, mutant, stages))
        else:
            self.prepared.start(mutant, seconds, mutant, stages)

    def _ended(self, mutant: Mutant, by: str) -> None:
        """Count a mutant that is through, or have the test that noticed it run without a mistake."""
        if by == UNPLANTED:
            self._start(mutant, fresh=True)
        elif not by:
            self.score.survivors.append(mutant)
        elif by in self.trusted:
            self.score.killed += 1
        elif by in self.doubtful:
            self.doubtful[by].append(mutant)
        else:
            self.doubtful[by] = [mutant]
            if by == IMPORT:  # the same files are collected, and none of their tests is run
                files = [
                    [test.partition("::")[0] for test in stage]
                    for stage in self.covering.tests_of(self.score.room, mutant)
                ]
                self.fresh.start(by, 10 * HANGS_SECONDS, partial(_run_planted, replace(mutant, text=mutant.was), files))
            else:
                self.prepared.start(by, 10 * HANGS_SECONDS, None, [[by]])

    def _tried(self, test: str, by: str) -> None:
        """Count the mutants that a test has noticed, or drop the test, which fails without a mistake as well."""
        mutants = self.doubtful.pop(test)
        if not by:
            self.trusted.add(test)
            self.score.killed += len(mutants)
        elif test == IMPORT:
            raise RuntimeError(f"the tests of {self.score.room} can't be collected again")
        else:
            self.score.dropped.append(test)
            self.covering.seconds.pop(test, None)
            self.waiting = mutants + self.waiting


def _run_planted(mutant: Mutant, stages: Stages) -> str:
    sys.meta_path.insert(0, Planted(mutant))
    return run_fresh(stages)
