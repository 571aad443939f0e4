"""The kinds of live objects: logs, values, tables, candles, order books, parts of an account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from ...coverage import coverage, merged
from ...protocol.reads.channel import Channel
from ...protocol.reads.channels.account import FeedPosition
from ...protocol.reads.feed import AOP_RECORDS
from .channel_state import AccountState, AppendState, BookState, FeedRow, KeyedState, moment
from .client import FeedClient
from .live import Live
from .updates import FeedEvent

if TYPE_CHECKING:
    import pandas as pd


class LiveLog(Live):
    """Records in the order they happen: trades, fills, blocks. Iteration yields each as a FeedRow."""

    _yields_items = True

    @property
    def last(self) -> FeedRow | None:
        """The newest record, None when there is none."""
        return next(iter(self.rows(1)), None)

    @property
    def holes(self) -> int:
        """Breaks after which records may be missing: they were longer than the history the venue sends again."""
        return self._log.holes

    @property
    def _log(self) -> AppendState:
        state = self._topic.data
        assert isinstance(state, AppendState)
        return state

    def _raw(self, count: int | None = None) -> Sequence[dict[str, Any]]:
        # Taken from the newest end: indexing a deque of thousands from the other end would walk through all of it.
        items = self._log.items
        return items if count is None else list(islice(reversed(items), count))[::-1]


class LiveValue(Live):
    """One value that changes: `value` is a FeedRow."""

    @property
    def value(self) -> FeedRow:
        """The current value, empty before the first data."""
        rows = self.rows()
        return rows[-1] if rows else FeedRow()

    def __getitem__(self, name: str) -> Any:
        """Return one member of the value by its column name."""
        self._wait_for_data(None)
        return self.value[name]

    def _summary(self) -> str:
        shown = list(self.value.items())[:4]
        return ", ".join(f"{name} {value}" for name, value in shown)


class LiveTable(Live):
    """Records by key: tickers by symbol, candles by start, positions by symbol, orders by id."""

    _key = "symbol"

    def __getitem__(self, key: object) -> FeedRow:
        """Return the record of a key. Raises KeyError when there is none."""
        self._wait_for_data(None)
        for one in self.rows():
            if one[self._key] == key:
                return one
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return any(one[self._key] == key for one in self.rows())


class LiveCandles(LiveTable):
    """Candles of one interval, oldest first. The last one still changes."""

    _key = "time"

    @property
    def last(self) -> FeedRow | None:
        """The candle that is still forming, None before the first trade."""
        return next(iter(self.rows(1)), None)

    def _raw(self, count: int | None = None) -> Sequence[dict[str, Any]]:
        state = self._topic.data
        assert isinstance(state, KeyedState)
        return [state.items[key] for key in sorted(state.items)]

    def _cover(self, frame: pd.DataFrame) -> None:
        starts = frame["time"].astype("datetime64[ms, UTC]").astype("int64").tolist()
        lengths = frame["interval"].fillna(0).astype("int64").tolist()  # a damaged row proves nothing
        spans = [(start, start + length * 1000) for start, length in zip(starts, lengths, strict=True)]
        proven = merged(spans)
        # What lies between was not sent: it may have come during a break of the feed.
        between = [(before[1], after[0]) for before, after in pairwise(proven)]
        frame.attrs["coverage"] = coverage(proven, between, forming=min(1, len(spans)))


class LiveBook(Live):
    """The best levels of a product's order book."""

    @property
    def _book(self) -> BookState:
        self._client.shell.pump()
        state = self._topic.data
        assert isinstance(state, BookState)
        return state

    @property
    def symbol(self) -> str:
        """Symbol of the product."""
        return str(self._topic.fields["symbol"])

    @property
    def depth(self) -> int:
        """Levels a side."""
        return int(self._topic.fields["depth"])

    def bids(self, count: int | None = None) -> list[tuple[Decimal, Decimal]]:
        """Return the best bids as (price, quantity), best first.

        Parameters
        ----------
        count : int, optional
            Number of levels (default: all).

        Returns
        -------
        list of tuple of Decimal
            Prices in USDC and quantities in base units.
        """
        return self._levels("bids", count)

    def asks(self, count: int | None = None) -> list[tuple[Decimal, Decimal]]:
        """Return the best asks as (price, quantity), best first.

        Parameters
        ----------
        count : int, optional
            Number of levels (default: all).

        Returns
        -------
        list of tuple of Decimal
            Prices in USDC and quantities in base units.
        """
        return self._levels("asks", count)

    def _levels(self, side: str, count: int | None) -> list[tuple[Decimal, Decimal]]:
        state = self._book
        # The feed's thread applies increments in several steps; between them the two sides do not fit together.
        with self._client.condition:
            levels = getattr(state.book, side).top(self.depth if count is None else count)
        return [(Decimal(price), Decimal(quantity)) for price, quantity in levels]

    @property
    def best_bid(self) -> Decimal | None:
        """Best bid, None when there is none."""
        return next((price for price, _ in self.bids(1)), None)

    @property
    def best_ask(self) -> Decimal | None:
        """Best ask, None when there is none."""
        return next((price for price, _ in self.asks(1)), None)

    @property
    def mid(self) -> Decimal | None:
        """Middle of best bid and best ask, None while a side is empty."""
        state = self._book
        with self._client.condition:
            return state.book.mid

    @property
    def spread(self) -> Decimal | None:
        """Best ask less best bid, None while a side is empty."""
        state = self._book
        with self._client.condition:
            return state.book.spread

    @property
    def time(self) -> datetime | None:
        """The venue's time of the last update, UTC."""
        timestamp = self._book.data.get("timestamp")
        return moment(timestamp, 1) if isinstance(timestamp, int) else None

    def _items(self, event: FeedEvent) -> Sequence[dict[str, Any]]:
        return [
            {"side": side, "price": price, "quantity": quantity}
            for change in event.items
            for side, key in (("BUY", "bids"), ("SELL", "asks"))
            for price, quantity in change[key]
        ]

    def _summary(self) -> str:
        return f"bid {self.best_bid}, ask {self.best_ask}, {len(self)} levels"


