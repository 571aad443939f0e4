"""The venue behind its gateway and the reference agree on every order, leg, balance, event and ledger row."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.venue.reference import BRANCHES, driver
from tests.venue.reference.driver import Pair
from tests.venue.reference.margin import Margin
from tests.venue.reference.steps import LEAN

SEEDS = (0, 1, 23, 24, 47, 71, *(LEAN + seed for seed in (5, 6, 10, 22, 36, 43)))
"""Of 200 seeds, those that together take every branch of the venue's rules that any of them takes."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_signed_actions_leave_both_in_the_same_state(seed: int) -> None:
    before = Counter(BRANCHES)
    pair = driver.check(seed, 300)
    shown, owned = pair.wallets()
    assert shown == owned
    assert {"placeOrder", "placeBracketOrder", "replaceOrder", "cancelOrder", "oracle", "advance"} <= set(pair.sent)
    assert len(Counter(BRANCHES) - before) > 150, "so many branches of the reference were taken"


def test_a_difference_is_reported_with_its_seed_and_a_short_list_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rebate = Margin.rebate
    monkeypatch.setattr(Margin, "rebate", lambda self, payer, fee: rebate(self, payer, fee + 60))
    with pytest.raises(AssertionError, match=r"^seed 2, \d+ steps, shrunk to 2:\n.*\n.*\nledger \(.*REFERRAL_REBATE"):
        driver.check(2, 100)


def test_a_pair_agrees_before_the_first_step() -> None:
    assert Pair().difference() == ""
