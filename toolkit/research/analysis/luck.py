"""How likely a result is luck: deflated Sharpe ratio, overfitting, track record length, bootstrap intervals.

Sharpe ratios here are those of one period, not yearly ones, unless a name says so. A normal distribution has kurtosis
3. Source [1] is Bailey and López de Prado, "The Sharpe Ratio Efficient Frontier", Journal of Risk 15(2), 2012. Source
[2] is theirs too, "The Deflated Sharpe Ratio", Journal of Portfolio Management 40(5), 2014. Source [3] is Bailey,
Borwein, López de Prado, Zhu, "The Probability of Backtest Overfitting", Journal of Computational Finance 20(4), 2017.
Source [4] is Politis and Romano, "The Stationary Bootstrap", Journal of the American Statistical Association 89, 1994.
"""

from __future__ import annotations

import math
import os
import sqlite3
import statistics
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import combinations, islice
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InputError
from ...stored.databases import transaction
from .measures.curve import Curve
from .measures.numbers import NAN, Values, ratio
from .trial_file import in_memory, open_trials, project_file

EULER = 0.5772156649015329
"""The Euler–Mascheroni constant."""
_NORMAL = NormalDist()
RUIN = -1 + 1e-12
"""The worst return of which there is a logarithm."""


def moments(returns: Values) -> tuple[float, float, float]:
    """Return Sharpe ratio, skewness and kurtosis of returns, NaN without variation.

    Parameters
    ----------
    returns : array of float64, shape (n,)
        Returns of each period, ratios (0.01 is 1 %).

    Returns
    -------
    tuple of (float, float, float)
        Sharpe ratio of one period, skewness, kurtosis.

    Examples
    --------
    >>> [round(each, 2) for each in luck.moments(run.fine_returns())]
    [0.04, -0.08, 7.33]
    """
    sharpe = ratio(returns, float(returns.std(ddof=1)) if len(returns) > 1 else NAN)
    if math.isnan(sharpe):
        return NAN, NAN, NAN
    around = (returns - returns.mean()) / returns.std()
    return sharpe, float((around**3).mean()), float((around**4).mean())


def _spread(sharpe: float, skew: float, kurtosis: float) -> float:
    """Return the standard deviation of a Sharpe ratio's estimate, times sqrt(n − 1)."""
    return math.sqrt(max(1 - skew * sharpe + (kurtosis - 1) / 4 * sharpe**2, 0.0))


def probabilistic_sharpe(
    sharpe: float, observations: int, skew: float = 0.0, kurtosis: float = 3.0, benchmark: float = 0.0
) -> float:
    """Return the probability that the true Sharpe ratio is above a benchmark, PSR of [1].

    Parameters
    ----------
    sharpe : float
        Sharpe ratio of one period, not scaled to a year.
    observations : int
        Number of returns that the ratio was measured on.
    skew : float, optional
        Skewness of the returns, 0 for a normal distribution (default: 0).
    kurtosis : float, optional
        Kurtosis of the returns, 3 for a normal distribution (default: 3.0).
    benchmark : float, optional
        Sharpe ratio of one period to compare with (default: 0).

    Returns
    -------
    float
        Probability from 0 to 1, NaN with fewer than two returns or without variation.

    Examples
    --------
    >>> round(probabilistic_sharpe(0.458, 24), 3), round(probabilistic_sharpe(0.458, 24, -2.448, 10.164), 3)
    (0.982, 0.913)
    """
    spread = _spread(sharpe, skew, kurtosis)
    if math.isnan(sharpe) or observations < 2 or not spread:
        return NAN
    return _NORMAL.cdf((sharpe - benchmark) * math.sqrt(observations - 1) / spread)


def expected_max_sharpe(trials: int, variance: float) -> float:
    """Return the Sharpe ratio that the best of several trials without skill is expected to show, SR0 of [2].

    Parameters
    ----------
    trials : int
        Number of trials.
    variance : float
        Variance of the trials' Sharpe ratios.

    Returns
    -------
    float
        Sharpe ratio on the scale of `variance`, 0 with fewer than two trials.

    Examples
    --------
    >>> round(expected_max_sharpe(100, 0.5 / 250), 4)
    0.1132
    """
    if trials < 2 or not variance > 0:
        return 0.0
    first, second = _NORMAL.inv_cdf(1 - 1 / trials), _NORMAL.inv_cdf(1 - 1 / (trials * math.e))
    return math.sqrt(variance) * ((1 - EULER) * first + EULER * second)


