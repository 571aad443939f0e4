"""The venue's time, from its answers and feed: expiry, TWAPs and candles "until now" depend on the venue's clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .transport import venue_time

JUMP_MS = 3_600_000
"""A later time that is off by more than this is only believed when the next answer confirms it: a proxy may lie."""
ROUNDED_MS = 1_000
"""A Date header has whole seconds."""
LATE_MS = 5_000
"""A message of the feed may be that old when it is read, or as much longer as the venue is faster."""
WINDOW_MS = 1_000
"""Over this time of this machine's the speed of the feed's messages is measured."""


class VenueClock:
    """The venue's time in Unix ms: this machine's until an answer shows another.

    From then on it follows a clock that is never set, so that setting this machine's clock has no effect. It advances
    at the speed that the venue states, or at that of the feed's messages. Time that is moved by hand is followed from
    message to message.

    Parameters
    ----------
    wall : callable
        Function that returns this machine's Unix ms.
    elapsed : callable
        Function that returns ms on a clock that is never set.
    jumps : bool, optional
        Whether the time may advance by any span between two messages (default: False).
    """

    def __init__(self, wall: Callable[[], int], elapsed: Callable[[], int], *, jumps: bool = False) -> None:
        self._wall = wall
        self._elapsed = elapsed
        self._jumps = jumps
        self._origin: tuple[int, int] | None = None
        """The venue's time at a value of `elapsed`."""
        self._doubted_ms: int | None = None
        self._exact = False
        self._window = 0, 0, 0.0
        """Venue's time and value of `elapsed` at which a window of the feed began, and the speed in the one before."""
        self.speed = 1.0
        """How fast the venue's time passes, 0 where it is moved by hand."""
        self.skew_ms: int | None = None
        """This machine's time minus the venue's, as of the last answer, None while it is not known."""

    def now_ms(self) -> int:
        """Return the time."""
        if self._origin is None:
            return self._wall()
        venue_ms, at_ms = self._origin
        return venue_ms + int(max(0, self._elapsed() - at_ms) * self.speed)

    def observe(self, headers: Mapping[str, str], sent_ms: int) -> None:
        """Take the time of an answer.

        Parameters
        ----------
        headers : mapping
            Headers of the answer.
        sent_ms : int
            When the request was sent, in ms of `elapsed`.
        """
        shown_ms = venue_time(headers)
        # A time of 0 or less is no time of a venue.
        if shown_ms is None or shown_ms < 1:
            return
        received_ms = self._elapsed()
        exact = headers.get("x-venue-time", "").isdecimal()
        if self._exact and not exact:
            return  # the Date of a proxy's page, whose clock may be another than the venue's
        self._exact = exact
        if exact:
            # Before the time is taken: the margin below is in the venue's time.
            self._set_speed(_speed_of(headers))
        # Read between sending and receiving; a rounded time is half a second behind on average.
        margin_ms = int(max(0, received_ms - sent_ms) * self.speed + (0 if exact else ROUNDED_MS)) // 2
        # The user's own clock, for messages. It does not move the venue's time.
        self.skew_ms = self._wall() - shown_ms
        self._take(shown_ms + margin_ms, margin_ms, received_ms)

    def follow(self, shown_ms: int) -> None:
        """Take the time of a message of the feed: it was true when the message was sent, so it may be late.

        Parameters
        ----------
        shown_ms : int
            Time of the message, Unix ms.
        """
        received_ms, late_ms = self._elapsed(), LATE_MS * max(1, self.speed)
        began_ms, at_ms, before = self._window
        if self._jumps and received_ms - at_ms >= WINDOW_MS:
            rate = max(0, shown_ms - began_ms) / (received_ms - at_ms)
            # twice about the same: time was not moved by hand meanwhile
            if abs(rate - before) <= rate / 4 < abs(rate - self.speed):
                self._set_speed(rate)
            self._window = shown_ms, received_ms, rate
        # A message is never early, so a later time is believed immediately. An earlier one may be on its way.
        if shown_ms > 0 and not -late_ms <= shown_ms - self.now_ms() <= 0:
            self._take(shown_ms, 0, received_ms)

    def _take(self, venue_ms: int, margin_ms: int, received_ms: int) -> None:
        off_ms = abs(venue_ms - self.now_ms())
        confirmed = self._doubted_ms is not None and 0 <= venue_ms + margin_ms - self._doubted_ms <= JUMP_MS
        believed = self._jumps or self._origin is None or off_ms <= JUMP_MS or confirmed
        # One answer of a broken proxy would make orders expire or never end. Two that agree are believed.
        self._doubted_ms = None if believed else venue_ms
        if self._doubted_ms is None and (off_ms > margin_ms or self._origin is None):
            # Within the margin this machine's clock is as good, and does not jump from answer to answer.
            self._origin = (venue_ms if off_ms > margin_ms else self._wall(), received_ms)

    def _set_speed(self, speed: float) -> None:
        if speed != self.speed:
            # The time so far passed at the old speed.
            if self._origin is not None:
                self._origin = self.now_ms(), self._elapsed()
            self.speed = speed


def _speed_of(headers: Mapping[str, str]) -> float:
    """Return the speed that a venue states. One that states none has the usual one."""
    try:
        speed = float(headers.get("x-venue-speed", 1.0))
    except ValueError:
        return 1.0
    return speed if 0 <= speed <= 1_000_000 else 1.0


class SessionClock:
    """The time of a session's venue, if it is known.

    Parameters
    ----------
    now : callable
        Function that returns Unix ms.
    venue : VenueClock or None
        Clock of a venue elsewhere, None for one in this process.
    speed : float, optional
        How many times as fast as this machine's the time of a venue in this process passes (default: 1).
    """

    def __init__(self, now: Callable[[], int], venue: VenueClock | None, speed: float = 1.0) -> None:
        self._now = now
        self._venue = venue
        self._speed = speed

    def now_ms(self) -> int:
        """Return the venue's time in Unix ms: this machine's until the first answer."""
        return self._now()

    @property
    def skew_ms(self) -> int | None:
        """This machine's time minus the venue's as of the last answer in ms, None while it is not known."""
        return 0 if self._venue is None else self._venue.skew_ms

    @property
    def speed(self) -> float:
        """How many times as fast as this machine's the venue's time passes, 0.0 where it is moved by hand."""
        return self._speed if self._venue is None else self._venue.speed

    def __repr__(self) -> str:
        return f"<SessionClock {self.now_ms()} (Unix ms), skew {self.skew_ms} ms>"
