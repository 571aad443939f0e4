"""Live orders are replaced, cancelled and triggered here (docs/published.md, "Exchange API", docs/assumptions.md).

Cancels are applied one by one, each with its own result. A refused replacement leaves the order unchanged. A waiting
trigger holds no margin. When it triggers, the order is checked like a new one, and cancelled with a reason if it does
not fit. Triggers of the same instant act by age. A market exit that finds nothing within its bound stays armed. It is
tried again when its market trades, a price moves or an order within the bound arrives. Prices are in ticks.
"""

from __future__ import annotations

from msgspec.structs import replace as replaced

from ...checks import Spec
from ...protocol.orders.items import CancelItem, OrderItem
from ...protocol.orders.order_actions import CancelAll, CancelOrders, OrderAction
from ..engine.commands import ActionContext, Outcome, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import handles_orders, post_command
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.book import Triggers
from ..model.constants import GTC, INDEX_PRICE, LAST_PRICE, MARK_PRICE, NEW, POST_ONLY, STATUS_NAMES, UNTRIGGERED
from ..model.state import MarketState
from ..risk.order_margin import check_increase
from . import lifecycle, matching
from .lifecycle import closing_leg, prospects, reference_price, slippage_limit
from .placing import accepted, batch_outcome, check_value, fit_to_position, id_text, read


@handles_orders("replaceOrder")
def replace_order(core: Core, context: ActionContext, action: OrderAction) -> Outcome:
    """Change the price, quantity or trigger of a live order.

    A refused replacement leaves it unchanged.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account and transaction of the request.
    action : OrderAction
        The new fields of the order, with one of its ids.

    Raises
    ------
    Refused
        If the order is unknown, or the new fields do not fit.
    """
    item = action.orders[0]
    order = find(core, context.account, CancelItem(item.product, action.order_id, item.cl_ord_id))
    try:
        replace(core, context.account, order, item)
    except Refused as refusal:
        raise Refused(refusal.code, f"order {order.id} stays as it is: {refusal.reason}") from None
    return batch_outcome([accepted(order)], "orders")


@handles_orders("cancelOrder")
def cancel_orders(core: Core, context: ActionContext, action: CancelOrders) -> Outcome:
    """Cancel every item independently of the others.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account and transaction of the request.
    action : CancelOrders
        The orders to cancel.
    """
    results = []
    for item in action.cancels:
        try:
            order = find(core, context.account, item)
            lifecycle.cancel(core, context.account, order, "cancelled by its owner")
            results.append(accepted(order))
        except Refused as refusal:
            ids = {"clOrdId": id_text(item.cl_ord_id), "ordId": id_text(item.order_id)}
            results.append({**ids, "txCode": refusal.code, "txMsg": refusal.reason})
    return batch_outcome(results, "cancels")


@handles_orders("cancelAll")
def cancel_all(core: Core, context: ActionContext, action: CancelAll) -> Outcome:
    """Cancel all orders of one product: the waiting ones with conditionalOrder, else the others.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account and transaction of the request.
    action : CancelAll
        The product, and whether those orders are meant that wait for a trigger.
    """
    code, waiting = core.product(action.product).code, bool(action.conditional)
    account, results = context.account, []
    for order in list(account.orders.values()):
        # cancelling a main order also cancels its bracket, so an order of this list may be gone
        if order.product == code and order.waiting == waiting and order.id in account.orders:
            lifecycle.cancel(core, account, order, "cancelled by its owner (all)")
            results.append(accepted(order))
    return batch_outcome(results, "cancels")


