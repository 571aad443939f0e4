"""What every trouble has: its phase of the venue's time, its share, its checks, and its place in a running venue."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, fields
from fnmatch import fnmatchcase
from typing import Annotated, Any, Protocol, get_type_hints

import msgspec

from ...environments import EXCHANGE_PATH
from ...numerals import Span, milliseconds
from ...protocol.orders.names import ActionType
from ...protocol.reads.feed import CHANNELS
from ...protocol.reads.info_queries import ENDPOINTS
from ..api.gateway import Answer, Host, Incoming
from ..api.info_pages import Values
from ..engine.commands import Command
from ..engine.core import Core
from ..feed.hub import FeedConnection, Subject
from .fields import Check, moment, named, optional, pattern_of, ratio, refuse, span

INFO_PATHS = "/info/*"
_PATH = pattern_of((EXCHANGE_PATH, *(each.path for each in ENDPOINTS.values())), "the path of a request")
HTML = {"content-type": "text/html"}


class TroubledVenue(Host, Protocol):
    """The parts of the venue that troubles use."""

    @property
    def replay(self) -> Callable[[Core, Command], None]:
        """Function that applies a command to a copy of the core, after the time that passed before it."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One thing that goes wrong, for a phase of the venue's time. Each kind of trouble is a class of its own.

    Its methods are called under the venue's lock, while the phase lasts.

    Parameters
    ----------
    start : str or timedelta, optional
        Span from when it is set until it begins, such as "30s" (default: "0s", immediately).
    end : str, timedelta or None, optional
        Span from when it is set until it ends (default: `None`, it lasts).
    share : float, optional
        Share of the requests, rows or messages it is for that it applies to, above 0 and at most 1 (default: 1.0).
    name : str, optional
        Name under which it is counted (default: its class, with a number if several have it).
    """

    start: Annotated[Span, moment] = "0s"
    end: Annotated[Span | None, optional(span)] = None
    share: Annotated[float, ratio] = 1.0
    name: Annotated[str, named] = ""

    def __post_init__(self) -> None:
        for name, check in _checks(type(self)):
            check(getattr(self, name), name)
        if self.end is not None and milliseconds(self.end) <= milliseconds(self.start):
            raise refuse(self.end, "end", "after start", f"a span above start ({self.start}), or leave it out")

    @classmethod
    def settings(cls) -> dict[str, Field[Any]]:
        """Return the fields of this kind by name."""
        return {one.name: one for one in fields(cls)}

    def chosen(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, by name."""
        given = {name: getattr(self, name) for name in self.settings()}
        return {name: value for name, value in given.items() if value != self.settings()[name].default}

    def __str__(self) -> str:
        words = [f"{name}={value}" for name, value in self.chosen().items()]
        return " ".join([type(self).__name__, *words])

    def before(self, running: Running, incoming: Incoming) -> Answer | None:
        """Return an answer in place of the venue's, to a request that the venue then never sees.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request, which may be changed.
        """
        return None

    def admit(self, running: Running, core: Core, incoming: Incoming) -> None:
        """Refuse an action whose signer is known, before it is applied.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        core : Core
            State machine of the venue.
        incoming : Incoming
            The request.

        Raises
        ------
        WireError
            To refuse it.
        """

    def query(self, running: Running, core: Core, values: Values, incoming: Incoming) -> tuple[Core, Values]:
        """Return the state that a query is answered from, and its parameters.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        core : Core
            State machine of the venue.
        values : Values
            Checked parameters by wire name.
        incoming : Incoming
            The request.
        """
        return core, values

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Return the answer to deliver. What was executed stays executed.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        return answer

    def texts(self, running: Running, connection: FeedConnection, subject: Subject, text: str) -> Iterable[str]:
        """Return the messages of the feed to send in place of one.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        connection : FeedConnection
            Connection of the subscriber.
        subject : Subject
            Subject of the message.
        text : str
            Encoded message.
        """
        return (text,)

    def delay_ms(self, running: Running, subject: Subject) -> int:
        """Return how late the messages of a subject come, in ms.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        subject : Subject
            Subject of the message.
        """
        return 0

    def feed_port(self) -> int | None:
        """Return the port of a second address that the feed of a served venue needs, 0 for a free one."""
        return None

    def began(self, running: Running) -> None:
        """Prepare what the trouble needs from when it is set, and again when the venue's state was replaced.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        """

    def noted(self, running: Running, commands: Iterable[Command]) -> None:
        """Take the commands that are applied to the venue, in order.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        commands : iterable of Command
            The commands, before they are applied.
        """


