"""Funding: the premium is sampled every 3 s, its mean makes the rate, and longs and shorts settle at UTC multiples.

A payment is size × mark × rate. Payers are rounded up and receivers down to 1e-6. All of it passes through the clearing
account, which hands the rest to ROUNDING, so that a settlement closes exactly. An isolated position pays from, and
receives into, its own margin. Rates are in parts of RATE (1e-8), premiums in parts of FINE (1e-12).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.changes import AccountChanged
from ..engine.core import Core
from ..engine.registry import process
from ..model.accounts import Leg, Position, VenueAccount
from ..model.constants import ISOLATED, RATE
from ..model.history import FundingPayment, FundingRate
from ..model.state import MarketState
from . import ledger

FINE = 1_000_000_000_000
"""Premium samples are whole numbers of 1 / FINE."""
_TICK = 1_000_000
"""Impact prices are in 1 / _TICK of a tick, their quantities in 1 / _STEP of a step: precise enough for FINE."""
_PART = FINE // _TICK
_STEP = 10**18
_HOUR = 3_600


@process("funding")
def sample(core: Core, time: int) -> int:
    """Sample the premium of every product and settle those whose interval ends now.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the sample, Unix ms.
    """
    for code, market in core.state.markets.items():
        market.premium += premium(core, market)
        market.samples += 1
        # The sample of this instant still belongs to the interval that ends now. Settlements are at multiples of the
        # interval in UTC, as published.
        if time % (core.products[code].funding_interval * 1000) == 0:
            settle(core, market, time)
    return time + core.state.config.price_interval


def premium(core: Core, market: MarketState) -> int:
    """Return the present premium in parts of FINE, within its bound (see `margin.premium`).

    Parameters
    ----------
    core : Core
        State machine of the venue. The product's book is read.
    market : MarketState
        Market of the product, with its oracle price and samples.
    """
    return premium_of(core, market, *core.books.sampled(market.product))


def premium_of(core: Core, market: MarketState, best_bid: int, best_ask: int) -> int:
    """Return the premium of a book of which the best prices are these.

    Parameters
    ----------
    core : Core
        State machine of the venue. Levels beyond the best prices are read from its book.
    market : MarketState
        Market of the product, with its oracle price and samples.
    best_bid : int
        Best bid in ticks, 0 = none.
    best_ask : int
        Best ask in ticks, 0 = none.
    """
    code, oracle = market.product, market.oracle
    # Most samples end here without a look at the levels.
    if best_bid <= oracle <= best_ask or not oracle:
        return 0  # an impact price is never better than the best one
    table = core.risk_index.tables[code]
    # The notional that 200 USDC of margin carry at the product's highest leverage, as published.
    config = core.state.config
    depth = config.usual_depth or market.depth
    notional = max(config.impact_margin * table.max_leverage // 100, depth * config.impact_share // RATE)
    above = below = 0
    if best_bid > oracle:
        # An impact price is never better than the best one, also if the levels have more than a sample counts.
        bid = min(best_bid * _TICK, impact_price(core.books.levels(code, 1, notional), notional, table.unit))
        above = max(0, bid - oracle * _TICK) * _PART // oracle
    if 0 < best_ask < oracle:
        ask = impact_price(core.books.levels(code, -1, notional), notional, table.unit)
        # A side that is too thin for the notional has no impact price, and adds no premium.
        below = max(0, oracle * _TICK - max(ask, best_ask * _TICK)) * _PART // oracle if ask else 0
    if not config.premium_bound:
        return above - below
    most = max(config.premium_bound, config.mark_band * table.gentlest // RATE) * (FINE // RATE)
    return max(-most, min(above - below, most))


def impact_price(levels: Iterable[tuple[int, int]], notional_micro: int, unit: int) -> int:
    """Return the average price of trading a notional against the levels of a side, in millionths of a tick.

    0 if the levels do not hold so much.

    Parameters
    ----------
    levels : iterable of tuple of (int, int)
        (Price in ticks, steps) of one side, best first.
    notional_micro : int
        Notional to trade, in micro-USDC.
    unit : int
        Micro-USDC of one step at a price of one tick.
    """
    left_micro, quantity = notional_micro, 0
    for price_ticks, depth_steps in levels:
        value_micro = price_ticks * depth_steps * unit
        if value_micro >= left_micro:
            if not quantity:
                return price_ticks * _TICK  # the first level holds all of it
            # The quantity of the last level is a fraction of a step, so that the average does not jump with whole
            # steps.
            quantity += left_micro * _STEP // (price_ticks * unit)
            return notional_micro * _STEP * _TICK // (unit * quantity)
        left_micro -= value_micro
        quantity += depth_steps * _STEP
    return 0


def current_rate(core: Core, product: int) -> int:
    """Return the rate, parts of RATE, that would be settled if the interval ended now.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    """
    market = core.state.markets[product]
    mean = market.premium // market.samples if market.samples else 0
    return rate_of(core, product, mean)


def rate_of(core: Core, product: int, mean: int) -> int:
    """Return the funding rate, parts of RATE, of a mean premium in parts of FINE (see `margin.funding_rate`).

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    mean : int
        Mean premium of the interval, in parts of FINE.
    """
    config, scale = core.state.config, FINE // RATE
    reach = config.funding_clamp * scale
    # The interest pulls the rate by at most the clamp. Inside of it, the rate is the interest alone.
    clamped = mean + max(-reach, min(reach, config.interest * scale - mean))
    seconds = core.products[product].funding_interval
    # Premium and interest are rates of 8 hours. A shorter interval settles its share of them.
    divisor = 8 * _HOUR * scale
    rate = (2 * clamped * seconds + divisor) // (2 * divisor)  # to the nearest part of RATE, halves up
    return max(-config.funding_cap, min(config.funding_cap, rate))


def next_settlement(core: Core, product: int) -> int:
    """Return the time of the next settlement of a product, in ms.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    """
    interval = core.products[product].funding_interval * 1000
    return (core.state.time // interval + 1) * interval


def settle(core: Core, market: MarketState, time: int) -> None:
    """Set the rate of the interval that ends now, and settle it with every position of the product.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    market : MarketState
        Market of the product. Its samples start again at 0.
    time : int
        End of the interval, Unix ms.
    """
    code = market.product
    mean = core.premiums.get((code, time), market.premium // market.samples if market.samples else 0)
    rate = rate_of(core, code, mean)
    record = FundingRate(time, code, rate, market.mark, market.oracle, mean * RATE // FINE)
    # The samples start again now, also when the rate is 0 and nothing is paid.
    market.funding_rate, market.premium, market.samples = rate, 0, 0
    core.state.history.funding_rates[code].append(record)
    core.emit(record)
    if not rate:
        return
    # The payment of one step, not yet divided by RATE: it is multiplied by the size first, so that each payment is
    # rounded once.
    unit_payment = market.mark * core.risk_index.tables[code].unit * rate
    left = 0
    holders = core.risk_index.holders.get(code, {})
    for address in sorted(holders):  # payments are numbered, and the index is in no fixed order
        account = holders[address]
        position = account.positions[code]
        for side, leg in ((1, position.long), (-1, position.short)):
            if leg.size:
                amount = -side * leg.size * unit_payment // RATE  # rounded down: a payer's amount is rounded up
                left -= amount
                _pay(core, account, position, side, leg, amount, rate)
    accounts = core.state.accounts
    # Longs equal shorts, so only the roundings are left in clearing. Handing them over keeps the clearing invariant
    # exact.
    ledger.move(core, accounts[ledger.CLEARING], accounts[ledger.ROUNDING], left, ledger.FUNDING, code)


def _pay(core: Core, account: VenueAccount, position: Position, side: int, leg: Leg, amount: int, rate: int) -> None:
    state, code = core.state, position.product
    ledger.move(core, state.accounts[ledger.CLEARING], account, amount, ledger.FUNDING, code)
    # The payment goes through the balance, so that the ledger shows it, and then to or from the position's own margin.
    if position.mode == ISOLATED:
        ledger.assign(core, account, position, amount)
    leg.funding += amount
    position.funding += amount
    # Simulated participants pay and receive, but keep no records and have no feed.
    if account.kind == "market":
        return
    log = state.history.funding_payments
    what = state.time, account.address, code, side, leg.size, rate, amount
    payment = FundingPayment(len(log.records) + 1, *what, core.tx_hash())
    log.add(account.address, payment)
    core.emit(payment)
    core.emit(AccountChanged(account.address))
