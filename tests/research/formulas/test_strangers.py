"""Numbers that others have printed: a row of `strangers.jsonl` is a source, a formula, its inputs and the value.

Peers are compared where they are installed: TA-Lib, talipp, empyrical-reloaded and quantstats are no dependencies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.research.markets import walk
from toolkit.errors import InputError
from toolkit.research import formulas, indicators


def kyle_of_log_value(prices: list[float], volumes: list[float]) -> float:
    """Return the slope of returns over the signed logarithm of traded value."""
    returns = np.diff(prices) / np.array(prices[:-1])
    return formulas.kyle(returns, np.sign(returns) * np.log(np.array(volumes) * np.array(prices[1:])))


ROWS = [json.loads(line) for line in Path(__file__).with_name("strangers.jsonl").read_text("utf-8").splitlines()]
"""Of which formula a number is, where it is printed, the inputs, the value, and how many digits it has."""
FORMULAS: dict[str, Callable[..., float]] = {
    "kelly": formulas.kelly,
    "omega": formulas.omega,
    "ulcer_of_returns": lambda returns: formulas.ulcer_index(np.cumprod(1 + np.array(returns))),
    "sharpe_scale_ar1": lambda rho, q: formulas.sharpe_scale([rho**lag for lag in range(1, q)], q),
    # the inputs of Almgren and Chriss's table 1: 30 % a year of 50 USDC is 0.95 a day, 5 days in 5 parts
    "half_life": lambda aversion: 1 / formulas.almgren_chriss_rate(aversion, 0.95, 2.5e-6, 2.5e-7),
    "roll": formulas.roll,
    "amihud": lambda returns, value: formulas.amihud(returns, value) * 1e6,
    "corwin_schultz": formulas.corwin_schultz,
    "variance_ratio_of_logs": lambda logs, q: formulas.variance_ratio(np.exp(logs), q).ratio,
    # there a return is explained by the logarithm of the traded value, with the sign of the return
    "kyle_of_log_value": lambda prices, volumes: np.mean(
        [kyle_of_log_value(*each) for each in zip(prices, volumes, strict=True)]
    ),
    "hurst_of_seed": lambda seed, count: formulas.hurst(
        np.cumprod(1 + np.random.RandomState(seed).randn(count) / 1000)
    ),
    # over a day, whose mean of the time that is left is one half
    "mean_spread": lambda aversion, volatility, intensity: np.subtract(
        *formulas.avellaneda_stoikov(
            100, 0, risk_aversion=aversion, volatility=volatility, intensity=intensity, left=0.5
        )[::-1]
    ),
}


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['of']} {number}" for number, row in enumerate(ROWS)])
def test_a_printed_number_is_ours_to_its_last_digit(row: dict[str, Any]) -> None:
    found = FORMULAS[row["of"]](*row["inputs"])
    assert found == pytest.approx(row["value"], abs=0.5001 * 10 ** -row["digits"]), row["source"]


def test_each_row_names_its_source() -> None:
    assert len(ROWS) >= 15
    assert all(len(row["source"]) > 20 for row in ROWS)


def test_prices_that_bounce_show_their_spread() -> None:
    """Half a spread of 0.05 on either side of a mid that stays, with random sides: cov is −0.05²."""
    sides = np.random.default_rng(3).choice([-1, 1], 20_000)
    assert formulas.roll(100 + 0.05 * sides) == pytest.approx(0.1, rel=0.03)
    assert math.isnan(formulas.roll(range(1, 9)))


def test_the_spread_of_highs_and_lows_is_found_without_volatility() -> None:
    """Without volatility high / low is (1 + s / 2) / (1 − s / 2) in each period and in each pair."""
    for spread in (0.001, 0.02):
        quotes = [100 * (1 + spread / 2)] * 5, [100 * (1 - spread / 2)] * 5
        assert formulas.corwin_schultz(*quotes) == pytest.approx(spread, rel=1e-9)
    assert formulas.corwin_schultz([101, 111, 121], [100, 110, 120]) == 0
    assert math.isnan(formulas.corwin_schultz([101], [100]))


def test_impact_is_a_slope_and_illiquidity_a_mean() -> None:
    volume = np.array([3.0, -1.0, 4.0, -1.0, 5.0])
    assert formulas.kyle(0.25 * volume + 1, volume) == pytest.approx(0.25)
    assert math.isnan(formulas.kyle([1, 2], [3, 3]))
    assert formulas.amihud([0.02, -0.01, 0.5], [2e6, 1e6, 0]) == pytest.approx(1e-8)
    assert math.isnan(formulas.amihud([0.1], [0]))


@given(st.lists(st.floats(-0.05, 0.05), min_size=30, max_size=60), st.integers(2, 6))
def test_the_variance_ratio_is_that_of_a_loop_over_the_definition(changes: list[float], q: int) -> None:
    prices = 100 * np.exp(np.cumsum([0.0, *changes, 0.01, -0.02]))
    logs, n = np.log(prices), len(prices) - 1
    mean = (logs[-1] - logs[0]) / n
    one = sum((logs[k] - logs[k - 1] - mean) ** 2 for k in range(1, n + 1)) / (n - 1)
    m = q * (n - q + 1) * (1 - q / n)
    several = sum((logs[k] - logs[k - q] - q * mean) ** 2 for k in range(q, n + 1)) / m
    found = formulas.variance_ratio(prices, q)
    assert found.ratio == pytest.approx(several / one, rel=1e-6)
    assert found.z == pytest.approx((found.ratio - 1) / math.sqrt(2 * (2 * q - 1) * (q - 1) / (3 * q * n)))


def test_a_random_walk_has_a_ratio_of_one_and_a_hurst_exponent_of_a_half() -> None:
    dice = np.random.default_rng(5)
    steps = dice.normal(0, 0.01, 20_000)
    walked = 100 * np.exp(np.cumsum(steps))
    assert formulas.variance_ratio(walked, 4).ratio == pytest.approx(1, abs=0.03)
    assert abs(formulas.variance_ratio(walked, 4).z_robust) < 2.5
    assert formulas.hurst(walked) == pytest.approx(0.5, abs=0.03)
    trending = 100 * np.exp(np.cumsum(np.convolve(steps, [1, 0.8, 0.6, 0.4, 0.2])[:20_000]))
    assert formulas.hurst(trending) > 0.55 < formulas.hurst(100 * np.exp(np.cumsum(np.sort(steps))))
    assert formulas.variance_ratio(trending, 4).z_robust > 10


def test_a_sharpe_ratio_without_autocorrelation_grows_with_the_root_of_time() -> None:
    dice = np.random.default_rng(1).normal(0.001, 0.01, 5_000)
    assert formulas.lo_sharpe(dice, 12) == pytest.approx(math.sqrt(12) * dice.mean() / dice.std(ddof=1), rel=0.08)
    assert math.isnan(formulas.lo_sharpe([0.01, 0.01], 4))


def test_the_schedule_of_almgren_and_chriss_is_the_cheapest_one() -> None:
    """Its cost plus risk is below that of schedules near it. Without aversion it trades evenly."""
    terms = {"risk_aversion": 1e-6, "volatility": 0.95, "temporary": 2.5e-6, "permanent": 2.5e-7}
    best = formulas.almgren_chriss(1e6, 5, **terms)

    def cost(held: Any) -> float:
        sold = -np.diff(held)
        eta = terms["temporary"] - terms["permanent"] / 2
        return float(eta * (sold**2).sum() + terms["risk_aversion"] * terms["volatility"] ** 2 * (held[1:] ** 2).sum())

    assert best[[0, -1]].tolist() == [pytest.approx(1e6), 0]
    for at in range(1, 5):
        for change in (-1_000, 1_000):
            other = best.copy()
            other[at] += change
            assert cost(other) > cost(best)
    with pytest.raises(InputError, match="must be above"):
        formulas.almgren_chriss(1, 2, risk_aversion=1, volatility=1, temporary=0.1, permanent=1)


def test_quotes_lean_against_the_inventory() -> None:
    terms = {"risk_aversion": 0.1, "volatility": 2, "intensity": 1.5, "left": 1}
    flat, long = (sum(formulas.avellaneda_stoikov(100, held, **terms)) / 2 for held in (0, 3))
    assert (flat, long) == (pytest.approx(100), pytest.approx(100 - 3 * 0.1 * 4))


BARS = walk(7, 400, wild=0.01)
COLUMNS = {name: BARS[name].to_numpy(dtype="float64") for name in ("high", "low", "close", "volume")}


def streamed(made: Any, *columns: Any, read: str = "value") -> Any:
    """Return an attribute after each update."""
    found = []
    for values in zip(*columns, strict=True):
        made.update(*values)
        found.append(getattr(made, read))
    return np.array(found)


def test_new_indicators_are_those_of_whole_windows() -> None:
    close, high, low = (pd.Series(COLUMNS[name]) for name in ("close", "high", "low"))
    mean, wide = close.rolling(20).mean(), close.rolling(20).std(ddof=0)
    np.testing.assert_allclose(streamed(indicators.Bollinger(), close, read="upper"), mean + 2 * wide, rtol=1e-9)
    np.testing.assert_allclose(streamed(indicators.Bollinger(), close, read="lower"), mean - 2 * wide, rtol=1e-9)
    line = close.ewm(span=12, adjust=False).mean() - close.ewm(span=26, adjust=False).mean()
    np.testing.assert_allclose(streamed(indicators.MACD(), close)[25:], line[25:], rtol=1e-9, atol=1e-9)
    lowest, highest = low.rolling(14).min(), high.rolling(14).max()
    k = (100 * (close - lowest) / (highest - lowest)).rolling(3).mean()
    np.testing.assert_allclose(streamed(indicators.Stochastic(), high, low, close), k, atol=1e-6)
    np.testing.assert_allclose(
        streamed(indicators.Stochastic(), high, low, close, read="signal"), k.rolling(3).mean(), atol=1e-6
    )
    times = BARS.index.as_unit("ms").asi8
    days = BARS.index.floor("D")
    paid = (BARS["close"] * BARS["volume"]).groupby(days).cumsum() / BARS["volume"].groupby(days).cumsum()
    np.testing.assert_allclose(
        streamed(indicators.VWAP(), COLUMNS["close"], COLUMNS["volume"], times.tolist()), paid, rtol=1e-9
    )


def test_the_directional_index_by_hand() -> None:
    """Two rises of 2 and a fall of 1: +DI and −DI of window 2, and |difference| / sum of them."""
    found = indicators.ADX(2)
    for bar in ((10, 8, 9), (12, 9, 11), (14, 11, 13)):
        assert math.isnan(found.update(*bar))
    assert (found.plus, found.minus) == (pytest.approx(100 * 2 / 3), 0)
    found.update(13, 10, 10)  # the low falls by 1, and the range is 3
    assert (found.plus, found.minus) == (pytest.approx(100 * 1 / 3), pytest.approx(100 * 0.5 / 3))
    assert found.value == pytest.approx((100 + 100 * 0.5 / 1.5) / 2)


def test_talib_agrees_once_its_seeds_are_forgotten() -> None:
    """Our EMA starts at its first value, TA-Lib's at the mean of the first window. Wilder's sums differ likewise."""
    talib: Any = pytest.importorskip("talib")
    high, low, close = (COLUMNS[name] for name in ("high", "low", "close"))
    upper, middle, _ = talib.BBANDS(close, 20)
    k, d = talib.STOCH(high, low, close, 14, 3, 0, 3, 0)
    line, signal, _ = talib.MACD(close)
    bars = high, low, close
    for found, theirs, first in (
        (streamed(indicators.Bollinger(), close, read="upper"), upper, 19),
        (streamed(indicators.Bollinger(), close), middle, 19),
        (streamed(indicators.Stochastic(), *bars), k, 17),
        (streamed(indicators.Stochastic(), *bars, read="signal"), d, 17),
        (streamed(indicators.MACD(), close), line, 300),
        (streamed(indicators.MACD(), close, read="signal"), signal, 300),
        (streamed(indicators.ADX(), *bars), talib.ADX(*bars), 300),
        (streamed(indicators.ADX(), *bars, read="plus"), talib.PLUS_DI(*bars), 300),
        (streamed(indicators.ATR(), *bars), talib.ATR(*bars), 300),
    ):
        np.testing.assert_allclose(found[first:], theirs[first:], rtol=1e-4, atol=1e-3)


def test_talipp_agrees() -> None:
    talipp: Any = pytest.importorskip("talipp.indicators")
    theirs = talipp.BB(20, 2, COLUMNS["close"].tolist())
    np.testing.assert_allclose(
        streamed(indicators.Bollinger(), COLUMNS["close"], read="upper")[19:],
        [one.ub for one in theirs[19:]],
        rtol=1e-9,
    )


def test_empyrical_agrees() -> None:
    empyrical: Any = pytest.importorskip("empyrical")
    returns = pd.Series(COLUMNS["close"]).pct_change().dropna()
    assert formulas.omega(returns) == pytest.approx(empyrical.omega_ratio(returns))
