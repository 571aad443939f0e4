"""Every number of `luck` equals a second computation, step by step, from the papers that its module names."""

from __future__ import annotations

import itertools
import math
import threading
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.research.markets import Wandering, walk
from toolkit.errors import InputError
from toolkit.research import backtest, luck, sweep, trials, vectorised
from toolkit.research.analysis import luck as module
from toolkit.research.analysis.luck import assess
from toolkit.research.analysis.metrics import Curve

HOUR, DAY = 3_600_000, 86_400_000
EULER = 0.5772156649015329
PHI, PHI_INVERSE = NormalDist().cdf, NormalDist().inv_cdf
RETURNS = [0.02, -0.01, 0.03, 0.0, -0.04, 0.01, 0.015, -0.005, 0.03, 0.02]


def curve_of(returns: list[float], step: int = DAY) -> Curve:
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


def test_an_interval_leaves_as_much_below_as_above_and_nothing_infinite_in_it() -> None:
    values = np.array([math.nan, math.inf, -math.inf, *range(101)], dtype="float64")
    assert luck.interval(values) == pytest.approx((5.0, 95.0))
    assert luck.interval(values, 0.5) == pytest.approx((25.0, 75.0))
    assert luck.interval(np.array([2.0])) == (2.0, 2.0)
    assert all(math.isnan(value) for value in luck.interval(values[:3]))


def expected(returns: list[float], tried: int, variance: float, confidence: float, seed: int) -> dict[str, Any]:
    """Return every number of `assess` for daily returns. `variance` is that of one period's ratios."""
    year, count = 365 if len(returns) >= 10 else math.nan, len(returns)
    sharpe, skew, kurtosis = plain_moments(returns)
    ratios, grown = [], []
    for series in plain_bootstrap(returns, 1_000, count ** (1 / 3), seed):
        spread = float(np.std(series, ddof=1))
        ratios.append(float(np.mean(series)) / spread * math.sqrt(year) if spread > 1e-12 else math.nan)
        grown.append(sum(math.log1p(value) for value in series))
    edges = (1 - confidence) / 2, (1 + confidence) / 2
    block, normal = count ** (1 / 3), PHI_INVERSE(edges[1])
    wider = math.sqrt(count / (count - block)) * (1 + (normal**2 + 1) * (1 + block / 2) / (4 * (count - 1)))
    ends, total = [math.nan] * 2, sum(map(math.log1p, returns))
    if known := [ratio for ratio in ratios if math.isfinite(ratio)]:
        yearly = sharpe * math.sqrt(year)
        ends = [yearly + wider * (end - yearly) for end in np.quantile(known, edges)]
    (low, high), (least, most) = ends, (math.expm1(total + wider * (end - total)) for end in np.quantile(grown, edges))
    maximum = plain_maximum(tried, variance)
    spread = math.sqrt(1 - skew * sharpe + (kurtosis - 1) / 4 * sharpe**2)
    return {
        "sharpe": sharpe * math.sqrt(year),
        "sharpe_low": low,
        "sharpe_high": high,
        "return_low": least,
        "return_high": most,
        "observations": count,
        "period": pd.Timedelta(days=1),
        "skew": skew,
        "kurtosis": kurtosis,
        "probabilistic_sharpe": plain_psr(sharpe, count, skew, kurtosis),
        "trials": tried,
        "idea": "",
        "expected_max_sharpe": maximum * math.sqrt(year),
        "deflated_sharpe": plain_psr(sharpe, count, skew, kurtosis, maximum),
        "min_track_record": pd.Timedelta(days=1) * (1 + (spread * PHI_INVERSE(0.95) / sharpe) ** 2),
        "track_record": pd.Timedelta(days=count),
    }


