"""The formulas of margin: published examples, their neighbours, and properties against brute force."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkit import margin
from toolkit.errors import InputError

D = Decimal
TABLE_1 = [(0, "0.0125", 40), (20_000_000, "0.0125", 20)]
FLAT_1_25 = [(0, "0.0125", 40)]
MAJOR = [(0, "0.0125", 40), (150_000_000, "0.025", 20)]
"""Published: 40x up to 150M, then 20x, maintenance half of the initial margin."""
STEEP = [(0, "0.01", 50), (10_000, "0.025", 20), (50_000, "0.05", 10), (250_000, "0.1", 5)]


def cents(value: Decimal | None) -> Decimal:
    assert value is not None
    return value.quantize(D("0.01"))


def test_maintenance_margin_of_a_second_tier_keeps_the_first_tiers_share() -> None:
    assert margin.deductions(MAJOR) == [0, 1_875_000]
    assert margin.maintenance_margin(200_000_000, MAJOR) == 3_125_000
    halves = [(0, None, 40), (150_000_000, None, 20)]
    assert margin.maintenance_margin(notional=200_000_000, tiers=halves) == 3_125_000


@pytest.mark.parametrize(
    ("side", "size", "entry", "stake", "mmr", "published"),
    [
        (1, "1", "100000", "5000", "0.0125", "96202.53"),
        (-1, "1", "100000", "5000", "0.0125", "103703.70"),
        (1, "1", "20000", "400", "0.005", "19698.49"),
        (-1, "3", "3000", "1000", "0.05", "3174.60"),
    ],
)
def test_liquidation_prices_as_published(
    side: int, size: str, entry: str, stake: str, mmr: str, published: str
) -> None:
    tiers = [(0, mmr, 40)]
    assert cents(margin.liquidation_price(side, size, entry, stake, tiers)) == D(published)
    by_name = margin.liquidation_price(side=side, size=D(size), entry_price=D(entry), margin=D(stake), tiers=tiers)
    assert cents(by_name) == D(published)


def test_bankruptcy_price_as_published_is_rounded_towards_solvency() -> None:
    # published for a margin of 1/50 of the value at bankruptcy, so entry·50/51
    stake = D("7890.08") / 51
    exact = margin.bankruptcy_price(1, 1, "7890.08", stake)
    assert exact is not None
    assert exact.quantize(D("0.0001")) == D("7735.3725")
    assert margin.bankruptcy_price(1, 1, "7890.08", stake, tick="0.5") == D("7735.50")
    assert margin.bankruptcy_price(-1, 1, "7890.08", stake, tick="0.5") == D("8044.5")


def test_funding_rates_as_published() -> None:
    assert margin.funding_rate("0.000429") == D("0.0001")
    assert margin.funding_rate(D("0.0008"), 8, D("0.0001"), D("0.0005"), D("0.02")) == D("0.0003")
    assert margin.funding_payment(1, 60_000, margin.funding_rate("0.0008")) == 18


def test_interest_without_premium_as_published() -> None:
    rate = margin.interest_rate("0.01", "0.0025", 3)
    assert rate == D("0.0025")
    assert margin.funding_payment(1, 20, rate) == D("0.05")


def test_auto_deleveraging_as_published_closes_the_highest_scores_first() -> None:
    sizes, scores = [10, 10, 20, 30, 20, 10], [3, 6, 1, 4, 5, 2]
    positions = [
        {"account": n + 1, "size": size, "score": score}
        for n, (size, score) in enumerate(zip(sizes, scores, strict=True))
    ]
    steps = margin.adl_order(positions, 20)
    assert [(step.account, step.quantity, step.score) for step in steps] == [(2, 10, 6), (5, 10, 5)]
    assert [step.account for step in margin.adl_order(positions)] == [2, 5, 4, 1, 6, 3]


def test_a_notional_exactly_at_a_floor_keeps_the_lower_tiers_leverage() -> None:
    assert margin.tier_of(20_000_000, TABLE_1).max_leverage == 40
    assert margin.tier_of("20000000.000001", TABLE_1).max_leverage == 20
    assert margin.tier_of(0, TABLE_1).max_leverage == 40


def test_no_position_has_no_price() -> None:
    assert margin.liquidation_price(1, 0, 100, 10, FLAT_1_25) is None
    assert margin.bankruptcy_price(-1, 0, 100, 10) is None
    assert margin.liquidation_price_hedged(0, 0, 0, 0, 10, FLAT_1_25) is None
    assert margin.margin_ratio(0, 0) == 0
    assert margin.effective_leverage(1, 0, 100, 90) == 0


@pytest.mark.parametrize(("stake", "price"), [("99.9", "0.101265822784810126582"), ("100", None), ("250", None)])
def test_a_fully_paid_long_cannot_be_liquidated(stake: str, price: str | None) -> None:
    found = margin.liquidation_price(1, 1, 100, stake, FLAT_1_25)
    assert (found is None) if price is None else (found is not None and abs(found - D(price)) < D("1e-20"))
    assert (margin.bankruptcy_price(1, 1, 100, stake) is None) is (price is None)


def test_margin_below_zero_moves_the_price_beyond_the_entry() -> None:
    assert cents(margin.liquidation_price(1, 1, 100, -10, [(0, 0, 40)])) == D("110.00")
    assert margin.liquidation_price(-1, 1, 100, -100, FLAT_1_25) is None
    assert margin.liquidation_price(-1, 1, 100, -101, FLAT_1_25) is None


def test_a_liquidation_exactly_at_a_tier_boundary_is_found() -> None:
    # short of 100, boundary price 100, maintenance there is 100: equity 100 at mark 100
    assert margin.liquidation_price(-1, 100, 99, 200, STEEP) == 100
    assert margin.liquidation_price(1, 100, 101, 200, STEEP) == 100


def test_a_nearly_equal_hedge_reports_the_price_on_its_net_side() -> None:
    tiers = [(0, "0.001", 100), (100_000, "0.05", 10)]
    legs = {"long_size": D("1.1"), "long_entry": 50_000, "short_size": 1, "short_entry": 50_000, "margin": 1_000}
    low = margin.liquidation_price_hedged(**legs, tiers=tiers)  # type: ignore[arg-type]
    assert low is not None
    assert low < 50_000
    swapped = {"long_size": 1, "long_entry": 50_000, "short_size": D("1.1"), "short_entry": 50_000, "margin": 1_000}
    high = margin.liquidation_price_hedged(**swapped, tiers=tiers)  # type: ignore[arg-type]
    assert high is not None
    assert high > 50_000


def test_margin_ratio_names_its_limits() -> None:
    assert margin.margin_ratio(50, 200) == D("0.25")
    assert margin.margin_ratio(50, 50) == 1
    assert margin.margin_ratio(50, 0) == margin.margin_ratio(50, -1) == D("Infinity")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"external": 102, "last": 101}, 101),  # P1 = 100.5, P2 = 101, P3 = 102
        ({"external": None}, "100.75"),  # P1 = 100.5 and P2 = 101: their mean
        ({"external": None, "book_average": 103}, 101),
        ({"external": 102, "book_average": 999}, 101),  # with three the average stays out
        ({"bid": None, "ask": None, "last": None}, "100.5"),
        ({"bid": None, "ask": None, "last": None, "external": 99}, "99.75"),
        ({"bid": float("nan"), "ask": None, "last": D("NaN")}, "100.5"),
        ({"oracle": None, "basis_average": None}, 101),
        ({"basis_average": None, "bid": None, "ask": None, "last": None}, 100),
    ],
)
def test_the_mark_is_the_median_of_what_exists(given: dict[str, Any], expected: Any) -> None:
    prices = {"oracle": 100, "basis_average": "0.5", "bid": 101, "ask": 103, "last": 99, "external": None} | given
    if given.get("external") == 102:
        prices["bid"] = prices["ask"] = 101
    assert margin.mark_price(**prices) == D(expected)


def test_the_mark_needs_one_price_and_takes_them_in_place() -> None:
    assert margin.mark_price(100, 0, 99, 101, 100) == 100
    with pytest.raises(InputError, match="at least one price"):
        margin.mark_price(None, None, None, None, None)


@given(
    st.lists(st.none() | st.decimals("0.01", "1e6", places=2), min_size=5, max_size=5).filter(any),
    st.none() | st.decimals("-1", "1", places=3),
)
def test_the_mark_is_never_nan_and_lies_within_its_inputs(prices: list[Decimal | None], basis: Decimal | None) -> None:
    oracle, bid, ask, last, external = prices
    found = margin.mark_price(oracle, basis, bid, ask, last, external)
    first = None if oracle is None else oracle + (basis or 0)
    known = [price for price in (first, bid, ask, last, external) if price is not None]
    assert min(known) <= found <= max(known)


def test_impact_prices_average_over_levels_and_know_a_thin_book() -> None:
    asks = [("100", "1"), ("110", "1"), ("120", "5")]
    assert margin.impact_price(asks, 100) == 100
    assert margin.impact_price(asks, 210) == 105
    assert margin.impact_price(asks, 330) == 110
    assert margin.impact_price(asks, 811) is None
    assert margin.impact_price([], 1) is None
    assert margin.impact_notional(40) == 8_000


def test_the_premium_counts_only_prices_beyond_the_oracle() -> None:
    assert margin.premium(100, 101, 102) == D("0.01")
    assert margin.premium(100, 98, 99) == D("-0.01")
    assert margin.premium(100, 99, 101) == 0
    assert margin.premium(100, None, None) == 0


@pytest.mark.parametrize(
    ("arguments", "rate"),
    [
        ({"premium": 0}, "0.0001"),
        ({"premium": 0, "interval_hours": 4}, "0.00005"),
        ({"premium": 0, "interval_hours": 1}, "0.0000125"),
        ({"premium": "-0.001"}, "-0.0005"),
        ({"premium": "0.5"}, "0.02"),
        ({"premium": "-0.5", "cap": "0.0075"}, "-0.0075"),
        ({"premium": "0.5", "cap": None}, "0.4995"),
        ({"premium": "0.001", "clamp": 0}, "0.001"),
    ],
)
def test_funding_rates_scale_with_the_interval_and_are_capped(arguments: dict[str, Any], rate: str) -> None:
    assert margin.funding_rate(**arguments) == D(rate)


def test_shorts_receive_what_longs_pay() -> None:
    assert margin.funding_payment(-2, 50_000, "0.0001") == -margin.funding_payment(2, 50_000, "0.0001") == -10


@dataclass
class Holding:
    """A position as an object, without a score."""

    account: str
    side: int
    size: Decimal
    entry_price: Decimal
    margin: Decimal


def test_scores_come_from_profit_and_effective_leverage() -> None:
    # entry 100, mark 110, bankrupt at 90: profit 10 %, leverage 110 / 20 = 5.5
    assert margin.effective_leverage(1, 3, 110, 90) == D("5.5")
    assert margin.adl_score(1, 3, 100, 110, 90) == D("0.55")
    assert margin.adl_score(-1, 3, 100, 110, 120) == D("-0.1") / 11
    assert margin.adl_score(1, 3, 100, 100, 90) == 0
    assert margin.effective_leverage(1, 1, 90, 90) == D("Infinity")
    assert margin.effective_leverage(1, 1, 90, None) == 1
    assert margin.adl_score(1, 0, 100, 50, 90) == 0, "an empty position has no leverage to divide by"


def test_positions_without_a_score_are_scored_and_own_side_is_left_out() -> None:
    holdings = [
        Holding("calm", -1, D(5), D(100), D(100)),
        Holding("bold", -1, D(5), D(100), D(10)),
        Holding("other side", 1, D(5), D(100), D(10)),
        Holding("loser", -1, D(5), D(80), D(100)),
    ]
    steps = margin.adl_order(holdings, size=7, mark_price=90, side=1)
    assert [(step.account, step.quantity) for step in steps] == [("bold", 5), ("calm", 2)]
    everything = margin.adl_order(holdings, mark_price=90, side=1)
    assert [step.account for step in everything] == ["bold", "calm", "loser"]


def test_too_few_positions_close_what_they_can_and_ties_keep_their_order() -> None:
    steps = margin.adl_order([{"size": 3, "score": 1}, {"size": 0, "score": 9}, {"size": 4, "score": 1}], 100)
    assert [(step.account, step.quantity) for step in steps] == [(0, 3), (2, 4)]
    assert margin.adl_order([], 5) == []
    assert margin.adl_order([("a", 5, 1)], 0) == []
    with pytest.raises(InputError, match="mark_price is needed"):
        margin.adl_order([Holding("a", 1, D(1), D(1), D(1))])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: margin.initial_margin(0.1 + 0.2, 2), "notional is the float 0.30000000000000004, which has more"),
        (lambda: margin.initial_margin(True, 2), "notional is True. It must be a number"),
        (lambda: margin.initial_margin("ten", 2), "notional is 'ten'. It must be a number"),
        (lambda: margin.initial_margin("NaN", 2), "must be a finite number"),
        (lambda: margin.initial_margin(float("inf"), 2), "must be a finite number"),
        (lambda: margin.initial_margin(10, 0), "leverage is 0. It must be above 0"),
        (lambda: margin.maintenance_margin(-1, FLAT_1_25), "notional is -1. It must not be negative"),
        (lambda: margin.maintenance_margin(1, []), "tiers is empty"),
        (lambda: margin.maintenance_margin(1, [(5, "0.01", 40)]), "first tier starts at 5. It must start at 0"),
        (lambda: margin.maintenance_margin(1, [(0, "0.01", 40), (0, "0.02", 20)]), "not above"),
        (lambda: margin.maintenance_margin(1, [(0, "1.25", 40)]), "at least 0 and below 1"),
        (lambda: margin.maintenance_margin(1, [(0, None, None)]), "neither mmr nor max_leverage"),
        (lambda: margin.maintenance_margin(1, ["low"]), r"A tier is \(floor, mmr, max_leverage\)"),
        (lambda: margin.liquidation_price(0, 1, 1, 1, FLAT_1_25), r"side is 0. It must be \+1"),
        (lambda: margin.funding_rate(None), "premium is None. It must be a number"),  # type: ignore[arg-type]
        (lambda: margin.mark_price(0, 0, 1, 1, 1), "oracle is 0. It must be above 0"),
        (lambda: margin.maintenance_margin(5, None), "tiers is None. It must be a list of rows"),
        (lambda: margin.maintenance_margin(5, 5), "tiers is 5. It must be a list of rows"),
        (
            lambda: margin.adl_order([(10, 3)], 20),
            r"positions\[0\] is \(10, 3\). A position is \(account, size, score\)",
        ),
        (lambda: margin.adl_order([(1, 10, D("NaN"))], 20), r"positions\[0\].score is Decimal\('NaN'\). It must be"),
        (lambda: margin.adl_order([(1, 10, 3)], 20, side="x"), "side is 'x'"),
        (lambda: margin.impact_price([5], 5), r"levels\[0\] is 5. A level is \(price, quantity\)"),
        (lambda: margin.impact_price([(1, "x")], 5), r"levels\[0\].quantity is 'x'. It must be a number"),
        (lambda: margin.initial_margin("1e400", 5), "must lie between 1e-300 and 1e300"),
        (lambda: margin.initial_margin(10**5000, 5), "notional is of type int. Other than 0 it must lie between"),
        (lambda: margin.liquidation_price("BUY", 1, 1, 1, FLAT_1_25), r"side is 'BUY'. It must be \+1 \(long\)"),
    ],
)
def test_wrong_input_is_refused_with_its_reason(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_numbers_are_taken_exactly_in_every_form() -> None:
    import numpy as np

    forms: Sequence[Any] = (0.1, "0.1", D("0.1"), np.float64(0.1))
    assert {margin.initial_margin(form, 1) for form in forms} == {D("0.1")}
    assert margin.initial_margin(np.int64(7), 1) == 7


def test_rows_of_the_margin_tables_are_read_as_they_come_over_the_wire() -> None:
    wire = [
        {"minimumValue": "0", "maintainMarginRatio": "0.0125", "maxLeverage": "40"},
        {"minimumValue": "150000000", "maintainMarginRatio": "0.025", "maxLeverage": "20"},
    ]
    named = [{"floor": 0, "mmr": "0.0125", "max_leverage": 40}, {"floor": 150_000_000, "mmr": "0.025"}]
    assert margin.maintenance_margin(200_000_000, wire) == 3_125_000
    assert margin.maintenance_margin(200_000_000, named) == 3_125_000
    assert margin.maintenance_margin(200_000_000, margin.read_tiers(MAJOR)) == 3_125_000


def test_the_callers_decimal_context_changes_nothing() -> None:
    plain = margin.liquidation_price(1, 1, 100_000, 5_000, FLAT_1_25)
    with localcontext() as context:
        context.prec = 5
        assert margin.liquidation_price(1, 1, 100_000, 5_000, FLAT_1_25) == plain


# ------------------------------------------------------------------------- properties, against brute force

sides = st.sampled_from([1, -1])
sizes = st.decimals("0.001", "5000", places=3)
prices = st.decimals("0.1", "200000", places=1)
stakes = st.decimals("-1e6", "1e9", places=6)


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[Decimal, Decimal, int]]:
    floors = sorted(draw(st.sets(st.integers(1, 10**8), max_size=4)))
    ratios = sorted(draw(st.sets(st.integers(1, 400), min_size=len(floors) + 1, max_size=len(floors) + 1)))
    return [
        (D(floor), D(ratio) / 1000, max(1, 500 // ratio)) for floor, ratio in zip([0, *floors], ratios, strict=True)
    ]


def surplus(legs: Sequence[tuple[int, Decimal, Decimal]], stake: Decimal, tiers: Any, price: Decimal) -> Decimal:
    """Equity − maintenance margin at a price, written out once more."""
    total = stake
    for side, size, entry in legs:
        notional, need, before = size * price, D(0), D(0)
        for index, (floor, mmr, _) in enumerate(tiers):
            top = tiers[index + 1][0] if index + 1 < len(tiers) else max(notional, floor)
            need += max(D(0), min(notional, top) - floor) * mmr
            before = mmr
        assert before >= 0
        total += side * size * (price - entry) - need
    return total


@given(sides, sizes, prices, stakes, tables())
def test_liquidation_price_is_where_bisection_finds_it(
    side: int, size: Decimal, entry: Decimal, stake: Decimal, tiers: Any
) -> None:
    found = margin.liquidation_price(side, size, entry, stake, tiers)
    legs = [(side, size, entry)]
    with localcontext() as context:
        context.prec = 60
        low, high = D(0), D(10) ** 20
        if surplus(legs, stake, tiers, low) * side >= 0 and (side > 0 or surplus(legs, stake, tiers, low) <= 0):
            assert found is None
            return
        for _ in range(180):
            middle = (low + high) / 2
            if surplus(legs, stake, tiers, middle) * side > 0:
                high = middle
            else:
                low = middle
        assert found is not None
        assert abs(found - low) <= D("1e-18") * max(D(1), low)


@given(sizes, prices, sizes, prices, stakes, tables())
def test_hedged_liquidation_price_is_a_root_with_a_sign_change(
    long_size: Decimal, long_entry: Decimal, short_size: Decimal, short_entry: Decimal, stake: Decimal, tiers: Any
) -> None:
    found = margin.liquidation_price_hedged(long_size, long_entry, short_size, short_entry, stake, tiers)
    legs = [(1, long_size, long_entry), (-1, short_size, short_entry)]
    with localcontext() as context:
        context.prec = 60
        samples = [D(10) ** power for power in range(-6, 16)]
        signs = [surplus(legs, stake, tiers, price) > 0 for price in samples]
        if found is None:
            assert len(set(signs)) == 1
        else:
            assert abs(surplus(legs, stake, tiers, found)) <= found * D("1e-22") + D("1e-12")


@given(sides, sizes, prices, st.decimals("0.000001", "1e6", places=6), st.sampled_from(["0.1", "0.5", "0.0001"]))
def test_equity_at_bankruptcy_is_zero_and_rounding_is_towards_solvency(
    side: int, size: Decimal, entry: Decimal, stake: Decimal, tick: str
) -> None:
    exact = margin.bankruptcy_price(side, size, entry, stake)
    assume(exact is not None)
    assert exact is not None
    assert abs(stake + margin.unrealized_pnl(side, size, entry, exact)) < D("1e-15")
    rounded = margin.bankruptcy_price(side, size, entry, stake, tick)
    if rounded is not None:
        assert 0 <= side * (rounded - exact) < D(tick)
        assert rounded % D(tick) == 0


@given(tables(), st.decimals("0", "1e9", places=2), st.decimals("0", "1e9", places=2))
def test_maintenance_margin_grows_with_the_notional(tiers: Any, one: Decimal, other: Decimal) -> None:
    low, high = sorted((one, other))
    assert margin.maintenance_margin(low, tiers) <= margin.maintenance_margin(high, tiers)


@given(st.decimals("-0.1", "0.1", places=6), st.sampled_from([1, 2, 4, 8]))
def test_funding_is_flat_near_the_interest_and_odd_without_it(premium: Decimal, hours: int) -> None:
    rate = margin.funding_rate(premium, hours)
    assert abs(rate) <= margin.CAP
    if abs(premium - margin.INTEREST) <= margin.CLAMP:
        assert rate == margin.INTEREST * hours / 8
    assert margin.funding_rate(-premium, hours, interest=0) == -margin.funding_rate(premium, hours, interest=0)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(-5, 5)), max_size=12),
    st.integers(0, 200),
)
def test_deleveraging_closes_just_enough_from_the_top(rows: list[tuple[int, int]], size: int) -> None:
    steps = margin.adl_order([{"size": held, "score": score} for held, score in rows], size)
    assert sum(step.quantity for step in steps) == min(size, sum(held for held, _ in rows))
    scores = [step.score for step in steps]
    assert scores == sorted(scores, reverse=True)
    used = {step.account for step in steps}
    if steps:
        assert all(score <= scores[-1] for place, (_, score) in enumerate(rows) if place not in used)
    assert all(step.quantity == rows[step.account][0] for step in steps[:-1])


class Broken:
    """An object that can't even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def junk() -> list[Any]:
    import numpy as np
    import pandas as pd

    numbers = [
        0, 1, -1, 2, True, False, 10**400, 10**5000, -(10**400), 0.5, -0.0, 0.1 + 0.2, 5e-324, 1e308,
        float("nan"), float("inf"), float("-inf"), 1j, Fraction(1, 2), Fraction(1, 3), Fraction(10**400, 7),
        D("NaN"), D("sNaN"), D("Infinity"), D("-Infinity"), D("1e999999"), D("1e-999999"), D("0e999999"), D("1e299"),
        D("1e-299"), D("-0"), D(1) / 3,
    ]  # fmt: skip
    texts = ["", " ", "abc", "1", "-1", "+1", "1e5", "1e999999999999", "1e-999999999999", "0e99999999999", "nan"]
    texts += ["sNaN", "inf", "0x1F", "1_000", "١٢", "\ud800", "BUY", "short", "9" * 5000, "0." + "0" * 5000 + "1"]
    others = [
        None, [], {}, (), set(), [1], [[1, 2]], [(0, "0.01", 40)], {"floor": 0}, {"size": 1}, {"score": D("NaN")},
        object(), Broken(), int, len, b"1", b"", range(3), iter([]), ..., NotImplemented, lambda: 1,
        margin.Tier(0, "0.0125", 40), [margin.Tier(0, 0.0125, None)], [margin.Tier(D(0), D("NaN"), D(1))],
        [margin.Tier(D("sNaN"), None, None)], [(1, 1, D("sNaN")), (2, 2, D(1))], [(1, 1, 1), (1, 1)], [(1, 2, 3, 4)],
        [{"size": 1, "side": 1, "entry_price": 5, "margin": 1}], [{"size": 1, "side": "x", "score": 1}],
    ]  # fmt: skip
    foreign = [
        np.float32(0.1), np.float16(0.5), np.float32("nan"), np.float64("inf"), np.longdouble(1) / 3, np.int8(1),
        np.uint64(2**64 - 1), np.bool_(True), np.complex128(1), np.str_("1"), np.datetime64("2026-01-01"),
        np.array(1), np.array([1, 2]), np.array([[1, 2, 3]]), np.array([]), np.nan, pd.NA, pd.NaT, pd.Timestamp(0),
        pd.Series([1, 2, 3]), pd.Series({"size": 1, "score": 2}), pd.DataFrame({"size": [1]}), pd.Timedelta(1),
    ]  # fmt: skip
    return [*numbers, *texts, *others, *foreign]


