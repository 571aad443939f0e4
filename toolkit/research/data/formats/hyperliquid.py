"""Hyperliquid: the public archive of order books (`l2Book`, `.lz4`), and raw WebSocket messages, one JSON a line.

A line of the archive holds the time of receipt and, as `raw`, the message. Books, trades, best prices and asset
contexts (mark, oracle, funding) are read. Source: the exchange's pages on its WebSocket and on its historical data.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ..event_array import Kind
from ..events import Events
from .messages import MessageReader, Whole
from .text_files import TextFile, to_ns

DEPTH = 20
"""Levels of a side in a book. A side with fewer is whole."""
Number = str | float | None


class Level(msgspec.Struct, gc=False):
    """One price level, or a best price.

    Attributes
    ----------
    px : str or float
        Price.
    sz : str or float
        Quantity, base units.
    """

    px: str | float
    sz: str | float


class BookData(msgspec.Struct, gc=False):
    """The book of one coin.

    Attributes
    ----------
    coin : str
        Name of the coin.
    time : Whole
        Time of the book, Unix ms.
    levels : tuple of (list of Level, list of Level)
        Bids and asks, best first.
    """

    coin: str
    time: Whole
    levels: tuple[list[Level], list[Level]]


class BestData(msgspec.Struct, gc=False):
    """The best bid and ask of one coin.

    Attributes
    ----------
    coin : str
        Name of the coin.
    time : Whole
        Time of the change, Unix ms.
    bbo : tuple of (Level or None, Level or None)
        Best bid and best ask, None for an empty side.
    """

    coin: str
    time: Whole
    bbo: tuple[Level | None, Level | None]


class TradeData(msgspec.Struct, gc=False):
    """One trade.

    Attributes
    ----------
    coin : str
        Name of the coin.
    side : {"A", "B"}
        Side of the taker: B buys, A sells.
    px : str or float
        Price.
    sz : str or float
        Quantity, base units.
    time : Whole
        Time of the trade, Unix ms.
    tid : Whole
        Id of the trade (default: 0).
    """

    coin: str
    side: Literal["A", "B"]
    px: str | float
    sz: str | float
    time: Whole
    tid: Whole = 0


class Context(msgspec.Struct, gc=False):
    """The members of an asset context that are read.

    Attributes
    ----------
    markPx : Number
        Mark price.
    oraclePx : Number
        Oracle price.
    funding : Number
        Funding rate of an hour, a ratio.
    """

    markPx: Number = None
    oraclePx: Number = None
    funding: Number = None


class ContextData(msgspec.Struct, gc=False):
    """The asset context of one coin.

    Attributes
    ----------
    coin : str
        Name of the coin.
    ctx : Context
        Its prices and rate.
    """

    coin: str
    ctx: Context


class ChannelMessage(msgspec.Struct, gc=False):
    """One message, or in the archive one that holds it.

    Attributes
    ----------
    channel : str
        Name of the channel (default: "").
    data : Raw
        Content of the message, not yet decoded.
    time : str or int
        Time of receipt in the archive, "" if there is none (default: "").
    raw : ChannelMessage or None
        Message within one of the archive.
    """

    channel: str = ""
    data: msgspec.Raw = msgspec.Raw()
    time: str | int = ""
    raw: ChannelMessage | None = None


class HyperliquidReader(MessageReader):
    """Reads the messages of a file. The local time precedes a message, or is in an object around it.

    Parameters
    ----------
    source : TextFile
        File to read.
    """

    exchange = "hyperliquid"
    expected = (
        'a message such as {"channel":"l2Book","data":{"coin":"BTC","time":…,"levels":[[{"px":…,"sz":…}],[]]}}, or'
        ' {"time":…,"raw":{…}} around it'
    )

    def __init__(self, source: TextFile) -> None:
        super().__init__(source)
        self._message = msgspec.json.Decoder(ChannelMessage).decode
        self._book = msgspec.json.Decoder(BookData).decode
        self._best = msgspec.json.Decoder(BestData).decode
        self._trades = msgspec.json.Decoder(list[TradeData]).decode
        self._context = msgspec.json.Decoder(ContextData).decode

    def add(self, text: bytes, local_ns: int) -> None:
        """Add the events of a book, of trades, of best prices or of an asset context.

        Parameters
        ----------
        text : bytes
            The message, without the time before it.
        local_ns : int
            Time of receipt, Unix ns, 0 if it is not known.
        """
        message = self._message(text)
        local = local_ns or (to_ns(message.time) if message.time else 0)
        message = message.raw or message
        if message.channel == "l2Book":
            book = self._book(message.data)
            time, columns = to_ns(book.time), self.columns_of(book.coin)
            for side, levels in zip((1, -1), book.levels, strict=True):
                reach = float(levels[-1].px) if len(levels) >= DEPTH else 0.0
                columns.add(time, local or time, Kind.CLEAR, side, reach, 0.0)
            bids, asks = ([(level.px, level.sz) for level in levels] for levels in book.levels)
            columns.add_levels(time, local or time, Kind.SNAPSHOT, (bids, asks))
        elif message.channel == "trades":
            for trade in self._trades(message.data):
                time, side = to_ns(trade.time), 1 if trade.side == "B" else -1
                columns, amounts = self.columns_of(trade.coin), (float(trade.px), float(trade.sz))
                columns.add(time, local or time, Kind.TRADE, side, *amounts, trade.tid)
        elif message.channel == "bbo":
            best = self._best(message.data)
            time = to_ns(best.time)
            for side, level in zip((1, -1), best.bbo, strict=True):
                price, quantity = (float(level.px), float(level.sz)) if level else (0.0, 0.0)
                self.columns_of(best.coin).add(time, local or time, Kind.QUOTE, side, price, quantity)
        elif message.channel == "activeAssetCtx" and local:  # these messages have no time of their own
            of = self._context(message.data)
            given = {Kind.MARK: of.ctx.markPx, Kind.INDEX: of.ctx.oraclePx, Kind.FUNDING: of.ctx.funding}
            self.add_prices(of.coin, local, local, {kind: value or "" for kind, value in given.items()})
        else:
            self.leave_out(message.channel or "without a channel")


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of a file by coin.

    Parameters
    ----------
    source : TextFile
        File to read.
    """
    return HyperliquidReader(source).read()
