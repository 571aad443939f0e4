"""A row of a product list, as on the wire: its fields, how each is read, and what can't be checked without it.

Five fields are promised. Any other one may be missing, empty or unreadable, which costs no more than the checks that
need it. Numbers may come as text, and texts as numbers. Source: docs/published.md, "Info API": ProductMeta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any

from ...errors import InputError, warn
from ...numerals import MAX_DIGITS, not_a, printable, read_amount, read_decimal, read_positive, read_rows
from .info.products import MarginTier, ProductList, ProductMeta

Tell = Callable[[str, str], None]
"""Takes a sentence about a product list, after the key under which a session says it once (`key_of`)."""
_SHOWN = 4
"""Symbols that a sentence names."""


class ProductRule(StrEnum):
    """Rules of a product by the field that has the limit: what `failure.rule` and `error.rule` name."""

    TICK_SIZE = "tickSize"
    STEP_SIZE = "stepSize"
    MIN_VALUE = "minOrderValue"
    MIN_PRICE = "minimumPrice"
    MAX_QUANTITY = "maxOrderQty"
    MAX_SLIPPAGE = "maxSlippagePct"
    MAX_LEVERAGE = "maxLeverage"
    MAX_NOTIONAL = "maxPositionNtnl"

    # As other text: an error shows 'tickSize', and not how the toolkit declares it.
    __repr__ = str.__repr__


def _number(value: object, wire: str) -> Decimal:
    """Return a number that can be written in the digits of an amount."""
    number = read_decimal(value, wire)
    if number and (number.adjusted() >= MAX_DIGITS or int(number.as_tuple().exponent) < -MAX_DIGITS):
        raise not_a(value, wire, f"It must have at most {MAX_DIGITS} digits before and after the point")
    return Decimal(format(number, "f"))  # 1E+1 is 10


def _above_0(value: object, wire: str) -> Decimal:
    return read_positive(_number(value, wire), wire)


def _from_0(value: object, wire: str) -> Decimal:
    return read_amount(_number(value, wire), wire)


def _whole(value: object, wire: str) -> int:
    number = _from_0(value, wire)
    if number != number.to_integral_value() or number >= 2**63:
        raise not_a(value, wire, "It must be a whole number below 2^63")
    return int(number)


def _seconds(value: object, wire: str) -> int:
    return int(read_positive(_whole(value, wire), wire))


def _text(value: object, wire: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise not_a(value, wire, "It must be a text")
    return printable(str(value).strip())


def _truth(value: object, wire: str) -> bool:
    found = {"true": True, "false": False, "1": True, "0": False}.get(str(value).strip().lower())
    if found is None:
        raise not_a(value, wire, "It must be true or false")
    return found


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "name": _text,
    "symbol": _text,
    "code": _whole,
    "currency_code": _whole,
    "price_precision": _whole,
    "quantity_precision": _whole,
    "tick_size": _above_0,
    "step_size": _above_0,
    "min_order_value": _from_0,
    "max_order_quantity": _above_0,
    "max_position_notional": _above_0,
    "max_leverage": _above_0,
    "max_slippage_pct": _above_0,
    "minimum_price": _from_0,
    "maker_fee_rate": _number,
    "taker_fee_rate": _number,
    "funding_interval": _seconds,
    "product_type": _text,
    "list_status": _text,
    "only_isolated": _truth,
    "base_currency": _text,
    "quote_currency": _text,
    "settle_currency": _text,
    "margin_table_id": _whole,
}
_COLUMNS = {"max_slippage_pct": "max_slippage", "margin_table_id": "margin_table"}
"""Field of Product → column of ProductMeta, where they differ."""
OPTIONAL_RULE = "minimum_price"
"""A field that is a rule only where it is there. It is in no published list, so nothing is missing without it."""


def _wire(name: str) -> str:
    if name == OPTIONAL_RULE:
        return ProductRule.MIN_PRICE
    return ProductMeta.declared.by_column[_COLUMNS.get(name, name)].wire


META = {name: (_wire(name), read) for name, read in _READERS.items()}
"""Field of Product → its name in ProductMeta and how it is read, in the order of ProductMeta's fields.

