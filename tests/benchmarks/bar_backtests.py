"""How fast strategies run: an event-driven backtest against backtesting.py, sweeps against vectorbt."""

from __future__ import annotations

import importlib.util
import itertools
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from toolkit.research import Strategy, backtest, sweep, vectorised, vectorised_many
from toolkit.research.indicators import SMA, Cross

from . import Measurement, seconds

BARS = 45_031


def minute_bars(count: int = BARS, seed: int = 7) -> Any:
    """Return minute bars of a random walk, in the columns backtesting.py wants.

    Parameters
    ----------
    count : int, optional
        Number of bars (default: `BARS`).
    seed : int, optional
        Seed of the walk (default: 7).
    """
    rng = np.random.default_rng(seed)
    close = 60_000 * np.exp(np.cumsum(rng.normal(0, 0.0005, count)))
    opened = np.concatenate([[60_000.0], close[:-1]])
    columns = {
        "Open": opened,
        "High": np.maximum(opened, close) * (1 + np.abs(rng.normal(0, 0.0002, count))),
        "Low": np.minimum(opened, close) * (1 - np.abs(rng.normal(0, 0.0002, count))),
        "Close": close,
        "Volume": np.full(count, 100.0),
    }
    return pd.DataFrame(columns, index=pd.date_range("2026-01-01", periods=count, freq="min"))


class SmaCross(Strategy):
    """Long while the fast average is above the slow one, short while it is below."""

    fast, slow = 10, 20

    def on_start(self, ctx: Any) -> None:
        """Get the averages ready.

        Parameters
        ----------
        ctx : Context
            Context of the run.
        """
        self.short, self.long, self.cross = SMA(self.fast), SMA(self.slow), Cross()

    def on_bar(self, ctx: Any, bar: Any) -> None:
        """Target one side of the market.

        Parameters
        ----------
        ctx : Context
            Context of the run.
        bar : Bar
            Bar that has just closed.
        """
        way = self.cross.update(self.short.update(bar.close), self.long.update(bar.close))
        if way:
            ctx.target(bar.symbol, way)


def ours(data: Any, fast: int, slow: int) -> Any:
    """Backtest an SMA cross on the venue's core: fees, funding, margin.

    Parameters
    ----------
    data : object
        Minute bars, see `minute_bars`.
    fast : int
        Length of the fast average, in bars.
    slow : int
        Length of the slow average, in bars.
    """
    return backtest(SmaCross(fast=fast, slow=slow), {"BTCUSDC": data}, capital=1_000_000)


