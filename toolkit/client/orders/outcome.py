"""Asking the venue what became of a request: by the client ids of its orders, or by its nonce."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ExchangeError
from ...protocol.enums import ENUMS
from ..io.flow import Fetch, Flow, RandomFloat, Sleep
from ..io.transport import NO_RETRY, Retry, read
from .intents import Intent
from .receipts import whole

ORDERS = "/info/order/states"
EVENTS = "/info/order/events"
TRANSACTIONS = "/info/explore/transaction/page"
BUILDER_AGENTS = "/info/builder/agents"
PAGE_SIZE, PAGES = 100, 10
"""How far back transactions are looked through."""
_SIDE_NUMBERS = ENUMS["order_side"].number_of


@dataclass(frozen=True, slots=True)
class Found:
    """What the venue knows of a request. `code` 0: it was accepted as a whole; `data` is shaped like an answer's."""

    accepted: bool
    code: int
    message: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Missing:
    """The venue shows nothing of a request. `certain`: it would show it, so no copy of it has counted so far."""

    certain: bool


def ask_until_found(intent: Intent, retry: Retry) -> Flow[Found | Missing]:
    """As `ask`, again and again for a little while: what counted may show only a block later."""
    answer: Found | Missing = Missing(certain=False)
    for attempt in range(retry.attempts):
        answer = yield from ask(intent)
        if isinstance(answer, Found):
            return answer
        draw: float = yield RandomFloat()
        yield Sleep(retry.wait(attempt, 0.5 + draw / 2))
    return answer


def ask(intent: Intent) -> Flow[Found | Missing]:
    """Return what the venue knows of an intent. Raises TransportError, ExchangeError."""
    found = yield from _ask_orders(intent)
    if isinstance(found, Found):
        return found
    listed = yield from _ask_transactions(intent)
    return listed if isinstance(listed, Found) else Missing(found.certain or listed.certain)


def _ask_orders(intent: Intent) -> Flow[Found | Missing]:
    owner = (yield from _owner(intent)) if intent.client_ids else None
    if owner is None:
        return Missing(certain=False)
    results: list[dict[str, Any]] = []
    for item, cl_ord_id in zip(_orders(intent.payload), intent.client_ids, strict=True):
        results.append((yield from _ask_order(owner, item, cl_ord_id)))
    if all(result["txCode"] < 0 for result in results):
        return Missing(certain=True)
    refused = [result for result in results if result["txCode"] != 0]
    words = "; ".join(f"clOrdId {result['clOrdId']}: {result['txMsg']}" for result in refused)
    return Found(
        accepted=len(refused) < len(results),
        code=1 if refused else 0,
        message=words or "the venue knows its orders",
        data={"results": results},
    )


def _ask_order(owner: str, item: Mapping[str, Any], cl_ord_id: int) -> Flow[dict[str, Any]]:
    """Return one entry of `results`; txCode -1 where the venue does not know the order."""
    query = (("userAddr", owner), ("clientOrderId", str(cl_ord_id)))
    rows = yield from _rows(ORDERS, query)
    for row in rows:
        if _same_order(row, item):
            rejected = str(row.get("status")) == "REJECTED"
            words = "rejected" if rejected else str(row.get("status") or "")
            return _result(cl_ord_id, row, 1 if rejected else 0, words)
    for row in (yield from _rows(EVENTS, query)):
        if _same_order(row, item):
            rejected = str(row.get("execStatus")) == "REJECTED"
            words = str(row.get("reason") or row.get("execStatus") or "")
            return _result(cl_ord_id, row, 1 if rejected else 0, words)
    return _result(cl_ord_id, {}, -1, "the venue knows no such order")


def _result(cl_ord_id: int, row: Mapping[str, Any], code: int, words: str) -> dict[str, Any]:
    return {"clOrdId": cl_ord_id, "ordId": whole(row.get("ordId")), "txCode": code, "txMsg": words}


def _same_order(row: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Guard against another order with the same client id: product and side must agree."""
    side = row.get("side", _SIDE_NUMBERS.get(str(item.get("ordSide"))))
    code = row.get("symbol", item.get("symbolCode"))
    return str(code) == str(item.get("symbolCode")) and str(side) in (
        str(_SIDE_NUMBERS.get(str(item.get("ordSide")))),
        str(item.get("ordSide")),
    )


def _orders(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [payload["order"]] if "order" in payload else list(payload["orders"])


def _owner(intent: Intent) -> Flow[str | None]:
    """Return the address whose orders they are: the vault, the builder's trader, or the account itself."""
    if "builder" not in intent.payload:
        return intent.vault_address or intent.account
    query = (("builder", str(intent.payload["builder"])), ("agent", intent.signer))
    for row in (yield from _rows(BUILDER_AGENTS, query, items="agents")):
        if row.get("wallet"):
            return str(row["wallet"])
    return None


def _ask_transactions(intent: Intent) -> Flow[Found | Missing]:
    """Look for signer and nonce among the account's transactions, newest first, where the venue shows them at all."""
    owner = intent.vault_address or intent.account
    for page in range(1, PAGES + 1):
        query = (("user", owner), ("page", str(page)), ("pageSize", str(PAGE_SIZE)))
        try:
            rows = yield from _rows(TRANSACTIONS, query)
        except ExchangeError:
            return Missing(certain=False)
        for row in rows:
            same_signer = str(row.get("signer", "")).lower() == intent.signer.lower()
            if same_signer and whole(row.get("nonce")) == intent.nonce:
                return _transaction(row)
        if not rows or any(whole(row.get("nonce")) is None for row in rows):
            return Missing(certain=False)
        if len(rows) < PAGE_SIZE or any((whole(row.get("blockTime")) or 0) < intent.created for row in rows):
            return Missing(certain=True)
    return Missing(certain=False)


def _transaction(row: Mapping[str, Any]) -> Found:
    code = whole(row.get("txCode")) or 0
    message = str(row.get("txMsg") or "success")
    data = {"txHash": row.get("txHash"), "txCode": code, "txMsg": message}
    return Found(accepted=code == 0, code=code, message=message, data=data)


def _rows(path: str, query: tuple[tuple[str, str], ...], items: str = "items") -> Flow[list[Mapping[str, Any]]]:
    envelope = yield from read(Fetch("GET", path, query), NO_RETRY)
    data = envelope.data
    if isinstance(data, dict):
        data = data.get(items)
    return [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []
