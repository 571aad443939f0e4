"""One quoting strategy, here and compiled for hftbacktest, whose fills are compared one by one.

`Quoting` says what it does: quotes at best prices or a grid, amended or cancelled, through the spread (refused as
POST_ONLY), with market orders among them. `peer` runs the same with hftbacktest (2.4).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from toolkit.research import Strategy, backtest
from toolkit.research.data.event_array import MS, Kind
from toolkit.research.data.order_books import feed_times

from . import processor_seconds

EVERY_MS = 100
MOST = 0.1
"""Largest position at which the strategy still adds to it, base units."""
NEAR = 50
"""Ticks within which the book must have twice a market order: further than 100 ticks hftbacktest's does not walk."""
END_MS = 2_000
"""No request is sent in the last part of the events, so that all are answered."""
Rows = list[tuple[int, int, int]]
"""Fills of one order that arrived at one instant, sorted: (Unix ms, signed steps, last price in ticks)."""


class Quoting(NamedTuple):
    """Settings of the strategy. Distances are in ticks.

    Parameters
    ----------
    levels : int, optional
        Orders on each side (default: 1).
    spacing : int, optional
        Distance between two levels (default: 1).
    inside : int, optional
        Distance of the first level from the best price. Above 0 only bids are placed (default: 0).
    amends : bool, optional
        Whether orders are amended in place of replaced (default: False).
    market : float, optional
        Quantity of its market orders in base units (default: 0, there are none).
    size : float, optional
        Quantity of an order in base units (default: 0.01).
    partial : bool, optional
        Whether orders are filled in parts (default: False).
    queue : str, optional
        Model of the queue (default: "risk-averse").
    """

    levels: int = 1
    spacing: int = 1
    inside: int = 0
    amends: bool = False
    market: float = 0.0
    size: float = 0.01
    partial: bool = False
    queue: str = "risk-averse"
    latency: Any = (10 * MS, 10 * MS)
    """A pair of ns, there and back, or measured requests: rows of the times sent, arrived and answered."""


def setups(events: Any, inside: int = -40, market: float = 0.05) -> dict[str, Quoting]:
    """Return the compared settings by name.

    Two cases in which the programs differ on purpose are left out. The venue's rules stop orders that would trade with
    the same account. The venue refuses an amendment through the spread, and the order stays.

    Parameters
    ----------
    events : Events
        Events of one product.
    inside : int, optional
        First distance of the amended grid in ticks, which keeps it from amendments through the spread (default: -40).
    market : float, optional
        Quantity of its market orders in base units (default: 0.05).
    """
    first, last = (int(time) for time in events.array["exchange_ns"][[0, -1]])
    random = np.random.default_rng(7)
    sent = np.linspace(first, last, 200).astype(np.int64)
    arrived = np.maximum.accumulate(sent + random.integers(MS, 40 * MS, len(sent)))
    answered = np.maximum.accumulate(arrived + random.integers(MS, 40 * MS, len(sent)))
    return {
        "best prices": Quoting(),
        "best prices, power:2, off whole ms": Quoting(queue="power:2", latency=(10_300_001, 7_777_777)),
        "best prices, log": Quoting(queue="log", latency=(50 * MS, 50 * MS)),
        "five levels": Quoting(levels=5, size=0.005),
        "five levels, amended": Quoting(levels=5, spacing=2, inside=inside, amends=True),
        "five levels, measured latency": Quoting(levels=5, latency=np.column_stack([sent, arrived, answered])),
        "inside the spread, refused": Quoting(levels=2, inside=1),
        "market orders through the book": Quoting(levels=0, market=market, partial=True),
        "best prices, in parts": Quoting(size=0.03, partial=True),
    }


