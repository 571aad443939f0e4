"""Applies messages, silence and time to one topic: sequences, snapshots, gaps, and what to request next. No I/O.

Not every channel sends a snapshot, `type` or `sequence` (see `protocol.reads.feed`). One without snapshots is live once
the venue acknowledges it. Records not shown are then read elsewhere. One without sequences is live-unsequenced.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...errors import FeedError, MalformedRequest, SubscriptionRefused
from ...protocol.reads import feed as wire
from ...protocol.reads.channel import Channel, SubscriptionField
from .channel_state import ChannelState, Record, state_of

_MAX_REPEATS = 3
"""Messages in a row with sequences from before the last one, after which that one is doubted."""
RECONCILE_MS = 30_000
"""How often what the feed says of an account is compared with the Info API."""
SETTLED_MS = 15_000
"""What the feed has said that recently is not corrected: the Info API may be as far behind."""
_MAX_ATTEMPTS = 3
"""Resyncs in a row after which a late snapshot ends the connection."""
TRANSIT_MS = 2_000
"""So long at least, on this machine's clock, a topic may be silent however fast the venue's time passes."""
UNSEQUENCED = "without sequences a lost message can't be noticed"


@dataclass(frozen=True, slots=True)
class Settings:
    """Time-outs, back-off and rate limit of a feed. All times are in ms.

    The pause before reconnecting is `backoff_ms` at first and doubles each time up to `backoff_max_ms`, times a random
    0.5–1.

    Parameters
    ----------
    heartbeat_ms : int, optional
        Interval between pings (default: 15,000).
    answer_ms : int, optional
        How long a pong or a snapshot may take (default: 5,000).
    connect_ms : int, optional
        How long connecting may take (default: 10,000).
    backoff_ms : int, optional
        First pause before reconnecting (default: 250).
    backoff_max_ms : int, optional
        Longest pause before reconnecting (default: 30,000).
    settle_ms : int, optional
        A connection or subscription that held for this long starts again with the first pause (default: 5,000).
    rate : int, optional
        Most messages within a second, None for no limit (default: 40).
    silence_ms : mapping, optional
        How long a channel may be silent, by channel (default: the channel's own).
    consecutive : bool, optional
        Whether sequences grow by one (default: True). It is False for a venue that only promises growing ones.
    retry_max_ms : int, optional
        Longest wait before a refused subscription is tried again, however long the venue asks for (default: 60,000).
    linger_ms : int, optional
        A connection without subscriptions is closed after this long (default: 10,000).
    """

    heartbeat_ms: int = 15_000
    answer_ms: int = 5_000
    connect_ms: int = 10_000
    backoff_ms: int = 250
    backoff_max_ms: int = 30_000
    settle_ms: int = 5_000
    rate: int | None = 40
    silence_ms: Mapping[str, int] = field(default_factory=dict)
    consecutive: bool = True
    retry_max_ms: int = 60_000
    linger_ms: int = 10_000


class TopicUpdates:
    """The part of a FeedProtocol that applies messages to topics and requests fresh snapshots.

    `must_close` is a reason to drop the connection now, or "". `needs_shell`: a received message made something to
    send, a reason to close or a new deadline. `fills_history`: a shell reads from the Info API what the feed does not
    show. `speed` returns how fast the venue's time passes on the clock of `now_ms`.

    Parameters
    ----------
    settings : Settings, optional
        Time-outs and limits (default: `Settings()`).
    rng : Random, optional
        Randomness of the back-off (default: a new one).
    """

    def __init__(self, settings: Settings | None = None, rng: random.Random | None = None) -> None:
        self.settings = settings or Settings()
        self.must_close = ""
        self.needs_shell = False
        self.fills_history = False
        self.speed: Callable[[], float] = lambda: 1.0
        self.present: Callable[[], int] | None = None
        """Returns the venue's time in Unix ms, which no row is later than. None where it is not known."""
        self._random = rng or random.Random()
        self._outbox: deque[tuple[str, str, str]] = deque()
        """(text, method, subject) of messages that wait to be sent. A ping has no method."""
        self._sent_at_ms: deque[int] = deque()
        self._events: list[FeedEvent] = []

    def silence_ms(self, topic: Topic) -> int:
        """Return how long the topic may be silent before a fresh snapshot is requested, on the protocol's clock.

        The limit is in the venue's time, and allows for the transit of messages. While that is stopped, there is none.

        Parameters
        ----------
        topic : Topic
            Topic of the subscription.
        """
        usual, speed = self.settings.silence_ms.get(topic.channel.type, topic.channel.silence_ms), self.speed()
        return max(round(usual / speed), min(usual, TRANSIT_MS)) if speed else 1 << 53

    def _apply(self, topic: Topic, data: object, now_ms: int) -> None:
        if not isinstance(data, dict):
            self._misread(topic, "data is not an object", now_ms)
            return
        self._tell_time(topic, now_ms)
        kind, sequence = data.get("type"), _whole(data.get("sequence"))
        if sequence is None and topic.sequence and topic.channel.sequenced:
            self._repair(topic, now_ms, "a message without the sequence that the others had")
            return
        if kind not in ("snapshot", "incremental"):
            # Without a type a book, or an account, begins with its whole state; increments follow.
            first = topic.channel.opens_with_snapshot and (topic.awaiting_snapshot or not topic.is_live)
            kind = "snapshot" if first else "incremental"
        try:
            if kind == "snapshot":
                self._apply_snapshot(topic, data, sequence, now_ms)
            else:
                self._apply_increment(topic, data, sequence, now_ms)
        except (FeedError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            self._misread(topic, f"a message that does not fit: {error}", now_ms)

    def _tell_time(self, topic: Topic, now_ms: int) -> None:
        topic.data.heard_ms = now_ms
        # Time that is moved by hand may have passed unseen.
        topic.data.now_ms = self.present() if self.present is not None and self.speed() else None

    def _misread(self, topic: Topic, why: str, now_ms: int) -> None:
        """Count a message that can't be read, and ask again for what it may have said."""
        topic.data.drop(topic.channel.type, why)
        self._repair(topic, now_ms, why)

    def _apply_snapshot(self, topic: Topic, data: Mapping[str, Any], sequence: int | None, now_ms: int) -> None:
        requested = topic.awaiting_snapshot or not topic.is_live
        # A snapshot older than `min_sequence` was on its way before the gap, so it would not close it.
        if sequence is not None and (sequence < topic.min_sequence if requested else sequence <= topic.sequence):
            # The same one again says that nothing has changed since.
            if topic.is_live and sequence == topic.sequence:
                topic.duplicates += 1
                topic.received_ms = now_ms
            else:
                self._repeat(topic, now_ms)
            return
        taken, dropped = topic.data.taken, topic.data.dropped
        items = topic.data.snapshot(data, merge=topic.awaiting_snapshot)
        topic.has_snapshots = True
        whole, some = topic.data.dropped == dropped, topic.data.taken > taken
        if whole or some:
            self._update(topic, "snapshot", items, data, sequence, now_ms)
            topic.cancel_request()
        # What is left of a list is shown as live; an account without one of its positions is not.
        if not whole and (topic.channel.opens_with_snapshot or not some):
            self._damage(topic, sequence, now_ms)

    def _apply_increment(self, topic: Topic, data: Mapping[str, Any], sequence: int | None, now_ms: int) -> None:
        if topic.awaiting_snapshot and self._starts(topic, sequence):
            # The venue sends no snapshot of this channel: it starts with this message.
            if topic.acknowledged:
                topic.cancel_request()
        elif topic.damaged and self._continues(topic, sequence):
            if not topic.awaiting_snapshot:
                topic.cancel_request()
        elif not topic.is_live:
            # This increment is dropped, so a snapshot from before it would leave it out.
            topic.min_sequence = max(topic.min_sequence, sequence or 0)
            return
        elif sequence is not None and topic.sequence:
            if sequence <= topic.sequence:
                self._repeat(topic, now_ms)
                return
            if self.settings.consecutive and sequence != topic.sequence + 1:
                topic.gaps += 1
                topic.min_sequence = sequence
                reason = f"sequence {sequence} came after {topic.sequence}"
                if topic.has_snapshots or topic.channel.opens_with_snapshot:
                    self._resync(topic, now_ms, reason)
                    return
                self._lose(topic, now_ms)
        taken, dropped = topic.data.taken, topic.data.dropped
        items = topic.data.increment(data, sequenced=sequence is not None)
        if topic.data.dropped == dropped or topic.data.taken > taken:
            self._update(topic, "incremental", items, data, sequence, now_ms)
        if topic.data.dropped > dropped:
            self._damage(topic, sequence, now_ms)

    def _repeat(self, topic: Topic, now_ms: int) -> None:
        """Count a message from before the last one. After several in a row it is the last one that is wrong."""
        topic.duplicates += 1
        topic.repeats += 1
        if topic.repeats > _MAX_REPEATS and topic.is_live:
            topic.min_sequence = 0
            self._repair(topic, now_ms, f"{topic.repeats} messages in a row came after sequence {topic.sequence}")

    def _continues(self, topic: Topic, sequence: int | None) -> bool:
        """Return whether an increment is complete without the one that could not be read, and comes after it."""
        follows = sequence is None or sequence == topic.sequence + 1
        return follows and not topic.is_live and topic.channel.style in ("latest", "append")

    def _damage(self, topic: Topic, sequence: int | None, now_ms: int) -> None:
        """Note that rows were left out, and read elsewhere what they may have said, at most once in `answer_ms`."""
        topic.sequence = sequence or 0
        # The other records of a list remain true while the one that is missing is asked for.
        is_list = topic.channel.style in ("append", "keyed") and not topic.channel.opens_with_snapshot
        if topic.is_live and topic.has_snapshots and is_list:
            self._resync(topic, now_ms, topic.data.fault, quietly=True)
        else:
            self._repair(topic, now_ms, topic.data.fault)
        topic.damaged = True
        if topic.fill_due_ms is not None and topic.mended_ms is not None:
            topic.fill_due_ms = max(now_ms, topic.mended_ms + self.settings.answer_ms)
        topic.mended_ms = topic.fill_due_ms

    def _starts(self, topic: Topic, sequence: int | None) -> bool:
        """Return whether an increment may be the first message of a topic that waits for a snapshot."""
        if topic.channel.opens_with_snapshot:
            return False
        # Before the acknowledgement it may belong to an earlier subscription, which a snapshot will follow.
        return topic.acknowledged or not topic.has_snapshots or sequence is None

    def _update(
        self,
        topic: Topic,
        kind: Literal["snapshot", "incremental"],
        items: list[Record],
        data: Mapping[str, Any],
        sequence: int | None,
        now_ms: int,
    ) -> None:
        """Note that a message was applied."""
        topic.sequence, topic.received_ms, topic.repeats = sequence or 0, now_ms, 0
        # A record that was left out of a table is still missing after the next one, until it is read again.
        again = topic.awaiting_snapshot or topic.retry_at_ms is not None or topic.fill_due_ms is not None
        topic.damaged &= topic.channel.style == "keyed" and kind != "snapshot" and (again or topic.filling)
        for name in topic.channel.also:
            if name not in data:
                topic.data.noticed.setdefault((topic.channel.type, name), "")
        if sequence is None or topic.state != "live":
            self._set_live(topic, now_ms, sequenced=sequence is not None, quietly=kind == "snapshot")
        # That of a candle is its start, in seconds.
        time_ms = None if "timestamp" in topic.channel.identity else _whole(data.get("timestamp"))
        self._events.append(FeedEvent(topic, kind, topic.state, items, topic.sequence, time_ms))

    def _set_live(self, topic: Topic, now_ms: int, *, sequenced: bool, quietly: bool = False) -> None:
        """Set a live state. The event of a snapshot (`quietly`) says so itself."""
        state: TopicState = "live" if sequenced else "live-unsequenced"
        if topic.state == state:
            return
        if not topic.is_live:
            topic.live_since_ms = now_ms
            self._plan_comparison(topic, now_ms)
        reason = "" if sequenced else UNSEQUENCED
        if quietly:
            topic.state, topic.reason = state, reason
        else:
            self._set_state(topic, state, reason)

    def _begin(self, topic: Topic, now_ms: int) -> None:
        """Make a topic live that need not wait for data, and have its history read elsewhere."""
        topic.snapshot_due_ms = None
        self._set_live(topic, now_ms, sequenced=topic.channel.sequenced)
        self._lose(topic, now_ms)

    def _lose(self, topic: Topic, now_ms: int) -> None:
        """Note that records may be missing. They are read from the Info API where it has them."""
        topic.data.add_hole()
        topic.comparing = False
        if self.fills_history:
            topic.fill_due_ms, self.needs_shell = now_ms, True
        elif not topic.reason.endswith("not known"):
            topic.reason = ", and ".join(filter(None, (topic.reason, "earlier records are not known")))

    def _plan_comparison(self, topic: Topic, now_ms: int) -> None:
        """Have what a topic says of an account compared with the Info API later, where it has the same."""
        due = topic.channel.private and self.fills_history
        topic.compare_ms, topic.comparing = now_ms + RECONCILE_MS if due else None, False

    def _compare(self, topic: Topic, now_ms: int) -> None:
        """Have the Info API read. What the feed has said since shortly before stands."""
        self._plan_comparison(topic, now_ms)
        if topic.is_live and not topic.filling and topic.fill_due_ms is None:
            topic.data.fresh = {name: at for name, at in topic.data.fresh.items() if at > now_ms - SETTLED_MS}
            topic.fill_due_ms, topic.comparing, self.needs_shell = now_ms, True, True

    def _check(self, topic: Topic, now_ms: int) -> None:
        """Do what is due for one topic: a retry, a late snapshot, silence, a comparison."""
        if topic.compare_ms is not None and now_ms >= topic.compare_ms:
            self._compare(topic, now_ms)
        if topic.retry_at_ms is not None and now_ms >= topic.retry_at_ms:
            self._request_snapshot(topic, now_ms, topic.state, topic.reason)
        elif topic.snapshot_due_ms is not None and now_ms >= topic.snapshot_due_ms:
            self._miss_snapshot(topic, now_ms)
        elif topic.is_live and topic.received_ms is not None and not topic.awaiting_snapshot:
            if now_ms - topic.live_since_ms >= self.settings.settle_ms:
                topic.attempts = 0
            silent_ms = now_ms - topic.received_ms
            if silent_ms >= self.silence_ms(topic):
                topic.min_sequence = topic.sequence
                if not topic.channel.quiet:
                    self._resync(topic, now_ms, f"nothing came for {silent_ms} ms")
                elif topic.has_snapshots:
                    self._request_snapshot(topic, now_ms, topic.state, topic.reason)
                else:
                    # Counted from now: a read of the Info API takes a moment, and may fail.
                    topic.received_ms = now_ms
                    if self.fills_history and not topic.filling and not topic.comparing:
                        topic.fill_due_ms = now_ms

    def _miss_snapshot(self, topic: Topic, now_ms: int) -> None:
        """Request a late snapshot again. After several requests do without it, or with another connection."""
        if topic.attempts < _MAX_ATTEMPTS:
            self._resync(topic, now_ms, f"no snapshot came within {self.settings.answer_ms} ms")
        elif topic.channel.needs_no_data:
            topic.has_snapshots = False
            self._begin(topic, now_ms)
        elif topic.channel.style == "levels" or not self.fills_history or not topic.acknowledged:
            self.must_close = f"no snapshot of {topic.subject} after {topic.attempts} requests"
        else:
            topic.snapshot_due_ms, topic.fill_due_ms, self.needs_shell = None, now_ms, True

    def _repair(self, topic: Topic, now_ms: int, reason: str) -> None:
        """Request a fresh snapshot. Where there is none, read elsewhere what a damaged message may have said."""
        if topic.is_live and not topic.has_snapshots and topic.channel.needs_no_data:
            self._lose(topic, now_ms)
        else:
            self._resync(topic, now_ms, reason)

    def _resync(self, topic: Topic, now_ms: int, reason: str, *, quietly: bool = False) -> None:
        """Request a fresh snapshot, immediately the first time and after growing pauses when it happens repeatedly.

        `quietly` leaves the topic live meanwhile.
        """
        state: TopicState = topic.state if quietly else "resyncing"
        topic.resyncs += 1
        self.needs_shell = True
        pause_ms = 0 if topic.attempts == 0 else self._backoff_ms(topic.attempts - 1)
        if pause_ms:
            topic.cancel_request(retry_at_ms=now_ms + pause_ms)
            self._set_state(topic, state, reason)
        else:
            self._request_snapshot(topic, now_ms, state, reason)
        topic.attempts += 1

    def _request_snapshot(self, topic: Topic, now_ms: int, state: TopicState, reason: str) -> None:
        # The venue sends a snapshot only in answer to a subscribe, so an existing subscription is ended first.
        if state != "subscribing":
            self._discard_unsent(topic.subject)
            self._enqueue("unsubscribe", topic)
        self._enqueue("subscribe", topic)
        topic.awaiting_snapshot, topic.acknowledged, topic.retry_at_ms = True, False, None
        topic.snapshot_due_ms = now_ms + self.settings.answer_ms + self._queueing_ms()
        self._set_state(topic, state, reason)

    def _set_state(self, topic: Topic, state: TopicState, reason: str) -> None:
        changed = topic.state != state
        topic.state, topic.reason = state, reason
        if changed:
            self._events.append(FeedEvent(topic, "state", state, []))

    def _queueing_ms(self) -> int:
        """Return how long the rate limit may hold back the last message of the outbox."""
        rate = self.settings.rate
        waiting = len(self._outbox) + len(self._sent_at_ms)
        return 0 if rate is None or waiting <= rate else waiting * 1000 // rate

    def _enqueue(self, method: Literal["subscribe", "unsubscribe"], topic: Topic) -> None:
        write = wire.subscribe if method == "subscribe" else wire.unsubscribe
        self._outbox.append((write(topic.channel, topic.fields), method, topic.subject))

    def _discard_unsent(self, subject: str) -> None:
        self._outbox = deque(entry for entry in self._outbox if entry[2] != subject)

    def _backoff_ms(self, attempts: int) -> int:
        """Return the pause before the next attempt: doubled each time, bounded, times a random 0.5–1."""
        longest_ms = min(self.settings.backoff_max_ms, self.settings.backoff_ms * 2 ** min(attempts, 20))
        return int(longest_ms * (0.5 + self._random.random() / 2))


def _whole(value: object) -> int | None:
    """Return a number that came as a number or as text, None for anything else."""
    if type(value) is int:  # nearly always
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else None


TopicState = Literal[
    "connecting", "subscribing", "live", "live-unsequenced", "resyncing", "reconnecting", "refused", "closed"
]
LIVE: tuple[TopicState, ...] = ("live", "live-unsequenced")
"""States in which messages are applied as they come. Without sequences a lost message can't be noticed."""


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """A change of a topic.

    Parameters
    ----------
    topic : Topic
        Topic that changed.
    kind : {"state", "snapshot", "incremental"}
        "state", or "snapshot" or "incremental" for an update.
    state : TopicState
        State of the topic afterwards.
    items : list of Record
        New or changed records of an update.
    sequence : int, optional
        Sequence of the message (default: 0).
    """

    topic: Topic
    kind: Literal["state", "snapshot", "incremental"]
    state: TopicState
    items: list[Record]
    sequence: int = 0
    timestamp_ms: int | None = None
    """The venue's time of an update in Unix ms, if the message has one."""


class Topic:
    """One wire subscription and the state built from its messages.

    Its attributes are `subject`, `state`, `reason` (why it is not live, in words), `sequence` (of the last applied
    message), `received_ms` (when that message came), `gaps`, `duplicates`, `resyncs` (counts). `error` is why the venue
    refused it, `data` the ChannelState built from the messages, `users` the number of live objects that share it.

    For the protocol: `awaiting_snapshot` (one was requested), `snapshot_due_ms` (it is late after that time),
    `retry_at_ms` (request one then), `min_sequence` (an older snapshot would not close the gap). `attempts` are resyncs
    since the topic was last stable. `live_since_ms`, `acknowledged` (the venue accepted the last subscribe),
    `has_snapshots` (it has sent one, so another can be requested). `fill_due_ms` (read the Info API then), `filling`
    (that read is in progress). `damaged`: the last message had rows that could not be read, and nothing has mended it.
    `mended_ms`: when the Info API was last queried for such rows. `repeats`: messages in a row from before the
    last one. `compare_ms` (compare with the Info API then), `comparing` (what the feed has said since then stands).

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : dict
        Fields of the subscription.
    """

    def __init__(self, channel: Channel, fields: dict[str, Any]) -> None:
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
        self.data: ChannelState = state_of(channel, fields)
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
        self.damaged = False
        self.mended_ms: int | None = None
        self.repeats = 0
        self.compare_ms: int | None = None
        self.comparing = False

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
        """Stop waiting for a snapshot, and request another one later.

        Parameters
        ----------
        retry_at_ms : int, optional
            When to request it, in ms on the protocol's clock (default: never).
        """
        self.awaiting_snapshot, self.snapshot_due_ms, self.retry_at_ms = False, None, retry_at_ms

    def __repr__(self) -> str:
        return f"<Topic {self.subject} {self.state} sequence={self.sequence}>"


def subscription_fields(channel: Channel, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the subscription fields in a data message, as they are in the message itself or in its first item.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    data : mapping
        Data of the message.
    """
    found: dict[str, Any] = {}
    for declared in channel.fields:
        names = declared.names
        for name in names:
            if data.get(name) is not None:
                found[declared.name] = data[name]
                break
        else:
            # Some channels name the product or the account in each item only.
            item = _first_item(channel, data)
            value = next((item[name] for name in names if name in item), None)
            if value is not None:
                found[declared.name] = value
    return found


def canonical_fields(channel: Channel, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as subscriptions have them, without those that no subscription can have.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    found : mapping
        Fields of a message or of its first item.
    """
    return {field.name: value for field in channel.fields if (value := _canonical(field, found.get(field.name)))}


def _canonical(field: SubscriptionField, value: Any) -> Any:
    """Return a value as a subscription has it, None for one that no subscription can have (an abridged address)."""
    try:
        if field.name == "depth":
            value = int(value)
        return field.check(str(value) if field.name == "interval" else value)
    except (TypeError, ValueError, MalformedRequest):
        return None


def _first_item(channel: Channel, data: Mapping[str, Any]) -> Mapping[str, Any]:
    items = data.get(channel.key)
    if channel.parts and isinstance(items, dict):
        items = next((part for part in items.values() if part), None)
    if isinstance(items, list):
        items = items[0] if items else None
    return items if isinstance(items, dict) else {}
