"""Clarification 3: nobody's result depends on an address."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from .driver import OWN, first, name_of, opening, reference_of, take
from .steps import MoneySteps
from .wire import Reference

SEEDS = (25, 85, 105)
"""In these several accounts are liquidated at one instant."""
CLOSING = ("LIQUIDATION", "ADL")
BACKWARDS = str.maketrans("0123456789abcdef", "fedcba9876543210")


def mirrored(text: str) -> str:
    """Return a text with addresses whose order is reversed; twice is the text."""
    return re.sub("0x[0-9a-f]{40}", lambda found: "0x" + found[0][2:].lower().translate(BACKWARDS), text, flags=re.I)


def booked(mine: Reference, rows: int, events: int) -> list[str]:
    """Return what was booked and what became of orders."""
    found = [
        (each.order.account.address, each.order.id, each.order.status, each.order.kind, each.order.leaves, each.price,
         each.steps, each.number, each.pnl, each.fees)
        for each in mine.events[events:]
    ]  # fmt: skip
    return [repr(each) for each in (*mine.rows[rows:], *found)]


def state(mine: Reference) -> list[Any]:
    """Return what accounts have, hold and order."""
    found: list[Any] = []
    for account in mine.accounts.values():
        held = [account.position(product) for product in mine.products.values()]
        found.append((account.balance, account.equity, mine.available(account)))
        found += [(each.leverage, each.isolated, each.assigned, each.long, each.short) for each in held]
        found += [(o.id, o.status, o.leaves, o.place, o.cover, o.waits) for o in account.orders.values()]
    return found


@pytest.mark.slow
def test_results_are_the_same_with_the_order_of_addresses_reversed() -> None:
    """On the reference, because the venue agrees with it to the last digit."""
    together, kinds = 0, set[str]()
    for seed in SEEDS:
        begin, own = first(MoneySteps.is_coarse(seed)), {name: mirrored(address) for name, address in OWN.items()}
        forth = reference_of(begin, 0)
        back = reference_of(begin, 0, lambda number: mirrored(name_of(number)), own)
        made, steps = MoneySteps(seed, forth), [*opening(), *range(200)]
        for step in steps:
            step = step if isinstance(step, tuple) else made.next()
            rows, events = len(forth.rows), len(forth.events)
            other = tuple(json.loads(mirrored(json.dumps(step))))
            assert take(forth, step) == take(back, other, named=lambda number: mirrored(name_of(number)))
            closed = {each.order.account.address for each in forth.events[events:] if each.order.kind in CLOSING}
            together += len(closed - OWN.keys()) > 1
            kinds |= {each.order.kind for each in forth.events[events:]}
            booked_back = sorted(map(mirrored, booked(back, rows, events)))
            assert sorted(booked(forth, rows, events)) == booked_back, (seed, step)
        assert state(forth) == state(back), seed
    assert together, "several were liquidated at one instant"
    assert "ADL" in kinds
