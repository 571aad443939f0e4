"""Widgets for notebooks: order ticket, order book, trades, candles, blotter, account, dashboard, permissions.

`session.ticket(symbol)`, `session.blotter()`, `session.dashboard(symbol)` and `session.widgets` make them. `theme` sets
the colours of up and down. They load on first use, so that the toolkit stays cheap to import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_LAZY = {
    "Account": "portfolio",
    "Blotter": "portfolio",
    "Candles": "market",
    "Dashboard": "dashboard",
    "OrderBook": "market",
    "OrderTicket": "ticket",
    "Permissions": "permissions",
    "Trades": "market",
    "Widgets": "shelf",
    "theme": "theme",
}

__all__ = sorted(_LAZY)

if TYPE_CHECKING:
    from .dashboard import Dashboard
    from .market import Candles, OrderBook, Trades
    from .permissions import Permissions
    from .portfolio import Account, Blotter
    from .shelf import Widgets
    from .theme import theme
    from .ticket import OrderTicket


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        module = importlib.import_module(f".{_LAZY[name]}", __name__)
        value = globals()[name] = getattr(module, name)
        return value
    raise AttributeError(f"module 'toolkit.widgets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
