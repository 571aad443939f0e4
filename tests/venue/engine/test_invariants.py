"""The invariants: silent about a sound state, and each of them loud about a broken one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from tests.venue.floor import ADA, BOB, Floor
from toolkit.errors import VenueError
from toolkit.venue.engine import registry
from toolkit.venue.engine.commands import Advance
from toolkit.venue.model.accounts import VenueOrder
from toolkit.venue.model.constants import FILLED, FOK, HEDGE, LIQUIDATING, TAKER, UNTRIGGERED
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
    return floor


def resting(floor: Floor, address: str) -> VenueOrder:
    return next(order for order in floor.account(address).orders.values() if order.priority)


def cross(floor: Floor) -> None:
    floor.core.books[1].bids.best = 610_000


def lose_cash(floor: Floor) -> None:
    floor.account(ADA).balance -= 1


def lose_a_leg(floor: Floor) -> None:
    floor.position(ADA).long.size -= 1


def lose_entry_value(floor: Floor) -> None:
    floor.position(ADA).long.value += 1


def forget_a_holder(floor: Floor) -> None:
    del floor.core.risk_index.holders[1][ADA]


def change_a_level(floor: Floor) -> None:
    floor.core.books[1].bids.levels[590_000].total += 1


def lose_an_order(floor: Floor) -> None:
    del floor.account(ADA).orders[resting(floor, ADA).id]


def fill_too_much(floor: Floor) -> None:
    resting(floor, ADA).filled += 1


def end_a_live_order(floor: Floor) -> None:
    resting(floor, ADA).status = FILLED


def keep_a_wrong_sum(floor: Floor) -> None:
    floor.position(ADA).buy_quantity += 1


def open_both_legs(floor: Floor) -> None:
    floor.position(ADA).short.size = 1


def uncover(floor: Floor) -> None:
    floor.position(ADA).sell_reducing = 6


def orphan(floor: Floor) -> None:
    order = resting(floor, ADA)
    order.armed, order.group = False, 999_999


def lose_a_trigger(floor: Floor) -> None:
    floor.core.triggers[1].rebuild([])


def mark_as_liquidating(floor: Floor) -> None:
    floor.account(ADA).status = LIQUIDATING


def owe(floor: Floor) -> None:
    ledger.withdraw(floor.core, floor.core.account("0x" + "dd" * 20), 1)


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


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (cross, "cross"),
        (lose_cash, "cash is off by -1"),
        (lose_a_leg, "open interest 5 differ"),
        (lose_entry_value, "clearing holds"),
        (forget_a_holder, "index of holders"),
        (change_a_level, "is not the sum of its orders"),
        (lose_an_order, "in the books or in the accounts"),
        (fill_too_much, "exceed the ordered ones"),
        (end_a_live_order, "ended or misplaced order is live"),
        (keep_a_wrong_sum, "the position keeps"),
        (open_both_legs, "both legs are open in one-way mode"),
        (uncover, "reduce-only orders exceed the position"),
        (orphan, "lost its main order"),
        (lose_a_trigger, "missing in the queue of triggers"),
        (mark_as_liquidating, "status and liquidations differ"),
        (owe, "owes 1 micro-USDC"),
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


def test_a_hedge_may_have_both_legs_and_an_unsized_stop_may_wait(floor: Floor) -> None:
    assert floor.account(BOB).position_mode != HEDGE
    stop = next(order for order in floor.account(ADA).orders.values() if order.status == UNTRIGGERED)
    assert stop.quantity == 0
    assert floor.core.violations() == []


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
