"""One run of a strategy on a session.

It polls: complete bars, fills, orders, funding and the wallet come from queries, so that a lost connection delays a run
but loses nothing. Trades and books come from the live feed, if the strategy uses them. Timers run between two polls.
They query orders and fills only when the feed says that there was a fill.
"""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from math import ceil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...client.io.nonce_sources import data_directory
from ...client.limits.run_status import RunFiles, folder_name
from ...connecting import venue_in_process
from ...coverage import Unproven, coverage, unproven
from ...errors import (
    BadAnswer,
    InputError,
    LimitReached,
    RateLimited,
    ToolkitError,
    TransportError,
    WalletError,
)
from ...limits import Limits
from ...numerals import Span
from ...stored.databases import hold
from ..analysis.fingerprints import idea_of
from ..analysis.luck import trials
from ..analysis.recipes import Recipe
from ..analysis.results import Results
from ..backtesting.driver import backtest
from ..backtesting.run_source import doubts_of
from ..market_data import Bar, Trade, span_ms
from ..running import endings
from ..running.voice import Notify, Voice
from ..strategy import Strategy, StrategyLike, as_strategy, overrides, timer_call
from .agent_approval import RENEW, check_agent
from .limits import check_run, stale
from .reconciling import Reconciler
from .run_journal import RunJournal
from .run_results import results_of
from .run_state import DAY_MS, ByHand, RunState, insist, rows_of, utc
from .session_context import FeedQueue, SessionContext
from .telling import Telling

if TYPE_CHECKING:
    from ...plain_session import Session

GRACE_MS = 300
"""How long after its end a bar is queried, so that it holds its last trade."""
QUIET_GRACE_MS = 3_000
"""How long after its end a bar that the venue does not list counts as one without trades."""
SHORTEST_POLL = 0.05
"""Seconds of this machine's that a poll is apart from the next at least, however fast the venue's time passes."""
LOOK_AT_AGENT_MS = 600_000
"""Time between two looks at whether the approval of the agent was renewed."""
NEVER = float("inf")
EXIT_CODES = {"END": 0, "STOP": 0, "KILL": 0, "LIMIT": 3, "INTERRUPT": 130}
"""Kind of a run's end → what `toolkit run` returns. The venue or the owner ended it by any other kind."""
LOOKBACK = 1_000
"""Bars before the first one that are searched for the last price."""
_numbers = count()
"""Numbers of the runs of this process that have no name."""


def _day_before(until: pd.Timestamp | None) -> float:
    return NEVER if until is None else until.timestamp() * 1000 - DAY_MS


def _files_of(session: Session, journal: RunJournal | None, dry_run: bool) -> RunFiles | None:
    if journal is not None:
        return journal.run.files
    if dry_run or venue_in_process(session) is not None:
        return None  # it places nothing, or no other process reaches its venue
    folder = data_directory() / "runs" / folder_name(session.environment.label, str(session.account))
    return RunFiles.unnamed(folder, next(_numbers))


