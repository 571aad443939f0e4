"""The books: every change has an entry, and nothing comes from nowhere."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.venue.play import MICRO, Play
from toolkit.venue.engine.changes import AccountChanged
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


def test_the_venues_own_accounts_and_participants_have_every_entry_too() -> None:
    play = Play()
    play.fund(100_000, "ann", "bob")
    play.account("bob").kind = "market"
    play.trade("ann", "bob", "0.5", 60_000)
    play.trade("bob", "ann", "0.5", 60_100)
    found = {
        name: [(entry.kind, entry.amount) for entry in ledger.entries(play.core, address)]
        for name, address in (("fees", ledger.FEES), ("clearing", ledger.CLEARING), ("bob", play.address("bob")))
    }
    assert found == {
        "fees": [("TRADING_FEE", 18 * MICRO), ("TRADING_FEE", 3_005_000)],
        "clearing": [("REALIZED_PNL", -50 * MICRO), ("REALIZED_PNL", 50 * MICRO)],
        "bob": [("DEPOSIT", 100_000 * MICRO), ("REALIZED_PNL", -50 * MICRO)],
    }
    play.core.check()


def test_isolated_margin_is_the_mirror_of_its_entries() -> None:
    play = Play()
    play.fund(1_000, "ann", "bob")
    play.isolated("ann")
    play.trade("ann", "bob", "0.01", 60_000)
    assigned = play.position("ann").assigned
    assert assigned == 30 * MICRO
    assert sum(amount for kind, amount in play.kinds("ann") if kind == ledger.ISOLATED_MARGIN) == -assigned


def test_cash_that_no_product_moved_is_entered_under_none() -> None:
    play = Play(lp_capital=0)
    play.fund(100, "ann")
    ann, bob = play.account("ann"), play.core.account(play.address("bob"))
    ledger.move(play.core, ann, bob, 30, "GIFT")
    ledger.transfer(play.core, ann, bob, 2, 1, "FEE")
    ledger.withdraw(play.core, ann, 5)
    ledger.realize(play.core, ann, 7, 2)
    found = [(entry.kind, entry.product, entry.reference) for entry in ledger.entries(play.core, ann.address)]
    none = [(kind, 0, "") for kind in ("DEPOSIT", "GIFT", "FEE", "WITHDRAW")]
    assert found == [*none, ("REALIZED_PNL", 2, "")]


def test_only_accounts_of_users_are_told_of_and_looked_at_again() -> None:
    play = Play()
    play.fund(100, "ann")
    ann, fees, core = play.account("ann"), play.core.state.accounts[ledger.FEES], play.core
    core.risk_index.touched.clear()
    for recording in (True, False):
        core.record_events(recording)
        core.events.clear()
        ledger.transfer(core, ann, fees, 2, 1, "FEE")
        told = [one.address for one in core.events if isinstance(one, AccountChanged)]
        assert told == [ann.address] * recording
    assert set(core.risk_index.touched) == {ann.address}
    assert fees.updated == ann.updated == play.now


def test_the_venue_opens_its_own_accounts_and_the_lp_vault_with_its_capital() -> None:
    for capital in (0, 5):
        play = Play(lp_capital=capital)
        accounts = play.core.state.accounts
        assert {accounts[address].kind for address in ledger.VENUE_ACCOUNTS} == {"venue"}
        assert (accounts[ledger.LP_VAULT].kind, accounts[ledger.LP_VAULT].balance) == ("vault", capital)
        assert play.core.state.deposits == capital
        assert len(play.core.state.history.ledger.records) == (capital > 0)
