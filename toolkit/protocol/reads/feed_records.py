"""Records of the feed, declared as in `info_records`, and its messages exactly as published.

A field marked [L] is not published: only a local venue with wire="extended" sends it. A message as published leaves it
out. Source: docs/published.md, "WebSocket": one published message of each channel. The forms of values are taken from
there: ids are numbers, hashes come without 0x, and enums as names, except for a transaction's status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..enums import ENUMS
from .feed import AOP_KEYS, Channel, encode
from .info_records import RECORDS as INFO_RECORDS
from .rows import Record, records

_DECLARED = records(
    """
OrderBook
    side side text — BUY for a bid level, SELL for an ask level
    level level integer — distance from the best price (1 is the best)
    price price price — price of the level
    quantity quantity quantity — total quantity of the orders at this price

PublicTrade: time transactionTime; needs symbol ordSide filledPx filledQty
    transactionTime time ms — time of the trade
    symbol symbol symbol — product symbol
    ordSide side enum:order_side — side of the taker: BUY or SELL
    filledPx price price — price of the trade
    filledQty quantity quantity — quantity of the trade
    txHash

Ticker: identity s; needs p
    s symbol symbol — product symbol
    p last price — price of the last trade
    mp mark_price price — mark price
    op oracle_price price — index price (oracle)
    mid mid price? — mid price: mean of best bid and best ask (empty while a side has no orders)
    fr funding_rate ratio per interval — funding rate if the interval ended now
    lfr last_funding_rate ratio per interval — funding rate of the last settlement
    oi open_interest quantity — open interest: total size of all long positions
    o open price — price 24 hours ago
    h high price — highest price of the last 24 hours
    l low price — lowest price of the last 24 hours
    v volume quantity — quantity traded in the last 24 hours
    tv turnover money — value traded in the last 24 hours
    P change ratio — price change of the last 24 hours

Block: identity blockHeight; time blockTime
    blockHeight
    blockTime time ms — time at which the block ended
    txCount transactions integer — number of transactions in the block

BlockHeight: identity blockHeight; time timestamp
    blockHeight
    timestamp time ms — time at which the block ended

FeedTransaction like Transaction: identity txHash; needs blockHeight status
    blockHeight txHash user actionType
    status status enum:transaction_status — SUCCESS or FAILED

FeedWallet like AccountWallet: identity userAddr currency; needs balance availableBalance equity status
    userAddr currency balance availableBalance availableTransferBalance equity status
    makerFeeRatio maker_fee_rate ratio — maker fee rate at the account's volume
    takerFeeRatio taker_fee_rate ratio — taker fee rate at the account's volume
    blockHeight block integer — block height of the last change [L]
    blockTime time ms — time of the last change [L]

FeedOrder like OrderState: identity ordId; needs symbol ordSide ordType ordStatus ordPx ordQty filledQty leavesQty
    ordId clOrdId
    symbol symbol symbol — product symbol
    ordSide
    ordType type enum:order_type — order type: LIMIT, MARKET or a builder order's conditional type
    ordStatus status enum:order_status — NEW, PARTIALLY_FILLED, or ORDER_STATUS_UNTRIGGERED before its trigger
    ordPx ordQty filledQty leavesQty cumFilledValue
    cumFee fee money — sum of trading fees paid (negative if received) [L]
    triggerPx trigger_price price — trigger price (0 or missing without a trigger)
    tpslTriggerType trigger_type enum:trigger — trigger source: LAST_PRICE, MARK_PRICE or INDEX_PRICE [L]
    timeInForce
    reduceOnly reduce_only enum:reduce_only — NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION (missing for NONE)
    parentOrdId parent_order_id id — order id of the bracket's main order (0 without one) [L]
    createTime
    blockTime time ms — time of the last change [L]
    symbolCode symbol_code integer — product code [L]
    userAddr

FeedPosition like Position: identity userAddr symbolCode; needs symbol longSize shortSize longEntryValue \
    shortEntryValue leverage posMode posMarginMode assignedPosBalance curMarkPx
    symbol symbol symbol — product symbol
    longSize shortSize longEntryValue shortEntryValue leverage
    posMode position_mode enum:position_mode — position mode of the account: ONE_WAY or HEDGE
    posMarginMode margin_mode enum:margin_mode — margin mode of the position: CROSS or ISOLATED
    assignedPosBalance curMarkPx unrealizedPnl cumRealizedPnl cumTransactionFee
    marginTableId margin_table integer — number of the product's margin table
    createTime created ms — time at which the position was first opened [L]
    blockTime time ms — time of the last change [L]
    symbolCode symbol_code integer — product code
    userAddr

FeedOrderEvent like OrderEvent: time transactionTime; needs ordId symbol ordSide execStatus ordPx ordQty execQty
    transactionTime time ms — time of the event
    ordId clOrdId
    symbol symbol symbol — product symbol
    ordSide ordType execStatus ordPx ordQty
    execPx fill_price price — price of this fill
    execQty
    leavesQty remaining quantity — quantity that is still open [L]
    execId triggerPx
    reduceOnly reduce_only enum:reduce_only — NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
    slippagePct slippage ratio — largest slippage that the market order allows
    reason
    txHash tx_hash hash — hash of the transaction [L]
    userAddr

FeedFill like Trade: time transactionTime; needs symbol ordSide filledPx execQty ordId execId
    transactionTime time ms — time of the fill
    symbol symbol symbol — product symbol
    ordSide filledPx execQty role
    realizedPnl realized_pnl money — PnL realised by this fill, before fees [L]
    openFee closeFee ordId
    clOrdId client_order_id id — client order id, chosen by the client (0 without one) [L]
    execId
    ordType type enum:order_type — order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type
    execStatus
    ordPx order_price price — limit price (0 for a market order)
    ordQty order_quantity quantity — ordered quantity
    posLongTerm long_term integer — number of the long position, counted from flat to flat
    posShortTerm short_term integer — number of the short position, counted from flat to flat
    txHash userAddr

