"""The first seconds after a look at the book: what its best queues show, in recordings and simulations alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from toolkit.research.analysis.best_queues import EDGE_MS, Tape, predictors, recorded
from toolkit.venue.engine.commands import Advance
from toolkit.venue.engine.core import Core
from toolkit.venue.simulation.participants import quotes_of

from . import Measurement
from .own_orders import simulated

LAGS_MS = (100, 1_000, 3_000, 10_000, 60_000)
"""Times after a taker order at which the mid is looked at."""
_SECOND, _HOUR = 1_000, 3_600_000


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


def queues(tape: Tape) -> dict[str, float]:
    """Return what the best queues are like on a grid of 1 s, and the autocorrelation of the mid's returns there.

    Parameters
    ----------
    tape : Tape
        Observations of one product.
    """
    now = tape.at(np.arange(tape.times[0] + EDGE_MS, tape.times[-1] - EDGE_MS, _SECOND))
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
