"""Backtests on books and trades: speed, and the fills of a maker next to those of hftbacktest on the same events.

The events are an hour of the local venue, recorded here, or those of the file that TOOLKIT_BENCH_EVENTS names. Where
hftbacktest is installed (2.4, which needs numba), it runs the same maker, compiled, in the same process.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..orders import limit
from ..research import Strategy, backtest, data, record
from ..research.data.loading import guess_format
from ..session import connect
from . import Measurement, processor_seconds

SECONDS = 3600
SPEED_TARGET = 2.0 / 491_973
"""Seconds of processor time an event may take, from the file of that many events; the aim is a quarter of it."""
QUEUES = ("risk-averse", "power:2", "log")
LATENCIES_MS = (10, 50)
SIZE, MOST = "0.01", 0.1
EVERY_MS = 100
KNOWN_FILE = (443_521, 21_313)
"""Changes and trades of a public recording (BTCUSDT perpetual, 345 s of 8 August 2024, of hftbacktest's examples)."""
KNOWN_FILLS = {("risk-averse", 10): 425, ("risk-averse", 50): 323, ("power:2", 10): 456, ("power:2", 50): 354,
               ("log", 10): 473, ("log", 50): 368}  # fmt: skip
"""Fills of hftbacktest 2.4.4 in it, for where that is not installed."""


def recorded_hour() -> Any:
    """Return the events of an hour of the local venue's simulated market."""
    with tempfile.TemporaryDirectory() as folder:
        with connect(clock="manual") as session:
            venue: Any = session.venue
            with record(session, folder, ["BTCUSDC"], channels=["order_book", "trades"], depth=200):
                for _ in range(SECONDS):
                    venue.advance("1s")
        return data.load(folder, format="recording", progress=False)


def given_events() -> Any:
    """Return the events of TOOLKIT_BENCH_EVENTS, else a recorded hour."""
    path = os.environ.get("TOOLKIT_BENCH_EVENTS")
    return data.load(path, format=guess_format(Path(path)), progress=False) if path else recorded_hour()


class BestPriceMaker(Strategy):
    """Quotes at both best prices, decides each 100 ms and holds up to 0.1."""

    timer_ms = EVERY_MS

    def on_timer(self, ctx: Any) -> None:
        book, position = ctx.book(), ctx.position("BTCUSDC")
        if not (book.bids and book.asks):
            return
        wanted = {"BUY": book.bids[0][0] if position < MOST - 1e-9 else None}
        wanted["SELL"] = book.asks[0][0] if position > -MOST + 1e-9 else None
        for order in ctx.orders():
            if float(order.order.price) == wanted[order.order.side]:
                wanted[order.order.side] = None
            else:
                ctx.cancel(order)
        for side, price in wanted.items():
            if price:
                ctx.place(limit("BTCUSDC", side, SIZE, price, tif="POST_ONLY"))


def ours(events: Any, queue: str, latency_ms: int) -> int:
    """Return the fills of the maker here."""
    run = backtest(BestPriceMaker(), {"BTCUSDC": events}, latency=(latency_ms, latency_ms), queue=queue, funding=None)
    return len(run.fills)


def _array(events: Any) -> Any:
    """Return events in hftbacktest's form, each for the clock of the exchange and of the recorder."""
    import hftbacktest as hft
    import numpy as np
    from hftbacktest.data import correct_event_order

    from ..research.data.event_array import Kind
    from ..research.data.order_books import feed_times

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


def peer(events: Any) -> Callable[[str, int], tuple[int, float]]:
    """Return a run of hftbacktest: (queue, latency in ms) → fills and seconds of processor time."""
    import hftbacktest as hft
    import numba
    import numpy as np

    rows, tick, step, most = _array(events), float(events.tick_size), float(events.step_size), MOST

    @numba.njit  # type: ignore[untyped-decorator]
    def quote(run: Any) -> None:
        number = 0
        while run.elapse(EVERY_MS * 1_000_000) == 0:
            run.clear_inactive_orders(0)
            depth, position, orders = run.depth(0), run.position(0), run.orders(0)
            bid, ask = depth.best_bid_tick, depth.best_ask_tick
            if bid <= 0 or ask >= 2**31 - 1:
                continue
            buys, sells = position < most - 1e-9, position > -most + 1e-9
            void, count, values = np.empty(50, np.int64), 0, orders.values()
            while values.has_next():
                order = values.get()
                if order.side == 1 and order.price_tick == bid and buys:
                    buys = False
                elif order.side == -1 and order.price_tick == ask and sells:
                    sells = False
                elif order.cancellable:
                    void[count] = order.order_id
                    count += 1
            for at in range(count):
                run.cancel(0, void[at], False)
            if buys:
                number += 1
                run.submit_buy_order(0, number, bid * tick, 0.01, hft.GTX, hft.LIMIT, False)
            if sells:
                number += 1
                run.submit_sell_order(0, number, ask * tick, 0.01, hft.GTX, hft.LIMIT, False)

    def measured(queue: str, latency_ms: int) -> tuple[int, float]:
        delay = latency_ms * 1_000_000
        asset = hft.BacktestAsset().data([rows]).linear_asset(1.0).constant_order_latency(delay, delay)
        asset = {
            "risk-averse": lambda: asset.risk_adverse_queue_model(),
            "power:2": lambda: asset.power_prob_queue_model(2.0),
            "log": lambda: asset.log_prob_queue_model(),
        }[queue]()
        asset = asset.no_partial_fill_exchange().trading_value_fee_model(0.0001, 0.0006)
        run = hft.HashMapMarketDepthBacktest([asset.tick_size(tick).lot_size(step)])
        spent = processor_seconds(lambda: quote(run))
        fills = int(run.state_values(0).num_trades)
        run.close()
        return fills, spent

    return measured


def measure_books() -> list[Measurement]:
    """Measure the speed of a backtest on events, and its fills next to hftbacktest's for each queue and latency."""
    events = given_events()
    counts = events.counts()
    known = (counts.get("depth"), counts.get("trade")) == KNOWN_FILE
    theirs = peer(events) if importlib.util.find_spec("hftbacktest") is not None else None
    total = len(events) - counts.get("quote", 0)
    first = processor_seconds(lambda: ours(events, "risk-averse", 10))
    best, best_peer = float("inf"), float("inf")
    if theirs is not None:
        theirs("risk-averse", 10)  # compiles
    for _ in range(3):
        best = min(best, processor_seconds(lambda: ours(events, "risk-averse", 10)))
        if theirs is not None:
            best_peer = min(best_peer, theirs("risk-averse", 10)[1])
    name = f"backtest of a maker on {total:,} changes and trades, decided each {EVERY_MS} ms"
    target = SPEED_TARGET * total if known else None
    rival, ratio = ("", None) if theirs is None else ("hftbacktest, compiled", best_peer / best)
    note = f"{total / best:,.0f} events/s of processor time; the first run on these events {first:.2f} s"
    aim = target and target / 4
    found = [Measurement(name, best, "s", target, "lower", "value", rival, ratio, aim, note=note)]
    for queue, latency_ms in itertools.product(QUEUES, LATENCIES_MS):
        here = ours(events, queue, latency_ms)
        there = theirs(queue, latency_ms)[0] if theirs is not None else None
        source = "hftbacktest"
        if there is None and known:
            there, source = KNOWN_FILLS[queue, latency_ms], "hftbacktest 2.4.4 (published)"
        name = f"fills of the maker, {queue}, {latency_ms} ms each way"
        row = Measurement(name, here, "fills", measure="ratio")
        if there:
            row = replace(row, target=0.95, most=1.05, peer=source, ratio=here / there, note=f"{there} there")
        found.append(row)
    return found
