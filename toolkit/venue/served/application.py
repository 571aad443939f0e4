"""The ASGI application of a served venue: it reads requests within bounds, has them answered, and delivers answers.

/ws/dex is the feed: texts are carried between a WebSocket and a connection of the feed. Every other path goes to the
gateway, each kind on its own threads, so that no long query holds up an order.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Protocol

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ...environments import FEED_PATH
from ...protocol.reads.feed import MALFORMED, POLICY_CLOSE, refusal
from ..api.gateway import EXCHANGE_PATH, MAX_BODY, Answer, Gateway, Host, HttpRequest, enveloped, http_error, too_large
from ..feed.hub import FeedConnection, Hub
from .boundary import Boundary, ServeSettings, is_protected
from .lanes import Lane

SLOW_PATHS = ("/info/kline/",)
"""Queries that may read a whole history; they wait for each other and for nothing else."""
GROUP = 256
"""Largest number of orders in one write of the journal."""
_HIDDEN = "/join/"
"""Paths below this hold a secret, which a log must not show."""


class ServedHost(Host, Protocol):
    """What the server needs of the venue."""

    closing: bool
    gateway: Gateway

    @property
    def feed(self) -> Hub: ...
    def behind_ms(self) -> int: ...


class Application:
    """One venue as an ASGI application."""

    def __init__(self, venue: ServedHost, boundary: Boundary, settings: ServeSettings) -> None:
        self._venue = venue
        self._boundary = boundary
        self._settings = settings
        gateway = venue.gateway
        self._orders = Lane("orders", gateway, group=GROUP)
        self._queries = Lane("queries", gateway, threads=3)
        self._slow = Lane("slow-queries", gateway)
        self._controls = Lane("controls", gateway, threads=2)

    def stop(self) -> None:
        """End the threads."""
        for lane in (self._orders, self._queries, self._slow, self._controls):
            lane.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one WebSocket."""
        if scope["type"] == "websocket":
            await self._feed(scope, receive, send)
        elif scope["type"] == "http":
            began = time.perf_counter()
            answer = await self._answer(scope, receive)
            if answer is not None:
                await self._deliver(answer, scope, receive, send)
                self._log(scope, answer, began)

    async def _feed(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._boundary.refuse(scope)
        if refused is None and scope["path"] == FEED_PATH:
            websocket = WebSocket(scope, receive, send)
            await websocket.accept()
            await bridge(self._venue.feed, websocket, websocket.client.host if websocket.client else "")
            return
        reason = f"the feed is at {FEED_PATH}" if refused is None else refused.body.decode()
        if self._settings.log is not None:
            self._settings.log(f"WebSocket {_shown(scope['path'])} refused: {reason}")
        if refused is not None and "websocket.http.response" in scope.get("extensions", {}):
            headers = [(b"content-type", b"application/json")]  # the server adds the length
            await send({"type": "websocket.http.response.start", "status": refused.status, "headers": headers})
            await send({"type": "websocket.http.response.body", "body": refused.body})
            return
        await send({"type": "websocket.close", "code": POLICY_CLOSE, "reason": reason[:120]})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer | None:
        """Return the answer to a request; None for a client that went away before it was read."""
        answer = self._boundary.refuse(scope) or self._boundary.preflight(scope) or self._state(scope)
        if answer is not None:
            return answer
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                body = await _body(scope, receive)
        except TimeoutError:
            text = f"the body did not arrive within {self._settings.body_seconds:g} s"
            return http_error(408, text)._replace(headers={"connection": "close"})
        if not isinstance(body, bytes):
            return body
        path, client = str(scope["path"]), scope.get("client")
        query = scope["query_string"].decode("latin-1")
        request = HttpRequest(scope["method"], path, query, body, client[0] if client else "")
        return await self._lane(path).answer(request)

    def _lane(self, path: str) -> Lane:
        if path == EXCHANGE_PATH:
            return self._orders
        if is_protected(path):
            return self._controls
        return self._slow if path.startswith(SLOW_PATHS) else self._queries

    def _state(self, scope: Scope) -> Answer | None:
        """Return the answer to /health and /ready; they wait for no other request."""
        path = scope["path"]
        if path not in ("/health", "/ready"):
            return None
        behind = self._venue.behind_ms()
        ready = path == "/health" or behind < READY_MS
        data = {"time": self._venue.now_ms(), "behindMs": behind}
        if ready:
            return enveloped(200, 0, "success", data)
        return http_error(503, f"the venue is {behind} ms behind its clock and catching up", data)

    async def _deliver(self, answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.broken == "timeout":
            while (await receive())["type"] != "http.disconnect":
                continue
            return
        if answer.broken:
            headers = [(b"content-length", b"1000"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"{", "more_body": True})
            return  # the server drops the connection of an unfinished answer
        headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
        headers.append((b"content-length", b"%d" % len(answer.body)))
        headers.append((b"x-content-type-options", b"nosniff"))
        origin = self._boundary.origin(scope)
        if origin:
            headers += [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"origin")]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body})

    def _log(self, scope: Scope, answer: Answer, began: float) -> None:
        if self._settings.log is None:
            return
        client = scope.get("client")
        spent = (time.perf_counter() - began) * 1000
        what = " ".join(part for part in (answer.action, answer.signer) if part)
        self._settings.log(
            f"{client[0] if client else '-'} {scope['method']} {_shown(scope['path'])}{' ' if what else ''}{what} "
            f"HTTP {answer.status} code {answer.code}{' ' + answer.broken if answer.broken else ''} {spent:.1f} ms"
        )


