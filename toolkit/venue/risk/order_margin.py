"""Which orders may add risk: position limit, leverage of the tier, and initial margin (risk-rules, "Margin")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...numerals import micro_text
from ...products import Product
from ..engine.codes import TxCode
from ..engine.commands import Refused
from ..model.accounts import Position, VenueAccount
from ..model.constants import ISOLATED, LIQUIDATING, ONE_WAY
from ..model.risk_index import RiskTable
from . import fees
from .account_margin import (
    equity_and_initial,
    exposure,
    held,
    isolated_margin,
    leverage_text,
    mark_step,
    orders_margin,
    reducible,
    required,
)
from .isolated_fills import margin_to_open

if TYPE_CHECKING:
    from ..engine.core import Core


def check_increase(
    core: Core,
    account: VenueAccount,
    product: Product,
    position: Position,
    side: int,
    quantity_steps: int,
    price_ticks: int,
    builder_rate: int = 0,
    *,
    only_size: bool = False,
) -> None:
    """Refuse an order that may add risk and does not fit; `position` does not yet count it.

    `price_ticks` is the limit, or a market order's slippage bound; what trades below mark counts at mark, where the
    position will be valued. An order that the position covers always passes, whatever rests on its side: orders that
    lose their cover by it are cut (`lifecycle.drop_uncovered`). A larger one is judged as if it had closed the position
    and those orders were gone. The notional it could lead to must be within the product's limit, the leverage within
    that of its tier, and equity must cover the initial margin after it, counting the fees of what it trades at once and
    what those fills lose against mark.

    `only_size` leaves the margin out. Reduce-only orders and hedge closes are not checked here. Simulated participants
    trade on the venue's credit.
    """
    if account.kind == "market":
        return
    table = core.risk_index.tables[product.code]
    unit = table.unit
    cover_steps = reducible(account, position, side)
    if quantity_steps <= cover_steps:
        return
    if account.status == LIQUIDATING and core.state.liquidations:
        _refuse_in_liquidation(core, account, position)
    mark_ticks = core.state.markets[product.code].mark
    taken_steps, paid = _immediate_fill(core, account, position, side, quantity_steps, price_ticks)
    gain = 0
    if side > 0:
        value = price_ticks * quantity_steps * unit
        # a buy below mark reserves margin at its price, but what it fills at once is worth more, at mark
        gain = (mark_ticks - price_ticks) * taken_steps * unit if price_ticks < mark_ticks else 0
    else:
        value = (price_ticks if price_ticks > mark_ticks else mark_ticks) * quantity_steps * unit
    lost_micro = _uncovered_value(account, position, side, cover_steps, unit) if cover_steps else 0
    _check_notional(account, position, table, side, value + gain - lost_micro, mark_ticks * unit)
    if only_size:
        return
    if cover_steps:
        equity, initial = _after_close(core, account, position, side, value - lost_micro, mark_ticks * unit)
    else:
        added = (value, 0) if side > 0 else (0, value)
        equity, initial = equity_and_initial(core, account, position, *added)
    loss = 0
    if taken_steps:
        if position.mode == ISOLATED:
            _check_isolated_growth(core, account, position, side, taken_steps, paid * unit)
        roundings = 0
        if builder_rate or position.mode == ISOLATED:
            # margin and builder fees are rounded up at every fill, up to a micro-USDC each
            roundings = _fill_count(core, account, position, side, taken_steps) - 1
        loss = max(0, side * (paid - mark_ticks * taken_steps)) * unit
        loss += fees.worst_cost(core, account, product, paid * unit, builder_rate, roundings)
        if position.mode == ISOLATED:
            initial += roundings
    if equity - loss < initial:
        cost = f" and {micro_text(loss)} for what it would trade at once (fees, and prices beyond mark)" if loss else ""
        raise Refused(
            TxCode.INSUFFICIENT_MARGIN,
            f"margin: the order needs initial margin {micro_text(initial)} USDC in all{cost}; "
            f"equity {micro_text(equity)} is {micro_text(initial + loss - equity)} short",
        )


def _uncovered_value(account: VenueAccount, position: Position, side: int, cover_steps: int, unit: int) -> int:
    """Return the value of the resting orders of `side` that lose their cover when it closes, last placed first."""
    found, left = 0, min(cover_steps, position.buy_quantity if side > 0 else position.sell_quantity)
    for order in reversed(account.orders.values()):
        if not left:
            break
        if order.product == position.product and order.side == side and order.priority and not order.reducing:
            found += min(left, order.leaves) * order.price * unit
            left -= min(left, order.leaves)
    return found


def _after_close(
    core: Core, account: VenueAccount, position: Position, side: int, value_micro: int, step_micro: int
) -> tuple[int, int]:
    """Return equity and initial margin when orders of `side` worth `value_micro` more have closed the position."""
    equity, initial = equity_and_initial(core, account)
    held_micro = held(position, step_micro)
    if position.mode == ISOLATED:
        initial -= orders_margin(position, step_micro, hedge=False)
        equity += isolated_margin(core, position).equity
    else:
        initial -= required(exposure(position, step_micro, hedge=False), position.leverage)
    buys, sells = position.buy_value, position.sell_value
    same, other = (buys, sells) if side > 0 else (sells, buys)
    return equity, initial + required(max(same + value_micro - held_micro, other), position.leverage)


def _check_isolated_growth(
    core: Core, account: VenueAccount, position: Position, side: int, taken_steps: int, paid_micro: int
) -> None:
    """Refuse to grow an isolated position that, with the margin of what opens, is not above its maintenance margin."""
    if not (position.long.size or position.short.size) or reducible(account, position, side):
        return  # a flip closes the position, and what it opens has its own margin
    table, own = core.risk_index.table(position.product), isolated_margin(core, position)
    step_micro = mark_step(core, position.product)
    taken_margin, _ = margin_to_open(position, side, taken_steps, paid_micro, step_micro)
    equity = own.equity + taken_margin + side * (taken_steps * step_micro - paid_micro)
    leg_micro = (position.long if side > 0 else position.short).size * step_micro
    more = table.maintenance(leg_micro + taken_steps * step_micro) - table.maintenance(leg_micro)
    if equity <= own.maintenance + more:
        raise Refused(
            TxCode.INSUFFICIENT_MARGIN,
            f"margin: the isolated {table.product.symbol} position would have equity {micro_text(equity)} USDC and "
            f"maintenance margin {micro_text(own.maintenance + more)}; add to it with assignPosMargin before it grows",
        )


def _immediate_fill(
    core: Core, account: VenueAccount, position: Position, side: int, quantity_steps: int, limit_ticks: int
) -> tuple[int, int]:
    """Return the steps that an order would trade at once, and the sum of ticks × steps that it would pay."""
    book = core.books[position.product]
    ladder = book.asks if side > 0 else book.bids
    best = ladder.best
    if not best or (best > limit_ticks if side > 0 else best < limit_ticks):
        return 0, 0
    own = position.sell_quantity + position.sell_reducing if side > 0 else position.buy_quantity + position.buy_reducing
    address, left, paid = account.address, quantity_steps, 0
    for level in ladder.within(limit_ticks):
        there = level.total
        if own:  # the account's own orders will be cancelled, not traded with
            for order in level.orders.values():
                if order.address == address:
                    there -= order.leaves
        if there > left:
            there = left
        left -= there
        paid += there * level.price
        if not left:
            break
    return quantity_steps - left, paid


def _fill_count(core: Core, account: VenueAccount, position: Position, side: int, quantity_steps: int) -> int:
    """Return how many orders of other accounts so many steps would fill."""
    book = core.books[position.product]
    met = 0
    for level in book.asks if side > 0 else book.bids:
        for order in level.orders.values():
            if quantity_steps <= 0:
                return met
            if order.address != account.address:
                met += 1
                quantity_steps -= order.leaves
    return met


def _reach(account: VenueAccount, position: Position, side: int, step_micro: int) -> int:
    """Return the notional that a position could reach by its resting orders of `side`."""
    if side > 0:
        own, other, resting = position.long.size, position.short.size, position.buy_value
    else:
        own, other, resting = position.short.size, position.long.size, position.sell_value
    if account.position_mode == ONE_WAY:
        own -= other
    return own * step_micro + resting


def fits(core: Core, account: VenueAccount, position: Position, side: int) -> bool:
    """Return whether equity covers the initial margin, and the orders of `side` are within the limits of size."""
    equity, initial = equity_and_initial(core, account)
    if equity < initial:
        return False
    table = core.risk_index.tables[position.product]
    reach = _reach(account, position, side, mark_step(core, position.product))
    return reach <= table.max_notional and position.leverage <= table.leverage_limit(max(reach, 0))


def _check_notional(
    account: VenueAccount, position: Position, table: RiskTable, side: int, value_micro: int, step_micro: int
) -> None:
    """Refuse an order of `value_micro` that could make the position too large for its limit or its leverage."""
    reach = _reach(account, position, side, step_micro) + value_micro
    if reach > table.max_notional:
        raise Refused(
            TxCode.POSITION_LIMIT,
            f"position and orders would reach {micro_text(reach)} USDC, above maxPositionNtnl "
            f"{micro_text(table.max_notional)} of {table.product.symbol}",
        )
    limit = table.leverage_limit(reach)
    if position.leverage > limit:
        raise Refused(
            TxCode.LEVERAGE_TIER,
            f"at a notional of {micro_text(reach)} USDC {table.product.symbol} allows leverage "
            f"{leverage_text(limit)}, yours is {leverage_text(position.leverage)}",
        )


def _refuse_in_liquidation(core: Core, account: VenueAccount, position: Position) -> None:
    product = position.product if position.mode == ISOLATED else 0
    if f"{account.address}:{product}" in core.state.liquidations:
        raise Refused(
            TxCode.POSITION_IN_LIQUIDATION, "the position is being liquidated; only orders that reduce are taken"
        )
