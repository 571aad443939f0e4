"""Latency of requests: how long an order takes to the venue, and its answer back."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ...data.event_array import MS
from ...data.events import Events
from ...data.order_books import feed_times

Times = NDArray[np.int64]


class RequestLatency(NamedTuple):
    """How long a request (`order`) and its answer (`answer`) take, ns, when they are sent at a time (Unix ns)."""

    order: Callable[[int], int]
    answer: Callable[[int], int]
    text: str

    def __repr__(self) -> str:
        return self.text


def request_latency(given: Any, events: Events, random: Random) -> RequestLatency:
    """Return the latency that a setting describes.

    `given` is a pair (order there, answer back) of ms or text like "10ms"; one of these, for both ways; a Latency
    model; a DataFrame of measured requests with the columns sent, arrived and answered (times), which is interpolated;
    "feed", for the recorded delay of the feed each way; or None, for no time at all.
    """
    if isinstance(given, str) and given == "feed":
        times = feed_times(events)
        delays = times - events.array["exchange_ns"]
        return _interpolated(times, delays, delays)
    if isinstance(given, pd.DataFrame):
        return _measured(given)
    if hasattr(given, "delay"):

        def drawn(sent_ns: int) -> int:
            return int(given.delay(random)) * MS

        return RequestLatency(drawn, drawn, repr(given))
    pair = tuple(given) if isinstance(given, tuple | list) else (given, given)
    if len(pair) != 2:
        raise _wrong(given)
    order_ns, answer_ns = (0, 0) if given is None else (to_ns(one, "latency") for one in pair)
    return RequestLatency(
        lambda sent_ns: order_ns, lambda sent_ns: answer_ns, f"({order_ns / MS:g} ms, {answer_ns / MS:g} ms)"
    )


def _interpolated(times_ns: Times, order_ns: Times, answer_ns: Times) -> RequestLatency:
    """Return delays between measured ones; before the first and after the last, those."""
    first, rows = int(times_ns.min()), np.argsort(times_ns, kind="stable")
    times = (times_ns[rows] - first).astype("f8")

    def between(delays_ns: Times) -> Callable[[int], int]:
        sorted_ns = delays_ns[rows].astype("f8")
        return lambda sent_ns: int(np.interp(sent_ns - first, times, sorted_ns))

    return RequestLatency(between(order_ns), between(answer_ns), f"measured ({len(times):,} points)")


def to_ns(given: Any, field: str) -> int:
    """Return a span (ms, text like "10ms", timedelta) in ns. Raises InputError for what is none, or below 0."""
    try:
        numeric = isinstance(given, int | float | np.number)
        span = round(float(given) * MS) if numeric else int(pd.Timedelta(given).as_unit("ns").value)
    except (ValueError, TypeError, OverflowError):
        raise _wrong(given, field) from None
    if given is None or given is pd.NaT:
        raise _wrong(given, field)
    if span < 0:
        raise InputError(f"{field} is {given}; it must not be negative", field=field, rule="not negative", value=given)
    return span


def _measured(table: pd.DataFrame) -> RequestLatency:
    names = ("sent", "arrived", "answered")
    missing = [name for name in names if name not in table]
    if missing or not len(table):
        lacks = ", ".join(missing) or "rows"
        text = f"a frame of latencies has rows and the columns {', '.join(names)}; this one lacks {lacks}"
        raise InputError(text, field="latency", rule="columns")
    sent, arrived, answered = (
        np.asarray(pd.to_datetime(table[name], utc=True).astype("datetime64[ns, UTC]").astype("int64"))
        for name in names
    )
    if (arrived < sent).any() or (answered < arrived).any():
        raise InputError("a measured request arrives before it was sent", field="latency", rule="not negative")
    return _interpolated(sent, arrived - sent, answered - arrived)


def _wrong(given: Any, field: str = "latency") -> InputError:
    pair = ", or a pair (order there, answer back)" if field == "latency" else ""
    return InputError(f'{field} {given!r} is no span; give ms or text like "10ms"{pair}', field=field, value=str(given))
