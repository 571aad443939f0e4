"""The client's side of the feed without I/O: text in, text out, time in.

A shell owns the connection (a WebSocket, or a venue in this process). It reports `opened`, `received` and `lost`, calls
`tick` when `deadline` has passed, sends what `data_to_send` returns, and connects or closes when `connect_at_ms` or
`must_close` say so. Everything else is decided here: heartbeat, back-off with jitter, subscribing again after a
reconnect, and a fresh snapshot after a gap, a damaged message or silence. Times are whole milliseconds of one
monotonic clock.

Records that a channel does not show are read elsewhere (`take_fills`, `filled`): those from before the subscription,
and those lost in a break, a gap or a long silence. The module `updates` applies messages to their topics.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

from ...errors import FeedError, MalformedRequest, SubscriptionRefused
from ...protocol import jsontext
from ...protocol.reads import feed as wire
from ...protocol.reads.channel import Channel
from ...protocol.reads.wire_values import whole
from .updates import (
    UNSEQUENCED,
    FeedEvent,
    Settings,
    Topic,
    TopicUpdates,
    canonical_fields,
    subscription_fields,
)

Phase = Literal["idle", "waiting", "connecting", "open"]

_FIRST_SNAPSHOT = "waiting for the first snapshot"


class FeedProtocol(TopicUpdates):
    """Subscriptions over one connection that may break at any time.

    In addition to the attributes of TopicUpdates it has `phase`, `topics` by subject, `connect_at_ms` (when to connect,
    None for never), `reason` (why the last connection ended) and `reconnects` (a count). `attempts` counts the
    connections in a row that did not last. `heard_ms` is when the last message of any kind came, None while not
    connected. A ping is sent after `watch_ms` without a message, None waits for the heartbeat.

    Parameters
    ----------
    settings : Settings, optional
        Time-outs and limits (default: `Settings()`).
    rng : Random, optional
        Randomness of the back-off (default: a new one).
    """

    def __init__(self, settings: Settings | None = None, rng: random.Random | None = None) -> None:
        super().__init__(settings, rng)
        self.phase: Phase = "idle"
        self.topics: dict[str, Topic] = {}
        self.connect_at_ms: int | None = None
        self.reason = ""
        self.reconnects = 0
        self.attempts = 0
        self.heard_ms: int | None = None
        self.watch_ms: int | None = None
        self._unanswered: deque[tuple[str, str]] = deque()
        """(method, subject) of messages the venue has not acknowledged or refused, oldest first."""
        self._opened_at_ms = 0
        self._ping_at_ms = 0
        self._pong_due_ms: int | None = None
        self._unused_since_ms: int | None = None

    def subscribe(self, channel: Channel, fields: Mapping[str, Any], now_ms: int) -> Topic:
        """Return the topic of a subscription, shared with its other users.

        Parameters
        ----------
        channel : Channel
            Declaration of the channel.
        fields : mapping
            Fields of the subscription.
        now_ms : int
            The present in ms, on the protocol's clock.

        Raises
        ------
        MalformedRequest
            For wrong fields.
        """
        try:
            checked = channel.parse({"type": channel.type, **fields})
        except MalformedRequest as error:
            raise error.renamed(error.field.removeprefix("subscription.")) from None
        subject = channel.subject(checked)
        topic = self.topics.get(subject)
        # A new call may be accepted: the product may be listed by now.
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
        """Remove one user of the topic. The last one ends the subscription.

        Parameters
        ----------
        topic : Topic
            Topic of the subscription.
        now_ms : int
            The present in ms, on the protocol's clock.
        """
        topic.users -= 1
        if topic.users > 0 or topic.state == "closed":
            return
        # A refused topic may have been replaced by a newer one of the same subject, which must stay.
        if self.topics.get(topic.subject) is topic:
            del self.topics[topic.subject]
            if topic.state != "refused":
                self._discard_unsent(topic.subject)
                self._enqueue("unsubscribe", topic)
        self._set_state(topic, "closed", "closed")
        if not self.topics:
            self._unused_since_ms = now_ms
            # Nothing is left to connect for.
            if self.phase == "waiting":
                self.phase, self.connect_at_ms = "idle", None

    def connecting(self) -> None:
        """Note that the shell starts to connect."""
        self.phase, self.connect_at_ms = "connecting", None

    def opened(self, now_ms: int) -> None:
        """Note that the connection is open, and subscribe to every topic.

        Parameters
        ----------
        now_ms : int
            The present in ms, on the protocol's clock.
        """
        self.phase, self.connect_at_ms, self.must_close = "open", None, ""
        self._opened_at_ms, self._ping_at_ms, self._pong_due_ms = now_ms, now_ms + self.settings.heartbeat_ms, None
        self.heard_ms = now_ms
        self._unused_since_ms = None if self.topics else now_ms
        self._outbox.clear()
        self._unanswered.clear()
        self._sent_at_ms.clear()
        for topic in list(self.topics.values()):
            if topic.state != "refused":
                topic.attempts = 0
                # A new connection may number its messages from anywhere, so the old minimum does not apply.
                topic.min_sequence, topic.sequence, topic.damaged = 0, 0, False
                self._request_snapshot(topic, now_ms, "subscribing", _FIRST_SNAPSHOT)

    def lost(self, now_ms: int, reason: str) -> None:
        """Note that the connection ended or could not be made, and schedule the next one if there are topics.

        Parameters
        ----------
        now_ms : int
            The present in ms, on the protocol's clock.
        reason : str
            Why it ended.
        """
        if self.phase == "open":
            self.reconnects += 1
            # Only a connection that lasted resets the back-off: a venue that drops each one immediately is not flooded.
            if now_ms - self._opened_at_ms >= self.settings.settle_ms:
                self.attempts = 0
        self.reason, self.must_close, self.heard_ms = reason, "", None
        active = [topic for topic in self.topics.values() if topic.state != "refused"]
        for topic in active:
            self._set_state(topic, "reconnecting", reason)
        self.phase = "waiting" if active else "idle"
        self.connect_at_ms = now_ms + self._backoff_ms(self.attempts) if active else None
        self.attempts += 1

    def received(self, text: str | bytes, now_ms: int) -> None:
        """Take one message of the venue. Never raises, a damaged message leads to a fresh snapshot or a reconnect.

        Parameters
        ----------
        text : str or bytes
            Message of the venue, JSON text.
        now_ms : int
            The present in ms, on the protocol's clock.
        """
        if self._pong_due_ms is not None and self.watch_ms is not None:
            self.needs_shell = True  # which sleeps until the answer is overdue: the next ping of a watch is due before
        self._pong_due_ms, self.heard_ms = None, now_ms  # any message proves that the connection is alive
        try:
            message = jsontext.decode(text)
            if not isinstance(message, dict):
                raise FeedError("the message is not an object")
            self._dispatch(message, now_ms)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, FeedError):
            self.must_close, self.needs_shell = "the venue sent a malformed message", True

    def interrupted(self, now_ms: int) -> None:
        """Request fresh snapshots of all live topics: an interrupt half-way through a message may have damaged any.

        Parameters
        ----------
        now_ms : int
            The present in ms, on the protocol's clock.
        """
        for topic in self.topics.values():
            if topic.is_live:
                topic.min_sequence = topic.sequence
                self._repair(topic, now_ms, "interrupted")

    def tick(self, now_ms: int) -> None:
        """Do what is due: heartbeat, late answers, silence, retries.

        Parameters
        ----------
        now_ms : int
            The present in ms, on the protocol's clock.
        """
        if self.phase != "open":
            return
        if self._pong_due_ms is not None and now_ms >= self._pong_due_ms:
            self.must_close = f"nothing came for {self.settings.answer_ms} ms after a ping"
            return
        if now_ms >= self._next_ping_ms():
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
        """Return the time in ms at which `tick`, `data_to_send` or connecting is due next, None for never."""
        if self.phase == "waiting":
            return self.connect_at_ms
        if self.phase != "open":
            return None
        due: list[int | None] = [self._next_ping_ms(), self._pong_due_ms]
        if self._unused_since_ms is not None:
            due.append(self._unused_since_ms + self.settings.linger_ms)
        if self._outbox and self._sent_at_ms:
            due.append(self._sent_at_ms[0] + 1000)
        for topic in self.topics.values():
            due += [topic.snapshot_due_ms, topic.retry_at_ms, topic.fill_due_ms, topic.compare_ms]
            # A shell sleeps until this time, so silence is noticed without a message.
            if topic.is_live and topic.received_ms is not None and not topic.awaiting_snapshot:
                due.append(topic.received_ms + self.silence_ms(topic))
        return min((at_ms for at_ms in due if at_ms is not None), default=None)

    def _next_ping_ms(self) -> int:
        heard_ms, watch_ms = self.heard_ms, self.watch_ms
        if watch_ms is None or heard_ms is None or self._pong_due_ms is not None:
            return self._ping_at_ms
        return min(self._ping_at_ms, heard_ms + watch_ms)

    def data_to_send(self, now_ms: int) -> list[str]:
        """Return the messages to send now, no more than the rate allows.

        Parameters
        ----------
        now_ms : int
            The present in ms, on the protocol's clock.
        """
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
        """Return the topics whose records should be read from the Info API now. `filled` takes each result.

        Parameters
        ----------
        now_ms : int
            The present in ms, on the protocol's clock.
        """
        due = []
        for topic in self.topics.values():
            if topic.fill_due_ms is not None and topic.fill_due_ms <= now_ms and not topic.filling:
                topic.fill_due_ms, topic.filling = None, True
                due.append(topic)
        return due

    def filled(self, topic: Topic, data: Mapping[str, Any] | None, now_ms: int, failure: str = "") -> None:
        """Take what the Info API has of a topic, in the form of a snapshot, None when it has nothing or failed.

        Parameters
        ----------
        topic : Topic
            Topic of the subscription.
        data : mapping or None
            Data of the Info API, in the form of a snapshot.
        now_ms : int
            The present in ms, on the protocol's clock.
        failure : str, optional
            Why it could not be read (default: "").
        """
        topic.filling, compared, topic.comparing = False, topic.comparing, False
        # The read took a while: the subscription or the connection may have ended meanwhile.
        if self.topics.get(topic.subject) is not topic or self.phase != "open":
            return
        self.needs_shell = True
        if compared:
            self._tell_time(topic, now_ms)
            if topic.is_live and data is not None and (items := topic.data.correct(data)):
                self._events.append(FeedEvent(topic, "snapshot", topic.state, items, topic.sequence))
            return
        if topic.channel.opens_with_snapshot:
            if data is None:
                self.must_close = f"no snapshot of {topic.subject}, and {failure or 'nothing else has it'}"
                return
        elif not topic.is_live:
            return
        unknown = failure or ("" if data is not None else "earlier records are not known")
        dropped = topic.data.dropped
        self._tell_time(topic, now_ms)
        items = [] if data is None else topic.data.fill(data)
        if topic.channel.opens_with_snapshot:
            topic.cancel_request()
            if topic.data.dropped > dropped:
                topic.received_ms = now_ms
                self._damage(topic, None, now_ms)
                return
            self._set_live(topic, now_ms, sequenced=False)
        topic.damaged = topic.damaged and data is None
        topic.reason = ", and ".join(filter(None, (UNSEQUENCED if topic.state != "live" else "", unknown)))
        topic.received_ms = now_ms if data is not None else topic.received_ms
        self._events.append(FeedEvent(topic, "snapshot", topic.state, items, topic.sequence))

    def _dispatch(self, message: dict[str, Any], now_ms: int) -> None:
        data, channel = message.get("data"), wire.CHANNELS.get(message.get("channel", ""))
        if channel is not None:
            given = data if isinstance(data, dict) else {}
            topic = self._find_topic(channel, given)
            if topic is not None:
                self._apply(topic, data, now_ms)
            elif len(canonical_fields(channel, subscription_fields(channel, given))) < len(channel.fields):
                # It does not say whose it is, so it may have been any one's.
                for one in [one for one in self.topics.values() if one.channel is channel and one.is_live]:
                    self._misread(one, "message without its subscription", now_ms)
        elif message.get("success") is True:
            self._acknowledge(str(message.get("subject", "")), message.get("method"), now_ms)
        elif message.get("success") is False:
            self._refuse(message, now_ms)

    def _find_topic(self, channel: Channel, data: Mapping[str, Any]) -> Topic | None:
        """Return the topic of a data message, None when it can't be determined."""
        found: Mapping[str, Any] = data
        # The second is slower: addresses in either case, numbers as text, values that are abridged or missing.
        for fields_of in (subscription_fields, canonical_fields):
            found = fields_of(channel, found)
            topic = self.topics.get(channel.subject(found)) if len(found) == len(channel.fields) else None
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

    def _acknowledge(self, subject: str, method: object, now_ms: int, *, accepted: bool = True) -> None:
        for position, (sent, waiting) in enumerate(self._unanswered):
            if waiting.casefold() == subject.casefold() and method in (sent, None):
                del self._unanswered[position]
                topic = self.topics.get(waiting)
                if accepted and sent == "subscribe" and topic is not None and topic.awaiting_snapshot:
                    topic.acknowledged = True
                    if topic.is_live:
                        topic.min_sequence = max(topic.min_sequence, topic.sequence)
                    else:
                        topic.min_sequence = 0  # what comes from now on is newer than any gap
                        if not topic.has_snapshots and topic.channel.needs_no_data:
                            self._begin(topic, now_ms)
                return

    def _refuse(self, message: Mapping[str, Any], now_ms: int) -> None:
        method, text = message.get("method"), str(message.get("message", "refused"))
        # A refusal may omit the subject; the venue answers in order, so the oldest message of this method is meant.
        named = str(message.get("subject", "")).casefold()
        asked = (waiting for sent, waiting in self._unanswered if sent == method and named in ("", waiting.casefold()))
        if (subject := next(asked, None)) is None:
            self.reason = text  # nobody asked for it
            return
        self._acknowledge(subject, method, now_ms, accepted=False)
        topic = self.topics.get(subject)
        if topic is None:
            self.reason = text
        elif method == "subscribe":
            if wait_ms := max(0, min(whole(message.get(wire.RETRY_AFTER) or 0), self.settings.retry_max_ms)):
                topic.snapshot_due_ms, topic.retry_at_ms = None, now_ms + wait_ms
                self.needs_shell = True
                self._set_state(topic, "resyncing", text)
                return
            code = message.get("code")
            topic.error = SubscriptionRefused(f"{subject}: {text}", code=code if isinstance(code, int) else 0)
            topic.cancel_request()
            self._set_state(topic, "refused", text)
