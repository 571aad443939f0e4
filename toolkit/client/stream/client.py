"""The link between the feed's protocol and its live objects: one lock, one order of updates, one shell.

Updates are applied and callbacks called by one thread at a time, in the order of the messages. Threads that wait are
woken through one condition.

Records that a channel does not show are read from the Info API (`history_reader`): earlier ones, and those lost in a
break. Their rows get the feed's names, and are then processed like a message. Source: docs/published.md, "Info API".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from ...errors import FeedError
from ...protocol.reads.channel import ACCOUNT, Channel
from ...protocol.reads.channels.account import ORDER_HIST, USER_FILLED, USER_FUNDING, FeedPosition
from ...protocol.reads.channels.market import CANDLE
from ...protocol.reads.door import Door
from ...protocol.reads.feed import AOP_RECORDS, RECENT
from ...protocol.reads.info.funding import FUNDING_PAYMENTS
from ...protocol.reads.info.orders import FILLS, ORDER_EVENTS, OrderState
from ...protocol.reads.info.positions import Position
from ...protocol.reads.rows import Record
from ..io.flow import Flow
from ..reads.reading import OPEN_STATUSES, InfoSession, Reader, fetch_rows
from .protocol import FeedProtocol
from .updates import FeedEvent, Topic

Callback = Callable[[], None]
History = Callable[[Topic], Mapping[str, Any] | None]


class Shell(Protocol):
    """Moves the bytes between the protocol and the venue."""

    manual: bool
    """True when the venue's clock is manual: nothing arrives until the venue is advanced."""

    def now_ms(self) -> int:
        """Return the time of the protocol's clock."""

    def wake(self) -> None:
        """Let the protocol connect or send."""

    def is_reader_thread(self) -> bool:
        """Return whether the calling thread is the one that reads messages and calls callbacks."""

    def pump(self) -> None:
        """Read what has arrived, if that does not happen on another thread."""

    def stop(self) -> None:
        """Close the connection within a bounded time. Stopping again does nothing."""


class Listener(Protocol):
    """A live object, as the client sees it. `subscribe` sets its topic before the first event reaches it."""

    _topic: Topic

    def close(self) -> None:
        """End the subscription."""

    def _on_event(self, event: FeedEvent) -> list[Callback]:
        """Take an event, under the lock. Return what to call after the lock is released."""


class FeedClient:
    """The subscriptions of one connection and their listeners.

    Its `condition` has the lock that guards protocol and live objects, and is notified after every event. The creator
    of the client sets its `shell`.

    Parameters
    ----------
    protocol : FeedProtocol
        The protocol of the connection.
    history : History, optional
        Reads from the Info API what a topic's messages do not show (default: None, there is no Info API).
    """

    shell: Shell
    observe: Callable[[FeedEvent], None] | None = None
    """Is given each update after the live objects, before their callbacks are called."""

    def __init__(self, protocol: FeedProtocol, history: History | None = None) -> None:
        self.protocol = protocol
        self.history = history
        self.door = Door()
        """The session's door, once the stream has set it."""
        protocol.fills_history = history is not None
        self.condition = threading.Condition(threading.RLock())
        self._listeners: dict[Topic, list[Listener]] = {}
        self.closed = False
        self._taken: list[FeedEvent] = []
        self._calls: list[Callback] = []

    def subscribe(self, listener: Listener, channel: Channel, fields: Mapping[str, Any]) -> None:
        """Subscribe a listener.

        Parameters
        ----------
        listener : Listener
            The live object.
        channel : Channel
            Declaration of the channel.
        fields : mapping
            Fields of the subscription.

        Raises
        ------
        MalformedRequest
            For wrong fields.
        FeedError
            Once closed.
        """
        with self.condition:
            if self.closed:  # by another thread
                raise FeedError(f"{channel.type}: the stream was closed meanwhile")
            topic = listener._topic = self.protocol.subscribe(channel, fields, self.shell.now_ms())
            self._listeners.setdefault(topic, []).append(listener)
        self.shell.wake()

    def unsubscribe(self, listener: Listener, topic: Topic) -> None:
        """Remove a listener. The last one ends the subscription.

        Parameters
        ----------
        listener : Listener
            The live object.
        topic : Topic
            Topic of the subscription.
        """
        with self.condition:
            listeners = self._listeners.get(topic, [])
            if listener not in listeners:
                return
            listeners.remove(listener)
            if not listeners:
                del self._listeners[topic]
            self.protocol.unsubscribe(topic, self.shell.now_ms())
            self.condition.notify_all()
        self.shell.wake()

    def take_events(self) -> None:
        """Pass new events to the listeners, whose callbacks `dispatch` calls. The caller has the lock."""
        for event in self.protocol.events():
            self._taken.append(event)
            for listener in self._listeners.get(event.topic, ()):
                self._calls += listener._on_event(event)

    def dispatch(self) -> bool:
        """Pass new events to the listeners, then call their callbacks. Return whether there were any events."""
        with self.condition:
            self.take_events()
            events, callbacks = self._taken, self._calls
            self._taken, self._calls = [], []
            if not events:
                return False
            self.condition.notify_all()
        for event in events if self.observe is not None else ():
            self.observe(event)  # type: ignore[misc]
        # Without the lock: a callback may take as long as it likes, and may wait for a thread that needs the lock.
        for callback in callbacks:
            callback()
        return True

    def take_fills(self) -> list[Topic]:
        """Return the topics whose history is to be read now."""
        with self.condition:
            return self.protocol.take_fills(self.shell.now_ms())

    def read_history(self, topic: Topic) -> Callback:
        """Read a topic's history, without the lock. Return what applies the result, for the reader's thread.

        Parameters
        ----------
        topic : Topic
            Topic of the subscription.
        """
        data, failure = None, ""
        try:
            data = self.history(topic) if self.history is not None else None
        except Exception as error:  # whatever went wrong is the topic's `reason`; the feed continues without
            failure = f"earlier records are not known: {error}"

        def apply() -> None:
            with self.condition:
                try:
                    self.protocol.filled(topic, data, self.shell.now_ms(), failure)
                except (FeedError, KeyError, TypeError, ValueError, AttributeError) as error:
                    self.protocol.filled(topic, None, self.shell.now_ms(), f"earlier records are not known: {error}")
            self.dispatch()

        return apply

    def listeners(self) -> list[Listener]:
        """Return all live objects."""
        with self.condition:
            return [listener for listeners in self._listeners.values() for listener in listeners]

    def close(self) -> None:
        """Close all live objects, stop the shell and wake every waiting thread. Nothing can be subscribed any more."""
        with self.condition:
            self.closed = True
        for listener in self.listeners():
            listener.close()
        self.shell.stop()
        with self.condition:
            self.condition.notify_all()


