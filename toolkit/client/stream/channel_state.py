"""State of a subscription, built from snapshots and increments: one class for each style of channel.

Each keeps plain wire records and returns, for every message, the items that are new or changed. `row` makes a Python
value of a record: Decimal amounts, UTC datetimes, names instead of numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from ...errors import FeedError
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import hash_text
from ...protocol.reads.feed import AOP_KEYS, CLOSED_ORDER_STATES, RECENT, Channel
from ...protocol.reads.rows import CURRENCIES, RecordField
from ...protocol.reads.rows import Record as DeclaredRecord
from .local_book import LocalBook

Record = dict[str, Any]
KEPT = 10_000
"""Items that an ``append`` channel keeps."""

_ENVELOPE = frozenset({"type", "sequence", "recent"})


class ChannelState(ABC):
    """State of one subscription."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.data: Record = {}
        """Members of the last message other than its items: symbol, block, timestamp."""

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Replace the state by `data`; return the new items.

        `merge` is True when the client requested the snapshot, after a break for instance: known items remain valid.
        """
        return self.increment(data)

    @abstractmethod
    def increment(self, data: Mapping[str, Any], *, sequenced: bool = True) -> list[Record]:
        """Apply one increment; return the items that are new or changed.

        `sequenced` is False for a message without a sequence, which may be a repeated one.
        """

    def fill(self, data: Mapping[str, Any]) -> list[Record]:
        """Add what the Info API has, in the form of a snapshot; return the new items."""
        return self.snapshot(data, merge=True)

    def add_hole(self) -> None:
        """Note that items may be missing; only a log counts them."""
        return

    @abstractmethod
    def records(self) -> list[Record]:
        """Return all items, oldest or first key first."""

    def _items(self, data: Mapping[str, Any]) -> list[Record]:
        """Return the items of a message: a list under the channel's key, or one record in the data itself.

        Raises FeedError for an item that is not a record.
        """
        held = data[self.channel.key] if self.channel.key else None
        if held is not None:
            return _listed(held)
        record = {name: value for name, value in data.items() if name not in _ENVELOPE}
        identity = self.channel.identity
        named = bool(identity) and all(name in record for name in identity)
        return _listed([*data.get("recent", ()), *([record] if named else [])])


class BookState(ChannelState):
    """The window of an order book. A snapshot replaces it, an increment sets the changed levels."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.book = LocalBook()

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        self._set_data(data)
        self.book.snapshot(data["book"]["bids"], data["book"]["asks"])
        if self.book.crossed:
            raise FeedError("a crossed book")
        return [data["book"]]

    def increment(self, data: Mapping[str, Any], *, sequenced: bool = True) -> list[Record]:
        self._set_data(data)
        self.book.apply(data["book"]["bids"], data["book"]["asks"])
        return [data["book"]]

    def records(self) -> list[Record]:
        """Return the levels, each with its side and its rank from the best."""
        sides = (("BUY", self.book.bids.top()), ("SELL", self.book.asks.top()))
        return [
            {"side": side, "level": level, "price": price, "quantity": quantity}
            for side, levels in sides
            for level, (price, quantity) in enumerate(levels, 1)
        ]

    def _set_data(self, data: Mapping[str, Any]) -> None:
        for name, value in data.items():
            if name != "book":
                self.data[name] = value


