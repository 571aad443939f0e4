"""Queries for the outcome of a request: by the hash it was answered with, its orders' client ids, signer and nonce.

They return a `Proof` only where a transaction names the request's signer and nonce, or rows of orders echo owner and
client id. An answer without these counts only where it is certainly the answer to this query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ...errors import ActionRejected, BadAnswer, ExchangeError, TransportError
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import is_address
from ...protocol.orders.items import OrderItem
from ...protocol.orders.names import ORDER_ACTIONS, ActionType
from ...protocol.orders.order_actions import OrderAction, named_orders
from ...protocol.reads.info_queries import ENDPOINTS
from ..io.flow import Elapsed, Fetch, Flow, RandomFloat, Settle
from ..io.transport import NO_RETRY, Retry, read
from .intents import Intent, Proof, has_fresh_ids
from .receipts import parse_id, parse_tx_code

CLAIM = ActionType.CLAIM.value
_CREDITED = ("address", "account", "user", "userAddr")
"""Members of a claim's answer that may name the address that it credits. The local venue names it as the first."""
_DONE = ("SUCCESS", "FAILED")
ORDER_EVENTS, ACCOUNT_EVENTS = "orderHist", "userEvent"
"""Channels of the feed that show outcomes."""
_CONCLUSIVE = ("NEW", "PARTIALLY_FILLED", "FILLED", "ORDER_STATUS_UNTRIGGERED", "REJECTED")
"""Statuses of a first event. An end alone may be that of an earlier order with the same client id."""
_ROUND = 10
"""A page that was cut off has a multiple of this many rows."""
PAGE_SIZE, PAGES = 100, 10
"""How far back transactions, and the events of one transaction, are searched."""
CLOCK_MS = 1_000
"""How far the venue's time is known: where it comes from a Date header, to the second."""
FIRST_WAIT, LONGEST_WAIT = 0.05, 1.0
"""Seconds between two queries for an execution: doubled each time from the first to the longest."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A request that the venue does not show.

    Parameters
    ----------
    certain : bool
        Whether it would show it, so that no copy has been executed so far.
    """

    certain: bool


@dataclass(frozen=True, slots=True)
class Foreign:
    """The transaction that an answer named is another request's, so the answer was too."""


def poll_execution(intent: Intent, timeout: float, is_settled: Callable[[], bool]) -> Flow[Proof | Missing | Foreign]:
    """Query a submitted request until the venue shows that it was executed.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    timeout : float
        About how long to query, in seconds.
    is_settled : callable
        Function that ends it early: the feed, or another process, may know first.
    """
    began_ms: int = yield Elapsed()
    waited, wait = 0.0, FIRST_WAIT
    while True:
        answer: Proof | Missing | Foreign = Missing(certain=False)
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


def query_execution(intent: Intent) -> Flow[Proof | Missing | Foreign]:
    """Return what the venue shows of a request that it answered as submitted.

    Parameters
    ----------
    intent : Intent
        Intent of the request.

    Raises
    ------
    TransportError
        Without a usable answer.
    ExchangeError
        When the venue refuses.
    """
    known = yield from query_hash(intent, str((intent.data or {}).get("txHash") or ""))
    if not isinstance(known, Missing):
        return known
    # A claim or a setting has no orders. Its transaction is its only trace.
    if not intent.client_ids:
        return (yield from _find_transaction(intent))
    return (yield from _find_orders(intent, in_part=False))


def query_hash(intent: Intent, tx_hash: str) -> Flow[Proof | Missing | Foreign]:
    """Return what the transaction shows that an answer named.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    tx_hash : str
        Hash of the transaction.

    Raises
    ------
    TransportError
        Without a usable answer.
    """
    row = yield from _transaction_by_hash(tx_hash)
    if row is None or (named := _named(row, intent)) is None:
        return Missing(certain=False)
    return (yield from _executed(intent, row)) if named else Foreign()


def _transaction_by_hash(tx_hash: str) -> Flow[Mapping[str, Any] | None]:
    if not tx_hash:
        return None
    try:
        rows, _ = yield from _rows("transaction", txHash=tx_hash)
    except ExchangeError:
        return None  # its form is not published, so a venue may refuse it, or not know the hash yet
    row = rows[0] if rows else {}
    return row if str(row.get("txHash", "")).lower() == tx_hash.lower() and _is_done(row) else None


