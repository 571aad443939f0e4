"""hftbacktest's arrays in .npz files: version 2 (structured) and version 1 (columns of numbers).

Source: hftbacktest's documentation, "Data", event flags and fields.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError
from ..events import Events, Kind, from_columns

EXCHANGE, LOCAL, BUY, SELL = 1 << 31, 1 << 30, 1 << 29, 1 << 28
KINDS = {
    1: Kind.DEPTH,
    2: Kind.TRADE,
    3: Kind.CLEAR,
    4: Kind.SNAPSHOT,
    10: Kind.ADD,
    11: Kind.CANCEL,
    12: Kind.MODIFY,
    13: Kind.FILL,
    100: Kind.INDEX,
    101: Kind.MARK,
    102: Kind.FUNDING,
    103: Kind.QUOTE,
    104: Kind.QUOTE,
}
"""Their numbers of event types; those from 100 on are what their converters write for Binance."""


def read(path: Path) -> Events:
    """Return the events of a file. Rows that stand twice, once for each clock, become one event again."""
    try:
        with np.load(path) as archive:
            names = list(archive)
            rows = archive["data"] if "data" in names else archive[names[0]]
    except (ValueError, OSError, zipfile.BadZipFile, IndexError, EOFError) as error:
        raise InputError(f"{path}: expected a NumPy archive (.npz); {error}", field="path", value=str(path)) from None
    flags, fields = _fields(path, rows)
    kinds = np.zeros(256, dtype="u1")
    for number, kind in KINDS.items():
        kinds[number] = kind
    kind = kinds[flags & 0xFF]
    notes = []
    if unknown := int((kind == 0).sum()):
        notes.append(f"{unknown} events of unknown types were left out")
    side = np.where(flags & BUY, 1, np.where(flags & SELL, -1, 0))
    side[(flags & 0xFF) == 103], side[(flags & 0xFF) == 104] = 1, -1
    array = from_columns({**fields, "kind": kind, "side": side}, len(rows))
    # A row that only the exchange processes has a twin that only the recorder does, when the two orders differ.
    array = array[(kind != 0) & ((flags & LOCAL != 0) | (flags & EXCHANGE == 0))]
    array = array[np.argsort(array["local_ns"], kind="stable")]
    return Events(array, source=f"{path.name} (hftbacktest)", notes=notes)


def _fields(path: Path, rows: NDArray[Any]) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the flags and the other fields of either version."""
    if rows.dtype.names and {"ev", "exch_ts", "local_ts", "px", "qty"} <= set(rows.dtype.names):
        identity = rows["order_id"].astype("i8") if "order_id" in rows.dtype.names else 0
        fields = {"exchange_ns": rows["exch_ts"], "local_ns": rows["local_ts"], "price": rows["px"]}
        return rows["ev"].astype("i8"), {**fields, "quantity": rows["qty"], "id": identity}
    if rows.ndim == 2 and rows.shape[1] >= 6:  # version 1: event, exchange time, local time (µs), side, price, quantity
        both = np.where(rows[:, 2] >= 0, LOCAL, 0) | np.where(rows[:, 1] >= 0, EXCHANGE, 0)
        flags = rows[:, 0].astype("i8") & 0xFF | np.where(rows[:, 3] > 0, BUY, SELL) | both
        times = [rows[:, column].astype("i8") * 1000 for column in (1, 2)]
        return flags, {
            "exchange_ns": times[0], "local_ns": times[1], "price": rows[:, 4], "quantity": rows[:, 5]
        }  # fmt: skip
    raise InputError(
        f"{path}: expected an array with the fields ev, exch_ts, local_ts, px, qty; got {rows.dtype}",
        field="path",
        rule="fields",
    )
