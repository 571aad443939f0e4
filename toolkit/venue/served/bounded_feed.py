"""WebSocket connections within bounds: a piece a turn, a share of the processor's time, and few parts of a message.

Only messages have a published limit. Frames that are none (pings, empty fragments) cost time as well, so a connection
that took more than its share is not read for a while. Then its client's own sending waits.
"""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    from websockets.frames import Frame

PIECE = 1_024
"""Bytes that are read of one connection in a turn of the event loop."""
MAX_PARTS = 64
"""Parts (fragments) that a message may have."""
SHARE, FEW = 0.3, 10
"""Part of the processor's time that all connections may take. Each has its part of it, but no more than one of FEW."""
BURST_SECONDS = 0.02
"""Processor time that a connection may take in a burst."""


class Share:
    """The processor time that one connection took: beyond a burst it is paid back at the rate of its share.

    It is that of the thread that worked. Other threads, or other programs, may take the processor meanwhile.

    Parameters
    ----------
    burst : float, optional
        Processor seconds that it may take in a burst (default: 0.02).
    """

    def __init__(self, burst: float = BURST_SECONDS) -> None:
        self._burst = burst
        self._spent = self._counted_at = 0.0

    def spend(self, took: float, now: float, connections: int) -> float:
        """Count what the connection took until now.

        Return the seconds to rest, 0.0 for none.

        Parameters
        ----------
        took : float
            Processor time in seconds.
        now : float
            Monotonic time in seconds.
        connections : int
            Number of open connections, which share the processor.
        """
        # Few connections do not get more, so that a lone client can't slow the venue down either.
        share = SHARE / max(FEW, connections)
        self._spent = max(0.0, self._spent - share * (now - self._counted_at)) + took
        self._counted_at = now
        return max(0.0, self._spent - self._burst) / share


class BoundedFeed(WebSocketsSansIOProtocol):
    """One WebSocket connection.

    Parameters
    ----------
    **options : object
        Options of uvicorn's protocol.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._unread = bytearray()
        self._share = Share()
        self._planned = False

    def data_received(self, data: bytes) -> None:
        """Read a piece now, and the rest in later turns of the loop.

        Parameters
        ----------
        data : bytes
            Bytes that came.
        """
        self._unread += data
        if not self._planned:
            self._read()

    async def receive(self) -> Any:
        """Return the next event, and continue with what was not read yet."""
        event = await super().receive()
        if self._unread and not self.read_paused:
            self._plan(0.0)
        return event

    def resume_writing(self) -> None:
        """Continue reading once the client has read what was written."""
        super().resume_writing()
        self._plan(0.0)

    def handle_cont(self, event: Frame) -> None:
        """Take a part of a message.

        A connection whose messages have too many parts is ended.

        Parameters
        ----------
        event : object
            Frame of the part.
        """
        if len(self.frames) < MAX_PARTS:
            super().handle_cont(event)
        elif not self.transport.is_closing():
            self.conn.send_close(1008, f"a message has at most {MAX_PARTS} parts")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def _read(self) -> None:
        self._planned = False
        if self.transport.is_closing():
            self._unread.clear()
            return
        if self.read_paused or not self.writable.is_set():  # goes on in `receive` or `resume_writing`
            self.transport.pause_reading()
            return
        piece = bytes(self._unread[:PIECE])
        del self._unread[:PIECE]
        began = thread_time()
        if piece:
            super().data_received(piece)
        rest = self._share.spend(thread_time() - began, self.loop.time(), len(self.connections))
        if self._unread or rest:
            # The kernel's buffer fills, and the client's own sending waits. No message is lost.
            self.transport.pause_reading()
            self._plan(rest)
        elif not self.read_paused:
            self.transport.resume_reading()

    def _plan(self, rest: float) -> None:
        if not self._planned:
            self._planned = True
            self.loop.call_later(rest, self._read) if rest else self.loop.call_soon(self._read)
