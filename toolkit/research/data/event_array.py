"""Arrays of events: what an event is, and the grid of its prices and quantities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import InputError
from ...numerals import span_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

MS = 1_000_000
"""Nanoseconds in a millisecond."""


class Kind(IntEnum):
    """The kind of an event. The comments say what `price` and `quantity` mean."""

    DEPTH = 1
    """The new total of a price level. Quantity 0 removes it."""
    TRADE = 2
    """A public trade. Side is the taker's."""
    CLEAR = 3
    """The levels of one side (0: both) from the best up to `price` are void (price 0: all of them)."""
    SNAPSHOT = 4
    """A level of a snapshot, which follows a CLEAR."""
    QUOTE = 5
    """The best price of a side with its total, from its own channel."""
    ADD = 10
    """A single order joins the book. `id` is the order's."""
    CANCEL = 11
    MODIFY = 12
    """`price` and `quantity` are the order's new ones."""
    FILL = 13
    """`quantity` of a single order was traded."""
    MARK = 20
    INDEX = 21
    FUNDING = 22
    """`price` is the rate, as a ratio."""


BOOK_KINDS = (Kind.DEPTH, Kind.CLEAR, Kind.SNAPSHOT)
ORDER_KINDS = (Kind.ADD, Kind.CANCEL, Kind.MODIFY, Kind.FILL)
PRICED = (Kind.DEPTH, Kind.TRADE, Kind.CLEAR, Kind.SNAPSHOT, Kind.QUOTE, *ORDER_KINDS)
"""Kinds whose prices lie on the tick grid."""

EVENT = np.dtype(
    [
        ("exchange_ns", "i8"),
        ("local_ns", "i8"),
        ("kind", "u1"),
        ("side", "i1"),
        ("price", "f8"),
        ("quantity", "f8"),
        ("id", "i8"),
        ("previous", "i8"),
    ]
)
"""One event: Unix ns at the exchange and at the recorder. Side +1 bid or buy, −1 ask or sell, 0 neither. `id` of the
trade, order or book update (0: none). `previous` is the id of the update before it, where the source says so."""


