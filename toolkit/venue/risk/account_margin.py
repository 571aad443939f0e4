"""Margin of accounts: equity, initial and maintenance margin, what is available, and which orders may add risk.

Cross equity = balance + unrealised PnL of the cross positions (isolated margins have left the balance). Isolated
equity = assigned margin + unrealised PnL of that product's position, both legs together. Positions are valued at
mark, orders at their price. Everything is integers (see `state`); requirements are rounded up. The formulas are those
of `toolkit.margin`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from ... import margin
from ...numerals import micro_text, shortest_text
from ...products import MICRO, Product
from ..engine.codes import TxCode
from ..engine.commands import Refused
from ..model.accounts import Position, VenueAccount
from ..model.constants import HEDGE, ISOLATED, LIQUIDATING, ONE_WAY, RATE
from ..model.risk_index import RiskTable
from . import fees
from .ledger import assign

if TYPE_CHECKING:
    from ..engine.core import Core


class Figures(NamedTuple):
    """Equity, initial and maintenance margin of the cross positions or of one isolated position, micro-USDC."""

    equity: int
    initial: int
    maintenance: int

    @property
    def unhealthy(self) -> bool:
        """True when liquidation begins: maintenance margin at or above equity, or nothing left."""
        return self.maintenance > 0 and self.equity <= self.maintenance

    @property
    def ratio(self) -> int | None:
        """Margin ratio in parts of RATE, rounded up; 0 without positions, None when no equity is left."""
        if not self.maintenance:
            return 0
        return None if self.equity <= 0 else -(-self.maintenance * RATE // self.equity)


class WalletFigures(NamedTuple):
    """What an account has, micro-USDC."""

    balance: int
    """Cash, isolated margins included."""
    equity: int
    """Balance and the unrealised PnL of all positions."""
    available: int
    """For new positions and orders; negative when the margin is no longer covered."""
    withdrawable: int
    initial: int
    """Margin held by positions (isolated: assigned) and orders."""
    maintenance: int
    unrealized: int
    isolated: int
    """Sum of the assigned margins."""


def required(value: int, leverage: int) -> int:
    """Return the initial margin of a notional at a leverage in hundredths, rounded up."""
    return -(-value * 100 // leverage)


def unrealized(position: Position, price: int) -> int:
    """Return the unrealised PnL of both legs; `price` is the money of one step (mark × unit)."""
    long, short = position.long, position.short
    return (long.size - short.size) * price - long.value + short.value


def exposure(position: Position, price: int, hedge: bool) -> int:
    """Return the notional that needs margin: the position with whichever of its orders could fill.

    One-way: the larger of what all buys or all sells would leave; hedge: both legs and all opening orders.
    """
    long, short = position.long.size * price, position.short.size * price
    if hedge:
        return long + short + position.buy_value + position.sell_value
    net = long - short
    return max(net + position.buy_value, position.sell_value - net, net, -net)


def held(position: Position, price: int) -> int:
    """Return the notional of the legs alone."""
    return (position.long.size + position.short.size) * price


def cross_margin(core: Core, account: VenueAccount) -> Figures:
    """Return the figures of the cross positions, and of all orders: those of isolated products are paid from here."""
    equity = account.balance
    initial = maintenance = 0
    hedge = account.position_mode == HEDGE
    markets, desk = core.state.markets, core.risk_index
    for code, position in account.positions.items():
        long, short = position.long.size, position.short.size
        if not (long or short or position.buy_quantity or position.sell_quantity):
            continue
        table = desk.table(code)
        price = markets[code].mark * table.unit
        if position.mode == ISOLATED:
            extra = exposure(position, price, hedge) - (long + short) * price
            initial += required(extra, position.leverage)
            continue
        equity += (long - short) * price - position.long.value + position.short.value
        if long:
            maintenance += table.maintenance(long * price)
        if short:
            maintenance += table.maintenance(short * price)
        initial += required(exposure(position, price, hedge), position.leverage)
    return Figures(equity, initial, maintenance)


def healthy(core: Core, account: VenueAccount) -> bool:
    """Tell in one pass whether no position of an account is to be liquidated and nothing is owed."""
    equity = account.balance
    maintenance = 0
    markets, tables = core.state.markets, core.risk_index.tables
    for code, position in account.positions.items():
        long, short = position.long, position.short
        longs, shorts = long.size, short.size
        if not (longs or shorts):
            continue
        table = tables[code]
        price = markets[code].mark * table.unit
        need = table.maintenance(longs * price) if longs else 0
        if shorts:
            need += table.maintenance(shorts * price)
        pnl = (longs - shorts) * price - long.value + short.value
        if position.mode != ISOLATED:
            equity += pnl
            maintenance += need
        elif position.assigned + pnl <= need:
            return False
    return equity > maintenance or (not maintenance and equity >= 0)


def isolated_margin(core: Core, position: Position) -> Figures:
    """Return the figures of one isolated position (without its orders)."""
    table = core.risk_index.table(position.product)
    price = core.state.markets[position.product].mark * table.unit
    long, short = position.long.size * price, position.short.size * price
    equity = position.assigned + unrealized(position, price)
    return Figures(
        equity, required(long + short, position.leverage), table.maintenance(long) + table.maintenance(short)
    )


def group(core: Core, account: VenueAccount, product: int) -> Figures:
    """Return the figures that decide over a product's position: its own if isolated, the cross ones otherwise."""
    position = account.positions.get(product)
    if position is not None and position.mode == ISOLATED:
        return isolated_margin(core, position)
    return cross_margin(core, account)


