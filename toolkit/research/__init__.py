"""Strategies on history, on the local venue and live: backtest, paper, live, sweep, measures, recording and replay.

Names load on first use, because most of them need pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..extras import on_first_use

_HOMES = {
    "History": "analysis.history",
    "Limits": ".limits",
    "Recording": "data.recording",
    "Results": "analysis.results",
    "Strategy": "strategy",
    "attach": "live_trading.attached",
    "backtest": "backtesting.driver",
    "compare": "analysis.results",
    "data": "data",
    "features": "selection.features",
    "formulas": "formulas",
    "indicators": "indicators",
    "live": "live_trading.launch",
    "luck": "analysis.luck",
    "metrics": "analysis.metrics",
    "models": "backtesting.models",
    "optimise": "selection.optimising",
    "paper": "live_trading.launch",
    "record": "data.recorder",
    "replay": "data.replaying",
    "sweep": "selection.sweeps",
    "trials": "analysis.luck",
    "vectorised": "backtesting.arrays",
    "vectorised_many": "backtesting.arrays",
    "walk_forward": "selection.forward",
    "watch": "live_trading.watching",
}
"""Public name → module that holds it, or that it is."""

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from ..limits import Limits as Limits
    from . import data as data
    from . import formulas as formulas
    from . import indicators as indicators
    from .analysis import luck as luck
    from .analysis import metrics as metrics
    from .analysis.history import History as History
    from .analysis.luck import trials as trials
    from .analysis.results import Results as Results
    from .analysis.results import compare as compare
    from .backtesting import models as models
    from .backtesting.arrays import vectorised as vectorised
    from .backtesting.arrays import vectorised_many as vectorised_many
    from .backtesting.driver import backtest as backtest
    from .data.recorder import record as record
    from .data.recording import Recording as Recording
    from .data.replaying import replay as replay
    from .live_trading.attached import attach as attach
    from .live_trading.launch import live as live
    from .live_trading.launch import paper as paper
    from .live_trading.watching import watch as watch
    from .selection import features as features
    from .selection.forward import walk_forward as walk_forward
    from .selection.optimising import optimise as optimise
    from .selection.sweeps import sweep as sweep
    from .strategy import Strategy as Strategy

__getattr__ = on_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
