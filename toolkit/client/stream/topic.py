"""One wire subscription: its state, its place in the sequence, and how messages are matched to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import SubscriptionRefused
from ...protocol.reads import feed as wire
from .state import ChannelState, Record, state_of

TopicState = Literal["connecting", "subscribing", "live", "resyncing", "reconnecting", "refused", "closed"]


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
    since the topic was last stable), `live_since_ms`.
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
    """Return the subscription fields found in a data message, in the message itself or in its first item."""
    found: dict[str, Any] = {}
    for field in channel.fields:
        names = _ALIASES[field.name]
        for name in names:
            if name in data:
                found[field.name] = _canonical(field.name, data[name])
                break
        else:
            # Some channels name the product or the account in each item only.
            item = _first_item(channel, data)
            value = next((item[name] for name in names if name in item), None)
            if value is not None:
                found[field.name] = _canonical(field.name, value)
    return found


def _canonical(name: str, value: Any) -> Any:
    if name == "interval":
        return str(value)
    return value.lower() if name == "userAddress" and isinstance(value, str) else value


def _first_item(channel: wire.Channel, data: Mapping[str, Any]) -> Mapping[str, Any]:
    items = data.get(channel.key) if channel.key else None
    if channel.type == "aopState" and isinstance(items, dict):
        items = next((part for part in items.values() if part), None)
    if isinstance(items, list):
        items = items[0] if items else None
    return items if isinstance(items, dict) else {}