def wallet(core: Core, account: VenueAccount) -> WalletFigures:
    """Return what an account has, holds and may use."""
    figures = cross_margin(core, account)
    apart = apart_pnl = positive = total = 0
    maintenance, margin_held = figures.maintenance, figures.initial
    for code, position in account.positions.items():
        if not (position.long.size or position.short.size):
            continue
        pnl = unrealized(position, core.state.markets[code].mark * core.risk_index.table(code).unit)
        total += pnl
        if position.mode == ISOLATED:
            apart += position.assigned
            apart_pnl += pnl
            maintenance += isolated_margin(core, position).maintenance
        else:
            positive += max(0, pnl)
    return WalletFigures(
        balance=account.balance + apart,
        equity=figures.equity + apart + apart_pnl,
        available=figures.equity - figures.initial,
        withdrawable=max(0, figures.equity - positive - figures.initial),
        initial=margin_held + apart,
        maintenance=maintenance,
        unrealized=total,
        isolated=apart,
    )


def available(core: Core, account: VenueAccount) -> int:
    """Return what new positions and orders may use: balance + cross PnL − initial margin of positions and orders."""
    equity, initial = _after(core, account, None, 0, 0)
    return equity - initial


def withdrawable(core: Core, account: VenueAccount) -> int:
    """Return what may leave the balance: as `available`, without the positive unrealised PnL of any product."""
    free, positive = available(core, account), 0
    for code, position in account.positions.items():
        if position.mode != ISOLATED and (position.long.size or position.short.size):
            price = core.state.markets[code].mark * core.risk_index.table(code).unit
            positive += max(0, unrealized(position, price))
    return max(0, free - positive)


# --------------------------------------------------------------------------------------------------- orders


def check_increase(
    core: Core,
    account: VenueAccount,
    product: Product,
    position: Position,
    side: int,
    quantity: int,
    price: int,
    builder_rate: int = 0,
) -> None:
    """Refuse an order that may add risk and does not fit; `position` does not yet count it.

    `price` in ticks is the limit, or a market order's slippage bound; what trades below mark counts at mark, where the
    position will be valued. An order that, with the resting ones of its side, can only reduce passes always. Otherwise
    the notional it could lead to must lie under the product's limit, the leverage under that of its tier, and equity
    must cover the initial margin after it, counting the fees of what it trades at once and what those fills lose
    against mark.

    Orders with reduce-only or a hedge close never come here. Simulated participants trade on the venue's credit.
    """
    if account.kind == "market":
        return
    code = product.code
    table = core.risk_index.tables[code]
    unit = table.unit
    long, short = position.long.size, position.short.size
    if side > 0:
        resting, other = position.buy_quantity, short
    else:
        resting, other = position.sell_quantity, long
    if resting + quantity <= other and account.position_mode != HEDGE:
        return
    if account.status == LIQUIDATING and core.state.liquidations:
        _refuse_in_liquidation(core, account, position)
    if position.mode == ISOLATED and (long or short):
        own = isolated_margin(core, position)
        if own.equity < own.initial:
            raise Refused(
                TxCode.INSUFFICIENT_MARGIN,
                f"margin: the isolated {product.symbol} position has equity {micro_text(own.equity)} USDC, less than "
                f"its initial margin {micro_text(own.initial)}; add to it with assignPosMargin before it grows",
            )
    mark = core.state.markets[code].mark
    taken, paid = _taken(core, account, position, side, quantity, price)
    if side > 0:
        value = price * quantity * unit
        bargain = (mark - price) * taken * unit if price < mark else 0
        _check_notional(account, position, table, side, value + bargain, mark * unit)
        equity, initial = _after(core, account, position, value, 0)
    else:
        value = (price if price > mark else mark) * quantity * unit
        _check_notional(account, position, table, side, value, mark * unit)
        equity, initial = _after(core, account, position, 0, value)
    loss = 0
    if taken:
        roundings = 0
        if builder_rate or position.mode == ISOLATED:
            roundings = _fills(core, account, position, side, taken) - 1
        loss = max(0, side * (paid - mark * taken)) * unit
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


