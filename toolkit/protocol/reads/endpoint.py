"""The declaration of an Info query: its parameters and their checks, its record, and the shapes of its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, Literal, TypeVar

from ...errors import MalformedRequest
from ..enums import ENUMS, EnumKey
from ..fields import INT64_MAX, L, Source
from ..hexbytes import is_address
from .rows import Record, Row

ParamKind = Literal["integer", "page", "time", "text", "address", "hash", "flag", "choice", "enum", "code", "symbol"]
DataShape = Literal["list", "paged", "one"]
Tie = Literal[
    "account", "symbol", "code", "interval", "order_id", "client_order_id", "parent_order_id", "exec_id", "vault",
    "tx_hash", "block", "time", "",
]  # fmt: skip
R_co = TypeVar("R_co", bound=Row, covariant=True)
"""Class of the rows of a query."""

MAX_TIME = 253_402_300_799_999
"""Last millisecond of the year 9999, the last that datetime and pandas can show."""
_COUNT = re.compile("[0-9]{1,18}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_HASH = re.compile(r"0[xX][0-9a-fA-F]{64}")
_SYMBOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,31}")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_RANGES: Mapping[str, tuple[int, int]] = {"integer": (0, INT64_MAX), "time": (0, MAX_TIME), "code": (0, 2**31)}
"""Kind of a parameter → bounds, unless its declaration has others."""


def _refused(field: str, rule: str, value: object, words: str, nearest: tuple[str, ...] = ()) -> MalformedRequest:
    """Return the error for a parameter: its name, followed by what is wrong with it."""
    return MalformedRequest(f"{field} {words}", field=field, rule=rule, value=value, nearest=nearest)


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an Info query.

    Attributes
    ----------
    wire : str
        Name in the query.
    name : str
        Name in Python.
    kind : ParamKind
        Kind of its values, see `parse`.
    about : str
        Description.
    required : bool
        True if the venue refuses a query without it (default: `False`).
    default : object
        Value that the venue takes where it is not given (default: none).
    low : int or None
        Smallest number (default: that of its kind).
    high : int or None
        Largest number (default: that of its kind).
    choices : tuple of str
        Texts of a choice (default: none).
    enum : EnumKey or None
        Name in `ENUMS` of an enum (default: none).
    fill : {"account", ""}
        "account" if a session fills in its own account (default: nothing is filled in).
    multiple : int
        A number is a multiple of this (default: 1).
    unless : str
        Wire name of another parameter. If that is given, `fill` is skipped (default: none).
    leading : bool
        True if the method needs it, although the venue does not (default: `False`).
    by_name : bool
        True for an enum that is published as text, so that its name is sent in place of its number (default: `False`).
    ties : Tie
        Column of the rows that must have the parameter's value, or "time" for a bound of the rows' times
        (default: none).
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
    enum: EnumKey | None = None
    fill: Literal["account", ""] = ""
    multiple: int = 1
    unless: str = ""
    leading: bool = False
    by_name: bool = False
    ties: Tie = ""

    def __post_init__(self) -> None:
        low, high = _RANGES.get(self.kind, (None, None))
        put = object.__setattr__  # the dataclass is frozen
        put(self, "low", low if self.low is None else self.low)
        put(self, "high", high if self.high is None else self.high)
        if self.kind == "flag" and self.default is None:
            put(self, "default", False)

    @property
    def rule(self) -> str:
        """Description of the accepted values."""
        if self.kind in ("integer", "page", "code", "time"):
            noun = {"time": "milliseconds since 1970", "code": "a product code"}.get(self.kind, "a whole number")
            noun = f"a multiple of {self.multiple}" if self.multiple > 1 else noun
            low = "" if self.low is None else f" from {self.low}"
            return noun + low + ("" if self.high is None or self.high > 10**9 else f" to {self.high}")
        if self.kind in ("choice", "enum"):
            return "one of " + ", ".join(self._names)
        return {
            "flag": "true or false",
            "address": "0x and 40 hex digits",
            "hash": "0x and 64 hex digits",
            "symbol": "a product symbol such as BTCUSDC",
        }.get(self.kind, "text of 1 to 128 characters")

    @property
    def _names(self) -> tuple[str, ...]:
        """The texts that a choice or an enum accepts."""
        return ENUMS[self.enum].names if self.enum else self.choices

    def parse(self, given: str) -> Any:
        """Return the typed value of the query's text: int, bool, enum name, lower-case address or hash, or text.

        Parameters
        ----------
        given : str
            Text in the query.

        Raises
        ------
        MalformedRequest
            With the parameter, its rule and the value.
        """
        value = self._read(given)
        if value is None:
            nearest = self._names or self._clamped(given)
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
                name = (ENUMS[self.enum].text(given) or "").upper() if self.enum else ""
                return name if name in self._names else None
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


@dataclass(frozen=True, eq=False)
class Endpoint(Generic[R_co]):
    """One Info query.

    Parameters
    ----------
    name : str
        Name in Python.
    path : str
        Path on the wire.
    summary : str
        Description.
    row : type of Row
        Class of its rows.
    params : sequence of Param, optional
        Parameters (default: none). The attribute has them by wire name.
    shape : DataShape, optional
        Shape of the data: "list" (an array), "paged" (an object with total and items) or "one" (a single object)
        (default: "list").
    items : str, optional
        Key of the rows if the data is an object (default: "items").
    beside : type of Row or None, optional
        Record of the other members of the data (default: none).
    order : str, optional
        How rows are sorted (default: not said).
    source : Source, optional
        `L` if the exchange does not document the answer (default: that of its rows).
    null : bool, optional
        True if the data of "one" may be null (default: `False`).
    """

    name: str
    path: str
    summary: str
    row: type[R_co]
    params: Mapping[str, Param]
    shape: DataShape
    items: str
    beside: type[Row] | None
    order: str
    source: Source
    null: bool

    def __init__(
        self,
        name: str,
        path: str,
        summary: str,
        row: type[R_co],
        *,
        params: Sequence[Param] = (),
        shape: DataShape = "list",
        items: str = "items",
        beside: type[Row] | None = None,
        order: str = "",
        source: Source | None = None,
        null: bool = False,
    ) -> None:
        by_wire = {one.wire: one for one in params}
        values = (name, path, summary, row, by_wire, shape, items, beside, order, source or row.declared.source, null)
        for one, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, one.name, value)  # the dataclass is frozen
        for param in params:
            known = bool(self.record.time) if param.ties == "time" else param.ties in self.record.by_column
            if param.ties and not known:
                raise TypeError(f"{name}: {param.wire} ties {param.ties}, which is no column of {row.__name__}")

    @property
    def record(self) -> Record:
        """The declaration of the rows."""
        return self.row.declared

    @property
    def published(self) -> bool:
        """False if the exchange does not document the answer."""
        return self.source is not L

    @property
    def size_param(self) -> str:
        """Wire name of the page-size parameter, "" for a query without pages."""
        return next((name for name in ("pageSize", "size") if name in self.params), "")

    @property
    def windowed(self) -> bool:
        """True for a query whose pages can be read completely by the times of its rows."""
        return self.shape == "paged" and "endTime" in self.params and bool(self.record.time)

    def query(self, **given: str) -> tuple[tuple[str, str], ...]:
        """Return a query on the wire: pairs of name and text.

        Parameters
        ----------
        **given : str
            Texts by the Python name of their parameter.
        """
        wires = {param.name: name for name, param in self.params.items()}
        return tuple([(wires[name], text) for name, text in given.items()])

    def parse(self, query: Iterable[tuple[str, str]] | Mapping[str, str]) -> dict[str, Any]:
        """Return the typed values of a query string by wire name, including defaults.

        Parameters
        ----------
        query : iterable of tuple of (str, str) or mapping of str to str
            Names and texts of the query string.

        Raises
        ------
        MalformedRequest
            With a parameter that is unknown, repeated, missing or invalid (40003).
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

    def rows(self, data: object) -> list[Any]:
        """Return the rows of a response's data, in any of the shapes that the venue is known to use.

        Parameters
        ----------
        data : object
            Member `data` of the answer.

        Raises
        ------
        MalformedRequest
            For data of another shape.
        """
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

    def total(self, data: object) -> int | None:
        """Return the number of rows in all pages, `None` if the venue does not report it.

        Parameters
        ----------
        data : object
            Member `data` of the answer.
        """
        total = data.get("total") if isinstance(data, Mapping) else None
        return int(total) if isinstance(total, int | str) and _COUNT.fullmatch(str(total)) else None


def rows_of_query(query: Iterable[tuple[str, str]]) -> int | None:
    """Return how many rows a query asks for, `None` where it sets no limit.

    Parameters
    ----------
    query : iterable of tuple of (str, str)
        Names and texts of the query.
    """
    asked = dict(query)
    try:
        if {"startTime", "endTime", "interval"} <= asked.keys():
            first, last, seconds = (int(asked[name]) for name in ("startTime", "endTime", "interval"))
            # Both ends of a window are included, and candles start at multiples of their length.
            return (last - first) // (1000 * seconds) + 2
        return next((int(asked[name]) for name in ("pageSize", "size", "limit") if name in asked), None)
    except (ValueError, ArithmeticError):
        return None
