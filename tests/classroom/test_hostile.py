"""Hostile hand-ins: each is its own row, costs nothing of its neighbours, and what was right before it counts."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path

import pandas as pd
import pytest

from tests.classroom.hostile import CELLS, CHECKS, CONTENTS, KINDS, RIGHT, book, hand_in
from toolkit.classroom.grading import grade

HONEST = {"a first": book(RIGHT, "odd = 7"), "zz last": book(RIGHT, "odd = 7")}
QUICK = ("leaves", "forged messages", "deep value", "an error with escapes")
SLOW = ("endless", "memory", "huge exponent", *list(CELLS)[::4])
"""Attacks of each kind, and those that use up what they are allowed."""


def graded(
    tmp_path: Path, contents: dict[str, str | bytes], kinds: dict[str, object], **options: object
) -> pd.DataFrame:
    (tmp_path / "checks.py").write_text(CHECKS, encoding="utf-8")
    hand_in(tmp_path / "in", {**HONEST, **contents}, kinds)  # type: ignore[arg-type]
    options = {"seconds": 8, "memory_mb": 700, **options}
    rows = grade(tmp_path / "in", tmp_path / "checks.py", **options)  # type: ignore[arg-type]
    assert len(rows) == 2 * (len(HONEST) + len(contents) + len(kinds))
    points = rows.groupby("notebook")["reached"].sum()
    assert [points[f"{name}.ipynb"] for name in HONEST] == [2, 2]
    for text in (*rows["notebook"], *rows["why"], *rows["hint"]):
        assert not [each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs")], text
    return rows.set_index("notebook")[~rows.set_index("notebook").index.isin([f"{name}.ipynb" for name in HONEST])]


@pytest.mark.slow
@pytest.mark.jail
def test_a_file_that_is_no_notebook_is_its_own_row_and_ends_nothing(tmp_path: Path) -> None:
    rows = graded(tmp_path, CONTENTS, KINDS)
    wrong = rows[~rows.index.isin(["no code.ipynb", "surrogate.ipynb"])]
    assert wrong["why"].str.contains("it is not a notebook").all(), wrong["why"].tolist()
    assert rows["reached"].sum() == 0


@pytest.mark.jail
@pytest.mark.parametrize(
    "names",
    [
        QUICK,
        pytest.param(SLOW, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
        pytest.param(tuple(CELLS), marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
    ids=["quick", "each kind", "all"],
)
def test_an_attack_in_a_later_cell_costs_its_own_points_only(tmp_path: Path, names: tuple[str, ...]) -> None:
    rows = graded(tmp_path, {name: book(RIGHT, CELLS[name]) for name in names}, {})
    points = rows.set_index("check", append=True)["reached"].unstack()
    assert points["check_odd"].sum() == 0
    lost = points.index[points["check_answer"] == 0]
    assert list(lost) == [], rows.loc[lost, "why"].tolist()


@pytest.mark.slow
@pytest.mark.jail
def test_the_command_prints_nothing_that_a_notebook_can_use_against_a_terminal_or_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text(CHECKS, encoding="utf-8")
    name = "=1+1 \x1b[2J"
    hand_in(tmp_path / "in", {name: book("odd = '\\x1b]0;owned\\x07'", "raise ValueError('\\x1b[2J\\n@SUM(A1)')")}, {})
    line = [sys.executable, "-m", "toolkit", "grade", str(tmp_path / "in"), "--checks", str(tmp_path / "checks.py")]
    report, pages = tmp_path / "report.csv", tmp_path / "pages"
    done = subprocess.run(
        [*line, "--report", str(report), "--feedback", str(pages)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "cell 2: ValueError" in done.stdout
    assert not [each for each in done.stdout if unicodedata.category(each) == "Cc" and each != "\n"]
    assert pd.read_csv(report)["notebook"].str.startswith("'=1+1").all()
    assert len(list(pages.iterdir())) == 1
