"""What the venue shows of a request, and what follows from it; driven by hand, row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

import toolkit
from tests.client.fake import AGENT_KEY
from tests.client.orders.test_ledgers import INTENT
from toolkit.client.io.flow import Fetch, Flow, Reply
from toolkit.client.orders import outcome
from toolkit.client.orders.intents import Proof, first_client_id
from toolkit.client.orders.outcome import Foreign, Missing
from toolkit.environments import TESTNET
from toolkit.errors import BadAnswer, Disconnected
from toolkit.protocol import envelope, signing

Query = Mapping[str, str]
Route = Callable[[Query], Any]
TIME = 2_000
ID = first_client_id(INTENT.signer, INTENT.nonce, 0.5)
HASH = "0xAb"
VAULT = "0x" + "77" * 20


def placed(*sides: str, **more: Any) -> Any:
    """Return an intent of orders of product 1, with client ids from ID on."""
    ids = tuple(range(ID, ID + len(sides)))
    items = [{"symbolCode": 1, "ordSide": side, "clOrdId": at} for at, side in zip(ids, sides, strict=True)]
    changed = {"client_ids": ids, "payload": {"orders": items}, "created": TIME, "action": "placeOrder"} | more
    return replace(INTENT, **changed)


BUY = placed("BUY")
LEVERAGE = placed(action="setLeverage", payload={"leverage": "5"}, client_ids=())


def ask(flow: Flow[Any], now_ms: int = 0, **routes: Route) -> tuple[Any, list[tuple[str, Query]]]:
    """Run a flow; routes answer by the last word of the path: rows, or an error. Return its result, what was asked."""
    asked: list[tuple[str, Query]] = []
    answer: Any = None
    while True:
        try:
            request = flow.throw(answer) if isinstance(answer, Exception) else flow.send(answer)
        except StopIteration as done:
            return done.value, asked
        if not isinstance(request, Fetch):
            answer = now_ms
            continue
        name, query = request.path.rpartition("/")[2], dict(request.query)
        asked.append((name, query))
        rows = routes[name](query) if name in routes else []
        if isinstance(rows, Exception):
            answer = rows
            continue
        body = rows if isinstance(rows, dict) and "code" in rows else {"code": 0, "message": "success", "data": rows}
        answer = Reply(200, json.dumps(body).encode())


def refuse(_: Query) -> dict[str, Any]:
    return {"code": 40003, "message": "no such query"}


def only(cl_ord_id: int, *rows: Mapping[str, Any]) -> Route:
    """Return a route that knows one order; its rows echo owner and client id, unless they have others."""

    def route(query: Query) -> list[Any]:
        echo = {"userAddr": query["userAddr"].upper().replace("0X", "0x"), "clOrdId": str(cl_ord_id)}
        return [echo | row for row in rows] if query["clientOrderId"] == str(cl_ord_id) else []

    return route


def result(number: int, order_id: int | None, code: int, message: str) -> dict[str, Any]:
    return {"clOrdId": number, "ordId": order_id, "txCode": code, "txMsg": message}


SHOWN = {"symbol": "1", "side": "1", "ordId": "7", "status": "NEW"}


@pytest.mark.parametrize(
    ("state", "event", "expected"),
    [
        (SHOWN, None, result(ID, 7, 0, "NEW")),
        (SHOWN | {"status": "REJECTED"}, None, result(ID, 7, 1, "rejected")),
        ({"ordId": 7, "status": "NEW"}, None, result(ID, 7, 0, "NEW")),
        ({"ordId": 7, "ordSide": "BUY", "status": "NEW"}, None, result(ID, 7, 0, "NEW")),
        ({"ordId": 7}, None, "another answer"),  # without a status, such as a row of another query
        (None, SHOWN | {"execStatus": "FILLED"}, result(ID, 7, 0, "FILLED")),
        (None, SHOWN | {"execStatus": "REJECTED", "reason": "no margin"}, result(ID, 7, 1, "no margin")),
        (None, {"ordId": 7}, "another answer"),
        (SHOWN | {"side": "2"}, SHOWN | {"execStatus": "CANCELED"}, result(ID, 7, 0, "CANCELED")),
        (SHOWN | {"symbol": "2"}, SHOWN | {"execStatus": "CANCELED"}, result(ID, 7, 0, "CANCELED")),
        (SHOWN | {"symbol": "2"}, SHOWN | {"symbol": "2"}, "another answer"),
        (SHOWN | {"side": "2"}, SHOWN | {"ordSide": "SELL", "side": "2"}, "another answer"),
        (SHOWN | {"userAddr": "0xother"}, None, "another answer"),
        (SHOWN | {"userAddr": None}, None, "another answer"),
        (SHOWN | {"clOrdId": str(ID + 1)}, None, "another answer"),
        (SHOWN | {"clOrdId": None}, None, "another answer"),
        (SHOWN | {"qty": "0.2"}, None, "another answer"),
        (SHOWN | {"qty": "?"}, None, "another answer"),
        (SHOWN | {"price": "60000.1"}, None, "another answer"),
        (SHOWN | {"qty": "0.10", "price": "60000"}, None, result(ID, 7, 0, "NEW")),
        (None, SHOWN | {"execStatus": "NEW", "ordQty": "0.2"}, "another answer"),
        (None, SHOWN | {"execStatus": "NEW", "ordPx": "1"}, "another answer"),
        (None, {"a": 1}, "another answer"),
        (None, None, None),
    ],
)
@pytest.mark.parametrize("query", [outcome.query_outcome, outcome.query_execution])
def test_an_order_is_known_by_its_state_or_else_its_events(
    query: Any, state: Any, event: Any, expected: dict[str, Any] | str | None
) -> None:
    routes = {"states": only(ID, *([state] if state else ())), "events": only(ID, *([event] if event else ()))}
    limit = placed("BUY")
    limit.payload["orders"][0].update(ordType="LIMIT", ordQty="0.1", ordPx="60000")
    found, asked = ask(query(limit), **routes)
    assert asked[0] == ("states", {"userAddr": INTENT.account, "clientOrderId": str(ID)})
    if not isinstance(expected, dict):
        assert found == Missing(certain=query is outcome.query_outcome and expected is None)
        return
    assert isinstance(found, Proof)
    assert found.data == {"results": [expected]}
    assert (found.accepted, found.code) == (expected["txCode"] == 0, 40230 if expected["txCode"] else 0)
    reason = f"clOrdId {ID}: {expected['txMsg']}"
    assert found.message == (reason if expected["txCode"] else "the venue knows its orders")


@pytest.mark.parametrize(("since_ms", "recent"), [(-1_001, False), (-1_000, False), (-999, True), (None, True)])
def test_an_order_proves_a_request_only_under_ids_that_no_other_request_can_have(
    since_ms: int | None, recent: bool
) -> None:
    row = SHOWN | {"status": "FILLED", "blockTime": None if since_ms is None else TIME + since_ms}
    for made, proven in ((BUY, True), (under(1 << 52), recent), (under(7), False), (replace(BUY, nonce=6), False)):
        for query in (outcome.query_outcome, outcome.query_execution):
            found, _ = ask(query(made), states=only(made.client_ids[0], row))
            assert found == Missing(certain=False) if not proven else isinstance(found, Proof), made


def under(number: int) -> Any:
    """Return an intent of an order under a client id that was given to it."""
    return placed("BUY", client_ids=(number,), payload={"orders": [BUY.payload["orders"][0] | {"clOrdId": number}]})


def test_under_a_users_id_the_transaction_of_the_answer_tells_whose_order_it_is() -> None:
    made = replace(under(7), data={"txHash": HASH})
    for shown, proven in ((HASH.lower(), True), ("0xac", False), ("", False)):
        row = SHOWN | {"execStatus": "NEW", "txHash": shown}
        found, _ = ask(outcome.query_execution(made), states=only(7, SHOWN), events=only(7, row))
        assert isinstance(found, Proof) is proven, shown


def test_a_nonce_that_another_request_used_is_no_proof_of_this_one() -> None:
    action = {"type": "setLeverage", "symbolCode": 1, "leverage": "5"}
    content = envelope.unsigned(action, INTENT.nonce, None, None)
    signed = signing.sign_content(content, toolkit.Wallet(agent=AGENT_KEY).key("agent", "setLeverage"), TESTNET.chain)
    made = replace(LEVERAGE, body=envelope.dump(signed))
    used = f"nonce 5 was used by another request of {INTENT.signer}"
    for row, state in (
        (transaction(digest=made.digest), True),
        (transaction(digest="0x" + "ab" * 32), False),
        (transaction(actionType="placeOrder", digest=""), False),
        (transaction(digest=""), None),  # by signer and nonce alone it may be either
    ):
        found, _ = ask(outcome.query_outcome(replace(made, code=40207)), page=pages([row]))
        assert getattr(found, "accepted", None) is state
        if state is False:
            assert (found.code, found.message.startswith(used)) == (40207, True)
    found, _ = ask(outcome.query_outcome(made), page=pages([transaction(digest="")]))
    assert found.accepted, "no other program is known to use the key"


def test_some_of_a_requests_orders_show_that_it_arrived_but_not_that_it_is_over() -> None:
    both = placed("BUY", "SELL")
    first = only(ID, SHOWN)
    found, _ = ask(outcome.query_outcome(both), states=first)
    assert (found.accepted, found.code) == (True, 40230)
    assert found.message == f"clOrdId {ID + 1}: the venue knows no such order"
    assert [one["txCode"] for one in found.data["results"]] == [0, -1]
    found, asked = ask(outcome.query_execution(both), states=first)
    assert found == Missing(certain=False)
    assert [query["clientOrderId"] for _, query in asked] == [str(ID), str(ID + 1), str(ID + 1)]


def test_orders_are_asked_for_under_their_owner() -> None:
    _, asked = ask(outcome.query_outcome(placed("BUY", vault_address=VAULT)))
    assert {query.get("userAddr", query.get("user")) for _, query in asked} == {VAULT, INTENT.account}
    order = {"symbolCode": 1, "ordSide": "BUY"}
    built = placed("BUY", action="placeBuilderOrder", payload={"order": order, "builder": "0xb"})
    agents = {"agents": [{"wallet": None}, {"wallet": "0xtrader"}, {"wallet": "0xother"}]}
    found, asked = ask(outcome.query_outcome(built), agents=lambda _: agents, states=only(ID, SHOWN))
    assert asked[0] == ("agents", {"builder": "0xb", "agent": INTENT.signer})
    assert asked[1][1]["userAddr"] == "0xtrader"
    assert found.accepted
    found, asked = ask(outcome.query_outcome(built), agents=lambda _: {"agents": []}, states=only(ID, SHOWN))
    assert found == Missing(certain=False)
    assert "states" not in dict(asked)


def transaction(nonce: Any = 5, **more: Any) -> dict[str, Any]:
    row = {"nonce": nonce, "signer": INTENT.signer.upper().replace("0X", "0x"), "actionType": "setLeverage"}
    return row | {"txHash": HASH, "blockTime": TIME + 1, "txCode": 0} | more


def pages(*given: list[dict[str, Any]]) -> Route:
    return lambda query: given[int(query["page"]) - 1] if int(query["page"]) <= len(given) else []


FULL = [transaction(nonce) for nonce in range(100, 200)]


@pytest.mark.parametrize(
    ("given", "read", "expected"),
    [
        ([[]], 1, False),  # it lists nothing, which proves nothing
        ([FULL[:99]], 1, True),
        ([[*FULL[:5], transaction(None)]], 1, False),  # it hides nonces
        ([FULL, FULL[:1]], 2, True),
        ([FULL, []], 2, False),
        ([[*FULL[:99], transaction(300, blockTime=TIME - 1)], FULL], 1, True),
        ([[*FULL[:99], transaction(300, blockTime=TIME)], FULL[:1]], 2, True),
        ([[*FULL[:99], transaction(300, blockTime=None)], FULL], 1, True),
        ([FULL] * 11, 10, False),
        ([[transaction(signer=None)]], 1, False),  # it hides signers
        ([[transaction(signer="0xother")]], 1, True),
        ([[transaction(actionType="placeOrder")]], 1, "used"),
        ([[transaction(nonce=6)]], 1, True),
        ([FULL, [transaction()]], 2, "found"),
        ([[*FULL[:5], transaction(actionType=None)]], 1, "found"),
        ([[transaction("5")]], 1, "found"),
        ([[transaction(txCode=None, status="PENDING")]], 1, False),
        ([[transaction(6, user="0xother")]], 1, False),  # a page of another account
        ([{"rows": []}], 1, "no list"),
        ([{"items": None}], 1, "no list"),
        ([{"items": ["?"]}], 1, "no list"),
        ([{"items": [], "total": 0}], 1, True),  # it says that there is none
        ([{"items": [], "total": "0"}], 1, True),
        ([{"items": []}], 1, False),
        ([{"items": [], "total": 7}], 1, False),
        ([FULL, {"items": [], "total": 0}], 2, False),  # of which it has just shown some
        ([{"items": FULL[at : at + 7], "total": 21} for at in (0, 7, 14)], 3, True),  # its pages are shorter
        ([{"items": FULL[at : at + 7], "total": 70} for at in range(0, 70, 7)], 10, True),
        ([{"items": FULL[at : at + 7], "total": 71} for at in range(0, 70, 7)], 10, False),
        ([{"items": FULL[:7], "total": 9}] * 11, 10, False),  # always the same ones
        ([{"items": FULL[:20], "total": 12}], 1, False),  # more than it reports
        ([FULL[:20], FULL[20:27]], 2, True),  # a page of the usual length may be cut off
        ([FULL[:20], [transaction()]], 2, "found"),
    ],
)
def test_transactions_are_searched_back_to_the_time_of_the_request(
    given: list[Any], read: int, expected: bool | str
) -> None:
    if expected == "no list":
        with pytest.raises(BadAnswer, match="no list of rows"):
            ask(outcome.query_outcome(LEVERAGE), page=pages(*given))
        return
    found, asked = ask(outcome.query_outcome(LEVERAGE), page=pages(*given))
    assert asked == [
        ("page", {"user": INTENT.account, "page": str(number), "pageSize": "100"}) for number in range(1, read + 1)
    ]
    if expected == "found":
        shown = {"txHash": HASH, "txCode": 0, "txMsg": "success"}
        assert found == Proof(accepted=True, code=0, message="success", data=shown)
    elif expected == "used":
        assert (found.accepted, found.code) == (False, 40207)
    else:
        assert found == Missing(certain=bool(expected))


def test_a_venue_without_a_list_of_transactions_proves_nothing() -> None:
    found, _ = ask(outcome.query_outcome(LEVERAGE), page=refuse)
    assert found == Missing(certain=False)
    both = outcome.query_outcome(BUY)
    found, _ = ask(both, page=refuse)
    assert found == Missing(certain=True), "but it shows orders, and there is none"


@pytest.mark.parametrize(
    ("row", "code", "message"),
    [
        ({"txCode": 0}, 0, "success"),
        ({"txCode": "7", "txMsg": "no margin"}, 7, "no margin"),
        ({"txCode": 7}, 7, "failed"),
        ({"txCode": None, "status": "Failed"}, 1, "failed"),
        ({"txCode": None, "status": "SUCCESS"}, 0, "success"),
    ],
)
def test_a_transaction_shows_code_message_and_data(row: dict[str, Any], code: int, message: str) -> None:
    found, _ = ask(outcome.query_outcome(LEVERAGE), page=pages([transaction(**row, data={"vault": VAULT})]))
    shown = {"vault": VAULT, "txHash": HASH, "txCode": code, "txMsg": message}
    assert found == Proof(accepted=code == 0, code=40230 if code else 0, message=message, data=shown)
    found, _ = ask(outcome.query_outcome(LEVERAGE), page=pages([transaction(**row, data=["?"])]))
    assert set(found.data) == {"txHash", "txCode", "txMsg"}


SUBMITTED = replace(LEVERAGE, data={"txHash": HASH})


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (transaction(), Proof),
        (transaction(txHash=HASH.upper()), Proof),
        (transaction(txCode=None, status="success"), Proof),
        (transaction(txCode=None, status="failed"), Proof),
        (transaction(txCode=None, status="PENDING"), Missing),
        (transaction(txCode=None), Missing),
        (transaction(txHash="0xother"), Missing),
        (transaction(nonce=6), Foreign),
        (transaction(signer="0xother"), Foreign),
        (transaction(actionType="withdraw"), Foreign),
        ({"txHash": HASH, "txCode": 0}, Missing),  # it does not say whose it is
        (transaction(signer=""), Missing),
        (transaction(nonce=None), Missing),
        ([transaction()], Missing),
    ],
)
def test_the_transaction_that_an_answer_named_is_asked_for_by_its_hash(row: Any, expected: type) -> None:
    found, asked = ask(outcome.query_execution(SUBMITTED), detail=lambda _: row)
    assert asked[0] == ("detail", {"txHash": HASH})
    assert isinstance(found, expected)
    assert [name for name, _ in asked[1:]] == (["page"] if expected is Missing else [])
    found, asked = ask(outcome.query_execution(SUBMITTED), detail=refuse, page=pages([transaction()]))
    assert isinstance(found, Proof)
    assert [name for name, _ in asked] == ["detail", "page"]


EVENT = {"txHash": HASH, "blockTime": TIME + 1, "clOrdId": str(ID), "ordId": "7", "execStatus": "NEW"}
OWN = transaction(actionType="placeOrder", user="0xowner")
PAIR = placed("BUY", "SELL", data={"txHash": HASH})


@pytest.mark.parametrize(
    ("code", "events", "expected", "accepted"),
    [
        (0, [EVENT], [(ID, 7, 0, "success"), (ID + 1, None, 0, "success")], True),
        (
            7,
            [EVENT, EVENT | {"clOrdId": ID + 1, "ordId": 8, "execStatus": "REJECTED", "reason": "no margin"}],
            [(ID, 7, 0, "success"), (ID + 1, 8, 7, "no margin")],
            True,
        ),
        (
            0,
            [EVENT | {"execStatus": "REJECTED"}],
            [(ID, 7, 1, "success"), (ID + 1, None, 0, "success")],
            True,
        ),
        (
            7,
            [EVENT | {"txHash": HASH.lower()}, EVENT | {"clOrdId": ID + 1, "ordId": 8, "execStatus": "REJECTED"}],
            [(ID, 7, 0, "success"), (ID + 1, 8, 7, "bad")],
            True,
        ),
        (
            7,
            [EVENT | {"execStatus": "REJECTED"}, EVENT | {"clOrdId": ID + 1, "execStatus": "REJECTED"}],
            [(ID, 7, 7, "bad"), (ID + 1, 7, 7, "bad")],
            False,
        ),
    ],
)
def test_each_order_of_a_transaction_has_its_result_from_its_events(
    code: int, events: list[Any], expected: list[Any], accepted: bool
) -> None:
    row = OWN | {"txCode": code, "txMsg": "bad" if code else "success"}
    found, asked = ask(outcome.query_execution(PAIR), detail=lambda _: row, events=pages(events))
    assert asked[1] == ("events", {"userAddr": "0xowner", "page": "1", "pageSize": "100"})
    assert [tuple(one[name] for name in ("clOrdId", "ordId", "txCode", "txMsg")) for one in found.data["results"]] == (
        expected
    )
    assert (found.accepted, found.code) == (accepted, 40230 if code else 0)


@pytest.mark.parametrize(
    "events", [[], [EVENT], [EVENT | {"txHash": "0xother"}, EVENT | {"clOrdId": ID + 1, "txHash": ""}]]
)
@pytest.mark.parametrize("shown", [("NEW", "REJECTED"), ("REJECTED", "REJECTED"), ("NEW", None), (None, None)])
def test_of_several_orders_of_a_refused_transaction_each_must_show_itself(events: list[Any], shown: Any) -> None:
    def states(query: Query) -> list[Any]:
        status = shown[int(query["clientOrderId"]) - ID]
        return [{**query, "clOrdId": query["clientOrderId"], "status": status}] if status else []

    row = OWN | {"txCode": 7, "txMsg": "bad"}
    found, _ = ask(
        outcome.query_execution(PAIR), detail=lambda _: row, states=states,
        events=lambda query: [] if "clientOrderId" in query else events,
    )  # fmt: skip
    if None in shown:
        assert found == Missing(certain=False)
    else:
        assert found.accepted is ("NEW" in shown)
        assert [one["txCode"] for one in found.data["results"]] == [int(status == "REJECTED") for status in shown]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([[EVENT] * 99, [EVENT]], 1),
        ([[EVENT] * 100, [EVENT]], 2),
        ([[*[EVENT] * 99, EVENT | {"blockTime": TIME}], [EVENT]], 1),
        ([[*[EVENT] * 99, EVENT | {"blockTime": None}], [EVENT]], 1),
        ([[*[EVENT] * 99, EVENT | {"blockTime": TIME + 1}], [EVENT]], 2),
        ([[EVENT] * 100] * 11, 10),
    ],
)
def test_events_are_read_back_to_the_time_of_the_transaction(given: list[Any], read: int) -> None:
    found, asked = ask(outcome.query_execution(PAIR), detail=lambda _: OWN, events=pages(*given))
    assert [query["page"] for name, query in asked if name == "events"] == [str(at + 1) for at in range(read)]
    assert found.data["results"][0]["ordId"] == 7


def test_events_are_those_of_the_owner() -> None:
    for intent, row, owner in (
        (replace(PAIR, vault_address=VAULT), OWN, VAULT),
        (PAIR, OWN, "0xowner"),
        (PAIR, OWN | {"user": None}, INTENT.account),
    ):
        found, asked = ask(outcome.query_execution(intent), detail=lambda _, row=row: row, events=refuse)
        assert asked[1][1]["userAddr"] == owner
        assert found.accepted, "without events the transaction tells"


def test_the_results_of_a_cancellation_of_all_are_what_it_ended_oldest_first() -> None:
    intent = replace(PAIR, action="cancelAll", payload={"symbolCode": 1}, client_ids=())
    row = OWN | {"actionType": "cancelAll"}
    events = [
        EVENT | {"execStatus": status, "ordId": at} for at, status in ((9, "CANCELED"), (8, "NEW"), (7, "CANCELED"))
    ]
    events[2]["clOrdId"] = None
    found, _ = ask(outcome.query_execution(intent), detail=lambda _: row, events=pages(events))
    assert found.data["results"] == [result(0, 7, 0, "success"), result(ID, 9, 0, "success")]


def test_a_cancel_is_matched_by_any_id_that_it_named() -> None:
    cancels = [{"symbolCode": 1, "ordId": 7}, {"symbolCode": 1, "clOrdId": ID + 1}, {"symbolCode": 1, "ordId": 0}]
    intent = replace(PAIR, action="cancelOrder", payload={"cancels": cancels}, client_ids=())
    row = OWN | {"actionType": "cancelOrder", "txCode": 7, "txMsg": "bad"}
    events = [EVENT | {"ordId": 7, "clOrdId": 1, "execStatus": "CANCELED"}]
    found, _ = ask(outcome.query_execution(intent), detail=lambda _: row, events=pages(events))
    results = [(one["clOrdId"], one["ordId"], one["txCode"]) for one in found.data["results"]]
    assert results == [(None, 7, 0), (ID + 1, None, 7), (None, None, 7)]


def test_a_request_of_one_order_has_its_result_too() -> None:
    intent = replace(PAIR, action="placeBuilderOrder", payload={"order": PAIR.payload["orders"][0]}, client_ids=(ID,))
    row = OWN | {"actionType": "placeBuilderOrder"}
    found, _ = ask(outcome.query_execution(intent), detail=lambda _: row, events=pages([EVENT]))
    assert found.data["results"] == [result(ID, 7, 0, "success")]


# ---------------------------------------------------------------------------------------------- what the feed tells
NEWS = {"userAddr": INTENT.account, "clOrdId": ID, "ordId": 7, "ordSide": "1", "execStatus": "NEW"}
ACK = {"nonce": 5, "signer": INTENT.signer, "actionType": "setLeverage", "txHash": HASH, "txCode": 0}


@pytest.mark.parametrize(
    ("intent", "records", "expected"),
    [
        (BUY, [NEWS], [(ID, 7, 0, "success")]),
        (BUY, [NEWS | {"execStatus": "FILLED", "clOrdId": str(ID)}], [(ID, 7, 0, "success")]),
        (BUY, [NEWS | {"execStatus": "ORDER_STATUS_UNTRIGGERED"}], [(ID, 7, 0, "success")]),
        (BUY, [NEWS | {"execStatus": "REJECTED", "reason": "no margin"}], [(ID, 7, 1, "no margin")]),
        (BUY, [NEWS | {"execStatus": "REJECTED"}], [(ID, 7, 1, "REJECTED")]),
        (BUY, [NEWS | {"execStatus": "CANCELED"}], None),  # perhaps that of an earlier order
        (BUY, [NEWS | {"execStatus": "CANCELED", "ordId": 6}, NEWS], [(ID, 7, 0, "success")]),
        (BUY, [NEWS | {"ordSide": "2"}], None),
        (BUY, [NEWS | {"clOrdId": ID + 1}], None),
        (BUY, [NEWS | {"userAddr": "0xother"}], None),
        (BUY, [NEWS | {"userAddr": None}], None),
        (BUY, [], None),
        (PAIR, [NEWS], None),
        (PAIR, [NEWS, NEWS | {"clOrdId": ID + 1, "ordSide": "2"}], [(ID, 7, 0, "success"), (ID + 1, 7, 0, "success")]),
        (LEVERAGE, [NEWS], None),
        (replace(PAIR, action="cancelAll", payload={}, client_ids=()), [NEWS], None),
    ],
)
def test_new_records_tell_the_outcome_of_a_placement(intent: Any, records: list[Any], expected: Any) -> None:
    for channel, items in (
        (outcome.ORDER_EVENTS, records),
        (
            outcome.ACCOUNT_EVENTS,
            [{"eventType": "perpOrder", "event": ["?", *records]}, {"eventType": "x", "event": records}],
        ),
        (
            outcome.ACCOUNT_EVENTS,
            [{"eventType": "perpOrder", "event": {"a": 1}}, {"eventType": "perpOrder", "event": records}],
        ),
        (outcome.ACCOUNT_EVENTS, [{"eventType": "perpOrder", "event": [one]} for one in records]),
    ):
        found = outcome.outcome_in_records(intent, channel, items)
        if expected is None:
            assert found is None
            continue
        assert found is not None
        rows = [tuple(one[name] for name in ("clOrdId", "ordId", "txCode", "txMsg")) for one in found.data["results"]]
        assert rows == expected
        assert found.accepted is any(code == 0 for _, _, code, _ in expected)


@pytest.mark.parametrize(
    ("intent", "change", "code"),
    [
        (LEVERAGE, {}, 0),
        (LEVERAGE, {"txCode": 7}, 7),
        (LEVERAGE, {"nonce": 6}, None),
        (LEVERAGE, {"signer": None}, None),
        (LEVERAGE, {"signer": "0xother"}, None),
        (LEVERAGE, {"actionType": "withdraw"}, None),
        (BUY, {"actionType": "placeOrder"}, None),  # the events of its orders tell
        (BUY, {"actionType": "placeOrder", "txCode": 7, "txMsg": "no margin"}, 7),
    ],
)
def test_an_acknowledgement_tells_the_outcome_of_what_it_names(intent: Any, change: dict[str, Any], code: Any) -> None:
    row = ACK | change
    found = outcome.outcome_in_records(intent, outcome.ACCOUNT_EVENTS, [{"eventType": "actionAck", "event": [row]}])
    if code is None:
        assert found is None
        return
    assert found is not None
    assert (found.accepted, found.code, found.data["txHash"]) == (code == 0, 40230 if code else 0, HASH)
    refused = [result(ID, None, 7, "no margin")] if intent is BUY else None
    assert found.data.get("results") == refused
    assert outcome.outcome_in_records(intent, outcome.ORDER_EVENTS, [row]) is None


def test_a_failed_query_is_repeated_and_a_foreign_transaction_ends_the_search() -> None:
    answers = iter([Disconnected("lost"), transaction(nonce=6)])
    found, asked = ask(outcome.poll_execution(SUBMITTED, 5.0, lambda: False), detail=lambda _: next(answers))
    assert found == Foreign()
    assert [name for name, _ in asked] == ["detail", "detail"]
