"""The live feed of the venue: subjects, connections, limits; what a channel says comes from `feed_sources`.

A Hub hears the core's events after each command, under the venue's lock, and puts the text of each increment, encoded
once, into the queues of those who subscribed. A queue is bounded: a reader that does not keep up gets one fresh
snapshot where the channel allows it, and is cut off with a reason where not. Nothing here waits for anybody.

Sequences are counted for each subject: every increment is one larger than the last message, whoever gets it, and a
snapshot carries the number of the last increment. They never go back, not even when the venue is reverted [L].
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import MalformedRequest
from ...protocol.reads import feed as wire
from .batches import Batch, Source
from .faults import FeedFaults
from .sources import source_for

if TYPE_CHECKING:
    from ..engine.core import Core
    from ..engine.events import Event

_log = logging.getLogger("toolkit.feed")

QUEUE = 1_000
"""Messages that wait for one reader at most [L]."""


class FeedVenue(Protocol):
    """What the hub asks of the venue around it."""

    @property
    def core(self) -> Core:
        """The core as it is now; another one after a revert."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while the state is read or changed."""

    def catch_up(self) -> int:
        """Bring the state to the clock's time."""

    def start_running(self) -> None:
        """Let time pass by itself while somebody listens."""

    def stop_running(self) -> None:
        """End one start_running."""


class Subject:
    """One thing that is published: its source, its sequence, and the connections that hear it."""

    __slots__ = ("channel", "listeners", "name", "sequence", "source")

    def __init__(self, name: str, channel: wire.Channel, source: Source) -> None:
        self.name = name
        self.channel = channel
        self.source = source
        self.sequence = 0
        self.listeners: dict[Connection, None] = {}


