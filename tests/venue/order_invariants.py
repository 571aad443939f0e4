"""What must hold of books and orders after every command (risk-rules, "What must hold", 3, 4, 5, 7 and half of 9).

`check_orders(core)` looks at one moment; `OrderWatch` also at what may never change between two moments.
"""

from __future__ import annotations

from collections import Counter

from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import Position, VenueAccount, VenueOrder
from toolkit.venue.model.constants import CANCELED, FILLED, FOK, HEDGE, POST_ONLY, REJECTED, TAKER, UNTRIGGERED
from toolkit.venue.model.history import OrderEvent


def check_orders(core: Core) -> None:
    """Everything that can be seen at one moment."""
    check_books(core)
    for account in core.state.accounts.values():
        check_sums(core, account)
        check_reducing(account)
        check_brackets(account)
    check_triggers(core)


def check_books(core: Core) -> None:
    """3. Not crossed, totals are the orders' sums, time priority holds, and the indexes agree with the accounts."""
    in_books: set[int] = set()
    for code, book in core.books.items():
        bid, ask = book.bids.best, book.asks.best
        assert not (bid and ask and bid >= ask), f"{code}: bid {bid} and ask {ask} cross"
        for ladder in (book.bids, book.asks):
            prices = [level.price for level in ladder]
            assert prices == sorted(ladder.levels, reverse=ladder.sign > 0)
            assert ladder.best == (prices[0] if prices else 0)
            for level in ladder:
                orders = list(level.orders.values())
                assert orders, f"{code}: empty level at {level.price}"
                assert level.total == sum(order.leaves for order in orders)
                assert all(order.leaves > 0 and order.price == level.price for order in orders)
                assert all(order.side == ladder.sign and order.product == code for order in orders)
                places = [order.priority for order in orders]
                assert places == sorted(places), f"{code}: time priority at {level.price}"
                in_books.update(order.id for order in orders)
    resting = {o.id for account in core.state.accounts.values() for o in account.orders.values() if o.priority}
    assert resting == in_books


def check_sums(core: Core, account: VenueAccount) -> None:
    """What positions and accounts keep of their open orders is what the orders say."""
    assert account.waiting == sum(order.waiting for order in account.orders.values())
    assert account.client_ids == {order.client_id: order.id for order in account.orders.values() if order.client_id}
    for code, position in account.positions.items():
        unit = core.products[code].unit
        orders = [order for order in account.orders.values() if order.product == code]
        resting = [order for order in orders if order.priority]
        found = {
            "buy_quantity": sum(o.leaves for o in resting if o.side > 0 and not o.reducing),
            "sell_quantity": sum(o.leaves for o in resting if o.side < 0 and not o.reducing),
            "buy_value": sum(o.leaves * o.price * unit for o in resting if o.side > 0 and not o.reducing),
            "sell_value": sum(o.leaves * o.price * unit for o in resting if o.side < 0 and not o.reducing),
            "buy_reducing": sum(o.leaves for o in resting if o.side > 0 and o.reducing),
            "sell_reducing": sum(o.leaves for o in resting if o.side < 0 and o.reducing),
            "reducers": sum(o.reducing for o in orders),
        }
        assert found == {name: getattr(position, name) for name in found}, account.address
    for order_id, order in account.orders.items():
        assert order.id == order_id
        check_order(order)
        assert order.status < FILLED or order.status == UNTRIGGERED, order
        assert order.priority or order.waiting, f"live, but neither in the book nor waiting: {order}"


def check_order(order: VenueOrder) -> None:
    """4. Of one order: nothing is lost, nothing is filled twice."""
    assert order.filled >= 0
    assert order.leaves >= 0
    assert order.filled + order.leaves <= order.quantity or (order.waiting and order.quantity == 0), order
    if order.status == FILLED:
        assert order.filled == order.quantity
    if order.status in (FILLED, CANCELED, REJECTED):
        assert order.leaves == 0
        assert order.priority == 0
    if order.status == REJECTED:
        assert order.filled == 0
    if order.tif == FOK and order.status in (FILLED, CANCELED):
        cut = "cut to" in order.reason or order.triggered
        assert order.filled in (0, order.quantity) or cut, f"FOK filled in part: {order}"


