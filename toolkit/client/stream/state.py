"""What a subscription has told so far: a value for each style of channel, built from snapshots and increments.

Each keeps plain records as they came over the wire and answers, for every message, which items are new or changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any

from ...errors import FeedError
from ...protocol.reads.feed import AOP_KEYS, CLOSED_ORDER_STATES, Channel
from .book import LocalBook

Record = dict[str, Any]
KEPT = 10_000
"""Items that an ``append`` channel remembers."""

_ENVELOPE = frozenset({"type", "sequence", "recent"})


class ChannelState(ABC):
    """What a subscription has told so far."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.data: Record = {}
        """Members of the last message beside its items: symbol, block, timestamp."""

    @abstractmethod
    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Begin anew from `data`; return the items to show as new.

        `merge` is True when the snapshot was asked for after a break: what was known before still counts.
        """

    @abstractmethod
    def increment(self, data: Mapping[str, Any]) -> list[Record]:
        """Apply one increment; return the items that are new or changed."""

    @abstractmethod
    def records(self) -> list[Record]:
        """Return all items, oldest or first key first."""

    def _items(self, data: Mapping[str, Any]) -> list[Record]:
        """Return the items of a message: a list under the channel's key, or one record in the data itself.

        Raises FeedError for one that is no record.
        """
        items = self._found(data)
        if not all(isinstance(item, dict) for item in items):
            raise FeedError("an item that is no record")
        return items

    def _found(self, data: Mapping[str, Any]) -> list[Record]:
        held = data[self.channel.key] if self.channel.key else None
        if isinstance(held, list):
            return held
        if isinstance(held, dict):
            return [held]
        record = {name: value for name, value in data.items() if name not in _ENVELOPE}
        named = all(name in record for name in self.channel.identity or self.channel.record[:1])
        return [*data.get("recent", ()), *([record] if named else [])]


class BookState(ChannelState):
    """The window of an order book."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.book = LocalBook()

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Take the whole window."""
        self._note(data)
        self.book.snapshot(data["book"]["bids"], data["book"]["asks"])
        return [data["book"]]

    def increment(self, data: Mapping[str, Any]) -> list[Record]:
        """Set the changed levels."""
        self._note(data)
        self.book.apply(data["book"]["bids"], data["book"]["asks"])
        return [data["book"]]

    def records(self) -> list[Record]:
        """Return the levels, each with its side and its place from the best."""
        sides = (("BUY", self.book.bids.top()), ("SELL", self.book.asks.top()))
        return [
            {"side": side, "level": place, "price": price, "quantity": quantity}
            for side, levels in sides
            for place, (price, quantity) in enumerate(levels, 1)
        ]

    def _note(self, data: Mapping[str, Any]) -> None:
        for name, value in data.items():
            if name != "book":
                self.data[name] = value


class LatestState(ChannelState):
    """One value, the newest."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.value: Record = {}

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Take the value."""
        return self.increment(data)

    def increment(self, data: Mapping[str, Any]) -> list[Record]:
        """Take the value."""
        self.data = {name: value for name, value in data.items() if name not in (*_ENVELOPE, self.channel.key)}
        items = self._items(data)
        self.value = items[-1] if items else {}
        return items

    def records(self) -> list[Record]:
        """Return the value as the only record."""
        return [self.value] if self.value else []


class KeyedState(ChannelState):
    """Items by what names them."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.items: dict[tuple[Any, ...], Record] = {}

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Take these items; candles that are older than the snapshot's are kept."""
        fresh = {self._key(item): item for item in self._items(data)}
        if self.channel.key == "" and fresh:
            first = min(fresh)
            fresh = {key: item for key, item in self.items.items() if key < first} | fresh
        new = [item for key, item in fresh.items() if self.items.get(key) != item]
        self.items = fresh
        return new

    def increment(self, data: Mapping[str, Any]) -> list[Record]:
        """Replace the items of this message."""
        items = self._items(data)
        for item in items:
            self.items[self._key(item)] = item
        while len(self.items) > KEPT:
            del self.items[next(iter(self.items))]
        return items

    def records(self) -> list[Record]:
        """Return the items in order of first appearance."""
        return list(self.items.values())

    def _key(self, item: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(item[name] for name in self.channel.identity)


class AccountState(ChannelState):
    """Wallets, open orders, positions and settings of an account, each by what names it."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.parts: dict[str, dict[tuple[Any, ...], Record]] = {part: {} for part in AOP_KEYS}

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Take all parts."""
        self.parts = {part: {} for part in AOP_KEYS}
        return self.increment(data)

    def increment(self, data: Mapping[str, Any]) -> list[Record]:
        """Replace what this message names; closed orders and empty positions go."""
        aop = data["aop"]
        for part, names in AOP_KEYS.items():
            held = self.parts[part]
            for item in aop.get(part, ()):
                key = tuple(item.get(name) for name in names)
                if _is_gone(part, item):
                    held.pop(key, None)
                else:
                    held[key] = item
        return [aop]

    def records(self) -> list[Record]:
        """Return the wallets."""
        return list(self.parts["accounts"].values())


class AppendState(ChannelState):
    """Items in the order they happened, the newest KEPT of them."""

    def __init__(self, channel: Channel, kept: int = KEPT) -> None:
        super().__init__(channel)
        self.items: deque[Record] = deque(maxlen=kept)
        self.holes = 0
        """Breaks after which items may be missing between what was known and what the venue still told."""

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Join the recent items to what is known where they overlap; return those that were not known.

        Without an overlap the known items stay if these can only have happened later (a hole), otherwise they go:
        the venue's past is not what it was (a revert, another venue).
        """
        recent = self._items(data)
        known = self._overlap(recent)
        if recent and not known:
            known = self._rewind(recent)
        elif not recent and not merge:
            self.items.clear()
        self.items.extend(recent[known:])
        return recent[known:]

    def increment(self, data: Mapping[str, Any]) -> list[Record]:
        """Add the new items."""
        items = self._items(data)
        self.items.extend(items)
        return items

    def records(self) -> list[Record]:
        """Return the items, oldest first."""
        return list(self.items)

    def _overlap(self, recent: list[Record]) -> int:
        """Return how many of `recent` are already the last known items."""
        known = list(self.items)[-len(recent) :] if recent else []
        for size in range(len(known), 0, -1):
            if known[-size:] == recent[:size]:
                return size
        return 0

    def _rewind(self, recent: list[Record]) -> int:
        """Drop what these items contradict; return how many of them are known then."""
        if self.items and self._follows(recent[0]):
            self.holes += 1
            return 0
        while self.items and self.items[-1] != recent[0]:
            self.items.pop()
        return 1 if self.items else 0

    def _follows(self, item: Record) -> bool:
        """Tell whether an item can only have happened after everything that is known."""
        clock = next((name for name in _CLOCKS if name in item), "")
        return bool(clock) and _after(item[clock], self.items[-1].get(clock))


_CLOCKS = ("transactionTime", "closedTime", "timestamp", "blockHeight")


def _after(later: Any, earlier: Any) -> bool:
    return isinstance(later, int) and isinstance(earlier, int) and later > earlier


def _is_gone(part: str, item: Mapping[str, Any]) -> bool:
    if part == "orders":
        return item.get("ordStatus") in CLOSED_ORDER_STATES
    if part == "positions":
        return _is_nothing(item.get("longSize")) and _is_nothing(item.get("shortSize"))
    return False


def _is_nothing(size: Any) -> bool:
    return size is None or not str(size).strip("-0.")


def state_of(channel: Channel) -> ChannelState:
    """Return an empty state for a channel."""
    if channel.type == "aopState":
        return AccountState(channel)
    kinds: dict[str, type[ChannelState]] = {
        "levels": BookState,
        "latest": LatestState,
        "keyed": KeyedState,
        "append": AppendState,
    }
    return kinds[channel.style](channel)
