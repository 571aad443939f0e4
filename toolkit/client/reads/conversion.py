"""Conversion of query parameters from what users write to the wire: times, intervals, flags, enum names."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from ...errors import InputError, MalformedRequest
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import hash_text
from ...protocol.reads.info_params import Param

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_INTERVAL = re.compile(r"([1-9][0-9]*)\s*([smhdw])?", re.IGNORECASE)
_MIN_MS = 100_000_000_000
"""Smaller numbers are taken for seconds: as milliseconds they are before March 1973, long before any data."""

Time = int | str | date | datetime
"""Milliseconds since 1970, ISO text, a date or a datetime (pandas Timestamps too); without a zone it is UTC."""


def milliseconds(value: Time | Any, name: str) -> int:
    """Return a time as Unix milliseconds.

    `value` is whole milliseconds, ISO text, a date or a datetime (UTC without a zone). Raises MalformedRequest that
    names the parameter, also for a number that looks like seconds.
    """
    if isinstance(value, str):
        if value.strip().isdigit():
            return milliseconds(int(value), name)
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise _not_a_time(value, name) from None
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    if isinstance(value, date):
        return milliseconds(datetime(value.year, value.month, value.day, tzinfo=UTC), name)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _not_a_time(value, name)
    number = int(value.__index__())
    if 0 < number < _MIN_MS:
        raise MalformedRequest(
            f"{name} {number} looks like seconds; times are milliseconds, so {number * 1000}",
            field=name,
            rule="milliseconds",
            value=value,
            nearest=(str(number * 1000),),
        )
    return number


def _not_a_time(value: Any, name: str) -> MalformedRequest:
    return MalformedRequest(
        f"{name} {value!r} is not a time; use milliseconds, ISO text such as '2026-01-31T12:00', or a datetime",
        field=name,
        rule="time",
        value=value,
    )


def seconds(interval: int | str | timedelta) -> int:
    """Return a candle interval in seconds: 60, "60", "1m", "4h", "1d", "1w" or a timedelta.

    Raises MalformedRequest for anything else. A bare number is seconds.
    """
    interval_s = _seconds(interval)
    if interval_s < 1:
        raise MalformedRequest(f"interval {interval!r} is too short; use a second or more", field="interval")
    return interval_s


def _seconds(interval: int | str | timedelta) -> int:
    if isinstance(interval, timedelta):
        return interval // timedelta(seconds=1)
    if isinstance(interval, str) and (found := _INTERVAL.fullmatch(interval.strip())):
        return int(found[1]) * _UNITS[(found[2] or "s").lower()]
    if isinstance(interval, bool | str) or not hasattr(interval, "__index__"):
        raise MalformedRequest(
            f"interval {interval!r} is not one; use seconds or text such as '1m', '15m', '1h', '1d'",
            field="interval",
            rule="interval",
            value=interval,
            nearest=("1m", "1h", "1d"),
        )
    return int(interval.__index__())


def query_text(param: Param, value: Any) -> str:
    """Return a value as text of the query, checked by the venue's rule.

    Raises MalformedRequest that names the parameter as Python spells it.
    """
    text = _text(param, value)
    try:
        param.parse(text)
    except MalformedRequest as error:
        reason = str(error).removeprefix(f"{param.wire} ")
        raise MalformedRequest(
            f"{param.name} {reason}", field=param.name, rule=error.rule, value=value, nearest=error.nearest
        ) from None
    return text


def _text(param: Param, value: Any) -> str:
    if param.kind == "time":
        return str(milliseconds(value, param.name))
    if param.kind == "flag":
        if not isinstance(value, bool):
            raise InputError(f"{param.name} {value!r} is not True or False", field=param.name, value=value)
        return "true" if value else "false"
    if param.kind == "enum":
        enum = ENUMS[param.enum]
        name = enum.parse(value, param.name)
        return str(enum.number_of.get(name, name))
    if param.name == "interval" and param.kind == "integer":
        return str(seconds(value))
    if param.kind == "hash":
        return hash_text(str(value))
    return str(value)
