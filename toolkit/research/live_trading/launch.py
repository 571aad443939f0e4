"""Paper and live: the strategy of a backtest, unchanged, on a session: the local venue, Testnet or Mainnet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ...errors import InputError
from ..analysis.results import Results
from ..strategy import StrategyLike
from .limits import Limits
from .runner import Runner

if TYPE_CHECKING:
    from ...session import Session


def paper(
    strategy: StrategyLike,
    symbols: Sequence[str] | None = None,
    *,
    interval: str | pd.Timedelta = "1m",
    duration: str | pd.Timedelta = "1h",
    clock: str = "manual",
    step: str | pd.Timedelta | None = None,
    seed: int = 7,
    session: Session | None = None,
    limits: Limits | None = None,
    warm_up: int = 0,
    close_at_end: bool = False,
) -> Results:
    """Run `strategy` on the local venue with its simulated market, and return the Results.

    Parameters:
        symbols: what it trades (default: `strategy.symbols`, else BTCUSDC). interval: length of its bars.
        duration: how long. clock: "manual" runs through at once and deterministically, "real" in real time.
        step: how far a manual clock goes between two looks at fills (default: a bar).
        session: an existing session of a local venue; otherwise one is made with `seed`, and closed.
        warm_up: bars of the past that are handed over first, with orders switched off.

    Other parameters are those of `live`.
    """
    from ...session import connect

    own = connect(clock=clock, seed=seed) if session is None else None
    chosen = own if own is not None else session
    assert chosen is not None
    if chosen.venue is None:
        raise InputError("paper() needs a session of the local venue in this process", field="session", rule="local")
    try:
        runner = Runner(chosen, strategy, symbols, interval, limits or Limits(), step=step, warm_up=warm_up)
        runner.mode = "paper"
        return runner.run(duration, close_at_end=close_at_end)
    finally:
        if own is not None:
            own.close()


def live(
    strategy: StrategyLike,
    session: Session,
    symbols: Sequence[str] | None = None,
    *,
    limits: Limits,
    interval: str | pd.Timedelta = "1m",
    duration: str | pd.Timedelta | None = None,
    dry_run: bool = False,
    close_at_end: bool = False,
    poll: float = 1.0,
    warm_up: int = 0,
    background: bool = False,
) -> Results | Runner:
    """Run `strategy` against the environment of `session` until `duration` is over, a limit stops it, or you do.

    Parameters:
        limits: what stops it; `Limits(max_notional=…, max_loss=…)` must be given, None inside is allowed.
        duration: None = until stopped. poll: seconds between two looks.
        dry_run: check and note orders, but send none.
        close_at_end: close the positions of its symbols when it ends, for whatever reason.
        background: return a Runner at once, whose `kill()` stops it and `results()` tells how it went.

    However it ends, open orders of its symbols are cancelled, and what is left open is said. Interrupting the cell ends
    it in the same way, and the Results are returned. Errors of the strategy end it so too, and are raised then.
    """
    runner = Runner(session, strategy, symbols, interval, limits, poll=poll, warm_up=warm_up, dry_run=dry_run)
    runner.mode = "live"
    if not background:
        return runner.run(duration, close_at_end=close_at_end)
    runner.start(duration, close_at_end=close_at_end)
    return runner
