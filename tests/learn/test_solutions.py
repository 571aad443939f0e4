"""Each exercise takes the answer of its solution, and refuses the same answer changed by little."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import nbformat
import pytest

from toolkit import learn
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

SOLUTIONS = Path(__file__).resolve().parents[2] / "notebooks" / "solutions"
CHECK = learn.check


def changed(answer: Any) -> Iterator[Any]:
    """Yield answers near to a right one."""
    if isinstance(answer, bool):
        yield not answer
    elif isinstance(answer, Decimal | float | int):
        yield from (-answer, answer * 2, answer + type(answer)(1))
    elif isinstance(answer, str):
        yield from (answer[:-1], f"{answer} 1")
    elif isinstance(answer, tuple):
        yield from (answer[:-1], (*answer, "1"))


QUICK = ("01-first-trade", "03-signing")
SLOW = (
    "04-account-data", "05-order-ticket", "07-order-kinds", "10-builder-code", "11-vaults", "12-strategy",
    "14-when-things-go-wrong", "15-testnet", "17-live-page", "18-market-making", "19-following", "22-class",
    "24-imbalance", "25-features",
)  # fmt: skip


# The check of lesson 6 accepts any five minutes of its log, and has a test of its own.
@pytest.mark.parametrize("lesson", [*QUICK, *(pytest.param(lesson, marks=pytest.mark.slow) for lesson in SLOW)])
def test_a_question_takes_its_solution_and_refuses_it_changed(
    lesson: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def check(name: str, answer: Any, **given: Any) -> None:
        asked.append(name)
        CHECK(name, answer, strict=True, **given)
        for wrong in changed(answer):
            with pytest.raises(AssertionError, match="not yet"):
                CHECK(name, wrong, strict=True, **given)

    monkeypatch.chdir(SOLUTIONS)
    monkeypatch.setattr(learn, "check", check)
    names: dict[str, Any] = {}
    try:
        for cell in nbformat.read(SOLUTIONS / f"{lesson}.ipynb", as_version=4).cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, lesson, "exec"), names)
    finally:
        for made in list(names.values()):
            if isinstance(made, Session | LocalVenue):
                made.close()
    assert len(asked) == 2
