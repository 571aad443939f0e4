"""A market order at each limit is filled or refused as the venue's core does it, though most never reach the core.

`SimulatedBroker._fill_market_order` fills those that certainly pass. Each test runs sizes around a limit twice: as
usual, and with every order judged by the core.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from tests.research.markets import bars, flat
from toolkit.errors import InputError
from toolkit.research import Strategy, backtest
from toolkit.research.account_data import Fill
from toolkit.research.context import Context
from toolkit.research.market_data import Bar

AAA, BTC = "AAA", "BTCUSDC"
DATA = bars(*flat(100.0, 4), start="2026-01-01 01:00")
SIDES = pytest.mark.parametrize("side", ["BUY", "SELL"])


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
