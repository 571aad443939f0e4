"""The methods of Session and AsyncSession: orders, tables and permissions.

Most are written once as flows and bound here, synchronous or awaited.
"""

from __future__ import annotations

from .accessors import Accessors
from .client.io.flow import Asynchronous, Synchronous
from .client.orders.approvals import BuilderFlows, PermissionFlows
from .client.orders.trading import IntentFlows, TradingFlows
from .client.parent_orders.parents import ParentOrderFlows, ParentOrderPartFlows
from .client.reads.table_flows import ProductFlows, TableFlows
from .suggestions import Suggesting


class SessionMethods(TradingFlows, ParentOrderFlows, TableFlows, Accessors, Suggesting, Synchronous):
    """The methods of Session."""


class AsyncSessionMethods(TradingFlows, ParentOrderFlows, TableFlows, Suggesting, Asynchronous):
    """The methods of AsyncSession, coroutine functions."""


class SessionPermissions(PermissionFlows, Synchronous):
    """`session.permissions`: who may act for the account."""


class AsyncSessionPermissions(PermissionFlows, Asynchronous):
    """The asynchronous twin of SessionPermissions."""


class ParentOrders(ParentOrderPartFlows, Synchronous):
    """`session.parent_orders`: orders that are traded over a time."""


class AsyncParentOrders(ParentOrderPartFlows, Asynchronous):
    """The asynchronous twin of ParentOrders."""


class Intents(IntentFlows, Synchronous):
    """`session.intents`: what this client recorded before sending, and requests shown before they are sent."""


class AsyncIntents(IntentFlows, Asynchronous):
    """The asynchronous twin of Intents."""


class Products(ProductFlows, Synchronous):
    """`session.products`: what the venue lists."""


class AsyncProducts(ProductFlows, Asynchronous):
    """The asynchronous twin of Products."""


class Builder(BuilderFlows, Synchronous):
    """A builder's side of a session: register, see traders, place orders for them. Its master is the builder."""


class AsyncBuilder(BuilderFlows, Asynchronous):
    """The asynchronous twin of Builder, on `session.aio`."""
