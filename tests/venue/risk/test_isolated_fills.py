"""Margin of isolated positions when orders fill: what opening takes, and whether the balance can still give it."""

from __future__ import annotations

import pytest

from tests.venue.play import BTC, ETH, MICRO, Play
from toolkit.venue.risk import account_margin, ledger, order_margin


@pytest.fixture
def play() -> Play:
    """Ann's BTC is isolated at 20x; mark is 60,000."""
    play = Play()
    play.oracle(60_000)
    play.oracle(3_000, ETH)
    play.fund(100_000, "ann")
    play.fund(1_000_000, "bob")
    play.isolated("ann")
    return play


def leave(play: Play, balance: int) -> None:
    """Leave ann so many micro-USDC."""
    account = play.account("ann")
    ledger.move(play.core, account, play.account("bob"), account.balance - balance, "GIFT")


@pytest.mark.parametrize(("more", "enough"), [(-1, False), (0, False), (1, True)])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("held", [False, True])
def test_an_order_fills_only_with_more_margin_than_where_a_liquidation_stops(
    play: Play, more: int, enough: bool, side: int, held: bool
) -> None:
    """1.9 BTC at 60,000 have a maintenance margin of 1,425, which is 95 % of 1,500."""
    assert play.core.state.config.liquidation_stop == 95_000_000
    if held:
        play.trade(*(("ann", "bob") if side > 0 else ("bob", "ann")), "1", 60_000)
    leave(play, 1_500 * MICRO + more)
    account, position, value = play.account("ann"), play.position("ann"), 114_000 * MICRO
    assert order_margin.has_margin_for(play.core, account, position, side, 1_900, value) is enough
    leave(play, 1_400 * MICRO + more)
    assert order_margin.has_margin_for(play.core, account, position, side, 1_900, value, 100 * MICRO) is enough


# ------------------------------------------------------------------------------------------------ health


@pytest.mark.parametrize(("equity", "healthy"), [(0, False), (1, True), (-1, False)])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("isolated", [True, False])
def test_a_position_is_healthy_while_its_equity_is_above_its_maintenance_margin(
    play: Play, equity: int, healthy: bool, side: int, isolated: bool
) -> None:
    """`equity` is what there is above the maintenance margin of 37.50."""
    play.trade(*(("ann", "bob") if side > 0 else ("bob", "ann")), "1", 3_000, ETH)
    account, position = play.account("ann"), play.position("ann", ETH)
    need = play.core.risk_index.tables[ETH].maintenance(3_000 * MICRO)
    if isolated:
        position.mode, position.assigned = account.positions[BTC].mode, need + equity
    else:
        account.balance = need + equity
    assert account_margin.healthy(play.core, account) is healthy


@pytest.mark.parametrize(("balance", "healthy"), [(-1, False), (0, True), (1, True)])
def test_a_flat_account_is_healthy_while_it_owes_nothing(play: Play, balance: int, healthy: bool) -> None:
    play.account("ann").balance = balance
    assert account_margin.healthy(play.core, play.account("ann")) is healthy
