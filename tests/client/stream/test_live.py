"""Live objects over a client whose messages and time a test gives: all that they show, at each bound."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from tests.client.rows import value_of
from toolkit.client.stream.async_stream import AsyncLive
from toolkit.client.stream.channel_state import FeedRow
from toolkit.client.stream.client import FeedClient
from toolkit.client.stream.kinds import LiveAccount, LiveBook, LiveCandles, LiveLog, LiveTable, LiveValue
from toolkit.client.stream.live import Live
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.client.stream.updates import Settings
from toolkit.errors import BadAnswer, DataWarning, FeedError, StaleData, SubscriptionRefused
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.feed import RECORDS

USER = "0x" + "ab" * 20
BTC = {"symbol": "BTCUSDC"}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Quiet:
    """A shell whose time a test sets. Each look at a live object brings the next of the messages that wait."""

    def __init__(self, client: FeedClient) -> None:
        self.client = client
        self.manual = True
        self.reads = False
        self.now = 1_000
        self.waiting: deque[str] = deque()

    def now_ms(self) -> int:
        return self.now

    def wake(self) -> None:
        if self.client.protocol.phase == "waiting":
            self.client.protocol.connecting()
            self.client.protocol.opened(self.now)

    def is_reader_thread(self) -> bool:
        return self.reads

    def pump(self) -> None:
        if self.waiting:
            self.client.protocol.received(self.waiting.popleft(), self.now)
        self.client.protocol.data_to_send(self.now)
        self.client.dispatch()

    def stop(self) -> None:
        return


class Feed:
    """A client with its shell, and the words of its venue."""

    def __init__(self) -> None:
        self.client = FeedClient(FeedProtocol(Settings(rate=None)))
        self.client.shell = self.shell = Quiet(self.client)

    def open(self, made: Any, kind: str, fields: dict[str, Any], **more: Any) -> Any:
        return made(self.client, wire.CHANNELS[kind], fields, **more)

    def log(self) -> LiveLog:
        return self.open(LiveLog, "trades", BTC)  # type: ignore[no-any-return]

    def ticker(self) -> LiveValue:
        return self.open(LiveValue, "ticker", BTC)  # type: ignore[no-any-return]

    def part(self, part: str) -> LiveAccount:
        return self.open(LiveAccount, "aopState", {"userAddress": USER}, part=part)  # type: ignore[no-any-return]

    def say(self, kind: str, sequence: int, form: str = "snapshot", *, later: bool = False, **data: Any) -> None:
        also = dict.fromkeys(wire.CHANNELS[kind].also)
        text = json.dumps({"channel": kind, "data": {"type": form, "sequence": sequence, **also, **data}})
        self.shell.waiting.append(text)
        if not later:
            self.shell.pump()

    def trades(self, sequence: int, *times: int, form: str = "incremental", later: bool = False) -> None:
        self.say("trades", sequence, form, later=later, **BTC, trades=[trade(at) for at in times])

    def price(self, sequence: int, price: str, **more: Any) -> None:
        ticker = published("ticker", s="BTCUSDC", p=price)
        self.say("ticker", sequence, "snapshot", **BTC, ticker=ticker, **more)


def published(kind: str, **given: Any) -> dict[str, Any]:
    """Return an item with every field that is published."""
    record = RECORDS[kind]
    names = wire.CHANNELS[kind].columns or record.published
    return {**{name: value_of(record.by_wire[name]) for name in names}, **given}


def trade(at: int) -> dict[str, Any]:
    return published("trades", filledPx=f"{at}.5", filledQty="2", transactionTime=at)


def times(rows: list[FeedRow]) -> list[int]:
    return [round((one.time - EPOCH).total_seconds() * 1000) for one in rows]


@pytest.fixture
def feed() -> Feed:
    return Feed()


def test_what_has_no_rows_is_true_empty_and_has_no_newest(feed: Feed) -> None:
    log, candles, book, ticker = (
        feed.log(),
        feed.open(LiveCandles, "candle", {**BTC, "interval": "60"}),
        feed.open(LiveBook, "orderBook", {**BTC, "depth": 2}),
        feed.ticker(),
    )
    assert all((log, candles, book, ticker, AsyncLive(log)))
    assert (len(log), log.last, candles.last, ticker.value, feed.part("accounts").value) == (0, None, None, {}, {})
    assert (book.bids(), book.asks(), book.best_bid, book.best_ask, book.mid, book.spread, book.time) == (
        *([], [], None, None, None, None, None),
    )
    assert (log.age_ms, log.sequence, log.updates, log.holes, log.errors) == (None, 0, 0, 0, [])


def test_a_frame_has_every_row_its_types_and_how_fresh_it_is(feed: Feed) -> None:
    log = feed.log()
    feed.trades(7, 1_000, 2_500)
    feed.shell.now += 40
    frame = log.frame()
    assert frame.attrs == {
        "subject": "trades.BTCUSDC",
        "state": "live",
        "stale": False,
        "age_ms": 40,
        "sequence": 7,
    }
    assert frame[["time", "symbol", "price", "quantity"]].to_dict("list") == {
        "time": [pd.Timestamp(1, unit="s", tz="UTC"), pd.Timestamp(2.5, unit="s", tz="UTC")],
        "symbol": ["BTCUSDC"] * 2,
        "price": [1_000.5, 2_500.5],
        "quantity": [2.0, 2.0],
    }
    exact = log.frame(exact=True, index="time")
    assert exact["price"].tolist() == [Decimal("1000.5"), Decimal("2500.5")]
    assert exact.index.tolist() == frame["time"].tolist()
    assert exact.index.name == "time"


def test_candles_are_in_the_order_of_time_and_known_by_it(feed: Feed) -> None:
    candles = feed.open(LiveCandles, "candle", {**BTC, "interval": "60"})

    def say(form: str, *starts: int) -> None:
        made = [
            published("candle", symbolName="BTCUSDC", intrvl=60, timestamp=60 * at, low="1", close=str(at), high="9")
            for at in starts
        ]
        feed.say("candle", 0, form, **made[-1], recent=made[:-1])

    say("snapshot", 5, 6)
    say("incremental", 3)  # older than what is known
    say("incremental", 7)
    starts = [round((one.time - EPOCH).total_seconds() / 60) for one in candles.rows()]
    assert starts == [3, 5, 6, 7]
    minute = datetime(1970, 1, 1, 0, 3, tzinfo=UTC)
    assert candles[minute].close == 3
    assert minute in candles
    assert datetime(1970, 1, 1, 0, 9, tzinfo=UTC) not in candles
    with pytest.raises(KeyError):
        candles[datetime(1970, 1, 1, 0, 9, tzinfo=UTC)]
    assert candles.last == candles.rows()[-1]


def test_a_book_shows_its_levels_best_first_to_its_depth(feed: Feed) -> None:
    book = feed.open(LiveBook, "orderBook", {**BTC, "depth": 2})
    changes: list[Any] = []
    book.on_update(changes.append)
    sides = {"bids": [["9", "1"], ["8", "2"], ["7", "3"]], "asks": [["11", "4"], ["12", "5"], ["13", "6"]]}
    feed.say("orderBook", 1, **BTC, depth=2, timestamp=1_500, book=sides)
    assert (book.symbol, book.depth, book.time) == ("BTCUSDC", 2, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC))
    assert book.bids() == [(9, 1), (8, 2)]
    assert book.asks() == [(11, 4), (12, 5)]
    assert (book.bids(1), book.asks(3), book.bids(0)) == ([(9, 1)], [(11, 4), (12, 5), (13, 6)], [])
    assert (book.best_bid, book.best_ask, book.mid, book.spread, len(book)) == (9, 11, 10, 2, 6)
    assert book.frame().to_dict("split")["data"] == [
        ["BUY", 1, 9.0, 1.0],
        ["BUY", 2, 8.0, 2.0],
        ["BUY", 3, 7.0, 3.0],
        ["SELL", 1, 11.0, 4.0],
        ["SELL", 2, 12.0, 5.0],
        ["SELL", 3, 13.0, 6.0],
    ]
    feed.say("orderBook", 2, "incremental", **BTC, depth=2, book={"bids": [["9", "0"]], "asks": [["10", "7"]]})
    assert [(one.kind, one.sequence, one.time) for one in changes] == [
        ("snapshot", 1, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
        ("incremental", 2, None),
    ]
    assert [(one.side, one.price, one.quantity) for one in changes[1].items] == [("BUY", 9, 0), ("SELL", 10, 7)]
    assert [one.side for one in changes[0].items] == ["BUY"] * 3 + ["SELL"] * 3


def test_a_value_is_the_newest_and_its_members_are_read_by_column(feed: Feed) -> None:
    ticker = feed.ticker()
    feed.price(1, "10.5")
    feed.price(2, "11.5", timestamp=2_000)
    assert (ticker["last"], ticker.value.last, len(ticker)) == (Decimal("11.5"), Decimal("11.5"), 1)
    with pytest.raises(KeyError, match="nothing"):
        ticker["nothing"]
    with pytest.raises(AttributeError, match=r"there is no 'nothing'\. There are symbol, "):
        _ = ticker.value.nothing


@pytest.mark.parametrize(("age_ms", "stale"), [(0, False), (15_000, False), (15_001, True)])
def test_a_value_is_stale_beyond_the_silence_of_its_channel(feed: Feed, age_ms: int, stale: bool) -> None:
    ticker = feed.ticker()
    assert ticker.stale
    with pytest.raises(StaleData, match=r"^ticker\.BTCUSDC is subscribing: waiting for the first snapshot$"):
        ticker.assert_healthy()
    feed.price(1, "10.5")
    feed.shell.now += age_ms
    assert (ticker.age_ms, ticker.stale, ticker.frame().attrs["stale"]) == (age_ms, stale, stale)
    if stale:
        said = r"^ticker\.BTCUSDC has been quiet for 15001 ms\. 15000 ms are usual at most$"
        with pytest.raises(StaleData, match=said):
            ticker.assert_healthy()
    else:
        ticker.assert_healthy(age_ms)
    if age_ms:
        with pytest.raises(StaleData, match=rf"is {age_ms} ms old\. {age_ms - 1} ms are allowed"):
            ticker.assert_healthy(age_ms - 1)
    feed.shell.now = 0  # a clock that went back
    assert ticker.age_ms == 0


def test_a_log_that_is_live_and_waits_for_its_history_has_had_no_data_yet(feed: Feed) -> None:
    fills = feed.open(LiveLog, "userFilled", {"userAddress": USER})
    feed.client.protocol.fills_history = True
    feed.shell.waiting.append(wire.acknowledgement("subscribe", fills.subject))
    assert (fills.state, fills.is_live, fills.stale) == ("live-unsequenced", True, True)
    with pytest.raises(StaleData, match=r"^userFilled\..* has had no data yet$"):
        fills.assert_healthy()
    with pytest.raises(StaleData, match=r"is None ms old\. 5 ms are allowed"):
        fills.assert_healthy(5)
    with pytest.raises(StaleData, match="no update came"):
        fills.frame()
    [topic] = feed.client.take_fills()
    feed.client.protocol.filled(topic, None, 1_000)
    assert not fills.stale
    fills.assert_healthy()
    assert fills.reason == "without sequences a lost message can't be noticed, and earlier records are not known"
    assert fills.frame().empty


def test_a_message_that_can_not_be_read_is_said_everywhere(feed: Feed) -> None:
    ticker, log = feed.ticker(), feed.log()
    feed.say("ticker", 1, **BTC, ticker={"p": "5"})
    assert (ticker.dropped, ticker.fault) == (1, "Ticker: s is missing")
    with pytest.raises(BadAnswer, match=r"^ticker\.BTCUSDC: Ticker: s is missing$"):
        ticker.frame()
    feed.price(2, "10.5")
    assert (ticker.damaged, ticker.reason) == (False, "")
    feed.trades(1, 1)
    feed.say("trades", 2, "incremental", **BTC, trades=[trade(2), {"bad": 1}])
    assert (log.state, log.damaged, log.dropped) == ("live", False, 1), "the other trades remain true"
    table = feed.open(LiveTable, "allTickers", {})
    feed.say("allTickers", 1, tickers=[published("allTickers", s="S1")])
    feed.say("allTickers", 2, "incremental", tickers=[published("allTickers", s="S1"), {"bad": 1}])
    assert (table.state, table.damaged, table.stale) == ("live", True, True)
    assert table.reason == "what came last can't be read: Ticker: s is missing"
    with pytest.raises(StaleData, match=r"^allTickers: what came last can't be read: Ticker: s is missing$"):
        table.assert_healthy()
    with pytest.warns(DataWarning, match="allTickers: what can't be read is left out: Ticker: s is missing") as caught:
        table.frame()
    assert caught[0].filename == __file__


def test_the_first_of_many_exceptions_is_raised_and_the_last_hundred_are_kept(feed: Feed) -> None:
    log = feed.log()

    @log.on_update
    def fail(update: Any) -> None:
        raise ValueError(update.sequence)

    for sequence in range(1, 102):
        feed.trades(sequence, sequence)
    assert [str(error) for error in log.errors] == [str(sequence) for sequence in range(2, 102)]
    with pytest.raises(FeedError, match=r"trades\.BTCUSDC: 100 callbacks failed, the first with ValueError\(2\)"):
        log.assert_healthy()
    log.off(fail)
    log.off(fail)
    feed.trades(102, 102)
    assert len(log.errors) == 100


@pytest.mark.parametrize("manual", [True, False])
@pytest.mark.parametrize("reads", [True, False])
def test_an_interrupt_in_a_callback_is_kept_only_on_the_feeds_own_thread(feed: Feed, manual: bool, reads: bool) -> None:
    log = feed.log()

    @log.on_update
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    feed.shell.manual, feed.shell.reads = manual, reads
    if reads and not manual:
        feed.trades(1, 1)
        assert [type(error) for error in log.errors] == [KeyboardInterrupt]
    else:
        with pytest.raises(KeyboardInterrupt):
            feed.trades(1, 1)
        assert log.errors == []


@pytest.mark.parametrize("stays", [True, False])
def test_a_callback_begins_with_the_snapshot_then_gets_each_later_update_once_and_in_order(
    feed: Feed, stays: bool
) -> None:
    log, seen, earlier = feed.log(), list[Any](), list[Any]()
    log.on_update(lambda update: earlier.append(times(update.items)))
    feed.trades(1, 1)
    feed.trades(2, 2, later=True)
    feed.client.protocol.received(feed.shell.waiting.popleft(), feed.shell.now)  # applied, callbacks not called yet

    def note(update: Any) -> None:
        if update.kind == "snapshot":
            feed.trades(3, 3)  # the feed's thread does not wait for this callback
            feed.trades(4, 4)
        if not stays:
            log.off(note)
        seen.append((update.kind, times(update.items)))

    log.on_update(note, begin=True)
    feed.trades(5, 5)
    later = [("incremental", [at]) for at in (3, 4, 5)]
    assert seen == [("snapshot", [1, 2]), *(later if stays else [])]
    assert earlier == [[1], [2], [3], [4], [5]]


def test_an_iteration_over_a_log_keeps_its_newest_ten_thousand(feed: Feed) -> None:
    log = feed.log()
    going, value = iter(log), iter(feed.open(LiveTable, "trades", BTC))
    feed.trades(1, *range(1, 10_002))
    assert [one.price for one in going] == [Decimal(f"{at}.5") for at in range(2, 10_002)]
    assert len(list(value)) == 1
    assert len(log) == 10_000
    assert log.last is not None
    assert log.last.price == Decimal("10001.5")


def test_a_wait_says_what_did_not_come_within_which_time_and_why(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    log = feed.log()
    manual = r"^trades\.BTCUSDC: no update came\. With a manual clock nothing arrives until venue\.advance\(…\)$"
    with pytest.raises(StaleData, match=manual):
        log.wait()
    feed.shell.manual = False
    monkeypatch.setattr("toolkit.client.stream.live.WAIT_SECONDS", 0.001)
    said = r"no update came within 0\.001 s\. It is subscribing: waiting for the first snapshot$"
    with pytest.raises(StaleData, match=said):
        log.wait()
    feed.trades(1, 1)
    with pytest.raises(StaleData, match=r"the condition did not come true within 0 s\. It is live$"):
        log.wait(lambda live: False, timeout=0)
    feed.shell.reads = True
    with pytest.raises(FeedError, match="a callback can't wait for the feed"):
        log.wait(timeout=10)


def test_a_closed_object_keeps_its_data_and_waits_for_nothing(feed: Feed) -> None:
    log = feed.log()
    other = feed.log()
    feed.trades(1, 1)
    going = iter(log)
    with log as same:
        assert same is log
    log.close()
    assert (log.state, log.reason, other.state, len(log)) == ("closed", "closed", "live", 1)
    assert list(going) == []
    with pytest.raises(FeedError, match=r"^trades\.BTCUSDC is closed$"):
        log.wait(2)
    feed.trades(2, 2)
    assert (log.updates, other.updates) == (1, 2)
    other.close()
    assert feed.client.listeners() == []


@pytest.mark.parametrize("ended", ["update", "close"])
def test_a_thread_that_waits_is_woken_by_an_update_and_by_a_close(feed: Feed, ended: str) -> None:
    log, ready, failed = feed.log(), threading.Event(), list[BaseException]()

    def wait() -> None:
        try:
            log.wait(lambda live: ready.set() or live.updates, timeout=20)
        except FeedError as error:
            failed.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert ready.wait(10)
    if ended == "update":
        feed.trades(1, 1)
    else:
        log.close()
    waiter.join(10)
    assert not waiter.is_alive()
    assert [str(error) for error in failed] == ([] if ended == "update" else ["trades.BTCUSDC is closed"])


def test_the_awaited_twin_waits_iterates_and_reads_as_the_object_itself(feed: Feed) -> None:
    log = feed.log()
    twin = AsyncLive(log)

    async def cell() -> list[int]:
        first = asyncio.create_task(twin.frame(index="time", exact=True, timeout=10))
        await asyncio.sleep(0)
        feed.trades(1, 1)
        frame = await first
        assert (frame.index.name, frame["price"].tolist()) == ("time", [Decimal("1.5")])
        assert (await twin.frame(timeout=0))["price"].tolist() == [1.5], "there is data, so it waits for none"
        seen: list[FeedRow] = []

        async def watch() -> None:
            async for one in twin:
                seen.append(one)

        watcher, waiter = asyncio.create_task(watch()), asyncio.create_task(twin.wait(2, timeout=10))
        await asyncio.sleep(0)
        feed.trades(2, 2)
        await asyncio.sleep(0)
        feed.trades(3, 3, 4)
        assert await waiter is twin
        log.close()
        await asyncio.wait_for(watcher, 10)
        with pytest.raises(StaleData, match="no update came within 0 s"):
            await AsyncLive(feed.log()).wait(timeout=0)
        return times(seen)

    assert asyncio.run(cell()) == [2, 3, 4]
    assert (len(twin), twin.sequence, twin.sync) == (4, 3, log)


def test_a_representation_has_all_that_is_wrong(feed: Feed) -> None:
    log = feed.log()
    assert repr(log) == "<LiveLog trades.BTCUSDC subscribing (waiting for the first snapshot): 0 rows>"
    feed.trades(1, 1, form="snapshot")
    feed.trades(3, 3)
    feed.say("trades", 3, **BTC, trades=[trade(3), {"bad": 1}])
    log.on_update(lambda _: 1 / 0)
    feed.trades(4, 4)
    feed.shell.now += 200_000
    assert repr(log) == (
        "<LiveLog trades.BTCUSDC live stale age 200000 ms gaps 1 "
        "left out 1, last PublicTrade: transactionTime is missing errors 1, last ZeroDivisionError('division by zero')"
        ": 3 rows>"
    )
    assert isinstance(log, Live)


def test_an_iteration_over_a_value_has_one_turn_for_all_that_came(feed: Feed) -> None:
    ticker = feed.ticker()
    going = iter(ticker)
    feed.price(1, "10")
    feed.price(2, "11")
    assert [one["last"] for one in going] == [11]
    feed.shell.manual = False
    feed.shell.reads = True
    with pytest.raises(FeedError, match="a callback can't wait for the feed"):
        next(iter(feed.log()))


def test_a_refused_object_waits_for_nothing(feed: Feed) -> None:
    log = feed.log()
    feed.shell.waiting.append(wire.refusal("subscribe", 40003, "not listed", log.subject))
    feed.shell.pump()
    for use in (log.wait, log.frame, log.assert_healthy, lambda: list(log)):
        with pytest.raises(SubscriptionRefused, match="not listed"):
            use()
    assert not feed.client.protocol.topics[log.subject].is_live


def test_what_is_read_by_key_waits_for_the_first_data_and_says_that_none_came(feed: Feed) -> None:
    for one, key in ((feed.ticker(), "last"), (feed.open(LiveTable, "allTickers", {}), "S1")):
        with pytest.raises(StaleData, match="no update came"):
            one[key]


def test_waits_are_cut_into_slices_that_an_interrupt_can_end(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    log, waits = feed.log(), list[float]()
    feed.shell.manual = False

    def arrive(timeout: float) -> bool:
        waits.append(timeout)
        feed.trades(len(waits), len(waits))
        return True

    monkeypatch.setattr(feed.client.condition, "wait", arrive)
    going = iter(log)
    assert next(going).price == Decimal("1.5")
    assert next(going).price == Decimal("2.5")
    assert waits == [0.1, 0.1]
    log.wait(2, timeout=60)
    assert waits[2:] == [0.1, 0.1]
    log.wait(timeout=0.05)
    assert 0 < waits[4] <= 0.05
