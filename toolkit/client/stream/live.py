"""Live objects: what a subscription tells, kept up to date, readable at any time from any thread.

All of them have `frame()`, `wait()`, `on_update()`, `on_state()`, iteration (plain and `async for`), `close()`, and say
how they are: `state`, `stale`, `age_ms`, `gaps`, `errors`, `assert_healthy()`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ...errors import FeedError, StaleData
from ...protocol.reads import feed as wire
from ...protocol.reads.feed_records import RECORDS
from ...protocol.reads.info_records import Record
from .client import FeedClient, Job
from .protocol import FeedEvent
from .rows import FeedRow, moment, row

if TYPE_CHECKING:
    import pandas as pd

Self = TypeVar("Self", bound="Live")
Until = int | Callable[[Any], object] | None

WAIT_SECONDS = 10.0
"""How long `wait` and a first `frame` wait by default."""
_SLICE = 0.1
"""Waiting goes in slices of this many seconds, so that a cell can be interrupted on every system."""
_BACKLOG = 10_000
"""Items that an iteration which does not keep up holds back."""
_ERRORS = 100


@dataclass(frozen=True, slots=True)
class Update:
    """What a callback is told.

    Attributes: `live` (the object), `kind` ("snapshot" or "incremental"), `items` (new or changed records; of a book
    the changed levels, quantity 0 for one that went), `sequence`, `time` (the venue's, UTC, where the message has one).
    """

    live: Any
    kind: Literal["state", "snapshot", "incremental"]
    items: list[FeedRow]
    sequence: int
    time: datetime | None


class Live:
    """A live object. Made by `session.stream`.

    Reading never blocks, except that a first `frame` waits for the first data. Callbacks run one at a time and in
    order, on the feed's thread (with a manual clock: on the thread that advances); what they raise is kept in `errors`.
    """

    _yields_items = False

    def __init__(
        self, client: FeedClient, channel: wire.Channel, fields: dict[str, Any], *, record: Record | None = None
    ) -> None:
        self._client = client
        self._record = record or RECORDS[channel.type]
        self._errors: deque[BaseException] = deque(maxlen=_ERRORS)
        self._callbacks: list[Callable[[Update], object]] = []
        self._state_callbacks: list[Callable[[Any], object]] = []
        self._backlogs: list[weakref.ref[deque[Any]]] = []
        self._alarms: list[Callable[[], None]] = []
        self._updates = 0
        self._closed = False
        self._topic = client.subscribe(self, channel, fields)
        client.shell.pump()

    # How it is

    @property
    def subject(self) -> str:
        """The subscription, as the venue calls it."""
        return self._topic.subject

    @property
    def state(self) -> str:
        """connecting, subscribing, live, resyncing, reconnecting, refused or closed."""
        self._client.shell.pump()
        return "closed" if self._closed else self._topic.state

    @property
    def reason(self) -> str:
        """Why it is not live, in words; "" while it is."""
        return "closed" if self._closed else self._topic.reason

    @property
    def age_ms(self) -> int | None:
        """Milliseconds since the last message was applied; None before the first."""
        received = self._topic.received_ms
        return None if received is None else max(0, self._client.shell.now() - received)

    @property
    def stale(self) -> bool:
        """True when what it shows may not be what is: not live, or quiet for longer than it should be."""
        if self.state != "live":
            return True
        age = self.age_ms
        return age is None or (not self._topic.channel.quiet and age > self._patience())

    def _patience(self) -> int:
        return self._client.protocol.silence_ms(self._topic)

    @property
    def gaps(self) -> int:
        """Times that a sequence number was missing; each was mended by a fresh snapshot."""
        return self._topic.gaps

    @property
    def duplicates(self) -> int:
        """Messages that had come before and were ignored."""
        return self._topic.duplicates

    @property
    def resyncs(self) -> int:
        """Times that a fresh snapshot was asked for."""
        return self._topic.resyncs

    @property
    def sequence(self) -> int:
        """Sequence of the last message that was applied."""
        return self._topic.sequence

    @property
    def updates(self) -> int:
        """Updates so far."""
        self._client.shell.pump()
        return self._updates

    @property
    def errors(self) -> list[BaseException]:
        """What callbacks raised, the last 100."""
        return list(self._errors)

    def assert_healthy(self, max_age_ms: int | None = None) -> None:
        """Do nothing if it is live, not too old and no callback failed.

        Raises StaleData, SubscriptionRefused, or FeedError from what a callback raised. `max_age_ms` bounds the age;
        without it the channel's own patience does.
        """
        state, age = self.state, self.age_ms
        if self._topic.error is not None:
            raise self._topic.error
        if self._errors:
            first = self._errors[0]
            raise FeedError(
                f"{self.subject}: {len(self._errors)} callbacks failed, the first with {first!r}"
            ) from first
        if state != "live":
            raise StaleData(f"{self.subject} is {state}: {self.reason}")
        if max_age_ms is not None and (age is None or age > max_age_ms):
            raise StaleData(f"{self.subject} is {age} ms old; {max_age_ms} ms are allowed")
        if self.stale:
            raise StaleData(f"{self.subject} has been quiet for {age} ms; {self._patience()} ms are usual at most")

    # What it knows

    def frame(self, *, exact: bool = False, timeout: float | None = None) -> pd.DataFrame:
        """Return what is known as a DataFrame, with the same columns and dtypes when empty.

        Amounts are floats, or Decimal with `exact`. The first time it waits for data, `timeout` seconds at most (10;
        with a manual clock it does not wait). `attrs` has subject, state, stale, age_ms and sequence.
        Raises StaleData when no data came, SubscriptionRefused when the venue refused.
        """
        self._first(timeout)
        return self._frame(exact=exact)

    def _frame(self, *, exact: bool) -> pd.DataFrame:
        from ..reads.frames import from_rows

        with self._client.condition:
            raw = list(self._raw())
            sequence = self._topic.sequence
        made = from_rows(self._record, raw, exact=exact)
        made.attrs.update(
            subject=self.subject, state=self.state, stale=self.stale, age_ms=self.age_ms, sequence=sequence
        )
        return made

    def rows(self, count: int | None = None) -> list[FeedRow]:
        """Return the last `count` records (all by default), oldest first, with Decimal amounts."""
        self._client.shell.pump()
        with self._client.condition:
            raw = list(self._raw(count))
        return [row(self._record, one) for one in (raw if count is None else raw[max(0, len(raw) - count) :])]

    def _raw(self, count: int | None = None) -> Sequence[dict[str, Any]]:
        """Return the records as they came; with `count` it may leave out all but the last ones."""
        return self._topic.data.records()

    def __len__(self) -> int:
        self._client.shell.pump()
        with self._client.condition:
            return self._size()

    def _size(self) -> int:
        return len(self._raw())

    def __bool__(self) -> bool:
        return True

    # Waiting

    def wait(self: Self, until: Until = None, timeout: float | None = None) -> Self:
        """Wait, and return the object itself.

        `until`: nothing for the first data, or the next update when there is data; a number for so many further
        updates; a function of the object for as long as it is false. `timeout` in seconds (10 by default; with a
        manual clock nothing arrives by itself, so it does not wait).
        Raises StaleData when time is up, SubscriptionRefused when the venue refused, FeedError when it is closed.
        """
        done = self._condition(until)
        end = time.monotonic() + self._limit(timeout)
        while not self._is_done(done):
            left = end - time.monotonic()
            if left <= 0:
                raise self._too_late(until, timeout)
            self._may_wait()
            with self._client.condition:
                if not self._ended():
                    self._client.condition.wait(min(left, _SLICE))
        return self

    def _may_wait(self) -> None:
        if self._client.shell.here():
            raise FeedError(f"{self.subject}: a callback can't wait for the feed, which calls it; nothing could arrive")

    async def await_update(self: Self, until: Until = None, timeout: float | None = None) -> Self:
        """As `wait`, without blocking the event loop."""
        done = self._condition(until)
        end = time.monotonic() + self._limit(timeout)
        with self._alarm() as alarm:
            while not self._is_done(done):
                left = end - time.monotonic()
                if left <= 0:
                    raise self._too_late(until, timeout)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(alarm.wait(), left)
                alarm.clear()
        return self

    def _condition(self, until: Until) -> Callable[[], object]:
        self._client.shell.pump()
        if callable(until):
            return lambda: until(self)
        before = self._updates
        wanted = before + (until if until is not None else 1 if self._topic.received_ms is not None else 0)
        return lambda: self._topic.received_ms is not None and self._updates >= wanted

    def _is_done(self, done: Callable[[], object]) -> bool:
        self._client.shell.pump()
        if done():
            return True
        if self._topic.error is not None:
            raise self._topic.error
        if self._ended():
            raise FeedError(f"{self.subject} is closed")
        return False

    def _ended(self) -> bool:
        return self._closed or self._topic.state in ("closed", "refused")

    def _limit(self, timeout: float | None) -> float:
        if timeout is not None:
            return timeout
        return 0.0 if self._client.shell.manual else WAIT_SECONDS

    def _too_late(self, until: Until, timeout: float | None) -> StaleData:
        what = "the condition did not come true" if callable(until) else "no update came"
        if self._client.shell.manual and timeout is None:
            return StaleData(f"{self.subject}: {what}; with a manual clock nothing arrives until venue.advance(…)")
        return StaleData(f"{self.subject}: {what} within {self._limit(timeout):g} s; it is {self.state} {self.reason}")

    def _first(self, timeout: float | None) -> None:
        if self._topic.received_ms is None:
            self.wait(lambda live: live._topic.received_ms is not None, timeout)

    @contextlib.contextmanager
    def _alarm(self) -> Iterator[asyncio.Event]:
        """Give an event that is set, on this loop, whenever something happens."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def ring() -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(event.set)

        with self._client.condition:
            self._alarms.append(ring)
        try:
            yield event
        finally:
            with self._client.condition:
                self._alarms.remove(ring)

    # Being told

    Callback = TypeVar("Callback", bound=Callable[[Any], object])

    def on_update(self, callback: Callback, *, begin: bool = False) -> Callback:
        """Call `callback(update)` after every update from now on; returns it, so that it can be a decorator.

        With `begin` it is first called here and now with all that is known, as a snapshot, if there is anything.
        """
        with self._client.condition:
            self._callbacks.append(callback)
            known = self._known() if begin and self._topic.received_ms is not None else None
        if known is not None:
            self._job(callback, known)()
        return callback

    def _known(self) -> Update:
        items = [row(self._record, one) for one in self._raw()]
        return Update(self, "snapshot", items, self._topic.sequence, None)

    def on_state(self, callback: Callback) -> Callback:
        """Call `callback(live)` whenever `state` changes; returns it."""
        with self._client.condition:
            self._state_callbacks.append(callback)
        return callback

    def off(self, callback: Callable[..., object]) -> None:
        """Call it no more."""
        with self._client.condition:
            for callbacks in (self._callbacks, self._state_callbacks):
                while callback in callbacks:
                    callbacks.remove(callback)

    def __iter__(self) -> Iterator[Any]:
        """Go through what comes from now on, until it is closed.

        Channels of things that happen give each of them, in order; others give the object itself after an update, the
        newest when several came meanwhile. With a manual clock it ends when all that has arrived was given.
        """
        backlog = self._open_backlog()
        return self._iterate(backlog)

    def _iterate(self, backlog: deque[Any]) -> Iterator[Any]:
        while True:
            self._client.shell.pump()
            if backlog:
                yield backlog.popleft()
            elif self._over() or self._client.shell.manual:
                return
            else:
                self._may_wait()
                with self._client.condition:
                    if not backlog and not self._ended():
                        self._client.condition.wait(_SLICE)

    def __aiter__(self) -> AsyncIterator[Any]:
        """As plain iteration, awaited; with a manual clock it goes on waiting for somebody to advance."""
        return self._aiterate(self._open_backlog())

    async def _aiterate(self, backlog: deque[Any]) -> AsyncIterator[Any]:
        with self._alarm() as alarm:
            while True:
                self._client.shell.pump()
                alarm.clear()
                while backlog:
                    yield backlog.popleft()
                if self._over():
                    return
                if not backlog:
                    await alarm.wait()

    def _over(self) -> bool:
        if self._topic.error is not None:
            raise self._topic.error
        return self._ended()

    def _open_backlog(self) -> deque[Any]:
        backlog: deque[Any] = deque(maxlen=_BACKLOG if self._yields_items else 1)
        with self._client.condition:
            self._backlogs.append(weakref.ref(backlog))
        return backlog

    def _open_backlogs(self) -> list[deque[Any]]:
        """Return the backlogs of the iterations that still go on."""
        found = [(ref, ref()) for ref in self._backlogs]
        self._backlogs = [ref for ref, backlog in found if backlog is not None]
        return [backlog for _, backlog in found if backlog is not None]

    def note(self, event: FeedEvent, now: int) -> list[Job]:
        """Take in an event of the subscription; for the feed client."""
        for ring in self._alarms:
            ring()
        if event.kind == "state":
            return [self._job(callback, self) for callback in self._state_callbacks]
        if not self._concerns(event):
            return []
        self._updates += 1
        backlogs = self._open_backlogs()
        wanted = self._callbacks or (backlogs and self._yields_items)
        items = [row(self._record, one) for one in self._items(event)] if wanted else []
        for backlog in backlogs:
            backlog.extend(items if self._yields_items else [self])
        if not self._callbacks:
            return []
        stamp = None if event.stamp is None else moment(event.stamp, 1)
        update = Update(self, event.kind, items, event.sequence, stamp)
        return [self._job(callback, update) for callback in self._callbacks]

    def _concerns(self, event: FeedEvent) -> bool:
        return True

    def _items(self, event: FeedEvent) -> Sequence[dict[str, Any]]:
        return event.items

    def _job(self, callback: Callable[[Any], object], told: Any) -> Job:
        def run() -> None:
            try:
                callback(told)
            except Exception as error:
                self._errors.append(error)
            except BaseException as error:
                if self._client.shell.manual or not self._client.shell.here():
                    raise  # in the caller's own thread an interrupt is his
                self._errors.append(error)

        return run

    # Ending

    def close(self) -> None:
        """End it; what is known stays readable. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            self._client.release(self, self._topic)
            with self._client.condition:
                for ring in self._alarms:
                    ring()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self.state
        words = [type(self).__name__, self.subject, state]
        if state != "live" and self.reason not in ("", state):
            words.append(f"({self.reason})")
        if self.stale and state == "live":
            words.append("stale")
        if self.age_ms is not None:
            words.append(f"age {self.age_ms} ms")
        if self.gaps:
            words.append(f"gaps {self.gaps}")
        if self._errors:
            words.append(f"errors {len(self._errors)}, last {self._errors[-1]!r}")
        summary = self._summary()
        return f"<{' '.join(words)}{': ' + summary if summary else ''}>"

    def _summary(self) -> str:
        return f"{len(self)} rows"
