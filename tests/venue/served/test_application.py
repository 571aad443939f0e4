"""The application without a network: every message that it sends for a request or a WebSocket, and its bounds."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.venue.api.test_gateway import Emergency
from tests.venue.wallets import MASTER, Signer
from toolkit.venue.api.gateway import Answer
from toolkit.venue.engine.commands import REFUSED
from toolkit.venue.local import LocalVenue
from toolkit.venue.served import application, boundary
from toolkit.venue.served.application import LARGE, READY_MS, Application, _shown
from toolkit.venue.served.boundary import Boundary, ServeSettings

JSON = (b"content-type", b"application/json")
HOST = (b"host", b"127.0.0.1")


@pytest.fixture
def made(venue: LocalVenue) -> Iterator[Callable[..., Application]]:
    """A function that makes the application of a venue from the settings of a server."""
    found: list[Application] = []

    def make(**options: Any) -> Application:
        settings = ServeSettings(**options)
        found.append(Application(venue.host, Boundary(settings, "127.0.0.1"), settings))
        return found[-1]

    yield make
    for each in found:
        each.stop()


def scope(path: str, method: str = "GET", *headers: tuple[bytes, bytes], **more: Any) -> dict[str, Any]:
    usual = {"type": "http", "method": method, "path": path, "query_string": b"", "server": ("127.0.0.1", 1)}
    return {**usual, "client": ("10.0.0.1", 5), "headers": [HOST, *headers], **more}


def sent(app: Application, what: dict[str, Any], *received: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one request or WebSocket, and return every message that the application sent. The last one is repeated."""

    async def run() -> list[dict[str, Any]]:
        messages, found = list(received) or [{"type": "http.request"}], list[dict[str, Any]]()

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            return messages.pop(0) if len(messages) > 1 else messages[0]

        async def send(message: Any) -> None:
            found.append(message)

        await app(what, receive, send)
        return found

    return asyncio.run(run())


def posted(app: Application, action: dict[str, Any], client: tuple[str, int], signer: Signer) -> Any:
    body = json.dumps(signer.request(action)).encode()
    start, *parts = sent(
        app, scope("/api/v1/exchange", "POST", JSON, client=client), {"type": "http.request", "body": body}
    )
    assert start["status"] == 200
    return json.loads(b"".join(part["body"] for part in parts))


def test_a_head_request_is_answered_with_the_length_and_without_the_body(made: Callable[..., Application]) -> None:
    whole = sent(made(), scope("/health"))
    start, body = sent(made(), scope("/health", "HEAD"))
    assert start == whole[0]
    assert (body["body"], body["more_body"]) == (b"", False)


FRIEND = "http://localhost:3000"


@pytest.mark.parametrize("allowed", [FRIEND, "*"])
def test_an_allowed_origin_is_named_in_the_answer_that_then_varies_with_it(
    made: Callable[..., Application], allowed: str
) -> None:
    app = made(origins=(allowed,))
    start, _ = sent(app, scope("/health", "GET", (b"origin", FRIEND.encode())))
    assert start["headers"][-2:] == [(b"access-control-allow-origin", FRIEND.encode()), (b"vary", b"origin")]
    plain, _ = sent(app, scope("/health"))
    assert not {name for name, _ in plain["headers"]} & {b"vary", b"access-control-allow-origin"}
    asked, empty = sent(app, scope("/health", "OPTIONS", (b"origin", FRIEND.encode())))
    assert (asked["status"], empty["body"]) == (204, b"")
    assert dict(asked["headers"])[b"access-control-allow-methods"] == b"GET, POST"
    assert dict(asked["headers"])[b"access-control-max-age"] == b"600"
    unasked, _ = sent(app, scope("/health", "OPTIONS"))
    assert unasked["status"] == 200


@pytest.mark.parametrize("size", [0, 1, LARGE - 1, LARGE, LARGE + 1, 2 * LARGE, 2 * LARGE + 5])
def test_an_answer_is_sent_in_pieces_of_which_the_last_says_so(
    venue: LocalVenue, made: Callable[..., Application], size: int
) -> None:
    venue.host.gateway.routes["/bytes"] = lambda incoming: Answer(200, bytes(size), {})
    start, *pieces = sent(made(), scope("/bytes"))
    assert dict(start["headers"])[b"content-length"] == str(size).encode()
    assert [len(piece["body"]) for piece in pieces] == [min(LARGE, size - at) for at in range(0, size or 1, LARGE)]
    assert [piece["more_body"] for piece in pieces] == [True] * (len(pieces) - 1) + [False]


def test_a_client_that_goes_away_before_its_body_was_whole_is_not_answered(made: Callable[..., Application]) -> None:
    lines: list[str] = []
    gone = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    assert sent(made(log=lines.append), scope("/api/v1/exchange", "POST", JSON), *gone) == []
    assert lines == []


