"""Comparison of answers and messages with their declarations, field by field. Values in, differences out, no I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolkit.client.reads.reading import meta_rows
from toolkit.protocol.enums import ENUMS
from toolkit.protocol.fields import L, P, Source
from toolkit.protocol.hexbytes import is_address, word_bytes
from toolkit.protocol.reads.channel import Channel
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.feed import AOP_RECORDS, RECORDS
from toolkit.protocol.reads.info.products import ProductMeta
from toolkit.protocol.reads.info_queries import META_RECORDS
from toolkit.protocol.reads.rows import AMOUNTS, JsonType, Record, RecordField

_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_HOUR_MS = range(1_000_000_000_000, 100_000_000_000_000)
"""Milliseconds since 1970 from 2001 on. Smaller numbers are seconds."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as declared.

    Parameters
    ----------
    where : str
        Name of the answer or channel.
    field : str
        Name of the field.
    declared : str
        Declared form or value, in words.
    found : str
        Form or value that was found, in words.
    source : Source, optional
        Source of the declaration (default: the published interface). Where that is the local venue alone (L), another
        venue may well differ.
    """

    where: str
    field: str
    declared: str
    found: str
    source: Source = P
    optional: bool = False
    """True for a field that is published and not there, which the exchange's files allow."""

    @property
    def published(self) -> bool:
        """False where only the local venue declares it."""
        return self.source is not L


Test = Callable[[Any], bool]

_TEXTS: Mapping[str, tuple[str, Test]] = {
    **dict.fromkeys(AMOUNTS, ("decimal text", lambda text: _DECIMAL.fullmatch(text) is not None)),
    **dict.fromkeys(
        ("integer", "id", "code", "currency", "key"),
        ("whole number as text", lambda text: text.isascii() and text.lstrip("-").isdigit()),
    ),
    "address": ("0x and 40 hex digits", lambda text: text == "" or is_address(text)),
    "hash": ("64 hex digits", lambda text: text == "" or word_bytes(text) is not None),
}
"""Kind of a field that is text → the form of the text, in words and as a test. Other kinds may be any text."""
_NUMBERS: Mapping[str, tuple[str, Test]] = {
    "ms": ("Unix ms, or 0", lambda number: number == 0 or number in _HOUR_MS),
    "s": ("Unix seconds, or 0", lambda number: number == 0 or number * 1000 in _HOUR_MS),
}
"""Kind of a field that is a number → the form of the number, in words and as a test. Others may be any number."""
_TYPES: Mapping[JsonType, type] = {"integer": int, "string": str, "boolean": bool, "object": dict, "array": list}


def form_of(field: RecordField) -> tuple[str, Test]:
    """Return the form of a field's values as declared, in words and as a test: the type in JSON and its contents.

    Parameters
    ----------
    field : RecordField
        Declaration of the field.
    """
    if field.enum:
        enum = ENUMS[field.enum]
        known = enum.name_of
        names = enum.names if field.json == "string" else tuple(map(str, known))
        said, fits = f"{field.json}, one of {', '.join(names)}", known.__contains__
        if field.json == "string":
            fits = enum.names.__contains__
    else:
        forms = _TEXTS if field.json == "string" else _NUMBERS
        said, fits = forms.get(field.kind, (field.json, lambda value: True))
    kind = _TYPES[field.json]
    return said, lambda value: type(value) is kind and fits(value)


def compare_rows(
    where: str, record: Record, rows: Sequence[Any], needed: Iterable[str] | None = None
) -> list[Difference]:
    """Return how rows differ from a record.

    Parameters
    ----------
    where : str
        Name of the answer or channel.
    record : Record
        Declaration of the record.
    rows : sequence
        The rows, decoded.
    needed : iterable of str, optional
        Wire names that the rows must have (default: the published ones).
    """
    found: list[Difference] = []

    def differ(field: str, declared: str, what: str, source: Source = record.source, optional: bool = False) -> None:
        found.append(Difference(where, field, declared, what, source, optional))

    objects = [row for row in rows if isinstance(row, Mapping)]
    if len(objects) < len(rows):
        differ("", f"rows of {record.name}", f"{len(rows) - len(objects)} of {len(rows)} are not objects")
    if needed is None:
        needed = record.published if record.known else record.by_wire
    required = {name for name in needed if not record.by_wire[name].sparse}
    for field in record.fields:
        words, fits = form_of(field)
        present = [row[field.wire] for row in objects if row.get(field.wire) is not None]
        unset = sum(field.null and row.get(field.wire, 0) is None for row in objects)
        missing = len(objects) - len(present) - unset
        if missing and field.wire in required:
            what = f"missing in {missing} of {len(objects)} rows"
            differ(field.wire, words, what, field.source, optional=not field.needed)
        wrong = [value for value in present if not fits(value)]
        if wrong:
            differ(field.wire, words, f"{shown(wrong[0])} ({len(wrong)} of {len(present)} values)", field.source)
    for name, value in _others(objects, record.by_wire).items():
        differ(str(name), "not declared", shown(value))
    return found


def _others(rows: Sequence[Mapping[str, Any]], known: Container[str]) -> dict[str, Any]:
    """Return the members of rows that are not known, each with its first value."""
    found: dict[str, Any] = {}
    for row in rows:
        for name, value in row.items():
            if name not in known:
                found.setdefault(name, value)
    return found


