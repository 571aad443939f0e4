"""setLeverage, setMarginMode, assignPosMargin, position mode: what fits, and what is refused with its numbers."""

from __future__ import annotations

import pytest

from tests.venue.play import BTC, MICRO, XRP, Play
from toolkit.venue.engine import changes as ev
from toolkit.venue.engine.commands import Control, Outcome, Submit
from toolkit.venue.model.constants import CROSS, ISOLATED
from toolkit.venue.model.genesis import default_products
from toolkit.venue.risk import account_margin, ledger


@pytest.fixture
def play() -> Play:
    play = Play()
    play.oracle(60_000)
    play.fund(10_000, "ann")
    play.fund(1_000_000, "bob")
    return play


def assign(play: Play, amount: str) -> Outcome:
    return play.act("ann", type="assignPosMargin", symbolCode=BTC, assignedPosMargin=amount)


def mode(play: Play, name: str) -> Outcome:
    return play.act("ann", type="setMarginMode", symbolCode=BTC, marginMode=name)


# leverage


def test_leverage_is_held_against_the_product_and_the_tier(play: Play) -> None:
    assert play.leverage("ann", "40").code == 0
    refused = play.leverage("ann", "40.01")
    assert refused.message.startswith("leverage 40.01x is above 40x, the most BTCUSDC allows")
    assert play.position("ann").leverage == 4000
    play.fund(10_000_000, "ann")
    play.leverage("ann", 10)
    play.placed("ann", "BUY", "400", 60_000)
    assert "above 20x" in play.leverage("ann", "25").message
    assert play.leverage("ann", "20").code == 0


def test_less_leverage_must_be_covered_by_equity(play: Play) -> None:
    play.trade("ann", "bob", "2", 60_000)
    refused = play.leverage("ann", 12)
    assert refused.code == 40230
    assert refused.message == "leverage 12x on BTCUSDC would leave the account 72 USDC short of its initial margin"
    assert play.position("ann").leverage == 2000
    assert play.leverage("ann", "12.5").code == 0


@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize("short", [0, 1])
def test_less_leverage_is_allowed_with_exactly_the_margin_it_needs(play: Play, isolated: bool, short: int) -> None:
    """At 10x a BTC needs 6,000 USDC, of which an isolated position has 3,000."""
    if isolated:
        mode(play, "ISOLATED")
    play.trade("ann", "bob", "1", 60_000)
    needed = (3_000 if isolated else 6_000) * MICRO - short
    ledger.withdraw(play.core, play.account("ann"), play.balance("ann") - needed)
    outcome = play.leverage("ann", 10)
    assert outcome.message == (
        "leverage 10x on BTCUSDC would leave the account 0.000001 USDC short of its initial margin"
        if short
        else "success"
    )
    assert play.balance("ann") == (needed if short or not isolated else 0)


# margin mode


def test_margin_mode_changes_with_a_position_open_and_back(play: Play) -> None:
    play.trade("ann", "bob", "1", 60_000)
    play.oracle(59_500)
    equity = account_margin.wallet(play.core, play.account("ann")).equity
    assert mode(play, "ISOLATED").code == 0
    position = play.position("ann")
    assert (position.mode, position.assigned) == (ISOLATED, (2_975 + 500) * MICRO)
    assert (
        account_margin.isolated_margin(play.core, position).equity
        == account_margin.isolated_margin(play.core, position).initial
    )
    assert mode(play, "ISOLATED").code == 0, "asking twice changes nothing"
    assert mode(play, "CROSS").code == 0
    assert (position.mode, position.assigned) == (CROSS, 0)
    assert account_margin.wallet(play.core, play.account("ann")).equity == equity


def test_a_mode_that_leaves_too_little_is_refused(play: Play) -> None:
    play.trade("ann", "bob", "3", 60_000)
    play.oracle(59_000)
    refused = mode(play, "ISOLATED")
    assert refused.code == 40230
    assert "ISOLATED margin for BTCUSDC would leave the account" in refused.message
    assert play.position("ann").mode == CROSS
    assert play.position("ann").assigned == 0


def test_products_of_isolated_margin_only_stay_so() -> None:
    rows = default_products()
    rows[3]["onlyIsolated"] = True
    play = Play(genesis={"products": rows})
    play.fund(100, "ann")
    refused = play.act("ann", type="setMarginMode", symbolCode=XRP, marginMode="CROSS")
    assert refused.message == "XRPUSDC takes isolated margin only"
    assert play.position("ann", XRP).mode == ISOLATED


