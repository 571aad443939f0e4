"""Matching of orders with the book, at the makers' prices, first come first served.

Each fill is booked for both sides together: positions, fees, events, and the public trade with its candle. A
fill-or-kill order must know before it trades how much it could fill. Level totals are not enough for that. Orders of
the taker's own account do not count. A maker's fills may also shrink its position, and with it the maker's reduce-only
orders further back (`lifecycle.shrink_reduce_only`). Source: docs/assumptions.md, "Orders" and "Money on the venue".
"""

from __future__ import annotations

from dataclasses import replace

from ...checks import SLIPPAGE_UNIT, slippage_bound
from ...products import VenueProduct
from ..engine.changes import AccountChanged
from ..engine.core import Core
from ..model.accounts import Leg, Position, VenueAccount, VenueOrder
from ..model.constants import (
    ADL,
    CANCELED,
    FILLED,
    FOK,
    GTC,
    HEDGE,
    IOC,
    ISOLATED,
    LIQUIDATION,
    MAKER,
    MINUTE_MS,
    PARTIALLY_FILLED,
    POST_ONLY,
    TAKER,
)
from ..model.history import Candle, ClosedPosition, PublicTrade
from ..model.state import Group
from ..risk import account_margin, fees, ledger, order_margin, solvency
from . import lifecycle
from .lifecycle import position_of


def process_order(core: Core, account: VenueAccount, position: Position, order: VenueOrder, limit_ticks: int) -> None:
    """Match a live order with the book.

    The rest is added to the book or cancelled, by time in force.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account of the order.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Live order, checked and accepted.
    limit_ticks : int
        Worst price that it accepts, in ticks.
    """
    wished_ticks, limit_ticks = limit_ticks, _bounded(core, account, order, limit_ticks)
    if order.tif == FOK and not _prepare_fill_or_kill(core, account, order, limit_ticks):
        return
    leg = position.short if order.side > 0 else position.long
    # Read before the matching, which may close the leg.
    covered = leg.size and account.position_mode != HEDGE
    book = core.books[order.product]
    # most orders meet no one: they skip the matching
    stopped = ""
    if 0 < book.asks.best <= limit_ticks if order.side > 0 else book.bids.best >= limit_ticks:
        stopped = match(core, account, position, order, limit_ticks)
    # A filled order may still be CANCELED: one that was reduced to its position has traded less than it ordered.
    if not order.leaves:
        _end_filled(core, account, position, order)
    elif order.price and (order.tif == GTC or order.tif == POST_ONLY) and not stopped and limit_ticks == wished_ticks:
        lifecycle.add_to_book(core, position, order)
        if order.reduce or order.closing:
            # its own fills may have shrunk the position below what it and older orders would close
            lifecycle.shrink_reduce_only(core, account, position, order.side)
        elif covered:
            # older orders may have lost the cover that this one was accepted for
            lifecycle.drop_uncovered(core, account, position, order.side, order)
    else:
        price = core.products[order.product].price_text(limit_ticks)
        kind = "the market order's bound" if not order.price else "the limit"
        if limit_ticks != wished_ticks:
            kind = "the largest slippage from mark"
        reason = stopped or f"nothing more to take at {kind} of {price} or better"
        lifecycle.cancel_or_retry(core, account, order, reason)


def _bounded(core: Core, account: VenueAccount, order: VenueOrder, limit_ticks: int) -> int:
    """Return the worst price that an order really trades at: its limit, and at most the largest slippage from mark."""
    mark_ticks, product = core.state.markets[order.product].mark, core.products[order.product]
    if (limit_ticks - mark_ticks) * order.side * SLIPPAGE_UNIT <= mark_ticks * product.max_slippage:
        return limit_ticks
    # Participants quote from the index, and a liquidation has its own bound.
    if account.kind == "market" or order.type == LIQUIDATION:
        return limit_ticks
    return slippage_bound(product, order.side, mark_ticks, product.max_slippage)


