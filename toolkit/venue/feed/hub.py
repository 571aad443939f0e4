"""The live feed of the venue: subjects, connections and their limits. The data of each channel comes from its source.

After each command the hub gets the core's events, under the venue's lock, encodes each increment once, and appends the
text to the queues of the subscribers. A queue is bounded: a slow reader gets one fresh snapshot where the channel
allows it, and is disconnected with a reason where not. Nothing here blocks.

Messages are those that are published, field for field.

Each subject has a sequence: every increment increases it by one, and a snapshot carries the number of the last
increment. Sequences never decrease, not even when the venue is reverted [L].
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...errors import MalformedRequest
from ...protocol.reads import feed as wire
from ...protocol.reads.channel import Channel
from ..api.gateway import Host
from ..engine.changes import Event
from .batches import Batch, FeedSource
from .sources import source_for

_log = logging.getLogger("toolkit.feed")

QUEUE = 1_000
"""Messages that may be queued for one connection [L]."""


class MessageInterceptor(Protocol):
    """Methods that the hub calls for each message while `active`. Scripted faults are one (`lab.faults`)."""

    @property
    def active(self) -> bool:
        """False lets every message pass without further calls."""

    def skipped(self, subject: Subject) -> int:
        """Return how many sequence numbers to leave out before the next increment of a subject.

        Parameters
        ----------
        subject : Subject
            Subject whose increment follows.
        """

    def pass_on(self, connection: FeedConnection, subject: Subject, text: str) -> list[str]:
        """Return the texts to send for one data message.

        Parameters
        ----------
        connection : FeedConnection
            Connection of a subscriber.
        subject : Subject
            Subject that the connection subscribed to.
        text : str
            Encoded data message.
        """

    def holds(self, connection: FeedConnection, text: str) -> bool:
        """Return True when an answer to a connection's own message is held back.

        Parameters
        ----------
        connection : FeedConnection
            Connection of a subscriber.
        text : str
            Encoded answer.
        """


class MessageInterference(Protocol):
    """Method that the hub calls for each message while `active` (see `trouble`)."""

    @property
    def active(self) -> bool:
        """False lets every message pass without further calls."""

    def pass_on(self, connection: FeedConnection, subject: Subject, text: str) -> Sequence[str]:
        """Return the texts to send now for one data message.

        Parameters
        ----------
        connection : FeedConnection
            Connection of a subscriber.
        subject : Subject
            Subject that the connection subscribed to.
        text : str
            Encoded data message.
        """


@dataclass(slots=True, eq=False)
class Subject:
    """One published stream: its source, its sequence, and the connections that subscribed to it.

    Attributes
    ----------
    name : str
        Name of the subject, as a client subscribes to it.
    channel : Channel
        Declaration of its channel.
    source : FeedSource
        Where its data comes from.
    sequence : int
        Number of the last increment (default: 0).
    listeners : dict of FeedConnection to None
        Connections that subscribed, in order. A dict, so that messages go out in the same order each time.
    """

    name: str
    channel: Channel
    source: FeedSource
    sequence: int = 0
    listeners: dict[FeedConnection, None] = field(default_factory=dict)


class FeedConnection:
    """One connection to the feed.

    The shell passes the client's messages to `send` and delivers what `drain` returns.

    Parameters
    ----------
    hub : Hub
        Feed that it belongs to.
    peer : str
        Address of the client. Limits count for each address.
    clock : callable or None
        Returns the time in ms, for the limits of idleness and message rate. `None` has no such limits.
    queue : int or None
        Largest number of queued messages. `None` has no bound.

    Attributes
    ----------
    closed : bool
        Whether it is closed.
    reason : str
        Why it was closed.
    close_code : int
        WebSocket close code.
    subjects : dict of str to Subject
        Its subscriptions, by name.
    on_wake : callable or None
        Called when a message was queued or the connection was closed, from any thread and under the venue's lock.
    """

    def __init__(self, hub: Hub, peer: str, clock: Callable[[], int] | None, queue: int | None) -> None:
        self.hub = hub
        self.peer = peer
        self.closed = False
        self.reason = ""
        self.close_code = wire.NORMAL_CLOSE
        self.subjects: dict[str, Subject] = {}
        self.on_wake: Callable[[], None] | None = None
        self.conflated = 0
        """How often a slow reader got one snapshot instead of many increments."""
        self.counted = False
        """True while it counts towards its peer's limit and keeps the venue running."""
        self._clock = clock
        self._limit = queue
        self._queue: deque[tuple[str, str]] = deque()
        """Texts with the names of their subjects ("" for answers)."""
        self._received_ms: deque[int] = deque()
        self._last_received_ms = clock() if clock else 0

    def send(self, text: str | bytes) -> None:
        """Process one message of the client.

        An invalid message is answered, never raised.

        Parameters
        ----------
        text : str or bytes
            Message as it came.
        """
        # Time first, without the lock: what is due before this message is sent before its answer.
        self.hub.venue.catch_up()
        with self.hub.venue.lock:
            if not self.closed:
                self._process(text)
        # Readers in this process run outside the lock, because they may send requests themselves.
        self.hub.deliver()

    def drain(self) -> list[str]:
        """Remove and return the queued messages, oldest first."""
        with self.hub.venue.lock:
            texts = [text for text, _ in self._queue]
            self._queue.clear()
            return texts

    @property
    def waiting(self) -> int:
        """Number of queued messages."""
        return len(self._queue)

    def close(self, reason: str = "closed by the client", code: int = wire.NORMAL_CLOSE) -> None:
        """Close the connection.

        Queued messages can still be drained. Closing again does nothing.

        Parameters
        ----------
        reason : str, optional
            Why, in words (default: "closed by the client").
        code : int, optional
            WebSocket close code (default: 1000, a normal end).
        """
        with self.hub.venue.lock:
            self.close_locked(reason, code)
        self.hub.release(self)

    def idle_deadline(self) -> int | None:
        """Return when, by its own clock, the connection will have been idle too long.

        It returns `None` without a clock.
        """
        return None if self._clock is None else self._last_received_ms + self.hub.idle_ms

    def check_idle(self) -> bool:
        """Close the connection if the client sent nothing for too long. Return whether it is closed."""
        deadline = self.idle_deadline()
        if not self.closed and deadline is not None and self._clock is not None and self._clock() >= deadline:
            with self.hub.venue.lock:
                self.close_locked(f"idle: nothing came for {self.hub.idle_ms // 1000} s. Send a ping", wire.GOING_AWAY)
        return self.closed

    # below, the venue's lock is held

    def _process(self, text: str | bytes) -> None:
        wait_ms = self._rate_limit_wait_ms()
        try:
            message = wire.parse(text)
        except MalformedRequest as error:
            self._answer(wire.refusal(wire.method_of(text), wire.MALFORMED, str(error)))
            return
        if wait_ms:
            limit = self.hub.messages_per_second
            reason = f"more than {limit} messages within a second. This one was not processed"
            self._answer(wire.refusal(message.method, wire.RATE_LIMITED, reason, message.subject, wait_ms))
        elif message.method == "ping":
            self._answer(wire.PONG)
        elif message.channel is not None and message.method == "subscribe":
            self._subscribe(message.channel, message)
        else:
            self._unsubscribe(message.subject)

    def _rate_limit_wait_ms(self) -> int:
        """Count a message. Return the milliseconds until it would be within the limit, 0 when it is."""
        if self._clock is None:
            return 0
        # A message beyond the limit still shows that the client is there.
        now = self._last_received_ms = self._clock()
        received = self._received_ms
        while received and received[0] <= now - 1000:
            received.popleft()
        # A refused message is not counted, so that a client that waits as long as the answer says is served.
        if len(received) >= self.hub.messages_per_second:
            return received[0] + 1000 - now
        received.append(now)
        return 0

    def _subscribe(self, channel: Channel, message: wire.ClientMessage) -> None:
        limit = self.hub.subscriptions
        if message.subject not in self.subjects and len(self.subjects) >= limit:
            reason = f"a connection may have {limit} subscriptions. Unsubscribe one or open another connection"
            self._answer(wire.refusal("subscribe", wire.RATE_LIMITED, reason, message.subject))
            return
        try:
            subject = self.hub.subject(channel, message)
        except MalformedRequest as error:
            self._answer(wire.refusal("subscribe", wire.MALFORMED, str(error), message.subject))
            return
        self.subjects[subject.name] = subject  # before the snapshot: `put` drops messages of other subjects
        subject.listeners[self] = None
        self._answer(wire.acknowledgement("subscribe", subject.name))
        # A book, a candle or a height is of use immediately; records of what happens come when it happens.
        self.put_snapshot(subject, conflated=not channel.quiet)

    def _unsubscribe(self, name: str) -> None:
        subject = self.subjects.pop(name, None)
        if subject is None:
            reason = f"{name} is not subscribed. Subscribed is {', '.join(self.subjects) or 'nothing'}"
            self._answer(wire.refusal("unsubscribe", wire.MALFORMED, reason, name))
            return
        self.hub.unsubscribe(self, subject)
        # After the answer to an unsubscribe, no message of the subject may follow.
        self._queue = deque(queued for queued in self._queue if queued[1] != name)
        self._answer(wire.acknowledgement("unsubscribe", name))

    def _answer(self, text: str) -> None:
        if not self.hub.faults.holds(self, text):
            self.put(text)

    def put(self, text: str, subject: Subject | None = None) -> None:
        """Queue a message for the client, under the lock.

        Parameters
        ----------
        text : str
            Encoded message.
        subject : Subject or None, optional
            Subject of a data message (default: `None`, an answer).
        """
        if self.closed or (subject is not None and subject.name not in self.subjects):
            return
        if self._limit is not None and len(self._queue) >= self._limit:
            refreshed = self._make_room()
            if self.closed or (subject is not None and subject.name in refreshed):
                return  # the fresh snapshot contains this message
        self._queue.append((text, subject.name if subject else ""))
        if self.on_wake is not None:
            self.on_wake()

    def put_snapshot(self, subject: Subject, *, conflated: bool = False) -> None:
        """Queue a snapshot of a subject in place of its queued messages, under the lock.

        Parameters
        ----------
        subject : Subject
            Subject to send again.
        conflated : bool, optional
            True sends the newest record of a channel without snapshots, in place of those it left out (default:
            `False`).
        """
        # Queued increments are older than the snapshot, and would not fit to its sequence.
        self._queue = deque(queued for queued in self._queue if queued[1] != subject.name)
        data = subject.source.snapshot(self.hub.venue.core)
        snapshots = subject.channel.begins_with_snapshot
        if data is not None and (snapshots or conflated):
            self.hub.send_to(self, subject, "snapshot" if snapshots else "incremental", data)

    def _make_room(self) -> set[str]:
        """Replace the queued messages of each conflatable channel by one snapshot, or disconnect the reader.

        Returns the names of the subjects that got a snapshot.
        """
        conflatable = {name for _, name in self._queue if name and self.subjects[name].channel.conflate}
        kept = deque(queued for queued in self._queue if queued[1] not in conflatable)
        # Records of what happened can't be replaced by a snapshot. A reader that is too slow for them must begin again.
        if not conflatable or len(kept) + len(conflatable) >= (self._limit or 0):
            self.close_locked(f"too slow: {len(self._queue)} messages wait to be read", wire.OVERLOAD_CLOSE)
            return set()
        self._queue = kept
        self.conflated += 1
        for name in sorted(conflatable):
            self.put_snapshot(self.subjects[name], conflated=True)
        return conflatable

    def close_locked(self, reason: str, code: int) -> None:
        """Close the connection while the lock is held.

        `close` also gives its place back afterwards.

        Parameters
        ----------
        reason : str
            Why, in words. The client gets it with the close frame.
        code : int
            WebSocket close code.
        """
        if self.closed:
            return
        self.closed, self.reason, self.close_code = True, reason, code
        # The subscriptions end now, under the lock. The place of the connection is given back later, by `release`.
        for subject in self.subjects.values():
            self.hub.unsubscribe(self, subject)
        self.subjects = {}
        if self.on_wake is not None:
            self.on_wake()


