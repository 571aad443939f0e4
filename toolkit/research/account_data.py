"""The orders, fills and funding payments of a strategy's account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..orders import Bracket, Order


class Fill(msgspec.Struct, frozen=True):
    """One fill of the strategy in `symbol`, at `time` (Unix ms), of an order with `order_id` and `cl_ord_id`.

    `side` is BUY or SELL, `quantity` is in base units, `price`, `value`, `fee` and `realized_pnl` are in USDC. A `fee`
    above 0 was paid. `role` is MAKER or TAKER, `type` an OrderType, "" where a venue does not say it.
    """

    symbol: str
    time: int
    side: str
    price: float
    quantity: float
    value: float
    fee: float
    realized_pnl: float
    role: str
    type: str
    order_id: int
    cl_ord_id: int


class FundingFee(msgspec.Struct, frozen=True):
    """One funding settlement of a `position` (base units, below 0 short) in `symbol`, at `time` (Unix ms).

    A `payment` above 0 was received (USDC). `rate` is a ratio, and `price` the mark that valued the position.
    """

    symbol: str
    time: int
    position: float
    price: float
    rate: float
    payment: float


class FundingRates(msgspec.Struct, frozen=True):
    """Funding of one product: the `rate` that was settled last, the `predicted` one of `next_time` (Unix ms).

    Rates are ratios of one funding interval. A positive one is paid by longs. NaN where it is not known.
    """

    rate: float
    predicted: float
    next_time: int


class OrderHandle:
    """A placed order, kept up to date. `ctx.buy` and the other order calls return it.

    Attributes: `request` (the order or bracket as written), `order` (the order, or the bracket's entry), `cl_ord_id`,
    `order_id` (0 until the venue has assigned one), `filled` (quantity). `reason` says why the order was rejected or
    cancelled. `state` is SENT, NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED or UNKNOWN.
    The handle is true unless the order was rejected.
    """

    __slots__ = ("cl_ord_id", "filled", "order", "order_id", "reason", "request", "state")

    def __init__(self, order: Order | Bracket) -> None:
        self.request = order
        self.order = order.entry
        self.cl_ord_id = self.order.cl_ord_id or 0
        self.order_id = 0
        self.state = "SENT"
        self.filled = 0.0
        self.reason = ""

    @property
    def done(self) -> bool:
        """Whether the order is in a final state."""
        return self.state in ("FILLED", "CANCELED", "REJECTED")

    def __bool__(self) -> bool:
        return self.state != "REJECTED"

    def __repr__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"<OrderHandle {self.request.describe()}: {self.state}{reason}>"
