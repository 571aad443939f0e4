"""Transports: errors of httpx and unexpected responses become the toolkit's errors."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest.mock import ANY

import httpx
import httpx2
import pytest

import toolkit
from toolkit import errors
from toolkit.client.io import transport
from toolkit.client.io.flow import AsyncDriver, Driver, Fetch, Reply, Runtime
from toolkit.client.io.transport import (
    NO_RETRY,
    AsyncHttpTransport,
    Envelope,
    HttpTransport,
    Retry,
    read,
    read_envelope,
    retry_after,
    venue_time,
)
from toolkit.venue.local import LocalVenue

GET = Fetch("GET", "/info/x", (("a", "1"), ("b", "two words")))
LIBRARIES = [httpx, httpx2]
EMPTY = {"code": 0, "message": "success", "data": []}
ERRORS = {
    "ConnectError": errors.NotSent,
    "ConnectTimeout": errors.NotSent,
    "PoolTimeout": errors.NotSent,
    "ProxyError": errors.NotSent,
    "UnsupportedProtocol": errors.NotSent,
    "LocalProtocolError": errors.NotSent,
    "ReadTimeout": errors.TimedOut,
    "WriteTimeout": errors.TimedOut,
    "ReadError": errors.Disconnected,
    "WriteError": errors.Disconnected,
    "CloseError": errors.Disconnected,
    "RemoteProtocolError": errors.Disconnected,
    "DecodingError": errors.BadAnswer,
    "TooManyRedirects": errors.BadAnswer,
}


def by_name(value: Any) -> str | None:
    return getattr(value, "__name__", None)


def failing(library: Any, name: str, raised_by: Any = None) -> Any:
    """Return a transport of a library that fails with an error of it, or of the other library."""

    def fail(request: Any) -> Any:
        kind = getattr(raised_by or library, name)
        raise kind("broken on purpose") if issubclass(kind, ValueError) else kind("broken on purpose", request=None)

    return library.MockTransport(fail)


@pytest.mark.parametrize("library", LIBRARIES, ids=by_name)
@pytest.mark.parametrize(
    ("name", "expected"), ERRORS.items(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_failure_of_httpx_says_whether_the_request_may_have_arrived(
    library: Any, name: str, expected: type[errors.TransportError]
) -> None:
    for raised_by in LIBRARIES:
        with pytest.raises(expected, match="broken on purpose") as caught:
            HttpTransport("http://venue", failing(library, name, raised_by)).send(GET)
        assert caught.value.sent is (False if expected is errors.NotSent else None)
        with pytest.raises(expected):
            asyncio.run(AsyncHttpTransport("http://venue", failing(library, name, raised_by)).send(GET))


@pytest.mark.parametrize("library", LIBRARIES, ids=by_name)
def test_every_error_of_httpx_is_mapped(library: Any) -> None:
    kinds = {
        kind for kind in vars(library).values() if isinstance(kind, type) and issubclass(kind, library.RequestError)
    }
    assert ERRORS.keys() <= {kind.__name__ for kind in kinds}
    for kind in kinds:
        with pytest.raises(errors.TransportError):
            HttpTransport("http://venue", failing(library, kind.__name__)).send(GET)


def test_an_error_of_another_kind_is_not_hidden() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise KeyError("a mistake in the transport")

    with pytest.raises(KeyError, match="a mistake"):
        HttpTransport("http://venue", httpx.MockTransport(fail)).send(GET)


@pytest.mark.parametrize("library", LIBRARIES, ids=by_name)
def test_an_address_that_is_none_is_not_sent(library: Any) -> None:
    with pytest.raises(errors.NotSent, match="did not leave"):
        HttpTransport("http://[venue", library.HTTPTransport()).send(GET)


def over_sockets(library: Any, url: str, timeout: float) -> Iterator[Callable[[], Reply]]:
    """Yield what sends a request over a real socket by a library's own transports, synchronous and asynchronous."""

    def sent() -> Reply:
        with library.HTTPTransport() as given:
            return HttpTransport(url, given, timeout).send(GET)

    async def awaited() -> Reply:
        async with library.AsyncHTTPTransport() as given:
            return await AsyncHttpTransport(url, given, timeout).send(GET)

    yield sent
    yield lambda: asyncio.run(awaited())


