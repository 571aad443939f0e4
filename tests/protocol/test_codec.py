"""The encoder writes what the generated protobuf classes write; the checked-in classes are what the .proto gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol import strategies
from toolkit.protocol import actions, codec
from toolkit.protocol import exchange_pb2 as generated
from toolkit.protocol.actions import ACTIONS
from toolkit.protocol.fields import INT64_MAX, INT64_MIN, EnumName, Field, Items, Object

AGENT_ACTIONS = tuple(name for name, action in ACTIONS.items() if action.role == "agent")


def message_fields(shape: Object, value: dict[str, Any]) -> dict[str, Any]:
    """Return the canonical object as keyword arguments of its generated class."""
    found: dict[str, Any] = {}
    for entry in shape.fields:
        if not entry.number or entry.name not in value:
            continue
        given_value = value[entry.name]
        if isinstance(entry.rule, EnumName):
            given_value = entry.rule.numbers[given_value]
        elif isinstance(entry.rule, Items):
            given_value = [message_fields(entry.rule.item, item) for item in given_value]
        found[entry.proto_name] = given_value
    return found


def reference(payload: dict[str, Any]) -> bytes:
    """Return the bytes that the generated classes write."""
    action = ACTIONS[payload["type"]]
    kind = getattr(generated, action.message)
    rules = {entry.name: entry.rule for entry in action.fields}
    if action.layout == "plain":
        return bytes(kind(**message_fields(action.shape, payload)).SerializeToString(deterministic=True))
    own = {} if action.layout == "bracket" else message_fields(action.shape, payload)
    if action.layout == "builder":
        item = rules["order"]
        assert isinstance(item, Object)
        return bytes(kind(**message_fields(item, payload["order"]), **own).SerializeToString(deterministic=True))
    items = rules["orders"]
    assert isinstance(items, Items)
    names = {"TP_FROM_POSITION": "take_profit_order", "SL_FROM_POSITION": "stop_loss_order"}
    parts = {
        names.get(item.get("reduceOnly", ""), "main_order"): {**message_fields(items.item, item), **own}
        for item in payload["orders"]
    }
    return bytes(kind(**parts).SerializeToString(deterministic=True))


def encode(payload: dict[str, Any]) -> bytes:
    return codec.WRITERS[payload["type"]](actions.parse(payload))


@given(strategies.requests(AGENT_ACTIONS))
def test_bytes_are_those_of_the_generated_classes(request: tuple[dict[str, Any], dict[str, Any]]) -> None:
    payload, _ = request
    assert encode(payload) == reference(actions.parse(payload))


@given(st.integers(INT64_MIN, INT64_MAX))
def test_every_int64_is_written_as_protobuf_does(number: int) -> None:
    item = {"symbolCode": 5, "clOrdId": number, "ordId": 3}
    expected = generated.MsgCancelOrders(orders=[{"symbol_code": 5, "cl_ord_id": number, "ord_id": 3}])
    assert encode({"type": "cancelOrder", "cancels": [item]}) == expected.SerializeToString()


@pytest.mark.parametrize("name", AGENT_ACTIONS)
def test_declared_fields_are_those_of_the_message(name: str) -> None:
    action = ACTIONS[name]
    descriptor = generated.DESCRIPTOR.message_types_by_name[action.message]
    shapes: list[tuple[Any, tuple[Field, ...]]] = [(descriptor, action.fields)]
    for entry in action.fields:
        if isinstance(entry.rule, Items):
            shapes.append((generated.DESCRIPTOR.message_types_by_name[entry.rule.item.message], entry.rule.item.fields))
        elif isinstance(entry.rule, Object):
            shapes.append((generated.DESCRIPTOR.message_types_by_name[entry.rule.message], entry.rule.fields))
    for described, fields in shapes:
        numbers = {field.name: field.number for field in described.fields}
        for entry in fields:
            if entry.number and entry.proto_name in numbers:
                assert numbers[entry.proto_name] == entry.number
            elif entry.number:
                assert action.layout in ("bracket", "builder bracket")
    if action.layout == "plain":
        assert {entry.proto_name for entry in action.fields} == {field.name for field in descriptor.fields}


def test_an_action_of_masters_has_no_bytes() -> None:
    assert set(codec.WRITERS) == set(AGENT_ACTIONS)


def test_the_last_two_orders_of_a_bracket_may_stand_either_way() -> None:
    def order(**more: Any) -> dict[str, Any]:
        base = {"symbolCode": 1, "ordPx": "5", "ordQty": "1", "ordType": "LIMIT", "ordSide": "BUY"}
        return {**base, "timeInForce": "GTC", **more}

    take, stop = order(reduceOnly="TP_FROM_POSITION"), order(reduceOnly="SL_FROM_POSITION", ordPx="4")
    one = {"type": "placeBracketOrder", "orders": [order(), take, stop]}
    other = {"type": "placeBracketOrder", "orders": [order(), stop, take]}
    assert encode(one) == encode(other)
