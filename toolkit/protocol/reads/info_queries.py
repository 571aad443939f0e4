"""Info queries: one declaration for each path, with its parameters, checks, record and paging.

The venue's routes and parameter errors, the client's methods and frames, and the reference table of the documentation
are derived from `ENDPOINTS`. Source: docs/published.md, "Info API". Endpoints whose records the venue does not publish
are marked [L]. Their records are those of the local venue.

A query is declared by a line `name path Record [shape] [with:Record] [was:former name] [L][; order of the rows] —
summary` and its parameters, as `endpoint.param` reads them. Names alone are those of `_SHARED`. `!` makes one required
here. A long summary has its own line. The record after `with:` has the members of the data other than the rows. `one?`
may be null.
"""

from __future__ import annotations

import re

from .endpoint import Endpoint, endpoint, param
from .info_records import RECORDS
from .rows import Record

_SHARED = """
userAddr account address! fill=account — account to read
symbol symbol code — only this product
symbol_name symbol symbol! — product to read
interval interval integer! range=60..604800 multiple=60 — length of a candle in seconds
limit limit integer range=1..1000 default=100 — most candles to return
currency currency integer range=0..2147483648 — only this currency, 1 is USDC
side side enum:order_side — only this side
page page page range=1..1000000000 default=1 — page number, from 1
pageSize page_size page range=1..500 default=20 — rows on a page
size page_size page range=1..500 default=20 — rows on a page
startTime start time — rows at or after this time
endTime end time — rows up to and including this time
vaultAddress vault address! — address of the vault
orderId order_id integer — only this order
clientOrderId client_order_id int64 — only this client order id
userAddress account address fill=account — account whose deposits are shown
"""

