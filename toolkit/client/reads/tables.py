"""What a session reads, written once: products, candles and an account's records as DataFrames.

Long reads page by themselves (see `paging`), oldest row first. One that fails half-way is kept: the same call goes on
where it stopped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...errors import InputError, ToolkitError
from ...protocol.reads.info import ENDPOINTS
from ..io.flow import Flow, Now, flow, subflow
from .catalogue import Catalogue
from .conversion import Time, milliseconds, seconds
from .reading import Reader

if TYPE_CHECKING:
    import os

    import pandas as pd

    from ...environments import Environment
    from .candle_cache import CandleCache
    from .paging import Read

UNFINISHED = 8
"""Interrupted reads that are kept to go on with."""
_OPEN = ("ORDER_STATUS_UNTRIGGERED", "NEW", "PARTIALLY_FILLED")
"""Statuses of open orders in the order of a life, so that one that moves on meanwhile is seen twice, never missed."""


class TableFlows:
    """The reads that Session and AsyncSession share."""

    environment: Environment
    info: Any
    _catalogue: Catalogue

    # --- products and prices ---

    @flow
    def products(self, *, exact: bool = False) -> Flow[pd.DataFrame]:
        """Return all products, index `symbol`; a row that can't be read is left out with a warning.

        Columns as in `help(session.info.products)`. `product(symbol)` gives one with its exact steps and limits.
        """
        made: pd.DataFrame = yield from subflow(self.info.products, exact=exact)
        return made.set_index("symbol")

    @flow
    def klines(
        self,
        symbol: str | int,
        interval: int | str | timedelta = "1h",
        start: Time | None = None,
        end: Time | None = None,
        *,
        limit: int = 500,
        closed: bool = False,
        fill: bool = False,
        cache: CandleCache | str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        exact: bool = False,
    ) -> Flow[pd.DataFrame]:
        """Return candles that start in [start, end], oldest first, index `time` (UTC, start of the candle).

        `interval` is seconds, "1m", "1h", "1d" or a timedelta. `end` is now by default, `start` `limit` candles before
        it. The last candle may still be forming; `closed` leaves it out. A minute without trades has no candle; `fill`
        adds flat ones at the last close. `cache` is a directory (or CandleCache) that keeps closed candles as Parquet
        and answers repeated reads without the network. `progress` shows a bar at once (True), never (False) or when
        the read takes long. `exact` gives Decimal.

        Columns: open, high, low, close (float64, USDC), volume (float64, base units), turnover (float64, USDC), trades
        (Int64), interval (Int64, seconds), symbol (string). Raises UnknownProduct, MalformedRequest, TransportError.
        Source: venue-facts, "Info API": GET /info/kline/list.
        """
        from . import candles
        from .candle_cache import cache_of
        from .progress import Progress

        every = seconds(interval)
        now: int = yield Now()
        last = now if end is None else milliseconds(end, "end")
        first = last - (limit - 1) * every * 1000 if start is None else milliseconds(start, "start")
        if first > last:
            until = "now" if end is None else f"end {end}"
            raise InputError(f"start {start} is after {until}", field="start", rule="order", value=start)
        product = yield from self._catalogue.find(symbol)
        wanted = candles.Wanted(product.symbol, every, first, min(last, now), now, exact)
        bar = Progress(f"{product.symbol} candles", progress)
        try:
            made = yield from candles.read(Reader(self), wanted, cache_of(cache, self.environment), bar)
        finally:
            bar.close()
        return candles.finished(made, wanted, closed=closed, fill=fill)

    @flow
    def funding_rates(self, symbol: str | int | None = None, *, exact: bool = False) -> Flow[pd.DataFrame]:
        """Return the running funding rate of each product (or of one), index `symbol`.

        Columns as in `help(session.info.funding_rates)`, and `annualised`: the rate if all intervals of a year had it.
        """
        from .derived_columns import with_yearly_rate

        made = yield from subflow(self.info.funding_rates, symbol=symbol, exact=exact)
        return with_yearly_rate(made, exact).set_index("symbol")

    @flow
    def funding_rate_history(
        self,
        symbol: str | int,
        start: Time | None = None,
        end: Time | None = None,
        *,
        progress: bool | None = None,
        exact: bool = False,
    ) -> Flow[pd.DataFrame]:
        """Return all settled funding rates of a product in [start, end], oldest first.

        Columns as in `help(session.info.funding_rate_history)`, and `annualised`: the rate if all intervals had it.
        """
        from .derived_columns import with_yearly_rate

        made = yield from self._long("funding_rate_history", start, end, progress, exact, symbol=symbol)
        return with_yearly_rate(made, exact)

    # --- the account ---

    @flow
    def wallet_balances(self, *, account: str | None = None, exact: bool = False) -> Flow[pd.DataFrame]:
        """Return balance, equity and what is available, one row a currency (columns: `help(session.info.wallet)`)."""
        made: pd.DataFrame = yield from subflow(self.info.wallet, account=account, include_zero=True, exact=exact)
        return made

    @flow
    def positions(
        self, symbol: str | int | None = None, *, account: str | None = None, exact: bool = False
    ) -> Flow[pd.DataFrame]:
        """Return open positions, one row for each long or short, with what follows from them.

        Columns: symbol, side (LONG, SHORT), size (base units), entry_price, mark_price, notional, unrealized_pnl,
        margin (assigned if isolated, else entry value / leverage), return_on_margin (ratio), liquidation_price (NA
        where no price liquidates), leverage, margin_mode, position_mode, realized_pnl, fees, created, time, account.
        Amounts are USDC, float64 (Decimal with `exact`). Liquidation prices hold as long as the other positions'
        marks stay; formulas are those of `toolkit.margin`. `session.info.positions()` gives the venue's own record.
        """
        from .derived_columns import legs

        raw = yield from subflow(self.info.positions, account=account, exact=True)
        wallet = yield from subflow(self.info.wallet, account=account, include_zero=True, exact=True)
        table = yield from self._catalogue.table()
        equity = next((value for value in wallet["equity"] if isinstance(value, Decimal)), Decimal(0))
        made = legs(raw, equity, {product.symbol: product.tiers for product in table.values()}, exact=exact)
        made.attrs = raw.attrs
        if symbol is not None:
            wanted = (yield from self._catalogue.find(symbol)).symbol
            made = made[made["symbol"] == wanted].reset_index(drop=True)
        return made

    @flow
    def orders(
        self,
        symbol: str | int | None = None,
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
    ) -> Flow[pd.DataFrame]:
        """Return the latest state of all orders that changed in [start, end], oldest change first.

        `open` leaves only those that rest or wait for a trigger; `status`, `side` and `type` take names or numbers.
        Columns as in `help(session.info.order_states)`.
        """
        from . import frames

        given = {"symbol": symbol, "side": side, "type": type, "account": account}
        if not open or status is not None:
            return (yield from self._long("order_states", start, end, progress, exact, status=status, **given))
        found: dict[str, Mapping[str, Any]] = {}
        pages: list[bytes] = []
        for one in _OPEN:
            read = yield from self._read("order_states", start, end, progress, status=one, **given)
            found |= {str(row.get("ordId")): row for row in read.rows.values()}
            pages += read.pages
        record = ENDPOINTS["order_states"].record
        rows = sorted(found.values(), key=lambda row: int(row.get(record.time) or 0))
        symbols = yield from Reader(self).symbols(record)
        made = frames.from_rows(record, rows, symbols=symbols, exact=exact)
        made.attrs["raw"] = frames.InfoAnswer(pages)
        return made

    @flow
    def order_events(
        self,
        symbol: str | int | None = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        order_id: int | None = None,
        client_order_id: int | None = None,
        status: str | None = None,
        side: str | int | None = None,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
    ) -> Flow[pd.DataFrame]:
        """Return every step of every order in [start, end], oldest first (`help(session.info.order_events)`)."""
        given = {"symbol": symbol, "side": side, "status": status, "account": account}
        ids = {"order_id": order_id, "client_order_id": client_order_id}
        return (yield from self._long("order_events", start, end, progress, exact, **given, **ids))

    @flow
    def fills(
        self,
        symbol: str | int | None = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        order_id: int | None = None,
        side: str | int | None = None,
        role: str | None = None,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
    ) -> Flow[pd.DataFrame]:
        """Return all fills in [start, end], oldest first.

        Columns as in `help(session.info.trades)`, and `value` (price × quantity) and `fee` (all fees; negative =
        received), both USDC.
        """
        from .derived_columns import with_value_and_fee

        given = {"symbol": symbol, "order_id": order_id, "side": side, "role": role, "account": account}
        return with_value_and_fee((yield from self._long("trades", start, end, progress, exact, **given)))

    @flow
    def ledger(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        kind: str | None = None,
        tx_hash: str | None = None,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
    ) -> Flow[pd.DataFrame]:
        """Return every change of the balance in [start, end], oldest first (`help(session.info.ledger)`)."""
        given = {"kind": kind, "tx_hash": tx_hash, "account": account}
        return (yield from self._long("ledger", start, end, progress, exact, **given))

    @flow
    def funding_payments(
        self,
        symbol: str | int | None = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
    ) -> Flow[pd.DataFrame]:
        """Return funding paid (negative) and received in [start, end], oldest first.

        Columns as in `help(session.info.funding_payments)`.
        """
        return (yield from self._long("funding_payments", start, end, progress, exact, symbol=symbol, account=account))

    # --- long reads ---

    def _long(
        self, name: str, start: Time | None, end: Time | None, progress: bool | None, exact: bool, **given: Any
    ) -> Flow[pd.DataFrame]:
        from . import frames

        read = yield from self._read(name, start, end, progress, **given)
        record = ENDPOINTS[name].record
        symbols = yield from Reader(self).symbols(record)
        made = frames.from_rows(record, read.newest_first()[::-1], symbols=symbols, exact=exact)
        made.attrs["raw"] = frames.InfoAnswer(read.pages)
        return made

    def _read(self, name: str, start: Time | None, end: Time | None, progress: bool | None, **given: Any) -> Flow[Read]:
        """Read all of a query, or go on with the same read where it was interrupted."""
        from .paging import Read
        from .progress import Progress

        reader = Reader(self)
        endpoint = ENDPOINTS[name]
        fixed = {key: value for key, value in given.items() if value is not None}
        query = yield from reader.query(endpoint, fixed)
        first = None if start is None else milliseconds(start, "start")
        last = None if end is None else milliseconds(end, "end")
        if first is not None and last is not None and first > last:
            raise InputError(f"start {start} is after end {end}", field="start", rule="order", value=start)
        kept = self._unfinished()
        key = (name, query, first, last)
        read = kept.pop(key, None) or Read(endpoint, query, first, last)
        bar = Progress(endpoint.summary, progress)
        try:
            yield from read.run(lambda pairs: reader.ask(endpoint, pairs), bar)
        except ToolkitError as error:
            if read.rows:
                kept[key] = read
                while len(kept) > UNFINISHED:
                    kept.popitem(last=False)
                error.add_note(f"{len(read.rows)} rows were read; the same call again goes on from there")
            raise
        finally:
            bar.close()
        return read

    def _unfinished(self) -> OrderedDict[Any, Read]:
        found: OrderedDict[Any, Read] = self.__dict__.setdefault("_unfinished_reads", OrderedDict())
        return found
