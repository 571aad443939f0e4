"""Oracle, mark and last price: the integer rules of the venue against the formulas, and what a tick does."""

from __future__ import annotations

from decimal import Decimal
from math import floor
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.venue.play import BTC, Play
from toolkit import margin
from toolkit.venue.engine.commands import Control
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.model.state import MarketState
from toolkit.venue.risk import prices

ticks = st.integers(1, 10**7)
maybe = st.none() | ticks


@given(
    oracle=st.integers(0, 10**7),
    bid=ticks,
    spread=st.integers(0, 50),
    last=maybe,
    external=maybe,
    basis=st.lists(st.integers(-500, 500), max_size=5),
    book=st.lists(ticks, max_size=5),
)
def test_the_mark_is_that_of_the_formula_in_whole_ticks(
    oracle: int, bid: int, spread: int, last: int | None, external: int | None, basis: list[int], book: list[int]
) -> None:
    """All in half ticks, means rounded down; of the median of them halves of a tick go up."""
    ask = bid + 1 + spread
    market = MarketState(
        BTC, oracle=oracle, last=last or 0, external=external or 0, basis=[*basis, None], book=[None, *book]
    )
    found = [2 * oracle + (floor(mean(basis)) if basis else 0)] if oracle else []
    found.append(2 * (median((bid, ask, last)) if last else (bid + ask) // 2))
    found += [2 * external] if external else []
    found += [floor(2 * mean(book))] if book and len(found) == 2 else []
    assert prices.mark_price(market, bid, ask) == max(1, (floor(median(found)) + 1) // 2)
    if oracle and last:
        average = Decimal(floor(mean(basis))) / 2 if basis else None
        joined = Decimal(floor(2 * mean(book))) / 2 if book else None
        exact = margin.mark_price(oracle, average, bid, ask, last, external, joined)
        assert abs(prices.mark_price(market, bid, ask) - max(exact, Decimal(1))) <= Decimal("0.75")


@pytest.mark.parametrize(
    ("bid", "ask", "last", "basis", "book"),
    [
        (10, 15, 12, 3, 12),
        (10, 15, 9, 3, 10),
        (10, 15, 16, 3, 15),
        (10, 15, 0, 3, 12),
        (0, 15, 12, None, None),
        (10, 0, 12, None, None),
    ],
)
def test_a_book_with_both_sides_is_sampled(bid: int, ask: int, last: int, basis: int | None, book: int | None) -> None:
    market = MarketState(BTC, oracle=11, last=last)
    prices.sample(market, bid, ask)
    assert (market.basis, market.book) == ([basis], [book])


def test_ticks_come_every_three_seconds_from_the_source() -> None:
    play = Play()
    seen: list[int] = []

    def source(core: Core, code: int, time: int) -> tuple[int, int]:
        seen.append(time)
        return (610_000 + len(seen), 0) if code == BTC else (0, 0)

    play.core.price_source = source
    start, market = play.now, play.core.state.markets[BTC]
    play.advance(9_500)
    assert sorted(set(seen)) == [start + 3_000, start + 6_000, start + 9_000]
    assert market.oracle == market.mark == 610_009
    assert play.core.state.markets[2].oracle > 0, "a source without a price leaves the old one"


def test_a_price_held_by_hand_stays_until_it_is_released() -> None:
    play = Play()
    play.core.price_source = lambda core, code, time: (650_000, 0)
    play.oracle("70000.5")
    market = play.core.state.markets[BTC]
    assert (market.oracle, market.mark) == (700_005, 700_005)
    play.advance(6_000)
    assert market.oracle == 700_005
    play.control("release_oracle", product=BTC)
    play.advance(3_000)
    assert (market.oracle, market.mark) == (650_000, 650_000)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"product": 9, "price": "1"}, "symbolCode 9 is not a product"),
        ({"product": 1, "price": "0"}, "must be above 0"),
        ({"product": 1, "price": "1.23"}, "tickSize 0.1"),
    ],
)
def test_impossible_oracle_prices_are_refused_in_words(args: dict[str, object], words: str) -> None:
    play = Play()
    outcome = play.core.apply(Control(play.now, "set_oracle", args))
    assert outcome.code == 40230
    assert words in outcome.message


def test_the_source_brings_prices_of_other_venues_too() -> None:
    play = Play()
    play.core.price_source = lambda core, code, time: (600_000, 602_000 if code == BTC else 0)
    play.advance(3_000)
    market = play.core.state.markets[BTC]
    assert (market.oracle, market.external, market.mark) == (600_000, 602_000, 601_000)


@pytest.mark.parametrize("side", [1, -1])
def test_the_mark_stays_within_half_of_the_smallest_maintenance_rate_of_the_oracle(side: int) -> None:
    play = Play()
    play.oracle(60_000)
    market = play.core.state.markets[BTC]
    for away, mark, beyond in ((370, 600_000 + side * 3_700, 0), (900, 600_000 + side * 3_750, 600_000 + side * 9_000)):
        play.core.price_source = lambda core, code, time: (600_000, 600_000 + side * 20 * away)  # noqa: B023
        play.control("release_oracle", product=BTC)
        play.advance(3_000)
        assert (market.mark, market.beyond) == (mark, beyond)
    free = Play(mark_band=0)
    free.core.price_source = lambda core, code, time: (600_000, 700_000)
    free.advance(3_000)
    assert free.core.state.markets[BTC].mark == 650_000


def test_the_highest_oracle_price_is_that_of_an_order() -> None:
    play = Play()
    product = play.core.products[BTC]
    play.control("set_oracle", product=BTC, price=product.price_text(product.max_price))
    above = product.price_text(product.max_price + 1)
    outcome = play.core.apply(Control(play.now, "set_oracle", {"product": BTC, "price": above}))
    assert f"oracle price {above} is above" in outcome.message
    assert play.core.state.markets[BTC].oracle == product.max_price


def test_a_product_without_any_price_keeps_its_mark() -> None:
    play = Play()
    market = play.core.state.markets[BTC]
    market.oracle = market.external = 0
    before = market.mark
    prices.set_mark(play.core, market, prices.mark_price(market, 0, 0))
    assert market.mark == before > 0


@pytest.mark.parametrize(("time", "first"), [(0, 3_000), (1, 3_000), (2_999, 3_000), (3_000, 6_000)])
def test_prices_funding_and_samples_begin_at_the_next_multiple_of_their_interval(time: int, first: int) -> None:
    schedule = Core(Genesis(time=time)).state.schedule
    assert (schedule["prices"], schedule["funding"], schedule["samples"]) == (first, first, 60_000)
