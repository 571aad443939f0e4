"""The venue's time, read from its answers: expiry and candles "until now" depend on the venue's clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from .flow import Fetch, Reply
from .transport import venue_time

JUMP_MS = 3_600_000
"""A later time that is off by more than this is only believed when the next answer confirms it: a proxy may lie."""
ROUNDED_MS = 1_000
"""A Date header has whole seconds."""


class VenueClock:
    """The venue's time in Unix ms: this machine's (`wall`) until an answer shows another.

    From then on it follows `elapsed`, ms on a clock that is never set, so that setting this machine's clock changes
    nothing. A venue whose time passes at another speed, or by hand, is followed from answer to answer; with `jumps` it
    may advance by any span in between.
    """

    def __init__(self, wall: Callable[[], int], elapsed: Callable[[], int], *, jumps: bool = False) -> None:
        self._wall = wall
        self._elapsed = elapsed
        self._jumps = jumps
        self._origin: tuple[int, int] | None = None
        """The venue's time at a value of `elapsed`."""
        self._doubted_ms: int | None = None
        self.skew_ms: int | None = None
        """This machine's time minus the venue's, as of the last answer; None while it is not known."""

    def now_ms(self) -> int:
        """Return the time."""
        if self._origin is None:
            return self._wall()
        venue_ms, at_ms = self._origin
        return venue_ms + max(0, self._elapsed() - at_ms)

    def observe(self, headers: Mapping[str, str], sent_ms: int) -> None:
        """Take the time of an answer to a request that was sent at `sent_ms` of `elapsed`."""
        shown_ms = venue_time(headers)
        if shown_ms is None or shown_ms < 1:
            return
        received_ms = self._elapsed()
        # Read between sending and receiving; a rounded time is half a second behind on average.
        rounding_ms = 0 if headers.get("x-venue-time", "").isdecimal() else ROUNDED_MS
        margin_ms = (max(0, received_ms - sent_ms) + rounding_ms) // 2
        venue_ms = shown_ms + margin_ms
        self.skew_ms = self._wall() - shown_ms
        off_ms = abs(venue_ms - self.now_ms())
        confirmed = self._doubted_ms is not None and 0 <= venue_ms + margin_ms - self._doubted_ms <= JUMP_MS
        believed = self._jumps or self._origin is None or off_ms <= JUMP_MS or confirmed
        self._doubted_ms = None if believed else venue_ms
        if self._doubted_ms is None and (off_ms > margin_ms or self._origin is None):
            self._origin = (venue_ms if off_ms > margin_ms else self._wall(), received_ms)

    def timed(self, send: Callable[[Fetch], Reply]) -> Callable[[Fetch], Reply]:
        """Return `send`, observed."""

        def observed(fetch: Fetch) -> Reply:
            sent_ms = self._elapsed()
            reply = send(fetch)
            self.observe(reply.headers, sent_ms)
            return reply

        return observed

    def timed_async(self, send: Callable[[Fetch], Awaitable[Reply]]) -> Callable[[Fetch], Awaitable[Reply]]:
        """Return `send`, observed."""

        async def observed(fetch: Fetch) -> Reply:
            sent_ms = self._elapsed()
            reply = await send(fetch)
            self.observe(reply.headers, sent_ms)
            return reply

        return observed


class SessionClock:
    """The time of a session's venue, if it is known."""

    def __init__(self, now: Callable[[], int], venue: VenueClock | None) -> None:
        self._now = now
        self._venue = venue

    def now_ms(self) -> int:
        """Return the venue's time in Unix ms: this machine's until the first answer."""
        return self._now()

    @property
    def skew_ms(self) -> int | None:
        """This machine's time minus the venue's as of the last answer in ms, None while it is not known."""
        return 0 if self._venue is None else self._venue.skew_ms

    def __repr__(self) -> str:
        return f"<SessionClock {self.now_ms()} (Unix ms), skew {self.skew_ms} ms>"
