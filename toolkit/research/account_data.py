"""The orders, fills and funding payments of a strategy's account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..orders import Bracket, Order


class Fill(msgspec.Struct, frozen=True):
    """One fill of the strategy.

    Attributes
    ----------
    symbol : str
        Product symbol, such as "BTCUSDC".
    time : int
        Time of the fill, Unix ms.
    side : str
        BUY or SELL.
    price : float
        Price, USDC.
    quantity : float
        Filled quantity, base units.
    value : float
        Price times quantity, USDC.
    fee : float
        Fee, USDC. Above 0 it was paid, below 0 received.
    realized_pnl : float
        Realised PnL of the part that closed a position, USDC.
    role : str
        MAKER or TAKER.
    type : str
        An OrderType, "" if the venue does not say it.
    order_id : int
        The venue's id of the order.
    cl_ord_id : int
        The client's id of the order.
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
    """One funding settlement of a position.

    Attributes
    ----------
    symbol : str
        Product symbol, such as "BTCUSDC".
    time : int
        Time of the settlement, Unix ms.
    position : float
        Signed size of the position, base units, negative for a short.
    price : float
        Mark price that valued the position, USDC.
    rate : float
        Funding rate, a ratio of one funding interval.
    payment : float
        Amount, USDC. Above 0 it was received, below 0 paid.
    """

    symbol: str
    time: int
    position: float
    price: float
    rate: float
    payment: float


class FundingRates(msgspec.Struct, frozen=True):
    """Funding of one product. Rates are ratios of one funding interval, paid by longs if positive, NaN if not known.

    Attributes
    ----------
    rate : float
        The rate that was settled last.
    predicted : float
        The rate expected at `next_time`.
    next_time : int
        Time of the next settlement, Unix ms.
    """

    rate: float
    predicted: float
    next_time: int


class OrderHandle:
    """A placed order, kept up to date. `ctx.buy` and the other order calls return it.

    The handle is true unless the order was rejected.

    Parameters
    ----------
    order : Order or Bracket
        The order or bracket as written.

    Attributes
    ----------
    request : Order or Bracket
        The order or bracket as written.
    order : Order
        The order, or the bracket's entry.
    cl_ord_id : int
        The client's id of the order.
    order_id : int
        The venue's id, 0 until it has assigned one.
    filled : float
        Filled quantity, base units.
    reason : str
        Why the order was rejected or cancelled, else "".
    asked : bool
        Whether the run has asked to cancel it.
    state : str
        SENT, NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED or UNKNOWN.
    """

    __slots__ = ("asked", "cl_ord_id", "filled", "order", "order_id", "reason", "request", "state")

    def __init__(self, order: Order | Bracket) -> None:
        self.request = order
        self.order = order.entry
        self.cl_ord_id = self.order.cl_ord_id or 0
        self.order_id = 0
        self.state = "SENT"
        self.filled = 0.0
        self.reason = ""
        self.asked = False

    @property
    def done(self) -> bool:
        """Whether the order is in a final state."""
        return self.state in ("FILLED", "CANCELED", "REJECTED")

    @property
    def acted(self) -> bool:
        """Whether the others of its group are cancelled: it was filled, even partially."""
        return self.filled > 0

    def __bool__(self) -> bool:
        return self.state != "REJECTED"

    def __repr__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"<OrderHandle {self.request.describe()}: {self.state}{reason}>"
