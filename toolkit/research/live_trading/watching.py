"""The dead man's switch of a run: without a renewal of its lease, its orders that may open a position are cancelled.

The exchange has no action for it, so a second process does it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import ExchangeError, InputError, OutcomeUnknown, TransportError
from ...numerals import Span, milliseconds
from .agent_approval import check_agent
from .run_journal import RunName
from .run_state import utc

if TYPE_CHECKING:
    from ...plain_session import Session


def watch(session: Session, run: str, *, after: Span = "60s", every: Span = "5s", duration: Span | None = None) -> None:
    """Watch a run with a name, and cancel its orders that may open a position while it does not renew its lease.

    Start it in a separate process. A run renews its lease, a file in the folder TOOLKIT_STATE, with each poll that the
    venue answers. If that folder is shared, another computer can watch, which helps when the first one fails or sleeps.
    Exits stay: reduce-only orders, take-profits, stops, and orders that close a leg in hedge mode.

    Each cancellation is printed. An error of the venue is printed, and the next check tries again.

    Parameters
    ----------
    session : Session
        Session of the run's account with an agent key, such as
        `toolkit.connect("testnet", wallet=toolkit.Wallet.from_env())`.
    run : str
        Name of the run, as in `live(…, run="grid-btc")`.
    after : str, Timedelta, timedelta or int, optional
        How long the lease may remain without a renewal (default: "60s").
    every : str, Timedelta, timedelta or int, optional
        Time between two checks. Each check also cancels orders that arrived since the previous one (default: "5s").
    duration : str, Timedelta, timedelta or int, optional
        How long to watch (default: until you interrupt it).

    Raises
    ------
    InputError
        For an invalid name or span.
    WalletError
        When the session's agent may not trade for its account.

    Examples
    --------
    >>> research.watch(session, "grid-btc", duration="10ms")
    watching run 'grid-btc' of 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
    """
    check_agent(session)
    watcher, pause = Watcher(session, run, after=after), _seconds(every, "every")
    left = float("inf") if duration is None else _seconds(duration, "duration")
    print(f"watching run {run!r} of {session.account}", flush=True)
    while left > 0:
        time.sleep(min(pause, left))
        left -= pause
        try:
            cancelled = watcher.check()
            text = f"not renewed for {watcher.silent:.0f} s, so {cancelled} orders are cancelled" if cancelled else ""
        # The switch must outlive errors of the venue: the next check tries again.
        except (ExchangeError, OutcomeUnknown, TransportError) as failure:
            text = f"{failure}. The run tries again in {pause:g} s"
        if text:
            print(f"{utc(session.clock.now_ms()):%Y-%m-%d %H:%M:%S} {text}", flush=True)


def _seconds(span: Span, name: str) -> float:
    """Return a span in seconds. Raises InputError unless it is above 0."""
    seconds = milliseconds(span, name) / 1000
    if not seconds:
        raise InputError(f"{name} is {span!r}. Give a span above 0, such as '60s'", field=name, value=span)
    return seconds


class Watcher:
    """Watches the lease of a run.

    Parameters
    ----------
    session : Session
        Session of the run's account.
    run : str
        Name of the run.
    after : str, Timedelta, timedelta or int
        How long the lease may remain without a renewal, from one renewal that is seen to the next.
    elapsed : callable, optional
        Clock that is never set back, seconds. The clocks of two machines may differ (default: `time.monotonic`).
    """

    def __init__(
        self, session: Session, run: str, *, after: Span, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self.after = _seconds(after, "after")
        self._run = RunName(session, run)
        self._elapsed = elapsed
        # The first look counts as a renewal: a watcher that has just started knows nothing of the silence before it.
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
        """Cancel the run's orders that may open a position, if its lease is too old. Return how many there were."""
        return self._run.cancel(exits=False) if self.silent >= self.after else 0
