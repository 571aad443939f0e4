"""Binance USD-M futures: raw WebSocket streams, one message a line, as a rule after the local time of receipt.

Messages are read in both forms, bare and combined (`{"stream": …, "data": …}`), one or a list of them: depthUpdate
(changes, or the best 5, 10 or 20 levels), trade, aggTrade, bookTicker, markPriceUpdate, and order books of the REST
interface. The spot market's are read as well. Source: "Websocket Market Streams" of the exchange's documentation.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..events import MS, Events, Kind, empty, from_columns
from .files import Columns, Levels, TextFile, stamped, to_ns

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Number = str | int | float

AGGREGATED = 255
"""Kind of an aggregated trade while a file is read, with the id of its first trade as `previous`: the same trades may
be there one by one."""
PARTIAL = re.compile(r"@depth(5|10|20)(@|$)")
EXPECTED = 'a local time and a JSON message, such as 1723161255030314667 {"stream":…,"data":{"e":"trade",…}}'


class BinanceMessage(msgspec.Struct, gc=False):
    """The members that are read, of any message; letters as on the wire."""

    e: str = ""
    E: Whole = 0
    T: Whole = 0
    s: str = ""
    U: Whole = 0
    u: Whole = 0
    pu: Annotated[int, msgspec.Meta(ge=-1, le=2**63 - 1)] | None = None
    b: Levels | Number | None = None
    a: Levels | Number | None = None
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
    bids: Levels | None = None
    asks: Levels | None = None
    stream: str = ""
    data: BinanceMessage | list[BinanceMessage] | None = None


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of a file by symbol ("" when it names none)."""
    reader = _Reader(source)
    for number, line in source.lines():
        reader.read_line(number, line)
    return reader.events()


