"""Measures equal the numbers their formulas give by hand, and stay NaN where data can't give them."""

from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.research import metrics
from toolkit.research.analysis.metrics import measure, trip_profits
from toolkit.research.analysis.results import FILLS, FUNDING, frame

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


def test_risk_is_sampled_at_days_for_long_runs_and_never_finer_than_the_data() -> None:
    assert metrics.sampling_period(curve([1.0] * 1000, "h")) == pd.Timedelta("1D")
    assert metrics.sampling_period(curve([1.0] * 60, "h")) == pd.Timedelta("1h")
    assert metrics.sampling_period(curve([1.0] * 60, "min")) == pd.Timedelta("1min")
    assert metrics.sampling_period(curve([1.0] * 60, "7D")) == pd.Timedelta("7D")
    # From 30 days and from 2 days on, both included.
    for hours, period in ((30 * 24, "1D"), (30 * 24 - 1, "1h"), (48, "1h")):
        assert metrics.sampling_period(curve([1.0] * (hours + 1), "h")) == pd.Timedelta(period), hours
    assert metrics.sampling_period(curve([1.0] * (48 * 60), "min")) == pd.Timedelta("1min")


def test_a_return_on_nothing_is_left_out_with_its_time() -> None:
    equity = curve([100.0, 50.0, 0.0, 10.0, 20.0])
    returns = metrics.sampled_returns(equity, "D")
    assert returns.tolist() == [-0.5, -1.0, 1.0]
    assert returns.index.tolist() == equity.index[[1, 2, 4]].tolist()


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


@given(
    st.lists(
        st.tuples(st.sampled_from(["BUY", "SELL"]), st.integers(1, 5), st.integers(90, 110)), min_size=1, max_size=30
    )
)
def test_round_trips_add_up_to_what_a_flat_account_gained(orders: list[tuple[str, int, int]]) -> None:
    rows = [("X", side, float(price), size / 10, 0.01 * size) for side, size, price in orders]
    net = sum(size if side == "BUY" else -size for side, size, _ in orders)
    if net:
        rows.append(("X", "SELL" if net > 0 else "BUY", 100.0, abs(net) / 10, 0.01 * abs(net)))
    cash = sum((1 if side == "SELL" else -1) * price * size - fee for _, side, price, size, fee in rows)
    trips = metrics.round_trips(fills(*rows))
    assert trips["net"].sum() == pytest.approx(cash, abs=1e-9)
    assert trips["fees"].sum() == pytest.approx(sum(fee for *_, fee in rows))


def test_shares_by_hand() -> None:
    trips = pd.DataFrame({"net": [10.0, -5.0, 0.0, 15.0]})
    assert metrics.hit_rate(trips) == 0.5
    assert metrics.profit_factor(trips) == 5.0
    assert metrics.fee_share(90.0, 10.0) == 0.1
    assert math.isnan(metrics.fee_share(-20.0, 10.0))


def test_time_weighting_by_hand() -> None:
    notional = curve([0.0, 500.0, -500.0, 0.0])
    assert metrics.time_in_market(notional) == pytest.approx(2 / 3)
    assert metrics.turnover(fills(("X", "BUY", 100.0, 3.0, 0.0)), curve([100.0, 200.0, 50.0])) == pytest.approx(2.0)


def test_a_run_without_trades_has_no_trade_measures_and_no_warnings() -> None:
    table = metrics.summary(curve([100.0, 100.0]), frame([], FILLS), frame([], FUNDING), curve([0.0, 0.0]))
    for name in ("sharpe", "sortino", "calmar", "hit_rate", "profit_factor", "fee_share"):
        assert math.isnan(table[name]), name
    assert table["total_return"] == 0
    assert table["time_in_market"] == 0


def test_a_ruined_account_is_measured_without_warnings() -> None:
    equity = curve([100.0, 50.0, -10.0, -10.0])
    table = metrics.summary(equity, frame([], FILLS), frame([], FUNDING), curve([0.0, 10.0, 10.0, 0.0]))
    assert table["annual_return"] == -1.0
    assert table["max_drawdown"] == pytest.approx(-1.1)


def test_an_empty_run_is_measured_too() -> None:
    empty = pd.Series([], dtype="float64", index=pd.DatetimeIndex([], tz="UTC"))
    table = metrics.summary(empty, frame([], FILLS), frame([], FUNDING), empty)
    assert table["fills"] == 0
    assert math.isnan(table["total_return"])


def test_growth_without_variation_has_no_ratio_and_no_drawdown() -> None:
    index = pd.date_range("2026-01-01", periods=60, freq="D", tz="UTC")
    steady = pd.Series(1000 * 1.01 ** np.arange(60), index)
    assert np.isnan(metrics.sharpe(steady))
    assert metrics.longest_drawdown(steady) == pd.Timedelta(0)
    assert metrics.longest_drawdown(pd.Series(1000.0, index)) == pd.Timedelta(0)
    assert metrics.longest_drawdown(pd.Series([3.0, 2, 3, 4, 2], index[:5])) == pd.Timedelta("2D")
    assert metrics.longest_drawdown(pd.Series([3.0, 4, 2], index[:3])) == pd.Timedelta("1D")


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


@given(seed=st.integers(0, 1000), symbols=st.integers(1, 3), steps=st.sampled_from([3, 1000]))
def test_profits_of_trips_over_arrays_are_those_of_the_trips(seed: int, symbols: int, steps: int) -> None:
    dice = random.Random(seed)
    rows = [
        (number, f"S{dice.randrange(symbols)}", dice.choice(["BUY", "SELL"]), dice.uniform(50, 60), size / 1000, 1.0)
        for number, size in enumerate(dice.randint(1, steps) for _ in range(60))
    ]
    table = frame(
        [(*row[:5], row[3] * row[4], dice.uniform(-0.1, 0.3), 0.0, "TAKER", "MARKET", row[0]) for row in rows], FILLS
    )
    arrays = metrics.curve_of(curve([1.0, 2.0]), table, frame([], FUNDING), curve([0.0, 0.0]))
    trips = metrics.round_trips(table)
    np.testing.assert_allclose(sorted(trip_profits(arrays)), sorted(trips["net"]), atol=1e-9)
    assert measure(arrays)["fees"] == pytest.approx(table["fee"].sum())
