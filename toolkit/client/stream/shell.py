"""Shells of the feed: they move texts between the protocol and a WebSocket, or a venue in this process.

ThreadShell lives on a background thread with an event loop of its own, so that cells stay free and nobody's loop is
patched; the thread begins with the first subscription and ends when there is nothing left to hear. DirectShell has no
thread: it reads from a venue with a manual clock after each of its commands, in order.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..io.transport import is_loopback
from .client import FeedClient

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

STOP_SECONDS = 5.0
"""How long stopping waits for the thread."""
MAX_MESSAGE = 1 << 22
"""Longest message of a venue that is read."""

_peers = itertools.count(1)


class Gone(Exception):
    """The connection ended; its text says why."""


class Wire(Protocol):
    """One open connection."""

    async def send(self, text: str) -> None:
        """Send a text; Gone when that is no longer possible."""

    async def receive(self) -> str | bytes:
        """Return the next text; Gone when there will be none."""

    async def close(self) -> None:
        """End it, within a bounded time."""


Connector = Callable[[], Awaitable[Wire]]


class SocketWire:
    """A WebSocket of the websockets library, which keeps alive nothing by itself: the protocol does."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @classmethod
    async def connect(cls, url: str, timeout: float) -> SocketWire:
        """Open a WebSocket, within `timeout` seconds. Raises OSError or a websockets error."""
        from websockets.asyncio.client import connect

        connection = await connect(
            url,
            open_timeout=timeout,
            close_timeout=0.5,
            ping_interval=None,
            max_size=MAX_MESSAGE,
            proxy=None if is_loopback(url) else True,
        )
        return cls(connection)

    async def send(self, text: str) -> None:
        """Send a text."""
        from websockets.exceptions import ConnectionClosed

        try:
            await self._connection.send(text)
        except ConnectionClosed as closed:
            raise Gone(_why(closed)) from None

    async def receive(self) -> str | bytes:
        """Return the next message."""
        from websockets.exceptions import ConnectionClosed

        try:
            return await self._connection.recv()
        except ConnectionClosed as closed:
            raise Gone(_why(closed)) from None

    async def close(self) -> None:
        """Say goodbye, or hang up on a peer that does not answer."""
        with contextlib.suppress(Exception):
            await self._connection.close()
        self._connection.transport.abort()


def _why(closed: Any) -> str:
    if closed.rcvd is not None:
        reason = closed.rcvd.reason or "no reason given"
        return f"the venue closed the connection: {reason} (code {closed.rcvd.code})"
    return "the connection broke"


class HubWire:
    """A connection to the feed of a venue in this process, for a reader on another thread."""

    def __init__(self, hub: Any) -> None:
        loop, self._ready = asyncio.get_running_loop(), asyncio.Event()
        self._texts: deque[str] = deque()
        self._connection = hub.open(f"in-process {next(_peers)}", clock=_monotonic_ms)

        def wake() -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._ready.set)

        self._connection.on_wake = wake
        self._ready.set()

    @classmethod
    async def connect(cls, hub: Any) -> HubWire:
        """Open a connection; its events belong to the running loop."""
        return cls(hub)

    async def send(self, text: str) -> None:
        """Hand a text to the feed."""
        self._connection.send(text)

    async def receive(self) -> str:
        """Return the next text."""
        while not self._texts:
            await self._ready.wait()
            self._ready.clear()
            self._texts.extend(self._connection.drain())
            if not self._texts and self._connection.closed:
                self._ready.set()
                raise Gone(f"the venue closed the connection: {self._connection.reason}")
        if self._connection.closed:
            self._ready.set()
        return self._texts.popleft()

    async def close(self) -> None:
        """End it."""
        self._connection.on_wake = None
        self._connection.close()


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


_running: weakref.WeakSet[ThreadShell] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for shell in list(_running):
        shell.stop()


