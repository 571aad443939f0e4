"""Shapes of tables: the names of columns, times in an index or in a column, and the rows of several symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from .times import TimeForm, expected_time, read_times, time_form

NAMES = {
    "time": "time timestamp open_time opentime date datetime start start_time start_at starttime timeopen time_open t"
    " ts unix unix_timestamp time_utc period_start calc_time fundingtime funding_time fundingratetimestamp unnamed_0"
    + " index_level_0 create_time created_time ticks transact_time trade_time gmt_time local_time",
    "symbol": "symbol ticker instrument instrument_name pair s coin tic",
    "open": "open o open_price first price_open openprice",
    "high": "high h high_price max price_high highprice",
    "low": "low l low_price min price_low lowprice",
    "close": "close c close_price last price_close closeprice",
    "volume": "base_volume volume_base basevolume base_asset_volume volume v vol amount qty quantity volumefrom",
    "rate": "funding_rate fundingrate last_funding_rate rate funding",
    "mark": "mark_px mark_price markprice mark",
    "index": "oracle_px index_price indexprice oracle_price index",
    "open_interest": "sum_open_interest open_interest openinterest",
    "open_interest_value": "sum_open_interest_value open_interest_value openinterestvalue",
    "premium": "premium",
    "price": "price px p",
    "quantity": "size_base base_size qty quantity amount size volume vol v sz q base_qty",
    "side": "side direction taker_side aggressor_side is_buyer_maker isbuyermaker m",
    "id": "trade_id tradeid id tid trdmatchid agg_trade_id a",
    "local_time": "local_timestamp received received_time",
}
"""Column → the names it is known by, as `plain_name` makes them, the most usual first."""
PRICES = ("open", "high", "low", "close")
ANY_NEWEST = 2**63 - 1
YEAR_NS = 365 * 86_400 * 10**9


def plain_name(name: object) -> str:
    """Return the name of a column in lower case, with "_" for all that is no letter or digit.

    Parameters
    ----------
    name : object
        Name as the table has it.
    """
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")


def flat(table: pd.DataFrame, form: TimeForm | None = None) -> pd.DataFrame:
    """Return a table with its index of times as a column, one row for each time and symbol, and names of text.

    Parameters
    ----------
    table : DataFrame
        Frame of any index and columns.
    form : TimeForm, optional
        Form of the times, which decides what a time is (default: recognised).
    """
    if table.columns.nlevels == 2:
        table = _by_symbol(table)
    timed = time_column(table) is not None
    if table.index.nlevels > 1:
        table = table.reset_index()
    elif not is_numbered(table.index):
        index = table.index
        # Numbers of rows that were sorted or chosen are no times, and labels of rows are not either.
        if index.name is None and (timed or read_times(index[:100], form).wrong.all()):
            table = table.reset_index(drop=True) if timed or index.dtype.kind in "iu" else table.reset_index()
        else:
            table = table.rename_axis(str(index.name or "time")).reset_index()
    return table.set_axis([str(name) for name in table.columns], axis=1)


def _by_symbol(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with columns of two levels, one of which is the symbol, in long form."""
    levels = [{plain_name(name) for name in table.columns.get_level_values(at)} for at in (0, 1)]
    prices = next((at for at, names in enumerate(levels) if set(PRICES) <= names), None)
    if prices is None:
        return table.set_axis(["_".join(map(str, pair)).strip("_") for pair in table.columns], axis=1)
    # The column of times has no symbol. Files have it first, and no name in one of the levels.
    index = [pair for pair in table.columns if plain_name(pair[prices]) in ("price", "ticker", "date", "")]
    symbols = list(dict.fromkeys(table.columns.get_level_values(1 - prices)))
    symbols = [name for name in symbols if name not in {pair[1 - prices] for pair in index}]
    parts = []
    for name in symbols:
        part = pd.DataFrame(table.xs(name, axis=1, level=1 - prices))
        kept = (part.notna() & (part != "")).any(axis=1)  # another symbol has the times of these rows
        for pair in index:
            part = part.assign(time=table[pair])
        parts.append(part[kept].assign(symbol=str(name)))
    return pd.DataFrame(pd.concat(parts))


