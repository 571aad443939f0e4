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
    *((MoneySteps, seed, 260) for seed in (23, 47, 71, LEAN + 36)),
    *((ProgramsSteps, seed, 150) for seed in (0, 1)),
)
SLOW = {
    MoneySteps: (1, 2, 3, 7, 9, 24, 47, *(LEAN + seed for seed in (0, 5, 6, 10, 22, 36))),
    ProgramsSteps: (0, 1, 2, 3, 4, 5),
}
RARE = {
    # debts, which only marks make, and two rules that meet in one step
    "elif steps < order.leaves:", "for account in sorted(owing, key=lambda a: a.balance):",
    "for maker, steps in cut:", "for position in account.held:", "if account.balance < 0:",
    "if cost(closes) > max(0, equity):", "if main is not None and main.open:",
    "if not order.triggered or order.tried != self.try_key(order):", "if not self.positions_of(group):",
    "if not size:", "if not steps:", 'if order.resting or order.status == "ORDER_STATUS_UNTRIGGERED":',
    "if parent is not None and (parent.product is not order.product or parent.reducing):",
    "if position.isolated and account.balance < 0:", "if side * price > (down(edge) if side > 0 else -up(edge)):",
    "isolated maintenance margin", "one product in a bracket", "only reducing while liquidated", "trigger type stays",
    # shares and vaults at their limits, and agents that are somebody's already
    "a book that is not far above mark", "a book that is not far below mark", "a builder's agent acts for its trader",
    "a trader's own agent can't be its builder's agent", "a vault", "a vault without value",
    "an agent can be authorised for one trader at a time", "an agent of its own",
    "an inviter must not be in the network of the account it invites", "an open vault", "another account",
    "at most 10 open sub-vaults", "at most 5 vaults", 'case "placeBuilderBracketOrder":', 'case "vaultClose":',
    "for child in self.children_of(vault):", "free cash of the vault", "if source is target:", "if told:",
    "if total:", "no share", "no value", "positions or open orders of a sub-vault", "set aside", "shares of a vault",
    "what others would get",
}  # fmt: skip
"""Branches and refusals of the reference that the slow runs do not take: too rare for random steps."""


@pytest.mark.parametrize(("maker", "seed", "count"), QUICK)
def test_random_signed_actions_leave_both_in_the_same_state(maker: runs.Maker, seed: int, count: int) -> None:
    world, steps, difference = runs.storm(maker, seed, count)
    assert not difference, f"step {len(steps)}; runs.check of these steps finds a few that show it"
    assert len(world.sent) > 12, "so many kinds of steps were taken"


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
