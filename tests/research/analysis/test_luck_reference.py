"""Every number of `luck` equals a second computation, step by step, from the papers that its module names."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit.research import Results, luck, trials
from toolkit.research.analysis import luck as module
from toolkit.research.analysis.luck import assess
from toolkit.research.analysis.metrics import Curve

HOUR, DAY = 3_600_000, 86_400_000
EULER = 0.5772156649015329
PHI, PHI_INVERSE = NormalDist().cdf, NormalDist().inv_cdf
RETURNS = [0.02, -0.01, 0.03, 0.0, -0.04, 0.01, 0.015, -0.005, 0.03, 0.02]


def curve_of(returns: list[float], step: int = HOUR) -> Curve:
    equity = 1_000.0 * np.cumprod([1.0, *(1 + value for value in returns)])
    return Curve(np.arange(len(equity), dtype="int64") * step, equity)


def plain_moments(returns: list[float]) -> tuple[float, float, float]:
    count = len(returns)
    mean = sum(returns) / count
    around = [value - mean for value in returns]
    second = sum(value**2 for value in around) / count
    skew, kurtosis = (sum(value**power for value in around) / count / second ** (power / 2) for power in (3, 4))
    return mean / math.sqrt(second * count / (count - 1)), skew, kurtosis


def plain_psr(sharpe: float, count: int, skew: float, kurtosis: float, benchmark: float = 0.0) -> float:
    spread = math.sqrt(1 - skew * sharpe + (kurtosis - 1) / 4 * sharpe**2)
    return PHI((sharpe - benchmark) * math.sqrt(count - 1) / spread)


def plain_maximum(tried: int, variance: float) -> float:
    if tried < 2:
        return 0.0
    first, second = PHI_INVERSE(1 - 1 / tried), PHI_INVERSE(1 - 1 / (tried * math.e))
    return math.sqrt(variance) * ((1 - EULER) * first + EULER * second)


def plain_bootstrap(returns: list[float], draws: int, block: float, seed: int) -> list[list[float]]:
    """At each place the series goes on with the next return, or jumps to a random one, once in `block` places."""
    random, count = np.random.default_rng(seed), len(returns)
    jumps, starts = random.random((draws, count)) < 1 / block, random.integers(0, count, (draws, count))
    drawn = []
    for row in range(draws):
        series: list[float] = []
        at = 0
        for place in range(count):
            at = int(starts[row, place]) if place == 0 or jumps[row, place] else (at + 1) % count
            series.append(returns[at])
        drawn.append(series)
    return drawn


def test_moments_are_those_of_their_definitions() -> None:
    for returns in (RETURNS, RETURNS[:2], [-value for value in RETURNS]):
        assert luck.moments(np.array(returns)) == pytest.approx(plain_moments(returns), rel=1e-9)
    for nothing in ([], [0.01], [0.01] * 5):
        assert all(math.isnan(value) for value in luck.moments(np.array(nothing)))


@pytest.mark.parametrize("sharpe", [0.2, -0.3])
@pytest.mark.parametrize(("skew", "kurtosis"), [(0.0, 3.0), (-1.2, 7.5), (0.6, 2.0)])
def test_probabilities_and_lengths_are_those_of_their_formulas(sharpe: float, skew: float, kurtosis: float) -> None:
    for count, benchmark in ((2, 0.0), (24, 0.1), (500, -0.1)):
        found = luck.probabilistic_sharpe(sharpe, count, skew, kurtosis, benchmark)
        assert found == pytest.approx(plain_psr(sharpe, count, skew, kurtosis, benchmark), rel=1e-9)
    for tried in (1, 2, 3, 50):
        maximum = plain_maximum(tried, 0.02)
        assert luck.expected_max_sharpe(tried, 0.02) == pytest.approx(maximum, rel=1e-9)
        deflated = luck.deflated_sharpe(sharpe, 24, tried, 0.02, skew, kurtosis)
        assert deflated == pytest.approx(plain_psr(sharpe, 24, skew, kurtosis, maximum), rel=1e-9)
    spread = math.sqrt(1 - skew * sharpe + (kurtosis - 1) / 4 * sharpe**2)
    for confidence in (0.9, 0.95):
        needed = 1 + (spread * PHI_INVERSE(confidence) / (sharpe + 0.5)) ** 2
        found = luck.min_track_record(sharpe, skew, kurtosis, -0.5, confidence)
        assert found == pytest.approx(needed, rel=1e-9)
    assert luck.min_track_record(sharpe, skew, kurtosis, -0.5) == pytest.approx(found)
    assert luck.min_track_record(sharpe, benchmark=-0.5) == luck.min_track_record(sharpe, 0.0, 3.0, -0.5, 0.95)
    assert luck.probabilistic_sharpe(sharpe, 24) == luck.probabilistic_sharpe(sharpe, 24, 0.0, 3.0, 0.0)


def test_without_variation_observations_or_an_excess_there_is_no_probability_and_no_length() -> None:
    assert math.isnan(luck.probabilistic_sharpe(0.2, 1))
    assert math.isnan(luck.probabilistic_sharpe(1.0, 10, 1.0, 1.0)), "the estimate has no deviation"
    assert math.isnan(luck.probabilistic_sharpe(4.0, 10, 3.0, 3.0)), "a variance below 0 counts as none"
    assert luck.expected_max_sharpe(10, 0.0) == luck.expected_max_sharpe(1, 0.5) == 0.0
    assert luck.expected_max_sharpe(10, math.nan) == 0.0
    assert luck.min_track_record(0.2, benchmark=0.2) == luck.min_track_record(-0.2) == math.inf
    assert math.isnan(luck.min_track_record(math.nan))


@pytest.mark.parametrize("block", [1.0, 2.5, 10_000.0])
def test_the_bootstrap_jumps_once_a_block_and_goes_round_at_the_end(block: float) -> None:
    drawn = luck.bootstrap(np.array(RETURNS), draws=40, block=block, seed=3)
    assert drawn.tolist() == plain_bootstrap(RETURNS, 40, block, 3)


def test_the_bootstrap_has_these_defaults() -> None:
    drawn = luck.bootstrap(np.array(RETURNS))
    assert drawn.shape == (1_000, 10)
    assert (drawn == luck.bootstrap(np.array(RETURNS), draws=1_000, block=10 ** (1 / 3), seed=7)).all()
    assert luck.bootstrap(np.array([0.5]), draws=2).tolist() == [[0.5], [0.5]]


def test_an_interval_leaves_as_much_below_as_above_and_nothing_infinite_in_it() -> None:
    values = np.array([math.nan, math.inf, -math.inf, *range(101)], dtype="float64")
    assert luck.interval(values) == pytest.approx((5.0, 95.0))
    assert luck.interval(values, 0.5) == pytest.approx((25.0, 75.0))
    assert luck.interval(np.array([2.0])) == (2.0, 2.0)
    assert all(math.isnan(value) for value in luck.interval(values[:3]))


def expected(returns: list[float], tried: int, variance: float, confidence: float, seed: int) -> dict[str, Any]:
    """Return every number of `assess` for hourly returns. `variance` is that of one period's ratios."""
    year, count = 365 * 24, len(returns)
    sharpe, skew, kurtosis = plain_moments(returns)
    ratios, grown = [], []
    for series in plain_bootstrap(returns, 1_000, count ** (1 / 3), seed):
        spread = float(np.std(series, ddof=1))
        ratios.append(float(np.mean(series)) / spread * math.sqrt(year) if spread > 1e-12 else math.nan)
        grown.append(math.prod(1 + value for value in series) - 1)
    edges = (1 - confidence) / 2, (1 + confidence) / 2
    low, high = np.quantile([ratio for ratio in ratios if math.isfinite(ratio)], edges)
    least, most = np.quantile(grown, edges)
    maximum = plain_maximum(tried, variance)
    spread = math.sqrt(1 - skew * sharpe + (kurtosis - 1) / 4 * sharpe**2)
    return {
        "sharpe": sharpe * math.sqrt(year),
        "sharpe_low": low,
        "sharpe_high": high,
        "return_low": least,
        "return_high": most,
        "observations": count,
        "period": pd.Timedelta(hours=1),
        "skew": skew,
        "kurtosis": kurtosis,
        "probabilistic_sharpe": plain_psr(sharpe, count, skew, kurtosis),
        "trials": tried,
        "expected_max_sharpe": maximum * math.sqrt(year),
        "deflated_sharpe": plain_psr(sharpe, count, skew, kurtosis, maximum),
        "min_track_record": pd.Timedelta(hours=1) * (1 + (spread * PHI_INVERSE(0.95) / sharpe) ** 2),
        "track_record": pd.Timedelta(hours=count),
    }


