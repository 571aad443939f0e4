"""What a trade does to its two accounts and to the public record: positions, fees, events, candles.

Source: docs/assumptions.md, "Money on the venue" and "Orders".
"""

from __future__ import annotations

from ...products import Product
from ..engine import events as ev
from ..engine.core import Core
from ..model.accounts import Leg, Position, VenueAccount, VenueOrder
from ..model.constants import ADL, HEDGE, ISOLATED, PARTIALLY_FILLED, TAKER
from ..model.history import Candle, ClosedPosition, PublicTrade
from ..risk import fees, ledger, order_margin
from . import lifecycle

MINUTE_MS = 60_000


def publish_trade(
    core: Core, product: Product, side: int, price_ticks: int, steps: int, tx_hash: str | None = None
) -> PublicTrade:
    """Record a public trade (`side` of the taker) with its candle, and return it.

    `tx_hash` "" leaves the hash to `PublicTrade.hash`; None is that of the present transaction.
    """
    state = core.state
    code, time, value_micro = product.code, state.time, price_ticks * steps * product.unit
    market = state.markets[code]
    state.last_exec = exec_id = state.last_exec + 1
    market.last = price_ticks
    market.trades += 1
    core.triggers[code].see_trade(price_ticks)
    if tx_hash is None:
        tx_hash = core.step_hash or core.tx_hash()
    trade = PublicTrade(exec_id, time, code, side, price_ticks, steps, tx_hash)
    history = state.history
    history.trades[code].append(trade)
    candles = history.candles[code]
    start = time - time % MINUTE_MS
    candle = candles[-1] if candles else None
    if candle is not None and candle.start == start:
        candle.close = price_ticks
        if price_ticks > candle.high:
            candle.high = price_ticks
        elif price_ticks < candle.low:
            candle.low = price_ticks
        candle.volume += steps
        candle.turnover += value_micro
        candle.count += 1
    else:
        candles.append(Candle(start, price_ticks, price_ticks, price_ticks, price_ticks, steps, value_micro, 1))
    if core.recording:
        core.events.append(ev.TradeDone(trade))
        core.events.append(ev.CandleChanged(code, start))
    return trade


def settle(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, trade: PublicTrade, role: int
) -> None:
    """Book one side of a trade, public or not; `order.leaves` has gone down already."""
    side, time, code = order.side, core.state.time, order.product
    product, price_ticks, steps = core.products[code], trade.price, trade.quantity
    value_micro = price_ticks * steps * product.unit
    against, into = (position.short, position.long) if side > 0 else (position.long, position.short)
    size_before, entry_before = against.size, against.value
    closed = close_value = pnl = 0
    opened, open_value = steps, value_micro
    if size_before and (order.closing or account.position_mode != HEDGE):
        closed, close_value = steps, value_micro
        if size_before < steps:  # the order flips the position: close it, and open the rest
            closed, close_value = size_before, size_before * price_ticks * product.unit
        opened, open_value = steps - closed, value_micro - close_value
        pnl = against.close(closed, close_value, side < 0)
        if pnl:
            position.pnl += pnl
            ledger.realize(core, account, pnl, code, str(order.id))
    if opened:
        into.grow(opened, open_value, time, trade.id)
    core.state.markets[code].open_interest += opened if side > 0 else -closed  # counts the longs
    # the risk index: whom the liquidation check must look at, and who holds a position
    core.risk_index.touched[account.address] = account
    if into.size == opened:
        if opened or not against.size:
            core.risk_index.note(code, account, opened > 0)
    open_fee, close_fee, builder_fee = fees.charge(core, account, product, order, role, open_value, close_value)
    if position.mode == ISOLATED:
        closed_entry, gained = entry_before - against.value, pnl - close_fee
        order_margin.settle_isolated(core, account, position, side, opened, open_value, closed_entry, gained)
    into.fees += open_fee
    against.fees += close_fee
    position.fees += open_fee + close_fee
    position.updated = account.updated = order.updated = time
    order.filled += steps
    order.value += value_micro
    order.fee += open_fee + close_fee
    if builder_fee:
        order.builder_fee += builder_fee
    order.status = PARTIALLY_FILLED  # `lifecycle.end` makes it FILLED
    if account.kind != "market":
        history = core.state.history
        history.fills.setdefault(order.address, []).append(len(history.order_events.records))
        costs, terms = (pnl, open_fee, close_fee, builder_fee), (position.long.term, position.short.term)
        lifecycle.record(core, account, order, "", (price_ticks, steps, trade.id, role, *costs, *terms))
        if core.recording:
            core.events.append(ev.PositionChanged(order.address, code))
    if order.group:
        lifecycle.group_filled(core, account, order, opened)
    if closed:
        _cut_orders_of_leg(core, account, position, order, against, role)


def _cut_orders_of_leg(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, leg: Leg, role: int
) -> None:
    """Cut the resting orders that would close more of a leg than is left of it, after `order` has closed a part."""
    side = order.side
    if not leg.size:
        _record_closed(core, account, position, leg, -side)
        if position.reducers:
            lifecycle.cancel_orders_of_closed_leg(core, account, position, side, order)
    elif position.buy_reducing if side > 0 else position.sell_reducing:
        lifecycle.shrink_reduce_only(core, account, position, side)
    if (position.buy_quantity if side > 0 else position.sell_quantity) > leg.size:
        # the fill of a plain maker lowers the sum of the resting orders as much as the leg: nothing new is uncovered
        if (role == TAKER or order.reduce or order.type >= ADL) and account.position_mode != HEDGE:
            core.risk_index.loosened.append((account, position, side))


def _record_closed(core: Core, account: VenueAccount, position: Position, leg: Leg, side: int) -> None:
    """Record the term of a leg that went flat."""
    if account.kind == "market":
        return
    log = core.state.history.closed_positions
    life = leg.term, leg.closed, leg.entered_value, leg.closed_value, leg.pnl, leg.fees, leg.funding
    where = core.state.time, account.address, position.product, side
    record = ClosedPosition(len(log.records) + 1, *where, *life, position.leverage, leg.opened)
    log.add(account.address, record)
    core.emit(ev.PositionClosed(record))
