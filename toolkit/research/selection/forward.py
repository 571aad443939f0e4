"""Walk-forward: optimise on each training part, trade what follows it, and judge only that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd

from ...errors import InputError
from ...guards import no_keys
from ...interchange import to_pandas
from ...numerals import span_ns
from ..analysis.history import History
from ..analysis.luck import trials
from ..analysis.report_text import MEASURES, card
from ..analysis.results import FILLS, FRAMES, Results, frame
from ..data.bars import row_times
from ..data.event_files import holds_events
from ..data.tables.shapes import time_column
from ..market_data import time_index
from .optimising import optimise
from .points import is_strategy, run_point
from .sweeps import progress_bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class WalkForward:
    """The out-of-sample results of a walk-forward run.

    Parameters
    ----------
    frame : DataFrame
        One row per split: test_from, test_until (UTC), the chosen parameters, and the measures of the test. `trained`
        is the score on the training part, `pbo` that of the training.
    runs : list of Results
        Results of each test.
    """

    frame: pd.DataFrame
    runs: list[Results] = field(repr=False)

    @property
    def equity(self) -> pd.Series[float]:
        """The tests one after another, each with the equity that the last one ended with (USDC, UTC index)."""
        level, parts = float(self.runs[0].equity["equity"].iloc[0]), []
        for run in self.runs:
            # Each test starts with the same capital. Chained, they show what one account would have become.
            curve = run.equity["equity"]
            parts.append(curve / curve.iloc[0] * level)
            level = float(parts[-1].iloc[-1])
        joined = pd.concat(parts)
        # One test ends at the instant at which the next begins. Its last value and the first of the next are the same.
        once: pd.Series[float] = joined[~joined.index.duplicated(keep="last")]
        return once

    @cached_property
    def results(self) -> Results:
        """The tests as one run, as `equity` joins them: amounts grow with the equity before each test.

        A position that a test leaves open is closed at its last mark without costs, because the next test starts flat.
        """
        level = float(self.runs[0].equity["equity"].iloc[0])
        parts: dict[str, list[pd.DataFrame]] = {name: [] for name in FRAMES}
        for run in self.runs:
            scale = level / float(run.equity["equity"].iloc[0])
            level = float(run.equity["equity"].iloc[-1]) * scale
            for name, frames in parts.items():
                table = getattr(run, name)
                if name == "fills" and run is not self.runs[-1]:
                    table = pd.concat([each for each in (table, _closing(run)) if len(each)] or [table])
                columns = [column for column in SCALED.get(name, table.columns) if column in table]
                frames.append(table.assign(**{column: table[column] * scale for column in columns}))
        joined = dict[str, Any]()
        for name, frames in parts.items():
            table = pd.concat([each for each in frames if len(each)] or frames[:1])
            by_time = isinstance(table.index, pd.DatetimeIndex)
            joined[name] = table[~table.index.duplicated(keep="last")] if by_time else table.reset_index(drop=True)
        first = self.runs[0]
        settings = {**first.settings, "mode": "walk-forward", "tests": len(self.runs)}
        doubts = dict[str, list[Any]]()
        for run in self.runs:
            for symbol, spans in run.settings.get("not_proven", {}).items():
                doubts.setdefault(symbol, []).extend(span for span in spans if span not in doubts.get(symbol, ()))
        settings |= {"not_proven": doubts} if doubts else {}
        return Results(first.name, **joined, settings=settings)

    def metrics(self) -> pd.Series[Any]:
        """Return the measures of the joined tests, as `Results.metrics`.

        Returns
        -------
        Series
            Measures by name.
        """
        return self.results.metrics()

    def luck(self, *, trials: int = 1, confidence: float = 0.9, seed: int = 7) -> pd.Series[Any]:
        """Return how likely the result of the joined tests is luck, as `Results.luck`.

        Parameters
        ----------
        trials : int, optional
            Number of walk-forward runs that this one is the best of (default: 1). The points of the training parts do
            not count, because none was chosen by its test.
        confidence : float, optional
            Share of the intervals, from 0 to 1 (default: 0.9).
        seed : int, optional
            Seed of the bootstrap (default: 7).

        Returns
        -------
        Series
            The values of `Results.luck`.
        """
        return self.results.luck(trials=trials, confidence=confidence, seed=seed)

    def audit(self) -> pd.DataFrame:
        """Return what may be wrong with the tests: `Results.audit` of each, as one table.

        Returns
        -------
        DataFrame
            One row a check, with the index `check`:

            - found: boolean, whether it was found in any test, NA if it is not known of one and found in none
            - detail: str, in how many tests, and what was found in the first
        """
        tables = [run.audit() for run in self.runs]
        rows: list[tuple[str, bool | None, str]] = []
        for name in tables[0].index:
            each: list[tuple[Any, str]] = [(table["found"][name], str(table["detail"][name])) for table in tables]
            bad = [text for found, text in each if not pd.isna(found) and found]
            unknown = [text for found, text in each if pd.isna(found)]
            chosen = bad or unknown
            detail = f"in {len(chosen)} of {len(each)} tests, the first: {chosen[0]}" if chosen else each[0][1]
            rows.append((name, bool(bad) if bad or not unknown else None, detail))
        starts, ends = self.frame["test_from"], self.frame["test_until"]
        twice = bool((starts.iloc[1:].to_numpy() < ends.iloc[:-1].to_numpy()).any())
        rows.append(("overlap", twice, "rows are tested twice" if twice else "no row is tested twice"))
        table = pd.DataFrame(rows, columns=["check", "found", "detail"]).astype({"found": "boolean"}).set_index("check")
        self.results.__dict__["audited"] = table
        return table

    def report(self, path: str | Path | None = None, *, dark: bool = False) -> Figure | Path:
        """Write the report of the joined tests and return its path, or return it as a picture. See `Results.report`.

        Parameters
        ----------
        path : str or Path, optional
            Where to write (default: none, a matplotlib Figure is returned).
        dark : bool, optional
            True for dark colours of the picture (default: False).

        Returns
        -------
        Path or matplotlib Figure
            The path that was written, or the picture.

        Raises
        ------
        MissingPackage
            Without Plotly, for a page.
        """
        return self.results.report(path, dark=dark) if path is not None else self.results.report(dark=dark)

    def __repr__(self) -> str:
        return f"WalkForward({len(self.runs)} tests, {self.results!r})"

    def _repr_html_(self) -> str:
        names = [*self.runs[0].params, "test_from", "test_until", *SHOWN]
        table = self.frame[[name for name in names if name in self.frame]].rename_axis(None)
        for name in [*SHOWN, "test_from", "test_until"]:
            table[name] = table[name].map(MEASURES[name][1] if name in MEASURES else "{:%Y-%m-%d}".format)
        plain = table.rename(
            columns=lambda name: MEASURES[name][0] if name in MEASURES else str(name).replace("_", " ")
        )
        return card(self.results, f"{len(self.runs)} tests", self.luck()) + plain.to_html(border=0)


SHOWN = ("total_return", "sharpe", "max_drawdown", "fills")
"""Measures of each test that the card shows."""
SCALED = {
    "equity": ["equity", "balance", "unrealized"],
    "fills": ["quantity", "value", "fee", "realized_pnl"],
    "orders": ["quantity", "filled"],
    "funding": ["position", "payment"],
    "transfers": ["amount"],
    "marks": [],
    "events": [],
    "records": [],
}
"""Columns of each frame that are amounts. Of other frames all are."""


def _closing(run: Results) -> pd.DataFrame:
    """Return the fills that close what a test leaves open, at its last marks."""
    rows: list[tuple[Any, ...]] = []
    for symbol, size in run.positions.iloc[-1].items() if len(run.positions) else ():
        price, side = run.marks[symbol].iloc[-1], "SELL" if size > 0 else "BUY"
        end = run.positions.index[-1].value // 1_000_000
        rows += [(end, symbol, side, price, abs(size), abs(size) * price, 0, 0, "", "END", 0)] if size else []
    return frame(rows, FILLS)


@overload
def walk_forward(
    data: object, *, train: Size, test: Size, step: Size | None = None, gap: Size = 0, anchored: bool = False
) -> list[Split]: ...
@overload
def walk_forward(
    data: Callable[..., Any], space: Mapping[str, Any], bars: object, *, train: Size, test: Size, **options: Any
) -> WalkForward: ...
@no_keys
def walk_forward(
    data: Any,  # data, or a strategy
    space: Mapping[str, Any] | None = None,
    bars: object = None,
    *,
    train: Size,
    test: Size,
    step: Size | None = None,
    gap: Size = 0,
    anchored: bool = False,
    warm_up: int | None = None,
    progress: bool = True,
    **options: Any,
) -> list[Split] | WalkForward:
    """Return the splits of data, or run a strategy through them: `walk_forward(Strategy, space, data, …)`.

    Splits are oldest first. An incomplete last test part is left out. No test row is ever in or before its own training
    part.

    Parameters
    ----------
    data : DataFrame, DatetimeIndex, mapping or Strategy class
        Bars (as `backtest` takes them) or a DatetimeIndex to split. With `space`, a strategy as `optimise` takes it.
    space : mapping of str to values, optional
        Parameters as in `optimise` (default: none, the splits are returned). Each training part is optimised on, and
        the best parameters run on the test part after it.
    bars : DataFrame or mapping, optional
        Bars of the strategy (default: none).
    train : int, str or Timedelta
        Length of the training part: rows, or a span such as "30D".
    test : int, str or Timedelta
        Length of the test part: rows, or a span.
    step : int, str or Timedelta, optional
        Distance between the beginnings of two splits: rows, or a span (default: the length of the test, so that no row
        is tested twice).
    gap : int, str or Timedelta, optional
        Rows or span between a training part and its test, against labels that look ahead (default: 0).
    anchored : bool, optional
        True keeps the first row in every training part, which then grows (default: False).
    warm_up : int, optional
        Number of bars before each test that a Strategy receives without trading, for its indicators. By default these
        are the bars of the training part and the gap. A function and events have none.
    progress : bool, optional
        True shows a progress bar (default: True).
    **options : object
        Further options of `optimise` and `backtest`.

    Returns
    -------
    list of Split, or WalkForward
        The splits, with a strategy the results of its tests.

    Raises
    ------
    InputError
        When no split fits.

    Examples
    --------
    >>> index = pd.date_range("2026-01-01", periods=10, freq="D", tz="UTC")
    >>> [(s.train_start, s.train_end, s.test_start, s.test_end) for s in walk_forward(index, train=4, test=2)]
    [(0, 4, 4, 6), (2, 6, 6, 8), (4, 8, 8, 10)]
    """
    sizes: dict[str, Any] = {"train": train, "test": test, "step": step, "gap": gap, "anchored": anchored}
    if space is None:
        return make_splits(data, **sizes)
    strategy, rows, runs = data, [], []
    splits = make_splits(bars, **sizes)
    # Only the search understands these options, so the test run must not receive them.
    search = {name: options.pop(name) for name in SEARCH if name in options}
    takes = is_strategy(strategy) and not holds_events(next(iter(bars.values())) if isinstance(bars, Mapping) else bars)
    with progress_bar(len(splits), progress) as bar:
        for split in splits:
            # Only the training rows are handed over, so that no choice can depend on the test.
            found = optimise(strategy, space, split.train(bars), progress=False, **search, **options)
            before = (split.test_start - split.train_start if takes else 0) if warm_up is None else warm_up
            lead = {"warm_up": before} if before else {}
            with trials.paused():  # a test of what was chosen is no further choice
                run = run_point(strategy, split.test(bars, before), {**options, **lead}, found.best, None)
            row = {"test_from": split.test_from, "test_until": split.test_until, **found.best}
            rows.append(row | {"trained": float(found.scores[~pd.isna(found.scores)].max()), "pbo": found.pbo})
            rows[-1] |= run.measures()
            runs.append(run)
            bar.update(1)
    return WalkForward(pd.DataFrame(rows).rename_axis("split"), runs)


SEARCH = ("maximise", "constraints", "method", "points", "seed", "workers", "client")
"""Options of `optimise` that a test run does not take."""

Size = int | str | pd.Timedelta
"""Rows (int) or a length of time ("30D", Timedelta)."""


@dataclass(frozen=True, slots=True)
class Split:
    """One split: train rows [train_start, train_end), test rows [test_start, test_end), as positions and as times.

    Attributes
    ----------
    number : int
        Number of the split, from 0.
    train_start : int
        First row of the training part.
    train_end : int
        Row after the training part.
    test_start : int
        First row of the test part.
    test_end : int
        Row after the test part.
    train_from : Timestamp
        Time of the first training row (UTC).
    train_until : Timestamp
        Time before which the training part ends (UTC).
    test_from : Timestamp
        Time of the first test row (UTC).
    test_until : Timestamp
        Time before which the test part ends (UTC).
    """

    number: int
    train_start: int
    train_end: int
    test_start: int
    test_end: int
    train_from: pd.Timestamp
    train_until: pd.Timestamp
    test_from: pd.Timestamp
    test_until: pd.Timestamp

    def train(self, data: object) -> Any:
        """Return the rows of the training part.

        Parameters
        ----------
        data : DataFrame, Series or mapping
            Frame by time, or frames by symbol.

        Returns
        -------
        DataFrame, Series or dict
            The rows, in the shape of `data`.
        """
        return _between(to_pandas(data), self.train_from, self.train_until)

    def test(self, data: object, warm_up: int = 0) -> Any:
        """Return the rows of the test part.

        Parameters
        ----------
        data : DataFrame, Series or mapping
            Frame by time, or frames by symbol.
        warm_up : int, optional
            Number of rows that precede them for indicators, not for evaluation (default: 0).

        Returns
        -------
        DataFrame, Series or dict
            The rows, in the shape of `data`.
        """
        return _between(to_pandas(data), self.test_from, self.test_until, warm_up)


def make_splits(
    data: object, *, train: Size, test: Size, step: Size | None = None, gap: Size = 0, anchored: bool = False
) -> list[Split]:
    """Return the splits of data, oldest first. See `walk_forward`.

    Parameters
    ----------
    data : DataFrame, Series, DatetimeIndex or mapping
        Times to split.
    train : int, str or Timedelta
        Length of the training part: rows, or a span such as "30D".
    test : int, str or Timedelta
        Length of the test part: rows, or a span.
    step : int, str or Timedelta, optional
        Distance between the beginnings of two splits: rows, or a span (default: the length of the test, so that no row
        is tested twice).
    gap : int, str or Timedelta, optional
        Rows or span between a training part and its test, against labels that look ahead (default: 0).
    anchored : bool, optional
        True keeps the first row in every training part, which then grows (default: False).

    Raises
    ------
    InputError
        When none fits.
    """
    index = _index(to_pandas(data))
    train, test, gap = _size(train, "train"), _size(test, "test"), _size(gap, "gap")
    stride = test if step is None else _size(step, "step")
    move = _advance(index)
    end = len(index)
    # The last part ends after the last row, which has no row behind it to take the time from.
    edges = index.append(index[-1:] + pd.Timedelta(1, unit="ms"))
    splits: list[Split] = []
    begin = 0
    while True:
        train_end = move(begin, train, "train")
        # Labels that look ahead of their row would carry the test into the training. The gap keeps them apart.
        test_start = move(train_end, gap, "gap") if _positive(gap) else train_end
        test_end = move(test_start, test, "test") if test_start is not None else None
        if train_end is None or test_start is None or test_end is None or test_start >= end:
            break
        # Anchored or not, the tests are the same. Only the training parts begin elsewhere.
        rows = (0 if anchored else begin, train_end, test_start, test_end)
        splits.append(Split(len(splits), *rows, *(edges[row] for row in rows)))
        following = move(begin, stride, "step")
        if following is None or following >= end:
            break
        begin = following
    if not splits:
        text = f"{end} rows do not hold one training part of {train} and one test part of {test}"
        raise InputError(text, field="train", rule="fits", value=train)
    return splits


def _index(data: object) -> pd.DatetimeIndex:
    """Return the times of `data`, each once."""
    if isinstance(data, Mapping):
        union = pd.DatetimeIndex([])
        for number, part in enumerate(data.values()):
            union = _index(part) if number == 0 else union.union(_index(part))
        return union
    index = _row_index(data)
    if not index.is_monotonic_increasing:
        if not any(str(name).lower() == "symbol" for name in getattr(data, "columns", ())):
            raise InputError("the times are not increasing. Sort the rows first", field="data", rule="increasing times")
        # Long tables have the symbols one after another, so their times may run back where a symbol begins.
        index = index.sort_values()
    return index.unique()


def _row_index(data: object) -> pd.DatetimeIndex:
    """Return the time of each row: that of a time column as in `read_bars`, else of the index."""
    if isinstance(data, pd.DataFrame):
        if not isinstance(data.index, pd.DatetimeIndex) or time_column(data) is not None:
            return time_index(row_times("data", data))
    index = data if isinstance(data, pd.Index) else getattr(data, "index", None)
    if not isinstance(index, pd.DatetimeIndex):
        text = "splits need times: a DatetimeIndex, or a frame with a column 'time'"
        raise InputError(text, field="data", rule="times")
    return index


def _size(size: object, name: str) -> int | pd.Timedelta:
    """Return rows as int, anything else as a length of time."""
    if isinstance(size, Integral):
        return int(size)
    try:
        return pd.Timedelta(span_ns(size, name))
    except InputError:
        text = f"{name} is {size!r}. Give rows (500) or a length of time ('30D')"
        raise InputError(text, field=name, value=str(size)) from None


def _positive(size: int | pd.Timedelta) -> bool:
    return size > 0 if isinstance(size, int) else size > pd.Timedelta(0)


def _advance(index: pd.DatetimeIndex) -> Callable[[int | None, int | pd.Timedelta, str], int | None]:
    """Return a function (position, size, name) → position after it, or None when the data ends before."""
    # The last bar lasts one spacing. A span that ends with it is complete.
    spacing = index.to_series().diff().median() if len(index) > 1 else pd.Timedelta(0)
    end = index[-1] + spacing if len(index) else None

    def move(start: int | None, size: int | pd.Timedelta, name: str) -> int | None:
        if not _positive(size):
            raise InputError(f"{name} is {size}, but must be positive", field=name, rule="positive", value=size)
        if start is None or start >= len(index):
            return None
        if isinstance(size, int):
            return start + size if start + size <= len(index) else None
        until = index[start] + size
        return int(index.searchsorted(until, side="left")) if end is not None and until <= end else None

    return move


def _between(data: Any, start: pd.Timestamp, until: pd.Timestamp, warm_up: int = 0) -> Any:
    if isinstance(data, Mapping):
        parts = {name: _between(part, start, until, warm_up) for name, part in data.items()}
        return History(parts, data.funding, data.products) if isinstance(data, History) else parts
    times, rows = _index(data), _row_index(data)
    # Rows before the test, also from the training part: they fill windows and are not evaluated.
    first = max(int(times.searchsorted(start, side="left")) - warm_up, 0)
    chosen = (rows >= times[first]) & (rows < until) if first < len(times) else np.zeros(len(rows), dtype=bool)
    return data[chosen]
