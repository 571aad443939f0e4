"""The client's side of the feed without I/O: text in, text out, time in.

A shell owns the connection (a WebSocket, or a venue in this process). It reports `opened`, `received` and `lost`, calls
`tick` when `deadline` has passed, sends what `data_to_send` returns, and connects or closes when `connect_at_ms` or
`must_close` say so. Everything else is decided here: heartbeat, back-off with jitter, subscribing again after a
reconnect, and a fresh snapshot after a gap, a damaged message or silence. Times are whole milliseconds of one
monotonic clock.

Not every channel sends a snapshot, `type` or `sequence` (see `protocol.reads.feed`). One without snapshots is live once
the venue acknowledges it; what it can't tell is then read elsewhere (`take_fills`, `filled`): history before the
subscription, and what was lost in a break, a gap or a long silence. One without sequences is live-unsequenced.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...errors import FeedError, SubscriptionRefused
from ...protocol import jsontext
from ...protocol.reads import feed as wire
from .state import BookState, Record
from .topic import FeedEvent, Topic, TopicState, canonical_fields, subscription_fields

Phase = Literal["idle", "waiting", "connecting", "open"]

_MAX_ATTEMPTS = 3
"""Resyncs in a row after which a late snapshot ends the connection."""
_FIRST_SNAPSHOT = "waiting for the first snapshot"
_UNSEQUENCED = "without sequences a lost message can't be noticed"


@dataclass(frozen=True, slots=True)
class Settings:
    """Time-outs, back-off and rate limit of a feed. All times in milliseconds.

    Attributes: `heartbeat_ms` (interval between pings), `answer_ms` (how long a pong or a snapshot may take),
    `connect_ms`, `backoff_ms` and `backoff_max_ms` (first and longest pause before reconnecting; doubled each time,
    times a random 0.5–1), `settle_ms` (a connection or subscription that held so long starts again with the first
    pause), `rate` (messages within a second, None for no limit), `silence_ms` (by channel; by default the channel's
    own), `consecutive` (sequences grow by one; False for a venue that only promises growing ones), `linger_ms` (a
    connection without subscriptions is closed after so long).
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
    linger_ms: int = 10_000


