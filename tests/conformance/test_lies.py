"""No statement holds whatever the venue answers: each differs when the answers and the feed's messages are changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.statements import STATEMENTS, Differs, NotTried, Statement
from tests.conformance.test_conformance import served
from tests.conformance.venue import Answer, Feed, Venue

__all__ = ["served"]


def renamed(value: Any) -> Any:
    return json.loads(re.sub(r'"(\w+)":', r'"\1x":', json.dumps(value)))


def numbers(value: Any) -> Any:
    """Return other numbers, in texts as well."""
    if isinstance(value, dict):
        return {name: numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [numbers(each) for each in value]
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,8}(\.\d+)?", value):
        return value[:-1] + str((int(value[-1]) + 1) % 10)
    return value + 1 if type(value) is int and abs(value) < 10**6 else value


def emptied(value: Any) -> Any:
    return [] if isinstance(value, list) else {"items": [], "total": 0} if "items" in (value or ()) else {}


def of_data(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda body: {**body, "data": change(body["data"])} if isinstance(body, dict) and "data" in body else body


LIES: dict[str, Callable[[Any], Any]] = {
    "refused": lambda body: {"code": 40299, "message": "no", "success": False, "channel": "error"},
    "accepted": lambda body: {**(body if isinstance(body, dict) else {}), "code": 0, "message": "success"},
    "text": lambda body: {"hello": 1},
    "emptied": of_data(emptied),
    "numbers": of_data(numbers),
    "renamed": of_data(renamed),
}


def result_of(statement: Statement, venue: Venue, seconds: float) -> str:
    venue.seconds = seconds
    venue.__dict__.pop("meta", None)  # what was read once may be a lie
    try:
        statement.check(venue)
    except NotTried:
        return "not tried"
    except (Differs, Exception):
        return "differs"
    return "holds"


@pytest.mark.slow
@pytest.mark.parametrize("served", ["published"], indirect=True)
def test_each_statement_that_holds_differs_for_a_lie(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    venue, request, message = Venue(served, served.replace("http", "ws", 1)), Venue.request, Feed.next
    holding, believing = 0, []
    for statement in STATEMENTS:
        if result_of(statement, venue, 10.0) != "holds":
            continue
        holding += 1
        for name, lie in LIES.items():
            status = {"refused": 400, "accepted": 200}.get(name)

            def lying(*asked: Any, status: int | None = status, lie: Any = lie, **options: Any) -> Answer:
                answer = request(*asked, **options)
                return Answer(status or answer.status, lie(answer.body))

            with monkeypatch.context() as patched:
                patched.setattr(Venue, "request", lying)
                patched.setattr(Feed, "next", lambda *asked, lie=lie: lie(message(*asked)))
                if result_of(statement, venue, 0.3) == "differs":
                    break
        else:
            believing.append(f"{statement.source}: {statement.text}")
    venue.close()
    assert holding > 400
    assert believing == []