def _prepare_fill_or_kill(core: Core, account: VenueAccount, order: VenueOrder, limit_ticks: int) -> bool:
    """Cancel a FOK order that can't fill completely, otherwise clear its way of makers without margin."""
    there_steps, without_margin = _fillable(core, order, limit_ticks)
    if there_steps < order.leaves:
        product = core.products[order.product]
        there, wanted = product.quantity_text(there_steps), product.quantity_text(order.leaves)
        reason = f"FOK: {there} of {wanted} can be filled at {product.price_text(limit_ticks)} or better"
        lifecycle.cancel_or_retry(core, account, order, reason)
        return False
    # Done before the first trade. A maker that had to be reduced in the middle would leave the FOK order half filled.
    for maker, excess_steps, why in without_margin:
        lifecycle.reduce_or_cancel(core, core.state.accounts[maker.address], maker, excess_steps, why)
    return True


def match(core: Core, account: VenueAccount, position: Position, order: VenueOrder, limit_ticks: int) -> str:
    """Trade an order against the other side of the book, while prices are at its limit or better.

    Return why it stopped before that (its account can bear no more, see `solvency`), "" if it did not.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account of the order.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Order that takes.
    limit_ticks : int
        Worst price that it accepts, in ticks.

    Returns
    -------
    str
        Why it stopped before that (its account can bear no more, see `solvency`), "" if it did not.
    """
    side, stopped = order.side, ""
    ladder = core.books[order.product].side(-side)
    group = core.state.laboratory.group or None
    while order.leaves:
        price_ticks = ladder.best
        if not price_ticks or (price_ticks > limit_ticks if side > 0 else price_ticks < limit_ticks):
            break
        # Looked up again for each fill, because a fill can cancel other orders of the level: reduce-only ones, exits
        # and own ones.
        maker = next(iter(ladder.levels[price_ticks].orders.values()))
        if group and _is_apart(core, group, order, maker):
            behind = (each for level in ladder.within(limit_ticks) for each in level.orders.values())
            found = next((each for each in behind if not _is_apart(core, group, order, each)), None)
            if found is None:  # the rest must not enter the book, which it would cross
                stopped = APART
                break
            maker = found
        # The resting order goes and the taker trades on, so that no account trades with itself.
        if maker.address == order.address or _same_owner(core, order, maker):
            resting = core.state.accounts[maker.address]
            lifecycle.cancel(core, resting, maker, f"self-trade prevented: order {order.id} is of the same account")
        else:
            stopped = _fill(core, account, position, order, maker)
            if stopped:
                break
    if core.risk_index.loosened:
        _drop_uncovered_orders(core)
    return stopped


def _same_owner(core: Core, order: VenueOrder, maker: VenueOrder) -> bool:
    """Return whether two orders are of a leader and its vault, or of two of its vaults."""
    vaults = core.state.vaults
    one, other = vaults.get(order.address), vaults.get(maker.address)
    if one is other:  # neither is of a vault
        return False
    return (one.owner if one else order.address) == (other.owner if other else maker.address)


APART = (
    "the next offer is of a classmate. Classmates' orders meet only after one of them rested for a second, and never "
    "while time is held, so that the market can answer first"
)


def _is_apart(core: Core, group: Group | None, order: VenueOrder, maker: VenueOrder) -> bool:
    """Return whether two orders must not meet: of two accounts of a class, and nobody else could take the first yet."""
    if not group or maker.address == order.address or not (_is_of(core, maker) and _is_of(core, order)):
        return False
    return core.state.time - max(maker.created, maker.updated) < group.apart_ms


def _is_of(core: Core, order: VenueOrder) -> bool:
    """Return whether an order is of a class: of any of its users, also of those who came later, or of their vaults."""
    return core.state.accounts[order.address].kind in ("user", "vault") and order.address != core.state.lp_vault


