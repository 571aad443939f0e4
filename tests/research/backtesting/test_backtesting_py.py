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

from tests.research.markets import Scripted, bars, flat
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


class Script:
    """What both do at a bar, by its number: theirs with `self` (9: the ATRs of its trailing stop), ours with `ctx`."""

    def __init__(self, data: pd.DataFrame) -> None:
        self.data = data

    def theirs(self, script: dict[int, Any]) -> pd.DataFrame:
        """Return the trades of backtesting.py."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from backtesting import Backtest
            from backtesting.lib import TrailingStrategy

            class Theirs(TrailingStrategy):
                def init(self) -> None:
                    super().init()
                    self.set_atr_periods(1)
                    self.set_trailing_sl(script.get(9, 1))

                def next(self) -> None:
                    if 9 in script:
                        super().next()
                    script.get(len(self.data) - 1, lambda self: None)(self)

            columns = {name: name.title() for name in self.data}
            naive = self.data.rename(columns=columns).tz_localize(None)
            found: pd.DataFrame = Backtest(naive, Theirs, cash=10_000, finalize_trades=True).run()["_trades"]
        return found

    def ours(self, script: dict[int, Any]) -> Results:
        """Return our run."""
        grid = {"X": {"tick_size": "0.01", "step_size": "1"}}
        return backtest(
            Scripted(script), {"X": self.data}, capital=10_000, products=grid, fees=("0", "0"), funding=None
        )


def test_an_entry_whose_stop_the_gap_has_passed_is_refused_here_and_a_trade_of_nothing_there() -> None:
    run = Script(bars(*flat(100, 3), *flat(110, 2)))
    (trade,) = run.theirs({2: lambda their: their.sell(size=10, sl=103)}).itertuples()
    assert (trade.EntryPrice, trade.ExitPrice, trade.PnL) == (110, 110, 0)
    ours = run.ours({2: lambda ctx: ctx.bracket("X", "-10", stop_loss="103")})
    assert ours.fills.empty
    assert "trigger price 103 is already reached" in ours.events["text"].iloc[0]


def test_a_close_and_a_stop_at_one_open_are_two_orders_here_unless_the_close_only_reduces() -> None:
    run = Script(bars(*flat(100, 5), *flat(105, 2)))
    (trade,) = run.theirs(
        {1: lambda their: their.sell(size=10, sl=103), 4: lambda their: their.position.close()}
    ).itertuples()
    assert (trade.EntryPrice, trade.ExitPrice, trade.PnL) == (100, 105, -50)
    enter = {1: lambda ctx: ctx.bracket("X", "-10", stop_loss="103")}
    twice = run.ours({**enter, 4: lambda ctx: ctx.target("X", 0)})
    assert twice.positions["X"].iloc[-1] == 10
    once = run.ours({**enter, 4: lambda ctx: ctx.close_position("X")})
    assert once.positions["X"].iloc[-1] == 0
    assert once.round_trips["gross"].tolist() == [-50]


def test_a_trailing_stop_follows_the_extreme_here_and_the_close_there() -> None:
    rows = [*[(100.0, 102.0, 98.0, 100.0)] * 3, (100.0, 110.0, 100.0, 104.0), (104.0, 104.0, 90.0, 90.0), *flat(90, 2)]
    run = Script(bars(*rows))
    ours = run.ours({1: lambda ctx: (ctx.buy("X", "10"), ctx.trailing_stop("X", 0.05))})
    assert ours.fills["price"].tolist() == [100, 104], "5 % below 110 is 104.50, and the close is beyond it"
    (trade,) = run.theirs({1: lambda their: their.buy(size=10), 9: 0.5}).itertuples()
    assert (trade.EntryPrice, trade.ExitPrice) == (100, 99), "half an ATR of 10 below the close of 104"
