"""`ExchangeMarket`: a market of another exchange, as what a local venue follows and `record` records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from ..client.io.flow import wall_ms
from ..client.io.venue_clock import SessionClock
from ..client.reads import frames
from ..client.reads.conversion import seconds
from ..client.reads.derived_columns import with_annual_rate
from ..coverage import Coverage, of_rows
from ..environments import LOCAL
from ..errors import InputError, TransportError, UnknownProduct, warn
from ..extras import need
from ..numerals import Span, moment_ns, time_text
from ..products import Product
from ..protocol.reads.info.candles import Kline
from ..protocol.reads.info.funding import FundingRatePoint
from . import readings
from .paging import PAGE, History, read_all
from .readings import Levels

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from .watching import Feed, LoopThread, Reading, View

T = TypeVar("T")

WATCHED = {"order_book": "watchOrderBook", "trades": "watchTrades", "ticker": "watchTicker"}
"""Channel → what an exchange must have in ccxt."""
WEEK_S, DAY_S = 604_800, 86_400


class ExchangeMarket:
    """One market of an exchange that ccxt knows. It reads public data only, and needs no key.

    Give it to `connect("local", follow=…)`. The text "binance:BTC/USDT:USDT" makes one there. `close` ends its thread
    and connections. It raises InputError for a name that ccxt does not know.

    Parameters
    ----------
    exchange : str or ccxt.pro.Exchange
        ccxt's name of the exchange, such as "binance", or an object of `ccxt.pro` that is not used elsewhere.
    symbol : str
        ccxt's symbol, such as "BTC/USDT:USDT": linear contracts and spot.
    as_symbol : str, optional
        Product of the local venue as which it is followed (default: the one of its base currency).
    timeout : float, optional
        Longest wait for an answer, seconds (default: 30.0).
    """

    venue = None

    def __init__(self, exchange: Any, symbol: str, *, as_symbol: str | None = None, timeout: float = 30.0) -> None:
        need("ccxt")
        import ccxt.pro

        if isinstance(exchange, str) and exchange not in ccxt.pro.exchanges:
            near = tuple(get_close_matches(exchange, ccxt.pro.exchanges, 3, 0.5)) or ("binance", "bybit", "okx")
            text = f"ccxt has no live feed of an exchange {exchange!r}. It has {', '.join(near)} and others"
            raise InputError(text, field="follow", rule="known", value=exchange, nearest=near)
        self._given, self._timeout, self._as_symbol = exchange, timeout, as_symbol
        self._name = exchange if isinstance(exchange, str) else str(exchange.id)
        self.market_symbol = symbol
        self.environment = replace(LOCAL, base_url=f"{self._name}:{symbol}")
        self.identity = f"{self._name}:{symbol}"
        """Identity of the market in recordings."""
        self.clock = SessionClock(wall_ms, None)
        self.stream = self
        self._feeds: dict[str, Feed] = {}

    @property
    def info(self) -> Any:
        """Raises InputError: another exchange's accounts can't be copied."""
        text = f"{self._name} is another exchange, whose accounts can't be copied. Leave out fork"
        raise InputError(text, field="fork", rule="the same exchange")

    @cached_property
    def _loop(self) -> LoopThread:
        from .watching import LoopThread

        return LoopThread(f"toolkit-{self._name}")

    @cached_property
    def _client(self) -> Any:
        """The client of ccxt, with its markets loaded. Raises TransportError when the exchange does not answer."""
        import ccxt.pro

        async def made() -> Any:
            client = self._given
            if isinstance(client, str):
                # ccxt's default is the spot market, of which a perpetual's symbol is not one.
                client = getattr(ccxt.pro, client)({"options": {"defaultType": "swap"}})
            try:
                await client.load_markets()
            # A client that failed to load leaves open connections, of which ccxt warns at the end of the process.
            except BaseException:
                await client.close()
                raise
            return client

        return self._answer(made())

    def _answer(self, work: Coroutine[Any, Any, T]) -> T:
        import ccxt

        try:
            return self._loop.run(work, self._timeout)
        except (ccxt.BaseError, OSError, TimeoutError) as error:
            reason = f"{type(error).__name__}: {error}" if str(error) else f"no answer within {self._timeout:g} s"
            raise TransportError(f"{self._name}: {reason}") from error

    @cached_property
    def _market(self) -> dict[str, Any]:
        markets, symbol = self._client.markets, self.market_symbol
        if symbol not in markets:
            near = tuple(get_close_matches(symbol, list(markets), 3, 0.5))
            text = f"{self._name} has no market {symbol!r}. Similar ones are {', '.join(near) or 'none'}"
            raise UnknownProduct(text, field="follow", rule="listed", value=symbol, nearest=near)
        found: dict[str, Any] = markets[symbol]
        return found

    @cached_property
    def _product(self) -> Product:
        return readings.product_of(self._market, self._client.precisionMode, self._as_symbol)

    def product(self, symbol: str | int | None = None) -> Product:
        """Return the product of the local venue that follows the market.

        Parameters
        ----------
        symbol : str or int, optional
            Its symbol or code, or ccxt's symbol (default: the only one).

        Returns
        -------
        Product
            The product, with the market's tick and step if they are finer.

        Raises
        ------
        UnknownProduct
            For another symbol.
        """
        if symbol not in (None, self._product.symbol, self._product.code, self.market_symbol):
            text = f"{symbol} is not followed here. {self.identity} is, as {self._product.symbol}"
            raise UnknownProduct(text, field="symbol", value=symbol, nearest=(self._product.symbol,))
        return self._product

    def products(self) -> pd.DataFrame:
        """Return a table without columns, whose index is the symbol of the product.

        Returns
        -------
        DataFrame
            One row, with the index `symbol`.
        """
        import pandas as pd

        return pd.DataFrame(index=pd.Index([self._product.symbol], name="symbol"))

    def order_book(self, symbol: str, depth: int = readings.DEPTH) -> View:
        """Return the live book.

        Parameters
        ----------
        symbol : str
            Product symbol, or ccxt's symbol of the market.
        depth : int, optional
            Levels of each side, at most 200 (default: 200).

        Returns
        -------
        View
            Live object whose items are changed levels.
        """
        size, tick, book = readings.contract_size(self._market), self._product.tick_size, Levels()
        times: list[datetime] = []

        def begin() -> Reading | None:
            return ("snapshot", readings.changes_of({}, book), times[-1]) if book else None

        def read(got: Mapping[str, Any], whole: bool) -> Reading:
            now = readings.levels_of(got, size, tick)
            changes = readings.changes_of({} if whole else book, now)
            book.clear()
            book.update(now)
            times[:] = [readings.time_of(got.get("timestamp"), wall_ms())]
            return "snapshot" if whole else "incremental", changes, times[0]

        return self._view("order_book", symbol, self._client.watch_order_book, read, begin)

    def trades(self, symbol: str) -> View:
        """Return the trades as they happen. Those of an interruption are missing.

        Parameters
        ----------
        symbol : str
            Product symbol, or ccxt's symbol of the market.

        Returns
        -------
        View
            Live object whose items are trades.
        """
        size = readings.contract_size(self._market)

        def read(got: Iterable[Mapping[str, Any]], whole: bool) -> Reading:
            return "incremental", readings.trades_of(got, self._product.symbol, size, wall_ms()), None

        return self._view("trades", symbol, self._client.watch_trades, read)

    def ticker(self, symbol: str) -> View:
        """Return mark and index price, if the exchange sends them. The venue computes missing ones.

        Parameters
        ----------
        symbol : str
            Product symbol, or ccxt's symbol of the market.

        Returns
        -------
        View
            Live object whose items are prices.
        """
        client = self._client

        def read(got: Mapping[str, Any], whole: bool) -> Reading:
            item = readings.prices_of(got, self._product.symbol)
            return "snapshot" if whole else "incremental", [item], readings.time_of(got.get("timestamp"), wall_ms())

        watch = client.watch_mark_price if client.has.get("watchMarkPrice") else client.watch_ticker
        return self._view("ticker", symbol, watch, read)

    def _view(
        self,
        channel: str,
        symbol: str,
        watch: Callable[[str], Awaitable[Any]],
        read: Callable[[Any, bool], Reading],
        begin: Callable[[], Reading | None] | None = None,
    ) -> View:
        """Return a live object over the feed of a channel, which begins with the first one."""
        from .watching import Feed, View

        self.product(symbol)
        if not self._client.has.get(WATCHED[channel]):
            text = f"{self._name} has no {WATCHED[channel]} in ccxt, so it can't be followed"
            raise InputError(text, field="follow", rule=WATCHED[channel], value=self._name)
        feed = self._feeds.get(channel)
        if feed is None:
            subject = f"{self.identity} {channel}"
            feed = self._feeds[channel] = Feed(subject, lambda: watch(self.market_symbol), read, channel == "trades")
            feed.begin = begin or feed.begin
            if channel == "trades" and "order_book" in self._feeds:
                self._feeds["order_book"].quiet_feeds.append(feed)
            view = View(feed)
            self._loop.start(feed.run())
            return view
        return View(feed)

    def klines(
        self, interval: Span = "1h", start: object = None, end: object = None, *, closed: bool = False
    ) -> pd.DataFrame:
        """Return candles of the exchange, in the frame of `session.klines`. Turnover and trades are missing.

        The read steps over spans without candles to its end. What an exchange does not give, such as candles before its
        newest 720, is a DataWarning.

        Parameters
        ----------
        interval : str, Timedelta, timedelta or int, optional
            Length of a candle that the exchange has (default: "1h").
        start : object, optional
            First time, as in `session.klines` (default: so that about 1,000 rows are returned).
        end : object, optional
            Time at which to stop, as in `session.klines` (default: now).
        closed : bool, optional
            True leaves out the candle that is still forming (default: False).

        Returns
        -------
        DataFrame
            Columns of `session.klines`, with the index `time` (UTC). `attrs["coverage"]` says which spans are proven
            complete or missing, how many intervals were quiet, and how many candles are forming.

        Raises
        ------
        InputError
            For an interval that the exchange does not have.
        TransportError
            If the exchange does not answer.
        """
        length, client = seconds(interval), self._client
        names = {client.parse_timeframe(name): name for name in client.timeframes or ()}
        if length not in names:
            text = f"{self._name} has no candles of {interval}. It has {', '.join(names.values())}"
            raise InputError(text, field="interval", value=str(interval), nearest=tuple(names.values()))
        size, symbol = readings.contract_size(self._market), self._product.symbol

        def first_before(since_ms: int) -> int | None:
            """Return where the history begins, by its longest candles. They must be of their length."""
            longer = max((one for one in names if length < one <= WEEK_S), default=0)
            named, times = (self.market_symbol, names.get(longer)), list[int]()
            with suppress(TransportError):  # it spares requests and decides doubts, and is not needed
                if longer:
                    times = sorted(self._page(client.fetch_ohlcv, named, since_ms - longer * 1_000, PAGE))
            spaced = len(times) > 1 and all(b - a >= longer * 1_000 for a, b in pairwise(times))
            return max(times[0], since_ms) if spaced else None

        named = self.market_symbol, names[length]
        history = self._history(client.fetch_ohlcv, named, start, end, length * 1_000, first_before)
        rows = [readings.kline_row(candle, symbol, length, size) for candle in history.rows.values()]
        frame = frames.typed(rows, Kline.declared.columns).set_index("time")
        frame.attrs["coverage"] = self._covered(history, length * 1_000)
        if closed and frame.attrs["coverage"]["forming"]:
            frame = frame.iloc[:-1]
            frame.attrs["coverage"] = Coverage(frame.attrs["coverage"] | {"forming": 0})
        return frame

    def funding_rates(self, start: object = None, end: object = None) -> pd.DataFrame:
        """Return funding rates as `session.info.funding_rate_history` does, without prices.

        Parameters
        ----------
        start : object, optional
            First time, as in `session.klines` (default: so that about 1,000 rows are returned).
        end : object, optional
            Time at which to stop, as in `session.klines` (default: now).

        Returns
        -------
        DataFrame
            Columns of `session.info.funding_rate_history`. `attrs["coverage"]` says which spans are proven complete.

        Raises
        ------
        TransportError
            If the exchange does not answer.
        """
        hour_ms = 3_600_000  # the shortest interval of a settlement
        fetch = self._client.fetch_funding_rate_history
        history = self._history(fetch, (self.market_symbol,), start, end, hour_ms, lambda since_ms: None)
        rows = [readings.funding_row(entry, self._product.symbol) for entry in history.rows.values()]
        frame = with_annual_rate(frames.typed(rows, FundingRatePoint.declared.columns), False)
        # Rates are hours apart, and none of these hours is quiet.
        known = self._covered(history, hour_ms)
        frame.attrs["coverage"] = Coverage(known | {"quiet": 0, "forming": 0, "quiet_spans": known["proven"]})
        return frame

    def _history(
        self,
        fetch: Callable[..., Coroutine[Any, Any, list[Any]]],
        named: tuple[str, ...],
        start: object,
        end: object,
        step_ms: int,
        first_before: Callable[[int], int | None],
    ) -> History:
        """Return what an exchange lists from `start` and before `end`. What it does not give is a DataWarning."""
        now_ms = wall_ms()
        until = now_ms if end is None else moment_ns(end, "end") // 1_000_000
        since = until - PAGE * step_ms if start is None else moment_ns(start, "start") // 1_000_000
        history = read_all(
            lambda at, count: self._page(fetch, named, at, count), (since, until), step_ms, now_ms, first_before
        )
        if lost := history.lost(step_ms):
            said = ", ".join(f"{time_text(first)} to {time_text(last)}" for first, last in lost[:3])
            warn(f"{self.identity}: the exchange did not give the rows from {said}. See attrs['coverage']")
        return history

    def _page(
        self, fetch: Callable[..., Coroutine[Any, Any, list[Any]]], named: tuple[Any, ...], since_ms: int, count: int
    ) -> dict[int, Any]:
        page = self._answer(fetch(*named, since_ms, count))
        return {int(entry["timestamp"] if isinstance(entry, dict) else entry[0]): entry for entry in page}

    @staticmethod
    def _covered(history: History, step_ms: int) -> Coverage:
        import numpy as np

        times = np.fromiter(history.rows, dtype=np.int64, count=len(history.rows))
        return of_rows(times, step_ms, history.proven, history.wanted, history.now_ms)

    def close(self) -> None:
        """End its feeds, its connections and its thread. Closing again does nothing."""
        loop = self.__dict__.pop("_loop", None)
        if loop is None:
            return
        client = self.__dict__.pop("_client", None)

        async def nothing() -> None:
            """There is no client to close."""

        for feed in self._feeds.values():
            feed.state = "closed"
        with suppress(Exception):  # a connection that can't be closed any more is gone
            loop.close(nothing() if client is None else client.close(), self._timeout)

    def __repr__(self) -> str:
        return f"<ExchangeMarket {self.identity}>"
