"""Bars of recorded trades: on events a strategy that takes bars receives them as it would from the venue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ....errors import InputError
from ...data.event_array import MS, EventArray, Kind
from ...data.event_files import EventFiles
from ...data.order_books import feed_times
from ...market_data import Bar, span_ms
from ...strategy import Strategy, overrides

if TYPE_CHECKING:
    from ...data.events import Events
    from .event_broker import EventBroker


class EventBars:
    """The bars of a run on events, `interval_ms` is 0 where the strategy takes none and no `interval` is given.

    They are received with the last of their trades, or `feed_ns` after they close.
    """

    def __init__(
        self, strategy: Strategy, interval: str | pd.Timedelta | None, data: Mapping[str, Any], feed_ns: int | None
    ) -> None:
        wanted = interval is not None or overrides(strategy, "on_bar") or overrides(strategy, "on_bars")
        self.interval_ms = span_ms(interval or "1m") if wanted else 0
        for symbol, part in data.items() if self.interval_ms else ():
            if isinstance(part, EventFiles):
                text = f"{symbol}: bars need all events at once; give data.load(files), or candles as data"
                raise InputError(text, field="data", rule="events in memory")
        self._data: Mapping[str, Any] = data
        self._feed_ns = feed_ns
        self._feeds: dict[str, list[Any]] = {}
        self._latest: dict[str, Bar] = {}

    def schedule(self, broker: EventBroker) -> None:
        """Let the bars of each closing time take place once all of them have been received."""
        instants: dict[int, list[Bar]] = {}
        received: dict[int, int] = {}
        for symbol, events in self._data.items() if self.interval_ms else ():
            bars = _bars(symbol, events, self.interval_ms)
            for bar in bars:
                instants.setdefault(bar.closed, []).append(bar)
            for closed, last_ns in _received(events, self.interval_ms).items():
                received[closed] = max(received.get(closed, 0), last_ns)
            for computed in broker.ctx._precomputed:
                if computed.symbol == symbol:
                    self._feeds.setdefault(symbol, []).extend(computed.feeds(bars))
        for closed, together in sorted(instants.items()):
            last_ns = received.get(closed, 0) if self._feed_ns is None else closed * MS + self._feed_ns
            broker.schedule(max(closed * MS, last_ns), "bars", together)

    def deliver(self, broker: EventBroker, bars: Sequence[Bar]) -> None:
        """Hand over the bars of a closing time, all are in the histories before the strategy sees the first."""
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


def _bars(symbol: str, events: Events, interval_ms: int) -> list[Bar]:
    """Return the complete bars from the first trade on. Those without trades are flat, as in live runs."""
    traded = {
        int(row[0].timestamp() * 1000): row[2:] for row in events.bars(f"{interval_ms}ms").itertuples(index=False)
    }
    end_ms = int(events.array["exchange_ns"].max()) // MS
    bars, values = list[Bar](), (np.nan,) * 5
    for opened in range(min(traded, default=end_ms), end_ms - interval_ms + 1, interval_ms):
        values = traded.get(opened, (values[3],) * 4 + (0.0,))
        bars.append(Bar(symbol, opened, opened + interval_ms, *values))
    return bars


def _received(events: EventArray, interval_ms: int) -> dict[int, int]:
    """Return when the last trade of each bar reached the strategy, Unix ns, by closing time."""
    trades = events.array["kind"] == Kind.TRADE
    numbers = events.array["exchange_ns"][trades] // (interval_ms * MS)
    last = pd.Series(feed_times(events)[trades]).groupby(numbers).max()
    return dict(zip(((last.index + 1) * interval_ms).tolist(), last.tolist(), strict=True))
