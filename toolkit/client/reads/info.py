"""`session.info`: one method for each query of the Info API, synchronous or awaited.

`python -m tests.methods` writes this module from the declarations in `toolkit/protocol/reads/info`. The lines below
`Examples` are written by hand, and are kept.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from ..io.flow import Asynchronous, Flow, Synchronous, flow
from .info_flows import InfoFlows

if TYPE_CHECKING:
    import pandas as pd


class QueryFlows(InfoFlows):
    """The queries of Info and AsyncInfo, one method each."""

    @flow
    def products(self, *, list_status: Literal["LISTED", "PAUSED", "DELISTED"] | int | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """All products with their limits, margin tables and fees, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/public/product-meta.

        Parameters
        ----------
        list_status : {"LISTED", "PAUSED", "DELISTED"} or int, optional
            Only products with this listing status.
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: by code. Columns with dtype and unit:

            - `symbol`: string. Product symbol, such as BTCUSDC
            - `code`: Int64. Product code, used in orders
            - `name`: string. Display name of the product
            - `list_status`: string. `listed` while the venue accepts orders
            - `tick_size`: float64, USDC. Minimum price increment
            - `step_size`: float64, contracts of 1 base unit. Minimum quantity increment
            - `price_precision`: Int64, decimals. Display and input precision of prices
            - `quantity_precision`: Int64, decimals. Display and input precision of quantities
            - `min_order_value`: float64, USDC. Smallest notional of an order that may open a position
            - `max_order_quantity`: float64, contracts of 1 base unit. Largest quantity of one order
            - `max_position_notional`: float64, USDC. Largest notional of a position with its open orders
            - `max_leverage`: float64, x. Highest leverage that can be set
            - `max_slippage`: float64, 1 = 100 %. Largest slippage of a market order
            - `maker_fee_rate`: float64, 1 = 100 %. Maker fee rate before volume discounts
            - `taker_fee_rate`: float64, 1 = 100 %. Taker fee rate before volume discounts
            - `funding_interval`: Int64, seconds. Time between funding settlements
            - `margin_table`: Int64. Number of the product's margin table [L]
            - `only_isolated`: boolean. True if the product has isolated margin only
            - `product_type`: string. Kind of product (always perpetual)
            - `base_currency`: string. Currency of the quantity
            - `quote_currency`: string. Currency of prices
            - `settle_currency`: string. Currency in which profit and fees are settled
            - `currency_code`: Int64. Number of the settlement currency (1 is USDC)

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.products()["symbol"].head(2).tolist()
        ['BTCUSDC', 'ETHUSDC']
        """
        return (yield from self._query("products", exact, index, list_status=list_status))

    @flow
    def product(self, symbol: str | int, *, exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """One product with its limits, margin table and fees, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/single.

        Parameters
        ----------
        symbol : str or int
            Only this product (symbol or code).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `symbol`: string. Product symbol, such as BTCUSDC
            - `code`: Int64. Product code, used in orders
            - `name`: string. Display name of the product
            - `list_status`: string. `listed` while the venue accepts orders
            - `tick_size`: float64, USDC. Minimum price increment
            - `step_size`: float64, contracts of 1 base unit. Minimum quantity increment
            - `price_precision`: Int64, decimals. Display and input precision of prices
            - `quantity_precision`: Int64, decimals. Display and input precision of quantities
            - `min_order_value`: float64, USDC. Smallest notional of an order that may open a position
            - `max_order_quantity`: float64, contracts of 1 base unit. Largest quantity of one order
            - `max_position_notional`: float64, USDC. Largest notional of a position with its open orders
            - `max_leverage`: float64, x. Highest leverage that can be set
            - `max_slippage`: float64, 1 = 100 %. Largest slippage of a market order
            - `maker_fee_rate`: float64, 1 = 100 %. Maker fee rate before volume discounts
            - `taker_fee_rate`: float64, 1 = 100 %. Taker fee rate before volume discounts
            - `funding_interval`: Int64, seconds. Time between funding settlements
            - `margin_table`: Int64. Number of the product's margin table [L]
            - `only_isolated`: boolean. True if the product has isolated margin only
            - `product_type`: string. Kind of product (always perpetual)
            - `base_currency`: string. Currency of the quantity
            - `quote_currency`: string. Currency of prices
            - `settle_currency`: string. Currency in which profit and fees are settled
            - `currency_code`: Int64. Number of the settlement currency (1 is USDC)

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.product("BTCUSDC")["tick_size"].item()
        0.1
        """
        return (yield from self._query("product", exact, index, symbol=symbol))

    @flow
    def wallet_balances(self, *, account: str | None = None, currency: int | None = None, include_zero: bool = False,
        exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """Balances and equity of an account, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/account/wallet.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        currency : int, optional
            Only this currency, 1 is USDC (a whole number from 0).
        include_zero : bool, optional
            Include currencies with a balance of zero (true or false).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `account`: string. Address of the account
            - `currency`: string. Currency of the balance (always USDC)
            - `balance`: float64, USDC. Cash balance, without the margin of isolated positions
            - `available`: float64, USDC. Margin available for new positions and orders
            - `withdrawable`: float64, USDC. Amount that can be withdrawn
            - `equity`: float64, USDC. Balance + isolated margins + unrealised PnL
            - `status`: string, enum name. NORMAL, or LIQUIDATING while the account is being liquidated
            - `block`: Int64. Block height of the last change
            - `time`: datetime64[ms, UTC], UTC. Time of the last change

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.wallet_balances()[["currency", "balance"]].values.tolist()
        [['USDC', 10000.0]]
        """
        return (yield from self._query("wallet_balances", exact, index, account=account, currency=currency,
            include_zero=include_zero))

    @flow
    def ledger(self, *, account: str | None = None, currency: int | None = None, kind: str | None = None,
        tx_hash: str | None = None, page: int | None = None, page_size: int | None = None,
        start: int | float | str | date | datetime | timedelta | None = None,
        end: int | float | str | date | datetime | timedelta | None = None, exact: bool = False,
        index: str | None = None, progress: bool | None = None) -> Flow[pd.DataFrame]:
        """Every change of an account's balance, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        `frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read.
        Source: docs/published.md, "Info API": GET /info/account/ledger.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        currency : int, optional
            Only this currency, 1 is USDC (a whole number from 0).
        kind : str, optional
            Only this business type, e.g. DEPOSIT, TRADING_FEE, FUNDING (text of 1 to 128 characters).
        tx_hash : str, optional
            Only entries of this transaction (0x and 64 hex digits).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: all pages).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        start : int, float, str, date, datetime or timedelta, optional
            Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
            without a zone).
        end : int, float, str, date, datetime or timedelta, optional
            Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
            UTC without a zone).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).

        Returns
        -------
        DataFrame
            All rows, oldest first. With `page` or `page_size` one page, newest first. Columns with dtype and unit:

            - `id`: Int64. Id of the entry
            - `time`: datetime64[ms, UTC], UTC. Time of the change
            - `kind`: string. Kind of change, such as DEPOSIT, TRADING_FEE, REALIZED_PNL or FUNDING
            - `amount`: float64, USDC. Change of the balance (negative if paid)
            - `balance`: float64, USDC. Balance after the change
            - `symbol`: string, symbol. Product symbol (missing if the change belongs to no product)
            - `reference`: string. Id or address that the change belongs to: order, vault, destination, …
            - `counterparty`: string. Other account (missing for deposits, withdrawals and isolated margin)
            - `currency`: string. Currency of the balance (always USDC)
            - `tx_hash`: string. Hash of the transaction
            - `block`: Int64. Block height
            - `account`: string. Address of the account

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.info.ledger()["kind"].tolist()
        ['DEPOSIT', 'TRADING_FEE']
        """
        return (yield from self._query("ledger", exact, index, progress, account=account, currency=currency, kind=kind,
            tx_hash=tx_hash, page=page, page_size=page_size, start=start, end=end))

    @flow
    def agents(self, *, account: str | None = None, role: Literal["MASTER", "AGENT"] | None = None,
        status: Literal["ACTIVE", "REVOKED"] | int | None = None, agent: str | None = None, master: str | None = None,
        page: int = 1, page_size: int = 20, exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """Agent wallets of an account, or masters of an agent wallet, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/account/agent.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        role : {"MASTER", "AGENT"}, optional
            Whether the account is the master (default) or the agent.
        status : {"ACTIVE", "REVOKED"} or int, optional
            Only this status.
        agent : str, optional
            Only this agent wallet (0x and 40 hex digits).
        master : str, optional
            Only agents of this master (0x and 40 hex digits).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: 1).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: newest first. Columns with dtype and unit:

            - `id`: string. Id of the approval
            - `name`: string. Name under which the agent was approved
            - `agent`: string. Address of the agent wallet
            - `master`: string. Address of the account that the agent acts for
            - `status`: string, enum name. Status of the approval: ACTIVE or REVOKED
            - `permission`: string. Permission of the agent
            - `approved_at`: datetime64[ms, UTC], UTC. Time of the approval
            - `approved_block`: Int64. Block height of the approval
            - `approval_tx`: string. Hash of the transaction of the approval
            - `expires_at`: datetime64[ms, UTC], UTC. Time at which the approval expires [L]
            - `revoked_at`: datetime64[ms, UTC], UTC. Time of the revocation (empty before it)
            - `revoked_block`: Int64. Block height of the revocation (empty before it)
            - `revoke_tx`: string. Hash of the transaction of the revocation (empty before it)

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.agents()["name"].tolist()
        ['toolkit-bcd4042d']
        """
        return (yield from self._query("agents", exact, index, account=account, role=role, status=status, agent=agent,
            master=master, page=page, page_size=page_size))

    @flow
    def agent(self, agent_name: str, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """The active agent of an account with a given name, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/account/agent/active.

        Parameters
        ----------
        agent_name : str
            Name under which the agent was approved (text of 1 to 128 characters).
        account : str, optional
            Account to read (default: the session's account).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `id`: string. Id of the approval
            - `name`: string. Name under which the agent was approved
            - `agent`: string. Address of the agent wallet
            - `master`: string. Address of the account that the agent acts for
            - `status`: string, enum name. Status of the approval: ACTIVE or REVOKED
            - `permission`: string. Permission of the agent
            - `approved_at`: datetime64[ms, UTC], UTC. Time of the approval
            - `approved_block`: Int64. Block height of the approval
            - `approval_tx`: string. Hash of the transaction of the approval
            - `expires_at`: datetime64[ms, UTC], UTC. Time at which the approval expires [L]
            - `revoked_at`: datetime64[ms, UTC], UTC. Time of the revocation (empty before it)
            - `revoked_block`: Int64. Block height of the revocation (empty before it)
            - `revoke_tx`: string. Hash of the transaction of the revocation (empty before it)

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.agent("toolkit-bcd4042d")["status"].item()
        'ACTIVE'
        """
        return (yield from self._query("agent", exact, index, agent_name=agent_name, account=account))

    @flow
    def order_states(self, *, account: str | None = None, symbol: str | int | None = None, status: Literal["NEW",
        "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"] | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None, type: Literal["LIMIT",
        "MARKET", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT",
        "TAKE_PROFIT_MARKET", "ADL", "LIQUIDATION"] | int | None = None, order_id: int | None = None,
        client_order_id: int | None = None, parent_order_id: int | None = None, page: int | None = None,
        page_size: int | None = None, start: int | float | str | date | datetime | timedelta | None = None,
        end: int | float | str | date | datetime | timedelta | None = None, exact: bool = False,
        index: str | None = None, progress: bool | None = None) -> Flow[pd.DataFrame]:
        """Latest state of each order of an account, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        `frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read.
        Source: docs/published.md, "Info API": GET /info/order/states.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        symbol : str or int, optional
            Only this product (symbol or code).
        status : {"NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"}, optional
            Only this status (untriggered conditional orders are not NEW).
        side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"} or int, optional
            Only this side.
        type : {"LIMIT", "MARKET", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET", "ADL", "LIQUIDATION"} or int, optional
            Only this order type.
        order_id : int, optional
            Only this order (a whole number from 0).
        client_order_id : int, optional
            Only this client order id (a whole number from -9223372036854775808).
        parent_order_id : int, optional
            Only children of this order (a whole number from 0).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: all pages).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        start : int, float, str, date, datetime or timedelta, optional
            Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
            without a zone).
        end : int, float, str, date, datetime or timedelta, optional
            Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
            UTC without a zone).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).

        Returns
        -------
        DataFrame
            All rows, oldest first. With `page` or `page_size` one page, newest first. Columns with dtype and unit:

            - `order_id`: Int64. Order id, assigned by the venue
            - `client_order_id`: Int64. Client order id, chosen by the client (0 without one)
            - `parent_order_id`: Int64. Order id of the bracket's main order (0 without one)
            - `symbol`: string, symbol. Product symbol
            - `side`: string, enum name. BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            - `type`: string, enum name. Order type: LIMIT, MARKET or a builder order's conditional type
            - `status`: string, enum name. NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED
            - `price`: float64, USDC. Limit price (0 for a market order)
            - `quantity`: float64, contracts of 1 base unit. Ordered quantity
            - `filled`: float64, contracts of 1 base unit. Quantity filled so far
            - `remaining`: float64, contracts of 1 base unit. Quantity that is still open
            - `filled_value`: float64, USDC. Sum of price × quantity over all fills
            - `fee`: float64, USDC. Sum of trading fees paid (negative if received)
            - `trigger_price`: float64, USDC. Trigger price (0 without a trigger)
            - `trigger_type`: string, enum name. Trigger source: LAST_PRICE, MARK_PRICE or INDEX_PRICE
            - `tif`: string, enum name. Time in force: GTC, IOC, FOK or POST_ONLY
            - `reduce_only`: string, enum name. NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
            - `created`: datetime64[ms, UTC], UTC. Time at which the order was placed [L]
            - `time`: datetime64[ms, UTC], UTC. Time of the last change
            - `block`: Int64. Block height of the last change
            - `account`: string. Address of the account
            - `id`: string. Id of the record

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> session.info.order_states(symbol="BTCUSDC")["status"].tolist()
        ['NEW']
        """
        return (yield from self._query("order_states", exact, index, progress, account=account, symbol=symbol,
            status=status, side=side, type=type, order_id=order_id, client_order_id=client_order_id,
            parent_order_id=parent_order_id, page=page, page_size=page_size, start=start, end=end))

    @flow
    def order_events(self, *, account: str | None = None, order_id: int | None = None,
        client_order_id: int | None = None, symbol: str | int | None = None, status: Literal["NEW", "PARTIALLY_FILLED",
        "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"] | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        page: int | None = None, page_size: int | None = None,
        start: int | float | str | date | datetime | timedelta | None = None,
        end: int | float | str | date | datetime | timedelta | None = None, exact: bool = False,
        index: str | None = None, progress: bool | None = None) -> Flow[pd.DataFrame]:
        """Every event in the life of an account's orders, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        `frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read.
        Source: docs/published.md, "Info API": GET /info/order/events.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        order_id : int, optional
            Only this order (a whole number from 0).
        client_order_id : int, optional
            Only this client order id (a whole number from -9223372036854775808).
        symbol : str or int, optional
            Only this product (symbol or code).
        status : {"NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"}, optional
            Only events with this status.
        side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"} or int, optional
            Only this side.
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: all pages).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        start : int, float, str, date, datetime or timedelta, optional
            Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
            without a zone).
        end : int, float, str, date, datetime or timedelta, optional
            Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
            UTC without a zone).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).

        Returns
        -------
        DataFrame
            All rows, oldest first. With `page` or `page_size` one page, newest first. Columns with dtype and unit:

            - `id`: string. Id of the event
            - `time`: datetime64[ms, UTC], UTC. Time of the event
            - `order_id`: Int64. Order id, assigned by the venue
            - `client_order_id`: Int64. Client order id, chosen by the client (0 without one)
            - `symbol`: string, symbol. Product symbol
            - `side`: string, enum name. BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            - `type`: string, enum name. Order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional
              type
            - `status`: string, enum name. Status of the order after this event
            - `price`: float64, USDC. Limit price (0 for a market order)
            - `quantity`: float64, contracts of 1 base unit. Ordered quantity
            - `fill_price`: float64, USDC. Price of this fill
            - `fill_quantity`: float64, contracts of 1 base unit. Quantity of this fill
            - `remaining`: float64, contracts of 1 base unit. Quantity that is still open
            - `exec_id`: Int64. Id of the trade (0 if the event is not a fill)
            - `realized_pnl`: float64, USDC. PnL realised by this fill, before fees
            - `open_fee`: float64, USDC. Fee for the part that opened a position
            - `close_fee`: float64, USDC. Fee for the part that closed a position
            - `trigger_price`: float64, USDC. Trigger price (0 without a trigger)
            - `tif`: string, enum name. Time in force: GTC, IOC, FOK or POST_ONLY
            - `reason`: string. Reason of a cancellation or rejection, in words [L]
            - `tx_hash`: string. Hash of the transaction
            - `block`: Int64. Block height
            - `account`: string. Address of the account

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.info.order_events()["status"].tolist()
        ['NEW', 'FILLED']
        """
        return (yield from self._query("order_events", exact, index, progress, account=account, order_id=order_id,
            client_order_id=client_order_id, symbol=symbol, status=status, side=side, page=page, page_size=page_size,
            start=start, end=end))

    @flow
    def positions(self, *, account: str | None = None, symbol: str | int | None = None,
        position_mode: Literal["ONE_WAY", "HEDGE"] | int | None = None, include_zero: bool = False, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """Positions of an account, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/position/list.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        symbol : str or int, optional
            Only this product (symbol or code).
        position_mode : {"ONE_WAY", "HEDGE"} or int, optional
            Only positions in this position mode.
        include_zero : bool, optional
            Include positions of size zero (true or false).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: by code. Columns with dtype and unit:

            - `symbol`: string, symbol. Product symbol
            - `long_size`: float64, contracts of 1 base unit. Size of the long position
            - `short_size`: float64, contracts of 1 base unit. Size of the short position, as a positive number
            - `long_entry_value`: float64, USDC. Entry price × size of the long position
            - `short_entry_value`: float64, USDC. Entry price × size of the short position
            - `leverage`: float64, x. Leverage setting of the product
            - `position_mode`: string, enum name. Position mode of the account: ONE_WAY or HEDGE
            - `margin_mode`: string, enum name. Margin mode of the position: CROSS or ISOLATED
            - `assigned_margin`: float64, USDC. Margin assigned to an isolated position
            - `mark_price`: float64, USDC. Mark price
            - `unrealized_pnl`: float64, USDC. Unrealised PnL at mark price
            - `realized_pnl`: float64, USDC. PnL realised so far, before fees
            - `fees`: float64, USDC. Sum of trading fees paid so far
            - `created`: datetime64[ms, UTC], UTC. Time at which the position was first opened
            - `time`: datetime64[ms, UTC], UTC. Time of the last change
            - `account`: string. Address of the account

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.info.positions()[["symbol", "long_size"]].values.tolist()
        [['BTCUSDC', 0.01]]
        """
        return (yield from self._query("positions", exact, index, account=account, symbol=symbol,
            position_mode=position_mode, include_zero=include_zero))

    @flow
    def fills(self, *, account: str | None = None, symbol: str | int | None = None, order_id: int | None = None,
        exec_id: int | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        role: Literal["MAKER", "TAKER"] | None = None, page: int | None = None, page_size: int | None = None,
        start: int | float | str | date | datetime | timedelta | None = None,
        end: int | float | str | date | datetime | timedelta | None = None, exact: bool = False,
        index: str | None = None, progress: bool | None = None) -> Flow[pd.DataFrame]:
        """Fills of an account, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        `frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read.
        Source: docs/published.md, "Info API": GET /info/trade/page.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        symbol : str or int, optional
            Only this product (symbol or code).
        order_id : int, optional
            Only fills of this order (a whole number from 0).
        exec_id : int, optional
            Only this execution (a whole number from 0).
        side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"} or int, optional
            Only this side.
        role : {"MAKER", "TAKER"}, optional
            Only fills as maker or as taker.
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: all pages).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        start : int, float, str, date, datetime or timedelta, optional
            Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
            without a zone).
        end : int, float, str, date, datetime or timedelta, optional
            Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
            UTC without a zone).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).

        Returns
        -------
        DataFrame
            All rows, oldest first. With `page` or `page_size` one page, newest first. Columns with dtype and unit:

            - `id`: string. Id of the record
            - `time`: datetime64[ms, UTC], UTC. Time of the fill
            - `symbol`: string, symbol. Product symbol
            - `side`: string, enum name. BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
            - `price`: float64, USDC. Price of the fill
            - `quantity`: float64, contracts of 1 base unit. Quantity of the fill
            - `order_id`: Int64. Order id, assigned by the venue
            - `client_order_id`: Int64. Client order id, chosen by the client (0 without one)
            - `exec_id`: Int64. Id of the trade, the same for maker and taker
            - `role`: string. MAKER or TAKER [L]
            - `type`: string, enum name. Order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional
              type [L]
            - `status`: string, enum name. Status of the order after this fill
            - `order_price`: float64, USDC. Limit price (0 for a market order)
            - `remaining`: float64, contracts of 1 base unit. Quantity that is still open
            - `realized_pnl`: float64, USDC. PnL realised by this fill, before fees
            - `open_fee`: float64, USDC. Fee for the part that opened a position
            - `close_fee`: float64, USDC. Fee for the part that closed a position
            - `builder_fee`: float64, USDC. Fee paid to the builder of the order [L]
            - `tx_hash`: string. Hash of the transaction
            - `block`: Int64. Block height
            - `account`: string. Address of the account

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.info.fills(role="TAKER")[["price", "quantity"]].values.tolist()
        [[62506.6, 0.01]]
        """
        return (yield from self._query("fills", exact, index, progress, account=account, symbol=symbol,
            order_id=order_id, exec_id=exec_id, side=side, role=role, page=page, page_size=page_size, start=start,
            end=end))

    @flow
    def klines_last(self, symbol: str | int, interval: str | timedelta, *, limit: int = 100, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """The latest candles of a product, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/kline/last.

        Parameters
        ----------
        symbol : str or int
            Product to read (symbol or code).
        interval : str or timedelta
            Length of a candle in seconds ('1m', '4h', '1d' or a timedelta).
        limit : int, optional
            Most candles to return (a whole number from 1 to 1000, default: 100).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: newest first. Columns with dtype and unit:

            - `time`: datetime64[ms, UTC], UTC. Start of the candle
            - `open`: float64, USDC. Price of the first trade
            - `high`: float64, USDC. Highest price traded
            - `low`: float64, USDC. Lowest price traded
            - `close`: float64, USDC. Price of the last trade
            - `volume`: float64, contracts of 1 base unit. Traded quantity
            - `turnover`: float64, USDC. Traded value: sum of price × quantity
            - `trades`: Int64. Number of trades
            - `interval`: Int64, seconds. Length of the candle
            - `symbol`: string. Product symbol

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.klines_last("BTCUSDC", "1h", limit=2)["close"].tolist()
        [62500.0, 61387.8]
        """
        return (yield from self._query("klines_last", exact, index, symbol=symbol, interval=interval, limit=limit))

    @flow
    def klines_before(self, symbol: str | int, interval: str | timedelta, *,
        before: int | float | str | date | datetime | timedelta | None = None, limit: int = 100, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """Candles that started before a time, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/kline/before.

        Parameters
        ----------
        symbol : str or int
            Product to read (symbol or code).
        interval : str or timedelta
            Length of a candle in seconds ('1m', '4h', '1d' or a timedelta).
        before : int, float, str, date, datetime or timedelta, optional
            Candles that start before this time (default: now) (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago)
            or 'yesterday', UTC without a zone).
        limit : int, optional
            Most candles to return (a whole number from 1 to 1000, default: 100).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: newest first. Columns with dtype and unit:

            - `time`: datetime64[ms, UTC], UTC. Start of the candle
            - `open`: float64, USDC. Price of the first trade
            - `high`: float64, USDC. Highest price traded
            - `low`: float64, USDC. Lowest price traded
            - `close`: float64, USDC. Price of the last trade
            - `volume`: float64, contracts of 1 base unit. Traded quantity
            - `turnover`: float64, USDC. Traded value: sum of price × quantity
            - `trades`: Int64. Number of trades
            - `interval`: Int64, seconds. Length of the candle
            - `symbol`: string. Product symbol

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.klines_before("BTCUSDC", "1h", limit=2)["close"].tolist()
        [62500.0, 61387.8]
        """
        return (yield from self._query("klines_before", exact, index, symbol=symbol, interval=interval, before=before,
            limit=limit))

    @flow
    def klines(self, symbol: str | int, interval: str | timedelta,
        start: int | float | str | date | datetime | timedelta, end: int | float | str | date | datetime | timedelta, *,
        exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """Candles of a product that start in a time window, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/kline/list.

        Parameters
        ----------
        symbol : str or int
            Product to read (symbol or code).
        interval : str or timedelta
            Length of a candle in seconds ('1m', '4h', '1d' or a timedelta).
        start : int, float, str, date, datetime or timedelta
            Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
            without a zone).
        end : int, float, str, date, datetime or timedelta
            Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
            UTC without a zone).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: oldest first. Columns with dtype and unit:

            - `time`: datetime64[ms, UTC], UTC. Start of the candle
            - `open`: float64, USDC. Price of the first trade
            - `high`: float64, USDC. Highest price traded
            - `low`: float64, USDC. Lowest price traded
            - `close`: float64, USDC. Price of the last trade
            - `volume`: float64, contracts of 1 base unit. Traded quantity
            - `turnover`: float64, USDC. Traded value: sum of price × quantity
            - `trades`: Int64. Number of trades
            - `interval`: Int64, seconds. Length of the candle
            - `symbol`: string. Product symbol

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.klines("BTCUSDC", "1h", "2025-12-31 20:00", "2025-12-31 22:00")["close"].tolist()
        [61929.3, 61563.4, 61387.8]
        """
        return (yield from self._query("klines", exact, index, symbol=symbol, interval=interval, start=start, end=end))

    @flow
    def funding_rates(self, *, symbol: str | int | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """The current funding rate of each product, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/fundingRate/current.

        Parameters
        ----------
        symbol : str or int, optional
            Only this product (symbol or code).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: by code. Columns with dtype and unit:

            - `symbol`: string, symbol. Product symbol
            - `funding_rate`: float64, per interval. Funding rate if the interval ended now
            - `last_funding_rate`: float64, per interval. Funding rate of the last settlement
            - `funding_interval`: Int64, seconds. Time between settlements
            - `next_funding_time`: datetime64[ms, UTC], UTC. Time of the next settlement
            - `mark_price`: float64, USDC. Mark price
            - `oracle_price`: float64, USDC. Index price (oracle)
            - `premium`: float64, 1 = 100 %. Time-weighted mean premium of the interval so far
            - `time`: datetime64[ms, UTC], UTC. Time of the response

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.funding_rates(symbol="BTCUSDC")["funding_rate"].item()
        5e-05
        """
        return (yield from self._query("funding_rates", exact, index, symbol=symbol))

    @flow
    def funding_rate_history(self, symbol: str | int | Iterable[str | int], *, page: int | None = None,
        page_size: int | None = None, start: int | float | str | date | datetime | timedelta | None = None,
        end: int | float | str | date | datetime | timedelta | None = None, exact: bool = False,
        index: str | None = None, progress: bool | None = None) -> Flow[pd.DataFrame]:
        """Settled funding rates of a product, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        `frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read.
        Source: docs/published.md, "Info API": GET /info/fundingRate/history.

        Parameters
        ----------
        symbol : str, int, Iterable[str or int]
            Only this product (symbol or code), or a list of these.
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: all pages).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        start : int, float, str, date, datetime or timedelta, optional
            Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
            without a zone).
        end : int, float, str, date, datetime or timedelta, optional
            Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
            UTC without a zone).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).

        Returns
        -------
        DataFrame
            All rows, oldest first. With `page` or `page_size` one page, newest first. Columns with dtype and unit:

            - `time`: datetime64[ms, UTC], UTC. Time of the settlement
            - `symbol`: string, symbol. Product symbol
            - `funding_rate`: float64, per interval. Funding rate (longs pay a positive rate, shorts receive it)
            - `annualised`: float64, ratio per year. The rate if every interval of 365 days settled it
            - `premium`: float64, 1 = 100 %. Time-weighted mean premium of the interval
            - `mark_price`: float64, USDC. Mark price used for the settlement
            - `oracle_price`: float64, USDC. Index price (oracle)
            - `funding_interval`: Int64, seconds. Length of the funding interval

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.funding_rate_history("BTCUSDC", start="1d")["funding_rate"].tolist()
        [5e-05, 5e-05, 5e-05, 5e-05, -3.45e-05, 5e-05]
        """
        return (yield from self._query("funding_rate_history", exact, index, progress, symbol=symbol, page=page,
            page_size=page_size, start=start, end=end))

    @flow
    def funding_payments(self, *, account: str | None = None, symbol: str | int | None = None, page: int | None = None,
        page_size: int | None = None, start: int | float | str | date | datetime | timedelta | None = None,
        end: int | float | str | date | datetime | timedelta | None = None, exact: bool = False,
        index: str | None = None, progress: bool | None = None) -> Flow[pd.DataFrame]:
        """Funding payments of an account, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        `frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read.
        Source: docs/published.md, "Info API": GET /info/funding/history.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        symbol : str or int, optional
            Only this product (symbol or code).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: all pages).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        start : int, float, str, date, datetime or timedelta, optional
            Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
            without a zone).
        end : int, float, str, date, datetime or timedelta, optional
            Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
            UTC without a zone).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        progress : bool, optional
            True shows a bar, False none (default: when the read takes long).

        Returns
        -------
        DataFrame
            All rows, oldest first. With `page` or `page_size` one page, newest first. Columns with dtype and unit:

            - `id`: Int64. Id of the payment
            - `time`: datetime64[ms, UTC], UTC. Time of the settlement
            - `symbol`: string, symbol. Product symbol
            - `side`: string, enum name. Direction of the position: LONG or SHORT
            - `size`: float64, contracts of 1 base unit. Size of the position
            - `funding_rate`: float64, per interval. Funding rate (longs pay a positive rate, shorts receive it)
            - `amount`: float64, USDC. Funding received (negative if paid)
            - `tx_hash`: string. Hash of the transaction
            - `account`: string. Address of the account

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.funding_payments(start="7d").columns[:4].tolist()
        ['id', 'time', 'symbol', 'side']
        """
        return (yield from self._query("funding_payments", exact, index, progress, account=account, symbol=symbol,
            page=page, page_size=page_size, start=start, end=end))

    @flow
    def vault(self, vault: str, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """One vault, with the deposits of a user, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/vault/detail.

        Parameters
        ----------
        vault : str
            Address of the vault (0x and 40 hex digits).
        account : str, optional
            Account whose deposits are shown (default: the session's account).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `vault`: string. Address of the vault
            - `name`: string. Name of the vault
            - `owner`: string. Address of the owner (leader)
            - `tvl`: float64, USDC. Total value of the vault's assets
            - `price`: float64, per share. Net asset value of one share
            - `apr`: float64, a year. Annualised return of the last 30 days
            - `status`: string, enum name. OPEN or CLOSED
            - `deposits`: float64, USDC. Sum that the user deposited for the shares held
            - `current_value`: float64, USDC. Current value of the user's shares
            - `description`: string. Description written by the owner [L]
            - `total_shares`: float64, shares. Number of shares of all depositors [L]
            - `parent`: string. Address of the parent vault (missing unless it is a sub-vault) [L]
            - `created`: datetime64[ms, UTC], UTC. Time of creation [L]

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.info.vault(vault)["name"].item()
        'Fund'
        """
        return (yield from self._query("vault", exact, index, vault=vault, account=account))

    @flow
    def vaults(self, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """All vaults, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/vault/list.

        Parameters
        ----------
        account : str, optional
            Account whose deposits are shown (default: the session's account).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `vault`: string. Address of the vault
            - `name`: string. Name of the vault
            - `owner`: string. Address of the owner (leader)
            - `tvl`: float64, USDC. Total value of the vault's assets
            - `price`: float64, per share. Net asset value of one share
            - `apr`: float64, a year. Annualised return of the last 30 days
            - `status`: string, enum name. OPEN or CLOSED
            - `deposits`: float64, USDC. Sum that the user deposited for the shares held
            - `current_value`: float64, USDC. Current value of the user's shares
            - `description`: string. Description written by the owner [L]
            - `total_shares`: float64, shares. Number of shares of all depositors [L]
            - `parent`: string. Address of the parent vault (missing unless it is a sub-vault) [L]
            - `created`: datetime64[ms, UTC], UTC. Time of creation [L]

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.info.vaults()[["name", "status"]].values.tolist()
        [['LP vault', 'OPEN'], ['Fund', 'OPEN']]
        """
        return (yield from self._query("vaults", exact, index, account=account))

    @flow
    def user_vaults(self, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """Vaults in which a user has shares, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/vault/user-list.

        Parameters
        ----------
        account : str, optional
            Account of the depositor (default: the session's account).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `vault`: string. Address of the vault
            - `name`: string. Name of the vault
            - `account`: string. Address of the depositor
            - `shares`: float64, shares. Number of shares held
            - `deposits`: float64, USDC. Sum deposited for the shares held
            - `current_value`: float64, USDC. Current value of the shares
            - `pnl`: float64, USDC. Current value − deposits
            - `price`: float64, per share. Net asset value of one share
            - `locked_until`: datetime64[ms, UTC], UTC. Time from which the shares can be withdrawn
            - `status`: string, enum name. OPEN or CLOSED

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.info.user_vaults()["shares"].tolist()
        [500.0]
        """
        return (yield from self._query("user_vaults", exact, index, account=account))

    @flow
    def vault_user(self, vault: str, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """A user's shares of one vault, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/vault/user.

        Parameters
        ----------
        vault : str
            Address of the vault (0x and 40 hex digits).
        account : str, optional
            Account of the depositor (default: the session's account).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `vault`: string. Address of the vault
            - `name`: string. Name of the vault
            - `account`: string. Address of the depositor
            - `shares`: float64, shares. Number of shares held
            - `deposits`: float64, USDC. Sum deposited for the shares held
            - `current_value`: float64, USDC. Current value of the shares
            - `pnl`: float64, USDC. Current value − deposits
            - `price`: float64, per share. Net asset value of one share
            - `locked_until`: datetime64[ms, UTC], UTC. Time from which the shares can be withdrawn
            - `status`: string, enum name. OPEN or CLOSED

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.info.vault_user(vault)["shares"].item()
        500.0
        """
        return (yield from self._query("vault_user", exact, index, vault=vault, account=account))

    @flow
    def vault_history(self, vault: str, *, kind: Literal["tvl", "pnl"] = "tvl",
        interval: Literal["24h", "7d", "30d", "all-time"] = "24h", exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """Total value or profit of a vault over time, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/vault/history.

        Parameters
        ----------
        vault : str
            Address of the vault (0x and 40 hex digits).
        kind : {"tvl", "pnl"}, optional
            Total value or profit and loss (default: tvl).
        interval : {"24h", "7d", "30d", "all-time"}, optional
            How far back (default: 24h).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: oldest first. Columns with dtype and unit:

            - `time`: datetime64[ms, UTC], UTC. Time of the value
            - `value`: float64, USDC. Total value of the vault, or its PnL

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.info.vault_history(vault, kind="tvl")["value"].tolist()
        [500.0]
        """
        return (yield from self._query("vault_history", exact, index, vault=vault, kind=kind, interval=interval))

    @flow
    def vault_events(self, vault: str, *, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """Deposits, withdrawals and other events of a vault, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/vault/events.

        Parameters
        ----------
        vault : str
            Address of the vault (0x and 40 hex digits).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: 1).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: newest first. Columns with dtype and unit:

            - `id`: Int64. Id of the event
            - `time`: datetime64[ms, UTC], UTC. Time of the event
            - `kind`: string. Kind of event: CREATE, DEPOSIT, WITHDRAW, REBALANCE, UPDATE_OWNER, CLOSE, …
            - `account`: string. Address of the account that caused the event
            - `amount`: float64, USDC. Amount of USDC moved
            - `shares`: float64, shares. Number of shares issued or redeemed
            - `price`: float64, per share. Net asset value of one share
            - `leader_fee`: float64, USDC. Owner's share of a withdrawn profit
            - `tx_hash`: string. Hash of the transaction
            - `vault`: string. Address of the vault

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.info.vault_events(vault)["amount"].tolist()
        [500.0]
        """
        return (yield from self._query("vault_events", exact, index, vault=vault, page=page, page_size=page_size))

    @flow
    def vault_depositors(self, vault: str, *, exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """Depositors of a vault with their shares, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/vault/depositors.

        Parameters
        ----------
        vault : str
            Address of the vault (0x and 40 hex digits).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: largest first. Columns with dtype and unit:

            - `account`: string. Address of the depositor
            - `shares`: float64, shares. Number of shares held
            - `share`: float64, 1 = 100 %. Fraction of all shares
            - `deposits`: float64, USDC. Sum deposited for the shares held
            - `current_value`: float64, USDC. Current value of the shares
            - `pnl`: float64, USDC. Current value − deposits
            - `joined`: datetime64[ms, UTC], UTC. Time of the first deposit
            - `vault`: string. Address of the vault

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.info.vault_depositors(vault)["share"].tolist()
        [1.0]
        """
        return (yield from self._query("vault_depositors", exact, index, vault=vault))

    @flow
    def referral_code(self, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """An account's referral code and inviter, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/referral/code.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `account`: string. Address of the account
            - `code`: string. Referral code of the account
            - `inviter`: string. Address of the inviter (missing without one)
            - `inviter_code`: string. Referral code that was used
            - `bound_at`: datetime64[ms, UTC], UTC. Time of the invitation

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.referral_code()["code"].item()
        'A46573D78C'
        """
        return (yield from self._query("referral_code", exact, index, account=account))

    @flow
    def referral_summary(self, *, account: str | None = None, period: Literal["24h", "7d", "30d", "all"] = "all",
        start: int | float | str | date | datetime | timedelta | None = None,
        end: int | float | str | date | datetime | timedelta | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """Volume, fees and rewards of an account's referrals in a period, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/referral/summary.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        period : {"24h", "7d", "30d", "all"}, optional
            How far back (default: all).
        start : int, float, str, date, datetime or timedelta, optional
            Rows at or after this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC
            without a zone).
        end : int, float, str, date, datetime or timedelta, optional
            Rows up to and including this time (Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday',
            UTC without a zone).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `account`: string. Address of the account
            - `period`: string. Period of the summary: 24h, 7d, 30d or all
            - `invitees`: Int64. Number of accounts invited
            - `second_tier_invitees`: Int64. Number of accounts invited by the invitees
            - `volume`: float64, USDC. Traded value of the invitees
            - `fees`: float64, USDC. Trading fees of the invitees
            - `reward`: float64, USDC. Rewards for the invitees' fees
            - `second_tier_reward`: float64, USDC. Rewards for the fees of the accounts they invited
            - `total_reward`: float64, USDC. Sum of both rewards
            - `reward_rate`: float64, 1 = 100 %. Current reward rate: fraction of the invitees' fees

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.bind_referral(session.info.referral_code()["code"].item())
        >>> int(session.info.referral_summary(period="7d")["invitees"].item())
        1
        """
        return (yield from self._query("referral_summary", exact, index, account=account, period=period, start=start,
            end=end))

    @flow
    def referrals(self, *, account: str | None = None, page: int = 1, page_size: int = 10,
        sort_by: Literal["dateJoined", "volume", "fees", "reward"] = "dateJoined",
        sort_order: Literal["asc", "desc"] = "desc", search: str | None = None, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """The accounts that an account invited, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/referral/referrals.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: 1).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 10).
        sort_by : {"dateJoined", "volume", "fees", "reward"}, optional
            Sort key (default: dateJoined).
        sort_order : {"asc", "desc"}, optional
            Sort direction (default: desc).
        search : str, optional
            Only invitees whose address contains this text (text of 1 to 128 characters).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `account`: string. Address of the invitee
            - `joined`: datetime64[ms, UTC], UTC. Time at which the invitee joined
            - `volume`: float64, USDC. Traded value of the invitee
            - `fees`: float64, USDC. Trading fees of the invitee
            - `reward`: float64, USDC. Reward of the inviter
            - `invitees`: Int64. Number of accounts that the invitee invited

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.bind_referral(session.info.referral_code()["code"].item())
        >>> session.info.referrals(sort_by="volume")["volume"].tolist()
        [0.0]
        """
        return (yield from self._query("referrals", exact, index, account=account, page=page, page_size=page_size,
            sort_by=sort_by, sort_order=sort_order, search=search))

    @flow
    def referral_payouts(self, *, account: str | None = None, page: int = 1, page_size: int = 10, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """Referral rewards that were paid to an account, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/referral/payouts.

        Parameters
        ----------
        account : str, optional
            Account to read (default: the session's account).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: 1).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 10).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: newest first. Columns with dtype and unit:

            - `id`: Int64. Id of the payout
            - `time`: datetime64[ms, UTC], UTC. Time of the payout
            - `amount`: float64, USDC. Reward paid
            - `tier`: Int64. 1 for an invitee's fee, 2 for the fee of an account that an invitee invited
            - `account`: string. Address of the account that was paid
            - `source`: string. Address of the account whose fee is shared
            - `tx_hash`: string. Hash of the transaction

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.referral_payouts().columns.tolist()
        ['id', 'time', 'amount', 'tier', 'account', 'source', 'tx_hash']
        """
        return (yield from self._query("referral_payouts", exact, index, account=account, page=page,
            page_size=page_size))

    @flow
    def referral_tiers(self, *, exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """Reward rates by network volume, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/referral/tiers.

        Parameters
        ----------
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: by volume. Columns with dtype and unit:

            - `tier`: Int64. Number of the tier
            - `min_volume`: float64, USDC. 30-day volume of the invitees from which the tier applies
            - `reward_rate`: float64, 1 = 100 %. Fraction of the invitees' fees
            - `second_tier_rate`: float64, 1 = 100 %. Fraction of the fees of accounts that the invitees invited

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> session.info.referral_tiers()["reward_rate"].tolist()
        [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]
        """
        return (yield from self._query("referral_tiers", exact, index))

    @flow
    def builder_agents(self, *, builder: str | None = None, wallet: str | None = None, agent: str | None = None,
        approve_state: Literal["APPROVED", "REVOKED"] = "APPROVED", include_expired: bool = False, page: int = 1,
        page_size: int = 20, exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """Agent wallets authorised to a builder, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/builder/agents.

        Parameters
        ----------
        builder : str, optional
            The builder's master wallet (required, or wallet is [L]) (default: the session's account).
        wallet : str, optional
            Only this trader (0x and 40 hex digits).
        agent : str, optional
            Only this agent wallet (0x and 40 hex digits).
        approve_state : {"APPROVED", "REVOKED"}, optional
            Only this state (default: APPROVED).
        include_expired : bool, optional
            Include expired authorisations (true or false).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: 1).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 100, default: 20).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: newest first. Columns with dtype and unit:

            - `wallet`: string. Address of the trader
            - `agent`: string. Address of the authorised agent wallet
            - `builder`: string. Address of the builder's master wallet
            - `max_fee_rate`: float64, 1 = 100 %. Highest fee rate that the trader authorised
            - `expires_at`: datetime64[ms, UTC], UTC. Time at which the authorisation expires
            - `approve_state`: string. APPROVED or REVOKED
            - `expired`: boolean. True after the authorisation expired

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.register_builder("builders")
        >>> wallet, builder = other.wallet.agent, other.account
        >>> _ = session.exchange.approve_agent_to_builder(wallet, builder, "0.0005")
        >>> session.info.builder_agents(builder=builder)["max_fee_rate"].tolist()
        [0.0005]
        """
        return (yield from self._query("builder_agents", exact, index, builder=builder, wallet=wallet, agent=agent,
            approve_state=approve_state, include_expired=include_expired, page=page, page_size=page_size))

    @flow
    def transactions(self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """Transactions of a user, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/explore/transaction/page.

        Parameters
        ----------
        account : str, optional
            Account or vault that the transactions were for (default: the session's account).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: 1).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Rows: newest first. Columns with dtype and unit:

            - `tx_hash`: string. Hash of the transaction
            - `block`: Int64. Block height
            - `time`: datetime64[ms, UTC], UTC. Time of the transaction
            - `action`: string. Type of the action, such as placeOrder
            - `account`: string. Address of the account that the action was for
            - `signer`: string. Address of the signer
            - `nonce`: Int64. Nonce of the request
            - `digest`: string. Hash of the signed data, which no other request has
            - `status`: string. SUCCESS or FAILED
            - `tx_code`: Int64. 0, or the code of the failure
            - `message`: string. Message of the failure
            - `data`: object. What the action returned, where its answer came before its execution

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.info.transactions()["action"].tolist()
        ['placeOrder', 'approveAgent']
        """
        return (yield from self._query("transactions", exact, index, account=account, page=page, page_size=page_size))

    @flow
    def transaction(self, tx_hash: str, *, exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """One transaction, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/explore/transaction/detail.

        Parameters
        ----------
        tx_hash : str
            Hash of the transaction (0x and 64 hex digits).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `tx_hash`: string. Hash of the transaction
            - `block`: Int64. Block height
            - `time`: datetime64[ms, UTC], UTC. Time of the transaction
            - `action`: string. Type of the action, such as placeOrder
            - `account`: string. Address of the account that the action was for
            - `signer`: string. Address of the signer
            - `nonce`: Int64. Nonce of the request
            - `digest`: string. Hash of the signed data, which no other request has
            - `status`: string. SUCCESS or FAILED
            - `tx_code`: Int64. 0, or the code of the failure
            - `message`: string. Message of the failure
            - `data`: object. What the action returned, where its answer came before its execution

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> receipt = session.buy("BTCUSDC", "0.01")
        >>> session.info.transaction(receipt.tx_hash)["action"].item()
        'placeOrder'
        """
        return (yield from self._query("transaction", exact, index, tx_hash=tx_hash))

    @flow
    def block(self, height: int, *, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None) -> Flow[pd.DataFrame]:
        """One block with its transactions, as a DataFrame.

        Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.
        Source: docs/published.md, "Info API": GET /info/explore/block/detail.

        Parameters
        ----------
        height : int
            Height of the block (a whole number from 0).
        page : int, optional
            Page number, from 1 (a whole number from 1 to 1000000000, default: 1).
        page_size : int, optional
            Rows on a page (a whole number from 1 to 500, default: 20).
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns with dtype and unit:

            - `tx_hash`: string. Hash of the transaction
            - `block`: Int64. Block height
            - `time`: datetime64[ms, UTC], UTC. Time of the transaction
            - `action`: string. Type of the action, such as placeOrder
            - `account`: string. Address of the account that the action was for
            - `signer`: string. Address of the signer
            - `nonce`: Int64. Nonce of the request
            - `digest`: string. Hash of the signed data, which no other request has
            - `status`: string. SUCCESS or FAILED
            - `tx_code`: Int64. 0, or the code of the failure
            - `message`: string. Message of the failure
            - `data`: object. What the action returned, where its answer came before its execution

        Raises
        ------
        MalformedRequest
            For a value that breaks its rule.
        ExchangeError
            When the venue refuses.
        TransportError
            When no usable answer came.

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.info.block(1)["action"].tolist()
        ['approveAgent', 'placeOrder']
        """
        return (yield from self._query("block", exact, index, height=height, page=page, page_size=page_size))


class Info(QueryFlows, Synchronous):
    """The queries of the Info API, one method each. See `help(session.info.fills)`."""


class AsyncInfo(QueryFlows, Asynchronous):
    """The asynchronous twin of Info: the same methods as coroutine functions."""
