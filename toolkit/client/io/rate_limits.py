"""Client-side rate limits, so that the venue does not have to refuse requests with 40220."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import InputError
from .flow import Elapsed, Flow, Sleep


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of requests.

    Parameters
    ----------
    per_second : float
        Requests per second, on average.
    burst : int
        Requests without waiting.
    """

    per_second: float
    burst: int

    def __post_init__(self) -> None:
        if not (self.per_second > 0 and self.burst >= 1):
            said = f"a rate needs per_second above 0 and burst of 1 or more, not {self.per_second} and {self.burst}"
            raise InputError(said, field="rates", rule="positive", value=self.per_second)


DEFAULT = Rate(per_second=20.0, burst=40)
"""Rate of actions without their own. The venue publishes no limits. This is a cautious guess."""


class RateLimiter:
    """Token buckets, one per key. Without a rate a key never waits.

    Parameters
    ----------
    rates : mapping, optional
        Rates by key (default: none).
    default : Rate, optional
        Rate of other keys (default: `DEFAULT`).
    """

    def __init__(self, rates: Mapping[str, Rate] | None = None, default: Rate | None = DEFAULT) -> None:
        self._rates = dict(rates or {})
        self._default = default
        self._lock = threading.RLock()
        self._full_at_ms: dict[str, float] = {}

    def reserve(self, key: str, elapsed_ms: int) -> float:
        """Take one token and return the seconds to wait before the request, 0.0 when one was available.

        Parameters
        ----------
        key : str
            Type of an action, or "info" for queries.
        elapsed_ms : int
            The present in ms, on a clock that is never set. With one that is set back requests would wait for that
            long.
        """
        rate = self._rates.get(key, self._default)
        if rate is None:
            return 0.0
        with self._lock:
            # Generic cell rate algorithm: a bucket is stored as the time (ms) at which it is full again.
            step_ms = 1000.0 / rate.per_second
            full_at_ms = max(self._full_at_ms.get(key, 0.0), float(elapsed_ms)) + step_ms
            self._full_at_ms[key] = full_at_ms
            return max(0.0, full_at_ms - elapsed_ms - step_ms * rate.burst) / 1000.0

    def turn(self, key: str) -> Flow[None]:
        """Take one token, and wait until the request may be sent.

        Parameters
        ----------
        key : str
            Type of an action, or "info" for queries.
        """
        elapsed_ms: int = yield Elapsed()
        if wait := self.reserve(key, elapsed_ms):
            yield Sleep(wait, queued=True)

    def penalise(self, key: str, elapsed_ms: int, seconds: float) -> None:
        """Empty the bucket after the venue refused a request for its rate, and block the key.

        Parameters
        ----------
        key : str
            Type of an action, or "info" for queries.
        elapsed_ms : int
            The present in ms, on a clock that is never set. With one that is set back requests would wait for that
            long.
        seconds : float
            How long the key is blocked, in seconds.
        """
        rate = self._rates.get(key, self._default)
        if rate is None:
            return
        with self._lock:
            step_ms = 1000.0 / rate.per_second
            until_ms = elapsed_ms + seconds * 1000.0 + step_ms * (rate.burst - 1)
            self._full_at_ms[key] = max(self._full_at_ms.get(key, 0.0), until_ms)
