"""Environments for reinforcement learning (Gymnasium, PettingZoo) over a simulated, recorded or served market.

Needs the extra `gym`. Names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..extras import need

_LAZY = {"PolicyStrategy": "policies", "TradersEnv": "environments", "TradingEnv": "environments"}
__all__ = ["PolicyStrategy", "TradersEnv", "TradingEnv"]

if TYPE_CHECKING:
    from .environments import TradersEnv, TradingEnv
    from .policies import PolicyStrategy


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        need("gymnasium", "pettingzoo")
        value = globals()[name] = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
        return value
    raise AttributeError(f"module 'toolkit.gym' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