def test_a_body_that_does_not_arrive_in_time_is_answered_408_and_ends_the_connection(
    made: Callable[..., Application],
) -> None:
    waiting = {"type": "http.request", "body": b" ", "more_body": True}
    start, body = sent(made(body_seconds=0.05), scope("/api/v1/exchange", "POST", JSON), waiting)
    assert start["status"] == 408
    assert dict(start["headers"])[b"connection"] == b"close"
    assert json.loads(body["body"])["message"] == "the body did not arrive within 0.05 s"


@pytest.mark.parametrize(
    ("path", "behind", "status"),
    [
        ("/ready", READY_MS - 1, 200),
        ("/ready", READY_MS, 503),
        ("/health", READY_MS - 1, 200),
        ("/health", 10 * READY_MS, 200),
    ],
)
def test_a_venue_is_ready_while_it_is_less_than_five_seconds_behind(
    venue: LocalVenue, made: Callable[..., Application], monkeypatch: pytest.MonkeyPatch, path: str, behind: int,
    status: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(venue.host, "behind_ms", lambda: behind)
    start, body = sent(made(), scope(path))
    said = json.loads(body["body"])
    assert (start["status"], said["data"]) == (status, {"time": venue.host.now_ms(), "behindMs": behind})
    text = f"the venue is {behind} ms behind its clock and catching up"
    assert said["message"] == ("success" if status == 200 else text)
    assert said["code"] == (0 if status == 200 else status)


def test_a_line_of_the_log_has_who_what_and_how_it_ended(venue: LocalVenue, made: Callable[..., Application]) -> None:
    lines: list[str] = []
    app = made(log=lines.append)
    sent(app, scope("/health", client=None))
    posted(app, {"type": "withdraw", "destination": MASTER.address, "amount": "2"}, ("10.0.0.2", 7), Signer(MASTER))
    venue.host.gateway.hooks = Emergency(broken="disconnect")
    sent(app, scope("/nowhere"))
    assert [re.sub(r" \d+\.\d ms$", " … ms", line) for line in lines] == [
        "- GET /health HTTP 200 code 0 … ms",
        f"10.0.0.2 POST /api/v1/exchange withdraw {MASTER.address.lower()} HTTP 200 code 0 … ms",
        "10.0.0.1 GET /nowhere HTTP 404 code 404 disconnect … ms",
    ]


def test_an_answer_that_breaks_off_announces_more_than_it_sends(
    venue: LocalVenue, made: Callable[..., Application]
) -> None:
    venue.host.gateway.hooks = Emergency(broken="disconnect")
    assert sent(made(), scope("/nowhere")) == [
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-length", b"1000"), (b"connection", b"close")],
        },
        {"type": "http.response.body", "body": b"{", "more_body": True},
    ]
    venue.host.gateway.hooks = Emergency(broken="timeout")
    wait = [{"type": "http.request"}] * 3 + [{"type": "http.disconnect"}]
    assert sent(made(), scope("/nowhere"), *wait) == []


def test_a_log_shows_no_secret_no_control_character_and_no_endless_path() -> None:
    assert _shown("/join/abc") == "/join/…"
    assert _shown("/joint/abc") == "/joint/abc"
    assert _shown("/a\n\x1b[2J") == "/a??[2J"
    assert _shown("/" + "a" * 200) == "/" + "a" * 199


