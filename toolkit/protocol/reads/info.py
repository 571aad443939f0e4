"""Info queries: one declaration for each path, with its parameters, checks, record and paging.

The venue's routes and parameter errors, the client's methods and frames, and the reference table of the documentation
are derived from `ENDPOINTS`. Source: docs/published.md, "Info API". Endpoints whose records the venue does not publish
are marked `published=False`. Their records are those of the local venue.
"""

from __future__ import annotations

from .endpoint import Endpoint
from .info_params import (
    ACCOUNT,
    CODE,
    CURRENCY,
    END,
    INTERVAL,
    ORDER_SIDE_FILTER,
    PAGE,
    PAGE_SIZE,
    SIZE,
    START,
    SYMBOL_NAME,
    address,
    choice,
    flag,
    integer,
    named,
    text,
    time_ms,
    txhash,
)
from .info_records import (
    ACCOUNT_AGENT,
    BUILDER_AGENT,
    CURRENCY_META,
    FUNDING_PAYMENT,
    FUNDING_RATE,
    FUNDING_RATE_POINT,
    KLINE,
    LEDGER_ENTRY,
    MARGIN_TIER,
    ORDER_EVENT,
    ORDER_STATE,
    PAYOUT,
    POSITION,
    PRODUCT,
    REFERRAL,
    REFERRAL_CODE,
    REFERRAL_SUMMARY,
    REFERRAL_TIER,
    TRADE,
    TRANSACTION,
    USER_VAULT,
    VAULT,
    VAULT_DEPOSITOR,
    VAULT_EVENT,
    VAULT_POINT,
    WALLET,
)
from .record import Record, field_table

_WINDOW = (START, END)
_PAGED = (PAGE, PAGE_SIZE)
_VAULT_ADDRESS = address("vaultAddress", "vault", "address of the vault", required=True)
_NEWEST = "newest first"

