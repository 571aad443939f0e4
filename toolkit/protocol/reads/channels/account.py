"""The state of an account, and what happens to it: channels and records.

Source: docs/published.md, "WebSocket".
"""

from enum import StrEnum

from ...fields import L
from ..channel import ACCOUNT, Channel
from ..rows import (
    OF_ORDER,
    OF_POSITION,
    OF_WALLET,
    AccountStatusName,
    Address,
    Anything,
    CurrencyName,
    ExecStatusName,
    Hash,
    Id,
    MarginModeName,
    Money,
    Ms,
    OrderStatusName,
    OrderTypeName,
    PositionModeName,
    PositionSideName,
    Price,
    Quantity,
    Ratio,
    ReduceOnlyName,
    Row,
    Side,
    SignedQuantity,
    Symbol,
    Text,
    Tif,
    Trigger,
    Whole,
    above_0,
    optional,
    required,
)


class FeedWallet(Row, identity=("userAddr", "currency"), feed=True, rules=OF_WALLET):
    """Balances and equity, as the feed has them."""

    account: Address = required("userAddr", "address of the account")
    currency: CurrencyName = required("currency", "currency of the balance (always USDC)")
    balance: Money = required("balance", "cash balance, without the margin of isolated positions")
    available: Money = required("availableBalance", "margin available for new positions and orders")
    withdrawable: Money | None = optional("availableTransferBalance", "amount that can be withdrawn")
    equity: Money = required("equity", "balance + isolated margins + unrealised PnL")
    status: AccountStatusName = required("status", "NORMAL, or LIQUIDATING while the account is being liquidated")
    maker_fee_rate: Ratio | None = optional("makerFeeRatio", "maker fee rate at the account's volume")
    taker_fee_rate: Ratio | None = optional("takerFeeRatio", "taker fee rate at the account's volume")
    block: Whole | None = optional("blockHeight", "block height of the last change", source=L)
    time: Ms | None = optional("blockTime", "time of the last change", source=L)


class FeedOrder(Row, identity=("ordId",), feed=True, rules=OF_ORDER):
    """An open order, as the feed has it."""

    order_id: Id = required("ordId", "order id, assigned by the venue")
    client_order_id: Id | None = optional("clOrdId", "client order id, chosen by the client (0 without one)")
    symbol: Symbol = required("symbol", "product symbol")
    side: Side = required("ordSide", "BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE")
    type: OrderTypeName = required("ordType", "order type: LIMIT, MARKET or a builder order's conditional type")
    status: OrderStatusName = required(
        "ordStatus", "NEW, PARTIALLY_FILLED, or ORDER_STATUS_UNTRIGGERED before its trigger"
    )
    price: Price = required("ordPx", "limit price (0 for a market order)")
    quantity: Quantity = required("ordQty", "ordered quantity")
    filled: Quantity = required("filledQty", "quantity filled so far")
    remaining: Quantity = required("leavesQty", "quantity that is still open")
    filled_value: Money | None = optional("cumFilledValue", "sum of price × quantity over all fills")
    fee: Money | None = optional("cumFee", "sum of trading fees paid (negative if received)", source=L)
    trigger_price: Price | None = optional("triggerPx", "trigger price (0 or missing without a trigger)", sparse=True)
    trigger_type: Trigger | None = optional(
        "tpslTriggerType", "trigger source: LAST_PRICE, MARK_PRICE or INDEX_PRICE", source=L
    )
    tif: Tif | None = optional("timeInForce", "time in force: GTC, IOC, FOK or POST_ONLY")
    reduce_only: ReduceOnlyName | None = optional(
        "reduceOnly", "NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION (missing for NONE)", sparse=True
    )
    parent_order_id: Id | None = optional(
        "parentOrdId", "order id of the bracket's main order (missing without one)", sparse=True
    )
    created: Ms | None = optional("createTime", "time at which the order was placed", source=L)
    time: Ms | None = optional("blockTime", "time of the last change", source=L)
    symbol_code: Whole | None = optional("symbolCode", "product code", source=L)
    account: Address | None = optional("userAddr", "address of the account")