def check(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        if isinstance(value, pd.Timedelta):
            assert abs(found[name] - value) < pd.Timedelta("1ms"), name
        else:
            assert found[name] == pytest.approx(value, rel=1e-8), name


def test_an_assessment_is_all_of_these_numbers() -> None:
    trials.clear()
    check(assess(curve_of(RETURNS)), expected(RETURNS, 1, 1 / 9, 0.9, 7))
    check(assess(curve_of(RETURNS), trials=12, confidence=0.5, seed=2), expected(RETURNS, 12, 1 / 9, 0.5, 2))
    check(assess(curve_of(RETURNS[:3]), trials=5), expected(RETURNS[:3], 5, 1 / 2, 0.9, 7))
    for number, ratio in enumerate((1.0, 3.0, math.nan, math.inf)):
        trials.add(f"trial {number}", ratio)
    # The yearly ratios 1 and 3 have the variance 2; the others are counted, and known to nobody.
    check(assess(curve_of(RETURNS)), expected(RETURNS, 4, 2 / (365 * 24), 0.9, 7))
    check(assess(curve_of(RETURNS), trials=2), expected(RETURNS, 2, 2 / (365 * 24), 0.9, 7))
    trials.clear()


def test_two_returns_have_no_interval_and_a_loss_needs_forever() -> None:
    trials.clear()
    found = assess(curve_of([0.01, -0.02]))
    assert [name for name, value in found.items() if pd.isna(value)] == [
        "sharpe_low", "sharpe_high", "return_low", "return_high", "min_track_record",
    ]  # fmt: skip
    assert found["observations"] == 2
    assert found["deflated_sharpe"] == found["probabilistic_sharpe"]
    nearly = assess(curve_of([0.01, -0.01, 1e-7, 1e-7], 60_000))
    assert pd.isna(nearly["min_track_record"]), "thousands of years"


def test_a_run_assesses_itself_with_the_same_defaults(sample_results: Results) -> None:
    trials.clear()
    found = sample_results.luck()
    pd.testing.assert_series_equal(found, sample_results.luck(trials=None, confidence=0.9, seed=7))
    assert found.name == "luck"
    assert found["trials"] == 1
    assert found.to_dict() != sample_results.luck(seed=8).to_dict()
    assert trials.frame()["sharpe"].tolist() == []
    trials.clear()


def test_ranks_are_shared_by_equal_trials_and_the_last_rows_are_left_out() -> None:
    """Two equal columns are each other's median. Of nine rows in two parts the ninth counts nowhere."""
    returns = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [1.0, 1.0]] * 2)
    assert luck.overfitting(returns, 2) == 1.0
    dice = np.random.default_rng(5).normal(0, 1, (9, 4))
    changed = dice.copy()
    changed[8] = 100.0
    assert luck.overfitting(dice, 2) == luck.overfitting(changed, 2) == luck.overfitting(dice[:8], 2)
    flat = np.zeros((8, 2))
    flat[:, 1] = [1, -1, 2, 0, 1, 3, -1, 0.5]
    assert luck.overfitting(flat, 4) == 1 / 3, "a trial that stays the same has the ratio 0"


