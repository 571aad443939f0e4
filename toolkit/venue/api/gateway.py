"""The entry point of the venue: takes an HTTP request as plain values and returns the answer as plain values.

`Gateway.handle` never raises and never answers 500. The in-process transport and the server both call it, so the same
bytes are processed the same way everywhere. Parsing and recovering the signer are pure and happen outside the venue's
lock; only the command itself is applied under it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qsl

import msgspec

from ...environments import LOCAL, Chain
from ...errors import BadSignature, InputError, UnknownAction, VenueError
from ...protocol import envelope, signing
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info_queries import BY_PATH
from ..engine.codes import MALFORMED, SIGNATURE, UNSUPPORTED
from ..engine.commands import Outcome, WireError
from ..engine.core import Core
from .admission import Admission

T = TypeVar("T")

EXCHANGE_PATH = "/api/v1/exchange"
MAX_BODY = 1 << 20
"""Largest body in bytes; more is answered 413. Source: docs/published.md, "Exchange API" [L]."""

JSON_HEADERS: Mapping[str, str] = {"content-type": "application/json"}

Query = Sequence[tuple[str, str]]


class Answer(NamedTuple):
    """An HTTP answer of the venue.

    `broken` is "" for an answer that arrives; otherwise "refused" (the request never reached the venue), "disconnect"
    (the connection broke before an answer) or "timeout" (no answer at all). `delay` is in seconds; the transport or
    server that delivers the answer waits for it.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = JSON_HEADERS
    broken: str = ""
    delay: float = 0.0
    code: int = 0
    """The code in the envelope, for a log."""
    action: str = ""
    signer: str = ""


@dataclass(slots=True)
class Incoming:
    """One request in the gateway; `action`, `signer` and `vault` are set before `on_authenticated` is called."""

    method: str
    path: str
    query: Query
    body: bytes
    peer: str
    action: str = ""
    signer: str = ""
    vault: str = ""
    """The address in vaultAddress, in lower case."""
    exempt_from_faults: bool = False
    """True for the second copy of a request and for one that a fault delayed: no fault applies to them again."""
    notes: dict[str, Any] = field(default_factory=dict)

    def exempt_copy(self) -> Incoming:
        """Return the request as it came in, to be executed without faults."""
        return Incoming(self.method, self.path, self.query, self.body, self.peer, exempt_from_faults=True)


class Submission(NamedTuple):
    """A verified action on its way to the core. `admit` may refuse it, under the venue's lock, before it is applied."""

    action: dict[str, Any]
    signer: str
    nonce: int
    expiry_after: int | None
    vault: str | None
    digest: bytes
    admit: Callable[[Core], None] | None


Flow = Generator[Submission, Outcome, Answer]
"""The answering of one request: yields a submission, is sent its outcome, returns the answer."""


class Started(NamedTuple):
    """A request that was read, with what it waits for, a submission, or its answer."""

    flow: Flow
    submission: Submission | None = None
    answer: Answer | None = None


class HttpRequest(NamedTuple):
    """One HTTP request as plain values; see `Gateway.handle`."""

    method: str
    path: str
    query: Query | str = ()
    body: bytes = b""
    peer: str = ""


class GatewayVenue(Protocol):
    """What the gateway needs of the venue."""

    def submit_many(self, submissions: Sequence[Submission]) -> list[Outcome | Exception]: ...
    def query(self, question: Callable[[Core], T]) -> T: ...
    def now_ms(self) -> int: ...


class RequestInterceptor(Protocol):
    """What the gateway calls around each request while `active`; scripted faults are one (`lab.request_faults`)."""

    @property
    def active(self) -> bool:
        """False lets every request pass without further calls."""

    def due(self, now_ms: int) -> list[Incoming]:
        """Remove and return the held-back requests that arrive by now."""

    def on_request(self, incoming: Incoming) -> None:
        """Called first; raises FaultTriggered to stop the request."""

    def on_authenticated(self, core: Core, incoming: Incoming) -> None:
        """Called once action and signer are known, before the command; raises FaultTriggered to stop it."""

    def on_response(self, incoming: Incoming, answer: Answer, again: Callable[[], Answer]) -> Answer:
        """Return the answer to deliver; `again` executes the same request a second time."""


class FaultTriggered(Exception):
    """A scripted fault stops a request; its client gets `answer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("scripted fault")
        self.answer = answer


class Hooks:
    """Extension points for faults, limits and refusals of a user's own; this base class lets everything pass."""

    def on_request(self, incoming: Incoming) -> Answer | None:
        """Return an answer to send at once (nothing is executed), or None to continue."""
        return None

    def on_authenticated(self, incoming: Incoming, now: int) -> None:
        """Called with the action and the recovered signer ("" for queries), before it is applied; `now` in ms.

        Raises WireError (40006, 40220, 40231, 40280, 40281) to refuse the request.
        """

    def on_response(self, incoming: Incoming, answer: Answer) -> Answer:
        """Called after the command was applied; return the answer to send."""
        return answer


