"""Parameters of Info queries: their rules, and the parsing of query text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import MalformedRequest
from ..enums import ENUMS
from ..hexbytes import is_address

ParamKind = Literal["integer", "page", "time", "text", "address", "hash", "flag", "choice", "enum", "code", "symbol"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_HASH = re.compile(r"0[xX][0-9a-fA-F]{64}")
_SYMBOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,31}")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
MAX_TIME = 253_402_300_799_999
"""Last millisecond of the year 9999."""


def ruled(field: str, rule: str, value: Any, words: str, nearest: tuple[str, ...] = ()) -> MalformedRequest:
    """Return the error for a parameter: its name, followed by what is wrong with it."""
    return MalformedRequest(f"{field} {words}", field=field, rule=rule, value=value, nearest=nearest)


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an Info query.

    Attributes: `wire` (name in the query), `name` (name in Python), `kind`, `about`, `required`, `default`, `low` and
    `high` (bounds of integers), `choices`, `enum` (name in ENUMS), `fill` ("account": a session fills in its own
    account), `multiple` (integers must be multiples of it), `unless` (another parameter; if given, `fill` is skipped).
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

    def needed(self) -> Param:
        """Return the same parameter, required."""
        return replace(self, required=True)

    def capped(self, high: int) -> Param:
        """Return the same parameter with another upper bound."""
        return replace(self, high=high)

    @property
    def rule(self) -> str:
        """Description of the accepted values."""
        if self.kind in ("integer", "page", "code", "time"):
            noun = {"time": "milliseconds since 1970", "code": "a product code"}.get(self.kind, "a whole number")
            noun = f"a multiple of {self.multiple}" if self.multiple > 1 else noun
            low = "" if self.low is None else f" from {self.low}"
            return noun + low + ("" if self.high is None or self.high > 10**9 else f" to {self.high}")
        if self.kind == "flag":
            return "true or false"
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        if self.kind == "enum":
            return "one of " + ", ".join(ENUMS[self.enum].names)
        return {
            "address": "0x and 40 hex digits",
            "hash": "0x and 64 hex digits",
            "symbol": "a product symbol such as BTCUSDC",
        }.get(self.kind, "text of 1 to 128 characters")

    def parse(self, given: str) -> Any:
        """Return the typed value of the query's text: int, bool, enum name, lower-case address or hash, or text.

        Raises MalformedRequest that names the parameter, its rule and the value.
        """
        return _PARSERS[self.kind](self, given)

    def wrong(self, given: Any) -> MalformedRequest:
        """Return the error for a value that breaks this parameter's rule."""
        nearest = self.choices or (ENUMS[self.enum].names if self.enum else self._clamped(given))
        shown = "is empty" if given == "" else f"{str(given)[:80]!r} is not valid"
        return ruled(self.wire, self.kind, given, f"{shown}: use {self.rule}", nearest)

    def _clamped(self, given: Any) -> tuple[str, ...]:
        if not _INTEGER.fullmatch(str(given)):
            return ()
        value = int(given)
        if self.low is not None and value < self.low:
            return (str(self.low),)
        if value % self.multiple:
            below = value // self.multiple * self.multiple
            return (str(below), str(below + self.multiple))
        return (str(self.high),) if self.high is not None and value > self.high else ()


def _parse_integer(param: Param, given: str) -> int:
    if not _INTEGER.fullmatch(given):
        raise param.wrong(given)
    value = int(given)
    below = param.low is not None and value < param.low
    if below or (param.high is not None and value > param.high) or value % param.multiple:
        raise param.wrong(given)
    return value


def _parse_hex(accepts: Callable[[str], object]) -> Callable[[Param, str], str]:
    def parse(param: Param, given: str) -> str:
        if not accepts(given):
            raise param.wrong(given)
        return given.lower()

    return parse


def _parse_text(param: Param, given: str) -> str:
    if not 1 <= len(given) <= 128 or not given.isprintable():
        raise param.wrong(given)
    return given


