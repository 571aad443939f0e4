"""The door: accepts or refuses the rows that a venue sends, and makes typed rows of them.

A record declares the fields it needs (`Record.needed`). A row where one is missing or unreadable is no row of the
record. An answer with such a row is refused as a whole (`admit`), and so is one that does not answer the question
(`rows_of`, see `ties`). A live object leaves the row out, counts it and says so (`fault`). Other published fields may
be absent: a session says so once (`Door`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from ...errors import BadAnswer, MalformedRequest, warn
from ...numerals import shown
from . import ties, wire_values
from .endpoint import Endpoint
from .rows import AMOUNTS, Record, RecordField, Row

R = TypeVar("R", bound=Row)
"""Class of a row."""


def fault(record: Record, row: object) -> str:
    """Return why a row can't be used, "" for one that has all that the record needs.

    The text names the field.

    Parameters
    ----------
    record : Record
        Record of the row.
    row : object
        One row of the data, of any type.
    """
    if not isinstance(row, Mapping):
        return f"{shown(row)} is not an object"
    for field in record.needed:
        value = row.get(field.wire)
        try:
            found = wire_values.read(field, value)
        except ValueError:
            return f"{field.wire} {shown(value)} is not {field.noun}"
        held = found if isinstance(found, list) else [found]
        if field.kind == "object" and found is not None and not all(isinstance(one, Mapping) for one in held):
            return f"{field.wire} {shown(value)} is not objects"
        # A time of 0 is not set.
        if found is None or found == "" or (found == 0 and field.kind in ("ms", "s")):
            return f"{field.wire} is missing"
    return ""


def absent(record: Record, row: Mapping[str, Any], expected: Iterable[str] | None = None) -> list[str]:
    """Return the published fields that are missing in a row.

    Parameters
    ----------
    record : Record
        Record of the row.
    row : mapping of str to object
        One row of the data.
    expected : iterable of str or None, optional
        Fields that are looked for (default: those that belong to every row).
    """
    return [
        name
        for name in (record.expected if expected is None else expected)
        if row.get(name) is None and not (name in record.nullable and name in row)
    ]


def rows_of(
    endpoint: Endpoint[Row],
    data: object,
    query: Iterable[tuple[str, str]] = (),
    now_ms: int | None = None,
    *,
    by_rules: bool = True,
) -> list[Any]:
    """Return the rows of an answer's data, which agree with the question.

    Rows that break a rule are left out with a warning, where their record says so.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    data : object
        Member `data` of the answer.
    query : iterable of tuple of (str, str), optional
        Names and texts of the query (default: none).
    now_ms : int or None, optional
        The present on the venue's clock, Unix ms (default: not known, and no time is compared with it).
    by_rules : bool, optional
        False for a caller that judges each row itself (default: True).

    Raises
    ------
    BadAnswer
        For data of another shape, and for a row of another account, product, interval, order or time. Also for two rows
        with one identity, for amounts that do not add up, and for times that lie ahead. It names path, record, field
        and row.
    """
    rows = _listed(endpoint, data)
    left_out = tie(endpoint, rows, query, now_ms, by_rules=by_rules)
    return [row for at, row in enumerate(rows) if at not in left_out] if left_out else rows


def _listed(endpoint: Endpoint[Row], data: object) -> list[Any]:
    try:
        return endpoint.rows(data)
    except MalformedRequest as error:
        raise BadAnswer(f"GET {error}", body=shown(data)) from None


def answering(endpoint: Endpoint[Row], data: object, query: Iterable[tuple[str, str]]) -> tuple[list[Any], str]:
    """Return the rows of an answer's data that agree with the question, and why others are left out.

    `rows_of` refuses the whole answer for one of the others. This is for who leaves, see `ties.answering`.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    data : object
        Member `data` of the answer.
    query : iterable of tuple of (str, str)
        Names and texts of the query.

    Returns
    -------
    rows : list of mapping
        The rows that agree.
    why : str
        Sentence about the first of the others, "" where there are none.

    Raises
    ------
    BadAnswer
        For data of another shape.
    """
    listed = _listed(endpoint, data)
    objects = [row for row in listed if isinstance(row, Mapping)]
    rows, why = ties.answering(endpoint.record, objects, ties.of_query(endpoint, query))
    why = why or ("a row is not an object" if len(objects) < len(listed) else "")
    left_out = f"{len(listed) - len(rows)} of {len(listed)} rows are left out"
    return list(rows), f"GET {endpoint.path}: {endpoint.record.name}: {why}, {left_out}" if why else ""


def tie(
    endpoint: Endpoint[Row],
    rows: Sequence[object],
    query: Iterable[tuple[str, str]],
    now_ms: int | None = None,
    *,
    by_rules: bool = True,
) -> dict[int, str]:
    """Refuse rows that do not agree with the question, as `rows_of` does. Return those to leave out, and why.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    rows : sequence of object
        Rows of the data.
    query : iterable of tuple of (str, str)
        Names and texts of the query.
    now_ms : int or None, optional
        The present on the venue's clock, Unix ms (default: not known).
    by_rules : bool, optional
        False for a caller that judges each row itself (default: True).

    Raises
    ------
    BadAnswer
        As `rows_of` does.
    """
    record = endpoint.record
    objects = _objects(rows) or [row if isinstance(row, Mapping) else {} for row in rows]
    question = ties.of_query(endpoint, query, now_ms)
    wrong = ties.contradiction(record, objects, question) or ties.repetition(record, objects)
    found = {} if wrong or not by_rules else dict(reversed(list(ties.faults(record, objects, question))))
    if found and not record.drops:
        wrong = min(found.items())
    if wrong is not None:
        _refuse(endpoint.path, record, rows, *wrong)
    if found:
        at, why = min(found.items())
        said = f"{len(found)} of {len(rows)} rows are left out, the first is row {at + 1}: {shown(rows[at])}"
        warn(f"GET {endpoint.path}: {record.name}: {why}. {said}")
    return found


def admit(path: str, record: Record, rows: Sequence[object]) -> None:
    """Accept rows, each of which has all that its record needs.

    Parameters
    ----------
    path : str
        Path of the query.
    record : Record
        Record of the row.
    rows : sequence of object
        Rows of the data.

    Raises
    ------
    BadAnswer
        With path, record and field, for a row that can't be used.
    """
    objects = _objects(rows)
    if objects is None or any(_may_lack(field, *column(field, objects)) for field in record.needed):
        _judge(path, record, rows)


def _objects(rows: Sequence[object]) -> Sequence[Mapping[str, object]] | None:
    # The types are compared first, because to ask for a Mapping takes as long as to read a field.
    good = set(map(type, rows)) <= {dict} or all(isinstance(row, Mapping) for row in rows)
    return cast(Sequence[Mapping[str, object]], rows) if good else None


def _judge(path: str, record: Record, rows: Sequence[object]) -> None:
    """Look at rows one by one, and refuse the first that can't be used. Raises BadAnswer."""
    for at, row in enumerate(rows):
        if why := fault(record, row):
            _refuse(path, record, rows, at, why)


