"""Funding: samples, rates and settlements, against the formulas and to the last micro-USDC."""

from __future__ import annotations

from decimal import Decimal
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.venue.play import BTC, MICRO, Play
from toolkit import margin
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import VenueOrder
from toolkit.venue.model.book import Book
from toolkit.venue.model.constants import RATE
from toolkit.venue.risk import funding_settlement

HOUR = 3_600_000
CORE = Core()


means = st.integers(-funding_settlement.FINE // 10, funding_settlement.FINE // 10)


@given(means | means.map(lambda mean: mean // 10_000 * 10_000))
def test_the_rate_is_that_of_the_formula_rounded_to_eight_decimals(mean: int) -> None:
    exact = margin.funding_rate(Decimal(mean) / funding_settlement.FINE, 4)
    assert funding_settlement.rate_of(CORE, BTC, mean) == floor(exact * RATE + Decimal("0.5")), "halves go up"


@given(
    st.lists(st.tuples(st.integers(590_000, 610_000), st.integers(1, 200)), max_size=8, unique_by=lambda row: row[0]),
    st.integers(1, 20_000),
)
def test_impact_prices_are_those_of_the_formula(levels: list[tuple[int, int]], notional: int) -> None:
    book = Book(BTC)
    for number, (price, quantity) in enumerate(levels):
        book.asks.add(VenueOrder(number, "0x", BTC, -1, False, 1, 1, 0, price, quantity, quantity))
    unit = CORE.products[BTC].unit
    found = funding_settlement.impact_price(((level.price, level.total) for level in book.asks), notional * MICRO, unit)
    money = Decimal(unit) / MICRO
    exact = margin.impact_price([(price, quantity * money) for price, quantity in sorted(levels)], notional)
    assert (found == 0) == (exact is None)
    if exact is not None:
        assert 0 <= exact * 1_000_000 - found < 1, "rounded down to a millionth of a tick"


def settled(play: Play) -> None:
    """Let time pass to the next settlement."""
    play.advance(funding_settlement.next_settlement(play.core, BTC) - play.now)


@pytest.fixture
def play() -> Play:
    play = Play()
    play.oracle(60_000)
    play.fund(100_000, "ann", "bob")
    play.trade("ann", "bob", "1", 60_000)
    return play


def test_without_a_premium_longs_pay_the_interest(play: Play) -> None:
    before = play.balance("ann"), play.balance("bob")
    settled(play)
    # 0.01 % in 8 hours is 0.005 % in 4: 3 USDC on 60,000
    assert (play.balance("ann") - before[0], play.balance("bob") - before[1]) == (-3 * MICRO, 3 * MICRO)
    [rate] = play.core.state.history.funding_rates[BTC]
    assert (rate.rate, rate.mark, rate.premium, rate.time % (4 * HOUR)) == (5_000, 600_000, 0, 0)
    [payment] = play.core.state.history.funding_payments.of(play.address("ann"))
    assert (payment.side, payment.size, payment.rate, payment.amount) == (1, 1000, 5_000, -3 * MICRO)
    assert play.position("ann").funding == play.position("ann").long.funding == -3 * MICRO
    assert play.core.state.markets[BTC].funding_rate == 5_000
    assert play.core.state.markets[BTC].samples == 0


def test_nobody_is_asked_when_the_rate_is_nothing() -> None:
    play = Play(interest=0)
    play.oracle(60_000)
    play.fund(10_000, "ann", "bob")
    play.trade("ann", "bob", "0.1", 60_000)
    settled(play)
    assert play.core.state.history.funding_rates[BTC][0].rate == 0
    assert play.core.state.history.funding_payments.records == []


def premium_with(play: Play, best_bid: int, best_ask: int) -> int:
    return funding_settlement.premium_of(play.core, play.core.state.markets[BTC], best_bid, best_ask)


def test_the_premium_is_that_of_the_side_which_the_oracle_is_beyond() -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(10_000_000, "zoe")
    play.placed("zoe", "SELL", "5", 59_940)
    market = play.core.state.markets[BTC]
    assert funding_settlement.premium(play.core, market) == -funding_settlement.FINE // 1_000
    play.act("zoe", type="cancelAll", symbolCode=BTC)
    play.placed("zoe", "SELL", "0.001", 59_940)
    assert funding_settlement.premium(play.core, market) == 0, "so little has no impact price"


@pytest.mark.parametrize(("bid", "ask"), [(0, 0), (600_000, 600_001), (599_999, 600_000), (599_000, 601_000)])
def test_there_is_no_premium_while_the_oracle_is_inside_the_book(bid: int, ask: int) -> None:
    play = Play()
    play.oracle(60_000)
    assert premium_with(play, bid, ask) == 0


def test_there_is_no_premium_without_an_oracle() -> None:
    play = Play()
    play.core.state.markets[BTC].oracle = 0
    assert premium_with(play, 600_000, 600_001) == 0


def test_premiums_are_capped_and_a_mean_of_no_sample_is_nothing() -> None:
    play = Play()
    cap, market = play.core.state.config.funding_cap, play.core.state.markets[BTC]
    assert funding_settlement.rate_of(play.core, BTC, funding_settlement.FINE) == cap
    assert funding_settlement.rate_of(play.core, BTC, -funding_settlement.FINE) == -cap
    market.premium, market.samples = 7 * funding_settlement.FINE // 1_000, 0
    assert funding_settlement.current_rate(play.core, BTC) == funding_settlement.rate_of(play.core, BTC, 0)
    market.samples = 7
    assert funding_settlement.current_rate(play.core, BTC) == funding_settlement.rate_of(
        play.core, BTC, funding_settlement.FINE // 1_000
    )


def test_of_a_settlement_all_holders_are_told_but_participants_keep_no_record(play: Play) -> None:
    play.account("bob").kind = "market"
    before = play.balance("bob")
    market = play.core.state.markets[BTC]
    play.core.events.clear()
    funding_settlement.settle(play.core, market, play.now)
    assert play.balance("bob") > before
    assert play.position("bob").short.funding == play.position("bob").funding == play.balance("bob") - before
    log = play.core.state.history.funding_payments
    assert [(one.id, one.address, one.side) for one in log.records] == [(1, play.address("ann"), 1)]
    kinds = [type(one).__name__ for one in play.core.events if type(one).__name__ != "AccountChanged"]
    assert kinds == ["FundingRate", "FundingPayment"]
    assert type(play.core.events[-1]).__name__ == "AccountChanged"
    funding_settlement.settle(play.core, market, play.now)
    assert [one.id for one in log.records] == [1, 2]


@pytest.mark.parametrize(("bound", "most"), [(5_000, 6_250), (9_000, 9_000), (0, 40_000)])
def test_a_sample_of_the_premium_is_bounded_by_the_band_or_a_half_per_cent(bound: int, most: int) -> None:
    """In millionths. A bid of 60,000 at +4 % would else be paid by all others."""
    play = Play(premium_bound=bound * 100)
    play.oracle(60_000)
    play.fund(100_000, "ann")
    play.placed("ann", "BUY", "1", 62_400)
    market = play.core.state.markets[1]
    assert funding_settlement.premium(play.core, market) == most * 1_000_000


def test_an_impact_price_is_that_of_a_part_of_the_usual_depth_at_least() -> None:
    """A bid for 8,000 USDC, as published, is too little where the book usually holds 2 million."""
    play = Play(usual_depth=2_000_000 * MICRO)
    play.oracle(60_000)
    play.fund(100_000, "ann")
    play.placed("ann", "BUY", "0.2", 60_060)
    market = play.core.state.markets[1]
    assert funding_settlement.premium(play.core, market) == 0
    play.placed("ann", "BUY", "0.2", 60_060)
    assert funding_settlement.premium(play.core, market) == 1_000 * 1_000_000
