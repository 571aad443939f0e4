"""Positions: query and record.

Source: docs/published.md, "Info API".
"""

from ..endpoint import Endpoint, Param
from ..rows import (
    OF_POSITION,
    Address,
    Code,
    MarginModeName,
    Money,
    Ms,
    PositionModeName,
    Price,
    Quantity,
    Ratio,
    Row,
    SignedQuantity,
    Unique,
    optional,
    required,
)
from .parameters import ACCOUNT, SYMBOL


class Position(Row, identity=("userAddr", "symbolCode"), rules=OF_POSITION, keys=(Unique(("symbol",)),)):
    """The position of an account in one product, with both legs in hedge mode."""

    symbol: Code = required("symbolCode", "product symbol")
    long_size: Quantity = required("longSize", "size of the long position")
    short_size: SignedQuantity = required("shortSize", "size of the short position, as a positive number")
    long_entry_value: Money = required("longEntryValue", "entry price × size of the long position")
    short_entry_value: Money = required("shortEntryValue", "entry price × size of the short position")
    leverage: Ratio | None = optional("leverage", "leverage setting of the product", unit="x")
    position_mode: PositionModeName | None = optional("positionMode", "position mode of the account: ONE_WAY or HEDGE")
    margin_mode: MarginModeName | None = optional(
        "positionMarginMode", "margin mode of the position: CROSS or ISOLATED"
    )
    assigned_margin: Money | None = optional("assignedPosBalance", "margin assigned to an isolated position")
    mark_price: Price | None = optional("curMarkPx", "mark price")
    unrealized_pnl: Money | None = optional("unrealizedPnl", "unrealised PnL at mark price")
    realized_pnl: Money | None = optional("cumRealizedPnl", "PnL realised so far, before fees")
    fees: Money | None = optional("cumTransactionFee", "sum of trading fees paid so far")
    created: Ms | None = optional("createTime", "time at which the position was first opened")
    time: Ms | None = optional("blockTime", "time of the last change")
    account: Address | None = optional("userAddr", "address of the account")


POSITIONS = Endpoint(
    "positions",
    "/info/position/list",
    "Positions of an account",
    Position,
    params=(
        ACCOUNT,
        SYMBOL,
        Param("posMode", "position_mode", "enum", "only positions in this position mode", enum="position_mode"),
        Param("includeZero", "include_zero", "flag", "include positions of size zero"),
    ),
    order="by code",
)
