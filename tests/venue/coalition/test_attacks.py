"""Attacks written by hand against the rules of solvency: what a coalition gains by each, at an unchanged market, is 0.

The invariants of `witness` are checked after every command as well, so that a debt made by a trade fails here too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.venue.coalition.world import BTC, ETH, World, order_item, other
from toolkit.venue.model.constants import USDC

SIDES = ("BUY", "SELL")


class Ring:
    """Three accounts of a coalition; `side` is the one they are on, and `worse` a price that far against it."""

    def __init__(self, side: int, isolated: bool, hedge: bool, delay: int = 0) -> None:
        self.world = World("empty", 3, settle_delay=delay, funding_cap=0)
        self.world.frozen = True
        self.side, self.hedge = side, hedge
        self.victim, self.friend, self.third = self.world.members
        self.delay = delay
        for member in self.world.members:
            if hedge:
                self.world.control("set_position_mode", address=member, mode="HEDGE")
            self.world.act(member, "setLeverage", symbolCode=BTC, leverage="40")
            if isolated:
                self.world.act(member, "setMarginMode", symbolCode=BTC, marginMode="ISOLATED")
        self.settle()

    def settle(self) -> None:
        if self.delay:
            self.world.advance(self.delay)

    def price(self, ratio: float, code: int = BTC) -> str:
        product, market = self.world.core.products[code], self.world.core.state.markets[code]
        ticks = round(market.mark * ratio)
        return product.price_text(max(1, ticks))

    def worse(self, away: float) -> float:
        """Return the ratio of a price that is bad for who closes a position of `side` there."""
        return 1 - away if self.side > 0 else 1 + away

    def way(self, sign: int, closing: bool = False) -> str:
        return SIDES[sign < 0] + ("_CLOSE_HEDGE" if closing and self.hedge else "")

    def put(self, who: str, sign: int, quantity: str, ratio: float, *, closing: bool = False, **more: str) -> int:
        """Place an order of a sign (+1 buys) at a ratio of mark; return the answer's code."""
        outcome = self.world.order(who, self.way(sign, closing), quantity, self.price(ratio), **more)
        self.settle()
        return outcome.code

    def open(self, quantity: str = "5") -> None:
        """Let the victim open a position against the friend at mark."""
        self.put(self.friend, -self.side, quantity, 1.0)
        self.put(self.victim, self.side, quantity, 1.0)
        held = self.world.account(self.victim).positions[BTC]
        assert held.long.size or held.short.size

    def gained(self) -> float:
        """Return what the coalition has made, or the others lost, in USDC."""
        now = self.world.wealth()
        return max(now.coalition - self.world.first.coalition, self.world.loss(now)) / USDC


def taker_closes_far_away(ring: Ring) -> None:
    ring.open()
    ring.put(ring.third, ring.side, "5", ring.worse(0.85))
    ring.put(ring.victim, -ring.side, "5", ring.worse(0.85), closing=True)


def maker_closes_far_away(ring: Ring) -> None:
    ring.open()
    ring.put(ring.victim, -ring.side, "5", ring.worse(0.85), closing=True)
    ring.put(ring.third, ring.side, "5", ring.worse(0.85))


def taker_opens_far_away(ring: Ring) -> None:
    ring.put(ring.friend, -ring.side, "5", 2 - ring.worse(0.85))
    ring.put(ring.victim, ring.side, "5", 2 - ring.worse(0.85))


def maker_opens_far_away(ring: Ring) -> None:
    ring.put(ring.victim, ring.side, "1", 2 - ring.worse(0.85))
    ring.put(ring.friend, -ring.side, "1", 2 - ring.worse(0.85))


def flips_far_away(ring: Ring) -> None:
    ring.open()
    ring.put(ring.third, ring.side, "9", ring.worse(0.5))
    ring.put(ring.victim, -ring.side, "9", ring.worse(0.5))


def closes_in_a_thousand_crumbs(ring: Ring) -> None:
    ring.open()
    for step in range(40):
        ring.put(ring.third, ring.side, "0.1", ring.worse(0.02 + step / 50))
        ring.put(ring.victim, -ring.side, "0.1", ring.worse(0.9), closing=True)


def replaces_an_order_into_the_friend(ring: Ring) -> None:
    ring.open()
    ring.put(ring.victim, -ring.side, "5", 2 - ring.worse(0.3), closing=True)
    ring.put(ring.third, ring.side, "5", ring.worse(0.8))
    order = next(iter(ring.world.account(ring.victim).orders.values()))
    item = order_item(ring.way(-ring.side, True), "5", ring.price(ring.worse(0.8))) | {"ordId": order.id}
    ring.world.act(ring.victim, "replaceOrder", **item)


def an_exit_is_triggered_far_away(ring: Ring) -> None:
    ring.open()
    ring.put(ring.third, ring.side, "5", ring.worse(0.85))
    stop = {"triggerPx": ring.price(ring.worse(0.01)), "tpslTriggerType": "LAST_PRICE"}
    ring.put(ring.victim, -ring.side, "0", ring.worse(0.85), closing=True, reduceOnlyOption="SL_FROM_POSITION", **stop)
    ring.put(ring.friend, ring.side, "0.01", ring.worse(0.02))
    ring.put(ring.third, -ring.side, "0.01", ring.worse(0.02))


