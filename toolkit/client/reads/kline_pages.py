"""Fast decoding of candle pages, as candles are read by the hundred thousand.

A page is uniform when all rows are of one product and interval and have every field. Such pages are decoded in pieces
that fit the processor's cache; `frames` reads all other pages row by row.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd

from ...protocol.reads.endpoint import MAX_TIME

_CHUNK = 1 << 17
"""Bytes of JSON that are decoded at once."""
_PREFIX = re.compile(rb'\s*\{"code":0,"message":"[^"\\]*","data":\[(?=\{)')
_FLOATS = ("open", "high", "low", "close", "volume", "turnover")
_NUMBERS = ("timestamp", *_FLOATS, "tradeCount")


def decode_page(body: bytes) -> pd.DataFrame | None:
    """Return a page of uniform candles as a frame, or None where the page is not uniform."""
    head = _PREFIX.match(body)
    text = body.rstrip()
    if head is None or not text.endswith(b"]}"):
        return None
    begin, end = head.end(), len(text) - 2
    try:
        first = msgspec.json.decode(body[begin : body.index(b"}", begin) + 1])
        decoder = _kline_decoder(first["symbolName"], first["intrvl"])
        table = _decode_pieces(decoder, body, begin, end)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    # Times and trade counts were decoded as floats; only whole numbers convert to int64 without a change.
    integers = table[[0, -1]]
    if not np.isfinite(integers).all() or (integers != np.floor(integers)).any():
        return None
    if np.abs(integers).max() > MAX_TIME // 1000:
        return None
    if table[0].min() <= 0:
        return None
    return _kline_frame(table, first["symbolName"], first["intrvl"])


@lru_cache(maxsize=64)
def _kline_decoder(symbol: str, interval: int) -> msgspec.json.Decoder[Any]:
    row = msgspec.defstruct(
        "KlineRow",
        [
            ("symbolName", Literal[symbol]),
            ("intrvl", Literal[interval]),
            *((name, float) for name in _NUMBERS),
        ],
        gc=False,
        forbid_unknown_fields=True,
    )
    return msgspec.json.Decoder(list[row], strict=False)  # type: ignore[valid-type]


def _decode_pieces(decoder: msgspec.json.Decoder[Any], body: bytes, begin: int, end: int) -> Any:
    """Return the candles in body[begin:end] as float64, one row for each of _NUMBERS."""
    parts = []
    while begin < end:
        cut = body.find(b"},{", begin + _CHUNK, end)
        stop = end if cut < 0 else cut + 1
        parts.append(_columns(decoder.decode(b"[" + body[begin:stop] + b"]")))
        begin = stop + 1
    return np.concatenate(parts, axis=1)


def _columns(rows: list[Any]) -> Any:
    """Return the numbers of typed rows as columns, without creating Python objects for them.

    In MessagePack a float is a marker and eight bytes, and everything else in a row is the same in all rows. So all
    rows have one length, and a number is at the same offset in each.
    """
    packed = msgspec.msgpack.encode(rows)
    width = len(msgspec.msgpack.encode(rows[0]))
    table = np.frombuffer(packed, np.uint8)[len(packed) - width * len(rows) :].reshape(len(rows), width)
    found = np.empty((len(_NUMBERS), len(rows)))
    end = width
    for at in range(len(_NUMBERS) - 1, -1, -1):
        found[at] = np.ascontiguousarray(table[:, end - 8 : end]).view(">f8")[:, 0]
        end -= 8 + 1 + 1 + len(_NUMBERS[at])  # the number, its marker, and the field's name with its length byte
    return found


def _kline_frame(table: Any, symbol: str, interval: int) -> pd.DataFrame:
    count = table.shape[1]
    none = np.zeros(count, bool)
    times = (table[0].astype(np.int64) * 1000).astype("M8[ms]")
    columns: dict[str, Any] = {"time": pd.DatetimeIndex(times, tz="UTC")}
    for at, name in enumerate(_FLOATS, start=1):
        columns[name] = table[at]
    columns["trades"] = pd.arrays.IntegerArray(table[-1].astype(np.int64), none)
    columns["interval"] = pd.arrays.IntegerArray(np.full(count, interval, np.int64), none.copy())
    columns["symbol"] = pd.array([symbol], dtype="string").repeat(count)
    return pd.DataFrame(columns, index=pd.RangeIndex(count))
