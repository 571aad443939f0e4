"""Events of one product in files of any length, read in windows: a run needs the memory of a few of them."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, StoredFileError
from ...guards import no_keys
from ...stored.tables import write_table
from .event_array import PRICED, Kind, empty
from .events import KIND, PIECE, ROW_GROUP, Events
from .formats.recordings import RecordedChannel, channels_of
from .loading import in_parts
from .quality import too_late
from .recording import Recording

FAR = 2**63 - 1
"""A time after all others, Unix ns."""

PRICES = (Kind.DEPTH, Kind.SNAPSHOT, Kind.TRADE, Kind.QUOTE, Kind.ADD)
"""Kinds whose prices say where the market was."""


class Summary(NamedTuple):
    """Facts about all events that a run needs before it begins.

    Attributes
    ----------
    symbol : str
        Product as the source names it, "" if it does not.
    exchange : str
        Exchange as the source names it, "" if it does not.
    tick_size : Decimal
        Multiple of all prices.
    step_size : Decimal
        Multiple of all quantities.
    exchange_ns : tuple of (int, int)
        First and last time at the exchange, Unix ns.
    local_ns : tuple of (int, int)
        First and last time at the recorder, Unix ns.
    behind : int
        How far the recorder's clock was behind the exchange's, ns, 0 or above.
    prices : tuple of (float, float, float, float)
        First, highest, lowest and last price, USDC.
    kinds : frozenset of int
        Kinds of event that occur.
    rates : tuple of (array of int64, array of float64)
        Recorded funding rates: times at the exchange (Unix ns) and rates (ratios), without those that repeat the
        previous one.
    late : float
        Share of events with a delay that no feed has. With several files it is that of the worst one.
    """

    symbol: str
    exchange: str
    tick_size: Decimal
    step_size: Decimal
    exchange_ns: tuple[int, int]
    local_ns: tuple[int, int]
    behind: int
    prices: tuple[float, float, float, float]
    """First, highest, lowest, last."""
    kinds: frozenset[int]
    rates: tuple[NDArray[np.int64], NDArray[np.float64]]
    late: float


def summary_of(events: Events) -> Summary:
    """Return the summary of events in memory.

    Parameters
    ----------
    events : Events
        Events of one product.

    Raises
    ------
    InputError
        If there are none.
    """
    array = events.array
    if not len(array):
        raise InputError(f"{events.symbol}: there are no events", field="data", rule="not empty")
    prices = array["price"][np.isin(array["kind"], PRICES)]
    prices = prices[prices > 0]
    times, local = array["exchange_ns"], array["local_ns"]
    rates = events.of(Kind.FUNDING)
    rates = rates[np.argsort(rates["exchange_ns"], kind="stable")]
    # A feed repeats the rate every second, which would fill the summary with copies of it.
    rates = rates[np.append(True, rates["price"][1:] != rates["price"][:-1])[: len(rates)]]
    some = len(prices) > 0
    return Summary(
        events.symbol,
        events.exchange,
        events.tick_size,
        events.step_size,
        (int(times.min()), int(times.max())),
        (int(local.min()), int(local.max())),
        max(int((times - local).max()), 0),
        (float(prices[0]), float(prices.max()), float(prices.min()), float(prices[-1])) if some else (0.0,) * 4,
        frozenset(np.unique(array["kind"]).tolist()),
        (rates["exchange_ns"].copy(), rates["price"].copy()),
        float(too_late(events).mean()),
    )


class EventFiles:
    """The events of one product in files, in the order in which they were received. Few are in memory at a time.

    Files are read in parts, so that the memory does not grow with their length. Files of the same time, such as trades
    and books of a day, are read together.

    Parameters
    ----------
    symbol : str
        Product symbol.
    parts : sequence of path or Events
        Files that `load` can read, or Events, in any order.

    Attributes
    ----------
    summaries : list of Summary
        Summary of each window, as iterating yields them.
    summary : Summary
        Summary of all.
    """

    def __init__(self, symbol: str, parts: Sequence[Any]) -> None:
        self._until_ns: int | None = None
        files = [each for part in parts for each in _files(symbol, part)]
        scanned = _scanned if any(isinstance(part, Events) for part in files) else _scanned_once
        self._sources, self.summaries, self.summary = scanned(symbol, tuple(files))

    def __iter__(self) -> Iterator[Events]:
        """Yield the events in windows of about `PIECE`."""
        return _until(_windows(self._sources), self._until_ns)

    def until(self, time_ns: int) -> EventFiles:
        """Return the events before a time, and an event of the last price at that time.

        Parameters
        ----------
        time_ns : int
            Time at the recorder, Unix ns.
        """
        made = copy.copy(self)
        made._until_ns = time_ns
        made.summaries = [summary_of(window) for window in made]
        made.summary = _joined(made.summaries, self.summary.late)
        return made


_File = tuple[Path, int, int]
"""Path, time of change and size: a file that is written again is read again."""
_Part = _File | Events | RecordedChannel
_Scan = tuple[tuple["_Source", ...], list[Summary], Summary]


def _files(symbol: str, part: Any) -> Sequence[_Part]:
    """Return what a part is read from: a file or events, or the channels of a recording."""
    if isinstance(part, Events):
        return [part]
    path = Path(part)
    if path.is_dir():
        if found := channels_of(path, symbol):
            return found
        there = ", ".join(Recording(path).symbols)
        what = f"{path} is a recording of {there}" if there else f"{path} is a directory. Give its files, or data.load"
        raise InputError(f"{symbol}: {what}", field="data", value=str(path))
    if not path.is_file():
        raise InputError(f"{symbol}: there is no file {path}", field="data", value=str(path))
    stat = path.stat()
    return [(path, stat.st_mtime_ns, stat.st_size)]


def _scanned(symbol: str, parts: tuple[_Part, ...]) -> _Scan:
    """Return the sources of parts, and the summaries of their windows, for which all of them are read."""
    sources = tuple(_Source(symbol, part[0] if isinstance(part, tuple) else part, at) for at, part in enumerate(parts))
    summaries = list(map(summary_of, _windows(sources)))
    settled = [source.is_settled() for source in sources]  # each may raise
    if not all(settled):
        summaries = list(map(summary_of, _windows(sources)))
    names = {source.name for source in sources if source.name in source.names}
    if len(names) > 1:
        text = f"{symbol}: the files are of {', '.join(sorted(names))}. Give the files of one product"
        raise InputError(text, field="data", rule="one product")
    return sources, summaries, _joined(summaries, max(source.late / max(source.count, 1) for source in sources))


_scanned_once = lru_cache(maxsize=64)(_scanned)
"""The same for files, whose summaries are kept: each point of a search begins with them."""


class _Source:
    """One of the parts: a file, events or a recorded channel, of which one product is read."""

    def __init__(self, symbol: str, part: Path | Events | RecordedChannel, place: int) -> None:
        self.symbol, self.part, self.place = symbol, part, place
        self.names: set[str] = set()
        self.late = self.count = 0
        first = next((found for found in self._found() if any(map(len, found.values()))), {})
        named = set(first) - {""}
        # A file of one product may name it otherwise than the exchange.
        self.name = next(iter(named)) if len(named) == 1 else symbol
        self.first_ns = min((int(each.array["local_ns"][0]) for each in first.values() if len(each)), default=0)

    def _found(self) -> Iterator[Mapping[str, Events]]:
        """Yield what the part holds, by symbol."""
        part = self.part
        if isinstance(part, Events):
            yield from ({part.symbol: part[at : at + PIECE]} for at in range(0, len(part), PIECE))
            return
        if isinstance(part, RecordedChannel):
            yield from ({part.symbol: each} for each in part)
            return
        try:
            for found in in_parts(part):
                if not all(isinstance(each, Events) for each in found.values()):
                    text = f"{part}: expected events of {self.symbol}. Give data.load({str(part)!r}) instead of a list"
                    raise InputError(text, field="data", rule="events", value=str(part))
                yield found
        except StoredFileError:
            raise
        except InputError as error:
            if error.rule == "events":
                raise
            way = f"events = data.load({str(part)!r}) reads it whole, or names the argument that does. Give events, or"
            text = f"{error}. {way} write them once with events.save, and give that file"
            raise InputError(text, field=error.field, rule=error.rule, value=error.value) from None

    def __iter__(self) -> Iterator[Events]:
        """Yield the events of the product, at most about `PIECE` at a time."""
        for found in self._found():
            self.names |= set(found)
            for name, events in found.items():
                if name in (self.name, "") and len(events):
                    self.late += int(too_late(events).sum())
                    self.count += len(events)
                    yield events

    def is_settled(self) -> bool:
        """Return whether the events that were read are those of the product. Otherwise they are read again.

        That a file is of one product only is known at its end.
        """
        others = self.names - {"", self.name}
        if self.symbol in others:
            self.name, self.late, self.count = self.symbol, 0, 0
            return False
        if others and (self.name != self.symbol or {"", self.symbol} & self.names != {self.symbol}):
            held = ", ".join(sorted(self.names))
            text = f"{self.part}: expected events of {self.symbol or 'one product'}, but it has {held}"
            raise InputError(f"{text}. Load the file, and give one product of it", field="data", rule="events")
        return True


class _Reading:
    """A source that is being read: its events that are in memory, and not in a window yet."""

    def __init__(self, source: _Source) -> None:
        self.batches, self.place = iter(source), source.place
        self.done = False
        self.rows, self.keys = empty(), np.zeros(0, dtype=np.int64)
        self.last_ns = -FAR
        """Latest time so far. Events are ordered by it: a file whose clock runs back keeps its order."""
        self.symbol = self.exchange = ""
        self.grid: list[Decimal] = []
        self.read()

    def read(self) -> None:
        """Read about `PIECE` more events, or those that are left."""
        arrays, count = [empty()], 0
        while count < PIECE and not self.done:
            events = next(self.batches, None)
            if events is None:
                self.done = True
                break
            arrays.append(events.array)
            count += len(events)
            self.symbol, self.exchange = self.symbol or events.symbol, self.exchange or events.exchange
            if np.isin(events.array["kind"], PRICED).any():
                grid = events.tick_size, events.step_size
                self.grid = list(map(min, grid, self.grid or grid))
        more = np.concatenate(arrays)
        keys = np.maximum.accumulate(np.append(np.int64(self.last_ns), more["local_ns"]))
        self.last_ns = int(keys[-1])
        self.rows, self.keys = np.concatenate([self.rows, more]), np.concatenate([self.keys, keys[1:]])

    def take(self, before_ns: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the events before a time, and the times by which they are ordered. They are not kept."""
        count = int(np.searchsorted(self.keys, before_ns))
        taken = self.rows[:count], self.keys[:count]
        self.rows, self.keys = self.rows[count:], self.keys[count:]
        return taken


