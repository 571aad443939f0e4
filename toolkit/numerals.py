"""Exact numbers: reading the arguments of formulas, computing with them, and writing integers as decimal text.

A value that can't be read raises InputError, which names the argument, its value and what would pass, no other error.
"""

from __future__ import annotations

import functools
import numbers
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any, ParamSpec, TypeVar, cast

from .errors import InputError, MalformedRequest, ToolkitError
from .tracebacks import trim

Number = Decimal | int | str | float
"""The types of a formula's argument."""

FLOAT_DIGITS = 15
"""A decimal of up to 15 digits is unchanged by a binary float. A float with more was computed, not written."""
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
_DRESSED = re.compile(r"^[+$\s]+|\s*([A-Za-z]{2,6}|[$%xX])$", re.ASCII)
_POWER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?[eE][+-]?[0-9]{1,2}", re.ASCII).fullmatch
_MAGNITUDE = 300
"""Largest power of ten of a number, in either direction: a product of several can't overflow, and is fast."""
_CONTEXT = Context(prec=50)
_ANSWER = Context(prec=28)
_ZERO = Decimal(0)
_NUMBER = "It must be a number"
_P = ParamSpec("_P")
_R = TypeVar("_R")


def exactly(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compute with 50 digits and return a Decimal with 28, independently of the caller's decimal context.

    Parameters
    ----------
    function : callable
        Formula that computes with Decimal.
    """

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            with localcontext(_CONTEXT):
                result = function(*args, **kwargs)
        except ToolkitError as error:
            trim(error)
            raise
        return cast(_R, _ANSWER.plus(result)) if isinstance(result, Decimal) else result

    return wrapped


def read_side(value: object) -> int:
    """Return +1 (long) or −1 (short).

    Parameters
    ----------
    value : int or str
        A side: +1, -1, "BUY", "LONG", "SELL" or "SHORT".

    Returns
    -------
    int
        +1 for a long, -1 for a short.

    Raises
    ------
    InputError
        For anything else.
    """
    number: Any = value if isinstance(value, numbers.Real | Decimal) else None
    if isinstance(value, bool) or (isinstance(value, Decimal) and value.is_nan()):
        number = None  # comparing a signalling NaN raises
    if number in (1, -1):
        return int(number)
    known = {"BUY": ("1",), "LONG": ("1",), "SELL": ("-1",), "SHORT": ("-1",)}
    nearest = known.get(value.upper() if isinstance(value, str) else "", ("1", "-1"))
    message = f"side is {shown(value)}. It must be +1 (long) or -1 (short)"
    raise InputError(message, field="side", value=value, nearest=nearest)


def read_price(value: object, field: str) -> Decimal | None:
    """Return a price above 0, None for a missing one (None, or NaN as in frames).

    Parameters
    ----------
    value : Decimal, int, str, float or None
        Price in any unit.
    field : str
        Name of the argument, which errors repeat.

    Raises
    ------
    InputError
        For a number that is not above 0.
    """
    return None if is_missing(value) else read_positive(value, field)


def is_missing(value: object) -> bool:
    """Return whether a value is None, or NaN as in frames.

    Parameters
    ----------
    value : object
        Any value, such as a cell of a frame.
    """
    if value is None or isinstance(value, Decimal):
        return value is None or value.is_qnan()
    if isinstance(value, numbers.Real):
        return bool(value != value)
    return type(value).__name__ == "NAType"  # pandas.NA, without importing pandas


def read_positive(value: object, field: str) -> Decimal:
    """Return a number above 0.

    Parameters
    ----------
    value : Decimal, int, str or float
        Number in any unit.
    field : str
        Name of the argument, which errors repeat.

    Raises
    ------
    InputError
        For 0, a negative number, or what is no number.
    """
    number = read_decimal(value, field)
    if number <= 0:
        raise InputError(f"{field} is {number}. It must be above 0", field=field, value=value)
    return number


def read_amount(value: object, field: str) -> Decimal:
    """Return a number that is not negative.

    Parameters
    ----------
    value : Decimal, int, str or float
        Number in any unit.
    field : str
        Name of the argument, which errors repeat.

    Raises
    ------
    InputError
        For a negative number, or what is no number.
    """
    number = read_decimal(value, field)
    if number < 0:
        raise InputError(f"{field} is {number}. It must not be negative", field=field, value=value)
    return number


def read_decimal(value: object, field: str) -> Decimal:
    """Return a finite number, exactly as it is written.

    Parameters
    ----------
    value : Decimal, int, str, float or fraction
        Number of Python or of another library. A float counts as the text that it prints.
    field : str
        Name of the argument, which errors repeat.

    Raises
    ------
    InputError
        For what is no finite number, a float of more than 15 digits, or a number beyond 1e-300 to 1e300.
    """
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
        raise not_a(value, field, "It must be a finite number")
    if not -_MAGNITUDE <= number.adjusted() < _MAGNITUDE:
        if number:
            raise not_a(value, field, f"Other than 0 it must lie between 1e-{_MAGNITUDE} and 1e{_MAGNITUDE}")
        return _ZERO
    return number


def plain_decimal(text: object) -> Decimal | None:
    """Return the number of an unsigned decimal text that may be signed unchanged, None for anything else.

    Parameters
    ----------
    text : object
        Text to read, or anything else.

    Examples
    --------
    >>> plain_decimal("60000.5"), plain_decimal("60000."), plain_decimal("1e3")
    (Decimal('60000.5'), None, None)
    """
    return Decimal(text) if isinstance(text, str) and plain_match(text) else None


def meanings(text: str) -> tuple[str, ...]:
    """Return the plain decimals that a number with separators may mean. None for text that is no such number.

    A separator groups digits only where groups of three follow it. Otherwise it is the decimal mark. A plus sign, a
    dollar sign and the name of a currency are left out, and a power of ten is written out.

    Parameters
    ----------
    text : str
        A number as people write it, with separators, a currency or a power of ten.

    Examples
    --------
    >>> meanings("0,03"), meanings("60.000,50"), meanings("60000."), meanings("1,23,4")
    (('0.03',), ('60000.50',), ('60000',), ())
    >>> meanings("1,500")
    ('1500', '1.500')
    >>> meanings("6e4"), meanings("$60000"), meanings("+60000"), meanings("60 000 USDC")
    (('60000',), ('60000',), ('60000',), ('60000',))
    """
    bare = _DRESSED.sub("", text.strip())
    if _POWER(bare):
        bare = format(Decimal(bare), "f")
    body = _BLANKS.sub("_", bare)
    found = []
    for match in _SEPARATED:
        parts = match(body)
        if parts is not None and body.strip("_.,"):
            whole, places = re.sub("[^0-9]", "", parts[1]) or "0", parts[2]
            found.append(f"{whole}.{places}" if places else whole)
    return tuple(one for one in dict.fromkeys(found) if one != text and plain_match(one))


def _from_float(text: str, value: object, field: str) -> Decimal:
    number = Decimal(text)
    if number.is_finite() and len(number.normalize().as_tuple().digits) > FLOAT_DIGITS:
        near = format(number, ".12g")
        advice = f"Give a Decimal or a text such as {near!r}"
        message = f"{field} is the float {text}, which has more than {FLOAT_DIGITS} digits. {advice}"
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
        message = f"{field} is the fraction {shown(value)}, which has no finite decimal. Give a Decimal such as {near}"
        raise InputError(message, field=field, value=value, nearest=(near,))
    return number


def read_rows(value: Any, field: str, wanted: str) -> Iterable[Any]:
    """Return an iterable of rows. Text and mappings are refused: their characters and keys are not rows.

    Parameters
    ----------
    value : iterable
        Rows, such as a list of tiers.
    field : str
        Name of the argument, which errors repeat.
    wanted : str
        The rows in words, for the error.

    Raises
    ------
    InputError
        For text, a mapping, or what can't be iterated.
    """
    if not isinstance(value, str | bytes | Mapping):
        try:
            found: Iterable[Any] = iter(value)
            return found
        except TypeError:
            pass
    raise not_a(value, field, f"It must be a list of {wanted}")


def not_a(value: object, field: str, wanted: str) -> InputError:
    """Return the error for a value of the wrong kind.

    Parameters
    ----------
    value : object
        Value as the caller gave it.
    field : str
        Name of the argument, which errors repeat.
    wanted : str
        Sentence that describes the right kind.
    """
    return InputError(f"{field} is {shown(value)}. {wanted}", field=field, value=value)


def fixed_text(value: int, places: int) -> str:
    """Return value × 10^−places as decimal text with exactly that many decimals.

    Parameters
    ----------
    value : int
        Number in units of 10^−places.
    places : int
        Number of decimals, from 0 on.

    Examples
    --------
    >>> fixed_text(600000, 1), fixed_text(-5, 2)
    ('60000.0', '-0.05')
    """
    if not places:
        return str(value)
    digits = str(value).zfill(places + 1 if value >= 0 else places + 2)  # zfill counts the sign
    return f"{digits[:-places]}.{digits[-places:]}"


def shortest_text(value: int, places: int) -> str:
    """Return value × 10^−places as decimal text without trailing zeros.

    Parameters
    ----------
    value : int
        Number in units of 10^−places.
    places : int
        Number of decimals that the unit stands for, from 0 on.

    Examples
    --------
    >>> shortest_text(2050, 2), shortest_text(2000, 2)
    ('20.5', '20')
    """
    return fixed_text(value, places).rstrip("0").rstrip(".") if places else str(value)


def micro_text(value_micro: int) -> str:
    """Return micro-USDC, or millionths of a share, as decimal text.

    Parameters
    ----------
    value_micro : int
        Amount in millionths.

    Examples
    --------
    >>> micro_text(1_500_000)
    '1.5'
    """
    return shortest_text(value_micro, 6)


def rate_text(rate_e8: int) -> str:
    """Return a rate as decimal text.

    Parameters
    ----------
    rate_e8 : int
        Rate in parts of 1e-8.

    Examples
    --------
    >>> rate_text(60_000)
    '0.0006'
    """
    return shortest_text(rate_e8, 8)


def plain_text(value: Decimal) -> str:
    """Return a number in plain digits: no exponent, no trailing zeros.

    Parameters
    ----------
    value : Decimal
        Finite number.
    """
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def time_text(time_ms: int) -> str:
    """Return a time in Unix ms as messages show it, such as "2026-01-01 04:00:00 UTC".

    Parameters
    ----------
    time_ms : int
        Time in Unix ms.

    Examples
    --------
    >>> time_text(1_767_240_000_000)
    '2026-01-01 04:00:00 UTC'
    """
    try:
        return f"{datetime.fromtimestamp(time_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):  # beyond the year 9999
        return f"{time_ms} ms"


def printable(text: str) -> str:
    """Return a text with escapes for what would not be seen: line ends, terminal codes, bidirectional marks.

    Parameters
    ----------
    text : str
        Name or other text that a venue sends.

    Examples
    --------
    >>> printable("BTC\\x1b[31m")
    'BTC\\\\x1b[31m'
    """
    if text.isprintable():  # nearly always
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def shown(value: object) -> str:
    """Return the repr of a value for a message, shortened to 80 characters.

    Parameters
    ----------
    value : object
        Any value. Its repr may fail.
    """
    try:
        text = repr(value)
    except Exception:  # the repr of a foreign object can fail, and so does that of an integer of thousands of digits
        return f"of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"


Span = str | timedelta
"""A length of time, as `span_ns` reads it. Numpy's timedelta64 and pandas' offsets are read as well."""
Timeout = float | Span
"""A longest wait: a number is seconds, see `wait_seconds`."""
_UNIT_NS = {
    unit: ns
    for units, ns in (
        ("w week weeks", 604_800 * 10**9), ("d day days", 86_400 * 10**9), ("h hr hour hours", 3_600 * 10**9),
        ("m min minute minutes", 60 * 10**9), ("s sec second seconds", 10**9), ("ms", 10**6), ("us µs", 10**3),
        ("ns", 1),
    )
    for unit in units.split()
}  # fmt: skip
_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-zµ]+)\s*")
_SPAN = re.compile(rf"\s*({_PART.pattern})+")
_LONGEST_NS = 10**21


def milliseconds(span: object, name: str = "span") -> int:
    """Return a span in ms, see `span_ns`.

    Parameters
    ----------
    span : str, timedelta or offset
        Length of time, as `span_ns` reads it.
    name : str, optional
        Name of the argument, which errors repeat (default: "span").
    """
    return span_ns(span, name) // 1_000_000


def wait_seconds(timeout: object, name: str = "timeout") -> float:
    """Return a timeout in seconds.

    Parameters
    ----------
    timeout : float, str, timedelta or offset
        A bare number is seconds, as in all of Python. Else a span, see `span_ns`.
    name : str, optional
        Name of the argument, which errors repeat (default: "timeout").

    Raises
    ------
    InputError
        For a negative number, or what is no span.
    """
    number: Any = -1 if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real) else timeout
    return float(number) if number >= 0 else span_ns(timeout, name) / 1e9


def span_ns(span: Any, name: str = "span") -> int:
    """Return a length of time in ns, from 0 on.

    A bare number other than 0 is refused, because it could be seconds or milliseconds.

    Parameters
    ----------
    span : str, timedelta or offset
        Text with units ("30m", "1d 12h", "1.5h", "30D", "D" is "1D"), a timedelta of Python, numpy or pandas, or an
        offset of pandas.
    name : str, optional
        Name of the argument, which errors repeat (default: "span").

    Raises
    ------
    InputError
        For anything else.
    """
    if isinstance(span, timedelta):
        found = ((span.days * 86_400 + span.seconds) * 10**6 + span.microseconds) * 1000
        found += int(getattr(span, "nanoseconds", 0))
    elif getattr(getattr(span, "dtype", None), "kind", "") == "m":
        found = int(span.astype("timedelta64[ns]").astype("int64"))
    else:
        huge = isinstance(span, int) and abs(span) >= _LONGEST_NS  # Python refuses to write thousands of digits
        text = "" if huge else str(getattr(span, "freqstr", span)).strip()
        bare = isinstance(span, numbers.Real | Decimal | str) and not isinstance(span, bool)
        if bare and _DIGITS.fullmatch(text) and (number := Decimal(text)) >= 0:
            if number:
                raise _without_unit(span, number, name)
            return 0
        found = _text_ns(text)
    if not 0 <= found < _LONGEST_NS:
        months = ". M would be months, which differ in length. Minutes are m" if shown(span).endswith("M'") else ""
        message = f'{name} {shown(span)} is not a span of time. Write "90s", "30m" or "1d 12h", or give a timedelta'
        raise InputError(message + months, field=name, rule="span", value=span, nearest=("30m", "4h", "1d"))
    return found


def unit_text(span: int) -> str:
    """Return a span in ns as text with its largest whole unit: "30m", "1500ms".

    Parameters
    ----------
    span : int
        Length of time in ns, above 0.
    """
    unit = next(unit for unit, ns in _UNIT_NS.items() if span % ns == 0)  # the largest comes first
    return f"{span // _UNIT_NS[unit]}{unit}"


def _text_ns(text: str) -> int:
    """Return a span's text in ns, -1 for any other text."""
    if text.isalpha():
        text = f"1{text}"
    parts = _PART.findall(text) if _SPAN.fullmatch(text) else []
    units = [_UNIT_NS.get(unit if unit == "M" else unit.lower(), 0) for _, unit in parts]
    total = sum(int(Decimal(part[0]) * ns) for part, ns in zip(parts, units, strict=True))
    return total if parts and all(units) else -1


def _without_unit(span: object, number: Decimal, name: str) -> InputError:
    readings = tuple(dict.fromkeys(unit_text(int(number * ns)) for ns in (10**9, 10**6)))
    said = f"{name} is {shown(span)}, which could be {number} s or {number} ms. Write "
    said += " or ".join(f'"{one}"' for one in readings)
    return InputError(said, field=name, rule="unit", value=span, nearest=readings)


When = str | int | float | date | datetime | timedelta
"""A time, as `moment` reads it. Numpy's and pandas' are read as well."""
_DAY_MS = 86_400_000
_DAY_TEXT = re.compile(r"(19|20)\d\d[01]\d[0-3]\d")
_DIGITS = re.compile(r"-?\d{1,30}(\.\d+)?")


def epoch_ns(number: int) -> int:
    """Return a number since 1970 in ns. Its size says whether it is in s, ms, µs or ns.

    Parameters
    ----------
    number : int
        Time since 1970 in s, ms, µs or ns.

    Raises
    ------
    ValueError
        For a time before 1973 or after 2262.
    """
    for scale in (1_000_000_000, 1_000_000, 1_000, 1):
        if 10**17 <= number * scale < 2**63:
            return number * scale
    raise ValueError(f"{number} is no time since 1970")


def moment(when: object, name: str = "time", now_ms: int | None = None) -> int:
    """Return a time in Unix ms, see `moment_ns`.

    Parameters
    ----------
    when : str, int, float, date, datetime or timedelta
        Time, as `moment_ns` reads it.
    name : str, optional
        Name of the argument, which errors repeat (default: "time").
    now_ms : int, optional
        The present in Unix ms, for spans before now and words such as "now" (default: they are refused).
    """
    return moment_ns(when, name, now_ms) // 1_000_000


def moment_ns(when: object, name: str = "time", now_ms: int | None = None) -> int:
    """Return a time in ns since 1970.

    Parameters
    ----------
    when : str, int, float, date, datetime or timedelta
        A number since 1970, ISO text, or a date or datetime of Python, numpy or pandas (UTC without a zone). The size
        of a number says whether it is in s, ms, µs or ns (ms up to a day after 1970).
    name : str, optional
        Name of the argument, which errors repeat (default: "time").
    now_ms : int, optional
        The present in Unix ms. With it, `when` may be "now", "today", "yesterday" (their midnight, UTC), or a span
        before now: "7d", "1d 12h" or a timedelta (default: these are refused).

    Raises
    ------
    MalformedRequest
        For anything else: negative numbers, None, NaN and NaT too. It names the argument.
    """
    try:
        # NaN and NaT are not equal to themselves, and pandas' NA is neither equal nor not.
        found = None if when is None or isinstance(when, bool) or when != when else _read_moment(when, now_ms)
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        found = None
    if found is None or found < 0:
        ago = "" if now_ms is None else ", 'yesterday', '7d' for a week ago"
        said = f"{shown(when)} is not a time. Use milliseconds, ISO text such as '2026-01-31T12:00'{ago}, or a datetime"
        raise MalformedRequest(f"{name} {said}", field=name, rule="time", value=when)
    return found


def _read_moment(when: Any, now_ms: int | None) -> int | None:
    if getattr(getattr(when, "dtype", None), "kind", "") == "M":
        when, within_us = (
            when.astype("datetime64[us]").item(),
            int(when.astype("datetime64[ns]").astype("int64")) % 1000,
        )
        return None if not isinstance(when, datetime) else _since_1970(when) + within_us
    if isinstance(when, str):
        text = when.strip()
        word, known = text.lower(), {"now": 0, "today": 0, "yesterday": _DAY_MS}
        if now_ms is not None and word in known:
            return (now_ms - known[word] - (0 if word == "now" else now_ms % _DAY_MS)) * 1_000_000
        if now_ms is not None and (ago_ns := _text_ns(text)) >= 0:
            return now_ms * 1_000_000 - ago_ns
        if _DIGITS.fullmatch(text) and not _DAY_TEXT.fullmatch(text):
            return _number_ns(Decimal(text))
        return _since_1970(datetime.fromisoformat(re.sub(r"\s*(UTC|GMT)$", "+00:00", text)))
    if isinstance(when, timedelta):
        return None if now_ms is None else now_ms * 1_000_000 - when // timedelta(microseconds=1) * 1000
    if isinstance(when, date):
        return _since_1970(
            when if isinstance(when, datetime) else datetime(when.year, when.month, when.day, tzinfo=UTC)
        )
    return _number_ns(Decimal(repr(float(when))) if not hasattr(when, "__index__") else Decimal(operator.index(when)))


def _since_1970(when: datetime) -> int:
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    since = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return int(since) * 1000 + int(getattr(when, "nanosecond", 0))


def _number_ns(number: Decimal) -> int:
    whole = int(number)
    if whole == number and 0 <= whole < 10**8:  # the first day of 1970 in ms, where a venue's clock may begin
        return whole * 1_000_000
    return int(number * (epoch_ns(whole) // whole))
