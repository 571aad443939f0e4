"""Fields and rules of order items, which several actions share.

Sources: docs/published.md, "Exchange API" and "Signatures".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import msgspec

from ..enums import OrderSide, OrderType, ReduceOnly, TimeInForce, TriggerType
from ..fields import Broken, DecimalText, EnumName, Field, Int, Object, Rule, shown
from .items import OrderItem
from .names import PLACED_REDUCE_ONLY, OrderField, Words

SYMBOL_CODE = Int(1)
ORDER_ID = Int(0)
CLIENT_ID = Int()

_DISPLAY_ONLY = "is display-only and must not be sent"
_NEVER_SENT = dict.fromkeys(("NONE", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "ADL", "LIQUIDATION"), _DISPLAY_ONLY)
_STOP_TYPES = ("STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET")


def sendable(enum: type[IntEnum], *names: str, refused: Mapping[str, str] | None = None) -> EnumName:
    """Return the rule of an enum field.

    Parameters
    ----------
    enum : type of IntEnum
        The enum of the interface.
    *names : str
        Names that may be sent (default: all but NONE).
    refused : mapping of str to str or None, optional
        Further names → why they must not be sent (default: none).
    """
    numbers = {member.name: member.value for member in enum if member.value}
    return EnumName({name: numbers[name] for name in names or numbers}, {"NONE": _DISPLAY_ONLY} | dict(refused or {}))


def _order_type(words: Words) -> EnumName:
    """Return the rule of the type of an order that no builder places."""
    trigger = OrderField.TRIGGER_PRICE.named(words)
    stops = f"is for builder orders. Here a TP/SL is LIMIT or MARKET with {trigger} and TP_FROM_POSITION or "
    stops += "SL_FROM_POSITION"
    return sendable(OrderType, "LIMIT", "MARKET", refused=_NEVER_SENT | dict.fromkeys(_STOP_TYPES, stops))


ORDER_TYPE = _order_type("wire")
BUILDER_ORDER_TYPE = sendable(OrderType, "LIMIT", "MARKET", *_STOP_TYPES, refused=_NEVER_SENT)


def check_price(price: str, kind: str, name: str = "ordPx") -> None:
    """Refuse a limit order without a price, and a market order with one.

    Parameters
    ----------
    price : str
        Price of the order, decimal text.
    kind : str
        Its type.
    name : str, optional
        Name of the price in errors (default: "ordPx").

    Raises
    ------
    Broken
        With the field of the price.
    """
    if kind.endswith("MARKET"):
        if price != "0":
            reason = f'must be "0" for a {kind} order, got {shown(price)}'
            raise Broken('a market order has ordPx "0"', reason, price, ("0",), (name,))
    elif not price.strip("0."):
        reason = f"must be decimal text above 0 for a {kind} order, got {shown(price)}"
        raise Broken("a limit order has ordPx above 0", reason, price, (), (name,))


def names_an_order(item: Mapping[str, Any]) -> None:
    """Refuse an item with neither id.

    On the wire 0 means that there is none.

    Parameters
    ----------
    item : mapping of str to object
        Checked item with ordId or clOrdId.

    Raises
    ------
    Broken
        With the field ordId.
    """
    if not (item.get("ordId") or item.get("clOrdId")):
        raise Broken("clOrdId or ordId", "clOrdId or ordId is missing. Give one of them", None, (), ("ordId",))


def check_bracket(kinds: Sequence[str | None], name: str = "reduceOnly") -> None:
    """Refuse a bracket that is not one main order with a take-profit, a stop-loss or both.

    Parameters
    ----------
    kinds : sequence of str or None
        The reduce-only kind of each order.
    name : str, optional
        Name of its field in errors (default: "reduceOnly").

    Raises
    ------
    Broken
        With that field of an order.
    """
    seen: set[str] = set()
    for index, kind in enumerate(kinds):
        closing = kind in ("TP_FROM_POSITION", "SL_FROM_POSITION")
        path = ("orders", f"[{index}]", name)
        if index == 0 and closing:
            rule, main = "the first order is the main order", "the first order of a bracket is the main order"
            raise Broken(rule, f"must not be {kind}: {main}", kind, ("REDUCE_ONLY",), path)
        if index and not closing:
            wanted = ("TP_FROM_POSITION", "SL_FROM_POSITION")
            given = shown(kind) if kind else "nothing"
            reason = f"must be {' or '.join(wanted)} in the orders after the first, got {given}"
            raise Broken("the others are TP or SL", reason, kind, wanted, path)
        if closing and kind in seen:
            raise Broken("one TP and one SL", f"{kind} occurs twice. A bracket has one of each", kind, (), path)
        seen.add(kind or "")


def order_fields(reduce_name: str, types: EnumName, alias: str = "") -> tuple[Field, ...]:
    """Return the fields of an order item.

    Actions differ in the name of the reduce-only field and in the types.

    Parameters
    ----------
    reduce_name : str
        Name of the reduce-only field.
    types : EnumName
        Rule of ordType.
    alias : str, optional
        Another name of the reduce-only field (default: none).
    """
    return (
        Field("symbolCode", SYMBOL_CODE, 2, required=True, note="numeric product code"),
        Field("ordPx", DecimalText(), 3, required=True, note='limit price ("0" for a market order)'),
        Field("ordQty", DecimalText(), 4, required=True, note='quantity ("0" in a TP/SL means the whole position)'),
        Field("ordType", types, 6, required=True),
        Field("ordSide", sendable(OrderSide), 7, required=True),
        Field("timeInForce", sendable(TimeInForce), 8, required=True),
        Field("clOrdId", CLIENT_ID, 1, note="client order id"),
        Field("parentOrdId", ORDER_ID, 10),
        Field(reduce_name, sendable(ReduceOnly), 9, proto="reduce_only_option", alias=alias),
        Field("triggerPx", DecimalText(), 5),
        Field("tpslTriggerType", sendable(TriggerType), 11),
        Field("slippagePct", DecimalText(), 12, note='a ratio: "0.01" is 1 %'),
    )


def _rules() -> tuple[tuple[OrderField, Rule, bool], ...]:
    """Return field, rule and whether it is required of each attribute of an OrderItem, in their order."""
    rules = {entry.name: (entry.rule, entry.required) for entry in order_fields("reduceOnly", _order_type("call"))}
    return tuple((place, *rules[place]) for place in OrderField if place in rules)


_RULES = _rules()


def check_item(item: OrderItem) -> None:
    """Refuse an order that was made in Python with a field that breaks its rule.

    Parameters
    ----------
    item : OrderItem
        The order.

    Raises
    ------
    Broken
        With the field's name in the words of the call.
    """
    for (place, rule, required), value in zip(_RULES, msgspec.structs.astuple(item), strict=True):
        if required or value is not None:
            try:
                rule.check(value)
            except Broken as broken:
                raise broken.under(place.argument) from None
    check_price(item.price, item.type, OrderField.PRICE.argument)


NAMED_OPTION = {"reduceOnly": "is named reduceOnlyOption in placeOrder"}
NAMED_REDUCE = {PLACED_REDUCE_ONLY: "is named reduceOnly in this action. reduceOnlyOption is for placeOrder"}


def price_fits_type(item: Mapping[str, Any]) -> None:
    """Apply `check_price` to a checked item on the wire.

    Parameters
    ----------
    item : mapping of str to object
        The item.
    """
    check_price(item["ordPx"], item["ordType"])


def is_bracket(action: Mapping[str, Any]) -> None:
    """Apply `check_bracket` to a checked action on the wire.

    Parameters
    ----------
    action : mapping of str to object
        The action.
    """
    check_bracket([item.get("reduceOnly") for item in action["orders"]])


PLACE_ITEM = Object(order_fields(PLACED_REDUCE_ONLY, ORDER_TYPE), "MsgPlaceOrder", (price_fits_type,), NAMED_OPTION)
BRACKET_ITEM = Object(order_fields("reduceOnly", ORDER_TYPE), "MsgPlaceOrder", (price_fits_type,), NAMED_REDUCE)
BUILDER_ITEM = Object(
    order_fields("reduceOnly", BUILDER_ORDER_TYPE, alias=PLACED_REDUCE_ONLY), "MsgPlaceBuilderOrder", (price_fits_type,)
)
CANCEL_ITEM = Object(
    (
        Field("symbolCode", Int(1, or_text=True), 1, required=True),
        Field("clOrdId", Int(or_text=True), 2, note="clOrdId or ordId is required"),
        Field("ordId", Int(0, or_text=True), 3, note="clOrdId or ordId is required"),
    ),
    "MsgCancelOrder",
    (names_an_order,),
)
