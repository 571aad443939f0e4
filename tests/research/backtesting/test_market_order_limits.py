"""A market order at each limit is filled or refused as the venue's core does it, though most never reach the core.

The broker fills those that certainly pass. Each test runs sizes around a limit twice: as usual, and with an order that
names the default slippage. That is the same order, but one that names its slippage is always judged by the core.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.research.markets import Scripted, bars, flat, walk
from toolkit import orders
from toolkit.checks import DEFAULT_SLIPPAGE
from toolkit.errors import InputError
from toolkit.products import Product
from toolkit.research import Results, Strategy, backtest
from toolkit.research.account_data import Fill
from toolkit.research.backtesting.models import BarLiquidity, ImpactSlippage, RatioSlippage
from toolkit.research.context import Context
from toolkit.research.market_data import Bar
from toolkit.venue.simulation.replay import ReplayBar

AAA, BTC = "AAA", "BTCUSDC"
DATA = bars(*flat(100.0, 4), start="2026-01-01 01:00")
SIDES = pytest.mark.parametrize("side", ["BUY", "SELL"])


def once(side: str, size: str, held: str = "", others: bool = False, judged: bool = False, **options: Any) -> Results:
    """Return a run that trades `held` at the first bar and `size` at the second; `judged` by the core."""
    named = {"slippage": DEFAULT_SLIPPAGE} if judged else {}

    def on_bar(ctx: Context, bar: Bar) -> None:
        number = ctx.bars(AAA).length
        wanted = {1: held, 2: size}.get(number, "") if bar.symbol == AAA else ""
        if wanted:
            (ctx.buy if (side == "BUY") is (wanted[0] != "-") else ctx.sell)(AAA, wanted.lstrip("-"), **named)

    data = {AAA: DATA, BTC: bars(*flat(60_000.0, 4), start="2026-01-01 01:00")} if others else {AAA: DATA}
    given = {"capital": 1_000, "leverage": 10, "fees": ("0.0001", "0.0005"), "funding": None, **options}
    given.setdefault("products", {AAA: {"tick_size": "0.01", "step_size": "0.001", **given.pop("fields", {})}})
    return backtest(on_bar, data, **given)


def filled(side: str, size: str, **options: Any) -> bool:
    """Return whether the last order was filled, after a comparison with the core's way."""
    quick, thorough = (once(side, size, judged=judged, **options) for judged in (False, True))
    for name in ("fills", "orders", "equity", "positions", "transfers"):
        pd.testing.assert_frame_equal(getattr(quick, name), getattr(thorough, name))
    return bool(quick.orders["status"].iloc[-1] == "FILLED")


@SIDES
@pytest.mark.parametrize(
    ("size", "fields", "passes"),
    [
        ("0.100", {}, True),  # worth 10 USDC, the least
        ("0.099", {}, False),
        ("50", {"max_order_quantity": "50"}, True),
        ("50.001", {"max_order_quantity": "50"}, False),
    ],
)
def test_the_least_value_and_the_largest_quantity_pass(
    side: str, size: str, fields: dict[str, str], passes: bool
) -> None:
    assert filled(side, size, fields=fields) == passes


class Ticks:
    """The same number of ticks for each order, whatever the bound."""

    def __init__(self, count: int) -> None:
        self.count = count

    def ticks(self, price: int, steps: int, bar: Any) -> int:
        return self.count


@SIDES
@pytest.mark.parametrize(("ticks", "passes"), [(300, True), (302, False)])
def test_a_price_at_the_bound_of_slippage_is_filled_and_one_beyond_it_is_not(
    side: str, ticks: int, passes: bool
) -> None:
    """A market order that names no slippage is filled up to the default one, here 3.00, from the last price of 100."""
    assert filled(side, "1", slippage=Ticks(ticks)) == passes


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"slippage": 0.031}, "at most 0.03"),
        ({"slippage": RatioSlippage(0.0301)}, "at most 0.03"),
        ({"slippage": 0.029, "liquidity": BarLiquidity(spread=0.004)}, "at most 0.028"),
        ({"slippage": 0.011, "products": {BTC: {"max_slippage_pct": "0.01"}}}, "at most 0.01"),
    ],
)
def test_a_constant_cost_that_no_market_order_could_pay_is_refused_at_the_start(options: Any, most: str) -> None:
    with pytest.raises(InputError, match=f"above the bound of a market order .* none would be filled.*{most}"):
        backtest(lambda ctx, bar: None, {BTC: bars(*flat(60_000.0, 4))}, **options)