class LiveAccount(LiveTable):
    """One part of an account: wallets, open orders, positions or leverage settings. Made by `session.stream`.

    Parameters
    ----------
    client : FeedClient
        Client of the feed.
    channel : Channel
        Declaration of the channel.
    fields : dict
        Fields of the subscription.
    part : str
        Name of the part in the data.
    """

    def __init__(self, client: FeedClient, channel: Channel, fields: dict[str, Any], *, part: str) -> None:
        self._part = part
        self._key = {"accounts": "currency", "orders": "order_id"}.get(part, "symbol")
        super().__init__(client, channel, fields, record=AOP_RECORDS[part])

    def _raw(self, count: int | None = None) -> Sequence[dict[str, Any]]:
        state = self._topic.data
        assert isinstance(state, AccountState)
        return self._flattened(list(state.parts[self._part].values()))

    def _is_relevant(self, event: FeedEvent) -> bool:
        return event.kind == "snapshot" or any(self._part in item for item in event.items)

    def _items(self, event: FeedEvent) -> Sequence[dict[str, Any]]:
        records = [one for item in event.items for one in item.get(self._part, ())]
        return self._flattened(records)

    def _flattened(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [flat for one in records for flat in _leverages(one)] if self._part == "settings" else records

    @property
    def value(self) -> FeedRow:
        """The first record, which is the only one of a wallet, empty before the first data."""
        rows = self.rows()
        return rows[0] if rows else FeedRow()


def _leverages(setting: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one record for each leverage of a setting.

    It is published as the list `["ONE_WAY", "10"]`. Pairs in a list, maps and a bare number are read as well.
    """
    symbol: dict[str, Any] = {name: setting[name] for name in (_SYMBOL, _CODE) if name in setting}
    return [{**symbol, _MODE: mode, "leverage": value} for mode, value in _pairs(setting.get("leverage"), setting)]


_SYMBOL, _MODE, _CODE = FeedPosition.declared.wires("symbol", "position_mode", "symbol_code")


def _pairs(given: object, setting: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return (position mode or None, leverage) for every form in which leverages come."""
    if isinstance(given, Mapping):
        return [(given.get(_MODE), given["leverage"])] if "leverage" in given else list(given.items())
    items = given if isinstance(given, list) else [] if given is None else [given]
    if any(isinstance(one, list | Mapping) for one in items):
        return [pair for one in items for pair in _pairs(one, setting)]
    if len(items) == 1:
        return [(setting.get(_MODE), items[0])]
    # A flat list alternates between modes and leverages.
    return list(zip(items[::2], items[1::2], strict=True)) if len(items) % 2 == 0 else []
