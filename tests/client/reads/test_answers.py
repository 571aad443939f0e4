"""Answers of other shapes, a read that was interrupted, the size of a page, and lists that are out of date."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.client.fake import BTC, META, enveloped, session
from tests.client.reads.test_columns import TIERS, position
from tests.client.reads.test_reading import NOW, USER, World, fill
from tests.client.rows import nothing_of_sums, value_of
from toolkit.client.io.flow import Driver, Fetch, Flow, Reply
from toolkit.client.io.rate_limits import Rate, RateLimiter
from toolkit.client.io.transport import Retry
from toolkit.client.reads.conversion import Query
from toolkit.client.reads.derived_columns import legs
from toolkit.client.reads.paging import PagedRead
from toolkit.client.reads.reading import fetch_rows, read_success_head, read_typed
from toolkit.environments import LOCAL
from toolkit.errors import BadAnswer, ExchangeError, TimedOut
from toolkit.progress import Progress
from toolkit.protocol.reads.door import legible, seen
from toolkit.protocol.reads.endpoint import MAX_TIME, Endpoint
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
    ones = dict.fromkeys((one.wire for one in ENDPOINTS["fills"].record.fields), "1")
    whole = {**ones, "blockTime": NOW, "execStatus": "NEW"}
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
    record = ENDPOINTS[name].record
    row = {one.wire: value_of(one) for one in record.fields} | nothing_of_sums(record)
    world = World(**{name: [row] if total is None else {"total": total, "items": [row]}})
    for read in (read_typed(ENDPOINTS[name], Retry(attempts=1)), world.reader.typed(ENDPOINTS[name], {})):
        if (name, total) == ("positions", 2):
            with pytest.raises(BadAnswer, match="the answer has 1 of 2 rows"):
                world.run(read)
        else:
            assert world.run(read)


@pytest.mark.parametrize("time", [None, "", "x", -5, MAX_TIME + 1, float("inf"), []])
def test_a_time_that_cannot_be_read_sorts_its_row_last(time: Any) -> None:
    rows: dict[tuple[str, ...], Any] = {("1",): {"id": "1", "blockTime": time}, ("2",): fill(2, -NOW + 1)}
    rows |= {("3",): fill(3, MAX_TIME - NOW), ("a", "b"): {"blockTime": 1}, ("x",): {"blockTime": 1}}
    read = PagedRead(ENDPOINTS["fills"], (), rows=rows)
    assert [row.get("id") for row in read.newest_first()][::4] == ["3", "1"]


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


TRADES = ENDPOINTS["fills"]
STATES = ENDPOINTS["order_states"]
PAYOUTS = ENDPOINTS["referral_payouts"]


class PagedVenue:
    """A paged list of a venue, newest first; one of `arrivals` is added after each request.

    `cap` limits the rows per page, `bare` responds with an array without a total, `failures` are the numbers of the
    requests that time out.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        times: list[int],
        arrivals: list[int] = (),  # type: ignore[assignment]
        *,
        cap: int = 500,
        bare: bool = False,
        failures: frozenset[int] = frozenset(),
    ) -> None:
        self.endpoint = endpoint
        self.rows: list[dict[str, Any]] = []
        for time in sorted(times):
            self.put(time)
        self.first = len(self.rows)
        self.arrivals = list(arrivals)
        self.cap, self.bare, self.failures = cap, bare, failures
        self.requests = 0

    def put(self, time: int) -> None:
        """Add a row in front; times never decrease."""
        time = max([time, *(row[self.time] for row in self.rows[-1:])])
        number = str(len(self.rows) + 1)
        self.rows.append({self.endpoint.record.identity[0]: number, self.time: time})

    @property
    def time(self) -> str:
        return self.endpoint.record.time

    def send(self, fetch: Fetch) -> Reply:
        values = self.endpoint.parse(fetch.query)
        self.requests += 1
        if self.requests in self.failures:
            raise TimedOut("no answer in time")
        start, end = values.get("startTime"), values.get("endTime")
        found = [
            row
            for row in sorted(self.rows, key=lambda row: row[self.time], reverse=True)
            if (start is None or row[self.time] >= start) and (end is None or row[self.time] <= end)
        ]
        size = min(values[self.endpoint.size_param], self.cap)
        begin = (values["page"] - 1) * size
        page = found[begin : begin + size]
        for time in self.arrivals[:1]:
            self.put(time)
        del self.arrivals[:1]
        data = page if self.bare else {"total": len(found), "items": page}
        return Reply(200, msgspec.json.encode({"code": 0, "message": "success", "data": data}))

    def fetch(self, query: Query) -> Flow[Reply]:
        reply: Reply = yield Fetch("GET", self.endpoint.path, query)
        return reply

    def run(self, read: PagedRead) -> list[str]:
        Driver(self.send).run(read.run(self.fetch, Progress.silent()))
        return ids(read)