def check_reducing(account: VenueAccount) -> None:
    """5. What rests and may only reduce is never more than the position."""
    for position in account.positions.values():
        assert position.buy_reducing <= position.short.size, account.address
        assert position.sell_reducing <= position.long.size, account.address
        if account.position_mode != HEDGE:
            assert not (position.long.size and position.short.size), (
                f"{account.address} holds both legs in one-way mode"
            )
        _check_waiting(account, position)


def _check_waiting(account: VenueAccount, position: Position) -> None:
    for order in account.orders.values():
        if order.product == position.product and order.waiting and order.reducing and order.armed:
            leg = position.short if order.side > 0 else position.long
            assert leg.size, f"a reducing order waits without a position: {order}"


def check_brackets(account: VenueAccount) -> None:
    """7. No child without a parent: an unarmed one has an open main order, and no twin of its kind."""
    for order in account.orders.values():
        if not order.armed:
            assert order.group in account.orders, f"child without its main order: {order}"
    twins = Counter(
        (order.group, order.reduce) for order in account.orders.values() if order.group and order.group != order.id
    )
    assert all(count == 1 for count in twins.values())


def check_triggers(core: Core) -> None:
    """Every armed waiting order is in its product's queue."""
    for code, triggers in core.triggers.items():
        waiting = {
            (order.id, order.trigger_by, order.trigger)
            for account in core.state.accounts.values()
            for order in account.orders.values()
            if order.product == code and order.waiting and order.armed
        }
        queued = {(order_id, by, abs(key)) for (by, _), heap in triggers._heaps.items() for key, order_id, _ in heap}
        assert waiting <= queued
        assert triggers.entries == sum(map(len, triggers._heaps.values()))


class OrderWatch:
    """Looks at a core after every command: `check()` sees what happened since the last one."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._events = len(core.state.history.order_events.records)
        self._ended = len(core.state.history.orders.records)
        self._final: set[int] = {order.id for order in core.state.history.orders.records}
        self._closers: dict[int, int] = {}
        self._last = (0, 0, 0, 0)

    def check(self) -> None:
        """Check the moment, and everything that happened since."""
        check_orders(self.core)
        history = self.core.state.history
        ended = history.orders.records[self._ended :]
        for order in ended:
            check_order(order)
            assert order.id not in self._final, f"order {order.id} ended twice"
            self._final.add(order.id)
            assert order.id not in self.core.state.accounts[order.address].orders
        events = history.order_events.records[self._events :]
        for event in events:
            self._check_event(event)
        self._check_sums(ended)
        self._events += len(events)
        self._ended += len(ended)
        self._check_growth()

    def _check_event(self, event: OrderEvent) -> None:
        if not event.exec_id:
            return
        assert event.fill_quantity > 0
        if event.price:
            worse = (event.fill_price - event.price) * event.side
            assert worse <= 0, f"filled beyond its limit: {event}"
        assert event.tif != POST_ONLY or event.role != TAKER, f"POST_ONLY took: {event}"

    def _check_sums(self, ended: list[VenueOrder]) -> None:
        """Fills by number: two sides, two accounts, one quantity; a bracket's group closes through one child."""
        history = self.core.state.history
        fills = [event for event in history.order_events.records[self._events :] if event.exec_id]
        by_exec: dict[int, list[OrderEvent]] = {}
        for fill in fills:
            by_exec.setdefault(fill.exec_id, []).append(fill)
        for pair in by_exec.values():
            assert len(pair) <= 2
            if len(pair) == 2:
                one, two = pair
                assert one.address != two.address, f"self-trade: {one}"
                assert (one.fill_price, one.fill_quantity) == (two.fill_price, two.fill_quantity)
                assert one.side == -two.side
        live = [order for account in self.core.state.accounts.values() for order in account.orders.values()]
        for order in (*ended, *live):
            if order.group and order.group != order.id and order.filled:
                first = self._closers.setdefault(order.group, order.id)
                assert first == order.id, f"group {order.group} closed through {first} and {order.id}"

    def _check_growth(self) -> None:
        """9. Ids and sequences only grow."""
        state = self.core.state
        now = (state.last_order, state.last_exec, state.last_priority, sum(m.sequence for m in state.markets.values()))
        assert all(a <= b for a, b in zip(self._last, now, strict=True))
        self._last = now
