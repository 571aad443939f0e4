"""Records of the feed as Python values: Decimal amounts, UTC datetimes, names instead of numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from ...protocol.enums import ENUMS
from ...protocol.hexbytes import hash_text
from ...protocol.reads.info_records import Record, RecordField


class FeedRow(dict[str, Any]):
    """One record by column name, also as attributes: Decimal amounts, UTC datetimes, names instead of numbers."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}; there are {', '.join(self)}") from None


def row(record: Record, raw: dict[str, Any]) -> FeedRow:
    """Return one record by column name: amounts as Decimal, times as UTC datetime, enum numbers as names.

    Every column is there; one that the message leaves out is None.
    """
    return FeedRow({field.column: _value(field, raw.get(field.wire)) for field in record.fields})


def _value(field: RecordField, value: Any) -> Any:
    """Return a value as the type of its field, None for a value that can't be read."""
    if value is None:
        return None
    try:
        return _read(field, value)
    except (TypeError, ValueError, ArithmeticError):
        return None


def _read(field: RecordField, value: Any) -> Any:
    if field.enum:
        return ENUMS[field.enum].text(value)
    kind = field.kind
    if kind in ("price", "quantity", "money", "ratio"):
        amount = Decimal(str(value))
        return amount if amount.is_finite() else None
    if kind in ("ms", "s"):
        return moment(value, 1000 if kind == "s" else 1)
    if kind in ("integer", "id"):
        return int(value) if str(value).lstrip("-").isdigit() else value
    if kind == "hash":
        return hash_text(str(value))
    if kind == "currency":
        return "USDC" if str(value) == "1" else str(value)
    return value


def moment(value: Any, unit_ms: int) -> datetime | None:
    """Return a Unix time of `unit_ms` milliseconds a unit as UTC, None for one that is out of range."""
    try:
        # Seconds and milliseconds apart: as one float, a millisecond would not always come out exact.
        seconds, milliseconds = divmod(int(value) * unit_ms, 1000)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