def deflated_sharpe(
    sharpe: float, observations: int, trials: int, variance: float, skew: float = 0.0, kurtosis: float = 3.0
) -> float:
    """Return the probability that the best of several trials has a true Sharpe ratio above 0, DSR of [2].

    Counting correlated trials as independent makes it smaller than it need be, never larger.

    Parameters
    ----------
    sharpe : float
        Sharpe ratio of the best trial, of one period, not scaled to a year.
    observations : int
        Number of returns that the ratio was measured on.
    trials : int
        Number of trials.
    variance : float
        Variance of the trials' Sharpe ratios.
    skew : float, optional
        Skewness of the returns, 0 for a normal distribution (default: 0).
    kurtosis : float, optional
        Kurtosis of the returns, 3 for a normal distribution (default: 3.0).

    Returns
    -------
    float
        Probability from 0 to 1, NaN with fewer than two returns or without variation.

    Examples
    --------
    >>> [round(deflated_sharpe(2.5 / 250**0.5, 1250, trials, 0.5 / 250, -3, 10), 4) for trials in (100, 46)]
    [0.9004, 0.9505]
    """
    return probabilistic_sharpe(sharpe, observations, skew, kurtosis, expected_max_sharpe(trials, variance))


def min_track_record(
    sharpe: float, skew: float = 0.0, kurtosis: float = 3.0, benchmark: float = 0.0, confidence: float = 0.95
) -> float:
    """Return how many periods show that the true Sharpe ratio is above a benchmark, MinTRL of [1].

    In [1] a yearly ratio of 2 needs 2.73 years of daily returns to be above 1, 2.83 of weekly and 3.24 of monthly ones.

    Parameters
    ----------
    sharpe : float
        Sharpe ratio of one period, not scaled to a year.
    skew : float, optional
        Skewness of the returns, 0 for a normal distribution (default: 0).
    kurtosis : float, optional
        Kurtosis of the returns, 3 for a normal distribution (default: 3.0).
    benchmark : float, optional
        Sharpe ratio of one period to compare with (default: 0).
    confidence : float, optional
        Probability that the answer shall have, from 0 to 1 (default: 0.95).

    Returns
    -------
    float
        Number of periods, infinite if `sharpe` is not above the benchmark.

    Examples
    --------
    >>> [round(min_track_record(2 / n**0.5, benchmark=1 / n**0.5) / n, 2) for n in (250, 52, 12)]
    [2.73, 2.83, 3.24]
    """
    if not sharpe > benchmark:
        return NAN if math.isnan(sharpe) else math.inf
    return 1 + (_spread(sharpe, skew, kurtosis) * _NORMAL.inv_cdf(confidence) / (sharpe - benchmark)) ** 2


