"""Trades and books of the live feed, queued until the run's next poll or timer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..market_data import BookSnapshot, Trade
from .session_rows import unix_ms

if TYPE_CHECKING:
    from ...session import Session

DEPTHS = (20, 200)
"""Depths of the books that are subscribed to."""


class FeedQueue:
    """Collects updates of live objects, whose callbacks run on the feed's thread.

    Attributes: `items` (not delivered yet, oldest first), `sources` (the live objects), `filled` (whether orders or
    fills may have changed since it was set to False; None: nothing notes that).
    """

    def __init__(self, session: Session, now: Callable[[], int]) -> None:
        self.items: deque[Trade | BookSnapshot] = deque()
        self.sources: list[Any] = []
        self.filled: bool | None = None
        self._books: dict[tuple[str, int], Any] = {}
        self._session = session
        self._now = now

    def add_trades(self, symbol: str) -> None:
        """Subscribe to the trades of a symbol; those of the first snapshot are past and left out."""

        def collect(update: Any) -> None:
            if update.kind != "snapshot":
                for item in update.items:
                    price, quantity = float(item.price), float(item.quantity)
                    self.items.append(Trade(symbol, unix_ms(item.time), str(item.side), price, quantity))

        self._subscribe(self._session.stream.trades(symbol), collect)

    def add_fills(self) -> None:
        """Subscribe to the fills of the account."""

        def note(update: Any) -> None:
            self.filled = True

        self._subscribe(self._session.stream.fills(), note)

    def book(self, symbol: str, depth: int) -> BookSnapshot:
        """Return the present book of a symbol, with empty sides while it is not live."""
        steps = next((steps for steps in DEPTHS if steps >= depth), depth)
        live = self._books.get((symbol, steps))
        if live is None:
            live = self._books[symbol, steps] = self._session.stream.order_book(symbol, depth=steps)
            self.sources.append(live)
        sides: list[tuple[tuple[float, float], ...]] = [(), ()]
        if live.is_live:
            sides = [_levels(levels) for levels in (live.bids(depth), live.asks(depth))]
        return BookSnapshot(symbol, self._now(), *sides)

    def add_books(self, symbol: str) -> None:
        """Subscribe to the order book of a symbol."""

        def collect(update: Any) -> None:
            self.items.append(
                BookSnapshot(symbol, self._now(), _levels(update.live.bids()), _levels(update.live.asks()))
            )

        self._subscribe(self._session.stream.order_book(symbol), collect)

    def _subscribe(self, source: Any, callback: Callable[[Any], None]) -> None:
        source.on_update(callback)
        self.sources.append(source)

    def raise_errors(self) -> None:
        """Raise the first error of a callback, which the feed's thread has only kept."""
        for source in self.sources:
            if source.errors:
                raise source.errors[0]


def _levels(levels: Any) -> tuple[tuple[float, float], ...]:
    return tuple((float(price), float(quantity)) for price, quantity in levels)
