"""Events on disk and in memory are the same; what is wrong with them is found, once, and never repaired."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from tests.research.backtesting.events.recorded import random_market
from toolkit.errors import InputError
from toolkit.research import backtest, data
from toolkit.research.data.event_array import Kind, empty, grid_of, refuse_inverse
from toolkit.research.data.events import Events, merge
from toolkit.research.data.order_books import BookCursor, BookUpdates

FILES = Path(__file__).parent / "excerpts"
SECOND = 1_000_000_000


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


def test_a_parquet_file_gives_the_same_events_and_duckdb_reads_it(events: Events, tmp_path: Path) -> None:
    events.save(tmp_path / "events.parquet")
    again = data.load(tmp_path / "events.parquet", format="parquet")
    assert np.array_equal(again.array, events.array)
    assert (again.symbol, again.exchange, again.tick_size, again.notes) == (
        "BTCUSDT",
        "binance-usdm",
        Decimal("0.1"),
        (),
    )
    question = f"select side, sum(quantity) from '{tmp_path / 'events.parquet'}' where kind = 'trade' group by side"
    sums = dict(duckdb.sql(question).fetchall())
    trades = events.of(Kind.TRADE)
    assert sums["sell"] == pytest.approx(trades["quantity"][trades["side"] < 0].sum())


def test_a_frame_has_the_same_columns_when_it_is_empty(events: Events) -> None:
    full, none = events.frame(), events[:0].frame()
    assert (full.dtypes == none.dtypes).all()
    assert str(full.dtypes["exchange_time"]) == "datetime64[ns, UTC]"
    assert len(full) == len(events)


def test_slices_and_times_keep_product_and_source(events: Events) -> None:
    part = events[100:200]
    assert (len(part), part.symbol, part.tick_size) == (100, "BTCUSDT", events.tick_size)
    start = pd.Timestamp(int(events.array["local_ns"][50]), unit="ns", tz="UTC")
    assert events.between(start).array["local_ns"][0] == start.value
    assert merge([events[300:], events[:300]]).array["local_ns"].tolist() == sorted(events.array["local_ns"].tolist())


def test_bars_of_trades_hold_every_trade(events: Events) -> None:
    bars, trades = events.bars("1m"), events.of(Kind.TRADE)
    assert bars["volume"].sum() == pytest.approx(trades["quantity"].sum())
    assert (bars["close"].iloc[-1], bars["open"].iloc[0]) == (trades["price"][-1], trades["price"][0])


@pytest.mark.parametrize(
    ("values", "grid"),
    [([1.0, 2.5], "0.1"), ([61800.2, 3.0], "0.1"), ([0.00012], "0.00001"), ([5.0, 20.0], "1"), ([], "1")],
)
def test_the_grid_of_values_is_the_finest_power_of_ten(values: list[float], grid: str) -> None:
    assert grid_of(np.array(values)) == Decimal(grid)


def test_a_clean_recording_has_no_findings_but_the_clock(events: Events) -> None:
    assert set(data.check(events)["problem"]) <= {"clock", "backwards"}
    assert data.check(events[:0]).dtypes.equals(data.check(events).dtypes)


def test_what_is_wrong_is_found_once() -> None:
    depth, trade = Kind.DEPTH, Kind.TRADE
    base = [
        (1, 10, depth, 1, 100.0, 1.0, 5, 4),
        (2, 20, depth, -1, 101.0, 1.0, 6, 5),
        (3, 30, trade, 1, 101.0, 1.0, 1, 0),
        (4, 40, trade, 1, 101.0, 1.0, 2, 0),
        (5, 50, trade, 1, 101.0, 1.0, 3, 0),
    ]
    assert problems(made(*base)) == []
    assert problems(made(*base, (6, 60, depth, 1, 99.0, 1.0, 9, 8))) == [("gap", "book", 5, 1)]
    assert problems(made(*base, (6, 60, depth, 1, 99.0, 1.0, 6, 5))) == [("repeat", "book", 5, 1)]
    assert problems(made(*base, (6, 60, depth, 1, 99.0, 1.0, 5, 4))) == [("backwards", "book", 5, 1)]
    assert problems(made(*base, (6, 60, depth, 1, 102.0, 1.0, 7, 6))) == [("crossed", "book", 5, 1)]
    assert problems(made(*base, (6, 60, trade, 1, 101.0, 1.0, 2, 0))) == [
        ("backwards", "trades", 5, 1), ("repeat", "trades", 5, 1)
    ]  # fmt: skip
    assert problems(made(*base, (6, 60, trade, 1, 101.0, 1.0, 7, 0))) == [("gap", "trades", 5, 3)]
    assert problems(made(*base, (2, 60, trade, 1, 101.0, 1.0, 4, 0))) == [("backwards", "trades", 5, 1)]
    assert problems(made(*base, (6, 20 * SECOND, trade, 1, 101.0, 1.0, 4, 0))) == [("silence", "all", 4, 1)]
    assert problems(made(*base, (90, 60, trade, 1, 101.0, 1.0, 4, 0))) == [("clock", "all", 5, 1)]
    assert problems(made(*base, (6, 60, trade, 1, 101.0, 0.0, 4, 0))) == [("value", "all", 5, 1)]


def test_findings_close_to_each_other_are_one_row() -> None:
    rows = [(n, n, Kind.TRADE, 1, 1.0, 1.0, 1, 0) for n in range(1, 6)]
    assert problems(made(*rows)) == [("repeat", "trades", 1, 4)]
    newest_first = [(n * 5 * SECOND, n * 5 * SECOND, Kind.TRADE, 1, 1.0, 1.0, 0, 0) for n in range(9, 0, -1)]
    assert problems(made(*newest_first)) == [("backwards", "all", 1, 8), ("backwards", "trades", 1, 8)]


@pytest.mark.parametrize("kind", [Kind.DEPTH, Kind.SNAPSHOT, Kind.QUOTE, Kind.ADD])
def test_a_row_of_a_book_that_is_there_twice_is_found_without_ids_too(kind: Kind) -> None:
    stream = {Kind.QUOTE: "quotes", Kind.ADD: "orders"}.get(kind, "book")
    rows = [(1, 10, kind, 1, 100.0, 1.0, 0, 0), (1, 10, kind, -1, 101.0, 1.0, 0, 0)]
    assert problems(made(*rows)) == []
    assert problems(made(*rows, rows[1])) == [("repeat", stream, 2, 1)]
    assert problems(made(*rows, (1, 10, kind, -1, 101.0, 2.0, 0, 0))) == []
    trades = [(1, 10, Kind.TRADE, 1, 100.0, 1.0, 0, 0)] * 2
    assert problems(made(*trades)) == [], "two equal trades at one time without ids may be two"


def test_a_crossed_book_of_single_orders_is_found_at_the_order() -> None:
    add = Kind.ADD
    rows = [(1, 10, add, 1, 100.0, 1.0, 1, 0), (1, 10, add, -1, 101.0, 1.0, 2, 0),
            (2, 20, Kind.TRADE, 1, 101.0, 1.0, 9, 0), (3, 30, add, 1, 99.0, 1.0, 3, 0)]  # fmt: skip
    assert problems(made(*rows)) == []
    assert problems(made(*rows, (4, 40, add, 1, 102.0, 1.0, 4, 0))) == [("crossed", "book", 4, 1)]


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


def test_candles_are_checked_too() -> None:
    times = pd.to_datetime([0, 60, 180, 180, 120], unit="s", utc=True)
    frame = pd.DataFrame({"time": times, "open": 1.0, "high": 2.0, "low": 0.5, "close": [1.0, 3.0, 1.0, 1.0, 1.0]})
    found = data.check(frame)
    assert found["problem"].tolist() == ["value", "gap", "repeat", "backwards"]
    newest_first = pd.DataFrame({"time": pd.to_datetime([300, 240, 120, 60, 0], unit="s", utc=True)})
    assert data.check(newest_first)[["problem", "row", "count"]].to_numpy().tolist() == [
        ["backwards", 1, 4], ["gap", 2, 1]
    ]  # fmt: skip
    assert data.check(frame.assign(volume=[1.0, 1.0, -1.0, 1.0, 1.0]))["problem"].tolist().count("value") == 2
    with pytest.raises(InputError, match="check takes Events"):
        data.check([1, 2])


def naive_best(events: Events) -> list[tuple[float, float]]:
    """Apply every message to plain dictionaries, and return the best prices after each."""
    sides: dict[int, dict[float, float]] = {1: {}, -1: {}}
    best, array = [], events.array
    book = array[np.isin(array["kind"], (Kind.DEPTH, Kind.CLEAR, Kind.SNAPSHOT))]
    for number, row in enumerate(book):
        for side in (1, -1):
            if row["kind"] == Kind.CLEAR and row["side"] in (0, side):
                limit = row["price"]
                sides[side] = {
                    price: left for price, left in sides[side].items() if limit and (price - limit) * side < 0
                }
        if row["kind"] != Kind.CLEAR:
            sides[int(row["side"])][float(row["price"])] = float(row["quantity"])
        follows = number + 1 < len(book) and all(
            book[number + 1][name] == row[name] for name in ("exchange_ns", "local_ns", "id")
        )
        if not follows:
            there = {side: [price for price, left in levels.items() if left] for side, levels in sides.items()}
            best.append((max(there[1], default=0.0), min(there[-1], default=0.0)))
    return best


@pytest.mark.parametrize("seed", range(20))
def test_best_prices_are_those_of_plain_dictionaries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = empty(400)
    array["local_ns"] = array["exchange_ns"] = np.sort(rng.integers(1, 120, 400))
    array["kind"] = rng.choice([Kind.DEPTH, Kind.DEPTH, Kind.DEPTH, Kind.SNAPSHOT, Kind.TRADE], 400)
    array["kind"][rng.random(400) < 0.01] = Kind.CLEAR
    array["side"] = rng.choice([1, -1], 400)
    array["price"] = np.where(array["side"] > 0, rng.integers(80, 100, 400), rng.integers(101, 400, 400))
    array["quantity"] = rng.integers(0, 3, 400)
    # within a message the clears come first, as in every snapshot
    array = array[np.lexsort((array["kind"] != Kind.CLEAR, array["local_ns"]))]
    events = Events(array, tick_size=Decimal(1), step_size=Decimal(1))
    updates = BookUpdates(events, array["local_ns"])
    assert list(zip(updates.bids.tolist(), updates.asks.tolist(), strict=True)) == naive_best(events)
    cursor = BookCursor(updates)
    for number in range(0, len(updates), 7):
        cursor.move(number + 1)
        for side, best in ((1, updates.bids[number]), (-1, updates.asks[number])):
            levels = cursor.levels(side, 5)
            assert (levels[0][0] if levels else 0) == best
            assert list(levels) == sorted(levels, reverse=side > 0)


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
