"""Check: what is wrong with market data. It is found and reported. Nothing is repaired."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...coverage import of_attrs, within
from ...errors import InputError
from ...interchange import to_pandas
from ...numerals import span_ns
from .event_array import BOOK_KINDS, Kind
from .events import Events
from .formats.candle_files import read_frame
from .formats.text_files import TextFile
from .order_books import BookUpdates, feed_times, has_single_orders, with_levels

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
LONGEST_DELAY_NS = 60_000_000_000
"""A message of a feed that took longer shows that a clock was wrong, or had stopped."""
LARGEST = 1e15
"""Prices and quantities above it are impossible."""
STREAMS = {
    "book": BOOK_KINDS,
    "trades": (Kind.TRADE,),
    "quotes": (Kind.QUOTE,),
    "orders": (Kind.ADD, Kind.CANCEL, Kind.MODIFY, Kind.FILL),
}


class Wrong(NamedTuple):
    """Rows with a problem, as a check finds them.

    Attributes
    ----------
    problem : str
        Name of the problem, such as "gap".
    stream : str
        Name of the stream, such as "book".
    rows : array of int64
        Numbers of the rows.
    detail : str
        Description of the problem.
    """

    problem: str
    stream: str
    rows: NDArray[np.int64]
    detail: str


class DataProblem(NamedTuple):
    """Rows of the events that share a problem.

    Attributes
    ----------
    problem : str
        Name of the problem, such as "gap".
    stream : str
        Name of the stream, such as "book".
    row : int
        Number of the first row.
    time : int
        Local time of the first row, Unix ns.
    until : int
        Local time of the last row, Unix ns.
    rows : int
        Number of rows.
    detail : str
        Description of the problem.
    """

    problem: str
    stream: str
    row: int
    time: int
    until: int
    rows: int
    detail: str


def check(data: object, *, silence: str | pd.Timedelta = "10s") -> pd.DataFrame:
    """Return what is wrong with events or candles, one row per finding, and an empty frame for none.

    The problems are:

    - "gap": a book update that does not follow the one before it, a book that begins again, or missing trade ids
    - "crossed": a message that leaves best bid at or above best ask
    - "repeat": an update or trade that was there before
    - "backwards": a time or id that runs back
    - "silence": nothing was received for longer than `silence`
    - "clock": events received before they happened
    - "delay": books and trades received more than a minute after they happened
    - "value": an impossible price or quantity
    - "note": what the reader left out

    Candles have only "gap", "repeat", "backwards", "value" and "note". With `attrs["coverage"]` they also have:

    - "quiet": a gap in which nothing was traded, by proof
    - "missing": a span before or after the rows that the source did not give
    - "forming": candles that may still change

    Nothing is repaired.

    Parameters
    ----------
    data : Events or DataFrame
        Events, or a frame of candles or funding rates that `load` takes.
    silence : str or Timedelta, optional
        Longest time without an event that is no finding (default: "10s").

    Returns
    -------
    DataFrame
        One row a finding. Findings in adjacent rows, or within a second of each other, are one row:

        - problem, stream: string
        - row: int64, number of the first row
        - time, until: datetime64[ns, UTC], at the recorder
        - count: int64, how many rows, updates, trades or intervals
        - detail: string, what is wrong in words

    Raises
    ------
    InputError
        For data of another kind.

    Examples
    --------
    >>> bars.drop(bars.index[5:8]).to_csv("short.csv")
    >>> data.check(data.load("short.csv", progress=False))[["problem", "count"]].values.tolist()
    [['gap', 3]]
    """
    data = to_pandas(data)
    if isinstance(data, pd.DataFrame):
        (data,) = [data] if _is_loaded(data) else read_frame(TextFile(Path("the frame")), data).values()
    if isinstance(data, pd.DataFrame):
        found = list(_check_candles(data))
    elif isinstance(data, Events):
        found = [*_check_events(data, span_ns(silence, "silence"))]
    else:
        raise InputError(f"check takes Events or a DataFrame of candles, not {type(data).__name__}", field="data")
    found.sort(key=lambda finding: (finding.row, finding.problem))
    frame = pd.DataFrame(found, columns=list(COLUMNS))
    for name in ("time", "until"):
        frame[name] = pd.to_datetime(frame[name], unit="ns", utc=True)
    return frame.astype(COLUMNS)


def _check_events(events: Events, silence_ns: int) -> Iterator[DataProblem]:
    array = events.array
    for note in events.notes:
        yield DataProblem("note", "file", 0, *_span(array), 1, note)
    if not len(array):
        return
    local = array["local_ns"]
    steps = np.diff(local)
    for row in np.flatnonzero(steps > silence_ns).tolist():
        seconds = f"nothing was received for {steps[row] / 1e9:.3f} s"
        yield DataProblem("silence", "all", row, int(local[row]), int(local[row + 1]), 1, seconds)
    early = array["exchange_ns"] - local
    if early.max() > 0:
        rows = np.flatnonzero(early > 0)
        text = f"received up to {early.max() / 1e6:,.3f} ms before they happened: the recorder's clock was behind"
        yield DataProblem("clock", "all", int(rows[0]), *_span(array), len(rows), text)
    if len(late := np.flatnonzero(too_late(events))):
        text = f"received up to {-early[late].min() / 1e9:,.3f} s after they happened: the recorder's clock was wrong"
        yield DataProblem("delay", "all", int(late[0]), *_span(array), len(late), text)
    for wrong in _check_rows(events):
        yield from _runs(wrong, local)
    for stream, kinds in STREAMS.items():
        rows = np.flatnonzero(np.isin(array["kind"], kinds))
        for wrong in _check_stream(stream, array[rows], rows, restarts=events.exchange == "bybit"):
            yield from _runs(wrong, local)
        if stream == "trades":
            yield from _missing_trades(array, rows[array["id"][rows] != 0])


def too_late(events: Events) -> NDArray[np.bool_]:
    """Return which books, quotes and trades have a delay that no feed has. Snapshots repeat what is older.

    Parameters
    ----------
    events : Events
        Events of one product.
    """
    delays = feed_times(events) - events.array["exchange_ns"]
    found: NDArray[np.bool_] = delays > LONGEST_DELAY_NS
    return found & np.isin(events.array["kind"], (Kind.DEPTH, Kind.TRADE, Kind.QUOTE))


def _check_rows(events: Events) -> Iterator[Wrong]:
    """Check what has nothing to do with the rows of one stream before: times, values, and crossed books."""
    array = events.array
    yield Wrong("backwards", "all", np.flatnonzero(np.diff(array["local_ns"]) < 0) + 1, "the local time runs back")
    priced = np.isin(array["kind"], (Kind.DEPTH, Kind.TRADE, Kind.SNAPSHOT, Kind.QUOTE, Kind.ADD))
    price, quantity = array["price"], array["quantity"]
    wrong = priced & ~(np.isfinite(price) & np.isfinite(quantity) & (quantity >= 0))
    wrong |= priced & (price <= 0) & (quantity > 0)
    wrong |= (array["kind"] == Kind.TRADE) & (quantity <= 0)
    wrong |= priced & ((price > LARGEST) | (quantity > LARGEST))
    yield Wrong("value", "all", np.flatnonzero(wrong), "an impossible price or quantity")
    levels, fills = with_levels(events) if has_single_orders(events) else (events, None)
    updates = BookUpdates(levels, levels.array["local_ns"])
    crossed = updates.rows[updates.crossed]
    crossed = crossed if fills is None else fills.sources[crossed]
    yield Wrong("crossed", "book", crossed, "best bid at or above best ask after the message")
    quotes = array["kind"] == Kind.QUOTE
    pairs = np.flatnonzero(quotes[:-1] & quotes[1:] & (array["side"][:-1] == 1) & (array["side"][1:] == -1))
    pairs = pairs[price[pairs] >= price[pairs + 1]]
    yield Wrong("crossed", "quotes", pairs, "best bid at or above best ask")


def _check_stream(stream: str, part: NDArray[Any], rows: NDArray[np.int64], *, restarts: bool) -> Iterator[Wrong]:
    """Check times, ids and repeats of one stream. `restarts`: its updates are counted from 1 after one."""
    back = np.flatnonzero(np.diff(part["exchange_ns"]) < 0) + 1
    yield Wrong("backwards", stream, rows[back], "exchange time runs back")
    if stream == "trades":
        part, rows = part[part["id"] != 0], rows[part["id"] != 0]
        yield Wrong("repeat", stream, rows[_repeats(part["id"])], "a trade that was there before")
        if _count_trades(part["id"]):
            yield Wrong("backwards", stream, rows[1:][np.diff(part["id"]) < 0], "the trade id runs back")
        return
    if stream == "orders":  # equal fills and cancellations of one order may follow each other
        part, rows = part[part["kind"] == Kind.ADD], rows[part["kind"] == Kind.ADD]
    # a CLEAR says no more than the levels that follow it
    levels = part["kind"] != Kind.CLEAR
    yield Wrong("repeat", stream, rows[levels][_equal_rows(part[levels])], "a row that was there before")
    if stream != "orders" and len(rows):
        yield from _check_updates(stream, part, rows, restarts)


def _equal_rows(part: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of rows that are equal in every field to one before."""
    order = np.lexsort((part["price"], part["side"], part["kind"], part["local_ns"]))
    ordered = part[order]
    found: NDArray[np.int64] = order[1:][ordered[1:] == ordered[:-1]]
    return found


