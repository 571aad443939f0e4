"""Events on disk and in memory are the same; what is wrong with them is found, once, and never repaired."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.research.backtesting.events.recorded import random_market
from toolkit.errors import InputError
from toolkit.research import backtest, data
from toolkit.research.data.event_array import Kind, empty, refuse_inverse
from toolkit.research.data.events import Events
from toolkit.research.data.order_books import BookUpdates

FILES = Path(__file__).parent / "excerpts"


@pytest.fixture(scope="module")
def events() -> Events:
    found: Events = data.load(FILES / "binance-usdm.gz", format="binance-usdm")
    return found


def made(*rows: tuple[int, int, int, int, float, float, int, int]) -> Events:
    """Return events of (exchange ns, local ns, kind, side, price, quantity, id, previous)."""
    array = empty(len(rows))
    for number, row in enumerate(rows):
        array[number] = row
    return Events(array, symbol="A")


def problems(events: Events) -> list[tuple[str, str, int, int]]:
    frame = data.check(events)
    return list(frame[["problem", "stream", "row", "count"]].itertuples(index=False, name=None))


@pytest.mark.parametrize("kind", [Kind.DEPTH, Kind.SNAPSHOT, Kind.QUOTE, Kind.ADD])
def test_a_row_of_a_book_that_is_there_twice_is_found_without_ids_too(kind: Kind) -> None:
    stream = {Kind.QUOTE: "quotes", Kind.ADD: "orders"}.get(kind, "book")
    rows = [(1, 10, kind, 1, 100.0, 1.0, 0, 0), (1, 10, kind, -1, 101.0, 1.0, 0, 0)]
    assert problems(made(*rows)) == []
    assert problems(made(*rows, rows[1])) == [("repeat", stream, 2, 1)]
    assert problems(made(*rows, (1, 10, kind, -1, 101.0, 2.0, 0, 0))) == []
    trades = [(1, 10, Kind.TRADE, 1, 100.0, 1.0, 0, 0)] * 2
    assert problems(made(*trades)) == [], "two equal trades at one time without ids may be two"


def test_a_snapshot_of_the_whole_book_begins_a_new_chain_of_updates() -> None:
    def snapshot(time: int, identity: int) -> list[tuple[float, ...]]:
        return [(time, time, Kind.CLEAR, 0, 0.0, 0.0, identity, 0),
                (time, time, Kind.SNAPSHOT, 1, 100.0, 1.0, identity, 0)]  # fmt: skip

    def change(time: int, identity: int) -> tuple[float, ...]:
        return (time, time, Kind.DEPTH, 1, 99.0, 1.0, identity, max(identity - 1, 0))

    def found(*rows: Any, exchange: str = "") -> list[tuple[str, str, int, int]]:
        return problems(Events(made(*rows).array, exchange=exchange))

    assert found(*snapshot(1, 5), change(2, 6), change(3, 7)) == []
    assert found(*snapshot(1, 5), change(2, 7)) == [("gap", "book", 2, 1)]
    assert found(*snapshot(1, 5), change(2, 6), *snapshot(3, 7), change(4, 8)) == [], "it goes on"
    restarted = *snapshot(1, 5), change(2, 6), *snapshot(3, 1), change(4, 2)
    assert found(*restarted, exchange="bybit") == []
    assert found(*restarted) == [("gap", "book", 3, 1)]
    assert found(*snapshot(1, 5), change(2, 6), *snapshot(3, 9), change(4, 10)) == [("gap", "book", 3, 1)]
    assert found(*snapshot(1, 0), change(2, 0), *snapshot(3, 0)) == [("gap", "book", 3, 1)]
    assert found(*snapshot(1, 0), *snapshot(2, 0), change(3, 0)) == []


@pytest.mark.parametrize(
    ("symbol", "exchange", "inverse"),
    [("XBTUSD", "bitmex", True), ("BTC-PERPETUAL", "deribit", True), ("BTC_USDC-PERPETUAL", "deribit", False),
     ("BTCUSD_PERP", "binance-delivery", True), ("BTCUSD", "bybit", True), ("BTCUSDT", "bybit", False),
     ("BTC/USD:BTC", "", True), ("BTC/USDT:USDT", "", False), ("BTC-USD-SWAP", "okex-swap", True),
     ("BTC-USD", "coinbase", False), ("BTCUSDC", "", False)],
)  # fmt: skip
def test_an_inverse_contract_is_refused_before_it_is_valued_as_a_linear_one(
    symbol: str, exchange: str, inverse: bool
) -> None:
    if inverse:
        with pytest.raises(InputError, match=f"{symbol} is an inverse contract.*Take the linear one"):
            refuse_inverse(symbol, exchange)
    else:
        refuse_inverse(symbol, exchange)


def test_backtests_on_events_and_on_bars_refuse_inverse_contracts() -> None:
    array = random_market(1, seconds=1).array
    with pytest.raises(InputError, match="XBTUSD is an inverse contract"):
        backtest({"on_timer": lambda ctx: None}, {"BTC": Events(array, symbol="XBTUSD", exchange="bitmex")})
    closes = pd.DataFrame({"BTC/USD:BTC": [1.0, 2.0]}, index=pd.date_range("2026-01-01", periods=2, tz="UTC"))
    with pytest.raises(InputError, match="inverse"):
        backtest(lambda ctx, bar: None, closes)


def test_a_crossed_book_keeps_the_side_that_was_set_last() -> None:
    rows = [
        (1, 1, Kind.DEPTH, 1, 100.0, 1.0, 1, 0),
        (1, 1, Kind.DEPTH, -1, 101.0, 1.0, 1, 0),
        (1, 1, Kind.DEPTH, -1, 103.0, 1.0, 1, 0),
        (2, 2, Kind.DEPTH, 1, 102.0, 1.0, 2, 1),
        (3, 3, Kind.DEPTH, -1, 99.0, 1.0, 3, 2),
    ]
    updates = BookUpdates(made(*rows), made(*rows).array["local_ns"])
    assert updates.crossed.tolist() == [False, True, True]
    assert (updates.bids.tolist(), updates.asks.tolist()) == ([100, 102, 0], [101, 103, 99])
