"""The interface of a feed source, and the events of one command grouped for the sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..engine import changes as ev
from ..engine.core import Core
from ..model.history import ClosedPosition, FundingPayment, OrderEvent, PublicTrade, Transaction

CHUNK = 500
"""Items in one increment of an ``append`` channel at most. More are sent in several."""

Data = dict[str, Any]
Levels = list[tuple[int, int]]
"""Price in ticks and total in steps, best first."""


class Batch:
    """The events of one command: by product code for markets, by address for accounts."""

    def __init__(self, core: Core, events: Sequence[ev.Event]) -> None:
        self.core = core
        self.books: set[int] = set()
        self.prices: set[int] = set()
        self.trades: dict[int, list[PublicTrade]] = defaultdict(list)
        self.candles: dict[int, set[int]] = defaultdict(set)
        """Starts of the minutes that changed."""
        self.blocks: list[ev.BlockDone] = []
        self.transactions: list[Transaction] = []
        self.orders: dict[str, list[OrderEvent]] = defaultdict(list)
        self.accounts: set[str] = set()
        self.closed: dict[str, list[ClosedPosition]] = defaultdict(list)
        self.funding: dict[str, list[FundingPayment]] = defaultdict(list)
        self.notices: dict[str, list[ev.UserNotice]] = defaultdict(list)
        for event in events:
            add = _ADD.get(type(event))
            if add is not None:
                add(self, event)


_ADD: dict[type, Callable[[Batch, Any], None]] = {
    ev.BookChange: lambda batch, event: batch.books.add(event.product),
    ev.PriceTick: lambda batch, event: batch.prices.add(event.product),
    ev.FundingRateSet: lambda batch, event: batch.prices.add(event.rate.product),
    ev.TradeDone: lambda batch, event: batch.trades[event.trade.product].append(event.trade),
    ev.CandleChanged: lambda batch, event: batch.candles[event.product].add(event.start),
    ev.BlockDone: lambda batch, event: batch.blocks.append(event),
    ev.TxDone: lambda batch, event: batch.transactions.append(event.transaction),
    ev.OrderChanged: lambda batch, event: batch.orders[event.event.address].append(event.event),
    ev.AccountChanged: lambda batch, event: batch.accounts.add(event.address),
    ev.PositionChanged: lambda batch, event: batch.accounts.add(event.address),
    ev.PositionClosed: lambda batch, event: batch.closed[event.record.address].append(event.record),
    ev.FundingPaid: lambda batch, event: batch.funding[event.payment.address].append(event.payment),
    ev.UserNotice: lambda batch, event: batch.notices[event.address].append(event),
}


class FeedSource(ABC):
    """The data of one subject."""

    @abstractmethod
    def snapshot(self, core: Core) -> Data:
        """Return the data of a snapshot as of the last increment (or of now, before the first)."""

    @abstractmethod
    def collect(self, batch: Batch) -> list[Data]:
        """Return the data of the increments that a command caused, in order."""

    def reset(self, core: Core) -> None:
        """Start over from this core, whose state was replaced."""
        return


def in_chunks(items: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the items in parts of at most CHUNK."""
    return [items[at : at + CHUNK] for at in range(0, len(items), CHUNK)]
