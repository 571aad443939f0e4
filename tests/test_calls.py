"""The page of calls as people write them shows today's answers."""

from __future__ import annotations

from tests import calls


def test_the_page_of_calls_shows_what_they_answer_today() -> None:
    written = calls.PAGE.read_text(encoding="utf-8").splitlines()
    assert calls.page().splitlines() == written, "read the difference, then write the page: python -m tests.calls"


def test_a_question_has_an_answer_and_a_mistake_a_sentence() -> None:
    questions, mistakes = calls.PAGE.read_text(encoding="utf-8").split("## Mistakes")
    assert "**" not in questions
    assert "Traceback" not in mistakes
    assert all(word not in mistakes for word in ("**KeyError", "**ValueError", "**IndexError", "**ZeroDivisionError"))
