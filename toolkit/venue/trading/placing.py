"""Placing orders, one by one or as a bracket (docs/published.md, "Exchange API", docs/assumptions.md, "Orders").

A batch is applied item by item, each with its own result. A bracket is all or nothing. A refused order changes nothing.
It is only recorded. Prices are in ticks, quantities in steps. Replacing and cancelling are in `live_orders`.
"""

from __future__ import annotations

from typing import Any

from ...checks import Spec, min_value_failure, read_order, slippage_bound
from ...products import VenueProduct
from ...protocol.orders.items import OrderItem
from ...protocol.orders.order_actions import OrderAction
from ..engine.commands import REFUSED, ActionContext, Outcome, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import handles_orders
from ..model.accounts import VenueAccount, VenueOrder
from ..model.book import Book, Triggers
from ..model.constants import FOK, GTC, HEDGE, IOC, LIMIT, MARKET, ONE_WAY, POST_ONLY, REDUCE_ONLY
from ..risk.order_margin import check_increase
from . import lifecycle, matching
from .lifecycle import check_child, check_children, closing_leg, entry_price, join, parent_of, position_of


def attach(core: Core) -> None:
    """Rebuild the books and the trigger queues from the accounts' live orders.

    Parameters
    ----------
    core : Core
        State machine whose books and queues are built from its state.
    """
    for code in core.products:
        core.books[code] = Book(code)
        core.triggers[code] = Triggers()
    live = [order for account in core.state.accounts.values() for order in account.orders.values()]
    # the order of acceptance decides about priority within a level
    # Accounts are in the order of their creation, which says nothing about time priority.
    for order in sorted((order for order in live if order.priority), key=lambda order: order.priority):
        core.books[order.product].side(order.side).add(order)
    for order in live:
        if not order.priority and order.waiting and order.armed:
            core.triggers[order.product].add(order)


def place(core: Core, context: ActionContext, item: OrderItem) -> VenueOrder:
    """Place one order for the account of a request.

    Return it as it is after matching.

    With a builder in the context it is a builder order, which may have the STOP_* and TAKE_PROFIT_* types.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, transaction and builder of the request.
    item : OrderItem
        The order.

    Raises
    ------
    Refused
        Before anything has changed.
    """
    account = context.account
    entry_ticks = entry_price(account, item) if item.parent_ord_id else 0
    product, spec = read(core, account, item, bool(context.builder), entry_ticks)
    # Opened only now: a request that breaks a rule of `checks` leaves no empty position.
    position = account.positions.get(product.code) or position_of(core, account, product)
    order = _make_order(account, product, spec)
    if context.builder:
        order.builder, order.builder_rate = context.builder, context.builder_rate
    main = parent_of(account, order) if order.parent else None
    # Everything that can refuse comes before `accept`, the first call that changes the state.
    limit_ticks = admit(core, account, order, main)
    if main is not None:
        join(position, main, order)
    lifecycle.accept(core, account, position, order)
    if not order.trigger:
        matching.process_order(core, account, position, order, limit_ticks)
    return order


@handles_orders("placeOrder")
def place_each(core: Core, context: ActionContext, action: OrderAction) -> Outcome:
    """Place every item independently, with a result for each.

    A refused one is recorded, and affects no other.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, transaction and builder of the request.
    action : OrderAction
        The orders.
    """
    results = []
    for item in action.orders:
        try:
            results.append(accepted(place(core, context, item)))
        except Refused as refusal:
            results.append(reject_item(core, context, item, refusal))
    return batch_outcome(results, "orders")


