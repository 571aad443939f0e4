"""An httpx transport into a venue in this process. It passes the same bytes to the same gateway function."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx

from ..clocks import Clock
from .gateway import Answer


class VenueTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Carries requests to a venue's gateway, for sync and async httpx clients alike.

    Scripted faults are raised as httpx reports them: ConnectError, RemoteProtocolError or ReadTimeout. A delay is only
    waited for when the venue's clock is real, and never longer than the request's own timeout.

    Parameters
    ----------
    handle : callable
        The gateway's `handle(method, path, query, body, peer)`.
    clock : Clock
        Clock of the venue. Delays are only waited for if it runs.
    peer : str
        Address that the requests seem to come from.
    """

    def __init__(self, handle: Callable[[str, str, str, bytes, str], Answer], clock: Clock, peer: str) -> None:
        self._handle = handle
        self._clock = clock
        self._peer = peer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a synchronous client.

        Parameters
        ----------
        request : httpx.Request
            Request of the client.

        Raises
        ------
        httpx.TransportError
            For a scripted fault, as httpx reports it.
        """
        answer = self._answer(request, request.read())
        if wait_s := self._wait_s(request, answer):
            time.sleep(wait_s)
        return self._deliver(request, answer)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an asynchronous client.

        Parameters
        ----------
        request : httpx.Request
            Request of the client.

        Raises
        ------
        httpx.TransportError
            For a scripted fault, as httpx reports it.
        """
        answer = self._answer(request, await request.aread())
        if wait_s := self._wait_s(request, answer):
            import asyncio

            await asyncio.sleep(wait_s)
        return self._deliver(request, answer)

    def _answer(self, request: httpx.Request, body: bytes) -> Answer:
        url = request.url
        return self._handle(request.method, url.path, url.query.decode("ascii"), body, self._peer)

    def _wait_s(self, request: httpx.Request, answer: Answer) -> float:
        return min(answer.delay, _timeout_s(request)) if self._clock.runs else 0.0

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
