"""The life of an order outside of matching: accepted, resting, cut, cancelled, ended; and what hangs on it.

Every change of a resting order goes through here, so that the book, the sums kept in the position and the order events
stay one. TP and SL orders of a bracket are armed by their main order's fills and cancel each other.
"""

from __future__ import annotations

from ..engine import events as ev
from ..engine.core import Core
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import CANCELED, FILLED, REJECTED, UNTRIGGERED
from ..model.history import OrderEvent
from ..risk import account_margin


def record(core: Core, account: VenueAccount, order: VenueOrder, reason: str = "") -> None:
    """Record the order's present status as an event."""
    state = core.state
    order.updated = time = state.time
    order.height = height = core.height
    if account.kind == "market":
        return
    log = state.history.order_events
    records = log.records
    event = OrderEvent(
        len(records) + 1,
        time,
        height,
        core.step_hash or core.tx_hash(),
        order.address,
        order.product,
        order.id,
        order.client_id,
        order.side,
        order.closing,
        order.type,
        order.tif,
        order.reduce,
        order.status,
        order.price,
        order.quantity,
        order.leaves,
        order.trigger,
        order.slippage,
        reason=reason,
    )
    index = log.by_account.get(order.address)
    if index is None:
        index = log.by_account[order.address] = []
    index.append(len(records))
    records.append(event)
    if core.recording:
        core.events.append(ev.OrderChanged(event))


def accept(core: Core, account: VenueAccount, position: Position, order: VenueOrder) -> None:
    """Take an order in: it gets its id, and waits when it has a trigger that has not been met."""
    state = core.state
    state.last_order = order.id = state.last_order + 1
    order.created = state.time
    account.orders[order.id] = order
    if order.client_id:
        account.client_ids[order.client_id] = order.id
    if order.reduce or order.closing:
        position.reducers += 1
    if order.trigger:
        order.status = UNTRIGGERED
        account.waiting += 1
        if order.armed:
            core.triggers[order.product].add(order)
    record(core, account, order)


def reject(core: Core, account: VenueAccount, order: VenueOrder, reason: str) -> None:
    """Record an order that was refused."""
    state = core.state
    state.last_order = order.id = state.last_order + 1
    order.created = state.time
    order.status = REJECTED
    order.leaves = 0
    order.reason = reason
    record(core, account, order, reason)
    if account.kind != "market":
        state.history.orders.add(order.address, order)


def add_to_book(core: Core, account: VenueAccount, position: Position, order: VenueOrder) -> None:
    """Put what is left of an order into the book."""
    state = core.state
    state.last_priority = order.priority = state.last_priority + 1
    leaves, side = order.leaves, order.side
    code, price = order.product, order.price
    book = core.books[code]
    level = (book.bids if side > 0 else book.asks).add(order)
    if order.reduce or order.closing:
        if side > 0:
            position.buy_reducing += leaves
        else:
            position.sell_reducing += leaves
    elif side > 0:
        position.buy_quantity += leaves
        position.buy_value += price * leaves * core.products[code].unit
    else:
        position.sell_quantity += leaves
        position.sell_value += price * leaves * core.products[code].unit
    market = state.markets[code]
    market.sequence += 1
    if core.recording:
        core.events.append(ev.BookChange(code, side, price, level.total, market.sequence))


def remove_from_book(core: Core, position: Position, order: VenueOrder) -> None:
    """Take a resting order out of the book and of the sums."""
    book = core.books[order.product]
    level = (book.bids if order.side > 0 else book.asks).remove(order)
    uncount(core, position, order, order.leaves)
    order.priority = 0
    market = core.state.markets[order.product]
    market.sequence += 1
    if core.recording:
        core.events.append(ev.BookChange(order.product, order.side, order.price, level.total, market.sequence))


def uncount(core: Core, position: Position, order: VenueOrder, quantity: int) -> None:
    """Take `quantity` of a resting order out of the sums kept in the position."""
    if order.reduce or order.closing:
        if order.side > 0:
            position.buy_reducing -= quantity
        else:
            position.sell_reducing -= quantity
    elif order.side > 0:
        position.buy_quantity -= quantity
        position.buy_value -= order.price * quantity * core.products[order.product].unit
    else:
        position.sell_quantity -= quantity
        position.sell_value -= order.price * quantity * core.products[order.product].unit


def reduce_leaves(core: Core, position: Position, order: VenueOrder, leaves: int) -> None:
    """Lower what a resting order has left, in its place."""
    by = order.leaves - leaves
    book = core.books[order.product]
    level = (book.bids if order.side > 0 else book.asks).levels[order.price]
    level.total -= by
    uncount(core, position, order, by)
    order.leaves = leaves
    market = core.state.markets[order.product]
    market.sequence += 1
    if core.recording:
        core.events.append(ev.BookChange(order.product, order.side, order.price, level.total, market.sequence))