def a_bracket_opens_far_away(ring: Ring) -> None:
    main = order_item(ring.way(ring.side), "2", ring.price(2 - ring.worse(0.5)))
    stop = order_item(ring.way(-ring.side, True), "2", ring.price(ring.worse(0.8)))
    stop |= {"reduceOnlyOption": "SL_FROM_POSITION", "triggerPx": ring.price(ring.worse(0.3)), "clOrdId": "2"}
    ring.put(ring.friend, -ring.side, "2", 2 - ring.worse(0.5))
    ring.world.act(ring.victim, "placeTPSLOrder", orders=[main | {"clOrdId": "1"}, stop])


def fill_or_kill_takes_a_ladder_of_friends(ring: Ring) -> None:
    ring.open()
    for step in range(10):
        ring.put(ring.third, ring.side, "0.5", ring.worse(step / 12))
    ring.put(ring.victim, -ring.side, "5", ring.worse(0.85), closing=True, timeInForce="FOK")


def margin_moves_out_before_the_loss(ring: Ring) -> None:
    ring.open("2")
    ring.world.act(ring.victim, "assignPosMargin", symbolCode=BTC, assignedPosMargin="-100000")
    ring.world.act(ring.victim, "withdraw", amount="6000", destination=ring.third)
    ring.put(ring.third, ring.side, "2", ring.worse(0.2))
    ring.put(ring.victim, -ring.side, "2", ring.worse(0.2), closing=True)


def a_withdrawal_settles_between_two_fills(ring: Ring) -> None:
    ring.open("1")
    ring.world.act(ring.victim, "withdraw", amount="8000", destination=ring.third)
    ring.put(ring.third, ring.side, "1", ring.worse(0.3))
    ring.put(ring.victim, -ring.side, "1", ring.worse(0.3), closing=True)
    ring.settle()


def leverage_falls_after_the_orders(ring: Ring) -> None:
    ring.put(ring.victim, ring.side, "3", 2 - ring.worse(0.4))
    ring.world.act(ring.victim, "setLeverage", symbolCode=BTC, leverage="1")
    ring.put(ring.friend, -ring.side, "3", 2 - ring.worse(0.4))


def another_product_bears_the_loss(ring: Ring) -> None:
    ring.open("3")
    for who, sign in ((ring.third, -ring.side), (ring.victim, ring.side)):
        ring.world.order(who, SIDES[sign < 0], "10", ring.price(2 - ring.worse(0.6), ETH), ETH)
        ring.settle()
    ring.put(ring.third, ring.side, "3", ring.worse(0.6))
    ring.put(ring.victim, -ring.side, "3", ring.worse(0.6), closing=True)


ATTACKS: tuple[Callable[[Ring], None], ...] = (
    taker_closes_far_away, maker_closes_far_away, taker_opens_far_away, maker_opens_far_away, flips_far_away,
    closes_in_a_thousand_crumbs, replaces_an_order_into_the_friend, an_exit_is_triggered_far_away,
    a_bracket_opens_far_away, fill_or_kill_takes_a_ladder_of_friends, margin_moves_out_before_the_loss,
    a_withdrawal_settles_between_two_fills, leverage_falls_after_the_orders, another_product_bears_the_loss,
)  # fmt: skip


class Terms(NamedTuple):
    """How an attack is carried out."""

    side: int
    isolated: bool
    hedge: bool


TERMS = [Terms(*each) for each in itertools.product((1, -1), (False, True), (False, True))]


@pytest.mark.parametrize("terms", TERMS, ids=str)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_trades_among_themselves_bring_a_coalition_nothing(attack: Callable[[Ring], None], terms: Terms) -> None:
    ring = Ring(*terms)
    attack(ring)
    ring.world.advance(120_000)
    assert ring.gained() <= 0


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_nor_while_their_actions_wait_to_be_settled(attack: Callable[[Ring], None], side: int) -> None:
    ring = Ring(side, False, False, delay=1_000)
    attack(ring)
    ring.world.advance(120_000)
    assert ring.gained() <= 0


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("joins", [True, False])
def test_an_order_far_from_mark_does_not_set_the_price_of_anothers_shares(side: int, joins: bool) -> None:
    world = World("empty", 2)
    leader, friend, joe = *world.members, other("saver")
    made = world.act(leader, "vaultCreate", name="v", description="", amount="2000", currencyCode=1)
    vault = str((made.data or {})["vault"]).lower()
    if not joins:
        world.act(joe, "vaultDeposit", vault=vault, amount="20000", currencyCode=1)
    quantity = "0.2" if joins else "5"
    world.act(leader, "setLeverage", vault, symbolCode=BTC, leverage="40")
    price = world.core.products[BTC].price_text(world.core.state.markets[BTC].mark)
    world.order(other("maker"), SIDES[side > 0], quantity, price)
    assert world.order(leader, SIDES[side < 0], quantity, price, inside=vault).code == 0
    world.first = world.wealth()
    ratio = (5.0 if side > 0 else 0.11) if joins else (0.11 if side > 0 else 5.0)
    far = world.core.products[BTC].price_text(round(world.core.state.markets[BTC].mark * ratio))
    assert world.order(friend, SIDES[side < 0], "0.2" if joins else "0.05", far).code == 0
    if joins:
        world.act(joe, "vaultDeposit", vault=vault, amount="20000", currencyCode=1)
    else:
        world.act(joe, "vaultWithdraw", vault=vault, share="10000", currencyCode=1)
    world.act(friend, "cancelAll", symbolCode=BTC)
    assert world.gain() <= 0
