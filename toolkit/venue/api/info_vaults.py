"""Info queries about vaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import MalformedRequest
from ...numerals import micro_text
from ...protocol.hexbytes import to_checksummed
from ..model.constants import DAY, USDC
from ..model.state import Holding, Vault
from ..programs.vaults import SHARE, event_row, price, value, worth
from .info import Values, answers, page_of

if TYPE_CHECKING:
    from ..engine.core import Core


def _vault_of(core: Core, values: Values) -> Vault:
    address: str = values["vaultAddress"]
    if address not in core.state.vaults:
        raise MalformedRequest(
            f"vaultAddress {to_checksummed(address)} is no vault here; GET /info/vault/list names them",
            field="vaultAddress",
            rule="known",
            value=address,
        )
    return core.state.vaults[address]


@answers("vault")
def vault(core: Core, values: Values) -> dict[str, Any]:
    """Return one vault, with the user's share of it."""
    return _detail(core, _vault_of(core, values), values["userAddress"])


@answers("vaults")
def vaults(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return all vaults, oldest first."""
    return [_detail(core, each, values["userAddress"]) for each in core.state.vaults.values()]


@answers("user_vaults")
def user_vaults(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the vaults a user has shares of."""
    user = values["userAddress"]
    return [_share(core, each, user) for each in core.state.vaults.values() if user in each.holders]


@answers("vault_user")
def vault_user(core: Core, values: Values) -> dict[str, Any]:
    """Return a user's share of one vault."""
    return _share(core, _vault_of(core, values), values["userAddress"])


@answers("vault_history")
def vault_history(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return value or profit over time, oldest first: hourly, and now."""
    vault = _vault_of(core, values)
    length = {"24h": DAY, "7d": 7 * DAY, "30d": 30 * DAY}.get(values["interval"])
    first = core.state.time - length if length else 0
    now = value(core, vault)
    points = [*vault.samples, (core.state.time, now, price(core, vault), now - vault.paid_in)]
    column = 1 if values["type"] == "tvl" else 3
    return [{"timestamp": point[0], "value": micro_text(point[column])} for point in points if point[0] >= first]


@answers("vault_events")
def vault_events(core: Core, values: Values) -> dict[str, Any]:
    """Return the events of a vault, newest first."""
    vault = _vault_of(core, values)
    return page_of(values, len(vault.events), reversed(vault.events), lambda event: event_row(vault, event))


@answers("vault_depositors")
def vault_depositors(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the holders of shares, largest first."""
    vault = _vault_of(core, values)
    rows = []
    for user, holding in sorted(vault.holders.items(), key=lambda entry: (-entry[1].shares, entry[0])):
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


def _detail(core: Core, vault: Vault, user: str | None) -> dict[str, Any]:
    """Return the Vault record, with a user's part in it."""
    holding = vault.holders.get(user or "", Holding())
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


def _share(core: Core, vault: Vault, user: str) -> dict[str, Any]:
    """Return the UserVault record of a user in a vault (all zero without shares)."""
    holding = vault.holders.get(user, Holding())
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
