"""Binance's free archives, daily and monthly: trades, aggregated trades and best prices as CSV, mostly in a zip file.

Files of futures and of the spot market are read, with and without a header line, with times in ms or µs. Source: the
exchange's page on its public data.
"""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....extras import need
from ..event_array import MS, Kind, from_columns
from ..events import Events
from .text_files import BOM, TextFile

WHOLE, NUMBER, FLAG = r"\d{1,18}", r"\d{1,15}(\.\d{1,15})?([eE][+-]?\d\d?)?", r"(?i:true|false)"
TIME = r"[12](\d{12}|\d{15})"
"""Unix ms or µs."""
SPOT = {"best": FLAG}
"""Last column of the spot market's trades: whether it was at the best price. It always was."""
TRADES = {"id": WHOLE, "price": NUMBER, "quantity": NUMBER, "quote": NUMBER, "time": TIME, "maker": FLAG}
AGGREGATED = {
    "id": WHOLE, "price": NUMBER, "quantity": NUMBER, "first": WHOLE, "last": WHOLE, "time": TIME, "maker": FLAG
}  # fmt: skip
QUOTES = {
    "id": WHOLE, "bid": NUMBER, "bid_quantity": NUMBER, "ask": NUMBER, "ask_quantity": NUMBER, "time": TIME,
    "sent": TIME,
}  # fmt: skip
TABLES = {
    "trades": (TRADES, {**TRADES, **SPOT}),
    "aggregated trades": (AGGREGATED, {**AGGREGATED, **SPOT}),
    "best prices": (QUOTES,),
}
"""Content of a file → its columns in order with their patterns, for files of futures and of the spot market."""
HEADERS = {"id": "trades", "agg_trade_id": "aggregated trades", "update_id": "best prices"}
"""First column of a file with a header line → what the file holds."""
TYPES = {WHOLE: "int64", NUMBER: "float64", FLAG: "bool_", TIME: "int64"}
Table = dict[str, NDArray[Any]]


def kind_of_table(line: bytes) -> str | None:
    """Return what a file holds, None when it is no archive of trades or best prices.

    Parameters
    ----------
    line : bytes
        First line of the file.
    """
    fields = line.removeprefix(BOM).decode(errors="replace").strip().split(",")
    if fields[0] in HEADERS:
        kind = HEADERS[fields[0]]
        flagged = {"is_buyer_maker", "isBuyerMaker"} & set(fields)
        return kind if len(fields) in map(len, TABLES[kind]) and (flagged or kind == "best prices") else None
    return next((kind for kind, forms in TABLES.items() for form in forms if _pattern(form).fullmatch(line)), None)


def _pattern(columns: dict[str, str]) -> re.Pattern[bytes]:
    return re.compile(",".join(columns.values()).encode() + rb"\s*")


def read(source: TextFile, kind: str) -> dict[str, Events]:
    """Return the events of one file, by the symbol that its name begins with.

    Parameters
    ----------
    source : TextFile
        File to read.
    kind : str
        Kind of its content, a key of `TABLES`.
    """
    parts: list[NDArray[Any]] = []
    columns: dict[str, str] = {}
    for number, block in source.blocks():
        if not columns:
            first, _, rest = block.partition(b"\n")
            columns = next(form for form in TABLES[kind] if len(form) == first.count(b",") + 1)
            if first.split(b",")[0] in map(str.encode, HEADERS):
                number, block = number + 1, rest
        table = _numbers(block, columns)
        if table is None:  # something in it is no row: find out which, and read the others
            lines, pattern = enumerate(block.split(b"\n"), number), _pattern(columns)
            rows = []
            for at, line in lines:
                if pattern.fullmatch(line):
                    rows.append(line)
                elif line.strip():
                    source.damaged(at, line, f"{len(columns)} columns of {kind}: {', '.join(columns)}")
            table = _numbers(b"\n".join(rows), columns)
        if table is not None:
            parts.append(_quotes(table) if kind == "best prices" else _trades(table))
    source.close_notes()
    if not parts:
        return {}
    named = re.match(r"([A-Z0-9_]+)-(trades|aggTrades|bookTicker)-", source.path.name)
    symbol, array = named[1] if named else "", np.concatenate(parts)
    where = f"{source.path.name} (binance-usdm, {kind})"
    return {symbol: Events(array, symbol=symbol, exchange="binance-usdm", source=where, notes=source.notes)}


def _numbers(block: bytes, columns: dict[str, str]) -> Table | None:
    """Return the columns of a block of lines, None when one of them is damaged."""
    need("pyarrow")
    import pyarrow as pa
    from pyarrow import csv

    if not block.strip():
        return {name: np.zeros(0) for name in columns}
    types = {name: getattr(pa, TYPES[pattern])() for name, pattern in columns.items()}
    flags = {"true_values": ["true", "True", "TRUE"], "false_values": ["false", "False", "FALSE"]}
    try:
        read = csv.read_csv(
            io.BytesIO(block),
            read_options=csv.ReadOptions(column_names=list(columns), block_size=len(block) + 1),
            convert_options=csv.ConvertOptions(column_types=types, null_values=[], **flags),
        )
    except pa.ArrowInvalid:
        return None
    table = {name: read[name].to_numpy() for name in columns}
    for name, pattern in columns.items():
        low, high = (10**12, 3 * 10**15) if pattern == TIME else (0, 10**18)
        if pattern != FLAG and not ((table[name] >= low) & (table[name] < high)).all():
            return None
    return table


def _ns(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return Unix ms or µs as ns."""
    return np.where(times < 10**14, times * MS, times * 1_000)


def _trades(table: Table) -> NDArray[Any]:
    columns = {
        **dict.fromkeys(("exchange_ns", "local_ns"), _ns(table["time"])),
        "kind": Kind.TRADE,
        "side": np.where(table["maker"], -1, 1),
        **{name: table[name] for name in ("price", "quantity", "id")},
    }
    return from_columns(columns, len(table["id"]))


def _quotes(table: Table) -> NDArray[Any]:
    """Return two events a row, the bid first. The exchange sent the row at `sent`."""
    made = from_columns({"kind": Kind.QUOTE}, 2 * len(table["id"]))
    for first, side, name in ((0, 1, "bid"), (1, -1, "ask")):
        rows = made[first::2]
        rows["side"], rows["price"], rows["quantity"] = side, table[name], table[f"{name}_quantity"]
        rows["id"], rows["exchange_ns"], rows["local_ns"] = table["id"], _ns(table["time"]), _ns(table["sent"])
    return made
