"""The simulated market next to real ones: what a strategy prototyped on the local venue learns from.

The targets are what two recordings of perpetuals show: 345 s of a large venue's raw feed (BTC, 8 August 2024) and
45,031 minute bars (BTC, January 2022). Sizes may be those of a small venue; signs, shapes and clocks may not differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from ..protocol.signing import PrivateKey
from ..venue.api import info_market
from ..venue.engine.commands import Advance, Control
from ..venue.model.market import Market
from ..venue.simulation.participants import past_of
from ..venue.simulation.past import candles
from . import Measurement, own_orders, processor_seconds, seconds
from .own_orders import mid_of, simulated

DAYS = 2
SEEDS = (1, 2, 3)
RECORDED_MINUTES = 45_031
LAGS_MS = (100, 1_000, 3_000, 10_000, 60_000)
"""Times after a taker order at which the mid is looked at."""
_HOUR = 3_600_000
_MINUTE = 60_000
_SPREAD_MS = 4_321


class Observed(NamedTuple):
    """What one venue showed, as arrays. Prices are in ticks, times in ms."""

    order_times: Any
    order_sides: Any
    order_values: Any
    responses: Any
    """(orders, LAGS_MS): move of the mid in the direction of the order since just before it, in bp."""
    spreads_bp: Any
    minute_mids: Any
    """(minutes, products)"""
    minute_volumes: Any
    """Steps of the first product, by minute."""


def measure_market() -> list[Measurement]:
    """Measure the default market over days and seeds."""
    seen = [observe(seed, 24 * DAYS) for seed in SEEDS]
    found = [*flow_rows(seen), *price_rows(seen), past_row(SEEDS), *funding_rows(SEEDS[0])]
    return [*found, *own_orders.impact_rows(), *own_orders.quote_rows(), *speed_rows()]


def observe(seed: int, hours: int, market: Market | str = "usual", code: int = 1) -> Observed:
    """Run a venue that only this one watches: mids, spreads and taker orders of one product."""
    core = simulated(seed, market)
    step, spreads, mids = core.state.time, [], []
    orders = list[tuple[int, int, int]]()
    before, after = list[float](), list[list[float]]()
    waiting = list[tuple[int, int, int]]()  # (time, order, lag)
    end = step + hours * _HOUR
    next_spread, next_minute = step + _SPREAD_MS, step + _MINUTE
    known = 0
    mid = mid_of(core, code)
    while step < end:
        due = core.state.schedule["market"]
        step = min(due, next_spread, next_minute, waiting[0][0] if waiting else end, end)
        if step == due:
            core.apply(Advance(step - 1))
            mid = mid_of(core, code)
        core.apply(Advance(step))
        while waiting and waiting[0][0] <= step:
            _, order, lag = heappop(waiting)
            after[order][lag] = mid_of(core, code)
        trades = core.state.history.trades[code]
        if len(trades) > known:
            fresh, known = trades[known:], len(trades)
            value = sum(trade.price * trade.quantity for trade in fresh) * core.products[code].unit
            orders.append((step, fresh[0].side, value))
            before.append(mid)
            after.append([float("nan")] * len(LAGS_MS))
            for lag, wait in enumerate(LAGS_MS):
                heappush(waiting, (step + wait, len(orders) - 1, lag))
        if step >= next_spread:
            bid, ask = core.books.top(code)
            spreads.append((ask - bid) / (ask + bid) * 2e4)
            next_spread += _SPREAD_MS
        if step >= next_minute:
            mids.append([mid_of(core, each) for each in core.products])
            next_minute += _MINUTE
    volumes = np.zeros(hours * 60)
    for candle in core.state.history.candles[code]:
        at = (candle.start - core.state.genesis_time) // _MINUTE
        if at < len(volumes):
            volumes[at] = candle.volume
    times, sides, values = (np.array(column) for column in zip(*orders, strict=True))
    start = np.array(before)
    moved = (np.array(after) - start[:, None]) / start[:, None] * sides[:, None] * 1e4
    return Observed(times, sides, values / 1e6, moved, np.array(spreads), np.array(mids), volumes)


def flow_rows(seen: list[Observed]) -> list[Measurement]:
    """Return the rows about taker orders, what follows them, and the spread."""
    gaps = [np.diff(each.order_times) for each in seen]
    varied = [g.std() / g.mean() for g in gaps]
    rows = [
        _row("gaps between taker orders, coefficient of variation", varied, "", 1.2, real=1.47),
        _row("successive gaps, correlation of logs", [_correlation(np.log(g + 1), 1) for g in gaps], "", 0.02),
    ]
    for lag, real, least in ((1, 0.20, 0.1), (2, 0.20, 0.0), (5, 0.16, 0.0), (10, 0.12, 0.0), (50, 0.03, None)):
        found = [_correlation(each.order_sides, lag) for each in seen]
        rows.append(_row(f"taker sides, autocorrelation at lag {lag}", found, "", least, real=real))
    biggest_tenths = [each.order_values >= np.quantile(each.order_values, 0.9) for each in seen]
    recorded = zip(LAGS_MS, (0.21, 0.41, 0.51, 0.44, 0.70), (0.21, 0.83, 1.01, 0.97, 2.06), strict=True)
    for at, (wait, real, large) in enumerate(recorded):
        every = [np.nanmean(each.responses[:, at]) for each in seen]
        pairs = zip(seen, biggest_tenths, strict=True)
        biggest = [np.nanmean(each.responses[tenth, at]) for each, tenth in pairs]
        rows.append(_row(f"mid {wait / 1000:g} s after a taker order, in its direction", every, "bp", 0.0, real=real))
        rows.append(_row("the same, biggest tenth of the orders", biggest, "bp", float(np.mean(every)), real=large))
    spreads = [each.spreads_bp for each in seen]
    rows.append(_row("spread, median", [np.median(each) for each in spreads], "bp", 1.0, 2.0))
    ratio = [np.quantile(each, 0.95) / np.median(each) for each in spreads]
    rows.append(_row("spread, 95th percentile over median", ratio, "", 2.0))
    return rows


def price_rows(seen: list[Observed]) -> list[Measurement]:
    """Return the rows about returns, their volatility, volume and correlation."""
    returns = [np.diff(np.log(each.minute_mids), axis=0) for each in seen]
    spreads = [each[:, 0].std() * 1e4 for each in returns]
    found = [_correlation(each[:, 0], 1) for each in returns]
    rows = [
        _row("1-minute returns, standard deviation", spreads, "bp", real=9.9),
        _row("1-minute returns, autocorrelation", found, "", -0.05, 0.05, 0.02),
    ]
    for minutes, real, least, most in ((1, 23.0, 8.0, 30.0), (5, 14.0, None, None), (60, 5.1, None, None)):
        found = [_kurtosis(_summed(each[:, 0], minutes)) for each in returns]
        rows.append(_row(f"{minutes}-minute returns, excess kurtosis", found, "", least, most, real))
    lags = ((1, 0.33, 0.2), (5, 0.25, None), (15, 0.23, None), (60, 0.18, 0.1), (240, 0.12, None), (1440, 0.08, None))
    for lag, real, least in lags:
        found = [_correlation(np.abs(each[:, 0]), lag) for each in returns]
        rows.append(_row(f"size of 1-minute returns, autocorrelation at lag {lag}", found, "", least, real=real))
    found = [
        float(np.corrcoef(each.minute_volumes[1 : len(moved) + 1], np.abs(moved[:, 0]))[0, 1])
        for each, moved in zip(seen, returns, strict=True)
    ]
    rows.append(_row("volume and size of return, a minute", found, "", 0.4, real=0.61))
    for other, name, least, typical in ((1, "ETH", 0.6, 0.85), (2, "SOL", 0.3, None), (3, "XRP", 0.3, None)):
        found = [float(np.corrcoef(_summed(each[:, 0], 5), _summed(each[:, other], 5))[0, 1]) for each in returns]
        rows.append(_row(f"BTC and {name}, 5-minute returns", found, "", least, 0.9, typical))
    return rows


def past_row(seeds: Iterable[int]) -> Measurement:
    """Return the row about volatility that lasts for an hour, over as many minutes as the recording has.

    Of two days the figure is mostly chance. The past is the same market, and its minutes are quickly made.
    """
    found = []
    for seed in seeds:
        core = simulated(seed)
        past, end = past_of(core, 1), core.state.time
        assert past is not None
        closes = [candle.close for candle in candles(past, end - RECORDED_MINUTES * _MINUTE, end)]
        found.append(_correlation(np.abs(np.diff(np.log(closes))), 60))
    return _row("size of 1-minute returns, autocorrelation at lag 60, 31 days of the past", found, "", 0.1, real=0.18)


def funding_rows(seed: int) -> list[Measurement]:
    """Return the rows about funding: 30 settlements of a venue, and those of its past."""
    core = simulated(seed)
    core.apply(Advance(core.state.time + DAYS * 24 * _HOUR))
    rates = [rate.rate for settled in core.state.history.funding_rates.values() for rate in settled]
    signs = len({rate > 0 for rate in rates if rate})
    differ = len(set(rates)) / len(rates)
    return [
        Measurement("funding rates that differ, of all settlements", differ, "", 0.3, note="real: all; was 1 of 72"),
        Measurement("signs of funding rates", signs, "", 2, note="real: both; was one"),
    ]


def speed_rows() -> list[Measurement]:
    """Return the rows about a day of four products that is not watched, and about long candles of the whole past."""
    signature = min(_signature_seconds() for _ in range(3))
    core = simulated(SEEDS[0])
    spent = processor_seconds(lambda: core.apply(Advance(core.state.time + 24 * _HOUR)))
    signature = min(signature, *(_signature_seconds() for _ in range(3)))
    ratio = spent / signature / (20.0 / 47e-6)  # a day of the market before this one took 20 s, a signature 47 µs
    weeks, peer = min(_weeks_seconds(time.time_ns()) for _ in range(3)), "the market before it"
    return [
        Measurement("a day of four products, nobody watching", spent, "s", 0.2, "lower", "ratio", peer, ratio),
        *far_order_rows(),
        Measurement("candles of 1 week over the whole history, for the first time", weeks, "s", 0.3, "lower"),
    ]


def far_order_rows() -> list[Measurement]:
    """Return the rows about an hour of four products beside orders that nobody reaches, in one book and in four."""
    hours = [_hour_beside(count) for count in (0, 1, 4)]
    spent = seconds(*hours, repeat=3, clock=time.process_time)
    rows = zip(("in one book", "in each of four"), spent[1:], (1.5, 3.0), strict=True)
    peer = "the same hour without"
    return [
        Measurement(f"an hour with a far order {where}", each, "s", most, "lower", "ratio", peer, each / spent[0])
        for where, each, most in rows
    ]


def _hour_beside(count: int) -> Callable[[], object]:
    """Return what passes the next hour of a venue with a far order in each of `count` books."""
    core = simulated(SEEDS[0])
    for code in list(core.products)[:count]:
        price = str(core.products[code].price_text(core.state.markets[code].mark // 3))
        order = {"product": code, "side": "BUY", "price": price, "quantity": "1"}
        core.apply(Control(core.state.time, "add_liquidity", order))
    return lambda: core.apply(Advance(core.state.time + _HOUR))


def _weeks_seconds(seed: int) -> float:
    """Return how long all weeks of a product take, in processor time, of a seed that nothing in memory has."""
    core = simulated(seed)
    values = {"symbol_name": "BTCUSDC", "interval": 7 * 86_400, "limit": 1_000}
    return processor_seconds(lambda: info_market.klines_last(core, values))


def _signature_seconds() -> float:
    """Return the processor time of a signature."""
    key, message = PrivateKey(b"1" * 32), b"2" * 32
    return processor_seconds(lambda: [key.sign(message) for _ in range(1_000)]) / 1_000


def _row(
    name: str, found: list[Any], unit: str, least: float | None = None, most: float | None = None, real: Any = None
) -> Measurement:
    spread = f"seeds {min(found):.3g} to {max(found):.3g}" if len(found) > 1 else ""
    note = "; ".join(text for text in ("" if real is None else f"real {real:g}", spread) if text)
    return Measurement(name, float(np.mean(found)), unit, least, note=note, most=most)


def _correlation(values: Any, lag: int) -> float:
    return float(np.corrcoef(values[:-lag], values[lag:])[0, 1])


def _summed(values: Any, count: int) -> Any:
    return values[: len(values) // count * count].reshape(-1, count).sum(axis=1)


def _kurtosis(values: Any) -> float:
    centred = values - values.mean()
    return float((centred**4).mean() / (centred**2).mean() ** 2 - 3)
