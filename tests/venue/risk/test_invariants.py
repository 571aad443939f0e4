"""The invariants of money: silent about sound books, and each of them loud about what it is there for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.venue.play import BTC, ETH, MICRO, Play
from toolkit.venue.model.constants import ISOLATED
from toolkit.venue.model.history import ROUND
from toolkit.venue.risk import ledger
from toolkit.venue.risk.audit import cash, clearing, entries, liquidations, transfers


@pytest.fixture
def play() -> Play:
    """Ann is long 1 BTC on cross and 1 ETH isolated, bob short."""
    play = Play()
    play.oracle(60_000)
    play.oracle(3_000, ETH)
    play.fund(10_000, "ann")
    play.fund(100_000, "bob")
    play.isolated("ann", ETH)
    play.trade("ann", "bob", "1", 60_000)
    play.trade("ann", "bob", "1", 3_000, ETH)
    return play


def found(play: Play) -> list[str]:
    return [one for rule in (clearing, liquidations, transfers, entries) for one in rule(play.core)]


def change(play: Play, at: int, **fields: Any) -> None:
    records = play.core.state.history.ledger.records
    records[at] = msgspec.structs.replace(records[at], **fields)


@pytest.mark.parametrize(
    "fields",
    [{"id": 7}, {"payer": "0x1", "receiver": "0x1"}, {"received": -1}, {"paid": 0, "received": 0}, {"tx_hash": ""}],
    ids=["misnumbered", "to oneself", "takes from the receiver", "of nothing", "without a transaction"],
)
def test_a_transfer_that_is_not_sound_is_named(play: Play, fields: dict[str, Any]) -> None:
    assert list(transfers(play.core)) == []
    change(play, 1, **fields)
    [one] = transfers(play.core)
    assert one.startswith("transfer 2 is not sound")


def test_a_receiver_gets_no_more_than_was_paid(play: Play) -> None:
    record = play.core.state.history.ledger.records[1]
    change(play, 1, received=record.paid + 1)
    assert len(list(transfers(play.core))) == 1


def test_a_transfer_of_the_smallest_coin_is_sound_though_nothing_of_it_arrives(play: Play) -> None:
    accounts = play.core.state.accounts
    ledger.transfer(play.core, play.account("ann"), accounts[ledger.FEES], 1, 0, "FEE")
    assert found(play) == []


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"receiver_balance": 5}, ["the entry does not follow from the one before"]),
        ({"receiver": "0x2"}, ["the entries sum to", "entries of accounts for"]),
    ],
)
def test_an_entry_that_does_not_follow_is_named(play: Play, broken: dict[str, Any], words: list[str]) -> None:
    address = play.address("ann")
    at = play.core.state.history.ledger.by_account[address][0]
    assert list(entries(play.core)) == []
    change(play, at, **broken)
    told = " ".join(entries(play.core))
    assert any(word in told for word in words)


def test_an_entry_that_the_index_forgot_is_missed(play: Play) -> None:
    play.core.state.history.ledger.by_account[ledger.FEES].pop()
    told = list(entries(play.core))
    assert any("the entries sum to" in one for one in told)
    assert any("sides of transfers" in one for one in told)


def test_isolated_margin_without_an_entry_is_named(play: Play) -> None:
    play.position("ann", ETH).assigned += 1
    [one] = entries(play.core)
    assert "of isolated margin, the positions have" in one


def lose_entry_value(play: Play) -> None:
    play.position("ann").long.value += 1


def hold_for_nothing(play: Play) -> None:
    play.position("ann").long.value = 0


def open_interest_of_nobody(play: Play) -> None:
    play.core.state.markets[BTC].open_interest += 1


def margin_on_cross(play: Play) -> None:
    play.position("ann").assigned = 1


def margin_without_a_position(play: Play) -> None:
    play.trade("bob", "ann", "1", 3_000, ETH)
    play.position("ann", ETH).assigned = 5


def ruin_on_cross(play: Play) -> None:
    play.account("ann").balance = 0


def ruin_on_isolated(play: Play) -> None:
    play.position("ann", ETH).assigned = 0


def owe_while_flat(play: Play) -> None:
    play.account("cat").balance = -1


def owe_after_closing(play: Play) -> None:
    play.trade("bob", "ann", "1", 60_000)
    play.account("ann").balance = -1


def owe_beside_an_isolated_position(play: Play) -> None:
    play.position("ann").mode = ISOLATED
    play.position("ann").assigned = 10_000 * MICRO
    play.account("ann").balance = -1


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lose_entry_value, "clearing holds"),
        (hold_for_nothing, "a leg of 1000 steps has entry value 0"),
        (open_interest_of_nobody, "open interest 1001 differ"),
        (margin_on_cross, "has margin on product 1, which is not isolated or not open"),
        (margin_without_a_position, "has margin on product 2, which is not isolated or not open"),
        (ruin_on_cross, ":0']"),
        (ruin_on_isolated, ":2']"),
        (owe_while_flat, "is flat on cross and owes 1 micro-USDC"),
        (owe_after_closing, "is flat on cross and owes 1 micro-USDC"),
        (owe_beside_an_isolated_position, "is flat on cross and owes 1 micro-USDC"),
    ],
)
def test_what_may_not_be_of_margins_is_named(play: Play, broken: Callable[[Play], None], words: str) -> None:
    assert play.core.violations() == []
    broken(play)
    assert any(words in one for one in play.core.violations())


@pytest.mark.parametrize("kind", ["market", "venue", "vault"])
def test_only_users_and_their_vaults_are_liquidated(play: Play, kind: str) -> None:
    ann = play.account("ann")
    ann.kind, ann.balance = kind, 0
    assert bool(list(liquidations(play.core))) is (kind == "vault")


def test_the_lp_vault_is_never_liquidated(play: Play) -> None:
    vault = play.core.state.accounts[ledger.LP_VAULT]
    vault.positions[BTC] = play.position("ann")
    vault.balance = 0
    assert list(liquidations(play.core)) == []


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
