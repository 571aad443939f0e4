"""The interface of a feed source, and the events of one command grouped for the sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..engine import changes as ev
from ..engine.core import Core
from ..model.constants import MINUTE_MS
from ..model.history import ClosedPosition, FundingPayment, FundingRate, OrderEvent, PublicTrade, Transaction

CHUNK = 500
"""Items in one increment of an ``append`` channel at most. More are sent in several."""

Data = dict[str, Any]
Levels = list[tuple[int, int]]
"""Price in ticks and total in steps, best first."""


class Batch:
    """The events of one command: by product code for markets, by address for accounts.

    Parameters
    ----------
    core : Core
        State machine that executed the command.
    events : sequence of Event
        Events of the command, in order.
    """

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

    def add_trade(self, trade: PublicTrade) -> None:
        """Add a trade, with the candle that it changed.

        Parameters
        ----------
        trade : PublicTrade
            Public trade.
        """
        self.trades[trade.product].append(trade)
        self.candles[trade.product].add(trade.time - trade.time % MINUTE_MS)


_ADD: dict[type, Callable[[Batch, Any], None]] = {
    ev.BookChange: lambda batch, event: batch.books.add(event.product),
    ev.PriceTick: lambda batch, event: batch.prices.add(event.product),
    FundingRate: lambda batch, rate: batch.prices.add(rate.product),
    PublicTrade: lambda batch, trade: batch.add_trade(trade),
    ev.BlockDone: lambda batch, event: batch.blocks.append(event),
    Transaction: lambda batch, done: batch.transactions.append(done),
    OrderEvent: lambda batch, event: batch.orders[event.address].append(event),
    ev.AccountChanged: lambda batch, event: batch.accounts.add(event.address),
    ClosedPosition: lambda batch, record: batch.closed[record.address].append(record),
    FundingPayment: lambda batch, payment: batch.funding[payment.address].append(payment),
    ev.UserNotice: lambda batch, event: batch.notices[event.address].append(event),
}


class FeedSource(ABC):
    """The data of one subject."""

    def snapshot(self, core: Core) -> Data | None:
        """Return the data of a snapshot as of the last increment (or of now, before the first).

        A channel without snapshots returns its newest record where it replaces those before it, else None.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        return None

    @abstractmethod
    def collect(self, batch: Batch) -> list[Data]:
        """Return the data of the increments that a command caused, in order.

        Parameters
        ----------
        batch : Batch
            Events of the command, grouped.
        """

    def reset(self, core: Core) -> None:
        """Start over from a core whose state was replaced.

        Parameters
        ----------
        core : Core
            State machine with the new state.
        """
        return


def feed_hash(text: str) -> str:
    """Return a hash as the feed writes it: in upper case, without 0x.

    Parameters
    ----------
    text : str
        Hash as 0x and hex digits, or "".
    """
    return text.removeprefix("0x").upper()


def in_chunks(items: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the items in parts of at most CHUNK.

    Parameters
    ----------
    items : sequence of object
        Records in order.
    """
    return [items[at : at + CHUNK] for at in range(0, len(items), CHUNK)]
