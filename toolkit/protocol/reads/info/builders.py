"""Agent wallets that traders authorised to builders: query and records.

Source: docs/published.md, "Info API".
"""

from ..endpoint import Endpoint, Param
from ..rows import Address, Flag, Ratio, Row, Seconds, Text, Whole, optional, required
from .parameters import PAGE


class BuilderAgent(Row, identity=("wallet", "agent", "builder", "expiresAt", "approveState")):
    """An agent wallet that a trader authorised to a builder."""

    wallet: Address = required("wallet", "address of the trader")
    agent: Address = required("agent", "address of the authorised agent wallet")
    builder: Address | None = optional("builder", "address of the builder's master wallet")
    max_fee_rate: Ratio | None = optional("maxFeeRate", "highest fee rate that the trader authorised")
    expires_at: Seconds | None = optional("expiresAt", "time at which the authorisation expires", ahead=True)
    approve_state: Text | None = optional("approveState", "APPROVED or REVOKED")
    expired: Flag | None = optional("expired", "true after the authorisation expired")


class BuilderPage(Row):
    """The members of the builder's page other than its rows."""

    builder: Address | None = optional(
        "builder", "address of the builder's master wallet (empty where only a trader is given)", null=True
    )
    page: Whole | None = optional("page", "number of the page, from 1")
    page_size: Whole | None = optional("pageSize", "rows on a page")


BUILDER_AGENTS = Endpoint(
    "builder_agents",
    "/info/builder/agents",
    "Agent wallets authorised to a builder",
    BuilderAgent,
    params=(
        Param(
            "builder",
            "builder",
            "address",
            "the builder's master wallet (required, or wallet is [L])",
            fill="account",
            unless="wallet",
        ),
        Param("wallet", "wallet", "address", "only this trader"),
        Param("agent", "agent", "address", "only this agent wallet"),
        Param(
            "approveState",
            "approve_state",
            "choice",
            "only this state",
            default="APPROVED",
            choices=("APPROVED", "REVOKED"),
        ),
        Param("includeExpired", "include_expired", "flag", "include expired authorisations"),
        PAGE,
        Param("pageSize", "page_size", "page", "rows on a page", default=20, low=1, high=100),
    ),
    shape="paged",
    items="agents",
    order="newest first",
    beside=BuilderPage,
)