def fill_maker(core: Core, account: VenueAccount, position: Position, order: VenueOrder, maker: VenueOrder) -> None:
    """Trade the open steps of a live order against one resting order anywhere in the book, at its price.

    For counterparties that know which order they meet.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account of the order.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Live order that takes.
    maker : VenueOrder
        Resting order of another account. The trade is at its price.
    """
    _fill(core, account, position, order, maker)
    if core.risk_index.loosened:
        _drop_uncovered_orders(core)


def _fill(core: Core, account: VenueAccount, position: Position, order: VenueOrder, maker: VenueOrder) -> str:
    """Trade the open steps of an order against a resting one at its price. Return why not, or "".

    The maker is first reduced by the steps that would open an isolated position without margin, or leave its account
    with a debt. This may cancel the whole maker. The makers of a FOK order were reduced before the matching: the order
    must not fall short now.
    """
    state, code = core.state, order.product
    product = core.products[code]
    maker_account = state.accounts[maker.address]
    maker_position = maker_account.positions[code]
    price_ticks, leaves = maker.price, maker.leaves
    steps = leaves if leaves < order.leaves else order.leaves
    if order.tif != FOK:
        # Taker and maker are limited in turn, because a fill must leave neither with a debt.
        steps = solvency.bearable_steps(core, position, order, steps, price_ticks, TAKER)
        if not steps:
            return solvency.beyond_means(core, position, order)
        fits, reason = _maker_steps(core, maker_account, maker_position, maker, steps)
        if fits < steps:
            lifecycle.reduce_or_cancel(core, maker_account, maker, leaves - fits, reason)
            steps = fits
            if not steps:
                return ""
    # Leaves go down before the booking. What the booking triggers, such as shrinking reduce-only orders, must see what
    # is really open.
    order.leaves -= steps
    lifecycle.take_from_resting(core, maker_position, maker, steps)
    group = state.laboratory.group
    if group and _is_of(core, order) and _is_of(core, maker):
        gained = order.side * (state.markets[code].mark - price_ticks) * steps * product.unit
        group.members[order.address] = group.members.get(order.address, 0) + gained
        group.members[maker.address] = group.members.get(maker.address, 0) - gained
    trade = publish_trade(core, product, order.side, price_ticks, steps)
    # always the maker first: ledger entries and events are numbered, so their order is part of the state
    settle(core, maker_account, maker_position, maker, trade, MAKER)
    settle(core, account, position, order, trade, TAKER)
    # a reduce-only maker's own fill may have cancelled the rest of it already
    if not maker.leaves and maker.status < FILLED:
        _end_filled(core, maker_account, maker_position, maker)
    return ""


def _maker_steps(
    core: Core, account: VenueAccount, position: Position, maker: VenueOrder, steps: int, brought: int = 0
) -> tuple[int, str]:
    """Return how many of the steps of a resting order its account has the margin for and can bear, and why no more."""
    reason = ""
    if position.mode == ISOLATED and not maker.reducing:
        closed = account_margin.reducible(account, position, maker.side)
        value = (steps - closed) * maker.price * core.products[maker.product].unit
        if not order_margin.has_margin_for(core, account, position, maker.side, steps - closed, value, brought):
            steps, reason = closed, "margin: losses have used up what it held"
    fits = solvency.bearable_steps(core, position, maker, steps, maker.price, MAKER, brought) if steps else 0
    return fits, solvency.beyond_means(core, position, maker) if fits < steps else reason


def _end_filled(core: Core, account: VenueAccount, position: Position, order: VenueOrder) -> None:
    """End an order without open steps. If it was reduced to its position, it has traded less than it ordered."""
    status = FILLED if order.filled == order.quantity else CANCELED
    lifecycle.end(core, account, position, order, status, order.reason)


def _drop_uncovered_orders(core: Core) -> None:
    """Reduce the orders that lost their cover because other orders closed the position, and have no margin to open.

    This follows the matching, because a fill-or-kill order has counted on every order in the book.
    """
    loosened, core.risk_index.loosened = core.risk_index.loosened, []
    for account, position, side in loosened:
        lifecycle.drop_uncovered(core, account, position, side)


