"""Environments for reinforcement learning (Gymnasium, PettingZoo) over a simulated, recorded or served market.

Needs the extra `gym`. Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..extras import on_first_use

_HOMES = {"PolicyStrategy": "policies", "TradersEnv": "environments", "TradingEnv": "environments"}
__all__ = ["PolicyStrategy", "TradersEnv", "TradingEnv"]

if TYPE_CHECKING:
    from .environments import TradersEnv, TradingEnv
    from .policies import PolicyStrategy

__getattr__ = on_first_use(__name__, _HOMES, "gymnasium", "pettingzoo")


def __dir__() -> list[str]:
    return __all__
