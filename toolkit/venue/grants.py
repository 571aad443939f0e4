"""What the venue remembers of permissions, builders, vaults and referrals: parts of `state.State`.

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
    """When it was revoked or replaced, 0 = not."""
    ended_height: int = 0
    ended_tx: str = ""
    replaced: bool = False
    """True when another approval of the same name ended it."""

    def active(self, now: int) -> bool:
        """Tell whether the agent may act at `now`."""
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
        """Tell whether the builder's agent may act at `now`."""
        return not self.ended and now <= self.expires


class Builder(msgspec.Struct):
    """One registered builder."""

    address: str
    name: str
    registered: int
    earned: int = 0
    """Builder fees received so far."""


class Permissions(msgspec.Struct):
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
    """What one depositor has in one vault."""

    shares: int = 0
    cost: int = 0
    """What the shares were paid for, at average cost."""
    deposited: int = 0
    """Sum of all deposits; `withdrawn` likewise (after the leader's share)."""
    withdrawn: int = 0
    since: int = 0
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
    fee: int = 0


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
    """Cash set aside for withdrawals; it is held in the venue's account `vaults`, no margin for positions."""
    events: list[VaultEvent] = []
    samples: list[tuple[int, int, int, int]] = []
    """Hourly (time, net asset value, price of a share in micro-USDC, profit since creation)."""
    profit_base: int = 0
    """Deposits − withdrawals − leader's shares paid; net asset value minus this is the vault's profit."""


class Referral(msgspec.Struct):
    """One account as inviter and invitee."""

    code: str
    inviter: str = ""
    bound: int = 0
    invited: list[str] = []
    volumes: dict[int, int] = {}
    """UTC day → notional traded by those it invited."""
    fees: dict[str, int] = {}
    """Invitee → fees it paid."""
    rebates: dict[str, int] = {}
    """Source (invitee, direct or of the second tier) → rebates earned from it."""
    due: int = 0
    """Earned and not yet paid out."""
    paid: int = 0


class Payout(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One daily payment of referral rebates."""

    id: int
    time: int
    address: str
    amount: int
    tx_hash: str


class Referrals(msgspec.Struct):
    """Who invited whom, and what was paid for it."""

    accounts: dict[str, Referral] = {}
    codes: dict[str, str] = {}
    """Code → account."""
    payouts: list[Payout] = []
    by_account: dict[str, list[int]] = {}