def trade_off_book(
    core: Core,
    product: VenueProduct,
    buyer: VenueAccount,
    seller: VenueAccount,
    steps: int,
    price_ticks: int,
    kind: int,
    closing: VenueAccount,
    *,
    opens: bool = False,
) -> tuple[VenueOrder, VenueOrder]:
    """Trade between two accounts outside the book.

    Return the buyer's and the seller's order.

    The counterparty of `closing` closes too where it holds the opposite leg. Orders of either account that could only
    reduce a closed position are reduced or cancelled. There is no public trade, so the last price stays.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : VenueProduct
        Product that is traded.
    buyer : VenueAccount
        Account that buys.
    seller : VenueAccount
        Account that sells.
    steps : int
        Steps of the trade.
    price_ticks : int
        Price in ticks.
    kind : int
        Type of both orders: ADL or LIQUIDATION.
    closing : VenueAccount
        The one of both that closes, and is the taker.
    opens : bool, optional
        True if `closing` opens instead. In hedge mode its opposite leg is then left alone (default: `False`).
    """
    state, code = core.state, product.code
    sides: list[tuple[VenueAccount, Position, VenueOrder]] = []
    for account, side in ((buyer, 1), (seller, -1)):
        position = position_of(core, account, product)
        leg = position.short if side > 0 else position.long
        opening = opens and account is closing
        # In one-way mode a trade closes by itself. In hedge mode the order must say so.
        closes = account.position_mode == HEDGE and leg.size >= steps and not opening
        order = VenueOrder(0, account.address, code, side, closes, kind, IOC, 0, price_ticks, steps, steps)
        lifecycle.accept(core, account, position, order)
        # Both orders exist before either is booked, so that ids and ledger entries follow each other as in the book.
        sides.append((account, position, order))
    state.last_exec += 1
    # A record for `settle` only, it is not published: an imposed price must not become the last price.
    trade = PublicTrade(state.last_exec, state.time, code, 1, price_ticks, steps, "")
    for account, position, order in sides:
        order.leaves = 0
        settle(core, account, position, order, trade, TAKER if account is closing else MAKER)
        lifecycle.end(core, account, position, order, FILLED)
    _drop_uncovered_orders(core)
    return sides[0][2], sides[1][2]


class _Party:
    """A side of a trade after its planned fills: its position, and the amount that they add to its cross equity."""

    __slots__ = ("account", "brought", "orders", "position", "role")

    def __init__(self, account: VenueAccount, order: VenueOrder, role: int) -> None:
        self.account, self.role = account, role
        held, side = account.positions[order.product], order.side
        # A copy on which the fills are tried. The account's own position changes only if the whole order can fill.
        self.position = replace(held, long=replace(held.long), short=replace(held.short))
        self.brought = 0
        self.orders: dict[int, int] = {}
        """The reduce-only orders that the leg still covers: id → steps. In hedge mode nothing else shrinks the leg."""
        if account.position_mode != HEDGE and (held.buy_reducing if side > 0 else held.sell_reducing):
            self.orders = {
                other.id: other.leaves
                for other in account.orders.values()
                if other.product == order.product and other.side == side and other.priority and other.reducing
            }

    def closable(self, order: VenueOrder) -> int:
        """Return how many steps of an order would close.

        Parameters
        ----------
        order : VenueOrder
            Order of this side.
        """
        leg = self.position.short if order.side > 0 else self.position.long
        return leg.size if order.reducing or self.account.position_mode != HEDGE else 0

    def fill(self, core: Core, order: VenueOrder, most_steps: int, price_ticks: int) -> int:
        """Fill steps of an order at a price.

        Return how many.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        order : VenueOrder
            Order of this side.
        most_steps : int
            Most steps to fill.
        price_ticks : int
            Price in ticks.
        """
        covered = order.reducing and order.id in self.orders
        filled = min(most_steps, self.orders[order.id] if covered else order.leaves)
        self._settle(core, order, filled, min(filled, self.closable(order)), price_ticks)
        if self.orders:
            if covered:
                self.orders[order.id] -= filled
            excess = sum(self.orders.values()) - self.closable(order)
            for order_id in sorted(self.orders, reverse=True):  # as `lifecycle.shrink_reduce_only`
                cut = min(max(excess, 0), self.orders[order_id])
                self.orders[order_id] -= cut
                excess -= cut
        return filled

    def _settle(self, core: Core, order: VenueOrder, filled: int, closed: int, price_ticks: int) -> None:
        """Change the position as `settle` will change the account's own."""
        position, side, opened, pnl = self.position, order.side, filled - closed, 0
        against, into = (position.short, position.long) if side > 0 else (position.long, position.short)
        product, entry_before = core.products[order.product], against.value
        price, step_micro = price_ticks * product.unit, account_margin.mark_step(core, order.product)
        if closed:
            pnl = against.close(closed, closed * price, side < 0)
        if opened:
            into.grow(opened, opened * price, 0, 0)
        paid = fees.of_fill(core, self.account, order, self.role, opened * price, closed * price)
        if position.mode != ISOLATED:
            self.brought += side * filled * (step_micro - price) - sum(paid)
            return
        self.brought += pnl - sum(paid)
        if closed:
            closed_entry, gained = entry_before - against.value, pnl - paid[1] - paid[2]
            margin = order_margin.released(position, closed_entry, gained, step_micro, opened)
            position.assigned -= margin
            self.brought += margin
        if opened:
            value, brought = opened * price, self.brought
            margin = order_margin.margin_of_opened(core, self.account, position, side, opened, value, brought)
            position.assigned += margin
            self.brought -= margin


