"""Events in several files of one product: read one file at a time, so that days need the memory of one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .event_array import PRICED, Kind
from .events import Events, merge
from .loading import guess_format, load
from .quality import too_late

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
    """The events of one product in files, in the order of their times. Few are in memory at a time.

    Files of the same time, such as trades and books of a day, are read together.

    Parameters
    ----------
    symbol : str
        Product symbol.
    parts : sequence of path or Events
        Files that `load` can read, or Events, in any order.

    Attributes
    ----------
    groups : list of list
        Files of each group that is read together.
    summaries : list of Summary
        Summary of each group.
    summary : Summary
        Summary of all.
    """

    def __init__(self, symbol: str, parts: Sequence[Any]) -> None:
        self.symbol = symbol
        found = [(_summary(symbol, part), part) for part in parts]
        # Local times decide: names of files don't always sort by day, and users give them in any order.
        found.sort(key=lambda pair: pair[0].local_ns)
        names = {summary.symbol for summary, _ in found if summary.symbol}
        if len(names) > 1:
            text = f"{symbol}: the files are of {', '.join(sorted(names))}. Give the files of one product"
            raise InputError(text, field="data", rule="one product")
        self.groups: list[list[Any]] = []
        self.summaries: list[Summary] = []
        for summary, part in found:
            # Files that begin before the middle of the last group cover the same time. One that begins later is the
            # next day's.
            if self.groups and summary.local_ns[0] < sum(self.summaries[-1].local_ns) // 2:
                self.groups[-1].append(part)
                self.summaries[-1] = _joined([self.summaries[-1], summary])
            else:
                self.groups.append([part])
                self.summaries.append(summary)
        self.summary = _joined(self.summaries)

    def __iter__(self) -> Iterator[Events]:
        """Yield the events of one group of files after another."""
        for group in self.groups:
            yield merge([read_part(self.symbol, part) for part in group])

    def until(self, time_ns: int) -> tuple[list[Any], Events | None]:
        """Return the files that end before a time, and the events of those that have begun by then.

        Parameters
        ----------
        time_ns : int
            Time at the recorder, Unix ns.

        Returns
        -------
        tuple of (list, Events or None)
            The whole files, and the events of the others, None if there are none.
        """
        before = [part for part, known in zip(self.groups, self.summaries, strict=True) if known.local_ns[1] < time_ns]
        whole = [file for group in before for file in group]
        now = self.groups[len(before)] if len(before) < len(self.groups) else []
        return whole, merge([read_part(self.symbol, part) for part in now]) if now else None


def holds_events(part: object) -> bool:
    """Return whether data of a symbol is events, or a list of files of them.

    Parameters
    ----------
    part : object
        Data of one symbol, as the user gave it.
    """
    if isinstance(part, list | tuple):
        return len(part) > 0 and all(isinstance(one, str | os.PathLike | Events) for one in part)
    return isinstance(part, Events)


def _summary(symbol: str, part: str | os.PathLike[str] | Events) -> Summary:
    if isinstance(part, Events):
        return summary_of(part)
    path = Path(part)
    if not path.is_file():
        raise InputError(f"{symbol}: there is no file {path}", field="data", value=str(path))
    stat = path.stat()
    # Time and size are part of the key, so a file that is written again is read again.
    return _summary_of_file(symbol, path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4_096)
def _summary_of_file(symbol: str, path: Path, modified: int, size: int) -> Summary:
    """Return the summary of a file, read once as long as it does not change."""
    return summary_of(read_part(symbol, path))


def read_part(symbol: str, part: str | os.PathLike[str] | Events) -> Events:
    """Return the events of one part.

    Parameters
    ----------
    symbol : str
        Product symbol, which chooses the events of a file with several.
    part : path or Events
        File, or events, which are returned unchanged.

    Raises
    ------
    InputError
        For a file of candles, or of several other products.
    """
    if isinstance(part, Events):
        return part
    found = load(part, format=guess_format(Path(part)), progress=False)
    if isinstance(found, Mapping):
        found = found.get(symbol)
    if not isinstance(found, Events):
        text = f"{os.fspath(part)}: expected events of {symbol}. Load the file, and give one product of it"
        raise InputError(text, field="data", rule="events", value=os.fspath(part))
    return found


def _joined(parts: Sequence[Summary]) -> Summary:
    """Return the summary of all parts."""
    priced = [part.prices for part in parts if part.prices[0]] or [parts[0].prices]
    rates = [np.concatenate(columns) for columns in zip(*(part.rates for part in parts), strict=True)]
    order = np.argsort(rates[0], kind="stable")
    return Summary(
        next((part.symbol for part in parts if part.symbol), ""),
        next((part.exchange for part in parts if part.exchange), ""),
        min(part.tick_size for part in parts if part.kinds & set(PRICED)),
        min(part.step_size for part in parts if part.kinds & set(PRICED)),
        (min(part.exchange_ns[0] for part in parts), max(part.exchange_ns[1] for part in parts)),
        (min(part.local_ns[0] for part in parts), max(part.local_ns[1] for part in parts)),
        max(part.behind for part in parts),
        (priced[0][0], max(each[1] for each in priced), min(each[2] for each in priced), priced[-1][3]),
        frozenset().union(*(part.kinds for part in parts)),
        (rates[0][order], rates[1][order]),
        max(part.late for part in parts),
    )
