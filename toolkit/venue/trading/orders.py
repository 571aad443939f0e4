"""Order actions: place, replace, bracket, cancel (specification, "Exchange API"; risk-rules, "Order rules").

A batch is applied item by item, each with its own result; a bracket is all or nothing. Refusals change nothing but the
record that there was one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...checks import Failure, Spec, min_value_failure, read_order, slippage_bound
from ...products import Product
from ..engine.codes import REFUSED, TxCode
from ..engine.commands import ActionContext, Outcome, Refused
from ..engine.core import Core
from ..engine.registry import handles
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import FOK, GTC, IOC, LIMIT, POST_ONLY, REDUCE_ONLY, STATUS_NAMES, UNTRIGGERED
from ..risk import account_margin
from ..risk.positions import closing_leg, position_of
from . import lifecycle, matching
from .brackets import check_child, check_children, entry_price, join, parent_of

Item = Mapping[str, Any]


@handles("placeOrder")
def place_orders(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Place every item by itself; the accepted ones stand whatever happens to the others."""
    return place_each(core, context, action["orders"])


@handles("placeBracketOrder")
def place_bracket_order(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Place a main order with its take profit and stop loss, all or nothing."""
    return place_bracket(core, context, action["orders"])


@handles("replaceOrder")
def replace_order(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Give a live order another price, quantity or trigger. When it is refused the order stays as it was."""
    order = find(core, context.account, action)
    try:
        replace(core, context.account, order, action)
    except Refused as refusal:
        raise Refused(refusal.code, f"order {order.id} stays as it is: {refusal.reason}") from None
    return _answer([_accepted(order)], "orders")


@handles("cancelOrder")
def cancel_orders(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Cancel every item by itself."""
    results = []
    for item in action["cancels"]:
        try:
            order = find(core, context.account, item)
            lifecycle.cancel(core, context.account, order, "cancelled by its owner")
            results.append(_accepted(order))
        except Refused as refusal:
            ids = {name: _id_text(item.get(name)) for name in ("clOrdId", "ordId")}
            results.append({**ids, "txCode": refusal.code, "txMsg": refusal.reason})
    return _answer(results, "cancels")


@handles("cancelAll")
def cancel_all(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Cancel all orders of one product: the waiting ones with conditionalOrder, else the others."""
    code, waiting = core.product(int(action["symbolCode"])).code, bool(action.get("conditionalOrder", False))
    account, results = context.account, []
    for order in list(account.orders.values()):
        if order.product == code and order.waiting == waiting and order.id in account.orders:
            lifecycle.cancel(core, account, order, "cancelled by its owner (all)")
            results.append(_accepted(order))
    return _answer(results, "cancels")


# what handlers and other rules call


def place(
    core: Core,
    context: ActionContext,
    item: Item,
    *,
    builder: str = "",
    builder_rate: int = 0,
) -> VenueOrder:
    """Place one order item (wire names) for `context.account`; return it as it is after matching.

    With `builder` (its master address) and `builder_rate` (parts of RATE) it is a builder order, which may have the
    STOP_* and TAKE_PROFIT_* types. Raises Refused before anything changed.
    """
    account = context.account
    entry = entry_price(account, item) if item.get("parentOrdId") else 0
    product, spec = read(core, item, builder=bool(builder), entry=entry)
    position = account.positions.get(product.code) or position_of(core, account, product)
    order = _order(account, product, spec)
    if builder:
        order.builder, order.builder_rate = builder, builder_rate
    main = parent_of(account, order) if order.parent else None
    limit = admit(core, account, product, position, order, main)
    if main is not None:
        join(position, main, order)
    lifecycle.accept(core, account, position, order)
    if not order.trigger:
        matching.process_order(core, account, position, order, limit)
    return order


def place_each(
    core: Core, context: ActionContext, items: list[Item], *, builder: str = "", builder_rate: int = 0
) -> Outcome:
    """Place every item by itself, with a result for each; refused ones are recorded."""
    results = []
    for item in items:
        try:
            results.append(_accepted(place(core, context, item, builder=builder, builder_rate=builder_rate)))
        except Refused as refusal:
            results.append(_rejected(core, context, item, refusal))
    return _answer(results, "orders")


def place_bracket(
    core: Core, context: ActionContext, items: list[Item], *, builder: str = "", builder_rate: int = 0
) -> Outcome:
    """Place a main order (the first item) with its TP and/or SL orders; Refused when any of them can't be placed."""
    account = context.account
    at = 0
    try:
        product, spec = read(core, items[0], builder=bool(builder))
        position = position_of(core, account, product)
        main = _order(account, product, spec)
        main.builder, main.builder_rate = builder, builder_rate
        if main.reducing:
            raise Refused(TxCode.BAD_BRACKET, "the main order of a bracket may not be reduce-only or close a position")
        limit = admit(core, account, product, position, main, None)
        children = []
        for at in range(1, len(items)):
            children.append(_child(core, account, product, main, items[at], bool(builder)))
        at = 0
        check_children(account, main, children)
    except Refused as refusal:
        for item in items:
            _rejected(core, context, item, refusal)
        raise Refused(refusal.code, f"orders[{at}]: {refusal.reason}; nothing of the bracket was placed") from None
    for order in (main, *children):
        order.builder, order.builder_rate = builder, builder_rate
    lifecycle.accept(core, account, position, main)
    main.group = main.id
    for child in children:
        join(position, main, child)
        lifecycle.accept(core, account, position, child)
    if not main.trigger:
        matching.process_order(core, account, position, main, limit)
    return _answer([_accepted(order) for order in (main, *children)], "orders")


def record_refused(core: Core, context: ActionContext, items: list[Item], refusal: Refused) -> None:
    """Keep a record of orders that were refused before they were looked at."""
    for item in items:
        _rejected(core, context, item, refusal)


def submit(
    core: Core,
    account: VenueAccount,
    product: Product,
    side: int,
    quantity: int,
    price: int = 0,
    *,
    kind: int = LIMIT,
    tif: int = GTC,
    reduce: int = 0,
    closing: bool = False,
    bound: int = 0,
    client_id: int = 0,
) -> VenueOrder:
    """Place an order given in integers (ticks, steps) for the venue itself: participants, liquidations, strategies.

    The pre-trade rules of `checks` are the caller's to keep; the rules that need the account hold. `bound` is the worst
    price of an order without a price (default: the usual slippage). Raises Refused before anything changed.
    """
    position = position_of(core, account, product)
    order = VenueOrder(
        0,
        account.address,
        product.code,
        side,
        closing,
        kind,
        tif,
        reduce,
        price,
        quantity,
        quantity,
        client_id=client_id,
    )
    limit = admit(core, account, product, position, order, None, bound)
    lifecycle.accept(core, account, position, order)
    matching.process_order(core, account, position, order, limit)
    return order


def close_out(
    core: Core, account: VenueAccount, product: Product, side: int, quantity: int, limit: int, kind: int
) -> VenueOrder:
    """Close `quantity` steps of a position at `limit` or better, at once, as `kind` (LIQUIDATION).

    What the book does not take is cancelled. No rule stands against it; the position must be that large.
    """
    position = position_of(core, account, product)
    closing = closing_leg(account, position, side, False) is None
    order = VenueOrder(
        0, account.address, product.code, side, closing, kind, IOC, REDUCE_ONLY, limit, quantity, quantity
    )
    lifecycle.accept(core, account, position, order)
    matching.process_order(core, account, position, order, limit)
    return order


def find(core: Core, account: VenueAccount, item: Item) -> VenueOrder:
    """Return the live order that an item names by ordId or clOrdId (both: they must agree). Raises Refused."""
    code = int(item["symbolCode"])
    order_id, client_id = (int(item.get(name) or 0) for name in ("ordId", "clOrdId"))
    product = core.product(code)
    order = account.orders.get(order_id or account.client_ids.get(client_id, 0))
    name = f"ordId {order_id}" if order_id else f"clOrdId {client_id}"
    if order is None:
        raise Refused(
            TxCode.UNKNOWN_ORDER, f"{name} is no open order of {account.address}{_ending(core, account, item)}"
        )
    if order_id and client_id and order.client_id != client_id:
        raise Refused(TxCode.UNKNOWN_ORDER, f"ordId {order_id} has clOrdId {order.client_id}, not {client_id}")
    if order.product != code:
        other = core.products[order.product].symbol
        raise Refused(TxCode.UNKNOWN_ORDER, f"{name} is an order in {other}, not in {product.symbol}")
    return order


def read(
    core: Core, item: Item, *, builder: bool = False, entry: int = 0, triggered: bool = False
) -> tuple[Product, Spec]:
    """Return an item's product and integers, with every rule of `checks` kept; Refused tells the broken ones."""
    product = core.product(int(item["symbolCode"]))
    code = product.code
    market, book = core.state.markets[code], core.books[code]
    if market.paused:
        raise Refused(TxCode.PAUSED, f"trading in {product.symbol} is paused")
    spec = read_order(
        product,
        item,
        market.mark,
        market.last,
        market.oracle,
        book.bids.best,
        book.asks.best,
        entry,
        builder=builder,
        triggered=triggered,
    )
    if spec.failures:
        raise Refused(TxCode.PRE_TRADE_RULE, "; ".join(failure.message for failure in spec.failures))
    return product, spec


def admit(
    core: Core,
    account: VenueAccount,
    product: Product,
    position: Position,
    order: VenueOrder,
    main: VenueOrder | None,
    bound: int = 0,
) -> int:
    """Hold an order against the rules that need its account; return the worst price it may trade at, ticks.

    Cuts `order.leaves` of a reduce-only order to what it may close. Raises Refused; changes nothing else.
    """
    if order.client_id and order.client_id in account.client_ids:
        raise Refused(
            TxCode.CLIENT_ID_IN_USE,
            f"clOrdId {order.client_id} is in use by the open order {account.client_ids[order.client_id]}",
        )
    limit = valued = order.price
    if not limit:
        market = core.state.markets[product.code]
        valued = market.last or market.mark
        limit = bound or slippage_bound(product, order.side, valued, order.slippage)
    if order.closing and account.position_mode == 1:
        name = "BUY_CLOSE_HEDGE" if order.side > 0 else "SELL_CLOSE_HEDGE"
        raise Refused(
            TxCode.WRONG_SIDE,
            f"ordSide {name} needs hedge mode, the account is in one-way mode;"
            f" use {name.partition('_')[0]} with REDUCE_ONLY",
        )
    if order.reduce or order.closing:
        if main is None:
            _fit(account, product, position, order, order.trigger or valued)
    elif not order.trigger:
        account_margin.check_increase(
            core, account, product, position, order.side, order.leaves, limit, order.builder_rate
        )
    return limit


def _fit(account: VenueAccount, product: Product, position: Position, order: VenueOrder, price: int) -> None:
    """Cut a reducing order to the position it may close; Refused when there is nothing to close."""
    leg = closing_leg(account, position, order.side, order.closing)
    name, other = ("BUY", "short") if order.side > 0 else ("SELL", "long")
    if leg is None:
        raise Refused(
            TxCode.WRONG_SIDE,
            f"in hedge mode {name} can't reduce; use {name}_CLOSE_HEDGE to close the {other} position",
        )
    if not leg.size:
        raise Refused(TxCode.NO_POSITION, f"there is no {other} position in {product.symbol} to reduce")
    if order.trigger:
        if order.quantity and order.quantity < leg.size:
            _check_value(product, price, order.quantity)
        return
    free = leg.size
    if order.tif in (GTC, POST_ONLY):
        free -= position.buy_reducing if order.side > 0 else position.sell_reducing
        if free <= 0:
            raise Refused(
                TxCode.COVERED,
                f"reduce-only orders cover the {other} position of {product.quantity_text(leg.size)} already",
            )
    if order.leaves > free:
        if order.tif == FOK:
            raise Refused(
                TxCode.NO_POSITION,
                f"FOK of {product.quantity_text(order.quantity)} is above the {other} position of"
                f" {product.quantity_text(free)} that it may reduce",
            )
        order.leaves = free
        order.reason = f"reduce-only: cut to {product.quantity_text(free)}, what is left of the {other} position"
    if order.leaves < free:
        _check_value(product, price, order.leaves)


def _check_value(product: Product, price: int, quantity: int) -> None:
    if price * quantity * product.unit < product.min_value:
        failure: Failure = min_value_failure(product, price, quantity)
        raise Refused(TxCode.MIN_VALUE, f"{failure.message}, or the whole position")


def replace(core: Core, account: VenueAccount, order: VenueOrder, item: Item) -> None:
    """Replace a live order. It keeps its place only when the price is unchanged and the quantity falls.

    ordQty is the new total, filled part included. Side, type, reduce-only option and trigger type stay, and of an order
    that has triggered the trigger altogether. Raises Refused before anything changed.
    """
    position = account.positions[order.product]
    main = account.orders.get(order.group) if order.status == UNTRIGGERED and order.group != order.id else None
    entry = main.price or main.trigger if main is not None and not order.armed else 0
    product, spec = read(core, item, builder=bool(order.builder), entry=entry, triggered=order.triggered)
    _check_same(order, spec)
    if order.status == UNTRIGGERED:
        _replace_waiting(core, account, product, position, order, spec, main)
        return
    if spec.tif not in (GTC, POST_ONLY):
        raise Refused(TxCode.NOT_REPLACEABLE, "timeInForce of an open order can only be GTC or POST_ONLY")
    leaves = spec.quantity - order.filled
    if leaves <= 0:
        filled = product.quantity_text(order.filled)
        raise Refused(TxCode.NOT_REPLACEABLE, f"ordQty {item['ordQty']} is not above the {filled} filled already")
    if spec.price == order.price and leaves <= order.leaves:
        if order.reducing and leaves < order.leaves:
            _check_value(product, order.price, leaves)
        order.quantity, order.tif = spec.quantity, spec.tif
        if leaves < order.leaves:
            lifecycle.reduce_leaves(core, position, order, leaves)
        lifecycle.record(core, account, order, "replaced")
        return
    old = order.price, order.leaves
    lifecycle.count_resting(core, position, order, -order.leaves)
    try:
        _readmit(core, account, product, position, order, spec, leaves)
    finally:
        _recount(product, position, order, *old)
    fitted, order.leaves, order.price = order.leaves, old[1], old[0]
    lifecycle.remove_from_book(core, position, order)
    order.price, order.leaves, order.quantity, order.tif = spec.price, fitted, spec.quantity, spec.tif
    lifecycle.record(core, account, order, "replaced")
    matching.process_order(core, account, position, order, spec.price)


# helpers, in the order they are used


def _order(account: VenueAccount, product: Product, spec: Spec) -> VenueOrder:
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


def _child(
    core: Core, account: VenueAccount, product: Product, main: VenueOrder, item: Item, builder: bool
) -> VenueOrder:
    """Return the TP or SL of a bracket, checked against its main order."""
    found, spec = read(core, item, builder=builder, entry=main.price or main.trigger)
    if found.code != product.code:
        raise Refused(TxCode.BAD_BRACKET, f"a bracket is of one product, not {product.symbol} and {found.symbol}")
    child = _order(account, product, spec)
    check_child(main, child)
    if child.quantity and child.quantity < main.quantity:
        _check_value(product, child.trigger, child.quantity)
    position = position_of(core, account, product)
    admit(core, account, product, position, child, main)
    return child


def _check_same(order: VenueOrder, spec: Spec) -> None:
    """Refuse what a replacement may not change."""
    same = {
        "ordSide": (order.side, order.closing) == (spec.side, spec.closing),
        "ordType": order.type == spec.type,
        "reduceOnly": order.reduce == spec.reduce,
        "tpslTriggerType": order.trigger_by == spec.trigger_by or order.status != UNTRIGGERED,
    }
    for field, kept in same.items():
        if not kept:
            raise Refused(TxCode.NOT_REPLACEABLE, f"{field} can't be replaced; cancel the order and place another")


def _replace_waiting(
    core: Core,
    account: VenueAccount,
    product: Product,
    position: Position,
    order: VenueOrder,
    spec: Spec,
    main: VenueOrder | None,
) -> None:
    """Replace a waiting trigger: new trigger, price and quantity, same id. `main` is the open main order of an exit."""
    if main is not None and spec.quantity > main.quantity:
        raise Refused(TxCode.BAD_BRACKET, "take profit and stop loss may not be larger than the main order")
    leg = closing_leg(account, position, order.side, order.closing)
    whole = main.quantity if main is not None else leg.size if leg is not None and order.reducing else 0
    if 0 < spec.quantity < whole:
        _check_value(product, spec.trigger, spec.quantity)
    order.trigger, order.trigger_up = spec.trigger, spec.trigger_up
    order.price, order.quantity, order.leaves = spec.price, spec.quantity, spec.quantity
    order.slippage, order.tif = spec.slippage, spec.tif
    if order.armed:
        core.triggers[order.product].add(order)
    lifecycle.record(core, account, order, "replaced")


def _readmit(
    core: Core, account: VenueAccount, product: Product, position: Position, order: VenueOrder, spec: Spec, leaves: int
) -> None:
    """Check the new price and quantity of an open order whose old ones are taken out of the sums."""
    if not order.reducing:
        account_margin.check_increase(
            core, account, product, position, order.side, leaves, spec.price, order.builder_rate
        )
        order.leaves = leaves
        return
    trial = VenueOrder(
        0, order.address, order.product, order.side, order.closing, order.type, spec.tif, order.reduce, spec.price,
        leaves, leaves,
    )  # fmt: skip
    _fit(account, product, position, trial, spec.price)
    order.leaves = trial.leaves


def _recount(product: Product, position: Position, order: VenueOrder, price: int, quantity: int) -> None:
    """Put a resting order back into the sums that `lifecycle.uncount` took it out of."""
    if order.reducing:
        if order.side > 0:
            position.buy_reducing += quantity
        else:
            position.sell_reducing += quantity
    elif order.side > 0:
        position.buy_quantity += quantity
        position.buy_value += price * quantity * product.unit
    else:
        position.sell_quantity += quantity
        position.sell_value += price * quantity * product.unit


def _ending(core: Core, account: VenueAccount, item: Item) -> str:
    """Tell what became of an order that is not open any more, if it was among the last ones."""
    order_id, client_id = (int(item.get(name) or 0) for name in ("ordId", "clOrdId"))
    log = core.state.history.orders
    for at in reversed(log.by_account.get(account.address, [])[-200:]):
        order = log.records[at]
        if order.id == order_id or (client_id and order.client_id == client_id):
            return f": order {order.id} is {STATUS_NAMES[order.status]}"
    return ""


def _accepted(order: VenueOrder) -> dict[str, Any]:
    client_id = str(order.client_id) if order.client_id else None
    return {"clOrdId": client_id, "ordId": str(order.id), "txCode": 0, "txMsg": "success"}


def _id_text(value: object) -> str | None:
    return None if value in (None, 0, "") else str(value)


def _rejected(core: Core, context: ActionContext, item: Item, refusal: Refused) -> dict[str, Any]:
    """Record a refused order where its product is known; return its result."""
    account, order_id = context.account, None
    product = core.products.get(int(item["symbolCode"]))
    if product is not None:
        order = _order(account, product, read_order(product, item, builder=True))
        lifecycle.reject(core, account, order, refusal.reason)
        order_id = str(order.id)
    client_id = _id_text(item.get("clOrdId"))
    return {"clOrdId": client_id, "ordId": order_id, "txCode": refusal.code, "txMsg": refusal.reason}


def _answer(results: list[dict[str, Any]], field: str) -> Outcome:
    """Return the outcome of a batch: all accepted, or which were not and why."""
    refused = [(at, result) for at, result in enumerate(results) if result["txCode"]]
    if not refused:
        return Outcome(data={"results": results})
    if len(results) == 1:
        message = str(results[0]["txMsg"])
    else:
        told = "; ".join(f"{field}[{at}]: {result['txMsg']}" for at, result in refused)
        message = f"{len(refused)} of {len(results)} {field} refused: {told}"
    return Outcome(REFUSED, message, {"results": results, "txCode": refused[0][1]["txCode"], "txMsg": message})


def attach(core: Core) -> None:
    """Rebuild the books and the waiting triggers from the accounts' live orders."""
    from ..model.book import Book
    from ..model.triggers import Triggers

    resting, waiting = [], []
    for code in core.products:
        core.books[code] = Book(code)
        core.triggers[code] = Triggers()
    for account in core.state.accounts.values():
        for order in account.orders.values():
            if order.priority:
                resting.append(order)
            elif order.waiting and order.armed:
                waiting.append(order)
    for order in sorted(resting, key=lambda order: order.priority):
        core.books[order.product].side(order.side).add(order)
    for order in waiting:
        core.triggers[order.product].add(order)