def _taken(
    core: Core, account: VenueAccount, position: Position, side: int, quantity: int, limit: int
) -> tuple[int, int]:
    """Return what an order would trade at once: steps, and the sum of ticks × steps it would pay for them."""
    book = core.books[position.product]
    ladder = book.asks if side > 0 else book.bids
    best = ladder.best
    if not best or (best > limit if side > 0 else best < limit):
        return 0, 0
    own = position.sell_quantity + position.sell_reducing if side > 0 else position.buy_quantity + position.buy_reducing
    address, left, paid = account.address, quantity, 0
    for level in ladder.within(limit):
        there = level.total
        if own:
            for order in level.orders.values():
                if order.address == address:
                    there -= order.leaves
        if there > left:
            there = left
        left -= there
        paid += there * level.price
        if not left:
            break
    return quantity - left, paid


def _fills(core: Core, account: VenueAccount, position: Position, side: int, quantity: int) -> int:
    """Return how many orders of others so many steps would meet, each a fill whose margin and fees are rounded."""
    book = core.books[position.product]
    met = 0
    for level in book.asks if side > 0 else book.bids:
        for order in level.orders.values():
            if quantity <= 0:
                return met
            if order.address != account.address:
                met += 1
                quantity -= order.leaves
    return met


def _after(core: Core, account: VenueAccount, own: Position | None, buys: int, sells: int) -> tuple[int, int]:
    """Return cross equity and initial margin as `cross` does, with so much more value in opening orders of `own`."""
    equity, initial = account.balance, 0
    hedge = account.position_mode == HEDGE
    markets, tables = core.state.markets, core.risk_index.tables
    for code, position in account.positions.items():
        long, short = position.long, position.short
        longs, shorts = long.size, short.size
        buy, sell = position.buy_value, position.sell_value
        if position is own:
            buy += buys
            sell += sells
        elif not (longs or shorts or buy or sell):
            continue
        price = markets[code].mark * tables[code].unit
        if hedge:
            needs = (longs + shorts) * price + buy + sell
        else:
            net = (longs - shorts) * price
            needs, other = net + buy, sell - net
            if other > needs:
                needs = other
        if position.mode == ISOLATED:
            needs -= (longs + shorts) * price
        else:
            equity += (longs - shorts) * price - long.value + short.value
        initial -= -needs * 100 // position.leverage
    return equity, initial


def _check_notional(
    account: VenueAccount, position: Position, table: RiskTable, side: int, value: int, price: int
) -> None:
    """Refuse what could lead to too large a position; `value` is the order's, `price` the money of a step at mark."""
    if side > 0:
        own, other, resting = position.long.size, position.short.size, position.buy_value
    else:
        own, other, resting = position.short.size, position.long.size, position.sell_value
    if account.position_mode == ONE_WAY:
        own -= other
    reach = own * price + resting + value
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


