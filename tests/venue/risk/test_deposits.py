"""Deposits and withdrawals: how often, how much at least and at most, and what the ledger keeps of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.venue.play import MICRO, Play
from toolkit.venue.engine.commands import Control, Outcome, Refused
from toolkit.venue.model.constants import DAY
from toolkit.venue.model.genesis import Config
from toolkit.venue.risk import ledger

COLD = "0x" + "Ab" * 20


@pytest.fixture
def play() -> Play:
    play = Play()
    play.fund(100, "ann")
    return play


def withdraw(play: Play, amount: str, **more: Any) -> Outcome:
    return play.act("ann", type="withdraw", destination=COLD, amount=amount, **more)


def references(play: Play) -> list[str]:
    return [entry.reference for entry in ledger.entries(play.core, play.address("ann")) if entry.kind == "WITHDRAW"]


def test_a_withdrawal_keeps_where_it_went_and_its_sequence(play: Play) -> None:
    assert withdraw(play, "2").code == withdraw(play, "3", withdrawSequence=0).code == 0
    assert withdraw(play, "4", withdrawSequence=7).code == 0
    assert references(play) == [COLD.lower(), f"{COLD.lower()} #0", f"{COLD.lower()} #7"]
    assert (play.balance("ann"), play.core.state.withdrawals) == (91 * MICRO, 9 * MICRO)


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("2", ""),
        ("100", ""),
        ("2.000001", ""),
        ("1.999999", "1.999999"),
        ("100.000001", "100.000001 USDC is more than the 100 USDC that can be taken out"),
        ("3.0000001", "amount 3.0000001 is finer than 0.000001 USDC"),
    ],
)
def test_a_withdrawal_is_at_least_the_smallest_and_at_most_what_is_free(play: Play, amount: str, words: str) -> None:
    answer = withdraw(play, amount)
    assert words in answer.message
    assert (answer.code == 0) is (not words)
    assert len(references(play)) == (not words)


@pytest.mark.parametrize(("waited", "again"), [(0, False), (59_999, False), (60_000, True)])
def test_the_faucet_gives_again_after_its_pause(waited: int, again: bool) -> None:
    assert Config().faucet_pause == DAY
    play = Play(faucet_pause=60_000)
    play.core.account(play.address("ann"))
    assert play.act("ann", type="faucetClaim", currencyCode=1).code == 0
    given = play.balance("ann")
    play.advance(waited)
    answer = play.act("ann", type="faucetClaim", currencyCode=1)
    assert (answer.code == 0) is again
    assert again or "It can be claimed again at 2026-01-01 00:01:00" in answer.message
    assert play.balance("ann") == given * (1 + again) > 0


def test_all_deposits_together_have_a_limit(play: Play) -> None:
    assert ledger.LARGEST == 10**12 * MICRO
    room = ledger.LARGEST - play.core.state.deposits
    play.fund(ledger.micro_text(room), "bob")
    answer = play.core.apply(Control(play.now, "fund", {"address": play.address("cat"), "amount": "0.000001"}))
    assert "amount 0.000001 is more than the 0 USDC that can still come in" in answer.message
    assert play.core.state.deposits == ledger.LARGEST


@pytest.mark.parametrize(("code", "known"), [(1, True), (0, False), (2, False)])
def test_usdc_is_the_only_currency(code: int, known: bool) -> None:
    if known:
        ledger.check_currency({"currencyCode": code})
    else:
        with pytest.raises(Refused, match=f"currencyCode {code} is not known. 1 is USDC"):
            ledger.check_currency({"currencyCode": code})


def test_funding_opens_the_account_and_says_what_it_has() -> None:
    play = Play()
    answer = play.control("fund", address="0x" + "AB" * 20, amount="2.5")
    assert answer.data == {"address": "0x" + "ab" * 20, "balance": "2.5"}
    assert play.balance("0x" + "ab" * 20) == 2_500_000
