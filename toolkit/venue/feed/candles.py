"""Candles and tickers of the feed, added up from the one-minute candles of the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...numerals import fixed_text, micro_text, rate_text
from ...products import Product
from ...protocol.reads.feed import RECENT
from ..api import info_market, records
from ..model.constants import RATE
from ..model.history import Candle
from ..risk import funding
from .batches import Batch, Data, Source

if TYPE_CHECKING:
    from ..engine.core import Core

DAY = 86_400_000
MINUTE = 60_000
RECENT_MINUTES = 3_000
"""A snapshot looks back over so many minutes at most: those before genesis are made when they are asked for."""


class CandleSource(Source):
    """Candles of one interval, added up from minutes."""

    def __init__(self, core: Core, product: Product, seconds: int) -> None:
        self._code = product.code
        self._seconds = seconds
        self._bar: Candle | None = None
        self._added = 0
        """Minutes of the history that `_bar` holds for good, counted from the beginning."""

    def reset(self, core: Core) -> None:
        """Forget what was added up."""
        self._bar = None

    def snapshot(self, core: Core) -> Data:
        """Return the last candle, and the ones before it in `recent`."""
        symbol = core.products[self._code].symbol
        limit = max(1, min(RECENT, RECENT_MINUTES * 60 // self._seconds))
        values = {"symbol_name": symbol, "interval": self._seconds, "limit": limit}
        rows = info_market.klines_last(core, values)[::-1]
        return {**(rows[-1] if rows else {"symbolName": symbol, "intrvl": self._seconds}), "recent": rows[:-1]}

    def collect(self, batch: Batch) -> list[Data]:
        """Return each candle that changed, oldest first."""
        starts = batch.candles.get(self._code)
        if not starts:
            return []
        core, width = batch.core, self._seconds * 1000
        product = core.products[self._code]
        changed = sorted({start - start % width for start in starts})
        bars = [self._add_up(core, product, start, start + width) for start in changed[:-1]]
        bars.append(self._last(core, product, changed[-1]))
        return [records.kline(product, bar, self._seconds) for bar in bars if bar is not None]

    def _last(self, core: Core, product: Product, start: int) -> Candle | None:
        """Return the candle that begins at `start` and holds the last minute, adding each closed minute only once."""
        minutes = core.state.history.candles[self._code]
        last = len(minutes) - 1
        bar = self._bar
        if bar is None or bar.start != start:
            bar = self._add_up(core, product, start, minutes[last].start)
        else:
            for minute in minutes[self._added : last]:
                bar = joined(bar, minute, start)
        self._bar, self._added = bar, last
        return joined(bar, minutes[last], start)

    def _add_up(self, core: Core, product: Product, start: int, end: int) -> Candle | None:
        """Return the candle from `start` on of the minutes before `end`; None when there are none."""
        bar: Candle | None = None
        for minute in info_market.minute_candles(core, product, start, end):
            bar = joined(bar, minute, start)
        return bar


class TickerSource(Source):
    """Prices and statistics of one product."""

    def __init__(self, core: Core, product: Product) -> None:
        self._tape = Tape(product.code)
        self._last: Data = self._tape.ticker(core)

    def reset(self, core: Core) -> None:
        """Forget the statistics."""
        self._tape.reset()
        self._last = self._tape.ticker(core)

    def snapshot(self, core: Core) -> Data:
        """Return the ticker."""
        return self._data(core)

    def collect(self, batch: Batch) -> list[Data]:
        """Return the ticker when it changed, or when a price was set."""
        if not self._tape.concerned(batch):
            return []
        before, self._last = self._last, self._tape.ticker(batch.core)
        return [self._data(batch.core)] if self._last != before or self._tape.code in batch.prices else []

    def _data(self, core: Core) -> Data:
        return {"timestamp": core.state.time, "symbol": self._last["s"], "ticker": self._last}


class AllTickersSource(Source):
    """Tickers of all products."""

    def __init__(self, core: Core) -> None:
        self._tapes: list[Tape] = []
        self._last: dict[str, Data] = {}
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Begin with the products of this core."""
        self._tapes = [Tape(code) for code in core.products]
        tickers = [tape.ticker(core) for tape in self._tapes]
        self._last = {ticker["s"]: ticker for ticker in tickers}

    def snapshot(self, core: Core) -> Data:
        """Return all tickers."""
        return {"timestamp": core.state.time, "tickers": list(self._last.values())}

    def collect(self, batch: Batch) -> list[Data]:
        """Return the tickers that changed."""
        if len(self._tapes) != len(batch.core.products):
            self.reset(batch.core)
            return [self.snapshot(batch.core)]
        changed = []
        for tape in self._tapes:
            if tape.concerned(batch):
                ticker = tape.ticker(batch.core)
                if self._last[ticker["s"]] != ticker or tape.code in batch.prices:
                    self._last[ticker["s"]] = ticker
                    changed.append(ticker)
        return [{"timestamp": batch.core.state.time, "tickers": changed}] if changed else []


