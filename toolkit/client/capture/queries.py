"""Every query of the Info API and every error envelope, asked once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...environments import Environment
from ...errors import TransportError
from ...protocol import jsontext
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info_queries import ENDPOINTS
from ..io.flow import Fetch, Flow, Now, Reply, Sleep
from .comparison import Difference, compare_answer, compare_envelope

NOBODY = "0x" + "0" * 40
"""Address that is asked for where no account is known; the shapes of empty answers are compared then."""
PAUSE_SECONDS = 0.1
_HOUR_MS = 3_600_000
_FROM_ROWS = ("vaultAddress", "txHash", "blockHeight", "agentName")
"""Parameters whose values come from earlier answers."""


@dataclass(slots=True)
class Answered:
    """One request and its answer. `error` says why there is no answer, or why it was not asked."""

    name: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    status: int = 0
    body: Any = None
    error: str = ""
    rows: int = 0
    published: bool = True
    differences: list[Difference] = field(default_factory=list)


def ask_all(account: str | None) -> Flow[list[Answered]]:
    """Return the answers of all queries. Those that need a value of another answer come after it."""
    now: int = yield Now()
    address = account or NOBODY
    facts = {"userAddr": address, "userAddress": address, "user": address, "builder": address, "interval": "60"}
    facts |= {"startTime": str(now - _HOUR_MS), "endTime": str(now)}
    waiting, answers = list(ENDPOINTS.values()), []
    while waiting:
        ready = next((endpoint for endpoint in waiting if not _unknown(endpoint, facts)), None)
        if ready is None:
            break
        waiting.remove(ready)
        answered, rows = yield from _ask(ready, facts)
        answers.append(answered)
        _learn(facts, ready, rows)
        yield Sleep(PAUSE_SECONDS)
    for endpoint in waiting:
        missing = ", ".join(_unknown(endpoint, facts))
        skipped = Answered(endpoint.name, "GET", endpoint.path, error=f"not asked: no {missing} is known")
        answers.append(skipped)
    return answers


def _unknown(endpoint: Endpoint, facts: Mapping[str, str]) -> list[str]:
    return [name for name, param in endpoint.params.items() if param.required and name not in facts]


def _ask(endpoint: Endpoint, facts: Mapping[str, str]) -> Flow[tuple[Answered, list[Any]]]:
    needed = [name for name, param in endpoint.params.items() if param.required or param.unless]
    query = tuple((name, facts[name]) for name in needed)
    answered = Answered(endpoint.name, "GET", endpoint.path, query, published=endpoint.published)
    yield from _fetch(answered)
    if answered.error:
        return answered, []
    answered.differences, rows = compare_answer(endpoint, answered.status, answered.body)
    answered.rows = len(rows)
    return answered, [row for row in rows if isinstance(row, Mapping)]


def _learn(facts: dict[str, str], endpoint: Endpoint, rows: Sequence[Mapping[str, Any]]) -> None:
    """Keep values of an answer that other queries need."""
    for row in rows[:1]:
        if endpoint.name == "products":
            facts |= {"symbol": str(row.get("code")), "symbol_name": str(row.get("symbol"))}
        for name in _FROM_ROWS:
            if name == "txHash" and endpoint.name != "transactions":
                continue  # not every change of a balance is a transaction's
            if row.get(name) not in (None, "", 0):
                facts.setdefault(name, str(row[name]))


def _fetch(answered: Answered, body: bytes = b"") -> Flow[None]:
    try:
        reply: Reply = yield Fetch(answered.method, answered.path, answered.query, body=body)
    except TransportError as error:
        answered.error = str(error)
        return
    answered.status = reply.status
    try:
        answered.body = jsontext.decode(reply.body)
    except (ValueError, RecursionError):
        answered.error = f"HTTP {reply.status} with {len(reply.body)} bytes that are not JSON"


def ask_for_errors(environment: Environment) -> Flow[list[Answered]]:
    """Return the answers to requests that a venue refuses. None of them can do anything; on Mainnet none is posted."""
    now: int = yield Now()
    answers = []
    for probe, body, status, code in _probes(environment, now):
        yield from _fetch(probe, body)
        if not probe.error:
            probe.differences = compare_envelope(probe.name, probe.body, probe.status, status, code)
        answers.append(probe)
        yield Sleep(PAUSE_SECONDS)
    return answers


def _probes(environment: Environment, now: int) -> Iterator[tuple[Answered, bytes, int, int | None]]:
    """Yield requests with their bodies, and the status and code that the local venue answers (None: any code but 0)."""
    exchange = "/api/v1/exchange"
    yield Answered("an unknown path", "GET", "/info/no/such/path"), b"", 404, None
    yield Answered("a missing parameter", "GET", "/info/account/wallet"), b"", 400, None
    wrong = (("symbol_name", "NOPE"), ("interval", "60"))
    yield Answered("an unknown symbol", "GET", "/info/kline/last", wrong), b"", 400, None
    yield Answered("a wrong method", "GET", exchange), b"", 405, None
    if environment.is_mainnet:
        return
    yield Answered("a body that is not JSON", "POST", exchange), b"{", 400, None
    request = _signed_by_nobody(environment, now, now + 60_000)
    action = {**request, "action": {"type": "noSuchAction"}}
    yield Answered("an unknown action", "POST", exchange), json.dumps(action).encode(), 200, 40201
    yield Answered("an unknown signer", "POST", exchange), json.dumps(request).encode(), 200, 40204
    late = _signed_by_nobody(environment, now - 7_200_000, now - 3_600_000)
    yield Answered("an expired request", "POST", exchange), json.dumps(late).encode(), 200, None


def _signed_by_nobody(environment: Environment, nonce: int, expiry: int) -> dict[str, Any]:
    """Return an order that is signed by a key made for it, which no account has approved."""
    from ...protocol import signing
    from ...wallet import Wallet

    order = {"symbolCode": 1, "ordPx": "1", "ordQty": "1", "ordType": "LIMIT", "ordSide": "BUY", "timeInForce": "GTC"}
    payload = {"type": "placeOrder", "orders": [order]}
    key = Wallet.create().key("agent")
    return signing.sign(payload, key=key, chain=environment.chain, nonce=nonce, expiry_after=expiry)