# assigned margin


def test_margin_is_added_and_taken_within_what_is_free(play: Play) -> None:
    mode(play, "ISOLATED")
    play.trade("ann", "bob", "1", 60_000)
    assert assign(play, "6964.000001").message == (
        "at most 6964 USDC can be added to the BTCUSDC position, not 6964.000001"
    )
    assert assign(play, "6964").code == 0
    assert (play.balance("ann"), play.position("ann").assigned) == (0, 9_964 * MICRO)
    play.oracle(59_900)
    assert assign(play, "-6869.000001").message == (
        "at most 6869 USDC can be taken from the BTCUSDC position, not 6869.000001"
    )
    assert assign(play, "-6869").code == 0  # 2,995 at mark and the loss of 100 stay
    own = account_margin.isolated_margin(play.core, play.position("ann"))
    assert own.equity == own.initial


def test_unrealised_profit_can_not_be_taken_from_a_position(play: Play) -> None:
    mode(play, "ISOLATED")
    play.trade("ann", "bob", "1", 60_000)
    play.oracle(66_000)
    assert "at most 0 USDC" in assign(play, "-1").message


@pytest.mark.parametrize("opened", [True, False])
def test_margin_is_only_assigned_to_open_isolated_positions(play: Play, opened: bool) -> None:
    if opened:
        play.trade("ann", "bob", "1", 60_000)
        assert "is on cross margin" in assign(play, "5").message
    else:
        mode(play, "ISOLATED")
        assert "is not open" in assign(play, "5").message


@pytest.mark.parametrize("action", ["leverage", "mode", "assign"])
@pytest.mark.parametrize("refused", [False, True])
def test_a_changed_margin_setting_is_told_with_its_time_and_a_refused_one_is_not(
    play: Play, action: str, refused: bool
) -> None:
    if action == "assign":
        mode(play, "ISOLATED")
    play.trade("ann", "bob", "3", 60_000)
    if refused:
        play.oracle(59_000)
    play.advance(5_000)
    before = play.position("ann").updated
    if action == "leverage":
        fields = {"type": "setLeverage", "leverage": "10" if refused else "25"}
    elif action == "mode":
        fields = {"type": "setMarginMode", "marginMode": "ISOLATED"}
    else:
        fields = {"type": "assignPosMargin", "assignedPosMargin": "9000" if refused else "5"}
    play.core.events.clear()
    outcome = play.core.apply(Submit(play.now, fields | {"symbolCode": BTC}, play.address("ann"), play.nonce + 1))
    told = ev.AccountChanged(play.address("ann")) in play.core.events
    assert (outcome.code != 0, told) == (refused, not refused)
    assert before < play.now
    assert play.position("ann").updated == (before if refused else play.now)


# position mode


@pytest.mark.parametrize("name", ["HEDGE", "ONE_WAY"])
def test_a_changed_position_mode_is_told_with_its_time(play: Play, name: str) -> None:
    play.advance(5_000)
    play.core.events.clear()
    outcome = play.core.apply(Control(play.now, "set_position_mode", {"address": play.address("ann"), "mode": name}))
    assert outcome.data == {"address": play.address("ann"), "mode": name}
    assert ev.AccountChanged(play.address("ann")) in play.core.events
    assert play.account("ann").updated == play.now


def test_the_position_mode_counts_open_positions_and_orders(play: Play) -> None:
    play.trade("ann", "bob", "1", 60_000)
    args = {"address": play.address("ann"), "mode": "HEDGE"}
    outcome = play.core.apply(Control(play.now, "set_position_mode", args))
    assert outcome.message == "the position mode can't change while there are 1 open positions and 0 open orders"
    play.trade("bob", "ann", "1", 60_000)
    play.hedge("ann")


def test_the_position_mode_changes_only_when_nothing_is_open(play: Play) -> None:
    play.hedge("ann")
    play.placed("ann", "BUY", "0.01", 50_000)
    outcome = play.core.apply(
        Control(play.now, "set_position_mode", {"address": play.address("ann"), "mode": "ONE_WAY"})
    )
    assert outcome.message == "the position mode can't change while there are 0 open positions and 1 open orders"
    outcome = play.core.apply(Control(play.now, "set_position_mode", {"address": play.address("ann"), "mode": "both"}))
    assert "There are ONE_WAY and HEDGE" in outcome.message