def credited_address(data: Mapping[str, Any]) -> str:
    """Return the address that the answer to a claim credits, "" if it names none.

    Parameters
    ----------
    data : mapping
        `data` of the answer.
    """
    return next((str(data[name]) for name in _CREDITED if is_address(data.get(name))), "")


def _rows(name: str, **query: str) -> Flow[tuple[list[Mapping[str, Any]], int | None]]:
    """Return the rows of an answer, and how many there are of them in all where it says so. Raises BadAnswer."""
    endpoint = ENDPOINTS[name]
    data = (yield from read(Fetch("GET", endpoint.path, tuple(query.items())), NO_RETRY)).data
    if endpoint.shape == "one":
        return [data] if isinstance(data, Mapping) else [], None
    listed, total = data, endpoint.total(data)
    if isinstance(data, Mapping):
        listed = data.get(endpoint.items, [] if total == 0 else None)
    if not isinstance(listed, list) or not all(isinstance(row, Mapping) for row in listed):
        raise BadAnswer(f"GET {endpoint.path}: the data is no list of rows")
    return listed, total


def _is_done(row: Mapping[str, Any]) -> bool:
    return row.get("txCode") is not None or str(row.get("status")).upper() in _DONE


def _named(row: Mapping[str, Any], intent: Intent) -> bool | None:
    """Return whether a transaction names this request's signer and nonce, None where it does not say."""
    shown = {
        "signer": (str(row.get("signer") or "").lower(), intent.signer.lower()),
        "nonce": (parse_id(row.get("nonce")), intent.nonce),
        "actionType": (row.get("actionType"), intent.action),
    }
    if any(given and given != own for given, own in shown.values()):
        return False
    return True if shown["signer"][0] and shown["nonce"][0] else None


REFUSAL_ROUNDS = (0.0, 0.1, 0.3, 0.6)
"""Pauses before the queries for a request refused without a transaction, as parts of the time for them."""
REFUSAL_SECONDS = 2.0
"""The most time for them. It is two blocks of a second: the refusal may be another request's, and this one executed."""


def poll_refusal(intent: Intent, timeout: float) -> Flow[Proof | Missing]:
    """Query the outcome of a request with a refusal that names no transaction.

    The refusal may be another request's, and this one be executed later.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    timeout : float
        Longest time to query, in seconds. It is at most REFUSAL_SECONDS.
    """
    certain = True
    # More pauses than one, because a block takes a second and answers lag behind it.
    for part in REFUSAL_ROUNDS if timeout else REFUSAL_ROUNDS[:1]:
        if part:
            yield Settle(part * min(timeout, REFUSAL_SECONDS))
        answer: Proof | Missing = yield from query_outcome(intent)
        if isinstance(answer, Proof):
            return answer
        certain = certain and answer.certain
    return Missing(certain)


def poll_outcome(intent: Intent, retry: Retry, timeout: float) -> Flow[Proof | Missing]:
    """Query the outcome repeatedly: what was taken may be executed only later.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    retry : Retry
        How often and when a query is repeated.
    timeout : float
        Least time to query, in seconds.
    """
    certain = True
    waited, attempt, wait = 0.0, 0, FIRST_WAIT
    while attempt < retry.attempts or waited < timeout:
        answer: Proof | Missing = yield from query_outcome(intent)
        if isinstance(answer, Proof):
            return answer
        certain = certain and answer.certain
        random_float: float = yield RandomFloat()
        # Half jitter, not full: a wait near 0 would use up the attempts within the same block.
        wait = min(2 * wait, LONGEST_WAIT) if attempt >= retry.attempts else wait
        chosen = retry.wait(attempt, 0.5 + random_float / 2) if attempt < retry.attempts else wait
        yield Settle(chosen)
        waited, attempt = waited + chosen, attempt + 1
    return Missing(certain)


