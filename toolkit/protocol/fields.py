"""Rules for fields: which values a JSON field accepts, and the error for any other value.

A rule's `check` returns the canonical value or raises `Broken`. Each enclosing rule adds its part of the path with
`under`, and the public functions of the protocol turn the error into a MalformedRequest. Values of equal meaning have
one canonical form (ids are integers, an alias has its first name). Decimal text stays as written, because it is signed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar, NoReturn

from ..errors import MalformedRequest
from ..numerals import MAX_DIGITS, plain_match
from .hexbytes import is_address


class Source(StrEnum):
    """Where a fact of the wire is from. Each declaration carries its mark, and docs/published.md is made from them."""

    SPECIFICATION = "S"
    """The interface specification."""
    PUBLISHED = "P"
    """The exchange's documentation and OpenAPI files (April 2026)."""
    KIT = "K"
    """The exchange's Python SDK (June 2026) and its starter for agents."""
    LOCAL = "L"
    """A decision of the local venue, because the exchange publishes nothing."""


S, P, K, L = Source

Check = Callable[[dict[str, Any]], None]
"""A check of a whole canonical object. It raises Broken."""

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
# Digits are `[0-9]`: `\d` would accept those of every script.
_DECIMAL = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class Broken(Exception):
    """A rule is broken.

    The path is collected from the inside out. It is internal to the protocol.

    Parameters
    ----------
    rule : str
        The rule in words.
    reason : str
        What is wrong, in words, without the path.
    value : object, optional
        Value that broke it (default: none).
    nearest : tuple of str, optional
        Values that would pass (default: none).
    path : tuple of str, optional
        Steps to the value, such as "orders" and "[0]" (default: none).
    """

    def __init__(
        self, rule: str, reason: str, value: object = None, nearest: tuple[str, ...] = (), path: tuple[str, ...] = ()
    ) -> None:
        super().__init__(reason)
        self.rule = rule
        self.reason = reason
        self.value = value
        self.nearest = nearest
        self.path = list(path)

    def under(self, *parents: str) -> Broken:
        """Put parents in front of the path and return the error itself.

        Parameters
        ----------
        *parents : str
            Steps, outermost first.
        """
        self.path[:0] = parents
        return self

    @property
    def where(self) -> str:
        """Path, such as orders[0].ordPx."""
        text = ""
        for step in self.path:
            text += step if step.startswith("[") or not text else f".{step}"
        return text

    def error(self, kind: type[MalformedRequest] = MalformedRequest, prefix: str = "") -> MalformedRequest:
        """Return the public error.

        Parameters
        ----------
        kind : type of MalformedRequest, optional
            Class of the error (default: `MalformedRequest`).
        prefix : str, optional
            Precedes the path, such as "action" (default: none).
        """
        where = f"{prefix}.{self.where}" if prefix and self.path else prefix or self.where
        message = f"{where}: {self.reason}" if where else self.reason
        return kind(message, field=where, rule=self.rule, value=self.value, nearest=self.nearest)