class EventArray:
    """Events of one product in the order in which they were received.

    Parameters
    ----------
    array : array
        Structured NumPy array of dtype `EVENT`. It is kept as a read-only view.
    symbol : str, optional
        Product as the source names it, "" if it does not (default: "").
    tick_size : Decimal, optional
        Multiple of all prices (default: the finest power of ten that they are multiples of).
    step_size : Decimal, optional
        Multiple of all quantities (default: the finest power of ten that they are multiples of).

    Attributes
    ----------
    array : array of EVENT
        Structured NumPy array, read-only.
    symbol : str
        Product as the source names it, "" if it does not.
    tick_size : Decimal
        Multiple of all prices.
    step_size : Decimal
        Multiple of all quantities.
    """

    def __init__(
        self,
        array: NDArray[Any],
        *,
        symbol: str = "",
        tick_size: Decimal | None = None,
        step_size: Decimal | None = None,
    ) -> None:
        if array.dtype != EVENT:
            raise InputError(f"events have the dtype EVENT, not {array.dtype}", field="events", rule="dtype")
        self.array = array.view()
        self.array.flags.writeable = False  # `cache` depends on it
        self.symbol = symbol
        priced = np.isin(array["kind"], PRICED)
        self.tick_size = tick_size or grid_of(array["price"][priced])
        self.step_size = step_size or grid_of(array["quantity"][priced])
        self.cache: dict[Any, Any] = {}
        """Values computed from the array that would be computed again, such as the books of a backtest."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "cache": {}}

    def __len__(self) -> int:
        return len(self.array)

    @property
    def grid(self) -> dict[str, Any]:
        """Its tick_size and step_size."""
        return {"tick_size": self.tick_size, "step_size": self.step_size}

    def of(self, *kinds: Kind) -> NDArray[Any]:
        """Return the rows of the array that are of some kinds.

        Parameters
        ----------
        *kinds : Kind
            Kinds to return.
        """
        return self.array[np.isin(self.array["kind"], kinds)]


def refuse_inverse(symbol: str, exchange: str = "") -> None:
    """Raise InputError for a contract whose value is in its coin: profit and loss here are of linear ones.

    Parameters
    ----------
    symbol : str
        Product as its exchange names it.
    exchange : str, optional
        Name of the exchange (default: not known). Some exchanges say it by the form of the symbol.
    """
    name, venue = symbol.upper(), exchange.lower()
    inverse: object = re.search(r"/USD:(?!USD)|USD_PERP$|USD_\d{6}$|-USD-SWAP$|^XBT(USD|[HMUZ]\d\d)$", name)
    inverse = inverse or (venue in ("bitmex", "bybit") and re.search(r"USD([HMUZ]\d\d)?$", name))
    if inverse or venue == "binance-delivery" or (venue == "deribit" and "_USD" not in name):
        text = f"{symbol} is an inverse contract, settled in its coin. Runs value linear contracts only"
        raise InputError(f"{text}. Take the linear one, such as BTCUSDT", field="data", rule="linear", value=symbol)


def bars_of_trades(trades: pd.DataFrame, symbol: str, interval: str) -> pd.DataFrame:
    """Return OHLCV bars of trades. Intervals without trades have none.

    Parameters
    ----------
    trades : DataFrame
        Columns time (UTC), price (USDC) and quantity (base units).
    symbol : str
        Product symbol of the bars.
    interval : str
        Length of a bar, such as "1m".

    Returns
    -------
    DataFrame
        One row a bar:

        - time: datetime64[ms, UTC], start of the bar
        - symbol: string
        - open, high, low, close: float64, USDC
        - volume: float64, base units
    """
    stamps = trades["time"].dt.floor(pd.Timedelta(span_ns(interval, "interval"))).astype("datetime64[ms, UTC]")
    grouped = trades.groupby(stamps)
    made = grouped["price"].agg(["first", "max", "min", "last"]).set_axis(["open", "high", "low", "close"], axis=1)
    made = made.assign(volume=grouped["quantity"].sum()).reset_index(names="time")
    made.insert(1, "symbol", pd.Series([symbol] * len(made), dtype="string"))
    return made


def grid_of(values: NDArray[np.float64], most_places: int = 12) -> Decimal:
    """Return the finest power of ten that all values are multiples of.

    Parameters
    ----------
    values : array of float64
        Prices or quantities. Those that are not finite are left out.
    most_places : int, optional
        Most decimal places. Values with more get a grid of that many (default: 12).
    """
    values = np.unique(values)
    values = values[np.isfinite(values)]
    for places in range(most_places):
        # Prices are binary floats. The tolerance takes 0.1 + 0.2 as a multiple of 0.1.
        scaled = values * 10.0**places
        if np.all(np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(1.0, np.abs(scaled))):
            return Decimal(1).scaleb(-places)
    return Decimal(1).scaleb(-most_places)


def whole_units_of(values: NDArray[np.float64], size: float) -> NDArray[np.int64]:
    """Return values as whole numbers of ticks or steps. NaN becomes 0, and too large values are bounded.

    Parameters
    ----------
    values : array of float64
        Prices or quantities.
    size : float
        Tick or step, in the unit of the values.
    """
    with np.errstate(over="ignore"):
        # The conversion of a larger float64 to int64 could wrap around without a warning.
        return np.rint(np.nan_to_num(values / size)).clip(-(2**52), 2**52).astype(np.int64)


def empty(count: int = 0) -> NDArray[Any]:
    """Return an array of events whose fields are zero.

    Parameters
    ----------
    count : int, optional
        Number of events (default: 0).
    """
    return np.zeros(count, dtype=EVENT)


def from_columns(columns: Mapping[str, Any], count: int) -> NDArray[Any]:
    """Return an array of events from columns. The fields that are left out are zero.

    Parameters
    ----------
    columns : mapping of str to object
        Values by name of the field, one a row or one for all.
    count : int
        Number of events.
    """
    array = empty(count)
    for name, values in columns.items():
        array[name] = values
    return array


def with_clears(array: NDArray[Any], starts: NDArray[np.int64], **fields: object) -> NDArray[Any]:
    """Return events with a CLEAR before some of their rows, which has the times and the id of the row.

    Parameters
    ----------
    array : array
        Events.
    starts : array of int64
        Numbers of the rows that a CLEAR precedes.
    **fields : object
        Further fields of the CLEAR rows, such as the side.
    """
    clears = empty(len(starts))
    for name in ("exchange_ns", "local_ns", "id"):
        clears[name] = array[name][starts]
    for name, values in {"kind": Kind.CLEAR, **fields}.items():
        clears[name] = values
    # the sort is stable and each CLEAR stands first, so that it comes before the row it begins
    order = np.argsort(np.concatenate([starts, np.arange(len(array))]), kind="stable")
    return np.concatenate([clears, array])[order]
