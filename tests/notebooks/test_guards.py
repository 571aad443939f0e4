"""What every walkthrough promises: executed, honest, repeatable, free of secrets and of paths, and whole.

nbval compares the outputs (it runs on `notebooks/` with the other tests); these guards hold what nbval can't see.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from toolkit.venue import development

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
SOLUTIONS = FOLDER / "solutions"
WALKTHROUGHS = sorted(FOLDER.glob("[0-9]*.ipynb"))
SOLVED = sorted(SOLUTIONS.glob("*.ipynb"))
ALL = [*WALKTHROUGHS, FOLDER / "index.ipynb", *SOLVED]
SIZE = 150_000
COLUMNS = 124
"""Longest line of code: what a page shows without cutting it off."""
KNOWN_TAGS = {"exercise", "check", "final", "nbval-ignore-output", "raises-exception"}

PATHS = re.compile(r"(?<![\w./])/(?:work|tmp|home|root|Users|usr|var|opt|private)/|[A-Z]:\\\\?Users")
MEMORY = re.compile(r"\bat 0x[0-9a-fA-F]{6,}|<[\w.]+ object at ")
SECRET = re.compile(r"(?i)(?:private|secret|master|agent)[ _-]?key['\"]?\s*[:=]\s*['\"]?(?:0x)?[0-9a-f]{64}")
QUESTION = re.compile(r'(?m)^learn\.check\(\s*"([\w.-]+)"')
CHECKED = re.compile(r'(?m)^learn\.check\(\s*"[\w.-]+",\s*(\w+)')
HEX64 = re.compile(r"(?i)[0-9a-f]{64}")


@cache
def read(path: Path) -> dict[str, Any]:
    """Return a notebook as it stands in its file."""
    book: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return book


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def tags(cell: dict[str, Any]) -> set[str]:
    return set(cell["metadata"].get("tags", ()))


def cells(path: Path, kind: str = "code") -> list[dict[str, Any]]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == kind]


def prose(path: Path) -> list[str]:
    return [source(cell) for cell in cells(path, "markdown")]


def tree(path: Path) -> ast.Module:
    """Return the code of a notebook as one module, without lines for IPython."""
    text = "\n".join(source(cell) for cell in cells(path))
    return ast.parse(re.sub(r"(?m)^[%!].*$", "", text))


def named(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


each = pytest.mark.parametrize("path", ALL, ids=named)
each_walkthrough = pytest.mark.parametrize("path", WALKTHROUGHS, ids=named)


def test_the_walkthroughs_are_numbered_without_a_gap_and_each_has_its_solutions() -> None:
    assert [path.name[:3] for path in WALKTHROUGHS] == [f"{number:02}-" for number in range(1, len(WALKTHROUGHS) + 1)]
    assert [path.name for path in SOLVED] == [path.name for path in WALKTHROUGHS]


# ------------------------------------------------------------------------------------------- executed, and honestly


@each
def test_every_cell_was_executed_in_order_and_holds_code(path: Path) -> None:
    assert [cell["execution_count"] for cell in cells(path)] == list(range(1, len(cells(path)) + 1))
    assert all(source(cell).strip() for cell in cells(path))


@each
def test_an_error_is_shown_exactly_where_one_is_announced(path: Path) -> None:
    for cell in cells(path):
        failed = any(output["output_type"] == "error" for output in cell["outputs"])
        assert failed == ("raises-exception" in tags(cell)), source(cell)


@each
def test_nothing_is_written_to_stderr(path: Path) -> None:
    for cell in cells(path):
        assert not [output for output in cell["outputs"] if output.get("name") == "stderr"], source(cell)


@each
def test_tags_are_known_and_a_free_output_has_its_reason_in_the_text_before(path: Path) -> None:
    before = ""
    for cell in read(path)["cells"]:
        assert tags(cell) <= KNOWN_TAGS, tags(cell)
        if "nbval-ignore-output" in tags(cell):
            assert re.search(r"(?i)differ|depends on|not compared", before), source(cell)
        if cell["cell_type"] == "markdown":
            before = source(cell)


@each
def test_no_comment_switches_the_comparison_off(path: Path) -> None:
    assert not re.search(r"(?im)^\s*#\s*(nbval|pytest)[_-]", "\n".join(source(cell) for cell in cells(path)))


@each
def test_the_clock_stands_and_nothing_waits_or_draws_lots(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in {"time.sleep", "sleep", "datetime.now", "time.time", "random.random"}, called
            local = called.endswith("connect") and not any(isinstance(one, ast.Constant) for one in node.args)
            if called == "toolkit.connect" and local:
                options = {option.arg: ast.unparse(option.value) for option in node.keywords}
                assert "venue" in options or options.get("clock") == "'manual'", ast.unparse(node)


# ---------------------------------------------------------------------------------------------- nothing that leaks


@each
def test_sources_outputs_and_metadata_hold_no_key(path: Path) -> None:
    text = path.read_text(encoding="utf-8").lower()
    assert not SECRET.search(text)
    assert development.MNEMONIC not in text
    assert not [index for index in range(20) if development.account(index).key.hex() in text]
    for cell in cells(path):
        assert not HEX64.search(source(cell)), "64 hex digits in a source look like a key"


@each
def test_there_are_no_paths_of_a_machine_and_no_addresses_of_memory(path: Path) -> None:
    book = read(path)
    for cell in book["cells"]:
        texts = [source(cell)]
        for output in cell.get("outputs", ()):
            texts += ["".join(output.get("text", ()))]
            texts += ["".join(value) for name, value in output.get("data", {}).items() if not name.startswith("image/")]
        for text in texts:
            assert not PATHS.search(text), PATHS.search(text)
            assert not MEMORY.search(text), MEMORY.search(text)
    assert not PATHS.search(json.dumps(book["metadata"]))


@each
def test_metadata_holds_the_kernel_and_nothing_of_widgets_or_of_the_run(path: Path) -> None:
    book = read(path)
    assert set(book["metadata"]) <= {"kernelspec", "language_info"}
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    for cell in book["cells"]:
        assert set(cell["metadata"]) <= {"tags"}, cell["metadata"]
        for output in cell.get("outputs", ()):
            assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {})
            assert not output.get("metadata")


@each
def test_code_is_not_cut_off_at_the_edge_of_the_page(path: Path) -> None:
    for cell in cells(path):
        assert max(map(len, source(cell).splitlines())) <= COLUMNS


@each
def test_files_stay_small(path: Path) -> None:
    assert path.stat().st_size <= SIZE


# ------------------------------------------------------------------------------------------------ whole, and linked


@each
def test_links_lead_to_files_that_exist(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", "\n".join(prose(path))):
        if not re.match(r"[a-z]+:", target):
            assert (path.parent / target).is_file(), target


@each_walkthrough
def test_a_walkthrough_opens_with_what_you_will_be_able_to_do(path: Path) -> None:
    first = prose(path)[0]
    assert read(path)["cells"][0]["cell_type"] == "markdown"
    assert first.startswith(f"# {int(path.name[:2])}. ")
    assert "**You will be able to**" in first


@each_walkthrough
def test_it_has_text_between_its_cells(path: Path) -> None:
    kinds = [cell["cell_type"] for cell in read(path)["cells"]]
    runs = re.findall("c+", "".join(kind[0] for kind in kinds))
    assert max(map(len, runs)) <= 3
    assert max(len(text.split()) for text in prose(path)) <= 160


@each_walkthrough
def test_it_ends_with_exercises_with_checks_and_with_assertions(path: Path) -> None:
    order = [tag for cell in cells(path) for tag in sorted(tags(cell) & {"exercise", "check", "final"})]
    assert order == ["exercise", "check", "final"]
    assert any(text.startswith("## Exercises") for text in prose(path))
    assert any(f"(solutions/{path.name})" in text for text in prose(path))
    exercise, check, final = (cell for cell in cells(path) if tags(cell) & {"exercise", "check", "final"})
    answers = set(re.findall(r"(?m)^(\w+) = None$", source(exercise)))
    assert answers
    assert answers == set(CHECKED.findall(source(check)))
    assert not re.search(r"assert|==", source(check)), "a check shows the answer"
    printed = "".join("".join(output.get("text", ())) for output in check["outputs"])
    assert printed.count(": waits for your answer") == len(answers)
    assert source(final).count("assert ") >= 3
    assert source(cells(path)[-1]) == source(final)


@pytest.mark.parametrize("path", SOLVED, ids=named)
def test_solutions_fill_in_every_answer_and_pass_the_same_checks(path: Path) -> None:
    walkthrough = FOLDER / path.name
    check = next(source(cell) for cell in cells(walkthrough) if "check" in tags(cell))
    assert source(cells(path)[-1]) == check
    assert f"(../{path.name})" in prose(path)[0]
    assert prose(path)[0].startswith(f"# Solutions: {int(path.name[:2])}. ")
    before = ast.parse("\n".join(source(cell) for cell in cells(path)[:-1]).replace("%matplotlib inline", ""))
    given = {
        target.id
        for node in ast.walk(before)
        if isinstance(node, ast.Assign) and not (isinstance(node.value, ast.Constant) and node.value.value is None)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert set(CHECKED.findall(check)) <= given
    printed = "".join("".join(output.get("text", ())) for output in cells(path)[-1]["outputs"])
    assert printed.splitlines() == [f"{name}: right" for name in QUESTION.findall(check)]


def reading_order() -> list[str]:
    linked = re.findall(r"\]\(([^)]+\.ipynb)\)", "\n".join(prose(FOLDER / "index.ipynb")))
    return [name for name in dict.fromkeys(linked) if "/" not in name]


def test_the_index_leads_to_every_walkthrough_in_order_but_for_signing_and_the_class() -> None:
    order = reading_order()
    assert sorted(order) == [path.name for path in WALKTHROUGHS]
    assert order[order.index("03-signing.ipynb") - 1][:2] == "14", "signing is read after lesson 14"
    assert order[-1] == "22-class.ipynb", "the class is for teachers"
    rest = [name for name in order if name[:2] not in ("03", "22")]
    assert rest == sorted(rest)


@pytest.mark.parametrize("name", [path.name for path in WALKTHROUGHS if path.name != "22-class.ipynb"])
def test_a_lesson_leads_to_the_one_before_and_the_next_of_the_index(name: str) -> None:
    order = reading_order()[:-1]
    at = order.index(name)
    wanted = [*order[max(at - 1, 0) : at], *order[at + 1 : at + 2], "index.ipynb"]
    assert re.findall(r"\]\(([^)]+)\)", prose(FOLDER / name)[-1].splitlines()[-1]) == wanted


@each
def test_a_figure_shows_something_and_is_compared_by_its_data(path: Path) -> None:
    """Images are never compared, so a notebook that draws asserts on what it drew."""
    drawn = [cell for cell in cells(path) if any("image/png" in out.get("data", {}) for out in cell["outputs"])]
    for cell in drawn:
        assert source(cell).rstrip().endswith("plt.show()"), source(cell)
        assert "%matplotlib inline" in "\n".join(source(one) for one in cells(path))
    if drawn and path in WALKTHROUGHS:
        assert any("assert" in source(cell) for cell in cells(path))


# ----------------------------------------------------------------------------------------------------- nbval itself


@pytest.mark.slow
def test_a_value_broken_by_hand_in_an_output_fails(tmp_path: Path) -> None:
    book = json.loads((SOLUTIONS / "02-precision.ipynb").read_text(encoding="utf-8"))
    kept = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    number = next(place for place, cell in enumerate(kept) if "".join(cell["source"]).startswith("price = "))
    result = kept[number]["outputs"][0]["data"]
    good = tmp_path / "good.ipynb"
    good.write_text(json.dumps(book), encoding="utf-8")
    result["text/plain"] = ["".join(result["text/plain"]).replace("2450", "2451")]
    broken = tmp_path / "broken.ipynb"
    broken.write_text(json.dumps(book), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval", "--nbval-cell-timeout=60"]
    run = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-c", str(_settings(tmp_path)), str(good), str(broken)],
        capture_output=True,
        text=True,
        env={**_environment(), "PYTHONPATH": str(ROOT)},
        timeout=110,
    )
    report = run.stdout
    assert run.returncode == 1, report + run.stderr
    assert f"1 failed, {2 * len(kept) - 1} passed" in report, report
    assert "broken.ipynb" in report
    assert "2451" in report


def _settings(folder: Path) -> Path:
    path = folder / "pytest.ini"
    path.write_text("[pytest]\n", encoding="utf-8")
    return path


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