def column(field: RecordField, rows: Sequence[Mapping[str, object]]) -> tuple[list[Any], int]:
    """Return a field of many rows, `None` for what is missing or unreadable, and how many values are unreadable.

    Parameters
    ----------
    field : RecordField
        Declaration of the field.
    rows : sequence of mapping of str to object
        Rows of the data.
    """
    return wire_values.column(field, [row.get(field.wire) for row in rows])


def _may_lack(field: RecordField, found: Sequence[object], bad: int) -> bool:
    """Return whether a needed field may be missing in a row: `fault` decides."""
    return bool(bad) or None in found or field.kind == "object" or (0 if field.kind in ("ms", "s") else "") in found


def _refuse(path: str, record: Record, rows: Sequence[object], at: int, why: str) -> None:
    error = BadAnswer(f"GET {path}: {record.name}: {why}, in row {at + 1} of {len(rows)}", body=shown(rows[at]))
    error.contradicts = True
    raise error


def typed_rows(
    row: type[R],
    rows: Sequence[object],
    path: str,
    *,
    symbols: Mapping[str, str] | None = None,
    tell: Callable[[RecordField, Sequence[object], int], None] | None = None,
) -> list[R]:
    """Return rows as objects of their class, proven: amounts are Decimal, times ms, enums names, `None` is missing.

    An optional value that can't be read is `None` as well.

    Parameters
    ----------
    row : type of Row
        Class of the rows.
    rows : sequence of object
        Rows of the data.
    path : str
        Path of the query, for the error.
    symbols : mapping of str to str, optional
        Product code → symbol (default: none). An unknown code stays as it came.
    tell : callable, optional
        Called for each optional field with unreadable values: the field, its values, and the number of unreadable ones
        (default: nothing is said).

    Raises
    ------
    BadAnswer
        With path, record and field, for a row that can't be used.
    """
    record, columns = row.declared, []
    if (objects := _objects(rows)) is None:
        _judge(path, record, rows)
    for field in record.fields if objects else ():
        found, bad = column(field, objects or ())
        if field.needed and _may_lack(field, found, bad):
            _judge(path, record, rows)
        if bad and tell is not None:
            tell(field, [one.get(field.wire) for one in objects or ()], bad)
        if field.kind in ("ms", "s") and 0 in found:
            found = [one or None for one in found]  # the venue writes 0 where a time is not set
        if field.kind == "code" and symbols:
            found = [symbols.get(one, one) for one in found]
        columns.append(found)
    # A type checker knows the fields as keywords. In the order of their declaration they are four times as fast.
    return list(map(cast(Callable[..., R], row), *columns)) if columns else []


