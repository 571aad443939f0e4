"""Replay as the market of a local venue: events level by level and trade by trade, or the prices of any bars.

Around the prices of bars the venue's simulated makers quote.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...connecting import venue_in_process
from ...errors import InputError
from ...guards import no_keys
from ...venue.engine.core import Core
from ...venue.simulation.recorded import INDEX, LEVEL, MARK, TRADE
from ...venue.simulation.replay import Replay, ReplayBar, Track
from .bars import Bars, ExtremeOrder, Path, read_bars, whole
from .event_array import MS, EventArray, Kind, whole_units_of
from .order_books import BookUpdates, as_levels
from .recording import Recording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...plain_session import Session
    from ...venue.local import LocalVenue


class Tape:
    """Changes of a recorded market by the ms in which they happened.

    It raises InputError for prices that are no multiples of the tick.

    Parameters
    ----------
    events : EventArray
        Events of one product.
    tick_size : Decimal
        Tick of the venue's product, USDC.
    step_size : Decimal
        Step of the venue's product, base units.

    Attributes
    ----------
    times : list of int
        Time of each batch, Unix ms, increasing.
    """

    def __init__(self, events: EventArray, tick_size: Decimal, step_size: Decimal) -> None:
        if events.tick_size % tick_size:
            text = f"{events.symbol}: prices are multiples of {events.tick_size}, not of the tick {tick_size}"
            raise InputError(text, field="replay", rule="tick_size", value=str(events.tick_size))
        gridded = as_levels(EventArray(events.array, tick_size=tick_size, step_size=step_size))
        array = gridded.array
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
        # The order is by time, then by row: within one instant the changes stay in the order of the recording.
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
        """Return the changes of a batch, each [kind, side, price in ticks, steps].

        Parameters
        ----------
        number : int
            Number of the batch.
        """
        found: list[list[int]] = self._changes[self._bounds[number] : self._bounds[number + 1]].tolist()
        return found

    def book(self, number: int) -> list[list[int]]:
        """Return the levels that the book has before a batch, as changes.

        Parameters
        ----------
        number : int
            Number of the batch.
        """
        # The last change of each level says what it has. Reversed, `unique` finds it as the first one.
        rows = self._changes[: self._bounds[number]]
        levels = rows[rows[:, 0] == LEVEL][::-1]
        _, last = np.unique(levels[:, 1:3], axis=0, return_index=True)
        found: list[list[int]] = levels[last][levels[last][:, 3] > 0].tolist()
        return found


@dataclass(frozen=True, slots=True)
class Replaying:
    """A replay in progress.

    `attach()` resumes it after a `revert` or `load` of the venue, which restore the simulated index.

    Attributes
    ----------
    venue : LocalVenue
        Venue whose market it is.
    source : Replay
        Price source of the venue.
    symbols : tuple of str
        Products whose prices follow the data.
    start : Timestamp
        When the data begins, in the venue's time (UTC).
    end : Timestamp
        When the data ends, in the venue's time (UTC).
    shift : Timedelta
        How much later the data is replayed than it was recorded.
    """

    venue: LocalVenue
    source: Replay
    symbols: tuple[str, ...]
    start: pd.Timestamp
    end: pd.Timestamp
    shift: pd.Timedelta

    def attach(self) -> None:
        """Make the data the venue's price source."""
        self.venue.host.query(self.source.attach)

    def stop(self) -> None:
        """Return to the simulated index, which continues from its last price."""
        from ...venue.simulation import participants

        self.venue.host.query(participants.attach)


@no_keys
def replay(
    venue: LocalVenue | Session, data: object, *, interval: str | pd.Timedelta = "1m", path: Path | None = None
) -> Replaying:
    """Make data the market of a local venue, from the venue's current time on.

    The first bar begins now: times of the data are shifted. Oracle prices follow the data every 3 s. The simulated
    makers quote around them and the simulated takers trade. Other products keep their simulated index. After the last
    bar the price stays.

    Parameters
    ----------
    venue : LocalVenue or Session
        A LocalVenue, or a session that has one in this process.
    data : DataFrame, Recording, path or mapping
        A Recording (its bars of `interval`), its path, or bars in any shape `read_bars` accepts. Symbols must be
        products of the venue.
    interval : str or Timedelta, optional
        Length of the bars of a recording (default: "1m").
    path : Path, optional
        Order of the prices inside a bar, linear between its points (default: `ExtremeOrder()`).

    Returns
    -------
    Replaying
        The replay, whose `stop` returns to the simulated index.

    Raises
    ------
    InputError
        For symbols that the venue does not list, or a venue without its simulated market.

    Examples
    --------
    >>> research.replay(session, bars).symbols
    ('BTCUSDC',)
    """
    local = venue_in_process(venue)
    if local is None:
        raise InputError("replay() needs a local venue in this process", field="venue", rule="local")
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        data = Recording(data)
    series = read_bars(data, interval=interval) if isinstance(data, Recording) else read_bars(data)
    first = min(int(bars.opened[0]) for bars in series.values())
    last = max(int(bars.closed[-1]) for bars in series.values())

    def begin(core: Core) -> tuple[Replay, int]:
        if core.state.simulation is None:
            raise InputError("the venue was made without its simulated market, so nothing would trade", field="venue")
        # Computed within the venue's own thread, so that no time passes between the shift and the replay's beginning.
        shift = core.state.time - first
        return Replay(_tracks(core, series, shift, path or ExtremeOrder())), shift

    source, shift = local.host.query(begin)
    start, end = (pd.Timestamp(moment + shift, unit="ms", tz="UTC") for moment in (first, last))
    replaying = Replaying(local, source, tuple(series), start, end, pd.Timedelta(shift, unit="ms"))
    replaying.attach()
    return replaying


def _tracks(core: Core, series: dict[str, Bars], shift: int, path: Path) -> dict[int, Track]:
    products = {product.symbol: product for product in core.products.values()}
    tracks = {}
    for symbol, bars in series.items():
        if symbol not in products:
            text = f"{symbol} is not a product of this venue, which lists {', '.join(products)}"
            raise InputError(text, field="symbol", value=symbol, nearest=tuple(products))
        product = products[symbol]
        tick, step = float(product.tick_size), float(product.step_size)
        times: list[int] = []
        ticks: list[int] = []
        columns = (bars.opened, bars.open, bars.high, bars.low, bars.close, bars.volume)
        for opened, *prices, volume in zip(*(column.tolist() for column in columns), strict=True):
            open_, high, low, close = (max(1, round(price / tick)) for price in prices)
            bar = ReplayBar(opened, bars.interval, open_, high, low, close, whole(volume / step))
            for offset, price_ticks in path.points(bar):
                times.append(opened + offset + shift)
                ticks.append(price_ticks)
        tracks[product.code] = Track(times, ticks)
    return tracks
