"""Exact numbers: reading the arguments of formulas, computing with them, and writing integers as decimal text.

A value that can't be read raises InputError, which names the argument, its value and what would pass; no other error.
"""

from __future__ import annotations

import functools
import numbers
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any, ParamSpec, TypeVar, cast

from .errors import InputError

Number = Decimal | int | str | float
"""What an argument of a formula may be."""

FLOAT_DIGITS = 15
"""A decimal of up to 15 digits is unchanged by a binary float; a float with more was computed, not written."""
MAX_DIGITS = 40
"""Longest decimal text, in characters: wider than any price, quantity or amount, and cheap to compare."""
plain_match = re.compile(rf"(?=.{{1,{MAX_DIGITS}}}\Z)[0-9]+(?:\.[0-9]+)?", re.DOTALL).fullmatch
"""Matches unsigned decimal text as it may be signed: digits on both sides of a point, or no point."""
_SEPARATED = tuple(
    re.compile(rf"((?:[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+)|[0-9]*)(?:{point}([0-9]*))?").fullmatch
    for group, point in ((",", r"\."), (r"\.", ","), ("_", r"\."), ("_", ","))
)
"""Match numbers with separators, the digits before and after the point, for each pair of group and decimal mark."""
_BLANKS = re.compile("[ \u00a0\u2009\u202f'’]")
_MAGNITUDE = 300
"""Largest power of ten of a number, in either direction: a product of several can't overflow, and is fast."""
_CONTEXT = Context(prec=50)
_ANSWER = Context(prec=28)
_ZERO = Decimal(0)
_NUMBER = "it must be a number"
_P = ParamSpec("_P")
_R = TypeVar("_R")


