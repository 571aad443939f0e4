"""Replacing and cancelling orders (docs/published.md, "Exchange API"; docs/assumptions.md, "Orders").

Cancels are applied one by one, each with its own result. A refused replacement leaves the order as it was.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace as replaced

from ...checks import Spec
from ..engine.commands import ActionContext, Outcome, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import handles
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import GTC, POST_ONLY, STATUS_NAMES, UNTRIGGERED
from ..risk.order_margin import check_increase
from . import lifecycle, matching
from .lifecycle import closing_leg
from .placing import Item, accepted, batch_outcome, check_value, fit_to_position, id_text, read


@handles("replaceOrder")
def replace_order(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Change the price, quantity or trigger of a live order. When that is refused the order stays as it was."""
    order = find(core, context.account, action)
    try:
        replace(core, context.account, order, action)
    except Refused as refusal:
        raise Refused(refusal.code, f"order {order.id} stays as it is: {refusal.reason}") from None
    return batch_outcome([accepted(order)], "orders")


@handles("cancelOrder")
def cancel_orders(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Cancel every item independently of the others."""
    results = []
    for item in action["cancels"]:
        try:
            order = find(core, context.account, item)
            lifecycle.cancel(core, context.account, order, "cancelled by its owner")
            results.append(accepted(order))
        except Refused as refusal:
            ids = {name: id_text(item.get(name)) for name in ("clOrdId", "ordId")}
            results.append({**ids, "txCode": refusal.code, "txMsg": refusal.reason})
    return batch_outcome(results, "cancels")


@handles("cancelAll")
def cancel_all(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Cancel all orders of one product: the waiting ones with conditionalOrder, else the others."""
    code, waiting = core.product(int(action["symbolCode"])).code, bool(action.get("conditionalOrder", False))
    account, results = context.account, []
    for order in list(account.orders.values()):
        # cancelling a main order also cancels its bracket, so an order of this list may be gone
        if order.product == code and order.waiting == waiting and order.id in account.orders:
            lifecycle.cancel(core, account, order, "cancelled by its owner (all)")
            results.append(accepted(order))
    return batch_outcome(results, "cancels")


def find(core: Core, account: VenueAccount, item: Item) -> VenueOrder:
    """Return the live order that an item names by ordId or clOrdId (both: they must agree). Raises Refused."""
    code = int(item["symbolCode"])
    order_id, client_id = (int(item.get(name) or 0) for name in ("ordId", "clOrdId"))
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


def replace(core: Core, account: VenueAccount, order: VenueOrder, item: Item) -> None:
    """Replace a live order. It keeps its place only when the price is unchanged and the quantity falls.

    ordQty is the new total, filled part included. Side, type, reduce-only option and trigger type can't change, nor the
    trigger of an order that has triggered. Raises Refused before anything changed.
    """
    if order.waiting and order.triggered:
        reason = "it has triggered and is tried at every price; cancel it and place another"
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
        raise Refused(TxCode.NOT_REPLACEABLE, f"ordQty {item['ordQty']} is not above the {filled} filled already")
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
    if holds_less:  # it takes nobody's cover
        lifecycle.add_to_book(core, position, order)
    else:
        matching.process_order(core, account, position, order, spec.price)


def _check_same(order: VenueOrder, spec: Spec) -> None:
    """Refuse a replacement that changes what it may not."""
    same = {
        "ordSide": (order.side, order.closing) == (spec.side, spec.closing),
        "ordType": order.type == spec.type,
        "reduceOnly": order.reduce == spec.reduce,
        "tpslTriggerType": order.trigger_by == spec.trigger_by or order.status != UNTRIGGERED,
    }
    for field, unchanged in same.items():
        if not unchanged:
            raise Refused(TxCode.NOT_REPLACEABLE, f"{field} can't be replaced; cancel the order and place another")


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
    """Check the new price and quantity of an open order that the sums do not count; return the steps it may have."""
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
