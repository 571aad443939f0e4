"""The declaration of an Info query: its parameters and their checks, its record, and the shapes of its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from ...errors import MalformedRequest
from ..enums import ENUMS
from ..fields import INT64_MAX, INT64_MIN
from ..hexbytes import is_address
from .rows import Record, RecordField

ParamKind = Literal["integer", "page", "time", "text", "address", "hash", "flag", "choice", "enum", "code", "symbol"]
DataShape = Literal["list", "paged", "one"]

ALWAYS_SENT = ("reason",)
"""Unpublished fields that the local venue sends in either form. Its rules ask for the reason of each try of an exit,
and of each cancellation that the user did not request."""
MAX_TIME = 253_402_300_799_999
"""Last millisecond of the year 9999, the last that datetime and pandas can show."""
_COUNT = re.compile("[0-9]{1,18}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_HASH = re.compile(r"0[xX][0-9a-fA-F]{64}")
_SYMBOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,31}")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_RANGES = {"integer": (0, INT64_MAX), "int64": (INT64_MIN, INT64_MAX), "time": (0, MAX_TIME), "code": (0, 2**31)}
"""Kind of a parameter → bounds, unless its declaration has others. An int64 is an integer that may be negative."""


def _refused(field: str, rule: str, value: Any, words: str, nearest: tuple[str, ...] = ()) -> MalformedRequest:
    """Return the error for a parameter: its name, followed by what is wrong with it."""
    return MalformedRequest(f"{field} {words}", field=field, rule=rule, value=value, nearest=nearest)


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an Info query.

    `wire` is its name in the query, `name` that in Python. Integers lie between `low` and `high`, and are multiples of
    `multiple`. `enum` is a name in ENUMS. With `fill` "account" a session fills in its own account. `unless` names
    another parameter: if it is given, `fill` is skipped.
    """

    wire: str
    name: str
    kind: ParamKind
    about: str
    required: bool = False
    default: Any = None
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    enum: str = ""
    fill: str = ""
    multiple: int = 1
    unless: str = ""

    @property
    def rule(self) -> str:
        """Description of the accepted values."""
        if self.kind in ("integer", "page", "code", "time"):
            noun = {"time": "milliseconds since 1970", "code": "a product code"}.get(self.kind, "a whole number")
            noun = f"a multiple of {self.multiple}" if self.multiple > 1 else noun
            low = "" if self.low is None else f" from {self.low}"
            return noun + low + ("" if self.high is None or self.high > 10**9 else f" to {self.high}")
        if self.kind in ("choice", "enum"):
            return "one of " + ", ".join(self.choices or ENUMS[self.enum].names)
        return {
            "flag": "true or false",
            "address": "0x and 40 hex digits",
            "hash": "0x and 64 hex digits",
            "symbol": "a product symbol such as BTCUSDC",
        }.get(self.kind, "text of 1 to 128 characters")

    def parse(self, given: str) -> Any:
        """Return the typed value of the query's text: int, bool, enum name, lower-case address or hash, or text.

        Raises MalformedRequest that names the parameter, its rule and the value.
        """
        value = self._read(given)
        if value is None:
            nearest = self.choices or (ENUMS[self.enum].names if self.enum else self._clamped(given))
            shown = "is empty" if given == "" else f"{str(given)[:80]!r} is not valid"
            raise _refused(self.wire, self.kind, given, f"{shown}: use {self.rule}", nearest)
        return value

    def _read(self, given: str) -> Any:
        """Return the typed value, None for a text that breaks the rule."""
        match self.kind:
            case "integer" | "page" | "code" | "time":
                value = int(given) if _INTEGER.fullmatch(given) else None
                return value if value is not None and not self._clamped(given) else None
            case "flag":
                return _FLAGS.get(given.lower())
            case "choice":
                return next((choice for choice in self.choices if choice.lower() == given.lower()), None)
            case "enum":
                name = (ENUMS[self.enum].text(given) or "").upper()
                return name if name in ENUMS[self.enum].names else None
            case "address":
                return given.lower() if is_address(given) else None
            case "hash":
                return given.lower() if _HASH.fullmatch(given) else None
            case "symbol":
                return given if _SYMBOL.fullmatch(given) else None
        return given if 1 <= len(given) <= 128 and given.isprintable() else None

    def _clamped(self, given: str) -> tuple[str, ...]:
        """Return the numbers closest to one that is out of bounds or no multiple, () for one that passes."""
        if not _INTEGER.fullmatch(given):
            return ()
        value = int(given)
        if self.low is not None and value < self.low:
            return (str(self.low),)
        if value % self.multiple:
            below = value // self.multiple * self.multiple
            return (str(below), str(below + self.multiple))
        return (str(self.high),) if self.high is not None and value > self.high else ()


