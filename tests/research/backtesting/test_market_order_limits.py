"""A market order at each limit is filled or refused as the venue's core does it, though most never reach the core.

`SimulatedBroker._fill_market_order` fills those that certainly pass. Each test runs sizes around a limit twice: as
usual, and with every order judged by the core.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.research.markets import bars, flat
from toolkit.checks import DEFAULT_SLIPPAGE
from toolkit.research import Results, backtest
from toolkit.research.backtesting.broker import SimulatedBroker
from toolkit.research.backtesting.models import RatioSlippage
from toolkit.research.context import Context
from toolkit.research.market_data import Bar

AAA, BTC = "AAA", "BTCUSDC"
DATA = bars(*flat(100.0, 4), start="2026-01-01 01:00")
SIDES = pytest.mark.parametrize("side", ["BUY", "SELL"])


def once(side: str, size: str, held: str = "", others: bool = False, **options: Any) -> Results:
    """Return a run that trades `held` at the first bar and `size` at the second."""

    def on_bar(ctx: Context, bar: Bar) -> None:
        number = ctx.bars(AAA).length
        wanted = {1: held, 2: size}.get(number, "") if bar.symbol == AAA else ""
        if wanted:
            (ctx.buy if (side == "BUY") is (wanted[0] != "-") else ctx.sell)(AAA, wanted.lstrip("-"))

    data = {AAA: DATA, BTC: bars(*flat(60_000.0, 4), start="2026-01-01 01:00")} if others else {AAA: DATA}
    given = {"capital": 1_000, "leverage": 10, "fees": ("0.0001", "0.0005"), "funding": None, **options}
    given["products"] = {AAA: {"tick_size": "0.01", "step_size": "0.001", **given.pop("fields", {})}}
    return backtest(on_bar, data, **given)


def both(monkeypatch: pytest.MonkeyPatch, side: str, size: str, **options: Any) -> tuple[bool, bool]:
    """Return whether the last order was filled and whether directly, after a comparison with the core's way."""
    found, fill = list[bool](), SimulatedBroker._fill_market_order

    def watched(self: Any, *args: Any) -> bool:
        found.append(fill(self, *args))
        return found[-1]

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedBroker, "_fill_market_order", watched)
        quick = once(side, size, **options)
        patch.setattr(SimulatedBroker, "_fill_market_order", lambda *args: False)
        thorough = once(side, size, **options)
    for name in ("fills", "orders", "equity", "positions", "transfers"):
        pd.testing.assert_frame_equal(getattr(quick, name), getattr(thorough, name))
    return quick.orders["status"].iloc[-1] == "FILLED", found[-1]


@SIDES
@pytest.mark.parametrize(
    ("size", "fields", "filled"),
    [
        ("0.100", {}, True),  # worth 10 USDC, the least
        ("0.099", {}, False),
        ("50", {"max_order_quantity": "50"}, True),
        ("50.001", {"max_order_quantity": "50"}, False),
    ],
)
def test_the_least_value_and_the_largest_quantity_pass(
    monkeypatch: pytest.MonkeyPatch, side: str, size: str, fields: dict[str, str], filled: bool
) -> None:
    assert both(monkeypatch, side, size, fields=fields) == (filled, filled)


@SIDES
@pytest.mark.parametrize(
    ("slippage", "filled"), [(float(DEFAULT_SLIPPAGE), True), (float(DEFAULT_SLIPPAGE) + 0.0001, False)]
)
def test_a_price_at_the_bound_of_slippage_is_filled_and_one_beyond_it_is_not(
    monkeypatch: pytest.MonkeyPatch, side: str, slippage: float, filled: bool
) -> None:
    """A market order that names no slippage is filled up to the default one from the last price."""
    assert both(monkeypatch, side, "1", slippage=RatioSlippage(slippage)) == (filled, filled)


@SIDES
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("held", ["", "20", "-20"])
@pytest.mark.parametrize("fees", [("0.0001", "0.0005"), ("-0.0001", "0.02"), ("0.03", "0"), None])
def test_margin_is_enough_for_the_same_sizes(
    monkeypatch: pytest.MonkeyPatch, side: str, others: bool, held: str, fees: Any
) -> None:
    """Sizes from well below to above what 1,000 USDC carry at 10x. Filled ones come first, and directly where it is
    certain: each but those of the last half per cent, whose margin only the core knows to the cent.
    """
    sizes = [50 + 2.5 * number for number in range(30)]
    found = [both(monkeypatch, side, f"{size:g}", held=held, others=others, fees=fees) for size in sizes[::5]]
    filled = [one for one, _ in found]
    assert filled == sorted(filled, reverse=True), "no larger one is filled where a smaller one is refused"
    assert filled[0]
    assert not filled[-1] or held == "-20"
    assert [direct for _, direct in found if direct] == [True] * sum(direct for _, direct in found)
    assert sum(direct for _, direct in found) >= sum(filled) - 1


@SIDES
@pytest.mark.parametrize("capital", [1_000, 100_000])
def test_the_largest_leverage_and_notional_are_those_of_the_venue(
    monkeypatch: pytest.MonkeyPatch, side: str, capital: int
) -> None:
    """BTCUSDC's first tier ends at 20 million, here there are no more than 40,000 USDC in all."""
    fields = {"max_position_notional": "40000"}
    rows = [
        both(monkeypatch, side, size, held="100", capital=capital, leverage=40, fields=fields, slippage=slippage)
        for size in ("279", "285", "286", "299.999", "300", "301")
        for slippage in (0.0, 0.001)
    ]
    filled = [one for one, _ in rows]
    assert any(filled)
    assert not all(filled)


@SIDES
def test_an_isolated_position_is_filled_by_the_core(monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    seen = []
    backtest(lambda ctx, bar: seen.append(ctx.product(AAA)), {AAA: DATA})
    isolated = replace(seen[0], only_isolated=True)
    real = backtest

    def with_product(strategy: Any, data: Any, **options: Any) -> Results:
        return real(strategy, data, **{**options, "products": {AAA: isolated}})

    with monkeypatch.context() as patch:
        patch.setattr("tests.research.backtesting.test_market_order_limits.backtest", with_product)
        assert both(monkeypatch, side, "20", held="10") == (True, False)
        run = once(side, "20", held="10")
    assert run.equity["balance"].iloc[-1] == pytest.approx(1_000 - 30 * 100 * 0.0005)
    assert run.positions[AAA].iloc[-1] == (30 if side == "BUY" else -30)


@SIDES
def test_an_isolated_position_wakes_the_run_by_its_own_margin(side: str) -> None:
    """30 at 100 with 10x has a margin of 300: it is gone at 10 % less, where the account still has 700."""
    seen = []
    backtest(lambda ctx, bar: seen.append(ctx.product(AAA)), {AAA: DATA})
    sign = 1 if side == "BUY" else -1
    rows = [*flat(100.0, 2), *((100.0 - sign * step,) * 4 for step in range(0, 16, 3)), *flat(100.0 - sign * 15)]
    runs = [
        backtest(
            lambda ctx, bar: ctx.target(AAA, 30 * sign) if ctx.bars().length == 1 else None,
            {AAA: bars(*rows)},
            products={AAA: replace(seen[0], only_isolated=True)},
            **{"capital": 1_000, "leverage": 10, "fees": ("0", "0"), "funding": None, "every_point": thorough},
        )
        for thorough in (False, True)
    ]
    for name in ("fills", "equity", "events"):
        pd.testing.assert_frame_equal(getattr(runs[0], name), getattr(runs[1], name))
    assert runs[0].fills["type"].tolist()[-1] == "LIQUIDATION"
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
