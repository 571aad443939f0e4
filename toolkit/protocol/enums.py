"""Enums of the wire: the only place that defines their numbers (docs/published.md, "Signatures" and "Info API").

A member is an int: it compares and encodes as its number. `Names` converts between numbers and names.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from ..errors import MalformedRequest
from ..suggestions import meant


class OrderType(IntEnum):
    """Types of orders. The liquidation types and ADL are for display only and are never sent."""

    LIMIT = 1
    MARKET = 2
    MARKET_LIQ_SELLOFF = 3
    LIMIT_LIQ_SELLOFF = 4
    STOP_LIMIT = 5
    STOP_MARKET = 6
    TAKE_PROFIT_LIMIT = 7
    TAKE_PROFIT_MARKET = 8
    ADL = 50
    LIQUIDATION = 51


class OrderSide(IntEnum):
    """Sides of orders. The *_CLOSE_HEDGE sides reduce the opposite leg in hedge mode."""

    BUY = 1
    SELL = 2
    BUY_CLOSE_HEDGE = 3
    SELL_CLOSE_HEDGE = 4


class TimeInForce(IntEnum):
    """How long an order stays open."""

    GTC = 1
    IOC = 2
    FOK = 3
    POST_ONLY = 4


class ReduceOnly(IntEnum):
    """Whether an order may only reduce a position, or is a take-profit or stop-loss of the position."""

    NONE = 0
    REDUCE_ONLY = 1
    TP_FROM_POSITION = 2
    SL_FROM_POSITION = 3


class TriggerType(IntEnum):
    """Price that the trigger of a conditional order watches."""

    NONE = 0
    LAST_PRICE = 1
    MARK_PRICE = 2
    INDEX_PRICE = 3


class MarginMode(IntEnum):
    """Margin of a position: shared by the account (cross), or assigned to the position (isolated)."""

    CROSS = 1
    ISOLATED = 2


class PositionMode(IntEnum):
    """Whether an account nets its positions, or may hold a long and a short of one product."""

    ONE_WAY = 1
    HEDGE = 2


class PositionSide(IntEnum):
    """Direction of a position."""

    LONG = 1
    SHORT = 2


class AgentStatus(IntEnum):
    """Whether an agent may still sign."""

    ACTIVE = 1
    REVOKED = 2


class AccountStatus(IntEnum):
    """Whether an account is being liquidated. The names are published, the numbers are the local venue's [L]."""

    NORMAL = 1
    LIQUIDATING = 2


class ListStatus(IntEnum):
    """Whether a product can be traded. Products have the name, in lower case. Queries filter by the number [L]."""

    LISTED = 1
    PAUSED = 2
    DELISTED = 3


class VaultStatus(IntEnum):
    """Whether a vault takes deposits. 1 is published, 2 is the local venue's [L]."""

    OPEN = 1
    CLOSED = 2


class TransactionStatus(IntEnum):
    """Outcomes of a transaction. 1 is in the published example of the tx channel. 0 is our reading of the rest [L]."""

    FAILED = 0
    SUCCESS = 1


class OrderStatus(IntEnum):
    """States of an order. On the wire they are names. The numbers are the local venue's own [L]."""

    NEW = 1
    PARTIALLY_FILLED = 2
    FILLED = 3
    CANCELED = 4
    ORDER_STATUS_UNTRIGGERED = 5
    REJECTED = 6


_SPELLINGS = {"CANCELLED": "CANCELED", "UNTRIGGERED": "ORDER_STATUS_UNTRIGGERED"}
"""How people write names of the wire → the name."""


class Names:
    """One enum: conversion between its numbers and names.

    Parameters
    ----------
    label : str
        What a member is, for messages, such as "order type".
    numbers : dict of int to str
        Number → name.
    names : tuple of str, optional
        Names without a number (default: none).
    """

    __slots__ = ("_article", "label", "name_of", "names", "number_of")

    def __init__(self, label: str, numbers: dict[int, str], names: tuple[str, ...] = ()) -> None:
        self.label = label
        self._article = "an" if label[0] in "aeiou" else "a"
        self.name_of = numbers
        self.number_of = {name: number for number, name in numbers.items()}
        self.names = (*numbers.values(), *names)

    def text(self, value: object) -> str | None:
        """Return the name of a number or of its text.

        `None` and "" give `None`, and any other text stays unchanged.

        Parameters
        ----------
        value : object
            Number, name or any text.
        """
        if value is None or value == "":
            return None
        text = str(value)
        if text.isdecimal() and len(text) <= 20:  # int() refuses very long texts
            return self.name_of.get(int(text), text)
        return text

    def parse(self, value: object, field: str) -> str:
        """Return the name for a name or number that a user wrote.

        Parameters
        ----------
        value : object
            Name in any case, or number.
        field : str
            Name of the field, for the error.

        Raises
        ------
        MalformedRequest
            If it is neither. The error lists the names.

        Examples
        --------
        >>> ENUMS["order_side"].parse("buy", "side")
        'BUY'
        """
        text = self.text(value)
        upper = text.upper() if text is not None else ""
        upper = _SPELLINGS.get(upper, upper)
        if upper in self.names:
            return upper
        known = ", ".join(f"{name} ({self.number_of[name]})" if name in self.number_of else name for name in self.names)
        said = f"{field} {value!r} is not {self._article} {self.label}. Use one of {known}{meant(value, self.names)}"
        raise MalformedRequest(said, field=field, rule="enum", value=value, nearest=self.names)


def _names(label: str, enum: type[IntEnum]) -> Names:
    return Names(label, {member.value: member.name for member in enum})


# Statuses travel as names, so a query may not give their numbers, which are the local venue's own.
_STATUSES = tuple(status.name for status in OrderStatus)

EnumKey = Literal[
    "order_side", "order_type", "tif", "reduce_only", "trigger", "margin_mode", "position_mode", "position_side",
    "agent_status", "account_status", "list_status", "vault_status", "transaction_status", "order_status",
    "exec_status",
]  # fmt: skip
"""Names that declarations use for the enums."""

ENUMS: dict[EnumKey, Names] = {
    "order_side": _names("side", OrderSide),
    "order_type": _names("order type", OrderType),
    "tif": _names("time in force", TimeInForce),
    "reduce_only": _names("reduce-only option", ReduceOnly),
    "trigger": _names("trigger type", TriggerType),
    "margin_mode": _names("margin mode", MarginMode),
    "position_mode": _names("position mode", PositionMode),
    "position_side": _names("position side", PositionSide),
    "agent_status": _names("agent status", AgentStatus),
    "account_status": _names("account status", AccountStatus),
    "list_status": _names("listing status", ListStatus),
    "vault_status": _names("vault status", VaultStatus),
    "transaction_status": _names("transaction status", TransactionStatus),
    "order_status": Names("order status", {}, _STATUSES),
    "exec_status": Names("execution status", {}, _STATUSES),
}
"""Name that declarations use → enum."""
