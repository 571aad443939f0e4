"""The simulated past: whole, joined without seams, of any length at once, and made by the numbers of the future."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tuples import changed
from tests.venue.simulation.stream import Rng
from toolkit.venue.engine.commands import Advance
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.simulation import noise, past
from toolkit.venue.simulation.noise import SIGMA
from toolkit.venue.simulation.participants import past_of

MINUTE = 60_000
DAY = 1_440 * MINUTE
HOUR = 60 * MINUTE


@pytest.fixture(scope="module")
def core() -> Core:
    return Core(Genesis(settings={"market": True}))


def past_from(core: Core, code: int = 1) -> past.Past:
    found = past_of(core, code)
    assert found is not None
    return found


@given(st.integers(0, 2**64 - 1), st.integers(0, 10_000))
def test_words_are_those_of_the_generator_at_any_place(seed: int, first: int) -> None:
    rng = Rng(seed)
    rng.state = (seed + first * 0x9E3779B97F4A7C15) % 2**64
    assert noise.words(seed, np.arange(first, first + 20)).tolist() == [rng.bits() for _ in range(20)]


def test_normals_exponentials_and_waits_have_their_shapes() -> None:
    drawn = noise.normals(noise.words(3, np.arange(100_000)))
    assert abs(drawn.mean()) < 0.01 * SIGMA
    assert abs(drawn.std() / SIGMA - 1) < 0.01
    logs = np.linspace(-4.5, 4.5, 1_001)
    exact = np.exp(logs) * 2**noise.EXP_BITS
    found = noise.exponential((logs * 2**noise.LOG_BITS).astype(np.int64))
    assert np.abs(found / exact - 1).max() < 1e-5
    waits = noise.waits()
    assert abs(waits.mean() - 1_000) < 10  # longer ones than five means count as five
    assert sorted(waits.tolist(), reverse=True) == waits.tolist()


def test_the_past_joins_the_present_without_gap_or_jump(core: Core) -> None:
    for code in core.products:
        before = past_from(core, code)
        bars = list(past.candles(before, GENESIS_TIME - 40 * DAY, GENESIS_TIME))
        assert [bar.start for bar in bars] == list(range(GENESIS_TIME - 40 * DAY, GENESIS_TIME, MINUTE))
        assert bars[-1].close == before.start == core.state.markets[code].oracle
        assert all(one.close == following.open for one, following in itertools.pairwise(bars))
        assert all(0 < bar.low <= min(bar.open, bar.close) <= max(bar.open, bar.close) <= bar.high for bar in bars)
        assert all(bar.volume > 0 and bar.turnover > 0 and bar.count > 0 for bar in bars)
        assert all(type(number) is int for number in (bars[0].start, bars[0].open, bars[0].volume, bars[0].turnover))


def test_any_part_of_the_past_is_the_same_part_of_the_whole(core: Core) -> None:
    before = past_from(core)
    whole = list(past.candles(before, GENESIS_TIME - 4 * DAY, GENESIS_TIME))
    start, end = GENESIS_TIME - 3 * DAY - 90_000, GENESIS_TIME - DAY + 30_000
    assert list(past.candles(before, start, end)) == [bar for bar in whole if start <= bar.start < end]
    assert list(past.candles(before, before.earliest - DAY, before.earliest)) == []
    assert len(list(past.candles(before, before.earliest - MINUTE, before.earliest + MINUTE))) == 1


@pytest.mark.parametrize("interval", [5 * MINUTE, HOUR, 4 * HOUR, 7 * DAY])
def test_longer_candles_are_their_minutes(core: Core, interval: int) -> None:
    before = past_from(core)
    start = (GENESIS_TIME - 70 * DAY) // interval * interval
    minutes = list(past.candles(before, start, GENESIS_TIME))
    joined: dict[int, list[int]] = {}
    for bar in past.candles(before, start, GENESIS_TIME, interval):
        row = joined.setdefault(bar.start, [bar.open, bar.high, bar.low, bar.close, 0, 0, 0])
        row[1], row[2], row[3] = max(row[1], bar.high), min(row[2], bar.low), bar.close
        row[4:] = row[4] + bar.volume, row[5] + bar.turnover, row[6] + bar.count
    for begin, group in itertools.groupby(minutes, lambda bar: bar.start // interval * interval):
        bars = list(group)
        wanted = [bars[0].open, max(b.high for b in bars), min(b.low for b in bars), bars[-1].close]
        wanted += [sum(b.volume for b in bars), sum(b.turnover for b in bars), sum(b.count for b in bars)]
        assert joined[begin] == wanted


@pytest.mark.slow
def test_the_past_trades_as_much_as_the_present() -> None:
    """The minutes of a venue's first hours, beside what the past would have been in the same minutes."""
    core = Core(Genesis(seed=5, settings={"market": True}))
    core.record_events(False)
    end = GENESIS_TIME + 4 * HOUR
    core.apply(Advance(end))
    met, made = [], []
    for code in core.products:
        before = past_from(core, code)
        for bars, kept in (
            ([bar for bar in core.state.history.candles[code] if bar.start < end], met),
            (past.candles(changed(before, genesis=end), GENESIS_TIME, end), made),
        ):
            rows = np.array([(bar.close, bar.high - bar.low, bar.turnover, bar.count) for bar in bars], dtype=float)
            moved = np.diff(np.log(rows[:, 0])).std()
            kept.append((moved, (rows[:, 1] / rows[:, 0]).mean(), rows[:, 2].mean(), rows[:, 3].mean()))
    ratios = (np.array(made) / np.array(met)).mean(axis=0)
    assert 0.75 < ratios[0] < 1.3, "standard deviation of returns"
    assert 0.75 < ratios[1] < 1.4, "range of a minute"
    assert 0.7 < ratios[2] < 1.4, "turnover"
    assert 0.8 < ratios[3] < 1.25, "number of trades"


