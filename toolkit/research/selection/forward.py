"""Walk-forward: optimise on each training part, trade what follows it, and judge only that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

import pandas as pd

from ..analysis.results import Results
from ..analysis.trials import trials
from .optimising import optimise
from .points import run_point
from .splits import Size, Split, make_splits
from .sweeps import progress_bar


@dataclass(frozen=True)
class WalkForward:
    """The out-of-sample results of a walk-forward run.

    Attributes: `frame` (one row a split: test_from, test_until, the chosen parameters, `trained` (the score on the
    training part), pbo of that training, and the measures of the test), `runs` (Results of each test).
    """

    frame: pd.DataFrame
    runs: list[Results] = field(repr=False)

    @property
    def equity(self) -> pd.Series[float]:
        """The tests one after another, each with the equity that the last one ended with (USDC, UTC index)."""
        level, parts = float(self.runs[0].equity["equity"].iloc[0]), []
        for run in self.runs:
            curve = run.equity["equity"]
            parts.append(curve / curve.iloc[0] * level)
            level = float(parts[-1].iloc[-1])
        joined = pd.concat(parts)
        once: pd.Series[float] = joined[~joined.index.duplicated(keep="last")]
        return once

    def _repr_html_(self) -> str:
        html: str = self.frame.to_html()
        return html


@overload
def walk_forward(
    data: Any, *, train: Size, test: Size, step: Size | None = None, gap: Size = 0, anchored: bool = False
) -> list[Split]: ...
@overload
def walk_forward(data: Any, space: Any, bars: Any, *, train: Size, test: Size, **options: Any) -> WalkForward: ...
def walk_forward(
    data: Any,
    space: Any = None,
    bars: Any = None,
    *,
    train: Size,
    test: Size,
    step: Size | None = None,
    gap: Size = 0,
    anchored: bool = False,
    warm_up: int = 0,
    progress: bool = True,
    **options: Any,
) -> list[Split] | WalkForward:
    """Return the splits of `data`, or run a strategy through them: `walk_forward(Strategy, space, data, …)`.

    `walk_forward(data, train=, test=)` returns splits of bars (as `backtest` takes them) or a DatetimeIndex, oldest
    first. Each test part begins where its training part and the `gap` (an embargo against labels that look ahead) end;
    the next split begins `step` later (default: the length of the test, so that no row is tested twice). `anchored`
    keeps the first row in every training part, which then grows. An incomplete last test part is left out. Sizes are
    rows (int) or lengths of time. No test row is ever in or before its own training part.

    `walk_forward(strategy, space, data, train=, test=, …)` optimises on each training part, runs the best parameters on
    the test part after it, and returns a WalkForward. `warm_up` is the number of bars before each test that a Strategy
    receives without trading, for its indicators. Further options are those of `optimise` and `backtest`.

    >>> index = pd.date_range("2026-01-01", periods=10, freq="D", tz="UTC")
    >>> [(s.train_start, s.train_end, s.test_start, s.test_end) for s in walk_forward(index, train=4, test=2)]
    [(0, 4, 4, 6), (2, 6, 6, 8), (4, 8, 8, 10)]

    Raises InputError when no split fits.
    """
    sizes: dict[str, Any] = {"train": train, "test": test, "step": step, "gap": gap, "anchored": anchored}
    if space is None:
        return make_splits(data, **sizes)
    strategy, rows, runs = data, [], []
    splits = make_splits(bars, **sizes)
    search = {name: options.pop(name) for name in SEARCH if name in options}
    lead = {"warm_up": warm_up} if warm_up else {}
    with progress_bar(len(splits), progress) as bar:
        for split in splits:
            found = optimise(strategy, space, split.train(bars), progress=False, **search, **options)
            with trials.paused():  # a test of what was chosen is no further choice
                run = run_point(strategy, split.test(bars, warm_up), {**options, **lead}, found.best, None)
            row = {"test_from": split.test_from, "test_until": split.test_until, **found.best}
            rows.append(row | {"trained": float(found.scores[~pd.isna(found.scores)].max()), "pbo": found.pbo})
            rows[-1] |= run.measures()
            runs.append(run)
            bar.update(1)
    return WalkForward(pd.DataFrame(rows).rename_axis("split"), runs)


SEARCH = ("maximise", "constraints", "method", "points", "seed", "workers", "client")
"""Options of `optimise` that a test run does not take."""
