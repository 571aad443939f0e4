"""Skipping what can't happen changes nothing: the quick walk and the thorough one end in the same state."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from tests.research.backtesting.known_runs import Everything
from tests.research.markets import walk
from toolkit.research.analysis.results import Results
from toolkit.research.backtesting import driver
from toolkit.research.backtesting.arrays import vectorised
from toolkit.research.backtesting.broker import SimulatedBroker
from toolkit.research.backtesting.models import BarLiquidity, ImpactSlippage, RandomLatency, RatioSlippage
from toolkit.research.context import Context
from toolkit.research.data.bars import ExtremeOrder
from toolkit.research.market_data import Bar
from toolkit.research.strategy import Strategy


def both(seed: int, data: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Any]:
    """Run quickly and thoroughly; return (results, state hash) of each."""
    cores: list[Any] = []
    make = driver.make_core

    def remember(*args: Any) -> Any:
        cores.append(make(*args))
        return cores[-1]

    monkeypatch.setattr(driver, "make_core", remember)
    runs = [
        driver.backtest(Everything(seed, 0.25), data, every_point=thorough, seed=seed, **options)
        for thorough in (False, True)
    ]
    monkeypatch.undo()
    for position in (one for core in cores for each in core.state.accounts.values() for one in each.positions.values()):
        position.updated = 0  # a leverage is set at the time of the last step, of which a quick walk has fewer
    for core in cores:
        # What the house traded is named by its quotes, which it counts below 0. A quick walk has fewer of them.
        entries = core.state.history.ledger.records
        entries[:] = [
            replace(entry, reference="-") if isinstance(entry, Struct) and entry.reference.startswith("-") else entry
            for entry in entries
        ]
    return [(run, core.state_hash()) for run, core in zip(runs, cores, strict=True)]


@pytest.mark.parametrize("seed", [2, 3])
def test_market_orders_filled_directly_are_those_that_the_core_would_fill(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {name: walk(seed + at, 250, wild=0.02) for at, name in enumerate(["BTCUSDC", "AAA"][: 1 + seed % 2])}
    options: dict[str, Any] = {
        "capital": [400, 3_000, 50_000][seed % 3],
        "slippage": [0.0, 0.001, ImpactSlippage(0.5)][seed % 3],
        "leverage": [None, 5][seed % 2],
        "fees": [None, ("-0.0001", "0.0009")][seed % 2],
    }
    count = iter(range(10**6))
    judged, fill = [], SimulatedBroker._fill_market_order

    def watched(self: Any, *args: Any) -> bool:
        judged.append(fill(self, *args))
        return judged[-1]

    def marketable(ctx: Context, bar: Bar) -> None:
        number = next(count)
        ctx.target(bar.symbol, [0.05, -0.08, 0.2, 0, -1, 0.003][number * 7 % 6])
        if number % 9 == 0:
            ctx.buy(bar.symbol, "0.01", bar.close * 0.97 // 1)

    monkeypatch.setattr(SimulatedBroker, "_fill_market_order", watched)
    quick = driver.backtest(marketable, data, **options)
    monkeypatch.setattr(SimulatedBroker, "_fill_market_order", lambda *args: False)
    count = iter(range(10**6))
    through_the_core = driver.backtest(marketable, data, **options)
    for name in ("fills", "orders", "funding", "equity", "positions", "transfers", "events"):
        pd.testing.assert_frame_equal(getattr(quick, name), getattr(through_the_core, name))
    assert any(judged)
    assert not all(judged)


def assert_same(pair: list[Any]) -> Results:
    """Hold the two runs against each other, down to the state of the core."""
    (quick, one), (thorough, two) = pair
    for name in ("fills", "orders", "funding", "equity", "positions", "transfers", "events"):
        pd.testing.assert_frame_equal(getattr(quick, name), getattr(thorough, name))
    assert one == two
    net = quick.attribution.loc["TOTAL", "net"]
    assert net == pytest.approx(quick.equity["equity"].iloc[-1] - quick.equity["equity"].iloc[0], abs=1e-6)
    return quick


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 45))])
def test_the_quick_walk_ends_in_the_same_state(seed: int) -> None:
    dice = random.Random(seed)
    data = {"BTCUSDC": walk(seed, 120, wild=0.015)}
    if seed % 2:
        rows, every = dice.choice([(120, "h"), (30, "4h")])
        data["ETHUSDC"] = walk(seed + 1, rows, every, wild=0.02, start=3_000.0)
    if dice.random() < 0.3:
        data = {name: bars[[dice.random() < 0.7 for _ in range(len(bars))]] for name, bars in data.items()}
    options: dict[str, Any] = {
        "capital": dice.choice([300, 2_000, 100_000]),
        "leverage": 20,
        "liquidity": BarLiquidity(0.0002, dice.choice([None, 0.02]), dice.random() < 0.5),
        "slippage": RatioSlippage(0.0001),
        "latency": RandomLatency(0, dice.choice([0, 900_000, 9_000_000])),
        "path": ExtremeOrder(dice.choice(["near", "far", "low", "high"])),
    }
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_same(both(seed, data, monkeypatch, **options))


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
def test_a_portfolio_ends_in_the_same_state_as_with_every_point_also_through_liquidation(seed: int) -> None:
    dice = random.Random(seed)
    data = {f"S{at}USDC": walk(seed + at, 50, wild=0.02, start=100.0 * (at + 1)) for at in range(dice.randrange(3, 7))}
    if dice.random() < 0.3:
        data = {name: bars[[dice.random() < 0.8 for _ in range(len(bars))]] for name, bars in data.items()}
    options: dict[str, Any] = {
        "capital": [60, 400, 10_000, 1_000_000][seed % 4],
        "leverage": dice.choice([3, 20]),
        "liquidity": BarLiquidity(0.0002, dice.choice([None, 0.02]), dice.random() < 0.5),
        "slippage": dice.choice([RatioSlippage(0.0001), ImpactSlippage(0.5)]),
        "latency": RandomLatency(0, dice.choice([0, 900_000])),
    }
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_same(both(seed, data, monkeypatch, **options))


@pytest.mark.slow
def test_the_random_runs_meet_everything_that_can_happen() -> None:
    kinds: set[str] = set()
    for seed in range(12):
        run = driver.backtest(
            Everything(seed, 0.25),
            {"BTCUSDC": walk(seed, 120, wild=0.015), "ETHUSDC": walk(seed + 1, 120, wild=0.02, start=3_000.0)},
            capital=1_000,
            leverage=20,
        )
        kinds |= set(run.events["kind"]) | set(run.fills["role"]) | set(run.orders["status"]) | set(run.fills["type"])
        kinds |= {"FUNDING"} if len(run.funding) else set()
    assert kinds >= {"LIQUIDATION", "REJECTED", "MAKER", "TAKER", "CANCELED", "FILLED", "LIMIT", "MARKET", "FUNDING"}


class Follower(Strategy):
    """Follows target positions, one for each bar."""

    def __init__(self, targets: dict[str, list[str]]) -> None:
        self.targets = targets
        self.count = dict.fromkeys(targets, 0)

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        """Go to this bar's target."""
        at = self.count[bar.symbol]
        self.count[bar.symbol] = at + 1
        ctx.target(bar.symbol, self.targets[bar.symbol][at])


