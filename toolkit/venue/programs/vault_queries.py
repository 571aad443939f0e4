"""Records of vaults for the Info API and the feed, in wire names."""

from __future__ import annotations

from typing import Any

from ...numerals import micro_text
from ...protocol.hexbytes import to_checksummed
from ..engine.core import Core
from ..model.constants import DAY, USDC
from ..model.program_state import Holding, Vault, VaultEvent
from .vault_value import SHARE, price, value, worth


def detail(core: Core, address: str, user: str | None = None) -> dict[str, Any] | None:
    """Return the Vault record of an address, with a user's part in it, or None."""
    vault = core.state.vaults.get(address.lower())
    if vault is None:
        return None
    holding = vault.holders.get((user or "").lower(), Holding())
    return {
        "vaultAddress": to_checksummed(vault.address),
        "ownerAddress": to_checksummed(vault.owner) if vault.owner else "",
        "vaultName": vault.name,
        "tvl": micro_text(value(core, vault)),
        "price": micro_text(price(core, vault)),
        "apr": _yearly(core, vault),
        "status": "CLOSED" if vault.closed else "OPEN",
        "yourDeposits": micro_text(holding.cost),
        "userCurrentValue": micro_text(worth(core, vault, holding.shares)),
        "description": vault.description,
        "totalShares": micro_text(vault.shares),
        "parentAddress": to_checksummed(vault.parent) if vault.parent else "",
        "createTime": vault.created,
    }


def listed(core: Core, user: str | None = None) -> list[dict[str, Any]]:
    """Return the Vault records of all vaults, oldest first."""
    rows = (detail(core, address, user) for address in core.state.vaults)
    return [row for row in rows if row is not None]


def part(core: Core, address: str, user: str) -> dict[str, Any] | None:
    """Return the UserVault record of a user in a vault (all zero without shares), or None for no vault."""
    vault = core.state.vaults.get(address.lower())
    if vault is None:
        return None
    holding = vault.holders.get(user.lower(), Holding())
    now = worth(core, vault, holding.shares)
    return {
        "vaultAddress": to_checksummed(vault.address),
        "vaultName": vault.name,
        "userAddress": to_checksummed(user),
        "shares": micro_text(holding.shares),
        "deposits": micro_text(holding.cost),
        "currentValue": micro_text(now),
        "pnl": micro_text(now - holding.cost),
        "price": micro_text(price(core, vault)),
        "lockedUntil": holding.locked_until,
        "status": "CLOSED" if vault.closed else "OPEN",
    }


def parts_of(core: Core, user: str) -> list[dict[str, Any]]:
    """Return the UserVault records of every vault a user has shares of."""
    mine = (vault.address for vault in core.state.vaults.values() if user.lower() in vault.holders)
    rows = (part(core, address, user) for address in mine)
    return [row for row in rows if row is not None]


def history(core: Core, address: str, *, kind: str = "tvl", interval: str = "7d") -> list[dict[str, Any]]:
    """Return the VaultPoint records of a vault, oldest first: hourly, and the present one."""
    vault = core.state.vaults.get(address.lower())
    if vault is None:
        return []
    length = {"24h": DAY, "7d": 7 * DAY, "30d": 30 * DAY}.get(interval)
    first = core.state.time - length if length else 0
    now = value(core, vault)
    points = [*vault.samples, (core.state.time, now, price(core, vault), now - vault.paid_in)]
    column = 1 if kind == "tvl" else 3
    return [{"timestamp": point[0], "value": micro_text(point[column])} for point in points if point[0] >= first]


def event_row(vault: Vault, event: VaultEvent) -> dict[str, Any]:
    """Return a VaultEvent record."""
    return {
        "id": event.id,
        "blockTime": event.time,
        "type": event.kind,
        "userAddress": to_checksummed(event.address),
        "amount": micro_text(event.amount),
        "shares": micro_text(event.shares),
        "price": micro_text(event.price),
        "leaderFee": micro_text(event.fee),
        "txHash": event.tx_hash,
        "vaultAddress": to_checksummed(vault.address),
    }


def events(core: Core, address: str) -> list[dict[str, Any]]:
    """Return the VaultEvent records of a vault, newest first."""
    vault = core.state.vaults.get(address.lower())
    return [event_row(vault, event) for event in reversed(vault.events)] if vault else []


def depositors(core: Core, address: str) -> list[dict[str, Any]]:
    """Return the VaultDepositor records of a vault, largest first."""
    vault = core.state.vaults.get(address.lower())
    if vault is None:
        return []
    ranked = sorted(vault.holders.items(), key=lambda entry: (-entry[1].shares, entry[0]))
    rows = []
    for user, holding in ranked:
        now = worth(core, vault, holding.shares)
        rows.append(
            {
                "userAddress": to_checksummed(user),
                "shares": micro_text(holding.shares),
                "shareRatio": micro_text(holding.shares * SHARE // vault.shares),
                "deposits": micro_text(holding.cost),
                "currentValue": micro_text(now),
                "pnl": micro_text(now - holding.cost),
                "joinTime": holding.since,
                "vaultAddress": to_checksummed(vault.address),
            }
        )
    return rows


def _yearly(core: Core, vault: Vault) -> str:
    """Return the change of the share price over the last 30 days (or the vault's life), per year, as a ratio."""
    end = vault.closed or core.state.time
    since = end - 30 * DAY
    start, before = next(((point[0], point[2]) for point in vault.samples if point[0] >= since), (end, 0))
    if vault.created >= since:
        start, before = vault.created, USDC
    length = end - start
    if not before or length <= 0:
        return "0"
    return micro_text((price(core, vault) - before) * 365 * DAY * USDC // (before * length))
