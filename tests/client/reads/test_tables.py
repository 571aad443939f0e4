"""What a session reads: long reads over a failing wire, candles in windows and from the cache, the product list."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pandas as pd
import pytest

import toolkit
from toolkit.client.io.flow import Reply
from toolkit.client.reads.candle_cache import CandleCache
from toolkit.errors import DataWarning, InputError, MalformedRequest, NotSent, UnknownProduct
from toolkit.numerals import moment
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

Change = Callable[[httpx.Request, httpx.Response], httpx.Response]


class Wire(httpx.BaseTransport):
    """A transport to a venue that counts requests, fails, and changes responses as the test demands."""

    def __init__(self, venue: LocalVenue) -> None:
        self._inner = venue.transport()
        self.paths: list[str] = []
        self.requests: list[httpx.Request] = []
        self.fails: Callable[[httpx.Request], bool] = lambda request: False
        self.change: Change = lambda request, response: response

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        self.requests.append(request)
        if self.fails(request):
            raise httpx.ConnectError("refused")
        response = self._inner.handle_request(request)
        response.read()
        return self.change(request, response)


@pytest.fixture(scope="module")
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual") as made, toolkit.connect(venue=made) as session:
        made.advance("3m")
        for number in range(12):
            session.buy("BTCUSDC" if number % 2 else "ETHUSDC", "0.02")
            made.advance("20s")
        session.buy("BTCUSDC", "0.01", price="50000")
        made.advance("40s")
        yield made


@pytest.fixture
def wire(venue: LocalVenue) -> Wire:
    return Wire(venue)


@pytest.fixture
def session(venue: LocalVenue, wire: Wire) -> Iterator[Session]:
    with toolkit.connect(venue=venue, transport=wire) as made:
        wire.paths.clear()
        yield made


# Long reads.


def test_a_read_that_failed_continues_with_the_same_call(
    session: Session, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkit.client.reads.paging.PAGE_SIZE", 5)
    whole = session.fills()
    session.fills()
    assert len(whole) == 12
    wire.paths.clear()
    wire.fails = lambda request: "endTime" in request.url.params and len(wire.paths) > 2
    with pytest.raises(NotSent) as caught:
        session.fills()
    assert any("rows were read. The same call continues from there" in note for note in caught.value.__notes__)
    wire.fails = lambda request: False
    wire.requests.clear()
    again = session.fills()
    pd.testing.assert_frame_equal(again, whole)
    # The roles, which are not published, are asked for afterwards.
    assert sum("role" not in one.url.params for one in wire.requests if one.url.path == "/info/trade/page") <= 3


def test_different_reads_are_not_mixed_up(session: Session, wire: Wire) -> None:
    wire.fails = lambda request: request.url.path == "/info/trade/page"
    with pytest.raises(NotSent):
        session.fills("BTCUSDC")
    wire.fails = lambda request: False
    assert set(session.fills("ETHUSDC")["symbol"]) == {"ETHUSDC"}
    assert set(session.fills("BTCUSDC")["symbol"]) == {"BTCUSDC"}


def test_the_awaited_twin_reads_the_same(venue: LocalVenue) -> None:
    session = toolkit.connect(venue=venue)

    async def read() -> list[pd.DataFrame]:
        aio = session.aio
        return [await aio.fills(), await aio.orders(open=True), await aio.klines("BTCUSDC", "1m", limit=5)]

    fills, orders, klines = asyncio.run(read())
    pd.testing.assert_frame_equal(fills, session.fills())
    pd.testing.assert_frame_equal(orders, session.orders(open=True))
    pd.testing.assert_frame_equal(klines, session.klines("BTCUSDC", "1m", limit=5))


def test_the_raw_answers_of_a_long_read_are_kept(session: Session) -> None:
    made = session.fills()
    assert made.attrs["raw"].json()[0]["data"]["total"] == 12
    assert session.positions().attrs["raw"].json()[0]["code"] == 0


# Rate limits.


def answered(data: Any, status: int = 200, code: int = 0, **headers: str) -> Reply:
    body = msgspec.json.encode({"code": code, "message": "success" if not code else "slow down", "data": data})
    return Reply(status, body, headers)


# Candles.


def kline(start: int) -> dict[str, Any]:
    number = str(start // 60_000 % 1000 + 1)
    return {
        "symbolName": "BTCUSDC",
        "timestamp": start // 1000,
        "intrvl": 60,
        **dict.fromkeys(("open", "high", "low", "close", "volume", "turnover"), number),
        "tradeCount": 1,
    }


def test_intervals_without_trades_do_not_count() -> None:
    with (
        LocalVenue(clock="manual", market=False) as venue,
        toolkit.connect(venue=venue) as s,
        toolkit.connect(venue=venue, account=1) as bob,
    ):
        for price in ("60000", "60010", "60020"):
            s.buy("BTCUSDC", "0.01", price=price)
            bob.sell("BTCUSDC", "0.01", price=price)
            venue.advance("1h")
        assert s.klines("BTCUSDC", "1m", limit=2)["close"].tolist() == [60010, 60020]
        assert s.klines("BTCUSDC", "1m", limit=5)["close"].tolist() == [60000, 60010, 60020]
        assert len(s.klines("BTCUSDC", "1m", limit=3, fill=True)) == 3
        assert s.klines("ETHUSDC", "1m", limit=3).empty


@pytest.mark.parametrize("interval", ["1M", "12M"])
def test_months_are_refused_and_never_minutes(session: Session, interval: str) -> None:
    with pytest.raises(InputError, match=r"M would be months, which differ in length\. Minutes are m"):
        session.klines("BTCUSDC", interval)
    assert len(session.klines("BTCUSDC", "1H", limit=2)) == 2


def test_one_line_reads_of_the_market(session: Session, venue: LocalVenue) -> None:
    ticker = session.ticker("BTCUSDC")
    assert ticker.index.tolist() == ["BTCUSDC"]
    pd.testing.assert_frame_equal(ticker, session.ticker(1))
    tickers = session.tickers()
    assert set(tickers.index) == set(session.products().index)
    assert tickers.loc["BTCUSDC", "mark_price"] == ticker.loc["BTCUSDC", "mark_price"]
    book = session.order_book("BTCUSDC", depth=3)
    assert book.groupby("side")["level"].max().to_dict() == {"BUY": 3, "SELL": 3}
    best = book[book["level"] == 1].set_index("side")["price"]
    assert best["BUY"] < best["SELL"]
    assert (session.trades("BTCUSDC")["symbol"] == "BTCUSDC").all()
    assert session.funding_rates("BTCUSDC").index.tolist() == ["BTCUSDC"]
    rates = session.fee_rates()
    assert rates.loc["BTCUSDC"].to_dict() == {"maker_fee_rate": 0.0001, "taker_fee_rate": 0.0006}
    exact = session.fee_rates(exact=True)
    assert exact.loc["ETHUSDC", "taker_fee_rate"] == Decimal("0.0006")
    assert session.stream.health.live == []
    with pytest.raises(UnknownProduct):
        session.ticker("NOSUCH")


def test_closed_candles_are_read_from_disk_the_second_time(
    session: Session, wire: Wire, venue: LocalVenue, tmp_path: Path
) -> None:
    window = ("2025-12-31T00:00", "2025-12-31T23:59")
    first = session.klines("BTCUSDC", "5m", *window, cache=tmp_path)
    assert "/info/kline/list" in wire.paths
    wire.paths.clear()
    again = session.klines("BTCUSDC", "5m", *window, cache=tmp_path)
    part = session.klines("BTCUSDC", "5m", "2025-12-31T06:00", "2025-12-31T07:00", cache=tmp_path)
    assert "/info/kline/list" not in wire.paths
    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(first.loc["2025-12-31T06:00":"2025-12-31T07:00"], part)
    wider = session.klines("BTCUSDC", "5m", "2025-12-30T22:00", "2026-01-01T00:00", cache=tmp_path)
    assert wire.paths.count("/info/kline/list") == 2
    pd.testing.assert_frame_equal(wider, session.klines("BTCUSDC", "5m", "2025-12-30T22:00", "2026-01-01T00:00"))


def test_a_damaged_cache_file_counts_as_empty_and_is_named(session: Session, tmp_path: Path) -> None:
    window = ("2025-12-31T00:00", "2025-12-31T01:00")
    whole = session.klines("BTCUSDC", "5m", *window, cache=tmp_path)
    (file,) = tmp_path.glob("*.parquet")
    flipped = bytearray(file.read_bytes())
    flipped[len(flipped) // 3] ^= 1
    for damage in (b"", b"not parquet", file.read_bytes()[:-20], bytes(flipped)):
        file.write_bytes(damage)
        with pytest.warns(DataWarning, match=re.escape(str(file))) as caught:
            pd.testing.assert_frame_equal(session.klines("BTCUSDC", "5m", *window, cache=tmp_path), whole)
        assert [one.filename for one in caught] == [__file__], "it names the user's line"


@pytest.mark.parametrize("other", [{"market": "stressed"}, {"seed": 7}])
def test_a_cache_never_gives_the_candles_of_another_market(tmp_path: Path, other: dict[str, Any]) -> None:
    """The last case has the same genesis, and another price by hand."""

    def read(cache: Path | None, jump: str | None, **options: Any) -> pd.DataFrame:
        with LocalVenue(clock="manual", **options) as venue, toolkit.connect(venue=venue) as session:
            if jump is not None:
                venue.control.set_oracle("BTCUSDC", jump)
            venue.advance("20m")
            return session.klines("BTCUSDC", "1m", limit=15, cache=cache)

    read(tmp_path, None, seed=7)
    jump = "70000" if other == {"seed": 7} else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        cached = read(tmp_path, jump, **other)
    pd.testing.assert_frame_equal(cached, read(None, jump, **other))


def test_candles_are_complete_where_the_cache_cannot_be_written(session: Session, tmp_path: Path) -> None:
    window = ("2025-12-31T00:00", "2025-12-31T01:00")
    (tmp_path / "taken").write_text("a file where the directory should be")
    with pytest.warns(DataWarning, match="can't be written"):
        read = session.klines("BTCUSDC", "5m", *window, cache=tmp_path / "taken")
    pd.testing.assert_frame_equal(read, session.klines("BTCUSDC", "5m", *window))


# Products.


def changed_products(change: Callable[[dict[str, Any]], None]) -> Change:
    def apply(request: httpx.Request, response: httpx.Response) -> httpx.Response:
        if request.url.path != "/info/public/product-meta":
            return response
        envelope = response.json()
        change(envelope["data"])
        return httpx.Response(200, content=msgspec.json.encode(envelope))

    return apply


def test_one_broken_product_is_left_out_with_a_warning(session: Session, wire: Wire) -> None:
    wire.change = changed_products(lambda data: data["perpProducts"][1].update(tickSize="cheap"))
    with pytest.warns(UserWarning, match="product 'ETHUSDC' is left out"):
        shown = session.products()
    assert shown.index.tolist() == ["BTCUSDC", "SOLUSDC", "XRPUSDC"]
    assert shown["tick_size"].dtype == "float64"


# What users write.


@pytest.mark.parametrize(
    "value",
    [
        1_767_225_600_000,
        "1767225600000",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01T01:00:00+01:00",
        date(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=UTC),
        pd.Timestamp("2026-01-01"),
        pd.Timestamp("2026-01-01T01:00", tz="Europe/Paris"),
        pd.Timestamp("2026-01-01").to_datetime64().astype("M8[ms]").astype("int64"),
        *(pd.Timestamp("2026-01-01").to_datetime64().astype(f"M8[{unit}]") for unit in ("D", "s", "ms", "us", "ns")),
        *(1_767_225_600 * scale for scale in (1, 10**3, 10**6, 10**9)),
        pd.Timestamp("2026-01-01").value,
        1_767_225_600.0,
        "1767225600",
        "20260101",
        "2026-01-01 UTC",
        "2d",
        "1d 24h",
        timedelta(days=2),
        pd.Timedelta(days=2),
    ],
    ids=repr,
)
def test_times_are_read_in_every_usual_form(value: Any) -> None:
    assert moment(value, "start", 1_767_398_400_000) == 1_767_225_600_000


@pytest.mark.parametrize(
    "value",
    [
        *("tomorrow", 1.5, True, None, "", [1], -5, -1_767_225_600_000, "-5", "nan", float("nan"), float("inf")),
        *(pd.NaT, pd.NA, pd.Timestamp("NaT").to_datetime64(), pd.Series([1, 2]), 10**40, "9" * 5000),
    ],
)
def test_what_is_no_time_is_named(value: Any) -> None:
    with pytest.raises(MalformedRequest, match=r"(?s)^start .* is not a time. Use milliseconds, ISO text"):
        moment(value, "start", 1_767_398_400_000)


def test_words_for_times_follow_the_clock_they_are_given() -> None:
    now_ms = 1_767_398_400_000 + 5
    assert moment("now", "start", now_ms) == now_ms
    assert moment("today", "start", now_ms) == now_ms - 5
    assert moment("yesterday", "start", now_ms) == now_ms - 5 - 86_400_000
    with pytest.raises(MalformedRequest, match="is not a time"):
        moment("7d", "start")


@pytest.mark.parametrize("start", [1, 500, 10_000])
def test_a_number_of_candles_in_the_place_of_a_time_is_refused(session: Session, start: int) -> None:
    with pytest.raises(InputError, match=f"start {start} would be in 1970. A number of candles is limit={start}"):
        session.klines("BTCUSDC", "1h", start)


def test_a_start_after_the_end_or_after_now_names_both(session: Session, venue: LocalVenue) -> None:
    with pytest.raises(InputError, match=r"^start 2026-03-01 is after end 2026-02-01$"):
        session.klines("BTCUSDC", "1m", "2026-03-01", "2026-02-01")
    with pytest.raises(InputError, match=r"^start 2030-01-01 is after now$") as caught:
        session.klines("BTCUSDC", "1m", "2030-01-01")
    assert (caught.value.field, caught.value.rule) == ("start", "order")


def test_the_cache_never_keeps_a_candle_that_may_still_change(
    session: Session, wire: Wire, venue: LocalVenue, tmp_path: Path
) -> None:
    session.klines("BTCUSDC", "1m", limit=10, cache=tmp_path)
    scope = f"local {venue.host.core.block_hash(0)}"
    kept, covered = CandleCache(tmp_path, scope).load("BTCUSDC", 60)
    closed_ms = (venue.host.now_ms() - 60_000) // 60_000 * 60_000
    assert covered[-1][1] == closed_ms, "closed a minute ago or earlier: clocks differ"
    assert kept["time"].max() < pd.Timestamp(covered[-1][1], unit="ms", tz="UTC")
    wire.paths.clear()
    fresh = session.klines("BTCUSDC", "1m", limit=10, cache=tmp_path)
    assert wire.paths.count("/info/kline/list") == 1
    pd.testing.assert_frame_equal(fresh, session.klines("BTCUSDC", "1m", limit=10))


@pytest.mark.parametrize("offset_ms", [0, 1, 30_000, 59_999])
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_limit_gives_that_many_candles_at_any_moment(offset_ms: int, limit: int) -> None:
    with LocalVenue(clock="manual", start=1_767_225_600_000) as venue, toolkit.connect(venue=venue) as s:
        venue.advance(f"{offset_ms}ms")
        for interval in ("1m", "1h"):
            assert len(s.klines("BTCUSDC", interval, limit=limit)) == limit
            assert len(s.klines("BTCUSDC", interval, limit=limit, closed=True)) == limit
            assert len(s.klines("BTCUSDC", interval, limit=limit, end=venue.host.now_ms() - 86_400_000)) == limit


def test_the_forming_candle_can_be_left_out(session: Session, venue: LocalVenue) -> None:
    every = session.klines("BTCUSDC", "1m", limit=4)
    closed = session.klines("BTCUSDC", "1m", limit=4, closed=True)
    now = pd.Timestamp(venue.host.now_ms(), unit="ms", tz="UTC")
    assert every.index[-1] > now - pd.Timedelta("1min")
    assert closed.index[-1] <= now - pd.Timedelta("1min")
    assert len(every) == len(closed) == 4


def test_a_window_the_wrong_way_round_is_refused(session: Session) -> None:
    with pytest.raises(InputError, match="is after end"):
        session.klines("BTCUSDC", "1h", "2026-01-01", "2025-01-01")
