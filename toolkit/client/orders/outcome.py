"""Queries for the outcome of a request: by the hash it was answered with, its orders' client ids, signer and nonce.

Evidence counts by its content. A transaction proves a request if it names its signer, nonce and action, and has the
hash of the signed data, or events of its orders. Rows of orders prove it if they agree with it under client ids that no
other request can have, or name the transaction of its answer. Signer and nonce alone prove nothing: another program
with the same key may have used them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ...errors import ActionRejected, BadAnswer, ExchangeError, InvalidNonce, TransportError
from ...protocol.hexbytes import hash_text
from ...protocol.orders.items import OrderItem
from ...protocol.orders.names import BRACKET_ACTIONS, ORDER_ACTIONS, ActionType, OrderField
from ...protocol.orders.order_actions import OrderAction, named_orders
from ...protocol.reads.action_results import ActionAnswer, ItemAnswer, transaction_data
from ...protocol.reads.channels.account import ORDER_HIST, USER_EVENT, EventKind, FeedEvent, FeedOrderEvent
from ...protocol.reads.door import R, seen
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info import orders as queries
from ...protocol.reads.info.builders import BUILDER_AGENTS
from ...protocol.reads.info.explorer import TRANSACTION, TRANSACTIONS, Transaction
from ...protocol.reads.info.orders import OrderEvent, OrderState
from ..io.flow import Elapsed, Fetch, Flow, RandomFloat, Settle
from ..io.transport import NO_RETRY, Retry, read
from .intents import Intent, Proof, has_fresh_ids, has_marked_ids, has_unique_ids

CLAIM = ActionType.CLAIM.value
OrderRow = OrderState | OrderEvent | FeedOrderEvent
"""A row that shows an order."""
_DONE = ("SUCCESS", "FAILED")
ORDER_EVENTS, ACCOUNT_EVENTS = ORDER_HIST.type, USER_EVENT.type
"""Channels of the feed that show outcomes."""
_CONCLUSIVE = ("NEW", "PARTIALLY_FILLED", "FILLED", "ORDER_STATUS_UNTRIGGERED", "REJECTED")
"""Statuses of a first event. An end alone may be that of an earlier order with the same client id."""
[_ACCOUNT] = FeedOrderEvent.declared.wires("account")
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
    known = yield from query_hash(intent, ActionAnswer.read(intent.data).tx_hash)
    if not isinstance(known, Missing):
        return known
    # A claim or a setting has no orders. Its transaction is its only trace.
    if not intent.client_ids:
        return (yield from _find_transaction(intent))
    by_orders = yield from _find_orders(intent, in_part=False)
    if isinstance(by_orders, Proof) or has_unique_ids(intent):
        return by_orders
    return (yield from _find_transaction(intent))


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
    return (yield from _executed(intent, row, answered=True)) if named else Foreign()


def _transaction_by_hash(tx_hash: str) -> Flow[Transaction | None]:
    if not tx_hash:
        return None
    try:
        rows, _ = yield from _rows(TRANSACTION, tx_hash=tx_hash)
    except ExchangeError:
        return None  # its form is not published, so a venue may refuse it, or not know the hash yet
    row = rows[0] if rows else None
    named = row is not None and row.tx_hash is not None and row.tx_hash.lower() == hash_text(tx_hash).lower()
    return row if row is not None and named and _is_done(row) else None


def _rows(endpoint: Endpoint[R], **query: str) -> Flow[tuple[list[R | None], int | None]]:
    """Return the rows of an answer, None for one that can't be read, and how many there are in all if it says so.

    Raises BadAnswer.
    """
    data = (yield from read(Fetch("GET", endpoint.path, endpoint.query(**query)), NO_RETRY)).data
    if endpoint.shape == "one":
        return [seen(endpoint.row, data)] if isinstance(data, Mapping) else [], None
    listed, total = data, endpoint.total(data)
    if isinstance(data, Mapping):
        listed = data.get(endpoint.items, [] if total == 0 else None)
    if not isinstance(listed, list) or not all(isinstance(row, Mapping) for row in listed):
        raise BadAnswer(f"GET {endpoint.path}: the data is no list of rows")
    return [seen(endpoint.row, row) for row in listed], total


def _is_done(row: Transaction) -> bool:
    return row.tx_code is not None or str(row.status).upper() in _DONE


def _named(row: Transaction, intent: Intent) -> bool | None:
    """Return whether a transaction is this request's by all that it shows, None where it shows no signer or nonce."""
    if any(given and given != own for given, own in ((row.nonce, intent.nonce), (row.action, intent.action))):
        return False
    if row.signer and row.signer.lower() != intent.signer.lower():
        return False
    if row.digest and intent.digest and row.digest.lower() != intent.digest:
        return False
    return True if row.signer and row.nonce else None


