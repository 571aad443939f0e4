"""The books: every change has an entry, and nothing comes from nowhere."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.venue.play import MICRO, Play
from toolkit.venue.model.history import ROUND
from toolkit.venue.risk import ledger
from toolkit.venue.risk.audit import cash, entries, transfers


def test_money_enters_moves_and_leaves_with_an_entry_each() -> None:
    play = Play(lp_capital=0)
    play.fund(100, "ann", "bob")
    ann, bob = play.account("ann"), play.account("bob")
    ledger.move(play.core, ann, bob, 30 * MICRO, "GIFT", 0, "why")
    ledger.withdraw(play.core, bob, 5 * MICRO, "0xdest")
    entries = ledger.entries(play.core, bob.address)
    assert [(entry.kind, entry.amount, entry.balance) for entry in entries] == [
        ("DEPOSIT", 100 * MICRO, 100 * MICRO),
        ("GIFT", 30 * MICRO, 130 * MICRO),
        ("WITHDRAW", -5 * MICRO, 125 * MICRO),
    ]
    assert [entry.counterparty for entry in entries] == ["", ann.address, ""]
    assert entries[-1].reference == "0xdest"
    assert entries[-1].tx_hash.startswith("0x")
    assert (play.core.state.deposits, play.core.state.withdrawals) == (200 * MICRO, 5 * MICRO)
    play.core.check()


def test_nothing_is_entered_for_nothing() -> None:
    play = Play()
    before = len(play.core.state.history.ledger.records)
    ann = play.account("ann")
    ledger.move(play.core, ann, play.account("bob"), 0, "GIFT")
    ledger.move(play.core, ann, ann, 5, "GIFT")
    ledger.realize(play.core, ann, 0, 1)
    assert len(play.core.state.history.ledger.records) == before


@settings(max_examples=50)
@given(numerator=st.integers(-(10**12), 10**12), denominator=st.integers(1, 10**6))
def test_what_rounding_leaves_goes_to_its_own_account(numerator: int, denominator: int) -> None:
    play = Play()
    ann, fees, rounding = (play.core.account(each) for each in (play.address("ann"), ledger.FEES, ledger.ROUNDING))
    paid, received = -(-numerator // denominator), numerator // denominator
    ledger.transfer(play.core, ann, fees, paid, received, "FEE", 7, "why")
    assert (ann.balance, fees.balance, rounding.balance) == (-paid, received, paid - received)
    for account, kind in ((ann, "FEE"), (fees, "FEE"), (rounding, ROUND)):
        shown = [(entry.kind, entry.amount, entry.balance) for entry in ledger.entries(play.core, account.address)]
        assert shown == ([(kind, account.balance, account.balance)] if account.balance else [])
    assert not [*cash(play.core), *transfers(play.core), *entries(play.core)]


def test_the_venue_opens_its_own_accounts_and_the_lp_vault_with_its_capital() -> None:
    for capital in (0, 5):
        play = Play(lp_capital=capital)
        accounts = play.core.state.accounts
        assert {accounts[address].kind for address in ledger.VENUE_ACCOUNTS} == {"venue"}
        assert (accounts[ledger.LP_VAULT].kind, accounts[ledger.LP_VAULT].balance) == ("vault", capital)
        assert play.core.state.deposits == capital
        assert len(play.core.state.history.ledger.records) == (capital > 0)