def find(core: Core, account: VenueAccount, item: CancelItem) -> VenueOrder:
    """Return the live order that an item names by the venue's id or the client id.

    If it has both, they must agree.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    item : CancelItem
        Product and ids of the order.

    Raises
    ------
    Refused
        If the account has no such open order. The reason says how it ended.
    """
    code, order_id, client_id = item.product, item.order_id or 0, item.cl_ord_id or 0
    product = core.product(code)
    order = account.orders.get(order_id or account.client_ids.get(client_id, 0))
    name = f"ordId {order_id}" if order_id else f"clOrdId {client_id}"
    if order is None:
        ending = _ending(core, account, order_id, client_id)
        raise Refused(TxCode.UNKNOWN_ORDER, f"{name} is no open order of {account.address}{ending}")
    if order_id and client_id and order.client_id != client_id:
        raise Refused(TxCode.UNKNOWN_ORDER, f"ordId {order_id} has clOrdId {order.client_id}, not {client_id}")
    if order.product != code:
        other = core.products[order.product].symbol
        raise Refused(TxCode.UNKNOWN_ORDER, f"{name} is an order in {other}, not in {product.symbol}")
    return order


def replace(core: Core, account: VenueAccount, order: VenueOrder, item: OrderItem) -> None:
    """Replace a live order.

    It keeps its place only when the price is unchanged and the quantity falls. Side, type, reduce-only option and
    trigger type can't change, nor the trigger of an order that has triggered.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Live order.
    item : OrderItem
        New fields. The quantity is the new total, with the filled part.

    Raises
    ------
    Refused
        Before anything has changed.
    """
    if order.waiting and order.triggered:
        reason = "it has triggered and is tried at every price. Cancel it and place another"
        raise Refused(TxCode.NOT_REPLACEABLE, reason)
    position = account.positions[order.product]
    main = account.orders.get(order.group) if order.status == UNTRIGGERED and order.group != order.id else None
    entry_ticks = main.price or main.trigger if main is not None and not order.armed else 0
    product, spec = read(core, account, item, bool(order.builder), entry_ticks, order)
    _check_same(order, spec)
    if order.status == UNTRIGGERED:
        _replace_waiting(core, account, position, order, spec, main)
        return
    if spec.tif not in (GTC, POST_ONLY):
        raise Refused(TxCode.NOT_REPLACEABLE, "timeInForce of an open order can only be GTC or POST_ONLY")
    leaves_steps = spec.quantity - order.filled
    if leaves_steps <= 0:
        filled = product.quantity_text(order.filled)
        raise Refused(TxCode.NOT_REPLACEABLE, f"ordQty {item.quantity} is not above the {filled} filled already")
    if spec.price == order.price and leaves_steps <= order.leaves:
        if order.reducing and leaves_steps < order.leaves:
            check_value(product, order.price, leaves_steps)
        order.quantity, order.tif = spec.quantity, spec.tif
        if leaves_steps < order.leaves:
            lifecycle.take_from_resting(core, position, order, order.leaves - leaves_steps)
        lifecycle.record(core, account, order, "replaced")
        return
    # the order must not count against itself: it is no resting order while its new price and quantity are checked
    lifecycle.count_resting(core, position, order, -order.leaves)
    place, order.priority = order.priority, 0
    try:
        leaves_steps = _readmit(core, account, order, spec, leaves_steps)
    finally:
        order.priority = place
        lifecycle.count_resting(core, position, order, order.leaves)
    lifecycle.remove_from_book(core, position, order)
    holds_less = _holds_less(core, order, spec, leaves_steps)
    order.price, order.leaves, order.quantity, order.tif = spec.price, leaves_steps, spec.quantity, spec.tif
    lifecycle.record(core, account, order, "replaced")
    if holds_less:  # it takes no one's cover
        lifecycle.add_to_book(core, position, order)
    else:
        matching.process_order(core, account, position, order, spec.price)


def _check_same(order: VenueOrder, spec: Spec) -> None:
    """Refuse a replacement that changes a fixed field."""
    same = {
        "ordSide": (order.side, order.closing) == (spec.side, spec.closing),
        "ordType": order.type == spec.type,
        "reduceOnly": order.reduce == spec.reduce,
        "tpslTriggerType": order.trigger_by == spec.trigger_by or order.status != UNTRIGGERED,
    }
    for field, unchanged in same.items():
        if not unchanged:
            raise Refused(TxCode.NOT_REPLACEABLE, f"{field} can't be replaced. Cancel the order and place another")


