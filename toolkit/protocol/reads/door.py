"""The door: accepts or refuses the rows that a venue sends, and reads each value as the type of its field.

A record declares the fields it needs (`Record.needed`). A row where one is missing or unreadable is no row of the
record. An answer with such a row is refused as a whole (`admit`). A live object leaves the row out, counts it and says
so (`fault`). Other published fields may be absent: a session says so once (`Door`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ...errors import BadAnswer, MalformedRequest, warn
from ...numerals import shown
from ..enums import ENUMS
from ..hexbytes import hash_text
from .endpoint import MAX_TIME, Endpoint
from .rows import AMOUNTS, CURRENCIES, Record, RecordField

MAX_EXPONENT = 36
"""Largest power of ten of an amount: no amount of a venue has more digits, and one damaged exponent may ask for
gigabytes."""
INT64 = range(-(2**63), 2**63)
_NUMBER = re.compile(r"[+-]?[0-9]*\.?[0-9]*([eE][+-]?[0-9]{1,3})?")
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_NO_SCALAR = frozenset((list, dict, bool))


def read(field: RecordField, value: Any) -> Any:
    """Return a value as the type of its field: Decimal, int (times in ms), bool or text.

    It is `None` where there is none. Numbers may come as text, and text as numbers.

    Parameters
    ----------
    field : RecordField
        Declaration of the field.
    value : object
        Value as read from JSON.

    Raises
    ------
    ValueError
        For a value that does not fit.
    """
    if value is None or field.kind == "object":
        return value
    if field.kind == "bool":
        return _truth(value)
    if type(value) in _NO_SCALAR:
        raise ValueError
    if field.enum:
        return ENUMS[field.enum].text(value)
    if field.kind in ("text", "symbol", "key"):
        return value if field.kind == "key" else str(value)
    if field.kind in AMOUNTS:
        return amount(value, signed=field.signed)
    if value == "":
        return None
    if field.kind in ("integer", "id"):
        return whole(value)
    if field.kind in ("ms", "s"):
        time_ms = whole(value) * (1000 if field.kind == "s" else 1)
        if abs(time_ms) > MAX_TIME:
            raise ValueError
        return time_ms
    if field.kind == "hash":
        return hash_text(str(value))
    # A code is a number for some venues, as text or with a fraction of 0 for others.
    text = str(value) if type(value) is str else str(whole(value)) if field.kind in ("code", "currency") else str(value)
    return CURRENCIES.get(text, text) if field.kind == "currency" else text


def _truth(value: Any) -> bool | None:
    if value != "" and str(value).lower() not in _TRUTH:
        raise ValueError
    return _TRUTH.get(str(value).lower())


def amount(value: Any, *, signed: bool = True) -> Decimal | None:
    """Return a value as Decimal, `None` where there is none.

    Parameters
    ----------
    value : object
        Value as read from JSON.
    signed : bool, optional
        Whether it may be negative (default: `True`).

    Raises
    ------
    ValueError
        For one that is no finite number.
    """
    if value is None or value == "":
        return None
    try:
        text = value if type(value) is str else str(value)
        number = value if type(value) is Decimal else Decimal(text if _NUMBER.fullmatch(text) else "")
    except ArithmeticError:
        raise ValueError from None
    if not number.is_finite() or abs(number.adjusted()) > MAX_EXPONENT or (number < 0 and not signed):
        raise ValueError
    return number


def whole(value: Any) -> int:
    """Return a value as an int64.

    Parameters
    ----------
    value : object
        Value as read from JSON.

    Raises
    ------
    ValueError
        For one that is no such number, or has a fraction.
    """
    try:
        number = int(value if type(value) is not str or _NUMBER.fullmatch(value) else "")
    except (TypeError, ArithmeticError):
        raise ValueError from None
    if isinstance(value, bool) or number not in INT64 or (isinstance(value, float | Decimal) and value != number):
        raise ValueError
    return number


def fault(record: Record, row: Any) -> str:
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
            found = read(field, value)
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


def rows_of(endpoint: Endpoint, data: Any) -> list[Any]:
    """Return the rows of an answer's data.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    data : object
        Member `data` of the answer.

    Raises
    ------
    BadAnswer
        For data of another shape.
    """
    try:
        return endpoint.rows(data)
    except MalformedRequest as error:
        raise BadAnswer(f"GET {error}", body=shown(data)) from None


def admit(path: str, record: Record, rows: Sequence[Any]) -> None:
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
    for number, row in enumerate(rows, 1):
        if why := fault(record, row):
            raise BadAnswer(f"GET {path}: {record.name}: {why}, in row {number} of {len(rows)}", body=shown(row))


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
