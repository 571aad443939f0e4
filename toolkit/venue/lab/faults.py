"""Scripted faults of requests and of the feed: a bad day on order, the same each time.

    venue.faults.add("lose-answer", action="placeOrder", after=2)      # the third order is taken, and nobody hears
    with venue.faults.add("status", status=503, path="/info/*", count=None): ...
    toolkit venue --fault "lose-request chance=0.05 count=all" --fault "feed-cut channel=orderBook after=100"

A fault is counted down by each request that fits it; `chance` is drawn from a seed of its own. Faults with an `action`
or `account` strike once those are known: after the signature was checked, before anything is done.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from ...errors import InputError
from ..api.gateway import Answer, FaultTriggered, Incoming, enveloped
from ..clocks import milliseconds
from ..feed.faults import KINDS as FEED_KINDS
from ..feed.faults import FeedFault
from ..feed.faults import Kind as FeedKind
from ..programs import permissions

if TYPE_CHECKING:
    from ..engine.core import Core
    from ..local import LocalVenue

BEFORE = {
    "refuse": "the connection is refused; nothing left the client",
    "lose-request": "the request gets lost; no answer ever comes",
    "cut-request": "the connection breaks before the venue took the request",
    "late-request": "no answer comes, and the request arrives `delay` later",
    "code": "the venue answers with `code` and does nothing (default 40231)",
    "status": "an HTTP `status` without the venue's envelope (default 503); nothing is done",
}
AFTER = {
    "lose-answer": "the request is taken; its answer never comes",
    "cut-answer": "the request is taken, then the connection breaks",
    "late-answer": "the request is taken; its answer comes `delay` later",
    "status-after": "the request is taken; the answer is an HTTP `status` (default 503)",
    "garbage": "the request is taken; the answer is half of its bytes",
    "duplicate": "the request arrives twice; the client hears the first answer",
    "repeat": "the request arrives twice; the client hears the second answer, as behind a proxy that retries",
}
FEED = {
    "feed-drop": "messages of a `channel` get lost",
    "feed-duplicate": "messages come twice",
    "feed-skip": "a sequence number is left out",
    "feed-freeze": "nothing comes any more, until `clear`",
    "feed-cut": "the connection that a message is for is ended",
}
KINDS = {**BEFORE, **AFTER, **FEED}
"""Every kind of fault and what it does."""

_ACCOUNTS = ("userAddr", "userAddress", "user", "wallet")
"""Parameters of queries that name whose data is asked for."""

_LOST = Answer(0, b"", broken="timeout")
_CUT = Answer(0, b"", broken="disconnect")


@dataclass(slots=True, repr=False)
class Fault:
    """One fault that is armed; a context manager that takes it away at the end of the block.

    Attributes: `kind`; what it is for: `path` (with * and ?), `action`, `account` (master or signer, or whom a query
    asks for), `peer`, `channel` ("" for all); `after` (requests that pass first); `count` (how many it strikes, None
    for all from then on); `chance` (of each, 0 to 1); `delay` (ms); `status` (HTTP); `code` (of the venue); `struck`
    (how many it has struck).
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
    _faults: Faults | None = None
    _chance: random.Random = field(default_factory=random.Random)
    _struck: int = 0
    _made: FeedFault | None = None

    @property
    def struck(self) -> int:
        """How many it has struck."""
        return self._struck if self._made is None else self._made.struck

    @property
    def done(self) -> bool:
        """True when it has struck as often as it should."""
        if self._made is not None:
            return self._made.done
        return self.count is not None and self._struck >= self.count

    @property
    def waits(self) -> bool:
        """True when it has to know who asks for what."""
        return bool(self.action or self.account)

    def strikes(self) -> bool:
        """Count a request that fits and tell whether the fault strikes it."""
        if self.done:
            return False
        if self.after:
            self.after -= 1
            return False
        if self.chance < 1 and self._chance.random() >= self.chance:
            return False
        self._struck += 1
        return True

    def __repr__(self) -> str:
        words = [f"{name}={getattr(self, name)}" for name, usual in _SETTINGS.items() if getattr(self, name) != usual]
        return f"<Fault {' '.join([self.kind, *words]).replace('count=None', 'count=all')}; struck {self.struck}>"

    def remove(self) -> None:
        """Take the fault away; doing so again does nothing."""
        if self._faults is not None:
            self._faults.remove(self)

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