@settings(max_examples=5, phases=[Phase.generate])
@given(seed=st.integers(0, 10_000), slippage=st.sampled_from([0.0, 0.0005]), symbols=st.integers(1, 2))
def test_vectorised_and_event_driven_agree(seed: int, slippage: float, symbols: int) -> None:
    """Where both apply (market orders, enough margin and size), only the rounding of fees up to 1e-6 differs."""
    rng = np.random.default_rng(seed)
    data = {"BTCUSDC": walk(seed, 80), "ETHUSDC": walk(seed + 1, 80, start=3_000.0)}
    data = dict(list(data.items())[:symbols])
    steps = {name: rng.integers(-6, 7, 80) * 5 for name in data}
    texts = {name: [f"{int(step) / 1000:.3f}" for step in column] for name, column in steps.items()}
    event_driven = driver.backtest(
        Follower(texts), data, capital=1_000_000, funding=0.0001, slippage=slippage, fees=("0.0006", "0.0006")
    )
    arrays = vectorised(
        data,
        np.column_stack(list(steps.values())) / 1000,
        capital=1_000_000,
        funding=0.0001,
        slippage=slippage,
    )
    tolerance = 2e-6 * (len(event_driven.fills) + len(event_driven.funding) + 1)
    if slippage:
        tolerance += event_driven.fills["quantity"].sum() * 0.1  # slipped prices are rounded up to ticks of 0.1
    assert len(event_driven.fills) == len(arrays.fills)
    np.testing.assert_allclose(event_driven.equity["equity"], arrays.equity["equity"], rtol=0, atol=tolerance)
    pd.testing.assert_frame_equal(event_driven.positions, arrays.positions, check_freq=False)
    np.testing.assert_allclose(event_driven.funding["payment"], arrays.funding["payment"], atol=2e-6)
