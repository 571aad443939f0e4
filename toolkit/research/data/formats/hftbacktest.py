"""hftbacktest's arrays in .npz and .npy files: version 2 (structured) and version 1 (columns of numbers).

Source: hftbacktest's documentation, "Data", event flags and fields.
"""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError
from ..event_array import Kind, from_columns
from ..events import Events
from .text_files import DAMAGE, TextFile

EXCHANGE, LOCAL, BUY, SELL = 1 << 31, 1 << 30, 1 << 29, 1 << 28
KINDS = {
    **dict(enumerate((Kind.DEPTH, Kind.TRADE, Kind.CLEAR, Kind.SNAPSHOT), 1)),
    **dict(enumerate((Kind.ADD, Kind.CANCEL, Kind.MODIFY, Kind.FILL), 10)),
    **dict(enumerate((Kind.INDEX, Kind.MARK, Kind.FUNDING, Kind.QUOTE, Kind.QUOTE), 100)),
}
"""Their numbers of event types. Those from 100 on are what their converters write for Binance."""
UNREADABLE = (
    *DAMAGE, ValueError, TypeError, KeyError, IndexError, SyntaxError, MemoryError, struct.error, tokenize.TokenError
)  # fmt: skip
"""Errors that NumPy raises for a damaged archive."""


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of a file. An event with two rows, one for each clock, becomes one event again.

    Parameters
    ----------
    source : TextFile
        File to read, .npz or .npy.
    """
    path = source.path
    rows = next(parts_of(path)) if source.rows is None else source.rows
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
    return {"": Events(array, source=f"{path.name} (hftbacktest)", notes=notes)}


def parts_of(path: Path, count: int = 2**40) -> Iterator[NDArray[Any]]:
    """Yield the rows of an array without the others.

    Parameters
    ----------
    path : Path
        File, .npz or .npy.
    count : int, optional
        Most rows in a part (default: all).

    Raises
    ------
    InputError
        For a file of another kind, and for one that is damaged.
    """
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        with ExitStack() as opened:
            stream: Any = opened.enter_context(path.open("rb"))
            if path.suffix.lower() == ".npz":
                archive = opened.enter_context(zipfile.ZipFile(stream))
                names = archive.namelist()
                stream = opened.enter_context(archive.open("data.npy" if "data.npy" in names else names[0]))
            shape, in_columns, kind = headers[np.lib.format.read_magic(stream)](stream)
            if in_columns or kind.hasobject:
                raise ValueError("it is not an array of rows")
            size = kind.itemsize * math.prod(shape[1:])
            for begin in range(0, max(shape[0], 1), count):
                want = min(count, shape[0] - begin)
                yield np.frombuffer(stream.read(size * want), kind).reshape(want, *shape[1:])
    except UNREADABLE as error:
        raise InputError(f"{path}: expected a NumPy archive (.npz): {error}", field="path", value=str(path)) from None


def _fields(path: Path, rows: NDArray[Any]) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the flags and the other fields of either version."""
    names = set(rows.dtype.names or ())
    if rows.ndim == 1 and {"ev", "exch_ts", "local_ts", "px", "qty"} <= names:
        prices = [np.asarray(rows[name], dtype="f8") for name in ("px", "qty")]
        _check(path, np.isfinite(prices[0]) & np.isfinite(prices[1]), "px and qty that are numbers")
        times = [_whole(path, rows, name) for name in ("exch_ts", "local_ts")]
        identity = _whole(path, rows, "order_id") if "order_id" in names else 0
        flags = _whole(path, rows, "ev")
    elif rows.ndim == 2 and rows.shape[1] >= 6 and rows.dtype.kind == "f":
        # version 1: event, exchange time, local time (−1 where that side has no such row), side, price, quantity
        _check(path, np.isfinite(rows[:, :6]).all(axis=1), "six numbers")
        _check(path, (rows[:, 0] >= 0) & (rows[:, 0] < 256), "an event's number from 0 to 255")
        both = np.where(rows[:, 2] >= 0, LOCAL, 0) | np.where(rows[:, 1] >= 0, EXCHANGE, 0)
        flags = rows[:, 0].astype(np.int64)
        flags |= np.where(rows[:, 3] > 0, BUY, SELL) | both
        prices, identity = [rows[:, 4], rows[:, 5]], 0
        times = [_scaled(rows[:, column]) for column in (1, 2)]
    else:
        text = f"{path}: expected an array with the fields ev, exch_ts, local_ts, px, qty, but got {rows.dtype}"
        raise InputError(text, field="path", rule="fields")
    columns = {"exchange_ns": times[0], "local_ns": times[1], "price": prices[0], "quantity": prices[1]}
    return flags, {**columns, "id": identity}


def _whole(path: Path, rows: NDArray[Any], name: str) -> NDArray[np.int64]:
    """Return a field of version 2 as whole numbers, which its writers may also store as floats."""
    column = rows[name]
    if column.dtype.kind == "f":  # NaN compares false, and so is refused too
        _check(path, np.abs(column) < 2**63, f"{name} that is a whole number of 64 bits")
    return column.astype("i8")


def _scaled(times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return times of version 1, µs by its converters, else recognised by their size, in ns."""
    largest = float(times.max(initial=0))
    scale = 1000 if largest < 10**14 else next(one for one in (1000, 1) if largest * one < 2**63 or one == 1)
    return np.clip(times, -1, (2**63 - 1024) / scale).astype("i8") * scale


def _check(path: Path, good: NDArray[np.bool_], expected: str) -> None:
    if not good.all():
        raise InputError(f"{path}, row {int(np.argmin(good)) + 1}: expected {expected}", field="path", rule=expected)