def _parse_symbol(param: Param, given: str) -> str:
    if not _SYMBOL.fullmatch(given):
        raise param.wrong(given)
    return given


def _parse_flag(param: Param, given: str) -> bool:
    if given.lower() not in _FLAGS:
        raise param.wrong(given)
    return _FLAGS[given.lower()]


def _parse_choice(param: Param, given: str) -> str:
    for choice_ in param.choices:
        if given.lower() == choice_.lower():
            return choice_
    raise param.wrong(given)


def _parse_enum(param: Param, given: str) -> str:
    try:
        return ENUMS[param.enum].parse(given, param.wire)
    except MalformedRequest:
        raise param.wrong(given) from None


_PARSERS: dict[str, Callable[[Param, str], Any]] = {
    "integer": _parse_integer,
    "page": _parse_integer,
    "code": _parse_integer,
    "time": _parse_integer,
    "text": _parse_text,
    "symbol": _parse_symbol,
    "flag": _parse_flag,
    "choice": _parse_choice,
    "enum": _parse_enum,
    "address": _parse_hex(is_address),
    "hash": _parse_hex(_HASH.fullmatch),
}


def integer(
    wire: str,
    name: str,
    about: str,
    *,
    required: bool = False,
    low: int | None = None,
    high: int = 2**63 - 1,
    default: int | None = None,
) -> Param:
    """Declare a whole number with inclusive bounds."""
    return Param(wire, name, "integer", about, required, default, low, high)


def time_ms(wire: str, name: str, about: str) -> Param:
    """Declare a time in milliseconds."""
    return Param(wire, name, "time", about, low=0, high=MAX_TIME)


def text(wire: str, name: str, about: str, *, required: bool = False) -> Param:
    """Declare a text of 1 to 128 printable characters."""
    return Param(wire, name, "text", about, required)


def address(wire: str, name: str, about: str, *, required: bool = False, fill: str = "", unless: str = "") -> Param:
    """Declare a 0x address, accepted in any case of letters."""
    return Param(wire, name, "address", about, required, fill=fill, unless=unless)


def txhash(wire: str, name: str, about: str, *, required: bool = False) -> Param:
    """Declare a 0x transaction hash."""
    return Param(wire, name, "hash", about, required)


def flag(wire: str, name: str, about: str) -> Param:
    """Declare a boolean, false by default."""
    return Param(wire, name, "flag", about, default=False)


def choice(wire: str, name: str, choices: tuple[str, ...], about: str, *, default: str | None = None) -> Param:
    """Declare one of several texts, accepted in any case of letters."""
    return Param(wire, name, "choice", about, default=default, choices=choices)


def named(wire: str, name: str, enum: str, about: str) -> Param:
    """Declare a member of an enum, accepted as name or number."""
    return Param(wire, name, "enum", about, enum=enum)


ACCOUNT = address("userAddr", "account", "account to read", required=True, fill="account")
CODE = Param("symbol", "symbol", "code", "only this product", low=0, high=2**31)
SYMBOL_NAME = Param("symbol_name", "symbol", "symbol", "product to read", required=True)
CURRENCY = Param("currency", "currency", "integer", "only this currency, 1 is USDC", low=0, high=2**31)
ORDER_SIDE_FILTER = named("side", "side", "order_side", "only this side")
PAGE = Param("page", "page", "page", "page number, from 1", default=1, low=1, high=10**9)
PAGE_SIZE = Param("pageSize", "page_size", "page", "rows on a page", default=20, low=1, high=500)
SIZE = Param("size", "page_size", "page", "rows on a page", default=20, low=1, high=500)
INTERVAL = Param(
    "interval",
    "interval",
    "integer",
    "length of a candle in seconds",
    required=True,
    low=60,
    high=604_800,
    multiple=60,
)
START = time_ms("startTime", "start", "rows at or after this time")
END = time_ms("endTime", "end", "rows up to and including this time")