@pytest.mark.parametrize("library", LIBRARIES, ids=by_name)
def test_transports_of_both_libraries_work_over_a_socket(library: Any) -> None:
    body = gzip.compress(b'{"code":0,"message":"success","data":null}')
    head = HEAD + f"content-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with Slow([head, body]) as server:
        for send in over_sockets(library, server.url, 5):
            assert read_envelope(send(), "GET /info/x") == Envelope(0, "success", None, ANY)


@pytest.mark.parametrize("library", LIBRARIES, ids=by_name)
@pytest.mark.parametrize(
    ("pieces", "expected", "words"),
    [
        ([], errors.Disconnected, "Whether it arrived is unknown"),
        ([b"no HTTP at all\r\n\r\n"], errors.Disconnected, "Whether it arrived is unknown"),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345"], errors.Disconnected, "broke"),
        ([b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\n1"], errors.BadAnswer, "not asked for"),
    ],
    ids=["nothing", "other", "short", "compressed"],
)
def test_broken_answers_over_a_socket_are_mapped_for_both_libraries(
    library: Any, pieces: list[bytes], expected: type[Exception], words: str
) -> None:
    with Slow(pieces) as server:
        for send in over_sockets(library, server.url, 5):
            with pytest.raises(expected, match=words):
                send()


@pytest.mark.parametrize("library", LIBRARIES, ids=by_name)
def test_silence_and_a_closed_port_are_mapped_for_both_libraries(library: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:  # accepts and never answers
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        for send in over_sockets(library, url, 0.05):
            with pytest.raises(errors.TimedOut, match="in time"):
                send()
    for send in over_sockets(library, url, 2):
        with pytest.raises(errors.NotSent, match="did not leave"):
            send()


@pytest.mark.parametrize("library", LIBRARIES, ids=by_name)
def test_a_session_trades_through_a_transport_of_either_library(library: Any) -> None:
    with LocalVenue() as venue, venue.serve(0) as served:
        with library.HTTPTransport() as given, toolkit.connect("local", base_url=served.base_url, transport=given) as s:
            s.exchange.approve_agent()
            assert s.buy("BTCUSDC", "0.01").wait("filled", timeout=20).filled == Decimal("0.01")
            account = s.account

        async def positions() -> int:
            async with library.AsyncHTTPTransport() as given:
                with toolkit.connect("local", base_url=served.base_url, account=account, transport=given) as session:
                    return len(await session.aio.positions())

        assert asyncio.run(positions()) == 1


def test_a_refused_connection_on_loopback_is_not_sent() -> None:
    transport = HttpTransport("http://127.0.0.1:9", timeout=2)
    with pytest.raises(errors.NotSent, match=r"did not leave for http://127\.0\.0\.1:9"):
        transport.send(GET)
    transport.close()


def test_a_request_reaches_the_transport_as_it_was_written() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={}, headers={"X-Venue-Time": "5"})

    transport = HttpTransport("http://venue/base", httpx.MockTransport(answer))
    reply = transport.send(GET)
    assert str(seen[0].url) == "http://venue/base/info/x?a=1&b=two+words"
    assert reply.headers["x-venue-time"] == "5"
    transport.send(Fetch("POST", "/api/v1/exchange", body=b'{"a":1}'))
    assert seen[1].content == b'{"a":1}'
    assert seen[1].headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("reply", "expected", "words"),
    [
        (Reply(200, b""), errors.BadAnswer, "the answer is empty"),
        (Reply(200, b"<html>"), errors.BadAnswer, "the answer is HTML"),
        (Reply(200, b'{"code":'), errors.BadAnswer, "broken JSON"),
        (Reply(200, b"[1]"), errors.BadAnswer, "envelope"),
        (Reply(200, b"null"), errors.BadAnswer, "not an object"),
        (Reply(200, b'{"message":"x"}'), errors.BadAnswer, "an object without a code"),
        (Reply(200, b'{"code":true}'), errors.BadAnswer, "without a code"),
        (Reply(200, b'{"code":"0"}'), errors.BadAnswer, "without a code"),
        (Reply(200, b"\xff\xfe"), errors.BadAnswer, "not an object"),
        (Reply(502, b"<html>bad gateway</html>"), errors.HttpStatus, "HTTP 502"),
        (Reply(301, b""), errors.HttpStatus, "HTTP 301"),
        (Reply(200, b"[" * 100_000), errors.BadAnswer, "broken JSON"),
    ],
)
def test_a_response_without_the_envelope_is_an_error(reply: Reply, expected: type[Exception], words: str) -> None:
    with pytest.raises(expected, match=words) as caught:
        read_envelope(reply, "GET /x")
    assert caught.value.status == reply.status  # type: ignore[attr-defined]


def test_an_envelope_is_decoded_whatever_its_status() -> None:
    envelope = read_envelope(Reply(400, b'{"code":40003,"message":"symbol is missing","data":null,"new":1}'), "x")
    assert (envelope.code, envelope.message, envelope.data) == (40003, "symbol is missing", None)


def reading(*replies: Reply | Exception, attempts: int = 4) -> tuple[Any, list[float]]:
    """Read with these responses in turn; return the envelope or error, and the waits between."""
    queue, waits = list(replies), []

    def send(fetch: Fetch) -> Reply:
        reply = queue.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    driver = Driver(send, Runtime(random_float=lambda: 0.5), waits.append)
    try:
        return driver.run(read(GET, Retry(attempts=attempts, base=1.0, cap=3.0))), waits
    except errors.ToolkitError as error:
        return error, waits


FINE = Reply(200, b'{"code":0,"message":"success","data":[1]}')


def test_reads_are_tried_again_with_back_off_and_jitter() -> None:
    result, waits = reading(errors.TimedOut("x"), Reply(503, b""), errors.Disconnected("x"), FINE)
    assert isinstance(result, Envelope)
    assert waits == [0.5, 1.0, 1.5]


def test_reads_wait_as_long_as_the_venue_demands() -> None:
    _, waits = reading(Reply(429, b"", {"retry-after": "7"}), FINE)
    assert waits == [7.0]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b'{"code":40220,"message":"slow down"}'),
        Reply(429, b'{"code":40220,"message":"slow down"}'),
        Reply(429, b'{"code":17,"message":"slow down"}'),
        Reply(429, b"<html>slow down</html>"),
        Reply(418, b"banned"),
        Reply(503, b"<html>busy</html>"),
    ],
    ids=str,
)
def test_a_wait_that_is_too_long_for_a_call_is_the_callers_decision(reply: Reply) -> None:
    late = "Thu, 01 Jan 2026 00:02:00 GMT"
    for headers in ({"retry-after": "120"}, {"retry-after": late, "date": "Thu, 01 Jan 2026 00:00:00 GMT"}):
        error, waits = reading(replace(reply, headers=headers), FINE)
        assert isinstance(error, errors.RateLimited)
        assert (error.retry_after, error.sent, error.http_status, waits) == (120.0, True, reply.status, [])
        assert "The next request may be sent in 120.0 s" in str(error)


