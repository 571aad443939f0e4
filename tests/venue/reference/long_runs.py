"""Long runs of the venue and the reference, in pieces that two workers share; together they meet every rule."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.venue.reference import BRANCHES, driver

SEEDS, STEPS, PIECES = range(1_000, 1_200), 1_000, 50
BY_HAND = (
    "refused: C4: isolated maintenance margin",
    "  for maker, steps in trimmed:",
    "  if account.balance < 0 and not account.open_legs:",
    "  def settle_debt(self, account: Account) -> None:",
    "  for pledged in account.holdings.values():",
    "  if pledged.isolated and account.balance < 0:",
)
"""Too rare for random steps: margin lost within one request, or under a fill-or-kill; a debt, which no fill makes.

`test_rules` has them.
"""


def run(piece: int, shared: Path) -> str:
    """Run the seeds of a piece; the piece that ends last checks and returns what all have met."""
    before, sent = Counter(BRANCHES), Counter[str]()
    for seed in SEEDS[piece::PIECES]:
        sent += driver.check(seed, STEPS).sent
    part = shared / f"{piece}.part"
    part.write_text(json.dumps([Counter(BRANCHES) - before, sent]))
    part.replace(part.with_suffix(".json"))  # at once: another worker may read it
    done = list(shared.glob("*.json"))
    if len(done) < PIECES:
        return ""
    met, sent = (
        sum(map(Counter, each), Counter[str]())
        for each in zip(*(json.loads(path.read_text()) for path in done), strict=True)
    )
    assert not [each for each in BRANCHES if not met[each] and not each.endswith(BY_HAND)]
    figures = ", ".join(f"{count:,} {kind}" for kind, count in sent.most_common())
    return "\n".join([figures, *(f"{met[branch]:11,}  {branch}" for branch in sorted(BRANCHES))])
