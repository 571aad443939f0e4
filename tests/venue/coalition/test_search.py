"""The search finds nothing: the quick runs in the default tests, long ones in the slow tests."""

from __future__ import annotations

import pytest

from tests.venue.coalition.goals import GOALS
from tests.venue.coalition.moves import KINDS
from tests.venue.coalition.search import Search, shrink
from toolkit.venue.engine.commands import Outcome
from toolkit.venue.engine.core import Core

QUICK = {
    "money": 500,
    "settling": 300,
    "market": 200,
    "unprotected": 1_000,
    "capital": 200,
    "denial": 300,
    "timing": 4,
    "pull": 60,
}
"""Plans of one quick run. Before the rules of solvency most goals paid within so many; the market and the index took
some hundreds."""
SLOW = {name: 25 * plans for name, plans in QUICK.items()}


@pytest.fixture(autouse=True)
def checked_commands() -> None:
    """Check no invariants here, in place of the fixture of the venue's tests: the search makes too many commands."""


def check(name: str, seed: int, plans: int) -> None:
    found = Search(GOALS[name], seed).run(plans, enough=1e-6)
    if found.paid > 0:
        steps = "\n".join(map(str, shrink(GOALS[name], found)))
        pytest.fail(f"{name}, seed {seed}, {found.count} accounts: a plan pays {found.paid:,.6f}:\n{steps}")


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_coalition_finds_no_way_to_money(name: str) -> None:
    check(name, 1, QUICK[name])


@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_patient_coalition_finds_no_way_to_money(name: str, seed: int) -> None:
    check(name, seed, SLOW[name])


@pytest.mark.slow
def test_the_search_would_find_money_that_lies_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a venue that pays twice the money that is withdrawn, a few plans are enough."""
    _, draw, withdraw = KINDS["withdraw"]

    def twice(world, who, part):  # type: ignore[no-untyped-def]
        outcome: Outcome = withdraw(world, who, part)
        core: Core = world.core
        core.state.accounts[who].balance += 1_000_000 * (outcome.code == 0)
        return outcome

    monkeypatch.setitem(KINDS, "withdraw", (20.0, draw, twice))
    found = Search(GOALS["money"], 1).run(400, enough=1)
    assert found.paid >= 0.999
    assert [step[0] for step in shrink(GOALS["money"], found)] == ["withdraw"]
