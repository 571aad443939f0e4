"""Info queries about referrals, builders, and the explorer."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

from ...errors import MalformedRequest
from ...numerals import micro_text, rate_text
from ...protocol.enums import VaultStatus
from ...protocol.hexbytes import to_checksummed
from ..api import records
from ..engine.core import Core
from ..model.constants import DAY, RATE, USDC
from ..model.state import Holding, Payout, Referral, ReferredDay, Vault
from ..programs import builders
from ..programs.referrals import SECOND_TIER, TIERS, code_of, present_rate
from ..programs.vaults import SHARE, event_row, price, value, worth
from .info_pages import Values, page_of, paged_log


def referral_code(core: Core, values: Values) -> dict[str, Any]:
    """Return an account's code and inviter.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    address = values["userAddr"]
    mine = core.state.referrals.accounts.get(address)
    inviter = mine.inviter if mine else ""
    return {
        "userAddr": to_checksummed(address),
        "referralCode": code_of(address),
        "inviterAddress": to_checksummed(inviter) if inviter else "",
        "inviterCode": code_of(inviter) if inviter else "",
        "bindTime": mine.bound if mine else 0,
    }


def referral_summary(core: Core, values: Values) -> dict[str, Any]:
    """Return totals of an account's invitees and rewards.

    Periods are counted in whole UTC days.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    address, accounts = values["userAddr"], core.state.referrals.accounts
    mine = accounts.get(address) or Referral(code_of(address))
    first, last = _days(core, values)
    own = _sum(core, mine.invited, first, last)
    second = [each for invitee in mine.invited for each in accounts[invitee].invited]
    upper = _sum(core, second, first, last)
    return {
        "userAddr": to_checksummed(address),
        "period": values["period"],
        "inviteeCount": len(mine.invited),
        "secondTierCount": len(second),
        "volume": micro_text(own.volume),
        "fees": micro_text(own.fees),
        "reward": micro_text(own.reward),
        "secondTierReward": micro_text(upper.second_reward),
        "totalReward": micro_text(own.reward + upper.second_reward),
        "rewardRate": rate_text(present_rate(core, mine)),
    }


_SORT_KEYS = {"dateJoined": "joinTime"}
"""Sort key → the field of a row, where its name is another."""


def referrals(core: Core, values: Values) -> dict[str, Any]:
    """Return the invited accounts, searched and sorted as requested.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    wanted, mine = (values["search"] or "").lower(), core.state.referrals.accounts.get(values["userAddr"])
    found = [_invitee(core, each) for each in reversed(mine.invited) if wanted in each] if mine else []
    sort_by: str = values["sortBy"] or "dateJoined"
    key = _SORT_KEYS.get(sort_by, sort_by)
    found.sort(key=lambda row: Decimal(row[key]), reverse=values["sortOrder"] == "desc")
    return page_of(values, len(found), found, size="size")


def referral_payouts(core: Core, values: Values) -> dict[str, Any]:
    """Return the rewards that were paid, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    book = core.state.referrals
    positions = book.by_account.get(values["userAddr"], [])
    newest = (book.payouts[at] for at in reversed(positions))
    return page_of(values, len(positions), newest, _payout, size="size")


def _payout(row: Payout) -> dict[str, Any]:
    return {
        "id": row.id,
        "blockTime": row.time,
        "amount": micro_text(row.amount),
        "tier": row.tier,
        "userAddr": to_checksummed(row.address),
        "fromAddress": to_checksummed(row.source),
        "txHash": row.tx_hash,
    }


def referral_tiers(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the reward rates by network volume.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    return [
        {
            "tier": number,
            "minVolume": str(floor),
            "rewardRate": rate_text(per_cent * RATE // 100),
            "secondTierRate": rate_text(SECOND_TIER * RATE // 100),
        }
        for number, (floor, per_cent) in enumerate(TIERS, 1)
    ]


def _invitee(core: Core, address: str) -> dict[str, Any]:
    mine = core.state.referrals.accounts[address]
    total = _sum(core, [address], None, None)
    return {
        "userAddr": to_checksummed(address),
        "joinTime": mine.bound,
        "volume": micro_text(total.volume),
        "fees": micro_text(total.fees),
        "reward": micro_text(total.reward),
        "inviteeCount": len(mine.invited),
    }


def _days(core: Core, values: Values) -> tuple[int | None, int | None]:
    """Return the first and the last UTC day of a period. None is unbounded."""
    length, start, end = {"24h": 1, "7d": 7, "30d": 30}.get(values["period"]), values["startTime"], values["endTime"]
    first = core.state.time // DAY - length + 1 if length else None
    if start is not None:
        first = start // DAY if first is None else max(first, start // DAY)
    return first, None if end is None else end // DAY


def _sum(core: Core, addresses: list[str], first: int | None, last: int | None) -> ReferredDay:
    total = ReferredDay()
    for address in addresses:
        for number, day in core.state.referrals.accounts[address].days.items():
            if (first is None or number >= first) and (last is None or number <= last):
                total.volume += day.volume
                total.fees += day.fees
                total.reward += day.reward
                total.second_reward += day.second_reward
    return total


def builder_agents(core: Core, values: Values) -> dict[str, Any]:
    """Return the authorisations given to a builder, or given by a trader, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.

    Raises
    ------
    MalformedRequest
        If neither builder nor wallet is given.
    """
    if values["builder"] is None and values["wallet"] is None:
        text = (
            "builder is required by /info/builder/agents: the builder's master wallet (the local venue also takes the "
            "trader's wallet instead)"
        )
        raise MalformedRequest(text, field="builder", rule="required")
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


def transactions(core: Core, values: Values) -> dict[str, Any]:
    """Return the transactions that acted for an account, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    return paged_log(values, core.state.history.transactions, values["user"], partial(records.transaction, core))


