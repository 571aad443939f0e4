"""What a request passes on its way: its lane, its places, its turns of the event loop, and the end of a feed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.venue.served.test_application import feed, made, scope, sent
from toolkit.venue.api.gateway import Answer
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.application import LARGE, Application

__all__ = ["made"]


def test_what_is_neither_a_request_nor_a_feed_is_not_answered(made: Callable[..., Application]) -> None:
    assert sent(made(), {"type": "lifespan"}) == []


def test_a_reader_that_takes_nothing_is_left_after_the_time_for_a_body(
    venue: LocalVenue, made: Callable[..., Application]
) -> None:
    venue.host.gateway.routes["/bytes"] = lambda incoming: Answer(200, bytes(3 * LARGE), {})
    app, found = made(body_seconds=0.05), list[str]()

    async def run() -> None:
        async def receive() -> Any:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            found.append(message["type"])
            if len(found) == 3:
                await asyncio.Event().wait()

        await asyncio.wait_for(app(scope("/bytes"), receive, send), 20)

    asyncio.run(run())
    assert found == ["http.response.start", *["http.response.body"] * 2]


@pytest.mark.parametrize("end", ["client", "venue", "server"])
def test_however_a_feed_ends_its_tasks_end_and_its_place_is_free(
    venue: LocalVenue, made: Callable[..., Application], end: str
) -> None:
    app, found = made(), list[str]()

    async def run() -> set[Any]:
        messages = [{"type": "websocket.connect"}]
        reading = asyncio.Event()

        async def receive() -> Any:
            if messages:
                return messages.pop(0)
            [connection] = venue.host.feed.open_connections
            reading.set()
            if end == "client":
                return {"type": "websocket.disconnect", "code": 1001}
            if end == "venue":
                connection.close("the end", 1013)
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            found.append(message["type"])

        serving = asyncio.create_task(app(feed(), receive, send))
        await reading.wait()
        if end == "server":
            serving.cancel()
        await asyncio.wait({serving}, timeout=20)
        assert serving.done()
        assert serving.cancelled() == (end == "server")
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(run()) == set()
    assert found == ["websocket.accept", *([] if end == "client" else ["websocket.close"])]
    assert not venue.host.feed.open_connections
