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
            symbol (string): product symbol, such as BTCUSDC
            code (Int64): product code, used in orders
            name (string): display name of the product
            list_status (string): `listed` while the venue accepts orders
            tick_size (float64; USDC): minimum price increment
            step_size (float64; contracts of 1 base unit): minimum quantity increment
            price_precision (Int64; decimals): display and input precision of prices
            quantity_precision (Int64; decimals): display and input precision of quantities
            min_order_value (float64; USDC): smallest notional of an order that may open a position
            max_order_quantity (float64; contracts of 1 base unit): largest quantity of one order
            max_position_notional (float64; USDC): largest notional of a position with its open orders
            max_leverage (float64; x): highest leverage that can be set
            max_slippage (float64; 1 = 100 %): largest slippage of a market order
            maker_fee_rate (float64; 1 = 100 %): maker fee rate before volume discounts
            taker_fee_rate (float64; 1 = 100 %): taker fee rate before volume discounts
            funding_interval (Int64; seconds): time between funding settlements
            margin_table (Int64): number of the product's margin table
            only_isolated (boolean): true if the product has isolated margin only
            product_type (string): kind of product; always perpetual
            base_currency (string): currency of the quantity
            quote_currency (string): currency of prices
            settle_currency (string): currency in which profit and fees are settled
            currency_code (Int64): number of the settlement currency; 1 is USDC

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/public/product-meta.
        """
    def product(self, symbol: str | int, *, exact: bool = False) -> pd.DataFrame:
        """One product with its limits, margin table and fees, as a DataFrame.

        symbol: only this product (symbol or code)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            symbol (string): product symbol, such as BTCUSDC
            code (Int64): product code, used in orders
            name (string): display name of the product
            list_status (string): `listed` while the venue accepts orders
            tick_size (float64; USDC): minimum price increment
            step_size (float64; contracts of 1 base unit): minimum quantity increment
            price_precision (Int64; decimals): display and input precision of prices
            quantity_precision (Int64; decimals): display and input precision of quantities
            min_order_value (float64; USDC): smallest notional of an order that may open a position
            max_order_quantity (float64; contracts of 1 base unit): largest quantity of one order
            max_position_notional (float64; USDC): largest notional of a position with its open orders
            max_leverage (float64; x): highest leverage that can be set
            max_slippage (float64; 1 = 100 %): largest slippage of a market order
            maker_fee_rate (float64; 1 = 100 %): maker fee rate before volume discounts
            taker_fee_rate (float64; 1 = 100 %): taker fee rate before volume discounts
            funding_interval (Int64; seconds): time between funding settlements
            margin_table (Int64): number of the product's margin table
            only_isolated (boolean): true if the product has isolated margin only
            product_type (string): kind of product; always perpetual
            base_currency (string): currency of the quantity
            quote_currency (string): currency of prices
            settle_currency (string): currency in which profit and fees are settled
            currency_code (Int64): number of the settlement currency; 1 is USDC

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/single.
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

        account: account to read (default: the session's account)
        currency: only this currency, 1 is USDC (a whole number from 0)
        include_zero: include currencies with a balance of zero (true or false)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): address of the account
            currency (string): currency of the balance; always USDC
            balance (float64; USDC): cash balance, without the margin of isolated positions
            available (float64; USDC): margin available for new positions and orders
            withdrawable (float64; USDC): amount that can be withdrawn
            equity (float64; USDC): balance + isolated margins + unrealised PnL
            status (string; enum name): NORMAL, or LIQUIDATING while the account is being liquidated
            block (Int64): block height of the last change
            time (datetime64[ms, UTC]; UTC): time of the last change

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/account/wallet.
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

        account: account to read (default: the session's account)
        currency: only this currency, 1 is USDC (a whole number from 0)
        kind: only this business type, e.g. DEPOSIT, TRADING_FEE, FUNDING (text of 1 to 128 characters)
        tx_hash: only entries of this transaction (0x and 64 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): id of the entry
            time (datetime64[ms, UTC]; UTC): time of the change
            kind (string): kind of change, such as DEPOSIT, TRADING_FEE, REALIZED_PNL or FUNDING
            amount (float64; USDC): change of the balance; negative if paid
            balance (float64; USDC): balance after the change
            symbol (string; symbol): product symbol; missing if the change belongs to no product
            reference (string): id or address that the change belongs to: order, vault, destination, …
            counterparty (string): other account; missing for deposits, withdrawals and isolated margin
            currency (string): currency of the balance; always USDC
            tx_hash (string): hash of the transaction
            block (Int64): block height
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/account/ledger.
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
        """Agent wallets of an account, or masters of an agent wallet, as a DataFrame.

        account: account to read (default: the session's account)
        role: whether the account is the master (default) or the agent (one of MASTER, AGENT)
        status: only this status (one of ACTIVE, REVOKED)
        agent: only this agent wallet (0x and 40 hex digits)
        master: only agents of this master (0x and 40 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): id of the approval
            name (string): name under which the agent was approved
            agent (string): address of the agent wallet
            master (string): address of the account that the agent acts for
            status (string; enum name): status of the approval: ACTIVE or REVOKED
            permission (string): permission of the agent
            approved_at (datetime64[ms, UTC]; UTC): time of the approval
            approved_block (Int64): block height of the approval
            approval_tx (string): hash of the transaction of the approval
            expires_at (datetime64[ms, UTC]; UTC): time at which the approval expires [L]
            revoked_at (datetime64[ms, UTC]; UTC): time of the revocation
            revoked_block (Int64): block height of the revocation
            revoke_tx (string): hash of the transaction of the revocation

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/account/agent.
        """
    def agent(self, agent_name: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """The active agent of an account with a given name, as a DataFrame.

        account: account to read (default: the session's account)
        agent_name: name under which the agent was approved (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            id (string): id of the approval
            name (string): name under which the agent was approved
            agent (string): address of the agent wallet
            master (string): address of the account that the agent acts for
            status (string; enum name): status of the approval: ACTIVE or REVOKED
            permission (string): permission of the agent
            approved_at (datetime64[ms, UTC]; UTC): time of the approval
            approved_block (Int64): block height of the approval
            approval_tx (string): hash of the transaction of the approval
            expires_at (datetime64[ms, UTC]; UTC): time at which the approval expires [L]
            revoked_at (datetime64[ms, UTC]; UTC): time of the revocation
            revoked_block (Int64): block height of the revocation
            revoke_tx (string): hash of the transaction of the revocation

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/account/agent/active.
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

        account: account to read (default: the session's account)
        symbol: only this product (symbol or code)
        status: only this status; untriggered conditional orders are not NEW (one of NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        type: only this order type (one of LIMIT, MARKET, MARKET_LIQ_SELLOFF, LIMIT_LIQ_SELLOFF, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET, ADL, LIQUIDATION)
        order_id: only this order (a whole number from 0)
        client_order_id: only this client order id (a whole number from -9223372036854775808)
        parent_order_id: only children of this order (a whole number from 0)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            order_id (Int64): order id, assigned by the venue
            client_order_id (Int64): client order id, chosen by the client; 0 without one
            parent_order_id (Int64): order id of the bracket's main order; 0 without one
            symbol (string; symbol): product symbol
            side (string; enum name): BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            type (string; enum name): order type: LIMIT, MARKET or a builder order's conditional type
            status (string; enum name): NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED
            price (float64; USDC): limit price; 0 for a market order
            quantity (float64; contracts of 1 base unit): ordered quantity
            filled (float64; contracts of 1 base unit): quantity filled so far
            remaining (float64; contracts of 1 base unit): quantity that is still open
            filled_value (float64; USDC): sum of price × quantity over all fills
            fee (float64; USDC): sum of trading fees paid; negative if received
            trigger_price (float64; USDC): trigger price; 0 without a trigger
            trigger_type (string; enum name): trigger source: LAST_PRICE, MARK_PRICE or INDEX_PRICE
            tif (string; enum name): time in force: GTC, IOC, FOK or POST_ONLY
            reduce_only (string; enum name): NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
            created (datetime64[ms, UTC]; UTC): time at which the order was placed [L]
            time (datetime64[ms, UTC]; UTC): time of the last change
            block (Int64): block height of the last change
            account (string): address of the account
            id (string): id of the record

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/order/states.
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
        """Every event in the life of an account's orders, as a DataFrame.

        account: account to read (default: the session's account)
        order_id: only this order (a whole number from 0)
        client_order_id: only this client order id (a whole number from -9223372036854775808)
        symbol: only this product (symbol or code)
        status: only events with this status (one of NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): id of the event
            time (datetime64[ms, UTC]; UTC): time of the event
            order_id (Int64): order id, assigned by the venue
            client_order_id (Int64): client order id, chosen by the client; 0 without one
            symbol (string; symbol): product symbol
            side (string; enum name): BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            type (string; enum name): order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type
            status (string; enum name): status of the order after this event
            price (float64; USDC): limit price; 0 for a market order
            quantity (float64; contracts of 1 base unit): ordered quantity
            fill_price (float64; USDC): price of this fill
            fill_quantity (float64; contracts of 1 base unit): quantity of this fill
            remaining (float64; contracts of 1 base unit): quantity that is still open
            exec_id (Int64): id of the trade; 0 if the event is not a fill
            realized_pnl (float64; USDC): PnL realised by this fill, before fees
            open_fee (float64; USDC): fee for the part that opened a position
            close_fee (float64; USDC): fee for the part that closed a position
            trigger_price (float64; USDC): trigger price; 0 without a trigger
            tif (string; enum name): time in force: GTC, IOC, FOK or POST_ONLY
            reason (string): reason of a cancellation or rejection, in words [L]
            tx_hash (string): hash of the transaction
            block (Int64): block height
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/order/events.
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

        account: account to read (default: the session's account)
        symbol: only this product (symbol or code)
        position_mode: only positions in this position mode (one of ONE_WAY, HEDGE)
        include_zero: include positions of size zero (true or false)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string; symbol): product symbol
            long_size (float64; contracts of 1 base unit): size of the long position
            short_size (float64; contracts of 1 base unit): size of the short position, as a positive number
            long_entry_value (float64; USDC): entry price × size of the long position
            short_entry_value (float64; USDC): entry price × size of the short position
            leverage (float64; x): leverage setting of the product
            position_mode (string; enum name): position mode of the account: ONE_WAY or HEDGE
            margin_mode (string; enum name): margin mode of the position: CROSS or ISOLATED
            assigned_margin (float64; USDC): margin assigned to an isolated position
            mark_price (float64; USDC): mark price
            unrealized_pnl (float64; USDC): unrealised PnL at mark price
            realized_pnl (float64; USDC): PnL realised so far, before fees
            fees (float64; USDC): sum of trading fees paid so far
            created (datetime64[ms, UTC]; UTC): time at which the position was first opened
            time (datetime64[ms, UTC]; UTC): time of the last change
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/position/list.
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

        account: account to read (default: the session's account)
        symbol: only this product (symbol or code)
        order_id: only fills of this order (a whole number from 0)
        exec_id: only this execution (a whole number from 0)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        role: only fills as maker or as taker (one of MAKER, TAKER)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): id of the record
            time (datetime64[ms, UTC]; UTC): time of the fill
            symbol (string; symbol): product symbol
            side (string; enum name): BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            price (float64; USDC): price of the fill
            quantity (float64; contracts of 1 base unit): quantity of the fill
            order_id (Int64): order id, assigned by the venue
            client_order_id (Int64): client order id, chosen by the client; 0 without one
            exec_id (Int64): id of the trade, the same for maker and taker
            role (string): MAKER or TAKER [L]
            type (string; enum name): order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type [L]
            status (string; enum name): status of the order after this fill
            order_price (float64; USDC): limit price; 0 for a market order
            remaining (float64; contracts of 1 base unit): quantity that is still open
            realized_pnl (float64; USDC): PnL realised by this fill, before fees
            open_fee (float64; USDC): fee for the part that opened a position
            close_fee (float64; USDC): fee for the part that closed a position
            builder_fee (float64; USDC): fee paid to the builder of the order [L]
            tx_hash (string): hash of the transaction
            block (Int64): block height
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/trade/page.
        """
    def klines_last(
        self, symbol: str | int, interval: int | str | timedelta, *, limit: int = 100, exact: bool = False
    ) -> pd.DataFrame:
        """The latest candles of a product, as a DataFrame.

        symbol: product to read (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        limit: most candles to return (a whole number from 1 to 1000)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): price of the first trade
            high (float64; USDC): highest price traded
            low (float64; USDC): lowest price traded
            close (float64; USDC): price of the last trade
            volume (float64; contracts of 1 base unit): traded quantity
            turnover (float64; USDC): traded value: sum of price × quantity
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product symbol

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/kline/last.
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

        symbol: product to read (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        before: candles that start before this time (default: now) (ms since 1970, ISO text or a datetime; UTC without a zone)
        limit: most candles to return (a whole number from 1 to 1000)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): price of the first trade
            high (float64; USDC): highest price traded
            low (float64; USDC): lowest price traded
            close (float64; USDC): price of the last trade
            volume (float64; contracts of 1 base unit): traded quantity
            turnover (float64; USDC): traded value: sum of price × quantity
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product symbol

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/kline/before.
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
        """Candles of a product that start in a time window, as a DataFrame.

        symbol: product to read (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: oldest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): price of the first trade
            high (float64; USDC): highest price traded
            low (float64; USDC): lowest price traded
            close (float64; USDC): price of the last trade
            volume (float64; contracts of 1 base unit): traded quantity
            turnover (float64; USDC): traded value: sum of price × quantity
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product symbol

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/kline/list.
        """
    def funding_rates(self, *, symbol: str | int | None = None, exact: bool = False) -> pd.DataFrame:
        """The current funding rate of each product, as a DataFrame.

        symbol: only this product (symbol or code)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string; symbol): product symbol
            funding_rate (float64; per interval): funding rate if the interval ended now
            last_funding_rate (float64; per interval): funding rate of the last settlement
            funding_interval (Int64; seconds): time between settlements
            next_funding_time (datetime64[ms, UTC]; UTC): time of the next settlement
            mark_price (float64; USDC): mark price
            oracle_price (float64; USDC): index price (oracle)
            premium (float64; 1 = 100 %): time-weighted mean premium of the interval so far
            time (datetime64[ms, UTC]; UTC): time of the response

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/fundingRate/current.
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
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): time of the settlement
            symbol (string; symbol): product symbol
            funding_rate (float64; per interval): funding rate; longs pay a positive rate, shorts receive it
            premium (float64; 1 = 100 %): time-weighted mean premium of the interval
            mark_price (float64; USDC): mark price used for the settlement
            oracle_price (float64; USDC): index price (oracle)
            funding_interval (Int64; seconds): length of the funding interval

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/fundingRate/history.
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
        """Funding payments of an account, as a DataFrame.

        account: account to read (default: the session's account)
        symbol: only this product (symbol or code)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): id of the payment
            time (datetime64[ms, UTC]; UTC): time of the settlement
            symbol (string; symbol): product symbol
            side (string; enum name): direction of the position: LONG or SHORT
            size (float64; contracts of 1 base unit): size of the position
            funding_rate (float64; per interval): funding rate; longs pay a positive rate, shorts receive it
            amount (float64; USDC): funding received; negative if paid
            tx_hash (string): hash of the transaction
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/funding/history.
        """
    def vault(self, vault: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """One vault, with the deposits of a user, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        account: account whose deposits are shown (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name of the vault
            owner (string): address of the owner (leader)
            tvl (float64; USDC): total value of the vault's assets
            price (float64; per share): net asset value of one share
            apr (float64; a year): annualised return of the last 30 days
            status (string): OPEN or CLOSED
            deposits (float64; USDC): sum that the user deposited for the shares held
            current_value (float64; USDC): current value of the user's shares
            description (string): description written by the owner [L]
            total_shares (float64; shares): number of shares of all depositors [L]
            parent (string): address of the parent vault; missing unless it is a sub-vault [L]
            created (datetime64[ms, UTC]; UTC): time of creation [L]

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/detail.
        """
    def vaults(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """All vaults, as a DataFrame.

        account: account whose deposits are shown (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name of the vault
            owner (string): address of the owner (leader)
            tvl (float64; USDC): total value of the vault's assets
            price (float64; per share): net asset value of one share
            apr (float64; a year): annualised return of the last 30 days
            status (string): OPEN or CLOSED
            deposits (float64; USDC): sum that the user deposited for the shares held
            current_value (float64; USDC): current value of the user's shares
            description (string): description written by the owner [L]
            total_shares (float64; shares): number of shares of all depositors [L]
            parent (string): address of the parent vault; missing unless it is a sub-vault [L]
            created (datetime64[ms, UTC]; UTC): time of creation [L]

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/list.
        """
    def user_vaults(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """Vaults in which a user has shares, as a DataFrame.

        account: account of the depositor (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name of the vault
            account (string): address of the depositor
            shares (float64; shares): number of shares held
            deposits (float64; USDC): sum deposited for the shares held
            current_value (float64; USDC): current value of the shares
            pnl (float64; USDC): current value − deposits
            price (float64; per share): net asset value of one share
            locked_until (datetime64[ms, UTC]; UTC): time from which the shares can be withdrawn
            status (string): OPEN or CLOSED

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/user-list.
        """
    def vault_user(self, vault: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """A user's shares of one vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        account: account of the depositor (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name of the vault
            account (string): address of the depositor
            shares (float64; shares): number of shares held
            deposits (float64; USDC): sum deposited for the shares held
            current_value (float64; USDC): current value of the shares
            pnl (float64; USDC): current value − deposits
            price (float64; per share): net asset value of one share
            locked_until (datetime64[ms, UTC]; UTC): time from which the shares can be withdrawn
            status (string): OPEN or CLOSED

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/user.
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
            time (datetime64[ms, UTC]; UTC): time of the value
            value (float64; USDC): total value of the vault, or its PnL

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/history.
        """
    def vault_events(self, vault: str, *, page: int = 1, page_size: int = 20, exact: bool = False) -> pd.DataFrame:
        """Deposits, withdrawals and other events of a vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): id of the event
            time (datetime64[ms, UTC]; UTC): time of the event
            kind (string): kind of event: CREATE, DEPOSIT, WITHDRAW, REBALANCE, UPDATE_OWNER, CLOSE, …
            account (string): address of the account that caused the event
            amount (float64; USDC): amount of USDC moved
            shares (float64; shares): number of shares issued or redeemed
            price (float64; per share): net asset value of one share
            leader_fee (float64; USDC): owner's share of a withdrawn profit
            tx_hash (string): hash of the transaction
            vault (string): address of the vault

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/events.
        """
    def vault_depositors(self, vault: str, *, exact: bool = False) -> pd.DataFrame:
        """Depositors of a vault with their shares, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        exact: amounts as Decimal instead of float64

        Rows: largest first. Columns (dtype; unit):
            account (string): address of the depositor
            shares (float64; shares): number of shares held
            share (float64; 1 = 100 %): fraction of all shares
            deposits (float64; USDC): sum deposited for the shares held
            current_value (float64; USDC): current value of the shares
            pnl (float64; USDC): current value − deposits
            joined (datetime64[ms, UTC]; UTC): time of the first deposit
            vault (string): address of the vault

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/depositors.
        """
    def referral_code(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """An account's referral code and inviter, as a DataFrame.

        account: account to read (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): address of the account
            code (string): referral code of the account
            inviter (string): address of the inviter; missing without one
            inviter_code (string): referral code that was used
            bound_at (datetime64[ms, UTC]; UTC): time of the invitation

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/code.
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
        """Volume, fees and rewards of an account's referrals in a period, as a DataFrame.

        account: account to read (default: the session's account)
        period: how far back (one of 24h, 7d, 30d, all-time)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): address of the account
            period (string): period of the summary: 24h, 7d, 30d or all-time
            invitees (Int64): number of accounts invited
            second_tier_invitees (Int64): number of accounts invited by the invitees
            volume (float64; USDC): traded value of the invitees
            fees (float64; USDC): trading fees of the invitees
            reward (float64; USDC): rewards for the invitees' fees
            second_tier_reward (float64; USDC): rewards for the fees of the accounts they invited
            total_reward (float64; USDC): sum of both rewards
            reward_rate (float64; 1 = 100 %): current reward rate: fraction of the invitees' fees

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/summary.
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

        account: account to read (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        sort_by: sort key (one of joinTime, volume, fees, reward)
        sort_order: sort direction (one of asc, desc)
        search: only invitees whose address contains this text (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): address of the invitee
            joined (datetime64[ms, UTC]; UTC): time at which the invitee joined
            volume (float64; USDC): traded value of the invitee
            fees (float64; USDC): trading fees of the invitee
            reward (float64; USDC): reward of the inviter
            invitees (Int64): number of accounts that the invitee invited

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/referrals.
        """
    def referral_payouts(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Referral rewards that were paid to an account, as a DataFrame.

        account: account to read (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): id of the payout
            time (datetime64[ms, UTC]; UTC): time of the payout
            amount (float64; USDC): reward paid
            tier (Int64): 1 for an invitee's fee, 2 for the fee of an account that an invitee invited
            account (string): address of the account that was paid
            source (string): address of the account whose fee is shared
            tx_hash (string): hash of the transaction

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/payouts.
        """
    def referral_tiers(self, *, exact: bool = False) -> pd.DataFrame:
        """Reward rates by network volume, as a DataFrame.

        exact: amounts as Decimal instead of float64

        Rows: by volume. Columns (dtype; unit):
            tier (Int64): number of the tier
            min_volume (float64; USDC): 30-day volume of the invitees from which the tier applies
            reward_rate (float64; 1 = 100 %): fraction of the invitees' fees
            second_tier_rate (float64; 1 = 100 %): fraction of the fees of accounts that the invitees invited

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/tiers.
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
        include_expired: include expired authorisations (true or false)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 100)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            wallet (string): address of the trader
            agent (string): address of the authorised agent wallet
            builder (string): address of the builder's master wallet
            max_fee_rate (float64; 1 = 100 %): highest fee rate that the trader authorised
            expires_at (datetime64[ms, UTC]; UTC): time at which the authorisation expires
            approve_state (string): APPROVED or REVOKED
            expired (boolean): true after the authorisation expired

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/builder/agents.
        """
    def transactions(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Transactions of a user, as a DataFrame.

        account: account or vault that the transactions were for (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            tx_hash (string): hash of the transaction
            block (Int64): block height
            time (datetime64[ms, UTC]; UTC): time of the transaction
            action (string): type of the action, such as placeOrder
            account (string): address of the account that the action was for
            signer (string): address of the signer
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the code of the failure
            message (string): message of the failure
            data (object): what the action returned, where its answer came before its execution

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/explore/transaction/page.
        """
    def transaction(self, tx_hash: str, *, exact: bool = False) -> pd.DataFrame:
        """One transaction, as a DataFrame.

        tx_hash: hash of the transaction (0x and 64 hex digits)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            tx_hash (string): hash of the transaction
            block (Int64): block height
            time (datetime64[ms, UTC]; UTC): time of the transaction
            action (string): type of the action, such as placeOrder
            account (string): address of the account that the action was for
            signer (string): address of the signer
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the code of the failure
            message (string): message of the failure
            data (object): what the action returned, where its answer came before its execution

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/explore/transaction/detail.
        """
    def block(self, height: int, *, page: int = 1, page_size: int = 20, exact: bool = False) -> pd.DataFrame:
        """One block with its transactions, as a DataFrame.

        height: height of the block (a whole number from 0)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            tx_hash (string): hash of the transaction
            block (Int64): block height
            time (datetime64[ms, UTC]; UTC): time of the transaction
            action (string): type of the action, such as placeOrder
            account (string): address of the account that the action was for
            signer (string): address of the signer
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the code of the failure
            message (string): message of the failure
            data (object): what the action returned, where its answer came before its execution

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/explore/block/detail.
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
            symbol (string): product symbol, such as BTCUSDC
            code (Int64): product code, used in orders
            name (string): display name of the product
            list_status (string): `listed` while the venue accepts orders
            tick_size (float64; USDC): minimum price increment
            step_size (float64; contracts of 1 base unit): minimum quantity increment
            price_precision (Int64; decimals): display and input precision of prices
            quantity_precision (Int64; decimals): display and input precision of quantities
            min_order_value (float64; USDC): smallest notional of an order that may open a position
            max_order_quantity (float64; contracts of 1 base unit): largest quantity of one order
            max_position_notional (float64; USDC): largest notional of a position with its open orders
            max_leverage (float64; x): highest leverage that can be set
            max_slippage (float64; 1 = 100 %): largest slippage of a market order
            maker_fee_rate (float64; 1 = 100 %): maker fee rate before volume discounts
            taker_fee_rate (float64; 1 = 100 %): taker fee rate before volume discounts
            funding_interval (Int64; seconds): time between funding settlements
            margin_table (Int64): number of the product's margin table
            only_isolated (boolean): true if the product has isolated margin only
            product_type (string): kind of product; always perpetual
            base_currency (string): currency of the quantity
            quote_currency (string): currency of prices
            settle_currency (string): currency in which profit and fees are settled
            currency_code (Int64): number of the settlement currency; 1 is USDC

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/public/product-meta.
        """
    async def product(self, symbol: str | int, *, exact: bool = False) -> pd.DataFrame:
        """One product with its limits, margin table and fees, as a DataFrame.

        symbol: only this product (symbol or code)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            symbol (string): product symbol, such as BTCUSDC
            code (Int64): product code, used in orders
            name (string): display name of the product
            list_status (string): `listed` while the venue accepts orders
            tick_size (float64; USDC): minimum price increment
            step_size (float64; contracts of 1 base unit): minimum quantity increment
            price_precision (Int64; decimals): display and input precision of prices
            quantity_precision (Int64; decimals): display and input precision of quantities
            min_order_value (float64; USDC): smallest notional of an order that may open a position
            max_order_quantity (float64; contracts of 1 base unit): largest quantity of one order
            max_position_notional (float64; USDC): largest notional of a position with its open orders
            max_leverage (float64; x): highest leverage that can be set
            max_slippage (float64; 1 = 100 %): largest slippage of a market order
            maker_fee_rate (float64; 1 = 100 %): maker fee rate before volume discounts
            taker_fee_rate (float64; 1 = 100 %): taker fee rate before volume discounts
            funding_interval (Int64; seconds): time between funding settlements
            margin_table (Int64): number of the product's margin table
            only_isolated (boolean): true if the product has isolated margin only
            product_type (string): kind of product; always perpetual
            base_currency (string): currency of the quantity
            quote_currency (string): currency of prices
            settle_currency (string): currency in which profit and fees are settled
            currency_code (Int64): number of the settlement currency; 1 is USDC

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/single.
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

        account: account to read (default: the session's account)
        currency: only this currency, 1 is USDC (a whole number from 0)
        include_zero: include currencies with a balance of zero (true or false)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): address of the account
            currency (string): currency of the balance; always USDC
            balance (float64; USDC): cash balance, without the margin of isolated positions
            available (float64; USDC): margin available for new positions and orders
            withdrawable (float64; USDC): amount that can be withdrawn
            equity (float64; USDC): balance + isolated margins + unrealised PnL
            status (string; enum name): NORMAL, or LIQUIDATING while the account is being liquidated
            block (Int64): block height of the last change
            time (datetime64[ms, UTC]; UTC): time of the last change

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/account/wallet.
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

        account: account to read (default: the session's account)
        currency: only this currency, 1 is USDC (a whole number from 0)
        kind: only this business type, e.g. DEPOSIT, TRADING_FEE, FUNDING (text of 1 to 128 characters)
        tx_hash: only entries of this transaction (0x and 64 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): id of the entry
            time (datetime64[ms, UTC]; UTC): time of the change
            kind (string): kind of change, such as DEPOSIT, TRADING_FEE, REALIZED_PNL or FUNDING
            amount (float64; USDC): change of the balance; negative if paid
            balance (float64; USDC): balance after the change
            symbol (string; symbol): product symbol; missing if the change belongs to no product
            reference (string): id or address that the change belongs to: order, vault, destination, …
            counterparty (string): other account; missing for deposits, withdrawals and isolated margin
            currency (string): currency of the balance; always USDC
            tx_hash (string): hash of the transaction
            block (Int64): block height
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/account/ledger.
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
        """Agent wallets of an account, or masters of an agent wallet, as a DataFrame.

        account: account to read (default: the session's account)
        role: whether the account is the master (default) or the agent (one of MASTER, AGENT)
        status: only this status (one of ACTIVE, REVOKED)
        agent: only this agent wallet (0x and 40 hex digits)
        master: only agents of this master (0x and 40 hex digits)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): id of the approval
            name (string): name under which the agent was approved
            agent (string): address of the agent wallet
            master (string): address of the account that the agent acts for
            status (string; enum name): status of the approval: ACTIVE or REVOKED
            permission (string): permission of the agent
            approved_at (datetime64[ms, UTC]; UTC): time of the approval
            approved_block (Int64): block height of the approval
            approval_tx (string): hash of the transaction of the approval
            expires_at (datetime64[ms, UTC]; UTC): time at which the approval expires [L]
            revoked_at (datetime64[ms, UTC]; UTC): time of the revocation
            revoked_block (Int64): block height of the revocation
            revoke_tx (string): hash of the transaction of the revocation

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/account/agent.
        """
    async def agent(self, agent_name: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """The active agent of an account with a given name, as a DataFrame.

        account: account to read (default: the session's account)
        agent_name: name under which the agent was approved (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            id (string): id of the approval
            name (string): name under which the agent was approved
            agent (string): address of the agent wallet
            master (string): address of the account that the agent acts for
            status (string; enum name): status of the approval: ACTIVE or REVOKED
            permission (string): permission of the agent
            approved_at (datetime64[ms, UTC]; UTC): time of the approval
            approved_block (Int64): block height of the approval
            approval_tx (string): hash of the transaction of the approval
            expires_at (datetime64[ms, UTC]; UTC): time at which the approval expires [L]
            revoked_at (datetime64[ms, UTC]; UTC): time of the revocation
            revoked_block (Int64): block height of the revocation
            revoke_tx (string): hash of the transaction of the revocation

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/account/agent/active.
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

        account: account to read (default: the session's account)
        symbol: only this product (symbol or code)
        status: only this status; untriggered conditional orders are not NEW (one of NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        type: only this order type (one of LIMIT, MARKET, MARKET_LIQ_SELLOFF, LIMIT_LIQ_SELLOFF, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET, ADL, LIQUIDATION)
        order_id: only this order (a whole number from 0)
        client_order_id: only this client order id (a whole number from -9223372036854775808)
        parent_order_id: only children of this order (a whole number from 0)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            order_id (Int64): order id, assigned by the venue
            client_order_id (Int64): client order id, chosen by the client; 0 without one
            parent_order_id (Int64): order id of the bracket's main order; 0 without one
            symbol (string; symbol): product symbol
            side (string; enum name): BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            type (string; enum name): order type: LIMIT, MARKET or a builder order's conditional type
            status (string; enum name): NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED
            price (float64; USDC): limit price; 0 for a market order
            quantity (float64; contracts of 1 base unit): ordered quantity
            filled (float64; contracts of 1 base unit): quantity filled so far
            remaining (float64; contracts of 1 base unit): quantity that is still open
            filled_value (float64; USDC): sum of price × quantity over all fills
            fee (float64; USDC): sum of trading fees paid; negative if received
            trigger_price (float64; USDC): trigger price; 0 without a trigger
            trigger_type (string; enum name): trigger source: LAST_PRICE, MARK_PRICE or INDEX_PRICE
            tif (string; enum name): time in force: GTC, IOC, FOK or POST_ONLY
            reduce_only (string; enum name): NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
            created (datetime64[ms, UTC]; UTC): time at which the order was placed [L]
            time (datetime64[ms, UTC]; UTC): time of the last change
            block (Int64): block height of the last change
            account (string): address of the account
            id (string): id of the record

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/order/states.
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
        """Every event in the life of an account's orders, as a DataFrame.

        account: account to read (default: the session's account)
        order_id: only this order (a whole number from 0)
        client_order_id: only this client order id (a whole number from -9223372036854775808)
        symbol: only this product (symbol or code)
        status: only events with this status (one of NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): id of the event
            time (datetime64[ms, UTC]; UTC): time of the event
            order_id (Int64): order id, assigned by the venue
            client_order_id (Int64): client order id, chosen by the client; 0 without one
            symbol (string; symbol): product symbol
            side (string; enum name): BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            type (string; enum name): order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type
            status (string; enum name): status of the order after this event
            price (float64; USDC): limit price; 0 for a market order
            quantity (float64; contracts of 1 base unit): ordered quantity
            fill_price (float64; USDC): price of this fill
            fill_quantity (float64; contracts of 1 base unit): quantity of this fill
            remaining (float64; contracts of 1 base unit): quantity that is still open
            exec_id (Int64): id of the trade; 0 if the event is not a fill
            realized_pnl (float64; USDC): PnL realised by this fill, before fees
            open_fee (float64; USDC): fee for the part that opened a position
            close_fee (float64; USDC): fee for the part that closed a position
            trigger_price (float64; USDC): trigger price; 0 without a trigger
            tif (string; enum name): time in force: GTC, IOC, FOK or POST_ONLY
            reason (string): reason of a cancellation or rejection, in words [L]
            tx_hash (string): hash of the transaction
            block (Int64): block height
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/order/events.
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

        account: account to read (default: the session's account)
        symbol: only this product (symbol or code)
        position_mode: only positions in this position mode (one of ONE_WAY, HEDGE)
        include_zero: include positions of size zero (true or false)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string; symbol): product symbol
            long_size (float64; contracts of 1 base unit): size of the long position
            short_size (float64; contracts of 1 base unit): size of the short position, as a positive number
            long_entry_value (float64; USDC): entry price × size of the long position
            short_entry_value (float64; USDC): entry price × size of the short position
            leverage (float64; x): leverage setting of the product
            position_mode (string; enum name): position mode of the account: ONE_WAY or HEDGE
            margin_mode (string; enum name): margin mode of the position: CROSS or ISOLATED
            assigned_margin (float64; USDC): margin assigned to an isolated position
            mark_price (float64; USDC): mark price
            unrealized_pnl (float64; USDC): unrealised PnL at mark price
            realized_pnl (float64; USDC): PnL realised so far, before fees
            fees (float64; USDC): sum of trading fees paid so far
            created (datetime64[ms, UTC]; UTC): time at which the position was first opened
            time (datetime64[ms, UTC]; UTC): time of the last change
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/position/list.
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

        account: account to read (default: the session's account)
        symbol: only this product (symbol or code)
        order_id: only fills of this order (a whole number from 0)
        exec_id: only this execution (a whole number from 0)
        side: only this side (one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE)
        role: only fills as maker or as taker (one of MAKER, TAKER)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (string): id of the record
            time (datetime64[ms, UTC]; UTC): time of the fill
            symbol (string; symbol): product symbol
            side (string; enum name): BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            price (float64; USDC): price of the fill
            quantity (float64; contracts of 1 base unit): quantity of the fill
            order_id (Int64): order id, assigned by the venue
            client_order_id (Int64): client order id, chosen by the client; 0 without one
            exec_id (Int64): id of the trade, the same for maker and taker
            role (string): MAKER or TAKER [L]
            type (string; enum name): order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type [L]
            status (string; enum name): status of the order after this fill
            order_price (float64; USDC): limit price; 0 for a market order
            remaining (float64; contracts of 1 base unit): quantity that is still open
            realized_pnl (float64; USDC): PnL realised by this fill, before fees
            open_fee (float64; USDC): fee for the part that opened a position
            close_fee (float64; USDC): fee for the part that closed a position
            builder_fee (float64; USDC): fee paid to the builder of the order [L]
            tx_hash (string): hash of the transaction
            block (Int64): block height
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/trade/page.
        """
    async def klines_last(
        self, symbol: str | int, interval: int | str | timedelta, *, limit: int = 100, exact: bool = False
    ) -> pd.DataFrame:
        """The latest candles of a product, as a DataFrame.

        symbol: product to read (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        limit: most candles to return (a whole number from 1 to 1000)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): price of the first trade
            high (float64; USDC): highest price traded
            low (float64; USDC): lowest price traded
            close (float64; USDC): price of the last trade
            volume (float64; contracts of 1 base unit): traded quantity
            turnover (float64; USDC): traded value: sum of price × quantity
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product symbol

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/kline/last.
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

        symbol: product to read (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        before: candles that start before this time (default: now) (ms since 1970, ISO text or a datetime; UTC without a zone)
        limit: most candles to return (a whole number from 1 to 1000)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): price of the first trade
            high (float64; USDC): highest price traded
            low (float64; USDC): lowest price traded
            close (float64; USDC): price of the last trade
            volume (float64; contracts of 1 base unit): traded quantity
            turnover (float64; USDC): traded value: sum of price × quantity
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product symbol

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/kline/before.
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
        """Candles of a product that start in a time window, as a DataFrame.

        symbol: product to read (symbol or code)
        interval: length of a candle in seconds (seconds, '1m', '4h', '1d' or a timedelta)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: oldest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): start of the candle
            open (float64; USDC): price of the first trade
            high (float64; USDC): highest price traded
            low (float64; USDC): lowest price traded
            close (float64; USDC): price of the last trade
            volume (float64; contracts of 1 base unit): traded quantity
            turnover (float64; USDC): traded value: sum of price × quantity
            trades (Int64): number of trades
            interval (Int64; seconds): length of the candle
            symbol (string): product symbol

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/kline/list.
        """
    async def funding_rates(self, *, symbol: str | int | None = None, exact: bool = False) -> pd.DataFrame:
        """The current funding rate of each product, as a DataFrame.

        symbol: only this product (symbol or code)
        exact: amounts as Decimal instead of float64

        Rows: by code. Columns (dtype; unit):
            symbol (string; symbol): product symbol
            funding_rate (float64; per interval): funding rate if the interval ended now
            last_funding_rate (float64; per interval): funding rate of the last settlement
            funding_interval (Int64; seconds): time between settlements
            next_funding_time (datetime64[ms, UTC]; UTC): time of the next settlement
            mark_price (float64; USDC): mark price
            oracle_price (float64; USDC): index price (oracle)
            premium (float64; 1 = 100 %): time-weighted mean premium of the interval so far
            time (datetime64[ms, UTC]; UTC): time of the response

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/fundingRate/current.
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
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            time (datetime64[ms, UTC]; UTC): time of the settlement
            symbol (string; symbol): product symbol
            funding_rate (float64; per interval): funding rate; longs pay a positive rate, shorts receive it
            premium (float64; 1 = 100 %): time-weighted mean premium of the interval
            mark_price (float64; USDC): mark price used for the settlement
            oracle_price (float64; USDC): index price (oracle)
            funding_interval (Int64; seconds): length of the funding interval

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/fundingRate/history.
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
        """Funding payments of an account, as a DataFrame.

        account: account to read (default: the session's account)
        symbol: only this product (symbol or code)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): id of the payment
            time (datetime64[ms, UTC]; UTC): time of the settlement
            symbol (string; symbol): product symbol
            side (string; enum name): direction of the position: LONG or SHORT
            size (float64; contracts of 1 base unit): size of the position
            funding_rate (float64; per interval): funding rate; longs pay a positive rate, shorts receive it
            amount (float64; USDC): funding received; negative if paid
            tx_hash (string): hash of the transaction
            account (string): address of the account

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/funding/history.
        """
    async def vault(self, vault: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """One vault, with the deposits of a user, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        account: account whose deposits are shown (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name of the vault
            owner (string): address of the owner (leader)
            tvl (float64; USDC): total value of the vault's assets
            price (float64; per share): net asset value of one share
            apr (float64; a year): annualised return of the last 30 days
            status (string): OPEN or CLOSED
            deposits (float64; USDC): sum that the user deposited for the shares held
            current_value (float64; USDC): current value of the user's shares
            description (string): description written by the owner [L]
            total_shares (float64; shares): number of shares of all depositors [L]
            parent (string): address of the parent vault; missing unless it is a sub-vault [L]
            created (datetime64[ms, UTC]; UTC): time of creation [L]

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/detail.
        """
    async def vaults(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """All vaults, as a DataFrame.

        account: account whose deposits are shown (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name of the vault
            owner (string): address of the owner (leader)
            tvl (float64; USDC): total value of the vault's assets
            price (float64; per share): net asset value of one share
            apr (float64; a year): annualised return of the last 30 days
            status (string): OPEN or CLOSED
            deposits (float64; USDC): sum that the user deposited for the shares held
            current_value (float64; USDC): current value of the user's shares
            description (string): description written by the owner [L]
            total_shares (float64; shares): number of shares of all depositors [L]
            parent (string): address of the parent vault; missing unless it is a sub-vault [L]
            created (datetime64[ms, UTC]; UTC): time of creation [L]

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/list.
        """
    async def user_vaults(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """Vaults in which a user has shares, as a DataFrame.

        account: account of the depositor (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name of the vault
            account (string): address of the depositor
            shares (float64; shares): number of shares held
            deposits (float64; USDC): sum deposited for the shares held
            current_value (float64; USDC): current value of the shares
            pnl (float64; USDC): current value − deposits
            price (float64; per share): net asset value of one share
            locked_until (datetime64[ms, UTC]; UTC): time from which the shares can be withdrawn
            status (string): OPEN or CLOSED

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/user-list.
        """
    async def vault_user(self, vault: str, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """A user's shares of one vault, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        account: account of the depositor (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            vault (string): address of the vault
            name (string): name of the vault
            account (string): address of the depositor
            shares (float64; shares): number of shares held
            deposits (float64; USDC): sum deposited for the shares held
            current_value (float64; USDC): current value of the shares
            pnl (float64; USDC): current value − deposits
            price (float64; per share): net asset value of one share
            locked_until (datetime64[ms, UTC]; UTC): time from which the shares can be withdrawn
            status (string): OPEN or CLOSED

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/user.
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
            time (datetime64[ms, UTC]; UTC): time of the value
            value (float64; USDC): total value of the vault, or its PnL

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/history.
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
            id (Int64): id of the event
            time (datetime64[ms, UTC]; UTC): time of the event
            kind (string): kind of event: CREATE, DEPOSIT, WITHDRAW, REBALANCE, UPDATE_OWNER, CLOSE, …
            account (string): address of the account that caused the event
            amount (float64; USDC): amount of USDC moved
            shares (float64; shares): number of shares issued or redeemed
            price (float64; per share): net asset value of one share
            leader_fee (float64; USDC): owner's share of a withdrawn profit
            tx_hash (string): hash of the transaction
            vault (string): address of the vault

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/events.
        """
    async def vault_depositors(self, vault: str, *, exact: bool = False) -> pd.DataFrame:
        """Depositors of a vault with their shares, as a DataFrame.

        vault: address of the vault (0x and 40 hex digits)
        exact: amounts as Decimal instead of float64

        Rows: largest first. Columns (dtype; unit):
            account (string): address of the depositor
            shares (float64; shares): number of shares held
            share (float64; 1 = 100 %): fraction of all shares
            deposits (float64; USDC): sum deposited for the shares held
            current_value (float64; USDC): current value of the shares
            pnl (float64; USDC): current value − deposits
            joined (datetime64[ms, UTC]; UTC): time of the first deposit
            vault (string): address of the vault

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/vault/depositors.
        """
    async def referral_code(self, *, account: str | None = None, exact: bool = False) -> pd.DataFrame:
        """An account's referral code and inviter, as a DataFrame.

        account: account to read (default: the session's account)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): address of the account
            code (string): referral code of the account
            inviter (string): address of the inviter; missing without one
            inviter_code (string): referral code that was used
            bound_at (datetime64[ms, UTC]; UTC): time of the invitation

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/code.
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
        """Volume, fees and rewards of an account's referrals in a period, as a DataFrame.

        account: account to read (default: the session's account)
        period: how far back (one of 24h, 7d, 30d, all-time)
        start: rows at or after this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        end: rows up to and including this time (ms since 1970, ISO text or a datetime; UTC without a zone)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): address of the account
            period (string): period of the summary: 24h, 7d, 30d or all-time
            invitees (Int64): number of accounts invited
            second_tier_invitees (Int64): number of accounts invited by the invitees
            volume (float64; USDC): traded value of the invitees
            fees (float64; USDC): trading fees of the invitees
            reward (float64; USDC): rewards for the invitees' fees
            second_tier_reward (float64; USDC): rewards for the fees of the accounts they invited
            total_reward (float64; USDC): sum of both rewards
            reward_rate (float64; 1 = 100 %): current reward rate: fraction of the invitees' fees

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/summary.
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

        account: account to read (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        sort_by: sort key (one of joinTime, volume, fees, reward)
        sort_order: sort direction (one of asc, desc)
        search: only invitees whose address contains this text (text of 1 to 128 characters)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            account (string): address of the invitee
            joined (datetime64[ms, UTC]; UTC): time at which the invitee joined
            volume (float64; USDC): traded value of the invitee
            fees (float64; USDC): trading fees of the invitee
            reward (float64; USDC): reward of the inviter
            invitees (Int64): number of accounts that the invitee invited

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/referrals.
        """
    async def referral_payouts(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Referral rewards that were paid to an account, as a DataFrame.

        account: account to read (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            id (Int64): id of the payout
            time (datetime64[ms, UTC]; UTC): time of the payout
            amount (float64; USDC): reward paid
            tier (Int64): 1 for an invitee's fee, 2 for the fee of an account that an invitee invited
            account (string): address of the account that was paid
            source (string): address of the account whose fee is shared
            tx_hash (string): hash of the transaction

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/payouts.
        """
    async def referral_tiers(self, *, exact: bool = False) -> pd.DataFrame:
        """Reward rates by network volume, as a DataFrame.

        exact: amounts as Decimal instead of float64

        Rows: by volume. Columns (dtype; unit):
            tier (Int64): number of the tier
            min_volume (float64; USDC): 30-day volume of the invitees from which the tier applies
            reward_rate (float64; 1 = 100 %): fraction of the invitees' fees
            second_tier_rate (float64; 1 = 100 %): fraction of the fees of accounts that the invitees invited

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/referral/tiers.
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
        include_expired: include expired authorisations (true or false)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 100)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            wallet (string): address of the trader
            agent (string): address of the authorised agent wallet
            builder (string): address of the builder's master wallet
            max_fee_rate (float64; 1 = 100 %): highest fee rate that the trader authorised
            expires_at (datetime64[ms, UTC]; UTC): time at which the authorisation expires
            approve_state (string): APPROVED or REVOKED
            expired (boolean): true after the authorisation expired

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/builder/agents.
        """
    async def transactions(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False
    ) -> pd.DataFrame:
        """Transactions of a user, as a DataFrame.

        account: account or vault that the transactions were for (default: the session's account)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Rows: newest first. Columns (dtype; unit):
            tx_hash (string): hash of the transaction
            block (Int64): block height
            time (datetime64[ms, UTC]; UTC): time of the transaction
            action (string): type of the action, such as placeOrder
            account (string): address of the account that the action was for
            signer (string): address of the signer
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the code of the failure
            message (string): message of the failure
            data (object): what the action returned, where its answer came before its execution

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/explore/transaction/page.
        """
    async def transaction(self, tx_hash: str, *, exact: bool = False) -> pd.DataFrame:
        """One transaction, as a DataFrame.

        tx_hash: hash of the transaction (0x and 64 hex digits)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            tx_hash (string): hash of the transaction
            block (Int64): block height
            time (datetime64[ms, UTC]; UTC): time of the transaction
            action (string): type of the action, such as placeOrder
            account (string): address of the account that the action was for
            signer (string): address of the signer
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the code of the failure
            message (string): message of the failure
            data (object): what the action returned, where its answer came before its execution

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/explore/transaction/detail.
        """
    async def block(self, height: int, *, page: int = 1, page_size: int = 20, exact: bool = False) -> pd.DataFrame:
        """One block with its transactions, as a DataFrame.

        height: height of the block (a whole number from 0)
        page: page number, from 1 (a whole number from 1 to 1000000000)
        page_size: rows on a page (a whole number from 1 to 500)
        exact: amounts as Decimal instead of float64

        Columns (dtype; unit):
            tx_hash (string): hash of the transaction
            block (Int64): block height
            time (datetime64[ms, UTC]; UTC): time of the transaction
            action (string): type of the action, such as placeOrder
            account (string): address of the account that the action was for
            signer (string): address of the signer
            nonce (Int64): nonce of the request
            status (string): SUCCESS or FAILED
            tx_code (Int64): 0, or the code of the failure
            message (string): message of the failure
            data (object): what the action returned, where its answer came before its execution

        Unknown fields follow under their wire names; the venue's raw answer is in `frame.attrs['raw']`.
        Raises MalformedRequest for a value that breaks its rule, ExchangeError when the venue refuses,
        TransportError when no usable answer came.
        Source: docs/published.md, "Info API": GET /info/explore/block/detail.
        """
    def __repr__(self) -> str: ...
