"""Bars of recorded trades: on events a strategy that takes bars receives them as it would from the venue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...data.event_array import MS, Kind
from ...data.event_files import EventFiles, summary_of
from ...market_data import Bar, span_ms
from ...strategy import Strategy, overrides

if TYPE_CHECKING:
    from ...data.events import Events
    from .event_broker import EventBroker


PLACES = 9
"""Decimal places of the volume of a bar."""


class EventBars:
    """The bars of a run on events. They are received with the last of their trades, or some time after they close.

    Parameters
    ----------
    strategy : Strategy
        Strategy that takes bars or not.
    interval : str, Timedelta or None
        Length of the bars, None for "1m" if the strategy takes bars, else no bars.
    data : mapping of str to object
        Events by symbol.
    feed_ns : int or None
        Time after the close at which they are received, ns, None for that of the trades.

    Attributes
    ----------
    interval_ms : int
        Length of the bars, ms, 0 without bars.
    """

    def __init__(
        self, strategy: Strategy, interval: str | pd.Timedelta | None, data: Mapping[str, Any], feed_ns: int | None
    ) -> None:
        wanted = interval is not None or overrides(strategy, "on_bar") or overrides(strategy, "on_bars")
        self.interval_ms = span_ms(interval or "1m") if wanted else 0
        self._data: Mapping[str, Any] = data
        self._feed_ns = feed_ns
        self._feeds: dict[str, list[Any]] = {}
        self._latest: dict[str, Bar] = {}

    def schedule(self, broker: EventBroker) -> None:
        """Let the bars of each closing time take place once all of them have been received.

        Parameters
        ----------
        broker : EventBroker
            Broker that takes the happenings.
        """
        instants: dict[int, list[Bar]] = {}
        received: dict[int, int] = {}
        for symbol, events in self._data.items() if self.interval_ms else ():
            traded, end_ns = _traded(events, self.interval_ms)
            bars = _bars(symbol, traded, end_ns // MS, self.interval_ms)
            for bar in bars:
                instants.setdefault(bar.closed, []).append(bar)
                if bar.time in traded:
                    received[bar.closed] = max(received.get(bar.closed, 0), traded[bar.time][-1])
            for computed in broker.ctx._precomputed:
                if computed.symbol == symbol:
                    self._feeds.setdefault(symbol, []).extend(computed.feeds(bars))
        for closed, together in sorted(instants.items()):
            # A bar is never known before it closes, and not before its last trade has arrived.
            last_ns = received.get(closed, 0) if self._feed_ns is None else closed * MS + self._feed_ns
            broker.schedule(max(closed * MS, last_ns), "bars", together)

    def deliver(self, broker: EventBroker, bars: Sequence[Bar]) -> None:
        """Hand over the bars of a closing time. All are in the histories before the strategy sees the first.

        Parameters
        ----------
        broker : EventBroker
            Broker that has the histories and the strategy.
        bars : sequence of Bar
            Bars that close at one time.
        """
        ctx, strategy = broker.ctx, broker.strategy
        for bar in bars:
            self._latest[bar.symbol] = bar
            broker.states[bar.symbol].history.append(bar)
            for push, values in self._feeds.get(bar.symbol, ()):
                push(next(values))
        for bar in bars:
            if ctx.stopped:
                return
            ctx._follow_bar(bar)
            strategy.on_bar(ctx, bar)
        if len(self._latest) == len(broker.states) and not ctx.stopped:
            strategy.on_bars(ctx, dict(self._latest))


def _traded(events: Events | EventFiles, interval_ms: int) -> tuple[dict[int, tuple[Any, ...]], int]:
    """Return the bars that trades make, by opening time, and the time of the last event, Unix ns.

    A bar is open, high, low, close, volume, and when its last trade reached the strategy, Unix ns.
    """
    summary = events.summary if isinstance(events, EventFiles) else summary_of(events)
    found: dict[int, tuple[Any, ...]] = {}
    for part in events if isinstance(events, EventFiles) else [events]:
        trades = part.of(Kind.TRADE)
        numbers = trades["exchange_ns"] // (interval_ms * MS)
        last = pd.Series(trades["local_ns"] + summary.behind).groupby(numbers).max()
        bars = part.bars(f"{interval_ms}ms")
        rows: Iterable[Any] = bars.itertuples(index=False)
        for number, received, row in zip(last.index, last, rows, strict=True):
            # rounded, so that a sum in two files is the sum in one
            opened, made = int(number) * interval_ms, (*row[2:6], round(row.volume, PLACES), received)
            if opened in found:  # the file before has its first trades
                (start, high, low, _, volume, before), (_, higher, lower, close, more, after) = found[opened], made
                made = (
                    start,
                    max(high, higher),
                    min(low, lower),
                    close,
                    round(volume + more, PLACES),
                    max(before, after),
                )
            found[opened] = made
    return found, summary.exchange_ns[1]


def _bars(symbol: str, traded: Mapping[int, tuple[Any, ...]], end_ms: int, interval_ms: int) -> list[Bar]:
    """Return the complete bars from the first trade on. Those without trades are flat, as in live runs."""
    bars, values = list[Bar](), (np.nan,) * 5
    for opened in range(min(traded, default=end_ms), end_ms - interval_ms + 1, interval_ms):
        values = traded[opened][:5] if opened in traded else (values[3],) * 4 + (0.0,)
        bars.append(Bar(symbol, opened, opened + interval_ms, *values))
    return bars