class ThreadShell:
    """Runs a protocol over connections made by `connector`, on a background thread."""

    manual = False

    def __init__(self, client: FeedClient, connector: Connector) -> None:
        self._client = client
        self._connector = connector
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken: asyncio.Event | None = None
        self._stopping = False

    def now(self) -> int:
        """Return a monotonic time."""
        return _monotonic_ms()

    def here(self) -> bool:
        """Tell whether this is the feed's thread."""
        return threading.current_thread() is self._thread

    def pump(self) -> None:
        """Nothing to do: the thread takes in what arrives."""

    def wake(self) -> None:
        """Let the thread look at the protocol, beginning it when there is none."""
        with self._client.condition:
            if self._thread is None:
                if self._client.protocol.phase == "idle":
                    return
                self._stopping = False
                self._thread = threading.Thread(target=self._run, name="toolkit-feed", daemon=True)
                _running.add(self)
                self._thread.start()
            elif self._loop is not None and self._woken is not None:
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._woken.set)

    def stop(self) -> None:
        """End the connection and the thread."""
        with self._client.condition:
            self._stopping = True
            thread = self._thread
        if thread is not None:
            self.wake()
        if thread is not None and thread is not threading.current_thread():
            thread.join(STOP_SECONDS)
        _running.discard(self)

    # On the thread

    def _run(self) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(self._main())
        _running.discard(self)

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        with self._client.condition:
            self._loop, self._woken = loop, asyncio.Event()
        try:
            while not self._finished():
                try:
                    await self._connect_when_due()
                except Exception as error:  # whatever it was: connected again, after the usual pause
                    self._lost(f"the feed's thread failed: {error!r}")
        finally:
            with self._client.condition:
                if self._loop is loop:
                    self._loop = self._woken = None
                if self._thread is threading.current_thread():
                    self._thread = None

    def _finished(self) -> bool:
        """Tell whether there is nothing to do; then, in the same breath, say that the thread is over."""
        with self._client.condition:
            over = self._stopping or self._client.protocol.phase == "idle"
            if over:
                self._thread = None
            return over

    async def _connect_when_due(self) -> None:
        client, protocol = self._client, self._client.protocol
        with client.condition:
            due = protocol.connect_at
            waiting = protocol.phase == "waiting" and due is not None and due > self.now()
            if protocol.phase == "waiting" and not waiting:
                protocol.connecting(self.now())
        client.dispatch()
        if waiting:
            await self._pause(due)
            return
        try:
            limit = protocol.settings.connect_ms / 1000
            wire = await asyncio.wait_for(self._connect(), limit)
        except Exception as error:
            self._lost(f"could not connect: {error or type(error).__name__}")
            return
        try:
            self._lost(await self._converse(wire))
        finally:
            await wire.close()

    async def _connect(self) -> Wire:
        return await self._connector()

    def _lost(self, reason: str) -> None:
        with self._client.condition:
            self._client.protocol.lost(self.now(), reason)
        self._client.dispatch()

    async def _converse(self, wire: Wire) -> str:
        """Carry texts until the connection ends or must end; return why."""
        client, protocol = self._client, self._client.protocol
        with client.condition:
            protocol.opened(self.now())
        reader = asyncio.create_task(self._listen(wire))
        try:
            while True:
                client.dispatch()
                with client.condition:
                    protocol.tick(self.now())
                    texts, due = protocol.take(self.now()), protocol.deadline()
                    over = protocol.must_close or ("closed" if self._stopping else "")
                client.dispatch()
                if over:
                    return over
                for text in texts:
                    await asyncio.wait_for(wire.send(text), protocol.settings.answer_ms / 1000)
                if reader.done():
                    return reader.result()
                await self._pause(due)
        except Gone as gone:
            return str(gone)
        except TimeoutError:
            return "the connection takes no more messages"
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    async def _listen(self, wire: Wire) -> str:
        """Hand what arrives to the protocol; return why nothing more does."""
        client, protocol = self._client, self._client.protocol
        try:
            while True:
                text = await wire.receive()
                with client.condition:
                    protocol.received(text, self.now())
                    wanted, protocol.attention = protocol.attention, False
                client.dispatch()
                if wanted and self._woken is not None:
                    self._woken.set()
        except Gone as gone:
            return str(gone)
        finally:
            if self._woken is not None:
                self._woken.set()

    async def _pause(self, due: int | None) -> None:
        """Wait until something is wanted, or due."""
        assert self._woken is not None
        seconds = None if due is None else max(0.0, (due - self.now()) / 1000)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)
        self._woken.clear()