class FeedPosition(Row, identity=("userAddr", "symbolCode"), feed=True, rules=OF_POSITION):
    """A position, as the feed has it."""

    symbol: Symbol = required("symbol", "product symbol")
    long_size: Quantity = required("longSize", "size of the long position")
    short_size: SignedQuantity = required("shortSize", "size of the short position, as a positive number")
    long_entry_value: Money = required("longEntryValue", "entry price × size of the long position")
    short_entry_value: Money = required("shortEntryValue", "entry price × size of the short position")
    leverage: Ratio = required("leverage", "leverage setting of the product", unit="x")
    position_mode: PositionModeName = required("posMode", "position mode of the account: ONE_WAY or HEDGE")
    margin_mode: MarginModeName = required("posMarginMode", "margin mode of the position: CROSS or ISOLATED")
    assigned_margin: Money = required("assignedPosBalance", "margin assigned to an isolated position")
    mark_price: Price = required("curMarkPx", "mark price")
    unrealized_pnl: Money | None = optional("unrealizedPnl", "unrealised PnL at mark price")
    realized_pnl: Money | None = optional("cumRealizedPnl", "PnL realised so far, before fees")
    fees: Money | None = optional("cumTransactionFee", "sum of trading fees paid so far")
    margin_table: Whole | None = optional("marginTableId", "number of the product's margin table")
    created: Ms | None = optional("createTime", "time at which the position was first opened", source=L)
    time: Ms | None = optional("blockTime", "time of the last change", source=L)
    symbol_code: Whole = required("symbolCode", "product code")
    account: Address = required("userAddr", "address of the account")


class FeedSetting(Row, identity=("symbol",), feed=True):
    """The leverage setting of a product."""

    symbol: Symbol = required("symbol", "product symbol")
    leverage: Ratio | None = optional("leverage", "leverage setting of the product", unit="x")
    position_mode: PositionModeName | None = optional(
        "posMode", "position mode of this leverage (missing if the row is that of a mode)", sparse=True
    )


AOP_STATE = Channel(
    type="aopState",
    about="Wallets, open orders, positions and leverage settings of an account. An increment has what changed.",
    parts={"accounts": FeedWallet, "orders": FeedOrder, "positions": FeedPosition, "settings": FeedSetting},
    fields=(ACCOUNT,),
    style="keyed",
    key="aop",
    conflate=True,
    quiet=True,
    typed=True,
    sequenced=True,
    also=("userAddr", "timestamp"),
)


class FeedOrderEvent(Row, time="transactionTime", feed=True):
    """An order event, as the feed has it."""

    time: Ms = required("transactionTime", "time of the event")
    order_id: Id = required("ordId", "order id, assigned by the venue")
    client_order_id: Id | None = optional("clOrdId", "client order id, chosen by the client (0 without one)")
    symbol: Symbol = required("symbol", "product symbol")
    side: Side = required("ordSide", "BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE")
    type: OrderTypeName | None = optional(
        "ordType", "order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type"
    )
    status: ExecStatusName = required("execStatus", "status of the order after this event")
    price: Price = required("ordPx", "limit price (0 for a market order)")
    quantity: Quantity = required("ordQty", "ordered quantity")
    fill_price: Price | None = optional("execPx", "price of this fill")
    fill_quantity: Quantity = required("execQty", "quantity of this fill")
    remaining: Quantity | None = optional("leavesQty", "quantity that is still open", source=L)
    exec_id: Id | None = optional("execId", "id of the trade (0 if the event is not a fill)")
    trigger_price: Price | None = optional("triggerPx", "trigger price (0 without a trigger)")
    reduce_only: ReduceOnlyName | None = optional(
        "reduceOnly", "NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION"
    )
    slippage: Ratio | None = optional("slippagePct", "largest slippage that the market order allows")
    reason: Text | None = optional("reason", "reason of a cancellation or rejection, in words", source=L)
    tx_hash: Hash | None = optional("txHash", "hash of the transaction", source=L)
    account: Address | None = optional("userAddr", "address of the account")


ORDER_HIST = Channel(
    type="orderHist",
    about="Order events of an account, oldest first.",
    row=FeedOrderEvent,
    fields=(ACCOUNT,),
    style="append",
    key="orderHists",
    identity=("ordId", "execId", "execStatus", "ordPx", "ordQty"),
    quiet=True,
    typed=True,
)