@handles_orders("placeBracketOrder")
def place_bracket(core: Core, context: ActionContext, action: OrderAction) -> Outcome:
    """Place a main order with its TP and SL orders, all or nothing.

    Raises Refused when any of them can't be placed.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, transaction and builder of the request.
    action : OrderAction
        The orders. The first is the main order, one or two exits follow.

    Raises
    ------
    Refused
        If any of them can't be placed. The reason names the item.
    """
    account, items = context.account, action.orders
    at = 0  # the item that is looked at, for the message of a refusal
    try:
        product, spec = read(core, account, items[0], bool(context.builder))
        position = position_of(core, account, product)
        main = _make_order(account, product, spec)
        main.builder, main.builder_rate = context.builder or "", context.builder_rate
        if main.reducing:
            raise Refused(TxCode.BAD_BRACKET, "the main order of a bracket may not be reduce-only or close a position")
        limit_ticks = admit(core, account, main)
        children = []
        for at in range(1, len(items)):
            children.append(_read_child(core, context, main, items[at]))
        at = 0
        check_children(account, main, children)
    except Refused as refusal:
        # Every item gets a record with the reason of the one that failed, since none was placed.
        for item in items:
            reject_item(core, context, item, refusal)
        raise Refused(refusal.code, f"orders[{at}]: {refusal.reason}. Nothing of the bracket was placed") from None
    lifecycle.accept(core, account, position, main)
    main.group = main.id
    for child in children:
        child.builder, child.builder_rate = main.builder, main.builder_rate
        join(position, main, child)
        lifecycle.accept(core, account, position, child)
    if not main.trigger:
        matching.process_order(core, account, position, main, limit_ticks)
    return batch_outcome([accepted(order) for order in (main, *children)], "orders")


def submit(
    core: Core,
    account: VenueAccount,
    product: VenueProduct,
    side: int,
    steps: int,
    price_ticks: int = 0,
    *,
    tif: int = GTC,
    reduce: int = 0,
    bound_ticks: int = 0,
) -> VenueOrder:
    """Place an order for the venue itself: simulated participants, interventions, backtests.

    The caller keeps the pre-trade rules of `checks`. The rules that need the account are checked here.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that places the order.
    product : VenueProduct
        Product that is traded.
    side : int
        +1 for a buy, −1 for a sell.
    steps : int
        Steps of the order.
    price_ticks : int, optional
        Limit in ticks. 0 is a market order (default: 0).
    tif : int, optional
        Member of TimeInForce (default: GTC).
    reduce : int, optional
        0, or REDUCE_ONLY (default: 0).
    bound_ticks : int, optional
        Worst price of a market order in ticks (default: 0, by the usual slippage).

    Raises
    ------
    Refused
        Before anything has changed.
    """
    position = position_of(core, account, product)
    kind = LIMIT if price_ticks else MARKET
    order = VenueOrder(0, account.address, product.code, side, False, kind, tif, reduce, price_ticks, steps, steps)
    limit_ticks = admit(core, account, order, None, bound_ticks)
    lifecycle.accept(core, account, position, order)
    matching.process_order(core, account, position, order, limit_ticks)
    return order


def close_out(
    core: Core, account: VenueAccount, product: VenueProduct, side: int, steps: int, limit_ticks: int, kind: int
) -> VenueOrder:
    """Close a part of a position in the book, as an order of the venue.

    The steps that the book does not fill are cancelled. No rule is checked. The position must be that large.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that places the order.
    product : VenueProduct
        Product that is traded.
    side : int
        Side of the order: +1 closes a short.
    steps : int
        Steps of the order.
    limit_ticks : int
        Worst price in ticks.
    kind : int
        Type of the order, LIQUIDATION.
    """
    position = position_of(core, account, product)
    # Only in hedge mode there is no leg to close without saying so.
    closing = closing_leg(account, position, side, False) is None
    order = VenueOrder(
        0, account.address, product.code, side, closing, kind, IOC, REDUCE_ONLY, limit_ticks, steps, steps
    )
    lifecycle.accept(core, account, position, order)
    matching.process_order(core, account, position, order, limit_ticks)
    return order


def read(
    core: Core,
    account: VenueAccount,
    item: OrderItem,
    builder: bool,
    entry_ticks: int = 0,
    old: VenueOrder | None = None,
) -> tuple[VenueProduct, Spec]:
    """Return an item's product and its values as integers, after every rule of `checks`.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that places the order.
    item : OrderItem
        The order.
    builder : bool
        True allows the conditional types of builder orders.
    entry_ticks : int, optional
        Price in ticks that the trigger of an exit is compared with (default: 0, the present price).
    old : VenueOrder or None, optional
        Order that the item replaces (default: none).

    Raises
    ------
    Refused
        If the product is paused, or a rule of `checks` is broken. The reason names all broken rules.
    """
    product = core.products.get(item.product) or core.product(item.product)
    code = product.code
    market, book = core.state.markets[code], core.books[code]
    if market.paused:
        raise Refused(TxCode.PAUSED, f"trading in {product.symbol} is paused")
    position, cover = account.positions.get(code), 0
    if position is not None and account.position_mode != HEDGE:
        cover = (position.long if item.side == "SELL" else position.short).size
    spec = read_order(
        product,
        item,
        market.mark,
        market.last,
        market.oracle,
        book.bids.best,
        book.asks.best,
        entry_ticks,
        cover_steps=cover,
        filled_steps=old.filled if old is not None else 0,
        builder=builder,
        triggered=old is not None and old.triggered,
    )
    if spec.failures:
        raise Refused(TxCode.PRE_TRADE_RULE, "; ".join(failure.message for failure in spec.failures))
    return product, spec


