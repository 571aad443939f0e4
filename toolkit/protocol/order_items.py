"""Orders and cancels as typed values, their form on the wire, and the rules of their fields.

An order is one `OrderItem` from the call that makes it to its signature, and from the parsed request to the venue's
engine. `OrderAction`, `CancelOrders` and `CancelAll` are the actions that carry orders. Names of the wire stand here
only: `to_wire` writes them, `recall` reads what was checked before, and `actions.decode` checks and reads.
Sources: docs/published.md, "Exchange API" and "Signatures".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Any, Literal, Self, TypeAlias

import msgspec

from .enums import OrderSide, OrderType, TriggerType
from .enums import ReduceOnly as ReduceOnlyNumbers
from .enums import TimeInForce as TimeInForceNumbers
from .fields import Broken, DecimalText, EnumName, Field, Int, Object, Rule, shown

Side = Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"]
TimeInForce = Literal["GTC", "IOC", "FOK", "POST_ONLY"]
ReduceOnly = Literal["REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"]
TriggerBy = Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"]
ConditionalType = Literal["STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET"]
Kind = Literal["LIMIT", "MARKET"] | ConditionalType

Words = Literal["call", "wire"]
"""Whose names of fields an error uses: those of the arguments of `session.buy`, or those of the wire."""


class ActionType(StrEnum):
    """Types of the actions that code outside `protocol` treats differently from others."""

    PLACE = "placeOrder"
    REPLACE = "replaceOrder"
    BRACKET = "placeBracketOrder"
    BUILDER = "placeBuilderOrder"
    BUILDER_BRACKET = "placeBuilderBracketOrder"
    CANCEL = "cancelOrder"
    CANCEL_ALL = "cancelAll"
    SET_LEVERAGE = "setLeverage"
    SET_MARGIN_MODE = "setMarginMode"
    WITHDRAW = "withdraw"
    CLAIM = "faucetClaim"
    APPROVE_AGENT = "approveAgent"
    APPROVE_BUILDER = "approveAgentToBuilder"


ORDER_ACTIONS: frozenset[str] = frozenset(
    (ActionType.PLACE, ActionType.BRACKET, ActionType.REPLACE, ActionType.BUILDER, ActionType.BUILDER_BRACKET)
)
"""Types of the actions that carry orders."""
BRACKET_ACTIONS: frozenset[str] = frozenset((ActionType.BRACKET, ActionType.BUILDER_BRACKET))
"""Types of those that carry one main order with its exits."""
BUILDER_ACTIONS: frozenset[str] = frozenset((ActionType.BUILDER, ActionType.BUILDER_BRACKET))
"""Types of those that a builder's agent signs."""


class OrderField(StrEnum):
    """A field of an order. The value is its name on the wire, `argument` its name in the calls that place orders."""

    argument: str

    PRODUCT = "symbolCode", "symbol"
    PRICE = "ordPx", "price"
    QUANTITY = "ordQty", "quantity"
    TYPE = "ordType", "type"
    SIDE = "ordSide", "side"
    TIF = "timeInForce", "tif"
    REDUCE_ONLY = "reduceOnly", "reduce_only"
    CLIENT_ID = "clOrdId", "cl_ord_id"
    PARENT = "parentOrdId", "parent_ord_id"
    TRIGGER_PRICE = "triggerPx", "trigger_price"
    TRIGGER_BY = "tpslTriggerType", "trigger_by"
    SLIPPAGE = "slippagePct", "slippage"
    ORDER_ID = "ordId", "order_id"

    def __new__(cls, wire: str, argument: str) -> OrderField:
        member = str.__new__(cls, wire)
        member._value_ = wire
        member.argument = argument
        return member

    # As other text: a failure shows 'ordPx', and not how the toolkit declares it.
    __repr__ = str.__repr__

    def named(self, words: Words) -> str:
        """Return the field's name in the words of the call or of the wire.

        Parameters
        ----------
        words : Words
            Whose names are used.
        """
        return self.argument if words == "call" else self.value


