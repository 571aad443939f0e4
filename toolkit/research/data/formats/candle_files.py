"""Files with one table: CSV, Parquet, Feather and JSON, and those of freqtrade, by their names.

Source: freqtrade's documentation, "Data Downloading" (columns date, open, high, low, close, volume, where open is the
rate of a funding file), and pandas' orientations of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
import pandas as pd

from ....coverage import of_attrs
from ....errors import InputError
from ....extras import need
from ..events import COLUMNS, Events, events_of_table, holds_events, read_events
from ..tables.cells import KNOWN, layout_of, read_table
from ..tables.columns import OtherColumns, columns_for, matrix_names, read_columns
from ..tables.shapes import plain_name
from .text_files import TextFile

TRADES = ["timestamp", "id", "type", "side", "price", "amount", "cost"]
"""Columns of freqtrade's lists of trades."""


def read_csv(source: TextFile) -> dict[str, Any]:
    """Return the candles, funding rates or trades of a file of text.

    Parameters
    ----------
    source : TextFile
        File to read.
    """
    layout = layout_of(source)
    table = read_table(source, layout)
    return read_frame(source, table if layout.names else matrix_names(source, table))


def read_parquet(source: TextFile) -> dict[str, Any]:
    """Return the table of a Parquet or Feather file, or the events of one that `Events.save` wrote.

    Parameters
    ----------
    source : TextFile
        File to read.
    """
    path, rows = source.path, source.rows
    if set(COLUMNS) <= set(rows.column_names) if rows is not None else path.suffix != ".feather" and holds_events(path):
        events = read_events(path) if rows is None else events_of_table(path, rows)
        return {events.symbol: events}
    return read_frame(source, _arrow_table(source))


def read_json(source: TextFile) -> dict[str, Any]:
    """Return the table of a JSON file: rows, columns, or an exchange's answer around them, or one row a line.

    Parameters
    ----------
    source : TextFile
        File to read.
    """
    return read_frame(source, _json_table(source))


def read_frame(source: TextFile, table: pd.DataFrame) -> dict[str, Any]:
    """Return what a table holds, see `read_columns`. The error of a missing column names those that could be meant.

    Parameters
    ----------
    source : TextFile
        File or frame that it is from.
    table : DataFrame
        Table with the names of the source's columns.
    """
    try:
        found, known = read_columns(source, table), of_attrs(table.attrs)
        for part in found.values():
            if known and isinstance(part, pd.DataFrame):
                part.attrs["coverage"] = known
        return found
    except InputError as error:
        guessed = columns_for(table, error)
        if not guessed:
            raise
        raise OtherColumns(str(error), "known", [guessed]) from None


def _arrow_table(source: TextFile) -> pd.DataFrame:
    need("pyarrow")
    import pyarrow as pa

    path = source.path
    if source.rows is not None:
        made: pd.DataFrame = source.rows.to_pandas()
        return made
    try:
        return pd.read_feather(path) if path.suffix == ".feather" else pd.read_parquet(path)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: expected a Parquet or Feather file: {error}", field="path") from None


def _json_table(source: TextFile, names: Iterable[str] | None = None) -> pd.DataFrame:
    text = source.read()
    source.begins = 0
    try:
        try:
            decoded = msgspec.json.decode(text)
        except msgspec.DecodeError:
            decoded = [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
        table = _table_in(decoded)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{source.path}: expected JSON rows: {error}", field="path") from None
    if table is None:
        said = f"{source.path}: expected JSON with rows or columns of candles, rates or trades, but found none"
        raise InputError(said, field="path", rule="rows")
    if all(isinstance(name, int) for name in table.columns):
        if names is not None:
            return table.set_axis([*names, *map(str, range(99))][: table.shape[1]], axis=1)
        return matrix_names(source, table)
    return table


def _table_in(value: Any) -> pd.DataFrame | None:
    """Return the table in a decoded answer: the longest that is found, None for none."""
    if isinstance(value, list):
        if value and all(isinstance(row, dict) for row in value):
            known = _knows(value[0])
            return pd.DataFrame(value) if known else _longest(value)
        if value and all(isinstance(row, list) for row in value):
            return pd.DataFrame(value)
        return _longest(value)
    if not isinstance(value, dict):
        return None
    if _knows(value) and not any(isinstance(part, list | dict) for part in value.values()):
        return pd.DataFrame([value])  # the only row of a file of lines
    if {"columns", "data"} <= set(value) and isinstance(value["columns"], list):
        return pd.DataFrame(value["data"], columns=value["columns"], index=value.get("index"))
    parts = list(value.values())
    if _knows(value) and len({type(part) for part in parts}) == 1 and isinstance(parts[0], list | dict):
        return pd.DataFrame(value)
    if parts and all(isinstance(part, dict) and _knows(part) for part in parts):
        made: pd.DataFrame = pd.DataFrame.from_dict(value, orient="index")
        return made
    # An answer of columns has its status beside them.
    lists = {name: part for name, part in value.items() if isinstance(part, list)}
    if _knows(lists) and len({len(part) for part in lists.values()}) == 1:
        return pd.DataFrame(lists)
    return _longest(parts)


def _knows(names: Iterable[str]) -> bool:
    return len({plain_name(name) for name in names} & KNOWN) > 1


def _longest(parts: Iterable[Any]) -> pd.DataFrame | None:
    found = [table for part in parts if (table := _table_in(part)) is not None]
    return max(found, key=len, default=None)


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
    trades = "-trades." in name
    if ".json" in name:
        table = _json_table(source, TRADES if trades else None)
    elif name.endswith((".feather", ".parquet")):
        table = _arrow_table(source)
    else:
        raise InputError(f"{path}: expected a .feather, .parquet, .json or .json.gz file of freqtrade", field="path")
    (found,) = read_frame(source, table).values()
    if isinstance(found, Events):
        found.symbol, found.source = symbol, f"{name} (freqtrade)"
        return {symbol: found}
    if "symbol" not in found:
        found.insert(1, "symbol", pd.Series([symbol] * len(found), dtype="string"))
    rates = "-funding_rate" in name and "open" in found
    return {symbol: found[["time", "symbol", "open"]].rename(columns={"open": "rate"}) if rates else found}