class DirectShell:
    """Reads the feed of a venue with a manual clock, after each of its commands and whenever somebody looks.

    Everything happens in the thread that commands or looks, in the order of the messages; times are the venue's.
    """

    manual = True

    def __init__(self, client: FeedClient, hub: Any, now: Callable[[], int]) -> None:
        self._client = client
        self._hub = hub
        self._now = now
        self._last = self._ahead = 0
        self._ticked = -1
        self._connection: Any = None
        self._lock = threading.Lock()
        self._pumping: int | None = None
        self._due = False

    def now(self) -> int:
        """Return the venue's time; where a revert sets it back, it goes on from where it was."""
        now = self._now()
        self._ahead += max(0, self._last - now - self._ahead)
        self._last = now + self._ahead
        return self._last

    def wake(self) -> None:
        """Connect, send and read at once."""
        self.pump()

    def here(self) -> bool:
        """Tell whether a callback is asking."""
        return self._pumping == threading.get_ident()

    def pump(self) -> None:
        """Take in everything that has arrived, and wait if another thread is doing that."""
        self._pump(wait=True)

    def _after_command(self) -> None:
        self._pump(wait=False)

    def stop(self) -> None:
        """End the connection."""
        if self._after_command in self._hub.after:
            self._hub.after.remove(self._after_command)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            with self._client.condition:
                self._client.protocol.lost(self.now(), "closed")
                self._client.protocol.connect_at = None
                self._client.protocol.phase = "idle"
            self._client.dispatch()

    def _pump(self, *, wait: bool) -> None:
        """Run steps until nothing happens any more; called again from a callback, it leaves that to the first call."""
        self._due = True
        if self._pumping == threading.get_ident():
            return
        while self._due:
            if not self._lock.acquire(blocking=wait):
                return
            self._pumping = threading.get_ident()
            try:
                while self._due:
                    self._due = False
                    while self._step():
                        continue
            finally:
                self._pumping = None
                self._lock.release()

    def _step(self) -> bool:
        client, protocol = self._client, self._client.protocol
        with client.condition:
            if protocol.phase == "waiting" and protocol.connect_at is not None and protocol.connect_at <= self.now():
                self._connect()
        connection = self._connection
        if connection is None:
            return client.dispatch()
        texts = connection.drain()
        with client.condition:
            self._take_in(texts)
            now = self.now()
            if now != self._ticked:
                self._ticked = now
                protocol.tick(now)
            if protocol.must_close:
                connection.close(protocol.must_close)
                connection.reason = protocol.must_close
            if connection.closed and not connection.waiting:
                self._connection = None
                protocol.lost(self.now(), f"the venue closed the connection: {connection.reason}")
            out = protocol.take(self.now())
        client.dispatch()
        for text in out:
            connection.send(text)
        if connection.closed:
            connection.close()
        return bool(texts or out)

    def _take_in(self, texts: list[str]) -> None:
        protocol = self._client.protocol
        try:
            for text in texts:
                protocol.received(text, self.now())
        except BaseException:
            protocol.interrupted(self.now())
            raise

    def _connect(self) -> None:
        protocol = self._client.protocol
        protocol.connecting(self.now())
        connection = self._hub.open(f"in-process {next(_peers)}", queue=None)
        if self._after_command not in self._hub.after:
            self._hub.after.append(self._after_command)
        if connection.closed:
            protocol.lost(self.now(), f"the venue refused the connection: {connection.reason}")
        else:
            self._connection = connection
            protocol.opened(self.now())