GOOD: dict[str, Any] = {
    "notional": 1000, "leverage": 5, "tiers": FLAT_1_25, "side": 1, "size": 2, "entry_price": 100, "mark_price": 101,
    "margin": 20, "maintenance": 5, "equity": 50, "long_size": 1, "long_entry": 100, "short_size": 2, "short_entry": 90,
    "tick": "0.5", "oracle": 100, "basis_average": 0, "bid": 99, "ask": 101, "last": 100, "external": 100,
    "rate": "0.0001", "book_average": 100, "max_leverage": 20, "levels": [(1, 1000)], "impact_bid": 99,
    "impact_ask": 101, "quote_rate": 1, "base_rate": 0, "intervals": 3, "premium": "0.001",
    "interval_hours": 8, "interest": "0.0001", "clamp": "0.0005",
    "cap": "0.02", "bankruptcy_price": 80, "positions": [(1, 10, 3), (2, 10, 6)],
}  # fmt: skip
FORMULAS = [
    found for name, found in sorted(vars(margin).items()) if inspect.isfunction(found) and name in margin.__all__
]


def answers(call: Any) -> Any:
    """Return the answer, after making sure that it is one; None where the input was refused."""
    try:
        answer = call()
    except InputError as error:
        return None if str(error) and error.field else pytest.fail(f"no field: {error}")
    for part in answer if isinstance(answer, list) else [answer]:
        numbers = part[1:] if isinstance(part, margin.Deleveraging) else part if isinstance(part, tuple) else [part]
        for number in numbers:
            assert not isinstance(number, float)
            assert not (isinstance(number, D) and number.is_nan()), "an answer is never NaN"
    return answer


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.__name__)
def test_junk_in_any_argument_is_refused_as_input_or_answered(formula: Any) -> None:
    names = list(inspect.signature(formula).parameters)
    good = {name: GOOD[name] for name in names}
    assert formula(**good) is not None
    for name in names:
        for odd in junk():
            answers(lambda odd=odd, name=name: formula(**{**good, name: odd}))
            for shell in ([odd], [(odd, odd, odd)], [(0, odd, 40)], [(1, odd)], [{"size": 1, "score": odd}]):
                if name in ("tiers", "levels", "positions"):
                    answers(lambda shell=shell, name=name: formula(**{**good, name: shell}))


