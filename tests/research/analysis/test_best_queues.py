"""The tape of a recording is its book and its trades, and a feature is judged by all pairs of rises and falls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.research.backtesting.events.recorded import random_market
from toolkit.research.analysis import best_queues
from toolkit.research.data.event_array import Kind


def test_the_tape_of_a_recorded_book_has_both_sides_and_all_that_was_traded(tmp_path: Path) -> None:
    events = random_market(1, seconds=60)
    events.save(tmp_path / "events.parquet")
    tape = best_queues.recorded(tmp_path / "events.parquet")
    trades = events.of(Kind.TRADE)
    assert (tape.asks > tape.bids).all()
    assert tape.order_values.sum() == pytest.approx((trades["price"] * trades["quantity"]).sum())
    assert (tape.bid_sizes > 0).all()
    assert (tape.ask_sizes > 0).all()


def test_the_area_under_the_curve_counts_pairs_and_ties_half() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        score, rises = rng.integers(0, 5, 30), rng.random(30) < 0.5
        ups, downs = score[rises], score[~rises]
        if len(ups) and len(downs):
            pairs = np.sign(ups[:, None] - downs[None, :])
            assert best_queues.auc(score, rises) == pytest.approx((pairs.mean() + 1) / 2)
