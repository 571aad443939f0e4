"""Sources of candles and tickers, aggregated from the one-minute candles of the history."""

from __future__ import annotations

from msgspec.structs import replace

from ...numerals import fixed_text, micro_text, rate_text
from ...products import Product
from ...protocol.reads.channels.market import ALL_TICKERS
from ..api import info_market, records
from ..engine.core import Core
from ..model.constants import DAY, MINUTE_MS, RATE
from ..model.history import Candle
from ..risk import funding_settlement
from .batches import Batch, Data, FeedSource


class CandleSource(FeedSource):
    """Candles of one interval, aggregated from minutes.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : Product
        Product of the candles.
    interval_s : int
        Length of a candle in seconds.
    """

    def __init__(self, core: Core, product: Product, interval_s: int) -> None:
        self._code = product.code
        self._interval_s = interval_s
        self._closed: Candle | None = None
        """The forming candle without its open minute."""
        self._included = 0
        """Minutes of the history that are part of `_closed` or lie before it."""

    def reset(self, core: Core) -> None:
        """Drop the aggregate.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        self._closed = None

    def snapshot(self, core: Core) -> Data:
        """Return the newest candle.

        Before the first one, it has only symbol and interval.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        symbol = core.products[self._code].symbol
        values = {"symbol_name": symbol, "interval": self._interval_s, "limit": 1}
        return next(iter(info_market.klines_last(core, values)), {"symbolName": symbol, "intrvl": self._interval_s})

    def collect(self, batch: Batch) -> list[Data]:
        """Return the candles that a command's trades have changed, oldest first.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        starts = batch.candles.get(self._code)
        if not starts:
            return []
        core, interval_ms = batch.core, self._interval_s * 1000
        product = core.products[self._code]
        *earlier, last = sorted({start - start % interval_ms for start in starts})
        candles = [_aggregate(core, product, start, start + interval_ms) for start in earlier]
        candles.append(self._forming(core, product, last))
        return [records.kline(product, candle, self._interval_s) for candle in candles if candle is not None]

    def _forming(self, core: Core, product: Product, start: int) -> Candle:
        """Return the candle from `start` to the last minute, adding each closed minute only once."""
        minutes = core.state.history.candles[self._code]
        last = len(minutes) - 1
        # The open minute changes with each trade, so it is added to a copy each time, and only closed minutes are kept.
        closed = self._closed
        if closed is None or closed.start != start:
            closed = _aggregate(core, product, start, minutes[last].start)
        else:
            for minute in minutes[self._included : last]:
                closed = extended(closed, minute, start)
        self._closed, self._included = closed, last
        return extended(closed, minutes[last], start)


class TickerSource(FeedSource):
    """Prices and statistics of one product, or of all.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : Product or None, optional
        Product of the ticker (default: `None`, all products).
    """

    def __init__(self, core: Core, product: Product | None = None) -> None:
        self._code = None if product is None else product.code
        self._tickers: list[ProductTicker] = []
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Compute the statistics, of the products of this core.

        Parameters
        ----------
        core : Core
            State machine whose products are read.
        """
        self._tickers = [ProductTicker(core, code) for code in core.products if self._code in (None, code)]

    def snapshot(self, core: Core) -> Data:
        """Return the tickers as of the last increment.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        return self._data(core, [ticker.row for ticker in self._tickers])

    def collect(self, batch: Batch) -> list[Data]:
        """Return the tickers that changed or whose price was set, or all when a product was added.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        if self._code is None and len(self._tickers) != len(batch.core.products):
            self.reset(batch.core)
            return [self.snapshot(batch.core)]
        changed = [ticker.row for ticker in self._tickers if ticker.update(batch)]
        return [self._data(batch.core, changed)] if changed else []

    def _data(self, core: Core, rows: list[Data]) -> Data:
        if self._code is None:
            shown = [{name: row[name] for name in ALL_TICKERS.columns} for row in rows]
            return {"timestamp": core.state.time, "tickers": shown}
        return {"timestamp": core.state.time, "symbol": rows[0]["s"], "ticker": rows[0]}


