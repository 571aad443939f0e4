"""What a request passes on its way: its lane, its places, its turns of the event loop, and the end of a feed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.venue.quiet import venue  # a fixture
from tests.venue.served.test_application import JSON, feed, made, scope, sent
from toolkit.venue.api.gateway import Answer, Incoming
from toolkit.venue.engine.commands import REFUSED
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.application import LARGE, Application
from toolkit.venue.served.lanes import Lane

__all__ = ["made", "venue"]


class Passed:
    """The places and lanes that requests pass in an application, in order."""

    def __init__(self, app: Application, monkeypatch: pytest.MonkeyPatch, signer: str = "", code: int = 0) -> None:
        self.log: list[Any] = []
        self._answer = Answer(200, b"[]", {}, signer=signer, code=code)
        for name in ("_places", "_large_bodies", "_long_answers"):
            self._note(getattr(app, name), name[1:], monkeypatch)
        for name in ("_orders", "_large", "_queries", "_slow", "_controls"):
            self._lane(getattr(app, name), monkeypatch)

    def _note(self, places: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        @contextlib.asynccontextmanager
        async def of(key: object) -> AsyncIterator[None]:
            self.log.append((name, key))
            yield
            self.log.append(f"end of {name}")

        monkeypatch.setattr(places, "of", of)

    def _lane(self, lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
        async def answer(request: Incoming, account: str = "") -> Answer:
            asked = request.method, request.path, request.query, len(request.body), request.peer
            self.log.append((lane._name, *asked, account))
            return self._answer

        monkeypatch.setattr(lane, "answer", answer)


@pytest.mark.parametrize("client", [("10.0.0.1", 5), None])
@pytest.mark.parametrize(
    ("method", "path", "size", "lane", "held"),
    [
        ("POST", "/api/v1/exchange", LARGE, "orders", ""),
        ("POST", "/api/v1/exchange", LARGE + 1, "large-orders", "large_bodies"),
        ("GET", "/info/public/product-meta", 0, "queries", ""),
        ("GET", "/info/kline/list", 0, "slow-queries", "long_answers"),
    ],
)
def test_a_request_passes_its_places_and_its_lane_and_keeps_the_large_ones_until_it_is_delivered(
    made: Callable[..., Application], monkeypatch: pytest.MonkeyPatch, client: tuple[str, int] | None, method: str,
    path: str, size: int, lane: str, held: str,
) -> None:  # fmt: skip
    app = made()
    passed = Passed(app, monkeypatch)
    deliver = app._deliver

    async def delivered(*args: Any) -> None:
        passed.log.append("delivered")
        await deliver(*args)

    monkeypatch.setattr(app, "_deliver", delivered)
    ip = client[0] if client else ""
    whose = ip, ""
    headers = [JSON, (b"content-length", b"%d" % size)]
    body = {"type": "http.request", "body": bytes(size)}
    [start, _] = sent(app, scope(path, method, *headers, client=client, query_string=b"a=\xe9"), body)
    assert start["status"] == 200
    kept = [(held, whose)] if held else []
    assert passed.log == [
        ("places", whose),
        "end of places",
        *(kept if held == "large_bodies" else []),
        *(kept if held == "long_answers" else []),
        ("places", whose),
        (lane, method, path, "a=é", size, ip, ""),
        "end of places",
        "delivered",
        *([f"end of {held}"] if held else []),
    ]


@pytest.mark.parametrize("code", [0, 40200, 40207])
@pytest.mark.parametrize("signer", ["", "0xme"])
def test_the_next_request_of_a_connection_waits_beside_those_of_the_account_that_it_acted_for(
    made: Callable[..., Application], monkeypatch: pytest.MonkeyPatch, signer: str, code: int
) -> None:
    app = made()
    passed = Passed(app, monkeypatch, signer, code)
    for _ in range(2):
        sent(app, scope("/api/v1/exchange", "POST", JSON))
    known = signer if code in (0, REFUSED) else ""
    assert [each[-1] for each in passed.log if each[0] == "orders"] == ["", known]
    assert [each[1] for each in passed.log if each[0] == "places"] == [("10.0.0.1", "")] * 2 + [("10.0.0.1", known)] * 2
    assert app._accounts == ({("10.0.0.1", 5): known} if known else {})


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
