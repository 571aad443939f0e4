"""Bars and strategies that several research tests use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from toolkit.research.context import Context
from toolkit.research.market_data import Bar
from toolkit.research.strategy import Strategy


def bars(*rows: tuple[float, float, float, float], start: str = "2026-01-01 02:00", every: str = "h") -> pd.DataFrame:
    """Return bars from (open, high, low, close)."""
    index = pd.date_range(start, periods=len(rows), freq=every, tz="UTC")
    return pd.DataFrame(rows, columns=["open", "high", "low", "close"], index=index, dtype="float64")


def flat(price: float, count: int = 1) -> list[tuple[float, float, float, float]]:
    """Return bars in which nothing moves."""
    return [(price, price, price, price)] * count


def walk(seed: int, rows: int, every: str = "h", wild: float = 0.01, start: float = 60_000.0) -> pd.DataFrame:
    """Return a random walk on a grid of 0.1, with jumps between bars."""
    rng = np.random.default_rng(seed)
    close = start * np.exp(np.cumsum(rng.normal(0, wild, rows)))
    opened = np.concatenate([[start], close[:-1]]) * np.exp(rng.normal(0, wild / 4, rows))
    high = np.maximum(opened, close) * np.exp(np.abs(rng.normal(0, wild / 2, rows)))
    low = np.minimum(opened, close) * np.exp(-np.abs(rng.normal(0, wild / 2, rows)))
    columns = {"open": opened, "high": high, "low": low, "close": close}
    index = pd.date_range("2026-01-01", periods=rows, freq=every, tz="UTC")
    frame = pd.DataFrame(columns, index=index).round(1)
    return frame.assign(volume=rng.integers(1, 50, rows).astype("float64"))


class Scripted(Strategy):
    """Does at each bar number what a mapping says: a function of ctx."""

    def __init__(self, script: dict[int, Any]) -> None:
        self.script = script
        self.count = 0
        self.seen: list[Any] = []

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        """Run the step of this bar."""
        step = self.script.get(self.count)
        self.count += 1
        if step is not None:
            self.seen.append(step(ctx))


class Wandering(Strategy):
    """Trades on nothing in particular, every seventh bar."""

    every = 7

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        """Go somewhere else."""
        count = ctx.bars(bar.symbol).length
        if count % self.every == 0:
            ctx.target(bar.symbol, ["0.05", "-0.08", "0"][count // self.every % 3])
