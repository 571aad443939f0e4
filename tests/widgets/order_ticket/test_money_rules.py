"""The money rules of the ticket at their bounds, and its liquidation prices against the formula they solve."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import pytest

from tests.support.tuples import changed
from tests.widgets.order_ticket.test_effects import BTC, FLAT, MARKET, inputs
from toolkit.widgets.order_ticket import validation as rules
from toolkit.widgets.order_ticket.draft import Holdings, TicketMarket
from toolkit.widgets.order_ticket.holdings import current_liquidation, preview_order

D = Decimal
SIDES = pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
RICH = dataclasses.replace(FLAT, available=D(10**9), cross_equity=D(10**9))
AT_50 = TicketMarket(mark=D(50_000))


def messages(given: Any, quantity: str, worst: str) -> list[tuple[str, str, str]]:
    return [(one.field, one.rule, one.message) for one in rules.account_rules(given, D(quantity), D(worst))]


@SIDES
def test_a_position_reaches_at_most_its_largest_notional(side: str, sign: int) -> None:
    given = inputs("LIMIT", RICH, AT_50, side=side, price="50000")
    assert messages(given, "2000", "50000") == []
    words = "position and orders would reach 100,000,050.00 USDC, above maxPositionNtnl 100,000,000.00 of BTCUSDC"
    assert messages(given, "2000.001", "50000") == [("quantity", "maxPositionNtnl", words)]
    resting: Any = {"buys" if sign > 0 else "sells": ((D(50_000), D("0.001")),)}
    assert messages(changed(given, holdings=dataclasses.replace(RICH, **resting)), "2000", "50000") == [
        ("quantity", "maxPositionNtnl", words)
    ]


@SIDES
def test_the_tier_of_the_notional_limits_the_leverage(side: str, sign: int) -> None:
    fast = dataclasses.replace(RICH, leverage=D("20.5"))
    given = inputs("LIMIT", fast, AT_50, side=side, price="50000")
    assert messages(given, "399.999", "50000") == []
    allowed = "BTCUSDC allows leverage 20x, yours is 20.5x"
    assert messages(given, "400.001", "50000") == [
        ("quantity", "maxLeverage", f"at a notional of 20,000,050.00 USDC {allowed}")
    ]
    assert messages(changed(given, holdings=dataclasses.replace(fast, leverage=D(20))), "400.001", "50000") == []


@SIDES
def test_an_isolated_position_stays_above_its_maintenance_margin_when_it_grows(side: str, sign: int) -> None:
    leg: Any = {"long": D(1), "long_value": D(59_980)} if sign > 0 else {"short": D(1), "short_value": D(59_980)}
    held = dataclasses.replace(FLAT, isolated=True, assigned=D(100), **leg)
    given, pnl = inputs("MARKET", held, side=side), 20 * sign
    # 0.1 at 60,010 (59,990) takes a tenth of its value along (of 6,000 for a sell) and 1 for its loss, which it has
    # lost then. 1.1 at the mark of 60,000 must keep 1.25 %.
    taken = D("600.1") if sign > 0 else D(600)
    words = f"the isolated position would have {100 + pnl + taken:,.2f} USDC and need 825.00 of maintenance margin."
    worst = "60010" if sign > 0 else "59990"
    assert messages(given, "0.1", worst) == [
        ("quantity", "maintenance margin", f"{words} Add margin to it before it grows")
    ]
    bound = 825 - taken - pnl
    for assigned, fits in ((bound, False), (bound + D("0.000001"), True)):
        enough = changed(given, holdings=dataclasses.replace(held, assigned=assigned))
        assert (messages(enough, "0.1", worst) == []) is fits
    assert messages(changed(given, holdings=dataclasses.replace(held, isolated=False)), "0.1", worst) == []


@SIDES
@pytest.mark.parametrize("isolated", [False, True])
def test_a_market_order_takes_its_margin_its_fee_and_its_loss(side: str, sign: int, isolated: bool) -> None:
    held = dataclasses.replace(FLAT, isolated=isolated)
    given = inputs("MARKET", held, side=side)
    worst = D(60_020) if sign > 0 else D(59_980)
    # 1 at the best level and 0.5 at the next one, valued at the bound, or at the mark where that is more. It loses
    # 10 + 10 against the mark. Fees are rounded up, by 1 micro-USDC for each of 1,500 steps and one more.
    paid = D(60_010) + D(60_020) / 2 if sign > 0 else D(59_990) + D(59_980) / 2
    margin = D("1.5") * max(worst, D(60_000)) / 10
    rounded = D(1_501 + (1_500 if isolated else 0)) / 10**6
    assert rules.margin_needed(given, D("1.5"), worst) == margin + 20 + paid * D("0.0006") + rounded
    rebate = changed(given, holdings=dataclasses.replace(held, maker=D("-0.0001"), taker=D("-0.0002")))
    assert rules.margin_needed(rebate, D("1.5"), worst) == margin + 20 + rounded
    dear = changed(given, holdings=dataclasses.replace(held, maker=D("0.0007")))
    assert rules.margin_needed(dear, D("1.5"), worst) == margin + 20 + paid * D("0.0007") + rounded


@SIDES
def test_without_margin_for_the_smallest_order_nothing_is_offered(side: str, sign: int) -> None:
    poor = dataclasses.replace(FLAT, available=D("6"), cross_equity=D("6"))
    given = inputs("LIMIT", poor, AT_50, side=side, price="50000")
    words = "margin: the order needs 50.00 USDC, 6.00 USDC is available at 10x"
    [problem] = rules.account_rules(given, D("0.01"), D(50_000))
    assert (problem.message, problem.nearest) == (f"{words}. At most 0.001", ("at most 0.001",))
    none = changed(given, holdings=dataclasses.replace(poor, available=D("4.99")))
    [problem] = rules.account_rules(none, D("0.01"), D(50_000))
    assert (problem.message, problem.choices) == (words.replace("6.00", "4.99"), ())
    # What fits is worth 9.50 USDC, less than the smallest order of 10.
    cheap = inputs("LIMIT", dataclasses.replace(poor, available=D("0.95")), TicketMarket(mark=D(500)), side=side)
    [problem] = rules.account_rules(cheap, D("0.04"), D(500))
    assert (problem.message, problem.choices) == (
        "margin: the order needs 2.00 USDC, 0.95 USDC is available at 10x", (),
    )  # fmt: skip
    exact = changed(given, holdings=dataclasses.replace(poor, available=D(50)))
    assert rules.account_rules(exact, D("0.01"), D(50_000)) == []


@SIDES
def test_a_reduce_only_order_at_market_is_valued_at_the_last_price(side: str, sign: int) -> None:
    leg: Any = {"short": D(1), "short_value": D(60_000)} if sign > 0 else {"long": D(1), "long_value": D(60_000)}
    held = dataclasses.replace(FLAT, **leg)
    name = "short" if sign > 0 else "long"
    below = "is below minOrderValue 10, and does not close the whole position"
    for last, mark, worst, value in ((9_999, 1, 1, "9.999"), (None, 9_998, 1, "9.998"), (None, None, 9_997, "9.997")):
        market = TicketMarket(last=D(last) if last else None, mark=D(mark) if mark else None)
        given = inputs("MARKET", held, market, side=side, reduce_only=True)
        assert messages(given, "0.001", str(worst)) == [("quantity", "minOrderValue", f"order value {value} {below}")]
    given = inputs("LIMIT", held, MARKET, side=side, price="10000", reduce_only=True, tif="IOC")
    assert messages(given, "0.001", "10000") == []
    assert messages(given, "1.001", "10000") == [
        ("quantity", "position", f"reduce-only: 1.001 exceeds the reducible {name} position of 1")
    ]
    rests: Any = {"reducing_buys" if sign > 0 else "reducing_sells": D(1)}
    rested = inputs("LIMIT", dataclasses.replace(held, **rests), MARKET, side=side, price="1", reduce_only=True)
    assert messages(rested, "0.1", "10000") == [
        ("reduce_only", "covered", f"open reduce-only orders already cover the {name} position of 1")
    ]
    flat = inputs("MARKET", side=side, reduce_only=True)
    words = f"reduce-only: there is no {name} position in BTCUSDC to reduce"
    assert messages(flat, "1", "60000") == [("reduce_only", "position", words)]


def test_a_product_without_tiers_has_no_rule_by_them() -> None:
    plain = dataclasses.replace(BTC, tiers=())
    held = dataclasses.replace(RICH, leverage=D("20.5"), isolated=True, assigned=D(1), long=D(1), long_value=D(60_000))
    given = changed(inputs("MARKET", held), product=plain)
    assert rules.account_rules(given, D(500), D(60_010)) == []
    found = preview_order(given, D("0.5"), D(60_010))
    assert (found["liquidation_before"], found["liquidation_price"]) == (None, None)


# liquidation


def solved(long: D, long_entry: D, short: D, short_entry: D, collateral: D) -> D:
    """The price at which collateral and PnL are 1.25 % of the notional of both legs."""
    return (long * long_entry - short * short_entry - collateral) / (long - short - D("0.0125") * (long + short))


def near(price: D | None, expected: D) -> bool:
    return price is not None and abs(price - expected) < D("0.000001")


@SIDES
@pytest.mark.parametrize("before", ["0", "0.5", "-0.5"])
def test_a_cross_position_is_liquidated_where_its_equity_is_its_maintenance_margin(
    side: str, sign: int, before: str
) -> None:
    size = D(before)
    leg: Any = (
        {"long": size, "long_value": size * 58_000} if size > 0 else {"short": -size, "short_value": -size * 58_000}
    )
    held = dataclasses.replace(FLAT, cross_equity=D(9_000), others_maintenance=D(300), **leg)
    pnl = size * 2_000  # at the mark of 60,000
    found = preview_order(inputs("MARKET", held, side=side), D(1), D(61_000) if sign > 0 else D(59_000))
    price = D(60_010) if sign > 0 else D(59_990)
    realized = D("0.5") * sign * (58_000 - price) if size * sign < 0 else D(0)
    after = size + sign
    entry = price if size * sign <= 0 else (abs(size) * 58_000 + price) / abs(after)
    collateral = 9_000 - pnl - 300 - price * D("0.0006") + realized
    legs = (after, entry, D(0), D(0)) if after > 0 else (D(0), D(0), -after, entry)
    assert (found["size_after"], found["entry_after"], found["realized_pnl"]) == (after, entry, realized)
    assert near(found["liquidation_price"], solved(*legs, collateral))
    if size:
        legs = (size, D(58_000), D(0), D(0)) if size > 0 else (D(0), D(0), -size, D(58_000))
        assert near(found["liquidation_before"], solved(*legs, 9_000 - pnl - 300))
    else:
        assert found["liquidation_before"] is None


@SIDES
@pytest.mark.parametrize("reduce_only", [False, True])
def test_of_a_hedged_position_both_legs_count(side: str, sign: int, reduce_only: bool) -> None:
    held = dataclasses.replace(
        FLAT, hedge=True, cross_equity=D(9_000), long=D(2), long_value=D(116_000), short=D("0.5"),
        short_value=D(31_000),
    )  # fmt: skip
    pnl = D("1.5") * 60_000 - 116_000 + 31_000
    quantity, price = D("0.2"), D(60_010) if sign > 0 else D(59_990)
    found = preview_order(
        inputs("MARKET", held, side=side, reduce_only=reduce_only), quantity, D(61_000) if sign > 0 else D(59_000)
    )
    long, long_value, short, short_value, realized = D(2), D(116_000), D("0.5"), D(31_000), D(0)
    if (sign > 0) != reduce_only:
        realized = quantity * (price - 58_000) if reduce_only else D(0)
        long, long_value = (long - quantity, long_value - quantity * 58_000) if reduce_only else (
            long + quantity, long_value + quantity * price)  # fmt: skip
    else:
        realized = quantity * (62_000 - price) if reduce_only else D(0)
        short, short_value = (short - quantity, short_value - quantity * 62_000) if reduce_only else (
            short + quantity, short_value + quantity * price)  # fmt: skip
    collateral = 9_000 - pnl - price * quantity * D("0.0006") + realized
    assert near(found["liquidation_price"], solved(long, long_value / long, short, short_value / short, collateral))
    assert found["realized_pnl"] == realized
    assert near(found["liquidation_before"], solved(D(2), D(58_000), D("0.5"), D(62_000), 9_000 - pnl))
    closed = preview_order(inputs("MARKET", held, side="SELL", reduce_only=True), D(2), D(59_000))
    assert closed["size_after"] == 0
    assert near(
        closed["liquidation_price"],
        solved(D(0), D(0), D("0.5"), D(62_000), 9_000 - pnl - closed["fee"] + closed["realized_pnl"]),
    )


@SIDES
def test_an_isolated_position_has_its_own_margin_only(side: str, sign: int) -> None:
    leg: Any = {"long": D(1), "long_value": D(60_000)} if sign > 0 else {"short": D(1), "short_value": D(60_000)}
    held = dataclasses.replace(FLAT, isolated=True, assigned=D(6_000), **leg)

    def price(size: str, entry: Decimal, collateral: Decimal) -> Decimal:
        legs = (D(size), entry, D(0), D(0)) if sign > 0 else (D(0), D(0), D(size), entry)
        return solved(*legs, collateral)

    assert near(current_liquidation(BTC, held, D(60_000)).price, price("1", D(60_000), D(6_000)))
    worst = {1: D(61_000), -1: D(59_000)}
    other = "SELL" if sign > 0 else "BUY"
    part = preview_order(inputs("MARKET", held, side=other, reduce_only=True), D("0.25"), worst[-sign])
    assert near(part["liquidation_price"], price("0.75", D(60_000), D(4_500)))  # a quarter of it is released
    more = preview_order(inputs("MARKET", held, side=side), D("0.5"), worst[sign])
    entry = (60_000 + D(60_000 + sign * 10) / 2) / D("1.5")
    assert near(more["liquidation_price"], price("1.5", entry, 6_000 + more["margin"] - more["fee"]))
    assert more["margin"] > 3_000
    whole = preview_order(inputs("MARKET", held, side=other, reduce_only=True), D(1), worst[-sign])
    assert (whole["liquidation_price"], whole["size_after"]) == (None, 0)


@SIDES
def test_what_closes_stops_at_the_bankruptcy_price(side: str, sign: int) -> None:
    leg: Any = {"short": D(1), "short_value": D(60_000)} if sign > 0 else {"long": D(1), "long_value": D(60_000)}
    held = dataclasses.replace(FLAT, cross_equity=D(15), available=D(0), **leg)
    bound = D(60_000 + sign * 15)
    for extra, isolated in ((0, False), (0, True)):
        one = dataclasses.replace(held, isolated=isolated, assigned=D(15 + extra) if isolated else D(0))
        found = preview_order(inputs("MARKET", one, side=side, reduce_only=True), D(1), D(60_000 + sign * 500))
        assert (found["bankruptcy_price"], found["worst_price"], found["fills"]) == (bound, bound, 1)
        near_bound = preview_order(inputs("MARKET", one, side=side, reduce_only=True), D(1), bound)
        assert near_bound["bankruptcy_price"] is None
    opening = dataclasses.replace(held, hedge=True)
    found = preview_order(inputs("MARKET", opening, side=side), D(1), D(60_000 + sign * 500))
    assert found["bankruptcy_price"] is None
    unknown = preview_order(
        inputs("MARKET", dataclasses.replace(held, known=False), side=side), D(1), D(60_000 + sign * 500)
    )
    assert (unknown["bankruptcy_price"], Holdings().known) == (None, False)