class Quoter(Strategy):
    """Keeps one order a level on both sides, and each fifth decision moves those that are not where they should be.

    Parameters
    ----------
    setup : Quoting
        Settings of the strategy.
    end_ms : int
        When it stops to quote, Unix ms.
    """

    timer_ms = EVERY_MS

    def __init__(self, setup: Quoting, end_ms: int) -> None:
        self.setup, self.end_ms = setup, end_ms
        self.count = 0
        self.slots: dict[tuple[int, int], list[Any]] = {}
        self.received: dict[tuple[int, int], tuple[int, int]] = {}

    def on_start(self, ctx: Any) -> None:
        """Set the timer of the decisions.

        Parameters
        ----------
        ctx : Context
            Context of the run.
        """
        self.symbol = ctx.symbols[0]
        self.product = ctx.product(self.symbol)
        self.tick, self.step = float(self.product.tick_size), float(self.product.step_size)

    def on_fill(self, ctx: Any, fill: Any) -> None:
        """Keep what arrives of an order at one instant as one row.

        Parameters
        ----------
        ctx : Context
            Context of the run.
        fill : Fill
            Fill of one of its orders.
        """
        key = ctx.now, fill.order_id
        steps = round(fill.quantity / self.step) * (1 if fill.side == "BUY" else -1)
        total = self.received.get(key, (0, 0))[0] + steps
        self.received[key] = total, round(fill.price / self.tick)

    def on_timer(self, ctx: Any) -> None:
        """Decide what to quote.

        Parameters
        ----------
        ctx : Context
            Context of the run.
        """
        setup, book = self.setup, ctx.book()
        self.count += 1
        if not (book.bids and book.asks) or ctx.now > self.end_ms:
            return
        position = ctx.position(self.symbol)
        if setup.market and self.count % 11 == 0:
            deep, sells = ctx.book(depth=NEAR), position > 1e-9
            send, levels = (ctx.sell, deep.bids) if sells else (ctx.buy, deep.asks)
            near = [total for price, total in levels if abs(price - levels[0][0]) < (NEAR - 0.5) * self.tick]
            if sum(near) > 2 * setup.market + 1e-9:
                send(self.symbol, f"{setup.market:g}")
        for side, best in ((1, book.bids[0][0]), (-1, book.asks[0][0])):
            if position * side > MOST - 1e-9 or (setup.inside > 0 > side):
                continue
            nearest = round(best / self.tick) + side * setup.inside
            for level in range(setup.levels):
                self.keep(ctx, side, level, nearest - side * level * setup.spacing)

    def keep(self, ctx: Any, side: int, level: int, wanted: int) -> None:
        """Place, amend or cancel the order of one level.

        Parameters
        ----------
        ctx : Context
            Context of the run.
        side : int
            +1 for bids, -1 for asks.
        level : int
            Number of the level, from 0 on.
        wanted : int
            Its price in ticks.
        """
        setup, slot = self.setup, self.slots.get((side, level))
        if slot is None or slot[0].done:
            send, price = ctx.buy if side > 0 else ctx.sell, self.product.tick_size * wanted
            order = send(self.symbol, f"{setup.size:g}", price, tif="POST_ONLY")
            self.slots[side, level] = [order, wanted, setup.size]
        elif self.count % 5:
            return
        elif slot[1] == wanted:
            if setup.amends and slot[2] == setup.size and self.count % 15 == 0:
                slot[2] = setup.size / 2
                ctx.modify(slot[0], quantity=f"{slot[2]:g}")
        elif setup.amends:
            slot[1] = wanted
            ctx.modify(slot[0], price=self.product.tick_size * wanted)
        else:
            ctx.cancel(slot[0])


