"""Features beside forward returns: coefficients by other formulas, and intervals that count overlaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit.errors import InputError
from toolkit.research import features


def bars(count: int, seed: int) -> pd.DataFrame:
    dice = np.random.default_rng(seed)
    index = pd.date_range("2026-01-01", periods=count, freq="h", tz="UTC")
    return pd.DataFrame({"close": 100 * np.exp(np.cumsum(dice.normal(0, 0.01, count)))}, index)


def persistent(index: pd.DatetimeIndex, seed: int, keeps: float = 0.95) -> pd.Series:
    dice, values = np.random.default_rng([9, seed]), [0.0]
    for _ in range(len(index) - 1):
        values.append(keeps * values[-1] + dice.normal())
    return pd.Series(values, index, name="feature")


def test_coefficients_and_quantiles_are_those_of_pandas() -> None:
    data = bars(400, 1)
    made = pd.DataFrame({"known": data["close"].pct_change(3), "other": persistent(data.index, 1)})
    found = features.study(made, data, horizons=("1h", "4h"))
    assert list(found.table.index) == [("known", "1h"), ("known", "4h"), ("other", "1h"), ("other", "4h")]
    for (name, horizon), row in found.table.iterrows():
        steps = int(horizon[0])
        pair = pd.DataFrame({"x": made[name], "y": data["close"].shift(-steps) / data["close"] - 1}).dropna()
        assert row["observations"] == len(pair)
        assert row["ic"] == pytest.approx(pair.corr().iloc[0, 1])
        assert row["rank_ic"] == pytest.approx(pair.corr("spearman").iloc[0, 1])
        assert row["rank_ic_low"] < row["rank_ic"] < row["rank_ic_high"]
        means = pair["y"].groupby(pd.qcut(pair["x"].rank(method="first"), 5, labels=False)).mean() * 10_000
        assert found.quantiles.loc[(name, horizon)].tolist() == pytest.approx(means.tolist(), rel=0.2, abs=3)
        assert row["spread_bp"] == pytest.approx(row["break_even_bp"] * 2 * row["turnover"])
    assert found.table.loc[("other", "1h"), "turnover"] < found.table.loc[("other", "4h"), "turnover"]
    page = found.plot()
    assert len(page.axes) == 8
    assert [round(bar.get_height(), 6) for bar in page.axes[2].patches] == found.table.loc["known", "turnover"].round(
        6
    ).tolist()


def test_a_feature_that_knows_something_is_seen_in_two_products_together() -> None:
    data = {"A": bars(500, 2), "B": bars(500, 3)}
    given = {
        name: (part["close"].shift(-2) / part["close"] - 1 + np.random.default_rng(4).normal(0, 0.02, 500)).rename(
            "hint"
        )
        for name, part in data.items()
    }
    row = features.study(given, data, horizons=["2h"]).table.loc[("hint", "2h")]
    assert row["rank_ic_low"] > 0.3
    assert row["observations"] == 2 * 498
    assert row["spread_bp"] > 50


@pytest.mark.slow
def test_the_interval_of_overlapping_returns_covers_nothing_as_often_as_it_says() -> None:
    """A persistent feature without any knowledge, over a day of hourly bars: independent observations would be few."""
    held, naive = 0, 0
    for seed in range(150):
        data = bars(1_000, seed)
        row = features.study(persistent(data.index, seed), data, horizons=["1d"]).table.iloc[0]
        held += row["ic_low"] <= 0 <= row["ic_high"]
        naive += abs(row["ic"]) < 1.645 / 1_000**0.5
    assert held / 150 > 0.81
    assert naive / 150 < 0.6


def test_a_product_that_moves_as_another_adds_no_certainty_and_no_turnover() -> None:
    data = bars(600, 5)
    feature = persistent(data.index, 5)
    one = features.study(feature, data, horizons=["4h"]).table.iloc[0]
    two = features.study({"A": feature, "B": feature}, {"A": data, "B": data}, horizons=["4h"]).table.iloc[0]
    same = ["ic", "ic_low", "ic_high", "spread_bp"]
    assert two[same].to_list() == pytest.approx(one[same].to_list(), rel=0.02)
    assert two["turnover"] == pytest.approx(one["turnover"], rel=0.02)


def test_what_is_no_feature_is_refused() -> None:
    data = bars(100, 1)
    wrong: list[tuple[Any, str]] = [
        ({"XRPUSDC": persistent(data.index, 1)}, "there are features of XRPUSDC, but no bars"),
        (pd.Series(range(100), name="x"), "features have no times"),
        (persistent(data.index, 1).iloc[:20], "feature has 20 values with a return over 1h, but needs 30"),
    ]
    for given, text in wrong:
        with pytest.raises(InputError, match=text):
            features.study(given, data, horizons=["1h"])
