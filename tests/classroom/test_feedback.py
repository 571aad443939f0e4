"""What becomes of marks: pages for students without hidden answers, points as Canvas and Moodle import them."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from toolkit.classroom import feedback
from toolkit.classroom.grading import COLUMNS
from toolkit.classroom.marking import Work, checks_of, judge
from toolkit.errors import InputError

CHECKS = '''
def check_sum(work):
    """The sum of 1, 2 and 3"""
    assert work.value("total") == 6, "add all three <numbers>"

check_sum.points = 2

def check_size(work):
    """The size"""
    assert work.value("size") == 0.016, "0.016 is right"

check_size.hint = "how much may be lost?"

def check_secret(work):
    """The secret"""
    raise ValueError("the answer is 42")
'''


def marked(tmp_path: Path, handed_in: dict[str, dict[str, float]]) -> pd.DataFrame:
    (tmp_path / "checks.py").write_text(CHECKS, encoding="utf-8-sig")
    rows = []
    for name, values in handed_in.items():
        work = Work(Path(name), "", values=values)
        for check in checks_of(tmp_path / "checks.py"):
            failed = 2 if "odd" in values else None
            rows.append((name, check.name, check.about, check.points, *judge(work, check), failed, 1.0, 50.0))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"cell": "Int64"})


def test_a_page_says_what_was_asked_what_is_right_and_hints_but_no_hidden_answer(tmp_path: Path) -> None:
    table = marked(tmp_path, {"<b>ann.ipynb": {"total": 6, "size": 1}, "bo/x.ipynb": {"total": 5, "odd": 1}})
    feedback.write_pages(table, tmp_path / "pages")
    first, second = (path.read_text(encoding="utf-8") for path in sorted((tmp_path / "pages").iterdir()))
    assert "&lt;b&gt;ann" in first
    assert "2 of 4 points" in first
    assert "<td>The sum of 1, 2 and 3</td><td>2 of 2</td><td>right</td><td></td>" in first
    assert "<td>The size</td><td>0 of 1</td><td>not yet</td><td>how much may be lost?</td>" in first
    assert "Cell 2 failed" in second
    assert "add all three &lt;numbers&gt;" in second
    for page in (first, second):
        assert not [hidden for hidden in ("0.016", "42", "<b>", "<numbers>") if hidden in page]
    assert "0.016 is right" in set(table["why"])  # the teacher reads it
    with pytest.raises(InputError, match="can't be written"):
        feedback.write_pages(table, tmp_path / "checks.py" / "pages")


NAMES = {
    "lovelaceada_LATE_1234_99_sheet.ipynb": ("lovelaceada", "1234"),
    "lovelaceada_1234_99_my sheet_2.ipynb": ("lovelaceada", "1234"),
    "Ada Lovelace_77_assignsubmission_file_/sheet.ipynb": ("Ada Lovelace", "77"),
    "Ada Lovelace_77_assignsubmission_file/sheet.ipynb": ("Ada Lovelace", "77"),
    "ada/sheet.ipynb": ("ada", ""),
    "ada.ipynb": ("ada", ""),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_student_is_known_by_what_canvas_or_moodle_called_the_file(name: str) -> None:
    assert feedback.student_of(name) == NAMES[name]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("canvas", [
            ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Sheet 1"],
            ["    Points Possible", "", "", "", "", "4.0"],
            ["'=ada", "", "", "", "", "2.0"], ["bo", "7", "", "", "", "3.0"],
        ]),
        ("moodle", [
            ["Identifier", "Full name", "Grade", "Maximum Grade"],
            ["", "'=ada", "2.0", "4.0"], ["Participant 7", "bo", "3.0", "4.0"],
        ]),
    ],
)  # fmt: skip
def test_points_are_written_as_they_are_imported_and_the_best_notebook_counts(
    form: str, expected: list[list[str]], tmp_path: Path
) -> None:
    name = "bo_7_{}_x.ipynb" if form == "canvas" else "bo_7_assignsubmission_file_/{}.ipynb"
    right, wrong = {"total": 6, "size": 0.016}, {"total": 6}
    table = marked(tmp_path, {"=ada/x.ipynb": wrong, name.format(1): wrong, name.format(2): right})
    feedback.write_points(table, tmp_path / "points.csv", form, "Sheet 1")
    with open(tmp_path / "points.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == expected


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_report_keeps_its_values_and_only_a_csv_file_hides_formulas(suffix: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"why": ["=1+1", "-2", "a=b"], "reached": [-1.5, 2.0, 0.0]}, index=[5, 6, 7])
    path = tmp_path / f"report{suffix}"
    feedback.write_table(table, path)
    if suffix == ".csv":
        assert path.read_text(encoding="utf-8").splitlines() == ["why,reached", "'=1+1,-1.5", "'-2,2.0", "a=b,0.0"]
    else:
        pd.testing.assert_frame_equal(pd.read_parquet(path), table.reset_index(drop=True))
    with pytest.raises(InputError, match="can't be written") as raised:
        feedback.write_table(table, tmp_path / "missing" / path.name)
    assert raised.value.field == "report"