def _fillable(core: Core, order: VenueOrder, limit_ticks: int) -> tuple[int, list[tuple[VenueOrder, int, str]]]:
    """Return how many steps, at most its leaves, an order could fill at `limit_ticks` or better.

    Also return the orders on the way that would open isolated positions without margin or leave a debt. Each has the
    steps by which it is too large, and the reason.
    """
    wanted, found = order.leaves, 0
    too_large: list[tuple[VenueOrder, int, str]] = []
    ladder = core.books[order.product].side(-order.side)
    accounts, makers = core.state.accounts, dict[str, _Party]()
    taker, group = _Party(accounts[order.address], order, TAKER), core.state.laboratory.group or None
    for level in ladder.within(limit_ticks):
        for resting in level.orders.values():
            address = resting.address
            # Own orders are cancelled by the matching, and classmates' may be passed over, so they add nothing.
            if address == order.address or _same_owner(core, order, resting) or _is_apart(core, group, order, resting):
                continue
            maker = makers.get(address)
            if maker is None:
                maker = makers[address] = _Party(accounts[address], resting, MAKER)
            most, price = min(wanted - found, resting.leaves), resting.price
            # The taker's account can bear no more at this price, and later levels are worse.
            if solvency.bearable_steps(core, taker.position, order, most, price, TAKER, taker.brought) < most:
                return found, too_large
            fits, why = _maker_steps(core, maker.account, maker.position, resting, most, maker.brought)
            if fits < most:
                too_large.append((resting, resting.leaves - fits, why))
            filled = maker.fill(core, resting, fits, price) if fits else 0
            if filled:
                taker.fill(core, order, filled, price)
            found += filled
            if found >= wanted:
                return found, too_large
    return found, too_large


def publish_trade(
    core: Core, product: VenueProduct, side: int, price_ticks: int, steps: int, tx_hash: str | None = None
) -> PublicTrade:
    """Record a public trade with its candle, and return it.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : VenueProduct
        Product that is traded.
    side : int
        Side of the taker: +1 buys, −1 sells.
    price_ticks : int
        Price in ticks.
    steps : int
        Steps of the trade.
    tx_hash : str or None, optional
        Hash of the transaction (default: `None`, that of the present one). With "", `PublicTrade.hash` computes it.
    """
    state = core.state
    code, time, value_micro = product.code, state.time, price_ticks * steps * product.unit
    market = state.markets[code]
    state.last_exec = exec_id = state.last_exec + 1
    # The last price changes with each fill, so triggers by last price see every one, not only the last of a request.
    market.last = price_ticks
    market.trades += 1
    triggers = core.triggers[code]
    if triggers.entries:  # mostly nothing waits
        triggers.see_trade(price_ticks)
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
        core.events.append(trade)
    return trade


