"""Paper and live: the strategy of a backtest, unchanged, on a session of the local venue, Testnet or Mainnet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import pandas as pd

from ...connecting import venue_in_process
from ...errors import InputError, warn
from ...guards import no_keys
from ...limits import Limits
from ...numerals import Span
from ...venue.model.genesis import Genesis
from ..analysis.history import History
from ..analysis.recipes import repeatable
from ..analysis.results import Results
from ..backtesting.events.event_run import events_by_symbol
from ..backtesting.funding_schedule import premium_for, settlement_rates
from ..backtesting.listing import listings
from ..data.bars import Bars, read_bars
from ..data.event_array import MS
from ..data.events import Events, merge
from ..data.replaying import replay as replay_bars
from ..running.voice import Notify
from ..strategy import StrategyLike, as_strategy
from .agent_approval import AgentEnds, check_agent, check_until
from .run_journal import RunJournal
from .run_state import ByHand
from .runner import Runner

if TYPE_CHECKING:
    from ...plain_session import Session
    from ...venue.engine.core import Core
    from ...venue.model.market import Market


@repeatable
def paper(
    strategy: StrategyLike,
    symbols: Sequence[str] | History | Session | None = None,
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
    symbols : sequence of str, History or Session, optional
        Products it trades (default: `strategy.symbols`, else those of `replay`, else BTCUSDC). A session stands for
        `session`. The candles of a History become the index of the venue's market, at their own times. The venue lists
        its products, and settles its funding rates and no others. A predicted rate is that of the venue's market. On a
        session that is given, products and funding are the venue's.
    interval : str or Timedelta, optional
        Length of its bars (default: "1m", or that of the candles of a History).
    duration : str or Timedelta, optional
        Length of the run, such as "8h" (default: "1h", or that of `replay` or of a History).
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
    from ...plain_session import Session, session_on
    from ...venue.local import LocalVenue

    candles: dict[str, Bars] = {}
    history = None
    if isinstance(symbols, History):
        history, candles = symbols, read_bars(symbols)
        if interval == "1m":
            interval = pd.Timedelta(next(iter(candles.values())).interval, unit="ms")
        if replay is not None:
            raise InputError("give replay or a History, not both: each is the market", field="replay")
        symbols = list(history)
    elif isinstance(symbols, Session):
        session, symbols = symbols, None
    given = events_by_symbol(replay) or {}
    recorded = {name: part if isinstance(part, Events) else merge(part) for name, part in given.items()}
    if recorded and session is not None:
        raise InputError("give replay or session, not both: LocalVenue(replay=…) makes such a session", field="replay")
    if duration is None and candles:
        edges = [(int(bars.opened[0]), int(bars.closed[-1])) for bars in candles.values()]
        duration = pd.Timedelta(max(last for _, last in edges) - min(first for first, _ in edges), unit="ms")
    if duration is None and recorded:
        times = [events.array["exchange_ns"] for events in recorded.values()]
        length = max(int(each.max()) for each in times) // MS - min(int(each.min()) for each in times) // MS
        duration = pd.Timedelta(max(length, 1), unit="ms")
    symbols = symbols or as_strategy(strategy).symbols or list(recorded) or None
    made: AbstractContextManager[Session] = (
        nullcontext(session)
        if session is not None
        else session_on(
            LocalVenue(clock=clock, seed=seed, market=market, replay=recorded or None, **_listed(history, seed))
        )
    )
    with made as chosen:
        if venue_in_process(chosen) is None:
            text = "paper() needs a session of the local venue in this process"
            raise InputError(text, field="session", rule="local")
        limits = limits or Limits(max_orders_per_minute=None, max_stale=None)
        runner = Runner(chosen, strategy, symbols, interval, limits, mode="paper", step=step, warm_up=warm_up)
        if not candles:
            return runner.run(duration or "1h", close_at_end=close_at_end)
        going = replay_bars(chosen, candles)
        if history is not None and session is None:
            going.venue.host.query(partial(_settle_as, history, candles))
        try:
            return runner.run(duration, close_at_end=close_at_end)
        finally:
            going.stop()  # a session of the user's has its own market again


def _listed(history: History | None, seed: int) -> dict[str, Any]:
    """Return the arguments of a venue that begins with a History and lists its products."""
    if history is None:
        return {}
    bars = read_bars(history)
    begin = min(int(each.opened[0]) for each in bars.values())
    if not history.products:
        return {"start": begin}
    rows, tables = listings(bars, history.products)
    prices = {int(row["code"]): str(each.open[0]) for row, each in zip(rows, bars.values(), strict=True)}
    return {"config": Genesis(seed=seed, time=begin, products=rows, margin_tables=tables, prices=prices)}


def _settle_as(history: History, bars: Mapping[str, Bars], core: Core) -> None:
    """Let a venue settle the funding rates of a History at their times, and none in between, as a backtest does."""
    for code, product in core.products.items():
        if (symbol := product.symbol) not in history.funding:
            continue
        series, apart = bars[symbol], product.funding_interval * 1000
        times, rates = settlement_rates(symbol, series, history.funding, apart)
        known = dict(zip(times.tolist(), rates, strict=True))
        if other := [time for time in known if time % apart]:
            text = f"{len(other)} funding rates are at no settlement of its product"
            warn(f"{symbol}: {text}, which has one each {apart / 3_600_000:g} h")
        first, last = int(series.opened[0]), int(series.closed[-1])
        for time in range(-(-first // apart) * apart, last + 1, apart):
            core.premiums[code, time] = premium_for(core, code, symbol, known.get(time, 0.0))


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
    by_hand: ByHand = "pause",
    agent_ends: AgentEnds = "refuse",
    name: str | None = None,
    notify: Notify | str | None = None,
) -> Results | Runner:
    """Run a strategy on the environment of a session until its time is over, or a limit or you stop it.

    However it ends, open orders of its symbols are cancelled, and what is left open is printed. Interrupting the cell
    ends it like that and returns the Results. SIGTERM and SIGHUP end it like that, and then the program. A second
    signal does not interrupt the end, the fourth one does. An error of the strategy ends it like that and is raised.
    A run in the background ends with its session and with the program.

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
        Name of the run on its account, such as "grid-btc" (default: none). It can run only once at a time. It pauses
        when it sees an order of its name that it did not send, as of a copy on another machine. After a crash it
        continues: it settles what it sent, delivers missed fills, and prints a table before its first order.
        It leaves positions and orders of others on the account alone. It pauses while the venue does not answer, where
        a run without a name ends after `limits.max_stale`. `toolkit runs` shows and stops it.
    adopt : bool, optional
        True keeps the open orders of a continued run (`ctx.orders()`), False cancels those that may open (default:
        True).
    max_bar_age : str or Timedelta, optional
        Time after the close of a bar in which `on_bar` may send orders (default: the longer of interval and poll, plus
        3 s). Later orders are refused, as after a sleep of the computer.
    by_hand : {"pause", "adopt", "continue", "end"}, optional
        What a run with a name does when the account holds less of a product than the run, because you closed some of it
        yourself: open nothing until it is there again, take it as closed, go on as if nothing had happened, or end
        (default: "pause").
    agent_ends : {"refuse", "warn"}, optional
        What happens when the agent's approval ends before the duration does: the run is refused, or it begins with a
        warning (default: "refuse"). A run without a duration begins with a warning, and each run warns a day before.
    name : str, optional
        The same as `run`.
    notify : callable or str, optional
        Whom to tell of its start, fills, pauses, limits and end (default: nobody). It is a function of a text, or an
        address. http:// and https:// are sent JSON with `text`. Other addresses are those of Apprise, such as
        "ntfy://topic". One that fails does no harm to the run.

    Returns
    -------
    Results or Runner
        Results of the run, or with `background` the Runner.

    Raises
    ------
    WalletError
        Before the first bar, when the session's agent may not trade for its account, or not until the end.
    ToolkitError
        While a run of this name is running.

    Examples
    --------
    >>> research.live(Cross, session, ["BTCUSDC"], limits=toolkit.Limits(max_notional=10_000), duration="10m")
    Results('Cross', 2026-01-01 00:00 to 2026-01-01 00:10, 10,000.00 → 10,000.00 USDC (+0.00%), 0 fills)
    """
    for field, given, choice in (("by_hand", by_hand, ByHand), ("agent_ends", agent_ends, AgentEnds)):
        if given not in (known := get_args(choice)):
            text = f"{field} is {given!r}. Use one of {', '.join(known)}"
            raise InputError(text, field=field, rule="a choice", value=given)
    if run is not None and name is not None and run != name:
        raise InputError(f"run is {run!r} and name {name!r}: they are the same, so give one", field="name", value=name)
    settings: dict[str, Any] = {"interval": interval, "poll": poll, "warm_up": warm_up, "max_bar_age": max_bar_age}
    settings |= {"dry_run": dry_run, "adopt": adopt, "by_hand": by_hand, "agent_ends": agent_ends, "notify": notify}
    runner = runner_of(strategy, session, symbols, limits, duration, name=run or name, **settings)
    if not background:
        return runner.run(duration, close_at_end=close_at_end)
    runner.start(duration, close_at_end=close_at_end)
    return runner


def runner_of(
    strategy: StrategyLike,
    session: Session,
    symbols: Sequence[str] | None,
    limits: Limits,
    duration: str | pd.Timedelta | None,
    *,
    name: str | None,
    dry_run: bool = False,
    agent_ends: AgentEnds = "refuse",
    interval: str | pd.Timedelta = "1m",
    **settings: Any,
) -> Runner:
    """Return a run on a session that has not begun. See `live`.

    Parameters
    ----------
    strategy : Strategy, class, callable or mapping
        Strategy of the run.
    session : Session
        Session whose agent may trade.
    symbols : sequence of str or None
        Products it trades, None for those of the strategy.
    limits : Limits
        Limits of the run.
    duration : str, Timedelta or None
        Length of the run, None until it is stopped.
    name : str or None
        Name of the run.
    dry_run : bool, optional
        True sends no orders (default: False).
    agent_ends : {"refuse", "warn"}, optional
        What happens when the agent's approval ends before the duration does (default: "refuse").
    interval : str or Timedelta, optional
        Length of its bars (default: "1m").
    **settings : object
        Further settings of `Runner`.
    """
    # Before the first bar: a missing approval must not come to light with the first order, perhaps hours later.
    until = None if dry_run else check_agent(session)
    if until is not None:
        check_until(session, until, duration, agent_ends)
    # Opening it takes the lock, so a second run of this name fails here, before it subscribes to anything.
    journal = None if name is None else RunJournal(session, name)
    settings |= {"dry_run": dry_run, "agent_until": until, "journal": journal}
    return Runner(session, strategy, symbols, interval, limits, **settings)