def test_numbers_of_other_libraries_are_taken_for_what_they_print_as() -> None:
    import numpy as np
    import pandas as pd

    assert margin.initial_margin(np.float32(0.1), 1) == D("0.1")
    assert margin.initial_margin(Fraction(1, 8), 1) == D("0.125")
    with pytest.raises(InputError, match=r"has no finite decimal. Give a Decimal such as 0\.3333") as caught:
        margin.initial_margin(Fraction(1, 3), 1)  # type: ignore[arg-type]
    assert margin.initial_margin(caught.value.nearest[0], 1)
    gaps: Sequence[Any] = (None, float("nan"), D("NaN"), np.float32("nan"), pd.NA)
    for gap in gaps:
        assert margin.mark_price(100, gap, gap, gap, np.float32(102), gap, gap) == 101
    with pytest.raises(InputError, match=r"bid is Decimal\('sNaN'\). It must be a finite number"):
        margin.mark_price(100, 0, D("sNaN"), 1, 1)


def test_a_written_tier_is_read_like_any_row() -> None:
    for ratio in ("0.0125", 0.0125, D("0.0125")):
        assert margin.maintenance_margin(1000, [margin.Tier(0, ratio, 40)]) == D("12.5")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"tiers\[0\].mmr is 2. It must be at least 0 and below 1"):
        margin.maintenance_margin(1000, [margin.Tier(D(0), D(2), None)])


