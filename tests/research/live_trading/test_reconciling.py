"""A run on a venue and its backtest differ by causes that sum to the difference. A planted one moves its own row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.research.markets import bars, flat
from toolkit.errors import ToolkitError
from toolkit.limits import Limits
from toolkit.plain_session import session_on
from toolkit.research import Results, Strategy, backtest, live, paper
from toolkit.research.indicators import SMA
from toolkit.venue.local import LocalVenue

PRICES = ["spread", "latency", "own impact"]


class Cross(Strategy):
    fast, slow, size = 3, 8, "0.05"
    before: Callable[[Any], None] | None = None

    def on_start(self, ctx: Any) -> None:
        self.short, self.long = SMA(self.fast), SMA(self.slow)

    def on_bar(self, ctx: Any, bar: Any) -> None:
        short, long = self.short.update(bar.close), self.long.update(bar.close)
        if self.before is not None and ctx.mode != "backtest":
            self.before(ctx)
        if long == long:
            ctx.target(bar.symbol, self.size if short > long else f"-{self.size}")


def made(strategy: Any = Cross, duration: str = "40m", plant: Any = None, **venue: Any) -> Results:
    with LocalVenue(clock="manual", **venue) as place, session_on(place) as session:
        if plant is not None:
            plant(place, session)
        return paper(strategy, ["BTCUSDC"], duration=duration, session=session)


def amounts(run: Results) -> pd.Series[float]:
    table = run.reconcile()
    total = run.growth.iloc[-1] - run.growth.iloc[0] - (run.rerun().growth.iloc[-1] - run.rerun().growth.iloc[0])
    assert table.at["TOTAL", "amount"] == pytest.approx(total, abs=1e-6)
    assert table["amount"].iloc[:-1].sum() == pytest.approx(total, abs=0.01)
    assert abs(table.at["other", "amount"]) < 0.01 * abs(run.fills["value"].sum())
    return table["amount"]


def moved(planted: pd.Series[float], plain: pd.Series[float]) -> set[str]:
    """Return the rows that a cause has moved by more than 0.2 USDC, without those that hold the rest."""
    change = (planted - plain).drop(["other", "TOTAL"]).fillna(0.0).abs()
    return set(change.index[change > 0.2])


@pytest.fixture(scope="module")
def plain() -> pd.Series[float]:
    return amounts(made())


def test_an_undisturbed_run_differs_by_its_market_alone(plain: pd.Series[float]) -> None:
    assert plain[["decisions", "refusals", "missed fills", "latency", "fees", "funding"]].abs().max() < 0.01
    assert plain["spread"] < 0
    large = amounts(made(Cross(size="1")))
    assert large["own impact"] < 20 * min(plain["own impact"], 0.0) - 10, "it walks the book, and moves the market"


@pytest.mark.slow
def test_latency_moves_its_own_row(plain: pd.Series[float]) -> None:
    assert moved(amounts(made(settle_delay="2s")), plain) <= {"latency", "own impact"}
    assert "latency" in moved(amounts(made(settle_delay="2s")), plain)


@pytest.mark.slow
def test_doubled_fees_move_their_own_row(plain: pd.Series[float]) -> None:
    def doubled(place: Any, session: Any) -> None:
        account = place.host.core.state.accounts[session.account.lower()]
        account.maker_rate, account.taker_rate = 0, 2 * 60_000

    run = made(plant=doubled)
    found = amounts(run)
    assert moved(found, plain) == {"fees"}
    assert found["fees"] == pytest.approx(-run.fills["fee"].sum() / 2, rel=1e-3)


def test_refused_orders_move_their_own_row(plain: pd.Series[float]) -> None:
    count = iter(range(10_000))

    def plant(place: Any, session: Any) -> None:
        Refused.place = place

    class Refused(Cross):
        place: Any = None

        def on_bar(self, ctx: Any, bar: Any) -> None:
            if ctx.mode != "backtest":  # half of the bars take no orders
                (self.place.control.pause if next(count) % 2 else self.place.control.resume)("BTCUSDC")
            super().on_bar(ctx, bar)

    run = made(Refused, plant=plant)
    assert (run.events["kind"] == "REJECTED").sum() > 2
    found = amounts(run)
    assert "refusals" in moved(found, plain)
    assert moved(found, plain) <= {"refusals", *PRICES}


@pytest.mark.slow
def test_the_venues_rates_move_the_row_of_funding() -> None:
    run = made(Cross(size="1"), "4h 3m", start="2026-01-01T00:00:00Z")
    tested = run.rerun()
    found = amounts(run)
    both = tested.funding.merge(run.funding, on=["time", "symbol"], suffixes=("", "_own"))
    assert len(both) == 1
    expected = -(both["position"] * both["price"] * (both["rate_own"] - both["rate"])).sum()
    assert found["funding"] == pytest.approx(expected)


def test_elsewhere_the_parts_of_a_price_are_one_amount(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with LocalVenue(clock="manual") as place, session_on(place) as session:
        place.control.jump("BTCUSDC", "1")  # the seed alone no longer makes this market
        run = live(Cross, session, ["BTCUSDC"], duration="30m", limits=Limits())
    assert isinstance(run, Results)
    table = run.reconcile()
    assert table["amount"].isna().sum() == 3
    assert set(table.loc[PRICES, "detail"]) == {"not known here: see execution"}
    assert table["amount"].iloc[:-1].sum() == pytest.approx(table.at["TOTAL", "amount"])
    run.rerun()
    assert "which contain its own trades. See reconcile()" in capsys.readouterr().out
    with pytest.raises(ToolkitError, match="only a run on a venue is reconciled"):
        backtest(lambda ctx, bar: None, bars(*flat(60_000, 4))).reconcile()
