"""The methods of Session and AsyncSession: orders, tables and permissions.

Most are written once as flows and bound here, synchronous or awaited. The stub of this module spells them out for
editors and type checkers; `python -m tests.stubs` writes it.
"""

from __future__ import annotations

from .accessors import accessible
from .client.io.flow import Asynchronous, Synchronous
from .client.orders.permissions import BuilderFlows, PermissionFlows
from .client.orders.trading import TradingFlows
from .client.parent_orders.parents import ParentOrderFlows
from .client.reads.tables import TableFlows
from .suggestions import Suggesting


@accessible
class SessionMethods(TradingFlows, ParentOrderFlows, TableFlows, PermissionFlows, Suggesting, Synchronous):
    """The methods of Session."""


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
