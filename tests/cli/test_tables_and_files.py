"""What grade, learn, lab and export print and write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

from toolkit.__main__ import main
from toolkit.cli import aligned, export, grade, lab, wrapped


def test_cells_are_aligned_left_or_right() -> None:
    rows = [["a", "b"], ["long", "1"], ["", "123"]]
    assert aligned(rows) == ["a     b", "long  1", "      123"]
    assert aligned(rows, [False, True]) == ["a       b", "long    1", "      123"]
    assert aligned(rows, [True, False]) == ["   a  b", "long  1", "      123"]


@pytest.mark.parametrize(("columns", "margin", "width"), [(30, 0, 80), (100, 0, 100), (300, 0, 120), (100, 3, 97)])
def test_text_is_wrapped_to_the_terminal_between_80_and_120(
    columns: int, margin: int, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    wrapped("a " * 200, "  1. ", margin=margin)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("  1. a a")
    assert all(line.startswith("     a") for line in lines[1:])
    assert max(map(len, lines)) in (width - 1, width)
    wrapped("a " * 200, least=60)
    widest = max(map(len, capsys.readouterr().out.splitlines()))
    assert widest in ((59, 60) if columns == 30 else (min(columns, 120) - 1, min(columns, 120)))


GRADED = pd.DataFrame(
    {
        "notebook": ["b.ipynb", "b.ipynb", "a.ipynb"], "points": [2.0, 1.5, 1.0],
        "cell": pd.array([None, 3, None], "Int64"),
        "reached": [2.0, 0.0, 1.0], "about": ["runs", "the spread", "runs"], "why": ["", "NameError: x", ""],
    }
)  # fmt: skip
GRADED.attrs["seed"] = 3


@pytest.mark.parametrize("trusted", [False, True])
def test_grading_prints_points_and_what_was_missed_by_notebook(
    trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(grade, "grade", lambda *args, **given: seen.append((args, given)) or GRADED)
    words = ["grade", "in", "--checks", "c.py", "--seconds", "9", "--memory", "64", "--jobs", "2", "--seed", "3"]
    assert main([*words, "--container", "i", "--feedback", "f", *(["--trust-students"] if trusted else [])]) == 0
    given = {
        "seconds": 9.0,
        "jobs": 2,
        "seed": 3,
        "files": None,
        "container": "i",
        "trust_students": trusted,
        "feedback": Path("f"),
    }
    assert seen == [((Path("in"), Path("c.py")), {"memory_mb": 64, **given})]
    captured = capsys.readouterr()
    assert captured.out == (
        "a.ipynb: 1 of 1 points\nb.ipynb: 2 of 3.5 points (cell 3 failed)\n   missed 1.5: the spread – NameError: x\n"
        "seed of the graded venues: 3\n"
    )
    assert captured.err == "without a jail: the notebooks run as you, and can read your files and keys\n" * trusted


def test_grades_are_written_in_the_forms_that_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grade, "grade", lambda *args, **given: GRADED)
    seen: list[Any] = []
    monkeypatch.setattr(grade, "write_table", lambda rows, path: seen.append(path))
    monkeypatch.setattr(grade, "write_points", lambda rows, path, form, title: seen.append((path, form, title)))
    assert main(["grade", "in"]) == 0
    assert seen == []
    main(["grade", "in", "--report", "r.csv", "--canvas", "c", "--moodle", "m", "--title", "T"])
    assert seen == [Path("r.csv"), (Path("c"), "canvas", "T"), (Path("m"), "moodle", "T")]


def test_walkthroughs_are_copied_once_and_replaced_only_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    assert main(["learn", str(folder), "--without-solutions"]) == 0
    lessons = sum(path.is_file() for path in folder.rglob("*"))
    assert capsys.readouterr().out == f"{lessons} files are in {folder}. Open them with: toolkit lab {folder}\n"
    assert not (folder / "solutions").exists()
    changed = folder / "01-first-trade.ipynb"
    changed.write_text("mine")
    assert main(["learn", str(folder), "--without-solutions"]) == 0
    assert capsys.readouterr().out == f"{folder} has them all already. --overwrite replaces them.\n"
    assert changed.read_text() == "mine"
    assert main(["learn", str(folder), "--overwrite"]) == 0
    assert changed.read_text() != "mine"
    assert (folder / "solutions").is_dir()
    (tmp_path / "file").touch()
    assert main(["learn", str(tmp_path / "file" / "x")]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("toolkit learn: ")


@pytest.mark.parametrize("quiet", [False, True])
def test_the_lab_is_started_at_the_index_of_the_copy(
    quiet: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(lab, "need", lambda package: None)
    monkeypatch.setattr(lab.subprocess, "call", lambda command: seen.append(command) or 7)
    assert main(["lab", str(tmp_path), *(["--no-browser"] if quiet else [])]) == 7
    begin = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--notebook-dir={tmp_path}",
        "--LabApp.default_url=/lab/tree/index.ipynb",
    ]
    assert seen == [[*begin, "--no-browser"] if quiet else begin]
    assert (tmp_path / "index.ipynb").is_file()
    (tmp_path / "file").touch()
    assert main(["lab", str(tmp_path / "file" / "x")]) == 1
    assert capsys.readouterr().err.startswith("toolkit lab: ")
    assert len(seen) == 1


VIEW, STATE = export.VIEW, export.STATE
PANEL = {"state": {"tk__picture": "<p>last</p>", "other": 1}}
STATES = {
    "panel": PANEL,
    "empty": {"state": {"picture": ""}},
    "box": {"state": {"children": ["IPY_MODEL_panel", "IPY_MODEL_empty", "IPY_MODEL_panel"]}},
}


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("panel", "<div><p>last</p></div>"),
        ("box", "<div><p>last</p><p>last</p></div>"),
        ("empty", "<b>saved</b>"),
        ("none", "<b>saved</b>"),
    ],
)
def test_a_widget_is_shown_by_its_last_picture_or_as_it_was_displayed(model: str, shown: str) -> None:
    data = {
        VIEW: {"model_id": model},
        "text/html": ["<b>", "saved</b>"],
        "application/javascript": "x",
        "text/plain": "t",
    }
    found = export.kept(data, STATES)
    assert {name: "".join(value) for name, value in found.items()} == {"text/html": shown, "text/plain": "t"}


def test_a_page_has_the_cells_and_nothing_that_runs_or_loads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("nbconvert")
    text = '# Title\n\n<script>alert(1)</script><img src="//x.example/a"><b onclick="go()">bold</b><link href="x">'
    cell = nbformat.v4.new_code_cell("1 + 1", outputs=[
        nbformat.v4.new_output("display_data", {VIEW: {"model_id": "panel"}, "text/plain": "Panel()"}),
        nbformat.v4.new_output("stream", text="printed"),
        nbformat.v4.new_output("execute_result", {"text/plain": "2"}, execution_count=3),
    ])  # fmt: skip
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text), cell])
    notebook.metadata["widgets"] = {STATE: {"state": STATES}}
    path = tmp_path / "a <b>.ipynb"
    nbformat.write(notebook, path)
    out = tmp_path / "page.html"
    assert main(["export", str(path), "--out", str(out)]) == 0
    html = out.read_text(encoding="utf-8")
    size = len(html.encode()) / 1000
    assert capsys.readouterr().out == f"wrote {out}: {size:,.0f} kB, without scripts\n"
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    head += '<meta name="viewport" content="width=device-width">'
    assert html.startswith(f"{head}<title>a &lt;b&gt;</title><style>")
    assert html.endswith("\n</body></html>\n")
    for words in ("<p>last</p>", "printed", "<b>bold</b>", "data-not-loaded="):
        assert words in html
    for words in ("alert(1)", "onclick", "<link", "src=", "Panel()", "In\xa0[", "[3]", "<script"):
        assert words not in html