def ours(events: Any, setup: Quoting) -> tuple[Rows, float]:
    """Return what the strategy received here, and seconds of processor time.

    Parameters
    ----------
    events : Events
        Events of one product.
    setup : Quoting
        Settings of the strategy.
    """
    import pandas as pd

    latency: Any = tuple(f"{each}ns" for each in setup.latency)
    if isinstance(setup.latency, np.ndarray):
        times = [pd.to_datetime(column, utc=True) for column in setup.latency.T]
        latency = pd.DataFrame(dict(zip(("sent", "arrived", "answered"), times, strict=True)))
    found: list[Quoter] = []

    class Run(Quoter):
        def on_stop(self, ctx: Any) -> None:
            found.append(self)

    strategy = Run(setup, _end_ns(events) // MS)
    settings: dict[str, Any] = {"queue": setup.queue, "partial_fills": setup.partial, "capital": 10_000_000}
    spent = processor_seconds(
        lambda: backtest(strategy, {events.symbol: events}, latency=latency, funding=None, **settings)
    )
    return sorted((time, *row) for (time, _), row in found[0].received.items()), spent


def _end_ns(events: Any) -> int:
    return int(events.array["exchange_ns"].max()) - END_MS * MS


def array_of(events: Any) -> Any:
    """Return events in hftbacktest's form, each for the clock of the exchange and of the recorder.

    Parameters
    ----------
    events : Events
        Events of one product.
    """
    import hftbacktest as hft
    from hftbacktest.data import correct_event_order

    kinds = {Kind.DEPTH: hft.DEPTH_EVENT, Kind.TRADE: hft.TRADE_EVENT, Kind.CLEAR: hft.DEPTH_CLEAR_EVENT,
             Kind.SNAPSHOT: hft.DEPTH_SNAPSHOT_EVENT}  # fmt: skip
    array = events.array[np.isin(events.array["kind"], list(kinds))]
    local = feed_times(events[:])
    local = local[np.isin(events.array["kind"], list(kinds))]
    sides = (1, -1)
    both = (array["kind"] == Kind.CLEAR) & (array["side"] == 0)  # theirs is of one side
    rows = np.concatenate([np.flatnonzero(~both), *[np.flatnonzero(both)] * 2])
    side = np.concatenate([array["side"][~both], *[np.full(int(both.sum()), one) for one in sides]])
    order = np.argsort(rows, kind="stable")
    rows, side = rows[order], side[order]
    made = np.zeros(len(rows), dtype=hft.types.event_dtype)
    codes = np.vectorize(kinds.get)(array["kind"][rows])
    made["ev"] = codes | np.where(side > 0, hft.BUY_EVENT, hft.SELL_EVENT)
    made["exch_ts"], made["local_ts"] = array["exchange_ns"][rows], local[rows]
    made["px"], made["qty"] = array["price"][rows], array["quantity"][rows]
    whole = (array["kind"][rows] == Kind.CLEAR) & (made["px"] == 0)
    made["px"][whole & (side < 0)] = array["price"].max(initial=0)  # they walk to it tick by tick
    by_exchange, by_local = (np.argsort(made[name], kind="stable") for name in ("exch_ts", "local_ts"))
    return correct_event_order(made, by_exchange, by_local)


def _decision(tick: float, end_ms: int) -> Callable[..., None]:
    """Return the compiled decision of the strategy."""
    import hftbacktest as hft
    import numba

    most = MOST

    @numba.njit  # type: ignore[untyped-decorator]
    def decide(run: Any, count: int, position: float, slots: Any, setup: Any) -> None:
        levels, spacing, inside, amends, market, size = setup
        ids, prices, sizes = slots
        depth, orders = run.depth(0), run.orders(0)
        bid, ask = depth.best_bid_tick, depth.best_ask_tick
        if bid <= 0 or ask >= 2**31 - 1 or run.current_timestamp // 1_000_000 > end_ms:
            return
        sells, near = position > 1e-9, 0.0
        for ticks in range(NEAR if market > 0 and count % 11 == 0 else 0):
            near += depth.bid_qty_at_tick(bid - ticks) if sells else depth.ask_qty_at_tick(ask + ticks)
        if near > 2 * market + 1e-9:
            ids[0, levels] += 1
            if sells:
                run.submit_sell_order(0, ids[0, levels], bid * tick, market, hft.GTC, hft.MARKET, False)
            else:
                run.submit_buy_order(0, ids[0, levels], ask * tick, market, hft.GTC, hft.MARKET, False)
        for at in range(2):
            side, best = (1, bid) if at == 0 else (-1, ask)
            if position * side > most - 1e-9 or (inside > 0 and side < 0):
                continue
            for level in range(levels):
                wanted = best - side * (level * spacing - inside)
                order = orders.get(ids[at, level])
                # 1 and 5: new and filled in part; a request is on its way while `req` is not 0
                if order is None or not (order.status == 1 or order.status == 5 or order.req != 0):
                    ids[0, levels] += 1
                    ids[at, level], prices[at, level], sizes[at, level] = ids[0, levels], wanted, size
                    if at == 0:
                        run.submit_buy_order(0, ids[at, level], wanted * tick, size, hft.GTX, hft.LIMIT, False)
                    else:
                        run.submit_sell_order(0, ids[at, level], wanted * tick, size, hft.GTX, hft.LIMIT, False)
                elif count % 5:
                    continue
                elif prices[at, level] == wanted:
                    if amends and sizes[at, level] == size and count % 15 == 0:
                        sizes[at, level] = size / 2
                        run.modify(0, ids[at, level], wanted * tick, sizes[at, level], False)
                elif amends:
                    prices[at, level] = wanted
                    run.modify(0, ids[at, level], wanted * tick, sizes[at, level], False)
                elif order.cancellable:
                    run.cancel(0, ids[at, level], False)

    compiled: Callable[..., None] = decide
    return compiled


def _quoting(tick: float, step: float, end_ms: int) -> Callable[..., int]:
    """Return the compiled run of the strategy, which returns how many rows it kept."""
    import numba

    every_ns, decide = EVERY_MS * MS, _decision(tick, end_ms)

    @numba.njit  # type: ignore[untyped-decorator]
    def look(run: Any, found: Any, known: int, filled: Any) -> tuple[int, float]:
        """Keep what was filled since the last look. Their own position has only the last part of an order."""
        values, change = run.orders(0).values(), 0.0
        while values.has_next():
            order = values.get()
            if order.status == 3 or order.status == 5:
                steps = round((order.qty - order.leaves_qty) / step) - filled[order.order_id]
                if steps > 0:
                    filled[order.order_id] += steps
                    change += order.side * steps * step
                    if known < len(found):
                        found[known, 0] = run.current_timestamp // 1_000_000
                        found[known, 1], found[known, 2] = order.side * steps, order.exec_price_tick
                        found[known, 3] = order.order_id
                    known += 1
        run.clear_inactive_orders(0)
        return known, change

    @numba.njit  # type: ignore[untyped-decorator]
    def quote(run: Any, setup: Any, found: Any) -> int:
        levels, count, known, position = setup[0], 0, 0, 0.0
        slots = np.zeros((2, levels + 1), np.int64), np.zeros((2, levels), np.int64), np.zeros((2, levels))
        filled = np.zeros(1_000_000, np.int64)
        run.elapse(0)
        due = run.current_timestamp + every_ns
        while True:
            watched = len(found) > 0
            answer = run.wait_next_feed(True, due - run.current_timestamp) if watched else run.elapse(every_ns)
            if answer == 1 or answer > 3:
                return known
            known, change = look(run, found, known, filled)
            position += change
            if run.current_timestamp >= due:
                count += 1
                decide(run, count, position, slots, setup)
                due += every_ns

    compiled: Callable[..., int] = quote
    return compiled


def peer(events: Any) -> Callable[..., tuple[Rows, float, int]]:
    """Return a run of hftbacktest: what its strategy received, seconds of processor time, and Unix ms at the end.

    Its exchange with fills in parts stops with an error where an order is filled twice at one time. Without `watch` the
    strategy looks only when it decides, and nothing is kept: that is what is measured.

    Parameters
    ----------
    events : Events
        Events of one product.
    """
    import hftbacktest as hft

    rows, tick, step = array_of(events), float(events.tick_size), float(events.step_size)
    quote = _quoting(tick, step, _end_ns(events) // MS)

    def measured(setup: Quoting, watch: bool = True) -> tuple[Rows, float, int]:
        asset = hft.BacktestAsset().data([rows]).linear_asset(1.0)
        queues = {"risk-averse": asset.risk_adverse_queue_model, "log": asset.log_prob_queue_model}
        asset = queues[setup.queue]() if setup.queue in queues else asset.power_prob_queue_model(2.0)
        asset = asset.partial_fill_exchange() if setup.partial else asset.no_partial_fill_exchange()
        asset = asset.trading_value_fee_model(0, 0).tick_size(tick).lot_size(step)
        found = np.zeros((1_000_000 if watch else 0, 4), np.int64)
        known: list[int] = []
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(setup.latency, np.ndarray):
                names = ("req_ts", "exch_ts", "resp_ts", "_padding")
                table = np.zeros(len(setup.latency), dtype=[(name, "i8") for name in names])
                for name, column in zip(names, setup.latency.T, strict=False):
                    table[name] = column
                np.savez(f"{folder}/latency.npz", data=table)
                asset = asset.intp_order_latency([f"{folder}/latency.npz"], 0)
            else:
                asset = asset.constant_order_latency(*setup.latency)
            run = hft.HashMapMarketDepthBacktest([asset])
            spent = processor_seconds(lambda: known.append(quote(run, tuple(setup[:6]), found)))
            ended = int(run.current_timestamp) // MS
            run.close()
        received: dict[tuple[int, int], tuple[int, int]] = {}
        for time, steps, price, number in found[: known[0]].tolist():
            received[time, number] = received.get((time, number), (0, 0))[0] + steps, price
        return sorted((time, *row) for (time, _), row in received.items()), spent, ended

    return measured
