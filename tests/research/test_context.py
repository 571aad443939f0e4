"""What a strategy sees and does through ctx, in backtests by hand-made bars and on the local venue."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import toolkit
from tests.research.markets import Scripted, bars, flat, walk
from toolkit.errors import InputError
from toolkit.research import Limits, backtest, live, paper
from toolkit.research.context import Context
from toolkit.research.indicators import SMA
from toolkit.research.market_data import Bar
from toolkit.research.strategy import Strategy

BTC = "BTCUSDC"


def run(script: dict[int, Any], data: pd.DataFrame, **options: Any) -> Any:
    """Backtest a script on BTCUSDC without funding (unless asked); return (its return values, results)."""
    options.setdefault("funding", None)
    seen: list[Any] = []
    noted = {at: (lambda ctx, step=step: seen.append(step(ctx))) for at, step in script.items()}
    return seen, backtest(Scripted(noted), {BTC: data}, **options)


def test_funding_fees_margin_and_liquidation_price_by_hand() -> None:
    """0.05 at 60,000 with 98.2 left of 100: liquidated at 58,770.63, as in the test of a liquidation by hand."""
    data = bars(*flat(60_000, 5), start="2026-01-01 01:00", every="15min")
    script = {
        0: lambda ctx: (ctx.funding(BTC), ctx.fees, ctx.margin_ratio, ctx.liquidation_price(BTC)),
        1: lambda ctx: ctx.buy(BTC, "0.05", slippage="0.005"),
        3: lambda ctx: (ctx.funding(BTC), ctx.fees, ctx.margin_ratio, ctx.liquidation_price(BTC)),
    }
    seen, _ = run(script, data, capital=100, leverage=40, funding=0.0002)
    before, fees, ratio, price = seen[0]
    assert (before.rate, before.predicted, before.next_time) == (0, 0.0002, 1_767_225_600_000 + 4 * 3_600_000)
    assert (fees, ratio) == (0, 0)
    assert math.isnan(price)
    _, fees, ratio, price = seen[2]
    assert fees == pytest.approx(1.8)
    assert ratio == pytest.approx(0.0125 * 3_000 / 98.2)
    assert price == pytest.approx(58_770.63, abs=0.01)


def test_of_a_series_of_rates_only_the_past_is_shown() -> None:
    rates = pd.Series([0.0001, 0.0003], pd.to_datetime(["2026-01-01 04:00", "2026-01-01 08:00"], utc=True))
    look = {at: (lambda ctx: ctx.funding(BTC)) for at in (0, 4, 8)}
    seen, _ = run(look, bars(*flat(60_000, 12), start="2026-01-01 00:00"), funding=rates)
    assert [(item.rate, item.predicted) for item in seen] == [(0, 0), (0.0001, 0.0001), (0.0003, 0.0003)]
    assert [pd.Timestamp(item.next_time, unit="ms").hour for item in seen[:2]] == [4, 8]
    assert seen[2].next_time == 0


def test_shares_of_equity_have_a_tolerance_and_are_never_exceeded() -> None:
    data = bars(*flat(50_000, 2), *flat(52_000, 2), *flat(60_000, 3))
    script = {
        0: lambda ctx: ctx.target_share(BTC, 0.5),
        2: lambda ctx: ctx.target_share(BTC, 0.5, tolerance=0.05),
        4: lambda ctx: ctx.target_share(BTC, -0.25, tolerance=0.05),
    }
    seen, result = run(script, data, fees=("0", "0"))
    assert result.fills["quantity"].tolist() == pytest.approx([0.1, 0.1 + 0.045])
    assert seen[1] is None, "0.1 × 52,000 of 10,200 is 51 %"
    assert result.positions[BTC].iloc[-1] == pytest.approx(-0.045), "a quarter of 11,000 is 0.0458"


def test_a_trailing_stop_follows_the_best_price_and_never_moves_back() -> None:
    rows = [(60_000, 60_000, 60_000, 60_000)] * 2 + [(60_000, 62_000, 60_000, 61_500), (61_500, 61_600, 61_000, 61_200)]
    data = bars(*rows, (61_200, 61_300, 60_000, 60_100), *flat(60_100, 2))

    def enter(ctx: Context) -> Any:
        ctx.buy(BTC, "0.05")
        return ctx.trailing_stop(BTC, 0.02)

    seen, result = run({0: enter}, data)
    stop = seen[0]
    assert result.fills["side"].tolist() == ["BUY", "SELL"]
    assert result.fills["price"].iloc[1] == 60_760, "2 % below 62,000"
    assert (stop.stop, stop.done) == (60_760, True)
    placed = result.orders[result.orders["tif"] != ""]["status"].tolist()
    assert placed == ["FILLED", "FILLED"], "the stop at 58,800 was amended where it stood"
    short = bars(*rows[:2], (60_000, 60_000, 58_000, 58_200), (58_200, 59_500, 58_200, 59_400), *flat(59_400, 2))
    seen, result = run({0: lambda ctx: (ctx.sell(BTC, "0.05"), ctx.trailing_stop(BTC, 0.02))[1]}, short)
    assert result.fills["price"].iloc[1] == 59_160
    with pytest.raises(InputError, match="between 0 and 1"):
        run({0: lambda ctx: ctx.trailing_stop(BTC, 2)}, short)


def test_one_order_cancels_the_other() -> None:
    data = bars(*flat(60_000, 2), (60_000, 61_200, 59_900, 61_000), (61_000, 61_000, 58_000, 58_500), *flat(58_500))

    def both(ctx: Context) -> Any:
        return ctx.one_cancels_other(ctx.sell(BTC, "0.05", "61000"), ctx.buy(BTC, "0.05", "59000"))

    seen, result = run({0: both}, data)
    assert [placed.state for placed in seen[0]] == ["FILLED", "CANCELED"]
    assert result.fills["price"].tolist() == [61_000]


def test_a_bracket_is_one_call() -> None:
    data = bars(*flat(60_000, 2), (60_000, 61_500, 60_000, 61_400), *flat(61_400, 2))
    _, result = run({0: lambda ctx: ctx.bracket(BTC, "0.05", take_profit="61000", stop_loss="59000")}, data)
    assert result.fills["side"].tolist() == ["BUY", "SELL"]
    assert result.fills["price"].iloc[1] == 61_000
    _, result = run({0: lambda ctx: ctx.bracket(BTC, "-0.05", take_profit="59000", stop_loss="61000")}, data)
    assert result.fills["side"].tolist() == ["SELL", "BUY"]
    assert result.fills["price"].iloc[1] == 61_000


def test_longer_bars_are_those_of_pandas_and_hold_nothing_of_the_future() -> None:
    data = walk(5, 400, "15min").iloc[3:]
    data = data.drop(data.index[100:117])
    expected = (
        data.resample("4h")
        .agg({"open": "first", "high": "max", "low": "min", "close": "last", "volume": "sum"})
        .dropna()
    )

    def look(ctx: Context, bar: Bar) -> None:
        longer = ctx.bars(BTC, "4h")
        if len(longer):
            assert int(longer.time[-1]) + 4 * 3_600_000 <= ctx.now
            ctx.record(count=len(longer), last=longer.close[-1])

    result = backtest(look, {BTC: data})
    known = expected.iloc[1:]  # the first one began before the data
    assert result.records["count"].iloc[-1] in (len(known), len(known) - 1)
    for row in result.records.itertuples():
        assert row.last == known["close"].iloc[int(row.count_ if hasattr(row, "count_") else row[1]) - 1]
    with pytest.raises(InputError, match="can't be made of bars of 900 s"):
        backtest(lambda ctx, bar: ctx.bars(BTC, "20min"), {BTC: data})


def rolling(values: np.ndarray, count: int) -> Any:
    return pd.Series(values).rolling(count).mean().to_numpy()


class Both(Strategy):
    """Compares indicators over arrays with streaming ones."""

    wrong = 0.0

    def on_start(self, ctx: Context) -> None:
        self.fast = self.I(rolling, "close", 5)
        self.high, self.low = self.I(lambda bars: (bars["high"].cummax(), bars["low"].cummin()), "bars", outputs=2)
        self.streamed = SMA(5)

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        expected = self.streamed.update(bar.close)
        history = ctx.bars()
        assert len(self.fast) == len(history)
        assert (self.high.value, self.low[-1]) == (history.high.max(), history.low.min())
        if expected == expected:
            assert float(self.fast) == pytest.approx(expected)
            ctx.record(fast=self.fast.value, cross=self.fast.cross(self.high))
        else:
            assert math.isnan(self.fast.value)


def test_precomputed_indicators_are_the_streaming_ones_in_every_kind_of_run() -> None:
    assert len(backtest(Both(), {BTC: walk(2, 80)}).records) == 76
    assert len(paper(Both(), [BTC], duration="12m").records) == 8


def test_an_indicator_holds_no_value_of_a_later_bar() -> None:
    seen: list[int] = []

    class Peeking(Strategy):
        def on_start(self, ctx: Context) -> None:
            self.x = self.I(rolling, "close", 3)

        def on_bar(self, ctx: Context, bar: Bar) -> None:
            seen.append(len(self.x.array()))
            assert math.isnan(self.x[len(self.x)])

    backtest(Peeking(), {BTC: walk(2, 30)})
    assert seen == list(range(1, 31))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda close: np.append(close[1:], np.nan), "looks ahead"),
        (lambda close: (close - close.mean()) / close.std(), "looks ahead"),
        (lambda close: close[:-1], "returned 1 × 29 values, but 30 bars and 1 outputs need 1 × 30"),
    ],
    ids=["shifted", "normalised", "shorter"],
)
def test_a_function_that_looks_ahead_is_refused(function: Any, text: str) -> None:
    class Sly(Strategy):
        def on_start(self, ctx: Context) -> None:
            self.x = self.I(function)

    with pytest.raises(InputError, match=text):
        backtest(Sly(), {BTC: walk(2, 30)})


def test_all_symbols_of_an_instant_come_together() -> None:
    seen: list[Any] = []

    class Together(Strategy):
        def on_bars(self, ctx: Context, bars: Any) -> None:
            seen.append((ctx.now, {name: bar.closed for name, bar in bars.items()}))

    one, two = walk(1, 20), walk(2, 20, start=3_000).iloc[4:]
    backtest(Together(), {BTC: one, "ETHUSDC": two})
    assert len(seen) == 16
    assert all(set(closed.values()) == {now} for now, closed in seen)
    seen.clear()
    paper(Together(), [BTC, "ETHUSDC"], duration="5m", step="2m")
    assert len(seen) == 5
    assert all(len(set(closed.values())) == 1 for _, closed in seen)


def test_live_runs_answer_the_same_questions() -> None:
    seen: list[Any] = []

    def look(ctx: Context, bar: Bar) -> None:
        if not ctx.position(BTC):
            ctx.buy(BTC, "0.02")
            ctx.trailing_stop(BTC, 0.01)
            ctx.one_cancels_other(ctx.sell(BTC, "0.01", bar.close + 40), ctx.buy(BTC, "0.01", bar.close - 9_000))
        seen.append((ctx.funding(BTC), ctx.fees, ctx.margin_ratio, ctx.liquidation_price(BTC)))

    with toolkit.connect(clock="manual") as session:
        session.venue.advance("3h")
        run_ = live(look, session, [BTC], limits=Limits(), duration="8m", close_at_end=True)
        rates, fees, ratio, price = seen[1]
        shown = session.funding_rates().loc[BTC]
    assert rates.next_time == shown["next_funding_time"].timestamp() * 1000
    assert abs(rates.predicted) < 0.02
    assert 0 < fees <= run_.fills["fee"].sum() + 1e-9
    assert 0 < ratio < 0.01
    assert math.isnan(price) or price < 60_000
    assert len(run_.orders[run_.orders["status"] == "ORDER_STATUS_UNTRIGGERED"]) == 0


def test_a_share_is_rebalanced_once_per_span_and_when_it_changes() -> None:
    rows = [(price, price, price, price) for price in range(60_000, 64_800, 100)]

    def on_bar(ctx: Context, bar: Bar) -> None:
        ctx.target_share(BTC, 0.5 if ctx.bars().length < 40 else 0.25, rebalance="1D")

    found = backtest(on_bar, {BTC: bars(*rows, start="2026-01-01 00:00")}, funding=None)
    assert found.fills["side"].tolist() == ["BUY", "SELL", "SELL"]
    assert found.fills["time"].dt.hour.tolist() == [1, 0, 16], "the first bar, the close at midnight, the new share"


def test_an_order_that_another_one_cuts_says_which() -> None:
    """Long 10 with 20 USDC left at 91: sales of 5 and 8 would open 3, for which 27 USDC of margin are missing."""
    rows = [*flat(100, 2), *flat(91, 4), (91, 104, 91, 104), *flat(104, 2)]
    script = {
        0: lambda ctx: ctx.buy("X", "10"),
        3: lambda ctx: ctx.sell("X", "5", "103"),
        4: lambda ctx: ctx.sell("X", "8", "102"),
    }
    seen: list[Any] = []
    noted = {at: (lambda ctx, step=step: seen.append(step(ctx))) for at, step in script.items()}
    grid = {"X": {"tick_size": "0.01", "step_size": "0.1", "min_order_value": "1"}}
    options: dict[str, Any] = {"products": grid, "fees": ("0", "0"), "funding": None, "capital": 110, "leverage": 10}
    found = backtest(Scripted(noted), {"X": bars(*rows)}, **options)
    text = "margin: order 3 closes the same position of 10.0, and no margin is left to open"
    assert (seen[1].state, seen[1].filled, seen[1].reason) == ("CANCELED", pytest.approx(2), text)
    assert found.orders.set_index("order_id").loc[2, "reason"] == text
    assert found.metrics()["cut"] == 1
