"""The path of prices inside a bar, which bars don't show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...errors import InputError
from ...venue.simulation.replay import ReplayBar

Points = tuple[tuple[int, int], ...]
"""(offset in ms from the bar's start, price in ticks) in order."""


class Path(Protocol):
    """The order of the prices inside a bar."""

    def points(self, bar: ReplayBar) -> Points:
        """Return the points of a bar: first (0, open), last the close."""


@dataclass(frozen=True)
class ExtremeOrder:
    """Open, one extreme, the other, and close, at 0, 1/3, 2/3 and the end of the bar.

    `first`: "near" begins with the extreme opposite to the close (a rising bar falls first), "far" with the other one,
    "low" and "high" always with that one.
    """

    first: str = "near"

    def __post_init__(self) -> None:
        if self.first not in (known := ("near", "far", "low", "high")):
            raise InputError(f"first is {self.first!r}; it is one of {', '.join(known)}", field="first", nearest=known)

    def points(self, bar: ReplayBar) -> Points:
        """Return the four points."""
        rising = bar.close >= bar.open
        low_first = {"near": rising, "far": not rising, "low": True, "high": False}[self.first]
        one, two = (bar.low, bar.high) if low_first else (bar.high, bar.low)
        third = bar.interval // 3
        return (0, bar.open), (third, one), (2 * third, two), (bar.interval - 1, bar.close)