def cancel(core: Core, account: VenueAccount, order: VenueOrder, reason: str = "") -> None:
    """Cancel what is left of a live order."""
    position = account.positions[order.product]
    if order.priority:
        remove_from_book(core, position, order)
    order.leaves = 0
    end(core, account, position, order, CANCELED, reason)


def end(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, status: int, reason: str = ""
) -> None:
    """End an order that is neither in the book nor has anything left: FILLED or CANCELED, for good."""
    if order.status == UNTRIGGERED:
        account.waiting -= 1
    order.status = status
    order.reason = reason
    del account.orders[order.id]
    if order.client_id:
        del account.client_ids[order.client_id]
    if order.reduce or order.closing:
        position.reducers -= 1
    if status != FILLED:
        record(core, account, order, reason)
    if account.kind != "market":
        core.state.history.orders.add(order.address, order)
    if order.group == order.id:
        why = "ended without a position to protect" if order.filled else "was cancelled unfilled"
        for child in bracket(account, order.id):
            if not child.armed:
                cancel(core, account, child, f"its main order {why}")


# what hangs on positions


def shrink_reduce_only(core: Core, account: VenueAccount, position: Position, side: int) -> None:
    """Cut the resting orders of `side` that may only reduce down to the leg they reduce, last placed first."""
    leg = position.short if side > 0 else position.long
    excess = (position.buy_reducing if side > 0 else position.sell_reducing) - leg.size
    if excess <= 0:
        return
    product = core.products[position.product]
    reason = f"reduce-only: the position is down to {product.quantity_text(leg.size)}"
    for order in reversed(list(account.orders.values())):
        if order.product == position.product and order.side == side and order.reducing and order.priority:
            excess -= reduce_or_cancel(core, account, position, order, excess, reason)
            if not excess:
                return


def drop_uncovered(core: Core, account: VenueAccount, position: Position, side: int) -> None:
    """Cut the resting orders of `side` that would have closed what is gone of a position and would open one now, last
    placed first, as far as equity does not cover the initial margin that they need for it."""
    if account_margin.available(core, account) >= 0:
        return
    leg = position.short if side > 0 else position.long
    for order in reversed(list(account.orders.values())):
        excess = (position.buy_quantity if side > 0 else position.sell_quantity) - leg.size
        if excess <= 0 or account_margin.available(core, account) >= 0:
            return
        if order.product == position.product and order.side == side and order.priority and not order.reducing:
            reduce_or_cancel(
                core, account, position, order, excess, "margin: the position that it would have closed is gone"
            )


def reduce_or_cancel(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, excess: int, reason: str
) -> int:
    """Take up to `excess` steps from a resting order, in its place, or cancel it whole; return how many it lost."""
    if order.leaves > excess:
        reduce_leaves(core, position, order, order.leaves - excess)
        record(core, account, order, reason)
        return excess
    leaves = order.leaves
    cancel(core, account, order, reason)
    return leaves


def cancel_orders_of_closed_leg(
    core: Core, account: VenueAccount, position: Position, side: int, taking: VenueOrder
) -> None:
    """Cancel the orders of `side` that could only reduce the leg which has just gone flat, except the one that did it.

    The TP and SL of a bracket whose main order is still open go back to waiting for its next fill.
    """
    for order in list(account.orders.values()):
        if order.product != position.product or order.side != side or not order.reducing or order is taking:
            continue
        if order.id not in account.orders or not order.armed:
            continue
        if order.group in account.orders and order.status == UNTRIGGERED:
            order.armed = False
            order.cover = 0
            continue
        cancel(core, account, order, "the position it would reduce is gone")


# brackets


def bracket(account: VenueAccount, group: int) -> list[VenueOrder]:
    """Return the live TP and SL orders of a bracket."""
    return [order for order in account.orders.values() if order.group == group and order.id != group]


def group_filled(core: Core, account: VenueAccount, order: VenueOrder, opened: int) -> None:
    """Follow a fill of a bracket's order, which opened so many steps.

    The main one arms its TP and SL as far as it opened a position; one of those cancels the other.
    """
    for other in bracket(account, order.group):
        if order.id != order.group:
            if other is not order:
                cancel(core, account, other, f"one cancels the other: order {order.id} was filled")
        elif opened:
            other.cover += opened
            if not other.armed:
                other.armed = True
                core.triggers[other.product].add(other)
