"""Which orders may add risk, and the margin that an isolated position takes and gives back when they fill.

Orders are judged by position limit, leverage of the tier, and initial margin. Amounts are in micro-USDC where no other
unit is named. `step_micro` is the value of one step at mark. Source: docs/assumptions.md, "Money on the venue".
"""

from __future__ import annotations

from collections.abc import Iterator

from ...exposure import Standing, grown_equity, margin_to_open, need_of, required, uncovered_value
from ...numerals import micro_text
from ..engine.commands import Refused, TxCode
from ..engine.core import Core
from ..model.accounts import Position, VenueAccount, VenueOrder
from ..model.constants import HEDGE, ISOLATED, LIQUIDATING, RATE
from ..model.risk_index import RiskTable
from ..model.state import Vault
from . import account_margin, fees
from .account_margin import cross_margin, mark_step, reducible, unrealized
from .fees import worst_cost
from .ledger import assign

LEADER_PART = 20
"""A leader holds at least one part in this many of its vault's shares [L]."""


def check_increase(
    core: Core, account: VenueAccount, order: VenueOrder, steps: int, price_ticks: int, *, only_size: bool = False
) -> None:
    """Refuse an order that may add risk and does not fit.

    Its position does not yet count it. Steps that trade below mark count at mark, where the position will be valued.

    An order that the position covers always passes, even if orders rest on its side. `lifecycle.drop_uncovered` reduces
    the orders that lose their cover by it. A larger order is judged as if it had closed the position and those orders
    were gone.

    The notional that it could reach must be within the product's limit, and the leverage within that of its tier.
    Equity must cover the initial margin after it, the fees of its immediate fills, and their loss against mark.

    Reduce-only orders and hedge closes are not checked here. Simulated participants trade on the venue's credit.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that places it.
    order : VenueOrder
        The order. Its product, side and builder's rate are read.
    steps : int
        Steps that it may trade.
    price_ticks : int
        Its limit, or a market order's slippage bound, in ticks.
    only_size : bool, optional
        True leaves the margin out. Position limit and leverage are still checked (default: `False`).

    Raises
    ------
    Refused
        If it does not fit. The reason has the numbers.
    """
    if account.kind == "market":
        return
    code, side, cover_steps = order.product, order.side, 0
    position, table = account.positions[code], core.risk_index.tables[code]
    unit = table.unit
    if account.position_mode != HEDGE:  # as `reducible`, without a call for every order
        cover_steps = (position.short if side > 0 else position.long).size
    if steps <= cover_steps:
        return
    if account.status == LIQUIDATING and core.state.liquidations:
        _refuse_in_liquidation(core, account, position)
    mark_ticks = core.state.markets[code].mark
    if not only_size:
        _check_open_interest(core, code, steps - cover_steps)
        if account.kind == "vault":
            check_stake(core, core.state.vaults[account.address])
    if not only_size and _fits_easily(core, account, position, side, steps, price_ticks, mark_ticks):
        return
    standing = account_margin.standing(account, position, mark_ticks * unit)
    taken_steps, paid = _immediate_fill(core, account, position, side, steps, price_ticks)
    uncovered = uncovered_value(_resting(account, position, side), cover_steps) * unit if cover_steps else 0
    need = need_of(standing, side, steps, price_ticks, mark_ticks, unit, taken_steps, paid, uncovered)
    _check_size(table, need.reach, position.leverage)
    if only_size:
        return
    # The margin is that of the account after the order: what its product needs now is replaced by what it then needs.
    equity, initial, _ = account_margin.cross_margin(core, account)
    initial += need.margin - standing.initial()
    loss = need.loss
    if taken_steps:
        _check_isolated_growth(table, standing, side, taken_steps, paid * unit)
        roundings = 0
        if order.builder_rate or position.mode == ISOLATED:
            # margin and builder fees are rounded up at every fill, up to a micro-USDC each
            roundings = _fill_count(core, account, position, side, taken_steps) - 1
        loss += fees.worst_cost(core, account, table.product, paid * unit, order.builder_rate, roundings)
        if position.mode == ISOLATED:
            initial += roundings
    if equity + need.freed - loss < initial:
        cost = f" and {micro_text(loss)} for immediate trades (fees, and prices beyond mark)" if loss else ""
        needed, had = f"initial margin {micro_text(initial)} USDC in all{cost}", micro_text(equity + need.freed)
        short = f"Equity {had} is {micro_text(initial + loss - equity - need.freed)} short"
        raise Refused(TxCode.INSUFFICIENT_MARGIN, f"margin: the order needs {needed}. {short}")