def exactly(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compute with 50 digits and return a Decimal with 28, whatever decimal context the caller uses."""

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with localcontext(_CONTEXT):
            result = function(*args, **kwargs)
        return cast(_R, _ANSWER.plus(result)) if isinstance(result, Decimal) else result

    return wrapped


def read_side(value: Any) -> int:
    """Return +1 (long) or −1 (short)."""
    number: Any = value if isinstance(value, numbers.Real | Decimal) else None
    if isinstance(value, bool) or (isinstance(value, Decimal) and value.is_nan()):
        number = None  # comparing a signalling NaN raises
    if number in (1, -1):
        return int(number)
    known = {"BUY": ("1",), "LONG": ("1",), "SELL": ("-1",), "SHORT": ("-1",)}
    nearest = known.get(value.upper() if isinstance(value, str) else "", ("1", "-1"))
    message = f"side is {shown(value)}; it must be +1 (long) or -1 (short)"
    raise InputError(message, field="side", value=value, nearest=nearest)


def read_price(value: Any, field: str) -> Decimal | None:
    """Return a price above 0; None for a missing one (None, or NaN as in frames)."""
    return None if is_missing(value) else read_positive(value, field)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, or NaN as in frames."""
    if value is None or isinstance(value, Decimal):
        return value is None or value.is_qnan()
    if isinstance(value, numbers.Real):
        return bool(value != value)
    return type(value).__name__ == "NAType"  # pandas.NA, without importing pandas


def read_positive(value: Any, field: str) -> Decimal:
    """Return a number above 0."""
    number = read_decimal(value, field)
    if number <= 0:
        raise InputError(f"{field} is {number}; it must be above 0", field=field, value=value)
    return number


def read_amount(value: Any, field: str) -> Decimal:
    """Return a number that is not negative."""
    number = read_decimal(value, field)
    if number < 0:
        raise InputError(f"{field} is {number}; it must not be negative", field=field, value=value)
    return number


def read_decimal(value: Any, field: str) -> Decimal:
    """Return a finite number, exactly as it is written."""
    if isinstance(value, Decimal):
        number = value
    elif isinstance(value, bool) or value is None:
        raise not_a(value, field, _NUMBER)
    elif isinstance(value, int):
        number = Decimal(value)
    elif isinstance(value, float):
        number = _from_float(float.__repr__(value), value, field)
    elif isinstance(value, str):
        try:
            number = Decimal(value)
        except InvalidOperation:
            raise not_a(value, field, _NUMBER) from None
    else:
        number = _from_other(value, field)
    if not number.is_finite():
        raise not_a(value, field, "it must be a finite number")
    if not -_MAGNITUDE <= number.adjusted() < _MAGNITUDE:
        if number:
            raise not_a(value, field, f"other than 0 it must lie between 1e-{_MAGNITUDE} and 1e{_MAGNITUDE}")
        return _ZERO
    return number


def plain_decimal(text: object) -> Decimal | None:
    """Return the number of an unsigned decimal text that may be signed as it stands; None for anything else.

    >>> plain_decimal("60000.5"), plain_decimal("60000."), plain_decimal("1e3")
    (Decimal('60000.5'), None, None)
    """
    return Decimal(text) if isinstance(text, str) and plain_match(text) else None


def meanings(text: str) -> tuple[str, ...]:
    """Return the plain decimals that a number with separators may mean; none for text that is no such number.

    A separator groups digits only where groups of three follow it; otherwise it is the decimal mark.

    >>> meanings("0,03"), meanings("60.000,50"), meanings("60000."), meanings("1,23,4")
    (('0.03',), ('60000.50',), ('60000',), ())
    >>> meanings("1,500")
    ('1500', '1.500')
    """
    body = _BLANKS.sub("_", text.strip())
    found = []
    for match in _SEPARATED:
        parts = match(body)
        if parts is not None and body.strip("_.,"):
            whole, places = re.sub("[^0-9]", "", parts[1]) or "0", parts[2]
            found.append(f"{whole}.{places}" if places else whole)
    return tuple(one for one in dict.fromkeys(found) if one != text and plain_match(one))


def _from_float(text: str, value: Any, field: str) -> Decimal:
    number = Decimal(text)
    if number.is_finite() and len(number.normalize().as_tuple().digits) > FLOAT_DIGITS:
        near = format(number, ".12g")
        advice = f"give a Decimal or a text such as {near!r}"
        message = f"{field} is the float {text}, which has more than {FLOAT_DIGITS} digits; {advice}"
        raise InputError(message, field=field, value=value, nearest=(near,))
    return number


def _from_other(value: Any, field: str) -> Decimal:
    """Read numbers of other libraries: integers, fractions and floats."""
    whole = isinstance(value, numbers.Integral)
    try:
        if isinstance(value, numbers.Rational) and not whole:
            return _from_ratio(value, field)
        if isinstance(value, numbers.Real) and not whole:
            return _from_float(str(value), value, field)
        return Decimal(operator.index(value))
    except (TypeError, ArithmeticError):
        raise not_a(value, field, _NUMBER) from None


def _from_ratio(value: numbers.Rational, field: str) -> Decimal:
    with localcontext(_CONTEXT):
        number = Decimal(int(value.numerator)) / Decimal(int(value.denominator))
    if Fraction(number) != value:
        near = str(_ANSWER.plus(number))
        message = f"{field} is the fraction {shown(value)}, which has no finite decimal; give a Decimal such as {near}"
        raise InputError(message, field=field, value=value, nearest=(near,))
    return number


def read_rows(value: Any, field: str, wanted: str) -> Iterable[Any]:
    """Return an iterable of rows. Text and mappings are refused: their characters and keys are not rows."""
    if not isinstance(value, str | bytes | Mapping):
        try:
            found: Iterable[Any] = iter(value)
            return found
        except TypeError:
            pass
    raise not_a(value, field, f"it must be a list of {wanted}")


def not_a(value: Any, field: str, wanted: str) -> InputError:
    """Return the error for a value of the wrong kind; `wanted` describes the right one."""
    return InputError(f"{field} is {shown(value)}; {wanted}", field=field, value=value)


def fixed_text(value: int, places: int) -> str:
    """Return value × 10^−places as decimal text with exactly that many decimals.

    >>> fixed_text(600000, 1), fixed_text(-5, 2)
    ('60000.0', '-0.05')
    """
    if not places:
        return str(value)
    digits = str(value).zfill(places + 1 if value >= 0 else places + 2)  # zfill counts the sign
    return f"{digits[:-places]}.{digits[-places:]}"


def shortest_text(value: int, places: int) -> str:
    """Return value × 10^−places as decimal text without trailing zeros.

    >>> shortest_text(2050, 2), shortest_text(2000, 2)
    ('20.5', '20')
    """
    return fixed_text(value, places).rstrip("0").rstrip(".") if places else str(value)


def micro_text(value_micro: int) -> str:
    """Return micro-USDC, or millionths of a share, as decimal text: 1_500_000 → "1.5"."""
    return shortest_text(value_micro, 6)


def rate_text(rate_e8: int) -> str:
    """Return a rate in parts of 1e-8 as decimal text: 60_000 → "0.0006"."""
    return shortest_text(rate_e8, 8)


def plain_text(value: Decimal) -> str:
    """Return a number in plain digits: no exponent, no trailing zeros."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def time_text(time_ms: int) -> str:
    """Return a time in Unix ms as messages show it, such as "2026-01-01 04:00:00 UTC".

    >>> time_text(1_767_240_000_000)
    '2026-01-01 04:00:00 UTC'
    """
    try:
        return f"{datetime.fromtimestamp(time_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):  # beyond the year 9999
        return f"{time_ms} ms"


def shown(value: Any) -> str:
    """Return the repr of a value for a message, shortened."""
    try:
        text = repr(value)
    except Exception:  # the repr of a foreign object can fail, and so does that of an integer of thousands of digits
        return f"of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"


_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"([0-9]+)(ms|[smhdw])\s*")
_SPAN = re.compile(rf"\s*({_PART.pattern})+")


def milliseconds(span: str | int | timedelta, name: str = "span") -> int:
    """Return a span in ms, given as ms, a timedelta, or text like "4h", "90s", "1d 12h" or "1d12h".

    Raises InputError for anything else, and for a negative span.
    """
    if isinstance(span, timedelta):
        total = span // timedelta(milliseconds=1)
    elif isinstance(span, int) and not isinstance(span, bool):
        total = span
    elif isinstance(span, str) and _SPAN.fullmatch(span):
        total = sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(span))
    else:
        total = -1
    if total < 0:
        message = f'{span!r} is not a span of time; give ms, a timedelta, or text like "4h", "90s" or "1d 12h"'
        raise InputError(message, field=name, rule="span", value=span)
    return total
