"""The blocks of Python on a page of the documentation run in turn, and give what stands in the comments behind them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit.venue.local import LocalVenue

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = ["orders.md", "published.md"]
"""Pages whose blocks run one after the other in an empty notebook. Those of other languages run in tests/examples."""
_VALUE = re.compile(r"""["'(\[{<0-9]|True$|False$|None$""")


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(block: str, names: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Run a block; return (code, what it says that it gives, what it gave) for each expression with a value behind."""
    lines, found = block.splitlines(), []
    for statement in ast.parse(block).body:
        code = ast.get_source_segment(block, statement)
        assert code is not None
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), code, "exec"), names)
            continue
        assert statement.end_lineno is not None
        value = eval(compile(ast.Expression(statement.value), code, "eval"), names)
        said = lines[statement.end_lineno - 1].partition("  # ")[2]
        if _VALUE.match(said):
            found.append((code, said.replace('"', "'"), repr(value)))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_and_give_what_they_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    try:
        shown = [one for block in blocks(page) for one in run(block, names)]
    finally:
        for made in list(names.values()):
            if isinstance(made, toolkit.Session | LocalVenue):
                made.close()
    assert shown, "a page shows at least one value"
    for code, said, gave in shown:
        assert gave == said, code


def test_every_page_of_python_is_run_or_has_no_block_of_it() -> None:
    for page in ("session.md", "any-language.md"):
        assert blocks(page) == []
