"""Units of the venue's integers, and short names for members of the wire's enums."""

from __future__ import annotations

from ...protocol.enums import (
    AccountStatus,
    MarginMode,
    OrderStatus,
    OrderType,
    PositionMode,
    ReduceOnly,
    TimeInForce,
    TriggerType,
)

OWN = frozenset({"market", "venue"})
"""Kinds of accounts that belong to the venue itself: no stream reports them, and they are never liquidated."""
RATE = 100_000_000
"""Rates (fees, slippage, funding) are whole numbers of 1/RATE: 1 % is 1_000_000."""
USDC = 1_000_000
"""Micro-USDC in one USDC."""
PERCENT = 1_000_000
"""Parts of RATE in 1 %."""
DAY = 86_400_000
"""Milliseconds in a day."""

# Members of the wire's enums that the matching path compares with: a global name is read three times as fast as an
# attribute of an enum class.
NEW, PARTIALLY_FILLED, FILLED = OrderStatus.NEW, OrderStatus.PARTIALLY_FILLED, OrderStatus.FILLED
CANCELED, UNTRIGGERED, REJECTED = OrderStatus.CANCELED, OrderStatus.ORDER_STATUS_UNTRIGGERED, OrderStatus.REJECTED
STATUS_NAMES = ("", *(status.name for status in OrderStatus))
ENDED = frozenset({FILLED, CANCELED, REJECTED})
"""Terminal states of an order."""
LIMIT, MARKET = OrderType.LIMIT, OrderType.MARKET
STOP_LIMIT, STOP_MARKET = OrderType.STOP_LIMIT, OrderType.STOP_MARKET
TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET = OrderType.TAKE_PROFIT_LIMIT, OrderType.TAKE_PROFIT_MARKET
ADL, LIQUIDATION = OrderType.ADL, OrderType.LIQUIDATION
GTC, IOC, FOK, POST_ONLY = TimeInForce.GTC, TimeInForce.IOC, TimeInForce.FOK, TimeInForce.POST_ONLY
REDUCE_ONLY = ReduceOnly.REDUCE_ONLY
TP_FROM_POSITION, SL_FROM_POSITION = ReduceOnly.TP_FROM_POSITION, ReduceOnly.SL_FROM_POSITION
LAST_PRICE, MARK_PRICE, INDEX_PRICE = TriggerType.LAST_PRICE, TriggerType.MARK_PRICE, TriggerType.INDEX_PRICE
CROSS, ISOLATED = MarginMode.CROSS, MarginMode.ISOLATED
ONE_WAY, HEDGE = PositionMode.ONE_WAY, PositionMode.HEDGE
NORMAL, LIQUIDATING = AccountStatus.NORMAL, AccountStatus.LIQUIDATING
MAKER, TAKER = 1, 2
"""Role of an order in a fill."""
