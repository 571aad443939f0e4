"""Tardis CSV files: incremental_book_L2, book_snapshot_N, trades, quotes, book_ticker, derivative_ticker, liquidations.

Times are µs since 1970. Source: docs.tardis.dev, "Downloadable CSV files", data types.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ..event_array import Kind, from_columns, with_clears
from ..events import Events
from ..tables.cells import convert, read_table
from .text_files import TextFile, hashed

KINDS = "incremental_book_L2, book_snapshot_5 or _25, trades, quotes, book_ticker, derivative_ticker"
LEVEL = re.compile(r"(asks|bids)\[\d+\]\.(price|amount)")
PRICES = {"mark_price": Kind.MARK, "index_price": Kind.INDEX, "funding_rate": Kind.FUNDING}
TIMES = {"exchange_ns": "timestamp", "local_ns": "local_timestamp"}
ROW = {**TIMES, "side": "side", "price": "price", "quantity": "amount"}
"""Our field → the file's column, of updates and trades."""
KEYS = {"exchange", "symbol", *TIMES.values()}
"""Columns that each file has."""


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of a file by symbol.

    Parameters
    ----------
    source : TextFile
        File to read. Its header line says which of the types it is.
    """
    return read_rows(source, read_table(source))


def read_rows(source: TextFile, table: pd.DataFrame) -> dict[str, Events]:
    """Return the events of a table by symbol.

    Parameters
    ----------
    source : TextFile
        File that it is from.
    table : DataFrame
        Columns of one of the types, of text or of values.
    """
    columns, row, notes = set(table.columns), {"side", "price", "amount"}, list[str]()
    levels = [name for name in table.columns if LEVEL.fullmatch(name)]
    prices = [name for name in PRICES if name in columns]
    quoted = [f"{side}_{field}" for side in ("bid", "ask") for field in ("price", "amount")]
    make: Callable[[pd.DataFrame], NDArray[Any]]
    how: dict[str, Any]
    if row | {"is_snapshot"} <= columns:
        table = table.assign(is_snapshot=table["is_snapshot"].map(str).str.lower())
        choices = {"side": {"bid": 1, "ask": -1}, "is_snapshot": {"true": 1, "false": 0}}
        make, how = _incremental, {"numbers": ("price", "amount"), "choices": choices}
    elif levels:
        make, how = _snapshots, {"optional": levels}
    elif row <= columns:
        choices = {"side": {"buy": 1, "sell": -1, "unknown": 0}}
        make, how = _trades, {"numbers": ("price", "amount"), "choices": choices}
        if "liquidations" in source.path.name:
            notes.append("these trades are liquidations, which the file of all trades has as well")
    elif columns >= set(quoted):
        make, how = _quotes, {"optional": quoted}
    else:
        make, how = _prices, {"optional": prices}
    if not columns >= KEYS or (make is _prices and not prices):
        raise _unknown(source, table)
    table = convert(source, table, times=tuple(TIMES.values()), **how)
    if not {name for names in _levels(table).values() for pair in names for name in pair} <= columns:
        raise _unknown(source, table)
    if make is _incremental:
        table = _of_known_books(source, table, notes)
    where, notes = f"{source.path.name} (tardis)", [*notes, *source.notes]
    found = {}
    for symbol, part in table.groupby("symbol", sort=False):
        array = make(part)
        if make is _incremental:
            array = _without_repeated_clear(source, str(symbol), array)
        if len(array):
            exchange = part["exchange"].iloc[-1]
            found[str(symbol)] = Events(array, symbol=str(symbol), exchange=exchange, source=where, notes=notes)
    return found


def _unknown(source: TextFile, table: pd.DataFrame) -> InputError:
    got = ", ".join(table.columns)
    text = f"{source.path}, line 1: expected the columns of a Tardis file ({KINDS}), but got {got}"
    return InputError(text, field="path", rule="columns")


def _of_known_books(source: TextFile, table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return a table without the updates before a symbol's first snapshot: buffered ones of a book not known yet."""
    begun, seen = (source.before.setdefault(name, {}) for name in ("begun", "last"))
    snapshots = (table["is_snapshot"] == 1).groupby(table["symbol"])
    # In a part of a file, the book may be known from a part before.
    known = snapshots.cummax() | ~snapshots.transform("max") | table["symbol"].isin(list(begun))
    for symbol in snapshots.max()[lambda has: has].index:
        if symbol in seen and symbol not in begun:
            text = f"{source.path}: the book of {symbol} begins after so many updates that a run can't read it in parts"
            raise InputError(text, field="data", rule="in parts", value=str(source.path))
        begun[symbol] = True
    if not known.all():
        notes.append(f"{int((~known).sum())} updates before the first snapshot were left out")
    return table[known]


