"""No fill makes a debt: how much of a fill the margin behind it can bear, at the current mark and with its fees.

The closing part of a fill trades at the leg's bankruptcy price or better. A fill is limited to the steps whose loss
against mark and fees the equity covers. For cross positions that is the cross equity. For isolated ones it is their own
equity for the closing part, and `spare` for the opening part. The formulas are those of `exposure`.
"""

from __future__ import annotations

from ...exposure import bankruptcy_ticks, bearable
from ..engine.core import Core
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import HEDGE, ISOLATED, RATE
from . import fees
from .account_margin import cross_equity, mark_step, unrealized
from .order_margin import spare


def bearable_steps(
    core: Core, position: Position, order: VenueOrder, steps: int, price_ticks: int, role: int, brought: int = 0
) -> int:
    """Return how many of the steps of an order its account can trade at a price without a debt.

    Simulated participants trade on the venue's credit.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    position : Position
        Position of the account in the product, after earlier fills.
    order : VenueOrder
        Order that trades.
    steps : int
        Steps that could trade.
    price_ticks : int
        Price of the fill in ticks.
    role : int
        MAKER or TAKER, for the fee.
    brought : int, optional
        What unbooked earlier fills add to the cross equity, in micro-USDC (default: 0).
    """
    account = core.state.accounts[order.address]
    if account.kind == "market":
        return steps
    table = core.risk_index.tables[order.product]
    mark_ticks, unit, side = core.state.markets[order.product].mark, table.unit, order.side
    if position.mode != ISOLATED and not order.builder_rate and account.maker_rate is account.taker_rate is None:
        # most fills are far from it: their loss if all of the leg closed, and more than any fee, leave much
        lost = side * (price_ticks - mark_ticks) * (position.long.size + position.short.size + steps) * unit
        most = max(0, lost) + price_ticks * steps * unit * max(table.maker_rate, table.taker_rate) // RATE + 1
        if most < cross_equity(core, account) + brought:
            return steps
    rate = fees.fill_rate(core, account, order, role)
    closes, equity = _means(core, account, position, order, brought)
    # The closing part trades at the leg's bankruptcy price or better, or not at all. A part of it at a worse price
    # would only lower the equity of the rest.
    if closes and bearable(side, closes, price_ticks, mark_ticks, unit, 0, equity) < closes:
        return 0
    if steps <= closes or not closes or position.mode != ISOLATED:
        return bearable(side, steps, price_ticks, mark_ticks, unit, rate, equity)
    fits = bearable(side, closes, price_ticks, mark_ticks, unit, rate, equity)
    if fits < closes:
        return fits
    # a flip: what it opens may use what the closing sets free
    lost = side * (price_ticks - mark_ticks) * closes * unit - -closes * price_ticks * unit * rate // RATE
    equity = spare(core, account, brought + equity - lost)
    return closes + bearable(side, steps - closes, price_ticks, mark_ticks, unit, rate, equity)


def _means(core: Core, account: VenueAccount, position: Position, order: VenueOrder, brought: int) -> tuple[int, int]:
    """Return the steps of the leg that an order closes first, and the equity that answers for the fill."""
    closes = 0
    if order.closing or account.position_mode != HEDGE:
        closes = (position.short if order.side > 0 else position.long).size
    if position.mode != ISOLATED:
        equity = cross_equity(core, account) + brought
    elif closes:
        equity = position.assigned + unrealized(position, mark_step(core, order.product))
    else:
        equity = spare(core, account, brought)
    return closes, equity - 1 if order.builder_rate else equity  # each of its two fees is rounded up


def beyond_means(core: Core, position: Position, order: VenueOrder) -> str:
    """Return why an order trades no further: the price beyond which its fill would make a debt.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    position : Position
        Position of the account in the product.
    order : VenueOrder
        Order that was stopped.
    """
    product, mark_ticks = core.products[order.product], core.state.markets[order.product].mark
    closes, equity = _means(core, core.state.accounts[order.address], position, order, 0)
    steps = closes or order.leaves
    price_ticks = max(bankruptcy_ticks(order.side, steps, mark_ticks, product.unit, equity), 0)
    quantity, price = product.quantity_text(steps), product.price_text(price_ticks)
    return f"bankruptcy price: {quantity} at {price} would use up the equity, before fees. No fill makes a debt"
