"""Check: what is wrong with market data. It is found and reported; nothing is repaired."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError
from .books import BookUpdates
from .events import BOOK_KINDS, Events, Kind

COLUMNS = {
    "problem": "string",
    "stream": "string",
    "row": "int64",
    "time": "datetime64[ns, UTC]",
    "until": "datetime64[ns, UTC]",
    "count": "int64",
    "detail": "string",
}
MERGED_NS = 1_000_000_000
"""Findings of one problem within this time of each other become one row."""
LARGEST = 1e15
"""Prices and quantities above it can't be."""
STREAMS = {
    "book": BOOK_KINDS,
    "trades": (Kind.TRADE,),
    "quotes": (Kind.QUOTE,),
    "orders": (Kind.ADD, Kind.CANCEL, Kind.MODIFY, Kind.FILL),
}


class Finding(NamedTuple):
    """Rows of the events that share a problem."""

    problem: str
    stream: str
    row: int
    time: int
    until: int
    rows: int
    detail: str


def check(data: Any, *, silence: str | pd.Timedelta = "10s") -> pd.DataFrame:
    """Return what is wrong with events or candles, one row a finding; an empty frame for none.

    Problems of events: "gap" (a book update that does not follow the one before it, or missing trade ids), "crossed"
    (a message leaves best bid ≥ best ask), "repeat" (an update or trade that was there before), "backwards" (a time or
    id that runs back), "silence" (nothing received for longer than `silence`), "clock" (events received before they
    happened), "value" (a price or quantity that can't be), "note" (what the reader left out). Of candles: "gap",
    "repeat", "backwards", "value".

    Columns: problem and stream (string), row (int64, the first one concerned), time and until (datetime64[ns, UTC], at
    the recorder), count (int64, how many), detail (string). Findings within a second of each other are one row.
    """
    if isinstance(data, pd.DataFrame):
        found = list(_check_candles(data))
    elif isinstance(data, Events):
        found = [*_check_events(data, int(pd.Timedelta(silence).value))]
    else:
        raise InputError(f"check takes Events or a DataFrame of candles, not {type(data).__name__}", field="data")
    found.sort(key=lambda finding: (finding.row, finding.problem))
    frame = pd.DataFrame(found, columns=list(COLUMNS))
    for name in ("time", "until"):
        frame[name] = pd.to_datetime(frame[name], unit="ns", utc=True)
    return frame.astype(COLUMNS)


def _check_events(events: Events, silence_ns: int) -> Iterator[Finding]:
    array = events.array
    for note in events.notes:
        yield Finding("note", "file", 0, *_span(array), 1, note)
    if not len(array):
        return
    local = array["local_ns"]
    steps = np.diff(local)
    for row in np.flatnonzero(steps > silence_ns).tolist():
        seconds = f"nothing was received for {steps[row] / 1e9:.3f} s"
        yield Finding("silence", "all", row, int(local[row]), int(local[row + 1]), 1, seconds)
    yield from _runs("backwards", "all", array, np.flatnonzero(steps < 0) + 1, "the local time runs back")
    yield from _check_clock(array)
    yield from _check_values(array)
    for stream, kinds in STREAMS.items():
        rows = np.flatnonzero(np.isin(array["kind"], kinds))
        if len(rows):
            yield from _check_stream(stream, array, rows)
    updates = BookUpdates(events, local)
    crossed = updates.rows[updates.crossed]
    yield from _runs("crossed", "book", array, crossed, "best bid at or above best ask after the message")
    quotes = array["kind"] == Kind.QUOTE
    pairs = np.flatnonzero(quotes[:-1] & quotes[1:] & (array["side"][:-1] == 1) & (array["side"][1:] == -1))
    pairs = pairs[array["price"][pairs] >= array["price"][pairs + 1]]
    yield from _runs("crossed", "quotes", array, pairs, "best bid at or above best ask")


def _check_clock(array: NDArray[Any]) -> Iterator[Finding]:
    early = array["exchange_ns"] - array["local_ns"]
    if early.max() > 0:
        rows = np.flatnonzero(early > 0)
        text = f"received up to {early.max() / 1e6:,.3f} ms before they happened: the recorder's clock was behind"
        yield Finding("clock", "all", int(rows[0]), *_span(array), len(rows), text)


def _check_values(array: NDArray[Any]) -> Iterator[Finding]:
    priced = np.isin(array["kind"], (Kind.DEPTH, Kind.TRADE, Kind.SNAPSHOT, Kind.QUOTE, Kind.ADD))
    price, quantity = array["price"], array["quantity"]
    wrong = priced & ~(np.isfinite(price) & np.isfinite(quantity) & (quantity >= 0))
    wrong |= priced & (price <= 0) & (quantity > 0)
    wrong |= (array["kind"] == Kind.TRADE) & (quantity <= 0)
    wrong |= priced & ((price > LARGEST) | (quantity > LARGEST))
    yield from _runs("value", "all", array, np.flatnonzero(wrong), "a price or quantity that can't be")


