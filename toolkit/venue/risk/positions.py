"""Positions: what a fill does to an account's legs (risk-rules, "Numbers")."""

from __future__ import annotations

from ...products import Product
from ..engine import events as ev
from ..engine.core import Core
from ..model.accounts import Leg, Position, VenueAccount
from ..model.constants import HEDGE
from ..model.history import ClosedPosition

DEFAULT_LEVERAGE = 20
"""Leverage of a position before setLeverage, at most the product's."""


def position_of(core: Core, account: VenueAccount, product: Product) -> Position:
    """Return an account's position in a product, opening an empty one when there is none."""
    found = account.positions.get(product.code)
    if found is None:
        leverage = min(DEFAULT_LEVERAGE * 100, int(product.max_leverage * 100))
        found = Position(product.code, leverage, created=core.state.time, updated=core.state.time)
        if product.only_isolated:
            found.mode = 2
        account.positions[product.code] = found
    return found


def closing_leg(account: VenueAccount, position: Position, side: int, closing: bool) -> Leg | None:
    """Return the leg that an order of this side shrinks, None when it can only open (hedge mode without close side)."""
    if account.position_mode == HEDGE and not closing:
        return None
    return position.short if side > 0 else position.long


def reduce_leg(leg: Leg, quantity: int, value: int, long: bool) -> int:
    """Take `quantity` of a leg out, closed for `value`; return the realised profit.

    The entry value goes down in proportion, rounded down; what rounding leaves stays with the leg.
    """
    part = leg.value if quantity == leg.size else leg.value * quantity // leg.size
    pnl = value - part if long else part - value
    leg.size -= quantity
    leg.value -= part
    leg.closed += quantity
    leg.closed_value += value
    leg.pnl += pnl
    return pnl


def grow_leg(leg: Leg, quantity: int, value: int, time: int) -> None:
    """Add to a leg; from flat, a new life of it begins."""
    if not leg.size:
        leg.term += 1
        leg.opened = time
        leg.entered = leg.entered_value = leg.closed = leg.closed_value = leg.pnl = leg.fees = leg.funding = 0
    leg.size += quantity
    leg.value += value
    leg.entered += quantity
    leg.entered_value += value


def record_closed(core: Core, account: VenueAccount, position: Position, leg: Leg, side: int) -> None:
    """Record the life of a leg that went flat."""
    if account.kind == "market":
        return
    log = core.state.history.closed_positions
    record = ClosedPosition(
        len(log.records) + 1,
        core.state.time,
        account.address,
        position.product,
        side,
        leg.term,
        leg.closed,
        leg.entered_value,
        leg.closed_value,
        leg.pnl,
        leg.fees,
        leg.funding,
        position.leverage,
        leg.opened,
    )
    log.add(account.address, record)
    core.emit(ev.PositionClosed(record))
