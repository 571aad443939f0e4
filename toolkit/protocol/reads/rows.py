"""The declaration of a record: each field's wire name, column in a frame, kind, unit and description.

A record is declared by a line `Name [like another]: identity …; time …; needs …; changing; [L]` and a line `wire column
kind [unit] — description` for each field. The first line says which wire names identify a row, which one is its time,
and which others it needs. A line of wire names alone takes them from the other record and from `SHARED`. `KINDS`
explains the kinds. `REST_TYPES` has the types in JSON. Despite them `kind#` is a number, `kind'` is text, `kind?` may
be null, as the local venue sends them. The venue does not publish a field marked [L], nor any of a record marked so:
only the local venue is known to send them. A field whose description says when it is missing belongs to some rows only.
One that says when it is empty may be null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KINDS: dict[str, str] = {
    "price": "float64",
    "quantity": "float64",
    "money": "float64",
    "ratio": "float64",
    "integer": "Int64",
    "id": "Int64",
    "key": "string",
    "text": "string",
    "symbol": "string",
    "code": "string",
    "currency": "string",
    "address": "string",
    "hash": "string",
    "bool": "boolean",
    "ms": "datetime64[ms, UTC]",
    "s": "datetime64[ms, UTC]",
    "object": "object",
}
"""Kind of a field → dtype of its column.

- price, quantity, money and ratio are decimal text on the wire: floats in frames, Decimal objects when exact. A price
  or quantity is never negative, but for `quantity±`, which may come with the sign of its side.
- ms and s are milliseconds and seconds since 1970.
- code is a product code and becomes the product's symbol. currency 1 becomes USDC.
- id is a 64-bit number, key an identifier of unspecified form.
- `enum:NAME` is the number or name of an enum's member and becomes the name (dtype string).
"""

AMOUNTS = ("price", "quantity", "money", "ratio")
"""Kinds that are decimal numbers."""

_NUMBERS = ("integer", "code", "currency", "ms", "s")
REST_TYPES: dict[str, str] = {
    **dict.fromkeys(KINDS, "string"),
    **dict.fromkeys((*_NUMBERS, "enum"), "integer"),
    "bool": "boolean",
    "object": "object",
}
_EITHER = ["integer", "string"]
FEED_TYPES: dict[str, Any] = {**REST_TYPES, "id": _EITHER, "enum": _EITHER, "object": ["object", "array"]}
"""Kind of a field → its type in the JSON of the local venue, in queries and in the feed, whose two forms differ."""

UNITS: dict[str, str] = {
    "price": "USDC",
    "quantity": "contracts of 1 base unit",
    "money": "USDC",
    "ratio": "1 = 100 %",
    "ms": "UTC",
    "s": "UTC",
    "code": "symbol",
}
"""Unit of a kind, unless a field declares another."""

CURRENCIES = {"1": "USDC"}
"""Number of a currency → its name."""


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field: `wire` name, `column` in a frame, `kind`, `enum` (name in ENUMS, or ""), `unit`, `about`, `signed`."""

    wire: str
    column: str
    kind: str
    enum: str
    unit: str
    about: str
    signed: bool = False
    json_type: str = ""
    """Type in JSON, "" for that of the kind."""
    null: bool = False
    """True where the local venue sends null for some rows."""

    @property
    def dtype(self) -> str:
        """Dtype of the column."""
        return KINDS[self.kind]

    @property
    def published(self) -> bool:
        """False for a field that only the local venue is known to send, marked [L] in its declaration."""
        return not self.about.endswith("[L]")

    @property
    def noun(self) -> str:
        """The words for a value of the field in messages."""
        return {"ms": "a time in ms", "s": "a time in s", "id": "an id"}.get(self.kind, f"a {self.enum or self.kind}")