_SETTINGS = {one.name: one.default for one in fields(Fault) if one.name[0] != "_" and one.name != "kind"}


class Faults:
    """The faults of one venue. The gateway asks before and after each request; without faults it does not."""

    def __init__(self, venue: LocalVenue) -> None:
        self._venue = venue
        self._armed: list[Fault] = []
        self._feed: list[tuple[Fault, FeedFault]] = []
        self._late: list[tuple[int, Incoming]] = []
        self._made = 0

    @property
    def active(self) -> bool:
        """True while a fault of requests is armed, or a request is under way that comes late."""
        return bool(self._armed or self._late)

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

        Raises InputError for a kind that is none and for settings that don't go together.
        """
        _check(kind, path, action, account, channel, chance, after, count, status)
        seed = f"{self._venue.core.state.seed}:{self._made}"
        self._made += 1
        fault = Fault(
            kind,
            path,
            action,
            account.lower(),
            peer,
            channel,
            after,
            count,
            chance,
            milliseconds(delay),
            status,
            code,
            self,
            random.Random(seed),
        )
        with self._venue.lock:
            if kind in FEED:
                made = self._venue.feed.faults.add(
                    cast(FeedKind, kind.removeprefix("feed-")), channel=channel, peer=peer, after=after, count=count
                )
                fault._made = made
                self._feed.append((fault, made))
            else:
                self._armed.append(fault)
        return fault

    def arm(self, text: str) -> str:
        """Arm a fault written as text, "lose-answer action=placeOrder after=2 count=all", and return it in words.

        Raises InputError, naming what is not understood.
        """
        kind, *settings = text.split() or [""]
        given: dict[str, Any] = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in _SETTINGS or not value:
                raise InputError(
                    f"{setting!r} is no setting of a fault; there are {', '.join(f'{one}=…' for one in _SETTINGS)}",
                    field="fault",
                    value=text,
                )
            given[name] = _value(name, value, text)
        return repr(self.add(kind, **given))

    def remove(self, fault: Fault) -> None:
        """Take a fault away; one that is not armed any more is no error."""
        with self._venue.lock:
            self._armed = [one for one in self._armed if one is not fault]
            for mine, made in self._feed:
                if mine is fault:
                    self._venue.feed.faults.remove(made)
            self._feed = [pair for pair in self._feed if pair[0] is not fault]

    def clear(self) -> None:
        """Take all faults away. What is late still arrives at its time; what was frozen arrives now."""
        with self._venue.lock:
            self._armed.clear()
            if self._feed:
                self._venue.feed.faults.clear()
            self._feed.clear()

    def __repr__(self) -> str:
        return f"<Faults: {len(self._armed) + sum(not fault.done for fault, _ in self._feed)} armed>"

    # for the gateway

    def on_request(self, incoming: Incoming) -> None:
        """Raise Struck if a fault that need not know who asks strikes a request that has just come."""
        self._before(incoming, lambda fault: not fault.waits and self._fits(fault, incoming))

    def on_authenticated(self, core: Core, incoming: Incoming) -> None:
        """Raise Struck if a fault of this action or account strikes, before anything is done."""
        who = self._who(core, incoming)
        incoming.notes["who"] = who
        self._before(
            incoming, lambda fault: fault.waits and self._fits(fault, incoming) and _names(fault, incoming.action, who)
        )

    def on_response(self, incoming: Incoming, answer: Answer, again: Callable[[], Answer]) -> Answer:
        """Return what becomes of the answer; `again` lets the same request come once more."""
        who = incoming.notes.get("who", ())
        for fault in self._striking(
            AFTER, lambda fault: self._fits(fault, incoming) and _names(fault, incoming.action, who)
        ):
            answer = _spoilt(fault, answer, again)
        return answer

    def due(self, now: int) -> list[Incoming]:
        """Take the requests that were held back and arrive by now."""
        with self._venue.lock:
            found = [incoming for time, incoming in self._late if time <= now]
            if found:
                self._late = [one for one in self._late if one[0] > now]
        return found

    def _before(self, incoming: Incoming, fits: Callable[[Fault], bool]) -> None:
        for fault in self._striking(BEFORE, fits):
            if fault.kind == "late-request":
                self._late.append((self._venue.now_ms() + fault.delay, _copy(incoming)))
            raise FaultTriggered(_refusing(fault))

    def _striking(self, kinds: dict[str, str], fits: Callable[[Fault], bool]) -> list[Fault]:
        with self._venue.lock:
            found = [fault for fault in self._armed if fault.kind in kinds and fits(fault) and fault.strikes()]
            self._armed = [fault for fault in self._armed if not fault.done]
        return found

    def _fits(self, fault: Fault, incoming: Incoming) -> bool:
        return (not fault.path or fnmatchcase(incoming.path, fault.path)) and fault.peer in ("", incoming.peer)

    def _who(self, core: Core, incoming: Incoming) -> tuple[str, ...]:
        if not incoming.signer:
            return tuple(value.lower() for name, value in incoming.query if name in _ACCOUNTS)
        signer = incoming.signer.lower()
        return (signer, *permissions.acts_for(core, incoming.action, signer))


def _names(fault: Fault, action: str, who: tuple[str, ...]) -> bool:
    return fault.action in ("", action) and (not fault.account or fault.account in who)


def _copy(incoming: Incoming) -> Incoming:
    return Incoming(
        incoming.method, incoming.path, incoming.query, incoming.body, incoming.peer, exempt_from_faults=True
    )


def _refusing(fault: Fault) -> Answer:
    if fault.kind == "refuse":
        return Answer(0, b"", broken="refused")
    if fault.kind == "cut-request":
        return _CUT
    if fault.kind == "code":
        return enveloped(200, fault.code, f"code {fault.code} (scripted fault)")
    if fault.kind == "status":
        return _status(fault)
    return _LOST


def _status(fault: Fault) -> Answer:
    headers = {"content-type": "text/html"}
    if fault.status == 429:
        headers["retry-after"] = str(-(-fault.delay // 1000))
    return Answer(fault.status, b"<html>scripted fault</html>", headers)


def _spoilt(fault: Fault, answer: Answer, again: Callable[[], Answer]) -> Answer:
    if fault.kind == "lose-answer":
        return _LOST
    if fault.kind == "cut-answer":
        return _CUT
    if fault.kind == "late-answer":
        return answer._replace(delay=answer.delay + fault.delay / 1000)
    if fault.kind == "status-after":
        return _status(fault)
    if fault.kind == "garbage":
        return answer._replace(body=answer.body[: len(answer.body) // 2])
    second = again()
    return second if fault.kind == "repeat" else answer


def _check(
    kind: str,
    path: str,
    action: str,
    account: str,
    channel: str,
    chance: float,
    after: int,
    count: int | None,
    status: int,
) -> None:
    if kind not in KINDS:
        raise InputError(
            f"fault {kind!r} is none of {', '.join(KINDS)}", field="kind", value=kind, nearest=tuple(KINDS)
        )
    if kind in FEED and (path or action or account or chance < 1):
        raise InputError(f"{kind} takes channel, peer, after and count, nothing else", field="kind", value=kind)
    if channel and kind not in FEED:
        raise InputError(f"channel is for faults of the feed, not for {kind}", field="channel", value=channel)
    if not 0 <= chance <= 1:
        raise InputError(f"chance must be 0 to 1, not {chance}", field="chance", value=chance)
    if not 200 <= status <= 599:
        raise InputError(f"status must be 200 to 599, not {status}", field="status", value=status)
    if after < 0 or (count is not None and count < 1):
        raise InputError(f"after must be 0 or more and count 1 or more, not {after} and {count}", field="count")


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


assert set(FEED) == {f"feed-{kind}" for kind in FEED_KINDS}