class _Reader:
    def __init__(self, source: TextFile) -> None:
        self.source = source
        self.columns: dict[str, Columns] = {}
        self.unread: dict[str, int] = {}
        self._decode = msgspec.json.Decoder(BinanceMessage | list[BinanceMessage]).decode
        self._depths: dict[str, set[int]] = {}
        """Levels a side of the depthUpdates without a stream's name, by symbol; 0 for those that are changes."""

    def read_line(self, number: int, line: bytes) -> None:
        """Add the events of one line."""
        before = {symbol: len(columns) for symbol, columns in self.columns.items()}
        try:
            local_ns, text = stamped(line)
            decoded, stream = self._decode(text), ""
            if not isinstance(decoded, list) and decoded.data is not None:
                decoded, stream = decoded.data, decoded.stream
            for message in decoded if isinstance(decoded, list) else (decoded,):
                if not message.s:
                    message.s = self._unnamed(stream)
                self._add(self.columns.setdefault(message.s, Columns()), message, local_ns, stream)
        except (ValueError, TypeError, msgspec.MsgspecError):  # the latter covers text that is no JSON
            for symbol, columns in self.columns.items():
                columns.truncate(before.get(symbol, 0))
            self.source.damaged(number, line, EXPECTED)

    def _unnamed(self, stream: str) -> str:
        """Return the symbol of a message without one: its stream's, else the file's so far, "" if that is not known."""
        if stream and not stream.startswith("!"):
            return stream.partition("@")[0].upper()
        named = [symbol for symbol, columns in self.columns.items() if symbol and len(columns)]
        return named[0] if len(named) == 1 else ""

    def _add(self, columns: Columns, message: BinanceMessage, local_ns: int, stream: str) -> None:
        kind = message.e
        time = message.E if kind == "markPriceUpdate" else message.T or message.E  # its T is the next funding's time
        if time:
            time = time * MS if 10**12 <= time < 9 * 10**12 else to_ns(time)
        local = local_ns or (to_ns(message.E) if message.E else time)
        time = time or local
        if kind == "trade" or kind == "aggTrade":
            if message.X != "MARKET":  # insurance fund and auto-deleveraging: no trade of the book
                self._leave_out(f"{kind} of type {message.X}")
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
            for given, of in ((message.p, Kind.MARK), (message.i, Kind.INDEX), (message.r, Kind.FUNDING)):
                if given != "" or of == Kind.MARK:
                    columns.add(_known(time), local, of, 0, float(given), 0.0)
        elif message.lastUpdateId and message.bids is not None and message.asks is not None:
            add_snapshot(columns, _known(time), local, (message.bids, message.asks), message.lastUpdateId)
        else:
            self._leave_out(kind or "without a type")

    def _add_depth(self, columns: Columns, message: BinanceMessage, time: int, local: int, stream: str) -> None:
        bids, asks = message.b, message.a
        if not isinstance(bids, list) or not isinstance(asks, list):
            raise TypeError("a depthUpdate has lists of levels")
        if PARTIAL.search(stream):
            add_snapshot(columns, time, local, (bids, asks), message.u)
            return
        previous = message.U - 1 if message.pu is None else message.pu
        columns.add_levels(time, local, Kind.DEPTH, (bids, asks), message.u, max(previous, 0))
        if not stream:
            best = len(bids) == len(asks) in (5, 10, 20) and all(float(total) for _, total in (*bids, *asks))
            self._depths.setdefault(message.s, set()).add(len(bids) if best else 0)

    def _leave_out(self, what: str) -> None:
        self.unread[what] = self.unread.get(what, 0) + 1

    def events(self) -> dict[str, Events]:
        """Return what was read."""
        shared = [f"{count} messages {what} were left out" for what, count in sorted(self.unread.items())]
        shared += self.source.notes
        where = f"{self.source.path.name} (binance-usdm)"
        found = {}
        unnamed = self.columns.pop("", None)
        filled = [symbol for symbol, columns in self.columns.items() if len(columns)]
        if unnamed and not filled:
            self.columns[""] = unnamed
        elif unnamed and len(filled) == 1:  # they came before the first message with a symbol
            for name, values in self.columns[filled[0]].fields.items():
                values[:0] = unnamed.fields[name]
        elif unnamed:
            shared.append(f"{len(unnamed)} events without a symbol, among those of several, were left out")
        for symbol, columns in self.columns.items():
            array, notes = from_columns(columns.fields, len(columns)), list(shared)
            aggregated = array["kind"] == AGGREGATED
            twice = aggregated & np.isin(array["previous"], array["id"][array["kind"] == Kind.TRADE])
            array["kind"][aggregated], array["previous"][aggregated] = Kind.TRADE, 0
            if count := int(twice.sum()):
                notes.append(f"{count} aggregated trades were left out, as their trades are there one by one")
                array = array[~twice]
            depths = self._depths.get(symbol, {0})
            if len(depths) == 1 and 0 not in depths:
                array = _as_snapshots(array)
                notes.append(f"each depthUpdate has {max(depths)} levels a side, so they were read as the best levels")
            if len(array):
                found[symbol] = Events(array, symbol=symbol, exchange="binance-usdm", source=where, notes=notes)
        return found


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
    clears = empty(len(starts))
    for name in ("exchange_ns", "local_ns", "side", "id"):
        clears[name] = array[name][starts]
    clears["kind"], clears["price"] = Kind.CLEAR, part["price"][last]
    snapshots = array.copy()
    snapshots["kind"][rows], snapshots["previous"][rows] = Kind.SNAPSHOT, 0
    places = np.concatenate([starts, np.arange(len(array))])
    return np.concatenate([clears, snapshots])[np.argsort(places, kind="stable")]


def add_snapshot(
    columns: Columns,
    time: int,
    local: int,
    sides: tuple[Levels, Levels],
    identity: int,
    *,
    whole: bool = False,
) -> None:
    """Append a snapshot: a CLEAR of what it covers (everything when it is the `whole` book), then its levels.

    A book of limited depth says nothing about the levels beyond its last one, so those stay.
    """
    for side, levels in zip((1, -1), sides, strict=True):
        if levels or whole:
            columns.add(time, local, Kind.CLEAR, side, 0.0 if whole else float(levels[-1][0]), 0.0, identity)
    columns.add_levels(time, local, Kind.SNAPSHOT, sides, identity)
