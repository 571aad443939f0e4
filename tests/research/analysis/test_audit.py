"""An audit finds each fault that is planted in a run, and nothing in a clean one."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import toolkit
from tests.research.backtesting.events.recorded import events_of, random_market
from toolkit.errors import InputError
from toolkit.research import Strategy, backtest, paper, vectorised
from toolkit.research.data.event_array import Kind
from toolkit.research.indicators import SMA
from toolkit.venue.simulation.queues import queue_model

BARS = 400


def frame(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    close = np.round(60_000 * np.exp(np.cumsum(rng.normal(0, 0.002, BARS))), 1)
    opened = np.concatenate([[60_000.0], close[:-1]])
    columns = {"open": opened, "high": np.maximum(opened, close), "low": np.minimum(opened, close), "close": close}
    index = pd.date_range("2026-01-01", periods=BARS, freq="min", tz="UTC", name="time")
    return pd.DataFrame({**columns, "volume": 100.0}, index=index)


class Cross(Strategy):
    """Changes sides at the crossing of a price and its mean, which it is given by a function."""

    mean: Any = None
    size = "0.01"

    def on_start(self, ctx: Any) -> None:
        self.line = self.I(type(self).mean, "close")

    def on_bar(self, ctx: Any, bar: Any) -> None:
        if self.line.value == self.line.value:
            ctx.target(bar.symbol, self.size if bar.close > self.line.value else f"-{self.size}")


def rolling(close: Any) -> Any:
    return pd.Series(close).rolling(5).mean().to_numpy()


def found(run: Any) -> list[str]:
    table = run.audit()
    return list(table.index[table["found"].fillna(False).astype(bool)])


def with_mean(function: Any) -> type[Strategy]:
    return type("Cross", (Cross,), {"mean": staticmethod(function)})


def test_a_clean_run_is_clean() -> None:
    bars = frame()
    run = backtest(with_mean(rolling)(), {"BTCUSDC": bars}, funding=pd.Series([0.0001], bars.index[240:241]))
    assert "audit" not in repr(run)
    assert found(run) == []
    assert repr(run).endswith("audit: nothing found)")
    assumed = backtest(with_mean(rolling)(), {"BTCUSDC": bars})
    assert assumed.audit().loc["funding", "detail"].startswith("the interest is assumed as a constant rate")
    assert repr(assumed).endswith("audit: nothing found. 9 of 10 checks could be made, not: funding)")
    assert run.audit().loc["look-ahead", "detail"] == "none at 11 orders"

    def signs(given: Any) -> Any:
        close = given["BTCUSDC"]["close"]
        return np.sign(close - close.rolling(5).mean()) * 0.01

    assert found(vectorised({"BTCUSDC": bars}, signs)) == []
    assert found(vectorised({"BTCUSDC": bars}, signs({"BTCUSDC": bars}).to_numpy())) == []
    assert vectorised({"BTCUSDC": bars}, signs).equity.equals(
        vectorised({"BTCUSDC": bars}, signs({"BTCUSDC": bars}).to_numpy()).equity
    )


def closure(bars: pd.DataFrame) -> Any:
    times = {int(time.value) // 10**6: at for at, time in enumerate(bars.index)}

    def on_bar(ctx: Any, bar: Any) -> None:
        at = times[bar.time]
        if at % 7 == 0 and at + 3 < len(bars):
            ctx.target(bar.symbol, "0.01" if bars["close"].iloc[at + 3] > bars["close"].iloc[at + 2] else "-0.01")

    return on_bar


def last_fifth(close: Any) -> Any:
    mean = rolling(close).copy()
    late = int(BARS * 0.8)
    if len(close) == BARS:
        mean[late:-2] = close[late + 2 :]
    return mean


def filled_back(close: Any) -> Any:
    holed = pd.Series(close)
    holed[(np.arange(len(close)) > 300) & (np.arange(len(close)) < 380)] = np.nan
    return holed.bfill().ffill().rolling(2).mean().to_numpy()


class Holding(Strategy):
    """Knows the price in `far` bars, by what it is given: a number by the number of the bar, or by its time."""

    far = 40

    def __init__(self, price: Any) -> None:
        self.price = price
        self.table = {"deep": [price]}

    def on_start(self, ctx: Any) -> None:
        self.at = -1

    def on_bar(self, ctx: Any, bar: Any) -> None:
        self.at += 1
        if self.at % 5 == 0 and self.at + self.far < BARS:
            later = self.later(self.at + self.far, bar.time + self.far * 60_000)
            ctx.target(bar.symbol, "0.01" if later > bar.close else "-0.01")

    def later(self, at: int, time: int) -> float:
        price = self.table["deep"][0]
        return price[time if isinstance(price, dict) else at]


class Helper:
    """What a strategy refers to: an object of its own, which a partial function reads."""

    def __init__(self, prices: Any) -> None:
        self.prices = prices


class Helped(Holding):
    def later(self, at: int, time: int) -> float:
        return max(self.price(at=where) for where in (at,))


def from_table(table: pd.DataFrame, at: int) -> float:
    """Read a table by hours."""
    return float(table["close"].iloc[min(at // 60 + 1, len(table) - 1)])


CLOSES = frame()["close"]
HOURLY = frame().resample("h").last()
PEEKS = {
    "closure": closure(frame()),
    "an array in a list in a mapping": Holding(CLOSES.to_numpy()),
    "a list": Holding(CLOSES.tolist()),
    "a tuple": Holding(tuple(CLOSES)),
    "a mapping of times": Holding({time.value // 10**6: price for time, price in CLOSES.items()}),
    "a table of another interval, in a partial function": Helped(partial(from_table, table=HOURLY)),
    "an object of its own": Helped(partial(lambda at, held: held.prices[at], held=Helper(CLOSES.tolist()))),
}


@pytest.mark.parametrize("peek", list(PEEKS.values()), ids=list(PEEKS))
def test_a_peek_is_found_wherever_it_is(peek: Any) -> None:
    run = backtest(peek, {"BTCUSDC": frame()})
    assert len(run.fills) > 5
    assert found(run) == ["look-ahead"]


class Honest(Cross):
    """Holds all kinds of values, and reads of tables only what has been."""

    mean = staticmethod(rolling)
    table = frame().assign(day=frame().index.tz_localize(None), name="BTC")
    scalar, nothing, words = np.array(3.0), [], ["a"] * BARS
    odd = (1, "two", None)

    def __init__(self) -> None:
        self.kept = {"same": [], "more": {}}
        self.kept["again"] = self.kept["same"]

    def on_bar(self, ctx: Any, bar: Any) -> None:
        self.kept["same"].append(bar.close)
        assert self.kept["again"] is self.kept["same"]
        known = self.table.loc[: pd.Timestamp(bar.time, unit="ms", tz="UTC")]
        assert known["day"].iloc[-1].year == 2026
        if known["close"].iloc[-1] == bar.close:
            super().on_bar(ctx, bar)


def test_a_strategy_that_holds_the_future_and_does_not_look_is_not_accused() -> None:
    run = backtest(Honest(), {"BTCUSDC": frame()})
    assert len(run.fills) > 10
    table = run.audit()
    assert not table["found"].any()
    assert table.at["look-ahead", "detail"].startswith("none at")


def test_tomorrows_signs_are_found_as_numbers_and_as_a_function() -> None:
    bars = frame()
    tomorrow = np.sign(bars["close"].shift(-1) - bars["close"]).fillna(0) * 0.01
    assert found(vectorised({"BTCUSDC": bars}, tomorrow.to_numpy())) == ["look-ahead"]

    def mixed(given: Any) -> Any:  # too seldom for its luck to show
        close = given["BTCUSDC"]["close"]
        return (np.sign(close.shift(-3) - close).fillna(0) * 0.01).where(np.arange(len(close)) % 9 == 0).ffill()

    assert "look-ahead" in found(vectorised({"BTCUSDC": bars}, mixed))


def test_a_peek_into_events_is_found() -> None:
    events = random_market(4, seconds=30)
    trades = events.of(Kind.TRADE)

    class Peek(Strategy):
        def on_timer(self, ctx: Any) -> None:
            if ctx.now // 1000 % 3 == 0 and not ctx.orders():
                later = self.ahead["price"][np.searchsorted(self.ahead["exchange_ns"], (ctx.now + 2000) * 10**6) - 1]
                (ctx.buy if later > ctx.price("BTCUSDC") else ctx.sell)("BTCUSDC", "0.001", "60000")

        def on_start(self, ctx: Any) -> None:
            self.ahead = ctx._broker.markets[1].events.of(Kind.TRADE) if ctx._broker.markets else trades

    assert "look-ahead" in found(backtest(Peek(), {"BTCUSDC": events}, funding=None))


class Quotes(Strategy):
    def on_timer(self, ctx: Any) -> None:
        book = ctx.book()
        if len(ctx.orders()) < 2:
            ctx.buy("BTCUSDC", "0.001", f"{book.bids[0][0]:.1f}", tif="POST_ONLY")


def test_a_run_that_hangs_on_its_queue_model_or_on_ties_is_found_and_a_stable_one_is_not() -> None:
    rows = [(0, Kind.DEPTH, 1, 60000.0, 1.0), (0, Kind.DEPTH, -1, 60001.0, 1.0)]
    for second in range(1, 9):
        changes = [(0, 1.0), (500, 3.0), (600, 1.6)]  # what came behind an order leaves again, risk-averse or not
        rows += [(second * 1000 + ms, Kind.DEPTH, 1, 60000.0, total) for ms, total in changes]
        rows += [(second * 1000 + 700, Kind.TRADE, -1, 60000.0, 0.8)]
    table = backtest(Quotes(), {"BTCUSDC": events_of(*rows)}, funding=None).audit()
    assert table.loc["queue", "found"]
    assert "fills with power:2" in table.loc["queue", "detail"]

    class Taker(Strategy):
        def on_timer(self, ctx: Any) -> None:
            ctx.buy("BTCUSDC", "0.001", "60000.5", tif="IOC")

    gone = [(100 * at + 10, Kind.DEPTH, -1, 60000.5, 0.0 if at % 2 else 1.0) for at in range(1, 40)]
    back = [(100 * at + 10.000001, Kind.DEPTH, -1, 60000.5, 1.0 if at % 2 else 0.0) for at in range(1, 40)]
    events = events_of(*sorted([*rows[:2], *gone, *back], key=lambda row: row[0]))
    table = backtest(Taker(), {"BTCUSDC": events}, latency=("10ms", "1ms"), funding=None).audit()
    assert table.loc["ties", "found"]
    trades = [(250 * at, Kind.TRADE, -1, 59990.0, 0.01) for at in range(1, 20)]
    calm = backtest(Quotes(), {"BTCUSDC": events_of(*rows[:2], *trades)}, latency=("3ms", "2ms"), funding=None)
    assert len(calm.fills) > 5
    assert found(calm) == []


def test_rejected_orders_gaps_and_fills_beyond_the_volume_are_found() -> None:
    bars = frame().iloc[:150]

    def refused(ctx: Any, bar: Any) -> None:
        ctx.buy("BTCUSDC", "50")

    run = backtest(refused, {"BTCUSDC": bars})
    assert found(run) == ["rejected"]
    assert "149 of 149 orders" in repr(backtest(refused, {"BTCUSDC": bars}))
    holed = bars.drop(bars.index[100:110])
    assert found(backtest(with_mean(rolling)(), {"BTCUSDC": holed})) == ["gaps"]
    thin = bars.assign(volume=0.005)
    assert found(backtest(with_mean(rolling)(), {"BTCUSDC": thin})) == ["volume"]


@pytest.mark.parametrize("files", [False, True])
def test_fills_beyond_what_was_traded_are_found_on_events(files: bool) -> None:
    rows = [(0, Kind.SNAPSHOT, side, 60_000.0 + 0.1 * (side < 0), 5.0) for side in (1, -1)]
    trades = [(700 * at, Kind.TRADE, -1, 60_000.0, 0.001) for at in range(1, 20)]
    events = events_of(*rows, *trades)

    class Buys(Strategy):
        size = "0.018"

        def on_start(self, ctx: Any) -> None:
            self.done = False

        def on_timer(self, ctx: Any) -> None:
            if not self.done:
                self.done = bool(ctx.buy("BTCUSDC", self.size))

    given = {"BTCUSDC": [events[:10], events[10:]] if files else events}
    assert found(backtest(Buys(size="0.019"), given, funding=None)) == []
    assert found(backtest(Buys(size="0.02"), given, funding=None)) == ["volume"]


def test_a_run_that_was_loaded_says_what_is_not_known(tmp_path: Any) -> None:
    run = backtest(with_mean(rolling)(), {"BTCUSDC": frame()})
    run.save(tmp_path / "run")
    table = type(run).load(tmp_path / "run").audit()
    assert table["found"].isna().sum() == 7


def test_a_run_that_needs_more_data_than_a_cut_leaves_is_not_accused() -> None:
    def long(close: Any) -> Any:
        if len(close) < BARS // 2:
            raise ValueError("too short")
        return rolling(close)

    table = backtest(with_mean(long)(), {"BTCUSDC": frame()}).audit()
    assert pd.isna(table.loc["look-ahead", "found"])
    assert "ValueError: too short" in table.loc["look-ahead", "detail"]


def test_events_without_a_mapping_and_a_queue_model_of_ones_own_are_audited() -> None:
    run = backtest(Quotes(), random_market(2, seconds=4), queue=queue_model("power:3", 0.001), funding=None)
    table = run.audit()
    assert table["found"].drop("funding").notna().all()
    assert table.loc["queue", "detail"].count("fills with") == 4


@pytest.mark.parametrize("column", [True, False], ids=["with a column symbol", "without"])
def test_a_run_on_one_frame_of_candles_is_audited(column: bool) -> None:
    bars = frame().assign(symbol="BTCUSDC") if column else frame()
    assert found(backtest(with_mean(rolling)(), bars)) == []


@pytest.mark.parametrize("count", range(300, 325))
@pytest.mark.parametrize("rule", ["1h", "4h", "7min"])
def test_a_longer_bar_that_is_not_over_yet_is_refused_whatever_the_length(count: int, rule: str) -> None:
    class Hourly(Strategy):
        def on_start(self, ctx: Any) -> None:
            self.line = self.I(lambda b: b.close.resample(rule).last().reindex(b.index, method="ffill"), "bars")

        def on_bar(self, ctx: Any, bar: Any) -> None:
            ctx.target(bar.symbol, "0.01" if bar.close > self.line.value else 0)

    with pytest.raises(InputError, match="looks ahead"):
        backtest(Hourly, {"BTCUSDC": frame().iloc[:count]})


def test_a_table_that_knows_the_hour_is_found_and_one_of_past_hours_is_not() -> None:
    """Merged on the start of each hour, it has the close of an hour that is not over."""
    bars = frame(5)
    hourly = bars["close"].resample("1h").last()

    for late, known in (("0h", True), ("1h", False)):

        def on_bar(ctx: Any, bar: Any, late: str = late) -> None:
            now = pd.Timestamp(bar.time, unit="ms", tz="UTC") - pd.Timedelta(late)
            price = hourly.asof(now)
            if price == price:
                ctx.target(bar.symbol, "0.01" if price > bar.close else "-0.01")

        table = backtest(on_bar, {"BTCUSDC": bars}).audit()
        assert bool(table.loc["look-ahead", "found"]) is known, table.loc["look-ahead", "detail"]


class Mean(Strategy):
    window = 20

    def on_start(self, ctx: Any) -> None:
        self.mean = SMA(self.window)

    def on_bar(self, ctx: Any, bar: Any) -> None:
        ctx.target(bar.symbol, "0.01" if bar.close > self.mean.update(bar.close) else "-0.01")


class Nothing(Strategy):
    def next(self) -> None:
        raise AssertionError("it is never called")


class Waits(Strategy):
    def on_bar(self, ctx: Any, bar: Any) -> None:
        if bar.symbol == "ETHUSDC":
            ctx.target(bar.symbol, "1")


SILENT: dict[str, tuple[Any, dict[str, Any], str]] = {
    "below a step": (
        lambda ctx, bar: ctx.target_share(bar.symbol, 0.5),
        {"capital": 50},
        r"0 orders, because all \d+ were rejected, the first: .* less than a step of 0.001",
    ),
    "next to nothing": (
        lambda ctx, bar: ctx.target_share(bar.symbol, 1e-9),
        {},
        r"because all \d+ were rejected, the first: .*a target of 0\.0000000001\d+ BTCUSDC is less than a step",
    ),
    "never asked": (lambda ctx, bar: None, {}, "0 orders, because the strategy asked for none"),
    "no value yet": (Mean, {}, r"^1 of \d+ orders were sent while an indicator had no value \(mean\)"),
    "never a value": (Mean(window=1_000), {}, r"400 of 400 orders were sent while|orders were sent while"),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_a_run_leaves_unsaid_is_named(name: str) -> None:
    strategy, options, text = SILENT[name]
    table = backtest(strategy, {"BTCUSDC": frame()}, **options).audit()
    assert table.loc["silence", "found"]
    assert re.search(text, table.loc["silence", "detail"]), table.loc["silence", "detail"]


def test_orders_for_bars_that_have_ended_and_foreign_callbacks_are_named() -> None:
    eth = frame().div(20).round(2).assign(volume=1e6).iloc[:100]
    run = backtest(Waits, {"BTCUSDC": frame(), "ETHUSDC": eth})
    assert (
        "a position of 1 stays of ETHUSDC, whose bars ended at 2026-01-01 01:40" in run.audit().loc["silence", "detail"]
    )
    with pytest.raises(InputError, match=r"Nothing has next\(\), which is never called here.*on_bar\(ctx, bar\)"):
        backtest(Nothing, {"BTCUSDC": frame()})


def test_a_check_that_fails_has_found_nothing_out() -> None:
    def targets(given: Any) -> Any:
        close = given["BTCUSDC"]["close"]
        if len(close) < BARS:
            raise KeyError("all of it")
        return np.sign(close - close.rolling(5).mean()) * 0.01

    run = vectorised({"BTCUSDC": frame()}, targets)
    assert "KeyError" in run.audit().loc["look-ahead", "detail"]
    assert "nothing found. " in repr(run)
    assert "not: execution, look-ahead" in repr(run)


class Quoting(Strategy):
    """A plain two-sided quote, which fills, and refusals of which a backtest has others."""

    def on_bar(self, ctx: Any, bar: Any) -> None:
        ctx.cancel_all(bar.symbol)
        product = ctx.product(bar.symbol)
        for side, at in ((ctx.buy, 0.9998), (ctx.sell, 1.0002)):
            side(bar.symbol, "0.01", product.round_price(bar.close * at, "down"), tif="POST_ONLY")


@pytest.mark.parametrize("strategy", [Quoting, Mean(window=3), lambda ctx, bar: ctx.target(bar.symbol, "0.01")])
@pytest.mark.parametrize("own", [False, True])
def test_an_honest_run_on_a_venue_is_not_accused(strategy: Any, own: bool) -> None:
    with toolkit.connect(clock="manual") as session:
        run = paper(strategy, ["BTCUSDC"], duration="40m", session=session if own else None)
        table = run.audit()
    assert table.loc["look-ahead", "found"] is not True
    assert table.loc["look-ahead", "detail"].startswith("none at")
    assert table.loc[["ties", "queue"], "found"].isna().all()
    assert "checks could be made, not: ties, queue" in repr(run)