SHARED = """
userAddr account address — address of the account
vaultAddress vault address — address of the vault
currency currency currency — currency of the balance (always USDC)
txHash tx_hash hash — hash of the transaction
blockHeight block integer — block height
ordId order_id id — order id, assigned by the venue
clOrdId client_order_id id — client order id, chosen by the client (0 without one)
side side enum:order_side — BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
ordSide side enum:order_side — BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE
ordType type enum:order_type — order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type
ordPx price price — limit price (0 for a market order)
ordQty quantity quantity — ordered quantity
leavesQty remaining quantity — quantity that is still open
triggerPx trigger_price price — trigger price (0 without a trigger)
timeInForce tif enum:tif — time in force: GTC, IOC, FOK or POST_ONLY
leverage leverage ratio x — leverage setting of the product
openFee open_fee money — fee for the part that opened a position
closeFee close_fee money — fee for the part that closed a position
fundingRate funding_rate ratio per interval — funding rate (longs pay a positive rate, shorts receive it)
"""
"""Fields that several records have, declared as in a record: one that names only the wire name takes it from here."""


@dataclass(frozen=True, slots=True)
class Record:
    """One kind of row: its fields in the order of the columns, and the wire names that identify a row, if any."""

    name: str
    fields: tuple[RecordField, ...]
    identity: tuple[str, ...] = ()
    time: str = ""
    """Wire name of the field that startTime and endTime filter by."""
    changing: bool = False
    """True if a row, including its time, can change after it was read."""
    known: bool = True
    """False where the venue publishes none of the fields: they are the local venue's."""
    needed: tuple[RecordField, ...] = ()
    """Fields that a row needs: its identity and time, and others declared so. An unpublished field is never one."""
    expected: tuple[str, ...] = ()
    """Wire names of the other published fields that belong to every row."""
    nullable: frozenset[str] = frozenset()
    """Those of them that may be null, where the description says when they are empty."""

    @property
    def columns(self) -> dict[str, str]:
        """Column → dtype, in order."""
        return {field.column: field.dtype for field in self.fields}

    @property
    def by_wire(self) -> dict[str, RecordField]:
        """Wire name → field."""
        return {field.wire: field for field in self.fields}

    @property
    def published(self) -> tuple[str, ...]:
        """Wire names of the fields that are published."""
        return tuple(field.wire for field in self.fields if field.published and self.known)


def records(text: str, known: Mapping[str, Record] | None = None) -> dict[str, Record]:
    """Return the records that `text` declares by name, and those `known`, which they may be like (see the module)."""
    made = dict(known or {})
    for block in text.strip().split("\n\n"):
        head, *lines = block.splitlines()
        names, _, said = head.partition(":")
        name, _, base = names.partition(" like ")
        shared = _SHARED | (made[base].by_wire if base else {})
        options = {word: rest for word, _, rest in (option.strip().partition(" ") for option in said.split(";"))}
        fields: list[RecordField] = []
        for line in lines:
            fields += [_field(line)] if " — " in line else [shared[wire] for wire in line.split()]
        identity, time = tuple(options.get("identity", "").split()), options.get("time", "")
        words, is_known = {*identity, time, *options.get("needs", "").split()}, "[L]" not in options
        needed = tuple(one for one in fields if is_known and one.published and one.wire in words)
        others = (one for one in fields if is_known and one.published and one not in needed)
        expected = tuple(one.wire for one in others if "missing" not in one.about)
        nullable = frozenset(one.wire for one in fields if "(empty " in one.about)
        made[name] = Record(
            name, tuple(fields), identity, time, "changing" in options, is_known, needed, expected, nullable
        )
    return made


def _field(line: str) -> RecordField:
    head, _, about = line.partition(" — ")
    wire, column, kind, *unit = head.split(maxsplit=3)
    plain = kind.rstrip("±#'?")
    marks = kind[len(plain) :]
    kind, _, enum = plain.partition(":")
    kind, signed = "text" if kind == "enum" else kind, "±" in marks or kind in ("money", "ratio")
    shown = unit[0] if unit else "enum name" if enum else UNITS.get(kind, "")
    json_type = "integer" if "#" in marks else "string" if "'" in marks else ""
    return RecordField(wire, column, kind, enum, shown.strip(), about.strip(), signed, json_type, "?" in marks)


_SHARED = {field.wire: field for field in map(_field, SHARED.strip().splitlines())}
