"""Measures of luck give the worked numbers of the papers they come from, and what chance says of noise."""

from __future__ import annotations

import itertools
import math
import threading

import numpy as np
import pandas as pd
import pytest

from tests.research.markets import Wandering, walk
from toolkit.errors import InputError
from toolkit.research import backtest, sweep, trials, vectorised
from toolkit.research.analysis import luck

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
    data = walk(1, 120)
    first = backtest(Wandering(every=5), data)
    first.rerun()
    backtest(Wandering(every=6), data).metrics()
    assert len(trials) == 2
    for size in (1.0, -1.0, 1.0):
        vectorised(data, np.full(120, size))
    assert len(trials) == 4
    sweep(Wandering, {"every": [7, 8, 9]}, data, workers=0, progress=False)
    assert len(trials) == 7
    assert trials.frame()["sharpe"].notna().sum() == 4
    found = first.luck()
    assert found["trials"] == 7
    assert trials.frame()["sharpe"].iloc[0] == pytest.approx(first.metrics()["sharpe"])
    assert found["deflated_sharpe"] < found["probabilistic_sharpe"]
    assert first.luck(trials=1)["deflated_sharpe"] == found["probabilistic_sharpe"]
    assert found["sharpe_low"] < found["sharpe"] < found["sharpe_high"]
    assert found["sharpe"] == pytest.approx(first.metrics()["sharpe"])
    assert found["track_record"] == pd.Timedelta("5D")
    assert found["return_low"] < first.metrics()["total_return"] < found["return_high"]
    before = trials.frame()["sharpe"]
    first.metrics(risk_free=1.0)  # another question, which is not the trial's ratio
    first.metrics("7D")
    pd.testing.assert_series_equal(trials.frame()["sharpe"], before)
    trials.clear()
    assert repr(trials) == "<0 trials in this process>"
