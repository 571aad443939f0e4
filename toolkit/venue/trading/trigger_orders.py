"""Trigger orders: what happens when a trigger price is met (docs/assumptions.md, "Orders"). Prices are in ticks.

A waiting trigger holds no margin. When it is met the order is checked like a new one, and cancelled with a reason if it
does not fit. Triggers that are met at the same instant go by age. A market exit that finds nothing within its bound
stays armed and tries again whenever its market trades, a price moves or somebody offers within the bound.
"""

from __future__ import annotations

from ..engine.commands import Refused
from ..engine.core import Core
from ..engine.registry import post_command
from ..model.accounts import VenueAccount, VenueOrder
from ..model.book import Triggers
from ..model.constants import INDEX_PRICE, LAST_PRICE, MARK_PRICE, NEW, POST_ONLY, UNTRIGGERED
from ..model.state import MarketState
from ..risk.order_margin import check_increase
from . import lifecycle, matching
from .lifecycle import closing_leg, prospects, reference_price, slippage_limit


@post_command("triggers")
def run_triggers(core: Core) -> None:
    """Trigger every order whose trigger was met by a trade or is met now, until none is: each may trade itself."""
    accounts = core.state.accounts
    again = True
    while again:
        again = False
        for code, triggers in core.triggers.items():
            if not (triggers.entries or triggers.met or triggers.retrying):
                continue
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
            for order_id, address, trigger, price_ticks in sorted(due):
                account = accounts[address]
                order = account.orders.get(order_id)
                # entries of orders that have ended, or have another trigger now, stay in the queue until here
                if order is None or order.status != UNTRIGGERED or not order.armed or order.trigger != trigger:
                    continue
                if order.triggered and order.tried == prospects(core, order):
                    continue  # nothing is new to it: it has just been tried, or another order took what was offered
                fire(core, account, order, price_ticks)
                again = True


def _retries(core: Core, triggers: Triggers, market: MarketState) -> list[tuple[int, str, int, int]]:
    """Return the exits that have found nothing before and whose market has changed since; forget the ended ones."""
    found = []
    for order_id, address in list(triggers.retrying.items()):
        order = core.state.accounts[address].orders.get(order_id)
        if order is None:
            del triggers.retrying[order_id]
        elif order.tried != prospects(core, order):
            found.append((order_id, address, order.trigger, reference_price(market, order.trigger_by)))
    return found


def fire(core: Core, account: VenueAccount, order: VenueOrder, price_ticks: int) -> None:
    """Trigger one waiting order, or try it again, at a price: fit it to its position, check it, and match it."""
    position = account.positions[order.product]
    for other in _cancelled_by(account, order):
        lifecycle.cancel(core, account, other, f"one cancels the other: order {order.id} was triggered")
    again, order.triggered = order.triggered, True
    account.waiting -= 1
    order.status = NEW
    if order.reducing:
        _fit_position(core, account, order)
    limit_ticks = order.price or slippage_limit(core, order, price_ticks)
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
    """Return whether a limit order would match at once."""
    best = core.books[order.product].side(-order.side).best
    return best > 0 and (best - order.price) * order.side <= 0


def _cancelled_by(account: VenueAccount, order: VenueOrder) -> list[VenueOrder]:
    """Return the orders that a triggered TP or SL of a bracket cancels.

    These are its twin, if that was triggered before, and the rest of the main order, which would open again what the
    exit closes.
    """
    if not order.group:
        return []
    twins = [other for other in lifecycle.bracket(account, order.group) if other is not order and other.triggered]
    main = account.orders.get(order.group)
    return [*twins, main] if main is not None and main is not order else twins


def _fit_position(core: Core, account: VenueAccount, order: VenueOrder) -> None:
    """Reduce a triggered reduce-only order to what it may close; while it waits there is something."""
    leg = closing_leg(account, account.positions[order.product], order.side, order.closing)
    assert leg is not None
    most_steps = size_steps = leg.size
    if order.group and order.group != order.id and order.quantity:
        # an exit of a bracket closes what its main order has opened, not what other orders have
        most_steps = min(most_steps, order.cover)
    if order.quantity == 0:
        order.quantity = order.leaves = size_steps
    if most_steps < order.leaves:
        order.leaves = most_steps
        order.reason = f"cut to the position of {core.products[order.product].quantity_text(most_steps)}"