def shown(value: object) -> str:
    """Return a value as errors show it: its kind and at most 60 characters, in printable ASCII.

    Parameters
    ----------
    value : object
        Any value of a request.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, int):
        return f"the number {value}" if abs(value) < 10**40 else "a huge number"
    if isinstance(value, str):
        text = ascii(value if len(value) <= 60 else value[:57] + "...")
        return f'the text "{text[1:-1]}"'
    return f"the number {value!r}" if isinstance(value, float) else f"a value of type {type(value).__name__}"


def key_text(key: object) -> str:
    """Return a field name as paths show it.

    Parameters
    ----------
    key : object
        Key of an object, text in JSON.
    """
    return key if isinstance(key, str) and _PLAIN_KEY.fullmatch(key) else shown(key)


def snake_case(name: str) -> str:
    """Return a camelCase name in snake_case.

    Parameters
    ----------
    name : str
        Name in camelCase.
    """
    return re.sub(r"[A-Z]", lambda found: "_" + found.group().lower(), name)


class Rule:
    """Values that a field accepts.

    `kind` is its protobuf type, `accepts` describes it in words.
    """

    kind: ClassVar[str] = ""
    accepts: str = ""

    def check(self, value: object) -> Any:
        """Return the canonical value.

        Parameters
        ----------
        value : object
            Value as read from JSON.

        Raises
        ------
        Broken
            If the rule refuses it.
        """
        raise Broken("known rule", f"no rule accepts {shown(value)}", value)

    def refuse(self, value: object, rule: str = "", nearest: tuple[str, ...] = ()) -> NoReturn:
        """Raise Broken with what this rule accepts, and values that would pass.

        Parameters
        ----------
        value : object
            Value that is refused.
        rule : str, optional
            The rule in words (default: what it accepts).
        nearest : tuple of str, optional
            Values close to it that would pass (default: none).

        Raises
        ------
        Broken
            Always.
        """
        hint = f". {' or '.join(nearest)} would pass" if nearest else ""
        raise Broken(rule or self.accepts, f"must be {self.accepts}, got {shown(value)}{hint}", value, nearest)


@dataclass(frozen=True, slots=True)
class Int(Rule):
    """A whole number within bounds.

    Attributes
    ----------
    minimum : int
        Smallest number (default: that of int64).
    maximum : int
        Largest number (default: that of int64).
    or_text : bool
        Whether text passes too, as in the items of cancelOrder (default: `False`).
    accepts : str
        The accepted values in words.
    """

    kind: ClassVar[str] = "int64"
    minimum: int = INT64_MIN
    maximum: int = INT64_MAX
    or_text: bool = False
    accepts: str = field(init=False, default="")

    def __post_init__(self) -> None:
        bounds = {
            (INT64_MIN, INT64_MAX): "a 64-bit whole number",
            (0, INT64_MAX): "a 64-bit whole number of 0 or more",
            (1, INT64_MAX): "a 64-bit whole number of 1 or more",
        }.get((self.minimum, self.maximum), f"a whole number from {self.minimum} to {self.maximum}")
        object.__setattr__(self, "accepts", bounds + (" (as number or text)" if self.or_text else ""))

    def check(self, value: object) -> int:
        # `type` and not `isinstance`: True is an int in Python, but not in JSON.
        if type(value) is int and self.minimum <= value <= self.maximum:
            return value
        if type(value) is str and _WHOLE.fullmatch(value):
            number = int(value)
            if self.minimum <= number <= self.maximum:
                if self.or_text:
                    return number
                self.refuse(value, nearest=(str(number),))
        if type(value) is float and value.is_integer() and self.minimum <= value <= self.maximum:
            self.refuse(value, nearest=(str(int(value)),))
        self.refuse(value)


@dataclass(frozen=True, slots=True)
class DecimalText(Rule):
    """A decimal as text: digits and at most one point, without exponent, spaces or plus sign.

    It is kept as written.

    Attributes
    ----------
    sign : {"zero or more", "above zero", "not zero"}
        Numbers that pass (default: "zero or more").
    places : int or None
        Most decimal places, `None` for any number (default: none).
    minimum : int or None
        Smallest number, `None` for no other bound than the sign (default: none).
    accepts : str
        The accepted values in words.
    """

    kind: ClassVar[str] = "string"
    sign: str = "zero or more"
    places: int | None = None
    minimum: int | None = None
    accepts: str = field(init=False, default="")
    any: bool = field(init=False, default=False)
    """Whether the rule accepts any unsigned decimal, so that one regular expression checks nearly every value."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "any", (self.sign, self.places, self.minimum) == ("zero or more", None, None))
        kinds = {
            "zero or more": "decimal text, 0 or more",
            "above zero": "decimal text above 0",
            "not zero": "decimal text other than 0",
        }
        words = kinds[self.sign] if self.minimum is None else f"decimal text of at least {self.minimum}"
        if self.places is not None:
            words += f" with at most {self.places} decimal places"
        object.__setattr__(self, "accepts", words)

    def check(self, value: object) -> str:
        if type(value) is not str:
            self.refuse(value, nearest=self._as_text(value))
        if self.any and plain_match(value):
            return value
        # The length is checked first, so that a long text costs no search.
        found = _DECIMAL.fullmatch(value) if len(value) <= MAX_DIGITS else None
        if found is None:
            self.refuse(value)
        minus, whole, fraction = found.groups()
        if minus and self.sign != "not zero":
            self.refuse(value)
        if self.sign != "zero or more" and not (whole.strip("0") or (fraction or "").strip("0")):
            self.refuse(value)
        if self.minimum is not None and int(whole) < self.minimum:
            self.refuse(value, nearest=(f'"{self.minimum}"',))
        if self.places is not None and len(fraction or "") > self.places:
            self.refuse(value, nearest=(f'"{whole}.{fraction[: self.places]}"',))
        return value

    def _as_text(self, value: object) -> tuple[str, ...]:
        """Return a number as the text that would pass, if there is one."""
        if not (type(value) is int or type(value) is float):
            return ()
        text = f"{Decimal(repr(value)):f}" if abs(value) < 10**MAX_DIGITS else ""
        try:
            return (f'"{self.check(text)}"',)
        except Broken:
            return ()


