"""Clients and venue agree on every order, whatever gets lost and whoever crashes: thousands of seeded schedules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.venue.world import STEP_KINDS, World, play
from toolkit.client.orders.intents import IntentState


def deeds(world: World) -> set[str]:
    return {line.split(": ", 1)[1] for line in world.story if line[0].isdigit()}


def test_clients_and_venue_agree_after_every_bad_day(tmp_path: Path) -> None:
    done: set[str] = set()
    states: set[IntentState] = set()
    for seed in range(10):
        world = play(seed, tmp_path / str(seed))
        assert world.answered
        done |= deeds(world)
        states |= {intent.state for intents in world.ended for intent in intents}
    assert done == set(STEP_KINDS)
    assert states == {IntentState.ACCEPTED, IntentState.REJECTED}


def test_a_schedule_repeats_by_its_seed(tmp_path: Path) -> None:
    one, two = play(3, tmp_path / "a"), play(3, tmp_path / "b")
    assert one.story == two.story
    assert one.venue.control.state_hash() == two.venue.control.state_hash()


def test_a_failure_tells_the_seed_that_repeats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_a_transaction(world: World) -> None:
        world.answered.add("0x00")

    monkeypatch.setattr("tests.venue.world.settle", lose_a_transaction)
    with pytest.raises(AssertionError, match="answered and lost") as caught:
        play(5, tmp_path / "w")
    assert caught.value.__notes__[0].startswith("seed 5 repeats this; what happened:\n")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_300, 100))
def test_thousands_of_bad_days(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 100):
        play(seed, tmp_path / str(seed))