class Runner:
    """One run of a strategy on a session. Made by `live` and `paper`.

    Parameters
    ----------
    session : Session
        Session that it trades on.
    strategy : Strategy, class, callable or mapping
        A Strategy, or functions. It is copied.
    symbols : sequence of str or None
        Products it trades, None for the strategy's, else BTCUSDC.
    interval : str or Timedelta
        Length of its bars.
    limits : Limits
        Limits that are checked before every order and after every poll.
    mode : str, optional
        "paper" or "live" (default: "live").
    poll : str, Timedelta, timedelta or int, optional
        Time between two polls, of the venue's clock (default: "1s").
    step : str or Timedelta, optional
        How far a manual clock advances between two polls (default: a bar).
    warm_up : int, optional
        Number of past bars that are delivered first, while orders are refused (default: 0).
    dry_run : bool, optional
        True checks orders and notes them in the events, but sends none (default: False).
    journal : RunJournal, optional
        Journal of a run with a name (default: none).
    adopt : bool, optional
        True keeps the open orders of a continued run, False cancels those that may open (default: True).
    max_bar_age : str or Timedelta, optional
        Time after the close of a bar in which `on_bar` may send orders (default: the longest of interval, step and
        poll, plus 3 s).
    by_hand : {"pause", "adopt", "continue", "end"}, optional
        What happens where the account holds less than the run, because of orders that no run placed (default: "pause").
    agent_until : Timestamp, optional
        When the approval of the session's agent ends (default: not known).
    notify : callable or str, optional
        Whom to tell what happens, see `Teller` (default: nobody).
    heartbeat : str or Path, optional
        Address or file that shows that it is alive, see `Heartbeat` (default: none).

    Attributes
    ----------
    ctx : SessionContext
        Context of the run.
    strategy : Strategy
        The running copy.
    notes : list of tuple
        (Unix ms, kind, symbol, text), as in `Results.events`.
    still_open : list of str
        Positions and orders that were left open at the end, in words.
    error : BaseException or None
        The exception that ended a background run.
    files : RunFiles or None
        Files by which other processes know the run.
    """

    def __init__(
        self,
        session: Session,
        strategy: StrategyLike,
        symbols: Sequence[str] | None,
        interval: str | pd.Timedelta,
        limits: Limits,
        *,
        mode: str = "live",
        poll: Span = "1s",
        step: str | pd.Timedelta | None = None,
        warm_up: int = 0,
        dry_run: bool = False,
        journal: RunJournal | None = None,
        adopt: bool = True,
        max_bar_age: str | pd.Timedelta | None = None,
        by_hand: ByHand = "pause",
        agent_until: pd.Timestamp | None = None,
        notify: Notify | str | None = None,
        heartbeat: str | Path | None = None,
    ) -> None:
        self.session = session
        self.strategy: Strategy = as_strategy(strategy)
        # A second copy for `rerun`: the first one gathers state while it runs.
        self._fresh = as_strategy(strategy)
        named = symbols or self.strategy.symbols or ("BTCUSDC",)
        self.symbols = (named,) if isinstance(named, str) else tuple(dict.fromkeys(named))
        self.interval_ms = span_ms(interval)
        self.step_ms = span_ms(step, "step") if step is not None else self.interval_ms
        self.limits = limits
        self.poll = span_ms(poll, "poll") / 1000
        # A bar cannot be read sooner than the next poll, and a quiet one only after the grace.
        usual_ms = max(self.interval_ms, self.step_ms, round(self.poll * 1000)) + QUIET_GRACE_MS
        self._bar_age_ms = usual_ms if max_bar_age is None else span_ms(max_bar_age, "max_bar_age")
        self.warm_up = warm_up
        self.still_open: list[str] = []
        self.error: BaseException | None = None
        self.state = RunState(session, self.symbols, self.interval_ms, mode=mode, dry_run=dry_run, journal=journal)
        self._adopt, self._by_hand = adopt, by_hand
        self._warn_ms, self._look_at_agent_ms = _day_before(agent_until), 0
        self.notes = self.state.notes
        self._voice = Voice(self.strategy.name if journal is None else journal.run.files.name, notify, heartbeat)
        self.state.say, self.state.say_order = self._voice.event, self._voice.order
        self._ended_by = ""
        self._unknown = False
        """Whether a step of the end failed, so that something may be open that it does not know of."""
        self.files = _files_of(session, journal, dry_run)
        self._telling = Telling(self.state, self.strategy.name, agent_until, self.files)
        self._feed = FeedQueue(session, self.state.now)
        self.ctx = SessionContext(self.state, self.strategy, limits, self._feed)
        self._on_timer = timer_call(self.strategy, self.ctx)
        self._timer_due_ms: float = NEVER
        self._venue = venue_in_process(session)
        self._manual_clock = self._venue is not None and not self._venue.host.clock.runs
        self._stop = threading.Event()
        self._why = "the kill switch was pulled"
        self._close_at_end = False
        self._runs_in: threading.Thread | None = None
        self._ended = threading.Event()
        self._results: Results | None = None
        self._read_bars: deque[tuple[int, int, Bar]] = deque()
        """Bars not delivered yet: (closing time, number of the symbol, bar)."""
        self._last_close: dict[str, float] = {}
        """Close of the last bar that was read of each symbol, at which the bars of quiet times are flat."""
        self._latest: dict[str, Bar] = {}
        """The last delivered bar of each symbol."""
        self._visible_ms: dict[str, int] = {}
        """Opening time of the last bar of each symbol in its history."""
        self._funding_due_ms = 0
        self._polled_at = monotonic()

    @property
    def name(self) -> str:
        """Name of its strategy."""
        return self.strategy.name

    @property
    def log_file(self) -> Path | None:
        """File of its log, where it has a name."""
        return None if self.state.journal is None or self.files is None else self.files.log

    @property
    def exit_code(self) -> int:
        """What `toolkit run` returns for its end. See there."""
        if self._ended_by in ("ERROR", ""):
            return 1
        if self._unknown:
            return 5
        return EXIT_CODES.get(self._ended_by, 4)

    @property
    def ending(self) -> bool:
        """Whether it has come to its end, and cancels and closes."""
        return self.state.ending

    def run(self, duration: str | pd.Timedelta | None, *, close_at_end: bool = False) -> Results:
        """Run until the end and return the Results. See `live`.

        Parameters
        ----------
        duration : str, Timedelta or None
            Length of the run, None until it is stopped.
        close_at_end : bool, optional
            True closes the positions of its symbols at the end (default: False).
        """
        self._close_at_end = close_at_end
        self._runs_in = threading.current_thread()
        # The kill switch ends all runs of the account, so the run is known before its first order can be sent.
        endings.begin(self)
        held = self._hold_files()
        try:
            self.session._limits.check_running(f"a run of {self.strategy.name}")
            with endings.front(self):
                results, told = self._run(duration)
        except BaseException as failure:
            self.error = failure
            raise
        finally:
            self._ended.set()
            endings.over(self)
            if held is not None and self.files is not None:
                held.close()
                for path in (self.files.lock, self.files.asked):
                    path.unlink(missing_ok=True)
        if told is not None and told.number != signal.SIGINT:
            endings.pass_on(told.number)  # the program ends, as it would have done without the run
        return results

    def _hold_files(self) -> sqlite3.Connection | None:
        """Take the lock of a run without a name, by which other processes find it. A journal has its own."""
        if self.files is None or self.state.journal is not None:
            return None
        with suppress(OSError):  # a home that can't be written
            return hold(self.files.lock)
        return None

    def _run(self, duration: str | pd.Timedelta | None) -> tuple[Results, endings.Told | None]:
        """Run until the end. Return the Results, and the signal that ended it."""
        reason, kind, told = "the time is over", "END", None
        try:
            where = f"{self.session.environment.label}, account {self.session.account}, {', '.join(self.symbols)}"
            self._voice.event(self.state.now(), "START", "", f"{self.strategy.name} on {where}")
            self._begin()
            until = None if duration is None else self.state.started_ms + span_ms(duration, "duration")
            while not self._stop.is_set():
                if self.ctx.stopped:
                    reason, kind = self.ctx.stopped, self.ctx.stopped_by
                    break
                if until is not None and self.state.now() >= until:
                    break
                if self._wait(until):
                    self._poll()
                else:
                    self._tick()
            else:
                reason, kind = self._why, "KILL"
        # A limit is a regular end: the Results show what led to it.
        except LimitReached as limit:
            reason, kind = str(limit), "LIMIT"
        except KeyboardInterrupt as interrupt:
            told = interrupt if isinstance(interrupt, endings.Told) else None
            reason, kind = "interrupted" if told is None else f"interrupted by {told}", "INTERRUPT"
        # Even after an error, orders must not stay behind without the strategy that placed them.
        except BaseException as failure:
            failure.add_note(f"in {self.strategy.name} at {utc(self.state.now())}")
            self._end("ERROR", f"{type(failure).__name__}: {failure}")
            raise
        self._results = self._end(kind, reason)
        return self._results, told

    def start(self, duration: str | pd.Timedelta | None, *, close_at_end: bool = False) -> None:
        """Run in its own thread.

        Parameters
        ----------
        duration : str, Timedelta or None
            Length of the run, None until it is stopped.
        close_at_end : bool, optional
            True closes the positions of its symbols at the end (default: False).
        """

        def work() -> None:
            with suppress(BaseException):  # `results` raises it
                self.run(duration, close_at_end=close_at_end)

        endings.begin(self)  # before the thread runs, so that `stop_all` finds it from now on
        self._runs_in = threading.Thread(target=work, name=f"toolkit-{self.strategy.name}", daemon=True)
        self._runs_in.start()

    def kill(self, *, close: bool | None = None, timeout: float = 30.0) -> None:
        """Stop the run: cancel its orders and, with `close`, its positions. Returns when that is done.

        Called by the run's own strategy it returns immediately: the run ends after the callback.

        Parameters
        ----------
        close : bool, optional
            Whether to close the positions of its symbols (default: as the run was started).
        timeout : float, optional
            Longest wait, seconds (default: 30.0).

        Raises
        ------
        LimitReached
            After `timeout` seconds.
        """
        if close is not None:
            self._close_at_end = close
        self.request_end()
        if not self.wait(timeout):
            raise LimitReached(f"the run did not end within {timeout:g} s", limit="timeout")

    def wait(self, timeout: float) -> bool:
        """Return whether the run ends in time, or is the caller, which can't wait for its own end.

        Parameters
        ----------
        timeout : float
            Longest wait, seconds.
        """
        # It ends after the callback that has called this.
        return self._runs_in in (None, threading.current_thread()) or self._ended.wait(timeout)

    def request_end(self, why: str = "") -> None:
        """Let the run end, without waiting for it. From now on nothing that its strategy places is sent.

        Parameters
        ----------
        why : str, optional
            What ended it, in words (default: "the kill switch was pulled").
        """
        self._why = why or self._why
        self.state.killed = True
        self._stop.set()

    def results(self) -> Results:
        """Return the Results of a run that has ended.

        Returns
        -------
        Results
            Frames, measures and report of the run.

        Raises
        ------
        ToolkitError
            While it runs.
        Exception
            The error that ended the run, if there was one.
        """
        if self.error is not None:
            raise self.error
        if self._results is None:
            raise ToolkitError("the run has not ended. Call kill(), or wait")
        return self._results

    def _begin(self) -> None:
        state = self.state
        state.begin()
        self.ctx.now = state.started_ms
        # Bars begin at multiples of their length since 1970, so the first one that is delivered may have begun before
        # the run.
        edge_ms = state.started_ms // self.interval_ms * self.interval_ms
        first_ms = edge_ms - self.warm_up * self.interval_ms
        for symbol in self.symbols:
            try:
                before = insist(partial(state.read_candles, symbol, first_ms - LOOKBACK * self.interval_ms, first_ms))
            except BadAnswer as failure:
                state.note("PROBLEM", symbol, f"the last price before the run is not known: {failure}")
                before = {}
            for values in filter(None, before.values()):
                self._last_close[symbol] = values[3]
            # A subscription costs messages, so only feeds that the strategy reads are opened.
            if overrides(self.strategy, "on_trade"):
                self._feed.add_trades(symbol)
            if overrides(self.strategy, "on_book"):
                self._feed.add_books(symbol)
            if overrides(self.strategy, "on_timer"):
                self.ctx.book(symbol)  # subscribes to it
        # Past bars must not trade: their orders would arrive at today's prices.
        state.trading = not self.warm_up
        state.next_open_ms = dict.fromkeys(self.symbols, first_ms)
        self.strategy.ctx = self.ctx
        # Before `on_start`: a strategy that places orders there must see those that it still has.
        if state.journal is not None:
            self._resume(state.journal)
        state.sample(state.started_ms)  # before `on_start`, whose orders may be filled at prices that are not known yet
        self._telling.tell("RUNNING", "")
        self.strategy.on_start(self.ctx)
        if self.warm_up:
            insist(partial(self._query_bars, edge_ms))
            self.ctx.now = state.started_ms
            state.trading = True
        if overrides(self.strategy, "on_timer"):
            self._feed.add_fills()
            self._timer_due_ms = state.started_ms + self.ctx.timer_ms

    def _resume(self, journal: RunJournal) -> None:
        """Continue where the run of this name stopped, and print the state of its orders and positions."""
        state, begun = self.state, journal.begun
        params = {name: str(value) for name, value in self.strategy.params.items()}
        if begun is None:
            insist(state.take_account)
            before = tuple(sorted(state.earlier["ledger"]))
            journal.append(state.now(), params=params, equity=state.equity, trials=len(trials), before=before)
            return
        # Limits on losses count from the first start, or a crash would grant a new loss each time.
        state.first_equity = begun.equity
        self.ctx._take_up(journal.kept, journal.handles)
        # As the journal has it, so that the table shows what was filled while the run was down.
        held = {symbol: float(state.taken_up[symbol] * state.products[symbol].step_size) for symbol in self.symbols}
        insist(state.read_orders)
        insist(state.take_account)
        books = state.books
        cancelled = [
            placed
            for placed in self.ctx.orders()
            if not self._adopt and not books[str(placed.order.symbol)].only_reduces(placed.order)
        ]
        for placed in cancelled:
            self.ctx.cancel(placed)
        sizes = dict.fromkeys(self.symbols, 0.0)
        for row in insist(lambda: rows_of(self.session.positions(index=None))):
            sizes[row.symbol] = sizes.get(row.symbol, 0.0) + (row.size if row.side == "LONG" else -row.size)
        rows = []
        for symbol in self.symbols:
            left = [placed.state == "UNKNOWN" for placed in self.ctx.orders() if placed.order.symbol == symbol]
            now, gone = self.ctx.position(symbol), sum(placed.order.symbol == symbol for placed in cancelled)
            rows.append(
                (symbol, held[symbol], now - held[symbol], now, sizes[symbol], left.count(False), sum(left), gone)
            )
        names = ("symbol", "held", "filled meanwhile", "holds", "account holds", "adopted", "unknown", "cancelled")
        changed = {name: value for name, value in params.items() if (begun.params or {}).get(name) != value}
        state.note("RESUME", "", f"changed parameters: {changed}" if changed else "")
        table = pd.DataFrame(rows, columns=list(names)).round(9).to_string(index=False)
        print(f"{self.strategy.name} continues a run of {utc(begun.time):%Y-%m-%d %H:%M}:\n{table}")

    def _wait(self, until: int | None) -> bool:
        """Let time pass until the next poll or timer. Return whether it is a poll."""
        now, venue, due = self.state.now(), self._venue, self._timer_due_ms
        if due <= now:
            return False
        if self._manual_clock:
            assert venue is not None
            # Multiples of the step, not sums of it: a timer in between must not shift the polls.
            target = now // self.step_ms * self.step_ms + self.step_ms
            target = target if until is None else min(target, until)
            venue.advance(until=target if due >= target else ceil(due))
            return due >= target
        speed = self.state.session.clock.speed
        timer = (due - now) / 1000 / speed if speed else NEVER
        left, soon = self._polled_at + self._poll_seconds() - monotonic(), min(timer, self.poll)
        self._stop.wait(max(min(left, soon), 0))
        # The venue's speed can change at any time, so no wait is longer than one poll of the venue's clock.
        if soon < left:  # the timer is due, or the speed may have changed
            return False
        self._polled_at = monotonic()
        return True

    def _poll_seconds(self) -> float:
        """Return this machine's seconds from one poll to the next: `poll` of the venue's, where its time passes."""
        return max(self.poll / (self.session.clock.speed or 1), min(self.poll, SHORTEST_POLL))

    def _tick(self) -> None:
        """Deliver the feed and then call the strategy's timer, when it is due."""
        state = self.state
        # Read once: a clock that moves on during the callbacks would make one instant look like several.
        now = self.ctx.now = state.now()
        if now < self._timer_due_ms:
            return
        try:
            self._deliver_feed()
            if self._feed.filled:
                self._feed.filled = False
                self._deliver_fills()
            if not self.ctx.stopped:
                self._on_timer()
        except (TransportError, RateLimited) as failure:
            state.note("TRANSPORT", "", str(failure))
        # what came too late for the next call replaces it
        missed = (state.now() - self._timer_due_ms) // self.ctx.timer_ms
        self._timer_due_ms += (max(missed, 0) + 1) * self.ctx.timer_ms

    def _deliver_fills(self) -> None:
        self.state.read_orders()
        journal = self.state.journal
        while self.state.new_fills:
            own, fill = self.state.new_fills.popleft()
            # Two lines a fill: without the second one the strategy may not have handled it, and receives it again after
            # a crash.
            if journal is not None:
                journal.append(self.state.now(), fill=own)
            if fill.type in ("LIQUIDATION", "ADL"):
                text = f"{fill.side} {fill.quantity:g} at {fill.price:g}"
                self.state.note(fill.type, fill.symbol, text)
                # A liquidated account has other sizes and margins than the strategy has assumed, so the run ends. An
                # ADL only reduces.
                if fill.type == "LIQUIDATION":
                    self.ctx.end("LIQUIDATION", f"the account was liquidated in {fill.symbol}: {text}")
            self._voice.fill(fill.time, fill.symbol, f"{fill.side} {fill.quantity:g} at {fill.price:g}")
            self.strategy.on_fill(self.ctx, fill)
            if journal is not None:
                journal.append(self.state.now(), taken=own.id)
        while self.state.new_cancels:
            cancelled = self.state.new_cancels.popleft()
            self.ctx._note_cut(cancelled)
            self.strategy.on_cancel(self.ctx, cancelled)
        self.ctx._follow_fills()
        self.ctx._keep()

    def _poll(self) -> None:
        """Query everything that is new and call the strategy, in the order in which it happened."""
        state = self.state
        if not self._serve():
            return
        try:
            self.ctx.now = state.now()
            # Feed, fills, wallet, funding, bars: the strategy decides at a bar with all that happened before it already
            # known.
            self._deliver_feed()
            try:
                self._deliver_fills()
                state.read_positions()
                state.read_wallet()
                if taken := state.compare(self._by_hand):
                    self.ctx.end("HAND", taken)
            # The venue is there, and one of its answers can't be believed: bars go on, and exits pass.
            except BadAnswer as failure:
                if not failure.contradicts:
                    raise
                state.pause(str(failure))
            if self._funding_due_ms <= state.now():
                for payment in state.read_funding():
                    self.strategy.on_funding(self.ctx, payment)
                self._funding_due_ms = state.next_funding()
            if not state.based:
                state.base_wallet()
            # With a clock that is advanced by hand nothing can come late.
            self._query_bars(state.now() - (0 if self._manual_clock else GRACE_MS))
            self._watch_agent()
            state.mark_answered()
            self._voice.beat()
        # The next poll reads the same again. Only a silence of `max_stale` ends the run.
        except (TransportError, RateLimited) as failure:
            state.note("TRANSPORT", "", str(failure))
        # A run with a name waits for its venue: whoever started it has left it alone.
        check_run(self.limits if state.journal is None else replace(self.limits, max_stale=None), state)
        if state.journal is not None and (silent := stale(self.limits, state)):
            state.pause(silent)

    def _serve(self) -> bool:
        """Tell other programs how the run is, and do what they ask. Return whether it goes on."""
        ask = self._telling.asked()
        if ask is not None and ask.what == "stop":
            self._close_at_end |= ask.flatten
            self.request_end("another program asked for it")
            return False
        if ask is not None:
            self._telling.save(self._make_results())
        self._telling.tell_now_and_then()
        return True

    def _watch_agent(self) -> None:
        """Warn a day before the agent's approval ends, unless it was renewed, and notice a renewal."""
        now = self.state.now()
        if self._look_at_agent_ms <= now < self._warn_ms and self._venue is None:
            # What was signed here is known without a query.
            signed = self.session.permissions.signed_until().items()
            agent = str(self.session.wallet.agent if self.session.wallet else "").lower()
            known = max((until for (address, _), until in signed if address == agent), default=0)
            if known and (ends := utc(known)) != self._telling.agent_until:
                self._telling.agent_until = ends
                self._warn_ms = _day_before(ends)
            self._look_at_agent_ms = now + LOOK_AT_AGENT_MS
        if now < self._warn_ms:
            return
        said, until = "", None  # type: str, pd.Timestamp | None
        try:
            until = check_agent(self.session)
            if until is not None and _day_before(until) <= now:
                said = f"the approval of the run's agent ends {until:%Y-%m-%d %H:%M} UTC. Renew it with {RENEW}"
        except WalletError as error:
            said = str(error)
        self._warn_ms = NEVER if said else _day_before(until)
        if said:
            self.state.note("AGENT", "", said)
            print(f"{utc(now):%Y-%m-%d %H:%M:%S} {said}")

    def _deliver_feed(self) -> None:
        self._feed.raise_errors()
        while self._feed.items:
            item = self._feed.items.popleft()
            if isinstance(item, Trade):
                self.state.prices[item.symbol] = item.price
                self.ctx._watch(item.symbol, item.price)
                self.strategy.on_trade(self.ctx, item)
            else:
                self.strategy.on_book(self.ctx, item)
            if self.ctx.stopped:
                self._feed.items.clear()

    def _query_bars(self, until: int) -> None:
        """Read every bar that is complete at `until`, and deliver all by time and symbol."""
        bars: list[tuple[int, int, Bar]] = []
        next_open_ms, last_close = dict(self.state.next_open_ms), dict(self._last_close)
        for number, symbol in enumerate(self.symbols):
            start, end = next_open_ms[symbol], until // self.interval_ms * self.interval_ms
            if end <= start:
                continue
            listed = self.state.read_candles(symbol, start, end)
            settled = self._settled_ms(listed, end)
            quiet = [one for one in range(start, min(end, settled), self.interval_ms) if one not in listed]
            settled = min(settled, self.state.first_hidden_ms(symbol, quiet) or settled)
            for opened in range(start, end, self.interval_ms):
                values = listed.get(opened)
                if values:
                    last_close[symbol] = values[3]
                # Not listed yet: it may have no trades or be late. The bars after it wait, so that they are delivered
                # in order.
                elif values is None and opened >= settled:
                    break
                # Without trades a bar is flat at the last close, as in backtests.
                elif values is None and symbol in last_close:
                    values = (last_close[symbol],) * 4 + (0.0,)
                else:
                    continue  # a bar that can't be, or nothing was ever traded, so that there is no price
                bar = Bar(symbol, opened, opened + self.interval_ms, *values)
                bars.append((bar.closed, number, bar))
            else:
                opened = end
            next_open_ms[symbol] = opened
        # Only now: a query that fails for one symbol leaves all of them to be read again.
        self.state.next_open_ms, self._last_close = next_open_ms, last_close
        self._read_bars.extend(sorted(bars, key=lambda item: item[:2]))
        self._deliver_bars()

    def _settled_ms(self, listed: Mapping[int, object], end: int) -> int:
        """Return the time before which a bar that the venue does not list had no trades, rather than being late."""
        if self._manual_clock or self.state.now() - end >= QUIET_GRACE_MS:
            return end
        return max(listed, default=0)

    def _deliver_bars(self) -> None:
        """Deliver the bars that were read. Bars after an error in a callback follow with the next poll."""
        instant = 0
        while self._read_bars:
            closed = self._read_bars[0][0]
            if closed != instant:
                # All bars of an instant are in the histories before the strategy sees the first of them.
                instant = closed
                for other_closed, _, bar in self._read_bars:
                    if other_closed == closed and bar.time > self._visible_ms.get(bar.symbol, -1):
                        self._visible_ms[bar.symbol] = bar.time
                        self.ctx.history[bar.symbol].append(bar)
                        self.state.prices[bar.symbol] = bar.close
                        self._latest[bar.symbol] = bar
                        for computed in self.ctx._precomputed:
                            if computed.symbol == bar.symbol:
                                computed.update(self.ctx.history[bar.symbol])
            _, _, bar = self._read_bars.popleft()
            # A bar is delivered after its close, and time must not run back. While warming up, time is that of the
            # bars.
            self.ctx.now = max(self.ctx.now, closed) if self.state.trading else closed
            # Trailing stops protect: they follow old bars, too.
            self.ctx._follow_bar(bar)
            # After a sleep of the computer old bars arrive together. Orders on them would trade on prices of long ago.
            self.state.stale = self.state.trading and self.state.now() - closed > self._bar_age_ms
            try:
                self.strategy.on_bar(self.ctx, bar)
                last_of_instant = not self._read_bars or self._read_bars[0][0] != closed
                if last_of_instant and len(self._latest) == len(self.symbols) and not self.ctx.stopped:
                    self.strategy.on_bars(self.ctx, dict(self._latest))
            finally:
                self.state.stale = False
            if self.state.trading:
                self.state.sample(closed)
            if self.ctx.stopped:
                self._read_bars.clear()

    def _end(self, kind: str, reason: str) -> Results:
        """Cancel, close if asked to, print what is still open, and return the results."""
        state = self.state
        state.ending = True
        self._ended_by = kind
        state.note(kind, "", reason)
        self._telling.tell("ENDING", reason)
        # on_stop may trade after a regular end, but not after a limit, an interrupt or an error.
        state.trading = state.trading and kind in ("END", "STOP")
        # Feeds first: their threads must not add to a run that is ending.
        for source in self._feed.sources:
            self._attempt("closing a feed", source.close)
        failed = self._attempt("on_stop", lambda: self.strategy.on_stop(self.ctx))
        # Each further step is tried alone: one that fails must not keep the others from cancelling or closing.
        state.trading = False
        if not state.begun:  # it was told to end while it began, and what it left before is still to be cancelled
            self._attempt("reading what it left", state.begin)
        if not state.dry_run:
            for symbol in self.symbols:
                self._attempt(f"cancelling in {symbol}", partial(state.cancel_open, symbol))
            for symbol in self.symbols if self._close_at_end else ():
                self._attempt(f"closing {symbol}", partial(self._close_position, symbol))
        self._attempt("reading orders", state.read_orders)
        self._attempt("reading the positions", state.read_positions)
        self._attempt("reading the wallet", state.read_wallet)
        state.sample(state.now())
        self._attempt("asking what is open", self._list_open)
        self._telling.tell("ENDED", reason, exit_code=self.exit_code, left_open=self.still_open)
        if self.still_open or kind not in ("END", "STOP"):
            open_text = "; ".join(self.still_open) or "nothing is open"
            print(f"{self.strategy.name} ended ({reason}). Still open: {open_text}")
        # Only now, after the orders are cancelled, may the error of `on_stop` reach the caller.
        if failed is not None and kind != "ERROR" and not isinstance(failed, ToolkitError | KeyboardInterrupt):
            failed.add_note(f"in on_stop of {self.strategy.name}, after its open orders were cancelled")
            raise failed
        results = self._make_results()
        self._telling.save(results)
        self._voice.close()
        if state.journal is not None:
            state.journal.close()
        return results

    def _make_results(self) -> Results:
        state = self.state
        received = {symbol: self.ctx.history[symbol].frame() for symbol in self.symbols}
        missed = dict[str, list[Unproven]]()
        for symbol, frame in received.items():
            # A run receives a bar of each interval, so one that is not there was missed.
            frame.attrs["coverage"] = known = coverage()
            missed[symbol] = unproven(known, pd.DatetimeIndex(frame.index).as_unit("ms").asi8, self.interval_ms)
        again = {"strategy": self._fresh, "data": received, "capital": f"{state.first_equity:f}"}
        again |= {"interval": pd.Timedelta(self.interval_ms, unit="ms")}
        again["products"] = {symbol: state.products[symbol] for symbol in self.symbols}
        # It is made again as a backtest, which an audit knows as another kind of run.
        host = None if self._venue is None else self._venue.host
        genesis = None if host is None or host.player is not None else host.genesis
        recipe = Recipe(backtest, again, Recipe(backtest, again, reconciler=Reconciler(self.interval_ms, genesis)))
        made = results_of(state, self.strategy.name, self.strategy.params, self.ctx.records, recipe)
        # Trials of other ideas in this project are none of it.
        settings = {**made.settings, **doubts_of(missed), "idea": idea_of(self._fresh, received)}
        return replace(made, settings=settings)

    def _attempt(self, what: str, action: Callable[[], Any]) -> BaseException | None:
        """Do one step of the end. A failure is noted and returned, and the other steps still happen."""
        try:
            action()
        # A second interrupt must not leave orders at the venue either.
        except (Exception, KeyboardInterrupt, SystemExit) as failure:
            self.state.note("PROBLEM", "", f"{what}: {type(failure).__name__}: {failure}")
            self._unknown |= what != "on_stop"
            if what != "on_stop":
                self.still_open.append(f"unknown, because {what} failed")
            return failure
        return None

    def _close_position(self, symbol: str) -> None:
        # A run with a name closes what it holds by its own fills. The account may hold more.
        if self.state.journal is not None:
            self.state.read_orders()  # one may have been filled since the last poll
            self.state.trading = True
            self.ctx.close_position(symbol)
            self.state.trading = False
            return
        # Not by the table of positions: one row that can't be read would keep the others open.
        try:
            # By the code that the run began with, whatever the venue's list has made of the name since.
            self.session.close_position(self.state.products[symbol].code)
        except InputError as error:
            if error.rule != "position":  # there is none
                raise

    def _list_open(self) -> None:
        for row in rows_of(self.session.positions(index=None)):
            if row.symbol in self.symbols:
                self.still_open.append(f"{row.side} {row.size:g} {row.symbol}")
        journal = self.state.journal
        table = self.session.orders(open=True)
        for row in rows_of(table):
            if row.symbol in self.symbols and (journal is None or journal.run.owns(row.client_order_id)):
                self.still_open.append(f"order {row.order_id} {row.side} {row.remaining:g} {row.symbol}")
        if table.attrs["missing"]:
            self.still_open.append("other orders may be open")
        if self.still_open:
            self.state.note("OPEN", "", "; ".join(self.still_open))
