"""Data of ccxt's WebSocket side as live objects: a loop in a thread, a feed for each channel, views of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import Any, TypeVar

import ccxt

from ..client.stream.live import Update
from ..errors import StaleData

T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 30.0
"""Pauses between two attempts to reach an exchange again: each is twice as long as the one before."""
SILENCE_S = 60.0
"""A feed that is not quiet counts as lost when nothing has come for so long. Ccxt may not notice it."""
Reading = tuple[str, list[dict[str, Any]], datetime | None]
"""Kind of an update ("snapshot" or "incremental"), its items, and the exchange's time."""


class LoopThread:
    """An event loop in a separate thread, which ends with `close`.

    Parameters
    ----------
    name : str
        Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        """Return the result of a coroutine.

        Parameters
        ----------
        work : Coroutine
            Coroutine that is awaited in the thread.
        timeout : float
            Longest wait, seconds.

        Raises
        ------
        TimeoutError
            After `timeout` seconds.
        """
        # The loop belongs to its thread. Only this call may hand it work from another one.
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return waiting.result(timeout)
        except TimeoutError:
            # The caller no longer waits for the answer, and a connection that hangs would keep its coroutine for ever.
            waiting.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let a coroutine run until `close`.

        Parameters
        ----------
        work : Coroutine
            Coroutine that is awaited in the thread.
        """
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self, last: Coroutine[Any, Any, object], timeout: float) -> None:
        """Cancel what runs, run a last coroutine, and end the thread.

        Parameters
        ----------
        last : Coroutine
            Coroutine that closes connections.
        timeout : float
            Longest wait, seconds.
        """

        async def end() -> None:
            # Feeds first: they would open again the connections that `last` closes.
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await last
            await asyncio.gather(*others, return_exceptions=True)

        try:
            self.run(end(), timeout)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout)
            if not self._thread.is_alive():
                self._loop.close()


class Feed:
    """One channel of an exchange: awaits it repeatedly, and passes on each update.

    While reconnecting, ccxt opens a lost connection again. While resyncing, it reads the book again, because an update
    was missing. A feed that failed got an unreadable update, and reads no more. A channel that may be silent for long,
    such as trades, counts as live at first. After a break it is live again with the next update of the feed that has it
    among its `quiet_feeds`.

    Parameters
    ----------
    subject : str
        Exchange, symbol and channel in words.
    watch : callable
        Function that awaits what comes next.
    read : callable
        Function that makes an update of it. It gets whether the whole state is wanted.
    quiet : bool
        Whether the channel may be silent for long.

    Attributes
    ----------
    state : str
        connecting, live, reconnecting, resyncing, failed or closed.
    reason : str
        Why it is not live, "" if it is.
    begin : callable
        Function that returns what a later view begins with, None for nothing.
    quiet_feeds : list of Feed
        Feeds of the same connection that may be silent for long.
    """

    def __init__(
        self, subject: str, watch: Callable[[], Awaitable[Any]], read: Callable[[Any, bool], Reading], quiet: bool
    ) -> None:
        self.subject = subject
        self.state, self.reason = "live" if quiet else "connecting", ""
        self.sequence = 0
        self.quiet_feeds: list[Feed] = []
        self.views: list[View] = []
        self.begin: Callable[[], Reading | None] = lambda: None
        self.lock = threading.RLock()
        """Held while an update is read and passed on, and while a view begins: it misses none and gets none twice."""
        self._watch, self._read = watch, read
        self._quiet, self._waits = quiet, False

    async def run(self) -> None:
        """Follow the channel until it is cancelled."""
        pause = FIRST_PAUSE_S
        while True:
            try:
                self._pass_on(await self._next())
            except (ccxt.BaseError, OSError, TimeoutError) as error:
                # Both mean that an update of the book was missed. The connection itself still works.
                missing = isinstance(error, ccxt.InvalidNonce | ccxt.ChecksumError)
                self._change("resyncing" if missing else "reconnecting", f"{type(error).__name__}: {error}")
                await asyncio.sleep(pause)
                # Twice as long each time: an exchange that is down bans clients that knock without a pause.
                pause = min(2 * pause, LONGEST_PAUSE_S)
                continue
            except Exception as error:  # its task would end unnoticed
                self._change("failed", f"{type(error).__name__}: {error}")
                raise
            pause = FIRST_PAUSE_S
            self._change("live", "")
            # A quiet channel may be alive and send nothing. An update on the same connection proves it.
            for feed in self.quiet_feeds:
                if feed._waits:
                    feed._change("live", "")

    def _pass_on(self, got: object) -> None:
        with self.lock:
            # what came before a break no longer counts
            kind, items, time = self._read(got, self.state != "live")
            self.sequence += 1
            # A copy, because a callback may close its view.
            for view in list(self.views):
                view.deliver(kind, items, time)

    async def _next(self) -> Any:
        """Return what comes next, and say so when nothing does for long."""
        silent = ("reconnecting", f"nothing came for {SILENCE_S:g} s")
        alarm = None if self._quiet else asyncio.get_running_loop().call_later(SILENCE_S, self._change, *silent)
        self._waits = True
        try:
            return await self._watch()  # directly: ccxt holds back what comes while nobody awaits it
        finally:
            self._waits = False
            if alarm is not None:
                alarm.cancel()

    def _change(self, state: str, reason: str) -> None:
        if (state, reason) == (self.state, self.reason):
            return
        self.state, self.reason = state, reason
        for view in list(self.views):
            for called in list(view.on_states):
                called(view)


