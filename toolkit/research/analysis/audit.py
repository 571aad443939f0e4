"""Audit: what may be wrong with a run, found in its frames and by making it again.

The audit looks for look-ahead in two ways. It makes the run again on data that ends at one of its orders, and changes
the later part of the frames that the strategy holds. If other orders result, the first run knew the future. The other
sign is market orders that nearly always precede a move in their direction, however the strategy learned of it.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from types import MethodType
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError
from ...sides import BUYS
from ..data.bars import Bars, read_bars
from ..data.event_array import MS, Kind
from ..data.event_files import PRICES, EventFiles, holds_events
from ..data.events import Events
from ..data.quality import check
from ..formulas.execution import in_words
from .fingerprints import is_library, referred
from .luck import trials
from .silence import Finding, funded, silent

CUTS = 8
"""The data is made to end at so many orders spaced evenly by number, and at as many spaced evenly by time."""
FEW, RIGHT, SURE = 20, 0.6, 4.0
"""Market orders that are too few to judge, and the share of right ones that skill does not reach. They must also be so
many standard deviations of a binomial distribution beyond what the price's own persistence gives."""
QUEUES = ("risk-averse", "power:2", "log")
APART = 0.1
"""Part of the fills that may differ with another order of ties. A queue model may differ by twice as much."""
DRIFTED = 0.05
"""Distance of constant weights from their targets that is worth a word, a ratio."""
MANY = 1_000
"""Items of a container that is data itself, and not looked into."""


class Audited(Protocol):
    """What an audit reads of a run. `Results` is one."""

    @property
    def recipe(self) -> Any:
        """How it was made, with its `arguments`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the run, as text."""

    @property
    def events(self) -> pd.DataFrame:
        """What happened, with kind and text."""

    @property
    def orders(self) -> pd.DataFrame:
        """Its orders."""

    @property
    def fills(self) -> pd.DataFrame:
        """Its fills."""

    def unproven_in_short(self) -> str:
        """Return what nothing proves of the data in words, "" for nothing."""

    @property
    def marks(self) -> pd.DataFrame:
        """Mark prices by time, a column for each symbol."""

    @property
    def executed(self) -> dict[str, Any]:
        """Its account of execution."""

    def rerun(self, **changes: object) -> Audited:
        """Return the same run with changed arguments.

        Parameters
        ----------
        **changes : object
            Arguments by name.
        """


def audit(run: Audited) -> pd.DataFrame:
    """Return the findings about a run. See `Results.audit`.

    Parameters
    ----------
    run : Results
        Results of the run, with the recipe by which it can be made again.

    Returns
    -------
    DataFrame
        One row a check, with the index `check`:

        - found: boolean, NA if it is not known
        - detail: str, what was found
    """
    recipe = run.recipe
    received = getattr(recipe, "received", None)
    recipe = received or recipe
    given, rows = getattr(recipe, "arguments", None), [executed(run), rejected(run)]
    with trials.paused():
        if given is None or "data" not in given:
            why = "the run can't be made again here"
            rows += [(name, None, why) for name in CHECKS]
        else:
            events = holds_events(next(iter(_parts(given["data"]).values())))
            checks: dict[str, Callable[[], Finding]] = {
                "look-ahead": partial(_look_ahead, run, given, recipe.run, events, received is not None),
                "ties": partial(_ties, run, given, recipe.run, events, received is not None),
                "queue": partial(_queue, run, recipe.run, events, received is not None),
                "gaps": partial(_gaps, run, given, events),
                "volume": partial(_volume, run, given, events),
                "funding": partial(funded, run, given, received is not None),
                "silence": partial(silent, run, given, recipe.run, events),
            }
            rows += [_made(name, check) for name, check in checks.items()]
    idea = str(run.settings.get("idea", ""))
    count = max(trials.count(idea), 1)
    words = f"{count} of this idea counted, {max(len(trials), 1)} in the project" if idea else f"{count} counted"
    rows.append(("trials", False, f"{words}. The deflated Sharpe ratio takes them"))
    return pd.DataFrame(rows, columns=["check", "found", "detail"]).astype({"found": "boolean"}).set_index("check")


