"""The venue, the older reference and the stranger's agree on what the Info API, the feed and the ledger show."""

from __future__ import annotations

import pytest

from tests.venue.reference.steps import is_coarse
from tests.venue.stranger import held, programs_storm, trio
from tests.venue.stranger.rules import Rules


def agree(seed: int, count: int) -> None:
    steps, older, mine = trio.storm(seed, count)
    assert (older, mine) == ("", ""), f"seed {seed}, step {len(steps)}: {steps[-1]}"


@pytest.mark.parametrize("seed", [1, 11, 10_004])
def test_three_venues_show_the_same_after_each_random_step(seed: int) -> None:
    agree(seed, 80)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 5, 7, 8, 10_000, 10_011])
def test_three_venues_show_the_same_over_hundreds_of_random_steps(seed: int) -> None:
    agree(seed, 450)


@pytest.mark.long
@pytest.mark.parametrize("seed", [*range(80), *range(10_000, 10_020)])
def test_three_venues_show_the_same_over_200_000_random_steps(seed: int) -> None:
    """100 seeds of 2,000 steps, at 8 to 10 ms each: half an hour of one quiet core."""
    agree(seed, 2_000)


@pytest.mark.parametrize("seed", range(2))
def test_vaults_agents_and_builders_act_alike(seed: int) -> None:
    number, said = programs_storm.storm(seed, 100)
    assert not said, f"step {number}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_vaults_agents_and_builders_act_alike_over_hundreds_of_steps(seed: int) -> None:
    number, said = programs_storm.storm(seed, 500)
    assert not said, f"step {number}"


def test_an_invariant_that_is_broken_is_named() -> None:
    assert held.broken({"ann": 5, "bob": 5}, {"ann": -1, "bob": 12}) == [
        "10: ann has -1",
        "11: all together have 1 more",
    ]
    assert held.broken({"ann": -5, "bob": 5}, {"ann": -6, "bob": 6}) == []


def test_a_difference_is_found_and_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = Rules.bound
    monkeypatch.setattr(Rules, "bound", lambda self, order, base: bound(self, order, base) + order.side * 10**6)
    steps, older, mine = trio.storm(2, 40)
    assert not older
    assert mine, "a bound that is wrong makes a difference"
    short = trio.shrink(steps, is_coarse(2))
    assert len(short) < len(steps)
    assert trio.replay(short, is_coarse(2))[2]
