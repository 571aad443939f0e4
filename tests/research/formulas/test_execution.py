"""The account of execution: by hand, and at the head of what is shown of a run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.research.markets import Scripted, bars, flat, walk
from toolkit import orders
from toolkit.research import Results, backtest, paper, vectorised
from toolkit.research.backtesting.models import ImpactSlippage
from toolkit.research.context import Context
from toolkit.research.market_data import Bar

GRID = {"X": {"tick_size": "0.01", "step_size": "1", "min_order_value": "1"}}
FREE: dict[str, Any] = {"products": GRID, "fees": ("0", "0"), "funding": None, "capital": 100_000}


def run(script: dict[int, Any], data: pd.DataFrame, **options: Any) -> Results:
    return backtest(Scripted(script), {"X": data}, **(FREE | options))


def test_what_a_run_paid_against_the_prices_of_its_decisions_by_hand() -> None:
    """Bought 10 at 102 decided at 100, sold 4 at a limit of 105 decided at 102, 6 by a stop at 95 that a gap passed."""
    rows = [*flat(100, 2), *flat(102, 2), (102, 106, 102, 104), *flat(104, 1), *flat(92, 2)]
    stop = orders.stop("X", "SELL", "95", trigger_by="LAST_PRICE")
    script = {
        1: lambda ctx: ctx.buy("X", "10"),
        2: lambda ctx: (ctx.sell("X", "4", "105"), ctx.place(stop)),
    }
    found = run(script, bars(*rows)).execution()
    assert found[["shortfall_market", "shortfall_limit", "shortfall_trigger"]].tolist() == [20, -12, 18]
    assert found["shortfall"] == 26
    assert found["unprotected"] == pytest.approx(1 / 4), "of the four hours in the position the first"
    assert (found["orders"], found["market_orders"], found["found_nothing"]) == (3, 1, 0)


def test_a_take_profit_protects_nothing_and_a_trailing_stop_does_although_it_has_passed_the_entry() -> None:
    rows = [*flat(100, 2), *[(p, p + 1, p, p + 1) for p in range(100, 130)], *flat(100, 2)]

    def enter(exit_: Any) -> Any:
        return {0: lambda ctx: (ctx.buy("X", "1"), exit_(ctx))}

    trailing = run(enter(lambda ctx: ctx.trailing_stop("X", 0.05)), bars(*rows))
    taking = run(enter(lambda ctx: ctx.take_profit("X", "150")), bars(*rows))
    assert trailing.metrics()["unprotected"] == 0
    assert taking.metrics()["unprotected"] == 1
    assert math.isnan(run({}, bars(*rows)).metrics()["unprotected"])


def test_market_orders_that_found_nothing_come_first() -> None:
    """An order of two bars' volume with an impact of more than 3 % for the least step is filled by nothing."""
    data = walk(3, 80).assign(volume=20.0)
    turns = {at: (lambda ctx, at=at: ctx.buy("BTCUSDC", "0.01" if at % 2 else "0.02")) for at in range(1, 60)}
    cancelled: list[Any] = []

    class Told(Scripted):
        def on_cancel(self, ctx: Context, placed: Any) -> None:
            cancelled.append((placed.state, placed.reason))

    options = {"slippage": ImpactSlippage(20), "funding": None}
    found = backtest(Told(turns), {"BTCUSDC": data}, **options)
    told = list(cancelled)
    text = "59 of 59 market orders found nothing"
    assert found.audited_in_short() == f"execution: {text}"
    assert text in repr(found)
    assert text in found._repr_html_()
    assert found.audit().index[0] == "execution"
    assert found.audit().loc["execution", "detail"] == text
    assert found.metrics()["found_nothing"] == 59
    assert found.events["kind"].value_counts()["CUT"] == len(told) == 59
    assert {state for state, _ in told} == {"CANCELED"}
    assert all("nothing more to take at the market order's bound" in reason for _, reason in told)
    part = backtest(Scripted(turns), {"BTCUSDC": data}, **(options | {"slippage": ImpactSlippage(1.2)}))
    row = part.metrics()
    assert row["cut"] + row["found_nothing"] + (part.orders["status"] == "FILLED").sum() == 59
    assert row["cut"] == ((part.orders["filled"] > 0) & (part.orders["status"] == "CANCELED")).sum() > 0


