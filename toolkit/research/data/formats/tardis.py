"""Tardis CSV files: incremental_book_L2, book_snapshot_N, trades, quotes, book_ticker, derivative_ticker, liquidations.

Times are µs since 1970. Source: docs.tardis.dev, "Downloadable CSV files", data types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ..events import Events, Kind, empty, from_columns
from .files import TextFile
from .tables import convert, hashed, read_table

KINDS = "incremental_book_L2, book_snapshot_5 or _25, trades, quotes, book_ticker, derivative_ticker"
LEVEL = re.compile(r"(asks|bids)\[\d+\]\.(price|amount)")
PRICES = {"mark_price": Kind.MARK, "index_price": Kind.INDEX, "funding_rate": Kind.FUNDING}


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of a file by symbol."""
    table = read_table(source)
    columns = set(table.columns)
    if not {"exchange", "symbol", "timestamp", "local_timestamp"} <= columns:
        raise _unknown(source, table)
    times = ("timestamp", "local_timestamp")
    notes: list[str] = []
    if {"is_snapshot", "side", "price", "amount"} <= columns:
        choices = {"side": {"bid": 1, "ask": -1}, "is_snapshot": {"true": 1, "false": 0}}
        table["is_snapshot"] = table["is_snapshot"].str.lower()
        table = convert(source, table, times=times, numbers=("price", "amount"), choices=choices)
        made, rows = _incremental(table, notes)
    elif levels := [name for name in table.columns if LEVEL.fullmatch(name)]:
        table = convert(source, table, times=times, optional=levels)
        made, rows = _snapshots(source, table)
    elif {"side", "price", "amount"} <= columns:
        choices = {"side": {"buy": 1, "sell": -1, "unknown": 0}}
        table = convert(source, table, times=times, numbers=("price", "amount"), choices=choices)
        made, rows = _trades(table), np.arange(len(table))
        if "liquidations" in source.path.name:
            notes.append("these trades are liquidations, which the file of all trades has as well")
    elif columns >= {"bid_price", "bid_amount", "ask_price", "ask_amount"}:
        table = convert(source, table, times=times, optional=("bid_price", "bid_amount", "ask_price", "ask_amount"))
        made, rows = _quotes(table)
    elif columns & PRICES.keys():
        table = convert(source, table, times=times, optional=[name for name in PRICES if name in table])
        parts = [
            _present(table, name, {"price": name}, {"kind": kind}) for name, kind in PRICES.items() if name in table
        ]
        made, rows = _stacked(parts)
    else:
        raise _unknown(source, table)
    made["exchange_ns"], made["local_ns"] = (table[name].to_numpy()[rows] for name in times)
    symbols = table["symbol"].to_numpy()[rows]
    exchanges = dict(zip(table["symbol"], table["exchange"], strict=True))
    where, notes = f"{source.path.name} (tardis)", [*notes, *source.notes]
    return {
        str(symbol): Events(
            made[symbols == symbol], symbol=str(symbol), exchange=exchanges[symbol], source=where, notes=notes
        )
        for symbol in dict.fromkeys(symbols)
    }


def _present(
    table: pd.DataFrame, name: str, columns: Mapping[str, str], fixed: Mapping[str, int]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return events of the rows that have a value in a column, and the numbers of these rows.

    `columns` are our fields of columns of the table, in which nothing is 0; `fixed` are those that are always the same.
    """
    rows = np.flatnonzero(table[name].notna())
    values = {field: table[column].to_numpy()[rows] for field, column in columns.items()}
    return from_columns({**fixed, **{field: np.nan_to_num(one) for field, one in values.items()}}, len(rows)), rows


def _trades(table: pd.DataFrame) -> NDArray[Any]:
    columns = {"side": table["side"], "price": table["price"], "quantity": table["amount"]}
    identity = hashed(table["id"]) if "id" in table else 0
    return from_columns({"kind": Kind.TRADE, "id": identity, **columns}, len(table))


def _incremental(table: pd.DataFrame, notes: list[str]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return levels with a CLEAR before each snapshot, and the row of the table that each event comes from.

    Updates before the first snapshot are buffered ones of a book that is not known yet, so they are left out.
    """
    snapshot = table["is_snapshot"].to_numpy() == 1
    symbols = pd.factorize(table["symbol"])[0]
    columns = {"side": table["side"], "price": table["price"], "quantity": table["amount"]}
    levels = from_columns({"kind": np.where(snapshot, Kind.SNAPSHOT, Kind.DEPTH), **columns}, len(table))
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
            price, amount = (f"{word}[{level}].{field}" for field in ("price", "amount"))
            if not {price, amount} <= set(table.columns):
                raise _unknown(source, table)
            fixed = {"kind": Kind.SNAPSHOT, "side": side}
            made, rows = _present(table, price, {"price": price, "quantity": amount}, fixed)
            last[rows] = made["price"]
            parts.append((made, rows))
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


def _quotes(table: pd.DataFrame) -> tuple[NDArray[Any], NDArray[np.int64]]:
    names = [
        ({"price": f"{word}_price", "quantity": f"{word}_amount"}, side) for word, side in (("bid", 1), ("ask", -1))
    ]
    parts = [_present(table, one["price"], one, {"kind": Kind.QUOTE, "side": side}) for one, side in names]
    return _stacked(parts)


def _unknown(source: TextFile, table: pd.DataFrame) -> InputError:
    return InputError(
        f"{source.path}, line 1: expected the columns of a Tardis file ({KINDS}); got {', '.join(table.columns)}",
        field="path",
        rule="columns",
    )
