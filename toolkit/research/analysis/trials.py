"""How many strategies were tried in this session: the best of many looks good without any skill."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pandas as pd


class Trials:
    """The runs of this process, each different one once, with their yearly Sharpe ratios where somebody measured them.

    `backtest`, `vectorised`, `sweep` and `optimise` count by themselves. `len(trials)` is their number,
    `trials.frame()` a table, and `trials.clear()` begins again, for a question that has nothing to do with the last.
    """

    def __init__(self) -> None:
        self._sharpes: dict[str, float] = {}
        # Points of a sweep may run in several threads at once, each of which pauses for itself.
        self._paused = ContextVar("paused", default=False)

    def add(self, key: str, sharpe: float = float("nan")) -> None:
        """Count a run; one with a key that is known counts once."""
        if self._paused.get():
            return
        if sharpe == sharpe or key not in self._sharpes:
            self._sharpes[key] = sharpe

    def measured(self, key: Callable[[], str], sharpe: float) -> None:
        """Keep the yearly Sharpe ratio of a run that was counted under what `key` returns."""
        if not self._paused.get() and sharpe == sharpe and (known := key()) in self._sharpes:
            self._sharpes[known] = sharpe

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing meanwhile: a sweep counts its points itself."""
        token = self._paused.set(True)
        try:
            yield
        finally:
            self._paused.reset(token)

    def variance(self) -> float:
        """Return the variance of the known yearly Sharpe ratios; 0 with fewer than two."""
        known = [sharpe for sharpe in self._sharpes.values() if abs(sharpe) < float("inf")]
        return statistics.variance(known) if len(known) > 1 else 0.0

    def frame(self) -> pd.DataFrame:
        """Return one row a trial, oldest first: key (str), sharpe (float64, yearly, NaN if never measured)."""
        return pd.DataFrame({"key": list(self._sharpes), "sharpe": list(self._sharpes.values())}).astype(
            {"key": "str", "sharpe": "float64"}
        )

    def clear(self) -> None:
        """Begin again at 0."""
        self._sharpes.clear()

    def __len__(self) -> int:
        return len(self._sharpes)

    def __repr__(self) -> str:
        return f"<{len(self)} trials in this session>"


trials = Trials()
"""The trials of this process."""
