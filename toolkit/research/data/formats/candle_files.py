"""Candles, funding rates and market metrics: CSV, Parquet, and the files of freqtrade, as DataFrames.

Columns are found by their usual names, or stated. Source: freqtrade's documentation, "Data Downloading" (columns
date, open, high, low, close, volume, where open is the rate of a funding file), and the headers of exchanges' archives.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ....extras import need
from ..event_array import Kind, from_columns
from ..events import Events, holds_events, read_events
from .text_files import A_TIME, SHOWN, TextFile, convert, delimiter_of, first_line, hashed, read_table, times_of, to_ns

NAMES = {
    "time": "time timestamp open_time opentime date datetime start start_time start_at starttime t ts unix"
    " unix_timestamp time_utc period_start calc_time fundingtime funding_time fundingratetimestamp unnamed_0"
    " index_level_0 create_time",
    "symbol": "symbol ticker instrument pair s coin",
    "open": "open o open_price first",
    "high": "high h high_price max",
    "low": "low l low_price min",
    "close": "close c close_price last",
    "volume": "volume v vol base_volume volume_base amount qty quantity",
    "rate": "funding_rate fundingrate last_funding_rate rate funding",
    "mark": "mark_px mark_price markprice mark",
    "index": "oracle_px index_price indexprice oracle_price index",
    "open_interest": "sum_open_interest open_interest openinterest",
    "open_interest_value": "sum_open_interest_value open_interest_value openinterestvalue",
    "premium": "premium",
}
"""Column → the names it is known by, in lower case, the most usual first."""
METRICS = ("mark", "index", "open_interest", "open_interest_value", "premium")
"""Columns of a history of metrics, which any of them makes. Funding rates and other numbers stay in it."""

CLOCK = r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?"
"""A time of day."""
WANTED = ("time", "open", "high", "low", "close")
MATRIX = ("time", "open", "high", "low", "close", "volume")
"""Columns of lists without names: freqtrade's, and those of archives without a header line."""


def read_csv(source: TextFile) -> dict[str, pd.DataFrame]:
    """Return the candles or funding rates of a CSV file.

    Parameters
    ----------
    source : TextFile
        File to read.
    """
    line, _ = first_line(source)
    fields = line.decode(errors="replace").split(delimiter_of(line))
    header = not all(re.fullmatch(r'\s*"?-?\d+(\.\d*)?([eE][+-]?\d+)?"?\s*', part) for part in fields[1:5])
    table = read_table(source, header=header)
    if not header:
        table = table.iloc[:, : len(MATRIX)].set_axis(MATRIX[: min(len(MATRIX), table.shape[1])], axis=1)
    found = guess(source.path, list(table.columns), source.columns)
    named = {name.lower().strip("<>"): name for name in table.columns}
    if found["time"] == named.get("time", "") and "date" in named:  # day and time of day in columns of their own
        clock = table[found["time"]]
        table[found["time"]] = clock.where(~clock.str.fullmatch(CLOCK), table[named["date"]] + " " + clock)
    empty = ("volume", *found) if set(METRICS) & set(found) else ("volume",)
    optional = [found[name] for name in found if name in empty and name not in ("time", "symbol")]
    numbers = [found[name] for name in found if name not in ("time", "symbol") and found[name] not in optional]
    table = convert(source, table, times=(found["time"],), numbers=numbers, optional=optional)
    return {"": _frame({name: table[column] for name, column in found.items()}, source.notes)}


def read_parquet(source: TextFile) -> dict[str, Any]:
    """Return the candles or funding rates of a Parquet file, or the events of one that `Events.save` wrote.

    Parameters
    ----------
    source : TextFile
        File to read.
    """
    if holds_events(source.path):
        events = read_events(source.path)
        return {events.symbol: events}
    return {"": read_frame(_arrow_table(source.path), source.path, source.columns)}


