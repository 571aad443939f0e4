"""Benchmarks: each measures something against a peer in the same run. `python -m tests.benchmarks` prints them all.

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
    "audit": "audit_cases",
}
"""Benchmark → the module with its function `measure_…`, in the order they run."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement.

    Parameters
    ----------
    name : str
        Name of what is measured.
    value : float
        The value.
    unit : str
        Its unit.
    target : float, optional
        Value that `measure` must reach (default: None, there is none).
    better : {"higher", "lower"}, optional
        Whether more or less is better (default: "higher").
    measure : {"value", "ratio"}, optional
        Which number must reach the target: the value, or its ratio to the peer (default: "value").
    peer : str, optional
        Name of the program that it is compared with (default: "", none).
    ratio : float, optional
        Value over that of the peer (default: None).
    aim : float, optional
        Value that is aimed for beyond the target (default: None).
    note : str, optional
        Remark for the table (default: "").
    """

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
    """Return the processor time of one call, in seconds.

    Parameters
    ----------
    work : callable
        Function to call.
    """
    return seconds(work, repeat=1, clock=time.process_time)[0]


def seconds(
    *works: Callable[[], object], repeat: int = 5, number: int = 1, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the best time of one call of each function, in seconds.

    Several are measured in turns, so that noise affects all alike.

    Parameters
    ----------
    *works : callable
        Functions to call.
    repeat : int, optional
        Number of runs, of which the best counts (default: 5).
    number : int, optional
        Calls in a run (default: 1).
    clock : callable, optional
        Function that returns seconds (default: `time.perf_counter`).
    """
    best = [float("inf")] * len(works)
    for _ in range(repeat):
        for at, work in enumerate(works):
            start = clock()
            for _ in range(number):
                work()
            best[at] = min(best[at], (clock() - start) / number)
    return best
