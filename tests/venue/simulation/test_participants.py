"""The simulated market: a believable book and trades, the same for the same seed, and a past that joins on."""

from __future__ import annotations

import itertools

import pytest

from toolkit.venue.engine.commands import Advance
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.model.rng import SIGMA, Rng, mix
from toolkit.venue.simulation.participants import history
from toolkit.venue.simulation.price_path import CHUNK, MINUTE_MS, PAST_CHUNKS

HOUR = 3_600_000


def simulated(seed: int = 7, until: int = HOUR) -> Core:
    core = Core(Genesis(seed=seed, settings={"market": True}))
    core.apply(Advance(GENESIS_TIME + until))
    return core


@pytest.fixture(scope="module")
def after_an_hour() -> Core:
    return simulated()


def test_the_same_seed_gives_the_same_state_and_another_seed_another(after_an_hour: Core) -> None:
    assert simulated().state_hash() == after_an_hour.state_hash()
    assert simulated(seed=8).state_hash() != after_an_hour.state_hash()


def test_going_in_many_steps_ends_where_one_step_ends(after_an_hour: Core) -> None:
    core = Core(Genesis(settings={"market": True}))
    for minutes in (1, 2, 3, 30, 45, 60):
        core.apply(Advance(GENESIS_TIME + minutes * MINUTE_MS))
    assert core.state_hash() == after_an_hour.state_hash()


def test_a_loaded_core_goes_on_as_the_dumped_one(after_an_hour: Core) -> None:
    half = simulated(until=HOUR // 2)
    loaded = Core.load(half.dump())
    loaded.apply(Advance(GENESIS_TIME + HOUR))
    assert loaded.state_hash() == after_an_hour.state_hash()


def test_every_product_has_a_tight_and_deep_book_around_its_index(after_an_hour: Core) -> None:
    for code, product in after_an_hour.products.items():
        book, market = after_an_hour.books[code], after_an_hour.state.markets[code]
        bid, ask = book.bids.best, book.asks.best
        assert 0 < bid < ask
        assert (ask - bid) / market.oracle < 0.001
        assert abs((bid + ask) / 2 / market.oracle - 1) < 0.003
        for side in (1, -1):
            depth = sum(price * total * product.unit for price, total in book.depth(side, 20))
            assert depth > 1_000_000 * 1_000_000, "a million USDC on each side"


def test_both_sides_trade_every_few_seconds(after_an_hour: Core) -> None:
    for trades in after_an_hour.state.history.trades.values():
        assert 200 < len(trades) < 900
        buys = sum(trade.side > 0 for trade in trades)
        assert 0.2 < buys / len(trades) < 0.8


def test_there_is_no_market_unless_it_is_asked_for() -> None:
    core = Core(Genesis())
    core.apply(Advance(GENESIS_TIME + HOUR))
    assert core.state.simulation is None
    assert not any(core.state.history.trades.values())
    assert history(core, 1, 0, GENESIS_TIME) == []


def test_the_past_joins_the_present_without_gap_or_jump(after_an_hour: Core) -> None:
    span = 3 * CHUNK * MINUTE_MS
    for code in after_an_hour.products:
        bars = history(after_an_hour, code, GENESIS_TIME - span, GENESIS_TIME)
        assert [bar.start for bar in bars] == list(range(GENESIS_TIME - span, GENESIS_TIME, MINUTE_MS))
        assert bars[-1].close == after_an_hour.state.simulation.quotes[code].start  # type: ignore[union-attr]
        assert all(before.close == after.open for before, after in itertools.pairwise(bars))
        assert all(0 < bar.low <= min(bar.open, bar.close) <= max(bar.open, bar.close) <= bar.high for bar in bars)
        assert all(bar.volume > 0 and bar.turnover > 0 and bar.trades > 0 for bar in bars)


def test_any_part_of_the_past_is_the_same_part_of_the_whole(after_an_hour: Core) -> None:
    whole = history(after_an_hour, 1, GENESIS_TIME - 4 * CHUNK * MINUTE_MS, GENESIS_TIME)
    start, end = GENESIS_TIME - 3 * CHUNK * MINUTE_MS - 90_000, GENESIS_TIME - CHUNK * MINUTE_MS + 30_000
    assert history(after_an_hour, 1, start, end) == [bar for bar in whole if start <= bar.start < end]
    oldest = GENESIS_TIME - PAST_CHUNKS * CHUNK * MINUTE_MS
    assert history(after_an_hour, 1, oldest - CHUNK * MINUTE_MS, oldest) == []
    assert len(history(after_an_hour, 1, oldest - MINUTE_MS, oldest + MINUTE_MS)) == 1


def test_random_numbers_are_those_of_the_published_algorithm() -> None:
    rng = Rng(1234567)
    assert [rng.bits() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_normal_numbers_have_mean_0_and_deviation_1() -> None:
    rng = Rng(mix(1, 2, 3))
    drawn = [rng.normal() / SIGMA for _ in range(20_000)]
    mean = sum(drawn) / len(drawn)
    assert abs(mean) < 0.03
    assert abs(sum((x - mean) ** 2 for x in drawn) / len(drawn) - 1) < 0.04
    assert mix(1, 2) != mix(2, 1)