def _check_updates(stream: str, part: NDArray[Any], rows: NDArray[np.int64], restarts: bool) -> Iterator[Wrong]:
    """Check the chain of a book's update ids. A message counts as one update.

    A snapshot of the whole book begins a new chain. One of limited depth, which was requested elsewhere, is not part
    of it.
    """
    new = np.ones(len(part), dtype=bool)
    new[1:] = np.logical_or.reduce([part[name][1:] != part[name][:-1] for name in ("id", "local_ns", "exchange_ns")])
    first = np.flatnonzero(new)
    kinds = part["kind"][first]
    whole = (kinds == Kind.CLEAR) & (part["price"][first] == 0)
    kept = whole | ~np.isin(kinds, (Kind.CLEAR, Kind.SNAPSHOT))
    first, whole = first[kept], whole[kept]
    ids, previous, at = part["id"][first], part["previous"][first], rows[first]
    if not len(ids):
        return
    before, known = ids[:-1], (ids[1:] != 0) & (ids[:-1] != 0)
    continued = known & (ids[1:] - before >= 0) & (ids[1:] - before <= 1)
    continued |= restarts & (ids[1:] == 1)
    begins = whole[1:] & ~whole[:-1] & ~continued
    # A snapshot of the whole book follows nothing. The replaced book is the finding "begins again".
    follows = known & ~whole[1:]
    # Each whole snapshot begins a new chain, so ids are compared within their chain only.
    highest = pd.Series(ids).groupby(np.cumsum(whole)).cummax().to_numpy()[:-1]
    same = follows & (ids[1:] == before) & ~whole[:-1]
    gaps = follows & (previous[1:] != before) & (previous[1:] != 0) & (ids[1:] > highest)
    if stream == "book":
        yield Wrong("repeat", stream, at[1:][same], "an update that was there before")
        text = "the book begins again with a snapshot: what changed since the update before is not known"
        yield Wrong("gap", stream, at[1:][begins], text)
    yield Wrong("backwards", stream, at[1:][follows & (ids[1:] < highest)], "the update id runs back")
    yield Wrong("gap", stream, at[1:][gaps], "updates are missing: the one before is not the one it names")


