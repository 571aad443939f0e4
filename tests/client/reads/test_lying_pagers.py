"""Every read ends, and says what it could not prove, whatever a venue makes of pages, totals and time."""

from __future__ import annotations

import asyncio
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pandas as pd
import pytest

import toolkit
from tests.client.fake import META, NOW
from tests.client.rows import nothing_of_sums, value_of
from toolkit.client.io.rate_limits import Rate
from toolkit.client.io.read_budget import ReadBudget
from toolkit.client.io.transport import Retry
from toolkit.client.reads.reading import whole
from toolkit.errors import BadAnswer, DataWarning, InputError, NotSent
from toolkit.protocol.reads.info_queries import ENDPOINTS
from toolkit.research import live
from toolkit.venue.local import LocalVenue

USER = "0x" + "ab" * 20
FAST = Rate(per_second=1e6, burst=10**6)


class Clock:
    """Time that only requests pass."""

    def __init__(self) -> None:
        self.ms = NOW

    def now_ms(self) -> int:
        return self.ms

    elapsed_ms = now_ms

    def sleep(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


@dataclass
class Pager:
    """A paged list of `count` rows. What is given beside that is how it lies, or moves while it is read.

    `total` is the number that it reports ("page": the rows of the page), None for bare arrays. It sends `size` rows a
    page at most, always the `same` page, or that many `turns` pages in turn. It leaves out `lose` rows of each page, in
    the first `lost_for` requests. `endless`: before the oldest row there is always another page. Each request takes
    `ms`, and changes `moves` rows, which come to the front for that.
    """

    query: str = "fills"
    count: int = 1_420
    total: Any = "honest"
    size: int = 500
    same: bool = False
    turns: int = 1
    lose: int = 0
    lost_for: int = 10**9
    endless: bool = False
    ms: int = 100
    moves: int = 0
    clock: Clock = field(default_factory=Clock)
    requests: int = 0
    rows: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.endpoint = ENDPOINTS[self.query]
        self.rows = [self.row(number) for number in range(self.count)]

    def row(self, number: int, at_ms: int | None = None) -> dict[str, Any]:
        record = self.endpoint.record
        given = {record.identity[0]: str(number), record.time: NOW - 10**7 + number if at_ms is None else at_ms}
        made = {one.wire: value_of(one) for one in record.fields if one.published} | nothing_of_sums(record)
        made |= {one.wire: number + 1 for one in record.fields if one.kind == "id"}
        return made | {"role": "MAKER"} | given

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == ENDPOINTS["products"].path:
            return httpx.Response(200, json={"code": 0, "message": "success", "data": META})
        assert request.url.path == self.endpoint.path
        self.requests += 1
        self.clock.ms += self.ms
        data = self.answer(dict(request.url.params))
        return httpx.Response(200, content=msgspec.json.encode({"code": 0, "message": "success", "data": data}))

    def answer(self, query: dict[str, str]) -> Any:
        time = self.endpoint.record.time
        for moved in range(self.moves):
            at = (self.requests * self.moves + moved) * 37 % len(self.rows)
            row = self.rows.pop(at)
            self.rows.append({**row, time: max(self.clock.ms, self.rows[-1][time])})
        if self.endless and self.requests > 1:
            oldest = self.rows[0]
            self.rows[:0] = [
                self.row(int(oldest[self.endpoint.record.identity[0]]) - back, oldest[time] - back)
                for back in range(self.size, 0, -1)
            ]
        size, page_number = min(self.size, int(query[self.endpoint.size_param])), int(query["page"])
        low = bisect_left(self.rows, int(query.get("startTime", 0)), key=lambda row: row[time])
        high = bisect_right(self.rows, int(query.get("endTime", 10**15)), key=lambda row: row[time])
        begin = max(low, high - page_number * size)
        page = self.rows[begin : max(low, high - (page_number - 1) * size)][::-1]
        if self.same:
            page = self.rows[::-1][self.requests % self.turns * size :][:size]
        if self.lose and self.requests <= self.lost_for:
            page = page[: len(page) // 2] + page[len(page) // 2 + self.lose :]
        if self.total is None:
            return page
        return {"total": {"honest": high - low, "page": len(page)}.get(self.total, self.total), "items": page}

    def session(self, **budget: Any) -> toolkit.Session:
        return toolkit.connect(
            "testnet", account=USER, transport=httpx.MockTransport(self), clock=self.clock, rates=FAST,
            retry=Retry(attempts=1, reads=ReadBudget(**budget)),
        )  # fmt: skip

    def read(self, *, awaited: bool = False, **budget: Any) -> tuple[pd.DataFrame, list[str]]:
        """Return the table of the query and the warnings of the read."""
        with warnings.catch_warnings(record=True) as caught, self.session(**budget) as session:
            warnings.simplefilter("always")
            if awaited:
                frame = asyncio.run(getattr(session.aio.info, self.query)())
            else:
                frame = getattr(session.info, self.query)()
        assert {one.category for one in caught} <= {DataWarning}
        record = self.endpoint.record
        assert frame[record.by_wire[record.identity[0]].column].is_unique
        return frame, [str(one.message) for one in caught]


QUERIES = ("fills", "order_states")


@pytest.mark.parametrize(("query", "total"), [("fills", "honest"), ("order_states", None)])
@pytest.mark.parametrize("size", [20, 500])
def test_an_honest_list_is_read_whole_and_without_a_word(query: str, size: int, total: str | None) -> None:
    for count in (0, 1, 20, 500, 1_420):
        pager = Pager(query, count, total, size)
        frame, said = pager.read()
        assert (len(frame), said) == (count, [])
        assert (frame.attrs["moved"], frame.attrs["missing"]) == (0, "")
        assert pager.requests <= count // (size - 1) + 12


LIES: dict[str, tuple[dict[str, Any], int, str, bool]] = {
    "none at all": ({"total": 0}, 1_420, "1,420 rows were read in .* but the venue reports a total of 0", False),
    "none of a few": ({"total": 0, "size": 7, "count": 30}, 30, "30 rows .* but the venue reports a total of 0", False),
    "as text": ({"total": "12"}, 1_420, "1,420 rows .* a total of 12", False),
    "as text, short pages": ({"total": "12", "size": 7}, 1_420, "1,420 rows .* a total of 12", False),
    "a hundred": ({"total": 100, "size": 20}, 1_420, "1,420 rows .* a total of 100", False),
    "that of the page": ({"total": "page", "size": 100}, 1_420, "1,420 rows .* a total of 100", False),
    "that of the usual page": ({"total": "page", "size": 20}, 1_420, "1,420 rows .* a total of 20", False),
    "too many": ({"total": 2_000}, 1_420, "1,420 of 2,000 rows were read in .* did not come at a second time", True),
    "one page": ({"same": True}, 500, "every page with the same 500 rows. 500 of 1,420 rows were read", True),
    "one short page": ({"same": True, "size": 7}, 7, "every page with the same 7 rows. 7 of 1,420 rows", True),
    "one page of no total": ({"same": True, "total": None}, 500, "the same 500 rows. 500 rows .* may be more", True),
    "two pages": ({"same": True, "turns": 2, "total": None}, 1_000, "the last 10 requests brought nothing new", True),
    "rows lost": ({"lose": 1}, 1_417, "1,417 of 1,420 rows were read in .* did not come at a second time", True),
    "rows lost of short pages": ({"lose": 1, "size": 7}, 1_183, "1,183 of 1,420 rows were read in", True),
}


@pytest.mark.parametrize(("lie", "query"), list(zip(LIES, QUERIES * 7, strict=True)))
def test_a_table_that_ends_early_or_has_another_length_than_reported_says_so_once(query: str, lie: str) -> None:
    given, count, words, short = LIES[lie]
    pager = Pager(query, **given)
    frame, said = pager.read(awaited=query == "order_states")
    assert len(frame) == count
    assert len(said) == 1
    assert re.search(words, said[0])
    assert frame.attrs["missing"] in said[0]
    assert (frame.attrs["missing"] != "") is short
    assert pager.requests < 500


@pytest.mark.parametrize("query", QUERIES)
def test_rows_that_were_lost_once_are_found_at_the_second_time(query: str) -> None:
    frame, said = Pager(query, lose=1, lost_for=3).read()
    assert (len(frame), said, frame.attrs["moved"]) == (1_420, [], 0)


# An account that changes its orders while they are read.


@pytest.mark.parametrize(("ms", "per_second"), [(20, 50), (250, 8), (500, 50)])
def test_orders_that_change_faster_than_a_request_takes_are_read_once_more(ms: int, per_second: int) -> None:
    pager = Pager("order_states", ms=ms, moves=max(1, ms * per_second // 1_000))
    frame, said = pager.read(awaited=ms == 250)
    # Three pages, the rows that changed, perhaps a page to end with, and the first page for the present total.
    assert pager.requests <= 6
    times = {int(row["ordId"]): row["blockTime"] for row in pager.rows}
    read = dict(zip(frame["order_id"], frame["time"].astype("int64"), strict=True))
    late = sum(time != times[number] for number, time in read.items())
    assert (len(read), late <= pager.moves) == (1_420, True), "all but those of the last request are as they are now"
    moved = frame.attrs["moved"]
    assert 0 < moved <= pager.moves * pager.requests
    assert len(said) == 1
    assert f"{moved:,} of 1,420 rows changed while they were read, in {pager.requests} requests and " in said[0]
    assert f" and {pager.requests * ms / 1000:,.1f} s. " in said[0]


def test_orders_that_change_faster_than_a_page_holds_end_the_read_too() -> None:
    pager = Pager("order_states", moves=300, size=100)
    frame, said = pager.read()
    assert pager.requests < 60
    assert frame.attrs["moved"] > 300
    assert frame.attrs["missing"] in said[0]
    assert "of 1,420 rows were read" in said[0]


# Budgets.


@pytest.mark.parametrize(
    ("query", "total", "size", "budget", "words"),
    [
        ("fills", None, 1, {"requests": 100}, "[0-9,]+ requests are the most for so many rows"),
        ("order_states", 100, 7, {"rows": 1_000}, "1,000 rows are the most for one read"),
        ("order_states", None, 7, {"seconds": 50}, "[0-9.]+ seconds are the most for so many rows"),
    ],
)
def test_a_list_that_always_has_one_more_page_ends(
    query: str, total: int | None, size: int, budget: dict[str, Any], words: str
) -> None:
    pager = Pager(query, 600, total, size, endless=True, ms=1_000 if "seconds" in budget else 1)
    frame, said = pager.read(**budget)
    assert pager.requests < 1_400
    assert len(said) == 1
    assert re.search(
        f": {words}. {len(frame):,} (of [0-9,]+ )?rows were read .*there may be more. The same call", said[0]
    )


def test_a_read_that_its_budget_ended_continues_with_the_same_call() -> None:
    pager, lengths = Pager(count=50, size=2), [0]
    with pager.session(requests=10) as session, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while lengths[-1] < 50:
            frame = session.fills()
            lengths.append(len(frame))
            assert ("The same call continues from there" in frame.attrs["missing"]) is (len(frame) < 50)
    assert lengths == sorted(set(lengths))
    assert len(lengths) > 3
    assert len(caught) == len(lengths) - 2


@pytest.mark.parametrize("name", ["requests", "seconds", "rows", "idle"])
def test_a_budget_is_above_zero(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} 0 of a ReadBudget is not above 0"):
        ReadBudget(**{name: 0})


# Candles have no total.


@dataclass
class Candles:
    """Candles of the last `count` minutes, `size` of them an answer: the newest, or the `oldest` of what is asked for.

    With `window` False it takes no notice of times. With `copies` it sends that many of one candle.
    """

    count: int
    size: int = 1_000
    oldest: bool = False
    window: bool = True
    copies: int = 0
    clock: Clock = field(default_factory=Clock)
    requests: int = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == ENDPOINTS["products"].path:
            return httpx.Response(200, json={"code": 0, "message": "success", "data": META})
        self.requests += 1
        query = dict(request.url.params)
        end = int(query["endTime"]) + 1 if "endTime" in query else int(query["timestamp"])
        begin = int(query.get("startTime", 0))
        oldest = NOW - 60_000 * self.count if query["interval"] == "60" else NOW
        span = (max(oldest, begin), min(NOW, end)) if self.window else (oldest, NOW)
        found = range(*span, 60_000)
        found = found[: self.size] if self.oldest else found[-min(self.size, int(query.get("limit", 1_000))) :]
        times = list(found[-1:]) * min(self.copies, (end - begin) // 60_000 + 1) if self.copies else found
        rows = [CANDLE | {"timestamp": time // 1_000} for time in times]
        return httpx.Response(200, json={"code": 0, "message": "success", "data": rows})

    def read(self, **given: Any) -> tuple[pd.DataFrame, list[str]]:
        transport, retry = httpx.MockTransport(self), Retry(reads=ReadBudget(requests=50))
        session = toolkit.connect(
            "testnet", account=USER, transport=transport, clock=self.clock, rates=FAST, retry=retry
        )
        with warnings.catch_warnings(record=True) as caught, session:
            warnings.simplefilter("always")
            frame = session.klines("BTCUSDC", "1m", progress=False, **given)
        assert frame.index.is_unique
        return frame, [str(one.message) for one in caught]


CANDLE = {one.wire: value_of(one) for one in ENDPOINTS["klines"].record.fields} | {
    "symbolName": "BTCUSDC",
    "intrvl": 60,
}


@pytest.mark.parametrize(
    ("candles", "words"),
    [
        (Candles(1_700, 49, window=False), "answers have only candles from outside the time that was asked for"),
        (
            Candles(1_700, 1),
            "[0-9,]+ requests are the most for so many rows. The candles of [0-9,]+ intervals of BTCUSDC",
        ),
        (Candles(1_700, copies=50), "requests are the most for so many rows. The candles of [0-9,]+ intervals"),
    ],
)
def test_candles_that_were_not_read_are_counted(candles: Candles, words: str, tmp_path: Path) -> None:
    given = {"start": NOW - 60_000 * 1_700, "end": NOW - 1}
    frame, said = candles.read(**given, cache=tmp_path)
    assert 0 < len(frame) < 1_700
    assert len(said) == 1
    assert re.search(words, said[0])
    assert frame.attrs["missing"] == said[0]
    # The cache does not take them for read.
    whole, said = Candles(1_700).read(**given, cache=tmp_path)
    assert (len(whole), said) == (1_700, [])


class Leaky(httpx.BaseTransport):
    """A transport to a local venue whose answers leave out the candles of a minute between two times, Unix s."""

    def __init__(self, venue: LocalVenue, hidden: range) -> None:
        self.inner: Any = venue.transport()
        self.hidden = hidden

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response: httpx.Response = self.inner.handle_request(request)
        response.read()
        if request.url.path != ENDPOINTS["klines"].path:
            return response
        answer = response.json()
        rows = answer["data"]
        answer["data"] = [row for row in rows if row["intrvl"] > 60 or row["timestamp"] not in self.hidden]
        return httpx.Response(response.status_code, json=answer)


@pytest.mark.parametrize("exact", [False, True])
def test_a_hole_in_candles_is_quiet_only_where_their_hour_has_no_more_trades(exact: bool, tmp_path: Path) -> None:
    with LocalVenue(clock="manual", market="calm") as venue:
        venue.advance("4h 10m")
        now = venue.host.now_ms() // 1_000
        hidden = range(now - 9_000, now - 3_000)
        given: Any = {"start": "5h", "exact": exact, "cache": None if exact else tmp_path, "progress": False}
        with toolkit.connect(venue=venue, transport=Leaky(venue, hidden)) as session:
            with pytest.warns(
                DataWarning, match=r"100 candles of BTCUSDC .* are missing, as longer ones count .* more"
            ):
                frame = session.klines("BTCUSDC", "1m", **given)
            assert len(frame) == 200
            coverage = frame.attrs["coverage"]
            [(begin, end)] = coverage["missing"]
            assert ((end - begin).total_seconds(), coverage["quiet"]) == (6_000, 0)
            with pytest.raises(BadAnswer, match="100 candles of BTCUSDC"):
                whole(frame)
        with toolkit.connect(venue=venue) as session:  # nothing of it was kept
            assert len(session.klines("BTCUSDC", "1m", **given)) == 300


@pytest.mark.parametrize("minutes", [3, 30, 100])
def test_a_quiet_market_has_holes_without_a_word(minutes: int) -> None:
    with LocalVenue(clock="manual", market=None) as venue, toolkit.connect(venue=venue) as session:
        venue.control.set_oracle("BTCUSDC", "62500")
        venue.control.add_liquidity("BTCUSDC", "SELL", "62510", "5")
        for _ in range(4):
            session.buy("BTCUSDC", "0.001")
            venue.advance(f"{minutes}m")
        frame = session.klines("BTCUSDC", "1m", start="1d", progress=False)
        assert (len(frame), frame.attrs["missing"], frame.attrs["coverage"]["missing"]) == (4, "", [])


# Decisions.


class Hiding(httpx.BaseTransport):
    """A transport to a local venue that leaves out rows of one query, and not in its total."""

    def __init__(self, venue: LocalVenue, name: str, hides: Callable[[dict[str, Any]], bool]) -> None:
        self.inner: Any = venue.transport()
        self.path, self.hides = ENDPOINTS[name].path, hides
        self.sent = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent += request.method == "POST"
        response: httpx.Response = self.inner.handle_request(request)
        response.read()
        if request.url.path != self.path:
            return response
        answer = response.json()
        answer["data"]["items"] = [row for row in answer["data"]["items"] if not self.hides(row)]
        return httpx.Response(response.status_code, json=answer)


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual") as made, toolkit.connect(venue=made) as session:
        session.buy("BTCUSDC", "0.01", price="50000")
        session.buy("ETHUSDC", "0.1", price="1000")
        yield made


def is_eth(row: dict[str, Any]) -> bool:
    return str(row["symbol"]) == "2"


SHORT = "1 of 2 rows were read in .* The others did not come at a second time either"


def test_orders_that_a_list_hides_are_cancelled_all_the_same(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue) as seeing:
        for stop in (lambda s: s.stop_all(), lambda s: s.limits.stop("test"), lambda s: s.cancel_all()):
            seeing.buy("ETHUSDC", "0.1", price="2000")
            with toolkit.connect(venue=venue, transport=Hiding(venue, "order_states", is_eth)) as session:
                stop(session)
            assert seeing.orders(open=True).empty


def test_limits_refuse_an_order_while_open_orders_may_be_missing(venue: LocalVenue) -> None:
    wire = Hiding(venue, "order_states", is_eth)
    limits = toolkit.Limits(max_position={"BTCUSDC": 0.05})
    with toolkit.connect(venue=venue, transport=wire, limits=limits) as session:
        sent = wire.sent
        with pytest.raises(NotSent, match=f"its limits can't be checked: /info/order/states: {SHORT}"):
            session.buy("BTCUSDC", "0.01", price="50000")
        assert wire.sent == sent


def test_permissions_and_their_end_need_all_agents(venue: LocalVenue) -> None:
    wire = Hiding(venue, "agents", lambda row: True)
    with toolkit.connect(venue=venue, transport=wire) as session:
        for call in (session.permissions, lambda: session.permissions.revoke("toolkit")):
            with pytest.raises(BadAnswer, match="0 of 2 rows were read"):
                call()


@pytest.mark.parametrize("query", ["fills", "order_states"])
def test_a_run_that_may_not_see_all_of_its_account_waits_for_it(venue: LocalVenue, query: str) -> None:
    """It notes why, and ends by its limit of age. It never trades by a list that may be short."""
    seen: list[int] = []
    wire = Hiding(venue, query, lambda row: len(seen) >= 2)

    def trade(ctx: Any, bar: Any) -> None:
        seen.append(bar.closed)
        ctx.buy("BTCUSDC", "0.01", *(() if query == "fills" else ("40000",)))

    session = toolkit.connect(venue=venue, transport=wire, retry=Retry(attempts=1))
    # The tables of its results warn.
    with session, pytest.warns(DataWarning, match="did not come at a second time"):
        run = live(trade, session, ["BTCUSDC"], duration="20m", limits=toolkit.Limits(max_stale=120))
    assert 2 <= len(seen) < 10
    said = run.events.loc[run.events["kind"] == "TRANSPORT", "text"]
    assert said.str.contains("rows were read in .* The others did not come at a second time either").any()


def test_a_table_by_which_something_is_decided_is_whole(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue, transport=Hiding(venue, "order_states", is_eth)) as session:
        with pytest.warns(DataWarning, match=SHORT):
            table = session.orders(open=True)
        with pytest.raises(BadAnswer, match=SHORT):
            whole(table[table["symbol"] == "BTCUSDC"])
        assert whole(session.fills()).empty
        assert whole(pd.DataFrame()).empty


# A key that is there twice.


@pytest.mark.parametrize("name", ["fills", "klines"])
@pytest.mark.parametrize(
    ("body", "key"),
    [
        ('{"code":0,"message":"success","data":null,"data":null}', "data"),
        ('{"code":0,"message":"success","data":[],"data":[]}', "data"),
        ('{"code":1,"code":0,"message":"success","data":[]}', "code"),
        ('{"code":0,"message":"no","data":[],"message":"success"}', "message"),
        ('{"code":0,"message":"success","data":{"total":5,"items":[],"total":0}}', "total"),
        ('{"code":0,"message":"success","data":{"total":0,"items":[],"items":[]}}', "items"),
        ('{ "code" : 0,\n"message": "success", "data": {"total": 12, "items": [], "total": 1} }', "total"),
        ('{"code":0,"message":"success","d\\u0061ta":[1],"data":[]}', "data"),
        ('{"code":0,"message":"\\"data\\":","data":[]}', ""),
        ('{"code":0,"message":"success","data":{"total":0,"items":[],"data":{"total":1,"items":[]}}}', ""),
        ('{"code":0,\n"message":"success","data":[ ]}', ""),
    ],
)
def test_an_answer_with_a_key_twice_is_refused(name: str, body: str, key: str) -> None:
    given = {"symbol": "BTCUSDC", "interval": "1m", "start": NOW - 60_000, "end": NOW} if name == "klines" else {}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == ENDPOINTS["products"].path:
            return httpx.Response(200, json={"code": 0, "message": "success", "data": META})
        return httpx.Response(200, content=body)

    retry, transport = Retry(attempts=1), httpx.MockTransport(answer)
    with toolkit.connect("testnet", account=USER, transport=transport, rates=FAST, retry=retry) as session:
        if not key:
            assert getattr(session.info, name)(**given).empty
            return
        with pytest.raises(BadAnswer, match=f"the JSON has the key '{key}' twice in one object"):
            getattr(session.info, name)(**given)
