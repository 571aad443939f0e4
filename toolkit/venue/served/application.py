"""The ASGI application of a served venue: it reads requests within bounds, has them answered, and delivers answers.

/ws/dex is the feed: texts are carried between a WebSocket and a connection of the feed. Every other path goes to the
gateway, each kind on its own threads, so that no long query holds up an order.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ...environments import EXCHANGE_PATH, FEED_PATH
from ...protocol.reads.feed import MALFORMED, POLICY_CLOSE, refusal
from ..api.gateway import MAX_BODY, Answer, Incoming, enveloped, http_error, too_large
from ..engine.commands import REFUSED
from ..feed.hub import FeedConnection, Hub
from ..host import VenueHost
from .boundary import Boundary, ServeSettings, is_protected
from .bounded_feed import Share
from .bounded_http import SEAT_PLACES, seat_in
from .lanes import Lane, Places

SLOW_PATHS = ("/info/kline/",)
"""Queries that may read a whole history. They wait for each other and for nothing else."""
GROUP = 256
"""Largest number of orders in one write of the journal."""
AT_ONCE = 8
"""Requests of one account at one address that are answered at a time."""
LARGE = 1 << 16
"""A larger body, and an answer in more than one piece of this size, is one of a few of its address at a time."""
KNOWN = 4_096
"""Connections whose account is remembered."""
_HIDDEN = "/join/"
"""Paths below this hold a secret, which a log must not show."""


class Application:
    """One venue as an ASGI application.

    Parameters
    ----------
    venue : VenueHost
        The venue that is served.
    boundary : Boundary
        Checks of each request before it is read.
    settings : ServeSettings
        Limits and permissions of clients.
    feed_port : int or None, optional
        Port at which the feed is, if not at each (default: `None`).
    """

    def __init__(
        self, venue: VenueHost, boundary: Boundary, settings: ServeSettings, feed_port: int | None = None
    ) -> None:
        self._feed_port = feed_port
        self._venue = venue
        self._boundary = boundary
        self._settings = settings
        gateway = venue.gateway
        self._orders = Lane("orders", gateway, group=GROUP)
        self._queries = Lane("queries", gateway, threads=3)
        # A body of a megabyte takes a while to parse. It must not hold up the lane of small orders.
        self._large = Lane("large-orders", gateway, way=(self._orders, self._queries))
        self._slow = Lane("slow-queries", gateway, way=(self._orders, self._queries))
        self._controls = Lane("controls", gateway, threads=2)
        self._places, self._large_bodies, self._long_answers = Places(AT_ONCE), Places(4), Places(4)
        self._shares: dict[str, Share] = {}
        """Seat, or address without one → the processor time that the messages of all its feeds took."""
        self._accounts: dict[object, str] = {}
        """Connection → the account that it last acted for."""

    def stop(self) -> None:
        """End the threads."""
        for lane in (self._orders, self._large, self._queries, self._slow, self._controls):
            lane.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one WebSocket."""
        if scope["type"] in ("websocket", "http") and self._settings.seat_of is not None:
            seat, path = seat_in(self._settings.seat_of, scope["path"], scope["headers"])
            scope = {**scope, "path": path, "seat": seat}
        if scope["type"] == "websocket":
            await self._feed(scope, receive, send)
        elif scope["type"] == "http":
            began = time.perf_counter()
            async with contextlib.AsyncExitStack() as held:
                answer = await self._answer(scope, receive, held)
                if answer is not None:
                    await self._deliver(answer, scope, receive, send)
                    self._log(scope, answer, began)

    async def _feed(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._boundary.refuse(scope) or self._wrong_door(scope)
        if refused is None and scope["path"] == FEED_PATH:
            websocket = WebSocket(scope, receive, send)
            await websocket.accept()
            whose = scope.get("seat") or (websocket.client.host if websocket.client else "")
            seated = self._settings.seat_of is not None
            share = self._shares.setdefault(whose, Share(MESSAGE_SECONDS)) if seated else Share(MESSAGE_SECONDS)
            await bridge(self._venue.feed, websocket, whose, share, SEAT_PLACES if scope.get("seat") else None)
            return
        reason = f"the feed is at {FEED_PATH}" if refused is None else refused.body.decode()
        if self._settings.log is not None:
            self._settings.log(f"WebSocket {_shown(scope['path'])} refused: {reason}")
        if refused is not None and "websocket.http.response" in scope.get("extensions", {}):
            headers = [(b"content-type", refused.headers["content-type"].encode())]  # the server adds the length
            await send({"type": "websocket.http.response.start", "status": refused.status, "headers": headers})
            await send({"type": "websocket.http.response.body", "body": refused.body})
            return
        await send({"type": "websocket.close", "code": POLICY_CLOSE, "reason": reason[:120]})

    def _wrong_door(self, scope: Scope) -> Answer | None:
        """Return the page of a proxy in front of the requests, if the feed is behind another door (see `trouble`)."""
        if self._feed_port in (None, scope["server"][1]) or not self._venue.trouble.shut():
            return None
        return Answer(404, b"<html><body>404 Not Found</body></html>", {"content-type": "text/html"})

    async def _answer(self, scope: Scope, receive: Receive, held: contextlib.AsyncExitStack) -> Answer | None:
        """Return the answer to a request, None for a client that went away before it was read.

        `held` are the places that it takes until it is delivered.
        """
        client = scope.get("client") or ("",)
        # The account is not known before the request is read. The last one that this connection signed for is a good
        # guess.
        whose = scope.get("seat") or client[0], self._accounts.get(client, "")
        async with self._places.of(whose):
            answer = self._boundary.refuse(scope) or self._boundary.preflight(scope) or self._state(scope)
            await asyncio.sleep(0)  # the others of a client with very many connections wait for later turns of the loop
        if answer is not None:
            return answer
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                if large := _length(scope) > LARGE:
                    await held.enter_async_context(self._large_bodies.of(whose))
                body = await _body(scope, receive)
        except TimeoutError:
            text = f"the body did not arrive within {self._settings.body_seconds:g} s"
            return http_error(408, text)._replace(headers={"connection": "close"})
        if not isinstance(body, bytes):
            return body
        path, query = str(scope["path"]), scope["query_string"].decode("latin-1")
        lane = self._lane(path, large)
        # A long answer holds memory until its client has read it, so an address may have few of them.
        if lane is self._slow:
            await held.enter_async_context(self._long_answers.of(whose))
        async with self._places.of(whose):
            answer = await lane.answer(
                Incoming(scope["method"], path, query, body, client[0], seat=scope.get("seat", "")), whose
            )
        if answer.signer and answer.code in (0, REFUSED):  # what others sign must not count as this account's
            self._accounts[client] = answer.signer
            if len(self._accounts) > KNOWN:
                del self._accounts[next(iter(self._accounts))]
        return answer

    def _lane(self, path: str, large: bool) -> Lane:
        if path == EXCHANGE_PATH:
            return self._large if large else self._orders
        if is_protected(path):
            return self._controls
        return self._slow if path.startswith(SLOW_PATHS) else self._queries

    def _state(self, scope: Scope) -> Answer | None:
        """Return the answer to /health and /ready. They wait for no other request."""
        path = scope["path"]
        if path not in ("/health", "/ready"):
            return None
        behind = self._venue.behind_ms()
        ready = path == "/health" or behind < READY_MS * max(1.0, self._venue.speed)
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
            # An answer that promises more than it sends: the client sees a broken connection.
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
        with contextlib.suppress(TimeoutError):  # a reader that takes nothing for so long is disconnected
            for start in range(0, len(body) or 1, LARGE):
                async with asyncio.timeout(self._settings.body_seconds):
                    more = start + LARGE < len(body)
                    await send({"type": "http.response.body", "body": body[start : start + LARGE], "more_body": more})
                    await asyncio.sleep(0)

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


READY_MS = 1_000
"""A venue that is further behind its clock than this, at the speed of real time, is not ready."""


TOO_LONG = MAX_BODY + 1


def _length(scope: Scope) -> int:
    """Return the bytes that a body announces, at most TOO_LONG, MAX_BODY without an announcement."""
    found = {name: value for name, value in scope["headers"] if name in (b"content-length", b"transfer-encoding")}
    if b"transfer-encoding" in found:
        return MAX_BODY
    given = found.get(b"content-length", b"0")
    return min(int(given), TOO_LONG) if given.isdigit() and len(given) < 20 else TOO_LONG


async def _body(scope: Scope, receive: Receive) -> bytes | Answer | None:
    """Return the body, or None for a client that disconnected before it was whole.

    As soon as it exceeds MAX_BODY, the answer is returned instead. A chunked body has no length in its headers.
    """
    if _length(scope) == TOO_LONG:
        return too_large(TOO_LONG)
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY:
            return too_large(TOO_LONG)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _shown(path: str) -> str:
    """Return a path as a log may show it, without control characters and secrets."""
    text = path if not path.startswith(_HIDDEN) else f"{_HIDDEN}…"
    return "".join(each if each.isprintable() else "?" for each in text[:200])


GOODBYE = 2.0
"""Seconds a client that was disconnected has to read what is queued and the reason."""
MESSAGE_SECONDS = 0.2
"""Processor time that one client's messages may take in a burst."""
_REASON = 120
"""Bytes of a close frame's reason, the protocol allows 123."""


def monotonic_ms() -> int:
    """Return the monotonic time in ms."""
    return time.monotonic_ns() // 1_000_000


async def bridge(hub: Hub, websocket: WebSocket, peer: str, share: Share, places: int | None = None) -> None:
    """Carry texts between a WebSocket and a new connection of the feed, until either side ends it.

    Parameters
    ----------
    hub : Hub
        Feed of the venue.
    websocket : WebSocket
        Accepted WebSocket.
    peer : str
        Address of the client, or its seat.
    share : Share
        Processor time that its messages took.
    places : int or None, optional
        Largest number of its feeds (default: that of the hub).
    """
    loop, woken, ended = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    connection = hub.open(peer, clock=monotonic_ms, places=places)

    def on_change() -> None:
        woken.set()
        if connection.closed:
            ended.set()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be closed already
            loop.call_soon_threadsafe(on_change)

    # Called from any thread, under the venue's lock. It only plans a call of the loop.
    connection.on_wake = wake
    on_change()  # for what happened before `on_wake` was set
    reader = asyncio.create_task(_receive(connection, websocket, share))
    writer = asyncio.create_task(_send(connection, websocket, woken))
    ending = asyncio.create_task(ended.wait())
    tasks = {reader, writer, ending}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        # A disconnected client gets what is queued and the reason, but no more time than GOODBYE.
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


async def _receive(connection: FeedConnection, websocket: WebSocket, share: Share) -> None:
    """Pass the client's messages to the feed, until it disconnects or the connection is closed."""
    rest = 0.0
    while not connection.closed:
        await asyncio.sleep(rest)
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            connection.close("closed by the client")
            return
        text = message.get("text")
        if text is None:
            connection.put(refusal("", MALFORMED, "messages are JSON text, not binary"))
        else:
            took = await asyncio.to_thread(_sent, connection, text)  # it may have to wait for the venue's lock
            rest = share.spend(took, time.monotonic(), len(connection.hub.open_connections))


def _sent(connection: FeedConnection, text: str) -> float:
    """Pass a message to the feed. Return the processor time that it took, in s."""
    began = time.thread_time()
    connection.send(text)
    return time.thread_time() - began


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
