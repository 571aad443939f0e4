"""Live objects: the data of a subscription, kept up to date, readable at any time from any thread.

All of them have `frame()`, `wait()`, `on_update()`, `on_state()`, iteration (`for` and `async for`), `close()`, and
report their health: `state`, `stale`, `age_ms`, `gaps`, `errors`, `assert_healthy()`.
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
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ...errors import BadAnswer, FeedError, StaleData
from ...guards import no_keys
from ...numerals import Timeout, wait_seconds
from ...protocol.reads.channel import Channel
from ...protocol.reads.feed import RECORDS
from ...protocol.reads.rows import Record
from ...tracebacks import trim
from .channel_state import FeedRow, moment, row
from .client import Callback, FeedClient
from .updates import LIVE, FeedEvent, Topic

if TYPE_CHECKING:
    import pandas as pd

Self = TypeVar("Self", bound="Live")
Until = int | Callable[[Any], object] | None

WAIT_SECONDS = 10.0
"""How long `wait` and a first `frame` wait by default."""
_WAIT_SLICE_SECONDS = 0.1
"""Longest single wait on the condition: on Windows a wait can't be interrupted before it ends."""
_MAX_BACKLOG = 10_000
"""Items kept for an iteration that does not keep up."""
_MAX_ERRORS = 100


@dataclass(frozen=True, slots=True)
class Update:
    """An update of a live object, the argument of its callbacks.

    Parameters
    ----------
    live : Live
        The live object.
    kind : {"state", "snapshot", "incremental"}
        "snapshot" or "incremental", or "state" for a change of its state.
    items : list of FeedRow
        New or changed records. A book's are changed levels, quantity 0 for a removed one.
    sequence : int
        Sequence of the message.
    time : datetime or None
        The venue's time in UTC, None if the message has none.
    """

    live: Any
    kind: Literal["state", "snapshot", "incremental"]
    items: list[FeedRow]
    sequence: int
    time: datetime | None


