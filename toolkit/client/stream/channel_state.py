"""State of a subscription, built from snapshots and increments: one class for each style of channel.

Each keeps plain wire records and returns, for every message, the items that are new or changed. `row` makes a Python
value of a record: Decimal amounts, UTC datetimes, names instead of numbers.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ...errors import FeedError
from ...protocol.enums import ENUMS
from ...protocol.reads import door, ties
from ...protocol.reads.channel import Channel
from ...protocol.reads.channels.account import FeedOrder, FeedPosition
from ...protocol.reads.feed import AOP_RECORDS, CLOSED_ORDER_STATES, RECENT, RECORDS
from ...protocol.reads.rows import Record as DeclaredRecord
from ...protocol.reads.rows import RecordField
from ...protocol.reads.wire_values import amount, read, whole
from .local_book import LocalBook

Record = dict[str, Any]
KEPT = 10_000
"""Items that an ``append`` channel keeps."""

_ENVELOPE = frozenset({"type", "sequence", "recent"})
_WHOLE = frozenset({"integer", "ms", "s"})


class ChannelState(ABC):
    """State of one subscription.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping
        Fields of the subscription.
    """

    def __init__(self, channel: Channel, fields: Mapping[str, Any]) -> None:
        self.channel = channel
        self.data: Record = {}
        """Members of the last message other than its items: symbol, block, timestamp."""
        self._question = ties.of_subscription(channel, fields)
        self.now_ms: int | None = None
        """The present on the venue's clock, Unix ms, None where it is not known."""
        self.heard_ms = 0
        """When the message came that is applied, on the protocol's clock."""
        self.fresh: dict[tuple[str, ...], int] = {}
        """Names of what the feed has said lately, and when."""
        self.taken = 0
        """Rows that were read."""
        self.dropped = 0
        """Rows that were left out because they could not be read."""
        self.fault = ""
        """Why the last of them was."""
        self.noticed: dict[tuple[str, str], str] = {}
        """(record, field) → the warning to give once, "" for a field that is missing."""

    def drop(self, record: str, why: str) -> None:
        """Count a row, or a message, that can't be read.

        Parameters
        ----------
        record : str
            Name of the record.
        why : str
            The part that could not be read, in words.
        """
        self.dropped += 1
        self.fault = f"{record}: {why}"
        said = f"{self.channel.type}: what can't be read is left out: {self.fault}"
        self.noticed.setdefault((record, why.partition(" ")[0]), said)

    def _admit(self, record: DeclaredRecord, rows: list[Any], expected: Iterable[str] | None = None) -> list[Record]:
        """Return the rows that have all that the record needs, with whole numbers where its keys and times are."""
        admitted, wrong = [], self._wrong(record, rows)
        for at, row in enumerate(rows):
            if why := wrong.get(at, ""):
                self.drop(record.name, why)
                # An older row of the same key would be shown as if it were true still.
                self._forget(row)
                continue
            texts = [one.wire for one in record.needed if one.kind in _WHOLE and type(row[one.wire]) is not int]
            admitted.append({**row, **{name: whole(row[name]) for name in texts}} if texts else row)
            # Every row is looked at, so nothing is built where nothing is missing.
            for name in () if self._filling else door.absent(record, row, expected):
                self.noticed.setdefault((record.name, name), "")
        for said in ties.unknown_names(record, admitted):
            self.noticed.setdefault((record.name, said), said)
        self.taken += len(admitted)
        return admitted

    def _wrong(self, record: DeclaredRecord, rows: list[Any]) -> dict[int, str]:
        """Return the numbers of the rows that can't be taken, and why."""
        found = {at: why for at, row in enumerate(rows) if (why := door.fault(record, row))}
        objects = [{} if at in found else row for at, row in enumerate(rows)]
        question = self._question._replace(now_ms=self.now_ms)
        found = dict(reversed([*ties.faults(record, objects, question)])) | found
        while wrong := ties.contradiction(record, objects, question):
            objects[wrong[0]], found[wrong[0]] = {}, wrong[1]
        return found

    def _forget(self, row: Mapping[str, Any]) -> None:
        """Take what a row that can't be read replaces out of the state, where what is shown would not be true."""
        return

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Replace the state. Return the new items.

        Parameters
        ----------
        data : mapping
            Data of the message.
        merge : bool
            Whether the client requested the snapshot, after a break for instance: known items remain valid then.
        """
        return self.increment(data, sequenced=True)

    @abstractmethod
    def increment(self, data: Mapping[str, Any], *, sequenced: bool) -> list[Record]:
        """Apply one increment. Return the items that are new or changed.

        Parameters
        ----------
        data : mapping
            Data of the message.
        sequenced : bool
            Whether the message has a sequence. One without may be a repeated one.
        """

    def fill(self, data: Mapping[str, Any]) -> list[Record]:
        """Add what the Info API has, in the form of a snapshot. Return the new items.

        Its rows have fewer fields than those of the feed, so missing fields are not reported.

        Parameters
        ----------
        data : mapping
            Data of the Info API, in the form of a snapshot.
        """
        self._filling = True
        try:
            return self._fill(data)
        finally:
            self._filling = False

    def correct(self, data: Mapping[str, Any]) -> list[Record]:
        """Take what the Info API says in place of what the feed said, unless that is fresh. Return the changed items.

        Parameters
        ----------
        data : mapping
            Data of the Info API, in the form of a snapshot.
        """
        self._filling, dropped = True, self.dropped
        try:
            # Nothing is corrected by an answer that can't be read itself.
            read = self._read(data)
            return [] if self.dropped > dropped else self._correct(read)
        finally:
            self._filling = False

    def _read(self, data: Mapping[str, Any]) -> dict[str, list[Record]]:
        return {"": self._items(data)}

    def _correct(self, told: Mapping[str, list[Record]]) -> list[Record]:
        return []

    _filling = False

    def _fill(self, data: Mapping[str, Any]) -> list[Record]:
        return self.snapshot(data, merge=True)

    def add_hole(self) -> None:
        """Note that items may be missing. Only a log counts them."""
        return

    @abstractmethod
    def records(self) -> list[Record]:
        """Return all items, oldest or first key first."""

    def _items(self, data: Mapping[str, Any]) -> list[Record]:
        """Return the items of a message: a list under the channel's key, or one record in the data itself.

        Raises FeedError for something else in their place. Rows that can't be read are left out and counted.
        """
        declared = RECORDS[self.channel.type]
        held = data[self.channel.key] if self.channel.key else None
        # Most channels name their items. Candles lie in `data` itself.
        if held is not None:
            return self._admit(declared, _listed(held), self.channel.columns or None)
        record = {name: value for name, value in data.items() if name not in _ENVELOPE}
        # Before the first candle, a message has nothing of it. `recent` has those before it, from the queries.
        begun = any(one.wire in record for one in declared.needed)
        return self._admit(declared, [*_listed(data.get("recent", [])), *([record] if begun else [])])


class BookState(ChannelState):
    """The window of an order book. A snapshot replaces it, an increment sets the changed levels.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping
        Fields of the subscription.
    """

    def __init__(self, channel: Channel, fields: Mapping[str, Any]) -> None:
        super().__init__(channel, fields)
        self.book = LocalBook()

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        self._set_data(data)
        # A snapshot that is crossed has mixed two moments. The topic asks for another.
        self.book.snapshot(*_levels(data["book"]))
        return [data["book"]]

    def increment(self, data: Mapping[str, Any], *, sequenced: bool) -> list[Record]:
        self._set_data(data)
        self.book.apply(*_levels(data["book"]))
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
    """The newest value: each message replaces it.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping
        Fields of the subscription.
    """

    def __init__(self, channel: Channel, fields: Mapping[str, Any]) -> None:
        super().__init__(channel, fields)
        self.value: Record = {}

    def increment(self, data: Mapping[str, Any], *, sequenced: bool) -> list[Record]:
        self.data = {name: value for name, value in data.items() if name not in (*_ENVELOPE, self.channel.key)}
        dropped, items = self.dropped, self._items(data)
        if not items and self.dropped == dropped and (self.channel.key or self.value):
            raise FeedError("no record")  # without it the one before would be shown as the newest
        self.value = items[-1] if items else self.value
        return items

    def records(self) -> list[Record]:
        return [self.value] if self.value else []


class KeyedState(ChannelState):
    """Items by key, in order of first appearance.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping
        Fields of the subscription.
    """

    def __init__(self, channel: Channel, fields: Mapping[str, Any]) -> None:
        super().__init__(channel, fields)
        self.items: dict[tuple[Any, ...], Record] = {}

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Replace all items. Candles older than those of the snapshot are kept.

        Parameters
        ----------
        data : mapping
            Data of the message.
        merge : bool
            Whether the client requested the snapshot, after a break for instance: known items remain valid then.
        """
        fresh = {self._key(item): item for item in self._items(data)}
        # A snapshot of candles holds the recent ones only (its items lie in `data` itself); the older ones remain true.
        if self.channel.key == "" and fresh:
            first = min(fresh)
            fresh = {key: item for key, item in self.items.items() if key < first} | fresh
        new = [item for key, item in fresh.items() if self.items.get(key) != item]
        self.items = fresh
        return new

    def increment(self, data: Mapping[str, Any], *, sequenced: bool) -> list[Record]:
        items = self._items(data)
        for item in items:
            self.items[self._key(item)] = item
        # The oldest key goes first: dicts keep the order of insertion.
        while len(self.items) > KEPT:
            del self.items[next(iter(self.items))]
        return items

    def records(self) -> list[Record]:
        return list(self.items.values())

    def _forget(self, row: Mapping[str, Any]) -> None:
        with contextlib.suppress(KeyError, TypeError):
            del self.items[self._key(row)]

    def _key(self, item: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(item[name] for name in self.channel.identity)


class AccountState(ChannelState):
    """Wallets, open orders, positions and settings of an account, each by its key. `records` are the wallets.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping
        Fields of the subscription.
    """

    def __init__(self, channel: Channel, fields: Mapping[str, Any]) -> None:
        super().__init__(channel, fields)
        self.parts: dict[str, dict[tuple[Any, ...], Record]] = {part: {} for part in AOP_RECORDS}

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        # An order or position that a snapshot leaves out has ended.
        self.fresh |= {(part, *key): self.heard_ms for part, items in self.parts.items() for key in items}
        self.parts = {part: {} for part in AOP_RECORDS}
        [aop] = self.increment(data, sequenced=True)
        for part, rows in aop.items():  # of two states of one item only an increment knows the later one
            if twice := ties.repetition(AOP_RECORDS[part], rows):
                self.drop(AOP_RECORDS[part].name, twice[1])
        return [aop]

    def increment(self, data: Mapping[str, Any], *, sequenced: bool) -> list[Record]:
        """Replace the items of this message. Remove closed orders and empty positions.

        Parameters
        ----------
        data : mapping
            Data of the message.
        sequenced : bool
            Whether the message has a sequence. One without may be a repeated one.
        """
        aop = self._read(data)
        for part, items in aop.items():
            for item in items:
                key = self._key(part, item)
                self.fresh[part, *key] = self.heard_ms
                if _is_closed(part, item):
                    self.parts[part].pop(key, None)
                else:
                    self.parts[part][key] = item
        return [aop]

    def _read(self, data: Mapping[str, Any]) -> dict[str, list[Record]]:
        aop: dict[str, list[Record]] = {}
        for part in AOP_RECORDS:
            if data["aop"].get(part) is not None:
                rows = _listed(data["aop"][part])
                ended = [row for row in rows if part == "orders" and self._has_ended(row)]
                rest = [row for row in rows if row not in ended] if ended else rows
                aop[part] = [*self._admit(AOP_RECORDS[part], rest), *ended]
        return aop

    def _correct(self, told: Mapping[str, list[Record]]) -> list[Record]:
        changed: dict[str, list[Record]] = {}
        # The Info API has no settings but those of the positions.
        for part in ("accounts", "orders", "positions"):
            held, listed = self.parts[part], {self._key(part, item): item for item in told.get(part, ())}
            for key in [*listed, *(held.keys() - listed.keys())]:
                before, now = held.get(key, {}), listed.get(key, {})
                closed = not now or _is_closed(part, now)
                if (part, *key) in self.fresh or (not _differs(AOP_RECORDS[part], before, now) if before else closed):
                    continue
                changed.setdefault(part, []).append({**before, **now})
                if closed:
                    del held[key]
                else:
                    held[key] = {**before, **now}
        return [changed] if changed else []

    @staticmethod
    def _key(part: str, item: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(_key_text(item.get(name)) for name in AOP_RECORDS[part].identity)

    def _has_ended(self, row: Record) -> bool:
        # Of an order that has ended only the id is needed. One that is FILLED and has a remainder has not.
        record = AOP_RECORDS["orders"]
        wrong = next(ties.faults(record, [row], self._question), ties.contradiction(record, [row], self._question))
        return _is_closed("orders", row) and bool(row.get(_ORDER_ID)) and wrong is None

    def records(self) -> list[Record]:
        return list(self.parts["accounts"].values())


class AppendState(ChannelState):
    """Items in the order they happened, the newest of them.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping
        Fields of the subscription.
    kept : int, optional
        Number of items that are kept (default: `KEPT`).
    """

    def __init__(self, channel: Channel, fields: Mapping[str, Any], kept: int = KEPT) -> None:
        super().__init__(channel, fields)
        self.items: deque[Record] = deque(maxlen=kept)
        self._filled: set[tuple[str, ...]] = set()
        """Names of the records that the last fill added."""
        self.holes = 0
        """Breaks that were longer than the recent items of the next snapshot: items between may be missing."""

    def snapshot(self, data: Mapping[str, Any], *, merge: bool) -> list[Record]:
        """Append the recent items after their overlap with the known ones. Return those that were not known.

        Without an overlap the known items stay if the recent ones happened later (a hole). Otherwise the venue's
        history has changed (a revert, another venue) and the known items that contradict it are removed.

        Parameters
        ----------
        data : mapping
            Data of the message.
        merge : bool
            Whether the client requested the snapshot, after a break for instance: known items remain valid then.
        """
        dropped, recent = self.dropped, self._items(data)
        known = self._overlap(recent)
        if recent and not known:
            known = self._rewind(recent)
        elif not recent and not merge and self.dropped == dropped:
            self.items.clear()
        self.items.extend(recent[known:])
        return recent[known:]

    def increment(self, data: Mapping[str, Any], *, sequenced: bool) -> list[Record]:
        items = self._items(data)
        if not sequenced and items:
            # Without sequences a repetition shows only in its content, and the venue repeats recent items only.
            latest = list(islice(reversed(self.items), RECENT))
            items = [item for item in items if item not in latest and not self._was_filled(item)]
        self.items.extend(items)
        self.fresh |= dict.fromkeys(map(self._name, items), self.heard_ms)
        return items

    def _correct(self, told: Mapping[str, list[Record]]) -> list[Record]:
        """Add and mend records as the Info API lists them, and take out those of its time that it does not list."""
        listed = {self._name(item): item for item in told[""]}
        # It lists the latest ones. What is older can't be judged.
        since_ms = min(map(self._time, listed.values()), default=0) if len(listed) >= RECENT else 0
        kept, record = {}, self.channel.record
        for item in self.items:
            name = self._name(item)
            same = name in listed and not _differs(record, item, listed[name])
            if same or name in self.fresh or self._time(item) < since_ms:
                kept[name] = item
        new = [item for name, item in listed.items() if name not in kept]
        if gone := len(self.items) - len(kept):
            said = f"{self.channel.type}: {gone} records of the feed are not so in the venue's list, and are left out"
            self.noticed[record.name, "not listed"] = said
        if new or gone:
            self.items = deque(sorted([*kept.values(), *new], key=self._time), maxlen=self.items.maxlen)
        return new

    def _fill(self, data: Mapping[str, Any]) -> list[Record]:
        """Add the records that are not known yet, each in the place its time gives it."""
        known = {self._name(item) for item in self.items}
        new = [item for item in self._items(data) if self._name(item) not in known]
        if new:
            # The sort is stable: items of one millisecond keep the order in which they came.
            self.items = deque(sorted([*self.items, *new], key=self._time), maxlen=self.items.maxlen)
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
        fields = self.channel.record.by_wire

        def text(name: str) -> str:
            enum = fields[name].enum if name in fields else None
            return _key_text(item.get(name) if enum is None else ENUMS[enum].text(item.get(name)))

        return tuple(map(text, self.channel.identity or item))

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
        """Remove the known items that `recent` contradicts. Return how many of `recent` are still known."""
        while self.items and self.items[-1] != recent[0] and not self._follows(recent[0]):
            self.items.pop()
        if self.items and self.items[-1] == recent[0]:
            return 1
        self.add_hole()
        return 0

    def _follows(self, item: Record) -> bool:
        """Return whether an item happened after every known item."""
        return self._time(item) > self._time(self.items[-1])

    def _time(self, item: Record) -> int:
        """Return the time of an item, or the height of its block, 0 where its record has neither."""
        record = self.channel.record
        block = record.by_column.get("block")
        name = record.time or (block.wire if block else "")
        return int(item.get(name) or 0)


def _levels(book: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the levels of both sides as text. Raises ValueError for what is no number."""
    sides = book["bids"], book["asks"]
    if not all(isinstance(levels, list) for levels in sides):
        raise ValueError("the sides of an order book are lists")
    if not all(type(px) is str is type(qty) for levels in sides for px, qty in levels):
        sides = tuple([(_plain(px), _plain(qty)) for px, qty in levels] for levels in sides)  # type: ignore[assignment]
    return sides


def _plain(value: object) -> str:
    """Return a number of an order book as plain text."""
    found = None
    with contextlib.suppress(ValueError):
        found = None if isinstance(value, bool) else amount(value)
    if found is None:
        raise ValueError(f"{value!r} in an order book is not a plain decimal number")
    return value if isinstance(value, str) else format(found, "f")


def _listed(items: object) -> list[Record]:
    """Return the rows of a part: a list of records, or one record. Raises FeedError for anything else."""
    rows = [items] if isinstance(items, dict) else items
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FeedError("an item is not a record")
    return rows


def _differs(record: DeclaredRecord, item: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two forms of a record differ in a field that both have. Nothing differs from each record."""
    names = [(one, item.get(one.wire), other.get(one.wire)) for one in record.fields]
    return not other or any(
        _value(one, mine) != _value(one, theirs)
        for one, mine, theirs in names
        if mine is not None and theirs is not None
    )


def _key_text(value: object) -> str:
    """Return a part of a key as text: venues write ids as numbers or as text, addresses in either case."""
    return str(value).lower()


def _is_closed(part: str, item: Mapping[str, Any]) -> bool:
    if part == "orders":
        return item.get(_ORDER_STATUS) in CLOSED_ORDER_STATES
    return part == "positions" and all(_is_zero(item.get(name)) for name in _SIZES)


_ORDER_ID, _ORDER_STATUS = FeedOrder.declared.wires("order_id", "status")
_SIZES = FeedPosition.declared.wires("long_size", "short_size")


def _is_zero(size: object) -> bool:
    return not str(size).strip("-0.")


_STATES: dict[str, type[ChannelState]] = {
    "levels": BookState,
    "latest": LatestState,
    "keyed": KeyedState,
    "append": AppendState,
}


def state_of(channel: Channel, fields: Mapping[str, Any]) -> ChannelState:
    """Return an empty state for a subscription's channel and fields.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping
        Fields of the subscription.
    """
    return AccountState(channel, fields) if channel.parts else _STATES[channel.style](channel, fields)


class FeedRow(dict[str, Any]):
    """One record by column name, also as attributes: Decimal amounts, UTC datetimes, names instead of numbers."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}. There are {', '.join(self)}") from None


def row(record: DeclaredRecord, raw: dict[str, Any]) -> FeedRow:
    """Return one record by column name: amounts as Decimal, times as UTC datetime, enum numbers as names.

    Every column is there. One that the message leaves out is None.

    Parameters
    ----------
    record : DeclaredRecord
        Declaration of the record.
    raw : dict
        The record by wire name.
    """
    return FeedRow({field.column: _value(field, raw.get(field.wire)) for field in record.fields})


def _value(field: RecordField, value: object) -> Any:
    """Return a value as the type of its field, None for a value that can't be read."""
    try:
        found = read(field, value)
    except ValueError:
        return None
    return moment(found, 1) if field.kind in ("ms", "s") else found


def moment(value: Any, unit_ms: int) -> datetime | None:
    """Return a Unix time as UTC, None for one that is out of range.

    Parameters
    ----------
    value : object
        The time, or anything else.
    unit_ms : int
        Its unit in ms: 1, or 1000 for seconds.
    """
    try:
        # Seconds and milliseconds apart: as one float, a millisecond would not always come out exact.
        seconds, milliseconds = divmod(int(value) * unit_ms, 1000)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
