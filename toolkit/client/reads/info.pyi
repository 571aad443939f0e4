# Written by `python -m tests.stubs` from toolkit.client.reads.info; change declarations or flows instead.
from datetime import date, datetime, timedelta
from typing import Any, Literal

import pandas as pd

from toolkit.client.io.flow import Asynchronous, Synchronous

class Info(Synchronous):
    """The queries of the Info API, one method each; see `help(session.info.trades)`."""
    def __init__(self, session: Any) -> None: ...
    def products(self, *, list_status: str | None = None, exact: bool = False) -> pd.DataFrame:
        """All products with their limits, margin tables and fees, as a DataFrame.

        list_status: only products with this listing status, e.g. listed (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string): product symbol
            code (Int64): numeric product code used by orders
            name (string): name of the product
            list_status (string): listed while orders are taken
            tick_size (float64; USDC): minimum price increment
            step_size (float64; contracts of 1 base unit): minimum quantity increment
            price_precision (Int64; decimals): display and input precision of prices
            quantity_precision (Int64; decimals): display and input precision of quantities
            min_order_value (float64; USDC): minimum order notional
            max_order_quantity (float64; contracts of 1 base unit): largest quantity of one order
            max_position_notional (float64; USDC): largest position notional
            max_leverage (float64; x): current maximum leverage
            max_slippage (float64; 1 = 100 %): largest slippage of a market order
            maker_fee_rate (float64; 1 = 100 %): maker fee before volume discounts
            taker_fee_rate (float64; 1 = 100 %): taker fee before volume discounts
            funding_interval (Int64; seconds): time between funding settlements
            margin_table (Int64): number of its margin table
            only_isolated (boolean): true where cross margin is not offered
            product_type (string): perpetual
            base_currency (string): what one contract is
            quote_currency (string): what prices are in
            settle_currency (string): what profit is paid in
            currency_code (Int64): number of the settlement currency

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/public/product-meta.
        """
    def product(self, symbol: str | int, *, exact: bool = False) -> pd.DataFrame:
        """One product with its limits, margin table and fees, as a DataFrame.

        symbol: only this product (symbol or code)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            symbol (string): product symbol
            code (Int64): numeric product code used by orders
            name (string): name of the product
            list_status (string): listed while orders are taken
            tick_size (float64; USDC): minimum price increment
            step_size (float64; contracts of 1 base unit): minimum quantity increment
            price_precision (Int64; decimals): display and input precision of prices
            quantity_precision (Int64; decimals): display and input precision of quantities
            min_order_value (float64; USDC): minimum order notional
            max_order_quantity (float64; contracts of 1 base unit): largest quantity of one order
            max_position_notional (float64; USDC): largest position notional
            max_leverage (float64; x): current maximum leverage
            max_slippage (float64; 1 = 100 %): largest slippage of a market order
            maker_fee_rate (float64; 1 = 100 %): maker fee before volume discounts
            taker_fee_rate (float64; 1 = 100 %): taker fee before volume discounts
            funding_interval (Int64; seconds): time between funding settlements
            margin_table (Int64): number of its margin table
            only_isolated (boolean): true where cross margin is not offered
            product_type (string): perpetual
            base_currency (string): what one contract is
            quote_currency (string): what prices are in
            settle_currency (string): what profit is paid in
            currency_code (Int64): number of the settlement currency

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/single.
        """
    def wallet(
        self,
        *,
        account: str | None = None,
        currency: int | None = None,
        include_zero: bool = False,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Balances and equity of an account, as a DataFrame.

        account: whose data (default: the session's account)
        currency: only this currency, 1 is USDC (a whole number from 0)
        include_zero: also currencies with a balance of zero (true or false)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): the account
            currency (string): USDC
            balance (float64; USDC): cash, without the margins of isolated positions
            available (float64; USDC): free for new positions
            withdrawable (float64; USDC): free to withdraw
            equity (float64; USDC): balance, isolated margins and unrealised profit
            status (string; enum name): NORMAL, or LIQUIDATING while the ladder runs
            block (Int64): block of the last change
            time (datetime64[ms, UTC]; UTC): time of that block

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/account/wallet.
        """
    def ledger(
        self,
        *,
        account: str | None = None,
        currency: int | None = None,
        kind: str | None = None,
        tx_hash: str | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Every change of an account's balance, as a DataFrame.

        account: whose data (default: the session's account)
        currency: only this currency, 1 is USDC (a whole number from 0)
        kind: only this business type, e.g. DEPOSIT, TRADING_FEE, FUNDING (text of 1 to 128 characters)
        tx_hash: only entries of this transaction (0x and 64 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): number of the entry
            time (datetime64[ms, UTC]; UTC): when
            kind (string): business type, e.g. DEPOSIT, TRADING_FEE, REALIZED_PNL, FUNDING
            amount (float64; USDC): change (negative: paid)
            balance (float64; USDC): balance after it
            symbol (string; symbol): product, where it belongs to one
            reference (string): what it belongs to: order, vault, destination …
            counterparty (string): the other side; none for money from outside and for isolated margin
            currency (string): USDC
            tx_hash (string): transaction
            block (Int64): block
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/account/ledger.
        """
    def agents(
        self,
        *,
        account: str | None = None,
        role: Literal["MASTER", "AGENT"] | None = None,
        status: Literal["ACTIVE", "REVOKED"] | int | None = None,
        agent: str | None = None,
        master: str | None = None,
        page: int = 1,
        page_size: int = 20,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Agent wallets of an account, or the masters of an agent, as a DataFrame.

        account: whose data (default: the session's account)
        role: whether the account is the master (default) or the agent (one of MASTER, AGENT)
        status: only this status (one of ACTIVE, REVOKED)
        agent: only this agent wallet (0x and 40 hex digits)
        master: only agents of this master (0x and 40 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): number of the approval
            name (string): name it was approved under
            agent (string): the agent wallet
            master (string): the account it acts for
            status (string; enum name): ACTIVE or REVOKED
            permission (string): what it may do
            approved_at (datetime64[ms, UTC]; UTC): time of the approval
            approved_block (Int64): its block
            approval_tx (string): its transaction
            expires_at (datetime64[ms, UTC]; UTC): end of its validity
            revoked_at (datetime64[ms, UTC]; UTC): time of the revocation
            revoked_block (Int64): its block
            revoke_tx (string): its transaction

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/account/agent.
        """
    def agent(self, agent_name: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """The active agent of an account under one name, as a DataFrame.

        account: whose data (default: the session's account)
        agent_name: name the agent was approved under (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            id (string): number of the approval
            name (string): name it was approved under
            agent (string): the agent wallet
            master (string): the account it acts for
            status (string; enum name): ACTIVE or REVOKED
            permission (string): what it may do
            approved_at (datetime64[ms, UTC]; UTC): time of the approval
            approved_block (Int64): its block
            approval_tx (string): its transaction
            expires_at (datetime64[ms, UTC]; UTC): end of its validity
            revoked_at (datetime64[ms, UTC]; UTC): time of the revocation
            revoked_block (Int64): its block
            revoke_tx (string): its transaction

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/account/agent/active.
        """
    def order_states(
        self,
        *,
        account: str | None = None,
        symbol: str | int | None = None,
        status: Literal["NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"]
        | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        type: Literal[
            "LIMIT",
            "MARKET",
            "MARKET_LIQ_SELLOFF",
            "LIMIT_LIQ_SELLOFF",
            "STOP_LIMIT",
            "STOP_MARKET",
            "TAKE_PROFIT_LIMIT",
            "TAKE_PROFIT_MARKET",
            "ADL",
            "LIQUIDATION",
        ]
        | int
        | None = None,
        order_id: int | None = None,
        client_order_id: int | None = None,
        parent_order_id: int | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Latest state of each order of an account, as a DataFrame.

        account: whose data (default: the session's account)
        symbol: only this product (symbol or code)
        status: only this status; waiting triggers are not in NEW (one of NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        type: only this order type (one of LIMIT, MARKET, MARKET_LIQ_SELLOFF, LIMIT_LIQ_SELLOFF, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET, ADL, LIQUIDATION)
        order_id: only this order (a whole number from 0)
        client_order_id: only this client order id (a whole number from -9223372036854775808)
        parent_order_id: only children of this order (a whole number from 0)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            order_id (Int64): number the venue gave
            client_order_id (Int64): number the client gave
            parent_order_id (Int64): main order of a bracket
            symbol (string; symbol): product
            side (string; enum name): BUY, SELL or a hedge close
            type (string; enum name): LIMIT, MARKET …
            status (string; enum name): NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED
            price (float64; USDC): limit price, 0 for market orders
            quantity (float64; contracts of 1 base unit): ordered
            filled (float64; contracts of 1 base unit): filled so far
            remaining (float64; contracts of 1 base unit): still open
            filled_value (float64; USDC): sum of price × quantity of its fills
            fee (float64; USDC): fees paid (negative: received)
            trigger_price (float64; USDC): 0 where there is no trigger
            trigger_type (string; enum name): price that triggers it
            tif (string; enum name): GTC, IOC, FOK or POST_ONLY
            reduce_only (string; enum name): NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
            created (datetime64[ms, UTC]; UTC): time of placement
            time (datetime64[ms, UTC]; UTC): time of the last change
            block (Int64): block of the last change
            account (string): the account
            id (string): number of the row

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/order/states.
        """
    def order_events(
        self,
        *,
        account: str | None = None,
        order_id: int | None = None,
        client_order_id: int | None = None,
        symbol: str | int | None = None,
        status: Literal["NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"]
        | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Every step of every order of an account, as a DataFrame.

        account: whose data (default: the session's account)
        order_id: only this order (a whole number from 0)
        client_order_id: only this client order id (a whole number from -9223372036854775808)
        symbol: only this product (symbol or code)
        status: only this step (one of NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): number of the event
            time (datetime64[ms, UTC]; UTC): when
            order_id (Int64): number the venue gave
            client_order_id (Int64): number the client gave
            symbol (string; symbol): product
            side (string; enum name): BUY, SELL or a hedge close
            type (string; enum name): LIMIT, MARKET, LIQUIDATION, ADL …
            status (string; enum name): what the step made of the order
            price (float64; USDC): limit price, 0 for market orders
            quantity (float64; contracts of 1 base unit): ordered
            fill_price (float64; USDC): price of this fill
            fill_quantity (float64; contracts of 1 base unit): quantity of this fill
            remaining (float64; contracts of 1 base unit): still open
            exec_id (Int64): number of the trade, 0 where it is no fill
            realized_pnl (float64; USDC): profit this fill realised
            open_fee (float64; USDC): fee on the part that opened
            close_fee (float64; USDC): fee on the part that closed
            trigger_price (float64; USDC): 0 where there is no trigger
            tif (string; enum name): GTC, IOC, FOK or POST_ONLY
            reason (string): why it was cancelled or rejected
            tx_hash (string): transaction
            block (Int64): block
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/order/events.
        """
    def positions(
        self,
        *,
        account: str | None = None,
        symbol: str | int | None = None,
        position_mode: Literal["ONE_WAY", "HEDGE"] | int | None = None,
        include_zero: bool = False,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Positions of an account, as a DataFrame.

        account: whose data (default: the session's account)
        symbol: only this product (symbol or code)
        position_mode: only positions kept in this mode (one of ONE_WAY, HEDGE)
        include_zero: also positions of size zero (true or false)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string; symbol): product
            long_size (float64; contracts of 1 base unit): size of the long half
            short_size (float64; contracts of 1 base unit): size of the short half
            long_entry_value (float64; USDC): sum paid for the long half
            short_entry_value (float64; USDC): sum received for the short half
            leverage (float64; x): leverage that is set
            position_mode (string; enum name): ONE_WAY or HEDGE
            margin_mode (string; enum name): CROSS or ISOLATED
            assigned_margin (float64; USDC): isolated margin
            mark_price (float64; USDC): mark price
            unrealized_pnl (float64; USDC): profit at mark price
            realized_pnl (float64; USDC): profit realised so far
            fees (float64; USDC): trading fees paid so far
            created (datetime64[ms, UTC]; UTC): first opened
            time (datetime64[ms, UTC]; UTC): last change
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/position/list.
        """
    def trades(
        self,
        *,
        account: str | None = None,
        symbol: str | int | None = None,
        order_id: int | None = None,
        exec_id: int | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        role: Literal["MAKER", "TAKER"] | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Fills of an account, as a DataFrame.

        account: whose data (default: the session's account)
        symbol: only this product (symbol or code)
        order_id: only fills of this order (a whole number from 0)
        exec_id: only this execution (a whole number from 0)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        role: only fills as maker or as taker (one of MAKER, TAKER)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): number of the row
            time (datetime64[ms, UTC]; UTC): when
            symbol (string; symbol): product
            side (string; enum name): BUY, SELL or a hedge close
            price (float64; USDC): price of the fill
            quantity (float64; contracts of 1 base unit): quantity of the fill
            order_id (Int64): number the venue gave
            client_order_id (Int64): number the client gave
            exec_id (Int64): number of the trade, the same for both sides
            role (string): MAKER or TAKER
            type (string; enum name): LIMIT, MARKET, LIQUIDATION, ADL …
            status (string; enum name): what the fill made of the order
            order_price (float64; USDC): limit price, 0 for market orders
            remaining (float64; contracts of 1 base unit): still open
            realized_pnl (float64; USDC): profit this fill realised
            open_fee (float64; USDC): fee on the part that opened
            close_fee (float64; USDC): fee on the part that closed
            builder_fee (float64; USDC): fee paid to a builder
            tx_hash (string): transaction
            block (Int64): block
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/trade/page.
        """
    def klines_last(
        self, symbol: str | int, interval: int | str | timedelta, *, limit: int = 100, exact: bool = False
    ) -> pd.DataFrame:
        """The latest candles of a product, as a DataFrame.

        symbol: the product (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        limit: most candles to return (a whole number from 1 to 1000)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): first price
            high (float64; USDC): highest price
            low (float64; USDC): lowest price
            close (float64; USDC): last price
            volume (float64; contracts of 1 base unit): traded
            turnover (float64; USDC): traded value
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/kline/last.
        """
    def klines_before(
        self,
        symbol: str | int,
        interval: int | str | timedelta,
        *,
        before: int | str | date | datetime | None = None,
        limit: int = 100,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Candles that started before a time, as a DataFrame.

        symbol: the product (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        before: candles that start before this time (default: now) (ms since 1970, ISO text or a datetime; UTC without a zone)
        limit: most candles to return (a whole number from 1 to 1000)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): first price
            high (float64; USDC): highest price
            low (float64; USDC): lowest price
            close (float64; USDC): last price
            volume (float64; contracts of 1 base unit): traded
            turnover (float64; USDC): traded value
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/kline/before.
        """
    def klines(
        self,
        symbol: str | int,
        interval: int | str | timedelta,
        start: int | str | date | datetime,
        end: int | str | date | datetime,
        *,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Candles of a product that start in a window, as a DataFrame.

        symbol: the product (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: oldest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): first price
            high (float64; USDC): highest price
            low (float64; USDC): lowest price
            close (float64; USDC): last price
            volume (float64; contracts of 1 base unit): traded
            turnover (float64; USDC): traded value
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/kline/list.
        """
    def funding_rates(self, *, symbol: str | int | None = None, exact: bool = False) -> pd.DataFrame:
        """The running funding rate of each product, as a DataFrame.

        symbol: only this product (symbol or code)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string; symbol): product
            funding_rate (float64; per interval): rate if the interval ended now
            last_funding_rate (float64; per interval): rate settled last
            funding_interval (Int64; seconds): time between settlements
            next_funding_time (datetime64[ms, UTC]; UTC): next settlement
            mark_price (float64; USDC): mark price
            oracle_price (float64; USDC): index price
            premium (float64; 1 = 100 %): time-weighted mean premium of the interval so far
            time (datetime64[ms, UTC]; UTC): time of the answer

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/fundingRate/current.
        """
    def funding_rate_history(
        self,
        symbol: str | int,
        *,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Settled funding rates of a product, as a DataFrame.

        symbol: only this product (symbol or code)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): time of the settlement
            symbol (string; symbol): product
            funding_rate (float64; per interval): longs pay a positive rate
            premium (float64; 1 = 100 %): time-weighted mean premium of the interval
            mark_price (float64; USDC): mark price it was settled at
            oracle_price (float64; USDC): index price
            funding_interval (Int64; seconds): length of the interval

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/fundingRate/history.
        """
    def funding_payments(
        self,
        *,
        account: str | None = None,
        symbol: str | int | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Funding that an account paid and received, as a DataFrame.

        account: whose data (default: the session's account)
        symbol: only this product (symbol or code)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): number of the payment
            time (datetime64[ms, UTC]; UTC): time of the settlement
            symbol (string; symbol): product
            side (string; enum name): LONG or SHORT
            size (float64; contracts of 1 base unit): size of the position
            funding_rate (float64; per interval): longs pay a positive rate
            amount (float64; USDC): negative: paid
            tx_hash (string): transaction
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/funding/history.
        """
    def vault(self, vault: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """One vault, and a user's part in it, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        account: whose deposits to show (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name
            owner (string): leader
            tvl (float64; USDC): total value
            price (float64; per share): net asset value of a share
            apr (float64; a year): return over the last 30 days, per year
            status (string): OPEN or CLOSED
            deposits (float64; USDC): what the user paid in
            current_value (float64; USDC): what the user's shares are worth
            description (string): the leader's words
            total_shares (float64; shares): all shares
            parent (string): parent of a sub-vault
            created (datetime64[ms, UTC]; UTC): when it was created

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/detail.
        """
    def vaults(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """All vaults, as a DataFrame.

        account: whose deposits to show (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name
            owner (string): leader
            tvl (float64; USDC): total value
            price (float64; per share): net asset value of a share
            apr (float64; a year): return over the last 30 days, per year
            status (string): OPEN or CLOSED
            deposits (float64; USDC): what the user paid in
            current_value (float64; USDC): what the user's shares are worth
            description (string): the leader's words
            total_shares (float64; shares): all shares
            parent (string): parent of a sub-vault
            created (datetime64[ms, UTC]; UTC): when it was created

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/list.
        """
    def user_vaults(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """The vaults a user has shares of, as a DataFrame.

        account: the depositor (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name
            account (string): the depositor
            shares (float64; shares): shares held
            deposits (float64; USDC): what they cost
            current_value (float64; USDC): what they are worth
            pnl (float64; USDC): difference
            price (float64; per share): net asset value of a share
            locked_until (datetime64[ms, UTC]; UTC): earliest withdrawal
            status (string): OPEN or CLOSED

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/user-list.
        """
    def vault_user(self, vault: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """A user's shares of one vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        account: the depositor (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name
            account (string): the depositor
            shares (float64; shares): shares held
            deposits (float64; USDC): what they cost
            current_value (float64; USDC): what they are worth
            pnl (float64; USDC): difference
            price (float64; per share): net asset value of a share
            locked_until (datetime64[ms, UTC]; UTC): earliest withdrawal
            status (string): OPEN or CLOSED

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/user.
        """
    def vault_history(
        self,
        vault: str,
        *,
        kind: Literal["tvl", "pnl"] = "tvl",
        interval: Literal["24h", "7d", "30d", "all-time"] = "7d",
        exact: bool = False,
    ) -> pd.DataFrame:
        """Total value or profit of a vault over time, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        kind: total value or profit and loss (one of tvl, pnl)
        interval: how far back (one of 24h, 7d, 30d, all-time)
        exact: amounts as Decimal instead of float64

        Rows: oldest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): when
            value (float64; USDC): total value, or profit and loss

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/history.
        """
    def vault_events(self, vault: str, *, page: int = 1, page_size: int = 20, exact: bool = False) -> pd.DataFrame:
        """Deposits, withdrawals and other events of a vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): number of the event
            time (datetime64[ms, UTC]; UTC): when
            kind (string): CREATE, DEPOSIT, WITHDRAW, REBALANCE, UPDATE_OWNER, CLOSE …
            account (string): who
            amount (float64; USDC): money moved
            shares (float64; shares): shares made or ended
            price (float64; per share): net asset value of a share
            leader_fee (float64; USDC): leader's part of a withdrawn gain
            tx_hash (string): transaction
            vault (string): address of the vault

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/events.
        """
    def vault_depositors(self, vault: str, *, exact: bool = False) -> pd.DataFrame:
        """Who has shares of a vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        exact: amounts as Decimal instead of float64

        Rows: largest first. Columns (dtype; unit):
            account (string): the depositor
            shares (float64; shares): shares held
            share (float64; 1 = 100 %): part of all shares
            deposits (float64; USDC): what they cost
            current_value (float64; USDC): what they are worth
            pnl (float64; USDC): difference
            joined (datetime64[ms, UTC]; UTC): first deposit
            vault (string): address of the vault

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/depositors.
        """
    def referral_code(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """An account's referral code, and who invited it, as a DataFrame.

        account: whose data (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): the account
            code (string): code to give to others
            inviter (string): who invited the account
            inviter_code (string): with which code
            bound_at (datetime64[ms, UTC]; UTC): when

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/code.
        """
    def referral_summary(
        self,
        *,
        account: str | None = None,
        period: Literal["24h", "7d", "30d", "all-time"] = "all-time",
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """What an account's invitations brought in a period, as a DataFrame.

        account: whose data (default: the session's account)
        period: how far back (one of 24h, 7d, 30d, all-time)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): the account
            period (string): 24h, 7d, 30d or all-time
            invitees (Int64): accounts invited
            second_tier_invitees (Int64): accounts those invited
            volume (float64; USDC): what they traded
            fees (float64; USDC): fees they paid
            reward (float64; USDC): rewards of the first tier
            second_tier_reward (float64; USDC): rewards of the second tier
            total_reward (float64; USDC): both
            reward_rate (float64; 1 = 100 %): present rate of the first tier

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/summary.
        """
    def referrals(
        self,
        *,
        account: str | None = None,
        page: int = 1,
        page_size: int = 20,
        sort_by: Literal["joinTime", "volume", "fees", "reward"] = "joinTime",
        sort_order: Literal["asc", "desc"] = "desc",
        search: str | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """The accounts that an account invited, as a DataFrame.

        account: whose data (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        sort_by: sort key (one of joinTime, volume, fees, reward)
        sort_order: sort direction (one of asc, desc)
        search: only invitees whose address contains this text (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): the invitee
            joined (datetime64[ms, UTC]; UTC): when it was bound
            volume (float64; USDC): what it traded
            fees (float64; USDC): fees it paid
            reward (float64; USDC): what that brought the inviter
            invitees (Int64): accounts it invited itself

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/referrals.
        """
    def referral_payouts(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Referral rewards that were paid to an account, as a DataFrame.

        account: whose data (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): number of the payout
            time (datetime64[ms, UTC]; UTC): when
            amount (float64; USDC): reward
            tier (Int64): 1 for own invitees, 2 for theirs
            account (string): who was paid
            source (string): whose fee it is a part of
            tx_hash (string): transaction

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/payouts.
        """
    def referral_tiers(self, *, exact: bool = False) -> pd.DataFrame:
        """Reward rates by network volume, as a DataFrame.

        exact: amounts as Decimal instead of float64

        Rows: by volume. Columns (dtype; unit):
            tier (Int64): number of the tier
            min_volume (float64; USDC): network volume of 30 days it begins at
            reward_rate (float64; 1 = 100 %): part of the invitees' fees
            second_tier_rate (float64; 1 = 100 %): part of the fees of accounts those invited

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/tiers.
        """
    def builder_agents(
        self,
        *,
        builder: str | None = None,
        wallet: str | None = None,
        agent: str | None = None,
        approve_state: Literal["APPROVED", "REVOKED"] = "APPROVED",
        include_expired: bool = False,
        page: int = 1,
        page_size: int = 20,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Agent wallets authorised to a builder, as a DataFrame.

        builder: the builder's master wallet (required, or wallet is [L]) (default: the session's account)
        wallet: only this trader (0x and 40 hex digits)
        agent: only this agent wallet (0x and 40 hex digits)
        approve_state: only this state (one of APPROVED, REVOKED)
        include_expired: also authorisations past their expiry (true or false)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 100)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            wallet (string): the trader
            agent (string): the authorised agent wallet
            builder (string): the builder's master wallet
            max_fee_rate (float64; 1 = 100 %): fee cap of the authorisation
            expires_at (datetime64[ms, UTC]; UTC): end of its validity
            approve_state (string): APPROVED or REVOKED
            expired (boolean): true past its validity

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/builder/agents.
        """
    def transactions(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Transactions of a user, as a DataFrame.

        account: the account or vault they acted for (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            tx_hash (string): hash
            block (Int64): block
            time (datetime64[ms, UTC]; UTC): when
            action (string): type of the action
            account (string): account it acted for
            signer (string): who signed
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the number of the reason
            message (string): the reason in words

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/explore/transaction/page.
        """
    def transaction(self, tx_hash: str, *, exact: bool = False) -> pd.DataFrame:
        """One transaction, as a DataFrame.

        tx_hash: hash of the transaction (0x and 64 hex digits)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            tx_hash (string): hash
            block (Int64): block
            time (datetime64[ms, UTC]; UTC): when
            action (string): type of the action
            account (string): account it acted for
            signer (string): who signed
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the number of the reason
            message (string): the reason in words

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/explore/transaction/detail.
        """
    def block(self, height: int, *, page: int = 1, page_size: int = 20, exact: bool = False) -> pd.DataFrame:
        """One block with its transactions, as a DataFrame.

        height: height of the block (a whole number from 0)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            tx_hash (string): hash
            block (Int64): block
            time (datetime64[ms, UTC]; UTC): when
            action (string): type of the action
            account (string): account it acted for
            signer (string): who signed
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the number of the reason
            message (string): the reason in words

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/explore/block/detail.
        """
    def __repr__(self) -> str: ...

class AsyncInfo(Asynchronous):
    """The asynchronous twin of Info: the same methods as coroutine functions."""
    def __init__(self, session: Any) -> None: ...
    async def products(self, *, list_status: str | None = None, exact: bool = False) -> pd.DataFrame:
        """All products with their limits, margin tables and fees, as a DataFrame.

        list_status: only products with this listing status, e.g. listed (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string): product symbol
            code (Int64): numeric product code used by orders
            name (string): name of the product
            list_status (string): listed while orders are taken
            tick_size (float64; USDC): minimum price increment
            step_size (float64; contracts of 1 base unit): minimum quantity increment
            price_precision (Int64; decimals): display and input precision of prices
            quantity_precision (Int64; decimals): display and input precision of quantities
            min_order_value (float64; USDC): minimum order notional
            max_order_quantity (float64; contracts of 1 base unit): largest quantity of one order
            max_position_notional (float64; USDC): largest position notional
            max_leverage (float64; x): current maximum leverage
            max_slippage (float64; 1 = 100 %): largest slippage of a market order
            maker_fee_rate (float64; 1 = 100 %): maker fee before volume discounts
            taker_fee_rate (float64; 1 = 100 %): taker fee before volume discounts
            funding_interval (Int64; seconds): time between funding settlements
            margin_table (Int64): number of its margin table
            only_isolated (boolean): true where cross margin is not offered
            product_type (string): perpetual
            base_currency (string): what one contract is
            quote_currency (string): what prices are in
            settle_currency (string): what profit is paid in
            currency_code (Int64): number of the settlement currency

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/public/product-meta.
        """
    async def product(self, symbol: str | int, *, exact: bool = False) -> pd.DataFrame:
        """One product with its limits, margin table and fees, as a DataFrame.

        symbol: only this product (symbol or code)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            symbol (string): product symbol
            code (Int64): numeric product code used by orders
            name (string): name of the product
            list_status (string): listed while orders are taken
            tick_size (float64; USDC): minimum price increment
            step_size (float64; contracts of 1 base unit): minimum quantity increment
            price_precision (Int64; decimals): display and input precision of prices
            quantity_precision (Int64; decimals): display and input precision of quantities
            min_order_value (float64; USDC): minimum order notional
            max_order_quantity (float64; contracts of 1 base unit): largest quantity of one order
            max_position_notional (float64; USDC): largest position notional
            max_leverage (float64; x): current maximum leverage
            max_slippage (float64; 1 = 100 %): largest slippage of a market order
            maker_fee_rate (float64; 1 = 100 %): maker fee before volume discounts
            taker_fee_rate (float64; 1 = 100 %): taker fee before volume discounts
            funding_interval (Int64; seconds): time between funding settlements
            margin_table (Int64): number of its margin table
            only_isolated (boolean): true where cross margin is not offered
            product_type (string): perpetual
            base_currency (string): what one contract is
            quote_currency (string): what prices are in
            settle_currency (string): what profit is paid in
            currency_code (Int64): number of the settlement currency

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/single.
        """
    async def wallet(
        self,
        *,
        account: str | None = None,
        currency: int | None = None,
        include_zero: bool = False,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Balances and equity of an account, as a DataFrame.

        account: whose data (default: the session's account)
        currency: only this currency, 1 is USDC (a whole number from 0)
        include_zero: also currencies with a balance of zero (true or false)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): the account
            currency (string): USDC
            balance (float64; USDC): cash, without the margins of isolated positions
            available (float64; USDC): free for new positions
            withdrawable (float64; USDC): free to withdraw
            equity (float64; USDC): balance, isolated margins and unrealised profit
            status (string; enum name): NORMAL, or LIQUIDATING while the ladder runs
            block (Int64): block of the last change
            time (datetime64[ms, UTC]; UTC): time of that block

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/account/wallet.
        """
    async def ledger(
        self,
        *,
        account: str | None = None,
        currency: int | None = None,
        kind: str | None = None,
        tx_hash: str | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Every change of an account's balance, as a DataFrame.

        account: whose data (default: the session's account)
        currency: only this currency, 1 is USDC (a whole number from 0)
        kind: only this business type, e.g. DEPOSIT, TRADING_FEE, FUNDING (text of 1 to 128 characters)
        tx_hash: only entries of this transaction (0x and 64 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): number of the entry
            time (datetime64[ms, UTC]; UTC): when
            kind (string): business type, e.g. DEPOSIT, TRADING_FEE, REALIZED_PNL, FUNDING
            amount (float64; USDC): change (negative: paid)
            balance (float64; USDC): balance after it
            symbol (string; symbol): product, where it belongs to one
            reference (string): what it belongs to: order, vault, destination …
            counterparty (string): the other side; none for money from outside and for isolated margin
            currency (string): USDC
            tx_hash (string): transaction
            block (Int64): block
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/account/ledger.
        """
    async def agents(
        self,
        *,
        account: str | None = None,
        role: Literal["MASTER", "AGENT"] | None = None,
        status: Literal["ACTIVE", "REVOKED"] | int | None = None,
        agent: str | None = None,
        master: str | None = None,
        page: int = 1,
        page_size: int = 20,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Agent wallets of an account, or the masters of an agent, as a DataFrame.

        account: whose data (default: the session's account)
        role: whether the account is the master (default) or the agent (one of MASTER, AGENT)
        status: only this status (one of ACTIVE, REVOKED)
        agent: only this agent wallet (0x and 40 hex digits)
        master: only agents of this master (0x and 40 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): number of the approval
            name (string): name it was approved under
            agent (string): the agent wallet
            master (string): the account it acts for
            status (string; enum name): ACTIVE or REVOKED
            permission (string): what it may do
            approved_at (datetime64[ms, UTC]; UTC): time of the approval
            approved_block (Int64): its block
            approval_tx (string): its transaction
            expires_at (datetime64[ms, UTC]; UTC): end of its validity
            revoked_at (datetime64[ms, UTC]; UTC): time of the revocation
            revoked_block (Int64): its block
            revoke_tx (string): its transaction

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/account/agent.
        """
    async def agent(self, agent_name: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """The active agent of an account under one name, as a DataFrame.

        account: whose data (default: the session's account)
        agent_name: name the agent was approved under (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            id (string): number of the approval
            name (string): name it was approved under
            agent (string): the agent wallet
            master (string): the account it acts for
            status (string; enum name): ACTIVE or REVOKED
            permission (string): what it may do
            approved_at (datetime64[ms, UTC]; UTC): time of the approval
            approved_block (Int64): its block
            approval_tx (string): its transaction
            expires_at (datetime64[ms, UTC]; UTC): end of its validity
            revoked_at (datetime64[ms, UTC]; UTC): time of the revocation
            revoked_block (Int64): its block
            revoke_tx (string): its transaction

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/account/agent/active.
        """
    async def order_states(
        self,
        *,
        account: str | None = None,
        symbol: str | int | None = None,
        status: Literal["NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"]
        | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        type: Literal[
            "LIMIT",
            "MARKET",
            "MARKET_LIQ_SELLOFF",
            "LIMIT_LIQ_SELLOFF",
            "STOP_LIMIT",
            "STOP_MARKET",
            "TAKE_PROFIT_LIMIT",
            "TAKE_PROFIT_MARKET",
            "ADL",
            "LIQUIDATION",
        ]
        | int
        | None = None,
        order_id: int | None = None,
        client_order_id: int | None = None,
        parent_order_id: int | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Latest state of each order of an account, as a DataFrame.

        account: whose data (default: the session's account)
        symbol: only this product (symbol or code)
        status: only this status; waiting triggers are not in NEW (one of NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        type: only this order type (one of LIMIT, MARKET, MARKET_LIQ_SELLOFF, LIMIT_LIQ_SELLOFF, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET, ADL, LIQUIDATION)
        order_id: only this order (a whole number from 0)
        client_order_id: only this client order id (a whole number from -9223372036854775808)
        parent_order_id: only children of this order (a whole number from 0)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            order_id (Int64): number the venue gave
            client_order_id (Int64): number the client gave
            parent_order_id (Int64): main order of a bracket
            symbol (string; symbol): product
            side (string; enum name): BUY, SELL or a hedge close
            type (string; enum name): LIMIT, MARKET …
            status (string; enum name): NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED
            price (float64; USDC): limit price, 0 for market orders
            quantity (float64; contracts of 1 base unit): ordered
            filled (float64; contracts of 1 base unit): filled so far
            remaining (float64; contracts of 1 base unit): still open
            filled_value (float64; USDC): sum of price × quantity of its fills
            fee (float64; USDC): fees paid (negative: received)
            trigger_price (float64; USDC): 0 where there is no trigger
            trigger_type (string; enum name): price that triggers it
            tif (string; enum name): GTC, IOC, FOK or POST_ONLY
            reduce_only (string; enum name): NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
            created (datetime64[ms, UTC]; UTC): time of placement
            time (datetime64[ms, UTC]; UTC): time of the last change
            block (Int64): block of the last change
            account (string): the account
            id (string): number of the row

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/order/states.
        """
    async def order_events(
        self,
        *,
        account: str | None = None,
        order_id: int | None = None,
        client_order_id: int | None = None,
        symbol: str | int | None = None,
        status: Literal["NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"]
        | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Every step of every order of an account, as a DataFrame.

        account: whose data (default: the session's account)
        order_id: only this order (a whole number from 0)
        client_order_id: only this client order id (a whole number from -9223372036854775808)
        symbol: only this product (symbol or code)
        status: only this step (one of NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): number of the event
            time (datetime64[ms, UTC]; UTC): when
            order_id (Int64): number the venue gave
            client_order_id (Int64): number the client gave
            symbol (string; symbol): product
            side (string; enum name): BUY, SELL or a hedge close
            type (string; enum name): LIMIT, MARKET, LIQUIDATION, ADL …
            status (string; enum name): what the step made of the order
            price (float64; USDC): limit price, 0 for market orders
            quantity (float64; contracts of 1 base unit): ordered
            fill_price (float64; USDC): price of this fill
            fill_quantity (float64; contracts of 1 base unit): quantity of this fill
            remaining (float64; contracts of 1 base unit): still open
            exec_id (Int64): number of the trade, 0 where it is no fill
            realized_pnl (float64; USDC): profit this fill realised
            open_fee (float64; USDC): fee on the part that opened
            close_fee (float64; USDC): fee on the part that closed
            trigger_price (float64; USDC): 0 where there is no trigger
            tif (string; enum name): GTC, IOC, FOK or POST_ONLY
            reason (string): why it was cancelled or rejected
            tx_hash (string): transaction
            block (Int64): block
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/order/events.
        """
    async def positions(
        self,
        *,
        account: str | None = None,
        symbol: str | int | None = None,
        position_mode: Literal["ONE_WAY", "HEDGE"] | int | None = None,
        include_zero: bool = False,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Positions of an account, as a DataFrame.

        account: whose data (default: the session's account)
        symbol: only this product (symbol or code)
        position_mode: only positions kept in this mode (one of ONE_WAY, HEDGE)
        include_zero: also positions of size zero (true or false)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string; symbol): product
            long_size (float64; contracts of 1 base unit): size of the long half
            short_size (float64; contracts of 1 base unit): size of the short half
            long_entry_value (float64; USDC): sum paid for the long half
            short_entry_value (float64; USDC): sum received for the short half
            leverage (float64; x): leverage that is set
            position_mode (string; enum name): ONE_WAY or HEDGE
            margin_mode (string; enum name): CROSS or ISOLATED
            assigned_margin (float64; USDC): isolated margin
            mark_price (float64; USDC): mark price
            unrealized_pnl (float64; USDC): profit at mark price
            realized_pnl (float64; USDC): profit realised so far
            fees (float64; USDC): trading fees paid so far
            created (datetime64[ms, UTC]; UTC): first opened
            time (datetime64[ms, UTC]; UTC): last change
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/position/list.
        """
    async def trades(
        self,
        *,
        account: str | None = None,
        symbol: str | int | None = None,
        order_id: int | None = None,
        exec_id: int | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        role: Literal["MAKER", "TAKER"] | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Fills of an account, as a DataFrame.

        account: whose data (default: the session's account)
        symbol: only this product (symbol or code)
        order_id: only fills of this order (a whole number from 0)
        exec_id: only this execution (a whole number from 0)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        role: only fills as maker or as taker (one of MAKER, TAKER)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): number of the row
            time (datetime64[ms, UTC]; UTC): when
            symbol (string; symbol): product
            side (string; enum name): BUY, SELL or a hedge close
            price (float64; USDC): price of the fill
            quantity (float64; contracts of 1 base unit): quantity of the fill
            order_id (Int64): number the venue gave
            client_order_id (Int64): number the client gave
            exec_id (Int64): number of the trade, the same for both sides
            role (string): MAKER or TAKER
            type (string; enum name): LIMIT, MARKET, LIQUIDATION, ADL …
            status (string; enum name): what the fill made of the order
            order_price (float64; USDC): limit price, 0 for market orders
            remaining (float64; contracts of 1 base unit): still open
            realized_pnl (float64; USDC): profit this fill realised
            open_fee (float64; USDC): fee on the part that opened
            close_fee (float64; USDC): fee on the part that closed
            builder_fee (float64; USDC): fee paid to a builder
            tx_hash (string): transaction
            block (Int64): block
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/trade/page.
        """
    async def klines_last(
        self, symbol: str | int, interval: int | str | timedelta, *, limit: int = 100, exact: bool = False
    ) -> pd.DataFrame:
        """The latest candles of a product, as a DataFrame.

        symbol: the product (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        limit: most candles to return (a whole number from 1 to 1000)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): first price
            high (float64; USDC): highest price
            low (float64; USDC): lowest price
            close (float64; USDC): last price
            volume (float64; contracts of 1 base unit): traded
            turnover (float64; USDC): traded value
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/kline/last.
        """
    async def klines_before(
        self,
        symbol: str | int,
        interval: int | str | timedelta,
        *,
        before: int | str | date | datetime | None = None,
        limit: int = 100,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Candles that started before a time, as a DataFrame.

        symbol: the product (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        before: candles that start before this time (default: now) (ms since 1970, ISO text or a datetime; UTC without a zone)
        limit: most candles to return (a whole number from 1 to 1000)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): first price
            high (float64; USDC): highest price
            low (float64; USDC): lowest price
            close (float64; USDC): last price
            volume (float64; contracts of 1 base unit): traded
            turnover (float64; USDC): traded value
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/kline/before.
        """
    async def klines(
        self,
        symbol: str | int,
        interval: int | str | timedelta,
        start: int | str | date | datetime,
        end: int | str | date | datetime,
        *,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Candles of a product that start in a window, as a DataFrame.

        symbol: the product (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: oldest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): first price
            high (float64; USDC): highest price
            low (float64; USDC): lowest price
            close (float64; USDC): last price
            volume (float64; contracts of 1 base unit): traded
            turnover (float64; USDC): traded value
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/kline/list.
        """
    async def funding_rates(self, *, symbol: str | int | None = None, exact: bool = False) -> pd.DataFrame:
        """The running funding rate of each product, as a DataFrame.

        symbol: only this product (symbol or code)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string; symbol): product
            funding_rate (float64; per interval): rate if the interval ended now
            last_funding_rate (float64; per interval): rate settled last
            funding_interval (Int64; seconds): time between settlements
            next_funding_time (datetime64[ms, UTC]; UTC): next settlement
            mark_price (float64; USDC): mark price
            oracle_price (float64; USDC): index price
            premium (float64; 1 = 100 %): time-weighted mean premium of the interval so far
            time (datetime64[ms, UTC]; UTC): time of the answer

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/fundingRate/current.
        """
    async def funding_rate_history(
        self,
        symbol: str | int,
        *,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Settled funding rates of a product, as a DataFrame.

        symbol: only this product (symbol or code)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): time of the settlement
            symbol (string; symbol): product
            funding_rate (float64; per interval): longs pay a positive rate
            premium (float64; 1 = 100 %): time-weighted mean premium of the interval
            mark_price (float64; USDC): mark price it was settled at
            oracle_price (float64; USDC): index price
            funding_interval (Int64; seconds): length of the interval

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/fundingRate/history.
        """
    async def funding_payments(
        self,
        *,
        account: str | None = None,
        symbol: str | int | None = None,
        page: int = 1,
        page_size: int = 20,
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Funding that an account paid and received, as a DataFrame.

        account: whose data (default: the session's account)
        symbol: only this product (symbol or code)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): number of the payment
            time (datetime64[ms, UTC]; UTC): time of the settlement
            symbol (string; symbol): product
            side (string; enum name): LONG or SHORT
            size (float64; contracts of 1 base unit): size of the position
            funding_rate (float64; per interval): longs pay a positive rate
            amount (float64; USDC): negative: paid
            tx_hash (string): transaction
            account (string): the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/funding/history.
        """
    async def vault(self, vault: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """One vault, and a user's part in it, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        account: whose deposits to show (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name
            owner (string): leader
            tvl (float64; USDC): total value
            price (float64; per share): net asset value of a share
            apr (float64; a year): return over the last 30 days, per year
            status (string): OPEN or CLOSED
            deposits (float64; USDC): what the user paid in
            current_value (float64; USDC): what the user's shares are worth
            description (string): the leader's words
            total_shares (float64; shares): all shares
            parent (string): parent of a sub-vault
            created (datetime64[ms, UTC]; UTC): when it was created

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/detail.
        """
    async def vaults(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """All vaults, as a DataFrame.

        account: whose deposits to show (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name
            owner (string): leader
            tvl (float64; USDC): total value
            price (float64; per share): net asset value of a share
            apr (float64; a year): return over the last 30 days, per year
            status (string): OPEN or CLOSED
            deposits (float64; USDC): what the user paid in
            current_value (float64; USDC): what the user's shares are worth
            description (string): the leader's words
            total_shares (float64; shares): all shares
            parent (string): parent of a sub-vault
            created (datetime64[ms, UTC]; UTC): when it was created

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/list.
        """
    async def user_vaults(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """The vaults a user has shares of, as a DataFrame.

        account: the depositor (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name
            account (string): the depositor
            shares (float64; shares): shares held
            deposits (float64; USDC): what they cost
            current_value (float64; USDC): what they are worth
            pnl (float64; USDC): difference
            price (float64; per share): net asset value of a share
            locked_until (datetime64[ms, UTC]; UTC): earliest withdrawal
            status (string): OPEN or CLOSED

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/user-list.
        """
    async def vault_user(self, vault: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """A user's shares of one vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        account: the depositor (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name
            account (string): the depositor
            shares (float64; shares): shares held
            deposits (float64; USDC): what they cost
            current_value (float64; USDC): what they are worth
            pnl (float64; USDC): difference
            price (float64; per share): net asset value of a share
            locked_until (datetime64[ms, UTC]; UTC): earliest withdrawal
            status (string): OPEN or CLOSED

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/user.
        """
    async def vault_history(
        self,
        vault: str,
        *,
        kind: Literal["tvl", "pnl"] = "tvl",
        interval: Literal["24h", "7d", "30d", "all-time"] = "7d",
        exact: bool = False,
    ) -> pd.DataFrame:
        """Total value or profit of a vault over time, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        kind: total value or profit and loss (one of tvl, pnl)
        interval: how far back (one of 24h, 7d, 30d, all-time)
        exact: amounts as Decimal instead of float64

        Rows: oldest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): when
            value (float64; USDC): total value, or profit and loss

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/history.
        """
    async def vault_events(
        self, vault: str, *, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Deposits, withdrawals and other events of a vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): number of the event
            time (datetime64[ms, UTC]; UTC): when
            kind (string): CREATE, DEPOSIT, WITHDRAW, REBALANCE, UPDATE_OWNER, CLOSE …
            account (string): who
            amount (float64; USDC): money moved
            shares (float64; shares): shares made or ended
            price (float64; per share): net asset value of a share
            leader_fee (float64; USDC): leader's part of a withdrawn gain
            tx_hash (string): transaction
            vault (string): address of the vault

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/events.
        """
    async def vault_depositors(self, vault: str, *, exact: bool = False) -> pd.DataFrame:
        """Who has shares of a vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        exact: amounts as Decimal instead of float64

        Rows: largest first. Columns (dtype; unit):
            account (string): the depositor
            shares (float64; shares): shares held
            share (float64; 1 = 100 %): part of all shares
            deposits (float64; USDC): what they cost
            current_value (float64; USDC): what they are worth
            pnl (float64; USDC): difference
            joined (datetime64[ms, UTC]; UTC): first deposit
            vault (string): address of the vault

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/vault/depositors.
        """
    async def referral_code(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """An account's referral code, and who invited it, as a DataFrame.

        account: whose data (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): the account
            code (string): code to give to others
            inviter (string): who invited the account
            inviter_code (string): with which code
            bound_at (datetime64[ms, UTC]; UTC): when

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/code.
        """
    async def referral_summary(
        self,
        *,
        account: str | None = None,
        period: Literal["24h", "7d", "30d", "all-time"] = "all-time",
        start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """What an account's invitations brought in a period, as a DataFrame.

        account: whose data (default: the session's account)
        period: how far back (one of 24h, 7d, 30d, all-time)
        start: from this time on (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: up to this time, included (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): the account
            period (string): 24h, 7d, 30d or all-time
            invitees (Int64): accounts invited
            second_tier_invitees (Int64): accounts those invited
            volume (float64; USDC): what they traded
            fees (float64; USDC): fees they paid
            reward (float64; USDC): rewards of the first tier
            second_tier_reward (float64; USDC): rewards of the second tier
            total_reward (float64; USDC): both
            reward_rate (float64; 1 = 100 %): present rate of the first tier

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/summary.
        """
    async def referrals(
        self,
        *,
        account: str | None = None,
        page: int = 1,
        page_size: int = 20,
        sort_by: Literal["joinTime", "volume", "fees", "reward"] = "joinTime",
        sort_order: Literal["asc", "desc"] = "desc",
        search: str | None = None,
        exact: bool = False,
    ) -> pd.DataFrame:
        """The accounts that an account invited, as a DataFrame.

        account: whose data (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        sort_by: sort key (one of joinTime, volume, fees, reward)
        sort_order: sort direction (one of asc, desc)
        search: only invitees whose address contains this text (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): the invitee
            joined (datetime64[ms, UTC]; UTC): when it was bound
            volume (float64; USDC): what it traded
            fees (float64; USDC): fees it paid
            reward (float64; USDC): what that brought the inviter
            invitees (Int64): accounts it invited itself

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/referrals.
        """
    async def referral_payouts(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Referral rewards that were paid to an account, as a DataFrame.

        account: whose data (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): number of the payout
            time (datetime64[ms, UTC]; UTC): when
            amount (float64; USDC): reward
            tier (Int64): 1 for own invitees, 2 for theirs
            account (string): who was paid
            source (string): whose fee it is a part of
            tx_hash (string): transaction

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/payouts.
        """
    async def referral_tiers(self, *, exact: bool = False) -> pd.DataFrame:
        """Reward rates by network volume, as a DataFrame.

        exact: amounts as Decimal instead of float64

        Rows: by volume. Columns (dtype; unit):
            tier (Int64): number of the tier
            min_volume (float64; USDC): network volume of 30 days it begins at
            reward_rate (float64; 1 = 100 %): part of the invitees' fees
            second_tier_rate (float64; 1 = 100 %): part of the fees of accounts those invited

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/referral/tiers.
        """
    async def builder_agents(
        self,
        *,
        builder: str | None = None,
        wallet: str | None = None,
        agent: str | None = None,
        approve_state: Literal["APPROVED", "REVOKED"] = "APPROVED",
        include_expired: bool = False,
        page: int = 1,
        page_size: int = 20,
        exact: bool = False,
    ) -> pd.DataFrame:
        """Agent wallets authorised to a builder, as a DataFrame.

        builder: the builder's master wallet (required, or wallet is [L]) (default: the session's account)
        wallet: only this trader (0x and 40 hex digits)
        agent: only this agent wallet (0x and 40 hex digits)
        approve_state: only this state (one of APPROVED, REVOKED)
        include_expired: also authorisations past their expiry (true or false)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 100)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            wallet (string): the trader
            agent (string): the authorised agent wallet
            builder (string): the builder's master wallet
            max_fee_rate (float64; 1 = 100 %): fee cap of the authorisation
            expires_at (datetime64[ms, UTC]; UTC): end of its validity
            approve_state (string): APPROVED or REVOKED
            expired (boolean): true past its validity

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/builder/agents.
        """
    async def transactions(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Transactions of a user, as a DataFrame.

        account: the account or vault they acted for (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            tx_hash (string): hash
            block (Int64): block
            time (datetime64[ms, UTC]; UTC): when
            action (string): type of the action
            account (string): account it acted for
            signer (string): who signed
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the number of the reason
            message (string): the reason in words

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/explore/transaction/page.
        """
    async def transaction(self, tx_hash: str, *, exact: bool = False) -> pd.DataFrame:
        """One transaction, as a DataFrame.

        tx_hash: hash of the transaction (0x and 64 hex digits)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            tx_hash (string): hash
            block (Int64): block
            time (datetime64[ms, UTC]; UTC): when
            action (string): type of the action
            account (string): account it acted for
            signer (string): who signed
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the number of the reason
            message (string): the reason in words

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/explore/transaction/detail.
        """
    async def block(self, height: int, *, page: int = 1, page_size: int = 20, exact: bool = False) -> pd.DataFrame:
        """One block with its transactions, as a DataFrame.

        height: height of the block (a whole number from 0)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            tx_hash (string): hash
            block (Int64): block
            time (datetime64[ms, UTC]; UTC): when
            action (string): type of the action
            account (string): account it acted for
            signer (string): who signed
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the number of the reason
            message (string): the reason in words

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: venue-facts, "Info API": GET /info/explore/block/detail.
        """
    def __repr__(self) -> str: ...
