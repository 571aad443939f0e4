"""HTTP to a venue: transports of httpx or httpx2, the mapping of their errors, response envelopes and retries.

The client does not know whether a transport leads to Testnet, to a served venue or to one in this process.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import queue
import re
import ssl
import threading
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...errors import (
    LIMITED_STATUSES,
    BadAnswer,
    Disconnected,
    ExchangeError,
    HttpStatus,
    InputError,
    NotSent,
    NotServed,
    RateLimited,
    TimedOut,
    ToolkitError,
    TransportError,
    exchange_error,
)
from ...numerals import printable
from ...protocol import jsontext
from ...protocol.reads.endpoint import rows_of_query
from ...secrecy import Secret
from .flow import Elapsed, Fetch, Flow, RandomFloat, Reply, Sleep
from .read_budget import BUDGET, ReadBudget
from .route import CERT_DIR, CERT_FILE, Route, is_loopback
from .wire import DEPARTURE, Departure, abandon, guard

if TYPE_CHECKING:
    import httpx
    import httpx2

    AnyTransport = httpx.BaseTransport | httpx.AsyncBaseTransport | httpx2.BaseTransport | httpx2.AsyncBaseTransport

EXCHANGE_PATH = "/api/v1/exchange"
USER_AGENT = "toolkit/0.1"
MAX_BODY = 64 << 20
"""Largest body of any answer, in bytes and after decompression."""
PAGE_BODY, ROW_BODY = 4 << 20, 1 << 10
"""Largest body of a query's answer: PAGE_BODY bytes, plus ROW_BODY bytes for each requested row."""
TOTAL = 2.0
"""A whole request may take this many times its time-out: connecting takes up to one, the answer another."""
COUNTED_ROWS = 5_000
NOT_FOUND = 404
"""HTTP status of a path that a venue does not have."""
UNAVAILABLE = 503
"""HTTP status of a server that can't answer now. With Retry-After it asks to wait, as 429 does."""
_CODE_LIMIT = 1 << 63
"""Codes are signed 64-bit numbers. A body with a larger one is not a venue's envelope."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Retry policy: exponential back-off with full jitter.

    The wait after attempt n is uniform between 0 and min(cap, base·2ⁿ) seconds, or what the venue's Retry-After header
    demands.

    Parameters
    ----------
    attempts : int, optional
        Number of attempts, the first one included (default: 4).
    base : float, optional
        Shortest bound of a wait, in seconds (default: 0.2).
    cap : float, optional
        Longest bound of a wait, in seconds (default: 5).
    longest : float, optional
        Longest wait for the venue that a call sits out, in seconds (default: 30). A longer one raises RateLimited.
    moment : float, optional
        The same for an order that is priced by the moment: at market, IOC or FOK (default: 2).
    total : float, optional
        Seconds after the first attempt in which others begin (default: 60). No call that trades takes longer than twice
        that, with all that it asks.
    reads : ReadBudget, optional
        Budget of a read of many pages (default: `BUDGET`).
    """

    attempts: int = 4
    base: float = 0.2
    cap: float = 5.0
    longest: float = 30.0
    moment: float = 2.0
    total: float = 60.0
    reads: ReadBudget = BUDGET

    def is_over(self, attempts: int, began_ms: int, elapsed_ms: int) -> bool:
        """Return whether there is no further attempt.

        Parameters
        ----------
        attempts : int
            Attempts so far.
        began_ms : int
            When the first began, in ms on a clock that is never set.
        elapsed_ms : int
            The present on that clock, in ms.
        """
        return attempts >= self.attempts or elapsed_ms - began_ms >= self.total * 1000

    def wait(self, attempt: int, random_float: float, retry_after: float | None = None) -> float:
        """Return the seconds to wait after an attempt.

        Parameters
        ----------
        attempt : int
            Number of the attempt, 0 for the first.
        random_float : float
            Random number, 0 <= x < 1.
        retry_after : float, optional
            Seconds that the venue demands (default: None, it demands none).
        """
        if retry_after is not None:
            return min(self.longest, retry_after)
        # Full jitter: clients that failed together must not come back together.
        return random_float * min(self.cap, self.base * float(2**attempt))


