"""Optimise: the best parameters of a strategy, with how likely it is that they are only the luckiest."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd

from ...errors import InputError, ToolkitError, require
from ...extras import need
from ...guards import no_keys
from ...interchange import to_pandas
from ...suggestions import check_known
from ..analysis.fingerprints import idea_of
from ..analysis.luck import overfitting, trials
from ..analysis.report_text import YEARLY, card
from ..analysis.results import Results
from ..analysis.run_report import page_of_points
from .points import Point, Record, RecordFile, from_plain, is_strategy, run_point, runner
from .sweeps import evaluate, make_points, prepared, progress_bar, table_of

if TYPE_CHECKING:
    from tqdm import tqdm

    from ...pictures.interactive import Page

Constraint = Callable[..., bool]
Measure = str | Callable[[Mapping[str, Any]], float]
Method = Literal["grid", "random", "bayes"]

ATTEMPTS = 1_000
"""Draws in a row that may break the constraints or repeat a point before a search ends."""


class Params(dict[str, Any]):
    """Parameters as a constraint sees them: `p["fast"]` or `p.fast`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class Optimisation:
    """The result of an optimisation.

    Parameters
    ----------
    table : DataFrame
        One row per point, as `sweep` returns it.
    names : tuple of str
        Names of the parameters.
    maximise : str
        Name of the measure that was maximised.
    scores : array of float64, shape (points,)
        Maximised value of each point, NaN for a failed one.
    returns : array of float64, shape (periods, points)
        Returns of each point, ratios.
    params : list of dict of str to object
        Parameters of each point.
    work : tuple of (object, object, mapping of str to object)
        Strategy, data and options, which `run` makes the best run of.
    """

    table: pd.DataFrame
    names: tuple[str, ...]
    maximise: str
    scores: np.ndarray[Any, Any] = field(repr=False)
    returns: np.ndarray[Any, Any] = field(repr=False)
    params: list[dict[str, Any]] = field(repr=False)
    work: tuple[Any, Any, Mapping[str, Any]] = field(repr=False)

    @property
    def best(self) -> dict[str, Any]:
        """The parameters with the highest score, of equal ones the first. Raises ToolkitError when all failed."""
        if np.isnan(self.scores).all():
            failed = self.table.loc[self.table["error"] != "", "error"]
            why = f"the first error is {failed.iloc[0]}" if len(failed) else f"{self.maximise} is NaN at all of them"
            raise ToolkitError(f"none of {len(self.table)} points has a score: {why}")
        return self.params[int(np.nanargmax(self.scores))]

    @cached_property
    def _outcome(self) -> Any:
        with trials.paused():  # its point is counted already
            return run_point(*self.work, self.best, None)

    @cached_property
    def run(self) -> Results:
        """The run with the best parameters. Raises ToolkitError when the task returns no Results."""
        outcome = self._outcome
        if not isinstance(outcome, Results):
            raise ToolkitError(f"the task returned {type(outcome).__name__}, not Results")
        # A task that is a function makes a run of another name. Its trials are those of the search.
        return replace(outcome, settings={**outcome.settings, "idea": idea_of(*self.work[:2])})

    @cached_property
    def pbo(self) -> float:
        """The probability of backtest overfitting, by Sharpe ratio, NaN with fewer than two points."""
        return overfitting(self.returns)

    def summary(self, *, confidence: float = 0.9) -> pd.Series[Any]:
        """Return the best point and how far to trust it.

        Parameters
        ----------
        confidence : float, optional
            Share of the bootstrap intervals, from 0 to 1 (default: 0.9).

        Returns
        -------
        Series
            The best parameters, and:

            - score: the maximised value
            - points, failed: counts
            - pbo: probability of backtest overfitting
            - trials, deflated_sharpe, sharpe_low, sharpe_high, min_track_record, track_record and others: see
              `Results.luck` of the best run
        """
        found = {
            **self.best,
            "score": float(np.nanmax(self.scores)),
            "points": len(self.table),
            "failed": int((self.table["status"] != "ok").sum()),
            "pbo": self.pbo,
            **self.run.luck(confidence=confidence),
        }
        return pd.Series(found, dtype="object", name=f"best {self.maximise}")

    def page(self) -> Page:
        """Return the interactive report: summary, heat-maps, parallel coordinates, and the best run's own.

        Returns
        -------
        Page
            The page, which a notebook shows.

        Raises
        ------
        MissingPackage
            Without Plotly.
        """
        table = self.table.assign(score=self.scores)
        return page_of_points(table, self.names, "score", self.summary(), self.run)

    def report(self, path: str | Path) -> Path:
        """Write the interactive report as HTML, and Plotly's script next to it.

        Parameters
        ----------
        path : str or Path
            File to write.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        MissingPackage
            Without Plotly.
        """
        return self.page().save(path)

    def _repr_html_(self) -> str:
        if np.isnan(self.scores).all() or not isinstance(self._outcome, Results):
            return f"<code>{escape(repr(self))}</code>"
        best = ", ".join(f"{name} = {value}" for name, value in self.best.items())
        pbo = "" if math.isnan(self.pbo) else f", probability of overfitting {self.pbo:.0%}"
        return card(self.run, f"best of {len(self.table)} points: {best}{pbo}")

    def __repr__(self) -> str:
        if np.isnan(self.scores).all():
            return f"Optimisation({len(self.table)} points, none has a score)"
        best = ", ".join(f"{name}={value}" for name, value in self.best.items())
        return f"Optimisation({len(self.table)} points, {self.maximise} {np.nanmax(self.scores):.4g} at {best})"


