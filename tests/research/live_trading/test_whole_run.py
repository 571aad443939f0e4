"""One small run with everything in it: each table and each answer of the context, worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from msgspec import Struct, structs

import toolkit
from tests.support.network import Network, cut
from toolkit.client.io.transport import Retry
from toolkit.limits import Limits
from toolkit.research import Strategy, live
from toolkit.research.account_data import Fill, FundingFee
from toolkit.research.market_data import Bar
from toolkit.venue.local import LocalVenue

BTC, ETH = "BTCUSDC", "ETHUSDC"
FIRST = pd.Timestamp("2026-01-01T03:57:00Z")
FIRST_MS = FIRST.value // 1_000_000
MINUTE_MS = 60_000


def minute(number: float) -> pd.Timestamp:
    return FIRST + pd.Timedelta(minutes=number)


@pytest.fixture
def session() -> Iterator[Any]:
    """A venue of fixed prices: 59,990 bid, 60,010 asked, 5 BTC each, and an account that has traded before."""
    venue = LocalVenue(clock="manual", market=None, accounts=2, balance="1000", start=FIRST.isoformat())
    venue.control.set_oracle(BTC, "60000")
    venue.control.add_liquidity(BTC, "SELL", "60010", "5")
    venue.control.add_liquidity(BTC, "BUY", "59990", "5")
    with venue, toolkit.connect(venue=venue) as made:
        made.buy(BTC, "0.001")
        made.sell(BTC, "0.001")
        yield made


def whole(side: str, said: list[Any]) -> type[Strategy]:
    """A strategy that opens, rests, fails and leaves, gets a deposit, and closes. `said` gets what it is told."""
    far = "50000" if side == "buy" else "70000"

    class Whole(Strategy):
        def on_start(self, ctx: Any) -> None:
            said.append(("start", ctx.mode, ctx.now, ctx.position(BTC), ctx.equity, ctx.price(BTC), ctx.orders()))

        def on_bar(self, ctx: Any, bar: Bar) -> None:
            said.append(bar)
            number = len(ctx.history[BTC])
            if number == 1:
                getattr(ctx, side)(BTC, "0.01")
                getattr(ctx, side)(BTC, "0.01", far)
                getattr(ctx, side)(BTC, "0.00001")
            elif number == 2:
                [resting] = ctx.orders()
                ctx.cancel(resting)
                ctx.record(
                    position=ctx.position(BTC), legs=ctx.legs(BTC), fees=ctx.fees, price=ctx.price(BTC),
                    underway=ctx.underway(BTC), margin=ctx.margin_ratio, equity=ctx.equity, balance=ctx.balance,
                    left=len(ctx.orders()), mode=ctx.mode,
                )  # fmt: skip
            elif number == 3:
                venues[0].control.fund(accounts[0], "50")
            elif number == 4:
                ctx.close_position(BTC)

        def on_fill(self, ctx: Any, fill: Fill) -> None:
            said.append(fill)

        def on_funding(self, ctx: Any, payment: FundingFee) -> None:
            said.append(payment)

        def on_reject(self, ctx: Any, placed: Any) -> None:
            said.append((placed.state, placed.order.quantity, placed.reason.partition(" is ")[0]))

        def on_stop(self, ctx: Any) -> None:
            said.append(("stop", ctx.position(BTC), ctx.equity))

    return Whole


venues: list[Any] = []
accounts: list[str] = []
OPENED = {"buy": (60_010.0, 0.36006, 59_990.0, 0.35994), "sell": (59_990.0, 0.35994, 60_010.0, 0.36006)}
"""Prices and fees (0.06 %) of the opening and of the closing fill of 0.01 BTC."""


@pytest.mark.parametrize("side", OPENED)
def test_every_table_and_callback_of_a_run(session: Any, side: str) -> None:
    price, fee, left_at, left_fee = OPENED[side]
    sign, other = (1, "SELL") if side == "buy" else (-1, "BUY")
    venues[:], accounts[:] = [session.venue], [session.account]
    said: list[Any] = []
    run = live(whole(side, said), session, [BTC], duration="6m", limits=Limits())

    start = 999.908  # two fees and the spread of 0.001 BTC
    paid = -sign * 0.01 * price * 0.00005  # the mark price is that of the last trade
    opened = start - fee
    ended = opened + paid + 50 - 0.2 - left_fee
    opening = (side.upper(), price, 0.01, price / 100, fee, 0.0, "TAKER", "MARKET")
    closing = (other, left_at, 0.01, left_at / 100, left_fee, -0.2, "TAKER", "MARKET")

    numbers = session.fills()["client_order_id"].tolist()[2:]
    first = Fill(BTC, FIRST_MS + MINUTE_MS, *opening, 5, numbers[0])
    last = Fill(BTC, FIRST_MS + 4 * MINUTE_MS, *closing, 7, numbers[1])
    flat = {1: (60_010, 60_010, 59_990, 59_990, 0.002), 2: (price,) * 4 + (0.01,), 5: (left_at,) * 4 + (0.01,)}
    flat |= {3: (price,) * 4 + (0.0,), 4: (price,) * 4 + (0.0,), 6: (left_at,) * 4 + (0.0,)}
    bars = {at: Bar(BTC, FIRST_MS + (at - 1) * MINUTE_MS, FIRST_MS + at * MINUTE_MS, *flat[at]) for at in range(1, 7)}
    funding = FundingFee(BTC, FIRST_MS + 3 * MINUTE_MS, sign * 0.01, price, 0.00005, paid)
    expected = [
        ("start", "live", FIRST_MS, 0.0, start, None, []),
        bars[1], ("REJECTED", "0.00001", "quantity 0.00001"), first,
        bars[2], funding, bars[3], bars[4], last, bars[5], bars[6], ("stop", 0.0, ended),
    ]  # fmt: skip
    assert rounded(said) == rounded(expected)

    values = [start, start, opened, opened + paid, opened + paid + 50, ended, ended]
    assert run.equity["equity"].tolist() == pytest.approx(values)
    assert run.equity["balance"].tolist() == pytest.approx(values)
    assert run.equity.index.tolist() == [minute(at) for at in range(7)]
    size = sign * 0.01
    assert run.positions[BTC].tolist() == [0.0, size, size, size, 0.0, 0.0, 0.0]
    assert rounded(run.fills.to_dict("split")["data"]) == rounded(
        [(minute(1), BTC, *opening, 5), (minute(4), BTC, *closing, 7)]
    )
    far = 50_000.0 if side == "buy" else 70_000.0
    taken = ("MARKET", "IOC", None, None, 0.01, 0.01, "FILLED", "")
    assert rounded(run.orders.to_dict("split")["data"]) == rounded(
        [
            (minute(1), BTC, 5, side.upper(), *taken, minute(1)),
            (minute(1), BTC, 6, side.upper(), "LIMIT", "GTC", far, None, 0.01, 0.0, "CANCELED", "", minute(2)),
            (minute(4), BTC, 7, other, *taken, minute(4)),
        ]
    )
    assert rounded(run.funding.to_dict("split")["data"]) == rounded([(minute(3), BTC, size, price, 0.00005, paid)])
    assert run.transfers.to_dict("split")["data"] == [[minute(4), "DEPOSIT", "", 50.0]]
    events = [(each.time, each.kind, each.symbol) for each in run.events.itertuples()]
    assert events == [(minute(1), "REJECTED", BTC), (minute(6), "END", "")]
    assert run.events["text"].tolist()[1] == "the time is over"
    margin = 0.0125 * 0.01 * price / opened
    assert rounded(run.records.to_dict("records")) == rounded(
        [
            {
                "position": size, "legs": (size, 0.0) if sign > 0 else (0.0, size), "fees": fee, "price": price,
                "underway": 0.0, "margin": margin, "equity": opened, "balance": opened, "left": 0, "mode": "live",
            }
        ]
    )  # fmt: skip
    assert run.records.index.tolist() == [minute(2)]
    settings = {name: run.settings[name] for name in ("mode", "environment", "dry_run")}
    assert (settings, run.name) == ({"mode": "live", "environment": "local", "dry_run": False}, "Whole")
    again = run.recipe.arguments
    assert (again["capital"], again["interval"]) == ("999.908000", pd.Timedelta("1min"))
    assert rounded(again["data"][BTC].to_numpy().tolist()) == rounded([flat[at] for at in range(1, 7)])


def rounded(value: Any) -> Any:
    """Return values with six digits, NaN and NaT as None, records as tuples behind the name of their type."""
    if isinstance(value, Struct):
        return type(value).__name__, *rounded(structs.astuple(value))
    if isinstance(value, list | tuple):
        return tuple(map(rounded, value))
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if value is None or value != value:
        return None
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize("name", [None, "one"])
def test_a_run_whose_venue_is_gone_at_the_end_has_results_that_say_what_is_unknown(name: str | None) -> None:
    with LocalVenue(clock="manual", market=None, settle_delay=0, start=FIRST.isoformat()) as venue:
        venue.control.set_oracle(BTC, "60000")
        venue.control.add_liquidity(BTC, "SELL", "60010", "5")
        network = Network(venue)

        class Cut(Strategy):
            def on_start(self, ctx: Any) -> None:
                ctx.buy(BTC, "0.01")
                ctx.buy(BTC, "0.02", "50000")

            def on_stop(self, ctx: Any) -> None:
                network.before = cut

        retry = Retry(attempts=1, base=0, longest=0)
        with toolkit.connect(venue=venue, transport=network, retry=retry) as session:
            run: Any = live(Cut(), session, [BTC], limits=Limits(), duration="2m", run=name)
        assert run.fills[["price", "quantity"]].to_numpy().tolist() == [[60_010, 0.01]]
        assert run.orders[["quantity", "filled", "status"]].to_numpy().tolist() == [
            [0.01, 0.01, "FILLED"],
            [0.02, 0.0, "NEW"],
        ]
        assert run.positions[BTC].iloc[-1] == 0.01
        unknown = run.events[run.events["kind"] == "UNKNOWN"]["text"].str.split(" could not").str[0]
        # What was deposited is no part of what a run with a name has earned.
        assert unknown.tolist() == ["fills", "orders", "funding payments", *(["transfers"] if name is None else [])]