RETRY = Retry()
NO_RETRY = Retry(attempts=1)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A decoded response.

    Parameters
    ----------
    code : int
        Code of the venue's envelope.
    message : str
        Message of the envelope.
    data : object
        `data` of the envelope.
    reply : Reply
        The HTTP reply.
    """

    code: int
    message: str
    data: Any
    reply: Reply


def read_envelope(reply: Reply, what: str) -> Envelope:
    """Decode a response.

    Parameters
    ----------
    reply : Reply
        The HTTP reply.
    what : str
        Request in words, for the error.

    Raises
    ------
    RateLimited
        For a status without an envelope that asks to wait.
    HttpStatus
        For another error status without an envelope.
    BadAnswer
        For any other shape. Also where status and code contradict each other: the answer may be another request's. And
        where the envelope has a key twice: which of the values counts would be a guess.
    """
    try:
        decoded = jsontext.decode(reply.body)
    except jsontext.RepeatedKey as error:
        said = reply.body[:500].decode("utf-8", "replace")
        raise BadAnswer(f"{what}: {error}", status=reply.status, body=said) from None
    # RecursionError: text of a thousand brackets is an answer that can't be read, not a fault of this program.
    except (ValueError, RecursionError):
        decoded = None
    if isinstance(decoded, dict):
        code, message = decoded.get("code"), decoded.get("message", "")
        if isinstance(code, int) and not isinstance(code, bool) and abs(code) < _CODE_LIMIT:
            # A proxy or another request's answer: neither half of it can be believed.
            if code == 0 and not 200 <= reply.status < 300:
                contradiction = f"{what}: HTTP {reply.status} with code 0 contradicts itself"
                raise BadAnswer(contradiction, status=reply.status, body=reply.body[:500].decode("utf-8", "replace"))
            return Envelope(code, printable(str(message)), decoded.get("data"), reply)
    text = reply.body[:500].decode("utf-8", "replace")
    # A load balancer or proxy answered, so the venue has said nothing of the request.
    wait = reply.wait if reply.wait is not None else retry_after(reply.headers)
    if asks_to_wait(reply.status, wait):
        said = f"HTTP {reply.status} without the venue's envelope: too many requests"
        raise RateLimited(said, action=what, http_status=reply.status, retry_after=wait)
    if not 200 <= reply.status < 300:
        raise HttpStatus(f"{what}: HTTP {reply.status} without the venue's envelope", status=reply.status, body=text)
    start = reply.body.lstrip()[:1]
    shape = "an object without a code" if isinstance(decoded, dict) else _SHAPES.get(start, "not an object")
    raise BadAnswer(f"{what}: the answer is {shape}, not the venue's envelope", status=reply.status, body=text)


_SHAPES = {b"": "empty", b"<": "HTML", b"{": "broken JSON", b"[": "broken JSON"}
"""First byte of a body that can't be read → what it is."""


def retry_after(headers: Mapping[str, str], now_ms: int | None = None) -> float | None:
    """Return the seconds that a Retry-After header demands (a number or an HTTP date), None without one.

    Parameters
    ----------
    headers : mapping
        Headers of the answer, by lower-case names.
    now_ms : int, optional
        The present in Unix ms, for a date in an answer without the server's own time (default: not known).
    """
    value = headers.get("retry-after")
    if not value:
        return None
    try:
        seconds = float(value)
        return max(0.0, seconds) if seconds < float("inf") else None
    except ValueError:
        pass
    # Both times are then of one clock. This machine's may be wrong.
    now_ms = _header_ms(headers.get("date")) or now_ms
    when_ms = _header_ms(value)
    return max(0.0, (when_ms - now_ms) / 1000) if when_ms is not None and now_ms is not None else None


def _header_ms(date: str | None) -> int | None:
    """Return the Unix ms of an HTTP date, None for a text that is none."""
    try:
        return None if date is None else int(parsedate_to_datetime(date).timestamp()) * 1000
    except (ValueError, OverflowError):
        return None


def asks_to_wait(status: int, demanded: float | None) -> bool:
    """Return whether an HTTP status asks to wait: 429, 418, or 503 with Retry-After.

    Parameters
    ----------
    status : int
        Status of the answer.
    demanded : float or None
        Seconds that its Retry-After demands, None without one.
    """
    return status in LIMITED_STATUSES or (status == UNAVAILABLE and demanded is not None)


def venue_time(headers: Mapping[str, str]) -> int | None:
    """Return the venue's time in Unix ms: x-venue-time, else Date (to the second), else None.

    Parameters
    ----------
    headers : mapping
        Headers of the answer, by lower-case names.
    """
    time_ms = headers.get("x-venue-time", "")
    # isdigit alone accepts "²"; 18 digits always fit 64 bits.
    if time_ms.isascii() and time_ms.isdigit() and len(time_ms) < 19:
        return int(time_ms)
    return _header_ms(headers.get("date"))