def time_column(table: pd.DataFrame) -> Any:
    """Return the name of the column that holds the times, None if no column has a name of times.

    Parameters
    ----------
    table : DataFrame
        Frame of any columns.
    """
    names = {plain_name(name): name for name in reversed(list(table.columns))}
    return next((names[name] for name in NAMES["time"].split() if name in names), None)


def is_numbered(index: pd.Index) -> bool:
    """Return whether an index numbers the rows. Times at one distance are a RangeIndex as well.

    Parameters
    ----------
    index : Index
        Index of a frame.
    """
    return isinstance(index, pd.RangeIndex) and index.name is None and index.start < 10**6


def form_of(attrs: Mapping[Any, Any], values: Any) -> TimeForm:
    """Return the form by which the times of a frame are read: `load` has already judged those of its own frames.

    Parameters
    ----------
    attrs : mapping
        `attrs` of the frame.
    values : Series or Index
        Times of the frame. Those that are times may be of a simulated clock, which begins in 1970 or runs ahead.
    """
    judged = "understood" in attrs or pd.api.types.is_datetime64_any_dtype(values.dtype)
    return TimeForm(oldest_ns=-ANY_NEWEST, newest_ns=ANY_NEWEST) if judged else time_form()


def times_ms(name: str, values: Any, attrs: Mapping[Any, Any], field: str = "data") -> NDArray[np.int64]:
    """Return the times of rows in Unix ms.

    Parameters
    ----------
    name : str
        Name of the data in errors, such as its symbol.
    values : Series or Index
        Times in any form that `read_times` reads.
    attrs : mapping
        `attrs` of the frame.
    field : str, optional
        Argument that the data is of (default: "data").

    Raises
    ------
    InputError
        For what is no time, or has two readings. It names the way to read it.
    """
    form = form_of(attrs, values)
    try:
        read = read_times(values, form)
    except InputError as error:
        ways = " or ".join(f'data.load(frame, {error.field}="{value}")' for value in error.nearest)
        text = f"{name}: {error}. Pass {ways} in place of the frame" if ways else f"{name}: {error}"
        raise InputError(text, field=error.field, value=error.value, nearest=error.nearest) from None
    if not read.wrong.any():
        _refuse_two_units(name, read.ns, field)
        return read.ns // 1_000_000
    missing = pd.isna(pd.Series(values)).to_numpy()
    row = int(np.argmax(missing if missing.any() else read.wrong))
    value = pd.Series(values).iloc[row]
    if missing.any():
        text = f"{name}: a time is missing in row {row + 1}. Drop its row, frame = frame.drop(frame.index[{row}])"
        raise InputError(text, field=field, rule="times")
    expected, bound, years = expected_time(pd.Series(values)[read.wrong], form)
    way = f'data.load(frame, {bound}="{years[0]}")' if years else 'data.load(frame, damaged="skip")'
    if read.wrong.all() and not years:
        way = "a frame with a DatetimeIndex or a column time, such as pandas.to_datetime gives"
    text = f"{name}, row {row + 1}: expected {expected}, not {str(value)!r}. Pass {way}"
    raise InputError(text, field=field, rule="times", value=str(value))


def _refuse_two_units(name: str, ns: NDArray[np.int64], field: str) -> None:
    """Raise InputError for times of which some were made from numbers with the unit of others: they are of 1970."""
    early = (ns >= 0) & (ns < YEAR_NS)
    if early.any() and (ns > 20 * YEAR_NS).any() and not ((ns >= YEAR_NS) & (ns <= 20 * YEAR_NS)).any():
        row = int(np.argmax(early))
        text = (
            f"{name}, row {row + 1}: the time {pd.Timestamp(int(ns[row]), unit='ns')} is of 1970 and others are later"
        )
        way = 'Their numbers have two units. Pass the numbers, or data.load(frame, damaged="skip") to leave it out'
        raise InputError(f"{text}. {way}", field=field, rule="one unit")
