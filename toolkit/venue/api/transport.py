"""An httpx transport into a venue in this process; it passes the same bytes to the same gateway function."""

from __future__ import annotations

import time
from typing import Protocol

import httpx

from ..clocks import Clock
from .gateway import Answer, Query


class TransportVenue(Protocol):
    """What the transport needs of the venue."""

    @property
    def clock(self) -> Clock:
        """The clock, whose `runs` decides whether delays are waited for."""

    def handle(self, method: str, path: str, query: Query | str = (), body: bytes = b"", peer: str = "") -> Answer:
        """Answer one HTTP request given as plain values."""


class VenueTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Carries requests into a venue object, for `httpx.Client` and `httpx.AsyncClient` alike.

    Scripted faults are raised as httpx reports them: ConnectError, RemoteProtocolError or ReadTimeout. A delay is only
    waited for when the venue's clock is real, and never longer than the request's own timeout.
    """

    def __init__(self, venue: TransportVenue, *, peer: str = "in-process") -> None:
        self.venue = venue
        self.peer = peer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a synchronous client."""
        answer = self._handle(request, request.read())
        wait_s = self._wait_s(request, answer)
        if wait_s:
            time.sleep(wait_s)
        return self._deliver(request, answer)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an asynchronous client."""
        answer = self._handle(request, await request.aread())
        wait_s = self._wait_s(request, answer)
        if wait_s:
            import asyncio

            await asyncio.sleep(wait_s)
        return self._deliver(request, answer)

    def _handle(self, request: httpx.Request, body: bytes) -> Answer:
        url = request.url
        return self.venue.handle(request.method, url.path, url.query.decode("ascii"), body, self.peer)

    def _wait_s(self, request: httpx.Request, answer: Answer) -> float:
        if not answer.delay or not self.venue.clock.runs:
            return 0.0
        return min(answer.delay, _timeout_s(request))

    def _deliver(self, request: httpx.Request, answer: Answer) -> httpx.Response:
        if answer.broken == "refused":
            raise httpx.ConnectError("connection refused (scripted fault)", request=request)
        if answer.broken == "timeout" or answer.delay > _timeout_s(request):
            raise httpx.ReadTimeout("no answer in time (scripted fault)", request=request)
        if answer.broken:
            raise httpx.RemoteProtocolError("connection closed without an answer (scripted fault)", request=request)
        return httpx.Response(answer.status, headers=dict(answer.headers), content=answer.body, request=request)


def _timeout_s(request: httpx.Request) -> float:
    timeout = request.extensions.get("timeout", {}).get("read")
    return float("inf") if timeout is None else float(timeout)
