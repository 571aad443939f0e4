"""HTTP connections within bounds: a number of connections for each address, and a time for the head of a request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..api.gateway import http_error


def bounded(per_ip: int, head_seconds: float) -> Callable[..., asyncio.Protocol]:
    """Return what makes the protocol of a connection, for one server."""
    return partial(BoundedHttp, Counter(), per_ip, head_seconds)


class BoundedHttp(HttpToolsProtocol):
    """One HTTP connection. The server's own time-out for idle connections only begins with the first answer."""

    def __init__(self, open_by_ip: Counter[str], per_ip: int, head_seconds: float, **options: Any) -> None:
        super().__init__(**options)
        self._open_by_ip = open_by_ip
        self._per_ip = per_ip
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._ip = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection; refuse it when its address has too many."""
        super().connection_made(transport)
        ip = self.client[0] if self.client else "-"
        if self._open_by_ip[ip] >= self._per_ip:
            answer = http_error(
                429, f"{ip} has {self._per_ip} connections open, and an address may have that many "
                "(--connections-per-ip); close one"
            )  # fmt: skip
            head = f"HTTP/1.1 429 Too Many Requests\r\ncontent-length: {len(answer.body)}\r\n"
            transport.write(f"{head}content-type: application/json\r\nconnection: close\r\n\r\n".encode() + answer.body)
            transport.close()
            return
        self._ip = ip
        self._open_by_ip[ip] += 1
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._release()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read; the head of every request has to be whole in time."""
        if self.transport.is_closing():
            return
        if self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Stop the timer of the head."""
        self._head_arrived()
        super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to the feed, which counts its own."""
        self._release()
        super().handle_websocket_upgrade()

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self._head_seconds, self.timeout_keep_alive_handler)

    def _head_arrived(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _release(self) -> None:
        self._head_arrived()
        if self._ip:
            self._open_by_ip[self._ip] -= 1
            if not self._open_by_ip[self._ip]:
                del self._open_by_ip[self._ip]
            self._ip = ""
