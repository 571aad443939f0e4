"""Exits beside other exits: one that trades at once may close the whole position, whatever rests."""

from __future__ import annotations

import pytest

from tests.venue.play import Play
from toolkit.venue.api.records import position

XRP = 4
SIDES = [(1, False), (-1, False), (1, True), (-1, True)]
"""Long or short, one-way or hedge mode."""


def exposed(side: int, hedge: bool) -> tuple[Play, str, dict[str, str]]:
    """Return a venue in which ann has 0.1 BTC at 62,500, the side that closes it, and what makes an order an exit."""
    play = Play()
    play.oracle(62_500)
    play.fund(10_000, "ann", "bob")
    if hedge:
        play.hedge("ann")
    play.trade(*(("ann", "bob") if side > 0 else ("bob", "ann")), "0.1", 62_500)
    name = "SELL" if side > 0 else "BUY"
    return play, f"{name}_CLOSE_HEDGE" if hedge else name, {} if hedge else {"reduceOnlyOption": "REDUCE_ONLY"}


@pytest.mark.parametrize(("side", "hedge"), SIDES)
@pytest.mark.parametrize("offered", ["0.1", "0.04"])
def test_an_exit_that_trades_at_once_closes_the_position_though_another_rests(
    side: int, hedge: bool, offered: str
) -> None:
    play, closing, mark = exposed(side, hedge)
    play.placed("ann", closing, "0.1", 62_500 + 500 * side, **mark)
    play.placed("bob", "BUY" if side > 0 else "SELL", offered, 62_500)
    assert play.order("ann", closing, "0.1", 62_500, **mark).code == 0
    leg = play.position("ann").long if side > 0 else play.position("ann").short
    assert leg.size == 100 - round(float(offered) * 1000)
    resting = [order.leaves for order in play.account("ann").orders.values()]
    assert sum(resting) == leg.size, "what rests is cut to what is left"


@pytest.mark.parametrize(("side", "hedge"), SIDES)
def test_an_exit_that_would_rest_is_refused_while_another_covers_the_position(side: int, hedge: bool) -> None:
    play, closing, mark = exposed(side, hedge)
    play.placed("ann", closing, "0.1", 62_500 + 500 * side, **mark)
    assert "cover the" in play.order("ann", closing, "0.1", 62_500, **mark).message


@pytest.mark.parametrize(("side", "hedge"), SIDES)
def test_an_exit_below_the_minimum_value_is_refused_on_an_open_order_as_in_a_bracket(side: int, hedge: bool) -> None:
    play, closing, _ = exposed(side, hedge)
    play.oracle("0.6", XRP)
    play.placed("ann", "BUY" if side > 0 else "SELL", "100", "0.58" if side > 0 else "0.62", XRP)
    stop = {
        "code": XRP, "parentOrdId": play.core.state.last_order, "tpslTriggerType": "MARK_PRICE",
        "triggerPx": "0.5" if side > 0 else "0.7", "reduceOnlyOption": "SL_FROM_POSITION",
    }  # fmt: skip
    assert "minOrderValue" in play.order("ann", closing, "1", **stop).message
    assert play.order("ann", closing, "100", **stop).code == 0


@pytest.mark.parametrize(("side", "hedge"), SIDES)
def test_a_position_shows_when_it_was_opened_not_when_its_first_order_was_placed(side: int, hedge: bool) -> None:
    play = Play()
    play.oracle(62_500)
    play.fund(10_000, "ann", "bob")
    if hedge:
        play.hedge("ann")
    play.placed("ann", "BUY" if side > 0 else "SELL", "0.1", 62_500)
    play.advance(3_600_000)
    play.placed("bob", "SELL" if side > 0 else "BUY", "0.1", 62_500)
    assert position(play.core, play.account("ann"), play.position("ann"))["createTime"] == play.now
