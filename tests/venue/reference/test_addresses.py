"""Clarification 3: nobody's result depends on an address."""

from __future__ import annotations

from copy import copy, deepcopy
from functools import cache
from typing import Any

from tests.venue.reference import wire
from tests.venue.reference.driver import BUILDER, Pair, venue_name
from tests.venue.reference.steps import Steps, is_coarse
from tests.venue.reference.venue import ReferenceVenue

SEEDS = (25, 85, 105)
"""In these several accounts are liquidated at one instant."""


@cache
def backwards(name: str) -> tuple[int, ...]:
    return tuple(-ord(letter) for letter in venue_name(name))


def booked(venue: ReferenceVenue) -> list[Any]:
    """Return what was booked and what became of orders in the last step, in any order."""
    return [sorted(venue.rows), sorted(venue.events)]


def state(venue: ReferenceVenue) -> list[Any]:
    """Return what accounts have, hold and order."""
    held = [held for account in venue.accounts.values() for held in account.holdings.values()]
    return [
        [account.balance for account in venue.accounts.values()],
        [(each.leverage, each.isolated, each.assigned, each.legs) for each in held],
        [vars(order) | {"held": None} for order in venue.orders.values()],
    ]


def test_results_are_the_same_with_the_order_of_addresses_reversed() -> None:
    """On the reference, because the venue agrees with it to the last digit."""
    together, kinds = 0, set[str]()
    for seed in SEEDS:
        forth = Pair(is_coarse(seed))
        back = copy(forth)
        back.reference = deepcopy(forth.reference)
        made = Steps(seed, forth.reference, forth.names, forth.masters[BUILDER].address)
        back.reference.config = {**back.reference.config, "order_of": backwards}
        for _ in range(200):
            step = made.next()
            for pair in (forth, back):
                wire.begin_step(pair.reference)
            assert forth.refer(*step) == back.refer(*step)
            assert booked(forth.reference) == booked(back.reference), (seed, step)
            closed = {event[0] for event in forth.reference.events if event[3] in ("LIQUIDATION", "ADL")}
            together += len(closed & set(forth.names)) > 1
            kinds |= {event[3] for event in forth.reference.events}
        assert state(forth.reference) == state(back.reference), seed
    assert together, "several were liquidated at one instant"
    assert "ADL" in kinds
