"""What a capture asks, with which values, and how it puts messages where they belong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.capture import asking
from tests.capture.asking import (
    NOBODY,
    ChannelCapture,
    FeedCapture,
    ask_all,
    ask_for_errors,
    read_channels,
)
from tests.capture.comparison import Difference, compare_answer, compare_messages, compare_rows
from toolkit.client.io.flow import Driver, Fetch, Flow, Reply, Runtime
from toolkit.environments import TESTNET
from toolkit.errors import TimedOut
from toolkit.protocol import signing
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.info_queries import ENDPOINTS

NOW = 1_781_000_000_000
USER = "0x" + "ab" * 20


def run(flow: Flow[Any], answer: Callable[[Fetch], Any]) -> tuple[Any, list[Fetch], list[float]]:
    """Run a flow. Return its result, its requests, and its pauses."""
    sent: list[Fetch] = []
    pauses: list[float] = []

    def send(fetch: Fetch) -> Reply:
        sent.append(fetch)
        given = answer(fetch)
        return given if isinstance(given, Reply) else Reply(200, json.dumps(given).encode())

    driver = Driver(send, Runtime(now=lambda: NOW), sleep=pauses.append)
    return driver.run(flow), sent, pauses


def rows_of(fetch: Fetch) -> dict[str, Any]:
    """Answer with two rows that have all that other queries need."""
    endpoint = next(one for one in ENDPOINTS.values() if one.path == fetch.path)
    rows = [
        {"code": 7, "symbol": "XRPUSDC", "vaultAddress": "v1", "txHash": "h1", "blockHeight": 0, "agentName": ""},
        {"code": 8, "symbol": "BTCUSDC", "vaultAddress": "v2", "txHash": "h2", "blockHeight": 5, "agentName": "a"},
    ]
    data: Any = {"list": rows, "paged": {"total": 2, endpoint.items: rows}, "one": rows[0]}[endpoint.shape]
    if endpoint.name == "products":
        data = {"perpProducts": rows}
    return {"code": 0, "message": "", "data": data}


def test_each_query_is_asked_once_with_what_it_needs_and_paced() -> None:
    answers, sent, pauses = run(ask_all(USER), rows_of)
    asked = {one.name: dict(one.query) for one in answers if not one.error}
    assert len(sent) == len(pauses) == len(asked)
    assert set(pauses) == {0.1}
    assert [(fetch.method, fetch.path, fetch.query) for fetch in sent] == [
        ("GET", one.path, one.query) for one in answers if not one.error
    ]
    single = {name for name, one in ENDPOINTS.items() if one.shape == "one"} - {"products"}
    assert {one.name: one.rows for one in answers if not one.error} == {name: 2 - (name in single) for name in asked}
    # The first row is taken, and neither "" nor 0 is a value. The hash is one of a transaction.
    assert {name: value for query in asked.values() for name, value in query.items()} == {
        **dict.fromkeys(("userAddr", "userAddress", "user", "builder"), USER),
        **{"symbol": "7", "symbol_name": "XRPUSDC", "interval": "60", "vaultAddress": "v1", "txHash": "h1"},
        **{"startTime": str(NOW - 3_600_000), "endTime": str(NOW)},
    }
    for name, query in asked.items():
        params = ENDPOINTS[name].params
        assert set(query) == {
            each for each, param in params.items() if param.required or param.leading or param.unless
        }, name
    assert {one.name: one.error for one in answers if one.error} == {
        "agent": "not asked: no agentName is known",
        "block": "not asked: no blockHeight is known",
    }
    assert all((one.method, one.status) == ("GET", 0) for one in answers if one.error)


def test_without_an_account_the_zero_address_is_asked_for() -> None:
    _, sent, _ = run(ask_all(None), rows_of)
    values = {value for fetch in sent for name, value in fetch.query if name in ("userAddr", "userAddress", "user")}
    assert values == {NOBODY} == {"0x" + "0" * 40}


def test_a_request_without_an_answer_says_why_and_the_others_are_asked() -> None:
    def answer(fetch: Fetch) -> Any:
        if fetch.path == ENDPOINTS["products"].path:
            raise TimedOut("late")
        return Reply(503, b"<html>")

    answers, _, pauses = run(ask_all(USER), answer)
    errors = {one.name: (one.status, one.error) for one in answers}
    assert errors.pop("products") == (0, "late")
    asked = {error for status, error in errors.values() if status}
    assert asked == {"HTTP 503 with 6 bytes that are not JSON"}
    assert all(error.startswith("not asked: no ") for status, error in errors.values() if not status)
    assert len(pauses) == 1 + sum(status == 503 for status, _ in errors.values())


def test_each_refusal_is_asked_for_once_and_compared_with_what_is_expected() -> None:
    def answer(fetch: Fetch) -> Any:
        if fetch.path == "/info/account/wallet":
            raise TimedOut("late")
        return {"code": 0, "message": "", "data": None}

    answers, sent, pauses = run(ask_for_errors(TESTNET), answer)
    assert len(sent) == len(pauses) == len(answers) == 8
    wrong = {one.name: [(each.field, each.declared, each.found) for each in one.differences] for one in answers}
    assert wrong == {
        "an unknown path": [("HTTP status", "404", "200"), ("code", "not 0", "0")],
        "a missing parameter": [],
        "an unknown symbol": [("HTTP status", "400", "200"), ("code", "not 0", "0")],
        "a wrong method": [("HTTP status", "405", "200"), ("code", "not 0", "0")],
        "a body that is not JSON": [("HTTP status", "400", "200"), ("code", "not 0", "0")],
        "an unknown action": [("code", "40201", "0")],
        "an unknown signer": [("code", "40204", "0")],
        "an expired request": [("code", "not 0", "0")],
    }
    assert answers[1].error == "late"
    bodies = [json.loads(fetch.body) for fetch in sent[5:]]
    assert bodies[0]["action"] == {"type": "noSuchAction"}
    assert [(body["nonce"], body["expiryAfter"]) for body in bodies] == [
        (NOW, NOW + 60_000),
        (NOW, NOW + 60_000),
        (NOW - 7_200_000, NOW - 3_600_000),
    ]
    (order,) = bodies[1]["action"]["orders"]
    assert {name: str(order[name]) for name in ("symbolCode", "ordPx", "ordQty")} == dict.fromkeys(
        ("symbolCode", "ordPx", "ordQty"), "1"
    )
    assert all(signing.recover(body, TESTNET.chain) for body in bodies[1:]), "signed by a key that nobody approved"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"method":"subscribe","subject":"TICKER.btcusdc","success":true}', "answer"),
        ('{"method":"subscribe","success":false}', "refusal"),
        ('{"method":"subscribe","subject":"ticker.ETHUSDC"}', "refusal"),
        ('{"channel":"ticker","data":{}}', "messages"),
        ('{"channel":"pong"}', ""),
        ('{"channel":"weather"}', "unknown"),
        ("[1]", "unknown"),
        ("{" + "x" * 300, "unknown"),
    ],
)
def test_each_message_is_put_where_it_belongs(text: str, place: str) -> None:
    one = ChannelCapture("ticker", "ticker.BTCUSDC")
    feed = FeedCapture({"block": ChannelCapture("block", "block"), "ticker": one})
    feed.take(text)
    found = {"answer": one.answer, "messages": one.messages, "refusal": feed.refusal, "unknown": feed.unknown}
    assert [name for name, value in found.items() if value] == ([place] if place else [])
    if text.startswith("{x"):
        assert feed.unknown == [text[:200]]
    assert feed.by_channel["block"] == ChannelCapture("block", "block")


class Connection:
    """A connection that has what a test says, and ends."""

    def __init__(self, texts: Iterator[str]) -> None:
        self.texts = texts
        self.sent: list[str] = []
        self.closed = False

    async def send(self, text: str) -> None:
        self.sent.append(text)

    async def receive(self) -> str:
        try:
            return next(self.texts)
        except StopIteration:
            raise asking.ConnectionEnded("over") from None

    async def close(self) -> None:
        self.closed = True


def test_a_capture_of_the_feed_subscribes_to_every_channel_and_counts_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    def ticker(sequence: Any) -> str:
        data = {"type": "snapshot", "sequence": sequence, "symbol": "BTCUSDC", "timestamp": 1}
        return json.dumps({"channel": "ticker", "data": data})

    texts = [*map(ticker, (1, 2, 4, "5", "x", -6, 8)), '{"channel":"block","data":7}']
    connection, reached = Connection(iter(texts)), list[Any]()

    async def connect(*given: Any) -> Connection:
        reached.append(given)
        return connection

    monkeypatch.setattr(asking.SocketConnection, "connect", connect)
    capture = read_channels("ws://venue", "BTCUSDC", USER, 9.0, 2.0)
    assert reached == [("ws://venue", 2.0)]
    assert (capture.error, connection.closed) == ("the connection ended: over", True)
    asked = [json.loads(text)["subscription"] for text in connection.sent]
    assert [one["type"] for one in asked] == [*wire.CHANNELS, "noSuchChannel"]
    assert asked[0] == {"type": "orderBook", "symbol": "BTCUSDC", "depth": 5}
    assert {"type": "candle", "symbol": "BTCUSDC", "interval": "60"} in asked
    assert {"type": "aopState", "userAddress": USER} in asked
    found = capture.by_channel["ticker"]
    assert (found.subject, len(found.messages), found.first_type, found.gaps) == ("ticker.BTCUSDC", 7, "snapshot", 2)
    assert [(one.field, one.found) for one in found.differences] == [("ticker", "missing in 7 messages")]
    block = capture.by_channel["block"]
    assert (len(block.messages), block.first_type, block.gaps, block.differences) == (1, "", 0, [])
    assert [one.channel for one in capture.channels] == list(wire.CHANNELS)


def test_a_row_differs_by_each_field_in_words_that_count() -> None:
    record = ENDPOINTS["agents"].record
    good = {field.wire: "" for field in record.fields}
    rows = [dict(good), dict(good), 7]
    name = next(iter(record.published))
    del rows[0][name]  # type: ignore[attr-defined]
    found = compare_rows("x", record, rows)
    assert found[0] == Difference("x", "", f"rows of {record.name}", "1 of 3 are not objects")
    assert Difference("x", name, found[1].declared, "missing in 1 of 2 rows", optional=True) in found


def test_an_answer_and_a_message_differ_as_a_whole_in_these_words() -> None:
    endpoint = ENDPOINTS["fills"]
    paged = Difference(endpoint.path, "data", "an array, or an object with total and items", '{"items":[]}')
    assert compare_answer(endpoint, 200, {"code": 0, "message": "", "data": {"items": []}}) == ([paged], [])
    for data in ({"total": 0, "items": {}}, {"total": 0}, None):
        assert [one.field for one in compare_answer(endpoint, 200, {"code": 0, "message": "", "data": data})[0]] == [
            "data"
        ]
    one = next(each for each in ENDPOINTS.values() if each.shape == "one" and each.published)
    assert compare_answer(one, 200, {"code": 0, "message": "", "data": None}) == ([], [])
    messages = [{"type": "snapshot", "blockHeight": 1}, {"blockHeight": 2}, {}]
    found = compare_messages(wire.CHANNELS["blockHeight"], messages)
    assert [(each.field, each.found) for each in found if each.field != "timestamp"] == [
        ("type", "in 1 of 3 messages"),
        ("blockHeight", "missing in 1 of 3 rows"),
    ]


def test_margin_tiers_and_currencies_of_the_product_list_are_compared_too() -> None:
    data = {
        "perpProducts": [],
        "marginTables": [{"tableId": 1, "riskLimitVo": [{"minimumValue": 5}]}],
        "currencies": [],
    }
    found, _ = compare_answer(ENDPOINTS["products"], 200, {"code": 0, "message": "", "data": data})
    where = f"{ENDPOINTS['products'].path} marginTables"
    assert {one.where for one in found} == {where}
    assert "5 (1 of 1 values)" in {one.found for one in found}


@pytest.mark.parametrize(("rows", "count"), [({"s": 7}, 1), ([{"s": 7}, {"s": 8}], 2), (None, 0)])
def test_a_record_in_the_place_of_a_list_is_compared_as_its_only_row(rows: Any, count: int) -> None:
    found = compare_messages(wire.CHANNELS["allTickers"], [{"tickers": rows}])
    assert [one.found for one in found if one.field == "s"] == [f"7 ({count} of {count} values)"] * bool(count)
