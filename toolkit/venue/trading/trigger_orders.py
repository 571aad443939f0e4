"""Conditional orders: what happens when a trigger price is met (risk-rules, "Order rules").

A waiting trigger holds no margin. When it is met the order is checked like a new one, and cancelled with a reason if it
does not fit. Several triggers met in the same instant go by age.
"""

from __future__ import annotations

from ..engine.commands import Refused
from ..engine.core import Core
from ..engine.registry import post_command
from ..model.accounts import VenueAccount, VenueOrder
from ..model.constants import (
    INDEX_PRICE,
    LAST_PRICE,
    MARK_PRICE,
    NEW,
    POST_ONLY,
    SL_FROM_POSITION,
    TP_FROM_POSITION,
    UNTRIGGERED,
)
from ..model.state import MarketState
from ..risk import account_margin
from ..risk.positions import closing_leg
from . import lifecycle, matching


def reference(market: MarketState, by: int) -> int:
    """Return the price that triggers of this kind look at, ticks."""
    return market.last if by == LAST_PRICE else market.mark if by == MARK_PRICE else market.oracle


def is_met(order: VenueOrder, market: MarketState) -> bool:
    """Tell whether an order's trigger is met by the present prices."""
    price = reference(market, order.trigger_by)
    return bool(price) and (price >= order.trigger if order.trigger_up else price <= order.trigger)


@post_command("triggers")
def run_triggers(core: Core) -> None:
    """Trigger everything that is met, until nothing is: a triggered order may move the last price."""
    accounts = core.state.accounts
    again = True
    while again:
        again = False
        for code, triggers in core.triggers.items():
            if not triggers.entries:
                continue
            if triggers.entries > triggers.limit:
                triggers.rebuild(waiting(core, code))
            market = core.state.markets[code]
            if market.paused:
                continue
            due: list[tuple[int, str, int]] = []
            for by in (LAST_PRICE, MARK_PRICE, INDEX_PRICE):
                due += triggers.due(by, reference(market, by))
            for order_id, address, trigger in sorted(due):
                account = accounts[address]
                order = account.orders.get(order_id)
                if order is None or order.status != UNTRIGGERED or not order.armed or order.trigger != trigger:
                    continue
                if is_met(order, market):
                    fire(core, account, order)
                    again = True
                else:
                    triggers.add(order)


def waiting(core: Core, code: int) -> list[VenueOrder]:
    """Return the orders of a product that wait for their trigger."""
    accounts = core.state.accounts.values()
    orders = (order for account in accounts for order in account.orders.values())
    return [order for order in orders if order.product == code and order.waiting and order.armed]


def fire(core: Core, account: VenueAccount, order: VenueOrder) -> None:
    """Trigger one waiting order: size it, check it, and let it meet the book."""
    position = account.positions[order.product]
    for other in _rivals(account, order):
        lifecycle.cancel(core, account, other, f"one cancels the other: order {order.id} was triggered")
    order.triggered = True
    account.waiting -= 1
    order.status = NEW
    if order.reducing and not _fit_position(core, account, order):
        return
    limit = order.price or bound(core, order)
    lifecycle.record(core, account, order, "triggered")
    refusal = ""
    if order.tif == POST_ONLY and crosses(core, order):
        refusal = "POST_ONLY would match when triggered"
    elif not order.reducing:
        try:
            account_margin.check_increase(
                core,
                account,
                core.products[order.product],
                position,
                order.side,
                order.leaves,
                limit,
                order.builder_rate,
            )
        except Refused as reason:
            refusal = f"triggered, but {reason.reason}"
    if refusal:
        lifecycle.cancel(core, account, order, refusal)
    else:
        matching.process_order(core, account, position, order, limit)


def bound(core: Core, order: VenueOrder) -> int:
    """Return the worst price, in ticks, that a market order may trade at now."""
    from ...checks import slippage_bound

    market = core.state.markets[order.product]
    return slippage_bound(core.products[order.product], order.side, market.last or market.mark, order.slippage)


def crosses(core: Core, order: VenueOrder) -> bool:
    """Tell whether a limit order would match at once."""
    book = core.books[order.product]
    if order.side > 0:
        return 0 < book.asks.best <= order.price
    return book.bids.best >= order.price


def _rivals(account: VenueAccount, order: VenueOrder) -> list[VenueOrder]:
    """Return what a triggered TP or SL of a bracket ends: its twin, if that was triggered before, and the rest of the
    main order."""
    if not order.group:
        return []
    twins = [other for other in lifecycle.bracket(account, order.group) if other is not order and other.triggered]
    main = account.orders.get(order.group)
    return [*twins, main] if main is not None and main is not order else twins


def _fit_position(core: Core, account: VenueAccount, order: VenueOrder) -> bool:
    """Cut a triggered reducing order to what it may close; cancel it when that is nothing."""
    position = account.positions[order.product]
    leg = closing_leg(account, position, order.side, order.closing)
    size = leg.size if leg is not None else 0
    most = size
    if order.group and order.group != order.id and order.quantity:
        most = min(most, order.cover)
    if order.quantity == 0:
        order.quantity = order.leaves = size
    if most < order.leaves:
        order.leaves = most
        order.reason = f"cut to the position of {core.products[order.product].quantity_text(most)}"
    if not order.leaves:
        names: dict[int, str] = {TP_FROM_POSITION: "take profit", SL_FROM_POSITION: "stop loss"}
        what = names.get(order.reduce, "reduce-only")
        lifecycle.cancel(core, account, order, f"triggered, but there is no position for this {what} to close")
        return False
    return True
