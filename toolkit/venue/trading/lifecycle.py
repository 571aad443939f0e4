"""The life of an order outside of matching: accepted, resting, reduced, cancelled, ended, and its bracket.

Every change of a resting order goes through here, so that the book, the sums kept in the position and the order events
agree. TP and SL orders of a bracket are armed by their main order's fills and cancel each other. The rules at the end
of this module say which may be attached to which main order (docs/assumptions.md, "Orders").
"""

from __future__ import annotations

from ...checks import slippage_bound
from ...products import VenueProduct
from ...protocol.orders.items import OrderItem
from ..engine import changes as ev
from ..engine.commands import Refused, TxCode
from ..engine.core import Core
from ..model.accounts import Leg, Position, VenueAccount, VenueOrder
from ..model.constants import (
    CANCELED,
    FILLED,
    HEDGE,
    ISOLATED,
    LAST_PRICE,
    MARK_PRICE,
    REDUCE_ONLY,
    REJECTED,
    SL_FROM_POSITION,
    TP_FROM_POSITION,
    UNTRIGGERED,
)
from ..model.history import OrderEvent
from ..model.state import MarketState
from ..risk import order_margin

DEFAULT_LEVERAGE = 20
"""Leverage of a position before setLeverage, at most the product's."""
Fill = tuple[int, int, int, int, int, int, int, int, int, int]
"""The fields of an OrderEvent that only a fill has, from `fill_price` to `short_term`."""
NO_FILL: Fill = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
TRIED_AGAIN = "It stays armed and tries again at the next trade, price or offer within it"
"""End of the reason of a triggered exit that found too little."""
EXITS = ("TP_FROM_POSITION", "SL_FROM_POSITION")


def position_of(core: Core, account: VenueAccount, product: VenueProduct) -> Position:
    """Return an account's position in a product, opening an empty one when there is none.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    product : VenueProduct
        Product to look up.
    """
    found = account.positions.get(product.code)
    if found is None:
        leverage = min(DEFAULT_LEVERAGE * 100, int(product.max_leverage * 100))
        found = Position(product.code, leverage, created=core.state.time, updated=core.state.time)
        if product.only_isolated:
            found.mode = ISOLATED
        account.positions[product.code] = found
    return found


def closing_leg(account: VenueAccount, position: Position, side: int, closing: bool) -> Leg | None:
    """Return the leg that an order of this side reduces.

    It is `None` for an order that can only open: one in hedge mode without a close side.

    Parameters
    ----------
    account : VenueAccount
        Account that the order belongs to.
    position : Position
        Position of the account in the order's product.
    side : int
        +1 for buys, −1 for sells.
    closing : bool
        True for the *_CLOSE_HEDGE sides.
    """
    if account.position_mode == HEDGE and not closing:
        return None
    return position.short if side > 0 else position.long


def record(core: Core, account: VenueAccount, order: VenueOrder, reason: str = "", fill: Fill = NO_FILL) -> None:
    """Record the order's present status, or its fill, as an event.

    Simulated participants keep no record.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Order that changes.
    reason : str, optional
        Why it changed, in words (default: none).
    fill : Fill, optional
        Fields that only a fill has (default: `NO_FILL`).
    """
    state = core.state
    order.updated = time = state.time
    order.height = height = core.height
    # Participants trade thousands of orders per day. Their records would be most of the history, and no query shows
    # them.
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
        # The last fill says FILLED already, because no other event follows it. `end` sets the order's own status later.
        FILLED if fill is not NO_FILL and order.filled == order.quantity else order.status,
        order.price,
        order.quantity,
        order.leaves,
        order.trigger,
        order.slippage,
        *fill,
        reason,
    )
    log.add(order.address, event)
    if core.recording:
        core.events.append(event)


def _take_id(core: Core, order: VenueOrder) -> None:
    state = core.state
    state.last_order = order.id = state.last_order + 1
    order.created = state.time


