"""The simulated past: made by the array is what the one-by-one generator gives, and it is joined without seams."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.venue.model.rng import Rng
from toolkit.venue.simulation import price_path

GENESIS = 1_767_225_600_000
PINNED = 681_742_678_034
BTC = price_path.path_settings(1, "BTCUSDC", 600_000, 100)


@given(st.integers(0, 2**64 - 1))
def test_words_and_normals_are_those_of_the_generator(seed: int) -> None:
    rng = Rng(seed)
    words = price_path._words(seed, 40)
    assert words.tolist() == [rng.bits() for _ in range(40)]
    rng = Rng(seed)
    assert price_path._normals(words) == [rng.normal() for _ in range(20)]


@pytest.mark.parametrize("chunk", [0, 1, 700])
def test_a_day_of_the_past_is_whole_and_in_range(chunk: int) -> None:
    bars = price_path.past_chunk(7, BTC, GENESIS, chunk)
    assert len(bars) == price_path.CHUNK
    assert [bar.start for bar in bars] == list(range(bars[0].start, bars[0].start + 86_400_000, 60_000))
    for bar in bars:
        assert bar.low <= min(bar.open, bar.close) <= max(bar.open, bar.close) <= bar.high
        assert bar.volume > 0
        assert bar.trades > 0
        assert all(type(number) is int for number in bar)
    for one, following in itertools.pairwise(bars):
        assert one.close == following.open


def test_days_join_and_the_last_one_ends_at_genesis() -> None:
    older, newer = (price_path.past_chunk(7, BTC, GENESIS, chunk) for chunk in (1, 0))
    assert older[-1].close == newer[0].open
    assert newer[-1].close == BTC.start
    assert newer[-1].start == GENESIS - 60_000


def test_the_past_is_pinned() -> None:
    bars = price_path.past_chunk(7, BTC, GENESIS, 3)
    assert sum(bar.close * (i + 1) for i, bar in enumerate(bars)) == PINNED
