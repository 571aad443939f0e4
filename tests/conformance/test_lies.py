"""The suite notices lies: a server made of the shapes tells one about each of them, a local venue about the rest."""

from __future__ import annotations

import json
import re
from binascii import crc32
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.published import FILTERS, HOLDS, RENAMED
from tests.conformance.shapes import ANSWER, MISSING, PARAMETER, REQUEST, SHAPES, Shape, edited, found, parts, shapes
from tests.conformance.statements import STATEMENTS, Statement
from tests.conformance.test_conformance import served
from tests.conformance.venue import Answer, Feed, Venue
from tests.conformance.world import known
from toolkit.venue.local import LocalVenue

__all__ = ["served"]
REFUSED = Answer(400, {"code": 40003, "message": "refused", "data": None})
CHANNELS = [one.name for one in SHAPES if one.where == ANSWER and one.path == "channel"]
PLAIN = ("tickSize", "stepSize", "minOrderValue", "longSize")
"""Texts with which the suite counts."""
LEAVES: dict[str, Callable[[str], Any]] = {
    "object": lambda _: {}, "array": lambda _: [], "integer": lambda _: 7, "boolean": lambda _: False, "string": str,
}  # fmt: skip
WRONG = {"object": [], "array": {}, "integer": "7", "boolean": "false", "string": 7}


def made(operation: str, text: str) -> Any:
    """Return an answer or message with each published field, one row in each list, and the same text everywhere."""
    body: Any = {"code": 0, "message": "success", "data": {"referralCode": text, "vault": "0x" + "1" * 40}}
    for path, shape in shapes(operation, ANSWER).items():
        if path not in ("$", "code", "message"):
            *before, last = parts(path)
            own = {"channel": shape.name, **dict.fromkeys(PLAIN, "1")}
            leaf = own.get(last, LEAVES[shape.type](text))
            for holder in found(body, ".".join(before)):
                holder.append(leaf) if last == "[]" else holder.update({last: leaf})
    return body


class Server:
    """A venue made of the shapes. It may lie about one: its type, its presence, its use or its default."""

    def __init__(self, about: Shape | None = None, lie: str = "", trading: Answer | None = None) -> None:
        self.about, self.lie, self.trading, self.posts = about, lie, trading, 0

    def venue(self, kept: dict[str, Any]) -> Venue:
        """Return it as the suite sees it, with its messages, which have no feed here."""
        venue = Venue("http://127.0.0.1:1", "ws://127.0.0.1:1", seconds=0.1, kept=kept)
        venue.request = self.request  # type: ignore[method-assign]
        messages = [self.told(f"POST /ws/subscribe/{one}", "1") for one in CHANNELS]
        kept["messages"] = {one: {"success": True} for one in CHANNELS}, messages
        return venue

    def lies(self, shape: Shape, lie: str) -> bool:
        return shape == self.about and lie == self.lie

    def told(self, operation: str, text: str) -> Any:
        body = made(operation, text)
        for path, shape in shapes(operation, ANSWER).items():
            if shape == self.about and self.lie in ("type", "missing"):
                return edited(body, path, MISSING if self.lie == "missing" else WRONG[shape.type])
        return body

    def request(self, method: str, path: str, **options: Any) -> Answer:
        if method == "GET":
            return self.query(f"GET {path}", {name: str(value) for name, value in options.get("params", {}).items()})
        self.posts += 1
        return self.trading or self.action(json.loads(options["content"]))

    def query(self, operation: str, asked: dict[str, str]) -> Answer:
        usual, filters = {}, []
        for name, shape in shapes(operation, PARAMETER).items():
            lied, here = self.lies(shape, "use"), name in asked
            fields = [one for one in FILTERS.get(name, ()) if f"data[].{one}" in shapes(operation, ANSWER)]
            if shape.default is not None:
                usual[name] = "other" if self.lies(shape, "default") else json.dumps(shape.default).strip('"')
            if not lied and ((shape.required and not here) or (here and shape.enum and asked[name] not in shape.enum)):
                return REFUSED
            if lied and here and not (shape.required or shape.enum or fields):
                return REFUSED
            filters += [(f"data[].{one}", asked[name]) for one in fields if here and not lied]
        body = self.told(operation, str(10**6 + crc32(repr(sorted((usual | asked).items())).encode()) % 10**6))
        for path, value in filters:
            body = edited(body, path, int(value) if shapes(operation, ANSWER)[path].type == "integer" else value)
        return Answer(200, body)

    def action(self, body: dict[str, Any]) -> Answer:
        kind = body.get("action", {}).get("type", "")
        fields = shapes(f"POST /exchange/{kind}", REQUEST)
        about = self.about.path if self.about is not None and self.lie == "use" else "nothing"
        if not fields and about not in ("action", "action.type"):
            return REFUSED
        for path, shape in fields.items():
            values = found(body, path.replace(*next(iter(RENAMED.items()))))
            there = [value for value in values if value is not MISSING]
            if self.lies(shape, "use") and not shape.required and there:
                return REFUSED
            lacking = (shape.required and len(there) < len(values)) or (shape.min_items and there == [[]])
            outside = shape.enum and any(value not in shape.enum for value in there)
            if about not in (path, f"{path}[]") and (lacking or outside):
                return REFUSED
        return Answer(200, self.told(f"POST /exchange/{kind}", "1"))


