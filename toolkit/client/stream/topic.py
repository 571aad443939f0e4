"""One wire subscription: its state, its place in the sequence, and how messages are matched to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import MalformedRequest, SubscriptionRefused
from ...protocol.reads import feed as wire
from .channel_state import ChannelState, Record, state_of

TopicState = Literal[
    "connecting", "subscribing", "live", "live-unsequenced", "resyncing", "reconnecting", "refused", "closed"
]
LIVE: tuple[TopicState, ...] = ("live", "live-unsequenced")
"""States in which messages are applied as they come. Without sequences a lost message can't be noticed."""


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """A change of a topic: `state` is its state afterwards, `items` the new or changed records of an update."""

    topic: Topic
    kind: Literal["state", "snapshot", "incremental"]
    state: TopicState
    items: list[Record]
    sequence: int = 0
    timestamp_ms: int | None = None
    """The venue's time of an update in Unix ms, if the message has one."""


class Topic:
    """One wire subscription and the state built from its messages.

    Attributes: `subject`; `state`; `reason` (why it is not live, in words); `sequence` (of the last applied message);
    `received_ms` (when that message came); `gaps`, `duplicates`, `resyncs` (counts); `error` (why the venue refused
    it); `data` (the ChannelState built from the messages); `users` (live objects that share it).

    For the protocol: `awaiting_snapshot` (one was requested), `snapshot_due_ms` (it is late after that time),
    `retry_at_ms` (request one then), `min_sequence` (an older snapshot would not close the gap), `attempts` (resyncs
    since the topic was last stable), `live_since_ms`, `acknowledged` (the venue accepted the last subscribe),
    `has_snapshots` (it has sent one, so another can be requested), `fill_due_ms` (read the Info API then), `filling`
    (that read is under way).
    """

    def __init__(self, channel: wire.Channel, fields: dict[str, Any]) -> None:
        self.channel = channel
        self.fields = fields
        self.subject = channel.subject(fields)
        self.state: TopicState = "connecting"
        self.reason = "not connected yet"
        self.sequence = 0
        self.received_ms: int | None = None
        self.gaps = 0
        self.duplicates = 0
        self.resyncs = 0
        self.error: SubscriptionRefused | None = None
        self.data: ChannelState = state_of(channel)
        self.users = 0
        self.awaiting_snapshot = False
        self.snapshot_due_ms: int | None = None
        self.retry_at_ms: int | None = None
        self.min_sequence = 0
        self.attempts = 0
        self.live_since_ms = 0
        self.acknowledged = False
        self.has_snapshots = False
        self.fill_due_ms: int | None = None
        self.filling = False

    @property
    def is_live(self) -> bool:
        """True while messages are applied as they come."""
        return self.state in LIVE

    @property
    def has_data(self) -> bool:
        """True once a message was applied, or when there may be none for long: records come when something happens."""
        if self.received_ms is not None:
            return True
        waiting = self.filling or self.fill_due_ms is not None or self.snapshot_due_ms is not None
        return self.is_live and self.channel.quiet and not waiting

    def cancel_request(self, retry_at_ms: int | None = None) -> None:
        """Stop waiting for a snapshot, and request another one at `retry_at_ms` if that is given."""
        self.awaiting_snapshot, self.snapshot_due_ms, self.retry_at_ms = False, None, retry_at_ms

    def __repr__(self) -> str:
        return f"<Topic {self.subject} {self.state} sequence={self.sequence}>"


_ALIASES = {
    "symbol": ("symbol", "symbolName", "s"),
    "depth": ("depth",),
    "interval": ("intrvl", "interval"),
    "userAddress": ("userAddr", "userAddress"),
}
"""Subscription field → its names in data messages."""


def subscription_fields(channel: wire.Channel, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the subscription fields in a data message, as they are in the message itself or in its first item."""
    found: dict[str, Any] = {}
    for field in channel.fields:
        names = _ALIASES[field.name]
        for name in names:
            if data.get(name) is not None:
                found[field.name] = data[name]
                break
        else:
            # Some channels name the product or the account in each item only.
            item = _first_item(channel, data)
            value = next((item[name] for name in names if name in item), None)
            if value is not None:
                found[field.name] = value
    return found


def canonical_fields(channel: wire.Channel, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields as subscriptions have them, without those that no subscription can have."""
    return {field.name: value for field in channel.fields if (value := _canonical(field, found.get(field.name)))}


def _canonical(field: wire.SubscriptionField, value: Any) -> Any:
    """Return a value as a subscription has it, None for one that no subscription can have (an abridged address)."""
    try:
        if field.name == "depth":
            value = int(value)
        return field.check(str(value) if field.name == "interval" else value)
    except (TypeError, ValueError, MalformedRequest):
        return None


def _first_item(channel: wire.Channel, data: Mapping[str, Any]) -> Mapping[str, Any]:
    items = data.get(channel.key) if channel.key else None
    if channel.type == "aopState" and isinstance(items, dict):
        items = next((part for part in items.values() if part), None)
    if isinstance(items, list):
        items = items[0] if items else None
    return items if isinstance(items, dict) else {}
