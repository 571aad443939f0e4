"""The price of a track between its points, and the house that takes the other side of every trade of a replay."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import pytest

from tests.venue.floor import ADA, Floor
from tests.venue.simulation.stream import Rng
from toolkit.venue.engine.commands import Advance
from toolkit.venue.engine.core import Core
from toolkit.venue.model.constants import IOC
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.simulation.replay import CAPITAL, ENDLESS, HOUSE, House, Replay, Track
from toolkit.venue.trading import placing


def test_a_track_is_a_straight_line_between_its_points_and_constant_beyond() -> None:
    rng = Rng(1)
    for _ in range(200):
        times = [rng.below(50)]
        for _ in range(rng.below(4)):
            times.append(times[-1] + 1 + rng.below(9))
        ticks = [rng.below(100) for _ in times]
        track = Track(times, ticks)
        for time in range(times[0] - 3, times[-1] + 4):
            at = max((number for number, each in enumerate(times) if each <= time), default=0)
            if time <= times[0] or time >= times[-1]:
                exact = Fraction(ticks[0] if time <= times[0] else ticks[-1])
            else:
                span = Fraction(time - times[at], times[at + 1] - times[at])
                exact = ticks[at] + (ticks[at + 1] - ticks[at]) * span
            assert track.at(time) == floor(exact)


def test_a_replay_sets_the_products_that_have_a_track_and_leaves_the_others() -> None:
    core = Core(Genesis(settings={"market": "usual"}))
    plain = Core(Genesis(settings={"market": "usual"}))
    Replay({1: Track([GENESIS_TIME, GENESIS_TIME + 6_000], [600_000, 600_600])}).attach(core)
    for each in (core, plain):
        each.apply(Advance(GENESIS_TIME + 3_000))
    assert core.state.markets[1].oracle == 600_300
    for code in (2, 3, 4):
        assert core.state.markets[code].oracle == plain.state.markets[code].oracle
    assert core.price_source(core, 1, GENESIS_TIME + 6_000) == (600_600, 0)


@pytest.fixture
def made() -> tuple[Floor, House]:
    place = Floor()
    return place, House(place.core)


def test_the_house_has_its_capital_and_pays_no_fee(made: tuple[Floor, House]) -> None:
    place, house = made
    account = place.core.state.accounts[HOUSE]
    assert account is house.account
    assert (account.balance, account.maker_rate, account.taker_rate) == (CAPITAL, 0, 0)


@pytest.mark.parametrize("side", [1, -1])
def test_a_quote_rests_behind_others_until_it_is_withdrawn(made: tuple[Floor, House], side: int) -> None:
    place, house = made
    book, name = place.core.books[1].side(side), "BUY" if side > 0 else "SELL"
    waiting = place.order(ADA, f"{name} 0.1 at 60000")
    quotes = [house.quote(1, side, 600_000, 250), house.quote(1, side, 600_000)]
    assert [quote.id for quote in quotes] == [-1, -2]
    assert list(book.levels[600_000].orders) == [waiting.id, -1, -2]
    assert book.levels[600_000].total == 100 + 250 + ENDLESS
    position, steps = house.account.positions[1], 250 + ENDLESS
    sums = (position.buy_quantity, position.buy_value, position.sell_quantity, position.sell_value)
    resting = (steps, steps * 600_000 * place.product.unit)
    assert sums == ((*resting, 0, 0) if side > 0 else (0, 0, *resting))
    for quote in quotes:
        house.withdraw(quote)
        house.withdraw(quote)  # once more does nothing
    assert list(book.levels[600_000].orders) == [waiting.id]
    assert not house.account.orders
    assert house.quote(1, side, 600_000).id == -1, "the numbers begin again"
    house.withdraw(house.account.orders[-1])
    assert (position.buy_quantity, position.sell_quantity) == (0, 0)
    assert place.core.violations() == []


@pytest.mark.parametrize("side", [1, -1])
def test_a_quote_is_traded_with_and_what_is_left_is_withdrawn(made: tuple[Floor, House], side: int) -> None:
    place, house = made
    quote = house.quote(1, side, 600_000, 250)
    # Within one command: a quote is gone at its end.
    assert placing.submit(place.core, place.account(ADA), place.product, -side, 100, 600_000, tif=IOC).filled == 100
    assert (quote.filled, quote.leaves) == (100, 150)
    position = place.position(ADA)
    assert (position.short if side > 0 else position.long).size == 100
    house.withdraw(quote)
    assert place.core.books[1].side(side).best == 0
    assert place.core.violations() == []


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("quantity", "filled"), [(50, 50), (150, 150), (500, 300)])
def test_a_hit_fills_what_rests_at_its_price_or_better(
    made: tuple[Floor, House], side: int, quantity: int, filled: int
) -> None:
    place, house = made
    name = "SELL" if side > 0 else "BUY"
    for away in (0, 1, 2):  # the last one is beyond the limit
        place.order(ADA, f"{name} {'0.1' if away else '0.2'} at {60_000 + side * away}")
    assert house.hit(1, side, 600_000 + side * 10, quantity) == filled
    trades = place.core.state.history.trades[1]
    assert [(trade.price, trade.quantity, trade.side) for trade in trades] == [
        (600_000 + side * 10 * away, min(size, filled - before), side)
        for away, size, before in ((0, 200, 0), (1, 100, 200))
        if filled > before
    ]
    assert not house.account.orders
    assert house.hit(1, side, 600_000 - side * 10, 5) == 0
    assert place.core.violations() == []