def accept(core: Core, account: VenueAccount, position: Position, order: VenueOrder) -> None:
    """Accept an order.

    It gets its id, and waits if it has a trigger.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Order with all its fields but the id.
    """
    _take_id(core, order)
    account.orders[order.id] = order
    if order.client_id:
        account.client_ids[order.client_id] = order.id
    if order.reduce or order.closing:
        position.reducers += 1
    if order.trigger:
        order.status = UNTRIGGERED
        account.waiting += 1
        # A child of an unfilled main order is not queued: there is nothing yet that it could protect.
        if order.armed:
            core.triggers[order.product].add(order)
    record(core, account, order)


def reject(core: Core, account: VenueAccount, order: VenueOrder, reason: str) -> None:
    """Record an order that was refused.

    It takes its own id.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Order that was refused, without an id.
    reason : str
        Why, in words, for the order's event.
    """
    _take_id(core, order)
    # A rejected order has an id and an event, so that its owner finds the reason by query and feed.
    order.status = REJECTED
    order.leaves = 0
    order.reason = reason
    record(core, account, order, reason)
    if account.kind != "market":
        core.state.history.orders.add(order.address, order)


def add_to_book(core: Core, position: Position, order: VenueOrder) -> None:
    """Add the open steps of an order to the book.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Live order with a limit price.
    """
    state = core.state
    # Priority is a counter, not the time: orders of one millisecond keep their sequence. Above 0 it also says that the
    # order rests.
    state.last_priority = order.priority = state.last_priority + 1
    book = core.books[order.product]
    level = (book.bids if order.side > 0 else book.asks).add(order)
    # Book and sums change together. Margin checks read the sums only, never the book.
    count_resting(core, position, order, order.leaves)
    _publish_level(core, order, level.total)


def remove_from_book(core: Core, position: Position, order: VenueOrder) -> None:
    """Take a resting order out of the book and of the position's sums.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Order that changes.
    """
    book = core.books[order.product]
    level = (book.bids if order.side > 0 else book.asks).remove(order)
    count_resting(core, position, order, -order.leaves)
    order.priority = 0
    _publish_level(core, order, level.total)


def take_from_resting(core: Core, position: Position, order: VenueOrder, steps: int) -> None:
    """Take steps off a resting order, which keeps its place.

    An empty order leaves the book, and an empty level too.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Order that changes.
    steps : int
        Steps to take, at most its leaves.
    """
    book = core.books[order.product]
    ladder = book.bids if order.side > 0 else book.asks
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
    """Add steps of a resting order to the sums kept in the position.

    Negative steps are taken out.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Order with a limit price.
    steps : int
        Steps to add. Negative steps are taken out.
    """
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
    # Counted whether the event is recorded or not, because the number is part of the state.
    market.sequence += 1
    if core.recording:
        core.events.append(ev.BookChange(order.product, order.side, order.price, total_steps, market.sequence))


def cancel(core: Core, account: VenueAccount, order: VenueOrder, reason: str = "") -> None:
    """Cancel the open steps of a live order.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Order that changes.
    reason : str, optional
        Why, in words, for the order's event (default: none).
    """
    position = account.positions[order.product]
    if order.priority:
        remove_from_book(core, position, order)
    order.leaves = 0
    end(core, account, position, order, CANCELED, reason)


def cancel_or_retry(core: Core, account: VenueAccount, order: VenueOrder, reason: str) -> None:
    """Cancel an order that acts immediately and found no more.

    A triggered market exit stays armed and tries again.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Order that changes.
    reason : str
        Why, in words, for the order's event.
    """
    # Only market exits try again. A limit order rests or ends, and an order that opens must not act long after its
    # trigger.
    if not (order.triggered and order.reducing and not order.price):
        cancel(core, account, order, reason)
        return
    # Without this note the exit would run again after every command, although nothing has changed for it.
    order.tried = prospects(core, order)
    order.status = UNTRIGGERED
    account.waiting += 1
    core.triggers[order.product].add(order)
    record(core, account, order, f"{reason}. {TRIED_AGAIN}")


