"""Paper and live: the strategy of a backtest, unchanged, on a session of the local venue, Testnet or Mainnet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...connecting import venue_in_process
from ...errors import InputError, WalletError
from ...guards import no_keys
from ...limits import Limits
from ...numerals import Span
from ..analysis.recipes import repeatable
from ..analysis.results import Results
from ..backtesting.events.event_run import events_by_symbol
from ..data.event_array import MS
from ..data.events import Events, merge
from ..strategy import StrategyLike, as_strategy
from .run_journal import RunJournal
from .run_state import utc
from .runner import Runner

if TYPE_CHECKING:
    from ...plain_session import Session
    from ...venue.model.market import Market


@repeatable
def paper(
    strategy: StrategyLike,
    symbols: Sequence[str] | None = None,
    *,
    interval: str | pd.Timedelta = "1m",
    duration: str | pd.Timedelta | None = None,
    clock: str = "manual",
    step: str | pd.Timedelta | None = None,
    seed: int = 7,
    market: Market | str | None = "usual",
    replay: Events | Mapping[str, Events] | None = None,
    session: Session | None = None,
    limits: Limits | None = None,
    warm_up: int = 0,
    close_at_end: bool = False,
) -> Results:
    """Run a strategy on the local venue with its simulated market, and return the Results.

    Parameters
    ----------
    strategy : Strategy, class, callable or mapping
        A Strategy, a function `on_bar(ctx, bar)`, or callbacks by name, as in `backtest`.
    symbols : sequence of str, optional
        Products it trades (default: `strategy.symbols`, else those of `replay`, else BTCUSDC).
    interval : str or Timedelta, optional
        Length of its bars (default: "1m").
    duration : str or Timedelta, optional
        Length of the run, such as "8h" (default: "1h", or that of `replay`).
    clock : {"manual", "real"}, optional
        "manual" runs immediately and deterministically, "real" in real time (default: "manual").
    step : str or Timedelta, optional
        How far a manual clock advances between two polls (default: a bar).
    seed : int, optional
        Seed of the venue, as in `connect`. It is saved with the run (default: 7).
    market : Market, str or None, optional
        Market of the venue, as in `connect`. It is saved with the run (default: "usual").
    replay : Events or mapping of str to Events, optional
        A recording that is the market in place of `market`: Events of `data.load`, or symbol → Events (default: none).
    session : Session, optional
        An existing session of a local venue (default: one is made, and closed at the end).
    limits : Limits, optional
        Limits that are checked before every order, see `toolkit.Limits` (default: none).
    warm_up : int, optional
        Number of past bars that are delivered first, while orders are refused (default: 0).
    close_at_end : bool, optional
        True closes the positions of its symbols at the end (default: False).

    Returns
    -------
    Results
        Frames, measures and report of the run.

    Raises
    ------
    InputError
        For a session that has no local venue in this process, and for invalid settings.

    Examples
    --------
    >>> run = research.paper(Cross, ["BTCUSDC"], duration="30m")
    Cross ended (the time is over). Still open: LONG 0.1 BTCUSDC
    """
    from ...plain_session import session_on
    from ...venue.local import LocalVenue

    given = events_by_symbol(replay) or {}
    recorded = {name: part if isinstance(part, Events) else merge(part) for name, part in given.items()}
    if recorded and session is not None:
        raise InputError("give replay or session, not both: LocalVenue(replay=…) makes such a session", field="replay")
    if duration is None and recorded:
        times = [events.array["exchange_ns"] for events in recorded.values()]
        length = max(int(each.max()) for each in times) // MS - min(int(each.min()) for each in times) // MS
        duration = pd.Timedelta(max(length, 1), unit="ms")
    symbols = symbols or as_strategy(strategy).symbols or list(recorded) or None
    made: AbstractContextManager[Session] = (
        nullcontext(session)
        if session is not None
        else session_on(LocalVenue(clock=clock, seed=seed, market=market, replay=recorded or None))
    )
    with made as chosen:
        if venue_in_process(chosen) is None:
            text = "paper() needs a session of the local venue in this process"
            raise InputError(text, field="session", rule="local")
        limits = limits or Limits()
        runner = Runner(chosen, strategy, symbols, interval, limits, mode="paper", step=step, warm_up=warm_up)
        return runner.run(duration or "1h", close_at_end=close_at_end)


@no_keys
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
    poll: Span = "1s",
    warm_up: int = 0,
    background: bool = False,
    run: str | None = None,
    adopt: bool = True,
    max_bar_age: str | pd.Timedelta | None = None,
) -> Results | Runner:
    """Run a strategy on the environment of a session until its time is over, or a limit or you stop it.

    However it ends, open orders of its symbols are cancelled, and what is left open is printed. Interrupting the cell
    ends it like that and returns the Results. An error of the strategy ends it like that and is raised.

    Parameters
    ----------
    strategy : Strategy, class, callable or mapping
        A Strategy, a function `on_bar(ctx, bar)`, or callbacks by name, as in `backtest`.
    session : Session
        Session whose agent may trade.
    symbols : sequence of str, optional
        Products it trades (default: `strategy.symbols`).
    limits : Limits
        Required, such as `Limits(max_notional=…, max_loss=…)`, USDC. A limit of None is not checked.
    interval : str or Timedelta, optional
        Length of its bars (default: "1m").
    duration : str or Timedelta, optional
        Length of the run, such as "8h" (default: until it is stopped).
    dry_run : bool, optional
        True checks orders and notes them in the events, but sends none (default: False).
    close_at_end : bool, optional
        True closes the positions of its symbols however the run ends (default: False).
    poll : str, Timedelta, timedelta or int, optional
        Time between two polls, of the venue's clock (default: "1s").
    warm_up : int, optional
        Number of past bars that are delivered first, while orders are refused (default: 0).
    background : bool, optional
        True returns a Runner immediately: `kill()` stops it, `results()` returns its Results (default: False).
    run : str, optional
        Name of the run on its account, such as "grid-btc" (default: none). It can run only once at a time. After a
        crash it continues: it settles what it sent, delivers missed fills, and prints a table before its first order.
        It leaves positions and orders of others on the account alone.
    adopt : bool, optional
        True keeps the open orders of a continued run (`ctx.orders()`), False cancels those that may open (default:
        True).
    max_bar_age : str or Timedelta, optional
        Time after the close of a bar in which `on_bar` may send orders (default: the longer of interval and poll, plus
        3 s). Later orders are refused, as after a sleep of the computer.

    Returns
    -------
    Results or Runner
        Results of the run, or with `background` the Runner.

    Raises
    ------
    WalletError
        Before the first bar, when the session's agent may not trade for its account.
    ToolkitError
        While a run of this name is running.

    Examples
    --------
    >>> research.live(Cross, session, ["BTCUSDC"], limits=toolkit.Limits(max_notional=10_000), duration="10m")
    Results('Cross', 2026-01-01 00:00 to 2026-01-01 00:10, 10,000.00 → 10,000.00 USDC (+0.00%), 0 fills)
    """
    # Before the first bar: a missing approval must not come to light with the first order, perhaps hours later.
    if not dry_run:
        check_agent(session)
    # Opening it takes the lock, so a second run of this name fails here, before it subscribes to anything.
    journal = None if run is None else RunJournal(session, run)
    options: dict[str, Any] = {"poll": poll, "warm_up": warm_up, "dry_run": dry_run, "max_bar_age": max_bar_age}
    runner = Runner(session, strategy, symbols, interval, limits, journal=journal, adopt=adopt, **options)
    if not background:
        return runner.run(duration, close_at_end=close_at_end)
    runner.start(duration, close_at_end=close_at_end)
    return runner


def check_agent(session: Session) -> None:
    """Raise WalletError unless the venue lists the session's agent as active for its account, now.

    Parameters
    ----------
    session : Session
        Session of the account.
    """
    agent = session.wallet.agent if session.wallet is not None else None
    if agent is None:
        raise WalletError("a live run needs a session with an agent key, which signs its orders. Or use dry_run=True")
    approvals = session.info.agents(account=agent, role="AGENT")
    # Addresses are the same in any case of their letters.
    own = approvals[approvals["master"].astype(str).str.lower() == str(session.account).lower()]
    now = utc(session.clock.now_ms())
    active = (own["status"] == "ACTIVE") & (own["expires_at"].isna() | (own["expires_at"] > now))
    if not active.any():
        was = "is not approved" if own.empty else f"is no longer approved (until {own['expires_at'].max()})"
        raise WalletError(
            f"agent {agent} {was} by account {session.account}. Approve it with "
            "session.exchange.approve_agent(validity_seconds=7 * 86400), in a session with the master key"
        )