def _check_stream(stream: str, array: NDArray[Any], rows: NDArray[np.int64]) -> Iterator[Finding]:
    """Check times, ids and repeats of one stream; a message of a book counts as one."""
    part = array[rows]
    times = part["exchange_ns"]
    yield from _runs(
        "backwards", stream, array, rows[np.flatnonzero(np.diff(times) < 0) + 1], "exchange time runs back"
    )
    if stream == "orders":
        return
    ids, previous = part["id"], part["previous"]
    new = np.concatenate([[True], (ids[1:] != ids[:-1]) | (part["local_ns"][1:] != part["local_ns"][:-1])])
    if stream == "trades":
        new[:] = True
    first = np.flatnonzero(new & (ids != 0))
    ids, previous, kinds, at = ids[first], previous[first], part["kind"][first], rows[first]
    if stream == "trades" and len(ids):
        yield from _check_trade_ids(array, ids, at)
    elif len(ids):
        snapshot = (kinds == Kind.SNAPSHOT) | (kinds == Kind.CLEAR)
        diffs = np.flatnonzero(~snapshot)
        # a snapshot stands outside the chain of updates, so each update is compared with the one before it
        ids, previous, at = ids[diffs], previous[diffs], at[diffs]
        highest = np.maximum.accumulate(ids)[:-1] if len(ids) else ids
        back = np.flatnonzero(ids[1:] < highest) + 1
        same = np.flatnonzero(ids[1:] == ids[:-1]) + 1
        gaps = np.flatnonzero((previous[1:] != ids[:-1]) & (previous[1:] != 0) & (ids[1:] > highest)) + 1
        if stream == "book":
            yield from _runs("repeat", stream, array, at[same], "an update that was there before")
        yield from _runs("backwards", stream, array, at[back], "the update id runs back")
        yield from _runs("gap", stream, array, at[gaps], "updates are missing: the one before is not the one it names")


def _check_trade_ids(array: NDArray[Any], ids: NDArray[np.int64], at: NDArray[np.int64]) -> Iterator[Finding]:
    _, firsts = np.unique(ids, return_index=True)
    repeated = np.ones(len(ids), dtype=bool)
    repeated[firsts] = False
    yield from _runs("repeat", "trades", array, at[repeated], "a trade that was there before")
    steps = np.diff(ids)
    counted = len(ids) > 2 and np.median(np.abs(steps)) <= 2  # ids that count trades; others (hashes) say nothing
    if counted:
        yield from _runs("backwards", "trades", array, at[np.flatnonzero(steps < 0) + 1], "the trade id runs back")
        for place in np.flatnonzero(steps > 1).tolist():
            row, before = int(at[place + 1]), int(at[place])
            missing = int(steps[place]) - 1
            span = int(array["local_ns"][before]), int(array["local_ns"][row])
            yield Finding("gap", "trades", row, *span, missing, f"{missing} trade ids are missing")


def _runs(problem: str, stream: str, array: NDArray[Any], rows: NDArray[np.int64], detail: str) -> Iterator[Finding]:
    """Yield rows with a problem; those within a second of each other as one."""
    if not len(rows):
        return
    rows = np.sort(rows)
    times = array["local_ns"][rows]
    starts = np.flatnonzero(np.concatenate([[True], np.abs(np.diff(times)) > MERGED_NS]))
    for first, after in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
        span = int(times[first]), int(times[after - 1])
        yield Finding(problem, stream, int(rows[first]), *span, after - first, detail)


def _span(array: NDArray[Any]) -> tuple[int, int]:
    if not len(array):
        return 0, 0
    return int(array["local_ns"][0]), int(array["local_ns"][-1])


def _check_candles(data: pd.DataFrame) -> Iterator[Finding]:
    if "time" not in data:
        raise InputError("a frame of candles has a column time; load made one", field="data", rule="columns")
    for note in data.attrs.get("notes", ()):
        yield Finding("note", "file", 0, 0, 0, 1, note)
    groups = data.groupby("symbol", sort=False) if "symbol" in data else [("candles", data)]
    for name, part in groups:
        times = np.asarray(part["time"].astype("datetime64[ns, UTC]").astype("int64"), dtype=np.int64)
        rows = np.flatnonzero(data.index.isin(part.index))
        steps = np.diff(times)
        lengths, counts = np.unique(steps[steps > 0], return_counts=True)
        usual = int(lengths[np.argmax(counts)]) if len(lengths) else 0
        for place in np.flatnonzero((steps > usual * 1.5) if usual else np.zeros(0, dtype=bool)).tolist():
            missing = round(steps[place] / usual) - 1
            span = int(times[place]), int(times[place + 1])
            text = f"{missing} intervals of {pd.Timedelta(usual)} are missing"
            yield Finding("gap", str(name), int(rows[place + 1]), *span, missing, text)
        for problem, wrong in (("repeat", steps == 0), ("backwards", steps < 0)):
            for place in np.flatnonzero(wrong).tolist():
                at = int(times[place + 1])
                text = "the time of the row before" if problem == "repeat" else "a time before that of the row before"
                yield Finding(problem, str(name), int(rows[place + 1]), at, at, 1, text)
        yield from _candle_values(str(name), part, rows, times)


def _candle_values(
    name: str, part: pd.DataFrame, rows: NDArray[np.int64], times: NDArray[np.int64]
) -> Iterator[Finding]:
    if not {"open", "high", "low", "close"} <= set(part.columns):
        return
    open_, high, low, close = (part[column].to_numpy() for column in ("open", "high", "low", "close"))
    inside = (low <= np.minimum(open_, close)) & (np.maximum(open_, close) <= high) & (low > 0) & np.isfinite(high)
    for place in np.flatnonzero(~inside).tolist():
        at = int(times[place])
        yield Finding(
            "value", name, int(rows[place]), at, at, 1, "open and close must lie between low and high, above 0"
        )
