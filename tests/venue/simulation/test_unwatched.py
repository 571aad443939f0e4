"""Time that nobody watches leads to the same state as the processes, one instant after the other."""

from __future__ import annotations

import random

import pytest

from toolkit.venue.engine.commands import Advance, Control
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis


def unwatched(seed: int, regime: str = "usual") -> Core:
    core = Core(Genesis(seed=seed, time=GENESIS_TIME, settings={"market": regime}))
    core.record_events(False)
    core.events.clear()
    return core


def pair(seed: int, regime: str = "usual") -> tuple[Core, Core]:
    """Return a core and one that knows its processes only."""
    fast, slow = unwatched(seed, regime), unwatched(seed, regime)
    slow.pass_time = None
    return fast, slow


def count(core: Core) -> list[int]:
    """Note the spans, in ms, that a core passes at once."""
    spans: list[int] = []
    inner = core.pass_time
    assert inner is not None

    def counted(core: Core, until: int) -> bool:
        before = core.state.schedule["prices"]
        passed = inner(core, until)
        spans.append(core.state.schedule["prices"] - before)
        return passed

    core.pass_time = counted
    return spans


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("regime", ["usual", "stressed"])
def test_nothing_tells_whether_time_was_passed_at_once(seed: int, regime: str) -> None:
    (fast, slow), chance = pair(seed, regime), random.Random(seed)
    spans, end = count(fast), GENESIS_TIME + 1_800_000
    while fast.state.time < end:
        command = Advance(fast.state.time + chance.choice((1, 700, 3_000, 59_999, 61_000, 400_000)))
        if chance.random() < 0.2:
            args = {"product": chance.choice((1, 2)), "price": str(chance.choice((50_000, 3_000))), "hold": False}
            command = Control(command.time, "set_oracle", args)
        assert fast.apply(command) == slow.apply(command)
        if chance.random() < 0.1:
            fast = Core.load(fast.dump())
            fast.record_events(False)
            spans = count(fast)
        if chance.random() < 0.2:
            assert fast.state_hash() == slow.state_hash()
    assert fast.state_hash() == slow.state_hash()
    assert max(spans) > 60_000
