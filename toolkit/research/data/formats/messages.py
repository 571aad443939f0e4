"""Files of an exchange's messages, one a line: what all of these formats share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from numpy.typing import NDArray

from ..event_array import Kind, from_columns
from ..events import Events
from .text_files import TextFile, to_ns

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
BookSide = list[tuple[str | float, str | float]]
"""(price, quantity) of each level of one side, as in messages."""
INFINITE = float("inf")


class EventColumns:
    """Events as they are read: one list for each field, so that appending is cheap."""

    def __init__(self) -> None:
        self.fields: dict[str, list[Any]] = {
            name: [] for name in ("exchange_ns", "local_ns", "kind", "side", "price", "quantity", "id", "previous")
        }

    def add(
        self, time: int, local: int, kind: int, side: int, price: float, quantity: float, id: int = 0, previous: int = 0
    ) -> None:
        """Append one event.

        Parameters
        ----------
        time : int
            Time at the exchange, Unix ns.
        local : int
            Time of receipt, Unix ns.
        kind : int
            Number of the kind, see `Kind`.
        side : int
            +1 bid or buy, −1 ask or sell, 0 neither.
        price : float
            Price, or rate of a funding event.
        quantity : float
            Base units, 0 for a price without one.
        id : int, optional
            Id of the trade, order or book update (default: 0, none).
        previous : int, optional
            Id of the update before (default: 0, not known).

        Raises
        ------
        ValueError
            For a price or quantity that is not finite, and an id beyond 64 bits.
        """
        if not -INFINITE < price + quantity < INFINITE or id >> 63:
            raise ValueError("a price or quantity is not finite, or an id too large")
        row = (time, local, kind, side, price, quantity, id, previous)
        for values, value in zip(self.fields.values(), row, strict=True):
            values.append(value)

    def add_levels(
        self, time: int, local: int, kind: int, sides: tuple[BookSide, BookSide], id: int = 0, previous: int = 0
    ) -> None:
        """Append the levels of one message, bids first.

        Parameters
        ----------
        time : int
            Time at the exchange, Unix ns.
        local : int
            Time of receipt, Unix ns.
        kind : int
            Number of the kind, see `Kind`.
        sides : tuple of (BookSide, BookSide)
            Bids and asks as (price, quantity), best first.
        id : int, optional
            Id of the book update (default: 0, none).
        previous : int, optional
            Id of the update before (default: 0, not known).

        Raises
        ------
        ValueError
            For what is no finite number.
        """
        bids, asks = sides
        fields, count = self.fields, len(bids) + len(asks)
        prices = [float(price) for price, _ in bids] + [float(price) for price, _ in asks]
        quantities = [float(quantity) for _, quantity in bids] + [float(quantity) for _, quantity in asks]
        if not -INFINITE < sum(prices) + sum(quantities) < INFINITE:
            raise ValueError("a price or quantity is not finite")
        fields["exchange_ns"] += [time] * count
        fields["local_ns"] += [local] * count
        fields["kind"] += [kind] * count
        fields["side"] += [1] * len(bids) + [-1] * len(asks)
        fields["price"] += prices
        fields["quantity"] += quantities
        fields["id"] += [id] * count
        fields["previous"] += [previous] * count

    def add_snapshot(
        self, time: int, local: int, sides: tuple[BookSide, BookSide], id: int, *, whole: bool = False
    ) -> None:
        """Append a snapshot: a CLEAR of what it covers, then its levels.

        A book of limited depth says nothing about the levels beyond its last one, so those stay.

        Parameters
        ----------
        time : int
            Time at the exchange, Unix ns.
        local : int
            Time of receipt, Unix ns.
        sides : tuple of (BookSide, BookSide)
            Bids and asks as (price, quantity), best first.
        id : int
            Id of the book update, 0 for none.
        whole : bool, optional
            Whether it is the whole book, so that it covers everything (default: False).
        """
        for side, levels in zip((1, -1), sides, strict=True):
            if levels or whole:
                self.add(time, local, Kind.CLEAR, side, 0.0 if whole else float(levels[-1][0]), 0.0, id)
        self.add_levels(time, local, Kind.SNAPSHOT, sides, id)

    def truncate(self, length: int) -> None:
        """Forget what was appended last.

        Parameters
        ----------
        length : int
            Number of events to keep.
        """
        for values in self.fields.values():
            del values[length:]

    def __len__(self) -> int:
        return len(self.fields["kind"])


class MessageReader(ABC):
    """Reads a file of messages into events. A format says in `add` what a message holds.

    Parameters
    ----------
    source : TextFile
        File to read.
    """

    exchange = ""
    expected = ""
    """The description of a correct line, for the error of a damaged one."""

    def __init__(self, source: TextFile) -> None:
        self.source = source
        self.columns: dict[str, EventColumns] = {}
        """Events by symbol, "" for those whose messages name none."""
        self.unread: dict[str, int] = {}
        """Kind of message that was left out → how many of them."""

    def read(self) -> dict[str, Events]:
        """Return the events of the file by symbol."""
        for number, line in self.source.lines():
            before = {symbol: len(columns) for symbol, columns in self.columns.items()}
            try:
                local_ns, text = _stamped(line)
                self.add(text, local_ns)
            except (ValueError, TypeError, msgspec.MsgspecError):  # the latter covers text that is no JSON
                for symbol, columns in self.columns.items():
                    columns.truncate(before.get(symbol, 0))
                self.source.damaged(number, line, self.expected)
        self.source.close_notes()
        notes = [f"{count} messages {what} were left out" for what, count in sorted(self.unread.items())]
        return self.events([*notes, *self.source.notes])

    @abstractmethod
    def add(self, text: bytes, local_ns: int) -> None:
        """Add the events of one message.

        Parameters
        ----------
        text : bytes
            The message, without the time before it.
        local_ns : int
            Time of receipt, Unix ns, 0 if it is not known.
        """

    def events(self, notes: list[str]) -> dict[str, Events]:
        """Return what was read, by symbol.

        Parameters
        ----------
        notes : list of str
            Notes on what the reader left out or repaired, one sentence each.
        """
        arrays = {symbol: from_columns(each.fields, len(each)) for symbol, each in self.columns.items()}
        return {symbol: self.made(symbol, array, notes) for symbol, array in arrays.items() if len(array)}

    def made(self, symbol: str, array: NDArray[Any], notes: list[str]) -> Events:
        """Return the events of one symbol.

        Parameters
        ----------
        symbol : str
            Symbol of the events, "" if it is not known.
        array : array
            Events of the symbol.
        notes : list of str
            Notes on what the reader left out or repaired, one sentence each.
        """
        where = f"{self.source.path.name} ({self.exchange})"
        return Events(array, symbol=symbol, exchange=self.exchange, source=where, notes=notes)

    def columns_of(self, symbol: str) -> EventColumns:
        """Return the columns of a symbol's events.

        Parameters
        ----------
        symbol : str
            Symbol of the events, "" if it is not known.
        """
        return self.columns.setdefault(symbol, EventColumns())

    def add_prices(self, symbol: str, time: int, local: int, prices: Mapping[Kind, str | float]) -> None:
        """Append the mark, index or funding prices that are given.

        Parameters
        ----------
        symbol : str
            Symbol of the events, "" if it is not known.
        time : int
            Time at the exchange, Unix ns.
        local : int
            Time of receipt, Unix ns.
        prices : mapping of Kind to str or float
            Price by its kind, "" for none.
        """
        for kind, given in prices.items():
            if given != "":
                self.columns_of(symbol).add(time, local, kind, 0, float(given), 0.0)

    def leave_out(self, what: str) -> None:
        """Count a message that is not read.

        Parameters
        ----------
        what : str
            Description of the kind of message, for the note.
        """
        self.unread[what] = self.unread.get(what, 0) + 1


def _stamped(line: bytes) -> tuple[int, bytes]:
    """Return the local time before a JSON message (ns, 0: none) and the message. Raises ValueError for other text."""
    at = line.find(b"{")
    if line[max(at - 1, 0) : at] == b"[":
        at -= 1
    if at <= 0:
        return 0, line
    return to_ns(line[:at].strip(b" \t,;:|").decode()), line[at:]