def query_outcome(intent: Intent) -> Flow[Proof | Missing]:
    """Return what the venue shows of an intent.

    Parameters
    ----------
    intent : Intent
        Intent of the request.

    Raises
    ------
    TransportError
        Without a usable answer.
    ExchangeError
        When the venue refuses.
    """
    by_orders = yield from _find_orders(intent)
    if isinstance(by_orders, Proof):
        return by_orders
    by_nonce = yield from _find_transaction(intent)
    return by_nonce if isinstance(by_nonce, Proof) else Missing(by_orders.certain or by_nonce.certain)


def _find_orders(intent: Intent, in_part: bool = True) -> Flow[Proof | Missing]:
    """Return what the venue shows of an intent's orders. `in_part` False: some missing ones are not there yet."""
    owner = (yield from owner_of(intent)) if intent.client_ids else None
    if owner is None:
        return Missing(certain=False)
    asked = list(zip(_orders(intent), intent.client_ids, strict=True))
    known: dict[int, dict[str, Any]] = {}
    # Once one of them shows that the request was executed, those that were asked for before are asked for again.
    for _ in range(2):
        for item, cl_ord_id in asked:
            found = known.get(cl_ord_id) or (yield from _find_order(intent, owner, item, cl_ord_id))
            if not isinstance(found, Missing):
                known[cl_ord_id] = found
            elif not in_part or not found.certain:
                return Missing(certain=False)
        if not known or len(known) == len(asked):
            break
    unknown = "the venue knows no such order"
    results = [known.get(number) or _result(number, {}, -1, unknown) for _, number in asked]
    codes = {result["txCode"] for result in results}
    # Where none is known to stand, one that is not shown may: the transaction says so.
    return _found(results) if 0 in codes or -1 not in codes else Missing(certain=codes == {-1})


def _found(results: list[dict[str, Any]]) -> Proof:
    """Return the outcome of a request of orders, given that of each."""
    refused = [result for result in results if result["txCode"] != 0]
    reasons = "; ".join(f"clOrdId {result['clOrdId']}: {result['txMsg']}" for result in refused)
    return Proof(
        accepted=len(refused) < len(results),
        code=ActionRejected.code if refused else 0,
        message=reasons or "the venue knows its orders",
        data={"results": results},
    )


def outcome_in_records(intent: Intent, channel: str, items: Sequence[Mapping[str, Any]]) -> Proof | None:
    """Return the outcome of a submitted request that new records of a channel of the feed show, None without one.

    A placement is shown by the events of its orders, of which each must be among the records. Anything else by its
    acknowledgement, where that names signer and nonce. A cancellation of all orders is left to the queries.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    channel : str
        Name of the channel.
    items : sequence of mapping
        New records, in wire names.
    """
    events, acknowledged = (list(items), []) if channel == ORDER_EVENTS else _account_events(items)
    for row in acknowledged:
        if _named(row, intent) and _is_done(row):
            code, message, data = _shown(row)
            # Of several orders or cancels under a code some may stand.
            if (code and len(named_orders(intent.asked)) == 1) or intent.action not in _ORDER_ACTIONS:
                return _settled(code, message, data, _results(intent, [], code, message))
    results = []
    for item, cl_ord_id in zip(_orders(intent) if intent.client_ids else (), intent.client_ids, strict=True):
        owner = intent.vault_address or intent.account
        # A message of userEvent names its account once, for all of its events.
        echo = {"userAddr": owner} if channel == ACCOUNT_EVENTS else {}
        own = [row for row in events if _echoes({**echo, **row}, owner, cl_ord_id) and _agrees(row, item)]
        first = next((row for row in own if str(row.get("execStatus")) in _CONCLUSIVE), None)
        if first is None:
            # Until each order has its event the outcome of the request is open.
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


def _find_order(intent: Intent, owner: str, item: OrderItem, cl_ord_id: int) -> Flow[dict[str, Any] | Missing]:
    """Return one entry of `results`. A venue may keep no state of an order that it refused: the events show it."""
    query = {"userAddr": owner, "clientOrderId": str(cl_ord_id)}
    certain = True
    for name, status in (("order_states", "status"), ("order_events", "execStatus")):
        rows, _ = yield from _rows(name, **query)
        for row in rows:
            shown, same = str(row.get(status) or ""), is_same_order(row, item) and _agrees(row, item)
            if not shown or not same or not _echoes(row, owner, cl_ord_id):
                continue
            # Under a client id of the user's own an earlier order may have ended.
            if has_fresh_ids(intent) or (parse_id(row.get("blockTime")) or intent.created) > intent.created - CLOCK_MS:
                reason = str(row.get("reason") or ("rejected" if name == "order_states" else shown))
                rejected = shown == "REJECTED"
                return _result(cl_ord_id, row, int(rejected), reason if rejected else shown)
        certain = certain and not rows  # rows of other orders: the answer is to another question
    return Missing(certain)


