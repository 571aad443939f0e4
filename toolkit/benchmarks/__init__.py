"""Benchmarks: each module has `rows()`, which measures something against a peer in the same run.

Machines are noisy, so a target is a ratio to a peer or a rate that leaves room; `toolkit bench` prints them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

MODULES = ("signing", "venue", "served", "matching", "frames", "feed", "research", "books", "startup", "market")
"""The modules with rows, in the order they run."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement. `ratio` is value over peer; `target` is what `measure` ("value" or "ratio") must reach."""

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
    """What it may not be above, where there is a lower bound too."""

    @property
    def measured(self) -> float:
        """The number that is held against the target."""
        return self.ratio if self.measure == "ratio" and self.ratio is not None else self.value

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        if self.target is None:
            return None
        if self.most is not None and self.measured > self.most:
            return False
        return self.measured >= self.target if self.better == "higher" else self.measured <= self.target

    @property
    def distance(self) -> float | None:
        """How far from the target, as a factor: below 1 is short of it; None where that is 0 or a range."""
        if not self.target or not self.measured or self.most is not None:
            return None
        return self.measured / self.target if self.better == "higher" else self.target / self.measured

    def as_dict(self) -> dict[str, Any]:
        """Return the row with `met` and `distance`, ready for JSON."""
        return {**asdict(self), "met": self.met, "distance": self.distance}


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call of `work`, in seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def seconds(work: Callable[[], object], *, repeat: int = 5, number: int = 1) -> float:
    """Return the best time of one call of `work` in seconds, over `repeat` runs of `number` calls."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            work()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def rival_seconds(
    work: Callable[[], object], peer: Callable[[], object], *, repeat: int = 7, number: int = 1
) -> tuple[float, float]:
    """Return the best times of `work` and `peer`, measured in turns so that noise meets both alike."""
    best, best_peer = float("inf"), float("inf")
    for _ in range(repeat):
        best = min(best, seconds(work, repeat=1, number=number))
        best_peer = min(best_peer, seconds(peer, repeat=1, number=number))
    return best, best_peer