class LatestState(ChannelState):
    """The newest value: each message replaces it."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.value: Record = {}

    def increment(self, data: Mapping[str, Any], *, sequenced: bool = True) -> list[Record]:
        self.data = {name: value for name, value in data.items() if name not in (*_ENVELOPE, self.channel.key)}
        items = self._items(data)
        self.value = items[-1] if items else {}
        return items

    def records(self) -> list[Record]:
        return [self.value] if self.value else []


class KeyedState(ChannelState):
    """Items by key, in order of first appearance."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.items: dict[tuple[Any, ...], Record] = {}

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Replace all items; candles older than those of the snapshot are kept."""
        fresh = {self._key(item): item for item in self._items(data)}
        # A snapshot of candles holds the recent ones only (its items lie in `data` itself); the older ones remain true.
        if self.channel.key == "" and fresh:
            first = min(fresh)
            fresh = {key: item for key, item in self.items.items() if key < first} | fresh
        new = [item for key, item in fresh.items() if self.items.get(key) != item]
        self.items = fresh
        return new

    def increment(self, data: Mapping[str, Any], *, sequenced: bool = True) -> list[Record]:
        items = self._items(data)
        for item in items:
            self.items[self._key(item)] = item
        # The oldest key goes first: dicts keep the order of insertion.
        while len(self.items) > KEPT:
            del self.items[next(iter(self.items))]
        return items

    def records(self) -> list[Record]:
        return list(self.items.values())

    def _key(self, item: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(item[name] for name in self.channel.identity)


class AccountState(ChannelState):
    """Wallets, open orders, positions and settings of an account, each by its key; `records` are the wallets."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.parts: dict[str, dict[tuple[Any, ...], Record]] = {part: {} for part in AOP_KEYS}

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        self.parts = {part: {} for part in AOP_KEYS}
        return self.increment(data)

    def increment(self, data: Mapping[str, Any], *, sequenced: bool = True) -> list[Record]:
        """Replace the items of this message; remove closed orders and empty positions."""
        aop = {part: _listed(data["aop"].get(part)) for part in AOP_KEYS if data["aop"].get(part) is not None}
        for part, items in aop.items():
            held = self.parts[part]
            for item in items:
                key = tuple(_key_text(item.get(name)) for name in AOP_KEYS[part])
                if _is_closed(part, item):
                    held.pop(key, None)
                else:
                    held[key] = item
        return [aop]

    def records(self) -> list[Record]:
        return list(self.parts["accounts"].values())


