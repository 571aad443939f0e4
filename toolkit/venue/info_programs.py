"""Info queries about vaults, referrals, builders, and the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import MalformedRequest
from ..protocol.hexbytes import to_checksummed
from . import records
from .grants import Grant
from .info import Values, answers, page_of

if TYPE_CHECKING:
    from .core import Core


# Builders.


@answers("builder_agents")
def builder_agents(core: Core, values: Values) -> dict[str, Any]:
    """Authorisations given to a builder, newest first."""
    known, now = core.state.permissions, core.state.time
    wanted = values["approveState"]
    found = [
        row
        for at in reversed(known.grants_by_builder.get(values["builder"], ()))
        for grant in (known.grants[at],)
        for row in (_builder_agent(grant, now),)
        if row["approveState"] == wanted
        and (values["includeExpired"] or not row["expired"])
        and values["wallet"] in (None, grant.trader)
        and values["agent"] in (None, grant.agent)
    ]
    page = page_of(values, len(found), found)
    return {
        "builder": to_checksummed(values["builder"]),
        "page": values["page"],
        "pageSize": values["pageSize"],
        "total": page["total"],
        "agents": page["items"],
    }


def _builder_agent(grant: Grant, now: int) -> dict[str, Any]:
    return {
        "wallet": to_checksummed(grant.trader),
        "agent": to_checksummed(grant.agent),
        "builder": to_checksummed(grant.builder),
        "maxFeeRate": records.rate(grant.cap),
        "expiresAt": grant.expires // 1000,
        "approveState": "REVOKED" if grant.ended else "APPROVED",
        "expired": now > grant.expires,
    }


# Explorer.


@answers("transactions")
def transactions(core: Core, values: Values) -> dict[str, Any]:
    """Transactions that acted for an account, newest first."""
    log = core.state.history.transactions
    positions = log.by_account.get(values["user"], [])
    page = page_of(values, len(positions), (log.records[at] for at in reversed(positions)))
    page["items"] = [records.transaction(done) for done in page["items"]]
    return page


@answers("transaction")
def transaction(core: Core, values: Values) -> dict[str, Any] | None:
    """One transaction, looked up from the newest back; nothing for an unknown hash."""
    wanted = values["txHash"]
    for done in reversed(core.state.history.transactions.records):
        if done.hash == wanted:
            return records.transaction(done)
    return None


@answers("block")
def block(core: Core, values: Values) -> dict[str, Any]:
    """One block and a page of its transactions, in their order. Raises MalformedRequest for a block to come."""
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
    page = page_of(values, len(inside), inside)
    return {
        "blockHeight": height,
        "blockTime": min(state.genesis_time + height * state.block_ms, state.time) if closed is None else closed.time,
        "blockHash": core.block_hash(height) if closed is None else closed.hash,
        "txCount": len(inside),
        "total": page["total"],
        "items": [records.transaction(done) for done in page["items"]],
    }
