"""A loopback proxy for the feed that injects faults: delays, duplicates, drops, cuts and freezes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed


class Proxy:
    """Forwards messages between a client and a venue's feed. The test changes attributes while it runs.

    `drop`, `duplicate`: how many of the venue's next data messages are lost or sent twice. `delay`: seconds that each
    message takes. `refusing`: new connections are refused. `lottery`: called for each message; returns what happens to
    it: "pass", "drop", "duplicate" or "cut".
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.drop = self.duplicate = 0
        self.delay = 0.0
        self.refusing = False
        self.lottery: Callable[[], str] | None = None
        self.connections = 0
        self._open: set[ServerConnection] = set()
        self._thawed: asyncio.Event | None = None
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tests-proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def url(self) -> str:
        """Address for the client."""
        return f"ws://127.0.0.1:{self._port}/ws/dex"

    def cut(self) -> None:
        """Abort all connections without a closing handshake."""

        def cut() -> None:
            for connection in self._open:
                connection.transport.abort()

        self._loop.call_soon_threadsafe(cut)

    def freeze(self) -> None:
        """Hold back all messages from now on; connections stay open."""
        self._loop.call_soon_threadsafe(self._event.clear)

    def thaw(self) -> None:
        """Forward messages again, in order."""
        self._loop.call_soon_threadsafe(self._event.set)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.close()

    async def _main(self) -> None:
        self._stopped, self._event = asyncio.Event(), asyncio.Event()
        self._event.set()
        server: Server
        async with serve(self._serve, "127.0.0.1", 0, ping_interval=None, close_timeout=0.1) as server:
            self._port = next(iter(server.sockets)).getsockname()[1]
            self._started.set()
            await self._stopped.wait()
            for connection in list(self._open):
                connection.transport.abort()

    async def _serve(self, client: ServerConnection) -> None:
        if self.refusing:
            await client.close(1013, "go away")
            return
        self.connections += 1
        self._open.add(client)
        try:
            async with connect(self.target, ping_interval=None, close_timeout=0.1, proxy=None) as venue:
                up = asyncio.create_task(self._carry(client, venue, lossy=False))
                down = asyncio.create_task(self._carry(venue, client, lossy=True))
                _, pending = await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
                for task in pending:
                    task.cancel()
                await asyncio.gather(up, down, return_exceptions=True)
        finally:
            self._open.discard(client)

    async def _carry(self, source: Any, sink: Any, *, lossy: bool) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for text in source:
                await self._event.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                times = self._fate(sink) if lossy and '"sequence"' in text else 1
                for _ in range(times):
                    await sink.send(text)

    def _fate(self, client: Any) -> int:
        fate = self.lottery() if self.lottery else "pass"
        if fate == "cut":
            client.transport.abort()
        if self.drop or fate == "drop":
            self.drop = max(0, self.drop - 1)
            return 0
        if self.duplicate or fate == "duplicate":
            self.duplicate = max(0, self.duplicate - 1)
            return 2
        return 1
