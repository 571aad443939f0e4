"""Fills in states that random steps lead to: what fill-or-kill counts on fills, and a known maker as the best one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.venue.reference import driver
from tests.venue.reference.steps import LEAN, MoneySteps
from toolkit.venue.engine.core import Core
from toolkit.venue.model import constants
from toolkit.venue.model.accounts import VenueOrder
from toolkit.venue.model.constants import FOK, IOC
from toolkit.venue.risk import ledger
from toolkit.venue.trading import lifecycle, matching
from toolkit.venue.trading.placing import submit

TAKER = "0x" + "5a" * 20


def states(seed: int, count: int) -> Iterator[Core]:
    """Yield the core after every tenth of the steps of a seed. Above `LEAN` makers lose the margin of their orders."""
    world = driver.World(MoneySteps.is_coarse(seed))
    made = MoneySteps(seed, world.mine)
    for number in range(count):
        assert not world.step(made.next())
        if number % 10 == 0:
            yield world.venue.host.core


def taken(dump: bytes, code: int, side: int, steps: int, price: int, tif: int) -> VenueOrder:
    """Return an order of somebody with plenty of money, in a copy of the state."""
    core = Core.load(dump)
    taker = core.account(TAKER)
    ledger.deposit(core, taker, 10**13)
    return submit(core, taker, core.products[code], side, steps, price, tif=tif)


@pytest.mark.parametrize(("seed", "count"), [(LEAN + 5, 120), (LEAN + 1, 100), (LEAN + 36, 100), (0, 80)])
def test_fill_or_kill_fills_what_an_immediate_order_would_fill_or_nothing(seed: int, count: int) -> None:
    """Makers reduce, hold isolated margin that others of their orders use up, or have none: all of it is counted."""
    outcomes = set[bool]()
    for core in states(seed, count):
        dump = core.dump()
        for code, book in core.books.items():
            for side in (1, -1):
                levels = book.depth(-side, 4)
                if not levels:
                    continue
                price, most = levels[-1][0], core.products[code].max_steps
                steps = min(sum(total for _, total in levels), most)
                filled = taken(dump, code, side, steps, price, IOC).filled
                for wanted in {steps, filled, min(filled + 1, most)} - {0}:
                    whole = taken(dump, code, side, wanted, price, IOC).filled == wanted
                    order = taken(dump, code, side, wanted, price, FOK)
                    assert order.filled == (wanted if whole else 0), (seed, code, side, wanted)
                    assert whole or order.reason.startswith("FOK: "), order.reason
                    outcomes.add(whole)
    assert outcomes == {True, False}


def met(dump: bytes, order_id: int, quantity_steps: int, known: bool) -> Core:
    """Return a core in which an order was met by a participant: chosen by its id, or as the first one of the book."""
    core = Core.load(dump)
    taker = core.account(TAKER)
    taker.kind = "market"
    maker = next(account.orders[order_id] for account in core.state.accounts.values() if order_id in account.orders)
    position = lifecycle.position_of(core, taker, core.products[maker.product])
    order = VenueOrder(
        0, TAKER, maker.product, -maker.side, False, constants.LIMIT, IOC, 0, maker.price, quantity_steps,
        quantity_steps,
    )  # fmt: skip
    lifecycle.accept(core, taker, position, order)
    if known:
        matching.fill_maker(core, taker, position, order, maker)
    else:
        matching.match(core, taker, position, order, maker.price)
    lifecycle.cancel(core, taker, order)
    core.run_hooks()
    core.check(history=False)
    return core


@pytest.mark.parametrize(("seed", "count"), [(LEAN + 5, 200), (0, 80)])
def test_a_fill_by_a_known_counterparty_books_what_matching_books(seed: int, count: int) -> None:
    compared = 0
    for core in states(seed, count):
        ladders = [book.side(side) for book in core.books.values() for side in (1, -1)]
        for orders in (ladder.levels[ladder.best].orders for ladder in ladders if ladder.best):
            (order_id, order), *others = orders.items()
            for quantity_steps in {1, order.leaves // 2 or 1, order.leaves} if not others else ():
                chosen, matched = (met(core.dump(), order_id, quantity_steps, known) for known in (True, False))
                assert chosen.state_hash() == matched.state_hash(), order
                compared += 1
    assert compared > 15
