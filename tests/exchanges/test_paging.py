"""Another exchange's history is read to its end, however it answers, and says what is proven."""

from __future__ import annotations

import queue
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("ccxt", reason="the extra ccxt is not installed")

import pandas as pd

from tests.exchanges.test_scripted_feeds import BTC, SYMBOL, Exchange
from toolkit.errors import DataWarning
from toolkit.exchanges import ExchangeMarket, exchange_market
from toolkit.research import data

MINUTE = 60_000
NOW = 1_767_268_800_000 + 20_000
TOP = NOW // MINUTE * MINUTE
"""Start of the candle that is forming."""
LENGTHS = {"1m": 60, "1d": 86_400, "1w": 604_800}
Answer = Callable[[list[int], int, int, int], list[int]]


def first_rows(times: list[int], since: int, limit: int, step: int) -> list[int]:
    return [time for time in times if time >= since][: min(limit, 1000)]


def window(cap: int, *, newest: bool = False) -> Answer:
    def answer(times: list[int], since: int, limit: int, step: int) -> list[int]:
        span = limit if newest else min(limit, cap)
        inside = [time for time in times if since <= time < since + span * step]
        return inside[-cap:] if newest else inside[:cap]

    return answer


def newest_only(cap: int) -> Answer:
    return lambda times, since, limit, step: [time for time in times[-cap:] if time >= since][:limit]


class Historical(Exchange):
    """An exchange with candles at some minutes, which answers in one of the ways that exchanges do."""

    timeframes = LENGTHS

    def __init__(self, times: list[int], answer: Answer, *, longer: bool = True) -> None:
        super().__init__(contract_size=1.0)
        self.times, self.answer, self.longer, self.calls = times, answer, longer, 0

    def parse_timeframe(self, name: str) -> int:
        return LENGTHS[name]

    async def fetch_ohlcv(self, symbol: str, timeframe: str, since: int, limit: int) -> list[list[float]]:
        self.calls += 1
        step = LENGTHS[timeframe] * 1000
        if step > MINUTE and not self.longer:
            return []
        times = self.times if step == MINUTE else sorted({time // step * step for time in self.times})
        return [[time, 100.0, 101.0, 99.0, 100.5, 2.0] for time in self.answer(times, since, limit, step)]

    async def fetch_funding_rate_history(self, symbol: str, since: int, limit: int) -> list[dict[str, Any]]:
        found = self.answer(self.times, since, limit, 3_600_000)
        return [{"timestamp": time, "fundingRate": 0.0001} for time in found]


def minutes(count: int, *, until: int = TOP) -> list[int]:
    return [until - MINUTE * at for at in range(count)][::-1]


def read(monkeypatch: pytest.MonkeyPatch, exchange: Historical, start: int, end: int | None = None) -> pd.DataFrame:
    monkeypatch.setattr(exchange_market, "wall_ms", lambda: NOW)
    market = exchange.at(ExchangeMarket("binance", SYMBOL))
    try:
        return market.klines("1m", start, end)
    finally:
        market.close()


WAYS = {"first rows": first_rows, "300 of a span": window(300), "1,000 of a span": window(1000),
        "newest 300 of a span": window(300, newest=True)}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("longer", [True, False])
@pytest.mark.parametrize("before", [0, 1, 1440])
@pytest.mark.parametrize("halt", [0, 1, 360])
def test_a_read_steps_over_what_has_no_candles_to_its_end(
    monkeypatch: pytest.MonkeyPatch, way: str, longer: bool, before: int, halt: int
) -> None:
    times = minutes(3000)
    times = times[:1200] + times[1200 + halt :]
    exchange = Historical(times, WAYS[way], longer=longer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read(monkeypatch, exchange, times[0] - before * MINUTE)
    assert frame.index.as_unit("ms").asi8.tolist() == times
    said = frame.attrs["coverage"]
    assert said["missing"] == []
    assert (said["quiet"], said["forming"]) == (before + halt, 1)
    assert [end.value // 10**6 for _, end in said["proven"]] == [NOW]
    assert exchange.calls < 60


def test_what_an_exchange_does_not_give_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    times = minutes(5000)
    with pytest.warns(DataWarning, match="did not give the rows from"):
        frame = read(monkeypatch, Historical(times, newest_only(720)), times[0])
    assert frame.index.as_unit("ms").asi8.tolist() == times[-720:]
    said = frame.attrs["coverage"]
    assert [(start.value // 10**6, end.value // 10**6) for start, end in said["missing"]] == [(times[0], times[-720])]
    assert said["quiet"] == 0
    found = data.check(frame)
    assert found["problem"].tolist() == ["missing", "forming"]
    assert found["count"].tolist() == [4280, 1]


def test_years_before_the_listing_are_asked_by_longer_candles(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = Historical(minutes(3000), window(300))
    frame = read(monkeypatch, exchange, TOP - 3 * 365 * 86_400_000)
    assert len(frame) == 3000
    assert frame.attrs["coverage"]["missing"] == []
    assert exchange.calls < 120


def test_funding_rates_step_over_empty_pages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_market, "wall_ms", lambda: NOW)
    times = [TOP - 28_800_000 * at for at in range(900)][::-1]
    market = Historical(times, window(100)).at(ExchangeMarket("binance", SYMBOL))
    rates = market.funding_rates(times[0] - 90 * 86_400_000)
    assert len(rates) == 900
    said = rates.attrs["coverage"]
    assert (said["missing"], said["quiet"], said["forming"]) == ([], 0, 0)
    assert said["quiet_spans"] == said["proven"]
    market.close()


def test_without_a_start_the_last_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    times = minutes(3000)
    monkeypatch.setattr(exchange_market, "wall_ms", lambda: NOW)
    market = Historical(times, first_rows).at(ExchangeMarket("binance", SYMBOL))
    assert market.klines("1m").index.as_unit("ms").asi8.tolist() == times[-1000:]
    before = market.klines("1m", end=times[-500])
    assert before.index.as_unit("ms").asi8.tolist() == times[-1500:-500]
    market.close()


def test_levels_between_two_local_ticks_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = Exchange("watchOrderBook", contract_size=1.0)
    exchange.precisionMode = 3  # significant digits
    market = exchange.at(ExchangeMarket("hyperliquid", SYMBOL))
    updates: queue.Queue[Any] = queue.Queue()
    market.order_book(BTC).on_update(updates.put)
    tick = market.product(BTC).tick_size
    bids = [[100.0 - float(tick) * at / 10, 1.0] for at in range(30)]
    exchange.put("book", {"bids": bids, "asks": [[100.01, 2.0], [100.02, 3.0]], "timestamp": NOW})
    update = updates.get(timeout=20)
    sizes = {(item["side"], float(item["price"])): float(item["quantity"]) for item in update.items}
    assert sum(size for (side, _), size in sizes.items() if side == "BUY") == 30
    assert sum(size for (side, _), size in sizes.items() if side == "SELL") == 5
    assert all(Decimal(repr(price)) % tick == 0 for _, price in sizes)
    market.close()
