"""The blocks of Python in README and docs run in turn, from an empty namespace, and give what stands behind them.

A page is one notebook. A value is shown by a comment behind an expression, or by a block of text right after the code:
what the block prints, then its last value, or the error that ends it. A block that needs Testnet, another process or a
class that runs has the fence `py` in place of `python`, and the page says what it needs.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit.errors import ToolkitError
from toolkit.venue.local import LocalVenue

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(path for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
SLOW: set[str] = set()
"""Pages that take more than some seconds."""
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n\n?(?=```text\n)```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
_VALUE = re.compile(r"""["'(\[{<0-9-]|True$|False$|None$""")


def blocks(page: Path, language: str) -> list[tuple[str, str | None]]:
    """Return the blocks of a language, each with the text that is shown after it."""
    found = _FENCE.findall(page.read_text(encoding="utf-8"))
    return [(code, shown or None) for fence, code, shown in found if fence == language]


def run(block: str, names: dict[str, Any]) -> tuple[str, list[tuple[str, str, str]]]:
    """Run a block as a notebook does; return what it shows, and (code, what a comment says, value) of expressions."""
    lines, found = block.splitlines(), []
    printed = io.StringIO()
    body = ast.parse(block).body
    with contextlib.redirect_stdout(printed):
        try:
            for statement in body:
                code = ast.get_source_segment(block, statement)
                assert code is not None
                if not isinstance(statement, ast.Expr):
                    exec(compile(ast.Module([statement], []), code, "exec"), names)
                    continue
                value = eval(compile(ast.Expression(statement.value), code, "eval"), names)
                assert statement.end_lineno is not None
                said = lines[statement.end_lineno - 1].partition("  # ")[2]
                if _VALUE.match(said):
                    found.append((code, said.replace('"', "'"), repr(value)))
                elif statement is body[-1] and value is not None:
                    print(repr(value))
        except ToolkitError as error:
            print(f"{type(error).__name__}: {error}")
            names["_error"] = error
    return printed.getvalue(), found


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_trials: None) -> None:
    """Give a page its folder, its state and its count of trials."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "state"))


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page.name in SLOW else [], id=name_of(page))
        for page in PAGES
        if blocks(page, "python")
    ],
)
def test_the_blocks_of_a_page_run_and_give_what_they_say(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for block, shown in blocks(page, "python"):
            gave, values = run(block, names)
            for code, said, value in values:
                assert value == said, code
            if shown is None:
                assert "_error" not in names, (block, names["_error"])
            else:
                assert stripped(gave) == stripped(shown), block
                names.pop("_error", None)
    finally:
        for made in list(names.values()):
            if isinstance(made, toolkit.Session | LocalVenue):
                made.close()


def test_every_page_of_the_site_shows_a_block_and_what_it_gives() -> None:
    shown = {page.name for page in PAGES for _, after in blocks(page, "python") if after}
    assert {"README.md", "index.md", "orders.md", "stop-everything.md", "research.md"} <= shown


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_block_that_is_not_run_is_python_and_its_reason_stands_on_the_page(page: Path) -> None:
    for block, _ in blocks(page, "py"):
        ast.parse(block)
    if blocks(page, "py"):
        assert "The block is not run by the tests" in page.read_text(encoding="utf-8"), "say why"


@pytest.mark.parametrize(
    ("text", "gave"),
    [
        ("print('a')\n1 + 1\n", "a\n2\n"),
        ("1 + 1\nx = 3\n", ""),
        ("import toolkit\nraise toolkit.errors.UnknownCode('no')\n", "UnknownCode: no (code 0)\n"),
        ("None\n", ""),
    ],
)
def test_a_block_shows_what_a_notebook_shows(text: str, gave: str) -> None:
    assert run(text, {})[0] == gave


def test_a_comment_is_compared_with_the_value_before_it() -> None:
    assert run('x = 2\nx * 2  # 5\n"a"  # a word\n', {}) == ("'a'\n", [("x * 2", "5", "4")])


def renew(page: Path) -> None:
    """Write what the blocks of a page show now into their blocks of text."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def shown(match: re.Match[str]) -> str:
        if match[1] != "python":
            return match[0]
        gave, _ = run(match[2], names)
        return match[0] if match[3] is None else match[0].replace(f"```text\n{match[3]}", f"```text\n{gave.rstrip()}\n")

    text = _FENCE.sub(shown, page.read_text(encoding="utf-8"))
    page.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":  # TOOLKIT_TRIALS=off python -m tests.test_doc_blocks README.md
    for name in sys.argv[1:]:
        renew(ROOT / name)
