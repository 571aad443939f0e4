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
    ProgramsSteps: ("programs", "wire"),
}
"""What makes steps → the modules of the reference whose branches its runs take."""
QUICK = (
    *((MoneySteps, seed) for seed in (23, 47, 71, LEAN + 6, LEAN + 22)),
    *((ProgramsSteps, seed) for seed in (0, 1)),
)
SLOW = {
    MoneySteps: (1, 2, 3, 7, 24, 47, *(LEAN + seed for seed in (0, 5, 6, 10, 22, 36))),
    ProgramsSteps: (0, 1, 2, 3, 4, 5),
}
RARE: set[str] = set()
"""Too rare for random steps. The venue's own tests have them."""


@pytest.mark.parametrize(("maker", "seed"), QUICK)
def test_random_signed_actions_leave_both_in_the_same_state(maker: runs.Maker, seed: int) -> None:
    world, steps, difference = runs.storm(maker, seed, 160)
    assert not difference, f"step {len(steps)}; runs.check of these steps finds a few that show it"
    assert {"placeOrder", "placeBracketOrder", "replaceOrder", "cancelOrder", "oracle", "advance"} <= set(world.sent)


@pytest.mark.slow
@pytest.mark.parametrize("maker", SLOW)
def test_long_runs_leave_both_in_the_same_state_and_take_every_rule(
    maker: runs.Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They take every branch of the reference, and each of its refusals."""
    files = [Path(driver.__file__).with_name(f"{name}.py") for name in RULES[maker]]
    refused, sent, missing = Counter[str](), Counter[str](), set[str]()
    monkeypatch.setattr(Refused, "__init__", lambda self, rule: refused.update([rule]))
    coverage = Coverage(data_file=None, config_file=False, branch=True, include=list(map(str, files)))
    with coverage.collect():
        for seed in SLOW[maker]:
            sent += runs.check(maker, seed, 450).sent
    coverage.json_report(outfile=str(tmp_path / "report.json"))
    report: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())["files"]
    for file in files:
        text = file.read_text()
        (found,) = (each for name, each in report.items() if Path(name).name == file.name)
        missing |= {text.splitlines()[line - 1].strip() for line, _ in found["missing_branches"]}
        missing |= set(re.findall(r'need\(.*"(.*)"\)$', text, re.MULTILINE)) - refused.keys()
    with capsys.disabled():
        print("\n" + ", ".join(f"{count:,} {kind}" for kind, count in (sent + refused).most_common()))
    assert sorted(missing - RARE) == []


@pytest.mark.long
@pytest.mark.parametrize("maker", RULES)
@pytest.mark.parametrize("seed", [*range(80), *range(LEAN, LEAN + 20)])
def test_both_show_the_same_over_hundreds_of_thousands_of_random_steps(maker: runs.Maker, seed: int) -> None:
    """200 runs of 2,000 steps, at 5 ms each: half an hour of one quiet core."""
    runs.check(maker, seed, 2_000)


def test_a_difference_is_reported_with_its_seed_and_a_short_list_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rebate = Money.rebate
    monkeypatch.setattr(Money, "rebate", lambda self, account, fee, order: rebate(self, account, fee + 60, order))
    with pytest.raises(AssertionError, match=r"^seed 2, \d+ steps, shrunk to 2:\n.*\n.*\nledger.*REFERRAL_REBATE"):
        runs.check(MoneySteps, 2, 100)


def test_an_invariant_that_is_broken_is_named() -> None:
    assert driver.broken({"0xa": 5, "0xb": 5}, {"0xa": -1, "0xb": 12}) == "10: 0xa has -1; 11: all together have 1 more"
    assert not driver.broken({"0xa": -5, "0xb": 5}, {"0xa": -6, "0xb": 6})
