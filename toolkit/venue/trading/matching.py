"""Matching: an order meets the book, makers keep their price, first come first served.

Each fill settles both sides at once: position, realised profit, fees, events. Source: risk-rules, "Order rules".
"""

from __future__ import annotations

from ...products import Product
from ..engine import events as ev
from ..engine.core import Core
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import (
    ADL,
    CANCELED,
    FILLED,
    FOK,
    GTC,
    HEDGE,
    IOC,
    ISOLATED,
    MAKER,
    PARTIALLY_FILLED,
    POST_ONLY,
    TAKER,
)
from ..model.history import Candle, OrderEvent, PublicTrade
from ..model.state import MarketState
from ..risk import account_margin, fees, ledger
from ..risk.positions import grow_leg, position_of, record_closed, reduce_leg
from . import lifecycle
from .liquidity import takeable

MINUTE = 60_000


def process_order(core: Core, account: VenueAccount, position: Position, order: VenueOrder, limit: int) -> None:
    """Match a live order up to `limit` ticks; what is left rests or is cancelled, as its time in force says."""
    if order.tif == FOK:
        there, unbearable = takeable(core, order, limit)
        if there < order.leaves:
            product = core.products[order.product]
            reason = (
                f"FOK: {product.quantity_text(there)} of {product.quantity_text(order.leaves)} can be filled at"
                f" {product.price_text(limit)} or better"
            )
            lifecycle.cancel(core, account, order, reason)
            return
        for maker, excess in unbearable:
            trim_uncollateralised_maker(core, maker, excess)
    match(core, account, position, order, limit)
    if not order.leaves:
        lifecycle.end(
            core, account, position, order, FILLED if order.filled == order.quantity else CANCELED, order.reason
        )
    elif order.price and (order.tif == GTC or order.tif == POST_ONLY):
        lifecycle.add_to_book(core, account, position, order)
        if order.reduce or order.closing:
            lifecycle.shrink_reduce_only(core, account, position, order.side)
    else:
        product = core.products[order.product]
        price = product.price_text(limit)
        kind = "the market order's bound" if not order.price else "the limit"
        lifecycle.cancel(core, account, order, f"nothing more to take at {kind} of {price} or better")


def match(core: Core, account: VenueAccount, position: Position, order: VenueOrder, limit: int) -> None:
    """Trade an order against the other side of the book while prices are at `limit` or better."""
    code, side, address = order.product, order.side, order.address
    book = core.books[code]
    ladder = book.asks if side > 0 else book.bids
    state = core.state
    product, market = core.products[code], state.markets[code]
    accounts = state.accounts
    while order.leaves:
        price = ladder.best
        if not price or (price > limit if side > 0 else price < limit):
            break
        level = ladder.levels[price]
        maker = next(iter(level.orders.values()))
        if maker.address == address:
            lifecycle.cancel(core, account, maker, f"self-trade prevented: met order {order.id} of the same account")
            continue
        maker_account = accounts[maker.address]
        maker_position = maker_account.positions[code]
        wanted, there = order.leaves, maker.leaves
        quantity = there if there < wanted else wanted
        if maker_position.mode == ISOLATED and order.tif != FOK and not (maker.reduce or maker.closing):
            closed = account_margin.reducible(maker_account, maker_position, -side)
            opened = quantity - closed
            if not account_margin.has_margin_for(
                core, maker_account, maker_position, -side, opened, opened * price * product.unit
            ):
                trim_uncollateralised_maker(core, maker, there - closed)
                continue
        order.leaves = wanted - quantity
        maker.leaves = there - quantity
        level.total -= quantity
        lifecycle.uncount(core, maker_position, maker, quantity)
        if there == quantity:
            maker.priority = 0
            del level.orders[maker.id]
            if not level.orders:
                ladder.drop(level)
        market.sequence += 1
        if core.recording:
            core.events.append(ev.BookChange(code, -side, price, level.total, market.sequence))
        value = price * quantity * product.unit
        exec_id = publish(core, product, market, side, price, quantity, value)
        settle(core, product, market, maker_account, maker_position, maker, price, quantity, value, MAKER, exec_id)
        settle(core, product, market, account, position, order, price, quantity, value, TAKER, exec_id)
        if not maker.leaves and maker.status < FILLED:
            whole = maker.filled == maker.quantity
            lifecycle.end(core, maker_account, maker_position, maker, FILLED if whole else CANCELED, maker.reason)
    if core.risk_index.loosened:
        _tighten(core)


def _tighten(core: Core) -> None:
    """Cut the orders that closings of other orders have made opening ones and that have no margin for it.

    After the matching, because a fill-or-kill order has counted on every order in the book.
    """
    loosened, core.risk_index.loosened = core.risk_index.loosened, []
    for account, position, side in loosened:
        lifecycle.drop_uncovered(core, account, position, side)


def trim_uncollateralised_maker(core: Core, maker: VenueOrder, excess: int) -> None:
    """Cut a resting order that would open an isolated position without margin by what it would open."""
    account = core.state.accounts[maker.address]
    position = account.positions[maker.product]
    lifecycle.reduce_or_cancel(core, account, position, maker, excess, "margin: losses have used up what it held")


def publish(core: Core, product: Product, market: MarketState, side: int, price: int, quantity: int, value: int) -> int:
    """Record a public trade (`side` of the taker) with its candle; return its number."""
    state = core.state
    code, time = product.code, state.time
    state.last_exec = exec_id = state.last_exec + 1
    market.last = price
    market.trades += 1
    trade = PublicTrade(exec_id, time, code, side, price, quantity, core.step_hash or core.tx_hash())
    history = state.history
    history.trades[code].append(trade)
    candles = history.candles[code]
    start = time - time % MINUTE
    candle = candles[-1] if candles else None
    if candle is not None and candle.start == start:
        candle.close = price
        if price > candle.high:
            candle.high = price
        elif price < candle.low:
            candle.low = price
        candle.volume += quantity
        candle.turnover += value
        candle.count += 1
    else:
        candles.append(Candle(start, price, price, price, price, quantity, value, 1))
    if core.recording:
        core.events.append(ev.TradeDone(trade))
        core.events.append(ev.CandleChanged(code, start))
    return exec_id


