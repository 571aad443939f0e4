"""A progress bar for complete reads that appears only when a read takes long."""

from __future__ import annotations

from typing import Any

from ...progress import late_bar

DELAY = 5.0
"""Seconds after which the bar appears."""


class Progress:
    """Counts rows. `shown` True shows the bar immediately, False never, None after DELAY seconds."""

    def __init__(self, what: str, shown: bool | None = None) -> None:
        self._what = what
        self._shown = shown
        self._bar: Any = None
        self._total: int | None = None

    @classmethod
    def silent(cls) -> Progress:
        """Return an instance that never shows a bar."""
        return cls("", shown=False)

    def expect(self, total: int | None) -> None:
        """Set the expected number of rows; None keeps it."""
        if total is not None:
            self._total = total
            if self._bar is not None:
                self._bar.total = total

    def add(self, count: int) -> None:
        """Count `count` more rows."""
        if self._shown is False:
            return
        if self._bar is None:
            self._bar = late_bar(self._shown, DELAY, desc=self._what, total=self._total, unit=" rows")
        self._bar.update(count)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
