"""Each trouble of requests does what it says, in process and over HTTP alike, and the venue's books stay right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.venue.wallets import AGENT, MASTER, OTHER, Signer
from toolkit.errors import InputError
from toolkit.venue.local import LocalVenue
from toolkit.venue.trouble import (
    CachedAnswer,
    CandleGrid,
    Lag,
    LateAnswer,
    Listing,
    LostAnswer,
    MissingRows,
    NonceWindow,
    OtherAccount,
    Phase,
    ProxyPage,
    RepeatedRows,
    TooManyRequests,
    Trouble,
    TruncatedAnswer,
    WrongTotal,
)

EXCHANGE, META, LEDGER = "/api/v1/exchange", "/info/public/product-meta", "/info/account/ledger"
WITHDRAW = {"type": "withdraw", "destination": MASTER.address, "amount": "10"}
QUICK = 0.3
"""Seconds that a client waits for an answer that does not come."""


class Client:
    """A client of one venue, over HTTP or in process: both see the same."""

    def __init__(self, venue: LocalVenue, http: httpx.Client) -> None:
        self.venue, self.http = venue, http
        self.signer = Signer(MASTER)

    def get(self, path: str = META, **query: Any) -> httpx.Response:
        return self.http.get(path, params=query)

    def data(self, path: str = META, **query: Any) -> Any:
        return self.get(path, **query).json()["data"]

    def withdraw(self, **envelope: Any) -> httpx.Response:
        return self.http.post(EXCHANGE, json=self.signer.request(WITHDRAW, **envelope))

    def ledger(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.data(LEDGER, userAddr=MASTER.address)["items"]
        return rows

    def products(self, **query: Any) -> list[tuple[str, str, object]]:
        return [(row["symbol"], row["code"], row["listStatus"]) for row in self.data(**query)["perpProducts"]]

    def set(self, *phases: Phase, seed: int = 0) -> None:
        self.venue.control.set_trouble(Trouble(*phases, seed=seed))

    def withdrawn(self) -> int:
        """How many withdrawals the venue has executed."""
        return (10_000 - self.venue.host.core.state.accounts[MASTER.address.lower()].balance // 1_000_000) // 10


@pytest.fixture(scope="module")
def doors() -> Iterator[tuple[LocalVenue, dict[str, httpx.Client]]]:
    """A venue, and a client in process and one over HTTP."""
    with (
        LocalVenue(clock="manual", market=False, accounts=2) as venue,
        venue.serve() as served,
        httpx.Client(transport=venue.transport(), base_url="http://venue") as inside,
        httpx.Client(base_url=served.base_url, timeout=30) as outside,
    ):
        yield venue, {"in process": inside, "served": outside}


@pytest.fixture(params=["in process", "served"])
def client(doors: tuple[LocalVenue, dict[str, httpx.Client]], request: pytest.FixtureRequest) -> Iterator[Client]:
    venue, clients = doors
    with venue.host.sandbox():
        yield Client(venue, clients[request.param])
        venue.control.clear_trouble()


@pytest.mark.parametrize(
    ("phase", "status", "headers", "begins"),
    [
        (TooManyRequests(retry_after="1500ms"), 429, {"retry-after": "2"}, '{"code":40220,'),
        (TooManyRequests(body="html"), 429, {"content-type": "text/html"}, "<html>"),
        (TooManyRequests(body="empty"), 429, {}, ""),
        (ProxyPage(), 503, {"content-type": "text/html"}, "<html>"),
        (ProxyPage(status=502, body="empty"), 502, {}, ""),
        (ProxyPage(status=504, body="json"), 504, {"content-type": "application/json"}, '{"code":504,'),
        (ProxyPage(status=200), 200, {}, "<html>"),
    ],
    ids=str,
)
def test_what_stands_in_front_answers_and_nothing_is_executed(
    client: Client, phase: Phase, status: int, headers: dict[str, str], begins: str
) -> None:
    client.set(phase)
    for answer in (client.get(), client.withdraw()):
        assert (answer.status_code, answer.text[: len(begins) or None]) == (status, begins)
        assert headers.items() <= dict(answer.headers).items()
        assert ("retry-after" in answer.headers) is ("retry-after" in headers)
        assert "x-venue-time" not in answer.headers
    assert client.withdrawn() == 0
    assert client.venue.control.trouble_counts() == {type(phase).__name__: 2}
    client.venue.control.clear_trouble()
    assert client.withdraw().json()["code"] == 0
    assert client.venue.control.trouble_counts() == {}


def test_a_rate_passes_so_many_requests_within_its_window(client: Client) -> None:
    client.set(TooManyRequests(most=2, window="1s", path="/info/*"))
    assert [client.get().status_code for _ in range(4)] == [200, 200, 429, 429]
    assert client.withdraw().status_code == 200
    client.venue.advance("1s")
    assert [client.get().status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    ("phase", "error", "executed"),
    [
        (LostAnswer(), httpx.ReadTimeout, 1),
        (LostAnswer(ends="disconnect"), httpx.RemoteProtocolError, 1),
        (LostAnswer(executed=False), httpx.ReadTimeout, 0),
        (LostAnswer(executed=False, ends="disconnect"), httpx.RemoteProtocolError, 0),
        (LostAnswer(action="placeOrder"), None, 1),
        (LateAnswer(by="60s"), httpx.ReadTimeout, 1),
        (LateAnswer(by="1ms"), None, 1),
    ],
    ids=str,
)
def test_an_answer_is_lost_after_the_execution_or_before_and_nothing_is_executed_twice(
    client: Client, phase: Phase, error: type[Exception] | None, executed: int
) -> None:
    client.set(phase)
    if error is None:
        assert client.withdraw().json()["code"] == 0
    else:
        client.http.timeout = QUICK if error is httpx.ReadTimeout else 30
        with pytest.raises(error):
            client.withdraw(nonce=5_000_000)
        client.http.timeout = 30
        client.venue.control.clear_trouble()
        assert client.withdraw(nonce=5_000_000).json()["code"] == (40207 if executed else 0)
        executed = 1
    assert client.withdrawn() == executed


@pytest.mark.parametrize("phase", [ProxyPage(status=504, executed=True), TruncatedAnswer(keep=0.9)], ids=str)
def test_an_answer_that_is_replaced_or_cut_belongs_to_a_request_that_was_executed(client: Client, phase: Phase) -> None:
    client.set(phase)
    with pytest.raises(json.JSONDecodeError):
        client.withdraw().json()
    assert client.withdrawn() == 1


def test_a_cache_repeats_an_older_answer_of_the_same_query(client: Client) -> None:
    client.set(CachedAnswer(path=LEDGER, age="5s"))
    assert len(client.ledger()) == 1
    client.withdraw()
    assert len(client.ledger()) == 1
    assert client.data(LEDGER, userAddr=MASTER.address, pageSize=7)["total"] == 2
    client.venue.advance("6s")
    assert len(client.ledger()) == 2
    assert client.venue.control.trouble_counts() == {"CachedAnswer": 1}


def test_a_lag_shows_the_state_as_it_was_and_each_path_has_its_own(client: Client) -> None:
    wallet = "/info/account/wallet"
    client.set(Lag(path=LEDGER, by="3s"), Lag(path=wallet, by="1s"))

    def seen() -> tuple[int, str]:
        return len(client.ledger()), client.data(wallet, userAddr=MASTER.address)[0]["balance"]

    shown = []
    for _ in range(5):
        client.withdraw()
        shown.append(seen())
        client.venue.advance("1s")
    assert shown == [(1, "10000"), (1, "9990"), (1, "9980"), (2, "9970"), (3, "9960")]
    client.venue.control.clear_trouble()
    assert seen() == (6, "9950")


def test_a_lag_follows_a_venue_whose_state_is_restored(client: Client) -> None:
    client.set(Lag(path=LEDGER, by="3s"))
    number = client.venue.snapshot()
    client.withdraw()
    client.venue.advance("10s")
    assert len(client.ledger()) == 2
    client.venue.revert(number)
    assert len(client.ledger()) == 1
    client.withdraw()
    client.venue.advance("3s")
    assert len(client.ledger()) == 2


def test_nonces_outside_of_the_window_are_refused_and_can_be_used_later(client: Client) -> None:
    now = client.venue.host.now_ms()
    client.set(NonceWindow(ahead="2s", behind="60s", last=2))
    for nonce, code in ((now + 2_001, 40207), (now - 60_001, 40207), (now - 60_000, 0), (now + 2_000, 0), (now, 0)):
        answer = client.withdraw(nonce=nonce).json()
        assert answer["code"] == code, (nonce - now, answer)
    assert "the last 2 of its signer" in client.withdraw(nonce=now - 1).json()["message"]
    client.venue.advance("1ms")
    assert client.withdraw(nonce=now + 2_001).json()["code"] == 0
    assert client.venue.control.trouble_counts() == {"NonceWindow": 3}


LISTED = [(f"{base}USDC", str(code), "listed") for code, base in enumerate(("BTC", "ETH", "SOL", "XRP"), 1)]
BTC, ETH, REST = *LISTED[:2], LISTED[2:]


@pytest.mark.parametrize(
    ("phases", "rows"),
    [
        ([Listing(symbol="BTCUSDC", status="Delisted")], [("BTCUSDC", "1", "Delisted"), ETH]),
        ([Listing(symbol="BTCUSDC", status=3)], [("BTCUSDC", "1", 3), ETH]),
        ([Listing(symbol="BTCUSDC", hidden=True)], [ETH]),
        ([Listing(symbol="BTCUSDC", code=9)], [("BTCUSDC", "9", "listed"), ETH]),
        ([Listing(symbol="BTCUSDC", code=9, keeps_row=True)], [BTC, ("BTCUSDC", "9", "listed"), ETH]),
        ([Listing(symbol="BTCUSDC", shown_as="XBT", keeps_row=True)], [BTC, ("XBT", "1", "listed"), ETH]),
        (
            [Listing(symbol="BTCUSDC", shown_as="ETHUSDC"), Listing(symbol="ETHUSDC", shown_as="BTCUSDC")],
            [("ETHUSDC", "1", "listed"), ("BTCUSDC", "2", "listed")],
        ),
        (
            [Listing(symbol="BTCUSDC", code=2), Listing(symbol="ETHUSDC", code=1)],
            [("BTCUSDC", "2", "listed"), ("ETHUSDC", "1", "listed")],
        ),
    ],
    ids=str,
)
def test_the_list_shows_a_product_otherwise_and_the_engine_continues(
    client: Client, phases: list[Phase], rows: list[tuple[str, str, object]]
) -> None:
    before = client.data()["md5Checksum"]
    client.set(*phases)
    assert client.products() == [*rows, *REST]
    assert client.data()["md5Checksum"] != before
    assert client.get("/info/single", symbol=1).json()["code"] == (40003 if rows == [ETH] else 0)
    client.venue.control.act(MASTER.address, order(1))
    client.venue.control.clear_trouble()
    assert client.products() == LISTED
    assert len(client.data("/info/order/states", userAddr=MASTER.address)["items"]) == 1


def test_a_filter_by_status_sees_the_status_that_is_shown(client: Client) -> None:
    client.set(Listing(symbol="BTCUSDC", status=3))
    assert client.products(listStatus="LISTED") == [ETH, *REST]
    assert client.products(listStatus="3") == [("BTCUSDC", "1", 3)]


def order(code: int, **more: Any) -> dict[str, Any]:
    fields = {"symbolCode": code, "ordPx": "50000", "ordQty": "0.001", "ordType": "LIMIT", "ordSide": "BUY"}
    return {"type": "placeOrder", "orders": [{**fields, "timeInForce": "GTC", **more}]}


def test_a_delisted_product_refuses_orders_if_so_chosen_and_cancels_pass(client: Client) -> None:
    approve = {"type": "approveAgent", "agentAddress": AGENT.address, "agentName": "a", "validitySeconds": 0}
    agent = Signer(AGENT)

    def code(action: dict[str, Any]) -> int:
        return int(client.http.post(EXCHANGE, json=agent.request(action)).json()["code"])

    client.http.post(EXCHANGE, json=client.signer.request({**approve, "dexChain": "Testnet"}))
    assert code(order(1, clOrdId=7)) == 0
    client.set(Listing(symbol="BTCUSDC", hidden=True, refuses=True))
    assert code(order(1)) == 40230
    assert code(order(2, ordPx="2000", ordQty="0.01")) == 0
    assert code({"type": "cancelOrder", "cancels": [{"symbolCode": "1", "clOrdId": "7"}]}) == 0


HOUR, DAY = 3600, 86_400


def test_candles_begin_at_another_hour_and_weekday_and_add_up() -> None:
    with (
        LocalVenue(clock="manual") as venue,
        httpx.Client(transport=venue.transport(), base_url="http://venue") as http,
    ):
        venue.advance("1h")
        client = Client(venue, http)
        asked = {"symbol_name": "BTCUSDC", "startTime": venue.host.now_ms() - 40 * DAY * 1000, "endTime": 2**42}
        hours = client.data("/info/kline/list", interval=HOUR, **asked)
        client.set(CandleGrid())
        assert client.data("/info/kline/list", interval=HOUR, **asked) == hours
        for interval, weekdays in ((DAY, set(range(7))), (7 * DAY, {0})):
            rows = client.data("/info/kline/list", interval=interval, **asked)
            assert len(rows) >= 40 * DAY // interval
            assert {row["timestamp"] % DAY // HOUR for row in rows} == {16}
            assert {(row["timestamp"] // DAY + 3) % 7 for row in rows} == weekdays
            for row in rows:
                inside = [one for one in hours if row["timestamp"] <= one["timestamp"] < row["timestamp"] + interval]
                assert (row["open"], row["close"]) == (inside[0]["open"], inside[-1]["close"])
                assert float(row["volume"]) == pytest.approx(sum(float(one["volume"]) for one in inside))
            assert client.data("/info/kline/last", symbol_name="BTCUSDC", interval=interval, limit=2) == rows[:-3:-1]


def test_a_lying_venue_gives_rows_of_another_account_twice_or_not_at_all_and_a_wrong_total(client: Client) -> None:
    for _ in range(20):
        client.withdraw()
    page = client.data(LEDGER, userAddr=MASTER.address)
    rows, ids = page["items"], [row["id"] for row in page["items"]]
    client.set(RepeatedRows(share=0.3), seed=4)
    twice = [row["id"] for row in client.ledger()]
    assert sorted(set(twice)) == sorted(ids)
    assert len(ids) < len(twice) < 2 * len(ids)
    assert client.venue.control.trouble_counts() == {"RepeatedRows": len(twice) - len(ids)}
    client.set(MissingRows(share=0.3), seed=4)
    fewer = client.ledger()
    assert 0 < len(fewer) < len(rows)
    assert [row for row in rows if row in fewer] == fewer == client.ledger()
    client.set(WrongTotal(by=-3))
    assert client.data(LEDGER, userAddr=MASTER.address) == {"total": page["total"] - 3, "items": rows}
    client.set(OtherAccount(path="/info/account/*", address=OTHER.address))
    assert {row["userAddr"].lower() for row in client.ledger()} == {OTHER.address.lower()}
    assert client.data("/info/order/states", userAddr=MASTER.address)["total"] == 0


def test_a_phase_begins_and_ends_in_the_venues_time(client: Client) -> None:
    client.set(ProxyPage(start="10s", end="20s"))
    seen = []
    for _ in range(4):
        seen.append(client.get().status_code)
        client.venue.advance("7s")
    assert seen == [200, 200, 503, 200]


def test_a_seed_repeats_the_same_chance_and_another_one_does_not(client: Client) -> None:
    def drawn(seed: int) -> list[int]:
        client.set(ProxyPage(share=0.4), seed=seed)
        return [client.get().status_code for _ in range(40)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 8 < drawn(1).count(503) < 24


def test_troubles_apply_in_their_order_and_are_counted_by_name(client: Client) -> None:
    client.set(ProxyPage(share=0.5, status=502), ProxyPage(status=503), ProxyPage(status=504, name="never"))
    assert {client.get().status_code for _ in range(20)} == {502, 503}
    counts = client.venue.control.trouble_counts()
    assert list(counts) == ["ProxyPage 1", "ProxyPage 2", "never"]
    assert (sum(counts.values()), counts["never"]) == (20, 0)


def test_troubles_leave_the_state_of_the_venue_as_it_would_be_without(client: Client) -> None:
    with LocalVenue(clock="manual", market=False, accounts=2) as calm:
        signer = Signer(MASTER)
        client.set(Lag(), RepeatedRows(), CachedAnswer(), ProxyPage(executed=True, action="withdraw"))
        for _ in range(3):
            client.withdraw()
            client.ledger()
            client.venue.advance("2s")
            signer.post(calm, WITHDRAW)
            calm.advance("2s")
        assert client.venue.control.state_hash() == calm.control.state_hash()


def test_a_product_that_the_venue_does_not_have_leaves_the_former_troubles(client: Client) -> None:
    client.set(ProxyPage())
    with pytest.raises(InputError, match="DOGEUSDC"):
        client.set(Lag(), Listing(symbol="DOGEUSDC", hidden=True))
    assert client.get().status_code == 503
