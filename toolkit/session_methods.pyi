# Written by `python -m tests.stubs` from toolkit.session_methods; change declarations or flows instead.
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

import pandas as pd

from toolkit.client.io.flow import Asynchronous, Flow, Synchronous
from toolkit.client.orders.cancelling import Cancelled
from toolkit.client.orders.delivery import Prepared
from toolkit.client.orders.order_calls import By, OrderCalls
from toolkit.client.orders.receipts import AsyncReceipt, Receipt, Unset
from toolkit.client.orders.trading import OrderLike
from toolkit.client.parent_orders.parents import ParentOrder
from toolkit.client.reads.candle_cache import CandleCache
from toolkit.client.reads.conversion import Time
from toolkit.client.reads.reading import Query
from toolkit.orders import Bracket, Ladder, Order, Twap
from toolkit.products import Amount, Product, ProductTable
from toolkit.widgets import Dashboard, OrderTicket

class SessionMethods(Synchronous):
    """The methods of Session."""
    @property
    def _calls(self) -> OrderCalls: ...
    @property
    def account(self) -> str | None:
        """Address of the master that owns the orders and positions; None while it is not known."""
    def _account(self) -> Flow[str]: ...
    def product(self, symbol: str | int) -> Product:
        """Return a product by symbol or code, with its exact steps and limits.

        The product list is kept for a minute, and fetched again before UnknownProduct is raised.
        """
    def product_table(self) -> ProductTable:
        """Return all products by symbol as Product objects; `products()` returns them as a DataFrame."""
    def buy(
        self,
        symbol: str | int,
        quantity: Amount,
        price: Amount | None = None,
        *,
        type: Literal["LIMIT", "MARKET"] | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        reduce_only: bool | str | None = None,
        cl_ord_id: int | None = None,
        slippage: Amount | None = None,
        tp: Amount | Order | None = None,
        sl: Amount | Order | None = None,
        trigger_price: Amount | None = None,
        trigger_by: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Buy `quantity` base units at `price` USDC, or at market without a price, and return the Receipt.

        The order is checked first, then signed and sent. `tif` is GTC, IOC, FOK or POST_ONLY; `tp` and `sl` are trigger
        prices (or orders) of a bracket; `slippage` limits a market order (ratio). Amounts are exact: text, whole
        numbers or Decimal.

        Raises CheckFailed with every broken rule before anything is signed, ActionRejected when the venue refuses,
        OutcomeUnknown without a response (`resolve` settles it).
        """
    def sell(
        self,
        symbol: str | int,
        quantity: Amount,
        price: Amount | None = None,
        *,
        type: Literal["LIMIT", "MARKET"] | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        reduce_only: bool | str | None = None,
        cl_ord_id: int | None = None,
        slippage: Amount | None = None,
        tp: Amount | Order | None = None,
        sl: Amount | Order | None = None,
        trigger_price: Amount | None = None,
        trigger_by: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Sell `quantity` base units at `price` USDC, or at market without a price, and return the Receipt.

        Arguments and errors are those of `buy`.
        """
    def place(
        self,
        orders: Order | Bracket | Ladder | Sequence[Order | Bracket | Ladder],
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Check, sign and send orders made with `toolkit.orders`: one, several at once, or one bracket.

        Several orders are one request; the venue accepts or refuses each, and `receipt.results` has one entry per
        order. When any is refused, ActionRejected is raised with that receipt; the accepted ones stand. Errors are
        those of `buy`.
        """
    def prepare(
        self,
        what: Order | Bracket | Ladder | Sequence[Order | Bracket | Ladder] | Mapping[str, Any],
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Prepared:
        """Return what would be signed for orders (checked first) or for an action in wire names, without signing it.

        `.explain()` of the result shows proto bytes, typed data and digest; `send_prepared` signs and sends exactly
        that. Raises CheckFailed, InputError, WalletError.
        """
    def send_prepared(self, prepared: Prepared, *, confirmed: bool = False) -> Receipt:
        """Sign and send what `prepare` returned. `confirmed`: a person has just confirmed exactly this (on Mainnet).

        Errors are those of `buy`, without CheckFailed.
        """
    def order(self, order: OrderLike, *, by: By | None = None, vault_address: str | None = None) -> Receipt:
        """Return any order of the account as a receipt, a live handle: by its id, its client id, or a row of a table.

        `by` says which id it is, where both exist. Raises InputError for an order that the account does not have.
        """
    def replace(
        self,
        existing: OrderLike | None,
        new: Order | None = None,
        *,
        cl_ord_id: int | str | None = None,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Replace an open order by `new`; it is given by its id, a receipt, a row of a table, or by `cl_ord_id`.

        It keeps its queue position only if the price stays and the quantity decreases. Errors are those of `buy`, and
        InputError for a bracket, a receipt of several orders, or a second client id.
        """
    def cancel(
        self,
        what: OrderLike | Iterable[OrderLike] | None = None,
        *,
        symbol: str | int | None = None,
        cl_ord_id: int | str | None = None,
        vault_address: str | None = None,
    ) -> Receipt:
        """Cancel orders, given by receipts, ids, rows of a table, a whole table, or `cl_ord_id`.

        Ids are whole numbers or text. With `symbol` they need no query for their product. Raises ActionRejected when
        an order can't be cancelled; the results of its receipt say which.
        """
    def cancel_all(
        self, symbol: str | int | None = None, *, conditional: bool | None = None, vault_address: str | None = None
    ) -> Cancelled:
        """Cancel all open orders of a product (None: of every product), and return the receipts.

        None of the orders that were open at the call is left open. Waiting orders are cancelled first, so that one
        that triggers in between is found; the result's `triggered` and `filled` say what happened meanwhile.
        `conditional` True cancels waiting trigger orders only, False the other orders only, None both. Raises
        OutcomeUnknown when some stay open.
        """
    def close_position(
        self,
        symbol: str | int,
        price: Amount | None = None,
        *,
        slippage: Amount | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        vault_address: str | None = None,
    ) -> Receipt:
        """Close the whole position of a product with reduce-only orders, at market or at `price`.

        Raises InputError when there is none. In hedge mode both legs are closed. Errors are those of `buy`.
        """
    def set_leverage(self, symbol: str | int, leverage: Amount, *, vault_address: str | None = None) -> Receipt:
        """Set the leverage of a product (at most its maxLeverage, two decimals). Returns the Receipt."""
    def set_margin_mode(
        self, symbol: str | int, mode: Literal["CROSS", "ISOLATED"], *, vault_address: str | None = None
    ) -> Receipt:
        """Set a product's margin mode, CROSS or ISOLATED. Returns the Receipt."""
    def assign_margin(self, symbol: str | int, amount: Amount, *, vault_address: str | None = None) -> Receipt:
        """Add `amount` USDC to the margin of an isolated position, or remove it if negative. Returns the Receipt."""
    def resolve(
        self, intents: str | Receipt | Iterable[str | Receipt] | None = None, *, resend: bool | None = None
    ) -> list[Receipt]:
        """Settle intents with an unknown outcome (None: all of them), and return the receipt of each, oldest first.

        The venue is asked for the orders' client ids, else for the nonce. What it does not know is sent again as the
        identical bytes: by default only while that is safe (it expires by itself, or is under a minute old), with
        `resend=True` always, with False never. What can't be settled stays UNKNOWN; nothing is guessed.
        """
    def _rows(self, path: str, query: Query) -> Flow[list[Mapping[str, Any]]]: ...
    def twap(
        self,
        symbol: str | int,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"],
        quantity: Amount,
        duration: str | int | timedelta,
        *,
        slices: int | None = None,
        price: Amount | None = None,
        slippage: Amount | None = None,
        reduce_only: bool = False,
        vault_address: str | None = None,
    ) -> ParentOrder:
        """Trade `quantity` base units in equal child orders over `duration` ("30m", ms, timedelta); return the handle.

        The first child order is placed at once, the last one at the end. Each is IOC, at market or never worse than
        `price`; what one leaves is added to the next, at most three times its size. Arguments as in `orders.twap`.

        This session places them, by its clock, as long as it is open; each is an intent in the ledger. After a restart
        `parent_orders()` shows it as INTERRUPTED, and its handle resumes or cancels it. A child order that the venue
        refuses is left out; `message` says why. Without `slices` there is one each 30 s, or as many as the quantity can
        be divided into. Raises InputError and CheckFailed before anything is recorded.
        """
    def start_twap(self, made: Twap, first: Prepared) -> ParentOrder:
        """Start a TWAP whose first child order was prepared by `prepare`, and has just been confirmed by a person.

        Errors are those of `twap`.
        """
    def parent_order(self, id: str) -> ParentOrder:
        """Return the handle of a parent order of the ledger. Raises InputError for an unknown id."""
    def parent_orders(self) -> pd.DataFrame:
        """Return the parent orders of the ledger, also those of earlier sessions, oldest first; index `parent` (id).

        Columns: created (UTC), symbol, side, quantity, filled (base units), average_price (USDC, NaN without a fill),
        done and slices (child orders), next (UTC, NaT once it has ended), status, message.
        """
    def products(self, *, exact: bool = False) -> pd.DataFrame:
        """Return all products, index `symbol`; a row that can't be read is left out with a warning.

        Columns as in `help(session.info.products)`. `product(symbol)` returns one with its exact steps and limits.
        """
    def margin_tables(self, *, exact: bool = False) -> pd.DataFrame:
        """Return the venue's margin tables, one row per tier, index `table` (as in `products()["margin_table"]`).

        Columns: floor (float64, USDC: the notional above which the tier applies), maintenance_rate (float64, ratio of
        the notional), max_leverage (float64). `exact` returns Decimal. The functions of `toolkit.margin` take the rows.
        Source: docs/published.md, "Info API": ProductMeta.
        """
    def currencies(self) -> pd.DataFrame:
        """Return the venue's currencies, index `currency`.

        Columns: code (Int64), name (string), wallet_precision, display_precision (Int64, decimals). Source:
        docs/published.md, "Info API": ProductMeta.
        """
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
    ) -> pd.DataFrame:
        """Return candles that start in [start, end], oldest first, index `time` (UTC, start of the candle).

        `interval` is seconds, "1m", "1h", "1d" or a timedelta. `end` defaults to now; without `start` these are the
        last `limit` candles. The last one may still be forming; `closed` leaves it out. An interval without trades has
        no candle; `fill` adds flat ones at the last close. `cache` is a directory (or CandleCache) that keeps closed
        candles as Parquet, so that repeated reads need no network. `progress` shows a bar at once (True), never (False)
        or when the read takes long (None). `exact` returns Decimal.

        Columns: open, high, low, close (float64, USDC), volume (float64, base units), turnover (float64, USDC), trades
        (Int64), interval (Int64, seconds), symbol (string). Raises UnknownProduct, MalformedRequest, TransportError.
        Source: docs/published.md, "Info API": GET /info/kline/list.
        """
    def ticker(self, symbol: str | int, *, exact: bool = False) -> pd.DataFrame:
        """Return prices, open interest, funding and 24 h statistics of a product, one row, index `symbol`.

        Columns: last, mark_price, oracle_price, mid, open, high, low (float64, USDC), funding_rate, last_funding_rate,
        change (ratio), open_interest, volume (base units), turnover (USDC). Read from the feed; `session.stream.ticker`
        keeps it up to date. Raises UnknownProduct, StaleData when the feed sends nothing in time.
        """
    def tickers(self, *, exact: bool = False) -> pd.DataFrame:
        """Return the tickers of all products, index `symbol`; columns and errors as in `ticker`."""
    def order_book(self, symbol: str | int, depth: int = 20, *, exact: bool = False) -> pd.DataFrame:
        """Return the order book, `depth` levels a side (1–200), bids first, best price first.

        Columns: side (BUY, SELL), level (1 is best), price (USDC), quantity (base units). Read from the feed, as
        `ticker`; `session.stream.order_book` keeps it up to date.
        """
    def trades(self, symbol: str | int, *, exact: bool = False) -> pd.DataFrame:
        """Return the last public trades of a product, oldest first; [] of a feed that starts with the next one.

        Columns: time (UTC), symbol, side (of the taker), price (USDC), quantity (base units), tx_hash. Read from the
        feed, as `ticker`; `session.stream.trades` goes on. Your own are `fills()`.
        """
    def fee_rates(self, *, exact: bool = False) -> pd.DataFrame:
        """Return the fee rates of the session's account by product, index `symbol`.

        Columns: maker_fee_rate, taker_fee_rate (ratios of a fill's value; negative is received). The account's own
        come from the feed; where it has none, and without an account, they are the product's standard rates.
        """
    def funding_rates(self, symbol: str | int | None = None, *, exact: bool = False) -> pd.DataFrame:
        """Return the running funding rate of each product (or of one), index `symbol`.

        Columns as in `help(session.info.funding_rates)`, and `annualised` (float64, ratio): the rate if every interval
        of a year settled it.
        """
    def funding_rate_history(
        self,
        symbol: str | int,
        start: Time | None = None,
        end: Time | None = None,
        *,
        progress: bool | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Return all settled funding rates of a product in [start, end], oldest first.

        Columns as in `help(session.info.funding_rate_history)`, and `annualised` as in `funding_rates`.
        """
    def wallet_balances(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """Return balance, equity and available funds, one row per currency (columns: `help(session.info.wallet)`)."""
    def positions(
        self, symbol: str | int | None = None, *, account: str | None = None, exact: bool = False
    ) -> pd.DataFrame:
        """Return open positions, one row per long or short side, with derived columns.

        Columns: symbol, side (LONG, SHORT), size (base units), entry_price, mark_price, notional, unrealized_pnl,
        margin (assigned if isolated, else entry value / leverage), return_on_margin (ratio), liquidation_price (NA
        where no price liquidates), leverage, margin_mode, position_mode, realized_pnl, fees, created, time, account.
        Amounts are USDC, float64 (Decimal with `exact`); names are string, times datetime64[ms, UTC]. A liquidation
        price assumes that the marks of the other positions stay; formulas are those of `toolkit.margin`.
        `session.info.positions()` returns the venue's own record.
        """
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
        index: Literal["time"] | None = None,
    ) -> pd.DataFrame:
        """Return the latest state of all orders that changed in [start, end], oldest change first.

        `open` selects those in the book or waiting for a trigger; `status`, `side` and `type` take names or numbers.
        Columns as in `help(session.info.order_states)`; with `index="time"` the last change is the index, for plots.
        """
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
    ) -> pd.DataFrame:
        """Return every event of every order in [start, end], oldest first.

        Columns as in `help(session.info.order_events)`.
        """
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
        index: Literal["time"] | None = None,
    ) -> pd.DataFrame:
        """Return all fills in [start, end], oldest first.

        Columns as in `help(session.info.trades)`, and, in USDC, `value` (float64, price × quantity) and `fee` (float64,
        all fees that the fill shows; negative is received). With `index="time"` its time is the index, for plots.
        """
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
        index: Literal["time"] | None = None,
    ) -> pd.DataFrame:
        """Return every change of the balance in [start, end], oldest first.

        Columns as in `help(session.info.ledger)`; with `index="time"` the time of the change is the index, for plots.
        """
    def funding_payments(
        self,
        symbol: str | int | None = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Return funding paid (negative) and received in [start, end], oldest first.

        Columns as in `help(session.info.funding_payments)`.
        """
    def permissions(self, *, ended: bool = False, builders: Iterable[str] = ...) -> pd.DataFrame:
        """Return who may act for this account: one row per agent, builder authorisation and vault.

        `ended` includes those that were revoked or have expired. The published query of authorisations needs the
        builder's address. Where a venue refuses it without one, the builders in `builders` and those in this session's
        ledger are queried, and `frame.attrs["complete"]` is False.

        Columns: kind (agent, builder, vault), name, address (the agent wallet, the builder's agent, the vault), of (the
        builder, the vault's leader), may (a description), all string; since, until (datetime64[ms, UTC]), max_fee_rate
        (float64, ratio), status (string: ACTIVE, REVOKED, EXPIRED, OPEN, CLOSED).
        """
    def revoke(self, who: str, *, expiry_after: int | Unset | None = ...) -> Receipt:
        """End an agent's approval (by its name or address) or the builder's authorisation (by either address).

        Names are case-sensitive. An address that was approved under several names loses all of them, with one request
        each, and the last receipt is returned.

        Signed by: Master. Raises InputError when no active agent or builder has that name or address.
        """
    def allow_builder(
        self,
        builder: str,
        agent: str,
        max_fee_rate: Amount,
        *,
        validity_seconds: int = 0,
        expiry_after: int | Unset | None = ...,
    ) -> Receipt:
        """Let a builder's agent wallet place orders for this account, for a fee of at most `max_fee_rate` (a ratio).

        `validity_seconds` 0 is 7 days. It replaces an earlier authorisation. Signed by: Trader master.
        Source: docs/published.md, "Exchange API".
        """
    def end_builder(self, *, expiry_after: int | Unset | None = ...) -> Receipt:
        """End this account's active builder authorisation. Signed by: Trader master."""
    def ticket(self, symbol: str | int, **fields: Any) -> OrderTicket:
        """Return an order ticket, a widget; `fields` fills it, e.g. side="SELL", price="70000"."""
    def dashboard(self, symbol: str | int, interval: str | int = "1m") -> Dashboard:
        """Return a widget with ticket, candles, order book, trades, account and blotter for one product."""

class AsyncSessionMethods(Asynchronous):
    """The methods of AsyncSession, coroutine functions."""
    @property
    def _calls(self) -> OrderCalls: ...
    @property
    def account(self) -> str | None:
        """Address of the master that owns the orders and positions; None while it is not known."""
    def _account(self) -> Flow[str]: ...
    async def product(self, symbol: str | int) -> Product:
        """Return a product by symbol or code, with its exact steps and limits.

        The product list is kept for a minute, and fetched again before UnknownProduct is raised.
        """
    async def product_table(self) -> ProductTable:
        """Return all products by symbol as Product objects; `products()` returns them as a DataFrame."""
    async def buy(
        self,
        symbol: str | int,
        quantity: Amount,
        price: Amount | None = None,
        *,
        type: Literal["LIMIT", "MARKET"] | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        reduce_only: bool | str | None = None,
        cl_ord_id: int | None = None,
        slippage: Amount | None = None,
        tp: Amount | Order | None = None,
        sl: Amount | Order | None = None,
        trigger_price: Amount | None = None,
        trigger_by: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Buy `quantity` base units at `price` USDC, or at market without a price, and return the Receipt.

        The order is checked first, then signed and sent. `tif` is GTC, IOC, FOK or POST_ONLY; `tp` and `sl` are trigger
        prices (or orders) of a bracket; `slippage` limits a market order (ratio). Amounts are exact: text, whole
        numbers or Decimal.

        Raises CheckFailed with every broken rule before anything is signed, ActionRejected when the venue refuses,
        OutcomeUnknown without a response (`resolve` settles it).
        """
    async def sell(
        self,
        symbol: str | int,
        quantity: Amount,
        price: Amount | None = None,
        *,
        type: Literal["LIMIT", "MARKET"] | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        reduce_only: bool | str | None = None,
        cl_ord_id: int | None = None,
        slippage: Amount | None = None,
        tp: Amount | Order | None = None,
        sl: Amount | Order | None = None,
        trigger_price: Amount | None = None,
        trigger_by: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Sell `quantity` base units at `price` USDC, or at market without a price, and return the Receipt.

        Arguments and errors are those of `buy`.
        """
    async def place(
        self,
        orders: Order | Bracket | Ladder | Sequence[Order | Bracket | Ladder],
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Check, sign and send orders made with `toolkit.orders`: one, several at once, or one bracket.

        Several orders are one request; the venue accepts or refuses each, and `receipt.results` has one entry per
        order. When any is refused, ActionRejected is raised with that receipt; the accepted ones stand. Errors are
        those of `buy`.
        """
    async def prepare(
        self,
        what: Order | Bracket | Ladder | Sequence[Order | Bracket | Ladder] | Mapping[str, Any],
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Prepared:
        """Return what would be signed for orders (checked first) or for an action in wire names, without signing it.

        `.explain()` of the result shows proto bytes, typed data and digest; `send_prepared` signs and sends exactly
        that. Raises CheckFailed, InputError, WalletError.
        """
    async def send_prepared(self, prepared: Prepared, *, confirmed: bool = False) -> AsyncReceipt:
        """Sign and send what `prepare` returned. `confirmed`: a person has just confirmed exactly this (on Mainnet).

        Errors are those of `buy`, without CheckFailed.
        """
    async def order(self, order: OrderLike, *, by: By | None = None, vault_address: str | None = None) -> AsyncReceipt:
        """Return any order of the account as a receipt, a live handle: by its id, its client id, or a row of a table.

        `by` says which id it is, where both exist. Raises InputError for an order that the account does not have.
        """
    async def replace(
        self,
        existing: OrderLike | None,
        new: Order | None = None,
        *,
        cl_ord_id: int | str | None = None,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Replace an open order by `new`; it is given by its id, a receipt, a row of a table, or by `cl_ord_id`.

        It keeps its queue position only if the price stays and the quantity decreases. Errors are those of `buy`, and
        InputError for a bracket, a receipt of several orders, or a second client id.
        """
    async def cancel(
        self,
        what: OrderLike | Iterable[OrderLike] | None = None,
        *,
        symbol: str | int | None = None,
        cl_ord_id: int | str | None = None,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Cancel orders, given by receipts, ids, rows of a table, a whole table, or `cl_ord_id`.

        Ids are whole numbers or text. With `symbol` they need no query for their product. Raises ActionRejected when
        an order can't be cancelled; the results of its receipt say which.
        """
    async def cancel_all(
        self, symbol: str | int | None = None, *, conditional: bool | None = None, vault_address: str | None = None
    ) -> Cancelled:
        """Cancel all open orders of a product (None: of every product), and return the receipts.

        None of the orders that were open at the call is left open. Waiting orders are cancelled first, so that one
        that triggers in between is found; the result's `triggered` and `filled` say what happened meanwhile.
        `conditional` True cancels waiting trigger orders only, False the other orders only, None both. Raises
        OutcomeUnknown when some stay open.
        """
    async def close_position(
        self,
        symbol: str | int,
        price: Amount | None = None,
        *,
        slippage: Amount | None = None,
        tif: Literal["GTC", "IOC", "FOK", "POST_ONLY"] | None = None,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Close the whole position of a product with reduce-only orders, at market or at `price`.

        Raises InputError when there is none. In hedge mode both legs are closed. Errors are those of `buy`.
        """
    async def set_leverage(
        self, symbol: str | int, leverage: Amount, *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Set the leverage of a product (at most its maxLeverage, two decimals). Returns the Receipt."""
    async def set_margin_mode(
        self, symbol: str | int, mode: Literal["CROSS", "ISOLATED"], *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Set a product's margin mode, CROSS or ISOLATED. Returns the Receipt."""
    async def assign_margin(
        self, symbol: str | int, amount: Amount, *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Add `amount` USDC to the margin of an isolated position, or remove it if negative. Returns the Receipt."""
    async def resolve(
        self, intents: str | Receipt | Iterable[str | Receipt] | None = None, *, resend: bool | None = None
    ) -> list[AsyncReceipt]:
        """Settle intents with an unknown outcome (None: all of them), and return the receipt of each, oldest first.

        The venue is asked for the orders' client ids, else for the nonce. What it does not know is sent again as the
        identical bytes: by default only while that is safe (it expires by itself, or is under a minute old), with
        `resend=True` always, with False never. What can't be settled stays UNKNOWN; nothing is guessed.
        """
    def _rows(self, path: str, query: Query) -> Flow[list[Mapping[str, Any]]]: ...
    async def twap(
        self,
        symbol: str | int,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"],
        quantity: Amount,
        duration: str | int | timedelta,
        *,
        slices: int | None = None,
        price: Amount | None = None,
        slippage: Amount | None = None,
        reduce_only: bool = False,
        vault_address: str | None = None,
    ) -> ParentOrder:
        """Trade `quantity` base units in equal child orders over `duration` ("30m", ms, timedelta); return the handle.

        The first child order is placed at once, the last one at the end. Each is IOC, at market or never worse than
        `price`; what one leaves is added to the next, at most three times its size. Arguments as in `orders.twap`.

        This session places them, by its clock, as long as it is open; each is an intent in the ledger. After a restart
        `parent_orders()` shows it as INTERRUPTED, and its handle resumes or cancels it. A child order that the venue
        refuses is left out; `message` says why. Without `slices` there is one each 30 s, or as many as the quantity can
        be divided into. Raises InputError and CheckFailed before anything is recorded.
        """
    async def start_twap(self, made: Twap, first: Prepared) -> ParentOrder:
        """Start a TWAP whose first child order was prepared by `prepare`, and has just been confirmed by a person.

        Errors are those of `twap`.
        """
    def parent_order(self, id: str) -> ParentOrder:
        """Return the handle of a parent order of the ledger. Raises InputError for an unknown id."""
    def parent_orders(self) -> pd.DataFrame:
        """Return the parent orders of the ledger, also those of earlier sessions, oldest first; index `parent` (id).

        Columns: created (UTC), symbol, side, quantity, filled (base units), average_price (USDC, NaN without a fill),
        done and slices (child orders), next (UTC, NaT once it has ended), status, message.
        """
    async def products(self, *, exact: bool = False) -> pd.DataFrame:
        """Return all products, index `symbol`; a row that can't be read is left out with a warning.

        Columns as in `help(session.info.products)`. `product(symbol)` returns one with its exact steps and limits.
        """
    async def margin_tables(self, *, exact: bool = False) -> pd.DataFrame:
        """Return the venue's margin tables, one row per tier, index `table` (as in `products()["margin_table"]`).

        Columns: floor (float64, USDC: the notional above which the tier applies), maintenance_rate (float64, ratio of
        the notional), max_leverage (float64). `exact` returns Decimal. The functions of `toolkit.margin` take the rows.
        Source: docs/published.md, "Info API": ProductMeta.
        """
    async def currencies(self) -> pd.DataFrame:
        """Return the venue's currencies, index `currency`.

        Columns: code (Int64), name (string), wallet_precision, display_precision (Int64, decimals). Source:
        docs/published.md, "Info API": ProductMeta.
        """
    async def klines(
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
    ) -> pd.DataFrame:
        """Return candles that start in [start, end], oldest first, index `time` (UTC, start of the candle).

        `interval` is seconds, "1m", "1h", "1d" or a timedelta. `end` defaults to now; without `start` these are the
        last `limit` candles. The last one may still be forming; `closed` leaves it out. An interval without trades has
        no candle; `fill` adds flat ones at the last close. `cache` is a directory (or CandleCache) that keeps closed
        candles as Parquet, so that repeated reads need no network. `progress` shows a bar at once (True), never (False)
        or when the read takes long (None). `exact` returns Decimal.

        Columns: open, high, low, close (float64, USDC), volume (float64, base units), turnover (float64, USDC), trades
        (Int64), interval (Int64, seconds), symbol (string). Raises UnknownProduct, MalformedRequest, TransportError.
        Source: docs/published.md, "Info API": GET /info/kline/list.
        """
    async def ticker(self, symbol: str | int, *, exact: bool = False) -> pd.DataFrame:
        """Return prices, open interest, funding and 24 h statistics of a product, one row, index `symbol`.

        Columns: last, mark_price, oracle_price, mid, open, high, low (float64, USDC), funding_rate, last_funding_rate,
        change (ratio), open_interest, volume (base units), turnover (USDC). Read from the feed; `session.stream.ticker`
        keeps it up to date. Raises UnknownProduct, StaleData when the feed sends nothing in time.
        """
    async def tickers(self, *, exact: bool = False) -> pd.DataFrame:
        """Return the tickers of all products, index `symbol`; columns and errors as in `ticker`."""
    async def order_book(self, symbol: str | int, depth: int = 20, *, exact: bool = False) -> pd.DataFrame:
        """Return the order book, `depth` levels a side (1–200), bids first, best price first.

        Columns: side (BUY, SELL), level (1 is best), price (USDC), quantity (base units). Read from the feed, as
        `ticker`; `session.stream.order_book` keeps it up to date.
        """
    async def trades(self, symbol: str | int, *, exact: bool = False) -> pd.DataFrame:
        """Return the last public trades of a product, oldest first; [] of a feed that starts with the next one.

        Columns: time (UTC), symbol, side (of the taker), price (USDC), quantity (base units), tx_hash. Read from the
        feed, as `ticker`; `session.stream.trades` goes on. Your own are `fills()`.
        """
    async def fee_rates(self, *, exact: bool = False) -> pd.DataFrame:
        """Return the fee rates of the session's account by product, index `symbol`.

        Columns: maker_fee_rate, taker_fee_rate (ratios of a fill's value; negative is received). The account's own
        come from the feed; where it has none, and without an account, they are the product's standard rates.
        """
    async def funding_rates(self, symbol: str | int | None = None, *, exact: bool = False) -> pd.DataFrame:
        """Return the running funding rate of each product (or of one), index `symbol`.

        Columns as in `help(session.info.funding_rates)`, and `annualised` (float64, ratio): the rate if every interval
        of a year settled it.
        """
    async def funding_rate_history(
        self,
        symbol: str | int,
        start: Time | None = None,
        end: Time | None = None,
        *,
        progress: bool | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Return all settled funding rates of a product in [start, end], oldest first.

        Columns as in `help(session.info.funding_rate_history)`, and `annualised` as in `funding_rates`.
        """
    async def wallet_balances(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """Return balance, equity and available funds, one row per currency (columns: `help(session.info.wallet)`)."""
    async def positions(
        self, symbol: str | int | None = None, *, account: str | None = None, exact: bool = False
    ) -> pd.DataFrame:
        """Return open positions, one row per long or short side, with derived columns.

        Columns: symbol, side (LONG, SHORT), size (base units), entry_price, mark_price, notional, unrealized_pnl,
        margin (assigned if isolated, else entry value / leverage), return_on_margin (ratio), liquidation_price (NA
        where no price liquidates), leverage, margin_mode, position_mode, realized_pnl, fees, created, time, account.
        Amounts are USDC, float64 (Decimal with `exact`); names are string, times datetime64[ms, UTC]. A liquidation
        price assumes that the marks of the other positions stay; formulas are those of `toolkit.margin`.
        `session.info.positions()` returns the venue's own record.
        """
    async def orders(
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
        index: Literal["time"] | None = None,
    ) -> pd.DataFrame:
        """Return the latest state of all orders that changed in [start, end], oldest change first.

        `open` selects those in the book or waiting for a trigger; `status`, `side` and `type` take names or numbers.
        Columns as in `help(session.info.order_states)`; with `index="time"` the last change is the index, for plots.
        """
    async def order_events(
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
    ) -> pd.DataFrame:
        """Return every event of every order in [start, end], oldest first.

        Columns as in `help(session.info.order_events)`.
        """
    async def fills(
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
        index: Literal["time"] | None = None,
    ) -> pd.DataFrame:
        """Return all fills in [start, end], oldest first.

        Columns as in `help(session.info.trades)`, and, in USDC, `value` (float64, price × quantity) and `fee` (float64,
        all fees that the fill shows; negative is received). With `index="time"` its time is the index, for plots.
        """
    async def ledger(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        kind: str | None = None,
        tx_hash: str | None = None,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
        index: Literal["time"] | None = None,
    ) -> pd.DataFrame:
        """Return every change of the balance in [start, end], oldest first.

        Columns as in `help(session.info.ledger)`; with `index="time"` the time of the change is the index, for plots.
        """
    async def funding_payments(
        self,
        symbol: str | int | None = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        account: str | None = None,
        progress: bool | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Return funding paid (negative) and received in [start, end], oldest first.

        Columns as in `help(session.info.funding_payments)`.
        """
    async def permissions(self, *, ended: bool = False, builders: Iterable[str] = ...) -> pd.DataFrame:
        """Return who may act for this account: one row per agent, builder authorisation and vault.

        `ended` includes those that were revoked or have expired. The published query of authorisations needs the
        builder's address. Where a venue refuses it without one, the builders in `builders` and those in this session's
        ledger are queried, and `frame.attrs["complete"]` is False.

        Columns: kind (agent, builder, vault), name, address (the agent wallet, the builder's agent, the vault), of (the
        builder, the vault's leader), may (a description), all string; since, until (datetime64[ms, UTC]), max_fee_rate
        (float64, ratio), status (string: ACTIVE, REVOKED, EXPIRED, OPEN, CLOSED).
        """
    async def revoke(self, who: str, *, expiry_after: int | Unset | None = ...) -> AsyncReceipt:
        """End an agent's approval (by its name or address) or the builder's authorisation (by either address).

        Names are case-sensitive. An address that was approved under several names loses all of them, with one request
        each, and the last receipt is returned.

        Signed by: Master. Raises InputError when no active agent or builder has that name or address.
        """
    async def allow_builder(
        self,
        builder: str,
        agent: str,
        max_fee_rate: Amount,
        *,
        validity_seconds: int = 0,
        expiry_after: int | Unset | None = ...,
    ) -> AsyncReceipt:
        """Let a builder's agent wallet place orders for this account, for a fee of at most `max_fee_rate` (a ratio).

        `validity_seconds` 0 is 7 days. It replaces an earlier authorisation. Signed by: Trader master.
        Source: docs/published.md, "Exchange API".
        """
    async def end_builder(self, *, expiry_after: int | Unset | None = ...) -> AsyncReceipt:
        """End this account's active builder authorisation. Signed by: Trader master."""

class BuilderSide(Synchronous):
    """`session.builder`: register, see traders, place orders for them. The wallet's master is the builder."""
    def __init__(self, session: Any) -> None: ...
    def register(self, name: str, *, expiry_after: int | Unset | None = ...) -> Receipt:
        """Register this wallet's master as a builder, once. Signed by: Builder master."""
    def traders(self, *, ended: bool = False) -> pd.DataFrame:
        """Return the authorisations of this builder, newest first, one row per trader and agent.

        `ended` includes those that were revoked or have expired. Columns as in `help(session.info.builder_agents)`.
        """
    def place(
        self,
        order: Order | Bracket,
        fee_rate: Amount,
        *,
        builder: str | None = None,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Check, sign and send an order, or a bracket, for the trader who authorised this wallet's agent.

        `fee_rate` is a ratio of each fill's value, paid by the trader to the builder; `builder` is the builder's
        master, by default this session's account. Raises as `session.place` does. Signed by: Builder agent.
        """
    def __repr__(self) -> str: ...

class AsyncBuilderSide(Asynchronous):
    """`session.aio.builder`: the asynchronous twin of BuilderSide."""
    def __init__(self, session: Any) -> None: ...
    async def register(self, name: str, *, expiry_after: int | Unset | None = ...) -> AsyncReceipt:
        """Register this wallet's master as a builder, once. Signed by: Builder master."""
    async def traders(self, *, ended: bool = False) -> pd.DataFrame:
        """Return the authorisations of this builder, newest first, one row per trader and agent.

        `ended` includes those that were revoked or have expired. Columns as in `help(session.info.builder_agents)`.
        """
    async def place(
        self,
        order: Order | Bracket,
        fee_rate: Amount,
        *,
        builder: str | None = None,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Check, sign and send an order, or a bracket, for the trader who authorised this wallet's agent.

        `fee_rate` is a ratio of each fill's value, paid by the trader to the builder; `builder` is the builder's
        master, by default this session's account. Raises as `session.place` does. Signed by: Builder agent.
        """
    def __repr__(self) -> str: ...