@no_keys
def optimise(
    strategy: object,
    space: Mapping[str, Any],
    data: object = None,
    *,
    maximise: Measure = "sharpe",
    constraints: Constraint | Sequence[Constraint] = (),
    method: Method = "grid",
    points: int = 100,
    seed: int = 7,
    workers: int | None = None,
    client: Any = None,
    results: str | Path | None = None,
    progress: bool = True,
    **options: object,
) -> Optimisation:
    """Search a space for the parameters with the highest measure.

    Parameters
    ----------
    strategy : class or callable
        A Strategy class, or a function that returns Results, as the task of `sweep`.
    space : mapping of str to object
        Values of each parameter (a list, range or array). For "random" and "bayes" also (low, high), two numbers: whole
        ones for whole numbers between them, both included.
    data : DataFrame, Recording, Events or mapping, optional
        Data that the strategy runs on, as in `backtest` (default: none, for a function).
    maximise : Measure, optional
        A measure of `metrics()`, or a function of all of them. On data that is too short to annualise "sharpe" is that
        of one period. "-volatility" minimises. Drawdowns are below 0, so that
        "max_drawdown" finds the smallest (default: "sharpe").
    constraints : Constraint or sequence of Constraint, optional
        Functions of parameters that must be true: `lambda fast, slow: fast < slow`, or of one mapping (default: none).
        A constraint on results is part of the measure: `maximise=lambda m: m["sharpe"] if m["max_drawdown"] > -0.2 else
        float("nan")`.
    method : Method, optional
        "grid" tries all of the space, "random" `points` of it. With "bayes", Optuna's tree-structured Parzen estimator
        (extra `optimise`) chooses `points` from those before, as many at a time as there are workers (default: "grid").
    points : int, optional
        Number of points of "random" and "bayes" (default: 100).
    seed : int, optional
        Whole number that makes the draws of both (default: 7).
    workers : int, optional
        Processes on this machine, as in `sweep` (default: as many as pay, for "bayes" this process alone).
    client : distributed.Client, optional
        Dask cluster, as in `sweep` (default: none).
    results : str or Path, optional
        File from which the search continues, as in `sweep` (default: none).
    progress : bool, optional
        True shows a progress bar with the time left (default: True).
    **options : object
        Further arguments of `backtest`, or of the function.

    Returns
    -------
    Optimisation
        Table of all points, the best one, and how likely it is luck.

    Raises
    ------
    InputError
        For an empty space or an unknown measure.
    MissingPackage
        Without Optuna, for "bayes".

    Examples
    --------
    >>> found = research.optimise(Cross, {"fast": [3, 5]}, bars, workers=0, progress=False)
    >>> found.best
    {'fast': 3}
    """
    require(space, Mapping, "space", "a dict of parameter names and their values")
    allowed = _Space(space, constraints)
    if method not in ("grid", "random", "bayes"):
        kind = type(method).__name__
        raise InputError(f"method is {method!r}, but must be grid, random or bayes", field="method", value=kind)
    total = len(grid := list(allowed.grid())) if method == "grid" else points
    if method == "bayes" and client is None:
        workers = workers or 0  # each point waits for those before: more workers only when they are asked for
    data = to_pandas(data) if is_strategy(strategy) else data
    with (
        RecordFile(results, False) as store,
        progress_bar(total, progress) as bar,
        runner(strategy, *prepared(strategy, data, options), workers, client) as run,
    ):
        search = _Search(partial(make_points, strategy, data=data, options=options), run, store, bar)
        if method == "bayes":
            together = len(client.nthreads()) if client is not None else workers or 1
            _bayes(search, allowed, maximise, points, seed, together)
        else:
            search.evaluate(grid if method == "grid" else allowed.random(points, seed))
    if not search.points:
        raise InputError("no point of the space meets the constraints", field="space", rule="not empty")
    table = table_of(search.points, search.records, False).drop(columns="returns", errors="ignore")
    # PBO compares points period by period, so their returns need one length.
    returns = _aligned([record["values"].get("returns") for record in search.records])
    scores = np.array([score(record, maximise) for record in search.records])
    label = maximise if isinstance(maximise, str) else getattr(maximise, "__name__", "score")
    if label == "sharpe" and "annualised" in table and not table["annualised"].eq(True).any():
        label = "period_sharpe"
    params = [dict(point.params) for point in search.points]
    return Optimisation(table, tuple(space), label, scores, returns, params, (strategy, data, options))


