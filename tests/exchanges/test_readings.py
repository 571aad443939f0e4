"""Ccxt's structures as ours without a network: products, books, trades, prices, pages, and the states of a feed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("ccxt", reason="the extra ccxt is not installed")

import ccxt

from toolkit.client.stream.live import Update
from toolkit.errors import InputError, StaleData
from toolkit.exchanges import readings, watching
from toolkit.exchanges.watching import Feed, View

SYMBOL = "BTC/USDT:USDT"
NOON_MS = 1_767_268_800_000
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_time_is_the_exchanges_else_the_present() -> None:
    assert readings.time_of(NOON_MS, 5) == readings.time_of(None, NOON_MS) == readings.time_of(0, NOON_MS) == NOON


@pytest.mark.parametrize(
    ("market", "size"),
    [({}, "1"), ({"contract": True}, "1"), ({"contract": True, "contractSize": None}, "1"),
     ({"contract": True, "contractSize": 0.001}, "0.001"), ({"contract": False, "contractSize": 0.001}, "1")],
)  # fmt: skip
def test_the_size_of_a_contract_counts_for_contracts_only(market: dict[str, Any], size: str) -> None:
    assert readings.contract_size(market) == Decimal(size)


def test_a_book_has_the_best_two_hundred_levels_in_base_units() -> None:
    book = {"bids": [[100 - at, 1 + at] for at in range(201)], "asks": [[101.5, 2, "an order's count"]]}
    levels = readings.levels_of(book, Decimal("0.5"))
    assert len(levels) == 201
    assert (levels["BUY", 100], levels["BUY", -99], levels["SELL", 101.5]) == (0.5, 100.0, 1.0)
    assert ("BUY", -100) not in levels


def test_changes_of_a_book_remove_first_and_leave_equal_levels_out() -> None:
    before = {("BUY", 100.0): 1.0, ("BUY", 99.0): 1.0, ("SELL", 101.0): 2.0}
    now = {("BUY", 101.0): 3.0, ("BUY", 99.0): 1.0, ("SELL", 101.5): 0.1}
    changes = [(each["side"], each["price"], each["quantity"]) for each in readings.changes_of(before, now)]
    assert changes == [
        ("BUY", Decimal("100.0"), 0), ("SELL", Decimal("101.0"), 0), ("BUY", Decimal("101.0"), 3),
        ("SELL", Decimal("101.5"), Decimal("0.1")),
    ]  # fmt: skip
    assert readings.changes_of(now, now) == []


def test_trades_prices_candles_and_rates_are_exact() -> None:
    trades = [
        {"timestamp": NOON_MS, "side": "buy", "price": 0.1, "amount": 3}, {"side": "sell", "price": "7", "amount": 0.2},
        {"timestamp": NOON_MS, "side": "", "price": 1, "amount": 1},
    ]  # fmt: skip
    assert readings.trades_of(trades, "BTCUSDC", Decimal("0.01"), NOON_MS + 1_000) == [
        {"time": NOON, "symbol": "BTCUSDC", "side": "BUY", "price": Decimal("0.1"), "quantity": Decimal("0.03")},
        {"time": NOON.replace(second=1), "symbol": "BTCUSDC", "side": "SELL", "price": 7, "quantity": Decimal("0.002")},
    ]
    for ticker, expected in (
        ({"markPrice": 5.5, "indexPrice": "6"}, {"mark_price": Decimal("5.5"), "oracle_price": Decimal(6)}),
        ({"markPrice": None, "indexPrice": 0, "last": 3}, {}), ({"indexPrice": 7}, {"oracle_price": Decimal(7)}),
    ):  # fmt: skip
        assert readings.prices_of(ticker, "BTCUSDC") == {"symbol": "BTCUSDC", **expected}
    assert readings.kline_row([NOON_MS + 999, 1e-7, 2, "3", 4.5, 6], "BTCUSDC", 60, Decimal("0.1")) == {
        "symbol": "BTCUSDC", "time": NOON_MS, "interval": 60, "open": Decimal("1e-7"), "high": 2, "low": 3,
        "close": Decimal("4.5"), "volume": Decimal("0.6"),
    }  # fmt: skip
    assert readings.kline_row([NOON_MS, 1, 1, 1, 1, None], "BTCUSDC", 60, Decimal(1))["volume"] == 0
    rate = readings.funding_row({"timestamp": float(NOON_MS), "fundingRate": 1e-05}, "BTCUSDC")
    assert rate == {"time": NOON_MS, "symbol": "BTCUSDC", "funding_rate": Decimal("0.00001")}


def product(market: dict[str, Any], mode: int = readings.TICK_SIZE, name: str | None = None) -> Any:
    return readings.product_of({"symbol": SYMBOL, "base": "BTC", "quote": "USDT", **market}, mode, name)


def test_a_product_takes_the_finer_tick_and_step_of_contracts_in_base_units() -> None:
    own = product({})
    fine = product({"precision": {"price": 0.1, "amount": 0.5}, "contract": True, "contractSize": 0.0001})
    assert (own.symbol, own.tick_size, own.step_size) == ("BTCUSDC", Decimal("0.1"), Decimal("0.001"))
    assert (fine.tick_size, fine.step_size) == (Decimal("0.1"), Decimal("0.00005"))
    assert product({"precision": None}).tick_size == own.tick_size
    assert product({}, name="ETHUSDC").symbol == "ETHUSDC"
    with pytest.raises(InputError, match="as_symbol 'DOGE' is not a product of the local venue, which lists BTCUSDC"):
        product({}, name="DOGE")
    with pytest.raises(InputError, match=f"{SYMBOL} is an inverse contract"):
        product({"inverse": True})


# pages


# threads and feeds


Steps = list[Any]


def run_feed(steps: Steps, *, quiet: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[Feed, list[Any], list[float]]:
    """Let a feed go through steps (items, or errors) and return it, what its view was told, and its pauses."""
    told: list[Any] = []
    paused: list[float] = []
    left = iter(steps)

    async def watch() -> Any:
        step = next(left, None)
        if step is None:
            raise asyncio.CancelledError
        if isinstance(step, Exception):
            raise step
        return step

    async def pause(seconds: float) -> None:
        paused.append(seconds)

    feed = Feed(
        "test order_book", watch, lambda got, whole: ("snapshot" if whole else "incremental", [got], NOON), quiet
    )
    view = View(feed)
    view.on_state(lambda changed: told.append((changed.state, changed.reason)))
    view.on_update(lambda update: told.append((update.kind, update.items[0], update.sequence, update.time)))
    with monkeypatch.context() as patch:
        patch.setattr(watching.asyncio, "sleep", pause)
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(feed.run())
    return feed, told, paused


@pytest.mark.parametrize("quiet", [False, True])
def test_a_feed_says_each_change_of_its_state_and_begins_again_with_a_whole_book(
    quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut, gap = ccxt.NetworkError("cut"), ccxt.ChecksumError("gap")
    steps: Steps = ["a", "b", cut, OSError("cut"), gap, "c", ccxt.InvalidNonce("n"), "d", TimeoutError("slow")]
    feed, told, paused = run_feed(steps, quiet=quiet, monkeypatch=monkeypatch)
    assert feed.subject == "test order_book"
    first = [("incremental", "a", 1, NOON)] if quiet else [("snapshot", "a", 1, NOON), ("live", "")]
    assert told == [
        *first, ("incremental", "b", 2, NOON), ("reconnecting", "NetworkError: cut"), ("reconnecting", "OSError: cut"),
        ("resyncing", "ChecksumError: gap"), ("snapshot", "c", 3, NOON), ("live", ""), ("resyncing", "InvalidNonce: n"),
        ("snapshot", "d", 4, NOON), ("live", ""), ("reconnecting", "TimeoutError: slow"),
    ]  # fmt: skip
    assert paused == [0.1, 0.2, 0.4, 0.1, 0.1]


def test_pauses_double_up_to_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: Steps = [ccxt.NetworkError("cut")] * 11
    _, told, paused = run_feed(steps, quiet=False, monkeypatch=monkeypatch)
    assert paused == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])
    assert told == [("reconnecting", "NetworkError: cut")]  # it is said once


def test_an_update_that_can_not_be_read_ends_the_feed_in_words() -> None:
    async def watch() -> str:
        return "odd"

    def read(got: Any, whole: bool) -> Any:
        raise LookupError("no price")

    feed = Feed("test trades", watch, read, True)
    assert (feed.state, feed.reason, feed.sequence) == ("live", "", 0)
    view = View(feed)
    with pytest.raises(LookupError):
        asyncio.run(feed.run())
    assert (view.state, view.reason, view.is_live) == ("failed", "LookupError: no price", False)
    with pytest.raises(StaleData, match="test trades is failed: LookupError: no price"):
        view.assert_healthy()


def test_a_view_begins_with_what_there_is_and_ends_alone() -> None:
    feed = Feed("test", lambda: None, lambda got, whole: ("incremental", [], None), True)  # type: ignore[arg-type, return-value]
    first, second = View(feed), View(feed)
    told: list[Update] = []
    first.on_update(told.append, begin=True)  # nothing is there
    feed.begin = lambda: ("snapshot", [{"price": 1}], NOON)
    feed.sequence = 5
    second.on_update(told.append)
    second.on_update(told.append, begin=True)
    [begun] = told
    assert (begun.kind, begun.items, begun.sequence, begun.time) == ("snapshot", [{"price": 1}], 5, NOON)
    second.deliver("incremental", [], None)
    assert len(told) == 3
    second.close()
    second.close()
    second.deliver("incremental", [], None)
    assert (len(told), feed.views, first.is_live) == (3, [first], True)
    first.assert_healthy()


# amounts of what is followed
