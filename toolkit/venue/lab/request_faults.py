"""Scripted faults of HTTP requests and their answers, as the gateway applies them."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..api.gateway import Answer, FaultTriggered, Incoming, enveloped
from ..programs import permissions
from .armed_faults import ArmedFaults, Fault

if TYPE_CHECKING:
    from ..engine.core import Core

BEFORE = {
    "refuse": "the connection is refused; nothing left the client",
    "lose-request": "the request gets lost; no answer ever comes",
    "cut-request": "the connection breaks before the venue received the request",
    "late-request": "no answer comes, and the request arrives `delay` later",
    "code": "the venue answers with `code` and does nothing (default 40231)",
    "status": "an HTTP `status` without the venue's envelope (default 503); nothing is done",
}
AFTER = {
    "lose-answer": "the request is executed; its answer never comes",
    "cut-answer": "the request is executed, then the connection breaks",
    "late-answer": "the request is executed; its answer comes `delay` later",
    "status-after": "the request is executed; the answer is an HTTP `status` (default 503)",
    "garbage": "the request is executed; the answer is half of its bytes",
    "duplicate": "the request arrives twice; the client gets the first answer",
    "repeat": "the request arrives twice; the client gets the second answer, as behind a proxy that retries",
}

_ACCOUNTS = ("userAddr", "userAddress", "user", "wallet")
"""Parameters of queries that name the account that is asked about."""

_LOST = Answer(0, b"", broken="timeout")
_CUT = Answer(0, b"", broken="disconnect")


class RequestFaults(ArmedFaults):
    """The faults of requests; `gateway.RequestInterceptor` says when each method is called."""

    def __init__(self, lock: AbstractContextManager[Any], now_ms: Callable[[], int]) -> None:
        super().__init__(lock)
        self._now_ms = now_ms
        self._late: list[tuple[int, Incoming]] = []

    @property
    def active(self) -> bool:
        """True while a fault is armed or a held-back request has yet to arrive."""
        return bool(self._armed or self._late)

    def on_request(self, incoming: Incoming) -> None:
        """Raise FaultTriggered for a fault that matches by path and peer alone."""
        self._before(incoming, lambda fault: not fault.needs_sender and _matches(fault, incoming))

    def on_authenticated(self, core: Core, incoming: Incoming) -> None:
        """Raise FaultTriggered for a fault of this action or account, before the command is applied."""
        incoming.notes["accounts"] = _accounts(core, incoming)
        self._before(incoming, lambda fault: fault.needs_sender and _matches_sender(fault, incoming))

    def on_response(self, incoming: Incoming, answer: Answer, again: Callable[[], Answer]) -> Answer:
        """Return the answer as the faults leave it; `again` executes the same request a second time."""
        for fault in self._triggered(AFTER, lambda fault: _matches_sender(fault, incoming)):
            answer = _altered(fault, answer, again)
        return answer

    def due(self, now_ms: int) -> list[Incoming]:
        """Remove and return the held-back requests that arrive by now."""
        with self._lock:
            found = [incoming for time, incoming in self._late if time <= now_ms]
            if found:
                self._late = [one for one in self._late if one[0] > now_ms]
        return found

    def _before(self, incoming: Incoming, matches: Callable[[Fault], bool]) -> None:
        for fault in self._triggered(BEFORE, matches):
            if fault.kind == "late-request":
                self._late.append((self._now_ms() + fault.delay, incoming.exempt_copy()))
            raise FaultTriggered(_answer_before(fault))

    def _triggered(self, kinds: Container[str], matches: Callable[[Fault], bool]) -> list[Fault]:
        with self._lock:  # a list, so that every matching fault is counted before the first one takes effect
            return list(self.triggered(kinds, matches))


def _matches(fault: Fault, incoming: Incoming) -> bool:
    return (not fault.path or fnmatchcase(incoming.path, fault.path)) and fault.peer in ("", incoming.peer)


def _matches_sender(fault: Fault, incoming: Incoming) -> bool:
    accounts = incoming.notes.get("accounts", ())
    return (
        _matches(fault, incoming)
        and fault.action in ("", incoming.action)
        and (not fault.account or fault.account in accounts)
    )


def _accounts(core: Core, incoming: Incoming) -> tuple[str, ...]:
    """Return the signer and the accounts it acts for, or the accounts that a query asks about."""
    if not incoming.signer:
        return tuple(value.lower() for name, value in incoming.query if name in _ACCOUNTS)
    signer = incoming.signer.lower()
    return (signer, *permissions.acts_for(core, incoming.action, signer))


def _answer_before(fault: Fault) -> Answer:
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
        headers["retry-after"] = str(-(-fault.delay // 1000))  # whole seconds, rounded up: never too early
    return Answer(fault.status, b"<html>scripted fault</html>", headers)


def _altered(fault: Fault, answer: Answer, again: Callable[[], Answer]) -> Answer:
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
