"""Liquidations in records: whole steps by hand, what begins and ends one, which orders it takes, bands, the vault."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.venue.liquidation.test_liquidation import opened
from tests.venue.play import BTC, ETH, MICRO, Play
from toolkit.venue.model.constants import CROSS, ISOLATED, NORMAL
from toolkit.venue.model.history import LiquidationStep
from toolkit.venue.risk import ledger
from toolkit.venue.risk.ledger import LP_VAULT

SIDES = pytest.mark.parametrize("side", [1, -1])
MODES = pytest.mark.parametrize("isolated", [False, True])


def steps(play: Play, name: str) -> list[LiquidationStep]:
    return play.core.state.history.liquidations.of(play.address(name))


@MODES
@SIDES
def test_each_step_of_the_ladder_is_recorded_whole(side: int, isolated: bool) -> None:
    """1 BTC with 3,000 USDC, marked 2,500 away: 0.6 in the book at the average of three levels, then what five times
    2,000 USDC hold at mark, then the rest at the price that leaves nothing."""
    play = Play(lp_capital=2_000 * MICRO, lp_slice=0)
    opened(play, side, isolated=isolated)
    play.fund(1_000_000, "zoe")
    for quantity, away in (("0.2", 2_600), ("0.3", 2_900), ("0.1", 3_000), ("1", "3000.1")):
        price = Decimal(60_000) - side * Decimal(away)
        play.placed("zoe", "BUY" if side > 0 else "SELL", quantity, price)
    play.advance(5)
    begun = play.now
    play.oracle(60_000 - side * 2_500)
    mark = 600_000 - side * 25_000
    records = play.core.state.history.ledger.of(LP_VAULT)
    [fee] = [record for record in records if record.kind == ledger.LIQUIDATION_FEE]
    if side > 0:
        # 34,310 USDC for 0.6 and a fee of 20.586. 0.173 of 57,500 are below 10,000, 0.4 of them cost half a percent of
        # their maintenance margin. 288.792281 over 0.227 are 1,272.2 a BTC
        expected = [(600, 571_833, 500_000_000), (173, 575_000, 289_414_000), (227, 562_278, 288_792_281)]
        assert (fee.paid, fee.received) == (621_719, 621_718)
    else:
        # 37,690 USDC for 0.6 and a fee of 22.614. 0.16 of 62,500 are 10,000. 286.761 over 0.24 are 1,194.8
        expected = [(600, 628_166, 500_000_000), (160, 625_000, 287_386_000), (240, 636_948, 286_761_000)]
        assert (fee.paid, fee.received) == (625_000, 625_000)
    places = ("BOOK", ""), ("LP_VAULT", LP_VAULT), ("ADL", play.address("bob"))
    hashes = {step.tx_hash for step in steps(play, "ann")}
    assert len(hashes) == 1
    assert steps(play, "ann") == [
        LiquidationStep(
            number, begun, play.address("ann"), BTC, ISOLATED if isolated else CROSS, side, quantity, where, price,
            mark, other, equity, 0, hashes.copy().pop(),
        )
        for number, ((where, other), (quantity, price, equity)) in enumerate(zip(places, expected, strict=True), 1)
    ]  # fmt: skip
    left = play.balance("ann")
    assert 0 <= left < 23 * MICRO // 1_000, "less than a tick of what was deleveraged"
    assert (play.position("ann").assigned, play.account("ann").status) == (0, NORMAL)


@SIDES
def test_counterparties_are_deleveraged_in_the_published_order_on_both_sides(side: int) -> None:
    """Scores grow with leverage: a2 is first with all of its 10, then a5 with 10 of its 20."""
    play, (buy, sell) = Play(lp_capital=0), ("BUY", "SELL")[::side]
    play.oracle(3_000, ETH)
    play.fund(1_000_000, "other")
    for name, size, stake in (("a1", 10, 6_000), ("a2", 10, 2_000), ("a3", 20, 40_000), ("a4", 30, 15_000),
                              ("a5", 20, 8_000), ("a6", 10, 9_000)):  # fmt: skip
        play.fund(stake + size, name)
        play.placed("other", sell, size, 3_000, ETH)
        play.placed(name, buy, size, 3_000, ETH)
    play.fund(4_000, "weak")
    play.placed("other", buy, "20", 3_000, ETH)
    play.placed("weak", sell, "20", 3_000, ETH)
    play.oracle(3_000 + side * 180, ETH)
    found = [(play.name(step.counterpart), step.quantity) for step in steps(play, "weak")]
    assert found == [("a2", 10_000), ("a5", 10_000)]
    assert play.balance("weak") >= 0
