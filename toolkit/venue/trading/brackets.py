"""Brackets: which TP and SL orders may be attached to which main order (docs/assumptions.md, "Orders").

What happens to them afterwards is in `lifecycle` (arming, one-cancels-other) and `trigger_orders` (triggering).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine.codes import TxCode
from ..engine.commands import Refused
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import HEDGE, REDUCE_ONLY, SL_FROM_POSITION, TP_FROM_POSITION
from . import lifecycle

EXITS = ("TP_FROM_POSITION", "SL_FROM_POSITION")


def parent_of(account: VenueAccount, order: VenueOrder) -> VenueOrder | None:
    """Return the open main order that a TP or SL names by parentOrdId, None when it has none or that is not open."""
    if not order.parent or order.reduce <= REDUCE_ONLY:
        return None
    main = account.orders.get(order.parent)
    if main is None or main.reducing:
        return None
    check_child(main, order)
    check_children(account, main, [*lifecycle.bracket(account, main.id), order])
    return main


def entry_price(account: VenueAccount, item: Mapping[str, Any]) -> int:
    """Return the price, in ticks, that the trigger of an exit with a parentOrdId is compared with.

    That is the price of its main order until it has opened something; 0 = the present price.
    """
    main = account.orders.get(item.get("parentOrdId") or 0)
    if main is None or main.reducing or (item.get("reduceOnlyOption") or item.get("reduceOnly")) not in EXITS:
        return 0
    return 0 if _opened(account.positions[main.product], main) else main.price or main.trigger


def check_child(main: VenueOrder, child: VenueOrder) -> None:
    """Refuse an exit that does not fit its main order."""
    if child.reduce not in (TP_FROM_POSITION, SL_FROM_POSITION):
        raise Refused(
            TxCode.BAD_BRACKET, "orders after the main one need reduceOnly TP_FROM_POSITION or SL_FROM_POSITION"
        )
    if child.side != -main.side:
        raise Refused(TxCode.BAD_BRACKET, "take profit and stop loss must be on the other side than the main order")
    if child.product != main.product:
        raise Refused(TxCode.BAD_BRACKET, "take profit and stop loss must be of the main order's product")
    if child.quantity > main.quantity:
        raise Refused(TxCode.BAD_BRACKET, "take profit and stop loss may not be larger than the main order")


def check_children(account: VenueAccount, main: VenueOrder, children: list[VenueOrder]) -> None:
    """Refuse exits that do not fit each other or the account's position mode."""
    kinds = {child.reduce for child in children}
    if len(kinds) < len(children):
        raise Refused(TxCode.BAD_BRACKET, "a bracket has at most one take profit and one stop loss")
    mode = account.position_mode
    if any(child.closing != (mode == HEDGE) for child in children):
        sides = "the *_CLOSE_HEDGE sides" if mode == HEDGE else "BUY or SELL"
        raise Refused(TxCode.WRONG_SIDE, f"take profit and stop loss need {sides} in this position mode")
    ids = [order.client_id for order in (main, *children) if order.client_id]
    if len(set(ids)) < len(ids):
        raise Refused(TxCode.CLIENT_ID_IN_USE, "each order of a bracket needs a clOrdId of its own")


def join(position: Position, main: VenueOrder, child: VenueOrder) -> None:
    """Attach a TP or SL to its main order: it waits until that has opened a position."""
    main.group = child.group = child.parent = main.id
    child.cover = _opened(position, main)
    child.armed = child.cover > 0


def _opened(position: Position, main: VenueOrder) -> int:
    """Return the steps that a main order has opened, as far as the position still holds them."""
    leg = position.long if main.side > 0 else position.short
    return min(main.filled, leg.size)
