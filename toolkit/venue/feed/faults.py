"""Scripted faults of the feed: for tests, for teaching, and for trying a client against a bad day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...errors import InputError
from ...protocol.reads.feed import GOING_AWAY

if TYPE_CHECKING:
    from .hub import Connection, Hub, Subject

Kind = Literal["drop", "duplicate", "skip", "freeze", "cut"]
KINDS: tuple[Kind, ...] = ("drop", "duplicate", "skip", "freeze", "cut")


@dataclass(slots=True)
class FeedFault:
    """One fault that is armed.

    Attributes: `kind`; `channel` and `peer` it is for ("" for all); `after` (messages that pass first); `count`
    (messages it strikes, None for all from then on); `struck` (how many it has struck).
    """

    kind: Kind
    channel: str = ""
    peer: str = ""
    after: int = 0
    count: int | None = 1
    struck: int = 0

    def strikes(self, channel: str, peer: str) -> bool:
        """Count a message that fits and tell whether the fault strikes it."""
        if self.done or (self.channel and self.channel != channel) or (self.peer and peer and self.peer != peer):
            return False
        if self.after:
            self.after -= 1
            return False
        self.struck += 1
        return True

    @property
    def done(self) -> bool:
        """True when it has struck as often as it should."""
        return self.count is not None and self.struck >= self.count


class FeedFaults:
    """The faults of one hub: `hub.faults.add("drop", channel="orderBook", count=3)`.

    ``drop`` loses data messages, ``duplicate`` sends them twice, ``skip`` leaves out a sequence number, ``cut`` ends
    the connection that a message is for. ``freeze`` holds everything back, answers to pings included, until `thaw`.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._armed: list[FeedFault] = []
        self._held: list[tuple[Connection, Subject | None, str]] = []

    @property
    def active(self) -> bool:
        """True while any fault is armed."""
        return bool(self._armed)

    def add(self, kind: Kind, *, channel: str = "", peer: str = "", after: int = 0, count: int | None = 1) -> FeedFault:
        """Arm a fault and return it. Raises InputError for a kind that is none."""
        if kind not in KINDS:
            raise InputError(f"fault {kind!r} is none of {', '.join(KINDS)}", field="kind", value=kind, nearest=KINDS)
        fault = FeedFault(kind, channel, peer, after, None if kind == "freeze" else count)
        with self._hub.venue.lock:
            self._armed.append(fault)
        return fault

    def remove(self, fault: FeedFault) -> None:
        """Disarm one fault; the end of a freeze passes on what was held back."""
        with self._hub.venue.lock:
            self._armed = [one for one in self._armed if one is not fault]
            if fault.kind == "freeze" and not any(self._of("freeze")):
                self._release()

    def clear(self) -> None:
        """Disarm all faults, and pass on what was held back."""
        with self._hub.venue.lock:
            self._armed.clear()
            self._release()

    def thaw(self) -> None:
        """End freezes: what was held back arrives now, in order."""
        with self._hub.venue.lock:
            self._armed = [fault for fault in self._armed if fault.kind != "freeze"]
            self._release()

    def cut(self, reason: str = "cut (scripted fault)", *, peer: str = "") -> int:
        """End connections at once, all or those of a peer; return how many."""
        found = [one for one in self._hub.open_connections if not one.closed and peer in ("", one.peer)]
        for connection in found:
            connection.close(reason, GOING_AWAY)
        return len(found)

    # For the hub, under the lock

    def skipped(self, subject: Subject) -> int:
        """Return how many sequence numbers to leave out before the next increment of a subject."""
        return sum(1 for fault in self._of("skip") if fault.strikes(subject.channel.type, ""))

    def pass_on(self, connection: Connection, subject: Subject, text: str) -> list[str]:
        """Return what becomes of one data message: nothing, itself, or itself twice."""
        channel, peer = subject.channel.type, connection.peer
        if any(fault.strikes(channel, peer) for fault in self._of("freeze")):
            self._held.append((connection, subject, text))
            return []
        if any(fault.strikes(channel, peer) for fault in self._of("cut")):
            connection._close("cut (scripted fault)", GOING_AWAY)
            return []
        if any(fault.strikes(channel, peer) for fault in self._of("drop")):
            return []
        twice = any(fault.strikes(channel, peer) for fault in self._of("duplicate"))
        return [text, text] if twice else [text]

    def holds(self, connection: Connection, text: str) -> bool:
        """Hold back an answer to a connection's own message if everything to it is frozen; tell whether it was."""
        frozen = any(
            not fault.channel and not fault.after and fault.peer in ("", connection.peer)
            for fault in self._of("freeze")
        )
        if frozen:
            self._held.append((connection, None, text))
        return frozen

    def _of(self, kind: Kind) -> list[FeedFault]:
        return [fault for fault in self._armed if fault.kind == kind]

    def _release(self) -> None:
        held, self._held = self._held, []
        for connection, subject, text in held:
            connection.put(text, subject)
