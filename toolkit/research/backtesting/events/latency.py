"""Latency of requests: how long an order takes to the venue, and its answer back."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ...data.event_array import MS
from ...data.events import Events
from ...data.order_books import feed_times
from ..models import Latency


class RequestLatency:
    """Delays in ns of requests (`order`) and answers (`answer`) sent at a time (Unix ns)."""

    def __init__(self, order_ns: int, answer_ns: int) -> None:
        self._delays = order_ns, answer_ns

    def order(self, sent_ns: int) -> int:
        """Return how long a request takes."""
        return self._delays[0]

    def answer(self, sent_ns: int) -> int:
        """Return how long an answer takes."""
        return self._delays[1]

    def __repr__(self) -> str:
        order, answer = (pd.Timedelta(delay) / pd.Timedelta("1ms") for delay in self._delays)
        return f"({order:g} ms, {answer:g} ms)"


class MeasuredLatency(RequestLatency):
    """Delays interpolated between measured ones; before the first and after the last, those."""

    def __init__(self, times_ns: NDArray[np.int64], order_ns: NDArray[np.int64], answer_ns: NDArray[np.int64]) -> None:
        order = np.argsort(times_ns, kind="stable")
        self._times, self._start = (times_ns[order] - times_ns.min()).astype("f8"), int(times_ns.min())
        self._order, self._answer = order_ns[order].astype("f8"), answer_ns[order].astype("f8")

    def order(self, sent_ns: int) -> int:
        """Return how long a request takes."""
        return int(np.interp(sent_ns - self._start, self._times, self._order))

    def answer(self, sent_ns: int) -> int:
        """Return how long an answer takes."""
        return int(np.interp(sent_ns - self._start, self._times, self._answer))

    def __repr__(self) -> str:
        return f"measured ({len(self._times):,} points)"


class DrawnLatency(RequestLatency):
    """Delays drawn from a model of `models`, each way."""

    def __init__(self, model: Latency, random: Random) -> None:
        self._model, self._random = model, random

    def order(self, sent_ns: int) -> int:
        """Return how long a request takes."""
        return self._model.delay(self._random) * MS

    answer = order

    def __repr__(self) -> str:
        return repr(self._model)


def request_latency(given: Any, events: Events, random: Random) -> RequestLatency:
    """Return the latency that a setting describes.

    `given` is a pair (order there, answer back) of ms or text like "10ms"; one of these, for both ways; a Latency
    model; a DataFrame of measured requests with the columns sent, arrived and answered (times), which is interpolated;
    "feed", for the recorded delay of the feed each way; or None, for no time at all.
    """
    if given is None:
        return RequestLatency(0, 0)
    if isinstance(given, str) and given == "feed":
        times = feed_times(events)
        delays = times - events.array["exchange_ns"]
        return MeasuredLatency(times, delays, delays)
    if isinstance(given, pd.DataFrame):
        return _measured(given)
    if hasattr(given, "delay"):
        return DrawnLatency(given, random)
    pair = tuple(given) if isinstance(given, tuple | list) else (given, given)
    if len(pair) != 2:
        raise _wrong(given)
    return RequestLatency(*(to_ns(one, "latency") for one in pair))


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


def _measured(table: pd.DataFrame) -> MeasuredLatency:
    names = ("sent", "arrived", "answered")
    missing = [name for name in names if name not in table]
    if missing or not len(table):
        lacks = ", ".join(missing) or "rows"
        raise InputError(
            f"a frame of latencies has rows and the columns {', '.join(names)}; this one lacks {lacks}",
            field="latency",
            rule="columns",
        )
    sent, arrived, answered = (
        np.asarray(pd.to_datetime(table[name], utc=True).astype("datetime64[ns, UTC]").astype("int64"))
        for name in names
    )
    if (arrived < sent).any() or (answered < arrived).any():
        raise InputError("a measured request arrives before it was sent", field="latency", rule="not negative")
    return MeasuredLatency(sent, arrived - sent, answered - arrived)


def _wrong(given: Any, field: str = "latency") -> InputError:
    pair = ", or a pair (order there, answer back)" if field == "latency" else ""
    return InputError(
        f'{field} {given!r} is no span; give ms or text like "10ms"{pair}',
        field=field,
        value=str(given),
    )