def end(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, status: int, reason: str = ""
) -> None:
    """End an order that is not in the book and has nothing left, as FILLED or CANCELED.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Order that is not in the book and has no leaves.
    status : int
        FILLED or CANCELED.
    reason : str, optional
        Why, in words, for the order's event (default: none).
    """
    # `waiting` counts the orders by this status, so it is read before the status changes.
    if order.status == UNTRIGGERED:
        account.waiting -= 1
    order.status = status
    order.reason = reason
    del account.orders[order.id]
    if order.client_id:
        del account.client_ids[order.client_id]
    if order.reduce or order.closing:
        position.reducers -= 1
    if status != FILLED:  # the last fill was recorded as its own event
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
    """Reduce the reduce-only resting orders of `side` to the size of the leg they reduce, last placed first.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    position : Position
        Position of the account in the order's product.
    side : int
        Side of the orders: +1 for buys, which reduce the short leg.
    """
    leg = position.short if side > 0 else position.long
    excess = (position.buy_reducing if side > 0 else position.sell_reducing) - leg.size
    if excess <= 0:
        return
    product = core.products[position.product]
    reason = f"reduce-only: the position is down to {product.quantity_text(leg.size)}"
    # A copy, because cancelling removes from the dictionary. The newest goes first: older orders had a claim on the
    # position before it.
    for order in reversed(list(account.orders.values())):
        if order.product == position.product and order.side == side and order.reducing and order.priority:
            excess -= reduce_or_cancel(core, account, order, excess, reason)
            if not excess:
                return


def drop_uncovered(
    core: Core, account: VenueAccount, position: Position, side: int, accepted: VenueOrder | None = None
) -> None:
    """Reduce the resting orders of a side that would now open, because the leg that they would have closed is gone.

    The newest goes first, until equity covers the rest's initial margin.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    position : Position
        Position of the account in the order's product.
    side : int
        Side of the orders: +1 for buys, which the short leg covers.
    accepted : VenueOrder or None, optional
        Order that took their cover. It is exempt (default: none).
    """
    leg = position.short if side > 0 else position.long
    if (position.buy_quantity if side > 0 else position.sell_quantity) <= leg.size or account.kind == "market":
        return
    # An account that can afford what its orders would open keeps all of them.
    if order_margin.fits(core, account, position, side):
        return
    for order in reversed(list(account.orders.values())):
        # Computed again for each order, because cancelling a main order also cancels its children.
        excess = (position.buy_quantity if side > 0 else position.sell_quantity) - leg.size
        if excess <= 0 or order_margin.fits(core, account, position, side):
            return
        if order is accepted or order.product != position.product or order.side != side:
            continue
        if order.priority and not order.reducing:
            reason = "margin: the position that it would have closed is gone"
            if accepted is not None and leg.size:
                size = core.products[order.product].quantity_text(leg.size)
                reason = (
                    f"margin: order {accepted.id} closes the same position of {size}, and no margin is left to open"
                )
            reduce_or_cancel(core, account, order, excess, reason)


def reduce_or_cancel(core: Core, account: VenueAccount, order: VenueOrder, excess_steps: int, reason: str) -> int:
    """Reduce a resting order, or cancel it if nothing would be left.

    Return the steps it lost.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Order that changes.
    excess_steps : int
        Steps to take off, if it has more than these.
    reason : str
        Why, in words, for the order's event.
    """
    if order.leaves > excess_steps:
        take_from_resting(core, account.positions[order.product], order, excess_steps)
        order.reason = reason  # its last fill will say FILLED for what is left
        record(core, account, order, reason)
        return excess_steps
    leaves = order.leaves
    cancel(core, account, order, reason)
    return leaves


