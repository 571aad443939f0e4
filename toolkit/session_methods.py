"""The methods of Session and AsyncSession: orders, tables and permissions.

Most are written once as flows and bound here, synchronous or awaited.
"""

from __future__ import annotations

from .client.io.flow import Asynchronous, Synchronous
from .client.limits.stopping import LimitFlows, StopFlows
from .client.orders.approvals import BuilderFlows, PermissionFlows
from .client.orders.trading import IntentFlows, TradingFlows
from .client.parent_orders.parents import ParentOrderFlows, ParentOrderPartFlows
from .client.reads.table_flows import ProductFlows, TableFlows
from .suggestions import Suggesting


class SessionMethods(TradingFlows, ParentOrderFlows, StopFlows, TableFlows, Suggesting, Synchronous):
    """The methods of Session."""


class AsyncSessionMethods(TradingFlows, ParentOrderFlows, StopFlows, TableFlows, Suggesting, Asynchronous):
    """The methods of AsyncSession, coroutine functions."""


class SessionPermissions(PermissionFlows, Synchronous):
    """Permissions to act for the account: the table when called, `.revoke`, `.allow_builder`, `.end_builder`.

    Examples
    --------
    >>> session.permissions()[["kind", "name", "status"]].values.tolist()
    [['agent', 'toolkit-bcd4042d', 'ACTIVE']]
    """


class AsyncSessionPermissions(PermissionFlows, Asynchronous):
    """The asynchronous twin of SessionPermissions."""


class ParentOrders(ParentOrderPartFlows, Synchronous):
    """Orders that are traded over a time: the table when called, `.get(id)`, `.start_twap`.

    Examples
    --------
    >>> parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)
    >>> session.parent_orders()[["status", "done", "slices"]].values.tolist()
    [['RUNNING', 1, 5]]
    """


class AsyncParentOrders(ParentOrderPartFlows, Asynchronous):
    """The asynchronous twin of ParentOrders."""


class SessionLimits(LimitFlows, Synchronous):
    """The limits of a session and its kill switch: `.stop(reason)`, `.resume()`, `.stopped`, `.values`.

    Examples
    --------
    >>> session.limits
    <SessionLimits trading, no limits>
    """


class AsyncSessionLimits(LimitFlows, Asynchronous):
    """The asynchronous twin of SessionLimits."""


class Intents(IntentFlows, Synchronous):
    """Intents that this client recorded before sending: the table when called, `.get(id)`, `.prepare`, `.send`.

    Examples
    --------
    >>> _ = session.buy("BTCUSDC", "0.01")
    >>> session.intents()[["action", "state"]].values.tolist()
    [['approveAgent', 'ACCEPTED'], ['placeOrder', 'ACCEPTED']]
    """


class AsyncIntents(IntentFlows, Asynchronous):
    """The asynchronous twin of Intents."""


class Products(ProductFlows, Synchronous):
    """Products that the venue lists: their table when called, `.currencies()`, `.margin_tables()`.

    Examples
    --------
    >>> session.products()["tick_size"].head(2).to_dict()
    {'BTCUSDC': 0.1, 'ETHUSDC': 0.01}
    """


class AsyncProducts(ProductFlows, Asynchronous):
    """The asynchronous twin of Products."""


class Builder(BuilderFlows, Synchronous):
    """A builder's side of a session: register, see traders, place orders for them. Its master is the builder.

    Parameters
    ----------
    session : Session
        Session of the builder.

    Examples
    --------
    >>> toolkit.Builder(session).register("builders").status
    'ACCEPTED'
    """


class AsyncBuilder(BuilderFlows, Asynchronous):
    """The asynchronous twin of Builder.

    Parameters
    ----------
    session : AsyncSession
        The asynchronous twin of the builder's session, `session.aio`.
    """
