"""Rate limits: this client's own, which spare the venue refusals, and the waits that it asks for."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...errors import InputError, RateLimited
from ...protocol import jsontext
from .flow import Elapsed, Fetch, Flow, Reply, Runtime, Sleep
from .transport import asks_to_wait, retry_after


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
        self.rates = (*sorted(self._rates.items()), default)
        """The rates, to compare two limiters."""
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


FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds until the next request after a refusal that names no time. They double with each further refusal."""
PROBE_SECONDS = 5.0
"""After a wait one request goes first. Others follow when it is answered, or after this time."""
LONGEST_DEMAND = 86_400.0
"""A demand of more than a day, in seconds, is taken for a day."""
EXIT_SHARE = Rate(per_second=2.0, burst=5)
"""Requests of exits that may leave while the venue asks to wait."""
SHORT_BODY = 4_096
_CODE = str(RateLimited.code).encode()


@dataclass(slots=True)
class _Limit:
    """One limit of the venue: until when it is closed, and since when.

    Attributes
    ----------
    open_ms : float
        When the next request may leave, in ms on a clock that is never set.
    refused_ms : float
        When the last refusal arrived.
    refusals : int
        Number of refusals since the last request that was not refused.
    """

    open_ms: float = 0.0
    refused_ms: float = -1.0
    refusals: int = 0


