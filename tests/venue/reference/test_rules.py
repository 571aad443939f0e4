"""The reference keeps the published numbers of the risk rules, and each clarification with its example."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.venue.reference import BRANCHES, wire
from tests.venue.reference.driver import market_of
from tests.venue.reference.margin import INSURANCE, LP
from tests.venue.reference.money import DAY_MS, Market
from tests.venue.reference.venue import ReferenceVenue
from toolkit.venue.model import genesis

SETTINGS: dict[str, Any] = {
    "price_ms": 3_000, "samples": (50, 10), "impact_margin": 200 * 10**6, "stop": Fraction(95, 100),
    "whole": 100_000 * 10**6, "slice": Fraction(1, 5), "pause": 30_000, "lp_leverage": Fraction(5),
    "lp_fee": Fraction(1, 200), "unwind": 20_000 * 10**6, "unwind_ms": 60_000, "fee_tiers": [], "order_of": str,
}  # fmt: skip


def market(tiers: list[tuple[int, str, int]] | None = None) -> Market:
    row = genesis.default_products()[0]
    found = market_of(row, genesis.default_margin_tables()[1], "60000")
    if tiers:
        found.tiers = [(floor * 10**6, Fraction(rate), leverage) for floor, rate, leverage in tiers]
    return found


class Play:
    """A reference with all clarifications, and named accounts of 10,000 USDC."""

    def __init__(self, *names: str, **rich: int) -> None:
        self.venue = ReferenceVenue([market()], SETTINGS, 1_767_225_600_000)
        self.venue.accounts[LP].balance = 10**12
        for name in (*names, *rich):
            self.venue.open_account(name, rich.get(name, 10_000) * 10**6)

    def place(self, name: str, side: str, price: str, quantity: str, **more: str) -> bool:
        return self.act(name, "placeOrder", orders=[self.item(side, price, quantity, **more)])

    def item(self, side: str, price: str, quantity: str, **more: str) -> dict[str, Any]:
        kind, tif = ("MARKET", "IOC") if price == "0" else ("LIMIT", "GTC")
        return {
            "symbolCode": 1, "ordPx": price, "ordQty": quantity, "ordType": kind, "ordSide": side, "timeInForce": tif,
            **more,
        }  # fmt: skip

    def act(self, name: str, kind: str, **action: Any) -> bool:
        wire.begin_step(self.venue)
        return all(wire.act(self.venue, name, {"type": kind, **action}))

    def trade(self, buyer: str, seller: str, price: str, quantity: str) -> None:
        assert self.place(seller, "SELL", price, quantity)
        assert self.place(buyer, "BUY", price, quantity)

    def size(self, name: str) -> Fraction:
        legs = self.venue.accounts[name].holdings[1].legs
        return Fraction(legs[1].size - legs[-1].size, 1000)

    def leaves(self, name: str) -> list[int]:
        return [order.leaves for order in self.venue.orders.values() if order.account.name == name]


@pytest.mark.parametrize("module", ["money", "margin", "trading", "liquidation", "venue"])
def test_the_reference_shares_no_code_with_the_venue(module: str) -> None:
    text = Path(__file__).with_name(f"{module}.py").read_text("utf-8")
    imported = re.findall(r"^(?:from|import) (\S+)", text, re.MULTILINE)
    assert imported
    assert not [name for name in imported if name.startswith("toolkit")]


def test_maintenance_margin_of_the_published_tiers() -> None:
    table = market([(0, "0.0125", 40), (150_000_000, "0.025", 20)])
    assert table.maintenance(200_000_000 * 10**6) == 3_125_000 * 10**6


@pytest.mark.parametrize(("premium", "rate"), [("0.000429", "0.0001"), ("0.0008", "0.0003"), ("0.5", "0.02")])
def test_published_funding_rates_of_eight_hours(premium: str, rate: str) -> None:
    product = market()
    product.funding_ms = 8 * 3_600_000
    assert product.funding_rate(int(Fraction(premium) * 10**12)) == Fraction(rate)


def test_c1_an_exit_is_accepted_at_a_loss_and_cuts_the_resting_order_that_loses_its_cover() -> None:
    play = Play("alice", maker=10**6)
    play.trade("alice", "maker", "60000", "3.2")
    assert play.place("alice", "SELL", "61000", "3.2")
    play.venue.set_oracle(1, "59500")
    assert play.place("maker", "BUY", "59500", "3.2")
    assert play.place("alice", "SELL", "0", "3.2")
    assert play.size("alice") == 0
    assert play.leaves("alice") == [], "it would open 3.2 short, for which there is no margin"


@pytest.mark.parametrize(("beyond", "accepted"), [("2.7", True), ("2.9", False)])
def test_c1_a_flip_is_judged_by_what_opens_after_the_rest_was_closed_at_its_bound(beyond: str, accepted: bool) -> None:
    play = Play("alice", maker=10**6)
    play.trade("alice", "maker", "60000", "3.2")
    assert play.place("alice", "SELL", "61000", "3.2")
    play.venue.set_oracle(1, "59500")
    assert play.place("alice", "SELL", "59500", str(Decimal("3.2") + Decimal(beyond))) == accepted, "8,400 USDC at 20x"


def test_c1_older_orders_lose_their_cover_to_the_rest_of_a_flip() -> None:
    play = Play("alice", maker=10**6)
    play.trade("alice", "maker", "60000", "1")
    assert play.place("alice", "SELL", "60500", "1")
    assert play.place("maker", "BUY", "60000", "1")
    assert play.place("alice", "SELL", "60000", "4.2")
    assert play.leaves("alice") == [3_200], "3.2 at 60,000 need 9,600, and 1 at 60,500 would need 3,025 more"


def test_c2_an_exit_that_nobody_takes_stays_armed_and_closes_at_the_first_bid() -> None:
    play = Play("alice", maker=10**6)
    play.trade("alice", "maker", "60000", "0.5")
    stop = {"reduceOnlyOption": "SL_FROM_POSITION", "triggerPx": "59400", "tpslTriggerType": "INDEX_PRICE"}
    assert play.place("alice", "SELL", "0", "0", **stop)
    play.venue.set_oracle(1, "58000")
    assert play.size("alice") == Fraction(1, 2)
    assert play.leaves("alice") == [500]
    assert play.place("maker", "BUY", "57900", "2")
    assert play.size("alice") == 0
    assert play.leaves("alice") == []


@pytest.mark.parametrize("names", [("alice", "bob"), ("zoe", "bob")])
def test_c3_the_worst_ratio_goes_first_whatever_the_names_are(names: tuple[str, str]) -> None:
    worse, other = names
    play = Play(**{worse: 3_100, other: 3_200}, maker=10**6)
    for name in names:
        play.trade(name, "maker", "60000", "1")
    assert play.place("maker", "BUY", "57600", "1")
    wire.begin_step(play.venue)
    play.venue.set_oracle(1, "57500")
    fills = [event for event in play.venue.events if event[3] == "LIQUIDATION" and event[8]]
    assert [event[0] for event in fills if event[0] != LP] == [worse, other]
    assert fills[0][8] == 576_000, "the worst takes the bid"


def test_c4_an_isolated_position_below_its_initial_margin_can_grow() -> None:
    play = Play("alice", maker=10**6)
    assert play.act("alice", "setMarginMode", symbolCode=1, marginMode="ISOLATED")
    play.trade("alice", "maker", "60000", "1")
    play.venue.set_oracle(1, "59990")
    assert play.place("maker", "SELL", "59990", "0.5")
    assert play.place("alice", "BUY", "59990", "0.5")
    assert play.size("alice") == Fraction(3, 2)


def test_c4_an_isolated_position_that_lost_its_margin_within_a_request_does_not_grow() -> None:
    play = Play("alice", maker=10**6)
    assert play.act("alice", "setMarginMode", symbolCode=1, marginMode="ISOLATED")
    play.trade("alice", "maker", "60000", "1")
    play.venue.set_oracle(1, "57800")
    assert play.place("maker", "BUY", "57000", "0.98")
    assert play.place("maker", "SELL", "57800", "1")
    # of the margin only some USDC are left, less than the maintenance margin of 0.021
    both = [play.item("SELL", "57000", "0.98"), play.item("BUY", "57800", "0.001")]
    rule, before = "refused: C4: isolated maintenance margin", Counter(BRANCHES)
    assert wire.act(play.venue, "alice", {"type": "placeOrder", "orders": both}) == [True, False]
    assert Counter(BRANCHES)[rule] - before[rule] == 1


def test_c5_replace_is_judged_by_what_is_left_and_moving_away_is_never_refused() -> None:
    play = Play("alice", maker=10**6)
    assert play.place("alice", "BUY", "60000", "0.01")
    assert play.place("maker", "SELL", "60000", "0.009")
    left = play.item("BUY", "59000", "0.01")
    order = next(order.id for order in play.venue.orders.values() if order.account.name == "alice")
    assert play.act("alice", "replaceOrder", ordId=order, **left), "59 USDC are left"
    assert play.place("alice", "BUY", "59900", "3.2")
    play.venue.accounts["alice"].balance -= 1_000 * 10**6
    order = max(play.venue.orders)
    assert not play.act("alice", "replaceOrder", ordId=order, **play.item("BUY", "59950", "3.2"))
    assert play.act("alice", "replaceOrder", ordId=order, **play.item("BUY", "59000", "3.2"))


def test_c6_a_trade_in_the_middle_of_a_batch_triggers() -> None:
    play = Play("alice", maker=10**6, taker=10**6)
    play.trade("alice", "maker", "60000", "0.5")
    assert play.place("maker", "BUY", "59300", "0.1")
    assert play.place("maker", "SELL", "60000", "0.1")
    stop = {"reduceOnlyOption": "SL_FROM_POSITION", "triggerPx": "59400", "tpslTriggerType": "LAST_PRICE"}
    assert play.place("alice", "SELL", "0", "0", **stop)
    both = [play.item("SELL", "59300", "0.1"), play.item("BUY", "60000", "0.1"), play.item("BUY", "59000", "1")]
    assert play.act("taker", "placeOrder", orders=both)
    assert play.venue.markets[1].last == 590_000
    assert play.size("alice") == 0


def test_c7_what_the_book_takes_of_a_liquidated_position_pays_the_taker_fee() -> None:
    play = Play(alice=3_100, maker=10**6)
    play.trade("alice", "maker", "60000", "1")
    assert play.place("maker", "BUY", "57700", "1")
    wire.begin_step(play.venue)
    play.venue.set_oracle(1, "57500")
    fees = [row for row in play.venue.rows if row[0] == "TRADING_FEE" and row[1] == "alice"]
    assert [row[2] for row in fees] == [57_700 * 10**6 * 6 // 10_000]


def test_c8_the_lp_vault_is_flat_again_after_minutes_and_never_sells_below_mark() -> None:
    play = Play(alice=3_100, maker=10**6)
    play.trade("alice", "maker", "60000", "1")
    play.venue.set_oracle(1, "57500")
    assert play.size(LP) == 1, "nobody bids, so the vault takes over"
    assert play.place("maker", "BUY", "57499", "2")
    play.venue.advance(play.venue.time + 60_000)
    assert play.size(LP) == 1
    assert play.leaves(LP) == [348], "20,000 USDC at 57,500"
    assert play.place("maker", "BUY", "57500", "2")
    assert play.size(LP) == Fraction(652, 1000)
    play.venue.advance(play.venue.time + 60_000)
    assert play.size(LP) == Fraction(304, 1000)
    play.venue.advance(play.venue.time + 60_000)
    assert play.size(LP) == 0


def test_an_exit_that_joins_is_held_against_its_main_order_not_against_what_joined_before() -> None:
    play = Play("alice")
    assert play.place("alice", "BUY", "59000", "0.2")
    main = max(play.venue.orders)
    exits = [{"reduceOnlyOption": f"{kind}_FROM_POSITION", "parentOrdId": str(main)} for kind in ("SL", "TP")]
    assert play.place("alice", "SELL", "0", "0.2", triggerPx="58000", **exits[0])
    assert play.act("alice", "replaceOrder", ordId=main, **play.item("BUY", "59000", "0.1"))
    assert not play.place("alice", "SELL", "0", "0.11", triggerPx="61000", **exits[1])
    assert play.place("alice", "SELL", "0", "0.1", triggerPx="61000", **exits[1])


def test_fill_or_kill_does_not_count_on_an_isolated_order_that_lost_its_margin() -> None:
    play = Play("alice", bob=10**6, maker=10**6)
    assert play.act("alice", "setMarginMode", symbolCode=1, marginMode="ISOLATED")
    for name in ("alice", "bob"):
        assert play.place(name, "BUY", "60000", "3.2")
    play.venue.accounts["alice"].balance -= 9_900 * 10**6
    assert play.place("maker", "SELL", "60000", "3.3", timeInForce="FOK")
    assert (play.size("bob"), play.leaves("alice")) == (0, [3_200]), "there are only 3.2, so nothing happened"
    assert play.place("maker", "SELL", "60000", "3.2", timeInForce="FOK")
    assert (play.size("bob"), play.size("alice"), play.leaves("alice")) == (Fraction(16, 5), 0, [])


def test_c11_a_debt_is_paid_from_isolated_positions_first_and_then_by_the_insurance() -> None:
    play = Play("alice", maker=10**6)
    assert play.act("alice", "setMarginMode", symbolCode=1, marginMode="ISOLATED")
    play.trade("alice", "maker", "60000", "1")
    alice, insurance = play.venue.accounts["alice"], play.venue.accounts[INSURANCE].balance
    alice.balance = -2_995 * 10**6
    wire.deposit(play.venue, "maker", 1)
    assert (alice.balance, alice.holdings[1].assigned) == (0, 5 * 10**6)
    alice.balance = -(10**6)
    alice.holdings[1].assigned = 0
    wire.deposit(play.venue, "maker", 1)
    assert alice.balance == 0
    assert insurance - play.venue.accounts[INSURANCE].balance >= 10**6


def test_the_rebate_grows_with_the_volume_of_the_network() -> None:
    play = Play("alice", "bob", maker=10**6)
    alice = play.venue.accounts["alice"]
    wire.bind(play.venue, alice, "bob")
    for volume, per_cent in ((999_999, 10), (1_000_000, 15)):
        alice.volumes = Counter({play.venue.time // DAY_MS - 1: volume * 10**6})
        play.trade("alice", "maker", "60000", "0.1")
        assert [row[2] for row in play.venue.rows if row[0] == "REFERRAL_REBATE"] == [36_000 * per_cent]


def test_c9_slippage_has_no_lower_bound() -> None:
    play = Play("alice", maker=10**6)
    assert play.place("maker", "SELL", "60000", "1")
    assert play.place("alice", "BUY", "0", "0.1", slippagePct="0.0001")
    assert not play.place("alice", "BUY", "0", "0.1", slippagePct="0.0501")
    assert play.size("alice") == Fraction(1, 10)
