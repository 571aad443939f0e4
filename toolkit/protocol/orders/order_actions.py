"""Actions as the client, the limits, the checks and the venue see them: typed, and made once.

`actions.decode` checks and reads an action on the wire. `OrderAction.made` checks orders that were made in Python.
`recall` reads what was checked before: an entry of the ledger, or a command of the venue's log.
Source: docs/published.md, "Exchange API".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeAlias

import msgspec

from ..fields import Broken
from .item_rules import check_bracket, check_item
from .items import CancelItem, OrderItem
from .names import BRACKET_ACTIONS, ORDER_ACTIONS, PLACED_REDUCE_ONLY, ActionType, OrderField, Words


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
            return {"type": kind, "orders": [item.to_wire(PLACED_REDUCE_ONLY) for item in self.orders]}
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
                    check_item(item)
                except Broken as broken:
                    raise broken.under("orders", f"[{at}]") from None
            if kind in BRACKET_ACTIONS:
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

    def to_wire(self) -> dict[str, Any]:
        """Return the action on the wire."""
        named = {} if self.conditional is None else {"conditionalOrder": self.conditional}
        return {"type": "cancelAll", "symbolCode": self.product, **named}


def only_leaves(action: object) -> bool:
    """Return whether an action can only cancel orders or reduce positions, by its own fields.

    Parameters
    ----------
    action : AnyAction
        The action.
    """
    if isinstance(action, OrderAction):
        return all(item.reduces for item in action.orders)
    return isinstance(action, CancelOrders | CancelAll)


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


def recall(payload: Mapping[str, Any]) -> AnyAction:
    """Return the typed action of a payload that was checked before: of an entry of the ledger, or of a command.

    Parameters
    ----------
    payload : mapping of str to object
        The action on the wire. Its fields are not checked.
    """
    kind = payload["type"]
    if kind in ORDER_ACTIONS:
        return OrderAction.recall(payload)
    if kind == "cancelOrder":
        return CancelOrders(tuple([CancelItem.recall(item) for item in payload["cancels"]]))
    if kind == "cancelAll":
        return CancelAll(int(payload.get("symbolCode") or 0), payload.get("conditionalOrder"))
    return OtherAction(kind, payload)


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


def named_orders(action: AnyAction) -> list[tuple[int | None, int | None, OrderItem | None]]:
    """Return the client id and the venue's id by which an action names each order or cancel, and the order.

    Parameters
    ----------
    action : AnyAction
        The action.

    Returns
    -------
    list of (int or None, int or None, OrderItem or None)
        An id that is not given is None, and so is the order of a cancel.
    """
    if isinstance(action, CancelOrders):
        return [(item.cl_ord_id or None, item.order_id or None, None) for item in action.cancels]
    if isinstance(action, OrderAction):
        return [(item.cl_ord_id or None, action.order_id or None, item) for item in action.orders]
    return []


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