class View:
    """A live object over a feed, with what `follow` and `record` use of those of a session.

    Parameters
    ----------
    feed : Feed
        Feed that it shows.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.on_states: list[Callable[[Any], object]] = []
        self._on_updates: list[Callable[[Update], object]] = []
        feed.views.append(self)

    @property
    def subject(self) -> str:
        """Exchange, symbol and channel."""
        return self._feed.subject

    @property
    def state(self) -> str:
        """State of the feed."""
        return self._feed.state

    @property
    def reason(self) -> str:
        """Why it is not live."""
        return self._feed.reason

    @property
    def is_live(self) -> bool:
        """True while what comes is applied."""
        return self._feed.state == "live"

    @property
    def sequence(self) -> int:
        """Number of updates so far."""
        return self._feed.sequence

    def on_state(self, callback: Callable[[Any], object]) -> None:
        """Call back with each change of the state.

        Parameters
        ----------
        callback : callable
            Function of the view.
        """
        self.on_states.append(callback)

    def on_update(self, callback: Callable[[Update], object], *, begin: bool = False) -> None:
        """Call back with each update.

        Parameters
        ----------
        callback : callable
            Function of the update.
        begin : bool, optional
            Whether to call it first with what there is (default: False).
        """
        with self._feed.lock:
            # Under the feed's lock: an update between the beginning and the registration would be lost.
            first = self._feed.begin() if begin else None
            if first is not None:
                callback(Update(self, first[0], first[1], self.sequence, first[2]))  # type: ignore[arg-type]
            self._on_updates.append(callback)

    def deliver(self, kind: str, items: list[dict[str, Any]], time: datetime | None) -> None:
        """Pass an update on.

        Parameters
        ----------
        kind : str
            "snapshot" or "incremental".
        items : list of dict of str to object
            Items of the update.
        time : datetime or None
            The exchange's time, None if it sent none.
        """
        for callback in list(self._on_updates):
            callback(Update(self, kind, items, self.sequence, time))  # type: ignore[arg-type]

    def assert_healthy(self, max_age_ms: int | None = None) -> None:
        """Raise StaleData unless it is live.

        Parameters
        ----------
        max_age_ms : int, optional
            Not used, because an exchange's feed has its own time of silence (default: none).
        """
        if not self.is_live:
            raise StaleData(f"{self.subject} is {self.state}: {self.reason}")

    def close(self) -> None:
        """Stop receiving updates of the feed."""
        if self in self._feed.views:
            self._feed.views.remove(self)
        self.on_states.clear()
        self._on_updates.clear()
