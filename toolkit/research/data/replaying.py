"""Replay a recording, or any bars, as the market of a local venue: its simulated makers quote around those prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import InputError
from ...guards import no_keys
from ...venue.engine.core import Core
from ...venue.simulation.replay import Replay, ReplayBar, Track
from .bar_path import ExtremeOrder, Path
from .bars import Bars, read_bars
from .recording import Recording

if TYPE_CHECKING:
    from ...session import Session
    from ...venue.local import LocalVenue


@dataclass(frozen=True, slots=True)
class Replaying:
    """A replay in progress: from `start` to `end` in the venue's time, `shift` later than in the data.

    `attach()` resumes it after a `revert` or `load` of the venue, which restore the simulated index.
    """

    venue: LocalVenue
    source: Replay
    symbols: tuple[str, ...]
    start: pd.Timestamp
    end: pd.Timestamp
    shift: pd.Timedelta

    def attach(self) -> None:
        """Make the data the venue's price source."""
        self.venue.query(self.source.attach)

    def stop(self) -> None:
        """Return to the simulated index, which continues from its last price."""
        from ...venue.simulation import participants

        self.venue.query(participants.attach)


@no_keys
def replay(
    venue: LocalVenue | Session,
    data: Any,
    *,
    interval: str | pd.Timedelta = "1m",
    path: Path | None = None,
) -> Replaying:
    """Make `data` the market of a local venue, from the venue's current time on.

    Parameters:
        venue: a LocalVenue, or a session that has one in this process.
        data: a Recording (its bars of `interval`), its path, or bars in any shape `read_bars` accepts; symbols
            must be products of the venue.
        path: order of the prices inside a bar (default: `ExtremeOrder()`); linear between its points.

    The first bar begins now: times of the data are shifted. Oracle prices follow the data every 3 s; the simulated
    makers quote around them and the simulated takers trade. Other products keep their simulated index. After the last
    bar the price stays.

    Raises InputError for symbols that the venue does not list, or a venue without its simulated market.
    """
    local: LocalVenue | None = getattr(venue, "venue", venue)  # type: ignore[arg-type]
    if local is None:
        raise InputError("replay() needs a local venue in this process", field="venue", rule="local")
    series = _bars(data, interval)
    first = min(int(bars.opened[0]) for bars in series.values())
    last = max(int(bars.closed[-1]) for bars in series.values())

    def begin(core: Core) -> tuple[Replay, int]:
        if core.state.simulation is None:
            raise InputError("the venue was made without its simulated market, so nothing would trade", field="venue")
        shift = core.state.time - first
        return Replay(_tracks(core, series, shift, path or ExtremeOrder())), shift

    source, shift = local.query(begin)
    replaying = Replaying(
        local,
        source,
        tuple(series),
        pd.Timestamp(first + shift, unit="ms", tz="UTC"),
        pd.Timestamp(last + shift, unit="ms", tz="UTC"),
        pd.Timedelta(shift, unit="ms"),
    )
    replaying.attach()
    return replaying


def _bars(data: Any, interval: str | pd.Timedelta) -> dict[str, Bars]:
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        data = Recording(data)
    if isinstance(data, Recording):
        return read_bars(data, interval=interval)
    return read_bars(data)


def _tracks(core: Core, series: dict[str, Bars], shift: int, path: Path) -> dict[int, Track]:
    products = {product.symbol: product for product in core.products.values()}
    tracks = {}
    for symbol, bars in series.items():
        if symbol not in products:
            raise InputError(
                f"{symbol} is not a product of this venue; it lists {', '.join(products)}",
                field="symbol",
                value=symbol,
                nearest=tuple(products),
            )
        product = products[symbol]
        tick, step = float(product.tick_size), float(product.step_size)
        times: list[int] = []
        ticks: list[int] = []
        columns = (bars.opened, bars.open, bars.high, bars.low, bars.close, bars.volume)
        for opened, *prices, volume in zip(*(column.tolist() for column in columns), strict=True):
            open_, high, low, close = (max(1, round(price / tick)) for price in prices)
            bar = ReplayBar(opened, bars.interval, open_, high, low, close, int(volume / step))
            for offset, price_ticks in path.points(bar):
                times.append(opened + offset + shift)
                ticks.append(price_ticks)
        tracks[product.code] = Track(times, ticks)
    return tracks
