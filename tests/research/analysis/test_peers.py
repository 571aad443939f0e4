"""Measures equal those of other libraries on curves that end anywhere, and intervals cover what they say."""

from __future__ import annotations

import importlib.util
import json
import math

import numpy as np
import pandas as pd
import pytest

from tests.research.analysis import peers
from toolkit.research import metrics
from toolkit.research.analysis.luck import assess
from toolkit.research.analysis.metrics import Curve
from toolkit.research.analysis.report_text import readable

HERE = all(importlib.util.find_spec(name) for name in ("quantstats", "empyrical", "backtesting"))


def same(found: float, expected: float | None) -> bool:
    nothing = expected is None or math.isnan(expected)
    return math.isnan(found) if nothing else math.isclose(found, expected or 0.0, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("printed", [True, False] if HERE else [True])
def test_measures_are_those_of_other_libraries(printed: bool) -> None:
    table = json.loads(peers.FILE.read_text())
    own = ("sharpe", "sortino", "volatility", "total_return", "max_drawdown")
    compared = 0
    for name, equity in peers.curves().items():
        for peer, values in (table[name] if printed else peers.measured(equity)).items():
            for measure in set(values) & set(own):
                compared += 1
                found = getattr(metrics, measure)(equity)
                assert same(found, values[measure]), (name, peer, measure, found, values[measure])
    assert compared == 30 * 10


def test_a_loss_in_the_last_hours_is_a_loss() -> None:
    index = pd.date_range("2026-01-01", periods=40 * 24 + 21, freq="h", tz="UTC")
    equity = pd.Series(10_000 * np.exp(np.random.default_rng(3).normal(4e-4, 1e-3, len(index)).cumsum()), index)
    equity.iloc[-3:] *= 0.1
    curve = Curve(index.as_unit("ms").asi8, equity.to_numpy())
    found = assess(curve, trials=1)
    assert metrics.sharpe(equity) < 0
    assert found["return_low"] < metrics.total_return(equity) < found["return_high"]
    assert found["deflated_sharpe"] < 0.5


@pytest.mark.parametrize(("minutes", "every"), [(30, "1min"), (6 * 1_440, "1h"), (40_320, "7D")])
def test_short_runs_are_not_annualised(minutes: int, every: str) -> None:
    index = pd.date_range("2026-01-01", pd.Timestamp("2026-01-01") + pd.Timedelta(minutes, "min"), freq=every, tz="UTC")
    equity = pd.Series(10_000 * (1 + np.arange(len(index)) % 5 / 1_000), index)
    nothing = pd.DataFrame(
        {"quantity": [], "side": [], "symbol": [], "price": [], "fee": [], "payment": []}, dtype=float
    )
    found = metrics.summary(equity, nothing, nothing, equity * 0)
    yearly = ["annual_return", "volatility", "sharpe", "sortino", "calmar"]
    assert found[yearly].isna().all()
    assert not found["annualised"]
    assert not math.isnan(found["period_sharpe"]), "what is no yearly number stays"
    assert set(readable(found)[["annual return", "Sharpe", "Calmar"]]) == {"too short to annualise"}
    assert readable(found)["each over"] == {"1min": "1.0 minutes", "1h": "1.0 hours", "7D": "7.0 days"}[every]


@pytest.mark.slow
@pytest.mark.parametrize("tails", [False, True])
@pytest.mark.parametrize("count", [12, 30, 90])
def test_the_intervals_of_luck_cover_the_truth_as_often_as_they_say(count: int, tails: bool) -> None:
    """Of 300 runs of a known process 90 % ± 4 % (the percentiles of the bootstrap alone: 79 % at 12 returns)."""
    true, held = 0.1, [0, 0]
    for seed in range(300):
        dice = np.random.default_rng([seed, count])
        noise = dice.standard_t(5, count) / math.sqrt(5 / 3) if tails else dice.normal(size=count)
        equity = np.cumprod(np.append(1_000.0, np.exp(0.01 * (noise + true))))
        found = assess(Curve(np.arange(count + 1) * 86_400_000, equity), trials=1)
        held[0] += found["sharpe_low"] <= true * math.sqrt(365) <= found["sharpe_high"]
        held[1] += found["return_low"] <= math.expm1(0.01 * true * count) <= found["return_high"]
    assert all(0.86 <= each / 300 <= 0.94 for each in held), held


def test_tails_and_a_benchmark_are_those_of_other_formulas() -> None:
    table, dice = json.loads(peers.FILE.read_text()), np.random.default_rng(2)
    for name, equity in peers.curves().items():
        for measure, value in metrics.tails(equity).items():
            assert same(value, table[name]["empyrical"][measure]), (name, measure)
        other = equity * 0 + 50 * np.exp(np.cumsum(dice.normal(0, 0.01, len(equity))))
        (own, year), (theirs, _) = peers.returns_of(equity), peers.returns_of(other)
        if name.endswith(("bankrupt", "constant")):
            continue  # of which there are fewer returns, or no variation
        beta, start = np.polyfit(theirs, own, 1)
        found, apart = metrics.beside(equity, other), own - theirs
        assert found["beta"] == pytest.approx(beta)
        assert found["alpha"] == pytest.approx(start * year)
        assert found["correlation"] == pytest.approx(np.corrcoef(own, theirs)[0, 1])
        assert found["information_ratio"] == pytest.approx(apart.mean() / apart.std() * math.sqrt(year))


def test_the_deepest_falls_and_round_trips_by_hand() -> None:
    index = pd.date_range("2026-01-01", periods=8, freq="D", tz="UTC")
    falls = metrics.drawdowns(pd.Series([100.0, 90, 100, 110, 99, 88, 112, 56], index))
    assert falls["depth"].tolist() == pytest.approx([-0.5, -0.2, -0.1])
    assert falls["end"].isna().tolist() == [True, False, False]
    assert falls["length"].dt.days.tolist() == [1, 3, 2]
    trips = pd.DataFrame({"net": [4.0, -2.0, 1.0], "quantity": 1.0, "entry_price": [100.0, 50.0, 100.0]})
    trips = trips.assign(opened=index[0], closed=index[[1, 2, 4]])
    found = metrics.trip_measures(trips)
    assert (found["best_trip"], found["worst_trip"], found["longest_trip"]) == (4.0, -2.0, pd.Timedelta("4D"))
    assert found["expectancy"] == pytest.approx((0.04 - 0.04 + 0.01) / 3)
    assert found["kelly"] == pytest.approx(2 / 3 - (1 / 3) / (2.5 / 2))
    assert found["sqn"] == pytest.approx(3**0.5 / 3)
    assert pd.isna(list(metrics.trip_measures(trips[:0]).values())).all()


def test_markouts_by_hand() -> None:
    times = pd.date_range("2026-01-01", periods=5, freq="s", tz="UTC")
    marks = pd.DataFrame({"A": [100.0, 101, 102, 101, 100]}, times)
    fills = pd.DataFrame({"time": times[[0, 1]], "symbol": "A", "side": ["BUY", "SELL"], "price": [100.0, 101.0]})
    fills = fills.assign(value=[300.0, 100.0])
    assert metrics.markout(fills, marks, 0) == 0.0
    assert metrics.markout(fills, marks, 2) == pytest.approx((200 * 3 + 0) / 4)
    assert metrics.markout(fills, marks, 4) == 0.0, "only the first has a mark then"
    assert math.isnan(metrics.markout(fills, marks, 0.5))
    assert math.isnan(metrics.markout(fills[:0], marks, 1))
