"""Typed actions: what they read of the wire and write to it, and in whose words they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.protocol import strategies
from toolkit import orders
from toolkit.errors import MalformedRequest
from toolkit.orders import Order
from toolkit.protocol import actions, codec
from toolkit.protocol.actions import ACTIONS
from toolkit.protocol.orders.items import OrderItem
from toolkit.protocol.orders.names import ORDER_ACTIONS, ActionType, OrderField
from toolkit.protocol.orders.order_actions import OrderAction, as_written, recall

LIMIT = orders.limit("BTCUSDC", "BUY", "0.10", "60000").item(1)


@given(strategies.requests())
def test_a_typed_action_writes_what_it_was_read_from(request: tuple[dict[str, Any], dict[str, Any]]) -> None:
    payload = request[0]
    checked, typed = actions.parse(payload), actions.decode(payload)
    assert actions.parse(typed.to_wire()) == checked
    assert recall(typed.to_wire()) == recall(payload) == typed, "the ledger has it in either form"
    if ACTIONS[typed.type].role == "agent":
        assert codec.WRITERS[typed.type](typed.to_wire()) == codec.WRITERS[typed.type](checked)


@given(strategies.requests(tuple(sorted(ORDER_ACTIONS))))
def test_what_is_written_in_wire_names_is_sent_as_written_but_for_client_ids(
    request: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    payload = request[0]
    typed = actions.decode(payload)
    assert isinstance(typed, OrderAction)
    numbered = typed.numbered(7_000)
    sent = as_written(payload, numbered)
    assert recall(sent) == numbered
    assert sent.keys() == payload.keys()
    assert len(set(numbered.client_ids)) == len(numbered.client_ids) or any(one.cl_ord_id for one in typed.orders)


def test_amounts_stay_the_text_that_is_signed() -> None:
    assert LIMIT.to_wire()["ordQty"] == "0.10"
    assert OrderAction.made(ActionType.PLACE, [LIMIT]).to_wire()["orders"][0]["ordQty"] == "0.10"


@pytest.mark.parametrize(
    ("change", "at", "field", "words"),
    [
        ({"slippage": "-1"}, 0, "slippage", "slippage: must be decimal text, 0 or more"),
        ({"quantity": "1e3"}, 1, "orders[1].quantity", "orders[1].quantity: must be decimal text"),
        ({"price": "0"}, 0, "price", "price: must be decimal text above 0 for a LIMIT order"),
        ({"side": "buy"}, 0, "side", "side: must be one of BUY, SELL"),
        ({"quantity": None}, 0, "quantity", "quantity: must be decimal text, 0 or more, got null"),
        ({"cl_ord_id": 1 << 63}, 0, "cl_ord_id", "cl_ord_id: must be a 64-bit whole number"),
        (
            {"conditional": "STOP_LIMIT", "trigger_price": "1"},
            0,
            "type",
            "type: STOP_LIMIT is for builder orders. Here a TP/SL is LIMIT or MARKET with trigger_price and",
        ),
    ],
)
def test_a_broken_field_of_an_order_is_named_as_the_argument_that_it_was(
    change: dict[str, Any], at: int, field: str, words: str
) -> None:
    values: dict[str, Any] = {"symbol": "BTCUSDC", "side": "BUY", "quantity": "0.1", "price": "60000"} | change
    items = [LIMIT] * at + [Order(**values).item(1)]
    with pytest.raises(MalformedRequest) as caught:
        OrderAction.made(ActionType.PLACE, items)
    assert caught.value.field == field
    assert str(caught.value).startswith(words)


def test_a_bracket_made_in_python_has_one_exit_of_each_kind() -> None:
    stop = orders.stop("BTCUSDC", "SELL", "50000").item(1)
    for items, field in (([LIMIT, stop, stop], "orders[2].reduce_only"), ([stop, stop], "reduce_only")):
        with pytest.raises(MalformedRequest) as caught:
            OrderAction.made(ActionType.BRACKET, items)
        assert caught.value.field == field


def test_a_field_has_a_name_on_the_wire_and_one_in_calls_and_shows_as_text() -> None:
    assert OrderField.PRICE == "ordPx"
    assert repr([OrderField.PRICE]) == "['ordPx']"
    assert (OrderField.PRICE.named("wire"), OrderField.PRICE.named("call")) == ("ordPx", "price")
    arguments = [place.argument for place in OrderField if place is not OrderField.ORDER_ID]
    assert ["symbol", *OrderItem.__struct_fields__[1:]] == arguments, "rules are found by this order"