class VenueGate:
    """When requests to one venue may leave: not while it asks to wait. Sessions, threads and event loops share it.

    HTTP 429, 418 and 503 with Retry-After close it for all requests, code 40220 for one action of one account. A wait
    that the venue names is kept in full. One that it does not name doubles with each refusal. Requests of exits pass
    with their own small share, until an exit itself is refused.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limits: dict[str, _Limit] = {}
        self._share = RateLimiter(None, EXIT_SHARE)
        self._limiters: dict[object, RateLimiter] = {}

    def limiter(self, signer: str, made: RateLimiter) -> RateLimiter:
        """Return the limiter of a signer with the same rates, which its sessions share.

        Parameters
        ----------
        signer : str
            Address that signs, "" for none.
        made : RateLimiter
            Limiter of a new session.
        """
        with self._lock:
            return self._limiters.setdefault((signer, made.rates), made)

    def turn(self, fetch: Fetch) -> Flow[None]:
        """Wait until a request may leave.

        Parameters
        ----------
        fetch : Fetch
            Request to send.

        Raises
        ------
        RateLimited
            In place of a wait that is longer than the request's patience. `sent` is False.
        """
        began_ms: int = yield Elapsed()
        elapsed_ms = began_ms
        if fetch.urgent and self._is_limiting(elapsed_ms) and (share := self._share.reserve("exits", elapsed_ms)):
            yield Sleep(share)
        while wait := self._seconds_closed(_limits_of(fetch), elapsed_ms):
            patience = fetch.patience if fetch.within is None else min(fetch.patience, fetch.within)
            if (elapsed_ms - began_ms) / 1000 + wait > patience:
                said = f"{fetch.method} {fetch.path} was not sent: the venue asked to wait"
                raise RateLimited(said, retry_after=wait, sent=False)
            yield Sleep(wait)
            later_ms: int = yield Elapsed()
            # A clock that is moved by hand does not move while a call waits. The wait would never end.
            if later_ms - elapsed_ms < wait * 500:
                return
            elapsed_ms = later_ms

    def answered(self, fetch: Fetch, reply: Reply, sent_ms: int, runtime: Runtime) -> Reply:
        """Take an answer, and return it with the wait that it asks for.

        Parameters
        ----------
        fetch : Fetch
            Request that was sent.
        reply : Reply
            Its answer.
        sent_ms : int
            When it was sent, in ms on a clock that is never set.
        runtime : Runtime
            Clocks and random numbers.
        """
        demanded = retry_after(reply.headers, runtime.now())
        own = _has_code(reply)
        names = _limits_of(fetch)
        if own or asks_to_wait(reply.status, demanded):
            # The venue counts an action by account. What another server says goes for all that this machine sends.
            name = names[-1] if own or fetch.urgent else _OF_VENUE
            wait = self.close(demanded, sent_ms, runtime.elapsed(), runtime.random_float(), name)
            return replace(reply, wait=wait)
        with self._lock:
            for limit in [self._limits[name] for name in names if name in self._limits]:
                # The answer to an earlier request says nothing of the limit that was reached since.
                if sent_ms >= limit.refused_ms:
                    limit.refusals, limit.open_ms = 0, 0.0
        return reply

    def close(self, demanded: float | None, sent_ms: int, now_ms: int, chance: float, name: str = "") -> float:
        """Let no request leave after a refusal, and return for how many seconds.

        Parameters
        ----------
        demanded : float or None
            Seconds that the venue demands, None if it names no time.
        sent_ms : int
            When the refused request was sent, in ms on a clock that is never set.
        now_ms : int
            The present on that clock.
        chance : float
            Random number, 0 <= x < 1.
        name : str, optional
            Limit that was reached (default: "", the one of all requests).
        """
        with self._lock:
            limit = self._limits.setdefault(name, _Limit())
            # Requests that were on their way together are one refusal.
            if sent_ms > limit.refused_ms:
                limit.refusals += 1
            limit.refused_ms = now_ms
            if demanded is None:
                # Longer by up to a quarter: programs that were refused together must not come back together.
                demanded = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (limit.refusals - 1)) * (1 + chance / 4)
            limit.open_ms = max(limit.open_ms, now_ms + min(demanded, LONGEST_DEMAND) * 1000)
            return demanded

    def seconds_closed(self, elapsed_ms: int) -> float:
        """Return how many seconds pass until any request may leave. It takes no turn.

        Parameters
        ----------
        elapsed_ms : int
            The present in ms, on a clock that is never set.
        """
        with self._lock:
            return max(0.0, self._limits.get(_OF_VENUE, _Limit()).open_ms - elapsed_ms) / 1000

    def _is_limiting(self, elapsed_ms: int) -> bool:
        with self._lock:
            return any(limit.open_ms > elapsed_ms for limit in self._limits.values())

    def _seconds_closed(self, names: tuple[str, ...], elapsed_ms: int) -> float:
        """Return how long a request has to wait in seconds, 0 where it may leave now. It then takes its turn."""
        with self._lock:
            limits = [self._limits[name] for name in names if name in self._limits]
            until_ms = max((limit.open_ms for limit in limits), default=0.0)
            if until_ms > elapsed_ms:
                return (until_ms - elapsed_ms) / 1000
            for limit in limits:
                # One request goes first. Else each thread that waited would send in the same instant.
                if limit.refusals:
                    limit.open_ms = elapsed_ms + PROBE_SECONDS * 1000
            return 0.0


_OF_VENUE = ""


def _limits_of(fetch: Fetch) -> tuple[str, ...]:
    """Return the names of the limits that count a request: those of exits are apart."""
    if fetch.urgent:
        return (f"exits {fetch.limited_as}",)
    return (_OF_VENUE, fetch.limited_as) if fetch.limited_as else (_OF_VENUE,)


def _has_code(reply: Reply) -> bool:
    """Return whether an answer has the venue's code for rate limits. Those that do are short."""
    if len(reply.body) > SHORT_BODY or _CODE not in reply.body:
        return False
    try:
        decoded = jsontext.decode(reply.body)
    except (ValueError, RecursionError):
        return False
    return isinstance(decoded, dict) and decoded.get("code") == RateLimited.code


_GATES: dict[str, VenueGate] = {}
_OF_OBJECTS: weakref.WeakKeyDictionary[object, VenueGate] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()


def gate_of(venue: str | object) -> VenueGate:
    """Return the gate of a venue, which all sessions of this process share.

    Parameters
    ----------
    venue : str or object
        Address of the venue. For one that is reached in another way, the object that leads to it.
    """
    with _LOCK:
        if isinstance(venue, str):
            return _GATES.setdefault(venue, VenueGate())
        try:
            return _OF_OBJECTS.setdefault(venue, VenueGate())
        except TypeError:  # of a class without weak references
            return VenueGate()
