"""Events that commands cause, in order, for the feed: `Core.events` after each command.

Units as in `state`. Events are not part of the state, the shell clears them.
"""

from __future__ import annotations

import msgspec

from ..model.history import ClosedPosition, FundingPayment, FundingRate, OrderEvent, PublicTrade, Transaction


class Event(msgspec.Struct, gc=False):
    """Base of all events. Most hold only numbers, text and flat records, which form no cycles: gc=False is safe."""


class BookChange(Event):
    """A price level has a new total (0 = removed). `sequence` is the market's and grows by one each time.

    With price 0, and the number of the change before, any level may have changed: time has passed for simulated makers.
    """

    product: int
    side: int
    """+1 bids, −1 asks."""
    price: int
    total: int
    sequence: int


class TradeDone(Event):
    """A public trade."""

    trade: PublicTrade


class OrderChanged(Event):
    """An order of an account that keeps history had an event (accepted, filled, cancelled, triggered, refused)."""

    event: OrderEvent


class AccountChanged(Event):
    """A balance changed."""

    address: str


class PositionChanged(Event):
    """A position or its settings changed."""

    address: str
    product: int


class PositionClosed(Event):
    """A leg went flat."""

    record: ClosedPosition


class FundingPaid(Event):
    """An account paid or received funding."""

    payment: FundingPayment


class FundingRateSet(Event):
    """A funding settlement was made for a product."""

    rate: FundingRate


class InsuranceOverdrawn(Event):
    """INSURANCE has paid for a loss that it had no money for. Amounts in micro-USDC."""

    address: str
    """The account that lost more than it had."""
    product: int
    """0 = several."""
    amount: int
    balance: int
    """Of INSURANCE after it."""
    trades: tuple[int, ...]
    """Ids of the trades that made the position."""


class PriceTick(Event):
    """Oracle and mark were set (ticks)."""

    product: int
    time: int
    oracle: int
    mark: int


class CandleChanged(Event):
    """The open one-minute candle of a product changed. Read it from the history."""

    product: int
    start: int


class BlockDone(Event):
    """Time entered a new block, so the one of `height` is complete. Skipped empty blocks have no event."""

    height: int
    time: int
    count: int
    """Transactions in it."""


class TxDone(Event):
    """A submitted action was executed, or refused by a business rule."""

    transaction: Transaction


class UserNotice(Event, gc=True):
    """A message for the userEvent channel of one account: `kind` as on the wire, `data` ready for JSON."""

    address: str
    kind: str
    data: dict[str, object]
