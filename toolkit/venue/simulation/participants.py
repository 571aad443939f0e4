"""The simulated market: its participants are accounts that trade with each other and with everyone else.

Taker orders come at any millisecond, drawn from the seed (`order_flow`). They are noise, informed orders (with news
before the makers), orders that follow a trend or lower the makers' inventory, and forced closings. The makers
(`quoting`) respond after their latencies. A trade moves the index permanently by about the square root of its value.

The participants' trades with each other are computed without orders, and booked to their positions every few minutes.
The orders of all other accounts rest in a separate ladder. A taker that reaches one of these is matched with them and
the makers in the common matching. An unreached order changes nothing, and one that is mispriced is taken (`arbitrage`).
The setting `market` can turn the market off.
"""

from __future__ import annotations

from contextlib import suppress

from ..engine.commands import Refused, TxCode
from ..engine.core import Core
from ..engine.registry import post_command, process
from ..model.constants import IOC, MINUTE_MS, USDC
from ..model.genesis import Genesis
from ..model.history import PublicTrade
from ..model.market import MakerState, SimulatedProduct, Simulation, market_of, saved
from ..risk import ledger
from ..risk.prices import ORACLE_HOOKS
from ..trading import matching, placing
from ..trading.lifecycle import position_of
from . import arbitrage
from .order_flow import FORCED, HEDGER, INFORMED, MOMENTUM, NOISE, PARTS, Order
from .past import Past
from .quoted import FINE, PPM, Quoted
from .quoting import MAKERS, Level, Quotes, index_source

TAKERS = {
    kind: f"0x00000000000000000000000000000000000000b{number}"
    for number, kind in enumerate((NOISE, INFORMED, MOMENTUM, HEDGER, FORCED), 1)
}
CAPITAL = 1_000_000_000_000_000
"""Deposit of each participant: a billion USDC, in micro-USDC."""
_BOOK_MS = 5 * MINUTE_MS
"""Trades of the participants with each other are in their positions after this time at the latest."""
_REACH_PPM = 4_000
"""How far from the best price a taker buys or sells."""
_EDGE_PPM = 20
"""Smallest advantage for which informed traders act on news."""


