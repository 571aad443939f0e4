"""The page about learners prints what it says."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("gymnasium", reason="the extra gym is not installed")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "learners.md").read_text(encoding="utf-8")


def test_the_first_block_runs_by_itself_and_prints_the_numbers_of_the_page() -> None:
    code, printed = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("python", "text"))
    assert code is not None
    assert printed is not None
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(code[1], {})
    assert said.getvalue() == printed[1]


def test_the_numbers_of_the_lesson_are_those_that_it_prints() -> None:
    lesson = json.loads((ROOT / "notebooks" / "23-learners.ipynb").read_text(encoding="utf-8"))
    shown = json.dumps([cell.get("outputs") for cell in lesson["cells"]])
    assert "earns 144 USDC" in PAGE
    assert "loses 1,512 USDC" in PAGE
    assert "144.4" in shown
    assert "-1512.1" in shown
