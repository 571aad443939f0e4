"""HTTP connections within bounds: their number for each address, the time and size of a head, and a slice a turn.

Data is read in pieces, one in each turn of the event loop, so that no client's data delays the others'.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..api.gateway import MAX_BODY, Answer, http_error

PIECE = 8_192
"""Bytes that are read of one connection in a turn of the event loop."""
MAX_HEAD, MAX_HEADERS = 32_768, 100
"""Bytes (to within one piece) and header lines of a request. More are answered 431."""
QUIET_SECONDS = 5.0
"""A connection that has been without a request for this long makes place for a new one of its address."""

Open: TypeAlias = "defaultdict[str, dict[BoundedHttp, None]]"


SEAT_PLACES = 16
"""Connections that one seat may have open, and feeds as many. A new one displaces the oldest."""


SeatOf: TypeAlias = Callable[[str, str], tuple[str, str]]


def seat_in(seat_of: SeatOf, path: str, headers: Iterable[tuple[bytes, bytes]]) -> tuple[str, str]:
    """Return the seat that a request names, "" for none, and its path without it.

    Parameters
    ----------
    seat_of : callable
        See `ServeSettings`.
    path : str
        Path of the request.
    headers : iterable of tuple of (bytes, bytes)
        Its header lines.
    """
    given = next((value for name, value in headers if name == b"authorization"), b"")
    return seat_of(path, given.decode("latin-1"))


def bounded(per_ip: int, head_seconds: float, seat_of: SeatOf | None = None) -> Callable[..., asyncio.Protocol]:
    """Return what makes the protocol of a connection, for one server.

    Parameters
    ----------
    per_ip : int
        Largest number of connections of one address.
    head_seconds : float
        Seconds that a client has for the head of a request.
    seat_of : callable or None, optional
        Returns the seat that a path names, see `ServeSettings` (default: there are none).
    """
    return partial(BoundedHttp, defaultdict(dict), per_ip, head_seconds, seat_of)


class BoundedHttp(HttpToolsProtocol):
    """One HTTP connection.

    The server's own time-out for idle connections only begins with the first answer.

    Parameters
    ----------
    open_by_ip : Open
        Address → its open connections, shared by all connections of a server.
    per_ip : int
        Largest number of connections of one address.
    head_seconds : float
        Seconds that a client has for the head of a request.
    seat_of : callable or None, optional
        Returns the seat that a path names (default: there are none).
    **options : object
        Options of uvicorn's protocol.
    """

    def __init__(
        self,
        open_by_ip: Open,
        per_ip: int,
        head_seconds: float,
        seat_of: SeatOf | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._seat_of = seat_of
        self._open_by_ip = open_by_ip
        self._per_ip = per_ip
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_size = self._dropped = 0
        self._unread = bytearray()
        self._turn: asyncio.Handle | None = None
        self._answered = 0.0
        self._ip = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, or refuse it when its address has too many that are in use.

        Parameters
        ----------
        transport : Transport
            Transport of the connection.
        """
        super().connection_made(transport)
        ip = self.client[0] if self.client else "-"
        if len(self._open_by_ip[ip]) >= self._per_ip and not self._displace(ip):
            self._refuse(http_error(
                429, f"{ip} has {self._per_ip} connections open, and an address may have that many "
                "(--connections-per-ip). Close one"
            ), "Too Many Requests")  # fmt: skip
            return
        self._ip = ip
        self._open_by_ip[ip][self] = None
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back.

        Parameters
        ----------
        exc : Exception or None
            Error that ended it, `None` for a regular end.
        """
        self._release()
        self._unread.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece now, and the rest in later turns of the loop.

        Parameters
        ----------
        data : bytes
            Bytes that came.
        """
        self._unread += data
        if self._turn is None:
            self._read()

    def on_message_begin(self) -> None:
        """Begin to count and time the head of a request."""
        super().on_message_begin()
        self._head_size = 0
        if self._head_timer is None:
            self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header line.

        The reading ends after too many.

        Parameters
        ----------
        name : bytes
            Name of the header.
        value : bytes
            Value of the header.
        """
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            raise ValueError  # which makes the parser call `send_400_response`

    def on_headers_complete(self) -> None:
        """Stop the timer of the head."""
        self._head_arrived()
        # A connection is of no seat until a request names one. Then it makes place for others without.
        seat = "" if self._seat_of is None else seat_in(self._seat_of, self.url.decode("latin-1"), self.headers)[0]
        if seat and seat != self._ip:
            self._release()
            if len(self._open_by_ip[seat]) >= SEAT_PLACES:
                self._displace(seat)
            self._ip = seat
            self._open_by_ip[seat][self] = None
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body.

        A body that continues long after its request was refused ends the connection.

        Parameters
        ----------
        body : bytes
            Bytes of the part.
        """
        super().on_body(body)
        if self.cycle is not None and self.cycle.response_complete:
            self._dropped += len(body)
            if self._dropped > 4 * MAX_BODY:
                self.transport.close()

    def on_response_complete(self) -> None:
        """Continue with what was not read yet."""
        super().on_response_complete()
        self._answered = self.loop.time()
        if self._unread:
            self.transport.pause_reading()  # the server resumed it
            self._plan()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to the feed, which counts its own."""
        self._release()
        self._unread.clear()  # a client waits for the answer before it sends messages
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or has too many headers.

        Parameters
        ----------
        msg : str
            Reason of the parser.
        """
        if self.headers is not None and len(self.headers) > MAX_HEADERS:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _read(self) -> None:
        self._turn = None
        if self.transport.is_closing() or self.pipeline:  # those that wait are answered first
            return
        piece = bytes(self._unread[:PIECE])
        del self._unread[:PIECE]
        super().data_received(piece)
        if self._head_timer is not None:
            self._head_size += len(piece)
            if self._head_size > MAX_HEAD + PIECE and not self.transport.is_closing():
                self._refuse_head()
        if self._unread:
            self.transport.pause_reading()
            self._plan()
        elif not self.flow.read_paused:
            self.transport.resume_reading()

    def _plan(self) -> None:
        if self._turn is None:
            self._turn = self.loop.call_soon(self._read)

    def _displace(self, ip: str) -> bool:
        """Close an address's oldest connection without a whole request, for now or a while. Return whether one was."""
        quiet = self.loop.time() - QUIET_SECONDS
        for other in self._open_by_ip[ip]:
            last = other.cycle
            if last is None or (other._answered < quiet if last.response_complete else last.more_body):
                other._release()
                other.transport.abort()
                return True
        if self._seat_of is None:
            return False
        # One that waits for its next request, or else the oldest.
        held = self._open_by_ip[ip]
        idle = (each for each in held if each.cycle is None or each.cycle.response_complete)
        oldest = next(idle, next(iter(held)))
        oldest._release()
        oldest.transport.abort()
        return True

    def _refuse_head(self) -> None:
        text = f"the head of a request has at most {MAX_HEAD} bytes and {MAX_HEADERS} header lines. This head has more"
        self._refuse(http_error(431, text), "Request Header Fields Too Large")

    def _refuse(self, answer: Answer, phrase: str) -> None:
        head = f"HTTP/1.1 {answer.status} {phrase}\r\ncontent-length: {len(answer.body)}\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-type: application/json\r\n\r\n".encode() + answer.body)
        self.transport.close()

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self._head_seconds, self.timeout_keep_alive_handler)

    def _head_arrived(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _release(self) -> None:
        self._head_arrived()
        if self._ip:
            self._open_by_ip[self._ip].pop(self, None)
            if not self._open_by_ip[self._ip]:
                del self._open_by_ip[self._ip]
            self._ip = ""