def _uses_nonce(row: Transaction, intent: Intent) -> bool:
    """Return whether a transaction used the request's nonce, so that no other can be the request's."""
    return row.nonce == intent.nonce and (row.signer or "").lower() == intent.signer.lower()


def _used_by_another(intent: Intent, row: Transaction) -> Proof:
    what = f"nonce {intent.nonce} was used by another request of {intent.signer} ({row.action or 'transaction'} "
    what += f"{str(row.tx_hash)[:10]}…), so nothing of this one was executed. Another program signs with the same key"
    return Proof(False, InvalidNonce.code, what)


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
    many = len(intent.client_ids) > _ROUND  # each order is two queries, the transaction of all of them a few
    by_nonce = (yield from _find_transaction(intent)) if many else None
    if isinstance(by_nonce, Proof):
        return by_nonce
    by_orders = yield from _find_orders(intent)
    if isinstance(by_orders, Proof):
        return by_orders
    if by_nonce is None:
        by_nonce = yield from _find_transaction(intent)
    return by_nonce if isinstance(by_nonce, Proof) else Missing(by_orders.certain or by_nonce.certain)


def _find_orders(intent: Intent, in_part: bool = True) -> Flow[Proof | Missing]:
    """Return what the venue shows of an intent's orders. `in_part` False: some missing ones are not there yet."""
    owner = (yield from owner_of(intent)) if intent.client_ids else None
    if owner is None:
        return Missing(certain=False)
    asked = list(zip(_orders(intent), intent.client_ids, strict=True))
    known: dict[int, ItemAnswer] = {}
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
    results = [known.get(number) or ItemAnswer(number, None, -1, unknown) for _, number in asked]
    codes = {result.code for result in results}
    # Where none is known to stand, one that is not shown may: the transaction says so.
    return _found(results) if 0 in codes or -1 not in codes else Missing(certain=codes == {-1})


def _found(results: list[ItemAnswer]) -> Proof:
    """Return the outcome of a request of orders, given that of each."""
    refused = [result for result in results if result.code]
    reasons = "; ".join(f"{OrderField.CLIENT_ID} {result.cl_ord_id}: {result.message}" for result in refused)
    return Proof(
        accepted=len(refused) < len(results),
        code=ActionRejected.code if refused else 0,
        message=reasons or "the venue knows its orders",
        data=_with_results({}, results),
    )


def _with_results(data: dict[str, Any], results: list[ItemAnswer]) -> dict[str, Any]:
    return {**data, "results": [result.to_wire() for result in results]} if results else data


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
    answered = hash_text(ActionAnswer.read(intent.data).tx_hash).lower()
    for done in (seen(Transaction, one) for one in acknowledged):
        # The answer, if it is this request's, named the transaction.
        other = done is not None and answered and done.tx_hash and hash_text(done.tx_hash).lower() != answered
        if done is not None and _named(done, intent) and _is_done(done) and not other:
            code, message, data = _shown(done)
            # Of several orders or cancels under a code some may stand.
            if (code and len(named_orders(intent.asked)) == 1) or intent.action not in _ORDER_ACTIONS:
                return _settled(code, message, data, _results(intent, [], code, message))
    owner = intent.vault_address or intent.account
    # A message of userEvent names its account once, for all of its events.
    echo = {_ACCOUNT: owner} if channel == ACCOUNT_EVENTS else {}
    shown = [row for one in events if (row := seen(FeedOrderEvent, {**echo, **one})) is not None]
    results: list[ItemAnswer] = []
    if not has_unique_ids(intent):
        return None
    for item, cl_ord_id in zip(_orders(intent), intent.client_ids, strict=True):
        own = [row for row in shown if _echoes(row, owner, cl_ord_id) and _agrees(row, item)]
        first = next((row for row in own if row.status in _CONCLUSIVE), None)
        if first is None:
            # Until each order has its event the outcome of the request is open.
            return None
        rejected = first.status == "REJECTED"
        message = (first.reason or first.status) if rejected else "success"
        results.append(ItemAnswer(cl_ord_id, first.order_id or None, int(rejected), message))
    return _found(results) if results else None


