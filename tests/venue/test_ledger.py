"""The books: every change has an entry, and nothing comes from nowhere."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.venue import ledger

from .invariants import check_cash, check_ledger
from .play import MICRO, Play


def test_money_enters_moves_and_leaves_with_an_entry_each() -> None:
    play = Play(lp_capital=0)
    play.fund(100, "ann", "bob")
    ann, bob = play.account("ann"), play.account("bob")
    ledger.move(play.core, ann, bob, 30 * MICRO, "GIFT", 0, "why")
    ledger.withdraw(play.core, bob, 5 * MICRO, "0xdest")
    entries = play.core.state.history.ledger.of(bob.address)
    assert [(entry.kind, entry.amount, entry.balance) for entry in entries] == [
        ("DEPOSIT", 100 * MICRO, 100 * MICRO),
        ("GIFT", 30 * MICRO, 130 * MICRO),
        ("WITHDRAW", -5 * MICRO, 125 * MICRO),
    ]
    assert entries[-1].reference == "0xdest"
    assert entries[-1].tx_hash.startswith("0x")
    assert (play.core.state.deposits, play.core.state.withdrawals) == (200 * MICRO, 5 * MICRO)
    check_cash(play.core)
    check_ledger(play.core)


def test_nothing_is_entered_for_nothing() -> None:
    play = Play()
    before = len(play.core.state.history.ledger.records)
    ledger.post(play.core, play.account("ann"), 0, "GIFT")
    ledger.realize(play.core, play.account("ann"), 0, 1)
    assert len(play.core.state.history.ledger.records) == before


@settings(max_examples=20)
@given(paid=st.integers(-(10**9), 10**9), less=st.integers(0, 3))
def test_what_rounding_leaves_goes_to_its_own_account(paid: int, less: int) -> None:
    play = Play()
    ann = play.account("ann")
    ledger.split(play.core, ann, ledger.FEES, paid, paid - less, "FEE")
    accounts = play.core.state.accounts
    assert (ann.balance, accounts[ledger.FEES].balance, accounts[ledger.ROUNDING].balance) == (-paid, paid - less, less)
    check_cash(play.core)


def test_isolated_margin_is_the_mirror_of_its_entries() -> None:
    play = Play()
    play.fund(1_000, "ann", "bob")
    play.isolated("ann")
    play.trade("ann", "bob", "0.01", 60_000)
    assigned = play.position("ann").assigned
    assert assigned == 30 * MICRO
    assert sum(amount for kind, amount in play.kinds("ann") if kind == ledger.ISOLATED_MARGIN) == -assigned


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (1, "0.000001"), (-1_500_000, "-1.5"), (10_000_000, "10"), (123_456_789, "123.456789")],
)
def test_amounts_are_written_plainly(amount: int, text: str) -> None:
    assert ledger.text(amount) == text
