"""One order, and one cancel: `to_wire` writes it, `recall` reads what was checked before.

An order is one `OrderItem` from the call that makes it to its signature, and from the parsed request to the venue's
engine. Names of the wire stand here, and nowhere outside `protocol`.
Source: docs/published.md, "Exchange API".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from .names import Kind, ReduceOnly, Side, TimeInForce, TriggerBy


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
        named = {"symbolCode": self.product, "ordId": self.order_id, "clOrdId": self.cl_ord_id}
        return {name: str(value) for name, value in named.items() if value is not None}


def _id(value: Any) -> int | None:
    return None if value is None else int(value)
