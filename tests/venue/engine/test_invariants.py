"""The invariants: silent about a sound state, and each of them loud about a broken one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.venue.floor import ADA, BOB, CYD, Floor
from toolkit.errors import VenueError
from toolkit.venue.engine import registry
from toolkit.venue.engine.commands import Advance
from toolkit.venue.model.accounts import Leg, VenueOrder
from toolkit.venue.model.constants import (
    CANCELED,
    FILLED,
    FOK,
    HEDGE,
    ISOLATED,
    LIQUIDATING,
    LIQUIDATION,
    MAKER,
    NEW,
    POST_ONLY,
    REJECTED,
    TAKER,
    UNTRIGGERED,
)
from toolkit.venue.model.history import OrderEvent
from toolkit.venue.risk import ledger
from toolkit.venue.risk.audit import fill_violations, order_violations


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


def ruin_on_cross(floor: Floor) -> None:
    ledger.withdraw(floor.core, floor.account(ADA), floor.account(ADA).balance - 1_000_000)


def ruin_a_short(floor: Floor) -> None:
    ledger.withdraw(floor.core, floor.account(BOB), floor.account(BOB).balance - 1_000_000)


def ruin_on_isolated(floor: Floor) -> None:
    floor.position(ADA).mode = ISOLATED


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


def pay_oneself(floor: Floor) -> None:
    records = floor.core.state.history.ledger.records
    records[0] = msgspec.structs.replace(records[0], payer=records[0].receiver)


def touch(floor: Floor) -> None:
    floor.core.books[1].bids.best = floor.core.books[1].asks.best


def trade_without_an_index(floor: Floor) -> None:
    floor.core.state.markets[1].open_interest += 1


def hold_less_than_nothing(floor: Floor) -> None:
    floor.position(ADA).long = Leg(-1, 0)


def hold_for_nothing(floor: Floor) -> None:
    floor.position(ADA).long.value = 0


def add_a_holder(floor: Floor) -> None:
    floor.core.risk_index.holders[1][CYD] = floor.position(ADA)


def turn_a_side_around(floor: Floor) -> None:
    asks = floor.core.books[1].asks
    asks._keys.reverse()
    asks.best = 620_000


def offer_the_second_best(floor: Floor) -> None:
    floor.core.books[1].asks.best = 620_000


def empty_a_level(floor: Floor) -> None:
    level = floor.core.books[1].bids.levels[590_000]
    level.orders.clear()
    level.total = 0
    order = resting(floor, ADA)
    order.priority = 0


def empty_an_order(floor: Floor) -> None:
    level = floor.core.books[1].asks.levels[610_000]
    order = next(iter(level.orders.values()))
    level.total -= order.leaves
    order.leaves = 0


def misprice_an_order(floor: Floor) -> None:
    resting(floor, ADA).price -= 1


def jump_the_queue(floor: Floor) -> None:
    one, two = floor.core.books[1].asks.levels[610_000].orders.values()
    one.priority, two.priority = two.priority, one.priority


def misplace_an_order(floor: Floor) -> None:
    orders = floor.account(ADA).orders
    orders[999] = orders.pop(resting(floor, ADA).id)


def neither_rest_nor_wait(floor: Floor) -> None:
    next(order for order in floor.account(ADA).orders.values() if order.waiting).status = NEW


def miscount_what_waits(floor: Floor) -> None:
    floor.account(ADA).waiting += 1


def forget_a_client_id(floor: Floor) -> None:
    floor.account(ADA).client_ids.clear()


def cover_too_little_of_a_short(floor: Floor) -> None:
    floor.position(BOB).buy_reducing = floor.position(BOB).short.size + 1


def wait_without_a_position(floor: Floor) -> None:
    for order in floor.account(ADA).orders.values():
        order.side = -order.side if order.waiting else order.side


def have_two_stops(floor: Floor) -> None:
    orders = list(floor.account(ADA).orders.values())
    for order in orders[:2]:
        order.group, order.reduce = orders[2].id, 3


def queue_twice(floor: Floor) -> None:
    floor.core.triggers[1].entries += 1


def close_a_bracket_twice(floor: Floor) -> None:
    records = floor.core.state.history.orders.records
    for at, order in enumerate(records[:2]):
        records[at] = msgspec.structs.replace(order, id=700 + at, group=699)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (pay_oneself, "transfer 1 is not sound"),
        (touch, "bid 610000 and ask 610000 cross"),
        (trade_without_an_index, "open interest 6 differ"),
        (hold_less_than_nothing, "a leg of -1 steps has entry value 0"),
        (hold_for_nothing, "a leg of 5 steps has entry value 0"),
        (add_a_holder, "index of holders"),
        (turn_a_side_around, "prices of a side are not in order"),
        (offer_the_second_best, "its best price is not the first"),
        (empty_a_level, "the total 0 at 590000"),
        (empty_an_order, "rests a foreign or empty order"),
        (misprice_an_order, "rests a foreign or empty order"),
        (jump_the_queue, "time priority is broken at 610000"),
        (misplace_an_order, "ended or misplaced order is live"),
        (neither_rest_nor_wait, "neither rests in a book nor waits"),
        (miscount_what_waits, "the number of waiting orders is wrong"),
        (forget_a_client_id, "the index of clOrdIds is wrong"),
        (cover_too_little_of_a_short, "reduce-only orders exceed the position"),
        (wait_without_a_position, "an order that reduces waits without a position"),
        (have_two_stops, "children of one kind"),
        (queue_twice, "missing in the queue of triggers: []"),
        (close_a_bracket_twice, "bracket 699 closed through several orders: [700, 701]"),
        (ruin_on_cross, f"not being liquidated at a margin ratio of 100 % or more: ['{ADA}:0']"),
        (ruin_a_short, f"not being liquidated at a margin ratio of 100 % or more: ['{BOB}:0']"),
        (ruin_on_isolated, f"not being liquidated at a margin ratio of 100 % or more: ['{ADA}:1']"),
        (owe_on_cross, "is flat on cross and owes 1 micro-USDC"),
        (cross, "cross"),
        (lose_cash, "cash is off by -1"),
        (find_isolated_margin, "cash is off by 7"),
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


ORDER = VenueOrder(
    id=1, address=ADA, product=1, side=1, closing=False, type=1, tif=1, reduce=0, price=600_000, quantity=5, leaves=5
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"filled": 2, "leaves": 3}, ""),
        ({"filled": 2, "leaves": 0, "status": CANCELED}, ""),
        ({"filled": 5, "leaves": 0, "status": FILLED}, ""),
        ({"filled": 0, "leaves": 0, "status": REJECTED}, ""),
        ({"quantity": 0, "leaves": 5, "status": UNTRIGGERED}, ""),
        ({"tif": FOK, "filled": 5, "leaves": 0, "status": FILLED}, ""),
        ({"tif": FOK, "leaves": 0, "status": CANCELED}, ""),
        ({"tif": FOK, "filled": 2, "leaves": 3}, ""),
        ({"tif": FOK, "filled": 2, "leaves": 0, "status": CANCELED, "reduce": 1}, ""),
        ({"tif": FOK, "filled": 2, "leaves": 0, "status": CANCELED, "triggered": True}, ""),
        ({"filled": 3, "leaves": 3}, "exceed the ordered ones"),
        ({"filled": -1}, "exceed the ordered ones"),
        ({"leaves": -1}, "exceed the ordered ones"),
        ({"quantity": 0, "leaves": 5}, "exceed the ordered ones"),
        ({"quantity": 1, "leaves": 5, "status": UNTRIGGERED}, "exceed the ordered ones"),
        ({"leaves": 1, "status": CANCELED}, "an ended order is still open"),
        ({"leaves": 0, "status": CANCELED, "priority": 1}, "an ended order is still open"),
        ({"filled": 4, "leaves": 0, "status": FILLED}, "the status does not fit"),
        ({"filled": 1, "leaves": 0, "status": REJECTED}, "the status does not fit"),
        ({"tif": FOK, "filled": 2, "leaves": 0, "status": CANCELED}, "a FOK order was filled in part"),
    ],
)
def test_what_an_order_by_itself_must_be(changes: dict[str, Any], words: str) -> None:
    found = list(order_violations([msgspec.structs.replace(ORDER, **changes)]))
    assert [words in one for one in found] == ([True] if words else [])


FILL = OrderEvent(
    id=1, time=1, height=1, tx_hash="", address=ADA, product=1, order_id=1, client_id=0, side=1, closing=False, type=1,
    tif=1, reduce=0, status=FILLED, price=600_000, quantity=5, leaves=0, trigger=0, slippage=0, fill_price=600_000,
    fill_quantity=5, exec_id=7, role=TAKER,
)  # fmt: skip
OTHER = msgspec.structs.replace(FILL, address=BOB, side=-1, role=MAKER)


@pytest.mark.parametrize(
    ("changes", "other", "words"),
    [
        ({}, {}, ""),
        ({"fill_price": 599_999}, {"fill_price": 599_999, "price": 599_999}, ""),
        ({"price": 0, "fill_price": 700_000}, {"fill_price": 700_000}, ""),
        ({"tif": POST_ONLY, "role": MAKER}, {"role": TAKER}, ""),
        ({"exec_id": 0, "fill_quantity": 0}, {"exec_id": 0, "fill_quantity": 0}, ""),
        ({"exec_id": 8}, {}, ""),
        ({"address": BOB, "type": LIQUIDATION}, {"type": LIQUIDATION}, ""),
        ({"fill_price": 600_001}, {"fill_price": 600_001}, "beyond its order's limit"),
        ({"fill_price": 599_999}, {"fill_price": 599_999}, "beyond its order's limit"),
        ({"fill_quantity": 0, "exec_id": 8}, {}, "a fill is empty"),
        ({"fill_quantity": -1, "exec_id": 8}, {}, "a fill is empty"),
        ({"tif": POST_ONLY}, {}, "a POST_ONLY order took liquidity"),
        ({"address": BOB}, {}, "trade 7 is a self-trade"),
        ({"fill_price": 599_999}, {}, "the two sides of trade 7 differ"),
        ({"fill_quantity": 4}, {}, "the two sides of trade 7 differ"),
        ({"side": -1}, {}, "the two sides of trade 7 differ"),
    ],
)
def test_what_the_sides_of_a_trade_must_be(changes: dict[str, Any], other: dict[str, Any], words: str) -> None:
    events = [msgspec.structs.replace(FILL, **changes), msgspec.structs.replace(OTHER, **other)]
    found = list(fill_violations(events))
    assert [words in one for one in found] == ([True] if words else [])


def test_a_trade_has_two_sides() -> None:
    assert list(fill_violations([FILL, OTHER, OTHER])) == ["trade 7 has 3 sides"]


def test_a_book_of_one_side_is_sound(floor: Floor) -> None:
    assert floor.place(ADA, "BUY 0.01 at 3000", symbolCode=2).code == 0
    assert floor.place(BOB, "SELL 0.01 at 151", symbolCode=3, ordQty="1").code == 0
    floor.core.check()


def test_both_legs_are_sound_in_a_hedge() -> None:
    floor = Floor(ADA)
    floor.order(BOB, "SELL 0.005 at 60000.0")
    floor.order(ADA, "BUY 0.005 at 60000.0")
    floor.order(BOB, "BUY 0.002 at 60000.0")
    floor.order(ADA, "SELL 0.002 at 60000.0")
    assert floor.legs(ADA) == (5, 2)
    floor.order(ADA, "BUY_CLOSE_HEDGE 0.002 at 59000.0")
    floor.order(ADA, "SELL_CLOSE_HEDGE 0.005 at 61000.0")
    floor.core.check()


def test_a_hedge_may_have_both_legs_and_an_unsized_stop_may_wait(floor: Floor) -> None:
    assert floor.account(BOB).position_mode != HEDGE
    stop = next(order for order in floor.account(ADA).orders.values() if order.status == UNTRIGGERED)
    assert stop.quantity == 0
    assert floor.core.violations() == []


def test_isolated_margin_is_cash_of_its_account(floor: Floor) -> None:
    floor.position(ADA).mode = ISOLATED
    ledger.assign(floor.core, floor.account(ADA), floor.position(ADA), 20_000_000)
    assert floor.core.violations() == []
    floor.core.state.withdrawals += 3
    assert "cash is off by 3 micro-USDC" in floor.core.violations()
    floor.core.state.deposits += 8
    assert "cash is off by -5 micro-USDC" in floor.core.violations()


@pytest.mark.parametrize("leg", ["long", "short"])
def test_the_size_of_each_leg_counts_in_the_open_interest(leg: str) -> None:
    floor = Floor()
    floor.order(BOB, "SELL 0.005 at 60000.0")
    floor.order(ADA, "BUY 0.005 at 60000.0")
    getattr(floor.position(ADA if leg == "long" else BOB), leg).size += 1
    assert any("open interest 5 differ" in one for one in floor.core.violations(history=False))


def told(floor: Floor, words: str) -> bool:
    return any(words in one for one in floor.core.violations())


def test_a_leg_may_be_as_small_as_one_step_and_one_micro_usdc(floor: Floor) -> None:
    for legs in (Leg(1, 1), Leg(0, 0)):
        floor.position(ADA).long = legs
        assert not told(floor, "a leg of")
    for legs in (Leg(1, 0), Leg(0, 1), Leg(1, -1), Leg(-1, -1)):
        floor.position(ADA).long = legs
        assert told(floor, "a leg of")


def test_a_main_order_is_no_child_of_its_bracket(floor: Floor) -> None:
    one, two, three = list(floor.account(ADA).orders.values())[:3]
    for order in (one, two):
        order.group, order.reduce = one.id, 3
    assert not told(floor, "children of one kind")
    three.group, three.reduce = one.id, 2
    assert not told(floor, "children of one kind")
    three.reduce = 3
    assert told(floor, f"bracket {one.id} has 2 children of one kind")


def test_a_bracket_whose_main_order_and_one_child_are_filled_is_sound(floor: Floor) -> None:
    main, child, other = list(floor.account(ADA).orders.values())[:3]
    for order in (main, child, other):
        order.group = main.id
    main.filled = child.filled = 1
    assert not told(floor, "closed through several orders")
    other.filled = 1
    assert told(floor, f"bracket {main.id} closed through several orders: [{child.id}, {other.id}]")


def test_a_child_that_waits_for_its_main_order_is_sound(floor: Floor) -> None:
    main, child = list(floor.account(ADA).orders.values())[:2]
    child.armed, child.group = False, main.id
    assert not told(floor, "lost its main order")


def test_only_orders_without_a_main_order_need_a_position_to_reduce(floor: Floor) -> None:
    stop = next(order for order in floor.account(ADA).orders.values() if order.waiting)
    floor.position(ADA).long = Leg(0, 0)
    assert told(floor, "an order that reduces waits without a position")
    stop.armed = False
    assert not told(floor, "an order that reduces waits without a position")


def test_an_order_of_another_product_does_not_count(floor: Floor) -> None:
    stop = next(order for order in floor.account(ADA).orders.values() if order.waiting)
    floor.position(ADA).long = Leg(0, 0)
    stop.product = 2
    assert not told(floor, "an order that reduces waits without a position")


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
