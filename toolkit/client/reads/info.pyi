# Written by `python -m tests.stubs` from toolkit.client.reads.info; change declarations or flows instead.
# fmt: off
from datetime import date, datetime, timedelta
from typing import Literal

import pandas as pd

from toolkit.client.io.flow import Asynchronous, Synchronous, awaited
from toolkit.client.reads.reading import InfoSession

class Info(Synchronous):
    def __init__(self, session: InfoSession) -> None: ...
    def products(self, *, list_status: str | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def product(self, symbol: str | int, *, exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def wallet_balances(self, *, account: str | None = None, currency: int | None = None, include_zero: bool = False,
        exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def ledger(self, *, account: str | None = None, currency: int | None = None, kind: str | None = None,
        tx_hash: str | None = None, page: int | None = None, page_size: int | None = None,
        start: int | str | date | datetime | None = None, end: int | str | date | datetime | None = None,
        exact: bool = False, index: str | None = None, progress: bool | None = None) -> pd.DataFrame: ...
    def agents(self, *, account: str | None = None, role: Literal["MASTER", "AGENT"] | None = None,
        status: Literal["ACTIVE", "REVOKED"] | int | None = None, agent: str | None = None, master: str | None = None,
        page: int = 1, page_size: int = 20, exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def agent(self, agent_name: str, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def order_states(self, *, account: str | None = None, symbol: str | int | None = None, status: Literal["NEW",
        "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"] | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None, type: Literal["LIMIT",
        "MARKET", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT",
        "TAKE_PROFIT_MARKET", "ADL", "LIQUIDATION"] | int | None = None, order_id: int | None = None,
        client_order_id: int | None = None, parent_order_id: int | None = None, page: int | None = None,
        page_size: int | None = None, start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None, exact: bool = False, index: str | None = None,
        progress: bool | None = None) -> pd.DataFrame: ...
    def order_events(self, *, account: str | None = None, order_id: int | None = None,
        client_order_id: int | None = None, symbol: str | int | None = None, status: Literal["NEW", "PARTIALLY_FILLED",
        "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"] | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        page: int | None = None, page_size: int | None = None, start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None, exact: bool = False, index: str | None = None,
        progress: bool | None = None) -> pd.DataFrame: ...
    def positions(self, *, account: str | None = None, symbol: str | int | None = None,
        position_mode: Literal["ONE_WAY", "HEDGE"] | int | None = None, include_zero: bool = False, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def fills(self, *, account: str | None = None, symbol: str | int | None = None, order_id: int | None = None,
        exec_id: int | None = None,
        side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"] | int | None = None,
        role: Literal["MAKER", "TAKER"] | None = None, page: int | None = None, page_size: int | None = None,
        start: int | str | date | datetime | None = None, end: int | str | date | datetime | None = None,
        exact: bool = False, index: str | None = None, progress: bool | None = None) -> pd.DataFrame: ...
    def klines_last(self, symbol: str | int, interval: int | str | timedelta, *, limit: int = 100, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def klines_before(self, symbol: str | int, interval: int | str | timedelta, *,
        before: int | str | date | datetime | None = None, limit: int = 100, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def klines(self, symbol: str | int, interval: int | str | timedelta, start: int | str | date | datetime,
        end: int | str | date | datetime, *, exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def funding_rates(self, *, symbol: str | int | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def funding_rate_history(self, symbol: str | int, *, page: int | None = None, page_size: int | None = None,
        start: int | str | date | datetime | None = None, end: int | str | date | datetime | None = None,
        exact: bool = False, index: str | None = None, progress: bool | None = None) -> pd.DataFrame: ...
    def funding_payments(self, *, account: str | None = None, symbol: str | int | None = None, page: int | None = None,
        page_size: int | None = None, start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None, exact: bool = False, index: str | None = None,
        progress: bool | None = None) -> pd.DataFrame: ...
    def vault(self, vault: str, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def vaults(self, *, account: str | None = None, exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def user_vaults(self, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def vault_user(self, vault: str, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def vault_history(self, vault: str, *, kind: Literal["tvl", "pnl"] = 'tvl',
        interval: Literal["24h", "7d", "30d", "all-time"] = '7d', exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def vault_events(self, vault: str, *, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def vault_depositors(self, vault: str, *, exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def referral_code(self, *, account: str | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def referral_summary(self, *, account: str | None = None,
        period: Literal["24h", "7d", "30d", "all-time"] = 'all-time', start: int | str | date | datetime | None = None,
        end: int | str | date | datetime | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def referrals(self, *, account: str | None = None, page: int = 1, page_size: int = 20,
        sort_by: Literal["joinTime", "volume", "fees", "reward"] = 'joinTime',
        sort_order: Literal["asc", "desc"] = 'desc', search: str | None = None, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def referral_payouts(self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def referral_tiers(self, *, exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def builder_agents(self, *, builder: str | None = None, wallet: str | None = None, agent: str | None = None,
        approve_state: Literal["APPROVED", "REVOKED"] = 'APPROVED', include_expired: bool = False, page: int = 1,
        page_size: int = 20, exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def transactions(self, *, account: str | None = None, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...
    def transaction(self, tx_hash: str, *, exact: bool = False, index: str | None = None) -> pd.DataFrame: ...
    def block(self, height: int, *, page: int = 1, page_size: int = 20, exact: bool = False,
        index: str | None = None) -> pd.DataFrame: ...

class AsyncInfo(Asynchronous):
    def __init__(self, session: InfoSession) -> None: ...
    products = awaited(Info.products)
    product = awaited(Info.product)
    wallet_balances = awaited(Info.wallet_balances)
    ledger = awaited(Info.ledger)
    agents = awaited(Info.agents)
    agent = awaited(Info.agent)
    order_states = awaited(Info.order_states)
    order_events = awaited(Info.order_events)
    positions = awaited(Info.positions)
    fills = awaited(Info.fills)
    klines_last = awaited(Info.klines_last)
    klines_before = awaited(Info.klines_before)
    klines = awaited(Info.klines)
    funding_rates = awaited(Info.funding_rates)
    funding_rate_history = awaited(Info.funding_rate_history)
    funding_payments = awaited(Info.funding_payments)
    vault = awaited(Info.vault)
    vaults = awaited(Info.vaults)
    user_vaults = awaited(Info.user_vaults)
    vault_user = awaited(Info.vault_user)
    vault_history = awaited(Info.vault_history)
    vault_events = awaited(Info.vault_events)
    vault_depositors = awaited(Info.vault_depositors)
    referral_code = awaited(Info.referral_code)
    referral_summary = awaited(Info.referral_summary)
    referrals = awaited(Info.referrals)
    referral_payouts = awaited(Info.referral_payouts)
    referral_tiers = awaited(Info.referral_tiers)
    builder_agents = awaited(Info.builder_agents)
    transactions = awaited(Info.transactions)
    transaction = awaited(Info.transaction)
    block = awaited(Info.block)
