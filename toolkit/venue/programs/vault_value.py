"""The net asset value of a vault and its shares. Money in micro-USDC, shares in millionths."""

from __future__ import annotations

from ..engine.core import Core
from ..model.constants import USDC
from ..model.program_state import Vault
from ..risk import account_margin

SHARE = 1_000_000
"""Shares are counted in millionths."""
LARGEST = 10**18
"""Most shares of a vault (in millionths), and the highest price of one that is shown (in micro-USDC), so that both
fit into 64 bits: a million million."""


def value(core: Core, vault: Vault) -> int:
    """Return the net asset value in micro-USDC, sub-vaults included."""
    own = account_margin.wallet(core, core.state.accounts[vault.address]).equity + vault.reserve
    return own + sum(value(core, core.state.vaults[child]) for child in vault.children)


def price(core: Core, vault: Vault) -> int:
    """Return the value of one share in micro-USDC, up to LARGEST: 1 USDC while there are none, the last of a closed
    vault."""
    if vault.closed and vault.events:
        return vault.events[-1].price
    return min(LARGEST, max(0, value(core, vault)) * SHARE // vault.shares) if vault.shares else USDC


def worth(core: Core, vault: Vault, shares: int) -> int:
    """Return what shares are worth in micro-USDC, before the leader's part."""
    return max(0, value(core, vault)) * shares // vault.shares if vault.shares else 0
