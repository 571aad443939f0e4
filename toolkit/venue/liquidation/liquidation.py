"""Liquidation: what happens when an account's maintenance margin reaches its equity (risk-rules, "Liquidation").

The cross positions of an account form one group, each isolated position one of its own. An unhealthy group loses its
opening orders; then its positions are closed, the largest first: in the book, bounded by the bankruptcy price; what the
book can't take goes to the LP vault at mark, up to its limit; what remains is closed against opposite positions at the
bankruptcy price (auto-deleveraging). It ends when the margin ratio is below 95 % or nothing is left.

Who pays when a jump leaves less than nothing: the LP vault for what it takes over, the deleveraged counterparts for
what is closed at the bankruptcy price, INSURANCE for what neither can carry. `History.liquidations` keeps each step.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from ... import margin
from ...products import MICRO
from ..engine import events as ev
from ..engine.registry import post_command, process
from ..model.accounts import Leg, Position, VenueAccount, VenueOrder
from ..model.constants import ADL, HEDGE, ISOLATED, LIQUIDATING, LIQUIDATION, NORMAL, RATE
from ..model.history import LiquidationStep
from ..model.state import Liquidation
from ..risk import account_margin, equity_samples, ledger
from ..risk.ledger import LP_VAULT, OWN
from ..trading import lifecycle, matching, orders

if TYPE_CHECKING:
    from ..engine.core import Core

BOOK, NETTED, VAULT, COUNTERPARTY = "BOOK", "NETTED", "LP_VAULT", "ADL"
"""Where a part of a liquidated position went."""


@process("liquidation")
def wake(core: Core, time: int) -> int | None:
    """Look again at the liquidations whose pause is over; the check after this instant closes their next slice."""
    later = None
    for entry in core.state.liquidations.values():
        if entry.next <= time:
            core.risk_index.touched[entry.address] = core.state.accounts[entry.address]
        elif later is None or entry.next < later:
            later = entry.next
    return later


@post_command("liquidation")
def check(core: Core) -> bool:
    """Check every account whose balance, position or mark changed; True when something was closed."""
    desk, accounts, closed = core.risk_index, core.state.accounts, False
    while desk.touched or desk.moved:
        touched, desk.touched = desk.touched, {}
        near = _near_the_edge(core)
        for address in sorted(near.union(touched)) if near else sorted(touched):
            account = accounts[address]
            for code in account.positions:
                desk.bands[code].pop(address, None)
            if account.kind in OWN or address == LP_VAULT:
                continue
            if core.state.liquidations or not account_margin.healthy(core, account):
                closed = _check_account(core, account) or closed
            if address in near:
                _set_bands(core, account)
    return closed


def _near_the_edge(core: Core) -> set[str]:
    """Return who has to be looked at because marks moved: those without a band, and those whose mark has left it."""
    desk, found = core.risk_index, set()
    for code in desk.moved:
        mark, bands = core.state.markets[code].mark, desk.bands[code]
        for address in desk.holders[code]:
            band = bands.get(address)
            if band is None or not band[0] <= mark <= band[1]:
                found.add(address)
    desk.moved = set()
    return found


def _check_account(core: Core, account: VenueAccount) -> bool:
    closed = shared = False
    for code in list(account.positions):
        position = account.positions[code]
        if position.long.size or position.short.size:
            if position.mode == ISOLATED:
                closed = _check_group(core, account, code) or closed
            else:
                shared = True
    if shared or f"{account.address}:0" in core.state.liquidations:
        closed = _check_group(core, account, 0) or closed
    if account.balance < 0 and not legs_of(account, 0):
        _settle_debt(core, account)
    return closed


def _set_bands(core: Core, account: VenueAccount) -> None:
    """Note between which marks an account is certainly healthy, so that it need not be looked at while they hold.

    What separates equity from maintenance margin is shared out evenly among the group's products; a mark that moves
    by one tick costs at most the legs' value of a tick and its steepest maintenance rate. A micro-USDC a leg is left,
    because maintenance margins are rounded up and equity must stay above them.
    """
    desk = core.risk_index
    shared = [p for p in account.positions.values() if p.mode != ISOLATED and (p.long.size or p.short.size)]
    under = account.status == LIQUIDATING
    slack = 0
    if shared and not under:
        figures = account_margin.cross_margin(core, account)
        slack = (figures.equity - figures.maintenance) // len(shared)
    for code, position in account.positions.items():
        size = position.long.size + position.short.size
        if not size:
            continue
        room = slack
        if position.mode == ISOLATED:
            figures = account_margin.isolated_margin(core, position)
            room = figures.equity - figures.maintenance
        table, mark = desk.table(code), core.state.markets[code].mark
        width = (room - 2) * RATE // (size * table.unit * (RATE + table.steepest))
        if width > 0 and not under:
            desk.bands[code][account.address] = (mark - width, mark + width)


def _settle_debt(core: Core, account: VenueAccount) -> None:
    """Let an account without cross positions pay what it owes from what its isolated positions are worth; the rest is
    covered."""
    for position in account.positions.values():
        if position.mode == ISOLATED and account.balance < 0:
            worth = max(0, account_margin.isolated_margin(core, position).equity)
            ledger.assign(core, account, position, -min(worth, -account.balance))
    if account.balance < 0:
        cover(core, account, None, -account.balance)


def _check_group(core: Core, account: VenueAccount, product: int) -> bool:
    entry = core.state.liquidations.get(f"{account.address}:{product}")
    figures = figures_of(core, account, product)
    if entry is None:
        if not figures.unhealthy:
            return False
        entry = _begin(core, account, product)
    elif _recovered(core, figures):
        _end(core, account, product)
        return False
    elif figures.equity > 0 and core.state.time < entry.next:
        return False
    return _advance(core, account, product, entry)


def figures_of(core: Core, account: VenueAccount, product: int) -> account_margin.Figures:
    """Return the figures of a group: of the isolated position of a product, or (product 0) of all cross positions."""
    return (
        account_margin.isolated_margin(core, account.positions[product])
        if product
        else account_margin.cross_margin(core, account)
    )


def legs_of(account: VenueAccount, product: int) -> list[tuple[Position, int, Leg]]:
    """Return the open legs of a group as (position, side, leg)."""
    if product:
        positions = [account.positions[product]]
    else:
        positions = [position for position in account.positions.values() if position.mode != ISOLATED]
    return [
        (position, side, leg)
        for position in positions
        for side, leg in ((1, position.long), (-1, position.short))
        if leg.size
    ]


def _recovered(core: Core, figures: account_margin.Figures) -> bool:
    ratio = figures.ratio
    return ratio is not None and ratio < core.state.config.liquidation_stop


def _begin(core: Core, account: VenueAccount, product: int) -> Liquidation:
    state = core.state
    entry = Liquidation(account.address, product, state.time, state.time)
    state.liquidations[f"{account.address}:{product}"] = entry
    account.status = LIQUIDATING
    account.updated = state.time
    core.emit(ev.AccountChanged(account.address))
    equity_samples.keep(core, account)
    for order in list(account.orders.values()):
        position = account.positions[order.product]
        mine = order.product == product if product else True
        if mine and order.id in account.orders and order.priority and not (order.reduce or order.closing):
            if _opens(account, position, order):
                lifecycle.cancel(core, account, order, "the position is being liquidated")
    return entry


def _opens(account: VenueAccount, position: Position, order: VenueOrder) -> bool:
    """Tell whether an order goes in its position's direction, or opens one where there is none."""
    if account.position_mode == HEDGE:
        return True
    against = position.short.size if order.side > 0 else position.long.size
    return order.leaves > against