class OrderItem(msgspec.Struct, frozen=True, gc=False):
    """One order, as it is signed.

    Amounts are decimal text, because text is what a signature covers: "0.10" stays "0.10". `checks.read_order` gives
    them as integers in the product's ticks and steps. It is a `Struct`, because a venue makes one of each order, and a
    frozen dataclass takes four times as long to make.

    Attributes
    ----------
    product : int
        Code of the product.
    price : str
        Limit price in USDC, "0" for a market order.
    quantity : str
        Quantity in base units. "0" in a take-profit or stop-loss is the whole position.
    type : {"LIMIT", "MARKET", "STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET"}
        Type. Only the orders of builders have others than LIMIT and MARKET.
    side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"}
        Side.
    tif : {"GTC", "IOC", "FOK", "POST_ONLY"}
        Time in force.
    reduce_only : {"REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"} or None
        Kind of an order that may only close a position (default: none).
    cl_ord_id : int or None
        Client id (default: none).
    parent_ord_id : int or None
        Id of the order whose exit it is (default: none).
    trigger_price : str or None
        Price in USDC that triggers an exit (default: none).
    trigger_by : {"LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"} or None
        Price that is compared with it (default: LAST_PRICE).
    slippage : str or None
        Largest distance of a market order's price from the last price, a ratio (default: the venue's).
    """

    product: int
    price: str
    quantity: str
    type: Kind
    side: Side
    tif: TimeInForce
    reduce_only: ReduceOnly | None = None
    cl_ord_id: int | None = None
    parent_ord_id: int | None = None
    trigger_price: str | None = None
    trigger_by: TriggerBy | None = None
    slippage: str | None = None

    @property
    def reduces(self) -> bool:
        """True for an order that can only reduce a position, by its own fields."""
        return bool(self.reduce_only) or str(self.side).endswith("_HEDGE")

    @classmethod
    def recall(cls, wire: Mapping[str, Any]) -> Self:
        """Return the order of an item on the wire that was checked before. No field is checked here.

        Parameters
        ----------
        wire : mapping of str to object
            The item, or a whole replaceOrder.
        """
        get = wire.get
        reduce_only = get("reduceOnlyOption")
        return cls(
            get("symbolCode"),  # type: ignore[arg-type]
            get("ordPx"),  # type: ignore[arg-type]
            get("ordQty"),  # type: ignore[arg-type]
            get("ordType"),  # type: ignore[arg-type]
            get("ordSide"),  # type: ignore[arg-type]
            get("timeInForce"),  # type: ignore[arg-type]
            get("reduceOnly") if reduce_only is None else reduce_only,
            get("clOrdId"),
            get("parentOrdId"),
            get("triggerPx"),
            get("tpslTriggerType"),
            get("slippagePct"),
        )

    def to_wire(self, reduce_name: str = "reduceOnly") -> dict[str, Any]:
        """Return the item on the wire.

        Parameters
        ----------
        reduce_name : str, optional
            Name of the reduce-only field, which placeOrder calls "reduceOnlyOption" (default: "reduceOnly").
        """
        wire: dict[str, Any] = {
            "symbolCode": self.product,
            "ordPx": self.price,
            "ordQty": self.quantity,
            "ordType": self.type,
            "ordSide": self.side,
            "timeInForce": self.tif,
        }
        optional = (
            (reduce_name, self.reduce_only),
            ("parentOrdId", self.parent_ord_id),
            ("triggerPx", self.trigger_price),
            ("tpslTriggerType", self.trigger_by),
            ("slippagePct", self.slippage),
            ("clOrdId", self.cl_ord_id),
        )
        for name, value in optional:
            if value is not None:
                wire[name] = value
        return wire


class CancelItem(msgspec.Struct, frozen=True, gc=False):
    """One order to cancel, named by the venue's id, by its client id, or by both.

    Attributes
    ----------
    product : int
        Code of the product.
    order_id : int or None
        The venue's id (default: none).
    cl_ord_id : int or None
        Client id (default: none).
    """

    product: int
    order_id: int | None = None
    cl_ord_id: int | None = None

    @classmethod
    def recall(cls, wire: Mapping[str, Any]) -> Self:
        """Return the cancel of an item on the wire that was checked before. No field is checked here.

        Parameters
        ----------
        wire : mapping of str to object
            The item.
        """
        return cls(int(wire.get("symbolCode") or 0), _id(wire.get("ordId")), _id(wire.get("clOrdId")))

    def to_wire(self) -> dict[str, str]:
        """Return the item on the wire: ids and codes as text, as they are published."""
        ids = {"ordId": self.order_id, "clOrdId": self.cl_ord_id}
        return {"symbolCode": str(self.product), **{name: str(value) for name, value in ids.items() if value is not None}}