def admit(
    core: Core, account: VenueAccount, order: VenueOrder, main: VenueOrder | None = None, bound_ticks: int = 0
) -> int:
    """Check an order against the rules that need its account.

    Return the worst price it may trade at, in ticks.

    It reduces `order.leaves` of a reduce-only order to what it may close. It changes nothing else.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that places the order.
    order : VenueOrder
        The order, not yet accepted.
    main : VenueOrder or None, optional
        Open main order of an exit (default: none).
    bound_ticks : int, optional
        Worst price of a market order in ticks (default: 0, by its slippage).

    Raises
    ------
    Refused
        If a rule is broken.
    """
    # A clOrdId may be used again once its order has ended.
    if order.client_id and order.client_id in account.client_ids:
        other = account.client_ids[order.client_id]
        raise Refused(TxCode.CLIENT_ID_IN_USE, f"clOrdId {order.client_id} is in use by the open order {other}")
    limit_ticks = value_ticks = order.price
    if not limit_ticks:
        product, market = core.products[order.product], core.state.markets[order.product]
        value_ticks = market.last or market.mark
        limit_ticks = bound_ticks or slippage_bound(product, order.side, value_ticks, order.slippage)
    if order.closing and account.position_mode == ONE_WAY:
        side = "BUY" if order.side > 0 else "SELL"
        reason = f"ordSide {side}_CLOSE_HEDGE needs hedge mode, the account is in one-way mode"
        raise Refused(TxCode.WRONG_SIDE, f"{reason}. Use {side} with REDUCE_ONLY")
    if order.reduce or order.closing:
        if main is None:
            fit_to_position(core, account, order, order.trigger or value_ticks)
        elif 0 < order.quantity < main.quantity:  # the exit of an open main order has no position yet
            check_value(core.products[order.product], order.trigger, order.quantity)
    elif not order.trigger:  # a waiting trigger holds no margin: it is checked when it triggers
        check_increase(core, account, order, order.leaves, limit_ticks)
    return limit_ticks


def fit_to_position(core: Core, account: VenueAccount, order: VenueOrder, price_ticks: int) -> None:
    """Reduce a reduce-only order to the position it may close.

    An order for the whole rest of a position is exempt from the minimum value [L].

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that places the order.
    order : VenueOrder
        Order that may only reduce. Its leaves are changed.
    price_ticks : int
        Price in ticks at which the minimum value is taken.

    Raises
    ------
    Refused
        If there is nothing to close, or a part that is worth too little.
    """
    product, position = core.products[order.product], account.positions[order.product]
    leg = closing_leg(account, position, order.side, order.closing)
    name, other = ("BUY", "short") if order.side > 0 else ("SELL", "long")
    if leg is None:
        reason = f"in hedge mode {name} can't reduce. Use {name}_CLOSE_HEDGE to close the {other} position"
        raise Refused(TxCode.WRONG_SIDE, reason)
    if not leg.size:
        raise Refused(TxCode.NO_POSITION, f"there is no {other} position in {product.symbol} to reduce")
    if order.trigger:
        if order.quantity and order.quantity < leg.size:
            check_value(product, price_ticks, order.quantity)
        return
    free_steps = leg.size
    best_ticks = core.books[order.product].side(-order.side).best
    acts = order.tif == GTC and bool(best_ticks) and order.side * (order.price - best_ticks) >= 0
    # What rests never exceeds the position; what acts at once may close all of it, and resting orders are cut then.
    if order.tif in (GTC, POST_ONLY) and not acts:
        free_steps -= position.buy_reducing if order.side > 0 else position.sell_reducing
        if free_steps <= 0:
            size = product.quantity_text(leg.size)
            raise Refused(TxCode.COVERED, f"reduce-only orders cover the {other} position of {size} already")
    if order.leaves > free_steps:
        free = product.quantity_text(free_steps)
        if order.tif == FOK:
            wanted = product.quantity_text(order.quantity)
            reason = f"FOK of {wanted} is above the {other} position of {free} that it may reduce"
            raise Refused(TxCode.NO_POSITION, reason)
        order.leaves = free_steps
        order.reason = f"reduce-only: reduced to {free}, the rest of the {other} position"
    if order.leaves < free_steps:
        check_value(product, price_ticks, order.leaves)


