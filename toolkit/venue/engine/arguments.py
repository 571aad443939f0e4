"""Arguments of interventions: exact amounts, addresses, and the type of each.

The methods of `control` check what a user passes. The rules of the core check the command again, because it may come
from a journal or another program. Wrong arguments raise InputError, which the core turns into a refusal.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, get_type_hints

import msgspec

from ...errors import InputError
from ...numerals import shown
from ...products import decimal_text
from ...protocol.hexbytes import has_wrong_checksum, is_address
from .commands import Refused, TxCode


def name(given: object, field: str) -> str:
    """Return a name that users chose and others read.

    Parameters
    ----------
    given : object
        Text of an action.
    field : str
        Name of the field, for the reason of a refusal.

    Raises
    ------
    Refused
        If it has a character that can't be seen, changes the direction of what follows, or is markup on a page.
    """
    text = str(given)
    wrong = next((each for each in text if not each.isprintable() or each in "<>"), None)
    if wrong is None:
        return text
    reason = f"{field} has {wrong!r}. It is read by others, so it has printable characters, and no < or >"
    raise Refused(TxCode.BAD_ARGUMENT, reason)


def amount(value: Any, field: str) -> str:
    """Return an exact number as plain decimal text.

    Parameters
    ----------
    value : str, int or Decimal
        Number in any unit. A float is refused, because it is not exact.
    field : str
        Name of the argument, for the error's message and its `field`.

    Raises
    ------
    InputError
        If `value` is a float, or no number.
    """
    if isinstance(value, float):
        near = f"{value:.15g}" if math.isfinite(value) else "100.5"
        remedy = f"Give the text {near!r}, a whole number or a Decimal"
        reason = f"{field} is the float {value!r}, and a float is not exact. {remedy}"
        raise InputError(reason, field=field, rule="exact", value=value, nearest=(near,))
    return decimal_text(value, field)


def positive(value: object, field: str) -> str:
    """Return an amount above 0 as plain decimal text.

    Parameters
    ----------
    value : str, int or Decimal
        Number in any unit, above 0. A float is refused.
    field : str
        Name of the argument, for the error's message and its `field`.

    Raises
    ------
    InputError
        If `value` is not exact, or not above 0.
    """
    text = amount(value, field)
    if Decimal(text) <= 0:
        raise InputError(f"{field} {text} must be above 0", field=field, rule="above 0", value=value)
    return text


def address(value: object, field: str = "address") -> str:
    """Return an address in lower case.

    Parameters
    ----------
    value : object
        Address, `0x` and 40 hex digits. Mixed case must be its EIP-55 checksum.
    field : str, optional
        Name of the argument, for the error's message and its `field` (default: "address").

    Raises
    ------
    InputError
        If `value` is no address, or its letters break the checksum.
    """
    if not isinstance(value, str) or not is_address(value):
        reason = f"{field} {shown(value)} is not an address. An address is 0x and 40 hex digits"
        raise InputError(reason, field=field, rule="address", value=value)
    if has_wrong_checksum(value):
        remedy = "Compare it with its source, or write it in lower case"
        reason = f"{field} {value} has letters that break the EIP-55 checksum. {remedy}"
        raise InputError(reason, field=field, rule="EIP-55", value=value, nearest=(value.lower(),))
    return value.lower()


def check_types(rule: Callable[..., Any], args: Mapping[str, Any]) -> None:
    """Check the arguments of a control against the annotations of its rule.

    Parameters
    ----------
    rule : callable
        Rule of the control. Its first parameter is the core, the others are what it takes.
    args : mapping of str to object
        Arguments by name, as a command carries them. They may come from a journal or another program.

    Raises
    ------
    InputError
        If an argument is unknown, missing or of another type.
    """
    shape = _shape(rule)
    if shape is None:
        return
    try:
        msgspec.convert(args, shape)
    except msgspec.ValidationError as error:
        raise InputError(f"{_reworded(str(error))}. It takes {_signature(rule)}", rule="type", value=args) from None


@functools.cache
def _shape(rule: Callable[..., Any]) -> type[msgspec.Struct] | None:
    """Return a struct of a rule's arguments, None for a rule that takes any, or whose annotations are unknown here."""
    try:
        kinds = get_type_hints(rule, localns={"Core": Any})  # rules import Core for type checkers only
    except NameError:
        return None
    fields: list[tuple[str, Any, Any]] = []
    for parameter in _parameters(rule):
        # A rule with `**named` takes any argument, and checks it itself.
        if parameter.kind is parameter.VAR_KEYWORD:
            return None
        kind = kinds.get(parameter.name, Any)
        default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
        fields.append((parameter.name, kind, default))
    return msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True, kw_only=True)


def _parameters(rule: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(rule).parameters.values())[1:]  # the first one is the core


def _signature(rule: Callable[..., Any]) -> str:
    return ", ".join(f"{parameter.name}: {parameter.annotation}" for parameter in _parameters(rule)) or "nothing"


def _reworded(message: str) -> str:
    """Return msgspec's message about arguments in the form `name: message`."""
    what, _, path = message.partition(" - at `$.")
    what = what.replace("Object contains unknown field", "there is no argument").replace(
        "Object missing required field", "missing the argument"
    )
    return f"{path.rstrip('`')}: {what}" if path else what