class FeedFill(Row, time="transactionTime", feed=True, rules=above_0("price", "quantity")):
    """A fill, as the feed has it."""

    time: Ms = required("transactionTime", "time of the fill")
    symbol: Symbol = required("symbol", "product symbol")
    side: Side = required("ordSide", "BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE")
    price: Price = required("filledPx", "price of the fill")
    quantity: Quantity = required("execQty", "quantity of the fill")
    role: Text | None = optional("role", "MAKER or TAKER", source=L)
    realized_pnl: Money | None = optional("realizedPnl", "PnL realised by this fill, before fees", source=L)
    open_fee: Money | None = optional("openFee", "fee for the part that opened a position")
    close_fee: Money | None = optional("closeFee", "fee for the part that closed a position")
    order_id: Id = required("ordId", "order id, assigned by the venue")
    client_order_id: Id | None = optional("clOrdId", "client order id, chosen by the client (0 without one)", source=L)
    exec_id: Id = required("execId", "id of the trade, the same for maker and taker")
    type: OrderTypeName | None = optional(
        "ordType", "order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type"
    )
    status: ExecStatusName | None = optional("execStatus", "status of the order after this fill")
    order_price: Price | None = optional("ordPx", "limit price (0 for a market order)")
    order_quantity: Quantity | None = optional("ordQty", "ordered quantity")
    long_term: Whole | None = optional("posLongTerm", "number of the long position, counted from flat to flat")
    short_term: Whole | None = optional("posShortTerm", "number of the short position, counted from flat to flat")
    tx_hash: Hash | None = optional("txHash", "hash of the transaction")
    account: Address | None = optional("userAddr", "address of the account")


USER_FILLED = Channel(
    type="userFilled",
    about="Fills of an account, oldest first.",
    row=FeedFill,
    fields=(ACCOUNT,),
    style="append",
    key="userFills",
    identity=("ordId", "execId"),
    quiet=True,
    typed=True,
)


class FeedClosedPosition(Row, time="closedTime", feed=True):
    """A position that was closed."""

    time: Ms = required("closedTime", "time at which the position was closed")
    symbol: Symbol = required("symbol", "product symbol")
    side: Text = required("side", "direction of the position: LONG or SHORT")
    size: Quantity = required("size", "total quantity closed")
    entry_price: Price = required("ordPx", "average entry price")
    close_price: Price = required("closePx", "average closing price")
    pnl: Money | None = optional("closedPnl", "PnL before fees and funding")
    fees: Money | None = optional("tradingFees", "trading fees paid")
    funding: Money | None = optional("fundingFees", "funding received (negative if paid)")
    realized_pnl: Money = required("realisedPnl", "PnL after fees and funding")
    roi: Ratio | None = optional("roi", "PnL after fees and funding ÷ initial margin at entry")
    leverage: Ratio | None = optional("leverage", "leverage setting of the product", unit="x")
    opened: Ms | None = optional("openTime", "time at which the position was opened")
    term: Whole | None = optional("term", "number of the position, counted from flat to flat")
    symbol_code: Whole | None = optional("symbolCode", "product code")
    account: Address | None = optional("userAddr", "address of the account")


CLOSED_POSITION = Channel(
    type="closedPosition",
    about="Closed positions of an account, oldest first.",
    row=FeedClosedPosition,
    fields=(ACCOUNT,),
    style="append",
    key="closedPositions",
    identity=("symbolCode", "side", "term"),
    quiet=True,
    typed=True,
)


class FeedFunding(Row, time="transactionTime", feed=True):
    """A funding payment, as the feed has it."""

    time: Ms = required("transactionTime", "time of the settlement")
    symbol: Symbol = required("symbol", "product symbol")
    side: PositionSideName = required("posSide", "direction of the position: LONG or SHORT")
    size: SignedQuantity = required("posSize", "size of the position")
    funding_rate: Ratio | None = optional(
        "fundingRate", "funding rate (longs pay a positive rate, shorts receive it)", unit="per interval"
    )
    amount: Money = required("fundingFee", "funding received (negative if paid)")
    account: Address | None = optional("userAddr", "address of the account")


USER_FUNDING = Channel(
    type="userFunding",
    about="Funding payments of an account, oldest first. A negative fee was paid by the account.",
    row=FeedFunding,
    fields=(ACCOUNT,),
    style="append",
    key="funding",
    identity=("symbol", "posSide", "transactionTime"),
    quiet=True,
    typed=True,
)


class EventKind(StrEnum):
    """Kinds of the events of an account that code outside `protocol` treats differently from others."""

    ORDER = "perpOrder"
    ACKNOWLEDGEMENT = "actionAck"


class FeedEvent(Row, feed=True):
    """An event of an account."""

    kind: Text = required(
        "eventType", "kind of event: perpOrder, approveAgent, actionAck, vaultDeposit or vaultWithdraw"
    )
    event: Anything = required("event", "content of the event, unchanged", json="array")


USER_EVENT = Channel(
    type="userEvent",
    about="Events of an account: perpOrder, approveAgent, actionAck, vaultDeposit, vaultWithdraw.",
    row=FeedEvent,
    fields=(ACCOUNT,),
    style="append",
    key="events",
    quiet=True,
    sequenced=True,
    also=("userAddr", "timestamp"),
)
