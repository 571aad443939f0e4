"""Clocks of the venue (real, manual, or a user's own object)."""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable

from ..errors import InputError

MANUAL_START = 1_767_225_600_000
"""Default start of a manual clock: 2026-01-01T00:00:00Z in ms."""


@runtime_checkable
class Clock(Protocol):
    """A clock as the venue needs it.

    `runs` is True when time passes automatically.
    """

    runs: bool

    def now_ms(self) -> int:
        """Return the time in Unix ms. It never decreases, except by `set`."""

    def set(self, now: int) -> None:
        """Set the time: forwards by an advance of the venue, backwards by a restored snapshot.

        Parameters
        ----------
        now : int
            Time to set, Unix ms.
        """


class RealClock:
    """The time of this machine, possibly faster.

    It follows the monotonic clock, so that an adjustment of the machine's clock does not move the venue.

    Parameters
    ----------
    start : int or None, optional
        First time, Unix ms (default: now).
    speed : float, optional
        How many times as fast as real time it passes, above 0 (default: 1.0).

    Raises
    ------
    InputError
        If `speed` is not above 0.
    """

    runs = True

    def __init__(self, *, start: int | None = None, speed: float = 1.0) -> None:
        if not isinstance(speed, int | float) or not speed > 0:
            text = f"speed must be above 0, such as 10, not {speed!r}"
            raise InputError(text, field="speed", rule="positive", value=speed)
        self.speed = speed
        self._origin = time.monotonic()
        self._start = time.time_ns() // 1_000_000 if start is None else start

    def now_ms(self) -> int:
        """Return the time in Unix ms."""
        return self._start + int((time.monotonic() - self._origin) * 1000 * self.speed)

    def set(self, now: int) -> None:
        """Set the time.

        It continues from there.

        Parameters
        ----------
        now : int
            Time to set, Unix ms.
        """
        self._start, self._origin = now, time.monotonic()

    def set_speed(self, speed: float) -> None:
        """Let time pass faster or slower from now on.

        Parameters
        ----------
        speed : float
            How many times as fast as real time it passes. 0 stops it.

        Raises
        ------
        InputError
            If it is below 0.
        """
        if not speed >= 0:
            raise InputError(f"speed must be 0 or more, not {speed}", field="speed", rule="0 or more", value=speed)
        self.set(self.now_ms())
        self.speed = speed


class ManualClock:
    """A clock that only moves by `set`.

    Parameters
    ----------
    start : int, optional
        First time, Unix ms (default: 2026-01-01T00:00:00Z).
    """

    runs = False

    def __init__(self, *, start: int = MANUAL_START) -> None:
        self._now = start

    def now_ms(self) -> int:
        """Return the time in Unix ms."""
        return self._now

    def set(self, now: int) -> None:
        """Set the time.

        Parameters
        ----------
        now : int
            Time to set, Unix ms.
        """
        self._now = now


def clock_named(clock: str | Clock, start: int | None, speed: float = 1.0) -> Clock:
    """Return a clock by its name, or the given object.

    Raises InputError for anything else, and for a speed of a clock that is not "real".

    Parameters
    ----------
    clock : str or Clock
        "real", "manual", or an object with `runs`, `now_ms` and `set`.
    start : int or None
        First time, Unix ms. `None` is now for a real clock, 2026-01-01 for a manual one, and leaves an object as it is.
    speed : float, optional
        How many times as fast as real time it passes (default: 1.0).

    Raises
    ------
    InputError
        For anything else, and for a speed of a clock that is not "real".
    """
    if clock == "real":
        return RealClock(start=start, speed=speed)
    if speed != 1:
        raise InputError("speed is for the real clock. Give clock='real'", field="speed", rule="real", value=speed)
    if clock == "manual":
        return ManualClock(start=MANUAL_START if start is None else start)
    if isinstance(clock, Clock):
        if start is not None:
            clock.set(start)
        return clock
    text = f'clock {clock!r} is not known. Use "real", "manual", or an object with runs, now_ms() and set(ms)'
    raise InputError(text, field="clock", rule="known", value=clock, nearest=("real", "manual"))
