"""Who pays in a cascade: those who gained from the gap, then INSURANCE; nobody's capital."""

from __future__ import annotations

import random

import pytest
from msgspec import structs

from tests.venue.play import BTC, ETH, MICRO, SOL, XRP, Play
from toolkit.venue.engine.changes import InsuranceOverdrawn
from toolkit.venue.engine.core import Core
from toolkit.venue.engine.registry import controls
from toolkit.venue.liquidation.margin_groups import open_legs
from toolkit.venue.risk import account_margin, prices
from toolkit.venue.risk.ledger import INSURANCE, LP_VAULT

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


@pytest.mark.parametrize("side", [1, -1])
def test_a_deleveraged_counterpart_keeps_what_it_had_before_the_gap(side: int) -> None:
    play = world(lp_capital=0)
    play.fund(3_036, "ann")
    play.fund(6_000, "bob")
    play.fund(1_000_000, "cyd")
    play.trade(*(("ann", "bob") if side > 0 else ("bob", "ann")), "1", 60_000)
    play.control("gap", changes={BTC: -side * 250})
    assert play.position("bob").long.size == play.position("bob").short.size == 0
    assert equity(play, "bob") >= 6_000 * MICRO - 50 * MICRO
    assert equity(play, "ann") == 0


def test_an_isolated_counterpart_pays_no_more_than_its_equity_though_its_account_gained_more() -> None:
    play = world(lp_capital=0)
    play.hedge("bob")
    play.fund(3_036, "ann")
    play.fund(12_000, "bob")
    play.fund(1_000_000, "zed")
    play.isolated("bob")
    play.trade("ann", "bob", "1", 60_000)
    play.trade("bob", "zed", "0.95", 60_000)
    play.trade("zed", "bob", "30", 3_000, ETH)
    before = play.balance("bob")
    play.control("gap", changes={BTC: -250, ETH: -200})
    assert not play.position("bob").short.size, "it is the counterpart that was closed"
    assert play.balance("bob") >= before, "its other margin pays nothing of it"
