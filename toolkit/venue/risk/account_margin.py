"""Margin of accounts: equity, initial and maintenance margin, what is available, the liquidation price.

Cross equity = balance + unrealised PnL of the cross positions (isolated margins have left the balance). Isolated
equity = assigned margin + unrealised PnL of that product's position, both legs together. Positions are valued at
mark, orders at their price. All amounts are integers, in micro-USDC where no other unit is named. `step_micro` is the
value of one step. Requirements are rounded up. The formulas are those of `toolkit.margin`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from ... import margin
from ...exposure import Standing, exposed, required
from ...numerals import micro_text
from ...products import MICRO, Product
from ..engine.core import Core
from ..model.accounts import Leg, Position, VenueAccount
from ..model.constants import HEDGE, ISOLATED, RATE


class Figures(NamedTuple):
    """Equity, initial and maintenance margin of the cross positions or of one isolated position, micro-USDC.

    Attributes
    ----------
    equity : int
        Equity of the group.
    initial : int
        Initial margin of positions and orders.
    maintenance : int
        Maintenance margin of positions.
    """

    equity: int
    initial: int
    maintenance: int

    @property
    def unhealthy(self) -> bool:
        """True when liquidation begins: maintenance margin at or above equity, or nothing left."""
        return self.maintenance > 0 and self.equity <= self.maintenance

    @property
    def ratio(self) -> int | None:
        """Margin ratio in parts of RATE, rounded up, 0 without positions, None when no equity is left."""
        if not self.maintenance:
            return 0
        return None if self.equity <= 0 else -(-self.maintenance * RATE // self.equity)


class WalletFigures(NamedTuple):
    """An account's balance, equity and margins, in micro-USDC.

    Attributes
    ----------
    withdrawable : int
        What may leave the balance now.
    maintenance : int
        Maintenance margin of all positions.
    unrealized : int
        Unrealised PnL of all positions.
    """

    balance: int
    """Cash, isolated margins included."""
    equity: int
    """Balance and the unrealised PnL of all positions."""
    available: int
    """For new positions and orders. Negative when the margin is no longer covered."""
    withdrawable: int
    initial: int
    """Margin held by positions (isolated: assigned) and orders."""
    maintenance: int
    unrealized: int
    isolated: int
    """Sum of the assigned margins."""


def mark_step(core: Core, code: int) -> int:
    """Return the value of one step of a product at mark, micro-USDC.

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    code : int
        Code of the product.
    """
    return core.state.markets[code].mark * core.risk_index.tables[code].unit


def unrealized(position: Position, step_micro: int) -> int:
    """Return the unrealised PnL of both legs, in micro-USDC.

    Parameters
    ----------
    position : Position
        Position in one product.
    step_micro : int
        Value of one step at mark, in micro-USDC.
    """
    long, short = position.long, position.short
    return (long.size - short.size) * step_micro - long.value + short.value


def exposure(position: Position, step_micro: int, hedge: bool) -> int:
    """Return the notional that needs margin, in micro-USDC.

    See `toolkit.exposure`.

    Parameters
    ----------
    position : Position
        Position in one product.
    step_micro : int
        Value of one step at mark, in micro-USDC.
    hedge : bool
        Whether the account is in hedge mode, where both legs need margin.
    """
    long, short = position.long.size * step_micro, position.short.size * step_micro
    return exposed(long, short, position.buy_value, position.sell_value, hedge)


def standing(account: VenueAccount, position: Position, step_micro: int) -> Standing:
    """Return what an account holds in a product, as an order is judged by it.

    Parameters
    ----------
    account : VenueAccount
        Account whose positions and orders are valued.
    position : Position
        Position in one product.
    step_micro : int
        Value of one step at mark, in micro-USDC.
    """
    held = position.long.size, position.short.size, position.buy_value, position.sell_value
    equity = position.assigned + unrealized(position, step_micro) if position.mode == ISOLATED else None
    return Standing(*held, step_micro, position.leverage, account.position_mode == HEDGE, equity)


def reducible(account: VenueAccount, position: Position, side: int) -> int:
    """Return how many steps an ordinary order of `side` can trade without opening anything.

    Parameters
    ----------
    account : VenueAccount
        Account with its position mode. In hedge mode an ordinary order always opens.
    position : Position
        Position in one product.
    side : int
        +1 for a buy, −1 for a sell.
    """
    if account.position_mode == HEDGE:
        return 0
    return position.short.size if side > 0 else position.long.size


def held(position: Position, step_micro: int) -> int:
    """Return the notional of the legs alone, in micro-USDC.

    Parameters
    ----------
    position : Position
        Position in one product.
    step_micro : int
        Value of one step at mark, in micro-USDC.
    """
    return (position.long.size + position.short.size) * step_micro


def cross_margin(core: Core, account: VenueAccount) -> Figures:
    """Return the figures of the cross positions and of all orders, also in isolated products.

    Orders in isolated products hold their margin from the cross balance until they fill. Runs for every order, and for
    every account that traded after each command.

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    account : VenueAccount
        Account whose positions and orders are valued.
    """
    equity, initial, maintenance = account.balance, 0, 0
    hedge = account.position_mode == HEDGE
    markets, tables = core.state.markets, core.risk_index.tables
    for code, position in account.positions.items():
        long, short = position.long, position.short
        longs, shorts = long.size, short.size
        buys, sells = position.buy_value, position.sell_value
        if not (longs or shorts or buys or sells):
            continue
        table = tables[code]
        step_micro = markets[code].mark * table.unit
        if position.mode == ISOLATED:
            initial += standing(account, position, step_micro).initial()
            continue
        net = (longs - shorts) * step_micro
        if longs:
            maintenance += table.maintenance(longs * step_micro)
        if shorts:
            maintenance += table.maintenance(shorts * step_micro)
        equity += net - long.value + short.value
        # `exposed` and `required` written out: resting values are never below 0
        # Second form: the initial margin of an account's cross products
        if hedge:
            needs = (longs + shorts) * step_micro + buys + sells
        else:
            needs, other = net + buys, sells - net
            if other > needs:
                needs = other
        # Leverage is in hundredths. The double negation rounds up, against the account.
        initial -= -needs * 100 // position.leverage
    return Figures(equity, initial, maintenance)


def cross_equity(core: Core, account: VenueAccount) -> int:
    """Return the equity of `cross_margin` alone.

    Runs for both sides of every fill.

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    account : VenueAccount
        Account whose positions and orders are valued.
    """
    equity, markets, tables = account.balance, core.state.markets, core.risk_index.tables
    for code, position in account.positions.items():
        long, short = position.long, position.short
        if (long.size or short.size) and position.mode != ISOLATED:
            equity += (long.size - short.size) * markets[code].mark * tables[code].unit - long.value + short.value
    return equity


def healthy(core: Core, account: VenueAccount) -> bool:
    """Return whether no position of an account is to be liquidated and nothing is owed.

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    account : VenueAccount
        Account whose positions and orders are valued.
    """
    equity, _, maintenance = cross_margin(core, account)
    # A flat account with nothing is healthy, one that owes is not.
    if equity <= maintenance and (maintenance or equity < 0):
        return False
    for position in account.positions.values():
        if position.mode == ISOLATED and (position.long.size or position.short.size):
            if isolated_margin(core, position).unhealthy:
                return False
    return True


def isolated_margin(core: Core, position: Position) -> Figures:
    """Return the figures of one isolated position (without its orders).

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    position : Position
        Isolated position, without its orders.
    """
    table, step_micro = core.risk_index.tables[position.product], mark_step(core, position.product)
    long, short = position.long.size * step_micro, position.short.size * step_micro
    equity = position.assigned + unrealized(position, step_micro)
    maintenance = table.maintenance(long) + table.maintenance(short)
    return Figures(equity, required(long + short, position.leverage), maintenance)


def wallet(core: Core, account: VenueAccount) -> WalletFigures:
    """Return an account's balance, margins and available amounts.

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    account : VenueAccount
        Account whose positions and orders are valued.
    """
    figures = cross_margin(core, account)
    assigned = isolated_pnl = cross_profits = total_pnl = 0
    maintenance = figures.maintenance
    for code, position in account.positions.items():
        if not (position.long.size or position.short.size):
            continue
        pnl = unrealized(position, mark_step(core, code))
        total_pnl += pnl
        if position.mode == ISOLATED:
            assigned += position.assigned
            isolated_pnl += pnl
            maintenance += isolated_margin(core, position).maintenance
        else:
            cross_profits += max(0, pnl)
    return WalletFigures(
        balance=account.balance + assigned,
        equity=figures.equity + assigned + isolated_pnl,
        available=figures.equity - figures.initial,
        # Unrealised profit can carry positions, but can't be taken out. Losses count in full.
        withdrawable=max(0, figures.equity - cross_profits - figures.initial),
        initial=figures.initial + assigned,
        maintenance=maintenance,
        unrealized=total_pnl,
        isolated=assigned,
    )


def available(core: Core, account: VenueAccount) -> int:
    """Return what new positions and orders may use: balance + cross PnL − initial margin of positions and orders.

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    account : VenueAccount
        Account whose positions and orders are valued.
    """
    figures = cross_margin(core, account)
    return figures.equity - figures.initial


def withdrawable(core: Core, account: VenueAccount) -> int:
    """Return what may leave the balance: as `available`, without the positive unrealised PnL of any product.

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    account : VenueAccount
        Account whose positions and orders are valued.
    """
    return wallet(core, account).withdrawable


def liquidation_price(core: Core, account: VenueAccount, product: int) -> Decimal | None:
    """Return the mark price in USDC at which a product's position would be liquidated, all other marks unchanged.

    None without a position, or where no price does it. Exact formulas of `margin`, not rounded to ticks.

    Parameters
    ----------
    core : Core
        State machine of the venue, read for marks and margin tables.
    account : VenueAccount
        Account whose positions and orders are valued.
    product : int
        Code of the product.
    """
    position = account.positions.get(product)
    if position is None or not (position.long.size or position.short.size):
        return None
    listed = core.products[product]
    if position.mode == ISOLATED:
        stake = position.assigned
    else:
        # the margin behind this position: cross equity without its own PnL, less the maintenance margin of the others
        figures = cross_margin(core, account)
        table, step_micro = core.risk_index.tables[product], mark_step(core, product)
        own = table.maintenance(position.long.size * step_micro) + table.maintenance(position.short.size * step_micro)
        stake = figures.equity - unrealized(position, step_micro) - (figures.maintenance - own)
    long, short = (_size_and_entry(listed, leg) for leg in (position.long, position.short))
    return margin.liquidation_price_hedged(*long, *short, Decimal(stake) / MICRO, listed.tiers)


def _size_and_entry(product: Product, leg: Leg) -> tuple[Decimal, Decimal]:
    """Return the size of a leg in base units, and its average entry price in USDC."""
    size = product.step_size * leg.size
    return size, Decimal(leg.value) / MICRO / size if size else Decimal(0)


def leverage_text(leverage: int) -> str:
    """Return a leverage in hundredths as text: 2050 → "20.5x".

    Parameters
    ----------
    leverage : int
        Leverage in hundredths.
    """
    return micro_text(leverage * 10_000) + "x"
