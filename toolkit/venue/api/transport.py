"""The venue reached in process: an httpx transport that hands the same bytes to the same gateway function."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from ..local import LocalVenue
    from .gateway import Answer


class VenueTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Carries requests into a venue object, for `httpx.Client` and `httpx.AsyncClient` alike.

    Scripted faults arrive as httpx reports them: ConnectError, RemoteProtocolError or ReadTimeout. A delay is only
    waited for when the venue's clock is real, and never longer than the request's own time limit.
    """

    def __init__(self, venue: LocalVenue, *, peer: str = "in-process") -> None:
        self.venue = venue
        self.peer = peer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a synchronous client."""
        answer = self._ask(request, request.read())
        wait = self._wait(request, answer)
        if wait:
            time.sleep(wait)
        return self._deliver(request, answer)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an asynchronous client."""
        answer = self._ask(request, await request.aread())
        wait = self._wait(request, answer)
        if wait:
            import asyncio

            await asyncio.sleep(wait)
        return self._deliver(request, answer)

    def _ask(self, request: httpx.Request, body: bytes) -> Answer:
        url = request.url
        return self.venue.handle(request.method, url.path, url.query.decode("ascii"), body, self.peer)

    def _wait(self, request: httpx.Request, answer: Answer) -> float:
        if not answer.delay or not self.venue.clock.runs:
            return 0.0
        return min(answer.delay, _limit(request))

    def _deliver(self, request: httpx.Request, answer: Answer) -> httpx.Response:
        if answer.broken == "refused":
            raise httpx.ConnectError("connection refused (scripted fault)", request=request)
        if answer.broken == "timeout" or answer.delay > _limit(request):
            raise httpx.ReadTimeout("no answer in time (scripted fault)", request=request)
        if answer.broken:
            raise httpx.RemoteProtocolError("connection closed without an answer (scripted fault)", request=request)
        return httpx.Response(answer.status, headers=dict(answer.headers), content=answer.body, request=request)


def _limit(request: httpx.Request) -> float:
    limit = request.extensions.get("timeout", {}).get("read")
    return float("inf") if limit is None else float(limit)
