"""Scripted faults of the feed's messages, as the hub applies them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...protocol.reads.feed import GOING_AWAY
from .armed_faults import ArmedFaults, Fault

if TYPE_CHECKING:
    from ..feed.hub import FeedConnection, Hub, Subject

FEED = {
    "feed-drop": "messages of a `channel` get lost",
    "feed-duplicate": "messages come twice",
    "feed-skip": "a sequence number is left out",
    "feed-freeze": "nothing arrives any more, until `clear`",
    "feed-cut": "the connection that a message is for is closed",
}


class FeedFaults(ArmedFaults):
    """The faults of the feed: `venue.host.feed.faults.add("drop", channel="orderBook", count=3)`.

    A freeze holds back every message, answers to pings included, until it is removed.
    """

    def __init__(self, lock: AbstractContextManager[Any], hub: Callable[[], Hub]) -> None:
        super().__init__(lock)
        self._hub = hub
        self._held: list[tuple[FeedConnection, Subject | None, str]] = []

    def add(self, kind: str, *, channel: str = "", peer: str = "", after: int = 0, count: int | None = 1) -> Fault:
        """Arm a fault: drop, duplicate, skip, freeze or cut. Raises InputError for another kind."""
        if f"feed-{kind}" not in FEED:
            kinds = tuple(known.removeprefix("feed-") for known in FEED)
            raise InputError(f"fault {kind!r} is none of {', '.join(kinds)}", field="kind", value=kind, nearest=kinds)
        fault = Fault(f"feed-{kind}", channel=channel, peer=peer, after=after, count=count)
        self.arm(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Disarm one fault; the end of the last freeze delivers what was held back."""
        with self._lock:
            super().remove(fault)
            if fault.kind == "feed-freeze" and not self._freezes():
                self._release()

    def clear(self) -> None:
        """Disarm all faults, and deliver what was held back."""
        with self._lock:
            super().clear()
            self._release()

    def thaw(self) -> None:
        """End all freezes: what was held back is delivered, in order."""
        for fault in self._freezes():
            self.remove(fault)

    def cut(self, reason: str = "cut (scripted fault)", *, peer: str = "") -> int:
        """Close connections at once, all or those of a peer; return how many."""
        found = [one for one in self._hub().open_connections if not one.closed and peer in ("", one.peer)]
        for connection in found:
            connection.close(reason, GOING_AWAY)
        return len(found)

    # called by the hub, under the lock

    def skipped(self, subject: Subject) -> int:
        """Return how many sequence numbers to leave out before the next increment of a subject."""
        return sum(1 for _ in self.triggered(("feed-skip",), lambda fault: _matches(fault, subject)))

    def pass_on(self, connection: FeedConnection, subject: Subject, text: str) -> list[str]:
        """Return the texts to send for one data message: none, itself, or itself twice."""

        def hit(kind: str) -> bool:
            matches = self.triggered((kind,), lambda fault: _matches(fault, subject, connection.peer))
            return next(matches, None) is not None  # further faults of a kind do not count this message

        if hit("feed-freeze"):
            self._held.append((connection, subject, text))
            return []
        if hit("feed-cut"):
            connection.close_locked("cut (scripted fault)", GOING_AWAY)
            return []
        if hit("feed-drop"):
            return []
        return [text, text] if hit("feed-duplicate") else [text]

    def holds(self, connection: FeedConnection, text: str) -> bool:
        """Hold back an answer to a connection's own message if everything to it is frozen; return whether it was."""
        frozen = any(
            not fault.channel and not fault.after and fault.peer in ("", connection.peer) for fault in self._freezes()
        )
        if frozen:
            self._held.append((connection, None, text))
        return frozen

    def _freezes(self) -> list[Fault]:
        return [fault for fault in self._armed if fault.kind == "feed-freeze"]

    def _release(self) -> None:
        held, self._held = self._held, []
        for connection, subject, text in held:
            connection.put(text, subject)


def _matches(fault: Fault, subject: Subject, peer: str = "") -> bool:
    """Return whether a fault is for a message; a skipped sequence number concerns every peer."""
    return fault.channel in ("", subject.channel.type) and (not peer or fault.peer in ("", peer))
