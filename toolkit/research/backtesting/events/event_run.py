"""Backtest on events: moves time through recorded books and trades, an account's orders among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from heapq import heappop
from random import Random
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from ....errors import InputError
from ....numerals import span_ns
from ....venue.engine.core import Core
from ....venue.model.genesis import default_products
from ....venue.simulation.queues import EXAMPLES, QueueModel, queue_model
from ...analysis.results import Results
from ...data.bars import Bars
from ...data.event_array import MS, EventArray, Kind, refuse_inverse
from ...data.event_files import EventFiles, Summary, holds_events, summary_of
from ...data.events import Events
from ...data.order_books import as_levels, feed_times, has_levels, has_single_orders, with_levels
from ...market_data import Trade
from ...strategy import StrategyLike, as_strategy, overrides, timer_call
from ..backtest_context import BacktestContext
from ..bar_matching import ReceivedBars, SymbolState
from ..broker import RunSettings
from ..funding_schedule import FundingSettlement, Gap, constant_rate, funding_schedule
from ..listing import FIELDS, make_core
from ..run_source import build_results, doubts_of
from .event_bars import EventBars
from .event_broker import FEED_TURN, EventBroker, Impact
from .market_windows import MarketWindows
from .recorded_market import FAR, HistoricalMarket
from .request_latency import request_latency

EXACT = "exact"
POINTS = 10_000
"""Most rows of the equity curve."""
MOST_TOO_LATE = 0.01
"""Share of events that may be received too late, as after a feed that stopped for a while."""
CHUNK = 65_536
"""Messages of the feed that are made ready at a time."""
Message = tuple[int, int, int, int, int, int]
"""A change of the book (0) or a trade (1): Unix ns, number of its symbol, which of the two, ticks, steps, taker."""
FOR_STRATEGY = {"timer", "bars", "event", "refusal", "funding"}
"""Happenings at the strategy. The others are at the exchange."""
LAST: Message = FAR, 0, 0, 0, 0, 0


class EventSettings(TypedDict, total=False):
    """Settings of a backtest that only events have."""

    feed_latency: str | float | None
    """Delay of books and trades (a span like "10ms"), in place of the recorded one."""
    queue: str | QueueModel
    """The queue ahead of an order at its price: "risk-averse" (default), "power:2" (any power), "log", or a model.
    Events of single orders also allow "exact"."""
    partial_fills: bool
    """Fill only the part of an order that the trades have reached, not all of it (default: False)."""
    impact: str | float | bool | None
    """Time in which half of what we took from the recorded book is back (True: "10s"). None: it is never missing."""


def events_by_symbol(data: object) -> Mapping[str, Events | EventFiles] | None:
    """Return data as events by symbol, None when it is none.

    Parameters
    ----------
    data : object
        Data as the user gave it to `backtest`.

    Raises
    ------
    InputError
        For events mixed with others.
    """
    if isinstance(data, Events):
        return {data.symbol or "ASSET": data}
    if not isinstance(data, Mapping) or not any(map(holds_events, data.values())):
        return None
    # Bars and events of one run would have different clocks: a bar shows its prices only at the close.
    if not all(map(holds_events, data.values())):
        raise InputError("some symbols have events and some have bars. Give all the same kind", field="data")
    return {name: EventFiles(name, part) if isinstance(part, list | tuple) else part for name, part in data.items()}


def backtest_events(
    strategy: StrategyLike,
    data: Mapping[str, Events | EventFiles],
    settings: RunSettings,
    latency: object,
    progress: bool,
    interval: str | pd.Timedelta | None = None,
    *,
    feed_latency: str | float | None = None,
    queue: str | QueueModel = "risk-averse",
    partial_fills: bool = False,
    impact: str | float | bool | None = None,
) -> Results:
    """Run a strategy on events and return its Results.

    The recorded book and trades are the market, which does not react. Books and trades reach the strategy with their
    recorded delay. A strategy with `on_bar` or `on_bars` receives bars of the trades once their last trade has reached
    it. Bars without trades are flat. Prices for margin, liquidation and funding are the recorded mark and index, else
    the mid, every 3 s. Mids value the equity curve.

    Parameters
    ----------
    strategy : Strategy, class, callable or mapping
        A Strategy, or functions, as in `backtest`.
    data : mapping of str to Events or EventFiles
        Events of each symbol, loaded or in files.
    settings : RunSettings
        Settings that runs on bars have too.
    latency : str, timedelta, tuple, DataFrame, Latency or None
        A pair of spans such as "10ms", for a request and its answer, or one span for both ways. It may also be "feed"
        (the recorded delay of the feed each way) or a Latency model. A frame of measured requests (sent, arrived,
        answered) is interpolated.
    progress : bool
        True shows a progress bar.
    interval : str or Timedelta, optional
        Length of the bars, such as "1m" (default: "1m" if the strategy takes bars).
    feed_latency : str or float, optional
        Delay of books and trades, a span such as "10ms" (default: the recorded one).
    queue : str or QueueModel, optional
        Model of the queue ahead of an order at its price: "risk-averse" (default), "power:2" (any power), "log", or a
        model. Events of single orders also allow "exact".
    partial_fills : bool, optional
        True fills only the part of an order that the trades have reached (default: False).
    impact : str, float or bool, optional
        Time in which half of what we took from the recorded book is back, a span. True is "10s" (default: none, it is
        never missing).

    Raises
    ------
    InputError
        As `backtest` does.
    """
    wanted = as_strategy(strategy)
    _check_queue(queue, data)
    feed_ns = None if feed_latency is None else span_ns(feed_latency, "feed_latency")
    known = {name: part.summary if isinstance(part, EventFiles) else summary_of(part) for name, part in data.items()}
    # A delay of the feed that is given replaces the recorded one, which need not be plausible then.
    for symbol, summary in known.items() if feed_ns is None else ():
        _check_delays(symbol, summary)
    spans = {symbol: _span(symbol, summary) for symbol, summary in known.items()}
    start = min(int(span.opened[0]) for span in spans.values())
    core = make_core(spans, _products(known, settings.products), settings.seed, start)
    states, markets, received, windows = [], {}, ReceivedBars(data), dict[int, MarketWindows]()
    for code, (symbol, events) in zip(core.products, data.items(), strict=True):
        state = SymbolState(core, core.products[code], symbol, received)
        # The logarithmic model is one of base units, so it needs the step of its product.
        model = None if queue == EXACT else queue_model(queue, state.step)
        states.append(state)
        if isinstance(events, EventFiles):
            # Files are never loaded as a whole. Loaded events keep their computed market for the next run.
            windows[code] = MarketWindows(events, _grid(state, events.summary.tick_size), feed_ns, model)
            markets[code] = windows[code].market
        else:
            markets[code] = _market(state, events, feed_ns).for_run(model)
    requests = request_latency(latency, next(iter(data.values())), Random(settings.seed))
    # True comes first: it is an int, and would be read as a span otherwise.
    half_life = "10s" if impact is True else impact
    recovery = Impact(None if half_life is None or half_life is False else span_ns(half_life, "impact"))
    broker = EventBroker(core, states, settings, wanted, markets, requests, recovery, partial_fills)
    # Only the times of the one bar are read here: settlements need to know when the data begins and ends.
    broker.funding = _funding(core, known, settings.funding)
    lacking = dict[str, list[Gap]]()
    broker.settlements = funding_schedule(core, spans, broker.funding, lacking)
    doubts = doubts_of(dict.fromkeys(spans, ()), lacking, refuse=settings.unproven == "refuse")
    run = _EventRun(broker, EventBars(wanted, interval, data, feed_ns), windows)
    broker.open_account(settings)
    run.run(progress)
    shown = {
        "seed": settings.seed,
        "capital": str(settings.capital),
        "funding": settings.funding if isinstance(settings.funding, str | float | int | None) else "given",
        "latency": repr(requests),
        "feed_latency": "recorded" if feed_ns is None else f"{feed_ns / MS:g} ms",
        "queue": queue if isinstance(queue, str) else repr(queue),
        "partial_fills": partial_fills,
        "impact": str(impact) if impact else None,
        **doubts,
    }
    marks = {curve.state.symbol: curve.bars() for curve in run.marks.values()}
    return build_results(broker, marks, int(next(iter(marks.values())).opened[0]), run.end_ns // MS + 1, shown)


class _EventRun:
    """Takes what happens next, in order of time: fills, requests, answers, the feed, timers, marks, settlements."""

    def __init__(self, broker: EventBroker, bars: EventBars, windows: Mapping[int, MarketWindows]) -> None:
        self.broker = broker
        self.bars = bars
        self.windows = windows
        self.next_window_ns = min([window.end_ns for window in windows.values()], default=FAR)
        self.ctx = BacktestContext(broker, bars.interval_ms)
        self.ctx.timer_ms = broker.strategy.timer_ms
        self.seen_ns = 0
        """When the client-side orders last saw the prices, Unix ns."""
        self.states = list(broker.states.values())
        # Built once: inspecting the signature at each call would take longer than the call.
        self.on_timer = timer_call(broker.strategy, self.ctx)
        ends = {code: windows.get(code, market) for code, market in broker.markets.items()}
        self.start_ns = min(each.first_ns for each in ends.values())
        self.end_ns = max(each.last_ns for each in ends.values())
        self.marks = {
            code: _MarkCurve(broker.by_code[code], broker.markets[code], each.first_ns, each.last_ns)
            for code, each in ends.items()
        }
        self.mark_ns = broker.core.state.config.price_interval * MS

    def run(self, progress: bool) -> None:
        """Run through all the data.

        Parameters
        ----------
        progress : bool
            True shows a progress bar.
        """
        broker = self.broker
        for state in broker.states.values():
            # `on_start` may place orders and read prices, so they are set before the first event takes place.
            broker.set_prices(state, broker.markets[state.code].first_priced)
        broker.advance_ns(self.start_ns)
        self._at(self.start_ns)
        broker.run(lambda: self._run_all(progress))
        self._sample(FAR)

    def _sample(self, end_ns: int) -> None:
        """Take the prices of the equity curve before a time."""
        for code, curve in self.marks.items():
            curve.sample(self.broker.markets[code], end_ns)

    def _next_windows(self) -> Iterator[Message]:
        """Read the next file of the markets whose window has ended. Return the feed from there on."""
        # Windows of several products may end at different times. Only those that end now continue with their next file.
        time, broker = self.next_window_ns, self.broker
        # Before the windows move on: the market of the old one alone knows the prices before this time.
        self._sample(time)
        for code, window in self.windows.items():
            if window.end_ns == time:
                orders = broker.account.orders
                # Orders keep their place in the queue across files, as they do on the exchange.
                resting = [entry for key, entry in broker.resting.items() if orders[key].product == code]
                broker.markets[code] = window.advance(resting)
        # A search in the old window says nothing about the new one.
        broker.look_ns = 0
        self.next_window_ns = min(window.end_ns for window in self.windows.values())
        return _feed(broker, time, self.next_window_ns)

    def _run_all(self, progress: bool) -> None:
        broker, ctx, happenings, settlements = self.broker, self.ctx, self.broker.happenings, self.broker.settlements
        # A timer that no strategy reads would be the most frequent event of the whole run.
        if overrides(broker.strategy, "on_timer"):
            broker.schedule(self.start_ns + round(ctx.timer_ms * MS), "timer", None)
        broker.schedule((self.start_ns // self.mark_ns + 1) * self.mark_ns, "mark", None)
        self.bars.schedule(broker)
        feed = _feed(broker, 0, self.next_window_ns)
        message = next(feed, LAST)
        bar = None
        if progress:
            from tqdm.auto import tqdm

            form = "{l_bar}{bar}| {elapsed}<{remaining}"
            bar = tqdm(desc="backtest", total=self.end_ns - self.start_ns, bar_format=form)
        while not ctx.stopped:
            # At one instant the order is: fills by recorded trades, settlements, marks, requests, answers, the feed,
            # bars, timers.
            due, received = happenings[0][0], message[0]  # the next mark is always among them
            seen = self._next_price() if ctx._clients else FAR
            time = min(
                due, received, seen, settlements[-1].time * MS if settlements else FAR, self.end_ns, self.next_window_ns
            )
            if broker.account.waiting:  # a waiting trigger must see the next trade
                time = min(time, *(market.next_trade(broker.now_ns) for market in broker.markets.values()))
            # Fills first: everything else at this instant may depend on the position.
            if broker.resting and broker.look_ns <= time:
                filled = broker.next_fill(time)
                if filled is not None:
                    broker.fill(*filled)
                    continue
            if time >= self.next_window_ns:  # all that took place before it has been processed
                feed = self._next_windows()
                message = next(feed, LAST)
                continue
            if time >= self.end_ns and min(due, received, seen) > self.end_ns:
                break
            if settlements and settlements[-1].time * MS <= time:
                self._settle(settlements.pop())
            # Tuples compare by time, then by turn: at one instant requests and answers precede the feed, bars and
            # timers follow.
            elif due <= time and happenings[0] < (min(received, seen), FEED_TURN):
                _, _, _, kind, payload = heappop(happenings)
                self._process(due, kind, payload)
            elif seen <= time:
                self._see_prices(seen)
            elif received <= time:
                self._at(received)
                self._deliver(*message[1:])
                message = next(feed, LAST)
            else:
                self._see_trade(time)
            if bar is not None:
                bar.update(time - self.start_ns - bar.n)
        if bar is not None:
            bar.close()

    def _next_price(self) -> int:
        """Return when the strategy next receives a book that its client-side orders watch, or one of them is due."""
        self.seen_ns = max(self.seen_ns, self.broker.local_ns - 1)
        received = [market.next_received(self.seen_ns) for market in self.broker.markets.values()]
        return min(
            [*received, *(max(order.kept.at * MS, self.seen_ns + 1) for order in self.ctx._clients if order.scheduled)]
        )

    def _see_prices(self, time_ns: int) -> None:
        """Show the books of an instant to the client-side orders, before the strategy sees them."""
        self.seen_ns = time_ns
        self._at(time_ns)
        for state in self.states:
            price = self.broker.price(state)
            if price == price:
                self.ctx._watch(state.symbol, price)

    def _deliver(self, number: int, is_trade: int, price: int, steps: int, side: int) -> None:
        """Hand a change of the book or a trade to the strategy."""
        broker, ctx = self.broker, self.ctx
        state = self.states[number]
        if not is_trade:
            broker.strategy.on_book(ctx, broker.book(state))
            return
        (tick, per_tick), (step, per_step) = state.tick_ratio, state.step_ratio
        amounts = price * tick / per_tick, steps * step / per_step
        broker.strategy.on_trade(ctx, Trade(state.symbol, ctx.now, "BUY" if side > 0 else "SELL", *amounts))

    def _at(self, time_ns: int) -> None:
        self.broker.local_ns, self.ctx.now = time_ns, time_ns // MS

    def _process(self, time_ns: int, kind: str, payload: Any) -> None:
        broker = self.broker
        if kind in FOR_STRATEGY:
            self._at(time_ns)
        if kind == "timer":
            self.on_timer()
            broker.schedule(time_ns + round(self.ctx.timer_ms * MS), "timer", None)
        elif kind == "bars":
            self.bars.deliver(broker, payload)
        elif kind == "event":
            broker.deliver_order_event(payload)
        elif kind == "refusal":
            broker.deliver_refusal(*payload)
        elif kind == "funding":
            broker.deliver_payment(payload)
        elif kind == "mark":
            self._mark(time_ns)
            broker.schedule(time_ns + self.mark_ns, "mark", None)
        else:
            state, what = payload
            broker.advance_ns(time_ns)
            broker.process_request(state, kind, what)

    def _mark(self, time_ns: int) -> None:
        """Set the prices of all symbols, and let triggers and liquidations follow."""
        broker = self.broker
        broker.advance_ns(time_ns)
        for state in broker.states.values():
            broker.set_prices(state, broker.markets[state.code].rank_at(time_ns))
        broker.stale = True
        broker.settle_changes()
        broker.join_queues()
        broker.record_balances(time_ns // MS)

    def _settle(self, settlement: FundingSettlement) -> None:
        # A settlement values positions at the price of its instant, not at that of the last mark up to 3 s before.
        self._mark(max(settlement.time * MS, self.broker.now_ns))
        self.broker.settle_funding(settlement.code, settlement.premium, settlement.time)
        self.broker.record_balances(settlement.time)

    def _see_trade(self, time_ns: int) -> None:
        """Let waiting triggers see the trades of one instant."""
        broker = self.broker
        broker.advance_ns(time_ns)
        for state in broker.states.values():
            for price in broker.markets[state.code].trades_at(time_ns):
                state.market.last = price
                broker.core.triggers[state.code].see_trade(price)
                # Each trade alone: a trigger must see every price, not only the last of the instant.
                broker.settle_changes()
        broker.join_queues()


def _feed(broker: EventBroker, start_ns: int, end_ns: int) -> Iterator[Message]:
    """Yield the changes of books and the trades of a time that the strategy wants, by its own clock.

    At one instant: by symbol, the book before the trades. Several messages of the book are one change.
    """
    parts = [np.zeros((0, 6), dtype=np.int64)]
    for number, market in enumerate(broker.markets.values()):
        if overrides(broker.strategy, "on_book"):
            times = np.unique(market.feed.times)
            rest = np.zeros((len(times), 4), dtype=np.int64)
            parts.append(np.column_stack([times, np.full(len(times), number), rest]))
        if overrides(broker.strategy, "on_trade"):
            times, *trades = market.feed_trades
            parts.append(np.column_stack([times, np.full(len(times), number), np.ones(len(times), "int64"), *trades]))
    table = np.concatenate(parts).astype(np.int64)
    table = table[(table[:, 0] >= start_ns) & (table[:, 0] < end_ns)]
    # lexsort sorts by its last key first: time, then symbol, then the book before its trades.
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
    for first in range(0, len(table), CHUNK):  # not all together: as Python's numbers they take more memory
        yield from zip(*table[first : first + CHUNK].T.tolist(), strict=True)


def _check_queue(queue: str | QueueModel, data: Mapping[str, Events | EventFiles]) -> None:
    """Raise InputError for a queue model that is not known, and for "exact" where the orders are not."""
    if queue != EXACT:
        queue_model(queue, 1.0)
        return
    for symbol, events in data.items():
        if isinstance(events, EventFiles):
            raise InputError(f'{symbol}: queue "exact" needs loaded events. Give data.load(files)', field="queue")
        if not has_single_orders(events):
            text = (
                f'{symbol}: queue "exact" needs events of single orders (add, cancel, modify, fill with order ids),'
                f" and these have {', '.join(events.counts())}. Give {', '.join(EXAMPLES)}"
            )
            raise InputError(text, field="queue", rule="single orders", value=queue, nearest=EXAMPLES)


def _check_delays(symbol: str, summary: Summary) -> None:
    """Raise InputError for recorded delays that are impossible."""
    if (share := summary.late) > MOST_TOO_LATE:
        text = f"{symbol}: {share:.0%} of the events were received more than a minute after they happened"
        text += ', so the recorder\'s clock was wrong. Give feed_latency="10ms", or what your feed takes'
        raise InputError(text, field="feed_latency", rule="plausible delays", nearest=("10ms",))


def _span(symbol: str, summary: Summary) -> Bars:
    """Return one bar over all events, for what asks only when they begin and end, and in which prices."""
    refuse_inverse(summary.symbol or symbol, summary.exchange)
    if not (has_levels(summary.kinds) or {Kind.QUOTE, Kind.ADD} & summary.kinds):
        text = f"{symbol}: the events have no order book. Load its files together with the trades, as a list"
        raise InputError(text, field="data", rule="a book")
    start, end = summary.exchange_ns[0] // MS, max(summary.exchange_ns[1], summary.local_ns[1]) // MS + 1
    values = dict(zip(("open", "high", "low", "close"), np.array(summary.prices)[:, None], strict=True))
    return Bars(symbol, end - start, np.array([start]), **values, volume=np.zeros(1))


def _products(data: Mapping[str, Summary], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what is listed of each symbol: what is given, with the recording's steps where the venue's are coarser."""
    # The venue's steps are used if the recording fits them, so that a strategy runs the same on paper.
    known = {
        row["symbol"]: (Decimal(row[FIELDS["tick_size"]]), Decimal(row[FIELDS["step_size"]]))
        for row in default_products()
    }
    found: dict[str, Any] = dict(given or {})
    for symbol, events in data.items():
        wanted = found.get(symbol)
        if wanted is not None and not isinstance(wanted, Mapping):
            continue
        tick, step = known.get(symbol, (events.tick_size, events.step_size))
        tick = tick if not events.tick_size % tick else events.tick_size
        # money is exact to 0.000001, so a very fine tick needs a coarser step
        step = max(step if not events.step_size % step else events.step_size, Decimal("0.000001") / tick)
        found[symbol] = {"tick_size": tick, "step_size": step, **(wanted or {})}
    return found