READY_MS = 5_000
"""A venue that is further behind its clock than this is not ready."""


async def _body(scope: Scope, receive: Receive) -> bytes | Answer | None:
    """Return the body, or None for a client that disconnected before it was whole.

    As soon as it exceeds MAX_BODY, the answer is returned instead; a chunked body has no length in its headers.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > MAX_BODY:
            return too_large(MAX_BODY + 1)
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY:
            return too_large(MAX_BODY + 1)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _shown(path: str) -> str:
    """Return a path as a log may show it, without control characters and secrets."""
    text = path if not path.startswith(_HIDDEN) else f"{_HIDDEN}…"
    return "".join(each if each.isprintable() else "?" for each in text[:200])


GOODBYE = 2.0
"""Seconds a client that was disconnected has to read what is queued and the reason."""
_REASON = 120
"""Bytes of a close frame's reason; the protocol allows 123."""


def monotonic_ms() -> int:
    """Return the monotonic time in ms."""
    return time.monotonic_ns() // 1_000_000


async def bridge(hub: Hub, websocket: WebSocket, peer: str) -> None:
    """Carry texts between an accepted WebSocket and a new connection of the feed, until either side ends it."""
    loop, woken, ended = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    connection = hub.open(peer, clock=monotonic_ms)

    def on_change() -> None:
        woken.set()
        if connection.closed:
            ended.set()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be closed already
            loop.call_soon_threadsafe(on_change)

    connection.on_wake = wake
    on_change()  # for what happened before `on_wake` was set
    reader = asyncio.create_task(_receive(connection, websocket))
    writer = asyncio.create_task(_send(connection, websocket, woken))
    ending = asyncio.create_task(ended.wait())
    tasks = {reader, writer, ending}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if connection.closed and not writer.done():
            await asyncio.wait({writer}, timeout=GOODBYE)
    finally:
        connection.on_wake = None
        connection.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if websocket.client_state is WebSocketState.CONNECTED:
            await _close(connection, websocket)


async def _receive(connection: FeedConnection, websocket: WebSocket) -> None:
    """Pass the client's messages to the feed, until it disconnects or the connection is closed."""
    while not connection.closed:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            connection.close("closed by the client")
            return
        text = message.get("text")
        if text is None:
            connection.put(refusal("", MALFORMED, "messages are JSON text, not binary"))
        else:
            connection.send(text)


async def _send(connection: FeedConnection, websocket: WebSocket, woken: asyncio.Event) -> None:
    """Send the queued messages to the client, until the connection is closed and its queue is empty."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            for text in connection.drain():
                await websocket.send_text(text)
            if connection.closed and not connection.waiting:
                return
            deadline = connection.idle_deadline()
            seconds = None if deadline is None else max(0.0, (deadline - monotonic_ms()) / 1000)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), seconds)
            woken.clear()
            connection.check_idle()


async def _close(connection: FeedConnection, websocket: WebSocket) -> None:
    reason = connection.reason.encode()[:_REASON].decode(errors="ignore")
    with contextlib.suppress(TimeoutError, RuntimeError, WebSocketDisconnect):
        await asyncio.wait_for(websocket.close(connection.close_code, reason), GOODBYE)
