"""Orders, their events and fills: queries and records.

Source: docs/published.md, "Info API".
"""

from dataclasses import replace

from ...fields import L
from ..endpoint import Endpoint, Param
from ..rows import (
    OF_ORDER,
    OPEN,
    Address,
    Code,
    ExecStatusName,
    Hash,
    Id,
    Key,
    Money,
    Ms,
    OrderStatusName,
    OrderTypeName,
    Price,
    Quantity,
    ReduceOnlyName,
    Row,
    Side,
    Text,
    Tif,
    Trigger,
    Unique,
    Whole,
    above_0,
    optional,
    required,
)
from .parameters import ACCOUNT, CLIENT_ORDER_ID, ORDER_ID, PAGES_IN_TIME, SIDE, SYMBOL

# The id of an order that has ended may be given again.
OF_OPEN = Unique(("client_order_id",), {"status": OPEN})


class OrderState(Row, identity=("ordId",), time="blockTime", changing=True, rules=OF_ORDER, keys=(OF_OPEN,)):
    """The latest state of an order."""

    order_id: Id = required("ordId", "order id, assigned by the venue")
    client_order_id: Id | None = optional("clOrdId", "client order id, chosen by the client (0 without one)")
    parent_order_id: Id | None = optional("parentOrdId", "order id of the bracket's main order (0 without one)")
    symbol: Code = required("symbol", "product symbol")
    side: Side = required("side", "BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE")
    type: OrderTypeName | None = optional("type", "order type: LIMIT, MARKET or a builder order's conditional type")
    status: OrderStatusName = required(
        "status", "NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED"
    )
    price: Price | None = optional("price", "limit price (0 for a market order)")
    quantity: Quantity = required("qty", "ordered quantity")
    filled: Quantity = required("filledQty", "quantity filled so far")
    remaining: Quantity = required("leaveQty", "quantity that is still open")
    filled_value: Money | None = optional("cumFilledValue", "sum of price × quantity over all fills")
    fee: Money | None = optional("cumFee", "sum of trading fees paid (negative if received)")
    trigger_price: Price | None = optional("triggerPx", "trigger price (0 without a trigger)")
    trigger_type: Trigger | None = optional(
        "conditionalOrderTriggerType", "trigger source: LAST_PRICE, MARK_PRICE or INDEX_PRICE"
    )
    tif: Tif | None = optional("timeInForce", "time in force: GTC, IOC, FOK or POST_ONLY", json="string")
    reduce_only: ReduceOnlyName | None = optional(
        "reduceOnly", "NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION"
    )
    created: Ms | None = optional("createTime", "time at which the order was placed", source=L)
    time: Ms = required("blockTime", "time of the last change")
    block: Whole | None = optional("blockHeight", "block height of the last change")
    account: Address | None = optional("userAddr", "address of the account")
    id: Key | None = optional("id", "id of the record")


ORDER_STATES = Endpoint(
    "order_states",
    "/info/order/states",
    "Latest state of each order of an account",
    OrderState,
    params=(
        ACCOUNT,
        SYMBOL,
        Param(
            "status",
            "status",
            "enum",
            "only this status (untriggered conditional orders are not NEW)",
            enum="order_status",
        ),
        SIDE,
        Param("type", "type", "enum", "only this order type", enum="order_type"),
        ORDER_ID,
        CLIENT_ORDER_ID,
        Param("parentOrderId", "parent_order_id", "integer", "only children of this order", ties="parent_order_id"),
        *PAGES_IN_TIME,
    ),
    shape="paged",
    order="newest first",
)


