"""Every Info query by name and by path. The declarations are in `info`, by subject.

The venue's routes and parameter errors, the client's methods and frames, and the reference tables of the documentation
are derived from `ENDPOINTS`.
"""

from __future__ import annotations

from .endpoint import Endpoint
from .info import accounts, builders, candles, explorer, funding, orders, positions, products, referrals, vaults
from .rows import Record, Row

ENDPOINTS: dict[str, Endpoint[Row]] = {
    query.name: query
    for query in (
        products.PRODUCTS,
        products.PRODUCT,
        accounts.WALLET_BALANCES,
        accounts.LEDGER,
        accounts.AGENTS,
        accounts.AGENT,
        orders.ORDER_STATES,
        orders.ORDER_EVENTS,
        positions.POSITIONS,
        orders.FILLS,
        candles.KLINES_LAST,
        candles.KLINES_BEFORE,
        candles.KLINES,
        funding.FUNDING_RATES,
        funding.FUNDING_RATE_HISTORY,
        funding.FUNDING_PAYMENTS,
        vaults.VAULT,
        vaults.VAULTS,
        vaults.USER_VAULTS,
        vaults.VAULT_USER,
        vaults.VAULT_HISTORY,
        vaults.VAULT_EVENTS,
        vaults.VAULT_DEPOSITORS,
        referrals.REFERRAL_CODE,
        referrals.REFERRAL_SUMMARY,
        referrals.REFERRALS,
        referrals.REFERRAL_PAYOUTS,
        referrals.REFERRAL_TIERS,
        builders.BUILDER_AGENTS,
        explorer.TRANSACTIONS,
        explorer.TRANSACTION,
        explorer.BLOCK,
    )
}
"""Python name → declaration, in the order of the reference."""

BY_PATH: dict[str, Endpoint[Row]] = {query.path: query for query in ENDPOINTS.values()}
"""Path → declaration."""

MARGIN_TABLES = "marginTables"
"""Member of the product list's data that has the margin tables."""
META_RECORDS: dict[str, Record] = {
    MARGIN_TABLES: products.MarginTier.declared,
    "currencies": products.Currency.declared,
}
"""Further members of the product list's data → record of their rows. A margin table has a row for each tier."""