def _grid(state: SymbolState, tick_size: Decimal) -> dict[str, Any]:
    """Return tick and step of a product. Raises InputError when prices are not multiples of its tick."""
    tick, step = state.product.tick_size, state.product.step_size
    if tick_size % tick:
        text = (
            f"{state.symbol}: prices of the events are multiples of {tick_size}, which is not a multiple of its"
            f" tick_size {tick}"
        )
        raise InputError(text, field="products", rule="tick_size", value=str(tick))
    return {"tick_size": tick, "step_size": step}


def _market(state: SymbolState, events: Events, feed_ns: int | None) -> HistoricalMarket:
    """Return the market of a recording on the grid of its product, computed once."""
    grid = _grid(state, events.tick_size)
    key = "market", *grid.values(), feed_ns
    if key not in events.cache:
        gridded = EventArray(events.array, symbol=state.symbol, **grid)
        gridded, fills = with_levels(gridded) if has_single_orders(events) else (as_levels(gridded), None)
        array = gridded.array
        received = feed_times(gridded) if feed_ns is None else array["exchange_ns"] + feed_ns
        events.cache[key] = HistoricalMarket(gridded, received, fills)
    found: HistoricalMarket = events.cache[key]
    return found


def _funding(core: Core, data: Mapping[str, Summary], given: object) -> Any:
    """Return the funding of each symbol: as given, else the recorded rates where there are some."""
    if not isinstance(given, str) or given != "interest":
        return given
    products = zip(core.products.values(), data.items(), strict=True)
    return {symbol: _recorded_rates(part, product.funding_interval * 1000) for product, (symbol, part) in products}


