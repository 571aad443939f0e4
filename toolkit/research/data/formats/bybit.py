"""Bybit's public archives: order books (`…_ob500.data.zip`, one message a line) and trades (CSV).

Source: the exchange's pages on the orderbook topic and on its historical data.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from ....errors import InputError
from ..events import MS, Events, Kind, from_columns
from .binance import Level, add_snapshot
from .files import Columns, TextFile
from .tables import hashed, numbers_of, read_table, times_ns

EXPECTED = (
    'a message such as {"topic":"orderbook.500.XRPUSDT","type":"snapshot","ts":…,"data":{"s":…,"b":[],"a":[],"u":…}}'
)


class Book(msgspec.Struct, gc=False):
    """The book of one message."""

    s: str
    b: list[Level]
    a: list[Level]
    u: int = 0
    seq: int = 0


class PublicTrade(msgspec.Struct, gc=False):
    """One trade of a publicTrade message."""

    T: int
    s: str
    S: str
    v: str
    p: str


class Message(msgspec.Struct, gc=False):
    """One message; `cts` is the time of the matching engine."""

    topic: str
    ts: int
    data: Book | list[PublicTrade]
    type: str = "delta"
    cts: int = 0


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of an archive by symbol."""
    if source.head(1) != b"{":
        return _read_trades(source)
    decode = msgspec.json.Decoder(Message).decode
    found: dict[str, Columns] = {}
    for number, line in source.lines():
        try:
            # a recording of the stream may have the local time before the message
            message = decode(line[max(line.find(b"{"), 0) :])
            _add(found, message)
        except (ValueError, msgspec.MsgspecError):
            source.damaged(number, line, EXPECTED)
    return {
        symbol: Events(
            from_columns(columns.fields, len(columns)),
            symbol=symbol,
            exchange="bybit",
            source=f"{source.path.name} (bybit)",
            notes=source.notes,
        )
        for symbol, columns in found.items()
    }


def _add(found: dict[str, Columns], message: Message) -> None:
    local, time = message.ts * MS, (message.cts or message.ts) * MS
    if isinstance(message.data, list):
        for trade in message.data:
            side = 1 if trade.S == "Buy" else -1
            columns = found.setdefault(trade.s, Columns())
            columns.add(trade.T * MS, local, Kind.TRADE, side, float(trade.p), float(trade.v))
        return
    book = message.data
    columns = found.setdefault(book.s, Columns())
    # u = 1 is a snapshot after a restart of the service, whatever its type says
    if message.type == "snapshot" or book.u == 1:
        add_snapshot(columns, time, local, (book.b, book.a), book.u, whole=True)
    else:
        columns.add_levels(time, local, Kind.DEPTH, (book.b, book.a), book.u, max(book.u - 1, 0))


def _read_trades(source: TextFile) -> dict[str, Events]:
    """Return the trades of a CSV file: timestamp (s), symbol, side, size, price, trdMatchID and others."""
    table = read_table(source)
    needed = {"timestamp", "side", "price"}
    amount = next((name for name in ("size", "volume", "homeNotional") if name in table), None)
    if not needed <= set(table.columns) or amount is None:
        raise InputError(
            f"{source.path}, line 1: expected the columns timestamp, symbol, side, size, price; got"
            f" {', '.join(table.columns)}",
            field="path",
            rule="columns",
        )
    stamps = times_ns(source, table, "timestamp")
    named = table["symbol"] if "symbol" in table else pd.Series([""] * len(table))
    identity = next((name for name in ("trdMatchID", "id") if name in table), None)
    array = from_columns(
        {
            "exchange_ns": stamps,
            "local_ns": stamps,
            "kind": Kind.TRADE,
            "side": np.where(table["side"].str.lower() == "buy", 1, -1),
            "price": numbers_of(source, table, "price"),
            "quantity": numbers_of(source, table, amount),
            "id": hashed(table[identity]) if identity else 0,
        },
        len(table),
    )
    where = f"{source.path.name} (bybit)"
    return {
        str(symbol): Events(array[(named == symbol).to_numpy()], symbol=str(symbol), exchange="bybit", source=where)
        for symbol in named.unique()
    }