Data = dict[str, Any]

_LOGS = {ORDER_HIST.type: ORDER_EVENTS, USER_FILLED.type: FILLS, USER_FUNDING.type: FUNDING_PAYMENTS}
"""Channel → query that has its items too."""


def history_reader(session: object) -> Callable[[Topic], Data | None] | None:
    """Return a function that reads a topic's data as a snapshot has it, None where the Info API has none of it.

    None itself for a session that can't read the Info API.

    Parameters
    ----------
    session : object
        Session that the stream belongs to.
    """
    if getattr(session, "_driver", None) is None:
        return None
    reading = cast(InfoSession, session)

    def read(topic: Topic) -> Data | None:
        data: Data | None = reading._driver.run(_history(reading, topic))
        return data

    return read


def _history(session: InfoSession, topic: Topic) -> Flow[Data | None]:
    channel, fields = topic.channel, topic.fields
    if channel.type == CANDLE.type:
        rows = yield from _rows(
            session, "klines_last", symbol=fields["symbol"], interval=fields["interval"], limit=str(RECENT)
        )
        # Newest first; a snapshot has the current candle in `data` itself and the ones before it in `recent`.
        return {**rows[0], "recent": rows[:0:-1]} if rows else None
    if channel.parts:
        return (yield from _account(session, fields[ACCOUNT.name]))
    if (query := _LOGS.get(channel.type)) is None:
        return None
    rows = yield from _rows(session, query.name, account=fields[ACCOUNT.name], page_size=str(RECENT))
    symbols = yield from _symbols(session, rows)
    return {channel.key: _renamed(rows[::-1], query.record, channel.record, symbols)}


def _account(session: InfoSession, address: str) -> Flow[Data]:
    """Return wallet, open orders and positions. Leverages are those of the positions, the Info API has no others."""
    wallets = yield from _rows(session, "wallet_balances", account=address)
    held = yield from _rows(session, "positions", account=address)
    open_orders: list[Data] = []
    for status in OPEN_STATUSES:
        read = yield from Reader(session).all_rows("order_states", {"account": address, "status": status})
        open_orders += map(dict, read.rows.values())
    symbols = yield from _symbols(session, [*held, *open_orders])
    positions = _renamed(held, Position.declared, AOP_RECORDS["positions"], symbols)
    settings = [{"symbol": row.get("symbol"), "leverage": [row.get(_MODE), row.get("leverage")]} for row in positions]
    orders = _renamed(open_orders, OrderState.declared, AOP_RECORDS["orders"], symbols)
    return {"aop": {"accounts": wallets, "orders": orders, "positions": positions, "settings": settings}}


def _rows(session: InfoSession, name: str, **query: str) -> Flow[list[Data]]:
    rows = yield from fetch_rows(name, session._delivery.retry, **query)
    return [dict(row) for row in rows]


def _symbols(session: InfoSession, rows: list[Data]) -> Flow[dict[str, str]]:
    """Return the symbols by product code, as text. {} without a request when there are no rows."""
    if not rows:
        return {}
    table = yield from session._catalogue.table()
    return {str(product.code): product.symbol for product in table.values()}


def _renamed(rows: list[Data], queried: Record, record: Record, symbols: Mapping[str, str]) -> list[Data]:
    """Return rows of the Info API under the names of the feed's record, with the product's symbol for its code.

    A field of one that is a field of the other has the same column in both.
    """
    known, product = record.by_column, queried.by_column["symbol"].wire
    fields = [field for field in queried.fields if field.kind != "code"]
    names = {field.wire: known[field.column].wire for field in fields if field.column in known}
    made: list[Data] = []
    for row in rows:
        renamed = {names.get(name, name): value for name, value in row.items()}
        code = str(row.get(product, ""))
        if code in symbols:
            renamed |= {_CODE: int(code), known["symbol"].wire: symbols[code]}
        made.append(renamed)
    return made


_CODE, _MODE = FeedPosition.declared.wires("symbol_code", "position_mode")
