"""Judging an answer: by the digest of the right one, by what is true on the venue, or by a function that looks at it.

A wrong answer learns what is off where that can be seen (the sign, a factor of a hundred, the other share),
and gets the hint. The answer itself is nowhere in the notebook, and where it is always the same not here either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial

from ..errors import InputError

Judge = Callable[..., str]
"""Takes the answer, and by name what it is compared with. Returns what is off, "" for a right answer."""

DIGITS = 40
"""No answer has more digits before or after its point."""


@dataclass(frozen=True, slots=True)
class Question:
    """One exercise. It has exactly one of `digest`, `truth` and `judge`.

    Parameters
    ----------
    hint : str
        Text for a wrong answer.
    digest : str, optional
        Digest of an answer that is always the same, from `learn.digest` (default: none).
    truth : callable, optional
        Function that returns the right answer (default: none). It gets by name what `check` was given.
    judge : Judge, optional
        Function of the answer that returns what is off, "" for a right one (default: none). It gets by name what
        `check` was given.
    step : str, optional
        Multiple to which a number may be rounded, in its own unit, "0" for an exact answer (default: "0").
    """

    hint: str
    digest: str = ""
    truth: Callable[..., object] | None = None
    judge: Judge | None = None
    step: str = "0"

    def __post_init__(self) -> None:
        if sum(map(bool, (self.digest, self.truth, self.judge))) != 1:
            message = "a question has one of digest, truth and judge"
            raise InputError(message, field="question", rule="one way to judge", value=self.hint)


def digest(name: str, answer: object, step: str = "0") -> str:
    """Return what a question keeps of an answer that never changes.

    With a `step` a number is right that rounds to the same multiple of it.

    Parameters
    ----------
    name : str
        Name of the question, such as "first-trade.profit".
    answer : object
        A number, bool, text or several texts.
    step : str, optional
        Multiple to which a number may be rounded, in its own unit, "0" for an exact answer (default: "0").

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    number = as_number(answer)
    if number is None or step == "0":
        text = _text(answer)
    else:
        text = str(round(number / Decimal(step)))
    return hashlib.sha256(f"{name}:{text}".encode()).hexdigest()[:16]


def off(name: str, question: Question, answer: object, given: dict[str, object]) -> str:
    """Return what is wrong with an answer, "" for a right one.

    Parameters
    ----------
    name : str
        Name of the question, such as "first-trade.profit".
    question : Question
        Question of the exercise.
    answer : object
        Answer of the learner: a number, bool, text, several texts, or what a judge looks at.
    given : dict of str to object
        Values that the answer is compared with, by name.
    """
    if question.judge is not None:
        try:
            return question.judge(answer, **given)
        except LookupError:
            raise  # what it is compared with isn't there yet
        except Exception as error:
            # An answer may be anything, such as a function of the learner's own; whatever it breaks, it isn't right.
            return f"{shown(answer)} can't be judged: {error or type(error).__name__}"
    truth = None if question.truth is None else question.truth(**given)
    accepts = partial(_is_right, name, question, truth)
    if accepts(answer):
        return ""
    number = as_number(answer)
    if number is None:
        wanted = "" if as_number(truth) is None else ". The answer must be a number"
        return f"{shown(answer)} is not it{wanted}"
    return next((said for said, other in _variants(number) if accepts(other)), f"{shown(answer)} is not it")


def _variants(number: Decimal) -> Iterable[tuple[str, Decimal]]:
    """Yield what is often written for an answer: what to say, and the answer it would then be."""
    yield "the sign is wrong", -number
    yield "it is a hundred times too large: is it a percentage, in place of a ratio?", number / 100
    yield "it is a hundred times too small: is it a ratio, in place of a percentage?", number * 100
    yield "that is what is left to 1, the other share", 1 - number
    if number:
        yield "it is upside down: one divided by the answer", 1 / number


def _is_right(name: str, question: Question, truth: object, answer: object) -> bool:
    """Return whether an answer has the digest of a question, or is as near to the truth as the question asks."""
    if question.truth is None:
        return digest(name, answer, question.step) == question.digest
    exact, number = as_number(truth), as_number(answer)
    if exact is None or number is None:
        return number is None and exact is None and bool(_text(answer) == _text(truth))
    return 2 * abs(number - exact) <= Decimal(question.step)


def as_number(value: object) -> Decimal | None:
    """Return a value as an exact number, also one that is written as text, None for anything else.

    Parameters
    ----------
    value : object
        Value of any type.
    """
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) <= DIGITS else None


def _text(value: object) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return f"[{','.join(sorted(map(_text, value)))}]"
    number = as_number(value)
    return str(value).strip().casefold() if number is None else f"{number.normalize():f}"


def shown(answer: object) -> str:
    """Return an answer as text on one line, at most 40 characters of it.

    Parameters
    ----------
    answer : object
        Answer of the learner: a number, bool, text, several texts, or what a judge looks at.
    """
    text = " ".join(str(answer).split())
    return text if len(text) <= 40 else f"{text[:40]}…"