def theirs(data: Any, fast: int, slow: int) -> Any:
    """Do the same with backtesting.py: fees, margin.

    Parameters
    ----------
    data : object
        Minute bars, see `minute_bars`.
    fast : int
        Length of the fast average, in bars.
    slow : int
        Length of the slow average, in bars.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from backtesting import Backtest, backtesting
        from backtesting import Strategy as TheirStrategy
        from backtesting.lib import crossover
        from backtesting.test import SMA as MovingAverage

        backtesting._tqdm = lambda items, **_: items  # without its progress bar

        class TheirCross(TheirStrategy):  # type: ignore[misc]
            def init(self) -> None:
                self.short = self.I(MovingAverage, self.data.Close, fast)
                self.long = self.I(MovingAverage, self.data.Close, slow)

            def next(self) -> None:
                if crossover(self.short, self.long):
                    self.position.close()
                    self.buy(size=1)
                elif crossover(self.long, self.short):
                    self.position.close()
                    self.sell(size=1)

        settings = {"cash": 1_000_000, "commission": 0.0006, "margin": 0.1, "finalize_trades": True}
        return Backtest(data, TheirCross, **settings).run()


def signal(data: Any, fast: int, slow: int) -> Any:
    """Do the same with whole arrays.

    Parameters
    ----------
    data : object
        Minute bars, see `minute_bars`.
    fast : int
        Length of the fast average, in bars.
    slow : int
        Length of the slow average, in bars.
    """
    above = np.sign(data["Close"].rolling(fast).mean() - data["Close"].rolling(slow).mean())
    return vectorised({"BTCUSDC": data}, above.to_numpy(), capital=1_000_000, funding=0.00005)


GRID = {"fast": list(range(5, 15)), "slow": [30, 60]}
"""The points of the sweeps that are measured: 20 SMA crosses."""


def vectorbt_columns(data: Any, fast: Sequence[int], slow: Sequence[int]) -> Any:
    """Run SMA crosses as columns of one portfolio of vectorbt, with fees. Return its table of all measures.

    Parameters
    ----------
    data : object
        Minute bars, see `minute_bars`.
    fast : sequence of int
        Lengths of the fast averages, in bars.
    slow : sequence of int
        Lengths of the slow averages, in bars, one for each fast one.
    """
    import vectorbt

    short, long = vectorbt.MA.run(data["Close"], list(fast)), vectorbt.MA.run(data["Close"], list(slow))
    entries, exits = short.ma_crossed_above(long), short.ma_crossed_below(long)
    held = vectorbt.Portfolio.from_signals(data["Close"], entries, exits, fees=0.0006, freq="1min", init_cash=1_000_000)
    return held.stats(agg_func=None)


def _sweep_row(data: Any, task: Any, what: str, target: float | None) -> Measurement:
    """Measure one point of a sweep with its measures, in this process, and next to it a column of vectorbt."""
    given = data if task is signal else {"BTCUSDC": data}
    options: dict[str, Any] = {} if task is signal else {"capital": 1_000_000}
    name = f"a point of a sweep with its measures, {len(data):,} bars, {what}"
    points = list(itertools.product(*GRID.values()))

    def work() -> Any:
        return sweep(task, GRID, given, workers=0, progress=False, **options)

    peer, ratio = "", None
    if importlib.util.find_spec("vectorbt") is None:
        [spent] = seconds(work, repeat=3, clock=time.process_time)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vectorbt_columns(data.iloc[:100], *zip(*points, strict=True))  # compiles
            works = work, lambda: vectorbt_columns(data, *zip(*points, strict=True))
            spent, rival = seconds(*works, repeat=3, clock=time.process_time)
        peer, ratio = f"vectorbt {rival / len(points) * 1e3:.2f} ms a column", rival / spent
    note = "mean of 20 SMA crosses"
    return Measurement(name, spent / len(points) * 1e3, "ms", target, "lower", peer=peer, ratio=ratio, note=note)


def _many_columns(data: Any) -> Measurement:
    """Measure three measures of 2,500 columns, and next to it a portfolio of vectorbt that holds the same targets."""
    close, windows = data["Close"], itertools.product(range(5, 55), range(60, 110))
    means = {window: close.rolling(window).mean().to_numpy() for window in range(5, 110)}
    targets = {(fast, slow): np.sign(means[fast] - means[slow]) for fast, slow in windows}
    held = np.nan_to_num(np.column_stack(list(targets.values())))

    def mine() -> Any:
        return vectorised_many({"BTCUSDC": data}, targets, measures=("total_return", "sharpe", "max_drawdown"))

    def rival() -> Any:
        import vectorbt

        options = {"size_type": "targetamount", "fees": 0.0006, "freq": "1min", "init_cash": 10_000}
        run = vectorbt.Portfolio.from_orders(close, size=held, **options)
        return run.total_return(), run.sharpe_ratio(), run.max_drawdown()

    name = f"three measures of {len(targets):,} columns of {len(data):,} bars"
    if importlib.util.find_spec("vectorbt") is None:
        return Measurement(name, seconds(mine, repeat=3)[0], "s", better="lower")
    rival()  # compiles
    spent, other = seconds(mine, rival, repeat=3, clock=time.process_time)
    return Measurement(name, spent, "s", 1.0, "higher", "ratio", "vectorbt", other / spent)


def _cross(data: Any, fast: int, slow: int, target: float) -> Measurement:
    note = f"{BARS:,} minute bars, {len(ours(data, fast, slow).fills):,} orders, with fees, funding, margin"
    name = f"event-driven backtest, SMA {fast}/{slow}"
    if importlib.util.find_spec("backtesting") is None:
        return Measurement(name, BARS / seconds(lambda: ours(data, fast, slow), repeat=3)[0], "bars/s", note=note)
    works = (lambda: ours(data, fast, slow), lambda: theirs(data, fast, slow))
    mine, peer = seconds(*works, repeat=3, clock=time.process_time)
    return Measurement(name, BARS / mine, "bars/s", target, "higher", "ratio", "backtesting.py", peer / mine, note=note)


class Ladder(Strategy):
    """Places many orders at once, far below the price."""

    orders = 1_000

    def on_start(self, ctx: Any) -> None:
        """Note that nothing is placed.

        Parameters
        ----------
        ctx : Context
            Context of the run.
        """
        self.placed = False

    def on_bar(self, ctx: Any, bar: Any) -> None:
        """Place them at the first bar.

        Parameters
        ----------
        ctx : Context
            Context of the run.
        bar : Bar
            The bar that has closed.
        """
        for number in range(0 if self.placed else self.orders):
            ctx.buy(bar.symbol, "0.001", 40_000 + number % 2_000)
        self.placed = True


def _growth(name: str, sizes: Sequence[int], run: Callable[[int], object], target: float) -> Measurement:
    """Measure with which power of a size the time of a run grows. In proportion to it is 1."""
    spent = seconds(*(partial(run, size) for size in sizes), repeat=3, clock=time.process_time)
    power = float(np.polyfit(np.log(sizes), np.log(spent), 1)[0])
    note = ", ".join(f"{size}: {each:.2f} s" for size, each in zip(sizes, spent, strict=True))
    return Measurement(name, power, "", target, "lower", note=note)


def _portfolio(symbols: int) -> Any:
    data = {f"S{at}USDC": minute_bars(500, at) for at in range(symbols)}
    return backtest(SmaCross, data, capital=100_000 * symbols, funding=None)


def _resting(orders: int) -> Any:
    return backtest(type("Placing", (Ladder,), {"orders": orders}), {"BTCUSDC": minute_bars(100)}, capital=10**6)


def measure_research() -> list[Measurement]:
    """Measure backtests and sweeps. Without backtesting.py and vectorbt there are no peers."""
    data = minute_bars()
    pace = BARS / seconds(lambda: signal(data, 50, 200), repeat=3, clock=time.process_time)[0]
    return [
        _cross(data, 50, 200, 4.0),
        _cross(data, 5, 30, 2.0),
        Measurement("vectorised run, SMA 50/200", pace, "bars/s", note="the same signal as arrays"),
        _sweep_row(data.iloc[:750], SmaCross, "event-driven", 2.0),
        _sweep_row(data.iloc[:750], signal, "arrays", 2.0),
        _sweep_row(data, signal, "arrays", None),
        _many_columns(data.iloc[:1000]),
        _growth("growth with the symbols of a portfolio, 500 bars", (10, 30, 60), _portfolio, 1.1),
        _growth("growth with the orders that rest", (500, 1_000, 4_000), _resting, 1.1),
    ]
