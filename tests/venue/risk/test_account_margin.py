"""Margin of accounts: the venue's integers against the formulas, what is available, and which orders are let in."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.venue.play import BTC, ETH, MICRO, XRP, Play
from toolkit import exposure, margin
from toolkit.errors import InputError
from toolkit.products import Product
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import Leg, Position
from toolkit.venue.model.constants import ISOLATED, RATE
from toolkit.venue.model.genesis import default_margin_tables, default_products
from toolkit.venue.model.risk_index import RiskTable
from toolkit.venue.risk import account_margin, order_margin

CORE = Core()
D = Decimal


@given(st.sampled_from([1, 2, 3, 4]), st.integers(0, 10**14))
def test_maintenance_margin_is_the_formula_rounded_up(code: int, value: int) -> None:
    exact = margin.maintenance_margin(D(value) / MICRO, CORE.products[code].tiers) * MICRO
    assert 0 <= CORE.risk_index.tables[code].maintenance(value) - exact < 1


@given(st.integers(0, 10**15), st.integers(100, 12_500))
def test_initial_margin_is_the_formula_rounded_up(value: int, leverage: int) -> None:
    exact = margin.initial_margin(value, D(leverage) / 100)
    assert 0 <= exposure.required(value, leverage) - exact < 1


@pytest.mark.parametrize(
    ("value", "limit"), [(20_000_000, 4000), (D("20000000.000001"), 2000), (0, 4000), (90_000_000, 2000)]
)
def test_leverage_limits_change_just_above_a_floor(value: int | Decimal, limit: int) -> None:
    assert CORE.risk_index.tables[BTC].leverage_limit(int(value * MICRO)) == limit


def test_tables_finer_than_the_venue_counts_are_refused() -> None:
    row = {**default_products()[0], "defaultTakerFeeRate": "0.0000000001"}
    product = Product.from_row(row, default_margin_tables()[1])
    with pytest.raises(InputError, match="defaultTakerFeeRate is finer than the venue counts"):
        RiskTable(product)


# ------------------------------------------------------------------------------------------------ figures


@pytest.mark.parametrize(
    ("equity", "maintenance", "unhealthy", "ratio"),
    [
        (-1, 0, False, 0),
        (6, 5, False, 83_333_334),
        (5, 5, True, RATE),
        (1, 5, True, 5 * RATE),
        (0, 5, True, None),
        (-1, 5, True, None),
        (0, 1, True, None),
    ],
)
def test_liquidation_begins_at_a_ratio_of_one(
    equity: int, maintenance: int, unhealthy: bool, ratio: int | None
) -> None:
    figures = account_margin.Figures(equity, 0, maintenance)
    assert (figures.unhealthy, figures.ratio) == (unhealthy, ratio)


@pytest.fixture
def play() -> Play:
    play = Play()
    play.oracle(60_000)
    play.oracle(3_000, ETH)
    play.fund(10_000, "ann")
    play.fund(1_000_000, "bob")
    return play


def test_unrealised_profit_opens_positions_but_stays(play: Play) -> None:
    play.trade("ann", "bob", "3", 60_000)
    play.oracle(70_000)
    play.placed("ann", "BUY", "2", 70_000)
    refused = play.act("ann", type="withdraw", destination="0x" + "ee" * 20, amount="9000")
    assert refused.code == 40230
    assert "unrealised profit" in refused.message


# ------------------------------------------------------------------------------------------------- orders


def test_a_limit_far_through_the_mark_has_to_carry_the_loss_of_what_it_takes(play: Play) -> None:
    play.placed("bob", "SELL", "2", 63_000)
    assert play.order("ann", "BUY", "2", 63_000).code == 40230, "6,000 to mark and 6,300 margin"
    play.placed("ann", "SELL", "2", 63_500)


def test_the_products_largest_position_counts_orders_too() -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(10_000_000, "ann")
    play.leverage("ann", 15)
    play.placed("ann", "BUY", "900", 60_000)
    play.placed("ann", "BUY", "700", 60_000)
    refused = play.order("ann", "BUY", "70", 60_000)
    assert "position and orders would reach 100200000 USDC, above maxPositionNtnl 100000000" in refused.message
    assert play.order("ann", "SELL", "70", 60_000).code == 0


def test_the_tier_of_position_and_orders_limits_the_leverage() -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(3_000_000, "ann")
    play.leverage("ann", 40)
    play.placed("ann", "BUY", "333", 60_000)
    refused = play.order("ann", "BUY", "1", 60_000)
    assert "at a notional of 20040000 USDC BTCUSDC allows leverage 20x, yours is 40x" in refused.message


@pytest.mark.parametrize(("side", "price"), [("SELL", 6_000), ("BUY", 59_000), ("SELL", None), ("BUY", None)])
def test_a_position_counts_at_mark_for_its_limits_whatever_its_order_says(side: str, price: int | None) -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(50_000_000, "ann", "bob")
    play.leverage("ann", 40)
    play.placed("bob", "BUY" if side == "SELL" else "SELL", "335", 59_000)
    refused = play.order("ann", side, "335", price, timeInForce="IOC")
    notional = "20703000" if price is None and side == "BUY" else "20100000"
    assert f"at a notional of {notional} USDC BTCUSDC allows leverage 20x, yours is 40x" in refused.message
    play.placed("ann", side, "320", price, timeInForce="IOC")


def test_an_isolated_position_that_lost_its_margin_within_a_request_does_not_grow(play: Play) -> None:
    play.isolated("ann")
    play.trade("ann", "bob", "1", 60_000)
    play.oracle(57_800)
    play.placed("bob", "BUY", "0.9", 57_000)
    play.placed("bob", "SELL", "1", 57_800)
    limit = {"symbolCode": BTC, "ordType": "LIMIT", "timeInForce": "GTC"}
    both = [
        {"ordPx": "57000", "ordQty": "0.9", "ordSide": "SELL", **limit},
        {"ordPx": "57800", "ordQty": "0.01", "ordSide": "BUY", **limit},
    ]
    results = play.act("ann", type="placeOrder", orders=both).data["results"]
    assert results[0]["txCode"] == 0
    assert "Add to it with assignPosMargin before it grows" in results[1]["txMsg"]


# ---------------------------------------------------------------------------------------- isolated positions


@pytest.mark.parametrize(
    ("size", "step_micro", "opened", "gained", "back"),
    [
        (0, 1_000, 0, 5, 100),
        (0, 1_000, 0, -150, 100),
        (1, 1_000, 1, 5, 100),
        (1, 1_000, 0, -150, 150),
        (1, 1_000, 0, 5, 50),
        (1, 980, 0, 5, 31),
        (1, 940, 0, 5, -5),
    ],
    ids=[
        "closed",
        "closed with a loss",
        "flipped",
        "a loss",
        "the share of a half",
        "what the rest spares",
        "needs more",
    ],
)
def test_what_closing_gives_back_of_an_isolated_margin(
    size: int, step_micro: int, opened: int, gained: int, back: int
) -> None:
    """An entry value of 1,000 was closed; a step that is left is worth as much, at 20x."""
    position = Position(BTC, 2_000, mode=ISOLATED, assigned=100, long=Leg(size, 1_000 * size))
    assert order_margin.released(position, 1_000, gained, step_micro, opened) == back


@pytest.mark.parametrize(
    ("makers", "most"), [(["1000000"], "3137.200000"), (["33333", "33333", "34444"], "3137.200002")]
)
@pytest.mark.parametrize("less", [0, 1])
def test_the_largest_isolated_order_that_fits_passes_to_the_last_digit(makers: list[str], most: str, less: int) -> None:
    """Margin and fees of 62,000 USDC at 20x; the margin is rounded up at every fill."""
    play = Play()
    play.oracle("0.62", XRP)
    play.fund(1_000_000, "bob")
    play.fund(str(D(most) - D(less) / MICRO), "ann")
    play.isolated("ann", XRP)
    for quantity in makers:
        play.placed("bob", "SELL", quantity, "0.62", XRP)
    outcome = play.order("ann", "BUY", "100000", "0.62", XRP, timeInForce="IOC")
    assert outcome.code == (40230 if less else 0), outcome.message
    assert not less or play.order("ann", "BUY", "99000", "0.62", XRP, timeInForce="IOC").code == 0


def test_an_order_of_an_isolated_product_does_not_take_what_the_cross_positions_need(play: Play) -> None:
    play.isolated("ann", ETH)
    play.placed("ann", "BUY", "5", 2_900, ETH)
    play.trade("ann", "bob", "3", 60_000)
    play.oracle("57500")
    before = account_margin.cross_margin(play.core, play.account("ann"))
    assert before.maintenance < before.equity < before.initial
    play.placed("bob", "SELL", "5", 2_900, ETH)
    [order] = play.core.state.history.orders.of(play.address("ann"))[-1:]
    assert (order.filled, order.reason) == (0, "margin: losses have used up what it held")
    after = account_margin.cross_margin(play.core, play.account("ann"))
    assert (after.equity, after.maintenance) == (before.equity, before.maintenance)
    assert play.position("ann", ETH).long.size == 0


# ------------------------------------------------------------------------------------------ liquidation price


@pytest.mark.parametrize("side", ["BUY", "SELL"])
@pytest.mark.parametrize("mode", ["CROSS", "ISOLATED"])
def test_the_shown_liquidation_price_is_where_liquidation_begins(play: Play, side: str, mode: str) -> None:
    play.act("ann", type="setMarginMode", symbolCode=BTC, marginMode=mode)
    play.trade("ann", "bob", "0.2", 3_000, ETH)
    play.placed("bob", "SELL" if side == "BUY" else "BUY", "2", 60_000)
    play.placed("ann", side, "2", 60_000)
    price = account_margin.liquidation_price(play.core, play.account("ann"), BTC)
    assert price is not None
    listed = play.core.products[BTC]
    edge = listed.round_price(price, "up" if side == "BUY" else "down")
    play.oracle(edge)
    assert not play.core.state.history.liquidations.records
    play.oracle(edge - listed.tick_size if side == "BUY" else edge + listed.tick_size)
    assert play.core.state.history.liquidations.of(play.address("ann"))


def test_no_position_has_no_liquidation_price(play: Play) -> None:
    assert account_margin.liquidation_price(play.core, play.account("ann"), XRP) is None
    play.leverage("ann", 1)
    play.trade("ann", "bob", "0.1", 60_000)
    assert account_margin.liquidation_price(play.core, play.account("ann"), BTC) is None, "6,000 with 10,000 behind it"
