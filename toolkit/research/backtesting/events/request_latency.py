"""Latency of requests: how long an order takes to the venue, and its answer back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ....numerals import span_ns
from ...data.event_array import MS
from ...data.event_files import EventFiles
from ...data.events import Events
from ...data.order_books import feed_times

Times = NDArray[np.int64]


class RequestLatency(NamedTuple):
    """How long a request and its answer take.

    Attributes
    ----------
    order : callable
        Function from the time at which a request is sent (Unix ns) to its delay, ns.
    answer : callable
        Function from the time at which an answer is sent (Unix ns) to its delay, ns.
    text : str
        Description in the settings of the Results.
    """

    order: Callable[[int], int]
    answer: Callable[[int], int]
    text: str

    def __repr__(self) -> str:
        return self.text


def request_latency(given: object, events: Events | EventFiles, random: Random) -> RequestLatency:
    """Return the latency that a setting describes.

    Parameters
    ----------
    given : str, timedelta, tuple, DataFrame, Latency or None
        A pair (order there, answer back) of spans such as "10ms", one span for both ways, or a Latency model. It may
        also be "feed" for the recorded delay of the feed each way, or None for no latency. A DataFrame of measured
        requests with the columns sent, arrived and answered (times) is interpolated.
    events : Events or EventFiles
        Events whose feed delays "feed" takes.
    random : Random
        Random numbers of a Latency model.

    Raises
    ------
    InputError
        For a setting of another form.
    """
    if isinstance(given, str) and given == "feed":
        if isinstance(events, EventFiles):
            text = 'latency "feed" needs loaded events. Give data.load(files), or a pair of spans'
            raise InputError(text, field="latency", value="feed")
        times = feed_times(events)
        # The delay of the feed stands for that of a request in either direction, which the recording does not show.
        delays = times - events.array["exchange_ns"]
        way = _interpolated(times, delays)
        return RequestLatency(way, way, f"measured ({len(times):,} points)")
    if isinstance(given, pd.DataFrame):
        return _measured(given)
    if hasattr(given, "delay"):

        def drawn(sent_ns: int) -> int:
            return int(given.delay(random)) * MS

        return RequestLatency(drawn, drawn, repr(given))
    pair = tuple(given) if isinstance(given, tuple | list) else (given, given)
    if len(pair) != 2:
        text = f"latency is {given!r}. Give a span such as '10ms', or a pair (order there, answer back)"
        raise InputError(text, field="latency", value=str(given))
    order_ns, answer_ns = (0, 0) if given is None else (span_ns(one, "latency") for one in pair)
    return RequestLatency(
        lambda sent_ns: order_ns, lambda sent_ns: answer_ns, f"({order_ns / MS:g} ms, {answer_ns / MS:g} ms)"
    )


def _interpolated(times_ns: Times, delays_ns: Times) -> Callable[[int], int]:
    """Return the function that interpolates measured delays by their start, constant outside of the measured times.

    It truncates the change since the last point to whole ns, as hftbacktest does.
    """
    rows = np.argsort(times_ns, kind="stable")
    times, delays = times_ns[rows].tolist(), delays_ns[rows].tolist()

    def delay(at_ns: int) -> int:
        row = bisect_right(times, at_ns) - 1
        if not 0 <= row < len(times) - 1:
            return int(delays[max(row, 0)])
        slope = (delays[row + 1] - delays[row]) / (times[row + 1] - times[row])
        return int(delays[row] + int(slope * (at_ns - times[row])))

    return delay


def _measured(table: pd.DataFrame) -> RequestLatency:
    names = ("sent", "arrived", "answered")
    missing = [name for name in names if name not in table]
    if missing or not len(table):
        lacks = ", ".join(missing) or "rows"
        text = f"a frame of latencies needs rows and the columns {', '.join(names)}, but it has no {lacks}"
        raise InputError(text, field="latency", rule="columns")
    sent, arrived, answered = (
        np.asarray(pd.to_datetime(table[name], utc=True).astype("datetime64[ns, UTC]").astype("int64"))
        for name in names
    )
    if (arrived < sent).any() or (answered < arrived).any():
        raise InputError("a measured request arrives before it was sent", field="latency", rule="not negative")
    ways = _interpolated(sent, arrived - sent), _interpolated(arrived, answered - arrived)
    return RequestLatency(*ways, f"measured ({len(sent):,} points)")
