"""The entry point of the venue: takes an HTTP request as plain values and returns the answer as plain values.

`Gateway.handle` never raises and never answers 500. The in-process transport and the server both call it, so the same
bytes are processed the same way everywhere. Parsing and recovering the signer are pure and happen outside the venue's
lock. Only the command itself is applied under it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qsl

import msgspec

from ...environments import EXCHANGE_PATH, LOCAL
from ...errors import BadSignature, InputError, UnknownAction, VenueError
from ...protocol import envelope, signing
from ...protocol.hexbytes import to_checksummed
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info_queries import BY_PATH
from ...protocol.reads.rows import Row
from ..engine.commands import (
    CLAIM,
    MALFORMED,
    SIGNATURE,
    UNSUPPORTED,
    Outcome,
    WireError,
)
from ..engine.core import Core
from ..programs import permissions
from .admission import Admission, mistaken
from .info_pages import Values

T = TypeVar("T")

MAX_BODY = 1 << 20
"""Largest body in bytes. More is answered 413. Source: docs/published.md, "Exchange API" [L]."""

SLICE = 250
"""Rows of a long answer that are made or encoded without a pause."""

JSON_HEADERS: Mapping[str, str] = {"content-type": "application/json"}

Query = Sequence[tuple[str, str]]


class Answer(NamedTuple):
    """An HTTP answer of the venue.

    Attributes
    ----------
    status : int
        HTTP status.
    body : bytes
        Bytes of the body.
    headers : mapping of str to str
        Headers of the answer.
    broken : str
        "" for an answer that arrives. Otherwise "refused" (the request never reached the venue), "disconnect" (the
        connection broke before an answer) or "timeout" (no answer at all).
    delay : float
        Seconds for which the transport or server waits before it delivers the answer (default: 0.0).
    action : str
        Type of the action, for a log.
    signer : str
        Recovered address, for a log.
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
    """One HTTP request as plain values.

    `action`, `signer` and `vault` are set before `on_authenticated` is called.

    Attributes
    ----------
    method : str
        HTTP method.
    path : str
        Path without the query.
    query : Query or str
        Parameters as pairs of name and value, or the raw query text.
    body : bytes
        Bytes of the body.
    peer : str
        Address of the caller.
    action : str
        Type of the action, "" for a query.
    signer : str
        Recovered address, "" for a query.
    """

    method: str
    path: str
    query: Query | str = ()
    body: bytes = b""
    peer: str = ""
    action: str = ""
    signer: str = ""
    vault: str = ""
    """The address in vaultAddress, in lower case."""
    nonce: int = 0
    """The nonce of an action, in ms."""
    exempt_from_faults: bool = False
    """True for a request that came while no fault was armed, and for the second copy of one and one that a fault
    delayed: no fault applies to them again."""
    accounts: tuple[str, ...] = ()
    """The signer and those it acts for, or those that a query asks about. Found where a fault may need them."""
    seat: str = ""
    """The seat of the caller in a class. Limits count for it in place of the address, which others may share."""
    pause: Callable[[], None] = lambda: None
    """Called between the slices of a long answer, so that others come in between."""

    @property
    def pairs(self) -> Query:
        """The parameters of the query, as pairs of name and value."""
        query = self.query
        return parse_qsl(query, keep_blank_values=True) if isinstance(query, str) else query

    def exempt_copy(self) -> Incoming:
        """Return the request as it came in, to be executed without faults."""
        return Incoming(self.method, self.path, self.query, self.body, self.peer, exempt_from_faults=True)


Route = Callable[[Incoming], Answer]
"""The function that answers the requests of one path."""


class Submission(NamedTuple):
    """A verified action on its way to the core.

    Attributes
    ----------
    action : dict of str to object
        The action as JSON.
    signer : str
        Recovered address.
    nonce : int
        Nonce of the envelope, in ms.
    expiry_after : int or None
        Last time at which it may be executed, Unix ms, `None` without end.
    vault : str or None
        Vault that the request acts for, `None` for none.
    digest : bytes
        Hash of the signed data.
    admit : callable or None
        May refuse it, under the venue's lock, before it is applied. `None` admits it.
    """

    action: dict[str, Any]
    signer: str
    nonce: int
    expiry_after: int | None
    vault: str | None
    digest: bytes
    admit: Callable[[Core], None] | None
    alternatives: Callable[[], Iterable[signing.Alternative]] = tuple
    """Returns who signed it if its signature is for what clients usually confuse with this venue's chain."""


Started = tuple[Incoming, Submission | Answer]
"""A request that was read, with its submission, whose outcome it waits for, or its answer."""


