"""The bytes below httpx: leftover bytes end a connection, a request ends at its deadline, its first byte is noted.

httpcore uses a connection again after an answer, also where further bytes came after the answer. The next request would
read these bytes as its own answer. These streams follow the answers with h11, as httpcore does. After such bytes they
report that they are readable, from which the pool concludes that the connection is unusable.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

_REQUESTS = (b"GET ", b"POST ")


class Departure:
    """Whether the first byte of one request has left this machine. Until then it can be held back for certain.

    Parameters
    ----------
    deadline : float, optional
        When the request must have ended, on the monotonic clock (default: never).
    """

    def __init__(self, deadline: float = float("inf")) -> None:
        self.deadline = deadline
        self._lock = threading.Lock()
        self._left = self._held = False

    def leave(self) -> None:
        """Note that the next byte leaves.

        Raises
        ------
        TimeoutError
            If the request was held back.
        """
        with self._lock:
            if self._held:
                raise TimeoutError("the request was held back")
            self._left = True

    def hold(self) -> bool:
        """Hold the request back. Return False if it has left already."""
        # One lock for both: a caller that gave up must know whether the thread that sends can still write.
        with self._lock:
            self._held = not self._left
            return self._held


DEPARTURE: ContextVar[Departure] = ContextVar("DEPARTURE")
"""The departure of the request of this context: httpx makes the streams, so it can't be an argument."""


def _left(timeout: float | None) -> float | None:
    """Return what a step may take. Raises TimeoutError after the deadline."""
    departure = DEPARTURE.get(None)
    deadline = float("inf") if departure is None else departure.deadline
    left = min(deadline - time.monotonic(), float("inf") if timeout is None else timeout)
    if left <= 0:
        raise TimeoutError("the time of the request is over")
    return None if left == float("inf") else left


class Stream:
    """A blocking stream of httpcore or httpcore2. Each step ends at the deadline. Closing it wakes its reader.

    Parameters
    ----------
    stream : object
        Stream of httpcore or httpcore2.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._answer: Any = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the next bytes.

        Parameters
        ----------
        max_bytes : int
            Most bytes to return.
        timeout : float, optional
            Seconds that httpcore gives the step, None for no bound (default: None).
        """
        return self._follow(self._stream.read(max_bytes, _left(timeout)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes.

        Parameters
        ----------
        buffer : bytes
            Bytes to send, all of them before it returns.
        timeout : float, optional
            Seconds that httpcore gives the step, None for no bound (default: None).
        """
        self._begin(buffer)
        self._stream.write(buffer, _left(timeout))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        """Return the stream with encryption.

        Parameters
        ----------
        ssl_context : SSLContext
            Context of the ssl module.
        server_hostname : str, optional
            Name that the server must prove (default: None).
        timeout : float, optional
            Seconds that httpcore gives the step, None for no bound (default: None).
        """
        return Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def close(self) -> None:
        with suppress(OSError, AttributeError):
            self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        """Return what the inner stream says of itself.

        Parameters
        ----------
        info : str
            Name of the fact, as in httpcore.
        """
        left_over = info == "is_readable" and self._answer is not None and self._answer.trailing_data[0]
        return True if left_over else self._stream.get_extra_info(info)

    def _begin(self, written: bytes) -> None:
        """Expect an answer if these bytes begin a request, and not one to a proxy. Its first byte leaves now."""
        import h11

        if written.startswith(_REQUESTS):
            if (departure := DEPARTURE.get(None)) is not None:
                departure.leave()
            self._answer = h11.Connection(h11.CLIENT)
            self._answer.send(h11.Request(method="GET", target="/", headers=[("host", "-")]))
            self._answer.send(h11.EndOfMessage())

    def _follow(self, data: bytes) -> bytes:
        import h11

        if data and self._answer is not None:
            self._answer.receive_data(data)
            with suppress(h11.RemoteProtocolError):  # the reader of the answer raises it too
                while self._answer.next_event() not in (h11.NEED_DATA, h11.PAUSED):
                    pass
        return data


class AsyncStream(Stream):
    """Its awaited twin. The task that awaits it is cancelled at the deadline."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # type: ignore[override]
        """Return the next bytes.

        Parameters
        ----------
        max_bytes : int
            Most bytes to return.
        timeout : float, optional
            Seconds that httpcore gives the step, None for no bound (default: None).
        """
        return self._follow(await self._stream.read(max_bytes, timeout))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # type: ignore[override]
        """Send bytes.

        Parameters
        ----------
        buffer : bytes
            Bytes to send, all of them before it returns.
        timeout : float, optional
            Seconds that httpcore gives the step, None for no bound (default: None).
        """
        self._begin(buffer)
        await self._stream.write(buffer, timeout)

    async def start_tls(self, *given: object, **options: object) -> AsyncStream:  # type: ignore[override]
        """Return the stream with encryption.

        Parameters
        ----------
        *given : object
            Arguments of the inner stream.
        **options : object
            Arguments of the inner stream.
        """
        return AsyncStream(await self._stream.start_tls(*given, **options))

    async def aclose(self) -> None:
        await self._stream.aclose()


class Backend:
    """A network backend of httpcore or httpcore2 that makes streams of this kind.

    Parameters
    ----------
    inner : object
        The library's own backend.
    blocking : bool
        Whether its streams are blocking.
    """

    def __init__(self, inner: Any, blocking: bool) -> None:
        self.streams = weakref.WeakSet[AsyncStream]()
        """The awaited ones that were opened and are not collected."""
        wrapped = self._blocking if blocking else self._awaited
        self.connect_tcp, self.connect_unix_socket = wrapped(inner.connect_tcp), wrapped(inner.connect_unix_socket)
        self.sleep = inner.sleep

    def _blocking(self, connect: Callable[..., Any]) -> Any:
        return lambda timeout=None, **given: Stream(connect(timeout=_left(timeout), **given))

    def _awaited(self, connect: Callable[..., Awaitable[Any]]) -> Any:
        async def connected(**given: object) -> AsyncStream:
            stream = AsyncStream(await connect(**given))
            self.streams.add(stream)
            return stream

        return connected


def guard(client: object) -> None:
    """Use these streams in a client's transports, and in those that they are wrapped around, of either library.

    The backend is an argument of a pool, but httpx makes the pools itself. So it is set afterwards.

    Parameters
    ----------
    client : object
        Client of httpx or httpx2.
    """
    for transport in _transports([getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()]):
        pool: Any = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if backend is not None and not isinstance(backend, Backend):
            pool._network_backend = Backend(backend, blocking=hasattr(transport, "handle_request"))


def abandon(client: object) -> None:
    """Shut the sockets of a client whose event loop has ended. Awaiting its closing is no longer possible.

    Parameters
    ----------
    client : object
        Asynchronous client of httpx or httpx2, None for none.
    """
    for transport in _transports([getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()]):
        backend = getattr(getattr(transport, "_pool", None), "_network_backend", None)
        for stream in list(backend.streams) if isinstance(backend, Backend) else ():
            with suppress(OSError, AttributeError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def _transports(given: list[Any], depth: int = 3) -> Iterator[Any]:
    for one in given:
        if depth and (hasattr(one, "handle_request") or hasattr(one, "handle_async_request")):
            yield one
            yield from _transports(list(getattr(one, "__dict__", {}).values()), depth - 1)