def _recorded_rates(summary: Summary, interval_ms: int) -> Any:
    """Return the rate of each settlement: the last that was recorded before it, else the venue's for no premium."""
    recorded, rates = summary.rates
    if not len(rates):
        return "interest"
    start, end = (time // MS for time in summary.exchange_ns)
    times = np.arange(start // interval_ms * interval_ms, end + interval_ms, interval_ms)
    # A rate recorded at the settlement itself is known by then.
    places = np.searchsorted(recorded, times * MS, side="right") - 1
    values = np.where(places < 0, constant_rate(summary.symbol, "interest", interval_ms / 3_600_000), rates[places])
    return pd.Series(values, index=pd.to_datetime(times, unit="ms", utc=True))


class _MarkCurve:
    """The mid prices at the points of the equity curve, as closes of bars."""

    def __init__(self, state: SymbolState, market: HistoricalMarket, start_ns: int, end_ns: int) -> None:
        start, end = start_ns // MS, end_ns // MS + 1
        self.state = state
        # At least a second: finer points would show the same mids again.
        self.interval = max(1000, -(-(end - start) // POINTS))
        self.opened = np.arange(start, end, self.interval, dtype=np.int64)
        self.closes: list[int] = []
        self.first = market.marks_at(market.first_priced)[0]

    def sample(self, market: HistoricalMarket, end_ns: int) -> None:
        """Add the points before a time from the market of then.

        Parameters
        ----------
        market : HistoricalMarket
            Market of the present window.
        end_ns : int
            Time before which the points are, Unix ns.
        """
        for time in ((self.opened[len(self.closes) :] + self.interval) * MS).tolist():
            if time >= end_ns:
                return
            self.closes.append(market.marks_at(market.rank_at(time))[0])

    def bars(self) -> Bars:
        """Return what was sampled, without a price yet the first one."""
        closes = np.array(self.closes, dtype=np.float64)
        closes[closes == 0] = self.first
        closes *= self.state.tick
        return Bars(
            self.state.symbol, self.interval, self.opened, closes, closes, closes, closes, np.zeros(len(closes))
        )
