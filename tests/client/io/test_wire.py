"""A connection gives each request its own answer, and gives thread and socket back when the time is over."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import httpx2
import pytest

from toolkit.client.io.flow import Driver, Fetch, Reply
from toolkit.client.io.transport import NO_RETRY, AsyncHttpTransport, HttpTransport, read
from toolkit.errors import BadAnswer, Disconnected, TimedOut

GET = Fetch("GET", "/info/x")


def http(body: bytes, chunked: bool = False) -> bytes:
    if chunked:
        return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


class Server:
    """A loopback server: `serve(connection, number)` has each connection, in a thread of its own."""

    def __init__(self, serve: Callable[[socket.socket, int], None]) -> None:
        self.serve = serve
        self.count = 0
        self.open: list[socket.socket] = []
        self.stopped = threading.Event()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.threads = [threading.Thread(target=self.accept, daemon=True)]

    def __enter__(self) -> Server:
        self.threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        socket.create_connection(self.server.getsockname()).close()
        for connection in self.open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(5)
            assert not thread.is_alive()
        self.server.close()

    def accept(self) -> None:
        while not self.stopped.is_set():
            connection, _ = self.server.accept()
            self.open.append(connection)
            self.count += 1
            thread = threading.Thread(target=self.run, args=(connection, self.count), daemon=True)
            self.threads.append(thread)
            thread.start()

    def run(self, connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError):
            self.serve(connection, number)


class Wrapped(httpx.BaseTransport):
    """A user's transport around one of httpx."""

    def __init__(self) -> None:
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.inner.handle_request(request)


GIVEN: dict[str, Callable[[], Any]] = {
    "blocking": lambda: None,
    "awaited": lambda: None,
    "httpx": httpx.HTTPTransport,
    "httpx2": httpx2.HTTPTransport,
    "wrapped": Wrapped,
    "httpx, awaited": httpx.AsyncHTTPTransport,
    "httpx2, awaited": httpx2.AsyncHTTPTransport,
}


@contextlib.contextmanager
def sender(name: str, url: str, timeout: float = 5.0) -> Iterator[Callable[[Fetch], Reply]]:
    """Provide a function that sends with a transport, all over the same connections."""
    if "awaited" not in name:
        transport = HttpTransport(url, GIVEN[name](), timeout)
        yield transport.send
        for one in (transport, transport._transport):
            if one is not None:
                getattr(one, "inner", one).close()
        return
    twin = AsyncHttpTransport(url, GIVEN[name](), timeout)
    with asyncio.Runner() as runner:
        yield lambda fetch: runner.run(twin.send(fetch))
        runner.run(twin.close())
        if twin._transport is not None:
            runner.run(twin._transport.aclose())


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("extra", ["copy", "byte", None])
def test_a_connection_with_bytes_left_over_is_not_used_again(name: str, chunked: bool, extra: str | None) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        request = 0
        while connection.recv(65536):
            request += 1
            answer = http(b"%d.%d" % (number, request), chunked)
            connection.sendall(answer + {"copy": answer, "byte": b"H", None: b""}[extra])

    with Server(serve) as server, sender(name, server.url) as send:
        bodies = [send(GET).body for _ in range(3)]
        assert bodies == ([b"1.1", b"2.1", b"3.1"] if extra else [b"1.1", b"1.2", b"1.3"])


def requests_alive() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "toolkit-request"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blocking", "httpx"])
def test_heads_that_drip_hold_neither_threads_nor_connections(name: str) -> None:
    """More of them than there are places in the pool; then an honest server is reached as ever."""
    honest = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        connection.recv(65536)
        if honest.is_set():
            connection.sendall(http(b"{}"))
        while not honest.is_set():
            connection.sendall(b"H")
            honest.wait(0.02)

    ended: list[BaseException] = []

    def call() -> None:
        try:
            send(GET)
        except BaseException as error:
            ended.append(error)

    with Server(serve) as server, sender(name, server.url, timeout=0.5) as send:
        callers = [threading.Thread(target=call, daemon=True) for _ in range(110)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(10)
        assert len(ended) == 110
        assert sum(isinstance(error, TimedOut) for error in ended) >= 100
        for thread in requests_alive():
            thread.join(2)
        assert not requests_alive()
        honest.set()
        assert send(GET).body == b"{}"


def test_closing_ends_what_is_under_way() -> None:
    asked = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        connection.recv(65536)
        asked.set()
        connection.recv(65536)

    ended: list[BaseException] = []
    with Server(serve) as server:
        transport = HttpTransport(server.url, None, 60.0)

        def call() -> None:
            try:
                transport.send(GET)
            except BaseException as error:
                ended.append(error)

        caller = threading.Thread(target=call, daemon=True)
        caller.start()
        assert asked.wait(5)
        transport.close()
        caller.join(5)
        assert [type(error) for error in ended] == [Disconnected]
        for thread in requests_alive():
            thread.join(2)
        assert not requests_alive()


def answer(count: int, listed: bool, size: int = 0) -> bytes:
    rows = [{"id": at, "note": "x" * size} for at in range(count)]
    return json.dumps({"code": 0, "message": "", "data": rows if listed else {"total": 9, "items": rows}}).encode()


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("asked", ["pageSize", "size", "limit"])
def test_more_rows_than_were_asked_for_are_refused(asked: str, listed: bool) -> None:
    fetch = Fetch("GET", "/info/x", ((asked, "20"),))
    for count in (0, 19, 20):
        given = Driver(lambda _, count=count: Reply(200, answer(count, listed)))  # type: ignore[misc]
        assert given.run(read(fetch, NO_RETRY)).code == 0
    with pytest.raises(BadAnswer, match=r"GET /info/x: the answer has 21 rows, more than the 20 of the request"):
        Driver(lambda _: Reply(200, answer(21, listed))).run(read(fetch, NO_RETRY))
    assert Driver(lambda _: Reply(200, answer(21, listed))).run(read(Fetch("GET", "/info/x"), NO_RETRY)).code == 0


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ((), 4 << 20),
        ((("pageSize", "500"),), (4 << 20) + 500 * 1024),
        ((("limit", "x"),), 4 << 20),
        ((("startTime", "0"), ("endTime", "6000000"), ("interval", "60")), (4 << 20) + 102 * 1024),
        ((("pageSize", "1000000"),), 64 << 20),
    ],
)
def test_an_answer_may_be_as_long_as_what_was_asked_for(query: Any, most: int) -> None:
    for over in (0, 1):
        body = b"x" * (most + over)

        def serve(connection: socket.socket, number: int, body: bytes = body) -> None:
            connection.recv(65536)
            connection.sendall(http(body))

        with Server(serve) as server, sender("blocking", server.url, 20.0) as send:
            if over:
                with pytest.raises(BadAnswer, match=rf"longer than {most >> 20} MiB, the limit for this request"):
                    send(Fetch("GET", "/info/x", query))
            else:
                assert len(send(Fetch("GET", "/info/x", query)).body) == most