def check_value(product: VenueProduct, price_ticks: int, steps: int) -> None:
    """Refuse an order for a part of a position that is below the product's minimum value.

    Parameters
    ----------
    product : VenueProduct
        Product that is traded.
    price_ticks : int
        Price in ticks.
    steps : int
        Steps of the order.

    Raises
    ------
    Refused
        If it is.
    """
    if price_ticks * steps * product.unit < product.min_value:
        failure = min_value_failure(product, price_ticks, steps)
        raise Refused(TxCode.MIN_VALUE, f"{failure.message}, or the whole position")


def _make_order(account: VenueAccount, product: VenueProduct, spec: Spec) -> VenueOrder:
    return VenueOrder(
        0,
        account.address,
        product.code,
        spec.side,
        spec.closing,
        spec.type,
        spec.tif,
        spec.reduce,
        spec.price,
        spec.quantity,
        spec.quantity,
        client_id=spec.client_id,
        parent=spec.parent,
        trigger=spec.trigger,
        trigger_by=spec.trigger_by,
        trigger_up=spec.trigger_up,
        slippage=spec.slippage,
    )


def _read_child(core: Core, context: ActionContext, main: VenueOrder, item: OrderItem) -> VenueOrder:
    """Return the TP or SL of a bracket, checked against its main order."""
    entry_ticks = main.price or main.trigger
    found, spec = read(core, context.account, item, bool(context.builder), entry_ticks)
    product = core.products[main.product]
    if found.code != product.code:
        raise Refused(TxCode.BAD_BRACKET, f"a bracket is of one product, not {product.symbol} and {found.symbol}")
    child = _make_order(context.account, product, spec)
    check_child(main, child)
    admit(core, context.account, child, main)
    return child


def accepted(order: VenueOrder) -> dict[str, Any]:
    """Return the result of an item that was accepted.

    Parameters
    ----------
    order : VenueOrder
        Order with its id.
    """
    client_id = str(order.client_id) if order.client_id else None
    return {"clOrdId": client_id, "ordId": str(order.id), "txCode": 0, "txMsg": "success"}


def id_text(value: object) -> str | None:
    """Return an id of a request as text, None if it has none.

    Parameters
    ----------
    value : object
        clOrdId or ordId as on the wire. `None`, 0 and "" are none.
    """
    return None if value in (None, 0, "") else str(value)


def reject_item(core: Core, context: ActionContext, item: OrderItem, refusal: Refused) -> dict[str, Any]:
    """Record a refused order if its product is known.

    Return its result.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, transaction and builder of the request.
    item : OrderItem
        The order.
    refusal : Refused
        Code and reason.
    """
    order_id, product = None, core.products.get(item.product)
    if product is not None:
        order = _make_order(context.account, product, read_order(product, item, builder=True))
        lifecycle.reject(core, context.account, order, refusal.reason)
        order_id = str(order.id)
    client_id = id_text(item.cl_ord_id)
    return {"clOrdId": client_id, "ordId": order_id, "txCode": refusal.code, "txMsg": refusal.reason}


def batch_outcome(results: list[dict[str, Any]], field: str) -> Outcome:
    """Return the outcome of a batch: all accepted, or which were not and why.

    Parameters
    ----------
    results : list of dict of str to object
        Results of the items, in their order.
    field : str
        Name of the list in the action, for the message.
    """
    refused = [(at, result) for at, result in enumerate(results) if result["txCode"]]
    if not refused:
        return Outcome(data={"results": results})
    if len(results) == 1:
        message = str(results[0]["txMsg"])
    else:
        reasons = "; ".join(f"{field}[{at}]: {result['txMsg']}" for at, result in refused)
        message = f"{len(refused)} of {len(results)} {field} refused: {reasons}"
    return Outcome(REFUSED, message, {"results": results, "txCode": refused[0][1]["txCode"], "txMsg": message})
