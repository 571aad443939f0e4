"""What ties an answer to its question: the account, product, interval, order and window that were asked for.

A parameter declares the column that must have its value (`Param.ties`, `SubscriptionField.ties`), a record what must
add up (`Sum`) and whether its identity is unique. All is checked here, for every query and every channel. A row without
the identifying field can't be tied: that is unknown, not wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...numerals import shown
from ..hexbytes import hash_text, is_address
from . import wire_values
from .endpoint import Endpoint
from .rows import Record, RecordField, Row, Sum

if TYPE_CHECKING:
    from .channel import Channel

WireRow = Mapping[str, object]
"""A row as decoded, by wire name."""


class Question(NamedTuple):
    """What an answer must agree with.

    Attributes
    ----------
    tied : mapping of str to str
        Column of the rows → the value that was asked for.
    first_ms : int or None
        Earliest time of a row, `None` for no bound (default: `None`).
    last_ms : int or None
        Latest time of a row, `None` for no bound (default: `None`).
    """

    tied: Mapping[str, str]
    first_ms: int | None = None
    last_ms: int | None = None


def of_query(endpoint: Endpoint[Row], query: Iterable[tuple[str, str]]) -> Question:
    """Return what the answer to a query must agree with.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    query : iterable of tuple of (str, str)
        Names and texts of the query.
    """
    asked = [(param, value) for name, value in query if (param := endpoint.params.get(name)) and param.ties]
    tied: dict[str, str] = {param.ties: value for param, value in asked if param.ties != "time"}
    # The time of a row that changes may pass the end of the window before it is read.
    bounds = {param.name: int(value) for param, value in asked if param.ties == "time" and not endpoint.record.changing}
    return Question(tied, bounds.get("start"), bounds.get("end"))


def of_subscription(channel: Channel, fields: Mapping[str, object]) -> Question:
    """Return what the rows of a channel must agree with.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping of str to object
        Checked fields of the subscription.
    """
    return Question({one.ties: str(fields[one.name]) for one in channel.fields if one.ties and one.name in fields})


def contradiction(record: Record, rows: Sequence[WireRow], question: Question) -> tuple[int, str] | None:
    """Return the number of a row that contradicts the question, or itself, and why, `None` where none does.

    Parameters
    ----------
    record : Record
        Record of the rows.
    rows : sequence of mapping of str to object
        The rows.
    question : Question
        What they must agree with.
    """
    return _stray(record, rows, question) or next(
        filter(None, (_unequal(record, rows, one) for one in record.sums)), None
    )


def answering(record: Record, rows: Sequence[WireRow], question: Question) -> tuple[list[WireRow], str]:
    """Return the rows that answer the question, one of each identity, and why the first of the others does not.

    It is for who leaves: one row of somebody else must not stand between a user and the own orders and positions. A row
    whose amounts do not add up is the user's all the same, so it stays.

    Parameters
    ----------
    record : Record
        Record of the rows.
    rows : sequence of mapping of str to object
        The rows of one answer.
    question : Question
        What they must agree with.
    """
    kept, why = list(rows), ""
    while found := _stray(record, kept, question) or repetition(record, kept):
        del kept[found[0]]
        why = why or found[1]
    return kept, why


def _stray(record: Record, rows: Sequence[WireRow], question: Question) -> tuple[int, str] | None:
    """Return the number of a row that answers another question, and why, `None` where all answer this one."""
    for column, asked in question.tied.items():
        if (of_tie := record.by_column.get(column)) and (found := _of_another(of_tie, rows, asked)):
            return found
    if record.time and (question.first_ms, question.last_ms) != (None, None):
        return _outside(record.by_wire[record.time], rows, question)
    return None


def repetition(record: Record, rows: Sequence[WireRow]) -> tuple[int, str] | None:
    """Return the number of the second row of one identity in one answer, and which it is, `None` without any.

    Parameters
    ----------
    record : Record
        Record of the rows.
    rows : sequence of mapping of str to object
        The rows of one answer.
    """
    if not record.identity or not record.unique:
        return None
    # As text, because venues write ids as numbers or as text.
    keys = list(zip(*([str(row.get(name)) for row in rows] for name in record.identity), strict=True))
    if len(set(keys)) == len(keys):
        return None
    seen: set[tuple[str, ...]] = set()
    for at, key in enumerate(keys):
        if key in seen and not any(rows[at].get(name) in (None, "") for name in record.identity):
            return at, f"{' and '.join(record.identity)} {' and '.join(key)} is there twice"
        seen.add(key)
    return None


def _of_another(one: RecordField, rows: Sequence[WireRow], asked: str) -> tuple[int, str] | None:
    found = [row.get(one.wire) for row in rows]
    try:
        distinct: Iterable[object] = set(found)
    except TypeError:  # a list or an object, which is no value of a field
        distinct = found
    wrong = next((value for value in distinct if _differs(one, value, asked)), None)
    return None if wrong is None else (found.index(wrong), f"{one.wire} {shown(wrong)} is not {asked}")


def _differs(one: RecordField, value: object, asked: str) -> bool:
    """Return whether a value is not the one that was asked for. One that is missing or can't be compared is not."""
    if value == asked:  # nearly always
        return False
    try:
        found = wire_values.read(one, value)
    except ValueError:
        return False
    if found is None or (found == "" and one.kind != "symbol"):  # an empty symbol is another one, and not left out
        return False
    if one.kind == "address":  # it may be abridged
        return is_address(found) and found.lower() != asked.lower()
    if one.kind == "hash":
        return bool(found != hash_text(asked))
    if one.kind in ("integer", "id"):
        return bool(found != int(asked))
    if one.kind == "code" and not found.isdecimal():
        return False
    return str(found).lower() != asked.lower()


def _outside(time: RecordField, rows: Sequence[WireRow], question: Question) -> tuple[int, str] | None:
    found, _ = wire_values.column(time, [row.get(time.wire) for row in rows])
    known = [one for one in found if one]
    first, last = question.first_ms, question.last_ms
    early = first is not None and min(known, default=first) < first
    late = last is not None and max(known, default=last) > last
    if not (early or late):
        return None
    wrong = min(known) if early else max(known)
    bound = f"before startTime {first}" if early else f"after endTime {last}"
    return found.index(wrong), f"{time.wire} {wrong} is {bound}"


def _unequal(record: Record, rows: Sequence[WireRow], one: Sum) -> tuple[int, str] | None:
    def column(name: str, those: Sequence[WireRow]) -> list[Any]:
        of = record.by_column[name]
        return wire_values.column(of, [row.get(of.wire) for row in those])[0]

    sums = zip(*(column(name, rows) for name in (one.total, *one.parts)), strict=True)
    for at, (total, *parts) in enumerate(sums):
        if not total or None in parts or (found := sum(parts)) == total:
            continue
        complete = all(column(name, rows[at : at + 1])[0] in values for name, values in one.complete.items())
        if complete or found > total:
            names, said = " + ".join(record.wires(*one.parts)), "is not" if complete else "is more than"
            return at, f"{names} {found} {said} {record.by_column[one.total].wire} {total}"
    return None
