"""Scripted faults of requests and of the feed: a bad day on demand, the same each time.

- `venue.control.add_fault("lose-answer", action="placeOrder", after=2)` executes the third order, loses its answer
- `with venue.control.add_fault("status", status=503, path="/info/*", count=None): ...`
- `toolkit venue --fault "lose-request chance=0.05 count=all" --fault "feed-cut channel=orderBook after=100"`

Each matching request or message is counted. Each fault draws `chance` from a generator with its own seed. Faults with
an `action` or `account` trigger once those are known: after the signature check, before the command is applied.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import InputError
from ...numerals import milliseconds
from ...protocol.reads.feed import GOING_AWAY
from ..api.gateway import Answer, FaultTriggered, Host, Incoming, enveloped
from ..programs import permissions

if TYPE_CHECKING:
    from ..engine.core import Core
    from ..feed.hub import FeedConnection, Hub, Subject

BEFORE = {
    "refuse": "the connection is refused, and nothing left the client",
    "lose-request": "the request gets lost, and no answer ever comes",
    "cut-request": "the connection breaks before the venue received the request",
    "late-request": "no answer comes, and the request arrives `delay` later",
    "code": "the venue answers with `code` and does nothing (default 40231)",
    "status": "an HTTP `status` without the venue's envelope (default 503), and nothing is done",
}
AFTER = {
    "lose-answer": "the request is executed, but its answer never comes",
    "cut-answer": "the request is executed, then the connection breaks",
    "late-answer": "the request is executed, and its answer comes `delay` later",
    "status-after": "the request is executed, but the answer is an HTTP `status` (default 503)",
    "garbage": "the request is executed, but the answer is half of its bytes",
    "duplicate": "the request arrives twice, and the client gets the first answer",
    "repeat": "the request arrives twice, and the client gets the second answer, as behind a proxy that retries",
}
FEED = {
    "feed-drop": "messages of a `channel` get lost",
    "feed-duplicate": "messages come twice",
    "feed-skip": "a sequence number is left out",
    "feed-freeze": "nothing arrives any more, until `clear`",
    "feed-cut": "the connection that a message is for is closed",
}
KINDS = {**BEFORE, **AFTER, **FEED}
"""Every kind of fault and what it does."""

_ACCOUNTS = ("userAddr", "userAddress", "user", "wallet")
"""Parameters of queries that name the queried account."""
_BROKEN = {
    "refuse": "refused",
    "lose-request": "timeout",
    "late-request": "timeout",
    "cut-request": "disconnect",
    "lose-answer": "timeout",
    "cut-answer": "disconnect",
}
"""Kind of fault → how the connection fails. See `Answer.broken`."""


class FaultyVenue(Host, Protocol):
    """The parts of the venue that faults use."""

    @property
    def feed(self) -> Hub: ...


@dataclass(slots=True, repr=False, eq=False)
class Fault(AbstractContextManager["Fault"]):
    """One armed fault.

    As a context manager it is removed at the end of the block.

    Attributes
    ----------
    kind : str
        Kind of the fault, a key of `KINDS`.
    path : str
        Path of the request, with * and ?. "" matches all.
    action : str
        Type of the action, "" for all.
    account : str
        Master, signer, or account of a query, in lower case. "" matches all.
    peer : str
        IP address of the client, "" for all.
    channel : str
        Channel of the feed, "" for all.
    after : int
        Number of matches that still pass first (default: 0).
    count : int or None
        How often it triggers. `None` means always (default: 1).
    chance : float
        Probability at each match, between 0 and 1 (default: 1.0).
    delay : int
        Delay of late requests and answers, in ms (default: 1000).
    status : int
        HTTP status of the answer (default: 503).
    code : int
        Code of the answer (default: 40,231).
    struck : int
        How often it has triggered.
    """

    kind: str
    path: str = ""
    action: str = ""
    account: str = ""
    peer: str = ""
    channel: str = ""
    after: int = 0
    count: int | None = 1
    chance: float = 1.0
    delay: int = 1_000
    status: int = 503
    code: int = 40231
    _random: random.Random = field(default_factory=random.Random)
    struck: int = field(default=0, init=False)
    _armed_in: ArmedFaults | None = field(default=None, init=False)

    @property
    def done(self) -> bool:
        """True once it has triggered `count` times. A freeze lasts until it is removed."""
        return self.count is not None and self.struck >= self.count and self.kind != "feed-freeze"

    @property
    def needs_sender(self) -> bool:
        """True for a fault that matches an action or an account, which are known after the signature check."""
        return bool(self.action or self.account)

    def triggers(self) -> bool:
        """Count one match. Return True when the fault applies to it."""
        if self.done:
            return False
        if self.after:
            self.after -= 1
            return False
        if self.chance < 1 and self._random.random() >= self.chance:
            return False
        self.struck += 1
        return True

    def remove(self) -> None:
        """Disarm the fault. Removing it again does nothing."""
        if self._armed_in is not None:
            self._armed_in.remove(self)

    def __repr__(self) -> str:
        words = [f"{name}={getattr(self, name)}" for name, usual in SETTINGS.items() if getattr(self, name) != usual]
        return f"<Fault {' '.join([self.kind, *words]).replace('count=None', 'count=all')}, struck {self.struck}>"

    def __exit__(self, *error: object) -> None:
        self.remove()


SETTINGS: dict[str, Any] = {
    one.name: one.default for one in fields(Fault) if one.name not in ("kind", "struck") and one.name[0] != "_"
}
"""Settings of a fault and their defaults, in the order of its repr."""


class ArmedFaults:
    """The armed faults of one kind of traffic, in the order they were added, guarded by the venue's lock.

    Parameters
    ----------
    venue : FaultyVenue
        Venue whose requests and messages the faults act on.
    """

    def __init__(self, venue: FaultyVenue) -> None:
        self._venue = venue
        self._armed: list[Fault] = []

    @property
    def active(self) -> bool:
        """True while a fault is armed."""
        return bool(self._armed)

    def __len__(self) -> int:
        return len(self._armed)

    def arm(self, fault: Fault) -> None:
        """Add a fault.

        Parameters
        ----------
        fault : Fault
            The fault.
        """
        with self._venue.lock:
            self._armed.append(fault)
            fault._armed_in = self

    def remove(self, fault: Fault) -> None:
        """Disarm one fault.

        One that is not armed any more is no error.

        Parameters
        ----------
        fault : Fault
            The fault.
        """
        with self._venue.lock:
            self._armed = [one for one in self._armed if one is not fault]

    def clear(self) -> None:
        """Disarm all faults."""
        with self._venue.lock:
            self._armed = []

    def triggered(self, kinds: Container[str], matches: Callable[[Fault], bool]) -> Iterator[Fault]:
        """Yield the matching faults of these kinds that trigger, counting each match, under the lock.

        A fault that has triggered `count` times is disarmed.

        Parameters
        ----------
        kinds : Container of str
            Kinds to look at.
        matches : callable
            Returns whether a fault is for this request or message.
        """
        for fault in self._armed:  # `remove` makes a new list, so this one does not change here
            if fault.kind in kinds and matches(fault) and fault.triggers():
                if fault.done:
                    self.remove(fault)
                yield fault


class RequestFaults(ArmedFaults):
    """The faults of requests.

    `gateway.RequestInterceptor` says when each method is called.

    Parameters
    ----------
    venue : FaultyVenue
        Venue whose requests and messages the faults act on.
    """

    def __init__(self, venue: FaultyVenue) -> None:
        super().__init__(venue)
        self._late: list[tuple[int, Incoming]] = []

    @property
    def active(self) -> bool:
        """True while a fault is armed or a held-back request has yet to arrive."""
        return bool(self._armed or self._late)

    def on_request(self, incoming: Incoming) -> None:
        """Raise for a fault that matches by path and peer alone.

        Parameters
        ----------
        incoming : Incoming
            Request, of which only path and peer are known.

        Raises
        ------
        FaultTriggered
            If one triggers. It has the answer.
        """
        self._before(incoming, needs_sender=False)

    def on_authenticated(self, core: Core, incoming: Incoming) -> None:
        """Raise for a fault of this action or account, before the command is applied.

        Parameters
        ----------
        core : Core
            State machine of the venue, which knows whom the signer acts for.
        incoming : Incoming
            Request with its signer. Its accounts are set.

        Raises
        ------
        FaultTriggered
            If one triggers. It has the answer.
        """
        signer = incoming.signer.lower()
        if signer:
            incoming.accounts = (signer, *permissions.acts_for(core, incoming.action, signer))
        else:
            incoming.accounts = tuple(value.lower() for name, value in incoming.pairs if name in _ACCOUNTS)
        self._before(incoming, needs_sender=True)

    def on_response(self, incoming: Incoming, answer: Answer, again: Callable[[], Answer]) -> Answer:
        """Return the answer as the faults leave it.

        Parameters
        ----------
        incoming : Incoming
            Request that the fault may match.
        answer : Answer
            Answer of the venue.
        again : callable
            Executes the same request a second time.
        """
        for fault in self._triggered(AFTER, lambda fault: _matches(fault, incoming)):
            answer = _altered(fault, answer, again)
        return answer

    def due(self, now_ms: int) -> list[Incoming]:
        """Remove and return the held-back requests that arrive by now.

        Parameters
        ----------
        now_ms : int
            Time of the venue, Unix ms.
        """
        with self._venue.lock:
            found = [incoming for time, incoming in self._late if time <= now_ms]
            if found:
                self._late = [one for one in self._late if one[0] > now_ms]
        return found

    def _before(self, incoming: Incoming, *, needs_sender: bool) -> None:
        def matches(fault: Fault) -> bool:
            return fault.needs_sender is needs_sender and _matches(fault, incoming)

        for fault in self._triggered(BEFORE, matches):
            if fault.kind == "late-request":
                self._late.append((self._venue.now_ms() + fault.delay, incoming.exempt_copy()))
            if fault.kind == "code":
                raise FaultTriggered(enveloped(200, fault.code, f"code {fault.code} (scripted fault)"))
            raise FaultTriggered(_failed(fault))

    def _triggered(self, kinds: Container[str], matches: Callable[[Fault], bool]) -> list[Fault]:
        with self._venue.lock:  # a list, so that every matching fault is counted before the first one takes effect
            return list(self.triggered(kinds, matches))


def _matches(fault: Fault, incoming: Incoming) -> bool:
    """Return whether a fault is for a request. A fault of an action or account needs these to be known."""
    return (
        (not fault.path or fnmatchcase(incoming.path, fault.path))
        and fault.peer in ("", incoming.peer)
        and fault.action in ("", incoming.action)
        and (not fault.account or fault.account in incoming.accounts)
    )


def _failed(fault: Fault) -> Answer:
    """Return the answer in place of the venue's: a broken connection, or a page without the venue's envelope."""
    if fault.kind in _BROKEN:
        return Answer(0, b"", broken=_BROKEN[fault.kind])
    headers = {"content-type": "text/html"}
    if fault.status == 429:
        headers["retry-after"] = str(-(-fault.delay // 1000))  # whole seconds, rounded up: never too early
    return Answer(fault.status, b"<html>scripted fault</html>", headers)


def _altered(fault: Fault, answer: Answer, again: Callable[[], Answer]) -> Answer:
    if fault.kind == "late-answer":
        return answer._replace(delay=answer.delay + fault.delay / 1000)
    if fault.kind == "garbage":
        return answer._replace(body=answer.body[: len(answer.body) // 2])
    if fault.kind in ("duplicate", "repeat"):
        second = again()
        return second if fault.kind == "repeat" else answer
    return _failed(fault)


class FeedFaults(ArmedFaults):
    """The faults of the feed: `venue.host.feed.faults.add("drop", channel="orderBook", count=3)`.

    A freeze holds back every message, answers to pings included, until it is removed.

    Parameters
    ----------
    venue : FaultyVenue
        Venue whose requests and messages the faults act on.
    """

    def __init__(self, venue: FaultyVenue) -> None:
        super().__init__(venue)
        self._held: list[tuple[FeedConnection, Subject | None, str]] = []

    def add(self, kind: str, *, channel: str = "", peer: str = "", after: int = 0, count: int | None = 1) -> Fault:
        """Arm a fault.

        Parameters
        ----------
        kind : {"drop", "duplicate", "skip", "freeze", "cut"}
            Kind of the fault.
        channel : str, optional
            Channel that it is for (default: "", all).
        peer : str, optional
            IP address of the client (default: "", all).
        after : int, optional
            Number of messages that still pass first (default: 0).
        count : int or None, optional
            How often it triggers. `None` means always (default: 1).

        Returns
        -------
        Fault
            The armed fault.

        Raises
        ------
        InputError
            For another kind.
        """
        if f"feed-{kind}" not in FEED:
            kinds = tuple(known.removeprefix("feed-") for known in FEED)
            raise InputError(f"fault {kind!r} is none of {', '.join(kinds)}", field="kind", value=kind, nearest=kinds)
        fault = Fault(f"feed-{kind}", channel=channel, peer=peer, after=after, count=count)
        self.arm(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Disarm one fault.

        One that is not armed any more is no error.

        Parameters
        ----------
        fault : Fault
            The fault.
        """
        with self._venue.lock:
            super().remove(fault)
            if fault.kind == "feed-freeze" and not self._freezes():
                self._release()

    def clear(self) -> None:
        """Disarm all faults, and deliver what was held back."""
        with self._venue.lock:
            super().clear()
            self._release()

    def cut(self, reason: str = "cut (scripted fault)", *, peer: str = "") -> int:
        """Close connections immediately.

        Return how many.

        Parameters
        ----------
        reason : str, optional
            Why, in words, for the client (default: "cut (scripted fault)").
        peer : str, optional
            IP address of the client (default: "", all).
        """
        found = [one for one in self._venue.feed.open_connections if not one.closed and peer in ("", one.peer)]
        for connection in found:
            connection.close(reason, GOING_AWAY)
        return len(found)

    # called by the hub, under the lock

    def skipped(self, subject: Subject) -> int:
        """Return how many sequence numbers to leave out before the next increment of a subject, for all peers.

        Parameters
        ----------
        subject : Subject
            Subject whose increment follows.
        """
        return sum(1 for _ in self.triggered(("feed-skip",), lambda fault: fault.channel in ("", subject.channel.type)))

    def pass_on(self, connection: FeedConnection, subject: Subject, text: str) -> list[str]:
        """Return the texts to send for one data message: none, itself, or itself twice.

        Parameters
        ----------
        connection : FeedConnection
            Connection that the message is for.
        subject : Subject
            Subject of the message.
        text : str
            Encoded data message.
        """

        def matches(fault: Fault) -> bool:
            return fault.channel in ("", subject.channel.type) and fault.peer in ("", connection.peer)

        def hit(kind: str) -> bool:
            # further faults of a kind do not count this message
            return next(self.triggered((kind,), matches), None) is not None

        if hit("feed-freeze"):
            self._held.append((connection, subject, text))
            return []
        if hit("feed-cut"):
            connection.close_locked("cut (scripted fault)", GOING_AWAY)
            return []
        if hit("feed-drop"):
            return []
        return [text, text] if hit("feed-duplicate") else [text]

    def holds(self, connection: FeedConnection, text: str) -> bool:
        """Hold back an answer to a connection's own message if everything to it is frozen.

        Return whether it was held back.

        Parameters
        ----------
        connection : FeedConnection
            Connection that the message is for.
        text : str
            Encoded answer.
        """
        frozen = any(
            not fault.channel and not fault.after and fault.peer in ("", connection.peer) for fault in self._freezes()
        )
        if frozen:
            self._held.append((connection, None, text))
        return frozen

    def _freezes(self) -> list[Fault]:
        return [fault for fault in self._armed if fault.kind == "feed-freeze"]

    def _release(self) -> None:
        held, self._held = self._held, []
        for connection, subject, text in held:
            connection.put(text, subject)