def cancel_orders_of_closed_leg(
    core: Core, account: VenueAccount, position: Position, side: int, closed_by: VenueOrder
) -> None:
    """Cancel the reduce-only orders of a side whose leg has just gone flat.

    The TP and SL of a bracket whose main order is still open wait for its next fill instead.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    position : Position
        Position of the account in the order's product.
    side : int
        +1 for buys, −1 for sells.
    closed_by : VenueOrder
        Order that closed the leg. It is exempt.
    """
    for order in list(account.orders.values()):
        if order.product != position.product or order.side != side or not order.reducing or order is closed_by:
            continue
        # The main order can still fill, and will arm the exit again for what it then opens.
        if order.armed and order.group in account.orders and order.status == UNTRIGGERED:
            order.armed, order.cover = False, 0
        elif order.armed:
            cancel(core, account, order, "the position it would reduce is gone")


def bracket(account: VenueAccount, group: int) -> list[VenueOrder]:
    """Return the live TP and SL orders of a bracket.

    Parameters
    ----------
    account : VenueAccount
        Account of the bracket.
    group : int
        Id of the main order.
    """
    return [order for order in account.orders.values() if order.group == group and order.id != group]


def group_filled(core: Core, account: VenueAccount, order: VenueOrder, opened_steps: int) -> None:
    """Apply a fill of an order of a bracket to the others.

    The main order arms its TP and SL for the steps that it opened. A TP or SL cancels the other.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Order of a bracket that was filled.
    opened_steps : int
        Steps that the fill opened.
    """
    for other in bracket(account, order.group):
        if order.id != order.group:
            if other is not order:
                cancel(core, account, other, f"one cancels the other: order {order.id} was filled")
        # An exit covers what its main order has opened, not what other orders hold in the same product.
        elif opened_steps:
            other.cover += opened_steps
            if not other.armed:
                other.armed = True
                core.triggers[other.product].add(other)


def reference_price(market: MarketState, by: int) -> int:
    """Return the price in ticks that triggers by LAST_PRICE, MARK_PRICE or INDEX_PRICE are compared with.

    Parameters
    ----------
    market : MarketState
        Market of the product.
    by : int
        LAST_PRICE, MARK_PRICE or INDEX_PRICE.
    """
    return market.last if by == LAST_PRICE else market.mark if by == MARK_PRICE else market.oracle


def slippage_limit(core: Core, order: VenueOrder, price_ticks: int) -> int:
    """Return the worst price, in ticks, that a market order triggered at a price may trade at.

    It counts from that price or the last trade, whichever is further in the direction of the order. After a gap, one of
    them may be far from the prices of current trades.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    order : VenueOrder
        Market order that triggers, with its allowed slippage.
    price_ticks : int
        Price in ticks that it triggers at.
    """
    last_ticks = core.state.markets[order.product].last or price_ticks
    # A bound from the trigger price alone could lie beyond the market after a gap, and the exit would find nothing.
    reference_ticks = max(price_ticks, last_ticks) if order.side > 0 else min(price_ticks, last_ticks)
    return slippage_bound(core.products[order.product], order.side, reference_ticks, order.slippage)


def prospects(core: Core, order: VenueOrder) -> tuple[int, int, int, int]:
    """Return what must change before a triggered exit is worth another try.

    That is trades, mark and index of its market, and the steps that others offer within its bound.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    order : VenueOrder
        Triggered market exit.
    """
    market = core.state.markets[order.product]
    limit_ticks = slippage_limit(core, order, reference_price(market, order.trigger_by))
    levels = core.books[order.product].side(-order.side).within(limit_ticks)
    # Own orders are left out: they would be cancelled, not traded with.
    others = (each for level in levels for each in level.orders.values() if each.address != order.address)
    offered = sum(each.leaves for each in others)
    return market.trades, market.mark, market.oracle, offered