def read_frame(table: pd.DataFrame, path: Path, columns: Mapping[str, str] | None) -> pd.DataFrame:
    """Return the candles or funding rates of a table.

    Parameters
    ----------
    table : DataFrame
        Table with the names of the file's columns.
    path : Path
        File that the columns are from, for the error.
    columns : mapping of str to str or None
        Our name → the file's, of columns that can't be guessed, None to guess all.
    """
    table = _times_as_column(table)
    found = guess(path, list(table.columns), columns)
    made: dict[str, Any] = {}
    for name, column in found.items():
        values = table[column]
        if name == "symbol":
            made[name] = values
        elif name != "time":
            made[name] = pd.to_numeric(values, errors="coerce")
            _first_wrong(path, column, values, made[name].isna() & values.notna(), "a number")
        elif pd.api.types.is_datetime64_any_dtype(values.dtype):
            _first_wrong(path, column, values, values.isna(), "a time")
            made[name] = values.dt.tz_localize("UTC") if values.dt.tz is None else values
        else:
            times, wrong = times_of(values)
            _first_wrong(path, column, values, wrong, A_TIME)
            made[name] = times
    return _frame(made)


def _arrow_table(path: Path) -> pd.DataFrame:
    need("pyarrow")
    import pyarrow as pa

    try:
        return pd.read_feather(path) if path.suffix == ".feather" else pd.read_parquet(path)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: expected a Parquet or Feather file: {error}", field="path") from None


