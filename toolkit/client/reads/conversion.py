"""Conversion of query parameters from what users write to the wire: times, intervals, ids, flags, enum names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError, MalformedRequest
from ...numerals import Span, When, milliseconds, unit_text
from ...products import identifier
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import hash_text
from ...protocol.orders.names import OrderField
from ...protocol.reads.endpoint import Param
from ...protocol.reads.info.orders import OrderState, Trade

Query = tuple[tuple[str, str], ...]
"""Names and values of a query, as they are sent."""
_WEEK_S = 604_800
Time = When
"""A time since 1970, as `numerals.moment` reads it."""


def seconds(interval: Span, known: Sequence[int] = ()) -> int:
    """Return a candle interval in whole seconds.

    Parameters
    ----------
    interval : str or timedelta
        A span such as "1m", "4h", "1d", "1w" or a timedelta.
    known : sequence of int, optional
        Intervals that there are, in seconds (default: whole minutes up to a week).

    Raises
    ------
    InputError
        For anything else, see `numerals.span_ns`.
    """
    length_s, rest = divmod(milliseconds(interval, "interval"), 1000)
    if rest or (length_s not in known if known else length_s % 60 or not 60 <= length_s <= _WEEK_S):
        texts = tuple(unit_text(each * 10**9) for each in known)
        rule = f"one of {', '.join(texts)}" if known else "whole minutes, from 1m to 1w"
        said = f"interval {interval!r} is not {rule}"
        raise MalformedRequest(said, field="interval", rule="interval", value=interval, nearest=texts)
    return length_s


@dataclass(frozen=True, slots=True)
class OrderRef:
    """An order as a user names it: by the venue's id, else by its client id. With its product where that is given.

    Parameters
    ----------
    order_id : int or None
        The venue's id, or None.
    cl_ord_id : int, optional
        Client id, or None (default: None).
    symbol : str or int, optional
        Symbol or code of the product, None if it is not given (default: None).
    """

    order_id: int | None
    cl_ord_id: int | None = None
    symbol: str | int | None = None


_NAMING = (OrderState, Trade)
"""Rows that name an order, each in its own words."""
_IDS = {
    "order_id": ("order_id", *(row.declared.wires("order_id")[0] for row in _NAMING)),
    "client_order_id": (
        "cl_ord_id", "client_order_id", *(row.declared.wires("client_order_id")[0] for row in _NAMING),
    ),
}  # fmt: skip
"""Parameter → names of the same id in receipts and in rows."""


[_OWNER] = OrderState.declared.wires("account")


def is_order_row(value: object) -> bool:
    """Return whether a value is a receipt, or a row of a table of orders: a Series, a tuple with names, a mapping.

    Parameters
    ----------
    value : object
        Any value that a caller gave for an order.
    """
    return any(_member(value, name) is not None for names in _IDS.values() for name in names)


def order_ref(value: object, name: str = "order") -> OrderRef:
    """Return an order.

    Parameters
    ----------
    value : object
        Its id (a number of any kind, or text), a receipt, or a row of a table of orders.
    name : str, optional
        Name of the argument, which errors repeat (default: "order").

    Raises
    ------
    InputError
        For anything else, and for a receipt of several orders.
    """
    if not is_order_row(value):
        return OrderRef(identifier(value, name))
    if len(results := getattr(value, "results", ())) > 1:
        said = f"this receipt has {len(results)} orders. Name one of them, e.g. receipt.orders[0]"
        raise InputError(said, field=name, rule="one", value=value)
    found: dict[str, int | None] = {}
    for kind, names in _IDS.items():
        given = next((member for one in names if (member := _member(value, one)) is not None), None)
        found[kind] = None if given is None else identifier(given, kind)
    symbol = _member(value, "symbol")
    symbol = _member(value, OrderField.PRODUCT) if symbol is None else symbol
    return OrderRef(found["order_id"], found["client_order_id"], symbol)


def row_owner(value: object) -> str | None:
    """Return the address of the account or vault that a row of a table of orders names, None where it names none.

    Parameters
    ----------
    value : object
        A row of a table of orders.
    """
    owner = _member(value, "account") or _member(value, _OWNER)
    return owner if isinstance(owner, str) else None


def _member(value: object, name: str) -> Any:
    """Return a member of a mapping or an object, None where it is missing, NA or 0, which is no order's id."""
    found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    if callable(found) or type(found).__name__ == "NAType" or found in ("", "0") or found != found:
        return None
    return found or None


def query_text(param: Param, value: object) -> str:
    """Return a value as text of the query, checked by the venue's rule.

    Parameters
    ----------
    param : Param
        Declaration of the parameter.
    value : object
        Value as the caller gave it.

    Raises
    ------
    MalformedRequest
        For a value that breaks the rule. It names the parameter as Python spells it.
    """
    text = _text(param, value)
    try:
        param.parse(text)
    except MalformedRequest as error:
        reason = str(error).removeprefix(f"{param.wire} ")
        message = f"{param.name} {reason}"
        raise MalformedRequest(message, field=param.name, rule=error.rule, value=value, nearest=error.nearest) from None
    return text


def _text(param: Param, value: Any) -> str:
    if param.kind == "flag":
        if not isinstance(value, bool):
            raise InputError(f"{param.name} {value!r} is not True or False", field=param.name, value=value)
        return "true" if value else "false"
    if param.enum:
        enum = ENUMS[param.enum]
        name = enum.parse(value, param.name)
        return name if param.by_name else str(enum.number_of.get(name, name))
    if param.name == "interval" and param.kind == "integer":
        return str(seconds(value))
    if param.kind == "hash":
        return hash_text(str(value))
    if param.name in _IDS and is_order_row(value):
        ref = order_ref(value, param.name)
        value = ref.order_id if param.name == "order_id" else ref.cl_ord_id
        if value is None:
            raise InputError(f"{param.name} is not known yet of this order", field=param.name, rule="known")
    if param.kind == "integer" and not isinstance(value, str) and value == round(value):
        value = round(value)  # a float of a column with missing ids
    return str(value)