class Live:
    """A live object. Made by `session.stream`.

    Reading never blocks, except that a first `frame` waits for the first data. Callbacks run one at a time and in
    order, on the feed's thread (with a manual clock: on the thread that advances). `errors` keeps their exceptions.

    Parameters
    ----------
    client : FeedClient
        Client of the feed.
    channel : Channel
        Declaration of the channel.
    fields : dict
        Fields of the subscription.
    record : Record, optional
        Declaration of its records.
    """

    _yields_items = False
    _topic: Topic

    def __init__(
        self, client: FeedClient, channel: Channel, fields: dict[str, Any], *, record: Record | None = None
    ) -> None:
        self._client = client
        self._record = record or RECORDS[channel.type]
        self._errors: deque[BaseException] = deque(maxlen=_MAX_ERRORS)
        self._callbacks: list[Callable[[Update], object]] = []
        self._beginning: list[tuple[Callable[[Update], object], deque[Update]]] = []
        """Callbacks that are still taking their first snapshot, and the updates that came meanwhile."""
        self._state_callbacks: list[Callable[[Any], object]] = []
        self._backlogs: list[weakref.ref[deque[Any]]] = []
        self._wakers: list[Callback] = []
        self._updates = 0
        self._closed = False
        self._seen_state = ""
        # Last, because an event may reach the object from here on.
        client.subscribe(self, channel, fields)
        client.shell.pump()

    @property
    def subject(self) -> str:
        """The venue's name of the subscription."""
        return self._topic.subject

    @property
    def state(self) -> str:
        """connecting, subscribing, live, live-unsequenced, resyncing, reconnecting, refused or closed.

        live-unsequenced is live on a channel whose messages have no sequence: a lost message can't be noticed. Earlier
        records, and those lost while disconnected, are read from the Info API. `reason` says where it has none.
        """
        self._client.shell.pump()
        return "closed" if self._closed else self._topic.state

    @property
    def is_live(self) -> bool:
        """True while messages are applied as they come, with or without sequences."""
        return self.state in LIVE

    @property
    def reason(self) -> str:
        """Why it is not live, or what it does not show while live-unsequenced, in words. "" otherwise."""
        damage = f"what came last can't be read: {self._topic.data.fault}" if self.damaged else ""
        return "closed" if self._closed else damage or self._topic.reason

    @property
    def dropped(self) -> int:
        """Rows and messages so far that were left out because they could not be read. `fault` says why."""
        return self._topic.data.dropped

    @property
    def fault(self) -> str:
        """Record, field and value that could not be read last, "" for none."""
        return self._topic.data.fault

    @property
    def damaged(self) -> bool:
        """True while the last message could not be read and no other has mended that, so that the data is old."""
        return self._topic.damaged and self._topic.channel.style != "append"

    @property
    def age_ms(self) -> int | None:
        """Milliseconds since the last message was applied, None before the first."""
        received = self._topic.received_ms
        return None if received is None else max(0, self._client.shell.now_ms() - received)

    @property
    def stale(self) -> bool:
        """True when the data may be out of date: not live, or silent for longer than the channel allows."""
        if self.state not in LIVE or self.damaged or self._topic.repeats > 1:
            return True
        if self._topic.channel.quiet:
            # A quiet channel sends only when something happens, so its silence is no sign.
            return not self._topic.has_data
        age = self.age_ms
        return age is None or age > self._max_silence_ms()

    def _max_silence_ms(self) -> int:
        return self._client.protocol.silence_ms(self._topic)

    @property
    def gaps(self) -> int:
        """Missing sequence numbers so far. Each is repaired by a fresh snapshot."""
        return self._topic.gaps

    @property
    def duplicates(self) -> int:
        """Repeated messages, which were ignored."""
        return self._topic.duplicates

    @property
    def resyncs(self) -> int:
        """Fresh snapshots requested so far."""
        return self._topic.resyncs

    @property
    def sequence(self) -> int:
        """Sequence of the last applied message."""
        return self._topic.sequence

    @property
    def updates(self) -> int:
        """Updates so far."""
        self._client.shell.pump()
        return self._updates

    @property
    def errors(self) -> list[BaseException]:
        """Exceptions raised by callbacks, the last 100."""
        return list(self._errors)

    def assert_healthy(self, max_age_ms: int | None = None) -> None:
        """Raise unless it is live, recent enough and no callback failed.

        Parameters
        ----------
        max_age_ms : int, optional
            Highest age in ms (default: the silence that the channel allows).

        Raises
        ------
        StaleData
            If it is not live or too old.
        SubscriptionRefused
            If the venue refused the subscription.
        FeedError
            From the first exception of a callback.

        Examples
        --------
        >>> live = session.stream.trades("BTCUSDC")
        >>> _ = live.frame()
        >>> live.assert_healthy(max_age_ms=1_000)
        >>> live.age_ms
        0
        """
        state, age = self.state, self.age_ms
        if self._topic.error is not None:
            raise self._topic.error
        if self._errors:
            first = self._errors[0]
            message = f"{self.subject}: {len(self._errors)} callbacks failed, the first with {first!r}"
            raise FeedError(message) from first
        if state not in LIVE:
            raise StaleData(f"{self.subject} is {state}: {self.reason}")
        if self.damaged:
            raise StaleData(f"{self.subject}: {self.reason}")
        if max_age_ms is not None and (age is None or age > max_age_ms):
            raise StaleData(f"{self.subject} is {age} ms old. {max_age_ms} ms are allowed")
        if self.stale:
            message = (
                f"{self.subject} has had no data yet"
                if age is None
                else f"{self.subject} has been quiet for {age} ms. {self._max_silence_ms()} ms are usual at most"
            )
            raise StaleData(message)

    def frame(self, *, exact: bool = False, index: str | None = None, timeout: Timeout | None = None) -> pd.DataFrame:
        """Return the data as a DataFrame, with the same columns and dtypes when empty.

        It warns once per session, with DataWarning, of each field that is missing, or for which rows were left out.

        Parameters
        ----------
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        timeout : float, str or timedelta, optional
            Longest time that the first call waits for data: a number of seconds, or a span (default: 10 s). With a
            manual clock it does not wait.

        Returns
        -------
        DataFrame
            One column for each field of the channel's records, with amounts as float64. Its `attrs` has subject, state,
            stale, age_ms and sequence.

        Raises
        ------
        StaleData
            When no data came.
        BadAnswer
            When what came can't be read.
        SubscriptionRefused
            When the venue refused the subscription.
        InputError
            For an `index` that is no column.

        Examples
        --------
        >>> session.stream.ticker("BTCUSDC").frame()[["last", "mark_price"]].values.tolist()
        [[62500.0, 62500.0]]
        """
        from ..reads.frames import from_rows, indexed

        self._wait_for_data(timeout)
        with self._client.condition:
            # A copy under the lock. The frame is built without it, because that takes long.
            raw = list(self._raw())
            sequence = self._topic.sequence
            noticed = list(self._topic.data.noticed.items())
        for (record, name), said in noticed:
            self._client.door.warn(record, name, said) if said else self._client.door.absent(record, name)
        frame = from_rows(self._record, raw, exact=exact)
        frame.attrs.update(
            subject=self.subject, state=self.state, stale=self.stale, age_ms=self.age_ms, sequence=sequence
        )
        self._cover(frame)
        return indexed(frame, index)

    def _cover(self, frame: pd.DataFrame) -> None:
        """Say in `attrs["coverage"]` what is proven, for the channels whose rows have an interval."""

    def rows(self, count: int | None = None) -> list[FeedRow]:
        """Return the last records, oldest first, with Decimal amounts.

        Parameters
        ----------
        count : int, optional
            Number of records (default: all).

        Returns
        -------
        list of FeedRow

        Examples
        --------
        >>> live = session.stream.trades("BTCUSDC")
        >>> _ = live.frame()
        >>> [row.price for row in live.rows(2)]
        [Decimal('62503.4'), Decimal('62500.0')]
        """
        self._client.shell.pump()
        with self._client.condition:
            raw = list(self._raw(count))
        return [row(self._record, one) for one in (raw if count is None else raw[max(0, len(raw) - count) :])]

    def _raw(self, count: int | None = None) -> Sequence[dict[str, Any]]:
        """Return the wire records. With `count` a kind may leave out all but the last ones."""
        return self._topic.data.records()

    def __len__(self) -> int:
        self._client.shell.pump()
        with self._client.condition:
            return len(self._raw())

    def __bool__(self) -> bool:
        # Without this an object with no rows would be false, by its length.
        return True

    @no_keys
    def wait(self: Self, until: Until = None, timeout: Timeout | None = None) -> Self:
        """Wait, and return the object itself.

        Parameters
        ----------
        until : int, callable or None, optional
            None waits for the first data, or for the next update when there is data. A number waits for so many further
            updates, a function of the object until it returns true (default: None).
        timeout : float, str or timedelta, optional
            Longest time to wait: a number of seconds, or a span (default: 10 s). With a manual clock it does not wait,
            because nothing arrives without an advance.

        Returns
        -------
        Live

        Raises
        ------
        StaleData
            After the time-out.
        SubscriptionRefused
            When the venue refused the subscription.
        FeedError
            When it is closed.

        Examples
        --------
        >>> session.stream.ticker("BTCUSDC").wait(lambda live: live.value.last > 0).state
        'live'
        """
        for left in self._waits(until, timeout):
            self._check_may_wait()
            with self._client.condition:
                # Nothing is notified after a close; an update since `_is_done` is seen after one slice.
                if not self._ended():
                    self._client.condition.wait(min(left, _WAIT_SLICE_SECONDS))
        return self

    def _check_may_wait(self) -> None:
        if self._client.shell.is_reader_thread():
            message = f"{self.subject}: a callback can't wait for the feed, because the feed waits for the callback"
            raise FeedError(message)

    async def _await_update(self: Self, until: Until = None, timeout: Timeout | None = None) -> Self:
        """As `wait`, without blocking the event loop."""
        with self._wake_event() as woken:
            for left in self._waits(until, timeout):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), left)
                woken.clear()
        return self

    def _waits(self, until: Until, timeout: Timeout | None) -> Iterator[float]:
        """Yield the seconds that are left, again and again until what is waited for has come. Raise as `wait` does."""
        self._client.shell.pump()
        wanted = 0
        if not callable(until):
            wanted = self._updates + (until if until is not None else 1 if self._topic.has_data else 0)
        end = time.monotonic() + self._timeout_seconds(timeout)
        while True:
            self._client.shell.pump()
            if until(self) if callable(until) else self._topic.has_data and self._updates >= wanted:
                return
            if self._iteration_ended():
                raise FeedError(f"{self.subject} is closed")
            left = end - time.monotonic()
            if left <= 0:
                raise self._timeout_error(until, timeout)
            # The caller waits, in its own way: a thread on the condition, a task on an event.
            yield left

    def _ended(self) -> bool:
        return self._closed or self._topic.state in ("closed", "refused")

    def _timeout_seconds(self, timeout: Timeout | None) -> float:
        if timeout is not None:
            return wait_seconds(timeout)
        return 0.0 if self._client.shell.manual else WAIT_SECONDS

    def _timeout_error(self, until: Until, timeout: Timeout | None) -> StaleData:
        conditional = callable(until) and until is not Live._has_answer
        what = "the condition did not come true" if conditional else "no update came"
        if self._client.shell.manual and timeout is None:
            return StaleData(f"{self.subject}: {what}. With a manual clock nothing arrives until venue.advance(…)")
        now = f"{self.state}: {self.reason}" if self.reason else self.state
        return StaleData(f"{self.subject}: {what} within {self._timeout_seconds(timeout):g} s. It is {now}")

    def _wait_for_data(self, timeout: Timeout | None) -> None:
        if not self._topic.has_data:
            self.wait(Live._has_answer, timeout)
        self._check_readable()

    def _has_answer(self) -> bool:
        """Return whether something has come, be it that it can't be read."""
        return self._topic.has_data or self.dropped > 0

    def _check_readable(self) -> None:
        if self.dropped and not self._topic.has_data:
            raise BadAnswer(f"{self.subject}: {self.fault}")

    @contextlib.contextmanager
    def _wake_event(self) -> Iterator[asyncio.Event]:
        """Provide an event of the running loop that is set by every event of the subscription."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            # Called on the feed's thread, possibly after the loop was closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(event.set)

        with self._client.condition:
            self._wakers.append(wake)
        try:
            yield event
        finally:
            with self._client.condition:
                self._wakers.remove(wake)

    F = TypeVar("F", bound=Callable[[Any], object])

    def on_update(self, callback: F, *, begin: bool = False) -> F:
        """Call a function with an Update after every further update.

        Parameters
        ----------
        callback : F
            Function of the Update. It is returned, so that this can be used as a decorator.
        begin : bool, optional
            True calls it immediately with all data as a snapshot, if there is any (default: False).

        Returns
        -------
        callable
            The function.

        Examples
        --------
        >>> seen = []
        >>> live = session.stream.trades("BTCUSDC")
        >>> _ = live.frame()
        >>> _ = live.on_update(seen.append)
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> [each.kind for each in seen]
        ['incremental']
        """
        with self._client.condition:
            # Under one lock: the snapshot holds every update before the first one that the callback gets.
            if not begin or self._topic.received_ms is None:
                self._callbacks.append(callback)
                return callback
            self._client.take_events()  # what the data has already must not come again as an update
            items = [row(self._record, one) for one in self._raw()]
            update: Update | None = Update(self, "snapshot", items, self._topic.sequence, None)
            later: deque[Update] = deque()
            entry = callback, later
            self._beginning.append(entry)
        while update is not None:
            try:
                # Without the lock, as all callbacks. The feed's thread leaves what comes meanwhile to this one.
                self._guarded(callback, update)()
            except BaseException:
                self.off(callback)
                raise
            with self._client.condition:
                stays = entry in self._beginning
                update = later.popleft() if stays and later else None
                if stays and update is None:
                    self._beginning.remove(entry)
                    self._callbacks.append(callback)
        return callback

    def on_state(self, callback: F) -> F:
        """Call a function with this object whenever `state` changes.

        Parameters
        ----------
        callback : F
            Function of the live object. It is returned.

        Returns
        -------
        callable
            The function.

        Examples
        --------
        >>> seen = []
        >>> live = session.stream.trades("BTCUSDC")
        >>> _ = live.on_state(seen.append)
        >>> _ = live.frame()
        >>> [each.kind for each in seen]
        []
        """
        with self._client.condition:
            self._client.take_events()  # a change that has come is for those before
            self._state_callbacks.append(callback)
            self._seen_state = self._topic.state
        return callback

    def off(self, callback: Callable[..., object]) -> None:
        """Remove a callback. One that is not registered is ignored.

        Parameters
        ----------
        callback : callable
            Function that `on_update` or `on_state` took.

        Examples
        --------
        >>> seen = []
        >>> live = session.stream.trades("BTCUSDC")
        >>> _ = live.frame()
        >>> live.off(live.on_update(seen.append))
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> seen
        []
        """
        with self._client.condition:
            for callbacks in (self._callbacks, self._state_callbacks):
                while callback in callbacks:
                    callbacks.remove(callback)
            self._beginning = [one for one in self._beginning if one[0] != callback]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over further updates, until it is closed.

        A LiveLog yields each new record in order, others yield the object itself after an update, once when several
        came meanwhile. With a manual clock the iteration ends after everything that has arrived.
        """
        # Not a generator itself: the backlog has to be open from the call on, not from the first `next`.
        return self._iterate(self._open_backlog())

    def _iterate(self, backlog: deque[Any]) -> Iterator[Any]:
        while True:
            self._client.shell.pump()
            if backlog:
                yield backlog.popleft()
            elif self._iteration_ended() or self._client.shell.manual:
                return
            else:
                self._check_may_wait()
                with self._client.condition:
                    # An item may have come since the check above; its notification is already over.
                    if not backlog and not self._ended():
                        self._client.condition.wait(_WAIT_SLICE_SECONDS)

    def __aiter__(self) -> AsyncIterator[Any]:
        """As plain iteration, awaited. With a manual clock it waits until another task advances the venue."""
        return self._aiterate(self._open_backlog())

    async def _aiterate(self, backlog: deque[Any]) -> AsyncIterator[Any]:
        with self._wake_event() as woken:
            while True:
                self._client.shell.pump()
                # Cleared before the backlog is read: an item that comes afterwards sets it again.
                woken.clear()
                while backlog:
                    yield backlog.popleft()
                if self._iteration_ended():
                    return
                if not backlog:
                    await woken.wait()

    def _iteration_ended(self) -> bool:
        if self._topic.error is not None:
            raise self._topic.error
        return self._ended()

    def _open_backlog(self) -> deque[Any]:
        backlog: deque[Any] = deque(maxlen=_MAX_BACKLOG if self._yields_items else 1)
        with self._client.condition:
            # Weak, because an abandoned iteration is not closed: only its generator holds the backlog.
            self._backlogs.append(weakref.ref(backlog))
        return backlog

    def _open_backlogs(self) -> list[deque[Any]]:
        """Return the backlogs of the iterations that still exist."""
        found = [(ref, ref()) for ref in self._backlogs]
        self._backlogs = [ref for ref, backlog in found if backlog is not None]
        return [backlog for _, backlog in found if backlog is not None]

    def _on_event(self, event: FeedEvent) -> list[Callback]:
        """Take an event of the subscription, under the lock. Return the callbacks to call."""
        for wake in self._wakers:
            wake()
        changed: list[Callback] = []
        if self._state_callbacks:
            if event.kind == "state" or self._topic.state != self._seen_state:  # a snapshot makes it live, too
                changed = [self._guarded(callback, self) for callback in self._state_callbacks]
            self._seen_state = self._topic.state
        if event.kind == "state" or not self._is_relevant(event):
            return changed
        self._updates += 1
        backlogs = self._open_backlogs()
        # Converting rows is the expensive part, so it is left out when no callback or iteration takes them.
        called = bool(self._callbacks or self._beginning)
        wanted = called or (backlogs and self._yields_items)
        items = [row(self._record, one) for one in self._items(event)] if wanted else []
        for backlog in backlogs:
            backlog.extend(items if self._yields_items else [self])
        if not called:
            return changed
        venue_time = None if event.timestamp_ms is None else moment(event.timestamp_ms, 1)
        update = Update(self, event.kind, items, event.sequence, venue_time)
        for _, later in self._beginning:
            later.append(update)
        return [*changed, *(self._guarded(callback, update) for callback in self._callbacks)]

    def _is_relevant(self, event: FeedEvent) -> bool:
        return True

    def _items(self, event: FeedEvent) -> Sequence[dict[str, Any]]:
        return event.items

    def _guarded(self, callback: Callable[[Any], object], argument: object) -> Callback:
        """Return a call of `callback` whose exception is kept in `errors`."""

        def run() -> None:
            try:
                callback(argument)
            except Exception as error:
                trim(error)
                self._errors.append(error)
            except BaseException as error:
                # KeyboardInterrupt belongs to the caller's thread; on the feed's thread it would end the feed.
                if self._client.shell.manual or not self._client.shell.is_reader_thread():
                    raise
                self._errors.append(error)

        return run

    def close(self) -> None:
        """End the subscription. The data stays readable. Closing again does nothing.

        Examples
        --------
        >>> live = session.stream.trades("BTCUSDC")
        >>> _ = live.frame()
        >>> live.close()
        >>> live.state
        'closed'
        """
        if not self._closed:
            self._closed = True
            self._client.unsubscribe(self, self._topic)
            # It is no longer a listener, so coroutines that wait for it have to be woken here.
            with self._client.condition:
                for wake in self._wakers:
                    wake()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self.state
        words = [type(self).__name__, self.subject, state]
        if self.reason not in ("", state):
            words.append(f"({self.reason})")
        if self.stale and state in LIVE:
            words.append("stale")
        if self.age_ms is not None:
            words.append(f"age {self.age_ms} ms")
        if self.gaps:
            words.append(f"gaps {self.gaps}")
        if self.dropped:
            words.append(f"left out {self.dropped}, last {self.fault}")
        if self._errors:
            words.append(f"errors {len(self._errors)}, last {self._errors[-1]!r}")
        summary = self._summary()
        return f"<{' '.join(words)}{': ' + summary if summary else ''}>"

    def _summary(self) -> str:
        return f"{len(self)} rows"
