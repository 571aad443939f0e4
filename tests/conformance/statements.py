"""What a statement is, what may come of it, and how a suite of them is run against a venue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .venue import Venue

MARKS = {
    "S": "specification",
    "P": "published documents and shapes",
    "K": "the exchange's SDK",
    "O": "observed at the live exchange",
    "L": "decided by the local venue",
}
"""Who makes a statement. The exchange makes all but those of L, which it leaves open."""
RESULTS = ("holds", "differs", "otherwise", "not served", "not tried")
"""What may come of a statement. A venue that does not as L says decides "otherwise", which differs from no exchange."""


class Differs(Exception):
    """The venue does not do what the statement says; the text says what it did."""


class NotServed(Exception):
    """The venue has no such operation; the text is its answer."""


class NotTried(Exception):
    """The statement can't be tried here; the text says what is missing."""


def expect(held: object, said: object) -> None:
    """Raise Differs unless something holds."""
    if not held:
        raise Differs(str(said))


Check = Callable[..., object]


@dataclass(frozen=True)
class Statement:
    """One statement of the interface: its mark, the topic of the document, its text, and its check of a venue."""

    mark: str
    topic: str
    text: str
    check: Check = field(repr=False)

    def __str__(self) -> str:
        return f"[{self.mark}] {self.topic}: {self.text}"

    def result(self, venue: Venue) -> tuple[str, str]:
        """Return what comes of the statement at a venue, one of `RESULTS`, and why."""
        try:
            self.check(venue)
        except NotTried as missing:
            return "not tried", str(missing)
        except NotServed as answer:
            return "not served", str(answer)
        except Exception as error:  # an answer that the check did not expect is a difference as well
            why = str(error) if isinstance(error, Differs) else f"{type(error).__name__}: {error}"
            return "otherwise" if self.mark == "L" else "differs", why
        return "holds", ""


@dataclass(frozen=True)
class Outcome:
    """What came of a statement, one of `RESULTS`, and why."""

    statement: Statement
    result: str
    why: str
    seconds: float


STATEMENTS: list[Statement] = []


def states(said: str) -> Callable[[Check], Check]:
    """Register the check of a statement, which is said as mark, topic and text: "S Limits: an order worth …".

    The check returns if the statement holds, else it raises Differs, NotServed or NotTried.
    """
    source, text = said.split(": ", 1)
    mark, topic = source.split(" ", 1)

    def register(check: Check) -> Check:
        STATEMENTS.append(Statement(mark, topic, text, check))
        return check

    return register


def _same(found: object) -> object:
    return found


def table(checks: Mapping[str, Check], then: Check = _same) -> None:
    """Register each statement with its check; `then` is called with what the check returns."""
    for said, check in checks.items():
        states(said)(lambda venue, check=check: then(check(venue)))


def each(said: str, values: Iterable[object], check: Check, then: Check = _same) -> None:
    """Register one statement for each value; the text has a place for it."""
    table({said.format(one): lambda venue, one=one: check(venue, one) for one in values}, then)


def for_all(said: str, values: Iterable[object], check: Check, then: Check = _same) -> None:
    """Register one statement that must hold for every value; what differs is listed by value."""

    @states(said)
    def check_all(venue: Venue) -> None:
        wrong = []
        for value in values:
            try:
                then(check(venue, value))
            except Differs as found:
                wrong.append(f"{value!r}: {found}")
        expect(not wrong, "; ".join(wrong))


def run(venue: Venue, wanted: str = "") -> Iterator[Outcome]:
    """Try the statements whose mark, topic or text contains a text, and yield what came of each."""
    for statement in STATEMENTS:
        if wanted.lower() in str(statement).lower():
            began = time.monotonic()
            result, why = statement.result(venue)
            yield Outcome(statement, result, " ".join(why.split())[:300], time.monotonic() - began)
