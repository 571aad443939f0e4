"""Arbitrageurs of the simulated market: they take every order of a user that is further from fair than spread and fee.

They know the fair price that the makers quote around: the index, the premium of an external perpetual, and the trades
of the last minutes. They see a mispriced order tens to hundreds of ms after it came, or after news has passed it, and
trade at its price. Their capital per product is finite and refills over minutes. They hedge elsewhere, so their trades
move neither index nor makers: otherwise a user could move the index by being hit. An order near fair is left alone.
"""

from __future__ import annotations

from ..engine.core import Core
from ..model.accounts import VenueOrder
from ..model.constants import FILLED, IOC, LIMIT, MINUTE_MS, OWN, USDC
from ..risk import ledger
from ..trading import lifecycle, matching
from ..trading.lifecycle import position_of
from .noise import mix
from .quoted import FINE, PPM, Quoted
from .quoting import Quotes

ARBITRAGEUR = "0x00000000000000000000000000000000000000b6"
_CAPITAL = 1_000_000_000_000_000
"""Deposit of their account, in micro-USDC. `Market.arbitrage_usdc` limits what they use of it."""
_FASTEST_MS, _SLOWEST_MS = 40, 300
_EMPTY_MS = 2_000
"""Time after which they look again when their capital is used up."""
_NEAR_PPM = 10_000
"""While a user's order is nearer to fair than this, they look at each piece of news."""
_FAR_PPM = 25_000
"""An order that is further away than this can't be reached within the minutes that pass in one batch."""


def notice(core: Core, quotes: Quotes, quoted: Quoted, time: int) -> None:
    """Decide when the arbitrageurs act, if an order of a user is mispriced now.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    quotes : Quotes
        Quotes of the simulated market.
    quoted : Quoted
        Quotes and flow of one product. Its book is folded.
    time : int
        Present time, Unix ms.
    """
    sim, bid, ask = quoted.sim, quoted.users.bids.best, quoted.users.asks.best
    if not (bid or ask) or not quotes.has_arbitrage(quoted):
        sim.hunt = 0
        return
    low, high = quotes.left_alone(quoted, time)
    if not (bid * FINE > high or 0 < ask * FINE < low):
        sim.hunt = 0
    elif sim.hunt <= time:
        sim.hunt = time + _FASTEST_MS + mix(quoted.source.seed, quoted.code, 0xA1, time) % (_SLOWEST_MS - _FASTEST_MS)


def next_look(quotes: Quotes, quoted: Quoted, time: int) -> int:
    """Return when the arbitrageurs next act or look at a product, Unix ms. 0 = not before its next order.

    Parameters
    ----------
    quotes : Quotes
        Quotes of the simulated market.
    quoted : Quoted
        Quotes and flow of one product.
    time : int
        Present time, Unix ms.
    """
    if quoted.sim.hunt > time:
        return quoted.sim.hunt
    return quoted.next_news if is_near(quotes, quoted, time, _NEAR_PPM) else 0


def is_near(quotes: Quotes, quoted: Quoted, time: int, reach_ppm: int = _FAR_PPM) -> bool:
    """Return whether news could soon pass an order of a user.

    Parameters
    ----------
    quotes : Quotes
        Quotes of the simulated market.
    quoted : Quoted
        Quotes and flow of one product.
    time : int
        Present time, Unix ms.
    reach_ppm : int, optional
        Distance from fair in millionths (default: 2.5 %).
    """
    bid, ask = quoted.users.bids.best, quoted.users.asks.best
    if not (bid or ask) or not quotes.has_arbitrage(quoted):
        return False
    low, high = quotes.left_alone(quoted, time)
    return bid * FINE > low - low * reach_ppm // PPM or 0 < ask * FINE < high + high * reach_ppm // PPM


def act(core: Core, quotes: Quotes, quoted: Quoted, time: int) -> None:
    """Trade with the orders of users that are mispriced, best first, until the capital is used up.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    quotes : Quotes
        Quotes of the simulated market.
    quoted : Quoted
        Quotes and flow of one product.
    time : int
        Present time, Unix ms.
    """
    sim, numbers, low_high = quoted.sim, quotes.simulation.market, quotes.left_alone(quoted, time)
    capital = numbers.arbitrage_usdc * USDC
    refilled = (time - sim.spent_at) * capital // (numbers.arbitrage_minutes * MINUTE_MS)
    sim.spent, sim.spent_at, sim.hunt = max(0, sim.spent - refilled), time, 0
    for side, low, high in ((-1, low_high[1], 1 << 62), (1, 1, low_high[0])):
        if not quoted.users.side(-side).best or not low < quoted.users.side(-side).best * FINE < high:
            continue
        levels = [each for each in core.books[quoted.code].side(-side) if low < each.price * FINE < high]
        for maker in [order for level in levels for order in level.orders.values()]:
            if core.state.accounts[maker.address].kind in OWN or not maker.leaves:
                continue
            steps = min(maker.leaves, (capital - sim.spent) // (maker.price * quoted.unit))
            if steps <= 0:
                sim.hunt = time + _EMPTY_MS
                return
            sim.spent += _fill(core, quoted, side, maker, steps) * maker.price * quoted.unit


def _fill(core: Core, quoted: Quoted, side: int, maker: VenueOrder, steps: int) -> int:
    """Trade with a user's order at its price. Return the steps that were filled."""
    account = ledger.open_house(core, ARBITRAGEUR, _CAPITAL)
    position = position_of(core, account, quoted.product)
    order = VenueOrder(0, ARBITRAGEUR, quoted.code, side, False, LIMIT, IOC, 0, maker.price, steps, steps)
    lifecycle.accept(core, account, position, order)
    matching.fill_maker(core, account, position, order, maker)
    filled = steps - order.leaves
    if order.leaves:
        lifecycle.cancel(core, account, order)
    else:
        lifecycle.end(core, account, position, order, FILLED)
    return filled