def _result(cl_ord_id: int | None, row: Mapping[str, Any], code: int, message: str) -> dict[str, Any]:
    return {"clOrdId": cl_ord_id, "ordId": parse_id(row.get("ordId")), "txCode": code, "txMsg": message}


def _echoes(row: Mapping[str, Any], owner: str, cl_ord_id: int) -> bool:
    return str(row.get("userAddr")).lower() == owner.lower() and parse_id(row.get("clOrdId")) == cl_ord_id


def _agrees(row: Mapping[str, Any], item: OrderItem) -> bool:
    """Return whether side, quantity and limit price of a row, where it has them, are the request's."""
    if not _same_side(row, item):
        return False
    limit = item.type == "LIMIT" and not item.trigger_price
    pairs = [(item.quantity, ("qty", "ordQty")), (item.price if limit else None, ("price", "ordPx"))]
    try:
        return all(
            Decimal(str(row[name])) == Decimal(str(asked))
            for asked, names in pairs
            for name in names
            # Quantity 0 is the whole position.
            if asked is not None and Decimal(str(asked)) and row.get(name) is not None
        )
    except InvalidOperation:
        return False


def is_same_order(row: Mapping[str, Any], item: OrderItem) -> bool:
    """Return whether product and side agree: the client id alone may name another order of the account.

    Parameters
    ----------
    row : mapping
        An order as the venue shows it, in wire names.
    item : OrderItem
        The order of the request.
    """
    same_product = "symbol" not in row or parse_id(row["symbol"]) == parse_id(item.product)
    return same_product and _same_side(row, item)


def _same_side(row: Mapping[str, Any], item: OrderItem) -> bool:
    side = row.get("side", row.get("ordSide"))
    return side is None or ENUMS["order_side"].text(side) == str(item.side)


def _orders(intent: Intent) -> tuple[OrderItem, ...]:
    asked = intent.asked
    return asked.orders if isinstance(asked, OrderAction) else ()


def owner_of(intent: Intent) -> Flow[str | None]:
    """Return the owner of an intent's orders: the vault, the builder's trader, or the account.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    """
    if intent.vault_address or intent.builder is None:
        return intent.vault_address or intent.account
    query = {"builder": intent.builder, "agent": intent.signer}
    for row in (yield from _rows("builder_agents", **query))[0]:
        if row.get("wallet"):
            return str(row["wallet"])
    return None


def _find_transaction(intent: Intent) -> Flow[Proof | Missing]:
    """Search the account's transactions, newest first, for signer and nonce.

    Pages by hand instead of with `reads.paging`: the search ends at the intent's time, a full read would fetch the
    whole history of the account.
    """
    owner, seen = intent.vault_address or intent.account, set[str]()
    for page in range(1, PAGES + 1):
        query = {"user": owner, "page": str(page), "pageSize": str(PAGE_SIZE)}
        try:
            rows, total = yield from _rows("transactions", **query)
        except ExchangeError:
            return Missing(certain=False)  # this query is not published, so a venue may not have it
        for row in rows:
            if _named(row, intent):
                return (yield from _executed(intent, row)) if _is_done(row) else Missing(certain=False)
        # A venue that lists nothing without saying that there is none, another's, or hides nonces, proves nothing.
        others = any(str(row.get("user") or owner).lower() != owner.lower() for row in rows)
        hides = any(parse_id(row.get("nonce")) is None or not row.get("signer") for row in rows)
        if others or hides or (not rows and (total != 0 or page > 1)):
            return Missing(certain=False)
        if any((parse_id(row.get("blockTime")) or 0) < intent.created for row in rows):
            return Missing(certain=True)
        seen |= set(map(repr, rows))
        if _is_last(rows, len(seen), total):
            return Missing(certain=total is None or total == len(seen))
    return Missing(certain=False)


