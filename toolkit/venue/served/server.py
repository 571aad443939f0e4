"""Serves a venue on loopback: HTTP around its gateway, a WebSocket route around its feed.

It binds nothing but loopback unless a host is given and remote access is allowed as well, because the keys of the
venue's accounts are public.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from ...environments import LOCAL, Environment, environment
from ...errors import InputError, VenueError
from ...protocol.reads.feed import POLICY_CLOSE
from ..api.gateway import MAX_BODY, Answer, too_large
from ..feed.hub import Hub
from .sockets import bridge

FEED_PATH = "/ws/dex"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
START_LIMIT = 10.0
STOP_LIMIT = 10.0
"""Seconds a server may take to start and to stop."""


class ServedVenue(Protocol):
    """What the server needs of the venue."""

    @property
    def feed(self) -> Hub: ...
    def handle(self, method: str, path: str, query: str, body: bytes, peer: str) -> Answer: ...
    def start_running(self) -> None: ...
    def stop_running(self) -> None: ...


class Served:
    """The addresses of a served venue: `base_url`, `ws_url`, `port` and `environment` to connect to."""

    def __init__(self, venue: ServedVenue, host: str, port: int) -> None:
        self.venue = venue
        self.port = port
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"  # IPv6 addresses are bracketed in URLs
        self.base_url = f"http://{authority}"
        self.ws_url = f"ws://{authority}"

    @property
    def environment(self) -> Environment:
        """The environment "local" at these addresses."""
        return environment(LOCAL, base_url=self.base_url, ws_url=self.ws_url, variables={})

    def __repr__(self) -> str:
        return f"<Served {self.base_url}>"


def application(venue: ServedVenue) -> Starlette:
    """Return the ASGI application of a venue: /ws/dex is the feed, every other path goes to the gateway."""

    async def feed(websocket: WebSocket) -> None:
        await websocket.accept()
        await bridge(venue.feed, websocket, websocket.client.host if websocket.client else "")

    http = _Http(venue)
    app = Starlette(routes=[WebSocketRoute(FEED_PATH, feed), Mount("/", app=http)])
    app.router.default = http  # for a target that is not a path, such as a proxy's http://host/path
    return app


class _Http:
    """Reads a request, hands it to the gateway, and delivers the answer as its faults demand."""

    def __init__(self, venue: ServedVenue) -> None:
        self._venue = venue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": POLICY_CLOSE, "reason": f"the feed is at {FEED_PATH}"})
            return
        request = Request(scope, receive)
        try:
            body = await _body(request)
        except ClientDisconnect:
            return
        if body is None:
            answer = too_large(MAX_BODY + 1)
        else:
            peer = request.client.host if request.client else ""
            query = scope["query_string"].decode("latin-1")
            answer = self._venue.handle(request.method, scope["path"], query, body, peer)
        await _deliver(answer, request, scope, receive, send)


async def _body(request: Request) -> bytes | None:
    """Return the body, or None as soon as it exceeds MAX_BODY; a chunked body has no length in its headers."""
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > MAX_BODY:
        return None
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


async def _deliver(answer: Answer, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
    if answer.delay:
        await asyncio.sleep(answer.delay)
    if answer.broken == "timeout":
        while not await request.is_disconnected():
            await asyncio.sleep(0.05)
        return
    if answer.broken:
        headers = [(b"content-length", b"1000"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        return  # the server drops the connection of an unfinished answer
    await Response(answer.body, answer.status, dict(answer.headers))(scope, receive, send)


def listen(host: str, port: int, *, allow_remote: bool = False) -> socket.socket:
    """Return a listening socket.

    Raises InputError for a host that is not loopback without `allow_remote` and for a port out of range; VenueError
    when the port is taken.
    """
    if host not in LOOPBACK and not allow_remote:
        raise InputError(
            f"host {host!r} is not loopback, and the keys of this venue's accounts are public; "
            "give allow_remote (--allow-remote) as well to listen there",
            field="host",
            rule="loopback",
            value=host,
            nearest=("127.0.0.1",),
        )
    if not 0 <= port <= 65_535:
        raise InputError(
            f"port {port} is not 0 to 65535 (0 takes a free one)", field="port", rule="0 to 65535", value=port
        )
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, number)  # asyncio disables Nagle's delay only if the number is given
        try:
            if sys.platform != "win32":  # on Windows the option lets two servers share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(512)
        except BaseException:
            listener.close()
            raise
        return listener
    except OSError as error:
        raise VenueError(
            f"can't listen on {host} port {port}: {error}; another venue may be running there, choose another port "
            "(0 takes a free one)"
        ) from error


@contextmanager
def running(
    venue: ServedVenue, port: int = 0, *, host: str = "127.0.0.1", allow_remote: bool = False
) -> Iterator[Served]:
    """Serve a venue in a thread while a `with` block runs; port 0 takes a free one.

    Start and stop are bounded in time, and no thread is left behind. Raises as `listen`, and VenueError when the
    server does not start.
    """
    listener = listen(host, port, allow_remote=allow_remote)
    config = uvicorn.Config(
        application(venue),
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="websockets-sansio",
        ws_max_size=1 << 16,  # above the feed's own limit, so that the feed answers a long message with a reason
        ws_ping_interval=None,  # the feed closes idle connections itself
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    server = uvicorn.Server(config)
    started = threading.Event()
    thread = threading.Thread(target=_run, args=(server, listener, started), name="toolkit-venue-server", daemon=True)
    venue.start_running()
    try:
        thread.start()
        if not started.wait(START_LIMIT) or not server.started:
            raise VenueError(f"the server did not start on port {listener.getsockname()[1]}")
        yield Served(venue, host, listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(STOP_LIMIT)
        if thread.is_alive():
            server.force_exit = True
            thread.join(STOP_LIMIT)
        listener.close()
        venue.stop_running()


def _run(server: uvicorn.Server, listener: socket.socket, started: threading.Event) -> None:
    async def serve() -> None:
        task = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        started.set()
        await task

    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve())
    finally:
        started.set()