class FeedProtocol:
    """Subscriptions over one connection that may break at any time.

    Attributes: `phase`; `topics` by subject; `connect_at_ms` (when to connect, None for not at all); `must_close` (a
    reason to drop the connection now, or ""); `needs_shell` (a received message made something to send, a reason to
    close or a new deadline); `reason` (why the last connection ended); `reconnects` (a count);
    `attempts` (connections in a row that did not last).
    """

    def __init__(self, settings: Settings | None = None, rng: random.Random | None = None) -> None:
        self.settings = settings or Settings()
        self.phase: Phase = "idle"
        self.topics: dict[str, Topic] = {}
        self.connect_at_ms: int | None = None
        self.must_close = ""
        self.needs_shell = False
        self.reason = ""
        self.reconnects = 0
        self.attempts = 0
        self._random = rng or random.Random()
        self._outbox: deque[tuple[str, str, str]] = deque()
        """(text, method, subject) of messages that wait to be sent; a ping has no method."""
        self._sent_at_ms: deque[int] = deque()
        self._unanswered: deque[tuple[str, str]] = deque()
        """(method, subject) of messages the venue has not acknowledged or refused, oldest first."""
        self._events: list[FeedEvent] = []
        self.fills_history = False
        """True where a shell reads from the Info API what the feed can't tell."""
        self._opened_at_ms = 0
        self._ping_at_ms: int | None = None
        self._pong_due_ms: int | None = None
        self._unused_since_ms: int | None = None

    def subscribe(self, channel: wire.Channel, fields: Mapping[str, Any], now_ms: int) -> Topic:
        """Return the topic of a subscription, shared with its other users. Raises MalformedRequest for wrong fields."""
        checked = channel.parse({"type": channel.type, **fields})
        subject = channel.subject(checked)
        topic = self.topics.get(subject)
        if topic is None or topic.state == "refused":
            topic = self.topics[subject] = Topic(channel, checked)
            if self.phase == "open":
                self._request_snapshot(topic, now_ms, "subscribing", _FIRST_SNAPSHOT)
        topic.users += 1
        self._unused_since_ms = None
        if self.phase == "idle":
            self.phase, self.connect_at_ms = "waiting", now_ms
        return topic

    def unsubscribe(self, topic: Topic, now_ms: int) -> None:
        """Remove one user of the topic; the last one ends the subscription."""
        topic.users -= 1
        if topic.users > 0 or topic.state == "closed":
            return
        # A refused topic may have been replaced by a newer one of the same subject, which must stay.
        if self.topics.get(topic.subject) is topic:
            del self.topics[topic.subject]
            if self.phase == "open" and topic.state != "refused":
                self._discard_unsent(topic.subject)
                self._enqueue("unsubscribe", topic)
        self._set_state(topic, "closed", "closed")
        if not self.topics:
            self._unused_since_ms = now_ms
            if self.phase == "waiting":
                self.phase, self.connect_at_ms = "idle", None

    def connecting(self) -> None:
        """Note that the shell starts to connect."""
        self.phase, self.connect_at_ms = "connecting", None

    def opened(self, now_ms: int) -> None:
        """Note that the connection is open, and subscribe to every topic."""
        self.phase, self.connect_at_ms, self.must_close = "open", None, ""
        self._opened_at_ms, self._ping_at_ms, self._pong_due_ms = now_ms, now_ms + self.settings.heartbeat_ms, None
        self._unused_since_ms = None if self.topics else now_ms
        self._outbox.clear()
        self._unanswered.clear()
        self._sent_at_ms.clear()
        for topic in list(self.topics.values()):
            if topic.state != "refused":
                topic.attempts = 0
                # A new connection may number its messages from anywhere, so the old minimum does not apply.
                topic.min_sequence = topic.sequence = 0
                self._request_snapshot(topic, now_ms, "subscribing", _FIRST_SNAPSHOT)

    def lost(self, now_ms: int, reason: str) -> None:
        """Note that the connection ended or could not be made, and schedule the next one if there are topics."""
        if self.phase == "open":
            self.reconnects += 1
            # Only a connection that lasted resets the back-off: a venue that drops each one at once is not flooded.
            if now_ms - self._opened_at_ms >= self.settings.settle_ms:
                self.attempts = 0
        self.reason, self.must_close = reason, ""
        self._outbox.clear()
        active = [topic for topic in self.topics.values() if topic.state != "refused"]
        for topic in active:
            topic.cancel_request()
            self._set_state(topic, "reconnecting", reason)
        self.phase = "waiting" if active else "idle"
        self.connect_at_ms = now_ms + self._backoff_ms(self.attempts) if active else None
        self.attempts += 1

    def received(self, text: str | bytes, now_ms: int) -> None:
        """Take one message of the venue. Never raises; a damaged message leads to a fresh snapshot or a reconnect."""
        self._pong_due_ms = None  # any message proves that the connection is alive
        try:
            message = jsontext.decode(text)
            if not isinstance(message, dict):
                raise FeedError("the message is not an object")
            self._dispatch(message, now_ms)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, FeedError):
            self.must_close, self.needs_shell = "the venue sent a malformed message", True

    def interrupted(self, now_ms: int) -> None:
        """Request fresh snapshots of all live topics: an interrupt half-way through a message may have damaged any."""
        for topic in self.topics.values():
            if topic.is_live:
                topic.min_sequence = topic.sequence
                self._repair(topic, now_ms, "interrupted")

    def tick(self, now_ms: int) -> None:
        """Do what is due: heartbeat, late answers, silence, retries."""
        if self.phase != "open":
            return
        if self._pong_due_ms is not None and now_ms >= self._pong_due_ms:
            self.must_close = f"nothing came for {self.settings.answer_ms} ms after a ping"
            return
        if self._ping_at_ms is not None and now_ms >= self._ping_at_ms:
            self._outbox.append((wire.PING, "", ""))
            self._ping_at_ms = now_ms + self.settings.heartbeat_ms
            # The first unanswered ping sets the deadline; later pings would otherwise postpone it for ever.
            if self._pong_due_ms is None:
                self._pong_due_ms = now_ms + self.settings.answer_ms
        if self._unused_since_ms is not None and now_ms >= self._unused_since_ms + self.settings.linger_ms:
            self.must_close = "no subscriptions"
        for topic in list(self.topics.values()):
            self._check(topic, now_ms)

    def deadline(self) -> int | None:
        """Return the time in ms at which `tick`, `data_to_send` or connecting is due next; None for never."""
        if self.phase == "waiting":
            return self.connect_at_ms
        if self.phase != "open":
            return None
        due = [self._ping_at_ms, self._pong_due_ms]
        if self._unused_since_ms is not None:
            due.append(self._unused_since_ms + self.settings.linger_ms)
        if self._outbox and self._sent_at_ms:
            due.append(self._sent_at_ms[0] + 1000)
        for topic in self.topics.values():
            due += [topic.snapshot_due_ms, topic.retry_at_ms, topic.fill_due_ms]
            if topic.is_live and topic.received_ms is not None and not topic.awaiting_snapshot:
                due.append(topic.received_ms + self.silence_ms(topic))
        return min((at_ms for at_ms in due if at_ms is not None), default=None)

    def data_to_send(self, now_ms: int) -> list[str]:
        """Return the messages to send now, no more than the rate allows."""
        if self.phase != "open":
            return []
        sent, rate = self._sent_at_ms, self.settings.rate
        while sent and sent[0] <= now_ms - 1000:
            sent.popleft()
        texts = []
        while self._outbox and (rate is None or len(sent) < rate):
            text, method, subject = self._outbox.popleft()
            if method:
                self._unanswered.append((method, subject))
            if rate is not None:
                sent.append(now_ms)
            texts.append(text)
        return texts

    def events(self) -> list[FeedEvent]:
        """Return the events since the last call, in order."""
        events, self._events = self._events, []
        return events

    def take_fills(self, now_ms: int) -> list[Topic]:
        """Return the topics whose records should be read from the Info API now; `filled` takes each result."""
        due = [
            topic
            for topic in self.topics.values()
            if topic.fill_due_ms is not None and topic.fill_due_ms <= now_ms and not topic.filling
        ]
        for topic in due:
            topic.fill_due_ms, topic.filling = None, True
        return due

    def filled(self, topic: Topic, data: Mapping[str, Any] | None, now_ms: int, failure: str = "") -> None:
        """Take what the Info API has of a topic, in the form of a snapshot; None when it has nothing or failed."""
        topic.filling = False
        if self.topics.get(topic.subject) is not topic or self.phase != "open":
            return
        self.needs_shell = True
        if topic.channel.opens_with_snapshot:
            if data is None:
                self.must_close = f"no snapshot of {topic.subject}, and {failure or 'nothing else has it'}"
                return
        elif not topic.is_live:
            return
        unknown = failure or ("" if data is not None else "earlier records are not known")
        items = [] if data is None else topic.data.fill(data)
        if topic.channel.opens_with_snapshot:
            topic.cancel_request()
        self._set_live(topic, now_ms, sequenced=topic.sequence > 0 and not topic.channel.opens_with_snapshot)
        if topic.state != "live" or unknown:
            topic.reason = "; ".join(part for part in (_UNSEQUENCED if topic.state != "live" else "", unknown) if part)
        topic.received_ms = now_ms if data is not None else topic.received_ms
        self._events.append(FeedEvent(topic, "snapshot", topic.state, items, topic.sequence))

    def silence_ms(self, topic: Topic) -> int:
        """Return how long the topic may be silent before a fresh snapshot is requested."""
        return self.settings.silence_ms.get(topic.channel.type, topic.channel.silence_ms)

    def _dispatch(self, message: dict[str, Any], now_ms: int) -> None:
        data = message.get("data")
        if isinstance(data, dict) and message.get("channel") in wire.CHANNELS:
            topic = self._find_topic(wire.CHANNELS[message["channel"]], data)
            if topic is not None:
                self._apply(topic, data, now_ms)
        elif message.get("success") is True:
            self._acknowledge(str(message.get("subject", "")), message.get("method"), now_ms)
        elif message.get("success") is False:
            self._refuse(message, now_ms)

    def _find_topic(self, channel: wire.Channel, data: Mapping[str, Any]) -> Topic | None:
        """Return the topic of a data message, None when it can't be determined."""
        found = subscription_fields(channel, data)
        if len(found) == len(channel.fields):
            topic = self.topics.get(channel.subject(found))
            if topic is not None:
                return topic
        # Only now the slower way: addresses in either case, numbers as text, values that are abridged or missing.
        found = canonical_fields(channel, found)
        if len(found) == len(channel.fields):
            topic = self.topics.get(channel.subject(found))
            if topic is not None:
                return topic
        # A venue may publish fewer levels than were asked for, so the depth alone does not exclude a topic; one that is
        # not acknowledged could get the last messages of another depth.
        candidates = [
            topic
            for topic in self.topics.values()
            if topic.channel is channel
            and all(topic.fields[name] == value for name, value in found.items() if name != "depth")
            and ("depth" not in found or topic.fields["depth"] == found["depth"] or topic.acknowledged)
        ]
        return candidates[0] if len(candidates) == 1 else None

    def _apply(self, topic: Topic, data: Mapping[str, Any], now_ms: int) -> None:
        kind, sequence = data.get("type"), _sequence(data)
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
            self._repair(topic, now_ms, f"a message that does not fit: {error}")

    def _apply_snapshot(self, topic: Topic, data: Mapping[str, Any], sequence: int | None, now_ms: int) -> None:
        requested = topic.awaiting_snapshot or not topic.is_live
        # A snapshot older than `min_sequence` was on its way before the gap, so it would not close it.
        if sequence is not None and (sequence < topic.min_sequence if requested else sequence <= topic.sequence):
            topic.duplicates += 1
            # The same one again says that nothing has changed since.
            if topic.is_live and sequence == topic.sequence:
                topic.received_ms = now_ms
            return
        items = topic.data.snapshot(data, merge=topic.awaiting_snapshot)
        if isinstance(topic.data, BookState) and topic.data.book.crossed:
            raise FeedError("a crossed book")
        topic.has_snapshots = True
        self._update(topic, "snapshot", items, data, sequence, now_ms)
        topic.cancel_request()

    def _apply_increment(self, topic: Topic, data: Mapping[str, Any], sequence: int | None, now_ms: int) -> None:
        if topic.awaiting_snapshot and self._starts(topic, sequence):
            # The venue sends no snapshot of this channel: it starts with this message.
            if topic.acknowledged:
                topic.cancel_request()
        elif not topic.is_live:
            # This increment is dropped, so a snapshot from before it would leave it out.
            topic.min_sequence = max(topic.min_sequence, sequence or 0)
            return
        elif sequence is not None and topic.sequence:
            if sequence <= topic.sequence:
                topic.duplicates += 1
                return
            if self.settings.consecutive and sequence != topic.sequence + 1:
                topic.gaps += 1
                topic.min_sequence = sequence
                reason = f"sequence {sequence} came after {topic.sequence}"
                if topic.has_snapshots or topic.channel.opens_with_snapshot:
                    self._resync(topic, now_ms, reason)
                    return
                self._lose(topic, now_ms)
        items = topic.data.increment(data, sequenced=sequence is not None)
        self._update(topic, "incremental", items, data, sequence, now_ms)

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
        topic.sequence, topic.received_ms = sequence or 0, now_ms
        if sequence is None or topic.state != "live":
            self._set_live(topic, now_ms, sequenced=sequence is not None, quietly=kind == "snapshot")
        self._events.append(FeedEvent(topic, kind, topic.state, items, topic.sequence, _timestamp_ms(data)))

    def _set_live(self, topic: Topic, now_ms: int, *, sequenced: bool, quietly: bool = False) -> None:
        """Set a live state; the event of a snapshot (`quietly`) says so itself."""
        state: TopicState = "live" if sequenced else "live-unsequenced"
        if topic.state == state:
            return
        if not topic.is_live:
            topic.live_since_ms = now_ms
        reason = "" if sequenced else _UNSEQUENCED
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
        """Note that records may be missing; they are read from the Info API where it has them."""
        topic.data.add_hole()
        if self.fills_history:
            topic.fill_due_ms, self.needs_shell = now_ms, True
        elif not topic.reason.endswith("not known"):
            topic.reason = "; ".join(part for part in (topic.reason, "earlier records are not known") if part)

    def _acknowledge(self, subject: str, method: Any, now_ms: int, *, accepted: bool = True) -> None:
        for position, (sent, waiting) in enumerate(self._unanswered):
            if waiting.casefold() == subject.casefold() and method in (sent, None):
                del self._unanswered[position]
                topic = self.topics.get(waiting)
                if accepted and sent == "subscribe" and topic is not None and topic.awaiting_snapshot:
                    topic.acknowledged = True
                    if topic.is_live:
                        topic.min_sequence = max(topic.min_sequence, topic.sequence)
                    elif not topic.has_snapshots and _needs_no_data(topic.channel):
                        self._begin(topic, now_ms)
                return

    def _refuse(self, message: Mapping[str, Any], now_ms: int) -> None:
        method, text = message.get("method"), str(message.get("message", "refused"))
        subject = str(message.get("subject", ""))
        if not subject:
            # A refusal may omit the subject; the venue answers in order, so the oldest message of this method is meant.
            subject = next((waiting for sent, waiting in self._unanswered if sent == method), "")
        self._acknowledge(subject, method, now_ms, accepted=False)
        topic = self.topics.get(subject)
        if topic is None:
            self.reason = text
        elif method == "subscribe":
            if message.get("retryAfterMs"):
                topic.snapshot_due_ms, topic.retry_at_ms = None, now_ms + int(message["retryAfterMs"])
                self.needs_shell = True
                self._set_state(topic, "resyncing", text)
                return
            code = message.get("code")
            topic.error = SubscriptionRefused(f"{subject}: {text}", code=code if isinstance(code, int) else 0)
            topic.cancel_request()
            self._set_state(topic, "refused", text)

    def _check(self, topic: Topic, now_ms: int) -> None:
        """Do what is due for one topic: a retry, a late snapshot, silence."""
        if topic.retry_at_ms is not None and now_ms >= topic.retry_at_ms:
            self._request_snapshot(topic, now_ms, "resyncing", topic.reason)
        elif topic.snapshot_due_ms is not None and now_ms >= topic.snapshot_due_ms:
            self._miss_snapshot(topic, now_ms)
        elif topic.is_live and topic.received_ms is not None and not topic.awaiting_snapshot:
            if topic.attempts and now_ms - topic.live_since_ms >= self.settings.settle_ms:
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
                    if self.fills_history and not topic.filling:
                        topic.fill_due_ms = now_ms

    def _miss_snapshot(self, topic: Topic, now_ms: int) -> None:
        """Request a late snapshot again; after several requests do without it, or with another connection."""
        if topic.attempts < _MAX_ATTEMPTS:
            self._resync(topic, now_ms, f"no snapshot came within {self.settings.answer_ms} ms")
        elif _needs_no_data(topic.channel):
            topic.has_snapshots = False
            self._begin(topic, now_ms)
        elif topic.channel.style == "levels" or not self.fills_history or not topic.acknowledged:
            self.must_close = f"no snapshot of {topic.subject} after {topic.attempts} requests"
        else:
            topic.snapshot_due_ms, topic.fill_due_ms, self.needs_shell = None, now_ms, True

    def _repair(self, topic: Topic, now_ms: int, reason: str) -> None:
        """Request a fresh snapshot; where there is none, read elsewhere what a damaged message may have said."""
        if topic.is_live and not topic.has_snapshots and _needs_no_data(topic.channel):
            self._lose(topic, now_ms)
        else:
            self._resync(topic, now_ms, reason)

    def _resync(self, topic: Topic, now_ms: int, reason: str) -> None:
        """Request a fresh snapshot, at once the first time and after growing pauses when it happens repeatedly."""
        topic.resyncs += 1
        self.needs_shell = True
        pause_ms = 0 if topic.attempts == 0 else self._backoff_ms(topic.attempts - 1)
        if pause_ms:
            topic.cancel_request(retry_at_ms=now_ms + pause_ms)
            self._set_state(topic, "resyncing", reason)
        else:
            self._request_snapshot(topic, now_ms, "resyncing", reason)
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

    def _set_state(self, topic: Topic, state: TopicState, reason: str) -> None:
        changed = topic.state != state
        topic.state, topic.reason = state, reason
        if changed:
            self._events.append(FeedEvent(topic, "state", state, []))

    def _backoff_ms(self, attempts: int) -> int:
        """Return the pause before the next attempt: doubled each time, bounded, times a random 0.5–1."""
        longest_ms = min(self.settings.backoff_max_ms, self.settings.backoff_ms * 2 ** min(attempts, 20))
        return int(longest_ms * (0.5 + self._random.random() / 2))


def _needs_no_data(channel: wire.Channel) -> bool:
    """Return whether a channel is of use before its first message: its records come when something happens."""
    return channel.style == "append" or not channel.sequenced


def _sequence(data: Mapping[str, Any]) -> int | None:
    """Return the sequence of a message, as a number or as text; None without one."""
    sequence = data.get("sequence")
    if type(sequence) is int:  # nearly always
        return sequence
    if isinstance(sequence, str) and sequence.isascii() and sequence.isdigit():
        return int(sequence)
    return None


def _timestamp_ms(data: Mapping[str, Any]) -> int | None:
    timestamp = data.get("timestamp")
    if isinstance(timestamp, str) and timestamp.isascii() and timestamp.isdigit():
        return int(timestamp)
    return timestamp if isinstance(timestamp, int) else None
