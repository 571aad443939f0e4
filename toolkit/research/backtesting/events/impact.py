"""Market impact: what the strategy takes is missing from the recorded book, and comes back with time."""

from __future__ import annotations

from ...data.order_books import Levels


class Impact:
    """Quantities taken from recorded levels; half of what is missing is back after `half_life_ns` (None: no impact)."""

    def __init__(self, half_life_ns: int | None) -> None:
        self._half_life_ns = half_life_ns
        self._taken: dict[tuple[int, int, int], tuple[float, int]] = {}

    def take(self, code: int, side: int, price: int, steps: int, time_ns: int) -> None:
        """Note that `steps` of a level (side +1: bids) were taken."""
        if self._half_life_ns is not None:
            key = code, side, price
            self._taken[key] = self._missing(key, time_ns) + steps, time_ns

    def left(self, code: int, side: int, levels: Levels, time_ns: int) -> Levels:
        """Return levels with what is still missing subtracted; a level may have 0 left."""
        if not self._taken:
            return levels
        return tuple(
            (price, max(0, total - round(self._missing((code, side, price), time_ns)))) for price, total in levels
        )

    def _missing(self, key: tuple[int, int, int], time_ns: int) -> float:
        taken, since_ns = self._taken.get(key, (0.0, 0))
        if not taken or not self._half_life_ns:
            return 0.0
        missing: float = taken * 0.5 ** (max(0, time_ns - since_ns) / self._half_life_ns)
        return missing