class Running:
    """One trouble in one venue: when it lasts, its chance, how often it was applied, and what it remembers.

    Parameters
    ----------
    name : str
        Name under which it is counted.
    phase : Phase
        The trouble.
    venue : TroubledVenue
        The venue.
    seed : str
        Seed of its chance.

    Attributes
    ----------
    count : int
        How often it was applied.
    key : bytes
        Key of a hash by which it chooses rows.
    memory : object
        What the trouble keeps between two requests, `None` before the first.
    """

    def __init__(self, name: str, phase: Phase, venue: TroubledVenue, seed: str) -> None:
        self.name = name
        self.phase = phase
        self.venue = venue
        self.key = seed.encode()[:64]
        self.count = 0
        self.memory: Any = None
        self.start_ms = venue.now_ms() + milliseconds(phase.start)
        self.end_ms = None if phase.end is None else self.start_ms + milliseconds(phase.end) - milliseconds(phase.start)
        self._chance = random.Random(seed)

    def lasts(self, now_ms: int) -> bool:
        """Return whether the phase has begun and has not ended.

        Parameters
        ----------
        now_ms : int
            Time of the venue, Unix ms.
        """
        return self.start_ms <= now_ms and not self.over(now_ms)

    def over(self, now_ms: int) -> bool:
        """Return whether the phase has ended.

        Parameters
        ----------
        now_ms : int
            Time of the venue, Unix ms.
        """
        return self.end_ms is not None and now_ms >= self.end_ms

    def happens(self) -> bool:
        """Draw whether the trouble applies, as often as its share says, and count it."""
        if self.phase.share < 1 and self._chance.random() >= self.phase.share:
            return False
        self.count += 1
        return True


def _checks(kind: type[Phase]) -> list[tuple[str, Check]]:
    """Return the checks of the fields of a kind, which its annotations have."""
    hints = get_type_hints(kind, include_extras=True)
    return [(one.name, check) for one in fields(kind) for check in getattr(hints[one.name], "__metadata__", ())]


@dataclass(frozen=True, kw_only=True)
class RequestPhase(Phase):
    """A trouble of requests, chosen by their path.

    Parameters
    ----------
    path : str, optional
        Path of the requests, with * and ? (default: "*", all requests of the interface).
    action : str, optional
        Type of the actions, such as "placeOrder", with * and ? (default: "*", all of them and all queries).
    """

    path: Annotated[str, _PATH] = "*"
    action: Annotated[str, pattern_of(ActionType, "the type of an action")] = "*"

    def matches(self, incoming: Incoming) -> bool:
        """Return whether the trouble is for a request.

        Parameters
        ----------
        incoming : Incoming
            The request.
        """
        if not fnmatchcase(incoming.path, self.path):
            return False
        if self.action == "*":
            return True
        return incoming.path == EXCHANGE_PATH and fnmatchcase(str(action_of(incoming).get("type", "")), self.action)


@dataclass(frozen=True, kw_only=True)
class QueryPhase(Phase):
    """A trouble of queries, chosen by their path.

    Parameters
    ----------
    path : str, optional
        Path of the queries, with * and ? (default: "/info/*", all queries).
    """

    path: Annotated[str, _PATH] = INFO_PATHS

    def matches(self, incoming: Incoming) -> bool:
        """Return whether the trouble is for a request.

        Parameters
        ----------
        incoming : Incoming
            The request.
        """
        return incoming.path != EXCHANGE_PATH and fnmatchcase(incoming.path, self.path)


@dataclass(frozen=True, kw_only=True)
class MessagePhase(Phase):
    """A trouble of the feed, chosen by channel.

    Parameters
    ----------
    channel : str, optional
        Channel of the messages, such as "userFilled", with * and ? (default: "*", all).
    """

    channel: Annotated[str, pattern_of(CHANNELS, "the type of a channel")] = "*"

    def matches(self, subject: Subject) -> bool:
        """Return whether the trouble is for a message.

        Parameters
        ----------
        subject : Subject
            Subject of the message.
        """
        return fnmatchcase(subject.channel.type, self.channel)


def action_of(incoming: Incoming) -> Mapping[str, Any]:
    """Return the action of a request as JSON, {} for a body that has none.

    Parameters
    ----------
    incoming : Incoming
        The request.
    """
    try:
        found = msgspec.json.decode(incoming.body)["action"]
    except (msgspec.DecodeError, TypeError, KeyError):
        return {}
    return found if isinstance(found, dict) else {}
