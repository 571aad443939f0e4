"""Sources of the public channels: books, trades, candles, tickers, blocks and transactions, read from the core.

A source returns a snapshot at any time, and after each command the increments that the command caused. Those of the
account channels are in `account_sources`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from ...errors import MalformedRequest
from ...products import Product
from ...protocol.enums import TransactionStatus
from ...protocol.hexbytes import to_checksummed
from ...protocol.reads.channel import Channel
from ...protocol.reads.feed import RECENT
from ..api import records
from ..engine.core import Core
from ..model.history import Block, PublicTrade, Transaction
from ..simulation import past
from ..simulation.participants import past_of
from .account_sources import account_source
from .batches import Batch, Data, FeedSource, Levels, feed_hash, in_chunks
from .candles import CandleSource, TickerSource

_ALL = 1 << 62
"""More than the levels of any side are worth, in micro-USDC."""


class BookSource(FeedSource):
    """The best levels of a book.

    Levels that enter or leave the window are part of the increments.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : Product
        Product of the book.
    depth : int
        Number of levels on each side.
    """

    def __init__(self, core: Core, product: Product, depth: int) -> None:
        self._code = product.code
        self._depth = depth
        self._sides: tuple[Levels, Levels] = ([], [])
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Take the present levels as those that were sent.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        self._sides = self._window(core)

    def snapshot(self, core: Core) -> Data:
        """Return the levels as of the last increment.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        product = core.products[self._code]
        bids, asks = ([_level(product, *level) for level in side] for side in self._sides)
        return self._data(core, bids, asks)

    def collect(self, batch: Batch) -> list[Data]:
        """Return the levels that a command changed, as one increment.

        A total of 0 removes a level.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        if self._code not in batch.books:
            return []
        core = batch.core
        before, self._sides = self._sides, self._window(core)
        product = core.products[self._code]
        bids, asks = (self._changes(product, *pair) for pair in zip(before, self._sides, strict=True))
        return [self._data(core, bids, asks)] if bids or asks else []

    def _window(self, core: Core) -> tuple[Levels, Levels]:
        bids, asks = (list(islice(core.books.levels(self._code, side, _ALL), self._depth)) for side in (1, -1))
        return bids, asks

    def _changes(self, product: Product, before: Levels, now: Levels) -> list[list[str]]:
        if before == now:
            return []
        old, new = dict(before), dict(now)
        changes = [[records.price(product, price), "0"] for price in old if price not in new]
        changes += [_level(product, *level) for level in now if old.get(level[0]) != level[1]]
        return changes

    def _data(self, core: Core, bids: list[list[str]], asks: list[list[str]]) -> Data:
        return {
            "symbolCode": self._code,
            "symbol": core.products[self._code].symbol,
            "block": core.height,
            "depth": self._depth,
            "timestamp": core.state.time,
            "book": {"bids": bids, "asks": asks},
        }


def _level(product: Product, price_ticks: int, total_steps: int) -> list[str]:
    return [records.price(product, price_ticks), records.quantity(product, total_steps)]


class TradesSource(FeedSource):
    """Public trades of a product.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : Product
        Product of the trades.
    """

    def __init__(self, core: Core, product: Product) -> None:
        self._code = product.code

    def snapshot(self, core: Core) -> Data:
        """Return the last trades.

        The simulated market has some from before genesis.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        found = core.state.history.trades.get(self._code, [])[-RECENT:]
        before = past_of(core, self._code) if len(found) < RECENT else None
        older = past.trades(before, RECENT - len(found)) if before is not None else []
        return self._data(core, [*older, *found])

    def collect(self, batch: Batch) -> list[Data]:
        """Return the trades of a command, in chunks.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        return [self._data(batch.core, part) for part in in_chunks(batch.trades.get(self._code, ()))]

    def _data(self, core: Core, trades: Sequence[PublicTrade]) -> Data:
        product = core.products[self._code]
        rows = [
            {
                "symbol": product.symbol,
                "ordSide": "BUY" if trade.side > 0 else "SELL",
                "filledPx": records.price(product, trade.price),
                "filledQty": records.quantity(product, trade.quantity),
                "transactionTime": trade.time,
                "txHash": feed_hash(trade.hash),
            }
            for trade in trades
        ]
        return {"symbol": product.symbol, "trades": rows}


class BlockSource(FeedSource):
    """Blocks: those with transactions, and the newest one.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    """

    def __init__(self, core: Core) -> None:
        self._published = 0
        """Blocks of the history that were published."""
        self._newest: Data | None = None
        self.reset(core)

    def reset(self, core: Core) -> None:
        """Take the present blocks as published.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        blocks = core.state.history.blocks
        self._published = len(blocks)
        self._newest = _block_record(blocks[-1]) if blocks else None
        self._add_empty(core)

    def snapshot(self, core: Core) -> Data | None:
        """Return the newest block.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        return self._newest

    def collect(self, batch: Batch) -> list[Data]:
        """Return the blocks that were completed since the last increment, with the newest empty one.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        if not batch.blocks:
            return []
        blocks = batch.core.state.history.blocks
        new = [_block_record(block) for block in blocks[self._published :]]
        self._published = len(blocks)
        self._newest = new[-1] if new else self._newest
        return [*new, *self._add_empty(batch.core)]

    def _add_empty(self, core: Core) -> list[Data]:
        """Add the newest complete block if it has no transactions: the history keeps only blocks that have some."""
        state = core.state
        height = core.height - 1
        if height < 1 or (self._newest and self._newest["blockHeight"] >= height):
            return []
        self._newest = {"blockHeight": height, "blockTime": state.genesis_time + height * state.block_ms, "txCount": 0}
        return [self._newest]


