"""Bars: OHLCV input of many shapes, checked and converted into one form, and the path of prices inside a bar."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from ...coverage import Unproven, of_attrs, unproven
from ...errors import InputError
from ...interchange import to_pandas
from ...numerals import milliseconds
from ...venue.simulation.replay import ReplayBar
from .event_array import refuse_inverse
from .recording import Recording
from .tables.shapes import NAMES, PRICES, flat, is_numbered, plain_name, time_column, times_ms

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Bars of one symbol.

    A bar covers [opened, closed): it is complete after `interval`, and no later than the next bar opens (months have
    different lengths). `closed` is read-only.

    Parameters
    ----------
    symbol : str
        Product symbol.
    interval : int
        Usual length of a bar, ms.
    opened : array of int64
        When each bar begins, Unix ms, increasing.
    open : array of float64
        First price of each bar, USDC.
    high : array of float64
        Highest price of each bar, USDC.
    low : array of float64
        Lowest price of each bar, USDC.
    close : array of float64
        Last price of each bar, USDC.
    volume : array of float64
        Traded quantity of each bar, base units, 0 if it is not known.
    unproven : sequence of Unproven, optional
        Spans of which the source did not prove that their bars are complete (default: none is known).
    """

    symbol: str
    interval: int
    opened: NDArray[np.int64]
    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]
    volume: NDArray[np.float64]
    unproven: Sequence[Unproven] = ()
    closed: NDArray[np.int64] = field(init=False)
    """When each bar is complete, Unix ms."""

    def __post_init__(self) -> None:
        ends = self.opened + self.interval
        # February is shorter than the usual month: a bar must not end after the next one begins.
        np.minimum(ends[:-1], self.opened[1:], out=ends[:-1])
        ends.flags.writeable = False
        object.__setattr__(self, "closed", ends)

    def __len__(self) -> int:
        return len(self.opened)

    def frame(self) -> pd.DataFrame:
        """Return the bars as a frame.

        Returns
        -------
        DataFrame
            Index `time` (start, UTC), float64 columns open, high, low, close (USDC) and volume (base units).
        """
        index = pd.to_datetime(self.opened, unit="ms", utc=True).rename("time")
        return pd.DataFrame({name: getattr(self, name) for name in ("open", "high", "low", "close", "volume")}, index)


def read_bars(
    data: object, *, symbol: str | None = None, interval: str | pd.Timedelta | None = None
) -> dict[str, Bars]:
    """Return data as Bars by symbol.

    The data is one of:

    - an OHLCV frame of pandas, or of a library that has the Arrow interface (polars, pyarrow, duckdb). Its columns are
      open, high, low, close and perhaps volume in any case. Times are the index or a column time or timestamp, as times
      or as epochs (s, ms, µs and ns are distinguished by size). Naive times are UTC.
    - the same in long form with a column symbol, or a mapping symbol → frame
    - a wide frame of closes with one column for each symbol (each open is then the previous close)
    - a Recording (its bars of `interval`, default a minute), or what this function returned

    Parameters
    ----------
    data : DataFrame, Recording, Bars or mapping
        Bars in one of these shapes.
    symbol : str, optional
        Name of a frame without a name (default: "ASSET").
    interval : str or Timedelta, optional
        Length of a bar (default: the most frequent spacing).

    Returns
    -------
    dict of str to Bars
        Bars of each symbol.

    Raises
    ------
    InputError
        For times that are missing, repeated or not increasing, and for an `interval` longer than the bars' spacing.
        Prices that are missing, not positive, or outside their bar's high and low also raise it.
    """
    if isinstance(data, Recording):
        interval = interval or "1m"
        recorded = {name: data.bars(name, interval) for name in data.symbols}
        data = {name: part for name, part in recorded.items() if len(part)}
    # The points of a sweep pass bars that were read and checked before.
    if isinstance(data, Mapping) and interval is None and all(isinstance(part, Bars) for part in data.values()):
        found = dict(data)  # checked before
    else:
        found = {name: _read_one(name, part, interval) for name, part in _parts(data, symbol).items()}
    for name in found:
        refuse_inverse(name)
    if not found:
        raise InputError("there are no bars in the data", field="data", rule="not empty")
    return found


def tick_of(bars: Bars, max_places: int = 8) -> Decimal:
    """Return the finest power of ten that all prices are multiples of.

    Computed prices may have no grid, or one so fine that exact money would need coarse quantities. They get a tick of
    about a millionth of the highest price, and are rounded to it.

    Parameters
    ----------
    bars : Bars
        Bars of one symbol.
    max_places : int, optional
        Most decimal places of the tick (default: 8).
    """
    prices = np.concatenate([bars.open, bars.high, bars.low, bars.close])
    highest = float(prices.max())
    magnitude = math.floor(math.log10(highest))
    for places in range(min(max_places, max(3, 7 - magnitude)) + 1):
        scaled = prices * 10.0**places
        if np.allclose(scaled, np.round(scaled), rtol=1e-11, atol=1e-6 * min(1.0, highest * 10.0**places)):
            return Decimal(1).scaleb(-places)
    # No grid was found. A millionth of the price keeps rounding far below any cost that is modelled.
    return Decimal(1).scaleb(-min(max_places, max(0, 5 - magnitude)))


