"""A random search that climbs: it keeps the plans that paid, changes and mixes them, and cuts down what it found.

`python -m tests.venue.coalition.search --goal money --world empty --seed 1 --plans 20000` runs one by hand.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass, field

from tests.venue.coalition import goals
from tests.venue.coalition.goals import Goal
from tests.venue.coalition.moves import Moves, Plan, Step

KEPT, ALIKE = 24, 6
"""Plans that are kept, and how many of them may score the same."""
LONGEST = 24
PATIENCE = 400
"""After so many plans without a better one the search begins anew with other plans."""


@dataclass
class Found:
    """The best plan of a search."""

    goal: str
    seed: int
    count: int = 2
    plan: Plan = ()
    paid: float = 0.0
    tried: int = 0
    history: list[tuple[int, float, float]] = field(default_factory=list)
    """(plans tried, seconds of the processor, best result) whenever it rose."""


class Search:
    """One search, decided by its seed and the number of plans that it tries."""

    def __init__(self, goal: Goal, seed: int, count: int = 0) -> None:
        self.goal, self.chance = goal, random.Random(f"{goal.name}:{seed}")
        self.count = count or self.chance.choice(goal.counts)
        self.moves = Moves(self.count, goal.kinds)
        self.kept: list[tuple[float, Plan]] = []
        self.found = Found(goal.name, seed, self.count)
        self._stale, self._top = 0, float("-inf")

    def run(self, plans: int, *, enough: float = float("inf")) -> Found:
        """Try so many plans, or until one pays `enough`; return the best."""
        began = time.process_time()
        for number in range(plans):
            plan = self._next()
            score, paid = self.goal.judge(self.count, plan)
            self.found.tried = number + 1
            if paid > self.found.paid:
                self.found.plan, self.found.paid = plan, paid
                self.found.history.append((number + 1, time.process_time() - began, paid))
                if paid >= enough:
                    break
            self._keep(score, plan)
            self._stale = 0 if score > self._top else self._stale + 1
            self._top = max(score, self._top)
            if self._stale > PATIENCE:
                self.kept, self._stale, self._top = [], 0, float("-inf")
        return self.found

    def _keep(self, score: float, plan: Plan) -> None:
        """Keep a plan among the best; of equal ones the latest, and only a few, so that others stay as well."""
        if any(plan == other for _, other in self.kept):
            return
        equal = [at for at, (other, _) in enumerate(self.kept) if other == score]
        if len(equal) >= ALIKE:
            del self.kept[equal[-1]]
        self.kept.insert(0, (score, plan))
        self.kept.sort(key=lambda each: -each[0])
        del self.kept[KEPT:]

    def _next(self) -> Plan:
        chance = self.chance
        if len(self.kept) < 4 or chance.random() < 0.1:
            return tuple(self.moves.draw(chance) for _ in range(chance.randint(3, 12)))
        _, plan = self.kept[min(chance.randrange(len(self.kept)), chance.randrange(len(self.kept)))]
        steps = list(plan)
        if chance.random() < 0.2:
            _, mate = chance.choice(self.kept)
            steps = [*steps[: chance.randrange(len(steps) + 1)], *mate[chance.randrange(len(mate) + 1) :]]
        for _ in range(chance.choice((1, 1, 2, 3, 5))):
            self._mutate(steps)
        return tuple(steps[:LONGEST]) or plan

    def _mutate(self, steps: list[Step]) -> None:
        chance, pick = self.chance, self.chance.random()
        at = chance.randrange(len(steps)) if steps else 0
        if not steps or pick < 0.35:
            steps.insert(chance.choice((at, len(steps))), self.moves.draw(chance))
        elif pick < 0.55:
            del steps[at]
        elif pick < 0.85:
            steps[at] = self.moves.change(steps[at], chance)
        elif pick < 0.93:
            steps.insert(chance.randrange(len(steps)), steps.pop(at))
        else:
            steps.insert(chance.randrange(len(steps) + 1), steps[at])


def shrink(goal: Goal, found: Found, least: float = 0.5) -> Plan:
    """Remove steps as long as what is left pays a part `least` of what was found."""
    plan, wanted, size = found.plan, found.paid * least, max(1, len(found.plan) // 2)
    while size:
        at, cut = 0, False
        while at < len(plan):
            shorter = plan[:at] + plan[at + size :]
            if shorter and goal.judge(found.count, shorter)[1] >= wanted:
                plan, cut = shorter, True
            else:
                at += size
        size = size if cut and size == 1 else size // 2
    return plan


def main() -> None:
    """Run a search and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--goal", default="money", choices=sorted(goals.GOALS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=0, help="accounts; 0 = drawn from the seed")
    parser.add_argument("--plans", type=int, default=5_000)
    parser.add_argument("--enough", type=float, default=float("inf"))
    given = parser.parse_args()
    goal, began = goals.GOALS[given.goal], time.process_time()
    found = Search(goal, given.seed, given.count).run(given.plans, enough=given.enough)
    spent = time.process_time() - began
    print(
        f"{goal.name} seed {found.seed}, {found.count} accounts: {found.paid:,.2f}, {found.tried} plans, {spent:.1f} s"
    )
    print("first:", found.history[:3])
    if found.paid:
        for step in shrink(goal, found):
            print("   ", step)


if __name__ == "__main__":
    main()
