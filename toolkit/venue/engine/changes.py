"""Events that commands cause, in order, for the feed: `Core.events` after each command.

Units as in `state`. Events are not part of the state. The shell clears them. Records of the history are events
themselves. Public trades (with which the open candle changes) and events of orders of accounts that keep history are
such records. So are closed positions, funding payments, rates of settlements, and executed or refused actions.
"""

from __future__ import annotations

import msgspec

from ..model.history import ClosedPosition, FundingPayment, FundingRate, OrderEvent, PublicTrade, Transaction


class Change(msgspec.Struct, gc=False):
    """Base of the other events. Most hold only numbers and text, which form no cycles: gc=False is safe."""


class BookChange(Change):
    """A price level has a new total.

    With price 0, and the number of the change before, any level may have changed: time has passed for simulated makers.

    Attributes
    ----------
    product : int
        Code of the product.
    price : int
        Price of the level in ticks. 0 means that any level may have changed.
    total : int
        Steps that rest there now. 0 means that the level is gone.
    sequence : int
        Number of the change of this book. It grows by one each time.
    """

    product: int
    side: int
    """+1 bids, −1 asks."""
    price: int
    total: int
    sequence: int


class AccountChanged(Change):
    """A balance, a position or its settings changed.

    Attributes
    ----------
    address : str
        Account it is about.
    """

    address: str


class InsuranceOverdrawn(Change):
    """INSURANCE has paid for a loss that it had no money for.

    Amounts in micro-USDC.

    Attributes
    ----------
    amount : int
        What INSURANCE paid, in micro-USDC.
    """

    address: str
    """The account that lost more than it had."""
    product: int
    """0 = several."""
    amount: int
    balance: int
    """Balance of INSURANCE afterwards."""
    trades: tuple[int, ...]
    """Ids of the trades that made the position."""


class PriceTick(Change):
    """Oracle and mark were set (ticks).

    Attributes
    ----------
    product : int
        Code of the product.
    time : int
        Time of the venue, Unix ms.
    oracle : int
        Oracle price in ticks.
    mark : int
        Mark price in ticks.
    """

    product: int
    time: int
    oracle: int
    mark: int


class BlockDone(Change):
    """Time entered a new block, so the one of `height` is complete.

    Skipped empty blocks have no event.

    Attributes
    ----------
    height : int
        Number of the block.
    time : int
        End of the block, Unix ms.
    """

    height: int
    time: int
    count: int
    """Transactions in it."""


class UserNotice(Change, gc=True):
    """A message for the userEvent channel of one account.

    Attributes
    ----------
    address : str
        Account that receives it.
    kind : str
        Kind of the message, as on the wire.
    data : dict of str to object
        Content of the message, ready for JSON.
    """

    address: str
    kind: str
    data: dict[str, object]


Event = Change | PublicTrade | OrderEvent | ClosedPosition | FundingPayment | FundingRate | Transaction
