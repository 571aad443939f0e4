"""Sources of the account channels: state, order events, fills, closed positions, funding and user events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...protocol.hexbytes import to_checksummed
from ...protocol.reads.feed import AOP_KEYS, RECENT
from ..model.history import History, Log, OrderEvent, Transaction
from .account_records import (
    acknowledgement_record,
    closed_record,
    fill_record,
    funding_record,
    order_event_record,
    order_record,
    position_record,
    settings_record,
    wallet_record,
)
from .batches import Batch, Data, FeedSource, in_chunks

if TYPE_CHECKING:
    from ..engine.core import Core

T = TypeVar("T")
Rows = dict[tuple[Any, ...], Data]
"""Rows of one part of the state, by the fields that name an item."""


class AccountSource(FeedSource):
    """Wallets, open orders, positions and settings; an increment holds the rows that changed since the last one."""

    def __init__(self, core: Core, address: str) -> None:
        self._address = address
        self._last_sent: dict[str, Rows] = {}
        self._orders: dict[int, Data] = {}
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Read the whole account."""
        self._last_sent = self._read(core)
        account = core.state.accounts.get(self._address)
        orders = account.orders if account else {}
        self._orders = {number: order_record(core, order) for number, order in orders.items()}

    def snapshot(self, core: Core) -> Data:
        """Return all parts."""
        parts = {part: list(rows.values()) for part, rows in self._last_sent.items()}
        return self._data(core, {**parts, "orders": list(self._orders.values())})

    def collect(self, batch: Batch) -> list[Data]:
        """Return one increment when something changed."""
        if not self._may_have_changed(batch):
            return []
        core, changes = batch.core, dict[str, list[Data]]()
        for part, new in self._read(core).items():
            old = self._last_sent[part]
            changed = [self._closed_position(core, key, old[key]) for key in old if key not in new]
            changed += [row for key, row in new.items() if old.get(key) != row]
            if changed:
                changes[part] = changed
            self._last_sent[part] = new
        if self._address in batch.orders:
            orders = self._changed_orders(core, {event.order_id for event in batch.orders[self._address]})
            if orders:
                changes["orders"] = orders
        return [self._data(core, changes)] if changes else []

    def _may_have_changed(self, batch: Batch) -> bool:
        if self._address in batch.accounts or self._address in batch.orders:
            return True
        account = batch.core.state.accounts.get(self._address)
        return account is not None and any(code in batch.prices for code in account.positions)

    def _changed_orders(self, core: Core, with_events: set[int]) -> list[Data]:
        """Return the orders that ended or changed.

        Orders without an event are compared only if they reduce a position: those shrink with it, without an event.
        """
        live, last_sent = core.state.accounts[self._address].orders, self._orders
        ended = [number for number in last_sent if number not in live]
        changed = [self._ended_order(core, number, last_sent.pop(number)) for number in ended]
        for number, order in live.items():
            if number in with_events or order.reducing or number not in last_sent:
                row = order_record(core, order)
                if last_sent.get(number) != row:
                    last_sent[number] = row
                    changed.append(row)
        return changed

    def _read(self, core: Core) -> dict[str, Rows]:
        account = core.state.accounts.get(self._address)
        if account is None:
            return {"accounts": {}, "positions": {}, "settings": {}}
        positions = account.positions.values()
        held = [position for position in positions if position.long.size or position.short.size]
        return {
            "accounts": _keyed("accounts", [wallet_record(core, account)]),
            "positions": _keyed("positions", [position_record(core, account, position) for position in held]),
            "settings": _keyed("settings", [settings_record(core, account, position) for position in positions]),
        }

    def _closed_position(self, core: Core, key: tuple[Any, ...], old: Data) -> Data:
        """Return the last row of a position that was closed: with its results, or only without size."""
        account = core.state.accounts.get(self._address)
        position = account.positions.get(key[-1]) if account else None
        if account is not None and position is not None:
            return position_record(core, account, position)
        return {**old, "longSize": "0", "shortSize": "0"}

    def _ended_order(self, core: Core, number: int, old: Data) -> Data:
        """Return the last row of an order that ended, from the history."""
        log = core.state.history.orders
        newest_first = (log.records[at] for at in reversed(log.by_account.get(self._address, ())))
        found = (order_record(core, order) for order in newest_first if order.id == number)
        return next(found, {**old, "ordStatus": "CANCELED"})

    def _data(self, core: Core, parts: Mapping[str, list[Data]]) -> Data:
        return {"userAddr": to_checksummed(self._address), "timestamp": core.state.time, "aop": dict(parts)}