def _account_events(items: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the order events and the acknowledgements among the records of userEvent."""
    found: dict[str, list[Mapping[str, Any]]] = {EventKind.ORDER: [], EventKind.ACKNOWLEDGEMENT: []}
    for event in (seen(FeedEvent, item) for item in items):
        kept = None if event is None else found.get(event.kind)
        if event is not None and kept is not None and isinstance(event.event, list):
            kept += [row for row in event.event if isinstance(row, Mapping)]
    return found[EventKind.ORDER], found[EventKind.ACKNOWLEDGEMENT]


def _find_order(intent: Intent, owner: str, item: OrderItem, cl_ord_id: int) -> Flow[ItemAnswer | Missing]:
    """Return one entry of `results`. A venue may keep no state of an order that it refused: the events show it."""
    query = {"account": owner, "client_order_id": str(cl_ord_id)}
    states, _ = yield from _rows(queries.ORDER_STATES, **query)
    events: list[OrderEvent | None] = []
    if (found := _shown_order(intent, owner, item, cl_ord_id, states)) is None:
        events, _ = yield from _rows(queries.ORDER_EVENTS, **query)
        found = _shown_order(intent, owner, item, cl_ord_id, events)
    # Rows of other orders: the answer is to another question, or another program uses the same client id.
    return found or Missing(certain=not states and not events)


def _shown_order(
    intent: Intent, owner: str, item: OrderItem, cl_ord_id: int, rows: Sequence[OrderState | OrderEvent | None]
) -> ItemAnswer | None:
    for row in rows:
        if row is None or not row.status or not is_same_order(row, item) or not _agrees(row, item):
            continue
        if _is_of(row, intent) and _echoes(row, owner, cl_ord_id):
            rejected = row.status == "REJECTED"
            # Only events have a reason.
            why = (row.reason or row.status) if isinstance(row, OrderEvent) else "rejected"
            return ItemAnswer(cl_ord_id, row.order_id or None, int(rejected), why if rejected else row.status)
    return None


def _is_of(row: OrderState | OrderEvent, intent: Intent) -> bool:
    """Return whether an order under a client id of the request can't be another request's."""
    if has_fresh_ids(intent):
        return True
    if has_marked_ids(intent):  # an earlier order of the same decision may have ended
        return (row.time or intent.created) > intent.created - CLOCK_MS
    # Any program of the account may use a client id that a user chose. The transaction tells them apart.
    answered = ActionAnswer.read(intent.data).tx_hash
    shown = row.tx_hash if isinstance(row, OrderEvent) else None
    return bool(answered and shown) and hash_text(answered).lower() == hash_text(shown or "").lower()


def _echoes(row: OrderRow, owner: str, cl_ord_id: int) -> bool:
    return (row.account or "").lower() == owner.lower() and row.client_order_id == cl_ord_id


def _agrees(row: OrderRow, item: OrderItem) -> bool:
    """Return whether side, quantity and limit price of a row, where it has them, are the request's."""
    limit = item.type == "LIMIT" and not item.trigger_price
    pairs = [(item.quantity, row.quantity), (item.price if limit else None, row.price)]
    return _same_side(row, item) and all(
        shown == Decimal(asked)
        for asked, shown in pairs
        # Quantity 0 is the whole position.
        if asked is not None and shown is not None and Decimal(asked)
    )


def is_same_order(row: OrderRow, item: OrderItem) -> bool:
    """Return whether product and side agree: the client id alone may name another order of the account.

    Parameters
    ----------
    row : OrderRow
        An order as the venue shows it, with the code of its product.
    item : OrderItem
        The order of the request.
    """
    return (row.symbol is None or row.symbol == str(item.product)) and _same_side(row, item)


def _same_side(row: OrderRow, item: OrderItem) -> bool:
    return row.side is None or row.side == str(item.side)


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
    for row in (yield from _rows(BUILDER_AGENTS, **query))[0]:
        if row is not None and row.wallet:
            return row.wallet
    return None


def _find_transaction(intent: Intent) -> Flow[Proof | Missing]:
    """Search the account's transactions for signer and nonce, for a vault's request those of both."""
    found = yield from _find_among(intent, intent.vault_address or intent.account)
    if isinstance(found, Proof) or not intent.vault_address:
        return found
    # A key uses a nonce once, for whichever account. Another program may have used it for the leader's own.
    other = yield from _find_among(intent, intent.account)
    return other if isinstance(other, Proof) else Missing(found.certain and other.certain)


def _find_among(intent: Intent, owner: str) -> Flow[Proof | Missing]:
    """Search the transactions of one account, newest first, for signer and nonce.

    Pages by hand instead of with `reads.paging`: the search ends at the intent's time, a full read would fetch the
    whole history of the account.
    """
    different = set[str]()
    for page in range(1, PAGES + 1):
        query = {"account": owner, "page": str(page), "page_size": str(PAGE_SIZE)}
        try:
            given, total = yield from _rows(TRANSACTIONS, **query)
        except ExchangeError:
            return Missing(certain=False)  # this query is not published, so a venue may not have it
        rows = [row for row in given if row is not None]
        for row in rows:
            if _uses_nonce(row, intent):
                if not _is_done(row):
                    return Missing(certain=False)
                return (yield from _executed(intent, row)) if _named(row, intent) else _used_by_another(intent, row)
        # A venue that lists nothing without saying that there is none, another's, or hides nonces, proves nothing.
        others = any((row.account or owner).lower() != owner.lower() for row in rows)
        hides = len(rows) < len(given) or not all(row.nonce and row.signer for row in rows)
        if others or hides or (not rows and (total != 0 or page > 1)):
            return Missing(certain=False)
        if any((row.time or 0) < intent.created for row in rows):
            return Missing(certain=True)
        different |= set(map(repr, rows))
        if _is_last(rows, len(different), total):
            return Missing(certain=total is None or total == len(different))
    return Missing(certain=False)


def _is_last(rows: Sequence[object], different: int, total: int | None) -> bool:
    """Return whether a page, after which so many different rows were read, is the last one of a list."""
    if not rows or total is not None:
        return not rows or different >= (total or 0)
    return len(rows) < PAGE_SIZE and len(rows) % _ROUND != 0


def _executed(intent: Intent, row: Transaction, answered: bool = False) -> Flow[Proof | Missing]:
    """Return the outcome that a transaction shows, with the result of each order from its events.

    Where neither the request's answer named the transaction nor it shows what was signed, its events must agree with
    the request's orders.
    """
    code, message, data = _shown(row)
    proven = answered or bool(row.digest and intent.digest)
    # The nonce was taken before the first copy arrived: a proxy has repeated it, or another program signed the same.
    if proven and not answered and intent.code == InvalidNonce.code and not _is_like_no_other(intent):
        if intent.action not in _REPEATABLE or code:
            return Missing(certain=False)
        return _settled(code, IDENTICAL, data, [])
    events: list[OrderEvent] = []
    if intent.action in _ORDER_ACTIONS:
        owner = intent.vault_address or row.account or intent.account
        events = yield from _events_of(owner, row)
        named = named_orders(intent.asked)
        own = [bool(_own(*asked, events)) for asked in named]
        if not proven and named and events and not any(own):
            return (yield from _confirmed_foreign(intent, owner, row))
        # Of several some may stand, so each must show itself. A refusal of all executes nothing, whosever it is.
        several = code and len(intent.client_ids) > 1 and intent.action not in BRACKET_ACTIONS
        if not all(own) and (several or not (proven or code)):
            return (yield from _find_orders(intent, in_part=False))
    elif intent.code == InvalidNonce.code and not proven:
        # The nonce was taken before the first copy arrived, so a proxy has repeated it, or it is another program's.
        return Missing(certain=False)
    return _settled(code, message, data, _results(intent, events, code, message))


def _confirmed_foreign(intent: Intent, owner: str, row: Transaction) -> Flow[Proof | Missing]:
    """Return that another request used the nonce, if a second answer and the orders' own queries say so as well.

    Rows that disagree may be an altered answer, or one to another question, and what is settled is never asked again.
    """
    again = yield from _events_of(owner, row)
    if not again or any(_own(*asked, again) for asked in named_orders(intent.asked)):
        return Missing(certain=False)
    if intent.client_ids:
        by_orders = yield from _find_orders(intent)
        if isinstance(by_orders, Proof) or not by_orders.certain:
            return by_orders
    return _used_by_another(intent, row)


IDENTICAL = "an identical request was executed, this one or that of another program with the same key"
"""Message of a request that `submit` makes again, because what it asks for may have changed since the other one."""
_REPEATABLE = (ActionType.CANCEL_ALL, ActionType.SET_LEVERAGE, ActionType.SET_MARGIN_MODE)
"""Actions that may be executed twice: what they ask for may have changed since the other request."""


def _is_like_no_other(intent: Intent) -> bool:
    """Return whether no other program signs identical bytes: by chance in client ids or expiry, or with one effect."""
    return has_unique_ids(intent) or intent.expiry_after is not None or intent.action == ActionType.CANCEL


def _settled(code: int, message: str, data: dict[str, Any], results: list[ItemAnswer]) -> Proof:
    """Return the outcome of a transaction and of the orders or cancels in it."""
    accepted = any(not result.code for result in results) if results else code == 0
    return Proof(accepted, ActionRejected.code if code else 0, message, _with_results(data, results))


def _shown(row: Transaction) -> tuple[int, str, dict[str, Any]]:
    """Return code, message and data of a response that a transaction shows."""
    code = row.tx_code or int(str(row.status).upper() == "FAILED")
    message = row.message or ("failed" if code else "success")
    returned = row.data if isinstance(row.data, Mapping) else {}  # such as a new vault's address
    return code, message, {**returned, **transaction_data(row.tx_hash, code, message)}


_ORDER_ACTIONS = ORDER_ACTIONS | {ActionType.CANCEL, ActionType.CANCEL_ALL}


def _events_of(owner: str, row: Transaction) -> Flow[list[OrderEvent]]:
    """Return the order events of a transaction, newest first. [] where the venue shows none."""
    tx_hash, time_ms = (row.tx_hash or "").lower(), row.time or 0
    found: list[OrderEvent] = []
    different = set[str]()
    for page in range(1, PAGES + 1):
        query = {"account": owner, "page": str(page), "page_size": str(PAGE_SIZE)}
        try:
            given, total = yield from _rows(queries.ORDER_EVENTS, **query)
        except ExchangeError:
            break
        events = [event for event in given if event is not None]
        found += [event for event in events if (event.tx_hash or "").lower() == tx_hash]
        different |= set(map(repr, given))
        if _is_last(given, len(different), total) or any((event.time or 0) < time_ms for event in events):
            break
    return found


def _results(intent: Intent, events: list[OrderEvent], code: int, message: str) -> list[ItemAnswer]:
    """Return the result of each order or cancel of a request. Without an event it is that of the transaction."""
    if intent.action == ActionType.CANCEL_ALL:
        ended = [event for event in reversed(events) if event.status == "CANCELED"]
        return [ItemAnswer(event.client_order_id or 0, event.order_id or None, 0, "success") for event in ended]
    results = []
    for cl_ord_id, order_id, item in named_orders(intent.asked):
        own = _own(cl_ord_id, order_id, item, events)
        refused = next((event for event in own if event.status == "REJECTED"), None)
        shown = refused or (own[0] if own else None)
        known_id = order_id if shown is None else shown.order_id or None
        if refused is not None or (code and not own):
            text = (refused.reason if refused is not None else "") or message
            results.append(ItemAnswer(cl_ord_id, known_id, code or 1, text))
        else:
            results.append(ItemAnswer(cl_ord_id, known_id, 0, "success"))
    return results


def _own(
    cl_ord_id: int | None, order_id: int | None, item: OrderItem | None, events: list[OrderEvent]
) -> list[OrderEvent]:
    """Return the events of an order or cancel that a request named."""
    return [
        event
        for event in events
        if (cl_ord_id and event.client_order_id == cl_ord_id) or (order_id and event.order_id == order_id)
        if item is None or _agrees(event, item)
    ]
