"""Queries for the outcome of a request: by the hash it was answered with, its orders' client ids, signer and nonce."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ...errors import ExchangeError, TransportError
from ...protocol.enums import ENUMS
from ..io.flow import Elapsed, Flow, RandomFloat, Settle
from ..io.transport import NO_RETRY, Retry
from ..reads.reading import fetch_rows
from .intents import Intent
from .receipts import parse_id, parse_tx_code

_DONE = ("SUCCESS", "FAILED")
ORDER_EVENTS, ACCOUNT_EVENTS = "orderHist", "userEvent"
"""Channels of the feed that show outcomes."""
_CONCLUSIVE = ("NEW", "PARTIALLY_FILLED", "FILLED", "ORDER_STATUS_UNTRIGGERED", "REJECTED")
"""Statuses of a first event. An end alone may be that of an earlier order with the same client id."""
PAGE_SIZE, PAGES = 100, 10
"""How far back transactions, and the events of one transaction, are searched."""
FIRST_WAIT, LONGEST_WAIT = 0.05, 1.0
"""Seconds between two queries for an execution: doubled each time from the first to the longest."""


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


@dataclass(frozen=True, slots=True)
class Foreign:
    """The transaction that an answer named is another request's, so the answer was too."""


def poll_execution(intent: Intent, timeout: float, is_settled: Callable[[], bool]) -> Flow[Found | Missing | Foreign]:
    """Query a submitted request until the venue shows that it was executed, for about `timeout` seconds.

    It ends as soon as `is_settled`: the feed, or another process, may know first.
    """
    began_ms: int = yield Elapsed()
    waited, wait = 0.0, FIRST_WAIT
    while True:
        answer: Found | Missing | Foreign = Missing(certain=False)
        with suppress(TransportError, ExchangeError):  # the next query may succeed; it stays SUBMITTED meanwhile
            answer = yield from query_execution(intent)
        elapsed_ms: int = yield Elapsed()
        # The sum of the waits counts as well: with a manual clock they take no time.
        left = timeout - max(waited, (elapsed_ms - began_ms) / 1000)
        if not isinstance(answer, Missing) or left <= 0:
            return answer
        pause = min(wait, left)
        while pause > 0:
            yield Settle(min(pause, FIRST_WAIT))
            pause -= FIRST_WAIT
            if is_settled():
                return Missing(certain=False)
        waited, wait = waited + wait, min(2 * wait, LONGEST_WAIT)


def query_execution(intent: Intent) -> Flow[Found | Missing | Foreign]:
    """Return what the venue shows of a request that it answered as submitted. Raises TransportError, ExchangeError."""
    row = yield from _transaction_by_hash(str((intent.data or {}).get("txHash") or ""))
    if row is not None:
        return (yield from _executed(intent, row)) if _belongs(row, intent) else Foreign()
    if not intent.client_ids:
        return (yield from _find_transaction(intent))
    return (yield from _find_orders(intent, in_part=False))


def _transaction_by_hash(tx_hash: str) -> Flow[Mapping[str, Any] | None]:
    if not tx_hash:
        return None
    try:
        rows = yield from fetch_rows("transaction", NO_RETRY, txHash=tx_hash)
    except ExchangeError:
        return None  # its form is not published, so a venue may refuse it, or not know the hash yet
    row = rows[0] if rows else {}
    if str(row.get("txHash", "")).lower() != tx_hash.lower():
        return None
    is_done = row.get("txCode") is not None or str(row.get("status")).upper() in _DONE
    return row if is_done else None


def _belongs(row: Mapping[str, Any], intent: Intent) -> bool:
    """Return whether a transaction is this request's, by what it shows of signer, nonce and action."""
    shown = {
        "signer": (str(row.get("signer") or "").lower(), intent.signer.lower()),
        "nonce": (parse_id(row.get("nonce")), intent.nonce),
        "actionType": (row.get("actionType"), intent.action),
    }
    return all(not given or given == own for given, own in shown.values())


def poll_outcome(intent: Intent, retry: Retry, timeout: float) -> Flow[Found | Missing]:
    """Query the outcome repeatedly, for `timeout` seconds at least: what was taken may be executed only later."""
    answer: Found | Missing = Missing(certain=False)
    waited, attempt, wait = 0.0, 0, FIRST_WAIT
    while attempt < retry.attempts or waited < timeout:
        answer = yield from query_outcome(intent)
        if isinstance(answer, Found):
            return answer
        random_float: float = yield RandomFloat()
        # Half jitter, not full: a wait near 0 would use up the attempts within the same block.
        wait = min(2 * wait, LONGEST_WAIT) if attempt >= retry.attempts else wait
        chosen = retry.wait(attempt, 0.5 + random_float / 2) if attempt < retry.attempts else wait
        yield Settle(chosen)
        waited, attempt = waited + chosen, attempt + 1
    return answer


