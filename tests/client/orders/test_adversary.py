"""Whatever network, clocks and kills do: the ledger is true or says that it is open, and nothing is doubled."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.client.orders import adversary
from toolkit.client.orders.intents import MemoryLedger
from toolkit.client.orders.ledger_file import SqliteLedger


def storm(seeds: range, seconds: float, folder: Path) -> tuple[Counter[str], int, int]:
    """Run seeds, for about `seconds` at most; every fifth has its ledger in a file. Return faults, steps and seeds."""
    faults: Counter[str] = Counter()
    steps = done = 0
    began = time.monotonic()
    with adversary.venues() as made:
        for seed in seeds:
            kept = MemoryLedger()
            path = folder / f"{seed}.sqlite"
            world = adversary.run(
                seed, made, (lambda path=path: SqliteLedger(path)) if seed % 5 == 0 else lambda kept=kept: kept
            )  # type: ignore[misc]
            faults += world.faults
            steps, done = steps + world.steps, done + 1
            if done >= 10 and time.monotonic() - began > seconds:
                break
    return faults, steps, done


def test_a_second_of_storms(tmp_path: Path) -> None:
    faults, steps, done = storm(range(1_000), 1.0, tmp_path)
    assert done >= 10
    assert steps > 100
    assert faults["ended ACCEPTED"]


def thousands(seeds: range, seconds: float, folder: Path) -> None:
    began = time.monotonic()
    faults, steps, done = storm(seeds, seconds, folder)
    print(f"\n{done} seeds, {steps} steps, {time.monotonic() - began:.0f} s: {dict(faults.most_common())}")
    assert all(faults[name.replace("_", " ")] for name in ("not_sent", "late", "cut_off", "repeated", "hash_alone"))
    assert faults["killed"] > done // 10
    assert faults["interrupted"] > done // 10
    # Nearly all end for certain, also where the network did its worst.
    ended = {name: count for name, count in faults.items() if name.startswith("ended")}
    certain = ("ended ACCEPTED", "ended REJECTED", "ended FAILED")
    assert sum(ended[name] for name in certain) > 0.95 * sum(ended.values())


@pytest.mark.slow
def test_hundreds_of_storms(tmp_path: Path) -> None:
    thousands(range(500), 60.0, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_thousands_of_storms(tmp_path: Path) -> None:
    thousands(range(2_000, 10_000), 1500.0, tmp_path)


def test_a_seed_repeats_its_run() -> None:
    with adversary.venues() as made:
        first, second = (adversary.run(11, made, MemoryLedger) for _ in range(2))
    assert (first.faults, first.steps, first.elapsed_ms) == (second.faults, second.steps, second.elapsed_ms)
