"""The liquidation ladder, step by step: who is closed, where, at what price, and who pays."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest

from tests.venue.play import BTC, ETH, MICRO, SOL, Play
from toolkit.venue.engine.commands import Control
from toolkit.venue.engine.core import Core
from toolkit.venue.liquidation.margin_groups import MarginGroup, OpenLeg
from toolkit.venue.model.constants import ADL, LIQUIDATING, LIQUIDATION, NORMAL, RATE
from toolkit.venue.model.genesis import default_margin_tables
from toolkit.venue.model.history import LiquidationStep
from toolkit.venue.risk import account_margin, ledger
from toolkit.venue.risk.ledger import BANKRUPTCY, LIQUIDATION_FEE, LP_VAULT

D = Decimal


def steps(play: Play, name: str) -> list[LiquidationStep]:
    return play.core.state.history.liquidations.of(play.address(name))


def brief(play: Play, name: str) -> list[tuple[str, int, int]]:
    return [(step.where, step.quantity, step.price) for step in steps(play, name)]


def opened(play: Play, side: int, *, quantity: str = "1", isolated: bool = False, name: str = "ann") -> None:
    """Let a name with 3,000 USDC a BTC after its fee (20x) take a position at 60,000 from bob."""
    play.oracle(60_000)
    play.fund(D(3_036) * D(quantity), name)
    play.fund(1_000_000, "bob")
    if isolated:
        play.isolated(name)
    buy, sell = ("BUY", "SELL")[::side]
    play.placed("bob", sell, quantity, 60_000)
    play.placed(name, buy, quantity, 60_000)


@pytest.fixture
def play() -> Play:
    """Ann is long 1 BTC at 60,000 with 3,000 USDC (20x), liquidated below 57,721.52; bob has the other side."""
    play = Play()
    play.oracle(60_000)
    play.fund(3_036, "ann")
    play.fund(1_000_000, "bob", "zoe")
    play.trade("ann", "bob", "1", 60_000)
    return play


def test_a_position_that_the_book_can_take_is_closed_there_at_once(play: Play) -> None:
    play.placed("zoe", "BUY", "2", 57_500)
    play.oracle("57721.6")
    assert steps(play, "ann") == []
    play.oracle("57721.5")
    assert brief(play, "ann") == [("BOOK", 1000, 575_000)]
    # 57,500 cost 34.50 at the taker rate of 0.06 %, as if ann had closed herself
    assert play.balance("ann") == 465_500_000, "what is left of the margin stays with the user"
    assert play.account("ann").status == NORMAL
    fill = play.fills("ann")[-1]
    assert (fill.type, fill.pnl, fill.close_fee, fill.reason) == (LIQUIDATION, -2_500 * MICRO, 34_500_000, "")
    assert play.fills("zoe")[-1].type != LIQUIDATION
    [event] = [
        e for e in play.core.state.history.order_events.of(play.address("ann")) if e.type == LIQUIDATION and e.exec_id
    ]
    assert event == fill


def test_nothing_is_sold_below_the_bankruptcy_price(play: Play) -> None:
    play.placed("zoe", "BUY", "0.4", 57_100)
    play.placed("zoe", "BUY", "5", "56999.9")
    play.oracle("57500")
    # 3,000 of margin are gone at 57,000: the book takes 0.4, the LP vault the rest at mark
    assert brief(play, "ann") == [("BOOK", 400, 571_000), ("LP_VAULT", 600, 575_000)]
    vault = play.core.state.accounts[LP_VAULT]
    assert vault.positions[BTC].long.size == 600
    fee = D("0.6") * 57_500 * D("0.0125") * D("0.005")
    assert play.kinds("ann")[-2:] == [(LIQUIDATION_FEE, -int(fee * MICRO)), ("REALIZED_PNL", -1_500 * MICRO)]
    taker = D("0.4") * 57_100 * D("0.0006")  # what the vault takes over costs its own fee only
    assert play.balance("ann") == (3_000 - 1_160 - 1_500) * MICRO - int((fee + taker) * MICRO)


@pytest.mark.parametrize("by", ["hand", "time"])
@pytest.mark.parametrize(("worse", "better"), [("ann", "bob"), ("bob", "ann")])
def test_nobody_is_liquidated_into_the_bid_of_another_whatever_their_addresses(
    worse: str, better: str, by: str
) -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(3_036, worse)
    play.fund(3_236, better)
    play.fund(1_000_000, "zoe")
    play.trade(better, "zoe", "1", 60_000)
    play.trade(worse, "zoe", "1", 60_000)
    play.placed(better, "BUY", "0.06", 57_400)
    play.placed("zoe", "BUY", "1", 57_300)
    if by == "hand":
        play.oracle(57_400)
    else:
        point = [play.now + 3_000, "57400"]
        play.control("script_oracle", product=BTC, points=[point])
        play.advance(3_000)
    assert brief(play, worse)[0] == ("BOOK", 1_000, 573_000), "the worse one is first, and the other's bid is gone"
    assert brief(play, better)[0][0] == "LP_VAULT"
    [bid] = [
        order
        for order in play.core.state.history.orders.of(play.address(better))
        if (order.price, order.side) == (574_000, 1)
    ]
    assert (bid.filled, bid.reason) == (0, "the position is being liquidated")


def test_equal_ratios_go_by_the_age_of_the_position() -> None:
    for older, newer in (("ann", "bob"), ("bob", "ann")):
        play = Play()
        play.oracle(60_000)
        play.fund(3_036, "ann", "bob")
        play.fund(1_000_000, "zoe")
        play.trade(older, "zoe", "1", 60_000)
        play.trade(newer, "zoe", "1", 60_000)
        play.placed("zoe", "BUY", "1", 57_300)
        play.oracle(57_400)
        assert [brief(play, name)[0][0] for name in (older, newer)] == ["BOOK", "LP_VAULT"]


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize(("side", "mark", "price"), [(1, 57_700, 57_600), (-1, 62_250, 62_300)])
def test_large_positions_go_in_slices_of_a_fifth_until_the_ratio_falls(
    side: int, mark: int, price: int, isolated: bool
) -> None:
    play = Play()
    opened(play, side, quantity="10", isolated=isolated)
    play.fund(5_000_000, "zoe")
    play.placed("zoe", "BUY" if side > 0 else "SELL", "20", price)
    play.oracle(mark)
    assert brief(play, "ann") == [("BOOK", 2_000, price * 10)], "6,800 for a maintenance margin of 5,770 is enough"
    assert play.account("ann").status == NORMAL


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("quantity", "first"), [("40", 40_000), ("40.001", 8_001)])
def test_up_to_exactly_100_000_usdc_go_in_one_piece(quantity: str, first: int, side: int, isolated: bool) -> None:
    play, (buy, sell) = Play(), ("BUY", "SELL")[::side]
    play.oracle(2_500 + side * 100, ETH)
    play.fund(1_000_000, "bob")
    play.fund(6_000, "ann")
    play.leverage("ann", 20, ETH)
    if isolated:
        play.isolated("ann", ETH)
    play.placed("bob", sell, quantity, 2_500 + side * 100, ETH)
    play.placed("ann", buy, quantity, 2_500 + side * 100, ETH)
    if not isolated:
        free = account_margin.withdrawable(play.core, play.account("ann"))
        assert play.withdraw("ann", str(D(free) / MICRO)).code == 0
    play.oracle(2_500, ETH)
    assert steps(play, "ann")[0].quantity == first


@pytest.mark.parametrize(("side", "falls"), [(1, (2_400, 2_550, 2_850)), (-1, (2_250, 2_430, 2_750))])
def test_each_of_several_liquidations_goes_on_at_its_own_times(side: int, falls: tuple[int, ...]) -> None:
    play = Play(lp_slice=0)
    for more, name in ((1, "ann"), (2_000, "cyd"), (4_000, "dan")):
        opened(play, side, quantity="10", name=name)
        play.fund(more, name)
    play.fund(5_000_000, "zoe")
    play.placed("zoe", "BUY" if side > 0 else "SELL", "60", 60_000 - side * 2_990)
    began = play.now
    for late_ms, fall in zip((0, 5_000, 12_000), falls, strict=True):
        play.advance(began + late_ms - play.now)
        play.oracle(60_000 - side * fall)
    play.advance(60_000)
    times = {name: [step.time - began for step in steps(play, name)] for name in ("ann", "cyd", "dan")}
    assert times == {"ann": [0, 30_000, 60_000], "cyd": [5_000, 35_000, 65_000], "dan": [12_000, 42_000]}


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("kind", ["market", "venue", "user"])
def test_an_account_of_the_venues_own_is_never_liquidated(kind: str, side: int) -> None:
    play = Play()
    opened(play, side)
    play.account("ann").kind = kind
    play.oracle(60_000 - side * 10_000)
    assert bool(steps(play, "ann")) is (kind == "user")


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("first", [BTC, ETH])
def test_of_equally_large_positions_the_lower_product_code_goes_first(side: int, first: int) -> None:
    """Whichever was opened first; it is a third one that has lost the margin."""
    play, (buy, sell) = Play(lp_slice=0), ("BUY", "SELL")[::side]
    play.oracle(60_000)
    play.oracle(3_000, ETH)
    play.fund(1_000_000, "bob", "zoe")
    play.oracle(150, SOL)
    play.fund(6_900, "ann")
    sizes = {BTC: ("1", 60_000), ETH: ("20", 3_000), SOL: ("100", 150)}
    for code in (first, BTC + ETH - first, SOL):
        quantity, price = sizes[code]
        play.placed("bob", sell, quantity, price, code)
        play.placed("ann", buy, quantity, price, code)
    play.oracle(150 - side * 54, SOL)
    assert steps(play, "ann")[0].product == BTC


def test_an_account_under_liquidation_may_only_reduce() -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(30_360, "ann")
    play.fund(5_000_000, "bob", "zoe")
    play.trade("ann", "bob", "10", 60_000)
    play.placed("zoe", "BUY", "20", 57_010)
    play.oracle(57_100)
    assert play.account("ann").status == LIQUIDATING
    refused = play.order("ann", "BUY", "0.01", 57_000)
    assert refused.message == "the position is being liquidated. Only orders that reduce it are accepted"
    assert "while positions are being liquidated" in play.leverage("ann", 10).message
    assert play.order("ann", "SELL", "1", 57_010).code == 0
    play.advance(29_999)
    assert len(steps(play, "ann")) == 1
    play.advance(1)
    assert len(steps(play, "ann")) == 2


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("side", [1, -1])
def test_who_closes_between_two_slices_ends_the_liquidation_and_may_open_again(side: int, isolated: bool) -> None:
    play, (buy, sell) = Play(lp_slice=0), ("BUY", "SELL")[::side]
    play.oracle(60_000)
    play.fund(40_000, "ann")
    play.fund(5_000_000, "bob", "zoe")
    if isolated:
        play.isolated("ann")
    else:
        assert play.withdraw("ann", "9640").code == 0
    play.placed("bob", sell, "10", 60_000)
    play.placed("ann", buy, "10", 60_000)
    play.placed("zoe", buy, "20", 60_000 - side * 2_910)
    play.oracle(60_000 - side * 2_900)
    assert play.account("ann").status == LIQUIDATING
    play.placed("ann", sell, "8", 60_000 - side * 2_910)
    assert play.account("ann").status == NORMAL
    assert not play.core.state.liquidations
    play.placed("ann", buy, "0.002", 60_000 - side * 2_900)


def test_slices_go_on_while_the_ratio_stays_high_and_the_last_100_000_go_at_once() -> None:
    play = Play(lp_slice=0)
    play.oracle(60_000)
    play.fund(30_360, "ann")
    play.fund(5_000_000, "bob", "zoe")
    play.trade("ann", "bob", "10", 60_000)
    play.placed("zoe", "BUY", "20", "57010")
    play.oracle(57_100)
    assert brief(play, "ann") == [("BOOK", 2_000, 570_100)]
    play.advance(30_000)
    assert brief(play, "ann")[1:] == [("BOOK", 1_600, 570_100)]
    play.advance(240_000)
    sizes = [step.quantity for step in steps(play, "ann")]
    assert sizes == [2_000, 1_600, 1_280, 1_024, 820, 656, 524, 420, 1_378, 298]
    assert brief(play, "ann")[-1][0] == "LP_VAULT"
    assert play.account("ann").status == NORMAL
    # by price 100 are left, but the taker fees of the slices come to more: for the rest of them nothing is left
    assert 0 <= play.balance("ann") < 60 * MICRO
    assert BANKRUPTCY not in {kind for kind, _ in play.kinds("ann")}
    times = [step.time for step in steps(play, "ann")]
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == [30_000] * 8 + [0]


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("side", [1, -1])
def test_a_jump_past_bankruptcy_is_paid_by_the_lp_vault(side: int, isolated: bool) -> None:
    play = Play()
    opened(play, side, isolated=isolated)
    before = play.core.state.accounts[LP_VAULT].balance
    play.oracle(60_000 - side * 10_000)
    [step] = steps(play, "ann")
    price = 600_000 - side * 100_000
    assert (step.where, step.quantity, step.price, step.paid) == ("LP_VAULT", 1000, price, 7_000 * MICRO)
    assert play.balance("ann") == play.position("ann").assigned == 0
    assert (play.account("ann").status, play.core.state.liquidations) == (NORMAL, {}), "nothing is left to wait for"
    assert play.core.state.accounts[LP_VAULT].balance == before - 7_000 * MICRO
    assert (BANKRUPTCY, 7_000 * MICRO) in play.kinds("ann")


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("side", [1, -1])
def test_without_an_lp_vault_the_winners_are_deleveraged_at_the_bankruptcy_price(side: int, isolated: bool) -> None:
    play = Play(lp_capital=0)
    opened(play, side, isolated=isolated)
    balance = play.balance("bob")
    play.oracle(60_000 - side * 10_000)
    assert brief(play, "ann") == [("ADL", 1000, 600_000 - side * 30_000)]
    assert play.balance("ann") == 0
    assert play.balance("bob") == balance + 3_000 * MICRO, "he gets what she had, not the 10,000 at mark"
    assert play.fills("ann")[-1].type == play.fills("bob")[-1].type == ADL
    assert play.core.state.markets[BTC].open_interest == 0
    assert play.core.state.accounts[ledger.CLEARING].balance == 0


@pytest.mark.parametrize("price", [57_500, 56_000])
def test_isolated_positions_are_liquidated_by_themselves_and_owe_others_nothing_first(play: Play, price: int) -> None:
    play.fund(10_000, "iso")
    play.isolated("iso")
    play.trade("iso", "bob", "1", 60_000)
    play.trade("iso", "bob", "1", 3_000, ETH)
    play.placed("iso", "BUY", "0.01", 2_000, ETH)
    balance, eth = play.balance("iso"), play.position("iso", ETH).long.size
    play.oracle(price)
    assert [(step.where, step.product, step.paid) for step in steps(play, "iso")] == [("LP_VAULT", BTC, 0)]
    assert play.position("iso").assigned == 0
    # 3,000 were assigned: of a loss beyond that the balance pays the rest before the LP vault does
    left = play.balance("iso") - balance
    assert left == -1_000 * MICRO if price == 56_000 else 0 < left < 500 * MICRO
    assert play.position("iso", ETH).long.size == eth
    assert [order.product for order in play.account("iso").orders.values()] == [ETH]


def test_a_cross_account_loses_its_largest_position_first(play: Play) -> None:
    play.fund(400, "ann")
    play.oracle(3_000, ETH)
    play.trade("ann", "bob", "1", 3_000, ETH)
    play.placed("zoe", "BUY", "5", 57_300)
    play.oracle("57330")
    assert [(step.product, step.where) for step in steps(play, "ann")] == [(BTC, "BOOK")]
    assert play.position("ann", ETH).long.size == 1_000, "the rest is healthy without it"


def test_the_legs_of_a_hedge_are_closed_against_each_other_first() -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(4_100, "ann")
    play.fund(1_000_000, "bob")
    play.hedge("ann")
    play.trade("ann", "bob", "1", 60_000)
    play.trade("bob", "ann", "0.3", 60_000)
    play.oracle(55_400)
    assert steps(play, "ann")[0].where == "NETTED"
    assert steps(play, "ann")[0].quantity == 300
    assert play.position("ann").short.size == 0


def test_a_liquidation_waits_while_its_product_is_paused(play: Play) -> None:
    play.placed("zoe", "BUY", "2", 57_500)
    play.control("pause", product=BTC)
    play.oracle("57600")
    play.advance(60_000)
    assert brief(play, "ann") == []
    assert play.account("ann").status == LIQUIDATING
    play.control("resume", product=BTC)
    assert brief(play, "ann") == [("BOOK", 1000, 575_000)]
    assert play.account("ann").status == NORMAL


def test_what_is_not_paused_is_closed_meanwhile(play: Play) -> None:
    play.oracle(2_500, ETH)
    play.fund(70, "ann")
    play.trade("ann", "bob", "0.4", 2_500, ETH)
    play.control("pause", product=BTC)
    play.oracle("57600")
    assert [step.product for step in steps(play, "ann")] == [ETH]
    play.control("calm")
    assert [step.product for step in steps(play, "ann")] == [ETH, BTC]


@pytest.mark.parametrize("side", [1, -1])
def test_liquidation_begins_where_equity_meets_maintenance_margin_exactly(side: int) -> None:
    """Also when the mark comes there tick by tick, and in a copy made of a dump the tick before."""
    tables = {code: [{"minimumValue": "0", "maintainMarginRatio": "0.0125", "maxLeverage": "40"}] for code in (1, 2)}
    play = Play(genesis={"margin_tables": default_margin_tables() | tables})
    play.oracle(60_000)
    play.fund(1_000_000, "bob")
    play.fund(10_000, "ann")
    play.trade(*(("ann", "bob") if side > 0 else ("bob", "ann")), "1", 60_000)

    def room() -> int:
        figures = account_margin.cross_margin(play.core, play.account("ann"))
        return figures.equity - figures.maintenance

    tick = 98_750 if side > 0 else 101_250
    play.fund(f"0.{tick - room() % tick:06d}", "ann")
    edge = 600_000 - side * (room() // tick)
    for mark in (edge + side * 5, edge + side):
        play.oracle(D(mark) / 10)
        assert play.account("ann").status == NORMAL
        assert steps(play, "ann") == []
    assert room() == tick
    copy = Core.load(play.core.dump())
    play.oracle(D(edge) / 10)
    [step] = steps(play, "ann")
    assert (step.quantity, step.mark) == (1_000, edge)
    copy.apply(Control(play.now, "set_oracle", {"product": BTC, "price": str(D(edge) / 10)}))
    assert copy.state_hash() == play.core.state_hash()


def test_orders_that_a_liquidation_left_without_cover_are_cancelled() -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(3_200, "ann")
    play.fund(1_000_000, "bob", "zoe")
    play.trade("ann", "bob", "1", 60_000)
    play.placed("ann", "SELL", "0.6", 61_000)
    play.placed("ann", "SELL", "0.4", 61_500)
    play.oracle("57500")
    assert play.position("ann").long.size == 0
    assert play.account("ann").orders == {}
    last = play.core.state.history.orders.of(play.address("ann"))[-1]
    assert last.reason == "margin: the position that it would have closed is gone"
    play.oracle(63_000)
    play.placed("zoe", "BUY", "1", 61_500)
    assert play.position("ann").short.size == 0
    assert BANKRUPTCY not in dict(play.kinds("ann"))


def test_bankruptcy_prices_are_rounded_away_from_the_trader(play: Play) -> None:
    ann = play.account("ann")
    ledger.deposit(play.core, ann, 50_000)
    position = ann.positions[BTC]
    group, long = MarginGroup(ann, 0), OpenLeg(position, 1, position.long)
    assert group.bankruptcy_price(play.core, long) == 570_000
    ledger.deposit(play.core, ann, 50_000)
    assert group.bankruptcy_price(play.core, long) == 569_999


def test_the_lp_vault_sells_what_it_took_over_slice_by_slice_at_mark_or_better(play: Play) -> None:
    play.oracle(57_500)
    vault = play.core.state.accounts[LP_VAULT]
    assert vault.positions[BTC].long.size == 1_000
    play.advance(59_999)
    assert not vault.orders
    play.advance(1)
    mark = play.core.state.markets[BTC].mark
    [order] = vault.orders.values()
    # 20,000 USDC at 57,500 are 0.348 BTC
    assert (order.side, order.price, order.leaves, order.reducing) == (-1, mark, 348, True)
    play.placed("zoe", "BUY", "5", 57_600)
    assert vault.positions[BTC].long.size == 652
    assert [fill.fill_price for fill in play.fills(LP_VAULT)][-1] == 575_000
    play.advance(60_000)
    assert play.fills(LP_VAULT)[-1].fill_price == 576_000, "a better bid is taken"
    play.control("pause", product=BTC)
    play.advance(60_000)
    assert vault.positions[BTC].long.size == 304
    play.control("resume", product=BTC)
    play.advance(120_000)
    assert (vault.positions[BTC].long.size, vault.orders) == (0, {})
    assert "unwind" not in play.core.state.schedule


def test_a_liquidation_goes_on_at_a_ratio_of_exactly_95_per_cent_and_ends_below() -> None:
    play = Play()
    play.oracle(60_000)
    play.fund(30_360, "ann")
    play.fund(5_000_000, "bob", "zoe")
    play.trade("ann", "bob", "10", 60_000)
    play.placed("zoe", "BUY", "20", 57_010)
    play.oracle(57_100)
    play.oracle(57_570)
    figures = account_margin.cross_margin(play.core, play.account("ann"))
    assert figures.maintenance == 5_757 * MICRO
    play.fund(Decimal(6_060 * MICRO - figures.equity) / MICRO, "ann")
    assert account_margin.cross_margin(play.core, play.account("ann")).ratio == 95 * RATE // 100
    assert play.account("ann").status == LIQUIDATING
    play.fund("0.001", "ann")  # ratios are rounded up to 1e-8
    assert play.account("ann").status == NORMAL
