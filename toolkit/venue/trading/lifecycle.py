"""The life of an order outside of matching: accepted, resting, reduced, cancelled, ended; and its bracket.

Every change of a resting order goes through here, so that the book, the sums kept in the position and the order events
agree. TP and SL orders of a bracket are armed by their main order's fills and cancel each other.
"""

from __future__ import annotations

from ..engine import events as ev
from ..engine.core import Core
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.book import BookSide
from ..model.constants import CANCELED, FILLED, REJECTED, UNTRIGGERED
from ..model.history import OrderEvent
from ..risk import order_margin
from .liquidity import prospects


def record(core: Core, account: VenueAccount, order: VenueOrder, reason: str = "") -> None:
    """Record the order's present status as an event; simulated participants keep no record."""
    state = core.state
    order.updated = time = state.time
    order.height = height = core.height
    if account.kind == "market":
        return
    log = state.history.order_events
    event = OrderEvent(
        len(log.records) + 1,
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
    log.add(order.address, event)
    if core.recording:
        core.events.append(ev.OrderChanged(event))


def accept(core: Core, account: VenueAccount, position: Position, order: VenueOrder) -> None:
    """Accept an order: it gets its id, and waits if it has a trigger."""
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
    """Record an order that was refused; it takes an id of its own."""
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
    book = core.books[order.product]
    level = (book.bids if order.side > 0 else book.asks).add(order)
    count_resting(core, position, order, order.leaves)
    _publish_level(core, order, level.total)


def remove_from_book(core: Core, position: Position, order: VenueOrder) -> None:
    """Take a resting order out of the book and of the position's sums."""
    book = core.books[order.product]
    level = (book.bids if order.side > 0 else book.asks).remove(order)
    count_resting(core, position, order, -order.leaves)
    order.priority = 0
    _publish_level(core, order, level.total)


def reduce_leaves(core: Core, position: Position, order: VenueOrder, leaves: int) -> None:
    """Lower what a resting order has left; it keeps its place in the queue."""
    book = core.books[order.product]
    level = (book.bids if order.side > 0 else book.asks).levels[order.price]
    level.total -= order.leaves - leaves
    count_resting(core, position, order, leaves - order.leaves)
    order.leaves = leaves
    _publish_level(core, order, level.total)


def fill_resting(core: Core, position: Position, order: VenueOrder, ladder: BookSide, steps: int) -> None:
    """Take what is traded out of a resting order; an empty order leaves the book, an empty level too."""
    level = ladder.levels[order.price]
    order.leaves -= steps
    level.total -= steps
    count_resting(core, position, order, -steps)
    if not order.leaves:
        order.priority = 0
        del level.orders[order.id]
        if not level.orders:
            ladder.drop(level)
    _publish_level(core, order, level.total)


def count_resting(core: Core, position: Position, order: VenueOrder, steps: int) -> None:
    """Add steps of a resting order to the sums kept in the position; negative steps are taken out."""
    if order.reduce or order.closing:
        if order.side > 0:
            position.buy_reducing += steps
        else:
            position.sell_reducing += steps
    elif order.side > 0:
        position.buy_quantity += steps
        position.buy_value += order.price * steps * core.products[order.product].unit
    else:
        position.sell_quantity += steps
        position.sell_value += order.price * steps * core.products[order.product].unit


def _publish_level(core: Core, order: VenueOrder, total_steps: int) -> None:
    market = core.state.markets[order.product]
    market.sequence += 1
    if core.recording:
        core.events.append(ev.BookChange(order.product, order.side, order.price, total_steps, market.sequence))


def cancel(core: Core, account: VenueAccount, order: VenueOrder, reason: str = "") -> None:
    """Cancel what is left of a live order."""
    position = account.positions[order.product]
    if order.priority:
        remove_from_book(core, position, order)
    order.leaves = 0
    end(core, account, position, order, CANCELED, reason)


def cancel_or_retry(core: Core, account: VenueAccount, order: VenueOrder, reason: str) -> None:
    """Cancel an order that acts at once and found no more; a triggered market exit stays armed and tries again."""
    if not (order.triggered and order.reducing and not order.price):
        cancel(core, account, order, reason)
        return
    order.tried = prospects(core, order)
    order.status = UNTRIGGERED
    account.waiting += 1
    core.triggers[order.product].add(order)
    record(
        core, account, order, f"{reason}; it stays armed and tries again at the next trade, price or offer within it"
    )


def end(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, status: int, reason: str = ""
) -> None:
    """End an order that is not in the book and has nothing left, as FILLED or CANCELED."""
    if order.status == UNTRIGGERED:
        account.waiting -= 1
    order.status = status
    order.reason = reason
    del account.orders[order.id]
    if order.client_id:
        del account.client_ids[order.client_id]
    if order.reduce or order.closing:
        position.reducers -= 1
    if status != FILLED:  # the last fill was recorded as an event of its own
        record(core, account, order, reason)
    if account.kind != "market":
        core.state.history.orders.add(order.address, order)
    if order.group == order.id:
        # only children that no fill has armed: an armed one protects what the main order opened
        why = "ended without a position to protect" if order.filled else "was cancelled unfilled"
        for child in bracket(account, order.id):
            if not child.armed:
                cancel(core, account, child, f"its main order {why}")


def shrink_reduce_only(core: Core, account: VenueAccount, position: Position, side: int) -> None:
    """Cut the reduce-only resting orders of `side` to the size of the leg they reduce, last placed first."""
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


def drop_uncovered(
    core: Core, account: VenueAccount, position: Position, side: int, accepted: VenueOrder | None = None
) -> None:
    """Cut the resting orders of `side` that have become opening ones because the leg they would have closed is gone.

    Last placed first, until equity covers the initial margin of the rest; never `accepted`, which took their cover.
    """
    leg = position.short if side > 0 else position.long
    if (position.buy_quantity if side > 0 else position.sell_quantity) <= leg.size or account.kind == "market":
        return
    if order_margin.fits(core, account, position, side):
        return
    for order in reversed(list(account.orders.values())):
        excess = (position.buy_quantity if side > 0 else position.sell_quantity) - leg.size
        if excess <= 0 or order_margin.fits(core, account, position, side):
            return
        if order is accepted or order.product != position.product or order.side != side:
            continue
        if order.priority and not order.reducing:
            reason = "margin: the position that it would have closed is gone"
            reduce_or_cancel(core, account, position, order, excess, reason)


def reduce_or_cancel(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, excess_steps: int, reason: str
) -> int:
    """Reduce a resting order by up to `excess_steps`, or cancel it if it has no more; return the steps it lost."""
    if order.leaves > excess_steps:
        reduce_leaves(core, position, order, order.leaves - excess_steps)
        record(core, account, order, reason)
        return excess_steps
    leaves = order.leaves
    cancel(core, account, order, reason)
    return leaves


def cancel_orders_of_closed_leg(
    core: Core, account: VenueAccount, position: Position, side: int, closed_by: VenueOrder
) -> None:
    """Cancel the reduce-only orders of `side` whose leg has just gone flat, except the one that closed it.

    The TP and SL of a bracket whose main order is still open wait for its next fill instead.
    """
    for order in list(account.orders.values()):
        if order.product != position.product or order.side != side or not order.reducing or order is closed_by:
            continue
        if not order.armed:
            continue
        if order.group in account.orders and order.status == UNTRIGGERED:
            order.armed = False
            order.cover = 0
            continue
        cancel(core, account, order, "the position it would reduce is gone")


def bracket(account: VenueAccount, group: int) -> list[VenueOrder]:
    """Return the live TP and SL orders of a bracket."""
    return [order for order in account.orders.values() if order.group == group and order.id != group]


def group_filled(core: Core, account: VenueAccount, order: VenueOrder, opened_steps: int) -> None:
    """Apply a fill of an order of a bracket to the others.

    The main order arms its TP and SL for the steps that it opened; a TP or SL cancels the other.
    """
    for other in bracket(account, order.group):
        if order.id != order.group:
            if other is not order:
                cancel(core, account, other, f"one cancels the other: order {order.id} was filled")
        elif opened_steps:
            other.cover += opened_steps
            if not other.armed:
                other.armed = True
                core.triggers[other.product].add(other)
