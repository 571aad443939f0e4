"""The troubles of one venue at work: what the gateway and the feed ask, and how often each was applied."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...environments import EXCHANGE_PATH
from ..api.gateway import Answer, Incoming
from ..api.info_pages import Values
from ..engine.commands import Command
from ..engine.core import Core
from ..feed.hub import FeedConnection, Subject
from .phases import Running, TroubledVenue
from .trouble import Troubles, read


class Held(NamedTuple):
    """A late message of the feed, and when it is due, Unix ms."""

    due_ms: int
    connection: FeedConnection
    subject: Subject
    text: str


class ActiveTrouble:
    """The troubles of one venue. Without any, requests and messages pass as they are.

    Troubles change what clients see, never the books: nothing of them is part of the venue's state. A journal does not
    have them, and a revert only brings back the time of their phases.

    Parameters
    ----------
    venue : TroubledVenue
        The venue.

    Attributes
    ----------
    active : bool
        Whether any trouble is set.
    """

    def __init__(self, venue: TroubledVenue) -> None:
        self._venue = venue
        self._running: list[Running] = []
        self._held: deque[Held] = deque()
        self.active = False

    def set(self, trouble: Troubles) -> list[str]:
        """Replace the troubles. Their phases begin to count now.

        Parameters
        ----------
        trouble : Trouble, Phase, str, Path, mapping or sequence
            The troubles, see `Trouble`.

        Returns
        -------
        list of str
            Names under which they are counted.

        Raises
        ------
        InputError
            For a setting that would not pass, and a product that the venue does not have.
        """
        given = read(trouble)
        with self._venue.lock:
            running = [
                Running(name, phase, self._venue, f"{given.seed}:{number}")
                for number, (name, phase) in enumerate(given.named())
            ]
            for one in running:
                one.phase.began(one)  # before any is set, because a product may be unknown
            self._running = running
            self.active = bool(running)
            self._release_all()
        return [one.name for one in running]

    def clear(self) -> None:
        """End all troubles. Late messages arrive now. The counts begin at 0 with the next ones."""
        with self._venue.lock:
            self.active = False
            self._running = []
            self._release_all()

    def counts(self) -> dict[str, int]:
        """Return how often each trouble was applied, by name.

        Requests, rows of lists, and messages of the feed count, each to one connection.

        Returns
        -------
        dict of str to int
            Name → number.
        """
        with self._venue.lock:
            return {one.name: one.count for one in self._running}

    def described(self) -> list[str]:
        """Return a line for each trouble: its kind and its settings."""
        return [str(one.phase) for one in self._running]

    def door(self) -> int | None:
        """Return the port of a feed behind another door, `None` without one. 0 is a free one."""
        return next((port for one in self._running if (port := one.phase.feed_port()) is not None), None)

    # what the gateway asks

    def before(self, incoming: Incoming) -> Answer | None:
        """Return an answer in place of the venue's, or `None`.

        Parameters
        ----------
        incoming : Incoming
            The request, which may be changed.
        """
        with self._venue.lock:
            return next((found for one in self._of(incoming) if (found := one.phase.before(one, incoming))), None)

    def admit(self, core: Core, incoming: Incoming) -> None:
        """Refuse an action whose signer is known.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        incoming : Incoming
            The request.

        Raises
        ------
        WireError
            To refuse it.
        """
        for one in self._of(incoming):
            one.phase.admit(one, core, incoming)

    def query(self, core: Core, values: Values, incoming: Incoming) -> tuple[Core, Values]:
        """Return the state that a query is answered from, and its parameters.

        Parameters
        ----------
        core : Core
            State machine of the venue. The lock is held.
        values : Values
            Checked parameters by wire name.
        incoming : Incoming
            The request.
        """
        for one in self._of(incoming):
            core, values = one.phase.query(one, core, values, incoming)
        return core, values

    def after(self, incoming: Incoming, answer: Answer) -> Answer:
        """Return the answer to deliver.

        Parameters
        ----------
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        with self._venue.lock:
            for one in self._of(incoming):
                answer = one.phase.after(one, incoming, answer)
        return answer

    # what the host and the feed ask, under the lock

    def noted(self, commands: Iterable[Command]) -> None:
        """Take commands that are applied to the venue.

        Parameters
        ----------
        commands : iterable of Command
            The commands, before they are applied.
        """
        for one in self._running:
            one.phase.noted(one, commands)

    def restored(self) -> None:
        """Begin again with a state that was replaced. What was held back is older than it, and gets lost."""
        self._held.clear()
        for one in self._running:
            one.memory = None
            one.phase.began(one)

    def pass_on(self, connection: FeedConnection, subject: Subject, text: str) -> Sequence[str]:
        """Return the messages to send now in place of one. Late ones are sent when they are due.

        Parameters
        ----------
        connection : FeedConnection
            Connection of the subscriber.
        subject : Subject
            Subject of the message.
        text : str
            Encoded message.
        """
        now = self._venue.core.state.time
        texts, delay_ms = [text], 0
        for one in self._lasting(now):
            texts = [made for each in texts for made in one.phase.texts(one, connection, subject, each)]
            delay_ms = max(delay_ms, one.phase.delay_ms(one, subject) if texts else 0)
        before = [held.due_ms for held in self._held if held[1:3] == (connection, subject)]
        if not delay_ms and not before:
            return texts
        # Behind those of the same subject that wait already, so that late messages keep their order.
        due_ms = max(now + delay_ms, *before, 0)
        self._held.extend(Held(due_ms, connection, subject, each) for each in texts)
        return ()

    def release(self) -> None:
        """Send the late messages that are due."""
        if not self._held:
            return
        with self._venue.lock:
            now = self._venue.core.state.time
            waiting, self._held = self._held, deque()
            for held in waiting:
                if held.due_ms <= now:
                    held.connection.put(held.text, held.subject)
                else:
                    self._held.append(held)

    def shut(self) -> bool:
        """Return whether the feed is refused at the address of the requests, and count it."""
        with self._venue.lock:
            lasting = self._lasting(self._venue.now_ms())
            return any(one.phase.feed_port() is not None and one.happens() for one in lasting)

    def _release_all(self) -> None:
        held, self._held = self._held, deque()
        for each in held:
            each.connection.put(each.text, each.subject)

    def _lasting(self, now_ms: int) -> Iterator[Running]:
        return (one for one in self._running if one.lasts(now_ms))

    def _of(self, incoming: Incoming) -> Iterator[Running]:
        """Return the troubles that last, for a request of the published interface: controls are never in trouble."""
        if incoming.path != EXCHANGE_PATH and not incoming.path.startswith("/info/"):
            return iter(())
        return self._lasting(self._venue.now_ms())

    def __repr__(self) -> str:
        return f"<trouble: {'; '.join(self.described()) or 'none'}>"