def settle(
    core: Core,
    product: Product,
    market: MarketState,
    account: VenueAccount,
    position: Position,
    order: VenueOrder,
    price: int,
    quantity: int,
    value: int,
    role: int,
    exec_id: int,
) -> None:
    """Book one side of a trade; `order.leaves` has gone down already."""
    state = core.state
    side, time, address = order.side, state.time, order.address
    against, into = (position.short, position.long) if side > 0 else (position.long, position.short)
    before, entry = against.size, against.value
    closed = close_value = pnl = 0
    opened, open_value = quantity, value
    if before and (order.closing or account.position_mode != HEDGE):
        closed, close_value = quantity, value
        if before < quantity:
            closed, close_value = before, before * price * product.unit
        opened, open_value = quantity - closed, value - close_value
        pnl = reduce_leg(against, closed, close_value, side < 0)
        if side < 0:
            market.open_interest -= closed
        if pnl:
            ledger.realize(core, account, pnl, product.code, str(order.id))
    if opened:
        grow_leg(into, opened, open_value, time)
        if side > 0:
            market.open_interest += opened
    desk = core.risk_index
    desk.touched[address] = account
    if not into.size:
        if not against.size:
            desk.holders[product.code].pop(address, None)
    elif into.size == opened:
        desk.holders[product.code][address] = account
    open_fee, close_fee, builder_fee = fees.charge(core, account, product, order, role, open_value, close_value)
    if position.mode == ISOLATED:
        gained = pnl - close_fee
        account_margin.settle_isolated(
            core,
            account,
            position,
            side,
            opened=opened,
            opened_value=open_value,
            closed_value=entry - against.value,
            gained=gained,
        )
    if open_fee:
        into.fees += open_fee
    if close_fee:
        against.fees += close_fee
    if pnl:
        position.pnl += pnl
    position.fees += open_fee + close_fee
    position.updated = account.updated = order.updated = time
    order.filled += quantity
    order.value += value
    order.fee += open_fee + close_fee
    if builder_fee:
        order.builder_fee += builder_fee
    order.status = PARTIALLY_FILLED
    if account.kind != "market":
        order.height = height = core.height
        history = state.history
        log = history.order_events
        records = log.records
        event = OrderEvent(
            len(records) + 1,
            time,
            height,
            core.step_hash or core.tx_hash(),
            address,
            order.product,
            order.id,
            order.client_id,
            side,
            order.closing,
            order.type,
            order.tif,
            order.reduce,
            FILLED if order.filled == order.quantity else PARTIALLY_FILLED,
            order.price,
            order.quantity,
            order.leaves,
            order.trigger,
            order.slippage,
            price,
            quantity,
            exec_id,
            role,
            pnl,
            open_fee,
            close_fee,
            builder_fee,
            position.long.term,
            position.short.term,
        )
        at = len(records)
        fills = history.fills.get(address)
        if fills is None:
            fills = history.fills[address] = []
        fills.append(at)
        index = log.by_account.get(address)
        if index is None:
            index = log.by_account[address] = []
        index.append(at)
        records.append(event)
        if core.recording:
            core.events.append(ev.OrderChanged(event))
            core.events.append(ev.PositionChanged(address, order.product))
    if order.group:
        lifecycle.group_filled(core, account, order, opened)
    if closed:
        if not against.size:
            record_closed(core, account, position, against, -side)
            if position.reducers:
                lifecycle.cancel_orders_of_closed_leg(core, account, position, side, order)
        elif position.buy_reducing if side > 0 else position.sell_reducing:
            lifecycle.shrink_reduce_only(core, account, position, side)
        if (position.buy_quantity if side > 0 else position.sell_quantity) > against.size:
            if (role == TAKER or order.reduce or order.type >= ADL) and account.position_mode != HEDGE:
                core.risk_index.loosened.append((account, position, side))


def trade_off_book(
    core: Core,
    product: Product,
    buyer: VenueAccount,
    seller: VenueAccount,
    quantity: int,
    price: int,
    kind: int,
    closing: VenueAccount,
) -> tuple[VenueOrder, VenueOrder]:
    """Trade between two accounts outside the book at `price`, as `kind` (ADL, LIQUIDATION); return both orders.

    `closing` is the account that closes (its counterpart closes too where it holds the opposite leg). The orders of
    either account that could only reduce what is gone are cut or cancelled. No public trade: the last price stays.
    """
    market = core.state.markets[product.code]
    value = price * quantity * product.unit
    orders = []
    for account, way in ((buyer, 1), (seller, -1)):
        position = position_of(core, account, product)
        leg = position.short if way > 0 else position.long
        closes = account.position_mode == HEDGE and leg.size >= quantity
        order = VenueOrder(0, account.address, product.code, way, closes, kind, IOC, 0, price, quantity, quantity)
        lifecycle.accept(core, account, position, order)
        orders.append(order)
    core.state.last_exec = exec_id = core.state.last_exec + 1
    for account, order in zip((buyer, seller), orders, strict=True):
        position = account.positions[product.code]
        role = TAKER if account is closing else MAKER
        order.leaves = 0
        settle(core, product, market, account, position, order, price, quantity, value, role, exec_id)
        lifecycle.end(core, account, position, order, FILLED)
    _tighten(core)
    return orders[0], orders[1]
