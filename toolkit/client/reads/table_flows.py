"""Read methods of a session: products, candles and an account's records as DataFrames.

Reads of records are complete (see `paging`), oldest row first. One that fails half-way is kept, and the same call
continues where it stopped. `frame.attrs["missing"]` says why rows may be missing nevertheless. Each takes `index`: the
column that becomes the index, None to keep the key as a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from ...coverage import coverage
from ...coverage import joined as joined_coverage
from ...errors import InputError, require, warn
from ...numerals import Span, moment
from ...products import Product
from ...protocol.reads.door import admit, column
from ...protocol.reads.endpoint import MAX_TIME
from ...protocol.reads.info.accounts import WALLET_BALANCES
from ...protocol.reads.info.orders import OrderEvent, Trade
from ...protocol.reads.info.positions import POSITIONS
from ...protocol.reads.info_queries import MARGIN_TABLES
from ..io.flow import Flow, Now, Perform, SessionPart, flow
from .catalogue import Catalogue
from .conversion import Time, seconds
from .reading import OPEN_STATUSES, Reader

if TYPE_CHECKING:
    import os

    import pandas as pd

    from ...environments import Environment
    from .candle_cache import CandleCache
    from .candle_reads import CandleRequest
    from .paging import PagedRead

Products = str | int | Iterable[str | int]
"""A product by symbol or code, or several of them."""
Symbols = Products | None
"""As Products. None means all."""
_KNOWN_FILLS = 200_000
"""Fills whose role and type are kept at most."""
_Window = tuple[int, Time | None, Time | None, int]
_TRIES = 3
"""How often candles until now are read again because time passed meanwhile."""
_DAY_MS = 86_400_000
_TOGETHER = 25
"""Products whose feeds are read at a time: half of the subscriptions that a connection may have."""


class ProductFlows(SessionPart):
    """Reads the venue's lists: products, currencies and margin tables."""

    _path = "session.products"

    @flow
    def __call__(self, *, exact: bool = False, index: str | None = "symbol") -> Flow[pd.DataFrame]:
        """Return all products. A row that can't be read is left out with a warning.

        `session.product(symbol)` returns one with exact steps and limits.

        Parameters
        ----------
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: "symbol").

        Returns
        -------
        DataFrame
            Indexed by `symbol`. Columns as in `help(session.info.products)`.
        """
        frame: pd.DataFrame = yield from self._session._reader.table("products", {}, exact, index)
        return frame

    @flow
    def margin_tables(self, *, exact: bool = False, index: str | None = "table") -> Flow[pd.DataFrame]:
        """Return the venue's margin tables, one row per tier.

        The functions of `toolkit.margin` take the rows. Source: docs/published.md, "Info API": ProductMeta.

        Parameters
        ----------
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: "table").

        Returns
        -------
        DataFrame
            Indexed by `table`, as in `session.products()["margin_table"]`.

            - floor: float64, USDC, the notional above which the tier applies
            - maintenance_rate: float64, a ratio of the notional
            - max_leverage: float64

        Examples
        --------
        >>> session.products.margin_tables().loc[1, "max_leverage"].tolist()
        [40.0, 20.0]
        """
        frame: pd.DataFrame = yield from self._session._reader.meta(MARGIN_TABLES, exact, index)
        return frame

    @flow
    def confirm(self, symbol: str, code: int) -> Flow[Product]:
        """Confirm that a code belongs to a symbol now, after the venue's list changed that, and return the product.

        Orders name a product by its code. The toolkit remembers which code belongs to which symbol. Where a later list
        differs, or gives one code to two products, nothing that may open in them is signed before this call. It holds
        for all sessions of the environment.

        Parameters
        ----------
        symbol : str
            Symbol of the product, as the list has it.
        code : int
            Its code, as the list has it.

        Returns
        -------
        Product

        Raises
        ------
        InputError
            Unless the venue lists this symbol with this code.

        Examples
        --------
        >>> session.products.confirm("BTCUSDC", 1).symbol
        'BTCUSDC'
        """
        product: Product = yield from self._session._catalogue.confirm(symbol, code)
        return product

    @flow
    def currencies(self, *, index: str | None = "currency") -> Flow[pd.DataFrame]:
        """Return the venue's currencies. Source: docs/published.md, "Info API": ProductMeta.

        Parameters
        ----------
        index : str, optional
            Column that becomes the index (default: "currency").

        Returns
        -------
        DataFrame
            Indexed by `currency`.

            - code: Int64
            - name: string
            - wallet_precision, display_precision: Int64, decimals

        Examples
        --------
        >>> session.products.currencies().index.tolist()
        ['USDC']
        """
        frame: pd.DataFrame = yield from self._session._reader.meta("currencies", False, index)
        return frame


