"""Info queries about vaults, referrals, builders, and the explorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...errors import MalformedRequest
from ...protocol.hexbytes import to_checksummed
from ..programs import builders, referrals, vault_queries
from . import records
from .info import Values, answers, page_of

if TYPE_CHECKING:
    from ..engine.core import Core


def _vault_of(core: Core, values: Values) -> str:
    address: str = values["vaultAddress"]
    if address not in core.state.vaults:
        raise MalformedRequest(
            f"vaultAddress {to_checksummed(address)} is no vault here; GET /info/vault/list names them",
            field="vaultAddress",
            rule="known",
            value=address,
        )
    return address


@answers("vault")
def vault(core: Core, values: Values) -> dict[str, Any] | None:
    """Return one vault, with the user's share of it."""
    return vault_queries.detail(core, _vault_of(core, values), values["userAddress"])


@answers("vaults")
def vaults(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return all vaults, oldest first."""
    return vault_queries.listed(core, values["userAddress"])


@answers("user_vaults")
def user_vaults(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the vaults a user has shares of."""
    return vault_queries.parts_of(core, values["userAddress"])


@answers("vault_user")
def vault_user(core: Core, values: Values) -> dict[str, Any] | None:
    """Return a user's share of one vault."""
    return vault_queries.part(core, _vault_of(core, values), values["userAddress"])


@answers("vault_history")
def vault_history(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return value or profit over time, oldest first."""
    return vault_queries.history(core, _vault_of(core, values), kind=values["type"], interval=values["interval"])


@answers("vault_events")
def vault_events(core: Core, values: Values) -> dict[str, Any]:
    """Return the events of a vault, newest first."""
    found = vault_queries.events(core, _vault_of(core, values))
    return page_of(values, len(found), found)


@answers("vault_depositors")
def vault_depositors(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the holders of shares, largest first."""
    return vault_queries.depositors(core, _vault_of(core, values))


@answers("referral_code")
def referral_code(core: Core, values: Values) -> dict[str, Any]:
    """Return an account's code and inviter."""
    return referrals.code(core, values["userAddr"])


@answers("referral_summary")
def referral_summary(core: Core, values: Values) -> dict[str, Any]:
    """Return totals of an account's invitees and rewards."""
    return referrals.summary(
        core, values["userAddr"], period=values["period"], start=values["startTime"], end=values["endTime"]
    )


_SORT_KEYS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "joinTime": lambda row: row["joinTime"],
    "volume": lambda row: Decimal(row["volume"]),
    "fees": lambda row: Decimal(row["fees"]),
    "reward": lambda row: Decimal(row["reward"]),
}


@answers("referrals")
def invitees(core: Core, values: Values) -> dict[str, Any]:
    """Return the invited accounts, searched and sorted as requested."""
    wanted = (values["search"] or "").lower()
    found = [row for row in referrals.referrals(core, values["userAddr"]) if wanted in row["userAddr"].lower()]
    found.sort(key=_SORT_KEYS[values["sortBy"]], reverse=values["sortOrder"] == "desc")
    return page_of(values, len(found), found, size="size")


@answers("referral_payouts")
def referral_payouts(core: Core, values: Values) -> dict[str, Any]:
    """Return the rewards that were paid, newest first."""
    found = referrals.payouts(core, values["userAddr"])
    return page_of(values, len(found), found, size="size")


@answers("referral_tiers")
def referral_tiers(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the reward rates by network volume."""
    return referrals.tiers()


@answers("builder_agents")
def builder_agents(core: Core, values: Values) -> dict[str, Any]:
    """Return the authorisations given to a builder, or given by a trader, newest first."""
    if values["builder"] is None and values["wallet"] is None:
        raise MalformedRequest(
            "builder is required by /info/builder/agents: the builder's master wallet (the local venue also takes the "
            "trader's wallet instead)",
            field="builder",
            rule="required",
        )
    found = builders.builder_agents(
        core,
        values["builder"],
        wallet=values["wallet"],
        agent=values["agent"],
        approve_state=values["approveState"],
        include_expired=values["includeExpired"],
    )
    page = page_of(values, len(found), found)
    return {
        "builder": to_checksummed(values["builder"]) if values["builder"] else "",
        "page": values["page"],
        "pageSize": values["pageSize"],
        "total": page["total"],
        "agents": page["items"],
    }


@answers("transactions")
def transactions(core: Core, values: Values) -> dict[str, Any]:
    """Return the transactions that acted for an account, newest first."""
    log = core.state.history.transactions
    positions = log.by_account.get(values["user"], [])
    return page_of(values, len(positions), (log.records[at] for at in reversed(positions)), records.transaction)


@answers("transaction")
def transaction(core: Core, values: Values) -> dict[str, Any] | None:
    """Return one transaction, searched from the newest back; None for an unknown hash."""
    wanted = values["txHash"]
    for done in reversed(core.state.history.transactions.records):
        if done.hash == wanted:
            return records.transaction(done)
    return None


@answers("block")
def block(core: Core, values: Values) -> dict[str, Any]:
    """Return one block and a page of its transactions, in order. Raises MalformedRequest for a future block."""
    height = values["blockHeight"]
    state = core.state
    if not 1 <= height <= core.height:
        raise MalformedRequest(
            f"blockHeight {height} is no block; the venue has 1 to {core.height}",
            field="blockHeight",
            rule="known",
            value=height,
            nearest=(str(min(max(height, 1), core.height)),),
        )
    closed = next((block for block in reversed(state.history.blocks) if block.height == height), None)
    inside = state.history.transactions.records
    if closed is not None:
        inside = inside[closed.first : closed.first + closed.count]
    else:
        inside = [done for done in inside[state.block_first :] if done.height == height]
    return {
        "blockHeight": height,
        "blockTime": min(state.genesis_time + height * state.block_ms, state.time) if closed is None else closed.time,
        "blockHash": core.block_hash(height) if closed is None else closed.hash,
        "txCount": len(inside),
        **page_of(values, len(inside), inside, records.transaction),
    }
