"""Units of the venue's integers, and short names for members of the wire's enums."""

from __future__ import annotations

from ... import exposure
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
RATE = exposure.RATE
"""Rates (fees, slippage, funding) are whole numbers of 1/RATE: 1 % is 1_000_000."""
USDC = 1_000_000
"""Micro-USDC in one USDC."""
PERCENT = 1_000_000
"""Parts of RATE in 1 %."""
DAY = 86_400_000
"""Milliseconds in a day."""
MINUTE_MS = 60_000

# Numbers of the wire's enums as plain integers, because the matching path compares with them at every step: a member of
# an enum class is read three times as slowly, and comparing with one is slower.
NEW, PARTIALLY_FILLED = OrderStatus.NEW.value, OrderStatus.PARTIALLY_FILLED.value
FILLED, CANCELED, REJECTED = OrderStatus.FILLED.value, OrderStatus.CANCELED.value, OrderStatus.REJECTED.value
UNTRIGGERED = OrderStatus.ORDER_STATUS_UNTRIGGERED.value
STATUS_NAMES = ("", *(status.name for status in OrderStatus))
ENDED = frozenset({FILLED, CANCELED, REJECTED})
"""Terminal states of an order."""
LIMIT, MARKET = OrderType.LIMIT.value, OrderType.MARKET.value
STOP_LIMIT, STOP_MARKET = OrderType.STOP_LIMIT.value, OrderType.STOP_MARKET.value
TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET = OrderType.TAKE_PROFIT_LIMIT.value, OrderType.TAKE_PROFIT_MARKET.value
ADL, LIQUIDATION = OrderType.ADL.value, OrderType.LIQUIDATION.value
GTC, POST_ONLY = TimeInForce.GTC.value, TimeInForce.POST_ONLY.value
IOC, FOK = TimeInForce.IOC.value, TimeInForce.FOK.value
REDUCE_ONLY = ReduceOnly.REDUCE_ONLY.value
TP_FROM_POSITION, SL_FROM_POSITION = ReduceOnly.TP_FROM_POSITION.value, ReduceOnly.SL_FROM_POSITION.value
LAST_PRICE, MARK_PRICE = TriggerType.LAST_PRICE.value, TriggerType.MARK_PRICE.value
INDEX_PRICE = TriggerType.INDEX_PRICE.value
CROSS, ISOLATED = MarginMode.CROSS.value, MarginMode.ISOLATED.value
ONE_WAY, HEDGE = PositionMode.ONE_WAY.value, PositionMode.HEDGE.value
NORMAL, LIQUIDATING = AccountStatus.NORMAL.value, AccountStatus.LIQUIDATING.value
MAKER, TAKER = 1, 2
"""Role of an order in a fill."""
