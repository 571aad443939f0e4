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


@pytest.mark.parametrize(
    ("side", "value", "balance", "taken"),
    [
        (1, 60_000, 5_000, 3_000),
        (-1, 60_000, 5_000, 3_000),
        (1, 60_600, 5_000, 3_630),
        (-1, 59_400, 5_000, 3_600),
        (1, 60_600, 3_630, 3_630),
        (1, 60_600, 3_629, 3_629),
        (1, 60_000, 0, 0),
        (1, 60_000, -5, 0),
    ],
)
def test_what_opens_takes_its_margin_and_its_loss_as_far_as_the_balance_has_it(
    play: Play, side: int, value: int, balance: int, taken: int
) -> None:
    leave(play, balance * MICRO)
    account, position = play.account("ann"), play.position("ann")
    found = order_margin.margin_of_opened(play.core, account, position, side, 1_000, value * MICRO)
    assert found == taken * MICRO


@pytest.mark.parametrize(("freed", "taken"), [(0, 1_000), (500, 1_500), (-400, 600), (-1_001, 0), (9_999, 3_000)])
def test_what_fills_before_bring_can_be_taken_too(play: Play, freed: int, taken: int) -> None:
    leave(play, 1_000 * MICRO)
    account, position = play.account("ann"), play.position("ann")
    found = order_margin.margin_of_opened(play.core, account, position, 1, 1_000, 60_000 * MICRO, freed * MICRO)
    assert found == taken * MICRO


def test_what_the_cross_positions_need_is_not_spared(play: Play) -> None:
    play.trade("ann", "bob", "19", 3_000, ETH)
    account = play.account("ann")
    figures = account_margin.cross_margin(play.core, account)
    stop = play.core.state.config.liquidation_stop
    kept = -(-figures.maintenance * 10**8 // stop)
    assert kept > figures.maintenance > 0
    leave(play, kept + 70)
    assert order_margin.spare(play.core, account) == 70
    assert order_margin.spare(play.core, account, 5) == 75
    assert order_margin.spare(play.core, account, -71) == 0


@pytest.mark.parametrize(
    ("side", "price", "freed"),
    [
        (1, 60_000, 3_000_000_000 - 36_000_000),
        (1, 60_100, 3_000_000_000 - 100_000_000 - 36_060_000),
        (1, 59_900, 3_000_000_000 - 35_940_000),
        (-1, 60_000, 0),
    ],
)
def test_closing_a_short_frees_its_margin_less_fee_and_loss_against_mark(
    play: Play, side: int, price: int, freed: int
) -> None:
    play.trade("bob", "ann", "1", 60_000)
    account, position = play.account("ann"), play.position("ann")
    step = account_margin.mark_step(play.core, BTC)
    assert order_margin._freed(play.core, account, position, side, price * 1_000, step) == freed


@pytest.mark.parametrize(
    ("price", "freed"), [(60_000, 2_964_000_000), (59_900, 2_864_060_000), (60_100, 2_963_940_000)]
)
def test_closing_a_long_frees_its_margin_less_fee_and_loss_against_mark(play: Play, price: int, freed: int) -> None:
    play.trade("ann", "bob", "1", 60_000)
    account, position = play.account("ann"), play.position("ann")
    step = account_margin.mark_step(play.core, BTC)
    assert order_margin._freed(play.core, account, position, -1, price * 1_000, step) == freed


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


@pytest.mark.parametrize(("more", "enough"), [(0, False), (1, True)])
def test_a_loss_against_mark_is_not_margin(play: Play, more: int, enough: bool) -> None:
    leave(play, 1_690 * MICRO + more)
    account, position, value = play.account("ann"), play.position("ann"), 114_190 * MICRO
    assert order_margin.has_margin_for(play.core, account, position, 1, 1_900, value) is enough


@pytest.mark.parametrize(("steps", "enough"), [(-1, True), (0, True), (1, False)])
def test_what_opens_nothing_needs_nothing(play: Play, steps: int, enough: bool) -> None:
    leave(play, 0)
    account, position = play.account("ann"), play.position("ann")
    assert order_margin.has_margin_for(play.core, account, position, 1, steps, steps * 60 * MICRO) is enough


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


def test_both_legs_of_a_hedge_need_maintenance_margin(play: Play) -> None:
    play.fund(100_000, "hal")
    play.hedge("hal")
    play.trade("hal", "bob", "1", 3_000, ETH)
    play.trade("bob", "hal", "1", 3_000, ETH)
    hal, need = play.account("hal"), 2 * play.core.risk_index.tables[ETH].maintenance(3_000 * MICRO)
    for balance, healthy in ((need, False), (need + 1, True)):
        hal.balance = balance
        assert account_margin.healthy(play.core, hal) is healthy
    assert account_margin.cross_margin(play.core, hal).maintenance == need
    assert account_margin.held(hal.positions[ETH], 5) == 10_000


@pytest.mark.parametrize(("hedge", "side", "steps"), [(False, 1, 0), (False, -1, 1_000), (True, 1, 0), (True, -1, 0)])
def test_only_in_one_way_mode_an_ordinary_order_reduces(play: Play, hedge: bool, side: int, steps: int) -> None:
    play.fund(100_000, "hal")
    if hedge:
        play.hedge("hal")
    play.trade("hal", "bob", "1", 3_000, ETH)
    assert account_margin.reducible(play.account("hal"), play.position("hal", ETH), side) == steps
