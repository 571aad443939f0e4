"""Backtest: a strategy on bars, on the venue's own core in simulated time.

Orders go through the venue's rules: checks, margin, matching, fees, triggers, funding, liquidation. What bars don't
show (the path inside a bar, liquidity, slippage, latency) are models that can be replaced.

The driver holds the data in its own frame and hands out one bar at a time, once it is complete: a strategy can reach
no later one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np
import pandas as pd
from msgspec import structs

from ...errors import InputError
from ...interchange import to_pandas
from ...products import Amount
from ...suggestions import check_known
from ...venue.engine.core import Core
from ...venue.model.genesis import Genesis
from ..analysis.recipes import repeatable
from ..analysis.results import Results
from ..data.bars import Bars, ExtremeOrder, Path, read_bars
from ..market_data import Bar, BarHistory
from ..strategy import StrategyLike, as_strategy, overrides
from .broker import SimulatedBroker
from .build_results import build_results
from .context import BacktestContext
from .events.driver import EventSettings, backtest_events, events_by_symbol
from .funding_schedule import funding_schedule, predicted_rates
from .listing import listings, product_fields
from .models import BarLiquidity, FixedLatency, Latency, Liquidity, RatioSlippage, Slippage
from .symbol_state import SymbolState

T = TypeVar("T")
Funding = float | pd.Series | pd.DataFrame | Mapping[str, Any] | None
Member = tuple[SymbolState, Bar]
Feed = tuple[Callable[[float], None], Iterator[float]]
"""What adds a value to an indicator, and the values to come."""


@repeatable
def backtest(
    strategy: StrategyLike,
    data: Any,
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
    **recorded: Unpack[EventSettings],
) -> Results:
    """Run `strategy` on `data` and return its Results.

    Parameters:
        strategy: a Strategy, or a function on_bar(ctx, bar); it is copied, so running it twice gives the same.
        data: bars of one or many symbols, in any shape `read_bars` accepts (`interval`: their length); or a mapping
            symbol → Events of `data.load`, which call on_book, on_trade and on_timer: see `backtest_events`.
        capital: USDC in the account at the start.
        products: symbol → Product or fields to change (tick_size, maker_fee_rate …); see `listing`.
        leverage: set for every symbol at the start (default: the venue's).
        fees: (maker, taker) rates as ratios, in place of the venue's rates and volume tiers.
        funding: "interest" (the venue's formula at a premium of 0), a rate for each interval, a Series of rates over
            UTC times, a frame of rates as `data.load` returns it, a mapping symbol → any of these, or None for none.
            Recorded rates take the place of "interest". A settlement meets the position held before orders of the same
            instant; it is valued at the price of that instant.
        path, liquidity, slippage, latency: see `models`; a number is a slippage ratio, or a latency in ms.
        warm_up: number of first bars that the strategy receives without trading; the results begin after them.
        every_point: visit every point of every bar, also where nothing can happen; slower, with the same results.
        recorded: of runs on events; see `EventSettings`.

    Timing: a bar is handed over when it closes. An order sent then arrives `latency` later, at the next bar's open at
    the earliest, and trades at the price of that moment, never at one from before it was sent: in a gap of its symbol
    it waits for the next price. Prices inside a bar move along `path`; resting orders, triggers and liquidations happen
    at their prices on the way. Open positions stay open at the end, valued at the last close; orders still in flight
    are dropped.

    Raises InputError for invalid data or settings; errors of the strategy propagate with the time as a note.
    """
    common: dict[str, Any] = {"capital": capital, "products": products, "leverage": leverage, "fees": fees}
    common |= {"funding": to_pandas(funding, "funding"), "seed": seed}
    if recorded:
        own = [*inspect.signature(backtest).parameters][2:-1]
        check_known(recorded, [*own, *EventSettings.__annotations__], "backtest", "setting")
    data, latency = to_pandas(data), to_pandas(latency, "latency")
    events = events_by_symbol(data)
    if events is not None:
        given = {"interval": interval, "path": path, "liquidity": liquidity, "slippage": slippage, "warm_up": warm_up}
        for name in [name for name, value in {**given, "every_point": every_point}.items() if value]:
            raise InputError(f"{name} is a setting of runs on bars, which events have not", field=name)
        return backtest_events(strategy, events, _core, latency=latency, progress=progress, **common, **recorded)
    if recorded:
        raise InputError(f"{next(iter(recorded))} is a setting of runs on events, not on bars", field="data")
    models = _Models(path, liquidity, slippage, latency)
    bars = read_bars(data, interval=interval)
    return _backtest_bars(strategy, bars, models, progress, every_point, warm_up, **common)


class _Models(NamedTuple):
    """The models of a run on bars as they were given, None for the default."""

    path: Path | None
    liquidity: Liquidity | None
    slippage: Slippage | float | None
    latency: Latency | int | None


def _backtest_bars(
    strategy: StrategyLike,
    bars: dict[str, Bars],
    models: _Models,
    progress: bool,
    every_point: bool,
    warm_up: int,
    *,
    capital: Amount,
    products: Mapping[str, Any] | None,
    leverage: Amount | None,
    fees: tuple[Amount, Amount] | None,
    funding: Funding | str,
    seed: int,
) -> Results:
    path, liquidity, slippage, latency = models
    if slippage is None or isinstance(slippage, int | float | np.number):
        slippage = RatioSlippage(float(slippage or 0.0))
    if latency is None or isinstance(latency, int | float | np.number):
        latency = FixedLatency(round(latency or 0))
    path, liquidity = path or ExtremeOrder(), liquidity or BarLiquidity()
    start = min(int(series.opened[0]) for series in bars.values())
    warm_until = _warm_until(bars, warm_up)
    core = _core(bars, products, seed, start)
    states = [SymbolState(core, core.products[code], symbol) for code, symbol in zip(core.products, bars, strict=True)]
    broker = SimulatedBroker(core, states, liquidity, slippage, latency, Random(seed), as_strategy(strategy))
    broker.open_account(capital, leverage, fees)
    broker.matcher.every_point, broker.warm_until = every_point, warm_until
    BacktestContext(broker, max(series.interval for series in bars.values()))
    broker.settlements = funding_schedule(core, bars, funding)
    broker.predicted = predicted_rates(core, bars, funding)
    end = _Driver(broker, bars, path).run(progress)
    settings = {
        "interval": {symbol: _span_text(series.interval) for symbol, series in bars.items()},
        "products": {symbol: product_fields(state.product) for symbol, state in broker.states.items()},
        "path": repr(path),
        "liquidity": repr(liquidity),
        "slippage": repr(slippage),
        "latency": repr(latency),
    }
    return build_results(broker, bars, max(start, warm_until), end, settings)


@lru_cache(maxsize=16)
def _span_text(span_ms: int) -> str:
    """Return a length of time as text."""
    return str(pd.Timedelta(span_ms, unit="ms"))


def _warm_until(bars: Mapping[str, Bars], warm_up: int) -> int:
    """Return when the last bar closes that a strategy receives without trading, Unix ms; −1 when there is none."""
    closes = np.unique(np.concatenate([series.closed for series in bars.values()])) if warm_up else np.zeros(0)
    if warm_up < 0 or (warm_up and warm_up >= len(closes)):
        raise InputError(
            f"warm_up is {warm_up}; the data has {len(closes)} closing times, and one must be left to trade",
            field="warm_up",
            value=warm_up,
        )
    return int(closes[warm_up - 1]) if warm_up else -1


def _core(bars: Mapping[str, Bars], products: Mapping[str, Any] | None, seed: int, start: int) -> Core:
    """Return a core that lists the symbols and schedules nothing: prices and funding come from the driver."""
    rows, tables = listings(bars, products)
    genesis = Genesis(seed=seed, time=start, products=rows, margin_tables=tables, prices={}, settings={"market": False})
    # What the LP vault takes over stays with it: sold at the mark, it would trade with orders that the bars decide.
    core = Core(structs.replace(genesis, config=structs.replace(genesis.config, lp_slice=0)))
    core.state.schedule.clear()
    core.record_events(False)
    return core


class _Driver:
    """Moves time through the bars: settlements, arrivals and prices in order, then the strategy at each close."""

    def __init__(self, broker: SimulatedBroker, bars: Mapping[str, Bars], path: Path) -> None:
        self.broker = broker
        self.matcher = broker.matcher
        self.series = list(zip(broker.states.values(), bars.values(), strict=True))
        self.path = path

    def run(self, progress: bool) -> int:
        """Run through all the data; return the time of the last instant the strategy saw, Unix ms."""
        for state, series in self.series:
            _check_ticks(state, series)
            if type(self.path) is ExtremeOrder and len(series) <= KEPT:
                state.begun = _begun(series, state.tick, state.step, self.path)
        self.broker.run(lambda: self._run_bars(progress))
        return self.matcher.now

    def _run_bars(self, progress: bool) -> None:
        """Run through the closing times; bars in which nothing can happen are only handed to the strategy."""
        broker, matcher, ctx, feeds = self.broker, self.matcher, self.broker.ctx, self._feeds()
        arrivals, on_bar, after = broker.arrivals, broker.strategy.on_bar, _after_bars(broker)
        due, coupled = self._next_due(), False
        for closed, members in self._instants(progress):
            busy: Any = arrivals or due < closed
            for state, bar in members:
                if bar.low <= state.floor_price or bar.high >= state.ceiling_price:
                    busy = True
            if busy or (coupled and not matcher.keeps_margin(members)):
                self._walk(members, closed)
                due, coupled = self._next_due(), matcher.coupled
            matcher.now = ctx.now = closed
            # All bars of an instant are in the histories before the strategy sees the first of them.
            for state, bar in members:
                state.unapplied, add = bar, state.add_bar
                add(bar)
            if feeds:
                for state, _ in members:
                    for push, values in feeds.get(state.symbol, ()):
                        push(next(values))
            for _, bar in members:
                if not ctx.stopped:
                    if ctx._trailing:
                        ctx._follow_bar(bar)
                    on_bar(ctx, bar)
            if after is not None:
                after([bar for _, bar in members])
            if ctx.stopped:
                return

    def _feeds(self) -> dict[str, list[Feed]]:
        """Return the values to come of the precomputed indicators, by symbol.

        They stay with the driver: an indicator has only those up to now.
        """
        feeds: dict[str, list[Feed]] = {}
        for computed in self.broker.ctx._precomputed:
            series = next(series for state, series in self.series if state.symbol == computed.symbol)
            whole, part = BarHistory(series.symbol), BarHistory(series.symbol)
            for number, bar in enumerate(_bars_of(series)):
                whole.append(bar)
                if number < len(series) * 2 // 3:
                    part.append(bar)
            feeds.setdefault(computed.symbol, []).extend(computed.feeds(whole, part))
        return feeds

    def _instants(self, progress: bool) -> Iterable[tuple[int, Sequence[Member]]]:
        """Return each closing time with the bars that close then, in the order of the symbols."""
        if len(self.series) == 1:
            ((state, series),) = self.series
            members = zip(zip(repeat(state), _bars_of(series), strict=False), strict=True)
            return _with_progress(zip(series.closed.tolist(), members, strict=True), len(series), progress)
        instants: dict[int, list[Member]] = {}
        for state, series in self.series:
            for bar in _bars_of(series):
                instants.setdefault(bar.closed, []).append((state, bar))
        return _with_progress(sorted(instants.items()), len(instants), progress)

    def _next_due(self) -> int:
        """Return the time of the next event that depends on no order or price; −1 when every point is visited."""
        if self.matcher.every_point:
            return -1
        due, settlements = self.matcher.due, self.broker.settlements
        return min(due, settlements[-1].time) if settlements else due

    def _walk(self, members: Sequence[Member], closed: int) -> None:
        """Move along the paths of bars that close at one time, up to where nothing more can happen in them."""
        broker, matcher = self.broker, self.matcher
        arrivals, settlements = broker.arrivals, broker.settlements
        matcher.apply_closes()
        points = []
        for state, bar in members:
            begun = state.begin_bar(bar, matcher.liquidity, self.path)
            points += [(bar.time + offset, state, price) for offset, price in begun]
        if len(members) > 1:
            points.sort(key=itemgetter(0))
        for time, state, price in points:
            if (arrivals and arrivals[0].time < time) or (settlements and settlements[-1].time < time):
                broker.process_until(time)
            if state.started and not arrivals and self._is_quiet(members, closed):
                for last, moved, _ in points:
                    moved.priced_ms = last
                break
            state.priced_ms = time
            if state.waiting:
                broker.release_waiting(state)
            matcher.move_price(state, price, time)
        else:
            broker.process_until(closed)
            matcher.update_wake_prices()
        broker.record_balances(closed)

    def _is_quiet(self, members: Sequence[Member], closed: int) -> bool:
        """Return whether nothing more can happen in these bars, so that their closes are their prices."""
        if self.matcher.stale:
            self.matcher.update_wake_prices()
        if self.matcher.coupled or self._next_due() < closed:
            return False
        for state, bar in members:
            if not state.started or state.waiting or bar.low <= state.floor_price or bar.high >= state.ceiling_price:
                return False
        return True


def _after_bars(broker: SimulatedBroker) -> Callable[[Sequence[Bar]], None] | None:
    """Return what follows the on_bar calls of an instant: on_bars and on_book; None when the strategy has neither."""
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
                    strategy.on_book(ctx, broker.book_snapshot(broker.states[bar.symbol]))

    return call if wants_all or wants_books else None


def _bars_of(series: Bars) -> Iterable[Bar]:
    """Return the bars of one symbol: a few are kept for the next point of a sweep, many are made one at a time."""
    return _kept_bars(series) if len(series) <= KEPT else _each_bar(series)


KEPT = 4_096
"""Most bars of a symbol that are kept, which saves a sweep over few of them a tenth of its time."""


@lru_cache(maxsize=8)
def _kept_bars(series: Bars) -> tuple[Bar, ...]:
    return tuple(_each_bar(series))


@lru_cache(maxsize=8)
def _begun(series: Bars, tick: float, step: float, path: ExtremeOrder) -> dict[int, Any]:
    """Return what is shared by all runs over the same bars: those that one of them has begun; see `SymbolState`."""
    return {}


def _each_bar(series: Bars) -> Iterator[Bar]:
    columns = (series.opened, series.closed, series.open, series.high, series.low, series.close, series.volume)
    return map(Bar, repeat(series.symbol), *(values.tolist() for values in columns))


def _check_ticks(state: SymbolState, series: Bars) -> None:
    if state.to_ticks(float(series.low.min())) < 1:
        raise InputError(
            f"{state.symbol}: a price is below one tick of {state.tick:g}; give the product a smaller tick_size",
            field="products",
            rule="tick_size",
        )


def _with_progress(items: Iterable[T], total: int, progress: bool) -> Iterable[T]:
    if not progress:
        return items
    from tqdm.auto import tqdm

    shown: Iterable[T] = tqdm(items, desc="backtest", unit="bar", total=total)
    return shown
