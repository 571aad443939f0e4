"""Troubles of requests and their answers: limits, pages of a proxy, caches, answers that are cut, late or lost."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Annotated

from ...environments import EXCHANGE_PATH
from ...numerals import Span, milliseconds
from ..api.gateway import JSON_HEADERS, Answer, Incoming, enveloped
from ..engine.commands import RATE_LIMITED
from .fields import count, flag, one_of, optional, ratio, refuse, span, text
from .phases import HTML, QueryPhase, RequestPhase, Running

PAGE = "<html><head><title>{0}</title></head><body><center><h1>{0}</h1></center><hr></body></html>"
REASONS = {429: "429 Too Many Requests", 502: "502 Bad Gateway", 503: "503 Service Unavailable"}
REASONS |= {500: "500 Internal Server Error", 504: "504 Gateway Time-out", 403: "403 Forbidden", 520: "520 Web Error"}
MOST_CACHED = 1_000
"""Answers that one cache keeps."""


def page_of(status: int, body: str, headers: dict[str, str]) -> Answer:
    """Return an answer of something in front of the venue.

    Parameters
    ----------
    status : int
        HTTP status.
    body : {"json", "html", "empty"}
        Form of its body.
    headers : dict of str to str
        Further headers.
    """
    reason = REASONS.get(status, f"{status} Error")
    if body == "json":
        code = RATE_LIMITED if status == 429 else status
        return enveloped(status, code, reason)._replace(headers={**JSON_HEADERS, **headers})
    page = PAGE.format(reason).encode() if body == "html" else b""
    return Answer(status, page, {**(HTML if page else {}), **headers}, code=status)


@dataclass(frozen=True, kw_only=True)
class TooManyRequests(RequestPhase):
    """Requests are answered 429 and not executed: a share of them, or those above a rate of each address.

    Parameters
    ----------
    most : int or None, optional
        Requests of an address within the window that pass. The ones above it are refused (default: `None`, no rate, so
        `share` decides alone).
    window : str or timedelta, optional
        Length of the window (default: "1s").
    retry_after : str, timedelta or None, optional
        Span in the header Retry-After, in whole seconds, rounded up (default: `None`, no such header).
    body : {"json", "html", "empty"}, optional
        Form of the body. "json" has code 40220 (default: "json").

    Examples
    --------
    >>> print(TooManyRequests(path="/info/*", share=0.2, retry_after="2s", body="html"))
    TooManyRequests share=0.2 path=/info/* retry_after=2s body=html
    """

    most: Annotated[int | None, optional(count(1, 1_000_000))] = None
    window: Annotated[Span, span] = "1s"
    retry_after: Annotated[Span | None, optional(span)] = None
    body: Annotated[str, one_of("json", "html", "empty")] = "json"

    def before(self, running: Running, incoming: Incoming) -> Answer | None:
        """Return 429 for a request above the rate or of the share. Refused requests do not count.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        """
        if not self.matches(incoming) or not self._above(running, incoming.peer) or not running.happens():
            return None
        headers = {}
        if self.retry_after is not None:
            headers["retry-after"] = str(-(-milliseconds(self.retry_after) // 1000))
        return page_of(429, self.body, headers)

    def _above(self, running: Running, peer: str) -> bool:
        if self.most is None:
            return True
        running.memory = running.memory or {}
        passed: deque[int] = running.memory.setdefault(peer, deque())
        now = running.venue.now_ms()
        while passed and passed[0] <= now - milliseconds(self.window):
            passed.popleft()
        if len(passed) >= self.most:
            return True
        passed.append(now)
        return False


@dataclass(frozen=True, kw_only=True)
class ProxyPage(RequestPhase):
    """A proxy between client and venue answers with a page of its own.

    Parameters
    ----------
    status : int, optional
        HTTP status, 200 to 599. Some proxies answer 200 with a page (default: 503).
    body : {"html", "json", "empty"}, optional
        Form of the body (default: "html").
    executed : bool, optional
        True passes the request on, and replaces the venue's answer. False keeps the request from the venue (default:
        `False`).

    Examples
    --------
    >>> print(ProxyPage(status=502, executed=True, action="placeOrder"))
    ProxyPage action=placeOrder status=502 executed=True
    """

    status: Annotated[int, count(200, 599)] = 503
    body: Annotated[str, one_of("html", "json", "empty")] = "html"
    executed: Annotated[bool, flag] = False

    def before(self, running: Running, incoming: Incoming) -> Answer | None:
        """Return the page for a request that is not passed on.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        """
        return None if self.executed else self._page(running, incoming)

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Return the page in place of the answer to a request that was passed on.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        return (self._page(running, incoming) or answer) if self.executed else answer

    def _page(self, running: Running, incoming: Incoming) -> Answer | None:
        return page_of(self.status, self.body, {}) if self.matches(incoming) and running.happens() else None


@dataclass(frozen=True, kw_only=True)
class TruncatedAnswer(RequestPhase):
    """The request is executed, and only the first part of the answer's body arrives, as a whole HTTP answer.

    Parameters
    ----------
    keep : float, optional
        Part of the bytes that arrive, above 0 and below 1 (default: 0.5).

    Examples
    --------
    >>> print(TruncatedAnswer(path="/info/trade/page", keep=0.9))
    TruncatedAnswer path=/info/trade/page keep=0.9
    """

    keep: Annotated[float, ratio] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep == 1:
            raise refuse(self.keep, "keep", "below 1", "a part below 1, such as 0.5", "0.5")

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Return the answer without the end of its body.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        if not answer.body or not self.matches(incoming) or not running.happens():
            return answer
        return answer._replace(body=answer.body[: int(len(answer.body) * self.keep)])


@dataclass(frozen=True, kw_only=True)
class CachedAnswer(QueryPhase):
    """A cache between client and venue answers a query as it was answered before.

    Parameters
    ----------
    age : str or timedelta, optional
        Span for which the cache keeps an answer (default: "10s").

    Examples
    --------
    >>> print(CachedAnswer(path="/info/position/list", age="5s"))
    CachedAnswer path=/info/position/list age=5s
    """

    age: Annotated[Span, span] = "10s"

    def before(self, running: Running, incoming: Incoming) -> Answer | None:
        """Return the kept answer to the same query, while it is not older than `age`.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        """
        if not self.matches(incoming):
            return None
        kept_ms, answer = (running.memory or {}).get(_key(incoming), (0, None))
        now = running.venue.now_ms()
        if answer is None or now - kept_ms > milliseconds(self.age) or not running.happens():
            return None
        found: Answer = answer
        return found._replace(headers={**found.headers, "age": str((now - kept_ms) // 1000)})

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Keep the answer to a query.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        if self.matches(incoming) and answer.status == 200 and not answer.broken:
            running.memory = kept = running.memory or {}
            kept.pop(_key(incoming), None)
            kept[_key(incoming)] = running.venue.now_ms(), answer
            if len(kept) > MOST_CACHED:
                del kept[next(iter(kept))]
        return answer


def _key(incoming: Incoming) -> tuple[object, ...]:
    return incoming.method, incoming.path, *sorted(incoming.pairs)


@dataclass(frozen=True, kw_only=True)
class LateAnswer(RequestPhase):
    """The request is executed now, and its answer arrives later.

    With a manual clock nothing is waited for: an answer that is later than the client's time-out is a time-out, and any
    other one arrives immediately.

    Parameters
    ----------
    by : str or timedelta, optional
        Span of real time by which the answer is late (default: "2s").

    Examples
    --------
    >>> print(LateAnswer(path="/info/trade/page", by="3s"))
    LateAnswer path=/info/trade/page by=3s
    """

    by: Annotated[Span, span] = "2s"

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Return the answer with its delay.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        if not self.matches(incoming) or not running.happens():
            return answer
        return answer._replace(delay=answer.delay + milliseconds(self.by) / 1000)


@dataclass(frozen=True, kw_only=True)
class LostAnswer(RequestPhase):
    """No answer arrives. The request is executed or not, and never twice.

    Parameters
    ----------
    path : str, optional
        Path of the requests, with * and ? (default: "/api/v1/exchange", all actions).
    executed : bool, optional
        True loses the answer, False the request (default: `True`).
    ends : {"timeout", "disconnect"}, optional
        What the client sees: no answer in time, or a connection that breaks (default: "timeout").

    Examples
    --------
    >>> print(LostAnswer(action="placeOrder", share=0.5))
    LostAnswer share=0.5 action=placeOrder
    """

    path: Annotated[str, text] = EXCHANGE_PATH
    executed: Annotated[bool, flag] = True
    ends: Annotated[str, one_of("timeout", "disconnect")] = "timeout"

    def before(self, running: Running, incoming: Incoming) -> Answer | None:
        """Lose the request.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        """
        return self._lost() if not self.executed and self.matches(incoming) and running.happens() else None

    def after(self, running: Running, incoming: Incoming, answer: Answer) -> Answer:
        """Lose the answer.

        Parameters
        ----------
        running : Running
            This trouble in its venue.
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        return self._lost() if self.executed and self.matches(incoming) and running.happens() else answer

    def _lost(self) -> Answer:
        return Answer(0, b"", broken=self.ends)
