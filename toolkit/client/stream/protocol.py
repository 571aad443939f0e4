"""The client's side of the feed as a class without I/O: text in, text out, time in.

A shell owns the connection (a WebSocket, or a venue in this process) and does four things: it reports `opened`,
`received` and `lost`, calls `tick` when `deadline` has come, sends what `take` returns, and connects or closes when
`connect_at` or `must_close` say so. Everything else is decided here: heartbeat, back-off with jitter, subscribing
again, and a fresh snapshot after a gap, damage or silence. Times are whole milliseconds of one clock that never goes
back.
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
from .state import ChannelState, Record, state_of

TopicState = Literal["connecting", "subscribing", "live", "resyncing", "reconnecting", "refused", "closed"]
Phase = Literal["idle", "waiting", "connecting", "open"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How patient a feed is. All times in milliseconds.

    Attributes: `heartbeat_ms` (a ping after so long without sending one), `answer_ms` (how long a pong or a snapshot
    may take), `connect_ms`, `backoff_ms` and `backoff_max_ms` (first and longest pause before connecting again;
    doubled each time, times a random 0.5–1), `settle_ms` (a connection or subscription that held so long begins again
    with the first pause), `rate` (messages within a second, None for no limit), `silence_ms` (by channel; otherwise
    the channel's own), `consecutive` (sequences grow by one; False for a venue that only promises growing ones),
    `linger_ms` (a connection without subscriptions is closed after so long).
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


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """Something about a topic changed: `state` is its state then, `items` the new or changed records of an update."""

    topic: Topic
    kind: Literal["state", "snapshot", "incremental"]
    state: TopicState
    items: list[Record]
    sequence: int = 0
    stamp: int | None = None
    """The venue's time of an update in Unix ms, where the message has one."""


