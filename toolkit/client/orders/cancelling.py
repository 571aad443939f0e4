"""`cancel_all`: cancel every order that was open when it was called, and report those that triggered or filled."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

from ...errors import ActionRejected, OutcomeUnknown
from ..io.flow import Flow, Now, RandomFloat, Sleep
from ..io.transport import NO_RETRY
from ..reads.conversion import OrderRef
from ..reads.reading import OPEN_STATUSES, fetch_rows
from .order_calls import OrderCalls, cancel_item
from .receipts import Receipt

ROUNDS = 8
"""How often the open orders are read again before the call gives up."""
BATCH = 50
"""Orders that one follow-up request cancels by id."""
MARGIN_MS = 60_000
"""Ended orders are read from this long before the call, because clocks differ."""
WAITING = "ORDER_STATUS_UNTRIGGERED"


class Cancelled(list[Receipt]):
    """The receipts of `cancel_all`, and what happened to its orders meanwhile.

    `triggered` has the ids of waiting orders that triggered before they were cancelled; `filled` has, by order id, the
    quantity (base units) that was filled during the call.
    """

    triggered: tuple[int, ...] = ()
    filled: Mapping[int, Decimal] = {}

    def __repr__(self) -> str:
        notes = [f"order {number} triggered" for number in self.triggered]
        notes += [f"{quantity} of order {number} filled" for number, quantity in self.filled.items()]
        return super().__repr__() + (f" meanwhile: {', '.join(notes)}" if notes else "")


def cancel_all(
    calls: OrderCalls, owner: str, code: int | None, conditional: bool | None, vault: str | None
) -> Flow[Cancelled]:
    """Cancel the open orders of `owner` in a product (None: in all), until none that was open is left.

    Raises OutcomeUnknown when some are still open after several rounds, and as the requests do.
    """
    began_ms: int = yield Now()
    states = yield from _open_orders(calls, owner, code)
    opening = {
        number: row
        for number, (status, row) in states.items()
        if conditional is None or conditional == (status == WAITING)
    }
    waiting = {number for number in opening if states[number][0] == WAITING}
    receipts, triggered = Cancelled(), set[int]()
    # Waiting orders first: one that triggers in between is an ordinary order when those are cancelled.
    for each in sorted({int(row["symbol"]) for row in opening.values()}) if code is None else (code,):
        for triggers in (True, False) if conditional is None else (conditional,):
            payload = {"type": "cancelAll", "symbolCode": each, "conditionalOrder": triggers}
            receipts.append((yield from calls.submit(payload, vault_address=vault)))
            if not triggers:
                accepted = {result.order_id for result in receipts[-1].results if result.accepted}
                triggered |= waiting & accepted
    for attempt in range(ROUNDS):
        states = yield from _open_orders(calls, owner, code)
        left = [number for number in opening if number in states]
        triggered |= {number for number in left if number in waiting and states[number][0] != WAITING}
        if not left:
            break
        if attempt == 0 or attempt == ROUNDS // 2:
            # By id: a new order of the same product must stay.
            cancels = [cancel_item(int(opening[number]["symbol"]), OrderRef(number)) for number in left]
            for at in range(0, len(cancels), BATCH):
                with suppress(ActionRejected):  # some have ended meanwhile; the next read shows whether all have
                    payload = {"type": "cancelOrder", "cancels": cancels[at : at + BATCH]}
                    receipts.append((yield from calls.submit(payload, vault_address=vault)))
        random_float: float = yield RandomFloat()
        yield Sleep(calls._delivery.retry.wait(attempt, 0.5 + random_float / 2))
    else:
        raise OutcomeUnknown(f"cancel_all: {len(left)} orders are still open: {', '.join(map(str, left[:20]))}")
    ended = yield from _ended(calls, owner, opening, began_ms)
    filled = {number: _filled(ended.get(number, row)) - _filled(row) for number, row in opening.items()}
    receipts.filled = {number: quantity for number, quantity in filled.items() if quantity > 0}
    receipts.triggered = tuple(sorted(triggered | (waiting & receipts.filled.keys())))
    return receipts


def _open_orders(calls: OrderCalls, owner: str, code: int | None) -> Flow[dict[int, tuple[str, Mapping[str, Any]]]]:
    """Return status and row of every open order, by its id."""
    found: dict[int, tuple[str, Mapping[str, Any]]] = {}
    for status in OPEN_STATUSES:
        given = {"account": owner, "status": status, "symbol": code}
        read = yield from calls._reader.all_rows("order_states", given)
        found |= {int(row["ordId"]): (status, row) for row in read.rows.values()}
    return found


def _ended(
    calls: OrderCalls, owner: str, opening: Mapping[int, Mapping[str, Any]], began_ms: int
) -> Flow[dict[int, Mapping[str, Any]]]:
    """Return the present row of each order, in one windowed read; what that does not show is asked for by id."""
    if not opening:
        return {}
    read = yield from calls._reader.all_rows("order_states", {"account": owner}, began_ms - MARGIN_MS)
    rows = {int(row["ordId"]): row for row in read.rows.values()}
    for number in [number for number in opening if number not in rows]:
        found = yield from fetch_rows("order_states", NO_RETRY, userAddr=owner, orderId=str(number))
        rows |= {int(row["ordId"]): row for row in found}
    return rows


def _filled(row: Mapping[str, Any]) -> Decimal:
    return Decimal(str(row.get("filledQty") or "0"))
