"""Benchmarks: each measures something against a peer in the same run. `toolkit bench` prints them all.

Machines are noisy, so a target is a ratio to a peer or a rate that leaves room.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

MODULES = {
    "signing": "signed_orders",
    "venue": "signed_orders",
    "served": "served_venue",
    "matching": "core_speed",
    "frames": "client_speed",
    "feed": "client_speed",
    "research": "bar_backtests",
    "books": "event_backtests",
    "startup": "client_speed",
    "market": "market_realism",
    "gym": "learners",
}
"""Benchmark → the module with its function `measure_…`, in the order they run."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement. `ratio` is value over peer. `target` is what `measure` ("value" or "ratio") must reach."""

    name: str
    value: float
    unit: str
    target: float | None = None
    better: Literal["higher", "lower"] = "higher"
    measure: Literal["value", "ratio"] = "value"
    peer: str = ""
    ratio: float | None = None
    aim: float | None = None
    note: str = ""
    most: float | None = None
    """The upper bound, where there is a lower bound too."""

    @property
    def measured(self) -> float:
        """The number that is held against the target."""
        return self.ratio if self.measure == "ratio" and self.ratio is not None else self.value

    @property
    def met(self) -> bool | None:
        """Whether the target is reached, None where there is none."""
        if self.target is None:
            return None
        if self.most is not None and self.measured > self.most:
            return False
        # values may be NumPy's, whose booleans are neither False nor JSON
        return bool(self.measured >= self.target if self.better == "higher" else self.measured <= self.target)

    @property
    def distance(self) -> float | None:
        """How far from the target, as a factor: below 1 is short of it, None where that is 0 or a range."""
        if not self.target or not self.measured or self.most is not None:
            return None
        return self.measured / self.target if self.better == "higher" else self.target / self.measured


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call of `work`, in seconds."""
    return seconds(work, repeat=1, clock=time.process_time)[0]


def seconds(
    *works: Callable[[], object], repeat: int = 5, number: int = 1, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the best time of one call of each work in seconds, over `repeat` runs of `number` calls.

    Several works are measured in turns, so that noise meets all alike.
    """
    best = [float("inf")] * len(works)
    for _ in range(repeat):
        for at, work in enumerate(works):
            start = clock()
            for _ in range(number):
                work()
            best[at] = min(best[at], (clock() - start) / number)
    return best
