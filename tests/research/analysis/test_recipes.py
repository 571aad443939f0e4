"""A run is made again to the same numbers: from memory, and from a folder in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import toolkit
from tests.research.backtesting.events.recorded import random_market
from tests.research.markets import Wandering, walk
from toolkit.errors import ToolkitError
from toolkit.research import Limits, Results, backtest, live, models, paper, vectorised
from toolkit.research.analysis import best_queues
from toolkit.research.analysis.results import FRAMES
from toolkit.research.data.event_array import Kind

BTC = "BTCUSDC"


def same(first: Results, second: Results) -> None:
    """Compare every frame of two runs, and their settings."""
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name))
    assert first.params == second.params
    assert first.settings == second.settings


def made() -> Results:
    """Return a run in which every argument differs from its default."""
    return backtest(
        Wandering(every=5),
        {BTC: walk(4, 300), "AAA": walk(5, 300, start=9)},
        capital="50000",
        products={"AAA": {"step_size": "0.01", "max_leverage": 5}},
        leverage=4,
        fees=("0.0002", "0.0007"),
        funding={BTC: 0.0003},
        path=models.ExtremeOrder("far"),
        liquidity=models.BarLiquidity(spread=0.0001, share=0.5),
        slippage=0.0002,
        latency=models.RandomLatency(10, 5_000),
        seed=11,
    )


def test_a_run_is_made_again_to_the_same_numbers_though_its_data_changed_since() -> None:
    data = walk(4, 200)
    strategy = Wandering()
    first = backtest(strategy, data, funding=0.0001)
    data.loc[:, "close"] = 1.0
    strategy.every = 3
    same(first, first.rerun())
    assert len(first.rerun(seed=8, fees=("0", "0")).attribution) == 2
    assert first.rerun(fees=("0", "0")).attribution.loc["TOTAL", "fees"] == 0


def test_the_settings_of_a_run_are_complete() -> None:
    settings = made().settings
    assert settings["capital"] == "50000"
    assert settings["leverage"] == 4
    assert settings["fees"] == ["0.0002", "0.0007"]
    assert settings["funding"] == {BTC: 0.0003}
    assert settings["interval"] == {BTC: "0 days 01:00:00", "AAA": "0 days 01:00:00"}
    assert settings["products"]["AAA"]["step_size"] == "0.01"
    assert settings["products"][BTC]["taker_fee_rate"] == "0.0006"
    assert settings["latency"] == "RandomLatency(low=10, high=5000)"
    assert settings["seed"] == 11
    assert "300 rows, 2026-01-01 00:00:00+00:00 to" in settings["data"]["AAA"]


@pytest.mark.slow
def test_a_saved_run_is_made_again_in_another_process(tmp_path: Path) -> None:
    class OfANotebook(Wandering):
        every = 4

    first = backtest(OfANotebook(), walk(6, 200), fees=("0.0001", "0.0003"))
    first.save(tmp_path / "run")
    made().save(tmp_path / "other")
    code = (
        "import sys\nfrom toolkit.research import Results\n"
        "for name in ('run', 'other'):\n"
        "    Results.load(f'{sys.argv[1]}/{name}').rerun().save(f'{sys.argv[1]}/{name}-again')\n"
    )
    places = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60, env=places)
    for name, one in (("run", first), ("other", made())):
        again, loaded = Results.load(tmp_path / f"{name}-again"), Results.load(tmp_path / name)
        for frame in FRAMES:
            pd.testing.assert_frame_equal(getattr(again, frame), getattr(loaded, frame))
        assert again.settings == loaded.settings
        assert again.metrics()["profit"] == one.metrics()["profit"]


def test_arrays_and_paper_runs_are_made_again_too() -> None:
    targets = [0.1, -0.1] * 50
    same(run := vectorised(walk(1, 100), targets, fee=0.001), run.rerun())
    same(run := paper(Wandering(), [BTC], duration="15m", seed=3), run.rerun())


@pytest.mark.slow
def test_a_paper_run_keeps_the_market_that_it_had(tmp_path: Path) -> None:
    market = toolkit.Market.named("stressed").vary(premium_ppm=0)
    run = paper(Wandering(), [BTC], duration="15m", seed=3, market=market)
    assert run.equity["equity"].iloc[-1] != paper(Wandering(), [BTC], duration="15m", seed=3).equity["equity"].iloc[-1]
    run.save(tmp_path)
    same(run, Results.load(tmp_path).rerun())


@pytest.mark.parametrize("own", [live, pytest.param(paper, marks=pytest.mark.slow)])
def test_a_run_on_a_session_is_made_again_as_a_backtest_on_the_bars_that_it_received(own: Any, tmp_path: Path) -> None:
    with toolkit.connect(clock="manual") as session:
        session.venue.advance("2m")
        run = own(Wandering(), session=session, symbols=[BTC], limits=Limits(), duration="30m")
    again = run.rerun()
    assert again.settings["interval"] == {BTC: "0 days 00:01:00"}
    assert again.fills["side"].tolist() == run.fills["side"].tolist() != []
    assert run.rerun(fees=("0", "0")).attribution.loc["TOTAL", "fees"] == 0
    run.save(tmp_path)
    same(again, Results.load(tmp_path).rerun())


def test_a_strategy_that_is_not_deterministic_is_noticed() -> None:
    counts = iter(range(100))

    def on_bar(ctx: Any, bar: Any) -> None:
        if ctx.bars(bar.symbol).length == 3 + next(counts) // 10:
            ctx.buy(bar.symbol, "0.01")

    run = backtest(on_bar, walk(1, 15))
    with pytest.warns(UserWarning, match="is not deterministic: the same run has"):
        run.rerun()


def test_a_run_that_can_not_be_made_again_says_why(sample_results: Any) -> None:
    made_by_hand = Results("sums", sample_results.equity, sample_results.positions, sample_results.marks)
    with pytest.raises(ToolkitError, match="how it was made was not kept"):
        made_by_hand.rerun()


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