_QUERIES = """
products /info/public/product-meta ProductMeta one:perpProducts with:ProductList; by code
    — All products with their limits, margin tables and fees
    listStatus list_status text — only products with this listing status, e.g. listed
product /info/single ProductMeta one:perpProducts with:ProductList — One product with its limits, margin table and fees
    symbol!
wallet_balances /info/account/wallet AccountWallet was:wallet — Balances and equity of an account
    userAddr currency
    includeZero include_zero flag — include currencies with a balance of zero
ledger /info/account/ledger LedgerEntry paged [L]; newest first — Every change of an account's balance
    userAddr currency
    bizType kind text — only this business type, e.g. DEPOSIT, TRADING_FEE, FUNDING
    txHash tx_hash hash — only entries of this transaction
    page pageSize startTime endTime
agents /info/account/agent AccountAgent paged; newest first — Agent wallets of an account, or masters of an agent wallet
    userAddr
    role role choice:MASTER|AGENT — whether the account is the master (default) or the agent
    status status enum:agent_status — only this status
    agentAddress agent address — only this agent wallet
    masterAddress master address — only agents of this master
    page pageSize
agent /info/account/agent/active AccountAgent one? — The active agent of an account with a given name
    userAddr
    agentName agent_name text! — name under which the agent was approved
order_states /info/order/states OrderState paged; newest first — Latest state of each order of an account
    userAddr symbol
    status status enum:order_status — only this status (untriggered conditional orders are not NEW)
    side
    type type enum:order_type — only this order type
    orderId clientOrderId
    parentOrderId parent_order_id integer — only children of this order
    page pageSize startTime endTime
order_events /info/order/events OrderEvent paged; newest first — Every event in the life of an account's orders
    userAddr orderId clientOrderId symbol
    execStatus status enum:exec_status — only events with this status
    side page pageSize startTime endTime
positions /info/position/list Position; by code — Positions of an account
    userAddr symbol
    posMode position_mode enum:position_mode — only positions in this position mode
    includeZero include_zero flag — include positions of size zero
fills /info/trade/page Trade paged was:trades; newest first — Fills of an account
    userAddr symbol
    orderId order_id integer — only fills of this order
    execId exec_id integer — only this execution
    side
    role role choice:MAKER|TAKER — only fills as maker or as taker
    page pageSize startTime endTime
klines_last /info/kline/last Kline; newest first — The latest candles of a product
    symbol_name interval limit
klines_before /info/kline/before Kline; newest first — Candles that started before a time
    symbol_name interval
    timestamp before time — candles that start before this time (default: now)
    limit
klines /info/kline/list Kline; oldest first — Candles of a product that start in a time window
    symbol_name interval startTime! endTime!
funding_rates /info/fundingRate/current FundingRate [L]; by code — The current funding rate of each product
    symbol
funding_rate_history /info/fundingRate/history FundingRatePoint paged [L]; newest first
    — Settled funding rates of a product
    symbol! page pageSize startTime endTime
funding_payments /info/funding/history FundingPayment paged [L]; newest first — Funding payments of an account
    userAddr symbol page pageSize startTime endTime
vault /info/vault/detail Vault one — One vault, with the deposits of a user
    vaultAddress userAddress
vaults /info/vault/list Vault [L] — All vaults
    userAddress
user_vaults /info/vault/user-list UserVault [L] — Vaults in which a user has shares
    userAddress account address! fill=account — account of the depositor
vault_user /info/vault/user UserVault one [L] — A user's shares of one vault
    vaultAddress
    userAddress account address! fill=account — account of the depositor
vault_history /info/vault/history VaultPoint [L]; oldest first — Total value or profit of a vault over time
    vaultAddress
    type kind choice:tvl|pnl default=tvl — total value or profit and loss
    interval interval choice:24h|7d|30d|all-time default=7d — how far back
vault_events /info/vault/events VaultEvent paged [L]; newest first — Deposits, withdrawals and other events of a vault
    vaultAddress page pageSize
vault_depositors /info/vault/depositors VaultDepositor [L]; largest first — Depositors of a vault with their shares
    vaultAddress
referral_code /info/referral/code ReferralCode one [L] — An account's referral code and inviter
    userAddr
referral_summary /info/referral/summary ReferralSummary one [L]
    — Volume, fees and rewards of an account's referrals in a period
    userAddr
    period period choice:24h|7d|30d|all-time default=all-time — how far back
    startTime endTime
referrals /info/referral/referrals Referral paged [L] — The accounts that an account invited
    userAddr page size
    sortBy sort_by choice:joinTime|volume|fees|reward default=joinTime — sort key
    sortOrder sort_order choice:asc|desc default=desc — sort direction
    search search text — only invitees whose address contains this text
referral_payouts /info/referral/payouts ReferralPayout paged [L]; newest first
    — Referral rewards that were paid to an account
    userAddr page size
referral_tiers /info/referral/tiers ReferralTier [L]; by volume — Reward rates by network volume
builder_agents /info/builder/agents BuilderAgent paged:agents with:BuilderPage; newest first
    — Agent wallets authorised to a builder
    builder builder address fill=account unless=wallet — the builder's master wallet (required, or wallet is [L])
    wallet wallet address — only this trader
    agent agent address — only this agent wallet
    approveState approve_state choice:APPROVED|REVOKED default=APPROVED — only this state
    includeExpired include_expired flag — include expired authorisations
    page
    pageSize page_size page range=1..100 default=20 — rows on a page
transactions /info/explore/transaction/page Transaction paged [L]; newest first — Transactions of a user
    user account address! fill=account — account or vault that the transactions were for
    page pageSize
transaction /info/explore/transaction/detail Transaction one? [L] — One transaction
    txHash tx_hash hash! — hash of the transaction
block /info/explore/block/detail Transaction paged with:BlockPage [L] — One block with its transactions
    blockHeight height integer! — height of the block
    page pageSize
"""


def _declared() -> list[Endpoint]:
    """Return the queries that the lines of _QUERIES declare: one begins where a line is not indented."""
    shared = {made.wire: made for made in map(param, _SHARED.strip().splitlines())}
    blocks = re.split(r"\n(?=\w)", _QUERIES.replace("\n    — ", " — ").strip())
    return [endpoint(block.splitlines(), RECORDS, shared) for block in blocks]


ENDPOINTS: dict[str, Endpoint] = {declared.name: declared for declared in _declared()}
"""Python name → declaration."""

FORMER_NAMES: dict[str, str] = {query.formerly: query.name for query in ENDPOINTS.values() if query.formerly}
"""Earlier Python name → name."""

META_RECORDS: dict[str, Record] = {"marginTables": RECORDS["MarginTier"], "currencies": RECORDS["Currency"]}
"""Further members of the product list's data → record of their rows. A margin table has a row for each tier."""

BY_PATH: dict[str, Endpoint] = {query.path: query for query in ENDPOINTS.values()}
"""Path → declaration."""