def _count_trades(ids: NDArray[np.int64]) -> bool:
    """Return whether ids count trades. Others (hashes, or those of several products together) say nothing."""
    steps = np.diff(ids)
    # Ids of several products share one counter, or are hashes. Gaps in those say nothing about missing trades.
    return len(ids) > 2 and bool(np.median(np.abs(steps)) <= 2 or np.mean(steps == 1) > 1 / 3)


def _missing_trades(array: NDArray[Any], at: NDArray[np.int64]) -> Iterator[DataProblem]:
    local, ids = array["local_ns"], array["id"][at]
    for place in np.flatnonzero(np.diff(ids) > 1).tolist() if _count_trades(ids) else ():
        row, missing = int(at[place + 1]), int(ids[place + 1] - ids[place]) - 1
        span = int(local[at[place]]), int(local[row])
        yield DataProblem("gap", "trades", row, *span, missing, f"{missing} trade ids are missing")


def _repeats(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values were there before."""
    return pd.Series(values).duplicated().to_numpy()


def _runs(wrong: Wrong, times: NDArray[np.int64]) -> Iterator[DataProblem]:
    """Yield rows with a problem, adjacent ones, and those within a second of each other, as one."""
    if not len(wrong.rows):
        return
    rows = np.sort(wrong.rows)
    times = times[rows]
    # One broken connection makes thousands of wrong rows. Merged, they are one finding that a person can read.
    far = (np.abs(np.diff(times)) > MERGED_NS) & (np.diff(rows) > 1)
    starts = np.flatnonzero(np.concatenate([[True], far]))
    for first, after in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
        span = int(times[first]), int(times[after - 1])
        yield DataProblem(wrong.problem, wrong.stream, int(rows[first]), *span, after - first, wrong.detail)


def _span(array: NDArray[Any]) -> tuple[int, int]:
    if not len(array):
        return 0, 0
    return int(array["local_ns"][0]), int(array["local_ns"][-1])


def _is_loaded(data: pd.DataFrame) -> bool:
    return "time" in data and pd.api.types.is_datetime64_any_dtype(data["time"].dtype)


def _check_candles(data: pd.DataFrame) -> Iterator[DataProblem]:
    known = of_attrs(data.attrs)
    by_proof = known.get("quiet_spans", known["proven"]) if known else []
    silent = [(start.value, end.value) for start, end in by_proof]
    for note in data.attrs.get("notes", ()):
        yield DataProblem("note", "file", 0, 0, 0, 1, note)
    every = np.asarray(data["time"].astype("datetime64[ns, UTC]").astype("int64"), dtype=np.int64)
    names = data["symbol"].astype("str").to_numpy() if "symbol" in data else np.full(len(data), "candles")
    usual = math.inf
    for name in map(str, pd.unique(names)):
        rows = np.flatnonzero(names == name)
        times = every[rows]
        steps = np.diff(times)
        forward = -steps if len(steps) and steps.max() < 0 else steps  # some archives begin with the newest row
        lengths, counts = np.unique(np.diff(np.unique(times)), return_counts=True)
        usual = int(lengths[np.argmax(counts)]) if len(lengths) else math.inf
        places = np.flatnonzero(forward > usual * 1.5)
        edges = np.sort([times[places], times[places + 1]], axis=0)
        # What was dropped from a frame since it was read is not quiet.
        proven = within(silent, edges[0] + (usual if len(places) else 0), edges[1]).tolist()
        for place, quiet in zip(places.tolist(), proven, strict=True):
            missing = round(forward[place] / usual) - 1
            what = "had no trades, which the source proved" if quiet else "are missing"
            text = f"{missing} intervals of {pd.Timedelta(usual)} {what}"
            span = int(times[place]), int(times[place + 1])
            yield DataProblem("quiet" if quiet else "gap", name, int(rows[place + 1]), *span, missing, text)
        found = [
            ("repeat", _repeats(times), "a time that was there before"),
            ("backwards", np.append(False, steps < 0)[: len(rows)], "a time before that of the row before"),
            *(("value", wrong, text) for wrong, text in _candle_values(data.iloc[rows])),
        ]
        for problem, wrong, text in found:
            yield from _runs(Wrong(problem, name, rows[wrong], text), every)
    if known:
        yield from _unproven(known, every, usual)


def _unproven(known: Mapping[str, Any], every: NDArray[np.int64], usual: float) -> Iterator[DataProblem]:
    """Yield what the source of a frame did not give, and what may still change."""
    for start, end in known["missing"]:
        if len(every) and every.min() < start.value < every.max():
            continue  # it is a gap between two rows
        row, text = int(np.searchsorted(every, start.value)), "the source did not give these rows"
        count = round((end - start).value / usual) if np.isfinite(usual) else 1
        yield DataProblem("missing", "candles", row, start.value, end.value, count, text)
    if known["forming"] and len(every):
        row, text = len(every) - known["forming"], "the interval had not ended when the rows were read"
        yield DataProblem("forming", "candles", row, int(every[row]), int(every[-1]), known["forming"], text)


def _candle_values(part: pd.DataFrame) -> Iterator[tuple[NDArray[np.bool_], str]]:
    if {"open", "high", "low", "close"} <= set(part.columns):
        open_, high, low, close = (part[column].to_numpy() for column in ("open", "high", "low", "close"))
        inside = (low <= np.minimum(open_, close)) & (np.maximum(open_, close) <= high) & (low > 0) & np.isfinite(high)
        yield ~inside, "open and close must lie between low and high, above 0"
    if "rate" in part:
        yield ~np.isfinite(part["rate"].to_numpy()), "a rate that is no number"
    if "volume" in part:
        yield part["volume"].to_numpy() < 0, "a volume below 0"
