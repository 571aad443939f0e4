"""Positions: what a fill does to an account's legs (docs/assumptions.md, "Money on the venue")."""

from __future__ import annotations

from ...products import Product
from ..engine import events as ev
from ..engine.core import Core
from ..model.accounts import Leg, Position, VenueAccount
from ..model.constants import HEDGE, ISOLATED
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
            found.mode = ISOLATED
        account.positions[product.code] = found
    return found


def closing_leg(account: VenueAccount, position: Position, side: int, closing: bool) -> Leg | None:
    """Return the leg that an order of this side reduces, None when it can only open (hedge mode without close side)."""
    if account.position_mode == HEDGE and not closing:
        return None
    return position.short if side > 0 else position.long


def reduce_leg(leg: Leg, quantity_steps: int, value_micro: int, long: bool) -> int:
    """Close a part of a leg for `value_micro`; return the realised profit in micro-USDC.

    The entry value goes down in proportion, rounded down; the remainder stays with the leg.
    """
    entry = leg.value if quantity_steps == leg.size else leg.value * quantity_steps // leg.size
    pnl = value_micro - entry if long else entry - value_micro
    leg.size -= quantity_steps
    leg.value -= entry
    leg.closed += quantity_steps
    leg.closed_value += value_micro
    leg.pnl += pnl
    return pnl


def grow_leg(leg: Leg, quantity_steps: int, value_micro: int, time_ms: int, exec_id: int) -> None:
    """Add to a leg; from flat, a new term of it begins."""
    if not leg.size:
        leg.term += 1
        leg.opened, leg.opened_by = time_ms, exec_id
        leg.entered = leg.entered_value = leg.closed = leg.closed_value = leg.pnl = leg.fees = leg.funding = 0
    leg.size += quantity_steps
    leg.value += value_micro
    leg.entered += quantity_steps
    leg.entered_value += value_micro


def record_closed(core: Core, account: VenueAccount, position: Position, leg: Leg, side: int) -> None:
    """Record the term of a leg that went flat."""
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