class Host(Protocol):
    """Interface of `host.VenueHost` for gateway, feed, faults and controls. A revert replaces its `core`."""

    @property
    def core(self) -> Core: ...
    @property
    def lock(self) -> AbstractContextManager[Any]: ...
    @property
    def speed(self) -> float: ...
    def now_ms(self) -> int:
        """Return the venue's time, Unix ms."""

    def submit_many(self, submissions: Sequence[Submission]) -> list[Outcome | Exception]:
        """Apply actions in order, as one group.

        Return the outcome of each, or its exception.

        Parameters
        ----------
        submissions : sequence of Submission
            Verified actions.
        """

    def query(self, question: Callable[[Core], T]) -> T:
        """Return the answer to a question about the present state, computed under the lock.

        Parameters
        ----------
        question : callable
            Called with the core. It must change nothing.
        """

    def apply_control(self, name: str, /, **args: object) -> dict[str, Any]:
        """Apply a control of the core and return its data.

        Parameters
        ----------
        name : str
            Name of the control.
        **args : object
            Arguments of its rule.
        """

    def catch_up(self) -> int:
        """Advance the core to the clock's time, and return that time."""

    def start_running(self) -> None:
        """Let time pass automatically until `stop_running` was called as often as this."""

    def stop_running(self) -> None:
        """End one `start_running`."""


class RequestInterceptor(Protocol):
    """Methods that the gateway calls around each request while `active`. Scripted faults are one (`lab.faults`)."""

    @property
    def active(self) -> bool:
        """False lets every request pass without further calls."""

    def due(self, now_ms: int) -> list[Incoming]:
        """Remove and return the held-back requests that arrive by now.

        Parameters
        ----------
        now_ms : int
            Present time, Unix ms.
        """

    def on_request(self, incoming: Incoming) -> None:
        """Process a request that came in.

        It is called first.

        Parameters
        ----------
        incoming : Incoming
            The request.

        Raises
        ------
        FaultTriggered
            To stop the request.
        """

    def on_authenticated(self, core: Core, incoming: Incoming) -> None:
        """Process a request whose action and signer are known.

        It is called before the command.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        incoming : Incoming
            The request.

        Raises
        ------
        FaultTriggered
            To stop the request.
        """

    def on_response(self, incoming: Incoming, answer: Answer, again: Callable[[], Answer]) -> Answer:
        """Return the answer to deliver.

        Parameters
        ----------
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        again : callable
            Executes the same request a second time.
        """


class Interference(Protocol):
    """Methods that the gateway calls between the bytes and the core while `active` (see `trouble`)."""

    @property
    def active(self) -> bool:
        """False lets every request pass without further calls."""

    def before(self, incoming: Incoming) -> Answer | None:
        """Return an answer in place of the venue's, to a request that the venue then never sees.

        Parameters
        ----------
        incoming : Incoming
            The request, which may be changed.
        """

    def admit(self, core: Core, incoming: Incoming) -> None:
        """Refuse an action whose signer is known, before it is applied.

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

    def query(self, core: Core, values: Values, incoming: Incoming) -> tuple[Core, Values]:
        """Return the state that a query is answered from, and its parameters.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        values : Values
            Checked parameters by wire name.
        incoming : Incoming
            The request.
        """

    def after(self, incoming: Incoming, answer: Answer) -> Answer:
        """Return the answer to deliver.

        Parameters
        ----------
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """


class FaultTriggered(Exception):
    """A scripted fault stops a request.

    Parameters
    ----------
    answer : Answer
        Answer that its client gets.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__("scripted fault")
        self.answer = answer


class Hooks:
    """Extension points for faults, limits and refusals of a user's own.

    This base class lets everything pass.
    """

    def on_request(self, incoming: Incoming) -> Answer | None:
        """Return an answer to send immediately, or `None` to continue.

        With an answer nothing is executed.

        Parameters
        ----------
        incoming : Incoming
            The request.
        """
        return None

    def on_authenticated(self, incoming: Incoming, now: int) -> None:
        """Process a request whose action and signer are known, before it is applied.

        Raises WireError (40006, 40220, 40231, 40280, 40281) to refuse the request.

        Parameters
        ----------
        incoming : Incoming
            The request, with the recovered signer ("" for queries).
        now : int
            Time of the venue, Unix ms.

        Raises
        ------
        WireError
            To refuse the request, with code 40006, 40220, 40231, 40280 or 40281.
        """

    def on_response(self, incoming: Incoming, answer: Answer) -> Answer:
        """Return the answer to send.

        It is called after the command was applied.

        Parameters
        ----------
        incoming : Incoming
            The request.
        answer : Answer
            Answer of the venue.
        """
        return answer


