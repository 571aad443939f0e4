"""Bybit's public archives: order books (`…_ob500.data.zip`, one message a line) and trades (CSV), and its streams.

Source: the exchange's pages on the orderbook, trade and ticker topics and on its historical data.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
import numpy as np
import pandas as pd

from ....errors import InputError
from ..events import Events, Kind, from_columns
from .binance import add_snapshot
from .files import Columns, Levels, TextFile, stamped, to_ns
from .tables import convert, hash_of, hashed, read_table

EXPECTED = (
    'a message such as {"topic":"orderbook.500.XRPUSDT","type":"snapshot","ts":…,"data":{"s":…,"b":[],"a":[],"u":…}}'
)
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Number = str | float


class BookMessage(msgspec.Struct, gc=False):
    """The book of one message."""

    s: str
    b: Levels
    a: Levels
    u: Whole = 0


class TradeMessage(msgspec.Struct, gc=False):
    """One trade of a publicTrade message."""

    T: Whole
    s: str
    S: str
    v: Number
    p: Number
    i: str = ""


class Prices(msgspec.Struct, gc=False):
    """What is read of a ticker, whose updates have the members that changed."""

    symbol: str
    markPrice: Number = ""
    indexPrice: Number = ""
    fundingRate: Number = ""


class TopicMessage(msgspec.Struct, gc=False):
    """One message; `cts` is the time of the matching engine."""

    topic: str = ""
    ts: Whole = 0
    data: msgspec.Raw = msgspec.Raw()
    type: str = "delta"
    cts: Whole = 0


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of an archive by symbol."""
    if not re.match(rb"(\S+\s+)?\{", source.head(64)):
        return _read_trades(source)
    reader = _Reader(source)
    for number, line in source.lines():
        reader.read_line(number, line)
    notes = [f"{count} messages {what} were left out" for what, count in sorted(reader.unread.items())]
    return {
        symbol: Events(
            from_columns(columns.fields, len(columns)),
            symbol=symbol,
            exchange="bybit",
            source=f"{source.path.name} (bybit)",
            notes=[*notes, *source.notes],
        )
        for symbol, columns in reader.columns.items()
        if len(columns)
    }


class _Reader:
    def __init__(self, source: TextFile) -> None:
        self.source = source
        self.columns: dict[str, Columns] = {}
        self.unread: dict[str, int] = {}
        self._message = msgspec.json.Decoder(TopicMessage).decode
        self._book = msgspec.json.Decoder(BookMessage).decode
        self._trades = msgspec.json.Decoder(list[TradeMessage]).decode
        self._prices = msgspec.json.Decoder(Prices).decode

    def read_line(self, number: int, line: bytes) -> None:
        """Add the events of one line."""
        before = {symbol: len(columns) for symbol, columns in self.columns.items()}
        try:
            local_ns, text = stamped(line)
            self._add(self._message(text), local_ns)
        except (ValueError, TypeError, msgspec.MsgspecError):
            for symbol, columns in self.columns.items():
                columns.truncate(before.get(symbol, 0))
            self.source.damaged(number, line, EXPECTED)

    def _add(self, message: TopicMessage, local_ns: int) -> None:
        kind = message.topic.partition(".")[0]
        if kind not in ("orderbook", "publicTrade", "tickers"):
            self.unread[kind or "without a topic"] = self.unread.get(kind or "without a topic", 0) + 1
            return
        local, time = local_ns or to_ns(message.ts), to_ns(message.cts or message.ts)
        if kind == "publicTrade":
            for trade in self._trades(message.data):
                if trade.S not in ("Buy", "Sell"):
                    raise ValueError("the side of a trade is Buy or Sell")
                columns, side = self._of(trade.s), 1 if trade.S == "Buy" else -1
                columns.add(to_ns(trade.T), local, Kind.TRADE, side, float(trade.p), float(trade.v), hash_of(trade.i))
        elif kind == "tickers":
            prices = self._prices(message.data)
            for given, of in (
                (prices.markPrice, Kind.MARK), (prices.indexPrice, Kind.INDEX), (prices.fundingRate, Kind.FUNDING)
            ):  # fmt: skip
                if given != "":
                    self._of(prices.symbol).add(time, local, of, 0, float(given), 0.0)
        else:
            book = self._book(message.data)
            columns = self._of(book.s)
            # u = 1 is a snapshot after a restart of the service, whatever its type says
            if message.type == "snapshot" or book.u == 1:
                add_snapshot(columns, time, local, (book.b, book.a), book.u, whole=True)
            else:
                columns.add_levels(time, local, Kind.DEPTH, (book.b, book.a), book.u, max(book.u - 1, 0))

    def _of(self, symbol: str) -> Columns:
        return self.columns.setdefault(symbol, Columns())


def _read_trades(source: TextFile) -> dict[str, Events]:
    """Return the trades of a CSV file: timestamp, symbol, side, size, price, trdMatchID; spot: volume and id."""
    table = read_table(source)
    amount = next((name for name in ("size", "volume", "homeNotional") if name in table), None)
    if not {"timestamp", "side", "price"} <= set(table.columns) or amount is None:
        raise InputError(
            f"{source.path}, line 1: expected the columns timestamp, symbol, side, size, price; got"
            f" {', '.join(table.columns)}",
            field="path",
            rule="columns",
        )
    sides = {"buy": 1, "sell": -1}
    table["side"] = table["side"].str.lower()
    table = convert(source, table, times=("timestamp",), numbers=("price", amount), choices={"side": sides})
    if "symbol" not in table:  # the spot market's files name it: BTCUSDT_2024-01-31.csv.gz
        named = re.match(r"([A-Za-z0-9]+?)_?\d{4}-\d{2}", source.path.name)
        table["symbol"] = named[1] if named else ""
    identity = next((name for name in ("trdMatchID", "id") if name in table), None)
    array = from_columns(
        {
            "exchange_ns": table["timestamp"],
            "local_ns": table["timestamp"],
            "kind": Kind.TRADE,
            "side": table["side"],
            "price": table["price"],
            "quantity": table[amount],
            "id": hashed(table[identity]) if identity else 0,
        },
        len(table),
    )
    where, symbols = f"{source.path.name} (bybit)", np.asarray(table["symbol"], dtype="str")
    return {
        symbol: Events(array[symbols == symbol], symbol=symbol, exchange="bybit", source=where, notes=source.notes)
        for symbol in map(str, pd.unique(table["symbol"]))
    }