_DECLARED = (
    Endpoint(
        "products",
        "/info/public/product-meta",
        "All products with their limits, margin tables and fees",
        PRODUCT,
        [text("listStatus", "list_status", "only products with this listing status, e.g. listed")],
        shape="one",
        items="perpProducts",
        order="by code",
    ),
    Endpoint(
        "product",
        "/info/single",
        "One product with its limits, margin table and fees",
        PRODUCT,
        [CODE.needed()],
        shape="one",
        items="perpProducts",
    ),
    Endpoint(
        "wallet_balances",
        "/info/account/wallet",
        "Balances and equity of an account",
        WALLET,
        [ACCOUNT, CURRENCY, flag("includeZero", "include_zero", "include currencies with a balance of zero")],
        formerly="wallet",
    ),
    Endpoint(
        "ledger",
        "/info/account/ledger",
        "Every change of an account's balance",
        LEDGER_ENTRY,
        [
            ACCOUNT,
            CURRENCY,
            text("bizType", "kind", "only this business type, e.g. DEPOSIT, TRADING_FEE, FUNDING"),
            txhash("txHash", "tx_hash", "only entries of this transaction"),
            *_PAGED,
            *_WINDOW,
        ],
        shape="paged",
        order=_NEWEST,
        published=False,
    ),
    Endpoint(
        "agents",
        "/info/account/agent",
        "Agent wallets of an account, or masters of an agent wallet",
        ACCOUNT_AGENT,
        [
            ACCOUNT,
            choice("role", "role", ("MASTER", "AGENT"), "whether the account is the master (default) or the agent"),
            named("status", "status", "agent_status", "only this status"),
            address("agentAddress", "agent", "only this agent wallet"),
            address("masterAddress", "master", "only agents of this master"),
            *_PAGED,
        ],
        shape="paged",
        order=_NEWEST,
    ),
    Endpoint(
        "agent",
        "/info/account/agent/active",
        "The active agent of an account with a given name",
        ACCOUNT_AGENT,
        [ACCOUNT, text("agentName", "agent_name", "name under which the agent was approved", required=True)],
        shape="one",
    ),
    Endpoint(
        "order_states",
        "/info/order/states",
        "Latest state of each order of an account",
        ORDER_STATE,
        [
            ACCOUNT,
            CODE,
            named("status", "status", "order_status", "only this status; untriggered conditional orders are not NEW"),
            ORDER_SIDE_FILTER,
            named("type", "type", "order_type", "only this order type"),
            integer("orderId", "order_id", "only this order", low=0),
            integer("clientOrderId", "client_order_id", "only this client order id", low=-(2**63)),
            integer("parentOrderId", "parent_order_id", "only children of this order", low=0),
            *_PAGED,
            *_WINDOW,
        ],
        shape="paged",
        order=_NEWEST,
    ),
    Endpoint(
        "order_events",
        "/info/order/events",
        "Every event in the life of an account's orders",
        ORDER_EVENT,
        [
            ACCOUNT,
            integer("orderId", "order_id", "only this order", low=0),
            integer("clientOrderId", "client_order_id", "only this client order id", low=-(2**63)),
            CODE,
            named("execStatus", "status", "exec_status", "only events with this status"),
            ORDER_SIDE_FILTER,
            *_PAGED,
            *_WINDOW,
        ],
        shape="paged",
        order=_NEWEST,
    ),
    Endpoint(
        "positions",
        "/info/position/list",
        "Positions of an account",
        POSITION,
        [
            ACCOUNT,
            CODE,
            named("posMode", "position_mode", "position_mode", "only positions in this position mode"),
            flag("includeZero", "include_zero", "include positions of size zero"),
        ],
        order="by code",
    ),
    Endpoint(
        "fills",
        "/info/trade/page",
        "Fills of an account",
        TRADE,
        [
            ACCOUNT,
            CODE,
            integer("orderId", "order_id", "only fills of this order", low=0),
            integer("execId", "exec_id", "only this execution", low=0),
            ORDER_SIDE_FILTER,
            choice("role", "role", ("MAKER", "TAKER"), "only fills as maker or as taker"),
            *_PAGED,
            *_WINDOW,
        ],
        shape="paged",
        order=_NEWEST,
        formerly="trades",
    ),
    Endpoint(
        "klines_last",
        "/info/kline/last",
        "The latest candles of a product",
        KLINE,
        [
            SYMBOL_NAME,
            INTERVAL,
            integer("limit", "limit", "most candles to return", low=1, high=1000, default=100),
        ],
        order=_NEWEST,
    ),
    Endpoint(
        "klines_before",
        "/info/kline/before",
        "Candles that started before a time",
        KLINE,
        [
            SYMBOL_NAME,
            INTERVAL,
            time_ms("timestamp", "before", "candles that start before this time (default: now)"),
            integer("limit", "limit", "most candles to return", low=1, high=1000, default=100),
        ],
        order=_NEWEST,
    ),
    Endpoint(
        "klines",
        "/info/kline/list",
        "Candles of a product that start in a time window",
        KLINE,
        [
            SYMBOL_NAME,
            INTERVAL,
            START.needed(),
            END.needed(),
        ],
        order="oldest first",
    ),
    Endpoint(
        "funding_rates",
        "/info/fundingRate/current",
        "The current funding rate of each product",
        FUNDING_RATE,
        [CODE],
        order="by code",
        published=False,
    ),
    Endpoint(
        "funding_rate_history",
        "/info/fundingRate/history",
        "Settled funding rates of a product",
        FUNDING_RATE_POINT,
        [CODE.needed(), *_PAGED, *_WINDOW],
        shape="paged",
        order=_NEWEST,
        published=False,
    ),
    Endpoint(
        "funding_payments",
        "/info/funding/history",
        "Funding payments of an account",
        FUNDING_PAYMENT,
        [ACCOUNT, CODE, *_PAGED, *_WINDOW],
        shape="paged",
        order=_NEWEST,
        published=False,
    ),
    Endpoint(
        "vault",
        "/info/vault/detail",
        "One vault, with the deposits of a user",
        VAULT,
        [_VAULT_ADDRESS, address("userAddress", "account", "account whose deposits are shown", fill="account")],
        shape="one",
    ),
    Endpoint(
        "vaults",
        "/info/vault/list",
        "All vaults",
        VAULT,
        [address("userAddress", "account", "account whose deposits are shown", fill="account")],
        published=False,
    ),
    Endpoint(
        "user_vaults",
        "/info/vault/user-list",
        "Vaults in which a user has shares",
        USER_VAULT,
        [address("userAddress", "account", "account of the depositor", required=True, fill="account")],
        published=False,
    ),
    Endpoint(
        "vault_user",
        "/info/vault/user",
        "A user's shares of one vault",
        USER_VAULT,
        [_VAULT_ADDRESS, address("userAddress", "account", "account of the depositor", required=True, fill="account")],
        shape="one",
        published=False,
    ),
    Endpoint(
        "vault_history",
        "/info/vault/history",
        "Total value or profit of a vault over time",
        VAULT_POINT,
        [
            _VAULT_ADDRESS,
            choice("type", "kind", ("tvl", "pnl"), "total value or profit and loss", default="tvl"),
            choice("interval", "interval", ("24h", "7d", "30d", "all-time"), "how far back", default="7d"),
        ],
        order="oldest first",
        published=False,
    ),
    Endpoint(
        "vault_events",
        "/info/vault/events",
        "Deposits, withdrawals and other events of a vault",
        VAULT_EVENT,
        [_VAULT_ADDRESS, *_PAGED],
        shape="paged",
        order=_NEWEST,
        published=False,
    ),
    Endpoint(
        "vault_depositors",
        "/info/vault/depositors",
        "Depositors of a vault with their shares",
        VAULT_DEPOSITOR,
        [_VAULT_ADDRESS],
        order="largest first",
        published=False,
    ),
    Endpoint(
        "referral_code",
        "/info/referral/code",
        "An account's referral code and inviter",
        REFERRAL_CODE,
        [ACCOUNT],
        shape="one",
        published=False,
    ),
    Endpoint(
        "referral_summary",
        "/info/referral/summary",
        "Volume, fees and rewards of an account's referrals in a period",
        REFERRAL_SUMMARY,
        [
            ACCOUNT,
            choice("period", "period", ("24h", "7d", "30d", "all-time"), "how far back", default="all-time"),
            *_WINDOW,
        ],
        shape="one",
        published=False,
    ),
    Endpoint(
        "referrals",
        "/info/referral/referrals",
        "The accounts that an account invited",
        REFERRAL,
        [
            ACCOUNT,
            PAGE,
            SIZE,
            choice("sortBy", "sort_by", ("joinTime", "volume", "fees", "reward"), "sort key", default="joinTime"),
            choice("sortOrder", "sort_order", ("asc", "desc"), "sort direction", default="desc"),
            text("search", "search", "only invitees whose address contains this text"),
        ],
        shape="paged",
        published=False,
    ),
    Endpoint(
        "referral_payouts",
        "/info/referral/payouts",
        "Referral rewards that were paid to an account",
        PAYOUT,
        [ACCOUNT, PAGE, SIZE],
        shape="paged",
        order=_NEWEST,
        published=False,
    ),
    Endpoint(
        "referral_tiers",
        "/info/referral/tiers",
        "Reward rates by network volume",
        REFERRAL_TIER,
        order="by volume",
        published=False,
    ),
    Endpoint(
        "builder_agents",
        "/info/builder/agents",
        "Agent wallets authorised to a builder",
        BUILDER_AGENT,
        [
            address(
                "builder",
                "builder",
                "the builder's master wallet (required, or wallet is [L])",
                fill="account",
                unless="wallet",
            ),
            address("wallet", "wallet", "only this trader"),
            address("agent", "agent", "only this agent wallet"),
            choice("approveState", "approve_state", ("APPROVED", "REVOKED"), "only this state", default="APPROVED"),
            flag("includeExpired", "include_expired", "include expired authorisations"),
            PAGE,
            PAGE_SIZE.capped(100),
        ],
        shape="paged",
        items="agents",
        order=_NEWEST,
    ),
    Endpoint(
        "transactions",
        "/info/explore/transaction/page",
        "Transactions of a user",
        TRANSACTION,
        [
            address(
                "user", "account", "account or vault that the transactions were for", required=True, fill="account"
            ),
            *_PAGED,
        ],
        shape="paged",
        order=_NEWEST,
        published=False,
    ),
    Endpoint(
        "transaction",
        "/info/explore/transaction/detail",
        "One transaction",
        TRANSACTION,
        [txhash("txHash", "tx_hash", "hash of the transaction", required=True)],
        shape="one",
        published=False,
    ),
    Endpoint(
        "block",
        "/info/explore/block/detail",
        "One block with its transactions",
        TRANSACTION,
        [integer("blockHeight", "height", "height of the block", required=True, low=0), *_PAGED],
        shape="paged",
        published=False,
    ),
)