def in_short(findings: pd.DataFrame) -> str:
    """Return the findings as one line.

    Parameters
    ----------
    findings : DataFrame
        Frame that `audit` returned.
    """
    found = findings[findings["found"].fillna(False).astype(bool)]
    text = "; ".join(f"{name}: {row.detail}" for name, row in found.iterrows()) or "nothing found"
    unknown = list(findings.index[findings["found"].isna()])
    if not unknown:
        return f"audit: {text}"
    made = f"{len(findings) - len(unknown)} of {len(findings)} checks could be made"
    return f"audit: {text}. {made}, not: {', '.join(map(str, unknown))}"


CHECKS = ("look-ahead", "ties", "queue", "gaps", "volume", "funding", "silence")
"""Checks that need the data of the run."""


def _made(name: str, check: Callable[[], Finding]) -> Finding:
    """Return what a check finds. One that fails has found nothing out."""
    try:
        return check()
    except Exception as error:
        return name, None, f"the check fails: {type(error).__name__}: {error}"


def executed(run: Audited) -> Finding:
    """Return what went wrong with orders that were not rejected, unknown for a run without any record of them.

    Parameters
    ----------
    run : Results
        Results of the run.
    """
    found, drift = run.executed, float(run.settings.get("drift", 0.0))
    if drift > DRIFTED:
        return "execution", True, f"positions drift up to {drift:.1%} from their targets. See rebalance="
    if found["orders"] != found["orders"]:
        return "execution", None, "the run has fills and no orders"
    text = in_words(found)
    return "execution", bool(text), text or f"none of {found['market_orders']} market orders found nothing"


def rejected(run: Audited) -> Finding:
    """Return how many orders were rejected.

    Parameters
    ----------
    run : Results
        Results of the run.
    """
    refused = run.events[run.events["kind"] == "REJECTED"]
    if not len(refused):
        return "rejected", False, "none"
    total = max(len(run.orders), len(refused))
    return "rejected", True, f"{len(refused)} of {total} orders, the first: {refused['text'].iloc[0]}"


Again = Callable[[Mapping[str, Any]], Any]
"""Function of changed arguments that makes a run again."""


def _look_ahead(run: Audited, given: Mapping[str, Any], again: Again, events: bool, received: bool) -> Finding:
    name = "look-ahead"
    # Orders of a run on a venue move its market themselves, and others trade against them. Only bars are compared then.
    if not received and (text := _too_right(run)):
        return name, True, text
    if "targets" in given and not callable(given["targets"]):
        return name, None, "no sign of it. With targets as a function of the data the run can be made again"
    # Decisions are compared with those of the same kind of run, never with what a venue made of them.
    known = _asked(again({}))
    if not received and known != _asked(run):
        return name, None, "the same run has other orders each time, so it can't be compared"
    times = sorted({row[0] for row in known})
    if not times:
        return name, None, "no orders to compare" if len(run.orders) or len(run.fills) else "no orders"
    spread = np.searchsorted(times, np.linspace(times[0], times[-1], CUTS))
    chosen = [times[at] for at in sorted({*np.linspace(0, len(times) - 1, CUTS).round().astype(int), *spread})]
    failed = ""
    for number, time in enumerate(chosen):
        # Cutting the data hides the future that the run is given. Mirroring hides the one that the strategy holds
        # itself.
        with _blinded(given, time):
            try:
                cut = _asked(again({"data": _cut(given["data"], time, events)}))
            except Exception as error:  # whatever the strategy needs more data for
                if isinstance(error, InputError) and error.rule == "no look-ahead":
                    return name, True, str(error)
                failed = f"it fails on data up to {_stamp(time)}: {type(error).__name__}: {error}"
                # The first cuts may be too short for an honest strategy. One that fails later is not checked.
                if number >= len(chosen) // 2:
                    return name, None, failed
                continue
        if [row for row in known if row[0] <= time] != [row for row in cut if row[0] <= time]:
            return name, True, f"without the data after {_stamp(time)} the orders before it are others"
        if failed:
            return name, None, failed
    return name, False, f"none at {len(chosen)} orders"


