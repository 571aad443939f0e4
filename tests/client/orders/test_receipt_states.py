"""What a receipt says in each state of its request and its order; without a venue."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from tests.client.orders.test_outcome import HASH, ID, LEVERAGE, VAULT, placed
from toolkit.client.orders.intents import IntentState
from toolkit.client.orders.order_calls import _update
from toolkit.client.orders.receipts import (
    ItemResult,
    Receipt,
    expects_immediate_end,
    receipt,
    words,
)
from toolkit.errors import InputError

ITEM = {"symbolCode": "3", "ordQty": "2", "timeInForce": "GTC"}
GOOD, BAD = ItemResult(5000, 7, 0, "success"), ItemResult(5001, None, 7, "no margin")


def made(state: str = "ACCEPTED", results: tuple[ItemResult, ...] = (GOOD,), items: int = 1, **more: Any) -> Receipt:
    given = {"action": "placeOrder", "code": 0, "message": "why", "intent": "i"} | more
    return Receipt(state=IntentState(state), results=results, items=(ITEM,) * items, **given)


ROW = {"status": "PARTIALLY_FILLED", "filledQty": "0.5", "leaveQty": "1.5", "cumFilledValue": "100", "cumFee": "-0.1"}


@pytest.mark.parametrize(
    ("given", "status", "remaining", "reason"),
    [
        (made(), "ACCEPTED", "0", ""),
        (made("SUBMITTED"), "SUBMITTED", "2", "why"),
        (made("UNKNOWN", (BAD,)), "UNKNOWN", "2", "no margin"),
        (made("REJECTED", (BAD,)), "REJECTED", "0", "no margin"),
        (made("FAILED", (BAD,)), "FAILED", "0", "no margin"),
        (made("ACCEPTED", (BAD,)), "REJECTED", "0", "no margin"),
        (made("REJECTED", ()), "REJECTED", "0", "why"),
        (made("ACCEPTED", ()), "ACCEPTED", "0", ""),
        (made(rows={0: ROW}), "PARTIALLY_FILLED", "1.5", ""),
        (made("SUBMITTED", rows={0: ROW | {"reason": "r"}}), "PARTIALLY_FILLED", "1.5", "r"),
        (made(rows={0: ROW | {"status": "CANCELED", "reason": "expired"}}), "CANCELED", "0", "expired"),
        (made(rows={0: ROW | {"status": "FILLED"}}), "FILLED", "0", ""),
        (made(rows={0: {"status": "NEW"}}), "NEW", "0", ""),
    ],
)
def test_a_receipt_says_what_is_known_of_its_order(given: Receipt, status: str, remaining: str, reason: str) -> None:
    assert (given.status, given.known_status) == (status, status)
    assert (given.remaining, given.reason) == (Decimal(remaining), reason)
    filled = Decimal(str(given.rows.get(0, {}).get("filledQty", 0)))
    assert given.filled == filled
    assert given.average_price == (200 if filled else None)
    assert given.fee == (Decimal("-0.1") if filled else 0)


def test_a_receipt_without_orders_has_the_state_of_its_request() -> None:
    done = made(results=(), items=0, action="setLeverage")
    assert (done.status, done.reason, done.order_id, done.cl_ord_id, done.symbol) == ("ACCEPTED", "", None, None, None)
    with pytest.raises(InputError, match="setLeverage placed no order"):
        _ = done.filled
    assert made("REJECTED", results=(), items=0).reason == "why"
    first = made(results=(GOOD, BAD), items=2)
    assert (first.order_id, first.cl_ord_id, first.symbol) == (7, 5000, 3)
    with pytest.raises(InputError, match="this receipt has 2 orders"):
        _ = first.filled
    assert made(results=(GOOD, BAD), items=2, action="placeBracketOrder").filled == 0


def test_each_order_has_a_receipt_with_its_own_row() -> None:
    both = made(results=(GOOD, BAD), items=2, rows={1: ROW})
    first, second = both.orders
    assert (first.results, first.rows, second.results, second.rows) == ((GOOD,), {}, (BAD,), {0: ROW})
    assert len(made(results=(GOOD,), items=2).orders) == 1


ENDED = {"status": "FILLED"}


@pytest.mark.parametrize(
    ("given", "final"),
    [
        (made("SUBMITTED", rows={0: ENDED}), False),
        (made("UNKNOWN"), False),
        (made(), False),
        (made(rows={0: {"status": "NEW"}}), False),
        (made(rows={0: ENDED}), True),
        (made(results=(BAD,)), True),
        (made("REJECTED", results=()), True),
        (made(results=(GOOD, BAD), items=2, rows={0: ENDED}), True),
        (made(results=(GOOD, GOOD), items=2, rows={0: ENDED}), False),
        (made(results=(GOOD, GOOD), items=2, rows={0: ENDED, 1: {"status": "CANCELED"}}), True),
        (made(results=(GOOD, GOOD), items=1, rows={0: ENDED}), True),
        (made(results=(GOOD,), items=0), True),
    ],
)
def test_a_receipt_is_final_once_nothing_of_it_can_change(given: Receipt, final: bool) -> None:
    assert given.is_final is final


def test_later_news_of_a_request_are_taken_over() -> None:
    old = made("SUBMITTED", results=(replace(GOOD, order_id=None), BAD), items=2, code=None)
    _update(old, made(results=(GOOD,), tx_hash=HASH, tx_code=0, message="done", data={"a": 1}))
    assert (old.state, old.code, old.message, old.tx_hash, old.tx_code) == ("ACCEPTED", 0, "done", HASH, 0)
    assert (old.results, old.data) == ((GOOD, BAD), {"a": 1})
    empty = made("SUBMITTED", results=())
    _update(empty, made())
    assert empty.results == (GOOD,)


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ([{"timeInForce": "IOC"}], True),
        ([{"timeInForce": "FOK"}], True),
        ([{"timeInForce": "GTC"}], False),
        ([{"timeInForce": "IOC", "triggerPx": "1"}], False),
        ([{"timeInForce": "GTC"}, {"timeInForce": "IOC"}], True),
        ([{"timeInForce": "IOC", "triggerPx": "1"}, {"timeInForce": "GTC"}], False),
    ],
)
def test_some_orders_end_at_once(given: list[Any], ends: bool) -> None:
    items = tuple(given)
    assert expects_immediate_end(replace(made(), items=items)) is ends
    assert expects_immediate_end(replace(made("SUBMITTED"), items=items)) is False


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"status": "FILLED", "filledQty": "2.0", "qty": "2", "cumFilledValue": "100"}, "filled 2 at 50"),
        ({**ROW, "qty": "2.00"}, "filled 0.5 of 2 at 200"),
        ({**ROW, "qty": "2", "reason": "why"}, "filled 0.5 of 2 at 200"),
        ({**ROW, "status": "CANCELED", "qty": "2", "reason": "why"}, "filled 0.5 of 2 at 200: why"),
        ({"status": "FILLED", "filledQty": "3", "qty": "3", "cumFilledValue": "1"}, "filled 3 at 0.33333333"),
        ({"status": "FILLED", "filledQty": "3", "qty": "3"}, "filled 3 at 0"),
        ({"status": "NEW"}, "open"),
        ({"status": "NEW", "reason": "why"}, "open"),
        ({"status": "ORDER_STATUS_UNTRIGGERED"}, "waits for its trigger"),
        ({"status": "REJECTED", "reason": "no margin"}, "rejected: no margin"),
        ({"status": "REJECTED"}, "rejected"),
        ({"status": "CANCELED"}, "not filled"),
        ({"status": "CANCELED", "timeInForce": "GTC", "reason": "by you"}, "not filled: by you"),
        ({"status": "CANCELED", "timeInForce": "IOC", "reason": "IOC: no price"}, "IOC not filled: no price"),
        ({"status": "CANCELED", "timeInForce": "FOK", "reason": ""}, "FOK not filled"),
    ],
)
def test_what_became_of_an_order_in_words(row: dict[str, Any], text: str) -> None:
    assert words(row) == text


PAIR = placed("BUY", "SELL")
RESULTS = [{"clOrdId": 5000, "ordId": "7", "txCode": 0, "txMsg": "success"}, {"clOrdId": 5001, "txCode": 7}, "?"]


@pytest.mark.parametrize(
    ("state", "shown"),
    [("PREPARED", "UNKNOWN"), ("SENT", "UNKNOWN"), ("SUBMITTED", "SUBMITTED"), ("FAILED", "FAILED")],
)
def test_an_intent_becomes_a_receipt(state: str, shown: str) -> None:
    found = receipt(replace(PAIR, state=IntentState(state), code=7, message="m", vault_address=VAULT))
    assert (found.state, found.action, found.code, found.message, found.intent) == (
        shown,
        "placeOrder",
        7,
        "m",
        PAIR.id,
    )
    assert (found.owner, found.tx_hash, found.tx_code, found.data) == (VAULT, "", None, {})
    assert found.items == tuple(PAIR.payload["orders"])
    assert found.results == tuple(ItemResult(number, None, 7, "m") for number in (ID, ID + 1))


def test_a_receipt_has_the_results_of_the_answer_or_that_of_the_request() -> None:
    data = {"txHash": "ab" * 32, "txCode": "0", "results": RESULTS}
    found = receipt(replace(PAIR, state=IntentState.ACCEPTED, code=0, data=data))
    assert (found.tx_hash, found.tx_code, found.data) == ("0x" + "ab" * 32, 0, data)
    assert found.results == (GOOD, ItemResult(5001, None, 7, ""))
    assert [one.accepted for one in found.results] == [True, False]
    whole = receipt(replace(PAIR, state=IntentState.ACCEPTED, code=0, message="m"))
    assert [one.code for one in whole.results] == [0, 0]
    assert [one.code for one in receipt(replace(PAIR, state=IntentState.REJECTED)).results] == [-1, -1]
    one = placed("BUY", state=IntentState.ACCEPTED, code=0, data={"ordId": "9"})
    assert receipt(one).order_id == 9
    assert receipt(replace(PAIR, state=IntentState.ACCEPTED, code=0, data={"ordId": "9"})).order_id is None


def test_the_items_of_a_receipt_are_the_orders_that_it_placed() -> None:
    order = {"symbolCode": 1}
    assert receipt(replace(PAIR, payload={"order": order}, client_ids=())).items == (order,)
    again = replace(PAIR, action="replaceOrder", payload={"ordId": 7}, client_ids=())
    assert receipt(again).items == ({"ordId": 7},)
    assert receipt(LEVERAGE).items == ()


def test_receipts_are_equal_whatever_was_read_of_their_orders() -> None:
    assert made() == made(items=0, owner=VAULT, rows={0: ROW})
    assert made() == made(calls=SimpleNamespace(driver=None))
    assert made() != made(message="other")
    assert made() != made(results=())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (made(), "order 7"),
        (made(rows={0: ROW | {"qty": "2"}}), "order 7 filled 0.5 of 2 at 200"),
        (made(rows={1: ROW}), "order 7"),
        (made("REJECTED", (BAD,)), "clOrdId 5001 refused: no margin"),
        (made("ACCEPTED", (BAD,)), "clOrdId 5001 refused: no margin"),
        (made("SUBMITTED", (BAD,)), "clOrdId 5001"),
        (made("UNKNOWN", (BAD,), rows={0: {"status": "NEW"}}), "clOrdId 5001 open"),
        (made(results=(GOOD, BAD), items=2, rows={1: ROW}), "order 7, clOrdId 5001 refused: no margin"),
    ],
)
def test_each_order_of_a_receipt_is_described(given: Receipt, words: str) -> None:
    assert repr(given) == f"<Receipt placeOrder {given.state}, why, {words}>"
