"""Optimise finds what a full search finds, says how likely it is luck, and walks forward without looking ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.research.markets import walk
from toolkit.errors import InputError, ToolkitError
from toolkit.research import optimise, sweep, trials, vectorised, walk_forward
from toolkit.research.analysis.results import Results
from toolkit.research.context import Context
from toolkit.research.indicators import SMA
from toolkit.research.market_data import Bar
from toolkit.research.strategy import Strategy

BTC = "BTCUSDC"
QUIET: dict[str, Any] = {"workers": 0, "progress": False}


class SmaCross(Strategy):
    fast, slow, size = 5, 20, "0.05"

    def on_start(self, ctx: Context) -> None:
        self.short, self.long = SMA(self.fast), SMA(self.slow)

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        short, long = self.short.update(bar.close), self.long.update(bar.close)
        if long == long:
            ctx.target(bar.symbol, self.size if short > long else 0)


def held(data: Any, size: float, turn: int = 10) -> Results:
    """Hold a position that changes sides every `turn` rows."""
    return vectorised(data, np.where(np.arange(len(data)) // turn % 2, size, -size), fee=0.0, funding=None)


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return walk(3, 400)


def test_the_grid_gives_the_best_point_of_a_sweep(data: pd.DataFrame) -> None:
    trials.clear()
    space = {"fast": [3, 5, 8], "slow": [5, 20, 40]}
    found = optimise(SmaCross, space, {BTC: data}, constraints=lambda fast, slow: fast < slow, **QUIET)
    table = sweep(SmaCross, list(found.params), {BTC: data}, **QUIET)
    assert len(found.table) == 7
    pd.testing.assert_frame_equal(found.table, table)
    best = table.loc[table["sharpe"].idxmax()]
    assert found.best == {"fast": best["fast"], "slow": best["slow"]}
    assert found.run.metrics()["sharpe"] == best["sharpe"] == found.summary()["score"]
    summary = found.summary()
    assert summary["trials"] == summary["points"] == 7
    assert 0 <= summary["pbo"] <= 1
    assert 0 <= summary["deflated_sharpe"] <= summary["probabilistic_sharpe"] <= 1
    assert summary["sharpe_low"] < summary["sharpe"] < summary["sharpe_high"]
    assert "7 points, sharpe" in repr(found)


@pytest.mark.parametrize("method", ["random", "bayes"])
def test_searches_are_repeatable_keep_to_the_constraints_and_go_on_where_they_stopped(
    method: Any, data: pd.DataFrame, tmp_path: Path
) -> None:
    space = {"size": (-1, 1.0), "turn": (2, 40)}  # both ends whole: whole numbers
    options: dict[str, Any] = {"method": method, "points": 12, "constraints": lambda p: p.size * p["turn"] < 20}
    found = optimise(held, space, data, **options, **QUIET)
    assert len(found.table) == 12
    assert (found.table["size"] * found.table["turn"] < 20).all()
    assert found.table["turn"].between(2, 40).all()
    assert pd.api.types.is_integer_dtype(found.table["turn"])
    assert (found.table["size"] % 1 != 0).all()
    assert found.best == optimise(held, space, data, **options, **QUIET).best
    optimise(held, space, data, **(options | {"points": 5}), results=tmp_path / "r.jsonl", **QUIET)
    before = (tmp_path / "r.jsonl").read_text(encoding="utf-8")
    resumed = optimise(held, space, data, **options, results=tmp_path / "r.jsonl", **QUIET)
    assert (tmp_path / "r.jsonl").read_text(encoding="utf-8").startswith(before)
    pd.testing.assert_frame_equal(resumed.table, found.table)
    np.testing.assert_allclose(resumed.returns, found.returns)


def test_bayes_learns_where_the_good_points_are() -> None:
    """One smooth hill: with 40 points the estimator comes nearer to its top than 40 random ones, on average."""

    def hill(a: float, b: float) -> dict[str, float]:
        return {"height": -((a - 0.3) ** 2) - (b + 0.4) ** 2}

    space = {"a": (-3.0, 3.0), "b": (-3.0, 3.0)}
    tops = {
        method: np.mean(
            [
                optimise(hill, space, maximise="height", method=method, points=40, seed=seed, **QUIET).scores.max()  # type: ignore[arg-type]
                for seed in range(4)
            ]
        )
        for method in ("random", "bayes")
    }
    assert tops["bayes"] > tops["random"]


def test_other_measures_are_maximised_and_minimised(data: pd.DataFrame) -> None:
    space = {"size": [0.01, 0.05, -0.05]}
    turn = {"turn": 7}
    least = optimise(held, {**space, "turn": [7]}, data, maximise="-turnover", **QUIET)
    assert least.best == {"size": 0.01, **turn}
    own = optimise(held, {**space, "turn": [7]}, data, maximise=lambda m: abs(m["profit"]), **QUIET)
    assert own.scores.max() == own.table["profit"].abs().max()


def test_what_can_not_be_searched_is_named(data: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="Did you mean 'sharpe'"):
        optimise(held, {"size": [1]}, data, maximise="sharp", **QUIET)
    with pytest.raises(InputError, match="no point of the space meets the constraints"):
        optimise(held, {"size": [1]}, data, constraints=lambda size: size > 1, **QUIET)
    with pytest.raises(InputError, match=r"constraints has 'fats', .* Did you mean 'fast'"):
        optimise(held, {"fast": [1], "slow": [2]}, data, constraints=lambda fats, slow: fats < slow, **QUIET)
    with pytest.raises(InputError, match="grid, random or bayes"):
        optimise(held, {"size": [1]}, data, method="genetic", **QUIET)  # type: ignore[arg-type]
    with pytest.raises(ToolkitError, match="none of 1 points has a score: the first error is TypeError"):
        _ = optimise(held, {"sizes": [1]}, data, **QUIET).best


def test_a_walk_forward_run_judges_each_choice_on_what_follows(data: pd.DataFrame) -> None:
    space = {"fast": [3, 5], "slow": [10, 20]}
    found = walk_forward(
        SmaCross, space, {BTC: data}, train=150, test=60, warm_up=20, maximise="profit", funding=None, **QUIET
    )
    splits = walk_forward({BTC: data}, train=150, test=60)
    assert len(found.frame) == len(splits) == len(found.runs) == 4
    for split, row, run in zip(splits, found.frame.to_dict("records"), found.runs, strict=True):
        chosen = optimise(SmaCross, space, split.train({BTC: data}), maximise="profit", funding=None, **QUIET)
        assert {name: row[name] for name in space} == chosen.best
        assert run.equity.index[0] == split.test_from
        assert row["profit"] == run.metrics()["profit"]
    ends = [run.equity["equity"].iloc[-1] / run.equity["equity"].iloc[0] for run in found.runs]
    assert found.equity.iloc[-1] == pytest.approx(10_000 * np.prod(ends))
    assert found.equity.index.is_monotonic_increasing
