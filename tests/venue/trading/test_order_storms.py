"""Storms of orders: the invariants hold after every command, and the core is a fold over its commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from tests.venue.invariants import OrderWatch
from tests.venue.order_storms import OrderStorm, apply, weather
from toolkit.venue.engine.core import Core
from toolkit.venue.model.constants import STATUS_NAMES

ROOT = Path(__file__).resolve().parents[3]


@lru_cache
def long_storm(seed: int) -> OrderStorm:
    """Return a storm of 2,000 commands, every one watched; several tests look at the same."""
    return weather(seed, 2_000)


@pytest.mark.parametrize("seed", range(4))
def test_the_invariants_hold_in_a_storm(seed: int) -> None:
    storm = long_storm(seed)
    ended = storm.core.state.history.orders.records
    statuses = Counter(STATUS_NAMES[order.status] for order in ended)
    assert min(statuses[name] for name in ("FILLED", "CANCELED", "REJECTED")) > 20
    assert sum(order.triggered for order in ended) > 5


def test_storms_reach_every_rule() -> None:
    reasons: Counter[str] = Counter()
    for seed in range(4):
        records = long_storm(seed).core.state.history.orders.records
        reasons.update(order.reason for order in records if order.reason)
    told = "\n".join(reasons)
    for words in (
        "self-trade prevented",
        "FOK: ",
        "reduce-only: the position is down to",
        "reduce-only: reduced to",
        "one cancels the other",
        "its main order was cancelled unfilled",
        "the position it would reduce is gone",
        "nothing more to take",
        "would match",
        "there is no",
        "is already reached",
        "margin",
    ):
        assert words in told, f"no storm reached: {words}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1_000, 1_016))
def test_the_invariants_hold_in_many_storms(seed: int) -> None:
    weather(seed, 1_500)


def test_a_dump_in_mid_life_goes_on_identically() -> None:
    storm = OrderStorm(11)
    copies = []
    commands = []
    for step in range(600):
        command = storm.command()
        commands.append(command)
        apply(storm.core, command)
        if step in (100, 300, 599):
            copies.append((step, storm.core.dump()))
    for step, dump in copies:
        copy = Core.load(dump)
        watch = OrderWatch(copy)
        assert copy.dump() == dump
        for command in commands[step + 1 :]:
            apply(copy, command)
            watch.check()
        assert copy.state_hash() == storm.core.state_hash()


def test_replaying_the_commands_gives_the_same_state_and_answers() -> None:
    first, commands, answers = OrderStorm(12), [], []
    for _ in range(400):
        commands.append(first.command())
        answers.append(apply(first.core, commands[-1]))
    second = OrderStorm(12)
    assert [apply(second.core, command) for command in commands] == answers
    assert second.core.state_hash() == first.core.state_hash()


def test_the_state_hash_does_not_depend_on_the_hash_seed_of_the_process() -> None:
    found = set()
    for hash_seed in ("0", "1", "12345"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.venue.order_storms", "3", "250"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        found.add(done.stdout.strip())
    assert len(found) == 1
    assert len(found.pop()) == 64