def _too_right(run: Audited) -> str:
    """Return that the price nearly always moves in the direction of market orders, "" if it does not.

    A strategy that is right so often knows the next moment, however it learned of it.
    """
    fills, right, every, kept, moves = run.fills[run.fills["type"] == "MARKET"], 0, 0, 0, 0
    for symbol, part in fills.groupby("symbol"):
        marks, signs = run.marks[symbol], np.where(part["side"].isin(BUYS), 1, -1)
        after = marks.index.searchsorted(pd.DatetimeIndex(part["time"]), side="right")
        moved = (marks.to_numpy()[after.clip(max=len(marks) - 1)] - part["price"]) * signs
        right, every = right + int((moved > 0).sum()), every + int((moved != 0).sum())
        steps = np.sign(np.diff(marks.to_numpy()))
        pairs = steps[1:] * steps[:-1]
        kept, moves = kept + int((pairs > 0).sum()), moves + int((pairs != 0).sum())
    if every < FEW:
        return ""
    # Who follows a price that mostly continues is right as often as it continues, without any knowledge.
    chance = min(max(0.5, kept / moves, 1 - kept / moves), RIGHT) if moves > FEW else 0.5
    beyond = (right - 0.5 - every * chance) / math.sqrt(every * chance * (1 - chance))
    if right / every < RIGHT or beyond < SURE:
        return ""
    return f"the price moved in their direction after {right} of {every} market orders"


def _asked(run: Audited) -> list[tuple[Any, ...]]:
    """Return what a run asked for, Unix ms first. Without orders its trades."""
    table = run.orders if len(run.orders) else run.fills.assign(price=0.0, trigger_price=0.0)
    table = table.assign(ms=pd.DatetimeIndex(table["time"]).as_unit("ms").asi8).fillna({"price": 0, "trigger_price": 0})
    names = ["ms", "symbol", "side", "type", "price", "trigger_price", "quantity"]
    return sorted(table[names].itertuples(index=False, name=None))


def _stamp(time_ms: int) -> str:
    return f"{pd.Timestamp(time_ms, unit='ms'):%Y-%m-%d %H:%M:%S}"


def _parts(data: object) -> Mapping[str, Any]:
    name = getattr(data, "symbol", "")  # of a frame of candles this is a column
    return data if isinstance(data, Mapping) else {(name if isinstance(name, str) else "") or "ASSET": data}


def _cut(data: object, time_ms: int, events: bool) -> Any:
    """Return data up to a time: events that were received, or bars that have closed and a flat one for their orders."""
    made: dict[str, Any] = {}
    for name, part in _parts(data).items() if events else ():
        if not isinstance(part, Events):
            made[name] = EventFiles(name, part).until((time_ms + 1) * MS)
            continue
        rows = part.array[part.array["local_ns"] < (time_ms + 1) * MS]
        # One more event, of no interest to the strategy, so that orders on their way arrive.
        last = rows[np.isin(rows["kind"], PRICES)][-1:].copy()
        last["exchange_ns"] = last["local_ns"] = (time_ms + 1) * MS
        last["kind"] = Kind.MARK
        made[name] = part._with(np.concatenate([rows, last]))
    if events:
        return made
    for name, bars in read_bars(data).items():
        closed = max(int((bars.closed <= time_ms).sum()), 1)
        # One flat bar more, so that orders of the last close still arrive. It shows nothing of the future.
        kept = {field: getattr(bars, field)[: closed + 1].copy() for field in ("open", "high", "low", "close")}
        for values in kept.values():
            values[closed:] = kept["close"][closed - 1]
        made[name] = replace(bars, opened=bars.opened[: closed + 1], volume=bars.volume[: closed + 1], **kept)
    return made


@contextmanager
def _blinded(given: Mapping[str, Any], time_ms: int) -> Iterator[None]:
    """Mirror the future of every table, array and list that the strategy's functions hold, and undo it afterwards."""
    data = given["data"]
    bars = None if holds_events(next(iter(_parts(data).values()))) else next(iter(read_bars(data).values()))
    undo: list[tuple[Any, Any, Any]] = []
    for holder, name, value in [*_held(given.get("strategy")), *_held(given.get("targets"))]:
        if (past := _past(value, bars, time_ms)) is not None:
            with suppress(AttributeError, TypeError):  # what can't be changed keeps its future
                _set(holder, name, _mirrored(value, past))
                undo.append((holder, name, value))
    try:
        yield
    finally:
        for item in reversed(undo):
            _set(*item)


