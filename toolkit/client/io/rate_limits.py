"""Rate limits that the client keeps by itself, so that the venue need not say 40220."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import InputError


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `burst` requests at once and `per_second` in the long run."""

    per_second: float
    burst: int

    def __post_init__(self) -> None:
        if not (self.per_second > 0 and self.burst >= 1):
            raise InputError(
                f"a rate needs per_second above 0 and burst of 1 or more, not {self.per_second} and {self.burst}",
                field="rates",
                rule="positive",
                value=self.per_second,
            )


DEFAULT = Rate(per_second=20.0, burst=40)
"""For every action without a rate of its own. The venue publishes no numbers; this is a careful guess."""


class RateLimiter:
    """Token buckets, one for each key (an action's type, or "info" for queries). `rates` None: never waits."""

    def __init__(self, rates: Mapping[str, Rate] | None = None, default: Rate | None = DEFAULT) -> None:
        self._rates = dict(rates or {})
        self._default = default
        self._lock = threading.RLock()
        self._full_at: dict[str, float] = {}

    def reserve(self, key: str, now_ms: int) -> float:
        """Take one token and return the seconds to wait before using it (0.0 when there was one)."""
        rate = self._rates.get(key, self._default)
        if rate is None:
            return 0.0
        with self._lock:
            # The bucket is a time at which it will be full again (generic cell rate algorithm).
            step = 1000.0 / rate.per_second
            full_at = max(self._full_at.get(key, 0.0), float(now_ms)) + step
            self._full_at[key] = full_at
            return max(0.0, full_at - now_ms - step * rate.burst) / 1000.0

    def penalise(self, key: str, now_ms: int, seconds: float) -> None:
        """Empty the bucket after the venue said that it is too much: nothing of `key` goes out for `seconds`."""
        rate = self._rates.get(key, self._default)
        if rate is None:
            return
        with self._lock:
            step = 1000.0 / rate.per_second
            until = now_ms + seconds * 1000.0 + step * (rate.burst - 1)
            self._full_at[key] = max(self._full_at.get(key, 0.0), until)
