"""Connections of the feed: a WebSocket, or the feed of a venue in this process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections import deque
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from ..io.flow import Runtime, monotonic_ms
from ..io.rate_limits import VenueGate
from ..io.route import Route
from ..io.transport import asks_to_wait, retry_after

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

MESSAGE_BYTES, MAX_MESSAGE_BYTES = 1 << 22, 1 << 26
"""Longest message that is read at first, and after longer ones were refused."""
TOO_LONG = 1009
"""Close code of a message that is longer than is read. Source: RFC 6455, 7.4.1."""
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
    longest : int, optional
        Longest message that is read, in bytes (default: `MESSAGE_BYTES`).
    """

    def __init__(self, connection: ClientConnection, longest: int = MESSAGE_BYTES) -> None:
        self._connection = connection
        self._longest = longest
        self.is_too_short = False
        """Whether the connection ended with a message that is longer than is read."""

    @classmethod
    async def connect(cls, url: str, timeout: float, longest: int = MESSAGE_BYTES) -> SocketConnection:
        """Open a WebSocket.

        Parameters
        ----------
        url : str
            Address of the feed.
        timeout : float
            Longest time to connect, in seconds.
        longest : int, optional
            Longest message that is read, in bytes (default: `MESSAGE_BYTES`).

        Raises
        ------
        OSError
            If it can't be opened. Errors of the websockets library as well.
        NotSent
            For a proxy or certificates that can't be used.
        """
        from websockets.asyncio.client import connect

        # The same rule as for queries. The library's own has another for ALL_PROXY and NO_PROXY.
        route = Route.to(url)
        options: dict[str, Any] = {"ssl": route.certificates} if url.startswith("wss:") else {}
        if route.proxy is not None and route.proxy.startswith("https:"):
            options["proxy_ssl"] = route.certificates
        connection = await connect(
            url,
            open_timeout=timeout,
            close_timeout=CLOSE_SECONDS,
            # Two keep-alives would close each other's connections: the protocol sends the venue's own pings.
            ping_interval=None,
            max_size=longest,
            # The proxy looks the name up, as it does for queries: their library has one meaning for both schemes.
            proxy=route.proxy and re.sub("^socks5:", "socks5h:", route.proxy),
            **options,
        )
        return cls(connection, longest)

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
        await self._attempted(self._connection.send(text))

    async def receive(self) -> str | bytes:
        """Return the next message.

        Raises
        ------
        ConnectionEnded
            When there will be none.
        """
        text: str | bytes = await self._attempted(self._connection.recv())
        return text

    async def close(self) -> None:
        """Close the WebSocket, and drop it if the peer does not answer."""
        with contextlib.suppress(Exception):
            await self._connection.close()
        # After the closing handshake timed out the socket would stay open until the peer gives up.
        self._connection.transport.abort()

    async def _attempted(self, doing: Awaitable[Any]) -> Any:
        """Await what a WebSocket does. Raise ConnectionEnded, which says why, where it has ended."""
        from websockets.exceptions import ConnectionClosed

        try:
            return await doing
        except ConnectionClosed as closed:
            # A close that the venue began is answered with its own code.
            if closed.sent is not None and closed.sent.code == TOO_LONG and not closed.rcvd_then_sent:
                self.is_too_short = self._longest < MAX_MESSAGE_BYTES
                remedy = "The next connection reads longer ones"
                if not self.is_too_short:
                    remedy = "Follow less, such as fewer levels of a book: order_book(symbol, depth=20)"
                what = f"a message of the venue is longer than {self._longest >> 20} MiB, which are read at most"
                raise ConnectionEnded(f"{what}. {remedy}") from None
            if closed.rcvd is None:
                raise ConnectionEnded("the connection broke") from None
            reason = f"{closed.rcvd.reason or 'no reason given'} (code {closed.rcvd.code})"
            raise ConnectionEnded(f"the venue closed the connection: {reason}") from None


class SocketConnector:
    """Opens the WebSockets of one feed, one after the other. It waits as long as the venue asks all requests to wait.

    Parameters
    ----------
    url : str
        Address of the feed.
    timeout : float
        Longest time to connect, in seconds.
    gate : VenueGate
        When requests to the venue may leave.
    runtime : Runtime
        Clocks and random numbers of the session.
    """

    def __init__(self, url: str, timeout: float, gate: VenueGate, runtime: Runtime) -> None:
        self._url, self._timeout = url, timeout
        self._gate, self._runtime = gate, runtime
        self._longest = MESSAGE_BYTES
        self._last: SocketConnection | None = None

    async def __call__(self) -> SocketConnection:
        """Open the next connection.

        Raises
        ------
        ConnectionEnded
            While the venue asks to wait.
        OSError
            If it can't be opened. Errors of the websockets library as well.
        """
        from websockets.exceptions import InvalidProxyStatus, InvalidStatus

        elapsed_ms = self._runtime.elapsed()
        if wait := self._gate.seconds_closed(elapsed_ms):
            raise ConnectionEnded(f"the venue asked to wait {wait:.1f} s more")
        if self._last is not None and self._last.is_too_short:
            self._longest = min(4 * self._longest, MAX_MESSAGE_BYTES)
        try:
            self._last = await SocketConnection.connect(self._url, self._timeout, self._longest)
        except (InvalidStatus, InvalidProxyStatus) as error:
            status = error.response.status_code
            demanded = retry_after({k.lower(): v for k, v in error.response.headers.raw_items()}, self._runtime.now())
            if asks_to_wait(status, demanded):
                self._gate.close(demanded, elapsed_ms, self._runtime.elapsed(), self._runtime.random_float())
            raise
        return self._last


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
