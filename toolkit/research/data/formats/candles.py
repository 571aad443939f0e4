"""Candles and funding rates: CSV, Parquet, and the files of freqtrade, as DataFrames that a backtest takes.

Columns are found by their usual names, or stated. Source: freqtrade's documentation, "Data Downloading" (columns
date, open, high, low, close, volume; of a funding file, open is the rate), and the headers of exchanges' archives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd

from ....errors import InputError
from ....extras import need
from ..events import Events, Kind, from_columns
from .files import TextFile
from .tables import hashed, numbers_of, read_table, times_ns

NAMES = {
    "time": "time timestamp open_time opentime date datetime start start_time starttime t ts unix calc_time fundingtime"
    " funding_time",
    "symbol": "symbol ticker instrument pair s",
    "open": "open o open_price first",
    "high": "high h high_price max",
    "low": "low l low_price min",
    "close": "close c close_price last",
    "volume": "volume v vol base_volume volume_base amount qty quantity",
    "rate": "funding_rate fundingrate last_funding_rate rate",
}
"""Column → the names it is known by, in lower case, the most usual first."""

WANTED = ("time", "open", "high", "low", "close")
MATRIX = ("time", "open", "high", "low", "close", "volume")
"""Columns of lists without names: freqtrade's, and those of archives without a header line."""


def read_csv(source: TextFile, columns: Mapping[str, str] | None) -> pd.DataFrame:
    """Return the candles or funding rates of a CSV file; `columns` names those that can't be guessed."""
    head = source.head().split(b"\n", 1)[0].decode(errors="replace")
    header = not all(part.strip().strip('"').replace(".", "", 1).isdigit() for part in head.split(",")[:5])
    table = read_table(source, header=header)
    if not header:
        table = table.iloc[:, : len(MATRIX)].set_axis(MATRIX[: min(len(MATRIX), table.shape[1])], axis=1)
    found = guess(source.path, list(table.columns), columns)
    first = 2 if header else 1
    made = {"time": times_ns(source, table, found["time"], first_line=first)}
    texts = {name: table[column] for name, column in found.items() if name == "symbol"}
    numbers = [name for name in found if name not in ("time", "symbol")]
    values = {name: numbers_of(source, table, found[name], first_line=first) for name in numbers}
    return _frame({**made, **texts, **values})


def read_table_file(path: Path, columns: Mapping[str, str] | None) -> pd.DataFrame:
    """Return the candles or funding rates of a Parquet or Feather file."""
    need("pyarrow")
    import pyarrow as pa

    try:
        table = pd.read_feather(path) if path.suffix == ".feather" else pd.read_parquet(path)
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        raise InputError(f"{path}: expected a Parquet or Feather file; {error}", field="path") from None
    if not isinstance(table.index, pd.RangeIndex):
        table = table.reset_index()
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    found = guess(path, list(table.columns), columns)
    times = table[found["time"]]
    if not pd.api.types.is_datetime64_any_dtype(times.dtype):
        times = pd.Series(times_ns(TextFile(path), table, found["time"], first_line=1))
        times = pd.to_datetime(times, unit="ns", utc=True)
    elif times.dt.tz is None:
        times = times.dt.tz_localize("UTC")
    return _frame({"time": times, **{name: table[found[name]] for name in found if name != "time"}})


