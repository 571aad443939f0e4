"""Time without active users. The simulated market passes it in one batch, up to the next instant that affects others.

Prices, premium samples and orders are those of their processes, at the same instants and with the same result. Events,
triggers and liquidations are left out, because only others would notice them.
"""

from __future__ import annotations

from heapq import heapify, heapreplace

from ..engine.core import Core
from ..model.genesis import Genesis
from ..risk import equity_curve, funding_settlement, prices
from . import arbitrage, participants
from .quoted import Quoted
from .quoting import Quotes, index_source

_OWN = ("prices", "market", "funding", "samples")
"""The processes that are simulated here. "samples" does nothing while no account holds a position."""


def begin(core: Core, genesis: Genesis) -> None:
    """Let a new venue pass time here.

    The participants have begun before.

    Parameters
    ----------
    core : Core
        New state machine. It gets `pass_time`.
    genesis : Genesis
        How the venue begins.
    """
    attach(core)


def attach(core: Core) -> None:
    """Let a core with a simulated market pass time here.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    """
    if participants.quotes_of(core) is not None:
        core.pass_time = pass_time


def pass_time(core: Core, until: int) -> bool:
    """Pass the time before the next instant that may affect others.

    Return False if there is none.

    Those are another process, a settlement of funding, and a taker that reaches a user's order. Time does not pass here
    either while a user holds a position, waits behind a maker or could become mispriced. The same goes for a waiting
    trigger, an unfolded book,
    and events that are read.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    until : int
        Last time to pass, Unix ms.
    """
    # Second form: time that concerns no user
    state, quotes = core.state, participants.quotes_of(core)
    if quotes is None or core.recording or core.books or any(core.risk_index.clients.values()):
        return False
    schedule, interval = state.schedule, state.config.price_interval
    first = schedule.get("prices", 0)
    limit = min([until + 1, *(due for name, due in schedule.items() if name not in _OWN)]) - 1
    if first > limit or not _undisturbed(core, quotes) or equity_curve.to_sample(core):
        return False
    following = participants.next_due(quotes, state.time)
    # The processes would run at other instants, for example after `stand_still`. They then run themselves.
    if schedule.get("funding") != first or schedule.get("market") != following:
        return False
    for code, quoted in quotes.products.items():
        limit = min(limit, participants.steady_until(quoted), funding_settlement.next_settlement(core, code) - 1)
    ticks, tick = dict.fromkeys(quotes.products, first), first
    orders = [(quoted.next_time, rank, quoted) for rank, quoted in enumerate(quotes.products.values())]
    heapify(orders)
    # Orders of all products by time. At an order of a tick's own instant the processes take over, because prices come
    # first.
    while (due := orders[0][0]) <= limit and (due - first) % interval:
        _, rank, quoted = orders[0]
        if ticks[quoted.code] < due:
            ticks[quoted.code] = _pass_ticks(core, quotes, quoted, ticks[quoted.code], due)
        state.time = due
        while quoted.next_time == due:
            if not participants.take(core, quotes, quoted, quotes.following_order(quoted), due, alone=True):
                break
            quotes.pass_order(quoted)
        else:
            # The rank keeps products of one instant in the order of the processes.
            heapreplace(orders, (quoted.next_time, rank, quoted))
            continue
        break
    limit = min(limit, due - 1)
    for quoted in quotes.products.values():
        tick = _pass_ticks(core, quotes, quoted, ticks[quoted.code], limit)
        if tick > first:
            quoted.market.external = quotes.external(quoted)
            prices.follow_samples(core, quoted.market)
    core.risk_index.moved.clear()  # the mark affects no one
    schedule["prices"] = schedule["funding"] = tick
    schedule["market"] = participants.next_due(quotes, limit)
    sample, every = schedule.get("samples", until + 1), state.config.sample_interval
    if sample <= limit:
        schedule["samples"] = sample + ((limit - sample) // every + 1) * every
    return tick > first or schedule["market"] > following


def _undisturbed(core: Core, quotes: Quotes) -> bool:
    """Return whether every price is the simulated market's, and no trigger waits for one."""
    return not (
        core.price_source is not index_source
        or any(each.entries or each.met or each.retrying for each in core.triggers.values())
        or any(quoted.sim.fronts for quoted in quotes.products.values())
        or any(arbitrage.is_near(quotes, quoted, core.state.time) for quoted in quotes.products.values())
        or any(market.paused or market.pinned for market in core.state.markets.values())
        or core.state.markets.keys() != quotes.products.keys()
    )


def _pass_ticks(core: Core, quotes: Quotes, quoted: Quoted, first: int, last: int) -> int:
    """Set the prices of a product and sample its premium at every tick from `first` to `last`. Return the next one."""
    state, market, interval = core.state, quoted.market, core.state.config.price_interval
    time = first
    while time <= last:
        state.time = time
        prices.set_oracle_price(market, quotes.tick(quoted, time))
        bid, ask = quotes.prices(quoted, time)
        prices.sample(market, bid, ask)
        market.premium += funding_settlement.premium_of(core, market, bid, ask)
        market.samples += 1
        time += interval
    return time