def _past(value: Any, bars: Bars | None, time_ms: int) -> int | None:
    """Return how many items of a value are known at a time, None for what has no order of time that can be seen.

    Events, values with an item for each bar, and tables by time have one.
    """
    array = value.array if isinstance(value, Events) else value
    if isinstance(array, np.ndarray) and "local_ns" in (array.dtype.names or ()):
        return int((array["local_ns"] < (time_ms + 1) * MS).sum())
    plain = type(value) in (list, tuple, dict) and all(
        isinstance(item, int | float) for item in (value.values() if isinstance(value, dict) else value)
    )
    if not (plain or isinstance(value, pd.DataFrame | pd.Series | np.ndarray)):
        return None
    if getattr(value, "ndim", 1) == 0 or not len(value):
        return None
    if bars is not None and len(value) == len(bars):
        return int((bars.closed <= time_ms).sum())
    index = getattr(value, "index", None)
    if not isinstance(index, pd.DatetimeIndex):
        return None
    times = index.as_unit("ms").asi8
    return int((times + _foreknown_ms(value, times, bars) <= time_ms).sum())


def _foreknown_ms(value: Any, times: NDArray[np.int64], bars: Bars | None) -> int:
    """Return how long before its values are known the rows of a table are stamped, ms.

    A table of longer bars has the close of an hour under the start of the hour. It is known by its closes: they are
    those of the data at the end of the row.
    """
    spacing = int(np.median(np.diff(times))) if len(times) > 2 else 0
    if bars is None or spacing <= bars.interval:
        return 0
    inside = (times >= bars.opened[0]) & (times + spacing <= bars.closed[-1])
    closes = bars.close[np.searchsorted(bars.closed, times[inside] + spacing, side="right") - 1]
    for _, column in pd.DataFrame(value).select_dtypes("number").items():
        same = np.isclose(column.to_numpy(dtype="float64")[inside], closes, rtol=1e-9, atol=0.0)
        if len(same) and same.mean() > 0.9:
            return spacing
    return 0


def _mirrored(value: object, past: int) -> Any:
    """Return a copy of values in which those after the first `past` ones move in the opposite direction."""
    if isinstance(value, pd.DataFrame):
        return value.apply(_mirrored, past=past)
    if isinstance(value, Events):
        return value._with(_mirrored(value.array, past))
    if isinstance(value, dict):
        return dict(zip(value, _mirrored(list(value.values()), past), strict=True))
    array = np.asarray(value).copy()  # np.array doesn't copy what pandas 2 gives it
    if array.dtype.names:
        array["price"] = _mirrored(array["price"], past)
    elif array.dtype.kind == "b":
        array[past:] = ~array[past:]
    elif array.dtype.kind not in "if" or not 0 < past < len(array):
        return value
    else:
        array[past:] = 2 * array[past - 1] - array[past:]
    if isinstance(value, pd.Series):
        return pd.Series(array, value.index, name=value.name)
    return type(value)(array.tolist()) if isinstance(value, list | tuple) else array


def _set(holder: object, name: Any, value: object) -> None:
    if isinstance(holder, dict | list):
        holder[name] = value
    else:
        setattr(holder, name, value)


def _held(thing: object, seen: set[int] | None = None) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (holder, name, value) of what functions, methods, attributes and containers of a strategy refer to."""
    seen = set() if seen is None else seen
    if isinstance(thing, MethodType | staticmethod | classmethod):
        thing = thing.__func__
    if id(thing) in seen or inspect.ismodule(thing):
        return
    seen.add(id(thing))
    found: list[tuple[Any, Any, Any]] = []
    if isinstance(thing, dict | list):
        found = [(thing, name, thing[name]) for name in (thing if isinstance(thing, dict) else range(len(thing)))]
        found = found if len(found) < MANY else []
    elif isinstance(thing, partial):
        found = [(thing.keywords, *item) for item in thing.keywords.items()] + [({}, "", thing.func)]
    elif inspect.isfunction(thing):
        function = inspect.unwrap(thing)
        found = referred(function)
        found += [(cell, "cell_contents", cell.cell_contents) for cell in function.__closure__ or ()]
    elif thing is not None and not _foreign(thing):
        for owner in (thing, *(thing if isinstance(thing, type) else type(thing)).__mro__):
            if not (isinstance(owner, type) and _foreign(owner)):
                own = list(getattr(owner, "__dict__", {}).items())
                found += [(owner, name, value) for name, value in own if not name.startswith("__")]
    for holder, name, value in found:
        yield holder, name, value
        yield from _held(value, seen)


def _foreign(thing: object) -> bool:
    """Return whether an object is not the strategy's own: of a library, or of Python."""
    return is_library((thing if isinstance(thing, type) else type(thing)).__module__)