def _id(value: Any) -> int | None:
    return None if value is None else int(value)


class OrderAction(msgspec.Struct, frozen=True):
    """An action that carries orders: placeOrder, replaceOrder, a bracket, or one of these of a builder.

    Attributes
    ----------
    type : str
        Its type, one of `ORDER_ACTIONS`.
    orders : tuple of OrderItem
        The orders. A bracket has its main order first, a replacement the new order only.
    order_id : int or None
        The venue's id of the order that a replacement replaces (default: it is named by its client id).
    builder : str or None
        Address of the builder's master (default: none).
    builder_fee_rate : str or None
        The builder's fee, a ratio (default: none).
    words : Words
        Whose names of fields its errors use (default: those of the wire).
    """

    type: str
    orders: tuple[OrderItem, ...]
    order_id: int | None = None
    builder: str | None = None
    builder_fee_rate: str | None = None
    words: Words = "wire"

    @property
    def is_bracket(self) -> bool:
        """True for a main order with its exits."""
        return self.type in BRACKET_ACTIONS

    @classmethod
    def recall(cls, payload: Mapping[str, Any]) -> Self:
        """Return the action of a payload that was checked before. No field is checked here.

        Parameters
        ----------
        payload : mapping of str to object
            The action on the wire.
        """
        orders = tuple([OrderItem.recall(item) for item in placed_items(payload)])
        get = payload.get
        return cls(payload["type"], orders, get("ordId"), get("builder"), get("builderFeeRate"))

    def to_wire(self) -> dict[str, Any]:
        """Return the action on the wire."""
        kind = str(self.type)
        if kind == "replaceOrder":
            named = {} if self.order_id is None else {"ordId": self.order_id}
            return {"type": kind, **self.orders[0].to_wire(), **named}
        if kind == "placeOrder":
            return {"type": kind, "orders": [item.to_wire("reduceOnlyOption") for item in self.orders]}
        items: Any = [item.to_wire() for item in self.orders]
        wire = {"type": kind, "order": items[0]} if kind == "placeBuilderOrder" else {"type": kind, "orders": items}
        if self.builder is not None:
            wire |= {"builder": self.builder, "builderFeeRate": self.builder_fee_rate}
        return wire

    @classmethod
    def made(cls, kind: str, orders: Iterable[OrderItem], order_id: int | None = None) -> Self:
        """Return the action of orders that were made in Python, if every field keeps its rule.

        Parameters
        ----------
        kind : str
            Its type.
        orders : iterable of OrderItem
            The orders.
        order_id : int, optional
            The venue's id of the order that a replacement replaces (default: none).

        Raises
        ------
        MalformedRequest
            For the first field that does not keep its rule, in the words of the call.
        """
        self = cls(kind, tuple(orders), order_id, words="call")
        try:
            for at, item in enumerate(self.orders):
                try:
                    _check_item(item)
                except Broken as broken:
                    raise broken.under("orders", f"[{at}]") from None
            if self.is_bracket:
                check_bracket([item.reduce_only for item in self.orders], OrderField.REDUCE_ONLY.argument)
        except Broken as broken:
            if broken.path[1] == "[0]":  # the first order, or the only one: the argument itself has the name
                del broken.path[:2]
            raise broken.error() from None
        return self

    def numbered(self, first: int) -> Self:
        """Return it with a client id in every order that it places, so that each order can be queried later.

        A client id that the user gave is kept: it is how they find the order again.

        Parameters
        ----------
        first : int
            The id of the first order. Those of the others follow.
        """
        if self.type == ActionType.REPLACE:
            return self
        orders = [
            item if item.cl_ord_id else msgspec.structs.replace(item, cl_ord_id=first + at)
            for at, item in enumerate(self.orders)
        ]
        return msgspec.structs.replace(self, orders=tuple(orders))

    @property
    def client_ids(self) -> tuple[int, ...]:
        """Client ids of the orders that it places. A replacement places none."""
        return () if self.type == ActionType.REPLACE else tuple([item.cl_ord_id or 0 for item in self.orders])


