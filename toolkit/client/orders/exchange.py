"""`session.exchange`: one method for each action of the interface, synchronous or awaited.

The methods are made at import from the declarations (see `exchange_flows`). The stub of this module spells them out for
editors and type checkers. `python -m tests.stubs` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ...protocol.actions import ACTIONS
from ..io.flow import Asynchronous, Synchronous
from .exchange_flows import ExchangeFlows

if TYPE_CHECKING:
    from .receipts import Receipt


class Exchange(ExchangeFlows, Synchronous):
    """The interface's actions, one method each. See `help(session.exchange.place_order)`."""

    if TYPE_CHECKING:
        # For Jedi in a notebook, which reads this file and not the stub: it needs some type to show a signature.
        def __getattr__(self, name: str) -> Callable[..., Receipt]: ...

    def __repr__(self) -> str:
        return f"<Exchange on {self._environment.name}: {len(ACTIONS)} actions>"


class AsyncExchange(ExchangeFlows, Asynchronous):
    """The asynchronous twin of Exchange: the same methods as coroutine functions."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Receipt]]: ...

    def __repr__(self) -> str:
        return f"<AsyncExchange on {self._environment.name}: {len(ACTIONS)} actions>"