def _without_repeated_clear(source: TextFile, symbol: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return events without the CLEAR of a snapshot that began in the part of the file before this one."""
    last = source.before["last"]
    within = last.get(symbol) == Kind.SNAPSHOT and len(array) > 0 and array["kind"][0] == Kind.CLEAR
    if len(array):
        last[symbol] = array["kind"][-1]
    return array[1:] if within else array


def _incremental(table: pd.DataFrame) -> NDArray[Any]:
    """Return levels with a CLEAR before each snapshot."""
    snapshot = table["is_snapshot"].to_numpy() == 1
    levels = _rows(table, kind=np.where(snapshot, Kind.SNAPSHOT, Kind.DEPTH))
    return with_clears(levels, np.flatnonzero(snapshot & ~np.append(False, snapshot[:-1])))


def _trades(table: pd.DataFrame) -> NDArray[Any]:
    return _rows(table, kind=Kind.TRADE, id=hashed(table["id"]) if "id" in table else 0)


def _rows(table: pd.DataFrame, **more: object) -> NDArray[Any]:
    return from_columns({**{field: table[column] for field, column in ROW.items()}, **more}, len(table))


def _levels(table: pd.DataFrame) -> dict[int, list[tuple[str, str]]]:
    """Return the columns of price and amount of each level, by side (+1 bids)."""
    found = {}
    for side, word in ((1, "bids"), (-1, "asks")):
        depth = sum(1 for name in table.columns if re.fullmatch(rf"{word}\[\d+\]\.price", name))
        found[side] = [(f"{word}[{level}].price", f"{word}[{level}].amount") for level in range(depth)]
    return found


def _snapshots(table: pd.DataFrame) -> NDArray[Any]:
    """Return each row's CLEAR of what it covers on both sides, then its levels from the best on."""
    clears, levels = [], []
    for side, names in _levels(table).items():
        last = np.zeros(len(table))
        for price, amount in names:
            made, rows = _present(table, {"price": price, "quantity": amount}, kind=Kind.SNAPSHOT, side=side)
            last[rows] = made["price"]
            levels.append((made, rows))
        times = {field: table[column] for field, column in TIMES.items()}
        made = from_columns({**times, "kind": Kind.CLEAR, "side": side, "price": last}, len(table))
        clears.append((made, np.arange(len(table))))
    return _stacked([*clears, *levels])


def _quotes(table: pd.DataFrame) -> NDArray[Any]:
    bids, asks = ({"price": f"{word}_price", "quantity": f"{word}_amount"} for word in ("bid", "ask"))
    sides = ((bids, 1), (asks, -1))
    return _stacked([_present(table, columns, kind=Kind.QUOTE, side=side) for columns, side in sides])


def _prices(table: pd.DataFrame) -> NDArray[Any]:
    return _stacked([_present(table, {"price": name}, kind=kind) for name, kind in PRICES.items() if name in table])


def _present(table: pd.DataFrame, columns: dict[str, str], **fixed: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return events of the rows that have a price, and the numbers of these rows.

    `columns` are our fields of columns of the table, in which nothing is 0. `fixed` are those that are always the same.
    """
    rows = np.flatnonzero(table[columns["price"]].notna())
    values = {field: table[column].to_numpy()[rows] for field, column in {**TIMES, **columns}.items()}
    return from_columns({**fixed, **{field: np.nan_to_num(one) for field, one in values.items()}}, len(rows)), rows


def _stacked(parts: list[tuple[NDArray[Any], NDArray[np.int64]]]) -> NDArray[Any]:
    """Return the events of several parts row by row, those of one row in the order of the parts."""
    rows = np.concatenate([rows for _, rows in parts])
    return np.concatenate([part for part, _ in parts])[np.argsort(rows, kind="stable")]
