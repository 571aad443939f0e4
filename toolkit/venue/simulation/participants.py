"""The simulated market: an index path for each product, market makers who quote around it, and takers who trade.

Everything is decided by the venue's seed. The participants are accounts of kind "market" that place orders through the
same functions as everybody else, so a user's order meets them like any other. Three ladders are kept
around a fair price (the index plus a slow drift): a near quote on each side, levels every few basis
points, and deep levels for large market orders. Off with the setting `market`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.commands import Refused
from ..engine.registry import process
from ..model.accounts import VenueAccount
from ..model.constants import GTC, IOC, LIMIT
from ..model.rng import SIGMA, Rng, mix
from ..model.simulation_state import MakerQuotes, Simulation
from ..risk import ledger
from ..risk.prices import ORACLE_HOOKS
from ..trading import lifecycle, orders
from .price_path import MinuteBar, advance_path, begin_path, past, path_settings

if TYPE_CHECKING:
    from ...products import Product
    from ..engine.core import Core
    from ..model.genesis import Genesis

MAKER = "0x00000000000000000000000000000000000000a1"
TAKERS = tuple(f"0x00000000000000000000000000000000000000b{number}" for number in (1, 2, 3))
CAPITAL = 1_000_000_000_000_000
"""Deposit of each participant: a billion USDC, in micro-USDC."""

_MICRO = 1_000_000
_PPM = 1_000_000
_NEAR_PPM = 70
"""Distance of the near quotes from the fair price, millionths."""
_LADDER = (300, 7, 14_000 * _MICRO)
"""Distance between levels (millionths), how many on a side, value of the first (micro-USDC)."""
_DEEP = (4_000, 5, 400_000 * _MICRO)
_TRADES_PPM = 330_000
"""Probability of a trade at each tick of 3 s."""
_BURST_PPM = 20_000
_TAKER_REACH_PPM = 4_000
_INVENTORY = 3_000_000 * _MICRO
"""Value of a taker's position that makes it trade back for sure."""


