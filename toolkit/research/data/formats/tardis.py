"""Tardis CSV files: incremental_book_L2, book_snapshot_N, trades, quotes, book_ticker, derivative_ticker, liquidations.

Times are µs since 1970. Source: docs.tardis.dev, "Downloadable CSV files", data types.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ..events import Events, Kind, empty, from_columns
from .files import TextFile
from .tables import hashed, numbers_of, read_table, times_ns

KINDS = "incremental_book_L2, book_snapshot_5 or _25, trades, quotes, book_ticker, derivative_ticker"


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of a file by symbol."""
    table = read_table(source)
    columns = set(table.columns)
    if not {"exchange", "symbol", "timestamp", "local_timestamp"} <= columns:
        raise _unknown(source, table)
    exchange_ns, local_ns = (times_ns(source, table, name) for name in ("timestamp", "local_timestamp"))
    notes: list[str] = []
    if "is_snapshot" in columns:
        made, rows = _incremental(source, table, notes)
    elif any(re.fullmatch(r"(asks|bids)\[\d+\]\.price", name) for name in columns):
        made, rows = _snapshots(source, table)
    elif {"side", "price", "amount"} <= columns:
        made, rows = _trades(source, table), np.arange(len(table))
    elif {"bid_price", "ask_price"} <= columns:
        made, rows = _quotes(source, table)
    elif columns & {"mark_price", "index_price", "funding_rate"}:
        made, rows = _derivative(source, table)
    else:
        raise _unknown(source, table)
    made["exchange_ns"], made["local_ns"] = exchange_ns[rows], local_ns[rows]
    symbols = table["symbol"].to_numpy()[rows]
    exchanges = dict(zip(table["symbol"], table["exchange"], strict=True))
    where = f"{source.path.name} (tardis)"
    return {
        str(symbol): Events(
            made[symbols == symbol], symbol=str(symbol), exchange=exchanges[symbol], source=where, notes=notes
        )
        for symbol in dict.fromkeys(symbols)
    }


def _sides(source: TextFile, table: pd.DataFrame, bid: str, ask: str) -> NDArray[np.int64]:
    sides = table["side"].map({bid: 1, ask: -1, "unknown": 0})
    wrong = np.flatnonzero(sides.isna())
    if len(wrong):
        got = table["side"].iloc[int(wrong[0])]
        raise InputError(
            f"{source.path}, line {wrong[0] + 2}: expected {bid} or {ask} in the column side; got {got!r}",
            field="side",
            rule=f"{bid} or {ask}",
            value=got,
        )
    return np.asarray(sides, dtype=np.int64)


def _trades(source: TextFile, table: pd.DataFrame) -> NDArray[Any]:
    return from_columns(
        {
            "kind": Kind.TRADE,
            "side": _sides(source, table, "buy", "sell"),
            "price": numbers_of(source, table, "price"),
            "quantity": numbers_of(source, table, "amount"),
            "id": hashed(table["id"]) if "id" in table else 0,
        },
        len(table),
    )


def _incremental(source: TextFile, table: pd.DataFrame, notes: list[str]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return levels with a CLEAR before each snapshot, and the row of the table that each event comes from.

    Updates before the first snapshot are buffered ones of a book that is not known yet, so they are left out.
    """
    snapshot = (table["is_snapshot"].str.lower() == "true").to_numpy()
    symbols = pd.factorize(table["symbol"])[0]
    levels = from_columns(
        {
            "kind": np.where(snapshot, Kind.SNAPSHOT, Kind.DEPTH),
            "side": _sides(source, table, "bid", "ask"),
            "price": numbers_of(source, table, "price"),
            "quantity": numbers_of(source, table, "amount"),
        },
        len(table),
    )
    before = pd.Series(snapshot).groupby(symbols).shift(fill_value=False).to_numpy(dtype=bool)
    starts = np.flatnonzero(snapshot & ~before)
    seen = pd.Series(snapshot).groupby(symbols).cummax().to_numpy(dtype=bool)
    known = seen | ~pd.Series(snapshot).groupby(symbols).transform("max").to_numpy(dtype=bool)
    if not known.all():
        notes.append(f"{int((~known).sum())} updates before the first snapshot were left out")
    clears = empty(len(starts))
    clears["kind"] = Kind.CLEAR
    made = np.concatenate([clears, levels])
    rows = np.concatenate([starts, np.arange(len(table))])
    order = np.argsort(rows, kind="stable")  # a CLEAR comes before the level of the same row
    order = order[known[rows[order]]]
    return made[order], rows[order]


def _snapshots(source: TextFile, table: pd.DataFrame) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return each row's CLEAR of what it covers on both sides, then its levels from the best on."""
    parts, order = [], []
    for side, word in ((1, "bids"), (-1, "asks")):
        depth = sum(1 for name in table.columns if re.fullmatch(rf"{word}\[\d+\]\.price", name))
        last = np.zeros(len(table))
        for level in range(depth):
            names = [f"{word}[{level}].{field}" for field in ("price", "amount")]
            there = (table[names[0]] != "").to_numpy()
            rows = np.flatnonzero(there)
            price, amount = (numbers_of(source, table[there], name) for name in names)
            last[rows] = price
            values = {"kind": Kind.SNAPSHOT, "side": side, "price": price, "quantity": amount}
            parts.append((from_columns(values, len(rows)), rows))
            order.append(np.full(len(rows), 2 + level + (side < 0) * depth))
        clears = from_columns({"kind": Kind.CLEAR, "side": side, "price": last}, len(table))
        parts.append((clears, np.arange(len(table))))
        order.append(np.full(len(table), int(side < 0)))
    made, rows = np.concatenate([part for part, _ in parts]), np.concatenate([rows for _, rows in parts])
    sorting = np.lexsort((np.concatenate(order), rows))
    return made[sorting], rows[sorting]


def _stacked(parts: list[tuple[NDArray[Any], NDArray[np.int64]]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    made, rows = np.concatenate([part for part, _ in parts]), np.concatenate([rows for _, rows in parts])
    sorting = np.argsort(rows, kind="stable")
    return made[sorting], rows[sorting]


def _quotes(source: TextFile, table: pd.DataFrame) -> tuple[NDArray[Any], NDArray[np.int64]]:
    parts = []
    for side, word in ((1, "bid"), (-1, "ask")):
        rows = np.flatnonzero((table[f"{word}_price"] != "").to_numpy())
        there = table.iloc[rows]
        values = {
            "kind": Kind.QUOTE,
            "side": side,
            "price": numbers_of(source, there, f"{word}_price"),
            "quantity": numbers_of(source, there, f"{word}_amount"),
        }
        parts.append((from_columns(values, len(rows)), rows))
    return _stacked(parts)


def _derivative(source: TextFile, table: pd.DataFrame) -> tuple[NDArray[Any], NDArray[np.int64]]:
    parts = []
    for name, kind in (("mark_price", Kind.MARK), ("index_price", Kind.INDEX), ("funding_rate", Kind.FUNDING)):
        if name in table:
            rows = np.flatnonzero((table[name] != "").to_numpy())
            price = numbers_of(source, table.iloc[rows], name)
            parts.append((from_columns({"kind": kind, "price": price}, len(rows)), rows))
    return _stacked(parts)


def _unknown(source: TextFile, table: pd.DataFrame) -> InputError:
    return InputError(
        f"{source.path}, line 1: expected the columns of a Tardis file ({KINDS}); got {', '.join(table.columns)}",
        field="path",
        rule="columns",
    )
