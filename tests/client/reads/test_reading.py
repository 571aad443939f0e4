"""One reader by hand: queries as they are sent, what is kept and for how long, pages and their order, ids and flags."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from tests.client.fake import BTC, META
from tests.client.rows import value_of
from toolkit.client.io.flow import Driver, Fetch, Flow, Reply, Runtime
from toolkit.client.io.rate_limits import RateLimiter
from toolkit.client.io.transport import Retry
from toolkit.client.reads.catalogue import Catalogue
from toolkit.client.reads.conversion import OrderRef, is_order_row, order_ref, query_text, seconds
from toolkit.client.reads.info import Info
from toolkit.client.reads.paging import PagedRead, oldest_first
from toolkit.client.reads.reading import Reader, amount, is_hedged
from toolkit.environments import LOCAL, TESTNET
from toolkit.errors import DataWarning, InputError, MalformedRequest, TimedOut, UnknownProduct
from toolkit.progress import Progress
from toolkit.protocol.reads.door import seen
from toolkit.protocol.reads.endpoint import MAX_TIME
from toolkit.protocol.reads.info.orders import OrderState
from toolkit.protocol.reads.info.positions import Position
from toolkit.protocol.reads.info_queries import ENDPOINTS

NOW = 1_767_225_600_000
USER = "0x" + "ab" * 20
ETH = {**BTC, "symbol": "ETHUSDC", "code": "2"}


class World:
    """A venue of one answer for each path, a clock, and a reader for an account."""

    def __init__(self, account: str | None = USER, **answers: Any) -> None:
        self.now = NOW
        self.sent: list[Fetch] = []
        self.answers: dict[str, Any] = {"products": {**META, "perpProducts": [BTC, ETH]}} | answers
        self.catalogue = Catalogue()
        self.account = account
        delivery = SimpleNamespace(limiter=RateLimiter(None), retry=Retry(attempts=1))
        session: Any = SimpleNamespace(
            _catalogue=self.catalogue, _delivery=delivery, account=account, _account=self._account
        )
        self.reader = Reader(session)
        session._driver = Driver(self.send, Runtime(now=lambda: self.now), sleep=lambda _: None)
        self.info = Info(session)

    def _account(self) -> Flow[str]:
        yield from ()
        if self.account is None:
            raise InputError("no account", field="account", rule="required")
        return self.account

    def send(self, fetch: Fetch) -> Reply:
        self.sent.append(fetch)
        name = next(name for name, one in ENDPOINTS.items() if one.path == fetch.path)
        answer = self.answers[name]
        data = answer(dict(fetch.query)) if callable(answer) else answer
        return Reply(200, json.dumps({"code": 0, "message": "success", "data": data}).encode())

    def run(self, flow: Flow[Any]) -> Any:
        self.sent.clear()
        return Driver(self.send, Runtime(now=lambda: self.now), sleep=lambda _: None).run(flow)

    def query(self, name: str, **given: Any) -> dict[str, str]:
        return dict(self.run(self.reader.query(ENDPOINTS[name], given)))


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("fills", {}, {"userAddr": USER}),
        ("fills", {"account": "0x" + "cd" * 20}, {"userAddr": "0x" + "cd" * 20}),
        ("fills", {"symbol": "ETHUSDC"}, {"userAddr": USER, "symbol": "2"}),
        ("fills", {"symbol": 2}, {"userAddr": USER, "symbol": "2"}),
        ("fills", {"symbol": "2"}, {"userAddr": USER, "symbol": "2"}),
        ("fills", {"side": "buy"}, {"userAddr": USER, "side": "1"}),
        ("wallet_balances", {"include_zero": True}, {"userAddr": USER, "includeZero": "true"}),
        ("klines_last", {"symbol": 2, "interval": "1h"}, {"symbol_name": "ETHUSDC", "interval": "3600"}),
        (
            "klines_last",
            {"symbol": "2", "interval": timedelta(minutes=1)},
            {"symbol_name": "ETHUSDC", "interval": "60"},
        ),
    ],
)
def test_a_query_is_sent_in_the_words_of_the_wire(name: str, given: dict[str, Any], expected: dict[str, str]) -> None:
    assert World().query(name, **given) == expected


@pytest.mark.parametrize(
    ("name", "given", "sent"),
    [
        ("vault_history", {}, {}),
        ("vault_history", {"kind": "pnl", "interval": "24h"}, {"type": "pnl"}),
        ("vault_events", {"page_size": 20}, {}),
        ("vault_events", {"page": 2, "page_size": 50}, {"page": "2", "pageSize": "50"}),
        ("order_events", {"page": 1}, {"page": "1"}),
        ("order_events", {"page_size": 20, "order_id": {"order_id": 7}}, {"pageSize": "20", "orderId": "7"}),
    ],
)
def test_a_method_sends_what_differs_from_its_defaults(name: str, given: dict[str, Any], sent: dict[str, str]) -> None:
    world = World(**{name: {"total": 0, "list": []}})
    address = {"vault": "0x" + "ef" * 20} if name.startswith("vault") else {}
    getattr(world.info, name)(**address, **given)
    query = next(dict(one.query) for one in world.sent if one.path == ENDPOINTS[name].path)
    assert {wire: text for wire, text in query.items() if not text.startswith("0x")} == sent


def test_what_is_required_is_named_and_an_account_that_is_optional_may_be_unknown() -> None:
    world = World(account=None)
    with pytest.raises(InputError, match=r"^symbol is required: "):
        world.query("klines_last", interval="1m")
    required = [name for name, one in ENDPOINTS.items() if any(p.fill and p.required for p in one.params.values())]
    optional = [name for name, one in ENDPOINTS.items() if any(p.fill and not p.required for p in one.params.values())]
    assert "fills" in required
    with pytest.raises(InputError, match="no account"):
        world.query("fills")
    for name in optional:
        fill = next(p for p in ENDPOINTS[name].params.values() if p.fill)
        kinds = {p.name: p.kind for p in ENDPOINTS[name].params.values() if p.required}
        needed = {each: "0x" + "ef" * 20 if kind == "address" else "1" for each, kind in kinds.items()}
        assert fill.wire not in world.query(name, **needed)
        known = World()
        assert known.query(name, **needed)[fill.wire] == USER
        if fill.unless:
            other = {fill.unless: "0x" + "cd" * 20}
            assert fill.wire not in known.query(name, **needed, **other)


def test_the_product_list_is_kept_for_its_time_and_not_after_the_clock_went_back() -> None:
    world = World()
    table = world.run(world.catalogue.table())
    assert len(world.sent) == 1
    for passed_ms, asked in ((0, 0), (59_999, 0), (60_000, 1), (59_999, 1)):  # the last is before the third
        world.now = NOW + passed_ms
        world.run(world.catalogue.table())
        assert len(world.sent) == asked, passed_ms
    short = Catalogue(keep_ms=5)
    assert short.known is None
    world.run(short.table())
    world.now += 5
    world.run(short.table())
    assert len(world.sent) == 1
    short.forget()
    assert short.known is None
    assert [product.symbol for product in table.values()] == ["BTCUSDC", "ETHUSDC"]


@pytest.mark.parametrize(("age_ms", "asked"), [(0, 0), (999, 0), (1_000, 1), (-1, 1)])
def test_an_unknown_product_is_looked_for_again_in_a_list_of_a_second(age_ms: int, asked: int) -> None:
    world = World()
    world.run(world.catalogue.table())
    world.now += age_ms
    with pytest.raises(UnknownProduct):
        world.run(world.catalogue.find("NEWUSDC"))
    assert len(world.sent) == asked


def test_a_read_continues_with_the_same_words_and_only_the_last_ones_are_kept() -> None:
    fails = [True]
    row = {"id": "1", "blockTime": NOW, "orderId": 5}

    def answer(query: dict[str, str]) -> Any:
        if query["page"] == "2" or "endTime" in query:
            if fails[0]:
                raise TimedOut("late")
            return {"total": 2, "items": [{**row, "id": "2", "blockTime": NOW - 1}]}
        return {"total": 2, "items": [row]}

    world = World(fills=answer)

    def read(start: Any = None, **given: Any) -> PagedRead:
        found: PagedRead = world.run(world.reader.resumable("fills", given, start, None, False))
        return found

    with pytest.raises(TimedOut) as caught:
        read()
    assert caught.value.__notes__ == ["1 rows were read. The same call continues from there"]
    for days in range(1, 40):
        with pytest.raises(TimedOut):
            read(f"{days}d")
    fails[0] = False
    assert len(read("39d").rows) == 2
    with pytest.raises(InputError, match="start 1d is after end 2d"):
        world.run(world.reader.resumable("fills", {}, "1d", "2d", False))
    assert world.run(world.reader.resumable("fills", {}, NOW - 1, NOW, False)).done


ORDER = {one.wire: value_of(one) for one in OrderState.declared.needed} | {"filledQty": "0"}


def test_open_orders_are_those_of_every_open_status_by_number() -> None:
    rows = {"NEW": ["7"], "PARTIALLY_FILLED": ["8"], "UNTRIGGERED": []}

    def answer(query: dict[str, str]) -> Any:
        known = {"1": "NEW", "2": "PARTIALLY_FILLED"}.get(query["status"], query["status"])
        found = [
            {**ORDER, "ordId": one, "blockTime": NOW, "symbol": query.get("symbol", "1")} for one in rows.get(known, [])
        ]
        return {"total": len(found), "items": found}

    world = World(order_states=answer)
    found = world.run(world.reader.open_orders(USER))
    assert {number: row.order_id for number, (_, row) in found.items()} == {7: 7, 8: 8}
    assert all("symbol" not in dict(fetch.query) for fetch in world.sent)
    world.run(world.reader.open_orders(USER, 2))
    assert {dict(fetch.query)["symbol"] for fetch in world.sent} == {"2"}


def test_a_code_that_is_newly_listed_is_looked_up_and_the_answer_read_again() -> None:
    world = World()
    rows = [{"symbol": code, "fundingRate": "0.1", "fundingInterval": 1, "symbolCode": code} for code in (1, 3, 4)]
    world.answers["funding_rates"] = rows
    world.run(world.catalogue.table())
    world.now += 2_000
    world.answers["products"] = {**META, "perpProducts": [BTC, ETH, {**BTC, "symbol": "NEWUSDC", "code": "3"}]}
    with pytest.warns(DataWarning, match="FundingRate: product 4 is not in the venue's list. It is shown by its code"):
        frame = world.run(world.reader.table("funding_rates", {}))
    assert frame["symbol"].tolist() == ["BTCUSDC", "NEWUSDC", "4"]
    assert [fetch.path for fetch in world.sent].count(ENDPOINTS["products"].path) == 1


def test_a_market_is_identified_by_its_chain_or_by_the_genesis_of_a_local_venue() -> None:
    world = World(block={"blockHash": "0x77"})
    assert world.run(world.reader.market_identity(TESTNET)) == f"testnet {TESTNET.chain.chain_id}"
    assert world.sent == []
    assert world.run(world.reader.market_identity(LOCAL)) == "local 0x77"
    assert dict(world.sent[0].query) == {"blockHeight": "0"}
    for nothing in (None, {}, [], {"blockHash": ""}):
        world.answers["block"] = nothing
        assert world.run(world.reader.market_identity(LOCAL)) == f"local {LOCAL.base_url}"


def test_a_product_list_is_as_it_came_where_every_row_can_be_read() -> None:
    understood = Catalogue().understood
    assert list(understood({**META, "perpProducts": [BTC, ETH]}) or ()) == [{**BTC, "code": 1}, {**ETH, "code": 2}]
    with pytest.warns(DataWarning):
        some = understood([BTC, {**ETH, "tickSize": "x"}, 7])
    assert [row["symbol"] for row in some or ()] == ["BTCUSDC"]
    for data in ([], {"perpProducts": None}):
        assert understood(data) is None


def test_short_helpers_of_rows() -> None:
    assert (amount({"x": "1.50"}, "x"), amount({"x": None}, "x"), amount({}, "x")) == (pytest.approx(1.5), 0, 0)
    for mode, hedged in zip(
        ("HEDGE", "hedge", 2, "2", "ONE_WAY", 1, None, "x"), (True, True, True, True) + (False,) * 4, strict=True
    ):
        position = seen(Position, {"positionMode": mode})
        assert position is not None
        assert is_hedged(position) is hedged


# Pages.


def paged(
    answers: Callable[[dict[str, str]], list[dict[str, Any]] | dict[str, Any]],
) -> tuple[Any, list[dict[str, str]]]:
    """Return a function that fetches, and the queries that it was given."""
    asked: list[dict[str, str]] = []

    def fetch(query: Any) -> Flow[Reply]:
        yield from ()
        asked.append(dict(query))
        return Reply(200, json.dumps({"code": 0, "message": "", "data": answers(dict(query))}).encode())

    return fetch, asked


def run(read: PagedRead, fetch: Any, bar: Any = None) -> None:
    Driver(lambda _: Reply(200, b"")).run(read.run(fetch, bar or Progress.silent()))


class Bar:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def expect(self, total: int | None) -> None:
        self.seen.append(("of", total))

    def add(self, count: int) -> None:
        self.seen.append(count)


def fill(number: int, at: int | None = None) -> dict[str, Any]:
    return {"id": str(number), "blockTime": NOW + (number if at is None else at)}


def test_pages_are_asked_for_by_time_and_within_a_millisecond_by_number() -> None:
    rows = [fill(9), fill(8), fill(7, 5), fill(6, 5), fill(5, 5), fill(4, 5), fill(3, 1)]

    def answer(query: dict[str, str]) -> dict[str, Any]:
        inside = [row for row in rows if row["blockTime"] <= int(query.get("endTime", MAX_TIME))]
        at = 2 * (int(query["page"]) - 1)
        return {"total": len(inside), "items": inside[at : at + 2]}

    fetch, asked = paged(answer)
    read, bar = PagedRead(ENDPOINTS["fills"], (("userAddr", USER),), start=NOW), Bar()
    run(read, fetch, bar)
    window = {"userAddr": USER, "startTime": str(NOW), "pageSize": "500"}
    assert asked == [
        {**window, "page": "1"},
        {**window, "page": "1", "endTime": str(NOW + 8)},
        {**window, "page": "1", "endTime": str(NOW + 5)},
        {**window, "page": "2", "endTime": str(NOW + 5)},
        {**window, "page": "3", "endTime": str(NOW + 5)},
    ]
    assert bar.seen == [("of", 7), 2, 1, 1, 2, 1]
    assert [row["id"] for row in read.newest_first()] == list("9876543")
    assert [row["id"] for row in oldest_first([read])] == list("3456789")
    other = PagedRead(ENDPOINTS["fills"], (), rows={("60",): fill(60, 5), ("1",): fill(1, 99)})
    assert [row["id"] for row in oldest_first([read, other])] == ["3", "4", "5", "6", "7", "60", "8", "9", "1"]


# Parameters.


@pytest.mark.parametrize(
    ("value", "known", "expected"),
    [
        ("1m", (), 60),
        ("1w", (), 604_800),
        (timedelta(hours=1), (), 3_600),
        ("8d", (), None),
        ("59s", (), None),
        ("90s", (), None),
        ("0m", (), None),
        (timedelta(milliseconds=60_001), (), None),
        ("3m", (60, 180), 180),
        ("5m", (60, 180), None),
        ("30s", (30,), 30),
    ],
)
def test_an_interval_is_whole_minutes_up_to_a_week_or_one_that_is_known(
    value: Any, known: tuple[int, ...], expected: int | None
) -> None:
    if expected is not None:
        assert seconds(value, known) == expected
        return
    with pytest.raises(InputError) as caught:
        seconds(value, known)
    if known:
        assert "is not one of 1m, 3m" in str(caught.value)
        assert caught.value.nearest == ("1m", "3m")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, OrderRef(5)),
        ("5", OrderRef(5)),
        ({"ordId": "5", "clOrdId": "7", "symbol": "BTCUSDC"}, OrderRef(5, 7, "BTCUSDC")),
        ({"order_id": 5, "client_order_id": 0, "symbolCode": 2}, OrderRef(5, None, 2)),
        ({"orderId": 0, "clientOrderId": "7"}, OrderRef(None, 7)),
        (SimpleNamespace(order_id=5, cl_ord_id=pd.NA, symbol=None), OrderRef(5)),
        (SimpleNamespace(order_id=math.nan, cl_ord_id=7), OrderRef(None, 7)),
        (SimpleNamespace(order_id=5, results=(1,)), OrderRef(5)),
    ],
)
def test_an_order_is_named_by_id_receipt_or_row(value: Any, expected: OrderRef) -> None:
    assert order_ref(value) == expected
    assert is_order_row(value) is not isinstance(value, int | str)


def test_what_names_no_order_or_several_is_refused() -> None:
    several = SimpleNamespace(order_id=5, results=(1, 2))
    with pytest.raises(InputError, match=r"has 2 orders\. Name one of them") as caught:
        order_ref(several, "what")
    assert (caught.value.field, caught.value.value is not None) == ("what", True)
    for nothing in ({}, {"ordId": "0"}, {"ordId": ""}, SimpleNamespace(order_id=lambda: 5)):
        assert not is_order_row(nothing)
        with pytest.raises(InputError):
            order_ref(nothing)


def test_a_value_of_a_query_is_text_by_its_kind() -> None:
    params = {p.name: p for one in ENDPOINTS.values() for p in one.params.values()}
    fills = {p.name: p for p in ENDPOINTS["fills"].params.values()}
    flag = next(p for p in params.values() if p.kind == "flag")
    assert (query_text(flag, True), query_text(flag, False)) == ("true", "false")
    with pytest.raises(InputError, match=f"{flag.name} 1 is not True or False"):
        query_text(flag, 1)
    number = fills["order_id"]
    assert [query_text(number, one) for one in (5, 5.0, "5", {"ordId": 5})] == ["5"] * 4
    for wrong in (5.5, "x", -1):
        with pytest.raises(MalformedRequest, match=r"^order_id "):
            query_text(number, wrong)
    with pytest.raises(InputError, match="order_id is not known yet of this order"):
        query_text(number, {"clOrdId": 7})
    size = params["page_size"]
    assert query_text(size, size.high) == str(size.high)
    with pytest.raises(MalformedRequest) as caught:
        query_text(size, (size.high or 0) + 1)
    assert (caught.value.field, caught.value.value) == ("page_size", (size.high or 0) + 1)
