"""Audit: what may be wrong with a run, found in its frames and by making it again.

Look-ahead is looked for in two ways. The run is made again on data that ends at one of its orders, with the frames that
its strategy holds changed after it: where another order comes out, the first one knew the future. And market orders
that nearly always precede a move in their direction know it, wherever they take it from.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.bars import read_bars
from ..data.event_array import Kind
from ..data.event_files import EventFiles, holds_events
from ..data.events import Events
from ..data.quality import check
from .luck import trials

CUTS = 8
"""Orders at which the data is cut: so many evenly by number, and by time."""
FEW, RIGHT = 20, 0.8
"""Market orders that are too few to judge, and the share of right ones that luck and skill do not reach."""
QUEUES = ("risk-averse", "power:2", "log")
APART = 0.1
"""Part of the fills that may differ with another order of ties. A queue model may differ by twice as much."""
Finding = tuple[str, bool | None, str]
"""Name of the check, whether something was found (None: not known), and what."""


def audit(run: Any) -> pd.DataFrame:
    """Return the findings about a run. See `Results.audit`."""
    rows = [rejected(run)]
    given = getattr(run.recipe, "arguments", None)
    with trials.paused():
        if given is None or "data" not in given:
            why = "the run can't be made again here"
            rows += [(name, None, why) for name in ("look-ahead", "ties", "queue", "gaps", "volume")]
        else:
            events = holds_events(next(iter(_parts(given["data"]).values())))
            rows += [_look_ahead(run, given, events), *_repeated(run, given, events), _gaps(given, events)]
            rows.append(_volume(run, given, events))
    count = max(len(trials), 1)
    rows.append(("trials", False, f"{count} counted; the deflated Sharpe ratio takes them"))
    return pd.DataFrame(rows, columns=["check", "found", "detail"]).astype({"found": "boolean"}).set_index("check")


def in_short(findings: pd.DataFrame) -> str:
    """Return the findings as one line."""
    found = findings[findings["found"].fillna(False).astype(bool)]
    return "audit: " + ("; ".join(f"{name}: {row.detail}" for name, row in found.iterrows()) or "nothing found")


def rejected(run: Any) -> Finding:
    """Return how many orders were rejected."""
    refused = run.events[run.events["kind"] == "REJECTED"]
    if not len(refused):
        return "rejected", False, "none"
    total = max(len(run.orders), len(refused))
    return "rejected", True, f"{len(refused)} of {total} orders, the first: {refused['text'].iloc[0]}"


def _look_ahead(run: Any, given: Mapping[str, Any], events: bool) -> Finding:
    name, fills, right, every = "look-ahead", run.fills[run.fills["type"] == "MARKET"], 0, 0
    for symbol, part in fills.groupby("symbol"):
        marks, signs = run.marks[symbol], np.where(part["side"] == "BUY", 1, -1)
        after = marks.index.searchsorted(pd.DatetimeIndex(part["time"]), side="right")
        moved = (marks.to_numpy()[after.clip(max=len(marks) - 1)] - part["price"]) * signs
        right, every = right + int((moved > 0).sum()), every + int((moved != 0).sum())
    if every >= FEW and right / every >= RIGHT:
        return name, True, f"the price moved in their direction after {right} of {every} market orders"
    if "targets" in given and not callable(given["targets"]):
        return name, False, "no sign of it; with targets as a function of the data the run can be made again"
    known = _asked(run)
    times = sorted({row[0] for row in known})
    chosen = []
    if times:
        spread = np.searchsorted(times, np.linspace(times[0], times[-1], CUTS))
        chosen = [times[at] for at in sorted({*np.linspace(0, len(times) - 1, CUTS).round().astype(int), *spread})]
    for time in chosen:
        with _blinded(given, time):
            try:
                again = _asked(run.rerun(data=_cut(given["data"], time, events)))
            except Exception as error:  # whatever the strategy needs more data for
                return name, None, f"it fails on data up to {_stamp(time)}: {type(error).__name__}: {error}"
        before, after = [row for row in known if row[0] <= time], [row for row in again if row[0] <= time]
        if before != after:
            return name, True, f"without the data after {_stamp(time)} the orders before it are others"
    return name, False, f"none at {len(chosen)} orders"


def _asked(run: Any) -> list[tuple[Any, ...]]:
    """Return what a run asked for, Unix ms first. Without orders its trades."""
    table = run.orders if len(run.orders) else run.fills.assign(price=0.0, trigger_price=0.0)
    table = table.assign(ms=pd.DatetimeIndex(table["time"]).as_unit("ms").asi8).fillna({"price": 0, "trigger_price": 0})
    names = ["ms", "symbol", "side", "type", "price", "trigger_price", "quantity"]
    return sorted(table[names].itertuples(index=False, name=None))


def _stamp(time_ms: int) -> str:
    return f"{pd.Timestamp(time_ms, unit='ms'):%Y-%m-%d %H:%M:%S}"


def _parts(data: Any) -> Mapping[str, Any]:
    name = getattr(data, "symbol", "")  # of a frame of candles this is a column
    return data if isinstance(data, Mapping) else {(name if isinstance(name, str) else "") or "ASSET": data}


def _cut(data: Any, time_ms: int, events: bool) -> Any:
    """Return data up to a time: events that were received, or bars that have closed and a flat one for their orders."""
    made: dict[str, Any] = {}
    for name, part in _parts(data).items() if events else ():
        whole, part = ([], part) if isinstance(part, Events) else EventFiles(name, part).until((time_ms + 1) * 10**6)
        made[name] = whole
        if part is None:
            continue
        rows = part.array[part.array["local_ns"] < (time_ms + 1) * 10**6]
        # The last change of the book is said again, so that the orders arrive.
        last = rows[np.isin(rows["kind"], (Kind.DEPTH, Kind.QUOTE))][-1:].copy()
        last["exchange_ns"] = last["local_ns"] = (time_ms + 1) * 10**6
        cut = Events(np.concatenate([rows, last]), symbol=part.symbol, **part.grid)
        made[name] = [*whole, cut] if whole else cut
    if events:
        return made
    for name, bars in read_bars(data).items():
        closed = max(int((bars.closed <= time_ms).sum()), 1)
        kept = {field: getattr(bars, field)[: closed + 1].copy() for field in ("open", "high", "low", "close")}
        for values in kept.values():
            values[closed:] = kept["close"][closed - 1]
        made[name] = replace(bars, opened=bars.opened[: closed + 1], volume=bars.volume[: closed + 1], **kept)
    return made


@contextmanager
def _blinded(given: Mapping[str, Any], time_ms: int) -> Iterator[None]:
    """Mirror the future of every frame and array that the strategy's functions hold, and undo it afterwards."""
    bars = next(iter(_parts(given["data"]).values()))
    closed = np.zeros(0) if holds_events(bars) else next(iter(read_bars(given["data"]).values())).closed
    undo: list[tuple[Any, Any, Any]] = []
    for holder, name, value in list(_held(given.get("strategy"))) + list(_held(given.get("targets"))):
        if isinstance(value, pd.DataFrame | pd.Series | np.ndarray) and len(value) == len(closed):
            undo.append((holder, name, value))
            _set(holder, name, _mirrored(value, int((closed <= time_ms).sum())))
    try:
        yield
    finally:
        for item in reversed(undo):
            _set(*item)


