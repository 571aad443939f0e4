"""An order that adds risk is accepted exactly while equity covers the initial margin after it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.venue.floor import ADA, BOB, Floor
from tests.venue.play import Play
from tests.venue.storms import Storm, storm_core
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import Position, VenueAccount, VenueOrder
from toolkit.venue.model.constants import GTC, LIMIT
from toolkit.venue.risk import account_margin, ledger, order_margin

MICRO = 1_000_000


def floor_with(usdc: int) -> Floor:
    """A floor where ADA has so many USDC at 20x, and BOB a book of 10 BTC at 60,000 and 10 more at 60,300."""
    floor = Floor()
    account = floor.account(ADA)
    ledger.withdraw(floor.core, account, account.balance - usdc * MICRO)
    floor.order(BOB, "SELL 10 at 60000")
    floor.order(BOB, "SELL 10 at 60300")
    return floor


@pytest.mark.parametrize("side", ["BUY 3.333 at 59990", "SELL 3.333 at 60000.1"])
def test_a_resting_order_needs_its_initial_margin_and_nothing_more(side: str) -> None:
    floor = floor_with(10_000)
    assert floor.order(ADA, side).status == 1
    words = floor.refused(ADA, side.replace("3.333", "0.002"))
    assert words.startswith("margin: the order needs initial margin 100")


def test_an_order_that_trades_at_once_needs_its_fees_besides() -> None:
    floor = floor_with(10_000)
    # 3.333 · 60,000 / 20 = 9,999 and fees of 119.988: too much; 3.293: 9,879 + 118.548 fits, 3.294: 9,882 + 118.584
    words = floor.refused(ADA, "BUY 3.333 at 60000")
    assert "for immediate trades" in words
    assert "short" in words
    floor.refused(ADA, "BUY 3.294 at 60000")
    floor.order(ADA, "BUY 3.293 at 60000")
    figures = account_margin.cross_margin(floor.core, floor.account(ADA))
    assert figures.equity >= figures.initial


# what closes is always accepted


@pytest.mark.parametrize("kind", ["SELL 3.2", "SELL 3.2 at 59000", "SELL 3.2 at 59000 IOC", "SELL 3.2 FOK"])
def test_an_exit_passes_though_equity_does_not_cover_what_rests_on_its_side(kind: str) -> None:
    floor = floor_with(10_000)
    floor.order(ADA, "BUY 3.2 at 60000")
    resting = floor.order(ADA, "SELL 3.2 at 61000")
    floor.order(BOB, "BUY 5 at 59500")
    floor.mark("59500")
    figures = account_margin.cross_margin(floor.core, floor.account(ADA))
    assert figures.maintenance < figures.equity < figures.initial
    order = floor.order(ADA, kind)
    assert (order.filled, floor.legs(ADA)) == (3_200, (0, 0))
    # 8,170.56 are left, and 3.2 at 61,000 need 9,760
    assert floor.status(resting.id) == "CANCELED"
    assert resting.reason == "margin: the position that it would have closed is gone"


def test_a_flip_is_judged_by_the_part_that_opens() -> None:
    floor = floor_with(10_000)
    floor.order(ADA, "BUY 3.2 at 60000")
    resting = floor.order(ADA, "SELL 3.2 at 61000")
    floor.order(BOB, "BUY 20 at 59500")
    floor.mark("59500")
    # after closing 8,284.80 are left, which open at 59,500 (each 2,975) 2.7 with fees of 0.06 % for all, not 2.8
    assert "margin: the order needs" in floor.refused(ADA, "SELL 6 at 59500")
    floor.order(ADA, "SELL 5.9 at 59500")
    assert floor.legs(ADA) == (0, 2_700)
    assert account_margin.available(floor.core, floor.account(ADA)) >= 0
    assert floor.status(resting.id) == "CANCELED"


def test_exits_placed_one_after_the_other_do_not_reach_beyond_the_largest_position() -> None:
    floor = floor_with(10_000_000)
    floor.order(BOB, "SELL 1000 at 60000")
    floor.order(ADA, "BUY 900 at 60300")
    older, newer = (floor.order(ADA, f"SELL 900 at {price}") for price in (120_000, 110_000))
    reach = (older.leaves * 120 + newer.leaves * 110) - 900 * 60 * 1_000
    assert newer.leaves == 900_000
    assert reach <= 10**8
    assert older.leaves < 900_000


def test_what_fits_easily_fits_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    easily, found, exact = order_margin._fits_easily, Counter[bool](), [False]

    def checked(core: Core, account: VenueAccount, position: Position, side: int, *order: Any) -> bool:
        if exact[0]:
            return False
        fits = easily(core, account, position, side, *order)
        found[fits] += 1
        if fits:
            exact[0] = True
            steps, price, _ = order
            asked = VenueOrder(0, account.address, position.product, side, False, LIMIT, GTC, 0, price, steps, steps)
            order_margin.check_increase(core, account, asked, steps, price)
            exact[0] = False
        return fits

    monkeypatch.setattr(order_margin, "_fits_easily", checked)
    for seed in range(3):
        storm = Storm(storm_core(seed), seed)
        for command in storm.commands(300):
            storm.core.apply(command)
    assert found[True] > 100
    assert found[False] > 100


@pytest.mark.parametrize(("spared", "fits"), [(0, True), (1, False)])
def test_orders_fit_while_equity_covers_their_margin_and_the_limits_hold(spared: int, fits: bool) -> None:
    floor = floor_with(10_000)
    floor.order(ADA, "BUY 3.333 at 59990")
    account, position = floor.account(ADA), floor.position(ADA)
    ledger.withdraw(floor.core, account, account_margin.available(floor.core, account) + spared)
    assert order_margin.fits(floor.core, account, position, 1) is fits


@pytest.mark.parametrize(("leverage", "fits"), [(2_000, True), (2_001, False)])
def test_orders_fit_only_within_the_leverage_of_the_tier_they_reach(leverage: int, fits: bool) -> None:
    floor = Floor()
    floor.order(ADA, "BUY 334 at 59990")
    position = floor.position(ADA)
    position.leverage = leverage
    assert order_margin.fits(floor.core, floor.account(ADA), position, 1) is fits
    assert order_margin.fits(floor.core, floor.account(ADA), position, -1)


@pytest.mark.parametrize(("leverage", "fits"), [(2_000, True), (2_001, False)])
def test_a_position_counts_at_mark_for_the_leverage_that_its_orders_may_have(leverage: int, fits: bool) -> None:
    floor = Floor()
    floor.order(BOB, "SELL 334 at 59990")
    floor.order(ADA, "BUY 334 at 59990")
    position = floor.position(ADA)
    position.leverage = leverage
    assert position.long.size == 334_000
    assert order_margin.fits(floor.core, floor.account(ADA), position, 1) is fits
    assert order_margin.fits(floor.core, floor.account(ADA), position, -1)


def test_open_interest_has_a_limit_that_follows_the_depth_of_the_book() -> None:
    play = Play(usual_depth=20_000 * MICRO, open_interest_depths=6)
    play.oracle(60_000)
    play.fund(1_000_000, "ann", "bob")
    play.placed("bob", "SELL", "2", 60_000)
    words = "open interest in BTCUSDC would reach 120060 USDC, above 120000"
    assert words in play.order("bob", "SELL", "2.001", 60_000).message
    play.placed("ann", "BUY", "1.5", 60_000)
    refused = play.order("ann", "BUY", "0.501", 60_000)
    assert (refused.data["txCode"], "Orders that reduce are accepted" in refused.message) == (1014, True)
    play.oracle(70_000)
    assert play.order("ann", "BUY", "0.3", 60_000).code, "it counts at mark"
    play.placed("bob", "BUY", "1.5", 70_000)
    play.placed("ann", "SELL", "1.5", 70_000)
    assert play.core.state.markets[1].open_interest == 0