class TableFlows:
    """Mixin of Session and AsyncSession: reads that return DataFrames."""

    environment: Environment
    info: Any
    stream: Any
    _catalogue: Catalogue
    account: Any

    @property
    def _reader(self) -> Reader:
        reader: Reader = self.info._reader
        return reader

    @flow
    def klines(
        self,
        symbol: Products,
        interval: Span = "1h",
        start: Time | None = None,
        end: Time | None = None,
        *,
        limit: int = 500,
        closed: bool = False,
        fill: bool = False,
        cache: CandleCache | str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        exact: bool = False,
        index: str | None = "time",
    ) -> Flow[pd.DataFrame]:
        """Return candles that start in [start, end], oldest first.

        Source: docs/published.md, "Info API": GET /info/kline/list.

        Parameters
        ----------
        symbol : str, int or iterable of these
            Product, by symbol or code. A list gives the same columns, one product after the other.
        interval : str or timedelta, optional
            Length of a candle, a span: "1m", "1h", "1d" or a timedelta (default: "1h").
        start : str, int, float, date, datetime or timedelta, optional
            First time: Unix time (s, ms, µs or ns), ISO text, a datetime, "today", "yesterday", or "7d" for a week ago.
            Without it these are the last `limit` candles, with 0 all there are.
        end : str, int, float, date, datetime or timedelta, optional
            Last time, as `start` (default: now).
        limit : int, optional
            Most candles without `start`, of each product (default: 500).
        closed : bool, optional
            True leaves out the last candle while it is still forming (default: False).
        fill : bool, optional
            True adds flat candles at the last close where an interval has no trades (default: False).
        cache : CandleCache, str or PathLike, optional
            Folder, or CandleCache, that keeps closed candles as Parquet, so that repeated reads need no network
            (default: none). A local venue is queried for which market it is.
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: "time").

        Returns
        -------
        DataFrame
            Indexed by `time`: datetime64[ms, UTC], the start of the candle. `frame.attrs["missing"]` says which were
            not read, or "". So does a DataWarning. `frame.attrs["coverage"]` says which spans are proven complete or
            missing, how many intervals had no trades, and how many candles are still forming.

            - open, high, low, close: float64, USDC
            - volume: float64, base units
            - turnover: float64, USDC
            - trades: Int64
            - interval: Int64, seconds
            - symbol: string

        Raises
        ------
        UnknownProduct
            For a product that is not listed.
        MalformedRequest
            For a time or interval that can't be read.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.klines(["BTCUSDC", "ETHUSDC"], "1h", limit=2, closed=True).pivot(columns="symbol", values="close")
        symbol                     BTCUSDC  ETHUSDC
        time
        2025-12-31 22:00:00+00:00  61387.8  2367.38
        2025-12-31 23:00:00+00:00  62500.0  2450.00
        """
        from .candle_cache import CandleCache
        from .frames import indexed, joined

        _check_limit(limit)
        if isinstance(start, int) and 0 < start < _DAY_MS:
            said = f"start {start} would be in 1970. A number of candles is limit={start}"
            raise InputError(said, field="start", rule="time", value=start)
        known: CandleCache | None = None
        if cache is not None:
            given = cache if isinstance(cache, CandleCache) else CandleCache(cache)
            known = given.of_market((yield from self._reader.market_identity(self.environment)))
        window = seconds(interval) * 1000, start, end, limit
        shaping = {"exact": exact, "closed": closed, "fill": fill}
        parts: list[pd.DataFrame] = []
        for one in (yield from self._found(symbol)):
            parts.append((yield from self._candles(one, window, known, progress, **shaping)))
        if said := ". ".join(filter(None, (part.attrs["missing"] for part in parts))):
            warn(said)
        if _is_one(symbol):
            return indexed(parts[0], index)
        frame = joined(parts)
        frame.attrs["missing"] = said
        frame.attrs["coverage"] = joined_coverage(part.attrs["coverage"] for part in parts)
        return indexed(frame, index)

    def _candles(
        self, symbol: str, window: _Window, known: CandleCache | None, progress: bool | None, **shaping: bool
    ) -> Flow[pd.DataFrame]:
        """Return the candles of one product by `time`. `window` is the interval in ms, start, end and limit."""
        from ...progress import Progress
        from . import candle_reads

        length_ms, start, end, limit = window
        exact = shaping.pop("exact")
        bar = Progress(f"{symbol} candles", progress)
        try:
            for _ in range(_TRIES):
                request = yield from self._candle_request(symbol, *window, exact)
                if start is None:
                    frame = yield from candle_reads.read_last(self._reader, request, limit + 1, known, bar)
                else:
                    frame = yield from candle_reads.read(self._reader, request, known, bar)
                # The answers show the venue's time, which may be later than was known before.
                later_ms: int = yield Now()
                last_ms = later_ms if end is None else min(later_ms, moment(end, "end", later_ms))
                if last_ms // length_ms <= request.last_ms // length_ms:
                    break
        finally:
            bar.close()
        return candle_reads.finish(frame, request, **shaping, count=limit if start is None else None)

    def _candle_request(
        self, symbol: str, length_ms: int, start: Time | None, end: Time | None, limit: int, exact: bool
    ) -> Flow[CandleRequest]:
        """Return the request for candles until now or `end`. Raises InputError for a start after that."""
        from .candle_reads import BUDGET, CandleRequest

        for refreshed in (False, True):
            now_ms: int = yield Now()
            last_ms = now_ms if end is None else moment(end, "end", now_ms)
            # One more than the limit, because `closed` leaves out the one that is still forming.
            first_ms = max(0, last_ms // length_ms - limit) * length_ms
            if start is not None:
                # All candles there are: from 0, or -1, on.
                first_ms = 0 if isinstance(start, int) and start == -1 else moment(start, "start", now_ms)
            if first_ms <= last_ms:
                break
            if refreshed or end is not None:
                until = "now" if end is None else f"end {end}"
                raise InputError(f"start {start} is after {until}", field="start", rule="order", value=start)
            self._catalogue.forget()  # an answer shows the venue's time, which may be later than was known
            yield from self._catalogue.table()
        times = length_ms // 1000, first_ms, min(last_ms, now_ms), now_ms
        return CandleRequest(symbol, *times, exact, replace(self._reader.budget, rows=BUDGET.rows))

    @flow
    def ticker(self, symbol: Products, *, exact: bool = False, index: str | None = "symbol") -> Flow[pd.DataFrame]:
        """Return prices, open interest, funding and 24 h statistics of products.

        It is read from the feed. `session.stream.ticker` keeps it up to date.

        Parameters
        ----------
        symbol : str, int or iterable of these
            Product, by symbol or code, or a list of them.
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: "symbol").

        Returns
        -------
        DataFrame
            Indexed by `symbol`.

            - last, mark_price, oracle_price, mid, open, high, low: float64, USDC
            - funding_rate, last_funding_rate, change: float64, ratios
            - open_interest, volume: float64, base units
            - turnover: float64, USDC

        Raises
        ------
        UnknownProduct
            For a product that is not listed.
        StaleData
            When the feed sends nothing in time.

        Examples
        --------
        >>> session.ticker("BTCUSDC")[["last", "mark_price", "funding_rate"]].values.tolist()
        [[62500.0, 62500.0, 5e-05]]
        """
        from .frames import indexed, joined

        return indexed(joined((yield from self._live("ticker", symbol, exact))), index)

    @flow
    def tickers(self, *, exact: bool = False, index: str | None = "symbol") -> Flow[pd.DataFrame]:
        """Return the tickers of all listed products. Errors are those of `ticker`.

        It subscribes to the ticker of each product. `session.stream.tickers()` is one subscription, and has last price,
        mark price and volume only.

        Parameters
        ----------
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: "symbol").

        Returns
        -------
        DataFrame
            Indexed by `symbol`. Columns as in `ticker`.

        Examples
        --------
        >>> session.tickers()["mark_price"].idxmax()
        'BTCUSDC'
        """
        from ...protocol.reads.feed import RECORDS
        from .frames import empty, indexed, joined

        table = yield from self._catalogue.table()
        listed = [product.symbol for product in table.values() if product.listed]
        parts = (yield from self._live("ticker", listed, exact)) if listed else [empty(RECORDS["ticker"], exact=exact)]
        return indexed(joined(parts), index)

    @flow
    def order_book(
        self, symbol: str | int, depth: int = 20, *, exact: bool = False, index: str | None = None
    ) -> Flow[pd.DataFrame]:
        """Return the order book, bids first, best price first.

        It is read from the feed, as `ticker`. `session.stream.order_book` keeps it up to date.

        Parameters
        ----------
        symbol : str or int
            Product, by symbol or code.
        depth : int, optional
            Levels of each side, 1 to 200 (default: 20).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            One row per level.

            - side: BUY or SELL
            - level: Int64, 1 is best
            - price: float64, USDC
            - quantity: float64, base units

        Examples
        --------
        >>> session.order_book("BTCUSDC", depth=1)
           side  level    price  quantity
        0   BUY      1  62493.4     0.344
        1  SELL      1  62506.6     0.359
        """
        from .frames import indexed

        (frame,) = yield from self._live("order_book", [symbol], exact, depth)
        return indexed(frame, index)

    @flow
    def trades(
        self,
        symbol: Products,
        start: Time | None = None,
        end: Time | None = None,
        *,
        limit: int | None = None,
        exact: bool = False,
        index: str | None = None,
    ) -> Flow[pd.DataFrame]:
        """Return the public trades in [start, end], oldest first. Errors are those of `ticker`.

        The exchange has no query for them, so these are the last ones that its feed has sent. At the local venue these
        are 100, and all since you subscribed while `session.stream.trades(symbol)` is open. A `start` before the first
        one causes a DataWarning. Your own trades are `fills()`.

        Parameters
        ----------
        symbol : str, int or iterable of these
            Product, by symbol or code, or a list of them.
        start, end : str, int, float, date, datetime or timedelta, optional
            First and last time, as in `klines` (default: all that the feed has sent).
        limit : int, optional
            Most trades of each product, the newest ones (default: no limit).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            One row per trade.

            - time: datetime64[ms, UTC]
            - symbol: string
            - side: BUY or SELL, of the taker
            - price: float64, USDC
            - quantity: float64, base units
            - tx_hash: string

        Examples
        --------
        >>> session.trades("BTCUSDC", limit=2)[["side", "price", "quantity"]].values.tolist()
        [['SELL', 62503.4, 0.009], ['SELL', 62500.0, 0.025]]
        """
        from .frames import indexed, joined

        if limit is not None:
            _check_limit(limit)
        now_ms: int = yield Now()
        first, last = (
            None if time is None else moment(time, name, now_ms) for name, time in (("start", start), ("end", end))
        )
        parts = yield from self._live("trades", symbol, exact)
        made = [_within(part, first, last, limit) for part in parts]
        frame = made[0] if _is_one(symbol) else joined(made).sort_values("time", kind="stable", ignore_index=True)
        return indexed(frame, index)

    @flow
    def fee_rates(self, *, exact: bool = False, index: str | None = "symbol") -> Flow[pd.DataFrame]:
        """Return the fee rates of the session's account for each product.

        The account's rates come from the feed. Where it has none, and without an account, they are the product's
        standard rates, NA if the venue does not publish them.

        Parameters
        ----------
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: "symbol").

        Returns
        -------
        DataFrame
            Indexed by `symbol`.

            - maker_fee_rate, taker_fee_rate: float64, ratios of a fill's value, negative is received

        Examples
        --------
        >>> session.fee_rates().loc["BTCUSDC"].to_dict()
        {'maker_fee_rate': 0.0001, 'taker_fee_rate': 0.0006}
        """
        from .derived_columns import fee_rates
        from .frames import indexed

        own: pd.DataFrame | None = None
        if (account := self.account) is not None:
            (own,) = yield from self._first("account", [(account,)], exact=True)
        table = yield from self._catalogue.table()
        return indexed(fee_rates(list(table.values()), own, exact=exact), index)

    def _found(self, symbol: Symbols, *, every: bool = False) -> Flow[list[Any]]:
        """Return the symbols of the products that a caller names, each once. With `every` None is one, for all."""
        if symbol is None and every:
            return [None]
        found: dict[str, None] = {}
        named: Any = [symbol] if _is_one(symbol) else symbol
        for one in named:
            found[(yield from self._catalogue.lookup(one)).symbol] = None
        if not found:
            said = "symbol is empty. Name a product, or several"
            raise InputError(said, field="symbol", rule="minimum", value=symbol)
        return list(found)

    def _live(self, name: str, symbol: Products, exact: bool, *more: object) -> Flow[list[pd.DataFrame]]:
        """Return the first data of the live objects `session.stream.NAME` of products."""
        found = [(one, *more) for one in (yield from self._found(symbol))]
        frames: list[pd.DataFrame] = []
        for at in range(0, len(found), _TOGETHER):
            frames += yield from self._first(name, found[at : at + _TOGETHER], exact)
        return frames

    def _first(self, name: str, given: Iterable[tuple[Any, ...]], exact: bool) -> Flow[list[pd.DataFrame]]:
        """Return the first data of live objects, which are subscribed together and closed again."""
        make = getattr(self.stream, name)

        def read() -> list[pd.DataFrame]:
            with ExitStack() as stack:
                lives = [stack.enter_context(make(*each)) for each in given]
                return [live.frame(exact=exact) for live in lives]

        async def awaited() -> list[pd.DataFrame]:
            async with AsyncExitStack() as stack:
                lives = [await stack.enter_async_context(make(*each)) for each in given]
                return [await live.frame(exact=exact) for live in lives]

        frames: list[pd.DataFrame] = yield Perform(read, awaited)
        return frames

    @flow
    def funding_rates(
        self, symbol: str | int | None = None, *, exact: bool = False, index: str | None = "symbol"
    ) -> Flow[pd.DataFrame]:
        """Return the running funding rate of each product.

        Parameters
        ----------
        symbol : str or int, optional
            Product, by symbol or code (default: all).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: "symbol").

        Returns
        -------
        DataFrame
            Indexed by `symbol`. Columns as in `help(session.info.funding_rates)`, and `annualised` (float64, a ratio):
            the rate if every interval of a year settled it.

        Examples
        --------
        >>> session.funding_rates("BTCUSDC")["annualised"].item()
        0.1095
        """
        from .derived_columns import with_annual_rate
        from .frames import indexed

        frame = yield from self._reader.table("funding_rates", {"symbol": symbol}, exact)
        return indexed(with_annual_rate(frame, exact), index)

    @flow
    def wallet_balances(
        self, *, account: str | None = None, exact: bool = False, index: str | None = None
    ) -> Flow[pd.DataFrame]:
        """Return balance, equity and available funds, one row per currency.

        Parameters
        ----------
        account : str, optional
            Address to read (default: the session's account).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns as in `help(session.info.wallet_balances)`.

        Examples
        --------
        >>> session.wallet_balances()[["currency", "balance"]].values.tolist()
        [['USDC', 10000.0]]
        """
        given = {"account": account, "include_zero": True}
        return (yield from self._reader.table("wallet_balances", given, exact, index))

    @flow
    def positions(
        self,
        symbol: Symbols = None,
        *,
        account: str | None = None,
        exact: bool = False,
        index: str | None = "symbol",
    ) -> Flow[pd.DataFrame]:
        """Return open positions with derived columns.

        There is one row per long or short side, so that in hedge mode a symbol may have two. The venue shows isolated
        margin, realised PnL and fees of both together. They are divided in proportion to the entry values. Formulas are
        those of `toolkit.margin`. `session.info.positions()` returns the venue's record.

        Parameters
        ----------
        symbol : str, int or iterable of these, optional
            Product, by symbol or code, or a list of them (default: all).
        account : str, optional
            Address to read (default: the session's account).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: "symbol").

        Returns
        -------
        DataFrame
            Indexed by `symbol`. Names are string.

            - side: LONG or SHORT
            - size: float64, base units
            - entry_price, mark_price, notional, unrealized_pnl: float64, USDC
            - margin: float64, USDC, the assigned one if isolated, else entry value / leverage
            - return_on_margin: float64, a ratio
            - liquidation_price: float64, USDC. It assumes that the marks of the other positions stay. It is NA where no
              price liquidates, and where the venue does not say which margin tiers apply
            - leverage: float64
            - margin_mode, position_mode: string
            - realized_pnl, fees: float64, USDC
            - created, time: datetime64[ms, UTC]
            - account: string

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.positions()[["side", "size", "entry_price", "leverage"]]
                 side  size  entry_price  leverage
        symbol
        BTCUSDC  LONG  0.01      62506.6      20.0
        """
        from .derived_columns import legs
        from .frames import InfoAnswer, indexed

        held, body = yield from self._reader.typed(POSITIONS, {"account": account})
        equity: Decimal | None = None
        if any(row.margin_mode != "ISOLATED" for row in held):  # which the whole wallet is the margin of
            wallet, _ = yield from self._reader.typed(WALLET_BALANCES, {"account": account, "include_zero": True})
            equity = next((row.equity for row in wallet), None)
        table = yield from self._catalogue.in_time()
        tiers = {} if table is None else {product.symbol: product.tiers for product in table.values()}
        if held:
            self._catalogue.tell_unchecked()
        frame = legs(list(map(asdict, held)), equity, tiers, exact=exact)
        frame.attrs["raw"] = InfoAnswer([body])
        # All positions are needed above: in cross margin the others decide what is left for this one.
        if symbol is not None:
            wanted = yield from self._found(symbol)
            frame = frame[frame["symbol"].isin(wanted)].reset_index(drop=True)
        return indexed(frame, index)

    @flow
    def orders(
        self,
        symbol: Symbols = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        open: bool = False,
        status: str | None = None,
        side: str | int | None = None,
        type: str | int | None = None,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
        index: str | None = None,
    ) -> Flow[pd.DataFrame]:
        """Return the latest state of all orders that changed in [start, end], oldest change first.

        Parameters
        ----------
        symbol : str, int or iterable of these, optional
            Product, by symbol or code, or a list of them (default: all).
        start, end : str, int, float, date, datetime or timedelta, optional
            First and last time of the change, as in `klines` (default: all).
        open : bool, optional
            True for those in the book or waiting for a trigger (default: False).
        status : str, optional
            Only this status: "open", "untriggered", "cancelled", … in any case (default: all).
        side : str or int, optional
            Only this side (BUY, …), in any case (default: all).
        type : str or int, optional
            Only this type (LIMIT, …), in any case (default: all).
        account : str, optional
            Address to read (default: the session's account).
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none). "time" is for plots.

        Returns
        -------
        DataFrame
            Columns as in `help(session.info.order_states)`. `frame.attrs["moved"]` is the number of orders that changed
            while they were read, `["missing"]` why some may be missing, or "". A DataWarning says both.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01", "50000")
        >>> session.orders(open=True)[["symbol", "side", "price", "status"]]
            symbol side    price status
        0  BTCUSDC  BUY  50000.0    NEW
        """
        from .paging import latest

        require(open, bool, "open", "True or False")
        if str(status).lower() == "open":
            open, status = True, None
        given = {"side": side, "type": type, "account": account}
        # An order may pass from one status to the next between the queries; its newest row counts.
        statuses = OPEN_STATUSES if open and status is None else (status,)
        reads = []
        for one in (yield from self._found(symbol, every=True)):
            for each in statuses:
                asked = {**given, "symbol": one, "status": each}
                reads.append((yield from self._reader.resumable("order_states", asked, start, end, progress)))
        return (yield from self._reader.frame_of(reads, latest(reads), exact=exact, index=index))

    @flow
    def fills(
        self,
        symbol: Symbols = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        order_id: int | None = None,
        side: str | int | None = None,
        role: str | None = None,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
        index: str | None = None,
    ) -> Flow[pd.DataFrame]:
        """Return all fills in [start, end], oldest first.

        Parameters
        ----------
        symbol : str, int or iterable of these, optional
            Product, by symbol or code, or a list of them (default: all).
        start, end : str, int, float, date, datetime or timedelta, optional
            First and last time, as in `klines` (default: all).
        order_id : int, optional
            Only fills of this order (default: all).
        side : str or int, optional
            Only this side, BUY or SELL (default: both).
        role : str, optional
            Only MAKER or TAKER (default: both).
        account : str, optional
            Address to read (default: the session's account).
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none). "time" is for plots.

        Returns
        -------
        DataFrame
            Columns as in `help(session.info.fills)`, and two more. `frame.attrs["missing"]` says why some may be
            missing, or "". So does a DataWarning.

            - value: float64, USDC, price × quantity
            - fee: float64, USDC, all fees that the fill shows, negative is received

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.fills()[["side", "quantity", "price", "fee"]]
          side  quantity    price      fee
        0  BUY      0.01  62506.6  0.37504
        """
        from .derived_columns import with_value_and_fee
        from .frames import indexed
        from .paging import oldest_first

        given = {"order_id": order_id, "side": side, "account": account}
        reads, beside = [], []
        for one in (yield from self._found(symbol, every=True)):
            of_one = {**given, "symbol": one}
            read = yield from self._reader.resumable("fills", {**of_one, "role": role}, start, end, progress)
            reads.append(read)
            if read.rows and not any(row.get(_ROLE) for row in read.rows.values()):
                beside += yield from self._fill_in_role_and_type(read, role, of_one)
        frame = yield from self._reader.frame_of(reads, oldest_first(reads), beside=beside, exact=exact)
        return indexed(with_value_and_fee(frame), index)

    def _fill_in_role_and_type(
        self, read: PagedRead, role: str | None, given: Mapping[str, Any]
    ) -> Flow[list[PagedRead]]:
        """Fill in role and type, which a venue does not send with fills: queries have the role, order events the type.

        Neither changes, so each fill is looked up once. Returns the reads that this took.
        """
        from .paging import oldest_first

        known, fields, events = self._reader.known_fills, Trade.declared.by_column, OrderEvent.declared.by_column
        keys = {name: _fill_key(row) for name, row in read.rows.items()}
        found = {key: known[key] for key in keys.values() if key in known}
        beside: list[PagedRead] = []
        if len(found) < len(keys):
            unknown = [row for row in read.newest_first() if _fill_key(row) not in found]
            admit(read.endpoint.path, read.endpoint.record, unknown)
            fill_ids, times, order_ids = (column(fields[name], unknown)[0] for name in ("id", "time", "order_id"))
            window, ids = (times[-1], times[0]), {}
            for each in ("MAKER", "TAKER"):
                rows: Iterable[Mapping[str, Any]] = unknown if each == role else ()
                if role is None:
                    of_role = {**given, "role": each}
                    beside.append((yield from self._reader.all_rows("fills", of_role, *window, in_part=True)))
                    rows = beside[-1].rows.values()
                ids[each] = set(column(fields["id"], list(rows))[0]) - {None}
            beside.append((yield from self._reader.all_rows("order_events", given, *window, in_part=True)))
            happened = oldest_first(beside[-1:])
            types = dict(zip(*(column(events[name], happened)[0] for name in ("order_id", "type")), strict=True))
            for row, fill_id, order_id in zip(unknown, fill_ids, order_ids, strict=True):
                roles = [name for name, those in ids.items() if fill_id in those]
                # A fill in the answers of both roles is of neither.
                values = roles[0] if len(roles) == 1 else None, types.get(order_id)
                found[_fill_key(row)] = dict(zip(Trade.declared.wires("role", "type"), values, strict=True))
            if len(known) > _KNOWN_FILLS:
                known.clear()
            # What the venue does not show yet is asked for again.
            known.update((key, values) for key, values in found.items() if None not in values.values())
        for name, key in keys.items():
            read.rows[name] = {**read.rows[name], **found[key]}
        return beside


def _fill_key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, map(row.get, _FILL_KEY)))