def test_the_number_of_parts_is_even_and_at_most_sixteen() -> None:
    returns = np.random.default_rng(6).normal(0, 1, (200, 3))
    for rows, parts in ((4, 2), (23, 4), (24, 6), (63, 14), (64, 16), (200, 16)):
        assert luck.overfitting(returns[:rows]) == luck.overfitting(returns[:rows], parts), rows
    for wrong in (0, 1, 3, 102, -2):
        with pytest.raises(module.InputError, match=f"200 rows can't be divided into {wrong} parts"):
            luck.overfitting(returns, wrong)
    assert 0 <= luck.overfitting(returns[:8], 4) <= 1, "half as many parts as rows"


def test_trials_of_this_process_are_counted_measured_and_forgotten() -> None:
    counted = module.Trials()
    assert counted.path is None
    assert repr(counted) == "<0 trials in this process>"
    counted.add("a", 1.0)
    counted.add("a")
    counted.add("b")
    counted.measured(lambda: "b", 3.0)
    counted.measured(lambda: "a", math.nan)
    counted.measured(lambda: "unknown", 9.0)
    assert counted.frame().to_dict("list") == {"key": ["a", "b"], "sharpe": [1.0, 3.0]}
    assert {name: str(dtype) for name, dtype in counted.frame().dtypes.items()}["sharpe"] == "float64"
    assert counted.variance() == 2.0
    counted.add("a", -1.0)
    assert counted.variance() == 8.0, "a second measure of a trial replaces the first"
    with counted.paused():
        counted.add("c", 5.0)
        counted.measured(lambda: "b", 5.0)
    assert (len(counted), counted.variance()) == (2, 8.0)
    with counted.together():
        counted.add("c")
    assert len(counted) == 3
    counted.clear()
    assert (len(counted), counted.variance(), counted.frame().empty) == (0, 0.0, True)
    counted.add("d", 1.0)
    assert counted.variance() == 0.0, "one trial has no variance"
