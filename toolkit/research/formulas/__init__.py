"""Formulas of the field over frames and arrays: execution, liquidity, prices and returns, schedules and quotes."""

from .liquidity import amihud, corwin_schultz, kyle, roll
from .schedules import almgren_chriss, almgren_chriss_rate, avellaneda_stoikov
from .series import hurst, kelly, lo_sharpe, omega, sharpe_scale, ulcer_index, variance_ratio

__all__ = [
    "almgren_chriss", "almgren_chriss_rate", "amihud", "avellaneda_stoikov", "corwin_schultz", "hurst", "kelly", "kyle",
    "lo_sharpe", "omega", "roll", "sharpe_scale", "ulcer_index", "variance_ratio",
]  # fmt: skip
