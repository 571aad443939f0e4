# Written by `python -m tests.stubs` from toolkit.client.reads.info; change declarations or flows instead.
# fmt: off
from collections.abc import Coroutine
from datetime import date, datetime, timedelta
from typing import Any, Generic, Literal, TypeVar

import pandas as pd

from toolkit.client.io.flow import Asynchronous, Synchronous
from toolkit.client.reads.reading import InfoSession

DataFrame = TypeVar("DataFrame")

class _Methods(Generic[DataFrame]):
    def __init__(self, session: InfoSession) -> None: ...
    def products(
        self, *, list_status: str | None = None, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def product(self, symbol: str | int, *, exact: bool = False, index: str | None = None) -> DataFrame: ...
    def wallet_balances(
        self, *, account: str | None = None, currency: int | None = None, include_zero: bool = False,
        exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def ledger(
        self, *, account: str | None = None, currency: int | None = None, kind: str | None = None,
        tx_hash: str | None = None, page: int | None = None, page_size: int | None = None,
        start: int | str | date | datetime | None = None, end: int | str | date | datetime | None = None,
        exact: bool = False, index: str | None = None, progress: bool | None = None
    ) -> DataFrame: ...
    def agents(
        self, *, account: str | None = None, role: Literal["MASTER", "AGENT"] | None = None,
        status: Literal["ACTIVE", "REVOKED"] | int | None = None, agent: str | None = None, master: str | None = None,
        page: int = 1, page_size: int = 20, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def agent(
        self, agent_name: str, *, account: str | None = None, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def order_states(
        self, *, account: str | None = None, symbol: str | int | None = None, status: Literal["NEW", "PARTIALLY_FILLED",
        "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"] | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None, type: Literal["LIMIT",
        "MARKET", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT",
        "TAKE_PROFIT_MARKET", "ADL", "LIQUIDATION"] | int | None = None, order_id: int | None = None,
        client_order_id: int | None = None, parent_order_id: int | None = None, page: int | None = None,
        page_size: int | None = None, start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None, exact: bool = False, index: str | None = None,
        progress: bool | None = None
    ) -> DataFrame: ...
    def order_events(
        self, *, account: str | None = None, order_id: int | None = None, client_order_id: int | None = None,
        symbol: str | int | None = None, status: Literal["NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED",
        "ORDER_STATUS_UNTRIGGERED", "REJECTED"] | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        page: int | None = None, page_size: int | None = None, start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None, exact: bool = False, index: str | None = None,
        progress: bool | None = None
    ) -> DataFrame: ...
    def positions(
        self, *, account: str | None = None, symbol: str | int | None = None,
        position_mode: Literal["ONE_WAY", "HEDGE"] | int | None = None, include_zero: bool = False, exact: bool = False,
        index: str | None = None
    ) -> DataFrame: ...
    def fills(
        self, *, account: str | None = None, symbol: str | int | None = None, order_id: int | None = None,
        exec_id: int | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        role: Literal["MAKER", "TAKER"] | None = None, page: int | None = None, page_size: int | None = None,
        start: int | str | date | datetime | None = None, end: int | str | date | datetime | None = None,
        exact: bool = False, index: str | None = None, progress: bool | None = None
    ) -> DataFrame: ...
    def klines_last(
        self, symbol: str | int, interval: int | str | timedelta, *, limit: int = 100, exact: bool = False,
        index: str | None = None
    ) -> DataFrame: ...
    def klines_before(
        self, symbol: str | int, interval: int | str | timedelta, *, before: int | str | date | datetime | None = None,
        limit: int = 100, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def klines(
        self, symbol: str | int, interval: int | str | timedelta, start: int | str | date | datetime,
        end: int | str | date | datetime, *, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def funding_rates(
        self, *, symbol: str | int | None = None, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def funding_rate_history(
        self, symbol: str | int, *, page: int | None = None, page_size: int | None = None,
        start: int | str | date | datetime | None = None, end: int | str | date | datetime | None = None,
        exact: bool = False, index: str | None = None, progress: bool | None = None
    ) -> DataFrame: ...
    def funding_payments(
        self, *, account: str | None = None, symbol: str | int | None = None, page: int | None = None,
        page_size: int | None = None, start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None, exact: bool = False, index: str | None = None,
        progress: bool | None = None
    ) -> DataFrame: ...
    def vault(
        self, vault: str, *, account: str | None = None, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def vaults(self, *, account: str | None = None, exact: bool = False, index: str | None = None) -> DataFrame: ...
    def user_vaults(
        self, *, account: str | None = None, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def vault_user(
        self, vault: str, *, account: str | None = None, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def vault_history(
        self, vault: str, *, kind: Literal["tvl", "pnl"] = 'tvl',
        interval: Literal["24h", "7d", "30d", "all-time"] = '7d', exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def vault_events(
        self, vault: str, *, page: int = 1, page_size: int = 20, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def vault_depositors(self, vault: str, *, exact: bool = False, index: str | None = None) -> DataFrame: ...
    def referral_code(
        self, *, account: str | None = None, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def referral_summary(
        self, *, account: str | None = None, period: Literal["24h", "7d", "30d", "all-time"] = 'all-time',
        start: int | str | date | datetime | None = None, end: int | str | date | datetime | None = None,
        exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def referrals(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20,
        sort_by: Literal["joinTime", "volume", "fees", "reward"] = 'joinTime',
        sort_order: Literal["asc", "desc"] = 'desc', search: str | None = None, exact: bool = False,
        index: str | None = None
    ) -> DataFrame: ...
    def referral_payouts(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None
    ) -> DataFrame: ...
    def referral_tiers(self, *, exact: bool = False, index: str | None = None) -> DataFrame: ...
    def builder_agents(
        self, *, builder: str | None = None, wallet: str | None = None, agent: str | None = None,
        approve_state: Literal["APPROVED", "REVOKED"] = 'APPROVED', include_expired: bool = False, page: int = 1,
        page_size: int = 20, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def transactions(
        self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None
    ) -> DataFrame: ...
    def transaction(self, tx_hash: str, *, exact: bool = False, index: str | None = None) -> DataFrame: ...
    def block(
        self, height: int, *, page: int = 1, page_size: int = 20, exact: bool = False, index: str | None = None
    ) -> DataFrame: ...
    def __repr__(self) -> str: ...

class Info(_Methods[pd.DataFrame], Synchronous): ...

class AsyncInfo(_Methods[Coroutine[Any, Any, pd.DataFrame]], Asynchronous): ...
