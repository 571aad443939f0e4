"""Complete reads of candles from a store that a test fills: which requests are sent, and what comes of the answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.client.io.flow import Driver, Flow, Reply, Runtime
from toolkit.client.reads.candle_cache import CandleCache
from toolkit.client.reads.candle_reads import CandleRequest, finish, read, read_last
from toolkit.coverage import gaps as missing
from toolkit.coverage import merged
from toolkit.errors import DataWarning, ExchangeError, MissingPackage
from toolkit.protocol.reads.door import Door
from toolkit.protocol.reads.endpoint import Endpoint

MINUTE = 60_000
BEGIN = 1_767_225_600_000
"""A whole week and minute, in ms."""
Asked = tuple[str, dict[str, str]]


class Store:
    """Candles of a minute by number, and of a week where there are any. Each request passes `passing_ms`."""

    door: Any

    def __init__(self, numbers: Iterable[int], *, cap: int = 1_000, weeks: Iterable[int] | None = ()) -> None:
        self.door = Door()
        self.minutes = sorted(numbers)
        self.weeks = None if weeks is None else sorted(weeks)
        self.cap = cap
        self.now_ms = BEGIN + 2 * 10**9
        self.passing_ms = 0
        self.asked: list[Asked] = []
        self.close: Callable[[int], str] = str

    def row(self, number: int, interval_s: int) -> dict[str, Any]:
        at = BEGIN // 1000 + number * interval_s
        prices = {"open": "9.5", "high": "1000000", "low": "0.5", "close": self.close(number + 1)}
        amounts = {"volume": "2", "turnover": "3", "tradeCount": 4}
        return {"symbolName": "BTCUSDC", "timestamp": at, "intrvl": interval_s, **prices, **amounts}

    def fetch(self, endpoint: Endpoint, query: tuple[tuple[str, str], ...]) -> Flow[Reply]:
        yield from ()
        given = dict(query)
        assert given.pop("symbol_name") == "BTCUSDC"
        interval_s = int(given.pop("interval"))
        self.asked.append((f"{endpoint.name} {interval_s}", given))
        self.now_ms += self.passing_ms
        numbers = self.minutes if interval_s == 60 else self.weeks
        if numbers is None:
            raise ExchangeError("no such interval", code=40003)
        starts = [(BEGIN + number * interval_s * 1000, number) for number in numbers]
        if endpoint.name == "klines":
            found = [at for start, at in starts if int(given["startTime"]) <= start <= int(given["endTime"])]
            found = found[-self.cap :]
        else:
            found = [at for start, at in starts if start < int(given["timestamp"])]
            found = found[-min(self.cap, int(given["limit"])) :]
        data = [self.row(number, interval_s) for number in found]
        return Reply(200, json.dumps({"code": 0, "message": "success", "data": data}).encode())

    def run(self, flow: Flow[pd.DataFrame]) -> pd.DataFrame:
        self.asked.clear()
        frame: pd.DataFrame = Driver(lambda _: Reply(200, b""), Runtime(now=lambda: self.now_ms)).run(flow)
        return frame


class Bar:
    """Counts what a progress bar is shown."""

    def __init__(self) -> None:
        self.expected: list[int | None] = []
        self.added: list[int] = []

    def expect(self, total: int | None) -> None:
        self.expected.append(total)

    def add(self, count: int) -> None:
        self.added.append(count)


def request(first: int, last: int, now: int | None = None, *, exact: bool = False, more_ms: int = 0) -> CandleRequest:
    """Return a request for the candles of the minutes `first` … `last`, at minute `now`."""
    begin, end = BEGIN + first * MINUTE, BEGIN + last * MINUTE + more_ms
    return CandleRequest("BTCUSDC", 60, begin, end, BEGIN + (10**5 if now is None else now) * MINUTE, exact)


def numbers(frame: pd.DataFrame) -> list[int]:
    times = frame.get("time", frame.index)
    return [round((at.timestamp() * 1000 - BEGIN) / MINUTE) for at in times]


def window(first: int, stop: int) -> Asked:
    """Return the request for the minutes `first` … `stop` without the last."""
    return "klines 60", {"startTime": str(BEGIN + first * MINUTE), "endTime": str(BEGIN + stop * MINUTE - 1)}


def before(number: int, limit: int, interval_s: int = 60) -> Asked:
    at = BEGIN + number * 1000 * interval_s
    return f"klines_before {interval_s}", {"timestamp": str(at), "limit": str(limit)}


@pytest.mark.parametrize("cap", [1_000, 50])
def test_a_range_is_read_in_windows_of_a_thousand_and_shown_as_it_comes(cap: int) -> None:
    store, bar = Store(range(2_100), cap=cap), Bar()
    frame = store.run(read(store, request(0, 2_049), None, bar))  # type: ignore[arg-type]
    assert numbers(frame) == list(range(2_050))
    assert bar.expected == [2_050]
    assert sum(bar.added) == 2_050
    if cap == 1_000:
        assert store.asked == [window(0, 1_000), window(1_000, 2_000), window(2_000, 2_050)]
        assert bar.added == [1_000, 1_000, 50]
    else:
        assert store.asked[:3] == [window(0, 1_000), window(0, 950), window(0, 900)]
    assert len(frame.attrs["raw"].pages) == len(store.asked)


@pytest.mark.parametrize(
    ("minutes", "weeks"),
    [
        (range(10_090, 14_000), [1]),  # the candle of a week says where those of a minute may begin
        (range(19_990, 20_000), []),  # without candles of a week, those of a minute are followed back
        (range(19_990, 20_000), None),  # a venue may have no such interval
    ],
)
def test_the_start_of_a_long_range_is_looked_for_before_it_is_read(minutes: range, weeks: list[int] | None) -> None:
    store, bar = Store(minutes, weeks=weeks), Bar()
    frame = store.run(read(store, request(0, 19_999), None, bar))  # type: ignore[arg-type]
    assert numbers(frame) == list(minutes)
    weekly = ("klines_before 604800", {"limit": "1000", "timestamp": str(BEGIN + 20_000 * MINUTE)})
    assert store.asked[0] == weekly
    searched = [one for one in store.asked if one[0].startswith("klines_before")]
    windows = [one for one in store.asked if one[0] == "klines 60"]
    if weeks:
        assert searched == [weekly]
        assert windows[0] == window(10_080, 11_080)
        assert bar.expected == [20_000 - 10_080]
    else:
        assert searched == [weekly, ("klines_before 60", weekly[1])]
        assert windows == [window(19_990, 20_000)]
        assert bar.expected == [10]


def test_a_search_for_the_start_ends_at_the_start_of_the_range_and_where_nothing_is_older() -> None:
    store = Store(range(4_000))
    frame = store.run(read(store, request(500, 3_600), None, Bar()))  # type: ignore[arg-type]
    assert numbers(frame) == list(range(500, 3_601))
    ends = [3_601, 2_601, 1_601, 601]
    assert [one[1]["timestamp"] for one in store.asked if one[0] == "klines_before 60"] == [
        str(BEGIN + end * MINUTE) for end in ends
    ]
    store = Store(range(4_000))
    frame = store.run(read(store, request(0, 3_999), None, Bar()))  # type: ignore[arg-type]
    assert [one[1]["timestamp"] for one in store.asked if one[0] == "klines_before 60"] == [
        str(BEGIN + end * MINUTE) for end in (4_000, 3_000, 2_000, 1_000)
    ]
    store = Store([], weeks=[])
    assert store.run(read(store, request(0, 5_000), None, Bar())).empty  # type: ignore[arg-type]
    assert [one[0] for one in store.asked] == ["klines_before 604800", "klines_before 60"]
    store = Store(range(3_000))
    store.run(read(store, request(0, 2_999), None, Bar()))  # type: ignore[arg-type]
    assert [one[0] for one in store.asked] == ["klines 60"] * 3, "three windows are read without a search"


def test_the_last_candles_are_completed_from_before_the_window() -> None:
    store = Store([1, 2, 5, 90, 95, 99])
    frame = store.run(read_last(store, request(90, 99), 5, None, Bar()))  # type: ignore[arg-type]
    assert numbers(frame) == [2, 5, 90, 95, 99]
    hour = {"startTime": str(BEGIN + 60 * MINUTE), "endTime": str(BEGIN + 60 * MINUTE)}  # whether the others were quiet
    assert store.asked == [window(90, 100), ("klines 3600", hour), before(90, 2)]
    assert len(frame.attrs["raw"].pages) == 2
    frame = store.run(read_last(store, request(96, 98), 9, None, Bar()))  # type: ignore[arg-type]
    assert numbers(frame) == [1, 2, 5, 90, 95], "all that there are"
    assert store.asked[2] == ("klines_before 60", {"timestamp": str(BEGIN + 98 * MINUTE + 1), "limit": "9"})
    assert store.asked[3:] == [before(1, 4)]
    frame = store.run(read_last(store, request(90, 99), 3, None, Bar()))  # type: ignore[arg-type]
    assert (numbers(frame), store.asked[::2]) == ([90, 95, 99], [window(90, 100)])
    frame = store.run(read_last(store, request(90, 99), 2, None, Bar()))  # type: ignore[arg-type]
    assert (numbers(frame), list(frame.index)) == ([95, 99], [0, 1])


WEEK, DAY, HOUR = 604_800, 86_400, 3_600


@pytest.mark.parametrize(("length_s", "offset_s"), [(WEEK, 4 * DAY), (DAY, 16 * HOUR), (4 * HOUR, HOUR)])
@pytest.mark.parametrize("cap", [1_000, 50])
def test_candles_may_start_anywhere(tmp_path: Path, length_s: int, offset_s: int, cap: int) -> None:
    """Weeks that start on Mondays, and days that start at 16:00: none is lost, and none is kept while it is forming."""
    store, cache = Store(()), CandleCache(tmp_path, "mainnet 1")
    length_ms, origin_ms = length_s * 1000, BEGIN // (length_s * 1000) * length_s * 1000 + offset_s * 1000
    starts = [origin_ms + number * length_ms for number in range(-200, 1)]
    now_ms = starts[-1] + length_ms // 3

    def fetch(endpoint: Endpoint, query: Any) -> Flow[Reply]:
        yield from ()
        given = dict(query)
        if endpoint.name == "klines":
            found = [at for at in starts if int(given["startTime"]) <= at <= int(given["endTime"])][-cap:]
        else:
            found = [at for at in starts if at < int(given["timestamp"])][-min(cap, int(given["limit"])) :]
        rows = [
            store.row(0, length_s) | {"timestamp": at // 1000} for at in found if int(given["interval"]) == length_s
        ]
        return Reply(200, json.dumps({"code": 0, "message": "success", "data": rows}).encode())

    store.fetch, store.now_ms = fetch, now_ms  # type: ignore[method-assign]
    for first, last in [(0, -1), (0, -1), (20, -1), (0, 100), (-1, -1), (7, 7)]:
        for more in (0, 1):  # from the start of a candle, and from just before the next one
            first_ms, last_ms = (
                starts[first] - more * (length_ms - 1),
                min(now_ms, starts[last] + more * (length_ms - 1)),
            )
            asked = CandleRequest("BTCUSDC", length_s, first_ms, last_ms, now_ms, False)
            for kept in (None, cache):
                frame = store.run(read(store, asked, kept, Bar()))  # type: ignore[arg-type]
                assert [round(at.timestamp() * 1000) for at in frame["time"]] == [
                    at for at in starts if first_ms <= at <= last_ms
                ]
    last = cache.load("BTCUSDC", length_s)[0]["time"].max().timestamp() * 1000
    assert starts[-3] <= last <= now_ms - length_ms


@pytest.mark.parametrize("exact", [False, True])
def test_a_cache_is_asked_first_and_given_what_is_closed(tmp_path: Path, exact: bool) -> None:
    store, cache = Store(range(200)), CandleCache(tmp_path, "mainnet 1")
    now = request(0, 119, 119, exact=exact, more_ms=30_000)
    store.now_ms = now.now_ms + 30_000
    frame = store.run(read(store, now, cache, Bar()))  # type: ignore[arg-type]
    assert numbers(frame) == list(range(120))
    assert type(frame["close"].iloc[0]) is (Decimal if exact else float) or not exact
    kept, covered = cache.load("BTCUSDC", 60)
    if exact:
        assert (len(kept), covered) == (0, []), "a cache holds floats"
        return
    # Minute 118 ended a minute before now, which is how long a candle may still change.
    assert numbers(kept) == list(range(118))
    begun = BEGIN + 117 * MINUTE + 1  # candles that start later, wherever, may be forming
    assert covered == [(BEGIN, begun)]
    frame = store.run(read(store, now, cache, Bar()))  # type: ignore[arg-type]
    assert (numbers(frame), store.asked) == (
        list(range(120)),
        [("klines 60", {"startTime": str(begun), "endTime": str(BEGIN + 120 * MINUTE - 1)})],
    )
    frame = store.run(read(store, request(50, 60, 119), cache, Bar()))  # type: ignore[arg-type]
    assert (numbers(frame), store.asked, list(frame.index)) == (list(range(50, 61)), [], list(range(11)))
    assert frame.attrs["raw"].pages == ()


@pytest.mark.parametrize("scope", ["local x", "mainnet 1"])
def test_a_local_cache_is_replaced_where_its_last_candle_is_another_now(tmp_path: Path, scope: str) -> None:
    store, cache = Store(range(200)), CandleCache(tmp_path, scope)
    store.run(read(store, request(0, 99), cache, Bar()))  # type: ignore[arg-type]
    store.run(read(store, request(0, 99), cache, Bar()))  # type: ignore[arg-type]
    last = ("klines_before 60", {"timestamp": str(BEGIN + 99 * MINUTE + 1), "limit": "1"})
    assert store.asked == ([last] if scope == "local x" else [])
    store.close = lambda number: "7.5"
    if scope == "local x":
        with pytest.warns(DataWarning, match="was started again and continued differently. It is replaced") as caught:
            frame = store.run(read(store, request(0, 99), cache, Bar()))  # type: ignore[arg-type]
        assert caught[0].filename == __file__
        assert store.asked == [last, window(0, 100)]
        assert set(cache.load("BTCUSDC", 60)[0]["close"]) == {7.5}
    else:
        frame = store.run(read(store, request(0, 99), cache, Bar()))  # type: ignore[arg-type]
    assert frame["close"].iloc[-1] == (7.5 if scope == "local x" else 100)


@pytest.mark.parametrize("exact", [False, True])
def test_an_interval_without_trades_is_filled_flat_at_the_last_close(exact: bool) -> None:
    store = Store([0, 1, 4])
    frame = store.run(read(store, request(0, 9, exact=exact), None, Bar()))  # type: ignore[arg-type]
    pages = frame.attrs["raw"].pages
    filled = finish(frame, request(0, 9), closed=False, fill=True)
    number: Any = Decimal if exact else float
    assert numbers(filled) == [0, 1, 2, 3, 4]
    assert filled.index.name == "time"
    assert filled["open"].tolist() == [number("9.5"), number("9.5"), number(2), number(2), number("9.5")]
    for name, price in (("high", "1000000"), ("low", "0.5")):
        assert filled[name].tolist() == [number(price), number(price), number(2), number(2), number(price)]
    assert filled["close"].tolist() == [number(one) for one in (1, 2, 2, 2, 5)]
    assert filled["volume"].tolist() == [number(one) for one in (2, 2, 0, 0, 2)]
    assert filled["turnover"].tolist() == [number(one) for one in (3, 3, 0, 0, 3)]
    assert filled["trades"].tolist() == [4, 4, 0, 0, 4]
    assert filled["interval"].tolist() == [60] * 5
    assert filled["symbol"].tolist() == ["BTCUSDC"] * 5
    assert {type(one) for name in ("open", "close", "volume", "turnover") for one in filled[name]} == {number}
    assert filled.attrs["raw"].pages == pages
    single = finish(frame.head(1), request(0, 9), closed=False, fill=True)
    assert numbers(single) == [0]
    assert finish(frame.head(0), request(0, 9), closed=True, fill=True).empty


RANGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=5)


@settings(max_examples=40)
@given(RANGES, st.tuples(st.integers(0, 12), st.integers(0, 12)))
def test_coverage_is_that_of_each_point(ranges: list[tuple[int, int]], wanted: tuple[int, int]) -> None:
    points = {at for start, end in ranges for at in range(start, end)}
    whole = merged(ranges)
    assert {at for start, end in whole for at in range(start, end)} == points
    assert all(earlier[1] < later[0] for earlier, later in pairwise(whole))
    assert all(start < end for start, end in whole)
    gaps = missing(whole, wanted)
    assert [at for start, end in gaps for at in range(start, end)] == [at for at in range(*wanted) if at not in points]
    assert all(start < end for start, end in gaps)
    assert len(gaps) <= len(whole) + 1


def test_a_file_of_a_cache_is_named_by_market_product_and_interval(tmp_path: Path) -> None:
    cache = CandleCache(tmp_path, "local 0xab/http://x").of_market("seed 7")
    assert cache.scope == "local 0xab/http://x seed 7"
    assert cache.is_local
    assert not CandleCache(tmp_path, "localhost 1").is_local
    assert CandleCache(tmp_path).of_market("mainnet 1").scope == "mainnet 1"
    name = cache.path("BTCUSDC", 60).name
    assert name.startswith("local_0xab_http_x_seed_7_BTCUSDC_")
    assert name.endswith("_60.parquet")
    long = CandleCache(tmp_path, "x" * 100).path("BTCUSDC", 3_600).name
    assert (long[:61], len(long)) == ("x" * 60 + "_", 60 + 1 + 8 + len("_3600.parquet"))
    assert (len(long[61:-13]), name.removesuffix("_60.parquet")[-9]) == (8, "_"), "eight digits"
    names = {CandleCache(tmp_path, scope).path("BTCUSDC", 60).name for scope in ("a b", "a_b", "a/b")}
    assert len(names) == 3, "the digest distinguishes what the readable part does not"


def test_a_cache_needs_pyarrow_and_says_so_when_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.extras.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="pyarrow is not installed"):
        CandleCache(tmp_path)