A largest quantity, position, leverage or slippage of 0 would allow nothing. Servers write 0 for what is not set, so it
counts as unreadable.
"""
NEEDED = ("code", "symbol", "tick_size", "step_size", "min_order_value")
"""Fields without which a product can't be traded."""
TIERS = _wire("margin_table_id")
"""Name on the wire under which unknown margin tiers are said."""
TIER_ROWS = "riskLimitVo"
"""Name on the wire of the rows of a margin table."""
TIER = {name: MarginTier.declared.by_column[name].wire for name in ("floor", "maintenance_rate", "max_leverage")}
"""Field of MarginTier → its name in the rows of a margin table."""
TIER_LEVERAGE = f"{TIER_ROWS}.{TIER['max_leverage']}"
"""Name on the wire under which it is said that tiers have no highest leverage."""
CHECKS = {
    ProductRule.MAX_LEVERAGE: "the highest leverage",
    ProductRule.MAX_QUANTITY: "the largest quantity of an order",
    ProductRule.MAX_SLIPPAGE: "the largest slippage of a market order",
    ProductRule.MAX_NOTIONAL: "the largest position",
    _wire("only_isolated"): "whether margin is isolated only",
    _wire("list_status"): "whether orders are accepted",
    TIERS: "leverage, maintenance margin and liquidation price by the size of a position",
    TIER_LEVERAGE: "the highest leverage by the size of a position",
}
"""Field on the wire → what can't be checked without it."""


def warned(key: str, message: str) -> None:
    """Tell by a DataWarning.

    Parameters
    ----------
    key : str
        Key of the warning, which appears once.
    message : str
        The warning, a sentence.
    """
    warn(message)


def key_of(symbol: str, wire: str) -> str:
    """Return the key under which it is told that a field of a product can't be read.

    Parameters
    ----------
    symbol : str
        Symbol of the product.
    wire : str
        Name of the field on the wire.
    """
    return f"{symbol}.{wire}"


def unread(symbol: str, wire: str, reason: str) -> tuple[str, str]:
    """Return what to tell of an optional field that can't be used: the key, and the sentence.

    Parameters
    ----------
    symbol : str
        Symbol of the product.
    wire : str
        Name of the field on the wire.
    reason : str
        Why it can't be used.
    """
    check = f", and {CHECKS[wire]} can't be checked" if wire in CHECKS else ""
    return key_of(symbol, wire), f"{symbol}: {reason}. It counts as unknown{check}"


def read_row(row: object, tell: Tell) -> dict[str, Any]:
    """Return the values of a row by the fields of Product, without those that are not known.

    Parameters
    ----------
    row : object
        The row, in wire names.
    tell : callable
        Function of a key and a sentence, called for each value that can't be read.

    Raises
    ------
    InputError
        Unless all of NEEDED can be read. It names the field.
    """
    if not isinstance(row, Mapping):
        raise InputError("it is not an object", rule="object", value=row)
    values: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name, (wire, read) in META.items():
        given = row.get(wire)
        if is_absent(given):
            if name in NEEDED:
                raise InputError(f"{wire} is missing", field=wire, rule="required", value=given)
            continue
        try:
            values[name] = read(given, wire)
        except InputError as error:
            if name in NEEDED:
                raise
            reasons[wire] = str(error)
    for wire, reason in reasons.items():
        tell(*unread(values["symbol"], wire, reason))
    return values


def read_tiers(symbol: str, rows: object, tell: Tell) -> list[dict[str, Any]] | None:
    """Return the values of a margin table by the fields of MarginTier, from the lowest floor up.

    None where floor or rate of a row can't be read: a table with a gap would give wrong margins.

    Parameters
    ----------
    symbol : str
        Symbol of the product.
    rows : object
        The rows, in wire names.
    tell : callable
        Function of a key and a sentence, called for each value that can't be read.
    """
    try:
        found = [_tier(symbol, row, tell) for row in read_rows(rows, TIER_ROWS, "objects")]
        found.sort(key=lambda tier: tier["floor"])
        floors: list[Decimal] = [tier["floor"] for tier in found]
        if len(set(floors)) < len(floors) or floors[:1] not in ([], [0]):
            raise not_a([str(floor) for floor in floors], TIER["floor"], "It must begin at 0 and differ in each row")
    except InputError as error:
        tell(*unread(symbol, TIERS, f"its margin table can't be read: {error}"))
        return None
    return found


