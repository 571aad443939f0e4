"""The first seconds after a look at the book: what its best queues show, measured alike on recordings and simulations.

A `Tape` holds every change of the best prices, and the taker orders. All figures are functions of a tape, so a
recording of any source that `data.load` reads goes through the same lines as the simulated market.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..research import data
from ..research.data.event_array import MS, Kind
from ..research.data.loading import guess_format
from ..research.data.order_books import BookCursor, BookUpdates, with_levels
from ..venue.engine.commands import Advance
from ..venue.engine.core import Core
from ..venue.simulation.participants import quotes_of
from . import Measurement
from .own_orders import simulated

LAGS_MS = (100, 1_000, 3_000, 10_000, 60_000)
"""Times after a taker order at which the mid is looked at."""
FAR = {"imbalance": 5_000}
"""Features that are also compared with the move over a longer time, in ms."""
_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
_EDGE = 10 * _SECOND


class Tape(NamedTuple):
    """Observations of one product, as arrays. Sizes are in the quote currency.

    Parameters
    ----------
    times : array of int64
        Times at which best prices changed, in ms.
    bids : array of float64
        Best bid from each time on.
    asks : array of float64
        Best ask from each time on.
    bid_sizes : array of float64
        Value at the best bid from each time on.
    order_times : array of int64
        Times of taker orders, in ms.
    order_sides : array of int64
        Their sides, +1 or -1.
    order_values : array of float64
        Their values.
    """

    times: Any
    bids: Any
    asks: Any
    bid_sizes: Any
    ask_sizes: Any
    """Best prices, and the value there, from each of `times` on."""
    order_times: Any
    order_sides: Any
    order_values: Any

    def at(self, times: Any, *, before: bool = False) -> Any:
        """Return the places of the best prices that are shown at some times.

        Parameters
        ----------
        times : array of int64
            The times, in ms.
        before : bool, optional
            Whether to leave out a change at that instant (default: False).
        """
        return np.maximum(np.searchsorted(self.times, times, side="left" if before else "right") - 1, 0)

    @property
    def mids(self) -> Any:
        """The middle of the best prices."""
        return (self.bids + self.asks) / 2

    @property
    def imbalances(self) -> Any:
        """(bid − ask) / (bid + ask) of the best queues."""
        return (self.bid_sizes - self.ask_sizes) / (self.bid_sizes + self.ask_sizes)


def recorded(path: str | Path) -> Tape:
    """Return the tape of a recording: a file, a folder or a pattern that `data.load` reads, of one product.

    Best prices are those of their channel where there is one, else of the book. Trades of one instant and side count as
    one taker order.

    Parameters
    ----------
    path : str or Path
        File, folder or pattern of the recording.

    Raises
    ------
    InputError
        Where the recording has no book or cannot be read.
    """
    found = data.load(path, format=guess_format(Path(path)), progress=False)
    events = next(iter(found.values())) if isinstance(found, dict) else found
    quotes, trades = events.of(Kind.QUOTE), events.of(Kind.TRADE)
    columns = _of_quotes(quotes) if len(quotes) else _of_book(events)
    columns = columns[:, np.argsort(columns[0], kind="stable")]
    times, new = trades["exchange_ns"] / MS, np.ones(len(trades), dtype=bool)
    new[1:] = (np.diff(times) != 0) | (np.diff(trades["side"]) != 0)
    first = np.flatnonzero(new)
    values = np.add.reduceat(trades["price"] * trades["quantity"], first) if len(first) else np.zeros(0)
    return Tape(*(*columns, times[first], trades["side"][first].astype(np.int64), values))


def _of_quotes(quotes: Any) -> Any:
    """Return times, prices and values of best prices that come one side at a time."""
    rows = np.arange(len(quotes))
    bids, asks = (np.maximum.accumulate(np.where(quotes["side"] == side, rows, 0)) for side in (1, -1))
    whole = max(int(np.argmax(quotes["side"] == 1)), int(np.argmax(quotes["side"] == -1)))
    prices, values = quotes["price"], quotes["price"] * quotes["quantity"]
    return np.array([quotes["exchange_ns"] / MS, prices[bids], prices[asks], values[bids], values[asks]])[:, whole:]


def _of_book(events: Any) -> Any:
    """Return the same of a book that comes by its levels."""
    events = with_levels(events)[0]
    updates = BookUpdates(events, events.array["exchange_ns"])
    cursor, sizes = BookCursor(updates), np.zeros((2, len(updates)))
    for number, (bid, ask) in enumerate(zip(updates.bids.tolist(), updates.asks.tolist(), strict=True)):
        cursor.move(number + 1)
        sizes[:, number] = bid * cursor.bids.get(bid, 0), ask * cursor.asks.get(ask, 0)
    shown = (updates.bids > 0) & (updates.asks > 0)
    tick, step = float(events.tick_size), float(events.step_size)
    columns = [updates.times / MS, updates.bids * tick, updates.asks * tick, *(sizes * tick * step)]
    return np.array(columns)[:, shown]


def watched(core: Core, code: int, lasting_ms: int) -> Tape:
    """Let a simulated market continue and return the tape of one product: each change of its best prices.

    Parameters
    ----------
    core : Core
        Core with a simulated market.
    code : int
        Code of the product.
    lasting_ms : int
        How long to watch, in ms.
    """
    quotes = quotes_of(core)
    assert quotes is not None
    quoted, trades, end = quotes.products[code], core.state.history.trades[code], core.state.time + lasting_ms
    rows, orders, time = [], [], core.state.time
    while True:
        known = len(trades)
        core.apply(Advance(time))
        if len(trades) > known:
            value = sum(trade.price * trade.quantity for trade in trades[known:]) * quoted.unit / 1e6
            orders.append((time, trades[known].side, value))
        (bid, bid_steps), (ask, ask_steps) = (next(iter(core.books.levels(code, side, 1))) for side in (1, -1))
        rows.append((time, bid, ask, bid * bid_steps * quoted.unit / 1e6, ask * ask_steps * quoted.unit / 1e6))
        if time == end:
            return Tape(*np.array(rows).T, *np.array(orders, dtype=float).reshape(-1, 3).T)
        following = min(core.state.schedule["market"], core.state.schedule["prices"], end)
        time = max(min(quotes.next_change(quoted, time), following), time + 1)


def auc(score: Any, rises: Any) -> float:
    """Return the area under the curve of a score for what rises: the chance that it is higher there, ties half.

    Parameters
    ----------
    score : array of float64
        Values of the feature.
    rises : array of bool
        Whether the price rose after each.
    """
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks, ups = (np.cumsum(counts) - (counts - 1) / 2)[place], int(rises.sum())
    return float((ranks[rises].sum() - ups * (ups + 1) / 2) / max(ups * (len(rises) - ups), 1))


def predictors(tape: Tape, every_ms: int) -> dict[str, float]:
    """Return the area under the curve of each feature, on a grid, for the sign of the mid's move within 1 s.

    Parameters
    ----------
    tape : Tape
        Observations of one product.
    every_ms : int
        Step of the grid, in ms.
    """
    grid = np.arange(tape.times[0] + _EDGE, tape.times[-1] - _EDGE, every_ms)
    now, mids, imbalances = tape.at(grid), tape.mids, tape.imbalances
    taken = np.concatenate([[0.0], np.cumsum(tape.order_sides * tape.order_values)])
    flow = [taken[np.searchsorted(tape.order_times, when, side="right")] for when in (grid, grid - every_ms)]
    half = (tape.asks - tape.bids)[now] / 2
    features = {
        "imbalance": imbalances[now],
        "microprice": imbalances[now] * half,
        "last return": mids[now] - mids[tape.at(grid - every_ms)],
        "signed flow": flow[0] - flow[1],
    }
    found = {}
    for name, ahead in [*((name, _SECOND) for name in features), *FAR.items()]:
        moved = mids[tape.at(grid + ahead)] - mids[now]
        some = moved != 0
        label = name if ahead == _SECOND else f"{name}, {ahead // _SECOND} s ahead"
        found[label] = auc(features[name][some], moved[some] > 0)
    return found


def queues(tape: Tape) -> dict[str, float]:
    """Return what the best queues are like on a grid of 1 s, and the autocorrelation of the mid's returns there.

    Parameters
    ----------
    tape : Tape
        Observations of one product.
    """
    now = tape.at(np.arange(tape.times[0] + _EDGE, tape.times[-1] - _EDGE, _SECOND))
    returns = np.diff(np.log(tape.mids[now]))
    low, middle, high = np.quantile(np.concatenate([tape.bid_sizes[now], tape.ask_sizes[now]]), (0.05, 0.5, 0.95))
    return {
        "autocorrelation of 1 s returns": float(np.corrcoef(returns[1:], returns[:-1])[0, 1]),
        "standard deviation of the imbalance": float(tape.imbalances[now].std()),
        "best queue, 5th percentile": float(low),
        "best queue, median": float(middle),
        "best queue, 95th percentile over 5th": float(high / low),
    }


def responses(tape: Tape) -> Any:
    """Return the moves of the mid in the direction of each order since just before it, in bp: (orders, LAGS_MS).

    Parameters
    ----------
    tape : Tape
        Observations of one product.
    """
    before = tape.mids[tape.at(tape.order_times, before=True)][:, None]
    later = tape.order_times[:, None] + np.array(LAGS_MS)
    moved = (tape.mids[tape.at(later)] / before - 1) * tape.order_sides[:, None] * 1e4
    return np.where(later <= tape.times[-1], moved, np.nan)


class Bound(NamedTuple):
    """The limits of a figure, and its value in the recording of August 2024.

    Parameters
    ----------
    least : float, optional
        Lower limit (default: None, no limit).
    most : float, optional
        Upper limit (default: None, no limit).
    real : float, optional
        Value in the recording (default: None).
    unit : str, optional
        Its unit (default: "").
    """

    least: float | None = None
    most: float | None = None
    real: float | None = None
    unit: str = ""


BOUNDS: Mapping[str, Bound] = {
    "imbalance, each 1 s": Bound(0.6, 0.8, 0.71),
    "microprice, each 1 s": Bound(0.6, 0.8, 0.69),
    "last return, each 1 s": Bound(0.42, 0.6, 0.48),
    "signed flow, each 1 s": Bound(0.5, 0.68, 0.64),
    "imbalance, 5 s ahead, each 1 s": Bound(0.5, 0.68, 0.63),
    "imbalance, each 0.1 s": Bound(0.6, 0.8, 0.76),
    "microprice, each 0.1 s": Bound(0.6, 0.8, 0.75),
    "last return, each 0.1 s": Bound(0.42, 0.6, 0.57),
    "signed flow, each 0.1 s": Bound(0.5, 0.68, 0.53),
    "imbalance, 5 s ahead, each 0.1 s": Bound(0.5, 0.68, 0.65),
    "autocorrelation of 1 s returns": Bound(-0.1, 0.05, -0.02),
    "standard deviation of the imbalance": Bound(0.45, 1.0, 0.71),
    "best queue, 5th percentile": Bound(real=1_200, unit="USD"),
    "best queue, median": Bound(real=165_000, unit="USD"),
    "best queue, 95th percentile over 5th": Bound(20, 1_000, 580),
}


def figures(tape: Tape) -> dict[str, float]:
    """Return every figure of BOUNDS of a tape.

    Parameters
    ----------
    tape : Tape
        Observations of one product.
    """
    found = {
        f"{name}, each {every / _SECOND:g} s": value
        for every in (1_000, 100)
        for name, value in predictors(tape, every).items()
    }
    return found | queues(tape)


def first_seconds(
    seeds: Sequence[int], hours: Sequence[int], codes: Iterable[int] = (1, 2, 3, 4), recording: str | None = None
) -> list[Measurement]:
    """Return the rows of BOUNDS: the worst product of an hour of each seed, all products, and the recording.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the markets.
    hours : sequence of int
        Hours after the venue's start at which each seed is watched.
    codes : iterable of int, optional
        Codes of the products (default: 1 to 4).
    recording : str, optional
        Path of a recording (default: none).
    """
    found: dict[str, dict[str, list[float]]] = {name: {} for name in BOUNDS}
    for seed, hour in zip(seeds, hours, strict=True):
        for code in codes:
            core = simulated(seed)
            core.apply(Advance(core.state.time + hour * _HOUR))
            tape = watched(core, code, _HOUR)
            for name, value in figures(tape).items():
                found[name].setdefault(core.products[code].symbol[:3], []).append(value)
    real = recorded(recording) if recording else None
    there = figures(real) if real else {}
    rows = [
        _row(name, {each: float(np.mean(values)) for each, values in found[name].items()}, there) for name in BOUNDS
    ]
    return rows + ([] if real is None else recorded_responses(real))


def _row(name: str, by_product: Mapping[str, float], there: Mapping[str, float]) -> Measurement:
    """Return the row of one figure: the product that is furthest from the middle of what it must be."""
    bound = BOUNDS[name]
    middle = ((bound.least or 0.0) + (bound.most or 0.0)) / 2
    value = (
        max(by_product.values(), key=lambda each: abs(each - middle))
        if bound.most != 1_000
        else min(by_product.values())
    )
    texts = [f"real {bound.real:g}"] if bound.real is not None else []
    texts += [f"recording {there[name]:.3g}"] if there else []
    texts.append(", ".join(f"{each} {number:.3g}" for each, number in by_product.items()))
    return Measurement(name, value, bound.unit, bound.least, note="; ".join(texts), most=bound.most)


def recorded_responses(tape: Tape) -> list[Measurement]:
    """Return the rows of what follows the taker orders of a recording, of all and of the biggest tenth.

    Parameters
    ----------
    tape : Tape
        Observations of one product.
    """
    moved, large = responses(tape), tape.order_values >= np.quantile(tape.order_values, 0.9)
    return [
        Measurement(f"recording: mid {wait / _SECOND:g} s after a taker order", float(np.nanmean(moved[:, at])), "bp",
                    note=f"biggest tenth {np.nanmean(moved[large, at]):.2f} bp")
        for at, wait in enumerate(LAGS_MS)
    ]  # fmt: skip
