"""Mistakes are planted where they are meant to be, and noticed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
    everything = [[f"{near}::b", f"{near}::c"], [f"{other}::a", f"{other}::d"]]
    assert met(9, 9) == met(7, 7, called=False) == everything, "what an import runs, any test may notice"


def test_the_floor_is_judged_by_what_a_sample_can_tell() -> None:
    mutant = mutants("f.py", SOURCE)[0]

    def score(killed: int, survived: int) -> Score:
        return Score("x", killed, [mutant] * survived)

    assert score(20, 0).may_reach_the_floor
    assert score(16, 4).may_reach_the_floor
    assert not score(15, 5).may_reach_the_floor
    assert score(90, 10).rate == 0.9
    assert not score(800, 200).may_reach_the_floor


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are planted in forked processes")
def test_a_mistake_is_noticed_and_a_harmless_change_is_not() -> None:
    """In a process of its own: this one has imported the module already."""
    code = """
from tests.mutation.mutants import Mutant
from tests.mutation import covering, rooms, runner
source = (rooms.ROOT / "toolkit/environments.py").read_text()
at = source.index("42161,")
rooms.ROOMS["x"] = rooms.Room(["toolkit/environments.py"], ["tests/test_environments.py"])
place = ("toolkit/environments.py", 1, at, at + 5)
made = [Mutant(*place, text, "42161", called=False) for text in ("42162", "42160 + 1", "1 / 0")]
score = runner.run("x", made, 1, covering.trace(["x"], 1))
print(score.killed, [one.text for one in score.survivors])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.split("\\n")[0].strip() == "2 ['42160 + 1']", done.stdout + done.stderr
