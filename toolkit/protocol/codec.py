"""Protobuf bytes of agent actions, written by the generated classes, deterministically.

The declarations say which field of the payload is which number of the message. Zero values are omitted (proto3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import exchange_pb2 as generated
from .actions import ACTIONS, Action
from .fields import EnumName, Int, Items, Object

Values = dict[str, Any]
"""Arguments of a generated class."""
Reader = Callable[[Mapping[str, Any]], Values]
Writer = Callable[[Mapping[str, Any]], bytes]

_BRACKET_FIELDS = {"TP_FROM_POSITION": "take_profit_order", "SL_FROM_POSITION": "stop_loss_order"}


def _reader(shape: Object, message: str) -> Reader:
    """Return the function that gives the arguments of a generated class for a canonical object of this shape."""
    names = getattr(generated, message).DESCRIPTOR.fields_by_number
    table: list[tuple[str, str, Callable[[Any], Any] | None]] = []
    for entry in shape.fields:
        if entry.number:
            rule = entry.rule
            read: Callable[[Any], Any] | None = None
            if isinstance(rule, EnumName):
                read = dict(rule.numbers).__getitem__
            elif isinstance(rule, Items):
                read = _list_reader(rule.item)
            elif isinstance(rule, Int) and rule.or_text:
                read = int
            table.append((entry.name, names[entry.number].name, read))

    def values(given: Mapping[str, Any]) -> Values:
        return {name: given[wire] if read is None else read(given[wire]) for wire, name, read in table if wire in given}

    return values


def _list_reader(item: Object) -> Callable[[list[Any]], list[Values]]:
    read = _reader(item, item.message)
    return lambda given: [read(each) for each in given]


def _action_writer(action: Action) -> Writer:
    message, read = getattr(generated, action.message), _action_reader(action)

    def write(payload: Mapping[str, Any]) -> bytes:
        encoded: bytes = message(**read(payload)).SerializeToString(deterministic=True)
        return encoded

    return write


def _action_reader(action: Action) -> Reader:
    """Return the function that gives the arguments of an action's generated class, by the layout of its orders."""
    if action.layout == "plain":
        return _reader(action.shape, action.message)
    orders = action.fields[0].rule
    item = orders.item if isinstance(orders, Items) else orders
    assert isinstance(item, Object)
    of_order = _reader(item, item.message)
    if action.layout == "bracket":
        return lambda payload: _bracket(payload["orders"], of_order, {})
    # The builder's fields belong to each order message.
    of_builder = _reader(Object(tuple(entry for entry in action.shape.fields if entry.number)), item.message)
    if action.layout == "builder bracket":
        return lambda payload: _bracket(payload["orders"], of_order, of_builder(payload))
    return lambda payload: of_order(payload["order"]) | of_builder(payload)


def _bracket(orders: list[Any], read: Callable[[Any], Values], more: Values) -> Values:
    """Return main order, take-profit and stop-loss. The list may have the last two in either order."""
    main, *others = orders
    exits = {_BRACKET_FIELDS[item["reduceOnly"]]: read(item) | more for item in others}
    return {"main_order": read(main) | more, **exits}


WRITERS: dict[str, Writer] = {
    action.type: _action_writer(action) for action in ACTIONS.values() if action.role == "agent"
}
"""Action type → encoder of canonical payloads. Only actions that agents sign have one."""