def begin(core: Core, genesis: Genesis) -> None:
    """Open the participants' accounts and let the first tick come with the first prices."""
    if not core.state.settings.get("market"):
        return
    for address in (MAKER, *TAKERS):
        account = core.account(address)
        account.kind = "market"
        ledger.deposit(core, account, CAPITAL)
    simulation = core.state.simulation = Simulation()
    for code, product in core.products.items():
        start = core.state.markets[code].oracle
        if start > 0:
            shape = path_settings(code, product.symbol, start, product.unit)
            seed = core.state.seed
            simulation.quotes[code] = MakerQuotes(begin_path(shape, seed), start, mix(seed, code, 0x7A))
    attach(core)
    quote_all(core, core.state.time)
    interval = core.state.config.price_interval
    core.wake("market", (genesis.time // interval + 1) * interval)


def attach(core: Core) -> None:
    """Make the simulated index the venue's price source."""
    if core.state.simulation is not None:
        core.price_source = index_price


def index_price(core: Core, code: int, time: int) -> tuple[int, int]:
    """Return the next index price of a product in ticks, and 0 for the price of other venues: there are none."""
    simulation = core.state.simulation
    quotes = simulation.quotes.get(code) if simulation else None
    return (advance_path(quotes.index) if quotes else 0), 0


def history(core: Core, code: int, start: int, end: int) -> list[MinuteBar]:
    """Return the minutes of a product before genesis that begin in [start, end) ms; oldest first."""
    simulation = core.state.simulation
    quotes = simulation.quotes.get(code) if simulation else None
    if quotes is None:
        return []
    product = core.products[code]
    shape = path_settings(code, product.symbol, quotes.start, product.unit)
    return past(core.state.seed, shape, core.state.genesis_time, start, end)


@process("market")
def quote_all(core: Core, time: int) -> int:
    """Let the participants of every product act on the new prices."""
    simulation = core.state.simulation
    assert simulation is not None
    for code, quotes in simulation.quotes.items():
        market = core.state.markets[code]
        if market.oracle > 0 and not market.paused:
            _act(core, core.products[code], quotes, market.oracle)
    return time + core.state.config.price_interval


def requote(core: Core, code: int) -> None:
    """Let the participants of one product act at once, after its oracle price was set by hand."""
    simulation = core.state.simulation
    quotes = simulation.quotes.get(code) if simulation else None
    market = core.state.markets[code]
    if quotes is not None and not market.paused:
        _act(core, core.products[code], quotes, market.oracle)


ORACLE_HOOKS.append(requote)


def _act(core: Core, product: Product, quotes: MakerQuotes, oracle: int) -> None:
    rng = Rng(quotes.random)
    quotes.drift += rng.normal() * 14 // SIGMA - quotes.drift // 300
    fair = max(oracle + oracle * quotes.drift // _PPM, 2)
    _quote(core, product, quotes, fair, rng)
    if rng.chance(_TRADES_PPM):
        _take(core, product, quotes, fair, rng)
    quotes.random = rng.state


# makers


def _quote(core: Core, product: Product, quotes: MakerQuotes, fair: int, rng: Rng) -> None:
    maker = core.state.accounts[MAKER]
    half = max(fair * _NEAR_PPM // _PPM, 1)
    wanted = [(quotes.near, {fair - half: 1, fair + half: -1}, 9_000 * _MICRO)]
    for below, above, (gap_ppm, count, value) in (
        (quotes.bids, quotes.asks, _LADDER),
        (quotes.deep_bids, quotes.deep_asks, _DEEP),
    ):
        gap = max(fair * gap_ppm // _PPM, 1)
        floor = (fair - 2 * half) // gap * gap
        ceiling = -(-(fair + 2 * half) // gap) * gap
        wanted.append((below, {floor - gap * i: 1 for i in range(count)}, value))
        wanted.append((above, {ceiling + gap * i: -1 for i in range(count)}, value))
    for held, prices, _ in wanted:
        for price in [price for price, order_id in held.items() if price not in prices or order_id not in maker.orders]:
            order = maker.orders.get(held.pop(price))
            if order is not None:
                lifecycle.cancel(core, maker, order)
    for held, prices, value in wanted:
        for step, (price, side) in enumerate(prices.items()):
            if price not in held and price > 0:
                worth = value * (3 + step) // 3 * (70 + rng.below(60)) // 100
                _place(core, product, maker, side, price, worth, held)


def _place(
    core: Core, product: Product, maker: VenueAccount, side: int, price: int, value: int, held: dict[int, int]
) -> None:
    quantity = min(max(value // (price * product.unit), 1), product.max_steps)
    try:
        order = orders.submit(core, maker, product, side, quantity, price, kind=LIMIT, tif=GTC)
    except Refused:
        return
    if order.id in maker.orders:
        held[price] = order.id


# takers


def _take(core: Core, product: Product, quotes: MakerQuotes, fair: int, rng: Rng) -> None:
    taker = core.state.accounts[TAKERS[rng.below(len(TAKERS))]]
    quotes.mood = max(min(quotes.mood + rng.normal() * 90_000 // SIGMA - quotes.mood // 12, 700_000), -700_000)
    lean = quotes.mood - quotes.drift * 900
    position = taker.positions.get(product.code)
    if position is not None:
        held = (position.long.value - position.short.value) * _PPM
        lean -= held // _INVENTORY
    side = 1 if rng.below(2 * _PPM) < _PPM + lean else -1
    size = 400 + rng.below(1_400) + (rng.below(11) == 0) * rng.below(24_000)
    if rng.chance(_BURST_PPM):
        size += 20_000 + rng.below(90_000)
    bound = max(fair + side * fair * _TAKER_REACH_PPM // _PPM, 1)
    quantity = min(max(size * _MICRO // (fair * product.unit), 1), product.max_steps)
    try:
        orders.submit(core, taker, product, side, quantity, bound, kind=LIMIT, tif=IOC)
    except Refused:
        return
