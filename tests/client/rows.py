"""Rows that have all that their record can't do without."""

from __future__ import annotations

from typing import Any

from toolkit.protocol.enums import ENUMS
from toolkit.protocol.reads.rows import Record, RecordField

VALUES = {
    "price": "1",
    "quantity": "1",
    "money": "1",
    "ratio": "1",
    "text": "text",
    "symbol": "BTCUSDC",
    "key": "1",
    "s": 345_600,
}


def value_of(field: RecordField) -> Any:
    """Return a value of the field's form."""
    return ENUMS[field.enum].names[0] if field.enum else VALUES.get(field.kind, 1)


def whole(record: Record, **given: Any) -> dict[str, Any]:
    """Return a row with these fields, and with the others that the record needs, whose amounts add up."""
    return {**{field.wire: value_of(field) for field in record.needed}, **nothing_of_sums(record), **given}


def nothing_of_sums(record: Record) -> dict[str, Any]:
    """Return 0 for what is filled of an order, so that all of it is open, and for the short leg of a position."""
    empty = ("filled", "short_size", "short_entry_value", "unrealized_pnl")
    of_order = "remaining" in record.by_column
    return {one.wire: "0" for one in record.fields if one.column in empty and (of_order or one.column != "filled")}
