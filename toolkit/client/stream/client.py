"""The link between the feed's protocol and its live objects: one lock, one order of updates, one shell.

Updates are applied and callbacks called by one thread at a time, in the order of the messages. Threads that wait are
woken through one condition.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...errors import FeedError
from ...protocol.reads import feed as wire
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
        """Close the connection within a bounded time; stopping again does nothing."""


class Listener(Protocol):
    """A live object, as the client sees it."""

    def _on_event(self, event: FeedEvent) -> list[Callback]:
        """Take an event, under the lock; return what to call after the lock is released."""


class FeedClient:
    """The subscriptions of one connection and their listeners.

    Attributes: `protocol`; `condition` (its lock guards protocol and live objects; notified after every event);
    `shell` (set by the creator of the client); `history` (reads from the Info API what a topic's messages do not show,
    None where there is no Info API).
    """

    shell: Shell
    observe: Callable[[FeedEvent], None] | None = None
    """Is given each update after the live objects, before their callbacks are called."""

    def __init__(self, protocol: FeedProtocol, history: History | None = None) -> None:
        self.protocol = protocol
        self.history = history
        protocol.fills_history = history is not None
        self.condition = threading.Condition(threading.RLock())
        self._listeners: dict[Topic, list[Listener]] = {}

    def subscribe(self, listener: Listener, channel: wire.Channel, fields: Mapping[str, Any]) -> Topic:
        """Subscribe a listener and return the topic. Raises MalformedRequest for wrong fields."""
        with self.condition:
            topic = self.protocol.subscribe(channel, fields, self.shell.now_ms())
            self._listeners.setdefault(topic, []).append(listener)
        self.shell.wake()
        return topic

    def unsubscribe(self, listener: Listener, topic: Topic) -> None:
        """Remove a listener; the last one ends the subscription."""
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

    def dispatch(self) -> bool:
        """Pass new events to the listeners, then call their callbacks; return whether there were any events."""
        with self.condition:
            events = self.protocol.events()
            if not events:
                return False
            callbacks: list[Callback] = []
            for event in events:
                for listener in self._listeners.get(event.topic, ()):
                    callbacks += listener._on_event(event)
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
        """Read a topic's history, without the lock; return what applies the result, for the reader's thread."""
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
        """Stop the shell and wake every waiting thread."""
        self.shell.stop()
        with self.condition:
            self.condition.notify_all()
