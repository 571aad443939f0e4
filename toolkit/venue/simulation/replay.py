"""Replay: recorded or computed prices as the venue's market.

`Replay` makes them the index that the simulated market's participants quote around, on a whole venue. `House` is the
leaner way of a backtest. It is an account with unlimited money that replaces all other traders. It quotes around the
current price, and trades with resting orders that the price has reached.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..engine.core import Core
from ..model.accounts import Position, VenueOrder
from ..model.constants import GTC, IOC, LIMIT
from ..risk import ledger
from ..trading import lifecycle, matching
from ..trading.lifecycle import position_of
from .quoting import index_source

HOUSE = "0x00000000000000000000000000000000000000b0"
CAPITAL = 10**17
"""Micro-USDC the house begins with: it never runs out."""
ENDLESS = 10**12
"""Steps of a quote without a limit."""


class ReplayBar(NamedTuple):
    """One bar as the core counts it.

    Attributes
    ----------
    time : int
        Start of the bar, Unix ms.
    interval : int
        Length in ms.
    open : int
        First price in ticks.
    high : int
        Highest price in ticks.
    low : int
        Lowest price in ticks.
    close : int
        Last price in ticks.
    volume : int
        Traded steps, 0 = not known.
    """

    time: int
    interval: int
    open: int
    high: int
    low: int
    close: int
    volume: int


class Track(NamedTuple):
    """The price of one product over time, with a straight line between its points.

    Attributes
    ----------
    times : sequence of int
        Times of the points, Unix ms, increasing.
    ticks : sequence of int
        Prices of the points in ticks.
    """

    times: Sequence[int]
    ticks: Sequence[int]

    def at(self, time: int) -> int:
        """Return the price at a time, in ticks.

        Before the first and after the last time it is constant.

        Parameters
        ----------
        time : int
            The time, Unix ms.
        """
        right = bisect_right(self.times, time)
        if right == 0:
            return self.ticks[0]
        if right == len(self.times):
            return self.ticks[-1]
        before, after = self.times[right - 1], self.times[right]
        low, high = self.ticks[right - 1], self.ticks[right]
        return low + (high - low) * (time - before) // (after - before)


class Replay:
    """Tracks as the oracle's source.

    Products without one keep the simulated index.

    The data is not part of the venue's state: after `revert` or `load`, `attach` it again.

    Parameters
    ----------
    tracks : mapping of int to Track
        Product code → its track.
    """

    def __init__(self, tracks: Mapping[int, Track]) -> None:
        self.tracks = dict(tracks)

    def __call__(self, core: Core, code: int, time: int) -> tuple[int, int]:
        """Return the oracle price in ticks (see `prices`), and 0 for the price of other venues."""
        track = self.tracks.get(code)
        return (track.at(time), 0) if track is not None else index_source(core, code, time)

    def attach(self, core: Core) -> None:
        """Take over from the next prices on.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        core.price_source = self


class House:
    """The other side of every trade in a replay.

    It pays no fees and keeps no order history.

    Quotes that were not filled leave no trace in the state, so it does not matter how often they are placed.

    Parameters
    ----------
    core : Core
        State machine of the venue. The house's account is opened in it.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.account = ledger.open_house(core, HOUSE, CAPITAL)
        self.account.maker_rate = self.account.taker_rate = 0
        self._quotes = 0

    def quote(self, code: int, side: int, price: int, quantity: int = ENDLESS) -> VenueOrder:
        """Place an order behind others at its price.

        Remove it with `withdraw`.

        Parameters
        ----------
        code : int
            Code of the product.
        side : int
            +1 for a buy, −1 for a sell.
        price : int
            Limit in ticks.
        quantity : int, optional
            Steps (default: without a limit).
        """
        self._quotes -= 1
        order = VenueOrder(self._quotes, HOUSE, code, side, False, LIMIT, GTC, 0, price, quantity, quantity)
        # The last priority and not a new one: quotes must not use up numbers of the state.
        order.priority = self.core.state.last_priority
        lifecycle.count_resting(self.core, self._position(code), order, quantity)
        self.account.orders[order.id] = order
        self.core.books[code].side(side).add(order)
        return order

    def withdraw(self, quote: VenueOrder) -> None:
        """Remove the open steps of a quote.

        Parameters
        ----------
        quote : VenueOrder
            Order that `quote` returned. It may be filled.
        """
        if quote.id in self.account.orders:
            self.core.books[quote.product].side(quote.side).remove(quote)
            lifecycle.count_resting(self.core, self._position(quote.product), quote, -quote.leaves)
            del self.account.orders[quote.id]
        if not self.account.orders:
            self._quotes = 0

    def hit(self, code: int, side: int, price: int, quantity: int) -> int:
        """Trade against the orders that rest at a price or better.

        Return the filled steps.

        Parameters
        ----------
        code : int
            Code of the product.
        side : int
            +1 buys from asks, −1 sells to bids.
        price : int
            Worst price in ticks.
        quantity : int
            Largest number of steps to trade.
        """
        core, account = self.core, self.account
        order = VenueOrder(0, HOUSE, code, side, False, LIMIT, IOC, 0, price, quantity, quantity)
        position = self._position(code)
        lifecycle.accept(core, account, position, order)
        matching.process_order(core, account, position, order, price)
        return order.filled

    def _position(self, code: int) -> Position:
        found = self.account.positions.get(code)
        return found if found is not None else position_of(self.core, self.account, self.core.products[code])
