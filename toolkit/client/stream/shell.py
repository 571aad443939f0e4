"""Shells of the feed: they move texts between the protocol and a connection.

ThreadShell runs on a background thread with its own event loop, so that notebook cells stay responsive and the
notebook's loop is not patched. The thread starts with the first subscription and ends with the last. DirectShell has no
thread: it reads from a venue with a manual clock after each of its commands.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

from ..io.flow import monotonic_ms
from .client import FeedClient
from .connections import ConnectionEnded, HubConnection, SocketConnection, peer_name
from .updates import Topic

STOP_SECONDS = 5.0
"""How long stopping waits for the thread."""
READ_SECONDS = 5.0
"""How long a command waits for another thread that is reading the feed: its callback may wait for this thread."""

Connection = SocketConnection | HubConnection
Connector = Callable[[], Awaitable[Connection]]

_running: weakref.WeakSet[ThreadShell] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Stop threads that were left running: a daemon thread killed in the middle of its loop prints errors at exit."""
    for shell in list(_running):
        shell.stop()


class ThreadShell:
    """Runs a protocol over connections, on a background thread.

    Parameters
    ----------
    client : FeedClient
        Client of the feed.
    connector : Connector
        Coroutine function that opens a connection.
    """

    manual = False

    def __init__(self, client: FeedClient, connector: Connector) -> None:
        self._client = client
        self._connector = connector
        self._thread: threading.Thread | None = None
        self._threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        """Every thread that was started and may not have ended, those that read histories too."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken: asyncio.Event | None = None
        self._stopping = False

    def now_ms(self) -> int:
        """Return the monotonic time."""
        return monotonic_ms()

    def is_reader_thread(self) -> bool:
        """Return whether this is the feed's thread."""
        return threading.current_thread() is self._thread

    def pump(self) -> None:
        """Do nothing: the thread reads what arrives."""

    def wake(self) -> None:
        """Wake the thread, or start one if the protocol has work and there is none."""
        with self._client.condition:
            if self._thread is None:
                if self._client.closed or self._client.protocol.phase == "idle":
                    return
                self._stopping = False
                _running.add(self)
                self._thread = self._start(self._run, "toolkit-feed")
            elif self._loop is not None and self._woken is not None:
                # The loop may be closed between the check and the call, when the thread is ending.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._woken.set)

    def _start(self, target: Callable[[], None], name: str) -> threading.Thread:
        """Start a thread that `stop` waits for. The caller has the lock."""
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.add(thread)
        thread.start()
        return thread

    def stop(self) -> None:
        """Close the connection, end the thread, and wait for it and for those that read histories."""
        deadline = time.monotonic() + STOP_SECONDS
        with self._client.condition:
            self._stopping = True
            threads = list(self._threads)
            if self._thread is not None:
                self.wake()
        for thread in threads:
            # A callback may stop the shell on its own thread, which can't wait for itself.
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        self._forget()

    def _run(self) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(self._main())
        self._forget()

    def _forget(self) -> None:
        """Take the shell from the list of those to stop at exit, unless another thread has started it again."""
        with self._client.condition:
            if self._thread is None:
                _running.discard(self)

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        with self._client.condition:
            self._loop, self._woken = loop, asyncio.Event()
        try:
            while not self._finished():
                try:
                    await self._connect_when_due()
                except Exception as error:  # even an unforeseen error must not end the feed: reconnect after a pause
                    self._lost(f"the feed's thread failed: {error!r}")
        finally:
            # A new thread may have been started since `_finished` returned True; its loop must not be cleared.
            with self._client.condition:
                if self._loop is loop:
                    self._loop = self._woken = None
                if self._thread is threading.current_thread():
                    self._thread = None

    def _finished(self) -> bool:
        """Return whether there is nothing left to do, and if so give up the role of the shell's thread.

        Both happen under one lock: otherwise `wake` could find a thread that has already decided to end, and a new
        subscription would never be served.
        """
        with self._client.condition:
            finished = self._stopping or self._client.protocol.phase == "idle"
            if finished:
                self._thread = None
            return finished

    async def _connect_when_due(self) -> None:
        client, protocol = self._client, self._client.protocol
        with client.condition:
            due_ms = protocol.connect_at_ms
            waiting = protocol.phase == "waiting" and due_ms is not None and due_ms > self.now_ms()
            if protocol.phase == "waiting" and not waiting:
                protocol.connecting()
        client.dispatch()
        if waiting:
            await self._pause(due_ms)
            return
        try:
            connection = await asyncio.wait_for(self._connector(), protocol.settings.connect_ms / 1000)
        except Exception as error:
            self._lost(f"could not connect: {str(error) or type(error).__name__}")
            return
        try:
            self._lost(await self._communicate(connection))
        finally:
            await connection.close()

    def _lost(self, reason: str) -> None:
        with self._client.condition:
            self._client.protocol.lost(self.now_ms(), reason)
        self._client.dispatch()

    async def _communicate(self, connection: Connection) -> str:
        """Send and receive until the connection ends or must end. Return why."""
        client, protocol = self._client, self._client.protocol
        with client.condition:
            protocol.opened(self.now_ms())
        reader = asyncio.create_task(self._read(connection))
        try:
            while True:
                client.dispatch()
                with client.condition:
                    protocol.tick(self.now_ms())
                    texts, due_ms = protocol.data_to_send(self.now_ms()), protocol.deadline()
                    reason = protocol.must_close or ("closed" if self._stopping else "")
                client.dispatch()
                if reason:
                    return reason
                for topic in client.take_fills():
                    self._start_reading(topic)
                for text in texts:
                    await asyncio.wait_for(connection.send(text), protocol.settings.answer_ms / 1000)
                if reader.done():
                    return reader.result()
                await self._pause(due_ms)
        except ConnectionEnded as ended:
            return str(ended)
        except TimeoutError:
            return "the connection takes no more messages"
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    def _start_reading(self, topic: Topic) -> None:
        """Read a topic's history on its own thread: an HTTP request may take long, and messages continue."""
        client, loop, woken = self._client, self._loop, self._woken
        assert loop is not None
        assert woken is not None

        def read() -> None:
            apply = client.read_history(topic)
            # The loop may be closed by now, when the stream was.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(apply)
                loop.call_soon_threadsafe(woken.set)

        with client.condition:
            if not self._stopping:
                self._start(read, "toolkit-history")

    async def _read(self, connection: Connection) -> str:
        """Pass what arrives to the protocol until the connection ends. Return why it ended."""
        client, protocol = self._client, self._client.protocol
        assert self._woken is not None
        try:
            while True:
                text = await connection.receive()
                with client.condition:
                    protocol.received(text, self.now_ms())
                    needs_shell, protocol.needs_shell = protocol.needs_shell, False
                client.dispatch()
                if needs_shell:
                    self._woken.set()
        except ConnectionEnded as ended:
            return str(ended)
        finally:
            # The sender waits in `_pause`, and has to see that the reader is done.
            self._woken.set()

    async def _pause(self, due_ms: int | None) -> None:
        """Wait until the shell is woken or `due_ms` has come."""
        assert self._woken is not None
        assert due_ms is not None  # a connection pings, and one that waits has a time for its next attempt
        seconds = max(0.0, (due_ms - self.now_ms()) / 1000)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)
        self._woken.clear()


