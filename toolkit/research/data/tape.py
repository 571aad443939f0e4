"""Tape: events as the changes of a venue's recorded market, in the order in which the exchange processed them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...venue.simulation.recorded import INDEX, LEVEL, MARK, TRADE
from .books import BookUpdates
from .events import MS, Events, Kind, whole_units_of


class Tape:
    """Changes of a recorded market by the ms in which they happened.

    Attributes: `times` (Unix ms of each batch, increasing).
    """

    def __init__(self, events: Events, tick_size: Decimal, step_size: Decimal) -> None:
        """Raises InputError for prices that are no multiples of the tick."""
        if events.tick_size % tick_size:
            raise InputError(
                f"{events.symbol}: prices are multiples of {events.tick_size}, not of the tick {tick_size}",
                field="replay",
                rule="tick_size",
                value=str(events.tick_size),
            )
        array = events.array
        gridded = Events(array, tick_size=tick_size, step_size=step_size)
        updates = BookUpdates(gridded, array["exchange_ns"])
        messages, *levels = updates.changes()
        parts: list[tuple[Any, ...]] = [(updates.times[messages], updates.rows[messages], LEVEL, *levels)]
        for kind, change in ((Kind.TRADE, TRADE), (Kind.MARK, MARK), (Kind.INDEX, INDEX)):
            rows = np.flatnonzero(array["kind"] == kind)
            ticks = whole_units_of(array["price"][rows], float(tick_size))
            steps = whole_units_of(array["quantity"][rows], float(step_size))
            taker = np.where(array["side"][rows] < 0, -1, 1) if kind == Kind.TRADE else np.zeros(len(rows))
            parts.append((array["exchange_ns"][rows], rows, change, taker, ticks, steps))
        times = np.concatenate([part[0] for part in parts])
        order = np.lexsort((np.concatenate([part[1] for part in parts]), times))
        prices, totals = (np.concatenate([part[at] for part in parts]) for at in (4, 5))
        kinds = np.concatenate([np.full(len(part[0]), part[2]) for part in parts])
        # what can't be (see `check`) is no change of a market
        order = order[(prices > 0)[order] & ((totals > 0) | (kinds != TRADE))[order]]
        columns = [kinds, np.concatenate([part[3] for part in parts]), prices, totals]
        self._changes: NDArray[np.int64] = np.column_stack(columns).astype(np.int64)[order]
        ms = times[order] // MS
        starts = np.flatnonzero(np.concatenate([[True], ms[1:] != ms[:-1]])) if len(ms) else np.zeros(0, dtype=np.int64)
        self._bounds = [*starts.tolist(), len(ms)]
        self.times: list[int] = ms[starts].tolist()

    def changes(self, number: int) -> list[list[int]]:
        """Return the changes of a batch, each [kind, side, price in ticks, steps]."""
        found: list[list[int]] = self._changes[self._bounds[number] : self._bounds[number + 1]].tolist()
        return found