def enveloped(status: int, code: int, message: str, data: object = None) -> Answer:
    """Return an answer in the venue's envelope {code, message, data}.

    Lone surrogates in the message become "?".

    Parameters
    ----------
    status : int
        HTTP status.
    code : int
        Code of the answer, 0 for success.
    message : str
        Reason in words.
    data : object, optional
        Data of the answer, ready for JSON (default: `None`).
    """
    try:
        body = msgspec.json.encode({"code": code, "message": message, "data": data})
    except UnicodeEncodeError:
        message = message.encode("utf-8", "replace").decode()
        body = msgspec.json.encode({"code": code, "message": message, "data": None})
    return Answer(status, body, code=code)


def http_error(status: int, message: str, data: object = None) -> Answer:
    """Return an answer whose code is its HTTP status: what the server refuses, not the exchange.

    Parameters
    ----------
    status : int
        HTTP status.
    message : str
        Reason in words.
    data : object, optional
        Data of the answer, ready for JSON (default: `None`).
    """
    return enveloped(status, status, message, data)


def too_large(length: int) -> Answer:
    """Return the answer to a body over the limit.

    Parameters
    ----------
    length : int
        Length of the body in bytes.
    """
    return http_error(413, f"the body has {length} bytes or more. At most {MAX_BODY} are accepted")