def _fits_easily(
    core: Core, account: VenueAccount, position: Position, side: int, steps: int, price_ticks: int, mark_ticks: int
) -> bool:
    """Return True if the account can afford the most that the order could need. False is inconclusive.

    The most is its value at the highest of limit, mark and best bid, as margin. If it trades immediately, the value
    counts again as loss against mark, and again as fees, which are far below that. Cover can only lower the need.
    """
    # Second form: an order that even the most it could need leaves room for
    if position.mode == ISOLATED or account.position_mode == HEDGE:
        return False
    book, table = core.books[position.product], core.risk_index.tables[position.product]
    highest_ticks = price_ticks if price_ticks > mark_ticks else mark_ticks
    if side > 0:
        crosses = 0 < book.asks.best <= price_ticks
    else:
        best = book.bids.best
        crosses = best >= price_ticks
        if best > highest_ticks:
            highest_ticks = best
    value = highest_ticks * steps * table.unit
    reach = _reach(position, side, mark_ticks * table.unit) + value
    # Only the lowest tier is certain without its exact reach. Higher ones take the long way.
    if reach > table.first_notional or position.leverage > table.first_leverage:
        return False
    equity, initial, _ = account_margin.cross_margin(core, account)
    # One micro-USDC more covers the rounding of the exact formula.
    return equity - initial > value * 100 // position.leverage + (2 * value if crosses else 0) + 1


def _reach(position: Position, side: int, mark_step: int) -> int:
    """Return `Standing.reach` in one-way mode."""
    net = (position.long.size - position.short.size) * mark_step
    return net + position.buy_value if side > 0 else position.sell_value - net


def _resting(account: VenueAccount, position: Position, side: int) -> Iterator[tuple[int, int]]:
    """Return steps and price of the resting orders of a side that may open a position, last placed first."""
    for order in reversed(account.orders.values()):
        if order.product == position.product and order.side == side and order.priority and not order.reducing:
            yield order.leaves, order.price


def _check_isolated_growth(table: RiskTable, standing: Standing, side: int, taken_steps: int, paid_micro: int) -> None:
    """Refuse to grow an isolated position that, with the margin of what opens, is not above its maintenance margin."""
    equity = grown_equity(standing, side, taken_steps, paid_micro)
    if equity is None:
        return
    longs = standing.longs + (taken_steps if side > 0 else 0)
    shorts = standing.shorts + (taken_steps if side < 0 else 0)
    maintenance = table.maintenance(longs * standing.step_value) + table.maintenance(shorts * standing.step_value)
    if equity <= maintenance:
        figures = f"equity {micro_text(equity)} USDC and maintenance margin {micro_text(maintenance)}"
        reason = f"margin: the isolated {table.product.symbol} position would have {figures}"
        raise Refused(TxCode.INSUFFICIENT_MARGIN, f"{reason}. Add to it with assignPosMargin before it grows")


def _immediate_fill(
    core: Core, account: VenueAccount, position: Position, side: int, quantity_steps: int, limit_ticks: int
) -> tuple[int, int]:
    """Return the steps that an order would trade immediately, and the sum of ticks × steps that it would pay."""
    book = core.books[position.product]
    # Level totals suffice, except where own orders rest among them.
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
    """Return how many orders of other accounts `quantity_steps` would fill."""
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


def fits(core: Core, account: VenueAccount, position: Position, side: int) -> bool:
    """Return whether equity covers the initial margin, and the orders of a side are within the limits of size.

    It is for one-way mode: in hedge mode no order loses its cover.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose order or position it is.
    position : Position
        Position in the order's product.
    side : int
        +1 for a buy, −1 for a sell.
    """
    equity, initial, _ = account_margin.cross_margin(core, account)
    if equity < initial:
        return False
    table = core.risk_index.tables[position.product]
    reach = _reach(position, side, core.state.markets[position.product].mark * table.unit)
    return reach <= table.max_notional and position.leverage <= table.leverage_limit(max(reach, 0))


