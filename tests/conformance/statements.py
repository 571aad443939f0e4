"""What a statement is, and how a suite of them is run against a venue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from .venue import Venue


class Differs(Exception):
    """The venue does not do what the statement says; the text says what it did."""


class NotTried(Exception):
    """The statement can't be tried here; the text says what is missing."""


Check = Callable[[Venue], object]


@dataclass(frozen=True)
class Statement:
    """One statement of the interface: the document and section that make it, its text, and its check."""

    source: str
    text: str
    check: Check = field(repr=False)


@dataclass(frozen=True)
class Outcome:
    """What came of a statement: "holds", "differs" or "not tried", and why."""

    statement: Statement
    result: str
    why: str
    seconds: float


STATEMENTS: list[Statement] = []


def states(source: str, text: str) -> Callable[[Check], Check]:
    """Register the check of a statement. It returns if the statement holds, else raises Differs or NotTried."""

    def register(check: Check) -> Check:
        STATEMENTS.append(Statement(source, text, check))
        return check

    return register


def each(source: str, text: str, values: Iterable[object], check: Callable[[Venue, object], object]) -> None:
    """Register one statement for each value; `text` has a place for it."""
    for value in values:
        STATEMENTS.append(Statement(source, text.format(value), lambda venue, value=value: check(venue, value)))


def for_all(source: str, text: str, values: Iterable[object], check: Callable[[Venue, object], object]) -> None:
    """Register one statement that must hold for every value; what differs is listed by value."""

    def check_all(venue: Venue) -> None:
        wrong = []
        for value in values:
            try:
                check(venue, value)
            except Differs as found:
                wrong.append(f"{value!r}: {found}")
        if wrong:
            raise Differs("; ".join(wrong))

    STATEMENTS.append(Statement(source, text, check_all))


def expect(held: object, said: object) -> None:
    """Raise Differs unless something holds."""
    if not held:
        raise Differs(str(said))


def run(venue: Venue, wanted: str = "") -> Iterator[Outcome]:
    """Try the statements whose source or text contains a text, and yield what came of each."""
    for statement in STATEMENTS:
        if wanted.lower() not in f"{statement.source} {statement.text}".lower():
            continue
        began, result, why = time.monotonic(), "holds", ""
        try:
            statement.check(venue)
        except NotTried as missing:
            result, why = "not tried", str(missing)
        except Differs as found:
            result, why = "differs", str(found)
        except Exception as error:  # an answer that the check did not expect is a difference as well
            result, why = "differs", f"{type(error).__name__}: {error}"
        yield Outcome(statement, result, " ".join(why.split())[:300], time.monotonic() - began)
