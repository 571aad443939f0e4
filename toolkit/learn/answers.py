"""Judging an answer: by the digest of the right one, by what is true on the venue, or by a function that looks at it.

A wrong answer is told what is off where that can be seen (the sign, a factor of a hundred, the other share),
and gets the hint. The answer itself is nowhere in the notebook, and where it is always the same not here either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ..errors import InputError

Judge = Callable[..., str]
"""Takes the answer, and by name what it is compared with; returns what is off, "" for a right answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """One exercise. Of `digest`, `truth` and `judge` it has exactly one.

    Attributes: `hint` (for a wrong answer); `digest` (from `learn.digest`, of an answer that is always the same);
    `truth` (a function that returns the right answer, given by name what `check` was given); `judge` (as `Judge`);
    `step` (numbers: how far an answer may be off, in its own unit; "0" for an exact one).
    """

    hint: str
    digest: str = ""
    truth: Callable[..., Any] | None = None
    judge: Judge | None = None
    step: str = "0"

    def __post_init__(self) -> None:
        if sum(map(bool, (self.digest, self.truth, self.judge))) != 1:
            raise InputError(
                "a question has one of digest, truth and judge",
                field="question",
                rule="one way to judge",
                value=self.hint,
            )


def digest(name: str, answer: Any, step: str = "0") -> str:
    """Return what a question keeps of an answer that is always the same: a number, a text, a bool, or several texts.

    With a `step` numbers are right that are no further than it from this one.
    """
    number = _number(answer)
    return _digest(name, _text(answer) if number is None else _bucket(number, step))


def off(name: str, question: Question, answer: Any, given: dict[str, Any]) -> str:
    """Return what is wrong with an answer, "" for a right one."""
    if question.judge is not None:
        return question.judge(answer, **given)
    if question.truth is not None:
        truth = question.truth(**given)
        return compared(answer, _is_near(truth, question.step), truth=truth)
    return compared(answer, _has_digest(name, question))


def compared(answer: Any, accepts: Callable[[Any], bool], truth: Any = None) -> str:
    if accepts(answer):
        return ""
    number = _number(answer)
    if number is None:
        wanted = "" if truth is None or _number(truth) is None else "; a number was asked for"
        return f"{_shown(answer)} is not it{wanted}"
    return next((said for said, other in _variants(number) if accepts(other)), f"{_shown(answer)} is not it")


def _variants(number: Decimal) -> Iterable[tuple[str, Decimal]]:
    """Yield what is often written for an answer: what to say, and the answer it would then be."""
    yield "the sign is the other way round", -number
    yield "it is a hundred times too large: a percentage, where a ratio was asked for?", number / 100
    yield "it is a hundred times too small: a ratio, where a percentage was asked for?", number * 100
    yield "that is what is left to 1, the other share", 1 - number
    if number:
        yield "it is upside down: one divided by the answer", 1 / number


def _has_digest(name: str, question: Question) -> Callable[[Any], bool]:
    def accepts(answer: Any) -> bool:
        number = _number(answer)
        if number is None:
            return _digest(name, _text(answer)) == question.digest
        middle = _bucket(number, question.step)
        near = [middle] if question.step == "0" else [str(int(middle) + one) for one in (-1, 0, 1)]
        return any(_digest(name, one) == question.digest for one in near)

    return accepts


def _is_near(truth: Any, step: str) -> Callable[[Any], bool]:
    exact = _number(truth)

    def accepts(answer: Any) -> bool:
        number = _number(answer)
        if exact is None or number is None:
            return number is None and exact is None and bool(_text(answer) == _text(truth))
        return abs(number - exact) <= Decimal(step)

    return accepts


def _number(value: Any) -> Decimal | None:
    """Return a value as an exact number, also one that is written as text; None for anything else."""
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _bucket(number: Decimal, step: str) -> str:
    return f"{number.normalize():f}" if step == "0" else str(round(number / Decimal(step)))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return f"[{','.join(sorted(map(_text, value)))}]"
    number = _number(value)
    return str(value).strip().casefold() if number is None else f"{number.normalize():f}"


def _shown(answer: Any) -> str:
    text = str(answer)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _digest(name: str, text: str) -> str:
    return hashlib.sha256(f"{name}:{text}".encode()).hexdigest()[:16]