def _windows(sources: Iterable[_Source]) -> Iterator[Events]:
    """Yield the events of all sources in the order of their receipt, about `PIECE` at a time."""
    waiting = sorted(sources, key=lambda source: source.first_ns)
    reading: list[_Reading] = []
    while waiting or reading:
        while waiting and (not reading or waiting[0].first_ns <= min(each.last_ns for each in reading)):
            reading.append(_Reading(waiting.pop(0)))
        reading.sort(
            key=lambda each: each.place
        )  # at one time, events stay in the order in which their files were given
        # Of a source that is read on, later events may have the time of its last one.
        ends = [each.last_ns for each in reading if not each.done] + [each.first_ns for each in waiting[:1]]
        end = min(ends, default=FAR)
        taken = [each.take(end) for each in reading]
        rows, keys = (np.concatenate(columns) for columns in zip(*taken, strict=True))
        order = np.argsort(keys, kind="stable")
        about: dict[str, Any] = {
            name: next((value for each in reading if (value := getattr(each, name))), "")
            for name in ("symbol", "exchange")
        }
        if grids := [each.grid for each in reading if each.grid]:
            about |= zip(("tick_size", "step_size"), map(min, *grids, grids[0]), strict=True)
        yield from _messages(rows[order], keys[order], about)
        reading = [each for each in reading if len(each.rows) or not each.done]
        for each in reading:
            if not each.done and each.last_ns == end:
                each.read()