def compare_answer(endpoint: Endpoint[Any], status: int, body: Any) -> tuple[list[Difference], list[Any]]:
    """Return how the answer of a query differs from its declaration, and its rows.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    status : int
        Status of the answer.
    body : object
        The decoded answer.
    """
    where = endpoint.path
    found = compare_envelope(where, body, status, 200, 0)
    data = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or body.get("code") != 0 or status != 200:
        return found, []
    shapes = {
        "list": "an array",
        "paged": f"an array, or an object with total and {endpoint.items}",
        "one": "an object",
    }
    fits = isinstance(data, list) if endpoint.shape == "list" else isinstance(data, Mapping)
    if endpoint.shape == "paged":  # arrays are published, and pages with a total are observed
        paged = isinstance(data, Mapping) and "total" in data and isinstance(data.get(endpoint.items), list)
        fits = paged or isinstance(data, list)
    if not fits and not (data is None and endpoint.shape == "one"):
        found.append(Difference(where, "data", shapes[endpoint.shape], shown(data), endpoint.source))
    rows = endpoint.rows(data) if isinstance(data, list | Mapping) else []
    found += compare_rows(where, endpoint.record, rows)
    if endpoint.record is ProductMeta.declared and isinstance(data, Mapping):
        for member, record in META_RECORDS.items():
            found += compare_rows(f"{where} {member}", record, meta_rows(data.get(member)))
    if not endpoint.published:
        found = [replace(one, source=L) for one in found]
    return found, rows


def compare_envelope(where: str, body: Any, status: int, wanted: int, code: int | None) -> list[Difference]:
    """Return how an answer's status and envelope differ from what is expected.

    Parameters
    ----------
    where : str
        Name of the answer or channel.
    body : object
        The decoded answer.
    status : int
        Status of the answer.
    wanted : int
        Status that is expected.
    code : int or None
        Code that is expected, None for any but 0.
    """
    found = []
    if status != wanted:
        found.append(Difference(where, "HTTP status", str(wanted), str(status), P if code == 0 else L))
    if not isinstance(body, Mapping):
        return [*found, Difference(where, "body", "an object with code, message and data", shown(body))]
    given = body.get("code")
    if type(given) is not int or (given == 0 if code is None else given != code):
        found.append(Difference(where, "code", "not 0" if code is None else str(code), shown(given)))
    if not isinstance(body.get("message"), str | None):
        found.append(Difference(where, "message", "text", shown(body.get("message"))))
    if "data" not in body:
        found.append(Difference(where, "data", "present, or null", "missing"))
    others = _others([body], ("code", "message", "data"))
    return found + [Difference(where, name, "not declared", shown(value)) for name, value in others.items()]


def compare_messages(channel: Channel, messages: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Return how the data of a channel's messages differs from its declaration.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    messages : sequence of mapping
        Its messages, decoded.
    """
    where, found = channel.type, []
    members = [("type", channel.typed), ("sequence", channel.sequenced), *((name, True) for name in channel.also)]
    for name, declared in members:
        having = sum(name in data for data in messages)
        if declared and having < len(messages):
            missing = f"missing in {len(messages) - having} of {len(messages)} messages"
            found.append(Difference(where, name, "in every message", missing))
        elif having and not declared:
            found.append(Difference(where, name, "in no message", f"in {having} of {len(messages)} messages"))
    known = {name for name, _ in members} | {channel.key}
    if channel.key:
        others = _others(messages, known)
        found += [Difference(where, name, "not declared", shown(value)) for name, value in others.items()]
        without = sum(channel.key not in data for data in messages)
        if without:
            found.append(Difference(where, channel.key, "in every message", f"missing in {without} messages"))
    return found + _compare_items(channel, messages, known)


def _compare_items(channel: Channel, messages: Sequence[Mapping[str, Any]], known: set[str]) -> list[Difference]:
    where = channel.type
    if channel.type == "orderBook":
        return _compare_books(where, [data.get("book") for data in messages])
    if channel.type == "aopState":
        parts = [data["aop"] for data in messages if isinstance(data.get("aop"), Mapping)]
        found = []
        for part in AOP_RECORDS:
            rows = [row for aop in parts for row in _as_rows(aop.get(part))]
            if part == "settings":  # of these, only the names are the feed's own
                rows = [{"symbol": row.get("symbol")} for row in rows if isinstance(row, Mapping)]
                found += compare_rows(f"{where} {part}", AOP_RECORDS[part], rows, ("symbol",))
            else:
                found += compare_rows(f"{where} {part}", AOP_RECORDS[part], rows)
        return found
    if channel.key:
        rows = [row for data in messages for row in _as_rows(data.get(channel.key))]
    else:
        rows = [{name: value for name, value in data.items() if name not in known} for data in messages]
    return compare_rows(where, RECORDS[channel.type], rows, channel.columns or None)


def _compare_books(where: str, books: list[Any]) -> list[Difference]:
    declared = "bids and asks, lists of [price, quantity] as decimal text"
    decimal = _TEXTS["price"][1]
    for book in books:
        sides = [book.get(side) for side in ("bids", "asks")] if isinstance(book, Mapping) else [None]
        for levels in sides:
            good = isinstance(levels, list) and all(
                isinstance(level, list) and len(level) == 2 and all(type(one) is str and decimal(one) for one in level)
                for level in levels
            )
            if not good:
                return [Difference(where, "book", declared, shown(book))]
    return []


def _as_rows(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def shown(value: Any) -> str:
    """Return a value of an answer as short JSON.

    Parameters
    ----------
    value : object
        Any decoded value.
    """
    text = json.dumps(value, separators=(",", ":"), default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"
