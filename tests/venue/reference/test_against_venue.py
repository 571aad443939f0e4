"""The venue behind its gateway and the reference agree on every order, leg, balance, event and ledger row."""

from __future__ import annotations

import pytest

from tests.venue.reference import driver
from tests.venue.reference.books import Books
from tests.venue.reference.driver import Pair


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_random_signed_actions_leave_both_in_the_same_state(seed: int) -> None:
    pair = driver.check(seed, 150)
    assert sum(pair.compared.values()) > 90
    assert {"placeOrder", "placeBracketOrder", "replaceOrder", "cancelOrder", "oracle", "advance"} <= set(pair.compared)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(1_000, 1_200))
def test_long_runs_of_random_signed_actions_leave_both_in_the_same_state(seed: int) -> None:
    pair = driver.check(seed, 1_000)
    assert sum(pair.compared.values()) > 700


def test_runs_reach_every_step_of_a_liquidation_and_every_kind_of_money() -> None:
    steps, kinds = set[str](), set[str]()
    for seed in (9, 33, 48):
        history = driver.check(seed, 300).venue.core.state.history
        steps |= {step.where for step in history.liquidations.records}
        kinds |= {transfer.kind for transfer in history.ledger.records}
    assert steps == {"BOOK", "LP_VAULT", "ADL", "NETTED"}
    assert kinds >= {"FUNDING", "BUILDER_FEE", "REFERRAL_REBATE", "ISOLATED_MARGIN", "BANKRUPTCY", "LIQUIDATION_FEE"}


def test_a_difference_is_reported_with_its_seed_and_a_short_list_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rebate = Books.rebate
    monkeypatch.setattr(Books, "rebate", lambda self, payer, fee: rebate(self, payer, fee + 60))
    with pytest.raises(AssertionError, match=r"^seed 2, \d+ steps, shrunk to 2:\n.*\n.*\nledger \(.*REFERRAL_REBATE"):
        driver.check(2, 100)


def test_a_pair_agrees_before_the_first_step() -> None:
    assert Pair().difference() == ""