def parent_of(account: VenueAccount, order: VenueOrder) -> VenueOrder | None:
    """Return the open main order that a TP or SL names by parentOrdId.

    It is `None` if there is no such open order.

    Parameters
    ----------
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Order with its parent's id.

    Raises
    ------
    Refused
        If it does not fit the main order or its other exits.
    """
    if not order.parent or order.reduce <= REDUCE_ONLY:
        return None
    main = account.orders.get(order.parent)
    if main is None or main.reducing:
        return None
    check_child(main, order)
    check_children(account, main, [*bracket(account, main.id), order])
    return main


def entry_price(account: VenueAccount, item: OrderItem) -> int:
    """Return the price, in ticks, that the trigger of an exit with a parentOrdId is compared with.

    That is the price of its main order until that has opened a position. 0 = the present price.

    Parameters
    ----------
    account : VenueAccount
        Account that the order belongs to.
    item : OrderItem
        The order.
    """
    main = account.orders.get(item.parent_ord_id or 0)
    if main is None or main.reducing or item.reduce_only not in EXITS:
        return 0
    return 0 if _opened(account.positions[main.product], main) else main.price or main.trigger


def check_child(main: VenueOrder, child: VenueOrder) -> None:
    """Refuse an exit that does not fit its main order.

    Parameters
    ----------
    main : VenueOrder
        Main order of the bracket.
    child : VenueOrder
        Its TP or SL.

    Raises
    ------
    Refused
        If kind, side, product or quantity do not fit.
    """
    if child.reduce not in (TP_FROM_POSITION, SL_FROM_POSITION):
        reason = "orders after the main one need reduceOnly TP_FROM_POSITION or SL_FROM_POSITION"
        raise Refused(TxCode.BAD_BRACKET, reason)
    if child.side != -main.side:
        raise Refused(TxCode.BAD_BRACKET, "take profit and stop loss must be on the other side than the main order")
    if child.product != main.product:
        raise Refused(TxCode.BAD_BRACKET, "take profit and stop loss must be of the main order's product")
    # A smaller exit is allowed, as a partial one. A larger one could close what other orders opened.
    if child.quantity > main.quantity:
        raise Refused(TxCode.BAD_BRACKET, "take profit and stop loss may not be larger than the main order")


def check_children(account: VenueAccount, main: VenueOrder, children: list[VenueOrder]) -> None:
    """Refuse exits that do not fit each other or the account's position mode.

    Parameters
    ----------
    account : VenueAccount
        Account that the order belongs to.
    main : VenueOrder
        Main order of the bracket.
    children : list of VenueOrder
        All its exits, the new one included.

    Raises
    ------
    Refused
        If two are of one kind, have the wrong side, or share a clOrdId.
    """
    kinds = {child.reduce for child in children}
    if len(kinds) < len(children):
        raise Refused(TxCode.BAD_BRACKET, "a bracket has at most one take profit and one stop loss")
    mode = account.position_mode
    if any(child.closing != (mode == HEDGE) for child in children):
        sides = "the *_CLOSE_HEDGE sides" if mode == HEDGE else "BUY or SELL"
        raise Refused(TxCode.WRONG_SIDE, f"take profit and stop loss need {sides} in this position mode")
    ids = [order.client_id for order in (main, *children) if order.client_id]
    if len(set(ids)) < len(ids):
        raise Refused(TxCode.CLIENT_ID_IN_USE, "each order of a bracket needs another clOrdId")


def join(position: Position, main: VenueOrder, child: VenueOrder) -> None:
    """Attach a TP or SL to its main order.

    It waits until that has opened a position.

    Parameters
    ----------
    position : Position
        Position of the account in the order's product.
    main : VenueOrder
        Main order of the bracket.
    child : VenueOrder
        Its TP or SL.
    """
    main.group = child.group = child.parent = main.id
    child.cover = _opened(position, main)
    child.armed = child.cover > 0


def _opened(position: Position, main: VenueOrder) -> int:
    """Return the steps that a main order has opened and that the position still holds."""
    leg = position.long if main.side > 0 else position.short
    return min(main.filled, leg.size)