def test_positions_may_be_rows_of_a_frame() -> None:
    import pandas as pd

    frame = pd.DataFrame({"account": ["a", "b"], "size": [10.0, 20.0], "score": [1.5, float("inf")]})
    steps = margin.adl_order((row for _, row in frame.iterrows()), 25)
    assert [(step.account, step.quantity) for step in steps] == [("b", 20), ("a", 5)]


def test_limits_lie_at_0_and_not_above_it() -> None:
    assert margin.margin_ratio("0.5", "0.25") == margin.margin_ratio(1, "0.5") == 2
    assert margin.margin_ratio("0.5", 0) == D("Infinity")
    assert margin.effective_leverage(1, 1, 100, "99.5") == 200, "a cushion of less than one"
    assert margin.effective_leverage(1, 1, 100, 100) == D("Infinity")
    # No gain at infinite leverage is no gain.
    assert margin.adl_score(1, 1, 100, 100, 100) == 0


def test_tiers_may_be_pairs_and_those_of_a_product() -> None:
    tier = namedtuple("tier", "floor maintenance_rate max_leverage")
    for rows in ([(0, "0.0125"), [1000, "0.05"]], [SimpleNamespace(floor=0, mmr="0.0125"), (1000, "0.05", 10)]):
        assert margin.deductions(rows) == [0, D("37.5")]
    held = [tier(D(0), D("0.0125"), D(40)), tier(D(1000), D("0.05"), D(10))]
    assert margin.deductions([SimpleNamespace(**row._asdict()) for row in held]) == [0, D("37.5")]
    for odd in [(0,), (0, 1, 2, 3), SimpleNamespace(mmr="0.0125"), {"mmr": 1}]:
        with pytest.raises(InputError, match="A tier is"):
            margin.deductions([odd])


def test_a_position_without_a_margin_or_a_bankruptcy_price_is_scored_as_fully_paid() -> None:
    long = {"size": 1, "side": 1, "entry_price": 100}
    for row, score in ((long, "0.1"), (long | {"bankruptcy_price": 55}, "0.2"), (long | {"margin": 45}, "0.2")):
        [step] = margin.adl_order([row], mark_price=110)
        assert step.score == D(score)