FeedClosedPosition: time closedTime; needs symbol side size ordPx closePx realisedPnl
    closedTime time ms — time at which the position was closed
    symbol symbol symbol — product symbol
    side side text — direction of the position: LONG or SHORT
    size size quantity — total quantity closed
    ordPx entry_price price — average entry price
    closePx close_price price — average closing price
    closedPnl pnl money — PnL before fees and funding
    tradingFees fees money — trading fees paid
    fundingFees funding money — funding received (negative if paid)
    realisedPnl realized_pnl money — PnL after fees and funding
    roi roi ratio — PnL after fees and funding ÷ initial margin at entry
    leverage
    openTime opened ms — time at which the position was opened
    term term integer — number of the position, counted from flat to flat
    symbolCode symbol_code integer — product code
    userAddr

FeedFunding like FundingPayment: time transactionTime; needs symbol posSide posSize fundingFee
    transactionTime time ms — time of the settlement
    symbol symbol symbol — product symbol
    posSide posSize fundingRate fundingFee userAddr

FeedEvent: needs eventType event
    eventType kind text — kind of event: perpOrder, approveAgent, actionAck, vaultDeposit or vaultWithdraw
    event event object — content of the event, unchanged

FeedSetting like FeedPosition: identity symbol
    symbol leverage
    posMode position_mode enum:position_mode — position mode of this leverage (missing if the row is that of a mode)
""",
    INFO_RECORDS,
)

RECORDS: dict[str, Record] = {
    "orderBook": _DECLARED["OrderBook"],
    "candle": _DECLARED["Kline"],
    "trades": _DECLARED["PublicTrade"],
    "ticker": _DECLARED["Ticker"],
    "allTickers": _DECLARED["Ticker"],
    "block": _DECLARED["Block"],
    "blockHeight": _DECLARED["BlockHeight"],
    "tx": _DECLARED["FeedTransaction"],
    "orderHist": _DECLARED["FeedOrderEvent"],
    "userFilled": _DECLARED["FeedFill"],
    "closedPosition": _DECLARED["FeedClosedPosition"],
    "userFunding": _DECLARED["FeedFunding"],
    "userEvent": _DECLARED["FeedEvent"],
}
"""Channel → record of its items. The channel aopState has a record for each of its parts, see AOP_RECORDS."""

AOP_RECORDS: dict[str, Record] = {
    "accounts": _DECLARED["FeedWallet"],
    "orders": _DECLARED["FeedOrder"],
    "positions": _DECLARED["FeedPosition"],
    "settings": _DECLARED["FeedSetting"],
}


Data = dict[str, Any]

_EVENT_FIELDS = ("ordId", "clOrdId", "symbol", "ordSide", "execStatus", "ordPx", "execQty", "leavesQty")
"""Fields of a perpOrder in userEvent. Those of other events are not published."""
_OMITTED = {"triggerPx": "0", "reduceOnly": "NONE"}
"""Fields of an open order in aopState that are left out with these values."""


def published_message(channel: Channel, kind: str, sequence: int, data: Mapping[str, Any]) -> str | None:
    """Return a data message as published, None where nothing is: a snapshot of a channel that has none."""
    if kind == "snapshot" and not (channel.typed and channel.sequenced):
        return None
    body: Data = {"type": kind} if channel.typed else {}
    if channel.sequenced:
        body["sequence"] = sequence
    body |= {name: data[name] for name in channel.also if name in data}
    if channel.type == "orderBook":
        body["book"] = data["book"]
    elif channel.type == "aopState":
        body["aop"] = {
            part: [_part(part, row) for row in data["aop"][part]] for part in AOP_KEYS if part in data["aop"]
        }
    elif channel.type == "userEvent":
        body["events"] = [_event(event) for event in data["events"]]
    elif channel.key:
        rows, record = data[channel.key], RECORDS[channel.type]
        columns = channel.columns or record.published
        body[channel.key] = (
            [_row(record, columns, row) for row in rows] if isinstance(rows, list) else _row(record, columns, rows)
        )
    else:
        record = RECORDS[channel.type]
        body |= _row(record, record.published, data)
        if not body:  # there is no block or candle yet
            return None
    return encode({"channel": channel.type, "data": body})


def _part(part: str, row: Mapping[str, Any]) -> Data:
    record = AOP_RECORDS[part]
    if part == "settings":
        return {"symbol": row["symbol"], "leverage": row["leverage"]}
    shown = _row(record, record.published, row)
    return {name: value for name, value in shown.items() if part != "orders" or _OMITTED.get(name) != value}


def _event(event: Mapping[str, Any]) -> Data:
    if event["eventType"] != "perpOrder":
        return dict(event)
    return {**event, "event": [_row(RECORDS["orderHist"], _EVENT_FIELDS, row) for row in event["event"]]}


def _row(record: Record, columns: tuple[str, ...], row: Mapping[str, Any]) -> Data:
    fields = record.by_wire
    return {name: _form(fields[name].kind, fields[name].enum, row[name]) for name in columns if name in row}


def _form(kind: str, enum: str, value: Any) -> Any:
    if kind == "id":
        return int(value)
    if kind == "hash":
        return str(value).removeprefix("0x").upper()
    if enum == "transaction_status":
        return ENUMS[enum].number_of[value]
    return ENUMS[enum].text(value) if enum else value