@dataclass(frozen=True, slots=True)
class EnumName(Rule):
    """The name of an enum's member, in protobuf its number.

    Attributes
    ----------
    numbers : mapping of str to int
        Name → number, of those that may be sent.
    refused : mapping of str to str
        Name → why it must not be sent (default: none).
    accepts : str
        The accepted values in words.
    """

    kind: ClassVar[str] = "enum"
    numbers: Mapping[str, int]
    refused: Mapping[str, str] = field(default_factory=dict)
    accepts: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "accepts", f"one of {', '.join(self.numbers)}")

    def check(self, value: object) -> str:
        if type(value) is str:
            if value in self.numbers:
                return value
            if value in self.refused:
                why = self.refused[value]
                raise Broken(why, f"{value} {why}. Use {self.accepts}", value, tuple(self.numbers))
            if value.upper() in self.numbers:
                self.refuse(value, nearest=(value.upper(),))
        raise Broken(self.accepts, f"must be {self.accepts}, got {shown(value)}", value, tuple(self.numbers))


@dataclass(frozen=True, slots=True)
class Text(Rule):
    """Text that UTF-8 can encode.

    Attributes
    ----------
    minimum : int
        Smallest number of characters (default: 0).
    maximum : int
        Largest number of characters (default: 256).
    accepts : str
        The accepted values in words.
    """

    kind: ClassVar[str] = "string"
    minimum: int = 0
    maximum: int = 256
    accepts: str = field(init=False, default="")

    def __post_init__(self) -> None:
        least = f"{self.minimum} to" if self.minimum else "at most"
        object.__setattr__(self, "accepts", f"text of {least} {self.maximum} characters")

    def check(self, value: object) -> str:
        if type(value) is not str or not self.minimum <= len(value) <= self.maximum:
            self.refuse(value)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Broken("valid Unicode", f"must be valid Unicode, got {shown(value)}", value) from None
        return value


@dataclass(frozen=True, slots=True)
class Address(Rule):
    """An address as text, 0x and 40 hex digits, kept as written.

    Attributes
    ----------
    accepts : str
        The accepted values in words.
    """

    kind: ClassVar[str] = "string"
    accepts: str = field(init=False, default="an address: 0x and 40 hex digits")

    def check(self, value: object) -> str:
        if is_address(value):
            return str(value)
        self.refuse(value)


