"""Answers of other shapes, a read that was interrupted, the size of a page, and lists that are out of date."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import pytest
from msgspec import structs

from tests.client.fake import BTC, META
from tests.client.reads.test_columns import TIERS, position
from tests.client.reads.test_reading import NOW, USER, World, fill, paged, run
from tests.client.rows import value_of
from toolkit.client.io.flow import Reply
from toolkit.client.io.transport import Retry
from toolkit.client.reads.derived_columns import legs
from toolkit.client.reads.paging import PagedRead
from toolkit.client.reads.reading import fetch_rows, read_success_head, read_typed
from toolkit.environments import LOCAL
from toolkit.errors import BadAnswer, ExchangeError, InputError
from toolkit.protocol.reads.door import legible, seen
from toolkit.protocol.reads.endpoint import MAX_TIME
from toolkit.protocol.reads.info.orders import FILLS, OrderState
from toolkit.protocol.reads.info_queries import ENDPOINTS

SUCCESS = '{"code":0,"message":"success","data":'


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (SUCCESS + "[1]}", None),
        (SUCCESS + '{"a":1}}', None),
        (f" \n{SUCCESS}[1]}}\n ", None),
        (SUCCESS + "7}", 7),
        (SUCCESS + '[1],"more":2}', [1]),
        (SUCCESS + '{"a":1},"more":[2]}', {"a": 1}),
        ('{"code":0,"message":"\\"","data":[1]}', [1]),
        ('{"data":[1],"code":0,"message":""}', [1]),
    ],
)
def test_the_data_of_a_complete_success_is_left_to_its_frame(body: str, data: Any) -> None:
    reply = Reply(200, body.encode())
    made = read_success_head(reply, "GET /info")
    assert (made.code, made.data, made.reply) == (0, data, reply)


def test_an_answer_that_is_no_complete_success_is_read_whole() -> None:
    with pytest.raises(BadAnswer):
        read_success_head(Reply(200, (SUCCESS + "[1]").encode()), "GET /info")
    assert read_success_head(Reply(201, (SUCCESS + "[1]}").encode()), "GET /info").data == [1]
    refused = read_success_head(Reply(200, b'{"code":40003,"message":"no","data":[]}'), "GET /info")
    assert (refused.code, refused.message) == (40003, "no")


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("positions", [{"a": 1}, 5, {"b": 2}], [{"a": 1}, {"b": 2}]),
        ("positions", {"a": 1}, []),
        ("positions", None, []),
        ("fills", {"total": 1, "items": [{"a": 1}]}, [{"a": 1}]),
        ("fills", [{"a": 1}], [{"a": 1}]),
        ("fills", {"items": 7}, []),
        ("referral_code", {"a": 1}, [{"a": 1}]),
        ("referral_code", None, []),
    ],
)
def test_rows_are_those_of_the_shape_of_the_answer(name: str, data: Any, expected: list[Any]) -> None:
    world = World(**{name: data})
    assert world.run(fetch_rows(name, Retry(attempts=1), account=USER)) == expected
    assert [one.query for one in world.sent] == [(("userAddr", USER),)]


def test_rows_that_lack_what_their_record_needs_are_no_answer() -> None:
    whole = {**dict.fromkeys((one.wire for one in ENDPOINTS["fills"].record.fields), "1"), "blockTime": NOW}
    world = World(fills=[whole])
    [fill], body = world.run(world.reader.typed(FILLS, {}))
    assert (fill.order_id, fill.time, fill.price, whole["txHash"] in body.decode()) == (1, NOW, 1, True)
    assert world.run(read_typed(FILLS, Retry(attempts=1))) == [structs.replace(fill, symbol="1")]
    world.answers["fills"] = [{name: value for name, value in whole.items() if name != "orderId"}]
    for read in (read_typed(FILLS, Retry(attempts=1)), world.reader.typed(FILLS, {})):
        with pytest.raises(BadAnswer, match="orderId is missing"):
            world.run(read)


def test_a_row_with_an_amount_that_cannot_be_read_proves_nothing() -> None:
    loose = seen(OrderState, {"ordId": "7", "createTime": "?"})
    assert loose is not None
    assert (loose.order_id, loose.created, loose.filled) == (7, None, None)
    damaged = {"ordId": "7", "filledQty": "?"}
    assert seen(OrderState, damaged) is None
    assert seen(OrderState, "?") is None
    assert seen(OrderState, damaged, in_part=True) == seen(OrderState, {"ordId": "7"})
    assert legible(OrderState, [{"ordId": "7"}], "/p") == [seen(OrderState, {"ordId": "7"})]
    with pytest.raises(BadAnswer, match="GET /p: OrderState: filledQty '\\?' is not a quantity, in row 2 of 2"):
        legible(OrderState, [{"ordId": "7"}, damaged], "/p")


@pytest.mark.parametrize("total", [0, 1, 2, None])
@pytest.mark.parametrize("name", ["positions", "fills"])
def test_an_answer_with_fewer_rows_than_it_reports_is_refused_unless_it_is_a_page(name: str, total: int | None) -> None:
    row = {one.wire: value_of(one) for one in ENDPOINTS[name].record.fields}
    world = World(**{name: [row] if total is None else {"total": total, "items": [row]}})
    for read in (read_typed(ENDPOINTS[name], Retry(attempts=1)), world.reader.typed(ENDPOINTS[name], {})):
        if (name, total) == ("positions", 2):
            with pytest.raises(BadAnswer, match="the answer has 1 of 2 rows"):
                world.run(read)
        else:
            assert world.run(read)


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ({"rows": {("1",): fill(1), ("2",): fill(2)}}, {"startTime": str(NOW + 2)}),
        ({"rows": {("1",): {"id": "1"}}}, {"startTime": "0"}),
        ({"rows": {("1",): {"id": "1"}}, "start": NOW}, {"startTime": str(NOW)}),
        ({"rows": {("1",): fill(1)}, "end": NOW + 9}, {"endTime": str(NOW + 9)}),
        ({"rows": {("1",): fill(1)}, "start": NOW, "end": NOW + 9}, {"startTime": str(NOW), "endTime": str(NOW + 9)}),
        ({}, {}),
    ],
)
def test_a_read_that_was_interrupted_asks_first_for_what_arrived_since(
    given: dict[str, Any], first: dict[str, str]
) -> None:
    fetch, asked = paged(lambda query: {"total": 0, "items": []})
    read = PagedRead(ENDPOINTS["fills"], (), **given)
    run(read, fetch)
    assert asked[0] == {**first, "page": "1", "pageSize": "500"}
    assert len(asked) == (2 if given and "end" not in given else 1)


def test_a_list_without_times_is_continued_by_its_pages_alone() -> None:
    payouts = ENDPOINTS["referral_payouts"]
    fetch, asked = paged(lambda query: {"total": 0, "items": []})
    run(PagedRead(payouts, (), end=NOW, rows={("1",): {"id": "1"}}), fetch)
    run(PagedRead(payouts, (), rows={("1",): {"id": "1"}}), fetch)
    assert [query["page"] for query in asked] == ["1", "1"]
    assert all("endTime" not in query for query in asked)


@pytest.mark.parametrize("name", [name for name, one in ENDPOINTS.items() if one.size_param in one.params])
def test_a_page_is_as_large_as_the_venue_allows_and_500_rows_at_most(name: str) -> None:
    endpoint = ENDPOINTS[name]
    fetch, asked = paged(lambda query: {"total": 0, "items": []})
    run(PagedRead(endpoint, ()), fetch)
    high = endpoint.params[endpoint.size_param].high
    assert [int(query[endpoint.size_param]) for query in asked] == [min(500, high) if high else 500]


@pytest.mark.parametrize("time", [None, "", "x", -5, MAX_TIME + 1, float("inf"), []])
def test_a_time_that_cannot_be_read_sorts_its_row_last(time: Any) -> None:
    rows: dict[tuple[str, ...], Any] = {("1",): {"id": "1", "blockTime": time}, ("2",): fill(2, -NOW + 1)}
    rows |= {("3",): fill(3, MAX_TIME - NOW), ("a", "b"): {"blockTime": 1}, ("x",): {"blockTime": 1}}
    read = PagedRead(ENDPOINTS["fills"], (), rows=rows)
    assert [row.get("id") for row in read.newest_first()][::4] == ["3", "1"]


@pytest.mark.parametrize(("start", "end"), [(None, NOW), (NOW, None), (NOW, NOW), (None, None)])
def test_a_window_may_be_open_on_either_side(start: int | None, end: int | None) -> None:
    world = World(fills={"total": 0, "items": []})
    assert world.run(world.reader.resumable("fills", {}, start, end, False)).rows == {}
    bounds = {"startTime": start, "endTime": end}
    expected = {name: str(one) for name, one in bounds.items() if one is not None}
    usual = {"userAddr": USER, "page": "1", "pageSize": "500"}
    assert dict(world.sent[-1].query) == usual | expected
    with pytest.raises(InputError, match=f"^start {NOW + 1} is after end {NOW}$"):
        world.run(world.reader.resumable("fills", {}, NOW + 1, NOW, False))


def test_a_refused_genesis_leaves_the_address_as_the_identity() -> None:
    world = World()

    def refuse(query: dict[str, str]) -> None:
        raise ExchangeError("no such block", code=40003)

    world.answers["block"] = refuse
    assert world.run(world.reader.market_identity(LOCAL)) == f"local {LOCAL.base_url}"


@pytest.mark.parametrize("precision", [3, 28, 50])
def test_legs_do_not_depend_on_the_precision_of_the_caller(precision: int) -> None:
    rows = [position(long_size=7), position("ETHUSDC", margin_mode="ISOLATED", assigned_margin=31)]
    tiers = dict.fromkeys(("BTCUSDC", "ETHUSDC"), TIERS)
    whole = legs(rows, Decimal(100), tiers, exact=True)
    with localcontext(prec=precision):
        made = legs(rows, Decimal(100), tiers, exact=True)
    assert made.astype(str).to_dict("list") == whole.astype(str).to_dict("list")
    assert str(made["entry_price"][0]) == "25.71428571428571428571428571"


@pytest.mark.parametrize(("checksum", "kept"), [(META["md5Checksum"], True), ("other", False), (None, True)])
def test_a_product_list_with_another_checksum_makes_the_reader_look_again(checksum: Any, kept: bool) -> None:
    world = World()
    world.run(world.reader.table("products", {}))
    assert world.catalogue.known is None, "nothing is known before the first use"
    known = world.run(world.catalogue.table())
    world.answers["products"] = {**META, "perpProducts": [BTC], "md5Checksum": checksum}
    world.run(world.reader.table("products", {}))
    assert world.catalogue.known is (known if kept else None)
