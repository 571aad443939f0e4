"""Matching: an order meets the book, makers keep their price, first come first served.

Each fill is booked for both sides at once (`settlement`). Source: docs/assumptions.md, "Orders".
"""

from __future__ import annotations

from ...products import Product
from ..engine.core import Core
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.book import BookSide
from ..model.constants import CANCELED, FILLED, FOK, GTC, HEDGE, IOC, ISOLATED, MAKER, POST_ONLY, TAKER
from ..model.state import MarketState
from ..risk import account_margin, order_margin
from . import lifecycle, settlement
from .liquidity import fillable
from .positions import position_of


def process_order(core: Core, account: VenueAccount, position: Position, order: VenueOrder, limit_ticks: int) -> None:
    """Match a live order at `limit_ticks` or better; the rest is added to the book or cancelled, by time in force."""
    if order.tif == FOK and not _prepare_fill_or_kill(core, account, order, limit_ticks):
        return
    leg = position.short if order.side > 0 else position.long
    covered = leg.size and account.position_mode != HEDGE
    book = core.books[order.product]
    # most orders meet nobody: they are spared the matching
    if 0 < book.asks.best <= limit_ticks if order.side > 0 else book.bids.best >= limit_ticks:
        match(core, account, position, order, limit_ticks)
    if not order.leaves:
        _end_filled(core, account, position, order)
    elif order.price and (order.tif == GTC or order.tif == POST_ONLY):
        lifecycle.add_to_book(core, account, position, order)
        if order.reduce or order.closing:
            # its own fills may have shrunk the position below what it and older orders would close
            lifecycle.shrink_reduce_only(core, account, position, order.side)
        elif covered:
            # older orders may have lost the cover that this one was accepted for
            lifecycle.drop_uncovered(core, account, position, order.side, order)
    else:
        price = core.products[order.product].price_text(limit_ticks)
        kind = "the market order's bound" if not order.price else "the limit"
        lifecycle.cancel_or_retry(core, account, order, f"nothing more to take at {kind} of {price} or better")


def _prepare_fill_or_kill(core: Core, account: VenueAccount, order: VenueOrder, limit_ticks: int) -> bool:
    """Cancel a FOK order that can't fill completely; otherwise clear its way of makers without margin."""
    there_steps, without_margin = fillable(core, order, limit_ticks)
    if there_steps < order.leaves:
        product = core.products[order.product]
        reason = (
            f"FOK: {product.quantity_text(there_steps)} of {product.quantity_text(order.leaves)} can be filled at"
            f" {product.price_text(limit_ticks)} or better"
        )
        lifecycle.cancel_or_retry(core, account, order, reason)
        return False
    for maker, excess_steps in without_margin:
        trim_uncollateralised_maker(core, maker, excess_steps)
    return True


def match(core: Core, account: VenueAccount, position: Position, order: VenueOrder, limit_ticks: int) -> None:
    """Trade an order against the other side of the book while prices are at `limit_ticks` or better."""
    code, side = order.product, order.side
    book = core.books[code]
    ladder = book.asks if side > 0 else book.bids
    product, market = core.products[code], core.state.markets[code]
    while order.leaves:
        price_ticks = ladder.best
        if not price_ticks or (price_ticks > limit_ticks if side > 0 else price_ticks < limit_ticks):
            break
        maker = next(iter(ladder.levels[price_ticks].orders.values()))
        if maker.address == order.address:
            lifecycle.cancel(core, account, maker, f"self-trade prevented: met order {order.id} of the same account")
        else:
            _fill(core, product, market, account, position, order, maker, ladder, order.leaves)
    if core.risk_index.loosened:
        _drop_uncovered_orders(core)


def fill_maker(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, maker: VenueOrder, most_steps: int
) -> None:
    """Trade up to `most_steps` of a live order against one resting order, wherever that is in the book, at its price.

    For counterparties that know which order they meet.
    """
    code = order.product
    ladder = core.books[code].side(maker.side)
    market = core.state.markets[code]
    _fill(core, core.products[code], market, account, position, order, maker, ladder, most_steps)
    if core.risk_index.loosened:
        _drop_uncovered_orders(core)