def settle(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, trade: PublicTrade, role: int
) -> None:
    """Book one side of a trade, public or not.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account of the order.
    position : Position
        Position of the account in the order's product.
    order : VenueOrder
        Order of this side. Its leaves have gone down already.
    trade : PublicTrade
        The trade, with price in ticks and steps.
    role : int
        MAKER or TAKER.
    """
    side, state, code = order.side, core.state, order.product
    product, price_ticks, steps = core.products[code], trade.price, trade.quantity
    value_micro = price_ticks * steps * product.unit
    long, short = position.long, position.short
    against, into = (short, long) if side > 0 else (long, short)
    size_before, entry_before = against.size, against.value
    closed = close_value = pnl = 0
    opened, open_value = steps, value_micro
    if size_before and (order.closing or account.position_mode != HEDGE):
        closed, close_value = steps, value_micro
        if size_before < steps:  # the order flips the position: close it, and open the rest
            # Values are exact products, so both parts add up to the value of the fill without a rounding.
            closed, close_value = size_before, size_before * price_ticks * product.unit
        opened, open_value = steps - closed, value_micro - close_value
        pnl = against.close(closed, close_value, side < 0)
        if pnl:
            position.pnl += pnl
            ledger.realize(core, account, pnl, code, str(order.id))
    if opened:
        into.grow(opened, open_value, trade.time, trade.id)
    state.markets[code].open_interest += opened if side > 0 else -closed  # counts the longs
    # the risk index: whom the liquidation check must look at, and who holds a position
    core.risk_index.touched[account.address] = account
    # Equality means that the leg was flat before. In all other cases the index of holders is right already.
    if into.size == opened:
        if opened or not against.size:
            core.risk_index.note(code, account, opened > 0)
    # Fees are charged after the PnL is realised and before margin moves: an isolated position answers for its own fees.
    open_fee, close_fee, builder_fee = fees.charge(core, account, product, order, role, open_value, close_value)
    if position.mode == ISOLATED:
        closed_entry, gained = entry_before - against.value, pnl - close_fee - builder_fee
        order_margin.settle_isolated(core, account, position, side, opened, open_value, closed_entry, gained)
    into.fees += open_fee
    against.fees += close_fee
    position.fees += open_fee + close_fee
    position.updated = account.updated = order.updated = trade.time
    # Liquidations and deleveraging are not orders of the account.
    if order.type < ADL:
        position.traded = trade.time
    order.filled += steps
    order.value += value_micro
    order.fee += open_fee + close_fee
    if builder_fee:
        order.builder_fee += builder_fee
    order.status = PARTIALLY_FILLED  # `lifecycle.end` makes it FILLED
    if account.kind != "market":
        fills, at = state.history.fills, len(state.history.order_events.records)
        if order.address in fills:
            fills[order.address].append(at)
        else:
            fills[order.address] = [at]
        fill = price_ticks, steps, trade.id, role, pnl, open_fee, close_fee, builder_fee, long.term, short.term
        lifecycle.record(core, account, order, "", fill)
        if core.recording:
            core.events.append(AccountChanged(order.address))
    # After the fill is recorded, so that its event precedes those of the orders that it arms or cancels.
    if order.group:
        lifecycle.group_filled(core, account, order, opened)
    # Last, because it may cancel orders, and these events must follow the fill.
    if closed:
        _cut_orders_of_leg(core, account, position, order, against, role)


def _cut_orders_of_leg(
    core: Core, account: VenueAccount, position: Position, order: VenueOrder, leg: Leg, role: int
) -> None:
    """Reduce the resting orders that would close more than the rest of a leg, after `order` has closed a part."""
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
    core.emit(record)
