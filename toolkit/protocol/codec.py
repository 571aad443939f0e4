"""Protobuf bytes of agent actions, written from the declarations.

The encoder is driven by tables and needs no protobuf runtime at import. Property tests prove that it writes what the
generated classes write. Fields are written in the order of their numbers; zero values are omitted (proto3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .actions import ACTIONS, Action
from .fields import EnumName, Field, Items, Object, Rule

Writer = Callable[[Any], bytes]

_VARINT, _BYTES = 0, 2
_SHORT = tuple(bytes([number]) for number in range(128))


def varint(number: int) -> bytes:
    """Return a protobuf varint; a negative int64 takes ten bytes."""
    if 0 <= number < 128:
        return _SHORT[number]
    number &= 0xFFFFFFFFFFFFFFFF  # two's complement, as protobuf writes negative numbers
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
    # Written fields of small numbers and lengths are computed in advance, as nearly every field has one. Index 0 is
    # empty, because proto3 omits zero values.
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


def _list_writer(tag: bytes, item: Object) -> Writer:
    encode_item = object_writer(item)

    def write(values: list[dict[str, Any]]) -> bytes:
        return b"".join([_delimited(tag, encode_item(value)) for value in values])

    return write


def _writer(entry: Field) -> Writer:
    rule: Rule = entry.rule
    if isinstance(rule, EnumName):
        return _enum_writer(_tag(entry.number, _VARINT), rule.numbers)
    if isinstance(rule, Items):
        return _list_writer(_tag(entry.number, _BYTES), rule.item)
    if rule.kind == "string":
        return _text_writer(_tag(entry.number, _BYTES))
    return _int_writer(_tag(entry.number, _VARINT))


def object_writer(shape: Object) -> Writer:
    """Return the function that encodes canonical objects of this shape."""
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
    """Encode main order, take-profit and stop-loss; the list may have the last two in either order."""
    main, *others = orders
    parts = {_BRACKET_TAGS[item["reduceOnly"]]: put(item) + suffix for item in others}
    parts[_MAIN_TAG] = put(main) + suffix
    return b"".join([_delimited(tag, parts[tag]) for tag in sorted(parts)])


def _action_writer(action: Action) -> Writer:
    own = object_writer(action.shape)
    if action.layout == "plain":
        return own
    orders = action.fields[0].rule
    item = orders.item if isinstance(orders, Items) else orders
    assert isinstance(item, Object)
    put = object_writer(item)
    if action.layout == "bracket":
        return lambda value: _bracket(value["orders"], put)
    # The builder's fields belong to each order message. Their numbers are higher than the order's, so they follow it.
    if action.layout == "builder bracket":
        return lambda value: _bracket(value["orders"], put, own(value))
    return lambda value: put(value["order"]) + own(value)


WRITERS: dict[str, Writer] = {
    action.type: _action_writer(action) for action in ACTIONS.values() if action.signed_by_agent
}
"""Action type → encoder of canonical payloads; only actions that agents sign have one."""


def encode(action: Action | str, payload: Mapping[str, Any]) -> bytes:
    """Return the protobuf bytes of an agent-signed action.

    Raises MalformedRequest when the payload breaks a rule, and ValueError for an action that masters sign.
    """
    chosen = ACTIONS[action] if isinstance(action, str) else action
    if not chosen.signed_by_agent:
        raise ValueError(f"{chosen.type} is signed as typed data and has no protobuf message")
    return WRITERS[chosen.type](chosen.check(payload))
