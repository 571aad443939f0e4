"""The calls on single orders: what they ask for, whom they believe, and when they end; driven by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.client.fake import AGENT_KEY, MASTER, META, FakeVenue, session
from tests.client.orders.test_outcome import ID, VAULT, ask, placed
from tests.client.orders.test_receipt_states import made
from tests.client.orders.test_reconciliation import bring
from tests.client.rows import whole
from toolkit import Wallet
from toolkit.client.io.flow import Elapsed, Fetch, RandomFloat, Reply, Settle
from toolkit.client.orders.delivery import Delivery
from toolkit.client.orders.intents import IntentState
from toolkit.client.orders.order_calls import OrderCalls, cancel_item
from toolkit.client.orders.receipts import ItemResult, Receipt, receipt
from toolkit.client.reads.conversion import OrderRef
from toolkit.errors import Disconnected, InputError, WaitFailed, WaitTimeout
from toolkit.orders import buy
from toolkit.protocol.orders.items import CancelItem
from toolkit.protocol.reads.info.orders import OrderEvent

META_ROUTE = {"product-meta": lambda _: META}
ROW = {"userAddr": MASTER, "symbol": "1", "side": "1", "ordId": "7", "clOrdId": str(ID), "status": "NEW", "qty": "0.01"}
ITEM = {"symbolCode": 1, "ordSide": "BUY", "ordQty": "0.01"}
AGENT = str(Wallet(agent=AGENT_KEY).agent)


@pytest.fixture
def calls() -> OrderCalls:
    return session(FakeVenue()).exchange._calls


def record(calls: OrderCalls, state: str = "SENT", sides: tuple[str, ...] = ("BUY",), **more: Any) -> Receipt:
    """Put an intent into the ledger; return its receipt as a live handle."""
    intent = placed(*sides, id="one", signer=AGENT, account=MASTER, environment="testnet", **more)
    ledger = calls._delivery.ledger
    ledger.record(intent)
    ledger.update("one", 1, state=IntentState.SENT, body=b"{}")
    bring(ledger, "one", IntentState(state), 1)
    return calls.bind(receipt(ledger.get("one")))


def by_id(*rows: dict[str, Any]) -> Any:
    """Return a route that knows orders by both ids."""
    return lambda query: [
        row for row in rows if query.get("orderId", row["ordId"]) == row["ordId"]
        and query.get("clientOrderId", row["clOrdId"]) == row["clOrdId"]
    ]  # fmt: skip


OTHER = ROW | {"ordId": str(ID), "clOrdId": "9"}


@pytest.mark.parametrize(
    ("order", "by", "found", "asked"),
    [
        (7, None, 7, ["orderId", "clientOrderId"]),
        ("7", "order_id", 7, ["orderId"]),
        (9, "cl_ord_id", ID, ["clientOrderId"]),
        (9, None, ID, ["orderId", "clientOrderId"]),
        (ID, "order_id", ID, ["orderId"]),
        (ID, "cl_ord_id", 7, ["clientOrderId"]),
        ({"order_id": ID}, None, ID, ["orderId"]),
        ({"client_order_id": ID}, None, 7, ["clientOrderId"]),
        ({"ordId": "7", "clOrdId": str(ID)}, None, 7, ["orderId"]),
        ({"ordId": "7", "clOrdId": "9"}, None, None, ["orderId"]),  # of another order with its number
        (7, "cl_ord_id", None, ["clientOrderId"]),
    ],
)
def test_an_order_is_found_by_either_id(calls: OrderCalls, order: Any, by: Any, found: Any, asked: list[str]) -> None:
    flow = calls.find(order, by, None)
    if found is None:
        with pytest.raises(InputError, match="the account has no order 7"):
            ask(flow, states=by_id(ROW, OTHER))
        return
    receipt, queries = ask(flow, states=by_id(ROW, OTHER))
    assert [set(query) for _, query in queries] == [{"userAddr", name} for name in asked]
    assert {query["userAddr"] for _, query in queries} == {MASTER}
    assert (receipt.order_id, receipt.state, receipt.owner, receipt.symbol) == (found, "ACCEPTED", None, 1)
    assert receipt.known_status == "NEW"
    assert receipt.items[0]["ordQty"] == "0.01"


def test_a_number_that_is_the_id_of_two_orders_is_not_guessed(calls: OrderCalls) -> None:
    with pytest.raises(InputError, match="is the id of one order and the client id of another"):
        ask(calls.find(ID, None, None), states=by_id(ROW, OTHER))
    again = ROW | {"ordId": "8", "status": "REJECTED", "qty": None}
    receipt, _ = ask(calls.find(ID, "cl_ord_id", VAULT), states=by_id(ROW, again))
    assert (receipt.order_id, receipt.state, receipt.owner) == (8, "REJECTED", VAULT), (
        "the last one with that client id"
    )
    assert [result.code for result in receipt.results] == [1]
    assert receipt.items[0]["ordQty"] == "0"


def test_rows_with_other_ids_are_not_believed(calls: OrderCalls) -> None:
    with pytest.raises(InputError, match="the account has no order 6"):
        ask(calls.find(6, None, None), states=lambda _: [ROW])


@pytest.mark.parametrize(("by", "found"), [(None, True), ("cl_ord_id", True), ("order_id", False)])
def test_an_order_that_is_under_way_is_found_by_its_client_id(calls: OrderCalls, by: Any, found: bool) -> None:
    record(calls, sides=("BUY", "SELL"))
    flow = calls.find(ID + 1, by, None)
    if found:
        receipt, _ = ask(flow)
        assert (receipt.cl_ord_id, receipt.state, receipt.items[0]["ordSide"]) == (ID + 1, "UNKNOWN", "SELL")
    else:
        with pytest.raises(InputError):
            ask(flow)
    with pytest.raises(InputError):
        ask(calls.find(ID + 2, by, None))


GOOD = ItemResult(ID, 7, 0, "success")
UNNAMED = replace(GOOD, order_id=None)


def standing(calls: OrderCalls, *results: ItemResult, state: str = "ACCEPTED", **more: Any) -> Receipt:
    receipt = made(state, results, intent="", **more)
    receipt.items = (ITEM,) * len(results)
    return calls.bind(receipt)


@pytest.mark.parametrize(
    ("results", "rows", "positions", "asked"),
    [
        ((GOOD,), {}, None, ["7"]),
        ((UNNAMED,), {}, None, [str(ID)]),
        ((GOOD, GOOD), {}, None, ["7", "7"]),
        ((GOOD, GOOD), {}, (0,), ["7"]),
        ((GOOD,), {0: {"status": "FILLED"}}, None, []),
        ((GOOD,), {0: {"status": "CANCELED"}}, None, []),
        ((GOOD,), {0: {"status": "PARTIALLY_FILLED"}}, None, ["7"]),
        ((replace(GOOD, code=7),), {}, None, []),
        ((GOOD,), {}, (), []),
    ],
)
def test_what_may_still_change_is_read(
    calls: OrderCalls, results: Any, rows: Any, positions: Any, asked: list[str]
) -> None:
    receipt = standing(calls, *results, rows=dict(rows))
    _, queries = ask(calls.refresh(receipt, positions), states=by_id(ROW))
    assert [query.get("orderId") or query.get("clientOrderId") for _, query in queries] == asked
    if asked:
        assert receipt.rows[0] == ROW
        assert receipt.order_id == 7, "it learns the id"


@pytest.mark.parametrize(
    ("row", "believed"),
    [
        (ROW, True),
        (ROW | {"side": "2"}, False),
        (ROW | {"symbol": "2"}, False),
        (ROW | {"ordId": "8"}, False),
    ],
)
def test_a_row_is_believed_with_the_same_id_side_and_product(calls: OrderCalls, row: Any, believed: bool) -> None:
    receipt = standing(calls, GOOD)
    ask(calls.refresh(receipt), states=lambda _: [row])
    assert (0 in receipt.rows) is believed


@pytest.mark.parametrize(
    ("status", "reason"), [("CANCELED", "why"), ("REJECTED", "why"), ("FILLED", None), ("NEW", None)]
)
def test_why_an_order_ended_is_in_its_events(calls: OrderCalls, status: str, reason: str | None) -> None:
    receipt = standing(calls, GOOD, owner=VAULT)
    events = [{"reason": None}, {"reason": "why"}, {"reason": "first"}]
    _, asked = ask(calls.refresh(receipt), states=by_id(ROW | {"status": status}), events=lambda _: events)
    assert receipt.rows[0].get("reason") == reason
    assert {query["userAddr"] for _, query in asked} == {VAULT}
    if reason:
        receipt = standing(calls, GOOD)
        ask(calls.refresh(receipt), states=by_id(ROW | {"status": status}), events=lambda _: [])
        assert receipt.rows[0]["reason"] == ""


def test_what_is_still_open_is_read_whatever_its_code(calls: OrderCalls) -> None:
    receipt = standing(calls, replace(GOOD, code=-1), state="SUBMITTED")
    _, asked = ask(calls.refresh(receipt), states=by_id(ROW))
    assert [name for name, _ in asked] == ["states"]


def test_the_orders_of_a_builder_are_the_traders(calls: OrderCalls) -> None:
    payload = {"order": ITEM | {"clOrdId": ID}, "builder": "0xb"}
    record(calls, "UNKNOWN", action="placeBuilderOrder", payload=payload)
    receipt = standing(calls, GOOD, action="placeBuilderOrder")
    receipt.intent = "one"
    agents = {"agents": [{"wallet": "0xtrader"}]}
    _, asked = ask(calls.refresh(receipt), agents=lambda _: agents, states=by_id(ROW))
    assert asked[-1][1]["userAddr"] == "0xtrader"
    _, asked = ask(calls.refresh(receipt), agents=lambda _: {"agents": []}, states=by_id(ROW))
    assert asked[-1][1]["userAddr"] == MASTER


def test_an_open_request_is_resolved_first(calls: OrderCalls) -> None:
    receipt = record(calls, "UNKNOWN")
    ask(calls.refresh(receipt), states=by_id(ROW))
    assert receipt.state == "ACCEPTED"
    receipt.intent = "dropped"
    ask(calls.refresh(receipt), states=by_id(ROW))


def wait(calls: OrderCalls, receipt: Receipt, until: Any, timeout: float, statuses: list[Any], took_ms: int = 0) -> Any:
    """Return what a wait waits between its reads, and the error that it ends with."""
    waits: list[float] = []
    given, elapsed = iter(statuses), 0
    flow = calls.wait(receipt, until, timeout)
    answer: Any = None
    try:
        while True:
            request: Any = flow.throw(answer) if isinstance(answer, Exception) else flow.send(answer)
            answer = elapsed if isinstance(request, Elapsed) else 0.5 if isinstance(request, RandomFloat) else None
            if isinstance(request, Settle):
                waits.append(round(request.seconds, 9))
            elif isinstance(request, Fetch):
                elapsed += took_ms
                status = next(given, "NEW")
                rows = [ROW | {"status": status}] if isinstance(status, str) else []
                answer = status if isinstance(status, Exception) else ask_reply(rows)
    except StopIteration:
        return waits, None
    except WaitFailed as error:
        return waits, error


def ask_reply(rows: list[Any]) -> Any:
    return Reply(200, json.dumps({"code": 0, "message": "success", "data": rows}).encode())


@pytest.mark.parametrize(
    ("until", "status", "ends"),
    [
        ("open", "NEW", True),
        ("open", "PARTIALLY_FILLED", True),
        ("open", "ORDER_STATUS_UNTRIGGERED", True),
        ("accepted", "NEW", True),
        ("accepted", "FILLED", True),
        ("accepted", "CANCELED", True),
        ("filled", "FILLED", True),
        ("filled", "NEW", False),
        ("filled", "PARTIALLY_FILLED", False),
        ("ended", "FILLED", True),
        ("ended", "CANCELED", True),
        ("ended", "REJECTED", True),
        ("ended", "NEW", False),
    ],
)
def test_a_wait_ends_at_its_status(calls: OrderCalls, until: str, status: str, ends: bool) -> None:
    receipt = standing(calls, GOOD)
    waits, error = wait(calls, receipt, until, 0.2, [status, *(["x"] if status in ("CANCELED", "REJECTED") else [])])
    assert (waits == [], error is None) == (ends, ends)
    if not ends:
        assert isinstance(error, WaitTimeout)
        assert waits == [0.05, 0.1, 0.05]
        assert str(error).startswith(f"not {until} within 0.2 s: <Receipt")


@pytest.mark.parametrize(("until", "status"), [("filled", "CANCELED"), ("filled", "REJECTED"), ("open", "FILLED")])
def test_a_wait_fails_once_nothing_can_change(calls: OrderCalls, until: str, status: str) -> None:
    receipt = standing(calls, GOOD)
    waits, error = wait(calls, receipt, until, 9.0, [status, "x"])
    assert (waits, type(error)) == ([], WaitFailed)
    assert str(error).startswith(f"not {until}: <Receipt")
    assert error.receipt is receipt


def test_a_wait_for_a_condition_asks_it_after_each_read(calls: OrderCalls) -> None:
    receipt = standing(calls, GOOD)
    states = ["NEW", Disconnected("x"), None, "FILLED"]
    seen: list[str] = []

    def full(one: Receipt) -> bool:
        seen.append(one.known_status)
        return one.known_status == "FILLED"

    waits, error = wait(calls, receipt, full, 9.0, states)
    assert (error, waits, seen) == (None, [0.05, 0.1], ["NEW", "NEW", "FILLED"])
    waits, error = wait(calls, standing(calls, GOOD), lambda _: False, 3.0, [])
    assert waits == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 0.45]
    assert str(error).startswith("the condition did not come true within 3 s")
    waits, error = wait(calls, standing(calls, GOOD), lambda _: False, 0.3, ["FILLED"])
    assert isinstance(error, WaitTimeout), "a condition may still come true after the order has ended"


def test_a_slow_venue_uses_up_the_time_of_a_wait(calls: OrderCalls) -> None:
    waits, error = wait(calls, standing(calls, GOOD), "filled", 3.0, [], took_ms=1_000)
    assert (waits, type(error)) == ([0.05, 0.1], WaitTimeout)
    lost = [Disconnected("lost")] * 99
    waits, error = wait(calls, standing(calls, GOOD), "filled", 0.0, lost)
    assert isinstance(error.__cause__, Disconnected)


def test_a_request_without_orders_is_waited_for_by_its_state(calls: OrderCalls) -> None:
    done = calls.bind(made(results=(), items=0, action="setLeverage", intent=""))
    assert wait(calls, done, "accepted", 1.0, []) == ([], None)
    with pytest.raises(InputError, match="Use accepted, open, untriggered, filled, cancelled, ") as caught:
        next(calls.wait(done, "done", 1.0))
    assert {"accepted", "untriggered", "cancelled", "ended"} < set(caught.value.nearest)


BRACKET = {"action": "placeBracketOrder"}


@pytest.mark.parametrize(
    ("given", "statuses", "cancelled"),
    [
        ({}, {}, ["7", "8"]),
        ({"state": "SUBMITTED"}, {}, ["7", "8", "9"]),
        (BRACKET, {"7": "NEW", "8": "NEW"}, ["7"]),
        (BRACKET, {"7": "FILLED", "8": "NEW"}, ["8"]),
        (BRACKET, {"7": "FILLED", "8": "FILLED"}, ["7"]),
    ],
)
def test_the_cancels_of_a_receipt_are_those_of_its_open_orders(
    calls: OrderCalls, given: dict[str, Any], statuses: dict[str, str], cancelled: list[str]
) -> None:
    results = (GOOD, replace(GOOD, order_id=8, cl_ord_id=ID + 1), ItemResult(ID + 2, 9, 7, "bad"))
    receipt = standing(calls, *results, **given)
    shown = [ROW | {"ordId": number, "clOrdId": "0", "status": status} for number, status in statuses.items()]
    found, _ = ask(calls.cancels_of(receipt), states=by_id(*shown))
    both = {"7": ID, "8": ID + 1, "9": ID + 2}
    assert [item.to_wire() for item in found] == [
        {"symbolCode": "1", "ordId": number, "clOrdId": str(both[number])} for number in cancelled
    ]


def test_an_order_without_an_id_of_the_venue_is_cancelled_by_its_client_id(calls: OrderCalls) -> None:
    found, _ = ask(calls.cancels_of(standing(calls, UNNAMED)))
    assert found == [CancelItem(1, None, ID)]


def test_nothing_is_left_to_cancel_of_what_was_refused(calls: OrderCalls) -> None:
    with pytest.raises(InputError, match="no accepted order to cancel"):
        ask(calls.cancels_of(standing(calls, replace(GOOD, code=7))))


@pytest.mark.parametrize(
    ("what", "symbol", "cl_ord_id", "cancelled"),
    [
        (7, "BTCUSDC", None, [("ordId", "7")]),
        ("7", 1, None, [("ordId", "7")]),
        ([7, 8], "BTCUSDC", None, [("ordId", "7"), ("ordId", "8")]),
        (None, "BTCUSDC", ID, [("clOrdId", str(ID))]),
        (7, "BTCUSDC", ID, [("ordId", "7"), ("clOrdId", str(ID))]),
        ({"client_order_id": ID, "symbol": "BTCUSDC"}, None, None, [("clOrdId", str(ID))]),
        (None, "BTCUSDC", {"client_order_id": ID}, [("clOrdId", str(ID))]),
        (7, None, None, [("ordId", "7")]),
        ({"client_order_id": ID}, None, None, [("clOrdId", str(ID))]),
    ],
)
def test_what_is_to_be_cancelled_is_named_in_many_forms(
    calls: OrderCalls, what: Any, symbol: Any, cl_ord_id: Any, cancelled: list[Any]
) -> None:
    found, asked = ask(calls.cancels(what, symbol, cl_ord_id, None), **META_ROUTE, states=by_id(ROW))
    assert [item.to_wire() for item in found] == [{"symbolCode": "1", name: number} for name, number in cancelled]
    named = symbol is not None or (isinstance(what, dict) and "symbol" in what)
    assert ("states" in dict(asked)) is not named, "the product is asked for where it is not known"


def test_a_receipt_among_others_is_cancelled_as_a_whole(calls: OrderCalls) -> None:
    receipt = standing(calls, GOOD, replace(GOOD, order_id=8))
    found, _ = ask(calls.cancels([receipt, 9], "BTCUSDC", None, None), **META_ROUTE)
    assert [item.order_id for item in found] == [7, 8, 9]
    with pytest.raises(InputError, match="cancel what"):
        ask(calls.cancels(None, "BTCUSDC", None, None))
    with pytest.raises(InputError, match="no order with orderId 7"):
        ask(calls.cancels(7, None, None, None), states=lambda _: [])
    with pytest.raises(InputError, match=r"is not an order\. Give a receipt"):
        ask(calls.cancels("x", "BTCUSDC", None, None))
    assert cancel_item(1, OrderRef(None, 5)) == CancelItem(1, None, 5)


NEW = buy("BTCUSDC", "0.01", "50000")


@pytest.mark.parametrize(
    ("existing", "cl_ord_id", "order", "named"),
    [
        (7, None, NEW, {"ordId": 7}),
        ({"client_order_id": ID}, None, NEW, {"clOrdId": ID}),
        (None, ID, NEW, {"clOrdId": ID}),
        (None, ID, replace(NEW, cl_ord_id=ID), {"clOrdId": ID}),
        (7, None, replace(NEW, cl_ord_id=6), {"ordId": 7, "clOrdId": 6}),
        (NEW, ID, None, {"clOrdId": ID}),
    ],
)
def test_the_order_that_is_replaced_is_named_by_one_id(
    calls: OrderCalls, monkeypatch: pytest.MonkeyPatch, existing: Any, cl_ord_id: Any, order: Any, named: dict[str, int]
) -> None:
    sent: list[Any] = []

    def submit(_: Delivery, payload: Any, *more: Any) -> Any:
        sent.append(payload)
        yield from ()
        return receipt(placed())

    monkeypatch.setattr(Delivery, "submit", submit)
    ask(calls.replace(existing, order, cl_ord_id=cl_ord_id), **META_ROUTE)
    [action] = sent
    payload = action.to_wire()
    assert {name: payload[name] for name in ("ordId", "clOrdId") if name in payload} == named
    assert payload["type"] == "replaceOrder"


@pytest.mark.parametrize(
    ("existing", "cl_ord_id", "order", "words"),
    [
        (7, ID, NEW, "replace what"),
        (None, None, NEW, "replace what"),
        (7, None, None, "can't replace an order"),
        (7, None, [NEW], "can't replace an order"),
        (None, ID, replace(NEW, cl_ord_id=6), "keeps it. Leave cl_ord_id out"),
    ],
)
def test_what_can_not_be_replaced_is_said(
    calls: OrderCalls, existing: Any, cl_ord_id: Any, order: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        ask(calls.replace(existing, order, cl_ord_id=cl_ord_id), **META_ROUTE)


def test_looking_at_a_request_sends_nothing_again(calls: OrderCalls) -> None:
    receipt = record(calls, "UNKNOWN")
    _, asked = ask(calls.refresh(receipt), states=lambda _: [], page=lambda _: [{"nonce": 6, "signer": AGENT}])
    assert receipt.state == "UNKNOWN"
    assert "exchange" not in dict(asked)


def test_an_id_that_was_learned_is_kept(calls: OrderCalls) -> None:
    receipt = record(calls, "ACCEPTED")
    assert receipt.order_id is None
    ask(calls.refresh(receipt), states=by_id(ROW | {"status": "FILLED"}))
    assert receipt.order_id == 7
    _, asked = ask(calls.refresh(receipt), states=by_id(ROW))
    assert (receipt.order_id, asked) == (7, [])


@pytest.mark.parametrize(("timeout", "within"), [(0.0, 1.0), (3.0, 3.0)])
def test_the_last_read_of_a_wait_may_take_a_second(calls: OrderCalls, timeout: float, within: float) -> None:
    flow = calls.wait(standing(calls, GOOD), "filled", timeout)
    request: Any = flow.send(None)
    while not isinstance(request, Fetch):
        request = flow.send(0)
    assert request.within == within


@pytest.mark.parametrize(("owner", "asked_for"), [(VAULT, VAULT), (None, MASTER)])
def test_the_events_of_an_order_are_listed_oldest_first(calls: OrderCalls, owner: Any, asked_for: str) -> None:
    event = lambda at, word: whole(OrderEvent.declared, id=str(at), ordId="7", execStatus=word, blockTime=at)  # noqa: E731
    expected = dict.fromkeys(OrderEvent.declared.expected, "0")
    shown = [expected | event(*one) for one in ((3000, "FILLED"), (2000, "PARTIALLY_FILLED"), (1000, "NEW"))]
    route = lambda query: {"total": 3, "items": shown if query["page"] == "1" else []}  # noqa: E731
    frame, asked = ask(calls.events(standing(calls, GOOD, owner=owner), True), events=route, **META_ROUTE)
    assert list(frame["status"]) == ["NEW", "PARTIALLY_FILLED", "FILLED"]
    queries = [query for name, query in asked if name == "events"]
    assert {(query["userAddr"], query["orderId"]) for query in queries} == {(asked_for, "7")}
