"""Trading fees: maker and taker rates by 30-day volume, builder fees on top, rebates out of what was paid.

A fee is charged on the value of each fill. The payer is rounded up and the venue down (`ledger.transfer`). The fills of
one order are rounded together, so that an order never costs more than its value times its rate, rounded up once.
"""

from __future__ import annotations

from collections.abc import Callable

from ...products import Product
from ..engine.core import Core
from ..model.accounts import VenueAccount, VenueOrder
from ..model.constants import ADL, DAY, LIQUIDATION, MAKER, RATE, TAKER
from . import ledger

Rebate = Callable[["Core", VenueAccount, int, int], None]

REBATES: list[Rebate] = []
"""Rules called as rule(core, payer, fee, value) after a positive trading fee was booked to FEES. They may
pass on parts of it with `ledger.move` (referrals)."""


def volume(core: Core, account: VenueAccount) -> int:
    """Return the traded notional in micro-USDC that counts for the fee tier today: that of the last complete days.

    Parameters
    ----------
    core : Core
        State machine of the venue, with its fee tiers.
    account : VenueAccount
        Account with its traded notional by UTC day.
    """
    today = core.state.time // DAY
    first = today - core.state.config.volume_days
    return sum(value for day, value in account.volumes.items() if first <= day < today)


def rates(core: Core, account: VenueAccount, product: Product) -> tuple[int, int]:
    """Return (maker, taker) in parts of RATE (1e-8): the account's own rates, those of its volume, or the product's.

    A volume tier never costs more than the product's standard rates. Simulated participants pay nothing.

    Parameters
    ----------
    core : Core
        State machine of the venue, with its fee tiers.
    account : VenueAccount
        Account that pays.
    product : Product
        Product that is traded.
    """
    if account.kind == "market":
        return 0, 0
    day = core.state.time // DAY
    return _rate(core, account, product.code, MAKER, day), _rate(core, account, product.code, TAKER, day)


def _rate(core: Core, account: VenueAccount, code: int, role: int, day: int) -> int:
    """Return the rate of one role. See `rates`."""
    own = account.maker_rate if role == MAKER else account.taker_rate
    if own is not None:
        return own
    index = core.risk_index
    # the volume of complete days is the same all day, so its rates are looked up once a day
    cached = index.rates.get(account.address)
    if cached is None or cached[0] != day:
        traded = volume(core, account) if account.volumes else 0
        found = (RATE, RATE)  # no tier: above any product's rates; a tier's maker rate may be below 0
        for tier in core.state.config.fee_tiers:
            if traded >= tier.volume:
                found = (tier.maker, tier.taker)
        cached = index.rates[account.address] = (day, *found)
    table, by_volume = index.tables[code], cached[role]
    standard = table.maker_rate if role == MAKER else table.taker_rate
    return by_volume if by_volume < standard else standard


