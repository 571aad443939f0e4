"""The context of a backtest on events: what the strategy knows is what has reached it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import InputError
from ...account_data import OrderHandle
from ...market_data import BookSnapshot
from ..context import BacktestContext

if TYPE_CHECKING:
    from .broker import EventBroker


class EventContext(BacktestContext):
    """The context of a backtest on events."""

    _broker: EventBroker

    def __init__(self, broker: EventBroker, timer_ms: float) -> None:
        super().__init__(broker, 0)
        self.timer_ms = timer_ms

    def _position_steps(self, code: int) -> int:
        return self._broker.known_steps[code]

    def orders(self) -> list[OrderHandle]:
        """Return the orders that are not known to be in a final state, oldest first."""
        return list(self._broker.open_handles.values())

    def book(self, symbol: str | None = None, depth: int = 1) -> BookSnapshot:
        """Return the book as received: `depth` levels a side, best first; sides are empty before the first message."""
        return self._broker.book_snapshot(self._broker.state_of(symbol or self.symbols[0]), depth)

    def price(self, symbol: str) -> float:
        """Return the mid of the book as received, USDC; NaN before both sides are known."""
        return self.book(symbol).mid

    def bars(self, symbol: str | None = None, interval: Any = None) -> Any:
        """Raises InputError: events have no bars."""
        raise InputError("there are no bars in a backtest on events; keep what on_trade receives", field="bars")
