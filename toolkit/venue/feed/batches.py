"""What a source of the feed is, and the events of one command sorted by whom they concern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..engine import events as ev
from ..model.history import PublicTrade

if TYPE_CHECKING:
    from ..engine.core import Core

Data = dict[str, Any]
Levels = list[tuple[int, int]]
"""Price in ticks and total in steps, best first."""


class Batch:
    """The events of one command, sorted by whom they concern."""

    __slots__ = (
        *("accounts", "blocks", "books", "candles", "closed", "core", "funding", "notices", "orders"),
        *("prices", "trades", "transactions"),
    )

    def __init__(self, core: Core, events: Sequence[ev.Event]) -> None:
        self.core = core
        self.books: set[int] = set()
        self.prices: set[int] = set()
        self.trades: dict[int, list[PublicTrade]] = {}
        self.candles: dict[int, dict[int, None]] = {}
        self.blocks = False
        self.transactions: list[ev.TxDone] = []
        self.orders: dict[str, list[Any]] = {}
        self.accounts: set[str] = set()
        self.closed: dict[str, list[Any]] = {}
        self.funding: dict[str, list[Any]] = {}
        self.notices: dict[str, list[ev.UserNotice]] = {}
        for event in events:
            sort = _SORT.get(type(event))
            if sort is not None:
                sort(self, event)


def _trade(batch: Batch, event: Any) -> None:
    batch.trades.setdefault(event.trade.product, []).append(event.trade)


def _order(batch: Batch, event: Any) -> None:
    batch.orders.setdefault(event.event.address, []).append(event.event)


def _account(batch: Batch, event: Any) -> None:
    batch.accounts.add(event.address)


def _closed(batch: Batch, event: Any) -> None:
    batch.closed.setdefault(event.record.address, []).append(event.record)


def _funding(batch: Batch, event: Any) -> None:
    batch.funding.setdefault(event.payment.address, []).append(event.payment)


def _notice(batch: Batch, event: Any) -> None:
    batch.notices.setdefault(event.address, []).append(event)


def _book(batch: Batch, event: Any) -> None:
    batch.books.add(event.product)


def _price(batch: Batch, event: Any) -> None:
    batch.prices.add(event.product)


def _rate(batch: Batch, event: Any) -> None:
    batch.prices.add(event.rate.product)


def _candle(batch: Batch, event: Any) -> None:
    batch.candles.setdefault(event.product, {})[event.start] = None


def _block(batch: Batch, event: Any) -> None:
    batch.blocks = True


def _transaction(batch: Batch, event: Any) -> None:
    batch.transactions.append(event)


_SORT: dict[type, Callable[[Batch, Any], None]] = {
    ev.BookChange: _book,
    ev.TradeDone: _trade,
    ev.OrderChanged: _order,
    ev.AccountChanged: _account,
    ev.PositionChanged: _account,
    ev.PositionClosed: _closed,
    ev.FundingPaid: _funding,
    ev.FundingRateSet: _rate,
    ev.PriceTick: _price,
    ev.CandleChanged: _candle,
    ev.BlockDone: _block,
    ev.TxDone: _transaction,
    ev.UserNotice: _notice,
}


class Source(ABC):
    """What one subject says."""

    @abstractmethod
    def snapshot(self, core: Core) -> Data:
        """Return the data of a snapshot as of the last increment (or of now, before the first)."""

    @abstractmethod
    def collect(self, batch: Batch) -> list[Data]:
        """Return the data of the increments that a command made, in order."""

    def reset(self, core: Core) -> None:
        """Begin anew: the core's state is another one."""
        return


def best_levels(core: Core, code: int, side: int, depth: int) -> Levels:
    """Return the best levels of one side (+1 bids, −1 asks) of the engine's book."""
    return core.books[code].depth(side, depth)
