"""The reference keeps the published numbers, and the examples of clarifications that no test of the venue has."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from toolkit.venue.model import genesis

from .books import Product
from .driver import products_of
from .money import INSURANCE, Settings
from .wire import Reference


def listed(**more: Any) -> Product:
    (found,) = products_of(genesis.Genesis(products=genesis.default_products()[:1], prices={1: "60000"}))
    vars(found).update(more)
    return found


class Play:
    """A reference with one product at 60,000, and named accounts that sign for themselves."""

    def __init__(self, **balances: int) -> None:
        self.mine = Reference([listed()], Settings(), 1_767_225_600_000)
        for name, balance in balances.items():
            self.mine.deposit(name, balance * 10**6)
            self.mine.agents.append((name, name, "", 2**62))

    def act(self, name: str, kind: str, **action: Any) -> bool:
        return self.mine.command(name, {"type": kind, **action}) == [True]

    def place(self, name: str, side: str, price: str, quantity: str, **more: str) -> bool:
        kind, tif = ("MARKET", "IOC") if price == "0" else ("LIMIT", "GTC")
        item = {"symbolCode": 1, "ordPx": price, "ordQty": quantity, "ordType": kind, "ordSide": side}
        return self.act(name, "placeOrder", orders=[item | {"timeInForce": tif} | more])

    def trade(self, buyer: str, seller: str, price: str, quantity: str) -> None:
        assert self.place(seller, "SELL", price, quantity)
        assert self.place(buyer, "BUY", price, quantity)

    def size(self, name: str) -> int:
        return self.mine.accounts[name].positions[1].net


@pytest.mark.parametrize("module", ["books", "money", "matching", "rules", "liquidation", "clock", "programs", "wire"])
def test_the_reference_shares_no_code_with_the_venue(module: str) -> None:
    imported = re.findall(r"^(?:from|import) (\S+)", Path(__file__).with_name(f"{module}.py").read_text("utf-8"), re.M)
    assert imported
    assert not [name for name in imported if name.startswith("toolkit")]


def test_maintenance_margin_of_the_published_tiers() -> None:
    tiers = [(0, Fraction("0.0125"), Fraction(40)), (150_000_000 * 10**6, Fraction("0.025"), Fraction(20))]
    assert listed(tiers=tiers).maintenance(200_000_000 * 10**6) == 3_125_000 * 10**6


@pytest.mark.parametrize(("premium", "rate"), [("0.000429", "0.0001"), ("0.0008", "0.0003"), ("0.5", "0.02")])
def test_published_funding_rates_of_eight_hours(premium: str, rate: str) -> None:
    product = listed(interval=8 * 3_600_000, premiums=[Fraction(premium)])
    assert Play().mine.funding_rate(product) == Fraction(rate)


def test_c9_slippage_has_no_lower_bound() -> None:
    play = Play(alice=10_000, maker=10**6)
    assert play.place("maker", "SELL", "60000", "1")
    assert play.place("alice", "BUY", "0", "0.1", slippagePct="0.0001")
    assert not play.place("alice", "BUY", "0", "0.1", slippagePct="0.0501")
    assert play.size("alice") == 100


def test_c11_a_debt_is_paid_from_isolated_positions_first_and_then_by_the_insurance() -> None:
    play = Play(alice=10_000, maker=10**6)
    assert play.act("alice", "setMarginMode", symbolCode=1, marginMode="ISOLATED")
    play.trade("alice", "maker", "60000", "1")
    alice, insurance = play.mine.accounts["alice"], play.mine.accounts[INSURANCE].balance
    alice.balance = -2_995 * 10**6
    play.mine.after()
    assert (alice.balance, alice.positions[1].assigned) == (0, 5 * 10**6)
    alice.balance, alice.positions[1].assigned = -(10**6), 0
    play.mine.after()
    assert alice.balance == 0
    assert insurance - play.mine.accounts[INSURANCE].balance >= 10**6
