"""Connections of the feed: a WebSocket, or the feed of a venue in this process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from ..io.flow import monotonic_ms
from ..io.transport import is_loopback

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

MAX_MESSAGE_BYTES = 1 << 22
"""Longest message of a venue that is read."""
CLOSE_SECONDS = 0.5
"""How long closing waits for the peer."""

_peers = itertools.count(1)


class ConnectionEnded(Exception):
    """The connection ended. Its text says why."""


def peer_name() -> str:
    """Return a new name for a reader in this process."""
    return f"in-process {next(_peers)}"


class SocketConnection:
    """A WebSocket. The library's own keep-alive is off, because the protocol sends the pings.

    Parameters
    ----------
    connection : ClientConnection
        Connection of the websockets library.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @classmethod
    async def connect(cls, url: str, timeout: float) -> SocketConnection:
        """Open a WebSocket.

        Parameters
        ----------
        url : str
            Address of the feed.
        timeout : float
            Longest time to connect, in seconds.

        Raises
        ------
        OSError
            If it can't be opened. Errors of the websockets library as well.
        """
        from websockets.asyncio.client import connect

        connection = await connect(
            url,
            open_timeout=timeout,
            close_timeout=CLOSE_SECONDS,
            # Two keep-alives would close each other's connections: the protocol sends the venue's own pings.
            ping_interval=None,
            max_size=MAX_MESSAGE_BYTES,
            proxy=None if is_loopback(url) else True,
        )
        return cls(connection)

    async def send(self, text: str) -> None:
        """Send a text.

        Parameters
        ----------
        text : str
            JSON text of a message.

        Raises
        ------
        ConnectionEnded
            When that is no longer possible.
        """
        await _attempted(self._connection.send(text))

    async def receive(self) -> str | bytes:
        """Return the next message.

        Raises
        ------
        ConnectionEnded
            When there will be none.
        """
        text: str | bytes = await _attempted(self._connection.recv())
        return text

    async def close(self) -> None:
        """Close the WebSocket, and drop it if the peer does not answer."""
        with contextlib.suppress(Exception):
            await self._connection.close()
        # After the closing handshake timed out the socket would stay open until the peer gives up.
        self._connection.transport.abort()


async def _attempted(doing: Awaitable[Any]) -> Any:
    """Await what a WebSocket does. Raise ConnectionEnded, which says why, where it has ended."""
    from websockets.exceptions import ConnectionClosed

    try:
        return await doing
    except ConnectionClosed as closed:
        if closed.rcvd is None:
            raise ConnectionEnded("the connection broke") from None
        reason = f"{closed.rcvd.reason or 'no reason given'} (code {closed.rcvd.code})"
        raise ConnectionEnded(f"the venue closed the connection: {reason}") from None


class HubConnection:
    """A connection to the feed of a venue in this process, read on another thread.

    Parameters
    ----------
    hub : object
        Feed of the venue.
    """

    def __init__(self, hub: Any) -> None:
        loop, self._ready = asyncio.get_running_loop(), asyncio.Event()
        self._texts: deque[str] = deque()
        self._connection = hub.open(peer_name(), clock=monotonic_ms)

        def wake() -> None:
            # The venue calls this on its own threads, possibly after the loop was closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._ready.set)

        self._connection.on_wake = wake
        # The venue may have sent a message, or refused the connection, before `on_wake` was set.
        self._ready.set()

    @classmethod
    async def connect(cls, hub: object) -> HubConnection:
        """Open a connection. Its events belong to the running loop.

        Parameters
        ----------
        hub : object
            Feed of the venue.
        """
        return cls(hub)

    async def send(self, text: str) -> None:
        """Send a text to the feed.

        Parameters
        ----------
        text : str
            JSON text of a message.
        """
        self._connection.send(text)

    async def receive(self) -> str:
        """Return the next text."""
        while not self._texts:
            await self._ready.wait()
            # Cleared before reading: a wake-up that comes in between sets it again.
            self._ready.clear()
            self._texts.extend(self._connection.drain())
            if not self._texts and self._connection.closed:
                self._ready.set()
                raise ConnectionEnded(f"the venue closed the connection: {self._connection.reason}")
        # The last texts of a closed connection are still returned, and no wake-up follows them.
        if self._connection.closed:
            self._ready.set()
        return self._texts.popleft()

    async def close(self) -> None:
        """Close the connection."""
        self._connection.on_wake = None
        self._connection.close()
