"""Mistakes are planted where they are meant to be, and noticed."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.mutation.__main__ import TURN, in_turn
from tests.mutation.covering import Covering
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.rooms import ROOMS, ROOT
from tests.mutation.runner import Score, mutants_of, sample

SOURCE = '''"""A text with 1 number."""

def f(a: int = 3, *, b: str = "x") -> bool:
    """Doc 5."""
    if a < 4 and b:
        a += 1
        print("ü", a * 2)
    raise ValueError(f"{a + 1}")


def __repr__(self) -> str:
    return 1 + 1
'''
MUTANT = mutants("f.py", SOURCE)[0]


def test_every_kind_of_mistake_is_made_once_and_compiles() -> None:
    made = mutants("f.py", SOURCE)
    texts = {(one.line, one.was, one.text) for one in made}
    assert texts == {
        (3, "3", "4"),
        (5, "a < 4 and b", "(not (a < 4 and b))"),
        (5, "a < 4 and b", "(a < 4 or b)"),
        (5, "a < 4 and b", "(a < 4)"),
        (5, "a < 4 and b", "(b)"),
        (5, "a < 4", "(a <= 4)"),
        (5, "4", "5"),
        (6, "a += 1", "a -= 1"),
        (6, "1", "2"),
        (7, 'print("ü", a * 2)', "pass"),
        (7, "a * 2", "(a + 2)"),
        (7, "2", "3"),
    }
    assert {(one.line, one.lines, one.called) for one in made} == {
        (3, (3, 3), False),  # a default is computed while the module is imported
        (5, (5, 5), True),
        (6, (6, 6), True),
        (7, (7, 7), True),
    }
    for one in made:
        changed = one.apply(SOURCE)
        assert changed != SOURCE
        compile(changed, "f.py", "exec")


def test_only_the_strict_zip_of_equal_lengths_is_left_alone() -> None:
    source = "zip(a[1], b, strict=True)\nzip(a, b, strict=False)\npath.resolve(strict=True)\n"
    planted = {(one.line, one.was) for one in mutants("f.py", source)}
    assert planted >= {(1, "1"), (2, "False"), (3, "True")}
    assert (1, "True") not in planted


def test_a_sample_is_drawn_by_its_seed() -> None:
    assert sample("checks", 20, 1) == sample("checks", 20, 1) != sample("checks", 20, 2)
    for name, room in ROOMS.items():
        assert len(room.files()) > 0
        assert len(mutants_of(name)) > 50
        assert all((ROOT / test).exists() for test in room.tests)


def test_a_mutant_meets_the_tests_that_run_its_statement() -> None:
    path, near = "toolkit/margin.py", "tests/test_margin.py"
    other, slow = "tests/venue/risk/test_account_margin.py", "tests/venue/risk/test_account_margin.py::slow"
    seconds = {f"{other}::a": 0.1, f"{near}::b": 1.0, f"{near}::c": 0.1, f"{other}::d": 0.1}
    lines = {(path, 7): {f"{near}::b", other, slow}, (path, 8): {f"{near}::c"}, (path, 9): {""}}
    covering = Covering(seconds, lines)

    def met(first: int, last: int, called: bool = True) -> list[list[str]]:
        return covering.tests_of("margin", Mutant(path, first, 0, 1, "", "x", (first, last), called))

    assert met(7, 7) == [[f"{near}::b"], [f"{other}::a", f"{other}::d"]], "a fixture's lines count for all of the file"
    assert met(8, 8) == [[f"{near}::c"]]
    assert met(1, 6) == [], "nothing runs it"
    everything = [[f"{near}::c", f"{near}::b"], [f"{other}::a", f"{other}::d"]]
    assert met(9, 9) == met(7, 7, called=False) == everything, "what an import runs, any test may notice"


def test_a_good_room_hardly_ever_fails_by_chance() -> None:
    def chance(rate: float, total: int) -> float:
        """Return how often a sample of a room whose tests notice `rate` fails."""
        fails = [lost for lost in range(total + 1) if not Score("x", total - lost, [MUTANT] * lost).may_reach_the_floor]
        return sum(math.comb(total, lost) * (1 - rate) ** lost * rate ** (total - lost) for lost in fails)

    assert max(chance(0.92, total) for total in range(1, 121)) * TURN < 0.005
    assert max(chance(0.9, total) for total in range(1, 121)) < 0.005
    assert chance(0.7, 40) > 0.65


def test_every_room_has_its_turn_as_often_as_any_other() -> None:
    rooms, met = list(ROOMS), Counter[str]()
    for turn in range(len(rooms)):
        chosen = in_turn(rooms, turn)
        assert len(set(chosen)) == TURN
        met.update(chosen)
    assert set(met.values()) == {TURN}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are planted in forked processes")
def test_a_mistake_is_noticed_and_a_harmless_change_is_not() -> None:
    """In a process of its own: this one has imported the module already."""
    code = """
from tests.mutation.mutants import Mutant
from tests.mutation import covering, rooms, runner
source = (rooms.ROOT / "toolkit/environments.py").read_text()
rooms.ROOMS["x"] = rooms.Room(["toolkit/environments.py"], ["tests/test_environments.py"])

def made(was, text, called):
    at = source.index(was)
    line = source[:at].count("\\n") + 1
    return Mutant("toolkit/environments.py", line, at, at + len(was), text, was, (line, line), called)

imported = [made("42161", text, False) for text in ("42162", "42160 + 1", "1 / 0")]
secure = 'parts.scheme in ("https", "wss")'
called = [made(secure, text, True) for text in ("False", 'parts.scheme in ("wss", "https")', "1 / 0")]
score = runner.run("x", imported + called, 2, covering.trace(["x"], 1))
print(score.killed, sorted(one.text for one in score.survivors), score.dropped)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100, check=True
    )
    survived = ["42160 + 1", 'parts.scheme in ("wss", "https")']
    assert done.stdout.split("\\n")[0].strip() == f"4 {survived} []", done.stdout + done.stderr