def test_the_account_of_a_connection_is_the_one_that_it_last_acted_for(
    made: Callable[..., Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "KNOWN", 2)
    app, signer = made(), Signer(MASTER)
    action = {"type": "withdraw", "destination": MASTER.address, "amount": "2"}
    for port in (1, 2, 3):
        assert posted(app, action, ("10.0.0.1", port), signer)["code"] == 0
    assert list(app._accounts) == [("10.0.0.1", 2), ("10.0.0.1", 3)]
    assert set(app._accounts.values()) == {MASTER.address.lower()}
    assert posted(app, action | {"amount": "1000000"}, ("10.0.0.1", 4), signer)["code"] == REFUSED
    assert ("10.0.0.1", 4) in app._accounts
    signer.nonce -= 1
    assert posted(app, action, ("10.0.0.1", 5), signer)["code"] == 40207
    assert ("10.0.0.1", 5) not in app._accounts, "what was not this account's request does not count as its"


def feed(path: str = "/ws/dex", *headers: tuple[bytes, bytes], **more: Any) -> dict[str, Any]:
    return scope(path, "", *headers, type="websocket", **more)


@pytest.mark.parametrize("extensions", [{}, {"websocket.http.response": {}}])
def test_a_feed_that_may_not_be_opened_is_refused_with_a_reason(
    made: Callable[..., Application], extensions: dict[str, Any]
) -> None:
    lines: list[str] = []
    app = made(log=lines.append)
    [closed] = sent(app, feed("/ws/other", extensions=extensions))
    assert closed == {"type": "websocket.close", "code": 1008, "reason": "the feed is at /ws/dex"}
    evil = feed("/ws/dex", (b"origin", b"http://evil.example"), extensions=extensions)
    found = sent(app, evil)
    text = "Origin 'http://evil.example' may not use this venue. --allow-origin allows the origin of a page"
    if extensions:
        assert found[0] == {"type": "websocket.http.response.start", "status": 403, "headers": [JSON]}
        assert (found[1]["type"], json.loads(found[1]["body"])["message"]) == ("websocket.http.response.body", text)
    else:
        assert (found[0]["type"], found[0]["code"], len(found[0]["reason"])) == ("websocket.close", 1008, 120)
    assert len(found) == len(extensions) + 1
    assert lines[0] == "WebSocket /ws/other refused: the feed is at /ws/dex"
    assert text in lines[1]
    assert len(lines) == 2


def test_a_feed_carries_texts_until_the_client_ends_it(venue: LocalVenue, made: Callable[..., Application]) -> None:
    ping = {"type": "websocket.receive", "text": '{"method":"ping"}'}
    connect, gone = {"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1000}
    binary = {"type": "websocket.receive", "bytes": b"{}"}
    app, found, opened = made(), list[dict[str, Any]](), list[str]()
    messages = [connect, ping, binary, ping]

    async def run() -> None:
        answered = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop(0)
            await asyncio.wait_for(answered.wait(), 20)
            opened.extend(each.peer for each in venue.host.feed.open_connections)
            return gone

        async def send(message: Any) -> None:
            found.append(message)
            if len(found) == 4:
                answered.set()

        await app(feed(), receive, send)

    asyncio.run(run())
    assert [each["type"] for each in found] == ["websocket.accept", *["websocket.send"] * 3]
    refused = '{"method":"","success":false,"code":40003,"message":"messages are JSON text, not binary"}'
    assert [each["text"] for each in found[1:]] == ['{"channel":"pong"}', refused, '{"channel":"pong"}']
    assert opened == ["10.0.0.1"]
    assert not venue.host.feed.open_connections, "its place is given back"


@pytest.mark.parametrize(("reason", "told"), [("é" * 100, "é" * 60), ("a" * 121, "a" * 120), ("short", "short")])
def test_a_feed_that_the_venue_ends_is_closed_with_its_code_and_a_reason_of_at_most_120_bytes(
    venue: LocalVenue, made: Callable[..., Application], reason: str, told: str
) -> None:
    found: list[dict[str, Any]] = []

    async def run() -> None:
        never = asyncio.Event()
        messages = [{"type": "websocket.connect"}]

        async def receive() -> Any:
            if messages:
                return messages.pop(0)
            [connection] = venue.host.feed.open_connections
            connection.put("last words")
            connection.close(reason, 1013)
            await never.wait()

        async def send(message: Any) -> None:
            found.append(message)

        await asyncio.wait_for(made()(feed(), receive, send), 20)

    asyncio.run(run())
    assert [each["type"] for each in found] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert found[1]["text"] == "last words"
    assert (found[2]["code"], found[2]["reason"]) == (1013, told)


def test_a_client_that_reads_nothing_is_left_soon_after_its_feed_was_ended(
    venue: LocalVenue, made: Callable[..., Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "GOODBYE", 0.05)
    stuck: list[str] = []

    async def run() -> None:
        never, begun = asyncio.Event(), asyncio.Event()
        messages = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": '{"method":"ping"}'}]

        async def receive() -> Any:
            if messages:
                return messages.pop(0)
            await begun.wait()
            [connection] = venue.host.feed.open_connections
            connection.close("too slow", 1013)
            await never.wait()

        async def send(message: Any) -> None:
            stuck.append(message["type"])
            if message["type"] != "websocket.accept":
                begun.set()
                await never.wait()

        await asyncio.wait_for(made()(feed(), receive, send), 20)

    asyncio.run(run())
    assert stuck == ["websocket.accept", "websocket.send", "websocket.close"]
    assert not venue.host.feed.open_connections


def test_a_client_of_the_feed_that_is_idle_is_closed_as_going_away(
    venue: LocalVenue, made: Callable[..., Application]
) -> None:
    venue.host.feed.idle_ms = 50
    found: list[dict[str, Any]] = []

    async def run() -> None:
        never = asyncio.Event()
        messages = [{"type": "websocket.connect"}]

        async def receive() -> Any:
            if messages:
                return messages.pop(0)
            await never.wait()

        async def send(message: Any) -> None:
            found.append(message)

        await asyncio.wait_for(made()(feed(), receive, send), 20)

    asyncio.run(run())
    assert [each["type"] for each in found] == ["websocket.accept", "websocket.close"]
    assert found[1]["code"] == 1001
    assert found[1]["reason"].startswith("idle: ")


def test_a_server_has_the_documented_limits_by_default() -> None:
    settings = ServeSettings()
    assert (settings.hosts, settings.origins, settings.connections_per_ip, settings.log) == ((), (), None, None)
    assert (settings.head_seconds, settings.body_seconds, settings.idle_seconds) == (10, 10, 60)
    assert boundary.HTTP_CONNECTIONS == 64
    assert len(settings.control_token) == 32
    assert settings.control_token != ServeSettings().control_token