class Connection:
    """One connection to the feed. The shell hands in what the client says and takes out what it is to be told.

    Attributes: `peer`; `closed`; `reason` and `close_code` (why, once closed); `subjects` (what it hears, by name);
    `on_wake` (called, from any thread and under the venue's lock, when there is something to take or it was closed).
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
        """Times that a slow reader got one snapshot instead of many increments."""
        self._clock = clock
        self._limit = queue
        self._queue: deque[tuple[str, str]] = deque()
        self._heard: deque[int] = deque()
        self._last_heard = clock() if clock else 0
        self._counted = False

    def send(self, text: str | bytes) -> None:
        """Take one message of the client. Whatever is wrong with it is answered, never raised."""
        self.hub.venue.catch_up()
        with self.hub.venue.lock:
            if not self.closed:
                self._take(text)
        self.hub.deliver()

    def drain(self) -> list[str]:
        """Return the messages that wait for the client, oldest first, and forget them."""
        with self.hub.venue.lock:
            texts = [text for text, _ in self._queue]
            self._queue.clear()
            return texts

    @property
    def waiting(self) -> int:
        """Number of messages that wait for the client."""
        return len(self._queue)

    def close(self, reason: str = "closed by the client", code: int = wire.NORMAL_CLOSE) -> None:
        """End the connection. What waits may still be taken; closing again does nothing."""
        with self.hub.venue.lock:
            self._close(reason, code)
        self.hub.forget(self)

    def idle_deadline(self) -> int | None:
        """Return when, by its own clock, the connection has been idle too long; None without a clock."""
        return None if self._clock is None else self._last_heard + self.hub.idle_ms

    def check_idle(self) -> bool:
        """Close the connection if nothing came from the client for too long; return whether it is closed."""
        deadline = self.idle_deadline()
        if not self.closed and deadline is not None and self._clock is not None and self._clock() >= deadline:
            with self.hub.venue.lock:
                self._close(f"idle: nothing came for {self.hub.idle_ms // 1000} s; send a ping", wire.GOING_AWAY)
        return self.closed

    # Inside the venue's lock

    def _take(self, text: str | bytes) -> None:
        wait = self._too_fast()
        try:
            message = wire.parse(text)
        except MalformedRequest as error:
            self._refuse(wire.method_of(text), wire.MALFORMED, str(error))
            return
        if wait:
            limit = self.hub.messages_per_second
            reason = f"more than {limit} messages within a second; this one was not taken"
            self._answer(wire.refusal(message.method, wire.RATE_LIMITED, reason, message.subject, wait))
        elif message.method == "ping":
            self._answer(wire.PONG)
        elif message.channel is not None and message.method == "subscribe":
            self._subscribe(message.channel, message)
        else:
            self._unsubscribe(message.subject)

    def _too_fast(self) -> int:
        """Note a message; return the milliseconds after which it would be in time, 0 when it is."""
        if self._clock is None:
            return 0
        now = self._last_heard = self._clock()
        heard = self._heard
        while heard and heard[0] <= now - 1000:
            heard.popleft()
        if len(heard) >= self.hub.messages_per_second:
            return heard[0] + 1000 - now
        heard.append(now)
        return 0

    def _subscribe(self, channel: wire.Channel, message: wire.ClientMessage) -> None:
        limit = self.hub.subscriptions
        if message.subject not in self.subjects and len(self.subjects) >= limit:
            reason = f"a connection may have {limit} subscriptions; unsubscribe one or open another connection"
            self._refuse("subscribe", wire.RATE_LIMITED, reason, message.subject)
            return
        try:
            subject = self.hub.subject(channel, message)
        except MalformedRequest as error:
            self._refuse("subscribe", wire.MALFORMED, str(error), message.subject)
            return
        self.subjects[subject.name] = subject
        subject.listeners[self] = None
        self._answer(wire.acknowledgement("subscribe", subject.name))
        self.put_snapshot(subject)

    def _unsubscribe(self, name: str) -> None:
        subject = self.subjects.pop(name, None)
        if subject is None:
            known = ", ".join(self.subjects) or "nothing"
            self._refuse("unsubscribe", wire.MALFORMED, f"{name} is not subscribed; subscribed is {known}", name)
            return
        self.hub.leave(self, subject)
        self._queue = deque(one for one in self._queue if one[1] != name)
        self._answer(wire.acknowledgement("unsubscribe", name))

    def _refuse(self, method: str, code: int, reason: str, subject: str = "") -> None:
        self._answer(wire.refusal(method, code, reason, subject))

    def _answer(self, text: str) -> None:
        if not self.hub.faults.holds(self, text):
            self.put(text)

    def put(self, text: str, subject: Subject | None = None) -> None:
        """Queue a message for the client; under the lock."""
        if self.closed or (subject is not None and subject.name not in self.subjects):
            return
        if self._limit is not None and len(self._queue) >= self._limit:
            told = self._make_room()
            if self.closed or (subject is not None and subject.name in told):
                return
        self._queue.append((text, subject.name if subject else ""))
        if self.on_wake is not None:
            self.on_wake()

    def put_snapshot(self, subject: Subject) -> None:
        """Queue a snapshot of a subject, instead of what waits of it; under the lock."""
        self._queue = deque(one for one in self._queue if one[1] != subject.name)
        self.hub.say(self, subject, "snapshot", subject.source.snapshot(self.hub.venue.core))

    def _make_room(self) -> set[str]:
        """Put one snapshot in place of what waits of each channel that allows it, or cut the reader off.

        Returns the subjects that are told as they are now.
        """
        crowded = {name for _, name in self._queue if name and self.subjects[name].channel.conflate}
        kept = deque(one for one in self._queue if one[1] not in crowded)
        if not crowded or len(kept) + len(crowded) >= (self._limit or 0):
            self._close(f"too slow: {len(self._queue)} messages wait to be read", wire.OVERLOAD_CLOSE)
            return set()
        self._queue = kept
        self.conflated += 1
        for name in sorted(crowded):
            self.put_snapshot(self.subjects[name])
        return crowded

    def _close(self, reason: str, code: int) -> None:
        if self.closed:
            return
        self.closed, self.reason, self.close_code = True, reason, code
        for subject in self.subjects.values():
            self.hub.leave(self, subject)
        self.subjects = {}
        if self.on_wake is not None:
            self.on_wake()


class Hub:
    """All subjects and connections of one venue's feed.

    Limits (attributes, changeable): `connections` an IP, `subscriptions` a connection, `messages_per_second`,
    `idle_ms`, `queue` (messages that may wait for a reader). `faults` holds scripted faults for tests and teaching.
    """

    def __init__(self, venue: FeedVenue) -> None:
        self.venue = venue
        self.connections = wire.MAX_CONNECTIONS
        self.subscriptions = wire.MAX_SUBSCRIPTIONS
        self.messages_per_second = wire.MAX_MESSAGES_PER_SECOND
        self.idle_ms = wire.IDLE_MS
        self.queue = QUEUE
        self.faults = FeedFaults(self)
        self.open_connections: dict[Connection, None] = {}
        self.after: list[Callable[[], None]] = []
        """Called after each command, outside the venue's lock (readers in this process with a manual clock)."""
        self._subjects: dict[str, Subject] = {}
        self._sequences: dict[str, int] = {}

    def open(
        self, peer: str = "in-process", *, clock: Callable[[], int] | None = None, queue: int | None = 0
    ) -> Connection:
        """Return a new connection, which may have been refused: then it is closed and has a message to take.

        `clock` gives the milliseconds by which idleness and the message rate are judged; without one there are no
        such limits (time on a manual clock stands still between two messages). `queue` bounds what may wait (0 for
        the hub's own bound); None is for a reader in the same process that reads after every command.
        """
        connection = Connection(self, peer, clock, self.queue if queue == 0 else queue)
        with self.venue.lock:
            mine = sum(1 for other in self.open_connections if other.peer == peer and not other.closed)
            if mine >= self.connections:
                reason = f"{peer} has {mine} connections already; an address may have {self.connections}"
                connection.put(wire.refusal("connect", wire.RATE_LIMITED, reason))
                connection._close(reason, wire.POLICY_CLOSE)
                return connection
            self.open_connections[connection] = None
            connection._counted = True
        self.venue.start_running()
        return connection

    def publish(self, events: Sequence[Event]) -> None:
        """Tell everybody what a command made happen; called by the venue under its lock."""
        if not self._subjects:
            return
        batch = Batch(self.venue.core, events)
        for subject in list(self._subjects.values()):
            try:
                for data in subject.source.collect(batch):
                    self._broadcast(subject, data)
            except Exception as error:
                self._give_up(subject, error)

    def deliver(self) -> None:
        """Let readers in this process read; called by the venue after a command, outside its lock."""
        for read in list(self.after):
            read()

    def resync(self) -> None:
        """Give every subscription a fresh snapshot: the state was exchanged under the lock (revert, load)."""
        with self.venue.lock:
            for subject in list(self._subjects.values()):
                try:
                    subject.source.reset(self.venue.core)
                    self._count(subject)
                    for connection in list(subject.listeners):
                        connection.put_snapshot(subject)
                except Exception as error:
                    self._give_up(subject, error)

    resnapshot = resync

    def close(self, reason: str = "the venue is shutting down") -> None:
        """End all connections."""
        for connection in list(self.open_connections):
            connection.close(reason, wire.GOING_AWAY)

    # For connections, under the lock

    def subject(self, channel: wire.Channel, message: wire.ClientMessage) -> Subject:
        """Return the subject of a subscription; MalformedRequest when the venue has no such thing."""
        found = self._subjects.get(message.subject)
        if found is None:
            source = source_for(self.venue.core, channel, message.fields)
            found = self._subjects[message.subject] = Subject(message.subject, channel, source)
            found.sequence = self._sequences.get(message.subject, 0)
            self._count(found)
        return found

    def leave(self, connection: Connection, subject: Subject) -> None:
        """Take a connection off a subject; one that nobody hears is no longer followed."""
        subject.listeners.pop(connection, None)
        if not subject.listeners:
            self._subjects.pop(subject.name, None)

    def forget(self, connection: Connection) -> None:
        """Give back a closed connection's place; outside the lock."""
        with self.venue.lock:
            counted, connection._counted = connection._counted, False
            self.open_connections.pop(connection, None)
        if counted:
            self.venue.stop_running()

    def say(self, connection: Connection, subject: Subject, kind: str, data: dict[str, Any]) -> None:
        """Queue one data message for one connection."""
        text = wire.data_message(subject.channel.type, kind, subject.sequence, data)
        for one in self.faults.pass_on(connection, subject, text):
            connection.put(one, subject)

    def _broadcast(self, subject: Subject, data: dict[str, Any]) -> None:
        self._count(subject, self.faults.skipped(subject))
        text = wire.data_message(subject.channel.type, "incremental", subject.sequence, data)
        for connection in list(subject.listeners):
            for one in self.faults.pass_on(connection, subject, text) if self.faults.active else (text,):
                connection.put(one, subject)

    def _give_up(self, subject: Subject, error: Exception) -> None:
        """End the connections that hear a subject which can't be told; the command goes on as if nobody listened."""
        _log.error("the feed could not tell %s", subject.name, exc_info=error)
        for connection in list(subject.listeners):
            connection._close(f"{subject.name} could not be told: {error!r}", wire.INTERNAL_CLOSE)

    def _count(self, subject: Subject, skipped: int = 0) -> None:
        subject.sequence += 1 + skipped
        self._sequences[subject.name] = subject.sequence
