"""Agreement with backtesting.py on its own example data and strategy.

Differences by design, none of which matter in these runs: here fees are rounded up to 1e-6 each, prices to ticks, a
flip is one order, funding exists (off here), and margin is the venue's.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit.research.analysis.results import Results
from toolkit.research.backtesting.driver import backtest
from toolkit.research.context import Context
from toolkit.research.indicators import SMA
from toolkit.research.market_data import Bar
from toolkit.research.strategy import Strategy


class SmaCross(Strategy):
    """The example strategy of backtesting.py: long above, short below, changed when the averages cross."""

    fast, slow, size = 10, 20, "10"

    def on_start(self, ctx: Context) -> None:
        self.short, self.long = SMA(self.fast), SMA(self.slow)
        self.before = (float("nan"), float("nan"))

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        short, long = self.short.update(bar.close), self.long.update(bar.close)
        was_short, was_long = self.before
        self.before = (short, long)
        if was_short < was_long and short > long:
            ctx.target(bar.symbol, self.size)
        elif was_short > was_long and short < long:
            ctx.target(bar.symbol, f"-{self.size}")


def theirs(data: pd.DataFrame, size: int, cash: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return equity and trades of backtesting.py for the same strategy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from backtesting import Backtest
        from backtesting import Strategy as Theirs
        from backtesting.lib import crossover
        from backtesting.test import SMA as AVERAGE

        class Cross(Theirs):
            def init(self) -> None:
                self.short = self.I(AVERAGE, self.data.Close, SmaCross.fast)
                self.long = self.I(AVERAGE, self.data.Close, SmaCross.slow)

            def next(self) -> None:
                if crossover(self.short, self.long):
                    self.position.close()
                    self.buy(size=size)
                elif crossover(self.long, self.short):
                    self.position.close()
                    self.sell(size=size)

        run = Backtest(data, Cross, cash=cash, commission=0.0006, margin=0.1, finalize_trades=False)
        stats: Any = run.run()
    return stats["_equity_curve"], stats["_trades"]


@pytest.mark.parametrize(("name", "size", "fields"), [
    ("GOOG", 10, {"tick_size": "0.01", "step_size": "1"}),
    ("EURUSD", 10_000, {"tick_size": "0.00001", "step_size": "1"}),
])  # fmt: skip
def test_equity_and_trades_agree_on_their_example_data(name: str, size: int, fields: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from backtesting import test as examples
    data = getattr(examples, name)
    cash = 100_000.0
    equity, trades = theirs(data, size, cash)
    ours: Results = backtest(
        SmaCross(size=str(size)),
        {name: data},
        capital=int(cash),
        products={name: fields},
        fees=("0.0006", "0.0006"),
        funding=None,
    )
    grid = float(fields["tick_size"])
    rounding = np.abs(data[["Open", "Close"]] - (data[["Open", "Close"]] / grid).round() * grid).to_numpy().max()
    fills = ours.fills
    assert len(fills) == len(trades) + (ours.positions[name].iloc[-1] != 0)
    assert len(fills) > 80
    np.testing.assert_allclose(fills["price"].to_numpy()[: len(trades)], trades["EntryPrice"], atol=rounding + 1e-9)
    assert (fills["time"].dt.tz_localize(None).to_numpy()[: len(trades)] == trades["EntryTime"].to_numpy()).all()
    tolerance = 1e-6 * len(fills) + 2 * size * rounding * (len(fills) + 1) + 1e-6
    np.testing.assert_allclose(ours.equity["equity"].to_numpy()[1:], equity["Equity"], rtol=0, atol=tolerance)
    gross = ours.round_trips["gross"].sum()
    assert gross - ours.round_trips["fees"].sum() == pytest.approx(trades["PnL"].sum(), abs=tolerance)