@dataclass(frozen=True, slots=True)
class Bool(Rule):
    """true or false.

    Attributes
    ----------
    accepts : str
        The accepted values in words.
    """

    kind: ClassVar[str] = "bool"
    accepts: str = field(init=False, default="true or false")

    def check(self, value: object) -> bool:
        if value is True or value is False:
            return bool(value)
        self.refuse(value)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object.

    Attributes
    ----------
    name : str
        Name in JSON.
    rule : Rule
        Values that it accepts.
    number : int
        Number in the protobuf message, 0 for a field that is in none (default: 0).
    required : bool
        Whether an object without it is refused (default: `False`).
    proto : str
        Name in the protobuf message (default: `name` in snake_case).
    alias : str
        Another name that JSON may have (default: none).
    note : str
        Description, for the reference (default: none).
    source : Source
        Who has it in an action that the specification declares (default: the specification).
    """

    name: str
    rule: Rule
    number: int = 0
    required: bool = False
    proto: str = ""
    alias: str = ""
    note: str = ""
    source: Source = S

    @property
    def proto_name(self) -> str:
        """Name of the field in the protobuf message."""
        return self.proto or snake_case(self.name)


@dataclass(frozen=True, slots=True)
class Object(Rule):
    """An object with known fields.

    Attributes
    ----------
    fields : tuple of Field
        Its fields, in the order of the reference.
    message : str
        Name of the protobuf message (default: none).
    checks : tuple of Check
        Examine the whole canonical object after its fields passed (default: none).
    advice : mapping of str to str
        Name that is no field here, but one of a similar object → message (default: none).
    accepts : str
        The accepted values in words.
    """

    kind: ClassVar[str] = "message"
    fields: tuple[Field, ...]
    message: str = ""
    checks: tuple[Check, ...] = ()
    advice: Mapping[str, str] = field(default_factory=dict)
    accepts: str = field(init=False, default="an object")
    _by_name: dict[str, tuple[str, Callable[[Any], Any]]] = field(init=False, repr=False, compare=False)
    _required: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named = {entry.name: (entry.name, entry.rule.check) for entry in self.fields}
        named |= {entry.alias: (entry.name, entry.rule.check) for entry in self.fields if entry.alias}
        object.__setattr__(self, "_by_name", named)
        object.__setattr__(self, "_required", tuple(entry.name for entry in self.fields if entry.required))

    def check(self, value: object) -> dict[str, Any]:
        if type(value) is not dict and not isinstance(value, Mapping):
            self.refuse(value)
        known = self._by_name
        canonical: dict[str, Any] = {}
        key: Any = ""
        try:
            for key, given in value.items():
                entry = known.get(key)
                if entry is None:
                    self._unknown(key)
                name, check = entry
                if name in canonical:
                    self._same_value(name, canonical[name], check(given))  # a field and its alias
                canonical[name] = check(given)
        except Broken as broken:
            raise broken.under(key_text(key)) from None
        # After the fields, so that a misspelt name is reported, and not the missing one.
        for name in self._required:
            if name not in canonical:
                self._missing(name)
        for check_whole in self.checks:
            check_whole(canonical)
        return canonical

    def _unknown(self, key: object) -> NoReturn:
        names = tuple(entry.name for entry in self.fields)
        advice = self.advice.get(key, "") if isinstance(key, str) else ""
        reason = advice or f"is not a field here. The fields are {', '.join(names) or 'none'}"
        raise Broken("known field", reason, key if isinstance(key, str) else None, names)

    def _missing(self, name: str) -> NoReturn:
        entry = next(entry for entry in self.fields if entry.name == name)
        raise Broken("required", f"is missing. It must be {entry.rule.accepts}", None, (), (name,))

    def _same_value(self, name: str, first: object, second: object) -> None:
        if first != second:
            alias = next(entry.alias for entry in self.fields if entry.name == name)
            differ = f"{name} and its alias {alias} differ ({shown(first)} and {shown(second)}). Give one of them"
            raise Broken("one value", differ, second)


@dataclass(frozen=True, slots=True)
class Items(Rule):
    """A list of objects with the same fields.

    Attributes
    ----------
    item : Object
        Rule of each object.
    minimum : int
        Smallest number of objects (default: 1).
    maximum : int or None
        Largest number of objects, `None` for no limit (default: none).
    accepts : str
        The accepted values in words.
    """

    kind: ClassVar[str] = "repeated"
    item: Object
    minimum: int = 1
    maximum: int | None = None
    accepts: str = field(init=False, default="")

    def __post_init__(self) -> None:
        count = f"at least {self.minimum}" if self.maximum is None else f"{self.minimum} to {self.maximum}"
        object.__setattr__(self, "accepts", f"a list of {count} objects")

    def check(self, value: object) -> list[dict[str, Any]]:
        # A tuple passes, because callers in Python write them.
        if type(value) is not list and type(value) is not tuple:
            self.refuse(value)
        if len(value) < self.minimum or (self.maximum is not None and len(value) > self.maximum):
            self.refuse(value)
        check = self.item.check
        checked: list[dict[str, Any]] = []
        try:
            for given in value:
                checked.append(check(given))
        except Broken as broken:
            raise broken.under(f"[{len(checked)}]") from None
        return checked