def enveloped(status: int, code: int, message: str, data: Any = None) -> Answer:
    """Return an answer in the venue's envelope {code, message, data}; lone surrogates in the message become "?"."""
    try:
        body = msgspec.json.encode({"code": code, "message": message, "data": data})
    except UnicodeEncodeError:
        message = message.encode("utf-8", "replace").decode()
        body = msgspec.json.encode({"code": code, "message": message, "data": None})
    return Answer(status, body, code=code)


def too_large(length: int) -> Answer:
    """Return the answer to a body over the limit."""
    return enveloped(413, 413, f"the body has {length} bytes or more; at most {MAX_BODY} are taken")


class Gateway:
    """Turns requests into commands and outcomes into answers for one venue.

    The typed-data chain is Testnet's (docs/published.md, "Environments"): signatures made for Mainnet recover to other
    addresses and are answered 40204. The order of the checks: form (40003), action type (40201), signature (40204 when
    no signer can be recovered), emergencies and limits (40006, 40281, 40280, 40220), authority of the signer (40204),
    nonce (40207), expiry (40208), and last the rules of the action (40230).
    """

    def __init__(
        self, venue: GatewayVenue, faults: RequestInterceptor, *, chain: Chain = LOCAL.chain, extended: bool = False
    ) -> None:
        self.venue = venue
        self.faults = faults
        self.chain = chain
        self.extended = extended
        """Whether answers have the fields that are not published; see `LocalVenue`, `wire`."""
        self.hooks = Hooks()
        self.admission = Admission()
        self.routes: dict[str, Callable[[Incoming], Answer]] = {}
        """Further paths, path → function; a venue that is served with controls registers them here."""

    def handle(self, method: str, path: str, query: Query | str = (), body: bytes = b"", peer: str = "") -> Answer:
        """Answer one request. `query` is a list of pairs or the raw query text; `peer` is the caller's address.

        Never raises: an unexpected error is answered 400 with code 40003 and the name of its class.
        """
        return self.handle_many([HttpRequest(method, path, query, body, peer)])[0]

    def handle_many(self, requests: Sequence[HttpRequest]) -> list[Answer]:
        """Answer several requests as one group: its actions are applied in order, after one write of the journal."""
        return self.finish([self.start(request) for request in requests])

    def start(self, request: HttpRequest) -> Started:
        """Answer a request as far as that takes no lock: an action is read, and its signer recovered."""
        return _resumed(self._answer_in_time(request), None)

    def finish(self, group: Sequence[Started]) -> list[Answer]:
        """Answer requests that were started, as `handle_many` does."""
        answers: list[Answer | None] = [started.answer for started in group]
        waiting = [(number, started) for number, started in enumerate(group) if started.submission is not None]
        while waiting:
            submissions = [started.submission for _, started in waiting if started.submission is not None]
            outcomes = self.venue.submit_many(submissions)
            steps = [(number, _resumed(one.flow, got)) for (number, one), got in zip(waiting, outcomes, strict=True)]
            for number, started in steps:
                answers[number] = started.answer
            waiting = [(number, started) for number, started in steps if started.submission is not None]
        return [answer for answer in answers if answer is not None]

    def _answer_in_time(self, request: HttpRequest) -> Flow:
        action = signer = ""
        try:
            query = request.query
            pairs = parse_qsl(query, keep_blank_values=True) if isinstance(query, str) else query
            incoming = Incoming(request.method.upper(), request.path, pairs, request.body, request.peer)
            answer = yield from self._handle_with_faults(incoming) if self.faults.active else self._answer(incoming)
            action, signer = incoming.action, incoming.signer
        except Exception as error:
            answer = refusal(error)
        headers = {**answer.headers, "x-venue-time": str(self.venue.now_ms())}
        return answer._replace(headers=headers, action=action, signer=signer)

    def _handle_with_faults(self, incoming: Incoming) -> Flow:
        self.execute_delayed(self.venue.now_ms())  # first, so that requests are executed in the order they arrive
        again = incoming.exempt_copy()
        try:
            self.faults.on_request(incoming)
            answer = yield from self._answer(incoming)
        except FaultTriggered as fault:
            return fault.answer
        return self.faults.on_response(incoming, answer, lambda: self._answer_now(again))

    def execute_delayed(self, now_ms: int) -> None:
        """Execute the requests that a fault held back until now; their answers are dropped."""
        for delayed in self.faults.due(now_ms):
            self._answer_now(delayed)

    def _answer_now(self, incoming: Incoming) -> Answer:
        """Run the flow of a request that belongs to no group."""
        flow = self._answer(incoming)
        try:
            submission = next(flow)
            while True:
                [outcome] = self.venue.submit_many([submission])
                submission = flow.throw(outcome) if isinstance(outcome, Exception) else flow.send(outcome)
        except StopIteration as done:
            answer: Answer = done.value
            return answer

    def _answer(self, incoming: Incoming) -> Flow:
        answer = self.hooks.on_request(incoming)
        if answer is None:
            answer = self.hooks.on_response(incoming, (yield from self._route(incoming)))
        return answer

    def _admit(self, incoming: Incoming, core: Core) -> None:
        self.admission.check(core, incoming.peer, incoming.action, incoming.signer.lower(), incoming.vault)
        if self.faults.active and not incoming.exempt_from_faults:
            self.faults.on_authenticated(core, incoming)
        self.hooks.on_authenticated(incoming, core.state.time)

    def _route(self, incoming: Incoming) -> Flow:
        try:
            path = incoming.path
            if len(incoming.body) > MAX_BODY:
                return too_large(len(incoming.body))
            if path == EXCHANGE_PATH:
                return _wrong_method(incoming, "POST") or (yield from self._exchange(incoming))
            if path in self.routes:
                return self.routes[path](incoming)
            endpoint = BY_PATH.get(path)
            if endpoint is not None:
                return _wrong_method(incoming, "GET") or self._info(endpoint, incoming)
        except FaultTriggered:
            raise  # `_handle_with_faults` answers it; below it would become a 400
        except Exception as error:
            return refusal(error)
        return enveloped(
            404, 404, f"unknown path {path[:200]!r}; there are POST {EXCHANGE_PATH}, GET /info/… and WebSocket /ws/dex"
        )

    def _exchange(self, incoming: Incoming) -> Flow:
        request = envelope.parse(incoming.body)
        incoming.action = request.type
        verified = signing.verify(request, self.chain)
        incoming.signer = verified.signer
        incoming.vault = (request.vault_address or "").lower()
        outcome = yield Submission(
            request.action,
            verified.signer,
            request.nonce,
            request.expiry_after,
            incoming.vault or None,
            verified.digest,
            lambda core: self._admit(incoming, core),
        )
        return enveloped(outcome.status, outcome.code, outcome.message, outcome.data)

    def _info(self, endpoint: Endpoint, incoming: Incoming) -> Answer:
        from . import info

        values = endpoint.parse(incoming.query)

        def data(core: Core) -> Any:
            self._admit(incoming, core)
            return info.view(core) if endpoint.name in info.LONG else info.answer(core, endpoint.name, values)

        found = self.venue.query(data)
        if endpoint.name in info.LONG:  # without the lock, which all commands need
            found = info.answer(found, endpoint.name, values)
        return enveloped(200, 0, "success", found if self.extended else endpoint.as_published(found))


