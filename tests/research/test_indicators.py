"""Incremental indicators equal the window computed anew at every step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.errors import InputError
from toolkit.research import Strategy, backtest, indicators, vectorised
from toolkit.research.indicators import ATR, EMA, RSI, SMA, Cross, Highest, Lowest, StdDev
from toolkit.research.market_data import Bar, BarHistory

PRICES = st.lists(st.floats(1.0, 1e6, allow_nan=False).map(lambda x: round(x, 2)), min_size=1, max_size=60)


@given(PRICES, st.integers(1, 12))
def test_windows_agree_with_pandas(prices: list[float], window: int) -> None:
    series = pd.Series(prices)
    rolling = series.rolling(window)
    cases = {SMA: rolling.mean(), Highest: rolling.max(), Lowest: rolling.min()}
    if window > 1:
        cases[StdDev] = rolling.std()
    for kind, expected in cases.items():
        indicator = kind(window)
        found = [indicator.update(price) for price in prices]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-6 * max(prices) if kind is StdDev else 1e-9)
        assert math.isnan(found[-1]) == (len(prices) < window)
    average = EMA(window)
    found = [average.update(price) for price in prices]
    expected = series.ewm(span=window, adjust=False).mean()
    np.testing.assert_allclose(found[window - 1 :], expected[window - 1 :], rtol=1e-9)


def test_a_moving_average_stays_exact_over_a_long_run() -> None:
    rng = np.random.default_rng(1)
    prices = 60_000 * np.exp(np.cumsum(rng.normal(0, 0.001, 50_000)))
    average = SMA(50)
    for price in prices.tolist():
        average.update(price)
    assert average.value == pytest.approx(prices[-50:].mean(), rel=1e-14)


def test_the_true_range_by_hand() -> None:
    atr = ATR(2)
    assert math.isnan(atr.update(11, 9, 10))
    assert atr.update(15, 12, 14) == pytest.approx((2 + 5) / 2)
    assert atr.update(14, 13, 13) == pytest.approx(3.5 + (1 - 3.5) / 2)


def test_the_strength_index_by_hand() -> None:
    rsi = RSI(2)
    assert [rsi.update(x) for x in (10, 12)] == pytest.approx([math.nan, math.nan], nan_ok=True)
    assert rsi.update(11) == pytest.approx(100 - 100 / (1 + 1 / 0.5))
    assert RSI(1).update(5) != 100
    steady = RSI(1)
    steady.update(1)
    assert steady.update(2) == 100


def test_lines_that_touch_have_not_crossed() -> None:
    cross = Cross()
    pairs = [(math.nan, 1), (1, 2), (2, 2), (3, 2), (2, 2), (3, 2), (1, 2)]
    assert [cross.update(a, b) for a, b in pairs] == [0, 0, 0, 1, 0, 0, -1]


@given(st.integers(0, 3000), st.integers(1, 700))
def test_a_history_shows_what_came_and_nothing_else(count: int, look_every: int) -> None:
    history = BarHistory("X")
    for number in range(count):
        history.append(Bar("X", number, number + 1, 1.0, 3.0, 0.5, float(number), 2.0))
        if number % look_every == 0:
            assert history.close[-1] == number
            assert len(history) == number + 1
    assert history.close.tolist() == list(map(float, range(count)))
    assert history.time.tolist() == list(range(count))
    assert len(history.frame()) == count
    whole = history.close.base
    if whole is not None:
        assert np.isnan(np.asarray(whole)[count:]).all()


def test_indicators_can_be_chained() -> None:
    """What one gives before it is full is passed over by the next, as pandas does with leading NaNs."""
    prices = pd.Series(np.random.default_rng(5).normal(100, 1, 80))
    inner = SMA(7)
    means = pd.Series([inner.update(price) for price in prices])
    for make, expected in (
        (SMA, means.rolling(5).mean()),
        (StdDev, means.rolling(5).std()),
        (Highest, means.rolling(5).max()),
        (Lowest, means.rolling(5).min()),
        (EMA, means.dropna().ewm(span=5, adjust=False).mean().iloc[4:].reindex(means.index)),
    ):
        outer = make(5)
        np.testing.assert_allclose([outer.update(value) for value in means], expected, rtol=1e-9)
    index = RSI(5)
    alone = RSI(5)
    np.testing.assert_array_equal(
        [index.update(value) for value in means][6:], [alone.update(value) for value in means.dropna()]
    )


def test_a_streaming_indicator_and_its_numbers_may_be_given_to_the_strategy_as_a_function_is() -> None:
    class Lines(Strategy):
        def on_start(self, ctx: Any) -> None:
            self.line = self.I(indicators.SMA, 3)
            self.high = self.I(indicators.SMA, "high", window=3)

        def on_bar(self, ctx: Any, bar: Any) -> None:
            ctx.record(line=self.line.value, high=self.high.value)

    closes = [100.0, 102.0, 104.0, 103.0, 101.0]
    index = pd.date_range("2026-01-01", periods=5, freq="min", tz="UTC")
    bars = pd.DataFrame({"open": closes, "high": [c + 1 for c in closes], "low": closes, "close": closes}, index=index)
    records = backtest(Lines(), {"BTCUSDC": bars}).records
    assert records["line"].tolist()[2:] == pytest.approx([102.0, 103.0, 308 / 3])
    assert records["high"].tolist()[2:] == pytest.approx([103.0, 104.0, 311 / 3])


def test_targets_may_be_a_mapping_of_arrays() -> None:
    index = pd.date_range("2026-01-01", periods=4, freq="min", tz="UTC")
    closes = pd.DataFrame({"BTCUSDC": [100.0, 101.0, 102.0, 103.0]}, index=index)
    held = np.array([0.0, 1.0, 1.0, 0.0])
    mapped = vectorised(closes, {"BTCUSDC": held}, funding=None)
    assert mapped.equity.equals(vectorised(closes, held, funding=None).equity)
    with pytest.raises(InputError, match="targets"):
        vectorised(closes, {"ETHUSDC": held})


@pytest.mark.parametrize("kind", [SMA, EMA, StdDev, Highest, Lowest, ATR, RSI])
@pytest.mark.parametrize("window", [0, -1, 2.5, "20", True, None])
def test_a_window_that_averages_nothing_is_refused(kind: Any, window: Any) -> None:
    with pytest.raises(InputError, match=rf"the window of {kind.__name__} is {window!r}, but must be a whole number"):
        kind(window)
    if kind is StdDev:
        with pytest.raises(InputError, match="at least 2"):
            StdDev(1)


def test_a_bar_with_a_nan_is_skipped() -> None:
    gapped, whole = ATR(3), ATR(3)
    for number in range(9):
        bar = (102.0 + number, 100.0 - number % 3, 101.0)
        for at in range(3):
            before = gapped.value
            assert gapped.update(
                *(math.nan if at == place else value for place, value in enumerate(bar))
            ) == pytest.approx(before, nan_ok=True)
        assert gapped.update(*bar) == pytest.approx(whole.update(*bar), nan_ok=True)