class Topic:
    """One wire subscription and everything it told.

    Attributes: `subject`; `state`; `reason` (why it is not live, in words); `sequence` (of the last applied message);
    `received_ms` (when that was); `gaps`, `duplicates`, `resyncs` (counts); `error` (why it was refused); `data`
    (the State built from the messages).
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
        self._asked = False
        """A snapshot was asked for and has not come."""
        self._floor = 0
        """The snapshot that was asked for has a larger sequence than this."""
        self._deadline: int | None = None
        """When the snapshot is late."""
        self._retry_at: int | None = None
        """When to ask again after a pause."""
        self._attempts = 0
        self._live_since = 0

    def __repr__(self) -> str:
        return f"<Topic {self.subject} {self.state} sequence={self.sequence}>"


class FeedProtocol:
    """Subscriptions over one connection that may break at any time.

    Attributes: `phase`; `topics` by subject; `connect_at` (connect then, None for not at all); `must_close` (a reason
    to drop the connection now, or ""); `reason` (why the last connection ended); `connections`, `reconnects` (counts).
    """

    def __init__(self, settings: Settings | None = None, rng: random.Random | None = None) -> None:
        self.settings = settings or Settings()
        self.phase: Phase = "idle"
        self.topics: dict[str, Topic] = {}
        self.connect_at: int | None = None
        self.must_close = ""
        self.attention = False
        """Set when something that came in needs the shell: to send, to close, or to wait for another deadline."""
        self.reason = ""
        self.connections = 0
        self.reconnects = 0
        self.attempts = 0
        """Connections that were tried in a row without one that held."""
        self._random = rng or random.Random()
        self._outbox: deque[tuple[str, str, str]] = deque()
        self._sent_at: deque[int] = deque()
        self._unanswered: deque[tuple[str, str]] = deque()
        self._events: list[FeedEvent] = []
        self._opened_at = 0
        self._ping_at: int | None = None
        self._pong_by: int | None = None
        self._alone_since: int | None = None

    # Subscriptions

    def want(self, channel: wire.Channel, fields: Mapping[str, Any], now: int) -> Topic:
        """Return the topic of a subscription, subscribing if nobody did yet. MalformedRequest for wrong fields."""
        checked = channel.parse({"type": channel.type, **fields})
        subject = channel.subject(checked)
        topic = self.topics.get(subject)
        if topic is None or topic.state == "refused":
            topic = self.topics[subject] = Topic(channel, checked)
            if self.phase == "open":
                self._ask(topic, now, "subscribing", "waiting for the first snapshot")
        topic.users += 1
        self._alone_since = None
        if self.phase == "idle":
            self.phase, self.connect_at = "waiting", now
        return topic

    def release(self, topic: Topic, now: int) -> None:
        """Say that one user of the topic is gone; the last one ends the subscription."""
        topic.users -= 1
        if topic.users > 0 or topic.state == "closed":
            return
        if self.topics.get(topic.subject) is topic:
            del self.topics[topic.subject]
            if self.phase == "open" and topic.state != "refused":
                self._forget_unsent(topic.subject)
                self._say("unsubscribe", topic)
        self._turn(topic, "closed", "closed")
        if not self.topics:
            self._alone_since = now
            if self.phase == "waiting":
                self.phase, self.connect_at = "idle", None

    # The connection

    def connecting(self, now: int) -> None:
        """The shell begins to connect."""
        self.phase, self.connect_at = "connecting", None

    def opened(self, now: int) -> None:
        """The connection stands: subscribe to everything that is wanted."""
        self.phase, self.connect_at, self.must_close = "open", None, ""
        self.connections += 1
        self._opened_at, self._ping_at, self._pong_by = now, now + self.settings.heartbeat_ms, None
        self._alone_since = None if self.topics else now
        self._outbox.clear()
        self._unanswered.clear()
        self._sent_at.clear()
        for topic in list(self.topics.values()):
            if topic.state != "refused":
                topic._attempts = 0
                topic._floor = 0
                self._ask(topic, now, "subscribing", "waiting for the first snapshot")

    def lost(self, now: int, reason: str) -> None:
        """The connection is gone, or could not be made. It is tried again if there is anything to hear."""
        if self.phase == "open":
            self.reconnects += 1
            if now - self._opened_at >= self.settings.settle_ms:
                self.attempts = 0
        self.reason, self.must_close = reason, ""
        self._outbox.clear()
        for topic in self.topics.values():
            if topic.state != "refused":
                topic._asked, topic._deadline, topic._retry_at = False, None, None
                self._turn(topic, "reconnecting", reason)
        wanted = any(topic.state != "refused" for topic in self.topics.values())
        self.phase = "waiting" if wanted else "idle"
        self.connect_at = now + self._pause(self.attempts) if wanted else None
        self.attempts += 1

    def received(self, text: str | bytes, now: int) -> None:
        """Take one message of the venue. Nothing that comes in raises; what is damaged leads to a fresh snapshot."""
        self._pong_by = None
        try:
            message = jsontext.decode(text)
            if not isinstance(message, dict):
                raise FeedError("a message that is no object")
        except (ValueError, RecursionError, FeedError):
            self._damaged()
            return
        try:
            self._message(message, now)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            self._damaged()

    def _damaged(self) -> None:
        self.must_close, self.attention = "the venue sent something that is no message", True

    def _message(self, message: dict[str, Any], now: int) -> None:
        data = message.get("data")
        if isinstance(data, dict) and message.get("channel") in wire.CHANNELS:
            topic = self._topic_of(wire.CHANNELS[message["channel"]], data)
            if topic is not None:
                self._data(topic, data, now)
        elif message.get("success") is True:
            self._answered(str(message.get("subject", "")))
        elif message.get("success") is False:
            self._refused(message, now)

    def interrupted(self, now: int) -> None:
        """Taking a message was broken off half-way (an interrupted cell): trust nothing, ask for everything anew."""
        for topic in self.topics.values():
            if topic.state == "live":
                topic._floor = topic.sequence
                self._renew(topic, now, "interrupted")

    def tick(self, now: int) -> None:
        """Do what is due: heartbeat, late answers, silence, pauses that are over."""
        if self.phase != "open":
            return
        if self._pong_by is not None and now >= self._pong_by:
            self.must_close = f"nothing came for {self.settings.answer_ms} ms after a ping"
            return
        if self._ping_at is not None and now >= self._ping_at:
            self._outbox.append((wire.PING, "", ""))
            self._ping_at = now + self.settings.heartbeat_ms
            if self._pong_by is None:
                self._pong_by = now + self.settings.answer_ms
        if self._alone_since is not None and now >= self._alone_since + self.settings.linger_ms:
            self.must_close = "no subscriptions"
        for topic in list(self.topics.values()):
            self._watch(topic, now)

    def deadline(self) -> int | None:
        """Return when `tick`, `take` or connecting is due next; None for never."""
        if self.phase == "waiting":
            return self.connect_at
        if self.phase != "open":
            return None
        due = [self._ping_at, self._pong_by]
        if self._alone_since is not None:
            due.append(self._alone_since + self.settings.linger_ms)
        if self._outbox and self._sent_at:
            due.append(self._sent_at[0] + 1000)
        for topic in self.topics.values():
            due += [topic._deadline, topic._retry_at]
            if topic.state == "live" and topic.received_ms is not None:
                due.append(topic.received_ms + self.silence_ms(topic))
        return min((at for at in due if at is not None), default=None)

    def take(self, now: int) -> list[str]:
        """Return the messages to send now, no more than the rate allows."""
        if self.phase != "open":
            return []
        sent, rate = self._sent_at, self.settings.rate
        while sent and sent[0] <= now - 1000:
            sent.popleft()
        out = []
        while self._outbox and (rate is None or len(sent) < rate):
            text, method, subject = self._outbox.popleft()
            if method:
                self._unanswered.append((method, subject))
            if rate is not None:
                sent.append(now)
            out.append(text)
        return out

    def events(self) -> list[FeedEvent]:
        """Return what happened since the last call, in order."""
        events, self._events = self._events, []
        return events

    def silence_ms(self, topic: Topic) -> int:
        """Return how long the topic may be quiet before it is asked for anew."""
        return self.settings.silence_ms.get(topic.channel.type, topic.channel.silence_ms)

    # What comes in

    def _topic_of(self, channel: wire.Channel, data: Mapping[str, Any]) -> Topic | None:
        """Find the subscription that a data message belongs to, from what it says about itself."""
        told = _told(channel, data)
        if len(told) == len(channel.fields):
            return self.topics.get(channel.subject(told))
        mine = [topic for topic in self.topics.values() if topic.channel is channel]
        return mine[0] if len(mine) == 1 else None

    def _data(self, topic: Topic, data: Mapping[str, Any], now: int) -> None:
        kind, sequence = data.get("type"), data.get("sequence")
        if kind not in ("snapshot", "incremental") or not isinstance(sequence, int):
            self._renew(topic, now, "a message without type and sequence")
            return
        try:
            if kind == "snapshot":
                self._snapshot(topic, data, sequence, now)
            else:
                self._increment(topic, data, sequence, now)
        except (FeedError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            self._renew(topic, now, f"a message that does not fit: {error}")

    def _snapshot(self, topic: Topic, data: Mapping[str, Any], sequence: int, now: int) -> None:
        late = sequence <= topic.sequence if topic.state == "live" else sequence < topic._floor
        if late and not (topic.state == "live" and topic._asked and sequence == topic.sequence):
            topic.duplicates += 1
            return
        items = topic.data.snapshot(data, merge=topic._asked)
        if topic.channel.style == "levels" and topic.data.book.crossed:  # type: ignore[attr-defined]
            raise FeedError("a crossed book")
        topic.sequence, topic.received_ms = sequence, now
        topic._asked, topic._deadline, topic._retry_at = False, None, None
        topic._live_since = now
        topic.reason = ""
        topic.state = "live"
        self._events.append(FeedEvent(topic, "snapshot", "live", items, sequence, _stamp(data)))

    def _increment(self, topic: Topic, data: Mapping[str, Any], sequence: int, now: int) -> None:
        if topic.state != "live":
            topic._floor = max(topic._floor, sequence)
            return
        if sequence <= topic.sequence:
            topic.duplicates += 1
            return
        if self.settings.consecutive and sequence != topic.sequence + 1:
            topic.gaps += 1
            topic._floor = sequence
            self._renew(topic, now, f"sequence {sequence} came after {topic.sequence}")
            return
        items = topic.data.increment(data)
        topic.sequence, topic.received_ms = sequence, now
        self._events.append(FeedEvent(topic, "incremental", "live", items, sequence, _stamp(data)))

    def _answered(self, subject: str) -> None:
        for position, (_, waiting) in enumerate(self._unanswered):
            if waiting == subject:
                del self._unanswered[position]
                return

    def _refused(self, message: Mapping[str, Any], now: int) -> None:
        method, text = message.get("method"), str(message.get("message", "refused"))
        subject = str(message.get("subject", ""))
        if not subject:
            subject = next((waiting for said, waiting in self._unanswered if said == method), "")
        self._answered(subject)
        topic = self.topics.get(subject)
        if topic is None:
            self.reason = text
        elif method == "subscribe":
            code = message.get("code")
            if message.get("retryAfterMs"):
                topic._deadline, topic._retry_at = None, now + int(message["retryAfterMs"])
                self.attention = True
                self._turn(topic, "resyncing", text)
                return
            topic.error = SubscriptionRefused(f"{subject}: {text}", code=code if isinstance(code, int) else 0)
            topic._asked, topic._deadline, topic._retry_at = False, None, None
            self._turn(topic, "refused", text)

    # What has to be done

    def _watch(self, topic: Topic, now: int) -> None:
        if topic._retry_at is not None and now >= topic._retry_at:
            self._ask(topic, now, "resyncing", topic.reason)
        elif topic._deadline is not None and now >= topic._deadline:
            if topic._attempts >= 3:
                self.must_close = f"no snapshot of {topic.subject} after {topic._attempts} requests"
            else:
                self._renew(topic, now, f"no snapshot came within {self.settings.answer_ms} ms")
        elif topic.state == "live" and topic.received_ms is not None and not topic._asked:
            if topic._attempts and now - topic._live_since >= self.settings.settle_ms:
                topic._attempts = 0
            quiet = now - topic.received_ms
            if quiet >= self.silence_ms(topic):
                topic._floor = topic.sequence
                if topic.channel.quiet:
                    self._ask(topic, now, "live", "")
                else:
                    self._renew(topic, now, f"nothing came for {quiet} ms")

    def _renew(self, topic: Topic, now: int, reason: str) -> None:
        """Ask for a fresh snapshot, at once the first time, after a growing pause when it happens again and again."""
        topic.resyncs += 1
        self.attention = True
        pause = 0 if topic._attempts == 0 else self._pause(topic._attempts - 1)
        if pause:
            topic._asked, topic._deadline, topic._retry_at = False, None, now + pause
            self._turn(topic, "resyncing", reason)
        else:
            self._ask(topic, now, "resyncing", reason)
        topic._attempts += 1

    def _ask(self, topic: Topic, now: int, state: TopicState, reason: str) -> None:
        fresh = state == "subscribing"
        if not fresh:
            self._forget_unsent(topic.subject)
            self._say("unsubscribe", topic)
        self._say("subscribe", topic)
        topic._asked, topic._retry_at = True, None
        topic._deadline = now + self.settings.answer_ms + self._queueing_ms()
        self._turn(topic, state, reason)

    def _queueing_ms(self) -> int:
        """Return how long the last message of the outbox may wait for its turn."""
        rate = self.settings.rate
        waiting = len(self._outbox) + len(self._sent_at)
        return 0 if rate is None or waiting <= rate else waiting * 1000 // rate

    def _say(self, method: str, topic: Topic) -> None:
        write = wire.subscribe if method == "subscribe" else wire.unsubscribe
        self._outbox.append((write(topic.channel, topic.fields), method, topic.subject))

    def _forget_unsent(self, subject: str) -> None:
        self._outbox = deque(one for one in self._outbox if one[2] != subject)

    def _turn(self, topic: Topic, state: TopicState, reason: str) -> None:
        changed = topic.state != state
        topic.state, topic.reason = state, reason
        if changed:
            self._events.append(FeedEvent(topic, "state", state, []))

    def _pause(self, attempts: int) -> int:
        """Return the pause before the next try: doubled each time, bounded, times a random 0.5–1."""
        longest = min(self.settings.backoff_max_ms, self.settings.backoff_ms * 2 ** min(attempts, 20))
        return int(longest * (0.5 + self._random.random() / 2))


def _told(channel: wire.Channel, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the subscription fields that a data message tells about itself."""
    found: dict[str, Any] = {}
    for one in channel.fields:
        for alias in _ALIASES[one.name]:
            if alias in data:
                found[one.name] = _canonical(one.name, data[alias])
                break
        else:
            value = next(
                (item[a] for item in _first_item(channel, data) for a in _ALIASES[one.name] if a in item), None
            )
            if value is not None:
                found[one.name] = _canonical(one.name, value)
    return found


def _stamp(data: Mapping[str, Any]) -> int | None:
    stamp = data.get("timestamp")
    return stamp if isinstance(stamp, int) else None


_ALIASES = {
    "symbol": ("symbol", "symbolName", "s"),
    "depth": ("depth",),
    "interval": ("intrvl", "interval"),
    "userAddress": ("userAddr", "userAddress"),
}


def _canonical(name: str, value: Any) -> Any:
    if name == "interval":
        return str(value)
    return value.lower() if name == "userAddress" and isinstance(value, str) else value


def _first_item(channel: wire.Channel, data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    held = data.get(channel.key) if channel.key else None
    if channel.type == "aopState" and isinstance(held, dict):
        held = next((part for part in held.values() if part), None)
    if isinstance(held, list):
        held = held[0] if held else None
    return [held] if isinstance(held, dict) else []
