"""One order, and one cancel: `to_wire` writes it, `recall` reads what was checked before.

An order is one `OrderItem` from the call that makes it to its signature, and from the parsed request to the venue's
engine. Names of the wire stand here, and nowhere outside `protocol`.
Source: docs/published.md, "Exchange API".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from .names import PLACED_REDUCE_ONLY, Kind, OrderField, ReduceOnly, Side, TimeInForce, TriggerBy

_NAMES = tuple(place.value for place in OrderField if place is not OrderField.ORDER_ID)
"""Name on the wire of each attribute of an `OrderItem`, in their order, which is that of the JSON as well."""
_PLACED_NAMES = tuple(PLACED_REDUCE_ONLY if name == OrderField.REDUCE_ONLY else name for name in _NAMES)


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
    parent_ord_id : int or None
        Id of the order whose exit it is (default: none).
    trigger_price : str or None
        Price in USDC that triggers an exit (default: none).
    trigger_by : {"LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"} or None
        Price that is compared with it (default: LAST_PRICE).
    slippage : str or None
        Largest distance of a market order's price from the last price, a ratio (default: the venue's).
    cl_ord_id : int or None
        Client id (default: none).
    """

    product: int
    price: str
    quantity: str
    type: Kind
    side: Side
    tif: TimeInForce
    reduce_only: ReduceOnly | None = None
    parent_ord_id: int | None = None
    trigger_price: str | None = None
    trigger_by: TriggerBy | None = None
    slippage: str | None = None
    cl_ord_id: int | None = None

    @property
    def reduces(self) -> bool:
        """True for an order that can only reduce a position, by its own fields."""
        return bool(self.reduce_only) or str(self.side).endswith("_HEDGE")

    @property
    def is_of_the_moment(self) -> bool:
        """True for an order that opens at the price of this moment: at market, IOC or FOK. An exit is better late."""
        immediate = str(self.type) == "MARKET" or self.tif in ("IOC", "FOK")
        return immediate and self.trigger_price is None and not self.reduces

    @classmethod
    def recall(cls, wire: Mapping[str, Any]) -> Self:
        """Return the order of an item on the wire that was checked before. No field is checked here.

        Parameters
        ----------
        wire : mapping of str to object
            The item, or a whole replaceOrder.
        """
        return cls(*map(wire.get, _NAMES if wire.get(PLACED_REDUCE_ONLY) is None else _PLACED_NAMES))  # type: ignore[arg-type]

    def to_wire(self, reduce_name: str = "reduceOnly") -> dict[str, Any]:
        """Return the item on the wire.

        Parameters
        ----------
        reduce_name : str, optional
            Name of the reduce-only field, which placeOrder calls "reduceOnlyOption" (default: "reduceOnly").
        """
        names = _PLACED_NAMES if reduce_name == PLACED_REDUCE_ONLY else _NAMES
        values = zip(names, msgspec.structs.astuple(self), strict=True)
        return {name: value for name, value in values if value is not None}


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
        named = {"symbolCode": self.product, "ordId": self.order_id, "clOrdId": self.cl_ord_id}
        return {name: str(value) for name, value in named.items() if value is not None}


def _id(value: str | int | None) -> int | None:
    return None if value is None else int(value)