def seen(row: type[R], given: object, *, in_part: bool = False) -> R | None:
    """Return a row of which any field may be missing or unreadable, which is `None` then.

    It is for rows that prove something by what they have, such as whose order they are. One with an amount that can't
    be read proves nothing: it is no row.

    Parameters
    ----------
    row : type of Row
        Class of the row.
    given : object
        The row as decoded.
    in_part : bool, optional
        True if an unreadable amount is `None` as well (default: `False`). It is for rows that are acted on by their id.
    """
    if not isinstance(given, Mapping):
        return None
    values = []
    for field in row.declared.fields:
        try:
            values.append(wire_values.read(field, given.get(field.wire)))
        except ValueError:
            if field.kind in AMOUNTS and not in_part:
                return None
            values.append(None)
    return cast(Callable[..., R], row)(*values)


def legible(row: type[R], rows: Sequence[object], path: str) -> list[R]:
    """Return rows of which any field may be missing or unreadable, which is `None` then.

    Parameters
    ----------
    row : type of Row
        Class of the rows.
    rows : sequence of object
        Rows of the data.
    path : str
        Path of the query, for the error.

    Raises
    ------
    BadAnswer
        For a row with an amount that can't be read, which is not 0. It names path, record, field and row.
    """
    found: list[R] = []
    for at, given in enumerate(rows):
        if (one := seen(row, given)) is None:
            _refuse(path, row.declared, rows, at, _unreadable(row.declared, given))
        else:
            found.append(one)
    return found


def _unreadable(record: Record, row: object) -> str:
    """Return which amount of a row can't be read."""
    if not isinstance(row, Mapping):
        return f"{shown(row)} is not an object"
    bad = next(field for field in record.fields if field.kind in AMOUNTS and column(field, [row])[1])
    return f"{bad.wire} {shown(row[bad.wire])} is not {bad.noun}"


class Door:
    """The door of one session: it says once that a field is absent, or that rows of a live object were left out."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def look(self, record: Record, rows: Iterable[Any]) -> None:
        """Warn of fields that are missing in rows that are used nevertheless.

        Parameters
        ----------
        record : Record
            Record of the row.
        rows : iterable of object
            Rows of the data.
        """
        for row in rows:
            why = fault(record, row)
            if why.endswith("is missing"):  # who reads the row says what else it has
                self.warn(record.name, why.partition(" ")[0], f"{record.name}: {why}")
            for name in absent(record, row) if isinstance(row, Mapping) else ():
                self.absent(record.name, name)

    def name(self, record: Record, rows: Sequence[Mapping[str, object]]) -> None:
        """Warn of values that are none of the names that their field is known to have.

        Parameters
        ----------
        record : Record
            Record of the rows.
        rows : sequence of mapping of str to object
            The rows.
        """
        for said in ties.unknown_names(record, rows):
            self.warn(record.name, said, said)

    def absent(self, record: str, name: str) -> None:
        """Warn that a published field of a record is absent.

        Parameters
        ----------
        record : str
            Name of the record.
        name : str
            Wire name of the field.
        """
        self.warn(record, name, f"{record}.{name} is published and missing in what the venue sent. It is NA")

    def warn(self, record: str, what: str, message: str) -> None:
        """Warn with DataWarning of something about a record, unless that was done before.

        Parameters
        ----------
        record : str
            Name of the record.
        what : str
            What it is about. A second warning of the same is left out.
        message : str
            The text.
        """
        if (record, what) not in self._said:
            self._said.add((record, what))
            warn(message)
