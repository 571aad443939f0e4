"""Long random runs: the books close after every command, whatever prices do; the same seed gives the same state."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.venue.invariants import Watch
from tests.venue.play import BTC, MICRO
from tests.venue.storms import Storm, storm_core
from toolkit.venue.engine.core import Core

ROOT = Path(__file__).resolve().parents[3]


def weather(seed: int, count: int, *, market: bool = False) -> Core:
    """Run a watched storm; odd seeds have a poor LP vault."""
    core = storm_core(seed, market=market, **({"lp_capital": 2_000 * MICRO} if seed % 2 else {}))
    watch, storm = Watch(core), Storm(core, seed)
    for command in storm.commands(count):
        watch.apply(command)
    for command in storm.crash():
        watch.apply(command)
    core.check()
    return core


def test_the_books_close_after_every_command_of_a_storm() -> None:
    closed: set[str] = set()
    for seed in range(4):
        history = weather(seed, 250).state.history
        assert history.funding_payments.records
        assert history.closed_positions.records
        closed |= {step.where for step in history.liquidations.records}
    assert closed >= {"BOOK", "LP_VAULT", "ADL"}, "the storms reach every step of the ladder"


def test_the_books_close_in_the_simulated_market_too() -> None:
    core = weather(100, 60, market=True)
    assert core.state.history.trades[BTC]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_the_books_close_in_long_storms(seed: int) -> None:
    market = seed % 10 == 0  # every check reads the orders of all its makers then, so the storm is shorter
    weather(seed, 300 if market else 1_500, market=market)


def test_a_storm_has_the_same_state_under_any_hash_seed() -> None:
    code = "from tests.venue.risk.test_money_storms import weather; print(weather(5, 150).state_hash())"
    found = set()
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        found.add(done.stdout.strip())
    assert len(found) == 1
    assert len(found.pop()) == 64


def test_a_dump_in_the_middle_of_a_storm_goes_on_to_the_same_state() -> None:
    core = storm_core(9, market=True)
    commands = []
    for command in Storm(core, 9).commands(150):
        core.apply(command)
        core.events.clear()
        commands.append(command)
    other = storm_core(9, market=True)
    for number, command in enumerate(commands):
        if number % 40 == 39:
            other = Core.load(other.dump())
        other.apply(command)
        other.events.clear()
    assert other.state_hash() == core.state_hash()