def settle_isolated(
    core: Core,
    account: VenueAccount,
    position: Position,
    side: int,
    *,
    opened: int,
    opened_value: int,
    closed_value: int,
    gained: int,
) -> None:
    """Move margin between balance and an isolated position after a fill was booked.

    A trade of `side` added `opened` steps worth `opened_value`; `closed_value` is the entry value that was closed;
    `gained` is what the closing brought to the balance (realised PnL less fees). What opens takes its initial margin
    and its loss against mark with it, as far as the cross positions spare it. What closes gives its share of the margin
    back, but a position that is left keeps its initial margin as far as there is any; a loss is paid by the position's
    margin and unrealised profit before the balance.
    """
    price = core.state.markets[position.product].mark * core.risk_index.table(position.product).unit
    if closed_value:
        _release(core, account, position, closed_value, gained, price, opened)
    if opened:
        need, _ = _need(position, side, opened, opened_value, price)
        assign(core, account, position, min(need, _spare(core, account)))


def _need(position: Position, side: int, opened: int, value: int, price: int) -> tuple[int, int]:
    """Return what opening needs in an isolated position: margin with the loss against mark, and that loss alone.

    `opened` steps traded for `value`; `price` is the money of a step at mark.
    """
    at_mark = opened * price
    loss = max(0, side * (value - at_mark))
    return required(value if side > 0 else at_mark, position.leverage) + loss, loss


def _spare(core: Core, account: VenueAccount) -> int:
    """Return what may leave the balance without bringing the cross positions near their liquidation."""
    figures = cross_margin(core, account)
    return max(0, figures.equity - -(-figures.maintenance * RATE // core.state.config.liquidation_stop))


def _release(
    core: Core, account: VenueAccount, position: Position, closed_value: int, gained: int, price: int, opened: int
) -> None:
    """Give back what closing freed. While something is left the balance pays nothing for it: a loss may leave less than
    no margin assigned, if the unrealised profit of the rest bears it."""
    size = position.long.size + position.short.size
    if size == 0 or (opened and size == opened):
        assign(core, account, position, -position.assigned)
        return
    left_value = position.long.value + position.short.value
    share = position.assigned * closed_value // (closed_value + left_value)
    spare = position.assigned + unrealized(position, price) - required(size * price, position.leverage)
    assign(core, account, position, -max(min(share, spare), -gained))


def reducible(account: VenueAccount, position: Position, side: int) -> int:
    """Return how many steps an ordinary order of `side` can trade without opening anything."""
    if account.position_mode == HEDGE:
        return 0
    return position.short.size if side > 0 else position.long.size


def has_margin_for(core: Core, account: VenueAccount, position: Position, side: int, opened: int, value: int) -> bool:
    """Tell whether the balance can still give an isolated position the margin for opening so many steps for `value`.

    Its orders held that margin when they were placed, but losses of the cross positions may have used it up since: what
    they spare must carry the maintenance margin of what opens.
    """
    if opened <= 0:
        return True
    table, config = core.risk_index.table(position.product), core.state.config
    at_mark = core.state.markets[position.product].mark * table.unit
    need, loss = _need(position, side, opened, value, at_mark)
    own = (position.long if side > 0 else position.short).size
    more = table.maintenance((own + opened) * at_mark) - table.maintenance(own * at_mark)
    return (min(need, _spare(core, account)) - loss) * config.liquidation_stop > more * RATE


# ---------------------------------------------------------------------------------------------- what is shown


def liquidation_price(core: Core, account: VenueAccount, product: int) -> Decimal | None:
    """Return the mark price in USDC at which a product's position would be liquidated, all other marks unchanged.

    None without a position, or where no price does it. Exact formulas of `margin`, not rounded to ticks.
    """
    position = account.positions.get(product)
    if position is None or not (position.long.size or position.short.size):
        return None
    listed = core.products[product]
    table = core.risk_index.table(product)
    if position.mode == ISOLATED:
        stake = position.assigned
    else:
        figures = cross_margin(core, account)
        price = core.state.markets[product].mark * table.unit
        own = table.maintenance(position.long.size * price) + table.maintenance(position.short.size * price)
        stake = figures.equity - unrealized(position, price) - (figures.maintenance - own)
    sizes = [listed.step_size * leg.size for leg in (position.long, position.short)]
    entries = [
        Decimal(leg.value) / MICRO / size if size else Decimal(0)
        for leg, size in zip((position.long, position.short), sizes, strict=True)
    ]
    return margin.liquidation_price_hedged(
        sizes[0], entries[0], sizes[1], entries[1], Decimal(stake) / MICRO, listed.tiers
    )


def leverage_text(leverage: int) -> str:
    """Return a leverage in hundredths as people write it: 2050 → "20.5x"."""
    return shortest_text(leverage, 2) + "x"