def charge(
    core: Core, account: VenueAccount, product: Product, order: VenueOrder, role: int, open_value: int, close_value: int
) -> tuple[int, int, int]:
    """Book the fees of one fill.

    Values and fees are in micro-USDC. Negative trading fees were received (an own maker rate below 0). A liquidated
    account pays the taker fee on its fills in the book. Trades outside the book have no trading fees.

    Parameters
    ----------
    core : Core
        State machine of the venue, with its fee tiers.
    account : VenueAccount
        Account that pays.
    product : Product
        Product that is traded.
    order : VenueOrder
        Order that is filled. Its `fee_parts` are updated.
    role : int
        MAKER or TAKER.
    open_value : int
        Value of the part of the fill that opens, in micro-USDC.
    close_value : int
        Value of the part of the fill that closes, in micro-USDC.

    Returns
    -------
    tuple of (int, int, int)
        Fee of the opening part, fee of the closing part, and the builder's fee.
    """
    if account.kind == "market" and not order.builder_rate:
        return 0, 0, 0
    value = open_value + close_value
    day = core.state.time // DAY
    # Nearly every fill adds to a day that is there. Only the first of a day drops the old ones.
    if day in account.volumes:
        account.volumes[day] += value
    else:
        note_volume(core, account, value)
    if account.kind == "market" or order.type == ADL or (order.type == LIQUIDATION and not order.reduce):
        open_fee = close_fee = due = 0  # the venue's own, and trades outside the book
    else:
        rate = _rate(core, account, product.code, role, day)
        open_fee, close_fee, due, order.fee_parts = _parts(order, rate, open_value, close_value)
    paid = open_fee + close_fee
    reference = str(order.id)
    if paid or due:
        # The account pays `paid`, the sum rounded up. The venue books `due`, rounded down. The difference is at most
        # one micro-USDC, and goes to ROUNDING.
        venue = core.state.accounts[ledger.FEES]
        ledger.transfer(core, account, venue, paid, due, ledger.TRADING_FEE, product.code, reference)
        # A negative fee was paid by the venue, so there is nothing to pass on.
        if paid > 0:
            for rule in REBATES:
                rule(core, account, paid, value)
    if not order.builder_rate:
        return open_fee, close_fee, 0
    exact = value * order.builder_rate
    # The builder's fee is rounded at each fill, because its cap holds for each fill.
    extra = -(-exact // RATE)
    builder = core.account(order.builder)
    ledger.transfer(core, account, builder, extra, exact // RATE, ledger.BUILDER_FEE, product.code, reference)
    return open_fee, close_fee, extra


def fill_rate(core: Core, account: VenueAccount, order: VenueOrder, role: int) -> int:
    """Return the rate of all fees of an order's fill, the builder's included.

    Simulated participants have none.

    Parameters
    ----------
    core : Core
        State machine of the venue, with its fee tiers.
    account : VenueAccount
        Account that pays.
    order : VenueOrder
        Order that is filled. It may carry a builder's rate.
    role : int
        MAKER or TAKER.
    """
    return _rate(core, account, order.product, role, core.state.time // DAY) + order.builder_rate


def of_fill(
    core: Core, account: VenueAccount, order: VenueOrder, role: int, open_value: int, close_value: int
) -> tuple[int, int, int]:
    """Return the fees that `charge` would book for a fill.

    Parameters
    ----------
    core : Core
        State machine of the venue, with its fee tiers.
    account : VenueAccount
        Account that pays.
    order : VenueOrder
        Order that is filled. It may carry a builder's rate.
    role : int
        MAKER or TAKER.
    open_value : int
        Value of the part of the fill that opens, in micro-USDC.
    close_value : int
        Value of the part of the fill that closes, in micro-USDC.

    Returns
    -------
    tuple of (int, int, int)
        Fee of the opening part, fee of the closing part, and the builder's fee, in micro-USDC.
    """
    rate = 0 if account.kind == "market" else _rate(core, account, order.product, role, core.state.time // DAY)
    builder_fee = -(-(open_value + close_value) * order.builder_rate // RATE)
    open_fee, close_fee, _, _ = _parts(order, rate, open_value, close_value)
    return open_fee, close_fee, builder_fee


def _parts(order: VenueOrder, rate: int, open_value: int, close_value: int) -> tuple[int, int, int, int]:
    """Return the fees of the opening and of the closing part of a fill, what both are before rounding up, in whole
    micro-USDC, and the next `fee_parts`.

    The fills of an order are rounded together: `fee_parts` is the fraction of a micro-USDC that the rounding of former
    fills has paid for. Only the fraction is kept, because the exact sum would outgrow 64 bits.
    """
    before, exact = order.fee_parts, (open_value + close_value) * rate
    due = exact // RATE
    parts = before + exact - due * RATE
    # A fraction of former fills has already been charged as one whole micro-USDC, which is taken off again.
    paid = due + -(-parts // RATE) - (1 if before else 0)
    if parts >= RATE:
        parts -= RATE
    if not open_value:
        return 0, paid, due, parts
    if not close_value:
        return paid, 0, due, parts
    # The closing part is rounded up and the opening part is the rest, so that both together are exactly what was paid.
    share = -(-close_value * rate // RATE)
    close_fee = min(paid, share) if rate >= 0 else max(paid, share)
    return paid - close_fee, close_fee, due, parts


def note_volume(core: Core, account: VenueAccount, value: int) -> None:
    """Add to today's traded notional and drop the days that no longer count.

    Parameters
    ----------
    core : Core
        State machine of the venue, with its fee tiers.
    account : VenueAccount
        Account that pays.
    value : int
        Traded notional in micro-USDC.
    """
    if account.kind == "market":
        return
    day = core.state.time // DAY
    volumes = account.volumes
    if day in volumes:
        volumes[day] += value
        return
    first = day - core.state.config.volume_days
    for old in [each for each in volumes if each < first]:
        del volumes[old]
    volumes[day] = value


def worst_cost(
    core: Core, account: VenueAccount, product: Product, value: int, builder_rate: int = 0, roundings: int = 0
) -> int:
    """Return the most that filling an order of this value costs in fees, micro-USDC.

    Parameters
    ----------
    core : Core
        State machine of the venue, with its fee tiers.
    account : VenueAccount
        Account that pays.
    product : Product
        Product that is traded.
    value : int
        Notional of the order in micro-USDC.
    builder_rate : int, optional
        Fee of the builder, in parts of RATE (default: 0).
    roundings : int, optional
        Number of fills at most. A builder's fee is rounded up at each one, by up to 1 micro-USDC (default: 0).
    """
    cost = -(-value * max(*rates(core, account, product), 0) // RATE)
    return cost - (-value * builder_rate // RATE) + roundings if builder_rate else cost
