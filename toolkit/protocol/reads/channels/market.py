"""Books, candles, trades and tickers: channels and records.

Source: docs/published.md, "WebSocket".
"""

from ..channel import DEPTH, INTERVAL, SYMBOL, Channel
from ..info.candles import Kline
from ..rows import Hash, Money, Ms, Price, Quantity, Ratio, Row, Side, Symbol, Text, Whole, above_0, optional, required


class OrderBook(Row, feed=True):
    """A level of an order book."""

    side: Text | None = optional("side", "BUY for a bid level, SELL for an ask level")
    level: Whole | None = optional("level", "distance from the best price (1 is the best)")
    price: Price | None = optional("price", "price of the level")
    quantity: Quantity | None = optional("quantity", "total quantity of the orders at this price")


ORDER_BOOK = Channel(
    type="orderBook",
    about="Best levels of a product's book, best first, as texts `[price, size]`.",
    row=OrderBook,
    fields=(SYMBOL, DEPTH),
    style="levels",
    key="book",
    conflate=True,
    typed=True,
    sequenced=True,
    silence_ms=15_000,
    also=("symbolCode", "symbol", "block", "depth", "timestamp"),
)


CANDLE = Channel(
    type="candle",
    about="The current candle.",
    row=Kline,
    fields=(SYMBOL, INTERVAL),
    style="keyed",
    identity=("timestamp",),
    conflate=True,
    silence_ms=120_000,
)


class PublicTrade(Row, time="transactionTime", feed=True, rules=above_0("price", "quantity")):
    """A public trade."""

    time: Ms = required("transactionTime", "time of the trade")
    symbol: Symbol = required("symbol", "product symbol")
    side: Side = required("ordSide", "side of the taker: BUY or SELL")
    price: Price = required("filledPx", "price of the trade")
    quantity: Quantity = required("filledQty", "quantity of the trade")
    tx_hash: Hash | None = optional("txHash", "hash of the transaction")


TRADES = Channel(
    type="trades",
    about="Public trades, oldest first. The side is the taker's.",
    row=PublicTrade,
    fields=(SYMBOL,),
    style="append",
    key="trades",
    typed=True,
    sequenced=True,
    silence_ms=120_000,
    also=("symbol",),
)


class Ticker(Row, identity=("s",), feed=True):
    """Prices, open interest, funding and 24 h statistics of a product."""

    symbol: Symbol = required("s", "product symbol")
    last: Price = required("p", "price of the last trade")
    mark_price: Price | None = optional("mp", "mark price")
    oracle_price: Price | None = optional("op", "index price (oracle)")
    mid: Price | None = optional(
        "mid", "mid price: mean of best bid and best ask (empty while a side has no orders)", null=True
    )
    funding_rate: Ratio | None = optional("fr", "funding rate if the interval ended now", unit="per interval")
    last_funding_rate: Ratio | None = optional("lfr", "funding rate of the last settlement", unit="per interval")
    open_interest: Quantity | None = optional("oi", "open interest: total size of all long positions")
    open: Price | None = optional("o", "price 24 hours ago")
    high: Price | None = optional("h", "highest price of the last 24 hours")
    low: Price | None = optional("l", "lowest price of the last 24 hours")
    volume: Quantity | None = optional("v", "quantity traded in the last 24 hours")
    turnover: Money | None = optional("tv", "value traded in the last 24 hours")
    change: Ratio | None = optional("P", "price change of the last 24 hours")


TICKER = Channel(
    type="ticker",
    about="Prices, open interest, funding and 24 h statistics of a product.",
    row=Ticker,
    fields=(SYMBOL,),
    style="latest",
    key="ticker",
    conflate=True,
    typed=True,
    sequenced=True,
    silence_ms=15_000,
    also=("timestamp", "symbol"),
)


ALL_TICKERS = Channel(
    type="allTickers",
    about="Tickers of all products. An increment has those that changed.",
    row=Ticker,
    style="keyed",
    key="tickers",
    identity=("s",),
    conflate=True,
    typed=True,
    sequenced=True,
    silence_ms=15_000,
    also=("timestamp",),
    columns=("s", "p", "mp", "v"),
)