class Hub:
    """All subjects and connections of one venue's feed.

    The limits may be changed at any time.

    Parameters
    ----------
    venue : Host
        The venue, with its core and its lock.
    faults : MessageInterceptor
        Scripted faults of the feed, for tests and teaching.
    trouble : MessageInterference
        What goes wrong between the feed and its clients.

    Attributes
    ----------
    connections : int
        Largest number of connections per peer.
    subscriptions : int
        Largest number of subscriptions per connection.
    messages_per_second : int
        Largest number of a client's messages within a second.
    idle_ms : int
        Time without a message after which a connection is closed, in ms.
    queue : int
        Largest number of messages that may be queued for one connection.
    """

    def __init__(self, venue: Host, faults: MessageInterceptor, trouble: MessageInterference) -> None:
        self.venue = venue
        self.faults = faults
        self.trouble = trouble
        self.connections = wire.MAX_CONNECTIONS
        self.subscriptions = wire.MAX_SUBSCRIPTIONS
        self.messages_per_second = wire.MAX_MESSAGES_PER_SECOND
        self.idle_ms = wire.IDLE_MS
        self.queue = QUEUE
        self.open_connections: dict[FeedConnection, None] = {}
        self.after: list[Callable[[], None]] = []
        """Called after each command, outside the venue's lock (readers in this process with a manual clock)."""
        self._subjects: dict[str, Subject] = {}
        self._sequences: dict[str, int] = {}

    def open(
        self,
        peer: str = "in-process",
        *,
        clock: Callable[[], int] | None = None,
        queue: int | None = 0,
        places: int | None = None,
    ) -> FeedConnection:
        """Return a new connection.

        One that is refused is already closed and has one message to drain.

        Parameters
        ----------
        peer : str, optional
            Address of the client (default: "in-process").
        clock : callable or None, optional
            Returns the time in ms, for the limits of idleness and message rate (default: none, without these limits). A
            manual clock does not run between two messages.
        queue : int or None, optional
            Largest number of queued messages (default: 0, the hub's own bound). `None` is for a reader in the same
            process that reads after every command.
        places : int or None, optional
            Largest number of connections of this peer (default: `connections`).
        """
        most = self.connections if places is None else places
        connection = FeedConnection(self, peer, clock, self.queue if queue == 0 else queue)
        with self.venue.lock:
            count = sum(1 for other in self.open_connections if other.peer == peer and not other.closed)
            if count >= most:
                what = "An address" if places is None else "A seat"
                reason = f"{peer} has {count} connections already. {what} may have {most}"
                # The client gets a readable reason before the close frame, whose reason many clients do not show.
                connection.put(wire.refusal("connect", wire.RATE_LIMITED, reason))
                connection.close_locked(reason, wire.POLICY_CLOSE)
                return connection
            self.open_connections[connection] = None
            connection.counted = True
        self.venue.start_running()
        return connection

    def publish(self, events: Sequence[Event]) -> None:
        """Send the events of a command to their subscribers, called by the venue under its lock.

        Parameters
        ----------
        events : sequence of Event
            Events of the command, in order.
        """
        # Without subscribers no events are grouped: most commands of a backtest end here.
        if not self._subjects:
            return
        batch = Batch(self.venue.core, events)
        for subject in list(self._subjects.values()):  # a copy, because disconnecting a slow reader removes subjects
            try:
                for data in subject.source.collect(batch):
                    self._broadcast(subject, data)
            # The command has been applied and may have been answered. An error of the feed must not reach its sender.
            except Exception as error:
                self._drop_subscribers(subject, error)

    def deliver(self) -> None:
        """Run the readers in this process, called by the venue after a command, outside its lock."""
        for read in list(self.after):
            read()

    def resync(self) -> None:
        """Send every subscription a fresh snapshot, after the state was replaced (revert, load)."""
        with self.venue.lock:
            for subject in list(self._subjects.values()):
                try:
                    subject.source.reset(self.venue.core)
                    # The sequence grows by one here, so that a client that missed the snapshot sees a gap.
                    self._increase_sequence(subject)
                    for connection in list(subject.listeners):
                        connection.put_snapshot(subject)
                except Exception as error:
                    self._drop_subscribers(subject, error)

    def close(self, reason: str = "the venue is shutting down") -> None:
        """Close all connections.

        Parameters
        ----------
        reason : str, optional
            Why, in words. Every client gets it (default: "the venue is shutting down").
        """
        for connection in list(self.open_connections):
            connection.close(reason, wire.GOING_AWAY)

    def subject(self, channel: Channel, message: wire.ClientMessage) -> Subject:
        """Return the subject of a subscription, created if needed.

        Parameters
        ----------
        channel : Channel
            Declaration of the channel.
        message : wire.ClientMessage
            The client's message.

        Raises
        ------
        MalformedRequest
            If the product is not listed.
        """
        found = self._subjects.get(message.subject)
        if found is None:
            source = source_for(self.venue.core, channel, message.fields)
            found = self._subjects[message.subject] = Subject(message.subject, channel, source)
            found.sequence = self._sequences.get(message.subject, 0)
            self._increase_sequence(found)  # increments were missed while it had no subscribers
        return found

    def unsubscribe(self, connection: FeedConnection, subject: Subject) -> None:
        """Remove a connection from a subject.

        A subject without subscribers is dropped.

        Parameters
        ----------
        connection : FeedConnection
            Connection of a subscriber.
        subject : Subject
            Subject that the connection subscribed to.
        """
        subject.listeners.pop(connection, None)
        if not subject.listeners:
            self._subjects.pop(subject.name, None)

    def release(self, connection: FeedConnection) -> None:
        """Give back a closed connection's place.

        The lock is not held, because stopping the ticker waits for its thread.

        Parameters
        ----------
        connection : FeedConnection
            Connection of a subscriber.
        """
        with self.venue.lock:
            counted, connection.counted = connection.counted, False
            self.open_connections.pop(connection, None)
        if counted:
            self.venue.stop_running()

    def send_to(self, connection: FeedConnection, subject: Subject, kind: str, data: dict[str, Any]) -> None:
        """Queue one data message for one connection.

        Parameters
        ----------
        connection : FeedConnection
            Connection of a subscriber.
        subject : Subject
            Subject that the connection subscribed to.
        kind : {"snapshot", "incremental"}
            Kind of the message.
        data : dict of str to object
            Data of the message, ready for JSON.
        """
        text = wire.data_message(subject.channel, kind, subject.sequence, data)
        self._pass_on(connection, subject, text)

    def _pass_on(self, connection: FeedConnection, subject: Subject, text: str) -> None:
        """Queue a message as faults and troubles leave it."""
        for one in self.faults.pass_on(connection, subject, text) if self.faults.active else (text,):
            for passed in self.trouble.pass_on(connection, subject, one) if self.trouble.active else (one,):
                connection.put(passed, subject)

    def _broadcast(self, subject: Subject, data: dict[str, Any]) -> None:
        self._increase_sequence(subject, self.faults.skipped(subject) if self.faults.active else 0)
        # Encoded once for all subscribers. Only a fault or a trouble makes texts differ.
        text = wire.data_message(subject.channel, "incremental", subject.sequence, data)
        for connection in list(subject.listeners):
            self._pass_on(connection, subject, text)

    def _drop_subscribers(self, subject: Subject, error: Exception) -> None:
        """Disconnect the subscribers of a subject whose source failed. The command itself must not fail with it."""
        _log.error("the feed could not publish %s", subject.name, exc_info=error)
        for connection in list(subject.listeners):
            connection.close_locked(f"{subject.name} could not be published: {error!r}", wire.INTERNAL_CLOSE)

    def _increase_sequence(self, subject: Subject, skipped: int = 0) -> None:
        # Kept by name too: the number continues when the last subscriber leaves and another one comes.
        subject.sequence += 1 + skipped
        self._sequences[subject.name] = subject.sequence
