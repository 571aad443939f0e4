"""Queries for the outcome of a request: by the client ids of its orders, else by signer and nonce."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ExchangeError
from ...protocol.enums import ENUMS
from ..io.flow import Flow, RandomFloat, Sleep
from ..io.transport import NO_RETRY, Retry
from ..reads.reading import fetch_rows
from .intents import Intent
from .receipts import parse_id, parse_tx_code

ORDERS = "/info/order/states"
EVENTS = "/info/order/events"
TRANSACTIONS = "/info/explore/transaction/page"
BUILDER_AGENTS = "/info/builder/agents"
PAGE_SIZE, PAGES = 100, 10
"""How far back transactions are searched."""


@dataclass(frozen=True, slots=True)
class Found:
    """A request that the venue knows. `code` 0: accepted as a whole; `data` has the shape of a response's `data`."""

    accepted: bool
    code: int
    message: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Missing:
    """A request that the venue does not show. `certain`: it would show it, so no copy has been executed so far."""

    certain: bool


def poll_outcome(intent: Intent, retry: Retry) -> Flow[Found | Missing]:
    """Query the outcome repeatedly: what was executed may become visible only a block later."""
    answer: Found | Missing = Missing(certain=False)
    for attempt in range(retry.attempts):
        answer = yield from query_outcome(intent)
        if isinstance(answer, Found):
            return answer
        random_float: float = yield RandomFloat()
        # Half jitter, not full: a wait near 0 would use up the attempts within the same block.
        yield Sleep(retry.wait(attempt, 0.5 + random_float / 2))
    return answer


def query_outcome(intent: Intent) -> Flow[Found | Missing]:
    """Return what the venue shows of an intent. Raises TransportError, ExchangeError."""
    by_orders = yield from _find_orders(intent)
    if isinstance(by_orders, Found):
        return by_orders
    by_nonce = yield from _find_transaction(intent)
    return by_nonce if isinstance(by_nonce, Found) else Missing(by_orders.certain or by_nonce.certain)


def _find_orders(intent: Intent) -> Flow[Found | Missing]:
    owner = (yield from _owner(intent)) if intent.client_ids else None
    if owner is None:
        return Missing(certain=False)
    results: list[dict[str, Any]] = []
    for item, cl_ord_id in zip(_orders(intent.payload), intent.client_ids, strict=True):
        results.append((yield from _find_order(owner, item, cl_ord_id)))
    if all(result["txCode"] < 0 for result in results):
        return Missing(certain=True)
    refused = [result for result in results if result["txCode"] != 0]
    reasons = "; ".join(f"clOrdId {result['clOrdId']}: {result['txMsg']}" for result in refused)
    return Found(
        accepted=len(refused) < len(results),
        code=1 if refused else 0,
        message=reasons or "the venue knows its orders",
        data={"results": results},
    )


def _find_order(owner: str, item: Mapping[str, Any], cl_ord_id: int) -> Flow[dict[str, Any]]:
    """Return one entry of `results`; txCode -1 where the venue does not know the order."""
    query = (("userAddr", owner), ("clientOrderId", str(cl_ord_id)))
    rows = yield from fetch_rows(ORDERS, query, NO_RETRY)
    for row in rows:
        if _same_order(row, item):
            rejected = str(row.get("status")) == "REJECTED"
            message = "rejected" if rejected else str(row.get("status") or "")
            return _result(cl_ord_id, row, 1 if rejected else 0, message)
    # A venue may keep no state of an order that it refused on arrival; the events show it.
    for row in (yield from fetch_rows(EVENTS, query, NO_RETRY)):
        if _same_order(row, item):
            rejected = str(row.get("execStatus")) == "REJECTED"
            message = str(row.get("reason") or row.get("execStatus") or "")
            return _result(cl_ord_id, row, 1 if rejected else 0, message)
    return _result(cl_ord_id, {}, -1, "the venue knows no such order")


def _result(cl_ord_id: int, row: Mapping[str, Any], code: int, message: str) -> dict[str, Any]:
    return {"clOrdId": cl_ord_id, "ordId": parse_id(row.get("ordId")), "txCode": code, "txMsg": message}


def _same_order(row: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Return whether product and side agree: the client id alone may name another order of the account."""
    same_product = "symbol" not in row or str(row["symbol"]) == str(item.get("symbolCode"))
    same_side = "side" not in row or ENUMS["order_side"].text(row["side"]) == str(item.get("ordSide"))
    return same_product and same_side


def _orders(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [payload["order"]] if "order" in payload else list(payload["orders"])


def _owner(intent: Intent) -> Flow[str | None]:
    """Return the owner of an intent's orders: the vault, the builder's trader, or the account."""
    if "builder" not in intent.payload:
        return intent.vault_address or intent.account
    query = (("builder", str(intent.payload["builder"])), ("agent", intent.signer))
    for row in (yield from fetch_rows(BUILDER_AGENTS, query, NO_RETRY, items="agents")):
        if row.get("wallet"):
            return str(row["wallet"])
    return None


def _find_transaction(intent: Intent) -> Flow[Found | Missing]:
    """Search the account's transactions, newest first, for signer and nonce.

    Pages by hand instead of with `reads.paging`: the search ends at the intent's time, a full read would fetch the
    whole history of the account.
    """
    owner = intent.vault_address or intent.account
    for page in range(1, PAGES + 1):
        query = (("user", owner), ("page", str(page)), ("pageSize", str(PAGE_SIZE)))
        try:
            rows = yield from fetch_rows(TRANSACTIONS, query, NO_RETRY)
        except ExchangeError:
            return Missing(certain=False)  # this query is not published, so a venue may not have it
        for row in rows:
            same_signer = str(row.get("signer", "")).lower() == intent.signer.lower()
            if same_signer and parse_id(row.get("nonce")) == intent.nonce:
                return _transaction(row)
        # A venue that lists nothing, or hides nonces, proves nothing by not showing this one.
        if not rows or any(parse_id(row.get("nonce")) is None for row in rows):
            return Missing(certain=False)
        if len(rows) < PAGE_SIZE or any((parse_id(row.get("blockTime")) or 0) < intent.created for row in rows):
            return Missing(certain=True)
    return Missing(certain=False)


def _transaction(row: Mapping[str, Any]) -> Found:
    code = parse_tx_code(row.get("txCode"))
    message = str(row.get("txMsg") or "success")
    data = {"txHash": row.get("txHash"), "txCode": code, "txMsg": message}
    return Found(accepted=code == 0, code=code, message=message, data=data)