def describe_clock_skew(skew_ms: int) -> str:
    """Return a sentence on how far this machine's clock is off.

    Parameters
    ----------
    skew_ms : int
        Its time minus the venue's, in ms.
    """
    seconds = abs(skew_ms) / 1000
    # Date headers have whole seconds, so less than this may be rounding.
    if seconds < 1.5:
        return f"this machine's clock agrees with the venue's to {seconds:.1f} s"
    return f"this machine's clock is {seconds:.1f} s {'ahead of' if skew_ms > 0 else 'behind'} the venue's"


def check_rows(fetch: Fetch, body: bytes) -> None:
    """Check that an answer has no more rows than the query asked for. For long lists the limit in bytes is enough.

    Parameters
    ----------
    fetch : Fetch
        Request of the query.
    body : bytes
        Body of the answer.

    Raises
    ------
    BadAnswer
        For more rows.
    """
    most = rows_of_query(fetch.query)
    if most is not None and most <= COUNTED_ROWS and (count := jsontext.count_rows(body)) > most:
        what = f"GET {fetch.path}: the answer has {count} rows, more than the {most} of the request, so it is not taken"
        raise BadAnswer(what, status=200)


def worth_retrying(error: BaseException) -> bool:
    """Return whether a read that failed with this error may succeed when repeated.

    Parameters
    ----------
    error : BaseException
        Error of the read.
    """
    if isinstance(error, HttpStatus):
        return error.status >= 500
    # Any other refusal is the venue's verdict on the request, which would be the same again.
    if isinstance(error, ExchangeError):
        return (isinstance(error, RateLimited) and error.sent) or error.http_status >= 500
    return isinstance(error, TransportError)


def read(
    fetch: Fetch, retry: Retry = RETRY, opener: Callable[[Reply, str], Envelope] = read_envelope
) -> Flow[Envelope]:
    """Fetch a response with code 0, with retries: reads change nothing, so repeating them is safe.

    Parameters
    ----------
    fetch : Fetch
        Request that changes nothing at the venue.
    retry : Retry, optional
        How often and when the read is repeated (default: `RETRY`).
    opener : callable, optional
        Function in place of `read_envelope`, for callers that decode large data themselves (default: `read_envelope`).

    Raises
    ------
    ExchangeError
        For another code.
    TransportError
        Without a usable response.
    """
    what = f"GET {fetch.path}" if fetch.method == "GET" else fetch.path
    fetch = replace(fetch, patience=min(fetch.patience, retry.longest))
    attempt = 0
    began_ms: int = yield Elapsed()
    while True:
        # Of this attempt's answer alone: an error without an answer demands no wait.
        demanded: float | None = None
        try:
            reply: Reply = yield fetch
            demanded = reply.wait if reply.wait is not None else retry_after(reply.headers)
            envelope = opener(reply, what)
            if envelope.code == 0:
                check_rows(fetch, reply.body)
                return envelope
            data = envelope.data if isinstance(envelope.data, dict) else None
            if reply.status == NOT_FOUND:
                said = f"{what} is not served by this venue"
                raise NotServed(said, code=envelope.code, data=data, action=what, http_status=reply.status)
            raise exchange_error(
                envelope.code, envelope.message, data=data, action=what, http_status=reply.status, retry_after=demanded
            )
        except (TransportError, ExchangeError) as error:
            attempt += 1
            # Longer than a call should hang. The gate keeps the wait for every later call.
            if demanded is not None and demanded > retry.longest:
                raise
            if retry.is_over(attempt, began_ms, (yield Elapsed())) or not worth_retrying(error):
                raise
        random_float: float = yield RandomFloat()
        yield Sleep(retry.wait(attempt - 1, random_float, demanded))


class _Http:
    """Base of the synchronous and the asynchronous transport: clients of the transport's library, options, bounds.

    `transport` is any transport of httpx or httpx2 (a mock, a proxy's). None is the network, by the `Route` that the
    environment variables name. Nothing is opened before the first request.
    """

    def __init__(self, base_url: str, transport: AnyTransport | None = None, timeout: float = 10.0) -> None:
        self.base_url = base_url
        self._transport: Any = transport
        self._timeout = timeout
        # By event loop: a client's connections belong to the loop that opened them, and go with it.
        self._clients: dict[Any, Any] = {}
        self._route: Route | None = None
        self._lock = threading.RLock()

    def route(self) -> Route | None:
        """Return the way to the venue, None with a transport that was passed in. A wrong one is looked up again.

        Raises
        ------
        NotSent
            For a proxy or certificates that can't be used. The message names the variable and the remedy.
        """
        if self._transport is None and self._route is None:
            found = Route.to(self.base_url)
            found.certificates  # noqa: B018  (a cached property, which raises for files that can't be read)
            self._route = found
        return self._route

    def check_ready(self, plain_http: bool) -> None:
        """Check that a signed request may and can leave. Nothing is opened.

        Parameters
        ----------
        plain_http : bool
            Whether it may go to another machine without encryption.

        Raises
        ------
        NotSent
            For a proxy or certificates that can't be used.
        InputError
            For an address without encryption.
        """
        check_encrypted(self.base_url, plain_http)
        self.route()

    def _client(self, kind: str, owner: object) -> Any:
        """Return the owner's client, of the library that the transport belongs to: each takes its own transports."""
        with self._lock:
            if owner not in self._clients:
                # Of a transport that is derived from neither library, it is httpx.
                library = importlib.import_module(next(iter(_names(type(self._transport)).values()), LIBRARIES[0]))
                if (route := self.route()) is None:
                    noting = _handed_over if kind == "Client" else _handed_over_awaited
                    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # else httpx loads the roots, which takes 20 ms
                    options = {"transport": self._transport, "verify": unused, "event_hooks": {"request": [noting]}}
                else:
                    options = {"verify": route.certificates, "proxy": None}
                    if route.proxy is not None:
                        # A proxy that is reached without encryption may have no context.
                        secure = route.certificates if route.proxy.startswith("https:") else None
                        options["proxy"] = library.Proxy(route.proxy, ssl_context=secure)
                self._clients[owner] = client = getattr(library, kind)(
                    base_url=self.base_url,
                    timeout=self._timeout,
                    # The route has read the variables, with errors that name them.
                    trust_env=False,
                    # A cookie would make a request depend on earlier ones.
                    cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                    headers={"user-agent": USER_AGENT, "accept": "application/json", "accept-encoding": "gzip"},
                    **options,
                )
                guard(client)
            return self._clients[owner]

    def _closable(self, owner: object) -> Any:
        """Forget the owner's client and return it, or None: closing it would close a transport that was passed in."""
        client = self._clients.pop(owner, None)
        return client if self._transport is None else None

    def _attempt(self, fetch: Fetch) -> _Attempt:
        self.route()  # finds the proxy before the request, so that a failure can name it
        return _Attempt(fetch, self.base_url, self._timeout, lambda: self._route)


def _handed_over(_: object) -> None:
    """Note that a transport that was passed in takes the request: it may send a byte from now on."""
    DEPARTURE.get().leave()


async def _handed_over_awaited(_: object) -> None:
    DEPARTURE.get().leave()


def check_encrypted(base_url: str, plain_http: bool) -> None:
    """Check that signed requests and tokens go to another machine with encryption only.

    Parameters
    ----------
    base_url : str
        Address of the venue.
    plain_http : bool
        Whether that is allowed without.

    Raises
    ------
    InputError
        For an address without encryption.
    """
    if plain_http or urlsplit(base_url).scheme != "http" or is_loopback(base_url):
        return
    said = f"base_url {base_url} is plain http: others on the way could read, hold back and repeat what is signed"
    advice = "Nothing was signed or sent. Give an https:// address, or allow it with connect(…, plain_http=True)"
    raise InputError(f"{said}. {advice}", field="plain_http", rule="https", value=base_url)


