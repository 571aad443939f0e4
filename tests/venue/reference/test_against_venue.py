"""The venue behind its gateway and the reference agree on every order, leg, balance, event and ledger row."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.venue.reference import driver
from tests.venue.reference.driver import Pair
from tests.venue.reference.margin import Money

SEEDS, STEPS = range(1_000, 1_200), 1_000
met: Counter[str] = Counter()
"""How often the slow runs have met each rule, and how many seeds they were."""


BY_HAND = {"refused: C4: isolated maintenance margin", "rebate above 10 %"}
"""Too rare for random steps: margin lost within one request, a network that trades a million. `test_rules` has them."""


def rules() -> set[str]:
    """Return every rule that the reference counts: what `hit` and `require` name."""
    found = set()
    for name in ("margin", "trading", "venue"):
        tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_text("utf-8"))
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("self.hit", "self.require", "require"):
                prefix = "" if ast.unparse(call.func) == "self.hit" else "refused: "
                texts = [each for each in ast.walk(call.args[-1]) if isinstance(each, ast.Constant)]
                found |= {prefix + str(each.value) for each in texts if isinstance(each.value, str)}
    return found - BY_HAND - {"refused: "}


@pytest.mark.parametrize("seed", range(6))
def test_random_signed_actions_leave_both_in_the_same_state(seed: int) -> None:
    pair = driver.check(seed, 300)
    assert {"placeOrder", "placeBracketOrder", "replaceOrder", "cancelOrder", "oracle", "advance"} <= set(pair.sent)
    assert len(pair.reference.paths) > 30, "so many rules were met"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_long_runs_of_random_signed_actions_leave_both_in_the_same_state(seed: int) -> None:
    met.update(driver.check(seed, STEPS).reference.paths)
    met["seeds"] += 1


@pytest.mark.long
def test_no_rule_goes_unexercised_in_the_long_runs(capsys: pytest.CaptureFixture[str]) -> None:
    if met["seeds"] < len(SEEDS):
        pytest.skip(f"only {met['seeds']} of {len(SEEDS)} seeds were run")
    with capsys.disabled():
        print(f"\n{len(SEEDS)} seeds of {STEPS:,} steps met")
        print("\n".join(f"{met[rule]:9,}  {rule}" for rule in sorted(rules())))
    assert not [rule for rule in sorted(rules()) if not met[rule]]


def test_a_difference_is_reported_with_its_seed_and_a_short_list_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rebate = Money.rebate
    monkeypatch.setattr(Money, "rebate", lambda self, payer, fee: rebate(self, payer, fee + 60))
    with pytest.raises(AssertionError, match=r"^seed 2, \d+ steps, shrunk to 2:\n.*\n.*\nledger \(.*REFERRAL_REBATE"):
        driver.check(2, 100)


def test_a_pair_agrees_before_the_first_step() -> None:
    assert Pair().difference() == ""