class _Search:
    """The points of one optimisation so far, with their records."""

    def __init__(
        self,
        make: Callable[..., list[Point]],
        run: Callable[[Sequence[Point]], Iterator[Record]],
        store: RecordFile,
        bar: tqdm[Any],
    ) -> None:
        self._make, self._how = make, (run, store, bar)
        self.points, self.records = list[Point](), list[Record]()

    def evaluate(self, combinations: Sequence[Mapping[str, Any]]) -> list[Record]:
        """Run points and return their records.

        Parameters
        ----------
        combinations : sequence of mapping of str to object
            Parameters of each point.
        """
        points = self._make(combinations, seeds=None, returns=True)
        records = evaluate(points, *self._how)
        self.points += points
        self.records += records
        return records


def score(record: Record, maximise: Measure) -> float:
    """Return what is maximised of a finished point, NaN for a failed one.

    Parameters
    ----------
    record : Record
        Record of the point.
    maximise : Measure
        Name of a measure, or a function of all of them.

    Raises
    ------
    InputError
        For an unknown measure.
    """
    if record["status"] != "ok":
        return float("nan")
    values = {name: from_plain(value) for name, value in record["values"].items() if name != "returns"}
    if callable(maximise):
        return float(maximise(values))
    name = maximise.removeprefix("-")
    check_known([name], values, "maximise", "measure")
    if name in YEARLY and values.get("annualised") is False:
        if name != "sharpe":
            text = (
                f'the data is too short to annualise, so that there is no {name}. Maximise "total_return", for example'
            )
            raise InputError(text, field="maximise", value=name)
        name = "period_sharpe"  # which ranks as the yearly one does
    value = values[name]
    if isinstance(value, pd.Timedelta):
        value = value.total_seconds()
    if not isinstance(value, Real):
        raise InputError(f"{name} is {value!r}, not a number to maximise", field="maximise", value=str(value))
    return -float(value) if maximise.startswith("-") else float(value)


