"""The liquidation ladder, step by step: who is closed, where, at what price, and who pays."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from msgspec import structs

from tests.venue.play import BTC, ETH, MICRO, SOL, XRP, Play
from toolkit.venue.engine.changes import InsuranceOverdrawn
from toolkit.venue.engine.commands import Control
from toolkit.venue.engine.core import Core
from toolkit.venue.engine.registry import controls
from toolkit.venue.liquidation.margin_groups import open_legs
from toolkit.venue.model.constants import ADL, LIQUIDATING, LIQUIDATION, NORMAL, RATE
from toolkit.venue.model.genesis import default_margin_tables
from toolkit.venue.model.history import LiquidationStep
from toolkit.venue.risk import account_margin, ledger, prices
from toolkit.venue.risk.ledger import BANKRUPTCY, INSURANCE, LP_VAULT

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


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("side", [1, -1])
def test_a_jump_a_little_past_bankruptcy_is_paid_by_the_lp_vault(side: int, isolated: bool) -> None:
    play = Play()
    opened(play, side, isolated=isolated)
    before = play.core.state.accounts[LP_VAULT].balance
    play.oracle(60_000 - side * 3_200)
    [step] = steps(play, "ann")
    price = 600_000 - side * 32_000
    assert (step.where, step.quantity, step.price, step.paid) == ("LP_VAULT", 1000, price, 200 * MICRO)
    assert play.balance("ann") == play.position("ann").assigned == 0
    assert (play.account("ann").status, play.core.state.liquidations) == (NORMAL, {}), "nothing is left to wait for"
    assert play.core.state.accounts[LP_VAULT].balance == before - 200 * MICRO
    assert (BANKRUPTCY, 200 * MICRO) in play.kinds("ann")


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("capital", [0, 10**12])
def test_beyond_the_band_and_without_an_lp_vault_the_winners_are_deleveraged(
    side: int, isolated: bool, capital: int
) -> None:
    """With its part of the deficit the vault would pay more than a price within the band: it doesn't take part."""
    play = Play(lp_capital=capital)
    opened(play, side, isolated=isolated)
    balance = play.balance("bob")
    play.oracle(60_000 - side * 10_000)
    assert brief(play, "ann") == [("ADL", 1000, 600_000 - side * 30_000)]
    assert play.balance("ann") == 0
    assert play.balance("bob") == balance + 3_000 * MICRO, "he gets what she had, not the 10,000 at mark"
    assert play.fills("ann")[-1].type == play.fills("bob")[-1].type == ADL
    assert play.core.state.markets[BTC].open_interest == 0
    assert play.core.state.accounts[ledger.CLEARING].balance == 0
    assert play.core.state.accounts[LP_VAULT].balance == capital


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


PRICES = {BTC: 60_000, ETH: 3_000, SOL: 150, XRP: "0.5"}
NAMES = [f"a{number}" for number in range(20)]