def placed_items(payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the items of the orders of a payload on the wire. A replacement is its own item.

    Parameters
    ----------
    payload : mapping of str to object
        An action that carries orders.
    """
    if "orders" in payload:
        return tuple(payload["orders"])
    return (payload.get("order", payload),)


class CancelOrders(msgspec.Struct, frozen=True):
    """Cancel some orders: cancelOrder.

    Attributes
    ----------
    cancels : tuple of CancelItem
        The orders to cancel.
    type : str
        Its type on the wire.
    """

    cancels: tuple[CancelItem, ...]
    type: str = ActionType.CANCEL

    @classmethod
    def recall(cls, payload: Mapping[str, Any]) -> Self:
        """Return the action of a payload that was checked before. No field is checked here.

        Parameters
        ----------
        payload : mapping of str to object
            The action on the wire.
        """
        return cls(tuple([CancelItem.recall(item) for item in payload["cancels"]]))

    def to_wire(self) -> dict[str, Any]:
        """Return the action on the wire."""
        return {"type": "cancelOrder", "cancels": [item.to_wire() for item in self.cancels]}


class CancelAll(msgspec.Struct, frozen=True):
    """Cancel all open orders of a product, or all its waiting triggers: cancelAll.

    Attributes
    ----------
    product : int
        Code of the product.
    conditional : bool or None
        True for the waiting triggers (default: the open orders).
    type : str
        Its type on the wire.
    """

    product: int
    conditional: bool | None = None
    type: str = ActionType.CANCEL_ALL

    @classmethod
    def recall(cls, payload: Mapping[str, Any]) -> Self:
        """Return the action of a payload that was checked before. No field is checked here.

        Parameters
        ----------
        payload : mapping of str to object
            The action on the wire.
        """
        return cls(int(payload.get("symbolCode") or 0), payload.get("conditionalOrder"))

    def to_wire(self) -> dict[str, Any]:
        """Return the action on the wire."""
        named = {} if self.conditional is None else {"conditionalOrder": self.conditional}
        return {"type": "cancelAll", "symbolCode": self.product, **named}


class OtherAction(msgspec.Struct, frozen=True):
    """An action without orders: a setting, a transfer, an approval.

    Attributes
    ----------
    type : str
        Its type on the wire.
    values : mapping of str to object
        Its fields as on the wire, with the type.
    """

    type: str
    values: Mapping[str, Any]

    @classmethod
    def recall(cls, payload: Mapping[str, Any]) -> Self:
        """Return the action of a payload that was checked before. No field is checked here.

        Parameters
        ----------
        payload : mapping of str to object
            The action on the wire.
        """
        return cls(str(payload.get("type")), payload)

    @property
    def product(self) -> int:
        """Code of its product."""
        return int(self.values["symbolCode"])

    def with_sequence(self, sequence: int) -> Self:
        """Return a withdrawal with its sequence, which a user may have given. Any other action as it is.

        Parameters
        ----------
        sequence : int
            The sequence.
        """
        if self.type != ActionType.WITHDRAW or "withdrawSequence" in self.values:
            return self
        return msgspec.structs.replace(self, values={**self.values, "withdrawSequence": sequence})

    def to_wire(self) -> dict[str, Any]:
        """Return the action on the wire."""
        return dict(self.values)


AnyAction: TypeAlias = OrderAction | CancelOrders | CancelAll | OtherAction
"""An action as the client, the limits, the checks and the venue see it."""

_CLASSES: dict[str, Callable[[Mapping[str, Any]], AnyAction]] = {
    **dict.fromkeys(ORDER_ACTIONS, OrderAction.recall),
    "cancelOrder": CancelOrders.recall,
    "cancelAll": CancelAll.recall,
}


def recall(payload: Mapping[str, Any]) -> AnyAction:
    """Return the typed action of a payload that was checked before: of an entry of the ledger, or of a command.

    Parameters
    ----------
    payload : mapping of str to object
        The action on the wire. Its fields are not checked.
    """
    return _CLASSES.get(payload["type"], OtherAction.recall)(payload)


def as_written(payload: Mapping[str, Any], action: AnyAction) -> dict[str, Any]:
    """Return a payload as its author wrote it, with the ids that its typed action got since.

    A builder's order may use an alias, and a cancel may have its ids as numbers. Both are signed alike.

    Parameters
    ----------
    payload : mapping of str to object
        The action on the wire, as it was written.
    action : AnyAction
        The same action, typed, with its ids.
    """
    if isinstance(action, OrderAction) and action.client_ids:
        numbered = [
            dict(item) if item.get("clOrdId") else {**item, "clOrdId": number}
            for item, number in zip(placed_items(payload), action.client_ids, strict=True)
        ]
        return {**payload, "orders": numbered} if "orders" in payload else {**payload, "order": numbered[0]}
    if isinstance(action, CancelOrders):
        return {**payload, "cancels": [dict(item) for item in payload["cancels"]]}
    return {**payload, **action.to_wire()} if isinstance(action, OtherAction) else dict(payload)


def named_orders(action: AnyAction) -> list[tuple[dict[str, int], OrderItem | None]]:
    """Return the ids by which an action names its orders or cancels, as answers have them, each with its order.

    Parameters
    ----------
    action : AnyAction
        The action.

    Returns
    -------
    list of (dict of str to int, OrderItem or None)
        clOrdId and ordId as far as they are named, and None for the order of a cancel.
    """
    items: list[tuple[int | None, int | None, OrderItem | None]] = []
    if isinstance(action, CancelOrders):
        items = [(item.cl_ord_id, item.order_id, None) for item in action.cancels]
    elif isinstance(action, OrderAction):
        items = [(item.cl_ord_id, action.order_id, item) for item in action.orders]
    return [
        ({name: number for name, number in (("clOrdId", client_id), ("ordId", order_id)) if number}, item)
        for client_id, order_id, item in items
    ]


def order_ids(action: AnyAction) -> set[int]:
    """Return the venue's ids of the open orders that an action cancels or replaces by them.

    Parameters
    ----------
    action : AnyAction
        The action.
    """
    if isinstance(action, CancelOrders):
        return {item.order_id for item in action.cancels if item.order_id}
    return {action.order_id} if isinstance(action, OrderAction) and action.order_id else set()


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
        Field("timeInForce", sendable(TimeInForceNumbers), 8, required=True),
        Field("clOrdId", CLIENT_ID, 1, note="client order id"),
        Field("parentOrdId", ORDER_ID, 10),
        Field(reduce_name, sendable(ReduceOnlyNumbers), 9, proto="reduce_only_option", alias=alias),
        Field("triggerPx", DecimalText(), 5),
        Field("tpslTriggerType", sendable(TriggerType), 11),
        Field("slippagePct", DecimalText(), 12, note='a ratio: "0.01" is 1 %'),
    )


def _rules() -> tuple[tuple[OrderField, Rule, bool], ...]:
    """Return field, rule and whether it is required of each attribute of an OrderItem, in their order."""
    rules = {entry.name: (entry.rule, entry.required) for entry in order_fields("reduceOnly", _order_type("call"))}
    return tuple((place, *rules[place]) for place in OrderField if place in rules)


_RULES = _rules()


def _check_item(item: OrderItem) -> None:
    for (place, rule, required), value in zip(_RULES, msgspec.structs.astuple(item), strict=True):
        if required or value is not None:
            try:
                rule.check(value)
            except Broken as broken:
                raise broken.under(place.argument) from None
    check_price(item.price, item.type, OrderField.PRICE.argument)


NAMED_OPTION = {"reduceOnly": "is named reduceOnlyOption in placeOrder"}
NAMED_REDUCE = {"reduceOnlyOption": "is named reduceOnly in this action. reduceOnlyOption is for placeOrder"}


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
