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


@pytest.mark.parametrize(("quantity", "filled"), [("0.005", 5), ("0.006", 0)])
def test_fok_counts_of_a_makers_reduce_only_orders_what_its_own_fills_before_leave(
    floor: Floor, quantity: str, filled: int
) -> None:
    """BOB is long 0.005: a plain sell of 0.003 goes first, so that of the reduce-only one 0.002 is left."""
    for code, price in ((1, "60000.0"), (2, "3000.00")):
        floor.order(CYD, f"SELL 0.005 at {price}", symbolCode=code)
        floor.order(BOB, f"BUY 0.005 at {price}", symbolCode=code)
    floor.order(BOB, "SELL 0.005 at 3001.00 REDUCE_ONLY", symbolCode=2)
    floor.order(BOB, "SELL 0 SL when 50000")
    floor.order(BOB, "BUY 0.004 at 59000.0")
    floor.order(BOB, "SELL 0.003 at 60001.0")
    last = floor.order(BOB, "SELL 0.005 at 60002.0 REDUCE_ONLY")
    order = floor.order(ADA, f"BUY {quantity} at 60002.0 FOK")
    assert (order.filled, floor.legs(BOB)) == (filled, (5 - filled, 0))
    assert last.leaves == 5 - filled
    assert filled or order.reason == "FOK: 0.005 of 0.006 can be filled at 60002.0 or better"


def test_a_fok_order_leaves_isolated_reduce_only_orders_to_the_position(floor: Floor) -> None:
    """They need no margin, and are cut only by what the fills before leave."""
    for who in (BOB, CYD):
        floor.act(who, {"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"})
    floor.order(CYD, "SELL 0.005 at 60000.0")
    floor.order(BOB, "BUY 0.005 at 60000.0")
    floor.order(BOB, "SELL 0.003 at 60001.0")
    last = floor.order(BOB, "SELL 0.005 at 60002.0 REDUCE_ONLY")
    ledger.withdraw(floor.core, floor.account(BOB), floor.account(BOB).balance)
    floor.order(CYD, "SELL 0.001 at 60003.0")
    assert floor.order(ADA, "BUY 0.006 at 60003.0 FOK").filled == 6
    events = floor.core.state.history.order_events.records
    reasons = [event.reason for event in events if event.order_id == last.id and event.reason]
    assert reasons == ["reduce-only: the position is down to 0.002"]
    assert floor.legs(BOB) == (0, 0)


def isolate(floor: Floor, *names: str) -> None:
    for who in names:
        floor.act(who, {"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"})


def leave(floor: Floor, who: str, cash: int) -> None:
    """Leave an account so many micro-USDC."""
    ledger.withdraw(floor.core, floor.account(who), floor.account(who).balance - cash)


def test_a_fok_order_asks_an_isolated_maker_only_for_the_margin_of_what_it_still_wants(floor: Floor) -> None:
    """0.002 of BOB's need 1.5 USDC of maintenance margin, all 0.005 need 3.75."""
    isolate(floor, BOB)
    floor.order(CYD, "SELL 0.003 at 60001.0")
    order = floor.order(BOB, "SELL 0.005 at 60002.0")
    leave(floor, BOB, 2_500_000)
    assert floor.order(ADA, "BUY 0.005 at 60002.0 FOK").filled == 5
    assert (order.filled, order.leaves) == (2, 3)


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