def query_outcome(intent: Intent) -> Flow[Found | Missing]:
    """Return what the venue shows of an intent. Raises TransportError, ExchangeError."""
    by_orders = yield from _find_orders(intent)
    if isinstance(by_orders, Found):
        return by_orders
    by_nonce = yield from _find_transaction(intent)
    return by_nonce if isinstance(by_nonce, Found) else Missing(by_orders.certain or by_nonce.certain)


def _find_orders(intent: Intent, in_part: bool = True) -> Flow[Found | Missing]:
    """Return what the venue shows of an intent's orders. `in_part` False: some missing ones are not there yet."""
    owner = (yield from owner_of(intent)) if intent.client_ids else None
    if owner is None:
        return Missing(certain=False)
    results: list[dict[str, Any]] = []
    for item, cl_ord_id in zip(_orders(intent.payload), intent.client_ids, strict=True):
        results.append((yield from _find_order(owner, item, cl_ord_id)))
        if results[-1]["txCode"] < 0 and not in_part:
            return Missing(certain=False)
    if all(result["txCode"] < 0 for result in results):
        return Missing(certain=True)
    return _found(results)


def _found(results: list[dict[str, Any]]) -> Found:
    """Return the outcome of a request of orders, given that of each."""
    refused = [result for result in results if result["txCode"] != 0]
    reasons = "; ".join(f"clOrdId {result['clOrdId']}: {result['txMsg']}" for result in refused)
    return Found(
        accepted=len(refused) < len(results),
        code=1 if refused else 0,
        message=reasons or "the venue knows its orders",
        data={"results": results},
    )


def outcome_in_records(intent: Intent, channel: str, items: Sequence[Mapping[str, Any]]) -> Found | None:
    """Return the outcome of a submitted request that new records of a channel of the feed show, None without one.

    A placement is shown by the events of its orders, of which each must be among the records; anything else by its
    acknowledgement, where that names signer and nonce. A cancellation of all orders is left to the queries.
    """
    events, acknowledged = (list(items), []) if channel == ORDER_EVENTS else _account_events(items)
    for row in acknowledged:
        if parse_id(row.get("nonce")) == intent.nonce and row.get("signer") and _belongs(row, intent):
            code, message, data = _shown(row)
            if code or intent.action not in _ORDER_ACTIONS:
                results = _results(intent, [], code, message)
                return Found(not code, code, message, {**data, "results": results} if results else data)
    results = []
    for item, cl_ord_id in zip(_orders(intent.payload) if intent.client_ids else [], intent.client_ids, strict=True):
        own = [row for row in events if parse_id(row.get("clOrdId")) == cl_ord_id and _same_side(row, item)]
        first = next((row for row in own if str(row.get("execStatus")) in _CONCLUSIVE), None)
        if first is None:
            return None
        rejected = str(first["execStatus"]) == "REJECTED"
        message = str(first.get("reason") or first["execStatus"]) if rejected else "success"
        results.append(_result(cl_ord_id, first, int(rejected), message))
    return _found(results) if results else None


