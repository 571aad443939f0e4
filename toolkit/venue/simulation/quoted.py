"""One product of a simulated market as its makers quote it: its state and numbers, and what was computed of them.

Trades move its prices: a part stays in the index, another moves the makers' prices and fades. Both grow with the square
root of the traded value, the volatility of the product, and the size of the latest news.
"""

from __future__ import annotations

from math import isqrt

from ...products import VenueProduct
from ..engine.core import Core
from ..model.accounts import VenueOrder
from ..model.book import Book
from ..model.market import MakerState, Market, SimulatedProduct, Simulation
from . import order_flow
from .order_flow import PARTS, FlowBlock, FlowSource

FINE_BITS = 16
FINE = 1 << FINE_BITS
"""Fine prices in a tick: the index moves by less than a tick at a time."""
PPM = 1_000_000
WIDTHS = PPM * PPM
"""Half spreads in millionths times widths in millionths."""
FLOW_TICKS = 1_200
"""Ticks of 3 s, an hour, in which the net flow of others than the participants falls to a third."""
_GRAIN = 1_000
"""Roots of a net flow are counted in parts of this, because a small order adds little to that of a large flow."""


class Quoted:
    """One product of a simulated market: its state, its numbers, and its place in the flow of events.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    simulation : Simulation
        The simulated market.
    code : int
        Code of the product.
    """

    __slots__ = (
        "asks", "at", "bids", "block", "code", "market", "minute", "minute_parts", "most_steps", "next_news",
        "next_time", "number", "order_at", "order_block", "product", "quotes", "scales", "sequence", "share", "shown",
        "sim", "source", "top", "unit", "users", "usual_heat", "values", "width",
    )  # fmt: skip

    def __init__(self, core: Core, simulation: Simulation, code: int) -> None:
        self.code = code
        self.product: VenueProduct = core.products[code]
        self.unit, self.most_steps = self.product.unit, self.product.max_steps
        self.market = core.state.markets[code]
        self.sim: SimulatedProduct = simulation.products[code]
        self.source: FlowSource = order_flow.source_of(simulation.market, core.state.seed, code, self.product.symbol)
        self.usual_heat, self.minute_parts = self.source.usual_news, self.source.minute_parts
        self.block: FlowBlock | None = None
        """The block of the current news, its number, and the place of the next event."""
        self.order_block: FlowBlock | None = None
        """The block in which orders come, likewise."""
        self.number = self.at = self.order_at = 0
        self.minute = 0
        """The Unix minute whose premium is the state's."""
        self.next_news = 0
        """When `hear` has something to do again, in ms: the next news, or the next block."""
        self.width = (-1, 0)
        """How wide the makers quote, after the heat that it was computed for."""
        self.next_time = 0
        """When the next order comes, in ms."""
        self.users = core.books.pop(code, Book(code))
        """The orders of all others. If the book is unfolded, it holds the makers' orders too."""
        self.shown: list[VenueOrder] = []
        """The makers' orders of an unfolded book, and the market's sequence when they were made."""
        self.sequence = 0
        self.bids, self.asks = [0] * len(self.sim.makers), [0] * len(self.sim.makers)
        self.share = 0
        """Which part of its usual size a level has, in parts of 1024."""
        self.quotes: tuple[int, list[int], list[int]] | None = None
        """The makers' best prices, and the time they were computed for."""
        self.top: tuple[int, tuple[int, int], bool] | None = None
        """The top of the book that `Quotes` last computed."""
        self.read_regime(simulation)

    def read_regime(self, simulation: Simulation) -> None:
        """Take over the regime of the product.

        Parameters
        ----------
        simulation : Simulation
            The simulated market.
        """
        self.scales = simulation.market.scales(self.sim.regime)
        self.values = [
            [maker.level_value_usdc * self.scales.depth * (3 + level) // 3 for level in range(maker.levels)]
            for maker in simulation.market.makers
        ]
        self.block = self.order_block = None
        self.next_news = self.minute = 0
        self.width = (-1, 0)
        self.thin_out()
        self.forget_quotes()

    def thin_out(self) -> None:
        """Make the levels smaller, the further the market has moved within minutes.

        An eighth is left at least.
        """
        trend = self.sim.trend
        moved = ((self.sim.ticked << FINE_BITS) - trend << 10) * PARTS // (trend * self.minute_parts)
        square = moved * moved
        self.share = ((3 << 23) + square << 7) // ((3 << 20) + square)

    def impress(self, market: Market, side: int, value_micro: int) -> None:
        """Move the prices by a participant's order.

        The more its side was expected, the less it moves them.

        Parameters
        ----------
        market : Market
            Numbers of the simulated market.
        side : int
            Side of the takers: +1 buys, −1 sells.
        value_micro : int
            Traded value in micro-USDC.
        """
        sim, surprise = self.sim, self.sim.surprise
        sim.surprise = surprise + (side * PPM - surprise) // 8
        size = self._scaled(isqrt(value_micro // 1_000))
        stays = market.permanent_ppm * size * (side * PPM - surprise * 4 // 10) // PPM
        self._move(stays, market.transient_ppm * size * side)

    def impress_others(self, market: Market, side: int, value_micro: int) -> None:
        """Move the prices by the trades of other accounts, in proportion to the change of the root of their net flow.

        An order in parts therefore moves the prices as much as one order, even if several accounts send the parts. A
        purchase that is soon sold again leaves the prices unchanged. If each part counted by its own root, a trader
        could push prices up with many small orders, and sell to the makers above cost.

        Parameters
        ----------
        market : Market
            Numbers of the simulated market.
        side : int
            Side of the takers: +1 buys, −1 sells.
        value_micro : int
            Traded value in micro-USDC.
        """
        # The impact is the difference of two roots, so a flow that returns to 0 leaves none.
        before, after = self.sim.flow, self.sim.flow + side * (value_micro // 1_000)
        self.sim.flow = after
        size = self._scaled(abs(_signed_root(after) - _signed_root(before))) * side
        self._move(market.permanent_ppm * size // _GRAIN, market.transient_ppm * size // _GRAIN)

    def _scaled(self, root: int) -> int:
        """Return a root as the product's volatility and the latest news have it count."""
        heat_ppm = min(max(self.sim.heat * PPM // self.usual_heat, PPM // 5), 4 * PPM)
        return root * self.source.flow.daily_volatility_ppm // 24_000 * heat_ppm // PPM

    def _move(self, stays: int, fades: int) -> None:
        sim = self.sim
        sim.index = max(sim.index + sim.index * stays // PARTS, FINE)
        sim.pressure = max(min(sim.pressure + fades, PARTS // 50), -PARTS // 50)

    def advance_places(self, price: int, steps: int) -> None:
        """Move the orders that wait at a price forward by the steps traded ahead of them.

        Parameters
        ----------
        price : int
            Price in ticks, negative for an ask.
        steps : int
            Traded steps.
        """
        places = ((name, at, ahead - steps * (at == price)) for name, (at, ahead) in self.sim.fronts.items())
        self.sim.fronts = {name: (at, ahead) for name, at, ahead in places if ahead > 0}

    def forget_quotes(self) -> None:
        """Compute the quotes again when they are next read, because their inputs changed."""
        self.quotes = self.top = None


def around(low: int, high: int, skew: int, width: int) -> tuple[int, int]:
    """Return bid and ask in ticks around fine prices.

    Parameters
    ----------
    low : int
        Lowest fair price that the maker sees, fine.
    high : int
        Highest fair price that the maker sees, fine.
    skew : int
        Shift of both quotes, in PARTS.
    width : int
        Half spread in parts of 1e-12.
    """
    low, high = low + low * skew // PARTS, high + high * skew // PARTS
    # Bids are rounded down and asks up, so that no rounding narrows the spread.
    half = high * width // WIDTHS
    bid, ask = low - half >> FINE_BITS, high + half + FINE - 1 >> FINE_BITS
    if bid < 1:
        bid = 1
    return bid, ask if ask > bid else bid + 1


def seen_between(views: list[tuple[int, int]], first: int, last: int) -> tuple[int, int]:
    """Return the lowest and highest fair price that was to be seen between two times.

    Parameters
    ----------
    views : list of tuple of (int, int)
        (Unix ms, fine price from then on), oldest first, the newest view at the end.
    first : int
        First time, Unix ms.
    last : int
        Last time, Unix ms.
    """
    at = len(views) - 1
    while at and views[at][0] > last:
        at -= 1
    when, low = views[at]
    high = low
    while at and when > first:
        at -= 1
        when, fair = views[at]
        if fair < low:
            low = fair
        elif fair > high:
            high = fair
    return low, high


def _signed_root(flow: int) -> int:
    """Return the square root of a net flow in thousandths of USDC with its sign, in parts of _GRAIN."""
    root = isqrt(abs(flow) * _GRAIN * _GRAIN)
    return root if flow > 0 else -root


def taken_of(state: MakerState, side: int, time: int) -> int:
    """Return the steps that were taken of a maker's side since it last refilled it.

    Parameters
    ----------
    state : MakerState
        State of the maker.
    side : int
        +1 for its bids, −1 for its asks.
    time : int
        Present time, Unix ms. A side whose refill is due counts as full.
    """
    if side > 0:
        return state.taken_bids if time < state.bids_until else 0
    return state.taken_asks if time < state.asks_until else 0