def test_reads_give_up_after_their_attempts() -> None:
    result, waits = reading(*[errors.TimedOut("x")] * 4)
    assert isinstance(result, errors.TimedOut)
    assert len(waits) == 3


@pytest.mark.parametrize("reply", [Reply(400, b'{"code":40003,"message":"no"}'), Reply(404, b"")])
def test_reads_that_can_not_get_better_are_not_tried_again(reply: Reply) -> None:
    result, waits = reading(reply, FINE)
    assert isinstance(result, errors.ToolkitError)
    assert waits == []


def test_retry_after_is_read_as_seconds_and_as_a_date() -> None:
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after": "Thu, 01 Jan 2026 00:00:10 GMT"}, 1_767_225_600_000) == 10.0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


def test_the_venues_time_is_read_from_its_headers() -> None:
    assert venue_time({"x-venue-time": "1767225600123"}) == 1767225600123
    assert venue_time({"date": "Thu, 01 Jan 2026 00:00:10 GMT"}) == 1767225610000
    assert venue_time({"date": "x"}) is None
    assert venue_time({}) is None


def test_an_asynchronous_transport_lives_through_several_event_loops() -> None:
    transport = AsyncHttpTransport("http://venue", httpx.MockTransport(lambda request: httpx.Response(200, json=EMPTY)))
    for _ in range(3):
        driver = AsyncDriver(transport.send)

        async def once(driver: AsyncDriver = driver) -> int:
            answer = await driver.run(read(GET, NO_RETRY))
            await transport.close()
            return answer.reply.status

        assert asyncio.run(once()) == 200