def begin(core: Core, genesis: Genesis) -> None:
    """Open the participants' accounts and begin every product's flow with the venue.

    Parameters
    ----------
    core : Core
        New state machine. Its setting `market` says which market it has.
    genesis : Genesis
        How the venue begins.
    """
    market = market_of(core.state.settings.get("market"))
    if market is None:
        return
    core.state.settings["market"] = saved(market)
    simulation = core.state.simulation = Simulation(market)
    addresses = (*MAKERS[: len(market.makers)], *TAKERS.values())
    accounts = [ledger.open_house(core, address, CAPITAL) for address in addresses]
    interval = core.state.config.price_interval
    # Everything begins with the first tick of prices, because the makers quote around the index of a tick.
    first = (core.state.time // interval + 1) * interval
    time = first - 1  # all begins with the first prices, so that connecting computes nothing yet
    for code, product in core.products.items():
        start = core.state.markets[code].oracle
        if start > 0:
            for account in accounts:
                position_of(core, account, product)
            core.state.markets[code].depth = market.depth_within(core.risk_index.tables[code].gentlest // 200) * USDC
            simulation.products[code] = SimulatedProduct(
                start, start * FINE, time, time, start, regime=market.regime, trend=start * FINE, drift=start * FINE,
                views=[(0, start * FINE)], makers=[MakerState() for _ in market.makers], booked=time,
            )  # fmt: skip
    attach(core)
    quotes = quotes_of(core)
    assert quotes is not None
    for quoted in quotes.products.values():
        quoted.sim.heat = quoted.usual_heat
    core.wake("market", first)


def attach(core: Core) -> None:
    """Fold the books, and make the simulated index the venue's price source.

    Parameters
    ----------
    core : Core
        State machine that gets the simulated market of its state.
    """
    simulation = core.state.simulation
    if simulation is not None:
        core.books.lazy = Quotes(core, simulation)
        core.price_source = index_source
        core.premiums.clear()


def quotes_of(core: Core) -> Quotes | None:
    """Return the makers' quotes of a core.

    It returns `None` without a simulated market.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    """
    lazy = core.books.lazy
    return lazy if isinstance(lazy, Quotes) else None


@process("market")
def trade(core: Core, time: int) -> int:
    """Execute the orders that are due, and keep the places of orders that wait behind the makers.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the orders, Unix ms.
    """
    quotes = quotes_of(core)
    assert quotes is not None
    for quoted in quotes.products.values():
        sim = quoted.sim
        if sim.plan:
            _follow_plan(core, quotes, quoted, time)
        if quoted.order_block is None:
            quotes.find_order(quoted)
        if sim.fronts:
            quotes.keep_places(quoted, time)
        _hunt(core, quotes, quoted, time)
        while quoted.next_time <= time:
            order = quotes.pass_order(quoted)
            # Orders pass while the product is paused. They do not come later.
            if not quoted.market.paused:
                take(core, quotes, quoted, order, time)
        if time // _BOOK_MS > sim.booked // _BOOK_MS:
            book_pending(core, quotes, quoted, time)
    return next_due(quotes, time)


def next_due(quotes: Quotes, time: int) -> int:
    """Return when the market acts next, Unix ms.

    That is an order, the booking of trades, or a maker ahead of a user's order.

    Parameters
    ----------
    quotes : Quotes
        Quotes of the simulated market.
    time : int
        Present time, Unix ms.
    """
    found = time // _BOOK_MS * _BOOK_MS + _BOOK_MS
    for quoted in quotes.products.values():
        if quoted.order_block is None:
            quotes.find_order(quoted)
        if quoted.next_time < found:
            found = quoted.next_time
        if quoted.sim.fronts:
            found = min(found, quotes.next_change(quoted, time))
        found = min(found, arbitrage.next_look(quotes, quoted, time) or found)
        if quoted.sim.plan:
            found = min(found, quoted.sim.plan[0][0])
    return found


def steady_until(quoted: Quoted) -> int:
    """Return how long only orders come in a product: then its trades are booked, or another regime begins.

    Parameters
    ----------
    quoted : Quoted
        Quotes and flow of one product.
    """
    booked = quoted.sim.booked // _BOOK_MS * _BOOK_MS + _BOOK_MS
    return min(booked, quoted.sim.plan[0][0] if quoted.sim.plan else booked) - 1


def plan_regime(core: Core, code: int, regime: str, start: int, end: int) -> None:
    """Begin a regime at a time.

    Later plans are dropped.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    code : int
        Code of the product.
    regime : str
        Name of the regime.
    start : int
        When it begins, Unix ms.
    end : int
        When the usual one begins again, Unix ms. 0 means never.

    Raises
    ------
    Refused
        If the product is not simulated.
    """
    quotes = quotes_of(core)
    if quotes is None or code not in quotes.products:
        raise Refused(TxCode.BAD_ARGUMENT, f"product {code} has no simulated market here")
    sim = quotes.products[code].sim
    sim.plan = [entry for entry in sim.plan if entry[0] < start]
    sim.plan += [(start, regime), (end, "usual")] if end else [(start, regime)]
    _follow_plan(core, quotes, quotes.products[code], core.state.time)
    # Set and not only woken: the earlier plan may have been due sooner.
    core.state.schedule["market"] = max(next_due(quotes, core.state.time), core.state.time + 1)


def skip(core: Core, until: int) -> None:
    """Skip the news and orders up to a time.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    until : int
        The time, Unix ms.
    """
    quotes = quotes_of(core)
    if quotes is not None:
        quotes.settle()
        for quoted in quotes.products.values():
            quoted.sim.time, quoted.sim.traded = max(quoted.sim.time, until), max(quoted.sim.traded, until)
            quoted.read_regime(quotes.simulation)


def move_index(core: Core, code: int, price_ticks: int) -> bool:
    """Continue the simulated index of a product from a price.

    Return False if the product has none.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    code : int
        Code of the product.
    price_ticks : int
        Price in ticks.
    """
    quotes = quotes_of(core)
    if quotes is None or code not in quotes.products:
        return False
    quotes.jump(quotes.products[code], core.state.time, price_ticks)
    return True


def _follow_plan(core: Core, quotes: Quotes, quoted: Quoted, time: int) -> None:
    """Begin the regimes that are due."""
    sim = quoted.sim
    while sim.plan and sim.plan[0][0] <= time:
        quotes.hear(quoted, time)
        sim.regime = sim.plan.pop(0)[1]
        sim.traded = max(sim.traded, time)  # orders that only this regime has had before now do not come late
        quoted.read_regime(quotes.simulation)
        quotes.take_back(quoted)


# takers


def take(core: Core, quotes: Quotes, quoted: Quoted, order: Order, time: int, *, alone: bool = False) -> bool:
    """Execute one taker order, if its reason holds.

    With `alone` it returns False, and changes nothing, if it would reach an order of another account.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    quotes : Quotes
        Quotes of the simulated market.
    quoted : Quoted
        Quotes and flow of one product.
    order : Order
        The order: kind, side and value.
    time : int
        Present time, Unix ms.
    alone : bool, optional
        True returns False, and changes nothing, if it would reach an order of another account (default: `False`).
    """
    quotes.take_back(quoted)
    bid, ask = quotes.prices(quoted, time)
    if not bid or not ask:
        return True
    side, value, limit = _wish(quotes, quoted, order, bid, ask)
    # Informed traders without an edge stay away. All others trade.
    if not side:
        return True
    steps = min(max(value // ((ask if side > 0 else bid) * quoted.unit), 1), quoted.product.max_steps)
    taker = TAKERS[order[0]]
    levels = _way(quotes, quoted, side, steps, limit, time)
    if levels is not None:
        _sweep(core, quotes, quoted, taker, side, steps, limit, time, levels)
    elif alone:
        return False
    else:
        # A refusal (paused, or beyond the position limit) means that the participant does not trade.
        with suppress(Refused):
            placing.submit(core, core.state.accounts[taker], quoted.product, side, steps, limit, tif=IOC)
        _absorb(core, quotes, quoted, time, own=True)
    return True


def _wish(quotes: Quotes, quoted: Quoted, order: Order, bid: int, ask: int) -> tuple[int, int, int]:
    """Return the side, the value (micro-USDC) and the worst price in ticks of an order. Side 0: it stays away.

    Orders that follow a trend, hedge or must close are like noise while their reason is absent.
    """
    sim, reach = quoted.sim, _REACH_PPM
    kind, side, value = order
    # The fair price of informed traders has the news already. The makers see it after their latency.
    if kind == INFORMED:
        fair = sim.index + sim.index * (sim.basis + sim.pressure) // PARTS
        edge = fair * _EDGE_PPM // PPM
        if fair - edge >= ask * FINE:
            return 1, value, (fair - edge) // FINE
        if fair + edge <= bid * FINE:
            return -1, value, -((-fair - edge) // FINE)
        return 0, 0, 0
    if kind == MOMENTUM:
        moved = sim.index - sim.trend
        if abs(moved) >= sim.index // PARTS * quoted.minute_parts:
            side = 1 if moved > 0 else -1
    elif kind == FORCED:
        moved = sim.index - sim.drift
        if abs(moved) >= 6 * (sim.index // PARTS * quoted.minute_parts):
            side, value, reach = 1 if moved > 0 else -1, 4 * value, 3 * _REACH_PPM
    elif kind == HEDGER:
        inventory = inventory_of(sim) * sim.ticked * quoted.unit
        if abs(inventory) >= quotes.simulation.market.inventory_usdc * USDC // 20:
            side = 1 if inventory > 0 else -1
    best = ask if side > 0 else bid
    return side, value, max(best + side * best * reach // PPM, 1)


def _way(quotes: Quotes, quoted: Quoted, side: int, steps: int, limit: int, time: int) -> list[Level] | None:
    """Return the makers' levels that an order takes, or more of them. None if it reaches an order of others."""
    level = quotes.best(quoted, -side, time)
    # Most orders fit into the best level, and no user's order is near: they need one level only.
    behind, other = quoted.users.side(side).best, quoted.users.side(-side).best
    if level[1] >= steps and not (behind and (level[0] - behind) * side <= 0):
        levels = [level]
    else:
        levels, left = [], steps
        for level in quotes.side(quoted, -side, time):
            levels.append(level)
            left -= level[1]
            if left <= 0 and not other:
                break
    if not other or (limit - other) * side < 0:
        return levels
    ahead = sum(there for price, there, _ in levels if (other - price) * side > 0)
    first = next(iter(quoted.users.side(-side).levels[other].orders))
    # The order may end among the makers' steps ahead of a user's order at the same price.
    return levels if ahead + quoted.sim.fronts.get(first, (0, 0))[1] >= steps else None


def _sweep(
    core: Core,
    quotes: Quotes,
    quoted: Quoted,
    taker: str,
    side: int,
    steps: int,
    limit: int,
    time: int,
    levels: list[Level],
) -> None:
    """Trade with the makers of a folded book, as the matching would with their orders, without making these orders."""
    sim, market = quoted.sim, quoted.market
    left, paid = steps, 0
    for price, there, number in levels:
        if not left or (price - limit) * side > 0:
            break
        filled = min(left, there)
        left -= filled
        value = price * filled * quoted.unit
        paid += value
        # Without a transaction hash: it is computed when it is read.
        matching.publish_trade(core, quoted.product, side, price, filled, "")
        quotes.take(sim.makers[number], -side, filled, time, quotes.makers[number])
        sim.makers[number].inventory -= side * filled
        _wait(sim, MAKERS[number], -side * filled, -side * value)
        if sim.fronts:
            quoted.advance_places(-side * price, filled)
    if paid:
        _wait(sim, taker, side * (steps - left), side * paid)
        # These trades have had their impact here, so `_absorb` must not count them again.
        sim.seen = market.trades
        quotes.impress(quoted, time, side, paid, own=True)
        quoted.forget_quotes()


def _wait(sim: SimulatedProduct, address: str, steps: int, value: int) -> None:
    entry = sim.pending.setdefault(address, [0, 0])
    entry[0] += steps
    entry[1] += value


def book_pending(core: Core, quotes: Quotes, quoted: Quoted, time: int) -> None:
    """Book the participants' trades with each other, netted, at the last price.

    The rest of the value is realised.

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
    sim, code = quoted.sim, quoted.code
    market = core.state.markets[code]
    for address, (steps, value) in sim.pending.items():
        account = core.state.accounts[address]
        position = account.positions[code]
        worth = market.last * abs(steps) * quoted.unit
        pnl = (worth if steps > 0 else -worth) - value
        against, into = (position.short, position.long) if steps > 0 else (position.long, position.short)
        closed = min(against.size, abs(steps))
        if closed:
            pnl += against.close(closed, market.last * closed * quoted.unit, steps < 0)
        if opened := abs(steps) - closed:
            core.state.last_exec += 1
            into.grow(opened, market.last * opened * quoted.unit, time, core.state.last_exec)
        market.open_interest += opened if steps > 0 else -closed
        # All pending trades of a product sum to zero steps and value, so clearing stays exact.
        ledger.realize(core, account, pnl, code)
        core.risk_index.index(account)
    quotes.take_back(quoted)
    sim.pending.clear()
    sim.booked = time
    numbers = quotes.simulation.market
    most = numbers.inventory_usdc * USDC
    worth = inventory_of(sim) * market.last * quoted.unit
    # The skew changes at bookings only. In between, quotes need no look at the inventory.
    sim.skew = -max(-most, min(most, worth)) * numbers.skew_ppm * 1000 // most
    quoted.forget_quotes()


# what others do


@post_command("market")
def follow_books(core: Core) -> None:
    """Record the trades of others with the makers, and the orders that wait behind these.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    """
    quotes = quotes_of(core) if core.books else None
    if quotes is None:
        return
    time = core.state.time
    for quoted in [quotes.products[code] for code in core.books if code in quotes.products]:
        _absorb(core, quotes, quoted, time, own=False)
        if quoted.market.sequence != quoted.sequence:
            quotes.take_back(quoted)
            if quoted.sim.fronts:
                core.wake("market", max(quotes.next_change(quoted, time), time + 1))
            _look(core, quotes, quoted, time)


def _look(core: Core, quotes: Quotes, quoted: Quoted, time: int) -> None:
    """Let the arbitrageurs see the users' orders of a folded book."""
    arbitrage.notice(core, quotes, quoted, time)
    following = arbitrage.next_look(quotes, quoted, time)
    if following:
        core.wake("market", max(following, time + 1))


def _hunt(core: Core, quotes: Quotes, quoted: Quoted, time: int) -> None:
    """Let the arbitrageurs act if they are due, and look again."""
    sim = quoted.sim
    if 0 < sim.hunt <= time and not quoted.market.paused:
        quotes.take_back(quoted)
        _absorb(core, quotes, quoted, time, own=False)
        arbitrage.act(core, quotes, quoted, time)
        # They hedge elsewhere: being hit by them moves neither the index nor the makers.
        sim.seen = quoted.market.trades
        quotes.take_back(quoted)
    if quoted.code not in core.books and (quoted.users.bids.best or quoted.users.asks.best) and sim.hunt <= time:
        arbitrage.notice(core, quotes, quoted, time)


def inventory_of(sim: SimulatedProduct) -> int:
    """Return the net steps that all makers hold, without those hedged elsewhere.

    A negative number is short.

    Parameters
    ----------
    sim : SimulatedProduct
        State of the simulated product.
    """
    return sum(maker.inventory for maker in sim.makers) - sim.hedged


def _absorb(core: Core, quotes: Quotes, quoted: Quoted, time: int, *, own: bool) -> None:
    """Move the index by the new trades of the matching, with the total that each side has taken.

    Trades among others move nothing, because the participants took no part in them.
    """
    sim, market = quoted.sim, quoted.market
    if market.trades == sim.seen:
        return
    trades = core.state.history.trades[quoted.code]
    fresh = trades[len(trades) - (market.trades - sim.seen) :]
    sim.seen = market.trades
    quotes.note_taken(quoted, time)
    before = inventory_of(sim)
    for number, state in enumerate(sim.makers):
        address = MAKERS[number]
        position = core.state.accounts[address].positions[quoted.code]
        waiting = sim.pending.get(address, (0, 0))[0]
        state.inventory = position.long.size - position.short.size + waiting
    # Makers hedge elsewhere what users take from them, so users' trades do not fill their inventory without end.
    if not own:
        sim.hedged += inventory_of(sim) - before
        among_others = _among_others(core, fresh[0])
        fresh = [trade for trade in fresh if trade.id not in among_others]
    for side in (1, -1):
        value = sum(trade.price * trade.quantity * quoted.unit for trade in fresh if trade.side == side)
        if value:
            quotes.impress(quoted, time, side, value, own=own)


def _among_others(core: Core, first: PublicTrade) -> set[int]:
    """Return the ids of the trades, from one on, in which no participant took part."""
    seen, found = set[int](), set[int]()
    for event in reversed(core.state.history.order_events.records):
        if event.time < first.time or 0 < event.exec_id < first.id:
            break
        if event.exec_id:  # participants keep no record, so a trade with two records is one of others
            (found if event.exec_id in seen else seen).add(event.exec_id)
    return found


def requote(core: Core, code: int) -> None:
    """Make the makers of one product quote immediately, after its oracle price was set by hand.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    code : int
        Code of the product.
    """
    quotes = quotes_of(core)
    if quotes is not None and code in quotes.products and not core.state.markets[code].paused:
        quoted = quotes.products[code]
        quotes.take_back(quoted)
        quoted.forget_quotes()
        _look(core, quotes, quoted, core.state.time)


ORACLE_HOOKS.append(requote)


def past_of(core: Core, code: int) -> Past | None:
    """Return the parameters of a product's past before genesis.

    It returns `None` without a simulated market.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    code : int
        Code of the product.
    """
    quotes = quotes_of(core)
    quoted = quotes.products.get(code) if quotes is not None else None
    if quoted is None:
        return None
    return Past(quoted.source, core.state.genesis_time, quoted.sim.start, quoted.unit)