class HttpTransport(_Http):
    """Performs a `Fetch` in the calling thread. Usable from several threads.

    Parameters
    ----------
    base_url : str
        Address of the venue.
    transport : object, optional
        Any transport of httpx or httpx2, such as a mock or a proxy (default: the network, with the proxies of the
        environment variables, except to this machine).
    timeout : float, optional
        Seconds without an answer after which a request has failed (default: 10).
    """

    def send(self, fetch: Fetch) -> Reply:
        """Return the response, with any status.

        The answer must be whole within TOTAL times the time-out, and at most MAX_BODY long.

        Parameters
        ----------
        fetch : Fetch
            Request to send.

        Raises
        ------
        NotSent
            When the request certainly did not leave this machine.
        TimedOut
            Without a whole answer in time.
        Disconnected
            When the connection broke after sending.
        BadAnswer
            For an answer that is too long or broken.
        """
        attempt = self._attempt(fetch)
        if self._transport is not None:
            return self._send(attempt)
        # Looking up a name can't be ended from outside, so a thread does it. Each step of its connection ends at the
        # deadline, and it does too. What has not left by then is held back.
        answers: queue.SimpleQueue[Reply | BaseException] = queue.SimpleQueue()

        def perform() -> None:
            try:
                answers.put(self._send(attempt))
            except BaseException as error:
                answers.put(error)

        # A daemon: a look-up that hangs must not keep the interpreter from ending.
        threading.Thread(target=perform, name="toolkit-request", daemon=True).start()
        try:
            answer = answers.get(timeout=attempt.seconds)
        except queue.Empty:
            raise attempt.too_slow() from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _send(self, attempt: _Attempt) -> Reply:
        DEPARTURE.set(attempt.departure)
        with attempt.mapped_errors(), self._client("Client", self).stream(**attempt.arguments) as response:
            if attempt.begin(response):
                for chunk in response.iter_raw():
                    attempt.add(chunk)
        return attempt.reply()

    def close(self) -> None:
        """Close the connections. The next request opens new ones."""
        if (client := self._closable(self)) is not None:
            client.close()


class AsyncHttpTransport(_Http):
    """Asynchronous twin of HttpTransport. Keeps one client per event loop, as its connections belong to one.

    Parameters
    ----------
    base_url : str
        Address of the venue.
    transport : object, optional
        Any transport of httpx or httpx2, see `HttpTransport` (default: the network).
    timeout : float, optional
        Seconds without an answer after which a request has failed (default: 10).
    """

    def __init__(self, base_url: str, transport: AnyTransport | None = None, timeout: float = 10.0) -> None:
        super().__init__(base_url, transport, timeout)
        self._endings: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}
        """What closes a loop's client. Collected as garbage it would do so too early."""

    async def send(self, fetch: Fetch) -> Reply:
        """As HttpTransport.send, with the same bounds.

        Parameters
        ----------
        fetch : Fetch
            Request to send.
        """
        attempt = self._attempt(fetch)
        DEPARTURE.set(attempt.departure)
        if "extensions" in attempt.arguments:
            attempt.arguments["extensions"] = {"trace": attempt.note_awaited}
        try:
            with attempt.mapped_errors():
                async with asyncio.timeout(attempt.seconds):
                    client = await self._of_loop(asyncio.get_running_loop())
                    async with client.stream(**attempt.arguments) as response:
                        if attempt.begin(response):
                            async for chunk in response.aiter_raw():
                                attempt.add(chunk)
        except TimeoutError:
            raise attempt.too_slow() from None
        return attempt.reply()

    async def _of_loop(self, loop: asyncio.AbstractEventLoop) -> Any:
        """Return the running loop's client. It is closed with its loop, as nothing can close it later."""
        self._forget_ended()
        if loop not in self._clients:
            client = self._client("AsyncClient", loop)
            self._endings[loop] = ending = self._until_shutdown(loop)
            await anext(ending)
            return client
        return self._clients[loop]

    def _forget_ended(self) -> None:
        """Shut the connections of loops that ended without `shutdown_asyncgens`, which asyncio.run calls."""
        with self._lock:
            for ended in [each for each in self._clients if each.is_closed()]:
                abandon(self._closable(ended))
                self._endings.pop(ended, None)

    async def _until_shutdown(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None]:
        """Close the loop's client when the loop shuts its asynchronous generators down, of which this is one."""
        try:
            yield
        finally:
            if (client := self._closable(loop)) is not None:
                await client.aclose()

    async def close(self) -> None:
        """Close the connections of the running loop and of ended ones. The next request opens new ones."""
        self._forget_ended()
        if (ending := self._endings.pop(asyncio.get_running_loop(), None)) is not None:
            await ending.aclose()


LIBRARIES = ("httpx", "httpx2")
"""httpx, on which the toolkit depends, and its successor. Their transports and errors have the same names."""
UNTRUSTED = ". A proxy that decrypts traffic needs its certificate in a PEM file that SSL_CERT_FILE names"
_NOT_SENT = {
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "ProxyError",
    "UnsupportedProtocol",
    "LocalProtocolError",
    "InvalidURL",
}
"""Errors that are raised before the first byte of the request is written."""


