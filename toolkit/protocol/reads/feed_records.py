"""Records of the feed: each wire name, its column in a frame, its kind and unit, declared as in `info_records`."""

from __future__ import annotations

from .info_records import KLINE, Record, record

BOOK = record(
    "OrderBook",
    """
    side side text — BUY for bids, SELL for asks
    level level integer — place from the best, 1 is the best
    price price price — price of the level
    quantity quantity quantity — total of its orders
    """,
)

PUBLIC_TRADE = record(
    "PublicTrade",
    """
    transactionTime time ms — when
    symbol symbol symbol — product
    ordSide side enum:order_side — side of the taker
    filledPx price price — price
    filledQty quantity quantity — quantity
    txHash tx_hash hash — transaction
    """,
    time="transactionTime",
)

TICKER = record(
    "Ticker",
    """
    s symbol symbol — product
    p last price — price of the last trade
    mp mark_price price — mark price
    op oracle_price price — index price
    mid mid price — middle of best bid and best ask
    fr funding_rate ratio per interval — rate if the interval ended now
    lfr last_funding_rate ratio per interval — rate settled last
    oi open_interest quantity — sum of all longs
    o open price — price 24 hours ago
    h high price — highest of 24 hours
    l low price — lowest of 24 hours
    v volume quantity — traded in 24 hours
    tv turnover money — traded value of 24 hours
    P change ratio — change in 24 hours
    """,
    identity="s",
)

BLOCK = record(
    "Block",
    """
    blockHeight block integer — height
    blockTime time ms — end of the block
    txCount transactions integer — transactions in it
    """,
    identity="blockHeight",
    time="blockTime",
)

HEIGHT = record(
    "BlockHeight",
    """
    blockHeight block integer — height
    timestamp time ms — end of the block
    """,
)

FEED_TRANSACTION = record(
    "FeedTransaction",
    """
    blockHeight block integer — block
    txHash tx_hash hash — hash
    user account address — account it acted for
    actionType action text — type of the action
    status status text — SUCCESS or FAILED
    """,
    identity="txHash",
)

FEED_WALLET = record(
    "FeedWallet",
    """
    userAddr account address — the account
    currency currency currency — USDC
    balance balance money — cash, without the margins of isolated positions
    availableBalance available money — free for new positions
    availableTransferBalance withdrawable money — free to withdraw
    equity equity money — balance, isolated margins and unrealised profit
    status status enum:account_status — NORMAL, or LIQUIDATING while the ladder runs
    makerFeeRatio maker_fee_rate ratio — maker fee at the account's volume
    takerFeeRatio taker_fee_rate ratio — taker fee at the account's volume
    blockHeight block integer — block of the last change
    blockTime time ms — time of that block
    """,
    identity="userAddr currency",
)

FEED_ORDER = record(
    "FeedOrder",
    """
    ordId order_id id — number the venue gave
    clOrdId client_order_id id — number the client gave
    symbol symbol symbol — product
    ordSide side enum:order_side — BUY, SELL or a hedge close
    ordType type enum:order_type — LIMIT, MARKET …
    ordStatus status enum:order_status — NEW, PARTIALLY_FILLED, ORDER_STATUS_UNTRIGGERED
    ordPx price price — limit price, 0 for market orders
    ordQty quantity quantity — ordered
    filledQty filled quantity — filled so far
    leavesQty remaining quantity — still open
    cumFilledValue filled_value money — sum of price × quantity of its fills
    cumFee fee money — fees paid (negative: received)
    triggerPx trigger_price price — 0 where there is no trigger
    tpslTriggerType trigger_type enum:trigger — price that triggers it
    timeInForce tif enum:tif — GTC, IOC, FOK or POST_ONLY
    reduceOnly reduce_only enum:reduce_only — NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
    parentOrdId parent_order_id id — main order of a bracket
    createTime created ms — time of placement
    blockTime time ms — time of the last change
    symbolCode symbol_code integer — number of the product
    userAddr account address — the account
    """,
    identity="ordId",
)

FEED_POSITION = record(
    "FeedPosition",
    """
    symbol symbol symbol — product
    longSize long_size quantity — size of the long half
    shortSize short_size quantity — size of the short half
    longEntryValue long_entry_value money — sum paid for the long half
    shortEntryValue short_entry_value money — sum received for the short half
    leverage leverage ratio x — leverage that is set
    posMode position_mode enum:position_mode — ONE_WAY or HEDGE
    posMarginMode margin_mode enum:margin_mode — CROSS or ISOLATED
    assignedPosBalance assigned_margin money — isolated margin
    curMarkPx mark_price price — mark price
    unrealizedPnl unrealized_pnl money — profit at mark price
    cumRealizedPnl realized_pnl money — profit realised so far
    cumTransactionFee fees money — trading fees paid so far
    marginTableId margin_table integer — number of the product's margin table
    createTime created ms — first opened
    blockTime time ms — last change
    symbolCode symbol_code integer — number of the product
    userAddr account address — the account
    """,
    identity="userAddr symbolCode",
)