def _replace_waiting(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, spec: Spec, main: VenueOrder | None
) -> None:
    """Replace the trigger, price and quantity of a waiting order. `main` is the open main order of an exit."""
    if main is not None and spec.quantity > main.quantity:
        raise Refused(TxCode.BAD_BRACKET, "take profit and stop loss may not be larger than the main order")
    leg = closing_leg(account, position, order.side, order.closing)
    whole_steps = main.quantity if main is not None else leg.size if leg is not None and order.reducing else 0
    if 0 < spec.quantity < whole_steps:  # an exit of the whole position is exempt from the minimum value
        check_value(core.products[order.product], spec.trigger, spec.quantity)
    order.trigger, order.trigger_up = spec.trigger, spec.trigger_up
    order.price, order.quantity, order.leaves = spec.price, spec.quantity, spec.quantity
    order.slippage, order.tif = spec.slippage, spec.tif
    if order.armed:
        core.triggers[order.product].add(order)  # its old entry is found stale and dropped
    lifecycle.record(core, account, order, "replaced")


def _readmit(core: Core, account: VenueAccount, order: VenueOrder, spec: Spec, leaves_steps: int) -> int:
    """Check the new price and quantity of an open order that the sums do not count. Return the steps it may have."""
    if not order.reducing:
        only_size = _holds_less(core, order, spec, leaves_steps)
        check_increase(core, account, order, leaves_steps, spec.price, only_size=only_size)
        return leaves_steps
    trial = replaced(order, tif=spec.tif, price=spec.price, quantity=leaves_steps, leaves=leaves_steps, trigger=0)
    fit_to_position(core, account, trial, spec.price)
    return trial.leaves


def _holds_less(core: Core, order: VenueOrder, spec: Spec, leaves_steps: int) -> bool:
    """Return whether an opening order moves away from the market or shrinks, which is never refused for margin."""
    if order.reducing or leaves_steps > order.leaves:
        return False
    if (spec.price - order.price) * order.side <= 0:
        return True
    best_ticks = core.books[order.product].side(-order.side).best
    meets = best_ticks and (spec.price - best_ticks) * order.side >= 0
    return not meets and leaves_steps * spec.price <= order.leaves * order.price


def _ending(core: Core, account: VenueAccount, order_id: int, client_id: int) -> str:
    """Return the final status of an order that is no longer open, if it is among the account's last 200."""
    log = core.state.history.orders
    for at in reversed(log.by_account.get(account.address, [])[-200:]):
        order = log.records[at]
        if order.id == order_id or (client_id and order.client_id == client_id):
            return f": order {order.id} is {STATUS_NAMES[order.status]}"
    return ""


@post_command("triggers")
def run_triggers(core: Core) -> bool:
    """Trigger every order whose trigger price a trade has reached or a price reaches now.

    It repeats until none is left, as each may trade.

    Parameters
    ----------
    core : Core
        State machine of the venue. The queue of each product that is not paused is read.
    """
    accounts = core.state.accounts
    again, fired = True, False  # one that was triggered may rest in a book, which the market's hook must see
    while again:
        again = False
        for code, triggers in core.triggers.items():
            if not (triggers.entries or triggers.met or triggers.retrying):
                continue
            # Rebuilding costs a pass over all orders, so it waits until stale entries are the larger part.
            if triggers.entries > triggers.limit:  # most entries are stale
                live = [order for account in accounts.values() for order in account.orders.values()]
                triggers.rebuild([o for o in live if o.product == code and o.waiting and o.armed])
            market = core.state.markets[code]
            if market.paused:
                continue
            due, triggers.met = triggers.met, []
            for by in (LAST_PRICE, MARK_PRICE, INDEX_PRICE):
                price_ticks = reference_price(market, by)
                due += [(*entry, price_ticks) for entry in triggers.due(by, price_ticks)]
            due += _retries(core, triggers, market)
            # Sorted by id, which is the age. The heaps give entries in the order of their prices.
            for order_id, address, trigger, price_ticks in sorted(due):
                account = accounts[address]
                order = account.orders.get(order_id)
                # entries of orders that have ended, or have another trigger now, stay in the queue until here
                if order is None or order.status != UNTRIGGERED or not order.armed or order.trigger != trigger:
                    continue
                if order.triggered and order.tried == prospects(core, order):
                    continue  # nothing is new to it: it has just been tried, or another order took what was offered
                fire(core, account, order, price_ticks)
                again = fired = True
    return fired