class Gateway:
    """Turns requests into commands and outcomes into answers for one venue.

    The typed-data chain is Testnet's (docs/published.md, "Environments"): signatures made for Mainnet recover to other
    addresses and are answered 40204. The checks have this order: form (40003), action type (40201), signature (40204
    when no signer can be recovered), emergencies and limits (40006, 40281, 40280, 40220). Then come the authority of
    the signer (40204), nonce (40207), expiry (40208), and last the rules of the action (40230).

    Parameters
    ----------
    venue : Host
        The venue whose requests it answers.
    faults : RequestInterceptor
        Scripted faults of requests.
    trouble : Interference
        What goes wrong between a client and this venue.
    """

    def __init__(self, venue: Host, faults: RequestInterceptor, trouble: Interference) -> None:
        self.venue = venue
        self.faults = faults
        self.trouble = trouble
        self.hooks = Hooks()
        self.admission = Admission()
        # Looked up before the queries, so a route could hide one. Only the server registers any.
        self.routes: dict[str, Route] = {}
        """Further paths, path → function. A venue that is served with controls registers them here."""

    def handle(self, method: str, path: str, query: Query | str = (), body: bytes = b"", peer: str = "") -> Answer:
        """Answer one request.

        It never raises: an unexpected error is answered 400 with code 40003 and the name of its class.

        Parameters
        ----------
        method : str
            HTTP method.
        path : str
            Path without the query.
        query : Query or str, optional
            Parameters as pairs of name and value, or the raw query text (default: none).
        body : bytes, optional
            Bytes of the body (default: empty).
        peer : str, optional
            Address of the caller (default: "").
        """
        return self.handle_many([Incoming(method, path, query, body, peer)])[0]

    def handle_many(self, requests: Sequence[Incoming]) -> list[Answer]:
        """Answer several requests as one group: its actions are applied in order, after one write of the journal.

        Parameters
        ----------
        requests : sequence of Incoming
            The requests, in order.
        """
        return self.finish([self.start(request) for request in requests])

    def start(self, incoming: Incoming) -> Started:
        """Do the part of a request that takes no lock: read an action, and recover its signer.

        Parameters
        ----------
        incoming : Incoming
            The request.
        """
        incoming.method = incoming.method.upper()
        # What stands in front of a venue answers as it is: no hook, fault or header of the venue is part of it.
        if self.trouble.active and (answer := self.trouble.before(incoming)) is not None:
            return incoming, answer
        found = self._begin(incoming)
        return incoming, found if isinstance(found, Submission) else self._respond(incoming, found)

    def finish(self, group: Sequence[Started]) -> list[Answer]:
        """Answer requests that were started, as `handle_many` does.

        Parameters
        ----------
        group : sequence of Started
            What `start` returned for each request.
        """
        submissions = [found for _, found in group if isinstance(found, Submission)]
        # The lock is taken once for the whole group. Signatures were recovered before, outside of it.
        outcomes = iter(self.venue.submit_many(submissions) if submissions else ())
        return [
            self._respond(incoming, self._explained(incoming, found, next(outcomes)))
            if isinstance(found, Submission)
            else found
            for incoming, found in group
        ]

    def _explained(
        self, incoming: Incoming, submission: Submission, outcome: Outcome | Exception
    ) -> Outcome | Exception:
        """Return the outcome. A refused signer that a usual mistake explains gets a refusal that names the mistake."""
        if not isinstance(outcome, WireError) or outcome.code != SIGNATURE:
            return outcome
        with self.venue.lock:
            if not self.admission.may_examine(self.venue.core, incoming.seat or incoming.peer):
                return outcome
        alternatives = list(submission.alternatives())  # recovered without the lock, which all others need
        with self.venue.lock:
            return mistaken(self.venue.core, submission.signer, alternatives) or outcome

    def execute_delayed(self, now_ms: int) -> None:
        """Execute the requests that a fault held back until now.

        Their answers are dropped.

        Parameters
        ----------
        now_ms : int
            Present time, Unix ms.
        """
        for delayed in self.faults.due(now_ms):
            self.handle_many([delayed])

    def _begin(self, incoming: Incoming) -> Submission | Answer | FaultTriggered:
        """Read a request. Return its submission, or its answer when it has none, or the fault that stops it."""
        try:
            incoming.exempt_from_faults |= not self.faults.active  # a control's own fault must not meet its answer
            if not incoming.exempt_from_faults:
                self.execute_delayed(self.venue.now_ms())  # first, so that requests are executed in the order they come
                self.faults.on_request(incoming)
            answer = self.hooks.on_request(incoming)
            if answer is not None:
                return answer
            found = self._route(incoming)
            return found if isinstance(found, Submission) else self.hooks.on_response(incoming, found)
        except FaultTriggered as fault:
            return fault
        except Exception as error:
            return refusal(error)

    def _respond(self, incoming: Incoming, found: Answer | Outcome | Exception) -> Answer:
        """Return the answer to deliver, from that of `_begin` or from the outcome of the submission."""
        try:
            if isinstance(found, WireError):
                found = Outcome(found.code, found.message, found.data, found.status)
            if isinstance(found, Outcome):
                found = _naming_signer(incoming, found)
                # Hooks see answers only, so an outcome becomes one first.
                found = enveloped(found.status, found.code, found.message, found.data)
                found = self.hooks.on_response(incoming, found)
            elif isinstance(found, Exception) and not isinstance(found, FaultTriggered):
                found = self.hooks.on_response(incoming, refusal(found))
            # The answer of a fault is delivered as it is: no hook and no second fault may change it.
            if isinstance(found, FaultTriggered):
                answer = found.answer
            elif not incoming.exempt_from_faults:
                # The second copy of a duplicated request meets no fault, or it could be duplicated without end.
                again = incoming.exempt_copy()
                answer = self.faults.on_response(incoming, found, lambda: self.handle_many([again])[0])
            else:
                answer = found
            if self.trouble.active:
                answer = self.trouble.after(incoming, answer)
        except Exception as error:
            answer = refusal(error)
        # A client compares its clock with this, because the venue's time need not be that of the day.
        headers = {**answer.headers, "x-venue-time": str(self.venue.now_ms())}
        # A client that waits for the venue's time must know how fast it passes.
        if self.venue.speed != 1:
            headers["x-venue-speed"] = f"{self.venue.speed:g}"
        return answer._replace(headers=headers, action=incoming.action, signer=incoming.signer)

    def _admit(self, incoming: Incoming, core: Core) -> None:
        # Emergencies and limits come before faults, so that a scripted fault can't hide a ban.
        caller = incoming.seat or incoming.peer
        self.admission.check(core, incoming.peer, incoming.action, incoming.signer.lower(), incoming.vault, caller)
        if not incoming.exempt_from_faults:
            self.faults.on_authenticated(core, incoming)
        if self.trouble.active:
            self.trouble.admit(core, incoming)
        self.hooks.on_authenticated(incoming, core.state.time)
        self.admission.check_program(core, caller, incoming.action, incoming.signer)

    def _route(self, incoming: Incoming) -> Submission | Answer:
        try:
            path = incoming.path
            # Before parsing: a large body must not cost more than its length.
            if len(incoming.body) > MAX_BODY:
                return too_large(len(incoming.body))
            if path == EXCHANGE_PATH:
                return wrong_method(incoming, "POST") or self._exchange(incoming)
            if path in self.routes:
                return self.routes[path](incoming)
            endpoint = BY_PATH.get(path)
            if endpoint is not None:
                return wrong_method(incoming, "GET") or self._info(endpoint, incoming)
        except FaultTriggered:
            raise  # its answer is not to become a 400
        except Exception as error:
            return refusal(error)
        return http_error(
            404, f"unknown path {path[:200]!r}. There are POST {EXCHANGE_PATH}, GET /info/… and WebSocket /ws/dex"
        )

    def _exchange(self, incoming: Incoming) -> Submission:
        request = envelope.parse(incoming.body)
        incoming.action = request.type
        verified = signing.verify(request, LOCAL.chain)
        incoming.signer = verified.signer
        # The action is read and its signer recovered here, without the lock. Both need only the bytes.
        incoming.vault, incoming.nonce = (request.vault_address or "").lower(), request.nonce

        def alternatives() -> Iterable[signing.Alternative]:
            return signing.alternatives(request, verified, LOCAL.chain)

        def admit(core: Core) -> None:
            self._admit(incoming, core)
            # Any signer may claim, so a claim that was signed by mistake would credit an address that no one has.
            if request.type == CLAIM and (refused := mistaken(core, verified.signer, alternatives())):
                raise refused

        return Submission(
            request.action,
            verified.signer,
            request.nonce,
            request.expiry_after,
            incoming.vault or None,
            verified.digest,
            admit,
            alternatives,
        )

    def _info(self, endpoint: Endpoint[Row], incoming: Incoming) -> Answer:
        from . import info_answers as info

        # Parameters are checked before the lock is taken.
        values: Values = endpoint.parse(incoming.pairs)
        long = endpoint.name in info.LONG

        def data(core: Core) -> Any:
            nonlocal values
            self._admit(incoming, core)
            if self.trouble.active:
                core, values = self.trouble.query(core, values, incoming)
            return info.view(core) if long else info.answer(core, endpoint.name, values)

        found = self.venue.query(data)
        if long:  # without the lock, which all commands need
            return self._enveloped_rows(info.answer(found, endpoint.name, values), incoming.pause)
        return enveloped(200, 0, "success", found)

    def _enveloped_rows(self, rows: Iterable[Any], pause: Callable[[], None]) -> Answer:
        """Return the answer with these rows, made in slices, because one piece would hold the interpreter for long."""
        parts, left = [], iter(rows)
        while some := list(islice(left, SLICE)):
            parts.append(msgspec.json.encode(some)[1:-1])
            pause()
        return Answer(200, b'{"code":0,"message":"success","data":[' + b",".join(parts) + b"]}")