def _is_last(rows: Sequence[Mapping[str, Any]], seen: int, total: int | None) -> bool:
    """Return whether a page, after which `seen` different rows were read, is the last one of a list."""
    if not rows or total is not None:
        return not rows or seen >= (total or 0)
    return len(rows) < PAGE_SIZE and len(rows) % _ROUND != 0


def _executed(intent: Intent, row: Mapping[str, Any]) -> Flow[Proof | Missing]:
    """Return the outcome that a transaction shows, with the result of each order from its events."""
    code, message, data = _shown(row)
    events: list[Mapping[str, Any]] = []
    if intent.action in _ORDER_ACTIONS:
        owner = intent.vault_address or str(row.get("user") or intent.account)
        events = yield from _events_of(owner, row)
        if code and len(intent.client_ids) > 1 and "Bracket" not in intent.action:
            # Some of the orders may stand, so each must show itself.
            if not all(_own(*asked, events) for asked in named_orders(intent.asked)):
                return (yield from _find_orders(intent, in_part=False))
    return _settled(code, message, data, _results(intent, events, code, message))


def _settled(code: int, message: str, data: dict[str, Any], results: list[dict[str, Any]]) -> Proof:
    """Return the outcome of a transaction and of the orders or cancels in it."""
    accepted = any(not result["txCode"] for result in results) if results else code == 0
    data = {**data, "results": results} if results else data
    return Proof(accepted, ActionRejected.code if code else 0, message, data)


def _shown(row: Mapping[str, Any]) -> tuple[int, str, dict[str, Any]]:
    """Return code, message and data of a response that a transaction shows."""
    code = parse_tx_code(row.get("txCode")) or int(str(row.get("status")).upper() == "FAILED")
    message = str(row.get("txMsg") or ("failed" if code else "success"))
    returned = row.get("data")  # such as a new vault's address
    shown = returned if isinstance(returned, Mapping) else {}
    return code, message, {**shown, "txHash": row.get("txHash"), "txCode": code, "txMsg": message}


_ORDER_ACTIONS = ORDER_ACTIONS | {ActionType.CANCEL, ActionType.CANCEL_ALL}


def _events_of(owner: str, row: Mapping[str, Any]) -> Flow[list[Mapping[str, Any]]]:
    """Return the order events of a transaction, newest first. [] where the venue shows none."""
    tx_hash, time_ms = str(row.get("txHash")).lower(), parse_id(row.get("blockTime")) or 0
    found: list[Mapping[str, Any]] = []
    seen = set[str]()
    for page in range(1, PAGES + 1):
        query = {"userAddr": owner, "page": str(page), "pageSize": str(PAGE_SIZE)}
        try:
            events, total = yield from _rows("order_events", **query)
        except ExchangeError:
            break
        found += [event for event in events if str(event.get("txHash")).lower() == tx_hash]
        seen |= set(map(repr, events))
        if _is_last(events, len(seen), total) or any((parse_id(one.get("blockTime")) or 0) < time_ms for one in events):
            break
    return found


def _results(intent: Intent, events: list[Mapping[str, Any]], code: int, message: str) -> list[dict[str, Any]]:
    """Return the result of each order or cancel of a request. Without an event it is that of the transaction."""
    if intent.action == ActionType.CANCEL_ALL:
        ended = [event for event in reversed(events) if str(event.get("execStatus")) == "CANCELED"]
        return [_result(parse_id(event.get("clOrdId")) or 0, event, 0, "success") for event in ended]
    results = []
    for named, item in named_orders(intent.asked):
        own = _own(named, item, events)
        refused = next((event for event in own if str(event.get("execStatus")) == "REJECTED"), None)
        if refused is not None or (code and not own):
            text = str((refused or {}).get("reason") or message)
            results.append({**named, **_result(named.get("clOrdId"), refused or named, code or 1, text)})
        else:
            results.append({**named, **_result(named.get("clOrdId"), own[0] if own else named, 0, "success")})
    return results


def _own(named: Mapping[str, int], item: OrderItem | None, events: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the events of an order or cancel that a request named."""
    own = [event for event in events if any(parse_id(event.get(name)) == named[name] for name in named)]
    return [event for event in own if item is None or _agrees(event, item)]