class AppendState(ChannelState):
    """Items in the order they happened, the newest KEPT of them."""

    def __init__(self, channel: Channel, kept: int = KEPT) -> None:
        super().__init__(channel)
        self.items: deque[Record] = deque(maxlen=kept)
        self._filled: set[tuple[str, ...]] = set()
        """Names of the records that the last fill added."""
        self.holes = 0
        """Breaks that were longer than the recent items of the next snapshot: items between may be missing."""

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Append the recent items after their overlap with the known ones; return those that were not known.

        Without an overlap the known items stay if the recent ones happened later (a hole). Otherwise the venue's
        history has changed (a revert, another venue) and the known items that contradict it are removed.
        """
        recent = self._items(data)
        known = self._overlap(recent)
        if recent and not known:
            known = self._rewind(recent)
        elif not recent and not merge:
            self.items.clear()
        self.items.extend(recent[known:])
        return recent[known:]

    def increment(self, data: Mapping[str, Any], *, sequenced: bool = True) -> list[Record]:
        items = self._items(data)
        if not sequenced and items:
            latest = list(islice(reversed(self.items), RECENT))
            items = [item for item in items if item not in latest and not self._was_filled(item)]
        self.items.extend(items)
        return items

    def fill(self, data: Mapping[str, Any]) -> list[Record]:
        """Add the records that are not known yet, each in the place its time gives it."""
        known = {self._name(item) for item in self.items}
        new = [item for item in self._items(data) if self._name(item) not in known]
        if new:
            self.items = deque(sorted([*self.items, *new], key=_time), maxlen=self.items.maxlen)
        self._filled = {self._name(item) for item in new}
        return new

    def add_hole(self) -> None:
        """Count a break, unless there was nothing before it."""
        self.holes += bool(self.items)

    def _was_filled(self, item: Record) -> bool:
        """Return whether a message repeats, once, what the Info API had before it arrived."""
        name = self._name(item)
        known = name in self._filled
        self._filled.discard(name)
        return known

    def _name(self, item: Record) -> tuple[str, ...]:
        """Return what distinguishes a record from others, as text: feed and Info API may write numbers differently."""
        return tuple(_key_text(item.get(name)) for name in self.channel.identity or item)

    def records(self) -> list[Record]:
        return list(self.items)

    def _overlap(self, recent: list[Record]) -> int:
        """Return how many of `recent` are already the last known items."""
        # The longest overlap wins: equal records may follow each other, and a shorter one would add them twice.
        known = list(self.items)[-len(recent) :] if recent else []
        for size in range(len(known), 0, -1):
            if known[-size:] == recent[:size]:
                return size
        return 0

    def _rewind(self, recent: list[Record]) -> int:
        """Remove the known items that `recent` contradicts; return how many of `recent` are still known."""
        if self.items and self._follows(recent[0]):
            self.holes += 1
            return 0
        while self.items and self.items[-1] != recent[0]:
            self.items.pop()
        return 1 if self.items else 0

    def _follows(self, item: Record) -> bool:
        """Return whether an item happened after every known item."""
        field = next((name for name in _TIME_FIELDS if name in item), "")
        later, earlier = item.get(field), self.items[-1].get(field)
        return isinstance(later, int) and isinstance(earlier, int) and later > earlier


def _listed(items: Any) -> list[Record]:
    """Return the rows of a part: a list of records, or one record. Raises FeedError for anything else."""
    rows = [items] if isinstance(items, dict) else items
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FeedError("an item is not a record")
    return rows


def _key_text(value: Any) -> str:
    """Return a part of a key as text: venues write ids as numbers or as text, addresses in either case."""
    return str(value).lower()


def _time(item: Mapping[str, Any]) -> int:
    return next((int(item[name]) for name in _TIME_FIELDS if name in item), 0)


_TIME_FIELDS = ("transactionTime", "closedTime", "timestamp", "blockHeight")


def _is_closed(part: str, item: Mapping[str, Any]) -> bool:
    if part == "orders":
        return item.get("ordStatus") in CLOSED_ORDER_STATES
    if part == "positions":
        return _is_zero(item.get("longSize")) and _is_zero(item.get("shortSize"))
    return False


def _is_zero(size: Any) -> bool:
    return size is None or not str(size).strip("-0.")


_STATES: dict[str, type[ChannelState]] = {
    "levels": BookState,
    "latest": LatestState,
    "keyed": KeyedState,
    "append": AppendState,
}


def state_of(channel: Channel) -> ChannelState:
    """Return an empty state for a channel."""
    return AccountState(channel) if channel.type == "aopState" else _STATES[channel.style](channel)


class FeedRow(dict[str, Any]):
    """One record by column name, also as attributes: Decimal amounts, UTC datetimes, names instead of numbers."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}; there are {', '.join(self)}") from None


def row(record: DeclaredRecord, raw: dict[str, Any]) -> FeedRow:
    """Return one record by column name: amounts as Decimal, times as UTC datetime, enum numbers as names.

    Every column is there; one that the message leaves out is None.
    """
    return FeedRow({field.column: _value(field, raw.get(field.wire)) for field in record.fields})


def _value(field: RecordField, value: Any) -> Any:
    """Return a value as the type of its field, None for a value that can't be read."""
    if value is None:
        return None
    if field.enum:
        return ENUMS[field.enum].text(value)
    try:
        match field.kind:
            case "price" | "quantity" | "money" | "ratio":
                amount = Decimal(str(value))
                return amount if amount.is_finite() else None
            case "ms" | "s":
                return moment(value, 1000 if field.kind == "s" else 1)
            case "integer" | "id":
                return int(value) if str(value).lstrip("-").isdigit() else value
            case "hash":
                return hash_text(str(value))
            case "currency":
                return CURRENCIES.get(str(value), str(value))
    except (TypeError, ValueError, ArithmeticError):
        return None
    return value


def moment(value: Any, unit_ms: int) -> datetime | None:
    """Return a Unix time of `unit_ms` milliseconds a unit as UTC, None for one that is out of range."""
    try:
        # Seconds and milliseconds apart: as one float, a millisecond would not always come out exact.
        seconds, milliseconds = divmod(int(value) * unit_ms, 1000)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
