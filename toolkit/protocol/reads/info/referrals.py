"""Referrals: queries and records. The exchange publishes no record of them.

Source: docs/published.md, "Info API".
"""

from dataclasses import replace

from ...fields import L
from ..endpoint import Endpoint, Param
from ..rows import Address, Hash, Id, Money, Ms, Ratio, Row, Text, Whole, optional
from .parameters import ACCOUNT, END, OWNER, PAGE, SIZE, START


class ReferralCode(Row, identity=("userAddr",), source=L):
    """The referral code of an account, and its inviter."""

    account: Address | None = optional("userAddr", "address of the account")
    code: Text | None = optional("referralCode", "referral code of the account")
    inviter: Address | None = optional("inviterAddress", "address of the inviter (missing without one)")
    inviter_code: Text | None = optional("inviterCode", "referral code that was used")
    bound_at: Ms | None = optional("bindTime", "time of the invitation")


REFERRAL_CODE = Endpoint(
    "referral_code",
    "/info/referral/code",
    "An account's referral code and inviter",
    ReferralCode,
    params=(ACCOUNT,),
    shape="one",
)


class ReferralSummary(Row, identity=("userAddr",), source=L):
    """Volume, fees and rewards of an account's referrals."""

    account: Address | None = optional("userAddr", "address of the account")
    period: Text | None = optional("period", "period of the summary: 24h, 7d, 30d or all")
    invitees: Whole | None = optional("inviteeCount", "number of accounts invited")
    second_tier_invitees: Whole | None = optional("secondTierCount", "number of accounts invited by the invitees")
    volume: Money | None = optional("volume", "traded value of the invitees")
    fees: Money | None = optional("fees", "trading fees of the invitees")
    reward: Money | None = optional("reward", "rewards for the invitees' fees")
    second_tier_reward: Money | None = optional("secondTierReward", "rewards for the fees of the accounts they invited")
    total_reward: Money | None = optional("totalReward", "sum of both rewards")
    reward_rate: Ratio | None = optional("rewardRate", "current reward rate: fraction of the invitees' fees")


REFERRAL_SUMMARY = Endpoint(
    "referral_summary",
    "/info/referral/summary",
    "Volume, fees and rewards of an account's referrals in a period",
    ReferralSummary,
    params=(
        ACCOUNT,
        Param("period", "period", "choice", "how far back", default="all", choices=("24h", "7d", "30d", "all")),
        replace(START, ties=""),
        replace(END, ties=""),
    ),
    shape="one",
)


class Referral(Row, identity=("userAddr",), time="joinTime", source=L):
    """An account that was invited."""

    account: Address | None = optional("userAddr", "address of the invitee")
    joined: Ms | None = optional("joinTime", "time at which the invitee joined")
    volume: Money | None = optional("volume", "traded value of the invitee")
    fees: Money | None = optional("fees", "trading fees of the invitee")
    reward: Money | None = optional("reward", "reward of the inviter")
    invitees: Whole | None = optional("inviteeCount", "number of accounts that the invitee invited")


REFERRALS = Endpoint(
    "referrals",
    "/info/referral/referrals",
    "The accounts that an account invited",
    Referral,
    params=(
        OWNER,
        PAGE,
        SIZE,
        Param(
            "sortBy",
            "sort_by",
            "choice",
            "sort key",
            default="dateJoined",
            choices=("dateJoined", "volume", "fees", "reward"),
        ),
        Param("sortOrder", "sort_order", "choice", "sort direction", default="desc", choices=("asc", "desc")),
        Param("search", "search", "text", "only invitees whose address contains this text"),
    ),
    shape="paged",
)


class ReferralPayout(Row, identity=("id",), time="blockTime", source=L):
    """A referral reward that was paid."""

    id: Id | None = optional("id", "id of the payout", json="integer")
    time: Ms | None = optional("blockTime", "time of the payout")
    amount: Money | None = optional("amount", "reward paid")
    tier: Whole | None = optional("tier", "1 for an invitee's fee, 2 for the fee of an account that an invitee invited")
    account: Address | None = optional("userAddr", "address of the account that was paid")
    source: Address | None = optional("fromAddress", "address of the account whose fee is shared")
    tx_hash: Hash | None = optional("txHash", "hash of the transaction")


REFERRAL_PAYOUTS = Endpoint(
    "referral_payouts",
    "/info/referral/payouts",
    "Referral rewards that were paid to an account",
    ReferralPayout,
    params=(OWNER, PAGE, SIZE),
    shape="paged",
    order="newest first",
)


class ReferralTier(Row, identity=("tier",), source=L):
    """A tier of referral rewards."""

    tier: Whole | None = optional("tier", "number of the tier")
    min_volume: Money | None = optional("minVolume", "30-day volume of the invitees from which the tier applies")
    reward_rate: Ratio | None = optional("rewardRate", "fraction of the invitees' fees")
    second_tier_rate: Ratio | None = optional(
        "secondTierRate", "fraction of the fees of accounts that the invitees invited"
    )


REFERRAL_TIERS = Endpoint(
    "referral_tiers",
    "/info/referral/tiers",
    "Reward rates by network volume",
    ReferralTier,
    order="by volume",
)