FEED_ORDER_EVENT = record(
    "FeedOrderEvent",
    """
    transactionTime time ms — when
    ordId order_id id — number the venue gave
    clOrdId client_order_id id — number the client gave
    symbol symbol symbol — product
    ordSide side enum:order_side — BUY, SELL or a hedge close
    ordType type enum:order_type — LIMIT, MARKET, LIQUIDATION, ADL …
    execStatus status enum:exec_status — what the step made of the order
    ordPx price price — limit price, 0 for market orders
    ordQty quantity quantity — ordered
    execPx fill_price price — price of this fill
    execQty fill_quantity quantity — quantity of this fill
    leavesQty remaining quantity — still open
    execId exec_id id — number of the trade, 0 where it is no fill
    triggerPx trigger_price price — 0 where there is no trigger
    reduceOnly reduce_only enum:reduce_only — NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
    slippagePct slippage ratio — allowed slippage of a market order
    reason reason text — why it was cancelled or rejected
    txHash tx_hash hash — transaction
    userAddr account address — the account
    """,
    time="transactionTime",
)

FEED_FILL = record(
    "FeedFill",
    """
    transactionTime time ms — when
    symbol symbol symbol — product
    ordSide side enum:order_side — BUY, SELL or a hedge close
    filledPx price price — price of the fill
    filledQty quantity quantity — quantity of the fill
    role role text — MAKER or TAKER
    realizedPnl realized_pnl money — profit this fill realised
    openFee open_fee money — fee on the part that opened
    closeFee close_fee money — fee on the part that closed
    ordId order_id id — number the venue gave
    clOrdId client_order_id id — number the client gave
    execId exec_id id — number of the trade, the same for both sides
    ordType type enum:order_type — LIMIT, MARKET, LIQUIDATION, ADL …
    posLongTerm long_term integer — number of the long's life, from flat to flat
    posShortTerm short_term integer — number of the short's life
    txHash tx_hash hash — transaction
    userAddr account address — the account
    """,
    time="transactionTime",
)

FEED_CLOSED_POSITION = record(
    "FeedClosedPosition",
    """
    closedTime time ms — when it was flat again
    symbol symbol symbol — product
    side side text — LONG or SHORT
    size size quantity — closed in its life
    ordPx entry_price price — mean price of entry
    closePx close_price price — mean price of closing
    closedPnl pnl money — profit before fees and funding
    tradingFees fees money — trading fees
    fundingFees funding money — funding received (negative: paid)
    realisedPnl realized_pnl money — profit after fees and funding
    roi roi ratio — realised profit over the margin of entry
    leverage leverage ratio x — leverage that was set
    openTime opened ms — when it was opened from flat
    term term integer — number of its life
    symbolCode symbol_code integer — number of the product
    userAddr account address — the account
    """,
    time="closedTime",
)

FEED_FUNDING = record(
    "FeedFunding",
    """
    transactionTime time ms — time of the settlement
    symbol symbol symbol — product
    posSide side enum:position_side — LONG or SHORT
    posSize size quantity — size of the position
    fundingRate funding_rate ratio per interval — longs pay a positive rate
    fundingFee amount money — negative: paid
    userAddr account address — the account
    """,
    time="transactionTime",
)

FEED_EVENT = record(
    "FeedEvent",
    """
    eventType kind text — perpOrder, approveAgent, actionAck, vaultDeposit or vaultWithdraw
    event event object — what happened, as it came
    """,
)

FEED_SETTING = record(
    "FeedSetting",
    """
    symbol symbol symbol — product
    posMode position_mode enum:position_mode — ONE_WAY or HEDGE
    leverage leverage ratio x — leverage that is set
    """,
    identity="symbol",
)

RECORDS: dict[str, Record] = {
    "orderBook": BOOK,
    "candle": KLINE,
    "trades": PUBLIC_TRADE,
    "ticker": TICKER,
    "allTickers": TICKER,
    "block": BLOCK,
    "blockHeight": HEIGHT,
    "tx": FEED_TRANSACTION,
    "orderHist": FEED_ORDER_EVENT,
    "userFilled": FEED_FILL,
    "closedPosition": FEED_CLOSED_POSITION,
    "userFunding": FEED_FUNDING,
    "userEvent": FEED_EVENT,
}
"""Record of a channel's items; aopState has one for each of its parts."""

AOP_RECORDS: dict[str, Record] = {
    "accounts": FEED_WALLET,
    "orders": FEED_ORDER,
    "positions": FEED_POSITION,
    "settings": FEED_SETTING,
}
