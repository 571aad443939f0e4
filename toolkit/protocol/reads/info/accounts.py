"""Balances, ledger and agents of an account: queries and records.

Source: docs/published.md, "Info API".
"""

from ...fields import L
from ..endpoint import Endpoint, Param
from ..rows import (
    OF_WALLET,
    AccountStatusName,
    Address,
    AgentStatusName,
    Code,
    CurrencyName,
    Hash,
    Id,
    Key,
    Money,
    Ms,
    Row,
    Text,
    Unique,
    Whole,
    optional,
    required,
)
from .parameters import ACCOUNT, CURRENCY, OWNER, PAGES, PAGES_IN_TIME


class AccountWallet(Row, identity=("userAddr", "currency"), rules=OF_WALLET, keys=(Unique(("currency",)),)):
    """Balances and equity of an account in one currency."""

    account: Address | None = optional("userAddr", "address of the account")
    currency: CurrencyName | None = optional("currency", "currency of the balance (always USDC)")
    balance: Money = required("balance", "cash balance, without the margin of isolated positions")
    available: Money | None = optional("availableBalance", "margin available for new positions and orders")
    withdrawable: Money | None = optional("availableTransferBalance", "amount that can be withdrawn")
    equity: Money | None = optional("equity", "balance + isolated margins + unrealised PnL")
    status: AccountStatusName | None = optional(
        "status", "NORMAL, or LIQUIDATING while the account is being liquidated"
    )
    block: Whole | None = optional("blockHeight", "block height of the last change")
    time: Ms | None = optional("blockTime", "time of the last change")


WALLET_BALANCES = Endpoint(
    "wallet_balances",
    "/info/account/wallet",
    "Balances and equity of an account",
    AccountWallet,
    params=(
        ACCOUNT,
        CURRENCY,
        Param("includeZero", "include_zero", "flag", "include currencies with a balance of zero"),
    ),
)


class LedgerEntry(Row, identity=("id",), time="blockTime", source=L):
    """One change of an account's balance."""

    id: Id | None = optional("id", "id of the entry", json="integer")
    time: Ms | None = optional("blockTime", "time of the change")
    kind: Text | None = optional("bizType", "kind of change, such as DEPOSIT, TRADING_FEE, REALIZED_PNL or FUNDING")
    amount: Money | None = optional("amount", "change of the balance (negative if paid)")
    balance: Money | None = optional("balance", "balance after the change")
    symbol: Code | None = optional("symbol", "product symbol (missing if the change belongs to no product)", null=True)
    reference: Text | None = optional(
        "reference", "id or address that the change belongs to: order, vault, destination, …"
    )
    counterparty: Address | None = optional(
        "counterparty", "other account (missing for deposits, withdrawals and isolated margin)", null=True
    )
    currency: CurrencyName | None = optional("currency", "currency of the balance (always USDC)")
    tx_hash: Hash | None = optional("txHash", "hash of the transaction")
    block: Whole | None = optional("blockHeight", "block height")
    account: Address | None = optional("userAddr", "address of the account")


LEDGER = Endpoint(
    "ledger",
    "/info/account/ledger",
    "Every change of an account's balance",
    LedgerEntry,
    params=(
        ACCOUNT,
        CURRENCY,
        Param("bizType", "kind", "text", "only this business type, e.g. DEPOSIT, TRADING_FEE, FUNDING"),
        Param("txHash", "tx_hash", "hash", "only entries of this transaction", ties="tx_hash"),
        *PAGES_IN_TIME,
    ),
    shape="paged",
    order="newest first",
)


class AccountAgent(Row, identity=("id",), time="approvedAt"):
    """An approval of an agent wallet."""

    id: Key | None = optional("id", "id of the approval")
    name: Text | None = optional("agentName", "name under which the agent was approved")
    agent: Address = required("agentAddress", "address of the agent wallet")
    master: Address = required("masterAddress", "address of the account that the agent acts for")
    status: AgentStatusName = required("status", "status of the approval: ACTIVE or REVOKED")
    permission: Text | None = optional("permission", "permission of the agent")
    approved_at: Ms | None = optional("approvedAt", "time of the approval")
    approved_block: Whole | None = optional("approvedBlock", "block height of the approval")
    approval_tx: Hash | None = optional("approvalTx", "hash of the transaction of the approval")
    expires_at: Ms | None = optional("expiresAt", "time at which the approval expires", source=L, ahead=True)
    revoked_at: Ms | None = optional("revokedAt", "time of the revocation (empty before it)", null=True)
    revoked_block: Whole | None = optional(
        "revokedBlock", "block height of the revocation (empty before it)", null=True
    )
    revoke_tx: Hash | None = optional(
        "revokeTx", "hash of the transaction of the revocation (empty before it)", null=True
    )


AGENTS = Endpoint(
    "agents",
    "/info/account/agent",
    "Agent wallets of an account, or masters of an agent wallet",
    AccountAgent,
    params=(
        OWNER,
        Param(
            "role",
            "role",
            "choice",
            "whether the account is the master (default) or the agent",
            choices=("MASTER", "AGENT"),
        ),
        Param("status", "status", "enum", "only this status", enum="agent_status", by_name=True),
        Param("agentAddress", "agent", "address", "only this agent wallet"),
        Param("masterAddress", "master", "address", "only agents of this master"),
        *PAGES,
    ),
    shape="paged",
    order="newest first",
)


AGENT = Endpoint(
    "agent",
    "/info/account/agent/active",
    "The active agent of an account with a given name",
    AccountAgent,
    params=(
        OWNER,
        Param("agentName", "agent_name", "text", "name under which the agent was approved", required=True),
    ),
    shape="one",
    null=True,
)
