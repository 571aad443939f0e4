"""Scripted faults of requests and of the feed: a bad day on demand, the same each time.

    venue.control.add_fault("lose-answer", action="placeOrder", after=2)  # executes the third order, loses its answer
    with venue.control.add_fault("status", status=503, path="/info/*", count=None): ...
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

    def add(self, text: str, **settings: Any) -> Fault:
        """Arm a fault and return it: its kind, see `KINDS`, and settings, see `Fault`.

        The settings may stand in the text: "lose-answer action=placeOrder after=2 count=all". `delay` is ms, a
        timedelta or text like "2s". Raises InputError for an unknown kind and for settings that don't go together.
        """
        kind, *words = text.split() or [""]
        given = {name: _value(name, value, text) for name, _, value in (word.partition("=") for word in words)}
        for name in settings.keys() - SETTINGS.keys():
            raise _no_setting(name)
        values = {**SETTINGS, **given, **settings}
        values |= {"account": values["account"].lower(), "delay": milliseconds(values["delay"])}
        # each fault has a random sequence of its own
        fault = Fault(kind, **values, _random=random.Random(f"{self._venue.core.state.seed}:{self._added}"))
        _check(fault)
        self._added += 1
        armed: ArmedFaults = self.feed if kind in FEED else self.requests
        armed.arm(fault)
        return fault

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
    """Return a setting that was written as NAME=VALUE."""
    if name not in SETTINGS or not value:
        raise _no_setting(f"{name}={value}" if value else name)
    if name in ("path", "action", "account", "peer", "channel", "delay"):
        return int(value) if name == "delay" and value.isdigit() else value
    if name == "count" and value == "all":
        return None
    try:
        return float(value) if name == "chance" else int(value)
    except ValueError:
        raise InputError(f"{name}={value} is not a number, in the fault {text!r}", field="fault", value=text) from None


def _no_setting(given: str) -> InputError:
    known = ", ".join(f"{one}=…" for one in SETTINGS)
    return InputError(f"{given!r} is no setting of a fault; there are {known}", field="fault", value=given)


def explain() -> str:
    """Return the kinds and settings of faults as text, for the command line's help."""
    kinds = "\n".join(f"  {kind:<15} {words.replace('`', '')}" for kind, words in KINDS.items())
    return (
        f"kinds of --fault:\n{kinds}\n\nsettings of --fault (NAME=VALUE, after the kind):\n"
        "  path=/info/*  action=placeOrder  account=0x…  peer=127.0.0.1  channel=orderBook   what it is for\n"
        "  after=N (that many pass first)  count=N or all (default 1)  chance=0.1  delay=2s  status=503  code=40220"
    )