class DirectShell:
    """Reads the feed of a venue with a manual clock, after each of its commands and whenever a live object is read.

    Everything happens on the thread that commands or reads, in the order of the messages. Times are the venue's.

    Parameters
    ----------
    client : FeedClient
        Client of the feed.
    hub : object
        Feed of the venue.
    venue_now_ms : callable
        Function that returns the venue's time in Unix ms.
    """

    manual = True

    def __init__(self, client: FeedClient, hub: Any, venue_now_ms: Callable[[], int]) -> None:
        self._client = client
        self._hub = hub
        self._venue_now_ms = venue_now_ms
        self._last_ms = self._offset_ms = 0
        self._ticked_ms = -1
        self._connection: Any = None
        self._lock = threading.Lock()
        self._pumping_thread: int | None = None
        self._due = self._stuck = False

    def now_ms(self) -> int:
        """Return the venue's time. After a revert it continues from where it was, because the protocol's clock may not
        go back.
        """
        venue_ms = self._venue_now_ms()
        self._offset_ms = max(self._offset_ms, self._last_ms - venue_ms)
        self._last_ms = venue_ms + self._offset_ms
        return self._last_ms

    def wake(self) -> None:
        """Connect, send and read immediately."""
        self.pump()

    def is_reader_thread(self) -> bool:
        """Return whether this is called by a callback."""
        return self._pumping_thread == threading.get_ident()

    def pump(self) -> None:
        """Read everything that has arrived. Wait if another thread is doing that."""
        self._pump(-1)

    def stop(self) -> None:
        """Close the connection."""
        with contextlib.suppress(ValueError):  # not connected, or another thread stops it too
            self._hub.after.remove(self._after_command)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            with self._client.condition:
                self._client.protocol.lost(self.now_ms(), "closed")
                self._client.protocol.connect_at_ms = None
                self._client.protocol.phase = "idle"
            self._client.dispatch()

    def _after_command(self) -> None:
        # Time may not pass while another thread reads: what it then reads would be as late as the time is.
        self._pump(0 if self._stuck else READ_SECONDS)

    def _pump(self, seconds: float) -> None:
        """Run steps until nothing happens any more. Wait so long (-1: for ever) for a thread that does so."""
        self._due = True
        # A callback that reads or commands gets here again; the outer call continues afterwards, so order is kept.
        if self.is_reader_thread():
            return
        # `_due` is not checked before: the thread that has just reset it may still be reading.
        while self._lock.acquire(timeout=seconds):
            self._pumping_thread, self._stuck = threading.get_ident(), False
            try:
                while self._due:
                    self._due = False
                    while self._step():
                        continue
            finally:
                self._pumping_thread = None
                self._lock.release()
            # Another thread may have set it meanwhile and not got the lock.
            if not self._due:
                return
        self._stuck = True

    def _step(self) -> bool:
        """Read, tick and send once. Return whether anything was read or sent."""
        client, protocol = self._client, self._client.protocol
        with client.condition:
            connect_at_ms = protocol.connect_at_ms
            due = connect_at_ms is not None and connect_at_ms <= self.now_ms()
            if protocol.phase == "waiting" and due and not client.closed:
                self._connect()
        connection = self._connection
        if connection is None:
            return client.dispatch()
        texts = connection.drain()
        with client.condition:
            self._receive(texts)
            now_ms = self.now_ms()
            if now_ms != self._ticked_ms:
                self._ticked_ms = now_ms
                protocol.tick(now_ms)
            if protocol.must_close:
                connection.close(protocol.must_close)
                connection.reason = protocol.must_close
            # Messages that were queued before the close are still read.
            if connection.closed and not connection.waiting:
                self._connection = None
                protocol.lost(self.now_ms(), f"the venue closed the connection: {connection.reason}")
            out = protocol.data_to_send(self.now_ms())
        client.dispatch()
        for text in out:
            connection.send(text)
        if connection.closed:
            connection.close()
        fills = client.take_fills()
        for topic in fills:
            client.read_history(topic)()
        return bool(texts or out or fills)

    def _receive(self, texts: list[str]) -> None:
        protocol = self._client.protocol
        try:
            for text in texts:
                protocol.received(text, self.now_ms())
        except BaseException:
            # The drained texts are gone, and KeyboardInterrupt may have stopped one of them half-way.
            protocol.interrupted(self.now_ms())
            raise

    def _connect(self) -> None:
        protocol = self._client.protocol
        protocol.connecting()
        connection = self._hub.open(peer_name(), queue=None)
        if self._after_command not in self._hub.after:
            self._hub.after.append(self._after_command)
        if connection.closed:
            protocol.lost(self.now_ms(), f"the venue refused the connection: {connection.reason}")
        else:
            self._connection = connection
            protocol.opened(self.now_ms())
