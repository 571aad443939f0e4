"""Marks: what a check reads of a notebook's report, what each result says, and what no text may hide."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pandas as pd
import pytest

from toolkit.classroom import marking
from toolkit.classroom.marking import Assignment, Check, Mark, Work, checks_of, judge, marks, names_of, plain
from toolkit.classroom.notebook_worker import Report

HIDDEN = {
    "a\x1b[31mred\x1b[0m\x1b[2J": ("ared", "ared"),
    "one\n  two\tthree ": ("one two three", "one\n  two\tthree "),
    "a\x07b\u202ec\u2028d\ud800e": ("a�b�c d�e", "a�b�c�d�e"),  # a line separator counts as white space
    "a\x1bb\r": ("a�b", "a�b�"),
    "wörter 💶": ("wörter 💶", "wörter 💶"),
}


@pytest.mark.parametrize("text", HIDDEN)
def test_a_text_keeps_nothing_that_moves_a_cursor_or_hides_what_is_written(text: str) -> None:
    assert (plain(text), plain(text, lines=True)) == HIDDEN[text]


def test_a_work_has_the_first_error_the_outputs_lines_and_each_value_that_is_well_formed() -> None:
    report = Report(
        errors=["", "Zero\x1b[31m\nDivision", "later"],
        values={"total": "6", "deep": "[" * 900, "half": '{"a', "names": '{"list": ["a"]}'},
        output="one\n\x1b[1mtwo\x07",
        seconds=1.5,
        memory_mb=70.0,
    )
    path = Path("ann.ipynb")
    expected = Work(
        path, "cell 2: Zero Division", "one\ntwo�", 1.5, 70.0, {"total": 6, "names": {"list": ["a"]}},
        ["", "Zero Division", "later"], ["total"],
    )  # fmt: skip
    assert Work.of(path, report, ["total"]) == expected
    assert Work.of(path, Report(failure="no\nnotebook", errors=["x"])).error == "no notebook"
    assert Work.of(path, Report()) == Work(path, "", errors=[])


FRAME = {"data": [["p", 1], ["q", 2]], "columns": ["index", "x"]}
VALUES: dict[str, tuple[Any, object]] = {
    "plain": (1.5, 1.5),
    "decimal": ({"decimal": "1.50"}, Decimal("1.50")),
    "infinite": ({"decimal": "-Infinity"}, Decimal("-Infinity")),
    "most digits": ({"decimal": "1E400"}, Decimal("1E+400")),
    "smallest": ({"decimal": "1E-400"}, Decimal("1E-400")),
    "list": ({"list": [1, {"decimal": "2"}]}, [1, Decimal(2)]),
    "dict": ({"dict": [["a", {"list": []}], [{"decimal": "1"}, None]]}, {"a": [], Decimal(1): None}),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_in_its_kind(name: str) -> None:
    written, expected = VALUES[name]
    value = Work(Path("a"), "", values={"x": written}).value("x")
    assert (type(value), value) == (type(expected), expected)


def test_a_frame_has_its_index_as_columns_and_a_series_is_its_last_column() -> None:
    wide = {"data": [["p", "a", 1]], "columns": ["index", "kind", "x"]}
    work = Work(Path("a"), "", values={"table": {"frame": FRAME}, "row": {"series": FRAME}, "wide": {"series": wide}})
    pd.testing.assert_frame_equal(work.value("table"), pd.DataFrame({"index": ["p", "q"], "x": [1, 2]}))
    pd.testing.assert_series_equal(work.value("row"), pd.Series([1, 2], name="x"))
    assert work.value("wide").tolist() == [1]


def test_a_number_out_of_all_bounds_and_a_missing_variable_are_named() -> None:
    for text in ("1E401", "-1E-401"):
        with pytest.raises(ValueError, match="more than 400 digits"):
            Work(Path("a"), "", values={"x": {"decimal": text}}).value("x")
    for names, words in (
        (None, "the notebook left no 'y'"),
        (["y"], "the notebook left no 'y'"),
        (["x"], "'y' was not read"),
    ):
        work = Work(Path("a"), "", values={"x": 1}, names=names)
        assert work.value("x") == 1
        with pytest.raises(KeyError, match=words):
            work.value("y")


CHECKS = '''
check_count = 3

def helper(work):
    """No check"""

def check_first(work):
    """
    The first line
    and no second
    """
    print("a check prints")
    assert work.value("total") == 6, "the total"

check_first.points = 2.5
check_first.hint = "add"

def check_second(work):
    raise ValueError
'''


def test_checks_are_read_in_the_order_of_the_file_with_their_points_and_hints(tmp_path: Path) -> None:
    path = tmp_path / "checks.py"
    path.write_text(CHECKS, encoding="utf-8-sig")
    found = [(each.name, each.about, each.points, each.hint) for each in checks_of(path)]
    assert found == [("check_first", "The first line", 2.5, "add"), ("check_second", "check_second", 1.0, "")]


ASKED: dict[str, tuple[list[str] | None, list[str] | None]] = {
    "work.value('b'); work.value('a')": (["a", "b"], ["a", "b", "z"]),
    "work.value()": (None, ["z"]),
    "work.value(name)": (None, ["z"]),
    "work.value('a'); work.value(name)": (None, ["a", "z"]),
    "read = work.value; read('a')": (None, ["z"]),
    "print('printed'); len('text')": ([], ["z"]),
    "value('a'); values = 1": ([], ["z"]),
    "work.error.split('text')": ([], ["z"]),
}


@pytest.mark.parametrize("body", ASKED)
def test_the_variables_of_checks_are_their_constant_texts_and_listed_names_or_all(body: str, tmp_path: Path) -> None:
    path = tmp_path / "checks.py"
    path.write_text(f"def check_it(work):\n    {body}\n", encoding="utf-8-sig")
    listed = lambda work: None  # noqa: E731
    listed.names = ["z"]  # type: ignore[attr-defined]
    assert (names_of(path, []), names_of(path, [Check("check_it", "", 1, listed)])) == ASKED[body]


def raising(error: Exception) -> Callable[[Work], object]:
    def function(work: Work) -> None:
        raise error

    return function


JUDGED: dict[str, tuple[Exception, str, str, Mark]] = {
    "an assert": (AssertionError("the sum is 5"), "", "", Mark(0, "the sum is 5", "the sum is 5")),
    "an assert with a hint": (AssertionError("5"), "", "add", Mark(0, "5", "add")),
    "an assert without words": (AssertionError(), "", "", Mark(0, "AssertionError in check_it", "")),
    "a variable": (KeyError("no 'x'"), "", "", Mark(0, "no 'x'", "no 'x'")),
    "a bare KeyError": (KeyError(), "", "", Mark(0, "KeyError in check_it", "")),
    "a hidden answer": (ValueError("it is 42"), "", "", Mark(0, "it is 42", "")),
    "after an error": (AssertionError("no sum"), "cell 2: x", "", Mark(0, "no sum; cell 2: x", "no sum")),
    "the same error": (AssertionError("cell 2: x"), "cell 2: x", "", Mark(0, "cell 2: x", "cell 2: x")),
    "control": (AssertionError("a\x1b[1mb\n"), "", "h\x07", Mark(0, "ab", "h�")),
}  # fmt: skip


@pytest.mark.parametrize("case", JUDGED)
def test_a_mark_tells_the_teacher_why_and_the_student_a_hint(case: str) -> None:
    error, failed, hint, expected = JUDGED[case]
    assert judge(Work(Path("a"), failed), Check("check_it", "", 2, raising(error), hint)) == expected


def test_a_check_that_does_not_raise_gives_its_points_and_words_have_an_end() -> None:
    check = Check("check_it", "", 2.0, lambda work: False, "hint")
    work = Work(Path("a"), "cell 1: failed")
    assert judge(work, check) == Mark(2.0, "", "")
    long = Check("check_long", "", 1.0, raising(AssertionError("x" * 3_000)), "y" * 3_000)
    assert judge(work, long) == Mark(0.0, "x" * 2_000, "y" * 2_000)
    assert list(marks(work, [check, long])) == [(check, 2.0, ""), (long, 0.0, "x" * 2_000)]


def test_the_process_of_the_checks_answers_their_marks_alone_on_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = tmp_path / "checks.py"
    checks.write_text(f"import os\nos.write(1, b'loaded')\n{CHECKS}", encoding="utf-8")
    task = Assignment(os.fsencode(checks), b"ann.ipynb", Report(values={"total": "6"}))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(msgspec.json.encode(task))))
    kept, answers, printed = [os.dup(1), os.dup(2)], tmp_path / "answers", tmp_path / "printed"
    try:
        for number, path in ((1, answers), (2, printed)):
            with open(path, "wb") as file:
                os.dup2(file.fileno(), number)
        marking.main()
    finally:
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
    assert json.loads(answers.read_bytes()) == [[2.5, "", ""], [0.0, "ValueError in check_second", ""]]
    assert printed.read_bytes().startswith(b"loaded")
