"""The page of calls as people write them shows today's answers, and none of them is a riddle."""

from __future__ import annotations

import re

from tests import calls
from toolkit import errors

RIDDLES = ("KeyError", "ValueError", "IndexError", "ZeroDivisionError", "BadRequest")


def written(title: str) -> list[tuple[str, str]]:
    """Return the calls of a part of the page, each with its answer."""
    part = calls.PAGE.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^- `(.*)`  \n  (.*)$", part, re.MULTILINE)


def test_the_page_of_calls_shows_what_they_answer_today() -> None:
    page = calls.PAGE.read_text(encoding="utf-8").splitlines()
    assert calls.page().splitlines() == page, "read the difference, then write the page: python -m tests.calls"


def test_the_page_has_each_mistake_once_and_no_fewer_calls_than_it_had() -> None:
    asked, mistaken = ([call for call, _ in written(title)] for title in ("Questions", "Mistakes"))
    assert len(set(mistaken)) == len(mistaken) >= 4 * 76
    assert len(asked) >= 4 * 57 - 20


def test_a_question_has_an_answer_and_a_mistake_a_sentence_of_ours() -> None:
    assert [(call, answer) for call, answer in written("Questions") if "**" in answer] == []
    for call, answer in written("Mistakes"):
        name = re.match(r"\*\*(\w+)\*\*", answer)
        if name is None:
            continue  # it is right after all, and the page shows what it gave
        assert name[1] not in RIDDLES, call
        # Python refuses an argument too many or too few itself, and names the function.
        assert hasattr(errors, name[1]) or name[1] in ("AttributeError", "TypeError"), call
        assert name[1] != "TypeError" or re.match(r"[\w.]+\(\) ", answer.removeprefix("**TypeError** ")), call


def test_an_error_of_a_call_speaks_no_words_of_the_wire() -> None:
    wire = re.compile(r"\b(action|subscription)\.|ordPx|ordQty|ordType|triggerPx|tpslTriggerType|timeInForce|clOrdId ")
    for call, answer in written("Mistakes"):
        if call.startswith("s.") and "**" in answer:
            assert not wire.search(answer), f"{call}: {answer}"
