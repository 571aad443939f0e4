"""What ties an answer to its question: the account, product, interval, order and window that were asked for.

A parameter declares the column that must have its value (`Param.ties`, `SubscriptionField.ties`). A record declares
what holds in a row (`Rule`), what no two rows share (`Unique`) and which times may lie ahead. All is checked here, for
every query and every channel. A row without the identifying field can't be tied: that is unknown, not wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...numerals import shown
from ..hexbytes import hash_text, is_address
from . import wire_values
from .endpoint import Endpoint
from .rows import Record, RecordField, Row, Rule, Unique

if TYPE_CHECKING:
    from .channel import Channel

WireRow = Mapping[str, object]
"""A row as decoded, by wire name."""
AHEAD_MS = 86_400_000
"""A time may be so much later than the present: the clocks of two machines differ, by hours where a zone is wrong."""


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
    now_ms : int or None
        The present, `None` where it is not known (default: `None`).
    """

    tied: Mapping[str, str]
    first_ms: int | None = None
    last_ms: int | None = None
    now_ms: int | None = None


def of_query(endpoint: Endpoint[Row], query: Iterable[tuple[str, str]], now_ms: int | None = None) -> Question:
    """Return what the answer to a query must agree with.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    query : iterable of tuple of (str, str)
        Names and texts of the query.
    now_ms : int or None, optional
        The present on the venue's clock, Unix ms (default: not known).
    """
    asked = [(param, value) for name, value in query if (param := endpoint.params.get(name)) and param.ties]
    tied: dict[str, str] = {param.ties: value for param, value in asked if param.ties != "time"}
    # The time of a row that changes may pass the end of the window before it is read.
    bounds = {param.name: int(value) for param, value in asked if param.ties == "time" and not endpoint.record.changing}
    return Question(tied, bounds.get("start"), bounds.get("end"), now_ms)


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


def faults(record: Record, rows: Sequence[WireRow], question: Question) -> Iterator[tuple[int, str]]:
    """Yield the number of each row that breaks a rule of its record or lies ahead of the present, and why.

    Parameters
    ----------
    record : Record
        Record of the rows.
    rows : sequence of mapping of str to object
        The rows.
    question : Question
        What they must agree with.
    """
    columns: dict[str, list[Any]] = {}

    def column(name: str) -> list[Any]:
        if name not in columns:
            columns[name] = _values(record.by_column[name], rows)
        return columns[name]

    if question.now_ms is not None:
        latest = question.now_ms + AHEAD_MS
        for time in record.past:
            late = (at for at, value in enumerate(column(time.column)) if value is not None and value > latest)
            yield from ((at, f"{time.wire} {rows[at][time.wire]} lies ahead of the present") for at in late)
    for rule in record.rules:
        for at, values in enumerate(zip(*map(column, rule.columns), strict=True)):
            if None not in values and not rule.holds(*values):
                yield at, _broken(record, rows[at], rule)


def _broken(record: Record, row: WireRow, rule: Rule) -> str:
    held = ", ".join(f"{name} {shown(row.get(name))}" for name in record.wires(*rule.columns))
    return f"{held}: {rule.said}"


def _values(field: RecordField, rows: Sequence[WireRow]) -> list[Any]:
    return wire_values.column(field, [row.get(field.wire) for row in rows])[0]


def unknown_names(record: Record, rows: Sequence[WireRow]) -> Iterator[str]:
    """Yield a sentence about each name that its enum does not have.

    Such rows are used: a venue may have a name that is newer than this program.

    Parameters
    ----------
    record : Record
        Record of the rows.
    rows : sequence of mapping of str to object
        The rows.
    """
    for field, names in record.enums:
        for value in {one for row in rows if isinstance(one := row.get(field.wire), str | int)}:
            text = names.text(value)
            if text not in (None, "0") and str(text).upper() not in names.names:  # 0 is not set
                known = f"none of {', '.join(names.names)}. It is shown as it came"
                yield f"{record.name}.{field.wire} {shown(value)} is {known}"


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
    while found := contradiction(record, kept, question) or repetition(record, kept):
        del kept[found[0]]
        why = why or found[1]
    return kept, why


def contradiction(record: Record, rows: Sequence[WireRow], question: Question) -> tuple[int, str] | None:
    """Return the number of a row that answers another question, and why, `None` where all answer this one.

    Parameters
    ----------
    record : Record
        Record of the rows.
    rows : sequence of mapping of str to object
        The rows.
    question : Question
        What they must agree with.
    """
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
    identity = Unique(tuple([record.by_wire[name].column for name in record.identity if record.unique]))
    keys = (identity, *record.keys) if identity.columns else record.keys
    return next(filter(None, (_repeated(record, rows, key, key is not identity) for key in keys)), None)


def _repeated(record: Record, rows: Sequence[WireRow], key: Unique, is_none_0: bool) -> tuple[int, str] | None:
    # As the values that they stand for: venues write ids as numbers or as text, and addresses in either case. The
    # first block has the number 0, but a client id of 0 is none.
    found = [
        ["" if one is None or (is_none_0 and not one) else str(one).lower() for one in held]
        for held in (_values(record.by_column[name], rows) for name in key.columns)
    ]
    if len(set(zip(*found, strict=True))) == len(rows):  # nearly always
        return None
    compared = [_values(record.by_column[name], rows) for name in key.among]
    seen: set[tuple[str, ...]] = set()
    for at, values in enumerate(zip(*found, strict=True)):
        among = all(column[at] in of for column, of in zip(compared, key.among.values(), strict=True))
        if values in seen and among and all(values):
            wires = record.wires(*key.columns)
            held = " and ".join(str(rows[at].get(name)) for name in wires)
            return at, f"{' and '.join(wires)} {held} is there twice"
        if among:
            seen.add(values)
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
