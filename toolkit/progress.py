"""Progress bars that appear when something takes long."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

DELAY_SECONDS = 5.0
"""Seconds after which the bar of a long read or advance appears."""


def late_bar(shown: bool | None, seconds: float, **options: Any) -> Any:
    """Return tqdm's bar, which appears after a while.

    The variable TQDM_DISABLE keeps away one that was not asked for. It is read here because tqdm's form for notebooks,
    in which whether a bar appears would depend on the machine, ignores it.

    Parameters
    ----------
    shown : bool or None
        True shows it immediately. Otherwise it appears after `seconds`, with None only if TQDM_DISABLE is not set.
    seconds : float
        Time after which it appears, seconds.
    **options : object
        Further options of tqdm.
    """
    from tqdm.auto import tqdm

    hidden = shown is None and os.environ.get("TQDM_DISABLE", "") not in ("", "0")
    return tqdm(delay=0.0 if shown else seconds, leave=False, disable=hidden, **options)


class Progress:
    """Counts the rows of a long read.

    Parameters
    ----------
    what : str
        Description of the read, shown before the bar.
    shown : bool, optional
        True shows the bar immediately, False never (default: after DELAY_SECONDS).
    """

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
        """Set the expected number of rows.

        Parameters
        ----------
        total : int or None
            Number of rows, None to keep the last one.
        """
        if total is not None:
            self._total = total
            if self._bar is not None:
                self._bar.total = total

    def add(self, count: int) -> None:
        """Count more rows.

        Parameters
        ----------
        count : int
            Number of rows.
        """
        if self._shown is False:
            return
        if self._bar is None:
            self._bar = late_bar(self._shown, DELAY_SECONDS, desc=self._what, total=self._total, unit=" rows")
        self._bar.update(count)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


LEAST_MS = 600_000
"""A shorter advance never takes long. It shows no bar."""


@contextmanager
def advance_bar(start_ms: int, target_ms: int, shown: bool | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that is called with each time reached, Unix ms.

    Parameters
    ----------
    start_ms : int
        Beginning of the advance, Unix ms.
    target_ms : int
        End of the advance, Unix ms.
    shown : bool or None
        Whether a bar is shown, as in `LocalVenue.advance`.
    """
    if shown is False or (shown is None and target_ms - start_ms < LEAST_MS):
        yield lambda time_ms: None
        return
    minutes = (target_ms - start_ms) / 60_000
    with late_bar(shown, DELAY_SECONDS, desc="advance", total=minutes, unit=" min", unit_scale=True) as bar:

        def moved(time_ms: int) -> None:
            bar.update((time_ms - start_ms) / 60_000 - bar.n)

        yield moved