class Faults:
    """The faults of one venue.

    Parameters
    ----------
    venue : FaultyVenue
        Venue whose requests and messages the faults act on.

    Attributes
    ----------
    requests : RequestFaults
        Faults of requests, which the gateway asks.
    feed : FeedFaults
        Faults of the feed, which the hub asks.
    """

    def __init__(self, venue: FaultyVenue) -> None:
        self._venue = venue
        self.requests = RequestFaults(venue)
        self.feed = FeedFaults(venue)
        self._added = 0

    def add(self, text: str, **settings: object) -> Fault:
        """Arm a fault and return it.

        Parameters
        ----------
        text : str
            Kind of the fault, see `KINDS`. It may have the settings too: "lose-answer action=placeOrder after=2
            count=all".
        **settings : object
            Settings of `Fault` by name. `delay` is a span such as "2s", or in ms.

        Returns
        -------
        Fault
            The armed fault.

        Raises
        ------
        InputError
            For an unknown kind, and for settings that don't go together.
        """
        kind, *words = text.split() or [""]
        given = {name: _value(name, value, text) for name, _, value in (word.partition("=") for word in words)}
        for name in settings.keys() - SETTINGS.keys():
            raise _no_setting(name)
        values = {**SETTINGS, **given, **settings}
        delay_ms = milliseconds({"delay": "1s", **given, **settings}["delay"], "delay")
        values |= {"account": values["account"].lower(), "delay": delay_ms}
        # each fault has its own random sequence
        fault = Fault(kind, **values, _random=random.Random(f"{self._venue.core.state.seed}:{self._added}"))
        _check(fault)
        self._added += 1
        armed: ArmedFaults = self.feed if kind in FEED else self.requests
        armed.arm(fault)
        return fault

    def clear(self) -> None:
        """Disarm all faults.

        A late request still arrives at its time. Frozen messages arrive now.
        """
        self.requests.clear()
        self.feed.clear()

    def __repr__(self) -> str:
        return f"<Faults: {len(self.requests) + len(self.feed)} armed>"


