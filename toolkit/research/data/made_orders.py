"""A made stream of single orders (level 3): a book on which it is known who was ahead of whom.

Orders come, are cancelled, or are taken, around a value that wanders. Some takers know that value, and many makers
cancel what has become cheap. Spreads are mostly one tick, as in the books of large products.
"""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random

import numpy as np

from ...venue.clocks import MANUAL_START
from .event_array import EVENT, Kind
from .events import Events

EVENTS_PER_S = 20.0
TAKERS = 0.06
"""Part of the events that are orders of takers."""
FULL = 128
"""Orders on a side at which none comes without another being cancelled."""
_CENTER_TICKS = 625_000


class _Flow:
    def __init__(self, chance: Random) -> None:
        self.chance, self.time_s, self.count = chance, 0.0, 0
        self.rows: list[tuple[int, int, int, int, float, float, int, int]] = []
        self.book: dict[int, dict[int, list[list[int]]]] = {1: {}, -1: {}}
        """Side → price in ticks → [id, steps] of each order, first come first."""

    def best(self, side: int) -> int:
        """Return the best price of a side in ticks.

        Parameters
        ----------
        side : int
            +1 for bids, -1 for asks.
        """
        return side * max(side * ticks for ticks in self.book[side])

    def note(self, kind: Kind, side: int, ticks: int, steps: int, order_id: int) -> None:
        """Keep an event.

        Parameters
        ----------
        kind : Kind
            Kind of the event.
        side : int
            +1 for bids, -1 for asks.
        ticks : int
            Price in ticks.
        steps : int
            Quantity in steps.
        order_id : int
            Id of the order.
        """
        time_ns = MANUAL_START * 1_000_000 + round(self.time_s * 1_000_000_000)
        self.rows.append((time_ns, time_ns, kind, side, ticks / 10, steps / 1000, order_id, 0))

    def add(self, side: int, ticks: int) -> None:
        """Add an order to the book.

        Parameters
        ----------
        side : int
            +1 for bids, -1 for asks.
        ticks : int
            Price in ticks.
        """
        self.count += 1
        order = [self.count, 1 + int(self.chance.expovariate(1 / 30))]
        self.book[side].setdefault(ticks, []).append(order)
        self.note(Kind.ADD, side, ticks, order[1], order[0])

    def reduce(self, side: int, ticks: int, order: list[int], steps: int, *kinds: Kind) -> None:
        """Reduce an order, or remove it.

        Parameters
        ----------
        side : int
            +1 for bids, -1 for asks.
        ticks : int
            Price in ticks.
        order : list of int
            The order: id and steps.
        steps : int
            Quantity in steps.
        *kinds : Kind
            Kinds of the events that it leads to.
        """
        for kind in kinds:
            self.note(kind, side, ticks, steps, order[0])
        order[1] -= steps
        if not order[1]:
            self.book[side][ticks].remove(order)
            if not self.book[side][ticks]:
                del self.book[side][ticks]

    def take(self, side: int, steps: int) -> None:
        """Take from the best prices.

        Parameters
        ----------
        side : int
            +1 for bids, -1 for asks.
        steps : int
            Quantity in steps.
        """
        while steps and len(self.book[-side]) > 3:
            ticks = self.best(-side)
            order = self.book[-side][ticks][0]
            part = min(steps, order[1])
            self.reduce(-side, ticks, order, part, Kind.FILL, Kind.CANCEL)
            steps -= part

    def step(self, value: float) -> None:
        """Do one event.

        Parameters
        ----------
        value : float
            Value of the product in ticks.
        """
        chance = self.chance
        side, edge = chance.choice((1, -1)), value - (self.best(1) + self.best(-1)) / 2
        levels = self.book[side]
        if chance.random() < TAKERS:
            known = math.copysign(1, edge) if abs(edge) > 1 else side
            self.take(int(known), 1 + int(chance.expovariate(1 / 40)))
        elif len(levels) > 3 and chance.random() < sum(map(len, levels.values())) / FULL:
            prices = sorted(levels, key=lambda ticks: -side * ticks)
            late = edge * side < -0.7  # the best price of this side has become too good
            ticks = prices[0 if late else min(int(chance.expovariate(0.5)), len(prices) - 1)]
            order = chance.choice(levels[ticks])
            self.reduce(side, ticks, order, order[1], Kind.CANCEL)
        else:
            front = min(side * round(value - side * 0.5), side * self.best(-side) - 1)
            self.add(side, side * (front - min(int(chance.expovariate(0.7)), 8)))


def single_orders(seed: int, seconds: float = 600, speed: float = 0.9) -> Events:
    """Return the events of single orders of a made market of BTCUSDC: tick 0.1, step 0.001, from 2026-01-01 UTC on.

    The same seed gives the same events.

    Parameters
    ----------
    seed : int
        Seed of the market.
    seconds : float, optional
        Length of the market in seconds (default: 600).
    speed : float, optional
        How far the value wanders, in ticks per square root of a second (default: 0.9).

    Returns
    -------
    Events
        Single orders that are added, cancelled and filled.

    Examples
    --------
    >>> single_orders(seed=6, seconds=600).counts()
    {'add': 6219, 'cancel': 6782, 'fill': 1601}
    """
    flow, value = _Flow(Random(seed)), float(_CENTER_TICKS)
    for side in (1, -1):
        for ticks in np.repeat(range(1, 9), 8).tolist():
            flow.add(side, _CENTER_TICKS - side * ticks)
    while flow.time_s < seconds:
        pause = flow.chance.expovariate(EVENTS_PER_S)
        flow.time_s += pause
        value += flow.chance.gauss(0, speed * math.sqrt(pause))
        flow.step(value)
    array = np.array(flow.rows, dtype=EVENT)
    return Events(array, symbol="BTCUSDC", tick_size=Decimal("0.1"), step_size=Decimal("0.001"))
