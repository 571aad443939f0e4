"""The venue behind its gateway and the reference agree on every order, leg, balance, event and ledger row."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.venue.reference import BRANCHES, driver
from tests.venue.reference.driver import Pair
from tests.venue.reference.margin import Margin
from tests.venue.reference.steps import LEAN
from toolkit.venue.engine.core import Core

SEEDS = (0, 1, 23, 24, 47, 71, *(LEAN + seed for seed in (5, 6, 10, 22, 36, 43)))
"""Of 200 seeds, those that together take every branch of the venue's rules that any of them takes."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_signed_actions_leave_both_in_the_same_state(seed: int) -> None:
    before = Counter(BRANCHES)
    pair, steps, difference = driver.storm(seed, 300)
    assert not difference, f"step {len(steps)}: {difference}; driver.check({seed}, 300) finds a few steps that show it"
    shown, owned = pair.wallets()
    assert shown == owned
    check_records(pair.venue.host.core)
    assert {"placeOrder", "placeBracketOrder", "replaceOrder", "cancelOrder", "oracle", "advance"} <= set(pair.sent)
    assert len(Counter(BRANCHES) - before) > 150, "so many branches of the reference were taken"


def check_records(core: Core) -> None:
    """Records are numbered, and what a position has made is the sum of its closed terms and of what is open."""
    history = core.state.history
    for log in (history.order_events, history.closed_positions, history.funding_payments, history.ledger):
        assert [record.id for record in log.records] == list(range(1, len(log.records) + 1))
    for account in core.state.accounts.values():
        for code, position in account.positions.items():
            closed = [each for each in history.closed_positions.of(account.address) if each.product == code]
            for name in ("pnl", "fees", "funding"):
                terms = (*closed, *(leg for leg in (position.long, position.short) if leg.size))
                assert sum(getattr(each, name) for each in terms) == getattr(position, name)
            for side, leg in ((1, position.long), (-1, position.short)):
                own = [each for each in closed if each.side == side]
                assert [each.term for each in own] == list(range(1, leg.term + (not leg.size)))
                for each in own:
                    assert each.pnl == side * (each.close_value - each.entry_value)
                    assert each.opened <= each.time


def test_a_difference_is_reported_with_its_seed_and_a_short_list_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rebate = Margin.rebate
    monkeypatch.setattr(Margin, "rebate", lambda self, payer, fee: rebate(self, payer, fee + 60))
    with pytest.raises(AssertionError, match=r"^seed 2, \d+ steps, shrunk to 2:\n.*\n.*\nledger \(.*REFERRAL_REBATE"):
        driver.check(2, 100)


def test_a_pair_agrees_before_the_first_step() -> None:
    assert Pair().difference() == ""
