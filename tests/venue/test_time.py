"""Time passes the same way however it is cut: in one step, in many, with dumps, reverts and restarts in between."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.venue.traders import Trader
from toolkit.venue.local import LocalVenue

MINUTE_MS = 60_000


def begun(journal: Path | None = None) -> LocalVenue:
    """Return a venue with its market on, a position, a resting order, a stop and an isolated position."""
    venue = LocalVenue(seed=11, clock="manual", journal=journal, sync="os", accounts=3)
    if not venue.host.core.state.accounts["0x70997970c51812dc3a010c7d01b50e0d17dc79c8"].positions:
        venue.advance("1m")
        trader, other = Trader(venue, 1), Trader(venue, 2)
        assert trader.place("BUY", "0", "2.5")
        assert trader.place("BUY", "60000", "0.5")
        stop: dict[str, Any] = {"reduceOnlyOption": "SL_FROM_POSITION", "triggerPx": "60000"}
        assert trader.place("SELL", "0", "0", **stop)
        assert other.act("setMarginMode", symbolCode=2, marginMode="ISOLATED").code == 0
        assert other.place("SELL", "0", "30", symbol=2)
    return venue


def hash_after(minutes: int, step: int) -> str:
    with begun() as venue:
        for _ in range(minutes // step):
            venue.advance(f"{step}m")
        return venue.control.state_hash()


def irregular_hash(minutes: int, directory: Path, seed: int) -> str:
    """Return the hash after the same time in irregular steps, between which the venue is saved and restored."""
    chance, journal = random.Random(seed), directory / "journal"
    venue = begun(journal)
    end, done = venue.host.now_ms() + minutes * MINUTE_MS, set[str]()
    while venue.host.now_ms() < end:
        kept = venue.snapshot()
        venue.advance(f"{min(chance.choice((1, 999, 3_000, 59_001, 407_000, 1_800_000)), end - venue.host.now_ms())}ms")
        way = chance.choice(("none", "none", "revert", "dump", "restart"))
        done.add(way)
        if way == "revert":
            venue.revert(kept)
        elif way == "dump":
            venue.dump(directory / "dump")
            venue.advance(f"{chance.choice((1, 5_000))}ms")
            venue.load(directory / "dump")
        elif way == "restart":
            venue.close()
            venue = begun(journal)
    assert done >= {"revert", "dump", "restart"}, "every way of saving was tried"
    with venue:
        return venue.control.state_hash()


def test_twenty_minutes_in_one_step_equal_minutes_and_irregular_steps(tmp_path: Path) -> None:
    whole = hash_after(20, 20)
    assert hash_after(20, 1) == whole
    assert irregular_hash(20, tmp_path, seed=6) == whole


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_four_hours_in_one_step_equal_240_minutes_and_irregular_steps(tmp_path: Path, seed: int) -> None:
    whole = hash_after(240, 240)
    assert irregular_hash(240, tmp_path, seed) == whole
    if not seed:
        assert hash_after(240, 1) == whole