def ids(read: PagedRead) -> list[str]:
    return [row[read.endpoint.record.identity[0]] for row in read.newest_first()]


def query(endpoint: Endpoint) -> Query:
    return (("userAddr", "0x" + "ab" * 20),)


MS = st.integers(1_000_000_000_000, 1_000_000_000_006)


@settings(max_examples=40)
@given(
    st.sampled_from([TRADES, STATES, PAYOUTS]),
    st.lists(MS, max_size=40),
    st.lists(MS, max_size=12),
    st.integers(1, 7),
    st.booleans(),
)
@example(PAYOUTS, [1_000_000_000_000] * 2, [1_000_000_000_001, 1_000_000_000_002], 1, False)  # moves on as it is read
@example(PAYOUTS, [1_000_000_000_000] * 2, [1_000_000_000_001, 1_000_000_000_002], 1, True)
def test_no_row_is_skipped_or_doubled_while_new_ones_arrive(
    endpoint: Endpoint, times: list[int], arrivals: list[int], cap: int, bare: bool
) -> None:
    venue = PagedVenue(endpoint, times, arrivals, cap=cap, bare=bare)
    got = venue.run(PagedRead(endpoint, query(endpoint)))
    assert len(got) == len(set(got))
    assert set(got) >= {str(number + 1) for number in range(venue.first)}


@settings(max_examples=40)
@given(st.lists(MS, max_size=40), MS, MS, st.integers(1, 7))
def test_windows_include_both_ends(times: list[int], one: int, other: int, cap: int) -> None:
    start, end = sorted((one, other))
    read = PagedRead(TRADES, query(TRADES), start, end)
    PagedVenue(TRADES, times, cap=cap).run(read)
    assert sorted(row["blockTime"] for row in read.newest_first()) == sorted(t for t in times if start <= t <= end)


@settings(max_examples=40)
@given(
    st.lists(MS, min_size=1, max_size=30),
    st.lists(MS, max_size=6),
    st.integers(1, 5),
    st.frozensets(st.integers(1, 12), max_size=5),
)
def test_a_read_continues_where_it_failed(
    times: list[int], arrivals: list[int], cap: int, failures: frozenset[int]
) -> None:
    venue = PagedVenue(TRADES, times, arrivals, cap=cap, failures=failures)
    read = PagedRead(TRADES, query(TRADES))
    for _ in range(len(failures) + 1):
        try:
            venue.run(read)
        except TimedOut:
            continue
        break
    got = ids(read)
    assert read.done
    assert len(got) == len(set(got))
    assert set(got) >= {str(number + 1) for number in range(venue.first)}


class Listing:
    """A venue with a given product list that counts its requests."""

    def __init__(self, data: Any = META) -> None:
        self.data, self.asked = data, 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        return enveloped(0, "success", self.data)


def test_a_list_of_another_shape_is_an_error() -> None:
    with pytest.raises(BadAnswer, match="perpProducts"):
        session(Listing([])).product("BTCUSDC")


@given(
    per_second=st.floats(0.5, 100),
    burst=st.integers(1, 20),
    gaps=st.lists(st.integers(0, 500), min_size=1, max_size=60),
)
def test_no_window_ever_sees_more_than_the_rate_allows(per_second: float, burst: int, gaps: list[int]) -> None:
    limiter, now, sent = RateLimiter({"x": Rate(per_second, burst)}), 1_000_000.0, []
    for gap in gaps:
        now += gap
        sent.append(now / 1000 + limiter.reserve("x", int(now)))
    for first in range(len(sent)):
        for last in range(first, len(sent)):
            allowed = burst + (sent[last] - sent[first]) * per_second
            assert last - first + 1 <= allowed + 1 + 1e-6


def test_limits_are_per_key_and_can_be_off() -> None:
    limiter = RateLimiter({"a": Rate(1, 1)}, default=None)
    assert [limiter.reserve("a", 0), limiter.reserve("a", 0), limiter.reserve("b", 0)] == [0.0, 1.0, 0.0]