def _tier(symbol: str, row: object, tell: Tell) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise not_a(row, TIER_ROWS, "It must be an object")
    floor, rate = (_from_0(row.get(wire), wire) for wire in (TIER["floor"], TIER["maintenance_rate"]))
    if rate >= 1:
        wire = TIER["maintenance_rate"]
        raise not_a(row.get(wire), wire, "It must be below 1")
    leverage, given = None, row.get(TIER["max_leverage"])
    if not is_absent(given):
        try:
            leverage = _above_0(given, TIER_LEVERAGE)
        except InputError as error:
            tell(*unread(symbol, TIER_LEVERAGE, str(error)))
    return {"floor": floor, "maintenance_rate": rate, "max_leverage": leverage}


def is_absent(value: object) -> bool:
    """Return whether a value is not there: missing, null or blank.

    Parameters
    ----------
    value : object
        Value of a field.
    """
    return value is None or (isinstance(value, str) and not value.strip())


def on_wire(value: object) -> Any:
    """Return the value of a field as it is written on the wire.

    Parameters
    ----------
    value : object
        Value of a field of Product.
    """
    return format(value, "f") if isinstance(value, Decimal) else value


def product_rows(meta: object) -> list[Any] | None:
    """Return the rows in the data of product-meta: its perpProducts, or a list of rows. None for other data.

    Parameters
    ----------
    meta : object
        The data, decoded.
    """
    if isinstance(meta, Mapping):
        meta = meta.get("perpProducts")
        return meta if isinstance(meta, list) else None
    return meta if isinstance(meta, list) and meta else None


def checksum_of(meta: object) -> str:
    """Return the checksum of a product list, "" where it has none.

    Parameters
    ----------
    meta : object
        The data, decoded.
    """
    [name] = ProductList.declared.wires("checksum")
    return str((meta.get(name) if isinstance(meta, Mapping) else None) or "")


def margin_tables(meta: object, tell: Tell) -> dict[int, Any]:
    """Return the `riskLimitVo` rows in the data of product-meta by the number of their table.

    Parameters
    ----------
    meta : object
        The data, decoded.
    tell : callable
        Function of a key and a sentence, called for each value that can't be read.
    """
    found = {}
    for table in _objects(meta.get("marginTables") if isinstance(meta, Mapping) else None):
        try:
            found[_whole(table.get("tableId"), "tableId")] = table.get(TIER_ROWS)
        except InputError as error:
            tell(f"tableId {table.get('tableId')}", f"a margin table is left out: {error}")
    return found


def _objects(rows: object) -> Iterator[Mapping[str, Any]]:
    return (row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, Mapping))


def missing_words(missing: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence about fields that a venue does not send, and about what is not checked without them.

    Parameters
    ----------
    missing : mapping
        The fields, as `ProductTable.missing` returns them.
    """
    by_symbols: dict[tuple[str, ...], list[str]] = {}
    for wire, symbols in missing.items():
        by_symbols.setdefault(tuple(symbols), []).append(wire)
    parts = [f"no {', '.join(wires)} of {_few(symbols)}" for symbols, wires in by_symbols.items()]
    checks = [words for wire, words in CHECKS.items() if wire in missing]
    unchecked = f". Not checked before an order is sent: {', '.join(checks)}" if checks else ""
    return f"the venue sends {', and '.join(parts)}. Their values are unknown (NA){unchecked}"


def _few(symbols: Sequence[str]) -> str:
    more = f" and {len(symbols) - _SHOWN} more" if len(symbols) > _SHOWN else ""
    return ", ".join(symbols[:_SHOWN]) + more
