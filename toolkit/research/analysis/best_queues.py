"""The best queues of a book: what they show of the next seconds, measured on the tape of one product.

A `Tape` holds every change of the best prices, and the taker orders. All figures are functions of a tape, so a
recording of any source that `data.load` reads goes through the same lines as a simulated market.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import data
from ..data.event_array import MS, EventArray, Kind
from ..data.loading import guess_format
from ..data.order_books import BookCursor, BookUpdates, with_levels

FAR = {"imbalance": 5_000}
"""Features that are also compared with the move over a longer time, in ms."""
EDGE_MS = 10_000
"""Part at each end of a tape at which no figure looks: books are not full yet, or have no future."""
_SECOND = 1_000


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
    ask_sizes : array of float64
        Value at the best ask from each time on.
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
    order_times: Any
    order_sides: Any
    order_values: Any

    def at(self, times: NDArray[np.int64], *, before: bool = False) -> Any:
        """Return the places of the best prices that are shown at some times.

        Parameters
        ----------
        times : array of int64
            The times, in ms.
        before : bool, optional
            Whether to leave out a change at that instant (default: False).

        Returns
        -------
        array of int64
            Places in `times`, 0 for what is before the first of them.
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

    Returns
    -------
    Tape
        Best prices and taker orders of the recording.

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


def _of_quotes(quotes: NDArray[np.void]) -> Any:
    """Return times, prices and values of best prices that come one side at a time."""
    rows = np.arange(len(quotes))
    bids, asks = (np.maximum.accumulate(np.where(quotes["side"] == side, rows, 0)) for side in (1, -1))
    whole = max(int(np.argmax(quotes["side"] == 1)), int(np.argmax(quotes["side"] == -1)))
    prices, values = quotes["price"], quotes["price"] * quotes["quantity"]
    return np.array([quotes["exchange_ns"] / MS, prices[bids], prices[asks], values[bids], values[asks]])[:, whole:]


def _of_book(events: EventArray) -> Any:
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


def auc(score: NDArray[Any], rises: NDArray[np.bool_]) -> float:
    """Return the area under the curve of a score for what rises: the chance that it is higher there, ties half.

    Parameters
    ----------
    score : array of float64
        Values of the feature.
    rises : array of bool
        Whether the price rose after each.

    Returns
    -------
    float
        The area, 0 to 1. 0.5 is no information.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
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

    Returns
    -------
    dict of str to float
        Feature → area under its curve, that of the imbalance also for the move within 5 s.
    """
    grid = np.arange(tape.times[0] + EDGE_MS, tape.times[-1] - EDGE_MS, every_ms)
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
