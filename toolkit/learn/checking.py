"""The functions that a notebook calls, with a question's name, an answer, and what the answer is compared with."""

from __future__ import annotations

from inspect import signature

from ..errors import InputError
from ..suggestions import check_known
from .answers import Question, off
from .questions import QUESTIONS

_added: dict[str, Question] = {}


def add(name: str, question: Question) -> None:
    """Add a question, or replace one: a teacher's lesson asks in the same way as the walkthroughs.

    Parameters
    ----------
    name : str
        Name of the question, such as "first-trade.profit".
    question : Question
        Question with its hint and one way to judge.
    """
    _added[name] = question


def check(name: str, answer: object, *, strict: bool = False, **given: object) -> None:
    """Say whether the answer to an exercise is right. Print what is off and a hint if it is not.

    Parameters
    ----------
    name : str
        Name of the question, such as "first-trade.profit".
    answer : object
        Answer of the learner. None waits.
    strict : bool, optional
        True raises AssertionError in place of printing, for an answer that is missing or not right, so that nbgrader
        counts it (default: False).
    **given : object
        Values that the answer is compared with, by the names that the question wants: a session, the results of a
        backtest.

    Raises
    ------
    InputError
        For an unknown question, or when something else is given.
    AssertionError
        With `strict`, for an answer that is missing or not right.
    """
    known = {**QUESTIONS, **_added}
    check_known([name], known, "name", "question")
    question = known[name]
    if answer is None:
        return _say(f"{name}: waits for your answer", strict)
    function = question.truth or question.judge
    wanted = set(signature(function).parameters) - {"answer"} if function else set()
    if wanted != set(given):
        message = f"{name} compares the answer with {', '.join(sorted(wanted)) or 'nothing else'}"
        raise InputError(message, field="given", rule="what the question names", value=", ".join(sorted(given)))
    try:
        wrong = off(name, question, answer, given)
    except LookupError:
        wrong = "there is nothing yet to compare it with. Do the exercise first"
    if wrong:
        return _say(f"{name}: not yet. {wrong[:1].upper()}{wrong[1:]}. Hint: {question.hint}.", strict)
    print(f"{name}: right")


def _say(text: str, strict: bool) -> None:
    if strict:
        raise AssertionError(text)
    print(text)
