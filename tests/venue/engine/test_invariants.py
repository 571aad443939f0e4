"""The invariants: silent about a sound state, and each of them loud about a broken one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from tests.venue.floor import ADA, BOB, Floor
from toolkit.errors import VenueError
from toolkit.venue.engine import registry
from toolkit.venue.engine.commands import Advance
from toolkit.venue.model.accounts import Leg, VenueOrder
from toolkit.venue.model.constants import (
    FILLED,
    FOK,
    ISOLATED,
    LIQUIDATING,
    NEW,
    TAKER,
)
from toolkit.venue.risk import ledger


@pytest.fixture
def floor() -> Floor:
    """ADA is long 0.005 and BOB short; both have a resting order and ADA a waiting stop."""
    floor = Floor()
    floor.order(BOB, "SELL 0.005 at 60000.0")
    floor.order(ADA, "BUY 0.005 at 60000.0")
    floor.order(ADA, "BUY 0.001 at 59000.0")
    floor.order(BOB, "SELL 0.001 at 61000.0")
    floor.order(ADA, "SELL 0 SL when 58000")
    floor.order(ADA, "SELL 0.005 at 62000.0 REDUCE_ONLY id 9")  # the whole position, which is allowed
    floor.order(BOB, "SELL 0.002 at 61000.0")
    return floor


def resting(floor: Floor, address: str) -> VenueOrder:
    return next(order for order in floor.account(address).orders.values() if order.priority)


def cross(floor: Floor) -> None:
    floor.core.books[1].bids.best = 610_000


def lose_cash(floor: Floor) -> None:
    floor.account(ADA).balance -= 1


def find_isolated_margin(floor: Floor) -> None:
    floor.position(ADA).mode = ISOLATED
    floor.position(ADA).assigned += 7


def lose_a_leg(floor: Floor) -> None:
    floor.position(ADA).long.size -= 1


def change_a_level(floor: Floor) -> None:
    floor.core.books[1].bids.levels[590_000].total += 1


def lose_an_order(floor: Floor) -> None:
    del floor.account(ADA).orders[resting(floor, ADA).id]


def end_a_live_order(floor: Floor) -> None:
    resting(floor, ADA).status = FILLED


def keep_a_wrong_sum(floor: Floor) -> None:
    floor.position(ADA).buy_quantity += 1


def open_both_legs(floor: Floor) -> None:
    floor.position(ADA).short.size = 1


def mark_as_liquidating(floor: Floor) -> None:
    floor.account(ADA).status = LIQUIDATING


def ruin_on_cross(floor: Floor) -> None:
    ledger.withdraw(floor.core, floor.account(ADA), floor.account(ADA).balance - 1_000_000)


def owe_on_cross(floor: Floor) -> None:
    floor.position(ADA).mode = ISOLATED
    ledger.withdraw(floor.core, floor.account(ADA), floor.account(ADA).balance + 1)


def end_twice(floor: Floor) -> None:
    orders = floor.core.state.history.orders.records
    orders.append(orders[0])


def fill_beyond_the_limit(floor: Floor) -> None:
    events = floor.core.state.history.order_events.records
    at = next(at for at, event in enumerate(events) if event.exec_id and event.role == TAKER)
    events[at] = msgspec.structs.replace(events[at], fill_price=events[at].price + events[at].side)


def trade_with_itself(floor: Floor) -> None:
    events = floor.core.state.history.order_events.records
    at = next(at for at, event in enumerate(events) if event.exec_id)
    events[at] = msgspec.structs.replace(events[at], address=ADA if events[at].address == BOB else BOB)


def fill_fok_in_part(floor: Floor) -> None:
    order = floor.core.state.history.orders.records[0]
    order.tif, order.quantity, order.status = FOK, order.quantity + 1, 4


def lose_a_transfer(floor: Floor) -> None:
    records = floor.core.state.history.ledger.records
    records[0] = msgspec.structs.replace(records[0], received=records[0].received - 1)


def hold_less_than_nothing(floor: Floor) -> None:
    floor.position(ADA).long = Leg(-1, 0)


def offer_the_second_best(floor: Floor) -> None:
    floor.core.books[1].asks.best = 620_000


def empty_an_order(floor: Floor) -> None:
    level = floor.core.books[1].asks.levels[610_000]
    order = next(iter(level.orders.values()))
    level.total -= order.leaves
    order.leaves = 0


def jump_the_queue(floor: Floor) -> None:
    one, two = floor.core.books[1].asks.levels[610_000].orders.values()
    one.priority, two.priority = two.priority, one.priority


def neither_rest_nor_wait(floor: Floor) -> None:
    next(order for order in floor.account(ADA).orders.values() if order.waiting).status = NEW


def forget_a_client_id(floor: Floor) -> None:
    floor.account(ADA).client_ids.clear()


def wait_without_a_position(floor: Floor) -> None:
    for order in floor.account(ADA).orders.values():
        order.side = -order.side if order.waiting else order.side


def close_a_bracket_twice(floor: Floor) -> None:
    records = floor.core.state.history.orders.records
    for at, order in enumerate(records[:2]):
        records[at] = msgspec.structs.replace(order, id=700 + at, group=699)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (hold_less_than_nothing, "a leg of -1 steps has entry value 0"),
        (offer_the_second_best, "its best price is not the first"),
        (empty_an_order, "rests a foreign or empty order"),
        (jump_the_queue, "time priority is broken at 610000"),
        (neither_rest_nor_wait, "neither rests in a book nor waits"),
        (forget_a_client_id, "the index of clOrdIds is wrong"),
        (wait_without_a_position, "an order that reduces waits without a position"),
        (close_a_bracket_twice, "bracket 699 closed through several orders: [700, 701]"),
        (ruin_on_cross, f"not being liquidated at a margin ratio of 100 % or more: ['{ADA}:0']"),
        (owe_on_cross, "is flat on cross and owes 1 micro-USDC"),
        (cross, "cross"),
        (lose_cash, "cash is off by -1"),
        (find_isolated_margin, "cash is off by 7"),
        (lose_a_leg, "open interest 5 differ"),
        (change_a_level, "is not the sum of its orders"),
        (lose_an_order, "in the books or in the accounts"),
        (end_a_live_order, "ended or misplaced order is live"),
        (keep_a_wrong_sum, "the position keeps"),
        (open_both_legs, "both legs are open in one-way mode"),
        (mark_as_liquidating, "status and liquidations differ"),
        (end_twice, "ended 2 times"),
        (fill_beyond_the_limit, "beyond its order's limit"),
        (trade_with_itself, "is a self-trade"),
        (fill_fok_in_part, "FOK order was filled in part"),
        (lose_a_transfer, "the entries sum to"),
    ],
)
def test_a_broken_state_is_named(floor: Floor, broken: Callable[[Floor], None], words: str) -> None:
    floor.core.check()
    broken(floor)
    with pytest.raises(VenueError, match="the state breaks its invariants") as caught:
        floor.core.check()
    assert words in str(caught.value)


def test_the_history_is_only_read_when_it_is_asked_for(floor: Floor) -> None:
    end_twice(floor)
    assert floor.core.violations(history=False) == []
    assert floor.core.violations()
    assert not registry.INVARIANTS.keys() & registry.HISTORY_INVARIANTS.keys()


def test_a_command_that_leaves_an_open_order_among_the_ended_ones_fails_at_once(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(core: object, time: int) -> None:
        floor.core.state.history.orders.add(ADA, resting(floor, ADA))

    monkeypatch.setattr(floor.core, "processes", [("broken", broken)])
    floor.core.wake("broken", floor.core.state.time + 1)
    with pytest.raises(AssertionError, match="has the status of an open one"):
        floor.core.apply(Advance(floor.core.state.time + 1))
