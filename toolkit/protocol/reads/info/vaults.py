"""Vaults, their depositors and their history: queries and records.

Source: docs/published.md, "Info API".
"""

from dataclasses import replace

from ...fields import L
from ..endpoint import Endpoint, Param
from ..rows import Address, Hash, Id, Money, Ms, Price, Quantity, Ratio, Row, Text, VaultStatusName, optional
from .parameters import DEPOSITOR, PAGES, VAULT_ADDRESS


class Vault(Row, identity=("vaultAddress",)):
    """A vault."""

    vault: Address | None = optional("vaultAddress", "address of the vault")
    name: Text | None = optional("vaultName", "name of the vault")
    owner: Address | None = optional("ownerAddress", "address of the owner (leader)")
    tvl: Money | None = optional("tvl", "total value of the vault's assets")
    price: Price | None = optional("price", "net asset value of one share", unit="per share")
    apr: Ratio | None = optional("apr", "annualised return of the last 30 days", unit="a year", null=True)
    status: VaultStatusName | None = optional("status", "OPEN or CLOSED")
    deposits: Money | None = optional("yourDeposits", "sum that the user deposited for the shares held")
    current_value: Money | None = optional("userCurrentValue", "current value of the user's shares")
    description: Text | None = optional("description", "description written by the owner", source=L, sent=True)
    total_shares: Quantity | None = optional(
        "totalShares", "number of shares of all depositors", unit="shares", source=L, sent=True
    )
    parent: Address | None = optional(
        "parentAddress", "address of the parent vault (missing unless it is a sub-vault)", source=L, sent=True
    )
    created: Ms | None = optional("createTime", "time of creation", source=L, sent=True)


VAULT = Endpoint(
    "vault",
    "/info/vault/detail",
    "One vault, with the deposits of a user",
    Vault,
    params=(VAULT_ADDRESS, DEPOSITOR),
    shape="one",
)


VAULTS = Endpoint(
    "vaults",
    "/info/vault/list",
    "All vaults",
    Vault,
    params=(DEPOSITOR,),
    source=L,
)


class UserVault(Row, identity=("vaultAddress", "userAddress"), source=L):
    """The shares of a user in a vault."""

    vault: Address | None = optional("vaultAddress", "address of the vault")
    name: Text | None = optional("vaultName", "name of the vault")
    account: Address | None = optional("userAddress", "address of the depositor")
    shares: Quantity | None = optional("shares", "number of shares held", unit="shares")
    deposits: Money | None = optional("deposits", "sum deposited for the shares held")
    current_value: Money | None = optional("currentValue", "current value of the shares")
    pnl: Money | None = optional("pnl", "current value − deposits")
    price: Price | None = optional("price", "net asset value of one share", unit="per share")
    locked_until: Ms | None = optional("lockedUntil", "time from which the shares can be withdrawn", ahead=True)
    status: VaultStatusName | None = optional("status", "OPEN or CLOSED")


USER_VAULTS = Endpoint(
    "user_vaults",
    "/info/vault/user-list",
    "Vaults in which a user has shares",
    UserVault,
    params=(replace(DEPOSITOR, about="account of the depositor", required=True, ties="account"),),
)


VAULT_USER = Endpoint(
    "vault_user",
    "/info/vault/user",
    "A user's shares of one vault",
    UserVault,
    params=(
        VAULT_ADDRESS,
        replace(DEPOSITOR, about="account of the depositor", required=True, ties="account"),
    ),
    shape="one",
)


class VaultPoint(Row, identity=("timestamp",), unique=False, time="timestamp", source=L):
    """The value of a vault at one time."""

    time: Ms | None = optional("timestamp", "time of the value")
    value: Money | None = optional("value", "total value of the vault, or its PnL")


VAULT_HISTORY = Endpoint(
    "vault_history",
    "/info/vault/history",
    "Total value or profit of a vault over time",
    VaultPoint,
    params=(
        replace(VAULT_ADDRESS, ties=""),
        Param("type", "kind", "choice", "total value or profit and loss", default="tvl", choices=("tvl", "pnl")),
        Param(
            "interval", "interval", "choice", "how far back", default="24h", choices=("24h", "7d", "30d", "all-time")
        ),
    ),
    order="oldest first",
)


class VaultEvent(Row, identity=("id",), time="blockTime", source=L):
    """One event of a vault."""

    id: Id | None = optional("id", "id of the event", json="integer")
    time: Ms | None = optional("blockTime", "time of the event")
    kind: Text | None = optional("type", "kind of event: CREATE, DEPOSIT, WITHDRAW, REBALANCE, UPDATE_OWNER, CLOSE, …")
    account: Address | None = optional("userAddress", "address of the account that caused the event")
    amount: Money | None = optional("amount", "amount of USDC moved")
    shares: Quantity | None = optional("shares", "number of shares issued or redeemed", unit="shares")
    price: Price | None = optional("price", "net asset value of one share", unit="per share")
    leader_fee: Money | None = optional("leaderFee", "owner's share of a withdrawn profit")
    tx_hash: Hash | None = optional("txHash", "hash of the transaction")
    vault: Address | None = optional("vaultAddress", "address of the vault")


VAULT_EVENTS = Endpoint(
    "vault_events",
    "/info/vault/events",
    "Deposits, withdrawals and other events of a vault",
    VaultEvent,
    params=(VAULT_ADDRESS, *PAGES),
    shape="paged",
    order="newest first",
)


class VaultDepositor(Row, identity=("userAddress",), source=L):
    """A depositor of a vault."""

    account: Address | None = optional("userAddress", "address of the depositor")
    shares: Quantity | None = optional("shares", "number of shares held", unit="shares")
    share: Ratio | None = optional("shareRatio", "fraction of all shares")
    deposits: Money | None = optional("deposits", "sum deposited for the shares held")
    current_value: Money | None = optional("currentValue", "current value of the shares")
    pnl: Money | None = optional("pnl", "current value − deposits")
    joined: Ms | None = optional("joinTime", "time of the first deposit")
    vault: Address | None = optional("vaultAddress", "address of the vault")


VAULT_DEPOSITORS = Endpoint(
    "vault_depositors",
    "/info/vault/depositors",
    "Depositors of a vault with their shares",
    VaultDepositor,
    params=(VAULT_ADDRESS,),
    order="largest first",
)