@SIDES
@settings(max_examples=6, deadline=None)
@given(steps=st.integers(1, 40_000), volume=st.integers(1, 100), coefficient=st.sampled_from([0.01, 0.1, 0.5]))
def test_a_market_order_is_filled_as_far_as_its_bound(side: str, steps: int, volume: int, coefficient: float) -> None:
    """The largest part whose impact is within 3.00 of 100 is filled at its own impact."""
    model, sign = ImpactSlippage(coefficient), 1 if side == "BUY" else -1
    sizes = {1: lambda ctx: (ctx.buy if sign > 0 else ctx.sell)(AAA, f"{steps / 1000}")}
    data = {AAA: bars(*flat(100.0, 4)).assign(volume=float(volume))}
    free = {"capital": 10_000_000, "fees": ("0", "0"), "funding": None, "slippage": model}
    fields = {"tick_size": "0.01", "step_size": "0.001", "min_order_value": "0.1"}
    run = backtest(Scripted(sizes), data, products={AAA: fields}, **free)
    bar = ReplayBar(0, 0, 10_000, 10_000, 10_000, 10_000, volume * 1000)
    within = [part for part in range(steps, 0, -1) if model.ticks(10_000, part, bar) <= 301]
    part = within[0] if within else 0
    assert run.fills["quantity"].sum() * 1000 == pytest.approx(part)
    if part:
        assert (run.fills["price"].iloc[0] - 100) * sign == pytest.approx(
            min(model.ticks(10_000, part, bar), 300) / 100
        )
    [order] = run.orders.itertuples()
    assert (order.status, bool(order.reason)) == (("FILLED", False) if part == steps else ("CANCELED", True))


def test_a_sweep_over_costs_falls_with_them_up_to_the_bound() -> None:
    data = {BTC: walk(4, 100)}
    turns = {at: (lambda ctx, at=at: ctx.target(BTC, "0.05" if at % 20 else "-0.05")) for at in range(0, 100, 10)}
    costs = [0, 0.0005, 0.01, 0.0299, 0.03]
    ends = [backtest(Scripted(turns), data, slippage=cost, funding=None).measures()["profit"] for cost in costs]
    assert ends == sorted(ends, reverse=True)
    assert len(set(ends)) == len(costs)


def test_a_stop_of_a_position_too_large_for_its_bound_leaves_in_parts() -> None:
    """20 of a bar's 100 have an impact of 4.5 %: about 9 are sold at each price, not none while it falls to 60."""
    rows = [*flat(100.0, 3), (100, 100, 97, 97), (97, 97, 60, 60), *flat(60.0, 3)]
    stop = orders.stop(AAA, "SELL", "98")
    script = {0: lambda ctx: ctx.buy(AAA, "8"), 1: lambda ctx: ctx.buy(AAA, "8"), 2: lambda ctx: ctx.place(stop)}
    fields = {"tick_size": "0.01", "step_size": "0.1", "min_order_value": "1"}
    data = {AAA: bars(*rows).assign(volume=100.0)}
    run = backtest(Scripted(script), data, products={AAA: fields}, funding=None, slippage=ImpactSlippage())
    assert run.positions[AAA].iloc[-1] == 0
    sold = run.fills[run.fills["side"] == "SELL"]
    assert len(sold) > 1
    assert run.events["kind"].tolist() == ["UNTRIGGERED"]
    assert run.audited_in_short() == "execution: 1 exit found too little at its trigger"
    assert sold["price"].iloc[0] > 95


@pytest.mark.parametrize(
    ("held", "others", "fees", "bought", "sold"),
    [
        ("", False, ("0.0001", "0.0005"), "96.618", "99.502"),
        ("", True, ("0.03", "0"), "75.187", "76.923"),
        ("20", True, ("-0.0001", "0.02"), "61.788", "63.333"),
        ("20", False, None, "77.104", "79.403"),
        ("-20", False, ("0.0001", "0.0005"), "116.425", "119.303"),
        ("-20", True, ("0", "0.02"), "94.796", "96.666"),
    ],
)
def test_margin_is_enough_for_the_same_sizes(held: str, others: bool, fees: Any, bought: str, sold: str) -> None:
    """The largest sizes at 10x: the margin of what is then held and the higher fee rate come from 1,000 USDC less fees.

    A buy needs its margin at 103, the bound of its slippage. A sale needs it at the mark price of 100.
    """
    for side, largest in (("BUY", bought), ("SELL", sold)):
        above = str(Decimal(largest) + Decimal("0.001"))
        found = [filled(side, size, held=held, others=others, fees=fees) for size in (largest, above)]
        assert found == [True, False], side


@SIDES
@pytest.mark.parametrize("capital", [1_000, 100_000])
def test_the_largest_leverage_and_notional_are_those_of_the_venue(side: str, capital: int) -> None:
    """BTCUSDC's first tier ends at 20 million, here there are no more than 40,000 USDC in all."""
    fields = {"max_position_notional": "40000"}
    options = {"held": "100", "capital": capital, "leverage": 40, "fields": fields}
    sizes = "279", "285", "286", "299.999", "300", "301"
    rows = [filled(side, size, slippage=ratio, **options) for size in sizes for ratio in (0.0, 0.001)]
    assert rows[0]
    assert not rows[-1]


