"""Which rules a core has, and the order in which they run.

A module of rules registers them with the decorators here and is listed in MODULES. A process or a post-command hook
that must run at a certain place is listed in ORDER. Rules take the core as their first argument. It is typed `Any`
here because the core itself imports this module.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from types import ModuleType
from typing import Any, TypeVar

from ...protocol.orders.order_actions import recall
from ..model.genesis import Genesis
from .commands import ActionContext, Outcome

MODULES: tuple[str, ...] = (
    "engine.core",
    "risk.ledger",
    "trading.placing",
    "trading.live_orders",
    "risk.prices",
    "risk.funding_settlement",
    "trading.margin_actions",
    "liquidation.monitor",
    "liquidation.takeover",
    "risk.equity_curve",
    "risk.audit",
    "programs.permissions",
    "programs.builders",
    "programs.vaults",
    "programs.vault_leaders",
    "programs.referrals",
    "simulation.participants",
    "simulation.unwatched",
    "simulation.recorded",
    "simulation.interventions",
)
"""Modules of `toolkit.venue` that hold rules, loaded on first use because they import the core.

A module may have `attach(core)`, called when a core is created or loaded, to rebuild what the state does not hold. It
may have `begin(core, genesis)`, called once in the life of a venue.
"""

ORDER = ("script", "prices", "settle", "quotes", "market", "unwind", "funding", "triggers", "liquidation", "blocks")
"""Order of processes and post-command hooks within one instant. The others follow, sorted by name.

Prices come before everything that depends on them, participants follow before triggers and liquidations need someone
to trade with, and a block closes last.
"""

Handler = Callable[[Any, ActionContext, Any], dict[str, Any] | Outcome | None]
OrderRule = TypeVar("OrderRule", bound=Callable[[Any, ActionContext, Any], Outcome])
ControlRule = Callable[..., Any]
Process = Callable[[Any, int], int | None]
PostCommandHook = Callable[[Any], bool | None]
Invariant = Callable[[Any], Iterable[str]]
Rule = TypeVar("Rule", bound=Callable[..., Any])
T = TypeVar("T")

HANDLERS: dict[str, Handler] = {}
"""action.type → rule(core, context, action). It returns the answer's data (or an Outcome), or raises Refused before it
changed anything."""
CONTROLS: dict[str, ControlRule] = {}
"""Name → rule(core, **args) of an intervention."""
PROCESSES: dict[str, Process] = {}
"""Name → rule(core, time) that runs when it is due and returns when it is due next (None = until Core.wake)."""
POST_COMMAND_HOOKS: dict[str, PostCommandHook] = {}
"""Name → rule(core) that runs after every command and every instant of Advance: triggers, liquidation checks. When one
of them returns True (it traded), all run again."""
INVARIANTS: dict[str, Invariant] = {}
"""Name → rule(core) that yields a sentence for every violation, at a cost that grows with the accounts and orders."""
HISTORY_INVARIANTS: dict[str, Invariant] = {}
"""The same for rules that read the whole history."""


def _register(table: dict[str, Any], name: str = "") -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        table[name or f"{rule.__module__}.{rule.__qualname__}"] = rule
        return rule

    return register


handles = partial(_register, HANDLERS)
"""Decorator that registers the rule for an action type."""


def handles_orders(name: str) -> Callable[[OrderRule], OrderRule]:
    """Return the decorator that registers the rule for an action type that places, replaces or cancels orders.

    The rule takes the typed action. Requests, the log and interventions keep the action as on the wire, which was
    checked when it was parsed. A backtest gives a typed one.

    Parameters
    ----------
    name : str
        Type of the action.
    """

    def register(rule: OrderRule) -> OrderRule:
        HANDLERS[name] = lambda core, context, action: rule(
            core, context, recall(action) if type(action) is dict else action
        )
        return rule

    return register


controls = partial(_register, CONTROLS)
"""Decorator that registers an intervention."""
process = partial(_register, PROCESSES)
"""Decorator that registers a process that time drives."""
post_command = partial(_register, POST_COMMAND_HOOKS)
"""Decorator that registers a rule that runs after every command and every instant."""


def invariant(*, history: bool = False) -> Callable[[Rule], Rule]:
    """Register what must hold after every command.

    `history` marks a rule that reads the whole history.

    Parameters
    ----------
    history : bool, optional
        True for a rule that reads the whole history. It is left out of the checks after each command (default:
        `False`).
    """
    return _register(HISTORY_INVARIANTS if history else INVARIANTS)


def ordered(rules: Mapping[str, T]) -> list[tuple[str, T]]:
    """Return named rules in their fixed order.

    Parameters
    ----------
    rules : mapping of str to T
        Name → rule of one table, such as `PROCESSES`.
    """
    _load()
    place = {name: at for at, name in enumerate(ORDER)}
    return [(name, rules[name]) for name in sorted(rules, key=lambda name: (place.get(name, len(ORDER)), name))]


def attach(core: object) -> None:
    """Let every module of rules rebuild what it keeps outside the state.

    Parameters
    ----------
    core : Core
        State machine whose indexes are built from its state.
    """
    for rule in _functions("attach"):
        rule(core)


def begin(core: object, genesis: Genesis) -> None:
    """Let every module of rules set up a new venue.

    Parameters
    ----------
    core : Core
        New state machine, with the first state of `genesis`.
    genesis : Genesis
        How the venue begins.
    """
    for rule in _functions("begin"):
        rule(core, genesis)


@cache
def _functions(name: str) -> list[Callable[..., None]]:
    return [getattr(module, name) for module in _load() if hasattr(module, name)]


@cache
def _load() -> list[ModuleType]:
    return [importlib.import_module(f"toolkit.venue.{name}") for name in MODULES]