class ProductTicker:
    """Ticker of a product with its statistics of 24 hours.

    The closed minutes are aggregated once per minute. `row` is the ticker as of the last `update`.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    code : int
        Code of the product.
    """

    def __init__(self, core: Core, code: int) -> None:
        self.code = code
        self._minute = -1
        self._day: Candle | None = None
        self._best, self._interest = (0, 0), 0
        self.row = self._read(core)

    def update(self, batch: Batch) -> bool:
        """Read the ticker again if a command can have changed it.

        Parameters
        ----------
        batch : Batch
            Events of one command.

        Returns
        -------
        bool
            Whether it changed, or a price was set.
        """
        price_set = self.code in batch.prices
        best_changed = self.code in batch.books and batch.core.books.top(self.code) != self._best
        # what is closed without the book (auto-deleveraging, netting) is no trade, but changes the open interest
        interest_changed = batch.core.state.markets[self.code].open_interest != self._interest
        if not (price_set or best_changed or interest_changed or self.code in batch.trades):
            return False
        before, self.row = self.row, self._read(batch.core)
        return price_set or self.row != before

    def _read(self, core: Core) -> Data:
        product, market = core.products[self.code], core.state.markets[self.code]
        self._best = bid, ask = core.books.top(self.code)
        self._interest = market.open_interest
        day = self._day_candle(core)
        open_ticks = day.open if day else market.last
        settled = core.state.history.funding_rates.get(self.code)
        return {
            "s": product.symbol,
            "p": records.price(product, market.last),
            "op": records.price(product, market.oracle),
            "mp": records.price(product, market.mark),
            "mid": _half(product, bid + ask) if bid and ask else None,
            "oi": records.quantity(product, market.open_interest),
            "fr": rate_text(funding_settlement.current_rate(core, self.code)),
            "lfr": rate_text(settled[-1].rate) if settled else "0",
            "o": records.price(product, open_ticks),
            "h": records.price(product, day.high if day else market.last),
            "l": records.price(product, day.low if day else market.last),
            "v": records.quantity(product, day.volume if day else 0),
            "tv": micro_text(day.turnover if day else 0),
            "P": rate_text((market.last - open_ticks) * RATE // open_ticks) if open_ticks else "0",
        }

    def _day_candle(self, core: Core) -> Candle | None:
        minutes = core.state.history.candles.get(self.code, [])
        minute = core.state.time - core.state.time % MINUTE_MS
        if minute != self._minute:
            first = minute + MINUTE_MS - DAY
            self._minute, self._day = minute, _aggregate(core, core.products[self.code], first, minute)
        open_minute = minutes[-1] if minutes and minutes[-1].start >= minute else None
        return extended(self._day, open_minute, minute) if open_minute else self._day


def _aggregate(core: Core, product: Product, start: int, end: int) -> Candle | None:
    """Return one candle of the minutes in [start, end), None when there are none."""
    candle: Candle | None = None
    for minute in info_market.minute_candles(core, product, start, end):
        candle = extended(candle, minute, start)
    return candle


def extended(candle: Candle | None, minute: Candle, start: int) -> Candle:
    """Return a new candle: `candle`, or an empty one from `start` on, and the minute that follows it.

    Parameters
    ----------
    candle : Candle or None
        Candle to extend, `None` for an empty one.
    minute : Candle
        Minute that follows it.
    start : int
        Start of the new candle, Unix ms.
    """
    made = replace(candle or minute, start=start)
    if candle is not None:
        made.add(minute)
    return made


def _half(product: Product, ticks: int) -> str:
    """Return half of a price in ticks, with one decimal more than the tick size: times 5 and a place further."""
    places, size = product.tick_scale
    return fixed_text(ticks * size * 5, places + 1)
