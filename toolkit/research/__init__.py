"""Strategies on history, on the local venue and live: backtest, paper, live, sweep, measures, recording and replay.

Names load on first use, because most of them need pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_LAZY: dict[str, str] = {
    "Limits": "limits",
    "Recording": "recording",
    "Results": "results",
    "Strategy": "strategy",
    "backtest": "simulate",
    "compare": "results",
    "live": "trading",
    "paper": "trading",
    "record": "recorder",
    "replay": "replaying",
    "sweep": "sweeps",
    "vectorised": "arrays",
    "vectorised_many": "arrays",
    "walk_forward": "splits",
}
"""Public name → module that holds it."""

_MODULES = frozenset({"indicators", "metrics", "models"})

__all__ = sorted([*_LAZY, *_MODULES])

if TYPE_CHECKING:
    from . import indicators as indicators
    from . import metrics as metrics
    from . import models as models
    from .arrays import vectorised as vectorised
    from .arrays import vectorised_many as vectorised_many
    from .limits import Limits as Limits
    from .recorder import record as record
    from .recording import Recording as Recording
    from .replaying import replay as replay
    from .results import Results as Results
    from .results import compare as compare
    from .simulate import backtest as backtest
    from .splits import walk_forward as walk_forward
    from .strategy import Strategy as Strategy
    from .sweeps import sweep as sweep
    from .trading import live as live
    from .trading import paper as paper


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'toolkit.research' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
