"""The methods of Session and AsyncSession: orders, tables, permissions and widgets.

Most are written once as flows and bound here, synchronous or awaited. The stub of this module spells them out for
editors and type checkers; `python -m tests.stubs` writes it.
"""

# ruff: noqa: F821 - the types of widgets stand in the stub only: widgets import the session, so importing them here,
# even for type checkers, would close a circle.

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

from .client.io.flow import Asynchronous, Synchronous
from .client.orders.permissions import BuilderFlows, PermissionFlows
from .client.orders.trading import TradingFlows
from .client.parent_orders.parents import ParentOrderFlows
from .client.reads.tables import TableFlows
from .suggestions import Suggesting


class SessionMethods(TradingFlows, ParentOrderFlows, TableFlows, PermissionFlows, Suggesting, Synchronous):
    """The methods of Session."""

    @cached_property
    def widgets(self) -> Widgets:
        """Live widgets for notebooks: `session.widgets.order_book(symbol)` and others."""
        # By name, on first use: scripts run without loading ipywidgets.
        return import_module(".widgets.factory", __package__).Widgets(self)

    def ticket(self, symbol: str | int, **fields: Any) -> OrderTicket:
        """Return an order ticket, a widget; `fields` fills it, e.g. side="SELL", price="70000"."""
        return self.widgets.ticket(symbol, **fields)

    def blotter(self, symbol: str | int | None = None) -> Blotter:
        """Return a widget with the account's positions, open orders and fills (of one product, or all)."""
        return self.widgets.blotter(symbol)

    def dashboard(self, symbol: str | int, interval: str | int = "1m") -> Dashboard:
        """Return a widget with ticket, candles, order book, trades, account and blotter for one product."""
        return self.widgets.dashboard(symbol, interval)


for _method in (SessionMethods.ticket, SessionMethods.blotter, SessionMethods.dashboard):
    _method.__qualname__ = _method.__name__  # as errors of its arguments name it


class AsyncSessionMethods(TradingFlows, ParentOrderFlows, TableFlows, PermissionFlows, Suggesting, Asynchronous):
    """The methods of AsyncSession, coroutine functions."""


class BuilderSide(BuilderFlows, Suggesting, Synchronous):
    """`session.builder`: register, see traders, place orders for them. The wallet's master is the builder."""

    def __repr__(self) -> str:
        return f"<BuilderSide on {self._session.environment.name}: register, traders, place>"


class AsyncBuilderSide(BuilderFlows, Suggesting, Asynchronous):
    """`session.aio.builder`: the asynchronous twin of BuilderSide."""

    def __repr__(self) -> str:
        return f"<AsyncBuilderSide on {self._session.environment.name}: register, traders, place>"