def _resumed(flow: Flow, outcome: Outcome | Exception | None) -> Started:
    """Return where a flow is after it was sent an outcome, or the exception in its place; None begins it."""
    try:
        if isinstance(outcome, Exception):
            return Started(flow, flow.throw(outcome))
        return Started(flow, flow.send(outcome))  # type: ignore[arg-type]
    except StopIteration as done:
        return Started(flow, None, done.value)


def refusal(error: Exception) -> Answer:
    """Return the answer to a request that ended in an error, expected or not."""
    if isinstance(error, WireError):
        return enveloped(error.status, error.code, error.message, error.data)
    if isinstance(error, UnknownAction):
        return enveloped(200, UNSUPPORTED, f"unsupported action type: {error}")
    if isinstance(error, BadSignature):
        return enveloped(200, SIGNATURE, f"signature verification failed: {error}")
    if isinstance(error, VenueError):
        return enveloped(503, 503, str(error))  # the journal could not be written, so the command was not applied
    if isinstance(error, InputError):
        return enveloped(400, MALFORMED, str(error))
    return enveloped(400, MALFORMED, f"the request could not be processed ({type(error).__name__})")


def _wrong_method(incoming: Incoming, method: str) -> Answer | None:
    if incoming.method == method:
        return None
    answer = enveloped(405, 405, f"{incoming.path} takes {method}, not {incoming.method[:20]}")
    return answer._replace(headers={**JSON_HEADERS, "allow": method})
