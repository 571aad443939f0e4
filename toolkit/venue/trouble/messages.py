"""Troubles of the feed: messages that are lost, late, repeated or large, and a feed behind another door."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from ...numerals import Span, milliseconds
from ..feed.hub import FeedConnection, Subject
from .fields import count, one_of, span
from .phases import MessagePhase, Phase, Running

TOO_BIG_CLOSE = 1009
"""Close code of a WebSocket whose message was too big."""


@dataclass(frozen=True, kw_only=True)
class LostMessages(MessagePhase):
    """Messages of the feed get lost. A channel whose messages are all lost is silent, and its connection stays open.

    Examples
    --------
    >>> print(LostMessages(channel="userFilled"))
    LostMessages channel=userFilled
    """

    def texts(self, running: Running, connection: FeedConnection, subject: Subject, text: str) -> Iterable[str]:
        """Return no message in place of a lost one.

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
        return () if self.matches(subject) and running.happens() else (text,)


@dataclass(frozen=True, kw_only=True)
class RepeatedMessages(MessagePhase):
    """Messages of the feed come twice.

    Examples
    --------
    >>> print(RepeatedMessages(channel="orderHist", share=0.5))
    RepeatedMessages share=0.5 channel=orderHist
    """

    def texts(self, running: Running, connection: FeedConnection, subject: Subject, text: str) -> Iterable[str]:
        """Return the message twice.

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
        return (text, text) if self.matches(subject) and running.happens() else (text,)


@dataclass(frozen=True, kw_only=True)
class LateMessages(MessagePhase):
    """Messages of the feed come late, those of one channel to one connection in order.

    Parameters
    ----------
    by : str or timedelta, optional
        Span of the venue's time by which they are late (default: "5s").

    Examples
    --------
    >>> print(LateMessages(channel="orderBook", by="3s"))
    LateMessages channel=orderBook by=3s
    """

    by: Annotated[Span, span] = "5s"

    def delay_ms(self, running: Running, subject: Subject) -> int:
        """Return how late the message comes, in ms.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        subject : Subject
            Subject of the message.
        """
        return milliseconds(self.by) if self.matches(subject) and running.happens() else 0


@dataclass(frozen=True, kw_only=True)
class LargeMessages(MessagePhase):
    """Messages of the feed are filled with blanks up to a size. They say the same.

    Parameters
    ----------
    size : int, optional
        Size of each message in bytes, at most 64 MiB (default: 2 MiB, twice what many clients take).

    Examples
    --------
    >>> print(LargeMessages(channel="aopState", size=3_000_000))
    LargeMessages channel=aopState size=3000000
    """

    size: Annotated[int, count(1, 1 << 26)] = 1 << 21

    def texts(self, running: Running, connection: FeedConnection, subject: Subject, text: str) -> Iterable[str]:
        """Return the message with blanks behind it.

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
        missing = self.size - len(text.encode())
        return (text + " " * missing,) if missing > 0 and self.matches(subject) and running.happens() else (text,)


@dataclass(frozen=True, kw_only=True)
class MessageLimit(MessagePhase):
    """A proxy between client and venue does not pass on messages above a size.

    Parameters
    ----------
    size : int, optional
        Largest message in bytes that passes (default: 65,536).
    then : {"close", "lose"}, optional
        What happens at a larger one: the connection is closed with code 1009, or the message gets lost (default:
        "close").

    Examples
    --------
    >>> print(MessageLimit(size=1000, then="lose"))
    MessageLimit size=1000 then=lose
    """

    size: Annotated[int, count(1, 1 << 26)] = 1 << 16
    then: Annotated[str, one_of("close", "lose")] = "close"

    def texts(self, running: Running, connection: FeedConnection, subject: Subject, text: str) -> Iterable[str]:
        """Return no message in place of one that is too large.

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
        if len(text.encode()) <= self.size or not self.matches(subject) or not running.happens():
            return (text,)
        if self.then == "close":
            connection.close_locked(f"a message has more than {self.size} bytes", TOO_BIG_CLOSE)
        return ()


@dataclass(frozen=True, kw_only=True)
class FeedDoor(Phase):
    """The feed has another address than the requests: at that of the requests a proxy answers 404.

    A served venue then listens at a second port, and says where (`ws_url`). In this process there is no address, so
    nothing changes.

    Parameters
    ----------
    port : int, optional
        Port of the feed (default: 0, a free one).

    Examples
    --------
    >>> print(FeedDoor(port=8700))
    FeedDoor port=8700
    """

    port: Annotated[int, count(0, 65_535)] = 0

    def feed_port(self) -> int:
        """Return the port of the feed."""
        return self.port