_ROLE, *_FILL_KEY = Trade.declared.wires("role", "account", "id", "tx_hash")


def _check_limit(limit: int) -> None:
    if isinstance(limit, bool) or not hasattr(limit, "__index__") or limit < 1:
        said = f"limit {limit!r} is not a whole number, 1 or more"
        raise InputError(said, field="limit", rule="minimum", value=limit)


def _is_one(symbol: Symbols) -> bool:
    return isinstance(symbol, str) or not isinstance(symbol, Iterable)


def _within(trades: pd.DataFrame, first_ms: int | None, last_ms: int | None, limit: int | None) -> pd.DataFrame:
    """Return the last `limit` trades in [first_ms, last_ms]. Warn where the feed begins later than asked."""
    times_ms = trades["time"].astype("int64").to_numpy()
    if first_ms is not None and not (times_ms <= first_ms).any():
        begin = f"begin at {trades['time'].min():%Y-%m-%d %H:%M:%S} UTC" if len(trades) else "are none"
        text = f"{trades.attrs['subject']}: the trades that the feed sent {begin}, so earlier ones may be missing"
        warn(f"{text}. Keep session.stream.trades(symbol) open, or record them")
        until_ms = int(times_ms.min()) if len(trades) else last_ms or first_ms
        trades.attrs["coverage"] = coverage(missing=[(first_ms, until_ms)])
    inside = (times_ms >= (first_ms or 0)) & (times_ms <= (MAX_TIME if last_ms is None else last_ms))
    return trades[inside].tail(len(trades) if limit is None else limit).reset_index(drop=True)