def _end(core: Core, account: VenueAccount, product: int) -> None:
    del core.state.liquidations[f"{account.address}:{product}"]
    if not any(entry.address == account.address for entry in core.state.liquidations.values()):
        account.status = NORMAL
    equity_samples.keep(core, account)
    account.updated = core.state.time
    core.emit(ev.AccountChanged(account.address))


def _advance(core: Core, account: VenueAccount, product: int, entry: Liquidation) -> bool:
    """Close positions of a group until it has recovered, is flat, a slice asks for a pause, or what is left of it is
    paused; True when something was closed."""
    config, markets, closed = core.state.config, core.state.markets, False
    while True:
        figures = figures_of(core, account, product)
        legs = legs_of(account, product)
        if not legs or _recovered(core, figures):
            _end(core, account, product)
            return closed
        legs = [each for each in legs if not markets[each[0].product].paused]
        if not legs:
            return closed
        closed = True
        position, side, leg = max(legs, key=lambda each: (_value(core, each), -each[0].product, each[1]))
        value, size = _value(core, (position, side, leg)), leg.size
        if account.position_mode == HEDGE and position.long.size and position.short.size:
            _net(core, account, position)
        elif figures.equity <= 0 or value <= config.liquidation_whole:
            close(core, account, position, side, leg.size, product)
        else:
            close(core, account, position, side, -(-leg.size * config.liquidation_slice // RATE), product)
            entry.next = core.state.time + config.liquidation_pause
        assert leg.size < size, "a step of a liquidation that closes nothing would never end"
        if entry.next > core.state.time and legs_of(account, product):
            figures = figures_of(core, account, product)
            if figures.equity > 0 and not _recovered(core, figures):
                core.wake("liquidation", entry.next)
                return closed


def _value(core: Core, each: tuple[Position, int, Leg]) -> int:
    code = each[0].product
    return each[2].size * core.state.markets[code].mark * core.risk_index.table(code).unit


# ------------------------------------------------------------------------------------------------- the ladder


def close(core: Core, account: VenueAccount, position: Position, side: int, quantity: int, product: int) -> None:
    """Close `quantity` steps of a leg: in the book, then with the LP vault, then by auto-deleveraging."""
    left = _close_in_book(core, account, position, side, quantity, product)
    if left:
        left = _close_with_vault(core, account, position, side, left, product)
    if left:
        _deleverage(core, account, position, side, left, product)


def bankruptcy_price(core: Core, account: VenueAccount, position: Position, side: int, product: int) -> int:
    """Return the price in ticks at which closing a leg leaves its group nothing, rounded away from the trader.

    It may lie below 1 or above the product's highest price (see `margin.bankruptcy_price`).
    """
    leg = position.long if side > 0 else position.short
    market, unit = core.state.markets[position.product], core.risk_index.table(position.product).unit
    return market.mark - side * (_leg_equity(core, account, position, side, product) // (leg.size * unit))


def _leg_equity(core: Core, account: VenueAccount, position: Position, side: int, product: int) -> int:
    """Return the equity that closing a leg may use up: that of its group.

    When that is below nothing the leg has to bring in its part: all of it if it is the only one, otherwise in
    proportion to the legs' unrealised losses.
    """
    equity = figures_of(core, account, product).equity
    if equity >= 0:
        return equity
    losses = {(each[0].product, each[1]): _loss(core, *each) for each in legs_of(account, product)}
    total = sum(losses.values())
    return -(-equity * losses[position.product, side] // total) if total else equity


def _loss(core: Core, position: Position, side: int, leg: Leg) -> int:
    value = leg.size * core.state.markets[position.product].mark * core.risk_index.table(position.product).unit
    return max(0, side * (leg.value - value))


def _close_in_book(
    core: Core, account: VenueAccount, position: Position, side: int, quantity: int, product: int
) -> int:
    bound = bankruptcy_price(core, account, position, side, product)
    ladder = core.books[position.product].side(side)
    listed = core.products[position.product]
    if not ladder.best or (ladder.best - bound) * side < 0 or not 0 < bound <= listed.max_price:
        return quantity
    equity = figures_of(core, account, product).equity
    order = orders.close_out(core, account, listed, -side, quantity, bound, LIQUIDATION)
    if order.filled:
        average = order.value // (order.filled * core.risk_index.table(position.product).unit)
        _note(core, account, position, side, order.filled, BOOK, average, "", equity, 0)
    return quantity - order.filled


def _net(core: Core, account: VenueAccount, position: Position) -> None:
    """Close the long and the short of a hedge against each other at mark; it costs nothing and frees margin."""
    quantity = min(position.long.size, position.short.size)
    price = core.state.markets[position.product].mark
    equity = figures_of(core, account, position.product if position.mode == ISOLATED else 0).equity
    product = core.products[position.product]
    matching.trade_off_book(core, product, account, account, quantity, price, LIQUIDATION, account)
    _note(core, account, position, 1, quantity, NETTED, price, account.address, equity, 0)


def _close_with_vault(
    core: Core, account: VenueAccount, position: Position, side: int, quantity: int, product: int
) -> int:
    """Let the LP vault take a leg over at mark, for its fee; it pays what the group lacks. Return what is left."""
    config, code = core.state.config, position.product
    vault = core.state.accounts[LP_VAULT]
    listed, table = core.products[code], core.risk_index.table(code)
    leg = position.long if side > 0 else position.short
    price = core.state.markets[code].mark
    equity = _leg_equity(core, account, position, side, product)
    lack = max(0, -(equity // leg.size))
    taken = min(quantity, _vault_room(core, vault, code, side, price * table.unit, lack))
    if taken <= 0:
        return quantity
    fee, whole = table.maintenance(leg.size * price * table.unit) * taken * config.takeover_fee, leg.size * RATE
    most = max(0, equity) * taken // leg.size
    charged, received = min(-(-fee // whole), most), min(fee // whole, most)
    paid = min(lack * taken, max(0, -equity))
    if paid:
        _grant(core, vault, account, position, paid)
    if charged:
        if position.mode == ISOLATED:
            ledger.assign(core, account, position, -charged)
        ledger.transfer(core, account, vault, charged, received, ledger.LIQUIDATION_FEE, code)
    buyer, seller = (vault, account) if side > 0 else (account, vault)
    matching.trade_off_book(core, listed, buyer, seller, taken, price, LIQUIDATION, account)
    _note(core, account, position, side, taken, VAULT, price, vault.address, equity, paid)
    return quantity - taken


def _vault_room(core: Core, vault: VenueAccount, code: int, side: int, price: int, lack: int) -> int:
    """Return how many steps of a leg the LP vault may take over: its notional stays within a multiple of its equity."""
    multiple = core.state.config.lp_leverage
    equity = account_margin.cross_margin(core, vault).equity
    if equity <= 0:
        return 0
    others = own = 0
    for other, position in vault.positions.items():
        unit_price = core.state.markets[other].mark * core.risk_index.table(other).unit
        if other == code:
            own = side * (position.long.size - position.short.size)
        else:
            others += account_margin.held(position, unit_price)
    room = (equity * multiple - others * 100 - own * price * 100) // (price * 100 + lack * multiple)
    return min(room, equity // lack) if lack else room


def _deleverage(core: Core, account: VenueAccount, position: Position, side: int, quantity: int, product: int) -> None:
    """Close a leg against the opposite positions with the highest scores, at its bankruptcy price.

    Nobody is made bankrupt by it: a counterpart gives at most the equity it has at mark, the rest is covered.
    """
    code = position.product
    listed, unit = core.products[code], core.risk_index.table(code).unit
    mark = core.state.markets[code].mark
    for step in margin.adl_order(_opposite(core, account, code, side), quantity):
        other, steps = core.state.accounts[step.account], int(step.quantity)
        equity = figures_of(core, account, product).equity
        bound = bankruptcy_price(core, account, position, side, product)
        means = max(0, _group_equity(core, other, code))
        price = mark + side * min(side * (bound - mark), means // (steps * unit))
        price = max(1, min(price, listed.max_price))
        lack = max(0, side * (bound - price) * steps * unit)
        if lack:
            cover(core, account, position, lack)
        buyer, seller = (other, account) if side > 0 else (account, other)
        matching.trade_off_book(core, listed, buyer, seller, steps, price, ADL, account)
        _note(core, account, position, side, steps, COUNTERPARTY, price, other.address, equity, lack)


def _group_equity(core: Core, account: VenueAccount, code: int) -> int:
    return figures_of(core, account, code if account.positions[code].mode == ISOLATED else 0).equity


def _opposite(core: Core, account: VenueAccount, code: int, side: int) -> list[dict[str, object]]:
    """Return the positions against a leg, scored, by address."""
    listed = core.products[code]
    mark = listed.tick_size * core.state.markets[code].mark
    found: list[dict[str, object]] = []
    for address, other in sorted(core.risk_index.holders.get(code, {}).items()):
        position = other.positions[code]
        leg = position.short if side > 0 else position.long
        if other is account or not leg.size:
            continue
        equity = _group_equity(core, other, code)
        size = listed.step_size * leg.size
        entry = Decimal(leg.value) / MICRO / size
        bankrupt = max(Decimal(0), mark + side * Decimal(equity) / MICRO / size)
        score = margin.adl_score(-side, size, max(entry, listed.tick_size), mark, bankrupt)
        found.append({"account": address, "size": leg.size, "score": score})
    return found


# ----------------------------------------------------------------------------------------------- who pays what


def cover(core: Core, account: VenueAccount, position: Position | None, amount: int) -> None:
    """Pay what a group lacks: the LP vault from its balance, INSURANCE the rest (its balance may fall below 0)."""
    vault = core.state.accounts[LP_VAULT]
    part = min(amount, max(0, vault.balance, 0)) if vault is not account else 0
    _grant(core, vault, account, position, part)
    _grant(core, core.state.accounts[ledger.INSURANCE], account, position, amount - part)


def _grant(core: Core, payer: VenueAccount, account: VenueAccount, position: Position | None, amount: int) -> None:
    product = position.product if position is not None else 0
    ledger.move(core, payer, account, amount, ledger.BANKRUPTCY, product)
    if position is not None and position.mode == ISOLATED:
        ledger.assign(core, account, position, amount)


def _note(
    core: Core,
    account: VenueAccount,
    position: Position,
    side: int,
    quantity: int,
    where: str,
    price: int,
    counterpart: str,
    equity: int,
    paid: int,
) -> None:
    log = core.state.history.liquidations
    log.add(
        account.address,
        LiquidationStep(
            len(log.records) + 1,
            core.state.time,
            account.address,
            position.product,
            position.mode,
            side,
            quantity,
            where,
            price,
            core.state.markets[position.product].mark,
            counterpart,
            equity,
            paid,
            core.tx_hash(),
        ),
    )
