"""Backtest: a strategy on bars, on the venue's own core in simulated time.

Orders go through the venue's rules: checks, margin, matching, fees, triggers, funding, liquidation. Models that you
can replace supply what bars don't show: the path inside a bar, liquidity, slippage and latency.

The driver holds the data in its own frame and hands out one bar at a time, once it is complete. A strategy can't reach
a later bar.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

from ...errors import InputError
from ...interchange import to_pandas
from ...numerals import milliseconds
from ...products import Amount
from ...suggestions import check_known
from ..analysis.recipes import repeatable
from ..analysis.results import Results
from ..data.bars import Bars, ExtremeOrder, Path, read_bars
from ..market_data import Bar
from ..strategy import Strategy, StrategyLike, as_strategy, overrides
from .backtest_context import BacktestContext
from .bar_matching import ReceivedBars, SymbolState
from .broker import RunSettings, SimulatedBroker
from .events.event_run import EventSettings, backtest_events, events_by_symbol
from .funding_schedule import Gap, funding_schedule, predicted_rates
from .listing import make_core, product_fields
from .models import BarLiquidity, BarModels, FixedLatency, Latency, Liquidity, RatioSlippage, Slippage, check_bound
from .run_source import build_results, doubts_of

Funding = float | pd.Series | pd.DataFrame | Mapping[str, Any] | None
Feed = tuple[Callable[[float], None], Iterator[float]]
"""The function that adds a value to an indicator, and the values to come."""


@repeatable
def backtest(
    strategy: StrategyLike,
    data: object,
    *,
    capital: Amount = 10_000,
    interval: str | pd.Timedelta | None = None,
    products: Mapping[str, Any] | None = None,
    leverage: Amount | None = None,
    fees: tuple[Amount, Amount] | None = None,
    funding: Funding | str = "interest",
    path: Path | None = None,
    liquidity: Liquidity | None = None,
    slippage: Slippage | float | None = None,
    latency: Latency | Any = None,
    seed: int = 7,
    warm_up: int = 0,
    progress: bool = False,
    every_point: bool = False,
    unproven: Literal["mark", "refuse"] = "mark",
    **recorded: Unpack[EventSettings],
) -> Results:
    """Run a strategy on data and return its Results.

    A bar is handed over when it closes. An order sent then arrives `latency` later, at the next bar's open at the
    earliest. It trades at the price of that moment, never at one from before it was sent. In a gap of its symbol it
    waits for the next price. Prices inside a bar move along `path`. Resting orders, triggers and liquidations happen at
    their prices on the way. Positions stay open at the end, valued at the last close. Orders still in flight are
    dropped.

    Errors of the strategy propagate, with the time as a note.

    Parameters
    ----------
    strategy : Strategy, class, callable or mapping
        A Strategy, a function `on_bar(ctx, bar)`, or callbacks by name. It is copied, so running it twice gives the
        same.
    data : History, DataFrame, Recording, Events or mapping
        The history of `session.history`, which has the funding too. Or bars of one or many symbols, in any shape
        `read_bars` accepts, or a mapping symbol → Events of `data.load`.
        Events call `on_book`, `on_trade` and `on_timer`, and `on_bar` with bars of their trades: see `backtest_events`.
    capital : str, int, float or Decimal, optional
        USDC in the account at the start (default: 10,000).
    interval : str or Timedelta, optional
        Length of the bars, such as "1h" (default: that of the data, "1m" of events).
    products : mapping of str to Product or mapping, optional
        A Product for a symbol, or fields to change, such as tick_size (default: `listing` says which).
    leverage : str, int, float or Decimal, optional
        Leverage of every symbol at the start (default: the venue's).
    fees : tuple of two numbers, optional
        Rates of maker and taker as ratios (default: the venue's rates and volume tiers).
    funding : str, float, Series, DataFrame, mapping or None, optional
        How funding is settled. The default is that of a History, else "interest": an assumed constant rate, the venue's
        formula at a premium of 0, which is not what the market paid. It may be a rate for each interval, a Series of
        rates over UTC times, or a frame with `time` and `rate` or `funding_rate`, of `data.load` or of the venue. It
        may also be a mapping symbol → any of these, or None (no funding). Recorded rates take the place of "interest".

        A rate stamped less than a minute after a full hour belongs to the settlement at the hour. Rates of another
        symbol are refused. The run warns of repeats and of missing settlements. A settlement applies to the position
        before orders of the same instant, at the price of that instant.
    path : Path, optional
        Order of the prices inside a bar, see `models` (default: `ExtremeOrder()`).
    liquidity : Liquidity, optional
        Quotes and fills of resting orders, see `models` (default: `BarLiquidity()`).
    slippage : Slippage or float, optional
        Slippage of taking orders, see `models`. A number is a ratio (default: 0).
    latency : Latency, str, timedelta or tuple, optional
        Time that orders and cancels take, see `models`, or a span such as "200ms" (default: none).
    seed : int, optional
        Whole number that makes the random numbers of the models (default: 7).
    warm_up : int, optional
        Number of first bars that the strategy receives without trading. The results begin after them (default: 0).
    progress : bool, optional
        True shows a progress bar (default: False).
    every_point : bool, optional
        True visits every point of every bar, also where nothing can happen: slower, the same results (default: False).
    unproven : {"mark", "refuse"}, optional
        What happens with bars that `attrs["coverage"]` does not prove complete, and with settlements without a rate.
        "mark" names them in `Results.unproven`. "refuse" raises (default: "mark").
    **recorded : EventSettings
        Settings of runs on events: feed_latency, queue, partial_fills, impact.

    Returns
    -------
    Results
        Frames, measures and report of the run.

    Raises
    ------
    InputError
        For invalid data or settings.

    Examples
    --------
    >>> research.backtest(Cross(fast=3), bars, fees=("0", "0"))
    Results('Cross', 2025-12-23 16:00 to 2026-01-01 00:00, 10,000.00 → 10,354.35 USDC (+3.54%), 9 fills)
    """
    if unproven not in ("mark", "refuse"):
        text = f"unproven is {unproven!r}, not mark or refuse"
        raise InputError(text, field="unproven", value=unproven, nearest=("mark", "refuse"))
    common = RunSettings(capital, products, leverage, fees, to_pandas(funding, "funding"), seed, unproven)
    # Unpack is checked by type checkers only. At run time a misspelt setting would be accepted and ignored.
    if recorded:
        own = [*inspect.signature(backtest).parameters][2:-1]
        check_known(recorded, [*own, *EventSettings.__annotations__], "backtest", "setting")
    data, latency = to_pandas(data), to_pandas(latency, "latency")
    events = events_by_symbol(data)
    if events is not None:
        # Refused, not ignored: a user who gives a spread would believe that the fills contain it.
        given = {"path": path, "liquidity": liquidity, "slippage": slippage, "warm_up": warm_up}
        for name in [name for name, value in {**given, "every_point": every_point}.items() if value]:
            raise InputError(f"{name} is a setting of runs on bars, which events have not", field=name)
        return backtest_events(strategy, events, common, latency, progress, interval, **recorded)
    if recorded:
        raise InputError(f"{next(iter(recorded))} is a setting of runs on events, not on bars", field="data")
    if slippage is None or isinstance(slippage, int | float | np.number):
        slippage = RatioSlippage(float(slippage or 0.0))
    # A model is known by its method, so that any object with this method can be a model.
    if not hasattr(latency, "delay"):
        latency = FixedLatency(milliseconds(latency or 0, "latency"))
    models = BarModels(path or ExtremeOrder(), liquidity or BarLiquidity(), slippage, latency)
    run = _BarRun(as_strategy(strategy), read_bars(data, interval=interval), models, common, warm_up, every_point)
    return run.results(progress)


class _BarRun:
    """A run on bars: moves time through settlements, arrivals and prices in order, then the strategy at each close."""

    def __init__(
        self,
        strategy: Strategy,
        series: Mapping[str, Bars],
        models: BarModels,
        settings: RunSettings,
        warm_up: int,
        every_point: bool,
    ) -> None:
        self.series = series
        self.received = ReceivedBars(series)
        self.warm_until = _warm_until(series, warm_up)
        self.start = min(int(each.opened[0]) for each in series.values())
        self._unseen, self._seen = list[Bar](), 0  # bars of the walk that may not be quiet, and of which wake prices
        core = make_core(series, settings.products, settings.seed, self.start)
        states = [
            SymbolState(core, core.products[code], symbol, self.received)
            for code, symbol in zip(core.products, series, strict=True)
        ]
        self.broker = broker = SimulatedBroker(core, states, models, settings, strategy)
        broker.open_account(settings)
        self.broker.every_point, broker.warm_until = every_point, self.warm_until
        # The context makes itself the broker's `ctx`, which keeps it alive.
        BacktestContext(broker, max(each.interval for each in series.values()))
        lacking = dict[str, list[Gap]]()
        broker.settlements = funding_schedule(core, series, settings.funding, lacking)
        self.doubts = doubts_of(
            {symbol: each.unproven for symbol, each in series.items()}, lacking, refuse=settings.unproven == "refuse"
        )
        broker.predicted = predicted_rates(core, series, settings.funding)

    def results(self, progress: bool) -> Results:
        """Run through all the data and return the Results.

        Parameters
        ----------
        progress : bool
            True shows a progress bar.
        """
        for symbol, series in self.series.items():
            state = self.broker.states[symbol]
            # The engine uses a price of 0 ticks for "no price yet", so a real price must never round to it.
            if state.to_ticks(float(series.low.min())) < 1:
                text = f"{symbol}: a price is below one tick of {state.tick:g}. Give the product a smaller tick_size"
                raise InputError(text, field="products", rule="tick_size")
            check_bound(state.product, self.broker.models)
            # Only the points of this path are the same in every run. A subclass or another model may draw random ones.
            if type(self.broker.models.path) is ExtremeOrder and len(series) <= KEPT:
                state.begun = _begun(series, state.tick, state.step, self.broker.models.path)
        self.broker.run(lambda: self._run_bars(progress))
        settings = {
            "interval": {symbol: _span_text(series.interval) for symbol, series in self.series.items()},
            "products": {symbol: product_fields(state.product) for symbol, state in self.broker.states.items()},
            **{name: repr(model) for name, model in self.broker.models._asdict().items()},
            **self.doubts,
        }
        return build_results(self.broker, self.series, max(self.start, self.warm_until), self.broker.now, settings)

    def _run_bars(self, progress: bool) -> None:
        """Run through the closing times. Bars in which nothing can happen are only handed to the strategy."""
        broker, ctx, feeds = self.broker, self.broker.ctx, self._feeds()
        states, arrivals, on_bar, after = broker.states, broker.arrivals, broker.strategy.on_bar, _after_bars(broker)
        recent, due, shared = self.received.recent, self._next_due(), False
        for bars in self._instants(progress):
            closed = bars[0].closed
            # Strictly before: what is due at the close itself takes place after the strategy has seen the bar. The next
            # walk processes it, a settlement before the orders of the same instant.
            busy: object = arrivals or due < closed
            for bar in bars:
                state = states[bar.symbol]
                if bar.low <= state.floor_price or bar.high >= state.ceiling_price:
                    busy = True
            # Wake prices are those of single symbols. A margin that several positions share needs all bars together.
            if busy or (shared and not self._keeps_margin(bars)):
                self._walk(bars, closed)
                due, shared = self._next_due(), broker.shared
            # All bars of an instant are in the histories before the strategy sees the first of them.
            recent += bars
            broker.now = ctx.now = closed
            # Before any `on_bar`: a strategy reads `x[-1]` as the value at the close of the bar that it is given.
            if feeds:
                for bar in bars:
                    for push, values in feeds.get(bar.symbol, ()):
                        push(next(values))
            for bar in bars:
                if ctx.stopped:
                    return
                if ctx._clients:
                    ctx._follow_bar(bar)
                on_bar(ctx, bar)
            if after is not None:
                after(bars)
            if ctx.stopped:
                return

    def _feeds(self) -> dict[str, list[Feed]]:
        """Return the values to come of the precomputed indicators, by symbol.

        They stay with the driver: an indicator has only those up to now.
        """
        feeds: dict[str, list[Feed]] = {}
        for computed in self.broker.ctx._precomputed:
            bars = tuple(_bars_of(computed.symbol, self.series[computed.symbol]))
            feeds.setdefault(computed.symbol, []).extend(computed.feeds(bars))
        return feeds

    def _instants(self, progress: bool) -> Iterable[Sequence[Bar]]:
        """Return the bars of each closing time, in the order of the symbols."""
        instants: Iterable[Sequence[Bar]] = zip(*(_bars_of(*item) for item in self.series.items()), strict=True)
        total = len(next(iter(self.series.values())))
        if len(self.series) > 1:
            by_time: dict[int, list[Bar]] = {}
            # Symbols may have different gaps and lengths, so their bars meet by closing time and not by row.
            for symbol, series in self.series.items():
                for bar in _bars_of(symbol, series):
                    by_time.setdefault(bar.closed, []).append(bar)
            instants, total = [by_time[closed] for closed in sorted(by_time)], len(by_time)
        if not progress:
            return instants
        from tqdm.auto import tqdm

        return tqdm(instants, desc="backtest", unit="bar", total=total)

    def _next_due(self) -> int:
        """Return the time of the next event that depends on no order or price. −1 when every point is visited."""
        if self.broker.every_point:
            return -1
        due, settlements = self.broker.due, self.broker.settlements
        return min(due, settlements[-1].time) if settlements else due

    def _keeps_margin(self, bars: Sequence[Bar]) -> bool:
        self.broker.apply_closes()
        self.broker.begin_instant(bars)
        return not self.broker.every_point and self.broker.keeps_margin()

    def _walk(self, bars: Sequence[Bar], closed: int) -> None:
        """Move along the paths of bars that close at one time, up to where nothing more can happen in them."""
        broker = self.broker
        arrivals, settlements = broker.arrivals, broker.settlements
        # The quiet bars before have not touched the core. The jump to the first price starts from their closes.
        broker.apply_closes()
        broker.begin_instant(bars)
        self._unseen, self._seen = list(bars), broker.version
        points = []
        for bar in bars:
            state = broker.states[bar.symbol]
            begun = state.begin_bar(bar, broker.liquidity, self.broker.models.path)
            points += [(bar.time + offset, state, price) for offset, price in begun]
        # The sort is stable: points of one instant stay in the order of the symbols, so that a run can be repeated.
        points.sort(key=itemgetter(0))
        for time, state, price in points:
            # Orders that are due before this point trade at the price before it. At the same instant the price comes
            # first.
            if (arrivals and arrivals[0].time < time) or (settlements and settlements[-1].time < time):
                broker.process_until(time)
            if state.started and not arrivals and self._is_quiet(bars, closed):
                # The prices that are left out still count as seen: an order sent before them need not wait for another
                # one.
                for last, moved, _ in points:
                    moved.priced_ms = last
                break
            state.priced_ms = time
            if state.waiting:
                broker.release_waiting(state)
            broker.move_price(state, price, time)
        else:
            broker.process_until(closed)
            broker.update_wake_prices()
        # Only walked bars can change cash or positions, so a run of quiet bars needs no record.
        broker.instant = {}
        broker.record_balances(closed)

    def _is_quiet(self, bars: Sequence[Bar], closed: int) -> bool:
        """Return whether nothing more can happen in these bars, so that their closes are their prices."""
        broker = self.broker
        if broker.stale:
            broker.update_wake_prices()
        if broker.coupled or self._next_due() < closed:
            return False
        # A bar that was found quiet stays so for as long as the wake prices do. So most points look at one bar only.
        if self._seen != broker.version:
            self._unseen, self._seen = list(bars), broker.version
        while self._unseen:
            bar = self._unseen[-1]
            state = broker.states[bar.symbol]
            if not state.started or state.waiting or bar.low <= state.floor_price or bar.high >= state.ceiling_price:
                return False
            self._unseen.pop()
        return True


@lru_cache(maxsize=16)
def _span_text(span_ms: int) -> str:
    """Return a length of time as text."""
    return str(pd.Timedelta(span_ms, unit="ms"))


def _warm_until(bars: Mapping[str, Bars], warm_up: int) -> int:
    """Return when the last bar closes that a strategy receives without trading, Unix ms. −1 when there is none."""
    closes = np.unique(np.concatenate([series.closed for series in bars.values()])) if warm_up else np.zeros(0)
    if warm_up < 0 or (warm_up and warm_up >= len(closes)):
        text = f"warm_up is {warm_up}, but must be below the data's {len(closes)} closing times"
        raise InputError(text, field="warm_up", value=warm_up)
    return int(closes[warm_up - 1]) if warm_up else -1


def _after_bars(broker: SimulatedBroker) -> Callable[[Sequence[Bar]], None] | None:
    """Return what follows the on_bar calls of an instant: on_bars and on_book, None when the strategy has neither."""
    strategy, ctx = broker.strategy, broker.ctx
    wants_all, wants_books = overrides(strategy, "on_bars"), overrides(strategy, "on_book")
    latest: dict[str, Bar] = {}

    def call(bars: Sequence[Bar]) -> None:
        latest.update({bar.symbol: bar for bar in bars})
        if wants_all and len(latest) == len(broker.states) and not ctx.stopped:
            strategy.on_bars(ctx, dict(latest))
        if wants_books:
            for bar in bars:
                if not ctx.stopped:
                    strategy.on_book(ctx, broker.modelled_book(broker.states[bar.symbol]))

    return call if wants_all or wants_books else None


def _bars_of(symbol: str, series: Bars) -> Iterable[Bar]:
    """Return the bars of one symbol: a few are kept for the next point of a sweep, many are made one at a time."""
    return _kept_bars(symbol, series) if len(series) <= KEPT else _each_bar(symbol, series)


KEPT = 4_096
"""Most bars of a symbol that are kept, which saves a sweep over few of them a tenth of its time."""


@lru_cache(maxsize=8)
def _kept_bars(symbol: str, series: Bars) -> tuple[Bar, ...]:
    return tuple(_each_bar(symbol, series))


@lru_cache(maxsize=8)
def _begun(series: Bars, tick: float, step: float, path: ExtremeOrder) -> dict[int, Any]:
    """Return what is shared by all runs over the same bars: those that one of them has begun. See `SymbolState`."""
    return {}


def _each_bar(symbol: str, series: Bars) -> Iterator[Bar]:
    columns = (series.opened, series.closed, series.open, series.high, series.low, series.close, series.volume)
    return map(Bar, repeat(symbol), *(values.tolist() for values in columns))
