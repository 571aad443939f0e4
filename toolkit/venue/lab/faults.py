"""Scripted faults of requests and of the feed: a bad day on demand, the same each time.

    venue.faults.add("lose-answer", action="placeOrder", after=2)      # the third order is executed, its answer is lost
    with venue.faults.add("status", status=503, path="/info/*", count=None): ...
    toolkit venue --fault "lose-request chance=0.05 count=all" --fault "feed-cut channel=orderBook after=100"

Each matching request or message is counted; `chance` is drawn from a generator that each fault seeds for itself. Faults
with an `action` or `account` trigger once those are known: after the signature check, before the command is applied.
"""

from __future__ import annotations

import random
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import InputError
from ..clocks import milliseconds
from .armed_faults import SETTINGS, ArmedFaults, Fault
from .feed_faults import FEED, FeedFaults
from .request_faults import AFTER, BEFORE, RequestFaults

if TYPE_CHECKING:
    from ..engine.core import Core
    from ..feed.hub import Hub

KINDS = {**BEFORE, **AFTER, **FEED}
"""Every kind of fault and what it does."""


class FaultyVenue(Protocol):
    """What faults need of the venue."""

    @property
    def core(self) -> Core: ...
    @property
    def feed(self) -> Hub: ...
    @property
    def lock(self) -> AbstractContextManager[Any]: ...
    def now_ms(self) -> int: ...


class Faults:
    """The faults of one venue: `requests` goes to its gateway, `feed` to its hub."""

    def __init__(self, venue: FaultyVenue) -> None:
        self._venue = venue
        self.requests = RequestFaults(venue.lock, venue.now_ms)
        self.feed = FeedFaults(venue.lock, lambda: venue.feed)
        self._added = 0

    @property
    def active(self) -> bool:
        """True while a fault of requests is armed or a held-back request has yet to arrive."""
        return self.requests.active

    def add(
        self,
        kind: str,
        *,
        path: str = "",
        action: str = "",
        account: str = "",
        peer: str = "",
        channel: str = "",
        after: int = 0,
        count: int | None = 1,
        chance: float = 1.0,
        delay: Any = 1_000,
        status: int = 503,
        code: int = 40231,
    ) -> Fault:
        """Arm a fault and return it; see `KINDS` and `Fault`. `delay` is ms, a timedelta or text like "2s".

        Raises InputError for an unknown kind and for settings that don't go together.
        """
        fault = Fault(
            *(kind, path, action, account.lower(), peer, channel, after, count, chance),
            *(milliseconds(delay), status, code),
            random.Random(f"{self._venue.core.state.seed}:{self._added}"),  # each fault has a sequence of its own
        )
        _check(fault)
        self._added += 1
        armed: ArmedFaults = self.feed if kind in FEED else self.requests
        armed.arm(fault)
        return fault

    def arm(self, text: str) -> str:
        """Arm a fault written as text, "lose-answer action=placeOrder after=2 count=all", and return its repr.

        Raises InputError, naming what is wrong.
        """
        kind, *settings = text.split() or [""]
        given: dict[str, Any] = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in SETTINGS or not value:
                raise InputError(
                    f"{setting!r} is no setting of a fault; there are {', '.join(f'{one}=…' for one in SETTINGS)}",
                    field="fault",
                    value=text,
                )
            given[name] = _value(name, value, text)
        return repr(self.add(kind, **given))

    def remove(self, fault: Fault) -> None:
        """Disarm one fault; one that is not armed any more is no error."""
        fault.remove()

    def clear(self) -> None:
        """Disarm all faults. A late request still arrives at its time; what was frozen arrives now."""
        self.requests.clear()
        self.feed.clear()

    def __repr__(self) -> str:
        return f"<Faults: {len(self.requests) + len(self.feed)} armed>"


def _check(fault: Fault) -> None:
    kind = fault.kind
    if kind not in KINDS:
        raise InputError(
            f"fault {kind!r} is none of {', '.join(KINDS)}", field="kind", value=kind, nearest=tuple(KINDS)
        )
    if kind in FEED and (fault.path or fault.needs_sender or fault.chance < 1):
        raise InputError(f"{kind} takes channel, peer, after and count, nothing else", field="kind", value=kind)
    if fault.channel and kind not in FEED:
        raise InputError(f"channel is for faults of the feed, not for {kind}", field="channel", value=fault.channel)
    if not 0 <= fault.chance <= 1:
        raise InputError(f"chance must be 0 to 1, not {fault.chance}", field="chance", value=fault.chance)
    if not 200 <= fault.status <= 599:
        raise InputError(f"status must be 200 to 599, not {fault.status}", field="status", value=fault.status)
    if fault.after < 0 or (fault.count is not None and fault.count < 1):
        raise InputError(
            f"after must be 0 or more and count 1 or more, not {fault.after} and {fault.count}", field="count"
        )


def _value(name: str, value: str, text: str) -> Any:
    if name in ("path", "action", "account", "peer", "channel", "delay"):
        return int(value) if name == "delay" and value.isdigit() else value
    if name == "count" and value == "all":
        return None
    try:
        return float(value) if name == "chance" else int(value)
    except ValueError:
        raise InputError(f"{name}={value} is not a number, in the fault {text!r}", field="fault", value=text) from None


def explain() -> str:
    """Return the kinds and settings of faults as text, for the command line's help."""
    kinds = "\n".join(f"  {kind:<15} {words.replace('`', '')}" for kind, words in KINDS.items())
    return (
        f"kinds of --fault:\n{kinds}\n\nsettings of --fault (NAME=VALUE, after the kind):\n"
        "  path=/info/*  action=placeOrder  account=0x…  peer=127.0.0.1  channel=orderBook   what it is for\n"
        "  after=N (that many pass first)  count=N or all (default 1)  chance=0.1  delay=2s  status=503  code=40220"
    )
