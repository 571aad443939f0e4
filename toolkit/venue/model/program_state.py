"""Permissions, builders, vaults and referrals: parts of `state.State`.

Units as in `state`: times in ms, money in micro-USDC, rates in parts of RATE, lower-case addresses. Vault shares are
counted in millionths.
"""

from __future__ import annotations

import msgspec


class Approval(msgspec.Struct):
    """One approveAgent: `agent` may trade for `master` until `expires`, unless it was ended before."""

    id: int
    master: str
    agent: str
    name: str
    approved: int
    height: int
    tx_hash: str
    expires: int
    ended: int = 0
    """Time it was revoked or replaced, 0 = neither."""
    ended_height: int = 0
    ended_tx: str = ""
    replaced: bool = False
    """True when another approval of the same name ended it."""

    def active(self, now: int) -> bool:
        """Return whether the agent may act at `now`."""
        return not self.ended and now <= self.expires


class Grant(msgspec.Struct):
    """One approveAgentToBuilder: the builder's `agent` may place orders for `trader`, for at most `cap` a fill."""

    id: int
    trader: str
    agent: str
    builder: str
    cap: int
    approved: int
    tx_hash: str
    expires: int
    ended: int = 0
    ended_tx: str = ""
    replaced: bool = False

    def active(self, now: int) -> bool:
        """Return whether the builder's agent may act at `now`."""
        return not self.ended and now <= self.expires


class Builder(msgspec.Struct):
    """One registered builder."""

    address: str
    name: str
    registered: int


class PermissionState(msgspec.Struct):
    """All approvals, grants and builders; the lists only grow, the indexes hold positions in them."""

    approvals: list[Approval] = []
    by_agent: dict[str, list[int]] = {}
    by_master: dict[str, list[int]] = {}
    grants: list[Grant] = []
    grants_by_agent: dict[str, list[int]] = {}
    grants_by_trader: dict[str, list[int]] = {}
    grants_by_builder: dict[str, list[int]] = {}
    builders: dict[str, Builder] = {}


class Holding(msgspec.Struct):
    """The shares of one depositor in one vault."""

    shares: int = 0
    cost: int = 0
    """Amount paid for the shares, at average cost."""
    since: int = 0
    """First deposit."""
    locked_until: int = 0


class VaultEvent(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One deposit, withdrawal or other step in the life of a vault."""

    id: int
    time: int
    height: int
    tx_hash: str
    kind: str
    address: str
    amount: int
    shares: int
    price: int
    """Of a share after it, micro-USDC; when it ended the last shares, what these got."""
    fee: int = 0
    """The leader's part of the gain."""


class Vault(msgspec.Struct):
    """One vault; its cash and positions are the account of the same address."""

    address: str
    owner: str
    name: str
    description: str
    created: int
    parent: str = ""
    """The vault that this one is a part of, "" for a vault of its own."""
    children: list[str] = []
    closed: int = 0
    is_lp: bool = False
    shares: int = 0
    holders: dict[str, Holding] = {}
    reserve: int = 0
    """Cash set aside for withdrawals. The venue's account `vaults` holds it, so it is no margin for positions."""
    events: list[VaultEvent] = []
    samples: list[tuple[int, int, int, int]] = []
    """Hourly (time, net asset value, price of a share in micro-USDC, profit since creation)."""
    paid_in: int = 0
    """Deposits − withdrawals (of a sub-vault: received − given); net asset value minus this is profit."""


class ReferredDay(msgspec.Struct, array_like=True, gc=False):
    """One invitee's volume and fees of one UTC day, and the rewards of its inviter and of the inviter's inviter."""

    volume: int = 0
    fees: int = 0
    reward: int = 0
    second_reward: int = 0


class Referral(msgspec.Struct):
    """One account as inviter and invitee."""

    code: str
    inviter: str = ""
    bound: int = 0
    invited: list[str] = []
    days: dict[int, ReferredDay] = {}
    """UTC day number → its volume, fees and rewards as an invitee."""
    due: dict[str, int] = {}
    """Payer of fees → rebates earned from it and not yet paid out."""
    rate_day: int = -1
    rate: int = 0
    """Rebate rate of the first tier, parts of RATE, computed on the day `rate_day`."""


class Payout(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One part of a daily payment of referral rebates: `tier` 1 is for own invitees, 2 for theirs."""

    id: int
    time: int
    address: str
    source: str
    tier: int
    amount: int
    tx_hash: str


class Referrals(msgspec.Struct):
    """All invitations, and the rewards paid for them."""

    accounts: dict[str, Referral] = {}
    codes: dict[str, str] = {}
    """Code → account."""
    payouts: list[Payout] = []
    by_account: dict[str, list[int]] = {}