@SIDES
def test_an_isolated_position_takes_more_as_the_core_would(side: str) -> None:
    seen: list[Product] = []
    backtest(lambda ctx, bar: seen.append(ctx.product(AAA)), {AAA: DATA})
    options = {"held": "10", "products": {AAA: replace(seen[0], only_isolated=True)}}
    assert filled(side, "20", **options)
    run = once(side, "20", **options)
    assert run.equity["balance"].iloc[-1] == pytest.approx(1_000 - 30 * 100 * 0.0005)
    assert run.positions[AAA].iloc[-1] == (30 if side == "BUY" else -30)


@SIDES
def test_an_isolated_position_wakes_the_run_by_its_own_margin(side: str) -> None:
    """30 at 100 with 10x has a margin of 300: it is gone at 10 % less, where the account still has 700."""
    seen = []
    backtest(lambda ctx, bar: seen.append(ctx.product(AAA)), {AAA: DATA})
    sign = 1 if side == "BUY" else -1
    rows = [*flat(100.0, 2), *((100.0 - sign * step,) * 4 for step in range(0, 16, 3)), *flat(100.0 - sign * 15)]
    balances: list[float] = []

    def on_bar(ctx: Context, bar: Bar) -> None:
        if ctx.bars().length == 1:
            ctx.target(AAA, 30 * sign)
        balances.append(ctx.balance)

    runs = [
        backtest(
            on_bar,
            {AAA: bars(*rows)},
            products={AAA: replace(seen[0], only_isolated=True)},
            **{"capital": 1_000, "leverage": 10, "fees": ("0", "0"), "funding": None, "every_point": thorough},
        )
        for thorough in (False, True)
    ]
    for name in ("fills", "equity", "events"):
        pd.testing.assert_frame_equal(getattr(runs[0], name), getattr(runs[1], name))
    assert runs[0].fills["type"].tolist()[-1] == "LIQUIDATION"
    assert balances[:4] == [1_000.0] * 4, "with the margin that the position has of its own"
    assert runs[0].equity["equity"].iloc[-1] == 730.0, "the first price beyond it is 9 away"


@SIDES
@pytest.mark.parametrize(("moved", "allowed"), [(0.0, True), (12.0, False)])
def test_a_leverage_is_judged_at_the_present_price_after_quiet_bars(side: str, moved: float, allowed: bool) -> None:
    """60 at 100 with 10x needs 600 of 1,000. At 5x it needs 1,200 of 1,720 or of 280, at 7x 857."""
    sign = 1 if side == "BUY" else -1
    rows = [*flat(100.0, 2), *flat(100.0 - sign * moved / 2, 1), *flat(100.0 - sign * moved, 3)]
    asked = []

    def on_bar(ctx: Context, bar: Bar) -> None:
        number = ctx.bars().length
        if number == 1:
            ctx.target(AAA, 60 * sign)
        elif number == 6:
            try:
                ctx.set_leverage(AAA, 7)
                asked.append(True)
            except Exception as refusal:
                asked.append(type(refusal).__name__)

    backtest(on_bar, {AAA: bars(*rows)}, capital=1_000, leverage=10, fees=("0", "0"), funding=None)
    assert asked == [True if allowed else "ActionRejected"]


@SIDES
def test_an_order_sent_from_a_fill_in_a_gap_trades_at_the_price_after_it(side: str) -> None:
    """The order rests 1 away and the price jumps by 10: the last price is that after the jump, not that of the fill."""
    sign = 1 if side == "BUY" else -1
    rows = [*flat(100.0, 2), *flat(100.0 - 10 * sign, 2)]
    other = "SELL" if side == "BUY" else "BUY"

    class Turning(Strategy):
        def on_bar(self, ctx: Context, bar: Bar) -> None:
            if ctx.bars().length == 1:
                (ctx.buy if side == "BUY" else ctx.sell)(AAA, "5", f"{100 - sign}")

        def on_fill(self, ctx: Context, fill: Fill) -> None:
            if fill.role == "MAKER":
                (ctx.sell if side == "BUY" else ctx.buy)(AAA, "8")

    run = backtest(Turning(), {AAA: bars(*rows)}, capital=1_000, funding=None)
    assert run.fills["price"].tolist() == [100.0 - sign, 100.0 - 10 * sign]
    assert run.fills["side"].tolist() == [side, other]


def test_a_run_on_bars_has_no_book_and_says_so() -> None:
    with pytest.raises(InputError, match=r"bars have no book\. Give the backtest Events"):
        backtest(lambda ctx, bar: ctx.book(), {AAA: DATA})
