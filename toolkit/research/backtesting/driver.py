"""Backtest: a strategy on bars, on the venue's own core in simulated time.

Orders go through the venue's rules: checks, margin, matching, fees, triggers, funding, liquidation. What bars don't
tell (the path inside a bar, liquidity, slippage, latency) are models that can be swapped.

The driver holds the data in its own frame and hands out one bar at a time, once it is complete: nothing that a strategy
can reach knows a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from random import Random
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ...errors import InputError
from ...products import Amount
from ...venue.engine.core import Core
from ...venue.model.constants import RATE
from ...venue.model.genesis import Genesis
from ..analysis.results import Results
from ..data.bars import Bars, read_bars
from ..strategy import Bar, Strategy, StrategyLike, as_strategy, overrides
from .broker import SimulatedBroker
from .build_results import build_results
from .context import DeskContext
from .listing import listings
from .models import BarLiquidity, ExtremeOrder, FixedLatency, Latency, Liquidity, Path, RatioSlippage, Slippage
from .symbol_state import SymbolState

T = TypeVar("T")
Funding = float | pd.Series | Mapping[str, Any] | None
Member = tuple[SymbolState, Bar]
Instant = tuple[int, Sequence[Member]]
"""A closing time, and the bars that close then."""


@dataclass(frozen=True)
class Models:
    """The assumptions of a backtest; see `models`."""

    path: Path = field(default_factory=ExtremeOrder)
    liquidity: Liquidity = field(default_factory=BarLiquidity)
    slippage: Slippage = field(default_factory=RatioSlippage)
    latency: Latency = field(default_factory=FixedLatency)


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
    latency: Latency | int | None = None,
    seed: int = 7,
    progress: bool = False,
    every_point: bool = False,
) -> Results:
    """Run `strategy` on `data` and return its Results.

    Parameters:
        strategy: a Strategy, or a function on_bar(ctx, bar); it is copied, so running it twice gives the same.
        data: bars of one or many symbols, in any shape `read_bars` takes. `interval`: their length.
        capital: USDC on the account at the start.
        products: symbol → Product or fields to change (tick_size, maker_fee_rate …); see `listing`.
        leverage: set for every symbol at the start (default: the venue's).
        fees: own (maker, taker) rates as ratios instead of the venue's with its volume tiers.
        funding: "interest" (the venue's formula at a premium of 0), a rate for each interval, a Series of rates over
            UTC times, a mapping symbol → any of these, or None for none. A settlement meets the position held before
            orders of the same instant; it is valued at the price of that instant.
        path, liquidity, slippage, latency: see `models`; a number is a slippage ratio, or a latency in ms.
        every_point: look at every point of every bar, also where nothing can happen; slower, with the same results.

    Timing: a bar is handed over when it closes. An order sent then arrives `latency` later, at the earliest with the
    next bar's open, and trades at the price of that moment, never at one from before it was sent: in a gap of its
    symbol it waits for the next price. Prices inside a bar move along `path`; resting orders,
    triggers and liquidations happen at their prices on the way. Open positions stay open at the end, at the last
    close; orders still under way then are dropped.

    Raises InputError for broken data or settings; errors of the strategy come through with the time as a note.
    """
    bars = read_bars(data, interval=interval)
    models = Models(
        path or ExtremeOrder(),
        liquidity or BarLiquidity(),
        RatioSlippage(float(slippage))
        if isinstance(slippage, int | float | np.number)
        else slippage or RatioSlippage(),
        FixedLatency(round(latency)) if isinstance(latency, int | float | np.number) else latency or FixedLatency(),
    )
    running = as_strategy(strategy)
    start = min(int(series.opened[0]) for series in bars.values())
    core = _core(bars, products, seed, start)
    lines = [SymbolState(core, core.products[code], symbol) for code, symbol in zip(core.products, bars, strict=True)]
    desk = SimulatedBroker(core, lines, models.liquidity, models.slippage, models.latency, Random(seed), running)
    desk.open_account(capital, leverage, fees)
    settlements = _settlements(core, bars, funding)
    ctx = DeskContext(desk, max(series.interval for series in bars.values()))
    desk.every_point = every_point
    end = _drive(desk, ctx, running, bars, settlements, models, progress)
    settings = {
        "seed": seed,
        "capital": str(capital),
        "funding": funding if isinstance(funding, str | float | int | None) else "given",
        **{name: repr(getattr(models, name)) for name in ("path", "liquidity", "slippage", "latency")},
    }
    return build_results(desk, ctx, running, bars, start, end, settings)


def _core(bars: Mapping[str, Bars], products: Mapping[str, Any] | None, seed: int, start: int) -> Core:
    """Return a core that lists the symbols and does nothing by itself: prices and funding come from the driver."""
    rows, tables = listings(bars, products)
    genesis = Genesis(seed=seed, time=start, products=rows, margin_tables=tables, prices={}, settings={"market": False})
    core = Core(genesis)
    core.state.schedule.clear()
    core.record_events(False)
    return core


def _settlements(core: Core, bars: Mapping[str, Bars], funding: Any) -> list[tuple[int, int, int]]:
    """Return (time, product code, mean premium that gives the rate) of every settlement, in order."""
    from ...venue.risk.funding import FINE, rate_of

    found = []
    for code, (symbol, series) in zip(core.products, bars.items(), strict=True):
        given = funding.get(symbol) if isinstance(funding, Mapping) else funding
        if given is None:
            continue
        product = core.products[code]
        first, last = int(series.opened[0]), int(series.closed[-1])
        if isinstance(given, pd.Series):
            times = pd.DatetimeIndex(pd.to_datetime(given.index, utc=True)).as_unit("ms").asi8.tolist()
            rates = [_rate(symbol, rate) for rate in given]
        else:
            every = product.funding_interval * 1000
            times = list(range(-(-first // every) * every, last, every))
            rates = [rate_of(core, code, 0) if given == "interest" else _rate(symbol, given)] * len(times)
        config = core.state.config
        for time, rate in zip(times, rates, strict=True):
            if not first <= time < last:
                continue
            if abs(rate) > config.funding_cap:
                raise InputError(f"{symbol}: funding rate {rate / RATE} is beyond the cap", field="funding", value=rate)
            drawn = rate * 8 * 3600 * (FINE // RATE) // product.funding_interval
            aim = drawn - config.interest * (FINE // RATE)
            reach = config.funding_clamp * (FINE // RATE)
            found.append((time, code, drawn + (reach if aim > 0 else -reach) if aim else 0))
    return sorted(found)


def _rate(symbol: str, given: Any) -> int:
    try:
        return round(float(given) * RATE)
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            f'{symbol}: funding {given!r} is no rate; give "interest", a number, a Series of numbers, or None',
            field="funding",
            value=str(given),
        ) from None


def _series(series: Bars) -> Iterator[Bar]:
    """Return the bars of one symbol, made one at a time."""
    columns = (series.opened, series.closed, series.open, series.high, series.low, series.close, series.volume)
    return map(Bar, repeat(series.symbol), *(values.tolist() for values in columns))


def _instants(desk: SimulatedBroker, bars: Mapping[str, Bars]) -> list[Instant]:
    """Return for each closing time the bars that close then, in the order of the symbols."""
    together: dict[int, list[Member]] = {}
    for line, series in zip(desk.lines.values(), bars.values(), strict=True):
        for bar in _series(series):
            together.setdefault(bar.closed, []).append((line, bar))
    return sorted(together.items())


def _check_ticks(line: SymbolState, series: Bars) -> None:
    if round(float(series.low.min()) / line.tick) < 1:
        raise InputError(
            f"{line.symbol}: a price is below one tick of {line.tick:g}; give the product a smaller tick_size",
            field="products",
            rule="tick_size",
        )


def _drive(
    desk: SimulatedBroker,
    ctx: DeskContext,
    strategy: Strategy,
    bars: Mapping[str, Bars],
    settlements: list[tuple[int, int, int]],
    models: Models,
    progress: bool,
) -> int:
    """Run the whole of the data; return the time of the last instant the strategy saw."""
    for line, series in zip(desk.lines.values(), bars.values(), strict=True):
        _check_ticks(line, series)
    settlements = settlements[::-1]
    with desk.noting():
        strategy.on_start(ctx)
        if ctx.stopped:
            desk.note("STOP", "", ctx.stopped)
        elif len(bars) == 1:
            (line,), (series,) = desk.lines.values(), bars.values()
            _drive_one(desk, ctx, strategy, line, _shown(_series(series), len(series), progress), settlements, models)
        else:
            instants = _instants(desk, bars)
            _drive_many(desk, ctx, strategy, _shown(instants, len(instants), progress), settlements, models)
    end = desk.now
    desk.settle_time()
    with desk.noting():
        strategy.on_stop(ctx)
    return end


def _drive_one(
    desk: SimulatedBroker,
    ctx: DeskContext,
    strategy: Strategy,
    line: SymbolState,
    bars: Iterable[Bar],
    settlements: list[tuple[int, int, int]],
    models: Models,
) -> None:
    """Go through the bars of a single symbol: as `_drive_many`, with the least work for each bar."""
    queue, history = desk.queue, line.history.append
    on_bar, books = strategy.on_bar, overrides(strategy, "on_book")
    due = _next_due(desk, settlements)
    for bar in bars:
        closed = bar.closed
        if queue or line.waiting or due < closed or bar.low <= line.floor or bar.high >= line.ceiling or desk.coupled:
            _walk(desk, ((line, bar),), closed, settlements, models.path)
            desk.keep(closed)
            due = _next_due(desk, settlements)
        desk.now = ctx.now = closed
        line.fresh = bar
        history(bar)
        if not ctx.stopped:
            on_bar(ctx, bar)
        if books and not ctx.stopped:
            strategy.on_book(ctx, desk.book(line))
        if ctx.stopped:
            desk.note("STOP", "", ctx.stopped)
            return


def _drive_many(
    desk: SimulatedBroker,
    ctx: DeskContext,
    strategy: Strategy,
    instants: Iterable[Instant],
    settlements: list[tuple[int, int, int]],
    models: Models,
) -> None:
    """Go through the closing times of several symbols; quiet bars are only handed over."""
    queue = desk.queue
    on_bar, books = strategy.on_bar, overrides(strategy, "on_book")
    due = _next_due(desk, settlements)
    for closed, members in instants:
        awake = bool(queue) or due < closed
        for line, bar in members:
            awake = awake or bool(line.waiting) or bar.low <= line.floor or bar.high >= line.ceiling
        if awake or (desk.coupled and not desk.safe(members)):
            _walk(desk, members, closed, settlements, models.path)
            desk.keep(closed)
            due = _next_due(desk, settlements)
        desk.now = ctx.now = closed
        for line, bar in members:
            line.fresh = bar
            line.history.append(bar)
        for line, bar in members:
            if not ctx.stopped:
                on_bar(ctx, bar)
            if books and not ctx.stopped:
                strategy.on_book(ctx, desk.book(line))
        if ctx.stopped:
            desk.note("STOP", "", ctx.stopped)
            return


def _next_due(desk: SimulatedBroker, settlements: list[tuple[int, int, int]]) -> int:
    """Return when something is due that needs no order or price of ours; at once when everything is looked at."""
    if desk.every_point:
        return -1
    return min(desk.due, settlements[-1][0]) if settlements else desk.due


def _shown(items: Iterable[T], total: int, progress: bool) -> Iterable[T]:
    if not progress:
        return items
    from tqdm.auto import tqdm

    shown: Iterable[T] = tqdm(items, desc="backtest", unit="bar", total=total)
    return shown


def _walk(
    desk: SimulatedBroker, members: Sequence[Member], closed: int, settlements: list[tuple[int, int, int]], path: Path
) -> None:
    """Move along the bars of one instant, point by point, with everything that happens on the way."""
    desk.freshen()
    points = []
    for line, bar in members:
        line.begin(bar, desk.liquidity)
        points += [(bar.time + offset, line, price) for offset, price in path.points(line.shape)]
    points.sort(key=lambda point: point[0])
    for time, line, price in points:
        _pass(desk, time, settlements)
        desk.move(line, price, time)
    _pass(desk, closed, settlements)
    desk.rewake()


def _pass(desk: SimulatedBroker, until: int, settlements: list[tuple[int, int, int]]) -> None:
    """Let everything due before `until` happen: settlements, then arrivals, by time."""
    while True:
        arrival = desk.next_arrival(until)
        if settlements and settlements[-1][0] < until and settlements[-1][0] <= arrival:
            time, code, mean = settlements.pop()
            desk.settle_funding(code, mean, time)
        elif arrival < until:
            desk.arrive()
        else:
            return
