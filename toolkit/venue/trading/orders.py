"""Placing orders, one by one or as a bracket (docs/published.md, "Exchange API"; docs/assumptions.md, "Orders").

A batch is applied item by item, each with its own result; a bracket is all or nothing. A refused order changes nothing;
it is only recorded. Prices are in ticks, quantities in steps. Replacing and cancelling are in `amendments`.
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
from ..model.book import Book, Triggers
from ..model.constants import FOK, GTC, HEDGE, IOC, LIMIT, ONE_WAY, POST_ONLY, REDUCE_ONLY
from ..risk.order_margin import check_increase
from . import lifecycle, matching
from .brackets import check_child, check_children, entry_price, join, parent_of
from .positions import closing_leg, position_of

Item = Mapping[str, Any]


def attach(core: Core) -> None:
    """Rebuild the books and the trigger queues from the accounts' live orders."""
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
    # the order of acceptance decides about priority within a level
    for order in sorted(resting, key=lambda order: order.priority):
        core.books[order.product].side(order.side).add(order)
    for order in waiting:
        core.triggers[order.product].add(order)


@handles("placeOrder")
def place_orders(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Place every item independently: a refused one does not affect the others."""
    return place_each(core, context, action["orders"])


@handles("placeBracketOrder")
def place_bracket_order(core: Core, context: ActionContext, action: dict[str, Any]) -> Outcome:
    """Place a main order with its take profit and stop loss, all or nothing."""
    return place_bracket(core, context, action["orders"])


def place(
    core: Core,
    context: ActionContext,
    item: Item,
    *,
    builder: str = "",
    builder_rate: int = 0,
) -> VenueOrder:
    """Place one order item (wire names) for `context.account`; return it as it is after matching.

    With `builder` (a master address) and `builder_rate` (parts of RATE) it is a builder order, which may have the
    STOP_* and TAKE_PROFIT_* types. Raises Refused before anything changed.
    """
    account = context.account
    entry_ticks = entry_price(account, item) if item.get("parentOrdId") else 0
    product, spec = read(core, account, item, builder=bool(builder), entry_ticks=entry_ticks)
    position = account.positions.get(product.code) or position_of(core, account, product)
    order = _make_order(account, product, spec)
    if builder:
        order.builder, order.builder_rate = builder, builder_rate
    main = parent_of(account, order) if order.parent else None
    limit_ticks = admit(core, account, product, position, order, main)
    if main is not None:
        join(position, main, order)
    lifecycle.accept(core, account, position, order)
    if not order.trigger:
        matching.process_order(core, account, position, order, limit_ticks)
    return order


def place_each(
    core: Core, context: ActionContext, items: list[Item], *, builder: str = "", builder_rate: int = 0
) -> Outcome:
    """Place every item independently, with a result for each; refused ones are recorded."""
    results = []
    for item in items:
        try:
            results.append(accepted(place(core, context, item, builder=builder, builder_rate=builder_rate)))
        except Refused as refusal:
            results.append(_reject_item(core, context, item, refusal))
    return batch_outcome(results, "orders")


def place_bracket(
    core: Core, context: ActionContext, items: list[Item], *, builder: str = "", builder_rate: int = 0
) -> Outcome:
    """Place a main order (the first item) with its TP and/or SL orders; Refused when any of them can't be placed."""
    account = context.account
    at = 0  # the item that is looked at, for the message of a refusal
    try:
        product, spec = read(core, account, items[0], builder=bool(builder))
        position = position_of(core, account, product)
        main = _make_order(account, product, spec)
        main.builder, main.builder_rate = builder, builder_rate
        if main.reducing:
            raise Refused(TxCode.BAD_BRACKET, "the main order of a bracket may not be reduce-only or close a position")
        limit_ticks = admit(core, account, product, position, main, None)
        children = []
        for at in range(1, len(items)):
            children.append(_read_child(core, account, product, main, items[at], bool(builder)))
        at = 0
        check_children(account, main, children)
    except Refused as refusal:
        for item in items:
            _reject_item(core, context, item, refusal)
        raise Refused(refusal.code, f"orders[{at}]: {refusal.reason}; nothing of the bracket was placed") from None
    for order in (main, *children):
        order.builder, order.builder_rate = builder, builder_rate
    lifecycle.accept(core, account, position, main)
    main.group = main.id
    for child in children:
        join(position, main, child)
        lifecycle.accept(core, account, position, child)
    if not main.trigger:
        matching.process_order(core, account, position, main, limit_ticks)
    return batch_outcome([accepted(order) for order in (main, *children)], "orders")


def record_refused(core: Core, context: ActionContext, items: list[Item], refusal: Refused) -> None:
    """Record orders that were refused before their own rules were checked."""
    for item in items:
        _reject_item(core, context, item, refusal)


def submit(
    core: Core,
    account: VenueAccount,
    product: Product,
    side: int,
    quantity_steps: int,
    price_ticks: int = 0,
    *,
    kind: int = LIMIT,
    tif: int = GTC,
    reduce: int = 0,
    closing: bool = False,
    bound_ticks: int = 0,
    client_id: int = 0,
) -> VenueOrder:
    """Place an order for the venue itself: simulated participants, interventions, backtests.

    The caller keeps the pre-trade rules of `checks`; the rules that need the account are checked here. `bound_ticks` is
    the worst price of a market order (default: by the usual slippage). Raises Refused before anything changed.
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
        price_ticks,
        quantity_steps,
        quantity_steps,
        client_id=client_id,
    )
    limit_ticks = admit(core, account, product, position, order, None, bound_ticks)
    lifecycle.accept(core, account, position, order)
    matching.process_order(core, account, position, order, limit_ticks)
    return order


def close_out(
    core: Core, account: VenueAccount, product: Product, side: int, quantity_steps: int, limit_ticks: int, kind: int
) -> VenueOrder:
    """Close a part of a position in the book at `limit_ticks` or better, as an order of type `kind` (LIQUIDATION).

    What the book does not take is cancelled. No rule is checked; the position must be that large.
    """
    position = position_of(core, account, product)
    closing = closing_leg(account, position, side, False) is None
    order = VenueOrder(
        0,
        account.address,
        product.code,
        side,
        closing,
        kind,
        IOC,
        REDUCE_ONLY,
        limit_ticks,
        quantity_steps,
        quantity_steps,
    )
    lifecycle.accept(core, account, position, order)
    matching.process_order(core, account, position, order, limit_ticks)
    return order


def read(
    core: Core,
    account: VenueAccount,
    item: Item,
    *,
    builder: bool = False,
    entry_ticks: int = 0,
    replaced: VenueOrder | None = None,
) -> tuple[Product, Spec]:
    """Return an item's product and its values as integers, after every rule of `checks`.

    `entry_ticks` is the price that the trigger of an exit is compared with, 0 = the present price; `replaced` is the
    order that the item replaces. Refused names all broken rules.
    """
    product = core.products.get(item["symbolCode"]) or core.product(int(item["symbolCode"]))
    code = product.code
    market, book = core.state.markets[code], core.books[code]
    if market.paused:
        raise Refused(TxCode.PAUSED, f"trading in {product.symbol} is paused")
    position, cover_steps = account.positions.get(code), 0
    if position is not None and account.position_mode != HEDGE:
        cover_steps = (position.long if item.get("ordSide") == "SELL" else position.short).size
    spec = read_order(
        product,
        item,
        market.mark,
        market.last,
        market.oracle,
        book.bids.best,
        book.asks.best,
        entry_ticks,
        cover_steps=cover_steps,
        filled_steps=replaced.filled if replaced is not None else 0,
        builder=builder,
        triggered=replaced is not None and replaced.triggered,
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
    bound_ticks: int = 0,
) -> int:
    """Check an order against the rules that need its account; return the worst price it may trade at, ticks.

    `main` is the open main order of an exit, `bound_ticks` the worst price of a market order (0 = by its slippage).
    Reduces `order.leaves` of a reduce-only order to what it may close. Raises Refused; changes nothing else.
    """
    if order.client_id and order.client_id in account.client_ids:
        raise Refused(
            TxCode.CLIENT_ID_IN_USE,
            f"clOrdId {order.client_id} is in use by the open order {account.client_ids[order.client_id]}",
        )
    limit_ticks = value_ticks = order.price
    if not limit_ticks:
        market = core.state.markets[product.code]
        value_ticks = market.last or market.mark
        limit_ticks = bound_ticks or slippage_bound(product, order.side, value_ticks, order.slippage)
    if order.closing and account.position_mode == ONE_WAY:
        name = "BUY_CLOSE_HEDGE" if order.side > 0 else "SELL_CLOSE_HEDGE"
        raise Refused(
            TxCode.WRONG_SIDE,
            f"ordSide {name} needs hedge mode, the account is in one-way mode;"
            f" use {name.partition('_')[0]} with REDUCE_ONLY",
        )
    if order.reduce or order.closing:
        if main is None:  # the exit of an open main order has no position yet
            fit_to_position(account, product, position, order, order.trigger or value_ticks)
    elif not order.trigger:  # a waiting trigger holds no margin: it is checked when it triggers
        check_increase(core, account, product, position, order.side, order.leaves, limit_ticks, order.builder_rate)
    return limit_ticks


def fit_to_position(
    account: VenueAccount, product: Product, position: Position, order: VenueOrder, price_ticks: int
) -> None:
    """Reduce a reduce-only order to the position it may close; Refused when there is nothing to close.

    An order for the whole rest of a position is exempt from the minimum value, which is taken at `price_ticks` [L].
    """
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
            check_value(product, price_ticks, order.quantity)
        return
    free_steps = leg.size
    if order.tif in (GTC, POST_ONLY):  # it may rest, and resting reduce-only orders never exceed the position
        free_steps -= position.buy_reducing if order.side > 0 else position.sell_reducing
        if free_steps <= 0:
            raise Refused(
                TxCode.COVERED,
                f"reduce-only orders cover the {other} position of {product.quantity_text(leg.size)} already",
            )
    if order.leaves > free_steps:
        if order.tif == FOK:
            raise Refused(
                TxCode.NO_POSITION,
                f"FOK of {product.quantity_text(order.quantity)} is above the {other} position of"
                f" {product.quantity_text(free_steps)} that it may reduce",
            )
        order.leaves = free_steps
        order.reason = f"reduce-only: cut to {product.quantity_text(free_steps)}, what is left of the {other} position"
    if order.leaves < free_steps:
        check_value(product, price_ticks, order.leaves)


def check_value(product: Product, price_ticks: int, quantity_steps: int) -> None:
    """Refuse an order for a part of a position that is below the product's minimum value."""
    if price_ticks * quantity_steps * product.unit < product.min_value:
        failure: Failure = min_value_failure(product, price_ticks, quantity_steps)
        raise Refused(TxCode.MIN_VALUE, f"{failure.message}, or the whole position")


def _make_order(account: VenueAccount, product: Product, spec: Spec) -> VenueOrder:
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


def _read_child(
    core: Core, account: VenueAccount, product: Product, main: VenueOrder, item: Item, builder: bool
) -> VenueOrder:
    """Return the TP or SL of a bracket, checked against its main order."""
    found, spec = read(core, account, item, builder=builder, entry_ticks=main.price or main.trigger)
    if found.code != product.code:
        raise Refused(TxCode.BAD_BRACKET, f"a bracket is of one product, not {product.symbol} and {found.symbol}")
    child = _make_order(account, product, spec)
    check_child(main, child)
    if child.quantity and child.quantity < main.quantity:
        check_value(product, child.trigger, child.quantity)
    position = position_of(core, account, product)
    admit(core, account, product, position, child, main)
    return child


def accepted(order: VenueOrder) -> dict[str, Any]:
    """Return the result of an item that was accepted."""
    client_id = str(order.client_id) if order.client_id else None
    return {"clOrdId": client_id, "ordId": str(order.id), "txCode": 0, "txMsg": "success"}


def id_text(value: object) -> str | None:
    """Return an id of a request as text, None if it has none."""
    return None if value in (None, 0, "") else str(value)


def _reject_item(core: Core, context: ActionContext, item: Item, refusal: Refused) -> dict[str, Any]:
    """Record a refused order if its product is known; return its result."""
    account, order_id = context.account, None
    product = core.products.get(int(item["symbolCode"]))
    if product is not None:
        order = _make_order(account, product, read_order(product, item, builder=True))
        lifecycle.reject(core, account, order, refusal.reason)
        order_id = str(order.id)
    client_id = id_text(item.get("clOrdId"))
    return {"clOrdId": client_id, "ordId": order_id, "txCode": refusal.code, "txMsg": refusal.reason}


def batch_outcome(results: list[dict[str, Any]], field: str) -> Outcome:
    """Return the outcome of a batch: all accepted, or which were not and why."""
    refused = [(at, result) for at, result in enumerate(results) if result["txCode"]]
    if not refused:
        return Outcome(data={"results": results})
    if len(results) == 1:
        message = str(results[0]["txMsg"])
    else:
        reasons = "; ".join(f"{field}[{at}]: {result['txMsg']}" for at, result in refused)
        message = f"{len(refused)} of {len(results)} {field} refused: {reasons}"
    return Outcome(REFUSED, message, {"results": results, "txCode": refused[0][1]["txCode"], "txMsg": message})
