"""A user's orders in the simulated market: how far they move it, and what two-sided quotes earn before fees.

The user's account is like any other. The later value of a quote's fill is measured against the prices that the makers
would quote without it. A stale quote keeps the makers away from these prices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from toolkit.venue.engine.commands import Advance, Refused
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import VenueAccount
from toolkit.venue.model.constants import IOC, POST_ONLY
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.model.history import OrderEvent
from toolkit.venue.model.market import Market
from toolkit.venue.risk import ledger
from toolkit.venue.simulation.arbitrage import ARBITRAGEUR
from toolkit.venue.simulation.participants import TAKERS, quotes_of
from toolkit.venue.trading import lifecycle, placing
from toolkit.venue.trading.lifecycle import position_of

from . import Measurement

IMPACT_USDC = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
IMPACT_SEEDS = (1, 2, 3)
SEEDS = tuple(range(1, 21))
HOURS = 1
SIZE_USDC = 800
LIMIT_USDC = 8_000
AFTER_S = (0, 1, 5, 15, 60)
"""Seconds after a fill at which it is valued. 0 is the next full second."""
ADDRESS = "0x" + "7" * 40
BTC = 1
"""Code of the product that is traded."""
_PARTS = 60
_SECOND = 1_000
_HOUR = 3_600_000
_DEPOSIT = 10**15


def simulated(seed: int, market: Market | str = "usual") -> Core:
    """Return a core with a simulated market, whose events are not read.

    Parameters
    ----------
    seed : int
        Seed of the market.
    market : Market or str, optional
        The market (default: "usual").
    """
    setting = Market.named(market) if isinstance(market, str) else market
    core = Core(Genesis(seed=seed, time=GENESIS_TIME, settings={"market": setting}))
    core.events.clear()
    core.record_events(False)
    return core


def mid_of(core: Core, code: int) -> float:
    """Return the mid price of a product in ticks.

    Parameters
    ----------
    core : Core
        Core of the venue.
    code : int
        Code of the product.
    """
    bid, ask = core.books.top(code)
    return (bid + ask) / 2


def row(
    name: str,
    found: Sequence[float],
    unit: str,
    least: float | None = None,
    most: float | None = None,
    real: Any = None,
) -> Measurement:
    """Return the row of what seeds showed: the mean, how far they differ, and what it is in a real market.

    Parameters
    ----------
    name : str
        Name of the figure.
    found : sequence of float
        Its value for each seed.
    unit : str
        Its unit.
    least : float, optional
        Lower limit (default: None, no limit).
    most : float, optional
        Upper limit (default: None, no limit).
    real : object, optional
        Its value in a real market (default: None).
    """
    spread = f"seeds {min(found):.3g} to {max(found):.3g}" if len(found) > 1 else ""
    note = "; ".join(text for text in ("" if real is None else f"real {real:g}", spread) if text)
    return Measurement(name, fmean(found), unit, least, note=note, most=most)


def impact_rows(
    sizes: Sequence[int] = IMPACT_USDC, seeds: Sequence[int] = IMPACT_SEEDS, wait_ms: int = _HOUR
) -> list[Measurement]:
    """Return the rows about a user's orders that buy within a minute, compared with the same seed without them.

    Parameters
    ----------
    sizes : sequence of int, optional
        Values of the orders in USDC (default: `IMPACT_USDC`).
    seeds : sequence of int, optional
        Seeds of the venues (default: `IMPACT_SEEDS`).
    wait_ms : int, optional
        How long each venue runs before the orders, in ms (default: an hour).
    """
    without = [_mids_after(seed, 0, wait_ms) for seed in seeds]

    def moved(usdc: int, parts: int) -> tuple[list[float], list[float]]:
        """Return how far the mid of each seed was moved, immediately and some time later, in basis points."""
        pairs = [
            zip(_mids_after(seed, usdc, wait_ms, parts), before, strict=True)
            for seed, before in zip(seeds, without, strict=True)
        ]
        now, later = zip(*([(after / mid - 1) * 1e4 for after, mid in pair] for pair in pairs), strict=True)
        return list(now), list(later)

    rows = []
    for usdc in sizes:
        now, later = moved(usdc, _PARTS)
        rows.append(row(f"mid after {usdc:,} USDC were bought within a minute", now, "bp", 0.0))
        name = f"the part of it that is left after {wait_ms // 60_000} minutes"
        rows.append(Measurement(name, fmean(later) / fmean(now), "", 0.3, most=0.95))
    for wait in (1, 60):
        costs = [_there_and_back(seed, 100_000, wait * _SECOND) for seed in seeds]
        rows.append(row(f"100,000 USDC bought and sold {wait} s later, cost", costs, "bp", 0.0))
    _, whole = moved(sizes[-1], 1)
    name = f"what is left of {sizes[-1]:,} USDC in {_PARTS} orders, of what one order leaves"
    rows.append(Measurement(name, fmean(later) / fmean(whole), "", 0.8, most=1.2))
    return rows


def _there_and_back(seed: int, usdc: int, wait_ms: int) -> float:
    """Return what it costs to buy for so much and to sell it later, in bp before fees: the mean of three tries."""
    core = simulated(seed)
    account, product, costs = core.account(ADDRESS), core.products[BTC], []
    account.maker_rate = account.taker_rate = 0
    ledger.deposit(core, account, _DEPOSIT)
    for _ in range(3):
        core.apply(Advance(core.state.time + _HOUR))
        before, steps = account.balance, int(usdc * 1_000_000 / mid_of(core, BTC) / product.unit)
        for side in (1, -1):
            best = core.books.top(BTC)[side > 0]
            placing.submit(core, account, product, side, steps, best + side * best // 50, tif=IOC)
            core.run_hooks()
            core.apply(Advance(core.state.time + wait_ms))
        costs.append((before - account.balance) / usdc / 100)
    return fmean(costs)


def _mids_after(seed: int, usdc: int, wait_ms: int, parts: int = _PARTS) -> tuple[float, float]:
    """Return the mids after a minute in which an account buys for so much, and some time later."""
    core = simulated(seed)
    buyer = core.account(ADDRESS)
    buyer.kind, product = "market", core.products[1]
    core.apply(Advance(core.state.time + 10 * 60 * _SECOND))
    for _ in range(parts):
        core.apply(Advance(core.state.time + 60 * _SECOND // parts))
        if usdc:
            ask = core.books.top(1)[1]
            steps = max(usdc * 1_000_000 // parts // (ask * product.unit), 1)
            placing.submit(core, buyer, product, 1, steps, ask * 102 // 100, tif=IOC)
            core.run_hooks()
    core.apply(Advance(core.state.time + _SECOND))
    after = mid_of(core, 1)
    core.apply(Advance(core.state.time + wait_ms))
    return after, mid_of(core, 1)


class Sight(NamedTuple):
    """The inputs of a quote.

    Parameters
    ----------
    bid : int
        Best bid of others, in ticks.
    ask : int
        Best ask of others, in ticks.
    held_usdc : int
        Value that is held in USDC, negative for a short.
    """

    bid: int
    ask: int
    held_usdc: int


Quote = Callable[[Sight], tuple[int, int]]
"""Returns a bid and an ask in ticks, 0 for none. Neither may trade immediately."""


def naive(sight: Sight) -> tuple[int, int]:
    """Quote at the best prices of others, at any position.

    Parameters
    ----------
    sight : Sight
        Inputs of the quote.
    """
    return sight.bid, sight.ask


def sane(sight: Sight) -> tuple[int, int]:
    """Quote behind others at the best prices, further back on the side that adds to the position, up to a limit.

    Parameters
    ----------
    sight : Sight
        Inputs of the quote.
    """
    back = sight.bid * 60 * sight.held_usdc // LIMIT_USDC // 1_000_000
    bid = sight.bid - max(back, 0) if sight.held_usdc < LIMIT_USDC else 0
    ask = sight.ask - min(back, 0) if sight.held_usdc > -LIMIT_USDC else 0
    return bid, ask


def first(sight: Sight) -> tuple[int, int]:
    """Quote one tick before all others, where even the smallest orders arrive, up to a limit.

    Parameters
    ----------
    sight : Sight
        Inputs of the quote.
    """
    inside = 1 if sight.ask - sight.bid > 2 else 0
    bid = sight.bid + inside if sight.held_usdc < LIMIT_USDC else 0
    ask = sight.ask - inside if sight.held_usdc > -LIMIT_USDC else 0
    return bid, ask


QUOTES: tuple[tuple[str, Quote, int], ...] = (
    ("a naive quote: at the best prices, every 5 s", naive, 5_000),
    ("a sane quote: behind them, ten times per second, with a limit", sane, 100),
    ("a quote a tick before them, ten times per second, with a limit", first, 100),
)


def quote_rows(seeds: Sequence[int] = SEEDS, hours: float = HOURS) -> list[Measurement]:
    """Return what each quote earns and how it is filled, each seed in its own venue.

    Parameters
    ----------
    seeds : sequence of int, optional
        Seeds of the venues (default: `SEEDS`).
    hours : float, optional
        How long each venue runs, in hours (default: `HOURS`).
    """
    found = []
    for name, quote, every_ms in QUOTES:
        runs = [run(quote, seed, hours, every_ms) for seed in seeds]
        volumes = [each.volume_usdc for each in runs]
        measured = zip(*((each.profit_bp, each.after_bp[-1], each.from_takers) for each in runs), strict=True)
        profit, later, part = (fmean(values, volumes) if any(volumes) else 0.0 for values in measured)
        profits = sorted(each.profit_bp for each in runs)
        note = f"seeds {profits[0]:.2f} to {profits[-1]:.2f}. A fill is worth {later:+.2f} bp after a minute"
        found.append(Measurement(f"{name}: profit of volume, before fees", profit, "bp", note=note))
        if quote is sane:
            earning = sum(profit > 0 for profit in profits) / len(profits)
            least = 1 / len(profits)
            found.append(Measurement("the part of the seeds in which it earns", earning, "", least, most=1 - least))
            found.append(Measurement("the part of its fills that came from takers", part, "", 0.5))
    return found


class Earned(NamedTuple):
    """The result of a quote in one venue.

    Parameters
    ----------
    volume_usdc : float
        Traded value in USDC.
    fills : int
        Number of fills.
    """

    profit_bp: float
    """Profit before fees, of the traded value."""
    volume_usdc: float
    fills: int
    from_takers: float
    """Part of what was filled that simulated takers took. The rest the makers would have."""
    after_bp: tuple[float, ...]
    """The value of the fills after AFTER_S: the distance of their prices from the mid then (a gain is above 0)."""


def run(quote: Quote, seed: int, hours: float, every_ms: int) -> Earned:
    """Quote for some hours in a new venue, replacing quotes that are no longer wanted.

    Parameters
    ----------
    quote : Quote
        Function that returns bid and ask in ticks for a Sight.
    seed : int
        Seed of the venue.
    hours : float
        How long it runs, in hours.
    every_ms : int
        Time between two decisions, in ms.
    """
    core = simulated(seed)
    core.apply(Advance(core.state.time + 60 * _SECOND))
    account, product = core.account(ADDRESS), core.products[BTC]
    account.maker_rate = account.taker_rate = 0
    ledger.deposit(core, account, _DEPOSIT)
    position = position_of(core, account, product)
    unit, makers = product.unit, quotes_of(core)
    assert makers is not None
    quoted = makers.products[BTC]
    # what the makers want to quote: own stale quotes keep them away from it
    mids = [sum(makers.best_prices(quoted, core.state.time))]
    trades, takers = core.state.history.trades[BTC], _held(core)
    start, filled, taken = core.state.time, 0, 0
    pace = min(every_ms, _SECOND)
    for step in range(1, int(hours * 3_600_000) // pace + 1):
        seen, held = len(trades), position.long.size - position.short.size
        core.apply(Advance(start + step * pace))
        if len(trades) > seen:
            before, takers = takers, _held(core)
            now = position.long.size - position.short.size
            filled += abs(now - held)
            if takers - before == sum(trade.side * trade.quantity for trade in trades[seen:]):
                taken += abs(now - held)
            held = now
        if core.state.time - start >= len(mids) * _SECOND:
            mids.append(sum(makers.best_prices(quoted, core.state.time)))
        if step * pace % every_ms == 0:
            bid, ask = _others_top(core, account)
            worth = held * (bid + ask) * unit // 2_000_000
            _place(core, account, quote(Sight(bid, ask, worth)))
    events = core.state.history.fills_of(ADDRESS)
    volume = sum(event.fill_price * event.fill_quantity for event in events) * unit
    held = position.long.size - position.short.size
    worth = account.balance + (held * mids[-1] * unit // 2 - position.long.value + position.short.value)
    profit = (worth - _DEPOSIT) / max(volume, 1) * 1e4
    return Earned(profit, volume / 1e6, len(events), taken / max(filled, 1), _after(events, mids, start))


def _after(events: Sequence[OrderEvent], mids: list[int], start: int) -> tuple[float, ...]:
    """Return what the fills were worth after AFTER_S, by value. `mids` are doubled, one a second from `start` on."""
    weights = sum(event.fill_price * event.fill_quantity for event in events)
    worth = [0.0] * len(AFTER_S)
    for event in events:
        second = -(-(event.time - start) // _SECOND)
        for at, wait in enumerate(AFTER_S):
            mid = mids[min(second + wait, len(mids) - 1)] / 2
            worth[at] += event.side * (mid - event.fill_price) * event.fill_quantity * 1e4
    return tuple(each / max(weights, 1) for each in worth)


def _others_top(core: Core, account: VenueAccount) -> tuple[int, int]:
    """Return the best prices of others."""
    found = []
    for side in (1, -1):
        own = {order.price: order.leaves for order in account.orders.values() if order.side == side}
        levels = core.books.levels(BTC, side, 10**18) if own else [(core.books.top(BTC)[side < 0], 1)]
        found.append(next(price for price, steps in levels if steps > own.get(price, 0)))
    return found[0], found[1]


def _place(core: Core, account: VenueAccount, quote: tuple[int, int]) -> None:
    """Cancel what is no longer wanted, and place what is."""
    product, wanted = core.products[BTC], dict(zip((1, -1), quote, strict=True))
    for order in list(account.orders.values()):
        if order.price == wanted[order.side]:
            wanted[order.side] = 0
        else:
            lifecycle.cancel(core, account, order)
    for side, price in wanted.items():
        if price > 0:
            steps = max(SIZE_USDC * 1_000_000 // (price * product.unit), 1)
            try:
                placing.submit(core, account, product, side, steps, price, tif=POST_ONLY)
            except Refused:
                continue
    core.run_hooks()


def _held(core: Core) -> int:
    """Return what all simulated takers hold, in steps, arbitrageurs and trades that are not booked yet included."""
    simulation = core.state.simulation
    assert simulation is not None
    pending = simulation.products[BTC].pending
    found = 0
    for address in [each for each in (*TAKERS.values(), ARBITRAGEUR) if each in core.state.accounts]:
        position = core.state.accounts[address].positions[BTC]
        found += position.long.size - position.short.size + pending.get(address, (0, 0))[0]
    return found
