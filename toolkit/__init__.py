"""Research and trade a perpetual-futures exchange from Jupyter, with a whole local exchange inside.

Start with `toolkit.connect()`: a funded session on the local venue, no network and no keys needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_LAZY: dict[str, str] = {
    "Environment": "environments",
    "MAINNET": "environments",
    "TESTNET": "environments",
    "LOCAL": "environments",
    "ToolkitError": "errors",
}
"""Public name → module that holds it; loaded on first use, so that importing the toolkit stays cheap."""

_MODULES = frozenset({"checks", "errors", "margin", "orders", "plots", "products", "research", "widgets"})

__all__ = ["__version__", *_LAZY, *sorted(_MODULES)]

if TYPE_CHECKING:
    from .environments import LOCAL, MAINNET, TESTNET, Environment
    from .errors import ToolkitError


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'toolkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
