"""A replayed recording is the market: what comes out equals it, and users' orders wait in its queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toolkit
from tests.research.backtesting.events.recorded import MS, START, events_of, random_market
from toolkit.errors import InputError, VenueError
from toolkit.research import Strategy, backtest, data
from toolkit.research.data.event_array import Kind
from toolkit.research.data.events import Events
from toolkit.research.data.order_books import BookUpdates
from toolkit.venue.local import LocalVenue

EXCERPT = Path(__file__).resolve().parents[2] / "research" / "data" / "excerpts" / "binance-usdm.gz"
BEGIN_MS = START // MS
DEPTH, TRADE = Kind.DEPTH, Kind.TRADE
BOOK = [(0, DEPTH, 1, 60000.0, 0.05), (0, DEPTH, 1, 59999.0, 0.5), (0, DEPTH, -1, 60001.0, 0.05),
        (0, DEPTH, -1, 60002.0, 0.5)]  # fmt: skip


def replayed(events: Any, **options: Any) -> LocalVenue:
    return LocalVenue(replay=events, clock="manual", **options)


def test_book_trades_and_candles_equal_the_recording() -> None:
    events = data.load(EXCERPT, format="binance-usdm")
    updates = BookUpdates(events, events.array["exchange_ns"])
    with replayed(events) as venue, toolkit.connect(venue=venue) as session:
        assert venue.host.now_ms() == events.array["exchange_ns"].min() // MS
        book, times = venue.host.core.books[1], updates.times // MS
        for number in np.flatnonzero(np.append(times[1:] > times[:-1], True)).tolist():
            if times[number] > venue.host.now_ms():
                venue.advance(until=int(times[number]))
            venue.host.catch_up()
            assert (book.bids.best, book.asks.best) == (updates.bids[number], updates.asks[number])
        venue.advance("2m")
        trades = events.of(TRADE)
        done = venue.host.core.state.history.trades[1]
        assert [(one.time, one.side, one.price / 10, one.quantity / 1000) for one in done] == [
            (time // MS, side, price, quantity)
            for time, side, price, quantity in trades[["exchange_ns", "side", "price", "quantity"]].tolist()
        ]
        columns = ["open", "high", "low", "close", "volume"]
        start = events.bars("1m")["time"].iloc[0].isoformat()
        candles = session.klines("BTCUSDC", "1m", start=start)[columns].dropna()
        expected = events.bars("1m")[columns].to_numpy()
        assert candles.to_numpy()[: len(expected)] == pytest.approx(expected)
        assert venue.host.core.violations() == []


@pytest.mark.parametrize("seed", range(2))
def test_resting_orders_are_filled_as_in_a_backtest_on_the_same_events(seed: int) -> None:
    events = random_market(seed)
    rng = np.random.default_rng(seed)
    best = {1: 599_999, -1: 600_001}
    orders = [(side, best[side] - side * int(rng.integers(0, 3))) for side in (1, -1)]

    class Twice(Strategy):
        def on_start(self, ctx: Any) -> None:
            for side, price in orders:
                (ctx.buy if side > 0 else ctx.sell)("BTCUSDC", "0.03", f"{price / 10:.1f}", tif="POST_ONLY")

        def on_timer(self, ctx: Any) -> None:
            """Nothing: its presence makes this a strategy on events."""

    run = backtest(Twice(), {"BTCUSDC": events}, partial_fills=True, latency="0.5ms", funding=None)
    with replayed(events) as venue, toolkit.connect(venue=venue) as session:
        venue.host.catch_up()
        for side, price in orders:
            (session.buy if side > 0 else session.sell)("BTCUSDC", "0.03", price=f"{price / 10:.1f}", tif="POST_ONLY")
        venue.advance("10s")
        found = session.fills().sort_values("time")
        assert venue.host.core.violations() == []
    wanted = run.fills.groupby(["time", "side", "price"])["quantity"].sum()
    here = found.groupby(["time", "side", "price"])["quantity"].sum()
    assert here.to_dict() == pytest.approx(wanted.to_dict())


def test_recorded_marks_and_indexes_are_the_venue_s() -> None:
    rows = [
        *BOOK,
        (100, Kind.MARK, 0, 60010.4, 0.0),
        (100, Kind.INDEX, 0, 60020.7, 0.0),
        (9000, DEPTH, 1, 50000.0, 1.0),
    ]
    with replayed(events_of(*rows)) as venue:
        venue.advance("8s")
        market = venue.host.core.state.markets[1]
        assert (market.mark, market.oracle) == (600104, 600207)


def test_a_revert_goes_back_in_the_recording_too() -> None:
    events = random_market(2)
    with replayed(events) as venue:
        venue.advance("3s")
        mark = venue.snapshot()
        venue.advance("3s")
        once = venue.control.state_hash()
        venue.revert(mark)
        venue.advance("3s")
        assert venue.control.state_hash() == once


def test_best_prices_and_single_orders_are_books_too() -> None:
    quotes = [
        (ms, Kind.QUOTE, side, 60000.0 + side_ms, 1.0) for ms in (0, 500) for side, side_ms in ((1, ms), (-1, ms + 1))
    ]
    with replayed(events_of(*quotes)) as venue:
        venue.advance("1s")
        assert (venue.host.core.books[1].bids.best, venue.host.core.books[1].asks.best) == (605_000, 605_010)
    add = Kind.ADD
    rows = [(0, add, 1, 60000.0, 0.1), (0, add, -1, 60001.0, 0.1), (200, Kind.FILL, 1, 60000.0, 0.1),
            (200, Kind.CANCEL, 1, 60000.0, 0.1), (300, add, 1, 59999.0, 0.2)]  # fmt: skip
    orders = events_of(*rows).array.copy()
    orders["id"] = [1, 2, 1, 1, 3]
    with replayed(Events(orders, symbol="BTCUSDC")) as venue:
        venue.advance("1s")
        found = [(one.side, one.price, one.quantity) for one in venue.host.core.state.history.trades[1]]
        assert found == [(-1, 600_000, 100)]
        assert (venue.host.core.books[1].bids.best, venue.host.core.books[1].asks.best) == (599_990, 600_010)


def test_what_can_t_be_replayed_is_said(tmp_path: Path) -> None:
    events = events_of(*BOOK)
    with pytest.raises(InputError, match="DOGEUSDT is not a product of this venue, which lists BTCUSDC"):
        LocalVenue(replay=Events(events.array, symbol="DOGEUSDT"))
    with pytest.raises(InputError, match="a replay has no journal"):
        LocalVenue(replay=events, journal=tmp_path / "j")
    for wrong in (events.bars("1m"), [events], {"BTCUSDC": "tape"}):
        with pytest.raises(InputError, match=r"replay takes events, .* call toolkit\.research\.replay"):
            LocalVenue(replay=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the recording is empty"):
        LocalVenue(replay=events[:0])
    with LocalVenue(clock="manual") as venue, pytest.raises(VenueError, match="no recorded market"):
        venue.host.apply_control("play_recorded", product=1, changes=[])
    with replayed(events) as venue:
        venue.advance("1ms")
        for right in ([0, 1, 1, 0], [1, -1, 600020, 1], [2, 0, 1, 0]):  # a level may be emptied, a price be one tick
            venue.host.apply_control("play_recorded", product=1, changes=[right])
        for wrong in ([0, 1, 0, 5], [0, 0, 1, 5], [1, 1, 600010, 0], [2, 0, 0, 0], [4, 1, 1, 1], [0, 1, 1]):
            with pytest.raises(VenueError, match=r"a change is \[kind 0 to 3, side 1 or -1, price above 0 in ticks"):
                venue.host.apply_control("play_recorded", product=1, changes=[wrong])


@pytest.mark.parametrize("speed", [10**6])
def test_the_real_clock_plays_at_its_speed_from_the_first_event_on(speed: int) -> None:
    events = random_market(0)
    with LocalVenue(replay=events, speed=speed) as venue:
        while venue.host.catch_up() < BEGIN_MS + 8000:
            pass
        assert len(venue.host.core.state.history.trades[1]) == events.counts()["trade"]