def param(line: str) -> Param:
    """Return the parameter that a line `wire name kind[:detail][!] [option=value …] — description` declares.

    `!` is for required. The detail of a kind is the enum's name or the choices. The options are `default`, `range`
    (low..high), `multiple`, `fill` and `unless`.
    """
    head, _, about = line.partition(" — ")
    wire, name, kind, *options = head.split()
    given = dict(option.split("=") for option in options)
    required = kind.endswith("!")
    kind, _, detail = kind.rstrip("!").partition(":")
    low, high = map(int, given["range"].split("..")) if "range" in given else _RANGES.get(kind, (None, None))
    default: Any = given.get("default", False if kind == "flag" else None)
    return Param(
        wire,
        name,
        cast(ParamKind, "integer" if kind == "int64" else kind),
        about,
        required,
        int(default) if kind in ("integer", "page") and default else default,
        low,
        high,
        choices=tuple(detail.split("|")) if kind == "choice" else (),
        enum=detail if kind == "enum" else "",
        fill=given.get("fill", ""),
        multiple=int(given.get("multiple", 1)),
        unless=given.get("unless", ""),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """One Info query.

    `name` is the Python name, `params` are by wire name. `shape` is that of the data: "list" (an array), "paged" (an
    object with total and items) or "one" (a single object). `items` is the key of the rows if the data is an object,
    `beside` has its other members, if any. `order` says how rows are sorted. `published` says whether the venue
    documents the record. `formerly` is an earlier Python name, which stays callable and is listed nowhere. `null` says
    whether the data of "one" may be null.
    """

    name: str
    path: str
    summary: str
    record: Record
    params: Mapping[str, Param]
    shape: DataShape = "list"
    items: str = "items"
    order: str = ""
    published: bool = True
    formerly: str = ""
    beside: Record | None = None
    null: bool = False

    def sent(self, *, extended: bool) -> tuple[RecordField, ...]:
        """Return the fields of a row that the local venue sends: all, or as published."""
        every, fields = extended or not self.published, self.record.fields
        return tuple(one for one in fields if every or one.published or one.wire in ALWAYS_SENT)

    @property
    def size_param(self) -> str:
        """Wire name of the page-size parameter, "" for a query without pages."""
        return next((name for name in ("pageSize", "size") if name in self.params), "")

    @property
    def windowed(self) -> bool:
        """True for a query whose pages can be read completely by the times of its rows."""
        return self.shape == "paged" and "endTime" in self.params and bool(self.record.time)

    def parse(self, query: Iterable[tuple[str, str]] | Mapping[str, str]) -> dict[str, Any]:
        """Return the typed values of a query string by wire name, including defaults.

        Raises MalformedRequest (40003), which names a parameter that is unknown, repeated, missing or invalid.
        """
        pairs = query.items() if isinstance(query, Mapping) else query
        given: dict[str, str] = {}
        for name, value in pairs:
            if name not in self.params:
                taken = ", ".join(self.params) or "none"
                raise _refused(name, "known", value, f"{self.path} has no such parameter. It takes {taken}")
            if name in given:
                raise _refused(name, "once", value, "is given more than once")
            given[name] = value
        values: dict[str, Any] = {}
        for name, param in self.params.items():
            if name in given:
                values[name] = param.parse(given[name])
            elif param.required:
                raise _refused(name, "required", None, f"is required by {self.path}: {param.rule}")
            else:
                values[name] = param.default
        start, end = values.get("startTime"), values.get("endTime")
        if start is not None and end is not None and start > end:
            raise _refused("startTime", "order", start, f"must not be after endTime {end}")
        return values

    def rows(self, data: Any) -> list[Any]:
        """Return the rows of a response's `data`, in any of the shapes that the venue is known to use."""
        if data is None:
            return []
        if isinstance(data, list):
            return data
        if isinstance(data, Mapping):
            for key in (self.items, "items", "list"):
                if isinstance(data.get(key), list):
                    return list(data[key])
            # An object without the expected keys is the row itself, or a page without rows, which says so.
            if self.shape == "one":
                return [data] if data else []
            if self.total(data) == 0 or any(key in data and data[key] is None for key in (self.items, "items", "list")):
                return []
            if not {self.items, "items", "total"} & data.keys():
                return [data]
            said = f"the data of {self.path} has no list of {self.items}. It has {', '.join(map(str, data))}"
        else:
            said = f"the data of {self.path} is {type(data).__name__}. An array or an object was expected"
        raise MalformedRequest(said, field="data", rule="shape", value=data)

    def as_published(self, data: Any) -> Any:
        """Return an answer's data without the fields that are not published. Its rows are changed in place."""
        if hidden := self.record.by_wire.keys() - {one.wire for one in self.sent(extended=False)}:
            for row in self.rows(data):
                for name in hidden:
                    row.pop(name, None)
        return data

    def total(self, data: Any) -> int | None:
        """Return the number of rows in all pages, None if the venue does not report it."""
        total = data.get("total") if isinstance(data, Mapping) else None
        return int(total) if isinstance(total, int | str) and _COUNT.fullmatch(str(total)) else None


def endpoint(lines: Sequence[str], records: Mapping[str, Record], shared: Mapping[str, Param]) -> Endpoint:
    """Return the query that its lines declare, see `info_queries`."""
    head, _, summary = lines[0].partition(" — ")
    said, _, order = head.partition("; ")
    name, path, record, *options = said.split()
    params: list[Param] = []
    for line in lines[1:]:
        if " — " in line:
            params.append(param(line))
        else:
            listed = [(shared[wire.rstrip("!")], wire.endswith("!")) for wire in line.split()]
            params += [replace(one, required=one.required or needed) for one, needed in listed]
    named = dict(one.split(":") for one in options if one.startswith(("was:", "with:")))
    shape, _, items = next((one for one in options if one.split(":")[0] not in (*named, "[L]")), "list").partition(":")
    return Endpoint(
        name,
        path,
        summary,
        records[record],
        {one.wire: one for one in params},
        cast(DataShape, shape.rstrip("?")),
        items or "items",
        order,
        published="[L]" not in options,
        formerly=named.get("was", ""),
        beside=records[named["with"]] if "with" in named else None,
        null=shape.endswith("?"),
    )