def _check(fault: Fault) -> None:
    kind = fault.kind
    if kind not in KINDS:
        text = f"fault {kind!r} is none of {', '.join(KINDS)}"
        raise InputError(text, field="kind", value=kind, nearest=tuple(KINDS))
    if kind in FEED and (fault.path or fault.needs_sender or fault.chance < 1):
        raise InputError(f"{kind} takes channel, peer, after and count, nothing else", field="kind", value=kind)
    if fault.channel and kind not in FEED:
        raise InputError(f"channel is for faults of the feed, not for {kind}", field="channel", value=fault.channel)
    if not 0 <= fault.chance <= 1:
        raise InputError(f"chance must be 0 to 1, not {fault.chance}", field="chance", value=fault.chance)
    if not 200 <= fault.status <= 599:
        raise InputError(f"status must be 200 to 599, not {fault.status}", field="status", value=fault.status)
    if fault.after < 0 or (fault.count is not None and fault.count < 1):
        text = f"after must be 0 or more and count 1 or more, not {fault.after} and {fault.count}"
        raise InputError(text, field="count")


def _value(name: str, value: str, text: str) -> Any:
    """Return a setting that was written as NAME=VALUE."""
    if name not in SETTINGS or not value:
        raise _no_setting(f"{name}={value}" if value else name)
    if name in ("path", "action", "account", "peer", "channel", "delay"):
        return value
    if name == "count" and value == "all":
        return None
    try:
        return float(value) if name == "chance" else int(value)
    except ValueError:
        raise InputError(f"{name}={value} is not a number, in the fault {text!r}", field="fault", value=text) from None


def _no_setting(given: str) -> InputError:
    known = ", ".join(f"{one}=…" for one in SETTINGS)
    return InputError(f"{given!r} is no setting of a fault. There are {known}", field="fault", value=given)


def explain() -> str:
    """Return the kinds and settings of faults as text, for the command line's help."""
    kinds = "\n".join(f"  {kind:<15} {words.replace('`', '')}" for kind, words in KINDS.items())
    return (
        f"kinds of --fault:\n{kinds}\n\nsettings of --fault (NAME=VALUE, after the kind):\n"
        "  path=/info/*  action=placeOrder  account=0x…  peer=127.0.0.1  channel=orderBook   what it is for\n"
        "  after=N (that many pass first)  count=N or all (default 1)  chance=0.1  delay=2s  status=503  code=40220"
    )