def whole(units: float) -> int:
    """Return how many whole units there are. Float noise takes none away: 1.001 / 0.001 is 1000.9999999999999.

    Parameters
    ----------
    units : float
        Number of units, 0 or above.
    """
    return math.floor(units * (1 + 1e-12))


def _parts(data: object, symbol: str | None) -> dict[str, pd.DataFrame]:
    if isinstance(data, Bars):
        return {data.symbol: _frame_of(data)}
    if isinstance(data, Mapping):
        return {str(name): _frame_of(part) for name, part in data.items()}
    data = _frame_of(data)
    if "symbol" in data.index.names or data.columns.nlevels == 2:
        data = flat(data)
    if "close" not in {str(name).lower() for name in data.columns}:  # o, h, l and c, or 1. open
        data = _with_usual_names(data)
    names = [str(name).lower() for name in data.columns]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if data.columns.nlevels > 1 or repeated is not None:
        single = data.columns.nlevels == 1
        what = f"the column {repeated!r} occurs twice" if single else "its columns have several levels"
        text = f"{what}. Pass a frame with one column each of open, high, low, close, or a mapping symbol → frame"
        raise InputError(text, field="data", rule="columns")
    lowered = set(names)
    if "symbol" in lowered:
        column = next(name for name in data.columns if str(name).lower() == "symbol")
        return {str(name): part.drop(columns=column) for name, part in data.groupby(column, sort=False, observed=True)}
    if "close" not in lowered:
        data = by_time(data)
        return {str(name): data[[name]].set_axis(["close"], axis=1) for name in data.columns}
    return {symbol or "ASSET": data}