def _naming_signer(incoming: Incoming, outcome: Outcome) -> Outcome:
    """Return the outcome of a master's action with the recovered signer: in a refusal, and whom a claim credits.

    A signature for another chain, domain or verifyingContract recovers another address, which its sender should see.
    """
    if incoming.action not in permissions.MASTER_ACTIONS or not incoming.signer:
        return outcome
    signer, data = to_checksummed(incoming.signer), outcome.data
    if outcome.code == 0 and incoming.action == CLAIM:
        return msgspec.structs.replace(outcome, data={**(data or {}), "address": signer})
    if outcome.code == 0 or signer.lower() in outcome.message.lower():
        return outcome
    message = f"{outcome.message}. The recovered signer is {signer}"
    data = data and {**data, "txMsg": message}
    return msgspec.structs.replace(outcome, message=message, data=data)


def refusal(error: Exception) -> Answer:
    """Return the answer to a request that ended in an error, expected or not.

    Parameters
    ----------
    error : Exception
        What the request ended with.
    """
    if isinstance(error, WireError):
        return enveloped(error.status, error.code, error.message, error.data)
    # These two come before InputError, of which they are kinds.
    if isinstance(error, UnknownAction):
        return enveloped(200, UNSUPPORTED, f"unsupported action type: {error}")
    if isinstance(error, BadSignature):
        return enveloped(200, SIGNATURE, f"signature verification failed: {error}")
    if isinstance(error, VenueError):
        return http_error(503, str(error))  # the journal could not be written, so the command was not applied
    if isinstance(error, InputError):
        return enveloped(400, MALFORMED, str(error))
    return enveloped(400, MALFORMED, f"the request could not be processed ({type(error).__name__})")


def taking(method: str, answer: Route) -> Route:
    """Return a route that refuses requests with another method.

    Parameters
    ----------
    method : str
        HTTP method that the route takes.
    answer : Route
        Route for requests with this method.
    """
    return lambda incoming: wrong_method(incoming, method) or answer(incoming)


def wrong_method(incoming: Incoming, method: str) -> Answer | None:
    """Return the answer to a request with another method, `None` for one that has it.

    Parameters
    ----------
    incoming : Incoming
        The request.
    method : str
        HTTP method that the path takes.
    """
    if incoming.method == method:
        return None
    answer = http_error(405, f"{incoming.path} takes {method}, not {incoming.method[:20]}")
    return answer._replace(headers={**JSON_HEADERS, "allow": method})
