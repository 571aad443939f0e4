"""Every number of the venue that is a choice: prices, funding, fees, liquidation, withdrawals.

Units as in `state`: money in micro-USDC, times in ms, rates in parts of 1e-8 (1 % is 1_000_000). Sources are the
venue's published rules unless docs/assumptions.md calls them our own.
"""

from __future__ import annotations

import msgspec

USDC = 1_000_000
"""Micro-USDC in one USDC."""
PERCENT = 1_000_000
"""Parts of RATE in 1 %."""
DAY = 86_400_000


class FeeTier(msgspec.Struct, frozen=True):
    """Fee rates from a 30-day volume on."""

    volume: int
    maker: int
    taker: int


def default_fee_tiers() -> list[FeeTier]:
    """Return the published volume tiers above the standard rates."""
    return [
        FeeTier(5_000_000 * USDC, 8_000, 55_000),
        FeeTier(10_000_000 * USDC, 6_000, 50_000),
        FeeTier(25_000_000 * USDC, 4_000, 45_000),
        FeeTier(500_000_000 * USDC, 2_000, 37_500),
        FeeTier(1_250_000_000 * USDC, 1_000, 35_000),
    ]


class Config(msgspec.Struct, frozen=True):
    """Settings of one venue, fixed at its genesis."""

    price_interval: int = 3_000
    """Oracle and mark prices, premium samples."""
    sample_interval: int = 60_000
    """Samples of what accounts with positions are worth."""
    basis_samples: int = 50
    """Samples of mid − oracle in the mark price: 150 s."""
    book_samples: int = 10
    """Samples of the book's median price that may join the mark price: 30 s."""

    impact_margin: int = 200 * USDC
    """Margin whose notional at the highest leverage measures impact prices."""
    interest: int = PERCENT // 100
    """Interest rate of 8 hours."""
    funding_clamp: int = PERCENT // 20
    funding_cap: int = 2 * PERCENT
    """Largest rate of one interval."""

    fee_tiers: list[FeeTier] = msgspec.field(default_factory=default_fee_tiers)
    volume_days: int = 30

    liquidation_stop: int = 95 * PERCENT
    """Margin ratio below which a liquidation ends."""
    liquidation_whole: int = 100_000 * USDC
    """Positions up to this notional are closed at once, others in slices."""
    liquidation_slice: int = 20 * PERCENT
    liquidation_pause: int = 30_000
    """Time between two slices."""
    takeover_fee: int = PERCENT // 2
    """Part of the maintenance margin that the LP vault is paid for a position it takes over."""
    lp_capital: int = 1_000_000 * USDC
    """What the LP vault begins with."""
    lp_leverage: int = 500
    """Largest notional the LP vault takes over, in hundredths of its equity."""

    withdrawal_minimum: int = 2 * USDC
    faucet_amount: int = 500 * USDC
    faucet_pause: int = DAY