def transaction(core: Core, values: Values) -> dict[str, Any] | None:
    """Return one transaction, `None` for an unknown hash.

    It is searched from the newest back.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    newest = reversed(core.state.history.transactions.records)
    found = next((done for done in newest if done.hash == values["txHash"]), None)
    return None if found is None else records.transaction(core, found)


def block(core: Core, values: Values) -> dict[str, Any]:
    """Return one block and a page of its transactions, in order.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.

    Raises
    ------
    MalformedRequest
        For a block of the future.
    """
    height = values["blockHeight"]
    state = core.state
    if not 0 <= height <= core.height:
        message = f"blockHeight {height} is no block. The venue has 0, its genesis, to {core.height}"
        raise MalformedRequest(
            message, field="blockHeight", rule="known", value=height, nearest=(str(min(max(height, 0), core.height)),)
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
        **page_of(values, len(inside), inside, partial(records.transaction, core)),
    }


def _vault_of(core: Core, values: Values) -> Vault:
    address: str = values["vaultAddress"]
    if address not in core.state.vaults:
        text = f"vaultAddress {to_checksummed(address)} is no vault here. GET /info/vault/list names them"
        raise MalformedRequest(text, field="vaultAddress", rule="known", value=address)
    return core.state.vaults[address]


def vault(core: Core, values: Values) -> dict[str, Any]:
    """Return one vault, with the user's share of it.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.

    Raises
    ------
    MalformedRequest
        If the address is no vault.
    """
    return _detail(core, _vault_of(core, values), values["userAddress"])


def vaults(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return all vaults, oldest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    return [_detail(core, each, values["userAddress"]) for each in core.state.vaults.values()]


def user_vaults(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the vaults a user has shares of.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    user = values["userAddress"]
    return [_share(core, each, user) for each in core.state.vaults.values() if user in each.holders]


def vault_user(core: Core, values: Values) -> dict[str, Any]:
    """Return a user's share of one vault.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.

    Raises
    ------
    MalformedRequest
        If the address is no vault.
    """
    return _share(core, _vault_of(core, values), values["userAddress"])


def vault_history(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return value or profit over time, oldest first: hourly, and now.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.

    Raises
    ------
    MalformedRequest
        If the address is no vault.
    """
    vault = _vault_of(core, values)
    length = {"24h": DAY, "7d": 7 * DAY, "30d": 30 * DAY}.get(values["interval"])
    first = core.state.time - length if length else 0
    now = value(core, vault)
    points = [*vault.samples, (core.state.time, now, price(core, vault), now - vault.paid_in)]
    column = 1 if values["type"] == "tvl" else 3
    return [{"timestamp": point[0], "value": micro_text(point[column])} for point in points if point[0] >= first]


def vault_events(core: Core, values: Values) -> dict[str, Any]:
    """Return the events of a vault, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.

    Raises
    ------
    MalformedRequest
        If the address is no vault.
    """
    vault = _vault_of(core, values)
    return page_of(values, len(vault.events), reversed(vault.events), lambda event: event_row(vault, event))


def vault_depositors(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the holders of shares, largest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.

    Raises
    ------
    MalformedRequest
        If the address is no vault.
    """
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
        "status": int(VaultStatus.CLOSED if vault.closed else VaultStatus.OPEN),
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
        "status": int(VaultStatus.CLOSED if vault.closed else VaultStatus.OPEN),
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