def _untrusted(route: Route | None) -> str:
    """Return the remedy for a certificate that is not trusted, by the variable that is set."""
    name, path = route.trusted if route is not None and route.trusted else (CERT_FILE, "")
    if name != CERT_DIR:
        return UNTRUSTED
    found: list[str] = []
    with suppress(OSError):
        found = os.listdir(path)
    if any(re.fullmatch(r"[0-9a-f]{8}\.\d+", each) for each in found):
        return f"{UNTRUSTED}, or in {path}, which {CERT_DIR} names: run `openssl rehash {path}` after that"
    why = "has no file" if not found else "has no file that is named by the hash of its certificate"
    remedy = f"Put the PEM file there and run `openssl rehash {path}`, or name it in {CERT_FILE} and unset {CERT_DIR}"
    return f". {CERT_DIR} is {path}, which {why}. {remedy}"


def _names(kind: type) -> dict[str, str]:
    """Return the classes of httpx or httpx2 that a class is made of: name → library."""
    found = {base.__name__: base.__module__.partition(".")[0] for base in kind.__mro__}
    return {name: library for name, library in found.items() if library in LIBRARIES}


class _Attempt:
    """One request: its arguments, its bounds of time and size, its errors, and the body of its answer, decompressed."""

    def __init__(self, fetch: Fetch, base_url: str, timeout: float, route: Callable[[], Route | None]) -> None:
        self._what, self._base_url = f"{fetch.method} {fetch.path}", base_url
        self._route = route
        seconds = TOTAL * (fetch.timeout or timeout)
        self.seconds = seconds if fetch.within is None else min(seconds, fetch.within)
        self.arguments: dict[str, Any] = {"method": fetch.method, "url": fetch.path}
        if fetch.query:
            self.arguments["params"] = fetch.query
        self._secret = any(isinstance(value, Secret) for value in fetch.headers.values())
        headers = {name: Secret(value).reveal() for name, value in fetch.headers.items()}
        self.arguments["headers"] = headers | ({"content-type": "application/json"} if fetch.body else {})
        if fetch.body:
            self.arguments["content"] = fetch.body
        if fetch.timeout is not None or fetch.within is not None:
            self.arguments["timeout"] = min(fetch.timeout or timeout, fetch.within or float("inf"))
        self.departure = Departure(time.monotonic() + self.seconds)
        of_venue = fetch.path.startswith(("/info/", EXCHANGE_PATH))
        self._longest = (
            min(MAX_BODY, PAGE_BODY + ROW_BODY * (rows_of_query(fetch.query) or 0)) if of_venue else MAX_BODY
        )
        self._body = bytearray()
        self._inflate: Any = None
        self._status, self._headers = 0, dict[str, str]()
        self._head: tuple[int, list[tuple[bytes, bytes]]] | None = None
        """Status and headers of the last answer. The libraries drop those of a proxy's."""
        self._refusal: Reply | None = None
        """Answer of a proxy that asks to wait."""
        if (taken := route()) is not None and taken.proxy is not None:
            self.arguments["extensions"] = {"trace": self.note}

    @contextmanager
    def mapped_errors(self) -> Iterator[None]:
        """Raise the toolkit's errors for those of httpx and httpx2, by whether the request may have reached the venue.

        A transport may wrap one of the other library, so the errors of both are recognised, whichever sends it.
        """
        try:
            yield
            return
        except TimeoutError:
            raised = self.too_slow()
        except Exception as error:
            if "ProxyError" in _names(type(error)) and self._head is not None:
                status, pairs = self._head
                headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}
                if asks_to_wait(status, retry_after(headers)):
                    self._refusal = Reply(status, b"", headers)
                    return
            raised = self._mapped(error)
            raised.__cause__ = error
            if self._secret:  # the frames of the request have it
                error.__traceback__ = error.__cause__ = error.__context__ = None
        raise raised

    def note(self, event: str, facts: Mapping[str, Any]) -> None:
        """Note the head of an answer, that of a proxy to a request for a tunnel too.

        Parameters
        ----------
        event : str
            Name of what happened, as in httpcore.
        facts : mapping
            What is known of it.
        """
        if event.endswith("receive_response_headers.complete"):
            _, status, _, headers, *_ = facts["return_value"]
            self._head = status, headers

    async def note_awaited(self, event: str, facts: Mapping[str, Any]) -> None:
        """As `note`.

        Parameters
        ----------
        event : str
            Name of what happened, as in httpcore.
        facts : mapping
            What is known of it.
        """
        self.note(event, facts)

    def _not_sent(self, why: str) -> NotSent:
        route = self._route()
        way = "" if route is None or route.proxy is None else f" {route.described}"
        return NotSent(f"{self._what} did not leave for {self._base_url}{way}{why}")

    def _mapped(self, error: Exception) -> TransportError:
        """Return the toolkit's error for one of httpx or httpx2. Raises any other again, unless nothing has left."""
        if isinstance(error, ToolkitError):
            raise error
        names = _names(type(error)).keys()
        why = str(error) or type(error).__name__
        # The order counts: ConnectTimeout is a TimeoutException too, but nothing left. Any failure before the first
        # byte proves that, an ImportError of the library or a proxy that does not answer too.
        if names & _NOT_SENT or self.departure.hold():
            hint = _untrusted(self._route()) if "CERTIFICATE_VERIFY_FAILED" in why else ""
            return self._not_sent(f": {why}{hint}")
        if "TimeoutException" in names and time.monotonic() >= self.departure.deadline:
            return self.too_slow()
        if "TimeoutException" in names:
            said = f"no answer from {self._base_url} in time ({why}). Whether it arrived is unknown"
            return TimedOut(f"{self._what}: {said}")
        if names & {"NetworkError", "RemoteProtocolError"}:
            said = f"the connection to {self._base_url} broke ({why}). Whether it arrived is unknown"
            return Disconnected(f"{self._what}: {said}")
        # An answer came, so whether the request arrived is not in doubt, but what it did is.
        if "HTTPError" in names:
            return BadAnswer(f"{self._what}: the answer of {self._base_url} can't be read ({why})")
        raise error

    def begin(self, response: httpx.Response) -> bool:
        """Take the head of the answer, True if its body follows.

        Parameters
        ----------
        response : Response
            Response of httpx or httpx2, whose body is not read yet.

        Raises
        ------
        BadAnswer
            For a compression that was not asked for.
        """
        self._status = response.status_code
        self._headers = {name.lower(): value for name, value in response.headers.items()}
        if response.is_stream_consumed:  # a transport in this process may hand over a whole answer
            self.add(response.content)
            return False
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("gzip", "deflate"):
            # 47: zlib recognises gzip and deflate by their headers.
            self._inflate = zlib.decompressobj(wbits=47)
        elif encoding not in ("identity", ""):
            raise self._bad(f"is compressed with {encoding[:40]}, which was not asked for")
        return True

    def add(self, chunk: bytes) -> None:
        """Take the next bytes.

        Parameters
        ----------
        chunk : bytes
            Next bytes of the body, still compressed.

        Raises
        ------
        TimedOut
            After the deadline.
        BadAnswer
            For what is too long or broken.
        """
        if time.monotonic() > self.departure.deadline:
            raise self.too_slow()
        if self._inflate is not None:
            try:
                # Never more than the limit: a few compressed kilobytes may hold gigabytes.
                chunk = self._inflate.decompress(chunk, self._longest + 1 - len(self._body))
            except zlib.error as error:
                raise self._bad(f"can't be decompressed ({error})") from None
        self._body += chunk
        if len(self._body) > self._longest:
            raise self._bad(f"is longer than {self._longest >> 20} MiB, the limit for this request")

    def reply(self) -> Reply:
        """Return the whole answer, or that of a proxy which asks to wait.

        Raises
        ------
        BadAnswer
            Where its end is missing.
        """
        if self._refusal is not None:
            return self._refusal
        # Without compression the library itself notices a missing end, by the length or the last chunk.
        if self._inflate is not None and self._body and not self._inflate.eof:
            raise self._bad("is cut off")
        return Reply(self._status, bytes(self._body), self._headers)

    def _bad(self, why: str) -> BadAnswer:
        return BadAnswer(f"{self._what}: the answer of {self._base_url} {why}", status=self._status)

    def too_slow(self) -> TransportError:
        """Return the error for an answer that is not whole in time. What has not left by now never will."""
        if self.departure.hold():
            return self._not_sent(" in time")
        return TimedOut(f"{self._what}: no whole answer from {self._base_url} in time. Whether it arrived is unknown")
