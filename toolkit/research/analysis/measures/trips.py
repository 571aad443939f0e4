"""Round trips of a run: positions from flat to flat, and what they and their fills show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....sides import BUYS, CLOSES, SHORT_SIDES
from .curve import Curve
from .numbers import NAN, NOTHING, NUMBERLESS, Values, add, deviation, floats

ULP = 4e-16
"""Bound of the relative rounding error of one float addition."""
ROUND_TRIPS = {
    **dict.fromkeys(("symbol", "side"), "str"),
    **dict.fromkeys(("opened", "closed"), "datetime64[ms, UTC]"),
    **dict.fromkeys(("quantity", "entry_price", "exit_price", "gross", "fees", "net"), "float64"),
}
"""Columns of `round_trips` and their dtypes."""


def round_trips(fills: pd.DataFrame) -> pd.DataFrame:
    """Return each position from flat to flat of each symbol. A flip ends one and begins another.

    A flip's fee is split by quantity. A position open at the end is left out, and so is funding, which belongs to time
    rather than to trades.

    Parameters
    ----------
    fills : DataFrame
        Frame of `Results.fills`.

    Returns
    -------
    DataFrame
        One row a round trip, in the order in which they ended:

        - symbol: str
        - side: str, LONG or SHORT
        - opened, closed: datetime64[ms, UTC]
        - quantity: float64, total opened, base units
        - entry_price, exit_price: float64, averages, USDC
        - gross: float64, profit before fees, USDC
        - fees: float64, USDC
        - net: float64, gross − fees, USDC

    Examples
    --------
    >>> metrics.round_trips(run.fills)["side"].value_counts().to_dict()
    {'LONG': 6, 'SHORT': 6}
    """
    return trip_table(fills, fill_arrays(fills))


def trip_table(fills: pd.DataFrame, arrays: Curve) -> pd.DataFrame:
    """Return the frame of `round_trips`.

    Parameters
    ----------
    fills : DataFrame
        Frame of `Results.fills`.
    arrays : Curve
        The same as arrays, see `fill_arrays`.
    """
    found = [np.zeros((9, 0))]
    for trips in _trips(arrays):
        closing = trips.before * trips.signed < 0
        sizes = np.abs(trips.signed - trips.opened)  # what an ending fill opens counts for the next trip
        opens, closes, carried = np.where(closing, 0.0, sizes), np.where(closing, sizes, 0.0), np.abs(trips.opened)
        quantity, entry = (trips.total(opens * price, carried * price) for price in (1.0, trips.prices))
        closed, leave = (trips.total(closes * price) for price in (1.0, trips.prices))
        fees = trips.total(*(trips.fees * part / trips.signed for part in (trips.signed - trips.opened, trips.opened)))
        long = np.sign(trips.before[trips.lasts])
        gross = (leave - entry) * long
        begins = trips.firsts - np.append(False, trips.opened[trips.lasts[:-1]] != 0)
        with np.errstate(divide="ignore", invalid="ignore"):  # of the trip that is left out
            amounts = quantity, entry / quantity, leave / closed, gross, fees, gross - fees
        rows = np.stack([trips.rows[begins], trips.rows[trips.lasts], long, *amounts])
        found.append(rows[:, trips.skipped :])
    table = np.concatenate(found, axis=1)
    opened, ended, long, *columns = table[:, np.argsort(table[1], kind="stable")]  # in the order in which they ended
    first, last = opened.astype("int64"), ended.astype("int64")
    made = {
        "symbol": fills["symbol"].to_numpy()[last],
        "side": np.where(long > 0, "LONG", "SHORT"),
        "opened": fills["time"].array[first],
        "closed": fills["time"].array[last],
        **dict(zip(list(ROUND_TRIPS)[4:], columns, strict=True)),
    }
    return pd.DataFrame(made).astype(ROUND_TRIPS)


def hit_rate(trips: pd.DataFrame | Values) -> float:
    """Return the share of round trips with a profit after fees.

    Parameters
    ----------
    trips : DataFrame or array of float64
        Frame of `round_trips`, or the net profit of each trip, USDC.

    Returns
    -------
    float
        Ratio from 0 to 1, NaN without trips.

    Examples
    --------
    >>> round(metrics.hit_rate(run.round_trips), 3)
    0.583
    """
    net = _net(trips)
    return int(np.count_nonzero(net > 0)) / len(net) if len(net) else NAN


def profit_factor(trips: pd.DataFrame | Values) -> float:
    """Return Σ net of winners / Σ abs(net of losers).

    Parameters
    ----------
    trips : DataFrame or array of float64
        Frame of `round_trips`, or the net profit of each trip, USDC.

    Returns
    -------
    float
        Ratio, NaN without losers.

    Examples
    --------
    >>> round(metrics.profit_factor(run.round_trips), 3)
    1.983
    """
    net = _net(trips)
    lost = -float(add(net[net < 0]))
    return float(add(net[net > 0])) / lost if lost > 0 else NAN


def markout(fills: pd.DataFrame, marks: pd.DataFrame, seconds: float) -> float:
    """Return the mean of side · (mark later − price) / price of fills, weighted by value.

    Parameters
    ----------
    fills : DataFrame
        Frame of `Results.fills`.
    marks : DataFrame
        Frame of `Results.marks`.
    seconds : float
        Time from the fill to the mark, seconds.

    Returns
    -------
    float
        Basis points, above 0 for a gain. NaN without fills, and where the marks are further apart than `seconds`.

    Examples
    --------
    >>> round(metrics.markout(run.fills, run.marks, 3_600), 1)
    -4.3
    """
    times = pd.DatetimeIndex(marks.index).as_unit("ms").asi8
    spacing = float(np.median(np.diff(times))) if len(times) > 1 else math.inf
    if not len(fills) or (seconds and spacing > seconds * 1_000):
        return NAN
    later = pd.DatetimeIndex(fills["time"]).as_unit("ms").asi8 + round(seconds * 1_000)
    rows = np.searchsorted(times, later, side="right") - 1
    columns = marks.columns.get_indexer(pd.Index(fills["symbol"]))
    prices, known = floats(fills["price"]), (rows >= 0) & (later <= times[-1])
    seen = marks.to_numpy(dtype="float64")[rows, columns]
    gains = np.where(fills["side"].isin(BUYS), 1, -1) * (seen - prices) / prices * 10_000
    known &= np.isfinite(gains)
    return float(np.average(gains[known], weights=floats(fills["value"])[known])) if known.any() else NAN


def trip_measures(trips: pd.DataFrame) -> dict[str, Any]:
    """Return what round trips show beyond their hit rate w.

    - expectancy: the mean of net / value at entry
    - sqn: the system quality number, mean(net) / std(net) · sqrt(n)
    - kelly: w − (1 − w) · mean loss / mean gain

    Parameters
    ----------
    trips : DataFrame
        Frame of `round_trips`.

    Returns
    -------
    dict of str to object
        best_trip, worst_trip: USDC. mean_duration, longest_trip: Timedelta. expectancy, kelly: ratios. sqn: a number.
        NaN and NaT where there are too few.

    Examples
    --------
    >>> round(metrics.trip_measures(run.round_trips)["kelly"], 3)
    0.289
    """
    net, held = floats(trips["net"]), trips["closed"] - trips["opened"]
    won, lost, spread = net[net > 0], -net[net < 0], deviation(net)
    rate = hit_rate(net)
    value = floats(trips["quantity"] * trips["entry_price"])
    return {
        "best_trip": float(net.max()) if len(net) else NAN,
        "worst_trip": float(net.min()) if len(net) else NAN,
        "mean_duration": held.mean(),
        "longest_trip": held.max(),
        "expectancy": float((net / value).mean()) if len(net) else NAN,
        "sqn": float(net.mean()) / spread * math.sqrt(len(net)) if spread > 0 else NAN,
        "kelly": rate - (1 - rate) * float(lost.mean() / won.mean()) if len(won) and len(lost) else NAN,
    }


def trip_profits(curve: Curve) -> Values:
    """Return the net of each position from flat to flat, symbol by symbol. See `round_trips`.

    Parameters
    ----------
    curve : Curve
        The arrays of the run.
    """
    found = [trips.nets for trips in _trips(curve)]
    return np.concatenate(found) if found else NOTHING


class _Trips(NamedTuple):
    """The fills of one symbol, divided into trips: each ends with the fill that closes the position or flips it.

    `rows` are the fills' numbers, `before` the position before each, `opened` the quantity that a fill opens after it
    has closed the position, which belongs to the next trip. `firsts` and `lasts` are the ends of the trips. `skipped`
    is 1 where the first one began before the run, so that nothing is known of its entry.
    """

    rows: NDArray[np.int64]
    signed: Values
    prices: Values
    fees: Values
    before: Values
    opened: Values
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    skipped: int

    def total(self, amounts: Values, carried: Values | None = None) -> Values:
        """Return the sum of each trip.

        Parameters
        ----------
        amounts : array of float64, shape (n,)
            Amount of each fill, in any unit.
        carried : array of float64, shape (n,), optional
            Parts of ending fills that belong to the next trip, one a fill (default: none).
        """
        found: Values = np.add.reduceat(amounts[: self.lasts[-1] + 1], self.firsts)
        if carried is not None:
            found[1:] += carried[self.lasts[:-1]]
        return found

    @property
    def nets(self) -> Values:
        """Gain of each trip after fees: the amount received less the amount paid, for longs and shorts alike."""
        paid = self.prices + self.fees / self.signed
        return self.total((self.opened - self.signed) * paid, -self.opened * paid)[self.skipped :]


def _trips(fills: Curve) -> Iterator[_Trips]:
    """Yield the fills of each symbol that has a finished trip."""
    for symbol in np.unique(fills.symbols):
        rows = np.flatnonzero((fills.symbols == symbol) & (fills.signed != 0))
        signed = fills.signed[rows]
        start = fills.start.get(int(symbol), 0.0)
        after = start + np.cumsum(signed)
        bound = abs(start) + np.cumsum(np.abs(signed))
        after[np.abs(after) < 1e-12 + 2 * ULP * bound] = 0.0  # what rounding leaves of nothing
        before = np.concatenate([[start], after[:-1]])
        ends = (before * after <= 0) & (before != 0)
        lasts = np.flatnonzero(ends)
        if len(lasts):
            firsts = np.concatenate([[0], lasts[:-1] + 1])
            opened = np.where(ends, after, 0.0)
            yield _Trips(rows, signed, fills.prices[rows], fills.fees[rows], before, opened, firsts, lasts,
                         int(start != 0))  # fmt: skip


def fill_arrays(
    fills: pd.DataFrame, hedge: bool | None = None, start: Mapping[str, tuple[float, float]] | None = None
) -> Curve:
    """Return fills as the arrays of a curve without points. In hedge mode each leg of a product has a number.

    Parameters
    ----------
    fills : DataFrame
        Frame of `Results.fills`.
    hedge : bool, optional
        Whether the account is in hedge mode (default: it is if a fill closes a leg).
    start : mapping of str to (float, float), optional
        Long and short of each product before the first fill, base units, 0 or above (default: none).
    """
    signed = fills["quantity"].where(fills["side"].isin(BUYS), -fills["quantity"])
    codes, names = pd.factorize(fills["symbol"])
    symbols, before = codes.astype("int64"), start or {}
    if hedge or (hedge is None and bool(fills["side"].isin(CLOSES).any())):
        symbols = 2 * symbols + fills["side"].isin(SHORT_SIDES).to_numpy()
        legs = {2 * at: before[name][0] for at, name in enumerate(names) if name in before}
        legs |= {2 * at + 1: -before[name][1] for at, name in enumerate(names) if name in before}
    else:
        legs = {at: before[name][0] - before[name][1] for at, name in enumerate(names) if name in before}
    traded = symbols, floats(signed), floats(fills["price"]), floats(fills["fee"])
    return Curve(NUMBERLESS, NOTHING, NOTHING, *traded, start=legs)


def _net(trips: pd.DataFrame | Values) -> Values:
    return trips if isinstance(trips, np.ndarray) else floats(trips["net"])
