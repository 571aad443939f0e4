"""Backtests on books and trades: speed, and fills next to those of hftbacktest on the same events.

The events are an hour of the local venue, recorded here, or those of the file that TOOLKIT_BENCH_EVENTS names. Where
hftbacktest is installed (2.4, which needs numba), it runs the same strategies, compiled, in the same process.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from toolkit.research import data, record
from toolkit.research.data.loading import guess_format
from toolkit.session import connect

from . import Measurement
from .equal_fills import EVERY_MS, Quoting, ours, peer, setups

SECONDS = 3600


def recorded_hour() -> Any:
    """Return the events of an hour of the local venue's simulated market."""
    with tempfile.TemporaryDirectory() as folder:
        with connect(clock="manual") as session:
            venue: Any = session.venue
            with record(session, folder, ["BTCUSDC"], channels=["order_book", "trades"], depth=200):
                for _ in range(SECONDS):
                    venue.advance("1s")
        return data.load(folder, format="recording", progress=False)


def given_events() -> Any:
    """Return the events of TOOLKIT_BENCH_EVENTS, else a recorded hour."""
    path = os.environ.get("TOOLKIT_BENCH_EVENTS")
    return data.load(path, format=guess_format(Path(path)), progress=False) if path else recorded_hour()


def measure_books() -> list[Measurement]:
    """Measure the speed of backtests on events, and how many fills equal hftbacktest's one by one."""
    events = given_events()
    every = setups(events)
    if importlib.util.find_spec("hftbacktest") is None:
        best = min(ours(events, Quoting())[1] for _ in range(3))
        return [Measurement(f"backtest of a maker on {len(events):,} events", best, "s", better="lower")]
    theirs, found = peer(events), list[Measurement]()
    theirs(Quoting(), watch=False)  # compiles
    for name, most in (("best prices", 3.0), ("five levels", 5.0)):
        turns = [(ours(events, every[name])[1], theirs(every[name], watch=False)[1]) for _ in range(3)]
        here, there = (min(times) for times in zip(*turns, strict=True))
        note = f"{len(events) / here:,.0f} events/s of processor time"
        row = Measurement(f"backtest on {len(events):,} events: {name}, decided each {EVERY_MS} ms", here, "s", most,
                          "lower", "ratio", "hftbacktest, compiled", here / there, note=note)  # fmt: skip
        found.append(row)
    for name, setup in every.items():
        rows, (others, _, ended) = ours(events, setup)[0], theirs(setup)
        rows, others = ([row for row in each if row[0] < ended] for each in (rows, others))
        equal = sum((Counter(rows) & Counter(others)).values())
        total = max(len(rows), len(others), 1)
        note = f"{len(rows)} here, {len(others)} there"
        name = f"fills equal in time, price, side and size: {name}"
        found.append(Measurement(name, equal, "fills", 1.0, "higher", "ratio", "hftbacktest", equal / total, note=note))
    return found