def _messages(rows: NDArray[Any], keys: NDArray[np.int64], about: Mapping[str, Any]) -> Iterator[Events]:
    """Yield rows as events, about `PIECE` at a time. The levels of a message stay together."""
    while len(rows):
        count = int(np.searchsorted(keys, keys[:PIECE][-1], side="right"))
        yield Events(rows[:count], **about)
        rows, keys = rows[count:], keys[count:]


def _until(windows: Iterator[Events], time_ns: int | None) -> Iterator[Events]:
    """Yield the events before a time, None for all, and after them an event that changes nothing, at that time."""
    last = None
    for window in windows:
        if time_ns is None:
            yield window
            continue
        kept = window.array[window.array["local_ns"] < time_ns]
        priced = kept[np.isin(kept["kind"], PRICES)]
        last = priced[-1:] if len(priced) else last
        whole = len(kept) == len(window)
        if not whole and last is not None:
            # One more event, of no interest to the strategy, so that orders on their way arrive.
            end = last.copy()
            end["exchange_ns"] = end["local_ns"] = time_ns
            end["kind"] = Kind.MARK
            kept = np.concatenate([kept, end])
        if len(kept):
            yield window._with(kept)
        if not whole:
            return


@no_keys
def convert(
    source: str | os.PathLike[str] | Events | Sequence[Any], path: str | os.PathLike[str], *, symbol: str = ""
) -> None:
    """Write events of any length as one Parquet file, which runs read fastest. An existing file is replaced.

    The memory that it takes does not grow with their number, except for a JSON document that is not on lines. The file
    is there once all of it is written.

    Parameters
    ----------
    source : path, Events or sequence of them
        Files of events in any format of `load`, directories of recordings, or Events. Those of the same time are
        merged in the order of their receipt.
    path : str or PathLike
        File to write.
    symbol : str, optional
        Product to write, if there are several (default: the only one).

    Raises
    ------
    InputError
        For files that hold no events, or those of several products.
    OSError
        If the file can't be written.

    Examples
    --------
    >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
    >>> _ = session.venue.advance("2m")
    >>> recorder.close()
    >>> data.convert("recorded", "events.parquet", symbol="BTCUSDC")
    >>> len(data.load("events.parquet", progress=False)) == len(data.load("recorded", progress=False))
    True
    """
    files = EventFiles(symbol, source if isinstance(source, list | tuple) else [source])
    known = files.summary
    about: dict[str, Any] = {"symbol": known.symbol, "exchange": known.exchange}
    about |= {"tick_size": known.tick_size, "step_size": known.step_size}
    write_table(Path(path), (Events(each.array, **about).arrow() for each in files), KIND, row_group=ROW_GROUP)


