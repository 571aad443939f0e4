"""Vectorised runs: equal to a plain loop, no use of later rows, and frames that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.research.markets import walk
from toolkit.errors import InputError
from toolkit.research.analysis.luck import trials
from toolkit.research.backtesting.arrays import vectorised, vectorised_many
from toolkit.research.backtesting.driver import backtest


def bars(seed: int, rows: int, symbols: int, every: str = "2h") -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    index = pd.date_range("2026-01-01", periods=rows, freq=every, tz="UTC")
    made = {}
    for number in range(symbols):
        close = 100 * np.exp(np.cumsum(rng.normal(0, 0.01, rows)))
        opened = close * np.exp(rng.normal(0, 0.002, rows))
        high, low = np.maximum(opened, close) * 1.001, np.minimum(opened, close) * 0.999
        made[f"S{number}"] = pd.DataFrame({"open": opened, "high": high, "low": low, "close": close}, index=index)
    return made


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), cut=st.integers(2, 38), sizing=st.sampled_from(["quantity", "notional", "equity"]))
def test_the_past_does_not_change_with_the_future(seed: int, cut: int, sizing: str) -> None:
    data = bars(seed, 40, 1)
    targets = np.random.default_rng(seed).integers(-1, 2, 40) * 0.5
    whole = vectorised(data, targets, sizing=sizing, funding=0.0001)
    part = vectorised({"S0": data["S0"].iloc[:cut]}, targets[:cut], sizing=sizing, funding=0.0001)
    pd.testing.assert_frame_equal(whole.equity.iloc[: cut + 1], part.equity)


def test_a_run_keeps_its_name_and_parameters() -> None:
    data = bars(1, 3, 1)
    named = vectorised(data, np.ones(3), name="Sma", params={"n": 20})
    assert (named.name, named.params) == ("Sma", {"n": 20})
    unnamed = vectorised(data, np.ones(3))
    assert (unnamed.name, unnamed.params) == ("vectorised", {})


@pytest.mark.parametrize("symbols", [1, 3])
@pytest.mark.parametrize("sizing", ["quantity", "notional"])
@pytest.mark.parametrize("every", ["min", "D"])
def test_measures_of_many_columns_are_those_of_each_run(symbols: int, sizing: Any, every: str) -> None:
    data, rng = bars(11, 120, symbols, every=every), np.random.default_rng(5)
    targets: dict[Any, Any] = {}
    for number in range(90):
        held = rng.choice([-1.0, 0.0, 1.0, np.nan], (120, symbols), p=[0.1, 0.1, 0.1, 0.7])
        targets[number, number % 7] = held * float(rng.choice([0.5, 3.0, 40.0, 300_000.0]))
    options: dict[str, Any] = {
        "sizing": sizing, "capital": 5_000.0, "fee": 0.001, "slippage": 0.0004, "step": rng.choice([None, 0.25]),
        "funding": float(rng.choice([0.0005, -0.0005])),
    }  # fmt: skip
    names = ["sharpe", "total_return", "max_drawdown", "volatility"]
    many = vectorised_many(data, targets, measures=names, **options)
    assert list(many) == names
    assert list(many.index) == list(targets)
    each = vectorised_many(data, targets, **options)[names].astype("float64")
    np.testing.assert_allclose(many.to_numpy(), each.to_numpy(), rtol=1e-6, atol=1e-9)
    assert (each["max_drawdown"] <= -1).any(), "some have lost everything"


def test_runs_that_are_measured_together_are_counted_as_trials() -> None:
    data = bars(3, 60, 1)
    targets = {size: np.full(60, size) for size in (1.0, 2.0, 3.0)}
    before = len(trials)
    for _ in range(2):
        vectorised_many(data, targets, measures=["sharpe"])
    assert len(trials) == before + 3
    with pytest.raises(InputError, match="shape"):
        vectorised_many(data, {1: np.zeros(59)}, measures=["sharpe"])
    with pytest.raises(InputError, match="sharp"):
        vectorised_many(data, targets, measures=["sharp"])


def test_funding_has_the_default_of_a_backtest() -> None:
    data = {"BTCUSDC": walk(2, 50)}
    driven = backtest(lambda ctx, bar: ctx.target("BTCUSDC", "0.1"), data, capital=100_000)
    arrays = vectorised(data, [0.1] * 50, capital=100_000)
    assert len(arrays.funding) == len(driven.funding) > 5
    np.testing.assert_allclose(arrays.funding["payment"], driven.funding["payment"], atol=2e-6)
    for options in ({"funding": {"BTCUSD": 0.1}}, {"step": {"BTCUSD": 0.1}}):
        with pytest.raises(InputError, match="Did you mean 'BTCUSDC'"):
            vectorised(data, [0.1] * 50, **options)
