"""Feedback from the marks: a page for each student, and the points as Canvas and Moodle import them."""

from __future__ import annotations

import html
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_CANVAS = re.compile(r"(?P<name>[^_/]+)_(?:LATE_)?(?P<id>\d+)_\d+_[^/]*")
_MOODLE = re.compile(r"(?P<name>[^/]+)_(?P<id>\d+)_assignsubmission_file_?(/.*)?")
_FORMULA = re.compile(r"^(?=[=+@\t\r-])")


def student_of(notebook: str) -> tuple[str, str]:
    """Return name and number of a student from the name that Canvas or Moodle gave a file.

    For other names it is the folder, and "".

    Parameters
    ----------
    notebook : str
        Path of the notebook below the folder of all.
    """
    found = _MOODLE.fullmatch(notebook) or _CANVAS.fullmatch(notebook)
    if found:
        return found["name"], found["id"]
    return notebook.partition("/")[0].removesuffix(".ipynb"), ""


def write_points(table: pd.DataFrame, path: Path, form: str, title: str) -> None:
    """Write a CSV file with the points of each student.

    `title` is the name of the assignment. Raises InputError for a file that can't be written.

    Parameters
    ----------
    table : DataFrame
        Marks as `grade` returns them.
    path : Path
        File to write.
    form : {"canvas", "moodle"}
        Whose columns the file has.
    title : str
        Name of the assignment.

    Raises
    ------
    InputError
        If the file can't be written.
    """
    import pandas as pd

    points: dict[tuple[str, str], list[float]] = {}
    most = 0.0
    for name, mine in table.groupby("notebook", sort=True):
        points.setdefault(student_of(str(name)), []).append(float(mine["reached"].sum(skipna=False)))
        most = max(most, float(mine["points"].sum()))
    rows: list[tuple[object, ...]] = []
    if form == "canvas":
        columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]
        rows.append(("    Points Possible", "", "", "", "", most))
    else:
        columns = ["Identifier", "Full name", "Grade", "Maximum Grade"]
    for (name, number), reached in points.items():
        # No points, and not 0, for a student of whom nothing was graded.
        best = max((each for each in reached if each == each), default=None)
        moodle = f"Participant {number}" if number else "", name, best, most
        rows.append((name, number, "", "", "", best) if form == "canvas" else moodle)
    write_table(pd.DataFrame(rows, columns=columns), path)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as .csv, or .parquet.

    In CSV no text of a student begins as a formula of a spreadsheet does.

    Parameters
    ----------
    table : DataFrame
        Any frame.
    path : Path
        File to write.

    Raises
    ------
    InputError
        If the file can't be written.
    """
    try:
        if path.suffix == ".parquet":
            table.to_parquet(path, index=False)
        else:
            table.map(lambda each: _FORMULA.sub("'", each) if isinstance(each, str) else each).to_csv(path, index=False)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error}", field="report", value=str(path)) from None


def write_pages(table: pd.DataFrame, folder: Path) -> None:
    """Write a page for each notebook: the questions, what is right, and hints, without hidden answers.

    Raises InputError for a folder that can't be written.

    Parameters
    ----------
    table : DataFrame
        Marks as `grade` returns them.
    folder : Path
        Folder to write to, made if missing.

    Raises
    ------
    InputError
        If the folder can't be written.
    """
    head = resources.files("toolkit.classroom").joinpath("pages", "head.html").read_text(encoding="utf-8")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, (name, mine) in enumerate(table.groupby("notebook", sort=True), 1):
            safe = re.sub(r"[^\w.-]+", "-", str(name))[:80].strip(".-")
            (folder / f"{number:03} {safe}.html").write_text(head + _page(str(name), mine), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error}", field="feedback", value=str(folder)) from None


def _page(name: str, mine: pd.DataFrame) -> str:
    title = html.escape(name)
    lines = [f"<title>{title}</title></head><body><h1>{title}</h1>"]
    if mine["reached"].isna().any():
        return "\n".join([*lines, "<p>It was not graded, because the grader's machine failed.</p></body></html>\n"])
    lines.append(f"<p>{mine['reached'].sum():g} of {mine['points'].sum():g} points</p>")
    failed = mine["cell"].dropna()
    if len(failed):
        lines.append(f"<p>Cell {failed.iloc[0]} failed, or was stopped, when the notebook was run.</p>")
    lines.append("<table><tr><th>What was asked</th><th>Points</th><th></th><th>Hint</th></tr>")
    row: Any
    for row in mine.to_dict("records"):
        right = row["reached"] >= row["points"]
        cells = (row["about"], f"{row['reached']:g} of {row['points']:g}", "right" if right else "not yet", row["hint"])
        lines.append("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>")
    return "\n".join([*lines, "</table></body></html>\n"])
