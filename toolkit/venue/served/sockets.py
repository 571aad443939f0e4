"""Bridges a WebSocket of the server to a connection of the feed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from starlette.websockets import WebSocketDisconnect, WebSocketState

from ...protocol.reads.feed import MALFORMED, refusal

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from ..feed.hub import FeedConnection, Hub

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
