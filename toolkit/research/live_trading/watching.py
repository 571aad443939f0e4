"""The dead man's switch of a run: cancels the orders that may open a position where the run no longer renews its lease.

The exchange has no action for it, so a second process does it; see `toolkit watch`.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from ...errors import InputError
from ...numerals import Span, milliseconds
from .run_journal import RunName

if TYPE_CHECKING:
    from ...session import Session


class Watcher:
    """Watches the lease of a run with a name, which each poll that the venue answers renews.

    Parameters:
        session: a session of the run's account, with an agent key.
        run: the name of the run.
        after: how long the lease may stand without a renewal ("60s"). It is measured on `elapsed` (seconds, never set
            back) from one renewal that is seen to the next, so that the clocks of two machines may differ.

    Raises InputError for a name that is none, and for a span that is not above 0.
    """

    def __init__(
        self, session: Session, run: str, *, after: Span = "60s", elapsed: Callable[[], float] = monotonic
    ) -> None:
        self.after = milliseconds(after, "after") / 1000
        if not self.after:
            text = f"after is {after!r}; give a span above 0, such as '60s'"
            raise InputError(text, field="after", rule="above 0", value=after)
        self._run = RunName(session, run)
        self._elapsed = elapsed
        self._seen = self._renewed(), elapsed()

    def _renewed(self) -> int:
        lease = self._run.lease
        return lease.stat().st_mtime_ns if lease.exists() else 0

    @property
    def silent(self) -> float:
        """Seconds since a renewal was last seen, or since it began to watch."""
        renewed, now = self._renewed(), self._elapsed()
        if renewed != self._seen[0]:
            self._seen = renewed, now
        return now - self._seen[1]

    def check(self) -> int:
        """Cancel the run's orders that may open a position, if its lease is too old; return how many there were.

        Exits stay: reduce-only orders, take-profits, stops, and orders that close a leg in hedge mode. An order that
        arrives later is cancelled by the next check. Raises what the session's query and cancellation raise.
        """
        return self._run.cancel(exits=False) if self.silent >= self.after else 0