def test_own_cancels_are_no_cuts() -> None:
    rows = [*flat(100, 2), (100, 102, 98, 100), *flat(100, 2)]
    script = {
        0: lambda ctx: ctx.one_cancels_other(ctx.buy("X", "1", "99"), ctx.sell("X", "1", "110")),
        1: lambda ctx: ctx.buy("X", "1", "90"),
        3: lambda ctx: ctx.cancel_all("X"),
    }
    found = run(script, bars(*rows))
    assert found.execution()[["cancelled", "cut", "found_nothing"]].tolist() == [2, 0, 0]
    assert found.audited_in_short() == ""


def test_constant_weights_that_drift_are_named_and_a_run_without_orders_is_unknown() -> None:
    prices = 100 * np.linspace(1, 2, 200)
    data = pd.DataFrame(
        dict.fromkeys(("open", "high", "low", "close"), prices),
        index=pd.date_range("2026-01-01", periods=200, freq="h", tz="UTC"),
    )
    drifting = vectorised(data, np.full(200, 0.5), sizing="equity", funding=None)
    assert "positions drift up to 16.8% from their targets" in repr(drifting)
    kept = vectorised(data, np.full(200, 0.5), sizing="equity", rebalance="1D", funding=None)
    assert kept.audited_in_short() == ""
    assert pd.isna(kept.audit().loc["execution", "found"])
    assert kept.metrics()[["rejected", "found_nothing", "unprotected", "shortfall"]].isna().all()


@pytest.mark.parametrize(
    ("target", "loss"),
    [
        (0.01, 0.01),
        *(pytest.param(*both, marks=pytest.mark.slow) for both in ((0.02, 0.01), (0.01, 0.02), (0.02, 0.02))),
    ],
)
def test_gaps_that_pass_a_bracket_are_counted_beside_the_rule_that_enters_anyhow(target: float, loss: float) -> None:
    """Entered at each fourth bar of a walk whose opens jump by more than the nearer exit at times."""
    data = walk(5, 400, wild=0.05).round(0)

    def strategy(if_reached: Any) -> Any:
        def on_bar(ctx: Context, bar: Bar) -> None:
            if ctx.bars().length % 4 == 0 and not ctx.position(bar.symbol) and not ctx.orders():
                exits = {"take_profit": round(bar.close * (1 + target)), "stop_loss": round(bar.close * (1 - loss))}
                ctx.bracket(bar.symbol, "0.01", if_reached=if_reached, **exits)

        return on_bar

    refused, naive = (backtest(strategy(each), {"BTCUSDC": data}, funding=None) for each in ("refuse", "close"))
    count = refused.metrics()["rejected"]
    assert count > 5
    assert naive.execution()["passed"] > 0
    assert len(naive.round_trips) > len(refused.round_trips)
    assert "already reached" in refused.audited_in_short()
    assert "before" in naive.audited_in_short()
    assert naive.metrics()["unprotected"] < 0.01


def test_a_run_on_a_venue_has_the_same_account_and_callback() -> None:
    cancelled: list[Any] = []

    def on_bar(ctx: Context, bar: Bar) -> None:
        count = ctx.bars().length
        if count == 1:
            ctx.buy("BTCUSDC", "0.01")
            ctx.stop_loss("BTCUSDC", bar.close * 0.5)
            ctx.buy("BTCUSDC", "0.01", bar.close * 0.5 // 1)
        elif count == 3:
            ctx.cancel(next(one for one in ctx.orders() if one.order.price is not None))

    strategy = {"on_bar": on_bar, "on_cancel": lambda ctx, placed: cancelled.append(placed.state)}
    found = paper(strategy, ["BTCUSDC"], duration="6m")
    measured = found.execution()
    assert cancelled == ["CANCELED"]
    assert measured[["market_orders", "found_nothing", "cut", "rejected"]].tolist() == [1, 0, 0, 0]
    assert measured["unprotected"] < 0.5
    assert math.isfinite(measured["shortfall_market"])
