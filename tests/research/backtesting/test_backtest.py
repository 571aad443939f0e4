"""Backtests: numbers to the last cent, the venue's order rules inside bars, no way to look ahead."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from tests.research.markets import Scripted, Wandering, bars, flat, walk
from toolkit.errors import ActionRejected, InputError, UnknownProduct
from toolkit.research.account_data import Fill, FundingFee, OrderHandle
from toolkit.research.backtesting.driver import backtest
from toolkit.research.backtesting.models import BarLiquidity, FixedLatency, ImpactSlippage, RandomLatency
from toolkit.research.context import Context
from toolkit.research.data.bars import ExtremeOrder, Points, read_bars
from toolkit.research.indicators import SMA
from toolkit.research.market_data import Bar
from toolkit.research.strategy import Strategy
from toolkit.venue.simulation.replay import ReplayBar

BTC = "BTCUSDC"


def run(script: dict[int, Any], data: pd.DataFrame, **options: Any) -> Any:
    """Backtest a script on BTCUSDC without funding (unless asked)."""
    options.setdefault("funding", None)
    return backtest(Scripted(script), {BTC: data}, **options)


def test_a_known_sequence_equals_the_numbers_by_hand() -> None:
    data = bars(
        *flat(60_000),  # 02:00, at its close: buy 0.1
        (60_000, 61_000, 60_000, 61_000),  # 03:00, filled at 60,000
        (61_000, 61_500, 60_900, 61_000),  # 04:00, funding 0.005 % at 61,000; at the close: sell 0.04 at 62,000
        (61_000, 62_100, 61_000, 62_000),  # 05:00, the limit is reached; at the close: sell 0.16 at market
        (62_000, 62_000, 61_900, 61_900),  # 06:00, flipped at 62,000
    )
    script = {
        0: lambda ctx: ctx.buy(BTC, "0.1"),
        2: lambda ctx: ctx.sell(BTC, "0.04", "62000"),
        3: lambda ctx: ctx.sell(BTC, "0.16"),
    }
    result = run(script, data, funding="interest")
    fills = result.fills
    assert fills["price"].tolist() == [60_000, 62_000, 62_000]
    assert fills["role"].tolist() == ["TAKER", "MAKER", "TAKER"]
    assert fills["fee"].tolist() == [3.6, 0.248, 5.952]
    assert fills["realized_pnl"].tolist() == [0, 80, 120]
    assert fills["time"].dt.hour.tolist() == [3, 5, 6]
    assert result.funding["payment"].tolist() == [-0.305]
    assert result.funding[["position", "price", "rate"]].iloc[0].tolist() == [0.1, 61_000, 0.00005]
    balances = [10_000, 10_000, 9_996.4, 9_996.095, 10_075.847, 10_189.895]
    assert result.equity["balance"].tolist() == balances
    assert result.equity["unrealized"].tolist() == [0, 0, 100, 100, 120, 10]
    assert result.equity["equity"].iloc[-1] == 10_199.895
    assert result.attribution.loc["TOTAL"].to_dict() == pytest.approx(
        {"price": 210.0, "fees": -9.8, "funding": -0.305, "other": 0.0, "net": 199.895}
    )


@pytest.mark.parametrize(
    ("side", "end", "price", "pnl", "fee", "balance"),
    [("buy", 58_000, 58_770.6, -61.47, 1.763118, 34.966882), ("sell", 62_000, 61_199.1, -59.955, 1.835973, 36.409027)],
)
def test_a_liquidation_equals_the_numbers_by_hand(
    side: str, end: float, price: float, pnl: float, fee: float, balance: float
) -> None:
    """Margin 100 − fee 1.8 = 98.2, and 98.2 ± 0.05·(P − 60,000) = 0.0125·0.05·P.

    It gives P = 58,770.63 for a long, and 61,199.01 for a short. The next ticks are 58,770.6 and 61,199.1.
    """
    data = bars(*flat(60_000, 2), (60_000, max(60_000, end), min(60_000, end), end), *flat(end))
    script = {0: lambda ctx: getattr(ctx, side)(BTC, "0.05", slippage="0.005")}
    result = run(script, data, capital=100, leverage=40)
    liquidated = result.fills.iloc[1]
    assert (liquidated["type"], liquidated["price"], liquidated["quantity"]) == ("LIQUIDATION", price, 0.05)
    assert liquidated["realized_pnl"] == pnl
    assert liquidated["fee"] == fee, "the taker fee, 0.06 % of the value"
    assert result.equity["balance"].tolist()[-2:] == [balance, balance]
    assert result.positions[BTC].iloc[-1] == 0
    assert result.events["kind"].tolist() == ["LIQUIDATION"]


@pytest.mark.parametrize(
    ("price", "fee", "balance", "given"),
    [(58_500, 1.755, 98.2 - 75 - 1.755, []), (56_000, 0.0, 0.0, [["BANKRUPTCY", BTC, 200 - 98.2]])],
)
def test_a_jump_over_the_liquidation_price_is_met_where_it_lands(
    price: int, fee: float, balance: float, given: list[list[Any]]
) -> None:
    """Beyond the margin of 98.2 the rest of the loss is given to the account, and no fee is taken."""
    data = bars(*flat(60_000, 2), *flat(price, 2))
    result = run({0: lambda ctx: ctx.buy(BTC, "0.05", slippage="0.005")}, data, capital=100, leverage=40)
    assert result.fills["price"].tolist() == [60_000, price]
    assert result.fills["fee"].tolist() == [1.8, fee]
    assert result.equity["balance"].iloc[-1] == pytest.approx(balance)
    assert result.transfers[["kind", "symbol", "amount"]].to_numpy().tolist() == given


def test_a_long_that_its_money_outlasts_has_no_liquidation_price() -> None:
    """10,000 USDC carry 0.05 bought at 60,000 down to nothing. A short has a price in any case."""
    seen: list[float] = []
    for side in ("buy", "sell"):
        script = {
            0: lambda ctx, side=side: getattr(ctx, side)(BTC, "0.05"),
            2: lambda ctx: seen.append(ctx.liquidation_price(BTC)),
        }
        run(script, bars(*flat(60_000, 4)), capital=10_000)
    assert [math.isnan(price) for price in seen] == [True, False]


@pytest.mark.parametrize(("side", "price"), [("buy", 58_300), ("sell", 61_700)])
def test_a_large_position_is_liquidated_in_slices_until_it_has_recovered(side: str, price: int) -> None:
    """5 at 60,000 lose 8,500 of 10,000. A fifth of what is left is closed every 30 s.

    The margin ratio is 1.25 % of the rest over 1,500: at least 0.99 with 2.048, at most 0.85 with 1.638.
    """
    script = {0: lambda ctx: getattr(ctx, side)(BTC, "5")}
    data = bars(*flat(60_000, 2), *flat(price, 2))
    result = run(script, data, capital=10_000, leverage=40, fees=("0", "0"))
    slices = result.fills.iloc[1:]
    assert slices["quantity"].tolist() == [1.0, 0.8, 0.64, 0.512, 0.41]
    assert (slices["time"] - data.index[2]).dt.total_seconds().tolist() == [0, 30, 60, 90, 120]
    assert set(slices["price"]) == {float(price)}
    assert abs(result.positions[BTC].iloc[-1]) == pytest.approx(1.638)


@pytest.mark.parametrize(
    ("side", "stop", "beyond", "later"), [("buy", 59_000, 58_900, 58_950), ("sell", 61_000, 61_100, 61_050)]
)
def test_a_triggered_stop_that_finds_no_volume_tries_again_at_the_next_price(
    side: str, stop: int, beyond: int, later: int
) -> None:
    low, high = sorted((60_000, beyond))
    data = bars(*flat(60_000, 2), (60_000, high, low, beyond), *flat(later, 2)).assign(volume=[9.0, 9.0, 0.0, 9.0, 9.0])
    script = {0: lambda ctx: getattr(ctx, side)(BTC, "0.1", sl=str(stop))}
    result = run(script, data, liquidity=BarLiquidity(share=0.5))
    assert result.fills["price"].tolist() == [60_000, later]
    assert result.fills["time"].tolist() == [data.index[1], data.index[3]]


def test_an_exit_at_a_loss_fills_though_a_resting_order_would_then_lack_margin() -> None:
    """As on the venue: long 3.2 at 20x on 10,000; the mark falls to 59,500; a SELL 3.2 at 61,000 rests."""
    script = {
        0: lambda ctx: ctx.buy(BTC, "3.2", slippage="0.001"),
        1: lambda ctx: ctx.sell(BTC, "3.2", price="61000"),
        4: lambda ctx: ctx.sell(BTC, "3.2"),
    }
    result = run(script, bars(*flat(60_000, 4), *flat(59_500, 4)), capital=10_000, funding=None)
    assert result.fills["price"].tolist() == [60_000, 59_500]
    assert result.positions[BTC].iloc[-1] == 0
    assert result.orders["status"].tolist() == ["FILLED", "CANCELED", "FILLED"]
    assert result.equity["balance"].iloc[-1] == pytest.approx(10_000 - 1_600 - 3.2 * 119_500 * 0.0006)


def test_a_strategy_that_peeks_sees_only_the_past() -> None:
    data = walk(1, 200)
    future = set(data["close"].iloc[100:]) | set(data["high"].iloc[100:])

    class Peeking(Strategy):
        found: Any = None

        def on_bar(self, ctx: Context, bar: Bar) -> None:
            history = ctx.bars(BTC)
            assert history.length == len(history.close) == len(history.time)
            assert history.close[-1] == bar.close
            assert not history.close.flags.writeable
            if history.length == 100:
                type(self).found = reachable_numbers(ctx) & future

    backtest(Peeking(), {BTC: data})
    assert Peeking.found == set()


def reachable_numbers(root: Any) -> set[float]:
    """Return every float that can be reached from an object, through attributes, containers and array memory."""
    import gc
    import types

    import numpy as np

    skip = (types.ModuleType, type, types.FunctionType, types.FrameType, types.CodeType, types.BuiltinFunctionType)
    found: set[float] = set()
    seen: set[int] = set()
    todo = [root]
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, skip):
            continue
        seen.add(id(item))
        if isinstance(item, float):
            found.add(item)
        elif isinstance(item, int):
            found.add(item / 10)
        elif isinstance(item, np.ndarray):
            whole = item if item.base is None else item.base
            found |= set(np.asarray(whole, dtype="float64").ravel().tolist())
        elif isinstance(item, Bar):
            found |= {item.open, item.high, item.low, item.close}
        else:
            todo += gc.get_referents(item)
            if isinstance(item, types.MethodType):
                todo.append(item.__self__)
    return found


@pytest.mark.parametrize("cut", [30, 77, 120])
def test_the_past_does_not_change_with_the_future(cut: int) -> None:
    data = walk(4, 150)
    whole = backtest(Wandering(), {BTC: data}, leverage=20)
    part = backtest(Wandering(), {BTC: data.iloc[:cut]}, leverage=20)
    pd.testing.assert_frame_equal(whole.equity.iloc[: cut + 1], part.equity)
    assert len(part.fills) >= 4
    pd.testing.assert_frame_equal(whole.fills.iloc[: len(part.fills)], part.fills)


def test_a_run_is_the_same_each_time_and_leaves_the_strategy_alone() -> None:
    strategy = Wandering(every=5)
    data, options = {BTC: walk(2, 200)}, {"latency": RandomLatency(0, 3_000_000), "seed": 3}
    first, second = backtest(strategy, data, **options), backtest(strategy, data, **options)
    pd.testing.assert_frame_equal(first.fills, second.fills)
    pd.testing.assert_frame_equal(first.equity, second.equity)
    other = backtest(strategy, data, **{**options, "seed": 4})
    assert not first.fills["time"].equals(other.fills["time"])
    assert vars(strategy) == {"every": 5}
    assert first.params == {"every": 5}


def test_latency_moves_an_order_along_the_bar() -> None:
    data = bars(*flat(60_000), (60_000, 60_300, 59_700, 60_100))
    prices = {}
    for minutes in (0, 19, 21, 41):
        fills = run({0: lambda ctx: ctx.buy(BTC, "0.1")}, data, latency=FixedLatency(minutes * 60_000)).fills
        prices[minutes] = (fills["price"].iloc[0], fills["time"].iloc[0].minute)
    assert prices == {0: (60_000, 0), 19: (60_000, 19), 21: (59_700, 21), 41: (60_300, 41)}
    assert len(run({0: lambda ctx: ctx.buy(BTC, "0.1")}, data, latency="1h").fills) == 0


def test_orders_still_under_way_at_the_end_are_told() -> None:
    result = run({0: lambda ctx: ctx.buy(BTC, "0.1")}, bars(*flat(60_000), *flat(60_000)), latency="2h")
    assert result.events["kind"].tolist() == ["UNDERWAY"]
    assert len(result.fills) == 0


@pytest.mark.parametrize(
    ("low", "touch", "filled"), [(59_000.0, False, False), (58_999.9, False, True), (59_000.0, True, True)]
)
def test_a_resting_order_needs_the_price_to_go_through_it_or_to_touch_it(low: float, touch: bool, filled: bool) -> None:
    data = bars(*flat(60_000), (60_000, 60_000, low, 60_000))
    result = run({0: lambda ctx: ctx.buy(BTC, "0.1", "59000")}, data, liquidity=BarLiquidity(touch=touch))
    assert len(result.fills) == filled
    assert result.orders["status"].iloc[0] == ("FILLED" if filled else "NEW")
    if filled:
        assert result.fills.iloc[0][["price", "role", "fee"]].tolist() == [59_000, "MAKER", 0.59]


def test_spread_and_slippage_are_paid_by_the_taker() -> None:
    data = bars(*flat(60_000, 3))
    script = {0: lambda ctx: ctx.buy(BTC, "0.1"), 1: lambda ctx: ctx.sell(BTC, "0.1")}
    result = run(script, data, slippage=0.0005, liquidity=BarLiquidity(spread=0.0002))
    assert result.fills["price"].tolist() == [60_036, 59_964]
    impact = run(script, data.assign(volume=10.0), slippage=ImpactSlippage(0.1))
    assert impact.fills["price"].tolist() == [60_600, 59_400]
    # A part of a tick is a whole one, to the disadvantage of the order: 0.6 and 3.8 ticks of 0.1.
    assert run(script, data, slippage=0.000001).fills["price"].tolist() == [60_000.1, 59_999.9]
    small = run(script, data.assign(volume=10.0), slippage=ImpactSlippage(0.0000063))
    assert small.fills["price"].tolist() == [60_000.1, 59_999.9]


def test_only_a_share_of_the_volume_can_be_had() -> None:
    data = bars(*flat(60_000, 3)).assign(volume=[1.0, 0.5, 2.0])
    script = {0: lambda ctx: ctx.buy(BTC, "0.3"), 1: lambda ctx: ctx.buy(BTC, "0.3", "60000")}
    result = run(script, data, liquidity=BarLiquidity(share=0.1))
    assert result.fills["quantity"].tolist() == [0.05, 0.2]
    assert result.orders["status"].tolist() == ["CANCELED", "PARTIALLY_FILLED"]
    assert result.orders["filled"].tolist() == [0.05, 0.2]


@pytest.mark.parametrize(
    ("volume", "share", "most"),
    [(1.001, 1, 1.001), (0.1, 0.29, 0.029), (1.0019, 1, 1.001), (0.1, 0.289, 0.028)],
    ids=["whole volume", "whole share", "part of a step", "part of a share"],
)
def test_volume_is_counted_in_whole_steps_and_loses_none_to_float_noise(
    volume: float, share: float, most: float
) -> None:
    data = bars(*flat(60_000, 3)).assign(volume=volume)
    result = run({0: lambda ctx: ctx.buy(BTC, "2")}, data, liquidity=BarLiquidity(share=share))
    assert result.fills["quantity"].tolist() == [most]


@pytest.mark.parametrize(
    ("path", "exit_price", "kind"),
    [("near", 58_000, "stop"), ("far", 62_000, "profit")],
    ids=["dips first", "climbs first"],
)
def test_a_bracket_ends_where_the_path_of_the_bar_meets_it_first(path: str, exit_price: float, kind: str) -> None:
    data = bars(*flat(60_000, 2), (60_000, 63_000, 57_000, 60_500))
    script = {0: lambda ctx: ctx.buy(BTC, "0.1", tp="62000", sl="58000")}
    result = run(script, data, path=ExtremeOrder(path))
    assert result.fills["price"].tolist() == [60_000, exit_price]
    assert result.positions[BTC].iloc[-1] == 0
    ended = result.orders.set_index("order_id")["status"]
    assert sorted(ended.tolist()) == ["CANCELED", "FILLED", "FILLED"]


@pytest.mark.parametrize(("side", "limit"), [("buy", "59500"), ("sell", "60500")])
def test_a_path_of_your_own_visits_only_its_points(side: str, limit: str) -> None:
    class Straight:
        def points(self, bar: ReplayBar) -> Points:
            return (0, bar.open), (bar.interval - 1, bar.close)

    data = bars(*flat(60_000), *[(60_000, 61_000, 59_000, 60_000)] * 2)
    script = {0: lambda ctx: getattr(ctx, side)(BTC, "0.1", limit)}
    assert len(run(script, data, path=Straight()).fills) == 0
    assert run(script, data).fills["price"].tolist() == [float(limit)]


def test_refused_orders_come_back_with_the_reason() -> None:
    class Careless(Strategy):
        def __init__(self) -> None:
            self.refused: list[str] = []
            self.placed: list[OrderHandle] = []

        def on_start(self, ctx: Context) -> None:
            self.placed = [
                ctx.buy(BTC, "100"),
                ctx.buy(BTC, "0.0001"),
                ctx.buy(BTC, "0.0015"),
                ctx.buy(BTC, "0.1", "60000", tif="POST_ONLY"),
                ctx.sell(BTC, "0.1", reduce_only=True),
                ctx.buy(BTC, "0.1", tp="50000"),
            ]

        def on_reject(self, ctx: Context, placed: OrderHandle) -> None:
            self.refused.append(placed.reason)
            ctx.record(refused=len(self.refused))
            if len(self.refused) == 6:
                ctx.stop("; ".join(self.refused))

    result = backtest(Careless(), {BTC: bars(*flat(60_000, 3))})
    assert result.orders["status"].tolist()[:5] == ["REJECTED"] * 5
    text = result.events["text"].iloc[-1]
    for part in ("initial margin", "stepSize", "would match", "no long position", "trigger"):
        assert part in text, text
    assert result.equity["equity"].tolist() == [10_000, 10_000]


def test_cancels_work_and_orders_are_listed_while_they_live() -> None:
    seen: list[Any] = []

    def look(ctx: Context) -> None:
        seen.append([(placed.order.side, placed.state) for placed in ctx.orders()])

    data = bars(*flat(60_000, 6))
    script = {
        0: lambda ctx: (ctx.buy(BTC, "0.1", "50000"), ctx.sell(BTC, "0.1", "70000"), look(ctx)),
        1: lambda ctx: (look(ctx), ctx.cancel(ctx.orders()[0])),
        2: lambda ctx: (look(ctx), ctx.cancel_all()),
        3: look,
    }
    result = run(script, data)
    assert seen == [
        [("BUY", "SENT"), ("SELL", "SENT")],
        [("BUY", "NEW"), ("SELL", "NEW")],
        [("SELL", "NEW")],
        [],
    ]
    assert result.orders["reason"].tolist() == ["cancelled by its owner"] * 2


def test_what_a_strategy_sees_of_its_account_is_what_the_books_say() -> None:
    seen: list[Any] = []

    def look(ctx: Context) -> None:
        seen.append((ctx.position(BTC), ctx.equity, ctx.balance, ctx.price(BTC), ctx.positions().to_dict("index")))

    data = bars(*flat(60_000, 2), (60_000, 61_000, 60_000, 61_000))
    run({0: lambda ctx: (look(ctx), ctx.buy(BTC, "0.1")), 2: look}, data)
    assert seen[0] == (0, 10_000, 10_000, 60_000, {})
    held = {"quantity": 0.1, "entry_price": 60_000.0, "price": 61_000.0, "unrealized": 100.0, "notional": 6_100.0}
    assert seen[1] == (0.1, 10_096.4, 9_996.4, 61_000, {BTC: held})


def test_targets_count_what_is_under_way() -> None:
    data = bars(*flat(60_000, 4))
    twice = {0: lambda ctx: (ctx.target(BTC, "0.1"), ctx.target(BTC, "0.1")), 1: lambda ctx: ctx.target(BTC, "-0.1")}
    result = run(twice, data)
    assert result.fills["quantity"].tolist() == [0.1, 0.2]
    closed = run({0: lambda ctx: ctx.buy(BTC, "0.1"), 1: lambda ctx: ctx.close_position(BTC)}, data)
    assert closed.positions[BTC].tolist() == [0, 0, 0.1, 0, 0]


def test_every_callback_is_called_in_order() -> None:
    calls: list[str] = []

    class Listening(Strategy):
        def on_start(self, ctx: Context) -> None:
            calls.append("start")
            ctx.buy(BTC, "0.1")

        def on_bar(self, ctx: Context, bar: Bar) -> None:
            calls.append(f"bar {bar.closed // 3_600_000 % 24}")

        def on_book(self, ctx: Context, book: Any) -> None:
            calls.append(f"book {book.mid:g}")

        def on_fill(self, ctx: Context, fill: Fill) -> None:
            calls.append(f"fill {fill.price:g}")

        def on_funding(self, ctx: Context, payment: FundingFee) -> None:
            calls.append(f"funding {payment.payment:g}")

        def on_stop(self, ctx: Context) -> None:
            calls.append("stop")

    backtest(Listening(), {BTC: bars(*flat(60_000, 2), start="2026-01-01 03:00")}, funding=0.0001)
    assert calls == ["start", "fill 60000", "bar 4", "book 60000", "funding -0.6", "bar 5", "book 60000", "stop"]


def test_plain_functions_are_strategies_too() -> None:
    def buy_once(ctx: Context, bar: Bar) -> None:
        if not ctx.position(bar.symbol) and not ctx.underway(bar.symbol):
            ctx.buy(bar.symbol, "0.1")

    fills: list[Fill] = []
    data = {BTC: bars(*flat(60_000, 3))}
    assert backtest(buy_once, data).name == "buy_once"
    backtest({"on_bar": buy_once, "on_fill": lambda ctx, fill: fills.append(fill)}, data)
    assert [fill.quantity for fill in fills] == [0.1]
    with pytest.raises(InputError, match="'on_bra' is not a callback"):
        backtest({"on_bra": buy_once}, data)


def test_parameters_are_named_and_checked() -> None:
    assert Wandering(every=3).params == {"every": 3}
    with pytest.raises(InputError, match="Wandering has no parameter 'evry', only every"):
        Wandering(evry=3)


@pytest.mark.parametrize("warm_up", [1, 4])
def test_a_warm_up_hands_over_bars_and_trades_nothing(warm_up: int) -> None:
    seen: list[str] = []
    data = bars(*flat(60_000, 7))
    run = backtest(lambda ctx, bar: seen.append(ctx.buy(BTC, "0.01").reason), {BTC: data}, warm_up=warm_up)
    assert seen == ["the run is warming up. Nothing is sent"] * warm_up + [""] * (7 - warm_up)
    assert run.fills["time"].tolist() == data.index[warm_up + 1 :].tolist()
    assert run.equity.index.tolist() == [*data.index[warm_up:], data.index[-1] + pd.Timedelta("1h")]


def test_errors_of_a_strategy_come_with_the_time() -> None:
    def broken(ctx: Context, bar: Bar) -> None:
        raise ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError) as caught:
        backtest(broken, {BTC: bars(*flat(60_000, 3))})
    assert caught.value.__notes__ == ["in broken at 2026-01-01 03:00:00+00:00"]


def test_unknown_symbols_and_leverages_are_named() -> None:
    with pytest.raises(UnknownProduct, match="ETHUSDC is not in this run, which has BTCUSDC"):
        run({0: lambda ctx: ctx.buy("ETHUSDC", "1")}, bars(*flat(60_000, 2)))
    with pytest.raises(ActionRejected, match="leverage"):
        run({}, bars(*flat(60_000, 2)), leverage=50)
    with pytest.raises(InputError, match="capital 0"):
        run({}, bars(*flat(60_000, 2)), capital=0)


def test_own_fees_and_product_fields_hold() -> None:
    data = bars(*flat(1.25, 3))
    result = backtest(
        Scripted({0: lambda ctx: ctx.buy("EURUSD", "1000")}),
        {"EURUSD": data},
        products={"EURUSD": {"tick_size": "0.0001", "step_size": "1"}},
        fees=("0.0001", "0.0005"),
        funding=None,
    )
    assert result.fills["fee"].tolist() == [0.625]
    with pytest.raises(InputError, match="'tick', which is no field"):
        backtest(Wandering(), {"EURUSD": data}, products={"EURUSD": {"tick": 1}})


def test_records_come_out_as_a_frame() -> None:
    result = run({0: lambda ctx: ctx.record(a=1.0), 2: lambda ctx: ctx.record(a=2.0, b=3.0)}, bars(*flat(60_000, 3)))
    assert result.records["a"].tolist() == [1.0, 2.0]
    assert result.records.index[0] == pd.Timestamp("2026-01-01 03:00", tz="UTC")


def test_several_symbols_share_one_margin() -> None:
    data = {BTC: bars(*flat(60_000, 2), (60_000, 60_000, 54_000, 54_000)), "ETHUSDC": bars(*flat(3_000, 3))}
    script = {0: lambda ctx: (ctx.buy(BTC, "0.1"), ctx.sell("ETHUSDC", "1"))}
    result = backtest(Scripted(script), data, capital=700, leverage=20, funding=None)
    assert list(result.positions.columns) == [BTC, "ETHUSDC"]
    assert "LIQUIDATION" in result.fills["type"].tolist()
    assert result.attribution.loc["TOTAL", "net"] == pytest.approx(result.equity["equity"].iloc[-1] - 700)


def test_no_order_trades_at_a_price_from_before_it_was_sent() -> None:
    """In a gap, and inside a longer bar, an order waits for the next price of its symbol."""
    clock = bars(*flat(100.0, 60), every="min")
    gap = bars(*[(200.0 + n, 200.0 + n, 200.0 + n, 200.0 + n) for n in range(60)], every="min")
    gap = gap.drop(gap.index[20:30])
    longer = bars(*flat(300.0), (300.0, 310.0, 290.0, 305.0))
    longer = longer.set_axis(pd.date_range(clock.index[0], periods=2, freq="30min"))
    sent = {10: "GAP", 25: "GAP", 35: "LONG"}

    def act(ctx: Context, bar: Bar) -> None:
        number = len(ctx.bars("CLOCK"))
        if bar.symbol == "CLOCK" and number in sent:
            ctx.buy(sent[number], "1")

    data = {"CLOCK": clock, "GAP": gap, "LONG": longer}
    run = backtest(act, data, funding=None, path=ExtremeOrder("low"))
    begun = clock.index[0]
    times = ((run.fills["time"] - begun) / pd.Timedelta("1min")).tolist()
    assert run.fills[["symbol", "price"]].to_numpy().tolist() == [["GAP", 210.0], ["GAP", 230.0], ["LONG", 290.0]]
    assert times[:2] == [10, 30]
    assert run.fills["time"].is_monotonic_increasing


def test_a_cancel_needs_no_price() -> None:
    whole = bars(*flat(100.0, 3), (90.0, 90.0, 90.0, 90.0), (90.0, 90.0, 90.0, 90.0))
    script = Scripted({0: lambda ctx: ctx.buy("A", "1", "95"), 1: lambda ctx: ctx.cancel_all()})
    run = backtest(script, {"A": whole.drop(whole.index[2])}, funding=None)
    assert run.orders["status"].tolist() == ["CANCELED"]


def test_funding_in_a_gap_is_valued_at_the_last_close() -> None:
    rows = [*flat(100.0, 2), *flat(110.0, 3), *flat(120.0, 3)]
    whole = bars(*rows, start="2026-01-01 00:00")
    run = backtest(Scripted({0: lambda ctx: ctx.buy("A", "1")}), {"A": whole.drop(whole.index[3:6])}, funding=0.001)
    assert run.funding[["price", "payment"]].to_numpy().tolist() == [[110.0, -0.11]]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"latency": "-60s"}, "latency '-60s' is not a span of time"),
        ({"slippage": -0.001}, "slippage is -0.001, but must not be negative"),
        ({"funding": "often"}, "funding 'often' is not a rate"),
        ({"warm_up": -1}, "warm_up is -1, but must be below the data's"),
        ({"warm_up": 3}, "warm_up is 3, but must be below the data's 3 closing times"),
        ({"funding": pd.Series([float("nan")], [pd.Timestamp("2026-01-01 02:00")])}, "funding nan is not a rate"),
    ],
)
def test_settings_that_can_not_be_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        run({}, bars(*flat(60_000, 3)), **options)


def test_models_refuse_what_can_not_be() -> None:
    negative = (lambda: BarLiquidity(spread=-0.1), lambda: BarLiquidity(share=-0.1))
    for make in (lambda: ExtremeOrder("middle"), lambda: RandomLatency(5, 1), *negative):
        with pytest.raises(InputError):
            make()


def test_a_target_that_is_no_number_is_told_in_words() -> None:
    with pytest.raises(InputError, match="a target of nan is not a quantity"):
        run({0: lambda ctx: ctx.target(BTC, float("nan"))}, bars(*flat(60_000, 3)))


class Careless(Strategy):
    """Keeps its state in the class, as beginners do."""

    prices: list[float] = []
    mean = SMA(3)

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        self.prices.append(bar.close)
        ctx.record(count=len(self.prices), mean=self.mean.update(bar.close))


def test_state_in_the_class_does_not_reach_the_next_run() -> None:
    data = walk(3, 20)
    first, second = (backtest(strategy, {BTC: data}) for strategy in (Careless, Careless()))
    pd.testing.assert_frame_equal(first.records, second.records)
    assert second.records["count"].iloc[-1] == 20
    assert Careless.prices == []


def test_nothing_is_told_after_a_stop() -> None:
    told: list[str] = []

    class Once(Strategy):
        where = "on_start"

        def on_start(self, ctx: Context) -> None:
            if self.where == "on_start":
                ctx.stop("enough")
            ctx.buy("A", "1")

        def on_fill(self, ctx: Context, fill: Fill) -> None:
            told.append("fill")
            ctx.stop("enough")

        def on_bar(self, ctx: Context, bar: Bar) -> None:
            told.append(bar.symbol)
            ctx.stop("enough")

    data = {name: bars(*flat(100.0, 5)) for name in "AB"}
    for where, expected in (("on_start", []), ("on_fill", ["fill"])):
        told.clear()
        result = backtest(Once(where=where), data)
        assert told == expected
        assert result.events["kind"].tolist()[0] == "STOP"
    told.clear()
    backtest({"on_bar": lambda ctx, bar: (told.append(bar.symbol), ctx.stop())}, data)
    assert told == ["A"]


def test_a_bar_ends_no_later_than_the_next_one_opens() -> None:
    """Months: January's length would reach into March, and an order of February's close into the middle of it."""
    data = bars(*[(60_000 + 100 * at,) * 4 for at in range(6)], start="2026-01-01", every="MS")
    data["high"] += 50
    result = run({at: lambda ctx: ctx.buy(BTC, "0.01") for at in range(5)}, data, path=ExtremeOrder("high"))
    assert result.fills["time"].tolist() == data.index[1:].tolist()
    assert result.fills["price"].tolist() == data["open"].tolist()[1:]
    assert result.equity.index[1:-1].tolist() == data.index[1:].tolist()


def test_what_runs_over_the_same_bars_share_is_that_of_their_own_settings() -> None:
    data = walk(11, 120)
    shared = read_bars({BTC: data})
    for ticks in ("0.1", "0.5", "0.1"):
        for first in ("near", "far"):
            options: dict[str, Any] = {"products": {BTC: {"tick_size": ticks}}, "path": ExtremeOrder(first)}
            together, alone = (backtest(Wandering(), bars_, **options) for bars_ in (shared, {BTC: data}))
            for name in ("fills", "equity", "orders"):
                pd.testing.assert_frame_equal(getattr(together, name), getattr(alone, name))
            assert set((together.fills["price"] * 10 % (10 * float(ticks))).round(6)) <= {0.0, 10 * float(ticks)}


def test_a_target_below_one_step_is_rejected_and_noted() -> None:
    refused: list[str] = []

    class Small(Scripted):
        def on_reject(self, ctx: Context, placed: OrderHandle) -> None:
            refused.append(placed.reason)

    script = {
        0: lambda ctx: ctx.target(BTC, "0.0004"),
        1: lambda ctx: ctx.target(BTC, "-0.0004", "59000"),
        2: lambda ctx: ctx.target(BTC, 0),
        3: lambda ctx: ctx.target(BTC, "0.01"),
        4: lambda ctx: ctx.target(BTC, "0.0004"),
    }
    strategy = Small(script)
    result = backtest(strategy, {BTC: bars(*flat(60_000, 7))}, funding=None)
    reason = "a target of 0.0004 BTCUSDC is less than half a step of 0.001. The smallest is 0.001"
    assert refused == [reason, reason]
    assert result.events["kind"].tolist() == ["REJECTED", "REJECTED"]
    assert result.fills["quantity"].tolist() == [0.01, 0.01], "with a position, a target near nothing closes it"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"products": {"BTCUSD": {"tick_size": 1}}}, "products has 'BTCUSD', .* Did you mean 'BTCUSDC'"),
        ({"products": {BTC: {"ticksize": 1}}}, r"products\['BTCUSDC'\] has 'ticksize', .* Did you mean 'tick_size'"),
        ({"funding": {"BTCUSD": 0.0001}}, "funding has 'BTCUSD', .* Did you mean 'BTCUSDC'"),
        ({"funding": "intrest"}, "funding 'intrest' is not a rate"),
        ({"captal": 3}, r"backtest has 'captal', which is no setting\. Did you mean 'capital'"),
        ({"queue": "log"}, "queue is a setting of runs on events, not on bars"),
    ],
)
def test_misspelt_keys_are_named_with_the_nearest(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        run({}, bars(*flat(60_000, 3)), **options)