def lies_about(shape: Shape) -> list[str]:
    if shape.where == ANSWER:
        return ["type"] if shape.path == "$" or shape.path.endswith("[]") else ["type", "missing"]
    return ["use", "default"] if shape.default is not None else ["use"]


def result(shape: Shape, lie: str, venue: Venue) -> str:
    check = HOLDS[shape.where][lie == "default"]
    return Statement("P", "", "", lambda venue: check(venue, shape)).result(venue)[0]


UNTRIED = {("role", "use"), ("bizType", "use"), ("action.agentName", "default"), ("action.conditionalOrder", "default")}
"""What has no published value, or needs a book."""
LIES = [(one, lie) for one in SHAPES for lie in lies_about(one) if (one.path, lie) not in UNTRIED]
LIES = [(one, lie) for one, lie in LIES if one.name != "userFunding" or one.path != "channel"]
KEPT: dict[str, Any] = {}
"""What the suite has from the server that tells the truth, kept for all examples."""


@settings(max_examples=60)
@given(st.sampled_from(LIES))
def test_each_shapes_statement_holds_for_the_truth_and_differs_for_a_lie(case: tuple[Shape, str]) -> None:
    shape, lie = case
    assert result(shape, lie, Server().venue(KEPT)) == "holds"
    own = {shape.operation, *(f"{shape.name} {form}" for form in ("least", "whole", "null"))}
    kept = {name: value for name, value in KEPT.items() if name not in own}
    assert result(shape, lie, Server(shape, lie).venue(kept)) == "differs"


NO_TRADING = (
    Answer(404, {"detail": "Not Found"}), Answer(200, {"code": 40280, "message": "off"}),
)  # fmt: skip


@pytest.mark.parametrize("answer", NO_TRADING, ids=str)
def test_a_venue_without_trading_is_not_judged_for_it(answer: Answer) -> None:
    server = Server(trading=answer)
    venue = server.venue({})
    del venue.kept["messages"]
    known(venue)
    results = []
    for statement in STATEMENTS:
        server.posts = 0
        results.append(statement.result(venue)[0])
        assert results[-1] in ("not served", "not tried") or not server.posts, statement
    assert results.count("not served") > 400
    assert results.count("holds") > 300


# --- what no shape states
def renamed(value: Any) -> Any:
    return json.loads(re.sub(r'"(\w+)":', r'"\1x":', json.dumps(value)))


def numbers(value: Any) -> Any:
    """Return other numbers, in texts as well."""

    def other(match: re.Match[str]) -> str:
        return f"{match[1]}{match[2][:-1]}{(int(match[2][-1]) + 1) % 10}{match[1]}"

    return json.loads(re.sub(r'(?<=[ \[])("?)(-?\d{1,7}(?:\.\d+)?)\1(?=[,}\]])', other, json.dumps(value)))


def of_data(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda body: {**body, "data": change(body["data"])} if isinstance(body, dict) and "data" in body else body


CHANGES: dict[str, Callable[[Any], Any]] = {
    "refused": lambda body: {"code": 40299, "message": "no", "success": False, "channel": "error"},
    "accepted": lambda body: {**(body if isinstance(body, dict) else {}), "code": 0, "message": "success"},
    "text": lambda body: {"hello": 1},
    "numbers": of_data(numbers),
    "renamed": of_data(renamed),
}


def believing(url: str, wanted: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements that no change of the answers makes differ, of those that hold and that no shape states."""
    venue, request, message = Venue(url, url.replace("http", "ws", 1)), Venue.request, Feed.next
    holding, left = 0, []
    for statement in STATEMENTS:
        venue.seconds = 10.0
        shaped = statement.topic.startswith(("GET ", "POST "))
        if shaped or wanted not in str(statement) or statement.result(venue)[0] != "holds":
            continue
        holding, venue.seconds = holding + 1, 0.3
        for name, change in CHANGES.items():
            status = {"refused": 400, "accepted": 200}.get(name)

            def lying(*asked: Any, status: int | None = status, change: Any = change, **options: Any) -> Answer:
                answer = request(*asked, **options)
                return Answer(status or answer.status, change(answer.body))

            for read in ("meta", "messages", *(one for one in venue.kept if one.startswith("GET "))):
                venue.__dict__.pop(read, None)  # what was read once may be a lie
                venue.kept.pop(read, None)
            with monkeypatch.context() as patched:
                patched.setattr(Venue, "request", lying)
                patched.setattr(Feed, "next", lambda *asked, change=change: change(message(*asked)))
                if statement.result(venue)[0] in ("differs", "otherwise"):
                    break
        else:
            left.append(str(statement))
    venue.http.close()
    assert holding > (10 if wanted else 180)
    return left


def test_statements_on_orders_differ_for_changed_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalVenue(clock="manual").serve() as local:
        assert believing(local.base_url, "Order item", monkeypatch) == []


@pytest.mark.slow
def test_every_statement_differs_for_changed_answers(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert believing(served, "", monkeypatch) == []