def check(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        if isinstance(value, str):
            assert found[name] == value
        elif isinstance(value, pd.Timedelta):
            assert abs(found[name] - value) < pd.Timedelta("1ms"), name
        else:
            assert found[name] == pytest.approx(value, rel=1e-8, nan_ok=True), name


def test_an_assessment_is_all_of_these_numbers() -> None:
    trials.clear()
    check(assess(curve_of(RETURNS)), expected(RETURNS, 1, 1 / 9, 0.9, 7))
    check(assess(curve_of(RETURNS), trials=12, confidence=0.5, seed=2), expected(RETURNS, 12, 1 / 9, 0.5, 2))
    check(assess(curve_of(RETURNS[:3]), trials=5), expected(RETURNS[:3], 5, 1 / 2, 0.9, 7))
    for number, ratio in enumerate((1.0, 3.0, math.nan, math.inf)):
        trials.add(f"trial {number}", ratio)
    # The yearly ratios 1 and 3 have the variance 2; the others are counted, and known to nobody.
    check(assess(curve_of(RETURNS)), expected(RETURNS, 4, 2 / (365), 0.9, 7))
    check(assess(curve_of(RETURNS), trials=2), expected(RETURNS, 2, 2 / (365), 0.9, 7))
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


PER_YEAR = {"daily": 250, "weekly": 52, "monthly": 12}


def test_the_worked_numbers_of_the_sharpe_ratio_efficient_frontier() -> None:
    """Bailey and López de Prado, Journal of Risk 15(2), 2012: two years of a fund in "Numerical example", and MinTRL.

    The fund earned 0.458 a month with skewness −2.448 and kurtosis 10.164: PSR(0) is 0.982 of normal returns and 0.913
    of its own. The lengths, below equation (13), are those of a yearly ratio of 2 to be above 1 with 95 %; the last one
    is that of hedge funds (skewness −0.72, kurtosis 5.78).
    """
    assert luck.probabilistic_sharpe(0.458, 24) == pytest.approx(0.982, abs=5e-4)
    assert luck.probabilistic_sharpe(0.458, 24, -2.448, 10.164) == pytest.approx(0.913, abs=5e-4)
    for often, moments, years in [
        ("daily", (0, 3), 2.73),
        ("weekly", (0, 3), 2.83),
        ("monthly", (0, 3), 3.24),
        ("monthly", (-0.72, 5.78), 4.99),
    ]:
        count = PER_YEAR[often]
        needed = luck.min_track_record(2 / count**0.5, *moments, benchmark=1 / count**0.5)
        assert needed / count == pytest.approx(years, abs=5e-3), (often, moments)


def test_the_worked_numbers_of_the_deflated_sharpe_ratio() -> None:
    """Bailey and López de Prado, Journal of Portfolio Management 40(5), 2014, "A numerical example".

    A yearly ratio of 2.5 over 1,250 days, the best of 100 trials whose ratios vary by 1/2 a year, with skewness −3 and
    kurtosis 10: SR0 is 0.1132 a day and DSR 0.9004; 46 trials would leave 0.9505, and 88 of normal returns.
    """
    assert luck.expected_max_sharpe(100, 0.5 / 250) == pytest.approx(0.1132, abs=5e-5)
    for trials_, moments, published in [(100, (-3, 10), 0.9004), (46, (-3, 10), 0.9505), (88, (0, 3), 0.9505)]:
        found = luck.deflated_sharpe(2.5 / 250**0.5, 1250, trials_, 0.5 / 250, *moments)
        assert found == pytest.approx(published, abs=5e-5)


def test_the_worked_numbers_of_the_expected_maximum() -> None:
    """Bailey, Borwein, López de Prado and Zhu, "Pseudo-Mathematics and Financial Charlatanism", Notices of the AMS
    61(5), 2014: ten trials show 1.57; forty-five show 1 in five years, and seven in two.
    """
    assert luck.expected_max_sharpe(10, 1) == pytest.approx(1.57, abs=5e-3)
    assert luck.expected_max_sharpe(45, 1 / 5) == pytest.approx(1, abs=5e-4)
    assert luck.expected_max_sharpe(7, 1 / 2) == pytest.approx(1, abs=0.02)


def test_a_track_record_of_the_minimum_length_is_just_long_enough() -> None:
    for sharpe, skew, kurtosis, benchmark in [(0.1, 0, 3, 0), (0.3, -1.5, 9, 0.1), (0.05, 0.5, 4, 0.0)]:
        needed = luck.min_track_record(sharpe, skew, kurtosis, benchmark)
        for count, enough in ((math.ceil(needed), True), (math.floor(needed), False)):
            assert (luck.probabilistic_sharpe(sharpe, count, skew, kurtosis, benchmark) >= 0.95) is enough
    assert luck.min_track_record(0.1, benchmark=0.1) == math.inf
    assert math.isnan(luck.probabilistic_sharpe(math.nan, 10))


def by_the_book(returns: np.ndarray, parts: int) -> float:
    """CSCV as the paper writes it: every half of the parts, one after another."""
    size = len(returns) // parts
    blocks = [returns[at * size : (at + 1) * size] for at in range(parts)]
    logits = []
    for chosen in itertools.combinations(range(parts), parts // 2):
        inside = np.concatenate([blocks[at] for at in chosen])
        outside = np.concatenate([blocks[at] for at in range(parts) if at not in chosen])
        best = int(np.argmax(inside.mean(axis=0) / inside.std(axis=0)))
        ratios = outside.mean(axis=0) / outside.std(axis=0)
        rank = (ratios < ratios[best]).sum() + 1
        omega = rank / (returns.shape[1] + 1)
        logits.append(math.log(omega / (1 - omega)))
    return float(np.mean(np.array(logits) <= 0))


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_overfitting_is_what_the_paper_computes_step_by_step(parts: int) -> None:
    random = np.random.default_rng(parts)
    for skill in (0.0, 0.05, 0.2):
        returns = random.normal(0, 1, (160, 7))
        returns[:, 2] += skill
        assert luck.overfitting(returns, parts) == pytest.approx(by_the_book(returns, parts))


def test_choosing_among_noise_is_overfitting_and_finding_skill_is_not() -> None:
    random = np.random.default_rng(3)
    noise = [luck.overfitting(random.normal(0, 1, (320, 40)), 8) for _ in range(30)]
    assert 0.4 < np.mean(noise) < 0.6
    skilled = random.normal(0, 1, (320, 40))
    skilled[:, 5] += 0.4
    assert luck.overfitting(skilled) < 0.01
    assert math.isnan(luck.overfitting(skilled[:, :1]))
    assert math.isnan(luck.overfitting(skilled[:3]))
    with pytest.raises(InputError, match="even number from 2 to 160"):
        luck.overfitting(skilled, 5)


def test_the_bootstrap_has_the_variance_that_its_paper_derives() -> None:
    """Politis and Romano, JASA 89, 1994, lemma 1: the variance of a resampled mean is Σ over lags i of
    (1 − |i| / n)(1 − p)^|i| times the circular autocovariance, over n, with 1 / p the mean length of a block.
    """
    random, count = np.random.default_rng(2), 60
    series = np.convolve(random.normal(0, 1, count + 4), np.ones(5), "valid")
    around = series - series.mean()
    covariance = [float(around @ np.roll(around, -lag)) / count for lag in range(count)]
    for block in (1.0, 4.0, 12.0):
        terms = [(1 - lag / count) * (1 - 1 / block) ** lag * covariance[lag] for lag in range(count)]
        derived = (2 * sum(terms) - terms[0]) / count
        means = luck.bootstrap(series, draws=6_000, block=block).mean(axis=1)
        assert means.var() == pytest.approx(derived, rel=0.08)
        assert means.mean() == pytest.approx(series.mean(), abs=4 * math.sqrt(derived / 6_000))
    by_default, named = luck.bootstrap(series, draws=9), luck.bootstrap(series, draws=9, block=60 ** (1 / 3))
    assert (by_default == named).all()


def test_a_pause_in_one_thread_ends_when_that_in_another_began_within_it() -> None:
    trials.clear()
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with trials.paused():
            entered.set()
            assert leave.wait(60)

    thread = threading.Thread(target=other)
    with trials.paused():
        thread.start()
        assert entered.wait(60)
    leave.set()
    thread.join()
    trials.add("counted")
    assert len(trials) == 1


def test_trials_are_counted_by_themselves_each_once() -> None:
    trials.clear()
    data = walk(1, 240)
    first = backtest(Wandering(every=5), data)
    first.rerun()
    backtest(Wandering(every=6), data).metrics()
    assert len(trials) == 2
    for size in (1.0, -1.0, 1.0):
        vectorised(data, np.full(240, size))
    assert len(trials) == 4
    sweep(Wandering, {"every": [7, 8, 9]}, data, workers=0, progress=False)
    assert len(trials) == 7
    assert trials.frame()["sharpe"].notna().sum() == 4
    found = first.luck()
    assert (len(trials), found["trials"], found["idea"]) == (7, 5, first.idea), "those of arrays are another idea"
    assert trials.frame()["sharpe"].iloc[0] == pytest.approx(first.metrics()["sharpe"])
    assert found["deflated_sharpe"] < found["probabilistic_sharpe"]
    assert first.luck(trials=1)["deflated_sharpe"] == found["probabilistic_sharpe"]
    assert found["sharpe_low"] < found["sharpe"] < found["sharpe_high"]
    assert found["sharpe"] == pytest.approx(first.metrics()["sharpe"])
    assert found["track_record"] == pd.Timedelta("10D")
    assert found["return_low"] < first.metrics()["total_return"] < found["return_high"]
    before = trials.frame()["sharpe"]
    first.metrics(risk_free=1.0)  # another question, which is not the trial's ratio
    first.metrics("7D")
    pd.testing.assert_series_equal(trials.frame()["sharpe"], before)
    trials.clear()
    assert repr(trials) == "<0 trials in this process>"
