"""Market data: bars, events of books and trades from files, recordings, and their replay as a venue's market."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ...worked_examples import add_examples

_LAZY = {"Events": "events", "Kind": "event_array", "check": "quality", "load": "loading"}
"""Public name → module that holds it. Loaded on first use, because they need pandas."""

__all__ = sorted(_LAZY)

if TYPE_CHECKING:
    from .event_array import Kind as Kind
    from .events import Events as Events
    from .loading import load as load
    from .quality import check as check


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        add_examples({name: value}, "data")
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
