"""What interventions are given, read in one place: exact amounts and addresses, and every argument's type.

The methods of `control` read what somebody wrote, before it is a command; the rules of the core read the command again,
because it may come from a journal or another program. Wrong arguments raise InputError, which the core makes a refusal.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from ..errors import InputError
from ..protocol.hexbytes import has_wrong_checksum, is_address

_DIGITS = 40
"""An amount lies below 10^40 and above 10^-40, so that it is short as plain text."""


def amount(value: object, field: str) -> str:
    """Return an exact number (text, a whole number, a Decimal) as plain decimal text; InputError for anything else."""
    if isinstance(value, float):
        near = _plain(Decimal(repr(float(value))))
        shown = repr(near) if near else 'such as "100.5"'
        raise InputError(
            f"{field} is the float {value!r}, and a float is not exact; give the text {shown}, a whole number or a "
            "Decimal",
            field=field,
            rule="exact",
            value=value,
            nearest=(near,) if near else (),
        )
    text = _plain(_number(value))
    if text is None:
        raise InputError(
            f'{field} {_shown(value)} is no amount; give decimal text such as "100.5", a whole number or a Decimal',
            field=field,
            rule="exact",
            value=value,
        )
    return text


def positive(value: object, field: str) -> str:
    """Return an amount above 0 as plain decimal text. Raises InputError otherwise."""
    text = amount(value, field)
    if Decimal(text) <= 0:
        raise InputError(f"{field} {text} must be above 0", field=field, rule="above 0", value=value)
    return text


def address(value: object, field: str = "address") -> str:
    """Return an address in lower case. Raises InputError for what is none, or has letters that break EIP-55."""
    if not isinstance(value, str) or not is_address(value):
        raise InputError(
            f"{field} {_shown(value)} is no address; an address is 0x and 40 hex digits",
            field=field,
            rule="address",
            value=value,
        )
    if has_wrong_checksum(value):
        raise InputError(
            f"{field} {value} has letters that break the EIP-55 checksum; compare it with its source, or write it in "
            "lower case",
            field=field,
            rule="EIP-55",
            value=value,
            nearest=(value.lower(),),
        )
    return value.lower()


def check_types(rule: Callable[..., Any], args: Mapping[str, Any]) -> None:
    """Refuse arguments that a control's rule does not have, lacks, or wants of another type. Raises InputError."""
    shape = _shape(rule)
    if shape is None:
        return
    try:
        msgspec.convert(args, shape)
    except msgspec.ValidationError as error:
        raise InputError(f"{_worded(str(error))}; it takes {_signature(rule)}", rule="type", value=args) from None


@functools.cache
def _shape(rule: Callable[..., Any]) -> type[msgspec.Struct] | None:
    """Return a struct of a rule's arguments; None for one that takes any, or does not say of which type."""
    fields: list[tuple[str, Any, Any]] = []
    for parameter in _parameters(rule):
        if parameter.kind is parameter.VAR_KEYWORD:
            return None
        kind = parameter.annotation
        if kind is parameter.empty:
            kind = Any
        elif isinstance(kind, str):
            try:
                kind = eval(kind, rule.__globals__)
            except NameError:  # a name for type checkers only
                return None
        default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
        fields.append((parameter.name, kind, default))
    return msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True, kw_only=True)


def _parameters(rule: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(rule).parameters.values())[1:]


def _signature(rule: Callable[..., Any]) -> str:
    return ", ".join(f"{parameter.name}: {parameter.annotation}" for parameter in _parameters(rule)) or "nothing"


def _worded(said: str) -> str:
    """Return what msgspec says about arguments as `name: what it says`."""
    what, _, path = said.partition(" - at `$.")
    what = what.replace("Object contains unknown field", "there is no argument").replace(
        "Object missing required field", "missing the argument"
    )
    return f"{path.rstrip('`')}: {what}" if path else what


def _number(value: object) -> Decimal | None:
    if isinstance(value, Decimal):
        return value
    if isinstance(value, str):
        try:
            return Decimal(value)
        except InvalidOperation:
            return None
    if isinstance(value, bool):
        return None
    try:
        return Decimal(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        return None


def _plain(number: Decimal | None) -> str | None:
    if number is None or not number.is_finite():
        return None
    if number.adjusted() >= _DIGITS or int(number.as_tuple().exponent) < -_DIGITS:
        return None
    return format(number, "f")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        return "with thousands of digits"
    return text if len(text) <= 60 else text[:57] + "…"