def _retries(core: Core, triggers: Triggers, market: MarketState) -> list[tuple[int, str, int, int]]:
    """Return the exits that have found nothing before and whose market has changed since. Forget the ended ones."""
    found = []
    for order_id, address in list(triggers.retrying.items()):
        order = core.state.accounts[address].orders.get(order_id)
        if order is None:
            del triggers.retrying[order_id]
        elif order.tried != prospects(core, order):
            found.append((order_id, address, order.trigger, reference_price(market, order.trigger_by)))
    return found


def fire(core: Core, account: VenueAccount, order: VenueOrder, price_ticks: int) -> None:
    """Trigger a waiting order, or try it again: fit it to its position, check it, and match it.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that the order belongs to.
    order : VenueOrder
        Order that waits, or a market exit that found nothing before.
    price_ticks : int
        Price in ticks that it triggers at.
    """
    position = account.positions[order.product]
    # Before the exit is sized, because cancelling the main order may change what the account holds.
    for other in _cancelled_by(account, order):
        lifecycle.cancel(core, account, other, f"one cancels the other: order {order.id} was triggered")
    again, order.triggered = order.triggered, True
    account.waiting -= 1
    order.status = NEW
    if order.reducing:
        _fit_position(core, account, order)
    limit_ticks = order.price or slippage_limit(core, order, price_ticks)
    # A retry records nothing here. It would add an event at every price.
    if not again:
        lifecycle.record(core, account, order, "triggered")
    refusal = ""
    if order.tif == POST_ONLY and crosses(core, order):
        refusal = "POST_ONLY would match when triggered"
    elif not order.reducing:
        try:
            check_increase(core, account, order, order.leaves, limit_ticks)
        except Refused as reason:
            refusal = f"triggered, but {reason.reason}"
    if refusal:
        lifecycle.cancel(core, account, order, refusal)
    else:
        matching.process_order(core, account, position, order, limit_ticks)


def crosses(core: Core, order: VenueOrder) -> bool:
    """Return whether a limit order would match immediately.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    order : VenueOrder
        Order with a limit price.
    """
    best = core.books[order.product].side(-order.side).best
    return best > 0 and (best - order.price) * order.side <= 0


def _cancelled_by(account: VenueAccount, order: VenueOrder) -> list[VenueOrder]:
    """Return the orders that a triggered TP or SL of a bracket cancels.

    These are its twin, if that was triggered before, and the rest of the main order. That would open again the steps
    that the exit closes.
    """
    if not order.group:
        return []
    twins = [other for other in lifecycle.bracket(account, order.group) if other is not order and other.triggered]
    main = account.orders.get(order.group)
    return [*twins, main] if main is not None and main is not order else twins


def _fit_position(core: Core, account: VenueAccount, order: VenueOrder) -> None:
    """Reduce a triggered reduce-only order to the steps that it may close. While it waits there is a position."""
    leg = closing_leg(account, account.positions[order.product], order.side, order.closing)
    assert leg is not None
    most_steps = size_steps = leg.size
    # The quantity of a whole-position exit is only known now. The mark remains, because a later try closes what is then
    # held.
    order.whole = order.whole or not order.quantity
    if order.whole:
        order.quantity, order.leaves = order.filled + size_steps, size_steps
    elif order.group and order.group != order.id:
        # an exit of a bracket closes what its main order has opened, not what other orders have
        most_steps = min(most_steps, order.cover)
    if most_steps < order.leaves:
        order.leaves = most_steps
        order.reason = f"reduced to the position of {core.products[order.product].quantity_text(most_steps)}"
