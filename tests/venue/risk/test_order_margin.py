"""An order that adds risk is accepted exactly while equity covers the initial margin after it."""

from __future__ import annotations

import pytest

from tests.venue.floor import ADA, BOB, Floor
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
    assert "for what it would trade at once" in words
    assert "short" in words
    floor.refused(ADA, "BUY 3.294 at 60000")
    floor.order(ADA, "BUY 3.293 at 60000")
    figures = account_margin.cross_margin(floor.core, floor.account(ADA))
    assert figures.equity >= figures.initial


def test_what_fills_lose_against_mark_counts_at_the_prices_of_the_book() -> None:
    floor = floor_with(40_000)
    # 11 BTC at a limit of 60,300: initial margin 33,165; 1 BTC trades 300 above mark: 300; fees 0.06 % of 660,300
    floor.order(ADA, "BUY 11 at 60300")
    figures = account_margin.cross_margin(floor.core, floor.account(ADA))
    assert figures.equity == (40_000 - 300) * MICRO - 396_180_000
    assert figures.equity >= figures.initial


def test_own_orders_in_the_way_are_not_counted_as_fills() -> None:
    floor = floor_with(10_000)
    floor.order(ADA, "SELL 1 at 60000")
    taken = order_margin._immediate_fill(floor.core, floor.account(ADA), floor.position(ADA), 1, 10_500, 603_000)
    assert taken == (10_500, 10_000 * 600_000 + 500 * 603_000)
