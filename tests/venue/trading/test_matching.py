"""Fills in states that random steps lead to: what fill-or-kill counts on fills, and a known maker as the best one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.venue.floor import ADA, BOB, CYD, Floor
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


@pytest.fixture
def floor() -> Floor:
    return Floor()


def isolate(floor: Floor, *names: str) -> None:
    for who in names:
        floor.act(who, {"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"})


def leave(floor: Floor, who: str, cash: int) -> None:
    """Leave an account so many micro-USDC."""
    ledger.withdraw(floor.core, floor.account(who), floor.account(who).balance - cash)


@pytest.mark.parametrize(("side", "other"), [("SELL", "BUY"), ("BUY", "SELL")])
@pytest.mark.parametrize(("cash", "sold"), [(0, 0), (20_000_000, 3)])
@pytest.mark.parametrize("short", [False, True])
def test_in_hedge_mode_an_isolated_makers_opposite_leg_covers_none_of_what_it_opens(
    side: str, other: str, cash: int, sold: int, short: bool
) -> None:
    """BOB holds 0.005 on the other side, which his order leaves alone; ADA may count on it only with its margin."""
    floor = Floor(BOB)
    isolate(floor, BOB)
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    floor.order(BOB, f"{side} 0.003 at 60000.0")
    leave(floor, BOB, cash)
    floor.order(CYD, f"{side} 0.003 at 60000.0")
    order = floor.order(ADA, f"{other} 0.00{3 + sold + short} at 60000.0 FOK")
    assert order.filled == (0 if short else 3 + sold)
    assert not short or order.reason.startswith(f"FOK: 0.00{3 + sold} of 0.00{4 + sold} can be filled")
    opened = 0 if short else sold
    assert floor.legs(BOB) == ((5, opened) if side == "SELL" else (opened, 5))


@pytest.mark.parametrize(("side", "other", "step"), [("SELL", "BUY", 1), ("BUY", "SELL", -1)])
@pytest.mark.parametrize(("cash", "counted"), [(10_000_000, 3), (20_000_000, 6)])
@pytest.mark.parametrize("short", [False, True])
def test_each_order_of_an_isolated_maker_takes_its_initial_margin_from_what_a_fok_order_counts_on(
    floor: Floor, side: str, other: str, step: int, cash: int, counted: int, short: bool
) -> None:
    """Each 0.003 take 9 USDC; the last may have less, but not less than 2.25."""
    isolate(floor, BOB)
    prices = [f"{60_000 + step * at}.0" for at in (1, 2)]
    orders = [floor.order(BOB, f"{side} 0.003 at {price}") for price in prices]
    leave(floor, BOB, cash)
    order = floor.order(ADA, f"{other} 0.00{counted + 3 * short} at {prices[1]} FOK")
    filled = 0 if short else counted
    assert (order.filled, sum(each.filled for each in orders)) == (filled, filled)


@pytest.mark.parametrize(("side", "other", "step"), [("SELL", "BUY", 1), ("BUY", "SELL", -1)])
@pytest.mark.parametrize(("older", "filled"), [(2, 5), (3, 0)])
def test_fok_counts_the_reduce_only_orders_of_a_maker_as_cut_last_placed_first(
    floor: Floor, side: str, other: str, step: int, older: int, filled: int
) -> None:
    """Of the 0.003 and 0.002 that reduce BOB's 0.005, the fill of a plain 0.003 leaves the older one 0.002."""
    prices = [f"{60_000 + step * at}.0" for at in range(4)]
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    floor.order(BOB, f"{side} 0.003 at {prices[1]}")
    floor.order(BOB, f"{side} 0.003 at {prices[older]} REDUCE_ONLY")
    floor.order(BOB, f"{side} 0.002 at {prices[5 - older]} REDUCE_ONLY")
    order = floor.order(ADA, f"{other} 0.005 at {prices[2]} FOK")
    assert order.filled == filled
    assert filled or order.reason.startswith("FOK: 0.003 of 0.005 can be filled")