def test_trades_before_genesis_add_up_to_the_candles(core: Core) -> None:
    before = past_from(core)
    found = past.trades(before, 400)
    assert len(found) == 400
    assert len({trade.id for trade in found}) == 400
    assert [trade.time for trade in found] == sorted(trade.time for trade in found)
    assert all(trade.time < GENESIS_TIME and trade.quantity > 0 for trade in found)
    assert past.trades(before, 150) == found[-150:]
    for bar in past.candles(before, found[0].time + MINUTE, GENESIS_TIME):
        own = [trade for trade in found if bar.start <= trade.time < bar.start + MINUTE]
        assert (own[-1].price, len(own)) == (bar.close, bar.count)
        assert sum(trade.quantity for trade in own) == bar.volume
        assert all(bar.low <= trade.price <= bar.high for trade in own)
    sides = np.array([trade.side for trade in found])
    assert np.corrcoef(sides[1:], sides[:-1])[0, 1] > 0.3


def test_the_past_moves_as_the_future_will(core: Core) -> None:
    closes = np.array([bar.close for bar in past.candles(past_from(core), GENESIS_TIME - 60 * DAY, GENESIS_TIME)])
    moved = np.diff(np.log(closes))
    assert 4e-4 < moved.std() < 12e-4
    assert abs(np.corrcoef(moved[1:], moved[:-1])[0, 1]) < 0.05
    size = np.abs(moved)
    assert np.corrcoef(size[1:], size[:-1])[0, 1] > 0.2
    assert np.corrcoef(size[60:], size[:-60])[0, 1] > 0.1
    other = np.array([b.close for b in past.candles(past_from(core, 2), GENESIS_TIME - 60 * DAY, GENESIS_TIME)])
    hours = [np.diff(np.log(each[::5])) for each in (closes, other)]
    assert 0.6 < np.corrcoef(*hours)[0, 1] < 0.95


def test_funding_before_genesis_changes_its_sign_and_follows_the_premium(core: Core) -> None:
    before = past_from(core)
    times = past.settlements(before, 4 * HOUR, GENESIS_TIME - 30 * DAY, GENESIS_TIME)
    assert len(times) == 180
    premiums = [past.premium_before(before, 4 * HOUR, at) for at in times]
    assert len(set(premiums)) > 100
    assert min(premiums) < -100
    assert max(premiums) > 100
    assert past.price_before(before, times[0]) == next(past.candles(before, times[0], times[0] + MINUTE)).open
