"""Which rules a core has, and in which order they go.

A new module of rules is added to MODULES; a process or follow-up that must go at a certain place, to ORDER.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from ..model.genesis import Genesis
from .commands import ActionContext, Outcome

MODULES: tuple[str, ...] = (
    "risk.ledger",
    "trading.orders",
    "trading.trigger_orders",
    "risk.prices",
    "risk.funding",
    "risk.margin_actions",
    "liquidation.liquidation",
    "risk.equity_samples",
    "risk.deposits",
    "programs.permissions",
    "programs.builders",
    "programs.vaults",
    "programs.vault_leaders",
    "programs.referrals",
    "simulation.participants",
    "simulation.interventions",
)
"""Modules of `toolkit.venue` that hold rules. A module may have `attach(core)`, called when a core is made or loaded
(to rebuild what the state does not hold), and `begin(core, genesis)`, called once in the life of a venue."""

ORDER = ("script", "prices", "settle", "market", "funding", "triggers", "liquidation", "expiry", "blocks")
"""Who goes first within one instant: processes and follow-ups by name; the others come after, by name."""

Handler = Callable[[Any, ActionContext, dict[str, Any]], dict[str, Any] | Outcome | None]
ControlRule = Callable[..., Any]
Process = Callable[[Any, int], int | None]
PostCommandHook = Callable[[Any], bool | None]

HANDLERS: dict[str, Handler] = {}
"""action.type → rule. It returns the answer's data (or an Outcome), or raises Refused before it changed anything."""
CONTROLS: dict[str, ControlRule] = {}
PROCESSES: dict[str, Process] = {}
"""Name → rule(core, time) that runs when due and returns when it is due next (None = until Core.wake)."""
POST_COMMAND_HOOKS: dict[str, PostCommandHook] = {}
"""Name → rule run after every command and every instant of Advance: triggers, liquidation checks. When one of them
returns True (it traded), all run again."""


def handles(action: str) -> Callable[[Handler], Handler]:
    """Register the rule for an action type."""

    def register(rule: Handler) -> Handler:
        HANDLERS[action] = rule
        return rule

    return register


def controls(name: str) -> Callable[[ControlRule], ControlRule]:
    """Register an intervention."""

    def register(rule: ControlRule) -> ControlRule:
        CONTROLS[name] = rule
        return rule

    return register


def process(name: str) -> Callable[[Process], Process]:
    """Register a process that time drives; `ORDER` fixes who goes first in the same instant."""

    def register(rule: Process) -> Process:
        PROCESSES[name] = rule
        return rule

    return register


def post_command(name: str) -> Callable[[PostCommandHook], PostCommandHook]:
    """Register a rule that runs after every command and instant, in the order of `ORDER`."""

    def register(rule: PostCommandHook) -> PostCommandHook:
        POST_COMMAND_HOOKS[name] = rule
        return rule

    return register


T = TypeVar("T")


def ordered(rules: Mapping[str, T]) -> list[tuple[str, T]]:
    """Return named rules in their fixed order."""
    _load()
    place = {name: at for at, name in enumerate(ORDER)}
    return [(name, rules[name]) for name in sorted(rules, key=lambda name: (place.get(name, len(ORDER)), name))]


def attach(core: Any) -> None:
    """Let every module of rules rebuild what it keeps beside the state."""
    for module in _load():
        if hasattr(module, "attach"):
            module.attach(core)


def begin(core: Any, genesis: Genesis) -> None:
    """Let every module of rules set up a new venue."""
    for module in _load():
        if hasattr(module, "begin"):
            module.begin(core, genesis)


def _load() -> list[ModuleType]:
    return [importlib.import_module(f"toolkit.venue.{name}") for name in MODULES]
