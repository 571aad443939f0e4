"""What stands between the feed's protocol and its live objects: one lock, one order of updates, and a shell.

Updates are applied and callbacks called by one thread at a time, in the order of the messages. Whoever waits is woken
through one condition.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...protocol.reads import feed as wire
from .protocol import FeedEvent, FeedProtocol, Topic

Job = Callable[[], None]


class Shell(Protocol):
    """What moves the bytes."""

    manual: bool
    """True when nothing arrives by itself: time stands until the venue is told to advance."""

    def now(self) -> int:
        """Return the milliseconds of the clock that the protocol lives by."""

    def wake(self) -> None:
        """The protocol wants something: a connection, or to send."""

    def here(self) -> bool:
        """Tell whether the calling thread is the one that takes in what arrives, right now."""

    def pump(self) -> None:
        """Take in what has arrived, if that does not happen by itself."""

    def stop(self) -> None:
        """End everything, within a bounded time; stopping again does nothing."""


class Listener(Protocol):
    """A live object, as far as it is told things."""

    def note(self, event: FeedEvent, now: int) -> list[Job]:
        """Take in an event, under the lock; return what is to be called afterwards, without it."""


class FeedClient:
    """The subscriptions of one connection and who listens to them.

    Attributes: `protocol`; `condition` (its lock guards protocol and live objects; notified after every event);
    `shell` (set by whoever makes the client).
    """

    shell: Shell

    def __init__(self, protocol: FeedProtocol) -> None:
        self.protocol = protocol
        self.condition = threading.Condition(threading.RLock())
        self.closed = False
        self._listeners: dict[Topic, list[Listener]] = {}

    def subscribe(self, listener: Listener, channel: wire.Channel, fields: Mapping[str, Any]) -> Topic:
        """Begin to tell a listener about a subscription, and return its topic. MalformedRequest for wrong fields."""
        with self.condition:
            topic = self.protocol.want(channel, fields, self.shell.now())
            self._listeners.setdefault(topic, []).append(listener)
            self.closed = False
        self.shell.wake()
        return topic

    def release(self, listener: Listener, topic: Topic) -> None:
        """End it; the last listener ends the subscription."""
        with self.condition:
            listeners = self._listeners.get(topic, [])
            if listener not in listeners:
                return
            listeners.remove(listener)
            if not listeners:
                del self._listeners[topic]
            self.protocol.release(topic, self.shell.now())
            self.condition.notify_all()
        self.shell.wake()

    def dispatch(self) -> bool:
        """Tell the listeners what happened, then call their callbacks; return whether anything did."""
        with self.condition:
            events = self.protocol.events()
            if not events:
                return False
            now, jobs = self.shell.now(), list[Job]()
            for event in events:
                for listener in self._listeners.get(event.topic, ()):
                    jobs += listener.note(event, now)
            self.condition.notify_all()
        for job in jobs:
            job()
        return True

    def listeners(self) -> list[Listener]:
        """Return everybody who listens."""
        with self.condition:
            return [listener for listeners in self._listeners.values() for listener in listeners]

    def close(self) -> None:
        """Stop the shell."""
        self.closed = True
        self.shell.stop()
        with self.condition:
            self.condition.notify_all()
