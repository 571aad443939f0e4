"""Which rules a core has, and in which order they go.

A new module of rules is added to MODULES; a process or follow-up that must go at a certain place, to ORDER.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..model.genesis import Genesis
    from .core import Core

MODULES: tuple[str, ...] = (
    "risk.ledger",
    "trading.orders",
    "trading.amendments",
    "trading.trigger_orders",
    "risk.prices",
    "risk.funding",
    "risk.margin_actions",
    "liquidation.monitor",
    "risk.equity_curve",
    "risk.deposits",
    "programs.permissions",
    "programs.builders",
    "programs.vaults",
    "programs.referrals",
    "simulation.participants",
    "simulation.interventions",
)
"""Modules of `toolkit.venue` that hold rules. A module may have `attach(core)`, called when a core is made or loaded
(to rebuild what the state does not hold), and `begin(core, genesis)`, called once in the life of a venue."""

ORDER = ("script", "prices", "settle", "market", "funding", "triggers", "liquidation", "expiry", "blocks")
"""Who goes first within one instant: processes and follow-ups by name; the others come after, by name."""

T = TypeVar("T")


def ordered(rules: Mapping[str, T]) -> list[tuple[str, T]]:
    """Return named rules in their fixed order."""
    _load()
    place = {name: at for at, name in enumerate(ORDER)}
    return [(name, rules[name]) for name in sorted(rules, key=lambda name: (place.get(name, len(ORDER)), name))]


def attach(core: Core) -> None:
    """Let every module of rules rebuild what it keeps beside the state."""
    for module in _load():
        if hasattr(module, "attach"):
            module.attach(core)


def begin(core: Core, genesis: Genesis) -> None:
    """Let every module of rules set up a new venue."""
    for module in _load():
        if hasattr(module, "begin"):
            module.begin(core, genesis)


def _load() -> list[ModuleType]:
    return [importlib.import_module(f"toolkit.venue.{name}") for name in MODULES]
