"""Binance USD-M futures: raw WebSocket streams, one message per line, usually after the local time of receipt.

Messages may be bare or combined (`{"stream": …, "data": …}`), one or a list of them. The reader takes depthUpdate
(changes, or the best 5, 10 or 20 levels), trade, aggTrade, bookTicker, markPriceUpdate, and order books of the REST
interface, also of the spot market. Source: "Websocket Market Streams" of the exchange's documentation.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ....errors import InputError
from ..event_array import MS, Kind, with_clears
from ..events import Events
from .messages import BookSide, EventColumns, MessageReader, Whole
from .text_files import TextFile, to_ns

Number = str | int | float

AGGREGATED = 255
"""Kind of an aggregated trade while a file is read, with the id of its first trade as `previous`: the same trades may
be there one by one."""
PARTIAL = re.compile(r"@depth(5|10|20)(@|$)")


class BinanceMessage(msgspec.Struct, gc=False):
    """The members that are read, of any message, letters as on the wire.

    Attributes
    ----------
    e : str
        Type of the message, such as "trade" (default: "").
    E : Whole
        Time at which the exchange sent it, Unix ms (default: 0).
    T : Whole
        Time of the trade or change, Unix ms, of a mark price the time of the next funding (default: 0).
    s : str
        Symbol, "" if the message has none (default: "").
    U : Whole
        First id of the changes of a book (default: 0).
    u : Whole
        Last id of the changes of a book (default: 0).
    pu : int or None
        Last id of the message before, None if it is not sent.
    b : BookSide, Number or None
        Bids of a book, the best bid, or the id of a buyer's order.
    a : BookSide, Number or None
        Asks of a book, the best ask, or the id of an aggregated trade.
    B : Number
        Quantity of the best bid, base units (default: "").
    A : Number
        Quantity of the best ask, base units (default: "").
    p : Number
        Price of a trade, or the mark price (default: "").
    q : Number
        Quantity of a trade, base units (default: "").
    X : str
        Kind of trade: "MARKET", or one that was no trade of the book (default: "MARKET").
    m : bool
        Whether the buyer was the maker, so that the taker sold (default: False).
    t : Whole
        Id of a trade (default: 0).
    f : Whole
        Id of the first trade of an aggregated one (default: 0).
    i : Number
        Index price (default: "").
    r : Number
        Funding rate, a ratio (default: "").
    lastUpdateId : Whole
        Id of an order book of the REST interface (default: 0).
    bids : BookSide or None
        Bids of an order book of the REST interface.
    asks : BookSide or None
        Asks of an order book of the REST interface.
    stream : str
        Name of the stream of a combined message (default: "").
    data : BinanceMessage, list of BinanceMessage or None
        Messages within a combined one.
    """

    e: str = ""
    E: Whole = 0
    T: Whole = 0
    s: str = ""
    U: Whole = 0
    u: Whole = 0
    pu: Annotated[int, msgspec.Meta(ge=-1, le=2**63 - 1)] | None = None
    b: BookSide | Number | None = None
    a: BookSide | Number | None = None
    B: Number = ""
    A: Number = ""
    p: Number = ""
    q: Number = ""
    X: str = "MARKET"
    m: bool = False
    t: Whole = 0
    f: Whole = 0
    i: Number = ""
    r: Number = ""
    lastUpdateId: Whole = 0
    bids: BookSide | None = None
    asks: BookSide | None = None
    stream: str = ""
    data: BinanceMessage | list[BinanceMessage] | None = None


class BinanceReader(MessageReader):
    """Reads raw streams. The events of messages without a symbol are those of "" when the file names none.

    Parameters
    ----------
    source : TextFile
        File to read.
    """

    exchange = "binance-usdm"
    expected = 'a local time and a JSON message, such as 1723161255030314667 {"stream":…,"data":{"e":"trade",…}}'

    def __init__(self, source: TextFile) -> None:
        super().__init__(source)
        self._decode = msgspec.json.Decoder(BinanceMessage | list[BinanceMessage]).decode
        self._depths: dict[str, set[int]] = {}
        """Levels a side of the depthUpdates without a stream's name, by symbol, 0 for those that are changes."""

    def add(self, text: bytes, local_ns: int) -> None:
        """Add the events of one message, or of all within a combined one.

        Parameters
        ----------
        text : bytes
            The message, without the time before it.
        local_ns : int
            Time of receipt, Unix ns, 0 if it is not known.
        """
        decoded, stream = self._decode(text), ""
        if isinstance(decoded, BinanceMessage) and decoded.data is not None:
            stream, decoded = decoded.stream, decoded.data
        for message in decoded if isinstance(decoded, list) else (decoded,):
            if not message.s:
                message.s = self._unnamed(stream)
            self._add_message(self.columns_of(message.s), message, local_ns, stream)

    def _unnamed(self, stream: str) -> str:
        """Return the symbol of a message without one: its stream's, else the file's so far, "" if that is not known."""
        if stream and not stream.startswith("!"):
            return stream.partition("@")[0].upper()
        named = [symbol for symbol, columns in self.columns.items() if symbol and len(columns)]
        return named[0] if len(named) == 1 else ""

    def _add_message(self, columns: EventColumns, message: BinanceMessage, local_ns: int, stream: str) -> None:
        kind = message.e
        time = message.E if kind == "markPriceUpdate" else message.T or message.E  # its T is the next funding's time
        if time:
            # The usual case, without a call: millions of messages are read here.
            time = time * MS if 10**12 <= time < 9 * 10**12 else to_ns(time)
        local = local_ns or (to_ns(message.E) if message.E else time)
        time = time or local
        if kind == "trade" or kind == "aggTrade":
            if message.X != "MARKET":  # insurance fund and auto-deleveraging: no trade of the book
                self.leave_out(f"{kind} of type {message.X}")
                return
            identity = message.t or (message.a if isinstance(message.a, int) else 0)
            side = -1 if message.m else 1
            first, of = (0, Kind.TRADE) if kind == "trade" else (message.f, AGGREGATED)
            columns.add(_known(time), local, of, side, float(message.p), float(message.q), identity, first)
        elif kind == "depthUpdate":
            self._add_depth(columns, message, _known(time), local, stream)
        elif kind == "bookTicker" or (not kind and message.u and message.B):
            for side, price, quantity in ((1, message.b, message.B), (-1, message.a, message.A)):
                if isinstance(price, list | None):
                    raise TypeError("a bookTicker has prices")
                columns.add(_known(time), local, Kind.QUOTE, side, float(price), float(quantity), message.u)
        elif kind == "markPriceUpdate":
            columns.add(_known(time), local, Kind.MARK, 0, float(message.p), 0.0)
            self.add_prices(message.s, time, local, {Kind.INDEX: message.i, Kind.FUNDING: message.r})
        elif message.lastUpdateId and message.bids is not None and message.asks is not None:
            columns.add_snapshot(_known(time), local, (message.bids, message.asks), message.lastUpdateId)
        else:
            self.leave_out(kind or "without a type")

    def _add_depth(self, columns: EventColumns, message: BinanceMessage, time: int, local: int, stream: str) -> None:
        bids, asks = message.b, message.a
        if not isinstance(bids, list) or not isinstance(asks, list):
            raise TypeError("a depthUpdate has lists of levels")
        # A stream of the best levels repeats them in each message. As changes, levels that left the top would stay for
        # ever.
        if PARTIAL.search(stream):
            columns.add_snapshot(time, local, (bids, asks), message.u)
            return
        # The spot market does not name the update before. Its ids are without gaps, so it is the one before the first.
        previous = message.U - 1 if message.pu is None else message.pu
        columns.add_levels(time, local, Kind.DEPTH, (bids, asks), message.u, max(previous, 0))
        if not stream:
            best = len(bids) == len(asks) in (5, 10, 20) and all(float(total) for _, total in (*bids, *asks))
            self._depths.setdefault(message.s, set()).add(len(bids) if best else 0)

    def events(self, notes: list[str]) -> dict[str, Events]:
        """Return what was read, with the events without a symbol as those of the file's only one.

        Parameters
        ----------
        notes : list of str
            Notes of the events so far. One is added for events that belong to none of several symbols.
        """
        unnamed = self.columns.pop("", None)
        filled = [symbol for symbol, columns in self.columns.items() if len(columns)]
        if unnamed and not filled:
            self.columns[""] = unnamed
        elif unnamed and len(filled) == 1:  # they came before the first message with a symbol
            for name, values in self.columns[filled[0]].fields.items():
                values[:0] = unnamed.fields[name]
        elif unnamed:
            notes.append(f"{len(unnamed)} events without a symbol, among those of several, were left out")
        return super().events(notes)

    def made(self, symbol: str, array: NDArray[Any], notes: list[str]) -> Events:
        """Return the events of one symbol, without the aggregated trades whose trades are there one by one.

        Parameters
        ----------
        symbol : str
            Symbol of the events, "" if it is not known.
        array : array
            Events of the symbol.
        notes : list of str
            Notes of the events so far, which are not changed.
        """
        notes, aggregated, kinds = list(notes), array["kind"] == AGGREGATED, set(np.unique(array["kind"]).tolist())
        twice = aggregated & np.isin(array["previous"], array["id"][array["kind"] == Kind.TRADE])
        array["kind"][aggregated], array["previous"][aggregated] = Kind.TRADE, 0
        if count := int(twice.sum()):
            notes.append(f"{count} aggregated trades were left out, as their trades are there one by one")
            array = array[~twice]
        depths = self._depths.get(symbol, {0})
        best = len(depths) == 1 and 0 not in depths
        self._check_parts(symbol, kinds, best if symbol in self._depths else None)
        if best:
            array = _as_snapshots(array)
            notes.append(f"each depthUpdate has {max(depths)} levels a side, so they were read as the best levels")
        return super().made(symbol, array, notes)

    def _check_parts(self, symbol: str, kinds: set[int], best: bool | None) -> None:
        """Raise InputError for what only all messages of a file decide, if this is a later part of the file."""
        facts = self.source.before.setdefault(symbol, set())
        later = bool(facts)
        facts |= {"begun", *(kinds & {AGGREGATED, Kind.TRADE}), *(() if best is None else (f"best levels: {best}",))}
        both = {AGGREGATED, Kind.TRADE} <= facts
        if later and (both or {"best levels: True", "best levels: False"} <= facts):
            what = "trades one by one and aggregated" if both else "changes of its book and the best levels"
            text = f"{self.source.path}: it has {what} of {symbol}, so a run can't read it in parts"
            raise InputError(text, field="data", rule="in parts", value=str(self.source.path))


def _known(time: int) -> int:
    """Return a time. Raises ValueError when it is not known."""
    if not time:
        raise ValueError("neither the message nor the line has a time")
    return time


def _as_snapshots(array: NDArray[Any]) -> NDArray[Any]:
    """Return events in which each message of DEPTH rows is a snapshot of limited depth."""
    rows = np.flatnonzero(array["kind"] == Kind.DEPTH)
    part = array[rows]
    last = np.append((part[1:][["id", "side"]] != part[:-1][["id", "side"]]), True)
    starts = rows[np.append(0, np.flatnonzero(last)[:-1] + 1)]
    snapshots = array.copy()
    snapshots["kind"][rows], snapshots["previous"][rows] = Kind.SNAPSHOT, 0
    return with_clears(snapshots, starts, side=array["side"][starts], price=part["price"][last])
