"""Replay a recording, or any bars, as the market of a local venue: its participants quote around those prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import InputError
from ...venue.engine.core import Core
from ...venue.simulation.replay import Replay, ReplayBar, Track
from ..backtesting.models import ExtremeOrder, Path
from .bars import Bars, read_bars
from .recording import Recording

if TYPE_CHECKING:
    from ...session import Session
    from ...venue.local import LocalVenue


@dataclass(frozen=True, slots=True)
class Replaying:
    """A replay that goes on: from `start` to `end` of the venue's time, `shift` later than in the data.

    `attach()` takes it up again after a `revert` or `load` of the venue, which go back to the simulated index.
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
        """Go back to the simulated index (which goes on where it stood)."""
        from ...venue.simulation import participants

        self.venue.query(participants.attach)


def replay(
    venue: LocalVenue | Session,
    data: Any,
    *,
    interval: str | pd.Timedelta = "1m",
    path: Path | None = None,
) -> Replaying:
    """Make `data` the market of a local venue, from the venue's present time on.

    Parameters:
        venue: a LocalVenue, or a session that has one in this process.
        data: a Recording (its bars of `interval`), a path of one, or bars in any shape `read_bars` takes; symbols
            must be products of the venue.
        path: in which order a bar's prices come (default: `ExtremeOrder()`); between its points prices go straight.

    The first bar begins now: times of the data are shifted. Oracle prices follow the data every 3 s, the simulated
    makers quote around them and the simulated takers trade, so that books and trades stay alive; other products keep
    their simulated index. After the last bar the price stands.

    Raises InputError for symbols that the venue does not list, or a venue without its simulated market.
    """
    where: LocalVenue | None = getattr(venue, "venue", venue)  # type: ignore[arg-type]
    if where is None:
        raise InputError("replay() needs a local venue in this process", field="venue", rule="local")
    series = _bars(data, interval)
    first = min(int(one.opened[0]) for one in series.values())
    last = max(int(one.closed[-1]) for one in series.values())

    def begin(core: Core) -> tuple[Replay, int]:
        if not core.state.settings.get("market"):
            raise InputError("the venue was made without its simulated market; nobody would trade", field="venue")
        shift = core.state.time - first
        return Replay(_tracks(core, series, shift, path or ExtremeOrder())), shift

    source, shift = where.query(begin)
    going = Replaying(
        where,
        source,
        tuple(series),
        pd.Timestamp(first + shift, unit="ms", tz="UTC"),
        pd.Timestamp(last + shift, unit="ms", tz="UTC"),
        pd.Timedelta(shift, unit="ms"),
    )
    going.attach()
    return going


def _bars(data: Any, interval: str | pd.Timedelta) -> dict[str, Bars]:
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        data = Recording(data)
    if isinstance(data, Recording):
        return read_bars(data, interval=interval)
    return read_bars(data)


def _tracks(core: Core, series: dict[str, Bars], shift: int, path: Path) -> dict[int, Track]:
    codes = {product.symbol: product for product in core.products.values()}
    tracks = {}
    for symbol, bars in series.items():
        if symbol not in codes:
            raise InputError(
                f"{symbol} is not a product of this venue; it lists {', '.join(codes)}",
                field="symbol",
                value=symbol,
                nearest=tuple(codes),
            )
        product = codes[symbol]
        tick, step = float(product.tick_size), float(product.step_size)
        times: list[int] = []
        ticks: list[int] = []
        columns = (bars.opened, bars.open, bars.high, bars.low, bars.close, bars.volume)
        for opened, *prices, volume in zip(*(column.tolist() for column in columns), strict=True):
            whole = [max(1, round(price / tick)) for price in prices]
            shape = ReplayBar(opened, bars.interval, whole[0], whole[1], whole[2], whole[3], int(volume / step))
            for offset, price in path.points(shape):
                times.append(opened + offset + shift)
                ticks.append(price)
        tracks[product.code] = Track(times, ticks)
    return tracks
