"""Planted mistakes of the front end: what is planted, and that those that once survived everything are noticed."""

from __future__ import annotations

import pytest

from tests.mutation import javascript
from tests.mutation.javascript import WIDGETS, Mistake, every_mistake, mistakes, noticed
from tests.mutation.rooms import ROOT

TRANSCRIPTS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/browser/test_transcripts*.py"))

SURVIVORS = {
    "a quote on a market order": ("order_ticket/ticket.js", "disabled = !form().picksPrice || ", "disabled = "),
    "the typed confirmation of real money kept": ("base_panel/review.js", '        typed.value = "";\n', ""),
    "a held key signs": ("base_panel/review.js", "  ignoreHeldKey(sign);\n", ""),
    "a held key confirms": ("base_panel/common.js", "  ignoreHeldKey(button);\n", ""),
    "asks highest first": ("panels/book.js", "padded(view.asks).reverse()", "padded(view.asks)"),
    "negative numbers sorted": ("base_panel/table.js", '.replace("−", "-")', ""),
    "sides of the liquidation map": ("panels/sheet.js", "? 50 - width : 50", "? 50 : 50 - width"),
    "a beat from the future": ("base_panel/common.js", "age > -GONE_MS && age < GONE_MS", "age < GONE_MS"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", SURVIVORS)
def test_a_mistake_that_survived_everything_is_noticed(name: str) -> None:
    file, old, new = SURVIVORS[name]
    assert (WIDGETS / file).read_text(encoding="utf-8").count(old) == 1
    assert noticed(Mistake(file, 0, old, new), TRANSCRIPTS)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_without_a_mistake_nothing_is_noticed() -> None:
    assert noticed(None, TRANSCRIPTS) is False


def test_every_front_end_has_tests_and_mistakes_of_each_kind() -> None:
    assert {one.file.rpartition("/")[2] for one in every_mistake()} >= {"common.js", "ticket.js", "blotter.js"}
    assert all((ROOT / test.partition("::")[0]).is_file() for test in javascript.tests_of(every_mistake()[0]))
    source = """// a === b
    if (a === b && c > 0) call(one);
      call(one);
    return -1 ? x : y;
"""
    made = [one.new.strip() for one in mistakes("any.js", source)]
    assert made == [
        "if (a !== b && c > 0) call(one);",
        "if (a === b || c > 0) call(one);",
        "if (a === b && c <= 0) call(one);",
        "if (a === b && c > 1) call(one);",
        ";",
        "return 1 ? x : y;",
        "return -1 ? y : x;",
    ]
