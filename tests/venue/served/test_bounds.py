"""The connections of a server without a network: what is read in a turn, what is counted, and what ends them."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from tests.venue.served.flooding import frame
from toolkit.errors import InputError
from toolkit.venue.served import server
from toolkit.venue.served.bounded_feed import BURST_SECONDS, MAX_PARTS, BoundedFeed, Share
from toolkit.venue.served.bounded_http import MAX_HEAD, MAX_HEADERS, PIECE, BoundedHttp

HEAD = b"GET /x HTTP/1.1\r\nhost: h\r\n"


class Wire(asyncio.Transport):
    """A transport that keeps what was written and done."""

    def __init__(self, ip: str) -> None:
        super().__init__({"peername": (ip, 5), "sockname": ("127.0.0.1", 80)})
        self.written = b""
        self.closed = self.aborted = self.paused = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


async def answered(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the length of the body that came, without waiting for one that was not announced."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    body = str(size).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class Server:
    """What makes connections of one server, in the running loop."""

    def __init__(self, per_ip: int = 2, head_seconds: float = 50.0, app: Any = answered) -> None:
        self.open: Any = defaultdict(dict)
        self._bounds = self.open, per_ip, head_seconds
        self._config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        self._config.load()
        self._state = ServerState()

    def connect(self, ip: str = "10.0.0.1") -> tuple[BoundedHttp, Wire]:
        loop = asyncio.get_running_loop()
        made = BoundedHttp(*self._bounds, config=self._config, server_state=self._state, app_state={}, _loop=loop)
        wire = Wire(ip)
        made.connection_made(wire)
        return made, wire


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def until_written(*wires: Wire) -> None:
    """Wait for an answer, which a slow machine may take more turns for. `run` bounds it."""
    while not all(wire.written for wire in wires):
        await asyncio.sleep(0)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 30))


def message_of(wire: Wire) -> tuple[str, str]:
    """Return the status line and the message of the answer that was written."""
    head, _, body = wire.written.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert f"content-length: {len(body)}" in lines
    assert {"connection: close", "content-type: application/json"} <= set(lines)
    return lines[0], json.loads(body)["message"]


def test_an_address_has_so_many_connections_and_a_further_one_is_refused_in_words() -> None:
    async def test() -> None:
        made = Server(per_ip=2)
        used = [made.connect() for _ in range(2)]
        for each, _ in used:
            each.data_received(HEAD + b"\r\n")
        await until_written(*(wire for _, wire in used))
        assert all(wire.written.startswith(b"HTTP/1.1 200 ") for _, wire in used)
        further, wire = made.connect()
        assert message_of(wire) == (
            "HTTP/1.1 429 Too Many Requests",
            "10.0.0.1 has 2 connections open, and an address may have that many (--connections-per-ip). Close one",
        )
        assert wire.closed
        further.connection_lost(None)
        assert list(made.open) == ["10.0.0.1"]
        other, free = made.connect("10.0.0.2")
        assert not free.closed
        used[0][0].connection_lost(None)
        again, wire = made.connect()
        assert not wire.closed
        for each in (used[1][0], again, other):
            each.connection_lost(None)
        assert not made.open

    run(test)


def test_the_oldest_connection_without_a_whole_request_makes_place() -> None:
    async def test() -> None:
        made = Server(per_ip=2)
        busy, asked = made.connect()
        busy.data_received(HEAD + b"\r\n")
        _, silent = made.connect()
        await turns()
        _, new = made.connect()
        assert (asked.closed, silent.aborted, new.closed) == (False, True, False)
        assert len(made.open["10.0.0.1"]) == 2

    run(test)


def test_a_connection_whose_body_is_awaited_makes_place_and_one_whose_answer_is_awaited_does_not() -> None:
    async def waiting(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async def test() -> None:
        for body, displaced in ((b"content-length: 3\r\n\r\n{", True), (b"content-length: 3\r\n\r\n{ }", False)):
            made = Server(per_ip=1, app=waiting)
            each, wire = made.connect()
            each.data_received(HEAD.replace(b"GET", b"POST") + body)
            await turns()
            _, new = made.connect()
            assert (wire.aborted, new.closed) == (displaced, not displaced)

    run(test)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"a: b\r\n" * (MAX_HEADERS - 1), "200"),
        (b"a: b\r\n" * MAX_HEADERS, "431"),
        (b"a: " + b"b" * (MAX_HEAD - 100) + b"\r\n", "200"),
        (b"a: " + b"b" * (MAX_HEAD + 3 * PIECE) + b"\r\n", "431"),
    ],
)
def test_a_head_has_at_most_so_many_lines_and_bytes(lines: bytes, status: str) -> None:
    async def test() -> None:
        each, wire = Server().connect()
        for _ in range(2):  # the bytes of a head are counted anew for each request
            wire.written = b""
            if not wire.closed:
                each.data_received(HEAD + lines + b"\r\n")
            if not wire.closed:
                await until_written(wire)
            await turns()
            if status == "431" and wire.written:
                text = f"the head of a request has at most {MAX_HEAD} bytes and {MAX_HEADERS} header lines"
                assert message_of(wire) == (
                    "HTTP/1.1 431 Request Header Fields Too Large",
                    f"{text}. This head has more",
                )
                assert wire.closed
        assert wire.closed == (status == "431")
        if status == "200":
            assert wire.written.startswith(b"HTTP/1.1 200 ")

    run(test)


def test_no_request_is_answered_400() -> None:
    async def test() -> None:
        each, wire = Server().connect()
        each.data_received(b"nonsense\r\n\r\n")
        await until_written(wire)
        assert wire.written.startswith(b"HTTP/1.1 400 ")

    run(test)


def test_requests_that_wait_are_read_when_the_one_before_was_answered() -> None:
    async def test() -> None:
        each, wire = Server().connect()
        each.data_received((HEAD + b"\r\n") * 500)  # more than a piece
        while wire.written.count(b"HTTP/1.1 200 ") < 500:
            await asyncio.sleep(0)
        await turns()
        assert not wire.paused

    run(test)


async def listening(scope: Any, receive: Any, send: Any) -> None:
    """Take a feed, and send each text that came back."""
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


async def opened_feed() -> tuple[BoundedFeed, Wire]:
    config = uvicorn.Config(listening, lifespan="off", log_config=None, access_log=False, ws_ping_interval=None)
    config.load()
    made = BoundedFeed(config=config, server_state=ServerState(), app_state={}, _loop=asyncio.get_running_loop())
    wire = Wire("10.0.0.1")
    made.connection_made(wire)
    lines = (
        "upgrade: websocket",
        "connection: upgrade",
        "sec-websocket-version: 13",
        f"sec-websocket-key: {'A' * 22}==",
    )
    made.data_received(HEAD + "\r\n".join(lines).encode() + b"\r\n\r\n")
    await until_written(wire)
    assert wire.written.startswith(b"HTTP/1.1 101 ")
    wire.written = b""
    return made, wire


@pytest.mark.parametrize("parts", [MAX_PARTS, MAX_PARTS + 1])
def test_a_message_has_at_most_64_parts(parts: int) -> None:
    async def test() -> None:
        feed, wire = await opened_feed()
        feed.data_received(frame(1, b"a", last=False))
        for _ in range(parts - 2):
            feed.data_received(frame(0, b"a", last=False))
        assert not wire.closed
        feed.data_received(frame(0, b"b"))
        await until_written(wire)
        assert wire.closed == (parts > MAX_PARTS)
        text = b"a message has at most 64 parts" if wire.closed else b"a" * (parts - 1) + b"b"
        assert wire.written.endswith(text)

    run(test)


def test_a_feed_is_not_read_while_its_client_reads_nothing() -> None:
    async def test() -> None:
        feed, wire = await opened_feed()
        feed.pause_writing()
        feed.data_received(frame(9, b"one"))
        assert wire.paused
        feed.resume_writing()
        await turns()
        assert not wire.paused
        assert b"one" in wire.written
        wire.close()
        feed.data_received(frame(9, b"two"))
        assert b"two" not in wire.written

    run(test)


def test_a_burst_is_free_and_what_is_beyond_rests_at_the_rate_of_the_share() -> None:
    share = Share()
    assert share.spend(BURST_SECONDS, 100, 1) == 0
    rest = share.spend(0.03, 100, 1)
    assert rest == pytest.approx(0.03 / 0.03)  # of few connections each has a tenth of 0.3 of the time
    assert Share(0.0).spend(0.003, 0.0, 10) == pytest.approx(0.003 / 0.03)
    assert Share(0.0).spend(0.003, 0.0, 30) == pytest.approx(0.003 / 0.01)


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("::", "[::1]"),
        ("::1", "[::1]"),
        ("venue.local", "venue.local"),
    ],
)
def test_a_served_venue_is_called_by_an_address_that_can_be_called(given: str, called: str) -> None:
    served = server.Served(None, given, 80, server.ServeSettings())  # type: ignore[arg-type]
    assert (served.base_url, served.ws_url) == (f"http://{called}:80", f"ws://{called}:80")
    assert (served.environment.base_url, served.environment.ws_url) == (served.base_url, served.ws_url)
    assert served.environment.name == "local"


@pytest.mark.parametrize(("port", "right"), [(-1, False), (0, True), (65_536, False)])
def test_a_port_is_0_to_65535(port: int, right: bool) -> None:
    if right:
        with server.listen("127.0.0.1", port) as listener:
            assert listener.getsockname()[1] > 0
            assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
    else:
        with pytest.raises(InputError, match=f"port {port} is not 0 to 65535") as caught:
            server.listen("127.0.0.1", port)
        assert (caught.value.field, caught.value.value) == ("port", port)