def _account_events(items: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the order events and the acknowledgements among the records of userEvent."""
    found: dict[str, list[Mapping[str, Any]]] = {"perpOrder": [], "actionAck": []}
    for item in items:
        rows = item.get("event")
        kept = found.get(str(item.get("eventType")))
        if kept is not None and isinstance(rows, list):
            kept += [row for row in rows if isinstance(row, Mapping)]
    return found["perpOrder"], found["actionAck"]


def _find_order(owner: str, item: Mapping[str, Any], cl_ord_id: int) -> Flow[dict[str, Any]]:
    """Return one entry of `results`; txCode -1 where the venue does not know the order."""
    query = {"userAddr": owner, "clientOrderId": str(cl_ord_id)}
    rows = yield from fetch_rows("order_states", NO_RETRY, **query)
    for row in rows:
        if is_same_order(row, item):
            rejected = str(row.get("status")) == "REJECTED"
            message = "rejected" if rejected else str(row.get("status") or "")
            return _result(cl_ord_id, row, 1 if rejected else 0, message)
    # A venue may keep no state of an order that it refused on arrival; the events show it.
    for row in (yield from fetch_rows("order_events", NO_RETRY, **query)):
        if is_same_order(row, item):
            rejected = str(row.get("execStatus")) == "REJECTED"
            message = str(row.get("reason") or row.get("execStatus") or "")
            return _result(cl_ord_id, row, 1 if rejected else 0, message)
    return _result(cl_ord_id, {}, -1, "the venue knows no such order")


def _result(cl_ord_id: int | None, row: Mapping[str, Any], code: int, message: str) -> dict[str, Any]:
    return {"clOrdId": cl_ord_id, "ordId": parse_id(row.get("ordId")), "txCode": code, "txMsg": message}


def is_same_order(row: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Return whether product and side agree: the client id alone may name another order of the account."""
    same_product = "symbol" not in row or str(row["symbol"]) == str(item.get("symbolCode"))
    return same_product and _same_side(row, item)


def _same_side(row: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    side = row.get("side", row.get("ordSide"))
    return side is None or ENUMS["order_side"].text(side) == str(item.get("ordSide"))


def _orders(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [payload["order"]] if "order" in payload else list(payload["orders"])


def owner_of(intent: Intent) -> Flow[str | None]:
    """Return the owner of an intent's orders: the vault, the builder's trader, or the account."""
    if "builder" not in intent.payload:
        return intent.vault_address or intent.account
    query = {"builder": str(intent.payload["builder"]), "agent": intent.signer}
    for row in (yield from fetch_rows("builder_agents", NO_RETRY, **query)):
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
        query = {"user": owner, "page": str(page), "pageSize": str(PAGE_SIZE)}
        try:
            rows = yield from fetch_rows("transactions", NO_RETRY, **query)
        except ExchangeError:
            return Missing(certain=False)  # this query is not published, so a venue may not have it
        for row in rows:
            if parse_id(row.get("nonce")) == intent.nonce and _belongs(row, intent) and row.get("signer"):
                return (yield from _executed(intent, row))
        # A venue that lists nothing, or hides nonces, proves nothing by not showing this one.
        if not rows or any(parse_id(row.get("nonce")) is None for row in rows):
            return Missing(certain=False)
        if len(rows) < PAGE_SIZE or any((parse_id(row.get("blockTime")) or 0) < intent.created for row in rows):
            return Missing(certain=True)
    return Missing(certain=False)


def _executed(intent: Intent, row: Mapping[str, Any]) -> Flow[Found]:
    """Return the outcome that a transaction shows, with the result of each order from its events."""
    code, message, data = _shown(row)
    events: list[Mapping[str, Any]] = []
    if intent.action in _ORDER_ACTIONS:
        owner = intent.vault_address or str(row.get("user") or intent.account)
        events = yield from _events_of(owner, row)
    results = _results(intent, events, code, message)
    accepted = any(not result["txCode"] for result in results) if results else code == 0
    return Found(accepted=accepted, code=code, message=message, data={**data, "results": results} if results else data)


def _shown(row: Mapping[str, Any]) -> tuple[int, str, dict[str, Any]]:
    """Return code, message and data of a response that a transaction shows."""
    code = parse_tx_code(row.get("txCode")) or int(str(row.get("status")).upper() == "FAILED")
    message = str(row.get("txMsg") or ("failed" if code else "success"))
    returned = row.get("data")  # such as a new vault's address
    shown = returned if isinstance(returned, Mapping) else {}
    return code, message, {**shown, "txHash": row.get("txHash"), "txCode": code, "txMsg": message}


_ORDER_ACTIONS = frozenset(
    {"placeOrder", "placeBracketOrder", "placeBuilderOrder", "placeBuilderBracketOrder", "replaceOrder", "cancelOrder"}
    | {"cancelAll"}
)


def _events_of(owner: str, row: Mapping[str, Any]) -> Flow[list[Mapping[str, Any]]]:
    """Return the order events of a transaction, newest first; [] where the venue shows none."""
    tx_hash, time_ms = str(row.get("txHash")).lower(), parse_id(row.get("blockTime")) or 0
    found: list[Mapping[str, Any]] = []
    for page in range(1, PAGES + 1):
        query = {"userAddr": owner, "page": str(page), "pageSize": str(PAGE_SIZE)}
        try:
            events = yield from fetch_rows("order_events", NO_RETRY, **query)
        except ExchangeError:
            break
        found += [event for event in events if str(event.get("txHash")).lower() == tx_hash]
        if len(events) < PAGE_SIZE or any((parse_id(event.get("blockTime")) or 0) < time_ms for event in events):
            break
    return found


def _results(intent: Intent, events: list[Mapping[str, Any]], code: int, message: str) -> list[dict[str, Any]]:
    """Return the result of each order or cancel of a request. Without an event it is that of the transaction."""
    if intent.action == "cancelAll":
        ended = [event for event in reversed(events) if str(event.get("execStatus")) == "CANCELED"]
        return [_result(parse_id(event.get("clOrdId")) or 0, event, 0, "success") for event in ended]
    results = []
    for item in asked_items(intent):
        named = {name: number for name in ("clOrdId", "ordId") if (number := parse_id(item.get(name))) is not None}
        own = [event for event in events if any(parse_id(event.get(name)) == named[name] for name in named)]
        refused = next((event for event in own if str(event.get("execStatus")) == "REJECTED"), None)
        if refused is not None or (code and not own):
            text = str((refused or {}).get("reason") or message)
            results.append({**named, **_result(named.get("clOrdId"), refused or named, code or 1, text)})
        else:
            results.append({**named, **_result(named.get("clOrdId"), own[0] if own else named, 0, "success")})
    return results


def asked_items(intent: Intent) -> list[Mapping[str, Any]]:
    """Return the orders or cancels of a request, in wire names."""
    payload = intent.payload
    single = [payload["order"]] if "order" in payload else [payload] if intent.action == "replaceOrder" else []
    return list(payload.get("orders") or payload.get("cancels") or single)
