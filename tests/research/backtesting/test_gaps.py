"""Clarification 2: a stop survives a gap of the index, and venue and backtest agree where it fills."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.research.backtesting import gaps

PAGE = Path(__file__).parents[3] / "docs/research.md"


@pytest.mark.parametrize("fall", gaps.FALLS)
@pytest.mark.parametrize("seed", gaps.SEEDS[:2])
def test_a_stop_through_a_gap_fills_where_somebody_buys_on_the_venue_and_in_a_backtest(seed: int, fall: float) -> None:
    gap = gaps.through(seed, fall)
    assert gap.venue is not None
    assert gap.backtest == gap.after, "the first price after the gap"
    assert abs(gap.venue - gap.after) < gap.after / 100, "participants have quoted around the new index before it acts"
    assert gaps.table([gap]).splitlines()[1] in PAGE.read_text("utf-8"), "the page is made by `gaps`"
