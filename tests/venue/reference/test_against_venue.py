"""The venue behind its gateway and the reference agree on what the Info API, the feed and the ledger show."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

from . import driver, runs
from .books import Refused
from .money import Money
from .programs_steps import ProgramsSteps
from .steps import LEAN, MoneySteps

RULES = {
    MoneySteps: ("books", "money", "matching", "rules", "liquidation", "clock"),
    ProgramsSteps: ("programs",),
}
"""What makes steps → the modules of the reference whose branches they take."""
SEEDS = {MoneySteps: (1, LEAN + 4), ProgramsSteps: (0,)}
MANY = {MoneySteps: (2, 5, 7, LEAN, LEAN + 11), ProgramsSteps: (0, 1, 2)}
TOGETHER = {MoneySteps: {"placeOrder", "placeBracketOrder", "replaceOrder", "cancelOrder", "oracle", "advance"}}
NEVER: set[str] = set()


@pytest.mark.parametrize(("maker", "seed"), [(maker, seed) for maker, seeds in SEEDS.items() for seed in seeds])
def test_random_signed_actions_leave_both_in_the_same_state(maker: runs.Maker, seed: int) -> None:
    _, steps, difference = runs.storm(maker, seed, 150)
    assert not difference, (
        f"step {len(steps)}; runs.check({maker.__name__}, {seed}, 150) finds a few steps that show it"
    )


@pytest.mark.slow
@pytest.mark.parametrize("maker", MANY)
def test_long_runs_leave_both_in_the_same_state_and_take_every_rule(
    maker: runs.Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every branch of the reference, and each of its refusals."""
    files = [str(Path(driver.__file__).with_name(f"{name}.py")) for name in RULES[maker]]
    refused, sent = Counter[str](), Counter[str]()
    monkeypatch.setattr(Refused, "__init__", lambda self, rule: refused.update([rule]))
    coverage = Coverage(data_file=None, config_file=False, branch=True, include=files)
    with coverage.collect():
        for seed in MANY[maker]:
            sent += runs.check(maker, seed, 450).sent
    coverage.json_report(outfile=str(tmp_path / "report.json"))
    report: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    missing = [
        f"{name}: {Path(name).read_text().splitlines()[line - 1].strip()}"
        for name, found in report["files"].items() for line, _ in found["missing_branches"]
    ]  # fmt: skip
    rules = {rule for name in files for rule in re.findall(r'need\(.*"(.*)"\)$', Path(name).read_text(), re.MULTILINE)}
    assert {*missing, *(rules - refused.keys())} <= NEVER


@pytest.mark.long
@pytest.mark.parametrize("maker", RULES)
@pytest.mark.parametrize("seed", [*range(80), *range(LEAN, LEAN + 20)])
def test_both_show_the_same_over_hundreds_of_thousands_of_steps(maker: runs.Maker, seed: int) -> None:
    """200 seeds of 2,000 steps, at 4 to 5 ms each: half an hour of one quiet core."""
    runs.check(maker, seed, 2_000)


def test_a_difference_is_reported_with_its_seed_and_a_short_list_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rebate = Money.rebate
    monkeypatch.setattr(Money, "rebate", lambda self, account, fee, order: rebate(self, account, fee + 60, order))
    with pytest.raises(AssertionError, match=r"^seed 2, \d+ steps, shrunk to 2:\n.*\n.*\nledger.*REFERRAL_REBATE"):
        runs.check(MoneySteps, 2, 100)


def test_an_invariant_that_is_broken_is_named() -> None:
    assert driver.broken({"0xa": 5, "0xb": 5}, {"0xa": -1, "0xb": 12}) == "10: 0xa has -1; 11: all together have 1 more"
    assert not driver.broken({"0xa": -5, "0xb": 5}, {"0xa": -6, "0xb": 6})