def _ties(run: Audited, given: Mapping[str, Any], again: Again, events: bool, received: bool) -> Finding:
    """Return whether the fills depend on ties of one ns."""
    if not events:
        return "ties", None if received else False, "the venue's own" if received else "bars have none"
    latency = given.get("latency")
    if not (latency is None or isinstance(latency, int | float | str | tuple | list)):
        return "ties", None, "the latency is not a fixed one"
    pair = latency if isinstance(latency, tuple | list) else (latency or 0,) * 2
    spans = [pd.Timedelta(way) if isinstance(way, str) else pd.Timedelta(float(way), "ms") for way in pair]
    # A fill that depends on who was first within one nanosecond would not be repeated on a real exchange.
    later = _filled(again({"latency": tuple(span + pd.Timedelta(1, "ns") for span in spans)}))
    same = sum((_filled(run) & later).values())
    total = max(sum(later.values()), len(run.fills), 1)
    return "ties", same < (1 - APART) * total, f"{same} of {total} fills stay with 1 ns more latency"


def _queue(run: Audited, again: Again, events: bool, received: bool) -> Finding:
    """Return whether the fills depend on the queue model."""
    if not events:
        return "queue", None if received else False, "the venue's own" if received else "bars have none"
    counts = {str(run.settings["queue"]): len(run.fills)}
    counts |= {queue: len(again({"queue": queue}).fills) for queue in QUEUES if queue not in counts}
    text = ", ".join(f"{fills} fills with {queue}" for queue, fills in counts.items())
    return "queue", max(counts.values()) - min(counts.values()) > 2 * APART * len(run.fills), text


def _filled(run: Audited) -> Counter[tuple[Any, ...]]:
    return Counter(run.fills[["time", "symbol", "side", "price", "quantity"]].itertuples(index=False, name=None))


def _gaps(run: Audited, given: Mapping[str, Any], events: bool) -> Finding:
    if doubts := run.unproven_in_short():
        return "gaps", True, doubts
    found = []
    for name, part in (_parts(given["data"]) if events else read_bars(given["data"])).items():
        if not events:
            part = pd.DataFrame({"time": pd.to_datetime(part.opened, unit="ms", utc=True)})
        for one in EventFiles(name, part) if isinstance(part, list | tuple) else [part]:
            problems = check(one)
            named = problems[problems["problem"].isin(["gap", "silence"])].itertuples()
            found += [f"{name} {row.detail}" for row in named]
    return "gaps", bool(found), f"{len(found)}, the first: {found[0]}" if found else "none"


def _volume(run: Audited, given: Mapping[str, Any], events: bool) -> Finding:
    """Return whether fills were larger than all that was traded in their bar (on events: in their minute)."""
    beyond, total = 0, 0
    parts: Mapping[str, Any] = _parts(given["data"]) if events else read_bars(given["data"])
    for symbol, part in parts.items():
        if events:
            tables = [
                one.bars("1m") for one in (EventFiles(symbol, part) if isinstance(part, list | tuple) else [part])
            ]
            volume = pd.concat(tables).groupby("time")["volume"].sum().resample("1min").sum()
        else:
            volume = pd.Series(part.volume, pd.to_datetime(part.opened, unit="ms", utc=True))
        fills = run.fills[run.fills["symbol"] == symbol]
        at = volume.index.searchsorted(pd.DatetimeIndex(fills["time"]), side="right") - 1
        taken = np.bincount(at.clip(0), fills["quantity"], len(volume))
        known = volume.to_numpy() > 0
        beyond, total = beyond + int((taken[known] > volume[known] + 1e-9).sum()), total + int(known.sum())
    where = "minutes" if events else "bars"
    text = f"in {beyond} {where} more was filled than the market traded" if beyond else "no fill beyond what was traded"
    return "volume", beyond > 0, text if total else "the data has no volume"