def test_headers_and_codes_out_of_range_are_no_numbers() -> None:
    for text in ("9" * 5000, "\u00b2", "-1", "1e5", ""):
        assert venue_time({"x-venue-time": text}) is None
    with pytest.raises(errors.BadAnswer):
        read_envelope(Reply(200, b'{"code":1%s,"message":"","data":null}' % (b"0" * 30)), "placeOrder")


class Slow:
    """A loopback server that answers every connection with `pieces`, one each `pause` seconds, until it is stopped."""

    def __init__(self, pieces: Iterable[bytes], pause: float = 0.0) -> None:
        self.pieces, self.pause = pieces, pause
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self) -> Slow:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        # A blocked accept is not ended by closing its socket, only by a connection.
        socket.create_connection(self.server.getsockname()).close()
        self.thread.join(5)
        assert not self.thread.is_alive()
        self.server.close()

    def serve(self) -> None:
        while not self.stopped.is_set():
            connection, _ = self.server.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                for piece in self.pieces:
                    connection.sendall(piece)
                    if self.stopped.wait(self.pause):
                        break


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def both(url: str, timeout: float) -> Iterator[Callable[[], Reply]]:
    yield lambda: HttpTransport(url, timeout=timeout).send(GET)
    yield lambda: asyncio.run(AsyncHttpTransport(url, timeout=timeout).send(GET))


@pytest.mark.parametrize("start", [b"", HEAD + b"content-length: 1000\r\n\r\n"], ids=["head", "body"])
def test_a_server_that_drips_can_not_hold_a_call(start: bytes) -> None:
    """Each byte comes well within the time-out; the whole answer would take half a minute."""
    text = start or HEAD
    pieces = ([start] if start else []) + [text[at : at + 1] for at in range(len(text))] * 20
    for kind in range(2):
        with Slow(pieces, pause=0.02) as server:
            send = list(both(server.url, 0.2))[kind]
            began = time.monotonic()
            with pytest.raises(errors.TimedOut, match="no whole answer"):
                send()
            assert time.monotonic() - began < 3


@pytest.mark.parametrize("encoding", ["gzip", "deflate", ""])
def test_an_answer_beyond_the_limit_ends_there(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_BODY", 1 << 20)
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "": bytes}[encoding]
    body = pack(bytes(32 << 20 if encoding else 2 << 20))
    head = HEAD + f"content-encoding: {encoding or 'identity'}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with Slow([head, body]) as server:
        for send in both(server.url, 5):
            tracemalloc.start()
            with pytest.raises(errors.BadAnswer, match="longer than 1 MiB"):
                send()
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("encoding", "body", "words"),
    [
        ("gzip, gzip", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "not asked for"),
        ("br", b"1234", "not asked for"),
        ("gzip", b"no gzip", "decompressed"),
        ("gzip", gzip.compress(bytes(1000), mtime=0)[:-12], "cut off"),
    ],
)
def test_a_compression_that_was_not_asked_for_or_is_broken_is_a_bad_answer(
    encoding: str, body: bytes, words: str
) -> None:
    head = HEAD + f"content-encoding: {encoding}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with Slow([head, body]) as server:
        for send in both(server.url, 5):
            with pytest.raises(errors.BadAnswer, match=words):
                send()


def test_a_compressed_answer_is_read_whole() -> None:
    body = gzip.compress(b'{"code":0,"message":"success","data":null}')
    head = HEAD + f"content-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with Slow([head, body]) as server:
        for send in both(server.url, 5):
            assert read_envelope(send(), "GET").code == 0


@pytest.mark.parametrize("value", ["inf", "1e400", "99999999999", "Fri, 31 Dec 9999 23:59:59 GMT", "nan"])
def test_retry_after_never_waits_longer_than_the_policy(value: str) -> None:
    wait = Retry(longest=3.0).wait(0, 0.5, retry_after({"retry-after": value}, 0))
    assert 0 <= wait <= 3.0