@controls("gap")
def gap(core: Core, changes: dict[int, int]) -> None:
    """Move the marks of several products at one instant, by per mille."""
    for code, per_mille in changes.items():
        market = core.state.markets[code]
        prices.set_oracle_price(market, market.mark * (1_000 + per_mille) // 1_000)
        prices.set_mark(core, market, market.oracle)


def world(**config: object) -> Play:
    play = Play(lp_slice=0, **config)
    for code, price in PRICES.items():
        play.oracle(price, code)
    return play


def equity(play: Play, name: str) -> int:
    return account_margin.wallet(play.core, play.account(name)).equity


def crowd(seed: int) -> tuple[Play, random.Random]:
    """Twenty accounts that trade with each other at mark with their highest leverage, until no order fits."""
    chance, play = random.Random(seed), world()
    play.fund(10_000, *NAMES)
    play.hedge(*NAMES[:5])
    play.watch.history_every = 1_000
    for name in NAMES:
        for code in PRICES:
            play.leverage(name, 40 if code in (BTC, ETH) else 20, code)
            if chance.random() < 0.2:
                play.isolated(name, code)
    for _ in range(60):
        code = chance.choice(list(PRICES))
        mark = play.core.state.markets[code].mark
        product, (buyer, seller) = play.core.products[code], chance.sample(NAMES, 2)
        steps = chance.randrange(20_000, 160_000) * MICRO // (mark * product.unit)
        terms = product.quantity_text(steps), product.price_text(mark), code
        if play.order(seller, "SELL", *terms).code == 0:
            play.order(buyer, "BUY", *terms)
        for name in (buyer, seller):
            play.act(name, type="cancelAll", symbolCode=code, conditionalOrder=False)
    return play, chance


@pytest.mark.parametrize(("seed", "full"), [(0, False), (1, True)])
def test_nobody_falls_below_its_equity_before_the_gap_while_another_keeps_a_gain_from_it(seed: int, full: bool) -> None:
    play, chance = crowd(seed)
    if full:
        play.core.state.config = structs.replace(play.core.state.config, lp_leverage=0)
    for _ in range(3):
        moved, core = chance.sample(list(PRICES), chance.randrange(1, 4)), play.core
        marks = {code: market.mark for code, market in core.state.markets.items()}
        before = {name: equity(play, name) for name in NAMES}
        legs = {name: open_legs(play.account(name).positions.values()) for name in NAMES}
        sizes = {name: [(leg.position.product, leg.side * leg.leg.size) for leg in legs[name]] for name in NAMES}
        vault, first = core.state.accounts[LP_VAULT].balance, len(core.state.history.liquidations.records)
        play.control("gap", changes={code: chance.choice([1, -1]) * chance.randrange(50, 300) for code in moved})
        steps = core.state.history.liquidations.records[first:]
        liquidated = {step.address for step in steps}
        assert not full or core.state.accounts[LP_VAULT].balance >= vault
        for name in NAMES:
            moves = (size * (core.state.markets[code].mark - marks[code]) for code, size in sizes[name])
            own = sum(move * core.products[code].unit for move, (code, _) in zip(moves, sizes[name], strict=True))
            assert equity(play, name) >= 0
            if play.address(name) not in liquidated:
                assert equity(play, name) >= before[name] + min(own, 0), f"{name} gained {own} and paid more than that"
        play.advance(60_000)


def test_a_position_that_was_opened_after_the_gap_pays_nothing_of_it() -> None:
    """XRP falls by 30 %, BTC stands still: the XRP short pays, and a BTC short opened at that mark keeps all."""
    play = world(lp_capital=0)
    play.fund(10_000, "ann", "btc", "xrp")
    play.leverage("ann", 40)
    for name in ("btc", "xrp"):
        play.leverage(name, 40)
    play.trade("ann", "xrp", "160000", "0.5", XRP)
    play.trade("ann", "btc", "2", 60_000)
    before = {name: equity(play, name) for name in ("btc", "xrp")}
    play.control("gap", changes={XRP: -300})
    assert equity(play, "btc") == before["btc"]
    assert equity(play, "xrp") > before["xrp"]
    assert 0 <= equity(play, "ann") < MICRO * 10
    assert play.core.state.accounts[INSURANCE].balance == 0


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("spare", [0, 500])
def test_what_the_gains_do_not_pay_is_the_insurances_and_an_event_names_the_trades(side: int, spare: int) -> None:
    """All that bob gains in BTC he loses in ETH, so that he pays nothing; ann pays first with what she has besides."""
    play = world(lp_capital=0)
    play.fund(1_536 + spare, "ann")
    play.fund(1_000_000, "bob", "cyd")
    play.leverage("ann", 40)
    play.isolated("ann")
    play.trade(*(("ann", "bob") if side > 0 else ("bob", "ann")), "1", 60_000)
    play.trade(*(("bob", "cyd") if side > 0 else ("cyd", "bob")), "40", 3_000, ETH)
    before, trades = equity(play, "bob"), tuple(fill.exec_id for fill in play.fills("ann"))
    events: list[object] = []
    play.core.emit = events.append
    play.control("gap", changes={BTC: -side * 250, ETH: -side * 250})
    # before he is liquidated himself bob loses what ETH cost him, and keeps what BTC brought
    assert equity(play, "bob") == before + 15_000 * MICRO - 30_000 * MICRO
    [event] = [each for each in events if isinstance(each, InsuranceOverdrawn)]
    had = 1_536 * MICRO + spare * MICRO - play.core.state.history.fills_of(play.address("ann"))[0].open_fee
    lack = 15_000 * MICRO - had
    assert (event.address, event.product, event.trades) == (play.address("ann"), BTC, trades)
    assert event.amount == -event.balance == -play.balance(INSURANCE) == lack
    assert equity(play, "ann") == 0
