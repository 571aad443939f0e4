"""What a record is: each field's wire name, column in a frame, kind, unit and description.

A record is declared as lines `wire column kind [unit] — description`. `KINDS` explains the kinds. The venue does not
publish a field marked [L], nor any field of a record with known=False: only the local venue is known to send them.
"""

from __future__ import annotations

from dataclasses import dataclass

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

- price, quantity, money and ratio are decimal text on the wire: floats in frames, Decimal objects when exact.
- ms and s are milliseconds and seconds since 1970.
- code is a product code and becomes the product's symbol. currency 1 becomes USDC.
- id is a 64-bit number, key an identifier of unspecified form.
- `enum:NAME` is the number or name of an enum's member and becomes the name (dtype string).
"""

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


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field: `wire` name, `column` in a frame, `kind`, `enum` (name in ENUMS, or ""), `unit`, `about`."""

    wire: str
    column: str
    kind: str
    enum: str
    unit: str
    about: str

    @property
    def dtype(self) -> str:
        """Dtype of the column."""
        return KINDS[self.kind]

    @property
    def published(self) -> bool:
        """False for a field that only the local venue is known to send, marked [L] in its declaration."""
        return not self.about.endswith("[L]")


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


def record(
    name: str,
    lines: str,
    *,
    base: Record | None = None,
    identity: str = "",
    time: str = "",
    changing: bool = False,
    known: bool = True,
) -> Record:
    """Return the record that `lines` declare. `identity` has the wire names that identify a row.

    A line of wire names alone takes these fields from the record `base`, which declares them the same way.
    """
    fields: list[RecordField] = []
    for line in lines.strip().splitlines():
        if " — " in line:
            fields.append(_field(line))
        else:
            assert base is not None, f"{name}: {line} has no description, and there is no base to take it from"
            fields += [base.by_wire[wire] for wire in line.split()]
    return Record(name, tuple(fields), tuple(identity.split()), time, changing, known)


def _field(line: str) -> RecordField:
    head, _, about = line.partition(" — ")
    wire, column, kind, *unit = head.split(maxsplit=3)
    kind, _, enum = kind.partition(":")
    kind = "text" if kind == "enum" else kind
    shown = unit[0] if unit else "enum name" if enum else UNITS.get(kind, "")
    return RecordField(wire, column, kind, enum, shown.strip(), about.strip())


def field_table(shown: Record) -> list[str]:
    """Return a record's fields as Markdown lines; [L] marks what the venue does not publish."""
    lines = ["", f"### {shown.name}{'' if shown.known else ' [L]'}", ""]
    lines += ["| Field | Column | dtype | Unit | |", "|---|---|---|---|---|"]
    for one in shown.fields:
        lines.append(f"| `{one.wire}` | `{one.column}` | {one.dtype} | {one.unit or '–'} | {one.about} |")
    return lines