def _check_size(table: RiskTable, reach: int, leverage: int) -> None:
    """Refuse an order that could make the position too large for its limit or its leverage."""
    if reach > table.max_notional:
        limit_text = f"maxPositionNtnl {micro_text(table.max_notional)} of {table.product.symbol}"
        reason = f"position and orders would reach {micro_text(reach)} USDC, above {limit_text}"
        raise Refused(TxCode.POSITION_LIMIT, reason)
    limit = table.leverage_limit(reach)
    if leverage > limit:
        most, yours = account_margin.leverage_text(limit), account_margin.leverage_text(leverage)
        where = f"at a notional of {micro_text(reach)} USDC {table.product.symbol}"
        raise Refused(TxCode.LEVERAGE_TIER, f"{where} allows leverage {most}, yours is {yours}")


def _check_open_interest(core: Core, code: int, opened_steps: int) -> None:
    """Refuse an order that would open more than the depth of the product's book can close again."""
    config, market, product = core.state.config, core.state.markets[code], core.products[code]
    limit = (config.usual_depth or market.depth) * config.open_interest_depths
    reached = (market.open_interest + opened_steps) * market.mark * product.unit
    if 0 < limit < reached:
        reason = f"open interest in {product.symbol} would reach {micro_text(reached)} USDC, above {micro_text(limit)}"
        raise Refused(TxCode.OPEN_INTEREST, f"{reason}. Orders that reduce are accepted")


def check_stake(core: Core, vault: Vault, ended: int = 0) -> None:
    """Refuse what needs a leader's own money in its vault.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    vault : Vault
        Vault, or a sub-vault of it.
    ended : int, optional
        Shares that the leader gives back before, in millionths (default: 0).

    Raises
    ------
    Refused
        If the leader holds too small a part of the shares.
    """
    top = core.state.vaults[vault.parent] if vault.parent else vault
    held = top.holders[top.owner].shares if top.owner in top.holders else 0
    if (held - ended) * LEADER_PART < top.shares - ended:
        reason = f"the leader would hold {micro_text(held - ended)} of {micro_text(top.shares - ended)} shares"
        most = "Below 5 % the vault may only reduce, and the leader stays while it has positions or orders"
        raise Refused(TxCode.LEADER_STAKE, f"{reason}. {most}")


def _refuse_in_liquidation(core: Core, account: VenueAccount, position: Position) -> None:
    product = position.product if position.mode == ISOLATED else 0
    if f"{account.address}:{product}" in core.state.liquidations:
        reason = "the position is being liquidated. Only orders that reduce it are accepted"
        raise Refused(TxCode.POSITION_IN_LIQUIDATION, reason)


def settle_isolated(
    core: Core, account: VenueAccount, position: Position, side: int, opened: int, value: int, closed: int, gained: int
) -> None:
    """Move margin between balance and an isolated position after a fill was booked.

    The opened part takes its initial margin and its loss against mark from the balance, limited to the amount that the
    cross positions do not need (`spare`). The closed part returns its share of the margin, except what the rest of the
    position needs as initial margin. The position's margin and unrealised profit pay a loss before the balance does.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose order or position it is.
    position : Position
        Isolated position as the fill has left it.
    side : int
        +1 for a buy, −1 for a sell.
    opened : int
        Steps that open, 0 or more.
    value : int
        Value of the opened part at the trade's price, in micro-USDC.
    closed : int
        Entry value of the closed part, in micro-USDC.
    gained : int
        Change of the balance by the closing: realised PnL less fees, in micro-USDC.
    """
    step_micro = mark_step(core, position.product)
    # Closing comes first, because what it gives back may pay for what opens.
    if closed:
        assign(core, account, position, -released(position, closed, gained, step_micro, opened))
    if opened:
        assign(core, account, position, margin_of_opened(core, account, position, side, opened, value))