def _fill(
    core: Core,
    product: Product,
    market: MarketState,
    account: VenueAccount,
    position: Position,
    order: VenueOrder,
    maker: VenueOrder,
    ladder: BookSide,
    most_steps: int,
) -> None:
    """Trade up to `most_steps` of an order against a resting one at its price.

    What would open an isolated position of the maker without margin is cut. It may be the whole maker.
    """
    maker_account = core.state.accounts[maker.address]
    maker_position = maker_account.positions[maker.product]
    price_ticks, leaves = maker.price, maker.leaves
    quantity_steps = leaves if leaves < most_steps else most_steps
    # the makers of a FOK order were trimmed before the matching: it must not fall short now
    if maker_position.mode == ISOLATED and order.tif != FOK and not (maker.reduce or maker.closing):
        closed = account_margin.reducible(maker_account, maker_position, maker.side)
        opened = quantity_steps - closed
        if not order_margin.has_margin_for(
            core, maker_account, maker_position, maker.side, opened, opened * price_ticks * product.unit
        ):
            trim_uncollateralised_maker(core, maker, leaves - closed)
            quantity_steps = maker.leaves  # what closes, or nothing
            if not quantity_steps:
                return
    order.leaves -= quantity_steps
    lifecycle.fill_resting(core, maker_position, maker, ladder, quantity_steps)
    value = price_ticks * quantity_steps * product.unit
    exec_id = settlement.publish_trade(core, product, market, order.side, price_ticks, quantity_steps, value)
    settle = settlement.settle
    # always the maker first: ledger entries and events are numbered, so their order is part of the state
    settle(
        core, product, market, maker_account, maker_position, maker, price_ticks, quantity_steps, value, MAKER, exec_id
    )
    settle(core, product, market, account, position, order, price_ticks, quantity_steps, value, TAKER, exec_id)
    # a reduce-only maker's own fill may have cancelled the rest of it already
    if not maker.leaves and maker.status < FILLED:
        _end_filled(core, maker_account, maker_position, maker)


def _end_filled(core: Core, account: VenueAccount, position: Position, order: VenueOrder) -> None:
    """End an order without open steps. One that was cut to its position has traded less than it ordered."""
    status = FILLED if order.filled == order.quantity else CANCELED
    lifecycle.end(core, account, position, order, status, order.reason)


def _drop_uncovered_orders(core: Core) -> None:
    """Cut the orders that became opening ones because other orders closed their position, and have no margin for it.

    After the matching, because a fill-or-kill order has counted on every order in the book.
    """
    loosened, core.risk_index.loosened = core.risk_index.loosened, []
    for account, position, side in loosened:
        lifecycle.drop_uncovered(core, account, position, side)


def trim_uncollateralised_maker(core: Core, maker: VenueOrder, excess_steps: int) -> None:
    """Reduce a resting order by the part that would open an isolated position without margin."""
    account = core.state.accounts[maker.address]
    position = account.positions[maker.product]
    lifecycle.reduce_or_cancel(core, account, position, maker, excess_steps, "margin: losses have used up what it held")


def trade_off_book(
    core: Core,
    product: Product,
    buyer: VenueAccount,
    seller: VenueAccount,
    quantity_steps: int,
    price_ticks: int,
    kind: int,
    closing: VenueAccount,
    *,
    opens: bool = False,
) -> tuple[VenueOrder, VenueOrder]:
    """Trade between two accounts outside the book, as orders of type `kind` (ADL, LIQUIDATION); return both orders.

    `closing` is the account that closes (its counterparty closes too where it holds the opposite leg), unless it
    `opens`, which in hedge mode leaves its opposite leg alone. The orders of either account that could only reduce what
    is gone are cut or cancelled. No public trade: the last price stays.
    """
    market = core.state.markets[product.code]
    value = price_ticks * quantity_steps * product.unit
    sides: list[tuple[VenueAccount, Position, VenueOrder]] = []
    for account, side in ((buyer, 1), (seller, -1)):
        position = position_of(core, account, product)
        leg = position.short if side > 0 else position.long
        opening = opens and account is closing
        closes = account.position_mode == HEDGE and leg.size >= quantity_steps and not opening
        order = VenueOrder(
            0, account.address, product.code, side, closes, kind, IOC, 0, price_ticks, quantity_steps, quantity_steps
        )
        lifecycle.accept(core, account, position, order)
        sides.append((account, position, order))
    core.state.last_exec = exec_id = core.state.last_exec + 1
    for account, position, order in sides:
        role = TAKER if account is closing else MAKER
        order.leaves = 0
        settlement.settle(
            core, product, market, account, position, order, price_ticks, quantity_steps, value, role, exec_id
        )
        lifecycle.end(core, account, position, order, FILLED)
    _drop_uncovered_orders(core)
    return sides[0][2], sides[1][2]