class _Space:
    """The space of an optimisation: the values of each parameter, and the constraints of a point."""

    def __init__(self, space: Mapping[str, Any], constraints: object) -> None:
        self._space = space
        single = callable(constraints) or isinstance(constraints, str)
        rules: list[Any] = [constraints] if single else list(cast("Sequence[Any]", constraints))
        for rule in rules:
            if not callable(rule):
                text = f"constraints has {rule!r}, but a constraint is a function: lambda fast, slow: fast < slow"
                raise InputError(text, field="constraints", rule="function", value=str(rule))
        self._rules = [(rule, list(inspect.signature(rule).parameters)) for rule in rules]
        for _, wanted in self._rules:
            if len(wanted) > 1:  # a single one may be the mapping of all
                check_known(wanted, tuple(space), "constraints", "parameter of the space")

    def allows(self, params: dict[str, Any]) -> bool:
        """Return whether a point meets all constraints.

        Parameters
        ----------
        params : dict of str to object
            Parameters of the point.
        """
        for rule, wanted in self._rules:
            by_name = set(wanted) <= set(self._space)
            try:
                met = rule(**{name: params[name] for name in wanted}) if by_name else rule(Params(params))
            except (KeyError, AttributeError) as missing:
                text = f"a constraint reads {missing}, which is no parameter of the space: {', '.join(self._space)}"
                form = """maximise=lambda m: m["sharpe"] if m["max_drawdown"] > -0.2 else float("nan")"""
                advice = f"One of the results belongs into the measure: {form}"
                raise InputError(f"{text}. {advice}", field="constraints", rule="parameters") from None
            if not met:
                return False
        return True

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield every allowed point."""
        for values in itertools.product(*(_choices(name, values) for name, values in self._space.items())):
            params = dict(zip(self._space, values, strict=True))
            if self.allows(params):
                yield params

    def random(self, points: int, seed: int) -> list[dict[str, Any]]:
        """Return different points, fewer when so many in a row are repeated or not allowed.

        Parameters
        ----------
        points : int
            Number of points.
        seed : int
            Seed of the draws.
        """
        random, found, in_vain = np.random.default_rng(seed), dict[str, dict[str, Any]](), 0
        # A small space may have fewer points than requested, and tight constraints may leave none.
        while len(found) < points and in_vain < ATTEMPTS:
            params = {name: _draw(random, name, values) for name, values in self._space.items()}
            in_vain += 1
            if repr(params) not in found and self.allows(params):
                found[repr(params)], in_vain = params, 0
        return list(found.values())

    def suggested(self, trial: object) -> dict[str, Any]:
        """Return the point that Optuna suggests in a trial.

        Parameters
        ----------
        trial : optuna.Trial
            Trial of the study.
        """
        return {name: _suggest(trial, name, values) for name, values in self._space.items()}


def _is_range(values: object) -> bool:
    """Return whether values are (low, high), a range of numbers, rather than a choice."""
    return isinstance(values, tuple) and len(values) == 2 and all(isinstance(value, Real) for value in values)


def _choices(name: str, values: object) -> list[Any]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"space[{name!r}] is {values!r}. Give a list of values", field="space", value=str(values))
    found = [value.item() if hasattr(value, "item") else value for value in values]
    if not found:
        raise InputError(f"space[{name!r}] has no values", field="space", rule="not empty")
    return found


def _draw(random: np.random.Generator, name: str, values: Any) -> Any:
    if not _is_range(values):
        choices = _choices(name, values)
        return choices[int(random.integers(len(choices)))]
    low, high = values
    if isinstance(low, int) and isinstance(high, int):
        return int(random.integers(low, high + 1))
    return float(random.uniform(low, high))


def _suggest(trial: Any, name: str, values: Any) -> Any:
    if _is_range(values):
        whole = all(isinstance(end, int) for end in values)
        return trial.suggest_int(name, *values) if whole else trial.suggest_float(name, *values)
    choices = _choices(name, values)
    steps = {b - a for a, b in itertools.pairwise(choices)} if all(type(x) is int for x in choices) else set()
    if len(steps) == 1 and min(steps) > 0:  # an even ladder of whole numbers has an order to learn from
        return trial.suggest_int(name, choices[0], choices[-1], step=steps.pop())
    return choices[trial.suggest_categorical(name, list(range(len(choices))))]


def _bayes(search: _Search, space: _Space, maximise: Measure, points: int, seed: int, together: int) -> None:
    """Let Optuna choose each point from the scores of those before, batches of `together`."""
    need("optuna")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

    def tell(trial: Any, found: float) -> None:
        """Give Optuna the score of a trial. One without a score is pruned."""
        study.tell(trial, found) if found == found else study.tell(trial, state=optuna.trial.TrialState.PRUNED)

    seen: dict[str, float] = {}
    in_vain = 0
    while len(seen) < points and in_vain < ATTEMPTS:
        batch: dict[str, tuple[Any, dict[str, Any]]] = {}
        while len(batch) < min(together, points - len(seen)) and in_vain < ATTEMPTS:
            trial = study.ask()
            params = space.suggested(trial)
            key = repr(params)
            # Optuna repeats itself once it is sure. A repeated point teaches nothing and would count as a trial.
            if key in seen or key in batch or not space.allows(params):
                tell(trial, seen.get(key, float("nan")))
                in_vain += 1
                continue
            batch[key], in_vain = (trial, params), 0
        records = search.evaluate([params for _, params in batch.values()])
        for (key, (trial, _)), record in zip(batch.items(), records, strict=True):
            seen[key] = score(record, maximise)
            tell(trial, seen[key])


def _aligned(columns: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return returns of points as columns of one length: a ruined account has no more of them, which counts as 0."""
    known = [from_plain(column) for column in columns if column is not None]
    found = np.zeros((max(map(len, known), default=0), len(known)))
    for at, column in enumerate(known):
        found[: len(column), at] = column
    return found