@pytest.mark.parametrize(("wanted", "filled"), [("0.006", 6), ("0.007", 0)])
def test_fok_counts_an_isolated_makers_orders_by_the_margin_that_those_before_leave(
    floor: Floor, wanted: str, filled: int
) -> None:
    """The first 0.003 take 9 of BOB's 10 USDC; the next 0.003 need 2.25 more."""
    isolate(floor, BOB)
    first, second = (floor.order(BOB, f"SELL 0.003 at {price}") for price in ("60001.0", "60002.0"))
    leave(floor, BOB, 10_000_000)
    floor.order(CYD, "SELL 0.003 at 60003.0")
    order = floor.order(ADA, f"BUY {wanted} at 60003.0 FOK")
    assert (order.filled, first.filled, second.filled) == (filled, filled // 2, 0)
    assert filled or order.reason == "FOK: 0.006 of 0.007 can be filled at 60003.0 or better"


@pytest.mark.parametrize(("side", "other"), [("SELL", "BUY"), ("BUY", "SELL")])
@pytest.mark.parametrize(("cash", "more"), [(10_000_000, True), (0, False)])
def test_fok_counts_the_margin_that_an_isolated_maker_gets_back_on_the_way(
    side: str, other: str, cash: int, more: bool
) -> None:
    """BOB's first order takes 9 USDC for the leg it opens, the second closes the other leg and gives 15 back."""
    floor = Floor(BOB)
    isolate(floor, BOB)
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    prices = ["60001.0", "60002.0", "60003.0"] if side == "SELL" else ["59999.0", "59998.0", "59997.0"]
    first = floor.order(BOB, f"{side} 0.003 at {prices[0]}")
    floor.order(BOB, f"{side}_CLOSE_HEDGE 0.005 at {prices[1]}")
    third = floor.order(BOB, f"{side} 0.003 at {prices[2]}")
    leave(floor, BOB, cash)
    wanted = 11 if more else 8
    order = floor.order(ADA, f"{other} 0.0{wanted:02} at {prices[2]} FOK")
    assert order.filled == wanted
    assert (first.filled, third.filled) == ((3, 3) if more else (0, 3))
    assert sorted(floor.legs(BOB)) == ([0, 6] if more else [0, 3])


@pytest.mark.parametrize(
    ("side", "other", "prices", "profit"),
    [
        ("SELL", "BUY", ("63000.0", "63000.1"), True),
        ("SELL", "BUY", ("58000.0", "58000.1"), False),
        ("BUY", "SELL", ("57000.0", "56999.9"), True),
        ("BUY", "SELL", ("62000.0", "61999.9"), False),
    ],
)
def test_fok_counts_what_closing_at_its_price_brings_an_isolated_maker(
    floor: Floor, side: str, other: str, prices: tuple[str, str], profit: bool
) -> None:
    """BOB has only the 15 USDC of margin of his 0.005; closing adds 15 USDC, or takes 10 of them."""
    isolate(floor, BOB)
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    orders = [floor.order(BOB, f"{side} 0.005 at {price}") for price in prices]
    leave(floor, BOB, 0)
    order = floor.order(ADA, f"{other} 0.010 at {prices[1]} FOK")
    assert [order.filled, *(each.filled for each in orders)] == ([10, 5, 5] if profit else [0, 0, 0])
    assert profit or order.reason.startswith("FOK: 0.005 of 0.010 can be filled")


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


@pytest.mark.parametrize(("side", "other", "step"), [("SELL", "BUY", 1), ("BUY", "SELL", -1)])
def test_what_an_isolated_maker_opens_on_the_way_keeps_its_margin_when_it_closes_the_other_leg(
    side: str, other: str, step: int
) -> None:
    """Of 10 USDC the first takes 9, the second gives 15 back; the third needs 18.75: with the 9 it would have them."""
    floor = Floor(BOB)
    isolate(floor, BOB)
    prices = [f"{60_000 + step * at}.0" for at in range(4)]
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    for words in (f"{side} 0.003 at {prices[1]}", f"{side}_CLOSE_HEDGE 0.005 at {prices[2]}"):
        floor.order(BOB, words)
    floor.order(BOB, f"{side} 0.025 at {prices[3]}")
    leave(floor, BOB, 10_000_000)
    order = floor.order(ADA, f"{other} 0.033 at {prices[3]} FOK")
    assert (order.filled, sorted(floor.legs(BOB))) == (0, [0, 5])
    assert order.reason.startswith("FOK: 0.008 of 0.033 can be filled")
