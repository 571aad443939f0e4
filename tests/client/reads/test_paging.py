"""Complete reads: every row once and in order, whatever arrives or fails meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolkit.client.io.flow import Driver, Fetch, Flow, Reply
from toolkit.client.reads.conversion import Query
from toolkit.client.reads.paging import PagedRead, identity
from toolkit.errors import TimedOut
from toolkit.progress import Progress
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.info_queries import ENDPOINTS

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
@given(st.lists(MS, min_size=1, max_size=40), st.integers(1, 7), st.booleans())
def test_rows_come_newest_first_and_all_of_them(times: list[int], cap: int, bare: bool) -> None:
    venue = PagedVenue(TRADES, times, cap=cap, bare=bare)
    read = PagedRead(TRADES, query(TRADES))
    venue.run(read)
    stamps = [row["blockTime"] for row in read.newest_first()]
    assert stamps == sorted(times, reverse=True)


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


def test_many_rows_of_one_millisecond_are_read_page_by_page() -> None:
    venue = PagedVenue(TRADES, [1_000_000_000_000] * 23, cap=5)
    assert len(venue.run(PagedRead(TRADES, query(TRADES)))) == 23


def test_a_row_that_changes_while_it_is_read_is_there_in_its_latest_state() -> None:
    venue = PagedVenue(STATES, [1_000_000_000_000 + at for at in range(9)], cap=3)
    calls: Iterator[int] = iter(range(100))

    def send(fetch: Fetch) -> Reply:
        reply = venue.send(fetch)
        if next(calls) == 0:
            venue.rows[0] |= {"status": "FILLED", "blockTime": 1_000_000_000_100}
        return reply

    read = PagedRead(STATES, query(STATES))
    Driver(send).run(read.run(venue.fetch, Progress.silent()))
    newest = read.newest_first()
    assert len(newest) == 9
    assert newest[0] == {"ordId": "1", "status": "FILLED", "blockTime": 1_000_000_000_100}


def test_a_short_read_asks_once() -> None:
    venue = PagedVenue(TRADES, [1_000_000_000_000])
    venue.run(PagedRead(TRADES, query(TRADES)))
    assert venue.requests == 1


def test_rows_without_an_id_are_identified_by_all_their_fields() -> None:
    assert identity(TRADES, {"id": "7", "price": "1"}) == ("7",)
    assert identity(TRADES, {"price": "1"}) != identity(TRADES, {"price": "2"})


def test_the_bar_appears_only_when_asked_or_late(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (None, False):
        bar = Progress("rows", shown)
        bar.expect(10)
        bar.add(5)
        bar.close()
    assert capsys.readouterr().err == ""
    bar = Progress("fills", shown=True)
    bar.expect(10)
    bar.add(5)
    bar.expect(20)
    bar.add(1)
    bar.close()
    assert "fills" in capsys.readouterr().err