def margin_of_opened(
    core: Core, account: VenueAccount, position: Position, side: int, opened: int, opened_value: int, freed: int = 0
) -> int:
    """Return the amount that opening takes from the balance, in micro-USDC.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose order or position it is.
    position : Position
        Position in the order's product.
    side : int
        +1 for a buy, −1 for a sell.
    opened : int
        Steps that open, 0 or more.
    opened_value : int
        Value of the opened part at the trade's price, in micro-USDC.
    freed : int, optional
        What earlier fills or closings add to the balance first, in micro-USDC. Negative takes from it (default: 0).
    """
    step_micro = mark_step(core, position.product)
    need, _ = margin_to_open(side, opened, opened_value, step_micro, position.leverage)
    return min(need, spare(core, account, freed))


def spare(core: Core, account: VenueAccount, freed: int = 0) -> int:
    """Return what may leave the balance, in micro-USDC.

    It leaves the margin ratio of the cross positions where liquidation stops, or better.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose order or position it is.
    freed : int, optional
        What earlier fills or closings add to the balance first, in micro-USDC. Negative takes from it (default: 0).
    """
    figures = cross_margin(core, account)
    return max(0, figures.equity + freed - -(-figures.maintenance * RATE // core.state.config.liquidation_stop))


def released(position: Position, closed_value: int, gained: int, step_micro: int, opened: int) -> int:
    """Return the margin that closing gives back, in micro-USDC.

    While a part of the position is left, the balance pays none of its loss. Assigned margin may become negative, if the
    unrealised profit of the rest covers it.

    Parameters
    ----------
    position : Position
        Isolated position as the fill has left it.
    closed_value : int
        Entry value of the closed part, in micro-USDC.
    gained : int
        Change of the balance by the closing: realised PnL less fees, in micro-USDC.
    step_micro : int
        Value of one step at mark, in micro-USDC.
    opened : int
        Steps that the fill opened after closing, 0 unless it flipped the position.
    """
    size = position.long.size + position.short.size
    if size == 0 or (opened and size == opened):  # closed, or flipped: nothing of the old position is left
        return position.assigned
    left_value = position.long.value + position.short.value
    share = position.assigned * closed_value // (closed_value + left_value)
    spare = position.assigned + unrealized(position, step_micro) - required(size * step_micro, position.leverage)
    return max(min(share, spare), -gained)


def _freed(core: Core, account: VenueAccount, position: Position, side: int, price_micro: int, step_micro: int) -> int:
    """Return the amount that the balance gets if an order of `side` closes the opposite leg, at a price of one step."""
    steps = reducible(account, position, side)
    if not steps:
        return 0
    product = core.products[position.product]
    beyond_mark = min(0, side * (step_micro - price_micro)) * steps
    fee = worst_cost(core, account, product, steps * price_micro)
    return position.assigned + unrealized(position, step_micro) + beyond_mark - fee


def has_margin_for(
    core: Core, account: VenueAccount, position: Position, side: int, steps: int, value_micro: int, brought: int = 0
) -> bool:
    """Return whether the balance can still give an isolated position the margin for opening so many steps.

    Its orders held that margin when they were placed, but losses of the cross positions may have used it up since. The
    balance that those do not need, and the margin that a flip sets free, must cover the maintenance margin of the
    opened part.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose order or position it is.
    position : Position
        Position in the order's product.
    side : int
        +1 for a buy, −1 for a sell.
    steps : int
        Steps to open. 0 or fewer always pass.
    value_micro : int
        Value of these steps at the order's price, in micro-USDC.
    brought : int, optional
        Unbooked sum that earlier fills add to the balance, in micro-USDC (default: 0).
    """
    if steps <= 0:
        return True
    table, config = core.risk_index.tables[position.product], core.state.config
    step_micro = mark_step(core, position.product)
    need, loss = margin_to_open(side, steps, value_micro, step_micro, position.leverage)
    own_steps = (position.long if side > 0 else position.short).size
    more = table.maintenance((own_steps + steps) * step_micro) - table.maintenance(own_steps * step_micro)
    freed = brought + _freed(core, account, position, side, value_micro // steps, step_micro)
    return (min(need, spare(core, account, freed)) - loss) * config.liquidation_stop > more * RATE
