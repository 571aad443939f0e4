"""A network between a session and a venue, on which a test loses, holds or watches requests."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from toolkit.venue.local import LocalVenue

Step = Callable[[httpx.Request], None]


def nothing(_: httpx.Request) -> None:
    """Let a request or its answer pass."""


class Network(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Passes requests on to a venue. `before` and `after` run for each; what they raise, the session sees.

    A time-out in `before` loses the request, one in `after` its answer. `paths` are those of the requests so far.
    """

    def __init__(self, venue: LocalVenue) -> None:
        self.venue, self.inner = venue, venue.transport()
        self.before: Step = nothing
        self.after: Step = nothing
        self.paths: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self.handle_request(request)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.paths.append(request.url.path)
        self.before(request)
        answer: httpx.Response = self.inner.handle_request(request)
        self.after(request)
        return answer


def lose(request: httpx.Request) -> None:
    """Lose an order or its answer; reads pass."""
    if request.method == "POST":
        raise httpx.ReadTimeout("no answer", request=request)


def cut(request: httpx.Request) -> None:
    """Lose everything."""
    raise httpx.ReadTimeout("no answer", request=request)
