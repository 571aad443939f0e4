"""Values of the wire: how each is read as the type of its field, one by one and by the column.

Numbers may come as text and text as numbers, enums by name or number. "" and null are none. What does not fit is a
ValueError, so that a row is refused or shows NA, as its reader decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ...numerals import printable
from ..enums import ENUMS
from ..hexbytes import hash_text
from .endpoint import MAX_TIME
from .rows import AMOUNTS, CURRENCIES, RecordField

MAX_EXPONENT = 36
"""Largest power of ten of an amount: no amount of a venue has more digits, and one damaged exponent may ask for
gigabytes."""
INT64 = range(-(2**63), 2**63)
_NUMBER = re.compile(r"[+-]?[0-9]*\.?[0-9]*([eE][+-]?[0-9]{1,3})?")
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_NO_SCALAR = frozenset((list, dict, bool))


# `Any`: the kind of the field says which type it is, as the annotation of the row's attribute does.
def read(field: RecordField, value: object) -> Any:
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
        name = ENUMS[field.enum].text(value)
        return None if name is None else printable(name)
    if field.kind in ("text", "symbol", "key"):
        return printable(str(value))
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
    return CURRENCIES.get(text, text) if field.kind == "currency" else printable(text)


def _truth(value: object) -> bool | None:
    if value != "" and str(value).lower() not in _TRUTH:
        raise ValueError
    return _TRUTH.get(str(value).lower())


def amount(value: object, *, signed: bool = True) -> Decimal | None:
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


def whole(value: object) -> int:
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
        given = value if isinstance(value, str | int | float | Decimal) else ""
        number = int(given if type(given) is not str or _NUMBER.fullmatch(given) else "")
    except ArithmeticError:
        raise ValueError from None
    if isinstance(value, bool) or number not in INT64 or (isinstance(value, float | Decimal) and value != number):
        raise ValueError
    return number


def column(field: RecordField, values: Sequence[object]) -> tuple[list[Any], int]:
    """Return the values of one field in many rows as `read` does, and how many can't be read, which are `None`.

    Parameters
    ----------
    field : RecordField
        Declaration of the field.
    values : sequence of object
        Values as read from JSON, `None` where there is none.
    """
    if field.kind == "object":
        return list(values), 0
    kinds = set(map(type, values))
    if kinds == _NOTHING:
        return list(values), 0
    # Second form: a value of the wire
    try:
        if field.kind in AMOUNTS and kinds <= _TEXTS:
            return _amounts(values, field.signed), 0  # type: ignore[arg-type]
        if field.kind in _WHOLE and kinds <= _KEYS:
            return _wholes(field, values, kinds), 0
    except (ArithmeticError, ValueError):
        pass  # one by one, which finds those that can't be read
    if kinds <= _KEYS and field.kind in ("text", "symbol", "key") and not field.enum:
        texts = list(map(str, values))
        return texts if "".join(texts).isprintable() else list(map(printable, texts)), 0
    if kinds == _TEXTS and field.kind == "hash":
        return [hash_text(str(value)) if value else None for value in values], 0
    if field.kind in AMOUNTS or field.kind in _WHOLE:
        found = [_tried(field, value) for value in values]
    else:
        # Columns repeat few texts, so each one is read once. True and 1 are one key of a dict, so the type is in it.
        keys = values if kinds <= _KEYS else [(type(value), repr(value)) for value in values]
        known = {key: _tried(field, value) for key, value in dict(zip(keys, values, strict=True)).items()}
        found = [known[key] for key in keys]
    bad = found.count(_BAD)
    return [None if one is _BAD else one for one in found] if bad else found, bad


_NOTHING, _TEXTS, _KEYS, _WHOLE = {type(None)}, {str}, {str, int}, ("integer", "id", "ms", "s")
_BAD = object()


def _tried(field: RecordField, value: object) -> Any:
    try:
        return read(field, value)
    except ValueError:
        return _BAD


def _amounts(values: Sequence[str], signed: bool) -> list[Decimal]:
    """Return texts of digits and points as Decimal, which a whole column is nearly always. Raises for others.

    Decimal alone would also take "NaN", "1_000" and digits of other scripts.
    """
    digits = "".join(values).replace(".", "")
    digits = digits.replace("-", "") if signed else digits
    if not (digits.isascii() and digits.isdecimal()) or max(map(len, values)) > MAX_EXPONENT:
        raise ValueError
    return list(map(Decimal, values))


def _wholes(field: RecordField, values: Sequence[Any], kinds: set[type]) -> list[int]:
    """Return whole numbers that come as numbers or as texts of digits. Raises for others."""
    if str in kinds:
        digits = "".join(map(str, values))
        if not (digits.isascii() and digits.isdecimal()):  # and so are the numbers among them not negative
            raise ValueError
    numbers = list(map(int, values) if str in kinds else values)
    scale = 1000 if field.kind == "s" else 1
    low, high = (-MAX_TIME, MAX_TIME) if field.kind in ("ms", "s") else (INT64[0], INT64[-1])
    if min(numbers) * scale < low or max(numbers) * scale > high:
        raise ValueError
    return numbers if scale == 1 else [one * scale for one in numbers]
