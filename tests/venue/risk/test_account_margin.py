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
from toolkit.venue.risk import account_margin, ledger, order_margin
from toolkit.venue.risk.ledger import BANKRUPTCY

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


def test_equity_and_margins_of_a_cross_position(play: Play) -> None:
    play.trade("ann", "bob", "1", 60_000)
    play.oracle(61_000)
    figures = account_margin.cross_margin(play.core, play.account("ann"))
    assert figures.equity == (10_000 - 36 + 1_000) * MICRO
    assert figures.initial == 3_050 * MICRO  # 61,000 / 20
    assert figures.maintenance == D("762.5") * MICRO  # 1.25 %
    assert not figures.unhealthy
    assert figures.ratio == -(-figures.maintenance * RATE // figures.equity)


def test_orders_hold_margin_for_the_worse_of_both_sides(play: Play) -> None:
    play.trade("ann", "bob", "1", 60_000)
    play.placed("ann", "BUY", "0.5", 50_000)
    assert account_margin.cross_margin(play.core, play.account("ann")).initial == (60_000 + 25_000) * MICRO // 20
    play.placed("ann", "SELL", "1.2", 70_000)
    # selling 1.2 at 70,000 would leave less than buying 0.5
    assert account_margin.cross_margin(play.core, play.account("ann")).initial == (60_000 + 25_000) * MICRO // 20
    play.placed("ann", "SELL", "1.2", 70_000)
    assert account_margin.cross_margin(play.core, play.account("ann")).initial == (168_000 - 60_000) * MICRO // 20


def test_in_hedge_mode_both_legs_hold_margin(play: Play) -> None:
    play.hedge("ann")
    play.trade("ann", "bob", "1", 60_000)
    play.trade("bob", "ann", "0.4", 60_000)
    figures = account_margin.cross_margin(play.core, play.account("ann"))
    assert figures.initial == 84_000 * MICRO // 20
    assert figures.maintenance == 1_050 * MICRO


def test_what_is_available_and_what_may_leave(play: Play) -> None:
    play.trade("ann", "bob", "1", 60_000)
    play.oracle(61_000)
    wallet = account_margin.wallet(play.core, play.account("ann"))
    assert wallet.balance == 9_964 * MICRO
    assert wallet.equity == 10_964 * MICRO
    assert wallet.available == (10_964 - 3_050) * MICRO
    assert wallet.withdrawable == (9_964 - 3_050) * MICRO == account_margin.withdrawable(play.core, play.account("ann"))
    play.oracle(59_000)
    assert account_margin.withdrawable(play.core, play.account("ann")) == (9_964 - 1_000 - 2_950) * MICRO
    assert account_margin.available(play.core, play.account("ann")) == (9_964 - 1_000 - 2_950) * MICRO


def test_isolated_margin_and_its_profit_stay_out_of_cross(play: Play) -> None:
    play.isolated("ann")
    play.trade("ann", "bob", "1", 60_000)
    assert play.position("ann").assigned == 3_000 * MICRO
    play.oracle(61_000)
    wallet = account_margin.wallet(play.core, play.account("ann"))
    assert (wallet.balance, wallet.isolated, wallet.unrealized) == (9_964 * MICRO, 3_000 * MICRO, 1_000 * MICRO)
    assert wallet.equity == 10_964 * MICRO
    assert wallet.available == wallet.withdrawable == 6_964 * MICRO
    own = account_margin.isolated_margin(play.core, play.position("ann"))
    assert (own.equity, own.initial) == (4_000 * MICRO, 3_050 * MICRO)


def test_unrealised_profit_opens_positions_but_stays(play: Play) -> None:
    play.trade("ann", "bob", "3", 60_000)
    play.oracle(70_000)
    play.placed("ann", "BUY", "2", 70_000)
    refused = play.act("ann", type="withdraw", destination="0x" + "ee" * 20, amount="9000")
    assert refused.code == 40230
    assert "unrealised profit" in refused.message


# ------------------------------------------------------------------------------------------------- orders


def test_the_largest_order_that_fits_passes_and_one_step_more_does_not(play: Play) -> None:
    assert play.order("ann", "BUY", "3.334", 60_000).code == 40230, "it rests: 60,000 · 3.334 / 20 is 10,002"
    play.placed("ann", "BUY", "3.333", 60_000)
    refusal = play.order("ann", "BUY", "0.001", 60_000)
    assert refusal.code == 40230
    assert refusal.message == ("margin: the order needs initial margin 10002 USDC in all. Equity 10000 is 2 short")


def test_what_trades_at_once_counts_its_fee_to_the_last_digit(play: Play) -> None:
    play.placed("bob", "SELL", "3", 60_000)
    play.act("ann", type="withdraw", destination="0x" + "ee" * 20, amount="891.999999")
    refused = play.order("ann", "BUY", "3", 60_000)
    assert refused.code == 0, "9,000 and 108 for the fee"
    assert account_margin.available(play.core, play.account("ann")) == 1


def test_a_limit_far_through_the_mark_has_to_carry_the_loss_of_what_it_takes(play: Play) -> None:
    play.placed("bob", "SELL", "2", 63_000)
    assert play.order("ann", "BUY", "2", 63_000).code == 40230, "6,000 to mark and 6,300 margin"
    play.placed("ann", "SELL", "2", 63_500)


def test_orders_that_only_reduce_are_taken_without_any_margin(play: Play) -> None:
    play.trade("ann", "bob", "3", 60_000)
    play.oracle(58_000)
    free = account_margin.available(play.core, play.account("ann"))
    assert free < 0
    play.placed("ann", "SELL", "2.9", 58_100)
    play.placed("ann", "SELL", "0.1", 58_100)
    play.placed("ann", "SELL", "0.1", 58_200)  # what closes is accepted, an older order loses its cover
    assert [order.price for order in play.account("ann").orders.values()] == [581_000, 582_000]
    assert play.position("ann").sell_quantity == 3_000
    assert play.order("ann", "BUY", "0.01", 57_000).code == 40230


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


def test_far_limits_do_not_reach_beyond_the_largest_position() -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(50_000_000, "ann", "bob", "zoe")
    for name in ("bob", "zoe"):
        play.placed(name, "BUY", "1000", 59_990)
    play.placed("ann", "SELL", "1000", 6_000, timeInForce="IOC")
    refused = play.order("ann", "SELL", "1000", 6_000, timeInForce="IOC")
    assert "above maxPositionNtnl 100000000 of BTCUSDC" in refused.message


@pytest.mark.parametrize(("side", "price"), [("BUY", 59_500), ("SELL", 60_500)])
def test_an_isolated_position_that_has_lost_grows_with_margin_of_its_own(play: Play, side: str, price: int) -> None:
    play.isolated("ann")
    play.trade(*(("ann", "bob") if side == "BUY" else ("bob", "ann")), "1", 60_000)
    play.oracle(price)
    before = account_margin.isolated_margin(play.core, play.position("ann"))
    assert before.equity == 2_500 * MICRO < before.initial
    play.placed("bob", "SELL" if side == "BUY" else "BUY", "0.1", price)
    play.placed("ann", side, "0.1", price)
    after = account_margin.isolated_margin(play.core, play.position("ann"))
    assert after.equity == before.equity + price * MICRO // 200
    assert after.initial > after.equity > after.maintenance


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


@pytest.mark.parametrize("resting", [True, False])
def test_a_flip_of_an_isolated_position_that_has_lost_is_a_close_and_an_open(resting: bool) -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(3_036, "ann")  # initial margin and fee of 1 BTC at 20x
    play.fund(1_000_000, "bob")
    play.isolated("ann")
    play.trade("ann", "bob", "1", 60_000)
    assert play.balance("ann") == 0
    play.oracle(59_000)
    if not resting:
        play.placed("bob", "BUY", "2", 59_000)
    # 2,000 of the margin are left. They open 0.677 at 59,000 (1,997.15). What trades at once also costs fees:
    # 0.658 · 59,000 / 20 + 1.658 · 59,000 · 0.06 % = 1,941.10 + 58.70
    assert "short" in play.order("ann", "SELL", "1.678" if resting else "1.659", 59_000).message
    play.placed("ann", "SELL", "1.677" if resting else "1.658", 59_000)
    if resting:
        play.placed("bob", "BUY", "1.6", 59_000)
    opened = 600 if resting else 658
    assert play.position("ann").short.size == opened
    assert play.position("ann").assigned == opened * 59 * MICRO // 20


# ---------------------------------------------------------------------------------------- isolated positions


def test_closing_half_of_an_isolated_position_frees_half_of_its_margin(play: Play) -> None:
    play.isolated("ann")
    play.trade("ann", "bob", "1", 60_000)
    before = play.balance("ann")
    play.trade("bob", "ann", "0.5", 60_000)
    assert play.position("ann").assigned == 1_500 * MICRO
    assert play.balance("ann") == before + 1_500 * MICRO - 3 * MICRO
    play.trade("bob", "ann", "0.5", 60_000)
    assert play.position("ann").assigned == 0


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


def test_an_isolated_loss_is_paid_by_its_margin(play: Play) -> None:
    play.isolated("ann")
    play.trade("ann", "bob", "1", 60_000)
    before = play.balance("ann")
    play.oracle(58_500)
    play.trade("bob", "ann", "0.5", 58_500)
    # half of 3,000 carries the loss of 750, but what is left needs all it can get: 1,462.50 for 29,250 at a loss of 750
    assert play.position("ann").assigned == (1_462.5 + 750) * MICRO
    assert play.balance("ann") == before + 787_500_000 - 750 * MICRO - 2_925_000


def test_the_losing_leg_of_an_isolated_hedge_is_borne_by_the_other_ones_profit(play: Play) -> None:
    play.hedge("ann")
    play.isolated("ann")
    play.trade("ann", "bob", "1", 60_000)
    play.trade("bob", "ann", "1", 60_000)
    play.oracle(52_500)
    play.placed("bob", "BUY", "1", 52_500)
    before = account_margin.wallet(play.core, play.account("ann")).equity
    cash = play.balance("ann")
    play.placed("ann", "SELL_CLOSE_HEDGE", "1", 52_500)
    fee = 31_500_000
    assert account_margin.wallet(play.core, play.account("ann")).equity == before - fee
    assert play.balance("ann") == cash, "the balance pays nothing while a position is left"
    assert play.position("ann").assigned == 6_000 * MICRO - 7_500 * MICRO - fee
    play.trade("ann", "bob", "1", 52_500)  # a buy opens: the short stays, its profit with it
    play.placed("bob", "SELL", "1", 52_500)
    play.placed("ann", "BUY_CLOSE_HEDGE", "1", 52_500)
    assert BANKRUPTCY not in dict(play.kinds("ann"))


def test_closing_a_part_of_an_isolated_position_whose_margin_funding_has_eaten_costs_nobody_anything(
    play: Play,
) -> None:
    play.isolated("ann")
    play.trade("ann", "bob", "1", 60_000)
    position = play.position("ann")
    play.oracle(70_000)
    ledger.move(play.core, play.account("ann"), play.account("bob"), 4_000 * MICRO, "FUNDING")
    ledger.assign(play.core, play.account("ann"), position, -4_000 * MICRO)
    assert position.assigned == -1_000 * MICRO
    before, cash = account_margin.wallet(play.core, play.account("ann")).equity, play.balance("ann")
    play.placed("bob", "BUY", "0.1", 70_000)
    play.placed("ann", "SELL", "0.1", 70_000)
    fee = 4_200_000
    assert account_margin.wallet(play.core, play.account("ann")).equity == before - fee
    assert position.assigned == -900 * MICRO, "a tenth of what it lacks is paid by a tenth of the profit"
    assert play.balance("ann") == cash + 1_000 * MICRO - fee - 100 * MICRO


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


def test_orders_that_lose_their_cover_are_cut_as_far_as_there_is_no_margin(play: Play) -> None:
    play.trade("ann", "bob", "3", 60_000)
    play.placed("ann", "SELL", "1", 61_000)
    play.placed("ann", "SELL", "2", 62_000)
    play.oracle(59_000)
    play.placed("bob", "BUY", "3", 59_000)
    play.placed("ann", "SELL", "1", 59_000, reduceOnlyOption="REDUCE_ONLY", timeInForce="IOC")
    assert [order.leaves for order in play.account("ann").orders.values()] == [1_000, 2_000], "there is margin for it"
    play.oracle(58_000)
    play.placed("bob", "BUY", "3", 58_000)
    play.placed("ann", "SELL", "1.9", 58_000, reduceOnlyOption="REDUCE_ONLY", timeInForce="IOC")
    figures = account_margin.cross_margin(play.core, play.account("ann"))
    assert figures.equity >= figures.initial
    assert sum(order.leaves for order in play.account("ann").orders.values()) < 3_000


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
