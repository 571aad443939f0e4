"""A progress bar for a long advance; it appears only when the advance takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...progress import late_bar

DELAY_SECONDS = 5.0
"""Seconds after which the bar appears."""
LEAST_MS = 600_000
"""A shorter advance never takes long; it is spared the bar."""


def _nothing(time_ms: int) -> None:
    """Count nothing."""


@contextmanager
def advance_bar(start_ms: int, target_ms: int, shown: bool | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that is called with each time reached (Unix ms); `shown` as in `LocalVenue.advance`."""
    if shown is False or (shown is None and target_ms - start_ms < LEAST_MS):
        yield _nothing
        return
    minutes = (target_ms - start_ms) / 60_000
    with late_bar(shown, DELAY_SECONDS, desc="advance", total=minutes, unit=" min", unit_scale=True) as bar:

        def moved(time_ms: int) -> None:
            bar.update((time_ms - start_ms) / 60_000 - bar.n)

        yield moved