class OrderEvent(Row, identity=("id",), time="blockTime"):
    """One event in the life of an order."""

    id: Key | None = optional("id", "id of the event")
    time: Ms = required("blockTime", "time of the event")
    order_id: Id = required("ordId", "order id, assigned by the venue")
    client_order_id: Id | None = optional("clOrdId", "client order id, chosen by the client (0 without one)")
    symbol: Code | None = optional("symbol", "product symbol")
    side: Side | None = optional("side", "BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE", json="string")
    type: OrderTypeName | None = optional(
        "ordType", "order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type"
    )
    status: ExecStatusName = required("execStatus", "status of the order after this event")
    price: Price | None = optional("ordPx", "limit price (0 for a market order)")
    quantity: Quantity | None = optional("ordQty", "ordered quantity")
    fill_price: Price | None = optional("filledPx", "price of this fill")
    fill_quantity: Quantity | None = optional("execQty", "quantity of this fill")
    remaining: Quantity | None = optional("leavesQty", "quantity that is still open")
    exec_id: Id | None = optional("execId", "id of the trade (0 if the event is not a fill)")
    realized_pnl: Money | None = optional("realizedPnl", "PnL realised by this fill, before fees")
    open_fee: Money | None = optional("openFee", "fee for the part that opened a position")
    close_fee: Money | None = optional("closeFee", "fee for the part that closed a position")
    trigger_price: Price | None = optional("triggerPx", "trigger price (0 without a trigger)")
    tif: Tif | None = optional("timeInForce", "time in force: GTC, IOC, FOK or POST_ONLY", json="string")
    reason: Text | None = optional("reason", "reason of a cancellation or rejection, in words", source=L, sent=True)
    tx_hash: Hash | None = optional("txHash", "hash of the transaction")
    block: Whole | None = optional("blockHeight", "block height")
    account: Address | None = optional("userAddr", "address of the account")


ORDER_EVENTS = Endpoint(
    "order_events",
    "/info/order/events",
    "Every event in the life of an account's orders",
    OrderEvent,
    params=(
        ACCOUNT,
        ORDER_ID,
        CLIENT_ORDER_ID,
        SYMBOL,
        Param("execStatus", "status", "enum", "only events with this status", enum="exec_status"),
        SIDE,
        *PAGES_IN_TIME,
    ),
    shape="paged",
    order="newest first",
)


EXECUTION = Unique(("exec_id", "order_id"))


class Trade(Row, identity=("id",), time="blockTime", rules=above_0("price", "quantity"), keys=(EXECUTION,)):
    """A fill of an account."""

    id: Key | None = optional("id", "id of the record")
    time: Ms = required("blockTime", "time of the fill")
    symbol: Code = required("symbol", "product symbol")
    side: Side = required("side", "BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE", json="string")
    price: Price = required("filledPx", "price of the fill")
    quantity: Quantity = required("execQty", "quantity of the fill")
    order_id: Id = required("orderId", "order id, assigned by the venue")
    client_order_id: Id | None = optional("clientOrderId", "client order id, chosen by the client (0 without one)")
    exec_id: Id | None = optional("execId", "id of the trade, the same for maker and taker")
    role: Text | None = optional("role", "MAKER or TAKER", source=L)
    type: OrderTypeName | None = optional(
        "ordType", "order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type", source=L
    )
    status: ExecStatusName | None = optional("execStatus", "status of the order after this fill")
    order_price: Price | None = optional("orderPx", "limit price (0 for a market order)")
    remaining: Quantity | None = optional("leavesQty", "quantity that is still open")
    realized_pnl: Money | None = optional("realizedPnl", "PnL realised by this fill, before fees")
    open_fee: Money | None = optional("openFee", "fee for the part that opened a position")
    close_fee: Money | None = optional("closeFee", "fee for the part that closed a position")
    builder_fee: Money | None = optional("builderFee", "fee paid to the builder of the order", source=L)
    tx_hash: Hash | None = optional("txHash", "hash of the transaction")
    block: Whole | None = optional("blockHeight", "block height")
    account: Address | None = optional("userAddr", "address of the account")


FILLS = Endpoint(
    "fills",
    "/info/trade/page",
    "Fills of an account",
    Trade,
    params=(
        ACCOUNT,
        SYMBOL,
        replace(ORDER_ID, about="only fills of this order"),
        Param("execId", "exec_id", "integer", "only this execution", ties="exec_id"),
        SIDE,
        Param("role", "role", "choice", "only fills as maker or as taker", choices=("MAKER", "TAKER")),
        *PAGES_IN_TIME,
    ),
    shape="paged",
    order="newest first",
)