def _with_usual_names(data: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose four prices have names that are known by these names, any other one unchanged."""
    plain = {plain_name(name): name for name in reversed(list(data.columns))}
    found = {ours: next((plain[name] for name in NAMES[ours].split() if name in plain), None) for ours in PRICES}
    if None in found.values():
        return data
    return data.rename(columns={theirs: ours for ours, theirs in found.items()})


def _frame_of(data: object) -> pd.DataFrame:
    """Return bars in any shape as a frame. Raises InputError for what is no table."""
    if isinstance(data, Bars):
        return data.frame()
    data = to_pandas(data)
    if isinstance(data, pd.Series):
        data = data.to_frame("close")
    if not isinstance(data, pd.DataFrame):
        text = f"data is {type(data).__name__}. Pass an OHLCV frame or a mapping symbol → frame"
        raise InputError(text, field="data", rule="type")
    return data


def by_time(data: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with its column of times as the index, if it has one.

    Parameters
    ----------
    data : DataFrame
        Frame of any columns.
    """
    column = time_column(data)
    if column is None:
        return data
    index = pd.to_datetime(times_ms("data", data[column], data.attrs), unit="ms", utc=True)
    made: pd.DataFrame = data.drop(columns=column).set_axis(index.rename("time"), axis=0)
    return made


def _read_one(symbol: str, data: pd.DataFrame, interval: str | pd.Timedelta | None) -> Bars:
    names = {str(name).lower(): name for name in data.columns}
    if "close" not in names or len(names) < len(data.columns):
        raise InputError(f"{symbol}: a frame of bars has one column 'close'", field="data", rule="columns")
    opened = np.ascontiguousarray(row_times(symbol, data), dtype="int64")
    wrong = np.flatnonzero(opened[1:] <= opened[:-1])
    if len(wrong):
        at = pd.Timestamp(int(opened[wrong[0] + 1]), unit="ms", tz="UTC")
        column = time_column(data)
        ordered = "frame.sort_index()" if column is None else f"frame.sort_values({column!r})"
        again = "~frame.index.duplicated()" if column is None else f"~frame[{column!r}].duplicated()"
        only = "" if len(np.unique(opened)) == len(opened) else f".loc[lambda frame: {again}]"
        text = f"{symbol}: the time {at} is not after the previous one. Pass {ordered}{only}"
        raise InputError(text, field="data", rule="increasing times", value=str(at))
    if len(opened) == 0:
        raise InputError(f"{symbol}: there are no bars in the data", field="data", rule="not empty")
    close = _numbers(symbol, data, names, "close")
    columns = {"close": close}
    if set(PRICES) <= set(names):
        columns |= {name: _numbers(symbol, data, names, name) for name in PRICES[:3]}
    else:
        previous = np.concatenate([close[:1], close[:-1]])
        columns |= {"open": previous, "high": np.maximum(previous, close), "low": np.minimum(previous, close)}
    volume = np.zeros(len(close))
    if "volume" in names:
        volume = np.where(np.isnan(given := _numbers(symbol, data, names, "volume")), 0.0, given)
    _check_prices(symbol, opened, columns)
    _refuse(symbol, opened, ~((volume >= 0) & (volume < np.inf)), "volume", volume, "a number that is not negative")
    length, known = _interval(symbol, opened, interval), of_attrs(data.attrs)
    doubts = unproven(known, opened, length) if known else ()
    return Bars(symbol, length, opened, **columns, volume=volume, unproven=doubts)


def _numbers(symbol: str, data: pd.DataFrame, names: Mapping[str, Any], name: str) -> NDArray[np.float64]:
    try:
        values: NDArray[np.float64] = data[names[name]].to_numpy(dtype="float64", na_value=np.nan)
        return values
    except (ValueError, TypeError) as error:
        raise InputError(f"{symbol}: {name} holds values that are not numbers: {error}", field=f"data.{name}") from None


def row_times(symbol: str, data: pd.DataFrame) -> NDArray[np.int64]:
    """Return the time of each row in Unix ms: of its time column, else of its index.

    Parameters
    ----------
    symbol : str
        Product symbol, for the error.
    data : DataFrame
        Frame with the rows.

    Raises
    ------
    InputError
        If there are no times.
    """
    column = time_column(data)
    times: Any = data[column] if column is not None else data.index
    if column is None and is_numbered(times):
        text = f"{symbol}: the index has no times. Use a DatetimeIndex or a column 'time'"
        raise InputError(text, field="data", rule="times")
    return times_ms(symbol, times, data.attrs)


def _check_prices(symbol: str, opened: NDArray[np.int64], columns: Mapping[str, NDArray[np.float64]]) -> None:
    open_, high, low, close = (columns[name] for name in PRICES)
    # All together first: what is missing, infinite or outside makes one of these false.
    highest, lowest = np.maximum(open_, close), np.minimum(open_, close)
    if ((low > 0) & (high < np.inf) & (low <= lowest) & (highest <= high)).all():
        return
    inside = np.ones(len(opened), dtype=bool)
    for name in PRICES:
        values = columns[name]
        wrong = ~(np.isfinite(values) & (values > 0))
        _refuse(symbol, opened, wrong, name, values, "a positive number. Drop or fill it")
        # A relative tolerance, because computed prices can be off by rounding.
        inside &= (values <= high * (1 + 1e-12)) & (values >= low * (1 - 1e-12))
    _refuse(symbol, opened, ~inside, "close", columns["close"], "within low and high, as open must be too")


def _refuse(
    symbol: str, opened: NDArray[np.int64], wrong: NDArray[Any], name: str, values: NDArray[Any], expected: str
) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        at = pd.Timestamp(int(opened[row]), unit="ms", tz="UTC")
        text = f"{symbol}: {name} at {at} is {values[row]}, but must be {expected}"
        raise InputError(text, field=f"data.{name}", rule=expected, value=float(values[row]))


def _interval(symbol: str, opened: NDArray[np.int64], interval: str | pd.Timedelta | None) -> int:
    if len(opened) < 2 and interval is None:
        text = f"{symbol}: a single bar has no spacing to measure. Pass interval="
        raise InputError(text, field="interval", rule="needed")
    gaps = np.diff(opened)
    usual = int(gaps[0]) if len(gaps) else 0
    if (gaps != usual).any():
        lengths, counts = np.unique(gaps, return_counts=True)
        # The most frequent gap, not the shortest: weekends and missing bars make longer ones, a repeated minute a
        # shorter one.
        usual = int(lengths[np.argmax(counts)])
    if interval is None:
        return usual
    length = milliseconds(interval, "interval")
    if length <= 0 or (usual and length > usual):
        spacing = pd.Timedelta(usual, unit="ms")
        text = f"{symbol}: bars {spacing} apart can't be {pd.Timedelta(length, unit='ms')} long. Resample them first"
        raise InputError(text, field="interval", rule="at most the spacing", value=str(interval))
    return length


Points = tuple[tuple[int, int], ...]
"""(offset in ms from the bar's start, price in ticks) in order."""


class Path(Protocol):
    """The order of the prices inside a bar."""

    def points(self, bar: ReplayBar) -> Points:
        """Return the points of a bar as (ms from its start, price in ticks): first (0, open), last the close.

        Parameters
        ----------
        bar : ReplayBar
            Bar with prices in ticks and its volume in steps.
        """


@dataclass(frozen=True)
class ExtremeOrder:
    """Open, one extreme, the other, and close, at 0, 1/3, 2/3 and the end of the bar.

    Parameters
    ----------
    first : {"near", "far", "low", "high"}, optional
        Extreme that comes first (default: "near"). With "near" it is opposite to the close: a rising bar falls first.
        With "far" it is the other one. With "low" and "high" it is always that one.
    """

    first: str = "near"

    def __post_init__(self) -> None:
        if self.first not in (known := ("near", "far", "low", "high")):
            raise InputError(f"first is {self.first!r}, not one of {', '.join(known)}", field="first", nearest=known)

    def points(self, bar: ReplayBar) -> Points:
        """Return the four points of a bar.

        Parameters
        ----------
        bar : ReplayBar
            Bar with prices in ticks and its volume in steps.
        """
        rising = bar.close >= bar.open
        low_first = {"near": rising, "far": not rising, "low": True, "high": False}[self.first]
        one, two = (bar.low, bar.high) if low_first else (bar.high, bar.low)
        third = bar.interval // 3
        return (0, bar.open), (third, one), (2 * third, two), (bar.interval - 1, bar.close)
