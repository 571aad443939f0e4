"""Fields and rules of order items, which several actions share.

Sources: docs/published.md, "Exchange API" and "Signatures".
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from .enums import OrderSide, OrderType, ReduceOnly, TimeInForce, TriggerType
from .fields import Broken, DecimalText, EnumName, Field, Int, Object, shown

SYMBOL_CODE = Int(1)
ORDER_ID = Int(0)
CLIENT_ID = Int()

_DISPLAY_ONLY = "is display-only and must not be sent"
_STOPS = (
    "is for builder orders. Here a TP/SL is LIMIT or MARKET with triggerPx and TP_FROM_POSITION or SL_FROM_POSITION"
)
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


ORDER_TYPE = sendable(OrderType, "LIMIT", "MARKET", refused=_NEVER_SENT | dict.fromkeys(_STOP_TYPES, _STOPS))
BUILDER_ORDER_TYPE = sendable(OrderType, "LIMIT", "MARKET", *_STOP_TYPES, refused=_NEVER_SENT)


def price_fits_type(item: dict[str, Any]) -> None:
    """Refuse a limit order without a price, and a market order with one.

    Parameters
    ----------
    item : dict of str to object
        Checked order item.

    Raises
    ------
    Broken
        With the field ordPx.
    """
    price, kind = item["ordPx"], item["ordType"]
    if kind.endswith("MARKET"):
        if price != "0":
            rule = 'a market order has ordPx "0"'
            raise Broken(rule, f'must be "0" for a {kind} order, got {shown(price)}', price, ("0",), ("ordPx",))
    elif not price.strip("0."):
        reason = f"must be decimal text above 0 for a {kind} order, got {shown(price)}"
        raise Broken("a limit order has ordPx above 0", reason, price, (), ("ordPx",))


def names_an_order(item: dict[str, Any]) -> None:
    """Refuse an item with neither id.

    On the wire 0 means that there is none.

    Parameters
    ----------
    item : dict of str to object
        Checked item with ordId or clOrdId.

    Raises
    ------
    Broken
        With the field ordId.
    """
    if not (item.get("ordId") or item.get("clOrdId")):
        raise Broken("clOrdId or ordId", "clOrdId or ordId is missing. Give one of them", None, (), ("ordId",))


def is_bracket(action: dict[str, Any]) -> None:
    """Refuse a bracket that is not one main order with a take-profit, a stop-loss or both.

    Parameters
    ----------
    action : dict of str to object
        Checked placeBracketOrder.

    Raises
    ------
    Broken
        With the field reduceOnly of an order.
    """
    seen: set[str] = set()
    for index, item in enumerate(action["orders"]):
        kind = item.get("reduceOnly")
        closing = kind in ("TP_FROM_POSITION", "SL_FROM_POSITION")
        path = ("orders", f"[{index}]", "reduceOnly")
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


NAMED_OPTION = {"reduceOnly": "is named reduceOnlyOption in placeOrder"}
NAMED_REDUCE = {"reduceOnlyOption": "is named reduceOnly in this action. reduceOnlyOption is for placeOrder"}

PLACE_ITEM = Object(order_fields("reduceOnlyOption", ORDER_TYPE), "MsgPlaceOrder", (price_fits_type,), NAMED_OPTION)
BRACKET_ITEM = Object(order_fields("reduceOnly", ORDER_TYPE), "MsgPlaceOrder", (price_fits_type,), NAMED_REDUCE)
BUILDER_ITEM = Object(
    order_fields("reduceOnly", BUILDER_ORDER_TYPE, alias="reduceOnlyOption"), "MsgPlaceBuilderOrder", (price_fits_type,)
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
