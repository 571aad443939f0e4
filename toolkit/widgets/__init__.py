"""Widgets for notebooks: order ticket, order book, trades, candles, blotter, account, dashboard, permissions, runs.

Each is a class that takes the session, such as `toolkit.widgets.Candles(session, "BTCUSDC")`. It follows the live feed
until its `close()`, or that of the session. `session.ticket(symbol)` and `session.dashboard(symbol)` make two of them.
`theme` sets the colours of up and down. They load on first use, so that the toolkit stays cheap to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..extras import on_first_use

_MEMBERS = {
    "base_panel.panel": ("theme",),
    "order_ticket.ticket": ("OrderTicket",),
    "panels.account_sheets": ("Account", "Funding", "LiquidationMap"),
    "panels.blotter": ("Blotter",),
    "panels.book_and_trades": ("Depth", "OrderBook", "Trades"),
    "panels.candle_chart": ("Candles",),
    "panels.dashboard": ("Dashboard",),
    "panels.header": ("Header",),
    "panels.leaderboard": ("Leaderboard",),
    "panels.permission_table": ("Permissions",),
    "panels.run_table": ("Runs",),
}
_HOMES = {name: module for module, names in _MEMBERS.items() for name in names}

# Written out, because type checkers and editors only take names from a literal list.
__all__ = [
    "Account", "Blotter", "Candles", "Dashboard", "Depth", "Funding", "Header", "Leaderboard", "LiquidationMap",
    "OrderBook", "OrderTicket", "Permissions", "Runs", "Trades", "theme",
]  # fmt: skip

if TYPE_CHECKING:
    from .base_panel.panel import theme
    from .order_ticket.ticket import OrderTicket
    from .panels.account_sheets import Account, Funding, LiquidationMap
    from .panels.blotter import Blotter
    from .panels.book_and_trades import Depth, OrderBook, Trades
    from .panels.candle_chart import Candles
    from .panels.dashboard import Dashboard
    from .panels.header import Header
    from .panels.leaderboard import Leaderboard
    from .panels.permission_table import Permissions
    from .panels.run_table import Runs

__getattr__ = on_first_use(__name__, _HOMES, "ipywidgets", "anywidget")


def __dir__() -> list[str]:
    return __all__