def _keyed(part: str, rows: Sequence[Data]) -> Rows:
    return {tuple(row[name] for name in AOP_KEYS[part]): row for row in rows}


class _LogChannel(NamedTuple):
    """An append-only channel of an account's records."""

    key: str
    """Member of the data that holds the items."""
    recent: Callable[[History, str], Sequence[Any]]
    """Return the last records of an address, oldest first."""
    new: Callable[[Batch, str], Sequence[Any]]
    """Return the records of an address that a command added."""
    row: Callable[[Core, Any], Data]


def _last(log: Log[T], address: str, positions: Mapping[str, list[int]] | None = None) -> list[T]:
    """Return the last records of an address, oldest first; `positions` are those of a part of the log."""
    found = (log.by_account if positions is None else positions).get(address, [])
    return [log.records[at] for at in found[-RECENT:]]


_LOG_CHANNELS: Mapping[str, _LogChannel] = {
    "orderHist": _LogChannel(
        "orderHists",
        lambda history, address: _last(history.order_events, address),
        lambda batch, address: batch.orders.get(address, ()),
        order_event_record,
    ),
    "userFilled": _LogChannel(
        "userFills",
        lambda history, address: _last(history.order_events, address, history.fills),
        lambda batch, address: [event for event in batch.orders.get(address, ()) if event.exec_id],
        fill_record,
    ),
    "closedPosition": _LogChannel(
        "closedPositions",
        lambda history, address: _last(history.closed_positions, address),
        lambda batch, address: batch.closed.get(address, ()),
        closed_record,
    ),
    "userFunding": _LogChannel(
        "funding",
        lambda history, address: _last(history.funding_payments, address),
        lambda batch, address: batch.funding.get(address, ()),
        funding_record,
    ),
}


class LogSource(FeedSource):
    """Append-only records of one account."""

    def __init__(self, channel: _LogChannel, address: str) -> None:
        self._channel = channel
        self._address = address

    def snapshot(self, core: Core) -> Data:
        """Return the last records."""
        return self._data(core, self._channel.recent(core.state.history, self._address))

    def collect(self, batch: Batch) -> list[Data]:
        """Return the new records."""
        return [self._data(batch.core, part) for part in in_chunks(self._channel.new(batch, self._address))]

    def _data(self, core: Core, items: Sequence[Any]) -> Data:
        rows = [self._channel.row(core, item) for item in items]
        return {"userAddr": to_checksummed(self._address), self._channel.key: rows}


class UserEvents(FeedSource):
    """Order events, acknowledged actions and notices, as the userEvent channel names them."""

    def __init__(self, core: Core, address: str) -> None:
        self._address = address
        self._recent: deque[Data] = deque(maxlen=RECENT)
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Start with the order events and actions of the history; notices are not kept there."""
        events = [(one.time, 0, _order_event(core, one)) for one in self._last_orders(core)]
        events += [(one.time, 1, _acknowledgement(one)) for one in self._last_actions(core)]
        events.sort(key=lambda event: event[:2])
        self._recent.clear()
        self._recent.extend(event for _, _, event in events)

    def snapshot(self, core: Core) -> Data:
        """Return the last events."""
        return self._data(core, list(self._recent))

    def collect(self, batch: Batch) -> list[Data]:
        """Return the events of a command."""
        core, address = batch.core, self._address
        events = [_order_event(core, event) for event in batch.orders.get(address, ())]
        events += [_acknowledgement(done) for done in batch.transactions if done.address == address]
        events += [{"eventType": notice.kind, "event": [notice.data]} for notice in batch.notices.get(address, ())]
        self._recent.extend(events)
        return [self._data(core, part) for part in in_chunks(events)]

    def _last_orders(self, core: Core) -> list[OrderEvent]:
        return _last(core.state.history.order_events, self._address)

    def _last_actions(self, core: Core) -> list[Transaction]:
        return _last(core.state.history.transactions, self._address)

    def _data(self, core: Core, events: Sequence[Data]) -> Data:
        return {"userAddr": to_checksummed(self._address), "timestamp": core.state.time, "events": events}


def _order_event(core: Core, event: OrderEvent) -> Data:
    return {"eventType": "perpOrder", "event": [order_event_record(core, event)]}


def _acknowledgement(done: Transaction) -> Data:
    return {"eventType": "actionAck", "event": [acknowledgement_record(done)]}


def account_source(core: Core, channel: str, address: str) -> FeedSource:
    """Return the source of an account channel."""
    if channel == "aopState":
        return AccountSource(core, address)
    if channel == "userEvent":
        return UserEvents(core, address)
    return LogSource(_LOG_CHANNELS[channel], address)