def _mirrored(value: Any, past: int) -> Any:
    """Return a copy of values in which those after the first `past` ones move the other way."""
    if isinstance(value, pd.DataFrame):
        return value.apply(_mirrored, past=past)
    array = np.array(value)
    if array.dtype.kind == "b":
        array[past:] = ~array[past:]
    elif array.dtype.kind in "if" and 0 < past < len(array):
        array[past:] = 2 * array[past - 1] - array[past:]
    return pd.Series(array, value.index, name=value.name) if isinstance(value, pd.Series) else array


def _set(holder: Any, name: Any, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    else:
        setattr(holder, name, value)


def _held(thing: Any, depth: int = 0) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (holder, name, value) of what functions, methods and attributes of a strategy refer to."""
    if isinstance(thing, Mapping):
        for part in thing.values():
            yield from _held(part, depth)
    elif inspect.isfunction(thing) or inspect.ismethod(thing):
        function = inspect.unwrap(getattr(thing, "__func__", thing))
        named = [(function.__globals__, name) for name in function.__code__.co_names if name in function.__globals__]
        for holder, name in [*named, *((cell, "cell_contents") for cell in function.__closure__ or ())]:
            value = holder[name] if isinstance(holder, dict) else holder.cell_contents
            yield holder, name, value
            if inspect.isfunction(value) and depth < 3:
                yield from _held(value, depth + 1)
    elif thing is not None:
        for owner in (thing, *(thing if isinstance(thing, type) else type(thing)).__mro__):
            for name, value in list(getattr(owner, "__dict__", {}).items()):
                if inspect.isfunction(value) and not owner.__module__.startswith("toolkit."):
                    yield from _held(value, depth)
                elif not name.startswith("__") and not inspect.isfunction(value):
                    yield owner, name, value


def _repeated(run: Any, given: Mapping[str, Any], events: bool) -> list[Finding]:
    """Return whether the fills hang on ties of one ns, or on the queue model."""
    if not events:
        return [(name, False, "bars have none") for name in ("ties", "queue")]
    latency = given.get("latency")
    found: Finding = ("ties", None, "the latency is not a fixed one")
    if latency is None or isinstance(latency, int | float | str | tuple | list):
        pair = latency if isinstance(latency, tuple | list) else (latency or 0,) * 2
        spans = [pd.Timedelta(way) if isinstance(way, str) else pd.Timedelta(float(way), "ms") for way in pair]
        later = _filled(run.rerun(latency=tuple(span + pd.Timedelta(1, "ns") for span in spans)))
        same = sum((_filled(run) & later).values())
        total = max(sum(later.values()), len(run.fills), 1)
        found = ("ties", same < (1 - APART) * total, f"{same} of {total} fills stay with 1 ns more latency")
    counts = {str(run.settings["queue"]): len(run.fills)}
    for queue in QUEUES:
        counts.setdefault(queue, len(run.rerun(queue=queue).fills))
    text = ", ".join(f"{fills} fills with {queue}" for queue, fills in counts.items())
    return [found, ("queue", max(counts.values()) - min(counts.values()) > 2 * APART * len(run.fills), text)]


def _filled(run: Any) -> Counter[tuple[Any, ...]]:
    return Counter(run.fills[["time", "symbol", "side", "price", "quantity"]].itertuples(index=False, name=None))


def _gaps(given: Mapping[str, Any], events: bool) -> Finding:
    found = []
    for name, part in (_parts(given["data"]) if events else read_bars(given["data"])).items():
        if not events:
            part = pd.DataFrame({"time": pd.to_datetime(part.opened, unit="ms", utc=True)})
        for one in EventFiles(name, part) if isinstance(part, list | tuple) else [part]:
            problems = check(one)
            named = problems[problems["problem"].isin(["gap", "silence"])].itertuples()
            found += [f"{name} {row.detail}" for row in named]
    return "gaps", bool(found), f"{len(found)}, the first: {found[0]}" if found else "none"


def _volume(run: Any, given: Mapping[str, Any], events: bool) -> Finding:
    """Return whether fills were larger than all that was traded in their bar."""
    beyond, total = 0, 0
    for symbol, bars in {} if events else read_bars(given["data"]).items():
        fills = run.fills[run.fills["symbol"] == symbol]
        at = np.searchsorted(bars.opened, pd.DatetimeIndex(fills["time"]).as_unit("ms").asi8, side="right") - 1
        taken = np.bincount(at, fills["quantity"], len(bars))
        known = bars.volume > 0
        beyond, total = beyond + int((taken[known] > bars.volume[known]).sum()), total + int(known.sum())
    text = f"in {beyond} bars more was filled than the market traded" if beyond else "no fill beyond the bar's volume"
    return "volume", beyond > 0, text if total or events else "the bars have no volume"
