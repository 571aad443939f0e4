"""Attacks by accounts that act together: at an unchanged price they have no more than they brought, and nobody less."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.venue.play import BTC, ETH, Play
from toolkit.venue.risk import account_margin
from toolkit.venue.risk.ledger import INSURANCE, LP_VAULT

PRICES = {BTC: 60_000, ETH: 3_000}


class Ring(Play):
    """A victim, a friend and a third of 10,000 USDC each; `side` is the one that the victim is on."""

    def __init__(self, side: int, isolated: bool, hedge: bool, delay: int = 0) -> None:
        super().__init__(genesis={"settings": {"settleDelay": delay, "market": False}}, funding_cap=0)
        self.side, self.hedged, self.delay = side, hedge, delay
        for code, price in PRICES.items():
            self.oracle(price, code)
        self.names = ("victim", "friend", "third")
        self.fund(10_000, *self.names)
        for name in self.names:
            if hedge:
                self.hedge(name)
            self.leverage(name, 40)
            if isolated:
                self.isolated(name)
        self.settle()
        self.first = self.wealth()

    def wealth(self) -> list[int]:
        """Return what the ring has with what it has withdrawn, and what the LP vault and INSURANCE lack together."""
        equity = sum(account_margin.wallet(self.core, self.account(name)).equity for name in self.names)
        return [equity + self.core.state.withdrawals, -self.balance(LP_VAULT) - self.balance(INSURANCE)]

    def advance(self, span: int) -> None:
        """Let time pass in which no price changes, not even by the far orders of the ring."""
        self.control("stand_still", until=self.now + span)
        super().advance(span)

    def settle(self) -> None:
        if self.delay:
            self.advance(self.delay)

    def far(self, away: float) -> str:
        """Return a price so far away that it is bad for the victim's position; below 0 it is a good one."""
        return f"{60_000 * (1 - self.side * away):.1f}"

    def put(self, name: str, sign: int, quantity: str, away: float, *, closing: bool = False, **more: str) -> None:
        """Place an order on the victim's side (+1) or the other one, which may be refused."""
        way = ("BUY" if sign * self.side > 0 else "SELL") + "_CLOSE_HEDGE" * (closing and self.hedged)
        self.order(name, way, quantity, self.far(away), **more)
        self.settle()

    def open(self, quantity: str = "5") -> None:
        """Let the victim open a position against the friend at mark."""
        self.put("friend", -1, quantity, 0)
        self.put("victim", 1, quantity, 0)
        held = self.account("victim").positions[BTC]
        assert held.long.size or held.short.size


def taker_closes_far_away(ring: Ring) -> None:
    ring.open()
    ring.put("third", 1, "5", 0.85)
    ring.put("victim", -1, "5", 0.85, closing=True)


def maker_closes_far_away(ring: Ring) -> None:
    ring.open()
    ring.put("victim", -1, "5", 0.85, closing=True)
    ring.put("third", 1, "5", 0.85)


def opens_far_away(ring: Ring) -> None:
    ring.put("friend", -1, "1", -0.85)
    ring.put("victim", 1, "5", -0.85)


def flips_far_away(ring: Ring) -> None:
    ring.open()
    ring.put("third", 1, "9", 0.5)
    ring.put("victim", -1, "9", 0.5)


def closes_in_crumbs(ring: Ring) -> None:
    ring.open()
    for step in range(20):
        ring.put("third", 1, "0.2", 0.02 + step / 25)
        ring.put("victim", -1, "0.2", 0.9, closing=True)


def replaces_an_order_into_the_friend(ring: Ring) -> None:
    ring.open()
    ring.put("victim", -1, "5", -0.3, closing=True)
    ring.put("third", 1, "5", 0.8)
    order = next(iter(ring.account("victim").orders.values()))
    way = ("SELL" if ring.side > 0 else "BUY") + "_CLOSE_HEDGE" * ring.hedged
    item = {"symbolCode": BTC, "ordPx": ring.far(0.8), "ordQty": "5", "ordType": "LIMIT", "ordSide": way}
    ring.act("victim", type="replaceOrder", ordId=order.id, timeInForce="GTC", **item)


def an_exit_is_triggered_far_away(ring: Ring) -> None:
    ring.open()
    ring.put("third", 1, "5", 0.85)
    stop = {"triggerPx": ring.far(0.01), "tpslTriggerType": "LAST_PRICE", "reduceOnlyOption": "SL_FROM_POSITION"}
    ring.put("victim", -1, "0", 0.85, closing=True, **stop)
    ring.put("friend", 1, "0.01", 0.02)
    ring.put("third", -1, "0.01", 0.02)


def fill_or_kill_takes_a_ladder_of_friends(ring: Ring) -> None:
    ring.open()
    for step in range(10):
        ring.put("third", 1, "0.5", step / 12)
    ring.put("victim", -1, "5", 0.85, closing=True, timeInForce="FOK")


def a_withdrawal_is_between_two_fills(ring: Ring) -> None:
    ring.open("2")
    ring.act("victim", type="assignPosMargin", symbolCode=BTC, assignedPosMargin="-100000")
    ring.withdraw("victim", "6000")
    ring.put("third", 1, "2", 0.2)
    ring.put("victim", -1, "2", 0.2, closing=True)


def leverage_falls_after_the_orders(ring: Ring) -> None:
    ring.put("victim", 1, "3", -0.4)
    ring.leverage("victim", 1)
    ring.put("friend", -1, "3", -0.4)


def another_product_bears_the_loss(ring: Ring) -> None:
    ring.open("3")
    for name, side in (("third", -ring.side), ("victim", ring.side)):
        ring.order(name, "BUY" if side > 0 else "SELL", "10", f"{3_000 * (1 + ring.side * 0.6):.2f}", ETH)
        ring.settle()
    ring.put("third", 1, "3", 0.6)
    ring.put("victim", -1, "3", 0.6, closing=True)


ATTACKS: tuple[Callable[[Ring], None], ...] = (
    taker_closes_far_away, maker_closes_far_away, opens_far_away, flips_far_away, closes_in_crumbs,
    replaces_an_order_into_the_friend, an_exit_is_triggered_far_away, fill_or_kill_takes_a_ladder_of_friends,
    a_withdrawal_is_between_two_fills, leverage_falls_after_the_orders, another_product_bears_the_loss,
)  # fmt: skip


@pytest.mark.parametrize(
    ("side", "isolated", "hedge", "delay"),
    [(1, False, False, 0), (-1, True, False, 0), (1, True, True, 0), (-1, False, True, 0), (1, False, False, 1_000)],
)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_accounts_that_trade_with_each_other_take_nothing_from_others(
    attack: Callable[[Ring], None], side: int, isolated: bool, hedge: bool, delay: int
) -> None:
    ring = Ring(side, isolated, hedge, delay)
    attack(ring)
    ring.advance(120_000)
    assert [now <= before for now, before in zip(ring.wealth(), ring.first, strict=True)] == [True, True]
