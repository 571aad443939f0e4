"""Protobuf bytes of agent actions, written straight from the declarations.

A table-driven writer, which needs no protobuf runtime at import. Property tests hold it equal to the generated classes.
Fields are written in the order of their numbers, zero values are left out (proto3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .actions import ACTIONS, Action
from .fields import Enum as EnumRule
from .fields import Field, Items, Rule, Shape

Writer = Callable[[Any], bytes]

_VARINT, _BYTES = 0, 2
_SHORT = tuple(bytes([number]) for number in range(128))


def varint(number: int) -> bytes:
    """Return a protobuf varint; negative numbers take ten bytes, as int64 does."""
    if 0 <= number < 128:
        return _SHORT[number]
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def _delimited(tag: bytes, content: bytes) -> bytes:
    return tag + varint(len(content)) + content


def _int_writer(tag: bytes) -> Writer:
    small = (b"", *(tag + number for number in _SHORT[1:]))

    def write(value: int) -> bytes:
        return small[value] if 0 <= value < 128 else tag + varint(value)

    return write


def _text_writer(tag: bytes) -> Writer:
    heads = (b"", *(tag + length for length in _SHORT[1:]))

    def write(value: str) -> bytes:
        content = value.encode()
        length = len(content)
        return heads[length] + content if length < 128 else tag + varint(length) + content

    return write


def _enum_writer(tag: bytes, numbers: Mapping[str, int]) -> Writer:
    written = {name: tag + varint(number) if number else b"" for name, number in numbers.items()}
    return written.__getitem__


def _list_writer(tag: bytes, item: Shape) -> Writer:
    encode_item = shape_writer(item)

    def write(values: list[dict[str, Any]]) -> bytes:
        return b"".join([_delimited(tag, encode_item(value)) for value in values])

    return write


def _writer(entry: Field) -> Writer:
    rule: Rule = entry.rule
    if isinstance(rule, EnumRule):
        return _enum_writer(_tag(entry.number, _VARINT), rule.numbers)
    if isinstance(rule, Items):
        return _list_writer(_tag(entry.number, _BYTES), rule.item)
    if rule.kind == "string":
        return _text_writer(_tag(entry.number, _BYTES))
    return _int_writer(_tag(entry.number, _VARINT))


def shape_writer(shape: Shape) -> Writer:
    """Return the function that writes canonical objects of this shape."""
    numbered = sorted((entry for entry in shape.fields if entry.number), key=lambda entry: entry.number)
    table = [(entry.name, _writer(entry)) for entry in numbered]

    def write(value: dict[str, Any]) -> bytes:
        return b"".join([put(value[name]) for name, put in table if name in value])

    return write


_BRACKET_TAGS = {
    "TP_FROM_POSITION": _tag(2, _BYTES),
    "SL_FROM_POSITION": _tag(3, _BYTES),
}
_MAIN_TAG = _tag(1, _BYTES)


def _bracket(orders: list[dict[str, Any]], put: Writer, suffix: bytes = b"") -> bytes:
    """Write main order, take-profit and stop-loss, whatever order the list has the last two in."""
    main, *others = orders
    parts = {_BRACKET_TAGS[item["reduceOnly"]]: put(item) + suffix for item in others}
    parts[_MAIN_TAG] = put(main) + suffix
    return b"".join([_delimited(tag, parts[tag]) for tag in sorted(parts)])


def _action_writer(action: Action) -> Writer:
    own = shape_writer(action.shape)
    by_name = {entry.name: entry.rule for entry in action.fields}
    if action.layout == "bracket":
        items = by_name["orders"]
        put = shape_writer(items.item) if isinstance(items, Items) else own
        return lambda value: _bracket(value["orders"], put)
    if action.layout == "builder bracket":
        items = by_name["orders"]
        put = shape_writer(items.item) if isinstance(items, Items) else own
        return lambda value: _bracket(value["orders"], put, own(value))
    if action.layout == "builder":
        item = by_name["order"]
        put = shape_writer(item) if isinstance(item, Shape) else own
        return lambda value: put(value["order"]) + own(value)
    return own


WRITERS: dict[str, Writer] = {
    action.type: _action_writer(action) for action in ACTIONS.values() if action.signed_by_agent
}
"""Action type → writer of canonical payloads; only actions that agents sign have one."""


def encode(action: Action | str, payload: Mapping[str, Any]) -> bytes:
    """Return the protobuf bytes of an agent-signed action.

    Raises MalformedRequest when the payload breaks a rule, ValueError for an action that masters sign.
    """
    chosen = ACTIONS[action] if isinstance(action, str) else action
    if not chosen.signed_by_agent:
        raise ValueError(f"{chosen.type} is signed as typed data and has no protobuf message")
    return WRITERS[chosen.type](chosen.check(payload))