class Tape:
    """Statistics of the last 24 hours of a product; the closed minutes are added up once a minute."""

    def __init__(self, code: int) -> None:
        self.code = code
        self._minute = -1
        self._day: Candle | None = None
        self._best = (0, 0)

    def reset(self) -> None:
        """Forget what was added up."""
        self._minute = -1

    def concerned(self, batch: Batch) -> bool:
        """Tell whether the ticker can have changed."""
        if self.code in batch.prices or self.code in batch.trades:
            return True
        return self.code in batch.books and self._top(batch.core) != self._best

    def _top(self, core: Core) -> tuple[int, int]:
        book = core.books[self.code]
        return book.bids.best, book.asks.best

    def ticker(self, core: Core) -> Data:
        """Return the ticker record."""
        product, market = core.products[self.code], core.state.markets[self.code]
        self._best = bid, ask = self._top(core)
        day = self._statistics(core)
        first = day.open if day else market.last
        settled = core.state.history.funding_rates.get(self.code)
        return {
            "s": product.symbol,
            "p": records.price(product, market.last),
            "op": records.price(product, market.oracle),
            "mp": records.price(product, market.mark),
            "mid": _half(product, bid + ask) if bid and ask else None,
            "oi": records.quantity(product, market.open_interest),
            "fr": rate_text(funding.current_rate(core, self.code)),
            "lfr": rate_text(settled[-1].rate) if settled else "0",
            "o": records.price(product, first),
            "h": records.price(product, day.high if day else market.last),
            "l": records.price(product, day.low if day else market.last),
            "v": records.quantity(product, day.volume if day else 0),
            "tv": micro_text(day.turnover if day else 0),
            "P": rate_text((market.last - first) * RATE // first) if first else "0",
        }

    def _statistics(self, core: Core) -> Candle | None:
        minutes = core.state.history.candles.get(self.code, [])
        minute = core.state.time - core.state.time % MINUTE
        if minute != self._minute:
            day: Candle | None = None
            closed = info_market.minute_candles(core, core.products[self.code], minute + MINUTE - DAY, minute)
            for one in closed:
                day = joined(day, one, minute)
            self._minute, self._day = minute, day
        open_minute = minutes[-1] if minutes and minutes[-1].start >= minute else None
        return joined(self._day, open_minute, minute) if open_minute else self._day


def joined(bar: Candle | None, minute: Candle, start: int) -> Candle:
    """Return a new candle: `bar` and the minute that follows it."""
    if bar is None:
        return Candle(
            *(start, minute.open, minute.high, minute.low, minute.close),
            *(minute.volume, minute.turnover, minute.count),
        )
    return Candle(
        start,
        bar.open,
        max(bar.high, minute.high),
        min(bar.low, minute.low),
        minute.close,
        bar.volume + minute.volume,
        bar.turnover + minute.turnover,
        bar.count + minute.count,
    )


def _half(product: Product, ticks: int) -> str:
    """Return half of a price in ticks, to a decimal beyond the tick."""
    places, size = product.tick_scale
    return fixed_text(ticks * size * 5, places + 1)
