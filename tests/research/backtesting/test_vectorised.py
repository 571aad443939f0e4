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


def looped(
    data: dict[str, pd.DataFrame], targets: np.ndarray, sizing: str, capital: float, fee: float, rate: float
) -> list[float]:
    """Return equity at each close, bar by bar and symbol by symbol, as one would with pencil and paper."""
    names = list(data)
    cash, size = capital, dict.fromkeys(names, 0.0)
    wanted = dict.fromkeys(names, 0.0)
    orders: dict[str, float] = {}
    equity = []
    for row in range(len(targets)):
        time = data[names[0]].index[row]
        for name in names:
            opened = data[name]["open"].iloc[row]
            if time.hour % 4 == 0:
                cash -= size[name] * opened * rate
            if name in orders:
                change = orders[name] - size[name]
                cash -= change * opened + abs(change) * opened * fee
                size[name] = orders[name]
        orders = {}
        worth = cash + sum(size[name] * data[name]["close"].iloc[row] for name in names)
        equity.append(worth)
        for column, name in enumerate(names):
            target, close = targets[row, column], data[name]["close"].iloc[row]
            if np.isnan(target) or target == wanted[name]:
                continue
            wanted[name] = target
            scale = {"quantity": 1.0, "notional": 1 / close, "equity": max(worth, 0.0) / close}[sizing]
            orders[name] = target * scale
    return equity


@settings(max_examples=8)
@given(
    seed=st.integers(0, 10_000), sizing=st.sampled_from(["quantity", "notional", "equity"]), symbols=st.integers(1, 3)
)
def test_arrays_agree_with_a_plain_loop(seed: int, sizing: str, symbols: int) -> None:
    data = bars(seed, 40, symbols)
    rng = np.random.default_rng(seed + 1)
    scale = {"quantity": 5.0, "notional": 500.0, "equity": 0.5}[sizing]
    targets = rng.integers(-2, 3, (40, symbols)) * scale
    targets[rng.random(targets.shape) < 0.4] = np.nan
    run = vectorised(data, targets, sizing=sizing, capital=10_000, fee=0.0006, funding=0.0001)
    expected = looped(data, targets, sizing, 10_000.0, 0.0006, 0.0001)
    np.testing.assert_allclose(run.equity["equity"].to_numpy()[1:], expected, rtol=1e-12)
    total = run.attribution.loc["TOTAL", "net"]
    assert total == pytest.approx(run.equity["equity"].iloc[-1] - 10_000, abs=1e-7)
    assert run.funding["payment"].sum() == pytest.approx(run.attribution.loc["TOTAL", "funding"], abs=1e-9)


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), cut=st.integers(2, 38), sizing=st.sampled_from(["quantity", "notional", "equity"]))
def test_the_past_does_not_change_with_the_future(seed: int, cut: int, sizing: str) -> None:
    data = bars(seed, 40, 1)
    targets = np.random.default_rng(seed).integers(-1, 2, 40) * 0.5
    whole = vectorised(data, targets, sizing=sizing, funding=0.0001)
    part = vectorised({"S0": data["S0"].iloc[:cut]}, targets[:cut], sizing=sizing, funding=0.0001)
    pd.testing.assert_frame_equal(whole.equity.iloc[: cut + 1], part.equity)


@pytest.mark.parametrize(("side", "target", "price"), [("BUY", 0.5, 111.1), ("SELL", -0.5, 108.9)])
def test_a_target_trades_at_the_next_open_and_pays_fee_and_slippage(side: str, target: float, price: float) -> None:
    index = pd.date_range("2026-01-01 01:00", periods=3, freq="h", tz="UTC")
    prices = np.array([100.0, 110.0, 120.0])
    frame = pd.DataFrame({"open": prices, "high": prices + 1, "low": prices - 1, "close": prices}, index=index)
    run = vectorised({"X": frame}, [target, target, 0.0], fee=0.001, slippage=0.01, capital=1000)
    fill = run.fills.iloc[0]
    assert len(run.fills) == 1
    assert (fill["price"], fill["quantity"], fill["side"]) == (pytest.approx(price), 0.5, side)
    assert fill["time"] == frame.index[1]
    assert fill["fee"] == pytest.approx(0.0005 * price)
    assert run.equity["equity"].iloc[-1] == pytest.approx(1000 - 0.0005 * price + target * (120 - price))
    assert run.equity["unrealized"].iloc[-1] == pytest.approx(target * (120 - price))


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


def test_targets_go_by_their_times_and_names() -> None:
    data = walk(1, 10)
    held = pd.Series(np.arange(10.0), index=data.index)
    assert len(vectorised({"A": data}, held).fills) == 8
    for wrong in (held[::-1], held.shift(freq="1h"), held.tz_convert(None).shift(freq="1min").to_frame()):
        with pytest.raises(InputError, match="Reindex them to the bars' times"):
            vectorised({"A": data}, wrong)
    with pytest.raises(InputError, match="no column A"):
        vectorised({"A": data, "B": data}, pd.DataFrame({"X": held, "Y": held}))
    with pytest.raises(InputError, match="infinite"):
        vectorised({"A": data}, held.replace(3.0, np.inf))
    with pytest.raises(InputError, match="a funding rate is not a number"):
        vectorised({"A": data}, held, funding=pd.Series([np.nan], data.index[:1]))


def test_funding_has_the_default_of_a_backtest() -> None:
    data = {"BTCUSDC": walk(2, 50)}
    driven = backtest(lambda ctx, bar: ctx.target("BTCUSDC", "0.1"), data, capital=100_000)
    arrays = vectorised(data, [0.1] * 50, capital=100_000)
    assert len(arrays.funding) == len(driven.funding) > 5
    np.testing.assert_allclose(arrays.funding["payment"], driven.funding["payment"], atol=2e-6)
    for options in ({"funding": {"BTCUSD": 0.1}}, {"step": {"BTCUSD": 0.1}}):
        with pytest.raises(InputError, match="Did you mean 'BTCUSDC'"):
            vectorised(data, [0.1] * 50, **options)
