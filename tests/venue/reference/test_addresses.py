"""Clarification 3: nobody's result depends on an address."""

from __future__ import annotations

from typing import Any

from tests.venue.reference.driver import BUILDER, Pair, venue_name
from tests.venue.reference.steps import Steps, is_coarse
from tests.venue.reference.venue import ReferenceVenue

SEEDS = (2, 11, 21, 45)
"""In these several accounts are liquidated at one instant."""


def backwards(name: str) -> tuple[int, ...]:
    return tuple(-ord(letter) for letter in venue_name(name))


def results(venue: ReferenceVenue) -> list[Any]:
    """Return what accounts have and hold, and what was booked in the last step, in any order."""
    return [
        {name: account.balance for name, account in venue.accounts.items()},
        {name: account.holdings for name, account in venue.accounts.items()},
        venue.orders,
        sorted(venue.rows),
        sorted(venue.events),
    ]


def test_results_are_the_same_with_the_order_of_addresses_reversed() -> None:
    """On the reference, because the venue agrees with it to the last digit."""
    together, kinds = 0, set[str]()
    for seed in SEEDS:
        forth, back = (Pair(is_coarse(seed)) for _ in range(2))
        made = Steps(seed, forth.reference, forth.names, forth.masters[BUILDER].address)
        back.reference.config = {**back.reference.config, "order_of": backwards}
        for _ in range(300):
            step = made.next()
            for pair in (forth, back):
                pair.reference.begin_step()
            assert forth.refer(*step) == back.refer(*step)
            assert results(forth.reference) == results(back.reference), (seed, step)
            paid = [row for row in forth.reference.rows if row[0] in ("LIQUIDATION_FEE", "BANKRUPTCY")]
            together += len({name for row in paid for name in (row[1], row[3])} & set(forth.names)) > 1
            kinds |= {event[3] for event in forth.reference.events}
    assert together, "several were liquidated at one instant"
    assert "ADL" in kinds
