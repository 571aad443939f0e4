"""Connections of the feed: a message that is too long, and a venue that asks to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import httpx
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import InvalidStatus

import toolkit
from tests.client.fake import FakeVenue
from toolkit import errors
from toolkit.client.io.flow import Runtime
from toolkit.client.io.rate_limits import VenueGate
from toolkit.client.stream import connections
from toolkit.client.stream.connections import ConnectionEnded, SocketConnector

LONG = "x" * ((4 << 20) + 1)


async def send_long(connection: ServerConnection) -> None:
    await connection.send(LONG)
    await connection.wait_closed()


def with_server(
    use: Callable[[str], Any], does: Callable[..., Any] = send_long, *, refuse: Callable[..., Any] | None = None
) -> None:
    async def main() -> None:
        async with serve(does, "127.0.0.1", 0, process_request=refuse) as server:
            await use(f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}")

    asyncio.run(asyncio.wait_for(main(), 20))


def test_the_next_connection_reads_a_message_that_was_too_long() -> None:
    async def use(url: str) -> None:
        connect = SocketConnector(url, 5, VenueGate(), Runtime())
        first = await connect()
        with pytest.raises(ConnectionEnded, match=r"longer than 4 MiB, .*The next connection reads longer ones"):
            await first.receive()
        second = await connect()
        assert await second.receive() == LONG
        for each in (first, second):
            await each.close()

    with_server(use)


def test_a_message_beyond_the_bound_says_what_to_follow_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_MESSAGE_BYTES", connections.MESSAGE_BYTES)

    async def use(url: str) -> None:
        connect = SocketConnector(url, 5, VenueGate(), Runtime())
        for _ in range(2):
            connection = await connect()
            with pytest.raises(ConnectionEnded, match=r"longer than 4 MiB, .*Follow less, such as fewer levels"):
                await connection.receive()
            await connection.close()

    with_server(use)


def test_a_close_of_the_venue_for_size_is_not_called_a_long_message_of_its_own() -> None:
    async def close(connection: ServerConnection) -> None:
        await connection.close(1009, "too much")

    async def use(url: str) -> None:
        connection = await SocketConnector(url, 5, VenueGate(), Runtime())()
        with pytest.raises(ConnectionEnded, match=r"the venue closed the connection: too much \(code 1009\)"):
            await connection.receive()
        await connection.close()

    with_server(use, close)


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_a_socks_proxy_looks_names_up_for_the_feed_as_it_does_for_queries(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    async def connect(url: str, *, proxy: str, **options: object) -> None:
        taken.append(proxy)
        raise OSError("no network")

    monkeypatch.setattr("websockets.asyncio.client.connect", connect)
    monkeypatch.setattr("toolkit.client.io.route.find_spec", lambda name: True)
    monkeypatch.setenv("ALL_PROXY", f"{scheme}://10.0.0.1:1080")
    with pytest.raises(OSError, match="no network"):
        asyncio.run(SocketConnector("wss://venue.example/ws", 5, VenueGate(), Runtime())())
    assert taken == ["socks5h://10.0.0.1:1080"]


@pytest.mark.parametrize("status", [HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE])
def test_the_feed_and_the_queries_share_a_wait(status: HTTPStatus) -> None:
    attempts = []

    def refuse(connection: ServerConnection, request: object) -> Any:
        attempts.append(request)
        response = connection.respond(status, "slow down")
        response.headers["Retry-After"] = "120"
        return response

    venue = FakeVenue()
    session = toolkit.connect("testnet", transport=httpx.MockTransport(venue))

    async def use(url: str) -> None:
        connect = SocketConnector(url, 5, session._gate, Runtime())
        with pytest.raises(InvalidStatus, match=str(int(status))):
            await connect()
        with pytest.raises(ConnectionEnded, match=r"the venue asked to wait 1\d\d\.\d s more"):
            await connect()

    with_server(use, refuse=refuse)
    assert len(attempts) == 1
    with pytest.raises(errors.RateLimited, match="was not sent"):
        session.info.products()
    assert not venue.reads
