"""Measures equal the numbers their formulas give by hand, and stay NaN where data can't give them."""

from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.research import metrics
from toolkit.research.analysis.results import FILLS, frame

DAY = 86_400_000


def curve(values: list[float], every: str = "D") -> pd.Series:
    return pd.Series(values, index=pd.date_range("2026-01-01", periods=len(values), freq=every, tz="UTC"))


def fills(*rows: tuple[str, str, float, float, float]) -> pd.DataFrame:
    """Rows of (symbol, side, price, quantity, fee), a day apart."""
    return frame(
        [
            (number * DAY, symbol, side, price, quantity, price * quantity, fee, 0.0, "TAKER", "MARKET", number)
            for number, (symbol, side, price, quantity, fee) in enumerate(rows)
        ],
        FILLS,
    )


def test_returns_by_hand() -> None:
    equity = curve([100.0, 110.0, 99.0, 121.0])
    assert metrics.total_return(equity) == pytest.approx(0.21)
    assert metrics.annual_return(equity) == pytest.approx(1.21 ** (365 / 3) - 1)
    assert metrics.sampled_returns(equity).tolist() == pytest.approx([0.1, -0.1, 121 / 99 - 1])


def test_risk_by_hand() -> None:
    returns = [0.1, -0.1, 0.2, -0.05]
    equity = curve([100.0, *(100 * np.cumprod([1 + r for r in returns]))])
    mean, deviation = np.mean(returns), np.std(returns, ddof=1)
    assert metrics.volatility(equity, "D") == pytest.approx(deviation * math.sqrt(365))
    assert metrics.sharpe(equity, "D") == pytest.approx(mean / deviation * math.sqrt(365))
    assert metrics.sharpe(equity, "D", risk_free=3.65) == pytest.approx((mean - 0.01) / deviation * math.sqrt(365))
    downside = math.sqrt((0.1**2 + 0.05**2) / 4)
    assert metrics.sortino(equity, "D") == pytest.approx(mean / downside * math.sqrt(365))


def test_drawdown_by_hand() -> None:
    equity = curve([100.0, 120.0, 90.0, 100.0, 120.0, 60.0])
    assert metrics.drawdown(equity).tolist() == pytest.approx([0, 0, -0.25, -1 / 6, 0, -0.5])
    assert metrics.max_drawdown(equity) == -0.5
    assert metrics.longest_drawdown(equity) == pd.Timedelta(days=3)
    assert metrics.calmar(equity) == pytest.approx(metrics.annual_return(equity) / 0.5)


def test_round_trips_of_a_flip_share_its_fee() -> None:
    trips = metrics.round_trips(
        fills(
            ("BTC", "BUY", 100.0, 1.0, 0.1),
            ("BTC", "BUY", 110.0, 1.0, 0.1),
            ("ETH", "BUY", 10.0, 1.0, 0.01),
            ("BTC", "SELL", 120.0, 3.0, 0.3),
            ("BTC", "BUY", 100.0, 1.0, 0.1),
        )
    )
    assert trips["side"].tolist() == ["LONG", "SHORT"]
    assert trips["gross"].tolist() == pytest.approx([30.0, 20.0])
    assert trips["fees"].tolist() == pytest.approx([0.4, 0.2])
    assert trips["net"].tolist() == pytest.approx([29.6, 19.8])
    assert trips["entry_price"].tolist() == pytest.approx([105.0, 120.0])
    assert trips["exit_price"].tolist() == pytest.approx([120.0, 100.0])
    assert trips["quantity"].tolist() == [2.0, 1.0]


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), largest=st.sampled_from([10, 10**6, 10**10]))
def test_round_trips_end_whenever_the_position_is_flat(seed: int, largest: int) -> None:
    """Quantities of up to ten million, in steps of 0.001: rounding leaves no trip open and opens none."""
    dice = random.Random(seed)
    held, flats, rows = 0, 0, []
    for number in range(100):
        steps = dice.randint(1, largest) * dice.choice([1, -1])
        steps = -held if held and dice.random() < 0.4 else steps
        flats += held * (held + steps) <= 0 and held != 0
        held += steps
        side, quantity = "BUY" if steps > 0 else "SELL", abs(steps) / 1000
        rows.append((number, "A", side, 1.0, quantity, quantity, 0.0, 0.0, "TAKER", "MARKET", number))
    assert len(metrics.round_trips(frame(rows, FILLS))) == flats
