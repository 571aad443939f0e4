"""Bybit's public archives: order books (`…_ob500.data.zip`, one message a line) and trades (CSV), and its streams.

Source: the exchange's pages on the orderbook, trade and ticker topics and on its historical data.
"""

from __future__ import annotations

import re

import msgspec

from ....errors import InputError
from ..event_array import Kind
from ..events import Events
from .candle_files import read_csv
from .messages import BookSide, MessageReader, Whole
from .text_files import TextFile, hash_of, to_ns

Number = str | float


class BookMessage(msgspec.Struct, gc=False):
    """The book of one message.

    Attributes
    ----------
    s : str
        Symbol.
    b : BookSide
        Bids, a quantity of 0 removes the level.
    a : BookSide
        Asks, a quantity of 0 removes the level.
    u : Whole
        Id of the update, 1 after a restart of the service (default: 0).
    """

    s: str
    b: BookSide
    a: BookSide
    u: Whole = 0


class TradeMessage(msgspec.Struct, gc=False):
    """One trade of a publicTrade message.

    Attributes
    ----------
    T : Whole
        Time of the trade, Unix ms.
    s : str
        Symbol.
    S : str
        Side of the taker, "Buy" or "Sell".
    v : Number
        Quantity, base units.
    p : Number
        Price.
    i : str
        Id of the trade (default: "").
    """

    T: Whole
    s: str
    S: str
    v: Number
    p: Number
    i: str = ""


class Prices(msgspec.Struct, gc=False):
    """The members of a ticker that are read. An update has only those that changed, the others are "".

    Attributes
    ----------
    symbol : str
        Symbol.
    markPrice : Number
        Mark price (default: "").
    indexPrice : Number
        Index price (default: "").
    fundingRate : Number
        Funding rate, a ratio (default: "").
    """

    symbol: str
    markPrice: Number = ""
    indexPrice: Number = ""
    fundingRate: Number = ""


class TopicMessage(msgspec.Struct, gc=False):
    """One message.

    Attributes
    ----------
    topic : str
        Name of the topic, which begins with the kind of the message (default: "").
    ts : Whole
        Time at which the exchange sent it, Unix ms (default: 0).
    data : Raw
        Content of the message, not yet decoded.
    type : str
        "snapshot" or "delta" (default: "delta").
    cts : Whole
        Time of the matching engine, Unix ms, 0 if it is not sent (default: 0).
    """

    topic: str = ""
    ts: Whole = 0
    data: msgspec.Raw = msgspec.Raw()
    type: str = "delta"
    cts: Whole = 0


class BybitReader(MessageReader):
    """Reads order books, trades and tickers of archives and streams.

    Parameters
    ----------
    source : TextFile
        File to read.
    """

    exchange = "bybit"
    expected = (
        "a message such as"
        ' {"topic":"orderbook.500.XRPUSDT","type":"snapshot","ts":…,"data":{"s":…,"b":[],"a":[],"u":…}}'
    )

    def __init__(self, source: TextFile) -> None:
        super().__init__(source)
        self._message = msgspec.json.Decoder(TopicMessage).decode
        self._book = msgspec.json.Decoder(BookMessage).decode
        self._trades = msgspec.json.Decoder(list[TradeMessage]).decode
        self._prices = msgspec.json.Decoder(Prices).decode

    def add(self, text: bytes, local_ns: int) -> None:
        """Add the events of an order book, of trades or of a ticker.

        Parameters
        ----------
        text : bytes
            The message, without the time before it.
        local_ns : int
            Time of receipt, Unix ns, 0 if it is not known.
        """
        message = self._message(text)
        kind = message.topic.partition(".")[0]
        if kind not in ("orderbook", "publicTrade", "tickers"):
            self.leave_out(kind or "without a topic")
            return
        local, time = local_ns or to_ns(message.ts), to_ns(message.cts or message.ts)
        if kind == "publicTrade":
            for trade in self._trades(message.data):
                if trade.S not in ("Buy", "Sell"):
                    raise ValueError("the side of a trade is Buy or Sell")
                columns, side = self.columns_of(trade.s), 1 if trade.S == "Buy" else -1
                columns.add(to_ns(trade.T), local, Kind.TRADE, side, float(trade.p), float(trade.v), hash_of(trade.i))
        elif kind == "tickers":
            prices = self._prices(message.data)
            given = {Kind.MARK: prices.markPrice, Kind.INDEX: prices.indexPrice, Kind.FUNDING: prices.fundingRate}
            self.add_prices(prices.symbol, time, local, given)
        else:
            book = self._book(message.data)
            columns = self.columns_of(book.s)
            # u = 1 is a snapshot after a restart of the service, whatever its type says
            if message.type == "snapshot" or book.u == 1:
                columns.add_snapshot(time, local, (book.b, book.a), book.u, whole=True)
            else:
                columns.add_levels(time, local, Kind.DEPTH, (book.b, book.a), book.u, max(book.u - 1, 0))


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of an archive by symbol.

    Parameters
    ----------
    source : TextFile
        File to read, of messages or of a table of trades.
    """
    if re.match(rb"(\S+\s+)?\{", source.head(64)):
        return BybitReader(source).read()
    found = read_csv(source)
    for events in found.values():
        if not isinstance(events, Events):
            raise InputError(f"{source.path}: expected the columns timestamp, symbol, side, size, price", field="path")
        events.exchange, events.source = "bybit", f"{source.path.name} (bybit)"
    return found