def holds_events(part: object) -> bool:
    """Return whether data of a symbol is events, or a list of files of them.

    Parameters
    ----------
    part : object
        Data of one symbol, as the user gave it.
    """
    if isinstance(part, list | tuple):
        return len(part) > 0 and all(isinstance(one, str | os.PathLike | Events) for one in part)
    return isinstance(part, Events | EventFiles)


def _joined(parts: Sequence[Summary], late: float) -> Summary:
    """Return the summary of all parts."""
    if not parts:
        raise InputError("there are no events", field="data", rule="not empty")
    priced = [part.prices for part in parts if part.prices[0]] or [parts[0].prices]
    gridded = [part for part in parts if part.kinds & set(PRICED)] or parts
    rates = [np.concatenate(columns) for columns in zip(*(part.rates for part in parts), strict=True)]
    order = np.argsort(rates[0], kind="stable")
    return Summary(
        next((part.symbol for part in parts if part.symbol), ""),
        next((part.exchange for part in parts if part.exchange), ""),
        min(part.tick_size for part in gridded),
        min(part.step_size for part in gridded),
        (min(part.exchange_ns[0] for part in parts), max(part.exchange_ns[1] for part in parts)),
        (min(part.local_ns[0] for part in parts), max(part.local_ns[1] for part in parts)),
        max(part.behind for part in parts),
        (priced[0][0], max(each[1] for each in priced), min(each[2] for each in priced), priced[-1][3]),
        frozenset().union(*(part.kinds for part in parts)),
        (rates[0][order], rates[1][order]),
        late,
    )