ENDPOINTS: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in _DECLARED}
"""Python name → declaration."""

FORMER_NAMES: dict[str, str] = {endpoint.formerly: endpoint.name for endpoint in _DECLARED if endpoint.formerly}
"""Earlier Python name → name."""

META_RECORDS: dict[str, Record] = {"marginTables": MARGIN_TIER, "currencies": CURRENCY_META}
"""Further members of the product list's data → record of their rows. A margin table has a row for each tier."""

BY_PATH: dict[str, Endpoint] = {endpoint.path: endpoint for endpoint in _DECLARED}
"""Path → declaration."""


def reference_table() -> str:
    """Return the queries and their records as Markdown: paths, parameters (bold: required), then the fields.

    [L] marks what the venue does not publish: answers, records and fields that are the local venue's own.
    """
    lines = ["| Method | Path | Parameters | Record |", "|---|---|---|---|"]
    records: dict[str, Record] = {}
    for endpoint in _DECLARED:
        record = records.setdefault(endpoint.record.name, endpoint.record)
        params = ", ".join(f"**{name}**" if param.required else name for name, param in endpoint.params.items())
        mark = "" if endpoint.published else " [L]"
        lines.append(f"| `{endpoint.name}` | `{endpoint.path}`{mark} | {params or '–'} | {record.name} |")
    for record in (*records.values(), *META_RECORDS.values()):
        lines += field_table(record)
    return "\n".join(lines)