def guess(path: Path, names: list[str], columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return our column → the file's column, stated or guessed. Raises InputError for what is not there."""
    lowered = {name.lower().strip(): name for name in reversed(names)}
    found = {}
    for ours, known in NAMES.items():
        match = next((lowered[name] for name in known.split() if name in lowered), None)
        if match is not None:
            found[ours] = match
    for ours, theirs in (columns or {}).items():
        if ours not in NAMES or theirs not in names:
            where = f"columns are {', '.join(NAMES)}" if ours not in NAMES else f"{path} has {', '.join(names)}"
            raise InputError(f"columns={{{ours!r}: {theirs!r}}}: {where}", field="columns", value=theirs)
        found[ours] = theirs
    if "rate" in found and "close" not in found:
        found = {name: found[name] for name in ("time", "symbol", "rate") if name in found}
    missing = [name for name in (("time", "rate") if "rate" in found else WANTED) if name not in found]
    if missing:
        raise InputError(
            f"{path}, line 1: expected a column for {', '.join(missing)}; it has {', '.join(names)}. Name them, for"
            f" example columns={{{missing[0]!r}: {names[0]!r}}}",
            field="columns",
            rule="known",
            nearest=tuple(names),
        )
    return {name: found[name] for name in NAMES if name in found and (name != "rate" or "close" not in found)}


def read_freqtrade(source: TextFile) -> pd.DataFrame | Events:
    """Return the candles, funding rates (by name: `…-funding_rate…`) or trades of one file of freqtrade."""
    path = source.path
    stem = path.name
    if "-trades." in stem:
        return _freqtrade_trades(source)
    if ".json" in stem:
        frame = _frame({"time": (rows := _json_rows(source, 6))[:, 0] * 1_000_000, **_numbers(rows)})
    elif stem.endswith((".feather", ".parquet")):
        frame = read_table_file(path, None)
    else:
        raise InputError(f"{path}: expected a .feather, .parquet, .json or .json.gz file of freqtrade", field="path")
    frame.insert(1, "symbol", pd.Series([symbol_of(stem)] * len(frame), dtype="string"))
    if "-funding_rate" in stem:
        return frame[["time", "symbol", "open"]].rename(columns={"open": "rate"})
    return frame


def _numbers(rows: np.ndarray) -> dict[str, np.ndarray]:
    return {name: rows[:, at].astype("f8") for at, name in enumerate(MATRIX) if at}


def _json_rows(source: TextFile, width: int) -> np.ndarray:
    with source.open() as stream:
        text = stream.read()
    try:
        rows = msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise InputError(f"{source.path}: expected a JSON list of candles; {error}", field="path") from None
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        if not isinstance(row, list) or len(row) < width:
            raise InputError(
                f"{source.path}, item {number}: expected a list of {width} values; got {str(row)[:60]}", field="path"
            )
    return np.array([row[:width] for row in rows], dtype="object").reshape(len(rows), width)


def _freqtrade_trades(source: TextFile) -> Events:
    """Return trades: timestamp (ms), id, type, side, price, amount, cost."""
    names = ["timestamp", "id", "type", "side", "price", "amount"]
    if ".json" in source.path.name:
        table = pd.DataFrame(_json_rows(source, len(names)), columns=names)
    else:
        table = pd.read_feather(source.path) if source.path.suffix == ".feather" else pd.read_parquet(source.path)
    stamps = table["timestamp"].to_numpy(dtype="i8") * 1_000_000
    array = from_columns(
        {
            "exchange_ns": stamps,
            "local_ns": stamps,
            "kind": Kind.TRADE,
            "side": np.where(table["side"] == "buy", 1, -1),
            "price": table["price"].to_numpy(dtype="f8"),
            "quantity": table["amount"].to_numpy(dtype="f8"),
            "id": hashed(table["id"].astype("str").replace({"None": ""})),
        },
        len(table),
    )
    return Events(array, symbol=symbol_of(source.path.name), source=f"{source.path.name} (freqtrade)")


def symbol_of(name: str) -> str:
    """Return the symbol of a file name of freqtrade, XRPUSDT of XRP_USDT_USDT-1h-futures.feather; "" for others."""
    match = re.search(r"([A-Za-z0-9]+)_([A-Za-z0-9]+)(_[A-Za-z0-9]+)?-\w+", name)
    return match[1] + match[2] if match else ""


def _frame(columns: Mapping[str, object]) -> pd.DataFrame:
    made = pd.DataFrame(dict(columns))
    times = made["time"]
    if not pd.api.types.is_datetime64_any_dtype(times.dtype):
        times = pd.to_datetime(times.astype("i8"), unit="ns", utc=True)
    made["time"] = times.astype("datetime64[ms, UTC]")
    if "symbol" in made:
        made["symbol"] = made["symbol"].astype("string")
    numbers = [name for name in made.columns if name not in ("time", "symbol")]
    return made.astype(dict.fromkeys(numbers, "float64"))
