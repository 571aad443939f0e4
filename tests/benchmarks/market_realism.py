"""The simulated market next to real ones: what a strategy prototyped on the local venue learns from.

The targets are what two recordings of perpetuals show: 345 s of a large venue's raw feed (BTC, 8 August 2024) and
45,031 minute bars (BTC, January 2022). Sizes may be those of a small venue. Signs, shapes and clocks may not differ.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from toolkit.protocol.signing import PrivateKey
from toolkit.research.analysis.best_queues import Tape
from toolkit.venue.api import info_market
from toolkit.venue.engine.commands import Advance, Control
from toolkit.venue.model.constants import RATE
from toolkit.venue.model.market import Market
from toolkit.venue.simulation.participants import past_of
from toolkit.venue.simulation.past import candles

from . import Measurement, own_orders, processor_seconds, seconds
from .first_seconds import LAGS_MS, first_seconds, responses, watched
from .own_orders import mid_of, row, simulated

DAYS = 2
SEEDS = 3
RECORDED_MINUTES = 45_031
_HOUR = 3_600_000
_MINUTE = 60_000
_SPREAD_MS = 4_321


class Observed(NamedTuple):
    """Observations of one venue. Prices are in ticks, times in ms.

    Parameters
    ----------
    tape : Tape
        Observations of one product.
    """

    tape: Tape
    minute_mids: Any
    """(minutes, products)"""
    minute_volumes: Any
    """Steps of the observed product, by minute."""


def measure_market(seeds: Sequence[int] = (), recording: str | None = None) -> list[Measurement]:
    """Measure the default market over days and seeds, and a recording of a real one by the same functions.

    Parameters
    ----------
    seeds : sequence of int, optional
        Three or more seeds (default: they are drawn).
    recording : str, optional
        Path that `data.load` reads (default: none).
    """
    draw = random.Random()
    seeds = list(seeds) or [draw.randrange(1, 1_000_000) for _ in range(SEEDS)]
    hours = [random.Random(seed).randrange(24) for seed in seeds]
    print(f"seeds {', '.join(map(str, seeds))}. First seconds from hours {', '.join(map(str, hours))}", file=sys.stderr)
    found = first_seconds(seeds, hours, recording=recording)
    seen = [observe(seed, 24 * DAYS) for seed in seeds]
    found += [*flow_rows(seen), *price_rows(seen), *past_rows(seeds), *funding_rows(seeds), *shock_rows(seeds)]
    return [*found, *own_orders.impact_rows(seeds=seeds), *own_orders.quote_rows(), *speed_rows(seeds[0])]


def observe(seed: int, hours: int, market: Market | str = "usual", code: int = 1) -> Observed:
    """Run a venue without other users: the tape of one product, and the mids of all each minute.

    Parameters
    ----------
    seed : int
        Seed of the market.
    hours : int
        How long it runs, in hours.
    market : Market or str, optional
        The market (default: "usual").
    code : int, optional
        Code of the product of the tape (default: 1).
    """
    core, pieces, mids = simulated(seed, market), [], []
    for _ in range(hours * 60):
        pieces.append(watched(core, code, _MINUTE))
        mids.append([mid_of(core, each) for each in core.products])
    volumes = np.zeros(hours * 60)
    for candle in core.state.history.candles[code]:
        at = (candle.start - core.state.genesis_time) // _MINUTE
        if at < len(volumes):
            volumes[at] = candle.volume
    return Observed(Tape(*map(np.concatenate, zip(*pieces, strict=True))), np.array(mids), volumes)


def flow_rows(seen: list[Observed]) -> list[Measurement]:
    """Return the rows about taker orders, what follows them, and the spread.

    Parameters
    ----------
    seen : list of Observed
        Observations of each seed.
    """
    tapes = [each.tape for each in seen]
    gaps = [np.diff(tape.order_times) for tape in tapes]
    varied = [g.std() / g.mean() for g in gaps]
    rows = [
        row("gaps between taker orders, coefficient of variation", varied, "", 1.2, real=1.47),
        row("successive gaps, correlation of logs", [_correlation(np.log(g + 1), 1) for g in gaps], "", 0.02),
    ]
    for lag, real, least in ((1, 0.20, 0.1), (2, 0.20, 0.0), (5, 0.16, 0.0), (10, 0.12, 0.0), (50, 0.03, None)):
        found = [_correlation(tape.order_sides, lag) for tape in tapes]
        rows.append(row(f"taker sides, autocorrelation at lag {lag}", found, "", least, real=real))
    moved = [responses(tape) for tape in tapes]
    biggest_tenths = [tape.order_values >= np.quantile(tape.order_values, 0.9) for tape in tapes]
    recorded = zip(LAGS_MS, (0.19, 0.27, 0.37, 0.28, 0.52), (0.94, 0.91, 1.19, 1.12, 2.09), strict=True)
    before = 0.0
    for at, (wait, real, large) in enumerate(recorded):
        every = [np.nanmean(each[:, at]) for each in moved]
        biggest = [np.nanmean(each[tenth, at]) for each, tenth in zip(moved, biggest_tenths, strict=True)]
        rows.append(row(f"mid {wait / 1000:g} s after a taker order, in its direction", every, "bp", before, real=real))
        rows.append(row("the same, biggest tenth of the orders", biggest, "bp", float(np.mean(every)), real=large))
        before = float(np.mean(every)) if wait >= 1_000 else 0.0  # it grows from 1 s on
    looks = [tape.at(np.arange(tape.times[0], tape.times[-1], _SPREAD_MS)) for tape in tapes]
    spreads = [(tape.asks - tape.bids)[at] / tape.mids[at] * 1e4 for tape, at in zip(tapes, looks, strict=True)]
    rows.append(row("spread, median", [np.median(each) for each in spreads], "bp", 1.0, 2.0))
    ratio = [np.quantile(each, 0.95) / np.median(each) for each in spreads]
    rows.append(row("spread, 95th percentile over median", ratio, "", 2.0))
    return rows


def price_rows(seen: list[Observed]) -> list[Measurement]:
    """Return the rows about returns, their volatility, volume and correlation.

    Parameters
    ----------
    seen : list of Observed
        Observations of each seed.
    """
    returns = [np.diff(np.log(each.minute_mids), axis=0) for each in seen]
    spreads = [each[:, 0].std() * 1e4 for each in returns]
    found = [_correlation(each[:, 0], 1) for each in returns]
    rows = [
        row("1-minute returns, standard deviation", spreads, "bp", real=9.9),
        row("1-minute returns, autocorrelation", found, "", -0.05, 0.05, 0.02),
    ]
    for minutes, real, least, most in ((1, 23.0, 8.0, 30.0), (5, 14.0, None, None), (60, 5.1, None, None)):
        found = [_kurtosis(_summed(each[:, 0], minutes)) for each in returns]
        rows.append(row(f"{minutes}-minute returns, excess kurtosis", found, "", least, most, real))
    lags = ((1, 0.33, 0.2), (5, 0.25, None), (15, 0.23, None), (60, 0.18, 0.1), (240, 0.12, None), (1440, 0.08, None))
    for lag, real, least in lags:
        found = [_correlation(np.abs(each[:, 0]), lag) for each in returns]
        rows.append(row(f"size of 1-minute returns, autocorrelation at lag {lag}", found, "", least, real=real))
    found = [
        float(np.corrcoef(each.minute_volumes[1 : len(moved) + 1], np.abs(moved[:, 0]))[0, 1])
        for each, moved in zip(seen, returns, strict=True)
    ]
    rows.append(row("volume and size of return, a minute", found, "", 0.4, real=0.61))
    for other, name, least, typical in ((1, "ETH", 0.6, 0.85), (2, "SOL", 0.3, None), (3, "XRP", 0.3, None)):
        found = [float(np.corrcoef(_summed(each[:, 0], 5), _summed(each[:, other], 5))[0, 1]) for each in returns]
        rows.append(row(f"BTC and {name}, 5-minute returns", found, "", least, 0.9, typical))
    return rows


def past_rows(seeds: Sequence[int]) -> list[Measurement]:
    """Return the rows about volatility that lasts for an hour, and the season of the day, over a recording's length.

    Over two days these are mostly chance. The past is the same market, and its minutes are quickly made.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the markets.
    """
    lasting, days = [], []
    for seed in seeds:
        core = simulated(seed)
        past, end = past_of(core, 1), core.state.time
        assert past is not None
        made = [(bar.close, bar.turnover) for bar in candles(past, end - RECORDED_MINUTES * _MINUTE, end)]
        closes, traded = np.array(made, dtype=float).T
        lasting.append(_correlation(np.abs(np.diff(np.log(closes))), 60))
        days.append(traded[-30 * 1_440 :].reshape(-1, 24, 60).sum(axis=(0, 2)))
    alike = np.corrcoef(days)[np.triu_indices(len(days), 1)].tolist()
    name = "size of 1-minute returns, autocorrelation at lag 60, 31 days of the past"
    season = row("volume by hour of the day, correlation between seeds, 30 days of the past", alike, "", 0.5, real=0.78)
    return [row(name, lasting, "", 0.1, real=0.18), season]


def funding_rows(seeds: Sequence[int]) -> list[Measurement]:
    """Return the rows about funding: the settlements of usual and of stressed venues.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the markets.
    """
    usual, stressed = (np.concatenate([_rates(seed, market) for seed in seeds]) for market in ("usual", "stressed"))
    signs, differ = len(set(np.sign(usual[usual != 0]))), len(np.unique(usual)) / len(usual)
    largest = [100 * abs(rates).max() / RATE for rates in (usual, stressed)]
    values, counts = np.unique(usual, return_counts=True)
    resting = [float((rates == values[counts.argmax()]).mean()) for rates in (usual, stressed)]
    return [
        Measurement("funding rates that differ, of all settlements", differ, "", 0.3, note="real: all"),
        Measurement("signs of funding rates", signs, "", 2, note="real: both"),
        Measurement("largest funding rate under stress", largest[1], "%", largest[0], note=f"usual {largest[0]:.3f} %"),
        Measurement("settlements at the resting rate under stress", resting[1], "", resting[0], "lower",
                    note=f"usual {resting[0]:.2f}"),
    ]  # fmt: skip


def _rates(seed: int, market: str) -> Any:
    """Return the funding rates of all products over days."""
    core = simulated(seed, market)
    core.apply(Advance(core.state.time + DAYS * 24 * _HOUR))
    return np.array([rate.rate for settled in core.state.history.funding_rates.values() for rate in settled])


def shock_rows(seeds: Sequence[int]) -> list[Measurement]:
    """Return the rows about the value at the best prices of SOL when its mid has moved by 20 bp in 5 s, of its mean.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the markets.
    """
    found = []
    for seed in seeds:
        core, rows = simulated(seed), []
        for _ in range(24 * 720):
            core.apply(Advance(core.state.time + 5_000))
            best = [next(iter(core.books.levels(3, side, 1))) for side in (1, -1)]
            rows.append((mid_of(core, 3), sum(price * steps for price, steps in best)))
        mids, depths = np.array(rows).T
        shocks = np.flatnonzero(np.abs(np.diff(np.log(mids))) > 20e-4) + 1
        shocks = shocks[shocks < len(mids) - 144]
        looks = [shocks[:, None] + np.arange(begin, begin + 12) for begin in (0, 120)]
        found.append([depths[look].mean() / depths.mean() for look in looks if len(shocks)])
    now, later = zip(*(each for each in found if each), strict=True)
    return [
        row("depth at the best prices in the minute after a shock, of its mean", now, "", 0.0, 0.6, 0.5),
        row("the same 10 minutes later", later, "", 0.75),
    ]


def speed_rows(seed: int) -> list[Measurement]:
    """Return the rows about a day of four products that is not watched, and about long candles of the whole past.

    Parameters
    ----------
    seed : int
        Seed of the market.
    """
    signature = min(_signature_seconds() for _ in range(3))
    core = simulated(seed)
    spent = processor_seconds(lambda: core.apply(Advance(core.state.time + 24 * _HOUR)))
    signature = min(signature, *(_signature_seconds() for _ in range(3)))
    ratio = spent / signature / (20.0 / 47e-6)  # a day of the market before this one took 20 s, a signature 47 µs
    weeks, peer = min(_weeks_seconds(time.time_ns()) for _ in range(3)), "the market before it"
    return [
        Measurement("a day of four products that no user watches", spent, "s", 0.2, "lower", "ratio", peer, ratio),
        *far_order_rows(seed),
        Measurement("candles of 1 week over the whole history, for the first time", weeks, "s", 0.3, "lower"),
    ]


def far_order_rows(seed: int) -> list[Measurement]:
    """Return the rows about an hour of four products with orders far from the price, in one book and in four.

    Parameters
    ----------
    seed : int
        Seed of the market.
    """
    hours = [_hour_beside(seed, count) for count in (0, 1, 4)]
    spent = seconds(*hours, repeat=3, clock=time.process_time)
    rows = zip(("in one book", "in each of four"), spent[1:], (1.5, 3.0), strict=True)
    peer = "the same hour without"
    return [
        Measurement(f"an hour with a far order {where}", each, "s", most, "lower", "ratio", peer, each / spent[0])
        for where, each, most in rows
    ]


def _hour_beside(seed: int, count: int) -> Callable[[], object]:
    """Return what passes the next hour of a venue with a far order in each of `count` books."""
    core = simulated(seed)
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


def _correlation(values: Any, lag: int) -> float:
    return float(np.corrcoef(values[:-lag], values[lag:])[0, 1])


def _summed(values: Any, count: int) -> Any:
    return values[: len(values) // count * count].reshape(-1, count).sum(axis=1)


def _kurtosis(values: Any) -> float:
    centred = values - values.mean()
    return float((centred**4).mean() / (centred**2).mean() ** 2 - 3)