def _times_as_column(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its index as a column, which is `time` where an index of times has no name."""
    if not isinstance(table.index, pd.RangeIndex):
        unnamed = isinstance(table.index, pd.DatetimeIndex) and table.index.name is None
        table = table.rename_axis("time").reset_index() if unnamed and "time" not in table else table.reset_index()
    return table.set_axis([str(name) for name in table.columns], axis=1)


def _first_wrong(
    path: Path, column: str, values: pd.Series[Any], wrong: pd.Series[bool] | NDArray[np.bool_], expected: str
) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        got = str(values.iloc[int(rows[0])])
        text = f"{path}, row {rows[0] + 1}: expected {expected} in the column {column}, but got {got!r}"
        raise InputError(text, field=column, rule=expected, value=got)


def guess(path: Path, names: list[str], columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return our column → the file's column, stated or guessed.

    Parameters
    ----------
    path : Path
        File that the columns are from, for the error.
    names : list of str
        Names of the file's columns, in order.
    columns : mapping of str to str or None
        Our name → the file's, of columns that can't be guessed, None to guess all.

    Raises
    ------
    InputError
        For a column that is needed and not there.
    """
    lowered = {re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"): name for name in reversed(names)}
    found = {}
    for ours, known in NAMES.items():
        match = next((lowered[name] for name in known.split() if name in lowered), None)
        if match is None and ours == "volume":  # such as "Volume BTC"; of several the first is the base's
            match = next((name for name in names if name.lower().startswith("vol")), None)
        if match is not None:
            found[ours] = match
    for ours, theirs in (columns or {}).items():
        if ours not in NAMES or theirs not in names:
            where = f"columns are {', '.join(NAMES)}" if ours not in NAMES else f"{path} has {', '.join(names)}"
            raise InputError(f"columns={{{ours!r}: {theirs!r}}}: {where}", field="columns", value=theirs)
        found[ours] = theirs
    metrics = {"time", *METRICS} & set(found)
    if len(metrics) > 1 and "time" in metrics and "close" not in found:
        more = [name for name in names if "ratio" in name]  # long to short, of accounts and of positions
        return {**{name: found[name] for name in NAMES if name in {*metrics, "symbol", "rate"} & set(found)},
                **dict(zip(more, more, strict=True))}  # fmt: skip
    found = {name: column for name, column in found.items() if name not in METRICS}
    if "rate" in found and "close" not in found:
        found = {name: found[name] for name in ("time", "symbol", "rate") if name in found}
    missing = [name for name in (("time", "rate") if "rate" in found else WANTED) if name not in found]
    if missing:
        text = f"{path}, line 1: expected a column for {', '.join(missing)}, but it has {', '.join(names)}"
        example = f"Name them, for example columns={{{missing[0]!r}: {names[0]!r}}}"
        raise InputError(f"{text}. {example}", field="columns", rule="known", nearest=tuple(names))
    return {name: found[name] for name in NAMES if name in found and (name != "rate" or "close" not in found)}


def read_freqtrade(source: TextFile) -> dict[str, pd.DataFrame | Events]:
    """Return the candles, funding rates (by name: `…-funding_rate…`) or trades of one file of freqtrade.

    Parameters
    ----------
    source : TextFile
        File to read.
    """
    path, name = source.path, source.path.name
    # XRPUSDT of XRP_USDT_USDT-1h-futures.feather; "" for others
    match = re.search(r"([A-Za-z0-9]+)_([A-Za-z0-9]+)(_[A-Za-z0-9]+)?-\w+", name)
    symbol = match[1] + match[2] if match else ""
    if "-trades." in name:
        return {symbol: _freqtrade_trades(source, symbol)}
    if ".json" in name:
        frame = _frame(_json_columns(source, MATRIX))
    elif name.endswith((".feather", ".parquet")):
        frame = read_frame(_arrow_table(path), path, None)
    else:
        raise InputError(f"{path}: expected a .feather, .parquet, .json or .json.gz file of freqtrade", field="path")
    frame.insert(1, "symbol", pd.Series([symbol] * len(frame), dtype="string"))
    rates = "-funding_rate" in name
    return {symbol: frame[["time", "symbol", "open"]].rename(columns={"open": "rate"}) if rates else frame}


def _json_columns(source: TextFile, names: Sequence[str], texts: Sequence[str] = ()) -> dict[str, Any]:
    """Return the columns of a JSON list of lists: the first are times in ms, `texts` texts, others numbers."""
    try:
        rows = msgspec.json.decode(source.read())
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{source.path}: expected a JSON list of lists: {error}", field="path") from None
    made: list[list[Any]] = []
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        try:
            if not isinstance(row, list) or len(row) < len(names):
                raise ValueError("too few values")
            named = zip(names, row, strict=False)
            values = [str(value or "") if name in texts else _number(name, value) for name, value in named]
            made.append([to_ns(int(row[0])), *values[1:]])
        except (ValueError, TypeError, OverflowError):
            expected = f"a list of {len(names)} values ({', '.join(names)})"
            source.damaged(1, b"", f"{expected} as item {number}, not {str(row)[:SHOWN]}")
    source.close_notes()
    columns = zip(*made, strict=True) if made else [[] for _ in names]
    pairs = zip(names, columns, strict=True)
    return {name: pd.Series(list(values), dtype="str" if name in texts else None) for name, values in pairs}


def _number(name: str, value: Any) -> float:
    """Return a number. A volume that is null, as of mark prices, is NaN. Raises ValueError or TypeError for others."""
    if value is None and name == "volume":
        return math.nan
    if not math.isfinite(number := float(value)):
        raise ValueError("not finite")
    return number


def _freqtrade_trades(source: TextFile, symbol: str) -> Events:
    """Return trades: timestamp (ms), id, type, side, price, amount, cost."""
    names, path = ["timestamp", "id", "type", "side", "price", "amount"], source.path
    if ".json" in path.name:
        table = pd.DataFrame(_json_columns(source, names, texts=("id", "type", "side")))
    else:
        table = _times_as_column(_arrow_table(path))
        if missing := ", ".join(name for name in names if name not in table):
            raise InputError(f"{path}: expected the columns {', '.join(names)}, but it has no {missing}", field="path")
        table["timestamp"], wrong = times_of(table["timestamp"])
        _first_wrong(path, "timestamp", table["timestamp"], wrong, A_TIME)
    sides = table["side"].map({"buy": 1, "sell": -1})
    _first_wrong(path, "side", table["side"], sides.isna(), "buy or sell")
    columns = {
        **dict.fromkeys(("exchange_ns", "local_ns"), table["timestamp"]),
        "side": sides,
        "price": pd.to_numeric(table["price"], errors="coerce"),
        "quantity": pd.to_numeric(table["amount"], errors="coerce"),
        "id": hashed(table["id"].astype("str").replace({"None": ""})),
    }
    array = from_columns({**columns, "kind": Kind.TRADE}, len(table))
    return Events(array, symbol=symbol, source=f"{path.name} (freqtrade)", notes=source.notes)


def _frame(columns: Mapping[str, Any], notes: Sequence[str] = ()) -> pd.DataFrame:
    made = pd.DataFrame(dict(columns)).reset_index(drop=True)
    times = made["time"]
    if not pd.api.types.is_datetime64_any_dtype(times.dtype):
        times = pd.to_datetime(times.astype("i8"), unit="ns", utc=True)
    made["time"] = times.astype("datetime64[ms, UTC]")
    if "symbol" in made:
        made["symbol"] = made["symbol"].astype("string")
    numbers = [name for name in made.columns if name not in ("time", "symbol")]
    made = made.astype(dict.fromkeys(numbers, "float64"))
    if notes:
        made.attrs["notes"] = list(notes)
    return made