def overfitting(returns: Values, parts: int | None = None) -> float:
    """Return the probability of backtest overfitting, PBO of [3], by combinatorially symmetric cross-validation.

    For each half of the parts, the trial with its highest Sharpe ratio is ranked in the other half. PBO is how often
    that trial ranks in the lower half: near 0 when choosing helps, 0.5 when it is noise.

    Parameters
    ----------
    returns : array of float64, shape (periods, trials)
        Returns of each period and trial, ratios.
    parts : int, optional
        Number of parts that the rows are divided into, even (default: 16, fewer when there are few rows).

    Returns
    -------
    float
        Probability from 0 to 1, NaN with fewer than two trials or four rows.

    Raises
    ------
    InputError
        If the rows can't be divided into so many parts.

    Examples
    --------
    >>> round(luck.overfitting(luck.bootstrap(run.fine_returns(), draws=8).T), 3)
    0.862
    """
    rows, trials = returns.shape
    if trials < 2 or rows < 4:
        return NAN
    # 16 parts make 12,870 halves, as in [3]. Fewer rows get fewer parts, so that each keeps at least four.
    parts = max(2, min(16, rows // 8 * 2)) if parts is None else parts
    if parts < 2 or parts % 2 or parts > rows // 2:
        text = f"{rows} rows can't be divided into {parts} parts. Give an even number from 2 to {rows // 2}"
        raise InputError(text, field="parts", value=parts)
    blocks = np.array_split(returns[: rows // parts * parts], parts)
    sums = np.array([block.sum(axis=0) for block in blocks])
    squares = np.array([(block**2).sum(axis=0) for block in blocks])
    count = len(blocks[0]) * parts // 2
    chosen = combinations(range(parts), parts // 2)
    below = total = 0
    while batch := list(islice(chosen, 2_000)):
        train = np.zeros((len(batch), parts))
        np.put_along_axis(train, np.array(batch), 1.0, axis=1)
        inside, outside = (_sharpes(half @ sums, half @ squares, count) for half in (train, 1 - train))
        best = outside[np.arange(len(batch)), inside.argmax(axis=1)][:, None]
        # The rank of the best trial from the bottom; those equal to it share the middle rank.
        rank = (outside < best).sum(axis=1) + ((outside == best).sum(axis=1) + 1) / 2
        below += int((rank <= (trials + 1) / 2).sum())
        total += len(batch)
    return below / total


def _sharpes(sums: Values, squares: Values, count: int) -> Values:
    mean = sums / count
    variance = np.maximum(squares / count - mean**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A trial without variation made no trades. It ranks as a ratio of 0, because NaN has no rank.
        found: Values = np.where(variance > 1e-24, mean / np.sqrt(variance), 0.0)
    return found


def bootstrap(returns: Values, *, draws: int = 1_000, block: float | None = None, seed: int = 7) -> Values:
    """Return resampled series of returns, by the stationary bootstrap of [4].

    Blocks of random length keep how returns depend on each other.

    Parameters
    ----------
    returns : array of float64, shape (n,)
        Returns of each period, ratios (0.01 is 1 %).
    draws : int, optional
        Number of series (default: 1,000).
    block : float, optional
        Mean length of a block, periods (default: the cube root of the number of periods).
    seed : int, optional
        Seed of the random numbers. The same one gives the same series (default: 7).

    Returns
    -------
    array of float64, shape (draws, n)
        One series a row.

    Examples
    --------
    >>> luck.bootstrap(run.fine_returns(), draws=100).shape
    (100, 200)
    """
    count = len(returns)
    random = np.random.default_rng(seed)
    mean = max(count ** (1 / 3), 1.0) if block is None else block
    jumps = random.random((draws, count)) < 1 / mean
    jumps[:, 0] = True
    starts = random.integers(0, count, (draws, count))
    at = np.arange(count)
    last = np.maximum.accumulate(np.where(jumps, at, 0), axis=1)  # where the present block began
    chosen: Values = returns[(np.take_along_axis(starts, last, axis=1) + at - last) % count]
    return chosen


def interval(values: Values, confidence: float = 0.9) -> tuple[float, float]:
    """Return the middle part of some values.

    Parameters
    ----------
    values : array of float64, shape (n,)
        Values of any unit. Those that are not finite are left out.
    confidence : float, optional
        Share of the values between the two ends, from 0 to 1 (default: 0.9).

    Returns
    -------
    tuple of (float, float)
        The low and the high end, NaN without values.

    Examples
    --------
    >>> [round(each, 5) for each in luck.interval(luck.bootstrap(run.fine_returns()).mean(axis=1))]
    [-0.00013, 0.00043]
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return NAN, NAN
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _widened(estimate: float, drawn: Values, count: int, confidence: float) -> tuple[float, float]:
    """Return the interval of a bootstrap, widened so that it covers the truth as often as it says.

    The percentiles alone cover 79 % at 12 returns and 84 % at 30, where 90 % are meant. Blocks leave out a part of the
    variance, and few of them make it uncertain itself, as Student's distribution has it.
    """
    low, high = interval(drawn, confidence)
    block = max(count ** (1 / 3), 1.0)
    normal = _NORMAL.inv_cdf((1 + confidence) / 2)
    wider = math.sqrt(count / (count - block)) * (1 + (normal**2 + 1) * (1 + block / 2) / (4 * (count - 1)))
    return estimate + wider * (low - estimate), estimate + wider * (high - estimate)


def assess(
    curve: Curve, *, trials: int | None = None, confidence: float = 0.9, seed: int = 7, idea: str = ""
) -> dict[str, Any]:
    """Return how likely the result of a run is luck.

    Parameters
    ----------
    curve : Curve
        The arrays of the run.
    trials : int, optional
        Number of trials that it is the best of (default: those of its idea, `toolkit.research.trials`).
    confidence : float, optional
        Share of the bootstrap intervals, from 0 to 1 (default: 0.9).
    seed : int, optional
        Seed of the bootstrap (default: 7).
    idea : str, optional
        Idea that the run is a trial of (default: unknown, all trials of the project count).

    Returns
    -------
    dict of str to object
        The values of `Results.luck`, by name.
    """
    step = curve.sampling_ms
    _, returns, periods, _ = curve.sampled()
    count = len(returns)
    sharpe, skew, kurtosis = moments(returns)
    tried = max(project_trials.count(idea), 1) if trials is None else trials
    # Without other trials' ratios: the variance that the estimate has when there is no skill.
    variance = project_trials.variance(idea) / periods or 1 / max(count - 1, 1)
    yearly = math.sqrt(periods) if curve.annualised else NAN
    sharpe_range = return_range = (NAN, NAN)
    if count > 2:
        drawn = bootstrap(returns, seed=seed)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * yearly
        sharpe_range = _widened(sharpe * yearly, ratios, count, confidence)
        # Of logarithms, because products are skewed. A loss of everything has none.
        logs = np.log1p(np.maximum(drawn, RUIN)).sum(axis=1)
        total = float(np.log1p(np.maximum(returns, RUIN)).sum())
        low, high = _widened(total, logs, count, confidence)
        return_range = math.expm1(low), math.expm1(high)
    needed = min_track_record(sharpe, skew, kurtosis)
    return {
        "sharpe": sharpe * yearly,
        **dict(zip(("sharpe_low", "sharpe_high"), sharpe_range, strict=True)),
        **dict(zip(("return_low", "return_high"), return_range, strict=True)),
        "observations": count,
        "period": pd.Timedelta(step, unit="ms"),
        "skew": skew,
        "kurtosis": kurtosis,
        "probabilistic_sharpe": probabilistic_sharpe(sharpe, count, skew, kurtosis),
        "trials": tried,
        "idea": idea,
        "expected_max_sharpe": expected_max_sharpe(tried, variance) * yearly,
        "deflated_sharpe": deflated_sharpe(sharpe, count, tried, variance, skew, kurtosis),
        "min_track_record": pd.Timedelta(needed * step, unit="ms") if needed * step < 9e12 else pd.NaT,
        "track_record": pd.Timedelta(count * step, unit="ms"),
    }


class Trials:
    """The runs of a project, with their yearly Sharpe ratios if these were measured. Each different run counts once.

    Trials belong to an idea: the name of a strategy, its code and its data. `luck` counts those of the run's own idea.
    A key begins with the idea and a bar, "SmaCross 3f2a9c1d|…". Other code, or the same on other data, is another idea.
    Other parameters, defaults and settings are further trials of the same one.

    `backtest`, `vectorised`, `sweep` and `optimise` count automatically. `len(trials)` is the number of all trials, and
    `trials.frame()` a table of them. `trials.clear()` begins again.

    The trials are kept in one file per project, `trials.path`, that several processes share: see
    `trial_file.project_file`. The variable TOOLKIT_TRIALS names another file, and "off" counts in this process only. A
    file that is damaged or can't be written is left as it is, with a DataWarning.
    """

    def __init__(self) -> None:
        self._opened: tuple[int, Path | None, sqlite3.Connection] | None = None
        # Points of a sweep may run in several threads together, each of which pauses for itself.
        self._paused = ContextVar("paused", default=False)

    @property
    def path(self) -> Path | None:
        """The file, None where trials are counted in this process only."""
        return project_file() if self._opened is None else self._opened[1]

    def _file(self) -> sqlite3.Connection:
        # A forked process must not use the connection of its parent.
        if self._opened is None or self._opened[0] != os.getpid():
            path = self.path
            self._keep(path, open_trials(path))
        assert self._opened is not None
        return self._opened[2]

    def _keep(self, path: Path | None, connection: sqlite3.Connection) -> None:
        weakref.finalize(self, connection.close)  # since CPython 3.13 one that is dropped open is warned of
        self._opened = os.getpid(), path, connection

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._file().execute(statement, values).fetchall()
        except sqlite3.Error as error:  # a full disk, a file that was damaged or taken away meanwhile
            self._keep(self.path, in_memory(self.path, error))
            return self._file().execute(statement, values).fetchall()

    def add(self, key: str, sharpe: float = float("nan")) -> None:
        """Count a run. A known key counts once.

        Parameters
        ----------
        key : str
            Text that distinguishes the run from other trials: its strategy, parameters, settings and data.
        sharpe : float, optional
            Yearly Sharpe ratio (default: not measured).

        Examples
        --------
        >>> research.trials.clear()
        >>> research.trials.add("one", 1.5)
        >>> research.trials.add("other", 0.5)
        >>> len(research.trials)
        2
        """
        if not self._paused.get():
            self._run(_COUNT, (key, sharpe))

    def measured(self, key: Callable[[], str], sharpe: float) -> None:
        """Keep the yearly Sharpe ratio of a run that was counted.

        Parameters
        ----------
        key : callable
            Function that returns the key under which it was counted.
        sharpe : float
            Yearly Sharpe ratio. NaN is not kept.
        """
        if not self._paused.get() and sharpe == sharpe:
            self._run("UPDATE trials SET sharpe = ? WHERE key = ? AND sharpe IS NOT ?", (sharpe, key(), sharpe))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing within the block: a sweep counts its points itself.

        Examples
        --------
        >>> research.trials.clear()
        >>> with research.trials.paused():
        ...     _ = research.backtest(Cross(fast=4), bars)
        >>> len(research.trials)
        0
        """
        token = self._paused.set(True)
        try:
            yield
        finally:
            self._paused.reset(token)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what the block counts at its end, which is quicker for many."""
        with transaction(self._file()):
            yield

    def count(self, idea: str = "") -> int:
        """Return the number of trials of an idea.

        Parameters
        ----------
        idea : str, optional
            Beginning of the keys, as `run.settings["idea"]` has it (default: "", all trials).

        Examples
        --------
        >>> research.trials.clear()
        >>> research.trials.add("Cross 1f|fast=3", 1.5)
        >>> research.trials.add("Other 2e|fast=3", 0.5)
        >>> research.trials.count("Cross 1f")
        1
        """
        found = self._run(f"SELECT count(*) FROM trials WHERE {_OF_IDEA}", _of_idea(idea))
        return int(found[0][0])

    def variance(self, idea: str = "") -> float:
        """Return the variance of the known yearly Sharpe ratios, 0 with fewer than two.

        Parameters
        ----------
        idea : str, optional
            Idea whose trials are taken, see `count` (default: "", all trials).

        Examples
        --------
        >>> research.trials.clear()
        >>> research.trials.add("one", 1.5)
        >>> research.trials.add("other", 0.5)
        >>> research.trials.variance()
        0.5
        """
        rows = self._run(
            f"SELECT sharpe FROM trials WHERE sharpe IS NOT NULL AND {_OF_IDEA} ORDER BY number", _of_idea(idea)
        )
        known = [sharpe for (sharpe,) in rows if abs(sharpe) < float("inf")]
        return statistics.variance(known) if len(known) > 1 else 0.0

    def frame(self) -> pd.DataFrame:
        """Return the trials as a table.

        Returns
        -------
        DataFrame
            One row a trial, oldest first:

            - key: str, the idea, then strategy, parameters, settings and data
            - sharpe: float64, yearly Sharpe ratio, NaN if never measured

        Examples
        --------
        >>> research.trials.clear()
        >>> research.trials.add("one", 1.5)
        >>> research.trials.add("other", 0.5)
        >>> research.trials.frame().values.tolist()
        [['one', 1.5], ['other', 0.5]]
        """
        rows = self._run("SELECT key, sharpe FROM trials ORDER BY number")
        return pd.DataFrame(rows, columns=["key", "sharpe"]).astype({"key": "str", "sharpe": "float64"})

    def clear(self) -> None:
        """Begin again at 0. A file that can't be read is removed.

        Examples
        --------
        >>> research.trials.clear()
        >>> len(research.trials)
        0
        """
        self._run("DELETE FROM trials")
        if self.path is not None and not self._run("PRAGMA database_list")[0][2]:  # it is counted in memory
            self.path.unlink(missing_ok=True)
            self._opened = None

    def __len__(self) -> int:
        return self.count()

    def __repr__(self) -> str:
        return f"<{len(self)} trials in {self.path or 'this process'}>"


_OF_IDEA = "substr(key, 1, ?) = ?"


def _of_idea(idea: str) -> tuple[int, str]:
    beginning = f"{idea}|" if idea else ""
    return len(beginning), beginning


_COUNT = """
INSERT INTO trials (key, sharpe) VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET sharpe = excluded.sharpe WHERE excluded.sharpe IS NOT NULL
"""
trials = project_trials = Trials()
"""The trials of the project."""