class HeightSource(FeedSource):
    """Height of the newest complete block."""

    def snapshot(self, core: Core) -> Data:
        """Return the height of the newest complete block and its end, Unix ms.

        Parameters
        ----------
        core : Core
            State machine of the venue.
        """
        state = core.state
        height = core.height - 1
        return {"blockHeight": height, "timestamp": state.genesis_time + height * state.block_ms}

    def collect(self, batch: Batch) -> list[Data]:
        """Return the height if a block was completed.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        return [self.snapshot(batch.core)] if batch.blocks else []


class TransactionSource(FeedSource):
    """Transactions of all accounts."""

    def collect(self, batch: Batch) -> list[Data]:
        """Return the transactions of a command, one increment each.

        Parameters
        ----------
        batch : Batch
            Events of one command.
        """
        return [_transaction_record(done) for done in batch.transactions]


def _block_record(block: Block) -> Data:
    return {"blockHeight": block.height, "blockTime": block.time, "txCount": block.count}


def _transaction_record(done: Transaction) -> Data:
    return {
        "blockHeight": done.height,
        "txHash": feed_hash(done.hash),
        "user": to_checksummed(done.address),
        "actionType": done.action,
        "status": int(TransactionStatus.FAILED if done.code else TransactionStatus.SUCCESS),
    }


_OF_PRODUCT: Mapping[str, Callable[[Core, Product, Mapping[str, Any]], FeedSource]] = {
    "orderBook": lambda core, product, fields: BookSource(core, product, fields["depth"]),
    "trades": lambda core, product, fields: TradesSource(core, product),
    "candle": lambda core, product, fields: CandleSource(core, product, int(fields["interval"])),
    "ticker": lambda core, product, fields: TickerSource(core, product),
}
_OF_ALL: Mapping[str, Callable[[Core], FeedSource]] = {
    "allTickers": TickerSource,
    "block": BlockSource,
    "blockHeight": lambda core: HeightSource(),
    "tx": lambda core: TransactionSource(),
}


def source_for(core: Core, channel: Channel, fields: Mapping[str, Any]) -> FeedSource:
    """Return the source of a subscription.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    channel : Channel
        Declaration of the channel.
    fields : mapping of str to object
        Fields of the subscription, as the client's message has them.

    Raises
    ------
    MalformedRequest
        If its product is not listed.
    """
    if channel.type in _OF_ALL:
        return _OF_ALL[channel.type](core)
    if channel.private:
        return account_source(core, channel.type, fields["userAddress"])
    for product in core.products.values():
        if product.symbol == fields["symbol"]:
            return _OF_PRODUCT[channel.type](core, product, fields)
    listed = tuple(product.symbol for product in core.products.values())
    text = f"subscription.symbol {fields['symbol']!r} is not listed. Listed are {', '.join(listed)}"
    raise MalformedRequest(text, field="subscription.symbol", rule="listed", value=fields["symbol"], nearest=listed)
