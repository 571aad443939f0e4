"""Binance USD-M futures: raw WebSocket streams, one message a line, as a rule after the local time of receipt.

Messages are read in both forms, bare and combined (`{"stream": …, "data": …}`): depthUpdate, trade, aggTrade,
bookTicker, markPriceUpdate, and order books of the REST interface. Source: "Websocket Market Streams" of the
exchange's documentation.
"""

from __future__ import annotations

import re

import msgspec

from ..events import MS, Events, Kind, from_columns
from .files import Columns, TextFile

Level = tuple[str, str]

PARTIAL = re.compile(r"@depth(5|10|20)(@|$)")
EXPECTED = 'a local time and a JSON message, such as 1723161255030314667 {"stream":…,"data":{"e":"trade",…}}'


class Message(msgspec.Struct, gc=False):
    """The members that are read, of any message; letters as on the wire."""

    e: str = ""
    E: int = 0
    T: int = 0
    s: str = ""
    U: int = 0
    u: int = 0
    pu: int | None = None
    b: list[Level] | str | None = None
    a: list[Level] | str | int | None = None
    B: str = ""
    A: str = ""
    p: str = ""
    q: str = ""
    X: str = "MARKET"
    m: bool = False
    t: int = 0
    i: str | int = ""
    r: str = ""
    lastUpdateId: int = 0
    bids: list[Level] | None = None
    asks: list[Level] | None = None
    stream: str = ""
    data: Message | None = None


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
        self._decode = msgspec.json.Decoder(Message).decode
        self._last_symbol = ""

    def read_line(self, number: int, line: bytes) -> None:
        """Add the events of one line."""
        stamp = line.partition(b"{")[0]
        text = line[len(stamp) :]
        stamp = stamp.strip()
        try:
            local_ns = to_ns(stamp) if stamp else 0
            message, stream = self._decode(text), ""
            if message.data is not None:
                stream = message.stream
                message = message.data
            if not message.s:
                message.s = stream.partition("@")[0].upper() or self._last_symbol
            columns = self.columns.setdefault(message.s, Columns())
            self._last_symbol = message.s
            self._add(columns, message, local_ns, stream)
        except (ValueError, TypeError, msgspec.MsgspecError):  # the latter covers text that is no JSON
            self.source.damaged(number, line, EXPECTED)

    def _add(self, columns: Columns, message: Message, local_ns: int, stream: str) -> None:
        time = (message.T or message.E) * MS
        local = local_ns or message.E * MS or time
        kind = message.e
        if kind == "trade" or kind == "aggTrade":
            if message.X != "MARKET":  # insurance fund and auto-deleveraging: no trade of the book
                self._leave_out(f"{kind} of type {message.X}")
                return
            identity = message.t or (message.a if isinstance(message.a, int) else 0)
            side = -1 if message.m else 1
            columns.add(time, local, Kind.TRADE, side, float(message.p), float(message.q), identity)
        elif kind == "depthUpdate":
            self._add_depth(columns, message, time, local, PARTIAL.search(stream) is not None)
        elif kind == "bookTicker" or (not kind and message.u and isinstance(message.b, str)):
            time = time or local
            for side, price, quantity in ((1, message.b, message.B), (-1, message.a, message.A)):
                assert isinstance(price, str)
                columns.add(time, local, Kind.QUOTE, side, float(price), float(quantity), message.u)
        elif kind == "markPriceUpdate":
            time = message.E * MS  # its T is the time of the next funding
            columns.add(time, local, Kind.MARK, 0, float(message.p), 0.0)
            if message.i:
                columns.add(time, local, Kind.INDEX, 0, float(message.i), 0.0)
            if message.r:
                columns.add(time, local, Kind.FUNDING, 0, float(message.r), 0.0)
        elif message.lastUpdateId and message.bids is not None and message.asks is not None:
            add_snapshot(columns, time or local, local or time, (message.bids, message.asks), message.lastUpdateId)
        else:
            self._leave_out(kind or "without a type")

    def _add_depth(self, columns: Columns, message: Message, time: int, local: int, partial: bool) -> None:
        if not isinstance(message.b, list) or not isinstance(message.a, list):
            raise TypeError("a depthUpdate has lists of levels")
        if partial:
            add_snapshot(columns, time, local, (message.b, message.a), message.u)
        else:
            previous = message.U - 1 if message.pu is None else message.pu
            columns.add_levels(time, local, Kind.DEPTH, (message.b, message.a), message.u, max(previous, 0))

    def _leave_out(self, what: str) -> None:
        self.unread[what] = self.unread.get(what, 0) + 1

    def events(self) -> dict[str, Events]:
        """Return what was read."""
        notes = [f"{count} messages {what} were left out" for what, count in sorted(self.unread.items())]
        notes += self.source.notes
        where = f"{self.source.path.name} (binance-usdm)"
        return {
            symbol: Events(
                from_columns(columns.fields, len(columns)),
                symbol=symbol,
                exchange="binance-usdm",
                source=where,
                notes=notes,
            )
            for symbol, columns in self.columns.items()
            if len(columns)
        }


def add_snapshot(
    columns: Columns,
    time: int,
    local: int,
    sides: tuple[list[Level], list[Level]],
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


def to_ns(text: bytes | str) -> int:
    """Return a time in s, ms, µs or ns since 1970, told apart by its size, in ns. Raises ValueError for other text."""
    number = int(text)
    for scale in (1_000_000_000, 1_000_000, 1_000, 1):
        if 10**17 <= number * scale < 10**19:
            return number * scale
    raise ValueError(f"{number} is no time since 1970")
